"""collections.deque: a list that is taken from at both ends, and keeps its length where it has a greatest one."""

from __future__ import annotations

import collections
from typing import Any

from srcgrad.rules.compositions.registry import python_means


class Deque:
    __class__ = collections.deque  # type: ignore[assignment]  # what isinstance asks

    def __init__(self, iterable: Any, maxlen: Any) -> None:
        self.items: list[Any] = []
        self.maxlen = maxlen
        self.extend(iterable)

    def append(self, x: Any) -> None:
        self.items.append(x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop(0)

    def appendleft(self, x: Any) -> None:
        self.items.insert(0, x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop()

    def extend(self, iterable: Any) -> None:
        for x in iterable:
            self.append(x)

    def extendleft(self, iterable: Any) -> None:
        for x in iterable:
            self.appendleft(x)

    def pop(self) -> Any:
        return self.items.pop()

    def popleft(self) -> Any:
        return self.items.pop(0)

    def rotate(self, n: Any = 1) -> None:
        for _ in range(n % max(len(self.items), 1)):
            self.items.insert(0, self.items.pop())

    def clear(self) -> None:
        self.items.clear()

    def copy(self) -> Deque:
        return Deque(self.items, self.maxlen)

    def count(self, x: Any) -> Any:
        return self.items.count(x)

    def index(self, x: Any) -> Any:
        return self.items.index(x)

    def remove(self, x: Any) -> None:
        self.items.remove(x)

    def reverse(self) -> None:
        self.items.reverse()

    def __len__(self) -> Any:
        return len(self.items)

    def __getitem__(self, i: Any) -> Any:
        return self.items[i]

    def __setitem__(self, i: Any, x: Any) -> None:
        self.items[i] = x

    def __contains__(self, x: Any) -> Any:
        return x in self.items

    def __iter__(self) -> Any:
        return iter(self.items)


def is_one(kind: Any) -> bool:
    """Is it the kind of the objects that stand for deques?"""
    return getattr(kind, "cls", None) is Deque


def items_of(sequence):
    """What NumPy makes an array of."""
    return [sequence[i] for i in range(len(sequence))]


@python_means(collections.deque)
def deque(iterable=(), maxlen=None):
    return Deque(iterable, maxlen)
