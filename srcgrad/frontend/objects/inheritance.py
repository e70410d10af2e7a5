"""`super()`: what the classes after one have under a name, in the order in which Python asks them.

class Scaled(Layer):
    def __call__(self, x):
        return 2.0 * super().__call__(x)      →      Layer.__call__(self, x), interpreted in place
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...ir.types import RecordKind
from ...rules.compositions.python import nothing_to_make
from ..outside import InObject
from ..values import Bound, Static, TupleValue
from . import objects

if TYPE_CHECKING:
    from ..interpret import Interpreter


@dataclass(frozen=True, eq=False)
class Super:
    """super(after, owner); `owner` is an object, or a class in a class method."""

    after: type
    owner: Static | TupleValue

    @property
    def cls(self) -> type:
        """The class whose order of resolution counts."""
        if isinstance(self.owner, TupleValue):
            return self.owner.kind.cls if isinstance(self.owner.kind, RecordKind) else self.owner.kind
        value = self.owner.value
        return value if isinstance(value, type) and issubclass(value, self.after) else type(value)


def super_of(interpreter: Interpreter, *args: Any) -> Super:
    """super(), or super(cls, self)"""
    if not args:
        args = _of_method(interpreter)
    match args:
        case [Static(value=type() as after), (Static() | TupleValue()) as owner]:
            found = Super(after, owner)
            if isinstance(found.cls, type) and issubclass(found.cls, after):
                return found
    return interpreter.build.refuse("super() wants a class and an object of it", error=ArgumentError)


def _of_method(interpreter: Interpreter) -> tuple[Any, ...]:
    """The class in whose body the method stands, and the method's first argument as it is now."""
    function: Any = interpreter.frame.function
    code = getattr(function, "__code__", None)
    if code is not None and "__class__" in code.co_freevars and code.co_argcount:
        cell = function.__closure__[code.co_freevars.index("__class__")]
        return Static(cell.cell_contents), interpreter.env[code.co_varnames[0]]
    return interpreter.build.refuse("super() without arguments stands in a method of a class", error=ArgumentError)


def attribute(interpreter: Interpreter, parent: Super, name: str) -> Any:
    """What the first of the classes after `parent.after` that has the name makes of it."""
    cls, owner = parent.cls, parent.owner
    order = cls.__mro__[cls.__mro__.index(parent.after) + 1 :]
    holder = next((each for each in order if name in vars(each)), None)
    if holder is None:
        return interpreter.build.refuse(f"super() has no attribute {name!r}", error=ArgumentError)
    found = vars(holder)[name]
    if holder is object and name == "__init__":
        return Bound(nothing_to_make, (owner,))
    _expect(interpreter, parent, holder, name)
    if isinstance(owner, Static) and owner.value is cls and inspect.isfunction(found):
        return Static(found)  # of a class, not of an object
    made = objects.made_for(interpreter, owner, cls, found)
    return interpreter.outside(name, InObject(holder, name)) if made is None else made


def _expect(interpreter: Interpreter, parent: Super, holder: type, name: str) -> None:
    """What was found has to be there at later calls too."""
    if not isinstance(parent.owner, Static):
        return
    target = parent.owner.value
    if target is parent.cls:
        interpreter.outside(name, InObject(holder, name))
        return
    interpreter.outside("__class__", InObject(target, "__class__"))
    found = vars(holder)[name]
    is_method = callable(found) and inspect.isfunction(found)
    interpreter.outside(name, InObject(super(parent.after, target), name) if is_method else InObject(holder, name))


__all__ = ["Super", "attribute", "super_of"]
