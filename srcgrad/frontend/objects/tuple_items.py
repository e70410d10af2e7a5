"""An item of a tuple, a list or a dict: at a place or under a key, which is known now, or only at run time.

names = ("cos", "sin"); names[i]          →      one of these two, and i says which
{2: 1.5, 3: 2.5}[n]                       →      (1.5, 2.5)[0 if n == 2 else 1], or a KeyError
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...arguments import is_simple_object
from ...errors import ArgumentError, IndexArgumentError, place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, Expr, both, either, negated, select
from ...ir.nodes import If, Raise
from ...ir.walk import loads
from .. import comparisons, identities, known_values, one_of, operators, unpacking
from ..aliases import arrays_of, value_leaves
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..calls.recursion import NotYetKnown
from ..joined_numbers import types_of_any
from ..lists import list_rows, lists, lists_as_arrays
from ..lists.rows_at_entry import rows_at_entry
from ..numpy import indexing
from ..values import ChosenObject, OneOf, Scalar, Slice, Static, TupleValue, constant, new_list, static_int
from . import dicts, records

if TYPE_CHECKING:
    from ..interpret import Interpreter


def _are_alike(items: tuple[Any, ...]) -> bool:
    """Are these arrays of one type?"""
    return bool(items) and all(
        isinstance(item, ArrayValue) and item.ndim == items[0].ndim and item.dtype == items[0].dtype for item in items
    )


def _are_of_one_shape(interpreter: Interpreter, items: tuple[ArrayValue, ...]) -> bool:
    """Do they have the same lengths?  Of those that are handed in, that is taken for granted."""
    pairs = [pair for item in items for pair in zip(items[0].dims, item.dims, strict=True)]
    if all(affine.same(x, y) for x, y in pairs):
        return True
    words = "lengths {} and {} differ, of arrays of which a number chooses one"
    return all(interpreter.build.expect_equal(x, y, words) for x, y in pairs)


def _are_alike_and_stay(items: tuple[Any, ...]) -> bool:
    """Are these tuples of one structure?  A list or an object is what it is by all its names: none of its copies."""
    return bool(items) and all(identities.is_alike(items[0], v) and not identities.can_change(v) for v in items)


def _are_its_own(interpreter: Interpreter, owner: TupleValue) -> bool:
    """Are these arrays items of one list alone?  Then they may be rows of one array, and are written there."""
    build = interpreter.build
    if owner.kind is not list or owner.identity is None or any(item.handle is None for item in owner.items):
        return False
    roots = {build.root(item.handle) for item in owner.items}
    if len(roots) < len(owner.items) or roots & build.parameters or any(build.twins.get(root) for root in roots):
        return False
    others = (
        leaf
        for frame in identities.frames_of(interpreter)
        for value in frame.env.values()
        if getattr(value, "identity", None) is not owner.identity
        for leaf in value_leaves(value)
    )
    return not any(build.root(a) in roots for leaf in others if isinstance(leaf, ArrayValue) for a in arrays_of(leaf))


def _is_table(owner: TupleValue) -> bool:
    """Is it a list of lists of as many numbers each?"""
    rows = [v.items if isinstance(v, TupleValue) and v.kind is list else () for v in owner.items]
    numbers = all(isinstance(number, Scalar) for row in rows for number in row)
    return owner.kind is list and owner.identity is not None and numbers and len({len(row) for row in rows} - {0}) == 1


def _one_of_arrays(interpreter: Interpreter, owner: TupleValue, place: Scalar) -> Any:
    """One of several arrays: a row of all, or a copy, which is not read any more once any of them is written."""
    build = interpreter.build
    number = Scalar(cast(place.expr, INT64), place.weak)  # True is the second, not a mask
    rows = rows_at_entry(interpreter, owner.items)
    if rows is not None:
        return indexing.subscript(build, rows, [number])
    picked = indexing.subscript(build, lists_as_arrays.as_array(interpreter, owner), [number])
    copy = build.materialize(picked, "item", copy=True)
    for item in owner.items:
        for load in loads(item.element):
            build.twin(copy, load.array)
    return whole(copy)


def item(interpreter: Interpreter, owner: TupleValue, at: Any, for_attributes: bool = False) -> Any:
    """xs[i], d[key]; of several objects, one of which nothing is wanted but its attributes."""
    if records.is_dict(owner) and not known_values.is_known(at):
        return under_key(interpreter, owner.kind.keys, owner.items, at)
    if records.is_dict(owner):
        return dicts.item(interpreter, owner, at)
    if isinstance(at, Slice):
        given = [part for part in (at.start, at.stop, at.step) if part is not None]
        if any(static_int(part) is None for part in given):
            if owner.kind is not list:
                interpreter.build.refuse(
                    "a tuple is cut at a place that is only known at run time", "cut a list:  list(xs)[k:]"
                )
            return lists.subscripted(interpreter, lists.joined(interpreter, [owner]), at)
        bounds = [None if part is None else static_int(part) for part in (at.start, at.stop, at.step)]
        items = owner.items[slice(*bounds)]
        return new_list(items) if owner.kind is list else TupleValue(items)
    number = static_int(at)
    if isinstance(at, Scalar) and at.dtype.kind not in "iub":
        interpreter.build.refuse("a tuple or list is indexed by an integer or a slice", error=ArgumentError)
    if number is None:
        if owner.identity in interpreter.empty_lists:
            interpreter.callees.chosen.refused_lists.add(interpreter.empty_lists[owner.identity])
        if isinstance(at, Scalar) and owner.items and all(isinstance(v, Scalar) for v in owner.items):
            array = lists_as_arrays.as_array(interpreter, owner)
            value = unpacking.element(array, cast(at.expr, INT64))
            if len({v.weak for v in owner.items}) > 1:
                interpreter.build.either.add(value.expr)
            return Scalar(value.expr, all(v.weak for v in owner.items), types_of_any(interpreter.build, owner.items))
        if isinstance(at, Scalar) and _are_alike(owner.items) and _are_of_one_shape(interpreter, owner.items):
            if _are_its_own(interpreter, owner):
                return lists.subscripted(interpreter, lists.in_rows(interpreter, "items", owner), at)
            return _one_of_arrays(interpreter, owner, at)
        if isinstance(at, Scalar) and owner.items and all(map(one_of.is_option, owner.items)):
            return OneOf(Scalar(_place_in(interpreter, owner, at), weak=True), owner.items)
        if isinstance(at, Scalar) and _are_alike_and_stay(owner.items):
            columns = zip(*(other.items for other in owner.items), strict=True)
            parts = (item(interpreter, TupleValue(column), at) for column in columns)
            return TupleValue(tuple(parts), owner.items[0].kind)
        if isinstance(at, Scalar) and _is_table(owner):
            return lists.subscripted(interpreter, lists.in_rows(interpreter, "items", owner), at)
        if isinstance(at, Scalar) and _are_objects(owner.items):
            if not for_attributes:
                one_of.refuse_object(interpreter, owner.items)
            return ChosenObject(owner.items, _place_in(interpreter, owner, at))
        _refuse_growing(interpreter, owner)
        if not owner.items:
            _refuse_place(interpreter, owner, "index out of range: there are no items")
        return interpreter.build.refuse(
            "a tuple or list is indexed by a number that is only known at run time", "use an array:  np.stack(items)"
        )
    if not -len(owner.items) <= number < len(owner.items):
        _refuse_place(interpreter, owner, f"index {number} is out of range for {len(owner.items)} items")
    return owner.items[number]


def _refuse_place(interpreter: Interpreter, owner: TupleValue, what: str) -> NoReturn:
    if owner.identity is not None and any(owner.identity in heads for heads in interpreter.list_heads):
        interpreter.early_reads.append(IndexArgumentError(what, span=interpreter.build.span))
        raise NotYetKnown  # the loop may yet turn out to make the list longer
    interpreter.build.refuse(what, error=IndexArgumentError)


def _refuse_growing(interpreter: Interpreter, owner: TupleValue) -> None:
    """A list that a loop around has made longer is tried again as the rows of an array, which have any place."""
    lengths = {len(heads[owner.identity].items) for heads in interpreter.list_heads if _is_known(heads, owner)}
    if lengths - {len(owner.items)} and owner.identity in interpreter.list_heads[-1]:
        row = list_rows.common_row(interpreter, list_rows.row_of_list(interpreter, owner))
        raise lists.Grows(owner.identity, row, affine.ZERO)


def _is_known(heads: dict[object, Any], owner: TupleValue) -> bool:
    return owner.identity is not None and isinstance(heads.get(owner.identity), TupleValue)


def _are_objects(items: tuple[Any, ...]) -> bool:
    return bool(items) and all(map(_is_object, items))


def _is_object(item: Any) -> bool:
    is_handed_in = isinstance(item, Static) and is_simple_object(item.value)
    return records.is_record(item) or records.is_dict(item) or is_handed_in


def _place_in(interpreter: Interpreter, owner: TupleValue, place_of_item: Scalar) -> Expr:
    """The place of a text, a function, an object: checked here, for what comes of it is no array."""
    build, count = interpreter.build, affine.integer(len(owner.items))
    number = build.capture(cast(place_of_item.expr, INT64), "which")
    number = build.capture(select(Call("lt", (number, affine.ZERO), BOOL), affine.add(number, count), number), "which")
    inside = both(Call("ge", (number, affine.ZERO), BOOL), Call("lt", (number, count), BOOL))
    message = f"{'list' if owner.kind is list else 'tuple'} index out of range" + place(build.span)
    build.emit(If(negated(inside), (Raise("BoundsError", message),)))
    return number


def under_key(interpreter: Interpreter, keys: Sequence[Any], items: tuple[Any, ...], key: Any) -> Any:
    """d[key], where only the keys of d are known."""
    number: Expr = affine.ZERO
    for k, condition in reversed(list(enumerate(under_keys(interpreter, keys, key)))):
        number = select(condition, affine.integer(k), number)
    return item(interpreter, TupleValue(items), Scalar(interpreter.build.variable("which", number), weak=True))


def under_keys(interpreter: Interpreter, keys: Sequence[Any], key: Any) -> list[Expr]:
    """Of each of the keys, whether it is the one; that one is, has to hold."""
    build = interpreter.build
    same = [operators.truth(interpreter, comparisons.compare(interpreter, ast.Eq(), key, constant(k))) for k in keys]
    found: Expr = Const(False, BOOL)
    for condition in reversed(same):
        found = either(condition, found) if found != Const(False, BOOL) else condition
    build.emit(If(negated(found), (Raise("RuntimeKeyError", "no item under this key" + place(build.span)),)))
    return same
