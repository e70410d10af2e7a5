"""Numbers that all threads of a launch have parts of, as lines of a kernel.

    s_parts[cuda.blockIdx.x] = s            the first thread of each block, of what all of them have
    is_last[0] = …                          one more block is done: are all of them?
    s_cell[0] = s_start + s                 the last one has added up the parts, in an order that is always the same

A number that is there before begins in its cell, and has no start.  A greatest, or the like, does so too, and what each
block has is joined with it already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...analysis.extremes import NEUTRAL
from ...ir.expressions import Const, Var
from ..expressions import expression_text
from .block_sums import folded, zero
from .kernel_text import chosen
from .rows_together import Form

DONE = "blocks_done"  # how many blocks are: the last one sets it back to 0
WARP = 32


@dataclass(frozen=True)
class Sum:
    """A number, and the names of what belongs to it; `op` says how two of its parts make one."""

    var: Var
    op: str
    shared: str
    parts: str
    cell: str
    start: str | None  # none where it begins in its cell

    @property
    def params(self) -> tuple[str, ...]:
        """What a kernel takes for it, beside a cell that it begins in."""
        return (self.parts,) if self.start is None else (self.start, self.parts, self.cell)

    @property
    def neutral(self) -> str:
        """What a thread begins with, of sums and products."""
        return expression_text(Const(NEUTRAL[self.op], self.var.dtype))

    def joined(self, own: str, other: str) -> str:
        return f"{own} += {other}" if self.op == "add" else f"{own} = {self.of_two(own, other)}"

    def of_two(self, one: str, other: str) -> str:
        return chosen(self.op, self.var.dtype, one, other)

    def by_shuffles(self, form: Form) -> bool:
        return form.shuffles and self.op == "add"

    def memory(self, form: Form) -> str:
        """That a block shares."""
        count = form.threads // WARP if self.by_shuffles(form) else form.threads
        return f"{self.shared} = cuda.shared.array({count}, np.{self.var.dtype.name})"

    def of_block(self, form: Form) -> str:
        """Where the first thread of a block has what all of them have."""
        return self.var.name if self.by_shuffles(form) else f"{self.shared}[0]"

    def result(self, form: Form) -> str:
        total, cell = self.of_block(form), f"{self.cell}[0]"
        if self.op not in NEUTRAL:
            return f"{cell} = {total}"
        return self.joined(cell, total) if self.start is None else f"{cell} = {self.of_two(self.start, total)}"


def made_one(sums: Sequence[Sum], block: str, form: Form) -> list[str]:
    """What all threads have becomes one number; `block` says which one it is."""
    if not sums:
        return []
    count = f"{sums[0].parts}.shape[0]"
    first = [f"{s.var.name} = {s.neutral}" if s.op in NEUTRAL else f"{s.var.name} = {s.parts}[0]" for s in sums]
    return [
        *(s.memory(form) for s in sums),
        *within_block(sums, form),
        "is_last = cuda.shared.array(1, np.int32)",
        "if member == 0:",
        *(f"    {s.parts}[{block}] = {s.of_block(form)}" for s in sums),
        "    cuda.threadfence()",
        f"    is_last[0] = cuda.atomic.inc({DONE}, 0, {count} - 1) == {count} - 1",
        "cuda.syncthreads()",
        "if is_last[0]:",
        "    cuda.threadfence()",
        *(f"    {line}" for line in first),
        "    place = member",
        f"    while place < {count}:",
        *(f"        {s.joined(s.var.name, f'{s.parts}[place]')}" for s in sums),
        f"        place += {form.threads}",
        *(f"    {line}" for line in within_block(sums, form)),
        "    if member == 0:",
        *(f"        {s.result(form)}" for s in sums),
    ]


def within_block(sums: Sequence[Sum], form: Form) -> Iterator[str]:
    """The first thread of a block has what all of them have."""
    by_shuffles = [s for s in sums if s.by_shuffles(form)]
    by_halves = [s for s in sums if not s.by_shuffles(form)]
    if by_shuffles:
        totals, warps = [s.var for s in by_shuffles], form.threads // WARP
        yield from folded(totals, WARP // 2)
        yield f"if member % {WARP} == 0:"
        yield from (f"    {s.shared}[member // {WARP}] = {s.var.name}" for s in by_shuffles)
        yield "cuda.syncthreads()"
        yield f"if member < {WARP}:"
        for s in by_shuffles:
            yield f"    {s.var.name} = {s.shared}[member] if member < {warps} else {zero(s.var)}"
        yield from (f"    {line}" for line in folded(totals, warps // 2))
    if by_halves:
        yield from (f"{s.shared}[member] = {s.var.name}" for s in by_halves)
        yield f"half = {form.threads // 2}"
        yield "while half > 0:"
        yield "    cuda.syncthreads()"
        yield "    if member < half:"
        yield from (f"        {s.joined(f'{s.shared}[member]', f'{s.shared}[member + half]')}" for s in by_halves)
        yield "    half >>= 1"


__all__ = ["DONE", "Sum", "made_one"]
