"""What goes round a loop: one variable for a scalar, one memory for an array that is rebound.

    s = 0.0                      s = 0.0
    for i in range(n):     →     for i in range(n):        (s is one mutable variable)
        s = s * x[i]                 s = s * x[i]

A loop is interpreted again when its end disagrees with its beginning: a type widens (int → float), an array name turns
out to be rebound, or memory turns out to be known by another name.  New contents of a rebound name are copied to its
memory, or, where names only change places (`u, un = un, u`), the two swap.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..ir import affine
from ..ir.expressions import BOOL, Array, Call, Const, Expr, Var, is_inexact
from ..ir.nodes import AddTo, Alloc, Assign, If, Raise, Stmt
from ..ir.walk import statements, variables
from . import binding, growing_lists, identities, lists, optional, resized
from .aliases import Aliased, is_private, mind_aliases, note_twins, roots_of_value
from .arithmetic import cast, cast_value
from .growing_lists import Growth
from .handed_on import (
    check_same_shape,
    exchange,
    in_other_memory,
    in_parallel,
    permuted,
    shape_known_ahead,
    steady_dims,
)
from .liveness import assigned
from .recursion import NotYetKnown
from .values import (
    UNDEFINED,
    ArrayValue,
    Items,
    Range,
    Scalar,
    Slice,
    Static,
    TupleValue,
    whole,
)

if TYPE_CHECKING:
    from .interpret import Interpreter


MOST_TRIES = 200  # at one loop: each teaches something, and no loop has so much to teach


class Widen(Exception):
    """A name that goes round a loop does not keep its type: try again with the wider one.

    `part`: the name of the item, where it is one of a tuple or a list.
    """

    def __init__(self, name: str, dtype: np.dtype, weak: bool, part: str = "") -> None:
        self.name, self.part, self.dtype, self.weak = name, part or name, dtype, weak


@dataclass
class Attempt:
    """What earlier tries at a loop have taught: types that widen, arrays that are rebound, arrays that are swapped."""

    types: dict[str, tuple[np.dtype, bool]] = field(default_factory=dict)
    rebound: dict[str, Any] = field(default_factory=dict)
    resized: dict[str, resized.Growth] = field(default_factory=dict)  # rebound arrays that change their lengths
    swapped: set[str] = field(default_factory=set)
    unbound: set[str] = field(default_factory=set)  # names without a value ahead of the loop
    twins: set[tuple[str, str]] = field(default_factory=set)  # a rebound name, and a name or memory that it may be
    stale: dict[str, Any] = field(default_factory=dict)  # what an iteration leaves stale for the next
    optional: dict[str, Any] = field(default_factory=dict)  # names that are None at times, with what they are else
    lists: dict[object, str] = field(default_factory=dict)  # lists that may change in place, with a name for each
    growth: dict[object, Growth] = field(default_factory=dict)  # of lists that change their lengths
    other_lists: set[str] = field(default_factory=set)  # names that are other lists at the end than at the beginning
    held_twice: set[str] = field(default_factory=set)  # of these, those that are lists which others hold as well


def carried_now(interpreter: Interpreter) -> set[str]:
    """The names of the current call that go round a loop being interpreted."""
    stack = interpreter.__dict__.setdefault("loop_stack", [])
    return {name for frame, names in stack if frame is interpreter.frame for name in names}


def join_scalars(x: Scalar, y: Scalar) -> tuple[np.dtype, bool]:
    """The dtype of a variable that holds either."""
    if x.weak and y.weak:
        return np.result_type(x.dtype, y.dtype), True
    if x.weak != y.weak:
        weak, strong = (x, y) if x.weak else (y, x)
        kind = {"f": float, "c": complex, "i": int, "u": int, "b": bool}[weak.dtype.kind]
        if kind is bool:
            return np.result_type(strong.dtype, BOOL), False
        return np.result_type(strong.dtype, kind(0)), False
    return np.result_type(x.dtype, y.dtype), False


def bound_flag(name: str) -> str:
    """The name of a flag that says whether a name has a value yet, where that depends on the path."""
    return f".bound_{name}"


def check_bound(interpreter: Interpreter, name: str) -> None:
    """Python raises UnboundLocalError for a name that this path did not bind."""
    flag = interpreter.env.get(bound_flag(name))
    if not isinstance(flag, Scalar) or (flag.is_constant and flag.value):
        return
    missing = Raise(
        "UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value"
    )
    interpreter.build.emit(If(Call("not", (flag.expr,), BOOL), (missing,)))
    interpreter.env[bound_flag(name)] = Scalar(Const(True, BOOL), weak=True) if interpreter.build.is_top_level else flag


def repeat(
    interpreter: Interpreter,
    node: ast.For | ast.While,
    body: list[ast.stmt],
    make: Callable[[list[str]], Stmt],
    over: Range | None = None,
    is_short: bool = False,
) -> None:
    """Interpret a loop until its end agrees with its beginning.

    `over`: the range that it runs over, at most.  `is_short`: it can be written out instead, for a list that grows.
    """
    changed = assigned([*body, *([ast.Assign([node.target], node.iter)] if isinstance(node, ast.For) else [])])
    names = sorted(changed & (node.live_in_body | node.live_out))  # type: ignore[union-attr]
    for name in names:
        if interpreter.env.get(name, UNDEFINED) is UNDEFINED and not name.startswith("."):
            interpreter.env[bound_flag(name)] = Scalar(Const(False, BOOL), weak=True)
    names += [bound_flag(name) for name in names if bound_flag(name) in interpreter.env]
    attempt = Attempt()
    there, reads = identities.held(interpreter).keys(), len(interpreter.early_reads)
    saved = save(interpreter)
    for _ in range(MOST_TRIES):
        try:
            _try_loop(interpreter, node, names, attempt, make, over)
            break
        except Widen as wider:
            if wider.name not in names and wider.name not in attempt.lists.values():
                raise
            attempt.types[wider.part] = (wider.dtype, wider.weak)
        except growing_lists.Changed as found:
            attempt.lists |= {identity: identities.name_of(interpreter, identity) for identity in found.identities}
        except lists.Grows as found:
            if found.identity not in there:
                raise
            if is_short:
                raise growing_lists.WrittenOut from None
            attempt.lists.setdefault(found.identity, identities.name_of(interpreter, found.identity))
            known = attempt.growth.get(found.identity)
            each = found.each if found.each is not None else known.each if known else affine.ONE
            attempt.growth[found.identity] = growing_lists.Growth(found.row, each)
        except _Optional as found:
            if found.name in attempt.optional:
                raise
            attempt.optional[found.name] = found.value
            attempt.types |= found.types
            attempt.rebound |= found.shapes
        except _HeldTwice as found:
            attempt.held_twice.add(found.name)
        except _OtherList as found:
            attempt.other_lists.add(found.name)
        except _Rebound as found:
            if is_short and found.resized:
                raise growing_lists.WrittenOut from None
            attempt.rebound |= found.dims
            attempt.resized |= found.resized
            attempt.swapped |= found.swapped
        except Aliased as found:
            attempt.twins |= found.twins
            attempt.stale |= found.stale
        except NotYetKnown:  # as if it never ran
            if len(interpreter.early_reads) > reads:
                interpreter.build.refuse(interpreter.early_reads[-1], error=ArgumentError)
            restore(interpreter, saved)
            break
        restore(interpreter, saved)
        del interpreter.early_reads[reads:]
    else:
        interpreter.build.refuse("what goes round this loop is of another kind each time that it is looked at")
    if len(interpreter.early_reads) > reads:
        interpreter.build.refuse(interpreter.early_reads[-1], error=ArgumentError)
    for name in changed - set(names):
        interpreter.env.pop(name, None)


class _OtherList(Exception):
    def __init__(self, name: str) -> None:
        self.name = name


class _HeldTwice(_OtherList):
    """It is, in the next iteration, a list that others hold as well."""


class _Optional(Exception):
    """A name is None at one end of the loop, and a value at the other."""

    def __init__(self, interpreter: Interpreter, name: str, value: Any) -> None:
        self.name, self.value = name, value
        self.types: dict[str, tuple[np.dtype, bool]] = {}
        self.shapes: dict[str, Any] = {}
        self.note(interpreter, name, optional.as_optional(value, value))

    def note(self, interpreter: Interpreter, name: str, value: Any) -> None:
        """What numbers and arrays there are in the value: their places are made ahead of the loop."""
        match value:
            case TupleValue(items=items):
                for k, item in enumerate(items):
                    self.note(interpreter, f"{name}_{k}", item)
            case Scalar():
                self.types[name] = value.dtype, value.weak
            case ArrayValue():
                self.shapes[name] = value.dtype, shape_known_ahead(interpreter, self.name, value)


class _Rebound(Exception):
    def __init__(self, dims: dict[str, Any], swapped: set[str], resized: dict[str, resized.Growth]) -> None:
        self.dims, self.swapped, self.resized = dims, swapped, resized


def _try_loop(
    interpreter: Interpreter,
    node: ast.stmt,
    names: list[str],
    attempt: Attempt,
    make: Callable[[list[str]], Stmt],
    over: Range | None,
) -> None:
    build, env = interpreter.build, interpreter.env
    trips = None if over is None else growing_lists.trips_of(over)
    stack = interpreter.__dict__.setdefault("loop_stack", [])
    entries: dict[str, Any] = {}
    interpreter.wanted = node.live_in_body | node.live_out  # type: ignore[attr-defined]
    for name in names:
        value = env.get(name, UNDEFINED)
        if name in attempt.optional and value is not UNDEFINED:
            value = optional.as_optional(value, attempt.optional[name])
        identity = getattr(value, "identity", None)
        if identity is not None and name not in attempt.other_lists:
            attempt.lists.setdefault(identity, name)
            continue
        entry = _enter(interpreter, name, value, attempt, trips)
        if identity is not None:
            alone = sum(identities.holders(frame.env, identity) for frame in identities.frames_of(interpreter)) == 1
            if not alone:  # in the first iteration it is their list, and not in the next
                interpreter.one_of_several.add(identity)
            entry = replace(entry, identity=object() if alone and name not in attempt.held_twice else None)
        env[name] = entries[name] = entry
    before, heads = identities.held(interpreter), _enter_lists(interpreter, attempt, trips)
    for name in names:
        entries.setdefault(name, env.get(name, UNDEFINED))
    known = {attempt.lists[identity]: head for identity, head in heads.items()} | entries
    parts = {part: value for name, entry in known.items() for part, value in _parts(name, entry)} | entries
    for name, other in sorted(attempt.twins):
        own = _handle_of(parts.get(name))
        if own is not None:
            partner = _handle_of(parts.get(other)) if other in parts else None
            build.twin(own, partner if partner is not None else Array(other, own.dtype, ()))
    build.stale |= attempt.stale
    outer_close = interpreter.__dict__.get("close_loop")
    steady: set[object] = set()  # lists that every iteration makes longer by as much
    interpreter.wanted = None
    frame = interpreter.frame

    interpreter.stale_before.append(set(build.stale))
    changed_around, build.changed_in_loop = build.changed_in_loop, set()

    def close() -> None:
        interpreter.at(node)
        interpreter.wanted = node.live_in_body | node.live_out  # type: ignore[attr-defined]
        inside = growing_lists.Inside(over, getattr(node, "index", None), steady)
        _close(interpreter, names, entries, heads, inside, attempt)

    interpreter.close_loop = close  # type: ignore[attr-defined]
    stack.append((frame, [n for n in names if isinstance(entries[n], Scalar)]))
    interpreter.list_heads.append(identities.held(interpreter))
    try:
        loop = make(names)
    finally:
        stack.pop()
        interpreter.list_heads.pop()
        interpreter.stale_before.pop()
        interpreter.close_loop = outer_close  # type: ignore[attr-defined]
    build.changed_in_loop |= changed_around
    interpreter.at(node)
    build.emit(loop)
    for name in names:
        env[name] = resized.settled(interpreter, entries[name])
    for identity, value in heads.items():
        growth = attempt.growth.get(identity)
        if growth is not None:
            exact = identity in steady and getattr(node, "stop_flag", None) is None
            value = growing_lists.leave(interpreter, before[identity], value, growth, trips, exact)
        identities.change(interpreter, identity, value)


def _enter_lists(interpreter: Interpreter, attempt: Attempt, trips: Expr | None) -> dict[object, Any]:
    """Lists that may change in place, as they are at the head of the loop, under all their names."""
    for identity, name in attempt.lists.items():
        value = identities.held(interpreter).get(identity)
        if value is None:
            continue
        growth = attempt.growth.get(identity)
        if growth is not None:
            value = growing_lists.enter(interpreter, name, value, growth, trips)
        else:
            value = _enter(interpreter, name, value, attempt, trips)
        identities.change(interpreter, identity, value)
    now = identities.held(interpreter)
    return {identity: now[identity] for identity in attempt.lists if identity in now}


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value, and those that it is made of, under the names that they have at the head of a loop."""
    yield name, value
    if isinstance(value, TupleValue):
        for k, item in enumerate(value.items):
            yield from _parts(f"{name}_{k}", item)


def _handle_of(value: Any) -> Array | None:
    return resized.memory_of(value) if isinstance(value, ArrayValue) else None


def _enter(interpreter: Interpreter, name: str, value: Any, attempt: Attempt, trips: Expr | None) -> Any:
    """The value of a name at the head of the loop: in a variable of its own, in memory of its own where rebound."""
    build = interpreter.build
    if value is UNDEFINED:
        attempt.unbound.add(name)
        if name in attempt.types:
            dtype, weak = attempt.types[name]
            value = Scalar(Const(dtype.type(0).item(), dtype), weak)
        elif name in attempt.rebound:
            dtype, dims = attempt.rebound[name]
            return whole(build.allocate(name, dtype, dims, Const(dtype.type(0).item(), dtype)))
        else:
            return UNDEFINED
    match value:
        case Scalar():
            dtype, weak = attempt.types.get(name, (value.dtype, value.weak))
            return Scalar(_own_variable(interpreter, name, value, dtype), weak)
        case TupleValue(items=items):
            parts = (_enter(interpreter, f"{name}_{k}", v, attempt, trips) for k, v in enumerate(items))
            return replace(value, items=tuple(parts))
        case ArrayValue() if name in attempt.rebound and name not in attempt.swapped:
            dtype, dims = attempt.rebound[name]
            if name in attempt.resized:
                growth = attempt.resized[name]
                dims = tuple(value.dims[k] if k in growth else dim for k, dim in enumerate(dims))
                check_same_shape(interpreter, name, value.dims, dims)
                value = ArrayValue(dims, value.element)
                return resized.enter(interpreter, name, value, dtype, growth, trips)
            if dtype != value.dtype or not all(map(affine.same, dims, value.dims)):
                return whole(in_other_memory(interpreter, name, value, dtype, dims))
            if is_private(interpreter, name, value):
                return value
            own = build.materialize(value, name, copy=True)
            note_twins(interpreter, name, own, value)
            return whole(own)
    return value


def _own_variable(interpreter: Interpreter, name: str, value: Scalar, dtype: np.dtype) -> Var:
    build = interpreter.build
    var = value.expr
    if isinstance(var, Var) and var.dtype == dtype and binding.names_of(interpreter, var) == [name]:
        if var in build.mutable:
            return var
        if var not in build.pinned and var not in build.lower:
            build.mutable.add(var)
            return var
    own = build.variable(name, cast(value.expr, dtype))
    build.mutable.add(own)
    return own


def _close(
    interpreter: Interpreter,
    names: list[str],
    entries: dict[str, Any],
    heads: dict[object, Any],
    inside: growing_lists.Inside,
    attempt: Attempt,
) -> None:
    """At the end of the body: hand on what goes round, or find that the loop has to be tried again."""
    build, env = interpreter.build, interpreter.env
    rebound: dict[str, Any] = {}
    scalars: list[tuple[Var, Expr]] = []
    arrays: list[tuple[str, Array, ArrayValue]] = []
    growths: dict[str, resized.Growth] = {}
    open_heads: dict[str, ArrayValue] = {}

    def compare_shapes(name: str, entry: ArrayValue, end: ArrayValue) -> None:
        if name in attempt.swapped | attempt.unbound or names_of[name] in attempt.lists.values():
            return
        growth = attempt.resized.get(name, {})
        new = [k for k in resized.changing(interpreter, entry, end, inside.index) if k not in growth]
        if name not in attempt.rebound:  # the next try has it in the shape of the end, where that is known
            new = [
                k
                for k in new
                if affine.difference(entry.dims[k], end.dims[k]) or not build.is_known_at_entry(end.dims[k])
            ]
        found = growth | dict.fromkeys(new, affine.ZERO)
        if growth and not new:
            found = resized.grown(interpreter, name, entry, end, growth, inside.index, inside.over)
            open_heads[name] = entry
        if found != growth:
            growths[name] = found
            rebound.setdefault(name, (entry.dtype, steady_dims(build, entry, end)))

    def compare(name: str, entry: Any, end: Any) -> None:
        if end is UNDEFINED or end is entry:
            return
        if optional.is_optional(entry) and optional.joins(entry, end):
            end = optional.as_optional(end, entry)
        elif name in names and optional.joins(entry, end):
            raise _Optional(interpreter, name, end if optional.is_none(entry) else entry)
        match entry, end:
            case Scalar(expr=Var() as var), Scalar():
                joined, weak = join_scalars(entry, end)
                if joined != entry.dtype or weak != entry.weak:
                    raise Widen(names_of[name], joined, weak, name)
                if end.expr != var:
                    scalars.append((var, cast(end.expr, joined)))
            case TupleValue(items=before), TupleValue(items=after) if identities.is_alike(entry, end):
                for k, (x, y) in enumerate(zip(before, after, strict=False)):
                    names_of[f"{name}_{k}"] = names_of[name]
                    if identities.is_same_list(x, y) and x.identity in heads:
                        continue  # compared as what it is, by whatever name
                    compare(f"{name}_{k}", x, y)
            case ArrayValue(), ArrayValue() if entry.element == end.element:
                pass
            case ArrayValue(), ArrayValue():
                joined = np.result_type(entry.dtype, end.dtype)
                widens = joined != entry.dtype
                if entry.ndim != end.ndim or (widens and not is_inexact(entry.dtype)):
                    build.refuse(f"{name} changes its number of axes or its dtype from one iteration to the next")
                end = cast_value(end, joined)
                handle = _handle_of(entry)
                if widens or handle is None or name not in attempt.rebound.keys() | attempt.swapped:
                    rebound[name] = (joined, steady_dims(build, entry, end))
                else:
                    arrays.append((name, handle, end))
                compare_shapes(name, entry, end)
            case x, Scalar() if x is UNDEFINED:
                raise Widen(names_of[name], end.dtype, end.weak, name)
            case x, ArrayValue() if x is UNDEFINED:
                rebound[name] = (end.dtype, shape_known_ahead(interpreter, name, end))
            case Static(), Static() if entry.value is end.value or entry.value == end.value:
                pass
            case Slice(), Slice() if entry == end:
                pass
            case x, TupleValue() if x is UNDEFINED:
                build.refuse(
                    f"{name} is a tuple that first appears inside a loop and is used after it",
                    "bind it ahead of the loop",
                )
            case _ if entry is UNDEFINED:
                pass
            case _ if identities.is_list(entry) and identities.is_list(end):
                build.refuse(
                    f"{name} is a list of another length at the end of the loop than at its beginning",
                    "append to one list, or write to an array that is allocated ahead of the loop",
                )
            case _ if optional.is_none(entry) or optional.is_none(end):
                build.refuse(
                    f"{name} is None at one end of the loop and something else than a number or an array at the other",
                    "give it a value of that kind ahead of the loop: an empty list where it becomes a list",
                )
            case _:
                build.refuse(f"{name.lstrip('.')} is of another kind at the end of the loop than at its beginning")

    names_of = {name: name for name in (*names, *attempt.lists.values())}
    now = identities.held(interpreter)
    own = {getattr(entries[name], "identity", None) for name in attempt.other_lists}  # by name: no other holds them
    others = {i: value for i, value in interpreter.list_heads[-1].items() if i not in heads and i not in own}
    changed = [i for i, value in others.items() if now.get(i, value) != value]
    if changed:
        raise growing_lists.Changed(changed)
    closed: dict[object, Any] = {}
    for identity, head in heads.items():
        end = now.get(identity, head)
        if end is head or end == head:
            inside.steady.add(identity)
        elif identities.is_alike(head, end):
            compare(attempt.lists[identity], head, end)
        elif not identities.is_list(head):
            build.refuse(
                f"{attempt.lists[identity]} gets other keys or attributes in a loop",
                "give it all of them ahead of the loop",
            )
        else:
            growing_lists.close(interpreter, attempt.lists[identity], head, end, attempt.growth.get(identity), inside)
            step = affine.sub(end.length, head.length)
            if variables(step) & {head.length}:
                scalars.append((head.length, end.length))
            else:
                build.emit(AddTo(head.length, step))
            closed[identity] = head
    for name in names:
        entry, end = entries[name], env.get(name, UNDEFINED)
        if getattr(entry, "identity", None) in heads:
            if not identities.is_same_list(entry, end) and end is not UNDEFINED:
                raise _OtherList(name)
            continue
        identity = getattr(end, "identity", None)
        if identity is not None and not identities.is_same_list(entry, end) and name not in attempt.held_twice:
            if identities.is_held_by_others(interpreter, name, identity):
                interpreter.one_of_several.add(identity)
                raise _HeldTwice(name)
        compare(name, entry, end)
    if rebound:
        raise _Rebound(rebound, permuted(interpreter, names, entries, rebound), growths)
    for var, expr in in_parallel(build, scalars):
        build.emit(Assign(var, expr))
    mind_aliases(interpreter, arrays, attempt)
    exchange(interpreter, arrays, open_heads, attempt.swapped, attempt.resized)
    known = {root for name in names for root in roots_of_value(build, entries.get(name))}
    known |= {
        root
        for frame in identities.frames_of(interpreter)
        for value in frame.env.values()
        for root in roots_of_value(build, value)
    }
    anew = {root for name in attempt.rebound for root in roots_of_value(build, entries.get(name))}  # in each iteration
    anew |= {build.root(stmt.array) for stmt in statements(tuple(build.block)) if isinstance(stmt, Alloc)}
    for head in closed.values():  # what a list took in this iteration is changed by the next
        if isinstance(head, Items) and build.all_twins(build.root(head.rows)) & build.changed_in_loop - anew:
            known.add(build.root(head.rows))
            build.stale.setdefault(build.root(head.rows), build.span)
    left = {root: span for root, span in build.stale.items() if root in known and root not in attempt.stale}
    left = {root: span for root, span in left.items() if root not in interpreter.stale_before[-1]}
    if left:
        raise Aliased(set(), left)
    for identity, head in closed.items():
        identities.change(interpreter, identity, head)
    for name in names:  # what the next iteration finds, for the test of a while loop
        if entries[name] is not UNDEFINED and not identities.is_list(entries[name]):
            env[name] = entries[name]


def settle(interpreter: Interpreter, names: list[str]) -> dict[str, Any]:
    """Arrays that change their lengths get those that they have now; returns what they were."""
    found = {name: interpreter.env[name] for name in names if resized.is_open(interpreter, interpreter.env.get(name))}
    for name, value in found.items():
        interpreter.env[name] = resized.settled(interpreter, value)
    return found


def save(interpreter: Interpreter) -> Any:
    return interpreter.build.save(), [(frame, dict(frame.env)) for frame in identities.frames_of(interpreter)]


def restore(interpreter: Interpreter, saved: Any) -> None:
    interpreter.build.restore(saved[0])
    for frame, env in saved[1]:
        frame.env.clear()
        frame.env.update(env)
