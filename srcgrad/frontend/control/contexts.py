"""Statements around others that change nothing of what is computed: `with`, `global`."""

from __future__ import annotations

import ast
import contextlib
import warnings
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import assignment, binding, expressions, identities, optional
from ..objects import special_methods
from ..syntax import managed, source
from ..syntax.liveness import assigned
from ..values import Static, constant

if TYPE_CHECKING:
    from ..interpret import Interpreter

# the body just runs
HARMLESS: tuple[Any, ...] = (np.errstate, np.printoptions, contextlib.nullcontext, warnings.catch_warnings)


def enter(interpreter: Interpreter, item: ast.withitem) -> None:
    """The head of a `with`; its body has been put behind it."""
    call = item.context_expr
    interpreter.at(call)
    if (name := managed.left_at(item)) is not None:
        return _leave(interpreter, name)
    target = expressions.evaluate(interpreter, call.func) if isinstance(call, ast.Call) else None
    kind = target.value if isinstance(target, Static) else None
    if not any(kind is known for known in HARMLESS):
        if (name := managed.held_by(item)) is None:
            _refuse(interpreter)
        return _enter(interpreter, name, item)
    assert isinstance(call, ast.Call)
    for keyword in call.keywords:
        value = expressions.evaluate(interpreter, keyword.value)
        if kind is np.errstate and isinstance(value, Static) and value.value in ("raise", "call"):
            interpreter.build.refuse(
                f"np.errstate({keyword.arg}={value.value!r}) is not supported", "test for it yourself"
            )
    if item.optional_vars is not None:
        if kind is not contextlib.nullcontext or len(call.args) != 1:
            interpreter.build.refuse("`as` is supported behind contextlib.nullcontext(x) only")
        mark = len(interpreter.build.block)
        assignment.assign(interpreter, item.optional_vars, expressions.evaluate(interpreter, call.args[0]), mark)
    return None


def _refuse(interpreter: Interpreter) -> NoReturn:
    interpreter.build.refuse(
        "this `with` is not supported in a differentiated function",
        "with np.errstate(...), np.printoptions(...), warnings.catch_warnings(), contextlib.nullcontext() or an object "
        "of a class of yours",
    )


def _enter(interpreter: Interpreter, name: str, item: ast.withitem) -> None:
    mark = len(interpreter.build.block)
    binding.bind(interpreter, name, expressions.evaluate(interpreter, item.context_expr), mark)
    manager = identities.now(interpreter, interpreter.env[name])
    at_exit = special_methods.own(manager, "__exit__")
    if special_methods.own(manager, "__enter__") is None or at_exit is None or at_exit.__module__ == "contextlib":
        _refuse(interpreter)
    if interpreter.build.watches:
        interpreter.build.refuse("`with` of an object of yours in a `try` with `except` is not supported")
    if _may_swallow(at_exit):
        interpreter.build.refuse(
            f"{at_exit.__qualname__} may keep an exception from its `with` to itself", "return nothing from it"
        )
    mark = len(interpreter.build.block)
    entered = special_methods.called(interpreter, manager, "__enter__")
    if item.optional_vars is not None:
        assignment.assign(interpreter, item.optional_vars, entered, mark)


def _leave(interpreter: Interpreter, name: str) -> None:
    manager = identities.now(interpreter, interpreter.env[name])
    if not optional.is_none(manager):  # of np.errstate by another name there is nothing to leave
        special_methods.called(interpreter, manager, "__exit__", *[constant(None)] * 3)


def _may_swallow(at_exit: FunctionType) -> bool:
    node = source.read(at_exit).node
    if isinstance(node, ast.Lambda):
        return not _is_false(node.body)
    if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(node)):  # a generator counts as true
        return True
    returns = [part.value for part in ast.walk(node) if isinstance(part, ast.Return)]
    return any(value is not None and not _is_false(value) for value in returns)


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def only_read(interpreter: Interpreter, stmt: ast.stmt, names: list[str]) -> None:
    """`global` and `nonlocal`: a function that is differentiated may read these names."""
    node = interpreter.frame.source.node
    changed = sorted(assigned(node.body if isinstance(node, ast.FunctionDef) else []) & set(names))
    if changed:
        word = type(stmt).__name__.lower()
        interpreter.build.refuse(
            f"{changed[0]} is {word} and assigned to, which is not supported in a differentiated function",
            "return the value",
        )
