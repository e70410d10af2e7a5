"""What dicts hold by their keys, and objects by the names of their attributes: stored, and taken out."""

from __future__ import annotations

import dataclasses
import inspect
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import ArgumentError, KeyArgumentError
from .. import binding, identities
from ..lists import item_fields, item_views
from ..values import TupleValue
from . import records

if TYPE_CHECKING:
    from ..interpret import Interpreter


def store(interpreter: Interpreter, owner: TupleValue, key: Any, value: Any, what: str) -> Any:
    """d[key] = value, or owner.key = value: what is held then"""
    if records.is_set(owner):
        interpreter.build.refuse("a set has no places", error=ArgumentError)
    is_item = item_views.is_view(interpreter, owner)
    if not is_item:
        identities.check_own(interpreter, owner, what)
    found = None
    if records.is_record(owner):
        cls = owner.kind.cls
        found = inspect.getattr_static(cls, str(key), None)
        own_way = not records.finds_as_objects_do(cls, "__setattr__") and not dataclasses.is_dataclass(cls)
        if own_way or (hasattr(found, "__set__") and not isinstance(found, (property, MemberDescriptorType))):
            interpreter.build.refuse(f"{cls.__name__} has a way of its own to set {key}", "set it in a method")
    if isinstance(found, property):
        if found.fset is None:
            interpreter.build.refuse(f"{key} is a property without a setter", error=ArgumentError)
        interpreter.call_function(found.fset, [owner, value], {})
        return value
    if is_item:
        return item_fields.store(interpreter, owner, key, value)
    hint = f"{key}" if isinstance(key, str) and key.isidentifier() else "t"
    held = binding.bind_item(interpreter, hint, value)
    assert owner.identity is not None
    identities.change(interpreter, owner.identity, records.with_items(owner, records.as_dict(owner) | {key: held}))
    return held


def remove(interpreter: Interpreter, owner: TupleValue, key: Any) -> None:
    """del d[key]"""
    if records.is_set(owner):
        interpreter.build.refuse("a set has no places", error=ArgumentError)
    identities.check_own(interpreter, owner, "taking out an item")
    if key not in owner.kind.keys:
        interpreter.build.refuse(f"KeyError: {key!r}", error=KeyArgumentError)
    assert owner.identity is not None
    items = {k: v for k, v in records.as_dict(owner).items() if k is not key and k != key}
    identities.change(interpreter, owner.identity, records.with_items(owner, items))


def refuse_from_outside(interpreter: Interpreter, attribute: str) -> NoReturn:
    """To assign to an attribute of an object that is there before and after the call."""
    interpreter.build.refuse(
        "only attributes of objects that are made in the function can be assigned to",
        f"give it a name of its own, and return it where it is wanted later:  {attribute.rpartition('.')[2]} = ...",
        f"or write into an array that the object has:  {attribute}[:] = ...",
    )
