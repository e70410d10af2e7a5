"""On a GPU, the adjoint of a loop that finds the greatest, or the least, reads what that was in the end alone.

    for i in range(n):                  top = m                           and its adjoint, of g:
        m = max(m, x[i])      →         for i in range(n):                first, last = where x[i] == top
                                            top = max(top, x[i])          where there are several, a sweep back halves g
                                        m = top                           x_b[first] += g

All threads go through such a loop together. With the adjoint of its statement each iteration kept what was greatest so
far, and passed its cotangent on: both are scans, of five kernels each.

Of elements that are as great as the greatest, the last one gets a half of g by Python's `max`, the one before it a half
of what is left, and so on; the first one gets all the rest.  (Where none is greater than what there was ahead of the
loop, that gets the rest.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Cotangent, Expr, Load, Var, both, select
from ..ir.names import Names
from ..ir.nodes import Assign, Block, For, Function, If, Rule, Spread, Stmt, While
from ..ir.walk import blocks, loads, substitute, variables, with_blocks
from ..rules.scalar import number
from .alternate import is_parallel
from .effects import effects
from .extremes import PYTHONS, extremes_of, without_comments

ROUNDED = ("add", "sub", "mul", "div")  # a product and a sum may be rounded once, where both are seen


def greatest_at_once(function: Function) -> Function:
    names = function.info.names

    def block(stmts: Block) -> Block:
        out: list[Stmt] = []
        for stmt in stmts:
            found = _found_by(stmt) if isinstance(stmt, For) else ()
            if found:
                out += (made for each in found for made in each.at_once(names))
                continue
            if isinstance(stmt, (For, If, While)) and not is_parallel(stmt):
                stmt = with_blocks(stmt, tuple(map(block, blocks(stmt))))
            out.append(stmt)
        return tuple(out)

    return replace(function, body=block(function.body))


@dataclass(frozen=True)
class _Greatest:
    """The greatest (max) or least (min) of a number and of values, one for each iteration."""

    loop: For
    number: Var
    op: str
    value: Expr

    @property
    def has_an_adjoint(self) -> bool:
        value, index = self.value, self.loop.index
        inner = value.args[0] if isinstance(value, Call) and value.op == "abs" else value
        is_known = _is_plain(inner, index) and _is_rounded_once(value) and index in variables(value)
        return is_known and self.op in PYTHONS and self.number.dtype.kind == "f"

    def at_once(self, names: Names) -> Block:
        start, dtype = self.number, self.number.dtype
        top = Var(names.fresh("top"), dtype)
        again, back, at = (Var(names.fresh(self.loop.index.name), INT64) for _ in range(3))
        first, last = (Var(names.fresh(name), INT64) for name in ("first", "last"))
        rest, now = (Var(names.fresh(name), dtype) for name in ("rest", "now"))
        low, high = self.loop.start, self.loop.stop
        before = affine.sub(low, affine.ONE)
        is_beaten = Call("lt" if self.op == "max" else "gt", (start, top), BOOL)
        here, there = (Call("eq", (self.at(index), top), BOOL) for index in (again, back))
        half = Call("mul", (number(0.5, now), now), dtype)
        forward = (Assign(top, start), replace(self.loop, body=(self.beaten_by(top),)))
        where = (
            Assign(first, Call("minimum", (first, select(here, again, high)), INT64)),
            Assign(last, Call("maximum", (last, select(here, again, before)), INT64)),
        )
        shared = (
            Assign(now, rest),
            Assign(rest, select(there, half, now)),
            If(there, (self.passed_on(back, half),)),
        )
        are_several = Call("lt", (first, last), BOOL)
        is_first = both(is_beaten, affine.equals(at, first))
        sweep = replace(
            self.loop, index=back, start=affine.sub(high, affine.ONE), stop=before, step=affine.integer(-1), body=shared
        )
        adjoint = (
            Assign(first, high),
            Assign(last, select(is_beaten, before, high)),  # what there was ahead of the loop is one of them, else
            replace(self.loop, index=again, body=where),
            Assign(rest, Cotangent(top)),
            If(are_several, (sweep,)),
            replace(self.loop, index=at, body=(self.passed_on(at, select(is_first, rest, number(0.0, rest))),)),
            Spread(start, select(is_beaten, number(0.0, rest), rest)),
        )
        inputs = (start, self.at(low))
        rule = Rule(self.op, (top,), inputs, forward, adjoint, span=self.loop.span)
        return rule, Assign(start, top, span=self.loop.span)

    def at(self, index: Expr) -> Expr:
        return substitute(self.value, {self.loop.index: index})

    def passed_on(self, index: Expr, cotangent: Expr) -> Stmt:
        value = self.at(index)
        if (
            isinstance(value, Call) and value.op == "abs"
        ):  # by hand: of what its sign is must be asked where the index is
            sign = Call("sign", value.args, value.dtype)
            return Spread(value.args[0], Call("mul", (cotangent, sign), value.dtype))
        return Spread(value, cotangent)

    def beaten_by(self, top: Var) -> Stmt:
        return Assign(top, Call(self.op, (top, self.value), top.dtype), span=self.loop.span)


def _found_by(loop: For) -> tuple[_Greatest, ...]:
    """What a loop finds, if the adjoints of all that can be said so."""
    found = dict(extremes_of(loop))
    written = effects(loop.body).writes | {loop.index}
    bounds = (loop.start, loop.stop)
    if not affine.same(loop.step, affine.ONE) or any(loads(b) or variables(b) & written for b in bounds):
        return ()
    values: dict[Var, Expr] = {}
    out: list[_Greatest] = []
    for stmt in without_comments(loop.body) if found and loop.ordered else ():
        assert isinstance(stmt, Assign), stmt  # all that there is in such a loop
        said = substitute(stmt.value, values)
        if stmt.var not in found:
            values[stmt.var] = said
            continue
        assert isinstance(said, Call), said
        value = next((arg for arg in said.args if arg != stmt.var), said)
        out.append(_Greatest(loop, stmt.var, found[stmt.var], value))
    return tuple(out) if all(each.has_an_adjoint for each in out) else ()


def _is_plain(value: Expr, index: Var) -> bool:
    """Is it linear in elements and their moduli, with slopes that are elements, or the same in all iterations?

    (A slope that is computed from several of them would be computed ahead of the loop.)
    """
    match value:
        case Load():
            return not any(loads(part) for part in value.index)
        case Call(op="abs", args=(Load() as x,)) | Call(op="neg", args=(x,)):
            return _is_plain(x, index)
        case Call(op="add" | "sub", args=(x, y)):
            return _is_plain(x, index) and _is_plain(y, index)
        case Call(op="mul" | "div", args=(x, Const())) | Call(op="mul", args=(Const(), x)):
            return _is_plain(x, index)
        case Call(op="mul", args=(Load() as x, Var())) | Call(op="mul", args=(Var(), Load() as x)):
            return _is_plain(x, index)
    return not (index in variables(value) or loads(value))


def _is_rounded_once(value: Expr) -> bool:
    """Does it come out the same in every kernel that computes it?"""
    return sum(isinstance(part, Call) and part.op in ROUNDED for part in _parts(value)) <= 1


def _parts(value: Expr) -> list[Expr]:
    """The expression and all in it, but for indices."""
    inner = value.args if isinstance(value, Call) else ()
    return [value, *(part for arg in inner for part in _parts(arg))]


__all__ = ["greatest_at_once"]
