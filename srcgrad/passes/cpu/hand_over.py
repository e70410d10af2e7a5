"""What an iteration adds to elements that later ones add to as well is handed over to them, and the loop vectorises.

                                            handed = 0.0
    for i in range(n - 1):                  for i in range(n - 1):
        g = y_b[i] * exp(x[i])                  g = y_b[i] * exp(x[i])
        x_b[i] += g                  →          x_b[i] += g + handed
        x_b[i + 1] -= 0.5 * g                   handed = -0.5 * g
                                            x_b[n - 1] += handed

An element that is added to in one iteration and again in the next is passed through memory, one iteration at a time.
A number of the iteration before is another thing: LLVM shifts a vector of them by one.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.added_ahead import Rows, at_the_end, may_be
from ...ir import affine
from ...ir.expressions import BOOL, Call, Const, Expr, Load, Var
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt
from ...ir.walk import blocks, substitute, with_blocks


def hand_over(function: Function) -> Function:
    return replace(function, body=_Hands(function).block(function.body))


class _Hands:
    def __init__(self, function: Function) -> None:
        self.names, self.rows = function.info.names, Rows(function)

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and may_be(stmt):
                out += self.handed(stmt)
            elif blocks(stmt):
                out.append(with_blocks(stmt, tuple(map(self.block, blocks(stmt)))))
            else:
                out.append(stmt)
        return tuple(out)

    def handed(self, loop: For) -> Block:
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        for here, next_one in self.pairs(loop):
            var = Var(self.names.fresh("handed"), here[0].dtype)
            ahead.append(Assign(var, Const(var.dtype.type(0).item(), var.dtype)))
            loop, added = self.through(loop, here, next_one, var)
            last = {loop.index: affine.sub(loop.stop, affine.ONE)}
            index = tuple(affine.normal(substitute(part, last)) for part in next_one[0].index)
            behind.append(AddTo(replace(next_one[0], index=index), added, reorder=True))
        if not behind:
            return (loop,)
        runs = Call("lt", (loop.start, loop.stop), BOOL)
        return (*ahead, loop, If(runs, tuple(behind)))

    def pairs(self, loop: For) -> list[tuple[list[Load], list[Load]]]:
        """Elements that an iteration adds to, with those that are the next one's."""
        rows = [row for row in self.rows.of(loop) if len(row) == 2]
        return [(row[min(row)], row[max(row)]) for row in rows if max(row) == min(row) + 1]

    def through(self, loop: For, here: list[Load], next_one: list[Load], handed: Var) -> tuple[For, Expr]:
        """The loop with what it adds to the element of the next iteration in a register, and what is added there.

        Of -g it is g, and taken away: LLVM negates where it adds, and then finds that -g comes too late for a vector.
        To its own element it adds both at once: with a store in between, LLVM may not see what is handed over.
        """
        loop, own = at_the_end(loop, here, self.names, "own")
        loop, value = at_the_end(loop, next_one, self.names, "ahead")
        added: Expr = handed
        if isinstance(value, Call) and value.op == "neg":
            (value,), added = value.args, Call("neg", (handed,), handed.dtype)
        both = AddTo(here[0], _sum(own, added), reorder=True)
        return replace(loop, body=(*loop.body, both, Assign(handed, value))), added


def _sum(x: Expr, y: Expr) -> Expr:
    match x, y:
        case Call(op="neg", args=(x,)), Call(op="neg", args=(y,)):
            return Call("neg", (Call("add", (x, y), x.dtype),), x.dtype)
        case Call(op="neg", args=(x,)), _:
            return Call("sub", (y, x), x.dtype)
        case _, Call(op="neg", args=(y,)):
            return Call("sub", (x, y), x.dtype)
    return Call("add", (x, y), x.dtype)


__all__ = ["hand_over"]
