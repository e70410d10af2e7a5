"""Statements around others that change nothing of what is computed: `with`, `global`."""

from __future__ import annotations

import ast
import contextlib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import assignment, expressions
from ..syntax.liveness import assigned
from ..values import Static

if TYPE_CHECKING:
    from ..interpret import Interpreter

# what a `with` may name: the body just runs
HARMLESS: tuple[Any, ...] = (np.errstate, np.printoptions, contextlib.nullcontext, warnings.catch_warnings)


def enter(interpreter: Interpreter, item: ast.withitem) -> None:
    """The head of a `with`; its body has been put behind it."""
    call = item.context_expr
    interpreter.at(call)
    target = expressions.evaluate(interpreter, call.func) if isinstance(call, ast.Call) else None
    kind = target.value if isinstance(target, Static) else None
    if not any(kind is known for known in HARMLESS):
        interpreter.build.refuse(
            "this `with` is not supported in a differentiated function",
            "with np.errstate(...), np.printoptions(...), warnings.catch_warnings() or contextlib.nullcontext()",
        )
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
