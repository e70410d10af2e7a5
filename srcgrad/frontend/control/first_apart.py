"""Loops in which a number becomes an array, or an object gets attributes: what the first iterations do stands ahead.

x = 1.0                                  x = 1.0
for k in range(n):                       x = x - (x**2 - p) / (2 * x)
    x = x - (x**2 - p) / (2 * x)   →     for k in range(1, n):
                                             x = x - (x**2 - p) / (2 * x)

A loop that does not run so often leaves a number where there would be an array: that is an error in the run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import SrcgradError, UnsupportedError, place
from ...ir.expressions import Expr, negated
from ...ir.nodes import If, Raise
from ...ir.walk import is_constant
from ..syntax.liveness import assigned
from .attempts import restore, save
from .if_statements import branch

if TYPE_CHECKING:
    from ..interpret import Interpreter

MOST = 3  # iterations apart: two names that are numbers take turns, `b1, b2 = 2 * x * b1 - b2 + c, b1`


class FirstApart(Exception):
    """A name is `first` this ahead of the loop, and `then` that at its end; `error` says so, if nothing helps."""

    def __init__(self, name: str, first: str, then: str, error: UnsupportedError) -> None:
        self.name, self.first, self.then, self.error = name, first, then, error


def run(
    interpreter: Interpreter,
    node: ast.For | ast.While,
    loop: Callable[[], None],
    runs: Callable[[], Expr],
    first: Callable[[], None],
    rest: Callable[[int], None],
    apart: int,
) -> None:
    """Try the loop; if it has to be, its first iteration, and then the rest.

    `runs`: whether there is a first iteration, which `first` begins; `apart`: how many there were by now.
    """
    saved = save(interpreter)
    try:
        loop()
        return
    except FirstApart as found:
        if apart == MOST:
            raise found.error from None
        what = found
    flag: str = getattr(node, "stop_flag", "")
    here = id(interpreter.frame), flag
    first_is = f"{what.name} is {what.first} where this loop"
    for may_stop in (True, False) if flag else (True,):
        restore(interpreter, saved)
        try:
            _refuse_unless(
                interpreter, runs(), f"{first_is} runs less than {apart + 1} times, and {what.then} elsewhere"
            )
            first()
            if not may_stop:
                interpreter.must_go_on[here] = f"{first_is} stops in iteration {apart + 1}, and {what.then} elsewhere"
            interpreter.block(node.body)
            interpreter.must_go_on.pop(here, None)
            _others(interpreter, node, lambda: rest(apart + 1))
            return
        except SrcgradError:
            interpreter.must_go_on.pop(here, None)
    raise what.error from None


def _refuse_unless(interpreter: Interpreter, condition: Expr, message: str) -> None:
    if not is_constant(condition, True):
        message += place(interpreter.build.span)
        interpreter.build.emit(If(negated(condition), (Raise("RuntimeShapeError", message),)))


def goes_on(interpreter: Interpreter, targets: list[ast.expr]) -> bool:
    """Is it the flag of a loop that may not stop here which is set?  Then that is an error in the run."""
    flags = [(id(interpreter.frame), target.id) for target in targets if isinstance(target, ast.Name)]
    messages = [interpreter.must_go_on[flag] for flag in flags if flag in interpreter.must_go_on]
    for message in messages:
        interpreter.build.emit(Raise("RuntimeShapeError", message + place(interpreter.build.span)))
    return bool(messages)


def _others(interpreter: Interpreter, node: ast.For | ast.While, rest: Callable[[], None]) -> None:
    """The other iterations, unless the first was the last one."""
    flag: str = getattr(node, "stop_flag", "")
    stopped = interpreter.lookup(flag) if flag else None
    if stopped is None or (stopped.is_constant and not stopped.value):
        rest()
    elif not stopped.is_constant:
        goes_on = ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load()))
        guard = ast.If(goes_on, [node], [])
        for part in (goes_on, goes_on.operand, guard):
            ast.copy_location(part, node)
        guard.live_out = node.live_out | assigned([node])  # type: ignore[attr-defined, union-attr]
        branch(interpreter, guard, then=rest)
