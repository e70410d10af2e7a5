"""Expressions that say the same are one object, and go with their last user."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

from srcgrad.ir import interned
from srcgrad.ir.expressions import (
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT64,
    Array,
    Call,
    Const,
    Cotangent,
    Dim,
    Expr,
    Load,
    Old,
    Var,
)

X, I = Array("x", FLOAT64, (Var("n", INT64),)), Var("i", INT64)


def some(k: int) -> list[Expr | Array]:
    """Nodes of all kinds, made anew at every call."""
    array = Array(f"a_{k}", FLOAT32, (Var("n", INT64), Const(k, INT64)))
    place = Load(array, (I, Const(k, INT64)))
    return [
        array,
        place,
        Dim("x", k),
        Old(place, k, frozenset({"i"})),
        Cotangent(place),
        Call("neg", (place,), FLOAT32),
    ]


def test_the_same_is_one() -> None:
    assert all(one is other for one, other in zip(some(3), some(3), strict=True))
    assert len({*some(3), *some(4), *some(3)}) == 2 * len(some(3))


def test_defaults_and_keywords() -> None:
    assert Var("t") is Var("t", FLOAT64) is Var(dtype=FLOAT64, name="t") is not Var("t", FLOAT32)
    assert Load(X, (I,)) is Load(X, (I,), True, natural=False) is not Load(X, (I,), checked=False)
    assert replace(Load(X, (I,)), checked=False) is Load(X, (I,), False)
    assert Var("t", np.dtype("<f8")) is Var("t")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Var(),
        lambda: Var("t", FLOAT64, 1),
        lambda: Var("t", name="t"),
        lambda: Var("t", of=1),
        lambda: Const(dtype=INT64),
        lambda: Load(X),
    ],
)
def test_what_a_node_does_not_have(make: object) -> None:
    with pytest.raises(TypeError):
        make()  # type: ignore[operator]


def test_constants_are_told_apart_as_text() -> None:
    assert Const(float("nan")) is Const(float("nan"))
    assert Const(0.0) is not Const(-0.0) and str(Const(-0.0).value) == "-0.0"
    numbers = [Const(1), Const(1.0), Const(True), Const(np.float32(1.0)), Const(1, INT64), Const(1.0, FLOAT32)]
    assert len(set(numbers)) == len(numbers)
    assert [type(c.value) for c in numbers] == [int, float, bool, np.float32, int, float]
    assert Const(1, COMPLEX128) is Const(1.0, COMPLEX128) is Const(1 + 0j, COMPLEX128)
    assert Const(complex(0.0, -0.0), COMPLEX128) is not Const(0j, COMPLEX128)


def test_copies_are_itself() -> None:
    for node in some(5):
        assert copy.copy(node) is copy.deepcopy(node) is pickle.loads(pickle.dumps(node)) is node


def test_what_nobody_uses_goes() -> None:
    name = "used_by_nobody_else"
    gc.collect()
    before = len(interned._held)
    node = Call("add", (Var(name), Const(0.1234567891)), FLOAT64)
    assert len(interned._held) == before + 3
    del node
    assert len(interned._held) == before
    assert Var(name).name == name  # and comes again


def test_threads_share_them() -> None:
    start = threading.Barrier(8)
    found: list[list[Expr | Array]] = []

    def make() -> None:
        start.wait()
        found.append([node for k in range(1000, 1400) for node in some(k)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(list(map(id, nodes)) == list(map(id, found[0])) for nodes in found)
