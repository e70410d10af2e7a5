"""What a list of run-time length is to NumPy: an array of its items.

ys = [f(i) for i in range(n)]; np.sum(ys)      →      the sum of the first n rows of the array that holds them
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import affine
from ...ir.expressions import Const, Load
from ...ir.types import ScalarType
from ...rules.compositions import deques, lists_by_place
from .. import optional
from ..arithmetic import cast_value
from ..array_values import ArrayValue, axes, whole
from ..numpy.creation import array_of
from ..numpy.indexing import arange_of
from ..values import Indexed, Items, Layout, Nested, Range, Static, TupleValue
from . import list_rows, list_types, lists_of_none

if TYPE_CHECKING:
    from ..interpret import Interpreter


def array_of_items(interpreter: Interpreter, value: Items) -> ArrayValue:
    """The list as an array."""
    dims = (interpreter.build.pin(value.length), *value.rows.dims[1:])
    types = list_types.types_of_array(interpreter, value, dims[0])
    return ArrayValue(dims, Load(value.rows, axes(len(dims))), types=types)


def items_at_place(interpreter: Interpreter, value: Any) -> Any:
    """What is in one of several lists of which a run says which one grows; anything else as it is."""
    if isinstance(value, TupleValue) and lists_by_place.is_one(value.kind):
        return interpreter.call_composition(lists_by_place.items_of, [value], {})
    return value


def as_values(interpreter: Interpreter, value: Any) -> Any:
    """What NumPy makes of an argument: lists of run-time length are arrays to it, and nothing may be None."""
    if optional.is_optional(value):
        value = optional.unless_none(interpreter.build, value, optional.IN_NUMPY)
    if isinstance(value, TupleValue) and deques.is_one(value.kind):
        return as_values(interpreter, interpreter.call_composition(deques.items_of, [value], {}))
    value = items_at_place(interpreter, value)
    if isinstance(value, Items):
        value = lists_of_none.all_set(interpreter, value)
        inner = value.inner
        while isinstance(inner, Nested):
            inner = inner.inner
        if isinstance(inner, Layout) and inner is not value.inner:
            interpreter.build.refuse(
                "a list of lists in which an item may be None, or holds several things, is no array: its length is "
                "only known at run time",
                "make an array of each:  np.array([np.array(y) for y in ys])",
            )
        if isinstance(inner, Layout):
            interpreter.build.refuse(
                "a list of tuples that hold arrays, or of objects, is no array: its length is only known at run time",
                "make an array of each part:  np.array([x for x, P in ys])",
            )
        return _as_narrow(interpreter, value, array_of_items(interpreter, value))
    if isinstance(value, Indexed) and not isinstance(value.count, Const):
        from .filled_lists import collected

        return as_values(interpreter, collected(interpreter, value))
    if isinstance(value, TupleValue) and any(isinstance(item, (Items, TupleValue)) for item in value.items):
        return replace(value, items=tuple(as_values(interpreter, item) for item in value.items))
    return value


def _as_narrow(interpreter: Interpreter, value: Items, made: ArrayValue) -> ArrayValue:
    """The array that NumPy makes of a list of float32 in which Python's numbers may be left.

    Where these have other digits, it is a float64 array on all paths.  0.0 is mostly there to be overwritten.
    """
    places = list_rows.places_of(list_rows.row_of_list(interpreter, value)[0])
    dtype = np.result_type(*(place.dtype for place in places))
    is_narrow = dtype != made.dtype and any(kind.dtype == dtype for kind in made.types)
    return cast_value(made, dtype) if is_narrow and list_types.known(interpreter, value).are_short else made


def kind_of_numbers(value: Items) -> ScalarType:
    """What each item of a list of numbers is: the array that holds them may be wider."""
    return value.weak[0] if isinstance(value.weak, tuple) else ScalarType(value.rows.dtype, value.weak)


def is_held_wider(value: Any) -> bool:
    """Is it a list of numbers that its array has more digits for: Python's own beside float32?"""
    return isinstance(value, Items) and value.inner is None and isinstance(value.weak, tuple)


def array_of_its_kind(interpreter: Interpreter, value: Any) -> Any:
    """What Python's own functions compute with: an array of what the items of a list of numbers are."""
    made = as_values(interpreter, value)
    return cast_value(made, kind_of_numbers(value).dtype) if is_held_wider(value) else made


def as_operand(interpreter: Interpreter, value: Any) -> Any:
    """The same of an argument that may be a range, or hold some."""
    if isinstance(value, Static) and isinstance(value.value, range):
        value = Range(*(affine.integer(part) for part in (value.value.start, value.value.stop, value.value.step)))
    if isinstance(value, Range):
        return arange_of(interpreter.build, value)
    if isinstance(value, TupleValue) and any(isinstance(item, Range) for item in value.items):
        value = replace(value, items=tuple(as_operand(interpreter, item) for item in value.items))
    return as_values(interpreter, value)


def not_its_memory(interpreter: Interpreter, given: list[Any], made: Any) -> Any:
    """What NumPy makes of a list is another array each time: np.asarray(ys), np.ravel(ys)"""
    build = interpreter.build
    if isinstance(made, TupleValue):
        return replace(made, items=tuple(not_its_memory(interpreter, given, item) for item in made.items))
    roots = {build.root(value.rows) for value in given if isinstance(value, Items)}
    if build.in_composition or not isinstance(made, ArrayValue) or not isinstance(made.element, Load):
        return made
    return whole(build.materialize(made, copy=True)) if build.root(made.element.array) in roots else made


def as_array(interpreter: Interpreter, value: Any) -> Any:
    if isinstance(value, TupleValue):
        return array_of(interpreter.build, as_values(interpreter, value), None)
    return as_values(interpreter, value)
