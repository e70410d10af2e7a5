"""Functions that compiled code does not call: a pass of Numba's pipeline puts an intrinsic in their places.

Numba compiles a function, and all that stands behind it, for every program that calls it, a tenth of a second each; an
intrinsic is a few lines of LLVM's language where the call was.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import get_definition, guard

STAND_INS: dict[Any, Any] = {}  # the function → its intrinsic
FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.transpose), np.ufunc)


@register_pass(mutates_CFG=False, analysis_only=False)
class PutStandIns(FunctionPass):
    _name = "srcgrad_put_stand_ins"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        changed = False
        for block in state.func_ir.blocks.values():
            for assign in block.find_insts(ir.Assign):
                function = _named(state.func_ir, assign.value)
                if function in STAND_INS:
                    assign.value = ir.Global(function.__name__, STAND_INS[function], assign.loc)
                    state.func_ir._definitions[assign.target.name] = [assign.value]
                    changed = True
        return changed


def _named(func_ir: Any, value: Any) -> Any:
    """The function that stands in the text: `matvec`, `np.empty`."""
    found = _value(func_ir, value)
    return found if isinstance(found, FUNCTIONS) else None


def _value(func_ir: Any, value: Any) -> Any:
    if isinstance(value, ir.Expr) and value.op == "getattr":
        module = _value(func_ir, guard(get_definition, func_ir, value.value))
        return getattr(module, value.attr, None) if isinstance(module, ModuleType) else None
    return value.value if isinstance(value, ir.Global) else None


__all__ = ["STAND_INS", "PutStandIns"]
