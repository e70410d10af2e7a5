"""Parts of a loop that passes numbers on of which each is affine in all of them: what a part makes of s is M s + b.

    for i in range(n):              for part: b[part], m[part] = …      what the part makes of s = 0, and of s alone
        s = a * s + x[i]     →      for part: s_start[part] = s; s = m[part] * s + b[part]
        y[i] = sin(s)               for part: s = s_start[part]; …      the loop, over the part

Where s cancels, or is no number, what the part makes of it is found by going through the part: a thread does that by
itself.  Sums, and products of factors alone, need nothing of the kind.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from ...analysis.affine_steps import AffineSteps, Image, NotAffine, Start
from ...analysis.effects import effects
from ...ir.expressions import BOOL, FLOAT32, Array, Call, Expr, Var, both, either, negated
from ...ir.nodes import AddTo, Assign, Block, For, If, Stmt, Store
from ...ir.walk import numbers_set, substituted
from .in_parts import LoopInParts, number

DIGITS = 1024.0  # a sum that is less than what it is the sum of, by more than this, has lost too many


@dataclass(frozen=True)
class Maps:
    """s → M s + b of every part of a loop, as arrays with one element for each.

    `columns`: of what is made of which number (None: it stays what it was).  What has no array is zero in all parts.
    """

    columns: Mapping[tuple[Var, Var], Array | None]
    terms: Mapping[Var, Array]

    @property
    def arrays(self) -> tuple[Array, ...]:
        return (*(a for a in self.columns.values() if a is not None), *self.terms.values())


class AffineInParts(LoopInParts[AffineSteps, Maps]):
    """A loop of affine steps, in parts."""

    def found(self) -> tuple[Maps, tuple[Array, ...], For]:
        columns = [Start({v: number(v, 1)}, False) for v in self.carried]
        body, (base, *images) = self.plainly.of([Start({}, True), *columns], self.names)
        if self.advance != self.plainly.needed:  # what is made of zeros is found with more care
            body, images = self.plainly.of(columns, self.names)
            more, base = self.from_zeros(base)
            body = (*body, *more)
        maps = Maps(
            {
                (v, of): None if v in image.constant else self.of_parts(_column_name(v, of), v)
                for of, image in zip(self.carried, images, strict=True)
                for v in image.called
                if v == of or v not in image.constant
            },
            {v: self.of_parts(f"{v.name}_term", v) for v in base.called if v not in base.constant},
        )
        made_of_others = [key for key, made in maps.columns.items() if made is not None]
        if any(v.dtype.kind != "f" or v.dtype != of.dtype for v, of in made_of_others):
            raise NotAffine  # whole numbers are counted, and no more
        stored = [(made, base.called[v]) for v, made in maps.terms.items()]
        by_column = dict(zip(self.carried, images, strict=True))
        stored += [(made, by_column[of].called[v]) for (v, of), made in maps.columns.items() if made is not None]
        last = tuple(Store(made, (self.part,), value, checked=False, natural=True) for made, value in stored)
        used = set().union(*(effects((s,)).reads for s in (*body, *last)))
        first = {image.called[v]: value for image in (base, *images) for v, value in image.first.items()}
        ahead = tuple(Assign(name, value) for name, value in first.items() if name in used)
        return maps, maps.arrays, self.over_parts((*ahead, self.within(body), *last))

    def from_zeros(self, base: Image) -> tuple[Block, Image]:
        """What `advance` makes of zeros; `base`: which numbers these are no zeros afterwards."""
        if not base.called:
            return (), base
        own = {v: Var(self.names.fresh(v.name), v.dtype) for v in self.carried}
        inside = {v: Var(self.names.fresh(v.name), v.dtype) for v in numbers_set(self.advance) - {*self.carried}}
        more = substituted(self.advance, {**own, **inside})
        return more, Image(own, {v: number(v, 0) for v in own}, frozenset(own.keys() - base.called.keys()))

    def composed(self, maps: Maps) -> tuple[AffineSteps, Block]:
        plainly: list[Stmt] = []
        taken: list[Stmt] = []
        suspect: Expr | None = None
        for v in self.carried:
            columns = [(of, maps.columns[v, of]) for of in self.carried if (v, of) in maps.columns]
            parts: list[Expr] = []
            products: list[tuple[Var, Var]] = []
            for of, column in columns:
                if column is not None:
                    products.append((Var(self.names.fresh(f"{v.name}_more"), v.dtype), of))
                    plainly.append(Assign(products[-1][0], self.of_this_part(column) * of))
                parts.append(of if column is None else products[-1][0])
            parts += [self.of_this_part(maps.terms[v])] if v in maps.terms else []
            if parts and parts[0] == v and len(columns) == 1:
                taken += [AddTo(v, part) for part in parts[1:]]
                continue
            then = Var(self.names.fresh(f"{v.name}_then"), v.dtype)
            plainly.append(Assign(then, reduce(operator.add, parts) if parts else number(v, 0)))
            taken.append(Assign(v, then))
            for product, of in products:
                suspect = either(suspect, negated(_is_trusted(then, product, of)))
        depends = frozenset({*self.carried, *numbers_set(tuple(plainly))})
        steps = AffineSteps(self.carried, (*plainly, *taken), depends)
        if suspect is None:
            return steps, steps.needed
        return steps, (*plainly, If(suspect, (self.within(self.advance),), tuple(taken)))


def _is_trusted(total: Expr, product: Expr, of: Expr) -> Expr:
    """Has a sum that a product is part of kept its digits, and the product itself?"""
    size = lambda x: Call("abs", (x,), x.dtype)
    least = 1e-30 if total.dtype == FLOAT32 else 1e-290  # what is less may be half of a number, or none
    at_least = lambda x: Call("ge", (size(total), x), BOOL)
    is_finite = Call("eq", (total - total, number(total, 0)), BOOL)
    return both(both(is_finite, at_least(size(product) / DIGITS)), at_least(size(of) * least))


def _column_name(var: Var, of: Var) -> str:
    return f"{var.name}_factor" if var == of else f"{var.name}_by_{of.name}"


__all__ = ["AffineInParts"]
