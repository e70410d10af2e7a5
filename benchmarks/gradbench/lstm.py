"""lstm: the loss of a recurrent network with diagonal weights that predicts the next character of a text.

`main` has a row of weights and a row of biases for each layer, each of them four gates wide; `state` has a row of
hidden values and a row of cells for each layer.
"""

import math

import numpy as np

from srcgrad import grad


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


@grad(wrt=("main", "extra"))
def loss(main, extra, state, sequence):
    layers, width, steps = main.shape[0] // 2, extra.shape[1], sequence.shape[0] - 1
    state = state.copy()
    total = 0.0
    x = np.empty(width)
    for step in range(steps):
        for j in range(width):
            x[j] = sequence[step, j] * extra[0, j]
        for layer in range(layers):
            weight, bias, hidden, cell = main[2 * layer], main[2 * layer + 1], state[2 * layer], state[2 * layer + 1]
            for j in range(width):
                forget = sigmoid(x[j] * weight[j] + bias[j])
                ingate = sigmoid(hidden[j] * weight[width + j] + bias[width + j])
                outgate = sigmoid(x[j] * weight[2 * width + j] + bias[2 * width + j])
                change = math.tanh(hidden[j] * weight[3 * width + j] + bias[3 * width + j])
                cell[j] = cell[j] * forget + ingate * change
                hidden[j] = outgate * math.tanh(cell[j])
                x[j] = hidden[j]
        exponentials = 2.0
        for j in range(width):
            predicted = x[j] * extra[1, j] + extra[2, j]
            exponentials += math.exp(predicted)
            total += sequence[step + 1, j] * predicted
        for j in range(width):
            total -= sequence[step + 1, j] * math.log(exponentials)
    return -total / (steps * width)


def prepare(given):
    return tuple(np.array(given[name]) for name in ("main_params", "extra_params", "state", "sequence"))


def flat(cotangents):
    return np.concatenate([cotangent.ravel() for cotangent in cotangents]).tolist()


EXAMPLE = {
    "main_params": [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]],
    "extra_params": [[0.9], [0.8], [0.7]],
    "state": [[0.6], [0.5]],
    "sequence": [[1.0], [0.0], [1.0]],
}
FUNCTIONS = {
    "objective": (prepare, loss, float),
    "jacobian": (prepare, loss.backward, flat),
}
