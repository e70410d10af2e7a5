"""Layers, sequences, attention: networks as they are written in plain NumPy."""

import numpy as np

from .registry import program, real


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


def conv2d(input, weights):
    k = weights.shape[0]
    n = input.shape[0]
    h_out = input.shape[1] - k + 1
    w_out = input.shape[2] - k + 1
    c_out = weights.shape[3]
    output = np.empty((n, h_out, w_out, c_out), dtype=input.dtype)
    for i in range(h_out):
        for j in range(w_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + k, j : j + k, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3)
            )
    return output


def maxpool2d(x):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


@program(
    lambda n: (real(n, 12, 12, 1), real(3, 3, 1, 2), real(2), real(2, 2, 2, 3), real(3), real(12, 4), real(4)),
    small=1,
    large=16,
)
def convolutional_network(images, conv1, bias1, conv2, bias2, weights, bias):
    x = relu(conv2d(images, conv1) + bias1)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + bias2)
    x = maxpool2d(x)
    x = np.reshape(x, (x.shape[0], x.shape[1] * x.shape[2] * x.shape[3]))
    return x @ weights + bias


def batch_norm(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


@program(
    lambda n: (real(n, 5, 5, 3), real(1, 1, 3, 2), real(3, 3, 2, 2), real(1, 1, 2, 3)), small=2, large=8, width=1e-4
)
def residual_block(x, conv1, conv2, conv3):
    """1 by 1, 3 by 3 with padding, 1 by 1, and round it all."""
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, conv1.shape[3]), dtype=x.dtype)
    padded[:, 1:-1, 1:-1, :] = conv2d(x, conv1)
    y = batch_norm(padded)
    y = relu(y)
    y = conv2d(y, conv2)
    y = batch_norm(y)
    y = relu(y)
    y = conv2d(y, conv3)
    y = batch_norm(y)
    return relu(y + x)


@program(
    lambda n: (real(n, 5), np.arange(n) % 3, real(5, 8), real(8), real(8, 6), real(6), real(6, 3), real(3)),
    small=4,
    large=256,
)
def classifier(x, labels, w1, b1, w2, b2, w3, b3):
    """Three layers and the cross entropy."""
    h = np.tanh(x @ w1 + b1)
    h = relu(h @ w2 + b2)
    probability = softmax(h @ w3 + b3)
    return -np.mean(np.log(probability[np.arange(len(labels)), labels])) + 1e-3 * (np.sum(w1**2) + np.sum(w2**2))


@program(lambda n: (real(n, 2, 3), real(3, 16), real(4, 16), real(16)), small=3, large=50)
def recurrent_network(xs, wx, wh, b):
    """Long short-term memory over time; all states are given back."""

    def sigmoid(z):
        return 1.0 / (1.0 + np.exp(-z))

    h = np.zeros((xs.shape[1], 4), dtype=xs.dtype)
    c = np.zeros((xs.shape[1], 4), dtype=xs.dtype)
    states = []
    for x in xs:
        gates = x @ wx + h @ wh + b
        i, f, g, o = np.split(gates, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.stack(states)


@program(lambda n: (real(2, n, 8), real(8, 24), real(8, 8), 2), small=4, large=64)
def attention(x, w_qkv, w_out, heads):
    """Many heads, causal."""
    batch, length, width = x.shape
    q, k, v = np.split(x @ w_qkv, 3, axis=-1)
    depth = width // heads
    q = q.reshape(batch, length, heads, depth).transpose(0, 2, 1, 3)
    k = k.reshape(batch, length, heads, depth).transpose(0, 2, 1, 3)
    v = v.reshape(batch, length, heads, depth).transpose(0, 2, 1, 3)
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(depth)
    mask = np.tril(np.ones((length, length), dtype=bool))
    scores = np.where(mask, scores, -1e9)
    mixed = softmax(scores) @ v
    mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, length, width)
    return mixed @ w_out


@program(lambda n: (real(n, n),), small=6, large=400)
def trace_and_squash(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@program(lambda n: (real(n, 6, 8), real(8, 8)), small=4, large=60)
def product_along_the_last_axis(a, c4):
    nr, nq, np_ = a.shape
    out = np.reshape(np.reshape(a, (nr, nq, 1, np_)) @ c4, (nr, nq, np_))
    return out


@program(lambda n: ([real(3, 5), real(5), real(5, 2), real(2)], real(n, 3), real(n, 2), 0.05, 4), small=5, large=100)
def training_with_momentum(params, x, y, rate, steps):
    """The gradient of a network by hand, inside a training loop that is differentiated as a whole."""
    params = [p.copy() for p in params]
    velocity = [np.zeros_like(p) for p in params]
    for _ in range(steps):
        w1, b1, w2, b2 = params
        h = np.tanh(x @ w1 + b1)
        out = h @ w2 + b2
        d_out = 2.0 * (out - y) / len(x)
        d_h = (d_out @ w2.T) * (1.0 - h**2)
        grads = [x.T @ d_h, d_h.sum(axis=0), h.T @ d_out, d_out.sum(axis=0)]
        for k, g in enumerate(grads):
            velocity[k] = 0.9 * velocity[k] - rate * g
            params[k] = params[k] + velocity[k]
    w1, b1, w2, b2 = params
    return np.mean((np.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)
