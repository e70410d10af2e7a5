"""Methods that Python calls for operators, `len`, subscripts and tests on objects of the user's classes.

a + b      →   type(a).__add__(a, b), where the class says what that is

What a class does not say, an object does not do: it is no tuple of its attributes.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...arguments import is_simple_object
from ...ir.types import RecordKind
from ...rules import compositions
from ..array_values import ArrayValue
from ..values import Scalar, Static, TupleValue
from . import records

if TYPE_CHECKING:
    from ..interpret import Interpreter

NAMES = {"div": "truediv", "bitand": "and", "bitor": "or", "bitxor": "xor"}  # where ours are others than Python's


def own(value: Any, name: str) -> FunctionType | None:
    """The method of this name that the user wrote for the value's class."""
    if isinstance(value, Static) and is_simple_object(value.value):  # from outside; it may change between calls
        cls: Any = type(value.value)
    elif isinstance(value, TupleValue):
        cls = value.kind.cls if isinstance(value.kind, RecordKind) else value.kind
    else:
        return None
    found = inspect.getattr_static(cls, name, None) if isinstance(cls, type) else None
    is_generated = inspect.isfunction(found) and found.__code__.co_filename == "<string>"  # by dataclasses
    return found if inspect.isfunction(found) and not is_generated else None


def called(interpreter: Interpreter, value: Any, name: str, *args: Any) -> Any | None:
    """What the method says, if there is one."""
    found = own(value, name)
    out = None if found is None else interpreter.call(Static(found), [value, *args], {})
    return None if isinstance(out, Static) and out.value is NotImplemented else out


def operation(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any | None:
    """x + y, by a method of either."""
    name = NAMES.get(op, op)
    out = called(interpreter, x, f"__{name}__", y)
    if out is None and own(y, f"__r{name}__") is not None and _is_array_to(x, y):
        interpreter.build.refuse("NumPy makes an array of the object here, and asks no method of it", "put it first")
    return out if out is not None else called(interpreter, y, f"__r{name}__", x)


def _is_array_to(x: Any, y: TupleValue) -> bool:
    """Does NumPy, whose value x comes first, take the object y for an array, or for each element anew?"""
    cls = y.kind.cls if isinstance(y.kind, RecordKind) else y.kind
    if hasattr(cls, "__array_ufunc__") or hasattr(cls, "__array_priority__"):
        return False
    is_sequence = hasattr(cls, "__array__") or (hasattr(cls, "__len__") and hasattr(cls, "__getitem__"))
    is_numpy = isinstance(x, ArrayValue) or (isinstance(x, Scalar) and not x.weak)
    return is_numpy and (is_sequence or (isinstance(x, ArrayValue) and x.ndim > 0))


def in_place(op: str) -> str:
    """The method for x += y."""
    return f"__i{NAMES.get(op, op)}__"


def refuse_object(interpreter: Interpreter, value: Any, what: str, *names: str) -> None:
    """For what an object does not do, or does by a method that is not called here."""
    if records.is_record(value) or any(own(value, name) for name in names):
        kind = type(value.value) if isinstance(value, Static) else value.kind
        cls = kind.cls if records.is_record(value) else kind
        name = compositions.class_of(cls).__name__
        interpreter.build.refuse(f"{what} of a {name} is not supported", "call a method of it by its name")


def refuse_new(interpreter: Interpreter, cls: type) -> None:
    """For a class that makes its objects in a way of its own."""
    new = getattr(cls, "__new__", None)
    if inspect.isfunction(new) and not new.__code__.co_filename.startswith("<"):
        interpreter.build.refuse(f"{cls.__name__} has a __new__ of its own, which is not supported")


__all__ = ["called", "in_place", "operation", "own", "refuse_new", "refuse_object"]
