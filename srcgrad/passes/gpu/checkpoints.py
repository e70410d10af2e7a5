"""Of a loop in a thread every k-th state is kept, and the way back makes the others again, k at a time.

    while abs(x) > tol:                          while abs(x) > tol:
        push x on kept                               if trip % 8 == 0: push x on kept
        x = x * x + c                                x = x * x + c
    …                                            …
    for trip in range(trips - 1, -1, -1):        for segment in range((trips - 1) // 8, -1, -1):
        x_1 = pop kept                    →          x_now = pop kept
        x_b = 2.0 * x_1 * x_b                        for step in range(8):
                                                         x_ahead[step] = x_now
                                                         x_now = x_now * x_now + c
                                                     for step in range(7, -1, -1):
                                                         if step < trips - 8 * segment:
                                                             x_1 = x_ahead[step]
                                                             x_b = 2.0 * x_1 * x_b

These are checkpoints at even distances (Griewank and Walther, Evaluating Derivatives, chapter 12).  Loops that always
run as often are unrolled, and their arrays are registers.  What lies in an array with an element for each step (of
loops whose trip count is known ahead) has one for each segment.

It pays where a loop waits for memory, and not for its arithmetic: of that there is more then, which has to be less
than what is moved, by the count of `KEEPING`.  A step of Runge and Kutta that keeps three numbers has three times as
much.  Threads of a warp leave a `while` loop one after the other: what the warp keeps has holes, and memory is read
and written in sectors, of which half is of no use.

A step that is made again may be rounded in another way: a product and a sum are one instruction in one place, and two
in another.  The states of a segment then differ in their last digits.  So nothing that decides is made again, nor what
jumps: a branch, a whole number, the place of an element.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.decisions import deciding, may_jump
from ...ir import affine
from ...ir.expressions import LAZY, Call, Expr, Var
from ...ir.nodes import Block, For, Function, Push, Store, While
from ...ir.walk import blocks, expressions, loads, numbers_set, statements, subexpressions, variables
from ...rules.costs import cost
from ..reverse_mode.kept_numbers import Group, Kept, groups
from ..reverse_mode.reverse import backwards
from .offload import IN_A_THREAD, is_small
from .segments import Plan, in_segments, index_of
from .versions import KEEPING, Surroundings, Versions

LONGEST = 8  # steps of a segment
REGISTERS = 128  # bytes that the states of a segment take: a thread has 255 registers of 4, and fewer threads run then
HOLES = 2  # times as much is moved where threads of a warp leave a loop one after the other


def checkpoints(function: Function) -> Function:
    tried: set[str] = set()
    while True:
        together = next((found for found in _loops(function) if not tried >= _memory(found)), None)
        if together is None:
            return function
        tried |= _memory(together)
        plan = _plan(function, together)
        function = function if plan is None else in_segments(plan)


def _memory(together: tuple[Group, ...]) -> set[str]:
    return set().union(*(group.memory for group in together))


def _loops(function: Function) -> Iterator[tuple[Group, ...]]:
    """What each loop of a thread keeps, on its stacks or in its arrays."""
    in_threads = {id(stmt) for loop in _of_threads(function.body) for stmt in statements(loop.body)}
    found: dict[tuple[int, int, bool], list[Group]] = {}
    for group in groups(function):
        if id(group.loops[0]) in in_threads and _mirrors(group):
            is_stack = isinstance(group.kept[0].put, Push)
            found.setdefault((id(group.loops[0]), id(group.sweep), is_stack), []).append(group)
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
    loop, sweep = group.loops[-1], group.sweep
    nested = any(isinstance(stmt, (For, While)) for stmt in statements((*loop.body, *sweep.body)))
    if nested or len(group.loops) > 1 or not affine.same(sweep.step, affine.integer(-1)):
        return False
    if _changes(sweep.stop, sweep.body):
        return False
    if isinstance(loop, While):
        return sweep.index == loop.trip and affine.same(sweep.stop, affine.integer(-1))
    back = sweep.start, sweep.stop, sweep.step
    same = sweep.index == loop.index and all(map(affine.same, back, backwards(loop, lambda expr: expr)))
    return same and affine.same(loop.step, affine.ONE) and not _changes(loop.start, loop.body)


def _changes(expr: Expr, block: Block) -> bool:
    return bool(loads(expr)) or bool(variables(expr) & numbers_set(block))


def _parts(group: Group) -> list[tuple[Kept, ...]]:
    """What is kept by itself: all that is on a stack, each array that has an element for each step."""
    if isinstance(group.kept[0].put, Push):
        return [group.kept]
    index = index_of(group.loops[0])
    long = [one for one in group.kept if one.alloc is not None and not is_small(one.alloc)]
    return [(one,) for one in long if isinstance(one.put, Store) and one.put.index == (index,)]


def _names(one: Kept) -> set[str]:
    return {one.var.name, *((one.put.array.name,) if isinstance(one.put, Store) else ())}


def _plan(function: Function, together: tuple[Group, ...]) -> Plan | None:
    first = together[0]
    around = Surroundings(function, first)
    values = Versions(first.body, around.fixed)
    index = index_of(first.loops[0])
    decides = deciding(first.sweep.body)
    gone: dict[Kept, Var] = {}
    states: set[Var] = set()
    made: set[Var] = set()
    for part in (part for group in together for part in _parts(group)):
        wanted = {one: values.at[id(one.put)] for one in part}
        if any(one.dtype.kind not in "iub" and decides & _names(one) for one in part):
            continue
        found = _closure(values, [*wanted.values()])
        if found is None:
            continue
        read = {v for version in found[0] for v in variables(values.made[version])}
        read |= {*wanted.values(), *map(values.end, found[1])}
        if all("#" in v.name or v == index or around.stay(v) for v in read):
            gone |= wanted
            made |= found[0]
            states |= found[1]
    steps = _steps(sum(v.dtype.itemsize for v in set(gone.values()) if "#" in v.name))
    work = values.cost(made, frozenset({index}))
    if not states or not steps:
        return None
    moved = KEEPING * (1 if isinstance(first.loops[0], For) else HOLES)
    loops = _arithmetic((*first.body, *first.sweep.body)) + work
    if loops + moved * len(states) / steps > moved * len(gone):
        return None
    in_order = tuple(version for version in values.made if version in made)
    by_name = tuple(sorted(states, key=lambda v: v.name))
    return Plan(function, first.loops[0], first.sweep, gone, values, in_order, by_name, steps)


def _decides_something(value: Expr) -> bool:
    """Does it jump, or read an element by what the state is?  Where there was no room for the state, that is 0."""
    is_state = lambda v: "#" in v.name
    nodes = [node for node in subexpressions(value) if isinstance(node, Call)]
    asked = [node.args[0] for node in nodes if node.op in LAZY and any(map(loads, node.args[1:]))]
    places = [part for load in loads(value) for part in load.index]
    return may_jump(value, is_state) or any(map(is_state, (v for e in (*asked, *places) for v in variables(e))))


def _arithmetic(block: Block) -> int:
    """In additions."""
    nodes = (node for stmt in statements(block) for expr in expressions(stmt) for node in subexpressions(expr))
    return sum(cost(node) for node in nodes if isinstance(node, Call) and node.dtype.kind == "f")


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
