"""A loop of independent steps is a loop for each of their parts, so that every part is a kernel of its own.

    for j in range(k):                         for j in range(k):
        for a in range(n):                         for a in range(n):
            t[a] = x[j, a] - m[j]                      t_rows[j, a] = x[j, a] - m[j]
        y = view of y_rows [j]           →     for j in range(k):
        matvec(y, w, t)                            t, y = views of t_rows [j], y_rows [j]
        for a in range(n):                         matvec(y, w, t)
            s[j] += y_rows[j, a]               for j in range(k):
                                                   for a in range(n):
                                                       s[j] += y_rows[j, a]

What a step has for itself becomes a row of its own.  This is for two kinds of loops:

A thread cannot call a library: so the host went through the steps, and launched as many kernels as there are parts, for
each of them.

Where a step has loops of independent iterations that go through loops themselves, one thread went through all of that.
If there are few steps, that leaves most of a GPU idle: a thread for each iteration of such a loop is better.

Iterations share nothing but sums, which nobody reads on the way (see `Sharing`): so it can't be seen in which order
their parts run, as long as each iteration's own come in theirs.  Errors that the host can see ahead come first.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from ...analysis.effects import effects, names_used
from ...analysis.extremes import extremes_of
from ...analysis.lives import is_private
from ...analysis.sharing import Shared, Sharing
from ...analysis.signs import extremes
from ...ir import affine
from ...ir.expressions import BOOL, Array, Call, Const, Dim, Expr, Load, Var, both, integer
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    Conform,
    For,
    Function,
    If,
    Library,
    Pick,
    Raise,
    Run,
    Stmt,
    Store,
    Subscript,
    View,
    While,
)
from ...ir.walk import (
    arrays_read,
    blocks,
    expressions,
    loads,
    map_expressions,
    mentioned,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    targets,
    variables,
    with_blocks,
)
from .offload import WIDE_ROWS, Kernels

SMALL = 64  # elements that every step may have a row of, whatever else there is
MOST_MORE = 1 << 27  # elements of rows at most, where a program has nothing of that size already
FEW = 1 << 17  # threads: more of them fill a GPU by themselves
SERIAL = 16  # times as many elements as there are steps: so long may loops be that a thread goes through by itself


def distribute(function: Function) -> Function:
    steps = _Steps(function)
    body = steps.block(function.body, (), ())
    gone = steps.moved
    return replace(function, body=rewrite_block(body, lambda s: () if _makes(s, gone) else (s,)))


def _makes(stmt: Stmt, names: set[str]) -> bool:
    return isinstance(stmt, Alloc) and stmt.array.name in names


class _Steps:
    def __init__(self, function: Function) -> None:
        self.function, self.sharing = function, Sharing(function, never_negative=True)
        self.arrays = [p for p in function.params if isinstance(p, Array)]
        self.arrays += [s.array for s in statements(function.body) if isinstance(s, Alloc)]
        self.moved: set[str] = set()  # that is made in other words

    def block(self, block: Block, later: tuple[Block, ...], around: tuple[For, ...]) -> Block:
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = (block[position + 1 :], *later)
            apart = self.apart(stmt, rest, around) if isinstance(stmt, For) else None
            if apart is not None:
                out += apart
                continue
            if isinstance(stmt, (For, While)):
                inner = (*around, stmt) if isinstance(stmt, For) else around
                stmt = with_blocks(stmt, (self.block(stmt.body, ((stmt,), *rest), inner),))
            elif blocks(stmt):
                stmt = with_blocks(stmt, tuple(self.block(part, rest, around) for part in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    def apart(self, loop: For, later: tuple[Block, ...], around: tuple[For, ...]) -> Block | None:
        calls = any(isinstance(stmt, Library) for stmt in loop.body)
        if loop.ordered or not (calls or any(map(_is_around_others, loop.body))):
            return None
        if not (affine.same(loop.start, affine.ZERO) and affine.same(loop.step, affine.ONE)) or loads(loop.stop):
            return None
        shared = self.sharing.of(loop, later, around)
        if shared is None or shared.stacks or variables(loop.stop) & effects(loop.body).writes:
            return None
        if not (calls or Kernels(self.function).is_by_single_threads(loop, later, around)):
            return None
        parts = _Parts(self.function, loop, shared, self.arrays, calls)
        views = {s.array.name for s in statements(loop.body) if isinstance(s, View)}
        if not parts.are_apart or not all(is_made_anew(name, later) for name in views):
            return None
        if calls and affine.same(parts.more, affine.ZERO):
            self.moved |= parts.scratch.keys()
            return parts.made_anew()
        if parts.made.keys() - parts.rows_of.keys() or any(
            isinstance(s, Alloc) for s in statements(tuple(parts.stmts))
        ):
            return None  # memory that is made at two places is nobody's own
        is_worth_it: Expr = Call("le", (affine.mul(parts.steps, parts.more), integer(MOST_MORE)), BOOL)
        if not calls:
            width = parts.width()
            if width is None:
                return None
            few = Call("le", (parts.steps, integer(FEW)), BOOL)
            is_worth_it = both(both(few, Call("ge", (width, integer(WIDE_ROWS)), BOOL)), is_worth_it)
        whole = replace(loop, ordered=True) if calls else loop
        return (If(is_worth_it, parts.made_anew(), (whole,), span=loop.span),)


def _is_around_others(stmt: Stmt) -> bool:
    """Is it a loop of independent iterations that go through loops themselves?"""
    if not isinstance(stmt, For) or stmt.ordered or any(map(_calls, stmt.body)):
        return False
    return any(isinstance(inner, For) for inner in statements(stmt.body))


def is_made_anew(name: str, later: tuple[Block, ...]) -> bool:
    """Does nobody take the view that the last iteration has left?"""
    for block in later:
        for stmt in block:
            if isinstance(stmt, View) and stmt.array.name == name:
                return stmt.base.name != name
            if name in names_used(stmt):
                inside = [part for part in blocks(stmt) if any(name in names_used(s) for s in part)]
                if not inside or not all(is_made_anew(name, (part,)) for part in inside):
                    return False
    return True


class _Parts:
    """The statements of an iteration in groups, of which each gets a loop of its own; `are_apart`: can that be?"""

    def __init__(self, function: Function, loop: For, shared: Shared, arrays: list[Array], calls: bool) -> None:
        self.names, self.loop, self.index, self.calls = function.info.names, loop, loop.index, calls
        stop = loop.stop
        self.steps = stop if affine.is_at_least(stop, 0) else affine.maximum(stop, affine.ZERO)
        self.changed = effects(loop.body).writes - set(shared.sums) - {loop.index}
        self.checks: list[If] = []
        self.views: list[View] = []
        self.made: dict[str, Alloc] = {}  # in the iteration
        self.stmts: list[Stmt] = []
        self.known: dict[Var, Expr] = {}  # numbers that each part finds by itself
        self.number_rows: dict[Var, Array] = {}
        self.rows_of: dict[str, Array] = {}
        self.handed_on: list[tuple[int, int]] = []  # first and last of statements that stay together
        self.left: dict[Var, int] = {}  # what such statements leave to others, by the first of them
        self.own: dict[str, Array] = {}  # scratch of one part, by another name
        self.more: Expr = affine.ZERO  # elements in a step's rows that the program has nothing like already
        self.groups: list[tuple[set[int], Block]] = []
        self.widths: list[tuple[Expr, ...]] = []
        self.scratch = {made.array.name: made for made in shared.scratch}
        self.are_apart = (
            all(map(self.sort, loop.body))
            and all(self.place(var) for var in sorted(self.changed, key=lambda v: v.name))
            and self.host_knows_enough()
            and all(self.give_rows(made, arrays) for made in (*self.scratch.values(), *self.made.values()))
            and self.are_groups()
        )

    def sort(self, stmt: Stmt) -> bool:
        match stmt:
            case Comment():
                pass
            case View():
                if stmt not in self.views:  # the way back makes it again
                    self.views.append(stmt)
            case Alloc(array=array):
                if array.name in self.made:
                    return False
                self.made[array.name] = stmt
            case If(then=(Raise(),), orelse=()):
                self.checks.append(stmt)
            case If() if any(isinstance(s, Raise) for s in statements((stmt,))):
                return False  # what it finds may be what makes others read inside
            case _:
                self.stmts.append(stmt)
        return True

    def using(self, names: set[str]) -> list[int]:
        return [k for k, stmt in enumerate(self.stmts) if names & names_used(stmt)]

    # --------------------------------------------------------------------------------------------------- numbers

    def place(self, var: Var) -> bool:
        """Find out how a number gets from one part to the next; False where it can't."""
        using = [k for k, stmt in enumerate(self.stmts) if any(var in mentioned(s) for s in statements((stmt,)))]
        told = any(var in mentioned(stmt) for stmt in (*self.checks, *self.views, *self.made.values()))
        told |= any(var in mentioned(s) for check in self.checks for s in check.then)
        if not told and (len(using) < 2 or all(is_private(var, (self.stmts[k],)) for k in using)):
            return True
        every = statements(self.loop.body)
        setting = [s for s in every if var in targets(s)]
        if len(setting) == 1 and self.is_known(setting[0]):
            self.known[var] = setting[0].value  # type: ignore[attr-defined]
            return True
        if told or not all(isinstance(s, (Assign, AddTo)) for s in setting):
            return False
        if any(isinstance(s, (Library, View, Alloc)) and var in mentioned(s) for s in every):
            return False
        set_in = [k for k in using if any(var in targets(s) for s in statements((self.stmts[k],)))]
        if any(_in_order(self.stmts[k], var) for k in using):
            first, last = set_in[0], set_in[-1]
            inside = self.stmts[first : last + 1]
            self.handed_on.append((first, last))
            if self.calls and (sum(isinstance(s, (For, While)) for s in inside) > 1 or any(map(_calls, inside))):
                return False
            using = [k for k in using if not first <= k <= last]
            if not using or using[0] < first:
                return not using
            self.left[var] = first
        outside = statements(tuple(self.stmts[k] for k in using))
        if any(isinstance(s, (For, While)) and any(var in variables(e) for e in expressions(s)) for s in outside):
            return False  # the host would have to fetch it
        self.number_rows[var] = Array(self.names.fresh(f"{var.name}_rows"), var.dtype, (self.steps,))
        return True

    def is_known(self, stmt: Stmt) -> bool:
        """Is it an assignment of what any part can find, from the index and from numbers that stay as they are?"""
        is_own = isinstance(stmt, Assign) and any(stmt is other for other in self.stmts)
        return is_own and not loads(stmt.value) and not variables(stmt.value) & self.changed  # type: ignore[attr-defined]

    def in_known(self, expr: Expr) -> Expr:
        return substitute(expr, self.known) if self.known else expr

    # ---------------------------------------------------------------------------------------------------- memory

    def give_rows(self, made: Alloc, arrays: list[Array]) -> bool:
        """A row for each step, of what several parts touch; False where that can't be had."""
        array = made.array
        if len(self.parts_with(array.name)) < 2:
            if array.name in self.scratch:
                self.own[array.name] = replace(array, name=self.names.fresh(array.name))
            return True
        known = [*made.dims, *([] if made.fill is None else [made.fill])]
        if made.on is not None or any(loads(e) or variables(e) & (self.changed | {self.index}) for e in known):
            return False
        size = affine.product(made.dims)
        is_small = isinstance(size, Const) and size.value <= SMALL
        as_large = (affine.product(a.dims[1:]) for a in arrays if a.ndim > 1 and affine.same(a.dims[0], self.steps))
        if not self.calls or not (is_small or any(affine.same(size, other) for other in as_large)):
            self.more = affine.add(self.more, size)
        self.rows_of[array.name] = Array(self.names.fresh(f"{array.name}_rows"), array.dtype, (self.steps, *made.dims))
        return True

    def parts_with(self, name: str) -> set[int]:
        """The parts that touch an array, by the first statement of those that stay together."""
        handles = {name}
        for view in self.views:
            if view.base.name in handles:
                handles.add(view.array.name)
        return {next((first for first, last in self.handed_on if first <= k <= last), k) for k in self.using(handles)}

    def host_knows_enough(self) -> bool:
        """Can the host make the views and see the errors of all iterations ahead of all parts?"""
        told = (*self.checks, *(s for check in self.checks for s in check.then), *self.views)
        if any(loads(e) or variables(self.in_known(e)) & self.changed for s in told for e in expressions(s)):
            return False
        every = statements(self.loop.body)
        arrays = [a for s in every for a in (*targets(s), *arrays_read(s)) if isinstance(a, Array)]
        arrays += [view.array for view in self.views]
        if any(variables(dim) & self.known.keys() for array in arrays for dim in array.dims):
            return False
        top = {view.array.name for view in self.views} | self.made.keys()
        inner = [s.array.name for stmt in self.stmts for s in statements((stmt,)) if isinstance(s, (Alloc, View))]
        asked = {e.array for s in every for x in expressions(s) for e in subexpressions(x) if isinstance(e, Dim)}
        alone = all(len(self.using({name})) == 1 for name in inner)
        are_handles = len(self.views) == len({view.array.name for view in self.views})
        is_memory = are_handles and not any(isinstance(view.how, Conform) for view in self.views)
        if not self.calls and (self.checks or self.views or self.made or inner):
            return False  # what the host would do step by step
        return is_memory and alone and not (top | self.scratch.keys()) & ({*inner} | asked)

    # ---------------------------------------------------------------------------------------------------- groups

    def are_groups(self) -> bool:
        self.groups = self.together()
        for _, group in self.groups:
            found = self.serial_widths(group) if self.calls else ()
            if found is None:
                return False
            self.widths.append(found)
        return len(self.groups) + bool(self.checks) > 1

    def together(self) -> list[tuple[set[int], Block]]:
        """Loops and calls alone, what stands between them together; and what hands a number on from step to step."""
        groups: list[list[int]] = []
        until, may_go_on = -1, False
        for k, stmt in enumerate(self.stmts):
            if isinstance(stmt, Assign) and stmt.var in self.known:
                continue
            last = max([k, *(last for first, last in self.handed_on if first <= k <= last)])
            is_plain = last == k and not any(isinstance(s, (For, While, Library)) for s in statements((stmt,)))
            if groups and (k <= until or (is_plain and may_go_on)):
                groups[-1].append(k)
            else:
                groups.append([k])
            may_go_on = is_plain and k > until
            until = max(until, last)
        return [(set(group), tuple(self.stmts[k] for k in group)) for group in groups]

    def serial_widths(self, group: Block) -> tuple[Expr, ...] | None:
        """How long the independent loops are that a thread of the group's kernel goes through by itself."""
        if any(map(_calls, group)):
            return ()
        only = group[0] if len(group) == 1 else None
        if isinstance(only, For) and not only.ordered:
            ends = [self.in_known(end) for end in (only.start, only.stop)]
            if not any(loads(end) or self.index in variables(end) for end in ends):
                return ()
        found: dict[Expr, None] = {}

        def look(block: Block, around: tuple[For, ...], width: Expr) -> bool:
            for stmt in block:
                inner, here = around, width
                if isinstance(stmt, For):
                    inner = (*around, stmt)
                    if not stmt.ordered or extremes_of(stmt):
                        length = self.most(stmt, around)
                        if length is None:
                            return False
                        here = affine.mul(width, length)
                        found[here] = None
                if not all(look(part, inner, here) for part in blocks(stmt)):
                    return False
            return True

        return tuple(found) if look(group, (), affine.ONE) else None

    def width(self) -> Expr | None:
        """How many iterations the longest of the loops has that go through others themselves."""
        found = [self.most(stmt, ()) for stmt in self.stmts if isinstance(stmt, For) and _is_around_others(stmt)]
        return reduce(affine.maximum, [n for n in found if n is not None]) if any(found) else None

    def most(self, loop: For, around: tuple[For, ...]) -> Expr | None:
        """How many iterations a loop has at most, whatever the indices of those around it are."""
        low, high = extremes(loop)
        length = self.in_known(affine.add(affine.sub(high, low), affine.ONE))
        for outer in (*reversed(around), self.loop):
            count = next((c for term, c in affine.affine(length)[0] if term == outer.index), 0)
            least, greatest = extremes(outer)
            length = self.in_known(affine.normal(substitute(length, {outer.index: greatest if count > 0 else least})))
        unknown = self.changed | {self.index, loop.index}
        return None if loads(length) or variables(length) & unknown else length

    # ------------------------------------------------------------------------------------------------- made anew

    def made_anew(self) -> Block:
        out: list[Stmt] = []
        if self.checks:
            checks = rewrite_block(tuple(self.checks), lambda s: (map_expressions(s, self.in_known),))
            out.append(replace(self.loop, body=checks, ordered=True))
        fills = {name: made.fill for name, made in (*self.scratch.items(), *self.made.items())}
        memory = (*self.rows_of.items(), *self.own.items())
        out += [Alloc(array, array.dims, fills[name], span=self.loop.span) for name, array in memory]
        out += [Alloc(rows, rows.dims, span=self.loop.span) for rows in self.number_rows.values()]
        alone = {array.name for array in self.own.values()}
        for (places, group), widths in zip(self.groups, self.widths, strict=True):
            loop = replace(self.loop, body=self.with_handles(self.in_rows(places, group)))
            in_order = replace(loop, ordered=True)
            few = affine.mul(integer(SERIAL), self.steps)
            condition: Expr | None = None
            for width in widths:
                condition = both(condition, Call("le", (width, few), BOOL))
            if self.calls and any(isinstance(s, Alloc) or names_used(s) & alone for s in statements(loop.body)):
                out.append(in_order)  # memory of its own keeps other axes from the grid
            else:
                out.append(loop if condition is None else If(condition, (loop,), (in_order,), span=loop.span))
        return tuple(out)

    def in_rows(self, places: set[int], group: Block) -> Block:
        """The statements with elements of rows, for numbers and arrays of an iteration's own."""
        left = [var for var, first in self.left.items() if first in places]
        rows = {var: Load(array, (self.index,), checked=False) for var, array in self.number_rows.items()}
        elsewhere = {var: row for var, row in rows.items() if var not in left}

        def element(expr: Expr) -> Expr:
            if isinstance(expr, Var):
                return elsewhere.get(expr, expr)
            if isinstance(expr, Load):
                array, index = self.place_of(expr.array, expr.index)
                return replace(expr, array=array, index=index)
            return expr

        def change(stmt: Stmt) -> tuple[Stmt, ...]:
            if isinstance(stmt, Assign) and stmt.var in elsewhere:
                stmt = _set(elsewhere[stmt.var], stmt.value, stmt)
            stmt = map_expressions(stmt, lambda expr: rewrite(self.in_known(expr), element))
            if isinstance(stmt, Store):
                array, index = self.place_of(stmt.array, stmt.index)
                stmt = replace(stmt, array=array, index=index)
            return (stmt,)

        return (*rewrite_block(group, change), *(_set(rows[var], var, group[-1]) for var in left))

    def place_of(self, array: Array, index: tuple[Expr, ...]) -> tuple[Array, tuple[Expr, ...]]:
        """The element of memory that an element of an iteration's own is."""
        rows = self.rows_of.get(array.name)
        return (self.own.get(array.name, array), index) if rows is None else (rows, (self.index, *index))

    def with_handles(self, group: Block) -> Block:
        """The statements behind what they need: memory of their own, rows that they take as a whole, and views."""
        needed = set().union(*map(names_used, group))
        views: list[Stmt] = []
        for view in reversed(self.views):
            if view.array.name in needed:
                views.insert(0, map_expressions(view, self.in_known))
                needed.add(view.base.name)
        made = [made for name, made in self.made.items() if name in needed and name not in self.rows_of]
        whole = [name for name in (*self.rows_of, *self.own) if name in needed]
        return (*made, *map(self.handle, whole), *views, *group)

    def handle(self, name: str) -> View:
        """The memory that an iteration has for itself, under the name that it had."""
        base = self.rows_of.get(name) or self.own[name]
        row = (Pick(self.index),) if name in self.rows_of else ()
        dims = base.dims[len(row) :]
        runs = tuple(Run(affine.ZERO, affine.ONE, dim, whole=True) for dim in dims)
        return View(Array(name, base.dtype, dims), base, Subscript((*row, *runs)))


def _set(place: Load, value: Expr, like: Stmt) -> Store:
    return Store(place.array, place.index, value, checked=False, span=like.span, label=like.label)


def _calls(stmt: Stmt) -> bool:
    return any(isinstance(s, Library) for s in statements((stmt,)))


def _in_order(stmt: Stmt, var: Var) -> bool:
    """Does a loop in it that goes in order set the number?"""
    loops = (s for s in statements((stmt,)) if isinstance(s, While) or (isinstance(s, For) and s.ordered))
    return any(var in targets(s) for loop in loops for s in statements(loop.body))


__all__ = ["distribute", "is_made_anew"]
