"""Values that are Python objects now, and what these are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..ir.expressions import Const
from ..ir.types import DictKind
from .array_values import ArrayValue
from .values import Items, Scalar, Slice, Static, Template, TupleValue

if TYPE_CHECKING:
    from .interpret import Interpreter


def refuse_template(interpreter: Interpreter, *values: Any) -> None:
    if any(isinstance(value, Static) and isinstance(value.value, Template) for value in values):
        interpreter.build.refuse(
            "a text of numbers that are only known at run time is for messages", "compare the numbers"
        )


def is_known(value: Any) -> bool:
    """Is it a Python object now, with nothing in it that is known at run time only?"""
    match value:
        case TupleValue(items=items):
            return all(map(is_known, items))
        case Slice(start=start, stop=stop, step=step):
            return all(part is None or is_known(part) for part in (start, stop, step))
        case Scalar():
            return value.is_constant
    return isinstance(value, Static) and not isinstance(value.value, Template)


def as_python_says(problem: Exception, *values: Any) -> str:
    """What Python raised over these, which stand for values of its own types."""
    text = str(problem)
    for value in values:
        if isinstance(value, Scalar):
            own = type(value.dtype.type(0).item()).__name__ if value.weak else f"numpy.{value.dtype}"
        elif isinstance(value, (ArrayValue, TupleValue, Items)):
            own = "numpy.ndarray" if isinstance(value, ArrayValue) else getattr(value.kind, "__name__", "dict")
        else:
            continue
        text = re.sub(rf"(['\"]){type(value).__name__}\1", rf"\g<1>{own}\1", text)
    return text


def plain(value: Any) -> Any:
    """The Python object behind a value that is known."""
    match value:
        case Static(value=item):
            return item
        case Scalar(expr=Const(value=number)):
            return number
        case TupleValue(items=items, kind=kind):
            plain_items = [plain(item) for item in items]
            return kind(*plain_items) if isinstance(kind, DictKind) else (list if kind is list else tuple)(plain_items)
        case Slice(start=start, stop=stop, step=step):
            return slice(*(None if part is None else plain(part) for part in (start, stop, step)))
    return value
