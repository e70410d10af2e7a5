"""Lists of run-time length whose items are None until they are set: each row says first whether it holds something.

h = [None] * n                           h = zeros((n, 1 + m))
h[0] = x                          →      h[0, 0] = True; h[0, 1:] = x
for i in range(1, n):                    for i in range(1, n): …
    h[i] = f(h[i - 1])

What the items are tells the first that is stored.  Until then the list is `NOTHING`: reading it gives None.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import place as error_place
from ...ir import affine
from ...ir.expressions import BOOL, Array, Axis, Const, Expr, Load, negated
from ...ir.nodes import If, Raise, Store
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..optional import OPTIONAL
from ..values import Items, Layout
from . import list_parts, list_types, shared_items
from .list_rows import places_of, row_of_list, row_of_places

if TYPE_CHECKING:
    from ..interpret import Interpreter


def fill(interpreter: Interpreter, rows: Array, value: Items, start: Expr) -> None:
    """Put the items of a list of another kind into rows with flags."""
    build, one = interpreter.build, Const(rows.dtype.type(1).item(), rows.dtype)
    zero = Const(rows.dtype.type(0).item(), rows.dtype)
    count = build.pin(value.length)
    if list_parts.is_nothing(value):
        build.each((count, rows.dims[1]), lambda index: Store(rows, (affine.add(start, index[0]), index[1]), zero))
        return
    dims, held = value.rows.dims[1:], Load(value.rows, tuple(Axis(k) for k in range(value.rows.ndim)))
    build.check_fresh(held)
    build.each((count,), lambda index: Store(rows, (affine.add(start, index[0]), affine.ZERO), one))
    items = ArrayValue((count, *dims), held)
    place = lambda index: (affine.add(start, index[0]), affine.add(affine.ONE, list_parts.place_in(index[1:], dims)))
    build.each(items.dims, lambda index: Store(rows, place(index), cast(items.at(index), rows.dtype)))


def all_set(interpreter: Interpreter, value: Any) -> Any:
    """A list, of which no item may be None here, without flags; anything else as it is."""
    if isinstance(value, Items) and _is_of_rows_with_flags(value.inner):
        return _rows_all_set(interpreter, value)
    if not (isinstance(value, Items) and list_parts.is_flagged(value.inner)):
        return value
    build = interpreter.build
    count = build.pin(value.length)
    if list_parts.is_nothing(value):
        build.refuse("all items of the list are None here", "put something in its places first:  ys[i] = y")
    _refuse_none(interpreter, value.rows, count, affine.ZERO)
    _, part = value.inner.parts
    is_array = isinstance(part, tuple)
    dims = part if is_array else (list_parts.width_of(part),)
    (row,) = row_of_list(interpreter, value)
    kinds = places_of(row)[1:]
    at = tuple(Axis(k) for k in range(1 + len(dims)))
    element: Expr = Load(value.rows, (at[0], affine.add(affine.ONE, list_parts.place_in(at[1:], dims))))
    is_number = is_array and not dims  # which its array may have more digits for
    element = cast(element, kinds[0].dtype) if is_array and not is_number else element
    own = build.materialize(ArrayValue((count, *dims), element), "items", copy=True)
    shared_items.note_shared(interpreter, own, value.rows)
    list_types.note_places(
        interpreter, own, value, range(1, 1 + len(list(list_parts.leaves(part)))), None if is_array else part
    )
    weak = kinds[0].weak if is_array and kinds[0].dtype == element.dtype else kinds
    return replace(value, rows=own, length=own.dims[0], most=own.dims[0], weak=weak, inner=None if is_array else part)


def _refuse_none(interpreter: Interpreter, rows: Array, count: Expr, place: Expr) -> None:
    """The flags at this place of the rows have to be set."""
    build = interpreter.build
    message = "an item of the list is None here" + error_place(build.span)
    flag = lambda index: cast(Load(rows, (index[0], place)), BOOL)
    build.each((count,), lambda index: If(negated(flag(index)), (Raise("RuntimeTypeError", message),)))


NUMBER = ()  # how it lies in a row
NUMBER_OR_NONE = Layout(OPTIONAL, (NUMBER, NUMBER))


def _is_of_rows_with_flags(inner: Any) -> bool:
    """Are the items tuples or lists of numbers, of which some may be None?"""
    is_row = isinstance(inner, Layout) and inner.kind in (tuple, list)
    return is_row and NUMBER_OR_NONE in inner.parts and all(part in (NUMBER, NUMBER_OR_NONE) for part in inner.parts)


def _rows_all_set(interpreter: Interpreter, value: Items) -> Items:
    """[[y, 2.0], …] where y may be None: the numbers alone."""
    build, count = interpreter.build, interpreter.build.pin(value.length)
    (held,) = row_of_list(interpreter, value)
    kinds = places_of(held)
    columns: list[int] = []
    for part in value.inner.parts:
        start = columns[-1] + 1 if columns else 0
        if part == NUMBER_OR_NONE:
            _refuse_none(interpreter, value.rows, count, affine.integer(start))
        columns.append(start + (part == NUMBER_OR_NONE))
    kinds = kinds if len(kinds) > 1 else kinds * (columns[-1] + 1)
    row = row_of_places([kinds[k] for k in columns], (affine.integer(len(columns)),), value.inner.kind, held.dtype)
    rows = build.allocate("items", row.dtype, (count, *row.dims))
    for place, column in enumerate(map(affine.integer, columns)):
        numbers = ArrayValue((count,), cast(Load(value.rows, (Axis(0), column)), row.dtype))
        build.each((count,), partial(_store, rows, affine.integer(place), numbers))
    list_types.note_places(interpreter, rows, value, columns, value.inner.kind)
    return replace(value, rows=rows, length=count, most=count, weak=row.weak, inner=row.inner)


def _store(rows: Array, column: Expr, value: ArrayValue, index: tuple[Expr, ...]) -> Store:
    return Store(rows, (index[0], column), value.at(index))
