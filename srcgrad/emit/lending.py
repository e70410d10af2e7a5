"""How functions of their own are called: what all activations share is lent once, the rest is handed over.

f_forward(x, n, tape)                  f_forward(lent, n, tape_top):
    … f_forward(x, n - 1, tape) …  →       x, tape = borrow(lent)
                                           … f_forward(lent, n - 1, tape_top) …

An array takes seven to nine machine words and a count of references to hand over: for a small function that is most of
its time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..ir.expressions import INT64, Array, Var
from ..ir.names import Names
from ..ir.nodes import Block, Function, Invoke, Stack, Stmt
from ..ir.walk import blocks, statements, with_blocks


@dataclass(frozen=True)
class Borrow(Stmt):
    """The arrays and stacks that were lent, under their names."""

    things: tuple[Array | Stack, ...]
    lent: str


@dataclass(frozen=True)
class Called(Stmt):
    """outs = function(*args); or, where `things` are to be lent, outs = lending(function, things, *args)."""

    function: str
    outs: tuple[Var | Array, ...]
    things: tuple[Array | Stack, ...]
    args: tuple[Any, ...]


@dataclass(frozen=True)
class _Form:
    """How one function is called: its name, and the positions of the arguments that are lent."""

    name: str
    lent: frozenset[int]
    parameter: str  # what is lent, as the function calls it


def with_lending(program: Function) -> tuple[Function, ...]:
    """The functions of the module, the entry last, on statements that are printed as they stand."""
    names = Names()
    functions = (*program.callees, program)
    names.taken |= {program.name}.union(*(f.info.names.taken for f in functions))
    calls = {f.name: {_key(s) for s in statements(f.body) if isinstance(s, Invoke)} for f in program.callees}
    forms = {f.name: _form(f, names.fresh(f.name), _is_in_a_circle(f.name, calls)) for f in program.callees}
    callees = [_callee(f, forms) for f in program.callees]
    return (*callees, replace(program, body=_calls(program.body, forms, None)))


def _key(call: Invoke) -> str:
    return f"{call.callee}_{call.half}" if call.half else call.callee


def _is_in_a_circle(name: str, calls: dict[str, set[str]]) -> bool:
    """Does the function call itself by way of others?"""
    found: set[str] = set()
    work = list(calls[name] - {name})
    while work:
        other = work.pop()
        if other not in found:
            found.add(other)
            work += calls[other]
    return name in found


def _form(function: Function, name: str, is_in_a_circle: bool) -> _Form:
    """What a function hands on to itself unchanged is lent; but not in a circle of functions, which Numba could not
    compile (it does not see that `lending` is part of the circle)."""
    if is_in_a_circle:
        return _Form(name, frozenset(), "")
    own = [s for s in statements(function.body) if isinstance(s, Invoke) and _key(s) == function.name]
    lent = {k for k, p in enumerate(function.params) if isinstance(p, (Array, Stack))} if own else set()
    for call in own:
        given = (*call.args, *call.tapes)
        lent = {k for k in lent if _is_same(given[k], function.params[k])}
    return _Form(name, frozenset(lent), function.info.names.fresh("lent"))


def _is_same(arg: Any, param: Any) -> bool:
    return type(arg) is type(param) and arg.name == param.name


def _callee(function: Function, forms: dict[str, _Form]) -> Function:
    form = forms[function.name]
    params: list[Any] = [Var(form.parameter, INT64)] if form.lent else []
    things: list[Any] = []
    for k, param in enumerate(function.params):
        (things if k in form.lent else params).append(param)
        if isinstance(param, Stack):
            params.append(Var(param.top, INT64))
    ahead = (Borrow(tuple(things), form.parameter),) if things else ()
    body = _calls(function.body, forms, function)
    return replace(function, name=form.name, params=tuple(params), body=(*ahead, *body))


def _calls(block: Block, forms: dict[str, _Form], inside: Function | None) -> Block:
    def change(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Invoke):
            return _called(stmt, forms[_key(stmt)], forms[inside.name] if inside else None)
        return with_blocks(stmt, tuple(_calls(part, forms, inside) for part in blocks(stmt)))

    return tuple(map(change, block))


def _called(call: Invoke, form: _Form, around: _Form | None) -> Called:
    tops = tuple(Var(stack.top, INT64) for stack in call.tapes)
    things: list[Any] = []
    args: list[Any] = []
    for k, arg in enumerate((*call.args, *call.tapes)):
        if k in form.lent:
            things.append(arg)
        else:
            args.append(Var(arg.name) if isinstance(arg, Stack) else arg)
        if isinstance(arg, Stack):
            args.append(Var(arg.top, INT64))
    if things and form is around:
        args.insert(0, Var(form.parameter, INT64))
        things = []
    return Called(form.name, (*call.outs, *tops), tuple(things), tuple(args), span=call.span)
