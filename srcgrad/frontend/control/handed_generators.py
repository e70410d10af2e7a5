"""Generators among the arguments of a call: to who takes all of it, it is a list."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import binding, outside
from ..calls import calls_in_place
from ..syntax.source import located
from ..values import NONE, Closure, Static, constant
from . import comprehensions, generators

if TYPE_CHECKING:
    from ..interpret import Interpreter


def handed_to(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """enumerate(g(x)), sum(g(x)): a call with a generator among its arguments."""
    target = function.value if isinstance(function, Static) else None
    one, *others = args or [NONE]  # or all by name
    if target is enumerate and generators.is_one(one) and one.value.first is None:
        return Static(replace(one.value, first=others[0] if others else kwargs.get("start", constant(0))))
    if generators.takes_all(function) and generators.is_one(one):
        args = [_taken_from(interpreter, one), *others]
    if isinstance(function, Closure) or _is_written_out(function):
        args = [_waiting(interpreter, value) for value in args]
        kwargs = {name: _waiting(interpreter, value) for name, value in kwargs.items()}
        return interpreter.call(function, args, kwargs)
    for value in (*args, *kwargs.values()):
        generators.refuse_held(interpreter, value)
    return interpreter.call(function, args, kwargs)


def _is_written_out(function: Any) -> bool:
    """Is it a function of the user's, whose statements stand in the place of its call?"""
    return isinstance(function, Static) and outside.is_users(function.value)


def _waiting(interpreter: Interpreter, value: Any) -> Any:
    """An argument that a loop of the called function goes through."""
    return (
        binding.with_a_name(interpreter, value.value)
        if generators.is_one(value) and value.value.scope is None
        else value
    )


def _taken_from(interpreter: Interpreter, value: Any) -> Any:
    """Its items as a list."""
    item = ast.Name("item", ast.Load())
    over = ast.comprehension(ast.Name("item", ast.Store()), ast.Constant(value.value), [], 0)
    function = comprehensions.as_function(ast.ListComp(item, [over]), over.iter, [])
    at = ast.copy_location(ast.Pass(), interpreter.frame.source.node)
    return calls_in_place.call_closure(interpreter, Closure(located(function, at), {}, interpreter.frame), [], {})
