"""What all iterations of a thread along an axis have in common is read and computed ahead of them.

while j < m:                                   while j < m:
    i = i_first                                    mean_here = mean[j]
    while i < n:                                   t = sqrt(variance[j])
        t = sqrt(variance[j])            →         i = i_first
        y[i, j] = (x[i, j] - mean[j]) / t          while i < n:
        i += i_step                                    y[i, j] = (x[i, j] - mean_here) / t
    j += j_step                                        i += i_step
                                                   j += j_step

A compiler that sees elements stored in the loop would have to know that they are no others' memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from ...ir.expressions import Array, Expr, Load, Var
from ...ir.names import Names
from ...ir.nodes import Assign, Block, For, Kernel, Raise, Stmt
from ...ir.walk import (
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    sure_loads,
    targets,
    variables,
)


def in_common(
    kernel: Kernel, axis: For, on_grid: tuple[For, ...], body: Block, names: Names, memory: Mapping[str, str]
) -> tuple[Block, Block]:
    """What goes ahead of the iterations along the axis, and an iteration without it.

    `memory`: which memory arrays are handles on.
    """
    changed = changed_by(kernel, on_grid) | {axis.index}
    made = Counter(target for stmt in statements(body) for target in targets(stmt))
    set_by_it = (target for stmt in statements(kernel.body) for target in targets(stmt))
    touched = {memory.get(target.name, target.name) for target in set_by_it if isinstance(target, Array)}
    known: dict[Expr, Expr] = {}
    ahead: list[Stmt] = []
    out: list[Stmt] = []

    def is_the_same(load: Load) -> bool:
        return memory.get(load.array.name, load.array.name) not in touched and not variables(load) & changed

    for k, stmt in enumerate(body):
        if any(isinstance(s, Raise) for s in statements((stmt,))):  # there may be nothing to be read behind it
            return tuple(ahead), (*out, *_said(body[k:], known))
        for load in (load for expr in expressions(stmt) for load in sure_loads(expr)):
            if load not in known and not any(map(loads, load.index)) and is_the_same(load):
                here = known[load] = Var(names.fresh(f"{load.array.name}_here"), load.dtype)
                ahead.append(Assign(here, load))
        (stmt,) = _said((stmt,), known)
        if isinstance(stmt, Assign) and made[stmt.var] == 1 and not variables(stmt.value) & changed:
            if all(map(is_the_same, loads(stmt.value))):
                changed.discard(stmt.var)
                ahead.append(stmt)
                continue
        out.append(stmt)
    return tuple(ahead), tuple(out)


def changed_by(kernel: Kernel, on_grid: tuple[For, ...]) -> set[Var]:
    """What differs on the way through an iteration."""
    changed = {axis.index for axis in kernel.axes if axis not in on_grid}
    for stmt in statements(kernel.body):
        changed |= {target for target in targets(stmt) if isinstance(target, Var)}
        if isinstance(stmt, For):
            changed.add(stmt.index)
    return changed


def _said(block: Block, known: Mapping[Expr, Expr]) -> Block:
    change: Callable[[Expr], Expr] = lambda expr: rewrite(expr, lambda part: known.get(part, part))
    return rewrite_block(block, lambda stmt: (map_expressions(stmt, change),))


__all__ = ["changed_by", "in_common"]
