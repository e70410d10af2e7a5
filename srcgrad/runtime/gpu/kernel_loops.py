"""Loops of kernels that LLVM is asked to leave as they are.

while i < n:                      hardly any thread goes round twice, and to write out four rounds takes a division by
    …                             the step ahead of the loop, and three more rounds behind it
    i += cuda.gridsize(1)
for turn in range(min(4, n - i)): few threads come there, and its registers would be those of all
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from numba.cuda.core import ir
from numba.cuda.core.analysis import compute_cfg_from_blocks

SIZES = ("gridsize", "gridDim")  # of `cuda`
PARTS = ("exhaust_iter", "getattr", "static_getitem")


def loops_as_they_are(func_ir: Any, goes_round: bool) -> frozenset[int]:
    """The blocks, by their identity, that go back to the head of such a loop.

    `goes_round`: there are fewer threads than iterations, and each goes round often.
    """
    blocks, values = func_ir.blocks, Values(func_ir)
    steps = frozenset() if goes_round else steps_of_grid(func_ir)
    ways = compute_cfg_from_blocks(blocks)
    found = [
        loop
        for label, block in blocks.items()
        if any(_is_of_few_rounds(inst.value, values, steps) for inst in block.find_insts(ir.Assign))
        for loop in ways.in_loops(label)[:1]
    ]
    ends = {end for loop in found for end, _ in ways.predecessors(loop.header) if end in loop.body}
    return frozenset(id(blocks[end]) for end in ends)


def _is_of_few_rounds(value: Any, values: Values, steps: frozenset[str]) -> bool:
    """Does a statement say so of the innermost loop around it?"""
    if not isinstance(value, ir.Expr):
        return False
    if value.op == "inplace_binop":
        return value.rhs.name in steps
    counts = values.given(values.of(value.value.name, "getiter"), range) if value.op == "iternext" else []
    return len(counts) == 1 and bool(values.given(counts[0], min))


class Values:
    """What the variables of a kernel stand for."""

    def __init__(self, func_ir: Any) -> None:
        self.all: dict[str, list[Any]] = defaultdict(list)
        for block in func_ir.blocks.values():
            for inst in block.find_insts(ir.Assign):
                self.all[inst.target.name].append(inst.value)

    def of(self, name: str, op: str = "") -> Any:
        """The one value, by whatever names; None where there are several, or where it is no expression of the kind."""
        found = self.all[name]
        while len(found) == 1 and isinstance(found[0], ir.Var):
            found = self.all[found[0].name]
        if len(found) != 1 or (op and not (isinstance(found[0], ir.Expr) and found[0].op == op)):
            return None
        return found[0]

    def given(self, call: Any, function: Any) -> list[Any]:
        """The arguments of a call of a function, by a variable or an expression that is taken from it."""
        call = self.of(call.value.name if isinstance(call, ir.Expr) else call.name, "call") if call else None
        callee = self.of(call.func.name) if call else None
        return list(call.args) if isinstance(callee, ir.Global) and callee.value is function else []


def steps_of_grid(func_ir: Any) -> frozenset[str]:
    """Variables that are the size of the grid, or so many times that, or what these are taken from."""
    steps: set[str] = set()
    for block in func_ir.blocks.values():
        for inst in block.find_insts(ir.Assign):
            if _is_step(inst.value, steps):
                steps.add(inst.target.name)
    return frozenset(steps)


def _is_step(value: Any, steps: set[str]) -> bool:
    if isinstance(value, ir.Var):
        return value.name in steps
    if not isinstance(value, ir.Expr):
        return False
    if value.op == "getattr" and value.attr in SIZES:
        return True
    if value.op == "call":
        return value.func.name in steps
    if value.op == "binop":
        return not {value.lhs.name, value.rhs.name}.isdisjoint(steps)
    return value.op in PARTS and value.value.name in steps


__all__ = ["Values", "loops_as_they_are", "steps_of_grid"]
