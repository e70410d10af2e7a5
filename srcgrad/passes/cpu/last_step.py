"""Of the last step of a forward sweep only what the reverse sweep reads is computed: nobody looks at the state after.

    for t in range(steps):                     for t in range(steps):
        y_kept[t] = y                   →          y_kept[t] = y
        k = slope(y)                               if t < steps - 1:
        y += h * k                                     k = slope(y); y += h * k

The reverse sweep starts from the cotangent of the last state, and needs the states that steps begin with.  With one
step it was half of the work; with a thousand it is nothing, so only steps that are loops themselves are looked at.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.effects import effects
from ...analysis.silent import is_for_the_next
from ...ir import affine
from ...ir.expressions import Array, Const, Expr, compare
from ...ir.info import roots_of
from ...ir.nodes import Block, For, Function, If, Library, Stmt, leaves
from ...ir.walk import loads, variables


def last_step(function: Function) -> Function:
    seen = {p.name for p in function.params if isinstance(p, Array)}
    roots = roots_of(function)
    seen |= {roots.get(leaf.name, leaf.name) for leaf in leaves(function.results) if isinstance(leaf, Array)}
    results = {v.name for leaf in leaves(function.results) if isinstance(leaf, Expr) for v in variables(leaf)}
    out: list[Stmt] = []
    for position, stmt in enumerate(function.body):
        if isinstance(stmt, For) and _is_of_steps(stmt):
            later = function.body[position + 1 :]
            needed = seen | {roots.get(name, name) for name in effects(later).names()}
            stmt = _shortened(stmt, later, needed, results, roots)
        out.append(stmt)
    return replace(function, body=tuple(out))


def _is_of_steps(loop: For) -> bool:
    """A loop in the user's order around others, whose last iteration is known by its index."""
    runs = affine.sub(loop.stop, loop.start)
    return (
        loop.ordered
        and loop.step == affine.ONE
        and not (isinstance(runs, Const) and runs.value > 16)
        and not loads(loop.stop)
        and not variables(loop.stop) & effects(loop.body).writes
    )


def _shortened(loop: For, later: Block, needed: set[str], results: set[str], roots: dict[str, str]) -> For:
    body = list(loop.body)
    first = len(body)
    while first and is_for_the_next(body[first - 1], later, needed, results, roots):
        first -= 1
    rest = tuple(body[first:])
    if not any(isinstance(stmt, (For, Library)) for stmt in rest):
        return loop
    goes_on = compare("lt", loop.index, affine.sub(loop.stop, affine.ONE))
    return replace(loop, body=(*body[:first], If(goes_on, rest, span=loop.span)))


__all__ = ["last_step"]
