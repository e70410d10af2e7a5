"""A matrix that is multiplied row by row, and then turned, is read once: in strips of rows that stay in the cache.

    z = x @ w                              for tile in range(…):
    for i: r[i] = f(z[i], y[i])                start, stop = …
    w_b += x.T @ r                   →         z[start:stop] = x[start:stop] @ w
                                               for i in range(start, stop): r[i] = f(z[i], y[i])
                                               w_b += x[start:stop].T @ r[start:stop]

So are the gradients of linear models of many samples: what counts there is how often x comes from memory.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import SIMPLE, effects
from ...analysis.lengths import lengths_of
from ...analysis.meetings import commutes
from ...ir import affine
from ...ir.expressions import INT64, Array, Call, Const, Expr, Var
from ...ir.info import roots_of
from ...ir.nodes import Alloc, Assign, Block, Comment, For, Function, Library, Run, Stmt, Store, Subscript, View
from ...ir.walk import blocks, statements, with_blocks

BYTES = 1 << 18  # of a strip: a fraction of what a core has to itself
TURNED = {"add_matvec_t": True, "matvec_t": False}  # does it add?


def in_strips(function: Function) -> Function:
    strips = _Strips(function)
    return replace(function, body=strips.block(function.body))


class _Strips:
    def __init__(self, function: Function) -> None:
        self.names, self.roots, self.lengths = function.info.names, roots_of(function), lengths_of(function)
        self.own = {stmt.array.name for stmt in statements(function.body) if isinstance(stmt, Alloc)}
        self.whole = self.own | {param.name for param in function.params if isinstance(param, Array)}  # in C order

    def block(self, block: Block) -> Block:
        out = [with_blocks(s, tuple(map(self.block, blocks(s)))) if blocks(s) else s for s in block]
        for first, stmt in enumerate(out):
            if isinstance(stmt, Library) and stmt.routine == "matvec":
                for last in range(first + 2, len(out)):
                    then = out[last]
                    if isinstance(then, Library) and then.routine in TURNED and then.args[0] == stmt.args[0]:
                        made = self.together(stmt, tuple(out[first + 1 : last]), then)
                        return self.block((*out[:first], *made, *out[last + 1 :])) if made else tuple(out)
        return tuple(out)

    def together(self, product: Library, between: Block, turned: Library) -> Block | None:
        matrix, rows = product.args[0], product.out
        if not isinstance(matrix, Array) or matrix.name not in self.whole or matrix.dtype.kind != "f":
            return None
        count, width = self.lengths.of(matrix)
        loops = [stmt for stmt in between if isinstance(stmt, For) and _goes_over(stmt, count)]
        loop = next((stmt for stmt in loops if not self.commute(stmt, product)), None)
        given = turned.args[1]
        if loop is None or rows.name not in self.own or not isinstance(given, Array) or given.name not in self.whole:
            return None
        others = tuple(stmt for stmt in between if stmt is not loop)
        behind = between[between.index(loop) + 1 :]
        if not all(self.commute(stmt, product) for stmt in others) or not all(self.commute(s, loop) for s in behind):
            return None
        if not self.is_by_rows(loop, product, turned):
            return None
        adds = TURNED[turned.routine]
        ahead = others if adds else (*others, self.cleared(turned.out, width))
        return (*ahead, *self.strips(product, loop, turned, (count, width)))

    def commute(self, x: Stmt, y: Stmt) -> bool:
        return commutes(effects((x,)), effects((y,)), self.roots)

    def is_by_rows(self, loop: For, product: Library, turned: Library) -> bool:
        """Does iteration i see no more than row i of what the first product and the loop itself make?"""
        root = lambda array: self.roots.get(array.name, array.name)
        if not all(isinstance(stmt, SIMPLE) for stmt in statements(loop.body)):
            return False
        seen = effects((loop,))
        made = {root(product.out)} | {root(access.array) for access in seen.accesses if access.writes}
        for access in seen.accesses:
            if root(access.array) == root(turned.out):
                return False
            is_of_row = access.array.name in self.whole and access.index[:1] == (loop.index,)
            if root(access.array) in made and not is_of_row:
                return False
        arguments = {root(array) for array in (*product.args, turned.args[0]) if isinstance(array, Array)}
        return not arguments & (made | {root(turned.out)}) and root(turned.out) not in made | {root(turned.args[1])}

    def cleared(self, array: Array, length: Expr) -> For:
        index = Var(self.names.fresh("j"), INT64)
        zero = Store(array, (index,), Const(0.0, array.dtype), checked=False)
        return For(index, affine.ZERO, length, affine.ONE, (zero,), ordered=False)

    def strips(self, product: Library, loop: For, turned: Library, dims: tuple[Expr, ...]) -> Block:
        count, width = dims
        tile, strip, start, stop = (Var(self.names.fresh(n), INT64) for n in ("tile", "strip", "start", "stop"))
        room = affine.integer(BYTES // product.out.dtype.itemsize)
        rows_in = Call("floordiv", (room, affine.maximum(width, affine.ONE)), INT64)
        length = affine.sub(stop, start)
        part = Run(start, affine.ONE, length)
        views: dict[str, View] = {}

        def rows_of(array: object) -> Array:
            assert isinstance(array, Array)
            if array.name not in views:
                items = (part, *(Run(affine.ZERO, affine.ONE, dim, True) for dim in self.lengths.of(array)[1:]))
                view = Array(self.names.fresh(f"{array.name}_rows"), array.dtype, (length, *array.dims[1:]))
                views[array.name] = View(view, array, Subscript(items))
            return views[array.name].array

        first = replace(product, out=rows_of(product.out), args=(rows_of(product.args[0]), *product.args[1:]))
        last = replace(turned, routine="add_matvec_t", args=(rows_of(turned.args[0]), rows_of(turned.args[1])))
        body = (
            Assign(start, affine.mul(tile, strip)), Assign(stop, affine.minimum(affine.add(start, strip), count)),
            *views.values(), first, replace(loop, start=start, stop=stop), last,
        )  # fmt: skip
        tiles = Call("floordiv", (affine.sub(affine.add(count, strip), affine.ONE), strip), INT64)
        return (
            Comment(f"{product.args[0].name} is read once, in strips of rows that stay in the cache"),  # type: ignore[union-attr]
            Assign(strip, affine.maximum(rows_in, affine.ONE)),
            For(tile, affine.ZERO, tiles, affine.ONE, body, adds_to=last.out),
        )


def _goes_over(loop: For, count: Expr) -> bool:
    return affine.same(loop.start, affine.ZERO) and affine.same(loop.step, affine.ONE) and affine.same(loop.stop, count)


__all__ = ["in_strips"]
