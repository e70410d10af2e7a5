"""A thread takes several elements in turns, and reads what it wants of all of them before it computes the first.

i = cuda.grid(1)                               x_ahead = cuda.local.array(4, np.float64)
if i < n:                                      i_first = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    y[i] = x[i] * x[i]                         for turn in range(4):
                                                   i = i_first + turn * 256
                                                   if i < n:
                                      →                x_ahead[turn] = x[i]
                                               for turn in range(4):
                                                   i = i_first + turn * 256
                                                   if i < n:
                                                       y[i] = x_ahead[turn] * x_ahead[turn]

Compilers unroll these loops, and the small arrays are registers.  A thread alone would wait for memory once per element;
and what it takes to launch a block of threads is more than one element of each is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..ir.expressions import INT64, Array, Const, Expr, Load, Var
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, Comment, For, If, Kernel, LocalArray, Stmt, Store
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    statements,
    sure_loads,
    variables,
    with_blocks,
    written,
)
from ..rules.costs import additions

MOST_TURNS = 4
REGISTERS = 24  # of four bytes, for what is read ahead
LARGEST = 100  # additions of an iteration: NVVM would not unroll four of much larger ones
SIMPLE = (AddTo, Assign, Comment, If, Store)


@dataclass(frozen=True)
class Turns:
    """`made`: the small arrays; `ahead`: what fills them; `body`: an iteration that reads them."""

    turn: Var
    count: int
    made: Block
    ahead: Block
    body: Block


def read_ahead(kernel: Kernel, turn: Var, names: Names, memory: Mapping[str, str]) -> Turns | None:
    """How the threads of a kernel take several elements, or None.  `memory`: which memory arrays are handles on."""
    if not kernel.axes or kernel.by_rows or kernel.scratch or kernel.stacks:
        return None
    inside = tuple(statements(kernel.body))
    if not all(isinstance(stmt, SIMPLE) for stmt in inside):
        return None
    if sum(additions(expr) for stmt in inside for expr in expressions(stmt)) > LARGEST:
        return None
    reader = _Reader(kernel, turn, names, memory)
    ahead, body = reader.block(kernel.body, {})
    words = sum(-(-load.dtype.itemsize // 4) for load in reader.rooms.values())
    count = MOST_TURNS
    while count * words > REGISTERS:
        count //= 2
    if count < 2:
        return None
    made = tuple(LocalArray(replace(load.array, dims=(Const(count, INT64),))) for load in reader.rooms.values())
    return Turns(turn, count, made, ahead, body)


class _Reader:
    def __init__(self, kernel: Kernel, turn: Var, names: Names, memory: Mapping[str, str]) -> None:
        self.turn, self.names, self.memory = turn, names, memory
        self.rooms: dict[Load, Load] = {}
        targets = [target for stmt in statements(kernel.body) for target in _targets(stmt)]
        self.changed = {target for target in targets if isinstance(target, Var)} | {*kernel.sums, *kernel.sets}
        self.touched = {self.of(target) for target in targets if isinstance(target, Array)}

    def of(self, array: Array) -> str:
        return self.memory.get(array.name, array.name)

    def block(self, block: Block, known: dict[Expr, Expr]) -> tuple[Block, Block]:
        """What is read ahead for a block, and the block that takes it from there.  `known` is there already."""
        ahead: list[Stmt] = []
        out: list[Stmt] = []
        for load in (load for stmt in block for expr in expressions(stmt) for load in sure_loads(expr)):
            if load not in known and self.is_there(load):
                known[load] = room = self.room(load)
                ahead.append(Store(room.array, (self.turn,), load))
        for stmt in block:
            own = map_expressions(stmt, lambda expr: rewrite(expr, lambda part: known.get(part, part)))
            if isinstance(stmt, If):
                sides = [self.side(stmt, side, known) for side in blocks(stmt)]
                own = with_blocks(own, tuple(body for _, body in sides))
                if any(first for first, _ in sides):
                    ahead.append(with_blocks(stmt, tuple(first for first, _ in sides)))
            out.append(own)
        return tuple(ahead), tuple(out)

    def side(self, stmt: If, side: Block, known: dict[Expr, Expr]) -> tuple[Block, Block]:
        """A branch: read ahead where it is known ahead that it is taken."""
        if self.is_steady(stmt.condition) and not any(loads(stmt.condition)):
            return self.block(side, dict(known))
        return (), self.said(side, known)

    def said(self, block: Block, known: dict[Expr, Expr]) -> Block:
        def instead(stmt: Stmt) -> Stmt:
            stmt = map_expressions(stmt, lambda expr: rewrite(expr, lambda part: known.get(part, part)))
            return with_blocks(stmt, tuple(self.said(inner, known) for inner in blocks(stmt))) if blocks(stmt) else stmt

        return tuple(map(instead, block))

    def is_there(self, load: Load) -> bool:
        """Is it the same number before any of the turns?"""
        nested = any(loads(part) for part in load.index)
        return load.dtype.kind in "iuf" and self.of(load.array) not in self.touched and self.is_steady(load) and not nested

    def is_steady(self, expr: Expr) -> bool:
        return not variables(expr) & self.changed

    def room(self, load: Load) -> Load:
        if load not in self.rooms:
            array = Array(self.names.fresh(f"{load.array.name}_ahead"), load.dtype, (Const(MOST_TURNS, INT64),))
            self.rooms[load] = Load(array, (self.turn,))
        return self.rooms[load]


def _targets(stmt: Stmt) -> tuple[Var | Array, ...]:
    target = written(stmt)
    return () if target is None else target if isinstance(target, tuple) else (target,)


__all__ = ["Turns", "read_ahead"]
