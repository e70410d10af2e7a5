"""Objects of SciPy's from outside: what stands for them, with what they hold handed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rules import compositions
from ..calls import calls_in_place
from ..outside import InObject
from ..values import NONE, Static

if TYPE_CHECKING:
    from ..interpret import Interpreter


def of_library(interpreter: Interpreter, target: Any) -> Any | None:
    """An object of SciPy's from outside as what stands for it: what it holds is handed in, as globals are."""
    if (found := compositions.made_of(type(target))) is None:
        return None
    names, composition = found
    held = [
        interpreter.outside(name.strip("_"), InObject(target, name)) if hasattr(target, name) else NONE
        for name in names
    ]  # (which of them it has is decided where it is made)
    return calls_in_place.call_composition(interpreter, composition, held, {})


def as_made_here(interpreter: Interpreter, value: Any) -> Any:
    """What stands for an object of SciPy's from outside; anything else is what it is."""
    if not isinstance(value, Static):
        return value
    made, module = of_library(interpreter, value.value), type(value.value).__module__
    if made is None and module.startswith("scipy.sparse."):
        what = f"a {type(value.value).__name__} of scipy.sparse can't be computed with"
        interpreter.build.refuse(what, "make it one of compressed rows ahead of the function:  A = A.tocsr()")
    return value if made is None else made
