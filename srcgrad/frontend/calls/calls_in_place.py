"""Calls of functions that are interpreted in the place of the call: the user's, and compositions of ours.

y = f(x, k=2)      →      the statements of f, with its parameters bound, and what it returns in the place of the call
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...rules import compositions
from .. import binding
from ..array_values import ArrayValue
from ..control import generators, iterators
from ..objects import dataclass_fields
from ..outside import Fixed, InGroup, MadeOf, Place, parts_of_partial
from ..syntax.source import MADE_HERE, read
from ..values import NONE, Closure, Static
from . import parameters, recursion
from .calls_of_own import invoke
from .frames import Frame

if TYPE_CHECKING:
    from ..interpret import Interpreter

OURS = ("srcgrad.rules.compositions.", "srcgrad.runtime.")  # what is written here


def settle_arguments(interpreter: Interpreter, bound: dict[str, Any]) -> dict[str, Any]:
    """Arguments as the callee sees them: numbers in variables, expressions of arrays in memory, views as views."""
    return {name: binding.bind_item(interpreter, name, value) for name, value in bound.items()}


def call_composition(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy's as a program of ours, in the place of the call."""
    source = read_once(function)
    bound = parameters.bind_arguments(
        interpreter, source.node.args, source.name, parameters.defaults_of(function), args, kwargs
    )
    once = _read_at_most_once(function)
    lazy = {n: v for n, v in bound.items() if n in once and isinstance(v, ArrayValue)}
    settled = settle_arguments(interpreter, {n: v for n, v in bound.items() if n not in lazy})
    frame = Frame(source, function, settled | lazy, is_composition=True)
    around = interpreter.build.in_composition
    interpreter.build.in_composition = function.__module__ not in compositions.OF_PYTHON
    try:
        return interpreter.enter(frame, source.node)
    finally:
        interpreter.build.in_composition = around


read_once = functools.cache(read)


@functools.cache
def _read_at_most_once(function: Any) -> frozenset[str]:
    """Parameters whose arguments may stay expressions: nothing is computed twice, and nothing changes in between."""
    node = read_once(function).node
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    repeats = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef)
    inner = [n for n in ast.walk(node) if isinstance(n, repeats) and n is not node]
    repeated = {n.id for part in inner for n in ast.walk(part) if isinstance(n, ast.Name)}
    writes = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
    parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    if any(isinstance(n.value, ast.Name) and n.value.id in parameters for n in writes):
        return frozenset()
    return frozenset(name for name in parameters if names.count(name) <= 1 and name not in repeated)


def call_function(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if interpreter.frame.is_composition and (function.__module__ or "").startswith(compositions.__name__):
        return call_composition(interpreter, function, args, kwargs)
    if args and (made_by := dataclass_fields.dataclass_that_made(function, args[0])):
        dataclass_fields.set_fields(interpreter, made_by, args[0], args[1:], kwargs)
        return NONE
    source, defaults = read(function), parameters.defaults_of(function)
    bound = parameters.bind_arguments(interpreter, source.node.args, source.name, defaults, args, kwargs)
    arrays = {n: v for n, v in parameters.array_defaults(function).items() if bound[n] is defaults[n]}
    is_ours = (function.__module__ or "").startswith(OURS)
    if not is_ours:
        taken = {name for name in defaults if bound[name] is defaults[name]}
        by_name = taken & (function.__kwdefaults__ or {}).keys()
        assume_made_of(interpreter, function, taken > by_name, by_name)
    bound |= given_values(interpreter, function, arrays)
    if generators.is_function(source.node):
        return Static(generators.Generator(source, function, None, settle_arguments(interpreter, bound)))
    if recursion.key_of(source) in interpreter.callees.chosen.own:
        return invoke(interpreter, source, function, bound)
    settled = settle_arguments(interpreter, bound)
    given = settled if is_ours else iterators.given(interpreter, bound, settled)
    frame = Frame(source, function, given, is_composition=is_ours)
    return interpreter.enter(frame, source.node)


def assume_made_of(interpreter: Interpreter, function: Any, by_place: bool, by_name: Iterable[str]) -> None:
    """A function is the same object when it is made of something else; of defaults, those count that calls get."""
    if hasattr(function, MADE_HERE):
        return
    by_name = list(by_name)
    parts = {"__code__": True, "__defaults__": by_place, "__kwdefaults__": bool(by_name)}
    places: list[Place] = [MadeOf(function, part) for part, is_read in parts.items() if is_read]
    places += [InGroup(MadeOf(function, "__kwdefaults__"), name) for name in by_name]
    interpreter.assumed |= {place.key: (place, place()) for place in places}


def held_by(
    interpreter: Interpreter, part: functools.partial[Any] | functools.partialmethod[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that a partial has already: any of them may be replaced, and more be given by name."""
    interpreter.assumed |= {place.key: (place, place()) for place in parts_of_partial(part)}
    first, named = MadeOf(part, "args"), MadeOf(part, "keywords")
    return (
        [interpreter.outside(f"given_{k}", InGroup(first, k)) for k in range(len(part.args))],
        {name: interpreter.outside(name, InGroup(named, name)) for name in part.keywords},
    )


def call_closure(interpreter: Interpreter, closure: Closure, args: list[Any], kwargs: dict[str, Any]) -> Any:
    bound = parameters.bind_arguments(interpreter, closure.node.args, closure.name, closure.defaults, args, kwargs)
    parent = closure.frame
    source = replace(parent.source, node=closure.node, name=closure.name)
    if generators.is_function(closure.node):
        return Static(generators.Generator(source, None, parent, settle_arguments(interpreter, bound)))
    if recursion.key_of(source) in interpreter.callees.chosen.own:
        return invoke(interpreter, source, None, bound, closure)
    given = iterators.given(interpreter, bound, settle_arguments(interpreter, bound))
    frame = Frame(source, None, given, parent, is_composition=parent.is_composition)
    return interpreter.enter(frame, closure.node)


def given_values(interpreter: Interpreter, holder: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a function which is differentiated has already, or a default: handed in, as globals are."""
    place_of = getattr(holder, "place_of", lambda name: Fixed((id(holder), name), given[name], holder))
    places = {name: place_of(name) for name in given}
    return {name: interpreter.outside(str(name), place) for name, place in places.items()}
