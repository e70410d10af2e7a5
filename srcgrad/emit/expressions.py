"""Expressions and constants of the IR as trees of Python.

Dtypes are spelled out where Numba would widen them.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

from ..ir import affine
from ..ir.expressions import (
    BOOL,
    COMPLEX128,
    FLOAT64,
    INT64,
    Array,
    Call,
    Const,
    Dim,
    Expr,
    Load,
    OldArray,
    Var,
    part_of,
    whole_exponent,
)
from ..ir.walk import loads, subexpressions, sure_loads
from ..rules.costs import KERNELS, ONE_BY_ONE
from ..rules.scalar import PRIMITIVES, spelling
from .source import to_source

WIDENED = (
    "add", "sub", "mul", "neg", "pos", "floordiv", "mod", "fmod", "abs", "maximum", "minimum", "max", "min", "square",
    "sign", "clip_low", "clip_high", "bitand", "bitor", "bitxor", "invert", "lshift", "rshift", "gcd", "lcm", "pow",
)  # fmt: skip


INTEGERS_RAISE = ("floordiv", "mod", "fmod", "pow")  # Python's, by zero


def expression_text(expr: Expr, dialect: Dialect | None = None) -> str:
    """One expression, as it is printed."""
    with speaking(dialect):
        return _text(expr)


def _text(expr: Expr) -> str:
    tree = operand(expr)
    return tree.id if isinstance(tree, ast.Name) else to_source(ast.Module([ast.Expr(tree)], [])).strip()


def named(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def target_of(target: Var | Load) -> ast.Name | ast.Subscript:
    place = operand(target)
    assert isinstance(place, (ast.Name, ast.Subscript))
    return place


def operand(value: Expr | Array | OldArray) -> ast.expr:
    match value:
        case Array(name=name) | Var(name=name):
            return named(name)
        case Const():
            return _constant(value)
        case Load(array=array, index=index):
            return ast.Subscript(named(array.name), _index(index), ast.Load())
        case Dim(array=array, axis=axis):
            return ast.Subscript(parsed(f"{array}.shape"), ast.Constant(axis), ast.Load())
        case Call():
            return _call(value)
    raise AssertionError(f"not an expression of the backend: {value!r}")


def _index(index: tuple[Expr, ...]) -> ast.expr:
    parts = [operand(affine.normal(part)) for part in index]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())


def _constant(const: Const) -> ast.expr:
    value, dtype = const.value, const.dtype
    if dtype == BOOL:
        return ast.Constant(bool(value))
    number = (
        _complex_literal(value) if dtype.kind == "c" else literal(float(value) if dtype.kind == "f" else int(value))
    )
    return number if dtype in (FLOAT64, INT64, COMPLEX128) else call_of(f"np.{dtype.name}", number)


def literal(value: float) -> ast.expr:
    if isinstance(value, float) and not math.isfinite(value):
        name = parsed("np.nan" if math.isnan(value) else "np.inf")
        return ast.UnaryOp(ast.USub(), name) if value == -math.inf else name
    if math.copysign(1, value) < 0:  # astor prints a negative Constant without parentheses: -2 ** 2
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _complex_literal(value: complex) -> ast.expr:
    signs = math.copysign(1, value.real), math.copysign(1, value.imag)
    if value.real == 0 and signs[0] == signs[1] and math.isfinite(value.imag):  # -2j has the real part -0.0
        return ast.Constant(value) if signs[0] > 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return call_of("complex", literal(value.real), literal(value.imag))


ORDER = {"eq", "ne", "lt", "le", "gt", "ge", "not", "and", "or", "select"}
TOTAL = (
    KERNELS
    | ORDER
    | {"add", "sub", "mul", "neg", "abs", "cast", "maximum", "minimum", "max", "min", "sign", "sqrt", "per_square"}
)
independent: ContextVar[bool] = ContextVar("_independent", default=False)  # iterations of the loop around
vectorises: ContextVar[bool] = ContextVar("_vectorises", default=False)  # … which fill vector registers
again: ContextVar[bool] = ContextVar("_again", default=False)  # is the text to be differentiated itself?
Dialect = Callable[[Call], "str | None"]  # how primitives are said elsewhere than in NumPy
_dialect: ContextVar[Dialect | None] = ContextVar("_dialect", default=None)


@contextmanager
def speaking(dialect: Dialect | None) -> Iterator[None]:
    token = _dialect.set(dialect)
    try:
        yield
    finally:
        _dialect.reset(token)


def _spelling(expr: Call) -> str:
    dialect = _dialect.get()
    if dialect is not None:
        text = dialect(expr)
        assert text is not None, expr.op
        return text
    quick = KERNELS if vectorises.get() else ONE_BY_ONE if independent.get() else ()
    if expr.op in quick and expr.dtype.kind == "f":
        text = spelling(expr)
        of_few = expr.op == "pow" and text != "{} ** {}"  # products
        return text if of_few else f"{expr.op}({', '.join('{}' for _ in expr.args)})"
    return spelling(expr)


def _call(expr: Call) -> ast.expr:
    args = expr.args
    if expr.op == "cast":
        return _cast(expr)
    if expr.op == "stop_gradient" and again.get():
        return call_of("stop_gradient", *map(operand, args))
    if expr.op == "select":
        condition, x, y = (operand(arg) for arg in args)
        parts = [part for arg in args[1:] for part in subexpressions(arg)]
        may_raise = any(isinstance(p, Call) and p.dtype.kind in "iu" and p.op in INTEGERS_RAISE for p in parts)
        is_complex = any(part.dtype.kind == "c" for part in parts) and not may_raise
        if is_complex and vectorises.get() and _dialect.get() is None:
            return call_of("choose", condition, x, y)
        if _leaves_a_product_out(expr) and _dialect.get() is None:
            return call_of("either", condition, x, y)
        return ast.IfExp(condition, x, y)
    if expr.op == "complex":
        return call_of(expr.dtype.name, *map(operand, args))
    if expr.dtype.kind == "c" and expr.op in ("add", "sub", "mul", "div", "pow"):
        args = _as_real(args)
    exponent = whole_exponent(expr)
    if exponent is not None and expr.dtype.kind == "f" and not vectorises.get() and _dialect.get() is None:
        return call_of("whole_power", operand(args[0]), operand(exponent))
    if expr.op not in PRIMITIVES:
        return call_of(expr.op, *map(operand, args))
    text = _spelling(expr)
    if "(" not in text or text.startswith("np."):  # functions of ours and SciPy's compute in the dtypes they are handed
        args = tuple(_without_cast(arg, args) for arg in args)
    out = _template(text, [operand(arg) for arg in args])
    if expr.dtype.kind in "iu" and expr.dtype != INT64 and expr.op in WIDENED:
        return call_of(f"np.{expr.dtype.name}", out)  # Numba computes small integers as int64
    return out


def summand(expr: Expr) -> ast.expr:
    """What a loop adds to a sum: of two numbers that may both be computed, one without a branch."""
    match expr:
        case Call(op="select", args=(condition, x, y)) if vectorises.get() and _dialect.get() is None:
            at_once = _at_once(condition, _read_by(x) | _read_by(y))
            if expr.dtype.kind == "f" and _is_total(x) and _is_total(y) and at_once is not None:
                return call_of("either", at_once, summand(x), summand(y))
    return operand(expr)


def _at_once(condition: Expr, read: set[tuple[Array, tuple[Expr, ...]]]) -> ast.expr | None:
    """The condition without a branch: neither part of it says whether the other one may be computed.

    `read` are elements that are read anyway.
    """
    match condition:
        case Call(op="not", args=(x,)):
            part = _at_once(x, read)
            return None if part is None else ast.UnaryOp(ast.Not(), part)
        case Call(op="and" | "or" as op, args=(x, y)):
            parts = _at_once(x, read), _at_once(y, read := read | _read_by(x))
            if None in parts or not _is_total(y) or any((load.array, load.index) not in read for load in loads(y)):
                return None
            return ast.BinOp(parts[0], ast.BitAnd() if op == "and" else ast.BitOr(), parts[1])  # type: ignore[arg-type]
    return operand(condition)


def _read_by(expr: Expr) -> set[tuple[Array, tuple[Expr, ...]]]:
    return {(load.array, load.index) for load in sure_loads(expr)}


def _leaves_a_product_out(expr: Call) -> bool:
    """Is it a product or nothing, nothing where a factor is zero?  To compute it costs less than a branch."""
    match expr.args:
        case (Call(op="ne", args=(Var(), Const(value=0))), x, Const(value=0)) if expr.dtype.kind == "f":
            return _is_total(x) and not any(load.checked for load in loads(x))
    return False


def _is_total(expr: Expr) -> bool:
    """Is it a real number whatever its operands are, also in Python, which divides by zero with an error?"""
    nodes = list(subexpressions(expr))
    calls = (node for node in nodes if isinstance(node, Call))
    return all(node.dtype.kind in "fib" for node in nodes) and all(map(_never_raises, calls))


def _never_raises(call: Call) -> bool:
    """`TOTAL`, and quotients by constants, and products that are written as powers."""
    match call:
        case Call(op="div", args=(_, Const(value=value))) if call.dtype.kind == "f":
            return value != 0
        case Call(op="pow", args=(_, Const(value=value))) if _spelling(call) == f"{{}} ** {value:.0f}":
            return value >= 0  # (of a large float of Python's own it raises: so it does where there is no select)
    return call.op in TOTAL and "**" not in _spelling(call)


def _without_cast(arg: Expr, args: tuple[Expr, ...]) -> Expr:
    """`s / float64(n)` reads `s / n`: beside another float64 the conversion is what happens anyway."""
    match arg:
        case Call(op="cast", args=(Expr(dtype=inner) as x,), dtype=outer) if outer == FLOAT64 and inner == INT64:
            if any(
                other is not arg and other.dtype == FLOAT64 and not isinstance(other, (Const, Call)) for other in args
            ):
                return x
    return arg


def _as_real(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """`complex128(x) * z` reads `x * z`, and so does a constant beside z: it is converted there anyway."""
    for arg, other in (args, args[::-1]):
        if _is_real_in_text(other):
            continue
        part = part_of(arg.dtype)
        match arg:
            case Call(op="cast", args=(Expr(dtype=inner) as x,)) if inner == part:
                return (x, other) if arg is args[0] else (other, x)
            case Const(value=complex(real=value, imag=0.0)):
                return (Const(value, part), other) if arg is args[0] else (other, Const(value, part))
    return args


def _is_real_in_text(expr: Expr) -> bool:
    match expr:
        case Const(value=value):
            return bool(value.imag == 0)
        case Call(op=op):
            return op == "cast"
    return False


def _cast(expr: Call) -> ast.expr:
    number = operand(expr.args[0])
    if expr.dtype == BOOL:
        return ast.Compare(number, [ast.NotEq()], [ast.Constant(0)])
    return call_of(f"np.{expr.dtype.name}", number)


def scalar_type(dtype: np.dtype) -> ast.expr:
    return parsed("np.bool_" if dtype == BOOL else f"np.{dtype.name}")


def call_of(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(parsed(function), list(args), [])


@cache
def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _template(spelling: str, operands: list[ast.expr]) -> ast.expr:
    """The spelling with operands in the places of `{}`, `{0}`, `{1}` …"""
    out = _filled(_with_holes(spelling), operands)
    if isinstance(out, ast.BoolOp):  # no parentheses within each other, of which Python takes 200: a and b and c
        alike = (v.values if isinstance(v, ast.BoolOp) and type(v.op) is type(out.op) else [v] for v in out.values)
        out.values = list(itertools.chain.from_iterable(alike))
    return out


@cache
def _with_holes(spelling: str) -> ast.expr:
    """Operands go to the places of names `_0_`, `_1_` …"""
    count = itertools.count()
    text = re.sub(r"\{(\d*)\}", lambda m: f"_{m.group(1) or next(count)}_", spelling)
    return _Holes().visit(ast.parse(text, mode="eval").body)


class _Hole(ast.expr):
    def __init__(self, number: int) -> None:
        self.number = number


class _Holes(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        hole = re.fullmatch(r"_(\d+)_", node.id)
        return _Hole(int(hole.group(1))) if hole else node


def _filled(node: Any, operands: list[ast.expr]) -> Any:
    if isinstance(node, list):
        return [_filled(part, operands) for part in node]
    if isinstance(node, _Hole):
        return operands[node.number]
    if isinstance(node, ast.Name) or not isinstance(node, ast.AST) or not node._fields:
        return node
    return type(node)(**{name: _filled(part, operands) for name, part in ast.iter_fields(node)})
