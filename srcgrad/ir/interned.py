"""Nodes that say the same are one object.

Passes compare trees and look them up in tables without end; where each tree is one object, that costs what it costs for
any object, however large the tree is (hash consing: Ershov, "On programming of arithmetic operations", 1958).
"""

from __future__ import annotations

from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]  # as in WeakValueDictionary
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar
from weakref import ref

Kind = TypeVar("Kind", bound=type)
Key = tuple[Any, ...]


class Held(ref):
    """A node in the table, which leaves it with its last user."""

    __slots__ = ("key",)
    key: Key


_held: dict[Key, Held] = {}


def _forget(held: Held) -> None:
    _remove_dead_weakref(_held, held.key)  # in one step, and only if no other has taken its place by now


def the_one(cls: type, values: Key, key: Key) -> Any:
    """The node of this key, or one with these values in its fields."""
    held = _held.get(key)
    node = held() if held is not None else None
    if node is not None:
        return node
    new: Any = object.__new__(cls)
    new.__dict__.update(zip(cls.__match_args__, values, strict=True))  # type: ignore[attr-defined]
    made = Held(new, _forget)
    made.key = key
    while (held := _held.setdefault(key, made)) is not made:
        node = held()
        if node is not None:  # by another thread, meanwhile
            return node
        _forget(held)
    return new


class Node:
    """What is interned: a call gives the node that there is, or makes it."""

    def __new__(cls, *args: Any, **more: Any) -> Any:
        if more:
            args = _complete(cls, args, more)
        elif len(args) != len(cls.__match_args__):  # type: ignore[attr-defined]
            args += _rest(cls, len(args))  # type: ignore[arg-type]
        return the_one(cls, args, (cls, *args))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, name) for name in type(self).__match_args__)  # type: ignore


def _complete(cls: Any, args: Key, more: dict[str, Any]) -> Key:
    """All by position, with the defaults of those that were left out."""
    names = cls.__match_args__[len(args) :]
    if len(args) > len(cls.__match_args__) or not more.keys() <= set(names):
        raise TypeError(f"{cls.__name__} has {cls.__match_args__}, and is given {args} and {more}")
    try:
        return *args, *(more[name] if name in more else cls._defaults[name] for name in names)
    except KeyError as problem:
        raise TypeError(f"{cls.__name__} needs {problem}") from None


@cache
def _rest(cls: Any, count: int) -> Key:
    """The defaults of the fields behind the first ones."""
    return _complete(cls, (None,) * count, {})[count:]


def interned(cls: Kind) -> Kind:
    """Of a frozen dataclass of nodes, with no equality of its own."""
    made: Any = cls
    made._defaults = {item.name: item.default for item in fields(made) if item.default is not MISSING}
    del made.__init__  # type checkers read it; `Node` fills the fields, once
    return cls
