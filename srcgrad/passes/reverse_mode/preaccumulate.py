"""A recursive function of one number hands back its partials with its value: nothing has to be remembered of the calls.

    y = f(x, a)      →      y, x_p = f_with_partials(x, a, a_p)
                            adjoint:  x_b += x_p * y_b;  a_b += a_p * y_b

What a tree of calls would leave on a stack for the way back is summed up into these partials on the way; Griewank and
Walther call that preaccumulation (Evaluating Derivatives, 2008, chapter 10).  Partials by an array are an array of its
size for every call: so this is done where each call has arrays of its own, which have cotangents of their own anyhow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Cotangent, Expr, Load, Var, is_inexact
from ...ir.info import Info, roots_of
from ...ir.nodes import Alloc, Assign, Block, For, Function, If, Invoke, Rule, Spread, Stmt, While, leaves
from ...ir.walk import blocks, rewrite_block, statements
from ..find_independent import find_independent
from .callees import Facts
from .cotangents import zero


def preaccumulate(program: Function) -> Function:
    """The program with such functions in place of those that calls with a derivative go to."""
    differentiated = [c for c in program.callees if c.info.kind == "callee"]
    if not differentiated:
        return program
    known = program.info.extra["facts"]
    active = {c.name: known[c.name].active_params for c in differentiated}
    if not all(_is_of_one_number(c, active[c.name]) for c in differentiated):
        return program
    if not _is_worth_it(program, differentiated, active):
        return program
    facts = known | {_name(c.name): Facts((), (), (), {}) for c in differentiated}
    named = {c.name: known[c.name] for c in differentiated}
    callees = [
        _calling_partials(_with_partials(c), named, facts) if c in differentiated else c for c in program.callees
    ]
    return replace(_calling_partials(program, named, facts), callees=tuple(callees))


Active = tuple[bool, ...]  # which parameters a function is differentiated by


def _name(name: str) -> str:
    return f"{name}_with_partials"


# ------------------------------------------------------------------------------------------------------ conditions


def _calls_itself(function: Function, among: list[Function]) -> bool:
    by_name = {c.name: c for c in among}
    found: set[str] = set()
    work = [function]
    while work:
        for call in _invokes(work.pop().body):
            if call.callee in by_name and call.callee not in found:
                found.add(call.callee)
                work.append(by_name[call.callee])
    return function.name in found


def _invokes(block: Block) -> Iterator[Invoke]:
    return (stmt for stmt in statements(block) if isinstance(stmt, Invoke))


def _is_of_one_number(function: Function, active: Active) -> bool:
    """Is the result a real number, all that the function is differentiated by of the same dtype?"""
    results = [leaf for leaf in leaves(function.results) if is_inexact(leaf.dtype)]
    if len(results) != 1 or isinstance(results[0], Array) or results[0].dtype.kind != "f":
        return False
    return all(p.dtype == results[0].dtype for p, is_active in zip(function.params, active, strict=True) if is_active)


def _is_worth_it(program: Function, functions: list[Function], active: dict[str, Active]) -> bool:
    """Are there trees of calls to be remembered, nothing is written in them, and each call has arrays of its own?"""
    if not any(_calls_itself(c, functions) for c in functions):
        return False
    return all(_has_arrays_of_its_own(f, f is program, active) for f in (program, *functions))


def _has_arrays_of_its_own(function: Function, is_entry: bool, active: dict[str, Active]) -> bool:
    """Is each array by which a call is differentiated made for that call?

    One made outside would have to be cleared and gone through for each call, however little of it the call reads; those
    of the entry's few calls may.
    """

    def is_fine(block: Block, made: frozenset[str], repeats: bool) -> bool:
        made |= {stmt.array.name for stmt in block if isinstance(stmt, Alloc)}
        for stmt in block:
            if isinstance(stmt, Invoke) and stmt.callee in active:
                paired = zip(stmt.args, active[stmt.callee], strict=True)
                arrays = {arg.name for arg, is_active in paired if is_active and isinstance(arg, Array)}
                if stmt.writes or (not arrays <= made and (repeats or not is_entry)):
                    return False
            is_loop = isinstance(stmt, (For, While))
            if not all(is_fine(b, frozenset() if is_loop else made, repeats or is_loop) for b in blocks(stmt)):
                return False
        return True

    return is_fine(function.body, frozenset(), repeats=False)


def takes_own_arrays(program: Function) -> bool:
    """Will this be done for functions of arrays, as far as can be told before it is known what carries derivatives?"""
    active = {c.name: tuple(is_inexact(p.dtype) for p in c.params) for c in program.callees}
    return any(isinstance(p, Array) for c in program.callees for p in c.params) and _is_worth_it(
        program, list(program.callees), active
    )


# --------------------------------------------------------------------------------------------------------- changes


def _with_partials(function: Function) -> Function:
    """To be assembled as one: value and partials."""
    info: Info = function.info
    return replace(function, name=_name(function.name), info=replace(info, kind="partials", seeds=()))


def _calling_partials(function: Function, facts: dict[str, Facts], extra: dict[str, Facts]) -> Function:
    """Every call that a derivative goes through becomes one for value and partials, with its adjoint."""
    info: Info = function.info
    roots = roots_of(function)
    active, unclean = set(info.active), dict(info.unclean)

    def change(stmt: Stmt) -> Block:
        if not isinstance(stmt, Invoke) or stmt.callee not in facts:
            return (stmt,)
        [out] = (out for out in stmt.outs if out.dtype.kind == "f")
        assert isinstance(out, Var), out
        if roots.get(out.name, out.name) not in active:
            return (stmt,)
        value = Var(info.names.fresh(f"{out.name}_value"), out.dtype)  # the call's own: `out` may be set elsewhere too
        active.add(value.name)
        if out.name in unclean:
            unclean[value.name] = unclean[out.name]
        outs = tuple(value if each is out else each for each in stmt.outs)
        rule = _with_adjoint(replace(stmt, outs=outs), facts[stmt.callee], value, out.name not in unclean, info)
        return rule, Assign(out, value, span=stmt.span)

    body = rewrite_block(function.body, change)
    info = replace(info, active=frozenset(active), unclean=unclean, extra=info.extra | {"facts": extra})
    return find_independent(replace(function, body=body, info=info), frozenset(map(_name, facts)))


def _with_adjoint(call: Invoke, facts: Facts, value: Var, is_clean: bool, info: Info) -> Rule:
    names = info.names
    forward: list[Stmt] = []
    adjoint: list[Stmt] = []
    inputs: list[Expr] = []
    arrays: list[Array] = []
    numbers: list[Var] = []
    for arg, param, is_active in zip(call.args, facts.params, facts.active_params, strict=True):
        if not is_active:
            continue
        if isinstance(arg, Array):
            partials = Array(names.fresh(f"{param.name}_p"), arg.dtype, arg.dims)
            forward.append(Alloc(partials, partials.dims))
            adjoint.append(_added(arg, partials, value, names))
            inputs.append(Load(arg, (affine.ZERO,) * arg.ndim))
            arrays.append(partials)
        else:
            assert isinstance(arg, Expr)
            partial = Var(names.fresh(f"{param.name}_p"), param.dtype)
            adjoint.append(Spread(arg, partial * Cotangent(value)))
            inputs.append(arg)
            numbers.append(partial)
    forward.append(
        replace(
            call,
            callee=_name(call.callee),
            outs=(*call.outs, *numbers),
            args=(*call.args, *arrays),
            writes=tuple(arrays),
        )
    )
    if is_clean:  # its cotangent is zero where nothing depends on it: then nothing comes of infinite partials either
        adjoint = [If(Call("ne", (Cotangent(value), zero(value.dtype)), BOOL), tuple(adjoint))]
    return Rule(call.callee, (value,), tuple(inputs), tuple(forward), tuple(adjoint), span=call.span)


def _added(to: Array, partials: Array, value: Var, names: Any) -> Stmt:
    indices = tuple(Var(names.fresh("i"), INT64) for _ in range(to.ndim))
    stmt: Stmt = Spread(Load(to, indices), Load(partials, indices) * Cotangent(value))
    for index, dim in reversed(list(zip(indices, to.dims, strict=True))):
        stmt = For(index, affine.ZERO, dim, affine.ONE, (stmt,), ordered=False)
    return stmt


__all__ = ["preaccumulate"]
