"""What inner loops add to elements of other iterations, too, is summed up by whoever has the element.

    for i in range(n):                            for p in range(n + m - 1):
        g = v[i] / s                                  total = 0.0
        for k in range(m):             →              for i in range(max(0, p - m + 1), min(n, p + 1)):
            x_b[i + k] += g * w[p]                        g = v[i] / s
                                                          total += g * w[p - i]
                                                      x_b[p] += total

As `gather_sums` does it, of nests in which there is something between the loops: what is computed for the addition is
taken by itself (`slices`).  What is dear of that, an iteration of the outer loops keeps:

    for i in range(n):                            for i in range(n):
        s = 0.0                                       s = 0.0
        for k in range(m):                            for k in range(m):
            s += w[k] * x[i + k]       →                  s += w[k] * x[i + k]
        for k in range(m):                            s_kept[i] = s
            x_b[i + k] += s * w[k]                for p in range(n + m - 1):
                                                      … s = s_kept[i] …
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...analysis.additions import FLAT, cost_of
from ...analysis.effects import effects
from ...analysis.nests import Memory, element_of_each, nest_of
from ...analysis.slices import (
    Kept,
    Slice,
    Way,
    addition_of,
    head_of,
    slice_of,
    stores,
    ways_to_additions,
    with_changes,
)
from ...ir import affine
from ...ir.expressions import Array, Const, Expr, Load, Var, all_of
from ...ir.names import Names
from ...ir.nodes import AddTo, Block, For, Function, If, Raise, Stmt
from ...ir.walk import blocks, expressions, loads, numbers_set, rewrite_block, statements, variables, with_blocks
from .gather_sums import DEAREST_OF_ALL, Plan, Sums, can_be_shared, is_worth_it, trips

KINDS = (*FLAT, For, If, Raise)
MOST_KEPT = 4  # numbers of an iteration


def gather_slices(function: Function) -> Function:
    names, memory = function.info.names, Memory(function)

    def changed(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, For) and not stmt.ordered:
                made = _Nest(stmt, names, memory).apart() if _is_of_nests(stmt) else None
                out += made or (stmt,)
            else:
                out.append(with_blocks(stmt, tuple(map(changed, blocks(stmt)))))
        return tuple(out)

    return replace(function, body=changed(function.body))


@dataclass(frozen=True)
class _Gathered:
    """Additions of a nest, and the loops over the elements that they add to.

    `kept`: what iterations keep for that.  `pays`: what the host asks first.
    """

    ways: Sequence[Way]
    kept: Sequence[Kept]
    loops: Block
    pays: Expr | None


def _is_of_nests(loop: For) -> bool:
    """Are there but numbers and elements in it, and more between its loops than `gather_sums` knows what to do with?"""
    inside = statements((loop,))
    if not all(isinstance(stmt, KINDS) for stmt in inside):
        return False
    return nest_of(loop, FLAT) is None


class _Nest:
    def __init__(self, nest: For, names: Names, memory: Memory) -> None:
        self.nest, self.names, self.memory = nest, names, memory
        self.head = head_of(nest)
        self.is_perfect = nest_of(nest, (*FLAT, If)) is not None
        self.accesses = effects((nest,)).accesses
        self.written = {access.array.name for access in self.accesses if access.writes}

    def apart(self) -> Block | None:
        """The nest without such additions, and loops over elements behind it."""
        by_block: dict[tuple[int, Array], list[Way]] = {}
        for way in ways_to_additions((self.nest,)):
            target = addition_of(way).target
            assert isinstance(target, Load)
            if self.meets(way, target):
                by_block.setdefault((id(way[-1].block), target.array), []).append(way)
        found = [made for ways in by_block.values() for made in self.gathered(ways)]
        sure = [each for each in found if each.pays is None]
        found = sure or found
        if not found:
            return None
        allocated, stored = stores([one for each in found for one in each.kept], self.nest.span)
        gone: dict[int, Block] = {id(addition_of(way)): () for each in found for way in each.ways}
        rest = with_changes((self.nest,), gone, stored)
        out = (*allocated, *rest, *(stmt for each in found for stmt in each.loops))
        pays = all_of(dict.fromkeys(each.pays for each in found))
        return out if pays is None else (If(pays, out, (self.nest,)),)

    # ---------------------------------------------------------------------------------------------------- which ones

    def meets(self, way: Way, target: Load) -> bool:
        """Do iterations of the head add to one element, which inner loops choose as well?"""
        around = {step.owner.index for step in way if isinstance(step.owner, For)}
        own = around if self.is_perfect else {loop.index for loop in self.head}
        inner = around if self.is_perfect else around - own
        if not inner or not self.memory.is_only_added_to(target.array, self.accesses):
            return False
        used = [variables(part) & around for part in target.index]
        mixed = any(each & own and each & inner for each in used)
        chosen = set[Var]().union(*used)
        return mixed or (bool(chosen & inner) and not own <= chosen)

    def may_be_read(self, load: Load) -> bool:
        return not any(self.memory.may_be_one(load.array.name, name) for name in self.written)

    # ------------------------------------------------------------------------------------------------------ the loops

    def gathered(self, ways: Sequence[Way]) -> Iterator[_Gathered]:
        """Loops for additions of one block to one array: one for all whose elements are gone over in the same way."""
        found = slice_of(ways, self.head, self.may_be_read, self.place_for, self.names)
        if found is None or len(found.kept) > MOST_KEPT or not self.is_regular(found.loops):
            return
        sums = Sums(found.loops, found.body, self.names, self.memory)
        plans = [sums.by_elements(tuple(map(affine.normal, target.index))) for target in sums.targets()]
        if None in plans:
            return
        for plan in dict.fromkeys(plan for plan in plans if plan is not None):
            if all(other == plan for other in plans):
                yield from self.made(ways, found, sums, plan)
            else:
                yield from self.gathered([way for way, other in zip(ways, plans, strict=True) if other == plan])

    def made(self, ways: Sequence[Way], found: Slice, sums: Sums, plan: Plan) -> Iterator[_Gathered]:
        pays = is_worth_it(plan)
        if not plan.windows and not can_be_shared(plan, found.body):  # too much for one thread
            return
        if pays is not None and all(isinstance(trips(loop), Const) for loop in plan.outer):
            return
        if sum(cost_of((), expr) for stmt in statements(found.body) for expr in expressions(stmt)) > DEAREST_OF_ALL:
            return
        totals: dict[tuple[Expr, ...], Var] = {}
        firsts: dict[Var, Stmt] = {}

        def in_total(stmt: Stmt) -> Block:
            if not isinstance(stmt, AddTo) or not isinstance(stmt.target, Load):
                return (stmt,)
            index = tuple(map(affine.normal, stmt.target.index))
            if index not in totals:
                totals[index] = Var(self.names.fresh("total"), stmt.target.dtype)
                firsts[totals[index]] = stmt
            return (replace(stmt, target=totals[index], reorder=True),)

        own = rewrite_block(found.body, in_total)
        may_branch = any(isinstance(stmt, If) for stmt in statements(own))
        loops: Block = (sums.in_loops(plan, own, firsts, may_branch),)
        asked = all_of(found.asked)
        loops = loops if asked is None else (If(asked, loops),)
        yield _Gathered(ways, found.kept, loops, pays)

    def place_for(self, var: Var) -> Load:
        return element_of_each(self.head, var.name, var.dtype, self.names)

    def is_regular(self, loops: Sequence[For]) -> bool:
        """Is it known ahead of the nest how often the loops run, but for triangles?"""
        bounds = [bound for loop in loops for bound in (loop.start, loop.stop)]
        changing = numbers_set((self.nest,)) - {loop.index for loop in loops}
        is_known = not any(loads(bound) or variables(bound) & changing for bound in bounds)
        indices = {loop.index for loop in loops}
        is_box = not any(variables(bound) & indices for loop in self.head for bound in (loop.start, loop.stop))
        return is_known and is_box and len(indices) == len(loops)


__all__ = ["gather_slices"]
