"""Which list a name holds: a list that changes does so by whatever name it is held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .values import Bound, Closure, Items, Method, TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter


def frames_of(interpreter: Interpreter) -> Iterator[Any]:
    """The frames of all calls under way, and those that the functions that can be called were defined in."""
    seen: set[int] = set()
    waiting = list(interpreter.frames)
    for frame in waiting:
        inner: Any = frame
        while inner is not None and id(inner) not in seen:
            seen.add(id(inner))
            waiting += _scopes(inner.env.values())
            yield inner
            inner = inner.parent


def _scopes(values: Iterable[Any]) -> Iterator[Any]:
    """The scopes of functions that are held: a call may have ended, and a function of its goes on with its lists."""
    for value in values:
        match value:
            case Closure(frame=frame):
                yield frame
            case Method(owner=owner):
                yield from _scopes((owner,))
            case TupleValue(items=items):
                yield from _scopes(items)
            case Bound(function=function, args=args, kwargs=kwargs):
                yield from _scopes((function, *args, *(item for _, item in kwargs)))


def held(interpreter: Interpreter) -> dict[object, Any]:
    """Every list that was made here and is held somewhere, by its identity."""
    out: dict[object, Any] = {}

    def visit(value: Any) -> None:
        if isinstance(value, (TupleValue, Items)) and value.identity is not None:
            out[value.identity] = value
        if isinstance(value, TupleValue):
            for item in value.items:
                visit(item)

    for frame in frames_of(interpreter):
        for value in frame.env.values():
            visit(value)
    return out


def change(interpreter: Interpreter, identity: object, new: Any) -> None:
    """Put what a list is now in its place, wherever it is held."""

    def changed(value: Any) -> Any:
        if isinstance(value, (TupleValue, Items)) and value.identity is identity:
            return new
        if isinstance(value, TupleValue):
            items = tuple(map(changed, value.items))
            return value if all(map(_is, items, value.items)) else replace(value, items=items)
        return value

    for frame in frames_of(interpreter):
        for name, value in frame.env.items():
            frame.env[name] = changed(value)


def _is(x: Any, y: Any) -> bool:
    return x is y


def is_same_list(x: Any, y: Any) -> bool:
    """Are these two states of one list?"""
    lists = (TupleValue, Items)
    return isinstance(x, lists) and isinstance(y, lists) and x.identity is not None and x.identity is y.identity


def is_list(value: Any) -> bool:
    return isinstance(value, Items) or (isinstance(value, TupleValue) and value.kind is list)


def can_change(value: Any) -> bool:
    """Is it a list or an object that is known by what it is, or does it hold one?"""
    if isinstance(value, TupleValue) and any(map(can_change, value.items)):
        return True
    return getattr(value, "identity", None) is not None


def is_alike(x: Any, y: Any) -> bool:
    """Are these groups of as many items, under the same names?"""
    return isinstance(x, TupleValue) and isinstance(y, TupleValue) and len(x.items) == len(y.items) and x.kind == y.kind


def name_of(interpreter: Interpreter, identity: object) -> str:
    """What to call a list: the first name for it."""
    for frame in reversed(list(frames_of(interpreter))):
        for name, value in frame.env.items():
            if getattr(value, "identity", None) is identity:
                return name if frame is interpreter.frame else f"{name}_items"
    return "items"


def holders(env: dict[str, Any], identity: object) -> int:
    """How many names stand for a list, or for something that has it as an item."""
    return sum(_has(value, identity) for value in env.values())


def _has(value: Any, identity: object) -> bool:
    if getattr(value, "identity", None) is identity:
        return True
    return isinstance(value, TupleValue) and any(_has(item, identity) for item in value.items)


def is_held_by_others(interpreter: Interpreter, name: str, identity: object) -> bool:
    """Is a list held by anything that is still wanted, but for this name?"""
    for frame in frames_of(interpreter):
        for other, value in frame.env.items():
            here = frame is interpreter.frame
            wanted = interpreter.wanted is None or other in interpreter.wanted
            if not (here and (other == name or not wanted)) and _has(value, identity):
                return True
    return False


def identity_of_either(interpreter: Interpreter, name: str, x: Any, y: Any) -> object | None:
    """The identity of a list that is one of two by the path taken: None if it can't be told who else holds it."""
    if x.identity is y.identity:
        return x.identity
    both = [value.identity for value in (x, y) if value.identity is not None]
    if len(both) == 2 and not any(_is_held_twice(interpreter, identity) for identity in both):
        return object()
    interpreter.one_of_several.update(both)
    return None


def _is_held_twice(interpreter: Interpreter, identity: object) -> bool:
    """At the end of a branch: by more than the one name that both sides have in common."""
    others = (frame.env for frame in frames_of(interpreter) if frame is not interpreter.frame)
    return any(holders(env, identity) > 1 for env in interpreter.branch_envs) or any(
        holders(env, identity) for env in others
    )
