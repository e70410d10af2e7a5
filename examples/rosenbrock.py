"""Rosenbrock's valley in 100 dimensions: `scipy.optimize.minimize` with an exact gradient, and without."""

import time

import numpy as np
from scipy.optimize import minimize

from srcgrad import grad


@grad
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def main():
    start = np.tile([-1.2, 1.0], 50)
    rosenbrock(start), rosenbrock.backward(start), rosenbrock.value_and_backward(start)  # compile ahead of the clock

    print(f"{'':28}{'evaluations':>12}{'seconds':>10}{'f at the end':>14}{'distance':>11}")
    for name, arguments in {
        "finite differences": {"fun": rosenbrock.py_func},
        "jac=rosenbrock.backward": {"fun": rosenbrock, "jac": rosenbrock.backward},
        "value_and_backward, jac=True": {"fun": rosenbrock.value_and_backward, "jac": True},
    }.items():
        clock = time.perf_counter()
        found = minimize(x0=start, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 200_000}, **arguments)
        seconds = time.perf_counter() - clock
        distance = np.linalg.norm(found.x - 1.0)
        print(f"{name:28}{found.nfev:12}{seconds:10.4f}{found.fun:14.2e}{distance:11.1e}")

    gradient = rosenbrock.backward(np.ones(100))
    assert found.success
    assert np.linalg.norm(rosenbrock.backward(found.x)) < 1e-2
    assert np.all(gradient == 0.0), "the minimum is at (1, ..., 1)"


if __name__ == "__main__":
    main()
