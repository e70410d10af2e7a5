"""A copy that nobody changes, of what nobody changes either, is read where it was copied from.

    then = empty(n)
    then[...] = u              →      kept[1, 0] = u[0]
    kept[1, 0] = then[0]

    out_b = empty(n)
    for i in range(n): out_b[i] = v[i]
    for i in range(m): x_b[i] = out_b[k[i]]          →      for i in range(m): x_b[i] = v[k[i]]

Other passes leave such copies behind, where a program has no use any more for memory of its own; and the cotangent of
what a function writes to begins as a copy of v, whether it changes later or not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..analysis.effects import effects, names_used
from ..analysis.grids import covers, nest_of
from ..analysis.lengths import Equal, lengths_of
from ..ir.expressions import Array, Dim, Load
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    CopyTo,
    For,
    Function,
    If,
    OwnCopy,
    Raise,
    Stmt,
    Store,
    While,
    leaves,
)
from ..ir.rename import rename_arrays
from ..ir.walk import expressions, statements, subexpressions

READS = (AddTo, Assign, CopyTo, For, If, Raise, Store, While)


def unchanged_copies(function: Function) -> Function:
    function = _without_own(function)
    while (found := _copy(function)) is not None:
        at, end, target, source = found
        read_there = (rename_arrays(stmt, {target.name: source}) for stmt in function.body[at + 1 : end])
        body = (*function.body[:at], *read_there, *function.body[end:])
        function = replace(function, body=_without_unused(body, target, function.results))
    return function


def _without_own(function: Function) -> Function:
    """A parameter that is not changed needs no copy of its own."""
    written = _written(function.body)
    body = (
        replace(stmt, copy=False) if isinstance(stmt, OwnCopy) and stmt.array.name not in written else stmt
        for stmt in function.body
    )
    return replace(function, body=tuple(body))


def _copy(function: Function) -> tuple[int, int, Array, Array] | None:
    """Where a copy of an argument is made, and from where on it is needed no more, if it is only read up to there."""
    written = _written(function.body)
    nodes = (n for s in statements(function.body) for e in expressions(s) for n in subexpressions(e))
    asked = {n.array for n in nodes if isinstance(n, Dim)}
    params = {p.name for p in function.params}
    own = {s.array.name for s in function.body if isinstance(s, OwnCopy)}
    if params & written - own:
        return None  # which may be one of the others, by another name
    handed = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    viewed = {view.base.name for view in effects(function.body).views.values()}
    made = {s.array.name: s for s in function.body if isinstance(s, Alloc) and s.array.name not in viewed}
    lengths, equal = lengths_of(function), Equal()
    for at, stmt in enumerate(function.body):
        equal.learn(stmt, lengths)
        target, source = _copied(stmt)
        if target is None or source is None or source.name not in params - written or target.name not in made:
            continue
        name = target.name
        later = range(at + 1, len(function.body))
        end = next((k for k in later if _copied(function.body[k])[0] == target), len(function.body))
        readers = function.body[at + 1 : end]
        is_same = made[name].array.dtype == source.dtype and name not in asked
        if isinstance(stmt, For):
            shapes = (tuple(map(equal.one_of, lengths.of(array))) for array in (target, source))
            is_same = is_same and len(set(shapes)) == 1
        is_needed = end == len(function.body) and name in handed
        if is_same and not is_needed and name not in _written(readers) and _is_only_read(name, readers):
            return at, end, target, source
    return None


def _copied(stmt: Stmt) -> tuple[Array, Array] | tuple[None, None]:
    """The array that is set as a whole here, element by element, and the other one of which that is a copy."""
    if isinstance(stmt, CopyTo) and stmt.target != stmt.source:
        return stmt.target, stmt.source
    match nest_of(stmt):
        case loops, (Store(array=target, index=index, value=Load(array=source, index=places)),) if index == places:
            if target != source and index == tuple(loop.index for loop in loops) and covers(loops, target):
                return target, source
    return None, None


def _is_only_read(name: str, block: Block) -> bool:
    return all(isinstance(s, READS) for s in statements(block) if name in names_used(s))


def _without_unused(body: Block, array: Array, results: Any) -> Block:
    """Without what makes the array, where nobody has to do with it any more."""
    handed = any(isinstance(leaf, Array) and leaf.name == array.name for leaf in leaves(results))
    others = [s for s in body if array.name in names_used(s) and not isinstance(s, Alloc)]
    return body if handed or others else tuple(s for s in body if not (isinstance(s, Alloc) and s.array == array))


def _written(block: Block) -> set[str]:
    """The arrays that are changed; what makes one does not count."""
    seen = effects(s for s in block if not isinstance(s, (Alloc, OwnCopy)))
    views = {name for v in seen.views.values() for name in (v.array.name, v.base.name)}
    return {a.array.name for a in seen.accesses if a.writes} | views  # (a view may be written to later)


__all__ = ["unchanged_copies"]
