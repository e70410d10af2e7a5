"""Functions of NumPy's and SciPy's that Numba does not know: Python's interpreter runs them amid compiled code.

let_compiled_code_call("np.packbits", np.packbits)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.extending import overload
from numba.np.numpy_support import as_dtype, from_dtype

from srcgrad.errors import RuntimeUnsupportedError
from srcgrad.runtime.stand_ins import STAND_INS

_stand_ins_for: dict[Callable[..., Any], Callable[..., Any]] = {}


def let_compiled_code_call(name: str, function: Callable[..., Any]) -> bool:
    """Have generated code find it under NumPy's or SciPy's name.  Is it the interpreter that runs it there?"""
    if function not in STAND_INS and not is_known(name):
        _stand_ins_for[function] = STAND_INS[function] = _stand_in(name, function)
    return function in _stand_ins_for


def is_known(name: str) -> bool:
    """Does Numba compile a function of that name?"""
    module, *path = name.split(".")
    if module != "np":
        return False
    cpu_target.target_context.refresh()
    found: Any = types.Module(np)
    for part in path:
        found = found and cpu_target.typing_context.resolve_getattr(found, part)
    return found is not None


def tried(function: Callable[..., Any], args: Iterable[Any]) -> Any:
    """What it gives for these, of which only the type is asked: nobody is warned of their values."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def _stand_in(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return function(*args)

    @overload(call, prefer_literal=True)
    def _call(*args):
        sample = tried(function, map(_sample, args))
        kind = from_dtype(sample.dtype)

        def run(*args: Any) -> Any:
            made = function(*args)
            if (made.dtype, made.ndim) != (sample.dtype, sample.ndim):  # compiled code would read it as the sample
                raise RuntimeUnsupportedError(f"of which type the result of {name} is depends on the values")
            return np.ascontiguousarray(made) if made.ndim else made

        scope = {
            "objmode": numba.objmode,
            "run": run,
            "kind": types.Array(kind, sample.ndim, "C") if sample.ndim else kind,
        }
        exec("def call(*args):\n    with objmode(y=kind):\n        y = run(*args)\n    return y\n", scope)
        return scope["call"]

    return call


def _sample(kind: Any) -> Any:
    """A value of the kind; of what the results are does not depend on which (see `without_rules`)."""
    if isinstance(kind, types.Array):
        return np.ones((2,) * kind.ndim, as_dtype(kind.dtype))
    if isinstance(kind, (types.NoneType, types.Omitted)):
        return None
    if isinstance(kind, types.StringLiteral):
        return kind.literal_value
    if isinstance(kind, (types.Number, types.Boolean)):
        return as_dtype(types.unliteral(kind)).type(1)
    raise TypingError(f"{kind} can't be handed to Python's interpreter")
