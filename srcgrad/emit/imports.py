"""The lines that import what generated text calls by name.

raise MyError("…"), total_of(x)      →      from model import MyError
                                            from srcgrad.runtime import total_of
"""

from __future__ import annotations

import keyword
import operator
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from ..rules.device import ARRAY_NAMES, HOST_NAMES, LIBRARY
from ..rules.device import NAMES as DEVICE_NAMES
from ..runtime.errors import Told

NAMESPACES = {
    "special": "scipy_special as special",
    "user": "user",
}  # modules of the runtime, as generated text calls them


def imports_of(text: str) -> list[str]:
    lines = ["import numpy as np"]
    if "prange(" in text:
        lines.append("from numba import prange")
    lines += ["from srcgrad import stop_gradient"] if "stop_gradient(" in text else []
    lines += _namespaces(text)
    return lines + _import("srcgrad.runtime", _runtime_names(), text)


def _namespaces(text: str) -> list[str]:
    qualifiers = frozenset(re.findall(r"(?<![\w.])(\w+)\.", text))
    return [f"from srcgrad.runtime import {module}" for word, module in NAMESPACES.items() if word in qualifiers]


def imports_on_device(text: str) -> list[str]:
    lines = ["import numpy as np", *(["import numba"] if "numba." in text else [])]
    lines += ["from numba import cuda"] if "cuda." in text else []
    modules = {"": HOST_NAMES, "_math": DEVICE_NAMES, "_arrays": ARRAY_NAMES, "_library": LIBRARY}
    for module, names in modules.items():
        lines += _import(f"srcgrad.runtime.device{module}", names, text)
    known = {name for names in modules.values() for name in names} | set(_error_names())
    lines += _namespaces(text) + _import("srcgrad.runtime", [n for n in _runtime_names() if n not in known], text)
    errors = sorted(frozenset(re.findall(r"\w+", text)).intersection(_error_names()))
    return lines + ([f"from srcgrad.runtime.errors import {', '.join(errors)}"] if errors else [])


def imports_of_libraries(functions: Iterable[str]) -> list[str]:
    """The same of functions that are called by their full names."""
    modules = {name.rpartition(".")[0] for name in functions}
    return [f"import {module}" for module in sorted(modules) if module.startswith("scipy.")]


def _import(module: str, names: Sequence[str], text: str) -> list[str]:
    """The line that imports what the text calls of a module."""
    called = sorted(_called(text).intersection(names))
    return [f"from {module} import {', '.join(called)}"] if called else []


@lru_cache(maxsize=1)
def _called(text: str) -> frozenset[str]:
    """The names that a text calls (where a long line is broken, on the next one) or decorates with."""
    return frozenset(name for pair in re.findall(r"(?<![\w.])(\w+)\s*\(|@(\w+)", text) for name in pair)


def _runtime_names() -> list[str]:
    from .. import runtime

    return runtime.__all__


@cache
def _error_names() -> tuple[str, ...]:
    from ..runtime import errors

    return tuple(errors.__all__)


def imports_of_objects(objects: Mapping[str, Any], text: str) -> list[str]:
    """The same of objects that a module is handed, where they are found by their names."""
    called = [name for name in sorted(_called(text).intersection(objects)) if is_found(objects[name])]
    pythons = [name for name in called if _is_told(objects[name]) and full_name(objects[name])[0] == "builtins"]
    lines = [line for name in called if name not in pythons for line in _import_of_object(name, objects[name])]
    return lines + ([f"from srcgrad.runtime.errors import {', '.join(pythons)}"] if pythons else [])


def _import_of_object(name: str, obj: Any) -> list[str]:
    module, path = full_name(obj)
    first, *inner = f"{path}".split(".")
    if not all(word.isidentifier() and not keyword.iskeyword(word) for word in (*f"{module}".split("."), name)):
        return []
    lines = [f"from {module} import {first}" + (f" as {name}" if name != first else "")]
    found = ".".join([name, *inner])
    if _is_told(obj):
        return [*lines, "from srcgrad.runtime.errors import as_told", f"{name} = as_told({found})"]
    return [*lines, f"{name} = {found}"] if inner else lines


def is_found(obj: Any) -> bool:
    """Is it this very object that has its name?"""
    module, name = full_name(obj)
    try:
        return operator.attrgetter(f"{name}")(sys.modules[f"{module}"]) is (obj.error if _is_told(obj) else obj)
    except (AttributeError, KeyError):
        return False


def full_name(obj: Any) -> tuple[str | None, str | None]:
    """The module of an object and its name there; of a class that makes errors, those of the errors'."""
    obj = obj.error if _is_told(obj) else obj
    return getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)


def _is_told(obj: Any) -> bool:
    return isinstance(obj, type) and issubclass(obj, Told)
