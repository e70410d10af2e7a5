"""Loops and branches: what goes round a loop or comes out of two branches gets one variable or one memory.

    s = 0.0                      s = 0.0
    for i in range(n):     →     for i in range(n):        (s is one mutable variable)
        s = s * x[i]                 s = s * x[i]

A loop is interpreted again when its end disagrees with its beginning: a type widens (int → float), or an array name
turns out to be rebound.  A rebound array has one memory that the new contents are copied to, or, where the names only
change places (`u, un = un, u`), the two swap.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedError, place
from ..ir import affine
from ..ir.nodes import (
    BOOL,
    INT64,
    Alloc,
    Array,
    Assign,
    Axis,
    Call,
    Const,
    CopyTo,
    Dim,
    Expr,
    For,
    If,
    Print,
    Raise,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from ..ir.rename import rename_arrays
from ..ir.walk import arrays_read, is_constant, statements, subexpressions, variables
from . import expressions
from .arithmetic import cast
from .liveness import assigned
from .values import (
    UNDEFINED,
    ArrayValue,
    Range,
    Scalar,
    Static,
    TupleValue,
    remap,
    whole,
)

if TYPE_CHECKING:
    from .interpret import Interpreter


HELD = ".items_"


class Widen(Exception):
    """A name that goes round a loop does not keep its type: try again with the wider one."""

    def __init__(self, name: str, dtype: np.dtype, weak: bool) -> None:
        self.name, self.dtype, self.weak = name, dtype, weak


@dataclass
class Attempt:
    """What earlier tries at a loop have taught: types that widen, arrays that are rebound, arrays that are swapped."""

    types: dict[str, tuple[np.dtype, bool]] = field(default_factory=dict)
    rebound: dict[str, Any] = field(default_factory=dict)
    swapped: set[str] = field(default_factory=set)
    twins: set[tuple[str, str]] = field(default_factory=set)  # a rebound name, and a name or memory that it may be
    stale: dict[str, Any] = field(default_factory=dict)  # what an iteration leaves stale for the next


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
        kind = {"f": float, "i": int, "u": int, "b": bool}[weak.dtype.kind]
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


# ------------------------------------------------------------------------------------------------------- loops


def for_loop(interpreter: Interpreter, node: ast.For) -> None:
    over = expressions.evaluate(interpreter, node.iter)
    if isinstance(over, TupleValue):
        unrolled(interpreter, node, list(over.items))
        return
    if isinstance(over, Range):
        rng = over
        item: Callable[[Var], Any] = lambda index: Scalar(index, weak=True)
    elif isinstance(over, ArrayValue) and over.ndim:
        held = whole(interpreter.build.stored(over, "items"))
        interpreter.env[f"{HELD}{id(node)}"] = held
        rng = Range(affine.ZERO, held.dims[0], affine.ONE)

        def item(index: Var) -> Any:
            inner = remap(held, held.dims[1:], [index, *(Axis(k) for k in range(held.ndim - 1))])
            return inner if inner.dims else Scalar(inner.element)
    else:
        interpreter.build.refuse("a for loop runs over a range, an array or a tuple")
    start, stop, step = (
        interpreter.build.pin(e, n)
        for e, n in zip((rng.start, rng.stop, rng.step), ("start", "stop", "step"), strict=False)
    )
    rng = Range(start, stop, step)
    if getattr(node, "stop_flag", None) is None:
        repeat(interpreter, node, node.body, lambda names: _for(interpreter, node, rng, item, names))
    else:
        repeat(interpreter, node, node.body, lambda names: _for_until(interpreter, node, rng, item, names))
    interpreter.env.pop(f"{HELD}{id(node)}", None)


def unrolled(interpreter: Interpreter, node: ast.For, items: list[Any]) -> None:
    """A loop over a tuple: one copy of the body each."""
    flag = getattr(node, "stop_flag", None)
    for position, item in enumerate(items):
        interpreter.assign(node.target, item, len(interpreter.build.block))
        interpreter.block(node.body)
        rest = items[position + 1 :]
        if flag is not None and rest:
            stopped = interpreter.lookup(flag)
            if not (stopped.is_constant and not stopped.value):
                again = ast.copy_location(ast.For(node.target, ast.Constant(None), node.body, []), node)
                again.stop_flag = flag  # type: ignore[attr-defined]
                again.items_left = rest  # type: ignore[attr-defined]
                test = ast.copy_location(
                    ast.UnaryOp(ast.Not(), ast.copy_location(ast.Name(flag, ast.Load()), node)), node
                )
                guard = ast.copy_location(ast.If(test, [again], []), node)
                guard.live_out = node.live_out | assigned([node])  # type: ignore[attr-defined]
                again.live_out = guard.live_out  # type: ignore[attr-defined]
                branch(interpreter, guard, then=partial(unrolled, interpreter, again, rest))
                return


def _for(interpreter: Interpreter, node: ast.For, rng: Range, item: Callable[[Var], Any], names: list[str]) -> Stmt:
    build = interpreter.build
    index = loop_index(interpreter, node, names)
    if is_constant(rng.step) and rng.step.value > 0 and build.is_at_least(rng.start, 0):  # type: ignore[attr-defined]
        _low, _ = affine.affine(rng.start)
        build.lower[index] = rng.start.value if isinstance(rng.start, Const) else 0
    elif is_constant(rng.step) and isinstance(rng.stop, Const) and rng.step.value < 0:  # type: ignore[attr-defined]
        build.lower[index] = rng.stop.value + 1
    block: list[Stmt] = []
    with build.nested(block):
        interpreter.assign(node.target, item(index), 0)
        interpreter.block(node.body)
        interpreter.close_loop()  # type: ignore[attr-defined]
    build.names.release(index.name)
    return For(index, rng.start, rng.stop, rng.step, tuple(block))


def loop_index(interpreter: Interpreter, node: ast.For, names: list[str]) -> Var:
    """The index variable: the user's own name where the user only reads it."""
    target = node.target.id if isinstance(node.target, ast.Name) else "i"
    own = isinstance(node.target, ast.Name) and target not in names and target not in assigned(node.body)
    wanted = target if own and isinstance(node.iter, ast.Call) else "i" if target != "i" else "k"
    return Var(interpreter.build.names.index(wanted), INT64)


def _for_until(
    interpreter: Interpreter, node: ast.For, rng: Range, item: Callable[[Var], Any], names: list[str]
) -> Stmt:
    """A loop that may stop early: `while` with a counter."""
    build = interpreter.build
    trip = Var(build.names.fresh("trip"), INT64)
    build.lower[trip] = 0
    at = affine.add(rng.start, affine.mul(rng.step, trip))
    upward = is_constant(rng.step)
    inside: Expr
    if upward:
        op = "lt" if rng.step.value > 0 else "gt"  # type: ignore[attr-defined]
        inside = Call(op, (at, rng.stop), BOOL)
    else:
        ahead = Call("gt", (rng.step, affine.ZERO), BOOL)
        less, more = (Call(op, (at, rng.stop), BOOL) for op in ("lt", "gt"))
        inside = Call("select", (ahead, less, more), BOOL)
    stopped = interpreter.lookup(node.stop_flag)  # type: ignore[attr-defined]
    condition = Call("and", (inside, Call("not", (stopped.expr,), BOOL)), BOOL)
    block: list[Stmt] = []
    with build.nested(block):
        index = Var(build.names.fresh("i"), INT64)
        build.emit(Assign(index, at))
        if isinstance(rng.start, Const) and is_constant(rng.step) and rng.step.value > 0:  # type: ignore[attr-defined]
            build.lower[index] = rng.start.value
        interpreter.assign(node.target, item(index), len(block))
        interpreter.block(node.body)
        interpreter.close_loop()  # type: ignore[attr-defined]
    return While(trip, condition, tuple(block))


def while_loop(interpreter: Interpreter, node: ast.While) -> None:
    build = interpreter.build
    flag = getattr(node, "stop_flag", None)
    test = node.test
    if flag is not None:
        unstopped = ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load()))
        test = ast.BoolOp(ast.And(), [unstopped, node.test])
        for part in (unstopped, unstopped.operand, test):
            ast.copy_location(part, node.test)

    def make(names: list[str]) -> Stmt:
        trip = Var(build.names.fresh("trip"), INT64)
        build.lower[trip] = 0
        head: list[Stmt] = []
        with build.into(head):
            condition = expressions.truth(interpreter, expressions.evaluate(interpreter, test))
        simple = not head
        if not simple:  # the test needs statements of its own: they run ahead of the loop, and at its end
            build.block.extend(head)
            condition = build.variable("running", condition)
            build.mutable.add(condition)
        block: list[Stmt] = []
        with build.nested(block):
            interpreter.block(node.body)
            interpreter.close_loop()  # type: ignore[attr-defined]
            if not simple:
                interpreter.at(node.test)
                again = expressions.truth(interpreter, expressions.evaluate(interpreter, test))
                build.emit(Assign(condition, again))  # type: ignore[arg-type]
        return While(trip, condition, tuple(block))

    repeat(interpreter, node, node.body, make)


def repeat(
    interpreter: Interpreter, node: ast.For | ast.While, body: list[ast.stmt], make: Callable[[list[str]], Stmt]
) -> None:
    """Interpret a loop until its end agrees with its beginning."""
    changed = assigned([*body, *([ast.Assign([node.target], node.iter)] if isinstance(node, ast.For) else [])])
    names = sorted(changed & (node.live_in_body | node.live_out))  # type: ignore[union-attr]
    for name in names:
        if interpreter.env.get(name, UNDEFINED) is UNDEFINED and not name.startswith("."):
            interpreter.env[bound_flag(name)] = Scalar(Const(False, BOOL), weak=True)
    names += [bound_flag(name) for name in names if bound_flag(name) in interpreter.env]
    attempt = Attempt()
    saved = save(interpreter)
    while True:
        try:
            _try_loop(interpreter, node, names, attempt, make)
            break
        except Widen as wider:
            if wider.name not in names:
                raise
            attempt.types[wider.name] = (wider.dtype, wider.weak)
        except _Rebound as found:
            attempt.rebound |= found.dims
            attempt.swapped |= found.swapped
        except _Aliased as found:
            attempt.twins |= found.twins
            attempt.stale |= found.stale
        restore(interpreter, saved)
    for name in changed - set(names):
        interpreter.env.pop(name, None)


class _Aliased(Exception):
    """What is rebound in the loop may be memory that others know: seen at its end, minded from its beginning."""

    def __init__(self, twins: set[tuple[str, str]], stale: dict[str, Any]) -> None:
        self.twins, self.stale = twins, stale


class _Rebound(Exception):
    def __init__(self, dims: dict[str, Any], swapped: set[str]) -> None:
        self.dims, self.swapped = dims, swapped


def _try_loop(
    interpreter: Interpreter, node: ast.stmt, names: list[str], attempt: Attempt, make: Callable[[list[str]], Stmt]
) -> None:
    build, env = interpreter.build, interpreter.env
    stack = interpreter.__dict__.setdefault("loop_stack", [])
    entries: dict[str, Any] = {}
    interpreter.wanted = node.live_in_body | node.live_out  # type: ignore[attr-defined]
    for name in names:
        value = env.get(name, UNDEFINED)
        env[name] = entries[name] = _enter(interpreter, name, value, attempt)
    for name, other in sorted(attempt.twins):
        own = _handle_of(entries.get(name))
        if own is not None:
            partner = _handle_of(entries.get(other)) if other in entries else None
            build.twin(own, partner if partner is not None else Array(other, own.dtype, ()))
    build.stale |= attempt.stale
    outer_close = interpreter.__dict__.get("close_loop")
    interpreter.wanted = None
    frame = interpreter.frame

    interpreter.stale_before.append(set(build.stale))

    def close() -> None:
        interpreter.at(node)
        interpreter.wanted = node.live_in_body | node.live_out  # type: ignore[attr-defined]
        _close(interpreter, names, entries, attempt)

    interpreter.close_loop = close  # type: ignore[attr-defined]
    stack.append((frame, [n for n in names if isinstance(entries[n], Scalar)]))
    try:
        loop = make(names)
    finally:
        stack.pop()
        interpreter.stale_before.pop()
        interpreter.close_loop = outer_close  # type: ignore[attr-defined]
    interpreter.at(node)
    build.emit(loop)
    for name in names:
        env[name] = entries[name]


def _handle_of(value: Any) -> Array | None:
    return value.handle if isinstance(value, ArrayValue) else None


def _enter(interpreter: Interpreter, name: str, value: Any, attempt: Attempt) -> Any:
    """The value of a name at the head of the loop: in a variable of its own, in memory of its own where rebound."""
    build = interpreter.build
    if value is UNDEFINED:
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
        case TupleValue(items=items, kind=kind):
            return TupleValue(tuple(_enter(interpreter, f"{name}_{k}", v, attempt) for k, v in enumerate(items)), kind)
        case ArrayValue() if name in attempt.rebound and name not in attempt.swapped:
            dims = attempt.rebound[name][1]
            if not all(map(affine.same, dims, value.dims)):
                return whole(_in_other_dims(interpreter, name, value, dims))
            if _is_private(interpreter, name, value):
                return value
            own = build.materialize(value, name, copy=True)
            _note_twins(interpreter, name, own, value)
            return whole(own)
    return value


def _own_variable(interpreter: Interpreter, name: str, value: Scalar, dtype: np.dtype) -> Var:
    build = interpreter.build
    var = value.expr
    if isinstance(var, Var) and var.dtype == dtype and interpreter.names_of(var) == [name]:
        if var in build.mutable:
            return var
        if var not in build.pinned and var not in build.lower:
            build.mutable.add(var)
            return var
    own = build.variable(name, cast(value.expr, dtype))
    build.mutable.add(own)
    return own


def _steady_dims(build: Any, entry: ArrayValue, end: ArrayValue) -> tuple[Expr, ...]:
    """The shape of memory that is rebound in a loop: that of the end, where it is known from the arguments."""
    if all(map(affine.same, entry.dims, end.dims)) or not all(map(build.is_known_at_entry, end.dims)):
        return entry.dims
    return end.dims


def _in_other_dims(interpreter: Interpreter, name: str, value: ArrayValue, dims: tuple[Expr, ...]) -> Array:
    """The value at the head of a loop in memory with the shape that it has at the end of the body."""
    build = interpreter.build
    _check_same_shape(interpreter, name, value.dims, dims)
    own = build.allocate(name, value.dtype, dims)
    build.each(dims, lambda index: Store(own, index, value.at(index)))
    return own


def _is_private(interpreter: Interpreter, name: str, value: ArrayValue) -> bool:
    """Is this memory made here, and known by no other name and through no view?"""
    build, handle = interpreter.build, value.handle
    if handle is None or build.root(handle) != handle.name or handle.name not in build.contiguous:
        return False
    if any(isinstance(dim, Dim) and dim.array == handle.name for dim in handle.dims) or handle.name in build.twins:
        return False
    made = any(isinstance(s, Alloc) and s.array == handle for s in build.block)
    return made and not _is_known_elsewhere(interpreter, name, handle.name)


def _note_twins(interpreter: Interpreter, name: str, own: Array, value: ArrayValue) -> None:
    """Python holds one array where we hold a copy: writing to one must not be followed by reading the other."""
    build, handle = interpreter.build, value.handle
    if handle is None:
        return
    root = build.root(handle)
    is_argument = any(isinstance(dim, Dim) and dim.array == root for dim in handle.dims)
    shared = is_argument and build.arguments_are_shared
    if shared or build.twins.get(root) or _is_known_elsewhere(interpreter, name, root):
        build.twin(own, handle)


def _is_known_elsewhere(interpreter: Interpreter, name: str, root: str) -> bool:
    """Does another name that is still wanted stand for this memory?"""
    build = interpreter.build
    for frame in interpreter.frames:
        for other, held in frame.env.items():
            here = frame is interpreter.frame
            hidden = other.startswith(HELD)  # what a loop runs over is wanted until its end
            wanted = interpreter.wanted is None or other in interpreter.wanted or hidden
            if here and (other == name or not wanted):
                continue
            for leaf in _leaves(held):
                if isinstance(leaf, ArrayValue) and any(build.root(a) == root for a in _arrays_of(leaf)):
                    return True
    return False


def _arrays_of(value: ArrayValue) -> list[Array]:
    from ..ir.walk import loads

    return [load.array for load in loads(value.element)]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in _leaves(item)]
    return [value]


def _close(interpreter: Interpreter, names: list[str], entries: dict[str, Any], attempt: Attempt) -> None:
    """At the end of the body: hand on what goes round, or find that the loop has to be tried again."""
    build, env = interpreter.build, interpreter.env
    rebound: dict[str, Any] = {}
    scalars: list[tuple[Var, Expr]] = []
    arrays: list[tuple[str, Array, ArrayValue]] = []

    def compare(name: str, entry: Any, end: Any) -> None:
        if end is UNDEFINED or end is entry:
            return
        match entry, end:
            case Scalar(expr=Var() as var), Scalar():
                joined, weak = join_scalars(entry, end)
                if joined != entry.dtype or weak != entry.weak:
                    raise Widen(names_of[name], joined, weak)
                if end.expr != var:
                    scalars.append((var, cast(end.expr, joined)))
            case TupleValue(items=before), TupleValue(items=after) if len(before) == len(after):
                for k, (x, y) in enumerate(zip(before, after, strict=False)):
                    names_of[f"{name}_{k}"] = names_of[name]
                    compare(f"{name}_{k}", x, y)
            case ArrayValue(), ArrayValue() if entry.element == end.element:
                pass
            case ArrayValue(), ArrayValue():
                if entry.ndim != end.ndim or entry.dtype != end.dtype:
                    build.refuse(f"{name} changes its number of axes or its dtype from one iteration to the next")
                handle = entry.handle
                if name in attempt.rebound and name not in attempt.swapped and handle is not None:
                    arrays.append((name, handle, end))
                elif name in attempt.swapped and handle is not None:
                    arrays.append((name, handle, end))
                else:
                    rebound[name] = (entry.dtype, _steady_dims(build, entry, end))
            case x, Scalar() if x is UNDEFINED:
                raise Widen(names_of[name], end.dtype, end.weak)
            case x, ArrayValue() if x is UNDEFINED:
                rebound[name] = (end.dtype, _known_ahead(interpreter, name, end))
            case Static(), Static() if entry.value is end.value or entry.value == end.value:
                pass
            case x, TupleValue() if x is UNDEFINED:
                build.refuse(
                    f"{name} is a tuple that first appears inside a loop and is used after it",
                    "bind it ahead of the loop",
                )
            case _ if entry is UNDEFINED:
                pass
            case _:
                build.refuse(f"{name.lstrip('.')} is of another kind at the end of the loop than at its beginning")

    names_of = {name: name for name in names}
    for name in names:
        compare(name, entries[name], env.get(name, UNDEFINED))
    if rebound:
        raise _Rebound(rebound, _permuted(interpreter, names, entries, rebound))
    for var, expr in _in_parallel(build, scalars):
        build.emit(Assign(var, expr))
    _mind_aliases(interpreter, arrays, attempt)
    _exchange(interpreter, arrays, attempt)
    known = {root for name in names for root in _roots(build, entries.get(name))}
    known |= {root for frame in interpreter.frames for value in frame.env.values() for root in _roots(build, value)}
    left = {root: span for root, span in build.stale.items() if root in known and root not in attempt.stale}
    left = {root: span for root, span in left.items() if root not in interpreter.stale_before[-1]}
    if left:
        raise _Aliased(set(), left)


def _roots(build: Any, value: Any) -> set[str]:
    return {build.root(a) for leaf in _leaves(value) if isinstance(leaf, ArrayValue) for a in _arrays_of(leaf)}


def _mind_aliases(interpreter: Interpreter, arrays: list[tuple[str, Array, ArrayValue]], attempt: Attempt) -> None:
    """Copies of memory that another name keeps, or that two names get, are twins from the loop's beginning on."""
    build = interpreter.build
    found: set[tuple[str, str]] = set()
    plain = [(name, end) for name, _, end in arrays if name not in attempt.swapped]
    for name, end in plain:
        for root in _roots(build, end):
            found |= {(name, other) for other, value in plain if other != name and root in _roots(build, value)}
            others = {n for n, _ in plain}
            if any(
                root in _roots(build, value)
                for frame in interpreter.frames
                for other, value in frame.env.items()
                if not (frame is interpreter.frame and (other in others or not _is_wanted(interpreter, other)))
            ):
                found.add((name, root))
            found |= {(name, twin) for twin in build.twins.get(root, ()) if twin != attempt_root(arrays, name)}
    found = {pair for pair in found if pair not in attempt.twins and pair[0] != pair[1]}
    own = {name: target.name for name, target, _ in arrays}
    found = {(name, other) for name, other in found if own.get(name) != other}
    if found:
        raise _Aliased(found, {})


def attempt_root(arrays: list[tuple[str, Array, ArrayValue]], name: str) -> str:
    return next(target.name for other, target, _ in arrays if other == name)


def _is_wanted(interpreter: Interpreter, name: str) -> bool:
    return interpreter.wanted is None or name in interpreter.wanted or name.startswith(HELD)


def _permuted(interpreter: Interpreter, names: list[str], entries: dict[str, Any], rebound: dict[str, Any]) -> set[str]:
    """Rebound names that only change places: their memory can be swapped instead of copied."""
    build = interpreter.build
    ends = {n: interpreter.env[n].handle for n in rebound if isinstance(interpreter.env.get(n), ArrayValue)}
    starts = {n: entries[n].handle for n in rebound if isinstance(entries.get(n), ArrayValue)}
    group = {n for n in rebound if ends.get(n) is not None and starts.get(n) is not None}
    while True:
        handles = {starts[n] for n in group}
        smaller = {n for n in group if ends[n] in handles}
        if smaller == group:
            break
        group = smaller
    if len({starts[n] for n in group}) < len(group) or len({ends[n] for n in group}) < len(group):
        return set()
    for n in group:
        handle = starts[n]
        others = [m for frame in interpreter.frames for m, v in frame.env.items() for leaf in _leaves(v)
                  if isinstance(leaf, ArrayValue) and m not in group and handle in _arrays_of(leaf)]  # fmt: skip
        views = [a for a, root in build.roots.items() if root == handle.name and a != handle.name]
        fits = all(map(affine.same, starts[n].dims, ends[n].dims)) and handle.name in build.contiguous
        if others or views or not fits or build.root(handle) != handle.name or build.twins.get(handle.name):
            return set()
    return group


def _known_ahead(interpreter: Interpreter, name: str, value: ArrayValue) -> tuple[Expr, ...]:
    for dim in value.dims:
        for var in variables(dim):
            if (var in interpreter.build.lower and var not in interpreter.build.known_at_entry) or any(
                isinstance(s, Assign) and s.var == var for s in statements(tuple(interpreter.build.block))
            ):
                interpreter.build.refuse(
                    f"the shape of {name.lstrip('.')} is only known inside the loop, and it is used after it",
                    "allocate it ahead of the loop",
                )
    return value.dims


def _in_parallel(build: Any, pairs: list[tuple[Var, Expr]]) -> list[tuple[Var, Expr]]:
    """Assignments that all read the old values, in an order that keeps them."""
    targets = {var for var, _ in pairs}
    out = []
    for var, expr in pairs:
        if variables(expr) & (targets - {var}):
            expr = build.variable(f"{var.name}_next", expr)
        out.append((var, expr))
    return out


def _exchange(interpreter: Interpreter, pairs: list[tuple[str, Array, ArrayValue]], attempt: Attempt) -> None:
    """Copy what rebound names hold now into their memory; swap where they only change places."""
    build = interpreter.build
    holder = {target: end.handle for name, target, end in pairs if name in attempt.swapped}
    for target in list(holder):  # cycles, as swaps
        source = holder[target]
        if source is None or source not in holder:
            build.refuse("these arrays change places in a way that depends on the path taken", "copy them instead")
        if source != target:
            build.emit(Swap(target, source))
            for other, wanted in holder.items():
                if wanted == target and other != target:
                    holder[other] = source
            holder[target] = target
    copies = [(target, end) for name, target, end in pairs if name not in attempt.swapped]
    targets = {target for target, _ in copies}
    for target, end in copies:
        _check_same_shape(interpreter, target.name, target.dims, end.dims)
    held: list[tuple[Array, Array]] = []
    for target, end in copies:
        build.check_fresh(end.element)
        reads = {a for a in _arrays_of(end) if any(build.root(a) == build.root(t) for t in targets)}
        source = end.handle
        if source is None or reads:  # the source may be a view of what is written
            source = build.materialize(end, "t", copy=source is not None)
        held.append((target, source))
    for target, source in held:
        build.emit(CopyTo(target, source))
        build.stale.pop(target.name, None)


def _check_same_shape(interpreter: Interpreter, name: str, first: tuple[Expr, ...], then: tuple[Expr, ...]) -> None:
    build = interpreter.build
    for x, y in zip(first, then, strict=True):
        gap = affine.difference(x, y)
        if gap is None:
            message = "an array changes its length from {} to {} in a loop, which is not supported" + place(build.span)
            build.emit(If(Call("ne", (x, y), BOOL), (Raise("RuntimeShapeError", message, (x, y)),)))
        elif gap:
            build.refuse(f"{name} changes its shape from one iteration to the next")


def save(interpreter: Interpreter) -> Any:
    return interpreter.build.save(), [dict(frame.env) for frame in interpreter.frames]


def restore(interpreter: Interpreter, saved: Any) -> None:
    interpreter.build.restore(saved[0])
    for frame, env in zip(interpreter.frames, saved[1], strict=False):
        frame.env.clear()
        frame.env.update(env)


# ---------------------------------------------------------------------------------------------------- branches


def branch(interpreter: Interpreter, node: ast.If, then: Callable[[], Any] | None = None) -> bool:
    """An `if`.  A test that is known now leaves one branch only."""
    test = expressions.evaluate(interpreter, node.test)
    known = expressions.static_truth(test)
    if known is not None:
        if known:
            return bool(then()) if then else interpreter.block(node.body)
        return interpreter.block(node.orelse)
    interpreter.at(node)
    condition = expressions.truth(interpreter, test)
    live_out = node.live_out  # type: ignore[attr-defined]
    names = sorted(live_out & assigned([*node.body, *node.orelse]))
    run_then = then or (lambda: interpreter.block(node.body))
    return choose(interpreter, condition, run_then, lambda: interpreter.block(node.orelse), names, live_out)


def choose(
    interpreter: Interpreter,
    condition: Expr,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    names: list[str],
    wanted: frozenset[str] | None = None,
) -> bool:
    """Interpret two branches, and merge the names that are still wanted."""
    build, env = interpreter.build, interpreter.env
    condition = build.capture(condition, "chosen") if build.mutable & variables(condition) else condition
    before = dict(env)
    results = []
    for run in (then, orelse):
        block: list[Stmt] = []
        with build.nested(block):
            ended = bool(run())
        results.append((block, dict(env), ended))
        env.clear()
        env.update(before)
    (then_block, then_env, then_ended), (else_block, else_env, else_ended) = results
    merged: dict[str, Any] = {}
    ahead: list[Stmt] = []
    if then_ended or else_ended:
        merged = else_env if then_ended else then_env
    else:
        for name in list(names):
            sides = [e.get(name, UNDEFINED) is UNDEFINED for e in (then_env, else_env)]
            if sides[0] != sides[1] and not name.startswith("."):
                for side, missing in zip((then_env, else_env), sides, strict=False):
                    side.setdefault(bound_flag(name), Scalar(Const(not missing, BOOL), weak=True))
            if bound_flag(name) in then_env or bound_flag(name) in else_env:
                names = [*names, bound_flag(name)]
                for side in (then_env, else_env):
                    side.setdefault(bound_flag(name), Scalar(Const(True, BOOL), weak=True))
        interpreter.wanted = wanted
        keys = dict.fromkeys([*then_env, *else_env])
        for name in keys:
            x, y = then_env.get(name, UNDEFINED), else_env.get(name, UNDEFINED)
            if x is y or x == y:
                merged[name] = x
            elif name in names:
                with build.into(ahead):
                    interpreter.branch_envs = (then_env, else_env)
                    merged[name] = merge(interpreter, name, (then_block, x), (else_block, y))
        _mind_merged_aliases(interpreter, merged, (then_env, else_env))
    build.block.extend(ahead)
    build.emit(If(condition, tuple(then_block), tuple(else_block)))
    env.clear()
    env.update(merged)
    return then_ended and else_ended


def _mind_merged_aliases(interpreter: Interpreter, merged: dict[str, Any], sides: tuple[dict[str, Any], ...]) -> None:
    """Names that are one memory at the end of a branch are twins after it, where each has memory of its own."""
    build = interpreter.build
    for side in sides:
        by_root: dict[str, set[str]] = {}
        for name, value in merged.items():
            roots = _roots(build, value)
            if len(roots) == 1:
                for root in _roots(build, side.get(name)):
                    by_root.setdefault(root, set()).update(roots)
        for group in by_root.values():
            first, *rest = sorted(group)
            for other in rest:
                build.twins.setdefault(first, set()).add(other)
                build.twins.setdefault(other, set()).add(first)


def merge(interpreter: Interpreter, name: str, x: tuple[list[Stmt], Any], y: tuple[list[Stmt], Any]) -> Any:
    """One value for what is x at the end of one branch and y at the end of the other."""
    build = interpreter.build
    a, b = x[1], y[1]
    if a is UNDEFINED or b is UNDEFINED:
        a, b = (a if b is UNDEFINED else b,) * 2 if not isinstance(a if b is UNDEFINED else b, ArrayValue) else (a, b)
    match a, b:
        case Scalar(), Scalar():
            dtype, weak = join_scalars(a, b)
            var = Var(build.names.fresh(name), dtype)
            build.mutable.add(var)
            for (block, value), side in ((x, a), (y, b)):
                if value is UNDEFINED:
                    build.emit(Assign(var, Const(dtype.type(0).item(), dtype)))
                else:
                    _finish(build, block, var, side.expr)
            return Scalar(var, weak)
        case TupleValue(items=first), TupleValue(items=second) if len(first) == len(second):
            items = [
                merge(interpreter, f"{name}_{k}", (x[0], p), (y[0], q)) if p != q else p
                for k, (p, q) in enumerate(zip(first, second, strict=False))
            ]
            return TupleValue(tuple(items), a.kind)
        case (ArrayValue() | Undefined_(), ArrayValue() | Undefined_()):
            return merge_arrays(interpreter, name, x, y)
        case (Scalar(), ArrayValue(dims=())) | (ArrayValue(dims=()), Scalar()):
            sides = [v if isinstance(v, Scalar) else Scalar(v.element) for v in (a, b)]
            return merge(interpreter, name, (x[0], sides[0]), (y[0], sides[1]))
    if name == ".result":
        return build.refuse("the function returns values of different kinds on different paths")
    return Static(_Ambiguous(name))


class _Ambiguous:
    """A name of which nothing is known but that it depends on the path."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name}, which is of another kind on each path"


Undefined_ = type(UNDEFINED)


def _finish(build: Any, block: list[Stmt], var: Var, expr: Expr) -> None:
    """End a branch with var = expr; a variable that was made for this value takes the name itself."""
    expr = cast(expr, var.dtype)
    last = block[-1] if block else None
    if isinstance(last, Assign) and last.var == expr and last.var not in build.mutable | build.pinned:
        block[-1] = Assign(var, last.value, span=last.span)
        return
    with build.into(block):
        build.emit(Assign(var, expr))


def merge_arrays(
    interpreter: Interpreter, name: str, x: tuple[list[Stmt], Any], y: tuple[list[Stmt], Any]
) -> ArrayValue:
    build = interpreter.build
    known = [value for _, value in (x, y) if isinstance(value, ArrayValue)]
    ndim = known[0].ndim
    if any(v.ndim != ndim for v in known):
        return build.refuse(f"{name.lstrip('.')} has another number of axes on each path")
    dtype = np.result_type(*(v.dtype for v in known))
    alike = all(map(affine.same, known[0].dims, known[-1].dims))
    outside = alike and not any(_assigned_in(block, dim) for block, _ in (x, y) for dim in known[0].dims)
    merged_name = build.names.fresh(name)
    if outside:
        merged = Array(merged_name, dtype, known[0].dims)
    else:
        dims = tuple(Var(build.names.fresh(f"{merged_name}_n{k}"), INT64) for k in range(ndim))
        build.pinned |= set(dims)
        merged = Array(merged_name, dtype, dims)
    build.contiguous.add(merged.name)
    build.roots[merged.name] = merged.name
    for block, value in (x, y):
        with build.into(block):
            sizes = value.dims if isinstance(value, ArrayValue) else (affine.ZERO,) * ndim
            if not outside:
                for var, size in zip(merged.dims, sizes, strict=False):
                    build.emit(Assign(var, size))  # type: ignore[arg-type]
            if not isinstance(value, ArrayValue):
                build.emit(Alloc(merged, merged.dims, Const(dtype.type(0).item(), dtype)))
                continue
            handle = value.handle
            if (
                outside
                and handle is not None
                and handle.dtype == dtype
                and _takes_over(interpreter, block, handle, merged, name)
            ):
                continue
            build.check_fresh(value.element)
            build.emit(Alloc(merged, merged.dims))
            if handle is not None and handle.dtype == dtype:
                build.emit(CopyTo(merged, handle))
                _note_twins(interpreter, name, merged, value)
            else:
                store = lambda index, v=value: Store(merged, index, cast(v.at(index), dtype))
                build.each(merged.dims, store)
    return whole(merged)


def _assigned_in(block: list[Stmt], dim: Expr) -> bool:
    made = {s.var for s in statements(tuple(block)) if isinstance(s, Assign)}
    return bool(variables(dim) & made)


def _takes_over(interpreter: Interpreter, block: list[Stmt], handle: Array, merged: Array, name: str) -> bool:
    """An array made in this branch for this value alone becomes the merged one."""
    build = interpreter.build
    at = next((k for k, s in enumerate(block) if isinstance(s, Alloc) and s.array == handle), None)
    views = [a for a, root in build.roots.items() if root == handle.name and a != handle.name]
    count = sum(isinstance(s, Alloc) and s.array == handle for s in statements(tuple(block)))
    if at is None or views or count != 1 or handle.name in build.twins:
        return False
    for side in interpreter.branch_envs:
        if any(other != name and handle.name in _roots(build, value) for other, value in side.items()):
            return False
    if any(isinstance(s, Swap) and handle in (s.left, s.right) for s in statements(tuple(block))):
        return False
    block[:] = [rename_arrays(stmt, {handle.name: merged}) for stmt in block]
    block[at] = Alloc(merged, merged.dims, block[at].fill, span=block[at].span)  # type: ignore[attr-defined]
    return True


# -------------------------------------------------------------------------------------------------- exceptions


def raise_error(interpreter: Interpreter, node: ast.Raise) -> None:
    build = interpreter.build
    if node.exc is None:
        build.refuse("a bare raise is not supported in a differentiated function")
    call = node.exc
    kind = expressions.evaluate(interpreter, call.func if isinstance(call, ast.Call) else call)
    if not isinstance(kind, Static) or not isinstance(kind.value, type) or not issubclass(kind.value, BaseException):
        build.refuse("only exception classes, called with a message, can be raised")
    message = ""
    values: list[Expr] = []
    for part in call.args if isinstance(call, ast.Call) else ():
        text, numbers = message_of(interpreter, part)
        message, values = message + text, values + numbers
    _raise(interpreter, kind.value, message, values)


def _raise(interpreter: Interpreter, error: type[BaseException], message: str, values: list[Expr]) -> None:
    if getattr(__import__("builtins"), error.__name__, None) is not error:
        interpreter.exceptions[error.__name__] = error
    interpreter.build.emit(Raise(error.__name__, message, tuple(values)))


def message_of(interpreter: Interpreter, node: ast.expr) -> tuple[str, list[Expr]]:
    """The text of a message, and the numbers that are only known at run time."""
    if isinstance(node, ast.JoinedStr):
        text = ""
        numbers: list[Expr] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            piece, more = message_of(interpreter, inner)
            text, numbers = text + piece, numbers + more
        return text, numbers
    value = expressions.evaluate(interpreter, node)
    if isinstance(value, Static):
        return str(value.value), []
    if isinstance(value, Scalar):
        return (str(value.value), []) if value.is_constant else ("{}", [value.expr])
    return "{array}", []


def assertion(interpreter: Interpreter, node: ast.Assert) -> None:
    test = expressions.evaluate(interpreter, node.test)
    known = expressions.static_truth(test)
    if known:
        return
    condition = expressions.truth(interpreter, test) if known is None else None
    block: list[Stmt] = []
    with interpreter.build.nested(block):
        message, values = message_of(interpreter, node.msg) if node.msg is not None else ("", [])
        _raise(interpreter, AssertionError, message, values)
    if condition is None:
        interpreter.build.block.extend(block)
    else:
        interpreter.build.emit(If(Call("not", (condition,), BOOL), tuple(block)))


def print_values(interpreter: Interpreter, values: list[Any]) -> None:
    parts: list[Any] = []
    for value in values:
        match value:
            case Scalar(expr=expr):
                parts.append(expr)
            case ArrayValue():
                parts.append(interpreter.build.stored(value))
            case Static(value=text):
                parts.append(str(text))
            case _:
                interpreter.build.refuse("print takes numbers, arrays and strings here")
    interpreter.build.emit(Print(tuple(parts)))


__all__ = ["UnsupportedError", "arrays_read", "subexpressions"]
