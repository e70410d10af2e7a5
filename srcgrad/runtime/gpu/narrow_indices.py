"""Which whole numbers of a kernel fit into 32 bits, where no array and no axis of its grid is longer than `LONGEST`.

while i < u.shape[0]:          i is compared, and multiplied, as a number of 32 bits: a GPU has no others, and makes
    s += u[i, j]               one of 64 of two to four of these
    i += cuda.gridsize(1)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba.cuda import types
from numba.cuda.core import ir

from srcgrad.runtime.gpu.kernel_loops import Values, steps_of_grid
from srcgrad.runtime.gpu.launching import LONGEST

FITS = 1 << 31
AHEAD = 4096  # elements that a block goes over: a grid ends less than that behind the last one
ALONG = {"threadIdx": 1024, "blockDim": 1024, "blockIdx": LONGEST, "gridDim": LONGEST}
BLOCKS = ("blockIdx", "gridDim")
LENGTHS = ("shape", "size")  # of an array
SAME = ("exhaust_iter", "getiter", "iternext", "pair_first", "static_getitem")  # or a part of it


class Narrow:
    """What is known of the whole numbers of one kernel."""

    def __init__(self, func_ir: Any, typeof: Callable[[str], Any]) -> None:
        self.typeof = typeof
        self.steps = steps_of_grid(func_ir)
        self.values = Values(func_ir)
        self.known: dict[str, int] = {}

    def fits(self, name: str) -> bool:
        """Is it a whole number of 64 bits which 32 hold?"""
        return types.unliteral(self.typeof(name)) == types.int64 and self.most(name) < FITS

    def most(self, name: str) -> int:
        """How large a number is at most, either way, or one of those in a tuple."""
        if name not in self.known:
            self.known[name] = FITS  # of one that hangs on itself
            self.known[name] = self._after_steps(name) + max(map(self._of, self._others(name)), default=FITS)
        return self.known[name]

    def _others(self, name: str) -> list[Any]:
        return [value for value in self.values.all[name] if self._step(name, value) is None]

    def _after_steps(self, name: str) -> int:
        """How far steps of the grid take it on: until it has come to the end of an axis."""
        steps = [step for value in self.values.all[name] if (step := self._step(name, value)) is not None]
        return max((LONGEST + self.most(step) for step in steps), default=0)

    def _step(self, name: str, value: Any) -> str | None:
        """`gridsize(1)`, where the value is `name + gridsize(1)`."""
        total = self.values.of(value.name, "inplace_binop") if isinstance(value, ir.Var) else None
        if total is None or total.lhs.name != name or total.rhs.name not in self.steps:
            return None
        return str(total.rhs.name)

    def _of(self, value: Any) -> int:
        if isinstance(value, ir.Var):
            return self.most(value.name)
        if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            return abs(value.value) if type(value.value) is int else FITS
        if not isinstance(value, ir.Expr):
            return FITS
        if value.op == "getattr":
            return self._of_attribute(value)
        if value.op == "call":
            return self._of_call(value)
        if value.op == "unary" and value.fn in (operator.neg, "-"):
            return self.most(value.value.name)
        if value.op == "binop":
            return self._of_binop(value)
        return self.most(value.value.name) if value.op in SAME else FITS

    def _of_attribute(self, value: Any) -> int:
        if value.attr in LENGTHS and isinstance(self.typeof(value.value.name), types.Array):
            return LONGEST
        along = self.values.of(value.value.name, "getattr")
        return ALONG.get(along.attr, FITS) if along else FITS

    def _of_call(self, value: Any) -> int:
        function = self.values.of(value.func.name)
        if isinstance(function, ir.Expr) and function.op == "getattr" and function.attr in ("grid", "gridsize"):
            return LONGEST + AHEAD
        if isinstance(function, ir.Global) and function.value is range and len(value.args) == 1:
            least_of = self.values.given(value.args[0], min)  # none of its numbers is below 0
            return min(self.most(arg.name) for arg in least_of or value.args)
        if isinstance(function, ir.Global) and function.value in (range, min, max):
            return max(self.most(arg.name) for arg in value.args)
        return FITS

    def _of_binop(self, value: Any) -> int:
        x, y = self.most(value.lhs.name), self.most(value.rhs.name)
        if value.fn in (operator.add, operator.sub):
            return x + y
        if value.fn is not operator.mul:
            return FITS
        of_blocks = min(x, y) <= AHEAD and any(self._counts_blocks(side.name) for side in (value.lhs, value.rhs))
        return LONGEST + AHEAD if of_blocks else x * y  # blocks, and the elements of each

    def _counts_blocks(self, name: str) -> bool:
        part = self.values.of(name, "getattr")
        along = self.values.of(part.value.name, "getattr") if part else None
        return along is not None and along.attr in BLOCKS


__all__ = ["Narrow"]
