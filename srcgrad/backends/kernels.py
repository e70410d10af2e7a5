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

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..errors import UnsupportedError
from ..ir import affine
from ..ir.nodes import (
    INT64,
    AddTo,
    Alloc,
    Array,
    Assign,
    AtomicAdd,
    Block,
    Call,
    Const,
    Dim,
    Expr,
    Fetch,
    For,
    Function,
    Kernel,
    Load,
    LocalArray,
    Pop,
    Push,
    Put,
    Raise,
    Span,
    Stack,
    Stmt,
    Store,
    Var,
    View,
    leaves,
)
from ..ir.walk import (
    arrays_read,
    blocks,
    expressions,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    with_blocks,
    written,
)
from ..rules.device import INSTEAD, spelling
from .python import body_text, expression_text

MOST_AXES = 3  # of a grid: more of them are loops in the thread
VALUES = 2  # where numbers of an error begin in the status of a program


@dataclass(frozen=True)
class Lines(Stmt):
    """Statements as text."""

    text: str


@dataclass(frozen=True)
class Form:
    """How kernels are written: how many threads make a block, and whether those of a warp may pass numbers."""

    threads: int = 256
    shuffles: bool = True


def with_kernels(program: Function, form: Form) -> tuple[tuple[ast.FunctionDef, ...], Function]:
    """The kernels, and the host's part, on statements that are printed as they stand."""
    writer = _Writer(program, form)
    body = writer.host(program.body)
    results = _results(program.results, program.info.extra["on_device"])
    return tuple(writer.kernels), replace(program, body=writer.around(body), results=results)


def _results(results: object, on_device: frozenset[Var]) -> object:
    if isinstance(results, tuple):
        return tuple(_results(part, on_device) for part in results)
    return Var(_cell(results)) if isinstance(results, Var) and results in on_device else results


def _cell(var: Var) -> str:
    return f"{var.name}_cell"


class _Writer:
    def __init__(self, program: Function, form: Form) -> None:
        self.program, self.form = program, form
        self.names = program.info.names
        self.kernels: list[ast.FunctionDef] = []
        self.errors: list[Raise] = []
        self.needs_status = False
        self.on_device = program.info.extra["on_device"]

    def around(self, body: Block) -> Block:
        """With the status that kernels report to, where one may."""
        if not self.needs_status:
            return body
        table = "".join(f"({e.error}, {e.message!r}), " for e in self.errors)
        return (Lines("status = new_status()"), *body, Lines(f"finish(status, ({table}))"))

    def host(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case Kernel():
                    out.append(self.launch(stmt))
                case Fetch(var=var):
                    out.append(Lines(f"{var.name} = fetch({_cell(var)})"))
                case Put(var=var):
                    out.append(Lines(f"{_cell(var)} = put({var.name}, np.{var.dtype.name})"))
                case _ if blocks(stmt):
                    out.append(with_blocks(stmt, tuple(map(self.host, blocks(stmt)))))
                case _:
                    out.append(stmt)
        return tuple(out)

    def launch(self, kernel: Kernel) -> Lines:
        """Write the kernel, and what launches it."""
        on_grid = kernel.axes[-MOST_AXES:]
        lengths = ", ".join(expression_text(affine.normal(_trips(axis))) for axis in on_grid)
        at = f"{kernel.name}[{lengths or 1}]"
        lines = [f"{_cell(var)} = cell(np.{var.dtype.name})" for var in kernel.sets if var not in kernel.reads]
        for made in kernel.scratch:
            dims = "".join(f"{expression_text(affine.normal(dim))}, " for dim in made.dims)
            lines.append(f"{made.array.name} = scratch({at}, ({dims}), np.{made.array.dtype.name})")
        lines += [f"{stack.name} = stack({at}, np.{stack.dtype.name})" for stack in kernel.stacks]
        given = self.write(kernel, on_grid)
        sums = [f"{var.name}={self.start(var)}" for var in kernel.sums]
        call = f"{at}({', '.join([*given, *sums])})"
        if sums:
            call = f"{', '.join(_cell(var) for var in kernel.sums)} = {call}"
        return Lines("\n".join([*lines, call]), span=kernel.span)

    def start(self, var: Var) -> str:
        return var.name if var in self.known_to_host else _cell(var)

    known_to_host: frozenset[Var] = frozenset()

    # --------------------------------------------------------------------------------------------------- a kernel

    def write(self, kernel: Kernel, on_grid: tuple[For, ...]) -> list[str]:
        """Write the definition; what it takes, as the host calls that."""
        errors = len(self.errors)
        body = self.of_one_thread(kernel)
        taken = _taken(kernel)
        given = [_cell(var) if (var := Var(name)).name in {v.name for v in kernel.reads} else name for name in taken]
        given += [_cell(var) for var in kernel.sets if var not in kernel.reads]
        reports = len(self.errors) > errors or bool(kernel.stacks)
        self.needs_status |= reports
        given += ["status"] * reports
        params = [*given, *(f"{var.name}_parts" for var in kernel.sums)]
        declared = f"({', '.join(f'{v.name}=np.{v.dtype.name}' for v in kernel.sums)})" if kernel.sums else ""
        lines = [f"@kernel{declared}", f"def {kernel.name}({', '.join(params)}):"]
        inner = [f"{var.name} = {_cell(var)}[0]" for var in kernel.reads]
        inner += [f"{var.name} = {_zero(var)}" for var in kernel.sums]
        inner += [f"{stack.top} = 0" for stack in kernel.stacks]
        inner += ["thread = cuda.grid(1)"] * bool(kernel.scratch or kernel.stacks)
        inner += self.loops(kernel, on_grid, body)
        inner += [f"{_cell(var)}[0] = {var.name}" for var in kernel.sets]
        inner += self.sums(kernel, on_grid)
        text = "\n".join([*lines, textwrap.indent("\n".join(inner or ["pass"]), "    ")])
        (definition,) = ast.parse(text).body
        assert isinstance(definition, ast.FunctionDef)
        self.kernels.append(definition)
        return given

    def loops(self, kernel: Kernel, on_grid: tuple[For, ...], body: str) -> list[str]:
        """The loops over the grid, around the body of one iteration."""
        in_thread = kernel.axes[: len(kernel.axes) - len(on_grid)]
        count = len(on_grid)
        lines: list[str] = []
        depth = 0
        add = lambda line: lines.append("    " * depth + line)
        if count > 1:
            names = [axis.index.name for axis in reversed(on_grid)]
            add(f"{', '.join(f'{name}_first' for name in names)} = cuda.grid({count})")
            add(f"{', '.join(f'{name}_step' for name in names)} = cuda.gridsize({count})")
        for axis in in_thread:
            add(f"for {axis.index.name} in range({', '.join(map(_text, (axis.start, axis.stop, axis.step)))}):")
            depth += 1
        ends: list[str] = []
        for axis in on_grid:
            name = axis.index.name
            first, stride = (f"{name}_first", f"{name}_step") if count > 1 else ("cuda.grid(1)", "cuda.gridsize(1)")
            step = int(axis.step.value)  # type: ignore[attr-defined]
            scaled = {1: "{}", -1: "-{}"}.get(step, f"{step} * {{}}")
            start = "" if affine.same(axis.start, affine.ZERO) and step > 0 else f"{_text(axis.start)} + "
            add(f"{name} = {start}{scaled.format(first)}")
            add(f"while {name} {'<' if step > 0 else '>'} {_text(axis.stop)}:")
            depth += 1
            ends.append("    " * depth + f"{name} += {scaled.format(stride)}")
        lines.append(textwrap.indent(body, "    " * depth))
        return [*lines, *reversed(ends)]

    def sums(self, kernel: Kernel, on_grid: tuple[For, ...]) -> list[str]:
        """What the threads of a block have added up is one number per block."""
        if not kernel.sums:
            return []
        many = len(on_grid) > 1
        position = "cuda.threadIdx.x"
        block = "cuda.blockIdx.x"
        if many:
            position += " + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)"
            block += " + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)"
        lines = [f"member = {position}"]
        for var in kernel.sums:
            lines += (_by_shuffles if self.form.shuffles else _by_halves)(var, self.form.threads, block)
        return lines

    # ------------------------------------------------------------------------------------------- one iteration

    def of_one_thread(self, kernel: Kernel) -> str:
        private = {made.array.name for made in kernel.scratch}
        thread = Var("thread", INT64)

        def own(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.array.name in private:
                return replace(expr, array=_with_thread(expr.array, thread), index=(*expr.index, thread))
            return expr

        def change(stmt: Stmt) -> tuple[Stmt, ...]:
            stmt = map_expressions(stmt, lambda expr: _said(rewrite(expr, own), stmt.span))
            match stmt:
                case Store(array=array, index=index) if array.name in private:
                    return (replace(stmt, array=_with_thread(array, thread), index=(*index, thread)),)
                case AtomicAdd(array=array, index=index, value=value):
                    at = expression_text(index[0]) if len(index) == 1 else f"({', '.join(map(_text, index))})"
                    return (Lines(f"cuda.atomic.add({array.name}, {at}, {_text(value)})"),)
                case LocalArray(array=array):
                    shape = ", ".join(map(_text, array.dims))
                    shape = f"({shape})" if array.ndim > 1 else shape
                    return (Lines(f"{array.name} = cuda.local.array({shape}, np.{array.dtype.name})"),)
                case Push(stack=stack, value=Expr() as value):
                    return (Lines(_push(stack, _text(value))),)
                case Pop(target=Var(name=name), stack=stack):
                    return (Lines(_pop(stack, name)),)
                case Raise():
                    self.errors.append(stmt)
                    return (Lines(_raise(stmt, len(self.errors))),)
            return (stmt,)

        return body_text(rewrite_block(kernel.body, change), spelling)


def _with_thread(array: Array, thread: Var) -> Array:
    return Array(array.name, array.dtype, (*array.dims, thread))


def _said(expr: Expr, span: Span | None) -> Expr:
    """The expression in primitives that a device has."""

    def instead(node: Expr) -> Expr:
        if not isinstance(node, Call):
            return node
        if node.dtype.kind == "c" or any(arg.dtype.kind == "c" for arg in node.args):
            raise UnsupportedError("complex numbers do not run on a GPU yet", span=span, help=('use target="cpu"',))
        if node.op in INSTEAD:
            return _said(INSTEAD[node.op](*node.args), span)
        if spelling(node) is None:
            raise UnsupportedError(f"{node.op} does not run on a GPU", span=span, help=('use target="cpu"',))
        return node

    return rewrite(expr, instead)


def _text(expr: Expr) -> str:
    return expression_text(affine.normal(expr), spelling)


def _trips(axis: For) -> Expr:
    step = int(axis.step.value)  # type: ignore[attr-defined]
    length = affine.sub(axis.stop, axis.start) if step > 0 else affine.sub(axis.start, axis.stop)
    return length if abs(step) == 1 else affine.floordiv(affine.add(length, affine.integer(abs(step) - 1)), abs(step))


def _zero(var: Var) -> str:
    return expression_text(Const(0, var.dtype))


def _by_shuffles(var: Var, threads: int, block: str) -> Iterator[str]:
    name, warps = var.name, threads // 32
    yield f"{name}_shared = cuda.shared.array({warps}, np.{var.dtype.name})"
    yield from _folded(name, 16)
    yield "if member % 32 == 0:"
    yield f"    {name}_shared[member // 32] = {name}"
    yield "cuda.syncthreads()"
    yield "if member < 32:"
    yield f"    {name} = {name}_shared[member] if member < {warps} else {_zero(var)}"
    yield from (f"    {line}" for line in _folded(name, warps // 2))
    yield "    if member == 0:"
    yield f"        {name}_parts[{block}] = {name}"


def _folded(name: str, half: int) -> Iterator[str]:
    yield f"half = {half}"
    yield "while half > 0:"
    yield f"    {name} += cuda.shfl_down_sync(0xFFFFFFFF, {name}, half)"
    yield "    half >>= 1"


def _by_halves(var: Var, threads: int, block: str) -> Iterator[str]:
    name = var.name
    yield f"{name}_shared = cuda.shared.array({threads}, np.{var.dtype.name})"
    yield f"{name}_shared[member] = {name}"
    yield f"half = {threads // 2}"
    yield "while half > 0:"
    yield "    cuda.syncthreads()"
    yield "    if member < half:"
    yield f"        {name}_shared[member] += {name}_shared[member + half]"
    yield "    half >>= 1"
    yield "if member == 0:"
    yield f"    {name}_parts[{block}] = {name}_shared[0]"


def _push(stack: Stack, value: str) -> str:
    return (
        f"if {stack.top} < {stack.name}.shape[0]:\n"
        f"    {stack.name}[{stack.top}, thread] = {value}\n"
        f"else:\n"
        f"    cuda.atomic.max(status, 1, {stack.top} + 1)\n"
        f"{stack.top} += 1"
    )


def _pop(stack: Stack, name: str) -> str:
    zero = expression_text(Const(0, stack.dtype))
    place = f"{stack.name}[{stack.top}, thread]"
    return f"{stack.top} -= 1\n{name} = {place} if {stack.top} < {stack.name}.shape[0] else {zero}"


def _raise(stmt: Raise, code: int) -> str:
    lines = [f"if cuda.atomic.compare_and_swap(status, 0, {code}) == 0:"]
    lines += [f"    status[{VALUES + k}] = {_text(v)}" for k, v in enumerate(stmt.values) if v.dtype.kind in "iu"]
    return "\n".join([*(lines if len(lines) > 1 else [*lines, "    pass"]), "return"])


def _taken(kernel: Kernel) -> list[str]:
    """Names that a kernel takes from around it, in the order of their use."""
    made = {axis.index.name for axis in kernel.axes} | {var.name for var in kernel.sums}
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


def _named(*exprs: Expr) -> Iterator[str]:
    for expr in exprs:
        for node in subexpressions(expr):
            if isinstance(node, Var):
                yield node.name
            elif isinstance(node, Dim):
                yield node.array
            elif isinstance(node, Load):
                yield node.array.name


__all__ = ["Form", "Lines", "with_kernels"]
