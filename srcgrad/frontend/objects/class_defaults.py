"""Attributes with a default in the body of a class, which one path through the code alone gives to the object.

class Valve:                       v = Valve()
    k = 0.0                →       v.k = Valve.k          (from the beginning, so that it has k on every path)
v = Valve()                        if x > 0.0:
if x > 0.0:                            v.k = x
    v.k = x

That is found where the paths meet, and the function is interpreted again.
"""

from __future__ import annotations

import inspect
from numbers import Number
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np

from ...ir.types import RecordKind
from ..values import TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter


class FromTheBeginning(Exception):
    """Objects of the class have to be made with these of its defaults."""

    def __init__(self, cls: type, names: list[str]) -> None:
        self.cls, self.names = cls, names


def check(interpreter: Interpreter, a: TupleValue, b: TupleValue) -> None:
    """Of one object on two paths: what it lacks on one of them may be a default of its class."""
    if not (isinstance(a.kind, RecordKind) and isinstance(b.kind, RecordKind) and a.kind.cls is b.kind.cls):
        return
    known, cls = interpreter.callees.class_defaults.get(a.kind.cls, {}), a.kind.cls
    both = dict.fromkeys((*a.kind.keys, *b.kind.keys))
    lacking = [name for name in both if (name in a.kind.keys) != (name in b.kind.keys)]
    new = [name for name in lacking if name not in known and _is_default(cls, name)]
    if new:
        raise FromTheBeginning(cls, new)


def _is_default(cls: type, name: str) -> bool:
    """Is it a number, a text or None?  (What else stands there, all objects share: it may be written to.)"""
    return isinstance(inspect.getattr_static(cls, name, check), (Number, np.generic, str, NoneType))


def refuse_all(interpreter: Interpreter, owner: TupleValue) -> None:
    """vars(o): which of the defaults the object has by itself, the path decides."""
    for name in interpreter.callees.class_defaults.get(owner.kind.cls, ()):
        interpreter.build.refuse(
            f"vars() of an object that has {name} of its own by the path taken", f"give it to all:  self.{name} = ..."
        )
