"""A number that is another number or a constant by now is read as that, and what nobody reads from there on is not set.

y_b = 1.0
if x < 0.0:                            if x < 0.0:
    y_b_now = y_b             →            x_b += w
    y_b = 0.0
    x_b += y_b_now * w
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..analysis.added_to_zero import added_to_zero, is_zero
from ..ir.expressions import Const, Expr, Var
from ..ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, leaves
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    map_expressions,
    numbers_set,
    remembered,
    rewrite,
    substitute,
    targets,
    variables,
    with_blocks,
)
from .repeats import variables_read
from .reverse_mode.simplify import settled, simpler

Known = dict[Var, Expr]


def propagate_copies(function: Function) -> Function:
    body, _ = _needed(function.body, _read(function))
    every = _Reading(frozenset())
    whole = every.of(replace(function, body=body))
    if every.names & every.in_the_dark:  # a name that has to stay somewhere stays everywhere
        whole = _Reading(frozenset(every.in_the_dark)).of(replace(function, body=body))
    return replace(whole, body=_needed(whole.body, _read(whole))[0])


def _read(function: Function) -> set[Var]:
    """The numbers that are handed out."""
    return {var for leaf in leaves(function.results) if isinstance(leaf, Expr) for var in variables(leaf)}


# ------------------------------------------------------------------------------------------- what numbers are


class _Reading:
    """From the beginning on, with what is known of the numbers; `staying`: no name for another number is made of these.

    In the end `names` are those that were another number somewhere, and `in_the_dark` those that were read where nobody
    knew what they are.
    """

    def __init__(self, staying: frozenset[Var]) -> None:
        self.staying = staying
        self.names: set[Var] = set()
        self.in_the_dark: set[Var] = set()

    def of(self, function: Function) -> Function:
        known: Known = {}
        body = self.block(function.body, known)
        self.in_the_dark |= _read(function) - known.keys()
        results = (substitute(leaf, known) if isinstance(leaf, Expr) else leaf for leaf in leaves(function.results))
        return replace(function, body=body, results=tuple(results))

    def block(self, block: Block, known: Known) -> Block:
        """The block, read with what is `known` at its beginning; `known` is what is known at its end."""
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case If():
                    stmt = self._with(stmt, known)
                    if isinstance(stmt, If) and isinstance(stmt.condition, Const):
                        out += self.block(stmt.then if stmt.condition.value else stmt.orelse, known)
                        continue
                    ends = [dict(known), dict(known)]
                    stmt = with_blocks(stmt, tuple(map(self.block, blocks(stmt), ends)))
                    known.clear()
                    known.update(item for item in ends[0].items() if ends[1].get(item[0]) == item[1])
                case _ if blocks(stmt):
                    _forget(known, numbers_set((stmt,)))
                    stmt = self._with(stmt, known)
                    stmt = with_blocks(stmt, tuple(self.block(inner, dict(known)) for inner in blocks(stmt)))
                case _:
                    stmt = _assigned(self._with(stmt, known), known)
                    _forget(known, {target for target in targets(stmt) if isinstance(target, Var)})
                    self._note(stmt, known)
            out.append(stmt)
        return tuple(out)

    def _with(self, stmt: Stmt, known: Known) -> Stmt:
        read = set(variables_read(stmt))
        self.in_the_dark |= read - known.keys()
        values = {var: known[var] for var in read.difference(targets(stmt)) if var in known}
        if not values:
            return stmt
        rule = simpler if stmt.is_ours else settled  # the user's own arithmetic stays as it is written
        return map_expressions(stmt, lambda expr: rewrite(substitute(expr, values), rule))

    def _note(self, stmt: Stmt, known: Known) -> None:
        match stmt:
            case Assign(var=var, value=Const() as value) if stmt.is_ours:
                known[var] = value
            case Assign(var=var, value=Var() as value) if stmt.is_ours and value != var and var not in self.staying:
                known[var] = value
                self.names.add(var)


def _assigned(stmt: Stmt, known: Known) -> Stmt:
    """What is added to zero is assigned."""
    match stmt:
        case AddTo(target=Var() as var, value=value) if var in known and var not in variables(value):
            return Assign(var, added_to_zero(stmt), span=stmt.span) if is_zero(known[var]) else stmt
    return stmt


def _forget(known: Known, changed: set[Var]) -> None:
    for var in [var for var, value in known.items() if var in changed or value in changed]:
        del known[var]


# ----------------------------------------------------------------------------------------- who reads them


def _needed(block: Block, live: set[Var]) -> tuple[Block, set[Var]]:
    """The block without numbers that nobody reads; `live` is read after it; and what is read from its beginning on."""
    out: list[Stmt] = []
    live = set(live)
    for stmt in reversed(block):
        match stmt:
            case Assign(var=var) | AddTo(target=Var() as var) if var not in live and not _may_raise(stmt):
                continue
            case Assign(var=var):
                live.discard(var)
            case AddTo(target=Var() as var):  # where nobody reads it, it stays for what it may raise
                live.add(var)
            case If(then=then, orelse=orelse):
                then, by_then = _needed(then, live)
                orelse, by_else = _needed(orelse, live)
                if not (_does_something(then) or _does_something(orelse) or _may_raise(stmt)):
                    continue
                stmt = with_blocks(stmt, (then, orelse))
                live = by_then | by_else
            case _ if blocks(stmt):
                live.update(variables_read(stmt), _flow(stmt).reads)
                stmt = with_blocks(stmt, tuple(_needed(inner, live)[0] for inner in blocks(stmt)))
                if isinstance(stmt, For) and stmt.index not in live and not _does_something(stmt.body):
                    continue
        live.update(variables_read(stmt))
        out.append(stmt)
    return tuple(reversed(out)), live


class Flow(NamedTuple):
    """The numbers of which a statement needs the value from before it, and those that it surely sets."""

    reads: frozenset[Var]
    sets: frozenset[Var]


@remembered
def _flow(stmt: Stmt) -> Flow:
    reads, sets = frozenset(variables_read(stmt)), frozenset[Var]()
    inner = [_through(block) for block in blocks(stmt)]
    match stmt:
        case Assign(var=var):
            sets = frozenset((var,))
        case AddTo(target=Var() as var) if _may_raise(stmt):
            reads |= {var}
        case If():
            sets = inner[0].sets & inner[1].sets
    return Flow(reads.union(*(flow.reads for flow in inner)), sets)


def _through(block: Block) -> Flow:
    reads, sets = set[Var](), set[Var]()
    for stmt in block:
        flow = _flow(stmt)
        reads |= flow.reads - sets
        sets |= flow.sets
    return Flow(frozenset(reads), frozenset(sets))


def _does_something(block: Block) -> bool:
    return not all(isinstance(stmt, Comment) for stmt in block)


def _may_raise(stmt: Stmt) -> bool:
    return any(load.checked for expr in expressions(stmt) for load in loads(expr))
