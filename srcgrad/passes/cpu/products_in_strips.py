"""What iterations multiply a matrix by, a vector each, it is multiplied by for 32 of them at a time.

    for i in range(n):                     for first in range(0, n, 32):
        t = W @ x[i]                           last = min(first + 32, n)
        y[i] = tanh(t)                         t_rows[: last - first] = x[first:last] @ W.T
                                    →          for i in range(first, last):
                                                   t = t_rows[i - first]
                                                   y[i] = tanh(t)

BLAS goes through the matrix once for all of them.  It is done to iterations that touch elements of their own, and
otherwise only add: of those, what stands ahead of a product may be run for all of the strip before it.  What an
iteration has for itself, and needs on both sides of a product, has a row for each iteration of a strip.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce

from ...analysis.effects import names_of_its_own, uses
from ...analysis.lengths import lengths_of
from ...analysis.rows import row_lengths, row_view
from ...errors import place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Expr, Load, Var, either
from ...ir.info import elementwise, memory_of
from ...ir.names import Names
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    CopyTo,
    For,
    Function,
    If,
    Library,
    Pick,
    Raise,
    Rule,
    Run,
    Stmt,
    Store,
    Subscript,
    View,
    While,
    leaves,
)
from ...ir.walk import (
    blocks,
    expressions,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    targets,
    variables,
    with_blocks,
)

MOST, LEAST = affine.integer(32), affine.integer(4)  # iterations in a strip
ROOM = affine.integer(1 << 18)  # numbers of a strip that shall stay in the cache
OF_ROWS = {  # one product for all rows, in the place of one for each
    "matvec": "matmul_nt",
    "matvec_t": "matmul",
    "add_matvec": "add_matmul_nt",
    "add_matvec_t": "add_matmul",
    "add_outer": "add_matmul_tn",
}
KNOWN = (Assign, Store, AddTo, CopyTo, Alloc, View, For, While, If, Library, Comment)


def products_in_strips(function: Function) -> Function:
    if not any(isinstance(stmt, Library) and stmt.routine in OF_ROWS for stmt in statements(function.body)):
        return function
    body = rewrite_block(function.body, lambda stmt: stmt.forward if isinstance(stmt, Rule) else (stmt,))
    job = _Strips(replace(function, body=body))
    return replace(function, body=job.block(body))


class _Strips:
    def __init__(self, function: Function) -> None:
        self.names, self.memory, self.lengths = function.info.names, memory_of(function), lengths_of(function)
        self.body, self.everywhere, self.checked = function.body, uses(function.body), function.info.boundscheck
        self.handed = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, (Array, Var))}

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            strip = self.strip(stmt) if isinstance(stmt, For) else None
            if strip is not None:
                out += strip.made()
            else:
                inner = tuple(map(self.block, blocks(stmt)))
                out.append(with_blocks(stmt, inner) if inner else stmt)
        return tuple(out)

    def strip(self, loop: For) -> _Strip | None:
        """How the loop goes by strips, if it may and there is a product to make of its rows."""
        body = loop.body
        is_plain = not loop.few and loop.adds_to is None and affine.same(loop.step, affine.ONE)
        if loop.ordered or not is_plain or not affine.is_at_least(loop.start, 0):
            return None
        if not all(isinstance(stmt, KNOWN) and not _draws(stmt) for stmt in statements(body)):
            return None
        own = {name for name in uses((loop,)) if self.is_own(name, loop)}  # nobody else looks at what they were here
        set_here = {target for stmt in statements(body) for target in targets(stmt)}
        set_names = {target.name for target in set_here}
        made = {stmt.array.name: stmt for stmt in body if isinstance(stmt, Alloc)}
        apart = {name: alloc for name, alloc in made.items() if name in own and _is_apart(alloc, set_names)}
        views = [stmt for stmt in body if isinstance(stmt, View)]
        in_body = {stmt.array.name for stmt in statements(body) if isinstance(stmt, (Alloc, View))}
        rows = {v.array.name: v for v in views if v.array.name in own and _is_row(v, loop, in_body)}
        if any(view.array.name in rows and view != rows[view.array.name] for view in views):
            return None
        lengths = {name: self.lengths.of(view.base) for name, view in rows.items()}
        plan = _Strip(loop, self.names, apart, rows, lengths, self.checked)
        written = {self.memory.get(name, name) for name in set_names}
        for stmt in body:
            plan.add(stmt, isinstance(stmt, Library) and self.is_product(stmt, plan, written))
        return plan if any(g.product for g in plan.groups) and plan.settle(own, set_here) else None

    def is_own(self, name: str, loop: For) -> bool:
        """Is it the loop's alone, or does whoever else has to do with an array of this name make one first?"""
        if name in self.handed:
            return False
        if uses((loop,))[name] == self.everywhere[name]:
            return True
        for stmt in self.body:
            if uses((stmt,))[name] and any(inner is loop for inner in statements((stmt,))):
                if uses((stmt,))[name] != uses((loop,))[name]:
                    return False
            elif uses((stmt,))[name]:
                first = next(inner for inner in statements((stmt,)) if name in names_of_its_own(inner))
                if not isinstance(first, (Alloc, View)) or first.array.name != name:
                    return False
        return True

    def is_product(self, stmt: Library, plan: _Strip, written: set[str]) -> bool:
        """Is it of a matrix that stays as it is, and of vectors of which each iteration has one?"""
        if stmt.routine not in OF_ROWS:
            return False
        matrix, *vectors = _parts(stmt)
        if not all(isinstance(vector, Array) and plan.has_rows(vector) for vector in vectors):
            return False
        if not isinstance(matrix, Array) or matrix.name in plan.apart or matrix.name in plan.rows:
            return False
        if any(vector.dtype != matrix.dtype for vector in vectors):  # type: ignore[attr-defined]
            return False
        return stmt.routine == "add_outer" or self.memory.get(matrix.name, matrix.name) not in written


def _is_row(view: View, loop: For, in_body: set[str]) -> bool:
    """Is it the row of a matrix from around the loop that has the number of the iteration?"""
    match view.how:
        case Subscript((Pick(index), Run(whole=True))):
            return index == loop.index and view.base.ndim == 2 and view.base.name not in in_body
    return False


def _is_apart(alloc: Alloc, set_names: set[str]) -> bool:
    """Has each iteration memory of its own here, as long as that of the others?"""
    return alloc.on is None and not any(var.name in set_names for dim in alloc.dims for var in variables(dim))


def _draws(stmt: Stmt) -> bool:
    return isinstance(stmt, Library) and stmt.draws


def _parts(stmt: Library) -> tuple[object, ...]:
    """The matrix, then the vectors."""
    if stmt.routine == "add_outer":
        return stmt.out, *stmt.args
    matrix, vector = stmt.args
    return matrix, stmt.out, vector


def _is_set_before_it_is_read(block: Block, var: Var, is_set: bool = False) -> bool:
    """Does nobody look at what the number was before?"""
    for stmt in block:
        reads = isinstance(stmt, AddTo) and stmt.target == var
        if (reads or any(var in variables(expr) for expr in expressions(stmt))) and not is_set:
            return False
        is_set |= isinstance(stmt, Assign) and stmt.var == var
        if not all(_is_set_before_it_is_read(part, var, is_set) for part in blocks(stmt)):
            return False
    return True


@dataclass
class _Group:
    """Statements between two products, or a product."""

    stmts: list[Stmt]
    product: bool


class _Strip:
    def __init__(
        self,
        loop: For,
        names: Names,
        apart: dict[str, Alloc],
        rows: dict[str, View],
        lengths: dict[str, tuple[Expr, ...]],
        checked: bool,
    ) -> None:
        self.loop, self.names, self.apart, self.rows, self.checked = loop, names, apart, rows, checked
        self.lengths = lengths  # of the matrices that have the rows
        self.groups: list[_Group] = []
        self.steps, self.strip = (Var(names.fresh(name), INT64) for name in ("steps", "strip"))
        self.first, self.last = (Var(names.fresh(name), INT64) for name in ("first", "last"))
        self.here = affine.sub(loop.index, self.first)
        self.count = affine.sub(self.last, self.first)
        self.numbers: dict[Var, Array] = {}  # of which each iteration of a strip has its own
        self.memory: dict[str, Array] = {}

    def has_rows(self, vector: Array) -> bool:
        return vector.ndim == 1 and (vector.name in self.rows or vector.name in self.apart)

    def add(self, stmt: Stmt, product: bool) -> None:
        if isinstance(stmt, View) and stmt.array.name in self.rows:
            return
        if product or not self.groups or self.groups[-1].product:
            self.groups.append(_Group([], product))
        self.groups[-1].stmts.append(stmt)

    def settle(self, own: set[str], set_here: set[Var | Array]) -> bool:
        """Find what needs a row for each iteration; can the groups be run one after the other?"""
        seen = Counter(name for group in self.groups for name in uses(tuple(group.stmts)))
        inside = statements(self.loop.body)
        made = {stmt.array.name for stmt in inside if isinstance(stmt, (Alloc, View))}
        made -= self.apart.keys() | self.rows.keys()
        indices = {stmt.index for stmt in inside if isinstance(stmt, For)}
        trips = {stmt.trip for stmt in inside if isinstance(stmt, While)}
        if any(seen[name] > 1 for name in made) or any(seen[trip.name] > 1 for trip in trips):
            return False
        for var in sorted(set_here, key=lambda thing: thing.name):
            if isinstance(var, Array) or seen[var.name] < 2 or var in indices:
                continue
            if all(_is_set_before_it_is_read(tuple(group.stmts), var) for group in self.groups):
                continue
            if var.name not in own or not self.is_set_first(var):
                return False  # a sum: its order would be another
            self.numbers[var] = Array(self.names.fresh(var.name), var.dtype, (self.steps,))
        for name, alloc in self.apart.items():
            dims = (self.steps, *row_lengths(alloc.dims))
            self.memory[name] = Array(self.names.fresh(name), alloc.array.dtype, dims)
        return True

    def is_set_first(self, var: Var) -> bool:
        return _is_set_before_it_is_read(tuple(stmt for group in self.groups for stmt in group.stmts), var)

    def made(self) -> list[Stmt]:
        memory = (*self.memory.values(), *self.numbers.values())
        body: list[Stmt] = [
            Assign(self.first, affine.add(self.loop.start, affine.mul(self.strip, self.steps))),
            Assign(self.last, affine.minimum(affine.add(self.first, self.steps), self.loop.stop)),
        ]
        body += self.guard()
        for group in self.groups:
            body += self.product(group.stmts[0]) if group.product else self.each(group.stmts)
        length = affine.sub(self.loop.stop, self.loop.start)
        strips = Call("floordiv", (affine.sub(affine.add(length, self.steps), affine.ONE), self.steps), INT64)
        loop = For(self.strip, affine.ZERO, strips, affine.ONE, tuple(body), span=self.loop.span)
        return [Assign(self.steps, self.length()), *(Alloc(m, m.dims, span=self.loop.span) for m in memory), loop]

    def guard(self) -> list[Stmt]:
        """The rows of the strip must be there, as each of them must."""
        ends = dict.fromkeys(count for count, _ in self.lengths.values()) if self.checked else ()
        unsure = [end for end in ends if not affine.is_at_least(affine.sub(end, self.loop.stop), 0)]
        beyond: list[Expr] = [Call("gt", (self.last, end), BOOL) for end in unsure]
        message = "an index in the loop is out of bounds" + place(self.loop.span)
        return [If(reduce(either, beyond), (Raise("BoundsError", message),), span=self.loop.span)] if beyond else []

    def length(self) -> Expr:
        """Iterations in a strip."""
        each: Expr = affine.ONE
        for memory in self.memory.values():
            each = affine.add(each, affine.product(memory.dims[1:]))
        fits = Call("floordiv", (ROOM, each), INT64)
        return affine.maximum(LEAST, affine.minimum(MOST, fits))

    def each(self, stmts: list[Stmt]) -> list[Stmt]:
        """The statements of a group, for each iteration of the strip."""
        used = uses(tuple(stmts))
        views: list[Stmt] = [view for name, view in self.rows.items() if name in used]
        rows = {name: rows for name, rows in self.memory.items() if name in used}
        views += [row_view(self.apart[name].array, memory, (self.here,)) for name, memory in rows.items()]
        body: list[Stmt] = []
        for stmt in stmts:
            if isinstance(stmt, Alloc) and stmt.array.name in self.apart:
                body += [] if stmt.fill is None else [self.filled(stmt)]
            else:
                body.append(stmt)
        own = rewrite_block(tuple(body), self.with_rows)
        return [replace(self.loop, start=self.first, stop=self.last, body=(*views, *own))] if own else []

    def filled(self, alloc: Alloc) -> Stmt:
        fill, around = alloc.fill, frozenset({self.loop.index.name})
        assert fill is not None
        return elementwise(alloc.array, alloc.dims, lambda _: fill, self.names, around, alloc.span)

    def with_rows(self, stmt: Stmt) -> Block:
        """The statement, with numbers of this iteration in the places of those that each iteration has."""
        here = (self.here,)

        def read(expr: Expr) -> Expr:
            found = self.numbers.get(expr) if isinstance(expr, Var) else None
            return expr if found is None else Load(found, here, checked=False)

        match stmt:
            case Assign(var=var, value=value) if var in self.numbers:
                number, value = self.numbers[var], rewrite(value, read)
                return (Store(number, here, value, checked=False, span=stmt.span, label=stmt.label),)
        return (map_expressions(stmt, lambda expr: rewrite(expr, read)),)

    def product(self, stmt: Stmt) -> list[Stmt]:
        assert isinstance(stmt, Library)
        matrix, *vectors = _parts(stmt)
        views = [self.all_of(vector) for vector in vectors]  # type: ignore[arg-type]
        first, second = (view.array for view in views)
        out, args = (matrix, (first, second)) if stmt.routine == "add_outer" else (first, (second, matrix))
        return [*views, Library(OF_ROWS[stmt.routine], out, args, span=stmt.span)]  # type: ignore[arg-type]

    def all_of(self, vector: Array) -> View:
        """The vectors of all iterations of the strip, as a matrix."""
        is_row = vector.name in self.rows
        rows = self.rows[vector.name].base if is_row else self.memory[vector.name]
        start = self.first if is_row else affine.ZERO
        length = self.lengths[vector.name][1] if is_row else rows.dims[1]
        runs = Run(start, affine.ONE, self.count), Run(affine.ZERO, affine.ONE, length, whole=True)
        return View(Array(self.names.fresh(vector.name), vector.dtype, (self.count, length)), rows, Subscript(runs))


__all__ = ["products_in_strips"]
