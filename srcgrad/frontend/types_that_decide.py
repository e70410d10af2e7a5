"""Where the type of a number decides what is computed, and it has one by each path: refused there, and nowhere else.

n = 1                     n * x[0], np.array([n, 0.5])    →    the same on both paths
if c: n = 0.5             isinstance(n, int), a = np.array([n, 2]); a[0] = 2.7, x[n] of True and 2    →    refused
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import place
from ..ir.expressions import BOOL, FLOAT64, INT64, Array, Const, Load, is_inexact
from ..ir.nodes import If, Raise
from ..ir.types import ScalarType
from .arithmetic import PYTHON_KINDS, loop_dtypes
from .array_values import ArrayValue, whole
from .builder import Builder
from .joined_numbers import (
    are_joined,
    bound_of,
    narrow_if,
    of_a_common_source,
    on_each_path,
    rank,
    refuse_joined,
    source_of,
    types_of,
)
from .values import Scalar, Static, Template, TupleValue

MOST_PATHS = 256  # of a function's arguments, asked one by one
SUMS = ("sum", "prod", "cumsum", "cumprod", "trace")  # of bools these are whole numbers
OF_ONE_TYPE = frozenset((  # whatever the type of the arguments is
    "linspace", "logspace", "geomspace", "mean", "average", "median", "std", "var", "interp", "astype", "argmax",
    "argmin", "argsort", "nonzero", "flatnonzero", "searchsorted", "count_nonzero", "digitize", "lexsort", "any", "all",
))  # fmt: skip
OF_THEIR_TYPE = frozenset((  # of the common type of the arguments, on every path: what else there is may be of floats
    "sort", "sum", "prod", "cumsum", "cumprod", "trace", "max", "min", "amax", "amin", "clip", "where", "copy", "ravel",
    "reshape", "flatten", "transpose", "roll", "flip", "fliplr", "flipud", "rot90", "concatenate", "append", "stack",
    "hstack", "vstack", "repeat", "tile", "diff", "outer", "dot", "matmul", "zeros_like", "ones_like", "full_like",
))  # fmt: skip
BESIDE_PLACES = frozenset((  # what else is given says where, or how often
    "sum", "prod", "cumsum", "cumprod", "trace", "sort", "reshape", "roll", "flip", "rot90", "repeat", "tile", "diff",
    "expand_dims", "squeeze", "swapaxes", "moveaxis", "rollaxis", "transpose", "take", "delete", "broadcast_to", "diag",
    "triu", "tril", "zeros_like", "ones_like", "resize", "split", "array_split", "take_along_axis", "around", "round",
))  # fmt: skip
AS_THE_FIRST = ("full_like", "insert", "pad")  # whose other arguments are cut to its type
MAY_BE_WHOLE = (
    "an array may be of whole numbers here, to which what is put there would be cut: the list it is made of is so "
    "short that it may have no float in it: make it of floats, np.array(ys, dtype=float), or let the list begin by 0.0"
)
CUT = "what is put there is made one of {}"
FLOATING_MODULES = ("numpy.linalg", "numpy.fft", "numpy.random", "scipy")
ARRANGED = frozenset((  # what these functions in there make is of the type of what they are given
    "fftshift", "ifftshift", "toeplitz", "circulant", "hankel", "block_diag", "convolution_matrix", "convolve",
    "correlate", "convolve2d", "correlate2d", "medfilt", "order_filter", "matrix_power", "multi_dot",
    "matrix_transpose", "diagonal", "trace", "outer", "matmul", "cross", "tensordot", "vecdot",
))  # fmt: skip


def refuse_types(builder: Builder, value: Scalar | ArrayValue, because: str) -> None:
    """Where a value has a type by each path, and what follows is not the same for them."""
    types = types_of(builder, value)
    if len({(kind.dtype, kind.weak) for kind in types}) > 1:
        refuse_joined(builder, types, because, is_array=isinstance(value, ArrayValue))


def check_asked(builder: Builder, values: Iterable[Any]) -> None:
    """Of what type is it?  (Our own rules may ask that: what they make is taken to have all types that it may have.)"""
    for value in () if builder.in_composition else values:
        if isinstance(value, (Scalar, ArrayValue)):
            refuse_types(builder, value, "what is asked here is another thing for {}")


def same_answer(builder: Builder, value: Any, ask: Callable[[Any], Any]) -> Any:
    """What is said of a value of its type, on whatever path."""
    if not isinstance(value, (Scalar, ArrayValue)) or not are_joined(builder, [value]):
        return ask(value)
    answers = [ask(on_path) for (on_path,) in on_each_path(builder, [value])]
    if any(type(answer) is not type(answers[0]) or answer != answers[0] for answer in answers):
        because = "what is asked here has another answer for {}"
        refuse_joined(builder, types_of(builder, value), because, is_array=isinstance(value, ArrayValue))
    return answers[0]


# ---------------------------------------------------------------------------------------------- what is made of them


def types_of_array(builder: Builder, parts: Sequence[Any]) -> frozenset[ScalarType]:
    """The types that an array of these has on the different paths, if there are several."""
    if not are_joined(builder, parts):
        return frozenset()
    dtype_of = lambda on_path: np.result_type(*(part.dtype for part in on_path))
    types = frozenset(ScalarType(dtype_of(on_path)) for on_path in _paths(builder, parts))
    return of_a_common_source(builder, parts, types, dtype_of)


def _paths(builder: Builder, values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Each path, or, where there are too many, those of the narrowest and of the widest type of each."""
    if np.prod([float(len(types_of(builder, value))) for value in values]) <= MOST_PATHS:
        yield from on_each_path(builder, values)
        return
    for end in (min, max):
        yield [end((on_path for (on_path,) in on_each_path(builder, [v])), key=_width) for v in values]


def _width(value: Any) -> tuple[int, int]:
    return rank(ScalarType(value.dtype)), value.dtype.itemsize


def note_results(builder: Builder, name: str, module: str, given: Iterable[Any], made: Any) -> Any:
    """What a function makes of numbers or arrays that have a type by each path has one, too."""
    given = list(given)
    if any(isinstance(value, Static) and isinstance(value.value, (type, np.dtype)) for value in given):
        return made  # it is told of what type
    given = given[:2][-1:] if name == "full" else given[:1] if name in BESIDE_PLACES else given
    numbers = [leaf for value in given for leaf in _leaves(value)]
    if name in AS_THE_FIRST and are_joined(builder, numbers[:1]):
        for other in numbers[1:]:
            if max(map(rank, types_of(builder, other))) > min(map(rank, types_of(builder, numbers[0]))):
                refuse_joined(builder, types_of(builder, numbers[0]), CUT, is_array=True)
        numbers = numbers[:1]
    is_floating = module.startswith(FLOATING_MODULES) and name not in ARRANGED
    if not are_joined(builder, numbers) or name in OF_ONE_TYPE or is_floating:
        return made

    def dtype_of(on_path: Sequence[Any]) -> np.dtype:
        dtype = np.result_type(*map(_operand, on_path))
        return np.result_type(dtype, INT64) if dtype == BOOL and name in SUMS else dtype

    types = frozenset(ScalarType(dtype_of(on_path)) for on_path in _paths(builder, numbers))
    types = of_a_common_source(builder, numbers, types, dtype_of) if name in OF_THEIR_TYPE else types
    return _with_types(builder, made, types) if len(types) > 1 else made


def of_one_type(builder: Builder, value: ArrayValue, may_be_itself: bool = True) -> ArrayValue:
    """It is made one of the wider type on all paths: another array on some of them, and perhaps itself on one."""
    own = builder.materialize(value, copy=True)
    builder.types.pop(own.name, None)
    if may_be_itself and isinstance(value.element, Load):
        builder.twin(own, value.element.array)
    return whole(own)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, TupleValue):
        if not value.items:
            yield Scalar(Const(0.0, FLOAT64))  # what np.array([]) is of
        for item in value.items:
            yield from (
                Scalar(leaf.expr, types=leaf.types) if isinstance(leaf, Scalar) else leaf for leaf in _leaves(item)
            )
    elif isinstance(value, (Scalar, ArrayValue)):
        yield value


def _operand(value: Any) -> Any:
    weak = isinstance(value, Scalar) and value.weak and value.dtype != BOOL
    return PYTHON_KINDS[value.dtype.kind](0) if weak else value.dtype


def _with_types(builder: Builder, made: Any, types: frozenset[ScalarType]) -> Any:
    if isinstance(made, TupleValue):
        return TupleValue(tuple(_with_types(builder, item, types) for item in made.items), made.kind, made.identity)
    is_of_these = isinstance(made, (Scalar, ArrayValue)) and made.dtype == np.result_type(*(t.dtype for t in types))
    if not is_of_these or len(types_of(builder, made)) > 1:
        return made
    if isinstance(made, Scalar):
        return Scalar(made.expr, made.weak, types)
    if isinstance(made.element, Load):
        builder.note_types(made.element.array, types)
        return made
    return replace(made, types=types)


# ------------------------------------------------------------------------------------------------- what is asked


def check_write(builder: Builder, array: Array, value: Any, op: str | None, of_a_view: bool = False) -> None:
    """A write to memory that is of whole numbers on one path cuts what is stored there, on that path alone.

    `of_a_view`: an augmented write (`a /= 2`, `a[1:] += x`) cuts nothing, but raises in NumPy; so nobody goes on there.
    """
    memory = builder.types.get(builder.root(array)) if builder.types else None
    if not memory:
        return
    may_raise = of_a_view and op is not None and not builder.watches
    cut = [kind for kind in memory if _is_cut(builder, memory, kind, value, op, may_raise)]
    if not cut:
        return
    narrow = narrow_if(memory)
    if narrow is None or builder.watches or any(is_inexact(kind.dtype) for kind in cut):
        refuse_joined(builder, memory, CUT, is_array=True)
    builder.emit(If(narrow, (Raise("RuntimeUnsupportedError", MAY_BE_WHOLE + place(builder.span)),)))


def _is_cut(
    builder: Builder, memory: frozenset[ScalarType], kind: ScalarType, value: Any, op: str | None, may_raise: bool
) -> bool:
    """Does a write change what is stored, where the memory is of this kind?"""
    value = value if isinstance(value, (Scalar, ArrayValue)) else None
    is_own = value is not None and bound_of(types_of(builder, value)) is not None
    is_own = is_own and bound_of(types_of(builder, value)) is source_of(memory)
    current = ArrayValue((), Load(Array("", kind.dtype, ()), ()))
    for (stored,) in [[current]] if is_own else on_each_path(builder, [value]):
        if op is not None and stored is not None:
            stored = ScalarType(loop_dtypes(builder, op, (current, stored), python=True)[-1])
        if may_raise and stored is not None and not np.can_cast(stored.dtype, kind.dtype, "same_kind"):
            continue
        if stored is None or rank(ScalarType(stored.dtype)) > rank(kind):
            return True
    return False


def check_product(builder: Builder, operands: Sequence[Any]) -> None:
    """Of bools alone, a sum of products is whether one is True."""
    if are_joined(builder, operands):
        are_bools = {all(value.dtype == BOOL for value in on_path) for on_path in _paths(builder, operands)}
        if len(are_bools) > 1:
            joined = next(value for value in operands if are_joined(builder, [value]))
            refuse_types(builder, joined, "a sum of products of {} is one of truths")


def check_index(builder: Builder, item: Scalar | ArrayValue) -> None:
    """A bool takes no axis, an array of bools is a mask, and a number is a place."""
    types = types_of(builder, item)
    if len({kind.dtype == BOOL for kind in types}) > 1:
        because = "as an index, {} is no place: it says whether something is taken"
        refuse_joined(builder, types, because, is_array=isinstance(item, ArrayValue))


def check_text(builder: Builder, text: Template) -> None:
    """2 and 2.0 are other texts, unless a format says how they are written."""
    formats = [spec for _, field, spec, _ in string.Formatter().parse(text) if field is not None]
    for value, spec in zip(text.values, formats, strict=True):
        types = types_of(builder, value)
        if len({kind.dtype.kind for kind in types}) > 1 and (spec or "")[-1:] not in tuple("eEfFgG%"):
            refuse_joined(builder, types, "the text says {} otherwise")
