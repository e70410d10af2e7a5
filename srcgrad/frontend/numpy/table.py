"""The table that says which functions of NumPy there are, and how their arguments are read.

A function is a rule of the frontend (`@rule`), or a composition of others (`rules.compositions`).
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ...ir.expressions import Load, is_inexact
from ...rules.compositions import COMPOSITIONS
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..broadcasting import check_fits, element_under, misfit
from ..builder import Builder
from ..values import Scalar, Static, TupleValue, static_int
from . import creation, indexing
from .creation import refuse_unknown_axis

Handler = Callable[..., Any]
TABLE: dict[Any, Handler] = {}
METHODS: dict[str, Handler] = {}


def rule(*functions: Any, method: str | None = None) -> Callable[[Handler], Handler]:
    """Register a handler for NumPy functions, and for the array method of that name."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            TABLE[function] = handler
        if method:
            METHODS[method] = handler
        return handler

    return register


def name_of(target: Any) -> str:
    name = getattr(target, "__name__", None) or repr(target)
    module = getattr(target, "__module__", None) or ""
    if isinstance(owner := getattr(target, "__self__", None), np.ufunc):
        return f"{name_of(owner)}.{name}"
    if module.startswith("scipy.stats") and not (inspect.isfunction(target) or isinstance(target, type)):
        of = "" if owner is None else f".{name}"
        return f"scipy.stats.{type(target if owner is None else owner).__name__.removesuffix('_gen')}{of}"
    if "Rotation" in getattr(target, "__qualname__", "") and module.startswith("scipy.spatial.transform"):
        return f"scipy.spatial.transform.{target.__qualname__}"
    if module == "scipy.spatial.distance":
        return f"{module}.{name}"
    if module.split(".")[0] == "scipy" or (isinstance(target, np.ufunc) and not _is_numpys(target)):
        parts = (module or "scipy.special").split(".")[:2]  # scipy.linalg, whichever file it is in
        if parts[-1].startswith("_"):
            shown = (m for m in sys.modules if m.startswith("scipy.") and m.count(".") == 1 and "._" not in m)
            parts = [next((m for m in shown if getattr(sys.modules[m], name, None) is target), ".".join(parts))]
        return ".".join([*parts, name])
    if isinstance(target, np.ufunc) or module.split(".")[0] == "numpy":
        inner = module.split(".")[1:] if module.startswith("numpy.") and not module.startswith("numpy._") else []
        return ".".join(["np", *inner, name])
    return f"{module}.{name}" if module in ("math", "cmath") else name


def _is_numpys(target: np.ufunc) -> bool:
    """SciPy has some of the same names."""
    public = getattr(np, target.__name__, None)
    return public is target or not (public is None or isinstance(public, np.ufunc))


LIKE = 0.75  # of 1, for two names that are the same


def nearest(name: str) -> str | None:
    """The supported function of the same module whose name is most like this one, if one is."""
    module, _, last = name.rpartition(".")
    names = {name_of(function).rpartition(".") for function in (*TABLE, *COMPOSITIONS)}
    found = difflib.get_close_matches(last, sorted(other for of, _, other in names if of == module), 1, LIKE)
    return f"{module}.{found[0]}" if found else None


def array_or_number(build: Builder, value: Any) -> Any:
    """Lists and tuples of values become arrays; numbers stay numbers."""
    return creation.array_of(build, value, None) if isinstance(value, TupleValue) else value


def as_array(build: Builder, value: Any) -> ArrayValue:
    value = array_or_number(build, value)
    if isinstance(value, Scalar):
        return ArrayValue((), build.capture(value.expr) if isinstance(value.expr, Load) else value.expr)
    if not isinstance(value, ArrayValue):
        build.refuse_unusable(value)
        build.refuse("an array is needed here", error=ArgumentError)
    return value


def flag(value: Any) -> bool:
    return bool(value.value) if isinstance(value, (Scalar, Static)) else bool(value)


def kind_of(value: Any) -> Any:
    """What NumPy's promotion takes for an operand: a dtype, or a number of Python's."""
    return value.dtype.type(0).item() if isinstance(value, Scalar) and value.weak else value.dtype


def absent(value: Any) -> bool:
    return value is None or (isinstance(value, Static) and value.value is None)


def dtype_or_none(build: Builder, value: Any) -> np.dtype | None:
    return None if absent(value) else creation.dtype_of(build, value, None)


def dtype_of_total(build: Builder, dtype: Any, value: Any, out: Any) -> np.dtype | None:
    """What a sum or a product is asked to be computed in: `out` says it, too."""
    if absent(out) or not absent(dtype):
        return dtype_or_none(build, dtype)
    into: np.dtype = (out.items[0] if isinstance(out, TupleValue) else out).dtype
    found = np.result_type(value.dtype, into)
    is_in_between = is_inexact(found) and not is_inexact(value.dtype) and not is_inexact(into)  # int64 and uint64
    return None if is_in_between else found


def also_into(build: Builder, out: Any, value: Any, core: int | None = None) -> Any:
    """`out=`: the result is also written there.

    The shapes are the same; with `core`, which is how ufuncs have it, only the last axes are, as many as that: in front
    of them the result is spread out.
    """
    if absent(out):
        return value
    target = out.items[0] if isinstance(out, TupleValue) else out
    check_kind(build, value, target)
    if isinstance(target, (ArrayValue, Scalar)):
        own, dims = (v.dims if isinstance(v, ArrayValue) else () for v in (value, target))
        if core is None and len(own) != len(dims):
            build.refuse(misfit(own, dims), error=ShapeError)
        front = 0 if core is None else len(own) - core
        check_fits(build, own[:front], dims[: len(dims) - len(own) + front])
        for length, wanted in zip(own[front:], dims[len(dims) - len(own) + front :], strict=True):
            creation.check_length(build, length, wanted)
    if isinstance(target, ArrayValue) and not isinstance(target.element, Load):  # made for this call: no one else's
        return ArrayValue(target.dims, cast(element_under(build, value, target.dims), target.dtype))
    indexing.write(build, indexing.memory_of(build, target), value)
    return target


def check_kind(build: Builder, value: Any, target: Any) -> None:
    if not np.can_cast(value.dtype, target.dtype, "same_kind"):
        build.refuse(
            f"a result of dtype {value.dtype} can't be stored in an array of {target.dtype}", error=ArgumentError
        )


def axis_number(build: Builder, value: Any) -> int:
    number = static_int(value)
    if number is None:
        refuse_unknown_axis(build, value, "axis must be a constant integer")
    return number


def items_of(build: Builder, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, TupleValue) or not value.items:
        build.refuse("need at least one array, in a list or a tuple", error=ArgumentError)
    return value.items
