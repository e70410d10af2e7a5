"""Calls into LAPACK, for single matrices and stacks of them.

library("eigh", a)   →   w = empty(n); v = empty(n, n); eigh(w, v, a)
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...ir import affine
from ...ir.expressions import BOOL, FLOAT64, INT64, Call, Const, Expr, Load, part_of
from ...ir.nodes import If, Library, Raise
from ...rules.array import SIGNATURES
from ...rules.compositions.registry import library, unusable
from ..arithmetic import cast_value
from ..array_values import ArrayValue, whole
from ..broadcasting import common_dims, element_under
from ..builder import Builder
from ..values import Scalar, Static, TupleValue, Unusable
from .table import as_array, rule

PIVOTS = np.dtype(np.intc)


def _parts(text: str) -> list[tuple[tuple[str, ...], str]]:
    """(m,n),(n)i → ("m", "n") and ("n",), which is of integers"""
    found = re.findall(r"\(([^)]*)\)([ir]?)", text)
    return [(tuple(filter(None, lengths.split(","))), mark) for lengths, mark in found]


@rule(unusable)
def not_to_be_read(build: Builder, how: Static, *helps: Static) -> Any:
    return Static(Unusable("this", how.value, tuple(text.value for text in helps)))


@rule(library)
def library_call(build: Builder, routine: Static, *arguments: Any) -> Any:
    """What the routine makes; arguments after the arrays are numbers."""
    if routine.value in FAILURES and build.would_catch(np.linalg.LinAlgError):
        _raise_where_it_fails(build, routine.value, arguments[0])
    taken, made = SIGNATURES[routine.value].split("->")
    visible = len(_parts(made.split("|")[0]))
    inputs, outputs = _parts(taken), _parts(made)
    arrays = [as_array(build, value) for value in arguments[: len(inputs)]]
    dtype = np.result_type(*(array.dtype if array.dtype.kind not in "iub" else FLOAT64 for array in arrays))
    dtypes = {"i": PIVOTS, "r": part_of(dtype) if dtype.kind == "c" else dtype, "": dtype}
    lengths: dict[str, Expr] = {}
    for array, (names, _) in zip(arrays, inputs, strict=True):
        for name, dim in zip(names, array.dims[array.ndim - len(names) :], strict=True):
            lengths.setdefault(name, dim)
    if "p" in made:
        lengths["p"] = _least(lengths["m"], lengths["n"])
    ahead = common_dims(build, [a.dims[: a.ndim - len(names)] for a, (names, _) in zip(arrays, inputs, strict=True)])
    given = [
        build.in_order(_stacked(build, cast_value(array, dtype), ahead, len(names)))
        for array, (names, _) in zip(arrays, inputs, strict=True)
    ]
    outs = [
        build.allocate("t", dtypes[mark], (*ahead, *(lengths[k] for k in names)) or (affine.ONE,))
        for names, mark in outputs
    ]
    numbers = tuple(value.expr for value in arguments[len(inputs) :])
    build.emit(Library(routine.value, outs[0], (*given, *numbers), tuple(outs[1:])))
    ndims = [len(ahead) + len(names) for names, _ in outputs]
    results = tuple(
        whole(out) if ndim else Scalar(Load(out, (affine.ZERO,)))
        for out, ndim in zip(outs[:visible], ndims[:visible], strict=True)
    )
    return results[0] if visible == 1 else TupleValue(results)


# What fails, and how that is found without an exception.
FAILURES = {
    "solve": ("is_singular", "Singular matrix"),
    "inv": ("is_singular", "Singular matrix"),
    "cholesky": ("is_indefinite", "Matrix is not positive definite"),
}


def _raise_where_it_fails(build: Builder, routine: str, matrices: Any) -> None:
    test, message = FAILURES[routine]
    found = library_call(build, Static(test), matrices)
    if isinstance(found, Scalar):
        count = found.expr
    else:
        count = build.sum(found.dims, lambda index: found.at(index), found.dtype)
    fails = Call("ne", (count, Const(0, count.dtype)), BOOL)
    build.emit(If(fails, (Raise(np.linalg.LinAlgError.__name__, message),)))


def _least(x: Expr, y: Expr) -> Expr:
    return x if affine.same(x, y) else Call("minimum", (x, y), INT64)


def _stacked(build: Builder, value: ArrayValue, ahead: tuple[Expr, ...], core: int) -> ArrayValue:
    """The array as a stack of matrices with these lengths."""
    own = value.dims[: value.ndim - core]
    if len(own) == len(ahead) and all(map(affine.same, own, ahead)):
        return value
    dims = (*ahead, *value.dims[value.ndim - core :])
    return ArrayValue(dims, element_under(build, value, dims))
