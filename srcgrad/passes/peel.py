"""The end of a recursion, where it is short, is decided ahead of the call instead of inside it.

f(x, n): if n == 0: out = x                     if n - 1 == 0:
         else: … y = f(x, n - 1) …      →           y = x
                                                else:
                                                    y = f(x, n - 1)

Most calls of a tree of calls are its leaves: these cost a comparison now, in either direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..ir.expressions import Const, Dim, Expr, Load, Var
from ..ir.info import Info
from ..ir.nodes import Assign, Block, Function, If, Invoke, Raise, Stmt, leaves
from ..ir.walk import map_expressions, rewrite, rewrite_block, statements, variables
from .reverse_mode.preaccumulate import takes_own_arrays

SHORT = 6  # assignments that a caller takes over


@dataclass(frozen=True)
class _End:
    """A condition, what it needs, and what happens where it holds."""

    ahead: Block
    condition: Expr
    holds: bool
    base: Block


def peel(program: Function) -> Function:
    """The program with calls of functions that have such an end behind a branch.

    Partials that are handed back in arrays are taken from every call alike: there, one call is as good as another.
    """
    if program.info.kind != "primal" and takes_own_arrays(program):
        return program
    return replace(program, callees=tuple(map(_peeled, program.callees)))


def _peeled(function: Function) -> Function:
    end = _end_of(function)
    if end is None:
        return function

    def change(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Invoke) and stmt.callee == function.name:
            return _decided(stmt, function, end)
        return (stmt,)

    return replace(function, body=rewrite_block(function.body, change))


def _end_of(function: Function) -> _End | None:
    """The short branch of a function that assigns, branches, and is done."""
    *ahead, last = function.body
    if not isinstance(last, If) or not all(isinstance(leaf, (Var, Const)) for leaf in leaves(function.results)):
        return None
    straight = tuple(s for s in ahead if not (_is_guard(s) and s.then[0].error == "DepthError"))  # type: ignore
    if not all(isinstance(s, Assign) or _is_guard(s) for s in straight) or len(straight) > SHORT:
        return None
    for holds, block, other in ((True, last.then, last.orelse), (False, last.orelse, last.then)):
        calls = [s for s in statements(other) if isinstance(s, Invoke) and s.callee == function.name]
        if calls and len(block) <= SHORT and all(isinstance(s, Assign) for s in block):
            return _End(straight, last.condition, holds, block)
    return None


def _is_guard(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and not stmt.orelse and bool(stmt.then) and all(isinstance(s, Raise) for s in stmt.then)


def _decided(call: Invoke, function: Function, end: _End) -> Block:
    """The call, or what it would do at the end of the recursion, on the call's own arguments."""
    info: Info = function.info
    values: dict[Var, Expr] = {}
    arrays = {}
    for param, arg in zip(function.params, call.args, strict=True):
        if isinstance(param, Var):
            assert isinstance(arg, Expr)
            values[param] = arg
        elif param != arg:
            arrays[param.name] = arg

    def there(expr: Expr) -> Expr:
        """The expression as the called function would see it."""
        return rewrite(expr, lambda node: _seen(node, values, arrays))

    checked = max((k for k, s in enumerate(end.ahead, 1) if _is_guard(s)), default=0)  # the user's errors come first
    needed = _needed(end.ahead[checked:], variables(end.condition))
    first, then = _inlined([*end.ahead[:checked], *needed], there, values, info), []
    condition = there(end.condition)
    then += _inlined([s for s in end.ahead[checked:] if s not in needed], there, values, info)
    then += _inlined(list(end.base), there, values, info)
    then += [
        Assign(out, there(leaf), span=call.span)
        for out, leaf in zip(call.outs, leaves(function.results), strict=True)
        if isinstance(out, Var)
    ]
    branches = (tuple(then), (call,)) if end.holds else ((call,), tuple(then))
    return (*first, If(condition, *branches, span=call.span))


def _seen(node: Expr, values: dict[Var, Expr], arrays: dict) -> Expr:
    match node:
        case Var():
            return values.get(node, node)
        case Load(array=array) if array.name in arrays:
            return replace(node, array=arrays[array.name])
        case Dim(array=name, axis=axis) if name in arrays:
            return arrays[name].dims[axis]
    return node


def _needed(block: Block, names: frozenset[Var]) -> list[Assign]:
    """The assignments that these variables are made of."""
    wanted = set(names)
    out: list[Assign] = []
    for stmt in reversed(block):
        assert isinstance(stmt, Assign)
        if stmt.var in wanted:
            wanted |= variables(stmt.value)
            out.insert(0, stmt)
    return out


def _inlined(block: Sequence[Stmt], there: Callable[[Expr], Expr], values: dict[Var, Expr], info: Info) -> list[Stmt]:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, If):
            raised = tuple(map_expressions(s, there) for s in stmt.then)
            out.append(replace(stmt, condition=there(stmt.condition), then=raised))
            continue
        assert isinstance(stmt, Assign)
        value = there(stmt.value)
        own = Var(info.names.fresh(stmt.var.name), stmt.var.dtype)
        values[stmt.var] = own
        out.append(replace(stmt, var=own, value=value))
    return out
