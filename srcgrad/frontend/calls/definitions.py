"""Functions defined inside the function: decorators are called as Python calls them, defaults are computed once.

@thrice
def h(t, seen=[]): ...      →      h = thrice(Closure(h, {seen: [], the same at every call}))
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .. import binding, expressions
from ..values import Bound, Closure, Static
from .frames import Frame

if TYPE_CHECKING:
    from ..interpret import Interpreter

# Behind these stands the function itself, as at the top level of a module (see `source.unwrap`).
TRANSPARENT = (
    "functools.cache", "functools.lru_cache", "functools.wraps", "builtins.staticmethod",
    "numba.core.decorators.njit", "numba.core.decorators.jit",
)  # fmt: skip
TOOLS = ("functools", "numba", "srcgrad")  # whose other decorators make something else of a function


def define(interpreter: Interpreter, node: ast.FunctionDef) -> None:
    """def name(…), and what the decorators make of it, from the last to the first."""
    decorators = [(part, _decorator(interpreter, part)) for part in node.decorator_list]
    made: Any = closure(interpreter, node)
    for part, decorator in reversed(decorators):
        interpreter.at(part)
        made = interpreter.call(decorator, [made], {}) if decorator is not None else made
    binding.bind(interpreter, node.name, made, len(interpreter.build.block))


@expressions.evaluates(ast.Lambda)
def closure(interpreter: Interpreter, node: ast.FunctionDef | ast.Lambda) -> Closure:
    """The function, with a scope around it that holds the defaults: what a call changes in one, the next call finds."""
    around, given = interpreter.frame, expressions.defaults(interpreter, node.args)
    if not given:
        return Closure(node, given, around)
    defaults = {name: binding.bind_item(interpreter, name, value) for name, value in given.items()}
    scope = Frame(around.source, None, defaults, around, around.depth, is_composition=around.is_composition)
    return Closure(node, defaults, scope)


def _decorator(interpreter: Interpreter, node: ast.expr) -> Any:
    """What to call with the function; None where that gives the function itself."""
    interpreter.at(node)
    factory = expressions.evaluate(interpreter, node.func if isinstance(node, ast.Call) else node)
    name = _full_name(factory)
    if name in TRANSPARENT:
        return None
    if name == "srcgrad.api.grad":
        keywords = node.keywords if isinstance(node, ast.Call) else []
        options = ((str(word.arg), expressions.evaluate(interpreter, word.value)) for word in keywords)
        return Bound(factory, (), tuple(options))
    if name.split(".")[0] in TOOLS and name != "functools.partial":
        interpreter.build.refuse(
            f"the decorator {ast.unparse(node)} is not supported on a function inside of a differentiated one",
            "leave it out, and write what it does where the function is called",
        )
    return expressions.evaluate(interpreter, node) if isinstance(node, ast.Call) else factory


def _full_name(value: Any) -> str:
    target = value.value if isinstance(value, Static) else None
    return f"{getattr(target, '__module__', '')}.{getattr(target, '__qualname__', '')}"
