"""Primitives by the names that generated code has for them, for adjoints that are differentiated themselves.

error_function(x)   →   "erf"          unless_zero(g, x)   →   "unless_zero"
"""

from __future__ import annotations

import re
from typing import Any

from ... import runtime
from ...ir.expressions import Call
from ...rules.names import UFUNCS
from ...rules.scalar import OF_COMPLEX, PRIMITIVES
from ...runtime import scipy_special, vector_math
from ..arithmetic import elementwise
from ..builder import Builder
from ..values import Scalar
from .table import Handler


def _named() -> dict[Any, str]:
    spelled = [(op, primitive.spelling) for op, primitive in PRIMITIVES.items()]
    spelled += [(op, text) for op, text in OF_COMPLEX.items()]
    spelled += [(name, f"{name}()") for name in vector_math.__all__ if name in PRIMITIVES]
    spelled += [("pow", "whole_power()"), ("pow", "int_power()"), ("fmod", "int_fmod()")]
    found: dict[Any, str] = {}
    for op, text in spelled:
        match = re.fullmatch(r"(special\.)?(\w+)\([^()]*\)", text)
        function = getattr(scipy_special if match[1] else runtime, match[2], None) if match else None
        if function is not None:
            found.setdefault(function, op)
    return found


def _handler(op: str) -> Handler:
    def handler(build: Builder, *numbers: Any) -> Any:
        if op in UFUNCS:
            return elementwise(build, op, numbers)
        args = tuple(number.expr for number in numbers)
        return Scalar(Call(op, args, args[-1].dtype))

    return handler


GENERATED: dict[Any, Handler] = {function: _handler(op) for function, op in _named().items()}
