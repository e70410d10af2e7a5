"""Sorting and searching, of rows in C order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from srcgrad.runtime.linked import linked, overload

FEW = 100  # elements: fewer are inserted one by one, the others are dealt out by their digits
DIGIT = 11  # bits
DIGITS = 6


@linked
def argsort(order: Any, x: Any) -> None:
    """order[..., :] = the stable order of x[..., :], nan last."""
    n = x.shape[-1]
    rows = x.reshape(-1, n) if n else x.reshape(0, 1)
    out = order.reshape(rows.shape)
    for i in range(rows.shape[0]):
        found = stable_order(rows[i])
        for k in range(n):  # compiled in a fraction of the time of out[i] = found
            out[i, k] = found[k]


def stable_order(x: Any) -> Any:
    """np.argsort, equal elements in the order of their places."""
    return np.argsort(x, kind="stable")


@overload(stable_order)
def _stable_order(x):
    if isinstance(x.dtype, types.Float):

        def of_floats(x):
            values = np.empty(x.size)
            for i in range(x.size):
                values[i] = x[i] + 0.0  # -0.0 equals 0.0
            keys = values.view(np.uint64)
            sign, every = np.uint64(1 << 63), np.uint64(0xFFFFFFFFFFFFFFFF)
            for i in range(x.size):
                if np.isnan(values[i]):
                    keys[i] = every
                elif keys[i] & sign:
                    keys[i] = ~keys[i]
                else:
                    keys[i] = keys[i] | sign
            return order_of(keys)

        return of_floats

    flip = 1 << 63 if x.dtype.signed else 0

    def of_integers(x):
        keys = np.empty(x.size, np.uint64)
        for i in range(x.size):
            keys[i] = np.uint64(x[i]) ^ np.uint64(flip)
        return order_of(keys)

    return of_integers


@linked
def order_of(keys: Any) -> Any:
    """The order of whole numbers: few are inserted one by one."""
    if keys.size >= FEW:
        return order_by_digits(keys)
    order = np.arange(keys.size)
    for i in range(1, keys.size):
        k = i
        while k > 0 and keys[order[k - 1]] > keys[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    return order


@linked
def order_by_digits(keys: Any) -> Any:
    """The order of whole numbers, dealt out by one digit after the other, the lowest first."""
    n, mask = keys.size, np.uint64((1 << DIGIT) - 1)
    counts = np.zeros((DIGITS, 1 << DIGIT), np.int64)
    for i in range(n):
        for digit in range(DIGITS):
            counts[digit, (keys[i] >> np.uint64(DIGIT * digit)) & mask] += 1
    order, order_next, keys_next = np.arange(n), np.empty(n, np.int64), np.empty_like(keys)
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
    return order


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


__all__ = ["argsort", "search_left", "search_right"]
