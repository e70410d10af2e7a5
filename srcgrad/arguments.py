"""What a function was called with: Python values in, their types and a flat list of leaves out.

    flatten((x, 2.0), "a", leaves)       leaves == [x, 2.0]
    →  (tuple, (numpy.ndarray, float))   a *pattern*: all that Python can tell cheaply; Numba tells the dtypes apart

A pattern is a Python type (a leaf), `(kind, patterns)` (a tuple) or a `StaticType` (known when f is specialised).
"""

from __future__ import annotations

import dataclasses
import types
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from numbers import Number
from typing import Any

import numpy as np

from srcgrad.errors import ArgumentError, OverlapError
from srcgrad.ir.types import ArrayType, DictKind, RecordKind, ScalarType, StaticType, TupleType, ValueType
from srcgrad.rules.compositions import made_of

Pattern = Any
COTANGENT = "v"  # what backward's last argument is called

# fmt: off
WEAK = {float: np.dtype(np.float64), int: np.dtype(np.int64), bool: np.dtype(np.bool_),
        complex: np.dtype(np.complex128)}
NUMBERS = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
           np.float32, np.float64, np.complex64, np.complex128)
# fmt: on
LEAVES = frozenset({np.ndarray, *WEAK, *NUMBERS, np.longlong, np.ulonglong})
_KINDS = {np.dtype(number).str for number in NUMBERS}
_CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type(np.median), partial, np.ufunc, type, np.dtype)


def flatten(value: Any, name: str, leaves: list[Any]) -> Pattern:
    """The pattern of `value`; its leaves are appended to `leaves`."""
    kind = type(value)
    if kind in LEAVES:
        leaves.append(value)
        return kind
    if kind in _RECORDS:
        held = value.__dict__
        group = _RECORDS[kind].get(tuple(held))
        if group is not None:
            return group, _parts(group, held.values(), name, leaves)
    if value is None or kind is types.FunctionType:
        return StaticType(value)
    if getattr(kind, "__cuda_ndarray__", False):
        leaves.append(device_array(value, name))
        return OnDevice
    if issubclass(kind, tuple) or (kind is list and (name == COTANGENT or _holds_structure(value))):
        kinds = tuple(map(type, value))
        if LEAVES.issuperset(kinds):
            leaves.extend(value)
            return kind, kinds
        try:
            return kind, tuple([flatten(item, name, leaves) for item in value])
        except ArgumentError:
            raise next(_refusals(value, name)) from None
    if kind is np.memmap:
        leaves.append(value.view(np.ndarray))
        return np.ndarray
    if is_device_array(value):
        leaves.append(device_array(value, name))
        return OnDevice
    if not isinstance(value, np.generic):
        for plain in (int, float, complex):  # an IntEnum is an int
            if isinstance(value, plain):
                return flatten(plain(value), name, leaves)  # type: ignore[arg-type]
    if isinstance(value, StaticType):
        return value
    if isinstance(value, Enum):
        return StaticType(value)
    if isinstance(value, str):
        return StaticType(str.__str__(value))  # a class of its own may show itself otherwise
    keyed = _keyed(value)
    if keyed is not None:
        group, items = keyed
        return group, _parts(group, items, name, leaves)
    if value is Ellipsis or isinstance(value, _CALLABLE) or hasattr(value, "py_func"):
        return StaticType(value)
    if made_of(kind) is not None and kind.__hash__ is not None:  # a frozen distribution, a spline
        return StaticType(value)
    raise refusal(value, name)


def _parts(group: Any, items: Collection[Any], name: str, leaves: list[Any]) -> tuple[Pattern, ...]:
    """The patterns of what a dict or an object holds."""
    kinds = tuple(map(type, items))
    if LEAVES.issuperset(kinds):
        leaves.extend(items)
        return kinds
    parts: list[Pattern] = []
    for k, (kind, item) in enumerate(zip(kinds, items, strict=True)):
        if kind in LEAVES:
            leaves.append(item)
            parts.append(kind)
        else:
            parts.append(flatten(item, _part_name(name, group, k), leaves))
    return tuple(parts)


CUDA = 2  # a kind of device, as DLPack numbers them
_ON_THE_DEVICE: set[type] = set()  # types of arrays of Numba's, where there is one GPU and no more


class OnDevice:
    """The pattern of an array in the memory of a GPU, whosever it is."""


def are_told_by_types(kinds: Iterable[type]) -> bool:
    """Is the pattern of all values of these Python types the same?"""
    return all(kind in LEAVES or kind in _ON_THE_DEVICE for kind in kinds)


def is_device_array(value: Any) -> bool:
    if getattr(value, "__cuda_ndarray__", False) or hasattr(value, "__cuda_array_interface__"):
        return True
    ask = getattr(value, "__dlpack_device__", None)
    return ask is not None and not isinstance(value, np.ndarray) and ask()[0] == CUDA


def device_array(value: Any, name: str) -> Any:
    """An array of anybody's as Numba's, without a copy."""
    refuse_other_device(value, name)
    if getattr(value, "__cuda_ndarray__", False):
        if _device_arrays().device_count() < 2:
            _ON_THE_DEVICE.add(type(value))
        return value
    from srcgrad.runtime.device_arrays import is_aligned, of_dlpack, of_interface

    described = getattr(value, "__cuda_array_interface__", None)
    if described is not None and described.get("mask") is not None:
        raise ArgumentError(f"argument {name} is a masked array: its mask would be ignored")
    if described is None or (described.get("stream") is None and hasattr(value, "__dlpack__")):
        out = of_dlpack(value)  # this way our stream waits for whatever the other library still does to it
    else:
        out = of_interface(value, described)
    if not is_aligned(out):
        raise ArgumentError(
            f"argument {name} lies at addresses that a GPU does not read a {out.dtype} from",
            help=(f"pass a copy:  {name}.copy()",),
        )
    return out


@cache
def _device_arrays() -> Any:
    """An import takes longer than what is wanted of it, and needs Numba's part for CUDA."""
    from srcgrad.runtime import device_arrays

    return device_arrays


def refuse_other_device(value: Any, name: str) -> None:
    """Kernels run on the current GPU, and read the memory of that one."""
    arrays = _device_arrays()
    if arrays.device_count() < 2:
        return
    current, device = arrays.current_device(), arrays.device_of(value)
    if device not in (None, current):
        raise ArgumentError(
            f"argument {name} lies on GPU {device}, and GPU {current} is the current one",
            help=(f"call the function where that is the current one:  with numba.cuda.gpus[{device}]:",),
        )


def _holds_structure(value: list[Any]) -> bool:
    """A list of arrays is a structure; a list of numbers would better be an array."""
    return bool(value) and not any(isinstance(item, (int, float, complex, str)) for item in value)


_RECORDS: dict[type, dict[tuple[str, ...], RecordKind]] = {}  # of objects that are all in their __dict__, by its names
DICTS = (dict, OrderedDict, defaultdict)
HELD = (int, float, complex, str, np.ndarray, np.generic, type(None))


def _keyed(value: Any) -> tuple[Any, list[Any]] | None:
    """A dict, a dataclass instance or a simple object of the user's: its kind, and its items."""
    kind = type(value)
    if issubclass(kind, dict):
        is_ours = kind in DICTS and getattr(value, "default_factory", None) is None
        return (DictKind(tuple(value), kind), list(value.values())) if is_ours else None
    held = parts_of_object(value)
    if held is None:
        return None
    names, group = tuple(held), RecordKind(kind, tuple(held))
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    # (a dataclass may hold more than its fields, of which it depends on the value whether it is a part)
    is_all = names == tuple(getattr(value, "__dict__", ())) and len(names) == len(fields or names)
    if is_all and not _slots(kind):  # (a slot may be empty now, and not in the next one)
        _RECORDS.setdefault(kind, {})[names] = group
    return group, list(held.values())


def parts_of_object(value: Any) -> dict[str, Any] | None:
    """What a dataclass instance or a simple object of the user's holds, by the names of its attributes."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        own = tuple(field.name for field in dataclasses.fields(kind))
        more = (k for k, held in getattr(value, "__dict__", {}).items() if isinstance(held, HELD) and k not in own)
        # What was set beside the fields, too; a cache of something else is left alone.
        return {name: getattr(value, name) for name in (*own, *more)}
    return _attributes(value) if is_simple_object(value) else None


def _slots(kind: type) -> list[str]:
    """The attributes that objects of a class, and of those that it is made of, have places for."""
    out: list[str] = []
    for cls in kind.__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            is_private = name.startswith("__") and not name.endswith("__")
            out.append(f"_{cls.__name__.lstrip('_')}{name}" if is_private else name)
    return [name for name in out if name not in ("__dict__", "__weakref__")]


def _attributes(value: Any) -> dict[str, Any]:
    held = {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}
    return held | getattr(value, "__dict__", {})


def is_simple_object(value: Any) -> bool:
    """An instance of a plain class of the user's: all that it holds is in its attributes."""
    kind = type(value)
    if kind is types.SimpleNamespace:
        return True
    if issubclass(kind, (partial, Fraction)):
        return False
    has_attributes = isinstance(getattr(value, "__dict__", None), dict) or bool(_slots(kind))
    plain = kind.__flags__ & (1 << 9) and has_attributes  # made by `class`
    bases = [base for base in kind.__mro__[:-1] if not base.__flags__ & (1 << 9)]
    foreign = any(hasattr(kind, name) for name in ("__array__", "__array_interface__", "__dlpack__", "__iter__"))
    library = kind.__module__.partition(".")[0] in ("numpy", "scipy", "numba", "builtins")
    return bool(plain) and not library and not bases and not foreign and not hasattr(value, "py_func")


def _part_name(name: str, kind: Any, k: int) -> str:
    """What the user calls a part of an argument: x[0], x["w"], x.w"""
    if name == COTANGENT:
        return name
    if isinstance(kind, DictKind):
        return f"{name}[{kind.keys[k]!r}]"
    return f"{name}.{kind.keys[k]}" if isinstance(kind, RecordKind) else f"{name}[{k}]"


def known(value: Any, name: str) -> StaticType:
    """The pattern of a static argument: the value itself."""
    try:
        hash(value)
    except TypeError:
        what = f"{_a(type(value).__name__)}, which can change"
        raise ArgumentError(
            f"static argument {name} is {what}", help=("static arguments are numbers, strings, and tuples of them",)
        ) from None
    return StaticType(value, repr(value) if isinstance(value, (int, float, complex, np.generic, tuple)) else "")


def leaf_names(pattern: Pattern, name: str) -> Iterator[str]:
    """What the user calls the leaves of an argument: x, or x[0], x[1]."""
    if isinstance(pattern, tuple):
        for i, part in enumerate(pattern[1]):
            yield from leaf_names(part, _part_name(name, pattern[0], i))
    elif not isinstance(pattern, StaticType):
        yield name


def value_type(pattern: Pattern, leaves: Iterator[tuple[Any, str]]) -> ValueType:
    """The type of a value of this pattern that has these leaves (with their names)."""
    if isinstance(pattern, StaticType):
        return pattern
    if isinstance(pattern, tuple):
        kind, parts = pattern
        return TupleType(tuple(value_type(part, leaves) for part in parts), kind)
    return leaf_type(*next(leaves))


def leaf_type(value: Any, name: str) -> ScalarType | ArrayType:
    """The type of a number or an array, or an error that names it."""
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype.str not in _KINDS:
            raise refusal(value, name)
        return ArrayType(value.dtype, value.ndim, layout(value))
    if getattr(value, "__cuda_ndarray__", False):
        if value.dtype.str not in _KINDS:
            raise refusal(value, name)
        return ArrayType(value.dtype, value.ndim, "C" if value.is_c_contiguous() else "A", on_device=True)
    if kind in WEAK:
        if kind is int and not -(2**63) <= value < 2**63:
            raise ArgumentError(
                f"argument {name} is {value}, which does not fit in 64 bits", help=(f"pass float({name})",)
            )
        return ScalarType(WEAK[kind], weak=True)
    if kind in LEAVES:
        return ScalarType(np.dtype(kind))
    raise refusal(value, name)


def layout(array: np.ndarray) -> str:
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


def refuse_overlap(leaves: Sequence[Any], names: Sequence[str], writes: frozenset[int]) -> None:
    """An argument that f writes, and that shares memory with another, or has elements that share it: order decides."""
    for i in writes:
        written = _memory(leaves[i])
        if written is not None and _overlaps_itself(written):
            raise OverlapError(
                f"elements of argument {names[i]} share memory, and the function writes to it",
                help=(f"pass a copy:  {names[i]}.copy()",),
            )
        for j, leaf in enumerate(leaves):
            other = None if j == i or (j in writes and j < i) else _memory(leaf)
            if written is None or other is None:
                continue
            if other is written or np.shares_memory(written, other):
                raise OverlapError(
                    f"arguments {names[min(i, j)]} and {names[max(i, j)]} share memory, "
                    f"and the function writes to {names[i]}",
                    help=(f"pass a copy of one of them:  {names[j]}.copy()",),
                )


def _overlaps_itself(array: np.ndarray) -> bool:
    """Of slices of an array, whose rows lie one inside the other, the strides tell that they don't."""
    width = array.itemsize
    axes = sorted((abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True) if n > 1)
    if array.size == 0 or all(
        stride >= width + sum((n - 1) * inner for inner, n in axes[:k]) for k, (stride, _) in enumerate(axes)
    ):
        return False
    places = np.zeros(1, np.int64)
    for stride, n in axes:
        places = np.add.outer(places, stride * np.arange(n)).ravel()
    return bool(np.any(np.diff(np.sort(places)) < width))


def _memory(leaf: Any) -> np.ndarray | None:
    """The memory of an array, to be compared and not to be looked into: that of a GPU has addresses too."""
    if type(leaf) is np.ndarray:
        return leaf
    if not getattr(leaf, "__cuda_ndarray__", False) or not leaf.size:
        return None
    from srcgrad.runtime.device_arrays import Memory, address

    return np.asarray(Memory(leaf, address(leaf), leaf.shape, leaf.strides, leaf.dtype))


def refuse_read_only(leaves: Sequence[Any], names: Sequence[str], writes: frozenset[int]) -> None:
    for i in writes:
        if _is_read_only(leaves[i]):
            raise OverlapError(
                f"argument {names[i]} is read-only, and the function writes to it",
                help=(f"pass a copy:  {names[i]}.copy()",),
            )


def _is_read_only(leaf: Any) -> bool:
    if type(leaf) is np.ndarray:
        return not leaf.flags.writeable
    return getattr(leaf, "is_read_only", False) is True  # of another library, on a GPU


# --------------------------------------------------------------------------------------------------------------


def _refusals(value: Any, name: str) -> Iterator[ArgumentError]:
    """The errors of a tuple's items, named as the user would: x[1]."""
    for i, item in enumerate(value):
        if isinstance(item, tuple):
            yield from _refusals(item, f"{name}[{i}]")
        else:
            try:
                flatten(item, f"{name}[{i}]", [])
            except ArgumentError as error:
                yield error


def refusal(value: Any, name: str) -> ArgumentError:
    """Why this value can't be an argument, and what to pass instead."""
    what, instead = _describe(value, name)
    return ArgumentError(f"argument {name} is {what}", help=(instead,) if instead else ())


def _describe(value: Any, name: str) -> tuple[str, str]:
    kind = type(value)
    title = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array: its mask would be ignored", f"pass {name}.filled(...), or the mask as an argument"
    if isinstance(value, np.matrix):
        return "an np.matrix, whose * means something else", f"pass np.asarray({name})"
    if isinstance(value, (np.ndarray, np.generic)) or getattr(value, "__cuda_ndarray__", False):
        return _describe_dtype(value, name, title)
    if isinstance(value, (list, set, frozenset, range)):
        return f"a {kind.__name__}", f"pass np.array({name}), or a tuple where the items differ in kind"
    if isinstance(value, dict):
        return _a(kind.__name__), "pass a plain dict:  dict(...)"
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return "a generator of random numbers", "make it in the function, of a seed:  np.random.default_rng(seed)"
    if kind.__module__.startswith("scipy.sparse."):
        return (
            f"a {kind.__name__} of scipy.sparse",
            "read it from outside: a global, a closure, an attribute of an object",
        )
    if hasattr(value, "__array__"):
        return _a(title), f"pass np.asarray({name})"
    if isinstance(value, Number):
        return _a(title), f"pass float({name})"
    return _a(title), "pass a number, a NumPy array, or a tuple of them"


def _describe_dtype(value: Any, name: str, title: str) -> tuple[str, str]:
    dtype = value.dtype
    what = "a" if isinstance(value, np.generic) else "an array of"
    if type(value) is not np.ndarray and isinstance(value, np.ndarray):
        return f"{_a(title)}, a subclass of ndarray", f"pass np.asarray({name})"
    match dtype.kind:
        case "f" | "c" | "i" | "u" | "b" if not dtype.isnative:
            return f"{what} {dtype.newbyteorder('=')} in another byte order", (
                f"pass {name}.astype({name}.dtype.newbyteorder('='))"
            )
        case "f":
            return f"{what} {dtype}: floats are float32 or float64 here", f"pass {name}.astype(np.float64)"
        case "c":
            return f"{what} {dtype}: complex numbers are complex64 or complex128 here", (
                f"pass {name}.astype(np.complex128)"
            )
        case "O":
            return f"{what} Python objects", f"pass an array of floats:  {name}.astype(np.float64)"
        case "U" | "S" | "T":
            return f"{what} strings", f"pass an array of floats:  {name}.astype(np.float64)"
        case "V":
            return "a structured array", f"pass its fields as arguments:  {name}[...] of one field each"
        case "M" | "m":
            return f"{what} {dtype}", f"pass numbers:  {name}.astype(np.float64)"
    return f"{what} {dtype}", "pass an array of floats"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
