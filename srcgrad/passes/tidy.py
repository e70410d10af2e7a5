"""What nobody reads goes; zero-then-add becomes assign; a temporary that is read once is written where it is read.

x_b = 0.0                      x_b = 2.0 * x * y_b
g = y_b               →
x_b += 2.0 * x * g
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ..analysis.added_to_zero import added_to_zero, is_zero
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.info import Info, roots_of
from ..ir.nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    CopyTo,
    External,
    For,
    Function,
    Grow,
    If,
    Invoke,
    Library,
    NewStack,
    OwnCopy,
    Pop,
    Print,
    Push,
    Raise,
    Rule,
    Seal,
    Stack,
    Stmt,
    Store,
    Swap,
    Sweep,
    Unseal,
    View,
    While,
    leaves,
)
from ..ir.walk import (
    arrays_read,
    blocks,
    expressions,
    loads,
    map_expressions,
    remembered,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    targets,
    variables,
    with_blocks,
)
from .repeats import changed_by, variables_read, without_repeats
from .reverse_mode.simplify import settled, simpler

LARGEST_INLINED = 12  # nodes of an expression that is moved to where it is read


def tidy(function: Function) -> Function:
    body = rewrite_block(function.body, _open)
    function = _lengths_by_name(replace(function, body=body))
    for _ in range(4):
        before = function.body
        function = _without_dead(function)
        function = replace(function, body=_assigned_directly(function.body))
        function = replace(function, body=_inlined(function))
        function = _without_copies(function)
        function = replace(function, body=without_repeats(function))
        if function.body == before:
            break
    return replace(function, body=_counted(function))


def _counted(function: Function) -> Block:
    """A `while` loop whose trip counter is read counts; others need not."""
    every = statements(function.body)
    if not any(isinstance(stmt, While) for stmt in every):
        return function.body
    read = {v for stmt in every for e in expressions(stmt) for v in variables(e)}
    read |= {v for leaf in leaves(function.results) if isinstance(leaf, Expr) for v in variables(leaf)}

    def count(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, While) and stmt.trip in read:
            step = AddTo(stmt.trip, Const(1, stmt.trip.dtype))
            if stmt.body and stmt.body[-1] == step:
                return (stmt,)
            return Assign(stmt.trip, Const(0, stmt.trip.dtype)), replace(stmt, body=(*stmt.body, step))
        return (stmt,)

    return rewrite_block(function.body, count)


def _open(stmt: Stmt) -> tuple[Stmt, ...]:
    """Rules are their forward parts by now; a sweep is statements like others."""
    match stmt:
        case Rule(forward=forward):
            return forward
        case Sweep(body=body):
            return (Comment("reverse sweep"), *body)
        case Comment(text=""):
            return ()
        case If(condition=Const(value=value), then=then, orelse=orelse):
            return then if value else orelse
        case If(condition=Call(op="ne", args=(x, y)), then=(*_, Raise()), orelse=()) if x.dtype == INT64 and x == y:
            return ()  # lengths that have turned out as one; (of other branches the sweep reads what they bind)
        case If(condition=Call(op="and", args=(_, Call(op="ne", args=(x, y)))), then=(*_, Raise()), orelse=()) if (
            x == y
        ):
            return () if x.dtype == INT64 else (stmt,)
        case Assign(var=var, value=value) if var == value:
            return ()
        case AddTo(value=Const(value=0)):
            return ()
    return (stmt,)


def _lengths_by_name(function: Function) -> Function:
    """`n = x.shape[0]` in the user's program: from there on, it is n."""
    makes: dict[Any, int] = {}
    for stmt in statements(function.body):
        for target in targets(stmt):
            makes[target] = makes.get(target, 0) + 1
    names: dict[Expr, Expr] = {}
    spoken_of: set[Expr] = set()  # those keep their names
    heard: list[Stmt] = []  # what speaks of more
    checked: set[Expr] = set()

    def lasts(part: Expr) -> bool:
        once = isinstance(part, Var) and makes.get(part, 0) == (part not in function.params)
        return once or isinstance(part, (Const, Dim, Call))

    out: list[Stmt] = []
    for stmt in function.body:
        if isinstance(stmt, Assign) and isinstance(stmt.value, Dim) and makes[stmt.var] == 1:
            names.setdefault(stmt.value, stmt.var)
            out.append(stmt)
            continue
        stmt = _with_lengths(stmt, names) if names else stmt
        if isinstance(stmt, If) and _is_check(stmt) and all(map(lasts, subexpressions(stmt.condition))):
            if stmt.condition in checked:
                continue
            checked.add(stmt.condition)
        out.append(stmt)
        for x, y in _found_equal(stmt):
            while heard:
                spoken_of |= _parts(heard.pop())
            stays, gone = sorted((x, y), key=lambda e: 0 if makes.get(e) == 1 else 1 if e in spoken_of else 2)
            if isinstance(gone, Dim) and (isinstance(stays, Dim) or makes.get(stays) == 1):
                names = {length: stays if name == gone else name for length, name in names.items()}
                names.setdefault(gone, stays)
        heard.append(stmt)
    results = tuple(_named_length(leaf, names) if isinstance(leaf, Expr) else leaf for leaf in leaves(function.results))
    return replace(function, body=tuple(out), results=results)


def _is_check(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and len(stmt.then) == 1 and isinstance(stmt.then[0], Raise) and not stmt.orelse


def _parts(stmt: Stmt) -> set[Expr]:
    return {part for s in statements((stmt,)) for expr in expressions(s) for part in subexpressions(expr)}


def _found_equal(stmt: Stmt) -> Iterator[tuple[Expr, Expr]]:
    """Lengths that are equal from here on: the program has stopped where they are not."""
    if _is_check(stmt):
        work = [stmt.condition]  # type: ignore[attr-defined]
        while work:
            match work.pop():
                case Call(op="or", args=args):
                    work += args
                case Call(op="ne", args=(x, y)) if x.dtype == y.dtype == INT64:
                    yield x, y


def _with_lengths(stmt: Stmt, names: dict[Expr, Expr]) -> Stmt:
    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(_with_lengths(s, names) for s in block) for block in inner))
    return map_expressions(stmt, lambda e: _named_length(e, names))


def _named_length(expr: Expr, names: dict[Expr, Expr]) -> Expr:
    return rewrite(expr, lambda node: names.get(node, node)) if names else expr


# ---------------------------------------------------------------------------------------------------- dead code


def _without_dead(function: Function) -> Function:
    info: Info = function.info
    roots = roots_of(function)
    live: set[str] = set()
    for leaf in leaves(function.results):
        live |= _names_read(leaf, roots)
    if info.kind in ("primal", "callee", "partials"):
        live |= {p.name for p in function.params if isinstance(p, (Array, Stack))}
        live |= {f"{p.name}*" for p in function.params if isinstance(p, Stack)}  # what another has pushed has to go
    popped = [s.stack.name for s in statements(function.body) if isinstance(s, Pop)]
    live |= {f"{name}*" for name in popped if popped.count(name) > 1}  # what is not wanted goes with the rest
    live |= {f"{name}=" for name in _written_handles(function.body)}  # handles that something is added to
    while True:
        before = len(live)
        _mark(function.body, live, roots)
        if len(live) == before:
            break
    return replace(function, body=_sweep_out(function.body, live, roots))


def _written_handles(block: Block) -> set[str]:
    out = set()
    for stmt in statements(block):
        if isinstance(stmt, (AddTo, Store, CopyTo, Grow, Library, Swap, Invoke)):
            out |= {t.name for t in targets(stmt) if isinstance(t, Array)}
        elif isinstance(stmt, View):
            out.add(stmt.base.name)
        elif isinstance(stmt, Absorb):
            out.add(stmt.into.name)
    return out


@remembered
def _names_in(value: Expr | Array) -> tuple[set[str], set[str]]:
    """The names that are read, and which of them are arrays."""
    if isinstance(value, Array):
        return {value.name}, {value.name}
    arrays = {load.array.name for load in loads(value)}
    lengths = {f"{node.array}.shape" for node in subexpressions(value) if isinstance(node, Dim)}
    return {v.name for v in variables(value)} | arrays | lengths, arrays


def _names_read(value: Any, roots: dict[str, str]) -> set[str]:
    if not isinstance(value, (Expr, Array)):
        return set()
    names, arrays = _names_in(value)
    return names | {roots.get(name, name) for name in arrays}


@remembered
def _reads(stmt: Stmt) -> tuple[set[str], set[str]]:
    """The names that a statement itself reads, and which of them are arrays."""
    arrays_too = () if isinstance(stmt, Grow) else arrays_read(stmt)  # what it only hands on to itself is nobody's yet
    found = [_names_in(value) for value in (*expressions(stmt), *arrays_too)]
    if isinstance(stmt, Print):
        found += (_names_in(part) for part in stmt.parts if isinstance(part, (Expr, Array)))
    names, arrays = (set[str]().union(*parts) for parts in zip(*found, strict=True)) if found else (set(), set())
    if isinstance(stmt, (Pop, Seal)):
        names.add(stmt.stack.name)
    if isinstance(stmt, Invoke):
        names |= {stack.name for stack in stmt.tapes}
    return names, arrays


def _is_effective(stmt: Stmt, live: set[str], roots: dict[str, str]) -> bool:
    if type(stmt) is Assign:  # most are
        return stmt.var.name in live
    match stmt:
        case Raise() | Print() | Invoke() | Library(draws=True):
            return True
        case Comment():
            return False
        case Absorb(into=into, out=out):
            return roots.get(into.name, into.name) in live and f"{out.name}=" in live
        case Push(stack=stack) | NewStack(stack=stack) | Unseal(stack=stack):
            return stack.name in live
        case Pop(stack=stack) if f"{stack.name}*" in live:
            return True
        case View(array=array):
            return array.name in live or f"{array.name}.shape" in live
        case Alloc(array=array) | Grow(array=array) | External(out=Array() as array) if f"{array.name}.shape" in live:
            return True
        case For() | If():
            return any(_is_effective(s, live, roots) for block in blocks(stmt) for s in block)
        case While(trip=trip):
            return trip.name in live or any(_is_effective(s, live, roots) for s in stmt.body)
    for item in targets(stmt):
        if isinstance(item, Var) and item.name in live:
            return True
        if isinstance(item, Array) and roots.get(item.name, item.name) in live:
            return True
    return False


def _mark(block: Block, live: set[str], roots: dict[str, str]) -> bool:
    """Note what is read for what is live; is any of it effective?"""
    found = False
    for stmt in reversed(block):
        inside = [_mark(inner, live, roots) for inner in blocks(stmt)]
        if not any(inside) and not _is_effective(stmt, live, roots):
            continue
        found = True
        names, arrays = _reads(stmt)
        live |= names
        live.update([roots.get(name, name) for name in arrays])
        for item in targets(stmt):
            if isinstance(item, Array) and not isinstance(stmt, (Alloc, Grow, OwnCopy)):
                live.add(item.name)
                live.add(roots.get(item.name, item.name))
    return found


def _sweep_out(block: Block, live: set[str], roots: dict[str, str]) -> Block:
    out = []
    for stmt in block:
        if not _is_effective(stmt, live, roots) and not isinstance(stmt, Comment):
            continue
        inner = blocks(stmt)
        if inner:
            stmt = with_blocks(stmt, tuple(_sweep_out(b, live, roots) for b in inner))
        out.append(stmt)
    return tuple(out)


# -------------------------------------------------------------------------------------------- zero, then add


def _assigned_directly(block: Block) -> Block:
    out: list[Stmt | None] = [
        with_blocks(s, tuple(_assigned_directly(b) for b in blocks(s))) if blocks(s) else s for s in block
    ]
    constants = {s.var for s in out if isinstance(s, Assign) and isinstance(s.value, Const)}
    touching: dict[Any, list[int]] = {var: [] for var in constants}  # the places of what touches each, in order
    for k, stmt in enumerate(out if constants else ()):
        for var in constants & _touched(stmt):
            touching[var].append(k)
    for position, stmt in enumerate(out):
        if not isinstance(stmt, Assign) or not isinstance(stmt.value, Const):
            continue
        later_ones = touching[stmt.var]
        at = bisect_right(later_ones, position)
        match later := out[later_ones[at]] if at < len(later_ones) else None:
            case AddTo(target=Var() as var, value=value) if var == stmt.var and var not in variables(value):
                if is_zero(stmt.value):
                    out[later_ones[at]] = Assign(var, added_to_zero(later), span=later.span)
                    out[position] = None
            case Assign(var=var, value=value) if var == stmt.var and var not in variables(value):
                out[position] = None
    return tuple(s for s in out if s is not None)


@remembered
def _touched(stmt: Stmt) -> frozenset[Any]:
    """What the statement, or one inside it, sets, and the variables that it reads."""
    inside = (_touched(inner) for block in blocks(stmt) for inner in block)
    return frozenset(targets(stmt)).union(*map(variables, expressions(stmt)), *inside)


# ---------------------------------------------------------------------------------------------------- copies


def _without_copies(function: Function) -> Function:
    """A variable that only ever is another variable, which never changes, is that one."""
    makes: dict[Var, int] = {p: 1 for p in function.params if isinstance(p, Var)}
    copies: dict[Var, Expr] = {}
    for stmt in statements(function.body):
        for target in targets(stmt):
            if isinstance(target, Var):
                makes[target] = makes.get(target, 0) + 1
        if isinstance(stmt, Assign) and isinstance(stmt.value, (Var, Const)) and stmt.is_ours:
            copies[stmt.var] = stmt.value
    copies = {
        var: value
        for var, value in copies.items()
        if makes[var] == 1 and (isinstance(value, Const) or makes.get(value) == 1)  # type: ignore[call-overload]
    }
    indices = {stmt.index for stmt in statements(function.body) if isinstance(stmt, For)}
    copies = {var: value for var, value in copies.items() if value not in indices and value not in copies}

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Assign) and stmt.var in copies:
            return ()
        rule = simpler if stmt.is_ours else settled  # the user's own arithmetic stays as it is written
        return _open(map_expressions(stmt, lambda e: rewrite(substitute(e, dict(copies)), rule)))

    if not copies:
        return function
    results = tuple(
        substitute(leaf, dict(copies)) if isinstance(leaf, Expr) else leaf for leaf in leaves(function.results)
    )
    return replace(function, body=rewrite_block(function.body, change), results=results)


# ------------------------------------------------------------------------------------------- single-use names


def _inlined(function: Function) -> Block:
    roots = roots_of(function)
    uses: dict[Var, int] = {}
    makes: dict[Var, int] = {}
    made_for: set[Var] = set()
    for stmt in statements(function.body):
        for var in variables_read(stmt):
            uses[var] = uses.get(var, 0) + 1
        for target in targets(stmt):
            if isinstance(target, Var):
                makes[target] = makes.get(target, 0) + 1
                if isinstance(stmt, Assign) and stmt.is_ours:
                    made_for.add(target)
    for leaf in leaves(function.results):
        for var in variables(leaf) if isinstance(leaf, Expr) else ():
            uses[var] = uses.get(var, 0) + 2
    params = {p for p in function.params if isinstance(p, Var)}
    once = {v for v in made_for if uses.get(v) == 1 and makes.get(v) == 1 and v not in params}
    if not once:
        return function.body
    return _inline_block(function.body, once, roots)


def _inline_block(block: Block, once: set[Var], roots: dict[str, str]) -> Block:
    out = [with_blocks(s, tuple(_inline_block(b, once, roots) for b in blocks(s))) if blocks(s) else s for s in block]
    position = 0
    while position < len(out):
        stmt = out[position]
        if isinstance(stmt, Assign) and stmt.var in once:
            at = _place_to_inline(out, position, stmt, roots)
            if at is not None:
                out[at] = map_expressions(out[at], partial(_with_value, made=stmt, is_ours=out[at].is_ours))
                del out[position]
                continue
        position += 1
    return tuple(out)


def _with_value(expr: Expr, made: Assign, is_ours: bool) -> Expr:
    out = substitute(expr, {made.var: made.value})
    return rewrite(out, simpler if is_ours else settled) if isinstance(made.value, Const) and out != expr else out


def _place_to_inline(block: list[Stmt], position: int, stmt: Assign, roots: dict[str, str]) -> int | None:
    """The statement that reads the variable, if the value is still the same there and it is read just once."""
    if sum(1 for _ in subexpressions(stmt.value)) > LARGEST_INLINED:
        return None
    memory = {roots.get(x.array.name, x.array.name) for x in loads(stmt.value)}
    fixed = {v.name for v in variables(stmt.value)} | memory
    fixed |= {name for name, root in roots.items() if root in memory} if memory else set()
    for at in range(position + 1, len(block)):
        later = block[at]
        if stmt.var in _touched(later):
            is_read = any(stmt.var in variables(e) for e in expressions(later))  # and not inside a loop or a branch
            return at if is_read and not _under_select(later, stmt) else None
        if not fixed.isdisjoint(_names_changed(later)):
            return None
    return None


@remembered
def _names_changed(stmt: Stmt) -> frozenset[str]:
    """Of the variables and arrays that the statement, or one inside it, sets."""
    numbers, arrays = changed_by(stmt, {})
    return frozenset({var.name for var in numbers} | arrays)


def _under_select(stmt: Stmt, made: Assign) -> bool:
    return isinstance(stmt, (While, For)) or (isinstance(stmt, View) and not isinstance(made.value, (Var, Const)))
