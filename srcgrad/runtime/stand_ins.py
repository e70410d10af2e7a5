"""Functions that compiled code does not call: an intrinsic is put in their places.

Numba compiles a function, and all that stands behind it, for every program that calls it, a tenth of a second each; an
intrinsic is a few lines of LLVM's language where the call was.
"""

from __future__ import annotations

from typing import Any

STAND_INS: dict[Any, Any] = {}  # the function → its intrinsic

__all__ = ["STAND_INS"]
