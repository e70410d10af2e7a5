"""Dicts with keys that are known, and objects with attributes: groups of values by name.

d = {"w": w, "b": b}      →      (w, b), with the keys beside them: d["w"] is evaluated away
"""

from __future__ import annotations

import collections
import dataclasses
import inspect
from abc import ABCMeta
from collections.abc import Callable
from dataclasses import replace
from types import MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, KeyArgumentError, UnsupportedError, ValueArgumentError
from ..rules import compositions
from . import (
    attributes,
    binding,
    calls_in_place,
    containers,
    expressions,
    identities,
    item_fields,
    item_views,
    known_values,
    operators,
    sets,
    special_methods,
)
from .outside import InObject
from .source import unwrap
from .types import SETS, DictKind, RecordKind
from .values import NONE, Bound, Method, Scalar, Static, TupleValue, constant, is_hashable, new_dict

if TYPE_CHECKING:
    from .interpret import Interpreter


def is_dict(value: Any) -> bool:
    """A dict, or a set: keys without values."""
    return isinstance(value, TupleValue) and isinstance(value.kind, DictKind)


def is_record(value: Any) -> bool:
    return isinstance(value, TupleValue) and isinstance(value.kind, RecordKind)


def as_dict(value: TupleValue) -> dict[Any, Any]:
    return dict(zip(value.kind.keys, value.items, strict=True))


KEYS_ARE_KNOWN = "the keys of a dict, and the items of a set, are known when f is compiled"
INSTEAD_OF_KEYS = ("where the keys are whole numbers, an array or a list in its place:  d = np.zeros(n), d[k] += x",)


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


def item(interpreter: Interpreter, owner: TupleValue, index: Any) -> Any:
    """d[key]"""
    if is_set(owner):
        interpreter.build.refuse("a set has no places", "for item in s: ...", error=ArgumentError)
    key = key_of(interpreter, index)
    if key not in owner.kind.keys and owner.kind.default is not None:
        from .calls import apply

        value = apply(interpreter, owner.kind.default, [], {})
        return store(interpreter, now(interpreter, owner), key, value, "an item of its own")
    if key not in owner.kind.keys:
        known = f"the keys are {', '.join(map(repr, owner.kind.keys))}"
        interpreter.build.refuse(f"KeyError: {key!r}", known, error=KeyArgumentError)
    return item_views.read(interpreter, owner, as_dict(owner)[key])


def with_items(owner: TupleValue, items: dict[Any, Any]) -> TupleValue:
    """The same object with these items."""
    kind = replace(owner.kind, keys=tuple(items))
    return replace(owner, items=tuple(items.values()), kind=kind)


def store(interpreter: Interpreter, owner: TupleValue, key: Any, value: Any, what: str) -> Any:
    """d[key] = value, or owner.key = value: what is held then"""
    if is_set(owner):
        interpreter.build.refuse("a set has no places", error=ArgumentError)
    is_item = item_views.is_view(interpreter, owner)
    if not is_item:
        identities.check_own(interpreter, owner, what)
    found = None
    if is_record(owner):
        cls = owner.kind.cls
        found = inspect.getattr_static(cls, str(key), None)
        own_way = not _finds_as_objects_do(cls, "__setattr__") and not dataclasses.is_dataclass(cls)
        if own_way or (hasattr(found, "__set__") and not isinstance(found, (property, MemberDescriptorType))):
            interpreter.build.refuse(f"{cls.__name__} has a way of its own to set {key}", "set it in a method")
    if isinstance(found, property):
        if found.fset is None:
            interpreter.build.refuse(f"{key} is a property without a setter", error=ArgumentError)
        calls_in_place.call_function(interpreter, found.fset, [owner, value], {})
        return value
    if is_item:
        return item_fields.store(interpreter, owner, key, value)
    hint = f"{key}" if isinstance(key, str) and key.isidentifier() else "t"
    held = binding.bind_item(interpreter, hint, value)
    assert owner.identity is not None
    identities.change(interpreter, owner.identity, with_items(owner, as_dict(owner) | {key: held}))
    return held


def made_with_default(interpreter: Interpreter, default: Any = NONE, *parts: Any, **more: Any) -> TupleValue:
    """defaultdict(list)"""
    if identities.can_change(default):
        interpreter.build.refuse("a defaultdict with a method, or with what holds a list", "a lambda that calls it")
    made = made_of(interpreter, list(parts), more, collections.defaultdict)
    return made if default == NONE else replace(made, kind=replace(made.kind, default=default))


def made_of(interpreter: Interpreter, parts: list[Any], more: dict[str, Any], cls: type = dict) -> TupleValue:
    """dict(...)"""
    items: dict[Any, Any] = {}
    for part in parts:
        part = containers.as_dict(interpreter, as_it_is_now(interpreter, part))
        if is_dict(part):
            items |= as_dict(part)
            continue
        for k, pair in enumerate(expressions.items_of(interpreter, part)):
            both = expressions.items_of(interpreter, pair)
            if len(both) != 2:
                what = f"dictionary update sequence element #{k} has length {len(both)}; 2 is required"
                interpreter.build.refuse(what, error=ValueArgumentError)
            key, value = both
            items[key_of(interpreter, key)] = value
    return new_dict({key: binding.bind_item(interpreter, "t", value) for key, value in (items | more).items()}, cls)


def made_of_keys(cls: type) -> Callable[..., TupleValue]:
    """dict.fromkeys(keys, value): all of them have the same"""

    def made(interpreter: Interpreter, keys: Any, value: Any = NONE) -> TupleValue:
        known = [key_of(interpreter, key) for key in expressions.items_of(interpreter, keys)]
        return new_dict(dict.fromkeys(known, binding.bind_item(interpreter, "t", value)), cls)

    return made


def method(interpreter: Interpreter, owner: TupleValue, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a dict."""
    if is_set(owner):
        return sets.method(interpreter, owner, name, args, kwargs)
    build, items = interpreter.build, as_dict(owner)
    if name == "setdefault" and "default" in kwargs:
        args, kwargs = [*args, kwargs["default"]], {}
    last = operators.static_truth(kwargs.pop("last", constant(True))) if name == "popitem" else True
    if last is None or (kwargs and name != "update"):
        return build.refuse(f"an argument of the dict method .{name} is not supported")
    match name, args:
        case "keys", []:
            return TupleValue((NONE,) * len(items), DictKind(tuple(items), frozenset))  # compared as a set, in order
        case "values", []:
            return TupleValue(tuple(items.values()))
        case "items", []:
            return TupleValue(tuple(TupleValue((constant(key), value)) for key, value in items.items()))
        case "copy", []:
            return replace(owner, identity=object())
        case "get", [key, *rest]:
            return items.get(key_of(interpreter, key), rest[0] if rest else NONE)
        case "setdefault", [key, *rest]:
            if key_of(interpreter, key) not in items:
                value = rest[0] if rest else NONE
                return store(interpreter, owner, key_of(interpreter, key), value, ".setdefault")
            return items[key_of(interpreter, key)]
        case "update", _:
            for key, value in as_dict(made_of(interpreter, args, kwargs)).items():
                store(interpreter, now(interpreter, owner), key, value, ".update")
            return NONE
        case "pop", [key, *rest]:
            found = key_of(interpreter, key)
            if found not in items and rest:
                return rest[0]
            value = item(interpreter, owner, key)
            remove(interpreter, owner, found)
            return value
        case "popitem", [] if items:
            key, value = list(items.items())[-1 if last else 0]
            remove(interpreter, owner, key)
            return TupleValue((constant(key), value))
        case "clear", []:
            identities.check_own(interpreter, owner, ".clear")
            identities.change(interpreter, owner.identity, with_items(owner, {}))
            return NONE
    return build.refuse(f"the dict method .{name} is not supported")


def updated(interpreter: Interpreter, owner: TupleValue, other: Any, op: str) -> bool:
    """d |= e changes d, by whatever name; False where the operator makes another one, or is not defined."""
    if not is_dict(other) or owner.kind.cls is frozenset:
        return False
    if is_set(owner):
        change = sets.ON_THE_SPOT.get(op) if is_set(other) else None
    else:
        change = "update" if op == "bitor" and not is_set(other) else None
    if change is not None:
        method(interpreter, owner, change, [other], {})
    return change is not None


def now(interpreter: Interpreter, owner: TupleValue) -> TupleValue:
    return identities.held(interpreter).get(owner.identity, owner)


def remove(interpreter: Interpreter, owner: TupleValue, key: Any) -> None:
    """del d[key]"""
    if is_set(owner):
        interpreter.build.refuse("a set has no places", error=ArgumentError)
    identities.check_own(interpreter, owner, "taking out an item")
    if key not in owner.kind.keys:
        interpreter.build.refuse(f"KeyError: {key!r}", error=KeyArgumentError)
    assert owner.identity is not None
    items = {k: v for k, v in as_dict(owner).items() if k is not key and k != key}
    identities.change(interpreter, owner.identity, with_items(owner, items))


# ----------------------------------------------------------------------------------------------------- objects


def attribute(interpreter: Interpreter, owner: TupleValue, name: str) -> Any:
    """An attribute of an object: one of its own, or what its class makes of the name."""
    if not _finds_as_objects_do(owner.kind.cls):
        interpreter.build.refuse(f"{owner.kind.cls.__name__} has a way of its own to find {name}")
    if name in owner.kind.keys:
        return item_views.read(interpreter, owner, as_dict(owner)[name])
    if name == "__class__":
        return Static(owner.kind.cls)
    return of_class(interpreter, owner, owner.kind.cls, name)


def _finds_as_objects_do(cls: type, name: str = "__getattribute__") -> bool:
    return any(getattr(cls, name) is getattr(plain, name) for plain in (object, SimpleNamespace))


def of_class(interpreter: Interpreter, owner: TupleValue, cls: type, name: str) -> Any:
    """An attribute that the class of an object has: a property's value, a method, a constant."""
    found = inspect.getattr_static(cls, name, dataclasses.MISSING)
    if found is dataclasses.MISSING and cls.__module__.startswith(compositions.__name__):  # it stands for SciPy's
        interpreter.build.refuse(f".{name} is not supported: srcgrad has no rule for it", error=UnsupportedError)
    if found is dataclasses.MISSING:
        interpreter.build.refuse(f"{cls.__name__} has no attribute {name!r}", error=ArgumentError)
    made = made_for(interpreter, owner, cls, found)
    return interpreter.outside(name, InObject(cls, name)) if made is None else made


def made_for(interpreter: Interpreter, owner: Any, cls: type, found: Any) -> Any | None:
    """What a property or a method that stands in a class is for an object of `cls`; None where it is neither."""
    if isinstance(found, property):
        return calls_in_place.call_function(interpreter, found.fget, [owner], {})
    if isinstance(found, staticmethod):
        return Static(found.__func__)
    if isinstance(found, classmethod):
        return Bound(found.__func__, (Static(cls),))
    plain = unwrap(found) if callable(found) else found
    return Bound(plain, (owner,)) if inspect.isfunction(plain) else None


def is_made_here(cls: Any) -> bool:
    """A class of the user's whose instances are no more than their attributes."""
    if not isinstance(cls, type) or not cls.__flags__ & (1 << 9) or issubclass(cls, BaseException):
        return False
    plain = all(base.__flags__ & (1 << 9) for base in cls.__mro__[:-1]) and not inspect.isabstract(cls)
    return plain and cls.__module__.split(".")[0] not in ("numpy", "scipy", "numba") and _has_plain_metaclass(cls)


MAKING_A_CLASS = {"__new__", "__init__", "__prepare__", "__module__", "__qualname__", "__doc__", "__firstlineno__"}


def _has_plain_metaclass(cls: type) -> bool:
    """Metaclasses of the user's own have had their part once the class is made, unless they define more than that."""
    own = [base for base in inspect.getmro(type(cls)) if base not in (ABCMeta, type, object)]
    return all(vars(base).keys() <= MAKING_A_CLASS | {"__static_attributes__", "__annotations__"} for base in own)


def construct(interpreter: Interpreter, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Point(x, y), of a dataclass or a plain class."""
    special_methods.refuse_new(interpreter, cls)
    name = f".made_{id(args)}"
    env = interpreter.env
    env[name] = TupleValue((), RecordKind(cls, ()), object())
    try:
        if inspect.isfunction(cls.__init__):  # type: ignore[misc]
            calls_in_place.call_function(interpreter, cls.__init__, [env[name], *args], kwargs)  # type: ignore[misc]
        elif args or kwargs:
            interpreter.build.refuse(f"{cls.__name__}() takes no arguments", error=ArgumentError)
        return env[name]
    finally:
        env.pop(name, None)


def namespace(interpreter: Interpreter, /, *parts: Any, **items: Any) -> TupleValue:
    """types.SimpleNamespace(x=x, n=3)"""
    if parts:
        interpreter.build.refuse("SimpleNamespace of a dict", "types.SimpleNamespace(**items)")
    held = tuple(binding.bind_item(interpreter, name, value) for name, value in items.items())
    return TupleValue(held, RecordKind(SimpleNamespace, tuple(items)), object())


def replaced(interpreter: Interpreter, owner: Any, /, **changes: Any) -> Any:
    """dataclasses.replace(point, x=x): the class is called with what changes, and what the object has of the rest."""
    cls = owner.kind.cls if is_record(owner) else type(owner.value) if isinstance(owner, Static) else None
    if cls is None or not dataclasses.is_dataclass(cls):
        interpreter.build.refuse("dataclasses.replace takes an object of a dataclass", error=ArgumentError)
    given = {
        field.name: attributes.attribute(interpreter, owner, field.name)
        for field in dataclasses.fields(cls)
        if field.init and field.name not in changes
    }
    return construct(interpreter, cls, [], given | changes)


def dataclass_that_made(init: Any, owner: Any) -> type | None:
    """The class of a record, or one further up, that is a dataclass and has made this `__init__` for itself."""
    if not is_record(owner) or init.__name__ != "__init__" or init.__code__.co_filename != "<string>":
        return None
    made: list[type] = [cls for cls in owner.kind.cls.__mro__ if vars(cls).get("__init__") is init]
    return made[0] if made and dataclasses.is_dataclass(made[0]) else None


def set_fields(interpreter: Interpreter, cls: type, owner: TupleValue, args: list[Any], kwargs: dict[str, Any]) -> None:
    """What such an `__init__` does."""
    for field, value in _fields(interpreter, cls, args, kwargs).items():
        store(interpreter, identities.now(interpreter, owner), field, value, "the constructor")
    if hasattr(cls, "__post_init__"):
        after = owner.kind.cls.__post_init__
        calls_in_place.call_function(interpreter, after, [identities.now(interpreter, owner)], {})


def _fields(interpreter: Interpreter, cls: Any, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = inspect.signature(cls).bind(*args, **kwargs)
    except TypeError as problem:
        interpreter.build.refuse(f"{cls.__name__}: {problem}", error=ArgumentError)
    from .calls import apply

    out = {}
    for field in dataclasses.fields(cls):
        if field.name in bound.arguments:
            out[field.name] = bound.arguments[field.name]
        elif field.default is not dataclasses.MISSING:
            out[field.name] = constant(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            out[field.name] = apply(interpreter, Static(field.default_factory), [], {})
    return out


FIELDS = "__dict__"


def are_fields(value: Any) -> bool:
    return isinstance(value, Method) and value.name == FIELDS


def as_it_is_now(interpreter: Interpreter, value: Any) -> Any:
    """vars(o) where it is read: a dict of what the object has."""
    return new_dict(as_dict(identities.now(interpreter, value.owner))) if are_fields(value) else value


def is_set(value: Any) -> bool:
    return isinstance(value, TupleValue) and isinstance(value.kind, DictKind) and value.kind.cls in SETS
