"""What describes an array, part by part, as values: no memory that LLVM would have to look through.

Numba's `make_array` keeps a description in a slot, cleared where the function begins.  LLVM takes each part of each
slot away again, and walks through all blocks of the function for it: in long functions most of its time.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from numba.core import cgutils, types
from numba.np.arrayobj import get_itemsize


class Described:
    """An array of compiled code: `shape`, `data`, … are read as of Numba's structures."""

    def __init__(self, context: Any, builder: Any, kind: types.Array, value: Any) -> None:
        self._model, self._builder, self._value = context.data_model_manager[kind], builder, value

    def __getattr__(self, name: str) -> Any:
        return self._builder.extract_value(self._value, self._model.get_field_position(name))

    def _getvalue(self) -> Any:
        return self._value


def described(
    context: Any, builder: Any, kind: types.Array, shape: Any, strides: Any, owner: Any, data: Any, parent: Any = None
) -> Described:
    """The array that begins at this address; nobody's, where there is no owner."""
    model = context.data_model_manager[kind]
    word = context.get_value_type(types.intp)
    parts = {
        "data": data,
        "shape": cgutils.pack_array(builder, shape, ty=word),
        "strides": cgutils.pack_array(builder, strides, ty=word),
        "itemsize": context.get_constant(types.intp, get_itemsize(context, kind)),
        "nitems": reduce(lambda x, y: builder.mul(x, y, flags=["nsw"]), shape, word(1)),
        "meminfo": context.get_constant_null(types.MemInfoPointer(types.voidptr)) if owner is None else owner,
        "parent": context.get_constant_null(types.pyobject) if parent is None else parent,
    }
    value = model.get_value_type()(None)
    for name, part in parts.items():
        value = builder.insert_value(value, part, model.get_field_position(name))
    return Described(context, builder, kind, value)


__all__ = ["Described", "described"]
