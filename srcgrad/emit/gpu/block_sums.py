"""Elements of arrays that many threads add to, as lines of a kernel.

Where the memory that a block shares has room for them, each is one number per block, which is added to the array's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...ir.expressions import Array, Const, Var
from ...ir.nodes import AtomicAdd, Kernel, Stmt
from ...ir.walk import expressions, loads, statements, targets
from ..expressions import expression_text
from .kernel_text import of_lane


def shared_arrays(kernel: Kernel, roots: Mapping[str, str], direct: tuple[str, ...] = ()) -> tuple[Array, ...]:
    """Arrays of one dtype that many threads add to: a block adds up in memory of its own, if that is large enough.

    What the threads of a row read again, or set, they have to add to the array itself, as to those that are `direct`.
    `roots`: of what arrays are views.
    """
    root = lambda array: roots.get(array.name, array.name)
    but = {made.array.name for made in kernel.scratch}
    for stmt in statements(kernel.body):
        but |= {root(load.array) for expr in expressions(stmt) for load in loads(expr)}
        but |= {root(item) for item in _set_by(stmt)}
    added = (s.array for s in statements(kernel.body) if isinstance(s, AtomicAdd))
    arrays = tuple(dict.fromkeys(array for array in added if root(array) not in but and array.name not in direct))
    return tuple(array for array in arrays if array.dtype == arrays[0].dtype)


def _set_by(stmt: Stmt) -> tuple[Array, ...]:
    found = () if isinstance(stmt, AtomicAdd) else targets(stmt)
    return tuple(item for item in found if isinstance(item, Array))


def place_in_block(array: Array, index: list[str], shared: tuple[Array, ...]) -> str:
    """Where the sum of an element is: the arrays lie one behind the other."""
    at: str = ""
    for axis, own in enumerate(index):
        at = own if not axis else f"({at}) * {array.name}.shape[{axis}] + {own}"
    ahead = [f"{other.name}.size" for other in shared[: shared.index(array)]]
    return " + ".join([*ahead, at])


def cleared(shared: tuple[Array, ...], threads: int) -> list[str]:
    if not shared:
        return []
    zero = expression_text(Const(0, shared[0].dtype))
    return [
        f"block_sums = cuda.shared.array(0, numba.{shared[0].dtype.name})",
        "place = member",
        "while place < block_sums.size:",
        f"    block_sums[place] = {zero}",
        f"    place += {threads}",
        "cuda.syncthreads()",
    ]


def flushed(shared: tuple[Array, ...], threads: int) -> list[str]:
    """One addition per block, and element that it has added to."""
    lines = ["cuda.syncthreads()", "if block_sums.size > 0:"] if shared else []
    for array in shared:
        ahead = "".join(f"{other.name}.size + " for other in shared[: shared.index(array)])
        rest, parts = "place", []
        for axis in reversed(range(1, array.ndim)):
            parts.append(f"{rest} % {array.name}.shape[{axis}]")
            rest = f"{rest} // {array.name}.shape[{axis}]"
        at = ", ".join([rest, *reversed(parts)])
        total = f"block_sums[{ahead}place]"
        lines += [
            "    place = member",
            f"    while place < {array.name}.size:",
            f"        if {total} != 0:",
            f"            cuda.atomic.add({array.name}, {at if array.ndim == 1 else f'({at})'}, {total})",
            f"        place += {threads}",
        ]
    return lines


def zero(var: Var) -> str:
    return expression_text(Const(0, var.dtype))


def folded(totals: Sequence[Var], half: int) -> Iterator[str]:
    """The first thread of a warp has what all of them have."""
    yield f"half = {half}"
    yield "while half > 0:"
    yield from (f"    {total.name} += {of_lane('shfl_down_sync', total)}" for total in totals)
    yield "    half >>= 1"


__all__ = ["cleared", "flushed", "folded", "place_in_block", "shared_arrays", "zero"]
