"""Names that a function assigns in the one around it: attributes of an object that both know.

def f(x):                                def f(x):
    s = 0.0                                  nonlocals = SimpleNamespace()
    def add(v):                              nonlocals.s = 0.0
        nonlocal s                  →        def add(v):
        s = s + v                                nonlocals.s = nonlocals.s + v
"""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any, TypeVar

Scope = ast.FunctionDef | ast.Lambda
Made = TypeVar("Made", bound=ast.AST)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def as_attributes(node: Made) -> Made:
    """The function with such names as attributes."""
    return _Functions({part.id for part in ast.walk(node) if isinstance(part, ast.Name)}).visit(node)


class _Functions(ast.NodeTransformer):
    """Each function, the outer ones first."""

    def __init__(self, used: set[str]) -> None:
        self.used = used

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        own = _bound(node)
        names = {name for name in own if any(name in _changed_in(inner) for inner in _functions_in(node))}
        names -= _bound_otherwise(node)
        if names:
            called = "nonlocals"
            while called in self.used:
                called += "_"
            self.used.add(called)
            given = sorted(names & _parameters(node))
            maker: Any = SimpleNamespace  # whatever the names in the function stand for
            values = [ast.keyword(name, ast.Name(name, ast.Load())) for name in given]
            box = ast.Assign([ast.Name(called, ast.Store())], ast.Call(ast.Constant(maker), [], values))
            renamed = _Renamed(names, called)
            body = [renamed.visit(stmt) for stmt in node.body]
            for part in ast.walk(box):
                if isinstance(part, (ast.expr, ast.keyword, ast.Assign)):
                    ast.copy_location(part, node.body[0])
            node.body = [box, *body]
        return self.generic_visit(node)  # type: ignore[return-value]


def _functions_in(node: ast.AST) -> list[Scope]:
    """Those that are defined right in this one."""
    found: list[Scope] = []
    work: list[ast.AST] = _inside(node)
    while work:
        part = work.pop()
        if isinstance(part, (ast.FunctionDef, ast.Lambda)):
            found.append(part)
        else:
            work += ast.iter_child_nodes(part)
    return found


def _inside(node: Any) -> list[ast.AST]:
    """What belongs to the scope of a function."""
    return list(node.body) if isinstance(node.body, list) else [node.body]


def _own_parts(node: Scope) -> list[ast.AST]:
    found: list[ast.AST] = []
    work = _inside(node)
    while work:
        part = work.pop()
        found.append(part)
        if not isinstance(part, (ast.FunctionDef, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)):
            work += ast.iter_child_nodes(part)
    return found


def _parameters(node: Scope) -> set[str]:
    return {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}


def _said_nonlocal(node: Scope) -> set[str]:
    return {name for part in _own_parts(node) if isinstance(part, ast.Nonlocal) for name in part.names}


def _stored(node: Scope) -> set[str]:
    return {p.id for p in _own_parts(node) if isinstance(p, ast.Name) and not isinstance(p.ctx, ast.Load)}


def _bound(node: Scope) -> set[str]:
    """The names that are this function's own."""
    return (_parameters(node) | _stored(node)) - _said_nonlocal(node)


def _bound_otherwise(node: Scope) -> set[str]:
    """Names that are bound where no attribute may stand, here or where they are assigned from within."""
    out: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                out.add(name)
            case ast.NamedExpr(target=ast.Name(id=name)):
                out.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                out |= {(alias.asname or alias.name).partition(".")[0] for alias in names}
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                out.add(name)
    return out


def _changed_in(node: Scope) -> set[str]:
    """The names of functions around it that this one assigns, or one in it does."""
    own, said = _bound(node), _said_nonlocal(node)
    inner = {name for part in _functions_in(node) for name in _changed_in(part)} - own
    return (said & _stored(node)) | inner


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: set[str], called: str) -> None:
        self.names, self.called = names, called

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        owner = ast.copy_location(ast.Name(self.called, ast.Load()), node)
        return ast.copy_location(ast.Attribute(owner, node.id, node.ctx), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        left = [name for name in node.names if name not in self.names]
        return ast.copy_location(ast.Nonlocal(left) if left else ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._scope(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return self._scope(node)

    def _scope(self, node: Any) -> Any:
        """Defaults and decorators are evaluated here; in its body, the names that it binds are its own."""
        node.args = self.visit(node.args)
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [self.visit(part) for part in node.decorator_list]
        inner = _Renamed(self.names - _bound(node), self.called)
        node.body = [inner.visit(p) for p in node.body] if isinstance(node.body, list) else inner.visit(node.body)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, COMPREHENSIONS):
            targets = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            if targets & self.names:  # (the first thing that it goes over is looked up outside)
                node.generators[0].iter = self.visit(node.generators[0].iter)
                return _Renamed(self.names - targets, self.called).generic_visit(node)
        return super().generic_visit(node)
