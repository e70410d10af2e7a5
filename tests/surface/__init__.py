"""The surface: every supported function of NumPy and SciPy in its spellings, one module per family."""

from __future__ import annotations

import importlib
import pkgutil

from .registry import Call, module_of

FAMILIES: dict[str, list[Call]] = {
    module.name: importlib.import_module(f"{__name__}.{module.name}").CALLS
    for module in pkgutil.iter_modules(__path__)
    if module.name != "registry"
}

__all__ = ["FAMILIES", "Call", "module_of"]
