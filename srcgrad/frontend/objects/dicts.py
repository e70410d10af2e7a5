"""Dicts with keys that are known: made, read and changed.

d = {"w": w, "b": b}      →      (w, b), with the keys beside them: d["w"] is evaluated away
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, KeyArgumentError, ValueArgumentError
from ...ir.types import DictKind
from .. import binding, identities, operators, unpacking
from ..lists import item_views
from ..values import NONE, TupleValue, constant, new_dict
from . import containers, named_parts, records, sets

if TYPE_CHECKING:
    from ..interpret import Interpreter


def item(interpreter: Interpreter, owner: TupleValue, index: Any) -> Any:
    """d[key]"""
    if records.is_set(owner):
        interpreter.build.refuse("a set has no places", "for item in s: ...", error=ArgumentError)
    key = records.key_of(interpreter, index)
    if key not in owner.kind.keys and owner.kind.default is not None:
        value = interpreter.call(owner.kind.default, [], {})
        return named_parts.store(interpreter, records.now(interpreter, owner), key, value, "an item of its own")
    if key not in owner.kind.keys:
        known = f"the keys are {', '.join(map(repr, owner.kind.keys))}"
        interpreter.build.refuse(f"KeyError: {key!r}", known, error=KeyArgumentError)
    return item_views.read(interpreter, owner, records.as_dict(owner)[key])


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
        part = containers.as_dict(interpreter, records.as_it_is_now(interpreter, part))
        if records.is_dict(part):
            items |= records.as_dict(part)
            continue
        for k, pair in enumerate(unpacking.items_of(interpreter, part)):
            both = unpacking.items_of(interpreter, pair)
            if len(both) != 2:
                what = f"dictionary update sequence element #{k} has length {len(both)}; 2 is required"
                interpreter.build.refuse(what, error=ValueArgumentError)
            key, value = both
            items[records.key_of(interpreter, key)] = value
    return new_dict({key: binding.bind_item(interpreter, "t", value) for key, value in (items | more).items()}, cls)


def made_of_keys(cls: type) -> Callable[..., TupleValue]:
    """dict.fromkeys(keys, value): all of them have the same"""

    def made(interpreter: Interpreter, keys: Any, value: Any = NONE) -> TupleValue:
        known = [records.key_of(interpreter, key) for key in unpacking.items_of(interpreter, keys)]
        return new_dict(dict.fromkeys(known, binding.bind_item(interpreter, "t", value)), cls)

    return made


def method(interpreter: Interpreter, owner: TupleValue, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A method of a dict."""
    if records.is_set(owner):
        return sets.method(interpreter, owner, name, args, kwargs)
    build, items = interpreter.build, records.as_dict(owner)
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
            return items.get(records.key_of(interpreter, key), rest[0] if rest else NONE)
        case "setdefault", [key, *rest]:
            if records.key_of(interpreter, key) not in items:
                value = rest[0] if rest else NONE
                return named_parts.store(interpreter, owner, records.key_of(interpreter, key), value, ".setdefault")
            return items[records.key_of(interpreter, key)]
        case "update", _:
            for key, value in records.as_dict(made_of(interpreter, args, kwargs)).items():
                named_parts.store(interpreter, records.now(interpreter, owner), key, value, ".update")
            return NONE
        case "pop", [key, *rest]:
            found = records.key_of(interpreter, key)
            if found not in items and rest:
                return rest[0]
            value = item(interpreter, owner, key)
            named_parts.remove(interpreter, owner, found)
            return value
        case "popitem", [] if items:
            key, value = list(items.items())[-1 if last else 0]
            named_parts.remove(interpreter, owner, key)
            return TupleValue((constant(key), value))
        case "clear", []:
            identities.check_own(interpreter, owner, ".clear")
            identities.change(interpreter, owner.identity, records.with_items(owner, {}))
            return NONE
    return build.refuse(f"the dict method .{name} is not supported")


def updated(interpreter: Interpreter, owner: TupleValue, other: Any, op: str) -> bool:
    """d |= e changes d, by whatever name; False where the operator makes another one, or is not defined."""
    if not records.is_dict(other) or owner.kind.cls is frozenset:
        return False
    if records.is_set(owner):
        change = sets.ON_THE_SPOT.get(op) if records.is_set(other) else None
    else:
        change = "update" if op == "bitor" and not records.is_set(other) else None
    if change is not None:
        method(interpreter, owner, change, [other], {})
    return change is not None
