"""The attributes of objects by names that are computed: setattr, delattr, vars(o) and o.__dict__.

for name, value in options.items():
    setattr(self, name, value)          →    self.a = …; self.b = …        (the names are known)

What vars(o) gives is the object itself, seen as a dict: it shows what the object gets later.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from . import attributes, identities, operators, records
from .values import NONE, Method, TupleValue, new_dict
from .without_rules import unknown

if TYPE_CHECKING:
    from .interpret import Interpreter

FIELDS = "__dict__"
METHODS = ("keys", "values", "items", "get", "update", "setdefault", "pop", "clear", "copy")


def set_attribute(interpreter: Interpreter, owner: Any, name: Any, value: Any) -> Any:
    owner = identities.now(interpreter, owner)
    if not records.is_record(owner):
        interpreter.build.refuse("only attributes of objects that are made in the function can be assigned to")
    records.store(interpreter, owner, name_of(interpreter, name), value, "assigning to it")
    return NONE


def delete_attribute(interpreter: Interpreter, owner: Any, name: Any) -> Any:
    owner = identities.now(interpreter, owner)
    text = name_of(interpreter, name)
    if not records.is_record(owner) or inspect.getattr_static(owner.kind.cls, text, None) is not None:
        interpreter.build.refuse("only attributes of objects that are made in the function can be deleted")
    if text not in owner.kind.keys:
        attributes.attribute(interpreter, owner, text)  # which says that there is none
    records.remove(interpreter, owner, text)
    return NONE


def name_of(interpreter: Interpreter, name: Any) -> str:
    operators.refuse_template(interpreter, name)
    text = operators.plain(name)
    if not isinstance(text, str):
        interpreter.build.refuse("attribute name must be string", error=ArgumentError)
    return text


def are_fields(value: Any) -> bool:
    return isinstance(value, Method) and value.name == FIELDS


def fields_of(interpreter: Interpreter, owner: Any) -> Any:
    """vars(o)"""
    return Method(owner, FIELDS) if records.is_record(owner) else unknown(interpreter, vars, [owner], {})


def method(interpreter: Interpreter, view: Method, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """vars(o).items() and its like: an object has its attributes as a dict has its items."""
    if name not in METHODS:
        return interpreter.build.refuse(f"the method .{name} of the attributes of an object is not supported")
    if name == "copy" and not (args or kwargs):
        return as_it_is_now(interpreter, view)
    owner = identities.now(interpreter, view.owner)
    if name in ("update", "setdefault"):
        given = records.made_of(interpreter, args, kwargs) if name == "update" else None
        for key in given.kind.keys if given is not None else map(operators.plain, args[:1]):
            check_plain(interpreter, owner, key)
    return records.method(interpreter, owner, name, args, kwargs)


def store(interpreter: Interpreter, view: Method, key: Any, value: Any) -> None:
    """vars(o)[key] = value"""
    owner = identities.now(interpreter, view.owner)
    check_plain(interpreter, owner, key)
    records.store(interpreter, owner, key, value, "assigning to it")


def check_plain(interpreter: Interpreter, owner: TupleValue, key: Any) -> None:
    """What is put there goes past properties, which are found first."""
    if not isinstance(key, str) or hasattr(inspect.getattr_static(owner.kind.cls, key, None), "__set__"):
        interpreter.build.refuse(f"{key!r} among the attributes of an object is not supported")


def as_it_is_now(interpreter: Interpreter, value: Any) -> Any:
    """vars(o) where it is read: a dict of what the object has."""
    return new_dict(records.as_dict(identities.now(interpreter, value.owner))) if are_fields(value) else value


BUILTINS: dict[Any, Any] = {
    setattr: set_attribute, object.__setattr__: set_attribute, delattr: delete_attribute, vars: fields_of,
}  # fmt: skip
