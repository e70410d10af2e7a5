"""Which integers are never negative: an index that may be is one of two names of an element.

    for j in range(2 * n):        y[j - n] is y[0] at j = n, and at j = 0 too where y has n elements
        y[j - n] = x[j]           (x[-1] is x[n - 1]): so its iterations are not apart

Two iterations mean two elements by an index that tells them apart where it never is negative, or where there are at
most as many iterations as elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Const, Dim, Expr, Var
from ..ir.naturals import remainder
from ..ir.nodes import AddTo, Assign, For, Function, Pop, Push, Stmt, While
from ..ir.walk import loads, numbers_set, remembered, statements, substitute, targets, variables
from .quotients import is_a_power


class Signs:
    """What is known of the integers of a function.

    `never_negative`: every index has been made one that is not negative (see `guard_accesses`).
    """

    def __init__(self, function: Function, never_negative: bool = False) -> None:
        self.never_negative = never_negative
        self._answers: dict[Expr, bool] | None = None
        self.lengths: dict[Var, Expr] = {}  # variables that are one length throughout
        makes: dict[Var, list[Stmt]] = {}
        self.pushed: dict[str, list[Push]] = {}
        for stmt in statements(function.body):
            if isinstance(stmt, Push):
                self.pushed.setdefault(stmt.stack.name, []).append(stmt)
            for item in targets(stmt):
                if isinstance(item, Var) and item.dtype == INT64:
                    makes.setdefault(item, []).append(stmt)
        self.least: dict[Var, int] = {}  # what a variable that is never negative is at least
        params = {p for p in function.params if isinstance(p, Var)}
        self.fixed = {p for p in params if p not in makes}
        for var, made in makes.items():
            if len(made) == 1 and made[0] in function.body:
                self.fixed.add(var)
            if len(made) == 1 and var not in params and isinstance(made[0], Assign) and isinstance(made[0].value, Dim):
                self.lengths[var] = made[0].value
        self.naturals = set(makes) - params  # the largest set of which it holds
        while refuted := {v for v in self.naturals if not all(map(self._stays_natural, makes[v]))}:
            self.naturals -= refuted
        by_itself = {v: min(map(self._least, makes[v])) for v in self.naturals}
        self.least = {v: max(k, 1) for v, k in by_itself.items()}  # the most of which it holds
        while refuted := {v for v, k in self.least.items() if k > by_itself[v] and k > min(map(self._least, makes[v]))}:
            self.least |= {v: by_itself[v] for v in refuted}
        self.least = {v: k for v, k in self.least.items() if k}
        self.powers = set(makes) - params  # of two: the largest set of which it holds
        while refuted := {v for v in self.powers if not all(map(self._stays_a_power, makes[v]))}:
            self.powers -= refuted
        self._answers = {}  # from here on, what it says stays

    def _stays_natural(self, stmt: Stmt) -> bool:
        match stmt:
            case Assign(value=value) | AddTo(value=value):
                return self.is_natural(value)
            case Pop(stack=stack):  # what was pushed elsewhere, nobody knows here
                pushed = self.pushed.get(stack.name, ())
                return bool(pushed) and all(isinstance(s.value, Expr) and self.is_natural(s.value) for s in pushed)
            case For(step=Const()):
                return self.is_natural(extremes(stmt)[0])
            case For(start=start) if self.leads_upwards(stmt):
                factor = _factor(stmt.step)  # 1 at least, as a step of 0 is an error
                more = {} if factor is None else {factor: affine.add(affine.maximum(factor, affine.ZERO), affine.ONE)}
                return self.is_natural(affine.normal(substitute(start, more)))
            case For(start=start, stop=stop):  # up, from the start, or down, unless there is nothing in that direction
                up = self.is_natural(start) or self.is_natural(affine.sub(start, stop))
                down = self.is_natural(affine.add(stop, affine.ONE)) or self.is_natural(affine.sub(stop, start))
                return up and down
        return isinstance(stmt, While)

    def _stays_a_power(self, stmt: Stmt) -> bool:
        match stmt:
            case Assign(value=value):
                return is_a_power(value, self.powers.__contains__)
            case Pop(stack=stack):
                pushed = self.pushed.get(stack.name, ())
                return bool(pushed) and all(
                    isinstance(s.value, Expr) and is_a_power(s.value, self.powers.__contains__) for s in pushed
                )
        return False

    def leads_upwards(self, loop: For) -> bool:
        """Does no iteration come by a step below 0?  By such a step there is nothing in range(0, n - s, 2 * s)."""
        factor = _factor(loop.step)
        if factor is None or self.is_natural(loop.step):
            return self.is_natural(loop.step)
        below = affine.sub(affine.integer(-1), affine.maximum(factor, affine.ZERO))
        return self.is_natural(affine.normal(substitute(affine.sub(loop.stop, loop.start), {factor: below})))

    def ends(self, loop: For) -> tuple[Expr, Expr]:
        """The least and the greatest index, also where nothing is known of the step but that it leads upwards."""
        if not isinstance(loop.step, Const) and self.leads_upwards(loop):
            return loop.start, affine.sub(loop.stop, affine.ONE)
        return extremes(loop)

    def _least(self, stmt: Stmt) -> int:
        """What a variable is at least that the statement sets, one that is never negative: t = x % 2 + 1, max(h, 1)."""
        match stmt:
            case Assign(value=value):
                return self._least_of(value)
            case Pop(stack=stack):
                return min(self._least_of(s.value) for s in self.pushed[stack.name] if isinstance(s.value, Expr))
        return 0

    def _least_of(self, expr: Expr) -> int:
        terms, constant = affine.affine(expr)
        constant += sum(c * max(self.least.get(t, 0), _greatest_number(t)) for t, c in terms)  # type: ignore[call-overload]
        return max(constant, 0) if all(c > 0 and self.is_natural(t) for t, c in terms) else 0

    def trips(self, end: Expr) -> Expr:
        """How often a loop from 0 to there runs: to a negative end, not at all."""
        return end if self.is_natural(end) else affine.maximum(end, affine.ZERO)

    def is_natural(self, expr: Expr) -> bool:
        """Provably >= 0."""
        if self._answers is None:
            return self._is_natural(expr)
        if expr not in self._answers:
            self._answers[expr] = self._is_natural(expr)
        return self._answers[expr]

    def _is_natural(self, expr: Expr) -> bool:
        terms, constant = affine.affine(expr)
        constant += sum(c * self.least.get(t, 0) for t, c in terms)  # type: ignore[call-overload]
        if any(self.is_natural(affine.add(expr, less)) for less in self._less_by_quotients(terms)):
            return True
        for t, c in terms:
            match t:
                case Call(op="floordiv", args=(x, Const(value=int(d)))) if c < 0 < d and c % d == 0:
                    # x // d * d is x at most: the last index of x[::-2] is n - 2 * ((n + 1) // 2) + 1
                    most = affine.mul(affine.integer(c // d), x)
                    return self.is_natural(affine.add(affine.sub(expr, affine.mul(affine.integer(c), t)), most))
                case Call(op="mod", args=(x, y)) if c < 0 and remainder(t) is None:
                    # x % y is x at most: 2 * k - k % h
                    less = affine.mul(affine.integer(-c), affine.sub(t, x))
                    if self.is_natural(x) and self.is_natural(y) and self.is_natural(affine.add(expr, less)):
                        return True
                case Call(op="mod" | "bitand") if c < 0 and (parts := remainder(t)) is not None:
                    most = affine.integer(c * (parts[1] - 1))  # 1 - x % 2 is 0 at least
                    return self.is_natural(affine.add(affine.sub(expr, affine.mul(affine.integer(c), t)), most))
        return constant >= 0 and all(
            c > 0 and (t in self.naturals or affine.is_at_least(t, 0) or self._is_part(t)) for t, c in terms
        )

    def _less_by_quotients(self, terms: affine.Terms) -> Iterator[Expr]:
        """What makes the sum of terms less, without two of its quotients: x // d - y // d is (x - y) // d at least.

        (n + 1) // 2 - n // 2 is 0 at least: two halves of which the one may be longer do not overlap.
        """
        quotients = [(t, c, parts) for t, c in terms if (parts := _quotient(t)) is not None]
        for more, c, (x, d) in quotients:
            for less, k, (y, other) in quotients:
                gap = affine.sub(x, y)
                if k < 0 < c and d == other and (isinstance(gap, Const) or self.is_natural(gap)):
                    count = affine.integer(min(c, -k))
                    least = affine.integer(int(gap.value) // d if isinstance(gap, Const) else 0)
                    yield affine.mul(count, affine.add(affine.sub(less, more), least))

    def _is_part(self, expr: Expr) -> bool:
        """Is it a quotient (a shift) or a remainder of what makes it natural?  (A remainder has the divisor's sign.)"""
        match expr:
            case Call(op="floordiv", args=(x, y)):
                return self.is_natural(x) and self.is_natural(y)
            case Call(op="mod", args=(_, y)):
                return self.is_natural(y)
            case Call(op="bitand", args=(x, y)):
                return self.is_natural(x) or self.is_natural(y)
            case Call(op="mul" | "bitor" | "bitxor", args=(x, y)):
                return self.is_natural(x) and self.is_natural(y)
            case Call(op="rshift" | "lshift", args=(x, _)):
                return self.is_natural(x)
            case Call(op="minimum" | "min", args=(x, y)):
                return self.is_natural(x) and self.is_natural(y)
            case Call(op="maximum" | "max", args=(x, y)):
                return self.is_natural(x) or self.is_natural(y)
        return False

    def is_apart(self, part: Expr, array: Array, axis: int, loop: For) -> bool:
        """Do iterations of the loop in which this index of the axis differs mean different elements?"""
        if self.never_negative:
            return True
        low, high = extremes(loop)
        along = [(term, c) for term, c in affine.affine(part)[0] if loop.index in variables(term)]
        count = sum(c * _direction(term, loop.index) for term, c in along)
        if along and (len(along) > 1 or not count):
            return False
        least = affine.normal(substitute(part, {loop.index: low if count > 0 else high}))
        if self.is_natural(least) or self.is_natural(affine.normal(substitute(least, self.lengths))):
            return True
        if not isinstance(loop.step, Const) or not variables(array.dims[axis]) <= self.fixed:
            return False
        if along and along[0][0] != loop.index:
            return False
        most = affine.mul(affine.integer(abs(count)), affine.add(affine.sub(high, low), affine.ONE))
        room = affine.sub(array.dims[axis], most)
        return self.is_natural(affine.normal(substitute(room, self.lengths)))


def _quotient(term: Expr) -> tuple[Expr, int] | None:
    """x and d, of a term that is x // d for a number d > 0."""
    match term:
        case Call(op="floordiv", args=(x, Const(value=int(d)))) if d > 0:
            return x, d
        case Call(op="rshift", args=(x, Const(value=int(d)))) if 0 <= d < 62:
            return x, 2**d
    return None


def _greatest_number(term: Expr) -> int:
    """Of what is the greatest of some: of the numbers among them, the greatest; else 0."""
    match term:
        case Call(op="maximum" | "max", args=args):
            return max((int(arg.value) for arg in args if isinstance(arg, Const)), default=0)
    return 0


def _direction(term: Expr, index: Var) -> int:
    """How a term goes with an index: 1 for the index itself, 1 or -1 for a quotient; 0 where that is not known."""
    match term:
        case Call(op="floordiv", args=(x, Const(value=by))) if by > 0:
            count = dict(affine.affine(x)[0]).get(index, 0)
            return (count > 0) - (count < 0)
    return int(term == index)


def extremes(loop: For) -> tuple[Expr, Expr]:
    """The least and the greatest index, or what bounds them; where the direction is not known, the index itself."""
    if not isinstance(loop.step, Const):
        return loop.index, loop.index
    if (forwards := the_other_way_round(loop)) is not None:
        return extremes(forwards)
    if loop.step.value > 0:
        return loop.start, affine.sub(loop.stop, affine.ONE)
    return affine.add(loop.stop, affine.ONE), loop.start


def positive_by_steps(loops: Iterable[For], signs: Signs) -> set[Expr]:
    """What is 1 at least in all of these loops, because none goes by 0."""
    out: set[Expr] = set()
    for loop in loops:
        factor = _factor(loop.step)
        if factor is not None and signs.leads_upwards(loop) and not variables(factor) & _changed_in(loop):
            out.add(factor)
    return out


def _factor(step: Expr) -> Expr | None:
    """n, of a step that is n, or a multiple of it."""
    match affine.affine(step):
        case ((term, count),), 0 if count > 0 and not loads(term):
            return term
    return None


def _changed_in(loop: For) -> set[Var]:
    return {loop.index, *numbers_set(loop.body)}


@remembered
def the_other_way_round(loop: For) -> For | None:
    """The loop over a range by more than one that this one goes over from its end, as `reverse` says that."""
    step = -int(loop.step.value) if isinstance(loop.step, Const) else 0
    if abs(step) < 2:
        return None
    for term, count in affine.affine(loop.start)[0]:
        match term:
            case Call(op="trip_count", args=(start, stop, Const(value=by))) if by == step == count:
                first = affine.sub(affine.add(start, affine.mul(affine.integer(step), term)), affine.integer(step))
                before = affine.sub(start, affine.integer(step))
                if affine.same(loop.start, first) and affine.same(loop.stop, before):
                    return replace(loop, start=start, stop=stop, step=affine.integer(step))
    return None


@remembered
def signs_of(function: Function) -> Signs:
    return Signs(function)


__all__ = ["Signs", "extremes", "positive_by_steps", "signs_of", "the_other_way_round"]
