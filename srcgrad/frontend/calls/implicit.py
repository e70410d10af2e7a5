"""What compositions that call a function of the user's ask about it: see `rules.compositions.registry`.

x = brentq(f, a, b)      →      x = …; x = follow(x, f(x), -1.0 / slope(f, x))
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.expressions import Call
from ...rules.compositions import registry
from ...rules.user import stop_gradient
from .. import known_values
from ..arithmetic import cast
from ..numpy.table import TABLE
from ..values import Bound, Closure, Differentiated, Scalar, Static, constant
from . import adjoints, lifted
from .builtins_of_python import BUILTINS

if TYPE_CHECKING:
    from ..interpret import Interpreter

FLOAT = np.dtype(np.float64)


def follow(interpreter: Interpreter, x: Scalar, t: Scalar, slope: Scalar) -> Any:
    build = interpreter.build
    slope = TABLE[stop_gradient](build, slope)
    operands = tuple(build.capture(cast(value.expr, FLOAT)) for value in (x, t, slope))
    return Scalar(Call("follow", operands, FLOAT), x.weak)


def slope(interpreter: Interpreter, function: Any, *args: Any) -> Any:
    from srcgrad.api import grad

    by_first = {"wrt": constant(0)}
    match function:
        case Closure():
            of: Any = Differentiated(function, options={"wrt": 0})
            return lifted.call(interpreter, of, "backward", list(args), {})
        case Static(value=target) if callable(target):
            made = adjoints.differentiated(interpreter, grad, [function], by_first)
            return adjoints.call(interpreter, made.value.backward, list(args), {})
        case Bound(function=inner, args=first, kwargs=known) if all(isinstance(value, Static) for value in first):
            given = functools.partial(inner, *(value.value for value in first))
            made = adjoints.differentiated(interpreter, grad, [Static(given)], by_first)
            return adjoints.call(interpreter, made.value.backward, list(args), dict(known))
    return interpreter.build.refuse("the derivative of this function", "write a function around it:  lambda x: f(x)")


def only_once(interpreter: Interpreter, what: Static) -> Any:
    if interpreter.build.again:
        interpreter.build.refuse(f"the derivative of {what.value} can't be differentiated itself")
    return constant(None)


def is_constant(interpreter: Interpreter, value: Any) -> Any:
    return constant(known_values.is_known(value))


BUILTINS.update(
    {registry.is_constant: is_constant, registry.follow: follow, registry.slope: slope, registry.only_once: only_once}
)
