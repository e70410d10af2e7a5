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

_being_packed: list[Any] = []


def has_name(function: Any) -> bool:
    """Can another process import it?"""
    if not inspect.isfunction(function):
        return True  # a method: it goes with its object
    return is_found(function, function.__module__, function.__qualname__)


def is_found(value: Any, module: str, qualname: str) -> bool:
    """Would an import give this very object?"""
    return module != "__main__" and found(module, qualname) is value


def found(module: str, qualname: str) -> Any:
    """What has this name in a module, or None."""
    value: Any = sys.modules.get(module)
    for part in qualname.split("."):
        value = getattr(value, part, None)
    return value


def pack(function: Callable[..., Any]) -> bytes:
    file = function.__code__.co_filename
    return cloudpickle.dumps((function, file, linecache.getlines(file)))


def unpack(packed: bytes) -> Any:
    function, file, lines = cloudpickle.loads(packed)
    if lines and not linecache.getlines(file):  # a notebook's cell, or a file of another machine
        linecache.cache[file] = sum(map(len, lines)), None, lines, file
    return function


def reduced(made: Any, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What `__reduce__` gives for an object that was made of a function: its name, or how to make it again."""
    if is_found(made, made.__module__, made.__qualname__):
        return made.__qualname__
    if has_name(function) or made in _being_packed:  # it calls itself: the function is in hand
        return _remade, (type(made), function, options)
    _being_packed.append(made)
    try:
        return _unpacked, (type(made), made.__module__, made.__qualname__, pack(function), options)
    finally:
        _being_packed.remove(made)


def _remade(kind: type[Any], function: Callable[..., Any], options: dict[str, Any]) -> Any:
    return kind(function, **options)


def _unpacked(kind: type[Any], module: str, qualname: str, packed: bytes, options: dict[str, Any]) -> Any:
    """What was packed with its code: itself, where this is the process that it is from."""
    function, here = unpack(packed), found(module, qualname)
    is_same = isinstance(here, kind) and here.py_func.__code__ == function.__code__
    return here if is_same and here._options == options else kind(function, **options)
