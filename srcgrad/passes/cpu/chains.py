"""Which loops that follow one another can go through their ranges together, each so many iterations behind the first.

    for i in range(1, n):                       lag 0
        k[i] = x[i] * y[i - 1]
    k[0] = x[0]                                 at the start of the range: made once, ahead
    for i in range(n):                          lag 0: element i is there, as of iteration i
        z[i] = y[i] + h * k[i]
    for i in range(n - 1):                      lag 1: iteration i waits for element i + 1
        q[i] = z[i] + z[i + 1]

Two loops that meet in elements of one memory say how far the second has to stay behind: by as much as its index is
ahead of the other's.  What stands between the loops has to do with the first few iterations alone, or with
no loop before it.  For `shift_and_peel`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ...analysis.effects import Access, effects, sums_in_order, uses
from ...analysis.lives import is_private
from ...analysis.signs import signs_of
from ...ir import affine
from ...ir.expressions import LAZY, Array, Call, Expr, Load, Var
from ...ir.info import memory_of
from ...ir.nodes import AddTo, Assign, Block, Comment, For, Function, If, Stmt, Store
from ...ir.walk import expressions, loads, statements, subexpressions, variables
from ...rules.costs import is_dear
from ..fuse import upwards

OF_LOOPS = (AddTo, Assign, Comment, Store)
BETWEEN = (AddTo, Assign, Comment, If, Store)
FURTHEST = 8  # iterations that a loop may be behind
Place = tuple[Array, int, tuple[Expr | None, ...]]  # along which axis the loops run, and what stands on the others


@dataclass
class Touch:
    """What one loop does to one memory: the offsets of its elements from the loop's index."""

    place: Place
    offsets: set[int]
    writes: bool
    is_sum: bool  # it only adds, in an order that is ours


@dataclass
class Chain:
    """Loops and what stands between them, in order.  `lags`: by how much each statement is behind; None: no loop.

    `ahead`, `left`: so many iterations of the first loop's range are to be made first, and last, loop after loop.
    """

    start: Expr
    stop: Expr
    stmts: list[Stmt] = field(default_factory=list)
    lags: list[int | None] = field(default_factory=list)
    touches: list[dict[str, Touch]] = field(default_factory=list)
    ahead: int = 0
    left: int = 0

    def is_connected(self) -> bool:
        """Do all loops have to do with one another?"""
        groups: list[set[str]] = []
        for lag, touched in zip(self.lags, self.touches, strict=True):
            if lag is not None:
                mine = [group for group in groups if group & touched.keys()]
                groups = [group for group in groups if not group & touched.keys()]
                groups.append(set(touched).union(*mine))
        return len(groups) == 1

    @property
    def loops(self) -> list[tuple[For, int]]:
        return [(stmt, lag) for stmt, lag in zip(self.stmts, self.lags, strict=True) if lag is not None]  # type: ignore[misc]


class Chains:
    """Answers about the innermost loops of one function."""

    def __init__(self, function: Function) -> None:
        self.memory, self.signs = memory_of(function), signs_of(function)
        self.outside = {self.memory[param.name] for param in function.params}
        self.own = _of_their_loops(function.body)

    def of(self, block: Block) -> list[tuple[int, Chain]]:
        """The chains of a block, each with the position at which it begins."""
        out: list[tuple[int, Chain]] = []
        position = 0
        while position < len(block):
            chain = self.from_here(block[position:])
            if len(chain.loops) > 1:
                out.append((position, chain))
            position += max(len(chain.stmts), 1)
        return out

    def from_here(self, block: Block) -> Chain:
        """The longest chain that begins with the first statement (which is empty if that is no loop)."""
        chain = found = Chain(affine.ZERO, affine.ZERO)
        waiting: list[Stmt] = []
        for stmt in block:
            loop = self.as_loop(stmt)
            if loop is None and not (chain.stmts and _is_simple(stmt, BETWEEN)):
                break
            if loop is None:
                waiting.append(stmt)
                continue
            longer = self.longer(chain, waiting, loop)
            if longer is None:
                break
            chain, waiting = longer, []
            if chain.is_connected():
                found = chain
        if found is not chain:
            return found
        for stmt in waiting:
            longer = self.longer(chain, [stmt])
            if longer is None:
                break
            chain = longer
        return chain

    def as_loop(self, stmt: Stmt) -> For | None:
        """The statement as a loop that counts upwards, if it is of the kind that may go along with others."""
        if not isinstance(stmt, For) or stmt.ordered or stmt.vector or stmt.masked or stmt.few or stmt.adds_to:
            return None
        if affine.same(stmt.step, affine.integer(-1)):
            start, stop, step = upwards(stmt)
            stmt = replace(stmt, start=start, stop=stop, step=step)
        seen = effects(stmt.body)
        exprs = [expr for inner in stmt.body for expr in expressions(inner)]
        if (
            not affine.same(stmt.step, affine.ONE)
            or not all(_is_simple(inner, OF_LOOPS) and _is_of_one_type(inner) for inner in stmt.body)
            or any(is_dear(inner) for inner in stmt.body)
            or not all(_is_plain(node) for expr in exprs for node in subexpressions(expr))
            or any(loads(end) or variables(end) & seen.writes for end in (stmt.start, stmt.stop))
            or sums_in_order(stmt.body)
            or any(var not in self.own and var not in seen.ours for var in seen.writes)
        ):
            return None
        return stmt

    def longer(self, chain: Chain, between: list[Stmt], loop: For | None = None) -> Chain | None:
        """The chain with what stands behind it, and one more loop."""
        if loop is not None and not chain.stmts:
            chain = Chain(loop.start, loop.stop)
        new = replace(chain, stmts=list(chain.stmts), lags=list(chain.lags), touches=list(chain.touches))
        for stmt in between:
            if not self.may_be_made_first(stmt, chain):
                return None
            new.stmts.append(stmt)
            new.lags.append(None)
            new.touches.append({})
        if loop is None:
            return self.with_ends(new)
        late, early = affine.difference(loop.start, chain.start), affine.difference(loop.stop, chain.stop)
        touched = self.touched_by(loop)
        if late is None or early is None or touched is None or not self.scalars_allow(chain, between, loop):
            return None
        lag = self.lag(chain, touched)
        if lag is None or lag > FURTHEST:
            return None
        new.stmts.append(loop)
        new.lags.append(lag)
        new.touches.append(touched)
        new.ahead = max(new.ahead, late + lag)
        new.left = max(new.left, -early - lag, *(above - early for above in self.above(chain, touched)))
        return self.with_ends(new)

    def lag(self, chain: Chain, touched: dict[str, Touch]) -> int | None:
        """How far behind a loop that touches these has to be; None where that can't be said."""
        lag = 0
        for before, other in zip(chain.lags, chain.touches, strict=True):
            for memory in touched.keys() & other.keys():
                one, two = other[memory], touched[memory]
                if not (one.writes or two.writes):
                    continue
                if one.place != two.place or memory in self.outside:
                    return None
                lag = max(lag, before - min(one.offsets) + max(two.offsets))  # type: ignore[operator]
        return lag

    def above(self, chain: Chain, touched: dict[str, Touch]) -> Iterator[int]:
        """How far what a loop writes last is below what the loops before it have written there by then.

        What is left to the end has to take in both: else what the one has written, and the other one leaves, is lost.
        """
        for before, other in zip(chain.lags, chain.touches, strict=True):
            for memory in touched.keys() & other.keys():
                if touched[memory].writes and other[memory].writes:
                    assert before is not None
                    yield max(other[memory].offsets) - before - min(touched[memory].offsets)

    def touched_by(self, loop: For) -> dict[str, Touch] | None:
        """The memory that a loop touches; None where an iteration may touch what another one writes."""
        seen = effects(loop.body)
        changed = seen.writes | {loop.index}
        out: dict[str, Touch] = {}
        for access in seen.accesses:
            memory = self.memory.get(access.array.name)
            found = self.place(access, loop, changed)
            if memory is None:
                return None
            if found is None:
                if access.writes:
                    return None
                place, offset = (access.array, -1, access.index), 0  # never like another's
            else:
                place, offset = found
            touch = out.setdefault(memory, Touch(place, set(), False, True))
            if touch.place != place:
                touch.place = (access.array, -1, ())
            touch.offsets.add(offset)
            touch.writes |= access.writes
            touch.is_sum &= access.adds and access.ours
        for memory, touch in out.items():
            of_its_own = len(touch.offsets) == 1 or touch.is_sum
            if touch.writes and (touch.place[1] < 0 or memory in self.outside or not of_its_own):
                return None
        return out

    def place(self, access: Access, loop: For, changed: set[Var]) -> tuple[Place, int] | None:
        """Where the elements of an access lie, and how far they are ahead of the loop's index."""
        along = [axis for axis, part in enumerate(access.index) if part is None or loop.index in variables(part)]
        axis = len(access.index) - 1
        if along != [axis] or access.whole:
            return None
        part = access.index[axis]
        offset = None if part is None else affine.difference(part, loop.index)
        others = tuple(None if k == axis else other for k, other in enumerate(access.index))
        fixed = all(p is None or not (loads(p) or variables(p) & changed) for p in others)
        if offset is None or not fixed or not self.signs.is_apart(part, access.array, axis, loop):  # type: ignore[arg-type]
            return None
        if not self.signs.is_natural(affine.add(loop.start, affine.integer(offset))):
            return None
        return (access.array, axis, others), offset

    def scalars_allow(self, chain: Chain, between: list[Stmt], loop: For) -> bool:
        """Has no other loop to do with its sums, and does nobody change what it reads?"""
        seen, others = effects((loop,)), effects((*chain.stmts, *between))
        sums = seen.writes - self.own - seen.indices
        changed = effects(chain.stmts).writes - self.own - others.indices
        return not (sums & (others.reads | others.writes) or seen.reads & changed)

    def may_be_made_first(self, stmt: Stmt, chain: Chain) -> bool:
        """May a statement come ahead of all but the first few iterations of the loops before it?"""
        seen, others = effects((stmt,)), effects(chain.stmts)
        clash = seen.writes & (others.reads | others.writes) or seen.reads & others.writes
        return not (seen.is_visible or clash)

    def with_ends(self, chain: Chain) -> Chain | None:
        """The chain with as much at its ends as what stands between the loops has to do with; None: that is all."""
        for k, stmt in enumerate(chain.stmts):
            if chain.lags[k] is not None:
                continue
            for access in effects((stmt,)).accesses:
                memory = self.memory.get(access.array.name)
                if memory is None or access.whole:
                    return None
                for other, (lag, touched) in enumerate(zip(chain.lags, chain.touches, strict=True)):
                    touch = touched.get(memory)
                    if touch is None or not (touch.writes or access.writes):
                        continue
                    ends = self.ends(access, touch, chain, chain.stmts[other], lag, is_before=other < k)
                    if ends is None:
                        return None
                    chain.ahead, chain.left = max(chain.ahead, ends[0]), max(chain.left, ends[1])
        return chain

    def ends(
        self, access: Access, touch: Touch, chain: Chain, loop: Stmt, lag: int | None, is_before: bool
    ) -> tuple[int, int] | None:
        """How much of the range is to be made first and last, so that all in between is apart from the access."""
        array, axis, others = touch.place
        assert isinstance(loop, For) and lag is not None
        if axis < 0 or array != access.array or memory_differs(access, axis, others):
            return None
        at = access.index[axis]
        if at is None:
            return None
        low = affine.difference(at, chain.start)
        if low is not None:  # element `low` is touched in the first iterations
            return max(0, low + lag - min(touch.offsets) + 1), 0
        high = affine.difference(at, loop.stop if is_before else chain.stop)
        if high is None:
            return None
        if is_before:
            return (0, 0) if high >= max(touch.offsets) else None
        return 0, max(0, max(touch.offsets) - lag - high)


def memory_differs(access: Access, axis: int, others: Iterable[Expr | None]) -> bool:
    parts = [part for k, part in enumerate(access.index) if k != axis]
    known = [part for k, part in enumerate(others) if k != axis]
    return any(p is None or q is None or not affine.same(p, q) for p, q in zip(parts, known, strict=True))


def _of_their_loops(body: Block) -> set[Var]:
    """Variables that nobody has to do with but innermost loops in which every iteration sets them first."""
    inside: dict[str, int] = {}
    found: dict[str, Var] = {}
    for loop in statements(body):
        if isinstance(loop, For) and all(isinstance(inner, OF_LOOPS) for inner in loop.body):
            counts = uses((loop,))
            for var in effects(loop.body).writes:
                if is_private(var, loop.body):
                    found[var.name] = var
                    inside[var.name] = inside.get(var.name, 0) + counts[var.name]
    every = uses(body)
    return {var for name, var in found.items() if inside[name] == every[name]}


def _is_simple(stmt: Stmt, kinds: tuple[type, ...]) -> bool:
    """Is it of these kinds, and touches no element that has to be looked at first?"""
    inner = statements((stmt,))
    places = [load for s in inner for expr in expressions(s) for load in loads(expr)]
    places += [s.target for s in inner if isinstance(s, AddTo) and isinstance(s.target, Load)]
    checked = any(load.checked for load in places) or any(s.checked for s in inner if isinstance(s, Store))
    return not checked and all(isinstance(s, kinds) for s in inner)


def _is_plain(node: Expr) -> bool:
    """Is it a number that is not complex, and no choice?  (LLVM hands on nothing that comes out of a branch.)"""
    return node.dtype.kind in "fib" and not (isinstance(node, Call) and node.op in LAZY)


def _is_of_one_type(stmt: Stmt) -> bool:
    """Is what comes back from memory what went there?"""
    match stmt:
        case Store(array=array, value=value):
            return array.dtype == value.dtype and array.dtype.kind == "f"
        case AddTo(target=Load() as target, value=value):
            return target.dtype == value.dtype and target.dtype.kind == "f"
    return True


def gap(x: Expr, y: Expr) -> int:
    """How far an end of one loop of a chain is from that of another."""
    found = affine.difference(x, y)
    assert found is not None, "the ranges of a chain differ by numbers"
    return found


__all__ = ["Chain", "Chains", "gap"]
