"""NumPy's functions and array methods, each in all its spellings, as calls of what does the work."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, is_inexact
from ...rules.compositions.registry import handed
from ...rules.names import FUNCTIONS, OPERAND_DTYPES, UFUNCS
from ..arithmetic import HALF, cast, cast_value, elementwise, is_out_of_bounds, refuse_half
from ..array_values import ArrayValue, computed
from ..broadcasting import broadcast
from ..builder import Builder
from ..joined_numbers import are_joined
from ..types_that_decide import of_one_type
from ..values import Scalar, Static, TupleValue, static_int
from . import complex_numbers, creation, indexing, masked, reductions, shapes
from .creation_functions import copy
from .table import (
    TABLE,
    Handler,
    absent,
    also_into,
    array_or_number,
    as_array,
    axis_number,
    dtype_of_total,
    dtype_or_none,
    flag,
    rule,
)

# --------------------------------------------------------------------------------------------------- elementwise


def _ufunc(function: Any, op: str) -> Handler:
    def handler(build: Builder, *args: Any, out: Any = None, where: Any = True, dtype: Any = None) -> Any:
        values = [array_or_number(build, value) for value in args]
        if function in OPERAND_DTYPES:
            values = [cast_value(v, _operand_dtype(function, v.dtype)) for v in values]
        wanted = dtype_or_none(build, dtype)
        if wanted is not None:
            for value in values:
                creation.refuse_to_drop(build, value, wanted)
            values = [cast_value(v, wanted) for v in values]
        elif function in WHOLE_BECOME_REAL and values and values[0].dtype.kind in "iub":
            computed = function.resolve_dtypes((values[0].dtype, None))[0]
            if computed == HALF:
                refuse_half(build, function, values)
            values[0] = cast_value(values[0], computed)
        nin = getattr(function, "nin", len(values))
        if len(values) == nin + 1 and out is None:
            *values, out = values
        if op == "sign" and values[0].dtype.kind == "c":
            result = complex_numbers.sign(build, *values)
        else:
            result = elementwise(build, op, values)
        if isinstance(result, ArrayValue) and result.ndim == 0:
            result = Scalar(result.element)
        return also_into(build, out, _only_where(build, where, result, out), core=0)

    return handler


def _only_where(build: Builder, condition: Any, result: Any, out: Any) -> Any:
    """`where=`: elsewhere stays what is in `out`."""
    if condition is True or (isinstance(condition, Scalar) and condition.is_constant and condition.value):
        return result
    if absent(out):
        return build.refuse("where= without out= leaves the other elements undefined", "out=np.zeros_like(x)")
    return where(build, condition, result, out.items[0] if isinstance(out, TupleValue) else out)


def _operand_dtype(function: Any, given: np.dtype) -> np.dtype:
    """Complex operands stay complex: np.float_power computes in double precision."""
    wanted = OPERAND_DTYPES[function]
    return np.result_type(given, wanted) if given.kind == "c" and is_inexact(wanted) else wanted


# A primitive by another name, that makes real numbers of integers in its own way: np.fabs, where abs leaves them so,
# and functions of SciPy, which have no float16.
WHOLE_BECOME_REAL = frozenset(
    f for f, op in FUNCTIONS.items() if isinstance(f, np.ufunc) and f.nin == 1 and f is not UFUNCS[op]
)

for _function, _op in FUNCTIONS.items():
    TABLE[_function] = _ufunc(_function, _op)


def _clipped(build: Builder, op: str, x: Any, bound: Any) -> Any:
    """A bound beyond what the dtype of integers has, at its own side, changes nothing."""
    if is_out_of_bounds(bound, x.dtype) and (bound.value < 0) == (op == "clip_low"):
        return x
    return elementwise(build, op, (x, bound))


@rule(np.clip, method="clip")
def clip(
    build: Builder, x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    low, high = (a if not absent(a) else b for a, b in ((a_min, min), (a_max, max)))
    x = given = array_or_number(build, x)
    if not absent(low):
        x = _clipped(build, "clip_low", x, array_or_number(build, low))
    if not absent(high):
        x = _clipped(build, "clip_high", x, array_or_number(build, high))
    if x is given and absent(out):
        x = copy(build, x)
    return also_into(build, out, x, core=0)


@rule(np.where)
def where(build: Builder, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return TABLE[np.nonzero](build, condition)
    if x is None or y is None:
        return build.refuse("either both or neither of x and y should be given", error=ArgumentError)
    condition, x, y = (array_or_number(build, value) for value in (condition, x, y))
    kinds = [v.dtype if not (isinstance(v, Scalar) and v.weak) else v.dtype.type(0).item() for v in (x, y)]
    dtype = np.result_type(*kinds)
    if condition.dtype != BOOL:
        condition = elementwise(build, "ne", (condition, Scalar(Const(0, INT64), weak=True)), python=True)
    x, y = cast_value(x, dtype), cast_value(y, dtype)
    if all(isinstance(v, Scalar) for v in (condition, x, y)):
        return Scalar(Call("select", (condition.expr, x.expr, y.expr), dtype))
    dims, elements = broadcast(build, [condition, x, y])
    in_order = build.leave_order([condition, x, y])
    return ArrayValue(dims, Call("select", tuple(elements), dtype), in_order=in_order)


@rule(np.round, np.around, method="round")
def round_to(build: Builder, x: Any, decimals: Any = None, out: Any = None) -> Any:
    x = array_or_number(build, x)
    digits = 0 if decimals is None else static_int(decimals)
    is_whole = isinstance(decimals, Scalar) and decimals.dtype.kind in "iu"
    if digits is None and not is_whole:
        build.refuse("the number of decimals must be an integer", error=ArgumentError)
    if x.dtype.kind == "c":
        parts = [round_to(build, part(build, x), decimals) for part in (complex_numbers.real, complex_numbers.imag)]
        return also_into(build, out, complex_numbers.from_parts(build, *parts))
    if x.dtype == BOOL:
        refuse_half(build, np.round, (x,))
    if x.dtype.kind in "iu":
        if digits is None or (digits < 0 and x.dtype.kind != "i"):
            build.refuse("integers are rounded to decimals that are known when f is compiled", "make floats of them")
        return also_into(build, out, copy(build, x) if digits >= 0 else _to_tens(build, x, 10**-digits))
    if digits == 0:
        return also_into(build, out, elementwise(build, "rint", (x,)))
    number = cast(decimals.expr, INT64) if digits is None else Const(digits, INT64)
    if isinstance(x, Scalar):
        return also_into(build, out, Scalar(Call("round_to", (x.expr, number), x.dtype)))
    return also_into(build, out, computed(x, Call("round_to", (x.element, number), x.dtype)))


def _to_tens(build: Builder, x: Any, unit: int) -> Any:
    """The multiple of a power of ten that is nearest to an integer, of two the even one."""
    weak = isinstance(x, Scalar) and x.weak
    step = Scalar(Const(unit, INT64), weak=True)
    rest = elementwise(build, "mod", (x, step), python=True)
    down = elementwise(build, "floordiv", (x, step), python=True)
    odd = elementwise(build, "mod", (down, Scalar(Const(2, INT64), weak=True)), python=True)
    twice = elementwise(build, "mul", (rest, Scalar(Const(2, INT64), weak=True)), python=True)
    up = elementwise(build, "gt", (elementwise(build, "add", (twice, odd), python=True), step), python=True)
    up = where(build, up, Scalar(Const(1, INT64), weak=True), Scalar(Const(0, INT64), weak=True))
    out = elementwise(build, "mul", (elementwise(build, "add", (down, up), python=True), step), python=True)
    return Scalar(out.expr, weak) if isinstance(out, Scalar) else cast_value(out, x.dtype)


@rule(np.square)
def square(build: Builder, x: Any, out: Any = None) -> Any:
    return also_into(build, out, elementwise(build, "square", (array_or_number(build, x),)), core=0)


@rule(handed)
def handed_(build: Builder, x: Any, out: Any) -> Any:
    return also_into(build, out, array_or_number(build, x))


# ---------------------------------------------------------------------------------------------------- reductions


def _reduce(combine: str, kernel: Handler) -> Handler:
    def handler(
        build: Builder,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        a = a if absent(out) else as_array(build, a)
        wanted = dtype_of_total(build, dtype, a, out)
        more = {} if wanted is None else {"dtype": wanted}
        result = masked.reduced(build, kernel, combine, a, axis, flag(keepdims), initial, where, **more)
        return also_into(build, out, result)

    return handler


rule(np.sum, method="sum")(_reduce("add", reductions.total))
rule(np.prod, method="prod")(_reduce("mul", reductions.product))


@rule(np.mean, method="mean")
def mean(
    build: Builder,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = None,
) -> Any:
    a = a if absent(out) else as_array(build, a)
    into = None if absent(out) or a.dtype.kind in "iub" else out  # whole numbers have float64
    wanted = dtype_of_total(build, dtype, a, into)
    return also_into(build, out, masked.mean(build, a, axis, flag(keepdims), where, wanted))


def _extremum(op: str) -> Handler:
    def handler(
        build: Builder,
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        kernel = functools.partial(reductions.extremum, op=op)
        result = masked.reduced(build, kernel, op, a, axis, flag(keepdims), initial, where)
        return also_into(build, out, result)

    return handler


rule(np.max, np.amax, method="max")(_extremum("maximum"))
rule(np.min, np.amin, method="min")(_extremum("minimum"))


def _logical(op: str) -> Handler:
    def handler(
        build: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
    ) -> Any:
        kernel = functools.partial(reductions.logical, op=op)
        truth = cast_value(as_array(build, a), BOOL)
        return also_into(build, out, masked.reduced(build, kernel, op, truth, axis, flag(keepdims), None, where))

    return handler


rule(np.any, method="any")(_logical("or"))
rule(np.all, method="all")(_logical("and"))


@rule(np.argmax, method="argmax")
def argmax(build: Builder, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return also_into(build, out, reductions.place_of_extremum(build, "gt", as_array(build, a), axis, flag(keepdims)))


@rule(np.argmin, method="argmin")
def argmin(build: Builder, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return also_into(build, out, reductions.place_of_extremum(build, "lt", as_array(build, a), axis, flag(keepdims)))


COUNTS_ARE_PYTHONS = type(np.count_nonzero(np.zeros(1))) is int  # in older releases of NumPy


@rule(np.count_nonzero)
def count_nonzero(build: Builder, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    held = cast_value(cast_value(as_array(build, a), BOOL), INT64)
    count = reductions.total(build, held, axis, flag(keepdims))
    return Scalar(count.expr, weak=True) if COUNTS_ARE_PYTHONS and isinstance(count, Scalar) else count


@rule(np.linalg.norm)
def norm(build: Builder, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    return reductions.norm(build, as_array(build, x), None if absent(ord) else ord, axis, flag(keepdims))


# -------------------------------------------------------------------------------------------------------- shapes


@rule(np.flip)
def flip(build: Builder, m: Any, axis: Any = None) -> Any:
    value = as_array(build, m)
    return shapes.flip(value, reductions.axes_of(build, value, axis))


@rule(np.broadcast_to)
def broadcast_to(build: Builder, array: Any, shape: Any) -> Any:
    return shapes.broadcast_to(build, array_or_number(build, array), shape)


@rule(method="astype")
def astype(build: Builder, a: Any, dtype: Any, copy: Any = True) -> Any:
    wanted = creation.dtype_of(build, dtype, None)
    if build.in_composition:
        creation.refuse_to_drop(build, a, wanted)
    if isinstance(a, Scalar):
        return Scalar(cast(a.expr, wanted))
    if are_joined(build, [a]):
        may_be_itself = not flag(copy)
        return of_one_type(build, a, may_be_itself) if wanted == a.dtype else computed(a, cast(a.element, wanted))
    if wanted == a.dtype:
        return shapes.copied(build, a) if flag(copy) else a
    return computed(a, cast(a.element, wanted))


@rule(method="fill")
def fill(build: Builder, a: Any, value: Any) -> Any:
    return indexing.write(build, indexing.memory_of(build, a), value)


@rule(np.finfo, np.iinfo)
def limits(build: Builder, dtype: Any) -> Any:
    wanted = dtype.dtype if isinstance(dtype, (Scalar, ArrayValue)) else creation.dtype_of(build, dtype, None)
    return Static(np.finfo(wanted) if is_inexact(wanted) else np.iinfo(wanted))


@rule(np.copyto)
def copyto(build: Builder, dst: Any, src: Any, casting: Any = None, where: Any = True) -> Any:
    indexing.write(build, indexing.memory_of(build, dst), _only_where(build, where, array_or_number(build, src), dst))
    return Static(None)


@rule(np.shape)
def shape(build: Builder, a: Any) -> Any:
    return TupleValue(tuple(Scalar(dim, weak=True) for dim in as_array(build, a).dims))


@rule(np.size)
def size(build: Builder, a: Any, axis: Any = None) -> Any:
    dims = as_array(build, a).dims
    return Scalar(affine.product(dims) if absent(axis) else dims[axis_number(build, axis)], weak=True)


@rule(np.ndim)
def ndim(build: Builder, a: Any) -> Any:
    return Scalar(affine.integer(as_array(build, a).ndim), weak=True)
