"""Items of lists of run-time length that change places, or leave: what is behind them moves.

ys.pop(k)      →      y = ys[k]; ys[k : n - 1] = ys[k + 1 : n]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...errors import place as error_place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Expr, select
from ...ir.nodes import If, Raise
from .. import binding
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..numpy import indexing
from ..values import Items, Layout, Scalar, TupleValue, constant
from . import item_names, item_views, list_items, list_types, lists_as_arrays

if TYPE_CHECKING:
    from ..interpret import Interpreter


def taken(interpreter: Interpreter, owner: Items, place: Any) -> Any:
    """The item at a place; those behind it are one place further ahead from then on."""
    build = interpreter.build
    if not isinstance(place, Scalar) or place.dtype.kind not in "iub":
        build.refuse("the place of .pop must be an integer", error=ArgumentError)
    at = build.capture(cast(place.expr, INT64), "k")
    if not build.is_at_least(at, 0):
        at = build.capture(select(Call("lt", (at, affine.ZERO), BOOL), affine.add(at, owner.length), at), "k")
    beyond: Expr = Call("ge", (at, owner.length), BOOL)
    if not build.is_at_least(at, 0):
        beyond = Call("or", (Call("lt", (at, affine.ZERO), BOOL), beyond), BOOL)
    if not build.is_at_least(affine.sub(owner.length, at), 1):
        message = "pop from an empty list" if affine.same(at, affine.ZERO) else "pop index out of range"
        build.emit(If(beyond, (Raise("BoundsError", message + error_place(build.span)),)))
    item = list_items.item_at(interpreter, owner, at)
    item = binding.settled(interpreter, item) if isinstance(item, (Scalar, TupleValue)) else item
    if item_views.is_view(interpreter, item):
        item = item_views.taken_out(interpreter, owner.rows, item)
    if isinstance(item, (ArrayValue, Items)):
        item = list_items.copy_of_item(interpreter, item, is_second=False)
    behind = Scalar(build.capture(affine.add(at, affine.ONE), "k"))
    rows = lists_as_arrays.array_of_items(interpreter, owner)
    part = lambda start, stop: indexing.subscript(build, rows, [indexing.Slice(start, stop, None)])
    _move(interpreter, owner, part(Scalar(at), constant(-1)), part(behind, None))
    return item


def last_to(interpreter: Interpreter, owner: Items, place: Expr) -> None:
    """The last item is at a place from then on, and those behind that are one place further."""
    build, rows = interpreter.build, lists_as_arrays.array_of_items(interpreter, owner)
    part = lambda start, stop: indexing.subscript(build, rows, [indexing.Slice(start, stop, None)])
    at, behind = Scalar(place), Scalar(build.capture(affine.add(place, affine.ONE), "k"))
    moved = whole(build.materialize(part(at, constant(-1)), "items", copy=True))
    last = whole(build.materialize(part(constant(-1), None), "item", copy=True))
    _move(interpreter, owner, part(behind, None), moved)
    _move(interpreter, owner, part(at, behind), last)


def place_between(interpreter: Interpreter, owner: Items, place: Any) -> Expr:
    """Where `.insert(place, …)` has put an item, of a list that has it by now: an end, where that is beyond it."""
    build = interpreter.build
    if not isinstance(place, Scalar) or place.dtype.kind not in "iub":
        build.refuse("the place of .insert must be an integer", error=ArgumentError)
    at, last = build.capture(cast(place.expr, INT64), "k"), affine.sub(owner.length, affine.ONE)
    if affine.same(at, affine.ZERO):
        return affine.ZERO
    from_end = select(Call("lt", (at, affine.ZERO), BOOL), affine.maximum(affine.add(at, last), affine.ZERO), at)
    return build.capture(affine.minimum(at if build.is_at_least(at, 0) else from_end, last), "k")


def turn(interpreter: Interpreter, owner: Items) -> None:
    """ys.reverse()"""
    rows = lists_as_arrays.array_of_items(interpreter, owner)
    turned = indexing.subscript(interpreter.build, rows, [indexing.Slice(None, None, constant(-1))])
    _move(interpreter, owner, rows, whole(interpreter.build.materialize(turned, "items", copy=True)))


def _move(interpreter: Interpreter, owner: Items, target: ArrayValue, source: ArrayValue) -> None:
    """Items of a list get other places in it."""
    build, stale = interpreter.build, set(interpreter.build.stale)
    list_types.note_moved(interpreter, owner)
    if isinstance(owner.inner, Layout):
        item_names.note_moved(interpreter, owner.rows)
    with build.fields.other_places():
        indexing.write(build, target, source)
    if owner.rows.ndim > 1:
        for root in build.stale.keys() - stale:  # items have others in their places: no array has changed
            del build.stale[root]
        list_items.note_replaced(interpreter, owner.rows)
