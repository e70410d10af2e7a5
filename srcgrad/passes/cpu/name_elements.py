"""A number that array arithmetic reads from memory is read once, ahead of the loop, as NumPy does.

    each j < m:  A[i, j] = A[i, j] - A[i, k] * A[k, j]      →      A_now = A[i, k]
                                                                   each j < m:  A[i, j] = A[i, j] - A_now * A[k, j]

Only what is written again, in this loop or later: the sweep would keep it once for every element, and a loop that may
write it needs a temporary.  (A kernel has it where it is: for a name, the host would have to fetch it.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.expressions import LAZY, Array, Call, Expr, Load, Var
from ...ir.info import Info, roots_of
from ...ir.nodes import AddTo, Assign, Block, For, ForEach, Function, Rule, Stmt, Store, While
from ...ir.walk import (
    blocks,
    children,
    loads,
    rewrite,
    statements,
    targets,
    variables,
    with_blocks,
)


def name_elements(function: Function) -> Function:
    return replace(function, body=_Namer(function).block(function.body, set()))


class _Namer:
    def __init__(self, function: Function) -> None:
        info: Info = function.info
        self.names, self.roots = info.names, roots_of(function)

    def block(self, block: Block, later: set[str]) -> Block:
        """`later`: the memory that is written behind the block, or in another iteration."""
        out: list[Stmt] = []
        for stmt in reversed(block):
            written = self.written_by(stmt)
            if isinstance(stmt, ForEach):
                out += reversed(self.split(stmt, written, later | written))
            elif blocks(stmt) and not isinstance(stmt, Rule):
                inside = later | written if isinstance(stmt, (For, While)) else later
                out.append(with_blocks(stmt, tuple(self.block(part, inside) for part in blocks(stmt))))
            else:
                out.append(stmt)
            later = later | written
        return tuple(reversed(out))

    def split(self, stmt: ForEach, written: set[str], later: set[str]) -> list[Stmt]:
        """The reads that come ahead, and the loop."""
        is_single = len(stmt.body) == 1 and not stmt.running  # its right side comes first
        own = {*stmt.indices, *(item for s in statements(stmt.body) for item in targets(s) if isinstance(item, Var))}
        found: dict[Load, None] = dict.fromkeys(
            load
            for inner in stmt.body
            if isinstance(inner, (AddTo, Assign, Store))
            for load in _read_in_any_case(inner.value)
            if not variables(load) & own and self.root(load) in later
            if is_single or written.isdisjoint(map(self.root, loads(load)))
        )
        if not found:
            return [stmt]
        names: dict[Expr, Var] = {load: Var(self.names.fresh(f"{load.array.name}_now"), load.dtype) for load in found}

        def named(inner: Stmt) -> Stmt:
            if isinstance(inner, (AddTo, Assign, Store)):
                return replace(inner, value=rewrite(inner.value, lambda node: names.get(node, node)))
            return inner

        ahead = [Assign(names[load], load, span=stmt.span) for load in found]
        return [*ahead, replace(stmt, body=tuple(map(named, stmt.body)))]

    def written_by(self, stmt: Stmt) -> set[str]:
        changed = (item for s in statements((stmt,)) for item in targets(s))
        return {self.roots.get(item.name, item.name) for item in changed if isinstance(item, Array)}

    def root(self, load: Load) -> str:
        return self.roots.get(load.array.name, load.array.name)


def _read_in_any_case(expr: Expr) -> Iterable[Load]:
    """The elements that are operands of the arithmetic, not what says where these are."""
    if isinstance(expr, Load):
        yield expr
        return
    for part in children(expr)[:1] if isinstance(expr, Call) and expr.op in LAZY else children(expr):
        yield from _read_in_any_case(part)
