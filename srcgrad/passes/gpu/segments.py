"""A loop and its way back by segments, of which the first state alone is kept: see `checkpoints`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...ir import affine
from ...ir.expressions import INT64, LAZY, Array, Call, Expr, Load, Var, less
from ...ir.nodes import Alloc, Assign, Block, For, Function, If, NewStack, Pop, Push, Stack, Stmt, Store, While
from ...ir.walk import (
    blocks,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    subexpressions,
    substitute,
    variables,
    with_blocks,
)
from ...rules.costs import cost
from ..reverse_mode.kept_numbers import Kept
from .versions import Versions


@dataclass(frozen=True)
class Plan:
    """How to go through one loop by segments of so many steps, a power of two."""

    whole: Function
    loop: For | While
    sweep: For
    gone: dict[Kept, Var]  # what each step has kept, and which of its values that is
    values: Versions
    made: tuple[Var, ...]  # what a step makes, in order
    states: tuple[Var, ...]  # what it makes that of
    steps: int

    def fresh(self, name: str) -> str:
        return self.whole.info.names.fresh(name)


def in_segments(plan: Plan) -> Function:
    first = next(iter(plan.gone))
    memory = _Stacks(plan) if isinstance(first.put, Push) else _Arrays(plan, first)
    puts = {id(one.put) for one in plan.gone}
    keep = If(_is_first(plan), memory.put())
    forward = replace(plan.loop, body=(keep, *(stmt for stmt in plan.loop.body if id(stmt) not in puts)))
    back = _back(plan, memory)

    def change(stmt: Stmt) -> Block:
        if stmt is plan.loop:
            return (forward,)
        if stmt is plan.sweep:
            return back
        if memory.is_left_out(stmt):
            return memory.made() if memory.is_left_out(stmt, first) else ()
        inside = blocks(stmt)
        parts = tuple(tuple(s for inner in block for s in change(inner)) for block in inside)
        return (with_blocks(stmt, parts) if inside else stmt,)

    return replace(plan.whole, body=tuple(s for stmt in plan.whole.body for s in change(stmt)))


# ---------------------------------------------------------------------------------------------- where the states lie


class _Stacks:
    """One for each dtype: those that there are, as far as these go."""

    def __init__(self, plan: Plan) -> None:
        self.states = plan.states
        self.had: dict[np.dtype, Stack] = {}
        for one in plan.gone:
            assert isinstance(one.put, Push)
            self.had.setdefault(one.dtype, one.put.stack)
        self.stacks = {v.dtype: self.had.get(v.dtype) or self.new(v.dtype, plan) for v in plan.states}

    def new(self, dtype: np.dtype, plan: Plan) -> Stack:
        name = plan.fresh("kept")
        return Stack(name, plan.fresh(f"{name}_top"), dtype)

    def is_left_out(self, stmt: Stmt, one: Kept | None = None) -> bool:
        stacks = [*self.had.values()] if one is None else [self.had[one.dtype]]
        return isinstance(stmt, NewStack) and stmt.stack in stacks

    def made(self) -> Block:
        return tuple(NewStack(stack) for stack in self.stacks.values())

    def put(self) -> Block:
        return tuple(Push(self.stacks[v.dtype], _named(v)) for v in self.states)

    def have(self, now: dict[Var, Var], segment: Var) -> Block:
        return tuple(Pop(now[v], self.stacks[v.dtype]) for v in reversed(self.states))


class _Arrays:
    """One for each, with an element for each segment."""

    def __init__(self, plan: Plan, first: Kept) -> None:
        assert isinstance(plan.loop, For) and first.alloc is not None
        (steps,) = first.alloc.dims
        dims = (affine.floordiv(affine.add(steps, affine.integer(plan.steps - 1)), plan.steps),)
        self.arrays = {v: Array(plan.fresh(f"{_named(v).name}_kept"), v.dtype, dims) for v in plan.states}
        self.segment = affine.floordiv(_done(plan.loop), plan.steps)
        self.allocs = [one.alloc for one in plan.gone]

    def is_left_out(self, stmt: Stmt, one: Kept | None = None) -> bool:
        return any(stmt is alloc for alloc in (self.allocs if one is None else [one.alloc]))

    def made(self) -> Block:
        return tuple(Alloc(array, array.dims) for array in self.arrays.values())

    def put(self) -> Block:
        places = self.arrays.items()
        return tuple(Store(array, (self.segment,), _named(v), checked=False) for v, array in places)

    def have(self, now: dict[Var, Var], segment: Var) -> Block:
        places = self.arrays.items()
        return tuple(Assign(now[v], Load(array, (segment,), checked=False)) for v, array in places)


# ------------------------------------------------------------------------------------------------- there and back


def index_of(loop: For | While) -> Var:
    return loop.index if isinstance(loop, For) else loop.trip


def _done(loop: For | While) -> Expr:
    """How many iterations there have been."""
    return affine.sub(loop.index, loop.start) if isinstance(loop, For) else loop.trip


def _is_first(plan: Plan) -> Expr:
    return affine.equals(Call("bitand", (_done(plan.loop), affine.integer(plan.steps - 1)), INT64), affine.ZERO)


def _named(start: Var) -> Var:
    """The variable itself, of which this is what it holds at the start of an iteration."""
    return Var(start.name.removesuffix("#"), start.dtype)


def _back(plan: Plan, memory: _Stacks | _Arrays) -> Block:
    sweep, length = plan.sweep, affine.integer(plan.steps)
    segment, step, trips, left = (Var(plan.fresh(name), INT64) for name in ("segment", "step", "trips", "left"))
    ahead = {
        version: Array(plan.fresh(f"{version.name.split('#')[0]}_ahead"), version.dtype, (length,))
        for version in dict.fromkeys(plan.gone.values())
        if "#" in version.name
    }
    now = {v: Var(plan.fresh(f"{_named(v).name}_now"), v.dtype) for v in plan.states}
    had: dict[int, Expr] = {}  # by what gave a number its name in the sweep
    loaded: dict[Expr, Expr] = {}
    for one, version in plan.gone.items():
        value = Load(ahead[version], (step,), checked=False) if version in ahead else version
        if one.load is not None:
            loaded[one.load] = value
        elif one.had is not None:
            had[id(one.had)] = value
    before = affine.mul(length, segment)
    moved = {sweep.index: affine.add(affine.add(sweep.stop, affine.ONE), affine.add(before, step))}

    def in_segment(stmt: Stmt) -> Block:
        if isinstance(stmt, Pop) and isinstance(stmt.target, Var) and id(stmt) in had:
            stmt = Assign(stmt.target, had[id(stmt)], span=stmt.span)
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, lambda node: loaded.get(node, node)))
        return (map_expressions(stmt, lambda expr: substitute(expr, moved)),)

    again = rewrite_block(_again(plan, now, ahead, step), in_segment)
    body = rewrite_block(sweep.body, in_segment)
    is_there, down, last = less(step, left), affine.integer(-1), affine.integer(plan.steps - 1)
    inside: Block = (
        *memory.have(now, segment),
        Assign(left, affine.sub(trips, before)),
        For(step, affine.ZERO, length, affine.ONE, again if _runs_on(plan) else (If(is_there, again),)),
        For(step, last, down, down, (If(is_there, body),)),
    )
    first = affine.floordiv(affine.sub(trips, affine.ONE), plan.steps)
    return (
        Assign(trips, affine.sub(sweep.start, sweep.stop)),
        *(Alloc(array, array.dims) for array in ahead.values()),
        For(segment, first, down, down, inside, span=sweep.span),
    )


def _again(plan: Plan, now: dict[Var, Var], ahead: dict[Var, Array], step: Var) -> Block:
    """A step once more: what the way back wants of it, and then the state of the next one."""
    names: dict[Var, Expr] = dict(now)
    put = lambda version: Store(ahead[version], (step,), names[version], checked=False)
    out: list[Stmt] = [put(version) for version in ahead if version in now]
    for version in plan.made:
        names[version] = made = Var(plan.fresh(version.name.split("#")[0]), version.dtype)
        out.append(Assign(made, substitute(plan.values.made[version], names)))
        out += [put(version)] if version in ahead else []
    ends = {state: plan.values.end(state) for state in plan.states}
    for state, end in ends.items():  # what another state was is taken down before that one changes
        if end in now and end != state:
            names[end] = held = Var(plan.fresh(now[end].name), end.dtype)
            out.append(Assign(held, now[end]))
    out += [Assign(now[state], substitute(end, names)) for state, end in ends.items() if end != state]
    return tuple(out)


def _runs_on(plan: Plan) -> bool:
    """May the last segment be made to its end, which is less than to ask each time whether that is there?"""
    values, index = [plan.values.made[version] for version in plan.made], index_of(plan.loop)
    moving = any(index in variables(load) for value in values for load in loads(value))
    nodes = (node for value in values for node in subexpressions(value) if isinstance(node, Call))
    return not moving and all(cost(node) <= 1 and node.op not in LAZY for node in nodes)


__all__ = ["Plan", "in_segments", "index_of"]
