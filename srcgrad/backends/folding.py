"""What was put together is not taken apart again: a part of a tuple is what was put there.

Numba packs the lengths of an array, its indices, a range, each into one value, and reads the parts of it a line further
on.  LLVM would see through it; before that, it has to be written, read and looked at: of long functions, every fourth
instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite.ir import Constant, IRBuilder
from llvmlite.ir.instructions import InsertValue


class FoldingBuilder(IRBuilder):
    """A builder that knows the parts of what it has put together."""

    def extract_value(self, agg: Any, idx: int | Sequence[int], name: str = "") -> Any:
        path = (idx,) if isinstance(idx, int) else tuple(idx)
        while path:
            if isinstance(agg, InsertValue):
                place = tuple(agg.indices)
                if path[: len(place)] == place:
                    agg, path = agg.value, path[len(place) :]
                elif place[: len(path)] != path:
                    agg = agg.aggregate
                else:
                    break  # a part of what is asked for has been put there since
            elif isinstance(agg, Constant) and isinstance(agg.constant, (list, tuple)):
                agg, path = agg.constant[path[0]], path[1:]
            else:
                break
        return super().extract_value(agg, path, name) if path else agg


__all__ = ["FoldingBuilder"]
