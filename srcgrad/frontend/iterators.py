"""Names of iterators: what Python takes from one is gone, and it goes on with what its lists are by then.

pairs = zip(a, b)
total = sum(x * y for x, y in pairs)
more = list(pairs)                        here nothing is left in it: refused, as is a change of `a` ahead of the first
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import liveness
from .aliases import roots_of_value
from .values import Lost, Once, Static, TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter

MAKERS = (zip, map, filter, reversed, enumerate)
VIEWS = ("keys", "values", "items")


def are_made_by(function: Any) -> bool:
    maker = function.value if isinstance(function, Static) else None
    return any(maker is known for known in MAKERS) or getattr(maker, "__module__", None) == "itertools"


def noted(interpreter: Interpreter, value: Any) -> Any:
    """An iterator, which will be one when it gets a name."""
    interpreter.iterators[id(value)] = value
    return value


def assigned(interpreter: Interpreter, target: ast.expr, node: ast.expr, made: Any) -> None:
    """Behind `target = node`, with several names too."""
    match target, node:
        case ast.Name(id=name), _:
            if _holds_one(interpreter, made):
                interpreter.build.refuse(f"an iterator is held in {name}", "make a list of it:  list(…)")
            named(interpreter, name, node, made)
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=nodes) | ast.List(elts=nodes):
            if isinstance(made, TupleValue) and len(targets) == len(nodes) == len(made.items):
                for part, of, item in zip(targets, nodes, made.items, strict=True):
                    assigned(interpreter, part, of, item)


def _holds_one(interpreter: Interpreter, value: Any) -> bool:
    return isinstance(value, TupleValue) and any(id(item) in interpreter.iterators for item in value.items)


def named(interpreter: Interpreter, name: str, node: ast.expr, made: Any) -> None:
    """Behind `name = node`: an iterator can be gone through once, and like a view of a dict only as it was."""
    is_view = _is_view(node)
    if name.startswith(".") or interpreter.frame.is_composition or not (is_view or id(made) in interpreter.iterators):
        return
    own = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    made_of = {other: interpreter.frame.bound(other) for other in sorted(liveness.mentioned(node) - own - {name})}
    changes = _changes(interpreter, made_of)
    interpreter.env[name] = Once(interpreter.env[name], tuple(made_of.items()), changes, is_view)


def given(interpreter: Interpreter, arguments: dict[str, Any], settled: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as the callee sees them: those that are iterators can be gone through once in it."""
    once = {name for name, value in arguments.items() if id(value) in interpreter.iterators}
    return {name: Once(value, (), (), False) if name in once else value for name, value in settled.items()}


def _is_view(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr), args=[], keywords=[]):
            return attr in VIEWS
    return False


def _changes(interpreter: Interpreter, made_of: dict[str, Any]) -> tuple[int, ...]:
    """How often the memory of each has been written so far."""
    build = interpreter.build
    roots = [sorted(roots_of_value(build, value)) for value in made_of.values()]
    memory = [{root, *build.all_twins(root)} for each in roots for root in each]
    return tuple(sum(build.changes.get(root, 0) for root in each) for each in memory)


def taken(interpreter: Interpreter, name: str, value: Once) -> Any:
    """What a name stands for, which is read; nothing is left in an iterator then."""
    made_of = dict(value.made_of)
    now = {other: interpreter.frame.bound(other) for other in made_of}
    is_same = all(now[other] is before or now[other] == before for other, before in made_of.items())
    if not is_same or _changes(interpreter, made_of) != value.changes:
        interpreter.build.refuse(
            f"{name} goes through what has changed since it was made", f"make it here:  {name} = …"
        )
    if not value.is_view:
        frame = interpreter.frame
        while name not in frame.env:
            assert frame.parent is not None
            frame = frame.parent
        help = f"make a list of it:  {name} = list(…)"
        frame.env[name] = Static(Lost(f"{name} has been gone through, so nothing is left in it", help))
    return value.value if value.is_view else noted(interpreter, value.value)
