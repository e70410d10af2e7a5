"""Expressions and single statements as the text of a kernel.

raise ValueError("n is {n}")   →   if cuda.atomic.compare_and_swap(status, 0, 1) == 0:
                                       status[2] = n
                                   return
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import UnsupportedError
from ...ir import affine
from ...ir.expressions import Array, Call, Const, Expr, Span, Var
from ...ir.nodes import Block, Raise, Stack, Stmt
from ...ir.walk import rewrite
from ...rules.device import INSTEAD, spelling
from ..expressions import expression_text

SHUFFLED = tuple(map(np.dtype, (np.int32, np.int64, np.float32, np.float64)))  # what threads pass on to others
VALUES = 2  # where numbers of an error begin in the status of a program


@dataclass(frozen=True)
class Lines(Stmt):
    """Statements as text."""

    text: str


def lines_of(lines: list[str]) -> Block:
    return (Lines("\n".join(lines)),) if lines else ()


def chosen(op: str, dtype: np.dtype, x: str, y: str) -> str:
    """The greater or the lesser of two, as text."""
    return text_of(said(Call(op, (Var(x, dtype), Var(y, dtype)), dtype), None))


def said(expr: Expr, span: Span | None) -> Expr:
    """The expression in primitives that a device has."""

    def instead(node: Expr) -> Expr:
        if not isinstance(node, Call):
            return node
        if node.dtype.kind == "c" or any(arg.dtype.kind == "c" for arg in node.args):
            raise refused_complex(span)
        if node.op in INSTEAD:
            other = INSTEAD[node.op](*node.args)
            if other != node:
                return said(other, span)
        if spelling(node) is None:
            what = "a power of integers" if node.op == "pow" else node.op
            raise UnsupportedError(f"{what} does not run on a GPU", span=span, help=('use target="cpu"',))
        return node

    return rewrite(expr, instead)


def refused_complex(span: Span | None) -> UnsupportedError:
    return UnsupportedError("complex numbers do not run on a GPU yet", span=span, help=('use target="cpu"',))


def text_of(expr: Expr) -> str:
    return expression_text(said(affine.normal(expr), None), spelling)


def operand(expr: Expr) -> str:
    return f"({text_of(expr)})" if isinstance(expr, Call) else text_of(expr)


def of_lane(shuffle: str, var: Var) -> str:
    """What another lane of a warp has in a variable: what shuffles do not know goes as an integer."""
    name, kind = var.name, var.dtype
    if kind in SHUFFLED:
        return f"cuda.{shuffle}(0xFFFFFFFF, {name}, half)"
    signed = "np.int64" if kind.itemsize == 8 else "np.int32"
    return f"np.{kind.name}(cuda.{shuffle}(0xFFFFFFFF, {signed}({name}), half))"


def local_array(array: Array) -> str:
    """Memory of one thread; registers, where its length and all places in it are constants."""
    shape = ", ".join(map(text_of, array.dims))
    shape = f"({shape})" if array.ndim > 1 else shape
    return f"{array.name} = cuda.local.array({shape}, np.{array.dtype.name})"


def push(stack: Stack, value: str) -> str:
    return (
        f"if {stack.top} < {stack.name}.shape[0]:\n"
        f"    {stack.name}[{stack.top}, thread] = {value}\n"
        f"else:\n"
        f"    cuda.atomic.max(status, 1, {stack.top} + 1)\n"
        f"{stack.top} += 1"
    )


def pop(stack: Stack, name: str) -> str:
    zero = expression_text(Const(0, stack.dtype))
    place = f"{stack.name}[{stack.top}, thread]"
    return f"{stack.top} -= 1\n{name} = {place} if {stack.top} < {stack.name}.shape[0] else {zero}"


def raising(stmt: Raise, code: int) -> str:
    lines = [f"if cuda.atomic.compare_and_swap(status, 0, {code}) == 0:"]
    lines += [f"    status[{VALUES + k}] = {text_of(v)}" for k, v in enumerate(stmt.values) if v.dtype.kind in "iu"]
    return "\n".join([*(lines if len(lines) > 1 else [*lines, "    pass"]), "return"])
