"""Functions of SciPy: those of modules that take long to import are read once the user has imported these."""

from __future__ import annotations

import importlib
import pkgutil
import sys

WAITING = {  # modules whose import takes as long as half of ours
    "distances": "scipy.spatial.distance",
    "distribution_functions": "scipy.stats",
    "distributions": "scipy.stats",
    "filters": "scipy.ndimage",
    "frozen_distributions": "scipy.stats",
    "grids": "scipy.ndimage",
    "initial_values": "scipy.integrate",
    "integrals": "scipy.integrate",
    "interpolation": "scipy.interpolate",
    "quad": "scipy.integrate",
    "recursive_filters": "scipy.signal",
    "regular_grids": "scipy.interpolate",
    "roots": "scipy.optimize",
    "signals": "scipy.signal",
    "sparse_matrices": "scipy.sparse",
    "splines": "scipy.interpolate",
    "standard_distributions": "scipy.stats",
    "summaries": "scipy.stats",
}

for _module in pkgutil.iter_modules(__path__):
    if _module.name not in WAITING:
        importlib.import_module(f"{__name__}.{_module.name}")


def read_waiting() -> None:
    for name in [name for name, module in WAITING.items() if module in sys.modules]:
        importlib.import_module(f"{__name__}.{name}")
        WAITING.pop(name, None)
