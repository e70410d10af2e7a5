"""The loop of a nest that runs along the rows of its arrays goes to the inside.

    for j in range(m):                          for a in range(p):
        for a in range(p):              →           for j in range(m):
            y[j] += w[a] * x[j + a]                     y[j] += w[a] * x[j + a]

A loop is moved inwards where nobody can tell.  That has to be proved:

- the loops that it passes run equally often in each of its iterations, and asking how often raises nothing;
- any two accesses that meet in one element, of which one writes, meet in one iteration of the moved loop.  Then the
  order in which an element is read and written is told by the other loops, and those keep theirs.  So a sum of the
  user's keeps its order, and is the same to the last bit.  Additions to one sum of ours may meet as they like;
- a scalar is set before it is read, by every run of the body, or it is a sum of ours.

Which loop is best inside is counted in accesses to memory, where rows are near and columns are far.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..analysis.effects import Access, Effects, effects
from ..analysis.lives import is_private, is_set
from ..analysis.meetings import meet_in_one_iteration
from ..analysis.signs import signs_of
from ..ir import affine
from ..ir.expressions import Call, Const, Dim, Expr, Var
from ..ir.info import roots_of
from ..ir.nodes import AddTo, Assign, Block, For, Function, If, Rule, Stmt, Store, View, leaves
from ..ir.walk import blocks, expressions, loads, statements, subexpressions, variables, with_blocks

FAR = 8  # accesses along a row that one down a column costs
ODD = 3  # … or one with gaps, or at a place that is looked up
CHAIN = 4  # … or an addition that has to wait for the one before it
SHORT = 8  # a loop that is known to run less often is not worth moving
CHEAP = frozenset(("add", "sub", "mul", "neg", "cast"))  # what may be computed again in an inner loop
SAFE = CHEAP | {"maximum", "minimum"}  # what never raises, whatever the operands


def interchange(function: Function) -> Function:
    return replace(function, body=Mover(function).block(function.body))


class Mover:
    def __init__(self, function: Function) -> None:
        self.roots, self.signs = roots_of(function), signs_of(function)
        made = [s for s in statements(function.body) if isinstance(s, View)]
        self.reads = _reads(function.body)
        self.reads.update(v for leaf in leaves(function.results) if isinstance(leaf, Expr) for v in variables(leaf))
        names = [view.array.name for view in made]
        self.views = {view.array.name: view for view in made if names.count(view.array.name) == 1}

    def block(self, block: Block) -> Block:
        return tuple(self.statement(stmt) for stmt in block)

    def statement(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            nest, body, moved = _nest_of(stmt, self.roots)
            if len(nest) > 1 and _is_plain(body) and not any(self.is_read_outside(var, stmt) for var in moved):
                return self.arranged(nest, body)
        if blocks(stmt) and not isinstance(stmt, Rule):
            return with_blocks(stmt, tuple(self.block(b) for b in blocks(stmt)))
        return stmt

    def is_read_outside(self, var: Var, loop: For) -> bool:
        return self.reads[var] > _reads((loop,))[var]

    def arranged(self, nest: list[For], body: Block) -> Stmt:
        """The nest with the best of its loops inside."""
        cost = self.cost(body, nest[-1].index)
        best = None
        for position, loop in enumerate(nest[:-1]):
            here = self.cost(body, loop.index)
            if 5 * here <= 4 * cost and self.can_move(loop, nest[position + 1 :], body):
                best, cost = position, here
        if best is None:
            return nest[0]
        *others, inside = *nest[:best], *nest[best + 1 :], replace(nest[best], ordered=False)
        out: Stmt = replace(inside, body=body)
        for loop in reversed(others):
            out = replace(loop, body=(out,))
        return out

    # ------------------------------------------------------------------------------------------------ proof

    def can_move(self, loop: For, passed: list[For], body: Block) -> bool:
        inside = effects(body)
        indices = [loop.index, *(other.index for other in passed)]
        if len(set(indices) - inside.writes) < len(indices) or _runs_less_often_than(loop, SHORT):
            return False
        changed = inside.writes | set(indices)
        if not _is_known_ahead(loop, changed):
            return False
        around: set[Var] = set()
        for other in passed:
            if not _is_known_ahead(other, changed - around):
                return False
            around.add(other.index)
        return self.scalars_allow(inside, body) and self.memory_allows(inside, loop, changed - {loop.index})

    def can_turn(self, loop: For, nest: list[For], body: Block) -> bool:
        """May it go to the inside of loops right within it, whose iterations stay apart?"""
        inside = effects(body)
        indices = {loop.index, *(other.index for other in nest)}
        changed = inside.writes | indices
        apart = len(indices) == len(nest) + 1 and not indices & inside.writes and _is_plain(body)
        known = all(_is_known_ahead(other, changed) for other in (loop, *nest))
        if not (apart and known and self.scalars_allow(inside, body)):
            return False
        return all(self.memory_allows(inside, other, changed - {other.index}) for other in nest)

    def scalars_allow(self, inside: Effects, body: Block) -> bool:
        return all(var in inside.ours or (is_private(var, body) and is_set(var, body)) for var in inside.writes)

    def memory_allows(self, inside: Effects, loop: For, changed: set[Var]) -> bool:
        for a in inside.accesses:
            for b in inside.accesses if a.writes else ():
                clash = self.roots.get(a.array.name, a.array.name) == self.roots.get(b.array.name, b.array.name)
                if clash and not (a.ours and b.ours) and not meet_in_one_iteration(a, b, loop, changed, self.signs):
                    return False
        return True

    # ------------------------------------------------------------------------------------------------- cost

    def cost(self, body: Block, index: Var) -> int:
        """Of one iteration, with this loop inside: what stays where it is costs nothing there."""
        inside, moved = effects(body), _made_of(index, body)
        read = {(a.array, a.index) for a in inside.accesses if not a.writes}
        out = sum(self.distance(Access(array, at, False), index, moved) for array, at in read)
        for access in inside.accesses:
            if access.writes:
                distance = self.distance(access, index, moved)
                out += 2 * distance if access.adds else distance
                out += CHAIN if access.adds and not access.ours and not distance else 0
        return out

    def distance(self, access: Access, index: Var, moved: set[Var]) -> int:
        parts = access.through(self.views).index
        if any(part is None for part in parts):
            return ODD
        moving = [(axis, part) for axis, part in enumerate(parts) if moved & variables(part)]
        if not moving:
            return 0
        axis, part = moving[0]
        if axis < len(parts) - 1:
            return FAR
        terms, _ = affine.affine(part)
        return 1 if any(term == index and abs(count) == 1 for term, count in terms) else ODD


def _nest_of(loop: For, roots: dict[str, str]) -> tuple[list[For], Block, set[Var]]:
    """Loops one inside the other, with nothing else in them, and what is in the innermost.

    What is set on the way, at no cost, is set in the innermost instead: these variables.
    """
    nest: list[For] = [loop]
    ahead: list[Stmt] = []
    while True:
        *first, last = nest[-1].body or (None,)
        if not isinstance(last, For) or not all(map(_is_cheap, first)):
            break
        by = effects((last,))
        ranges = {var for end in (last.start, last.stop, last.step) for var in variables(end)}
        if any(isinstance(stmt, Assign) and stmt.var in ranges for stmt in (*ahead, *first)):
            break
        if any(_is_disturbed(stmt, by, roots) for stmt in (*ahead, *first)):
            break
        ahead += first
        nest.append(last)
    return nest, (*ahead, *nest[-1].body), {stmt.var for stmt in ahead if isinstance(stmt, Assign)}


def _made_of(index: Var, body: Block) -> set[Var]:
    """The index, and what is other in every iteration for it."""
    out = {index}
    for stmt in statements(body):
        if isinstance(stmt, Assign) and out & variables(stmt.value):
            out.add(stmt.var)
    return out


def _reads(block: Block) -> Counter[Var]:
    return Counter(var for stmt in statements(block) for expr in expressions(stmt) for var in variables(expr))


def _is_cheap(stmt: Stmt) -> bool:
    if not isinstance(stmt, Assign):
        return False
    return all(not isinstance(node, Call) or node.op in CHEAP for node in subexpressions(stmt.value))


def _is_disturbed(stmt: Stmt, by: Effects, roots: dict[str, str]) -> bool:
    """Would the assignment come out otherwise after that?"""
    assert isinstance(stmt, Assign)
    root = lambda array: roots.get(array.name, array.name)
    written = {root(a.array) for a in by.accesses if a.writes}
    read = {root(load.array) for load in loads(stmt.value)}
    return bool(by.writes & (variables(stmt.value) | {stmt.var}) or written & read)


def _is_plain(body: Block) -> bool:
    """Nothing but assignments, also in branches."""
    return bool(body) and all(isinstance(stmt, (Assign, AddTo, Store, If)) for stmt in statements(body))


def _is_known_ahead(loop: For, changed: set[Var]) -> bool:
    """Are the bounds the same whenever they are asked for, and does asking raise nothing?"""
    nodes = [node for bound in (loop.start, loop.stop, loop.step) for node in subexpressions(bound)]
    safe = (isinstance(n, (Const, Var, Dim)) or (isinstance(n, Call) and n.op in SAFE) for n in nodes)
    return all(safe) and not changed.intersection(nodes)


def _runs_less_often_than(loop: For, times: int) -> bool:
    trips = affine.difference(loop.stop, loop.start)
    return trips is not None and abs(trips) < times


__all__ = ["Mover", "interchange"]
