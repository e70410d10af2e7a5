"""Arrays that lie on a device in all ways that they may, and arrays of the host that a function reads from outside."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import cuda

from srcgrad import grad
from srcgrad.errors import ArgumentError, OverlapError, UnsupportedError

X = np.linspace(0.1, 2.0, 24)
WEIGHTS = np.cos(X)
SUMS = np.zeros(24)
ON_DEVICE: Any = None


def theirs(array: Any, *, read_only: bool = False, **other: Any) -> Any:
    """An array as another library describes it."""
    place = array.device_ctypes_pointer.value, read_only
    described = {"data": place, "shape": array.shape, "strides": array.strides, "typestr": array.dtype.str}
    return SimpleNamespace(__cuda_array_interface__=described | {"version": 3} | other, keeps=array)


def doubled(x):
    x *= 2.0


def turned(x):
    return x[::-1], x[:, ::-1].T, x


def test_views_that_go_downwards_are_copied_for_who_gets_them() -> None:
    """Numba copies no such array to the host, and PyTorch takes none."""
    f = grad(turned, target="cuda")
    for shape in ((4, 6), (1, 6), (4, 1), (1, 1), (0, 3)):
        x = X[: np.prod(shape)].reshape(shape)
        on_host, there = f(x), f(cuda.to_device(x))
        for got, same, want in zip(on_host, there, turned(x), strict=True):
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(same.copy_to_host(), want)


def backwards_from(x, k):
    q = x[k:][::-1]
    s = 0.0
    for j in range(3):
        s += q[j] ** 2
    return s


def test_a_view_whose_length_is_said_in_an_index() -> None:
    f = grad(backwards_from, target="cuda")
    for k in (0, 7, -5):
        np.testing.assert_allclose(f(X, k), backwards_from(X, k))
        np.testing.assert_allclose(f.backward(X, k), grad(backwards_from, jit=False).backward(X, k))


def test_one_element_that_goes_downwards() -> None:
    x = cuda.to_device(X)
    one = theirs(x, shape=(1,), strides=(-8,))
    np.testing.assert_array_equal(
        grad(lambda x: x[::-1] * x, target="cuda").backward(one, one).copy_to_host(), 2 * X[0] ** 2
    )


def test_elements_that_are_one_are_not_written() -> None:
    x = cuda.to_device(X)
    f = grad(doubled, target="cuda", outputs="x")
    f(theirs(x, shape=(3, 4), strides=(32, 8)))
    for strides in ((0, 8), (8, 8)):
        with pytest.raises(OverlapError, match="elements of argument x share memory"):
            f(theirs(x, shape=(3, 4), strides=strides))
    want = X.copy()
    want[:12] *= 2.0
    np.testing.assert_array_equal(x.copy_to_host(), want)


def test_arrays_that_are_only_to_be_read() -> None:
    x = cuda.to_device(X)
    f = grad(doubled, target="cuda", outputs="x")
    for _ in range(2):
        with pytest.raises(OverlapError, match="argument x is read-only"):
            f(theirs(x, read_only=True))
        f(theirs(x))  # the same code, for one that may be written
    x_b = f.backward(theirs(x, read_only=True), cuda.to_device(X))  # writes to a copy
    np.testing.assert_array_equal(x_b.copy_to_host(), 2 * X)
    np.testing.assert_array_equal(x.copy_to_host(), 4 * X)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"typestr": ">f8"}, "argument x is an array of float64 in another byte order"),
        ({"typestr": "<f2"}, "argument x is an array of float16: floats are float32 or float64 here"),
        ({"mask": X}, "argument x is a masked array"),
        ({"shape": (9,), "strides": (12,)}, "argument x lies at addresses that a GPU does not read a float64 from"),
    ],
)
def test_arrays_that_no_kernel_can_read(described: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        grad(lambda x: x * 2.0, target="cuda")(theirs(cuda.to_device(X), **described))


def weighted(x):
    return x * WEIGHTS + np.sum(WEIGHTS[::2] * x[1::2])


def test_an_array_from_outside_is_copied_to_the_device() -> None:
    """Numba would copy it there and back around each kernel, and the host's part has no use for it."""
    f, plain = grad(weighted, target="cuda"), grad(weighted, jit=False)
    x = cuda.to_device(X)
    np.testing.assert_allclose(f(x).copy_to_host(), plain(X), rtol=1e-13)
    np.testing.assert_allclose(f.backward(x, x).copy_to_host(), plain.backward(X, X), rtol=1e-13)
    _, pullback = f.vjp(x)
    for _ in range(2):
        np.testing.assert_allclose(pullback(x).copy_to_host(), plain.backward(X, X), rtol=1e-13)


def summed_up(x):
    SUMS[:] += x * x
    return x * SUMS


def test_an_array_from_outside_is_written_where_it_lies() -> None:
    f = grad(summed_up, target="cuda")
    for k in (1, 2):
        np.testing.assert_allclose(f(cuda.to_device(X)).copy_to_host(), k * X**3, rtol=1e-13)
        np.testing.assert_allclose(SUMS, k * X**2, rtol=1e-13)


def test_numbers_of_the_host_divide_as_those_of_numpy() -> None:
    def f(x, s, n):
        return x * 2.0 if 1.0 / s > 3.0 else x * n

    for s, k in ((0.0, 2.0), (0.5, 7.0)):
        np.testing.assert_array_equal(grad(f, target="cuda")(cuda.to_device(X), s, 7).copy_to_host(), k * X)


def test_arrays_on_a_device_are_not_read_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ON_DEVICE", cuda.to_device(X))
    with pytest.raises(
        UnsupportedError, match="ON_DEVICE lies on a GPU, and is no argument\n(.*\n)*.*make ON_DEVICE an"
    ):
        grad(lambda x: x * ON_DEVICE, target="cuda")(X)
