"""What depends on what with a derivative, and whether through constant partials alone."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.expressions import Array, Call, Const, Expr, Load, Var, is_inexact
from ..ir.nodes import Absorb, AddTo, Assign, Block, CopyTo, External, Library, Rule, Stmt, Store, Swap
from ..ir.walk import blocks
from ..rules.scalar import PRIMITIVES
from .roughness import CHOOSE

Edge = tuple[str, tuple[tuple[str, bool], ...], Stmt]  # target, (source, only linear on the way), where


def spread(start: set[str], edges: list[tuple[str, str]]) -> set[str]:
    found, work = set(start), list(start)
    ahead: dict[str, list[str]] = {}
    for source, target in edges:
        ahead.setdefault(source, []).append(target)
    while work:
        for target in ahead.get(work.pop(), ()):
            if target not in found:
                found.add(target)
                work.append(target)
    return found


def edges_of(block: Block, roots: dict[str, str]) -> Iterator[Edge]:
    for stmt in block:
        match stmt:
            case Assign(var=var, value=value) | AddTo(target=Var() as var, value=value):
                yield from _edge(var, value, stmt, roots)
            case Store(array=array, value=value) | AddTo(target=Load(array=array), value=value):
                yield from _edge(array, value, stmt, roots)
            case CopyTo(target=array, source=source) | Absorb(into=array, out=source):
                yield roots.get(array.name, array.name), ((roots.get(source.name, source.name), True),), stmt
            case Swap(left=left, right=right):
                yield left.name, ((right.name, True),), stmt
                yield right.name, ((left.name, True),), stmt
            case Library(args=args):
                read = [a for a in args if isinstance(a, (Array, Expr))]
                sources = tuple(s for a in read for s in sources_of(a, roots, False))
                for out in stmt.outs:
                    if is_inexact(out.dtype):
                        yield roots.get(out.name, out.name), sources, stmt
            case External(out=out, args=args):
                arrays = [a for a in args if isinstance(a, (Array, Expr))]
                found = tuple(s for a in arrays for s in sources_of(a, roots, False))
                if is_inexact(out.dtype):
                    yield roots.get(out.name, out.name), found, stmt
            case Rule(outputs=outputs, inputs=inputs):
                linear = stmt.name in CHOOSE
                found = tuple((s, clean and linear) for e in inputs for s, clean in sources_of(e, roots))
                for output in outputs:
                    if is_inexact(output.dtype):
                        yield roots.get(output.name, output.name), found, stmt
                continue
        for inner in blocks(stmt):
            yield from edges_of(inner, roots)


def _edge(target: Var | Array, value: Expr, stmt: Stmt, roots: dict[str, str]) -> Iterator[Edge]:
    if is_inexact(target.dtype):
        yield roots.get(target.name, target.name), tuple(sources_of(value, roots)), stmt


def sources_of(value: Expr | Array, roots: dict[str, str], linear: bool = True) -> Iterator[tuple[str, bool]]:
    """What an expression depends on with a derivative, and whether all partials on the way are constant."""
    match value:
        case Array(name=name):
            yield roots.get(name, name), linear
        case Var(name=name):
            if is_inexact(value.dtype):
                yield name, linear
        case Load(array=array):
            if is_inexact(value.dtype):
                yield roots.get(array.name, array.name), linear
        case Call(op=op, args=args):
            if not is_inexact(value.dtype):
                return
            for number, arg in enumerate(args):
                if differentiates(op, number):
                    yield from sources_of(arg, roots, linear and is_linear(value, number))


def differentiates(op: str, number: int) -> bool:
    """Does the result have a derivative by this operand that is not zero everywhere?"""
    if op not in PRIMITIVES:
        return False
    partials = PRIMITIVES[op].partials
    return partials is not None and partials[number] is not None


def is_linear(expr: Call, number: int) -> bool:
    """Is the partial by this operand a constant, so that a zero cotangent stays a zero of structure?"""
    match expr.op:
        case "add" | "sub" | "neg" | "pos" | "cast" | "real" | "imag" | "complex" | "conj":
            return True
        case "select":
            return number > 0
        case "mul":
            return isinstance(expr.args[1 - number], Const)
        case "div":
            return number == 0 and isinstance(expr.args[1], Const)
    return False


__all__ = ["Edge", "differentiates", "edges_of", "is_linear", "sources_of", "spread"]
