"""Statements around others: `with`, `global`.

with np.errstate(divide="ignore"):      →      y = 1 / x
    y = 1 / x

with mode("exact"):                     →      mode.__enter__ is called, y is computed, mode.__exit__ is called
    y = divide(a, b)

A global that `__enter__` sets, and `__exit__` puts back, is for the program between them what it is then.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import assignment, expressions, generators, identities, operators, records, special_methods
from .liveness import assigned
from .outside import InObject, InScope, Place
from .source import read
from .syntax import walk
from .values import Static, constant

if TYPE_CHECKING:
    from .interpret import Interpreter

# what a `with` may name: the body just runs
HARMLESS: tuple[Any, ...] = (np.errstate, np.printoptions, contextlib.nullcontext, warnings.catch_warnings)
HELP = (
    "with np.errstate(...), np.printoptions(...), warnings.catch_warnings(), contextlib.nullcontext(...), "
    "or an object of a class of your own"
)
EARLY = "a return, break or continue in a branch of this `with`", "put it behind the `with`"


@dataclass
class GlobalsNow:
    """What globals are within the `with` statements around, and how deep in loops and branches these are."""

    values: dict[tuple[int, str], Any] = field(default_factory=dict)
    scopes: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    setting: list[int] = field(default_factory=list)

    def found(self, place: Place) -> Any | None:
        if type(place) is InScope:
            return self.values.get((id(place.scope), place.name))
        if type(place) is InObject and inspect.ismodule(place.target):
            return self.values.get((id(vars(place.target)), place.name))
        return None


def statement(interpreter: Interpreter, stmt: ast.With) -> bool:
    """A `with`; the body of a harmless one has been put behind it.  Does it end in an exception?"""
    now = interpreter.globals_now
    values, depth = dict(now.values), list(now.setting)
    try:
        managers = [manager for item in stmt.items if (manager := _enter(interpreter, stmt, item)) is not None]
        ended = bool(stmt.body) and interpreter.block(stmt.body)
        if ended:
            return True
        for manager in reversed(managers):
            interpreter.at(stmt)
            _leave(interpreter, manager)
        changed = {key: value for key, value in now.values.items() if key not in values or value is not values[key]}
        now.values = values
        for key, value in changed.items():
            before = interpreter.outside(key[1], InScope(now.scopes[key], key[1]))
            if not operators.is_known(before) or not _is_same(operators.plain(before), operators.plain(value)):
                what = f"the global {key[1]} is another one behind this `with` than ahead of it"
                interpreter.build.refuse(what, "put back in __exit__ what it was")
        return False
    finally:
        now.values, now.setting = values, depth


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, (str, int, float, bool)) and a == b)


def _enter(interpreter: Interpreter, stmt: ast.With, item: ast.withitem) -> Any | None:
    """The head of a `with`; an object whose `__exit__` has to be called."""
    call = item.context_expr
    interpreter.at(call)
    target = expressions.evaluate(interpreter, call.func) if isinstance(call, ast.Call) else None
    kind = target.value if isinstance(target, Static) else None
    if any(kind is known for known in HARMLESS):
        assert isinstance(call, ast.Call)
        if getattr(stmt, "is_left_early", False):  # it has another name than its own
            interpreter.build.refuse(*EARLY)
        _look_at(interpreter, kind, item, call)
        return None
    is_own = isinstance(kind, type) and records.is_made_here(kind) and hasattr(kind, "__enter__")
    if isinstance(call, ast.Call) and not is_own:
        interpreter.build.refuse("this `with` is not supported in a differentiated function", HELP)
    manager = expressions.evaluate(interpreter, call)
    _check(interpreter, stmt, manager)
    given = _called(interpreter, manager, "__enter__")
    if item.optional_vars is not None:
        assignment.assign(interpreter, item.optional_vars, given, len(interpreter.build.block))
    return manager


def _check(interpreter: Interpreter, stmt: ast.With, manager: Any) -> None:
    """Is it an object of a class of the user's, and is it known that it is left at the end of the body?"""
    build = interpreter.build
    leave = special_methods.own(manager, "__exit__")
    if special_methods.own(manager, "__enter__") is None or leave is None:
        build.refuse("this `with` is not supported in a differentiated function", HELP)
    if getattr(stmt, "is_left_early", False) or not stmt.body:
        build.refuse(*EARLY)
    if build.watches:
        build.refuse("a `with` of your own in a try", "put the try into the `with`")
    if generators.is_function(interpreter.frame.source.node):
        build.refuse("a `with` of your own in a generator", "put the loop over the generator into the `with`")
    returned = [node.value for node in walk(read(leave).node) if isinstance(node, ast.Return)]
    if any(not isinstance(value, ast.Constant) or value.value for value in returned if value is not None):
        build.refuse("an __exit__ that returns something: it may swallow exceptions", "return None")


def _called(interpreter: Interpreter, manager: Any, name: str, *args: Any) -> Any:
    interpreter.globals_now.setting.append(interpreter.build.depth)
    try:
        return special_methods.called(interpreter, identities.now(interpreter, manager), name, *args)
    finally:
        interpreter.globals_now.setting.pop()


def _leave(interpreter: Interpreter, manager: Any) -> None:
    _called(interpreter, manager, "__exit__", *[constant(None)] * 3)


def _look_at(interpreter: Interpreter, kind: Any, item: ast.withitem, call: ast.Call) -> None:
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


def check_global(interpreter: Interpreter, stmt: ast.Global | ast.Nonlocal) -> None:
    """`global` and `nonlocal`: a function that is differentiated may read these names, and a `with` may set globals."""
    node = interpreter.frame.source.node
    changed = sorted(assigned(node.body if isinstance(node, ast.FunctionDef) else []) & set(stmt.names))
    if not changed:
        return
    if isinstance(stmt, ast.Global) and interpreter.globals_now.setting and _are_only_set(node, changed):
        interpreter.frame.sets_globals |= set(changed)
        return
    word = type(stmt).__name__.lower()
    interpreter.build.refuse(
        f"{changed[0]} is {word} and assigned to, which is not supported in a differentiated function",
        "return the value",
    )


def _are_only_set(node: ast.AST, names: list[str]) -> bool:
    """By plain assignments?"""
    stored = [part for part in walk(node) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)]
    plain = [target for part in walk(node) for target in _targets(part) if isinstance(target, ast.Name)]
    return all(any(part is target for target in plain) for part in stored if part.id in names)


def _targets(node: ast.AST) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def set_global(interpreter: Interpreter, name: str, value: Any) -> None:
    """What a global is until the `with` ends: something that is known, on every path through it."""
    build, now, function = interpreter.build, interpreter.globals_now, interpreter.frame.function
    if not now.setting or build.depth != now.setting[-1] or function is None:
        build.refuse(f"the global {name} is set in a loop or a branch", "set it on every path")
    if not operators.is_known(value) or not isinstance(operators.plain(value), (str, int, float, bool, type(None))):
        build.refuse(f"the global {name} is set to what is only known at run time", "hand it on as an argument")
    scope = function.__globals__
    if name not in scope:
        build.refuse(f"the global {name} is set where there is none yet", "give it a value in the module")
    now.values[id(scope), name], now.scopes[id(scope), name] = value, scope


__all__ = ["GlobalsNow", "check_global", "set_global", "statement"]
