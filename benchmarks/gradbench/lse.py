"""lse: the logarithm of a sum of exponentials, computed from the largest one down."""

import numpy as np

from srcgrad import grad


@grad
def logsumexp(x):
    highest = np.max(x)
    return np.log(np.sum(np.exp(x - highest))) + highest


def prepare(given):
    return (np.array(given["x"]),)


EXAMPLE = {"x": [0.5, -1.0, 2.0]}
FUNCTIONS = {
    "primal": (prepare, logsumexp, float),
    "gradient": (prepare, logsumexp.backward, np.ndarray.tolist),
}
