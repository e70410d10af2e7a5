"""What the blocks of a launch add up: where each puts its part, and how many of them are done.

s_cell = f_i[n](x, s=0.0)     f_i(x, 0.0, parts, s_cell, blocks_done): the last block adds up what all have
f_i[n](x, s=s_cell)           f_i(x, s_cell, parts, blocks_done): a number that begins in its cell
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgrad.runtime.gpu.device_blocks import DEFAULT
from srcgrad.runtime.gpu.device_call import running
from srcgrad.runtime.gpu.device_memory import together, zeros_together
from srcgrad.runtime.gpu.launching import LASTING

if TYPE_CHECKING:
    from srcgrad.runtime.device import Launch


class Sums:
    """What a launch needs for its sums, of which those that are `held` begin in a cell: found out once.

    Launches of one stream run one behind the other: they may have the same memory for their parts.  A kernel that may
    stop would leave the count of its blocks anywhere; and a stream that somebody destroys may still be at work when the
    next one gets its number.  For these, memory is made and cleared each time.
    """

    def __init__(self, launch: Launch, held: tuple[bool, ...]) -> None:
        dtypes = [np.dtype(dtype) for dtype in launch.kernel.sums.values()]
        self.held = held
        self.kinds = [dtype.type for dtype in dtypes]
        self.cells = (*(((1,), dtype) for dtype, is_held in zip(dtypes, held, strict=True) if not is_held),)
        self.forms = *(((launch.blocks,), dtype) for dtype in dtypes), ((1,), np.dtype(np.uint32))
        self.lasting = None
        if running.pointer in DEFAULT and not launch.kernel.may_stop:
            self.lasting = zeros_together(*self.forms)
            for array in self.lasting:
                vars(array)[LASTING] = True

    def launch(self, configured: Any, args: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
        """The cells of the sums; those that began in one have that one."""
        *parts, done = self.lasting or zeros_together(*self.forms)
        new = together(*self.cells) if self.cells else []
        cells, given = list(starts), []
        for k, (is_held, part) in enumerate(zip(self.held, parts, strict=True)):
            if is_held:
                given.append(part)
            else:
                cells[k] = cell = new.pop(0)
                given += (self.kinds[k](starts[k]), part, cell)
        configured(*args, *given, done)
        return cells


__all__ = ["Sums"]
