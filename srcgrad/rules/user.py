"""What users say about derivatives: that there is none, or what it is.

w = stop_gradient(x) * x      →      x_b = w_b * x          (the first x counts as a constant)

@rule(partials=(lambda x: 2 * x,))
def square(x): ...            →      a row of the table in `scalar`: its partials are functions of the user's as well

@rule(vjp=..., result="x")
def solve(x): ...             →      a library call, whose adjoint is one call of the user's vjp
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import OptionError
from ..ir.expressions import Call
from ..runtime import user
from .partials import UNKNOWN, Partial
from .scalar import PRIMITIVES, REAL, Primitive

NUMBERS: set[str] = set()  # the routines whose result is a number, in memory of one element


def stop_gradient(x: Any) -> Any:
    """The value of x, as a constant: no derivative goes back through it.

    Parameters
    ----------
    x : number, array, or tuple or list of them

    Returns
    -------
    number, array, tuple or list
        As x; arrays are copies.

    Examples
    --------
    >>> from srcgrad import grad, stop_gradient
    >>> f = grad(lambda x: stop_gradient(x) * x)
    >>> f(3.0), f.backward(3.0)
    (9.0, 3.0)
    """
    if isinstance(x, (tuple, list)):
        items = [stop_gradient(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x.copy() if isinstance(x, np.ndarray) else x


def rule(
    function: Callable[..., Any] | None = None,
    /,
    *,
    partials: Any = None,
    vjp: Callable[..., Any] | None = None,
    result: str | type | Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Give a function a derivative of your own: srcgrad calls both, and reads neither.

    Works as `@rule(partials=...)` above a function, and as `rule(f, partials=...)` for one from elsewhere: a Python or
    `@njit` function, one of SciPy's, one from ctypes.  Both functions must be pure: they may be called more often than
    it says in your program, or not at all, and must not write to their arguments.  What they read from outside is as it
    was when they were first compiled.

    Parameters
    ----------
    function : callable
        Of numbers (with `partials`; arrays then go through it element by element, with broadcasting), or of arrays and
        numbers (with `vjp`).
    partials : callable or tuple of callables, numbers or None
        One for each argument: the partial derivative by it, as a function of the same arguments, or of those and the
        function's result.  None: it has none (a whole number, say).  Numbers come as float64 or int64, and the result
        has the dtype that NumPy gives to a sum of the arguments.
    vjp : callable
        `vjp(v, out, *args)` gives the cotangents of the arguments, a tuple, where `out` is the result and `v` its
        cotangent.  None stands for zeros.  For one argument the cotangent may stand alone.
    result : str, type or callable, with `vjp`
        What the result is like: the name of an argument of its shape and dtype; `float` or `np.float32` for a number;
        or a function of the arguments that makes an array of its shape and dtype, as in
        `lambda x, w: np.empty((len(x), w.shape[1]))`.
    name : str, optional
        What it is called in generated code; otherwise as the function.

    Returns
    -------
    callable
        Runs the function; inside a `@grad` function, has its derivative.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from srcgrad import grad, rule
    >>> @rule(partials=lambda x, out: 1.0 - out * out)
    ... def squash(x):
    ...     return math.tanh(x)
    >>> grad(lambda x: squash(x).sum()).backward(np.array([0.0, 1.0])).round(3)
    array([1.  , 0.42])
    >>> @rule(vjp=lambda v, out, x: v[::-1], result="x")
    ... def turned(x):
    ...     return x[::-1]
    >>> grad(lambda x: turned(x)[0]).backward(np.array([1.0, 2.0, 3.0]))
    array([0., 0., 1.])
    """
    if (partials is None) == (vjp is None):
        raise OptionError("a rule has partials= (for a function of numbers) or vjp= (for a function of arrays)")
    if (vjp is None) != (result is None):
        raise OptionError("result= says what the result of a function of arrays is like: it goes with vjp=")

    def decorate(function: Callable[..., Any]) -> UserRule:
        if not callable(function):
            raise OptionError(f"rule takes a function, not a {type(function).__name__}")
        called = str(name or getattr(function, "__name__", ""))
        called = called if called.isidentifier() else "function"
        if vjp is None:
            given = partials if isinstance(partials, (tuple, list)) else (partials,)
            return ScalarRule(function, called, tuple(given))
        return ArrayRule(function, called, vjp, result)

    return decorate if function is None else decorate(function)


class UserRule:
    """A function with a derivative of the user's own."""

    def __init__(self, function: Callable[..., Any], called: str) -> None:
        functools.update_wrapper(self, function, updated=())  # type: ignore[arg-type]
        self.__name__ = called
        self.function = function
        self.parameters: tuple[str, ...] = ()
        self.defaults: dict[str, Any] = {}

    def _read_parameters(self, count: int | None) -> None:
        """Names and defaults, where the function shows them."""
        try:
            shown = inspect.signature(getattr(self.function, "py_func", self.function)).parameters.values()
        except (TypeError, ValueError):
            shown = ()  # type: ignore[assignment]
        named = [p for p in shown if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(named) == count or (count is None and len(named) == len(shown)):
            self.parameters = tuple(p.name for p in named)
            self.defaults = {p.name: p.default for p in named if p.default is not p.empty}
        elif shown and len(named) == len(shown):
            raise OptionError(f"{self.__name__} has {len(named)} arguments, and its rule {count} partials")
        else:
            self.parameters = tuple(f"x{k}" for k in range(count or 0))

    def __repr__(self) -> str:
        return f"<rule of {self.__name__}>"


class ScalarRule(UserRule):
    """A function of numbers, as a primitive: `op` is its row in the table."""

    def __init__(self, function: Callable[..., Any], called: str, partials: tuple[Any, ...]) -> None:
        super().__init__(function, called)
        self._read_parameters(len(partials))
        own = user.add_scalar(called, function, self.parameters)
        self.op = f"user.{own}"
        self._elementwise = user.named(own)
        given = tuple(self._partial(k, p) for k, p in enumerate(partials))
        PRIMITIVES[self.op] = _row(self.op, len(partials), given)

    def _partial(self, k: int, partial: Any) -> Partial | None:
        if partial is None:
            return None
        if isinstance(partial, (int, float)):
            return lambda *operands: float(partial)
        if not callable(partial):
            raise OptionError(f"the partials of {self.__name__} are functions, numbers or None")
        takes_result = _count(partial, len(self.parameters)) > len(self.parameters)
        names = (*self.parameters, "out") if takes_result else self.parameters
        own = user.add_scalar(f"{self.__name__}_by_{self.parameters[k]}", partial, names)
        op = f"user.{own}"
        PRIMITIVES[op] = _row(op, len(names), (UNKNOWN,) * len(names))
        return lambda *operands: Call(op, operands[: len(names)], operands[-1].dtype)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = _bound(self, args, kwargs)
        if all(np.ndim(value) == 0 and not isinstance(value, np.ndarray) for value in values):
            return self._elementwise(*values)
        arrays = np.broadcast_arrays(*values)
        out = np.empty(arrays[0].shape, result_dtype(tuple(map(_kind, values))))
        for index in np.ndindex(out.shape):
            out[index] = self._elementwise(*(array[index] for array in arrays))
        return out if out.ndim else out[()]


class ArrayRule(UserRule):
    """A function of arrays, as a library call: `routine` writes its result into memory that is there already."""

    def __init__(self, function: Callable[..., Any], called: str, vjp: Callable[..., Any], result: Any) -> None:
        super().__init__(function, called)
        self._read_parameters(None)
        if not self.parameters:
            self._read_parameters(_count(vjp, 3) - 2)
        if isinstance(result, str) and result not in self.parameters:
            raise OptionError(
                f"result={result!r} is no argument of {called}", help=(f"one of {', '.join(self.parameters)}",)
            )
        self.vjp, self.result = vjp, result
        is_number = isinstance(result, type)
        self.routine = f"user.{user.add_array(called, function, vjp, self.parameters, is_number)}"
        if is_number:
            NUMBERS.add(self.routine)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _row(op: str, count: int, partials: tuple[Any, ...]) -> Primitive:
    return Primitive(f"{op}({', '.join(['{}'] * count)})", partials, (REAL,) * count, singular=True, cost=100)


def _count(function: Any, otherwise: int) -> int:
    """The number of positional arguments that a function takes."""
    try:
        shown = inspect.signature(getattr(function, "py_func", function)).parameters.values()
    except (TypeError, ValueError):
        return getattr(function, "nin", otherwise)
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in shown)


def _bound(own: UserRule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    given = dict(zip(own.parameters, args, strict=False)) | kwargs
    values = own.defaults | given
    if len(args) > len(own.parameters) or set(values) != set(own.parameters):
        raise TypeError(f"{own.__name__} takes the arguments {', '.join(own.parameters)}")
    return tuple(values[name] for name in own.parameters)


def _kind(value: Any) -> Any:
    return (
        type(value)
        if isinstance(value, (int, float)) and not isinstance(value, np.generic)
        else np.asarray(value).dtype
    )


def result_dtype(kinds: tuple[Any, ...]) -> np.dtype:
    """The dtype of a sum of operands of these dtypes (or Python's int and float); float64 where all are whole."""
    floats = [
        np.dtype(k) for k in kinds if k is not float and k is not int and k is not bool and np.dtype(k).kind == "f"
    ]
    whole = [
        np.dtype(k) for k in kinds if k is not float and k is not int and k is not bool and np.dtype(k).kind in "iu"
    ]
    return np.result_type(*floats, *whole) if floats else np.dtype(np.float64)


__all__ = ["ArrayRule", "ScalarRule", "UserRule", "result_dtype", "rule", "stop_gradient"]
