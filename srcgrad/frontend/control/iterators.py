"""Names of iterators: what Python takes from one is gone, and it goes on with what its lists are by then.

pairs = zip(a, b)
total = sum(x * y for x, y in pairs)
more = list(pairs)                        here nothing is left in it: refused, as is a change of `a` ahead of the first
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...ir.walk import loads, variables
from .. import binding, identities
from ..aliases import roots_of_value, value_leaves
from ..array_values import ArrayValue
from ..objects.changes import Changes
from ..packing import free_names
from ..syntax import liveness
from ..syntax.syntax import below, walk
from ..values import Bound, Closure, Endless, Indexed, Lost, Once, OneOf, Scalar, Static, TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter

MAKERS = (zip, map, filter, reversed, enumerate)
IN_TURN = (zip, reversed, enumerate)  # what these go through is read when its turn comes
AS_THEY_ARE = (itertools.chain, itertools.chain.from_iterable, itertools.islice, itertools.pairwise)
VIEWS = ("keys", "values", "items")


def are_made_by(function: Any) -> bool:
    maker = function.value if isinstance(function, Static) else None
    return any(maker is known for known in MAKERS) or getattr(maker, "__module__", None) == "itertools"


@dataclass(frozen=True, eq=False)
class Reads:
    """What names stand for, each in a frame, and how often the memory of each has been written."""

    names: tuple[tuple[Any, str, Any], ...] = ()
    changes: tuple[int, ...] = ()

    def are_same(self, interpreter: Interpreter) -> bool:
        now = [identities.now(interpreter, frame.bound(name)) for frame, name, _ in self.names]
        are_same = all(new is old or new == old for new, (_, _, old) in zip(now, self.names, strict=True))
        return are_same and _changes(interpreter, self.names) == self.changes


@dataclass(frozen=True, eq=False)
class Unnamed:
    """In the place of a frame: what had a name, and can't be changed by it any more."""

    value: Any

    def bound(self, name: str) -> Any:
        return self.value


@dataclass(frozen=True, eq=False)
class Made:
    """An iterator; `of`: what it is made of.  `ahead`: what Python reads item by item, and we have read by now.
    `has_written`: what Python would write item by item, we have written by now."""

    of: Reads = Reads()
    ahead: Reads = Reads()
    has_written: bool = False


class Iterators:
    """What is gone through once in Python, by which value stands for it.

    Values that are equal may be two iterators, so each is known by its address, and held for as long as that means it.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Made]] = {}

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._known

    def get(self, value: Any) -> Made | None:
        _, made = self._known.get(id(value), (None, None))
        return made

    def note(self, value: Any, made: Made) -> None:
        self._known[id(value)] = value, made


def noted(
    interpreter: Interpreter,
    value: Any,
    node: ast.expr,
    changes: Changes,
    function: Any = None,
    args: Sequence[Any] = (),
) -> Any:
    """An iterator, which will be one when it gets a name."""
    of = _reads(interpreter, node)
    parts = [part for arg in args if (part := interpreter.iterators.get(arg))]
    written = [part.has_written for part in parts]
    gone_through = [arg for arg in args if not isinstance(arg, (Closure, Bound, Static))]
    if any(written) and (changes.since() or len(gone_through) > 1):  # in Python they take turns
        _refuse_writing(interpreter, "an iterator is made of one")
    has_written = any(written) or changes.since()
    ahead = [*(part.ahead for part in parts), *_copied(interpreter, args)]
    if not _is_read_in_turn(value, function, args):
        ahead.append(of)
    names, counts = (tuple(x for part in ahead for x in getattr(part, field)) for field in ("names", "changes"))
    interpreter.iterators.note(value, Made(of, Reads(names, counts), has_written))
    return value


def _copied(interpreter: Interpreter, args: Sequence[Any]) -> list[Reads]:
    """Of what comes again and again we have a copy, and Python reads it item by item when it comes first."""
    found = [arg.source for arg in args if isinstance(arg, Endless) and arg.source is not None]
    names = tuple((Unnamed(value), "", value) for value in found)
    return [Reads(names, _changes(interpreter, names))] if names else []


def _is_read_in_turn(value: Any, function: Any, args: Sequence[Any]) -> bool:
    """Is an item looked at when a loop comes to it, or is it one and the same thing all the time?"""
    if isinstance(value, Indexed):
        return any(function is known for known in (*IN_TURN, map))
    if any(function is known for known in IN_TURN):
        return not any(isinstance(arg, Indexed) for arg in args)
    return isinstance(value, TupleValue) and any(function is known for known in AS_THEY_ARE)


def _refuse_writing(interpreter: Interpreter, what: str) -> None:
    interpreter.build.refuse(f"{what} whose items change arrays, lists or numbers", "make a list of it:  list(…)")


def as_displayed(interpreter: Interpreter, node: ast.expr, value: Any) -> Any:
    """What stands in [x[0], y] is read there; an iterator over x reads x[0] when its turn comes."""
    match node, value:
        case ast.List(elts=nodes) | ast.Tuple(elts=nodes), TupleValue(items=items) if len(nodes) == len(items):
            parts = (as_displayed(interpreter, of, item) for of, item in zip(nodes, items, strict=True))
            return replace(value, items=tuple(parts))
        case ast.expr(), Scalar(expr=expr) if loads(expr):
            return binding.settled(interpreter, value)
        case ast.expr(), ArrayValue(handle=None, is_window=False):
            return binding.settled(interpreter, value)
    return value


def _reads(interpreter: Interpreter, node: ast.expr) -> Reads:
    """What an expression reads around it, and what the functions read that it names."""
    own = {part.id for part in walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    own |= {part.arg for part in walk(node) if isinstance(part, ast.arg)}
    found: dict[tuple[int, str], tuple[Any, str, Any]] = {}
    waiting = [(interpreter.frame, name) for name in sorted(liveness.mentioned(node) - own)]
    while waiting:
        frame, name = waiting.pop(0)
        if (id(frame), name) not in found:
            value = frame.bound(name)
            found[id(frame), name] = frame, name, value
            waiting += [(closure.frame, free) for closure in _closures(value) for free in free_names(closure)]
    names = tuple(found.values())
    return Reads(names, _changes(interpreter, names))


def _closures(value: Any) -> Iterator[Closure]:
    match value:
        case Closure():
            yield value
        case Bound(function=function, args=args):
            for part in (function, *args):
                yield from _closures(part)
        case TupleValue(items=items) | OneOf(options=items):
            for item in items:
                yield from _closures(item)


def assigned(interpreter: Interpreter, targets: list[ast.expr], node: ast.expr, made: Any) -> None:
    """Behind `target = node`, with several names too."""
    if interpreter.frame.is_composition:
        return
    match targets, node:
        case [ast.Name(id=name)], _:
            if _holds_one(interpreter, made) or _is_one_by_the_path(node):
                _refuse_holding(interpreter, targets[0])
            named(interpreter, name, node, made)
        case [ast.Tuple(elts=parts) | ast.List(elts=parts)], ast.Tuple(elts=nodes) | ast.List(elts=nodes):
            if isinstance(made, TupleValue) and len(parts) == len(nodes) == len(made.items):
                for part, of, item in zip(parts, nodes, made.items, strict=True):
                    assigned(interpreter, [part], of, item)
        case [ast.Tuple() | ast.List()], _:
            pass
        case _ if made in interpreter.iterators or _holds_one(interpreter, made) or _is_one_by_the_path(node):
            _refuse_holding(interpreter, targets[0])


def _refuse_holding(interpreter: Interpreter, target: ast.expr) -> None:
    interpreter.build.refuse(f"an iterator is held in {ast.unparse(target)}", "make a list of it:  list(…)")


def _is_one_by_the_path(node: ast.expr) -> bool:
    sides = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
    return any(isinstance(side, ast.GeneratorExp) or _is_one_by_the_path(side) for side in sides)


def _holds_one(interpreter: Interpreter, value: Any) -> bool:
    return isinstance(value, TupleValue) and any(item in interpreter.iterators for item in value.items)


def named(interpreter: Interpreter, name: str, node: ast.expr, made: Any) -> None:
    """Behind `name = node`: an iterator can be gone through once, and like a view of a dict only as it was."""
    is_view = _is_view(node)
    if name.startswith(".") or not (is_view or made in interpreter.iterators):
        return
    made = interpreter.iterators.get(made) or Made(_reads(interpreter, node))
    if made.has_written:
        _refuse_writing(interpreter, f"{name} is an iterator")
    if name not in _read_later(node):
        made = replace(
            made, of=_taken_over(interpreter, name, made.of), ahead=_taken_over(interpreter, name, made.ahead)
        )
    interpreter.env[name] = Once(interpreter.env[name], made, is_view)


def _read_later(node: ast.AST) -> set[str]:
    """Names in functions and generators that stand in an expression: these read them in their turn."""
    match node:
        case ast.Lambda():
            return liveness.mentioned(node)
        case ast.GeneratorExp(generators=[first, *_]):
            later = map(liveness.mentioned, (node.elt, *first.ifs, *node.generators[1:]))
            return _read_later(first.iter).union(*later)
    return set().union(*map(_read_later, below(node)))


def _taken_over(interpreter: Interpreter, name: str, reads: Reads) -> Reads:
    """xs = map(f, xs): the name stands for the iterator now, what it was for is as it was if nobody else has it."""
    held = identities.held(interpreter).keys()
    functions = [closure for _, _, value in reads.names for closure in _closures(value)]
    if any(name in free_names(function) for function in functions):
        return reads
    names = [
        (Unnamed(value), own, value)
        if own == name and frame is interpreter.frame and not held & identities.held_in([{own: value}]).keys()
        else (frame, own, value)
        for frame, own, value in reads.names
    ]
    return replace(reads, names=tuple(names))


def given(interpreter: Interpreter, arguments: dict[str, Any], settled: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as the callee sees them: those that are iterators can be gone through once in it."""
    made = {name: interpreter.iterators.get(value) for name, value in arguments.items()}
    if any(of.has_written for of in made.values() if of is not None):
        _refuse_writing(interpreter, "an argument is an iterator")
    return {name: Once(value, made[name], False) if made.get(name) else value for name, value in settled.items()}


def _is_view(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr), args=[], keywords=[]):
            return attr in VIEWS
    return False


def _changes(interpreter: Interpreter, names: Sequence[tuple[Any, str, Any]]) -> tuple[int, ...]:
    """How often the numbers and the memory of each have been written so far."""
    build = interpreter.build
    counts = []
    for _, _, value in names:
        numbers = {var.name for leaf in value_leaves(value) if isinstance(leaf, Scalar) for var in variables(leaf.expr)}
        memory = ({root, *build.all_twins(root)} for root in roots_of_value(build, value))
        counts.append(sum(build.changes.get(name, 0) for name in numbers.union(*memory)))
    return tuple(counts)


def taken(interpreter: Interpreter, name: str, value: Once) -> Any:
    """What a name stands for, which is read; nothing is left in an iterator then."""
    if not value.made.of.are_same(interpreter):
        interpreter.build.refuse(
            f"{name} goes through what has changed since it was made", f"make it here:  {name} = …"
        )
    if value.is_view:
        return value.value
    frame = interpreter.frame
    while name not in frame.env:
        assert frame.parent is not None
        frame = frame.parent
    help = f"make a list of it:  {name} = list(…)"
    frame.env[name] = Static(Lost(f"{name} has been gone through, so nothing is left in it", help))
    interpreter.iterators.note(value.value, value.made)
    return value.value


def run_over(interpreter: Interpreter, over: Any) -> None:
    """Ahead of a loop over it."""
    made = interpreter.iterators.get(over)
    if made is not None and made.has_written:
        _refuse_writing(interpreter, "a loop runs over an iterator")


def check_ahead(interpreter: Interpreter, over: Any, at: ast.expr) -> None:
    """After an iteration: is what has been read ahead of the loop still what Python would read in the next ones?"""
    made = interpreter.iterators.get(over)
    if made is not None and not made.ahead.are_same(interpreter):
        interpreter.at(at)
        interpreter.build.refuse(
            "a loop changes what the iterator that it runs over reads", "make a list of it:  for y in list(…)"
        )
