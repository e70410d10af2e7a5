"""A function of its own → its forward half, which leaves on shared stacks what its reverse half takes from them.

f(x, n)      →      f_forward(x, n, tape) → y                 ends by pushing what the sweep reads
                    f_reverse(n, y_b, tape) → x_b             begins by popping it

The entry makes the stacks, one for each dtype, and all functions are handed all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir.expressions import INT64, Array, Const, Dim, Expr, Var
from ...ir.info import Info, elementwise
from ...ir.nodes import Assign, Block, Function, If, Invoke, NewStack, Pop, Push, Stack, Stmt, Sweep, leaves
from ...ir.walk import blocks, rewrite, rewrite_block, statements, substitute, targets, with_blocks
from .assemble import assemble, defaults_of, mapped, reads_of, residuals_of
from .cotangents import zero
from .tape import tape_of

Halves = tuple[Function, Function]


def assemble_all(program: Function) -> Function:
    """The entry and the halves that are reached from it."""
    differentiated = [c for c in program.callees if c.info.kind == "callee"]
    pairs: dict[str, Halves] = {c.name: _halves(c, program.info.extra["needed"][c.name]) for c in differentiated}
    dtypes = sorted({dtype for c in differentiated for dtype in c.info.extra["tapes"]}, key=lambda d: d.name)
    for name, pair in pairs.items():
        forward, reverse = (_on_tapes(half, dtypes) for half in pair)
        pairs[name] = forward, reverse
    entry = assemble(_with_stacks(program, dtypes))
    whole = {c.name: _whole(c) for c in program.callees if c.info.kind == "partials"}
    return replace(entry, callees=_reached(entry, pairs, program.info.extra["plain"] | whole))


def _whole(function: Function) -> Function:
    """Both sweeps in one, for the value and its partials; those by an array go into memory that the caller has."""
    info: Info = function.info
    *forward, sweep = function.body
    assert isinstance(sweep, Sweep)
    cleared = tuple(_cleared(shadow, info) for shadow in info.shadows)
    body = (*forward, replace(sweep, body=(*cleared, *sweep.body)))
    results = (*leaves(info.outputs), *leaves(function.results))
    return replace(function, params=(*function.params, *info.shadows), body=body, results=results)


def _cleared(shadow: Array, info: Info) -> Stmt:
    return elementwise(shadow, shadow.dims, lambda _: zero(shadow.dtype), info.names, frozenset())


def _reached(entry: Function, pairs: dict[str, Halves], plain: dict[str, Function]) -> tuple[Function, ...]:
    found: dict[tuple[str, str], Function] = {}
    work: list[Function] = [entry]
    while work:
        for stmt in statements(work.pop().body):
            if isinstance(stmt, Invoke) and (stmt.callee, stmt.half) not in found:
                forward, reverse = pairs.get(stmt.callee, (None, None))
                chosen = {"": plain.get(stmt.callee), "forward": forward, "reverse": reverse}[stmt.half]
                assert chosen is not None, stmt
                found[stmt.callee, stmt.half] = chosen
                work.append(chosen)
    return tuple(found[key] for key in sorted(found))


# -------------------------------------------------------------------------------------------------------- tapes


def _with_stacks(program: Function, dtypes: list[Any]) -> Function:
    """The entry begins with empty stacks."""
    program.info.extra["tapes"] = {}
    stacks = tuple(tape_of(program.info, dtype) for dtype in dtypes)
    return replace(program, body=(*map(NewStack, stacks), *_on(program.body, stacks)))


def _on_tapes(half: Function, dtypes: list[Any]) -> Function:
    """The stacks come in as arguments; their tops go out behind the results."""
    stacks = tuple(tape_of(half.info, dtype) for dtype in dtypes)
    tops = tuple(Var(stack.top, INT64) for stack in stacks)
    results = (*leaves(half.results), *tops)
    return replace(half, params=(*half.params, *stacks), body=_on(half.body, stacks), results=results)


def _on(block: Block, stacks: tuple[Stack, ...]) -> Block:
    def handed(stmt: Stmt) -> Block:
        return (replace(stmt, tapes=stacks) if isinstance(stmt, Invoke) and stmt.half else stmt,)

    return rewrite_block(block, handed)


# ------------------------------------------------------------------------------------------------------- halves


def _halves(function: Function, needed: frozenset[str]) -> Halves:
    info: Info = function.info
    forward = tuple(s for s in function.body if not isinstance(s, Sweep))
    sweep = next(s for s in function.body if isinstance(s, Sweep)).body
    sweep, lengths = _lengths_handed_on(function, forward, sweep, needed)
    seeds = [s for s in info.seeds or () if s is not None]
    given = needed | {thing.name for thing in (*seeds, *info.shadows)}
    whole = replace(function, info=replace(info, extra=info.extra | {"seed_params": ()}))
    params = {p.name for p in function.params}
    measured = [Assign(var, dim) for dim, var in lengths.items() if dim.array in params]
    forward = (*measured, *forward, *(Assign(v, dim) for dim, v in lengths.items() if dim.array not in params))
    late = {v.name for dim, v in lengths.items() if dim.array not in params}
    residuals = residuals_of(forward, sweep, whole, set(given))
    sweep = _without_copies(sweep, {r for r in residuals if isinstance(r, Var)})
    ahead = defaults_of([r for r in residuals if r.name not in params], forward)
    forward, sweep = _handed_on(forward, sweep, residuals, info, late)
    first = replace(function, name=f"{function.name}_forward", body=(*ahead, *forward), results=info.outputs)
    second = replace(
        function, name=f"{function.name}_reverse", body=sweep,
        params=(*(p for p in function.params if p.name in needed), *info.shadows, *seeds),
    )  # fmt: skip
    return first, second


def _lengths_handed_on(
    function: Function, forward: Block, sweep: Block, needed: frozenset[str]
) -> tuple[Block, dict[Dim, Var]]:
    """A length that the sweep asks of an array that it does not have is read off the shadow, or handed on."""
    info: Info = function.info
    shadows = {shadow.name for shadow in info.shadows}
    made = {item.name for stmt in statements(sweep) for item in targets(stmt)}
    lengths: dict[Dim, Var] = {}

    def length(expr: Expr) -> Expr:
        if not isinstance(expr, Dim) or expr.array in needed or expr.array in made or expr.array in shadows:
            return expr
        if f"{expr.array}_b" in shadows:
            return Dim(f"{expr.array}_b", expr.axis)
        if expr not in lengths:
            lengths[expr] = Var(info.names.fresh(f"{expr.array}_n{expr.axis}"), INT64)
        return lengths[expr]

    return tuple(mapped(stmt, lambda e: rewrite(e, length)) for stmt in sweep), lengths


def _handed_on(
    forward: Block, sweep: Block, residuals: list[Any], info: Info, late: set[str] | frozenset[str] = frozenset()
) -> tuple[Block, Block]:
    """Push at the end of a block what the mirrored block begins by popping; what one branch alone reads, in that branch
    (but for what is only known at the end of the block: `late`)."""
    here: list[Any] = []
    inside: dict[tuple[int, int], list[Any]] = {}
    for residual in residuals:
        place = _only_branch(sweep, residual.name) if residual.name not in late else None
        if place is None:
            here.append(residual)
        else:
            inside.setdefault(place, []).append(residual)

    down, up = list(forward), list(sweep)
    for label, number in inside:
        (at, first), (mirrored, second) = (_labelled(block, label) for block in (down, up))
        parts = [list(blocks(stmt)) for stmt in (first, second)]
        parts[0][number], parts[1][number] = _handed_on(parts[0][number], parts[1][number], inside[label, number], info)
        down[at], up[mirrored] = (with_blocks(s, tuple(p)) for s, p in zip((first, second), parts, strict=True))
    pushes, pops = _spilled(here, info)
    return (*down, *pushes), (*pops, *up)


def _labelled(block: list[Stmt], label: int) -> tuple[int, Stmt]:
    return next((k, s) for k, s in enumerate(block) if isinstance(s, If) and s.label == label)


def _without_copies(sweep: Block, handed_on: set[Var]) -> Block:
    """What is handed on is read under its own name."""
    made = [item for stmt in statements(sweep) for item in targets(stmt)]
    copies: dict[Any, Expr] = {
        s.var: s.value for s in sweep if isinstance(s, Assign) and s.value in handed_on and made.count(s.var) == 1
    }
    rest = (s for s in sweep if not (isinstance(s, Assign) and s.var in copies))
    return tuple(mapped(s, lambda e: substitute(e, copies)) for s in rest)


def _only_branch(sweep: Block, name: str) -> tuple[int, int] | None:
    """The branch of an `if` that alone reads this."""
    readers = [s for s in sweep if any(name in reads_of(inner) for inner in statements((s,)))]
    if len(readers) != 1 or not isinstance(readers[0], If) or readers[0].label < 0 or name in reads_of(readers[0]):
        return None
    found = [
        number
        for number, block in enumerate(blocks(readers[0]))
        if any(name in reads_of(inner) for inner in statements(block))
    ]
    return (readers[0].label, found[0]) if len(found) == 1 else None


def _spilled(residuals: list[Any], info: Info) -> tuple[Block, Block]:
    """Pushes for the end of a block, and pops, in the opposite order, for the beginning of the mirrored one."""
    measures: list[Stmt] = []
    pushes: list[Stmt] = []
    pops: list[Stmt] = []

    def hand_on(thing: Var | Array, dims: tuple[Expr, ...] = ()) -> None:
        stack = tape_of(info, thing.dtype)
        pushes.insert(0, Push(stack, thing))
        pops.append(Pop(thing, stack, dims))

    for residual in residuals:
        assert not isinstance(residual, Stack), residual
        dims: list[Expr] = []
        for axis, dim in enumerate(residual.dims if isinstance(residual, Array) else ()):
            if not isinstance(dim, Const):
                dim = Var(info.names.fresh(f"{residual.name}_n{axis}"), INT64)
                measures.append(Assign(dim, Dim(residual.name, axis)))
                hand_on(dim)
            dims.append(dim)
        hand_on(residual, tuple(dims))
    return (*measures, *pushes), tuple(pops)
