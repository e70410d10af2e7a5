"""Memory that every iteration would allocate anew is allocated once, ahead of the loop.

for i in range(n):                  e = empty(m)
    e = empty(m)            →       for i in range(n):
    …                                   …

for i in range(n):                  e_b = empty(m)
    e_b = zeros(m)          →       for i in range(n):
                                        for j in range(m): e_b[j] = 0.0
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.effects import effects
from ..ir import affine
from ..ir.expressions import Array, Dim, Expr, Var
from ..ir.info import filled, roots_of
from ..ir.nodes import Alloc, Assign, Block, For, Function, Rule, Stmt, Swap, While, leaves
from ..ir.walk import blocks, loads, statements, substitute, variables, with_blocks
from .made_where_kept import pushes_of_their_own


def hoist(function: Function) -> Function:
    made: dict[str, int] = {}
    fixed: set[str] = set()
    for stmt in statements(function.body):
        if isinstance(stmt, Alloc):
            made[stmt.array.name] = made.get(stmt.array.name, 0) + 1
        elif isinstance(stmt, Swap):
            fixed |= {stmt.left.name, stmt.right.name}
    roots = roots_of(function)
    fixed |= {name for name, count in made.items() if count > 1}
    fixed |= {roots.get(leaf.name, leaf.name) for leaf in leaves(function.results) if isinstance(leaf, Array)}
    fixed |= set(pushes_of_their_own(function))  # each iteration's memory is kept
    return replace(function, body=_Hoister(function, fixed).block(function.body, frozenset()))


class _Hoister:
    def __init__(self, function: Function, fixed: set[str]) -> None:
        self.names, self.fixed = function.info.names, fixed
        made = [s for s in statements(function.body) if isinstance(s, Assign)]
        self.lengths = {s.var: s.value for s in made if isinstance(s.value, Dim)}

    def block(self, block: Block, around: frozenset[str]) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            inner = around
            if isinstance(stmt, (For, While)):
                inner = around | {(stmt.index if isinstance(stmt, For) else stmt.trip).name}
            if blocks(stmt) and not isinstance(stmt, Rule):
                stmt = with_blocks(stmt, tuple(self.block(b, inner) for b in blocks(stmt)))
            if isinstance(stmt, (For, While)):
                ahead, stmt = self.out_of(stmt, inner)
                out += ahead
            out.append(stmt)
        return tuple(out)

    def out_of(self, loop: For | While, around: frozenset[str]) -> tuple[list[Stmt], Stmt]:
        """What is allocated in every iteration, in lengths that are known ahead."""
        changed = effects((loop,)).writes
        ahead: list[Stmt] = []
        body: list[Stmt] = []
        for stmt in loop.body:
            if not isinstance(stmt, Alloc) or stmt.array.name in self.fixed or self.varies(stmt, changed):
                body.append(stmt)
                continue
            ahead.append(replace(stmt, dims=tuple(map(self.length, stmt.dims)), fill=None))
            if stmt.fill is not None:
                body.append(filled(stmt, self.names, around))
        return ahead, replace(loop, body=tuple(body)) if ahead else loop

    def varies(self, made: Alloc, changed: set[Var]) -> bool:
        known = [*made.dims, *([made.fill] if made.fill is not None else [])]
        return any(variables(e) & changed or loads(e) for e in known)

    def length(self, dim: Expr) -> Expr:
        """A loop that does not run allocates nothing: its lengths need not even be lengths."""
        return dim if affine.is_at_least(substitute(dim, self.lengths), 0) else affine.maximum(dim, affine.ZERO)


__all__ = ["hoist"]
