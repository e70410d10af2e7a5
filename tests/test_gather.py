"""Neighbours' sums, gathered: what must not change, and what must be seen in which order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.ir import affine
from srcgrad.ir.expressions import FLOAT64, INT64, Array, Const, Dim, Load, Var
from srcgrad.ir.names import Names
from srcgrad.ir.nodes import AddTo, Alloc, Assign, Block, For, Function, Run, Store, Subscript, Swap, View
from srcgrad.ir.walk import statements
from srcgrad.passes.gather import gather

N, I, G = Dim("x", 0), Var("i", INT64), Var("g", FLOAT64)
U, W, ROW = (Array(name, FLOAT64, (N,)) for name in ("u_b", "w_b", "row_b"))
WHOLE = Subscript((Run(affine.ZERO, affine.ONE, N, True),))


def at(array: Array, apart: int = 0) -> Load:
    return Load(array, (affine.add(I, affine.integer(apart)),), checked=False)


def clear(array: Array) -> Store:
    return Store(array, (I,), Const(0.0), checked=False)


def loops(*body: object, ahead: Block = ()) -> list[set[str]]:
    """What the loops write that a loop over a stencil becomes, in their order."""
    loop = For(I, affine.ONE, affine.sub(N, affine.ONE), affine.ONE, body, ordered=False)  # type: ignore[arg-type]
    whole = (Alloc(U, (N,)), Alloc(W, (N,)), *ahead, loop)
    out = gather(Function("f", (), whole, (), SimpleNamespace(names=Names()))).body[len(whole) - 1 :]
    return [{place.name for s in statements((stmt,)) for place in _written(s)} for stmt in out]


def _written(stmt: object) -> list[Array]:
    if isinstance(stmt, Store):
        return [stmt.array]
    return [stmt.target.array] if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) else []


ADDS = (AddTo(at(U, 1), G, True), AddTo(at(U, -1), G, True))


def test_what_is_cleared_is_read_before_that() -> None:
    assert loops(Assign(G, at(W)), clear(W), *ADDS) == [{"u_b"}, {"w_b"}]


def test_what_is_stored_first_is_read_behind_that() -> None:
    assert loops(Store(W, (I,), at(W)), Assign(G, at(W)), *ADDS) == [{"w_b"}, {"u_b"}]


@pytest.mark.parametrize("read, cleared", [(ROW, W), (W, ROW)], ids=["read through the view", "cleared through it"])
def test_a_view_is_the_memory_that_it_is_of(read: Array, cleared: Array) -> None:
    view = View(ROW, W, WHOLE)
    assert loops(Assign(G, at(read)), clear(cleared), *ADDS, ahead=(view,)) == [{"u_b"}, {cleared.name}]


def test_a_view_of_what_is_added_to_is_left_alone() -> None:
    together = [{"u_b"}]
    assert loops(Assign(G, at(ROW)), *ADDS, ahead=(View(ROW, U, WHOLE),)) == together
    exchanged = (View(ROW, W, WHOLE), Swap(U, W))  # row_b is of what is called u_b now
    assert loops(Assign(G, at(ROW)), *ADDS, ahead=exchanged) == together


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_the_users_keep_their_order(dtype: type) -> None:
    """Where large numbers cancel, another order is another result."""

    def cancels(x):
        n, m = x.shape
        y = np.zeros((n + 1, m + 1), dtype=x.dtype)
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                y[i, j] += x[i, j]
                y[i, j + 1] += 1e9 * x[i, j]
                y[i, j - 1] -= 1e9 * x[i, j]
                y[i + 1, j] += x[i, j]
                y[i - 1, j] += 0.3
        return y

    rng = np.random.default_rng(3)
    for x in (rng.normal(size=(6, 7)), rng.normal(size=(7, 6)).T, rng.normal(size=(12, 14))[::2, ::-2]):
        x = x.astype(dtype)
        wanted = cancels(x)
        value, _ = grad(cancels, jit=False).value_and_backward(x, np.ones_like(wanted))
        np.testing.assert_array_equal(value, wanted)


def nine_point(u, h):
    straight = u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1]
    corners = u[2:, 2:] + u[2:, :-2] + u[:-2, 2:] + u[:-2, :-2]
    return (4 * straight + corners - 20 * u[1:-1, 1:-1]) / (6 * h**2)


def weighed(u, h):
    """What is divided is not all that is added."""
    return u[:-4] / h + u[1:-3] / 4 + u[2:-2] / h + 3 * u[3:-1] + u[4:] / h


def own_weights(u, h):
    """Each neighbour's own number comes in, twice where it is divided twice."""
    c = np.cos(h * np.arange(u.size - 4.0)) / h
    return c * u[:-4] + c * c * u[1:-3] + u[2:-2] * c + c * u[3:-1] + c * u[4:]


def of_what_is_zero(u, h):
    """A cotangent of zero is zero, whatever it is divided by."""
    return np.maximum(u[:-4] + u[1:-3] + u[2:-2] + u[3:-1] + u[4:], 5.0) / (h - 0.5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("function", "ndim", "h", "is_once"),
    [
        (nine_point, 2, 0.3, True),
        (weighed, 1, 0.3, False),
        (own_weights, 1, 0.3, None),
        (of_what_is_zero, 1, 0.5, None),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_sums_are_divided_once(function: Any, ndim: int, h: float, is_once: bool | None, dtype: type) -> None:
    u = np.sin(np.arange(10.0**ndim)).reshape((10,) * ndim).astype(dtype)
    f = grad(function, jit=False, wrt="u")
    with np.errstate(all="ignore"):
        v = np.cos(np.arange(np.size(function(u, h)))).reshape(np.shape(function(u, h))).astype(dtype)
    assert is_once is None or ("+= total /" in f.source(u, h, v)) is is_once
    got = f.backward(u, h, v)
    if function is of_what_is_zero:
        assert not got.any()
        return
    whole = u.astype(np.float64)
    want = [np.vdot(v, function(whole + step, h) - function(whole - step, h)) / 2 for step in _units(u.shape)]
    assert got.dtype == dtype
    np.testing.assert_allclose(got.ravel(), want, rtol=1e-5 if dtype is np.float32 else 1e-9)


def _units(shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    return np.eye(count).reshape(count, *shape)
