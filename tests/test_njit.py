"""f, f.backward and f.value_and_backward called from other @njit functions: right, and never stale."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from numba import float32, float64, njit, prange, vectorize
from numba.core.errors import NumbaError
from test_cache import run

from srcgrad import ArgumentError, UnsupportedError, grad
from srcgrad.testing import check_grad

Pair = namedtuple("Pair", "a b")
W = np.array([3.0, 5.0])


@grad
def square(x):
    return x * x


@grad
def mixed(x, s=2.0):
    return x * s


@grad
def weighted(x):
    return (x * W).sum()


@grad
def swap(pair, s):
    return Pair(pair[1] * s, (pair[0], s))


@njit
def descend(x, steps):
    for _ in range(steps):
        x = x - 0.25 * square.backward(x)
    return x


def test_scalars_in_a_loop():
    assert descend(8.0, 3) == 1.0


@njit
def arrays(x, v):
    return square(x), square.backward(x, v), square.value_and_backward(x, v=v)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays(dtype):
    x, v = np.arange(3, dtype=dtype), np.full(3, 2, dtype)
    y, x_b, (again, x_b_again) = arrays(x, v)
    for got, expected in ((y, x * x), (x_b, 4 * x), (again, x * x), (x_b_again, 4 * x)):
        assert got.dtype == dtype and np.array_equal(got, expected)


@njit
def with_defaults(x):
    return mixed(x), mixed(x, s=3.0), mixed.backward(x), mixed.backward(x, v=10.0), mixed.backward(x, 3.0, 10.0)


def test_defaults_keywords_and_tuples_of_cotangents():
    assert with_defaults(5.0) == (10.0, 15.0, (2.0, 5.0), (20.0, 50.0), (30.0, 50.0))


@grad
def along(x, axis=0, times=2):
    return (x.sum(axis=axis) ** 2).sum() * times


known_axis = grad(along.py_func, static="axis")


@njit
def along_axes(x, times):
    return along.backward(x), along.backward(x, 1, times), along(x, axis=1), known_axis.backward(x, axis=0)


@njit
def along_any(x, axis):
    return known_axis(x, axis)


def test_options_and_static_arguments_are_known_where_they_stand_in_the_call():
    x = np.arange(6.0).reshape(2, 3)
    first, second, value, third = along_axes(x, 1)
    assert first.tolist() == third.tolist() == [[12, 20, 28]] * 2 and second.tolist() == [[6] * 3, [24] * 3]
    assert value == along.py_func(x, 1)
    with pytest.raises(TypeError, match="static argument axis is not known where it is compiled"):
        along_any(x, 1)


@njit
def structured(x):
    return swap((x, 2.0), 3.0)


def test_tuples_in_and_out():
    result = structured(np.ones(2))
    assert isinstance(result, Pair) and result.a == 6.0 and result.b[1] == 3.0
    assert np.array_equal(result.b[0], np.ones(2))


@grad
def keyed(x):
    return {"y": x * x}


def test_results_that_compiled_code_has_no_type_for():
    @njit
    def caller(x):
        return keyed(x)

    with pytest.raises(UnsupportedError, match="called from an @njit function, and returns a dict"):
        caller(np.ones(2))


def test_float64_scalars_count_as_python_numbers():
    @njit
    def caller(x, s):
        return mixed(x, s)

    assert caller(np.ones(2, np.float32), 3.0).dtype == np.float32
    assert caller(np.ones(2, np.float32), np.float32(3.0)).dtype == np.float32


def test_as_an_argument_of_another_function():
    @njit
    def apply(f, x):
        return f.backward(x)

    assert apply(square, 3.0) == 6.0
    assert apply(grad(lambda x: x**3), 3.0) == 27.0


@njit
def call_weighted(x):
    return weighted(x), weighted.backward(x)


def test_a_captured_array_is_fetched_at_each_call(monkeypatch):
    x = np.ones(2)
    assert call_weighted(x)[0] == 8.0
    monkeypatch.setitem(globals(), "W", np.array([1.0, 1.0]))
    y, x_b = call_weighted(x)
    assert y == 2.0 and np.array_equal(x_b, np.ones(2))
    monkeypatch.setitem(globals(), "W", np.ones(2, np.float32))
    with pytest.raises(TypeError, match="an array of float64 with 1 axes when its @njit caller was compiled"):
        call_weighted(x)


def test_captured_values_are_refused_in_parallel_code():
    @njit(parallel=True)
    def caller(x):
        s = np.zeros(4)
        for i in prange(4):
            s[i] = weighted(x)
        return s

    with pytest.raises(Exception, match="parallel=True"):
        caller(np.ones(2))


def test_errors_reach_the_caller():
    @njit
    def caller(x, v):
        return square.backward(x, v)

    with pytest.raises(ValueError):
        caller(np.ones(3), np.ones(4))
    with pytest.raises((NumbaError, TypeError), match="v"):
        njit(lambda x: square.backward(x))(np.ones(3))
    with pytest.raises(NumbaError):
        njit(lambda x: square.vjp(x))(1.0)


def test_memory_is_released():
    from numba.core.runtime import _nrt_python as nrt

    nrt.memsys_enable_stats()
    x, v = np.ones(100), np.ones(100)
    arrays(x, v)
    before = nrt.memsys_get_stats_alloc() - nrt.memsys_get_stats_free()
    for _ in range(10):
        arrays(x, v)
        call_weighted(np.ones(2))
    assert nrt.memsys_get_stats_alloc() - nrt.memsys_get_stats_free() == before


CALLER = """\
import warnings

import numpy as np
from numba import njit

from model import f


@njit
def inner(x):
    return f.backward(x)


@njit(cache=True)
def direct(x):
    return f(x), f.backward(x)


@njit(cache=True)
def indirect(x):
    return inner(x) + 0.0


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y, x_b = direct(np.array([1.0, 2.0]))
    print(y, x_b.tolist(), indirect(np.array([1.0, 2.0])).tolist())
print(sum("dynamic globals" in str(w.message) for w in caught))
"""
MODEL = """\
from srcgrad import grad


@grad
def f(x):
    return (x * x * {factor}).sum()
"""


def test_a_caller_with_cache_is_never_stale(tmp_path: Path):
    (tmp_path / "caller.py").write_text(CALLER)
    for factor, expected in ((1.0, "5.0 [2.0, 4.0] [2.0, 4.0]"), (3.0, "15.0 [6.0, 12.0] [6.0, 12.0]")):
        (tmp_path / "model.py").write_text(MODEL.format(factor=factor))
        printed = run(tmp_path / "caller.py", tmp_path / "cache", NUMBA_CACHE_DIR=str(tmp_path / "numba"))
        assert printed.splitlines() == [expected, "2"]  # Numba says that it does not cache them


def test_an_njit_function_that_f_calls_is_differentiated_through_its_source():
    @njit
    def inner(x):
        return x * x

    assert grad(lambda x: inner(x) * 3.0, jit=False).backward(2.0) == 12.0


@vectorize
def shrunk(x, k):
    if abs(x) > k:
        return x - k if x > 0 else x + k
    return 0.0 * x


@vectorize
def whole(x):
    return int(np.floor(x))


@vectorize([float32(float32), float64(float64)])
def cubed(x):
    return x**3


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_what_numba_vectorizes(jit: bool) -> None:
    x = np.array([[0.3, -1.2, 2.6], [1.4, -0.2, 0.8]])
    for function, args in (
        (lambda x, k: shrunk(x, k), (x, np.array([0.5, 0.4, 0.1]))),
        (lambda x, k: shrunk(x, k), (1.7, 0.4)),
        (lambda x: cubed(x) * whole(2.0 * x), (x,)),
        (lambda x: cubed(x.astype(np.float32)), (x.astype(np.float32),)),
        (lambda x: cubed(np.arange(3)) * cubed(3) * x, (x,)),
    ):
        f = grad(function, jit=jit)
        found, expected = f(*args), function(*args)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert np.asarray(found).dtype == np.asarray(expected).dtype and np.shape(found) == np.shape(expected)
        check_grad(f, *args)


def test_a_number_that_numba_has_no_loop_for() -> None:
    with pytest.raises(ArgumentError, match="cubed has no loop for these types"):
        grad(lambda z: cubed(z), jit=False)(1j)
