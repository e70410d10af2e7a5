"""What is stored and never looked at again need not be; a copy that nobody writes is its source.

g = e_b[j]                        g = e_b[j]            y_b = v.copy()
e_b[j] = 0.0              →       …                     … y_b[i] …              →       … v[i] …
…
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace

from ..analysis.effects import Access, Effects, effects, names_used
from ..analysis.meetings import meet_in_one_iteration
from ..analysis.ranges import Ranges
from ..analysis.signs import extremes, signs_of
from ..ir import affine
from ..ir.expressions import Array, Const, Dim, Expr, Var
from ..ir.info import roots_of
from ..ir.naturals import proved_by_bounds
from ..ir.nodes import Alloc, Block, CopyTo, For, Function, If, Rule, Stmt, Store, Swap, View, leaves
from ..ir.rename import rename_arrays
from ..ir.walk import blocks, loads, statements, subexpressions, variables, with_blocks


def dead_stores(function: Function) -> Function:
    if function.info.kind == "primal":
        return function
    handles = _handles(function)
    function = replace(function, body=_Cleaner(function, handles).block(function.body, [], []))
    return _without_copies(function, {name for name, every in handles.items() if len(every) == 1})


def _handles(function: Function) -> dict[str, frozenset[str]]:
    """All names of memory that is made once, and handed to nobody, for each of these names: they stay what they are."""
    roots = roots_of(function)
    memory: dict[str, set[str]] = {}
    made = Counter[str]()
    for stmt in statements(function.body):
        match stmt:
            case Alloc(array=array):
                memory.setdefault(array.name, {array.name})
                made[array.name] += 1
            case View(array=array):
                memory.setdefault(roots[array.name], set()).add(array.name)
                made[array.name] += 1 if stmt in function.body else 2
            case Swap(left=left, right=right):
                made.update([left.name, left.name, right.name, right.name])
    handed = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    names_of = (frozenset({root, *views}) for root, views in memory.items())
    local = [names for names in names_of if all(made[name] == 1 for name in names) and not names & handed]
    return {name: names for names in local for name in names}


class _Cleaner:
    def __init__(self, function: Function, handles: Mapping[str, frozenset[str]]) -> None:
        self.handles, self.signs = handles, signs_of(function)
        self.given = {param.name for param in function.params}  # arrays that are what they are throughout

    def block(self, block: Block, after: list[Iterable[Stmt]], around: list[For]) -> Block:
        """`after`: what runs after this block, for each block around it; `around`: the loops that it is in."""
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = block[position + 1 :]
            if isinstance(stmt, Store) and self.is_dead(stmt, [rest, *after], around):
                continue
            if isinstance(stmt, (For, If)):
                inner = [*around, stmt] if isinstance(stmt, For) else around
                stmt = with_blocks(stmt, tuple(self.block(b, [rest, *after], inner) for b in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    def is_dead(self, store: Store, after: list[Iterable[Stmt]], around: list[For]) -> bool:
        names = self.handles.get(store.array.name)
        if names is None or not (isinstance(store.value, Const) or self.is_safe(store, around)):
            return False
        own = Access(store.array, store.index, True)
        later = (stmt for rest in after for stmt in rest if not names.isdisjoint(names_used(stmt)))
        if any(not self.are_apart(own, read, around) for stmt in later for read in _reads(effects((stmt,)), names)):
            return False
        for depth, loop in reversed(list(enumerate(around))):
            inside = effects(loop.body)
            if not names.isdisjoint(inside.allocated):  # each iteration has memory of its own
                return True
            changed = inside.writes - {loop.index}
            met = [
                read
                for read in _reads(inside, names)
                if not meet_in_one_iteration(own, read, loop, changed, self.signs)
                and not self.are_apart(own, read, around)
            ]
            ranges = Ranges(tuple(around[:depth]), loop, self.signs) if met else None
            if ranges is not None and not all(ranges.never_meet(own, read) for read in met):
                return False
        return True

    def is_safe(self, store: Store, around: list[For]) -> bool:
        """Is it sure to be inside of the array, as is all that it stores?"""
        is_natural = self.prover(around)
        ahead = lambda low, high: is_natural(affine.sub(affine.sub(high, low), affine.ONE))
        places = list(zip(store.index, store.array.dims, strict=True))
        is_inside = not store.checked or all(is_natural(part) and ahead(part, length) for part, length in places)
        return is_inside and not any(load.checked for load in loads(store.value))

    def are_apart(self, own: Access, read: Access, around: list[For]) -> bool:
        """Two accesses of one array that never meet: at different places along some axis."""
        return own.array == read.array and any(
            p is not None and q is not None and self.never_equal(p, q, around)
            for p, q in zip(own.index, read.index, strict=True)
        )

    def never_equal(self, p: Expr, q: Expr, around: list[For]) -> bool:
        """Is an index, wherever the loops around it are, another place than one that stays the same?"""
        if loads(p) or not self.is_fixed(q):
            return False  # x[-1] is x[n - 1], so neither may be negative
        is_natural = self.prover(around)
        above, below = affine.sub(p, q), affine.sub(q, p)
        ahead = lambda gap: is_natural(affine.sub(gap, affine.ONE))
        return (is_natural(q) and ahead(above)) or (is_natural(p) and ahead(below))

    def prover(self, around: list[For]) -> Callable[[Expr], bool]:
        """Of what is never negative, wherever the loops are."""
        indices = {loop.index for loop in around}
        ends = {loop.index: extremes(loop) for loop in around}
        bounds = {i: both for i, both in ends.items() if all(self.is_fixed(end, indices) for end in both)}
        rank: dict[Expr, int] = {loop.index: k for k, loop in enumerate(reversed(around))}

        def is_natural(expr: Expr) -> bool:
            bound = lambda term, low: bounds[term][not low] if term in bounds else None
            return proved_by_bounds(expr, self.signs.is_natural, bound, lambda term: rank.get(term, len(rank)))

        return is_natural

    def is_fixed(self, expr: Expr, also: Set[Var] = frozenset()) -> bool:
        """Is it one number for the whole function?"""
        lengths = {node.array for node in subexpressions(expr) if isinstance(node, Dim)}
        return not loads(expr) and variables(expr) <= self.signs.fixed | also and lengths <= self.given


def _reads(seen: Effects, names: Set[str]) -> list[Access]:
    """Whatever lets the contents be seen: reads, and additions to what is there."""
    return [a for a in seen.accesses if a.array.name in names and (not a.writes or a.adds or a.whole)]


def _without_copies(function: Function, local: set[str]) -> Function:
    """y_b = v.copy(), which is only read, is v."""
    every = effects(function.body)
    params = {p.name: p for p in function.params if isinstance(p, Array)}
    written = {a.array.name for a in every.accesses if a.writes and not a.whole}
    whole: dict[str, int] = {}
    for access in every.accesses:
        if access.whole and access.writes:
            whole[access.array.name] = whole.get(access.array.name, 0) + 1
    names: dict[str, Array] = {}
    for stmt in function.body:
        if isinstance(stmt, CopyTo) and stmt.target.name in local and stmt.source.name in params:
            once = whole.get(stmt.target.name) == 2 and stmt.target.name not in written  # allocated, and copied to
            if once and not whole.get(stmt.source.name) and stmt.source.name not in written:
                names[stmt.target.name] = stmt.source
    if not names:
        return function
    gone = lambda s: isinstance(s, (Alloc, CopyTo)) and (s.array if isinstance(s, Alloc) else s.target).name in names
    body = (s for s in function.body if not gone(s))
    return replace(function, body=tuple(_renamed(s, names) for s in body))


def _renamed(stmt: Stmt, names: dict[str, Array]) -> Stmt:
    if blocks(stmt) and not isinstance(stmt, Rule):
        stmt = with_blocks(stmt, tuple(tuple(_renamed(s, names) for s in b) for b in blocks(stmt)))
    return rename_arrays(stmt, names)


__all__ = ["dead_stores"]
