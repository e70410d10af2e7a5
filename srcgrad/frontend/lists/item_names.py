"""Names of what may be an object in a list that changes, or of what another one has taken the place of.

b = bodies[0]                    b is a view of the row of number 0, which is another object's by now: it can't be
bodies.sort(key=by_mass)    →    read any more
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...ir.expressions import Array, Load
from .. import identities
from ..aliases import arrays_of
from ..array_values import ArrayValue, axes
from ..values import Closure, Items, Lost, Static, is_lost
from . import item_views

if TYPE_CHECKING:
    from ..interpret import Interpreter


def lose_copies(interpreter: Interpreter, root: str) -> None:
    """Names of copies of what may be the object that has changed."""
    build = interpreter.build
    memory = {root, *build.all_twins(root), identities.ANY_MEMORY}
    several = interpreter.one_of_several
    if any(held & memory and identity in several for identity, held in interpreter.given_away.items()):
        build.refuse(
            "an object is changed that is an item of a list, and that other names may stand for, by the path taken",
            "give those names copies:  y = copy.copy(ys[i])",
        )

    def is_copy(value: Any) -> bool:
        identity = getattr(value, "identity", None)
        if identity is not None and root in build.fields.popped.get(identity, ()):
            return False
        if identity is not None and interpreter.given_away.get(identity, frozenset()) & memory:
            seen = item_views.rows_of(interpreter, value)
            if seen is not None and build.root(seen) == root:
                return False
            return any(True for _ in item_views.parts_in(value))
        return any(map(is_copy, identities.parts_of(value)))

    why = "is an object that is, or may be, an item of a list, and was changed there"
    _lose(interpreter, is_copy, why, "look it up again behind the change:  y = ys[i]")


def note_moved(interpreter: Interpreter, rows: Array) -> None:
    """Items get other places: what is looked up at a place is another object from then on."""
    if not interpreter.build.fields.are_views:
        return
    build, root = interpreter.build, interpreter.build.root(rows)
    moved = interpreter.build.fields.moved
    moved[root] = moved.get(root, 0) + 1
    interpreter.build.fields.disturbed += 1

    def is_there(value: Any) -> bool:
        seen = item_views.rows_of(interpreter, value)
        if seen is not None:
            return build.root(seen) == root
        return any(map(is_there, identities.parts_of(value)))

    why = "is an object that was an item of a list, the items of which have got other places"
    _lose(interpreter, is_there, why, "look it up again behind that:  y = ys[i]")
    forget_shown(interpreter, rows)


def forget_shown(interpreter: Interpreter, rows: Array) -> None:
    """An object has another array now: names that show the one before where it lay."""
    build, root = interpreter.build, interpreter.build.root(rows)
    interpreter.build.fields.disturbed += 1

    def shows(value: Any) -> bool:
        if item_views.is_view(interpreter, value) or isinstance(value, Items):
            return False
        parts = identities.parts_of(value)
        if parts:
            return any(map(shows, parts))
        if not isinstance(value, ArrayValue) or _is_of_items(interpreter, value):
            return False
        return any(build.root(array) == root for array in arrays_of(value))

    why = "is an array of an object in a list, which has got another one"
    _lose(interpreter, shows, why, "keep a copy:  x = y.x.copy()")


def _is_of_items(interpreter: Interpreter, value: ArrayValue) -> bool:
    """Is it the rows of a list, that a loop runs over?"""
    match value.element:
        case Load(array=array, index=index):
            return index == axes(array.ndim) and array.name in interpreter.build.fields.rows
    return False


def _lose(interpreter: Interpreter, loses: Callable[[Any], bool], why: str, help: str) -> None:
    for frame in identities.frames_of(interpreter):
        for name, value in frame.env.items():
            if isinstance(value, Closure) and any(map(loses, value.defaults.values())):
                interpreter.build.refuse(f"a default of {name} {why}", help)
            if loses(value):
                interpreter.build.fields.disturbed += 1
                if name.startswith("."):  # a loop goes on with it, or a call
                    interpreter.build.refuse(f"what is gone through here {why}", help)
                frame.env[name] = Static(Lost(f"{name} {why}", help))


def look_up(interpreter: Interpreter, name: str, value: Any) -> None:
    """What a name stands for is wanted."""
    if identities.can_change(value):
        interpreter.build.fields.note_looked_up(name)
        check_fresh(interpreter, value)


def check_next(interpreter: Interpreter, before: set[tuple[int, str]], looks: int) -> None:
    """At the end of a loop: what it has read by names of other calls, the next iteration reads again."""
    for frame in identities.frames_of(interpreter):
        for name, value in frame.env.items():
            is_read = interpreter.build.fields.looked_up.get(name, 0) > looks
            if is_read and is_lost(value) and (id(frame), name) not in before and frame is not interpreter.frame:
                interpreter.build.refuse(value.value.why, value.value.help)


def lost_names(interpreter: Interpreter) -> set[tuple[int, str]]:
    frames = identities.frames_of(interpreter)
    return {(id(frame), name) for frame in frames for name, value in frame.env.items() if is_lost(value)}


def check_fresh(interpreter: Interpreter, value: Any) -> None:
    """What a name stands for is wanted: are the objects in it what they are by other names?"""
    if item_views.is_view(interpreter, value):
        for part in item_views.parts_in(value):
            interpreter.build.check_fresh(item_views.expr_of(part))
    else:
        for part in identities.parts_of(value):
            check_fresh(interpreter, part)


def check_under_way(interpreter: Interpreter, value: Any, changed: set[Any]) -> None:
    """An operand that was evaluated ahead of statements that change memory: is it still what Python has?"""
    fields, build = interpreter.build.fields, interpreter.build
    if not fields.are_views or not (fields.changed | fields.moved.keys()) & changed:
        return
    others = changed & (fields.replaced | fields.moved.keys())  # an object has another array, or is another one
    if isinstance(value, ArrayValue) and any(build.root(array) in others for array in arrays_of(value)):
        _refuse_under_way(interpreter)
    identity = getattr(value, "identity", None)
    given = interpreter.given_away.get(identity, frozenset()) if identity is not None else frozenset()
    seen = item_views.rows_of(interpreter, value)
    if seen is not None:
        if build.root(seen) in changed & fields.moved.keys():
            _refuse_under_way(interpreter)
    elif given:
        memory = {other for root in changed if isinstance(root, str) for other in (root, *build.all_twins(root))}
        if given & {*memory, identities.ANY_MEMORY}:
            _refuse_under_way(interpreter)
    else:
        for part in identities.parts_of(value):
            check_under_way(interpreter, part, changed)


def _refuse_under_way(interpreter: Interpreter) -> None:
    interpreter.build.refuse(
        "a later operand changes an object in a list, and an earlier one may be that object",
        "give the later operand a name first",
    )
