"""Loops over np.ndindex and np.ndenumerate: loops within loops.

for i, j in np.ndindex(n, m): …         →    for i in range(n): for j in range(m): …
for (i, j), v in np.ndenumerate(x): …   →    for i in range(n): for j in range(m): v = x[i, j]; …
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .aliases import HELD
from .liveness import annotate
from .values import Grid, Scalar, Static, whole

if TYPE_CHECKING:
    from .interpret import Interpreter

RANGE = ".range"


def loop_over_grid(interpreter: Interpreter, node: ast.For, grid: Grid) -> None:
    build, env = interpreter.build, interpreter.env
    if getattr(node, "stop_flag", None) is not None:
        build.refuse("break and return are not supported in a loop over np.ndindex", "write a loop for each axis")
    position, value = node.target, None
    if grid.array is not None:
        if not isinstance(node.target, ast.Tuple) or len(node.target.elts) != 2:
            build.refuse("np.ndenumerate gives pairs:  for index, value in np.ndenumerate(x)")
        position, value = node.target.elts
    names = _names(position, len(grid.dims))
    body = [*_bindings(position, value, names, f"{HELD}{id(node)}"), *node.body]
    for axis in reversed(range(len(names))):
        count = ast.Call(_load(RANGE), [_load(f".length_{axis}")], [])
        body = [ast.For(ast.Name(names[axis], ast.Store()), count, body, [])]
    for stmt in body:
        for part in ast.walk(stmt):
            if not hasattr(part, "lineno") and isinstance(part, (ast.expr, ast.stmt)):
                ast.copy_location(part, node)
    annotate(body, node.live_out | node.live_in_body)  # type: ignore[attr-defined]
    hidden: dict[str, Any] = {f".length_{k}": Scalar(dim, weak=True) for k, dim in enumerate(grid.dims)}
    hidden[RANGE] = Static(range)
    if grid.array is not None:
        hidden[f"{HELD}{id(node)}"] = whole(build.stored(grid.array, "items"))
    outer = {name: env[name] for name in hidden if name in env}
    env.update(hidden)
    interpreter.block(body)
    for name in hidden:
        env.pop(name, None)
    env.update(outer)


def _names(position: ast.expr, count: int) -> list[str]:
    """The user's own names of the indices, where there is one for each."""
    if isinstance(position, ast.Tuple) and len(position.elts) == count:
        names = [part.id for part in position.elts if isinstance(part, ast.Name)]
        if len(set(names)) == count:
            return names
    return [f".{letter}" for letter in "ijklmnpq"[:count]]


def _bindings(position: ast.expr, value: ast.expr | None, names: list[str], held: str) -> list[ast.stmt]:
    """What an iteration binds besides the indices themselves."""
    out: list[ast.stmt] = []
    index = ast.Tuple([_load(name) for name in names], ast.Load())
    if not names or names[0].startswith("."):
        out.append(ast.Assign([position], index))
    if value is not None:
        out.append(ast.Assign([value], ast.Subscript(_load(held), index, ast.Load())))
    return out


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
