"""One of several objects, which is known at run time alone: of what each has under a name, that one is chosen.

links[k].length        →      [link.length for link in links][k]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import identities
from ..values import ChosenObject, Scalar, TupleValue
from . import attributes, records, tuple_items

if TYPE_CHECKING:
    from ..interpret import Interpreter


def attribute(interpreter: Interpreter, chosen: ChosenObject, name: str, for_attributes: bool) -> Any:
    """What the one that is chosen has under the name, as all of them are now."""
    objects = [identities.now(interpreter, value) if records.is_record(value) else value for value in chosen.objects]
    if not all(_has(value, name) for value in objects):
        interpreter.build.refuse(*tuple_items.OF_OBJECTS)
    column = TupleValue(tuple(attributes.attribute(interpreter, value, name) for value in objects))
    return tuple_items.item(interpreter, column, Scalar(chosen.number, weak=True), for_attributes)


def _has(value: Any, name: str) -> bool:
    """Does it hold something under the name?  (What a class computes is not asked of objects that nobody chose.)"""
    return name in (value.kind.keys if records.is_record(value) else vars(value.value))
