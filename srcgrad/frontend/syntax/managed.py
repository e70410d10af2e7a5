"""`with` of objects that say themselves what happens at its ends.

    with Timer() as t:              .managed = Timer()
        y = f(x)                    with .managed as t:          (calls __enter__; the body has been put behind it)
                             →      try:
                                        y = f(x)
                                    finally:
                                        with .managed.__exit__:  (calls it)

What is raised in the body leaves the function, so nobody sees what `__exit__` does then.
"""

from __future__ import annotations

import ast
import copy

from .source import located
from .syntax import walk

HARMLESS = ("errstate", "printoptions", "nullcontext", "catch_warnings")  # of NumPy and Python: the body just runs
EXIT = "__exit__"


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


def _is_harmless(item: ast.withitem) -> bool:
    match item.context_expr:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in HARMLESS
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)):
            return name.startswith(".")
    return False


def _entered(item: ast.withitem, body: list[ast.stmt]) -> list[ast.stmt]:
    made = item.context_expr
    name = f".managed_{made.lineno}_{made.col_offset}"
    held, at_exit = ast.Name(name, ast.Load()), ast.Attribute(ast.Name(name, ast.Load()), EXIT, ast.Load())
    parts = [
        ast.Assign([ast.Name(name, ast.Store())], made),
        ast.With([ast.withitem(held, item.optional_vars)], []),
        ast.Try(body, [], [], [located(ast.With([ast.withitem(at_exit)], []), made)]),
    ]
    return [located(part, made) for part in parts]
