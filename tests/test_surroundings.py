"""What stands around the numbers of real programs: ranges for NumPy, silenced warnings, imports that may fail."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad

X = np.array([1.5, 2.0, 4.0])


def interpolated(x):
    return np.interp(1.3, range(len(x)), x)


def area(x):
    return np.sum(np.diff(range(len(x))) * (x[1:] + x[:-1])) + np.mean(range(len(x))) * x[0]


def grid(x):
    columns, rows = np.meshgrid(range(len(x)), range(2))
    return np.sum(x * (columns - 1.0) ** 2 + rows * x**2)


def products(x):
    return np.dot(range(3), x) + np.sum(np.multiply(x, range(3))) + np.sum(np.outer(range(1, 7, 2), x))


def rows(x):
    return np.sum(np.stack([x * x, range(3)]) * x) + np.sum(np.asarray(range(3), dtype=float) * x)


def silenced(x):
    before = np.seterr(invalid="ignore", divide="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.sum(np.log(x))
    np.seterr(**before)
    return y


def returns_where_it_is_installed(x):
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        return 0.0 * x[0]
    else:
        return x[0] * x[1]


def returns_where_it_is_not(x):
    try:
        import nothing_of_that_name  # noqa: F401
    except ImportError:
        return x[0] * x[2]
    return x[0]


def by_kind(x):
    try:
        import nothing_of_that_name  # noqa: F401
    except ValueError:
        y = x[0]
    except ModuleNotFoundError:
        y = x[0] * x[1]
    except ImportError:
        y = x[1]
    try:
        from math import nothing_of_that_name  # noqa: F401
    except ModuleNotFoundError:
        y = y + x[0]
    except (TypeError, ImportError):
        y = y * x[2]
    return y


def goes_on_in_a_loop(x):
    y = x[0]
    for k in range(3):
        try:
            import nothing_of_that_name  # noqa: F401
        except ImportError:
            continue
        finally:
            y = y * x[k]
        y = 0.0
    return y


def number_or_array(x):
    t = x[0]
    try:
        t[abs(t) < 2.0] = 0.0
    except TypeError:
        if abs(t) < 2.0:
            t = 3.0 * t
    return t * x[1]


PROGRAMS = [
    interpolated, area, grid, products, rows, silenced, returns_where_it_is_installed, returns_where_it_is_not,
    by_kind,     goes_on_in_a_loop, number_or_array,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_written(function):
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-6)


def test_warnings_as_errors_are_refused():
    def strict(x):
        np.seterr(all="raise")
        return np.sum(np.log(x))

    with pytest.raises(UnsupportedError, match="np.seterr"):
        grad(strict, jit=False).backward(X)


def test_an_import_that_fails_again():
    def raises_again(x):
        try:
            import nothing_of_that_name  # noqa: F401
        except ImportError:
            raise
        return x[0]

    def fails(x):
        import nothing_of_that_name  # noqa: F401

        return x[0]

    for function in (raises_again, fails):
        with pytest.raises(ImportError, match="nothing_of_that_name"):
            grad(function, jit=False)(X)
