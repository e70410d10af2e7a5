"""Iterations of an independent loop run side by side: eight of them are one operation on vector registers.

    for i in range(n):                       for i in range(0, n // 8 * 8, 8):
        for j in range(k):                       for j in range(k):
            s = 0.0                                  for l in range(8): s[l] = 0.0
            for a in range(d):           →           for a in range(d):
                s += w[j, a] * u[a]                      for l in range(8): s[l] += w[j, a] * u[a, l]
            t[j] = exp(s)                            for l in range(8): t[j, l] = exp(s[l])
                                             for i in range(n // 8 * 8, n): …

Where the inner loops are short, or add up in the user's order, LLVM can vectorise none of them; that the iterations
around them are independent it can not know.  As many iterations go through the inner loops together as fill vector
registers: numbers and scratch of theirs get one more axis, numbers that are the same for all stay numbers.  Each
iteration computes what it did, in the same order; sums of ours are added up eight at a time, the user's own one by one.

What counts is how the innermost loops reach memory: eight iterations that each read a row of their own would read
eight places at a time, so that is done only where there is much to compute for each.  Elsewhere four sums in the user's
order are taken at a time (`jam`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from ...analysis.effects import effects
from ...analysis.lives import is_private
from ...analysis.reach import Reach
from ...analysis.sharing import Sharing, stacks_of
from ...analysis.varying import Differs, Varying, moves_along
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Var, both, integer, select
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    For,
    Function,
    If,
    NewStack,
    Parallel,
    Pop,
    Push,
    Raise,
    Stmt,
    Store,
    While,
)
from ...ir.walk import blocks, expressions, loads, rewrite_block, statements, subexpressions, variables, with_blocks
from ...rules.costs import is_dear
from .groups import Group, depth_of, nests
from .jam import jammed
from .lanes import Lanes
from .own_rows import Loops, OwnRows
from .rounds import Rounds
from .unread_lanes import without_unread

WIDTH = 8  # iterations, a power of two: numbers of float64 fill a register of 512 bits, or two of 256
ROOM = 1 << 24  # bytes of scratch: beyond it, memory is what takes the time
LONG = 512  # iterations of a loop that LLVM can vectorise too: eight times as much memory leaves the first cache
WORTH = 2  # at least every second of them has to be busy in rounds of `while` loops
SIMPLE = (AddTo, Assign, Comment, For, If, Pop, Push, Raise, Store, While)


def side_by_side(function: Function) -> Function:
    nests = any(isinstance(stmt, (For, While)) and _has_loop(stmt.body) for stmt in statements(function.body))
    body = _SideBySide(function).block(function.body, (), ()) if nests else function.body
    return replace(function, body=_without_unused_stacks(body))


def _has_loop(block: Block) -> bool:
    return any(isinstance(stmt, (For, While)) for stmt in statements(block))


def _without_unused_stacks(body: Block) -> Block:
    if not any(isinstance(stmt, NewStack) for stmt in statements(body)):
        return body
    used = {stack for stmt in statements(body) if not isinstance(stmt, NewStack) for stack in stacks_of(stmt)}
    is_used = lambda stmt: not isinstance(stmt, NewStack) or stmt.stack in used
    return rewrite_block(body, lambda stmt: (stmt,) if is_used(stmt) else ())


class _SideBySide:
    def __init__(self, function: Function) -> None:
        self.names, self.sharing = function.info.names, Sharing(function)
        self.signs = self.sharing.signs
        self.ahead: list[Block] = []  # memory that waits for its place, ahead of as many loops as can be

    def block(
        self, block: Block, later: tuple[Block, ...], around: tuple[For, ...], loop: For | While | None = None
    ) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first.

        `around` are the loops that it is in, the outermost first; `loop`: the one whose body this is.
        """
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            waiting = len(self.ahead)
            made = self.changed(stmt, (block[position + 1 :], *later), around)
            here = [memory for memory in self.ahead[waiting:] if loop is None or not _is_fixed_in(loop, memory)]
            self.ahead = [memory for memory in self.ahead if memory not in here]
            out += (*(stmt for memory in here for stmt in memory), *made)
        return tuple(out)

    def changed(self, stmt: Stmt, later: tuple[Block, ...], around: tuple[For, ...]) -> Block:
        match stmt:
            case For() if _may_be(stmt) and (made := self.together(stmt, later)):
                return made
            case For() | While():
                inner = (*around, stmt) if isinstance(stmt, For) else around
                body = self.block(stmt.body, ((stmt,), *later), inner, stmt)
                if isinstance(stmt, For) and body == stmt.body:
                    return jammed(stmt, later, around, self.sharing, self.names) or (stmt,)
                return (replace(stmt, body=body),)
            case Parallel(low=low, start=start):
                naturals = self.signs.naturals
                (naturals.add if self.signs.is_natural(start) else naturals.discard)(low)
        return (with_blocks(stmt, tuple(self.block(part, later, around) for part in blocks(stmt))),)

    def together(self, loop: For, later: tuple[Block, ...]) -> Block | None:
        shared = self.sharing.of(loop, later)
        if shared is None:
            return None
        try:
            varying = Varying(loop, shared, self.sharing.roots)
            is_natural = self.signs.is_natural(loop.start)
            memory, made = _Together(varying, OwnRows(self.names, varying, WIDTH, is_natural)).made()
        except Differs:
            return None
        self.ahead.append(memory)
        return made


def _may_be(loop: For) -> bool:
    """Is this an independent loop around others, of statements on real numbers and elements alone?"""
    inside = statements(loop.body)
    trips = affine.difference(loop.stop, loop.start)
    return (
        not loop.ordered
        and affine.same(loop.step, affine.ONE)
        and (trips is None or trips >= WIDTH)
        and any(isinstance(stmt, (For, While)) for stmt in inside)
        and all(isinstance(stmt, SIMPLE) for stmt in inside)
        and all(node.dtype.kind in "fib" for s in inside for e in expressions(s) for node in subexpressions(e))
        and not any(loads(end) or variables(end) & effects(loop.body).writes for end in (loop.start, loop.stop))
    )


def _is_fixed_in(loop: For | While, memory: Block) -> bool:
    """Is it the same memory in every iteration, and nothing that it has to start from?"""
    if any(isinstance(stmt, Alloc) and stmt.fill is not None for stmt in memory):
        return False
    inside = effects((loop,))
    exprs = [expr for stmt in memory for expr in expressions(stmt)]
    lengths = {node.array for expr in exprs for node in subexpressions(expr) if isinstance(node, Dim)}
    own = {stmt.var for stmt in memory if isinstance(stmt, Assign)}
    used = frozenset[Var]().union(*map(variables, exprs)) - own
    return not (used & inside.writes or lengths & (inside.allocated | inside.views.keys()) or any(map(loads, exprs)))


class _Together:
    """Builds the loop in which iterations go together, out of groups of statements."""

    def __init__(self, varying: Varying, rows: OwnRows) -> None:
        self.varying, self.rows, self.names, self.loop = varying, rows, rows.names, varying.loop
        self.lane = Var(self.names.fresh("lane"), INT64)
        self.rounds = Rounds(self.names, varying, self.lane, WIDTH, self.masked)
        self.reach = Reach(varying, rows.is_natural)
        self.lanes = Lanes(varying, rows, self.rounds, self.reach, self.lane, WIDTH)
        self.is_slow = False  # is there an inner loop that can't be vectorised?

    def made(self) -> tuple[Block, Block]:
        """Memory, and the loop."""
        body = self.grouped(self.loop.body)
        found = list(nests(body, ()))
        self.rows.find(
            (stmt, around) for group, around in found if not group.in_turn for stmt in statements(group.body)
        )
        self.check_profit(found)
        for name in self.varying.names & self.varying.scratch.keys():
            made = self.varying.scratch[name].array
            self.lanes.wide[name] = Array(self.names.fresh(f"{name}_lanes"), made.dtype, (*made.dims, integer(WIDTH)))
        self.lanes.numbers = set(apart := self.numbers_apart([group for group, _ in found]))
        for var in apart:
            self.lanes.wide[var.name] = Array(self.names.fresh(f"{var.name}_lanes"), var.dtype, (integer(WIDTH),))
        together = (*self.rows.copies(self.lane), *self.lanes.expanded(body), *self.rows.copies_back(self.lane))
        numbers = frozenset(self.lanes.wide[var.name].name for var in apart)
        together, needed = without_unread(together, self.lane, numbers)
        self.lanes.wide = {name: wide for name, wide in self.lanes.wide.items() if wide.name not in numbers - needed}
        memory, fits = self.memory()
        first = Var(self.names.fresh("first"), INT64)
        start, stop = self.loop.start, self.loop.stop
        count = affine.maximum(affine.sub(stop, start), affine.ZERO)
        whole = affine.mul(integer(WIDTH), affine.floordiv(count, WIDTH))
        if fits is not None:
            whole = select(fits, whole, affine.ZERO)
        return memory, (
            Comment(f"{WIDTH} iterations side by side"),
            Assign(first, affine.add(start, whole)),
            *self.in_strips(first, together),
        )

    def in_strips(self, first: Var, together: Block) -> Block:
        """The iterations up to the first of those that are left over, and these.

        Where few go on in `while` loops that most have left, all that follow go one by one.
        """
        index = self.loop.index
        if not self.rounds.made:
            return (
                replace(self.loop, stop=first, step=integer(WIDTH), body=together),
                replace(self.loop, start=first, few=True),
            )
        busy = Call("ge", (affine.mul(integer(WORTH), self.rounds.done), self.rounds.offered), BOOL)
        condition = both(Call("lt", (index, first), BOOL), busy)
        tallies = Assign(self.rounds.done, affine.ZERO), Assign(self.rounds.offered, affine.ZERO)
        body = (*together, AddTo(index, integer(WIDTH)))
        strips = While(Var(self.names.fresh("strips"), INT64), condition, body)
        rest = replace(self.loop, start=index, body=self.rounds.one_by_one(self.loop.body))
        return (*tallies, Assign(index, self.loop.start), strips, rest)

    # ---------------------------------------------------------------------------------------------------------- groups

    def grouped(self, block: Block, around: Loops = ()) -> Block:
        out: list[Stmt] = []
        group: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Comment):
                continue
            made: Block | None = None
            if self.varying.is_same_for_all(stmt):
                made = (stmt,)
            elif self.varying.is_in_turn(stmt):
                if any(isinstance(s, (While, Push, Pop)) for s in statements((stmt,))):
                    raise Differs
                made = (Group((stmt,), in_turn=True),)
            elif isinstance(stmt, While):
                made = self.rounds.together(stmt, around)
            elif isinstance(stmt, For) and self.varying.is_way_back(stmt):
                made = self.rounds.back(stmt, around)
            elif isinstance(stmt, For):
                made = (replace(stmt, body=self.grouped(stmt.body, (*around, stmt))),)
            elif isinstance(stmt, If) and not self.varying.varies(stmt.condition):
                if any(isinstance(s, (Push, Pop)) for s in statements((stmt,))):
                    raise Differs  # the way back has to be in the same branch as the rounds
                made = (with_blocks(stmt, tuple(self.grouped(part, around) for part in blocks(stmt))),)
            elif isinstance(stmt, (Push, Pop)):
                raise Differs
            if made is None:
                group.append(stmt)
            else:
                out += (*self.groups_of(group, around), *made)
                group = []
        return (*out, *self.groups_of(group, around))

    def groups_of(self, block: list[Stmt], around: Loops) -> list[Group]:
        """What can be done together, and after it what has to be done in turn."""
        out: list[Group] = []
        body: list[Stmt] = []
        totals: list[tuple[Var, Load]] = []
        rare: list[tuple[Var, Load]] = []
        last: list[Stmt] = []

        def in_total(stmt: Stmt) -> tuple[Stmt, ...]:
            if isinstance(stmt, AddTo) and self.varying.is_shared_sum(stmt) and isinstance(stmt.target, Load):
                if not self.varying.varies(*stmt.target.index):
                    stmt = replace(stmt, target=self.total(stmt.target, rare))
            return (stmt,)

        inside = statements(tuple(block))
        for position, stmt in enumerate(block):
            if isinstance(stmt, If):
                shared = (s for s in statements((stmt,)) if isinstance(s, AddTo) and self.varying.is_shared_sum(s))
                if not all(self.varying.goes_together(s, inside) for s in shared):
                    raise Differs
                body += rewrite_block((stmt,), in_total)
            elif not isinstance(stmt, AddTo) or not self.varying.is_shared_sum(stmt):
                body.append(stmt)
            elif stmt.reorder and isinstance(stmt.target, Var):
                body.append(stmt)
            elif stmt.reorder and isinstance(stmt.target, Load) and not self.varying.varies(*stmt.target.index):
                body.append(replace(stmt, target=self.total(stmt.target, totals)))
            elif self.varying.goes_together(stmt, inside) or self.rows.sums(stmt, around):
                body.append(stmt)
            else:
                last.append(self.named(stmt, body, effects(block[position + 1 :]).writes))
        if body:
            out.append(Group(tuple(body), totals=tuple(totals), rare=tuple(rare)))
        if last:
            out.append(Group(tuple(last), in_turn=True))
        return out

    def total(self, place: Load, totals: list[tuple[Var, Load]]) -> Var:
        """A number in the place of an element that all add to."""
        total = Var(self.names.fresh("total"), place.dtype)
        totals.append((total, place))
        self.lanes.totals.add(total)
        return total

    def named(self, stmt: AddTo, body: list[Stmt], changed: set[Var]) -> AddTo:
        """What is added, and where, by names that still hold at the end of the group."""

        def name(expr: Expr, wanted: str) -> Expr:
            if (
                not self.varying.varies(expr)
                or expr == self.loop.index
                or (isinstance(expr, Var) and expr not in changed)
            ):
                return expr
            var = Var(self.names.fresh(wanted), expr.dtype)
            self.varying.names.add(var.name)
            body.append(Assign(var, expr))
            return var

        if isinstance(stmt.target, Load):
            index = tuple(name(part, "place") for part in stmt.target.index)
            return replace(stmt, target=replace(stmt.target, index=index), value=name(stmt.value, "term"))
        return replace(stmt, value=name(stmt.value, "term"))

    def masked(self, mask: Expr, body: list[Stmt], around: Loops) -> list[Group]:
        """Groups in which some may be out of the loop: what they read has to be there for them too."""
        groups = self.groups_of(body, around)
        if any(group.in_turn for group in groups):
            raise Differs
        for place in (place for group in groups for place in group.places()):
            if place.array in self.rounds.kept_arrays():
                continue
            if moves_along(place, around[-1]):
                raise Differs
            for axis, part in enumerate(place.index):
                if self.varying.varies(part):
                    end = self.reach.end_of(part)
                    if end is None:
                        raise Differs
                    self.reach.inside.add((place.array, axis, end))
        return [replace(group, mask=mask) for group in groups]

    # --------------------------------------------------------------------------------------------------------- numbers

    def numbers_apart(self, groups: list[Group]) -> list[Var]:
        """The numbers that differ, and that some group has from another, or from an earlier run of its own."""
        found: dict[Var, None] = {}
        for group in groups:
            seen = effects(group.body)
            for var in sorted(seen.reads | seen.writes, key=lambda var: var.name):
                if var.name in self.varying.names and var != self.loop.index and not is_private(var, group.body):
                    found[var] = None
            if group.mask is not None:
                found |= {var: None for var in variables(group.mask) if var.name in self.varying.names}
        return list(found)

    # ---------------------------------------------------------------------------------------------------------- profit

    def check_profit(self, found: list[tuple[Group, Loops]]) -> None:
        """Is the most of the work done together, and does it reach memory side by side?"""
        together = [(group, around) for group, around in found if not group.in_turn]
        deepest = max((len(around) for _, around in together), default=0)
        in_turn = max((len(around) + depth_of(group.body) for group, around in found if group.in_turn), default=0)
        most = [stmt for group, around in together if len(around) == deepest for stmt in statements(group.body)]
        if not deepest or in_turn > deepest or (in_turn == deepest and not any(map(is_dear, most))):
            raise Differs  # (none is deep where the loop inside is the same for all iterations)
        if not all(map(self.reach.is_sure, (place for group, _ in together for place in group.places()))):
            raise Differs
        inner = [(group, around[-1]) for group, around in together if len(around) == deepest]
        near = [place for group, loop in inner for place in group.places() if moves_along(place, loop)]
        self.is_slow = any(self.is_chain(group, loop) for group, loop in inner)
        if not self.is_slow:  # where LLVM can vectorise an inner loop along the rows, that is best
            self.rows.leave(near)
            if any(self.adds_along(group, loop) for group, loop in inner):
                raise Differs
        if any(map(self.is_far, near)):
            raise Differs

    def is_chain(self, group: Group, loop: For | While) -> bool:
        """Does each run of the loop wait for the one before, so that it is no operation on vectors by itself?"""
        if isinstance(loop, While) or loop.ordered:
            return True
        targets = (s.target for s in statements(group.body) if isinstance(s, AddTo) and not s.reorder)
        return any(isinstance(target, Var) or not moves_along(target, loop) for target in targets)

    def adds_along(self, group: Group, loop: For | While) -> bool:
        """Does the loop add to other elements of what all share in each of its runs?"""
        sums = (s for s in statements(group.body) if isinstance(s, AddTo) and self.varying.is_shared_sum(s))
        places = [s.target for s in sums if isinstance(s.target, Load) and self.rows.of(s.target) not in self.rows.wide]
        return any(self.varying.varies(*place.index) and moves_along(place, loop) for place in places)

    def is_far(self, load: Load) -> bool:
        """Does each iteration reach a place of its own, in another line of the cache?"""
        if not self.varying.varies(*load.index) or self.rows.of(load) in self.rows.wide:
            return False
        *others, last = load.index
        return self.varying.varies(*others) or self.varying.varies(affine.sub(last, self.loop.index))

    # ---------------------------------------------------------------------------------------------------------- memory

    def memory(self) -> tuple[Block, Expr | None]:
        """What has one more axis, and the condition for its use (None: there is none)."""
        own = self.lanes.wide
        scratch = [(made.dims, made.fill, name) for name, made in self.varying.scratch.items() if name in own]
        parts = [(dims, fill, own[name]) for dims, fill, name in scratch]
        parts += [(row.dims, None, wide) for row, wide in self.rows.wide.items()]
        room: Expr = affine.ZERO
        for dims, _, wide in parts:
            room = affine.add(room, affine.mul(integer(WIDTH * wide.dtype.itemsize), affine.product(dims)))
        if isinstance(room, Const) and room.value > ROOM:
            raise Differs
        conditions = [] if isinstance(room, Const) else [_is_at_most(room, integer(ROOM))]
        conditions += self.rows.worth()
        if not self.is_slow:
            ends = [dims[-1] for dims, _, _ in scratch if dims and not isinstance(dims[-1], Const)]
            conditions += [_is_at_most(end, integer(LONG)) for end in dict.fromkeys(ends)]
        out: list[Stmt] = []
        fits: Expr | None = None
        if conditions:
            fits = Var(self.names.fresh("fits"), BOOL)
            out.append(Assign(fits, reduce(both, conditions)))
        for dims, fill, wide in parts:
            if fits is not None and dims and not isinstance(dims[0], Const):
                dims = (select(fits, dims[0], affine.ZERO), *dims[1:])
            out.append(Alloc(wide, (*dims, integer(WIDTH)), fill))
        out += [Alloc(wide, wide.dims) for name, wide in own.items() if name not in self.varying.scratch]
        out += [Alloc(kept, kept.dims) for kept in self.rounds.kept_arrays()]
        # a loop in which nothing is read may go on past the end
        lengths = [(row.array, row.axis, self.loop.stop) for row in self.rows.wide]
        lengths += sorted(self.reach.inside, key=lambda length: (length[0].name, *map(repr, length[1:])))
        ends_and_lengths = [(end, Dim(array.name, axis)) for array, axis, end in dict.fromkeys(lengths)]
        inside = [_is_at_most(end, length) for end, length in ends_and_lengths if end != length]
        every = [*([fits] if fits is not None else []), *inside]
        return tuple(out), reduce(both, every) if every else None


def _is_at_most(x: Expr, bound: Expr) -> Expr:
    return Call("le", (x, bound), BOOL)


__all__ = ["side_by_side"]
