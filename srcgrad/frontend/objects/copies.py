"""`copy.copy` and `copy.deepcopy` of arrays, lists, dicts and objects; `asdict` and `astuple`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...ir.types import DictKind, RecordKind
from .. import binding
from ..array_values import ArrayValue, whole
from ..lists import lists
from ..values import Items, Static, TupleValue, new_dict
from . import attributes, objects, records

if TYPE_CHECKING:
    from ..interpret import Interpreter

OWN = ("__copy__", "__deepcopy__", "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__")


def shallow(interpreter: Interpreter, value: Any) -> Any:
    match value:
        case ArrayValue():
            return whole(interpreter.build.materialize(value, "t", copy=True))
        case TupleValue() if _may_change(value):
            _refuse_own_ways(interpreter, value)
            return replace(value, identity=object())
        case Items():
            return lists.copied(interpreter, value)
    return value


def deep(interpreter: Interpreter, value: Any, made: dict[Any, Any] | None = None) -> Any:
    """`made`: what has been copied already, so that what is one thing stays one."""
    made = {} if made is None else made
    key = value.handle if isinstance(value, ArrayValue) else getattr(value, "identity", None)
    if key is not None and key in made:
        return made[key]
    out = value
    match value:
        case ArrayValue():
            out = shallow(interpreter, value)
        case TupleValue(items=items):
            _refuse_own_ways(interpreter, value)
            copied = tuple(deep(interpreter, item, made) for item in items)
            out = replace(value, items=copied, identity=object() if _may_change(value) else None)
        case Items():
            out = lists.copied(interpreter, value, is_deep=True)
    if key is not None:
        made[key] = out
    return out


def as_dict(interpreter: Interpreter, owner: Any) -> TupleValue:
    """dataclasses.asdict(point): what its fields hold is copied, and objects of dataclasses in them are dicts too."""
    return _of_fields(interpreter, owner, "asdict", new_dict)


def as_tuple(interpreter: Interpreter, owner: Any) -> TupleValue:
    """dataclasses.astuple(point)"""
    return _of_fields(interpreter, owner, "astuple", lambda fields: TupleValue(tuple(fields.values())))


def _of_fields(
    interpreter: Interpreter, owner: Any, name: str, make: Callable[[dict[Any, Any]], TupleValue]
) -> TupleValue:
    def part(value: Any) -> Any:
        if _is_of_dataclass(value):
            return _of_fields(interpreter, value, name, make)
        if isinstance(value, TupleValue) and not records.is_record(value):
            items = tuple(map(part, value.items))
            return replace(value, items=items, identity=object() if _may_change(value) else None)
        if isinstance(value, Items) and value.inner is not None:
            interpreter.build.refuse(f"dataclasses.{name} of an object with a list of objects, lists or tuples")
        return binding.bind_item(interpreter, "t", deep(interpreter, value))

    if not _is_of_dataclass(owner):
        interpreter.build.refuse(f"dataclasses.{name} takes an object of a dataclass", error=ArgumentError)
    cls = owner.kind.cls if isinstance(owner, TupleValue) else type(owner.value)
    names = [field.name for field in dataclasses.fields(cls)]
    return make({name: part(attributes.attribute(interpreter, owner, name)) for name in names})


def _is_of_dataclass(value: Any) -> bool:
    cls = value.kind.cls if records.is_record(value) else type(value.value) if isinstance(value, Static) else None
    return dataclasses.is_dataclass(cls)


def _may_change(value: TupleValue) -> bool:
    """Is it a list, a dict or an object?  Arguments have no identity of their own, their copies have."""
    kind = value.kind
    return not issubclass(kind.cls if isinstance(kind, (DictKind, RecordKind)) else kind, tuple)


def _refuse_own_ways(interpreter: Interpreter, value: TupleValue) -> None:
    if not records.is_record(value):
        return
    cls = value.kind.cls
    own = [name for name in OWN for base in cls.__mro__[:-1] if name in vars(base)]
    if own:
        interpreter.build.refuse(f"{cls.__name__} has a way of its own to be copied: {own[0]}", "copy its fields")


def replaced(interpreter: Interpreter, owner: Any, /, **changes: Any) -> Any:
    """dataclasses.replace(point, x=x): the class is called with what changes, and what the object has of the rest."""
    cls = owner.kind.cls if records.is_record(owner) else type(owner.value) if isinstance(owner, Static) else None
    if cls is None or not dataclasses.is_dataclass(cls):
        interpreter.build.refuse("dataclasses.replace takes an object of a dataclass", error=ArgumentError)
    given = {
        field.name: attributes.attribute(interpreter, owner, field.name)
        for field in dataclasses.fields(cls)
        if field.init and field.name not in changes
    }
    return objects.construct(interpreter, cls, [], given | changes)
