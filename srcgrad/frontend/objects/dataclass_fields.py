"""The `__init__` that `dataclass` writes for a class: what it is given is stored by the names of the fields."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from .. import identities
from ..values import Static, TupleValue, constant
from . import named_parts, records

if TYPE_CHECKING:
    from ..interpret import Interpreter


def dataclass_that_made(init: Any, owner: Any) -> type | None:
    """The class of a record, or one further up, that is a dataclass and has made this `__init__` for itself."""
    if not records.is_record(owner) or init.__name__ != "__init__" or init.__code__.co_filename != "<string>":
        return None
    made: list[type] = [cls for cls in owner.kind.cls.__mro__ if vars(cls).get("__init__") is init]
    return made[0] if made and dataclasses.is_dataclass(made[0]) else None


def set_fields(interpreter: Interpreter, cls: type, owner: TupleValue, args: list[Any], kwargs: dict[str, Any]) -> None:
    """What such an `__init__` does."""
    for field, value in _fields(interpreter, cls, args, kwargs).items():
        named_parts.store(interpreter, identities.now(interpreter, owner), field, value, "the constructor")
    if hasattr(cls, "__post_init__"):
        after = owner.kind.cls.__post_init__
        interpreter.call_function(after, [identities.now(interpreter, owner)], {})


def _fields(interpreter: Interpreter, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = inspect.signature(cls).bind(*args, **kwargs)
    except TypeError as problem:
        interpreter.build.refuse(f"{cls.__name__}: {problem}", error=ArgumentError)
    out = {}
    for field in dataclasses.fields(cls):
        if field.name in bound.arguments:
            out[field.name] = bound.arguments[field.name]
        elif field.default is not dataclasses.MISSING:
            out[field.name] = constant(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            out[field.name] = interpreter.call(Static(field.default_factory), [], {})
    return out
