"""Tests of gradients, for users too: `check_grad` compares `f.backward` with differences of the undecorated function.

    check_grad(f, x, w)   →   nothing, or an AssertionError that names the argument, the direction and the worst element

One random direction t per argument checks a gradient of any size: <v, J t> by differences, <J^T v, t> by `backward`.
Where numbers are complex, <v, t> is the real part of v^T t, without conjugation.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from srcgrad.arguments import parts_of_object
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

STEP = 2.0**-5  # the largest
CLOSER = (1e-2, 1e-4)  # steps by all of which a gradient may still prove right
CONVERGED = 0.05  # of a difference: one whose error is larger accuses nobody before smaller steps were tried
EPSILON = 2.0**-52
ENOUGH = 1e-11  # of a difference's error: well below all tolerances

Path = tuple[str, tuple[Any, ...]]  # an argument's name, and the way into it where it is a tuple, a dict or an object


def richardson(
    f: Callable[[Any], Any], x: Any, t: Any = 1.0, *, step: float = STEP, levels: int = 12, enough: float = 0.0
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
    seed: int | None = None,
    rtol: float | None = None,
    **kwargs: Any,
) -> None:
    """Check `f.backward` at one point against differences of the undecorated function.

    Parameters
    ----------
    f : callable
        What `grad` gave back: it has `py_func` and `backward`.
    *args, **kwargs
        Where to check it: numbers, arrays, and tuples, dicts and objects of them.  Arguments that are left out have
        their defaults, and their cotangents are not compared with differences, unless `wrt` names them: a tolerance,
        say, decides how many rounds a loop makes, and moving it tells nothing.  The names of `check_grad`'s own
        keywords are refused where f has such a parameter, too, and it was not given by position.
    v : optional
        The cotangent; random where it is left out.
    wrt, outputs : optional
        As for `grad`; where they are left out, the attributes of that name of `f`, if it has them.
    seed : int, optional
        For the random directions; 0 by default.
    rtol : float, optional
        Instead of the entry of `TOLERANCES`.

    Raises
    ------
    AssertionError
        Where the two disagree, with the argument, the direction and the worst element; where the differences don't
        tell ("can't be checked here": they are not finite, or their error is larger than what the two disagree by; a
        check that could not be made is no pass); or where a cotangent has not its argument's shape and dtype, or an
        argument has changed.
    ArgumentError
        Where it is not clear whose keyword one is.

    Notes
    -----
    Steps are 1/32 and smaller.  Where such steps disagree with `backward` and don't tell, they are taken again in
    units of the smallest element of the argument that is not 0.

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
    named, wrt = wrt, getattr(f, "wrt", None) if wrt is None else wrt
    signature = signature_of(function)
    own = {"v": v, "wrt": named, "outputs": outputs, "seed": seed, "rtol": rtol}
    _refuse_names_of_both(function, signature, args, [name for name, value in own.items() if value is not None])
    bound = signature.bind(*args, **kwargs)
    given = set(bound.arguments)
    bound.apply_defaults()
    point = _Point(function, bound, getattr(f, "outputs", None) if outputs is None else outputs)
    seed = seed or 0
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
    got = [leaf for _, leaf in _leaves(cotangents) if leaf is not None]  # None: nothing to differentiate
    assert len(got) == len(asked), f"backward gave {len(got)} cotangents for {len(asked)} arguments"
    for path, cotangent in zip(asked, got, strict=True):
        _check_type(point, path, cotangent)
        if path[0] in given or wrt is not None:
            _check_argument(point, path, cotangent, v, random, seed, rtol)


def _refuse_names_of_both(
    function: Any, signature: inspect.Signature, args: tuple[Any, ...], own: Sequence[str]
) -> None:
    """Keywords that check_grad takes, of a function that has such a parameter, too."""
    by_position = signature.bind_partial(*args).arguments
    for name in own:
        if name in signature.parameters and name not in by_position:
            called = getattr(function, "__name__", "the function")
            raise ArgumentError(
                f"check_grad has a keyword {name} of its own, and {called} has a parameter {name}",
                help=(
                    f"pass the parameter by position:  check_grad({called}, ..., {name})",
                    f"or give it beforehand:  check_grad(grad(functools.partial({called}, {name}=...)), ...)",
                ),
            )


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
        self.has_moved = False  # has f given a result at any point beside this one?
        self.raised: Exception | None = None  # what it raised first where it has not

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

    def along(self, path: Path, direction: Any, v: Any, unit: float) -> tuple[float, float]:
        """<v, J t> for a direction in one argument, and its error; the steps are in this unit."""
        return richardson(lambda h: self._weighed(path, h * direction, v), 0.0, step=unit * STEP, enough=ENOUGH)

    def size(self, v: Any) -> float:
        """The sum of what <v, f> adds up, in absolute value."""
        return sum(float(np.sum(abs(term), where=np.isfinite(term))) for term in self._terms(self.leaves, v))

    def _weighed(self, path: Path, shift: Any, v: Any) -> float:
        """<v, f(shifted)>, in double precision; nan where f raises, as a smaller step may stay in its domain."""
        moved = [(p, _shifted(leaf, shift if p == path else 0.0)) for p, leaf in self.leaves]
        try:
            weighed = sum(float(np.sum(term)) for term in self._terms(moved, v))
        except Exception as error:
            self.raised = self.raised or error
            return np.nan
        self.has_moved = True
        return weighed

    def _terms(self, leaves: list[tuple[Path, Any]], v: Any) -> Iterator[np.ndarray]:
        weights = [leaf for _, leaf in _leaves(v)]
        results = self.results(leaves)
        values = [leaf for _, leaf in _leaves(_joined(results) if self.has_joined else results)]
        for given, value in zip(weights, values, strict=True):
            if given is None:
                continue
            w, y = _wide(given), _wide(value)
            yield np.where(w == 0, 0.0, (w * y).real)  # where nothing is asked, even nan counts for nothing


def _check_type(point: _Point, path: Path, cotangent: Any) -> None:
    leaf = dict(point.leaves)[path]
    dtype, shape = np.asarray(leaf).dtype, np.shape(leaf)
    got = np.asarray(cotangent)
    assert got.shape == shape, f"the cotangent of {_text(path)} has shape {got.shape}, not {shape}"
    assert got.dtype == dtype, f"the cotangent of {_text(path)} is {got.dtype}, not {dtype}"


def _check_argument(
    point: _Point, path: Path, cotangent: Any, v: Any, random: np.random.Generator, seed: int, rtol: float | None
) -> None:
    point.has_moved, point.raised = False, None
    leaf = dict(point.leaves)[path]
    exact = _wide(cotangent)
    direction = _wide(_random_like(np.zeros(exact.shape, exact.dtype), random))
    tolerance = TOLERANCES[np.asarray(leaf).dtype] if rtol is None else rtol
    at, size = _wide(leaf), point.size(v)
    with np.errstate(all="ignore"):
        contributions = (exact * direction).real
        reverse = float(np.sum(contributions))
        lost = float(np.sum(abs(exact * at)))  # in units of the rounding of the argument
    for unit in _units(at, direction):
        forward, error = point.along(path, direction, v, unit)
        off = abs(forward - reverse)
        scale = max(float(np.sum(abs(contributions))), abs(forward))
        allowed = tolerance * scale + min(4 * error, 1e-4 * scale)  # where differences fail, that is no excuse
        allowed += 1e-11 * size  # the rounding of differences of something large
        if off <= allowed and np.isfinite(allowed):
            return
        rounding = 4 * EPSILON * (size + lost) / (unit * STEP)
        tells = np.isfinite(forward) and not off <= (max(4 * error, rounding) if np.isfinite(reverse) else 0.0)
        if tells and error < CONVERGED * abs(forward):
            break
    if tells and np.isfinite(reverse):
        for closer in CLOSER:  # than the kinks that the steps have met
            near, error = point.along(path, direction, v, unit * closer)
            rounding = 4 * EPSILON * (size + lost) / (unit * closer * STEP)
            if not abs(near - reverse) <= tolerance * scale + min(4 * error + rounding, 1e-4 * scale):
                break
        else:
            return
    each = _each(point, path, exact, v)
    if tells and _agree(each, tolerance, size):  # the direction has met kinks that no element by itself is near to
        if len(each) == exact.size:
            return
        tells = False
    if point.raised is not None and not point.has_moved:
        if sys.version_info >= (3, 11):
            point.raised.add_note(
                f"check_grad moved {_text(path)} by steps from {STEP:.2g} down, and {_name(point)} raised at each"
            )
        raise point.raised
    verdict = "is wrong" if tells else "can't be checked here"
    raise AssertionError(
        f"the gradient of {_name(point)} with respect to {_text(path)} {verdict}\n"
        f"  along a random direction (seed {seed}):\n"
        f"    <v, J t> = {forward:.9g} by differences of the undecorated function\n"
        f"    <J^T v, t> = {reverse:.9g} by backward; "
        f"they differ by {abs(forward - reverse):.2g}, allowed is {allowed:.2g}\n"
        f"  {_worst(path, each)}"
    ) from (None if tells else point.raised)


def _name(point: _Point) -> str:
    return getattr(point.function, "__qualname__", "the function").rpartition(".")[2]


def _units(at: np.ndarray, direction: np.ndarray) -> list[float]:
    """Units of the steps, to be tried in turn: the second moves no element by more than itself.

    (1 comes first, as what is added to small elements is seldom small.)
    """
    ratios = abs(at[direction != 0]) / abs(direction[direction != 0])
    smallest = float(np.min(ratios, where=ratios > 0, initial=np.inf))
    return [1.0, smallest] if smallest < 1 else [1.0]


Element = tuple[tuple[int, ...], Any, Any, float]  # its index, what is by differences and by backward, and an error


def _each(point: _Point, path: Path, cotangent: np.ndarray, v: Any) -> list[Element]:
    """The first 200 elements one by one."""
    indices = list(np.ndindex(cotangent.shape))[:200]
    found = ((index, _difference(point, path, index, cotangent, v)) for index in indices)
    return [(index, difference, cotangent[index], error) for index, (difference, error) in found]


def _agree(each: list[Element], tolerance: float, size: float) -> bool:
    """Is each element what the difference along it alone says?"""
    largest = max((abs(exact) for _, _, exact, _ in each), default=0.0)
    allowed = lambda exact, error: (
        tolerance * max(abs(exact), 1e-3 * largest) + min(4 * error, 1e-4 * abs(exact)) + 1e-11 * size
    )
    is_close = (abs(difference - exact) <= allowed(exact, error) for _, difference, exact, error in each)
    return bool(np.isfinite(largest)) and all(is_close)


def _worst(path: Path, each: list[Element]) -> str:
    """The element that is furthest off."""
    rows = [(abs(difference - exact), index, difference, exact) for index, difference, exact, _ in each]
    if not rows:
        return f"{_text(path)} is empty"
    _, index, difference, exact = max(rows, key=lambda row: np.inf if np.isnan(row[0]) else row[0])
    where = f"[{', '.join(map(str, index))}]" if index else ""
    return f"worst element {_text(path)}{where}: {difference:.9g} by differences, {exact:.9g} by backward"


def _difference(point: _Point, path: Path, index: tuple[int, ...], cotangent: np.ndarray, v: Any) -> tuple[Any, float]:
    """What the cotangent of one element should be: dL/dx, or dL/dx - i dL/dy of a complex one; and its error."""
    direction = np.zeros_like(cotangent)
    direction[index] = 1.0
    at = _wide(dict(point.leaves)[path])

    def along(direction: np.ndarray) -> tuple[float, float]:
        best, least = np.nan, np.inf
        for unit in _units(at, direction):
            forward, error = point.along(path, direction, v, unit)
            if error < least:
                best, least = forward, error
            if error < CONVERGED * abs(forward):
                break
        return best, least

    real, error = along(direction)
    if cotangent.dtype.kind != "c":
        return real, error
    imaginary, other = along(1j * direction)
    return real - 1j * imaginary, error + other


# --------------------------------------------------------------------------------------------------------------
# Nested tuples, dicts and objects of numbers and arrays.


class _Attribute(str):
    """The name of an attribute, in a way."""


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
        return
    held = _parts_of_object(value)
    if held is None:
        yield way, value
    else:
        for name, item in held.items():
            yield from _leaves(item, (*way, _Attribute(name)))


def _parts_of_object(value: Any) -> dict[str, Any] | None:
    return None if isinstance(value, Enum) else parts_of_object(value)


def _map(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        made = copy.copy(value)  # of its class
        made.update({key: _map(change, item) for key, item in value.items()})
        return made
    if isinstance(value, (tuple, list)):
        items = [_map(change, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    held = _parts_of_object(value)
    if held is None:
        return change(value)
    made = copy.copy(value)
    for name, item in held.items():
        object.__setattr__(made, name, _map(change, item))  # it may be frozen
    return made


def _text(path: Path) -> str:
    name, way = path
    return name + "".join(f".{k}" if isinstance(k, _Attribute) else f"[{k!r}]" for k in way)


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
    if leaf is None or isinstance(leaf, str):
        return None
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
