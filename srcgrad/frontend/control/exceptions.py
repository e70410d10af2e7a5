"""`raise`, `assert` and `print`: they work in the primal, and run once in `backward`."""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import (
    HELP,
    ArgumentError,
    RuntimeOverflowError,
    RuntimeUnsupportedError,
    UnsupportedError,
    ValueArgumentError,
    place,
)
from ...ir.expressions import negated
from ...ir.names import RESERVED
from ...ir.nodes import If, Print, Raise, Stmt
from ...ir.types import DictKind
from ...runtime import errors as runtime_errors
from ...runtime.errors import APART, ARRAY, NAMED, NOTHING, NUMBER, SEVERAL, CompiledError, Told, as_told
from .. import expressions, operators
from ..array_values import ArrayValue
from ..calls import texts
from ..values import MadeException, Scalar, Static, TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter


def raise_error(interpreter: Interpreter, node: ast.Raise) -> None:
    build = interpreter.build
    if node.exc is None:
        build.refuse("a bare raise is not supported in a differentiated function")
    value = expressions.evaluate(interpreter, node.exc)
    made = value.value if isinstance(value, Static) else None
    if isinstance(made, type) and issubclass(made, BaseException):
        made = MadeException(made)
    if not isinstance(made, MadeException):
        build.refuse("only exception classes, called with a message, can be raised")
    if interpreter.frame.is_composition and issubclass(made.error, (CompiledError, Told)):  # a generated adjoint does
        message, *numbers = made.given
        is_ours = made.error.__name__ in runtime_errors.__all__
        name = made.error.__name__ if is_ours else _name_of(interpreter, made.error)
        build.emit(Raise(name, message.value, tuple(number.expr for number in numbers)))
        return
    refused = next((own for theirs, own in REFUSED.items() if issubclass(made.error, theirs)), None)
    if interpreter.frame.is_composition:
        message, *help = [texts.piece(interpreter, value) for value in made.given] or [""]
        if refused is not None and not isinstance(message, texts.Template) and _is_certain(interpreter):
            build.refuse(message, *help, error=refused)
        ours = next((own for theirs, own in OURS.items() if issubclass(made.error, theirs)), None)
        if ours is not None and isinstance(message, str):
            build.emit(Raise(ours.__name__, HELP.join([message, *help]) + place(build.span)))
            return
        made = replace(made, given=(Static(texts.Template.of([message, *help])),))
    _raise(interpreter, made)


# What a composition raises whatever the data is known when the function is read: a message, and what helps.
REFUSED = {ValueError: ValueArgumentError, TypeError: ArgumentError, NotImplementedError: UnsupportedError}

# What NumPy and Python would do, and compiled code can't, where only the run tells.
OURS = {NotImplementedError: RuntimeUnsupportedError, OverflowError: RuntimeOverflowError}


def _is_certain(interpreter: Interpreter) -> bool:
    """Is this place reached in every call of a composition?"""
    depths = [frame.depth for frame in interpreter.frames if frame.is_composition]
    return bool(depths) and interpreter.build.depth == depths[0]


def _raise(interpreter: Interpreter, made: MadeException) -> None:
    """A constant text alone is raised as it is, the rest is put together when raised."""
    given = made.given
    is_text = all(isinstance(v, Static) and type(v.value) is str for v in given)
    if is_text and not made.named and len(given) < 2:
        interpreter.build.emit(Raise(_name_of(interpreter, made.error), given[0].value if given else ""))
        return
    pieces: list[str] = []
    values: list[Scalar | ArrayValue] = []
    for name, value in [*((None, v) for v in given), *made.named]:
        text, numbers = _argument(interpreter, value)
        pieces.append(f"{name}{NAMED}{text}" if name else text)
        values += numbers
    kinds = " ".join(kind_of(v) for v in values)
    message = APART.join([kinds, *pieces])
    arrays = tuple(interpreter.build.stored(value) for value in values if isinstance(value, ArrayValue))
    if arrays:
        interpreter.build.emit(Print(arrays, "", by="note_arrays"))
    told = tuple(value.expr for value in values if isinstance(value, Scalar))
    interpreter.build.emit(Raise(_name_of(interpreter, as_told(made.error)), message, told))


def _name_of(interpreter: Interpreter, error: type[BaseException]) -> str:
    """What generated code calls it: other classes and variables may have its name, which may be any text."""
    name = error.__name__
    if getattr(builtins, name, None) is error:
        return name
    name = re.sub(r"\W+", "_", name)
    name = name if name.isidentifier() else f"error_{name}"
    known, taken = interpreter.exceptions, interpreter.build.names.taken

    def is_free(name: str) -> bool:
        if name in known:
            return known[name] is error
        return not (name in taken or name in RESERVED or hasattr(builtins, name))

    free = next(filter(is_free, chain((name,), (f"{name}_{k}" for k in count(1)))))
    known[free] = error
    taken.add(free)
    return free


def kind_of(value: Scalar | ArrayValue) -> str:
    """What Python has for a number: its own, or one of NumPy's."""
    if isinstance(value, ArrayValue):
        return ARRAY
    own = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
    return own[value.dtype.kind] if value.weak else f"np.{value.dtype.name}"


UNMARKED = dict.fromkeys(map(ord, (APART, NAMED, NUMBER, NOTHING, SEVERAL, "\0")))


def _argument(interpreter: Interpreter, value: Any) -> tuple[str, list[Scalar | ArrayValue]]:
    """An argument of an exception: a text, a number, an array, None, or a tuple of these."""
    if isinstance(value, Scalar):
        return NUMBER, [value]
    if isinstance(value, ArrayValue) and texts.is_shown(interpreter, value):
        return NUMBER, [texts.as_it_is_now(interpreter, value)]
    if isinstance(value, TupleValue) and value.kind is tuple:
        parts = [_argument(interpreter, item) for item in value.items]
        said = APART.join([f"{SEVERAL}{len(parts)}", *(text for text, _ in parts)])
        return said, [leaf for _, leaves in parts for leaf in leaves]
    if isinstance(value, Static) and value.value is None:
        return NOTHING, []
    text = texts.piece(interpreter, value)
    template = texts.Template.of([texts.Template(""), text])
    return str(template).translate(UNMARKED), list(template.values)  # type: ignore[attr-defined]


def assertion(interpreter: Interpreter, node: ast.Assert) -> None:
    test = expressions.as_it_is(interpreter, node.test)
    known = operators.static_truth(test)
    if known:
        return
    condition = operators.truth(interpreter, test) if known is None else None
    block: list[Stmt] = []
    with interpreter.build.nested(block):
        given = (expressions.evaluate(interpreter, node.msg),) if node.msg is not None else ()
        _raise(interpreter, MadeException(AssertionError, given))
    if condition is None:
        interpreter.build.block.extend(block)
    else:
        interpreter.build.emit(If(negated(condition), tuple(block)))


def print_values(interpreter: Interpreter, values: list[Any], sep: str, end: str) -> None:
    """What compiled code prints as Python does, it prints itself; texts with fields are put together by Python."""
    is_plain = [_is_printed_alike(interpreter, value) for value in values]
    if (sep, end) == (" ", "\n") and all(is_plain):
        interpreter.build.emit(Print(tuple(_printed(interpreter, value) for value in values)))
        return
    pieces: list[str] = [texts.piece(interpreter, value, "s") for value in values]
    between = [part for piece in pieces for part in (sep, piece)][1:]
    text = texts.Template.of([texts.Template(""), *between, end])
    fields: tuple[Any, ...] = text.values  # type: ignore[attr-defined]
    leaves = (interpreter.build.stored(v) if isinstance(v, ArrayValue) else v.expr for v in fields)
    message = APART.join([" ".join(map(kind_of, fields)), str(text).translate(UNMARKED)])
    interpreter.build.emit(Print(tuple(leaves), message))


def _is_printed_alike(interpreter: Interpreter, value: Any) -> bool:
    """Does a compiled print write the text that Python's does?"""
    match value:
        case Scalar():
            return value.dtype not in (np.float32, np.complex64)
        case Static():
            return not isinstance(value.value, texts.Template)
        case ArrayValue():
            return not interpreter.build.for_kernels  # it lies on the device
        case TupleValue(kind=kind) if kind in (tuple, list) or (isinstance(kind, DictKind) and kind.cls is dict):
            return False
    return interpreter.build.refuse(
        "print takes numbers, arrays, texts, and tuples, lists and dicts of them here",
        "print the numbers and arrays in it one by one, or print outside of the differentiated function",
    )


def _printed(interpreter: Interpreter, value: Any) -> Any:
    match value:
        case Scalar():
            return value.expr
        case ArrayValue():
            return interpreter.build.stored(value)
    return str(value.value)
