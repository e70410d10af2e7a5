"""Appends IR: statements with their place in the user's file, numbers under fresh names, and errors at that place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ..errors import SrcgradError, UnsupportedError
from ..ir.expressions import INT64, Const, Dim, Expr, Span, Var
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, ForEach, Stmt
from ..ir.walk import subexpressions, targets, with_fields
from .reduced_before import ReducedBefore
from .values import is_unusable

PLAIN_HELP = "write it with NumPy expressions, loops and branches, or keep it out of the differentiated function"


class Statements:
    """The lowest part of a `Builder`."""

    # what another try at a loop finds as it was ahead of the loop
    REMEMBERED: tuple[str, ...] = ("block", "mutable", "depth", "changes")

    def __init__(self) -> None:
        self.names = Names()
        self.block: list[Stmt] = []
        self.span: Span | None = None
        self.mutable: set[Var] = set()  # assigned more than once: read them now or copy them
        self.depth = 0  # of loops and branches
        self.changes: dict[str, int] = {}  # how often memory was written, and variables
        self.either: set[Expr] = set()  # Python's numbers on one path, NumPy's on another, and what is made of them
        self.masks: dict[Any, Any] = {}  # where masks hold, until anything is written
        self.reduced = ReducedBefore()  # so are sums, and what is greatest and least
        self.watches: list[Any] = []  # the `try` statements whose bodies are probed, from the outermost on

    @property
    def is_top_level(self) -> bool:
        return self.depth == 0

    @contextmanager
    def nested(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Statements go to the block of a loop or a branch."""
        self.depth += 1
        self.forget_contents()
        try:
            with self.into(block):
                yield block
        finally:
            self.forget_contents()
            self.depth -= 1

    def forget_contents(self) -> None:
        """Nothing that was found of what arrays hold may be used any more."""
        self.masks.clear()
        self.reduced.clear()

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Statements go to `block` for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def emit(self, stmt: Stmt) -> None:
        stmt = with_fields(stmt, {"span": self.span}) if stmt.span is None else stmt
        for watch in reversed(self.watches):  # ahead of all else: what it refuses is no `raise` of the program's
            if watch.see(stmt):
                break
        self.block.append(stmt)
        if isinstance(stmt, (Assign, AddTo)):
            self.note_assigned(*(target for target in targets(stmt) if isinstance(target, Var)))
        if self.either and isinstance(stmt, (Assign, AddTo)) and self.is_either(stmt.value):
            self.either |= {target for target in targets(stmt) if isinstance(target, Var)}

    def note_assigned(self, *variables: Var) -> None:
        """Another number by this name."""
        for var in variables:
            if var in self.mutable:
                self.changes[var.name] = self.changes.get(var.name, 0) + 1

    def is_either(self, expr: Expr) -> bool:
        """May it be one of Python's numbers, or one of NumPy's?"""
        return bool(self.either) and any(part in self.either for part in subexpressions(expr))

    def would_catch(self, error: type[BaseException]) -> bool:
        """Does it matter here whether Python raises this?"""
        return any(watch.catches(error) is not None for watch in self.watches)

    def refuse(
        self, message: str, *help: str, error: type[SrcgradError] = UnsupportedError, because: str = ""
    ) -> NoReturn:
        if not help and error is UnsupportedError:
            help = (PLAIN_HELP,)
        problem = error(message, span=self.span, help=tuple(help), because=because)
        problem.depth = self.depth
        raise problem

    def refuse_unusable(self, value: Any, what: str | ast.expr = "") -> None:
        """What may only be held under a name is read: where the name is known, `what`."""
        if is_unusable(value):
            what = ast.unparse(what) if isinstance(what, ast.expr) else what
            here, self.span = self.span, value.value.span or self.span
            try:
                self.refuse(f"{what or value.value.name.lstrip('.')} {value.value.how}", *value.value.helps)
            except UnsupportedError as error:
                error.unusable = value.value  # type: ignore[attr-defined]
                raise
            finally:
                self.span = here

    def variable(self, name: str, value: Expr) -> Var:
        """A fresh variable that holds the value from here on."""
        var = Var(self.names.fresh(name), value.dtype)
        self.emit(Assign(var, value))
        return var

    def capture(self, expr: Expr, name: str = "t") -> Expr:
        """The value that the expression has now, whatever is assigned later: a constant or a variable set once."""
        if isinstance(expr, (Const, Dim)) or (isinstance(expr, Var) and expr not in self.mutable):
            return expr
        return self.variable(name, expr)

    def each(
        self,
        dims: tuple[Expr, ...],
        body: Callable[[tuple[Expr, ...]], list[Stmt] | Stmt],
        running: bool = False,
    ) -> None:
        """A statement for every index, one after the other where it is `running`; along an axis of length 1 it is 0."""
        names = "ijklmnpq"
        indices = tuple(Var(self.names.index(names[min(k, 7)]), INT64) for k in range(len(dims)))
        inner = body(tuple(indices))
        self.names.release(*(index.name for index in indices))
        self.emit(ForEach(indices, dims, tuple(inner) if isinstance(inner, list) else (inner,), running))

    def sum(self, dims: tuple[Expr, ...], element: Callable[[tuple[Expr, ...]], Expr], dtype: np.dtype) -> Var:
        """A fresh scalar with the sum of the element over all indices."""
        total = self.variable("s", Const(dtype.type(0).item(), dtype))
        self.mutable.add(total)
        self.each(dims, lambda index: AddTo(total, element(index), True))
        return total
