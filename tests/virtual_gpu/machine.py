"""Kernels, executed: all threads of some blocks at once, an array of one number for each of them in every register.

Threads that are furthest behind in the text go first, so that those that took different ways meet again.  A shuffle,
and a barrier of a warp, wait for all of the warp; `bar.sync` for the whole block.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .memory import Arena, Fault
from .ptx import Instruction, Kernel, Unknown
from .run import WARP, Lanes, Run
from .steps import Step, Steps

AT_ONCE = 4096  # threads: blocks that run together
DONE = 1 << 30


@dataclass
class Block:
    """Instructions without a branch among them."""

    steps: list[Step] = field(default_factory=list)
    texts: list[Instruction] = field(default_factory=list)
    ends: Instruction | None = None  # a branch, the end, or a barrier of the block
    waits_for_warp: bool = False


class Machine(Steps):
    """A kernel that is ready to run."""

    def __init__(self, kernel: Kernel, memory: Arena, constants: dict[str, int]) -> None:
        super().__init__(kernel, memory, constants)
        self.launch = self.dynamic_bytes = 0
        self.warps_in = self.blocks_in = np.zeros(0, np.int64)
        self.blocks, self.starts = self._blocks()

    # ------------------------------------------------------------------------------------------------- launching

    def run(self, launch: int, grid: tuple[int, ...], block: tuple[int, ...], shared: int, params: bytes) -> None:
        self.launch, self.dynamic_bytes = launch, shared
        threads, blocks = int(np.prod(block)), int(np.prod(grid))
        if threads > 1024:
            raise Fault(f"{threads} threads in a block")
        every = np.arange(threads * blocks)
        self.blocks_in = every // threads
        self.warps_in = self.blocks_in * -(-threads // WARP) + every % threads // WARP
        together = max(1, AT_ONCE // threads)
        numbers = np.arange(blocks)
        with np.errstate(all="ignore"):
            for start in range(0, blocks, together):
                self._go(Run(self, numbers[start : start + together], block, params, grid))

    def _go(self, run: Run) -> None:
        at = np.zeros(run.threads, np.int64)  # the block of instructions that a thread is to run next
        waits = np.zeros(run.threads, bool)
        while True:
            ready = (at < DONE) & ~waits
            if not ready.any():
                return
            lanes, here = self._next(run, at, ready)
            block = self.blocks[here]
            chosen: Lanes = None if len(lanes) == run.threads else lanes
            if self.counts is not None:
                self._count(run, block, lanes)
            for step, text in zip(block.steps, block.texts, strict=True):
                try:
                    step(run, chosen)
                except Fault as fault:
                    raise Fault(f"{fault}\n  in {text}\n  of {self.kernel.name}") from None
            if block.waits_for_warp:
                run.warp_time[np.unique(run.warp[lanes])] += 1
            at[lanes] = here + 1
            end = block.ends
            if end is None:
                continue
            taken = lanes if end.guard is None else lanes[self.guard(run, end, lanes)]
            if end.parts[0] == "bra":
                at[taken] = self.starts[self.kernel.labels[end.operands[0]]]
            elif end.parts[0] in ("ret", "exit"):
                at[taken] = DONE
                self._release(run, at, waits)
            elif end.parts[0] == "trap":
                raise Fault("trap")
            else:
                waits[lanes] = True
                self._release(run, at, waits)

    def _next(self, run: Run, at: np.ndarray, ready: np.ndarray) -> tuple[np.ndarray, int]:
        """Threads that go on together, and where: whole warps where that is asked for."""
        while True:
            if not ready.any():
                raise Fault("a shuffle, or a barrier of a warp, that some of its threads do not reach")
            here = int(at[ready].min())
            lanes = np.flatnonzero(ready & (at == here))
            if not self.blocks[here].waits_for_warp:
                return lanes, here
            there, alive = (
                np.bincount(run.warp[of], minlength=len(run.warp_sizes)) for of in (lanes, np.flatnonzero(at < DONE))
            )
            whole = (there == alive)[run.warp[lanes]]  # those that are gone are not waited for
            if whole.any():
                return lanes[whole], here
            ready = ready & (at != here)

    def _release(self, run: Run, at: np.ndarray, waits: np.ndarray) -> None:
        """Blocks all of whose threads wait, or are gone: those are not waited for since Volta."""
        waiting, places = waits.reshape(-1, run.in_block), at.reshape(-1, run.in_block)
        gone = places == DONE
        for k in np.flatnonzero((waiting | gone).all(1) & waiting.any(1)):
            if len(np.unique(places[k][~gone[k]])) > 1:
                raise Fault("different barriers in one block")
            waiting[k] = False
            run.block_time[k] += 1

    def _count(self, run: Run, block: Block, lanes: np.ndarray) -> None:
        assert self.counts is not None
        warps = len(np.unique(run.warp[lanes]))
        for text in [*block.texts, *([block.ends] if block.ends else [])]:
            kind = ".".join(text.parts)
            self.counts.instructions[kind] = self.counts.instructions.get(kind, 0) + warps

    # ------------------------------------------------------------------------------------------------ compiling

    def _blocks(self) -> tuple[list[Block], dict[int, int]]:
        """Blocks in the order of the text, and which one begins at an instruction."""
        targets = set(self.kernel.labels.values())
        made, starts = [Block()], {0: 0}
        for k, text in enumerate(self.kernel.instructions):
            whole = text.parts[:2] in (("shfl", "sync"), ("bar", "warp"), ("vote", "sync"))
            if (k in targets or whole) and (made[-1].steps or made[-1].ends or made[-1].waits_for_warp):
                made.append(Block())
            starts[k] = len(made) - 1
            if whole:
                made[-1].waits_for_warp = True
            if text.parts[0] in ("bra", "ret", "exit", "trap") or text.parts[:2] == ("bar", "sync"):
                if text.parts[0] == "bar" and (text.operands != ["0"] or text.guard):
                    raise Unknown(str(text))
                made[-1].ends = text
                made.append(Block())
                continue
            made[-1].steps.append(self.step(text))
            made[-1].texts.append(text)
            if whole:
                made.append(Block())
        starts[len(self.kernel.instructions)] = len(made) - 1
        made[-1].ends = made[-1].ends or Instruction(("ret",), [])
        return made, starts
