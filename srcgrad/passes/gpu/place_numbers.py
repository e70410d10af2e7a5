"""Numbers that are computed from what lies on a GPU stay there: the host gets to see one only where it decides by it.

    s = f_i()                               s = f_i()                     (on the device)
    g = 2.0 / s                     →       f_set, by one thread:
    e[0] = 0.0                                  g = 2.0 / s
    while s > tolerance: …                      e[0] = 0.0
                                            s = from the device
                                            while s > tolerance: …

A loop that has to go in order, and has no kernel in it, is run by one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from ...analysis.effects import names_used
from ...analysis.extremes import NEUTRAL
from ...analysis.lives import is_dead, is_private
from ...analysis.sharing import stacks_of
from ...ir import affine
from ...ir.expressions import Const, Expr, Load, Var
from ...ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    Fetch,
    For,
    Function,
    If,
    Kernel,
    NewStack,
    Pop,
    Push,
    Put,
    Raise,
    Stack,
    Stmt,
    Store,
    View,
    While,
    leaves,
)
from ...ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    mentioned,
    numbers_set,
    statements,
    variables,
    with_blocks,
)
from .offload import OF_NUMBERS, sequential, sets, sets_itself

Part = TypeVar("Part", For, Alloc)


def place_numbers(function: Function) -> Function:
    """The function with a kernel of one thread for what the host computes from numbers on the device."""
    return _Residency(function).function()


class _Residency:
    """Decides where numbers lie, and has one thread compute those that lie on the device."""

    def __init__(self, function: Function) -> None:
        self.whole = function
        self.names = function.info.names
        self.device: set[Var] = set()
        for stmt in statements(function.body):
            if isinstance(stmt, Kernel):
                self.device |= set(stmt.sums)
        count = -1
        while count != len(self.device):
            count = len(self.device)
            for stmt in self.host_statements(function.body):
                if _is_of_numbers(stmt) and self.touches_device(stmt):
                    self.device |= sets(stmt)
            self.stacks = self.stacks_of_device()
            self.device |= {s.target for s in self.host_statements(function.body) if self.is_of_device(s, Pop)}  # type: ignore[attr-defined]
        given = {param for param in function.params if isinstance(param, Var)}
        self.on_host: set[Var] = given & self.device  # the ones whose value the host knows at this point
        self.fetched: set[Var] = set()  # those on the device of which the host has the value too
        self.seen: set[Var] = set()  # what may have been set ahead of this point
        self.results: set[Var] = set()
        for leaf in leaves(function.results):
            self.results |= variables(leaf) if isinstance(leaf, Expr) else set()

    def is_dead(self, var: Var, later: tuple[Block, ...]) -> bool:
        return is_dead(var, later, var in self.results)

    def host_statements(self, block: Block) -> Iterator[Stmt]:
        """Statements on the level of the host: what is inside of those that one thread runs is not looked at."""
        for stmt in block:
            yield stmt
            if not isinstance(stmt, Kernel) and not _is_of_numbers(stmt):
                for inner in blocks(stmt):
                    yield from self.host_statements(inner)

    def stacks_of_device(self) -> frozenset[Stack]:
        """Stacks of the host's on which numbers that lie on the device stay there."""
        given: dict[Stack, list[bool]] = {}
        for stmt in self.host_statements(self.whole.body):
            for stack in stacks_of(stmt):
                is_number = isinstance(stmt, Push) and stmt.value in self.device
                is_pop = isinstance(stmt, Pop) and isinstance(stmt.target, Var)
                given.setdefault(stack, []).append(isinstance(stmt, NewStack) or is_pop or is_number)
        pushed = {s.stack for s in self.host_statements(self.whole.body) if isinstance(s, Push)}
        return frozenset(stack for stack, found in given.items() if all(found) and stack in pushed)

    def is_of_device(self, stmt: Stmt, kind: type[Stmt] | tuple[type[Stmt], ...]) -> bool:
        return isinstance(stmt, kind) and stmt.stack in self.stacks  # type: ignore[attr-defined]

    def touches_device(self, stmt: Stmt) -> bool:
        for inner in statements((stmt,)):
            if isinstance(inner, Store) or (isinstance(inner, AddTo) and isinstance(inner.target, Load)):
                return True
            if any(loads(e) or variables(e) & self.device for e in expressions(inner)):
                return True
            if sets_itself(inner) & self.device:
                return True
        return False

    def function(self) -> Function:
        body = self.block(self.whole.body, ())
        for leaf in leaves(self.whole.results):
            if isinstance(leaf, Expr) and not isinstance(leaf, Var) and variables(leaf) & self.device:
                raise AssertionError(f"a result is computed in the return: {leaf}")
        extra = dict(self.whole.info.extra)
        extra |= {"on_device": frozenset(self.device - self.on_host), "stacks_of_device": self.stacks}
        return replace(self.whole, body=body, info=replace(self.whole.info, extra=extra))

    def block(self, block: Block, later: tuple[Block, ...]) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        alone: list[Stmt] = []  # for one thread, together

        def flush(position: int) -> None:
            if any(not isinstance(s, Comment) for s in alone):
                out.extend(self.by_one_thread(tuple(alone), (block[position:], *later)))
            else:
                out.extend(alone)
            alone.clear()

        for position, stmt in enumerate(block):
            if isinstance(stmt, Comment):
                (alone if alone else out).append(stmt)
                continue
            if _is_of_numbers(stmt) and self.touches_device(stmt):
                value = stmt.value if isinstance(stmt, Assign) else None
                known = value is not None and not loads(value) and self.lies(variables(value)) <= self.fetched
                if known and not _meet(alone, stmt):
                    out.append(stmt)
                    self.on_host.add(stmt.var)  # type: ignore[attr-defined]
                    self.seen |= sets(stmt)
                else:
                    alone.append(stmt)
                continue
            if _meet(alone, stmt) or not (_is_of_numbers(stmt) or _is_free(stmt)) or self.asks(stmt):
                flush(position)
            if isinstance(stmt, (For, While)):  # a later part of it is ahead the next time
                self.seen |= sets(stmt)
            if _is_of_numbers(stmt) or (_is_free(stmt) and not self.asks(stmt)):
                out.append(stmt)
            else:
                out.extend(self.on_the_host(stmt, (block[position + 1 :], *later)))
            self.seen |= sets(stmt)
        flush(len(block))
        return tuple(out)

    def lies(self, found: Iterable[Var]) -> set[Var]:
        """Those that lie on the device now."""
        return (set(found) & self.device) - self.on_host

    def asks(self, stmt: Stmt) -> bool:
        return any(loads(e) or self.lies(variables(e)) for e in expressions(stmt))

    # ------------------------------------------------------------------------------------------------ one thread

    def by_one_thread(self, stmts: Block, later: tuple[Block, ...]) -> Block:
        made = set().union(*map(sets, stmts)) & self.device
        mentioned = set().union(*map(_mentioned, stmts))
        needed = {var for var in mentioned if not is_private(var, stmts)}
        lasting = {var for var in made if not self.is_dead(var, later)}
        partly = {var for var in lasting if var not in _surely_set(stmts)} | (needed & made)
        put = [Put(var) for var in sorted(partly & self.on_host, key=_by_name)]
        nowhere = partly - self.on_host - self.seen
        start = tuple(Assign(var, Const(0, var.dtype)) for var in sorted(nowhere, key=_by_name))
        reads = (self.lies(needed) | partly) - nowhere
        self.seen |= made
        self.on_host -= made
        self.fetched -= made
        kernel = Kernel(
            name=self.names.fresh(f"{self.whole.name}_set"),
            axes=(),
            body=(*start, *sequential(stmts)),
            reads=tuple(sorted(reads, key=_by_name)),
            sets=tuple(sorted(lasting, key=_by_name)),
            span=next((s.span for s in stmts if s.span), None),
        )
        return (*put, kernel)

    # -------------------------------------------------------------------------------------------------- the host

    def on_the_host(self, stmt: Stmt, later: tuple[Block, ...]) -> Block:
        if self.is_of_device(stmt, Push):
            return (*self.put({stmt.value} & self.on_host), stmt)  # type: ignore[attr-defined]
        if self.is_of_device(stmt, Pop):
            self.on_host.discard(stmt.target)  # type: ignore[attr-defined]
            self.fetched.discard(stmt.target)  # type: ignore[attr-defined]
            return (stmt,)
        if isinstance(stmt, Kernel):
            begins = (var for var, op in stmt.extremes if op not in NEUTRAL)  # every thread, with what there is
            put = self.put(var for var in begins if var in self.on_host)
            for_axes, axes = self.known(stmt.axes)
            for_scratch, scratch = self.known(stmt.scratch)
            used = {v for v in set().union(*map(_mentioned, stmt.body)) if not is_private(v, stmt.body)}
            reads = tuple(sorted(self.lies(used | set(stmt.sums)), key=_by_name))
            self.on_host -= set(stmt.sums)
            self.fetched -= set(stmt.sums)
            return (*put, *for_axes, *for_scratch, replace(stmt, axes=axes, scratch=scratch, reads=reads))
        inner = blocks(stmt)
        if not inner:
            ahead, alone = self.decided(stmt)
            self.on_host |= sets_itself(stmt) & self.device
            return (*ahead, alone)
        passes = lambda var: is_private(var, (stmt,)) and self.is_dead(var, later)  # what it is now is of no interest
        put = self.put(v for v in numbers_set((stmt,)) & self.device & self.on_host if not passes(v))
        ahead, alone = self.decided(_alone(stmt))
        behind = ((_again(stmt),), *later) if isinstance(stmt, (For, While)) else later
        counted = {stmt.index} if isinstance(stmt, For) else set()
        bodies = [self.inner(block, behind, counted) for block in inner]
        if isinstance(stmt, While):
            again, _ = self.decided(stmt, alone.condition)  # type: ignore[attr-defined]
            bodies = [(*bodies[0], *again)]
        return (*put, *ahead, with_blocks(alone, tuple(bodies)))

    def inner(self, block: Block, later: tuple[Block, ...], counted: set[Var]) -> Block:
        """A block that may run or not, or often: what it leaves lies where it lay before.

        `counted` is the index that the host sets ahead of each iteration, whatever lies on the device.
        """
        before, fetched = set(self.on_host), self.fetched - numbers_set(block)
        self.fetched = set(fetched)
        self.on_host |= counted & self.device
        out = self.block(block, later)
        self.fetched = fetched
        put = self.put(var for var in self.on_host - before if not self.is_dead(var, later))
        self.on_host = before
        return (*out, *put)

    def put(self, found: Iterable[Var]) -> Block:
        """Numbers of the device that the host has set go to the device."""
        moved = sorted(set(found) & self.device, key=_by_name)
        self.on_host -= set(moved)
        return tuple(Put(var) for var in moved)

    def decided(self, stmt: Stmt, known: Expr | None = None) -> tuple[Block, Stmt]:
        """What the host needs to know for a statement, fetched."""
        ahead: list[Stmt] = []

        def ask(expr: Expr) -> Expr:
            if (isinstance(stmt, Pop) and expr == stmt.target) or (isinstance(stmt, While) and expr == stmt.trip):
                return expr
            if not loads(expr):
                unknown = self.lies(variables(expr)) - self.fetched
                ahead.extend(Fetch(var, _why(stmt), span=stmt.span) for var in sorted(unknown, key=_by_name))
                self.fetched |= unknown
                return expr
            var = known if isinstance(known, Var) else Var(self.names.fresh("decision"), expr.dtype)
            self.device.add(var)
            ahead.extend(self.by_one_thread((Assign(var, expr, span=stmt.span),), ((Assign(var, var),),)))
            ahead.append(Fetch(var, _why(stmt), span=stmt.span))
            self.fetched.add(var)
            return var

        alone = map_expressions(stmt, ask)
        return tuple(dict.fromkeys(ahead)), alone

    def known(self, parts: tuple[Part, ...]) -> tuple[Block, tuple[Part, ...]]:
        """The ranges of a kernel, or the lengths of what its threads have of their own, which the host has to know."""
        ahead: list[Stmt] = []
        out: list[Part] = []
        for part in parts:
            more, decided = self.decided(part)
            ahead += more
            out.append(decided)  # type: ignore[arg-type]
        return tuple(dict.fromkeys(ahead)), tuple(out)


def _is_of_numbers(stmt: Stmt) -> bool:
    """Could one thread run this?  (A check in a loop, too: the host would fetch what it asks in every iteration.)"""
    kinds = (*OF_NUMBERS, Raise) if isinstance(stmt, (For, While)) else OF_NUMBERS
    return all(isinstance(s, kinds) for s in statements((stmt,)))


def _is_free(stmt: Stmt) -> bool:
    """May it come ahead of what one thread does?  Nobody sees what ran before a check failed."""
    is_check = isinstance(stmt, If) and all(isinstance(s, Raise) for s in (*stmt.then, *stmt.orelse))
    return is_check or isinstance(stmt, (Alloc, View))


def _why(stmt: Stmt) -> str:
    """What the host has to know a number for."""
    match stmt:
        case While():
            return "the host goes on by this"
        case If():
            return "the host decides by this"
        case For():
            return "as many iterations"
        case Push():
            return "the host keeps this"
        case Alloc():
            return "room for as many"
        case View() | Pop():
            return "which elements the host is to take"
    return "the host has to know this"


def _mentioned(stmt: Stmt) -> set[Var]:
    return set().union(*map(mentioned, statements((stmt,))))


def _surely_set(block: Block) -> set[Var]:
    return {s.var for s in block if isinstance(s, Assign)}


def _meet(alone: list[Stmt], stmt: Stmt) -> bool:
    """Does it matter which of them comes first?"""
    made = {stmt.array.name} if isinstance(stmt, (Alloc, View)) else set()
    return any(sets(s) & _mentioned(stmt) or _mentioned(s) & sets(stmt) or made & names_used(s) for s in alone)


def _again(loop: For | While) -> Stmt:
    """What an iteration may be followed by: the next one.  A range is asked for once, ahead of all of them."""
    return replace(loop, start=affine.ZERO, stop=affine.ZERO, step=affine.ONE) if isinstance(loop, For) else loop


def _alone(stmt: Stmt) -> Stmt:
    """The statement without its inner blocks."""
    return with_blocks(stmt, tuple(() for _ in blocks(stmt))) if blocks(stmt) else stmt


def _by_name(var: Var) -> str:
    return var.name


__all__ = ["place_numbers"]
