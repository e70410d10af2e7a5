"""Named tuples: made from their fields, copied with other ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ..values import TupleValue, constant, new_dict
from . import special_methods

if TYPE_CHECKING:
    from ..interpret import Interpreter


def construct(interpreter: Interpreter, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> TupleValue:
    """Point(x, y=y)"""
    special_methods.refuse_new(interpreter, cls)
    known = {name: constant(value) for name, value in cls._field_defaults.items()}
    fields = known | dict(zip(cls._fields, args, strict=False)) | kwargs
    if set(fields) != set(cls._fields) or len(args) > len(cls._fields) or set(cls._fields[: len(args)]) & set(kwargs):
        interpreter.build.refuse(f"{cls.__name__} has the fields {', '.join(cls._fields)}", error=ArgumentError)
    return TupleValue(tuple(fields[name] for name in cls._fields), cls)


def method(interpreter: Interpreter, owner: TupleValue, name: str, kwargs: dict[str, Any]) -> Any:
    """p._replace(x=x), p._asdict()"""
    fields = dict(zip(owner.kind._fields, owner.items, strict=True))
    if name == "_asdict":
        return new_dict(fields)
    if not kwargs.keys() <= fields.keys():
        interpreter.build.refuse(f"the fields are {', '.join(fields)}", error=ArgumentError)
    return TupleValue(tuple((fields | kwargs).values()), owner.kind)
