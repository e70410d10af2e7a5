"""The check of the tree after each pass: it lets well-formed functions through, and says what is wrong with others."""

from __future__ import annotations

import numpy as np
import pytest

from srcgrad.ir.check import BrokenIR, check, check_types
from srcgrad.ir.expressions import FLOAT64, INT64, Array, Const, Load, Var
from srcgrad.ir.info import Info
from srcgrad.ir.names import Names
from srcgrad.ir.nodes import AddTo, Assign, For, Function, Stmt, Store

X = Array("x", FLOAT64, (Var("n", INT64),))
N, I, T = Var("n", INT64), Var("i", INT64), Var("t")


def function(*body: Stmt) -> Function:
    return Function("f", (X, N), body, (T,), info=Info(Names()))


def loop(*body: Stmt) -> For:
    return For(I, Const(0, INT64), N, Const(1, INT64), body)


SUM = (Assign(T, Const(0.0)), loop(AddTo(T, Load(X, (I,)))))


def test_a_well_formed_function_is_itself() -> None:
    whole = function(*SUM)
    assert check(whole, "fuse") is whole
    assert check_types(whole) is whole


@pytest.mark.parametrize(
    ("stmt", "words"),
    [
        (Assign(T, Var("u")), "u: not bound"),
        (Assign(T, Const(1, INT64)), "int64 goes to float64"),
        (Assign(T, Load(X, (I, I))), "2 indices for 1 axes"),
        (Store(X, (I,), Const(True, np.dtype(bool))), "bool goes to float64"),
        (loop(Assign(I, Const(0, INT64))), "the index i is written in its own loop"),
    ],
)
def test_what_is_wrong_is_said(stmt: Stmt, words: str) -> None:
    with pytest.raises(BrokenIR, match=f"(?s)after fuse: .*{words}"):
        check(function(*SUM, stmt), "fuse")


@pytest.mark.parametrize(
    "stmt",
    [
        Assign(Var("t", INT64), Const(0, INT64)),
        Assign(T, Load(Array("x", FLOAT64, (N, N)), (I, I))),
        loop(loop(Assign(Var("n"), T))),
    ],
)
def test_a_name_is_of_one_type(stmt: Stmt) -> None:
    with pytest.raises(BrokenIR, match="of two types"):
        check_types(function(*SUM, stmt))
