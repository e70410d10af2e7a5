"""Arrays under other handles, throughout a statement: in loads, targets, views and library calls; and other names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .expressions import Array, Dim, Expr, Var
from .nodes import Stmt
from .walk import remembered

NOT_LOOKED_INTO = ("span", "label", "dtype")


def rename_arrays(stmt: Stmt, names: dict[str, Array]) -> Stmt:
    """The statement with every handle of a name in `names` replaced."""
    return _rename(stmt, names)


def rename_in_results(results: Any, names: dict[str, Array]) -> Any:
    """The results of a function, with every handle of a name in `names` replaced."""
    return _rename(results, names)


def with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Statements, expressions or arrays, with other names for variables and arrays."""
    if isinstance(value, tuple):
        return tuple([with_names(item, names) for item in value])
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes = {
        item.name: with_names(getattr(value, item.name), names)
        for item in fields(value)
        if item.name not in NOT_LOOKED_INTO
    }
    if isinstance(value, (Array, Var)):
        changes["name"] = names.get(value.name, value.name)
    elif isinstance(value, Dim):
        changes["array"] = names.get(value.array, value.array)
    return replace(value, **changes)


def _rename(value: Any, names: dict[str, Array]) -> Any:
    if isinstance(value, Array):
        return names.get(value.name, value)
    if isinstance(value, tuple):
        new = tuple(_rename(item, names) for item in value)
        return value if all(a is b for a, b in zip(new, value, strict=False)) else new
    if isinstance(value, (Expr, Stmt)) and _handles(value).isdisjoint(names):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        changes = {}
        for item in fields(value):
            if item.name not in NOT_LOOKED_INTO:
                old = getattr(value, item.name)
                new = _rename(old, names)
                if new is not old:
                    changes[item.name] = new
        return replace(value, **changes) if changes else value
    return value


@remembered
def _handles(node: Expr | Stmt) -> frozenset[str]:
    """The names of the handles in a node."""
    parts = [getattr(node, item.name) for item in fields(node) if item.name not in NOT_LOOKED_INTO]  # type: ignore[arg-type]
    return frozenset(_names(parts))


def _names(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Array):
            yield value.name
        elif isinstance(value, (Expr, Stmt)):
            yield from _handles(value)
        elif isinstance(value, tuple):
            yield from _names(value)
        elif is_dataclass(value) and not isinstance(value, type):
            yield from _names(getattr(value, item.name) for item in fields(value))
