"""The adjoint of a call: its forward half runs in the forward part, its reverse half in the sweep.

y = f(x, a)      →      y = f (forward)(x, a)
                        …
                        x_b_f = f (reverse)(old(x), old(a), a_b, y_b); x_b += x_b_f
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...analysis.roughness import EVERY
from ...ir.expressions import Array, Const, Expr, OldArray, Var
from ...ir.nodes import Assign, Invoke, Stmt

if TYPE_CHECKING:
    from .callees import Facts
    from .reverse import _Reverse


def is_differentiated(reverse: _Reverse, stmt: Invoke) -> bool:
    """Does a derivative go through this call?"""
    facts: Facts = reverse.info.extra["facts"][stmt.callee]
    return facts.is_differentiated and any(reverse.is_active(thing) for thing in (*stmt.outs, *stmt.writes))


def adjoint_of_call(reverse: _Reverse, stmt: Invoke) -> list[Stmt]:
    facts: Facts = reverse.info.extra["facts"][stmt.callee]
    at = stmt.label
    before, seeds = _seeds(reverse, stmt, facts)
    own = [OldArray(a, at + 1) if isinstance(a, Array) else reverse.old(a, at) for a in stmt.args]  # type: ignore[arg-type]
    shadows: list[Any] = []
    found: list[tuple[Expr, Var, int]] = []
    for arg, param, is_active in zip(stmt.args, facts.params, facts.active_params, strict=True):
        if not is_active:
            continue
        if isinstance(arg, Array):
            shadows.append(reverse.shadow(arg))
        else:
            assert isinstance(arg, Expr)
            clean = EVERY & ~facts.unclean.get(param.name, 0)
            found.append((arg, reverse.fresh(f"{param.name}_c", param.dtype), clean))
    call = Invoke(stmt.callee, tuple(var for _, var, _ in found), (*own, *shadows, *seeds), tuple(shadows), "reverse")
    return [*before, call, *(s for arg, var, clean in found for s in reverse.spread(arg, var, at, clean))]


def _seeds(reverse: _Reverse, stmt: Invoke, facts: Facts) -> tuple[list[Stmt], list[Any]]:
    """The cotangents of the results; those of variables that are assigned elsewhere too restart from zero."""
    before: list[Stmt] = []
    seeds: list[Any] = []
    for out, is_active in zip(stmt.outs, facts.active_results, strict=True):
        if not is_active:
            continue
        if isinstance(out, Array):
            seeds.append(reverse.shadow(out))
        elif not reverse.is_active(out):
            seeds.append(_zero(out))
        elif reverse.single.get(out.name) == 1 or stmt.label in reverse.first_values:
            seeds.append(reverse.adjoint(out))
        else:
            held = reverse.fresh(f"{out.name}_b_now", out.dtype)
            before += [Assign(held, reverse.adjoint(out)), Assign(reverse.adjoint(out), _zero(out))]
            seeds.append(held)
    return before, seeds


def _zero(thing: Var | Array) -> Const:
    return Const(thing.dtype.type(0).item(), thing.dtype)
