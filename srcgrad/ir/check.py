"""The grammar as a check that runs after every pass: legal nodes, types that agree, names that are bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .expressions import BOOL, Array, Axis, Call, Cotangent, Expr, Load, Old, OldArray, Var
from .nodes import (
    LANE,
    TURN,
    TURNS,
    AddTo,
    Alloc,
    Assign,
    For,
    ForEach,
    Function,
    If,
    Kernel,
    Parallel,
    Pop,
    Rule,
    Spread,
    Stack,
    Stmt,
    Store,
    Swap,
    Sweep,
    View,
    While,
    leaves,
)
from .show import _lines, text
from .walk import arrays_read, blocks, expressions, mentioned, remembered, statements, subexpressions, targets

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
    illegal = frozenset((Axis, *GONE_AFTER.get(after, ())))
    bound = {p.name for p in function.params}
    bound |= {p.top for p in function.params if isinstance(p, Stack)}
    bound |= {s.name for s in getattr(function.info, "seeds", None) or () if s is not None}
    bound |= {s.name for s in getattr(function.info, "shadows", ())}
    bound = bound.union(*(_mentions(stmt).bound for stmt in function.body))
    for stmt in function.body:
        if not _mentions(stmt).are_legal(bound, illegal):
            _refuse(stmt, bound, illegal, after)
    for leaf in leaves(function.results):
        if isinstance(leaf, Expr):
            names, _, problem = _read(leaf)
            if problem or not names <= bound:
                _fail(after, None, problem or f"{', '.join(sorted(names - bound))}: not bound")
        if isinstance(leaf, Array) and leaf.name not in bound:
            _fail(after, None, f"result {leaf.name} is not bound")
    for callee in function.callees:
        check(callee, after)
    return function


def check_types(function: Function) -> Function:
    """The function itself, if each name is of one type throughout: Numba is told to rely on it."""
    for part in (function, *function.callees):
        types: dict[str, tuple[Any, ...]] = {}
        for item in (*part.params, *(item for stmt in statements(part.body) for item in _typed(stmt))):
            kind = (item.dtype, item.ndim) if isinstance(item, Array) else (item.dtype,)
            if types.setdefault(item.name, kind) != kind:
                raise BrokenIR(f"{item.name} in {part.name} is of two types: {types[item.name]} and {kind}")
    return function


def check_results(function: Function) -> Function:
    """The function itself, if it hands out nothing that a stack holds: that counts no references."""
    for part in (function, *function.callees):
        held: set[str] = set()
        for stmt in statements(part.body):
            match stmt:
                case Pop(target=Array(name=name)) | Alloc(array=Array(name=name), on=Stack()):
                    held.add(name)
                case View(array=array, base=base) if base.name in held:
                    held.add(array.name)
                case Swap(left=left, right=right) if {left.name, right.name} & held:
                    held |= {left.name, right.name}
        for leaf in leaves(part.results):
            if isinstance(leaf, Array) and leaf.name in held:
                raise BrokenIR(f"result {leaf.name} is memory of a stack")
    return function


@remembered
def _typed(stmt: Stmt) -> tuple[Var | Array, ...]:
    """The names in a statement, with their types."""
    return (*_bound(stmt), *arrays_read(stmt), *mentioned(stmt))


def _refuse(outer: Stmt, bound: set[str], illegal: frozenset[type], after: str) -> None:
    """Say which statement, of one and those inside it, is not well formed."""
    for stmt in statements((outer,)):
        own = _own(stmt)
        if own.problem:
            _fail(after, stmt, own.problem)
        if own.kinds & illegal:
            _fail(after, stmt, f"{', '.join(sorted(kind.__name__ for kind in own.kinds & illegal))}: not legal here")
        if not own.names <= bound:
            _fail(after, stmt, f"{', '.join(sorted(own.names - bound))}: not bound")


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
            return (*made, LANE, TURN, TURNS) if stmt.by_rows else made
        case Rule(outputs=outputs, adjoint=adjoint):
            inner = [item for s in statements(adjoint) for item in _bound(s)]
            return (*outputs, *inner)
    return targets(stmt)


@dataclass(frozen=True)
class Mentions:
    """What statements mention: names that must be bound, names that they bind, kinds of nodes; and what is wrong."""

    names: frozenset[str]
    bound: frozenset[str]
    kinds: frozenset[type]
    problem: str | None

    def are_legal(self, bound: set[str], illegal: frozenset[type]) -> bool:
        return self.problem is None and self.names <= bound and self.kinds.isdisjoint(illegal)


@remembered
def _mentions(stmt: Stmt) -> Mentions:
    """Of the statement and all inside it."""
    own = _own(stmt)
    parts = [own, *(_mentions(inner) for block in blocks(stmt) for inner in block)]
    if len(parts) == 1:
        return own
    return Mentions(
        own.names.union(*(part.names for part in parts)),
        own.bound.union(*(part.bound for part in parts)),
        own.kinds.union(*(part.kinds for part in parts)),
        next((part.problem for part in parts if part.problem), None),
    )


@remembered
def _own(stmt: Stmt) -> Mentions:
    problem = _mistyped(stmt)
    names = {array.name for array in arrays_read(stmt)}
    kinds: set[type] = {type(stmt)}
    for expr in expressions(stmt):
        found, of_kinds, wrong = _read(expr)
        names |= found
        kinds |= of_kinds
        problem = problem or wrong
    bound = frozenset(item.name for item in _bound(stmt))
    return Mentions(frozenset(names), bound, frozenset(kinds), problem)


@remembered
def _read(expr: Expr) -> tuple[set[str], set[type], str | None]:
    """The names that an expression reads, the kinds of its nodes, and what is wrong with them."""
    names: set[str] = set()
    kinds: set[type] = set()
    problem = None
    for node in subexpressions(expr):
        kinds.add(type(node))
        if isinstance(node, Var):
            names.add(node.name)
        elif isinstance(node, Load):
            names.add(node.array.name)
            if len(node.index) != node.array.ndim:
                problem = f"{text(node)} has {len(node.index)} indices for {node.array.ndim} axes"
        elif isinstance(node, Call) and node.op in SAME_DTYPE and any(a.dtype != node.dtype for a in node.args):
            problem = f"{text(node)} mixes {[a.dtype.name for a in node.args]} to {node.dtype.name}"
    return names, kinds, problem


def _mistyped(stmt: Stmt) -> str | None:
    match stmt:
        case Assign(var=target, value=value) | AddTo(target=target, value=value):
            if target.dtype != value.dtype:
                return f"{value.dtype.name} goes to {target.dtype.name}"
        case Store(array=array, index=index, value=value):
            if array.dtype != value.dtype or len(index) != array.ndim:
                return f"{value.dtype.name} goes to {array.dtype.name}[{array.ndim}]"
        case If(condition=condition) | While(condition=condition):
            if condition.dtype != BOOL:
                return "the condition is not a bool"
        case For(index=index, body=body):
            if any(index.name in _mentions(inner).bound for inner in body):
                return f"the index {index.name} is written in its own loop"
    return None


def _fail(after: str, stmt: Stmt | None, problem: str) -> None:
    shown = next((line for line in _lines(stmt) if isinstance(line, str)), "") if stmt is not None else "the results"
    where = f" (line {stmt.span.line} of {stmt.span.file})" if stmt is not None and stmt.span else ""
    raise BrokenIR(f"after {after}: {problem}\n    {shown}{where}")
