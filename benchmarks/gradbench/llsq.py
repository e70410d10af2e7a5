"""llsq: how far a polynomial is from the sign function, in least squares, on n points from -1 to 1."""

import numpy as np

from srcgrad import grad


@grad
def misfit(x, n):
    total = 0.0
    for i in range(n):
        t = -1.0 + i * 2.0 / (n - 1)
        residual = np.sign(t)
        power = 1.0
        for j in range(x.size):
            residual -= x[j] * power
            power *= t
        total += residual * residual
    return total / 2.0


def prepare(given):
    return np.array(given["x"]), given["n"]


EXAMPLE = {"x": [0.5, 1.0, -0.25], "n": 4}
FUNCTIONS = {
    "primal": (prepare, misfit, float),
    "gradient": (prepare, misfit.backward, np.ndarray.tolist),
}
