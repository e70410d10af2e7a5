"""What dicts with known keys are, sets, and objects with attributes: groups of values by name.

d = {"w": w, "b": b}      →      (w, b), with the keys beside them: d["w"] is evaluated away
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import ArgumentError
from ...ir.types import SETS, DictKind, RecordKind
from .. import identities, known_values
from ..array_values import ArrayValue
from ..values import Items, Method, Scalar, Static, TupleValue, is_hashable, new_dict

if TYPE_CHECKING:
    from ..interpret import Interpreter


def is_dict(value: Any) -> bool:
    """A dict, or a set: keys without values."""
    return isinstance(value, TupleValue) and isinstance(value.kind, DictKind)


def is_set(value: Any) -> bool:
    return isinstance(value, TupleValue) and isinstance(value.kind, DictKind) and value.kind.cls in SETS


def is_record(value: Any) -> bool:
    return isinstance(value, TupleValue) and isinstance(value.kind, RecordKind)


def as_dict(value: TupleValue) -> dict[Any, Any]:
    return dict(zip(value.kind.keys, value.items, strict=True))


KEYS_ARE_KNOWN = "the keys of a dict, and the items of a set, are known when f is compiled"
INSTEAD_OF_KEYS = (
    "where the keys are whole numbers, an array or a list in its place:  d = np.zeros(n), d[k] += x",
    "or make them of what is known: numbers, tuples, lists and objects that f reads from outside, arguments in static=",
)
INSTEAD_OF_OBJECTS = (
    "a text that the object has, or its place in a list:  d[o.name]",
    "or keep what belongs to the object in itself:  o.n = 0",
)


def key_of(interpreter: Interpreter, value: Any) -> Any:
    """A key, which must be known."""
    known_values.refuse_template(interpreter, value)
    if not _is_key(value):
        _refuse_key(interpreter, value)
    key = known_values.plain(value)
    return value.dtype.type(key) if isinstance(value, Scalar) and not value.weak else key


def is_there(interpreter: Interpreter, owner: TupleValue, key: Any) -> bool:
    """Has the dict this key, for all that is known now?"""
    return _is_key(key) and key_of(interpreter, key) in as_dict(owner)


def _is_key(value: Any) -> bool:
    return known_values.is_known(value) and _may_be_key(value) and is_hashable(known_values.plain(value))


def _refuse_key(interpreter: Interpreter, value: Any) -> NoReturn:
    while isinstance(value, TupleValue) and value.kind is tuple and not all(map(_is_key, value.items)):
        value = next(item for item in value.items if not _is_key(item))
    build = interpreter.build
    match value:
        case TupleValue(kind=RecordKind(cls=cls)):
            build.refuse(f"{KEYS_ARE_KNOWN}; which {cls.__name__} this is, only a run tells", *INSTEAD_OF_OBJECTS)
        case Items(kind=kind) | TupleValue(kind=DictKind(cls=kind) | (type() as kind)) if kind.__hash__ is None:
            build.refuse(f"unhashable type: '{kind.__name__}'", error=ArgumentError)
        case ArrayValue(dims=(_, *_)):
            build.refuse("unhashable type: 'numpy.ndarray'", error=ArgumentError)
    build.refuse(f"{KEYS_ARE_KNOWN}; what this is, only a run tells", *INSTEAD_OF_KEYS)


def _may_be_key(value: Any) -> bool:
    """Is it equal to another exactly where they look the same?  Objects have a say of their own in that."""
    if isinstance(value, TupleValue):
        return value.kind is tuple and all(map(_may_be_key, value.items))
    return isinstance(value, (Scalar, Static))


def with_items(owner: TupleValue, items: dict[Any, Any]) -> TupleValue:
    """The same object with these items."""
    kind = replace(owner.kind, keys=tuple(items))
    return replace(owner, items=tuple(items.values()), kind=kind)


def now(interpreter: Interpreter, owner: TupleValue) -> TupleValue:
    return identities.held(interpreter).get(owner.identity, owner)


def finds_as_objects_do(cls: type, name: str = "__getattribute__") -> bool:
    return any(getattr(cls, name) is getattr(plain, name) for plain in (object, SimpleNamespace))


FIELDS = "__dict__"


def are_fields(value: Any) -> bool:
    return isinstance(value, Method) and value.name == FIELDS


def as_it_is_now(interpreter: Interpreter, value: Any) -> Any:
    """vars(o) where it is read: a dict of what the object has."""
    return new_dict(as_dict(identities.now(interpreter, value.owner))) if are_fields(value) else value
