"""Names and what they hold: a value that is bound stands in a variable or in memory of that name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.nodes import AddTo, Alloc, Assign, Invoke, Stmt
from ..ir.rename import rename_arrays
from ..ir.walk import blocks, loads, map_expressions, statements, substitute, variables, with_blocks
from . import identities
from .arithmetic import cast
from .array_values import ArrayValue, Flat, whole
from .calls.frames import Frame
from .control import generators, unbound
from .joined_numbers import Widen, is_as, join_scalars, of_the_types_of, with_types
from .lists import item_views, list_items
from .syntax import flow
from .values import Bound, Closure, Generator, Grid, MadeException, OneOf, Range, Scalar, Slice, Static, TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter


def untangled(interpreter: Interpreter, names: list[str], items: list[Any]) -> list[Any]:
    """Values that read what an earlier of these assignments changes are captured first."""
    out: list[Any] = []
    changed: set[Var] = set()
    for name, item in zip(names, items, strict=False):
        if isinstance(item, Scalar) and variables(item.expr) & changed:
            item = replace(item, expr=interpreter.build.capture(item.expr, name))
        elif isinstance(item, ArrayValue) and variables(item.element) & changed:
            item = whole(interpreter.build.stored(item, name))
        out.append(item)
        current = interpreter.env.get(name)
        if isinstance(current, Scalar) and isinstance(current.expr, Var) and current.expr in interpreter.build.mutable:
            changed.add(current.expr)
    if not changed:
        return out
    return [_captured_first(interpreter, item, changed, name) for item, name in zip(items, names, strict=False)]


def _captured_first(interpreter: Interpreter, item: Any, changed: set[Var], name: str) -> Any:
    if isinstance(item, Scalar) and variables(item.expr) & changed:
        return replace(item, expr=interpreter.build.variable(f"{name}_next", item.expr))
    return settled(interpreter, item) if isinstance(item, ArrayValue) and variables(item.element) & changed else item


def settled(interpreter: Interpreter, value: Any) -> Any:
    """A number as it is now, whatever is written later; an expression of arrays in memory; a view as a view."""
    if isinstance(value, Scalar):
        if value.is_constant:
            return value
        value = with_types(interpreter.build, value)
        return replace(value, expr=interpreter.build.variable("t", value.expr))
    if isinstance(value, OneOf):
        return replace(value, number=settled(interpreter, value.number))
    if item_views.is_view(interpreter, value):
        return value
    if isinstance(value, TupleValue) and (value.identity is None or value.identity in interpreter.given_away):
        return replace(value, items=tuple(settled(interpreter, item) for item in value.items))
    if item_views.is_part(interpreter, value):
        return item_views.copy_of_part(interpreter, value)
    if list_items.is_item(interpreter, value):
        return list_items.copy_of_item(interpreter, value, is_second=True)
    if isinstance(value, ArrayValue) and value.handle is None:
        return whole(interpreter.build.stored(value, "t"))  # a view stays a view, as in NumPy
    return value


def bind(interpreter: Interpreter, name: str, value: Any, mark: int) -> None:
    """Give a value a name: scalars become variables, expressions of arrays become memory."""
    if unbound.bound_flag(name) in interpreter.env:  # it may have been without a value so far
        bind(interpreter, unbound.bound_flag(name), Scalar(Const(True, BOOL), weak=True), mark)
    match value:
        case Scalar():
            value = with_types(interpreter.build, value)
            interpreter.env[name] = _bind_scalar(interpreter, name, value, mark)
        case ArrayValue():
            interpreter.env[name] = _bind_array(interpreter, name, value, mark)
        case TupleValue() | Slice() | Range() | OneOf():
            interpreter.env[name] = bind_item(interpreter, name, value)
        case Static(value=generators.Generator(scope=None) as made):
            interpreter.env[name] = with_a_name(interpreter, made)
        case Static(value=MadeException() as made):
            interpreter.env[name] = with_its_numbers(interpreter, made)
        case _:
            interpreter.env[name] = value


def bind_item(interpreter: Interpreter, name: str, item: Any) -> Any:
    match item:
        case Scalar(expr=expr) if interpreter.build.is_length(expr):
            return item
        case Scalar(expr=expr) if not isinstance(expr, (Const, Var)) or expr in interpreter.build.mutable:
            item = with_types(interpreter.build, item)
            return replace(item, expr=interpreter.build.capture(expr, name))
        case Flat():
            return item
        case ArrayValue() if item_views.is_part(interpreter, item):
            return item_views.copy_of_part(interpreter, item)
        case ArrayValue():
            return interpreter.build.kept(item, name)
        case TupleValue() if item_views.is_view(interpreter, item):
            return item
        case TupleValue() if identities.is_known(interpreter, item):
            return item  # by this name, too, it is what it is by the others
        case TupleValue(items=items):
            return replace(item, items=tuple(bind_item(interpreter, name, part) for part in items))
        case OneOf(number=number):
            return replace(item, number=bind_item(interpreter, name, number))
        case Slice(start=start, stop=stop, step=step):
            return Slice(*(bind_item(interpreter, name, part) for part in (start, stop, step)))
        case Range(start=start, stop=stop, step=step):
            return Range(*(_as_it_is_now(interpreter, name, bound) for bound in (start, stop, step)))
    return item


def _as_it_is_now(interpreter: Interpreter, name: str, bound: Expr) -> Expr:
    may_change = bool(loads(bound)) or bool(variables(bound) & interpreter.build.mutable)
    return interpreter.build.capture(bound, name) if may_change else bound


def _bind_scalar(interpreter: Interpreter, name: str, value: Scalar, mark: int) -> Scalar:
    build = interpreter.build
    current = interpreter.env.get(name)
    is_carried = isinstance(current, Scalar) and isinstance(current.expr, Var) and current.expr in build.mutable
    if is_carried and name in _carried_names(interpreter):
        return _reassign(interpreter, name, current, value)  # type: ignore[arg-type]
    expr = value.expr
    if isinstance(expr, Const) or (interpreter.frame.is_composition and build.is_length(expr)):
        return value
    if affine.is_left_by_a_slice(expr):
        build.names.lengths.setdefault(expr, name)  # for the reader (see `name_lengths`)
        return value
    if isinstance(expr, Dim):  # a length stays what it is; the name is for the reader (see `tidy`)
        if not any(isinstance(s, Assign) and s.value == expr for s in build.block):
            build.variable(name, expr)
        return value
    if isinstance(expr, Var) and _is_fresh(interpreter, expr, mark):
        return replace(value, expr=_rename_variable(interpreter, expr, name, mark))
    if isinstance(expr, Var) and expr not in build.mutable:
        return value
    var = build.variable(name, expr)
    if expr.dtype == INT64 and build.is_at_least(expr, 1):
        build.positive.add(var)
    return replace(value, expr=var)


def _carried_names(interpreter: Interpreter) -> set[str]:
    """The names of the current call that go round a loop being interpreted."""
    return {name for frame, names in interpreter.loops if frame is interpreter.frame for name in names}


def _reassign(interpreter: Interpreter, name: str, current: Scalar, value: Scalar) -> Scalar:
    """The variable goes round a loop: it is assigned, and its type may have to widen."""
    var = current.expr
    assert isinstance(var, Var)
    if (held := interpreter.build.may_hold.get(var)) is not None:
        current = replace(current, types=held if current.types <= held else current.types | held)
    joined = join_scalars(current, value)
    if not is_as(joined, current):
        raise Widen(name, joined)
    if value.weak and not joined.weak:
        interpreter.build.either.add(var)
    expr = cast(value.expr, joined.dtype)
    rest = affine.sub(expr, var) if expr.dtype == INT64 else var
    match expr:
        case _ if expr == var:
            pass
        case _ if var not in variables(rest):  # k += 2 * i + 1 is a sum of three by now
            interpreter.build.emit(AddTo(var, rest))
        case Call(op="add", args=(x, y)) if x == var:
            interpreter.build.emit(AddTo(var, y))
        case Call(op="add", args=(x, y)) if y == var:
            interpreter.build.emit(AddTo(var, x))
        case Call(op="sub", args=(x, y)) if x == var:
            interpreter.build.emit(AddTo(var, Call("neg", (y,), y.dtype)))
        case _:
            interpreter.build.emit(Assign(var, expr))
    return of_the_types_of(interpreter.build, current, value)


def _is_fresh(interpreter: Interpreter, var: Var, mark: int) -> bool:
    """Was this variable made while the current right side was evaluated, and is it nothing else's name?"""
    made = [s for s in statements(tuple(interpreter.build.block[mark:])) if _makes(s, var)]
    return bool(made) and var not in interpreter.build.pinned and not names_of(interpreter, var)


def names_of(interpreter: Interpreter, var: Var) -> list[str]:
    """The user's names that stand for this variable, in any call that is being interpreted, or outside of them."""
    out = [captured.name for captured, _ in interpreter.captured.values() if captured.param == var]
    for frame in identities.frames_of(interpreter):
        for name, value in frame.env.items():
            if any(isinstance(v, Scalar) and v.expr == var for v in _flat(value)):
                out.append(name)
    return out


def _rename_variable(interpreter: Interpreter, var: Var, name: str, mark: int) -> Var:
    build = interpreter.build
    new = Var(build.names.fresh(name), var.dtype)
    build.names.taken.discard(var.name)
    build.block[mark:] = [_rename(stmt, {var: new}) for stmt in build.block[mark:]]
    build.mutable.discard(var)
    if var in build.either:
        build.either.add(new)
    build.reduced.rename(var, new)
    return new


def _bind_array(interpreter: Interpreter, name: str, value: ArrayValue, mark: int) -> ArrayValue:
    if isinstance(value, Flat):
        return value
    if item_views.is_part(interpreter, value):
        return item_views.copy_of_part(interpreter, value)
    handle = value.handle
    if name == flow.RESULT and interpreter.frame.is_composition and interpreter.build.depth == interpreter.frame.depth:
        return value  # an expression may stay one, as the results of rules do
    if handle is not None:
        if handle.name.rstrip("_0123456789") == "t" and is_fresh_array(interpreter, handle, mark):
            return whole(rename_array(interpreter, handle, name, mark))
        interpreter.build.check_fresh(value.element)
        return value
    return interpreter.build.kept(value, name)


def is_fresh_array(interpreter: Interpreter, array: Array, mark: int) -> bool:
    made = statements(tuple(interpreter.build.block[mark:]))
    return any(isinstance(s, Alloc) and s.array == array for s in made)


def rename_array(interpreter: Interpreter, array: Array, name: str, mark: int) -> Array:
    build = interpreter.build
    new = replace(array, name=build.names.fresh(name))
    build.names.taken.discard(array.name)
    build.is_new(new.name)
    build.block[mark:] = [rename_arrays(stmt, {array.name: new}) for stmt in build.block[mark:]]
    for known in (build.contiguous, build.uncertain, build.turned):  # the old name is free for other arrays
        if array.name in known:
            known.discard(array.name)
            known.add(new.name)
    build.roots = {k: (new.name if v == array.name else v) for k, v in build.roots.items() if k != array.name}
    build.roots[new.name] = new.name
    for types in (build.types, build.item_types):
        if array.name in types:
            types[new.name] = types.pop(array.name)
    current = lambda name: new.name if name == array.name else name
    build.twins = {current(k): set(map(current, twins)) for k, twins in build.twins.items()}
    build.arguments_held = {current(k): held for k, held in build.arguments_held.items()}
    build.originals = {current(k): set(map(current, originals)) for k, originals in build.originals.items()}
    build.parted = {frozenset(map(current, pair)): label for pair, label in build.parted.items()}
    build.transposed = {k: (new if x == array else x, turn) for k, (x, turn) in build.transposed.items()}
    build.reduced.rename(array, new)
    return new


def _makes(stmt: Stmt, var: Var) -> bool:
    return var == stmt.var if isinstance(stmt, Assign) else isinstance(stmt, Invoke) and var in stmt.outs


def _flat(value: Any) -> list[Any]:
    match value:
        case TupleValue(items=parts) | Grid(over=parts):
            return [leaf for part in parts for leaf in _flat(part)]
        case OneOf(number=number):
            return [number]
        case Slice(start=start, stop=stop, step=step):
            return [start, stop, step]
        case Range(start=start, stop=stop, step=step):
            return [Scalar(var) for bound in (start, stop, step) for var in variables(bound)]
        case Bound(args=args, kwargs=kwargs):
            return [leaf for part in (value.function, *args, *dict(kwargs).values()) for leaf in _flat(part)]
        case Closure(defaults=defaults):
            return [leaf for part in defaults.values() for leaf in _flat(part)]
    return [value]


def _rename(stmt: Stmt, names: dict[Any, Expr]) -> Stmt:
    """A statement with variables replaced, assigned ones too."""
    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(_rename(s, names) for s in block) for block in inner))
    if hasattr(stmt, "adjoint"):
        stmt = replace(stmt, adjoint=tuple(_rename(s, names) for s in stmt.adjoint))  # type: ignore[call-arg]
    return map_expressions(stmt, lambda expr: substitute(expr, names))


def with_its_numbers(interpreter: Interpreter, made: MadeException) -> Static:
    """An error that is raised further down: its numbers are what they are now."""

    def now(value: Any) -> Any:
        if isinstance(value, TupleValue):
            return replace(value, items=tuple(map(now, value.items)))
        return for_later(interpreter, value) if isinstance(value, Scalar) else value

    named = tuple((name, now(value)) for name, value in made.named)
    return Static(replace(made, given=tuple(map(now, made.given)), named=named))


def for_later(interpreter: Interpreter, value: Scalar) -> Scalar:
    """A number for a field: no loop or branch behind the text may assign its variable."""
    now = bind_item(interpreter, "t", value)
    interpreter.build.pinned |= variables(now.expr)
    return now


def with_a_name(interpreter: Interpreter, made: Generator) -> Static:
    """A generator that waits for its loop: what it was given is what it was, whatever names are given by then.

    It is held as the names of a scope are: others may write it, or let go of it.
    """
    given = made.given if made.first is None else made.given | {generators.COUNT: made.first}
    env = {name: bind_item(interpreter, name.lstrip("."), value) for name, value in given.items()}
    return Static(replace(made, given={}, scope=Frame(made.source, made.function, env, made.parent)))
