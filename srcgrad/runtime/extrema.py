"""The larger and the smaller of two numbers, as one instruction each: nan wins, as in NumPy, and loops vectorise.

maximum(1.0, nan)  →  nan
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types, typing
from numba.extending import lower_builtin, type_callable


def maximum(x: Any, y: Any) -> Any:
    """np.maximum of two floats."""
    return np.maximum(x, y)


def minimum(x: Any, y: Any) -> Any:
    """np.minimum of two floats."""
    return np.minimum(x, y)


def _register(function: Any) -> None:
    def typer(context: Any) -> Any:
        def result(x: types.Type, y: types.Type) -> typing.Signature | None:
            if not all(isinstance(kind, (types.Float, types.Integer, types.Boolean)) for kind in (x, y)):
                return None
            kind = types.float32 if x == y == types.float32 else types.float64
            return typing.signature(kind, kind, kind)

        return result

    def lower(context: Any, builder: ir.IRBuilder, signature: typing.Signature, args: Any) -> ir.Value:
        kind = args[0].type
        name = f"llvm.{function.__name__}.{'f32' if kind == ir.FloatType() else 'f64'}"
        instruction = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(kind, [kind, kind]), name
        )
        return builder.call(instruction, args)

    type_callable(function)(typer)
    lower_builtin(function, types.Float, types.Float)(lower)


_register(maximum)
_register(minimum)

__all__ = ["maximum", "minimum"]
