"""Functions of NumPy and SciPy that are said in simpler ones: plain Python, interpreted where the user calls them.

    @means(np.trace, method="trace")
    def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
        return np.diagonal(a, offset, axis1, axis2).sum(axis=-1, dtype=dtype, out=out)

A composition has NumPy's own arguments and defaults (those that it lacks are refused), and is itself a program in the
style that srcgrad differentiates: its derivative needs no rule.  What it raises is raised at the user's line.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from srcgrad.rules.compositions import registry, scipy

for _module in pkgutil.iter_modules(__path__):  # each adds its functions to the registry
    importlib.import_module(f"{__name__}.{_module.name}")

COMPOSITIONS = registry.COMPOSITIONS
METHODS = registry.METHODS
IN_ANY_ORDER = registry.IN_ANY_ORDER
OBJECTS = registry.OBJECTS
DRAWS = registry.DRAWS
PYTHON = registry.PYTHON
OF_PYTHON = registry.OF_PYTHON
ROUTINES = registry.ROUTINES
SEARCHES = registry.SEARCHES


def composition_of(function: Any) -> registry.Composition | None:
    """What stands for a function; what stands for those of a module that waits is read once it is imported."""
    scipy.read_waiting()
    return COMPOSITIONS.get(function)


def class_of(cls: type) -> type:
    """The class that an object has to those who ask: that of Python's, for which ours stands."""
    return vars(cls).get("__class__", cls) if cls.__module__ in OF_PYTHON else cls


def made_of(cls: type) -> tuple[tuple[str, ...], registry.Composition] | None:
    """What stands for objects of a class that were made outside: names of attributes, and what is made of these."""
    scipy.read_waiting()
    return OBJECTS.get(cls)


__all__ = [
    "COMPOSITIONS",
    "DRAWS",
    "IN_ANY_ORDER",
    "METHODS",
    "OBJECTS",
    "OF_PYTHON",
    "PYTHON",
    "ROUTINES",
    "SEARCHES",
    "class_of",
    "composition_of",
    "made_of",
]
