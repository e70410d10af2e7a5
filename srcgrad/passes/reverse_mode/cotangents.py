"""The adjoint of an expression: its cotangent goes to all that it reads."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ...analysis.dependence import differentiates, is_linear
from ...analysis.roughness import CHOOSE, EVERY, MASKED, harm_of, has_not_lost, kind_of
from ...ir.expressions import (
    BOOL,
    Array,
    Call,
    Const,
    Expr,
    Load,
    Old,
    Var,
    both,
    either,
    is_inexact,
    negated,
    part_of,
    select,
)
from ...ir.info import Info, roots_of
from ...ir.nodes import AddTo, Assign, Function, Stmt
from ...ir.walk import loads, rewrite, subexpressions, variables
from ...rules.partials import as_sum_of_squares
from ...rules.scalar import PRIMITIVES, Adjoint, times


@dataclass(frozen=True)
class Counts:
    """That a cotangent is not zero, in an adjoint that is differentiated itself: there it is no condition.

    What is multiplied by it is its slope, at zero too.
    """

    cotangent: Expr


Guard = Expr | Counts


class Cotangents:
    """What all statements of a sweep share: names of cotangents, and how a cotangent is passed on."""

    def __init__(self, function: Function) -> None:
        self.info: Info = function.info
        self.active = self.info.active
        self.roots = roots_of(function)
        self.shadows: dict[str, Array] = {}
        self.has_calls = "facts" in self.info.extra
        self.levels: Any = {}

    def is_active(self, thing: Var | Array) -> bool:
        return self.roots.get(thing.name, thing.name) in self.active and is_inexact(thing.dtype)

    def adjoint(self, var: Var) -> Var:
        return Var(f"{var.name}_b", var.dtype)

    def shadow(self, array: Array) -> Array:
        return Array(f"{array.name}_b", array.dtype, array.dims)

    def fresh(self, name: str, dtype: np.dtype) -> Var:
        return Var(self.info.names.fresh(name), dtype)

    def depends(self, expr: Expr) -> bool:
        """Does the expression carry a derivative?"""
        match expr:
            case Var() | Load(array=_) if is_inexact(expr.dtype):
                return self.is_active(expr if isinstance(expr, Var) else expr.array)
            case Call(op=op, args=args) if is_inexact(expr.dtype):
                return any(differentiates(op, k) and self.depends(arg) for k, arg in enumerate(args))
        return False

    def spread(
        self,
        expr: Expr,
        g: Expr,
        at: int,
        clean: int,
        own: Set[str] = frozenset(),
        guards: tuple[Guard, ...] = (),
        chosen: Expr | None = None,
    ) -> list[Stmt]:
        """Pass the adjoint `g` of `expr` on to everything that `expr` reads.

        `clean`: to what a zero of `g` is one of structure; `chosen`: where it is none, when `expr` counts at all.
        """
        if not self.depends(expr):
            return []
        match expr:
            case Var():
                return [AddTo(self.adjoint(expr), _guarded(g, guards), True)]
            case Load(array=array, index=index):
                place = Load(self.shadow(array), tuple(self.old(i, at, own) for i in index))
                return [AddTo(place, _guarded(g, guards), True)]
            case Call(op="select", args=(condition, x, y)):
                held, out = self.named(g, self.depends(x) and self.depends(y))
                holds = self.old(condition, at, own)
                out += self.spread(x, held, at, clean, own, (*guards, holds), chosen)
                return out + self.spread(y, held, at, clean, own, (*guards, negated(holds)), chosen)
            case Call(op=op, args=args):
                smooth = as_sum_of_squares(expr)
                if smooth is not None:
                    return self.spread(smooth, g, at, clean, own, guards, chosen)
                return self.spread_call(expr, op, args, g, at, clean, own, guards, chosen)
        raise AssertionError(expr)

    def spread_call(
        self,
        expr: Call,
        op: str,
        args: tuple[Expr, ...],
        g: Expr,
        at: int,
        clean: int,
        own: Set[str],
        guards: tuple[Guard, ...],
        chosen: Expr | None,
    ) -> list[Stmt]:
        rule = PRIMITIVES[op]
        if op == "mul" and args[0] == args[1]:
            g, out = self.named(g, bool(clean & MASKED))
            guards = (*guards, self.counts(g)) if clean & MASKED and not isinstance(g, Const) else guards
            passed = times(g, 2.0 * self.old(args[0], at, own))
            if _is_sum(args[0]):  # nothing comes after it that a zero might be multiplied by
                passed, guards = _guarded(passed, guards), ()
            return out + self.spread(
                args[0], passed, at, clean & ~self.harm(expr, 0, at) & ~MASKED, own, guards, chosen
            )
        to = [k for k, arg in enumerate(args) if differentiates(op, k) and self.depends(arg)]
        olds = tuple(arg if isinstance(arg, Const) else self.old(arg, at, own) for arg in args)
        out_value = self.old(expr, at, own)
        known: Any = rule.partials  # it has those of `to`: the operation differentiates in these operands
        partials = [p if isinstance(p := known[k], Adjoint) else p(*olds, out_value) for k in to]
        duplicated = len(to) > 1 or any(isinstance(p, Call) and p.op == "select" for p in partials)
        bent = [not is_linear(expr, k) for k in to]
        harms = [self.harm(expr, k, at) for k in to]
        careful = rule.singular and bool(clean & kind_of(expr)) and any(bent)
        masked = bool(clean & MASKED) and any(bent)
        g, out = self.named(g, duplicated or careful or masked)
        for k, partial, is_bent, harm in zip(to, partials, bent, harms, strict=True):
            inner = guards
            if is_bent and not isinstance(g, Const):
                diverges = rule.singular and _may_diverge(partial)
                if diverges and careful:
                    inner = (*guards, self.counts(g)) if chosen is None else (*guards, chosen, self.counts(g))
                elif diverges and (chosen is not None or masked):
                    inner = guards if chosen is None else (*guards, chosen)
                    if masked:  # a zero may be one of arithmetic, unless the value is no number either
                        inner = (*inner, either(_is_not_zero(g), Call("eq", (out_value, out_value), BOOL)))
                elif masked and _is_of_values(partial):
                    inner = (*guards, self.counts(g))
            passed_on = clean & ~harm if inner is guards else clean & ~harm & ~MASKED
            while isinstance(partial, Call) and partial.op == "select" and _is_zero(partial.args[1]):
                inner, partial = (
                    (*inner, negated(partial.args[0])),
                    partial.args[2],
                )  # this operand lost: exactly nothing
            passed = partial.of(g) if isinstance(partial, Adjoint) else times(_beside(g, partial), partial)
            if op == "div" and len(to) == 2:  # g / y goes to x, and -g / y * out to y: one division for both
                if k == 0:
                    passed, named = self.named(passed, True)
                    out, quotient = out + named, passed
                else:
                    passed = -(quotient * out_value)
            passed = _converted(passed, args[k].dtype)
            if _is_sum(args[k]):
                passed, inner = _guarded(passed, inner), ()
            counts = both(chosen, self.old(has_not_lost(expr, k), at, own)) if op in CHOOSE else chosen
            out += self.spread(args[k], passed, at, passed_on, own, inner, counts)
        return out

    def counts(self, g: Expr) -> Guard:
        """Whether what is multiplied by a cotangent is not left out."""
        return Counts(g) if self.info.again else _is_not_zero(g)

    def named(self, g: Expr, wanted: bool) -> tuple[Expr, list[Stmt]]:
        """The cotangent under a name, where it is needed more than once."""
        if not wanted or isinstance(g, (Var, Const)):
            return g, []
        held = self.fresh("g", g.dtype)
        return held, [Assign(held, g)]

    def old(self, expr: Expr, at: int, own: Set[str] = frozenset()) -> Expr:
        """The expression as it was; `own`: what the adjoint of a rule made itself is as it is."""
        if isinstance(expr, Const) or not (variables(expr) or loads(expr)):
            return expr
        if own.isdisjoint(v.name for v in variables(expr)):
            return Old(expr, at)
        return rewrite(expr, lambda part: self.as_it_was(part, at, own))

    def as_it_was(self, expr: Expr, at: int, own: Set[str]) -> Expr:
        """Reads of what the adjoint of a rule has not made are old, as small as can be."""
        match expr:
            case Load(array=array) if array.name not in own:
                local = frozenset(v.name for i in expr.index for v in variables(i)) & own
                whole = expr if local else rewrite(expr, lambda e: e.expr if isinstance(e, Old) else e)
                return Old(whole, at, local)
            case Var(name=name) if name not in own:
                return Old(expr, at)
        return expr

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)

    def root_of(self, thing: Var | Array) -> str:
        return self.root(thing) if isinstance(thing, Array) else thing.name

    def harm(self, expr: Call, number: int, at: int) -> int:
        """To which primitives may the partial by this operand make a zero of arithmetic?"""
        if is_linear(expr, number):
            return 0
        return EVERY if self.has_calls else harm_of(expr, number, self.levels[at])

    def chosen(self, name: str, value: Expr, at: int) -> Expr | None:
        """The condition under which this value of it counts, where its zero cotangent may be one of arithmetic."""
        condition = self.info.chosen.get(name)
        return None if condition is None else self.old_but_for(value, condition, at)

    def old_but_for(self, value: Expr, expr: Expr, at: int) -> Expr:
        """The expression as it was, where what is held of the value is read."""
        if isinstance(expr, Call) and expr != value and any(value == inner for inner in subexpressions(expr)):
            return Call(expr.op, tuple(self.old_but_for(value, part, at) for part in expr.args), expr.dtype)
        return self.old(expr, at)

    def clean(self, name: str) -> int:
        """To which primitives is a zero cotangent of this one of structure; may it be one because of a condition?"""
        return (EVERY & ~self.info.unclean.get(name, 0)) | (MASKED if name in self.info.masked else 0)


def zero(dtype: np.dtype) -> Const:
    return Const(dtype.type(0).item(), dtype)


def _beside(g: Expr, partial: Any) -> Expr:
    """A real cotangent as a complex number, where the partial is one: abs(z) has the slope conj(z) / abs(z)."""
    is_complex = isinstance(partial, Expr) and partial.dtype.kind == "c" and g.dtype.kind != "c"
    return Call("cast", (g,), partial.dtype) if is_complex else g


def _converted(g: Expr, dtype: np.dtype) -> Expr:
    """The cotangent of an operand that was converted: a real one gets the real part."""
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = Call("real", (g,), part_of(g.dtype))
    return g if g.dtype == dtype else Call("cast", (g,), dtype)


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


def _guarded(g: Expr, guards: tuple[Guard, ...]) -> Expr:
    for cotangent in [guard.cotangent for guard in guards if isinstance(guard, Counts)]:
        g = Call("unless_zero", (cotangent, g), g.dtype)
    conditions = [guard for guard in guards if not isinstance(guard, Counts)]
    return select(reduce(both, conditions), g, zero(g.dtype)) if conditions else g


def _is_not_zero(g: Expr) -> Expr:
    return Call("ne", (g, zero(g.dtype)), BOOL)


def _is_of_values(partial: Any) -> bool:
    """Is there a number with a fraction in it, which may be a nan, and not only in its conditions?"""
    match partial:
        case Old(expr=inner):
            return _is_of_values(inner)
        case Call(op="select", args=(_, *sides)) | Call(args=sides):
            return any(map(_is_of_values, sides))
    return isinstance(partial, Expr) and not isinstance(partial, Const) and is_inexact(partial.dtype)


def _is_sum(expr: Expr) -> bool:
    """Is all that a cotangent goes through from here linear?"""
    match expr:
        case Call(op="select"):
            return False
        case Call(args=args):
            return all(is_linear(expr, k) and _is_sum(arg) for k, arg in enumerate(args) if is_inexact(arg.dtype))
    return True


def _may_diverge(partial: Any) -> bool:
    """Can this partial be infinite or nan: does it divide by a value, or call something that may?"""
    if not isinstance(partial, Expr):
        return False
    for node in subexpressions(partial):
        match node:
            case Call(op="div", args=(_, Const(value=value))) if value != 0:
                continue
            case Call(op=op) if op in PRIMITIVES and PRIMITIVES[op].singular:
                return True
    return False
