"""Lengths that are compared after a write are compared at entry instead, where the arguments decide them.

x[0] += 1.0                                             if x.shape[0] != w.shape[0]: raise BroadcastError
if x.shape[0] != w.shape[0]: raise BroadcastError   →   x[0] += 1.0
…                                                       …

So nothing has been written yet when they differ, and other code can be tried: that tells whether the operation is
reached at all, and raises where it stands.  (Other code from the start has a copy for each operand of each operation.)
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ..ir import affine
from ..ir.expressions import BOOL, NEVER_FAIL, Array, Call, Const, Dim, Expr, Var
from ..ir.nodes import Alloc, Assign, Block, Function, Grow, If, Raise, Stmt
from ..ir.walk import blocks, rebuild, statements, targets, with_blocks
from .late_checks import TRIED_AGAIN


def check_early(function: Function) -> Function:
    known = _AtEntry(function)
    checks: dict[Expr, If] = {}  # by what they ask

    def without(block: Block) -> Block:
        nonlocal checks
        out: list[Stmt] = []
        for stmt in block:
            if blocks(stmt):
                early = _at_entry(stmt, known)
                if early is not None:
                    checks |= {check.condition: check for check in early if check.condition not in checks}
                    continue
                stmt = with_blocks(stmt, tuple(without(part) for part in blocks(stmt)))
            out.append(stmt)
        return tuple(out)

    body = without(function.body)
    return replace(function, body=(*checks.values(), *body))


def _at_entry(stmt: Stmt, known: _AtEntry) -> list[If] | None:
    """Comparisons of lengths that are made at entry, and fail at least where this one does."""
    match stmt:
        case If(condition=condition, then=(Raise(error=error, values=values) as problem,), orelse=()):
            if error not in TRIED_AGAIN:
                return None
            match condition:
                case Call(op="and", args=(_, Call(op="ne", args=(x, y)))) | Call(op="ne", args=(x, y)):
                    pairs = known.pairs(x, y) if len(values) == 2 else None
                    if pairs is not None:
                        return [_check(stmt, problem, Call("ne", pair, BOOL), pair) for pair in pairs]
            parts = [part for part in map(known.value, (condition, *values)) if part is not None]
            if len(parts) == 1 + len(values):
                return [_check(stmt, problem, parts[0], tuple(parts[1:]))]
    return None


def _check(stmt: If, problem: Raise, condition: Expr, values: tuple[Expr, ...]) -> If:
    return replace(stmt, condition=condition, then=(replace(problem, values=values),))


class _AtEntry:
    """What numbers will be, in terms of the lengths of arguments and of whole numbers among them."""

    def __init__(self, function: Function) -> None:
        self.params = frozenset(function.params)
        self.lengths = {param.name for param in function.params if isinstance(param, Array)}
        self.set_by: dict[Var | Array, list[Stmt]] = defaultdict(list)
        self.made: dict[str, list[Stmt]] = defaultdict(list)
        for stmt in statements(function.body):
            for target in targets(stmt):
                self.set_by[target].append(stmt)
            if isinstance(stmt, (Alloc, Grow)):
                self.made[stmt.array.name].append(stmt)
        self.answers: dict[Expr, Expr | None] = {}

    def value(self, expr: Expr) -> Expr | None:
        if expr not in self.answers:
            self.answers[expr] = None  # what depends on itself is not known
            self.answers[expr] = self._found(expr)
        return self.answers[expr]

    def _found(self, expr: Expr) -> Expr | None:
        match expr:
            case Const():
                return expr
            case Dim(array=name, axis=axis):
                match self.made.get(name, []):
                    case [] if name in self.lengths:
                        return expr
                    case [Alloc(dims=dims)]:
                        return self.value(dims[axis])
            case Var():
                match self.set_by.get(expr, []):
                    case []:
                        return expr if expr in self.params else None
                    case [Assign(value=value)] if expr not in self.params:
                        return self.value(value)
            case Call(op=op, args=args) if op in NEVER_FAIL:
                parts = [self.value(part) for part in args]
                return None if None in parts else rebuild(expr, tuple(parts))  # type: ignore[arg-type]
        return None

    def pairs(self, x: Expr, y: Expr) -> list[tuple[Expr, Expr]] | None:
        """Numbers that are known at entry: where those of each pair are equal, x and y are, in every iteration."""
        if affine.same(x, y):
            return []
        p, q = self.value(x), self.value(y)
        if p is not None and q is not None:
            return [(p, q)]
        lead = self.value(affine.sub(x, y))
        if lead is not None:
            return [(lead, affine.ZERO)]
        match x, y:
            case Call(op=f, args=xs), Call(op=g, args=ys) if f == g and f in NEVER_FAIL and len(xs) == len(ys):
                found = [self.pairs(*both) for both in zip(xs, ys, strict=True)]
                return None if None in found else [pair for some in found if some for pair in some]
        return None


__all__ = ["check_early"]
