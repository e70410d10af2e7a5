"""An index out of bounds in compiled code: which one, of what length, and where in the user's program.

The numbers wait in memory of ours until the error is made: to hand them to it costs code at every index.
"""

from __future__ import annotations

import ctypes
import zlib
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils

from srcgrad.errors import BoundsError

_FOUND = "srcgrad_out_of_bounds"
_found = (ctypes.c_int64 * 3)()  # an index, the length that it does not fit, and by which check that was found
binding.add_symbol(_FOUND, ctypes.addressof(_found))


class OutOfBounds(Exception):
    """What makes a `BoundsError` of a template with fields for the numbers."""

    def __new__(cls, template: str) -> Any:
        index, length, by = _found
        if by == _check_of(template):
            raise BoundsError(template, index, length)
        # another thread has failed in the meantime, elsewhere
        raise BoundsError(template.replace("index {} is", "an index is", 1).replace(" with size {}", "", 1))


def raise_out_of_bounds(context: Any, builder: Any, index: Any, length: Any, template: str) -> None:
    """Leave the function by this error."""
    found = context.get_c_value(builder, ir.ArrayType(ir.IntType(64), 3), _FOUND)
    by = ir.Constant(ir.IntType(64), _check_of(template))
    for place, number in enumerate((index, length, by)):
        builder.store(number, cgutils.gep_inbounds(builder, found, 0, place))
    context.call_conv.return_user_exc(builder, OutOfBounds, (template,))


def _check_of(template: str) -> int:
    return zlib.crc32(template.encode())
