"""What one thread does behind a kernel that adds something up, the last of its blocks may do: one launch less.

f_i, by a thread for each of i in range(0, n, 1):           f_i, by a thread for each of i in range(0, n, 1):
    s += x[i] * x[i]                                            s += x[i] * x[i]
f_set, by one thread:                                 →     …then, by one thread:
    result = sqrt(s)                                            result = sqrt(s)

Kernels between the two that know nothing of these numbers come behind both of them then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...analysis.effects import names_of_its_own, names_used
from ...ir.expressions import Array
from ...ir.nodes import Alloc, Assign, Block, Comment, If, Kernel, Raise, Stmt, View
from ...ir.walk import statements, targets
from .kernels import reports


def with_last(block: Block, memory: Mapping[str, str]) -> Iterator[tuple[Stmt, Kernel | None]]:
    """The statements; a kernel together with the one that its last block runs, which goes ahead of what is between.

    `memory`: which memory arrays are handles on.
    """
    done: set[int] = set()
    for k, stmt in enumerate(block):
        if k in done:
            continue
        last: Kernel | None = None
        if isinstance(stmt, Kernel) and stmt.sums and not reports(stmt):
            at = next((j for j in range(k + 1, len(block)) if not _is_passed_over(block[j], stmt)), k)
            found = block[at]
            if at > k and isinstance(found, Kernel) and _may_finish(found, stmt, block[k + 1 : at], memory):
                last = found
                done.add(at)
        yield stmt, last


def _is_passed_over(stmt: Stmt, kernel: Kernel) -> bool:
    """May it lie between a kernel and what the last of its blocks does, as far as that has nothing to do with it?"""
    if isinstance(stmt, Kernel):
        return not {*stmt.reads, *stmt.sums, *stmt.sets} & {*kernel.sums} and bool(stmt.axes)
    is_check = isinstance(stmt, If) and all(isinstance(inner, Raise) for inner in (*stmt.then, *stmt.orelse))
    return is_check or isinstance(stmt, (Alloc, Assign, Comment, View))


def _may_finish(last: Kernel, kernel: Kernel, between: Block, memory: Mapping[str, str]) -> bool:
    """Does one thread see there what it would see later?"""
    if last.axes or last.scratch or last.stacks or last.at_first or reports(last):
        return False
    arrays = {name for stmt in last.body for name in names_used(stmt)}
    if arrays and any(isinstance(stmt, If) for stmt in between):  # that may check what it reads
        return False
    root = lambda name: memory.get(name, name)
    set_ahead = {root(item.name) for s in statements(kernel.body) for item in targets(s) if isinstance(item, Array)}
    instead = {name for _, name, _ in kernel.at_first}  # of which the kernel is given others
    if set_ahead & set(map(root, arrays)) or instead & arrays:
        return False
    others = [stmt for stmt in between if isinstance(stmt, Kernel)]
    if others and (arrays or not {*last.reads} & {*kernel.sums}):
        return False
    if any({*stmt.sums, *stmt.sets} & {*last.reads, *last.sets} or {*stmt.reads} & {*last.sets} for stmt in others):
        return False
    made = {name for stmt in between if isinstance(stmt, (Alloc, Assign, View)) for name in _made(stmt)}
    named = {name for stmt in statements(last.body) for name in names_of_its_own(stmt)}
    return not made & (arrays | named | {var.name for var in (*last.reads, *last.sets)})


def _made(stmt: Alloc | Assign | View) -> tuple[str, ...]:
    return (stmt.var.name,) if isinstance(stmt, Assign) else (stmt.array.name,)


__all__ = ["with_last"]
