"""What an iteration has just stored it does not read back, and memory of its own that nobody reads is not there.

    for i in range(n):                              for i in range(n):
        e, r = empty(m), empty(m)                       e = empty(m)
        for j in range(m):                              for j in range(m):
            e[j] = exp(x[i, j])                             e_now = exp(x[i, j])
            s += e[j]                                       e[j] = e_now
        for j in range(m):                    →             s += e_now
            r[j] = e[j] / s                             for j in range(m):
            y[i, j] = r[j] * r[j]                           r_now = e[j] / s
                                                            y[i, j] = r_now * r_now

Such memory of a thread's lies far from it: every read that is spared counts.  Where two arrays hold the same numbers,
one of them does.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

from ...analysis.effects import names_used
from ...ir.expressions import Array, Call, Dim, Expr, Load, Var
from ...ir.info import memory_of_its_own
from ...ir.nodes import AddTo, Alloc, Assign, Block, For, Function, Rule, Stmt, Store, leaves
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
)
from .store_once import place_of, set_by


def read_once(function: Function) -> Function:
    own = memory_of_its_own(function)
    body = _forwarded(function.body, own, function)
    twins = _twins(body, own)
    if twins:
        other = lambda expr: rewrite(expr, lambda node: _other(node, twins))
        body = rewrite_block(body, lambda stmt: (map_expressions(stmt, other),))
    kept = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    return replace(function, body=_without_unread(body, own - kept))


# ----------------------------------------------------------------------------------------------- read after a store


def _forwarded(block: Block, own: set[str], function: Function) -> Block:
    out = [
        with_blocks(s, tuple(_forwarded(b, own, function) for b in blocks(s)))
        if blocks(s) and not isinstance(s, Rule)
        else s
        for s in block
    ]
    position = 0
    while position < len(out):
        place = place_of(out[position])
        if place is not None and place.array.name in own and place.index and not any(map(loads, place.index)):
            end = _unchanged(out, position, place)
            if any(_reads(stmt, place) for stmt in out[position + 1 : end]):
                named = _by_name(out[position], place, function)
                now = named[-1].value
                out[position : position + 1] = named
                position += len(named) - 1
                for k in range(position + 1, end + len(named) - 1):
                    out[k] = _with_name(out[k], place, now)
                out = [stmt for stmt in out if not (isinstance(stmt, Assign) and stmt.var == stmt.value)]
        position += 1
    return tuple(out)


def _unchanged(out: list[Stmt], position: int, place: Load) -> int:
    """Up to where nobody changes the element, or which one it is."""
    fixed = set().union(*map(variables, place.index)) | _held(out[position])
    for k in range(position + 1, len(out)):
        inner = [s for s in statements((out[k],)) if not _is_read_back(s, place, out[position])]
        if any(fixed & (set(set_by(s)) | ({s.index} if isinstance(s, For) else set())) for s in inner):
            return k
        if any(_writes(s, place.array.name) for s in inner):
            return k
    return len(out)


def _is_read_back(stmt: Stmt, place: Load, stored: Stmt) -> bool:
    """Does what was stored become what it is anyway?"""
    return (
        isinstance(stmt, Assign)
        and isinstance(stmt.value, Load)
        and _is(stmt.value, place)
        and {stmt.var} == _held(stored)
    )


def _writes(stmt: Stmt, name: str) -> bool:
    """Is it anything but a reader of single elements?"""
    if blocks(stmt) or name not in names_used(stmt):
        return False
    if isinstance(stmt, Assign):
        return False
    if isinstance(stmt, Store):
        return stmt.array.name == name
    if isinstance(stmt, AddTo):
        return isinstance(stmt.target, Load) and stmt.target.array.name == name
    return True


def _reads(stmt: Stmt, place: Load) -> bool:
    return any(_is(load, place) for s in statements((stmt,)) for e in expressions(s) for load in loads(e))


def _is(load: Load, place: Load) -> bool:
    return load.array.name == place.array.name and load.index == place.index


def _held(stmt: Stmt) -> set[Var]:
    """What is stored, where that is a number with a name."""
    return {stmt.value} if isinstance(stmt, Store) and isinstance(stmt.value, Var) else set()


def _by_name(stmt: Stmt, place: Load, function: Function) -> list[Store | Assign]:
    """The statement with a name for what is stored, which comes last."""
    if _held(stmt):
        return [stmt]  # type: ignore[list-item]
    now = Var(function.info.names.fresh(f"{place.array.name}_now"), place.dtype)
    value = Call("add", (place, stmt.value), place.dtype) if isinstance(stmt, AddTo) else stmt.value  # type: ignore[attr-defined]
    stored = Store(place.array, place.index, now, checked=False, span=stmt.span, label=stmt.label)
    return [Assign(now, value, span=stmt.span, label=stmt.label), stored]


def _with_name(stmt: Stmt, place: Load, now: Expr) -> Stmt:
    held = lambda expr: rewrite(expr, lambda e: now if isinstance(e, Load) and _is(e, place) else e)
    (out,) = rewrite_block((stmt,), lambda s: (map_expressions(s, held),))
    return out


# ------------------------------------------------------------------------------------------------- the same numbers


def _twins(body: Block, own: set[str]) -> dict[str, Array]:
    """Arrays that hold what another one does, with that one: each is stored to once, side by side."""
    writes = Counter(s.array.name for s in statements(body) if isinstance(s, Store))
    plain = [s for s in statements(body) if not blocks(s)]
    touched = Counter(name for s in plain for name in names_used(s) & own)
    changes = Counter(target.name for s in plain for target in targets(s) if isinstance(target, Array))
    reads = Counter(name for s in plain for name in {n.array.name for e in expressions(s) for n in loads(e)})
    only_read = {name for name in own if touched[name] == reads[name] + 2}  # but for where it is made, and stored
    simple = {name for name in only_read if writes[name] == 1 and changes[name] == 2}
    made = _made_where(body)
    found: dict[str, Array] = {}
    for loop in statements(body):
        if isinstance(loop, For):
            stores = [(k, s) for k, s in enumerate(loop.body) if isinstance(s, Store) and s.array.name in simple]
            for (k, first), (later, second) in itertools.pairwise(stores):
                same = isinstance(first.value, Var) and (first.index, first.value) == (second.index, second.value)
                beside = made[first.array.name] == made[second.array.name]
                fixed = set().union(*map(variables, (*first.index, first.value)))
                moves = any(fixed & set(set_by(stmt)) for stmt in statements(loop.body[k:later]))
                if same and beside and not moves and not any(map(loads, first.index)):
                    found[second.array.name] = found.get(first.array.name, first.array)
    return found


def _made_where(block: Block, number: tuple[int, ...] = ()) -> dict[str, tuple[Any, ...]]:
    """In which block each array is made, with which lengths, and of what."""
    out: dict[str, tuple[Any, ...]] = {}
    for k, stmt in enumerate(block):
        if isinstance(stmt, Alloc):
            out[stmt.array.name] = number, stmt.dims, stmt.fill, stmt.array.dtype
        for which, inner in enumerate(blocks(stmt)):
            out |= _made_where(inner, (*number, k, which))
    return out


def _other(node: Expr, twins: dict[str, Array]) -> Expr:
    return replace(node, array=twins[node.array.name]) if isinstance(node, Load) and node.array.name in twins else node


# ------------------------------------------------------------------------------------------------------- nobody reads


def _without_unread(body: Block, own: set[str]) -> Block:
    every = tuple(statements(body))
    used = {name for s in every if not blocks(s) and not isinstance(s, (Alloc, Store)) for name in names_used(s)}
    seen = [node for s in every for expr in expressions(s) for node in subexpressions(expr)]
    used |= {node.array.name for node in seen if isinstance(node, Load)}
    dead = own - used - {node.array for node in seen if isinstance(node, Dim)}
    return rewrite_block(body, lambda s: () if isinstance(s, (Alloc, Store)) and s.array.name in dead else (s,))


def without_last_stores(body: Block, names: set[str]) -> Block:
    """An iteration without stores to memory of its own that it does not read any more."""
    out: list[Stmt] = []
    for k, stmt in enumerate(body):
        later = {name for s in body[k + 1 :] for name in names_used(s)}
        out.append(replace(stmt, body=_read_stores(stmt, names - later)) if isinstance(stmt, For) else stmt)
    return tuple(out)


def _read_stores(loop: For, names: set[str]) -> Block:
    """The body without stores to these that no iteration reads: each has its place, and looks there first."""
    out: list[Stmt] = []
    every = [node for s in statements(loop.body) for expr in expressions(s) for node in loads(expr)]
    for k, stmt in enumerate(loop.body):
        if isinstance(stmt, Store) and stmt.array.name in names and loop.index in stmt.index:
            place = Load(stmt.array, stmt.index, checked=False)
            only_here = all(_is(load, place) for load in every if load.array.name == stmt.array.name)
            if only_here and not any(_reads(later, place) for later in loop.body[k + 1 :]):
                continue
        out.append(stmt)
    return tuple(out)


__all__ = ["read_once", "without_last_stores"]
