"""The attributes of objects by names that are computed: setattr, delattr, vars(o) and o.__dict__.

for name, value in options.items():
    setattr(self, name, value)          →    self.a = …; self.b = …        (the names are known)

What vars(o) gives is the object itself, seen as a dict: it shows what the object gets later.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from .. import identities, known_values
from ..calls.without_rules import unknown
from ..values import NONE, Method, TupleValue
from . import attributes, class_defaults, dicts, named_parts, records

if TYPE_CHECKING:
    from ..interpret import Interpreter

METHODS = ("keys", "values", "items", "get", "update", "setdefault", "pop", "clear", "copy")


def set_attribute(interpreter: Interpreter, owner: Any, name: Any, value: Any) -> Any:
    owner = identities.now(interpreter, owner)
    if not records.is_record(owner):
        named_parts.refuse_from_outside(interpreter, f"y.{name_of(interpreter, name)}")
    named_parts.store(interpreter, owner, name_of(interpreter, name), value, "assigning to it")
    return NONE


def delete_attribute(interpreter: Interpreter, owner: Any, name: Any) -> Any:
    owner = identities.now(interpreter, owner)
    text = name_of(interpreter, name)
    if not records.is_record(owner) or inspect.getattr_static(owner.kind.cls, text, None) is not None:
        interpreter.build.refuse("only attributes of objects that are made in the function can be deleted")
    if text not in owner.kind.keys:
        attributes.attribute(interpreter, owner, text)  # which says that there is none
    named_parts.remove(interpreter, owner, text)
    return NONE


def name_of(interpreter: Interpreter, name: Any) -> str:
    known_values.refuse_template(interpreter, name)
    text = known_values.plain(name)
    if not isinstance(text, str):
        interpreter.build.refuse("attribute name must be string", error=ArgumentError)
    return text


def fields_of(interpreter: Interpreter, owner: Any) -> Any:
    """vars(o)"""
    if not records.is_record(owner):
        return unknown(interpreter, vars, [owner], {})
    class_defaults.refuse_all(interpreter, owner)
    return Method(owner, records.FIELDS)


def method(interpreter: Interpreter, view: Method, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """vars(o).items() and its like: an object has its attributes as a dict has its items."""
    if name not in METHODS:
        return interpreter.build.refuse(f"the method .{name} of the attributes of an object is not supported")
    if name == "copy" and not (args or kwargs):
        return records.as_it_is_now(interpreter, view)
    owner = identities.now(interpreter, view.owner)
    if name in ("update", "setdefault"):
        given = dicts.made_of(interpreter, args, kwargs) if name == "update" else None
        for key in given.kind.keys if given is not None else map(known_values.plain, args[:1]):
            check_plain(interpreter, owner, key)
    return dicts.method(interpreter, owner, name, args, kwargs)


def store(interpreter: Interpreter, view: Method, key: Any, value: Any) -> None:
    """vars(o)[key] = value"""
    owner = identities.now(interpreter, view.owner)
    check_plain(interpreter, owner, key)
    named_parts.store(interpreter, owner, key, value, "assigning to it")


def check_plain(interpreter: Interpreter, owner: TupleValue, key: Any) -> None:
    """What is put there goes past properties, which are found first."""
    if not isinstance(key, str) or hasattr(inspect.getattr_static(owner.kind.cls, key, None), "__set__"):
        interpreter.build.refuse(f"{key!r} among the attributes of an object is not supported")


BUILTINS: dict[Any, Any] = {
    setattr: set_attribute, object.__setattr__: set_attribute, delattr: delete_attribute, vars: fields_of,
}  # fmt: skip
