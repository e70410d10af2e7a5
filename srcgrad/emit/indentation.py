"""Branches within branches, a hundred deep, as branches one after another: Python takes 99 levels of indentation.

if a:                              deeper = False
    t = x[0]                       if a:
    if b:                              t = x[0]
        s = t * t                      if b:
    x_b[0] += t           →                deeper = True
                                       if not deeper:
                                           x_b[0] += t
                                   if deeper:
                                       s = t * t
                                   if deeper:
                                       x_b[0] += t

(Here with one level.)  What comes behind the inner branch is there twice.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from copy import copy

LEVELS = 40


def flattened(module: ast.Module) -> ast.Module:
    """The module, whose functions' branches are no more than some levels deep."""
    deep = [node for node in module.body if isinstance(node, ast.FunctionDef) and _height(node.body) > LEVELS]
    for function in deep:
        used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        names = (name for k in itertools.count() if (name := f"deeper_{k}" if k else "deeper") not in used)
        _flatten(function.body, names)
    return module


def _height(body: list[ast.stmt]) -> int:
    """How many levels of indentation there are below."""
    return max((1 + max(map(_height, blocks)) for stmt in body if (blocks := _blocks(stmt))), default=0)


def _blocks(stmt: ast.stmt) -> list[list[ast.stmt]]:
    """What is indented in a statement; an `elif` is as deep as its `if`."""
    if not isinstance(stmt, (ast.If, ast.For, ast.While)):
        return []
    blocks = [stmt.body]
    while isinstance(stmt, ast.If) and len(stmt.orelse) == 1 and isinstance(stmt.orelse[0], ast.If):
        stmt = stmt.orelse[0]
        blocks.append(stmt.body)
    return [block for block in (*blocks, stmt.orelse) if block]


def _flatten(body: list[ast.stmt], names: Iterator[str]) -> None:
    out: list[ast.stmt] = []
    waiting = body[::-1]
    while waiting:
        stmt = waiting.pop()
        while isinstance(stmt, ast.If) and _height([stmt]) > LEVELS and (way := _way_down(stmt)):
            out.append(_set(name := next(names), False))
            waiting += _taken_out(way, name)[::-1]
        for block in _blocks(stmt):
            _flatten(block, names)
        out.append(stmt)
    body[:] = out


Way = list[tuple[list[ast.stmt], int]]  # blocks, and where in them it goes on


def _way_down(branch: ast.If) -> Way:
    """To the branch some levels down that is the deepest, through nothing but branches."""
    way: Way = []
    stmt: ast.stmt = branch
    while isinstance(stmt, ast.If) and len(way) < LEVELS:
        block = max(_blocks(stmt), key=_height)
        at = max(range(len(block)), key=lambda k: _height([block[k]]))
        stmt = block[at]
        if isinstance(stmt, ast.If):
            way.append((block, at))
    return way if len(way) > 1 else []


def _taken_out(way: Way, name: str) -> list[ast.stmt]:
    """What stands at the end of the way, and what comes behind it on the way back, to be done where it was reached."""
    (last, at), *around = reversed(way)
    inner, *behind = last[at:]
    last[at:] = [_set(name, True)]
    for block, k in around:
        if rest := block[k + 1 :]:
            behind += map(_copied, rest)
            block[k + 1 :] = [ast.If(ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load())), rest, [])]
    return [ast.If(ast.Name(name, ast.Load()), part, []) for part in ([inner], behind) if part]


def _copied(stmt: ast.stmt) -> ast.stmt:
    """The statement with blocks of its own."""
    if not isinstance(stmt, (ast.If, ast.For, ast.While)):
        return stmt
    made = copy(stmt)
    made.body, made.orelse = (list(map(_copied, block)) for block in (stmt.body, stmt.orelse))
    return made


def _set(name: str, value: bool) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


__all__ = ["flattened"]
