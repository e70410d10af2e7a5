"""`raise`, `assert` and `print`: they work in the primal, and run once in `backward`."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, UnsupportedError, ValueArgumentError
from ..ir.expressions import BOOL, Call
from ..ir.nodes import If, Print, Raise, Stmt
from ..runtime.errors import APART, NAMED, NOTHING, NUMBERS, as_told
from . import expressions, operators, texts
from .values import (
    ArrayValue,
    Scalar,
    Static,
    TupleValue,
)

if TYPE_CHECKING:
    from .interpret import Interpreter


def raise_error(interpreter: Interpreter, node: ast.Raise) -> None:
    build = interpreter.build
    if node.exc is None:
        build.refuse("a bare raise is not supported in a differentiated function")
    call = node.exc
    kind = expressions.evaluate(interpreter, call.func if isinstance(call, ast.Call) else call)
    if not isinstance(kind, Static) or not isinstance(kind.value, type) or not issubclass(kind.value, BaseException):
        build.refuse("only exception classes, called with a message, can be raised")
    parts = call.args if isinstance(call, ast.Call) else []
    named = call.keywords if isinstance(call, ast.Call) else []
    if any(part.arg is None for part in named):
        build.refuse("** among the arguments of an exception is not supported")
    given = [expressions.evaluate(interpreter, part) for part in parts]
    refused = next((own for theirs, own in REFUSED.items() if issubclass(kind.value, theirs)), None)
    if interpreter.frame.is_composition:
        message, *help = [texts.piece(interpreter, value) for value in given] or [""]
        if refused is not None and not isinstance(message, texts.Template) and _is_certain(interpreter):
            build.refuse(message, *help, error=refused)
        given = [Static(texts.Template.of([message, *help]))]
    _raise(interpreter, kind.value, given, {part.arg: expressions.evaluate(interpreter, part.value) for part in named})


# What a composition raises whatever the data is known when the function is read: a message, and what helps.
REFUSED = {ValueError: ValueArgumentError, TypeError: ArgumentError, NotImplementedError: UnsupportedError}


def _is_certain(interpreter: Interpreter) -> bool:
    """Is this place reached in every call of a composition?"""
    depths = [frame.depth for frame in interpreter.frames if frame.is_composition]
    return bool(depths) and interpreter.build.depth == depths[0]


def _raise(
    interpreter: Interpreter, error: type[BaseException], given: list[Any], named: dict[str | None, Any]
) -> None:
    """raise error(*given, **named): a constant text alone is raised as it is, the rest is put together when raised."""
    is_plain = not named and len(given) < 2 and all(isinstance(v, Static) and type(v.value) is str for v in given)
    if is_plain:
        if getattr(builtins, error.__name__, None) is not error:
            interpreter.exceptions[error.__name__] = error
        interpreter.build.emit(Raise(error.__name__, given[0].value if given else ""))
        return
    pieces: list[str] = []
    values: list[Scalar] = []
    for name, value in [*((None, v) for v in given), *named.items()]:
        text, numbers = _argument(interpreter, value)
        pieces.append(f"{name}{NAMED}{text}" if name else text)
        values += numbers
    kinds = " ".join(kind_of(v) for v in values)
    told = as_told(error)
    interpreter.exceptions[told.__name__] = told
    message = APART.join([kinds, *pieces])
    interpreter.build.emit(Raise(told.__name__, message, tuple(v.expr for v in values)))


def kind_of(value: Scalar) -> str:
    """What Python has for a number: its own, or one of NumPy's."""
    own = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
    return own[value.dtype.kind] if value.weak else f"np.{value.dtype.name}"


UNMARKED = dict.fromkeys(map(ord, (APART, NAMED, NUMBERS, NOTHING)))


def _argument(interpreter: Interpreter, value: Any) -> tuple[str, list[Scalar]]:
    """An argument of an exception: a text, a number, None, or a tuple of numbers."""
    if isinstance(value, Scalar):
        return NUMBERS, [value]
    if isinstance(value, TupleValue) and value.kind is tuple and all(isinstance(v, Scalar) for v in value.items):
        return f"{NUMBERS}{len(value.items)}", list(value.items)
    if isinstance(value, Static) and value.value is None:
        return NOTHING, []
    text = texts.piece(interpreter, value)
    template = texts.Template.of([texts.Template(""), text])
    return str(template).translate(UNMARKED), list(template.values)  # type: ignore[attr-defined]


def assertion(interpreter: Interpreter, node: ast.Assert) -> None:
    test = expressions.evaluate(interpreter, node.test)
    known = operators.static_truth(test)
    if known:
        return
    condition = operators.truth(interpreter, test) if known is None else None
    block: list[Stmt] = []
    with interpreter.build.nested(block):
        given = [expressions.evaluate(interpreter, node.msg)] if node.msg is not None else []
        _raise(interpreter, AssertionError, given, {})
    if condition is None:
        interpreter.build.block.extend(block)
    else:
        interpreter.build.emit(If(Call("not", (condition,), BOOL), tuple(block)))


def print_values(interpreter: Interpreter, values: list[Any]) -> None:
    parts: list[Any] = []
    for value in values:
        match value:
            case Scalar(expr=expr):
                parts.append(expr)
            case ArrayValue():
                parts.append(interpreter.build.stored(value))
            case Static(value=text):
                parts.append(text.bare if isinstance(text, texts.Template) else str(text))
            case _:
                interpreter.build.refuse("print takes numbers, arrays and strings here")
    interpreter.build.emit(Print(tuple(parts)))
