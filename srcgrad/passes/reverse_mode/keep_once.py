"""What is kept twice is kept once.

    a_now_kept[i] = a_now                     a_now_kept[i] = a_now
    a_now_1 = a[i]                     →      a_now_1 = a[i]
    a_now_1_kept[i] = a_now_1
    …                                         …
    a_now_1 = a_now_1_kept[i]                 a_now_1 = a_now_kept[i]

Two statements that read one element each keep what they have read; which of them are in one loop is known later.
In a `while` loop they fill rows, which are pushed on stacks behind the loop, and popped by the sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from ...analysis.effects import effects, names_of_its_own, uses
from ...ir.expressions import Array, Expr, Load, Var
from ...ir.info import memory_of, roots_of
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    For,
    Function,
    If,
    NewStack,
    Pop,
    Push,
    Raise,
    Stmt,
    Store,
    While,
    leaves,
)
from ...ir.rename import rename_arrays
from ...ir.walk import blocks, loads, rewrite_block, statements, variables
from ..repeats import changed_by
from .kept_numbers import stacks_of

Place = tuple[Hashable, tuple[Expr, ...], tuple[Expr, ...], Expr]  # together with which, lengths, index, value


@dataclass(frozen=True)
class Own:
    """An array of kept values that one statement fills."""

    alloc: Alloc
    stack: str = ""  # on which it is pushed
    popped: Array | None = None  # what the sweep calls it
    beside: Hashable = None  # with those that are made, pushed and popped together


def keep_once(function: Function) -> Function:
    own = {**_kept(function), **_pushed(function)}
    if len(own) < 2:
        return function
    same: dict[str, Array] = {}
    _find(function.body, own, same, memory_of(function))
    if not same:
        return function
    gone = {own[name].stack for name in same} - {""}
    names = dict(same)
    for name, known in same.items():
        if (popped := own[name].popped) is not None:
            names[popped.name] = own[known.name].popped  # type: ignore[assignment]

    def once(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, (Alloc, Store)) and stmt.array.name in same:
            return ()
        if isinstance(stmt, (NewStack, Push, Pop)) and stmt.stack.name in gone:
            return ()
        return (rename_arrays(stmt, names),)

    return replace(function, body=rewrite_block(function.body, once))


def _pushed(function: Function) -> dict[str, Own]:
    """Rows that are made, filled by one statement and pushed, each on a stack of its own, and popped to be read."""
    every = statements(function.body)
    if not any(isinstance(stmt, Push) and isinstance(stmt.value, Array) for stmt in every):
        return {}
    of_stacks = Counter(name for stmt in every for name in stacks_of(stmt))
    used, roots = uses(function.body), roots_of(function)
    others = tuple(stmt for stmt in every if not blocks(stmt) and not isinstance(stmt, Pop))
    written = {roots.get(a.array.name, a.array.name) for a in effects(others).accesses if a.writes}
    popped = {stack: (array, beside) for stack, array, beside in _pops(function.body)}
    out: dict[str, Own] = {}
    for block in _every_block(function.body):
        made = {stmt.array.name: stmt for stmt in block if isinstance(stmt, Alloc) and stmt.fill is None}
        changed = set().union(*(changed_by(stmt, roots)[0] for stmt in block)) if made else set()
        for stmt in block:
            match stmt:
                case Push(stack=stack, value=Array(name=name)) if (
                    name in made and used[name] == of_stacks[stack.name] == 3
                ):
                    array, beside = popped.get(stack.name, (None, None))
                    lasts = not any(variables(dim) & changed for dim in made[name].dims)
                    if array is not None and array.name not in written and lasts:
                        out[name] = Own(made[name], stack.name, array, (id(block), beside))
    return out


def _pops(body: Block) -> Iterator[tuple[str, Array, Hashable]]:
    for block in _every_block(body):
        for place, (are_pops, group) in enumerate(groupby(block, lambda stmt: isinstance(stmt, Pop))):
            for stmt in group if are_pops else ():
                if isinstance(stmt, Pop) and isinstance(stmt.target, Array):
                    yield stmt.stack.name, stmt.target, (id(block), place, stmt.dims)


def _every_block(body: Block) -> Iterator[Block]:
    yield body
    for stmt in statements(body):
        yield from blocks(stmt)


def _kept(function: Function) -> dict[str, Own]:
    """Arrays made here that one statement fills, and that are read later, element by element."""
    found = {s.array.name: s for s in function.body if isinstance(s, Alloc) and s.fill is None}
    stored: Counter[str] = Counter()
    others = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    for outermost in function.body:
        seen = effects((outermost,))
        others |= seen.shapes
        read = {access.array.name for access in seen.accesses if not access.writes}
        for stmt in statements((outermost,)):
            match stmt:
                case Store(array=array):
                    stored[array.name] += 1
                    others |= {array.name} & read
                case AddTo(target=Load(array=array)):
                    others.add(array.name)
                case Alloc(array=array) if stmt is not found.get(array.name):
                    others.add(array.name)
                case Alloc() | AddTo() | Assign() | For() | If() | Raise() | While():
                    pass
                case _:
                    others |= names_of_its_own(stmt)
    return {name: Own(alloc) for name, alloc in found.items() if stored[name] == 1 and name not in others}


def _find(block: Block, own: dict[str, Own], same: dict[str, Array], roots: dict[str, str]) -> None:
    values: dict[Var, Expr] = {}  # what variables hold
    places: dict[Place, Array] = {}
    for stmt in block:
        for part in blocks(stmt):
            _find(part, own, same, roots)
        changed, memory = changed_by(stmt, roots)
        match stmt:
            case Store(array=array, index=index, value=value) if array.name in own:
                kept, held = own[array.name], values.get(value, value)  # type: ignore[call-overload]
                place = kept.beside, kept.alloc.dims, index, held
                known = places.setdefault(place, array)
                if known.dtype == array.dtype and known != array:
                    same[array.name] = known
        values = {v: e for v, e in values.items() if not _touches((v, e), changed, memory, roots)}
        places = {p: k for p, k in places.items() if not _touches((*p[2], p[3]), changed, memory, roots)}
        if isinstance(stmt, Assign) and stmt.var not in variables(stmt.value):
            values[stmt.var] = values.get(stmt.value, stmt.value)  # type: ignore[call-overload]


def _touches(exprs: tuple[Expr, ...], changed: set[Var], memory: set[str], roots: dict[str, str]) -> bool:
    read = {roots.get(load.array.name, load.array.name) for expr in exprs for load in loads(expr)}
    return bool(read & memory) or any(variables(expr) & changed for expr in exprs)


__all__ = ["keep_once"]
