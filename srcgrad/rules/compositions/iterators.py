"""iter(xs), and next of it: what it goes through, and how far it has come."""

from __future__ import annotations

from typing import Any

from srcgrad.rules.compositions.registry import python_means


class Iterator:
    def __init__(self, items: Any) -> None:
        self.items = items
        self.at = 0

    def __iter__(self) -> Any:
        while self.at < len(self.items):
            self.at += 1
            yield self.items[self.at - 1]

    def __next__(self) -> Any:
        if self.at >= len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]

    def next_or(self, default: Any) -> Any:
        if self.at >= len(self.items):
            return default
        self.at += 1
        return self.items[self.at - 1]


def is_one(kind: Any) -> bool:
    """Is it the kind of the objects that stand for iterators?"""
    return getattr(kind, "cls", None) is Iterator


def over(items):
    return Iterator(items)


@python_means(next)
def following(iterator, *default):
    return iterator.next_or(default[0]) if default else iterator.__next__()
