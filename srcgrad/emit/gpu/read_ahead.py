"""A thread reads what several turns of its loop need before it computes any of them: it waits for memory once.

j = lane                                 x_ahead = cuda.local.array(4, np.float64)
while j < m:                             j_ahead = lane
    s += x[i, j] * x[i, j]               while j_ahead < m:
    j += 32                                  for turn in range(4):
                                                 j = j_ahead + 32 * turn
                                       →         if j < m:
                                                     x_ahead[turn] = x[i, j]
                                             for turn in range(4):
                                                 j = j_ahead + 32 * turn
                                                 if j < m:
                                                     s += x_ahead[turn] * x_ahead[turn]
                                             j_ahead += 128

Loops of four turns are unrolled, and what they read lies in registers.  Turns have the order that they had, and all of
them read what nobody writes in the loop.  A turn that is too long for that reads at least nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice

from ...ir import affine
from ...ir.expressions import Array, Expr, Load, Var
from ...ir.nodes import TURN, Assign, AtomicAdd, Block, For, If, Lanes, Raise, Stmt, Store, While
from ...ir.walk import (
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    rewrite_block,
    statements,
    substitute,
    sure_loads,
    targets,
    variables,
)
from ...passes.gpu.held_rows import is_short
from .kernel_text import Lines, lines_of, local_array

Reads = tuple[tuple[Array, Expr], ...]  # places for an element of each turn, and what is read there
Fresh = Callable[[str], str]

TURNS = 4  # that are read for at one time
MOST_READ = 8  # elements of a turn that are read ahead: registers are few


def read_ahead(body: Block, index: Var, fresh: Fresh, memory: Mapping[str, str]) -> tuple[Reads, Block]:
    """What turns of a loop may read ahead, and a turn that has it.  `memory`: which memory arrays are handles on."""
    if not is_short(body) or any(isinstance(stmt, AtomicAdd) for stmt in statements(body)):
        return (), body
    known: dict[Expr, Expr] = {}
    for load in islice(_unchanged(body, index, memory), MOST_READ):
        place = Array(fresh(f"{load.array.name}_ahead"), load.dtype, (affine.integer(TURNS),))
        known[load] = Load(place, (TURN,))
    return tuple((place.array, load) for load, place in known.items()), _with(known, body)  # type: ignore[attr-defined]


def read_once(body: Block, index: Var, fresh: Fresh, memory: Mapping[str, str]) -> Block:
    """The body, which reads first what it would read again behind what it stores: that might be the same memory."""
    inside = tuple(statements(body))
    if any(isinstance(stmt, Raise) for stmt in inside) or not any(isinstance(stmt, Store) for stmt in inside):
        return body
    times = Counter(load for stmt in inside for expr in expressions(stmt) for load in loads(expr))
    again = (load for load in _unchanged(body, index, memory) if times[load] > 1)
    known: dict[Expr, Expr] = {
        load: Var(fresh(f"{load.array.name}_here"), load.dtype) for load in islice(again, MOST_READ)
    }
    return (*(Assign(var, load) for load, var in known.items()), *_with(known, body))  # type: ignore[arg-type]


def _unchanged(body: Block, index: Var, memory: Mapping[str, str]) -> Iterable[Load]:
    """Elements that an iteration surely reads, of arrays that nobody writes, by its index and what does not change."""
    root = lambda array: memory.get(array.name, array.name)
    touched = {root(target) for stmt in statements(body) for target in targets(stmt) if isinstance(target, Array)}
    changed = numbers_set(body)
    found: dict[Load, None] = {}
    for load in (load for stmt in body for expr in expressions(stmt) for load in sure_loads(expr)):
        used = variables(load)
        if root(load.array) in touched or index not in used or used & changed or any(map(loads, load.index)):
            continue
        found[load] = None
    return found


def _with(known: Mapping[Expr, Expr], body: Block) -> Block:
    if not known:
        return body
    change: Callable[[Expr], Expr] = lambda expr: rewrite(expr, lambda part: known.get(part, part))
    return rewrite_block(body, lambda stmt: (map_expressions(stmt, change),))


def lanes_read_ahead(body: Block, fresh: Fresh, memory: Mapping[str, str]) -> Block:
    """The body of a kernel by rows, with loops that read ahead."""

    def change(stmt: Stmt) -> Block:
        if not isinstance(stmt, Lanes) or stmt.held:
            return (stmt,)
        reads, inner = read_ahead(stmt.body, stmt.index, fresh, memory)
        return (replace(stmt, reads=reads, body=inner),)

    return rewrite_block(body, change)


def in_turns(index: Var, ahead: Var, stride: str, goes_on: Expr, reads: Reads, body: Block) -> Block:
    """The loop from `index` on, some turns at a time."""
    further = str(TURNS * int(stride)) if stride.isdigit() else f"{TURNS} * {stride}"
    at = f"{ahead.name} + {stride} * turn"
    several = (
        *turns(at, index, affine.integer(TURNS), goes_on, stores(reads)),
        *turns(at, index, affine.integer(TURNS), goes_on, body),
        Lines(f"{ahead.name} += {further}"),
    )
    made = lines_of([local_array(place) for place, _ in reads])
    return (*made, Lines(f"{ahead.name} = {index.name}"), While(ahead, substitute(goes_on, {index: ahead}), several))


def turns(at: str, index: Var, count: Expr, goes_on: Expr, body: Block) -> Block:
    """So many turns, one after the other."""
    one = (Lines(f"{index.name} = {at}"), If(goes_on, body))
    return (For(TURN, affine.ZERO, count, affine.ONE, one),) if body else ()


def stores(reads: Reads) -> Block:
    return tuple(Store(place, (TURN,), value) for place, value in reads)


__all__ = [
    "Reads", "in_turns", "lanes_read_ahead", "read_ahead", "read_once",
    "stores", "turns",
]  # fmt: skip
