"""What is known of lengths: the least and the most that they can be, which agree, and what is computed at the entry.

x[:, 0:3]     is taken to have three columns: ahead of everything, a check raises where x has fewer
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import place
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Axis, Call, Const, Dim, Expr, Var, select
from ..ir.nodes import Assign, If, Raise, Stmt
from ..ir.walk import subexpressions, variables
from .statements import Statements

LONGEST_LENGTH = 24  # nodes of a length that is written out: one that is made of two others has as many as they
SHAPE_OPS = ("add", "sub", "mul", "neg", "maximum", "minimum", "floordiv")


class KnownLengths(Statements):
    """The part of a `Builder` that is about lengths."""

    REMEMBERED = (
        *Statements.REMEMBERED, "pinned", "lower", "upper", "positive", "common_lengths", "length_parts", "compatible",
        "checked_lengths", "conformed", "copied",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.pinned: set[Var] = set()  # part of a shape or a view: must never be assigned again
        self.lower: dict[Expr, int] = {}  # the least value of loop indices
        self.upper: dict[Expr, Expr] = {}  # the greatest
        self.positive: set[Var] = set()  # names of numbers that are 1 at least, as long as they are set once
        self.parameters: set[str] = set()  # what is handed in
        self.prologue: list[Stmt] = []  # what needs nothing but the arguments, ahead of everything
        self.known_at_entry: set[Var] = set()
        self.quotients: dict[tuple[Expr, Expr], Var] = {}  # of what arguments decide, which loops divide
        self.common_lengths: dict[frozenset[Expr], Var] = {}  # by the lengths that were broadcast together
        self.length_parts: dict[Expr, frozenset[Expr]] = {}
        self.compatible: set[frozenset[Expr]] = set()  # lengths found to fit on the way here
        self.checked_lengths: set[frozenset[Expr]] = set()  # lengths found equal at the top level
        self.stretch = False  # see `options.Options`
        self.equal_lengths = False  # lengths were taken to be equal
        self.taken_as_equal: list[tuple[Expr, Expr]] = []  # which
        self.cut = True  # see `options.Options`
        self.whole: dict[Expr, list[Expr]] = {}  # lengths → what they are at least, if slices are not cut short
        self.copied: list[Expr] = []  # how many numbers loops copy into rows, in lengths of arguments
        self.stretched: dict[str, Array] = {}  # operands that conform at run time, by name: what is stretched
        self.conformed: dict[Any, Array] = {}  # operands conformed at the top level, until they are written

    @contextmanager
    def nested(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        compatible = set(self.compatible)
        try:
            with super().nested(block):
                yield block
        finally:
            self.compatible = compatible

    def is_at_least(self, expr: Expr, bound: int) -> bool:
        """Provably expr >= bound, from the ranges of loop indices and from lengths being never negative."""
        return self._is_at_least(self.greatest(expr, -1), bound, frozenset())

    def _is_at_least(self, expr: Expr, bound: int, used: frozenset[Expr]) -> bool:
        terms, constant = affine.affine(expr)
        for term, count in terms:
            if count > 0 and term in self.whole and term not in used:  # it is what it is expected to be, and more
                least = [affine.add(expr, _times(count, affine.sub(low, term))) for low in self.whole[term]]
                if any(self._is_at_least(e, bound, used | {term}) for e in least):
                    return True
        for term, count in terms:
            least_of_term = self.lower.get(term, 0 if affine.is_at_least(term, 0) else None)
            if term in self.positive and term not in self.mutable:
                least_of_term = 1
            if count < 0 or least_of_term is None:
                return False
            constant += count * least_of_term
        return constant >= bound

    def greatest(self, expr: Expr, sign: int = 1) -> Expr:
        """The expression with the last values of loop indices, where those make it greater (or less: -1)."""
        for term, count in affine.affine(expr)[0]:
            if count * sign > 0 and term in self.upper:
                return self.greatest(affine.add(expr, _times(count, affine.sub(self.upper[term], term))), sign)
        return expr

    def expect_at_least(self, length: Expr, bound: Expr, otherwise: str) -> None:
        """From the entry on, a length that the arguments decide is taken to be this at least.

        `otherwise`: what is said where it is not, with both, if nothing can be done about it.
        """
        terms, constant = affine.affine(length)
        is_one_term = len(terms) == 1 and terms[0][1] == 1
        if self.cut or not is_one_term or not self.is_known_at_entry(length) or not self.is_known_at_entry(bound):
            return
        if isinstance(bound, Const) and bound.value <= 0:
            return  # there is an axis of this length
        if self.is_at_least(affine.sub(length, bound), 0) or self.is_at_least(affine.sub(bound, length), 1):
            return  # it is, or it is not
        term, beyond = terms[0][0], affine.integer(constant)
        for earlier in [stmt for stmt in self.prologue if _is_short(stmt, length)]:
            less: Expr = earlier.condition.args[1]  # type: ignore[attr-defined]
            lead = self.greatest(affine.sub(bound, less), -1)
            if self._is_at_least(lead, 0, frozenset((term,))):  # without what the earlier check itself says
                self.prologue.remove(earlier)
                self.whole[term].remove(affine.sub(less, beyond))
        short = Raise("ShortAxisError", otherwise + place(self.span), (bound, length))
        self.prologue.append(If(Call("lt", (length, bound), BOOL), (short,), span=self.span))
        self.whole.setdefault(term, []).append(affine.sub(bound, beyond))

    def expect_equal(self, x: Expr, y: Expr, otherwise: str) -> bool:
        """From the entry on, two lengths are taken to be equal: False where that can't be told there, or is not so."""
        if affine.same(x, y):
            return True
        is_known = self.is_known_at_entry(x) and self.is_known_at_entry(y)
        if self.cut or not is_known or affine.difference(x, y) is not None:
            return False
        if (pair := frozenset((x, y))) not in self.checked_lengths:
            differ = Raise("ShortAxisError", otherwise + place(self.span), (x, y))
            self.prologue.append(If(Call("ne", (x, y), BOOL), (differ,), span=self.span))
            self.checked_lengths.add(pair)
            self.whole.setdefault(x, []).append(y)
            self.whole.setdefault(y, []).append(x)
        return True

    def taken_whole(self) -> tuple[tuple[Expr, Expr], ...]:
        """Lengths, and what they were taken to be at least."""
        return tuple((length, least) for length, every in self.whole.items() for least in every)

    def is_known_at_entry(self, expr: Expr) -> bool:
        """Is it made of lengths of arguments alone?"""
        return all(
            isinstance(node, (Const, Call))
            or node in self.known_at_entry
            or (isinstance(node, Dim) and node.array in self.parameters)
            for node in subexpressions(expr)
        )

    def quotient_at_entry(self, x: Expr, y: Expr) -> Expr | None:
        """x // y of whole numbers that the arguments decide, computed at the entry; 0 where y is 0, as in any loop."""
        if isinstance(y, Const) or not all(map(self._is_decided_by_arguments, (x, y))):
            return None
        if (x, y) not in self.quotients:
            is_zero = Call("eq", (y, affine.ZERO), BOOL)
            self.quotients[x, y] = self.at_entry(
                "quotient", select(is_zero, affine.ZERO, Call("floordiv", (x, y), INT64))
            )
        return self.quotients[x, y]

    def _is_decided_by_arguments(self, expr: Expr) -> bool:
        atoms = (node for node in subexpressions(expr) if not isinstance(node, (Const, Call)))
        return expr.dtype == INT64 and all(
            atom in self.known_at_entry
            or (isinstance(atom, Dim) and atom.array in self.parameters)
            or (isinstance(atom, Var) and atom.name in self.parameters and atom not in self.mutable)
            for atom in atoms
        )

    def at_entry(self, name: str, value: Expr) -> Var:
        """A fresh variable that has the value from the entry of the function on."""
        var = Var(self.names.fresh(name), value.dtype)
        self.prologue.append(Assign(var, value, span=self.span))
        self.known_at_entry.add(var)
        return var

    def pin(self, expr: Expr, name: str = "n") -> Expr:
        """An integer that a shape or a view may be made of: sums of lengths stay readable, the rest is captured."""
        expr = affine.normal(expr)
        nodes = list(subexpressions(expr))
        atoms = [node for node in nodes if not isinstance(node, Call)]
        steady = all(isinstance(a, (Const, Dim, Axis)) or (isinstance(a, Var) and a not in self.mutable) for a in atoms)
        if not steady or any(isinstance(n, Call) and n.op not in SHAPE_OPS for n in nodes):
            expr = self.variable(name, expr)
        elif len(nodes) > LONGEST_LENGTH and not any(isinstance(a, Axis) for a in atoms):
            is_length = self.is_at_least(expr, 0)
            expr = self.variable(name, expr)
            if is_length:
                self.lower[expr] = 0
        self.pinned |= variables(expr)
        return expr

    def is_length(self, expr: Expr) -> bool:
        """Is it a sum of lengths, which stays what it is and is worth knowing as such?"""
        parts = list(subexpressions(expr))
        return expr.dtype == INT64 and all(
            isinstance(node, (Const, Dim))
            or (isinstance(node, Call) and node.op in ("add", "sub", "mul", "maximum", "minimum"))
            or (isinstance(node, Var) and node in self.pinned and node not in self.mutable)
            for node in parts
        )


def _is_short(stmt: Stmt, length: Expr) -> bool:
    """Is it the check that an axis of this length ends where a slice does, or behind it?"""
    match stmt:
        case If(condition=Call(op="lt", args=(asked, _)), then=(Raise("ShortAxisError"),)):
            return affine.same(asked, length)
    return False


def _times(count: int, expr: Expr) -> Expr:
    return affine.mul(affine.integer(count), expr)
