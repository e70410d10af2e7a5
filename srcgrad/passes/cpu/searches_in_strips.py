"""A search for the best element goes over strips, and one by one only over those that have something better.

    for i in range(n):                end = n - n % 128 if n >= 640 else 0
        if x[i] > best:               for first in range(0, end, 128):
            best = x[i]       →           top = best
            k = i                         for i in range(first, first + 128): top = maximum(top, x[i])
                                          if top > best or top != top:
                                              for i in range(first, first + 128): if x[i] > best: ...
                                      for i in range(end, n): if x[i] > best: ...

What is greatest in a strip comes from vector registers, where the search itself asks one element after the other.  In
the second loop over a strip everything is as it was; without it, nothing would have been taken.  What is computed has
to be plain arithmetic: an exponential of several numbers at a time may be rounded otherwise, and what may fail is to
fail in its turn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ...analysis.extremes import without_comments
from ...analysis.lengths import in_order
from ...analysis.lives import is_private
from ...analysis.meetings import runs_along
from ...analysis.searches import EXTREME, KEEP_LAST, is_better, is_nan, reads_of
from ...ir import affine
from ...ir.expressions import INT64, Call, Const, Expr, Var, compare, either, select
from ...ir.info import roots_of
from ...ir.names import Names
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt, Store
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    statements,
    subexpressions,
    substitute,
    targets,
    variables,
    with_blocks,
)

ARITHMETIC = frozenset(
    ("add", "sub", "mul", "neg", "abs", "square", "cast", "maximum", "minimum", "max", "min")
    + ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")
)
STRIP = affine.integer(128)  # shorter loops are written out before they could be vectorised
LONG = affine.integer(640)  # the first strips have something better, as a rule: of fewer there is nothing to gain


def searches_in_strips(function: Function) -> Function:
    if not any(isinstance(stmt, For) and _asked_in(stmt) for stmt in statements(function.body)):
        return function
    read, roots, names = reads_of(function), roots_of(function), function.info.names
    rows = in_order(function)[0]

    def block(stmts: Block) -> Block:
        out: list[Stmt] = []
        for stmt in stmts:
            found = _search_in(stmt, read, roots, rows) if isinstance(stmt, For) else None
            if found is not None:
                out += _in_strips(found, names)
                continue
            inner = blocks(stmt)
            out.append(with_blocks(stmt, tuple(map(block, inner))) if inner else stmt)
        return tuple(out)

    return replace(function, body=block(function.body))


@dataclass(frozen=True)
class _Search:
    """A loop that does nothing in an iteration but where its `value` is better than what was best by then."""

    loop: For
    best: Var
    value: Expr
    better: str
    sees_nan: bool


def _in_strips(search: _Search, names: Names) -> Block:
    loop, best, value = search.loop, search.best, search.value
    end, first = (Var(names.fresh(name), INT64) for name in ("end", "first"))
    top = Var(names.fresh("top"), best.dtype)
    count = affine.sub(loop.stop, loop.start)
    whole = affine.sub(loop.stop, Call("mod", (count, STRIP), INT64))
    after = affine.add(first, STRIP)
    # what is as good is better, too, where the last one counts: then `top` is to be of this strip alone
    begin = substitute(value, {loop.index: first}) if search.better in KEEP_LAST else best
    greatest = Assign(top, Call(EXTREME[search.better], (top, value), top.dtype))
    has_better = is_better(search.better, top, best, search.sees_nan)
    if not search.sees_nan and top.dtype.kind == "f":
        has_better = either(has_better, is_nan(top))  # which hides what else there is
    body = (
        Assign(top, begin),
        replace(loop, start=first, stop=after, body=(greatest,)),
        If(has_better, (replace(loop, start=first, stop=after),)),
    )
    return (
        Assign(end, select(compare("ge", count, LONG.value), whole, loop.start)),
        For(first, loop.start, end, STRIP, body),
        replace(loop, start=end),
    )


def _search_in(loop: For, read: Counter[Var], roots: dict[str, str], rows: set[str]) -> _Search | None:
    asking, bounds = _asked_in(loop), (loop.start, loop.stop)
    count = affine.difference(loop.stop, loop.start)
    is_plain = loop.ordered and affine.same(loop.step, affine.ONE) and not (loop.vector or loop.masked or loop.few)
    if not is_plain or not asking or (count is not None and count < LONG.value):
        return None
    taken = [stmt for each in asking for stmt in each.then]
    known: dict[Var, Expr] = {}
    body = without_comments(loop.body)
    for stmt in body:
        if isinstance(stmt, Assign):
            known[stmt.var] = substitute(stmt.value, known)
    if not all(map(_is_plain, known.values())):
        return None
    own = Counter(var for stmt in statements(loop.body) for expr in expressions(stmt) for var in variables(expr))
    if any(read[var] != own[var] or not is_private(var, body) for var in known):
        return None
    changed = {var for stmt in taken for var in targets(stmt)}
    numbers = {var for var in changed if isinstance(var, Var)}
    if any(loads(bound) or variables(bound) & numbers for bound in bounds) or numbers & known.keys():
        return None
    asked = substitute(asking[0].condition, known)
    for stmt in taken:
        if isinstance(stmt, Assign) and sum(stmt.var in targets(other) for other in taken) == 1:
            found = _by(asked, loop, stmt.var, substitute(stmt.value, known))
            written = {roots.get(v.name, v.name) for v in changed}
            if found is not None and _is_steady(found, numbers, written, roots) and _is_along(found, numbers, rows):
                return found
    return None


def _asked_in(loop: For) -> tuple[If, ...]:
    """The branches of a loop that does nothing in an iteration where one condition does not hold."""
    body = without_comments(loop.body)
    asking = tuple(stmt for stmt in body if isinstance(stmt, If))
    names = body[: len(body) - len(asking)]
    is_all = all(isinstance(stmt, Assign) for stmt in names) and all(
        not each.orelse and each.condition == asking[0].condition for each in asking
    )
    taken = (stmt for each in asking for stmt in each.then)
    return asking if is_all and all(isinstance(stmt, (Assign, Store, AddTo)) for stmt in taken) else ()


def _by(asked: Expr, loop: For, best: Var, value: Expr) -> _Search | None:
    """The search that asks so, if there is one."""
    for better in EXTREME if best.dtype == value.dtype and best.dtype.kind in "fi" else ():
        for sees_nan in (False, True):
            if asked == is_better(better, value, best, sees_nan):
                return _Search(loop, best, value, better, sees_nan)
    return None


def _is_steady(search: _Search, numbers: set[Var], written: set[str], roots: dict[str, str]) -> bool:
    """Is the value made of what no iteration changes, by arithmetic that is the same in vector registers?"""
    if variables(search.value) & numbers or not _is_plain(search.value):
        return False
    return not any(roots.get(place.array.name, place.array.name) in written for place in loads(search.value))


def _is_plain(value: Expr) -> bool:
    calls = (part for part in subexpressions(value) if isinstance(part, Call))
    return not any(place.checked for place in loads(value)) and all(map(_is_arithmetic, calls))


def _is_arithmetic(call: Call) -> bool:
    is_product = call.op == "pow" and isinstance(call.args[1], Const) and call.args[1].value in (2, 3, 4)
    of_floats = call.op in ("div", "sqrt") and call.dtype.kind == "f"
    return call.op in ARITHMETIC or is_product or of_floats


def _is_along(search: _Search, numbers: set[Var], rows: set[str]) -> bool:
    """Do elements that lie one behind the other fill vector registers?"""
    index = search.loop.index
    places = [place for place in loads(search.value) if index in variables(place)]
    return bool(places) and all(
        place.array.name in rows
        and not any(index in variables(part) for part in place.index[:-1])
        and runs_along(place.index[-1], index, numbers)
        and dict(affine.affine(place.index[-1])[0])[index] == 1
        for place in places
    )


__all__ = ["searches_in_strips"]
