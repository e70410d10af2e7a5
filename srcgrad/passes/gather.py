"""What iterations add to their neighbours' elements is fetched by whoever has the element: no two threads meet.

    for i in range(n - 2):                  for p in range(n):
        g = y_b[i] * w                          total = 0.0
        u_b[i + 2] += g                         if 2 <= p < n:           i = p - 2
        u_b[i] += 3.0 * g          →                g = y_b[p - 2] * w
                                                    total += g
                                                if p < n - 2:            i = p
                                                    g = y_b[p] * w
                                                    total += 3.0 * g
                                                u_b[p] += total

Additions by a stride (u_b[2 * i - 1], u_b[2 * i], u_b[2 * i + 1]) are two such sums, of the elements 2 * p and of those
beside them: what differs in its remainder never meets.  Of the former there is one addition, which stays where it is.

Neighbours may be as far away as only the run tells (u_b[i + w], on a GPU): if they are near, which is asked ahead.

An iteration that branches is said without branches first (`straight`).  What an iteration computes for it is computed
once for each neighbour, so it has to be cheap: an element that several threads add to at one time costs more than a
handful of multiplications (and the sum would come out in any order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..analysis.additions import DEAREST, FLAT, live, normal_everywhere, normal_there, order_of
from ..analysis.divided_once import quotient
from ..analysis.flat_grids import with_grids
from ..analysis.neighbours import Neighbours, Part
from ..analysis.nests import Memory, nest_of, with_nests
from ..analysis.offsets import Offset, least_of, most_of
from ..analysis.rows_apart import with_rows_apart
from ..analysis.straight import Straight, straight
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Var, all_of, both
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt
from ..ir.walk import map_expressions, rewrite, statements, subexpressions, substitute, variables
from ..ir.wraps import back_from, step_of

FARTHEST = 2  # times as far as a loop goes: nearly all that are asked have nothing to add, beyond that


def gather(function: Function) -> Function:
    return gathered(function, DEAREST, over_all, on_a_gpu=True)


def gathered(
    function: Function,
    dearest: int,
    written: Callable[[Nest, Gathering], Block],
    ours_alone: bool = False,
    on_a_gpu: bool = False,
) -> Function:
    """The function with neighbours' sums gathered, as far as `written` says how (nothing: as it was).

    `ours_alone`: sums of the user's keep their order.  `on_a_gpu`: iterations may branch, and no index is negative.
    """
    names, memory = function.info.names, Memory(function)
    free = {loop.index for loop in statements(function.body) if isinstance(loop, For) and not loop.ordered}

    def change(stmt: Stmt, values: Mapping[Var, Expr]) -> Block | None:
        nest = nest_of(stmt, (*FLAT, If) if on_a_gpu else FLAT)
        if nest is None:
            return None
        loops, body = nest
        if not on_a_gpu:
            return in_nest(loops, body)
        return with_rows_apart(loops[0], body, values, names, memory.may_be_one, lambda body: in_nest(loops, body))

    def in_nest(loops: tuple[For, ...], body: Block) -> Block | None:
        return with_grids(loops, body, names, memory.may_be_one, lambda body: said_plainly(loops, body))

    def said_plainly(loops: tuple[For, ...], body: Block) -> Block | None:
        out = None
        found = lambda body: Neighbours(loops, body, memory, dearest, ours_alone, on_a_gpu, free)
        if not any(isinstance(s, If) for s in body):
            out = Nest(found(body), names).gathered(written)
        may_be_said = on_a_gpu and out is None and adds_around(body)
        said = straight(body, names, memory.may_be_one) if may_be_said else None
        if said is not None:
            out = Nest(found(said.body), names, said).gathered(written)
        return out

    return replace(function, body=with_nests(function.body, change))


def adds_around(body: Block) -> bool:
    """Is there an array of which an iteration adds to several elements?"""
    places = {(s.target.array.name, s.target.index) for s in statements(body) if _is_added(s)}  # type: ignore[attr-defined]
    return len(places) > len({name for name, _ in places})


@dataclass(frozen=True)
class Gathering:
    """The loops over all elements that something is added to, and what is done for one of them.

    `parts` are what comes from each offset, with the conditions, one per loop, under which there is something.
    """

    low: tuple[Expr, ...]
    high: tuple[Expr, ...]
    start: Stmt
    parts: tuple[tuple[tuple[Expr | None, ...], Block], ...]
    add: Stmt
    offsets: tuple[Offset, ...]

    @property
    def whole(self) -> Block:
        """For an element to which all iterations around it add."""
        return (self.start, *(stmt for _, own in self.parts for stmt in own), self.add)

    def guarded(self, known: Callable[[tuple[Expr | None, ...]], Iterable[Expr | None]] = tuple) -> Block:
        """For any element; `known` says the conditions, where they are known by other names."""
        out: list[Stmt] = [self.start]
        for conditions, own in self.parts:
            condition = all_of(known(conditions))
            out += own if condition is None else (If(condition, own),)
        return (*out, self.add)


class Nest:
    """Loops over a straight body; `said`: what it was before it was said without branches."""

    def __init__(self, found: Neighbours, names: Names, said: Straight | None = None) -> None:
        self.neighbours, self.names, self.said = found, names, said
        self.loops, self.indices, self.body = found.loops, found.indices, found.body

    def gathered(self, written: Callable[[Nest, Gathering], Block]) -> Block | None:
        """The loops that take the place of the nest; None where nothing is to be gained."""
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        body, near = self.body, dict[Expr, None]()
        for array in dict.fromkeys(s.target.array for s in body if isinstance(s, AddTo) and isinstance(s.target, Load)):
            sums = self.neighbours.sums(array, body)
            when = order_of(array, body, self.neighbours.memory) if sums else None
            if when is None:
                continue
            gone: set[int] = set()
            for parts in sums:
                loops = written(self, self.gathering(array, parts, body))
                if loops:
                    (ahead if when < 0 else behind).extend(self.where_it_runs(loops, array, parts, body))
                    gone |= {part.position for part in parts}
                    near |= dict.fromkeys(self.are_near(parts))
            body = tuple(stmt for position, stmt in enumerate(body) if position not in gone)
        if body == self.body:
            return None
        kept = live(body)
        if self.said is not None:
            kept = self.said.in_branches(kept)
        out = (*ahead, *((self.around(kept),) if kept else ()), *behind)
        pays = all_of(near)
        return out if pays is None else (If(pays, out, (self.loops[0],)),)

    def are_near(self, parts: list[Part]) -> Iterator[Expr]:
        """What has to hold for neighbours to be near that are so far away as only the run tells."""
        offsets = [part.offset for part in parts]
        for loop, least, most in zip(self.loops, least_of(offsets), most_of(offsets), strict=True):
            far = affine.sub(most, least)
            if not isinstance(far, Const):
                trips = affine.sub(loop.stop, loop.start)
                yield Call("le", (far, affine.mul(affine.integer(FARTHEST), trips)), BOOL)

    def around(self, body: Block) -> Stmt:
        for loop in reversed(self.loops):
            body = (replace(loop, body=body),)
        return body[0]

    def gathering(self, array: Array, parts: list[Part], body: Block) -> Gathering:
        places = dict.fromkeys(part.to for part in parts)
        offsets = tuple(offset for offset, _ in places)
        low = tuple(affine.add(loop.start, least) for loop, least in zip(self.loops, least_of(offsets), strict=True))
        high = tuple(affine.add(loop.stop, most) for loop, most in zip(self.loops, most_of(offsets), strict=True))
        total = Var(self.names.fresh("total"), array.dtype)
        start = Assign(total, Const(0, array.dtype))
        said, divisor = self.neighbours.divided_once(parts, body)
        own = [self.moved([part for part in parts if part.to == place], said, total) for place in places]
        under = [self.inside(offset, low, high) for offset in offsets]
        place = self.at(parts[0], body)
        whole = total if divisor is None else quotient(total, divisor)
        add: Stmt = AddTo(place, whole, reorder=True)
        if self.said is not None and any(body[part.position] in self.said.of_branches for part in parts):
            is_there = self.is_there(array, place, low, high)
            add = add if is_there is None else If(is_there, (add,))
        return Gathering(low, high, start, tuple(zip(under, own, strict=True)), add, offsets)

    def is_there(self, array: Array, place: Load, low: Sequence[Expr], high: Sequence[Expr]) -> Expr | None:
        """Is there such an element?  A branch may be what keeps iterations from adding to one that is not."""
        out: Expr | None = None
        for loop, start, stop in zip(self.loops, low, high, strict=True):
            axis, part = along(place, loop)
            is_low, is_high = are_inside(array, place, loop, start, stop)
            if not is_low:
                out = both(out, Call("le", (affine.ZERO, part), BOOL))
            if not is_high:
                out = both(out, Call("lt", (part, Dim(array.name, axis)), BOOL))
        return out

    def moved(self, parts: list[Part], said: dict[int, Stmt], total: Var) -> Block:
        """What one iteration adds, said of the element that it adds to."""
        added = {part.position for part in parts}
        to = zip(self.indices, *parts[0].to, strict=True)
        there = {
            i: affine.sub(i, apart) if end is None else end if step_of(end, i) is None else back_from(i, end)
            for i, apart, end in to
        }
        normal = normal_there if self.said is None else normal_everywhere
        here = lambda expr: rewrite(substitute(expr, there), normal)
        out: list[Stmt] = []
        for position in sorted(added.union(*(part.slice for part in parts))):
            stmt = map_expressions(said[position], here)
            out.append(AddTo(total, stmt.value, reorder=True) if position in added else stmt)  # type: ignore[attr-defined]
        return tuple(out)

    def where_it_runs(self, loops: Block, array: Array, parts: list[Part], body: Block) -> Block:
        """Where no iteration ran, nothing may be there to be added to."""
        offsets = tuple(part.offset for part in parts)
        place = self.at(parts[0], body)
        runs: Expr | None = None
        for each, least, most in zip(self.loops, least_of(offsets), most_of(offsets), strict=True):
            start, stop = affine.add(each.start, least), affine.add(each.stop, most)
            if not all(are_inside(array, place, each, start, stop)) or affine.difference(start, affine.ZERO) is None:
                runs = all_of((runs, Call("lt", (each.start, each.stop), BOOL)))
        return loops if runs is None else (If(runs, loops),)

    def at(self, part: Part, body: Block) -> Load:
        """The element of the iteration itself: to which it adds what it adds to no neighbour."""
        target = body[part.position].target  # type: ignore[attr-defined]
        index, _ = self.neighbours.unwrapped(target)
        back = {i: affine.sub(i, apart) for i, apart in zip(self.indices, part.offset, strict=True)}
        return replace(target, index=tuple(affine.normal(substitute(part, back)) for part in index))

    def inside(self, offset: Offset, low: Sequence[Expr], high: Sequence[Expr]) -> tuple[Expr | None, ...]:
        """Is there an iteration that adds to this element from so far away?  One answer per loop."""
        out: list[Expr | None] = []
        for loop, apart, first, last in zip(self.loops, offset, low, high, strict=True):
            start, stop = (affine.add(bound, apart) for bound in (loop.start, loop.stop))
            above = None if affine.same(start, first) else Call("le", (start, loop.index), BOOL)
            below = None if affine.same(stop, last) else Call("lt", (loop.index, stop), BOOL)
            out.append(all_of((above, below)))
        return tuple(out)


def along(place: Load, loop: For) -> tuple[int, Expr]:
    """The axis along which an element is chosen by the index of a loop, and that index."""
    return next((axis, part) for axis, part in enumerate(place.index) if loop.index in variables(part))


def are_inside(array: Array, place: Load, loop: For, start: Expr, stop: Expr) -> tuple[bool, bool]:
    """Are there surely such elements, at the first index of a range and at the last one?"""
    axis, part = along(place, loop)
    first = affine.normal(substitute(part, {loop.index: start}))
    last = affine.normal(substitute(part, {loop.index: affine.sub(stop, affine.ONE)}))
    room = affine.difference(array.dims[axis], last)
    return affine.is_at_least(first, 0), room is not None and room > 0


def over_all(nest: Nest, found: Gathering) -> Block:
    """One loop over all elements, which looks for each what is added to it."""
    body = found.guarded()
    ahead: list[Stmt] = []

    def named(bound: Expr, what: str) -> Expr:
        """What is the least or the greatest of some the host finds."""
        if not any(isinstance(node, Call) and node.op in ("minimum", "maximum") for node in subexpressions(bound)):
            return bound
        ahead.append(Assign(Var(nest.names.fresh(what), INT64), bound))
        return ahead[-1].var  # type: ignore[attr-defined]

    for loop, start, stop in reversed(list(zip(nest.loops, found.low, found.high, strict=True))):
        start, stop = named(start, f"{loop.index.name}_first"), named(stop, f"{loop.index.name}_end")
        body = (replace(loop, start=start, stop=stop, body=body),)
    return (*ahead, *body)


def _is_added(stmt: Stmt) -> bool:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Load)


__all__ = ["Gathering", "Nest", "adds_around", "gather", "gathered"]
