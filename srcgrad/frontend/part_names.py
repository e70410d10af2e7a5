"""What parts of values are called: by how they are reached, so that no two have one name.

state = {"W": {"m": W}}      →      state["W"], and in it state["W"]["m"]  (in generated text: state_W_m)
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from ..ir.types import DictKind, RecordKind
from . import identities
from .values import TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter


def of_item(name: str, value: Any, k: int) -> str:
    """What item `k` is called of what has this name: as no name of the user's."""
    match value:
        case TupleValue(kind=RecordKind(keys=keys)):
            return f"{name}.{keys[k]}"
        case TupleValue(kind=DictKind(keys=keys)) if isinstance(keys[k], (str, int)):
            return f"{name}[{keys[k]!r}]"
        case TupleValue(kind=type()):
            return f"{name}[{k}]"
    return f"{name}.{k}"


def of_list(interpreter: Interpreter, identity: object, taken: Container[str]) -> str:
    """What to call a list or an object: the first name for it, or how it is reached from one."""
    here = interpreter.frame
    others = [frame for frame in identities.frames_of(interpreter) if frame is not here]
    name = next(
        (
            name
            for dots, frame in enumerate([here, *others])  # names in other frames are others
            for name in _reached({"." * dots + name: value for name, value in frame.env.items()}, identity)
        ),
        ".items",
    )
    while name in taken:
        name = f".{name}"
    return name


def _reached(values: dict[str, Any], identity: object) -> Iterator[str]:
    """How it is reached from these, in as few steps as there are."""
    while values:
        yield from (name for name, value in values.items() if getattr(value, "identity", None) is identity)
        values = {
            of_item(name, value, k): part
            for name, value in values.items()
            for k, part in enumerate(identities.parts_of(value))
        }
