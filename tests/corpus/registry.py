"""How a corpus program says what it is: a plain NumPy function in, a `Program` in `PROGRAMS` out.

    @program(case(real(3, 4), positive(4)), case(real(3, 4, layout="F"), positive(4), wrt="x"), compiled=True)
    def normalise(x, s): ...

Arguments are described, not built: each test asks for fresh ones in the dtype that it wants.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOAT64 = np.dtype(np.float64)
FLOAT32 = np.dtype(np.float32)
BOTH = (FLOAT64, FLOAT32)
ONLY64 = (FLOAT64,)


@dataclass(frozen=True)
class Real:
    """An array of random numbers between `low` and `high` in the dtype of the test."""

    shape: tuple[int, ...]
    low: float = -1.0
    high: float = 1.0
    layout: str = "C"  # C, F, "step" (every second element of a larger array), "reverse" (negative strides)

    def make(self, rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        return laid_out(rng.uniform(self.low, self.high, self.shape).astype(dtype), self.layout)


@dataclass(frozen=True)
class Complex:
    """An array of random complex numbers, real and imaginary parts between -`size` and `size`."""

    shape: tuple[int, ...]
    size: float = 1.0
    layout: str = "C"

    def make(self, rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        x, y = (rng.uniform(-self.size, self.size, self.shape) for _ in range(2))
        return laid_out(np.asarray(x + 1j * y).astype(complex_of(dtype)), self.layout)


@dataclass(frozen=True)
class Number:
    """A NumPy scalar in the dtype of the test (a bare `0.7` in a case stays a Python float)."""

    value: float | complex

    def make(self, rng: np.random.Generator, dtype: np.dtype) -> Any:
        return (complex_of(dtype) if isinstance(self.value, complex) else dtype).type(self.value)


@dataclass(frozen=True)
class Values:
    """These very numbers, in the dtype of the test."""

    values: Any
    layout: str = "C"

    def make(self, rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        return laid_out(np.array(self.values, dtype), self.layout)


def complex_of(dtype: np.dtype) -> np.dtype:
    """The complex dtype of the precision of the test."""
    return np.result_type(dtype, np.complex64)


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values in memory of another layout."""
    match layout:
        case "F":
            return np.asfortranarray(values)
        case "step":
            wide = np.zeros(tuple(2 * n for n in values.shape), values.dtype)
            wide[(slice(None, None, 2),) * values.ndim] = values
            return wide[(slice(None, None, 2),) * values.ndim]
        case "reverse":
            backwards = (slice(None, None, -1),) * values.ndim
            return np.ascontiguousarray(values[backwards])[backwards]
        case _:
            return values


def real(*shape: int, low: float = -1.0, high: float = 1.0, layout: str = "C") -> Real:
    return Real(shape, low, high, layout)


def positive(*shape: int, low: float = 0.4, high: float = 1.9, layout: str = "C") -> Real:
    return Real(shape, low, high, layout)


def complexes(*shape: int, size: float = 1.0, layout: str = "C") -> Complex:
    return Complex(shape, size, layout)


def number(value: float | complex) -> Number:
    return Number(value)


def values(*numbers: Any, layout: str = "C") -> Values:
    return Values(numbers, layout)


def integers(*numbers: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(numbers, dtype)


@dataclass(frozen=True, eq=False)
class Case:
    """One set of arguments for a program."""

    args: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    wrt: Any = None
    dtypes: tuple[np.dtype, ...] = BOTH

    def arguments(self, dtype: np.dtype, seed: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        rng = np.random.default_rng(seed)
        args = tuple(made(argument, rng, dtype) for argument in self.args)
        return args, {name: made(argument, rng, dtype) for name, argument in self.keywords.items()}


def made(argument: Any, rng: np.random.Generator, dtype: np.dtype) -> Any:
    if isinstance(argument, Real | Complex | Number | Values):
        return argument.make(rng, dtype)
    if isinstance(argument, tuple | list):
        return type(argument)(made(item, rng, dtype) for item in argument)
    return copy.deepcopy(argument)


def case(*args: Any, wrt: Any = None, dtypes: tuple[np.dtype, ...] = BOTH, **keywords: Any) -> Case:
    return Case(args, keywords, wrt, dtypes)


@dataclass(frozen=True, eq=False)
class Program:
    """A function with its cases; `writes` names what a function that returns None has as outputs."""

    function: Callable[..., Any]
    cases: tuple[Case, ...]
    writes: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    compiled: bool = False
    loose: float = 1.0  # how much worse than usual the program is conditioned

    @property
    def name(self) -> str:
        return f"{self.family}.{self.function.__name__}"

    @property
    def family(self) -> str:
        return self.function.__module__.rsplit(".", 1)[-1]

    def seed(self, position: int) -> int:
        return zlib.crc32(f"{self.name} {position}".encode())

    def arguments(self, position: int, dtype: np.dtype) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self.cases[position].arguments(dtype, self.seed(position))


PROGRAMS: list[Program] = []


def program(*cases: Case, **marks: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below; it stays what it is."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(function, cases, **marks))
        return function

    return register
