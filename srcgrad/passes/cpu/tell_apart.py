"""Which inner loops touch, in every iteration, elements of their own: what a compiler can't see, it is told.

    for i in range(j + 1, n):
        for k in range(j):                      rows i and j of one array, and i is not j for all that LLVM knows: it
            l_b[i, k] += g * l[j, k]    →       would ask at run time, for every two rows, ahead of each of these loops
            l_b[j, k] += g * l[i, k]            (but element k is met in iteration k alone, whatever the rows are)

Of memory that was made here: an argument may overlap with others.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import Access, effects
from ...analysis.meetings import meet_in_one_iteration
from ...analysis.ranges import Ranges
from ...analysis.signs import signs_of
from ...ir import affine
from ...ir.info import memory_of
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store
from ...ir.walk import blocks, expressions, loads, statements, with_blocks

SIMPLE = (AddTo, Assign, Comment, If, Store)


def tell_apart(function: Function) -> Function:
    return replace(function, body=_Teller(function).block(function.body, ()))


class _Teller:
    def __init__(self, function: Function) -> None:
        self.memory, self.signs = memory_of(function), signs_of(function)
        self.outside = {self.memory[param.name] for param in function.params}

    def block(self, block: Block, around: tuple[For, ...]) -> Block:
        return tuple(self.statement(stmt, around) for stmt in block)

    def statement(self, stmt: Stmt, around: tuple[For, ...]) -> Stmt:
        if isinstance(stmt, For) and _is_simple(stmt):
            return replace(stmt, apart=True) if self.is_apart(stmt, around) else stmt
        inner = (*around, stmt) if isinstance(stmt, For) else around
        return with_blocks(stmt, tuple(self.block(part, inner) for part in blocks(stmt))) if blocks(stmt) else stmt

    def is_apart(self, loop: For, around: tuple[For, ...]) -> bool:
        """Are all elements that it writes met in one iteration, and would LLVM have to ask?"""
        inside = effects(loop.body)
        meets: dict[str, list[Access]] = {}
        for access in inside.accesses:
            memory = self.memory.get(access.array.name)
            if memory is None or (access.writes and memory in self.outside):
                return False
            meets.setdefault(memory, []).append(access)
        changed, ranges = inside.writes - {loop.index}, Ranges(around, loop, self.signs)
        asks = False
        for accesses in meets.values():
            for a in (access for access in accesses if access.writes):
                for b in accesses:
                    if not (meet_in_one_iteration(a, b, loop, changed, self.signs) or ranges.never_meet(a, b)):
                        return False
                    asks |= not _is_near(a, b)
        return asks


def _is_simple(loop: For) -> bool:
    """Is it an innermost loop over elements that are inside their arrays?"""
    inside = tuple(statements(loop.body))
    read = [load for stmt in inside for expr in expressions(stmt) for load in loads(expr)]
    added = [stmt.target for stmt in inside if isinstance(stmt, AddTo)]
    return (
        all(isinstance(stmt, SIMPLE) for stmt in inside)
        and not any(stmt.checked for stmt in inside if isinstance(stmt, Store))
        and not any(load.checked for place in added for load in loads(place))
        and not any(load.checked for load in read)
    )


def _is_near(a: Access, b: Access) -> bool:
    """Do they lie at one distance in one row, which LLVM finds by itself?"""
    gaps = [None if p is None or q is None else affine.difference(p, q) for p, q in zip(a.index, b.index, strict=True)]
    return a.array == b.array and None not in gaps[-1:] and not any(gap is None or gap for gap in gaps[:-1])


__all__ = ["tell_apart"]
