"""Of a loop in a thread every k-th state is kept, and the way back makes the others again, k at a time.

    while abs(x) > tol:                  while abs(x) > tol:
        push x on kept                       if trip % 8 == 0: push x on kept
        x = x * x + c                        x = x * x + c
    …                                    …
    for trip in                          for segment in range((trips - 1) // 8, -1, -1):
            range(trips - 1, -1, -1):        pop x_now from kept
        pop x_1 from kept         →          for step in range(8):
        x_b = 2.0 * x_1 * x_b                    if 8 * segment + step < trips: x_ahead[step] = x_now; x_now = …
                                             for step in range(7, -1, -1):
                                                 if 8 * segment + step < trips:
                                                     x_1 = x_ahead[step]
                                                     x_b = 2.0 * x_1 * x_b

(Griewank and Walther, Evaluating Derivatives, chapter 12: checkpoints that are evenly spaced.)  Threads of a warp leave
such a loop one after the other, so that what a warp keeps has holes, and memory is read and written in pieces of which
a half is of no use: that is where the time of such kernels goes.  Loops that always run as often are unrolled, and
their arrays are registers.

Where a step is rounded in another way when it is made again (a product and a sum may be one instruction in one place,
and two in another), the states of a segment are others in their last digits.  So nothing that decides is made again,
nor what jumps: a branch, a whole number, the place of an element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..ir import affine
from ..ir.expressions import INT64, LAZY, Array, Call, Expr, Load, Var, less
from ..ir.nodes import Alloc, Assign, Block, For, Function, If, NewStack, Pop, Push, Stack, Stmt, Store, While
from ..ir.walk import (
    blocks,
    loads,
    map_expressions,
    numbers_set,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    variables,
    with_blocks,
)
from ..rules.costs import cost
from .decisions import deciding, may_jump
from .kept_numbers import Group, groups
from .offload import IN_A_THREAD
from .reverse import backwards
from .versions import KEEPING, Surroundings, Versions

LONGEST = 8  # steps of a segment
REGISTERS = 128  # bytes that the states of a segment take: a thread has 255 registers of 4, and fewer threads run then
MOST = 1000  # additions of a segment: longer loops are not unrolled


def checkpoints(function: Function) -> Function:
    tried: set[str] = set()
    while True:
        together = next((found for found in _loops(function) if not tried >= _memory(found)), None)
        if together is None:
            return function
        tried |= _memory(together)
        segments = _segments(function, together)
        function = function if segments is None else segments.function()


def _memory(together: tuple[Group, ...]) -> set[str]:
    return set().union(*(group.memory for group in together))


def _loops(function: Function) -> Iterator[tuple[Group, ...]]:
    """What each loop of a thread keeps, by the stacks on which it does."""
    in_threads = {id(stmt) for loop in _of_threads(function.body) for stmt in statements(loop.body)}
    found: dict[tuple[int, int], list[Group]] = {}
    for group in groups(function):
        (loop, *_) = group.loops
        on_stack = isinstance(group.kept[0].put, Push)
        if on_stack and id(loop) in in_threads and _mirrors(group):
            found.setdefault((id(loop), id(group.sweep)), []).append(group)
    yield from map(tuple, found.values())


def _of_threads(block: Block) -> Iterator[For]:
    """Independent loops that may be kernels."""
    for stmt in block:
        if isinstance(stmt, For) and not stmt.ordered:
            if all(isinstance(inner, IN_A_THREAD) for inner in statements(stmt.body)):
                yield stmt
        else:
            for inner in blocks(stmt):
                yield from _of_threads(inner)


def _mirrors(group: Group) -> bool:
    """Does the sweep go through all iterations of the loop, from the last one on, each of them straight through?"""
    loop, sweep = group.loops[0], group.sweep
    nested = any(isinstance(stmt, (For, While)) for stmt in statements((*loop.body, *sweep.body)))
    if nested or not affine.same(sweep.step, affine.integer(-1)) or _changes(sweep.stop, sweep.body):
        return False
    if isinstance(loop, While):
        return sweep.index == loop.trip and affine.same(sweep.stop, affine.integer(-1))
    back = sweep.start, sweep.stop, sweep.step
    ours = backwards(loop, lambda expr: expr)
    same = sweep.index == loop.index and all(map(affine.same, back, ours))
    return same and affine.same(loop.step, affine.ONE) and not _changes(loop.start, loop.body)


def _changes(expr: Expr, block: Block) -> bool:
    return bool(loads(expr)) or bool(variables(expr) & numbers_set(block))


# ----------------------------------------------------------------------------------------------- what is made again


@dataclass(frozen=True)
class _Segments:
    """How to go through one loop by segments of so many steps."""

    whole: Function
    groups: tuple[Group, ...]  # of which the numbers are made again
    values: Versions
    made: tuple[Var, ...]  # what a step makes, in order
    states: tuple[Var, ...]  # what it makes that of
    steps: int

    @property
    def loop(self) -> For | While:
        return self.groups[0].loops[0]

    def function(self) -> Function:
        stacks = self.stacks()
        firsts = {id(one.put) for group in self.groups for one in group.kept}
        moved = [group.kept[0].put.stack for group in self.groups if isinstance(group.kept[0].put, Push)]
        forward, back = self.forward(stacks, firsts), self.back(stacks)

        def change(stmt: Stmt) -> Block:
            if isinstance(stmt, NewStack) and stmt.stack in moved:
                return tuple(NewStack(s) for s in stacks.values()) if stmt.stack == moved[0] else ()
            if stmt is self.loop:
                return (forward,)
            if stmt is self.groups[0].sweep:
                return back
            inside = blocks(stmt)
            parts = tuple(tuple(s for inner in block for s in change(inner)) for block in inside)
            return (with_blocks(stmt, parts) if inside else stmt,)

        return replace(self.whole, body=tuple(s for stmt in self.whole.body for s in change(stmt)))

    def stacks(self) -> dict[np.dtype, Stack]:
        """Where the states lie, by their dtypes: on the stacks that there are, as far as these go."""
        had = {one.dtype: one.put.stack for g in self.groups for one in g.kept if isinstance(one.put, Push)}
        return {v.dtype: had.get(v.dtype) or self.new_stack(v.dtype) for v in self.states}

    def new_stack(self, dtype: np.dtype) -> Stack:
        name = self.fresh("kept")
        return Stack(name, self.fresh(f"{name}_top"), dtype)

    def fresh(self, name: str) -> str:
        return self.whole.info.names.fresh(name)

    def forward(self, stacks: dict[np.dtype, Stack], pushes: set[int]) -> For | While:
        loop = self.loop
        done = affine.sub(loop.index, loop.start) if isinstance(loop, For) else loop.trip
        is_first = affine.equals(Call("bitand", (done, affine.integer(self.steps - 1)), INT64), affine.ZERO)
        keep = If(is_first, tuple(Push(stacks[v.dtype], _named(v)) for v in self.states))
        return replace(loop, body=(keep, *(stmt for stmt in loop.body if id(stmt) not in pushes)))

    def back(self, stacks: dict[np.dtype, Stack]) -> Block:
        sweep = self.groups[0].sweep
        segment, step = (Var(self.fresh(name), INT64) for name in ("segment", "step"))
        trips = Var(self.fresh("trips"), INT64)
        before = affine.mul(affine.integer(self.steps), segment)
        left = Var(self.fresh("left"), INT64)
        there = less(step, left)
        wanted = {one: self.values.at[id(one.put)] for group in self.groups for one in group.kept}
        length = affine.integer(self.steps)
        ahead = {
            version: Array(self.fresh(f"{version.name.split('#')[0]}_ahead"), version.dtype, (length,))
            for version in dict.fromkeys(wanted.values())
            if "#" in version.name
        }
        now = {v: Var(self.fresh(f"{_named(v).name}_now"), v.dtype) for v in self.states}
        moved = {sweep.index: affine.add(affine.add(sweep.stop, affine.ONE), affine.add(before, step))}

        def in_segment(stmt: Stmt) -> Block:
            return (map_expressions(stmt, lambda expr: substitute(expr, moved)),)

        had: dict[int, Stmt] = {}
        for one, version in wanted.items():
            value = Load(ahead[version], (step,), checked=False) if version in ahead else version
            assert one.had is not None
            had[id(one.had)] = Assign(one.var, value)
        again = rewrite_block(self.again(now, ahead, step), in_segment)
        body = rewrite_block(tuple(had.get(id(stmt), stmt) for stmt in sweep.body), in_segment)
        one_down, last = affine.integer(-1), affine.integer(self.steps - 1)
        inside: Block = (
            *(Pop(now[v], stacks[v.dtype]) for v in reversed(self.states)),
            Assign(left, affine.sub(trips, before)),
            For(step, affine.ZERO, length, affine.ONE, again if self.runs_on() else (If(there, again),)),
            For(step, last, one_down, one_down, (If(there, body),)),
        )
        first = affine.floordiv(affine.sub(trips, affine.ONE), self.steps)
        return (
            Assign(trips, affine.sub(sweep.start, sweep.stop)),
            *(Alloc(array, array.dims) for array in ahead.values()),
            For(segment, first, one_down, one_down, inside, span=sweep.span),
        )

    def runs_on(self) -> bool:
        """May the last segment be made to its end, which is less than to ask each time whether that is there?"""
        values = [self.values.made[version] for version in self.made]
        index = _index(self.loop)
        moving = any(index in variables(load) for value in values for load in loads(value))
        nodes = (node for value in values for node in subexpressions(value) if isinstance(node, Call))
        return not moving and all(cost(node) <= 1 and node.op not in LAZY for node in nodes)

    def again(self, now: dict[Var, Var], ahead: dict[Var, Array], step: Var) -> Block:
        """A step once more: what the way back wants of it, and then the state of the next one."""
        names: dict[Var, Expr] = dict(now)
        put = lambda version: Store(ahead[version], (step,), names[version], checked=False)
        out: list[Stmt] = [put(version) for version in ahead if version in now]
        for version in self.made:
            names[version] = made = Var(self.fresh(version.name.split("#")[0]), version.dtype)
            out.append(Assign(made, substitute(self.values.made[version], names)))
            out += [put(version)] if version in ahead else []
        ends = {state: self.values.end(state) for state in self.states}
        for state, end in ends.items():  # what another state was is taken down before that one changes
            if end in now and end != state:
                names[end] = held = Var(self.fresh(f"{now[end].name}"), end.dtype)
                out.append(Assign(held, now[end]))
        out += [Assign(now[state], substitute(end, names)) for state, end in ends.items() if end != state]
        return tuple(out)


def _segments(function: Function, together: tuple[Group, ...]) -> _Segments | None:
    first = together[0]
    around = Surroundings(function, first)
    values = Versions(first.body, around.fixed)
    index = _index(first.loops[0])
    decides = deciding(first.sweep.body)
    chosen: list[Group] = []
    states: set[Var] = set()
    made: set[Var] = set()
    for group in together:
        if any(one.dtype.kind not in "iub" and one.var.name in decides for one in group.kept):
            continue
        found = _closure(values, [values.at[id(one.put)] for one in group.kept])
        if found is None:
            continue
        read = {v for version in found[0] for v in variables(values.made[version])}
        read |= {values.at[id(one.put)] for one in group.kept} | {values.end(state) for state in found[1]}
        if all("#" in v.name or v == index or around.stay(v) for v in read):
            chosen.append(group)
            made |= found[0]
            states |= found[1]
    ahead = {v for group in chosen for one in group.kept if "#" in (v := values.at[id(one.put)]).name}
    steps = _steps(sum(v.dtype.itemsize for v in ahead))
    work = values.cost(made, frozenset({index}))
    kept = sum(len(group.kept) for group in chosen)
    if not states or not steps or work * steps > MOST:
        return None
    if KEEPING * kept <= KEEPING * len(states) / steps + work:
        return None
    in_order = tuple(version for version in values.made if version in made)
    return _Segments(function, tuple(chosen), values, in_order, tuple(sorted(states, key=lambda v: v.name)), steps)


def _decides_something(value: Expr) -> bool:
    """Does it jump, or read an element by what the state is?  Where there was no room for the state, that is 0."""
    is_state = lambda v: "#" in v.name
    nodes = [node for node in subexpressions(value) if isinstance(node, Call)]
    asked = [node.args[0] for node in nodes if node.op in LAZY and any(map(loads, node.args[1:]))]
    places = [part for load in loads(value) for part in load.index]
    return may_jump(value, is_state) or any(map(is_state, (v for e in (*asked, *places) for v in variables(e))))


def _index(loop: For | While) -> Var:
    return loop.index if isinstance(loop, For) else loop.trip


def _named(start: Var) -> Var:
    """The variable itself, of which this is what it holds at the start of an iteration."""
    return Var(start.name.removesuffix("#"), start.dtype)


def _steps(size: int) -> int:
    """How long a segment is of which each step has so many bytes."""
    steps = LONGEST
    while steps > 2 and steps * size > REGISTERS:
        steps //= 2
    return steps if steps > 2 else 0


def _closure(values: Versions, wanted: list[Var]) -> tuple[set[Var], set[Var]] | None:
    """What a step has to make to have these, and the states of the next one; and those states."""
    states: set[Var] = set()
    while True:
        made, missing = values.needed([*wanted, *(values.end(state) for state in states)], states)
        if any(_decides_something(values.made[version]) for version in made):
            return None
        if not all(v.name.endswith("#") for v in missing):
            return None
        if not missing - states:
            return made, states
        states |= missing


__all__ = ["checkpoints"]
