"""Two indices that no two iterations of a loop give the same value, by the ranges of the loops around them.

for k in range(n):
    for i in range(k + 1, n):
        for j in range(k + 1, n):       a[i, j] is written, a[k, j] only read: i > k, so no iteration
            a[i, j] -= a[i, k] * a[k, j]            writes what another one reads

for i in range(n):
    for j in range(i, n):               a[i, j] and a[j', i'] are one where i = j' >= i' and i' = j >= i: i is i'
        a[i, j] = a[j, i] = k(x[i], x[j])

for i in range(n):
    for j in range(i + 1):              row i ends where row i + 1 begins, and the rows behind it are further on
        packed[i * (i + 1) // 2 + j] = a[i, j]

for i in range(1, n - 1):               t % 2 is never (t + 1) % 2
    b[(t + 1) % 2, i] = b[t % 2, i - 1] + b[t % 2, i + 1]

for i in range(n):                      a step around an axis takes every element to another one, whichever s[k] is
    y[k, (i + s[k]) % n] = x[k, i]

for i in range(0, n, 2 * h):
    for j in range(h):                  x[i + h] is half a step further on, and steps end where the next ones begin
        x[i + j], x[i + j + h] = x[i + j] + x[i + j + h], x[i + j] - x[i + j + h]

for i in range(n):
    for j in range(m):                  two numbers of two digits
        turned[j * n + i] = flat[i * m + j]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from ..ir import affine, products
from ..ir.expressions import Call, Const, Expr, Var
from ..ir.naturals import bound_of_parts, proved_by_bounds
from ..ir.nodes import For
from ..ir.walk import loads, statements, substitute, variables
from ..ir.wraps import is_wrap, step_of
from .effects import Access, Index, effects, names_used
from .quotients import without_bits_twice
from .remainders import Natural, Remainder, known_in, leaves_a_remainder, never_meet, steady
from .signs import Signs, positive_by_steps


class Ranges:
    """The ranges of the loops around a loop, of its own index, and of the indices inside it."""

    def __init__(self, around: tuple[For, ...], loop: For, signs: Signs, array: str = "") -> None:
        self.signs, self.loop, self.around, self.array = signs, loop, around, array
        inside = effects(loop.body)
        self.varies = varies = inside.writes | {loop.index}
        self.set_here = {access.array.dtype for access in inside.accesses if access.writes}  # of which kinds of arrays
        self.made_here = {*inside.views, *inside.allocated}  # another row, or other memory, in each iteration
        self.known = steady(known_in(loop)[0], inside.writes) if known_in(loop) else ()
        self.inner = [s.index for s in reversed(statements(loop.body)) if isinstance(s, For)]  # the innermost first
        unsteady = varies - inside.indices - {loop.index}
        within = [s for s in statements(loop.body) if isinstance(s, For) and (not array or array in names_used(s))]
        nest = [*around, loop, *within]
        bounds: dict[Var, tuple[Expr, Expr] | None] = {}  # the innermost index first; None: not known
        for inner in reversed(nest):
            changed = effects(inner.body).writes | (set() if inner in around else unsteady)
            ends: tuple[Expr, Expr] = signs.ends(inner)
            is_known = inner.index not in changed | variables(ends[0]) and not any(
                loads(end) or variables(end) & changed for end in ends
            )
            bounds[inner.index] = ends if is_known and bounds.get(inner.index, ends) == ends else None
        self.is_ambiguous = len({stmt.index for stmt in nest}) < len(nest) and not (array or inside.views)
        self.of_arrays: dict[str, Ranges] = {}
        self.answers: dict[tuple[object, ...], bool] = {}
        self.in_parts: dict[Expr, Any] = {}  # by what its index is divided by (`parts_of_indices`)
        self.positive = positive_by_steps((*around, loop), signs)
        self.other = {var: Var(f"{var.name}'", var.dtype) for var in varies}  # what it is in another iteration
        self.bounds: dict[Expr, tuple[Expr, Expr]] = {}
        self.rank: dict[Expr, int] = {}
        for rank, (index, known) in enumerate(bounds.items()):
            if known is not None:
                low, high = (substitute(end, dict(self.other)) for end in known)
                self.bounds |= {index: known, self.other.get(index, index): (low, high) if index in varies else known}
                self.rank |= {index: rank, self.other.get(index, index): rank}

    def never_meet(self, a: Access, b: Access) -> bool:
        """Do the accesses, of any two iterations, mean different elements?"""
        if a.array != b.array:
            return False
        if self.is_ambiguous:
            return self.about(a.array.name).never_meet(a, b)
        pairs = [self.not_moved(p, q) for p, q in zip(a.index, b.index, strict=True) if p is not None and q is not None]
        mine, others = ([each.expr for each in access.under if isinstance(each, Natural)] for access in (a, b))
        asked = [expr for expr in mine if expr in others]
        return (
            self.leave_other_remainders(a, b, asked)
            or any(self.never_equal(p, q, asked) for p, q in pairs)
            or self.are_one_iterations(pairs, [*(substitute(expr, dict(self.other)) for expr in mine), *others])
        )

    def not_moved(self, p: Expr, q: Expr) -> tuple[Expr, Expr]:
        """The loop's own index twice, where both go the same step from it around an axis: no two end in one place."""
        index = self.loop.index
        step = step_of(p, index)
        if step is None or not (is_wrap(q) and p.op == q.op and p.args[1] == q.args[1]):  # type: ignore[attr-defined]
            return p, q
        known = (step, p.args[1])  # type: ignore[attr-defined]
        varies = any(loads(each) or variables(each) & self.varies for each in known)
        is_alike = not varies and step_of(q, index) == step and self.signs.is_natural(index)
        return (index, index) if is_alike else (p, q)

    def about(self, array: str) -> Ranges:
        """The ranges of loops that have to do with an array: others may call their index alike."""
        if array not in self.of_arrays:
            self.of_arrays[array] = Ranges(self.around, self.loop, self.signs, array)
        return self.of_arrays[array]

    def are_one_iterations(self, pairs: list[tuple[Expr, Expr]], asked: Sequence[Expr] = ()) -> bool:
        """Where all indices are equal, are the iterations, too, by where the loops inside begin and end?

        a[i, j] = a[j, i] = …, j from i on: i' = j >= i, and i = j' >= i'.
        d[i, s - i] = d[i - 1, s - i]: never, as i is not i - 1.
        x[i], x[i ^ h] where i < i ^ h: never, as i' = i ^ h >= i, and i = i' ^ h >= i'.

        `asked`: what is not negative in the one iteration and in the other, where the elements are touched.
        """
        index = self.loop.index
        mine: dict[Expr, Expr] = {}  # what variables are where the indices are equal
        gaps: list[Expr] = []
        for p, q in pairs:
            if loads(p) or loads(q) or not (self.signs.never_negative or (self.is_natural(p) and self.is_natural(q))):
                continue
            gaps.append(self.gap(p, q))
            terms, constant = affine.affine(gaps[-1])
            counts = dict(terms)
            for var in (*self.inner, *(self.other[v] for v in self.inner), index, self.other[index]):
                if abs(counts.get(var, 0)) == 1 and var not in mine:
                    rest = affine.from_affine(tuple(item for item in terms if item[0] != var), constant)
                    if not variables(rest) & mine.keys():
                        mine[var] = affine.mul(affine.integer(-counts[var]), rest)
                        break
        said = lambda expr: without_bits_twice(affine.normal(substitute(expr, dict(mine))))
        lead = said(affine.sub(self.other[index], index))
        if any(affine.difference(said(gap), affine.ZERO) not in (None, 0) for gap in gaps):
            return True  # they never are
        if asked and any(is_negative(affine.add(x, y)) for x, y in combinations(map(said, asked), 2)):
            return True
        if isinstance(lead, Const):
            return bool(lead.value == 0)
        if any(self.go_round_from_one(p, q, said) for p, q in pairs):
            return True
        known = [
            said(end)
            for var in mine.keys() & self.bounds.keys()
            for end in (affine.sub(var, self.bounds[var][0]), affine.sub(self.bounds[var][1], var))
        ]

        def is_natural_by_them(expr: Expr) -> bool:
            return any((more := affine.difference(expr, end)) is not None and more >= 0 for end in known)

        return is_natural_by_them(lead) and is_natural_by_them(affine.sub(affine.ZERO, lead))

    def go_round_from_one(self, p: Expr, q: Expr, said: Callable[[Expr], Expr]) -> bool:
        """Is (i + s) % n one place for one i alone, as there are n of them at most, and s is the same for both?

        `said`: by what variables are where the other indices are equal: s may be a[k] of an inner loop's k.
        """
        index = self.loop.index
        match p, q:
            case Call(op="mod", args=(x, n)), Call(op="mod", args=(y, m)) if n == m and index in self.bounds:
                low, high = self.bounds[index]
                gap = said(affine.sub(substitute(x, dict(self.other)), y))
                read = {load.array for load in loads(x)}
                is_table = not any(array.dtype in self.set_here or array.name in self.made_here for array in read)
                return (
                    is_table
                    and affine.same(gap, affine.sub(self.other[index], index))
                    and not (loads(n) or variables(n) & self.varies)
                    and self.is_natural(affine.sub(affine.sub(n, affine.ONE), affine.sub(high, low)))
                )
        return False

    def gap(self, p: Expr, q: Expr) -> Expr:
        """What is 0 where the one iteration's index is the other's."""
        p = substitute(p, dict(self.other))
        match p, q:
            case Call(op="bitxor", args=(x, mask)), Call(op="bitxor", args=(y, other)) if mask == other:
                return affine.sub(x, y)
        return affine.sub(p, q)

    def leave_other_remainders(self, a: Access, b: Access, asked: Sequence[Expr]) -> bool:
        known = [(*self.known, *access.under) for access in (a, b)]
        if not all(any(isinstance(each, Remainder) for each in own) for own in known):
            return False
        apart = lambda p, q: never_meet(p, known[0], q, known[1], self.varies)
        if not (apart(a.index, b.index) or apart(*self.by_digits(a, b, asked))):
            return False
        return self.signs.never_negative or all(self.is_natural(p) for p in (*a.index, *b.index) if p is not None)

    def by_digits(self, a: Access, b: Access, asked: Sequence[Expr]) -> tuple[Index, Index]:
        """The indices of two elements, with two digits in the place of what is a number of two."""
        out: list[tuple[Expr | None, Expr | None]] = []
        for p, q in zip(a.index, b.index, strict=True):
            is_known = p is not None and q is not None and not (loads(p) or loads(q))
            digits = self.digits(p, q, [*self.runs_there(p, q), *asked]) if is_known else []  # type: ignore[arg-type]
            out += digits or [(p, q)]
        return tuple(p for p, _ in out), tuple(q for _, q in out)

    def never_equal(self, p: Expr, q: Expr, asked: Sequence[Expr] = ()) -> bool:
        """`asked`: what is not negative where the elements are touched, each by its own indices."""
        if loads(p) or loads(q):
            return False
        naturals = self.runs_there(p, q)
        if not (self.signs.never_negative or all(self.is_natural(part, naturals=naturals) for part in (p, q))):
            return False  # x[-1] is x[n - 1]
        if self.are_in_rows(p, q, naturals):
            return True
        if any(self.never_equal(x, y) for x, y in self.digits(p, q, [*naturals, *asked])):
            return True
        if self.lies_between_steps(p, q):
            return True
        p = affine.normal(substitute(p, dict(self.other)))
        lead = affine.sub(p, q)
        if leaves_a_remainder(lead):
            return True
        return any(self.is_natural(affine.sub(gap, affine.ONE)) for gap in (lead, affine.sub(affine.ZERO, lead)))

    def lies_between_steps(self, p: Expr, q: Expr) -> bool:
        """Are they apart by no multiple of what the loop goes by?  x[i] and x[i + s], in steps of 2 * s."""
        index = self.loop.index
        counts: dict[Expr, int] = dict(affine.affine(p)[0])
        count, gap = counts.get(index, 0), affine.sub(p, q)
        own = {v for e in (affine.sub(p, affine.mul(affine.integer(count), index)), gap) for v in variables(e)}
        if not count or (own | variables(self.loop.step)) & self.varies or loads(self.loop.step):
            return False
        steps = _ratio(gap, affine.mul(affine.integer(count), self.loop.step))
        return steps is not None and steps.denominator > 1

    def digits(self, p: Expr, q: Expr, naturals: list[Expr]) -> list[tuple[Expr, Expr]]:
        """Numbers of two digits, i * m + j with 0 <= j < m: they are equal where both of the digits are."""
        for base in dict.fromkeys(factor for term in affine.terms_of(p) for factor in _factors(term)):
            if variables(base) & self.varies:
                continue
            (high_p, low_p), (high_q, low_q) = _by_base(p, base), _by_base(q, base)
            room = lambda low, base=base: affine.sub(affine.sub(base, affine.ONE), low)
            ends = (low_p, low_q, room(low_p), room(low_q))
            if high_q != affine.ZERO and all(self.is_natural(end, naturals=naturals) for end in ends):
                return [(high_p, high_q), (low_p, low_q)]
        return []

    def runs_there(self, p: Expr, q: Expr) -> list[Expr]:
        """How many times more than once loops run of which an element knows the index: as often as that, at least."""
        known = variables(p) | variables(q) | {loop.index for loop in self.around}
        gaps = (affine.sub(high, low) for v, (low, high) in self.bounds.items() if v in known)
        return [gap for gap in gaps if not variables(gap) & self.varies]

    def are_in_rows(self, p: Expr, q: Expr, naturals: list[Expr]) -> bool:
        """Is all that one index has behind what the index before it has, or all of it ahead of that?"""
        if self.loop.index not in self.bounds:
            return False
        rows = [(self.extreme(e, True), self.extreme(e, False)) for e in dict.fromkeys((p, q))]
        step = self.loop.step
        steps = [affine.ONE] if loads(step) or variables(step) & self.varies else dict.fromkeys((affine.ONE, step))
        return any(self.grow(rows, by, naturals) for s in steps for by in (s, affine.sub(affine.ZERO, s)))

    def grow(self, rows: list[tuple[Expr | None, Expr | None]], step: Expr, naturals: list[Expr]) -> bool:
        """Is what is least at the next index, so many further on, greater than all there has been?"""
        index = self.loop.index
        low, high = self.bounds[index]
        is_upwards = self.is_natural(step)
        ends = (low, affine.sub(high, affine.ONE)) if is_upwards else (affine.add(low, affine.ONE), high)

        def is_further(least: Expr | None, other: Expr | None, by: int) -> bool:
            if least is None or other is None:
                return False
            after = substitute(least, {index: affine.add(index, step)})
            gap = products.lead(after, affine.add(other, affine.integer(by)))
            return gap is not None and self.is_natural(gap, {index: ends}, naturals)

        goes_on = all(is_further(least, least, 0) for least, _ in rows) or all(
            is_further(most, most, 0) for _, most in rows
        )
        return goes_on and all(is_further(least, most, 1) for least, _ in rows for _, most in rows)

    def extreme(self, expr: Expr, low: bool) -> Expr | None:
        """The least, or the greatest, that it is in one iteration; None where that is not known by the index alone."""
        for inner in self.inner:
            terms, _ = affine.affine(expr)
            count = dict(terms).get(inner, 0)
            if any(term != inner and inner in variables(term) for term, _ in terms):
                return None
            if count and inner not in self.bounds:
                return None
            if count:
                expr = affine.normal(substitute(expr, {inner: self.bounds[inner][(count > 0) != low]}))
        return None if loads(expr) or variables(expr) & (self.varies - {self.loop.index}) else expr

    def is_natural(
        self, expr: Expr, nearer: Mapping[Expr, tuple[Expr, Expr]] | None = None, naturals: Sequence[Expr] = ()
    ) -> bool:
        """Provably >= 0, wherever in the loop it is computed.

        `nearer`: bounds of some indices.  `naturals`: what is not negative there.
        """
        asked = expr, tuple((nearer or {}).items()), tuple(naturals)
        if asked not in self.answers:
            self.answers[asked] = self._is_natural(expr, {**self.bounds, **(nearer or {})}, nearer, naturals)
        return self.answers[asked]

    def _is_natural(
        self,
        expr: Expr,
        bounds: Mapping[Expr, tuple[Expr, Expr]],
        nearer: Mapping[Expr, tuple[Expr, Expr]] | None,
        naturals: Sequence[Expr],
    ) -> bool:
        def bound(term: Expr, low: bool) -> Expr | None:
            if term in bounds:
                return bounds[term][not low]
            if low and term in self.positive:
                return affine.ONE
            return bound_of_parts(term, low, lambda part: self.is_natural(part, nearer, naturals))

        def holds(expr: Expr) -> bool:
            more = (affine.difference(expr, natural) for natural in naturals)
            return self.signs.is_natural(expr) or any(gap is not None and gap >= 0 for gap in more)

        return proved_by_bounds(expr, holds, bound, lambda term: self.rank.get(term, len(self.rank)))


def is_negative(expr: Expr) -> bool:
    return isinstance(expr, Const) and bool(expr.value < 0)


def _ratio(x: Expr, y: Expr) -> Fraction | None:
    """x / y, where that is the same number whatever their variables are."""
    (x_terms, x_constant), (y_terms, y_constant) = affine.affine(x), affine.affine(y)
    counts = dict(y_terms)
    ratios = {Fraction(count, counts[term]) if term in counts else None for term, count in x_terms}
    if x_constant or y_constant:
        ratios.add(Fraction(x_constant, y_constant) if y_constant else None)
    return ratios.pop() if len(ratios) == 1 and len(x_terms) == len(y_terms) else None


def _factors(term: Expr) -> tuple[Expr, ...]:
    return term.args if isinstance(term, Call) and term.op == "mul" else ()


def _by_base(expr: Expr, base: Expr) -> tuple[Expr, Expr]:
    """x and y, of an expression that is x * base + y."""
    terms, _ = affine.affine(expr)
    high: Expr = affine.ZERO
    low = expr
    for term, count in terms:
        if term == base or base in _factors(term):
            others = [affine.ONE, base] if term == base else [*_factors(term)]
            others.remove(base)
            high = affine.add(high, affine.mul(affine.integer(count), others[0]))
            low = affine.sub(low, affine.mul(affine.integer(count), term))
    return high, low


__all__ = ["Ranges"]
