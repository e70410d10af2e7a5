"""The host's part of a program: what it allocates, launches and fetches.

f_i, by a thread for each of i in range(0, n, 1):               y = empty((n,), np.float64)
    y[i] = x[i] * x[i]                                 →        s_cell = f_i[n](x, n, y, s=s)
    s += y[i]                                                   s = fetch(s_cell)

A number that kernels set or add up is a cell in the memory of the device, until the host asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from ...analysis.effects import names_of_its_own
from ...ir import affine
from ...ir.expressions import Array, Const, Expr, Var
from ...ir.nodes import (
    Alloc,
    Block,
    Comment,
    Fetch,
    For,
    Function,
    Kernel,
    NewStack,
    OwnCopy,
    Pop,
    Push,
    Put,
    Room,
    Seal,
    Stmt,
    View,
    While,
)
from ...ir.walk import arrays_read, blocks, expressions, loads, statements, targets, variables, with_blocks
from ...passes.gpu.clear_together import is_cleared, that_last
from ..expressions import expression_text
from ..views import view_text
from .kept_arrays import Kept
from .kernel_text import Lines, lines_of
from .kernels import Definition, Form, Kernels, of_grid, reports
from .last_block import with_last


def with_kernels(program: Function, form: Form) -> tuple[tuple[Definition, ...], Function]:
    """The kernels, and the host's part, on statements that are printed as they stand."""
    host = _Host(program, form)
    body, results = host.block(program.body), host.results(program.results)
    return tuple(host.definitions), replace(program, body=host.around(body), results=results)


class _Host:
    def __init__(self, program: Function, form: Form) -> None:
        self.program = program
        self.kernels = Kernels(program, form)
        self.cell = self.kernels.cell
        self.definitions: list[Definition] = []
        self.may_have_failed = False  # a kernel that was launched before
        self.on_device = program.info.extra["on_device"]
        self.stacks_of_device = program.info.extra["stacks_of_device"]
        self.bound: set[Var] = set()  # cells that there are, wherever the program has come from
        self.unset: dict[Var, None] = {}  # cells that something takes before they are set
        self.there = {param.name for param in program.params}  # names that the host has, in the same way
        self.missing: dict[str, None] = {}  # those that a kernel is handed, and it may not have
        kernels = [kernel for stmt in program.body for kernel in _kernels(stmt)]
        self.needs_status = any(map(reports, kernels))
        self.changing = {v for k in kernels for v in k.reads if v in (*k.sets, *k.sums)}  # whose cell stays the same
        self.kept = Kept(program)
        self.lasting = that_last(program)

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
        table = "".join(f"({error}, {message!r}, {count}), " for error, message, count in self.kernels.errors)
        return (Lines(f"status = new_status(({table}))"), *body, Lines("finish(status)"))

    def new_cell(self, var: Var, name: str | None = None) -> str:
        return f"{name or self.cell(var)} = cell(np.{var.dtype.name})"

    def take(self, *found: Var) -> None:
        self.unset |= dict.fromkeys(var for var in found if var not in self.bound)

    def miss(self, kernels: tuple[Kernel, ...], taken: list[str]) -> None:
        """Note what a kernel uses in a branch or a loop of its own alone, and the host may not have made."""
        sure = {name for k in kernels for part in (*k.axes, *k.body) for name in names_of_its_own(part)}
        own = {var.name for k in kernels for var in k.reads} | sure | self.there
        own |= {made.array.name for kernel in kernels for made in kernel.scratch}
        self.missing |= dict.fromkeys(name for name in taken if name not in own)

    def all_missing(self) -> Iterator[Var | Array]:
        seen: dict[str, Var | Array] = {}
        for stmt in statements(self.program.body):
            found: list[Var | Array] = [*targets(stmt), *arrays_read(stmt)]
            found += [var for expr in expressions(stmt) for var in variables(expr)]
            seen |= {item.name: item for item in found}
        return (seen[name] for name in self.missing if name in seen)

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for is_of_zeros, group in groupby(block, lambda stmt: is_cleared(stmt, self.lasting)):
            stmts = tuple(group)
            out += (self.zeros(stmts),) if is_of_zeros and len(stmts) > 1 else self.each(stmts)
        return tuple(out)

    def zeros(self, stmts: Block) -> Lines:
        """Arrays of zeros in one piece of memory."""
        made = [stmt for stmt in stmts if isinstance(stmt, Alloc)]
        self.there |= {stmt.array.name for stmt in made}
        forms = ", ".join(f"({_shape(stmt)}, np.{stmt.array.dtype.name})" for stmt in made)
        return Lines(f"{', '.join(stmt.array.name for stmt in made)} = zeros_together({forms})")

    def each(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt, last in with_last(block, self.kernels.memory):
            if not blocks(stmt):
                self.there |= {item.name for item in (*targets(stmt), *_handles(stmt))}
            match stmt:
                case Kernel():
                    out += map(Comment, _why_by_one(stmt))
                    out.append(self.launch(stmt, last))
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
                    self.may_have_failed |= isinstance(stmt, (For, While)) and any(map(reports, _kernels(stmt)))
                    index = {item.name for item in targets(stmt)}
                    out.append(with_blocks(stmt, tuple(self.inner(inner, index) for inner in blocks(stmt))))
                case _:
                    out.append(stmt)
        return tuple(out)

    def inner(self, block: Block, index: set[str]) -> Block:
        """A block that may run or not; in a loop it knows the index."""
        before = set(self.bound), set(self.there)
        self.there |= index
        out = self.block(block)
        self.bound, self.there = before
        return out

    def launch(self, kernel: Kernel, last: Kernel | None) -> Lines:
        """What launches the kernel, with all that it is handed."""
        parts = (kernel, *([last] if last else ()))
        self.take(*(var for part in parts for var in part.reads if part is kernel or var not in kernel.sums))
        lengths = ", ".join(expression_text(affine.normal(_trips(axis))) for axis in of_grid(kernel))
        at = f"{kernel.name}[{lengths}]" if kernel.axes else f"{kernel.name}.by_one"
        anew = [] if last is None else [v for v in last.sets if v in kernel.reads and v not in last.reads]
        new = [var for part in parts for var in part.sets if var not in (*part.reads, *kernel.sums, *anew)]
        lines = [*map(self.new_cell, new), *(self.new_cell(var, self.kernels.next_cell(var)) for var in anew)]
        for made in kernel.scratch:
            dims = "".join(f"{expression_text(affine.normal(dim))}, " for dim in made.dims)
            lines.append(f"{made.array.name} = scratch({at}, ({dims}), np.{made.array.dtype.name})")
        lines += [f"{stack.name} = stack({at}, np.{stack.dtype.name})" for stack in kernel.stacks]
        written = self.kernels.write(kernel, self.may_have_failed and _may_never_end(kernel), last, anew)
        self.definitions.append(written.definition)
        self.miss(parts, written.taken)
        self.may_have_failed |= reports(kernel)
        sums = [f"{var.name}={self.cell(var) if var in kernel.reads else var.name}" for var in kernel.sums]
        call = f"{at}({', '.join([*written.given, *sums])})"
        if sums:
            call = f"{', '.join(self.cell(var) for var in kernel.sums)} = {call}"
        self.bound |= {var for part in parts for var in (*part.sets, *part.sums)}
        lines += [call, *(f"{self.cell(var)} = {self.kernels.next_cell(var)}" for var in anew)]
        return Lines("\n".join(lines), span=kernel.span)


def _kernels(stmt: Stmt) -> Iterator[Kernel]:
    return (inner for inner in statements((stmt,)) if isinstance(inner, Kernel))


def _why_by_one(kernel: Kernel) -> Iterator[str]:
    """Why one thread goes through loops, where it does, and they may be long: it takes its time for that."""
    loops = [] if kernel.axes else [s for s in statements(kernel.body) if isinstance(s, (For, While))]
    spans = [loop.span for loop in loops if not (loop.is_ours or _is_short(loop))]
    lines = {span.line for span in spans if span is not None}
    if lines:
        numbers = ", ".join(map(str, sorted(lines)))
        which = f"the loop of line {numbers}" if len(lines) == 1 else f"the loops of lines {numbers}"
        yield f"one thread: iterations of {which} depend on each other, or are not known to be independent"


def _is_short(loop: For | While) -> bool:
    """Is it known ahead that there are few iterations?"""
    return isinstance(loop, For) and all(isinstance(end, Const) for end in (loop.start, loop.stop, loop.step))


def _may_never_end(kernel: Kernel) -> bool:
    """May a thread go on for ever, or anywhere, where memory holds what a kernel that stopped has left there?"""
    inside = tuple(statements(kernel.body))
    numbers = (load for stmt in inside for expr in expressions(stmt) for load in loads(expr))
    return any(isinstance(s, While) for s in inside) or any(load.array.dtype.kind in "iu" for load in numbers)


def _trips(axis: For) -> Expr:
    step = int(axis.step.value)  # type: ignore[attr-defined]
    length = affine.sub(axis.stop, axis.start) if step > 0 else affine.sub(axis.start, axis.stop)
    return length if abs(step) == 1 else affine.floordiv(affine.add(length, affine.integer(abs(step) - 1)), abs(step))


def _shape(made: Alloc) -> str:
    return f"({''.join(f'{expression_text(affine.normal(dim))}, ' for dim in made.dims)})"


def _handles(stmt: Stmt) -> tuple[Array, ...]:
    return (stmt.array,) if isinstance(stmt, View) else ()


def _stand_in(item: Var | Array) -> str:
    """What a kernel is handed where it has no use for it."""
    if isinstance(item, Var):
        return f"{item.name} = {expression_text(Const(item.dtype.type(0).item(), item.dtype))}"
    return f"{item.name} = empty(({'0, ' * item.ndim}), np.{item.dtype.name})"


__all__ = ["with_kernels"]
