"""Arguments taken apart: leaves that are handed over at run time, and a hashable pattern of all the rest.

f((x, 2.0), g, True)   →   leaves x, 2.0;   pattern ("tuple", leaf, leaf), ("closure", …), ("known", True)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..ir.expressions import BOOL, Const
from ..ir.types import ArrayType, ScalarType
from . import one_of
from .array_values import ArrayValue, whole
from .calls.frames import Frame
from .joined_numbers import several, types_of
from .lists import list_types, lists_as_arrays
from .syntax.liveness import assigned
from .values import UNDEFINED, Closure, Generator, Items, OneOf, Scalar, Static, Template, TupleValue, constant

if TYPE_CHECKING:
    from .builder import Builder
    from .interpret import Interpreter
    from .syntax.source import Source


class Pack:
    """Arguments taken apart: leaves that are handed over at run time, and a hashable pattern of all the rest."""

    def __init__(self, interpreter: Interpreter, with_constants: bool) -> None:
        self.interpreter = interpreter
        self.with_constants = with_constants  # what is constant stays constant
        self.leaves: list[Any] = []
        self.names: list[str] = []
        self.kinds: list[Any] = []
        self.objects: dict[int, Any] = {}  # kept alive: patterns refer to them by id
        self.closures: dict[Closure, int] = {}
        self.nodes: list[Closure] = []

    def pack(self, name: str, value: Any) -> Any:
        build = self.interpreter.build
        match value:
            case Scalar(expr=Const(value=known, dtype=dtype)) if dtype == BOOL:
                return ("known", known)
            case Scalar(expr=Const() as known, weak=weak) if self.with_constants:
                return ("constant", known, weak)
            case Scalar(expr=expr, weak=weak):
                self.add(name, expr, ScalarType(expr.dtype, weak))
                return ("leaf", expr.dtype.str, weak, several(frozenset(types_of(build, value))))
            case ArrayValue():
                handle = build.stored(value, name)
                order = "C" if handle.name in build.contiguous and handle.name not in build.uncertain else "A"
                self.add(name, handle, ArrayType(handle.dtype, handle.ndim, order))
                return ("leaf", handle.dtype.str, handle.ndim, several(frozenset(types_of(build, whole(handle)))))
            case Items(inner=None, weak=bool(), rows=rows) if rows.ndim == 1:  # a list of numbers, to be read
                known = list_types.known(self.interpreter, value)
                numbers = self.pack(name, lists_as_arrays.array_of_items(self.interpreter, value))
                return ("list", value.weak, value.kind, known, numbers)
            case TupleValue(items=items, kind=kind):
                return ("tuple", kind, tuple(self.pack(f"{name}_{k}", item) for k, item in enumerate(items)))
            case Static(value=Generator()):
                return build.refuse(f"{name}: a generator can't be handed to a function that calls itself")
            case Static(value=Template() as text):
                parts = tuple(self.pack(f"{name}_{k}", number) for k, number in enumerate(text.values))
                return ("text", str(text), text.whole, parts)
            case Static(value=item):
                self.objects[id(item)] = item
                return ("static", item if isinstance(item, (str, int, type(None))) else id(item))
            case Closure():
                return self.closure(value)
        what = "a name that may not be bound" if value is UNDEFINED else type(value).__name__.lower()
        what = one_of.told(value) if isinstance(value, OneOf) else what
        return build.refuse(f"{name}: {what} can't be handed to a function that calls itself")

    def add(self, name: str, leaf: Any, kind: Any) -> None:
        self.leaves.append(leaf)
        self.names.append(name)
        self.kinds.append(kind)

    def in_order(self) -> bool:
        """Are all arrays in C order?  If one is not, none is taken to be: that is one function more, and not many."""
        arrays = [kind for kind in self.kinds if isinstance(kind, ArrayType)]
        if all(kind.layout == "C" for kind in arrays):
            return True
        self.kinds = [replace(kind, layout="A") if isinstance(kind, ArrayType) else kind for kind in self.kinds]
        return False

    def closure(self, closure: Closure) -> Any:
        """A function defined inside another one: with the values that it sees there."""
        if closure in self.closures:
            return ("again", self.closures[closure])
        self.closures[closure] = len(self.nodes)
        self.nodes.append(closure)
        span = closure.frame.source.span(closure.node)
        defaults = tuple((n, self.pack(n, v)) for n, v in closure.defaults.items())
        seen = []
        for name in free_names(closure):
            value = closure.frame.bound(name)
            if value is not None and value is not UNDEFINED:
                seen.append((name, self.pack(name, value)))
        return ("closure", self.closures[closure], span, closure.name, defaults, tuple(seen))


def free_names(closure: Closure) -> list[str]:
    node = closure.node
    spec = node.args
    own = {a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if a is not None}
    body = node.body if isinstance(node.body, list) else [ast.copy_location(ast.Expr(node.body), node.body)]
    own |= assigned(body)
    read = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)}
    return sorted(read - own)


class Unpack:
    """The inverse of `Pack`: values on other leaves."""

    def __init__(self, pack: Pack, leaves: list[Any], build: Builder) -> None:
        self.build = build
        self.objects, self.nodes, self.leaves = pack.objects, pack.nodes, iter(leaves)
        self.closures: dict[int, Closure] = {}

    def unpack(self, pattern: Any) -> Any:
        match pattern:
            case ("known", value):
                return constant(value)
            case ("constant", known, weak):
                return Scalar(known, weak)
            case ("leaf", _, _, types):
                leaf = next(self.leaves)
                if isinstance(leaf, ArrayValue) and leaf.handle is not None:
                    self.build.note_types(leaf.handle, types)
                return replace(leaf, types=types) if isinstance(leaf, Scalar) else leaf
            case ("list", weak, kind, known, numbers):
                rows = self.unpack(numbers).handle
                self.build.types.pop(rows.name, None)
                self.build.item_types[rows.name] = known
                return Items(rows, rows.dims[0], rows.dims[0], weak, kind=kind)
            case ("tuple", kind, parts):
                return TupleValue(tuple(self.unpack(part) for part in parts), kind)
            case ("text", text, is_whole, parts):
                return Static(Template(text, tuple(map(self.unpack, parts)), is_whole))
            case ("static", item):
                return Static(self.objects.get(item, item) if isinstance(item, int) else item)
            case ("again", number):
                return self.closures[number]
            case ("closure", number, _, _, defaults, seen):
                node = self.nodes[number]
                root = node.frame
                while root.function is None and root.parent is not None:
                    root = root.parent
                frame = Frame(node.frame.source, root.function)
                closure = self.closures[number] = Closure(node.node, {}, frame)
                closure.defaults.update((name, self.unpack(part)) for name, part in defaults)
                frame.env.update((name, self.unpack(part)) for name, part in seen)
                return closure
        raise AssertionError(pattern)


def starter(source: Source, function: Any, shape: Any, around: Any, pack: Pack) -> Callable[..., Any]:
    def start(interpreter: Interpreter, leaves: list[Any]) -> Any:
        unpack = Unpack(pack, leaves, interpreter.build)
        env = {name: unpack.unpack(part) for name, part in shape[1]}
        parent = unpack.unpack(around).frame if around is not None else None
        return interpreter.enter(Frame(source, function, env, parent), source.node)

    return start
