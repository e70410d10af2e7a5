"""Tests of gradients, for users too: `check_grad` compares `f.backward` with differences of the undecorated function.

    check_grad(f, x, w)   →   nothing, or an AssertionError that names the argument, the direction and the worst element

One random direction t per argument checks a gradient of any size: <v, J t> by differences, <J^T v, t> by `backward`.
Where numbers are complex, <v, t> is the real part of v^T t, without conjugation.
"""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from srcgrad.binding import cotangent_name
from srcgrad.errors import ArgumentError, ShapeError
from srcgrad.frontend.syntax.source import signature_of

__all__ = ["TOLERANCES", "check_grad", "complex_step", "richardson"]

# How far <v, J t> and <J^T v, t> may be apart, in units of the sum of the absolute contributions.
TOLERANCES: dict[np.dtype, float] = {
    np.dtype(np.float64): 1e-7,  # what extrapolated differences reach
    np.dtype(np.float32): 1e-3,  # the gradient's own rounding; the differences are taken in float64
}
TOLERANCES |= {np.dtype(np.complex128): 1e-7, np.dtype(np.complex64): 1e-3}

ENOUGH = 1e-11  # of a difference's error: well below all tolerances

Path = tuple[str, tuple[Any, ...]]  # an argument's name, and the way into it where it is a tuple or a dict


def richardson(
    f: Callable[[Any], Any], x: Any, t: Any = 1.0, *, step: float = 2.0**-5, levels: int = 12, enough: float = 0.0
) -> tuple[Any, Any]:
    """The derivative of `f` at `x` along `t`, by central differences extrapolated to step zero.

    Parameters
    ----------
    f : callable
        A function of one number or array.
    x, t : float or array
        The point, and the direction.
    step : float, optional
        The largest step; each level halves it.  Steps at which `f` is not finite are left out.
    levels : int, optional
        The number of steps.
    enough : float, optional
        No smaller step is tried where the error is at most this much of the derivative.

    Returns
    -------
    derivative, error : float or array
        The best entry of Richardson's table for each element of the output, and what it is estimated to be off by.

    Examples
    --------
    >>> derivative, error = richardson(np.sin, 1.0)
    >>> bool(abs(derivative - np.cos(1.0)) < 1e-11)
    True
    """
    best: Any = np.nan
    error: Any = np.inf
    previous: list[Any] = []
    with np.errstate(all="ignore"):
        for level in range(levels):
            h = step / 2**level
            row = [(np.asarray(f(x + h * t)) - np.asarray(f(x - h * t))) / (2 * h)]
            for order, coarse in enumerate(previous, start=1):
                row.append(row[-1] + (row[-1] - coarse) / (4**order - 1))
                off = np.fmax(abs(row[order] - row[order - 1]), abs(row[order] - coarse))
                better = off < error
                best, error = np.where(better, row[order], best), np.where(better, off, error)
            if np.all(error <= enough * abs(best)):
                break
            previous = row
    return best[()], error[()]  # a number for a number


def complex_step(f: Callable[[Any], Any], x: Any, t: Any = 1.0) -> Any:
    """The derivative of `f` at `x` along `t`, to rounding, from one complex evaluation.

    Only for functions that are analytic as they are written: no abs, comparison, maximum, or real array in between.

    Examples
    --------
    >>> float(complex_step(lambda x: x**3, 2.0))
    12.0
    """
    h = 1e-100
    return np.imag(f(x + 1j * h * np.asarray(t))) / h


def check_grad(
    f: Any,
    *args: Any,
    v: Any = None,
    wrt: str | int | tuple[str | int, ...] | None = None,
    outputs: tuple[str, ...] | None = None,
    seed: int = 0,
    rtol: float | None = None,
    **kwargs: Any,
) -> None:
    """Check `f.backward` at one point against differences of the undecorated function.

    Parameters
    ----------
    f : callable
        What `grad` gave back: it has `py_func` and `backward`.
    *args, **kwargs
        Where to check it: numbers, arrays, and tuples and dicts of them.
    v : optional
        The cotangent; random where it is left out.
    wrt, outputs : optional
        As for `grad`; where they are left out, the attributes of that name of `f`, if it has them.
    seed : int, optional
        For the random directions.
    rtol : float, optional
        Instead of the entry of `TOLERANCES`.

    Raises
    ------
    AssertionError
        Where the two disagree, with the argument, the direction and the worst element; or where a cotangent has not
        its argument's shape and dtype, or an argument has changed.

    Examples
    --------
    >>> class Square:
    ...     py_func = staticmethod(lambda x: x * x)
    ...     backward = staticmethod(lambda x, v: 2 * x * v)
    >>> check_grad(Square, np.array([1.0, 2.0]))
    >>> Square.backward = staticmethod(lambda x, v: np.array([2.0, 3.0]) * x * v)
    >>> check_grad(Square, np.array([1.0, 2.0]))
    Traceback (most recent call last):
    AssertionError: the gradient of <lambda> with respect to x is wrong
      along a random direction (seed 0):
        <v, J t> = 0.1056097 by differences of the undecorated function
        <J^T v, t> = 0.0778940691 by backward; they differ by 0.028, allowed is 2.4e-08
      worst element x[1]: -0.528419453 by differences, -0.79262918 by backward
    """
    if not hasattr(f, "backward"):
        raise ArgumentError("check_grad takes a function with its gradient", help=("check_grad(grad(f), ...)",))
    function = f.py_func
    wrt = getattr(f, "wrt", None) if wrt is None else wrt
    bound = signature_of(function).bind(*args, **kwargs)
    bound.apply_defaults()
    point = _Point(function, bound, getattr(f, "outputs", None) if outputs is None else outputs)
    random = np.random.default_rng(seed)
    if v is None:
        v = _map(lambda leaf: _random_like(leaf, random), point.results(point.leaves))
    before = [np.copy(leaf) for _, leaf in point.leaves]
    try:
        cotangents = _backward(f, bound, v)
    except (ArgumentError, ShapeError):
        v = point.joined(v)
        cotangents = _backward(f, bound, v)
    for (path, now), then in zip(point.leaves, before, strict=True):
        has_nan = then.dtype.kind in "fc"
        assert np.array_equal(now, then, equal_nan=has_nan), f"backward changed its argument {_text(path)}"
    asked = _asked(point.names, point.leaves, wrt)
    given = [(way, leaf) for way, leaf in _leaves(cotangents) if leaf is not None]  # None: nothing to differentiate
    assert len(given) == len(asked), f"backward gave {len(given)} cotangents for {len(asked)} arguments"
    for path, (_, cotangent) in zip(asked, given, strict=True):
        _check_argument(point, path, cotangent, v, random, seed, rtol)


def _backward(f: Any, bound: inspect.BoundArguments, v: Any) -> Any:
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in bound.signature.parameters.values()):
        return f.backward(*bound.args, **bound.kwargs, **{cotangent_name(bound.signature.parameters): v})
    return f.backward(*bound.args, v, **bound.kwargs)


class _Point:
    """The undecorated function around one point, its arguments flattened to named leaves."""

    def __init__(self, function: Callable[..., Any], bound: inspect.BoundArguments, outputs: Any) -> None:
        self.function, self.bound = function, bound
        self.names, self.args = list(bound.arguments), tuple(bound.arguments.values())
        self.leaves = [((name, way), leaf) for name, arg in bound.arguments.items() for way, leaf in _leaves(arg)]
        self.outputs = (outputs,) if isinstance(outputs, str) else outputs
        self.has_joined = False

    def joined(self, v: Any) -> Any:
        """v with arrays in the place of lists of numbers, as it is for lists that a run makes as long as they are."""
        self.has_joined = True
        return _joined(v)

    def results(self, leaves: list[tuple[Path, Any]]) -> Any:
        """What f computes from these leaves: its return value, or the floating arrays that it has written."""
        fresh = iter([np.copy(leaf) if isinstance(leaf, np.ndarray) else leaf for _, leaf in leaves])
        args = [_map(lambda _: next(fresh), arg) for arg in self.args]
        bound = inspect.BoundArguments(self.bound.signature, OrderedDict(zip(self.names, args, strict=True)))
        with np.errstate(all="ignore"):
            returned = self.function(*bound.args, **bound.kwargs)
        if returned is not None:
            return returned
        if self.outputs is None:
            self.outputs = self._written(args)
        written = tuple(args[self.names.index(name)] for name in self.outputs)
        return written[0] if len(written) == 1 else written

    def _written(self, args: list[Any]) -> tuple[str, ...]:
        pairs = zip(self.names, args, self.args, strict=True)
        return tuple(name for name, now, then in pairs if _is_inexact_array(then) and not np.array_equal(now, then))

    def along(self, path: Path, direction: Any, v: Any) -> tuple[float, float]:
        """<v, J t> for a direction in one argument, and its error."""
        return richardson(lambda h: self._weighed(path, h * direction, v), 0.0, enough=ENOUGH)

    def size(self, v: Any) -> float:
        """The sum of what <v, f> adds up, in absolute value."""
        return sum(float(np.sum(abs(term))) for term in self._terms(self.leaves, v))

    def _weighed(self, path: Path, shift: Any, v: Any) -> float:
        """<v, f(shifted)>, in double precision."""
        moved = [(p, _shifted(leaf, shift if p == path else 0.0)) for p, leaf in self.leaves]
        return sum(float(np.sum(term)) for term in self._terms(moved, v))

    def _terms(self, leaves: list[tuple[Path, Any]], v: Any) -> Iterator[np.ndarray]:
        weights = [_wide(leaf) for _, leaf in _leaves(v)]
        results = self.results(leaves)
        values = [_wide(leaf) for _, leaf in _leaves(_joined(results) if self.has_joined else results)]
        for w, y in zip(weights, values, strict=True):
            yield np.where(w == 0, 0.0, (w * y).real)  # where nothing is asked, even nan counts for nothing


def _check_argument(
    point: _Point, path: Path, cotangent: Any, v: Any, random: np.random.Generator, seed: int, rtol: float | None
) -> None:
    leaf = dict(point.leaves)[path]
    dtype, shape = np.asarray(leaf).dtype, np.shape(leaf)
    got = np.asarray(cotangent)
    assert got.shape == shape, f"the cotangent of {_text(path)} has shape {got.shape}, not {shape}"
    assert got.dtype == dtype, f"the cotangent of {_text(path)} is {got.dtype}, not {dtype}"
    exact = _wide(got)
    direction = _wide(_random_like(np.zeros(shape, exact.dtype), random))
    contributions = (exact * direction).real
    forward, error = point.along(path, direction, v)
    reverse = float(np.sum(contributions))
    tolerance = TOLERANCES[dtype] if rtol is None else rtol
    scale = max(float(np.sum(abs(contributions))), abs(forward))
    allowed = tolerance * scale + min(4 * error, 1e-4 * scale)  # where differences fail, that is no excuse
    allowed += 1e-11 * point.size(v)  # the rounding of differences of something large
    if abs(forward - reverse) <= allowed:
        return
    function = getattr(point.function, "__qualname__", "the function").rpartition(".")[2]
    raise AssertionError(
        f"the gradient of {function} with respect to {_text(path)} is wrong\n"
        f"  along a random direction (seed {seed}):\n"
        f"    <v, J t> = {forward:.9g} by differences of the undecorated function\n"
        f"    <J^T v, t> = {reverse:.9g} by backward; "
        f"they differ by {abs(forward - reverse):.2g}, allowed is {allowed:.2g}\n"
        f"  {_worst(point, path, exact, v)}"
    )


def _worst(point: _Point, path: Path, cotangent: np.ndarray, v: Any) -> str:
    """The element that is furthest off, among the first 200."""
    rows = []
    for index in list(np.ndindex(cotangent.shape))[:200]:
        difference = _difference(point, path, index, cotangent, v)
        off = abs(difference - cotangent[index])
        rows.append((np.inf if np.isnan(off) else off, index, difference))
    if not rows:
        return f"{_text(path)} is empty"
    _, index, difference = max(rows, key=lambda row: row[0])
    where = f"[{', '.join(map(str, index))}]" if index else ""
    return f"worst element {_text(path)}{where}: {difference:.9g} by differences, {cotangent[index]:.9g} by backward"


def _difference(point: _Point, path: Path, index: tuple[int, ...], cotangent: np.ndarray, v: Any) -> Any:
    """What the cotangent of one element should be: dL/dx, or dL/dx - i dL/dy of a complex one."""
    direction = np.zeros_like(cotangent)
    direction[index] = 1.0
    along_x, _ = point.along(path, direction, v)
    if cotangent.dtype.kind != "c":
        return along_x
    along_y, _ = point.along(path, 1j * direction, v)
    return along_x - 1j * along_y


# --------------------------------------------------------------------------------------------------------------
# Nested tuples and dicts of numbers and arrays.


def _joined(value: Any) -> Any:
    numbers = (int, float, complex, np.number, np.bool_, np.ndarray)
    if isinstance(value, list) and all(isinstance(item, numbers) for _, item in _leaves(value)):
        return np.array(value)
    if isinstance(value, dict):
        return {key: _joined(item) for key, item in value.items()}
    return tuple(map(_joined, value)) if isinstance(value, tuple) else value


def _leaves(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, (tuple, list, dict)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*way, key))
    else:
        yield way, value


def _map(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        made = copy.copy(value)  # of its class
        made.update({key: _map(change, item) for key, item in value.items()})
        return made
    if isinstance(value, (tuple, list)):
        items = [_map(change, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return change(value)


def _text(path: Path) -> str:
    name, way = path
    return name + "".join(f"[{k!r}]" for k in way)


def _is_inexact(leaf: Any) -> bool:
    return isinstance(leaf, (float, complex, np.inexact, np.ndarray)) and np.asarray(leaf).dtype.kind in "fc"


def _is_inexact_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and _is_inexact(leaf)


def _wide(leaf: Any) -> np.ndarray:
    """In double precision."""
    return np.asarray(leaf, dtype=np.complex128 if np.iscomplexobj(leaf) else np.float64)


def _asked(names: list[str], leaves: list[tuple[Path, Any]], wrt: Any) -> list[Path]:
    """The leaves that have a cotangent, in its order."""
    real = [path for path, leaf in leaves if _is_inexact(leaf)]
    if wrt is None:
        return real
    wanted = [names[w] if isinstance(w, int) else w for w in (wrt if isinstance(wrt, (tuple, list)) else (wrt,))]
    return [path for name in wanted for path in real if path[0] == name]


def _random_like(leaf: Any, random: np.random.Generator) -> Any:
    if not _is_inexact(leaf):
        return np.zeros(np.shape(leaf))[()]  # nothing to weigh
    dtype = np.asarray(leaf).dtype
    drawn: Any = random.standard_normal(np.shape(leaf))
    if dtype.kind == "c":
        drawn = drawn + 1j * random.standard_normal(np.shape(leaf))
    return drawn.astype(dtype) if np.shape(leaf) else dtype.type(drawn)


def _shifted(leaf: Any, shift: Any) -> Any:
    """A real or complex leaf moved, in double precision; anything else as it is."""
    if not _is_inexact(leaf):
        return leaf
    moved = _wide(leaf) + shift
    if isinstance(leaf, np.ndarray):
        return moved
    return moved.item() if isinstance(leaf, (float, complex)) else moved[()]
