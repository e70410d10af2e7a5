"""Sorting and searching, of rows in C order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable


@register_jitable
def argsort(order: Any, x: Any) -> None:
    """order[..., :] = the stable order of x[..., :], nan last."""
    n = x.shape[-1]
    rows = x.reshape(-1, n) if n else x.reshape(0, 1)
    out = order.reshape(rows.shape)
    for i in range(rows.shape[0]):
        out[i] = np.argsort(rows[i], kind="mergesort")


@register_jitable
def search_left(found: Any, table: Any, x: Any) -> None:
    """found = how many of the sorted table are less than x"""
    out, points = found.reshape(found.size), x.reshape(x.size)
    for i in range(points.size):
        out[i] = np.searchsorted(table, points[i])


@register_jitable
def search_right(found: Any, table: Any, x: Any) -> None:
    """found = how many of the sorted table are at most x"""
    out, points = found.reshape(found.size), x.reshape(x.size)
    for i in range(points.size):
        out[i] = np.searchsorted(table, points[i], side="right")


__all__ = ["argsort", "search_left", "search_right"]
