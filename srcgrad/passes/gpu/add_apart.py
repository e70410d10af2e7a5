"""An array without axes to which an independent loop adds is a number while the loop runs.

    for i in range(n):                     total = 0.0
        s_b[()] += g[i] * x[i]      →      for i in range(n):
                                               total += g[i] * x[i]
                                           s_b[()] += total

Threads add up a number among themselves; there is nothing in such an array that would be one thread's own.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects
from ...ir.expressions import Array, Const, Load, Var
from ...ir.info import roots_of
from ...ir.nodes import AddTo, Assign, Block, For, Function, Stmt
from ...ir.walk import blocks, rewrite_block, with_blocks


def add_apart(function: Function) -> Function:
    roots, names = roots_of(function), function.info.names

    def changed(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and not stmt.ordered:
                out += apart(stmt)
            elif blocks(stmt):
                out.append(with_blocks(stmt, tuple(map(changed, blocks(stmt)))))
            else:
                out.append(stmt)
        return tuple(out)

    def apart(loop: For) -> Block:
        before: list[Stmt] = []
        after: list[Stmt] = []
        for array in _added_to(loop, roots):
            total = Var(names.fresh("total"), array.dtype)

            def in_number(stmt: Stmt, array: Array = array, total: Var = total) -> Block:
                here = isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and stmt.target.array == array
                return (replace(stmt, target=total),) if here else (stmt,)  # type: ignore[call-arg]

            loop = replace(loop, body=rewrite_block(loop.body, in_number))
            before.append(Assign(total, Const(0, array.dtype)))
            after.append(AddTo(Load(array, (), checked=False), total, reorder=True))
        return (*before, loop, *after)

    return replace(function, body=changed(function.body))


def _added_to(loop: For, roots: dict[str, str]) -> list[Array]:
    """Arrays without axes that the loop does nothing to but add."""
    inside = effects(loop.body)
    found: dict[str, set[Array]] = {}
    others: set[str] = set(inside.allocated)
    for access in inside.on_memory():
        root = roots.get(access.array.name, access.array.name)
        if access.adds and access.array.ndim == 0:
            found.setdefault(root, set()).add(access.array)
        else:
            others.add(root)
    return [arrays.pop() for root, arrays in found.items() if root not in others and len(arrays) == 1]


__all__ = ["add_apart"]
