"""Loops over np.ndindex, np.ndenumerate, itertools.product and combinations: loops within loops.

for i, j in np.ndindex(n, m): …               →    for i in range(n): for j in range(m): …
for (i, j), v in np.ndenumerate(x): …         →    for i in range(n): for j in range(m): v = x[i, j]; …
for p, q in itertools.product(xs, ys): …      →    for p in xs: for q in ys: …
for i, j in combinations(range(n), 2): …      →    for i in range(n): for j in range(i + 1, n): …
(with replacement: from i on)
"""

from __future__ import annotations

import ast
import itertools
import math
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...ir import affine
from .. import unpacking
from ..aliases import HELD
from ..array_values import whole
from ..lists import item_views, lists, lists_as_arrays
from ..syntax.liveness import annotate, assigned
from ..syntax.source import located
from ..values import NONE, Grid, Items, Range, Scalar, Static, TupleValue, new_list, static_int

if TYPE_CHECKING:
    from ..interpret import Interpreter

RANGE, LENGTH = ".range", ".length"


def product(interpreter: Interpreter, *values: Any, repeat: Any = None) -> Grid:
    """itertools.product"""
    times = 1 if repeat is None else static_int(repeat)
    if not values or times == 0:
        interpreter.build.refuse("a product of nothing is not supported")
    if times is None:
        interpreter.build.refuse("how often a product repeats must be a constant")
    return Grid(tuple(_settled(interpreter, value) for value in values) * times)


def combinations(interpreter: Interpreter, value: Any, r: Any, ahead: int = 1) -> Grid:
    """itertools.combinations; `ahead`: so far behind a loop's place the next one begins"""
    length = static_int(r)
    if length is None or length < 1:
        interpreter.build.refuse("how many items a combination has must be a constant", error=ArgumentError)
    is_index = isinstance(value, Range) and value.start == affine.ZERO and value.step == affine.ONE
    known = unpacking.known_items(interpreter, value)
    if item_views.is_run_over(interpreter, value):
        return Grid((value,) * length, ascending=ahead)
    held = value if is_index else new_list(known) if known is not None else lists.copied(interpreter, value)
    return Grid((held,) * length, ascending=ahead)


def combinations_with_replacement(interpreter: Interpreter, value: Any, r: Any) -> Grid:
    """itertools.combinations_with_replacement"""
    return combinations(interpreter, value, r, ahead=0)


def permutations(interpreter: Interpreter, value: Any, r: Any = NONE) -> TupleValue:
    """itertools.permutations of a few items, which are known"""
    known = unpacking.known_items(interpreter, value)
    if known is None:
        interpreter.build.refuse("permutations of a list whose length is only known at run time", "write the loops")
    assert known is not None
    length = len(known) if r is NONE else static_int(r)
    if length is None:
        interpreter.build.refuse("how many items a permutation has must be a constant", error=ArgumentError)
    if math.perm(len(known), length) > unpacking.WRITTEN_OUT:
        interpreter.build.refuse(f"more than {unpacking.WRITTEN_OUT} permutations", "write the loops")
    return TupleValue(tuple(TupleValue(items) for items in itertools.permutations(known, length)))


def _settled(interpreter: Interpreter, value: Any) -> Any:
    """What one of the loops runs over; it is looked at more than once."""
    if isinstance(value, TupleValue):
        return TupleValue(tuple(unpacking.items_of(interpreter, value)))  # as they are now
    if isinstance(value, Range):
        return value
    return lists.copied(interpreter, lists_as_arrays.as_values(interpreter, value))


def loop_over_grid(interpreter: Interpreter, node: ast.For, grid: Grid) -> None:
    build, env = interpreter.build, interpreter.env
    if getattr(node, "stop_flag", None) is not None:
        build.refuse("break and return are not supported in a loop that stands for several", "write a loop for each")
    position, value = node.target, None
    if grid.array is not None:
        if not isinstance(node.target, ast.Tuple) or len(node.target.elts) != 2:
            build.refuse("np.ndenumerate gives pairs:  for index, value in np.ndenumerate(x)")
        position, value = node.target.elts
    by_place = grid.ascending is not None and not isinstance(grid.over[0], Range)
    held = f"{HELD}{id(node)}"
    read_after = assigned(node.body) | node.live_out  # type: ignore[attr-defined]
    names = _names(position, len(grid.over), read_after)
    has_own = bool(names) and not names[0].startswith(".")
    if by_place:
        names = [f".{name}" for name in names]
    index: list[ast.expr] = [_load(name) for name in names]
    items: list[ast.expr] = [ast.Subscript(_load(held), place, ast.Load()) for place in index] if by_place else index
    body: list[ast.stmt] = []
    if by_place or not has_own:
        body.append(ast.Assign([position], ast.Tuple(items, ast.Load())))
    if value is not None:
        at = ast.Subscript(_load(held), ast.Tuple(index, ast.Load()), ast.Load())
        body.append(ast.Assign([value], at))
    body += node.body
    hidden: dict[str, Any] = {f".over_{k}": over for k, over in enumerate(grid.over)}
    if grid.ascending is not None:
        hidden[RANGE], hidden[LENGTH] = Static(range), _length(interpreter, grid.over[0])
    for axis in reversed(range(len(names))):
        over: ast.expr = _load(f".over_{axis}")
        if grid.ascending is not None:
            start = [ast.BinOp(_load(names[axis - 1]), ast.Add(), ast.Constant(grid.ascending))] if axis else []
            over = ast.Call(_load(RANGE), [*start, _load(LENGTH)], [])
        body = [ast.For(ast.Name(names[axis], ast.Store()), over, body, [])]
    for stmt in body:
        located(stmt, node)
    annotate(body, node.live_out | node.live_in_body)  # type: ignore[attr-defined]
    if grid.array is not None:
        hidden[held] = whole(build.stored(grid.array, "items"))
    elif by_place:
        hidden[held] = grid.over[0]
    outer = {name: env[name] for name in hidden if name in env}
    env.update(hidden)
    interpreter.block(body)
    for name in hidden:
        env.pop(name, None)
    env.update(outer)


def _length(interpreter: Interpreter, value: Range | Items | TupleValue) -> Scalar:
    length = value.stop if isinstance(value, Range) else lists.length_of(value)
    return Scalar(interpreter.build.pin(length), weak=True)


def _names(position: ast.expr, count: int, changed: frozenset[str]) -> list[str]:
    """The user's own names of the items, where there is one for each, and the body leaves them as they are."""
    if isinstance(position, ast.Tuple) and len(position.elts) == count:
        names = [part.id for part in position.elts if isinstance(part, ast.Name)]
        if len(set(names)) == count and not changed.intersection(names):
            return names
    return [f".{letter}" for letter in "ijklmnpq"[:count]]


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
