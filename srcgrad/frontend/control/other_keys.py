"""Dicts and objects that have other keys or attributes by the path taken: what is said where one is read.

if x[1] > 0:
    d["q"] = x[1]        →      d gets other keys or attributes by the path taken: q
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.types import SETS, DictKind, RecordKind
from .. import identities
from ..objects import class_defaults, records
from ..values import Scalar, Static, TupleValue, Unusable

if TYPE_CHECKING:
    from ..interpret import Interpreter


def have_keys(sides: tuple[Any, ...]) -> bool:
    return all(isinstance(value, TupleValue) and isinstance(value.kind, (DictKind, RecordKind)) for value in sides)


def unusable(interpreter: Interpreter, name: str, a: TupleValue, b: TupleValue) -> Static:
    """A dict or an object that is given what it has in a branch; to be shown is the statement that gives it."""
    class_defaults.check(interpreter, a, b)
    help, every = "give it all of them ahead of the branch", {}
    if isinstance(a.kind, DictKind) and isinstance(b.kind, DictKind) and a.kind.cls not in SETS:
        every = records.as_dict(a) | records.as_dict(b)
    if 0 < len(every) <= KEYS_SHOWN:
        items = ", ".join(f"{key!r}: {_empty(value)}" for key, value in every.items())
        help = f"make it with all of its keys ahead of the branch:  {name} = {{{items}}}"
    others = [
        key for key in dict.fromkeys((*a.kind.keys, *b.kind.keys)) if (key in a.kind.keys) != (key in b.kind.keys)
    ]
    if isinstance(a.kind, RecordKind) and others:
        help += f":  {name}.{others[0]} = ..."
    how = "gets other keys or attributes by the path taken"
    how += f": {', '.join(map(str, others[:KEYS_SHOWN]))}" if others else ""
    return Static(Unusable(name, how, (help,), span=interpreter.build.span))


KEYS_SHOWN = 6


def _empty(value: Any) -> str:
    if isinstance(value, Scalar):
        return "0.0" if value.dtype.kind == "f" else "0"
    return "[]" if identities.is_list(value) else "..."
