"""The grammar as a check that runs after every pass: legal nodes, types that agree, names that are bound."""

from __future__ import annotations

from .nodes import (
    BOOL,
    AddTo,
    Array,
    Assign,
    Axis,
    Block,
    Call,
    Cotangent,
    Expr,
    For,
    ForEach,
    Function,
    If,
    Load,
    Old,
    OldArray,
    Parallel,
    Rule,
    Spread,
    Stack,
    Stmt,
    Store,
    Sweep,
    Var,
    View,
    While,
    leaves,
)
from .show import _lines, text
from .walk import arrays_read, expressions, statements, subexpressions, written

# The nodes that a pass takes away: after it they are an error.
GONE_AFTER: dict[str, tuple[type, ...]] = {
    "lower_arrays": (ForEach,),
    "keep": (Old, OldArray, Rule, Cotangent, Spread),
    "tidy": (Sweep, Old, OldArray, Rule, ForEach, Cotangent, Spread),
    "prove_bounds": (Sweep, Old, OldArray, Rule, ForEach, Cotangent, Spread),
}
SAME_DTYPE = ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "hypot", "arctan2", "fmax", "fmin")


class BrokenIR(AssertionError):
    """A pass left something that is not in the grammar.  A defect of ours, never of the user's."""


def check(function: Function, after: str) -> Function:
    """The function itself, if it is well formed."""
    gone = GONE_AFTER.get(after, ())
    bound = {p.name for p in function.params}
    bound |= {p.top for p in function.params if isinstance(p, Stack)}
    bound |= {s.name for s in getattr(function.info, "seeds", None) or () if s is not None}
    bound |= {s.name for s in getattr(function.info, "shadows", ())}
    for stmt in statements(function.body):
        bound |= {item.name for item in _bound(stmt)}
    for stmt in statements(function.body):
        if isinstance(stmt, gone):
            _fail(after, stmt, f"{type(stmt).__name__} should be gone")
        for expr in expressions(stmt):
            for node in subexpressions(expr):
                _check_expression(node, stmt, bound, gone, after)
        _check_types(stmt, after)
        for array in arrays_read(stmt):
            if array.name not in bound:
                _fail(after, stmt, f"array {array.name} is not bound")
    for leaf in leaves(function.results):
        for node in subexpressions(leaf) if isinstance(leaf, Expr) else ():
            _check_expression(node, None, bound, gone, after)
        if isinstance(leaf, Array) and leaf.name not in bound:
            _fail(after, None, f"result {leaf.name} is not bound")
    for callee in function.callees:
        check(callee, after)
    return function


def _bound(stmt: Stmt) -> tuple[Var | Array, ...]:
    match stmt:
        case View(array=array):
            return (array,)
        case ForEach(indices=indices):
            return indices
        case Parallel(low=low, high=high):
            return (low, high)
        case Rule(outputs=outputs, adjoint=adjoint):
            inner = [item for s in statements(adjoint) for item in _bound(s)]
            return (*outputs, *inner)
    target = written(stmt)
    return target if isinstance(target, tuple) else (target,) if target is not None else ()


def _check_expression(node: Expr, stmt: Stmt | None, bound: set[str], gone: tuple[type, ...], after: str) -> None:
    if isinstance(node, Axis) or isinstance(node, gone):
        _fail(after, stmt, f"{text(node)} is not legal here")
    if isinstance(node, Var) and node.name not in bound:
        _fail(after, stmt, f"{node.name} is not bound")
    if isinstance(node, Load):
        if node.array.name not in bound:
            _fail(after, stmt, f"array {node.array.name} is not bound")
        if len(node.index) != node.array.ndim:
            _fail(after, stmt, f"{text(node)} has {len(node.index)} indices for {node.array.ndim} axes")
    if isinstance(node, Call) and node.op in SAME_DTYPE and len({a.dtype for a in node.args} | {node.dtype}) > 1:
        _fail(after, stmt, f"{text(node)} mixes {[a.dtype.name for a in node.args]} to {node.dtype.name}")


def _check_types(stmt: Stmt, after: str) -> None:
    match stmt:
        case Assign(var=target, value=value) | AddTo(target=target, value=value):
            if target.dtype != value.dtype:
                _fail(after, stmt, f"{value.dtype.name} goes to {target.dtype.name}")
        case Store(array=array, index=index, value=value):
            if array.dtype != value.dtype or len(index) != array.ndim:
                _fail(after, stmt, f"{value.dtype.name} goes to {array.dtype.name}[{array.ndim}]")
        case If(condition=condition) | While(condition=condition):
            if condition.dtype != BOOL:
                _fail(after, stmt, "the condition is not a bool")
        case For(body=body):
            _no_index_writes(body, stmt, after)


def _no_index_writes(body: Block, loop: For, after: str) -> None:
    for stmt in body:
        if isinstance(stmt, (Assign, AddTo)) and written(stmt) == loop.index:
            _fail(after, stmt, f"the index {loop.index.name} is written in its own loop")


def _fail(after: str, stmt: Stmt | None, problem: str) -> None:
    shown = next((line for line in _lines(stmt) if isinstance(line, str)), "") if stmt is not None else "the results"
    where = f" (line {stmt.span.line} of {stmt.span.file})" if stmt is not None and stmt.span else ""
    raise BrokenIR(f"after {after}: {problem}\n    {shown}{where}")
