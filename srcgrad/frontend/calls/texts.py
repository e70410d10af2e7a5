"""Texts with numbers: what is known now is written now, the rest are fields that are filled when the text is shown.

f"s {x.sum():.3f} for {len(x)} of {name}"     →     Template("s {:.3f} for {} of x", (s, n))
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...ir.types import DictKind
from .. import binding, known_values, unpacking
from ..array_values import ArrayValue, whole
from ..values import Scalar, Static, Template, TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter

CONVERSIONS: dict[str, Callable[[Any], Any]] = {"r": repr, "s": str, "a": ascii, "": lambda value: value}
# %(key)-5.2f: what Python's % looks for in a text
FIELD = re.compile(r"%(?P<key>\([^)]*\))?(?P<how>[#0\- +]*(?:\d+)?(?:\.\d+)?[hlL]?[diouxXeEfFgGcrsa%])")


def piece(interpreter: Interpreter, value: Any, conversion: str = "", spec: str = "") -> str:
    """What stands in a text for a value."""
    if isinstance(spec, Template):
        return Template.of([piece(interpreter, value, conversion), Template("", whole=False)])
    how = ("!" + conversion if conversion else "") + (":" + spec if spec else "")
    match value:
        case Static(value=Template() as text):
            return Template.of([text, Template("", whole=how in ("", "!s"))])
        case Scalar() if not value.is_constant:
            return Template(f"{{{how}}}", (binding.for_later(interpreter, value),))
        case TupleValue(items=items, kind=kind) if kind in (tuple, list):
            return _sequence([piece(interpreter, item, "r") for item in items], kind)
        case TupleValue(items=items, kind=DictKind(keys=keys, cls=cls)) if cls is dict:
            named = zip(keys, items, strict=True)
            pairs = [Template.of([repr(key), ": ", piece(interpreter, item, "r")]) for key, item in named]
            return Template.of(["{", *_between(pairs), "}"])
        case Scalar() | Static():
            return _formatted(interpreter, value, conversion, spec)
        case ArrayValue() if is_shown(interpreter, value):
            return Template(f"{{{how}}}", (as_it_is_now(interpreter, value),), whole=False)
    if isinstance(value, ArrayValue) and not interpreter.frame.is_composition:
        lengths = [piece(interpreter, Scalar(dim, weak=True)) for dim in value.dims]
        described = ["array of ", str(value.dtype), ", shape ", _sequence(lengths, tuple), Template("", whole=False)]
        return Template.of(described)
    what = "array" if isinstance(value, ArrayValue) else type(value).__name__.lower()
    return Template(f"{{{{{what}}}}}", whole=False)


def is_shown(interpreter: Interpreter, value: ArrayValue) -> bool:
    """Do texts have the items of the array?  Else they say its dtype and its shape."""
    in_kernel = interpreter.build.for_kernels and bool(interpreter.loops)
    return value.dtype.kind in "fciub" and not interpreter.frame.is_composition and not in_kernel


def as_it_is_now(interpreter: Interpreter, value: ArrayValue) -> ArrayValue:
    """A copy for a field: others may have written to the array when the text is shown."""
    return whole(interpreter.build.materialize(value, "t", copy=True))


def known(value: Any) -> Any:
    """The Python object that a value is, where it is known."""
    if isinstance(value, Scalar):
        return value.value if value.weak else value.dtype.type(value.value)
    return value.value


def _formatted(interpreter: Interpreter, value: Any, conversion: str, spec: str) -> str:
    try:
        item = known(value)
        return interpreter.said(conversion + spec, lambda: format(CONVERSIONS[conversion](item), spec), [item])
    except (TypeError, ValueError) as problem:
        return interpreter.build.refuse(str(problem))


def _sequence(items: list[str], kind: type) -> str:
    if kind is list:
        return Template.of(["[", *_between(items), "]"])
    return Template.of(["(", *_between(items), ",)" if len(items) == 1 else ")"])


def _between(items: list[str]) -> list[str]:
    return [part for item in items for part in (", ", item)][1:]


def format_text(interpreter: Interpreter, text: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """text.format(*args, **kwargs)"""
    given: dict[Any, Any] = dict(enumerate(args)) | kwargs
    if is_known(given.values()):
        plain = list(map(known_values.plain, args))
        named = {name: known_values.plain(value) for name, value in kwargs.items()}
        return interpreter.said(text, lambda: text.format(*plain, **named), [*plain, *named.values()])
    numbers = itertools.count()
    pieces: list[str] = []
    for literal, field, spec, conversion in string.Formatter().parse(text):
        pieces.append(literal)
        if field is not None:
            key: Any = next(numbers) if field == "" else int(field) if field.isdigit() else field
            pieces.append(_chosen(interpreter, given, key, conversion or "", spec or ""))
    return Template.of(pieces)


def join(interpreter: Interpreter, text: str, parts: Any) -> str:
    """text.join(parts)"""
    items = [known_values.plain(item) for item in unpacking.items_of(interpreter, parts)]
    if not all(isinstance(item, str) for item in items):
        interpreter.build.refuse("join takes texts", "make texts of them:  str(y)")
    return Template.of([part for item in items for part in (text, item)][1:])


def _chosen(interpreter: Interpreter, given: dict[Any, Any], key: Any, conversion: str, spec: str) -> str:
    """One field of a text that is formatted; what is looked up inside of a value stays as it is written."""
    if key in given:
        return piece(interpreter, given[key], conversion, Template(spec) if "{" in spec else spec)
    return Template(f"{{{{{key}}}}}", whole=False)


def percent(interpreter: Interpreter, text: str, given: Any) -> str:
    """text % given"""
    items = list(given.items) if isinstance(given, TupleValue) and given.kind is tuple else [given]
    pieces, at = [], 0
    for field in FIELD.finditer(text):
        pieces.append(text[at : field.start()])
        at = field.end()
        pieces.append("%" if field["how"][-1] == "%" else _one(interpreter, field, items))
    if items:
        interpreter.build.refuse("not all arguments converted during string formatting")
    return Template.of([*pieces, text[at:]])


def _one(interpreter: Interpreter, field: re.Match[str], items: list[Any]) -> str:
    """One field of text % items; a number that is not known yet is formatted by % later, too."""
    if field["key"] or not items:
        interpreter.build.refuse("this text has other fields than what it is given")
    value = items.pop(0)
    if isinstance(value, Scalar) and not value.is_constant:
        return Template(f"{{:%%{field['how']}}}", (binding.bind_item(interpreter, "t", value),))
    if isinstance(value, (Scalar, Static)) and not isinstance(known(value), Template):
        item = known(value)
        return interpreter.said("%" + field["how"], lambda: ("%" + field["how"]) % (item,), [item])
    same = "sr" if isinstance(value, TupleValue) else "s"
    return Template.of([piece(interpreter, value), Template("", whole=field["how"] in same)])


def is_known(values: Iterable[Any]) -> bool:
    """Are these Python objects, with nothing in them that is known at run time only?"""
    return all(
        is_known(value.items) if isinstance(value, TupleValue)
        else value.is_constant if isinstance(value, Scalar)
        else isinstance(value, Static) and not isinstance(value.value, Template)
        for value in values
    )  # fmt: skip
