"""The adjoint of a loop that finds the greatest, or the least, reads what that was in the end alone.

    for i in range(n):                  top = m                           and its adjoint, of g:
        m = max(m, x[i])      →         for i in range(n):                first, last = where x[i] == top
                                            top = max(top, x[i])          where there are several, a sweep back halves g
                                        m = top                           x_b[first] += g

With the adjoint of its statement each iteration keeps what was greatest so far, and passes its cotangent on: no two run
at a time, and each branches as nobody foresees. (On a GPU both are scans, of five kernels each, where all threads go
through the loop together; a loop that each has for itself stays as it is there.)

Of elements that are as great as the greatest, the last one gets a half of g by Python's `max`, the one before it a half
of what is left, and so on; the first one gets all the rest.  (Where none is greater than what there was ahead of the
loop, that gets the rest.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace

from ...analysis.effects import effects
from ...analysis.extremes import PYTHONS, extremes_of, nest, without_comments
from ...analysis.grids import is_parallel
from ...analysis.lives import is_dead
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, Cotangent, Expr, Load, Var, both, select
from ...ir.names import Names
from ...ir.nodes import Assign, Block, For, Function, If, Rule, Spread, Stmt, While, leaves
from ...ir.walk import blocks, loads, statements, substitute, variables, with_blocks
from ...rules.partials import number as number_like

ROUNDED = ("add", "sub", "mul", "div")  # a product and a sum may be rounded once, where both are seen


def greatest_at_once(function: Function) -> Function:
    return _in_loops(function, lambda stmt: isinstance(stmt, (For, While)))


def greatest_by_all_threads(function: Function) -> Function:
    """Of loops that all threads of a GPU go through together: a loop around them is the host's, which launches them."""

    def is_of_the_host(stmt: Stmt) -> bool:
        return _is_loop(stmt) and any(map(is_parallel, statements(blocks(stmt)[0])))

    return _in_loops(function, is_of_the_host)


def _in_loops(function: Function, may_be_around: Callable[[Stmt], bool]) -> Function:
    names = function.info.names
    handed_back = {var for leaf in leaves(function.results) if isinstance(leaf, Expr) for var in variables(leaf)}

    def block(stmts: Block, later: tuple[Block, ...]) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        for position, stmt in enumerate(stmts):
            rest = (stmts[position + 1 :], *later)
            found = _found_by(stmt, rest, handed_back) if isinstance(stmt, For) else ()
            if found:
                out += (made for each in found for made in each.at_once(names))
                continue
            if isinstance(stmt, If) or may_be_around(stmt):
                behind = rest if isinstance(stmt, If) else ((stmt,), *rest)
                stmt = with_blocks(stmt, tuple(block(part, behind) for part in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    return replace(function, body=block(function.body, ()))


def _is_loop(stmt: Stmt) -> bool:
    return isinstance(stmt, (For, While)) and not is_parallel(stmt)


@dataclass(frozen=True)
class _Greatest:
    """The greatest (max) or least (min) of a number and of values, one for each iteration of a nest."""

    loops: tuple[For, ...]
    number: Var
    op: str
    value: Expr

    @property
    def has_an_adjoint(self) -> bool:
        value, indices = self.value, {loop.index for loop in self.loops}
        inner = value.args[0] if isinstance(value, Call) and value.op == "abs" else value
        is_known = _is_plain(inner, indices) and _is_rounded_once(value) and bool(indices & variables(value))
        return is_known and self.op in PYTHONS and self.number.dtype.kind == "f"

    def at_once(self, names: Names) -> Block:
        start, dtype, span = self.number, self.number.dtype, self.loops[0].span
        top = Var(names.fresh("top"), dtype)
        first, last = (Var(names.fresh(name), INT64) for name in ("first", "last"))
        rest, now = (Var(names.fresh(name), dtype) for name in ("rest", "now"))
        again, back, at = (
            {loop.index: Var(names.fresh(loop.index.name), INT64) for loop in self.loops} for _ in range(3)
        )
        number_of, count = self.counted()
        is_beaten = Call("lt" if self.op == "max" else "gt", (start, top), BOOL)
        here, there = (Call("eq", (self.at(indices), top), BOOL) for indices in (again, back))
        half = Call("mul", (number_like(0.5, now), now), dtype)
        is_first = both(is_beaten, affine.equals(substitute(number_of, at), first))
        which = substitute(number_of, again)
        where = (
            Assign(first, Call("minimum", (first, select(here, which, count)), INT64)),
            Assign(last, Call("maximum", (last, select(here, which, affine.integer(-1))), INT64)),
        )
        shared = (
            Assign(now, rest),
            Assign(rest, select(there, half, now)),
            If(there, (self.passed_on(back, half),)),
        )
        adjoint = (
            Assign(first, count),
            Assign(
                last, select(is_beaten, affine.integer(-1), count)
            ),  # what there was ahead of the loop is one of them, else
            self.around(where, again),
            Assign(rest, Cotangent(top)),
            If(Call("lt", (first, last), BOOL), (self.around(shared, back, backwards=True),)),
            self.around((self.passed_on_to_the_first(is_first, at, rest),), at),
            Spread(start, select(is_beaten, number_like(0.0, rest), rest)),
        )
        forward = (Assign(top, start), self.around((self.beaten_by(top),), {}))
        inputs = (start, self.at({loop.index: loop.start for loop in self.loops}))
        return Rule(self.op, (top,), inputs, forward, adjoint, span=span), Assign(start, top, span=span)

    def counted(self) -> tuple[Expr, Expr]:
        """The number of an iteration, and how many there are."""
        number: Expr = affine.ZERO
        count: Expr = affine.ONE
        for loop in reversed(self.loops):
            number = affine.add(number, affine.mul(count, affine.sub(loop.index, loop.start)))
            count = affine.mul(count, affine.maximum(affine.sub(loop.stop, loop.start), affine.ZERO))
        return number, count

    def around(self, body: Block, names: Mapping[Var, Var], backwards: bool = False) -> Stmt:
        for loop in reversed(self.loops):
            low, high = loop.start, loop.stop
            if backwards:
                low, high = affine.sub(high, affine.ONE), affine.sub(low, affine.ONE)
            step = affine.integer(-1) if backwards else loop.step
            index = names.get(loop.index, loop.index)
            body = (replace(loop, index=index, start=low, stop=high, step=step, body=body),)
        return body[0]

    def at(self, indices: Mapping[Var, Expr]) -> Expr:
        return substitute(self.value, indices)

    def passed_on(self, indices: Mapping[Var, Expr], cotangent: Expr) -> Stmt:
        value = self.at(indices)
        if (
            isinstance(value, Call) and value.op == "abs"
        ):  # by hand: of what its sign is must be asked where the index is
            sign = Call("sign", value.args, value.dtype)
            return Spread(value.args[0], Call("mul", (cotangent, sign), value.dtype))
        return Spread(value, cotangent)

    def passed_on_to_the_first(self, is_first: Expr, indices: Mapping[Var, Expr], rest: Var) -> Stmt:
        """A zero to all others; but to none of several factors, of which one may be infinite."""
        if any(isinstance(part, Call) and part.op == "mul" and not _has_a_number(part) for part in _parts(self.value)):
            return If(is_first, (self.passed_on(indices, rest),))
        return self.passed_on(indices, select(is_first, rest, number_like(0.0, rest)))

    def beaten_by(self, top: Var) -> Stmt:
        return Assign(top, Call(self.op, (top, self.value), top.dtype), span=self.loops[0].span)


def _found_by(loop: For, later: tuple[Block, ...], handed_back: Set[Var]) -> tuple[_Greatest, ...]:
    """What a loop finds, if the adjoints of all that can be said so, and nobody sees what else it leaves behind."""
    loops = nest(loop)
    found = dict(extremes_of(loops[-1]))
    written = effects((loop,)).writes
    bounds = [bound for each in loops for bound in (each.start, each.stop)]
    goes_by_ones = all(affine.same(each.step, affine.ONE) and each.ordered for each in loops)
    if not goes_by_ones or any(loads(bound) or variables(bound) & written for bound in bounds):
        return ()
    values: dict[Var, Expr] = {}
    out: list[_Greatest] = []
    for stmt in without_comments(loops[-1].body) if found else ():
        assert isinstance(stmt, Assign), stmt  # all that there is in such a loop
        said = substitute(stmt.value, values)
        if stmt.var not in found:
            values[stmt.var] = said
            continue
        assert isinstance(said, Call), said
        value = next((arg for arg in said.args if arg != stmt.var), said)
        out.append(_Greatest(loops, stmt.var, found[stmt.var], value))
    is_all = all(is_dead(var, later, var in handed_back) for var in values)
    return tuple(out) if is_all and all(each.has_an_adjoint for each in out) else ()


def _is_plain(value: Expr, indices: Set[Var]) -> bool:
    """Is it linear in elements and their moduli, with slopes that are elements, or the same in all iterations?"""
    match value:
        case Load():
            return not any(loads(part) for part in value.index)
        case Call(op="abs", args=(Load() as x,)) | Call(op="neg", args=(x,)):
            return _is_plain(x, indices)
        case Call(op="add" | "sub", args=(x, y)):
            return _is_plain(x, indices) and _is_plain(y, indices)
        case Call(op="mul" | "div", args=(x, Const())) | Call(op="mul", args=(Const(), x)):
            return _is_plain(x, indices)
        case Call(op="mul", args=(Load() as x, Var())) | Call(op="mul", args=(Var(), Load() as x)):
            return _is_plain(x, indices)
    return not (indices & variables(value) or loads(value))


def _is_rounded_once(value: Expr) -> bool:
    """Does it come out the same in every kernel that computes it?"""
    return sum(isinstance(part, Call) and part.op in ROUNDED for part in _parts(value)) <= 1


def _has_a_number(product: Call) -> bool:
    return any(isinstance(factor, Const) for factor in product.args)


def _parts(value: Expr) -> list[Expr]:
    """The expression and all in it, but for indices."""
    inner = value.args if isinstance(value, Call) else ()
    return [value, *(part for arg in inner for part in _parts(arg))]


__all__ = ["greatest_at_once", "greatest_by_all_threads"]
