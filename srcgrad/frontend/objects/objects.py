"""Objects of classes: what makes them, and what their classes say of their attributes.

p = Point(x, y); p.norm()      →      (x, y), with the names of the fields beside them; the property or method is called
"""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABCMeta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, AttributeArgumentError, UnsupportedError
from ...ir.types import RecordKind
from ...rules import compositions
from .. import binding
from ..lists import item_views
from ..outside import InObject
from ..syntax.source import unwrap
from ..values import Bound, Static, TupleValue
from . import records, special_methods

if TYPE_CHECKING:
    from ..interpret import Interpreter


def attribute(interpreter: Interpreter, owner: TupleValue, name: str) -> Any:
    """An attribute of an object: one of its own, or what its class makes of the name."""
    if not records.finds_as_objects_do(owner.kind.cls):
        interpreter.build.refuse(f"{owner.kind.cls.__name__} has a way of its own to find {name}")
    if name in owner.kind.keys:
        return item_views.read(interpreter, owner, records.as_dict(owner)[name])
    if name == "__class__":
        return Static(owner.kind.cls)
    return of_class(interpreter, owner, owner.kind.cls, name)


def of_class(interpreter: Interpreter, owner: TupleValue, cls: type, name: str) -> Any:
    """An attribute that the class of an object has: a property's value, a method, a constant."""
    found = inspect.getattr_static(cls, name, dataclasses.MISSING)
    if found is dataclasses.MISSING and cls.__module__.startswith(compositions.__name__):  # it stands for SciPy's
        interpreter.build.refuse(f".{name} is not supported: srcgrad has no rule for it", error=UnsupportedError)
    if found is dataclasses.MISSING:
        interpreter.build.refuse(f"{cls.__name__!r} object has no attribute {name!r}", error=AttributeArgumentError)
    made = made_for(interpreter, owner, cls, found)
    return interpreter.outside(name, InObject(cls, name)) if made is None else made


def made_for(interpreter: Interpreter, owner: Any, cls: type, found: Any) -> Any | None:
    """What a property or a method that stands in a class is for an object of `cls`; None where it is neither."""
    if isinstance(found, property):
        return interpreter.call_function(found.fget, [owner], {})
    if isinstance(found, staticmethod):
        return Static(found.__func__)
    if isinstance(found, classmethod):
        return Bound(found.__func__, (Static(cls),))
    plain = unwrap(found) if callable(found) else found
    return Bound(plain, (owner,)) if inspect.isfunction(plain) else None


def is_made_here(cls: Any) -> bool:
    """A class of the user's whose instances are no more than their attributes."""
    if not isinstance(cls, type) or not cls.__flags__ & (1 << 9) or issubclass(cls, BaseException):
        return False
    plain = all(base.__flags__ & (1 << 9) for base in cls.__mro__[:-1]) and not inspect.isabstract(cls)
    return plain and cls.__module__.split(".")[0] not in ("numpy", "scipy", "numba") and _has_plain_metaclass(cls)


MAKING_A_CLASS = {"__new__", "__init__", "__prepare__", "__module__", "__qualname__", "__doc__", "__firstlineno__"}


def _has_plain_metaclass(cls: type) -> bool:
    """Metaclasses of the user's own have had their part once the class is made, unless they define more than that."""
    own = [base for base in inspect.getmro(type(cls)) if base not in (ABCMeta, type, object)]
    return all(vars(base).keys() <= MAKING_A_CLASS | {"__static_attributes__", "__annotations__"} for base in own)


def construct(interpreter: Interpreter, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Point(x, y), of a dataclass or a plain class."""
    special_methods.refuse_new(interpreter, cls)
    name = f".made_{id(args)}"
    env = interpreter.env
    env[name] = made = TupleValue((), RecordKind(cls, ()), object())
    if defaults := interpreter.callees.class_defaults.get(cls):
        held = [binding.bind_item(interpreter, key, of_class(interpreter, made, cls, key)) for key in defaults]
        env[name] = records.with_items(made, dict(zip(defaults, held, strict=True)))
    try:
        if inspect.isfunction(cls.__init__):  # type: ignore[misc]
            interpreter.call_function(cls.__init__, [env[name], *args], kwargs)  # type: ignore[misc]
        elif args or kwargs:
            interpreter.build.refuse(f"{cls.__name__}() takes no arguments", error=ArgumentError)
        return env[name]
    finally:
        env.pop(name, None)


def namespace(interpreter: Interpreter, /, *parts: Any, **items: Any) -> TupleValue:
    """types.SimpleNamespace(x=x, n=3)"""
    if parts:
        interpreter.build.refuse("SimpleNamespace of a dict", "types.SimpleNamespace(**items)")
    held = tuple(binding.bind_item(interpreter, name, value) for name, value in items.items())
    return TupleValue(held, RecordKind(SimpleNamespace, tuple(items)), object())
