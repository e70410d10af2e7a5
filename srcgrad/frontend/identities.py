"""Which list a name holds: a list that changes does so by whatever name it is held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..ir.types import DictKind
from . import optional
from .values import Bound, Closure, Differentiated, Generator, Items, Method, Once, OneOf, Static, TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter


ANY_MEMORY = ""  # in the place of the name of an array: it may be that of any list


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
    """The scopes of functions and generators that are held: a call may have ended, and these go on with its lists."""
    for value in values:
        kind = type(value)
        if kind is Closure:
            yield value.frame
        elif kind is Static and type(value.value) is Generator:
            if value.value.scope is not None:
                yield value.value.scope
        elif kind in PARTS:  # most hold nothing, and are asked again for every statement
            own = (value.function,) if isinstance(value, Bound) else ()
            yield from _scopes((*own, *parts_of(value)))


def held(interpreter: Interpreter, but: Sequence[Any] = ()) -> dict[object, Any]:
    """Every list that was made here and is held somewhere, by its identity; `but` by the names of these frames."""
    frames = [frame for frame in frames_of(interpreter) if not any(frame is other for other in but)]
    return held_in(frame.env for frame in frames)


def held_in(envs: Iterable[dict[str, Any]]) -> dict[object, Any]:
    out: dict[object, Any] = {}
    _note_held((value for env in envs for value in env.values()), out)
    return out


def _note_held(values: Iterable[Any], out: dict[object, Any]) -> None:
    for value in values:
        kind = type(value)
        if (kind is TupleValue or kind is Items) and value.identity is not None:
            out[value.identity] = value
        if kind in PARTS:
            _note_held(parts_of(value), out)


def check_own(interpreter: Interpreter, owner: TupleValue | Items, what: str) -> None:
    """Only a list of which all names are known can change."""
    if owner.identity in interpreter.given_away:
        names = ("a list", "another one", "list(y)") if is_list(owner) else ("an object", "a list", "copy.copy(y)")
        held, owners, copied = names
        interpreter.build.refuse(
            f"{what} changes {held} that is an item of {owners}, where how many there are is only known at run time",
            "change it ahead of putting it in",
            f"or put in a copy:  ys.append({copied})",
            "or keep what changes in a list of its own:  fs[i] = …",
        )
    if owner.identity is None or owner.identity in interpreter.one_of_several:
        is_dict = isinstance(owner, TupleValue) and isinstance(owner.kind, DictKind)
        held, copied = ("a dict", "d = dict(d)") if is_dict else ("an object", "y = copy.copy(y)")
        held, copied = ("a list", "ys = list(ys)") if is_list(owner) else (held, copied)
        several = "is one of several by the path taken"
        which = f"comes from outside, or {several}" if owner.identity is None else several
        into = "d['x'][:] = …" if is_dict else "y.x[:] = …,  y.x += …"
        inside = [] if is_list(owner) else [f"or what is in an array of it:  {into}"]
        interpreter.build.refuse(f"{what} changes {held} that {which}", f"change a copy:  {copied}", *inside)


def change(interpreter: Interpreter, identity: object, new: Any) -> None:
    """Put what a list is now in its place, wherever it is held."""
    states = held(interpreter)
    states.pop(identity, None)
    new = _with_parts(new, tuple(_in_state(part, states) for part in parts_of(new))) if parts_of(new) else new
    if any(has(part, identity) for part in parts_of(new)):
        interpreter.build.refuse("a list or an object that holds itself", "keep numbers that say which one is meant")
    interpreter.latest[identity] = new
    for frame in frames_of(interpreter):
        for name, value in frame.env.items():
            frame.env[name] = _in_state(value, {identity: new})


def now(interpreter: Interpreter, value: Any) -> Any:
    """A value as it is now, if it was evaluated ahead of what may have changed a list or an object in it."""
    return _in_state(value, held(interpreter)) if can_change(value) else value


def _in_state(value: Any, states: dict[object, Any]) -> Any:
    if isinstance(value, (TupleValue, Items)) and value.identity in states:
        return states[value.identity]
    old = parts_of(value)
    new = tuple(_in_state(part, states) for part in old)
    return value if all(map(_is, new, old)) else _with_parts(value, new)


def _arguments(value: Bound) -> tuple[Any, ...]:
    return (*value.args, *(item for _, item in value.kwargs))


PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    TupleValue: attrgetter("items"),
    Method: lambda value: (value.owner,),
    Bound: _arguments,
    Differentiated: _arguments,
    OneOf: attrgetter("options"),
    Once: lambda value: (value.value,),
}


def parts_of(value: Any) -> tuple[Any, ...]:
    """What a value holds: the items of a tuple, the list of a method of it, the arguments of a partial."""
    parts = PARTS.get(type(value))
    return parts(value) if parts is not None else ()


def _with_parts(value: Any, parts: tuple[Any, ...]) -> Any:
    match value:
        case TupleValue():
            return replace(value, items=parts)
        case Method():
            return replace(value, owner=parts[0])
        case OneOf():
            return replace(value, options=parts)
        case Once():
            return replace(value, value=parts[0])
    known = zip(dict(value.kwargs), parts[len(value.args) :], strict=True)
    return replace(value, args=parts[: len(value.args)], kwargs=tuple(known))


def _is(x: Any, y: Any) -> bool:
    return x is y


def is_same_list(x: Any, y: Any) -> bool:
    """Are these two states of one list?"""
    lists = (TupleValue, Items)
    return isinstance(x, lists) and isinstance(y, lists) and x.identity is not None and x.identity is y.identity


def is_same(x: Any, y: Any) -> bool:
    """Are these the same value, but for the states of the lists and objects in it, which are known by what they are?"""
    if x is y or x == y or is_same_list(x, y):
        return True
    parts, others = parts_of(x), parts_of(y)
    if type(x) is not type(y) or not parts or len(parts) != len(others):
        return False
    return all(map(is_same, parts, others)) and _with_parts(x, others) == y


def is_list(value: Any) -> bool:
    return isinstance(value, Items) or (isinstance(value, TupleValue) and value.kind is list)


def is_own(interpreter: Interpreter, value: Any) -> bool:
    """Is it a list or an object of which it is known who holds it?"""
    identity = getattr(value, "identity", None)
    return identity is not None and identity not in interpreter.one_of_several


def is_known(interpreter: Interpreter, value: Any) -> bool:
    """Is it a list or an object that something has held, perhaps until just now, as when items change places?"""
    identity = getattr(value, "identity", None)
    return identity is not None and (identity in interpreter.latest or identity in held(interpreter))


def can_change(value: Any) -> bool:
    """Is it a list or an object that is known by what it is, or does it hold one?"""
    return getattr(value, "identity", None) is not None or any(map(can_change, parts_of(value)))


def is_alike(x: Any, y: Any) -> bool:
    """Are these groups of as many items, under the same names?"""
    return isinstance(x, TupleValue) and isinstance(y, TupleValue) and len(x.items) == len(y.items) and x.kind == y.kind


def holders(env: dict[str, Any], identity: object) -> int:
    """How many times names stand for a list, or for something that has it as an item."""
    return sum(_times(value, identity) for value in env.values())


def _times(value: Any, identity: object) -> int:
    return (getattr(value, "identity", None) is identity) + sum(_times(part, identity) for part in parts_of(value))


def has(value: Any, identity: object) -> bool:
    return getattr(value, "identity", None) is identity or any(has(part, identity) for part in parts_of(value))


def within(value: Any) -> Iterator[object]:
    """What lists and objects there are in a value, itself included."""
    identity = getattr(value, "identity", None)
    if identity is not None:
        yield identity
    for part in parts_of(value):
        yield from within(part)


def parts_within(value: Any) -> Iterator[Any]:
    """The lists and objects in a value, each behind those in it."""
    for part in parts_of(value):
        yield from parts_within(part)
        if getattr(part, "identity", None) is not None:
            yield part


def under_new_identities(value: Any) -> Any:
    """The value as if all lists and objects in it were others."""
    parts = parts_of(value)
    if parts:
        value = _with_parts(value, tuple(map(under_new_identities, parts)))
    return value if getattr(value, "identity", None) is None else replace(value, identity=object())


def places_of(interpreter: Interpreter, identity: object, within: Any = None) -> set[Any]:
    """Where a list or an object is held: by names that are still wanted, as items of others; or `within` a value."""
    if within is not None:
        return set(_places(within, identity, ()))
    found: set[Any] = set()
    for frame in frames_of(interpreter):
        for name, value in frame.env.items():
            here = frame is interpreter.frame
            if not here or interpreter.wanted is None or name in interpreter.wanted:
                found.update(_places(value, identity, (id(frame), name)))
    return found


def _places(value: Any, identity: object, place: Any) -> Iterator[Any]:
    own = getattr(value, "identity", None)
    if own is identity:
        yield place
    for k, part in enumerate(parts_of(value)):
        yield from _places(part, identity, (place if own is None else own, k))  # by whatever name its owner goes


def is_held_by_others(interpreter: Interpreter, name: str, identity: object) -> bool:
    """Is a list held by anything that is still wanted, but for this name?"""
    for frame in frames_of(interpreter):
        for other, value in frame.env.items():
            here = frame is interpreter.frame
            wanted = interpreter.wanted is None or other in interpreter.wanted
            if not (here and (other == name or not wanted)) and has(value, identity):
                return True
    return False


def is_nobody_elses(interpreter: Interpreter, name: str, value: Any) -> bool:
    """Does nothing else hold this list or object, or one in it?"""
    parts = list(within(value))
    are_given = any(identity in interpreter.given_away for identity in parts)
    return not are_given and not any(is_held_by_others(interpreter, name, identity) for identity in parts)


def unknown(value: Any) -> Any:
    """What is read from now on, and not changed before the loop ends."""
    if isinstance(value, TupleValue):
        return replace(value, items=tuple(map(unknown, value.items)), identity=None)
    return replace(value, identity=None) if isinstance(value, Items) else value


def as_new_as(value: Any, like: Any) -> Any:
    """What was returned from a loop and nobody else holds: lists and objects again, where these are in `like`."""
    if not (isinstance(value, TupleValue) and isinstance(like, TupleValue) and len(value.items) == len(like.items)):
        return value
    identity = object() if like.identity is not None else None
    return replace(value, items=tuple(map(as_new_as, value.items, like.items)), identity=identity)


def identity_of_either(interpreter: Interpreter, name: str, x: Any, y: Any) -> object | None:
    """The identity of a list that is one of two by the path taken: None if it can't be told who else holds it."""
    if x.identity is y.identity:
        return x.identity
    given = [interpreter.given_away[side.identity] for side in (x, y) if side.identity in interpreter.given_away]
    if given:
        either = object()
        interpreter.given_away[either] = frozenset().union(*given)
        return either
    both = [value.identity for value in (x, y) if value.identity is not None]
    are_own = interpreter.one_of_several.isdisjoint(both)
    are_all = len(both) == 2 or any(map(optional.is_nothing, (x, y)))  # where it is None, nobody holds it
    if are_own and are_all and not any(_is_held_twice(interpreter, identity) for identity in both):
        return interpreter.branch_identities.setdefault((x.identity, y.identity), object())
    interpreter.one_of_several.update(both)
    return None


def _is_held_twice(interpreter: Interpreter, identity: object) -> bool:
    """At the end of a branch: by more than the one place that both sides have in common."""
    elsewhere = {
        place
        for frame in frames_of(interpreter)
        if frame is not interpreter.frame
        for name, value in frame.env.items()
        for place in _places(value, identity, (id(frame), name))
    }
    return any(
        len(elsewhere | {place for name, value in env.items() for place in _places(value, identity, name)}) > 1
        for env in interpreter.branch_envs
    )
