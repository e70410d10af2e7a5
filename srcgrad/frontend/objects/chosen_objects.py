"""One of several objects, which is known at run time alone: of what each has under a name, that one is chosen.

links[k].length        →      [link.length for link in links][k]
layers[k].forward(x)   →      if k == 0: layers[0].forward(x), and so on: the statement is interpreted for each of them
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .. import identities, one_of
from ..values import ChosenObject, OneOf, Scalar, TupleValue
from . import attributes, records, tuple_items

if TYPE_CHECKING:
    from ..interpret import Interpreter


def attribute(interpreter: Interpreter, node: ast.expr, chosen: ChosenObject, name: str, for_attributes: bool) -> Any:
    """What the one that is chosen has under the name, as all of them are now; or what its class makes of the name."""
    objects = _now(interpreter, chosen)
    if all(_has(value, name) for value in objects):
        column = [attributes.attribute(interpreter, value, name) for value in objects]
        return _in_column(interpreter, chosen, column, for_attributes)
    if len(objects) <= one_of.MOST:
        raise one_of.Splits(as_one_of(chosen), node)
    return one_of.refuse_object(interpreter, chosen.objects)


def under_key(interpreter: Interpreter, node: ast.expr, chosen: ChosenObject, key: Any, for_attributes: bool) -> Any:
    """What the dict that is chosen has under a key; what is not in all of them is asked of that one alone."""
    dicts = _now(interpreter, chosen)
    if not all(records.is_dict(value) for value in dicts):
        one_of.refuse_object(interpreter, chosen.objects)
    if not all(records.is_there(interpreter, value, key) for value in dicts):
        if len(dicts) > one_of.MOST:
            one_of.refuse_object(interpreter, chosen.objects)
        raise one_of.Splits(as_one_of(chosen), node)
    column = [tuple_items.item(interpreter, value, key) for value in dicts]
    return _in_column(interpreter, chosen, column, for_attributes)


def as_one_of(chosen: ChosenObject) -> OneOf:
    return OneOf(Scalar(chosen.number, weak=True), chosen.objects)


def _now(interpreter: Interpreter, chosen: ChosenObject) -> list[Any]:
    return [identities.now(interpreter, value) for value in chosen.objects]


def _in_column(interpreter: Interpreter, chosen: ChosenObject, values: list[Any], for_attributes: bool) -> Any:
    return tuple_items.item(interpreter, TupleValue(tuple(values)), Scalar(chosen.number, weak=True), for_attributes)


def _has(value: Any, name: str) -> bool:
    """Does it hold something under the name?  (What a class computes is not asked of objects that nobody chose.)"""
    if records.is_dict(value):
        return False
    return name in (value.kind.keys if records.is_record(value) else vars(value.value))
