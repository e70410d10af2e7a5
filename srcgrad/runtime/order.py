"""Sorting and searching, of rows in C order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from srcgrad.runtime.linked import linked, overload
from srcgrad.runtime.numpy_sorts import SORTED, sort_numbers

FEW = 100  # elements: fewer are inserted one by one, the others are dealt out by their digits
FEW_TO_SORT = 12  # … where the others are sorted by NumPy
DIGIT = 11  # bits
DIGITS = 6


SIGN, NOT_A_NUMBER = np.uint64(1 << 63), np.uint64(0xFFF8 << 48)


def argsort(order: Any, x: Any) -> None:
    """order[..., :] = the stable order of x[..., :], nan last."""
    order[...] = np.argsort(x, axis=-1, kind="stable")


@overload(argsort)
def _argsort(order, x):
    whole = _put_keys_of_signed if getattr(x.dtype, "signed", True) else _put_keys_of_unsigned
    put_keys = _put_keys_of_floats if isinstance(x.dtype, types.Float) else whole
    few, order_many = (FEW_TO_SORT, order_by_words) if "uint64" in SORTED else (FEW, order_by_digits)

    def argsort(order, x):
        n = x.shape[-1]
        rows = x.reshape(-1, n) if n else x.reshape(0, 1)
        out = order.reshape(rows.shape)
        keys = np.empty(n, np.uint64)
        for i in range(rows.shape[0]):
            put_keys(keys, rows[i])
            if n < few:
                order_one_by_one(out[i], keys)
            else:
                order_many(out[i], keys)

    return argsort


@linked
def _put_keys_of_floats(keys: Any, x: Any) -> None:
    """keys = whole numbers that are ordered as x is"""
    values = keys.view(np.float64)
    for i in range(x.size):
        values[i] = x[i]
    for i in range(x.size):
        if np.isnan(values[i]):
            keys[i] = NOT_A_NUMBER
        elif keys[i] < SIGN:
            keys[i] = keys[i] + SIGN
        else:  # a magnitude becomes a difference: -0.0 is 0.0, and what is round stays so
            keys[i] = ~keys[i] + np.uint64(1)


@linked
def _put_keys_of_signed(keys: Any, x: Any) -> None:
    for i in range(x.size):
        keys[i] = np.uint64(x[i]) ^ SIGN


@linked
def _put_keys_of_unsigned(keys: Any, x: Any) -> None:
    for i in range(x.size):
        keys[i] = np.uint64(x[i])


@linked
def order_one_by_one(order: Any, keys: Any) -> None:
    """order = the order of a few whole numbers"""
    for i in range(keys.size):
        k, key = i, keys[i]
        while k > 0 and keys[order[k - 1]] > key:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i


@linked
def order_by_words(order: Any, keys: Any) -> None:
    """order = the order of whole numbers: their upper digits and their places, in one word each, are sorted as numbers.

    So equal ones stay in the order of their places.  Where a word has no room for all digits, there are most often few
    numbers that the rest tells apart.
    """
    n, digits, lowest, for_place = keys.size, 0, 0, 0
    least = keys[0]
    for i in range(n):
        least = min(least, keys[i])
    some = np.uint64(0)
    for i in range(n):
        some |= keys[i] - least
    while some != 0 and some & np.uint64(1) == 0:  # zero in all
        some >>= np.uint64(1)
        lowest += 1
    while some != 0:
        some >>= np.uint64(1)
        digits += 1
    if digits <= DIGIT and lowest // DIGIT == (lowest + digits - 1) // DIGIT:  # one round, of few different numbers
        order_by_digits(order, keys)
        return
    while n > 1 << for_place:
        for_place += 1
    rest = max(digits + for_place - 64, 0)
    words = np.empty(n, np.uint64)
    _sort_words(words, keys, least, lowest + rest, for_place)
    _places_in(order, words, for_place)
    if rest > 0 and not _is_put_right(order, words, keys, for_place):  # by the rest first, and then by what is above it
        for i in range(n):
            words[i] = (keys[i] - least) << np.uint64(64 - lowest - rest)
        by_rest, upper = np.empty(n, np.int64), np.empty(n, np.uint64)
        _sort_words(words, words, np.uint64(0), 64 - rest, for_place)
        _places_in(by_rest, words, for_place)
        for i in range(n):
            upper[i] = keys[by_rest[i]]
        _sort_words(words, upper, least, lowest + rest, for_place)
        _places_in(order, words, for_place)
        for i in range(n):
            order[i] = by_rest[order[i]]


@linked
def _sort_words(words: Any, keys: Any, least: Any, below: int, for_place: int) -> None:
    """words = the digits of `keys - least` from `below` on, above the place; sorted"""
    for i in range(words.size):
        words[i] = (keys[i] - least) >> np.uint64(below) << np.uint64(for_place) | np.uint64(i)
    sort_numbers(words)


@linked
def _places_in(order: Any, words: Any, for_place: int) -> None:
    mask = (np.uint64(1) << np.uint64(for_place)) - np.uint64(1)
    for i in range(words.size):
        order[i] = words[i] & mask


@linked
def _is_put_right(order: Any, words: Any, keys: Any, for_place: int) -> bool:
    """Put those in order that agree in what was sorted.  Where that is much, leave it."""
    moved, agreed, before = 0, False, keys[0]
    for i in range(1, words.size):
        agree = (words[i] ^ words[i - 1]) >> np.uint64(for_place) == 0
        if agree:
            place, k = order[i], i
            here = keys[place]
            if not agreed:
                before = keys[order[i - 1]]
            if here >= before:
                before = here
            else:
                while k > 0 and keys[order[k - 1]] > here:
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = place
                moved += i - k
                if moved > words.size:
                    return False
        agreed = agree
    return True


@linked
def order_by_digits(out: Any, keys: Any) -> None:
    """out = the order of whole numbers, dealt out by one digit after the other, the lowest first."""
    n, mask = keys.size, np.uint64((1 << DIGIT) - 1)
    counts = np.zeros((DIGITS, 1 << DIGIT), np.int64)
    for i in range(n):
        for digit in range(DIGITS):
            counts[digit, (keys[i] >> np.uint64(DIGIT * digit)) & mask] += 1
    keys, keys_next = keys.copy(), np.empty_like(keys)
    order, order_next = np.arange(n), np.empty(n, np.int64)
    for digit in range(DIGITS):
        shift, places = np.uint64(DIGIT * digit), counts[digit]
        if places[(keys[0] >> shift) & mask] == n:
            continue  # the same digit in all
        start = 0
        for k in range(places.size):
            count = places[k]
            places[k] = start
            start += count
        for i in range(n):
            value = (keys[i] >> shift) & mask
            keys_next[places[value]] = keys[i]
            order_next[places[value]] = order[i]
            places[value] += 1
        keys, keys_next = keys_next, keys
        order, order_next = order_next, order
    for i in range(n):  # compiled in a fraction of the time of out[...] = order
        out[i] = order[i]


def sort_rows(out: Any, x: Any) -> None:
    """out[..., :] = x[..., :] sorted, nan last."""
    out[...] = np.sort(x, axis=-1, kind="stable")


@overload(sort_rows)
def _sort_rows(out, x):
    in_numpy = str(x.dtype) in SORTED
    are_floats = isinstance(x.dtype, types.Float)

    def by_numpy(out, x):
        n = x.shape[-1]
        rows = x.reshape(-1, n) if n else x.reshape(0, 1)
        to = out.reshape(rows.shape)
        for i in range(rows.shape[0]):
            for k in range(n):
                to[i, k] = rows[i, k]
            sort_numbers(to[i])
            if are_floats:
                _put_as_they_stood(to[i], rows[i])

    def by_their_order(out, x):
        n = x.shape[-1]
        rows = x.reshape(-1, n) if n else x.reshape(0, 1)
        to, order = out.reshape(rows.shape), np.empty(rows.shape, np.int64)
        argsort(order, rows)
        for i in range(rows.shape[0]):
            for k in range(n):
                to[i, k] = rows[i, order[i, k]]

    return by_numpy if in_numpy else by_their_order


@linked
def _put_as_they_stood(y: Any, x: Any) -> None:
    """y = x sorted, with the zeros of both signs, and what is nan, in their order in x: NumPy makes them alike."""
    low, high = 0, y.size
    while low < high:
        middle = (low + high) // 2
        if y[middle] < 0:
            low = middle + 1
        else:
            high = middle
    if low < y.size and y[low] == 0:
        for k in range(x.size):
            if x[k] == 0:
                y[low] = x[k]
                low += 1
    end = y.size
    while end > 0 and np.isnan(y[end - 1]):
        end -= 1
    if end < y.size:
        for k in range(x.size):
            if np.isnan(x[k]):
                y[end] = x[k]
                end += 1


@linked
def search_left(found: Any, table: Any, x: Any) -> None:
    """found = how many of the sorted table are less than x"""
    out, points = found.reshape(found.size), x.reshape(x.size)
    for i in range(points.size):
        out[i] = np.searchsorted(table, points[i])


@linked
def search_right(found: Any, table: Any, x: Any) -> None:
    """found = how many of the sorted table are at most x"""
    out, points = found.reshape(found.size), x.reshape(x.size)
    for i in range(points.size):
        out[i] = np.searchsorted(table, points[i], side="right")


__all__ = ["argsort", "search_left", "search_right", "sort_rows"]
