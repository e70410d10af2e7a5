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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Var, both
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store
from ..ir.walk import (
    expressions,
    loads,
    map_expressions,
    rewrite,
    statements,
    subexpressions,
    substitute,
    variables,
)
from ..ir.wraps import back_from, step_of, unwound
from ..rules.scalar import PRIMITIVES
from .divided_once import divided_once, quotient
from .nests import Memory, nest_of, with_nests
from .offsets import Offset, in_strides, least_of, most_of
from .rows_apart import with_rows_apart
from .straight import Straight, arrays_written, straight

FLAT = (AddTo, Assign, Comment, Store)
DEAREST = 40  # additions that may be done again for a neighbour
FARTHEST = 2  # times as far as a loop goes: nearly all that are asked have nothing to add, beyond that
LARGEST_STRIDE = 8  # each remainder by it is a sum of its own
Remainders = tuple[int, ...]
Around = tuple[Call | None, ...]  # along each loop: the place, where it goes around the ends of an axis


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
        out = None
        if not any(isinstance(s, If) for s in body):
            out = Nest(loops, body, names, dearest, memory, ours_alone, on_a_gpu, free).gathered(written)
        may_be_said = on_a_gpu and out is None and _adds_around(body)
        said = straight(body, names, memory.may_be_one) if may_be_said else None
        if said is not None:
            out = Nest(loops, said.body, names, dearest, memory, ours_alone, on_a_gpu, free, said).gathered(written)
        return out

    return replace(function, body=with_nests(function.body, change))


def _adds_around(body: Block) -> bool:
    """Is there an array of which an iteration adds to several elements?"""
    places = {(s.target.array.name, s.target.index) for s in statements(body) if _is_added(s)}  # type: ignore[attr-defined]
    return len(places) > len({name for name, _ in places})


@dataclass(frozen=True)
class Part:
    """One addition to a neighbour: where in the body it is, what is computed for it, and how far the neighbour is.

    Along each loop, in strides of the index; `remainder`: by the stride, what is left.
    """

    offset: Offset
    around: Around
    position: int
    slice: frozenset[int]
    remainder: Remainders

    @property
    def to(self) -> tuple[Offset, Around]:
        return self.offset, self.around


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
    """Loops over a straight body.

    `dearest`: additions that may be done again for a neighbour.  `on_a_gpu`: also of indices such as 2 * i + 1, and
    i + w.  `free`: indices of loops that run in any order, with these or around them.
    """

    def __init__(
        self,
        loops: tuple[For, ...],
        body: Block,
        names: Names,
        dearest: int,
        memory: Memory,
        ours_alone: bool,
        on_a_gpu: bool,
        free: Set[Var],
        said: Straight | None = None,
    ) -> None:
        self.loops, self.body, self.names, self.dearest = loops, body, names, dearest
        self.memory, self.ours_alone, self.on_a_gpu, self.free, self.said = memory, ours_alone, on_a_gpu, free, said
        self.indices = tuple(loop.index for loop in loops)

    def gathered(self, written: Callable[[Nest, Gathering], Block]) -> Block | None:
        """The loops that take the place of the nest; None where nothing is to be gained."""
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        body, near = self.body, dict[Expr, None]()
        for array in dict.fromkeys(s.target.array for s in body if isinstance(s, AddTo) and isinstance(s.target, Load)):
            sums = self.sums(array, body)
            when = order_of(array, body, self.memory) if sums else None
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

    # ------------------------------------------------------------------------------------------------- what is added

    def sums(self, array: Array, body: Block) -> list[list[Part]]:
        """The additions to an array by those that may meet, where they do: one iteration's with its neighbours'."""
        parts = self.parts(array, body)
        by_remainder: dict[Remainders, list[Part]] = {}
        for part in parts or ():
            by_remainder.setdefault(part.remainder, []).append(part)
        goes_around = parts is not None and any(any(part.around) for part in parts)
        return [sum_ for sum_ in by_remainder.values() if goes_around or len({part.to for part in sum_}) > 1]

    def parts(self, array: Array, body: Block) -> list[Part] | None:
        """The additions to an array; None where they are not those of neighbours, or not to be had elsewhere."""
        parts: list[Part] = []
        first: tuple[Expr, ...] | None = None
        for position, stmt in enumerate(body):
            if any(self.memory.may_be_one(name, array.name) for name in touched_beside(stmt, array)):
                return None
            if not adds_to(stmt, array):
                continue
            assert isinstance(stmt, AddTo) and isinstance(stmt.target, Load)
            if stmt.target.checked or (self.ours_alone and not stmt.reorder):
                return None
            index, around = self.unwrapped(stmt.target)
            first = first or index
            offset = self.offset(index, first)
            needed = needed_for(stmt, body[:position])
            if offset is None or needed is None:
                return None
            parts.append(Part(offset, around, position, needed, ()))
        base = self.offset(first, None) if first is not None else None
        if base is None:
            return None
        strides = self.strides(first)  # type: ignore[arg-type]
        parts = [self.in_strides(part, base, strides) for part in parts]
        if not all(self.is_along(part, strides) for part in parts):
            return None
        said, _ = self.divided_once(parts, body)
        if any(cost_of([said[k] for k in part.slice], said[part.position].value) > self.dearest for part in parts):  # type: ignore[attr-defined]
            return None
        goes_around = [any(along) for along in zip(*(part.around for part in parts), strict=True)]
        near = affine.ZERO
        if any(goes and apart != near for part in parts for goes, apart in zip(goes_around, part.offset, strict=True)):
            return None
        return parts

    def in_strides(self, part: Part, base: Offset, strides: Remainders) -> Part:
        """Of a part so far from the first one, which is at `base`."""
        by = [in_strides(affine.add(a, b), stride) for a, b, stride in zip(part.offset, base, strides, strict=True)]
        return replace(part, offset=tuple(far for far, _ in by), remainder=tuple(left for _, left in by))

    def is_along(self, part: Part, strides: Remainders) -> bool:
        """Is the neighbour that of an iteration so far away: none that are two by two is a number of them away."""
        return all(isinstance(far, Const) or stride == 1 for far, stride in zip(part.offset, strides, strict=True))

    def strides(self, index: tuple[Expr, ...]) -> Remainders:
        """How far the elements of two iterations next to each other are from each other, along each loop."""
        counts = {term: count for part in index for term, count in affine.affine(part)[0]}
        return tuple(counts[own] for own in self.indices)

    def unwrapped(self, target: Load) -> tuple[tuple[Expr, ...], Around]:
        """The index without going around the ends of axes, and where it goes around them."""
        around: dict[Var, Call] = {}
        index = list(target.index)
        for axis, part in enumerate(target.index):
            for loop in self.loops:
                if loop.index not in around and self.goes_around(part, loop):
                    around[loop.index], index[axis] = part, loop.index  # type: ignore[assignment]
        return tuple(index), tuple(around.get(index) for index in self.indices)

    def goes_around(self, part: Expr, loop: For) -> bool:
        """Is it a fixed step from the index of a loop over all that it goes around, or the same loop from its end?"""
        if is_mirrored(part, loop):
            return not loads(part) and not variables(part) & ({*self.indices, *set_in(self.body)} - {loop.index})
        step = step_of(part, loop.index)
        if step is None or loads(step) or variables(step) & {*self.indices, *set_in(self.body)}:
            return False
        return affine.same(loop.start, affine.ZERO) and affine.same(loop.stop, part.args[1])  # type: ignore[attr-defined]

    def offset(self, index: tuple[Expr, ...], other: tuple[Expr, ...] | None) -> Offset | None:
        """How far an element is from another one, or from the iteration itself, along each loop."""
        found: dict[Var, Expr] = {}
        for axis, part in enumerate(index):
            terms, _ = affine.affine(part)
            own = [term for term, _ in terms if term in self.indices]
            if other is not None:
                apart = affine.sub(part, other[axis])
                if not self.is_fixed(apart) or (apart != affine.ZERO and len(own) != 1):
                    return None
                if own:
                    found[own[0]] = apart
                continue
            if any(
                loads(term) or (variables(term) & set(self.indices) and term not in self.indices) for term, _ in terms
            ):
                return None
            if len(own) > 1 or (own and own[0] in found):
                return None
            if own and not 1 <= dict(terms)[own[0]] <= (LARGEST_STRIDE if self.on_a_gpu else 1):
                return None
            if own:
                found[own[0]] = affine.sub(part, affine.mul(affine.integer(dict(terms)[own[0]]), own[0]))
                if not self.is_fixed(found[own[0]]):
                    return None
            elif any(variables(term) & set_in(self.body) for term, _ in terms):
                return None
        if set(found) != set(self.indices):
            return None
        return tuple(found[index] for index in self.indices)

    def is_fixed(self, apart: Expr) -> bool:
        """Is it a number; on a GPU any that is the same in all iterations?"""
        if isinstance(apart, Const):
            return True
        changing = {*self.indices, *self.free, *set_in(self.body)}
        return self.on_a_gpu and not (loads(apart) or variables(apart) & changing)

    # ------------------------------------------------------------------------------------------------------ the loop

    def gathering(self, array: Array, parts: list[Part], body: Block) -> Gathering:
        places = dict.fromkeys(part.to for part in parts)
        offsets = tuple(offset for offset, _ in places)
        low = tuple(affine.add(loop.start, least) for loop, least in zip(self.loops, least_of(offsets), strict=True))
        high = tuple(affine.add(loop.stop, most) for loop, most in zip(self.loops, most_of(offsets), strict=True))
        total = Var(self.names.fresh("total"), array.dtype)
        start = Assign(total, Const(0, array.dtype))
        said, divisor = self.divided_once(parts, body)
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

    def divided_once(self, parts: list[Part], body: Block) -> tuple[dict[int, Stmt], Expr | None]:
        """The statements without a divisor that all additions have in common, if their sum is ours, and the divisor."""
        places = [sorted({*part.slice, part.position}) for part in parts]
        added = [tuple(body[k] for k in own) for own in places]
        is_ours = all(body[part.position].reorder for part in parts)  # type: ignore[attr-defined]
        found = divided_once(added, {*self.indices, *set_in(body)}) if is_ours and parts else None
        blocks, divisor = found or (added, None)
        return {
            k: stmt for own, block in zip(places, blocks, strict=True) for k, stmt in zip(own, block, strict=True)
        }, divisor

    def moved(self, parts: list[Part], said: dict[int, Stmt], total: Var) -> Block:
        """What one iteration adds, said of the element that it adds to."""
        added = {part.position for part in parts}
        to = zip(self.indices, *parts[0].to, strict=True)
        there = {
            i: affine.sub(i, apart) if end is None else end if step_of(end, i) is None else back_from(i, end)
            for i, apart, end in to
        }
        here = lambda expr: rewrite(substitute(expr, there), normal_there)
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
        index, _ = self.unwrapped(target)
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


def is_mirrored(part: Expr, loop: For) -> bool:
    """Does it go through what the loop goes through, from the end: n - 1 - i for i in range(n)?"""
    return affine.same(affine.add(part, loop.index), affine.sub(affine.add(loop.start, loop.stop), affine.ONE))


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


def all_of(conditions: Iterable[Expr | None]) -> Expr | None:
    """All conditions in one; None is one that always holds."""
    out: Expr | None = None
    for condition in conditions:
        if condition is not None:
            out = both(out, condition)
    return out


def _is_added(stmt: Stmt) -> bool:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Load)


def adds_to(stmt: Stmt, array: Array) -> bool:
    return isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and stmt.target.array.name == array.name


def touched_beside(stmt: Stmt, array: Array) -> set[str]:
    """The arrays that a statement reads and writes, but for what it adds to this one."""
    read = {load.array.name for s in statements((stmt,)) for expr in expressions(s) for load in loads(expr)}
    return read if adds_to(stmt, array) else read | arrays_written(stmt)


def normal_there(expr: Expr) -> Expr:
    if isinstance(expr, Load):
        return replace(expr, index=tuple(affine.normal(part) for part in expr.index))
    return unwound(expr)


def set_in(body: Block) -> set[Var]:
    out = {s.var for s in body if isinstance(s, Assign)}
    return out | {s.target for s in body if isinstance(s, AddTo) and isinstance(s.target, Var)}


def needed_for(stmt: AddTo | Store, ahead: Block) -> frozenset[int] | None:
    """Where the statements are that compute what is added, or stored; None where that takes a sum of all iterations."""
    wanted = set(variables(stmt.value))
    out: set[int] = set()
    for position in reversed(range(len(ahead))):
        other = ahead[position]
        if isinstance(other, Assign) and other.var in wanted:
            wanted = (wanted - {other.var}) | variables(other.value)
            out.add(position)
        elif isinstance(other, AddTo) and other.target in wanted:
            wanted |= variables(other.value)
            out.add(position)
    return None if wanted & set_in(ahead) else frozenset(out)


def cost_of(block: Iterable[Stmt], value: Expr) -> int:
    return sum(_operations(expr) for stmt in block for expr in expressions(stmt)) + _operations(value)


def _operations(expr: Expr) -> int:
    if not isinstance(expr, Call):
        return 0
    own = PRIMITIVES[expr.op].cost if expr.op in PRIMITIVES else 1
    return own + sum(map(_operations, expr.args))


def order_of(array: Array, body: Block, memory: Memory) -> int | None:
    """Whether what is added to the array is computed ahead of the rest of the loop (-1), or behind it (1).

    It reads, at other iterations, what those may write: so it must see all of that, or nothing of it, as they saw it
    themselves.  None: neither will do.
    """
    reads: dict[str, list[int]] = {}
    for position, stmt in enumerate(body):
        if not adds_to(stmt, array):
            continue
        for at in (position, *(needed_for(stmt, body[:position]) or ())):  # type: ignore[arg-type]
            for load in {load for expr in expressions(body[at]) for load in loads(expr)}:
                reads.setdefault(load.array.name, []).append(at)
    when = 0
    for position, stmt in enumerate(body):
        written = arrays_written(stmt) - {array.name}
        changed = [read for read in reads if any(memory.may_be_one(read, name) for name in written)]
        for at in (at for read in changed for at in reads[read]):
            own = -1 if at <= position else 1
            if when and own != when:
                return None
            when = own
    return when or 1


def live(body: Block) -> Block:
    """Without what computes numbers that nobody uses any more."""
    wanted: set[Var] = set()
    out: list[Stmt] = []
    assigned = {s.var for s in body if isinstance(s, Assign)}
    for stmt in reversed(body):
        private = stmt.var if isinstance(stmt, Assign) else stmt.target if isinstance(stmt, AddTo) else None
        if isinstance(private, Var) and private in assigned and private not in wanted:
            continue
        if isinstance(stmt, Assign):
            wanted.discard(stmt.var)
        out.append(stmt)
        for inner in statements((stmt,)):  # what is stored in a branch is wanted, too
            wanted = wanted.union(*map(variables, expressions(inner)))
    return tuple(reversed(out))


__all__ = [
    "DEAREST", "FLAT", "Gathering", "Nest", "adds_to", "all_of", "cost_of", "gather", "gathered",
    "live", "needed_for", "normal_there", "order_of", "set_in", "touched_beside",
]  # fmt: skip
