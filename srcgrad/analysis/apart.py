"""Elements of two iterations that are never one, by the names in indices and bounds, or by what these were made of.

n, h = x.shape[0], (x.shape[0] + 1) // 2        x[i + h] is nobody's x[i], for i < n // 2: h is (n + 1) // 2
for i in range(n // 2):
    x[i] = x[i] * x[i + h]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ir import affine
from ..ir.expressions import Dim, Expr, Var
from ..ir.nodes import For
from ..ir.walk import subexpressions, substitute, variables
from .defined_indices import by_values, is_long
from .effects import Access, values_within
from .parts_of_indices import never_meet
from .ranges import Ranges
from .signs import Signs


@dataclass(frozen=True)
class Bounded:
    """A loop by the names that its range was copied from, and by what these were made of, if it leaves that alone."""

    by_names: For
    by_values: For

    @classmethod
    def of(cls, loop: For, values: Mapping[Var, Expr]) -> Bounded:
        steady = values_within(loop, values)
        by_names = _with_bounds(loop, {var: v for var, v in steady.items() if isinstance(v, Var)})
        by_values = loop
        while (
            not is_long(by_values.start, by_values.stop, by_values.step)
            and (said := _with_bounds(by_values, steady)) is not by_values
        ):
            by_values = said
        return cls(by_names, by_values)


class Apart:
    """Answers about the last of some loops, each in the one before.

    `values`: what variables are ahead of it; `made`: how often there is new memory for each name of an array.
    """

    def __init__(
        self, bounded: Sequence[Bounded], values: Mapping[Var, Expr], signs: Signs, made: Mapping[str, int]
    ) -> None:
        ways = [b.by_names for b in bounded], [b.by_values for b in bounded]
        self.ways = ways if ways[0] != ways[1] else ways[:1]
        self.signs = signs
        asked = lambda value: (part.array for part in subexpressions(value) if isinstance(part, Dim))
        known = values_within(bounded[-1].by_names, values).items()
        self.values = {var: value for var, value in known if all(made[name] == 1 for name in asked(value))}
        self.made: list[Ranges] = []
        self.answers: dict[tuple[object, object], bool] = {}

    def never_meet(self, a: Access, b: Access) -> bool:
        """Do the accesses, of any two iterations, mean different elements?"""
        p, q = ((each.array, each.index, each.under) for each in (a, b))
        if (p, q) not in self.answers:  # of what is read and written, it is one question; and which comes first is none
            self.answers[p, q] = self.answers.get((q, p), False) or self.are_apart(a, b)
        return self.answers[p, q]

    def are_apart(self, a: Access, b: Access) -> bool:
        if any(ranges.never_meet(a, b) for ranges in self.ranges()):
            return True
        said = self.by_values(a), self.by_values(b)
        if said != (a, b) and any(ranges.never_meet(*said) for ranges in self.ranges()):
            return True
        return any(never_meet(ranges, x, y) for x, y in dict.fromkeys(((a, b), said)) for ranges in self.ranges())

    def by_values(self, access: Access) -> Access:
        index = (None if part is None else by_values(part, self.values) for part in access.index)
        under = (replace(known, expr=by_values(known.expr, self.values)) for known in access.under)
        return replace(access, index=tuple(index), under=tuple(under))

    def ranges(self) -> Iterator[Ranges]:
        for k, (*around, own) in enumerate(self.ways):
            if k == len(self.made):
                self.made.append(Ranges(tuple(around), own, self.signs))
            yield self.made[k]


def _with_bounds(loop: For, values: Mapping[Any, Expr]) -> For:
    if values.keys().isdisjoint(variables(loop.start) | variables(loop.stop) | variables(loop.step)):
        return loop
    said = lambda bound: affine.normal(substitute(bound, values))
    return replace(loop, start=said(loop.start), stop=said(loop.stop), step=said(loop.step))


__all__ = ["Apart", "Bounded"]
