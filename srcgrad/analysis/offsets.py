"""How far the elements are that iterations add to: which is the least and the greatest of them.

(-w, -1, 1, w)  →  min(-1, -w), max(1, w); of a w that is a length, and so is not negative, -w is not more than w
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from ..ir import affine
from ..ir.expressions import Const, Expr

Offset = tuple[Expr, ...]  # along each loop of a nest; on a GPU of any numbers that are the same in all iterations


def least_of(offsets: Iterable[Offset]) -> list[Expr]:
    return [reduce(affine.minimum, _ends(along, least=True)) for along in zip(*offsets, strict=True)]


def most_of(offsets: Iterable[Offset]) -> list[Expr]:
    return [reduce(affine.maximum, _ends(along, least=False)) for along in zip(*offsets, strict=True)]


def _ends(along: Iterable[Expr], least: bool) -> list[Expr]:
    """Those of which one is the end: none that another one is known to lie beyond."""
    each = list(dict.fromkeys(along))
    is_beyond = lambda x, y: affine.is_at_least(affine.sub(y, x) if least else affine.sub(x, y), 0)
    return [y for y in each if not any(x is not y and is_beyond(x, y) for x in each)]


def in_strides(far: Expr, stride: int) -> tuple[Expr, int]:
    """How many strides that is, and what is left."""
    if not isinstance(far, Const):
        return far, 0
    strides, left = divmod(int(far.value), stride)
    return affine.integer(strides), left


__all__ = ["Offset", "in_strides", "least_of", "most_of"]
