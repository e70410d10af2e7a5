"""Generated source, run as plain Python: for debugging, and the reference that compiled code is tested against.

Dispatcher(build)(np.ones(3), 2.0)  →  np.float64(…), computed by the generated module under pdb's eyes
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from srcgrad.arguments import leaf_type
from srcgrad.backends import files
from srcgrad.errors import ArgumentError, DepthError
from srcgrad.ir.types import ArrayType, ScalarType, StaticType, TupleType


class Dispatcher:
    """A callable of leaves; `build(leaves)` says what to run for types not seen before."""

    def __init__(self, build: Callable[[tuple[Any, ...]], Any]) -> None:
        self._build = build
        self._entries: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *values: Any) -> Any:
        try:
            key = tuple((leaf_type(value, ""), is_read_only(value)) for value in values)
        except ArgumentError:  # `build` knows the names
            key = None
        entry = self._entries.get(key)
        if entry is None:
            built = self._build(values)
            if not hasattr(built, "text"):
                return built(*values)
            entry = self._entries[key] = plain_entry(built)
        return entry(*values)


def is_read_only(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.flags.writeable


def plain_entry(generated: Any) -> Callable[..., Any]:
    """The entry of a generated module as a Python function with NumPy's arithmetic: 1.0 / 0.0 is inf."""
    module = files.load(generated.entry, files.digest(generated.text), generated.text, generated.globals)
    entry = getattr(module, generated.entry)
    for function in vars(module).values():
        if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
            function.__code__ = _with_strong_numbers(function.__code__)

    def run(*values: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return rebuild(generated.results, flat_results(entry(*map(_strong, values))))
        except RecursionError as problem:
            if isinstance(problem, DepthError):
                raise
        raise DepthError(f"{generated.entry}: calls within calls are more than Python's own stack holds")

    return run


STRONG = {float: np.float64, int: np.int64, complex: np.complex128}


def _strong(value: Any) -> Any:
    """Python's own numbers raise on division by zero; NumPy's do not."""
    kind = type(value)
    return STRONG[kind](value) if kind in STRONG else value


def _with_strong_numbers(code: CodeType) -> CodeType:
    """The same for those that the text names; whole numbers count and index, and stay Python's."""
    return code.replace(co_consts=_strong_constant(code.co_consts))


def _strong_constant(constant: Any) -> Any:
    match constant:
        case CodeType():
            return _with_strong_numbers(constant)
        case tuple():
            return tuple(map(_strong_constant, constant))
    return constant if isinstance(constant, int) else _strong(constant)


def flat_results(result: Any) -> Iterator[Any]:
    return iter(result if isinstance(result, tuple) else () if result is None else (result,))


def rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    """The result that flat leaves stand for."""
    match structure:
        case ScalarType() as kind:
            return kind.number(next(leaves))
        case ArrayType(dtype):
            return np.asarray(next(leaves), dtype)
        case TupleType(items, kind):
            parts = [rebuild(item, leaves) for item in items]
            return kind(parts) if kind in (tuple, list) else kind(*parts)
        case StaticType(value):
            return value
    return None
