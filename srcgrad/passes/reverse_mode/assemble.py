"""The function that is wanted: both sweeps in one, or the forward or the reverse half of a pair.

joint    f_backward(x, y_b)  → x_b          value and cotangents, or the cotangents alone
split    f_forward(x)        → y, residuals
         f_pullback(residuals, y_b) → x_b   as often as wanted; on a GPU it may go forward again (`forward_again`)
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from ...ir.expressions import INT64, Array, Const, Dim, Expr, Load, Var
from ...ir.info import Info, roots_of
from ...ir.nodes import (
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
    NewStack,
    OwnCopy,
    Pop,
    Push,
    Raise,
    Seal,
    Stack,
    Stmt,
    Sweep,
    Unseal,
    View,
    While,
    leaves,
)
from ...ir.types import ArrayType, ScalarType, TupleType
from ...ir.walk import (
    arrays_read,
    blocks,
    expressions,
    map_expressions,
    rewrite,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
)


def assemble(function: Function) -> Function:
    info: Info = function.info
    extra = info.extra
    forward = tuple(s for s in function.body if not isinstance(s, Sweep))
    sweep = next(s for s in function.body if isinstance(s, Sweep))
    sweep = replace(sweep, body=(*extra["seed_setup"], *sweep.body))
    if info.kind in ("backward", "value_and_backward"):
        return _joint(function, forward, sweep)
    if extra.get("goes_forward_again"):
        return _split_at_the_entry(function, forward, sweep)
    return _split(function, forward, sweep)


def _joint(function: Function, forward: Block, sweep: Sweep) -> Function:
    info: Info = function.info
    extra = info.extra
    results, structure = function.results, extra["cotangent_structure"]
    if info.kind == "value_and_backward":
        results = (*leaves(info.outputs), *results)
        structure = TupleType((extra["output_structure"], structure))
    params = (*extra["own"], *extra["seed_params"], *extra["captured_params"])
    for check in extra["seed_checks"]:
        forward = _as_early_as_can_be(check, forward)
    return _finished(function, params, (*forward, sweep), results, structure)


def _as_early_as_can_be(check: If, forward: Block) -> Block:
    """The shape of v is looked at before anything is computed, if only the arguments decide what it has to be: then no
    check stands between a loop and its reverse either, and they may become one.  Only behind its own checks of
    lengths (memory that changes places in a loop has to be of one) is it known what the output's are."""
    lengths = variables(check.condition)
    own = {part.array for part in subexpressions(check.condition) if isinstance(part, Dim)}
    at = next((k for k, stmt in enumerate(forward) if not _is_entry(stmt)), len(forward))
    for k, stmt in enumerate(itertools.takewhile(lambda stmt: not isinstance(stmt, (For, While)), forward)):
        if _is_about_lengths(stmt):
            at = max(at, k + 1)
    for k, stmt in enumerate(forward[at:], at):
        if any(_decides(inner, lengths, own) for inner in statements((stmt,))):
            at = k + 1
    return (*forward[:at], check, *forward[at:])


def _decides(stmt: Stmt, lengths: frozenset[Var], arrays: set[str]) -> bool:
    """Are these lengths known behind this statement only?  What is made elsewhere comes with lengths of its own."""
    makes = isinstance(stmt, (External, Grow))
    return any(thing in lengths or (makes and thing.name in arrays) for thing in targets(stmt))


def _is_about_lengths(stmt: Stmt) -> bool:
    match stmt:
        case If(then=(Raise(error="RuntimeShapeError"),), orelse=()):
            return True
    return False


def _is_entry(stmt: Stmt) -> bool:
    """Names, and checks of arguments."""
    if isinstance(stmt, If):
        return all(isinstance(inner, Raise) for inner in (*stmt.then, *stmt.orelse))
    return isinstance(stmt, (Assign, View, OwnCopy, Comment))


def _finished(function: Function, params: tuple[Any, ...], body: Block, results: Any, structure: Any) -> Function:
    extra = function.info.extra | {"arguments": tuple(map(type_of, params)), "results": structure}
    return replace(function, params=params, body=body, results=results, info=replace(function.info, extra=extra))


def type_of(thing: Any) -> Any:
    return ArrayType(thing.dtype, thing.ndim) if isinstance(thing, Array) else ScalarType(thing.dtype)


# --------------------------------------------------------------------------------------------------------- split


def _split(function: Function, forward: Block, sweep: Sweep) -> Function:
    info: Info = function.info
    extra, names = info.extra, info.names
    seeds = extra["seed_params"]
    sweep = replace(sweep, body=(*extra["seed_checks"], *sweep.body))
    sizes: dict[Dim, Var] = {}
    given = {p.name for p in (*extra["own"], *extra["captured_params"])}
    lengths = given | {stmt.array.name for stmt in statements(forward) if isinstance(stmt, Grow)}

    def size(expr: Expr) -> Expr:
        """The shape of an argument, or of a list that has grown, is handed on, not the argument."""
        if isinstance(expr, Dim) and expr.array in lengths:
            if expr not in sizes:
                sizes[expr] = Var(names.fresh(f"{expr.array}_n{expr.axis}"), INT64)
            return sizes[expr]
        return expr

    sweep = mapped(sweep, lambda e: rewrite(e, size))  # type: ignore[assignment]
    forward = (*forward, *(Assign(var, dim) for dim, var in sizes.items()))
    residuals = residuals_of(forward, sweep.body, function, {s.name for s in info.seeds or () if s is not None})
    handed, opened, taken = [], [], []
    own: list[Stmt] = []
    shared = _shared_roots(function, forward)
    for residual in residuals:
        if isinstance(residual, Stack):
            whole = Array(names.fresh(f"{residual.name}_all"), residual.dtype, (Dim(residual.name, 0),))
            own.append(Seal(whole, residual))
            opened.append(Unseal(residual, whole))
            handed.append(whole)
            taken.append(whole)
        elif isinstance(residual, Array) and shared.get(residual.name, residual.name) in shared["*"]:
            copy = Array(names.fresh(f"{residual.name}_kept"), residual.dtype, residual.dims)
            own += [Alloc(copy, residual.dims), CopyTo(copy, residual)]
            handed.append(copy)
            taken.append(residual)
        else:
            handed.append(residual)
            taken.append(residual)
    forward = (*defaults_of([r for r in residuals if r.name not in given], forward), *forward)
    if info.kind == "forward":
        structure = TupleType((extra["output_structure"], TupleType(tuple(map(type_of, handed)))))
        params = (*extra["own"], *extra["captured_params"])
        return _finished(function, params, (*forward, *own), (*leaves(info.outputs), *handed), structure)
    return _finished(function, (*taken, *seeds), (*opened, sweep), function.results, extra["cotangent_structure"])


def _split_at_the_entry(function: Function, forward: Block, sweep: Sweep) -> Function:
    """All that is handed on are the arguments, as they were: the reverse half goes forward once more.

    Of an array that is not used itself its lengths are handed on, as far as they are of interest.
    """
    info: Info = function.info
    extra, names = info.extra, info.names
    whole = (*forward, *extra["seed_checks"], sweep)
    given = [*extra["own"], *extra["captured_params"]]
    used = {name for stmt in statements(whole) for name in reads_of(stmt)}
    params = [p for p in given if p.name in used]
    mentioned = {node for stmt in statements(whole) for e in expressions(stmt) for node in subexpressions(e)}
    others = [Dim(p.name, axis) for p in given if p not in params and isinstance(p, Array) for axis in range(p.ndim)]
    sizes = {dim: Var(names.fresh(f"{dim.array}_n{dim.axis}"), INT64) for dim in others if dim in mentioned}
    if info.kind == "pullback":
        for check in extra["seed_checks"]:
            forward = _as_early_as_can_be(check, forward)
        size = lambda expr: sizes[expr] if isinstance(expr, Dim) and expr in sizes else expr
        body = tuple(mapped(stmt, lambda e: rewrite(e, size)) for stmt in (*forward, sweep))
        structure = extra["cotangent_structure"]
        taken = (*params, *sizes.values(), *extra["seed_params"])
        return _finished(function, taken, body, function.results, structure)
    ahead: list[Stmt] = []
    handed: list[Var | Array] = []
    for param in params:
        name = names.fresh(f"{param.name}_kept")
        if isinstance(param, Array):
            copy = Array(name, param.dtype, param.dims)
            ahead += [Alloc(copy, param.dims), CopyTo(copy, param)]
            handed.append(copy)
        else:
            number = Var(name, param.dtype)
            ahead.append(Assign(number, param))
            handed.append(number)
    for dim, length in sizes.items():
        ahead.append(Assign(length, dim))
        handed.append(length)
    structure = TupleType((extra["output_structure"], TupleType(tuple(map(type_of, handed)))))
    body = (*ahead, *_without_stacks(forward))
    return _finished(function, tuple(given), body, (*leaves(info.outputs), *handed), structure)


def _without_stacks(block: Block) -> Block:
    kept = (stmt for stmt in block if not isinstance(stmt, (NewStack, Push)))
    return tuple(with_blocks(s, tuple(map(_without_stacks, blocks(s)))) if blocks(s) else s for s in kept)


def defaults_of(residuals: list[Any], forward: Block) -> Block:
    """What only some paths make is handed on all the same: empty or zero where it was not made."""
    always = {item.name for stmt in forward for item in _makes(stmt)}
    out: list[Stmt] = []
    for residual in residuals:
        if residual.name in always:
            continue
        if isinstance(residual, Stack):
            out.append(NewStack(residual))
        elif isinstance(residual, Var):
            out.append(Assign(residual, Const(residual.dtype.type(0).item(), residual.dtype)))
        elif all(not isinstance(dim, Dim) or dim.array != residual.name for dim in residual.dims):
            out.append(Alloc(residual, (Const(0, INT64),) * residual.ndim))
    return tuple(out)


def _shared_roots(function: Function, forward: Block) -> dict[str, Any]:
    """Memory that others can write to while a pullback waits: arguments and outputs."""
    roots: dict[str, Any] = dict(roots_of(replace(function, body=forward)))
    outside = {p.name for p in function.params}
    for leaf in leaves(function.info.outputs):
        if isinstance(leaf, Array):
            outside.add(roots.get(leaf.name, leaf.name))
    for stmt in statements(forward):
        if isinstance(stmt, External) and any(isinstance(arg, Array) for arg in stmt.args):
            outside.add(stmt.out.name)  # it may be a view of what it was given
    roots["*"] = outside
    return roots


def mapped(stmt: Stmt, rule: Any) -> Stmt:
    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(mapped(s, rule) for s in block) for block in inner))
    return map_expressions(stmt, rule)


def residuals_of(forward: Block, sweep: Block, function: Function, given: set[str]) -> list[Any]:
    """What the sweep reads before it makes it, in the order in which the forward part makes it."""
    known: dict[str, Any] = {p.name: p for p in function.params}
    for stmt in statements(forward):
        for item in _makes(stmt):
            known.setdefault(item.name, item)
    wanted: set[str] = set()
    made: set[str] = set()
    for stmt in statements(sweep):
        wanted |= reads_of(stmt) - made
        made |= {item.name for item in _makes(stmt)}
    for leaf in leaves(function.results):
        if isinstance(leaf, Expr):
            wanted |= {v.name for v in variables(leaf)} - made
    given = given | {s.name for s in function.info.extra["seed_params"]}
    return [item for name, item in known.items() if name in wanted - given]


def _makes(stmt: Stmt) -> list[Any]:
    if isinstance(stmt, (View, NewStack)):
        return [stmt.array if isinstance(stmt, View) else stmt.stack]
    if isinstance(stmt, (CopyTo, Pop)) and not isinstance(stmt, Pop):
        return []  # writing into memory does not make it
    if isinstance(stmt, Invoke):
        return list(stmt.outs)
    return [i for i in targets(stmt) if isinstance(i, Var) or isinstance(stmt, (Alloc, External, Pop, Seal))]


def reads_of(stmt: Stmt) -> set[str]:
    names: set[str] = set()
    for expr in expressions(stmt):
        names |= {v.name for v in variables(expr)}
        names |= {n.array.name for n in subexpressions(expr) if isinstance(n, Load)}
    names |= {a.name for a in arrays_read(stmt)}
    names |= {t.name for t in targets(stmt) if isinstance(t, Array)}
    if isinstance(stmt, (Alloc, View)):
        names.discard(stmt.array.name)
    if isinstance(stmt, Pop):
        names.discard(stmt.target.name)
        names.add(stmt.stack.name)
    if isinstance(stmt, Invoke):
        names |= {stack.name for stack in stmt.tapes}
    return names
