"""Algebra on the sweep's own arithmetic, before `keep`: fewer reads, fewer kept values.

    x_b += 1.0 * y_b      →   x_b += y_b
    x_b += -(-g)          →   x_b += g

The user's arithmetic is left as it is written: there, x * 0 is not 0 for an infinite x.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ir.affine import decided
from ...ir.expressions import BOOL, INT64, Call, Const, Expr, Old
from ...ir.nodes import Function, Stmt, Sweep
from ...ir.walk import blocks, children, map_expressions, rebuild, with_blocks
from ...rules.costs import may_fail
from ...rules.names import UFUNCS


def simplify(function: Function) -> Function:
    return replace(function, body=tuple(_in_sweep(s) if isinstance(s, Sweep) else s for s in function.body))


def _in_sweep(stmt: Stmt) -> Stmt:
    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(_in_sweep(s) for s in block) for block in inner))
    return map_expressions(stmt, _simplified)


def _simplified(expr: Expr) -> Expr:
    """Simplified down to the old values in it: those are the user's own expressions, and found by their text."""
    if isinstance(expr, Old):
        return expr
    parts = children(expr)
    return simpler(rebuild(expr, tuple(_simplified(part) for part in parts)) if parts else expr)


def simpler(expr: Expr) -> Expr:
    """One step of algebra at the top of an expression."""
    match expr:
        case Call(op="mul", args=(Const(value=1.0), x)) | Call(op="mul", args=(x, Const(value=1.0))):
            return x
        case Call(op="div", args=(x, Const(value=1.0))):
            return x
        case Call(op="mul", args=(Const(value=-1.0), x)) | Call(op="mul", args=(x, Const(value=-1.0))):
            return simpler(Call("neg", (x,), expr.dtype))
        case Call(op="neg", args=(Call(op="neg", args=(x,)),)):
            return x
        case Call(op="mul", args=(Call(op="neg", args=(x,)), y)) | Call(op="mul", args=(y, Call(op="neg", args=(x,)))):
            return Call("neg", (simpler(Call("mul", (x, y), expr.dtype)),), expr.dtype)
        case Call(op="div", args=(Call(op="neg", args=(x,)), y)):
            return Call("neg", (simpler(Call("div", (x, y), expr.dtype)),), expr.dtype)
        case Call(op="mul", args=(x, Call(op="div", args=(Const(value=1.0), y)))):
            return Call("div", (x, y), expr.dtype)
        case (
            Call(op="real", args=(Call(op="complex", args=(x, _)),))
            | Call(op="imag", args=(Call(op="complex", args=(_, x)),))
        ):
            return x
        case Call(op="real", args=(Call(op="cast", args=(x,)),)) if x.dtype == expr.dtype:
            return x
        case Call(op="conj", args=(Call(op="conj", args=(x,)),)):
            return x
        case Call(op="select", args=(condition, x, y)) if x == y and not may_fail(condition):
            return x
        case Call(op="select", args=(Const(value=chosen), x, y)):
            return x if chosen else y
        case Call(op="ne", args=(Const(value=x), Const(value=y))):
            return Const(x != y, BOOL)
        case Call(op="and", args=(x, Const(value=False))) | Call(op="or", args=(x, Const(value=True))) if may_fail(x):
            return expr  # what decides nothing is still looked at
        case Call(op="and", args=(Const(value=True), x)) | Call(op="and", args=(x, Const(value=True))):
            return x
        case Call(op="and", args=(Const(value=False), _)) | Call(op="and", args=(_, Const(value=False))):
            return Const(False, BOOL)
        case Call(op="or", args=(Const(value=False), x)) | Call(op="or", args=(x, Const(value=False))):
            return x
        case Call(op="or", args=(Const(value=True), _)) | Call(op="or", args=(_, Const(value=True))):
            return Const(True, BOOL)
        case Call(op="not", args=(Const(value=value),)):
            return Const(not value, BOOL)
        case Call(op=op, args=args) if (
            op in UFUNCS and expr.dtype.kind == "f" and all(isinstance(a, Const) for a in args)
        ):
            return _folded(expr)
    return of_whole_numbers(expr)


def settled(expr: Expr) -> Expr:
    """A choice by a condition that has become known; the user's other arithmetic stays as it is written."""
    match expr:
        case Call(op="ne", args=(Const(value=x), Const(value=y))):
            return Const(x != y, BOOL)
        case Call(op="select" | "not" | "and" | "or"):
            return simpler(expr)
    return of_whole_numbers(expr)


def of_whole_numbers(expr: Expr) -> Expr:
    """Comparisons that come out one way whatever the lengths are, and sums with nothing."""
    match expr:
        case Call(op=op, args=(x, y), dtype=dtype) if dtype == BOOL and x.dtype == y.dtype == INT64:
            known = decided(op, x, y)
            return expr if known is None else Const(known, BOOL)
        case Call(op="add" | "sub", args=(x, Const(value=0))) | Call(op="add", args=(Const(value=0), x)):
            return x if expr.dtype == INT64 == x.dtype else expr
    return expr


def _folded(expr: Call) -> Expr:
    """A primitive of constants is one."""
    try:
        with np.errstate(all="ignore"):
            value = UFUNCS[expr.op](*(arg.dtype.type(arg.value) for arg in expr.args))  # type: ignore[attr-defined]
    except (ValueError, OverflowError):  # of a function of Python's: where it runs, if it does
        return expr
    return Const(value.item(), expr.dtype) if value.dtype == expr.dtype else expr
