"""What dicts with known keys are, sets, and objects with attributes: groups of values by name.

d = {"w": w, "b": b}      →      (w, b), with the keys beside them: d["w"] is evaluated away
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...ir.types import SETS, DictKind, RecordKind
from .. import identities, known_values
from ..values import Method, Scalar, Static, TupleValue, is_hashable, new_dict

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


def key_of(interpreter: Interpreter, value: Any) -> Any:
    """A key, which must be known."""
    key = known_values.plain(value)
    known_values.refuse_template(interpreter, value)
    if not known_values.is_known(value) or not is_hashable(key) or not _may_be_key(value):
        interpreter.build.refuse(KEYS_ARE_KNOWN, *INSTEAD_OF_KEYS)
    return value.dtype.type(key) if isinstance(value, Scalar) and not value.weak else key


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
