"""Sums of products over labelled axes, of which every product of arrays is one: as BLAS calls and as loops.

ij,jk->ik     t = empty(n, m); matmul(t, x, y)
ij,ij->       s = 0; for each i, j:  s += x[i, j] * y[i, j]
i,j->ij       x[#0] * y[#1]                                      (an expression)
ij,jk,kl->il  two matrix products
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Axis, Call, Const, Expr, Load, is_inexact
from ...ir.nodes import AddTo, Library
from ...ir.walk import is_constant, subexpressions
from ..arithmetic import cast_value
from ..array_values import ArrayValue, remap, run_of, whole
from ..broadcasting import are_equal, common_length, element_under
from ..builder import Builder
from ..values import Scalar

SMALL = 64  # products of numbers, of which matrices of known lengths take so many
Labels = tuple[Any, ...]


@dataclass(frozen=True)
class Factor:
    """An operand with a label for each of its axes, all different."""

    value: ArrayValue
    labels: Labels

    def element(self, place: dict[Any, Expr]) -> Expr:
        return self.value.at([place[label] for label in self.labels])

    def turned(self, labels: Labels) -> Factor:
        """With its axes in this order."""
        dims = tuple(self.value.dims[self.labels.index(label)] for label in labels)
        return Factor(remap(self.value, dims, [Axis(labels.index(label)) for label in self.labels]), labels)


def contract(builder: Builder, operands: Sequence[tuple[Any, Labels]], out: Labels, checked: Labels = ()) -> Any:
    """The sum over all labels that are not in `out`.  Axes of one label broadcast, but for the labels in `checked`."""
    dtype = np.result_type(*(value.dtype for value, _ in operands))
    inner = INT64 if dtype == BOOL else dtype
    arrays = [(_as_array(cast_value(value, inner)), labels) for value, labels in operands]
    result = _Contraction(builder, arrays, checked, inner).result(out)
    return cast_value(result, dtype) if dtype == BOOL else result


def _as_array(value: Any) -> ArrayValue:
    return ArrayValue((), value.expr) if isinstance(value, Scalar) else value


class _Contraction:
    def __init__(
        self, builder: Builder, arrays: Sequence[tuple[ArrayValue, Labels]], checked: Labels, dtype: np.dtype
    ) -> None:
        self.builder, self.dtype = builder, dtype
        self.lengths: dict[Any, Expr] = {}
        for label in dict.fromkeys(label for _, labels in arrays for label in labels):
            found = [v.dims[k] for v, labels in arrays for k, one in enumerate(labels) if one == label]
            shapes = [v.dims for v, _ in arrays]
            self.lengths[label] = found[0] if label in checked else common_length(builder, found, shapes)
        self.factors = [self.factor(value, labels, checked) for value, labels in arrays]

    def factor(self, value: ArrayValue, labels: Labels, checked: Labels) -> Factor:
        """The operand without axes of length 1, and with its diagonal in the place of axes of one label."""
        wanted = tuple(d if one in checked else self.lengths[one] for d, one in zip(value.dims, labels, strict=True))
        single = [is_constant(d, 1) for d in value.dims]
        fits = all(
            alone or are_equal(self.builder, self.builder.pin(d), n)
            for d, n, alone in zip(value.dims, wanted, single, strict=True)
        )
        if not fits:
            value = ArrayValue(wanted, element_under(self.builder, value, wanted))
        long = [one for one, alone in zip(labels, single, strict=True) if not alone]
        kept = tuple(dict.fromkeys(long))
        index = [Axis(kept.index(one)) if not alone else affine.ZERO for one, alone in zip(labels, single, strict=True)]
        dims = tuple(value.dims[labels.index(one)] for one in kept)
        return Factor(remap(value, dims, index), kept)

    def result(self, out: Labels) -> Scalar | ArrayValue:
        """All factors as one, its axes as wanted."""
        wanted = tuple(one for one in out if any(one in f.labels for f in self.factors))
        factors = [self.summed_alone(f, k, wanted) for k, f in enumerate(self.factors)]
        whole_nest = len({one for f in factors for one in f.labels})
        while len(factors) > 1:
            best = min(combinations(range(len(factors)), 2), key=lambda pair: self.cost(factors, pair, wanted))
            rest = [f for k, f in enumerate(factors) if k not in best]
            x, y = (factors[k] for k in best)
            needed = self.needed((x, y), rest, wanted)
            is_smaller = len({*x.labels, *y.labels}) < whole_nest
            if rest and not is_smaller and not (self.is_blas(x, y, needed) and len(needed) > 1):
                break  # one nest of loops does it all
            factors = [*rest, self.pair(x, y, needed)]
        done = self.loops(factors, wanted) if len(factors) > 1 or set(factors[0].labels) != set(wanted) else factors[0]
        value = done.turned(wanted).value
        if not out:
            self.builder.check_fresh(value.element)
            return Scalar(value.element)
        return remap(value, tuple(self.lengths[one] for one in out), [Axis(out.index(one)) for one in wanted])

    def needed(self, pair: tuple[Factor, ...], rest: list[Factor], wanted: Labels) -> Labels:
        """The labels of a product that something else still asks for, in the order of the result."""
        others = {one for f in rest for one in f.labels} | set(wanted)
        found = dict.fromkeys(one for f in pair for one in f.labels if one in others)
        return (*(one for one in wanted if one in found), *(one for one in found if one not in wanted))

    def cost(self, factors: list[Factor], pair: tuple[int, ...], wanted: Labels) -> tuple[int, int]:
        rest = [f for k, f in enumerate(factors) if k not in pair]
        both = tuple(factors[k] for k in pair)
        return len(self.needed(both, rest, wanted)), len({one for f in both for one in f.labels})

    def summed_alone(self, factor: Factor, number: int, wanted: Labels) -> Factor:
        """Labels that nobody else has are summed first, where that makes the loops to come fewer."""
        others = {one for k, f in enumerate(self.factors) if k != number for one in f.labels}
        kept = tuple(one for one in factor.labels if one in others or one in wanted)
        if len(kept) == len(factor.labels) or others <= set(factor.labels):
            return factor
        return self.loops([factor], kept)

    def pair(self, x: Factor, y: Factor, out: Labels) -> Factor:
        by_blas = self.is_blas(x, y, out) and not self.is_small(x, y, out)
        return self.blas(x, y, out) if by_blas else self.loops([x, y], out)

    # ------------------------------------------------------------------------------------------------- loops

    def loops(self, factors: Sequence[Factor], out: Labels) -> Factor:
        """One nest of loops that adds up products, or an expression where there is nothing to add up."""
        every = tuple(dict.fromkeys((*out, *(one for f in factors for one in f.labels))))
        dims = tuple(self.lengths[one] for one in every)
        factors = [self.computed_once(f, every) for f in factors]

        def product(index: Sequence[Expr]) -> Expr:
            place = dict(zip(every, index, strict=True))
            return reduce(operator.mul, [f.element(place) for f in factors])

        out_dims = tuple(self.lengths[one] for one in out)
        if every == out:
            return Factor(ArrayValue(out_dims, product([Axis(k) for k in range(len(out))])), out)
        for factor in factors:
            self.builder.check_fresh(factor.value.element)
        if not out:
            return Factor(ArrayValue((), self.builder.sum(dims, product, self.dtype)), ())
        array = self.builder.allocate("t", self.dtype, out_dims, Const(self.dtype.type(0).item(), self.dtype))
        add = lambda index: AddTo(Load(array, tuple(index[: len(out)])), product(index), True)
        self.builder.each(dims, add)
        return Factor(whole(array), out)

    def computed_once(self, factor: Factor, every: Labels) -> Factor:
        """What loops around would compute over and over is put into memory."""
        computes = any(isinstance(n, Call) and n.op != "cast" for n in subexpressions(factor.value.element))
        if len(factor.labels) == len(every) or not computes or factor.value.is_window:
            return factor
        if not factor.labels:
            return Factor(ArrayValue((), self.builder.capture(factor.value.element)), ())
        return Factor(whole(self.builder.materialize(factor.value)), factor.labels)

    # -------------------------------------------------------------------------------------------------- BLAS

    def is_blas(self, x: Factor, y: Factor, out: Labels) -> bool:
        """A matrix times a matrix or a vector; of stacks only matrices, as nothing is gained for vectors."""
        both = [one for one in x.labels if one in y.labels]
        lonely_x = [one for one in x.labels if one not in y.labels]
        lonely_y = [one for one in y.labels if one not in x.labels]
        if not is_inexact(self.dtype) or not set(both) - set(out) or not set(lonely_x + lonely_y) <= set(out):
            return False
        return bool(lonely_x and lonely_y) or bool((lonely_x or lonely_y) and not set(both) & set(out))

    def is_small(self, x: Factor, y: Factor, out: Labels) -> bool:
        """Does it take longer to call for a product than to make it?  (Of stacks: of their matrices.)"""
        every = {*x.labels, *y.labels} - (set(x.labels) & set(y.labels) & set(out))
        lengths = [self.lengths[one] for one in every]
        known = [n.value for n in lengths if isinstance(n, Const)]
        return len(known) == len(lengths) and prod(known) <= SMALL

    def blas(self, x: Factor, y: Factor, out: Labels) -> Factor:
        x, y = self.in_order_of_memory(x), self.in_order_of_memory(y)
        if not (set(x.labels) - set(y.labels)) or self.comes_late(x, y, out):
            x, y = y, x
        summed = tuple(one for one in x.labels if one in y.labels and one not in out)
        stack = tuple(one for one in out if one in x.labels and one in y.labels)
        rows = self.free(x, y, out)
        columns = self.free(y, x, out)
        if not columns:
            return self.matrix_vector(x, y, rows, summed)
        own_x = own_y = stack
        if not stack:
            own_y = self.own_stack(y, columns, summed)
            own_x = self.own_stack(x, rows, summed) if not own_y else ()
            stack = own_x or own_y
            rows = tuple(one for one in rows if one not in own_x)
            columns = tuple(one for one in columns if one not in own_y)
        stacked = bool(stack)
        left, is_turned = self.operand(x, own_x, rows, summed, stacked)
        right, is_straight = self.operand(y, own_y, columns, summed, stacked)
        labels = (*stack, *rows, *columns)
        memory = self.builder.allocate("t", self.dtype, tuple(self.lengths[one] for one in labels))
        target = self.merged(memory, (stack, rows, columns) if stacked else (rows, columns))
        self.builder.emit(Library(ROUTINES[is_turned, not is_straight], target, (left, right)))
        return Factor(whole(memory), labels)

    def comes_late(self, x: Factor, y: Factor, out: Labels) -> bool:
        """Do the columns come first in the result?"""
        lonely = [one for one in out if (one in x.labels) != (one in y.labels)]
        return bool(lonely) and lonely[0] in y.labels and set(y.labels) - set(x.labels) != set()

    def free(self, x: Factor, y: Factor, out: Labels) -> Labels:
        """The labels of x alone: as they are in memory, or as they are wanted if it has no memory yet."""
        order = x.labels if x.value.is_window else out
        return tuple(one for one in order if one in x.labels and one not in y.labels)

    def own_stack(self, x: Factor, free: Labels, summed: Labels) -> Labels:
        """Leading axes of a stack of matrices that the other operand has not; () where the free axes are together."""
        lead = x.labels.index(summed[0]) if summed else 0
        together = x.labels[lead : lead + len(summed)] == summed
        return x.labels[:lead] if together and 0 < lead < len(free) else ()

    def matrix_vector(self, x: Factor, y: Factor, rows: Labels, summed: Labels) -> Factor:
        matrix, is_turned = self.operand(x, (), rows, summed, False)
        vector = self.merged(self.builder.in_order(y.turned(summed).value), (summed,))
        memory = self.builder.allocate("t", self.dtype, tuple(self.lengths[one] for one in rows))
        target = self.merged(memory, (rows,))
        self.builder.emit(Library("matvec_t" if is_turned else "matvec", target, (matrix, vector)))
        return Factor(whole(memory), rows)

    def operand(self, factor: Factor, stack: Labels, free: Labels, summed: Labels, stacked: bool) -> tuple[Array, bool]:
        """A matrix or a stack of them, of free by summed labels, or the other way round (True)."""
        is_turned = factor.labels == (*stack, *summed, *free)
        groups = (summed, free) if is_turned else (free, summed)
        value = factor.turned((*stack, *groups[0], *groups[1])).value
        is_matrix = value.ndim == 2 and not stacked
        array = self.builder.in_rows(value) if is_matrix else self.builder.in_order(value)
        return self.merged(array, (stack, *groups) if stacked else groups), is_turned

    def merged(self, array: Array, groups: tuple[Labels, ...]) -> Array:
        """The array with one axis for each group of its labels."""
        if all(len(group) == 1 for group in groups):
            return array
        lengths = iter(array.dims)
        dims = tuple(affine.product(tuple(next(lengths) for _ in group)) for group in groups)
        return self.builder.reshape(array, tuple(self.builder.pin(dim) for dim in dims), "t")

    def in_order_of_memory(self, factor: Factor) -> Factor:
        """A transposed array by the axes that it has in memory: BLAS takes it as it is."""
        value = _unturned(self.builder, factor.value)
        if not value.is_window:
            return factor
        assert isinstance(value.element, Load)
        runs = [run[1] for part in value.element.index if (run := run_of(part)) is not None]
        if len(runs) != value.ndim:
            return factor
        return Factor(value, factor.labels).turned(tuple(factor.labels[axis] for axis in runs))


def _unturned(builder: Builder, value: ArrayValue) -> ArrayValue:
    """The same elements, read from what the array is a transpose of."""
    element = value.element
    while isinstance(element, Load) and element.array.name in builder.transposed:
        base, order = builder.transposed[element.array.name]
        index = [element.index[order.index(k)] for k in range(base.ndim)]
        element = Load(base, tuple(index))
    return ArrayValue(value.dims, element)


ROUTINES: dict[tuple[bool, bool], str] = {
    (False, False): "matmul",
    (False, True): "matmul_nt",
    (True, False): "matmul_tn",
    (True, True): "matmul_tt",
}
