"""Parts of a loop that passes one number on, which its iterations shift, and hold between bounds.

    for i in range(n):                 for part: a[part], low[part], high[part], at_nan[part] = …
        w = max(w + x[i], 0.0)    →    for part: w_start[part] = w; w = min(max(w + a[part], low[part]), high[part])
        y[i] = w                       for part: w = w_start[part]; …      the loop, over the part

Several such steps are one of the kind: a is the sum of what they add, low what they make of -inf, and high what they
make of inf.  A greatest so far, a queue, a store with a capacity.  What a part makes of nan is kept as well, for a nan
may be passed over or not.  Where the sum is no number, what comes out is found by going through the part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...analysis.affine_steps import AffineSteps
from ...analysis.extremes import PYTHONS, without_comments
from ...analysis.lives import is_private
from ...ir.expressions import BOOL, Array, Call, Const, Expr, Var, compare, select
from ...ir.nodes import AddTo, Assign, Block, For, If, Stmt, Store
from ...ir.walk import blocks, expressions, numbers_set, substituted, variables, with_blocks
from .in_parts import LoopInParts, number

UP, DOWN = ("maximum", "max", "clip_low"), ("minimum", "min", "clip_high")


@dataclass(frozen=True)
class ClippedSteps:
    """`needed`: the statements that make the number anew.  `shift`: for each, what adds up what it adds, if any do.

    `ends`: the roles of what it is made of beside that: "low", "high", and "at_nan".  `depends`: what is made of it.
    """

    needed: Block
    shift: tuple[Block, ...]
    ends: tuple[str, ...]
    depends: frozenset[Var]


def clipped_steps(steps: AffineSteps) -> ClippedSteps | None:
    """The steps, if they only shift one number, and hold it between bounds."""
    if len(steps.carried) != 1:
        return None
    (carried,) = steps.carried
    found = _Found(steps.depends, carried.dtype)
    shift = tuple((found.statement(stmt),) for stmt in steps.needed)
    if found.is_other or (found.is_shifted and carried.dtype.kind != "f"):  # whole numbers go around at their ends
        return None
    ends = [role for role, is_there in (("low", found.is_raised), ("high", found.is_lowered)) if is_there]
    ends += ["at_nan"] if carried.dtype.kind == "f" else []
    return ClippedSteps(steps.needed, shift if found.is_shifted else (), tuple(ends), steps.depends)


class _Found:
    """Goes through the statements that make a number anew, and says what they add to it."""

    def __init__(self, depends: frozenset[Var], dtype: np.dtype) -> None:
        self.depends, self.dtype = depends, dtype
        self.is_raised = self.is_lowered = self.is_shifted = self.is_other = False
        self.asked: dict[Var, Expr] = {}  # what names of questions stand for, as long as nothing of it changes

    def statement(self, stmt: Stmt) -> Stmt:
        stmt = (isinstance(stmt, If) and self.chosen_by(stmt)) or stmt
        set_here = numbers_set((stmt,))
        self.asked = {var: asked for var, asked in self.asked.items() if not variables(asked) & set_here}
        if not set_here & self.depends:
            return stmt
        if isinstance(stmt, Assign) and stmt.var.dtype == BOOL:
            self.asked[stmt.var] = stmt.value
            return Assign(stmt.var, Const(False, BOOL))  # whoever asks it is said by its bound, or is of another kind
        if isinstance(stmt, Assign):
            self.is_other |= stmt.var.dtype != self.dtype
            return Assign(stmt.var, self.chosen(stmt.value))
        if isinstance(stmt, AddTo):
            assert isinstance(stmt.target, Var)
            self.is_other |= stmt.target.dtype != self.dtype
            return Assign(stmt.target, self.added(stmt.target + stmt.value))
        own = set_here - self.depends  # is found anew for every role
        self.is_other |= not all(map(self.is_free, expressions(stmt))) or not all(is_private(v, (stmt,)) for v in own)
        return with_blocks(stmt, tuple(tuple(map(self.statement, block)) for block in blocks(stmt)))

    def chosen_by(self, stmt: If) -> Assign | None:
        """`if w < 0.0: w = 0.0` is w = 0.0 if w < 0.0 else w."""
        asked = self.asked.get(stmt.condition, stmt.condition)  # type: ignore[call-overload]
        match without_comments(stmt.then), without_comments(stmt.orelse):
            case (Assign(var=var, value=taken),), ():
                found = Call("select", (asked, taken, var), var.dtype)
            case (Assign(var=var, value=taken),), (Assign(var=same, value=other),) if same == var:
                found = Call("select", (asked, taken, other), var.dtype)
            case _:
                return None
        return Assign(var, found) if self.holds(found) else None

    def holds(self, expr: Expr) -> bool:
        """Is it the greater or the less one of the number and a bound, by a question: `0.0 if w < 0.0 else w`?"""
        match expr:
            case Call(op="select", args=(Call(op="lt" | "le" | "gt" | "ge" as op, args=(x, y)), taken, other)):
                if {taken, other} != {x, y} or self.is_free(x) == self.is_free(y):
                    return False
                is_raised = (op in ("gt", "ge")) == (taken == x)
                is_dropped = self.is_free(other)  # a bound that is nan is what comes out, whatever the number was
                self.is_raised |= is_raised or is_dropped
                self.is_lowered |= not is_raised or is_dropped
                return True
        return False

    def is_free(self, expr: Expr) -> bool:
        return not variables(expr) & self.depends

    def added(self, expr: Expr) -> Expr:
        """What has been added to the number in an expression that is made of it."""
        match expr:
            case Var() if expr in self.depends:
                return expr
            case Call(op="add", args=(x, y)) if self.is_free(y):
                self.is_shifted = True
                return self.added(x) + y
            case Call(op="add", args=(y, x)) if self.is_free(y):
                self.is_shifted = True
                return self.added(x) + y
            case Call(op="sub", args=(x, y)) if self.is_free(y):
                self.is_shifted = True
                return self.added(x) - y
            case Call(op=op, args=(x, y)) if op in (*UP, *DOWN) and self.is_free(x) != self.is_free(y):
                is_dropped = self.is_free(x) and op in PYTHONS  # what was nan is this bound, whatever it was before
                self.is_raised |= op in UP or is_dropped
                self.is_lowered |= op in DOWN or is_dropped
                return self.added(y if self.is_free(x) else x)
            case Call(op="select", args=(condition, x, y)) if self.is_free(condition):
                return select(condition, self.chosen(x), self.chosen(y))
            case Call(op="select", args=(_, x, y)) if self.holds(expr):
                return self.added(y if self.is_free(x) else x)
        self.is_other = True
        return expr

    def chosen(self, expr: Expr) -> Expr:
        """The same, where it may be a number that has nothing to do with it: then its bounds are that number."""
        if self.is_free(expr):
            self.is_raised = self.is_lowered = True
            return number(expr, 0)
        return self.added(expr)


@dataclass(frozen=True)
class Ends:
    """What every part adds (None: nothing), and what it makes of the ends of numbers, by their roles."""

    shift: Array | None
    ends: dict[str, Array]


class ClippedInParts(LoopInParts[ClippedSteps, Ends]):
    """A loop of such steps, in parts."""

    def found(self) -> tuple[Ends, tuple[Array, ...], For]:
        (carried,) = self.carried
        steps = self.plainly
        runs: dict[str, tuple[Block, ...]] = dict.fromkeys(steps.ends, tuple((stmt,) for stmt in steps.needed))
        runs |= {"shift": steps.shift} if steps.shift else {}
        renamed = {role: {v: Var(self.names.fresh(v.name), v.dtype) for v in steps.depends} for role in runs}
        body: list[Stmt] = []
        for k, stmt in enumerate(steps.needed):
            if not numbers_set((stmt,)) & steps.depends:
                body.append(stmt)
                continue
            for role, run in runs.items():
                body += substituted(run[k], renamed[role])
        arrays = {role: self.of_parts(f"{carried.name}_{role}", carried) for role in runs}
        first = tuple(Assign(renamed[role][carried], _first(role, carried)) for role in runs)
        last = tuple(
            Store(array, (self.part,), renamed[role][carried], checked=False, natural=True)
            for role, array in arrays.items()
        )
        shift = arrays.get("shift")
        ends = {role: array for role, array in arrays.items() if role != "shift"}
        return Ends(shift, ends), tuple(arrays.values()), self.over_parts((*first, self.within(tuple(body)), *last))

    def composed(self, made: Ends) -> tuple[ClippedSteps, Block]:
        (carried,) = self.carried
        then = Var(self.names.fresh(f"{carried.name}_then"), carried.dtype)
        more = None if made.shift is None else self.of_this_part(made.shift)
        ends = {role: self.of_this_part(array) for role, array in made.ends.items()}
        first = Assign(then, carried if more is None else carried + more)
        held: list[Stmt] = []
        for role, op in (("low", "ge"), ("high", "le")):
            if role in ends:
                held.append(Assign(then, select(Call(op, (then, ends[role]), BOOL), then, ends[role])))
        value = select(compare("eq", carried, carried), then, ends["at_nan"]) if "at_nan" in ends else then
        plainly: Block = (first, *held, Assign(carried, value))
        shift: tuple[Block, ...] = () if more is None else ((first,), *(() for _ in held), (Assign(carried, then),))
        steps = ClippedSteps(plainly, shift, self.plainly.ends, frozenset({carried, then}))
        if more is None:
            return steps, plainly
        suspect = Call("ne", (more - more, number(more, 0)), BOOL)
        return steps, (If(suspect, (self.within(self.advance),), plainly),)


def _first(role: str, like: Var) -> Expr:
    if role == "shift":
        return number(like, 0)
    if role == "at_nan":
        return number(like, np.nan)
    if like.dtype.kind == "f":
        return number(like, -np.inf if role == "low" else np.inf)
    ends = np.iinfo(like.dtype)
    return number(like, ends.min if role == "low" else ends.max)


__all__ = ["ClippedInParts", "ClippedSteps", "clipped_steps"]
