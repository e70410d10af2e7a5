"""Some blocks of a launch that run together: their registers, and the memory that they have of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .memory import Memory, Who

if TYPE_CHECKING:
    from .machine import Machine

WARP = 32
SHARED, LOCAL = 1 << 56, 1 << 57  # where these memories lie among all addresses
Lanes = Any  # the threads that run an instruction: their numbers, or None for all


class Run:
    """Some blocks of a launch."""

    def __init__(
        self, machine: Machine, blocks: np.ndarray, block: tuple[int, ...], params: bytes, grid: tuple[int, ...]
    ) -> None:
        threads = int(np.prod(block))
        self.threads = threads * len(blocks)
        self.registers: list[Any] = [np.zeros(self.threads, kind) for kind in machine.kinds]
        self.params = params
        own = np.tile(np.arange(threads), len(blocks))
        self.own_block = np.repeat(np.arange(len(blocks)), threads)  # among those that run
        self.first_of_block = np.arange(len(blocks)) * threads
        self.in_block = threads
        warps = -(-threads // WARP)
        self.warp = self.own_block * warps + own // WARP
        self.lane = own % WARP
        self.warp_start = np.repeat(self.first_of_block, threads) + own // WARP * WARP
        self.warp_sizes = np.bincount(self.warp)
        self.block_time, self.warp_time = np.zeros(len(blocks), np.int64), np.zeros(len(self.warp_sizes), np.int64)
        numbers = blocks[self.own_block]
        self.specials: dict[str, Any] = {
            "%laneid": self.lane.astype(np.uint32), "%dynamic_smem_size": np.uint32(machine.dynamic_bytes)
        }  # fmt: skip
        for name, index, shape in (("tid", own, block), ("ctaid", numbers, grid)):
            for axis, letter in enumerate("xyz"):
                self.specials[f"%{name}.{letter}"] = (index % shape[axis]).astype(np.uint32)
                index = index // shape[axis]
                self.specials[f"%n{name}.{letter}"] = np.uint32(shape[axis])
        self.grid_thread = numbers * threads + own
        self.everyone = np.arange(self.threads)
        self.fenced = np.ones(self.threads, bool)  # is there a fence behind all that a thread has written?
        self.carry: Any = np.zeros(self.threads, np.uint64)
        kernel = machine.kernel
        self.shared_size = -(-(kernel.static_bytes + machine.dynamic_bytes) // 8) * 8
        self.local_size = -(-kernel.sizes["local"] // 8) * 8
        self.shared = Memory("shared", self.shared_size * len(blocks), SHARED)
        self.local = Memory("local", self.local_size * self.threads, LOCAL, watched=False)
        self.shared.bytes[:] = self.local.bytes[:] = 0xFF
        self.machine = machine

    def who(self, lanes: Lanes) -> Who:
        lanes = self.everyone if lanes is None else lanes
        warp, block = self.warp[lanes], self.own_block[lanes]
        machine = self.machine
        return Who(
            machine.launch, self.grid_thread[lanes], machine.warps_in[self.grid_thread[lanes]],
            machine.blocks_in[self.grid_thread[lanes]], self.warp_time[warp], self.block_time[block],
            machine.warps_in, machine.blocks_in,
        )  # fmt: skip


def of(values: Any, lanes: Lanes) -> Any:
    return values if lanes is None or not np.ndim(values) else values[lanes]
