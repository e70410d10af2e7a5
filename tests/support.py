"""What the tests of the whole way share: structures, differences, comparisons."""

from __future__ import annotations

import atexit
import copy
import hashlib
import importlib.util
import inspect
import linecache
import math
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from srcgrad.testing import check_grad

# fmt: off
PRIMAL_TOLERANCE =   {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 3e-5}
GRADIENT_TOLERANCE = {np.dtype(np.float64): 1e-7,  np.dtype(np.float32): 2e-3}
WIDE = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}
# fmt: on


def from_text(text: str, name: str) -> Callable[..., Any]:
    """The function `name` of a program given as text, from a real file, so that its source can be read."""
    folder = Path(tempfile.gettempdir()) / f"srcgrad-programs-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"program_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py"
    path.write_text(text)
    linecache.checkcache(str(path))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return getattr(module, name)


def from_arrow(arrow: str) -> Callable[..., Any]:
    """The function that "x, y -> x * y" stands for."""
    parameters, expression = arrow.split(" -> ")
    return from_text(f"import math\n\nimport numpy as np\n\n\ndef f({parameters}):\n    return {expression}\n", "f")


def like(structure: Any) -> type:
    """What a structure is made of again: a list, or a tuple (for a namedtuple too)."""
    return list if isinstance(structure, list) else tuple


def leaves(structure: Any) -> Iterator[Any]:
    """The leaves of a nested tuple, in order."""
    if isinstance(structure, tuple | list):
        for item in structure:
            yield from leaves(item)
    else:
        yield structure


def mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    """The same structure with `function` applied to each leaf."""
    if isinstance(structure, tuple | list):
        return like(structure)(mapped(function, item) for item in structure)
    return function(structure)


def is_inexact(leaf: Any) -> bool:
    """Is it real or complex, so that it has derivatives?"""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "fc"
    return isinstance(leaf, float | complex)


def fresh(value: Any) -> Any:
    """A copy with the same memory layout, negative strides and gaps included."""
    if isinstance(value, tuple | list):
        return like(value)(fresh(item) for item in value)
    if isinstance(value, np.ndarray) and value.ndim and not value.flags.c_contiguous and not value.flags.f_contiguous:
        out = strided_like(value)
        out[...] = value
        return out
    return copy.deepcopy(value)


def strided_like(value: np.ndarray) -> np.ndarray:
    wide = np.zeros(tuple(2 * n for n in value.shape), value.dtype)
    picks = tuple(slice(None, None, 2 if stride >= 0 else -2) for stride in value.strides)
    return wide[picks]


def widened(value: Any) -> Any:
    """The same arguments in double precision."""
    if isinstance(value, tuple | list):
        return like(value)(widened(item) for item in value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc":
        out = fresh(value) if isinstance(value, np.ndarray) else value
        return out.astype(WIDE[out.dtype]) if out.dtype in WIDE else out
    return fresh(value)


@dataclass(frozen=True)
class Subject:
    """A function with its arguments bound in order, what is differentiated, and what counts as output."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    args: tuple[Any, ...]
    wrt: Any = None
    writes: tuple[str, ...] = ()

    @property
    def differentiated(self) -> tuple[str, ...]:
        if self.wrt is None:
            return tuple(n for n, a in zip(self.names, self.args, strict=True) if any(is_inexact(x) for x in leaves(a)))
        wrt = self.wrt if isinstance(self.wrt, tuple) else (self.wrt,)
        return tuple(self.names[w] if isinstance(w, int) else w for w in wrt)

    def run(self, args: tuple[Any, ...]) -> Any:
        """The outputs of plain Python; `args` may be written."""
        kinds = inspect.signature(self.function).parameters
        bound = dict(zip(self.names, args, strict=True))
        keywords = {n: bound.pop(n) for n in self.names if kinds[n].kind is inspect.Parameter.KEYWORD_ONLY}
        result = self.function(*bound.values(), **keywords)
        if result is None:
            written = tuple(args[self.names.index(name)] for name in self.writes)
            return written[0] if len(written) == 1 else written
        return result


def subject(
    function: Callable[..., Any], args: tuple, keywords: dict[str, Any], wrt: Any = None, writes: Any = ()
) -> Subject:
    bound = inspect.signature(function).bind(*args, **keywords)
    bound.apply_defaults()
    return Subject(function, tuple(bound.arguments), tuple(bound.arguments.values()), wrt, tuple(writes))


def random_like(rng: np.random.Generator, structure: Any) -> Any:
    """A random tangent or cotangent: same structure, shapes and dtypes; the leaf itself where it has no derivative."""

    def draw(leaf: Any) -> Any:
        if not is_inexact(leaf):
            return leaf
        drawn = rng.uniform(-1, 1, np.shape(leaf))
        if np.iscomplexobj(leaf):
            drawn = drawn + 1j * rng.uniform(-1, 1, np.shape(leaf))
        return np.asarray(drawn).astype(leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(drawn)

    return mapped(draw, structure)


def products(a: Any, b: Any) -> Iterator[np.ndarray]:
    """Elementwise, in double precision."""
    for x, y in zip(leaves(a), leaves(b), strict=True):
        if is_inexact(x):
            yield np.asarray(x, np.complex128) * np.asarray(y, np.complex128)


def inner(a: Any, b: Any) -> float:
    """v^T t; where they are complex, its real part: what a cotangent and a tangent are paired to."""
    return math.fsum(float(np.sum(product.real)) for product in products(a, b))


def magnitude(a: Any, b: Any) -> float:
    """What the rounding errors of `inner(a, b)` are measured against."""
    return math.fsum(float(np.sum(np.abs(product))) for product in products(a, b))


def moved(args: Any, direction: Any, step: float) -> Any:
    def move(leaf: Any, along: Any) -> Any:
        if not is_inexact(leaf):
            return leaf
        if isinstance(leaf, np.ndarray):
            leaf[...] += step * along
            return leaf
        return type(leaf)(leaf + step * along)

    def walk(a: Any, d: Any) -> Any:
        return like(a)(map(walk, a, d)) if isinstance(a, tuple | list) else move(a, d)

    return walk(args, direction)


def slope(phi: Callable[[float], float], width: float = 0.01, levels: int = 5) -> tuple[float, float]:
    """phi'(0) by central differences, extrapolated (Richardson, Ridders' choice of the entry), with its error."""
    table: list[list[float]] = []
    best, error = math.nan, math.inf
    for level in range(levels):
        h = width / 2**level
        row = [(phi(h) - phi(-h)) / (2 * h)]
        for k, above in enumerate(table[-1] if table else ()):
            row.append(row[k] + (row[k] - above) / (4 ** (k + 1) - 1))
            guess = max(abs(row[k + 1] - row[k]), abs(row[k + 1] - above))
            if guess <= error:
                best, error = row[k + 1], guess
        table.append(row)
    return best, error


def directional(s: Subject, direction: Any, v: Any, width: float = 0.01) -> tuple[float, float]:
    """v^T J direction of the undecorated function, in float64, with an estimate of its error."""
    direction = tuple(
        widened(d) if name in s.differentiated else mapped(lambda leaf: leaf * 0 if is_inexact(leaf) else leaf, d)
        for name, d in zip(s.names, direction, strict=True)
    )

    def phi(step: float) -> float:
        return inner(s.run(moved(widened(s.args), direction, step)), v)

    with np.errstate(all="ignore"):
        return slope(phi, width)


def along(s: Subject, direction: Any) -> Any:
    """The part of `direction` that belongs to the cotangents, in their structure (bare for one)."""
    parts = tuple(direction[s.names.index(name)] for name in s.differentiated)
    return parts if isinstance(s.wrt, tuple) or len(parts) != 1 else parts[0]


def assert_same_kind(got: Any, want: Any, what: str) -> None:
    """Same structure, shapes and dtypes; arrays are arrays and scalars are scalars."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want), f"{what}: a tuple of {len(want)} expected, got {got!r}"
        for k, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same_kind(g, w, f"{what}[{k}]")
        return
    is_array = isinstance(want, np.ndarray)
    assert isinstance(got, np.ndarray) == is_array, f"{what}: {type(want)} expected, got {type(got)}"
    assert np.shape(got) == np.shape(want), f"{what}: shape {np.shape(want)} expected, got {np.shape(got)}"
    assert np.asarray(got).dtype == np.asarray(want).dtype, (
        f"{what}: dtype {np.asarray(want).dtype} expected, got {np.asarray(got).dtype}"
    )


def assert_close(got: Any, want: Any, tolerance: float, what: str) -> None:
    for k, (g, w) in enumerate(zip(leaves(got), leaves(want), strict=True)):
        scale = np.max(np.abs(w), initial=0.0) if np.size(w) else 0.0
        scale = scale if np.isfinite(scale) else 1.0
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance * scale, err_msg=f"{what}, part {k}")


def check_value_and_grad(f: Any, *args: Any, rtol: float = 1e-12, atol: float = 0.0, at_once: bool = False) -> None:
    """`f` and its gradient: made once for both, where told to, and for two functions of three; each by itself else."""
    found: list[Any] = []

    def backward(*given: Any) -> Any:
        value, cotangents = f.value_and_backward(*given)
        found.append(value)
        return cotangents

    if at_once or turn_of(f.py_func) % 3:
        check_grad(SimpleNamespace(py_func=f.py_func, backward=backward, wrt=f.wrt, outputs=f.outputs), *args)
    else:
        check_grad(f, *args)
        found.append(f(*fresh(args)))
    for got, want in zip(leaves(found[-1]), leaves(f.py_func(*fresh(args))), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def turn_of(function: Any) -> int:
    """A number that a function always has, for what is done by turns."""
    return zlib.crc32(function.__code__.co_code if hasattr(function, "__code__") else b"")


def unchanged(before: Any, after: Any) -> bool:
    return all(
        np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) and a.dtype.kind in "fc" else np.all(a == b)
        for a, b in zip(leaves(before), leaves(after), strict=True)
    )


class Leaky:
    """A function of the user's that says of all of its kind that they are equal."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return 0

    def __call__(self, z: Any) -> Any:
        return np.where(z > 0, z, self.slope * z)
