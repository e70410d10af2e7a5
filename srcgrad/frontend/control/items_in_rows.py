"""Items of a tuple or a list that a loop runs over, in the rows of arrays that are made for them.

for edge in edges:            lengths = [edge.length for edge in edges]; ends = np.stack([edge.end for edge in edges])
    f(edge.length, edge.end)  →      for k in range(5): f(lengths[k], ends[k])

Arrays that are handed in are taken to be as long as each other, which is checked at the entry (`expect_equal`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from ...ir import affine
from ...ir.expressions import Array, Axis, Expr
from ...ir.walk import loads
from .. import identities, one_of, unpacking
from ..array_values import ArrayValue, remap, whole
from ..joined_numbers import types_of_any
from ..lists import lists_as_arrays
from ..lists.rows_at_entry import rows_at_entry
from ..values import Scalar, Static, TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter


def are_alike(items: Sequence[Any]) -> bool:
    """Are they numbers or arrays of one type, or tuples and objects of such, one like the other, which stay?"""
    first = items[0]
    if isinstance(first, Scalar):
        return all(isinstance(v, Scalar) and (v.dtype, v.weak) == (first.dtype, first.weak) for v in items)
    if isinstance(first, ArrayValue):
        return all(isinstance(v, ArrayValue) and (v.dtype, v.ndim) == (first.dtype, first.ndim) for v in items)
    if isinstance(first, Static):  # objects of the user's may say of themselves that they are equal
        return all(isinstance(v, Static) and one_of.is_same(v, first) for v in items)
    if not isinstance(first, TupleValue) or not first.items:
        return False
    if any(not identities.is_alike(first, v) or identities.can_change(v) for v in items):
        return False
    return all(are_alike(column) for column in zip(*(v.items for v in items), strict=True))


class Rows:
    """The arrays, and what an item is, by its number."""

    def __init__(self, interpreter: Interpreter, items: Sequence[Any]) -> None:
        self.interpreter = interpreter
        self.held: list[ArrayValue] = []
        self.memory: set[str] = set()  # what Python may hold for one another
        self.item = self.in_arrays(items)
        if not self.held:
            raise UnsupportedError("the items of a loop are all the same")
        self.count = self.held[0].dims[0]

    def in_arrays(self, items: Sequence[Any]) -> Callable[[Expr], Any]:
        first = items[0]
        if isinstance(first, Static):
            return lambda index: first
        if isinstance(first, TupleValue):
            columns = [self.in_arrays(column) for column in zip(*(v.items for v in items), strict=True)]
            return lambda index: replace(first, items=tuple(column(index) for column in columns))
        if isinstance(first, ArrayValue):
            own = self.stored_arrays(items)
            return lambda index: remap(own, own.dims[1:], [index, *(Axis(k) for k in range(first.ndim))])
        own = self.stored(items)
        types = types_of_any(self.interpreter.build, items)
        return lambda index: Scalar(unpacking.element(own, index).expr, first.weak, types)

    def stored(self, items: Sequence[Any]) -> ArrayValue:
        array = lists_as_arrays.as_array(self.interpreter, TupleValue(tuple(items)))
        own = whole(self.interpreter.build.stored(array, "items"))
        self.held.append(own)
        return own

    def stored_arrays(self, items: Sequence[ArrayValue]) -> ArrayValue:
        build, dims = self.interpreter.build, items[0].dims
        if build.cut or not all(
            build.expect_equal(x, y, "lengths {} and {} differ")
            for item in items
            for x, y in zip(dims, item.dims, strict=True)
        ):
            raise UnsupportedError("the items of a loop are of several shapes, or stay where they are")
        build.copied.append(affine.product((affine.integer(len(items)), *dims)))
        own = rows_at_entry(self.interpreter, items)
        if own is None:
            own = self.stored(items)
        else:
            self.held.append(own)
        rows: Array = own.element.array  # type: ignore[attr-defined]
        for load in (load for item in items for load in loads(item.element)):
            build.twin(rows, load.array)
            self.memory |= {rows.name, build.root(load.array)}
        return own

    def refuse_written(self) -> None:
        """Items that the loop writes have to be written where they are."""
        if not self.memory.isdisjoint(self.interpreter.build.stale):
            raise UnsupportedError("a loop writes its items")
