"""`raise`, `assert` and `print`: they work in the primal, and run once in `backward`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, UnsupportedError, ValueArgumentError
from ..ir.expressions import BOOL, Call, Expr
from ..ir.nodes import If, Print, Raise, Stmt
from . import expressions, operators
from .values import (
    ArrayValue,
    Scalar,
    Static,
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
    texts: list[str] = []
    values: list[Expr] = []
    for part in call.args if isinstance(call, ast.Call) else ():
        text, numbers = message_of(interpreter, part)
        texts.append(text)
        values += numbers
    refused = next((own for theirs, own in REFUSED.items() if issubclass(kind.value, theirs)), None)
    if refused is not None and not values and _is_certain(interpreter):
        message, *help = texts or [""]
        build.refuse(message, *help, error=refused)
    _raise(interpreter, kind.value, "".join(texts), values)


# What a composition raises whatever the data is known when the function is read: a message, and what helps.
REFUSED = {ValueError: ValueArgumentError, TypeError: ArgumentError, NotImplementedError: UnsupportedError}


def _is_certain(interpreter: Interpreter) -> bool:
    """Is this place reached in every call of a composition?"""
    depths = [frame.depth for frame in interpreter.frames if frame.is_composition]
    return bool(depths) and interpreter.build.depth == depths[0]


def _raise(interpreter: Interpreter, error: type[BaseException], message: str, values: list[Expr]) -> None:
    if getattr(__import__("builtins"), error.__name__, None) is not error:
        interpreter.exceptions[error.__name__] = error
    interpreter.build.emit(Raise(error.__name__, message, tuple(values)))


def message_of(interpreter: Interpreter, node: ast.expr) -> tuple[str, list[Expr]]:
    """The text of a message, and the numbers that are only known at run time."""
    if isinstance(node, ast.JoinedStr):
        text = ""
        numbers: list[Expr] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            piece, more = message_of(interpreter, inner)
            text, numbers = text + piece, numbers + more
        return text, numbers
    value = expressions.evaluate(interpreter, node)
    if isinstance(value, Static):
        return str(value.value), []
    if isinstance(value, Scalar):
        return (str(value.value), []) if value.is_constant else ("{}", [value.expr])
    return "{array}", []


def assertion(interpreter: Interpreter, node: ast.Assert) -> None:
    test = expressions.evaluate(interpreter, node.test)
    known = operators.static_truth(test)
    if known:
        return
    condition = operators.truth(interpreter, test) if known is None else None
    block: list[Stmt] = []
    with interpreter.build.nested(block):
        message, values = message_of(interpreter, node.msg) if node.msg is not None else ("", [])
        _raise(interpreter, AssertionError, message, values)
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
                parts.append(str(text))
            case _:
                interpreter.build.refuse("print takes numbers, arrays and strings here")
    interpreter.build.emit(Print(tuple(parts)))
