"""The types that the arguments of kernels have, as Numba spells them: `(float64[:, ::1], int64,)`.

A kernel is compiled for what it is called with, and needs none of this; PTX is made without a call.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ...ir.expressions import BOOL, INT64, Array, Expr, Var
from ...ir.nodes import Block, Function, Kernel, Pick, Run, Split, Subscript, Transpose, View
from ...ir.walk import arrays_read, expressions, statements, subexpressions, targets
from .grid_sums import DONE


class Signatures:
    """Of the kernels of a program."""

    def __init__(self, program: Function) -> None:
        self.known = {"status": _type_of(INT64, 1), DONE: _type_of(np.dtype(np.uint32), 1)}
        arrays = [param for param in program.params if isinstance(param, Array)]
        for stmt in statements(program.body):
            arrays += (item for item in (*targets(stmt), *arrays_read(stmt)) if isinstance(item, Array))
        self.known |= {array.name: _type_of(array.dtype, array.ndim) for array in arrays}
        for stmt in statements(program.body):
            if isinstance(stmt, View):
                self.known[stmt.array.name] = _type_of(stmt.array.dtype, stmt.array.ndim, _is_in_order(stmt))

    def of(
        self, kernels: Sequence[Kernel], params: Sequence[str], places: dict[str, Var], starts: dict[str, Var]
    ) -> str:
        """Of kernels that are one.

        `places`: the names of arrays that hold numbers, each with what they hold; `starts`: those of numbers.
        """
        known = dict(self.known)
        for kernel in kernels:
            known |= {made.array.name: _type_of(made.array.dtype, made.array.ndim + 1) for made in kernel.scratch}
            known |= {stack.name: _type_of(stack.dtype, 2) for stack in kernel.stacks}
        known |= {name: _type_of(var.dtype, 1) for name, var in places.items()}
        known |= {name: _type_of(var.dtype, None) for name, var in starts.items()}
        numbers = {var.name: _type_of(var.dtype, None) for kernel in kernels for var in _numbers(kernel)}
        return f"({' '.join(f'{known.get(name) or numbers[name]},' for name in params)})"


def _type_of(dtype: np.dtype, ndim: int | None, is_in_order: bool = True) -> str:
    name = "boolean" if dtype == BOOL else dtype.name
    if ndim is None:
        return name
    if ndim == 0:
        return f"Array({name}, 0, 'C')"
    return f"{name}[{', '.join([':'] * (ndim - 1) + ['::1' if is_in_order else ':'])}]"


def _is_in_order(view: View) -> bool:
    """Is a part of an array in C order known to be in that order itself?"""
    if not isinstance(view.how, Subscript):
        return not isinstance(view.how, (Transpose, Split))
    rest = itertools.dropwhile(lambda item: isinstance(item, Pick), view.how.items)
    return all(isinstance(item, Run) and item.whole for item in rest)


def _numbers(kernel: Kernel) -> Iterator[Var]:
    for expr in (*(bound for axis in kernel.axes for bound in (axis.start, axis.stop)), *_all_expressions(kernel.body)):
        yield from (node for node in subexpressions(expr) if isinstance(node, Var))


def _all_expressions(block: Block) -> Iterator[Expr]:
    for stmt in statements(block):
        yield from expressions(stmt)
        yield from (item for item in targets(stmt) if isinstance(item, Var))


__all__ = ["Signatures"]
