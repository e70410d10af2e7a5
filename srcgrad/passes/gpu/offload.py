"""What runs on a GPU: loops proved independent become kernels, and the host keeps the order of things.

e = empty(n)                            e = empty(n)
for i in range(n):              →       f_i, by a thread for each of i in range(0, n, 1):
    e[i] = x[i] - m                         e[i] = x[i] - m
    s += e[i] * e[i]                        s += e[i] * e[i]           (each thread in an s of its own)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ...analysis.effects import values_behind, values_within
from ...analysis.extremes import extremes_of, nest, numbers_of, without_comments
from ...analysis.lives import is_dead
from ...analysis.sharing import Shared, Sharing
from ...errors import STEP_OF_ZERO, UnsupportedError, place
from ...ir import affine
from ...ir.expressions import BOOL, COMPLEX64, COMPLEX128, Array, Call, Const, Expr, Load, Var
from ...ir.info import elementwise, memory_of
from ...ir.nodes import (
    LANE,
    AddTo,
    Alloc,
    Assign,
    AtomicAdd,
    Block,
    Comment,
    CopyTo,
    External,
    For,
    Function,
    Grow,
    If,
    Invoke,
    Kernel,
    Lanes,
    Library,
    LocalArray,
    NewStack,
    Pop,
    Push,
    Raise,
    Stmt,
    Store,
    View,
    While,
)
from ...ir.walk import (
    blocks,
    loads,
    map_expressions,
    rewrite_block,
    statements,
    substitute,
    targets,
    variables,
    with_blocks,
)
from ...rules.device import LIBRARY
from .copies_as_loops import unchecked
from .held_rows import held_rows
from .read_once import without_last_stores

IN_A_THREAD = (AddTo, Alloc, Assign, Comment, CopyTo, For, If, Pop, Push, Raise, Store, View, While)
OF_NUMBERS = (AddTo, Assign, Comment, For, If, Store, While)  # what one thread can do
FIRST_LANE = Call("eq", (LANE, affine.ZERO), BOOL)  # one of those that run an iteration together
WIDE_ROWS = 16  # iterations of a loop within a loop that are worth a warp
LONG_ROWS = 512  # that are worth a block: fewer rows are under way at one time, and stay where they can be read again
HELD_ROWS = 1024  # that the threads of a block can hold in registers
COMPLEX = (COMPLEX64, COMPLEX128)
LARGEST_LOCAL = 64  # elements of an array that a thread keeps to itself


def offload(function: Function) -> Function:
    """The function with a `Kernel` for all that touches arrays."""
    _refuse(function)
    kernels = Kernels(function)
    body = kernels.without_moved(kernels.block(function.body, ()))
    whole = function.info.kind not in ("forward", "pullback")  # half of a function may well be in order
    left = statements(body)
    runs = kernels.count > 0 or any(isinstance(stmt, Library) for stmt in left)
    if whole and not runs and any(isinstance(stmt, (For, While)) for stmt in left):
        raise _no_parallel_loop(function, body)
    return replace(function, body=body)


def _refuse(function: Function) -> None:
    for stmt in statements(function.body):
        span = stmt.span
        if isinstance(stmt, Invoke):
            raise UnsupportedError(
                "a recursive or very large function does not run on a GPU",
                span=span,
                help=('write it as a loop, or use target="cpu"',),
            )
        if isinstance(stmt, External) or (isinstance(stmt, Library) and stmt.routine.startswith("user.")):
            name = stmt.function if isinstance(stmt, External) else stmt.routine.removeprefix("user.")
            raise UnsupportedError(
                f"{name} does not run on a GPU", span=span, help=("pass what it computes as an argument",)
            )
        if isinstance(stmt, Library) and any(getattr(x, "dtype", None) in COMPLEX for x in (*stmt.outs, *stmt.args)):
            raise UnsupportedError("complex numbers do not run on a GPU yet", span=span, help=('use target="cpu"',))
        if isinstance(stmt, Grow):
            raise UnsupportedError(
                "a list that grows in a while loop does not run on a GPU", span=span, help=('use target="cpu"',)
            )
        if isinstance(stmt, Library) and stmt.draws:
            raise UnsupportedError(
                "random numbers are not drawn on a GPU", span=span, help=("draw them ahead of the call",)
            )
        if isinstance(stmt, Library) and stmt.routine not in LIBRARY:
            raise UnsupportedError(f"{stmt.routine} does not run on a GPU yet", span=span, help=('use target="cpu"',))


def _no_parallel_loop(function: Function, body: Block) -> UnsupportedError:
    """`body`: what is left of the function's, but for kernels that fill or copy arrays."""
    loops = [s for s in statements(body) if isinstance(s, (For, While))]
    places = [*dict.fromkeys(loop.span for loop in loops if loop.span is not None)]
    others = "so do those of the loops in it or behind it" if len(places) > 1 else "there is no other loop"
    return UnsupportedError(
        f"nothing in {function.name.removesuffix(f'_{function.info.kind}')} runs in parallel",
        span=places[0] if places else None,
        because=f"its iterations depend on each other, and {others}",
        help=(
            "write array expressions, or a loop whose iterations do not read what others write",
            "for many such problems at once, loop over the problems around it",
            'or use target="cpu"',
        ),
    )


# ------------------------------------------------------------------------------------------------------- kernels


class Kernels:
    """Turns independent loops into kernels."""

    def __init__(self, function: Function) -> None:
        self.name, self.names = function.name, function.info.names
        self.sharing = Sharing(function, never_negative=True, atomically=True)
        self.memory = memory_of(function)
        self.indices = frozenset(s.index.name for s in statements(function.body) if isinstance(s, For))
        self.moved: set[str] = set()
        self.around: tuple[For, ...] = ()  # the loops of the host around this place
        self.values: Mapping[Var, Expr] = {}  # what variables have been made of here
        self.host_launches = True  # at this place; loops of nothing but extremes are for one thread
        self.count = 0

    def block(self, block: Block, later: tuple[Block, ...]) -> Block:
        """`later` is what runs after the block: the rest of the blocks around it, innermost first."""
        out: list[Stmt] = []
        values = at_start = self.values
        for position, stmt in enumerate(block):
            rest, self.values = (block[position + 1 :], *later), values
            values = values_behind(stmt, values)
            launched = self.launched(stmt, rest) if isinstance(stmt, For) and not stmt.ordered else None
            if launched is None and isinstance(stmt, For) and self.host_launches:
                found = self.extreme(stmt, rest)
                launched = None if found is None else (found,)
            if launched is not None:
                *ahead, kernel = launched
                out += (*ahead, kernel) if any(map(_is_seen, statements((kernel,)))) else ahead
                continue
            if isinstance(stmt, (For, While)):
                before = self.host_launches, self.around
                self.host_launches = any(map(_is_independent, statements(stmt.body)))
                self.around += (stmt,) if isinstance(stmt, For) else ()
                self.values = values_within(stmt, self.values)
                stmt = with_blocks(stmt, (self.block(stmt.body, ((stmt,), *rest)),))
                self.host_launches, self.around = before
            elif blocks(stmt):
                stmt = with_blocks(stmt, tuple(self.block(b, rest) for b in blocks(stmt)))
            out.append(stmt)
        self.values = at_start  # another branch begins there too
        return tuple(out)

    def launched(self, loop: For, later: tuple[Block, ...]) -> Block | None:
        """The kernel of a loop, or three of them to choose from when the lengths are known, behind what they need."""
        if loop.index in variables(loop.start) | variables(loop.stop):  # of a `while` loop, how often it has run
            loop = self.by_another_name(loop)
        nest = self.nest(loop, later, self.around, self.values)
        if nest is None:
            return None
        axes, shares, body = nest
        ahead, axes, body = self.by_numbers(axes, body)
        inner = shares[-1]
        local = [s for s in statements(body) if isinstance(s, Alloc)]
        if any(_is_known_inside(made, body, axes) for made in local):
            return None
        colliding = set().union(*map(self.meeting, shares))
        scratch = (*inner.scratch, *local)
        body = without_last_stores(body, {made.array.name for made in scratch})
        self.moved |= {made.array.name for made in inner.scratch} | {made.stack.name for made in inner.stacks}
        self.count += not is_filling(body)
        by_threads = Kernel(
            name=self.names.fresh(f"{self.name}_{'_'.join(axis.index.name for axis in axes)}"),
            axes=tuple(replace(axis, body=()) for axis in axes),
            body=self.inside(body, colliding, scratch),
            sums=inner.sums,
            scratch=tuple(made for made in dict.fromkeys(scratch) if not is_small(made)),
            stacks=tuple(made.stack for made in inner.stacks),
            span=loop.span,
        )
        rows = self.rows(loop, inner, body, colliding, later) if len(axes) == 1 else None
        if rows is None or (isinstance(rows.width, Const) and rows.width.value < WIDE_ROWS):
            return (*ahead, by_threads)
        by_warps, by_blocks = (
            replace(
                by_threads,
                name=self.names.fresh(f"{by_threads.name}_{word}"),
                body=rows.body,
                scratch=tuple(dict.fromkeys(scratch)),
                by_rows=by,
            )
            for by, word in (("warp", "rows"), ("block", "long_rows"))
        )
        long, wide = (Call("ge", (rows.width, affine.integer(n)), BOOL) for n in (LONG_ROWS, WIDE_ROWS))
        shorter = If(wide, (by_warps,), (by_threads,), span=loop.span)
        held = held_rows(by_blocks, f"{by_threads.name}_held_rows", self.memory, self.names)
        if held is None:
            return (*ahead, If(long, (by_blocks,), (shorter,), span=loop.span))
        longer = Call("gt", (rows.width, affine.integer(HELD_ROWS)), BOOL)
        return (*ahead, If(longer, (by_blocks,), (If(long, (held,), (shorter,), span=loop.span),), span=loop.span))

    def is_by_single_threads(self, loop: For, later: tuple[Block, ...], around: tuple[For, ...]) -> bool:
        """Would each iteration of a loop, and of no other in it, be run by a thread that is alone?"""
        self.around = around
        nest = self.nest(loop, later, around)
        if nest is None or len(nest[0]) > 1:
            return False
        _, (shared,), body = nest
        return self.rows(loop, shared, body, self.meeting(shared), later) is None

    def by_numbers(self, axes: tuple[For, ...], body: Block) -> tuple[Block, tuple[For, ...], Block]:
        """A loop by a step that is known when the program runs goes over the numbers of its iterations."""
        ahead: list[Stmt] = []
        numbered: list[For] = []
        indices: list[Stmt] = []
        for axis in axes:
            if isinstance(axis.step, Const):
                numbered.append(axis)
                continue
            error = Raise("RuntimeValueError", STEP_OF_ZERO + place(axis.span))
            trips = Var(self.names.fresh("trips"), axis.index.dtype)
            count = Call("trip_count", (axis.start, axis.stop, axis.step), trips.dtype)
            ahead += If(affine.equals(axis.step, affine.ZERO), (error,), span=axis.span), Assign(trips, count)
            number = Var(self.names.fresh(f"{axis.index.name}_number"), trips.dtype)
            numbered.append(replace(axis, index=number, start=affine.ZERO, stop=trips, step=affine.ONE))
            indices.append(Assign(axis.index, affine.add(axis.start, affine.mul(number, axis.step))))
        return tuple(ahead), tuple(numbered), (*indices, *body)

    def by_another_name(self, loop: For) -> For:
        index = Var(self.names.fresh(loop.index.name), loop.index.dtype)
        return replace(loop, index=index, body=_with_index(loop, index))

    def from_zero(self, loop: For) -> For:
        """Of windows that are as long as each other, range(i, i + h), a grid has the length alone."""
        if not affine.same(loop.step, affine.ONE) or loads(loop.start) or variables(loop.start) & sets(loop):
            return loop
        number = Var(self.names.fresh(f"{loop.index.name}_number"), loop.index.dtype)
        body = _with_index(loop, affine.add(loop.start, number))
        return replace(loop, index=number, start=affine.ZERO, stop=affine.sub(loop.stop, loop.start), body=body)

    def meeting(self, shared: Shared) -> set[str]:
        """Arrays in which iterations may add to one element, by every name that there is for their memory."""
        near = {name for name, root in self.sharing.roots.items() if root in shared.near}
        return near | shared.near | {array.name for array in shared.partial}

    def extreme(self, loop: For, later: tuple[Block, ...]) -> Kernel | None:
        """The kernel of a nest that looks for the greatest or the like, or makes a product of integers."""
        axes = nest(loop)
        found, indices = extremes_of(axes[-1], products=True), {axis.index for axis in axes}
        bounds = [bound for axis in axes for bound in (axis.start, axis.stop)]
        fixed = not any(variables(bound) & (indices | dict(found).keys()) for bound in bounds)
        dead = all(self.is_dead(var, later) for var in indices | numbers_of(axes[-1]))
        steady = all(isinstance(axis.step, Const) for axis in axes) and fixed and not any(map(loads, bounds))
        if not found or not (steady and dead):
            return None
        self.count += 1
        return Kernel(
            name=self.names.fresh(f"{self.name}_{'_'.join(axis.index.name for axis in axes)}"),
            axes=tuple(replace(axis, body=()) for axis in axes),
            body=axes[-1].body,
            sums=tuple(var for var, _ in found),
            extremes=found,
            span=loop.span,
        )

    def is_dead(self, var: Var, later: tuple[Block, ...]) -> bool:
        return is_dead(var, later, var.name in self.sharing.results)

    def rows(
        self, loop: For, shared: Shared, body: Block, colliding: set[str], later: tuple[Block, ...]
    ) -> _Rows | None:
        """The body as the threads of a warp or of a block run it together, where they can."""
        if shared.stacks or any(isinstance(s, (Raise, Alloc)) for s in statements(body)):
            return None
        out: list[Stmt] = []
        width: Expr | None = None
        changed = set().union(*map(sets, body)) | {loop.index}
        for position, stmt in enumerate(body):
            rest = (body[position + 1 :], (loop,), *later)
            lanes = self.lanes(stmt, shared, colliding, rest, (*self.around, loop))
            if lanes is not None:
                fixed = (w for w in _widths(lanes) if not loads(w) and not variables(w) & changed)
                width = next(fixed, None) if width is None else width
                out.append(lanes)
            elif isinstance(stmt, (Assign, Comment)):
                out.append(stmt)
            elif isinstance(stmt, (AddTo, Store)):
                is_private = isinstance(stmt, AddTo) and isinstance(stmt.target, Var) and stmt.target not in shared.sums
                out += (stmt,) if is_private else (If(FIRST_LANE, self.inside((stmt,), colliding, ())),)
            elif _is_of_own_numbers(stmt) and not sets(stmt) & set(shared.sums):
                out.append(stmt)
            elif isinstance(stmt, If) and all(map(_is_one_element, (*stmt.then, *stmt.orelse))):
                out.append(If(FIRST_LANE, self.inside((stmt,), colliding, ())))
            else:
                return None
        return None if width is None else _Rows(tuple(out), width)

    def lanes(
        self, stmt: Stmt, outer: Shared, colliding: set[str], later: tuple[Block, ...], around: tuple[For, ...]
    ) -> Lanes | None:
        """A loop within the iteration that the threads of a row may share."""
        if not isinstance(stmt, For) or not affine.same(stmt.step, affine.ONE):
            return None
        found = extremes_of(stmt)
        if found and all(self.is_dead(var, later) for var in numbers_of(stmt)):
            return Lanes(stmt.index, stmt.start, stmt.stop, stmt.body, extremes=found, span=stmt.span)
        shared = None if stmt.ordered else self.sharing.of(stmt, later, around)
        if shared is None or shared.scratch or shared.stacks:
            return None
        meeting = colliding | self.meeting(shared)
        sums = tuple(var for var in shared.sums if var not in outer.sums)
        body = self.inside(stmt.body, meeting, ())
        return Lanes(stmt.index, stmt.start, stmt.stop, body, sums=sums, span=stmt.span)

    def nest(
        self,
        loop: For,
        later: tuple[Block, ...],
        around: tuple[For, ...],
        values: Mapping[Var, Expr] = MappingProxyType({}),
        outer: frozenset[Var] = frozenset(),
    ) -> tuple[tuple[For, ...], tuple[Shared, ...], Block] | None:
        """The loops right within each other that are independent, what each shares, and the body of the innermost.

        `outer`: indices of the grid, of which the host knows nothing when it asks how long the other axes are.
        """
        if loop.ordered or loads(loop.step) or variables(loop.step) & sets(loop):
            return None
        if not all(isinstance(s, IN_A_THREAD) and not _stays_whole(s) for s in statements(loop.body)):
            return None
        shared = self.sharing.of(loop, later, around, values)
        if shared is None:
            return None
        inside = without_comments(loop.body)
        if len(inside) == 1 and isinstance(inside[0], For) and not shared.stacks:
            outer |= {loop.index}
            inner = self.from_zero(inside[0]) if outer & variables(inside[0].start) else inside[0]
            bounds = (inner.start, inner.stop, inner.step)
            if not any(outer & variables(bound) or loads(bound) for bound in bounds):
                deeper = self.nest(inner, ((loop,), *later), (*around, loop), values_within(loop, values), outer)
                if deeper is not None and set(shared.scratch) <= set(deeper[1][-1].scratch):
                    axes, shares, body = deeper
                    return (loop, *axes), (shared, *shares), body
        return (loop,), (shared,), loop.body

    def inside(self, body: Block, colliding: set[str], scratch: Iterable[Alloc]) -> Block:
        """The body as one thread runs it."""
        small = {made.array.name for made in scratch if is_small(made)}

        def change(stmt: Stmt) -> tuple[Stmt, ...]:
            match stmt:
                case Alloc(array=array, fill=fill):
                    made: tuple[Stmt, ...] = (LocalArray(array),) if array.name in small else ()
                    if fill is None:
                        return made
                    filled = elementwise(array, stmt.dims, lambda _: fill, self.names, self.indices)
                    return (*made, *sequential((unchecked(filled),)))
                case AddTo(target=Load(array=array, index=index), value=value) if array.name in colliding:
                    return (AtomicAdd(array, index, value, span=stmt.span),)
                case For():
                    return (replace(stmt, ordered=True),)
            return (stmt,)

        ahead = tuple(LocalArray(made.array) for made in scratch if is_small(made) and made not in body)
        inner = {s.array.name for s in statements(body) if isinstance(s, Alloc)}
        return (*(a for a in ahead if a.array.name not in inner), *rewrite_block(body, change))

    def without_moved(self, block: Block) -> Block:
        """Scratch and stacks that threads have of their own are made with the kernel alone."""
        return rewrite_block(
            block,
            lambda s: (
                ()
                if (isinstance(s, Alloc) and s.array.name in self.moved)
                or (isinstance(s, NewStack) and s.stack.name in self.moved)
                else (s,)
            ),
        )


@dataclass(frozen=True)
class _Rows:
    """The body of a kernel by rows, and how long a row is."""

    body: Block
    width: Expr


def _widths(loop: Lanes) -> Iterator[Expr]:
    """How long it is, or how long at most: rows but for the last one, range(i, min(i + h, n))."""
    yield affine.sub(loop.stop, loop.start)
    match loop.stop:
        case Call(op="minimum" | "min", args=args):
            yield from (affine.sub(end, loop.start) for end in args)


def _with_index(loop: For, index: Expr) -> Block:
    change = lambda e: substitute(e, {loop.index: index})
    return rewrite_block(loop.body, lambda s: (map_expressions(s, change),))


def _is_independent(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and not stmt.ordered


def _is_of_own_numbers(stmt: Stmt) -> bool:
    """Does it read memory at most, and set nothing but numbers?"""
    inner = tuple(statements((stmt,)))
    is_store = lambda s: isinstance(s, Store) or (isinstance(s, AddTo) and isinstance(s.target, Load))
    return all(isinstance(s, OF_NUMBERS) and not is_store(s) for s in inner)


def _is_one_element(stmt: Stmt) -> bool:
    return isinstance(stmt, (Comment, Store)) or (isinstance(stmt, AddTo) and isinstance(stmt.target, Load))


def _stays_whole(stmt: Stmt) -> bool:
    """Does it need a handle on a part of an array, which threads have not?"""
    return isinstance(stmt, View) or (isinstance(stmt, Push) and isinstance(stmt.value, Array))


def _is_known_inside(made: Alloc, body: Block, axes: tuple[For, ...]) -> bool:
    """Does the size of what a thread makes depend on what the thread computes?"""
    sets = {axis.index for axis in axes}
    for stmt in statements(body):
        sets |= {v for v in targets(stmt) if isinstance(v, Var)}
    return any(variables(dim) & sets or loads(dim) for dim in made.dims)


def is_filling(body: Block) -> bool:
    """Does it fill arrays, or copy them, and no more?"""
    return all(isinstance(s, Store) and isinstance(s.value, (Const, Load)) for s in body)


def is_small(made: Alloc) -> bool:
    """Does a thread keep it to itself?"""
    size = affine.product(made.dims)
    return isinstance(size, Const) and int(size.value) <= LARGEST_LOCAL


def _is_seen(stmt: Stmt) -> bool:
    """Does anybody see that it has run?"""
    if isinstance(stmt, Kernel):
        return bool(stmt.sums)
    of_own = isinstance(stmt, AddTo) and isinstance(stmt.target, Var)
    return not (of_own or isinstance(stmt, (Assign, Comment, For, If, Lanes)))


def sequential(block: Block) -> Block:
    """The block with its loops in order."""
    return rewrite_block(block, lambda s: (replace(s, ordered=True),) if isinstance(s, For) else (s,))


def sets_itself(stmt: Stmt) -> set[Var]:
    """The numbers that a statement sets, but for what is in its blocks."""
    if isinstance(stmt, For):
        return set()
    return {v for v in targets(stmt) if isinstance(v, Var)}


def sets(stmt: Stmt) -> set[Var]:
    """The numbers that a statement sets, but for indices of loops."""
    return set().union(*(sets_itself(s) for s in statements((stmt,))))


__all__ = [
    "OF_NUMBERS",
    "Kernels",
    "is_filling",
    "is_small",
    "offload",
    "sequential",
    "sets",
    "sets_itself",
]
