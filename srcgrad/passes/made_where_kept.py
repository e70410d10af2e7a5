"""What is made to be kept is made where it is kept: on its stack.

for …:                                           for …:
    row = empty(n)                                   row = room for n more on kept
    for i in range(n): row[i] = x[i] * s      →      for i in range(n): row[i] = x[i] * s
    push row on kept

`hoist` leaves such memory in its loop.  It stays where it is until the stack grows: when the next is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ..ir.expressions import Array
from ..ir.info import filled, roots_of
from ..ir.names import Names
from ..ir.nodes import Alloc, Block, For, Function, NewStack, Push, Stmt, Swap, leaves
from ..ir.walk import blocks, statements, targets, with_blocks


def made_where_kept(function: Function) -> Function:
    pushes = pushes_of_their_own(function)
    return replace(function, body=_Mover(function.info.names, pushes).block(function.body)) if pushes else function


def pushes_of_their_own(function: Function) -> dict[str, Push]:
    """The arrays that are made for one push, and not written to after it."""
    every = statements(function.body)
    roots = roots_of(function)
    made = Counter(stmt.array.name for stmt in every if isinstance(stmt, Alloc))
    pushed = Counter(stmt.stack for stmt in every if isinstance(stmt, Push))
    own = {stmt.stack for stmt in every if isinstance(stmt, NewStack)}
    handed_on = {name for s in every if isinstance(s, Swap) for name in (s.left.name, s.right.name)}
    handed_on |= {roots.get(leaf.name, leaf.name) for leaf in leaves(function.results) if isinstance(leaf, Array)}
    writes = _writes(function.body, roots)
    found: dict[str, Push] = {}
    for block, at, push in _pushes_behind(function.body):
        name = push.value.name  # type: ignore[union-attr]
        is_alone = made[name] == pushed[push.stack] == 1 and push.stack in own and name not in handed_on
        if is_alone and _writes(block[: at + 1], roots)[name] == writes[name]:
            found[name] = push
    return found


def _pushes_behind(block: Block) -> Iterator[tuple[Block, int, Push]]:
    """Where a block makes an array and pushes it: the block, from there on, and where in it the push is."""
    for k, stmt in enumerate(block):
        if isinstance(stmt, Alloc):
            for at, push in enumerate(block[k:]):
                if isinstance(push, Push) and push.value == stmt.array:
                    yield block[k:], at, push
                    break
        for inner in blocks(stmt):
            yield from _pushes_behind(inner)


def _writes(block: Block, roots: dict[str, str]) -> Counter[str]:
    """How many statements write to each memory."""
    written = (item for stmt in statements(block) for item in targets(stmt) if isinstance(item, Array))
    return Counter(roots.get(item.name, item.name) for item in written)


class _Mover:
    def __init__(self, names: Names, pushes: dict[str, Push]) -> None:
        self.names, self.pushes, self.gone = names, pushes, set(map(id, pushes.values()))

    def block(self, block: Block, around: frozenset[str] = frozenset()) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Alloc) and stmt.array.name in self.pushes:
                out.append(replace(stmt, fill=None, on=self.pushes[stmt.array.name].stack))
                if stmt.fill is not None:
                    out.append(filled(stmt, self.names, around))
                continue
            if id(stmt) in self.gone:
                continue
            inner = around | ({stmt.index.name} if isinstance(stmt, For) else set())
            parts = tuple(self.block(part, inner) for part in blocks(stmt))
            out.append(with_blocks(stmt, parts) if parts else stmt)
        return tuple(out)


__all__ = ["made_where_kept", "pushes_of_their_own"]
