"""Kernels as text: the loops over the grid, and what a thread does of them.

f_i, by a thread for each of i in range(0, n, 1):          @kernel(s=np.float64)
    y[i] = x[i] * x[i]                                     def f_i(x, n, y, s_start, s_parts, s_cell, …):
    s += y[i]                                                  s = 0.0
                                                               i = cuda.grid(1)
                                                               while i < n:
                                                                   y[i] = x[i] * x[i]
                                                      →            s += y[i]
                                                                   i += cuda.gridsize(1)
                                                               …one sum per block, and one of all blocks in s_cell

A kernel is self-contained: without a driver, Numba compiles none that calls a function of another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...analysis.extremes import NEUTRAL
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Dim, Expr, Load, Span, Var, both
from ...ir.info import memory_at_a_time, memory_of, roots_of
from ...ir.nodes import (
    LANE,
    TURN,
    TURNS,
    AddTo,
    Alloc,
    Assign,
    AtomicAdd,
    Block,
    For,
    Function,
    If,
    Kernel,
    Lanes,
    LocalArray,
    Pop,
    Push,
    Raise,
    Stmt,
    Store,
    View,
    While,
)
from ...ir.walk import (
    arrays_read,
    expressions,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    targets,
)
from ...passes.gpu.offload import FIRST_LANE
from .block_sums import cleared, flushed, place_in_block, shared_arrays, zero
from .branches_read_first import branches_read_first
from .grid_sums import DONE, Sum, made_one
from .kernel_text import Lines, lines_of, local_array, operand, pop, push, raising, refused_complex, said, text_of
from .read_ahead import Reads, in_turns, lanes_read_ahead, read_ahead, read_once
from .rows_together import Form, meeting_once, together
from .several_elements import Elements, Several, over_elements, several_elements
from .signatures import Signatures
from .sine_and_cosine import beside_each_other, by_one_function
from .thread_sums import ThreadSums, thread_sums, within_block, within_warp

MOST_AXES = 3  # of a grid: more of them are loops in the thread


@dataclass(frozen=True)
class Definition:
    """A kernel: `sums` are what it adds up, and in which dtype."""

    name: str
    params: tuple[str, ...]
    signature: str
    sums: tuple[Var, ...]
    body: Block
    shared: tuple[str, ...] = ()  # arrays of which a block has sums of its own
    by_rows: str = ""
    extremes: tuple[tuple[Var, str], ...] = ()  # which of them are not sums, and what instead
    turns: int = 1  # elements of a thread along one axis
    resident: bool = False  # there are no more blocks than run at one time

    @property
    def decorator(self) -> str:
        given = [f"by_rows={self.by_rows!r}"] if self.by_rows else []
        given += [f"turns={self.turns}"] if self.turns > 1 else []
        given += [f"block_sums={self.shared!r}"] if self.shared else []
        given += ["resident=True"] if self.resident else []
        ops = dict(self.extremes)
        kinds = [(var, f"np.{var.dtype.name}") for var in self.sums]
        given += [f"{var.name}=({kind}, {ops[var]!r})" if var in ops else f"{var.name}={kind}" for var, kind in kinds]
        return f"kernel({', '.join(given)})" if given else "kernel"


@dataclass(frozen=True)
class Written:
    """A kernel, and what is handed to it: `taken` by its own names, `given` as the host calls that."""

    definition: Definition
    taken: list[str]
    given: list[str]


class Kernels:
    """Writes the kernels of one program; `errors` are those that they may stop with."""

    def __init__(self, program: Function, form: Form) -> None:
        self.form, self.names = form, program.info.names
        self.errors: dict[tuple[str, str, int], int] = {}  # class, text and how many numbers: the code
        self.known: dict[tuple[Var, str], str] = {}
        self.signatures = Signatures(program)
        self.memory, self.roots, self.apart = memory_of(program), roots_of(program), memory_at_a_time(program)
        spans = (stmt.span for stmt in statements(program.body) if stmt.span)
        self.somewhere = next(spans, program.info.extra["ended_at"])  # a sweep has places where it may raise alone

    def of(self, var: Var, what: str) -> str:
        """The name of something that belongs to a number."""
        if (var, what) not in self.known:
            self.known[var, what] = self.names.fresh(f"{var.name}_{what}")
        return self.known[var, what]

    def anew(self, var: Var, what: str) -> str:
        """Such a name for what nobody waits to use again."""
        return self.names.fresh(f"{var.name}_{what}")

    def cell(self, var: Var) -> str:
        return self.of(var, "cell")

    def next_cell(self, var: Var) -> str:
        return self.of(var, "next_cell")

    def write(self, kernel: Kernel, waits: bool, last: Kernel | None, anew: Sequence[Var]) -> Written:
        """The kernel as text; `waits`: it does nothing where one before it has stopped with an error.

        `last` is what the last of its blocks does behind it, by one thread.  Numbers that it sets `anew`, where the
        kernel itself may still read what they were, go to their next cells.
        """
        return _Writer(self, kernel).written(waits, None if last is None else _Writer(self, last, anew))


class _Writer:
    """Writes one kernel."""

    def __init__(self, kernels: Kernels, kernel: Kernel, anew: Sequence[Var] = ()) -> None:
        self.kernels, self.kernel, self.form = kernels, kernel, kernels.form
        self.cells_set = {
            v: kernels.next_cell(v) if v in anew else kernels.cell(v) for v in (*kernel.sets, *kernel.sums)
        }
        self.on_grid = of_grid(kernel)
        self.summed = thread_sums(kernel, self.on_grid, kernels.names, kernels.memory)
        # arrays of which a block has sums of its own, unless its threads add to them what they have added up
        self.shared = shared_arrays(kernel, kernels.roots, () if self.summed is None else self.summed.arrays)
        self.of = of = kernels.of
        ops = dict(kernel.extremes)
        self.sums = [
            Sum(
                var, ops.get(var, "add"), of(var, "shared"), of(var, "parts"), kernels.cell(var),
                None if var in kernel.reads else of(var, "start"),
            )
            for var in kernel.sums
        ]  # fmt: skip

    def written(self, waits: bool, last: _Writer | None) -> Written:
        kernel, kernels = self.kernel, self.kernels
        several = self.several_elements()
        body, reads = self.reading_ahead() if several is None else (several.body, ())
        if several is None and not reads and self.on_grid and not kernel.by_rows:
            body = read_once(body, self.along_axis.index, kernels.names.fresh, kernels.memory)
        body = self.of_one_thread(body)
        taken, params = self.params()
        params += ["status"] * (waits or reports(kernel))
        own = [name for item in self.sums for name in item.params] + [DONE] * bool(kernel.sums)
        if last is not None:
            others, more = last.params()
            taken, params = taken + others, params + [name for name in more if name not in (*params, *own)]
        count = len(params)
        params += own
        ahead, loops, behind = self.ahead(waits), self.over_the_grid(body, reads, several), self.behind()
        places = {name: var for (var, _), name in kernels.known.items()}
        starts = {item.start: item.var for item in self.sums if item.start is not None}
        definition = Definition(
            name=kernel.name,
            params=tuple(params),
            signature=kernels.signatures.of((kernel, *([last.kernel] if last else ())), params, places, starts),
            sums=kernel.sums,
            body=(*lines_of(ahead), *loops, *lines_of(behind), *(last.by_last_thread() if last else ())),
            shared=tuple(array.name for array in self.shared),
            by_rows=kernel.by_rows,
            extremes=kernel.extremes,
            turns=several.count if several else 1,
            resident=self.is_beside,
        )
        first = {name: f"{array.name} if {text_of(asked)} else {name}" for asked, name, array in kernel.at_first}
        return Written(definition, taken, [first.get(name, name) for name in params[:count]])

    def params(self) -> tuple[list[str], list[str]]:
        """What it takes from around it, by its own names and by those of the host."""
        kernel, cell = self.kernel, self.kernels.cell
        taken = _taken(kernel)
        cells = {var.name: cell(var) for var in kernel.reads}
        params = [cells.get(name, name) for name in taken]
        params += [name for v, name in self.cells_set.items() if v.name not in taken and _has_cell(kernel, v)]
        return taken, params

    def by_last_thread(self) -> Block:
        """A kernel of one thread, as the end of another one."""
        body = (*lines_of(self.ahead(False)), *self.of_one_thread(self.kernel.body), *lines_of(self.behind()))
        return (If(Var("is_last[0] and member == 0", BOOL), body),)

    @property
    def is_beside(self) -> bool:
        """Do the threads of a block add up together?"""
        return self.summed is not None and self.summed.beside is not None

    def ahead(self, waits: bool) -> list[str]:
        """What a thread does first."""
        kernel, threads = self.kernel, self.form.threads
        needs_member = kernel.sums or self.shared or self.is_beside
        lines = [f"member = {_member(self.on_grid, kernel.by_rows)}"] if needs_member else []
        lines += ["if status[0] != 0:\n    return"] * waits
        added = {item.var: item for item in self.sums if item.op in NEUTRAL}
        lines += [f"{var.name} = {self.kernels.cell(var)}[0]" for var in kernel.reads if var not in added]
        lines += [f"{var.name} = {item.neutral}" for var, item in added.items()]
        lines += [f"{stack.top} = 0" for stack in kernel.stacks]
        if kernel.by_rows:
            lines += ["lane = cuda.threadIdx.x", "row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y"]
        elif kernel.scratch or kernel.stacks:
            lines.append(f"thread = {_thread(self.on_grid, threads)}")
        return lines + cleared(self.shared, threads)

    def behind(self) -> list[str]:
        """What it does last."""
        lines = [f"{self.cells_set[var]}[0] = {var.name}" for var in self.kernel.sets]
        return lines + flushed(self.shared, self.form.threads) + made_one(self.sums, _block(self.on_grid), self.form)

    def reading_ahead(self) -> tuple[Block, Reads]:
        """An iteration, and what a thread reads ahead of several of them."""
        kernel, summed, fresh, memory = self.kernel, self.summed, self.kernels.names.fresh, self.kernels.memory
        body = kernel.body if summed is None else summed.body
        if kernel.by_rows:
            return lanes_read_ahead(body, fresh, memory), ()
        if kernel.scratch or kernel.stacks or not self.shares:
            return body if summed else branches_read_first(kernel, self.kernels.names, self.kernels.apart), ()
        reads, body = read_ahead(body, self.along_axis.index, fresh, memory)
        return body, reads

    @property
    def along_axis(self) -> For:
        """The axis of a thread's innermost loop."""
        return self.on_grid[-1] if self.summed is None else self.summed.axis

    def several_elements(self) -> Several | None:
        if self.shares:
            return None
        return several_elements(self.kernel, self.on_grid, self.kernels.names, self.kernels.apart)

    @property
    def shares(self) -> bool:
        """Is there something that threads add up?"""
        return bool(self.kernel.sums or self.shared) or self.summed is not None

    def over_the_grid(self, body: Block, reads: Reads, several: Several | None) -> Block:
        """The loops over the grid, around one iteration.

        Where threads have nothing of their own, there are as many as iterations along the innermost axis: that is a
        condition, not a loop, for which LLVM would count the trips of each thread by a division.
        """
        kernel, on_grid, summed = self.kernel, self.on_grid, self.summed
        count = len(on_grid)
        once = not (self.shares or kernel.scratch or kernel.stacks or kernel.by_rows)
        innermost = summed.axis if summed else on_grid[0] if several else None
        inward = [axis for axis in on_grid if axis is not innermost]
        for axis in ([innermost] if innermost else []) + inward[::-1]:
            name, step = axis.index.name, int(axis.step.value)  # type: ignore[attr-defined]
            first, stride = self.along(axis)
            scaled = {1: "{}", -1: "-{}"}.get(step, f"{step} * {{}}")
            start = "" if affine.same(axis.start, affine.ZERO) and step > 0 else f"({text_of(axis.start)}) + "
            goes_on: Expr = Call("lt" if step > 0 else "gt", (axis.index, said(axis.stop, None)), BOOL)
            if summed is not None and axis is summed.beside:  # they meet in the loop
                goes_on = Call("lt", (Call("sub", (axis.index, BESIDE), INT64), said(axis.stop, None)), BOOL)
            if several and axis is innermost:
                index = start + (scaled if step == 1 else scaled.format("({})"))
                form = several.in_form(self.of_one_thread, body)
                body = over_elements(form, self.elements(several, axis, index), goes_on, once and count == 1)
                continue
            if once and axis is on_grid[-1]:
                turns: Block = (If(goes_on, body),)
            elif reads:
                ahead = Var(self.of(axis.index, "ahead"), INT64)
                turns = in_turns(axis.index, ahead, scaled.format(stride), goes_on, reads, body)
                reads = ()
            else:
                turns = (While(axis.index, goes_on, (*body, Lines(f"{name} += {scaled.format(stride)}"))),)
            body = (Lines(f"{name} = {start}{scaled.format(first)}"), *turns)
            if summed is not None and axis is summed.axis:
                body = self.with_totals(body, goes_on, summed, axis is on_grid[-1])
        for axis in reversed(kernel.axes[: len(kernel.axes) - count]):
            first_one, last_one = said(axis.start, None), said(axis.stop, None)
            body = (replace(axis, start=first_one, stop=last_one, body=body),)
        if count < 2:
            return body
        firsts = ", ".join(self.of(axis.index, "first") for axis in reversed(on_grid))
        steps = ", ".join(self.of(axis.index, "step") for axis in reversed(on_grid))
        return (Lines(f"{firsts} = cuda.grid({count})"), Lines(f"{steps} = cuda.gridsize({count})"), *body)

    def elements(self, several: Several, axis: For, index: str) -> Elements:
        """Where there are rows, a thread takes some below each other, whose neighbours it has at hand; else threads of
        a block lie beside each other in each turn."""
        begin, count, threads = self.of(axis.index, "begin"), several.count, self.form.threads
        if len(self.on_grid) == 1:
            block = count * threads
            first, stride = f"cuda.blockIdx.x * {block} + cuda.threadIdx.x", f"cuda.gridDim.x * {block}"
            return Elements(axis, begin, first, stride, threads, index)
        first, step = self.of(axis.index, "first"), self.of(axis.index, "step")
        return Elements(axis, begin, f"{count} * {first}", f"{count} * {step}", 1, index)

    def with_totals(self, turns: Block, goes_on: Expr, summed: ThreadSums, in_warp: bool) -> Block:
        """The turns of a thread along an axis, between the start of its sums and what they are added to."""
        runs = Var(self.kernels.names.fresh("runs"), BOOL)
        if summed.beside is not None:
            j = summed.beside
            goes_on = both(Call("lt", (j.index, said(j.stop, None)), BOOL), goes_on)
        ahead = [Lines(f"{total.name} = {zero(total)}") for total in summed.totals]
        joined = lines_of(list(within_warp(summed.totals, runs)) if in_warp and self.form.shuffles else [])
        added = If(runs, self.of_one_thread(summed.added))
        common = self.of_one_thread(summed.ahead)
        if summed.beside is not None:
            shared = tuple((total, self.of(total, "shared")) for total in summed.totals)
            joined = lines_of(list(within_block(shared, runs, self.form.threads)))
            return (*ahead, turns[0], Assign(runs, goes_on), If(runs, (*common, *turns[1:])), *joined, added)
        return (*ahead, *common, turns[0], Assign(runs, goes_on), *turns[1:], *joined, added)

    def along(self, axis: For) -> tuple[str, str]:
        """The first iteration of a thread, and how far it is to the next."""
        if self.kernel.by_rows:
            return "row", "cuda.gridDim.x * cuda.blockDim.y"
        if len(self.on_grid) == 1:
            return "cuda.grid(1)", "cuda.gridsize(1)"
        return self.of(axis.index, "first"), self.of(axis.index, "step")

    def of_one_thread(self, body: Block) -> Block:
        """One iteration as a device can do it."""
        kernel, kernels, shared = self.kernel, self.kernels, self.shared
        private = {made.array.name for made in kernel.scratch}
        by_rows = kernel.by_rows

        def own(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.array.name in private:
                return replace(expr, array=_own(expr.array, by_rows), index=_own_index(expr.index, by_rows))
            return expr

        def span_of(stmt: Stmt) -> Span | None:
            return stmt.span or kernel.span or kernels.somewhere

        def change(stmt: Stmt) -> tuple[Stmt, ...]:
            stmt = map_expressions(stmt, lambda expr: said(rewrite(expr, own), span_of(stmt)))
            match stmt:
                case AddTo(value=value) | AtomicAdd(value=value) if value.dtype.kind == "c":
                    raise refused_complex(span_of(stmt))
                case Store(array=array, index=index) if array.name in private:
                    return (replace(stmt, array=_own(array, by_rows), index=_own_index(index, by_rows)),)
                case Lanes():
                    return together(stmt, by_rows, self.form, kernels.anew if stmt.held else self.of)
                case If(condition=condition) if condition == FIRST_LANE:
                    return (self.form.meet(by_rows), stmt, self.form.meet(by_rows))
                case AtomicAdd(array=array, index=index, value=value):
                    index = _own_index(index, by_rows) if array.name in private else index
                    at = text_of(index[0]) if len(index) == 1 else f"({', '.join(map(text_of, index))})"
                    everywhere = f"cuda.atomic.add({array.name}, {at}, {text_of(value)})"
                    if array not in shared:
                        return (Lines(everywhere),)
                    place = place_in_block(array, [operand(part) for part in index], shared)
                    inside = f"cuda.atomic.add(block_sums, {place}, {text_of(value)})"
                    return (Lines(f"if block_sums.size > 0:\n    {inside}\nelse:\n    {everywhere}"),)
                case LocalArray(array=array):
                    dims = tuple(affine.integer(self.form.held) if dim == TURNS else dim for dim in array.dims)
                    return (Lines(local_array(Array(array.name, array.dtype, dims))),)
                case Push(stack=stack, value=Expr() as value):
                    return (Lines(push(stack, text_of(value))),)
                case Pop(target=Var(name=name), stack=stack):
                    return (Lines(pop(stack, name)),)
                case Raise():
                    kind = stmt.error, stmt.message, len(stmt.values)
                    return (Lines(raising(stmt, kernels.errors.setdefault(kind, len(kernels.errors) + 1))),)
            return (stmt,)

        # what they share is written again in the next row
        behind = (self.form.meet(by_rows),) if any(isinstance(s, Lanes) and s.held for s in body) else ()
        body = beside_each_other(body, kernels.names.fresh, kernels.memory)
        return meeting_once((*by_one_function(rewrite_block(body, change)), *behind))


def of_grid(kernel: Kernel) -> tuple[For, ...]:
    """The axes that threads lie along."""
    return kernel.axes[-MOST_AXES:]


def reports(kernel: Kernel) -> bool:
    """May it stop with an error?"""
    return bool(kernel.stacks) or any(isinstance(stmt, Raise) for stmt in statements(kernel.body))


def _has_cell(kernel: Kernel, var: Var) -> bool:
    """Before its launch?"""
    return var in kernel.sets or var in kernel.reads


def _block(on_grid: tuple[For, ...]) -> str:
    """Which block of the grid it is."""
    if len(on_grid) <= 1:
        return "cuda.blockIdx.x"
    return "cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)"


def _thread(on_grid: tuple[For, ...], threads: int) -> str:
    """Which thread of the grid it is: those of a warp are neighbours."""
    if len(on_grid) <= 1:
        return "cuda.grid(1)"
    return f"{_member(on_grid, '')} + {threads} * ({_block(on_grid)})"


def _member(on_grid: tuple[For, ...], by_rows: str) -> str:
    """The number of a thread in its block."""
    if len(on_grid) <= 1 and not by_rows:
        return "cuda.threadIdx.x"
    return "cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)"


THREAD, ROW = Var("thread", INT64), Var("row", INT64)
BESIDE = Var("cuda.threadIdx.x", INT64)  # where a thread lies in its block along the innermost axis


def _own(array: Array, by_rows: str) -> Array:
    """Scratch of all threads, or of all rows."""
    return Array(array.name, array.dtype, (ROW, *array.dims) if by_rows else (*array.dims, THREAD))


def _own_index(index: tuple[Expr, ...], by_rows: str) -> tuple[Expr, ...]:
    """Threads that are neighbours lie beside each other; so do the elements of a row."""
    return (ROW, *index) if by_rows else (*index, THREAD)


def _taken(kernel: Kernel) -> list[str]:
    """Names that a kernel takes from around it, in the order of their use."""
    made = {LANE.name, TURN.name, *(axis.index.name for axis in kernel.axes), *(var.name for var in kernel.sums)}
    found: dict[str, None] = {}
    for axis in kernel.axes:
        found |= dict.fromkeys(_named(axis.start, axis.stop))
    for stmt in statements(kernel.body):
        if isinstance(stmt, (Alloc, View, LocalArray)):
            made.add(stmt.array.name)
        elif not (isinstance(stmt, AddTo) and isinstance(stmt.target, Var)):
            made |= {item.name for item in targets(stmt) if isinstance(item, Var)}
        found |= dict.fromkeys(_named(*expressions(stmt)))
        found |= dict.fromkeys(a.name for a in arrays_read(stmt))
        found |= dict.fromkeys(item.name for item in targets(stmt))
        if isinstance(stmt, (Push, Pop)):
            found[stmt.stack.name] = None
    reads = {var.name for var in kernel.reads}
    first = {name for name in reads if name in found}
    return [name for name in found if name not in made or name in first]


def _named(*exprs: Expr) -> Iterator[str]:
    for expr in exprs:
        for node in subexpressions(expr):
            if isinstance(node, Var):
                yield node.name
            elif isinstance(node, Dim):
                yield node.array
            elif isinstance(node, Load):
                yield node.array.name


__all__ = ["Definition", "Form", "Kernels", "of_grid", "reports"]
