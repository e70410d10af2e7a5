"""The first step of a sweep reads its state where it comes from: nothing is copied ahead of it.

    f_i, by a thread for each of i …:              if n <= 0:
        u[i] = v[i]                                    f_i, by a thread for each of i …:
    for t in range(n):                                     u[i] = v[i]
        f_i_1, by a thread for each of i …:        for t in range(n):
            u_next[i] = u[i - 1] + u[i]      →         f_i_1, by a thread for each of i …, with v for u if t == 0:
        u, u_next = u_next, u                              u_next[i] = u[i - 1] + u[i]
                                                       u, u_next = u_next, u

What a later step, or what comes behind the loop, reads of that memory before it is written anew is still copied: the
frame of a grid, say, whose elements such steps leave alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import starmap

from ...analysis.effects import effects, names_used
from ...analysis.grids import covers
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Axis, Call, Dim, Expr, Load, Var
from ...ir.info import OUTSIDE, memory_of
from ...ir.nodes import AddTo, Assign, AtomicAdd, Block, For, Function, If, Kernel, OwnCopy, Stmt, Store, Swap, leaves
from ...ir.walk import (
    blocks,
    counts_upwards,
    expressions,
    loads,
    numbers_set,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    targets,
    variables,
)
from .interior import asked_once

Use = tuple[Kernel, str]  # a kernel, and by which name it has to do with the memory in question


def read_at_first(function: Function) -> Function:
    body: list[Block] = [(stmt,) for stmt in function.body]
    for at, stmt in enumerate(function.body):
        if isinstance(stmt, For) and (found := _First(function, at, stmt).found()) is not None:
            position, copying, loop = found
            body[position], body[at] = copying, loop
    return replace(function, body=tuple(stmt for part in body for stmt in part))


class _First:
    """A loop of the host in which two arrays change places once, and what it finds in one of them."""

    def __init__(self, function: Function, at: int, loop: For) -> None:
        self.whole, self.at, self.loop = function, at, loop
        self.changing = numbers_set(function.body)
        self.written = {s.name for stmt in statements(function.body) for s in _arrays_written(stmt)}

    def found(self) -> tuple[int, Block, Block] | None:
        """Where the first state is copied, what is left of that, and the loop that reads it in its place."""
        swaps = [stmt for stmt in self.loop.body if isinstance(stmt, Swap)]
        counted = variables(self.loop.start) | variables(self.loop.stop)
        is_read = any(map(loads, (self.loop.start, self.loop.stop)))
        if len(swaps) != 1 or is_read or counted & numbers_set(self.loop.body):
            return None
        (swap,) = swaps
        memory = memory_of(self.whole)
        held = {name for name, group in memory.items() if group == memory.get(swap.left.name, OUTSIDE)}
        if held != {swap.left.name, swap.right.name}:
            return None
        for state, other in ((swap.left, swap.right), (swap.right, swap.left)):
            ahead = [k for k in range(self.at) if state.name in names_used(self.whole.body[k])]
            source = self.copied(self.whole.body[ahead[-1]], state) if ahead else None
            readers = self.uses(swap, state.name, other.name)
            if source is not None and readers is not None and all(starmap(_may_read_another, readers)):
                frame = self.frame(swap, state, other)
                if frame is not None and not counted & numbers_set(self.whole.body[ahead[-1] : self.at]):
                    return ahead[-1], self.left(ahead[-1], state, frame), self.reading(source, readers)
        return None

    def uses(self, swap: Swap, before: str, after: str) -> list[Use] | None:
        """The kernels of an iteration that have to do with the memory; None if other statements do."""
        found: list[Use] = []
        at = self.loop.body.index(swap)
        for k, stmt in enumerate(self.loop.body):
            name = before if k < at else after
            if k != at and name in names_used(stmt):
                if not isinstance(stmt, Kernel):
                    return None
                found.append((stmt, name))
        return found

    def copied(self, stmt: Stmt, state: Array) -> Array | None:
        """The argument that nobody changes of which all elements are copied here."""
        if not isinstance(stmt, Kernel):
            return None
        stores = [s for s in statements(stmt.body) if state.name in names_used(s)]
        if len(stores) != 1 or stores[0] not in stmt.body:
            return None
        (store,) = stores
        if not isinstance(store, Store) or store.array.name != state.name:
            return None
        value = store.value
        params = {param.name for param in self.whole.params}
        own = {s.array.name for s in self.whole.body if isinstance(s, OwnCopy)}
        if not isinstance(value, Load) or value.array.name not in params - self.written or params & self.written - own:
            return None  # (who changes one argument may change another)
        is_whole = covers(stmt.axes, state) and store.index == value.index == _own(stmt)
        return value.array if is_whole and value.array.dtype == state.dtype else None

    def frame(self, swap: Swap, state: Array, other: Array) -> list[Expr] | None:
        """Which of the copied elements are read before they are written anew; None if nobody can tell."""
        second = self.uses(swap, other.name, state.name)
        later = [(stmt, other.name) for stmt in self.whole.body[self.at + 1 :] if other.name in names_used(stmt)]
        is_result = any(isinstance(leaf, Array) and leaf.name == other.name for leaf in leaves(self.whole.results))
        if second is None or is_result or not any(_is_written_anew(*use) for use in second):
            return None  # (a third step would find what the first one had read)
        guards = [*self.until_written(second), *self.until_written(later)]
        frame = [guard for guard in dict.fromkeys(guards) if guard is not None]
        known = {state.name, *(param.name for param in self.whole.params)}
        asked = {node.array for guard in frame for node in subexpressions(guard) if isinstance(node, Dim)}
        return frame if None not in guards and asked <= known else None

    def until_written(self, uses: list[tuple[Stmt, str]] | list[Use]) -> Iterator[Expr | None]:
        for stmt, name in uses:
            is_anew = _is_written_anew(stmt, name)
            yield from self.guards(stmt, name) if isinstance(stmt, Kernel) else [None]
            yield from [] if is_anew or _only_reads(stmt, name) else [None]
            if is_anew:
                return

    def guards(self, kernel: Kernel, name: str) -> list[Expr | None]:
        """Under which conditions its threads read their own elements; None where they read others, or at any time."""
        axes: dict[Var, Expr] = {axis.index: Axis(k) for k, axis in enumerate(kernel.axes)}

        def of(block: Block, guard: Expr | None) -> Iterator[Expr | None]:
            for stmt in block:
                places = [load for expr in expressions(stmt) for load in loads(expr)]
                places += [stmt.target] if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) else []
                read = [load for load in places if load.array.name == name]
                yield from (guard if load.index == _own(kernel) else None for load in read)
                for k, inner in enumerate(blocks(stmt)):
                    is_then = isinstance(stmt, If) and k == 0 and self.is_steady(stmt.condition, kernel)
                    yield from of(inner, substitute(stmt.condition, axes) if is_then else guard)  # type: ignore[attr-defined]

        return list(of(kernel.body, None))

    def is_steady(self, condition: Expr, kernel: Kernel) -> bool:
        indices = {axis.index for axis in kernel.axes}
        return not any(loads(condition)) and not (variables(condition) - indices) & self.changing

    def left(self, position: int, state: Array, frame: list[Expr]) -> Block:
        """What is still copied, where the loop runs: else everything."""
        copying = self.whole.body[position]
        assert isinstance(copying, Kernel)
        axes: dict[int, Expr] = {k: axis.index for k, axis in enumerate(copying.axes)}
        no_step = self.no_step()
        if not frame and len(copying.body) == 1:
            return () if no_step is None else (If(no_step, (copying,)),)
        needed = [substitute(guard, axes) for guard in frame] + [no_step] * (no_step is not None)
        body: list[Stmt] = []
        for stmt in copying.body:
            is_copy = isinstance(stmt, Store) and stmt.array.name == state.name
            body += [If(condition, (stmt,)) for condition in needed if condition] if is_copy else [stmt]
        return (replace(copying, body=asked_once(copying.axes, tuple(body), memory_of(self.whole))),)

    def no_step(self) -> Expr | None:
        """Whether the loop does not run at all; None where it always does."""
        is_upwards = affine.is_at_least(self.loop.step, 0)
        ends = (self.loop.start, self.loop.stop) if is_upwards else (self.loop.stop, self.loop.start)
        known = affine.difference(*ends)
        return None if known is not None and known < 0 else Call("ge", ends, BOOL)

    def reading(self, source: Array, readers: list[Use]) -> Block:
        loop = self.loop
        ahead: Block = ()
        if loop.index in variables(loop.start):  # for k in range(k - 1, -1, -1)
            start = Var(self.whole.info.names.fresh(f"{loop.index.name}_first"), INT64)
            loop, ahead = replace(loop, start=start), (Assign(start, loop.start),)
        first = Call("eq", (loop.index, loop.start), BOOL)
        known_as = dict(readers)

        def instead(stmt: Stmt) -> Block:
            if isinstance(stmt, Kernel) and stmt in known_as:
                return (replace(stmt, at_first=(*stmt.at_first, (first, known_as[stmt], source))),)
            return (stmt,)

        return (*ahead, replace(loop, body=rewrite_block(loop.body, instead)))


def _own(kernel: Kernel) -> tuple[Expr, ...]:
    return tuple(axis.index for axis in kernel.axes)


def _arrays_written(stmt: Stmt) -> Iterator[Array]:
    return (item for item in targets(stmt) if isinstance(item, Array) and not isinstance(stmt, OwnCopy))


def _only_reads(stmt: Stmt, name: str) -> bool:
    return all(item.name != name for s in statements((stmt,)) for item in _arrays_written(s))


def _may_read_another(kernel: Kernel, name: str) -> bool:
    """May the kernel be handed another array by this name, which is as long or longer?"""
    inside = statements(kernel.body)
    read = (load for s in inside for expr in expressions(s) for load in loads(expr) if load.array.name == name)
    return _only_reads(kernel, name) and all(map(counts_upwards, read)) and name not in effects((kernel,)).shapes


def _is_written_anew(stmt: Stmt, name: str) -> bool:
    """Does every thread of the kernel store its own element, and they are all there are?"""

    def stores(block: Block) -> bool:
        for s in block:
            if isinstance(s, Store) and s.array.name == name and s.index == _own(stmt):  # type: ignore[arg-type]
                return covers(stmt.axes, s.array)  # type: ignore[attr-defined]
            if isinstance(s, If) and stores(s.then) and stores(s.orelse):
                return True
        return False

    adds = any(isinstance(s, AtomicAdd) and s.array.name == name for s in statements((stmt,)))
    return isinstance(stmt, Kernel) and stores(stmt.body) and not adds


__all__ = ["read_at_first"]
