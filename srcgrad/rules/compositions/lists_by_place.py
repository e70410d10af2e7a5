"""Lists of which a number that only a run knows says which one grows: `cells[k].append(i)`.

All items lie in one list, as they come; of each item it is known which one follows it in its own list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from srcgrad.rules.compositions.registry import OF_PYTHON

OF_PYTHON.add(__name__)
CHANGED = "a loop changes the list that it runs over: run over a copy, list(ys)"


class ListOfLists:
    __class__ = list  # type: ignore[assignment]  # what isinstance asks

    def __init__(self, n: Any) -> None:
        self.lengths = np.zeros(n, dtype=np.int64)
        self.first = np.full(n, -1)
        self.last = np.full(n, -1)
        self.cleared = np.zeros(n, dtype=np.int64)  # how often
        self.items: list[Any] = []
        self.following: list[Any] = []

    def __len__(self) -> Any:
        return len(self.lengths)

    def __getitem__(self, k: Any) -> ListThatGrows:
        if isinstance(k, slice):
            raise NotImplementedError("a slice of lists of which only a run knows which one grows is not supported")
        return ListThatGrows(self, place_in(k, len(self.lengths)))

    def __iter__(self) -> Iterator[ListThatGrows]:
        for k in range(len(self.lengths)):
            yield ListThatGrows(self, k)


class ListThatGrows:
    __class__ = list  # type: ignore[assignment]

    def __init__(self, lists: ListOfLists, k: Any) -> None:
        self.lists = lists
        self.k = k

    def append(self, x: Any) -> None:
        lists, k, place = self.lists, self.k, len(self.lists.items)
        lists.items.append(x)
        lists.following.append(-1)
        if lists.lengths[k] > 0:
            lists.following[lists.last[k]] = place
        else:
            lists.first[k] = place
        lists.last[k] = place
        lists.lengths[k] += 1

    def extend(self, iterable: Any) -> None:
        for x in list(iterable):  # it may be this one
            self.append(x)

    def clear(self) -> None:
        self.lists.cleared[self.k] += 1
        self.lists.lengths[self.k] = 0
        self.lists.first[self.k] = -1

    def __len__(self) -> Any:
        return int(self.lists.lengths[self.k])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return items_of(self)[i]
        at = place_in(i, len(self))
        if at == len(self) - 1:
            return self.lists.items[self.lists.last[self.k]]
        place = self.lists.first[self.k]
        for _ in range(at):
            place = self.lists.following[place]
        return self.lists.items[place]

    def __add__(self, more: Any) -> Any:
        return items_of(self) + list(more)

    def __contains__(self, x: Any) -> Any:
        lists, place, is_there = self.lists, self.lists.first[self.k], False
        for _ in range(len(self)):
            if lists.items[place] == x:
                is_there = True
            place = lists.following[place]
        return is_there

    def __iter__(self) -> Iterator[Any]:
        lists, n, cleared = self.lists, len(self), self.lists.cleared[self.k]
        place = lists.first[self.k]
        for _ in range(n):
            yield lists.items[place]
            if lists.cleared[self.k] != cleared:
                raise RuntimeError(CHANGED)
            place = lists.following[place]
        if len(self) != n:
            raise RuntimeError(CHANGED)


def place_in(k, n):
    if np.ndim(k) > 0:
        raise TypeError("list indices must be integers or slices, not numpy.ndarray")
    if k >= n or k < -n:
        raise IndexError("list index out of range")
    return k + n if k < 0 else k


def lists_of(iterable):
    """[[] for _ in iterable]"""
    return ListOfLists(len(iterable))


def items_of(sequence):
    """What NumPy makes an array of, and what a comprehension runs over."""
    lists, n = sequence.lists, len(sequence)
    places, place = np.empty(n, dtype=np.int64), lists.first[sequence.k]
    for i in range(n):
        places[i] = place
        place = lists.following[place]
    return [lists.items[places[i]] for i in range(n)]


def state_of(sequence):
    """How long it is, and how often it has been cleared."""
    return len(sequence), sequence.lists.cleared[sequence.k]


def check_unchanged(sequence, before):
    if state_of(sequence) != before:
        raise RuntimeError(CHANGED)


def is_one(kind: Any) -> bool:
    """Is it the kind of the objects that stand for such a list?"""
    return getattr(kind, "cls", None) is ListThatGrows


def are_several(kind: Any) -> bool:
    """Is it the kind of those that stand for a list of them?"""
    return getattr(kind, "cls", None) is ListOfLists
