"""All walking of the tree: children, rewriting, substitution, and what a statement reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, lru_cache
from operator import is_
from typing import Any, TypeVar

from . import affine
from .expressions import INT64, LAZY, Array, Axis, Call, Const, Cotangent, Expr, Load, Old, OldArray, Var
from .nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    AtomicAdd,
    Block,
    CopyTo,
    External,
    Fetch,
    For,
    ForEach,
    Grow,
    If,
    Invoke,
    Kernel,
    Lanes,
    Library,
    LocalArray,
    OwnCopy,
    Parallel,
    Pop,
    Print,
    Push,
    Put,
    Raise,
    Room,
    Rule,
    Seal,
    Stmt,
    Store,
    Swap,
    Sweep,
    Unseal,
    View,
    While,
)

Answer = TypeVar("Answer")


def remembered(ask: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """Nodes never change, and passes ask them the same again and again: a node remembers the answer."""
    name = f"{ask.__module__}.{ask.__qualname__}"

    def answer(node: Any) -> Answer:
        held: dict[str, Any] = node.__dict__
        try:
            return held[name]
        except KeyError:
            held[name] = found = ask(node)
            return found

    return answer


# -------------------------------------------------------------------------------------------------- expressions


def children(expr: Expr) -> tuple[Expr, ...]:
    kind = type(expr)  # asked for millions of times: `match` would take thrice as long
    if kind is Call:
        return expr.args  # type: ignore[attr-defined]
    if kind is Load:
        return expr.index  # type: ignore[attr-defined]
    if kind is Old:
        return (expr.expr,)  # type: ignore[attr-defined]
    if kind is Cotangent and isinstance(expr.of, Load):  # type: ignore[attr-defined]
        return expr.of.index  # type: ignore[attr-defined]
    return ()


@remembered
def _below(expr: Expr) -> tuple[Expr, ...]:
    """What is in it; without itself: what a node holds must not hold the node."""
    return tuple(part for child in children(expr) for part in subexpressions(child))


def rebuild(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    match expr:
        case Call():
            return expr if parts == expr.args else Call(expr.op, parts, expr.dtype)
        case Load():
            return expr if parts == expr.index else Load(expr.array, parts, expr.checked, expr.natural)
        case Old():
            return expr if parts[0] == expr.expr else Old(parts[0], expr.at, expr.local)
        case Cotangent(of=Load(array=array)):
            return Cotangent(Load(array, parts))
    return expr


def rewrite(expr: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """`rule` on every node, innermost first."""
    parts = children(expr)
    if parts:
        expr = rebuild(expr, tuple(rewrite(part, rule) for part in parts))
    return rule(expr)


def subexpressions(expr: Expr) -> tuple[Expr, ...]:
    """The expression and all in it, outer before inner."""
    return (expr, *_below(expr)) if children(expr) else (expr,)


def substitute(expr: Expr, values: Mapping[Any, Expr]) -> Expr:
    """Replace variables, or axes by number (all at once)."""

    if values.keys().isdisjoint(_replaceable(expr)):
        return expr

    def swap(node: Expr) -> Expr:
        if isinstance(node, Axis):
            return values.get(node.number, node)
        if isinstance(node, Var):
            return values.get(node, node)
        if isinstance(node, Cotangent) and isinstance(node.of, Var):
            new = values.get(node.of, node.of)
            return Cotangent(new) if isinstance(new, Var) else node
        return node

    return rewrite(expr, swap)


@lru_cache(maxsize=65536)
def _replaceable(expr: Expr) -> frozenset[Var | int]:
    """The variables and the numbers of axes in an expression."""
    if isinstance(expr, Cotangent) and isinstance(expr.of, Var):
        return frozenset((expr.of,))
    own: tuple[Var | int, ...] = (expr.number,) if isinstance(expr, Axis) else (expr,) if isinstance(expr, Var) else ()
    return frozenset(own).union(*map(_replaceable, children(expr)))


@lru_cache(maxsize=65536)
def variables(expr: Expr) -> frozenset[Var]:
    """The scalar variables that an expression reads."""
    if isinstance(expr, Var):
        return frozenset((expr,))
    return frozenset().union(*(variables(part) for part in children(expr)))


@lru_cache(maxsize=65536)
def loads(expr: Expr) -> tuple[Load, ...]:
    """The array elements that an expression reads, in order, each once."""
    own = (expr,) if isinstance(expr, Load) else ()
    return tuple(dict.fromkeys(own + tuple(load for part in children(expr) for load in loads(part))))


def sure_loads(expr: Expr) -> Iterator[Load]:
    """The array elements that are read whenever the expression is evaluated."""
    if isinstance(expr, Load):
        yield expr
    parts = children(expr)
    for part in parts[:1] if isinstance(expr, Call) and expr.op in LAZY else parts:
        yield from sure_loads(part)


def counts_upwards(place: Load | Store) -> bool:
    """Does no index of it count from the end?"""
    return place.natural or not place.checked


# --------------------------------------------------------------------------------------------------- statements


NESTING = frozenset((For, While, ForEach, Sweep, Parallel, Kernel, Lanes, If, Rule))


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks inside a statement, in order of execution."""
    kind = type(stmt)
    if kind not in NESTING:
        return ()
    if kind is If:
        return (stmt.then, stmt.orelse)  # type: ignore[attr-defined]
    return (stmt.forward if kind is Rule else stmt.body,)  # type: ignore[attr-defined]


def with_blocks(stmt: Stmt, parts: tuple[Block, ...]) -> Stmt:
    """The statement with other blocks in it; itself, if they hold the statements that it has."""
    if type(stmt) not in NESTING or all(map(is_same, parts, blocks(stmt))):
        return stmt
    match stmt:
        case If():
            return with_fields(stmt, {"then": parts[0], "orelse": parts[1]})
        case Rule():
            return with_fields(stmt, {"forward": parts[0]})
    return with_fields(stmt, {"body": parts[0]})


def is_same(new: Sequence[Any], old: Sequence[Any]) -> bool:
    """Are they made of the same objects?"""
    return len(new) == len(old) and all(map(is_, new, old))


def statements(block: Block) -> list[Stmt]:
    """Every statement, outer before inner."""
    out: list[Stmt] = []
    for stmt in block:
        out.append(stmt)
        if type(stmt) in NESTING:
            out += _inside_of(stmt)
    return out


@remembered
def _inside_of(stmt: Stmt) -> list[Stmt]:
    return [inner for block in blocks(stmt) for inner in statements(block)]


def rewrite_block(block: Block, rule: Callable[[Stmt], tuple[Stmt, ...]]) -> Block:
    """`rule` on every statement, innermost first; it returns what stands in its place."""
    out: list[Stmt] = []
    for stmt in block:
        parts = blocks(stmt)
        if parts:
            stmt = with_blocks(stmt, tuple(rewrite_block(part, rule) for part in parts))
        out.extend(rule(stmt))
    return tuple(out)


def with_fields(node: Any, changes: dict[str, Any]) -> Any:
    """What `replace` makes, in a third of the time."""
    new = object.__new__(type(node))
    held = node.__dict__
    names = _fields(type(node))  # type: ignore[arg-type]
    new.__dict__.update({name: held[name] for name in names}, **changes)
    return new


def made_for(origin: Stmt, made: Iterable[Stmt]) -> list[Stmt]:
    """The statements, with the place of the one that they were made for, where they have none."""
    made = [*made]
    if origin.span is None or all(stmt.span is not None for stmt in made):
        return made
    place = replace(origin.span, derived=True)
    return [with_fields(stmt, {"span": place}) if stmt.span is None else stmt for stmt in made]


@cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def map_expressions(stmt: Stmt, rule: Callable[[Expr], Expr]) -> Stmt:
    """`rule` on every expression that stands in the statement itself (inner blocks are left alone)."""
    changes: dict[str, Any] = {}
    for name in _own_fields(type(stmt)):  # type: ignore[arg-type]
        value = getattr(stmt, name)
        new = _map_value(value, rule)
        if new is not value:
            changes[name] = new
    return with_fields(stmt, changes) if changes else stmt


def substituted(block: Block, values: Mapping[Any, Expr]) -> Block:
    """The statements, and those inside them, with other expressions for variables and index variables."""

    def put(node: Expr) -> Expr:
        match node:
            case Call(op="floordiv", args=(x, Const(value=int(by)))) if by > 0:
                return affine.floordiv(x, by)
        return affine.normal(node) if node.dtype == INT64 else node

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        return (map_expressions(stmt, lambda expr: rewrite(substitute(expr, values), put)),)

    return rewrite_block(block, change)


def with_names_for(stmt: Stmt, names: Mapping[Expr, Expr]) -> Stmt:
    """The statement, and those inside it, with names for what these are known as."""
    inner = tuple(tuple(with_names_for(s, names) for s in block) for block in blocks(stmt))
    return map_expressions(
        with_blocks(stmt, inner), lambda expr: rewrite(expr, lambda node: names.get(node, node)) if names else expr
    )


@cache
def _own_fields(kind: type) -> tuple[str, ...]:
    inner = {"body", "then", "orelse", "forward", "adjoint", "span", "label"}
    plain = {"int", "str", "bool", "Array", "Array | None", "tuple[Array, ...]"}  # no expression is in these
    return tuple(item.name for item in fields(kind) if item.name not in inner and item.type not in plain)


def _map_value(value: Any, rule: Callable[[Expr], Expr]) -> Any:
    if isinstance(value, Expr):
        return rule(value)
    if isinstance(value, tuple):
        new = tuple([_map_value(item, rule) for item in value])
        return value if is_same(new, value) else new
    if isinstance(value, (str, int, float, Array)) or value is None:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: _map_value(getattr(value, f.name), rule) for f in fields(value)}
        same = all(changes[name] is getattr(value, name) for name in changes)
        return value if same else replace(value, **changes)
    return value


@remembered
def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that a statement evaluates itself: not its inner blocks, not the variable that it sets."""
    return tuple(_expressions(stmt))


def _expressions(stmt: Stmt) -> Iterator[Expr]:
    match stmt:
        case Assign(value=value):
            yield value
        case AddTo(target=target, value=value):
            yield value
            if isinstance(target, Load):
                yield from target.index
        case Store(index=index, value=value):
            yield from index
            yield value
        case Alloc(dims=dims, fill=fill):
            yield from dims
            if fill is not None:
                yield fill
        case View(how=how):
            yield from _inside(how)
        case ForEach(dims=dims) | Pop(dims=dims):
            yield from dims
        case For(start=start, stop=stop, step=step):
            yield from (start, stop, step)
        case Lanes(start=start, stop=stop, reads=reads):
            yield from (start, stop, *(value for _, value in reads))
        case Kernel(axes=axes):
            for axis in axes:
                yield from (axis.start, axis.stop, axis.step)
        case While(condition=condition) | If(condition=condition):
            yield condition
        case Invoke(args=args):
            yield from _inside(args)
        case _:
            for name in _own_fields(type(stmt)):  # type: ignore[arg-type]
                if name not in ("outputs", "out"):
                    yield from _inside(getattr(stmt, name))


def _inside(value: Any) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _inside(item)
    elif is_dataclass(value) and not isinstance(value, (type, Array)):
        for f in fields(value):
            yield from _inside(getattr(value, f.name))


@remembered
def targets(stmt: Stmt) -> tuple[Var | Array, ...]:
    """The scalars and the arrays whose value this statement itself changes."""
    found = _written(stmt)
    return found if isinstance(found, tuple) else () if found is None else (found,)


def _written(stmt: Stmt) -> Var | Array | tuple[Var | Array, ...] | None:
    match stmt:
        case Assign(var=var) | Fetch(var=var) | Put(var=var) | Room(var=var):
            return var
        case AddTo(target=target):
            return target if isinstance(target, Var) else target.array
        case Store(array=array) | Alloc(array=array) | Grow(array=array):
            return array
        case AtomicAdd(array=array) | LocalArray(array=array):
            return array
        case Kernel(sets=sets, sums=sums):
            return (*sets, *sums)
        case CopyTo(target=target):
            return target
        case Absorb(into=into):
            return into
        case Swap(left=left, right=right):
            return (left, right)
        case Library(others=(_, *_)):
            return stmt.outs
        case Library(out=out) | External(out=out):
            return out
        case For(index=index) | While(trip=index) | Lanes(index=index):
            return index
        case Pop(target=target):
            return target
        case OwnCopy(array=array) | Seal(array=array):
            return array
        case Invoke(outs=outs, writes=writes):
            return (*outs, *writes)
    return None


def written_place(stmt: Stmt) -> Load | None:
    """The element that this statement itself sets or adds to."""
    match stmt:
        case Store(array=array, index=index, checked=checked, natural=natural):
            return Load(array, index, checked, natural)
        case AddTo(target=Load() as target):
            return target
    return None


def always_raises(stmt: Stmt) -> bool:
    """On every path?"""
    if isinstance(stmt, If):
        return any(map(always_raises, stmt.then)) and any(map(always_raises, stmt.orelse))
    return isinstance(stmt, Raise)


def numbers_set(block: Block) -> set[Var]:
    """The scalar variables to which statements, and those inside them, give values."""
    return {target for stmt in statements(block) for target in targets(stmt) if isinstance(target, Var)}


@remembered
def mentioned(stmt: Stmt) -> frozenset[Var]:
    """The numbers that this statement itself sets and reads."""
    own = {target for target in targets(stmt) if isinstance(target, Var)}
    return frozenset(own.union(*map(variables, expressions(stmt))))


@remembered
def arrays_read(stmt: Stmt) -> tuple[Array, ...]:
    """Arrays that the statement itself reads: element by element, or whole."""
    out = [load.array for expr in expressions(stmt) for load in loads(expr)]
    match stmt:
        case CopyTo(source=source):
            out.append(source)
        case Swap(left=left, right=right):
            out += [left, right]
        case Absorb(out=source):
            out.append(source)
        case Library(args=args) | External(args=args) | Invoke(args=args):
            out += [
                arg.array if isinstance(arg, OldArray) else arg for arg in args if isinstance(arg, (Array, OldArray))
            ]
        case View(base=base):
            out.append(base)
        case Grow(array=array):
            out.append(array)
        case Push(value=Array() as array) | Unseal(array=array):
            out.append(array)
        case Print(parts=parts):
            out += [part for part in parts if isinstance(part, Array)]
        case AddTo(target=Load(array=array)):
            out.append(array)
    return tuple(dict.fromkeys(out))


def is_constant(expr: Expr, value: Any = None) -> bool:
    return isinstance(expr, Const) and (value is None or expr.value == value)


def mentions(expr: Expr, kind: type) -> bool:
    return any(isinstance(node, kind) for node in subexpressions(expr))
