"""Numbers that the iterations of one loop keep for those of another, and where each is put and had again.

for t in range(n):                     while abs(d) > tol:
    x_kept[t] = x                          …
    …                                      push d on kept
for t in range(n - 1, -1, -1):         for trip in range(trip - 1, -1, -1):
    x_1 = x_kept[t]                        d = pop kept
    …                                      …
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...analysis.effects import names_of_its_own
from ...ir.expressions import Array, Dim, Expr, Load, Var
from ...ir.info import memory_of_its_own
from ...ir.nodes import (
    Alloc,
    Assign,
    Block,
    For,
    Function,
    Invoke,
    NewStack,
    Pop,
    Push,
    Seal,
    Stmt,
    Store,
    Unseal,
    While,
    leaves,
)
from ...ir.walk import blocks, expressions, loads, statements, subexpressions
from .reverse import backwards

Path = tuple[
    tuple[Stmt, int, int], ...
]  # statements within each other: each, its place in its block, which block of it
STACKED = (Push, Pop, NewStack)


@dataclass(frozen=True, eq=False)
class Kept:
    """One of the numbers, each one itself.  Of an array there is the statement that makes it, and where it is read.

    `had` gives the number a name in the sweep; without it is read as it is, somewhere in that block.
    """

    put: Store | Push
    had: Assign | Pop | None
    alloc: Alloc | None = None
    load: Load | None = None

    @property
    def dtype(self) -> np.dtype:
        return self.put.array.dtype if isinstance(self.put, Store) else self.put.stack.dtype

    @property
    def var(self) -> Var:
        """What the sweep calls it, or would."""
        if self.had is None:
            assert isinstance(self.put, Store)
            return Var(f"{self.put.array.name}?", self.dtype)
        target = self.had.var if isinstance(self.had, Assign) else self.had.target
        assert isinstance(target, Var)
        return target


@dataclass(frozen=True)
class Group:
    """What one block puts and another has, in the order in which it is put.

    `loops` are those of the forward part, from what both parts have around them right down to the block; the body of
    `sweep` is the other block.  `ahead` is what has run ahead of `loops` in the blocks around; the values of `indices`
    are those that both blocks see.
    """

    kept: tuple[Kept, ...]
    memory: frozenset[str]  # the arrays, or the stack
    loops: tuple[For | While, ...]
    sweep: For
    ahead: tuple[Stmt, ...]
    indices: frozenset[Var]

    @property
    def body(self) -> Block:
        return self.loops[-1].body


def groups(function: Function) -> Iterator[Group]:
    """Each for itself: a program that has changed is asked anew."""
    yield from _in_arrays(function)
    yield from _on_stacks(function)


def _walk(block: Block, path: Path) -> Iterator[tuple[Path, Stmt]]:
    for place, stmt in enumerate(block):
        yield (*path, (stmt, place, 0)), stmt
        for which, inner in enumerate(blocks(stmt)):
            yield from _walk(inner, (*path, (stmt, place, which)))


def _apart(there: Path, here: Path) -> int:
    """How many statements around both there are."""
    apart = (k for k, (one, other) in enumerate(zip(there, here, strict=False)) if one[1:] != other[1:])
    return next(apart, min(len(there), len(here)))  # (what stores an element may read it, too)


def _ahead(body: Block, path: Path) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmt, place, which in path:
        out += body[:place]
        body = blocks(stmt)[which] if blocks(stmt) else ()
    return tuple(out)


# -------------------------------------------------------------------------------------------------------- in arrays


def _in_arrays(function: Function) -> Iterator[Group]:
    allocs = _kept_by_element(function)
    stores: dict[str, tuple[Path, Store]] = {}
    reads: dict[str, tuple[Path, Stmt, Load]] = {}
    for path, stmt in _walk(function.body, ()):
        if isinstance(stmt, Store) and stmt.array.name in allocs:
            stores[stmt.array.name] = path, stmt
        for load in (load for expr in expressions(stmt) for load in loads(expr) if load.array.name in allocs):
            reads[load.array.name] = path, stmt, load
    found: dict[tuple[int, int, tuple[Expr, ...]], list[tuple[int, Kept]]] = {}
    where: dict[tuple[int, int, tuple[Expr, ...]], tuple[Path, Path]] = {}
    loops_of: dict[tuple[int, int, tuple[Expr, ...]], Path] = {}
    for name in (name for name in allocs if name in stores and name in reads):
        (there, store), (here, stmt, load) = stores[name], reads[name]
        around, deep = _apart(there, here), len(there) - 1
        if around < deep < len(here) and load.index == store.index and there[around][1] < here[around][1]:
            key = id(there[deep - 1][0]), id(here[deep - 1][0]), store.index
            named = stmt if len(here) == len(there) and isinstance(stmt, Assign) and stmt.value == load else None
            found.setdefault(key, []).append((there[-1][1], Kept(store, named, allocs[name], load)))
            where[key] = there[: around + 1], here[around:deep]
            loops_of.setdefault(key, there[around:deep])
    for key, parts in found.items():
        ahead, theirs = where[key]
        loops = tuple(stmt for stmt, *_ in loops_of[key] if isinstance(stmt, For))
        sweep = [stmt for stmt, *_ in theirs if isinstance(stmt, For)]
        if not len(loops) == len(sweep) == len(loops_of[key]):
            continue
        outer = frozenset(stmt.index for stmt, *_ in ahead if isinstance(stmt, For))
        indices = outer | {loop.index for loop in loops}
        one_each = {loop.index for loop in loops} <= set(key[2]) <= indices
        if one_each and all(map(_mirrors, loops, sweep)):
            kept = tuple(one for _, one in sorted(parts, key=lambda part: part[0]))
            names = frozenset(one.alloc.array.name for one in kept if one.alloc)
            yield Group(kept, names, loops, sweep[-1], _ahead(function.body, ahead), indices)


def _mirrors(loop: For, other: For) -> bool:
    """Do both go over the same range, whichever way?"""
    there = loop.start, loop.stop, loop.step
    back = other.start, other.stop, other.step
    return loop.index == other.index and back in (there, backwards(loop, lambda expr: expr))


def _kept_by_element(function: Function) -> dict[str, Alloc]:
    """Arrays that are made here, stored to once and loaded from once, and that nothing else has to do with."""
    made = {s.array.name: s for s in statements(function.body) if isinstance(s, Alloc)}
    own = memory_of_its_own(function) - {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    mentions: Counter[str] = Counter()
    for stmt in statements(function.body):
        mentions.update(names_of_its_own(stmt))
        nodes = [node for expr in expressions(stmt) for node in subexpressions(expr)]
        own -= {node.array for node in nodes if isinstance(node, Dim)}
        read = Counter(node.array.name for node in nodes if isinstance(node, Load))
        own -= {name for name, times in read.items() if times > 1}
    return {
        name: alloc
        for name, alloc in made.items()
        if name in own and mentions[name] == 3 and alloc.fill is None and alloc.on is None
    }


# -------------------------------------------------------------------------------------------------------- on stacks


def _on_stacks(function: Function) -> Iterator[Group]:
    """Stacks that one block pushes on, and the block of one loop that follows pops from."""
    used: dict[str, list[tuple[Path, Stmt]]] = {}
    for path, stmt in _walk(function.body, ()):
        for name in stacks_of(stmt):
            used.setdefault(name, []).append((path, stmt))
    for name, uses in used.items():
        pushes = [(path, stmt) for path, stmt in uses if isinstance(stmt, Push) and isinstance(stmt.value, Expr)]
        pops = [(path, stmt) for path, stmt in uses if isinstance(stmt, Pop) and isinstance(stmt.target, Var)]
        others = [stmt for _, stmt in uses if not isinstance(stmt, STACKED)]
        if not pushes or len(pushes) != len(pops) or len(pushes) + len(pops) + 1 != len(uses) or others:
            continue
        there, here = pushes[0][0], pops[0][0]
        depth = min(len(there), len(here)) - 2
        if depth < 0 or _apart(there, here) != depth or not len(there) == len(here):
            continue
        (loop, place, _), (sweep, later, _) = there[depth], here[depth]
        in_one = all(path[:-1] == there[:-1] for path, _ in pushes) and all(path[:-1] == here[:-1] for path, _ in pops)
        if not in_one or place >= later or not isinstance(loop, (For, While)) or not isinstance(sweep, For):
            continue
        kept = tuple(Kept(push, pop) for (_, push), (_, pop) in zip(pushes, reversed(pops), strict=True))
        indices = frozenset(stmt.index for stmt, *_ in there[:depth] if isinstance(stmt, For))
        yield Group(kept, frozenset((name,)), (loop,), sweep, _ahead(function.body, there[: depth + 1]), indices)


def stacks_of(stmt: Stmt) -> list[str]:
    """The stacks that a statement has to do with, but for what is in its blocks."""
    match stmt:
        case Push(stack=stack) | Pop(stack=stack) | NewStack(stack=stack) | Seal(stack=stack) | Unseal(stack=stack):
            return [stack.name]
        case Alloc(on=stack) if stack is not None:
            return [stack.name]
        case Invoke(tapes=tapes):
            return [stack.name for stack in tapes]
    return []


__all__ = ["Group", "Kept", "groups", "stacks_of"]
