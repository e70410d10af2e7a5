"""`copy.copy` and `copy.deepcopy` of arrays, lists, dicts and objects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import lists, records
from .types import DictKind, RecordKind
from .values import ArrayValue, Items, TupleValue, whole

if TYPE_CHECKING:
    from .interpret import Interpreter

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
