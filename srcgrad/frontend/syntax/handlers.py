"""`try` with `except`: branches in the place of handlers, behind a statement that says which of them runs.

try:                        .caught_1 = 0            (a `Probe`: what this is, `tries` finds out)
    y = root(x)             if .caught_1 == 0:
except ValueError:     →        y = root(x)
    y = 0.0                 else:
                                y = 0.0
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from ...ir.nodes import Raise
from .source import located
from .syntax import walk


class Probe(ast.Assign):
    """name = 0, or the number of the handler that catches what `watched` raises."""

    watched: list[ast.stmt]
    kinds: list[ast.expr | None]  # what each handler catches; None: everything
    unreadable: dict[int, Raise]  # the handlers that name what is not there, and what Python raises then
    is_raised_again: bool  # by a handler, so which of several exceptions it is has to be known
    found: Any


class Caught(ast.Pass):
    """The beginning of a handler."""

    probe: Probe
    number: int
    name: str | None


class Again(ast.Raise):
    """A bare `raise` in a handler."""

    probe: Probe
    number: int


def without_handlers(body: list[ast.stmt], is_caught: bool = False) -> list[ast.stmt]:
    """A copy of the statements in which branches stand for handlers; themselves, if there are none."""
    tries = [node for stmt in body for node in walk(stmt) if isinstance(node, ast.Try)]
    if not any(node.handlers or is_caught or _swallows(node) for node in tries):
        return body
    return _Tries(is_caught).block(copy.deepcopy(body))


def _swallows(stmt: ast.Try) -> bool:
    """Does another jump than the exception leave the `finally`?"""
    jumps = (ast.Return, ast.Break, ast.Continue, ast.Raise)
    return any(isinstance(node, jumps) for final in stmt.finalbody for node in walk(final))


class _Tries(ast.NodeTransformer):
    def __init__(self, is_caught: bool) -> None:
        self.count = 0
        self.is_caught = is_caught  # by a `try` around, what is raised here

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found = map(self.visit, body)
        return [stmt for new in found for stmt in (new if isinstance(new, list) else [new])]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # it has its turn when it is called

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Try(self, node: ast.Try) -> ast.stmt | list[ast.stmt]:
        if (self.is_caught or _swallows(node)) and node.finalbody:  # it runs when an exception passes, too
            final, node.finalbody = node.finalbody, []
            passing = ast.ExceptHandler(None, None, [*copy.deepcopy(final), ast.Raise(None, None)])
            inner: list[ast.stmt] = [node] if node.handlers else node.body
            passes = located(ast.Try(inner, [located(passing, node)], [], final), node)
            return self._replaced(passes)
        return self._replaced(node)

    def _replaced(self, node: ast.Try) -> ast.stmt | list[ast.stmt]:
        outer, self.is_caught = self.is_caught, self.is_caught or bool(node.handlers)
        node.body = self.block(node.body)
        self.is_caught = outer
        for handler in node.handlers:
            handler.body = self.block(handler.body)
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        if not node.handlers:
            return node
        self.count += 1
        name = f".caught_{self.count}"
        probe = Probe([ast.Name(name, ast.Store())], ast.Constant(0))
        probe.watched, probe.kinds = copy.deepcopy(node.body), [handler.type for handler in node.handlers]
        probe.is_raised_again, probe.unreadable = False, {}
        handled: list[ast.stmt] = []
        for number, handler in reversed(list(enumerate(node.handlers, 1))):
            body = [_caught(probe, number, handler), *_raising_again(handler, probe, number)]
            handled = body if not handled else [_if_is(name, number, body, handled)]
        new = [probe, _if_is(name, 0, [*node.body, *node.orelse], handled)]
        out = [located(stmt, node) for stmt in new]
        if not node.finalbody:
            return out
        return located(ast.Try(out, [], [], node.finalbody), node)


def _if_is(name: str, number: int, then: list[ast.stmt], orelse: list[ast.stmt]) -> ast.stmt:
    test = ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [ast.Constant(number)])
    return ast.If(test, then, orelse)


def _caught(probe: Probe, number: int, handler: ast.ExceptHandler) -> ast.stmt:
    caught = Caught()
    caught.probe, caught.number, caught.name = probe, number, handler.name
    return located(caught, handler)


def _raising_again(handler: ast.ExceptHandler, probe: Probe, number: int) -> list[ast.stmt]:
    """The body of a handler, with `raise` and `raise e` as what they are."""

    class Raises(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.Raise:
            is_it = isinstance(node.exc, ast.Name) and node.exc.id == handler.name
            if isinstance(node, Again) or (node.exc is not None and not is_it):
                return node
            again = Again(None, None)
            again.probe, again.number, probe.is_raised_again = probe, number, True
            return located(again, node)

    return [Raises().visit(stmt) for stmt in handler.body]
