"""Independent loops are split into pieces, for several threads (only where the user asks for it).

    e = empty(k)                           in pieces low, high of range(n):        (adding to s, w_b of their own)
    for i in range(n):                         e = empty(k)
        for j in range(k): e[j] = …     →      for i in range(low, high):
        s += …; x_b[i] = …                         for j in range(k): e[j] = …
        w_b[j] += …                                s += …; x_b[i] = …
                                                   w_b[j] += …

Everything that an iteration touches is proved to be one of these: only read; its own element; its own scalar; scratch,
or a stack that it leaves as it was, of which every piece then has its own; or a sum.  Sums into an array are made in a
copy per piece, or, where neighbours alone meet (a stencil), in one array by pieces that are not neighbours.  What is
none of them leaves the loop as it is.  The outermost loop that can be split is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.nodes import (
    BOOL,
    INT64,
    AddTo,
    Alloc,
    Array,
    Assign,
    Block,
    Call,
    Comment,
    Const,
    CopyTo,
    Dim,
    Expr,
    For,
    Function,
    If,
    Invoke,
    Library,
    Load,
    NewStack,
    Parallel,
    Pop,
    Push,
    Raise,
    Seal,
    Stmt,
    Store,
    Unseal,
    Var,
    View,
    While,
    integer,
    leaves,
)
from ..ir.walk import (
    blocks,
    expressions,
    loads,
    statements,
    subexpressions,
    substitute,
    variables,
    with_blocks,
    written,
)
from ..rules.scalar import PRIMITIVES
from ..runtime.threads import WORTH
from .effects import Access, Effects, effects, is_private, is_set, meet_in_one_iteration
from .info import roots_of
from .signs import Signs

# What threads may run.
SIMPLE = (AddTo, Alloc, Assign, Comment, CopyTo, For, If, Library, Pop, Push, Raise, Store, View, While)
ON_A_STACK = (NewStack, Pop, Push, Seal, Unseal)
FARTHEST = 64  # iterations that neighbours may be apart
UNKNOWN = Const(8, INT64)  # iterations of a loop whose length is not known ahead


def parallelise(function: Function) -> Function:
    splitter = _Splitter(function)
    return replace(function, body=splitter.without_moved(splitter.block(function.body, ())))


def _calls_users(stmt: Stmt) -> bool:
    """Does it call a function of the user's, which may need Python's interpreter?"""
    calls = (node.op for expr in expressions(stmt) for node in subexpressions(expr) if isinstance(node, Call))
    return (isinstance(stmt, Library) and stmt.routine.startswith("user.")) or any(
        op.startswith("user.") for op in calls
    )


@dataclass(frozen=True)
class _Memory:
    """How the pieces share memory."""

    partial: tuple[Array, ...]
    scratch: tuple[Alloc, ...]
    reach: int


class _Splitter:
    def __init__(self, function: Function) -> None:
        self.name, self.names = function.name, function.info.names
        self.roots = roots_of(function)
        self.signs = Signs(function)
        self.uses: Counter[str] = Counter()
        self.makes: Counter[Var] = Counter()
        self.made: dict[str, list[Alloc]] = {}
        self.stacks: dict[str, list[Stmt]] = {}  # what has to do with each
        self.moved: set[str] = set()
        self.short: list[Expr] = []  # of the loops that are split within the one at hand
        self.known_ends: dict[Var, tuple[Var, Var]] = {}
        for stmt in statements(function.body):
            self.uses.update(_touched(stmt))
            target = written(stmt)
            self.makes.update(v for v in (target if isinstance(target, tuple) else (target,)) if isinstance(v, Var))
            if isinstance(stmt, Alloc):
                self.made.setdefault(stmt.array.name, []).append(stmt)
            used = stmt.tapes if isinstance(stmt, Invoke) else (stmt.stack,) if isinstance(stmt, ON_A_STACK) else ()
            for stack in used:
                self.stacks.setdefault(stack.name, []).append(stmt)
        self.results: set[str] = set()
        for leaf in leaves(function.results):
            self.results |= {v.name for v in variables(leaf)} if isinstance(leaf, Expr) else {leaf.name}
        self.params = {p.name for p in function.params}
        self.outside = self.results | self.params

    def block(self, block: Block, later: tuple[Block, ...], around: tuple[For | While, ...] = ()) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        for position, stmt in enumerate(block):
            rest = (block[position + 1 :], *later)
            split = self.split(stmt, rest, around) if isinstance(stmt, For) and not stmt.ordered else None
            if split is not None:
                stmt = split
            elif isinstance(stmt, (For, While)):
                stmt = self.loop(stmt, rest, around)
            elif blocks(stmt):
                stmt = with_blocks(stmt, tuple(self.block(b, rest, around) for b in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    def loop(self, stmt: For | While, later: tuple[Block, ...], around: tuple[For | While, ...]) -> Stmt:
        """Loops that run many times may be too short to be worth as much as a call: then all is as it was."""
        if not around:
            self.short = []
        threaded = with_blocks(stmt, (self.block(stmt.body, ((stmt,), *later), (*around, stmt)),))
        if around or threaded == stmt:
            return threaded
        condition = self.short[0]
        for other in self.short[1:]:
            condition = Call("and", (condition, other), BOOL)
        return If(condition, (stmt,), (threaded,), span=stmt.span)

    def is_short(self, length: Expr, around: tuple[For | While, ...]) -> Expr | None:
        """The condition under which a loop is not worth threads, as far as that is known ahead of the loops around."""
        middles = {loop.index: _middle(loop) for loop in around if isinstance(loop, For)}
        for _ in middles:
            length = affine.normal(substitute(length, middles))
        unknown = variables(length) & effects((around[0],)).writes
        dims = {node.array for node in subexpressions(length) if isinstance(node, Dim)}
        if unknown or loads(length) or dims - self.params:
            return None
        return Call("lt", (length, integer(int(WORTH))), BOOL)

    def split(self, loop: For, later: tuple[Block, ...], around: tuple[For | While, ...]) -> Parallel | None:
        if not all(isinstance(s, SIMPLE) for s in statements(loop.body)) or not isinstance(loop.step, Const):
            return None
        if any(_calls_users(s) for s in statements(loop.body)):
            return None
        inside = effects(loop.body)
        work, uneven = _work(loop, inside, self.params)
        stacks = self.own_stacks(loop)
        if _is_small(loop, work) or stacks is None or not self.scalars_are_apart(loop, inside, later):
            return None
        memory = self.memory(loop, inside)
        if memory is None:
            return None
        if around:
            short = self.is_short(affine.mul(_length(loop), work), around)
            if short is None:
                return None
            self.short += [short] if short not in self.short else []
        else:
            self.moved |= {made.array.name for made in memory.scratch} | {made.stack.name for made in stacks}
        low, high = self.ends(loop.index)
        return Parallel(
            name=self.names.fresh(f"{self.name}_{loop.index.name}"),
            low=low,
            high=high,
            start=loop.start,
            stop=loop.stop,
            step=loop.step,
            body=(*memory.scratch, *stacks, replace(loop, start=low, stop=high)),
            sums=tuple(sorted(inside.sums, key=lambda var: var.name)),
            partial=memory.partial,
            reach=memory.reach,
            work=work,
            uneven=uneven,
            span=loop.span,
        )

    def ends(self, index: Var) -> tuple[Var, Var]:
        if index not in self.known_ends:
            low, high = (Var(self.names.fresh(f"{index.name}_{end}"), INT64) for end in ("from", "to"))
            self.known_ends[index] = low, high
        return self.known_ends[index]

    def without_moved(self, block: Block) -> Block:
        """Scratch and stacks that pieces have of their own are made there alone."""
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Alloc) and stmt.array.name in self.moved:
                continue
            if isinstance(stmt, NewStack) and stmt.stack.name in self.moved:
                continue
            inner = () if isinstance(stmt, Parallel) else blocks(stmt)
            out.append(with_blocks(stmt, tuple(map(self.without_moved, inner))) if inner else stmt)
        return tuple(out)

    # ------------------------------------------------------------------------------------------------- scalars

    def scalars_are_apart(self, loop: For, inside: Effects, later: tuple[Block, ...]) -> bool:
        """Is every scalar a sum, or set by each iteration before it is read, and not read after the loop?"""
        return all(
            var in inside.sums or (is_private(var, loop.body) and self.is_dead(var, later))
            for var in inside.writes - inside.pushed - inside.popped
        )

    def own_stacks(self, loop: For) -> list[NewStack] | None:
        """Stacks on which every iteration pops just what it has pushed; None where there are others.

        A value is pushed once and popped once, by the mirrored block: where one loop does both, and nobody else has to
        do with the stack, `fuse` has put the two into one iteration.
        """
        own: list[NewStack] = []
        used = Counter(s.stack.name for s in statements(loop.body) if isinstance(s, (Push, Pop)))
        for name, count in used.items():
            made = [s for s in self.stacks[name] if isinstance(s, NewStack)]
            if len(made) != 1 or count + 1 != len(self.stacks[name]):
                return None
            own += made
        return own

    def is_dead(self, var: Var, later: tuple[Block, ...]) -> bool:
        for block in later:
            if not is_private(var, block):
                return False
            if is_set(var, block):
                return True
        return var.name not in self.results

    # -------------------------------------------------------------------------------------------------- memory

    def memory(self, loop: For, inside: Effects) -> _Memory | None:
        partial: dict[str, Array] = {}
        scratch: list[Alloc] = []
        reach = 0
        changed = inside.writes - {loop.index}
        for root, accesses in self.by_root(inside).items():
            writes = [a for a in accesses if a.writes]
            if all(meet_in_one_iteration(a, b, loop, changed, self.signs) for a in writes for b in accesses):
                continue
            if self.lives_in(root, loop, inside):
                own = self.own_scratch(root, inside)
                if own is None:
                    return None
                scratch += own
            elif all(a.adds for a in accesses):
                near = self.reach(accesses, loop, changed)
                if near is not None:
                    reach = max(reach, near)
                elif all(a.array.ndim for a in accesses):
                    partial |= {a.array.name: a.array for a in accesses}
                else:
                    return None
            else:
                return None
        return _Memory(tuple(partial.values()), tuple(scratch), reach)

    def by_root(self, inside: Effects) -> dict[str, list[Access]]:
        out: dict[str, list[Access]] = {}
        for access in inside.on_memory():
            out.setdefault(self.roots.get(access.array.name, access.array.name), []).append(access)
        return out

    def reach(self, accesses: list[Access], loop: For, changed: set[Var]) -> int | None:
        """How many iterations lie between any two that add to one element; None where that is not known to be few.

        (Along an axis that a periodic stencil goes round, the first few and the last few meet too: the first piece and
        the last never run at one time.)
        """
        array = accesses[0].array
        if any(a.array != array for a in accesses):
            return None
        found = []
        for axis in range(array.ndim):
            parts = [a.index[axis] for a in accesses]
            near = _reach_along(parts, loop, changed)
            if near is not None and all(self.signs.is_apart(part, array, axis, loop) for part in parts if part):
                found.append(near)
        return min(found, default=None)

    def lives_in(self, root: str, loop: For, inside: Effects) -> bool:
        """Is this memory used nowhere but in the loop (and made, once, there or ahead of it)?"""
        ahead = root not in inside.allocated
        if root in self.outside or len(self.made.get(root, ())) < 1 or (ahead and len(self.made[root]) > 1):
            return False
        handles = {root} | {name for name, of in self.roots.items() if of == root}
        counts = Counter(name for s in statements((loop,)) for name in _touched(s))
        return all(self.uses[h] == counts[h] + (ahead and h == root) for h in handles)

    def own_scratch(self, root: str, inside: Effects) -> list[Alloc] | None:
        """What makes it, for every piece to do; nothing where each iteration does."""
        if root in inside.allocated:
            return []
        made = self.made[root][0]
        known = [*made.dims, *([] if made.fill is None else [made.fill])]
        once = lambda v: self.makes[v] + (v.name in self.params) <= 1
        fixed = all(not loads(e) and all(map(once, variables(e))) for e in known)
        return [made] if fixed and not any(variables(e) & inside.writes for e in known) else None


def _touched(stmt: Stmt) -> set[str]:
    alone = with_blocks(stmt, tuple(() for _ in blocks(stmt))) if blocks(stmt) else stmt
    seen = effects((alone,))
    return seen.names() | seen.shapes


def _reach_along(parts: list[Expr | None], loop: For, changed: set[Var]) -> int | None:
    offsets: list[int] = []
    others: set[affine.Terms] = set()
    for part in parts:
        if part is None:
            return None
        terms, constant = affine.affine(part)
        if any(term != loop.index and (variables(term) & (changed | {loop.index}) or loads(term)) for term, _ in terms):
            return None
        offsets.append(constant)
        others.add(terms)
    if len(others) > 1:
        return None
    stride = abs(dict(others.pop()).get(loop.index, 0) * int(loop.step.value))  # type: ignore[attr-defined]
    if not stride:
        return None
    reach = (max(offsets) - min(offsets)) // stride
    return reach if reach <= FARTHEST else None


# ---------------------------------------------------------------------------------------------------------- work


def _work(loop: For, inside: Effects, known: set[str]) -> tuple[Expr, bool]:
    """What an iteration costs, as far as that is known ahead of the loop, and whether it is the same for all."""
    estimate = _Estimate(loop, inside, known)
    return estimate.block(loop.body), estimate.uneven


class _Estimate:
    def __init__(self, loop: For, inside: Effects, known: set[str]) -> None:
        self.loop, self.inside, self.known = loop, inside, known
        self.middles: dict[Var, Expr] = {}  # of the ranges of inner indices
        self.uneven = False

    def block(self, block: Block) -> Expr:
        total: Expr = affine.ZERO
        for stmt in block:
            total = affine.add(total, self.statement(stmt))
        return total

    def statement(self, stmt: Stmt) -> Expr:
        match stmt:
            case For():
                self.middles[stmt.index] = _middle(stmt)
                return affine.mul(self.trips(stmt), affine.add(self.block(stmt.body), affine.ONE))
            case While(condition=condition, body=body):
                return affine.mul(UNKNOWN, affine.add(self.block(body), integer(_cost(condition))))
            case If(condition=condition, then=then, orelse=orelse):
                sides = affine.add(self.block(then), self.block(orelse))
                return affine.add(sides, integer(_cost(condition)))
            case Alloc() | CopyTo() | Library():
                return UNKNOWN
        own = sum(map(_cost, expressions(stmt)))
        return integer(own + isinstance(stmt, (AddTo, Store)))

    def trips(self, inner: For) -> Expr:
        if not isinstance(inner.step, Const):
            return UNKNOWN
        length = _length(inner)
        for _ in self.middles:
            length = affine.normal(substitute(length, self.middles))
        self.uneven |= self.loop.index in variables(length)
        length = affine.normal(substitute(length, {self.loop.index: _middle(self.loop)}))
        dims = {node.array for node in subexpressions(length) if isinstance(node, Dim)}
        if loads(length) or variables(length) & (self.inside.writes | {self.loop.index}) or dims - self.known:
            return UNKNOWN
        return length


def _length(loop: For) -> Expr:
    """The number of iterations, or thereabouts."""
    step = int(loop.step.value)  # type: ignore[attr-defined]
    length = affine.sub(loop.stop, loop.start) if step > 0 else affine.sub(loop.start, loop.stop)
    return length if abs(step) == 1 else affine.floordiv(length, abs(step))


def _middle(loop: For) -> Expr:
    return affine.floordiv(affine.add(loop.start, loop.stop), 2)


def _cost(expr: Expr) -> int:
    """In additions; indices are free."""
    match expr:
        case Load():
            return 1
        case Call(op=op, args=args):
            own = 0 if op == "cast" else PRIMITIVES[op].cost if op in PRIMITIVES else 1
            return own + sum(map(_cost, args))
    return 0


def _is_small(loop: For, work: Expr) -> bool:
    """Is it known ahead that threads would not pay?  (What only copies is as fast as memory is.)"""
    if all(isinstance(s, For) or (isinstance(s, Store) and _cost(s.value) <= 1) for s in statements(loop.body)):
        return True
    whole = affine.normal(affine.mul(_length(loop), work))
    return isinstance(whole, Const) and whole.value < WORTH


__all__ = ["parallelise"]
