"""Where a function finds what it reads from outside: looked at when it is transformed, and again at every call.

    x * scale       InScope(globals, "scale")()  →  what the global is now
    x * model.k     InObject(model, "k")()
    x * both[0]     InGroup(InScope(globals, "both"), 0)(), where FormOf says that `both` is a list of two with arrays

Two looks at the same place have the same `key`.  Places that compiled code can look at (a dict with a name, the cell
of a closure, an object with the name of an attribute) say so in `holder`.
"""

from __future__ import annotations

import builtins
import enum
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from .syntax.source import unwrap

LIBRARIES = ("numpy", "math", "cmath", "scipy")  # modules that stay what they are


class Place(Protocol):
    def __call__(self) -> Any: ...

    @property
    def key(self) -> Any: ...

    @property
    def holder(self) -> tuple[Any, str | None] | None: ...


@dataclass(frozen=True, eq=False)
class InScope:
    """A global."""

    scope: dict[str, Any]
    name: str

    def __call__(self) -> Any:
        if self.name in self.scope:
            return self.scope[self.name]
        if hasattr(builtins, self.name):
            return getattr(builtins, self.name)
        raise NameError(f"name {self.name!r} is not defined")

    @property
    def key(self) -> Any:
        return id(self.scope), self.name

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return (self.scope, self.name) if type(self.scope) is dict else None


@dataclass(frozen=True, eq=False)
class IsGlobal(InScope):
    """Whether there is a global of this name: if not, it is one of Python's own."""

    def __call__(self) -> Any:
        return self.name in self.scope

    @property
    def key(self) -> Any:
        return id(self.scope), self.name, type(self)


@dataclass(frozen=True, eq=False)
class InCell:
    """A variable of a function around."""

    cell: CellType
    reader: Any  # a function whose closure the cell is in

    def __call__(self) -> Any:
        return self.cell.cell_contents

    @property
    def key(self) -> Any:
        return id(self.cell)

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return self.cell, None


@dataclass(frozen=True, eq=False)
class InObject:
    """An attribute of a module, an object or a class."""

    target: Any
    name: str

    def __call__(self) -> Any:
        return getattr(self.target, self.name)

    @property
    def key(self) -> Any:
        return id(self.target), self.name

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        if type(self.target) is dict:  # compiled code would look for an item
            return None
        is_plain = type(self.target) is ModuleType and self.name in vars(self.target)
        return vars(self.target) if is_plain else self.target, self.name


@dataclass(frozen=True, eq=False)
class MadeOf(InObject):
    """What a function or a partial is made of, such as its `__code__`: tools that load files anew replace that in it.

    It must be the same object, or an equal one; what changes inside of it is looked at by itself.
    """

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        is_code = self.name == "__code__" and type(self.target) is FunctionType
        return (self.target, None) if is_code else super().holder


@dataclass(frozen=True, eq=False)
class InClass(InObject):
    """What a class has under a name, where to ask it for that would make another object each time."""

    def __call__(self) -> Any:
        return next(vars(cls)[self.name] for cls in self.target.__mro__ if self.name in vars(cls))

    now = property(__call__)

    @property
    def key(self) -> Any:
        return id(self.target), self.name, type(self)

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return self, "now"


@dataclass(frozen=True, eq=False)
class HasAttribute:
    """Whether an object has an attribute."""

    target: Any
    name: str

    def __call__(self) -> Any:
        return hasattr(self.target, self.name)

    @property
    def key(self) -> Any:
        return id(self.target), self.name, type(self)

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return None


@dataclass(frozen=True, eq=False)
class HasOfItsOwn(HasAttribute):
    """Whether an object itself has an attribute, whatever its class has."""

    def __call__(self) -> Any:
        return self.name in vars(self.target)


@dataclass(frozen=True, eq=False)
class InGroup:
    """An item of a tuple, list or dict that is itself outside."""

    group: Place
    index: Any

    def __call__(self) -> Any:
        return self.group()[self.index]

    @property
    def key(self) -> Any:
        return self.group.key, self.index

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        if not isinstance(self.group, MadeOf):
            return None
        group = self.group()  # (another one is noticed)
        return (group, self.index) if type(group) is dict else ({"value": self()}, "value")


@dataclass(frozen=True, eq=False)
class FormOf:
    """What a group that holds arrays is like, but for its items, which are looked at by themselves."""

    group: Place

    def __call__(self) -> Any:
        group = self.group()
        return type(group), tuple(group) if isinstance(group, dict) else len(group), holds_arrays(group)

    @property
    def key(self) -> Any:
        return self.group.key, type(self)

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return None


@dataclass(frozen=True, eq=False)
class NamesIn(FormOf):
    """The names in a dict, in one text: the same object as long as they are the same, so that looking costs little."""

    def __call__(self) -> str:
        return sys.intern(str(list(self.group())))

    now = property(__call__)

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return self, "now"


@dataclass(frozen=True, eq=False)
class IsSmall(FormOf):
    """Whether a whole number, which may be any, is one of which products of three have 64 bits: Python's are exact."""

    def __call__(self) -> Any:
        return is_small(self.group())


@dataclass(frozen=True, eq=False)
class Fixed:
    """What is there once and for all: an argument that a partial has already, the state of a generator."""

    key: Any
    value: Any
    whose: Any = None  # the object whose id is in the key: no other may have it while this is known

    def __call__(self) -> Any:
        return self.value

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return {"value": self.value}, "value"


@dataclass(frozen=True, eq=False)
class Said:
    """What Python makes of objects, as `str` does, where it was evaluated ahead of time."""

    key: Any
    make: Callable[[], Any]  # holds the objects whose ids are in the key

    def __call__(self) -> Any:
        return self.make()

    @property
    def holder(self) -> tuple[Any, str | None] | None:
        return None


def parts_of_partial(part: Any) -> list[Place]:
    """Where to see whether a partial is another by now: the values of what it was given by name are looked at apart."""
    named = MadeOf(part, "keywords")
    return [MadeOf(part, "func"), MadeOf(part, "args"), named, NamesIn(named)]


def is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_small(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) < 1 << 21  # (NumPy's wrap)


def holds_arrays(value: Any) -> bool:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return isinstance(value, np.ndarray)
    return any(map(holds_arrays, value))


def is_lasting(owner: Any) -> bool:
    """Are its attributes what they are for good: is it of a library, of an enumeration, a value of Python's own?"""
    if inspect.ismodule(owner):
        return owner.__name__.split(".")[0] in LIBRARIES
    kind = owner if isinstance(owner, type) else type(owner)
    return not isinstance(owner, (FunctionType, CellType)) and (
        issubclass(kind, enum.Enum) or kind.__module__.split(".")[0] in ("builtins", "numba", *LIBRARIES)
    )


def may_change(value: Any) -> bool:
    """Is it an object of the user's, or does it hold one, of which Python may say something else at a later call?"""
    if type(value) is dict:
        value = [*value, *value.values()]
    return any(map(may_change, value)) if type(value) in (tuple, list) else not is_lasting(value)


def is_users(target: Any) -> bool:
    plain = unwrap(target) if callable(target) else target
    return inspect.isfunction(plain) and not _is_library(plain)


def _is_library(function: Any) -> bool:
    """NumPy's and SciPy's own Python functions are rules of ours, or nobody's."""
    module = (getattr(function, "__module__", None) or "").split(".")[0]
    return module in ("numpy", "scipy", "math", "cmath", "builtins")
