"""Buffers that change places after the test that may end a loop: so that they do in every iteration.

for …:                             for … until stopped:
    y[1:-1] = f(x)                     y[1:-1] = f(x)
    if close(x, y):        →           if close(x, y): stopped = True
        break                          x, y = y, x
    x, y = y, x                    if stopped: y, x = x, y

A `return` is one behind the exchange, of what it has computed ahead of it.  Which memory is whose is known then in each
iteration, and the arrays need no copy.
"""

from __future__ import annotations

import ast
import copy

from . import liveness
from .source import located

Parts = tuple[list[ast.stmt], ast.For | ast.While, list[ast.stmt]]


def exchanging_always(loop: ast.For | ast.While, stopped: str, left: str, bound: set[str]) -> Parts | None:
    """What comes ahead of such a loop, the loop, and what comes behind it.

    `stopped` ends the loop; `left` is a name for a flag beside it, where it returns; `bound`: names that have a value.
    """
    at = next((k for k, stmt in enumerate(loop.body) if _leaves(stmt)), None)
    if at is None or loop.orelse:
        return None
    test, rest = loop.body[at], loop.body[at + 1 :]
    assert isinstance(test, ast.If)
    exchange = next((stmt for stmt in rest if _targets(stmt)), None)
    if exchange is None:
        return None
    names, jump, then = _targets(exchange), test.body[-1], test.body[:-1]
    others = [stmt for stmt in rest if stmt is not exchange]
    mentioned = {name for stmt in others for name in liveness.mentioned(stmt)}
    if mentioned & names or liveness.assigned(then) & names or not names <= bound:
        return None
    flag = left if isinstance(jump, ast.Return) else stopped
    ahead: list[ast.stmt] = []
    leaves: list[ast.stmt] = []
    if isinstance(jump, ast.Return):
        computed, jump = _computed_first(jump, flag)
        then, ahead = [*then, *computed], [_set(flag, False, loop)]
        leaves = [located(ast.If(ast.Name(flag, ast.Load()), [jump], []), test)]
    stays = ast.If(test.test, [*then, _set(flag, True, test)], others)
    back = ast.If(ast.Name(flag, ast.Load()), [_turned_back(exchange)], [])
    changed = copy.copy(loop)
    changed.body = [*loop.body[:at], located(stays, test), exchange, *leaves]
    return ahead, changed, [located(back, exchange)]


def _leaves(stmt: ast.stmt) -> bool:
    match stmt:
        case ast.If(body=[*_, ast.Break() | ast.Return()], orelse=[]):
            return True
    return False


def _targets(stmt: ast.stmt) -> set[str]:
    """The names that change places, where a statement does nothing else."""
    match stmt:
        case ast.Assign(targets=[ast.Tuple(elts=into)], value=ast.Tuple(elts=values)):
            names = [part.id if isinstance(part, ast.Name) else "" for part in into]
            given = [part.id if isinstance(part, ast.Name) else "" for part in values]
            if "" not in names and len(set(names)) == len(names) and sorted(names) == sorted(given):
                return set(names)
    return set()


def _turned_back(exchange: ast.stmt) -> ast.stmt:
    assert isinstance(exchange, ast.Assign)
    (into,), values = exchange.targets, exchange.value
    assert isinstance(into, ast.Tuple)
    assert isinstance(values, ast.Tuple)
    targets = ast.Tuple([ast.Name(part.id, ast.Store()) for part in values.elts], ast.Store())  # type: ignore[attr-defined]
    given = ast.Tuple([ast.Name(part.id, ast.Load()) for part in into.elts], ast.Load())  # type: ignore[attr-defined]
    return located(ast.Assign([targets], given), exchange)


def _computed_first(jump: ast.Return, flag: str) -> tuple[list[ast.stmt], ast.Return]:
    """What is returned, computed ahead of the exchange; what has a name is found by it when all are back in place."""
    if jump.value is None:
        return [], jump
    parts = jump.value.elts if isinstance(jump.value, ast.Tuple) else [jump.value]
    computed: list[ast.stmt] = []
    named: list[ast.expr] = []
    for part in parts:
        if not isinstance(part, (ast.Name, ast.Constant)):
            name = f"{flag}_{len(named)}"
            computed.append(located(ast.Assign([ast.Name(name, ast.Store())], part), jump))
            part = ast.copy_location(ast.Name(name, ast.Load()), part)
        named.append(part)
    value = ast.Tuple(named, ast.Load()) if isinstance(jump.value, ast.Tuple) else named[0]
    return computed, ast.copy_location(ast.Return(ast.copy_location(value, jump)), jump)


def _set(name: str, value: bool, at: ast.stmt) -> ast.stmt:
    return located(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), at)
