"""`with` of objects that say themselves what happens at its ends.

    with Timer() as t:              .managed = None
        y = f(x)                    with Timer() as t:          (holds the timer by that name, and calls __enter__)
                             →      try:
                                        y = f(x)
                                    finally:
                                        with .managed:          (calls __exit__)

What is raised in the body leaves the function, and `__exit__` does not run then.
"""

from __future__ import annotations

import ast
import copy

from .source import located
from .syntax import walk

HARMLESS = ("errstate", "printoptions", "nullcontext", "catch_warnings")  # by these names: the body just runs


def with_exits(body: list[ast.stmt]) -> list[ast.stmt]:
    found = (item for stmt in body for node in walk(stmt) if isinstance(node, ast.With) for item in node.items)
    if all(map(_is_harmless, found)):
        return body
    return _Managed().visit(ast.Module(copy.deepcopy(body), [])).body


class _Managed(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # its turn comes when it is called

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        self.generic_visit(node)
        body = node.body
        for item in reversed(node.items):
            body = [located(ast.With([item], body), node)] if _is_harmless(item) else _entered(item, body)
        return body


def held_by(item: ast.withitem) -> str | None:
    """The name for what is held from the beginning to the end."""
    return getattr(item, "held", None)


def left_at(item: ast.withitem) -> str | None:
    """The name of what is left here."""
    match item.context_expr:
        case ast.Name(id=name) if name.startswith("."):
            return name
    return None


def _is_harmless(item: ast.withitem) -> bool:
    match item.context_expr:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in HARMLESS:
            return True
    return held_by(item) is not None or left_at(item) is not None


def _entered(item: ast.withitem, body: list[ast.stmt]) -> list[ast.stmt]:
    made = item.context_expr
    name = f".managed_{made.lineno}_{made.col_offset}"
    item.held = name  # type: ignore[attr-defined]
    at_exit = located(ast.With([ast.withitem(ast.Name(name, ast.Load()))], []), made)
    parts = [
        ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)),
        ast.With([item], []),
        ast.Try(body, [], [], [at_exit]),
    ]
    return [located(part, made) for part in parts]
