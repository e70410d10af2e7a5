"""Elementwise arithmetic on values: NumPy's promotion (asked of NumPy itself), folding, broadcasting.

x32 * 2.0        →  mul(x32[#0], float32(2.0))
x[:, None] + w   →  add(x[#0], w[#1]) under dims (n, m)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, NoneArgumentError, ShapeError, UnsupportedError, place
from ..ir import affine
from ..ir.expressions import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Array,
    Axis,
    Call,
    Const,
    Expr,
    Load,
    either,
    is_inexact,
    negated,
    part_of,
    select,
)
from ..ir.nodes import Conform, If, Raise, View
from ..ir.types import ScalarType
from ..ir.walk import children, is_constant, loads, rewrite, subexpressions
from ..rules.costs import cost
from ..rules.names import UFUNCS
from .array_values import ArrayValue, computed, whole
from .builder import Builder
from .joined_numbers import (
    are_joined,
    computes_apart,
    of_a_common_source,
    on_each_path,
    refuse_joined,
    several,
    small_types,
    types_of,
)
from .values import Scalar

PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "pos": operator.pos, "abs": abs,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
    "ne": operator.ne, "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
    "max": max, "min": min,
}  # fmt: skip
COMPLEX_NAMES = {"abs": "modulus"}  # what an operation is called where an operand is complex
TAKE_COMPLEX = frozenset((
    "add", "sub", "mul", "div", "neg", "pos", "pow", "square", "reciprocal", "modulus", "phase", "conj", "sqrt", "exp",
    "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh",
    "tanh", "arcsinh", "arccosh", "arctanh", "eq", "ne", "isnan", "isinf", "isfinite",
))  # fmt: skip
HALF = np.dtype(np.float16)  # of integers of 8 bits and bools; Numba has no arithmetic in it
NOT_CHEAP = 4  # additions: a quotient, and what takes longer
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def cast(expr: Expr, dtype: np.dtype) -> Expr:
    """The value in another dtype; constants change theirs on the spot."""
    if expr.dtype == dtype:
        return expr
    if expr.dtype.kind == "c" and dtype.kind in "fiu":  # NumPy drops the imaginary part
        return cast(real_part(expr), dtype)
    if isinstance(expr, Const):
        with np.errstate(over="ignore"):  # best = -1e300, beside float32
            return Const(np.asarray(expr.value).astype(dtype).item(), dtype)
    return Call("cast", (expr,), dtype)


def real_part(expr: Expr) -> Expr:
    part = part_of(expr.dtype)
    return Const(expr.value.real, part) if isinstance(expr, Const) else Call("real", (expr,), part)


def imaginary_part(expr: Expr) -> Expr:
    part = part_of(expr.dtype)
    return Const(expr.value.imag, part) if isinstance(expr, Const) else Call("imag", (expr,), part)


def cast_value(value: Any, dtype: np.dtype) -> Any:
    if isinstance(value, Scalar):
        return Scalar(cast(value.expr, dtype))
    return computed(value, cast(value.element, dtype))


PYTHON_KINDS: dict[str, type] = {"i": int, "u": int, "f": float, "c": complex}


def _kind(value: Any) -> Any:
    """What NumPy's promotion takes for an operand: a dtype, or a Python type for Python numbers."""
    if isinstance(value, Scalar) and value.weak and value.dtype != BOOL:
        return PYTHON_KINDS[value.dtype.kind]
    return value.dtype


def loop_dtypes(builder: Builder, op: str, values: Sequence[Any], python: bool) -> tuple[np.dtype, ...]:
    """The dtypes that NumPy computes in: one per operand, the result's last."""
    if python and all(isinstance(v, Scalar) and v.weak for v in values):
        if op in COMPARISONS:
            common = np.result_type(*(v.dtype for v in values))
            return (*[common] * len(values), BOOL)
        common = np.result_type(INT64, *(v.dtype for v in values))  # True + True is 2
        if op in ("bitand", "bitor", "bitxor") and all(v.dtype == BOOL for v in values):
            common = BOOL
        if op in ("bitand", "bitor", "bitxor", "invert", "lshift", "rshift") and common.kind not in "iub":
            builder.refuse(f"{UFUNCS[op].__name__} takes integers, not {common}", error=ArgumentError)
        if op == "div":
            common = np.result_type(FLOAT64, common)
        if op == "modulus":
            return (common, FLOAT64)
        return (common,) * (len(values) + 1)
    if op in COMPARISONS and any(isinstance(v, Scalar) and v.weak and not v.is_constant for v in values):
        if all(v.dtype.kind in "iu" and v.dtype != np.dtype(np.uint64) for v in values):
            return (INT64,) * len(values) + (BOOL,)  # NumPy compares what the integer is, in whatever dtype
    ufunc = UFUNCS[op]
    kinds = [v.dtype if all(isinstance(u, Scalar) and u.weak for u in values) else _kind(v) for v in values]
    try:
        return ufunc.resolve_dtypes((*kinds, None))
    except TypeError:
        names = " and ".join(str(v.dtype) for v in values)
        return builder.refuse(f"NumPy's {ufunc.__name__} does not take {names}", error=ArgumentError)
    except OverflowError as problem:
        return builder.refuse(str(problem), error=ArgumentError)


def elementwise(builder: Builder, op: str, values: Sequence[Any], *, python: bool = False) -> Any:
    """A primitive on scalars and arrays.  `python`: written as an operator, so Python numbers stay Python numbers."""
    for value in values:
        if not isinstance(value, (Scalar, ArrayValue)):
            what = type(getattr(value, "value", value)).__name__
            error = {"str": ArgumentError, "NoneType": NoneArgumentError}.get(what, UnsupportedError)
            if op in ("eq", "ne"):  # of None and an array: NumPy has an answer
                error = UnsupportedError
            builder.refuse(f"{op} needs numbers or arrays, not {what}", "pass a number or an array", error=error)
    if any(value.dtype.kind == "c" for value in values):
        op = COMPLEX_NAMES.get(op, op)
        if op not in TAKE_COMPLEX:
            builder.refuse(
                f"{op} does not take complex numbers", "take the real part, z.real, or abs(z)", error=ArgumentError
            )
    dtypes = loop_dtypes(builder, op, values, python)
    if HALF in dtypes and dtypes[-1] == BOOL:  # signbit: float32 tells the same
        dtypes = tuple(FLOAT32 if dtype == HALF else dtype for dtype in dtypes)
    if HALF in dtypes:
        refuse_half(builder, UFUNCS[op], values)
    if any(dtype.kind not in "fciub" for dtype in dtypes):
        supported = "float32, float64, complex64, complex128, integers and bool are supported"
        builder.refuse(f"{op} on these operands has dtype {dtypes[-1]}", supported)
    if op == "pow" and python and _is_root(values, dtypes[-1]):
        op, values, dtypes = "sqrt", values[:1], (dtypes[0], dtypes[-1])
    weak, types = python and are_pythons(values), frozenset[ScalarType]()
    if are_joined(builder, values):
        types = _types_of_result(builder, op, values, python, ScalarType(dtypes[-1], weak))
    if all(isinstance(v, Scalar) and v.is_constant for v in values):  # ahead of bounds: Python's numbers have none
        folded = _fold(op, values, dtypes, weak)
        if folded is not None:
            return folded
    outside = [is_out_of_bounds(v, d) for v, d in zip(values, dtypes, strict=False)]
    if any(outside) and op not in COMPARISONS:
        number, dtype = next((v.value, d) for v, d, is_out in zip(values, dtypes, outside, strict=False) if is_out)
        builder.refuse(f"Python integer {number} out of bounds for {dtype}", error=ArgumentError)
    if any(outside):  # every number of that dtype compares as 0 does
        same = Const(PYTHON[op](*(v.value if o else 0 for v, o in zip(values, outside, strict=False))), BOOL)
        dims, _ = broadcast(builder, list(values))
        return ArrayValue(dims, same) if dims else Scalar(same)
    if all(isinstance(v, Scalar) for v in values):
        args = tuple(cast(v.expr, d) for v, d in zip(values, dtypes, strict=False))
        return Scalar(_exact(op, args, dtypes[-1]), weak, types)
    dims, elements = broadcast(builder, list(values))
    args = tuple(cast(e, d) for e, d in zip(elements, dtypes, strict=False))
    if not dims:  # NumPy makes a scalar of a 0-d result
        for value in values:
            if isinstance(value, ArrayValue):
                builder.check_fresh(value.element)
        return Scalar(_exact(op, args, dtypes[-1]), types=types)
    element = _exact(op, args, dtypes[-1])
    if isinstance(element, Load):  # k * 1 is no other name for k
        element = Call("pos", (element,), element.dtype)
    return ArrayValue(dims, element, types=types, in_order=len(dims) < 2 or builder.leave_order(values))


def _types_of_result(
    builder: Builder, op: str, values: Sequence[Any], python: bool, made: ScalarType
) -> frozenset[ScalarType]:
    """The types of the result on different paths; refused where it is another number in each (see `joined_numbers`)."""
    given = [kind for v in values if len(types_of(builder, v)) > 1 for kind in types_of(builder, v)]
    small = small_types(given)
    found = {made} if small and made.dtype.kind in "iu" else set()

    def dtype_of(operands: Sequence[Any]) -> np.dtype:
        try:
            return loop_dtypes(builder, op, operands, python)[-1]
        except ArgumentError:  # NumPy subtracts no bools: nobody goes on there
            if builder.watches or builder.in_composition:  # np.diff of bools asks which are not equal
                raise
            return made.dtype

    for operands in on_each_path(builder, values):
        found.add(ScalarType(dtype_of(operands), python and are_pythons(operands)))
    are_apart = len({kind.dtype for kind in found}) > 1 and HALF in {kind.dtype for kind in found}
    if are_apart or computes_apart(op, values, found):
        joined = [v for v in values if len(types_of(builder, v)) > 1]
        because = f"{UFUNCS[op].__name__} gives another number in {{}}"
        refuse_joined(builder, given, because, is_array=isinstance(joined[0], ArrayValue))
    return of_a_common_source(builder, values, several(frozenset(found)), dtype_of)


def _is_root(values: Sequence[Any], dtype: np.dtype) -> bool:
    """x**0.5 of an array x: np.sqrt, which is another number than the power of -inf and of -0."""
    base, exponent = values
    is_half = isinstance(exponent, Scalar) and exponent.is_constant and exponent.value == 0.5
    return is_half and isinstance(base, ArrayValue) and dtype.kind == "f"


def are_pythons(operands: Sequence[Any]) -> bool:
    """Is what an operator makes of them a number of Python's?"""
    if not all(isinstance(value, Scalar) for value in operands):
        return False
    if len(operands) == 2 and operands[0].weak and operands[0].dtype.kind == "c":
        return operands[1].weak or operands[1].dtype == FLOAT64  # NumPy's float64 is one of Python's floats
    return all(value.weak for value in operands)


def refuse_half(builder: Builder, ufunc: Any, values: Sequence[Any]) -> None:
    names = " and ".join(dict.fromkeys(str(v.dtype) for v in values))
    help = "convert the operands:  x.astype(float), or np.float64(x) of a number"
    builder.refuse(f"NumPy computes {ufunc.__name__} of {names} in float16, which is not supported", help)


def is_out_of_bounds(value: Any, dtype: np.dtype) -> bool:
    """Is it a Python integer that this dtype of integers does not have?"""
    if not isinstance(value, Scalar) or not value.is_constant or not value.weak or dtype.kind not in "iu":
        return False
    return value.dtype.kind == "i" and not np.iinfo(dtype).min <= value.value <= np.iinfo(dtype).max


def _exact(op: str, args: tuple[Expr, ...], dtype: np.dtype) -> Expr:
    if op in ("add", "sub", "mul", "neg", "maximum", "minimum") and dtype == INT64:
        return affine.normal(Call(op, args, dtype)) if op in ("add", "sub", "neg", "mul") else Call(op, args, dtype)
    return Call(op, args, dtype)


def _fold(op: str, values: Sequence[Any], dtypes: tuple[np.dtype, ...], weak: bool) -> Scalar | None:
    try:
        with np.errstate(all="ignore"):
            if weak:
                result: Any = PYTHON[op](*(v.value for v in values))
            else:
                result = UFUNCS[op](*(d.type(v.value) for v, d in zip(values, dtypes, strict=False)))
    except (ArithmeticError, ValueError, KeyError, TypeError, OverflowError):
        return None
    dtype = np.asarray(result).dtype
    if dtype.kind not in "fciub" or (dtype.kind in "iu" and not -(2**63) <= int(result) < 2**63):
        return None
    plain = result.item() if isinstance(result, np.generic) else result
    return Scalar(Const(plain, dtype if not weak or dtype != dtypes[-1] else dtypes[-1]), weak)


# ------------------------------------------------------------------------------------------------ broadcasting


def broadcast(builder: Builder, values: Sequence[Any]) -> tuple[tuple[Expr, ...], list[Expr]]:
    """The common dims, and every operand's element under them.

    An axis that is known to be 1 is stretched; equal symbolic lengths are equal; where the lengths may differ, the
    operand conforms at run time: it is itself where its shape fits, and a stretched copy where an axis turns out as 1.
    (In an adjoint that is differentiated itself it is read where it lies: what memory a name is has to be known there.)
    """
    arrays = [v for v in values if isinstance(v, ArrayValue)]
    dims = common_dims(builder, [a.dims for a in arrays])
    return dims, [element_under(builder, _once(builder, v, dims), dims) for v in values]


def _once(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Any:
    """What is not cheap, and is stretched to more rows, is computed for one of them: x * np.sin(w).

    (Of what is stretched along rows, the loop along a row computes nothing again.)
    """
    if not isinstance(value, ArrayValue) or isinstance(value.element, Load) or builder.for_kernels or builder.again:
        return value
    own = (*((affine.ONE,) * (len(dims) - value.ndim)), *value.dims)
    varies = [axis for axis, length in enumerate(own) if not is_constant(length, 1)]
    stretched = (a for a, n in enumerate(dims) if is_constant(own[a], 1) and not is_constant(n, 1))
    if not any(axis < other for axis in stretched for other in varies):
        return value
    return builder.kept(value) if any(map(_is_not_cheap, subexpressions(value.element))) else value


def _is_not_cheap(node: Expr) -> bool:
    """(A quotient by one number is a product, in the sweep.)"""
    if not (isinstance(node, Call) and is_inexact(node.dtype) and cost(node) >= NOT_CHEAP):
        return False
    return node.op != "div" or reads_axes(node.args[1])


def common_dims(builder: Builder, shapes: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    ndim = max((len(shape) for shape in shapes), default=0)
    out: list[Expr] = []
    for axis in range(-ndim, 0):
        lengths = [shape[axis] for shape in shapes if len(shape) >= -axis]
        out.append(common_length(builder, lengths, shapes))
    return tuple(out)


def common_length(builder: Builder, lengths: list[Expr], shapes: Sequence[tuple[Expr, ...]]) -> Expr:
    length: Expr = affine.ONE
    for other in lengths:
        if affine.same(length, other) or is_constant(other, 1):
            continue
        if is_constant(length, 1):
            length = other
            continue
        gap = affine.difference(length, other)
        if gap is not None and isinstance(length, Const) and isinstance(other, Const):
            texts = " and ".join(shape_text(shape) for shape in shapes)
            builder.refuse(f"operands of shapes {texts} can't be broadcast together", error=ShapeError)
        length = _guarded_length(builder, length, other)
    return length


def _guarded_length(builder: Builder, x: Expr, y: Expr) -> Expr:
    """The common length of two axes that may differ: one of them is then 1, or it is an error."""
    if not builder.stretch:
        return equal_length(builder, x, y)
    if isinstance(x, Const) and x.value != 1:
        x, y = y, x
    if isinstance(y, Const):  # the other one is this, or 1
        return _checked(builder, x, y, affine.equals(x, affine.ONE), y)
    x, y = builder.pin(x), builder.pin(y)
    parts_x, parts_y = builder.length_parts.get(x, {x}), builder.length_parts.get(y, {y})
    if parts_y <= parts_x or parts_x <= parts_y:  # one was made of the other, and compared with it then
        return x if parts_y <= parts_x else y
    single = either(affine.equals(x, affine.ONE), affine.equals(y, affine.ONE))
    parts = frozenset(parts_x | parts_y)
    if parts not in builder.common_lengths:
        length = Call("select", (affine.equals(x, affine.ONE), y, x), INT64)
        early = builder.is_known_at_entry(x) and builder.is_known_at_entry(y)
        var = builder.at_entry("n", length) if early else builder.variable("n", length)
        builder.pinned.add(var)
        builder.lower[var] = 0
        builder.length_parts[var] = parts
        if not (early or builder.is_top_level):
            return _checked(builder, x, y, single, var)
        builder.common_lengths[parts] = var
    return _checked(builder, x, y, single, builder.common_lengths[parts])


def equal_length(builder: Builder, x: Expr, y: Expr) -> Expr:
    """The common length, where a length of 1 that would have to be stretched is not expected."""
    x, y = builder.pin(x), builder.pin(y)
    if not are_equal(builder, x, y):
        builder.compatible.add(frozenset((x, y)))
        builder.equal_lengths = True
        builder.taken_as_equal.append((x, y))
        message = "lengths {} and {} do not broadcast together" + place(builder.span)
        builder.emit(If(Call("ne", (x, y), BOOL), (Raise("BroadcastError", message, (x, y)),)))
    return y if isinstance(y, Const) else x


def are_equal(builder: Builder, x: Expr, y: Expr) -> bool:
    """Are two lengths the same, as written or by what was checked on the way here?"""
    if affine.same(x, y):
        return True
    if builder.stretch:
        return False
    seen, work = {x}, [x]
    while work:
        length = work.pop()
        for pair in builder.compatible:
            if length in pair:
                for other in pair - seen:
                    if affine.same(other, y):
                        return True
                    seen.add(other)
                    work.append(other)
    return False


def _checked(builder: Builder, x: Expr, y: Expr, single: Expr, length: Expr) -> Expr:
    """The length, behind a guard that the two fit (unless that was checked on the way here)."""
    key = frozenset((x, y))
    if key not in builder.compatible:
        builder.compatible.add(key)
        fits = either(affine.equals(x, y), single)
        message = "lengths {} and {} do not broadcast together" + place(builder.span)
        builder.emit(If(negated(fits), (Raise("BroadcastError", message, (x, y)),)))
    return length


def check_fits(builder: Builder, dims: tuple[Expr, ...], wanted: tuple[Expr, ...], *, stretch: bool = False) -> None:
    """An array of the first shape spreads to the second: each length is the same, or 1 (which `stretch` expects)."""
    if len(dims) > len(wanted):
        builder.refuse(misfit(dims, wanted), error=ShapeError)
    for length, target in zip(reversed(dims), reversed(wanted), strict=False):
        if affine.same(length, target) or is_constant(length, 1):
            continue
        if isinstance(length, Const) and isinstance(target, Const):
            builder.refuse(misfit(dims, wanted), error=ShapeError)
        if not (builder.stretch or stretch):
            equal_length(builder, length, target)
            continue
        fits = either(affine.equals(length, target), affine.equals(length, affine.ONE))
        message = "an axis of length {} does not fit into one of length {}" + place(builder.span)
        builder.emit(If(negated(fits), (Raise("BroadcastError", message, (length, target)),)))


def misfit(dims: tuple[Expr, ...], wanted: tuple[Expr, ...]) -> str:
    return f"could not broadcast an array of shape {shape_text(dims)} into shape {shape_text(wanted)}"


def element_that_fits(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Expr:
    """The element of a value at (#0, #1, …) of a shape that is given, if it fits there."""
    if isinstance(value, ArrayValue):
        check_fits(builder, value.dims, dims)
    return element_under(builder, value, dims)


def element_under(builder: Builder, value: Any, dims: tuple[Expr, ...]) -> Expr:
    """The element of a value at (#0, #1, …) of a broadcast shape."""
    if isinstance(value, Scalar):
        return value.expr
    offset = len(dims) - value.ndim
    index: list[Expr] = []
    conforms = True
    for axis, length in enumerate(value.dims):
        if are_equal(builder, builder.pin(length), dims[axis + offset]):
            index.append(Axis(axis + offset))
        elif is_constant(length, 1):
            index.append(affine.ZERO)
        elif builder.again:
            index.append(select(affine.equals(length, affine.ONE), affine.ZERO, Axis(axis + offset)))
        else:
            conforms = False
            index.append(Axis(axis + offset))
    if conforms:
        return value.at(index)
    return _conform(builder, value, dims[offset:]).at([Axis(axis + offset) for axis in range(value.ndim)])


def _conform(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...]) -> ArrayValue:
    if not value.is_window and (leafwise := _conform_leaves(builder, value, dims)) is not None:
        return leafwise
    base = builder.in_order(value) if value.is_window else builder.materialize(value)
    key = (base, dims)
    early = builder.conforms_at_entry(base, dims)
    if (early or builder.is_top_level) and key in builder.conformed:
        return whole(builder.conformed[key])
    array = Array(builder.names.fresh(base.name), base.dtype, dims)
    view = View(array, base, Conform(dims))
    if early:  # an argument that is never written: once for all
        builder.prologue.append(view)
    else:
        builder.emit(view)
    builder.roots[array.name] = builder.root(base)
    builder.stretched[array.name] = base
    if early or builder.is_top_level:
        builder.conformed[key] = array
    return whole(array)


def shown_as(builder: Builder, dims: tuple[Expr, ...], element: Expr) -> ArrayValue:
    """An operand in a broadcast shape, handed out: a view in NumPy, and here a copy where an axis is stretched."""
    match element:
        case Load(array=Array(name=name), index=index) if name in builder.stretched:
            base = builder.stretched[name]
            array = Array(builder.names.fresh(base.name), base.dtype, element.array.dims)
            builder.emit(View(array, base, Conform(array.dims)))
            builder.roots[array.name] = array.name
            builder.twin(array, base)
            return ArrayValue(dims, Load(array, index))
    return ArrayValue(dims, element)


def _conform_leaves(builder: Builder, value: ArrayValue, dims: tuple[Expr, ...]) -> ArrayValue | None:
    """An expression conforms when the arrays in it do, if each is read by plain axes; no temporary is needed then."""
    odd = {k for k, (x, y) in enumerate(zip(value.dims, dims, strict=False)) if not affine.same(x, y)}
    changed: dict[Expr, Expr] = {}
    for load in loads(value.element):
        if not all(isinstance(part, Axis) or not reads_axes(part) for part in load.index):
            return None
        along = [part.number if isinstance(part, Axis) else None for part in load.index]
        if odd & set(along):
            whole_axes = all(
                k is not None and affine.same(n, value.dims[k]) for k, n in zip(along, load.array.dims, strict=False)
            )
            if not whole_axes:
                return None
            part_dims = tuple(dims[k] for k in along)  # type: ignore[index]
            conformed = _conform(builder, whole(load.array), part_dims)
            changed[load] = conformed.at(load.index)
    if any(isinstance(n, Axis) and n.number in odd for n in _outside_loads(value.element)):
        return None  # an arange: the index itself is the value
    return ArrayValue(dims, rewrite(value.element, lambda node: changed.get(node, node)))


def _outside_loads(expr: Expr) -> list[Expr]:
    if isinstance(expr, Load):
        return []
    return [expr, *(node for part in children(expr) for node in _outside_loads(part))]


def shape_text(dims: Sequence[Expr]) -> str:
    parts = [str(d.value) if isinstance(d, Const) else "?" for d in dims]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def reads_axes(expr: Expr) -> bool:
    return any(isinstance(node, Axis) for node in subexpressions(expr))
