"""What LLVM is told, and asked, about loops.

for lane in range(8):           iterations side by side: LLVM would write out all eight before it vectorises, and then
    s[lane] += w * x[lane]      find eight numbers and no loop; it is asked to leave the loop as it is
for j in range(m):              of a short loop LLVM is asked to take all elements in registers, the last one masked:
    y[j] = exp(x[j])            those that do not fill a register go one by one otherwise
for k in range(j):              of rows of one array LLVM would ask whether they overlap, ahead of every such loop: it
    a[i, k] -= w * a[j, k]      is told that no iteration touches what another one writes
"""

from __future__ import annotations

from typing import Any

from llvmlite.ir.values import MDValue
from numba.core import cgutils
from numba.core.analysis import compute_cfg_from_blocks

from srcgrad.backends.range_loops import RangeLower
from srcgrad.runtime.asked_of_loops import AS_IT_IS, ask

FACTS = "srcgrad_facts"  # under this name they travel in Numba's metadata of a compilation


class AccessGroup(MDValue):
    """A name for accesses of one loop: LLVM wants a node that is like no other, and has nothing in it.

    Nodes of the same operands are one to llvmlite; to it a program's second group would be its first.
    """

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    def descr(self, buf: Any) -> None:
        buf += ("distinct !{}", "\n")


class LoopLower(RangeLower):
    """Lowering of one function: its loops."""

    @property
    def _facts(self) -> Any:
        return self.metadata[FACTS]

    def pre_lower(self) -> None:
        super().pre_lower()
        facts, blocks = self._facts, self.func_ir.blocks
        self._loop_of = dict(facts.apart)  # the line on which the loop begins
        self._groups: dict[int, AccessGroup] = {}
        lines = facts.vectors | facts.masked | frozenset(self._loop_of.values())
        self._ends = _ends_of_loops(blocks, lines)

    def post_block(self, block: Any) -> None:
        super().post_block(block)
        line = self._ends.get(id(block))
        if line is None:
            return
        wishes: list[tuple[Any, ...]] = []
        if line in self._facts.vectors:  # not to be unrolled, until it has been vectorised
            wishes.append(AS_IT_IS)
        if line in self._facts.masked:
            wishes.append(("llvm.loop.vectorize.predicate.enable", cgutils.true_bit))
        if line in self._groups:
            wishes.append(("llvm.loop.parallel_accesses", self._groups[line]))
        if wishes:
            ask(self.module, self.builder.block.terminator, wishes)

    def _mark_apart(self, access: Any) -> None:
        """Say of an access in which loop nothing else touches its element."""
        loop = self._loop_of.get(self.loc.line)
        if loop is None:
            return
        if loop not in self._groups:
            self._groups[loop] = AccessGroup(self.module, (), name=str(len(self.module.metadata)))
        access.set_metadata("llvm.access.group", self._groups[loop])


def _ends_of_loops(blocks: Any, lines: frozenset[int]) -> dict[int, int]:
    """The blocks that go back to the head of a loop that begins on one of the lines, each with the line."""
    if not lines:
        return {}
    graph = compute_cfg_from_blocks(blocks)
    heads = {loop.header: loop for loop in graph.loops().values()}
    begins = {head: blocks[head].body[0].loc.line for head in heads}
    return {
        id(blocks[end]): begins[head]
        for head, loop in heads.items()
        if begins[head] in lines
        for end in loop.body
        if head in (to for to, _ in graph.successors(end))
    }


__all__ = ["FACTS", "LoopLower"]
