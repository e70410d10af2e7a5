"""In the interior of a grid of three axes a thread reads what its branches want before it goes through them.

if 1 <= k and k < m - 1:              if 1 <= k and k < m - 1:
    total += u[i, j, k]                   u_ahead = u[i, j, k]
if 2 <= k:                            if 2 <= k:
    total += u[i, j, k - 1]     →         u_ahead_1 = u[i, j, k - 1]
…                                     if 1 <= k and k < m - 1:
                                          total += u_ahead
                                      …

It waits for memory once.  (Where registers hold what several elements want, a thread takes these: `several_elements`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.expressions import Expr, Load, Var
from ...ir.names import Names
from ...ir.nodes import Assign, Block, If, Kernel, Stmt
from ...ir.walk import statements
from ...passes.gpu.interior import LONG_ROWS
from .several_elements import REGISTERS, SIMPLE, Reader


def branches_read_first(kernel: Kernel, names: Names, memory: Mapping[str, str]) -> Block:
    """The body of a kernel.  `memory`: which memory arrays are handles on."""
    body = kernel.body
    if len(kernel.axes) <= LONG_ROWS or len(body) != 1 or not isinstance(body[0], If) or kernel.by_rows:
        return body
    asked, reader = body[0], _FirstReader(kernel, names, memory)
    if not asked.orelse or not all(isinstance(stmt, SIMPLE) for stmt in statements(asked.then)):
        return body
    ahead, then = reader.block(asked.then, {})
    words = sum(-(-load.dtype.itemsize // 4) for load in reader.places)
    is_worth_it = len(ahead) > 1 and words <= REGISTERS
    return (replace(asked, then=(*ahead, *then)),) if is_worth_it else body


class _FirstReader(Reader):
    def __init__(self, kernel: Kernel, names: Names, memory: Mapping[str, str]) -> None:
        super().__init__(kernel, names, memory)
        self.places: dict[Load, Var] = {}

    def room(self, load: Load) -> tuple[Expr, Stmt]:
        if load not in self.places:
            self.places[load] = Var(self.names.fresh(f"{load.array.name}_ahead"), load.dtype)
        return self.places[load], Assign(self.places[load], load)


__all__ = ["branches_read_first"]
