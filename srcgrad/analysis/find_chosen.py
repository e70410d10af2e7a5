"""Under which condition a value counts at all, where a zero cotangent may be one of arithmetic (edge case rule 3).

    d = sqrt(t * k[i]); y += d if k[i] != 0.0 else 1.0; return y * sin(t)      →      d counts where k[i] != 0.0

The cotangent of d may vanish by sin(t), so it does not tell what was left out.  The condition does: where it does not
hold, an infinite slope of d is left out of the adjoint.

It is asked where d is computed.  So the readers have to be in the same iteration, or in another loop over the same
range, and what the condition reads must be the same there.  Loops around the readers alone don't matter to a condition
that is the same in all their iterations.  What can't be asked there is taken to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from ..ir.expressions import BOOL, Call, Const, Dim, Expr, Load, Var, both, either, negated
from ..ir.nodes import Alloc, Assign, For, Stmt, Store, While
from ..ir.walk import loads, rewrite, subexpressions, substitute, variables
from ..rules.scalar import PRIMITIVES
from .find_masked import covers
from .find_unclean import Around, Read, Reads, common_part, is_inside

Way = tuple[tuple[Expr, int], ...]  # the conditions on the way to a reader, and their sides, in the order of asking
Made = tuple[int, Assign | Store, Around]
ALWAYS: tuple[Way, ...] = ((),)
MOST = 4  # conditions that are asked once more


def find_chosen(reads: Reads, roots: Iterable[str]) -> dict[str, Expr]:
    """The names, and their conditions as they are asked where the values are computed."""
    job, found = _Chosen(reads), {}
    for root in roots:
        made = job.made(root)
        if made is not None and _may_diverge(made[1].value):
            ways = job.ways(root)
            if 0 < sum(map(len, ways)) <= MOST and not covers(frozenset(map(frozenset, ways))):
                found[root] = reduce(either, (reduce(both, map(_asked, way)) for way in ways))
    return found


class _Chosen:
    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self.used: dict[str, list[Read]] = {}
        for read in reads.found:
            self.used.setdefault(read.root, []).append(read)
        self.known: dict[str, tuple[Way, ...]] = {}

    def made(self, root: str) -> Made | None:
        """The one statement that computes it: what was there before is a constant, if anything."""
        writes = self.reads.written.get(root, ())
        match [write for write in writes if not _is_start(write[1])]:
            case [(place, Assign() | Store() as stmt, around)] if all(p <= place for p, _, _ in writes):
                return place, stmt, around
        return None

    def ways(self, root: str) -> tuple[Way, ...]:
        if root not in self.known:
            self.known[root] = ALWAYS  # as far as it is made of itself
            made = self.made(root)
            if made is not None:
                ways = dict.fromkeys(way for read in self.used.get(root, ()) for way in self.ways_of(read, made))
                self.known[root] = ALWAYS if () in ways else tuple(ways)
        return self.known[root]

    def ways_of(self, read: Read, made: Made) -> tuple[Way, ...]:
        asked = _At.of(read, made, self.reads)
        if asked is None:
            return ALWAYS
        own = [(self.reads.conditions[item[0]], item[1]) for item in asked.inner if not isinstance(item, Stmt)]
        own += [(condition, side) for condition, side in (*read.arms, *read.won) if condition.dtype == BOOL]
        own = [part for condition, side in own for part in _parts(condition, side)]
        later = self.ways(read.targets[0]) if len(read.targets) == 1 else ALWAYS
        return tuple(dict.fromkeys(asked.there((*own, *way)) for way in later))


class _At:
    """How to ask for what a reader asks for where the value is computed: `moved` are the indices of its loops.

    `free`: those of loops in all of whose iterations it reads the same element.
    """

    def __init__(
        self, read: Read, made: Made, reads: Reads, common: Around, moved: dict[Var, Var], free: set[Var]
    ) -> None:
        self.read, self.reads, self.common, self.moved, self.free = read, reads, common, moved, free
        self.place, self.stmt, around = made
        self.inner = read.around[len(common) :]
        self.loops = {id(item) for item in (*around[len(common) :], *self.inner) if isinstance(item, Stmt)}

    @classmethod
    def of(cls, read: Read, made: Made, reads: Reads) -> _At | None:
        place, stmt, around = made
        common = common_part(around, read.around)
        outer = [item for item in around[len(common) :] if isinstance(item, For)]
        theirs = [item for item in read.around[len(common) :] if isinstance(item, For)]
        others = [item for item in read.around[len(common) :] if isinstance(item, While)]
        if read.place <= place or others or len(outer) < len(around) - len(common):
            return None
        mine, loops = {loop.index for loop in outer}, {loop.index for loop in theirs}
        if isinstance(stmt, Assign):
            return None if outer else cls(read, made, reads, common, {}, loops)
        if read.load is None or read.load.array != stmt.array:
            return None
        moved: dict[Var, Var] = {}
        for here, index in zip(stmt.index, read.load.index, strict=True):
            if isinstance(here, Var) and here in mine and isinstance(index, Var) and index in loops:
                moved[index] = here
            elif here != index or loops & variables(index):
                return None
        if {*moved.values()} != mine:
            return None
        asked = cls(read, made, reads, common, moved, loops - moved.keys())
        return asked if asked.is_over_the_same(outer, [loop for loop in theirs if loop.index in moved]) else None

    def is_over_the_same(self, outer: list[For], theirs: list[For]) -> bool:
        ranges = {loop.index: (loop.start, loop.stop, loop.step) for loop in outer}
        return all(
            tuple(substitute(e, self.moved) for e in (loop.start, loop.stop, loop.step))
            == ranges[self.moved[loop.index]]
            and all(self.is_as_it_was(e) for e in (loop.start, loop.stop, loop.step))
            for loop in theirs
        )

    def there(self, way: Way) -> Way:
        """As many of the conditions as can be asked: one may be what allows to ask the next."""
        out: list[tuple[Expr, int]] = []
        itself = self.stmt.var if isinstance(self.stmt, Assign) else Load(self.stmt.array, self.stmt.index)
        for named, side in way:
            condition = self.spelled_out(named)
            moved = substitute(condition, self.moved)
            others = _without(condition, self.read.load or itself, Const(0.0, itself.dtype))
            if variables(others) & self.free or not self.is_as_it_was(others):
                break
            if self.free and loads(
                others
            ):  # the loop may not run at all, so who knows whether there is such an element
                break
            out.append((_without(moved, itself, self.stmt.value), side))
        return tuple(dict.fromkeys(out))

    def spelled_out(self, condition: Expr) -> Expr:
        """Without the names of conditions, and of places, that were found in between."""
        for var in variables(condition):
            match self.reads.written.get(var.name, ()):
                case [(place, Assign(value=value), around)] if var.dtype.kind in "biu":
                    is_between = self.place < place < self.read.place and is_inside(self.read.around, around)
                    if is_between and not self.changes(value, place):
                        return self.spelled_out(substitute(condition, {var: value}))
        return condition

    def changes(self, value: Expr, place: int) -> bool:
        """Is a name in it given another value between here and the reader, by this very statement too?"""
        written = (p for var in variables(value) for p, _, _ in self.reads.written.get(var.name, ()))
        return any(place <= p < self.read.place for p in written)

    def is_as_it_was(self, expr: Expr) -> bool:
        """Is what the reader reads the same where the value is computed?"""
        here = {item.index for item in self.common if isinstance(item, For)} | self.moved.keys()
        for var in variables(expr) - here:
            written = self.reads.written.get(var.name, [])
            if len(written) > 1 or not all(p < self.place and is_inside(self.common, a) for p, _, a in written):
                return False
        arrays = {load.array.name for load in loads(expr)}
        arrays |= {part.array for part in subexpressions(expr) if isinstance(part, Dim)}
        return all(map(self.is_unchanged, arrays))

    def is_unchanged(self, array: str) -> bool:
        root = self.reads.roots.get(array, array)
        born = [(p, a) for name in (root, array) for a, p in self.reads.births.get(name, ())]
        if not all(p < self.place and is_inside(self.common, a) for p, a in born):
            return False
        return not any(
            self.place <= p <= self.read.place or any(id(item) in self.loops for item in a)
            for p, _, a in self.reads.written.get(root, ())
        )


def _parts(condition: Expr, side: int) -> Iterator[tuple[Expr, int]]:
    """Of conditions that all hold, or that all don't, some can be asked where others can't."""
    match condition, side:
        case (Call(op="and", args=args), 0) | (Call(op="or", args=args), 1):
            for arg in args:
                yield from _parts(arg, side)
        case Call(op="not", args=(inner,)), _:
            yield from _parts(inner, 1 - side)
        case _:
            yield condition, side


def _is_start(stmt: Stmt) -> bool:
    return isinstance(stmt, Alloc) or (isinstance(stmt, Assign) and isinstance(stmt.value, Const))


def _may_diverge(value: Expr) -> bool:
    ops = {part.op for part in subexpressions(value) if isinstance(part, Call)}
    return any(PRIMITIVES[op].singular for op in ops if op in PRIMITIVES)


def _without(expr: Expr, read: Expr, value: Expr) -> Expr:
    return rewrite(expr, lambda node: value if node == read else node)


def _asked(condition: tuple[Expr, int]) -> Expr:
    return negated(condition[0]) if condition[1] else condition[0]


__all__ = ["find_chosen"]
