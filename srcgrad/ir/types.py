"""The types of arguments and results: what a function is specialised to.

`ArrayType(float64, ndim=2)`, `ScalarType(float64, weak=True)` (a Python float), `TupleType((...))`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..runtime.errors import filled


@dataclass(frozen=True)
class ScalarType:
    """A number.  `weak`: a Python number, which takes the dtype of the NumPy value that it meets (NEP 50)."""

    dtype: np.dtype
    weak: bool = False

    @property
    def name(self) -> str:
        return type(self.dtype.type(0).item()).__name__ if self.weak else f"np.{self.dtype.type.__name__}"

    def number(self, value: Any) -> Any:
        """A value as a number of this type; of one that stood among complex ones, what it was."""
        number = self.dtype.type(value if self.dtype.kind == "c" else value.real)
        return number.item() if self.weak else number


@dataclass(frozen=True)
class ArrayType:
    """An array of `ndim` axes; `layout` is "C", "F" or "A" (any).  `on_device`: it lies in the memory of a GPU."""

    dtype: np.dtype
    ndim: int
    layout: str = "C"
    on_device: bool = False


@dataclass(frozen=True)
class TupleType:
    """A tuple of fixed structure (or a list, a dict, an object: what `kind` makes of the items)."""

    items: tuple[Any, ...]
    kind: Any = tuple


def arrays_in(kind: Any) -> list[ArrayType]:
    """The arrays in a structure of types."""
    if isinstance(kind, TupleType):
        return [found for item in kind.items for found in arrays_in(item)]
    return [kind] if isinstance(kind, ArrayType) else []


SETS = (set, frozenset)


@dataclass(frozen=True)
class DictKind:
    """Dicts with these keys; or sets, which have no more than their keys.

    `default` makes what is under a key that is not there yet.
    """

    keys: tuple[Any, ...]
    cls: type = dict
    default: Any = None

    def __eq__(self, other: object) -> bool:
        """1, 1.0 and True are one key, and not the same to those who read it."""
        if not isinstance(other, DictKind) or (self.cls, self.default) != (other.cls, other.default):
            return False
        return self.keys == other.keys and _classes(self.keys) == _classes(other.keys)

    def __hash__(self) -> int:
        return hash((self.keys, self.cls))

    def __call__(self, *items: Any) -> Any:
        if self.cls in SETS:
            return self.cls(self.keys)
        made = zip(self.keys, items, strict=True)
        return defaultdict(None, made) if self.cls is defaultdict else self.cls(made)


def _classes(key: Any) -> Any:
    return tuple(map(_classes, key)) if isinstance(key, tuple) else type(key)


@dataclass(frozen=True)
class RecordKind:
    """Instances of a class with these attributes."""

    cls: type
    keys: tuple[str, ...]

    def __call__(self, *items: Any) -> Any:
        """An instance as it is, without the checks and conversions of its `__init__`."""
        maker = SimpleNamespace if self.cls is SimpleNamespace else object
        out: Any = maker.__new__(self.cls)
        for name, item in zip(self.keys, items, strict=True):
            object.__setattr__(out, name, item)
        return out


@dataclass(frozen=True)
class ListKind:
    """Lists as long as the array that holds their items, and lists or tuples in them: one of `kinds` for each axis.

    `weak`: the items are Python's numbers; or what stands at each place of the innermost, where that differs.
    """

    kinds: tuple[type, ...]
    weak: bool | tuple[ScalarType, ...]

    def __call__(self, rows: np.ndarray) -> Any:
        kind, *inner = self.kinds
        if inner:
            return kind(map(ListKind(tuple(inner), self.weak), rows))
        if isinstance(self.weak, tuple):
            places = self.weak * len(rows) if len(self.weak) == 1 else self.weak
            return kind(place.number(value) for place, value in zip(places, rows, strict=True))
        return kind(rows.tolist() if self.weak else rows)


@dataclass(frozen=True)
class TextKind:
    """Texts that are the same but for the numbers in their fields."""

    text: str

    def __call__(self, *numbers: Any) -> str:
        return filled(self.text, iter(numbers))


@dataclass(frozen=True)
class ChosenKind:
    """One of these texts, or None: a number says which."""

    options: tuple[str | None, ...]

    def __call__(self, number: Any) -> str | None:
        return self.options[int(number)]


@dataclass(frozen=True)
class StaticType:
    """Anything that is known when the function is specialised: a string, None, a function.

    `text` tells apart what is equal: 1, 1.0 and True.
    """

    value: Any
    text: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StaticType) or self.text != other.text:
            return False
        return self.value is other.value or bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((self.value, self.text))


ValueType = ScalarType | ArrayType | TupleType | StaticType


def type_leaves(kind: Any) -> list[Any]:
    if isinstance(kind, TupleType):
        return [leaf for item in kind.items for leaf in type_leaves(item)]
    return [] if isinstance(kind, StaticType) else [kind]
