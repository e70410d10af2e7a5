"""Variables that need no slot: set by one statement, ahead of all that reads them.

Numba keeps a variable in a slot wherever more than one block has to do with it.  LLVM takes the slots away again, each
part of each array in one of its own, and looks for the way from where it is set to where it is read; of long functions,
half of what it does before all other passes.  Where one statement sets a variable, and every way to what reads it leads
past that statement, what is read is the very value that was set.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca


def set_once(blocks: dict[int, Any]) -> set[str]:
    """The names of such variables of a function in Numba's representation."""
    times: Counter[str] = Counter()
    made: dict[str, int] = {}
    for label, block in blocks.items():
        for statement in block.find_insts(ir.Assign):
            times[statement.target.name] += 1
            made[statement.target.name] = label
    names = {name for name, count in times.items() if count == 1} - must_use_alloca(blocks)
    entered, left = _nesting(compute_cfg_from_blocks(blocks))
    for label, read in compute_use_defs(blocks).usemap.items():  # those that are set in the block itself are not in it
        for name in read & names:
            by = made[name]
            is_after = by < label  # it is lowered later, too
            if not (is_after and label in entered and entered[by] <= entered[label] and left[label] <= left[by]):
                names.discard(name)
    return names


def _nesting(flow: Any) -> tuple[dict[int, int], dict[int, int]]:
    """When a walk over the tree of dominators enters and leaves a block: one in another is dominated by it."""
    entered: dict[int, int] = {}
    left: dict[int, int] = {}
    below, clock = flow.dominator_tree(), 0
    waiting = [(flow.entry_point(), False)]
    while waiting:
        label, is_done = waiting.pop()
        clock += 1
        if is_done:
            left[label] = clock
            continue
        entered[label] = clock
        waiting.append((label, True))
        waiting.extend((inner, False) for inner in below.get(label, ()) if inner != label)
    return entered, left


__all__ = ["set_once"]
