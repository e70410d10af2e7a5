"""ode: y_0' = x_0, y_i' = x_i y_{i-1} from y = 0 to time 2, in s steps of the classical Runge-Kutta method."""

import numpy as np

from srcgrad import grad


def slope(x, y, out):
    out[0] = x[0]
    for i in range(1, x.size):
        out[i] = x[i] * y[i - 1]


@grad
def integrate(x, s):
    n = x.size
    h = 2.0 / s
    y, k1, k2, k3, k4 = np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(s):
        slope(x, y, k1)
        slope(x, y + 0.5 * h * k1, k2)
        slope(x, y + 0.5 * h * k2, k3)
        slope(x, y + h * k3, k4)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def prepare(given):
    return np.array(given["x"]), given["s"]


def prepare_gradient(given):
    last = np.zeros(len(given["x"]))
    last[-1] = 1.0
    return *prepare(given), last


EXAMPLE = {"x": [0.5, 1.0, -0.25], "s": 2}
FUNCTIONS = {
    "primal": (prepare, integrate, np.ndarray.tolist),
    "gradient": (prepare_gradient, integrate.backward, np.ndarray.tolist),
}
