"""np.einsum: its subscripts, as labels of a contraction.

np.einsum("ij,jk", x, y)             →  (i, j), (j, k) → (i, k)
np.einsum(x, [0, ...], y, [0])       →  (0, -1), (0,) → (-1,)          (the ellipsis stands for -1)
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from typing import Any

import numpy as np

from ...errors import ShapeError
from ...ir import affine
from ...ir.expressions import Axis, Expr
from ..array_values import ArrayValue, remap, whole
from ..builder import Builder
from ..values import Scalar, Static, TupleValue, static_int
from .contractions import Labels, contract
from .creation import check_length
from .products import as_values, ndim, seen_through
from .table import also_into, rule

DOTS = "..."


@rule(np.einsum)
def einsum(build: Builder, *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None) -> Any:
    """`optimize` changes nothing: products of more than two arrays are taken in pairs where that saves a loop."""
    if operands and isinstance(operands[0], Static) and isinstance(operands[0].value, str):
        subscripts, wanted = split(build, operands[0].value)
        arrays = operands[1:]
    else:
        arrays = operands[0 : len(operands) // 2 * 2 : 2]
        subscripts = [from_list(build, item) for item in operands[1::2]]
        wanted = from_list(build, operands[-1]) if len(operands) % 2 else None
    values = as_values(build, *arrays, dtype=dtype)
    if len(values) != len(subscripts) or not values:
        build.refuse(f"einsum has {len(subscripts)} lists of subscripts for {len(values)} operands", error=ShapeError)
    result = wanted if wanted is not None else implicit(subscripts)
    labels = [spelt_out(build, one, value) for one, value in zip(subscripts, values, strict=True)]
    depth = max(sum(isinstance(label, int) for label in one) for one in labels)
    target = tuple(label for one in result for label in (range(-depth, 0) if one == DOTS else (one,)))
    check_target(build, target, labels)
    found = contract(build, list(zip(values, labels, strict=True)), target)
    if len(values) == 1 and len(set(labels[0])) == len(target) < len(labels[0]):
        found = diagonal_in_memory(build, values[0], labels[0], target) or seen_through(build, values[0], found)
    elif set(labels[0]) - set(target) and isinstance(found, ArrayValue) and found.is_window:
        found = whole(build.materialize(found, "t", copy=True))  # a sum over an axis of length 1 is no view
    return also_into(build, out, found, core=0)


def diagonal_in_memory(build: Builder, value: Any, labels: Labels, target: Labels) -> ArrayValue | None:
    """The diagonal of an array in C order, which may be written: it has a step of its own, "ii->i" one of n + 1."""
    handle = value.handle if isinstance(value, ArrayValue) else None
    if handle is None or handle.name not in build.contiguous or not build.is_in_order(handle):
        return None
    groups = [(one, [handle.dims[k] for k in places]) for one, places in _runs(labels)]
    if len(groups) != len(target):
        return None
    lengths = [build.pin(affine.product(tuple(dims))) for _, dims in groups]
    index = [_along_diagonal(Axis(target.index(one)), dims) for one, dims in groups]
    firsts = tuple(next(dims[0] for one, dims in groups if one == label) for label in target)
    return remap(whole(build.reshape(handle, tuple(lengths), "flat")), firsts, index)


def _runs(labels: Labels) -> list[tuple[Any, list[int]]]:
    """Neighbours of one label together."""
    return [(one, [k for k, _ in run]) for one, run in groupby(enumerate(labels), key=lambda pair: pair[1])]


def _along_diagonal(place: Expr, dims: list[Expr]) -> Expr:
    """Where the element at (place, place, …) of these axes is in one axis."""
    steps = [affine.product(tuple(dims[k + 1 :])) for k in range(len(dims))]
    return affine.mul(reduce(affine.add, steps), place)


def split(build: Builder, text: str) -> tuple[list[Labels], Labels | None]:
    """ "ij,jk->ik" as labels; None where the result is left to be guessed."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    found = [letters(build, part) for part in inputs.split(",")]
    return found, letters(build, output) if arrow else None


def letters(build: Builder, part: str) -> Labels:
    lead, dots, rest = part.partition(DOTS)
    if not all(letter.isascii() and letter.isalpha() for letter in lead + rest):
        build.refuse(f"invalid subscripts {part!r} in einsum: only letters and one ... are valid", error=ShapeError)
    return (*lead, *((DOTS,) if dots else ()), *rest)


def from_list(build: Builder, value: Any) -> Labels:
    """A list of integers, with an Ellipsis in it perhaps, as letters in their order."""
    if not isinstance(value, TupleValue):
        build.refuse("einsum needs its subscripts as a constant string, or as lists of constant integers")
    out: list[str] = []
    for item in value.items:
        number = static_int(item)
        if isinstance(item, Static) and item.value is Ellipsis:
            out.append(DOTS)
        elif number is None or not 0 <= number < 52:
            build.refuse("the subscripts of einsum are constant integers from 0 to 51", error=ShapeError)
        else:
            out.append(chr(ord("A") + number if number < 26 else ord("a") + number - 26))
    return tuple(out)


def implicit(subscripts: list[Labels]) -> Labels:
    """The ellipsis, then what is there once, in the order of the alphabet."""
    every = [one for labels in subscripts for one in labels]
    once = sorted(one for one in set(every) if one != DOTS and every.count(one) == 1)
    return (*((DOTS,) if DOTS in every else ()), *once)


def spelt_out(build: Builder, labels: Labels, value: Scalar | ArrayValue) -> Labels:
    """Labels for all axes: those of the ellipsis are numbered from the back, so that they broadcast."""
    named = len(labels) - (DOTS in labels)
    hidden = ndim(value) - named
    if hidden < 0 or (hidden and DOTS not in labels):
        text = "".join(labels)
        build.refuse(f"einsum: {text!r} does not fit an operand of dimension {ndim(value)}", error=ShapeError)
    full = tuple(label for one in labels for label in (range(-hidden, 0) if one == DOTS else (one,)))
    for axis, label in enumerate(full):
        first = full.index(label)
        if first < axis and isinstance(value, ArrayValue):  # a diagonal: nothing is stretched for it
            check_length(build, value.dims[first], value.dims[axis])
    return full


def check_target(build: Builder, target: Labels, labels: list[Labels]) -> None:
    every = {one for some in labels for one in some}
    for one in target:
        if one not in every:
            build.refuse(f"einsum: the result includes the subscript {one!r} that no operand has", error=ShapeError)
        if target.count(one) > 1:
            build.refuse(f"einsum: the result includes the subscript {one!r} twice", error=ShapeError)
    if any(isinstance(one, int) for one in every) and not any(isinstance(one, int) for one in target):
        build.refuse("einsum: the result must have the ellipsis too, as its axes are not summed over", error=ShapeError)
