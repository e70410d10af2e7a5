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

from ..ir.expressions import Array, Dim, Expr, Load, Var
from ..ir.nodes import (
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
from ..ir.walk import blocks, expressions, statements, subexpressions
from .effects import names_of_its_own
from .reverse import backwards
from .store_once import memory_of_its_own

Path = tuple[
    tuple[Stmt, int, int], ...
]  # statements within each other: each, its place in its block, which block of it
STACKED = (Push, Pop, NewStack)


@dataclass(frozen=True)
class Kept:
    """One of the numbers.  Of an array there is the statement that makes it."""

    put: Store | Push
    had: Assign | Pop
    alloc: Alloc | None

    @property
    def value(self) -> Expr:
        assert isinstance(self.put.value, Expr)
        return self.put.value

    @property
    def dtype(self) -> np.dtype:
        return self.put.array.dtype if isinstance(self.put, Store) else self.put.stack.dtype

    @property
    def var(self) -> Var:
        """What the sweep calls it."""
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
    together = 0
    while there[together][0] is here[together][0] and there[together][2] == here[together][2]:
        together += 1
    return together


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
    reads: dict[str, tuple[Path, Assign]] = {}
    for path, stmt in _walk(function.body, ()):
        if isinstance(stmt, Store) and stmt.array.name in allocs:
            stores[stmt.array.name] = path, stmt
        elif isinstance(stmt, Assign) and isinstance(stmt.value, Load) and stmt.value.array.name in allocs:
            reads[stmt.value.array.name] = path, stmt
    found: dict[tuple[int, int, tuple[Expr, ...]], list[tuple[Path, Path, Kept]]] = {}
    for name in (name for name in allocs if name in stores and name in reads):
        (there, store), (here, load) = stores[name], reads[name]
        if len(there) > 1 and len(here) > 1 and load.value.index == store.index:  # type: ignore[attr-defined]
            key = id(there[-2][0]), id(here[-2][0]), store.index
            found.setdefault(key, []).append((there, here, Kept(store, load, allocs[name])))
    for (*_, index), parts in found.items():
        there, here, _ = parts[0]
        depth = _apart(there, here)
        ours, theirs = ([stmt for stmt, *_ in path[depth:-1]] for path in (there, here))
        loops = tuple(stmt for stmt in ours if isinstance(stmt, For))
        if not ours or not len(loops) == len(ours) == len(theirs) or there[depth][1] >= here[depth][1]:
            continue
        around = frozenset(stmt.index for stmt, *_ in there if isinstance(stmt, For))
        one_each = {loop.index for loop in loops} <= set(index) <= around
        if one_each and all(map(_mirrors, loops, theirs)):
            kept = tuple(one for *_, one in sorted(parts, key=lambda part: part[0][-1][1]))
            names = frozenset(one.alloc.array.name for one in kept if one.alloc)
            yield Group(kept, names, loops, theirs[-1], _ahead(function.body, there[: depth + 1]), around)  # type: ignore[arg-type]


def _mirrors(loop: For, other: Stmt) -> bool:
    """Do both go over the same range, whichever way?"""
    if not isinstance(other, For):
        return False
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
        for name in _stacks(stmt):
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
        kept = tuple(Kept(push, pop, None) for (_, push), (_, pop) in zip(pushes, reversed(pops), strict=True))
        indices = frozenset(stmt.index for stmt, *_ in there[:depth] if isinstance(stmt, For))
        yield Group(kept, frozenset((name,)), (loop,), sweep, _ahead(function.body, there[: depth + 1]), indices)


def _stacks(stmt: Stmt) -> list[str]:
    match stmt:
        case Push(stack=stack) | Pop(stack=stack) | NewStack(stack=stack) | Seal(stack=stack) | Unseal(stack=stack):
            return [stack.name]
        case Alloc(on=stack) if stack is not None:
            return [stack.name]
        case Invoke(tapes=tapes):
            return [stack.name for stack in tapes]
    return []


__all__ = ["Group", "Kept", "groups"]
