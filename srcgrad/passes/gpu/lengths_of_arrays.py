"""A length that has been given a name is said by its array again, so that loops and arrays have the same bounds.

    n = len(u)                             now = empty(u.shape[0])
    now = empty(n)                 →       for i in range(1, u.shape[0] - 1):
    for i in range(1, n - 1):                  now[i] = …
        now[i] = …

On a CPU the name is worth having: nothing has to be read from the array in a loop.  Handles say the lengths by which
their memory was made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...analysis.lengths import lengths_by_name, lengths_of
from ...ir.expressions import Array, Expr
from ...ir.nodes import Alloc, Assign, Function, View
from ...ir.rename import rename_arrays
from ...ir.walk import map_expressions, rewrite_block, statements, substitute, targets


def lengths_of_arrays(function: Function) -> Function:
    names, lengths = lengths_by_name(function), lengths_of(function)
    arrays = {a.name: a for a in _arrays(function)}
    dims = {name: array.dims for name, array in arrays.items()}
    for stmt in statements(function.body):
        if isinstance(stmt, Alloc) and lengths.made[stmt.array.name] == 1 and all(map(lengths.stays, stmt.dims)):
            dims[stmt.array.name] = stmt.dims  # (lengths that a check has found equal go by one name there)
    dims = {name: tuple(substitute(dim, names) for dim in of_it) for name, of_it in dims.items()}
    said = {name: replace(array, dims=dims[name]) for name, array in arrays.items() if dims[name] != array.dims}
    if not names and not said:
        return function
    body = (stmt for stmt in function.body if not (isinstance(stmt, Assign) and stmt.var in names))
    change = lambda e: substitute(e, names)
    block = rewrite_block(tuple(rename_arrays(s, said) for s in body), lambda s: (map_expressions(s, change),))
    return replace(function, body=block, results=_in_results(function.results, names, said))


def _arrays(function: Function) -> list[Array]:
    """Those that the function makes."""
    found: list[Array] = []
    for stmt in statements(function.body):
        found += [item for item in targets(stmt) if isinstance(item, Array)]
        found += [stmt.array] if isinstance(stmt, View) else []
    return found


def _in_results(results: Any, names: dict[Expr, Expr], arrays: dict[str, Array]) -> Any:
    if isinstance(results, tuple):
        return tuple(_in_results(item, names, arrays) for item in results)
    if isinstance(results, Array):
        return arrays.get(results.name, results)
    return substitute(results, names) if isinstance(results, Expr) else results


__all__ = ["lengths_of_arrays"]
