"""Arrays of None, as attributes are until there are numbers: of one the shape is known, and that is all.

self.z = np.array([[None] * 2]).T    →    Static(ArrayOfNone(shape=(2, 1))), whose reading is refused
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .builder import Builder
from .values import NONE, ArrayOfNone, Bound, Static, TupleValue, constant

# What asks for its shape alone, or makes another one.
METHODS = {name: getattr(np.ndarray, name) for name in ("copy", "reshape", "transpose", "squeeze", "flatten", "ravel")}
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    np.copy, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.reshape, np.transpose, np.squeeze, np.shape, np.ndim,
    np.size, copy.copy, copy.deepcopy, len, *METHODS.values(),
)  # fmt: skip


def is_one(value: Any) -> bool:
    return isinstance(value, Static) and isinstance(value.value, ArrayOfNone)


def is_taken_by(function: Any) -> bool:
    return isinstance(function, Static) and any(function.value is f for f in FUNCTIONS)


def attribute(owner: Static, name: str) -> Any | None:
    if name in METHODS:
        return Bound(METHODS[name], (owner,))
    return _as_value(getattr(_as_it_would_be(owner), name)) if name in ("T", "shape", "ndim", "size") else None


def item(build: Builder, owner: Static, index: Any) -> Any:
    return called(build, np.ndarray.__getitem__, owner, index)


def called(build: Builder, function: Callable[..., Any], owner: Static, *rest: Any) -> Any:
    try:
        return _as_value(function(_as_it_would_be(owner), *rest))
    except Exception:  # of what is only known in a run
        return build.refuse_unusable(owner)


def made_of(value: Any) -> Any | None:
    """np.array of a list, where it is one of None."""
    shape = _shape_of(value)
    return Static(ArrayOfNone.of(shape)) if shape else None


def _shape_of(value: Any) -> tuple[int, ...] | None:
    if value == NONE:
        return ()
    if not isinstance(value, TupleValue) or value.kind not in (tuple, list):
        return None
    shapes = {_shape_of(item) for item in value.items}
    (shape,) = shapes if len(shapes) == 1 else (None,)
    return None if shape is None else (len(value.items), *shape)


def _as_it_would_be(owner: Static) -> Any:
    return np.full(owner.value.shape, None)


def _as_value(made: Any) -> Any:
    return Static(ArrayOfNone.of(made.shape)) if isinstance(made, np.ndarray) else constant(made)
