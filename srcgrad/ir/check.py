"""The grammar as a check that runs after every pass: legal nodes, types that agree, names that are bound."""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import (
    BOOL,
    LANE,
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
    Kernel,
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
    illegal = {Axis, *gone}
    bound = {p.name for p in function.params}
    bound |= {p.top for p in function.params if isinstance(p, Stack)}
    bound |= {s.name for s in getattr(function.info, "seeds", None) or () if s is not None}
    bound |= {s.name for s in getattr(function.info, "shadows", ())}
    for stmt in statements(function.body):
        bound |= {item.name for item in _bound(stmt)}
    for stmt in statements(function.body):
        if isinstance(stmt, gone):
            _fail(after, stmt, f"{type(stmt).__name__} should be gone")
        own = _own(stmt, after)
        if not own.names <= bound:
            _fail(after, stmt, f"{', '.join(sorted(own.names - bound))}: not bound")
        if own.kinds & illegal:
            _fail(after, stmt, f"{', '.join(kind.__name__ for kind in own.kinds & illegal)}: not legal here")
    for leaf in leaves(function.results):
        names = _names_in(leaf, None, after) if isinstance(leaf, Expr) else set()
        if not names <= bound:
            _fail(after, None, f"{', '.join(sorted(names - bound))}: not bound")
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
        case Kernel(axes=axes, scratch=scratch, sets=sets, sums=sums):
            made: tuple[Var | Array, ...] = (*(a.index for a in axes), *(m.array for m in scratch), *sets, *sums)
            return (*made, LANE) if stmt.by_rows else made
        case Rule(outputs=outputs, adjoint=adjoint):
            inner = [item for s in statements(adjoint) for item in _bound(s)]
            return (*outputs, *inner)
    target = written(stmt)
    return target if isinstance(target, tuple) else (target,) if target is not None else ()


@dataclass(frozen=True)
class Own:
    """What a statement itself mentions: names that must be bound, kinds of expressions."""

    names: frozenset[str]
    kinds: frozenset[type]


_known: dict[int, tuple[Stmt, Own]] = {}  # statements never change, and most outlive many passes
MOST_KNOWN = 50_000


def _own(stmt: Stmt, after: str) -> Own:
    held = _known.get(id(stmt))
    if held is not None and held[0] is stmt:
        return held[1]
    _check_types(stmt, after)
    names = {array.name for array in arrays_read(stmt)}
    kinds: set[type] = set()
    for expr in expressions(stmt):
        names |= _names_in(expr, stmt, after)
        kinds.update(map(type, subexpressions(expr)))
    if len(_known) > MOST_KNOWN:
        _known.clear()
    own = Own(frozenset(names), frozenset(kinds))
    _known[id(stmt)] = stmt, own
    return own


def _names_in(expr: Expr, stmt: Stmt | None, after: str) -> set[str]:
    """The names that an expression reads; its nodes are well formed."""
    names: set[str] = set()
    for node in subexpressions(expr):
        if isinstance(node, Var):
            names.add(node.name)
        elif isinstance(node, Load):
            names.add(node.array.name)
            if len(node.index) != node.array.ndim:
                _fail(after, stmt, f"{text(node)} has {len(node.index)} indices for {node.array.ndim} axes")
        elif isinstance(node, Call) and node.op in SAME_DTYPE and len({a.dtype for a in node.args} | {node.dtype}) > 1:
            _fail(after, stmt, f"{text(node)} mixes {[a.dtype.name for a in node.args]} to {node.dtype.name}")
    return names


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
