"""In how many parts loops that follow one another go through their ranges, on the processor at hand."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from srcgrad.runtime.stand_ins import STAND_INS
from srcgrad.runtime.vector_math.library import has_many_registers

__all__ = ["parts_of"]


def parts_of(count: int, least: int, least_with_few: int) -> int:
    """2 (most of the range in one pass, and the ends) of so many iterations or more, 1 (loop after loop) of less.

    `least_with_few`: where there are only 16 vector registers, so that LLVM puts half of what it is to hand on aside;
    0 if never.
    """
    return 2 if count >= least else 1


@intrinsic
def _parts_of(typing_context, count, least, least_with_few):
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        two, one, zero = (ir.Constant(ir.IntType(64), number) for number in (2, 1, 0))
        count, bound = args[0], args[1] if has_many_registers(context.codegen()) else args[2]
        is_long = builder.icmp_signed(">=", count, bound)
        return builder.select(builder.and_(is_long, builder.icmp_signed("!=", bound, zero)), two, one)

    return types.int64(types.int64, types.int64, types.int64), generate


STAND_INS[parts_of] = _parts_of
