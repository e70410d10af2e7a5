"""A function as bytes, for other processes: by its name, or with its code and its source where it has none there.

pack(lambda x: a * x)   →   bytes;   unpack(bytes) is a function, whose source srcgrad can read
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable
from typing import Any

from numba import cloudpickle


def has_name(function: Any) -> bool:
    """Can another process import it?"""
    if not inspect.isfunction(function):
        return True  # a method: it goes with its object
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function and function.__module__ != "__main__"


def pack(function: Callable[..., Any]) -> bytes:
    file = function.__code__.co_filename
    return cloudpickle.dumps((function, file, linecache.getlines(file)))


def unpack(packed: bytes) -> Any:
    function, file, lines = cloudpickle.loads(packed)
    if lines and not linecache.getlines(file):  # a notebook's cell, or a file of another machine
        linecache.cache[file] = sum(map(len, lines)), None, lines, file
    return function
