"""Arrays under other handles, throughout a statement: in loads, targets, views and library calls."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from .expressions import Array, Expr
from .nodes import Stmt


def rename_arrays(stmt: Stmt, names: dict[str, Array]) -> Stmt:
    """The statement with every handle of a name in `names` replaced."""
    return _rename(stmt, names)


def _rename(value: Any, names: dict[str, Array]) -> Any:
    if isinstance(value, Array):
        return names.get(value.name, value)
    if isinstance(value, tuple):
        new = tuple(_rename(item, names) for item in value)
        return value if all(a is b for a, b in zip(new, value, strict=False)) else new
    if (is_dataclass(value) and isinstance(value, (Expr, Stmt))) or _is_how(value):
        changes = {}
        for item in fields(value):
            if item.name not in ("span", "label", "dtype"):
                old = getattr(value, item.name)
                new = _rename(old, names)
                if new is not old:
                    changes[item.name] = new
        return replace(value, **changes) if changes else value
    return value


def _is_how(value: Any) -> bool:
    return is_dataclass(value) and type(value).__module__ == Array.__module__ and not isinstance(value, type)
