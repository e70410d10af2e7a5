"""`grad(f).backward(y)` of a function that is defined here: what it reads around it is handed to it.

def outer(x, a):                                  def f(y, *, a):       # with the text, and at the lines, of f
    def f(y):                          →              return a * y**2
        return a * y**2                           ...
    return grad(f).backward(x)                    grad(f).backward(x, a=a), of which y's part is taken
"""

from __future__ import annotations

import ast
import types
from copy import copy
from typing import TYPE_CHECKING, Any

from ..packing import free_names
from ..syntax.source import MADE_HERE, Source
from ..values import UNDEFINED, Closure, Differentiated, Items, Static
from . import adjoints

if TYPE_CHECKING:
    from ..interpret import Interpreter


def call(interpreter: Interpreter, of: Differentiated, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    from srcgrad.api import grad

    closure: Closure = of.function
    lifted = _Lifted(interpreter, closure)
    function = lifted.function()
    entry = getattr(grad(function, **of.options), name, None)
    if not adjoints.is_entry(entry):
        interpreter.build.refuse(f"a derivative has no attribute {name!r} here", "call .backward")
    spec = closure.node.args
    own = [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    left_out = [arg for arg in own[len(args) :] if arg in closure.defaults and arg not in kwargs]
    defaults = {arg: closure.defaults[arg] for arg in left_out}
    only = None if "wrt" in of.options else own
    return adjoints.call(interpreter, entry, args, defaults | kwargs | lifted.values, only)


class _Lifted:
    """`values` become arguments, `functions` that are defined here too stand in its body, `objects` are in cells."""

    def __init__(self, interpreter: Interpreter, closure: Closure) -> None:
        self.interpreter, self.closure = interpreter, closure
        self.values: dict[str, Any] = {}
        self.functions: dict[str, Closure] = {}
        self.objects: dict[str, Any] = {}
        self.look_at(closure)

    def look_at(self, closure: Closure) -> None:
        build = self.interpreter.build
        for name in free_names(closure):
            value = closure.frame.bound(name)
            if value is None:  # it is of the module, or of a function around all this
                continue
            known = next((held[name] for held in (self.values, self.functions, self.objects) if name in held), None)
            if known is not None and known is not value:
                build.refuse(f"grad of a function that reads two variables called {name}", "give them different names")
            if known is not None:
                continue
            if isinstance(value, Items):
                build.refuse(
                    f"the function whose derivative is taken here reads {name}, a list whose length is only known at "
                    "run time",
                    f"keep the numbers in an array:  {name} = np.zeros(n), and {name}[k] = ...",
                )
            if value is UNDEFINED:
                build.refuse(f"{name} may not be bound where the derivative is taken")
            if isinstance(value, Closure):
                if value is self.closure or value.defaults:
                    build.refuse(f"grad of a function that calls {name}, of here", "define one of them outside")
                self.functions[name] = value
                self.look_at(value)
            elif isinstance(value, Static):
                self.objects[name] = value.value
            else:
                self.values[name] = value

    def function(self) -> Any:
        """A function of Python's, which can be differentiated as the user's others are."""
        node, source = self.closure.node, self.closure.frame.source
        definition = ast.parse("def function(): pass").body[0]
        assert isinstance(definition, ast.FunctionDef)
        if isinstance(node, ast.FunctionDef):
            definition.name = node.name
        ast.copy_location(definition, node)
        body = node.body if isinstance(node, ast.FunctionDef) else [ast.copy_location(ast.Return(node.body), node.body)]
        definition.body = [*(_named(name, other.node) for name, other in self.functions.items()), *body]
        definition.args = copy(node.args)
        definition.args.kwonlyargs = [*node.args.kwonlyargs, *map(ast.arg, self.values)]
        definition.args.defaults, definition.args.kw_defaults = [], [None] * len(definition.args.kwonlyargs)
        root = _root(self.closure.frame)
        cells = dict(zip(root.__code__.co_freevars, root.__closure__ or (), strict=True))
        cells |= {name: types.CellType(value) for name, value in self.objects.items()}
        code = _code(definition, list(cells), source.file)
        made = types.FunctionType(code, root.__globals__, None, None, tuple(cells[name] for name in code.co_freevars))
        setattr(made, MADE_HERE, Source(definition, source.file, source.line, source.column, definition.name))
        return made


def _code(definition: ast.FunctionDef, free: list[str], file: str) -> types.CodeType:
    """The function's code, in which these names are of a function around it."""
    module = ast.parse(f"def maker({', '.join(free)}): pass")
    maker = module.body[0]
    assert isinstance(maker, ast.FunctionDef)
    maker.body = [definition]
    code = compile(ast.fix_missing_locations(module), file, "exec")
    (code,) = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == definition.name)


def _named(name: str, node: ast.FunctionDef | ast.Lambda) -> ast.stmt:
    """The function alone, under this name: what decorates it is known by now."""
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], node), node)
    definition = copy(node)
    definition.name, definition.decorator_list = name, []
    return definition


def _root(frame: Any) -> Any:
    while frame.function is None:
        frame = frame.parent
    return frame.function


__all__ = ["call"]
