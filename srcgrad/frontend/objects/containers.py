"""Objects from outside that hold items, and are no list, tuple or dict: a view of a dict, a UserDict, a Mapping of the
user's.

TABLE["a"]       →   what Python gives, handed in or looked at again at every call, as items of dicts are
"a" in TABLE     →   True, as long as Python says so
for k in TABLE   →   for k in ("a", "b"), as long as these are its keys
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from ...arguments import is_simple_object
from .. import outside
from ..outside import Fixed, InGroup, Place, Said
from ..values import Method, Static, TupleValue, constant, is_hashable, new_dict

if TYPE_CHECKING:
    from ..interpret import Interpreter

LOOKED_AT = (str, bytes, tuple, list, dict, range, slice, type, ModuleType)  # as they are, where they are found
CHANGING = (MappingProxyType, bytearray, memoryview)  # of Python's own
OF_MAPPINGS = ("keys", "values", "items", "get")


def is_one(value: Any) -> bool:
    if not isinstance(value, Static) or isinstance(value.value, LOOKED_AT):
        return False
    held = value.value
    has_items = any(hasattr(type(held), name) for name in ("__getitem__", "__contains__", "__len__"))
    is_changing = isinstance(held, CHANGING) or outside.may_change(held)
    return has_items and is_changing and not is_simple_object(held)


def told(interpreter: Interpreter, value: Static, what: Any, make: Callable[[], Any]) -> Any:
    """What Python says of it, which has to stay so."""
    made = make()
    place = Said((Said, what, id(value.value)), make)
    interpreter.assumed[place.key] = (place, made)
    return made


def place_of(value: Static, key: Any) -> Place:
    return InGroup(Fixed((id(value.value), Static), value.value, value.value), key)


def item(interpreter: Interpreter, value: Static, key: Any) -> Any:
    if isinstance(key, slice):
        what = f"a slice of a {type(value.value).__name__} from outside is not supported"
        interpreter.build.refuse(what, "make a list of it first:  list(y)[i:j]")
    try:
        return interpreter.outside("item", place_of(value, key))
    except (LookupError, TypeError):  # which is said where a run comes to it, or caught there: as long as it is so
        told(interpreter, value, ("no item", key if is_hashable(key) else repr(key)), lambda: _has(value.value, key))
        raise


def _has(held: Any, key: Any) -> bool:
    try:
        held[key]
    except (LookupError, TypeError):
        return False
    return True


def known_items(interpreter: Interpreter, value: Static) -> list[Any] | None:
    """What goes by where it is run over; None where Python is not known to go by keys or places."""
    held = value.value
    if isinstance(held, Mapping):
        return [constant(key) for key in told(interpreter, value, "keys", lambda: tuple(held))]
    if isinstance(held, Sequence):
        count = told(interpreter, value, "length", lambda: len(held))
        return [item(interpreter, value, k) for k in range(count)]
    return None


def run_over_by_loop(interpreter: Interpreter, value: Any) -> Any:
    items = known_items(interpreter, value) if is_one(value) else None
    return value if items is None else TupleValue(tuple(items))


def as_dict(interpreter: Interpreter, value: Any) -> Any:
    """A mapping as the dict of what is in it; anything else is what it is."""
    if not (is_one(value) and isinstance(value.value, Mapping)):
        return value
    keys = told(interpreter, value, "keys", lambda: tuple(value.value))
    return new_dict({key: item(interpreter, value, key) for key in keys})


def method(interpreter: Interpreter, value: Static, name: str) -> Method | None:
    """TABLE.items() and its like, where these are what Python makes of the keys and of the items."""
    held = value.value
    is_pythons = isinstance(held, MappingProxyType) or getattr(type(held), name, None) is getattr(Mapping, name, 0)
    if not (isinstance(held, Mapping) and name in OF_MAPPINGS and is_pythons):
        return None
    return Method(as_dict(interpreter, value), name)
