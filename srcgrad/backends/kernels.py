"""Kernels as text, and the host's part of a program that launches them.

f_i, by a thread for each of i in range(0, n, 1):          @kernel(s=np.float64)
    y[i] = x[i] * x[i]                                     def f_i(x, n, y, s_parts):
    s += y[i]                                                  s = 0.0
                                                               i = cuda.grid(1)
                                                               while i < n:
                                                                   y[i] = x[i] * x[i]
                                                      →            s += y[i]
                                                                   i += cuda.gridsize(1)
                                                               …one sum per block, to s_parts[cuda.blockIdx.x]

                                                           s_cell = f_i[n](x, n, y, s=s)

A kernel is self-contained: without a driver, Numba compiles none that calls a function of another's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Span, Var, both
from ..ir.nodes import (
    LANE,
    TURN,
    TURNS,
    AddTo,
    Alloc,
    Assign,
    AtomicAdd,
    Block,
    Comment,
    Fetch,
    For,
    Function,
    If,
    Kernel,
    Lanes,
    LocalArray,
    NewStack,
    OwnCopy,
    Pop,
    Push,
    Put,
    Raise,
    Room,
    Seal,
    Stmt,
    Store,
    View,
    While,
)
from ..ir.walk import (
    arrays_read,
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
    written,
)
from ..passes.clear_together import is_cleared, that_last
from ..passes.effects import names_of_its_own
from ..passes.info import memory_at_a_time, memory_of, roots_of
from ..passes.offload import FIRST_LANE
from .block_sums import by_halves, by_shuffles, cleared, flushed, place_in_block, shared_arrays, zero
from .expressions import expression_text
from .kept_arrays import Kept
from .kernel_text import Lines, lines_of, local_array, operand, pop, push, raising, refused_complex, said, text_of
from .read_ahead import Reads, in_turns, inside, lanes_read_ahead, read_ahead
from .rows_together import Form, meeting_once, together
from .several_elements import Elements, Several, over_elements, several_elements
from .signatures import Signatures
from .thread_sums import ThreadSums, thread_sums, within_block, within_warp
from .views import view_text

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


def with_kernels(program: Function, form: Form) -> tuple[tuple[Definition, ...], Function]:
    """The kernels, and the host's part, on statements that are printed as they stand."""
    writer = _Writer(program, form)
    body, results = writer.host(program.body), writer.results(program.results)
    return tuple(writer.kernels), replace(program, body=writer.around(body), results=results)


class _Writer:
    def __init__(self, program: Function, form: Form) -> None:
        self.program, self.form = program, form
        self.names = program.info.names
        self.kernels: list[Definition] = []
        self.errors: list[Raise] = []
        self.needs_status = False
        self.on_device = program.info.extra["on_device"]
        self.known: dict[tuple[Var, str], str] = {}
        spans = (stmt.span for stmt in statements(program.body) if stmt.span)
        self.somewhere = next(spans, program.info.extra["ended_at"])  # a sweep has places where it may raise alone
        self.bound: set[Var] = set()  # cells that there are, wherever the program has come from
        self.unset: dict[Var, None] = {}  # cells that something takes before they are set
        self.there = {param.name for param in program.params}  # names that the host has, in the same way
        self.missing: dict[str, None] = {}  # those that a kernel is handed, and it may not have
        self.signatures = Signatures(program)
        self.memory, self.roots = memory_of(program), roots_of(program)
        self.apart = memory_at_a_time(program)
        self.stacks_of_device = program.info.extra["stacks_of_device"]
        kernels = [stmt for stmt in statements(program.body) if isinstance(stmt, Kernel)]
        self.changing = {v for k in kernels for v in k.reads if v in (*k.sets, *k.sums)}  # whose cell stays the same
        self.kept = Kept(program)
        self.lasting = that_last(program)
        self.may_have_failed = False  # a kernel that was launched before
        self.direct: tuple[str, ...] = ()  # arrays to which threads of this kernel add what a block has added up

    def of(self, var: Var, what: str) -> str:
        """The name of something that belongs to a number."""
        if (var, what) not in self.known:
            self.known[var, what] = self.names.fresh(f"{var.name}_{what}")
        return self.known[var, what]

    def anew(self, var: Var, what: str) -> str:
        """Such a name for what nobody waits to use again."""
        return self.names.fresh(f"{var.name}_{what}")

    def shared(self, kernel: Kernel) -> tuple[Array, ...]:
        """Arrays of which a block has sums of its own."""
        return shared_arrays(kernel, self.roots, self.direct)

    def cell(self, var: Var) -> str:
        return self.of(var, "cell")

    def results(self, results: object) -> object:
        if isinstance(results, tuple):
            return tuple(map(self.results, results))
        if not (isinstance(results, Var) and results in self.on_device):
            return results
        self.take(results)
        return Var(self.cell(results))

    def around(self, body: Block) -> Block:
        """With the status that kernels report to, where one may, and with cells and names that not every way sets."""
        ahead = [self.new_cell(var) for var in self.unset] + [_stand_in(item) for item in self.all_missing()]
        body = (*lines_of(ahead), *body)
        if not self.needs_status:
            return body
        table = "".join(f"({e.error}, {e.message!r}, {len(e.values)}), " for e in self.errors)
        return (Lines(f"status = new_status(({table}))"), *body, Lines("finish(status)"))

    def new_cell(self, var: Var) -> str:
        return f"{self.cell(var)} = cell(np.{var.dtype.name})"

    def take(self, *found: Var) -> None:
        self.unset |= dict.fromkeys(var for var in found if var not in self.bound)

    def miss(self, kernel: Kernel, taken: list[str]) -> None:
        """Note what a kernel uses in a branch or a loop of its own alone, and the host may not have made."""
        sure = {name for part in (*kernel.axes, *kernel.body) for name in names_of_its_own(part)}
        own = {var.name for var in kernel.reads} | {made.array.name for made in kernel.scratch} | sure | self.there
        self.missing |= dict.fromkeys(name for name in taken if name not in own)

    def all_missing(self) -> Iterator[Var | Array]:
        seen: dict[str, Var | Array] = {}
        for stmt in statements(self.program.body):
            found: list[Var | Array] = [*targets(stmt), *arrays_read(stmt)]
            found += [var for expr in expressions(stmt) for var in variables(expr)]
            seen |= {item.name: item for item in found}
        return (seen[name] for name in self.missing if name in seen)

    def host(self, block: Block) -> Block:
        out: list[Stmt] = []
        for is_of_zeros, group in groupby(block, lambda stmt: is_cleared(stmt, self.lasting)):
            stmts = tuple(group)
            out += (self.zeros(stmts),) if is_of_zeros and len(stmts) > 1 else self.host_statements(stmts)
        return tuple(out)

    def zeros(self, stmts: Block) -> Lines:
        """Arrays of zeros in one piece of memory."""
        made = [stmt for stmt in stmts if isinstance(stmt, Alloc)]
        self.there |= {stmt.array.name for stmt in made}
        forms = ", ".join(f"({_shape(stmt)}, np.{stmt.array.dtype.name})" for stmt in made)
        return Lines(f"{', '.join(stmt.array.name for stmt in made)} = zeros_together({forms})")

    def host_statements(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if not blocks(stmt):
                self.there |= {item.name for item in (*targets(stmt), *_handles(stmt))}
            match stmt:
                case Kernel():
                    self.take(*stmt.reads)
                    out.append(self.launch(stmt))
                    self.bound |= {*stmt.sets, *stmt.sums}
                case Fetch(var=var, why=why):
                    self.take(var)
                    out.append(Comment(why))
                    out.append(Lines(f"{var.name} = fetch({self.cell(var)})"))
                case Put(var=var):
                    out.append(Lines(f"{self.cell(var)} = put({var.name}, np.{var.dtype.name})"))
                    self.bound.add(var)
                case Room(var=var):
                    out.append(Lines(f"{var.name} = room()"))
                case Alloc(array=array, fill=fill):
                    how = "empty" if fill is None else "zeros"
                    out.append(Lines(f"{array.name} = {how}({_shape(stmt)}, np.{array.dtype.name})"))
                case View():
                    out.append(Lines(f"{stmt.array.name} = {view_text(stmt)}"))
                case OwnCopy(array=array, copy=copy):
                    out.append(Lines(f"{array.name} = own({array.name}, {copy})"))
                case NewStack(stack=stack) if stack in self.stacks_of_device:
                    out.append(Lines(f"{stack.name} = []"))
                case Push(stack=stack, value=Var() as var) if stack in self.stacks_of_device:
                    self.take(var)
                    held = f"copied({self.cell(var)})" if var in self.changing else self.cell(var)
                    out.append(Lines(f"{stack.name}.append({held})"))
                case Pop(stack=stack, target=Var() as var) if stack in self.stacks_of_device:
                    out.append(Lines(f"{self.cell(var)} = {stack.name}.pop()"))
                    self.bound.add(var)
                case NewStack() | Push() | Pop() | Seal() if stmt.stack in self.kept.of_arrays:
                    out.append(Lines(self.kept.text_of(stmt)))
                case _ if blocks(stmt):
                    self.may_have_failed |= isinstance(stmt, (For, While)) and any(map(_reports, statements((stmt,))))
                    index = {item.name for item in targets(stmt)}
                    out.append(with_blocks(stmt, tuple(self.inner(inner, index) for inner in blocks(stmt))))
                case _:
                    out.append(stmt)
        return tuple(out)

    def inner(self, block: Block, index: set[str]) -> Block:
        """A block that may run or not; in a loop it knows the index."""
        before = set(self.bound), set(self.there)
        self.there |= index
        out = self.host(block)
        self.bound, self.there = before
        return out

    def launch(self, kernel: Kernel) -> Lines:
        """Write the kernel, and what launches it."""
        on_grid = kernel.axes[-MOST_AXES:]
        lengths = ", ".join(expression_text(affine.normal(_trips(axis))) for axis in on_grid)
        at = f"{kernel.name}[{lengths}]" if kernel.axes else f"{kernel.name}.by_one"
        lines = [self.new_cell(var) for var in kernel.sets if var not in kernel.reads]
        for made in kernel.scratch:
            dims = "".join(f"{expression_text(affine.normal(dim))}, " for dim in made.dims)
            lines.append(f"{made.array.name} = scratch({at}, ({dims}), np.{made.array.dtype.name})")
        lines += [f"{stack.name} = stack({at}, np.{stack.dtype.name})" for stack in kernel.stacks]
        given = self.write(kernel, on_grid)
        sums = [f"{var.name}={self.cell(var) if var in kernel.reads else var.name}" for var in kernel.sums]
        call = f"{at}({', '.join([*given, *sums])})"
        if sums:
            call = f"{', '.join(self.cell(var) for var in kernel.sums)} = {call}"
        return Lines("\n".join([*lines, call]), span=kernel.span)

    # --------------------------------------------------------------------------------------------------- a kernel

    def write(self, kernel: Kernel, on_grid: tuple[For, ...]) -> list[str]:
        """Write the definition; what it takes, as the host calls that."""
        errors = len(self.errors)
        summed = thread_sums(kernel, on_grid, self.names, self.memory)
        self.direct = () if summed is None else summed.arrays
        body, reads = self.reading_ahead(kernel, on_grid, summed)
        several = several_elements(kernel, on_grid, self.names, self.apart) if summed is None and not reads else None
        body = self.of_one_thread(kernel, body if several is None else several.body)
        taken = _taken(kernel)
        self.miss(kernel, taken)
        cells = {var.name: self.cell(var) for var in kernel.reads}
        given = [cells.get(name, name) for name in taken]
        given += [self.cell(var) for var in kernel.sets if var.name not in taken]
        reports = len(self.errors) > errors or bool(kernel.stacks)
        self.needs_status |= reports
        waits = self.may_have_failed and _may_never_end(kernel)
        self.may_have_failed |= reports
        given += ["status"] * (reports or waits)
        params = [*given, *(self.of(var, "parts") for var in kernel.sums)]
        added = [var for var in kernel.sums if var not in dict(kernel.extremes)]
        ahead = [f"{var.name} = {self.cell(var)}[0]" for var in kernel.reads if var not in added]
        ahead += [f"{var.name} = {zero(var)}" for var in added]
        ahead += [f"{stack.top} = 0" for stack in kernel.stacks]
        ahead = ["if status[0] != 0:\n    return"] * waits + ahead
        if kernel.by_rows:
            ahead += ["lane = cuda.threadIdx.x", "row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y"]
        elif kernel.scratch or kernel.stacks:
            ahead.append(f"thread = {_thread(on_grid, self.form.threads)}")
        behind = [f"{self.cell(var)}[0] = {var.name}" for var in kernel.sets]
        shared = self.shared(kernel)
        together = summed is not None and summed.beside is not None
        if kernel.sums or shared or together:
            ahead.insert(0, f"member = {_member(on_grid, kernel.by_rows)}")
        ahead += cleared(shared, self.form.threads)
        behind += flushed(shared, self.form.threads)
        behind += self.sums(kernel, on_grid)
        loops = self.over_the_grid(kernel, on_grid, body, summed, reads, several)
        whole = (*lines_of(ahead), *loops, *lines_of(behind))
        names = tuple(array.name for array in shared)
        places = {name: var for (var, _), name in self.known.items()}
        signature = self.signatures.of(kernel, params, places)
        name, sums, extremes = kernel.name, kernel.sums, kernel.extremes
        how_many = several.count if several else 1, together
        made = Definition(name, tuple(params), signature, sums, whole, names, kernel.by_rows, extremes, *how_many)
        self.kernels.append(made)
        first = {name: f"{array.name} if {text_of(asked)} else {name}" for asked, name, array in kernel.at_first}
        return [first.get(name, name) for name in given]

    def reading_ahead(self, kernel: Kernel, on_grid: tuple[For, ...], summed: ThreadSums | None) -> tuple[Block, Reads]:
        """An iteration, and what a thread reads ahead of several of them."""
        body = kernel.body if summed is None else summed.body
        if kernel.by_rows:
            return lanes_read_ahead(body, self.names.fresh, self.memory), ()
        if kernel.scratch or kernel.stacks or not (kernel.sums or self.shared(kernel) or summed is not None):
            return body, ()
        along = on_grid[-1] if summed is None else summed.axis
        reads, body = read_ahead(body, along.index, self.names.fresh, self.memory)
        return body, reads

    def over_the_grid(
        self,
        kernel: Kernel,
        on_grid: tuple[For, ...],
        body: Block,
        summed: ThreadSums | None = None,
        reads: Reads = (),
        several: Several | None = None,
    ) -> Block:
        """The loops over the grid, around one iteration.

        Where threads have nothing of their own, there are as many as iterations along the innermost axis: that is a
        condition, not a loop, for which LLVM would count the trips of each thread by a division.  And an index that is
        known not to be negative is one that Numba need not wrap.
        """
        count = len(on_grid)
        shares = kernel.sums or self.shared(kernel) or summed is not None
        once = not (shares or kernel.scratch or kernel.stacks or kernel.by_rows)
        innermost = summed.axis if summed else on_grid[-2:][0] if several else None
        inward = [axis for axis in on_grid if axis is not innermost]
        for axis in ([innermost] if innermost else []) + inward[::-1]:
            name, step = axis.index.name, int(axis.step.value)  # type: ignore[attr-defined]
            first, stride = self.along(axis, count, kernel.by_rows)
            scaled = {1: "{}", -1: "-{}"}.get(step, f"{step} * {{}}")
            start = "" if affine.same(axis.start, affine.ZERO) and step > 0 else f"({text_of(axis.start)}) + "
            goes_on: Expr = Call("lt" if step > 0 else "gt", (axis.index, said(axis.stop, None)), BOOL)
            if summed is not None and axis is summed.beside:  # they meet in the loop
                goes_on = Call("lt", (Call("sub", (axis.index, BESIDE), INT64), said(axis.stop, None)), BOOL)
            if once and step > 0:
                goes_on = inside(axis.index, axis.start, goes_on)
            if several and axis is innermost:
                index = start + (scaled if step == 1 else scaled.format("({})"))
                form = several.in_form(partial(self.of_one_thread, kernel), body)
                body = over_elements(form, self.elements(several, axis, count, index), goes_on, once and count == 1)
                continue
            if once and axis is on_grid[-1]:
                turns: Block = (If(goes_on, body),)
            elif reads:
                known = inside(axis.index, axis.start, goes_on) if step > 0 else goes_on
                ahead = Var(self.of(axis.index, "ahead"), INT64)
                turns = in_turns(axis.index, ahead, scaled.format(stride), goes_on, known, reads, body)
                reads = ()
            else:
                turns = (While(axis.index, goes_on, (*body, Lines(f"{name} += {scaled.format(stride)}"))),)
            body = (Lines(f"{name} = {start}{scaled.format(first)}"), *turns)
            if summed is not None and axis is summed.axis:
                body = self.with_totals(kernel, body, goes_on, summed, axis is on_grid[-1])
        for axis in reversed(kernel.axes[: len(kernel.axes) - count]):
            first_one, last_one = said(axis.start, None), said(axis.stop, None)
            body = (replace(axis, start=first_one, stop=last_one, body=body),)
        if count < 2:
            return body
        firsts = ", ".join(self.of(axis.index, "first") for axis in reversed(on_grid))
        steps = ", ".join(self.of(axis.index, "step") for axis in reversed(on_grid))
        return (Lines(f"{firsts} = cuda.grid({count})"), Lines(f"{steps} = cuda.gridsize({count})"), *body)

    def elements(self, several: Several, axis: For, axes: int, index: str) -> Elements:
        """Where there are rows, a thread takes some below each other, whose neighbours it has at hand; else threads of
        a block lie beside each other in each turn."""
        begin, count, threads = self.of(axis.index, "begin"), several.count, self.form.threads
        if axes == 1:
            block = count * threads
            first, stride = f"cuda.blockIdx.x * {block} + cuda.threadIdx.x", f"cuda.gridDim.x * {block}"
            return Elements(axis, begin, first, stride, threads, index)
        first, step = self.of(axis.index, "first"), self.of(axis.index, "step")
        return Elements(axis, begin, f"{count} * {first}", f"{count} * {step}", 1, index)

    def with_totals(self, kernel: Kernel, turns: Block, goes_on: Expr, summed: ThreadSums, in_warp: bool) -> Block:
        """The turns of a thread along an axis, between the start of its sums and what they are added to."""
        runs = Var(self.names.fresh("runs"), BOOL)
        if summed.beside is not None:
            j = summed.beside
            goes_on = both(inside(j.index, j.start, Call("lt", (j.index, said(j.stop, None)), BOOL)), goes_on)
        ahead = [Lines(f"{total.name} = {zero(total)}") for total in summed.totals]
        joined = lines_of(list(within_warp(summed.totals, runs)) if in_warp and self.form.shuffles else [])
        added = If(runs, self.of_one_thread(kernel, summed.added))
        common = self.of_one_thread(kernel, summed.ahead)
        if summed.beside is not None:
            shared = tuple((total, self.of(total, "shared")) for total in summed.totals)
            joined = lines_of(list(within_block(shared, runs, self.form.threads)))
            return (*ahead, turns[0], Assign(runs, goes_on), If(runs, (*common, *turns[1:])), *joined, added)
        return (*ahead, *common, turns[0], Assign(runs, goes_on), *turns[1:], *joined, added)

    def along(self, axis: For, count: int, by_rows: str) -> tuple[str, str]:
        """The first iteration of a thread, and how far it is to the next."""
        if by_rows:
            return "row", "cuda.gridDim.x * cuda.blockDim.y"
        if count == 1:
            return "cuda.grid(1)", "cuda.gridsize(1)"
        return self.of(axis.index, "first"), self.of(axis.index, "step")

    def sums(self, kernel: Kernel, on_grid: tuple[For, ...]) -> list[str]:
        """What the threads of a block have added up is one number per block."""
        if not kernel.sums:
            return []
        block = _block(on_grid)
        lines: list[str] = []
        ops = dict(kernel.extremes)
        for var in kernel.sums:
            shared, part = self.of(var, "shared"), f"{self.of(var, 'parts')}[{block}]"
            if var in ops or not self.form.shuffles:
                lines += by_halves(var, shared, part, self.form.threads, ops.get(var, "add"))
            else:
                lines += by_shuffles(var, shared, part, self.form.threads)
        return lines

    # ------------------------------------------------------------------------------------------- one iteration

    def of_one_thread(self, kernel: Kernel, body: Block) -> Block:
        private = {made.array.name for made in kernel.scratch}
        shared = self.shared(kernel)
        by_rows = kernel.by_rows

        def own(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.array.name in private:
                return replace(expr, array=_own(expr.array, by_rows), index=_own_index(expr.index, by_rows))
            return expr

        def span_of(stmt: Stmt) -> Span | None:
            return stmt.span or kernel.span or self.somewhere

        def change(stmt: Stmt) -> tuple[Stmt, ...]:
            stmt = map_expressions(stmt, lambda expr: said(rewrite(expr, own), span_of(stmt)))
            match stmt:
                case AddTo(value=value) | AtomicAdd(value=value) if value.dtype.kind == "c":
                    raise refused_complex(span_of(stmt))
                case Store(array=array, index=index) if array.name in private:
                    return (replace(stmt, array=_own(array, by_rows), index=_own_index(index, by_rows)),)
                case Lanes():
                    return together(stmt, by_rows, self.form, self.anew if stmt.held else self.of)
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
                    self.errors.append(stmt)
                    return (Lines(raising(stmt, len(self.errors))),)
            return (stmt,)

        # what they share is written again in the next row
        behind = (self.form.meet(by_rows),) if any(isinstance(s, Lanes) and s.held for s in body) else ()
        return meeting_once((*rewrite_block(body, change), *behind))


def _reports(stmt: Stmt) -> bool:
    """Is it a kernel that may stop with an error?"""
    return isinstance(stmt, Kernel) and (bool(stmt.stacks) or any(isinstance(s, Raise) for s in statements(stmt.body)))


def _may_never_end(kernel: Kernel) -> bool:
    """May a thread go on for ever, or anywhere, where memory holds what a kernel that stopped has left there?"""
    inside = tuple(statements(kernel.body))
    numbers = (load for stmt in inside for expr in expressions(stmt) for load in loads(expr))
    return any(isinstance(s, While) for s in inside) or any(load.array.dtype.kind in "iu" for load in numbers)


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


def _trips(axis: For) -> Expr:
    step = int(axis.step.value)  # type: ignore[attr-defined]
    length = affine.sub(axis.stop, axis.start) if step > 0 else affine.sub(axis.start, axis.stop)
    return length if abs(step) == 1 else affine.floordiv(affine.add(length, affine.integer(abs(step) - 1)), abs(step))


def _taken(kernel: Kernel) -> list[str]:
    """Names that a kernel takes from around it, in the order of their use."""
    made = {LANE.name, TURN.name, *(axis.index.name for axis in kernel.axes), *(var.name for var in kernel.sums)}
    found: dict[str, None] = {}
    for axis in kernel.axes:
        found |= dict.fromkeys(_named(axis.start, axis.stop))
    for stmt in statements(kernel.body):
        target = written(stmt)
        items = target if isinstance(target, tuple) else (target,)
        if isinstance(stmt, (Alloc, View, LocalArray)):
            made.add(stmt.array.name)
        elif not (isinstance(stmt, AddTo) and isinstance(stmt.target, Var)):
            made |= {item.name for item in items if isinstance(item, Var)}
        found |= dict.fromkeys(_named(*expressions(stmt)))
        found |= dict.fromkeys(a.name for a in arrays_read(stmt))
        found |= dict.fromkeys(item.name for item in items if isinstance(item, (Var, Array)))
        if isinstance(stmt, (Push, Pop)):
            found[stmt.stack.name] = None
    reads = {var.name for var in kernel.reads}
    first = {name for name in reads if name in found}
    return [name for name in found if name not in made or name in first]


def _shape(made: Alloc) -> str:
    return f"({''.join(f'{expression_text(affine.normal(dim))}, ' for dim in made.dims)})"


def _handles(stmt: Stmt) -> tuple[Array, ...]:
    return (stmt.array,) if isinstance(stmt, View) else ()


def _stand_in(item: Var | Array) -> str:
    """What a kernel is handed where it has no use for it."""
    if isinstance(item, Var):
        return f"{item.name} = {expression_text(Const(item.dtype.type(0).item(), item.dtype))}"
    return f"{item.name} = empty(({'0, ' * item.ndim}), np.{item.dtype.name})"


def _named(*exprs: Expr) -> Iterator[str]:
    for expr in exprs:
        for node in subexpressions(expr):
            if isinstance(node, Var):
                yield node.name
            elif isinstance(node, Dim):
                yield node.array
            elif isinstance(node, Load):
                yield node.array.name


__all__ = ["Form", "with_kernels"]
