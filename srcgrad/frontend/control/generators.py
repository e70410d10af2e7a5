"""Generators that a `for` loop goes through: their statements, with the body of the loop where they yield.

def pairs(n):                                 .pairs_n = len(x)
    for i in range(n):                        for .pairs_i in range(.pairs_n):
        yield i, n - i                 →          a, b = .pairs_i, .pairs_n - .pairs_i
                                                  s += x[a] * b
for a, b in pairs(len(x)):
    s += x[a] * b

So both take turns, as in Python.  A `break` of the loop is a `return` of the generator.
"""

from __future__ import annotations

import ast
import copy
import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...rules import compositions
from ...rules.compositions import deques
from ...rules.compositions import iterators as iterators_of_ours
from .. import identities
from ..array_values import ArrayValue
from ..calls.frames import Frame
from ..lists import lists_as_arrays
from ..objects import special_methods
from ..syntax import flow, liveness, syntax
from ..syntax.source import Source, located
from ..syntax.syntax import below, walk
from ..values import NONE, Generator, Range, Static, TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter

BODY, TARGET, STOPPED, COUNT = ".body", ".target", ".stops", ".count"  # what stands for parts of the loop
ENDLESS = {
    itertools.count: "number the items:  for k, y in enumerate(ys)",
    itertools.cycle: "number the items:  for k, y in enumerate(ys), and take  parts[k % n]",
    itertools.repeat: "the number itself",
}
TAKE_SOME = ("zip", "map", "islice")  # of what has no end, too (see `endless`)
MOST = 24  # generators that take from one another
IN_TURN = (zip, map, filter, enumerate, reversed)
TAKERS = (list, tuple, sum, max, min, sorted, math.fsum, math.prod)  # these go through all of it, and have no say in it


def is_one(value: Any) -> bool:
    return isinstance(value, Static) and isinstance(value.value, Generator)


def is_function(node: ast.AST) -> bool:
    """Does a function yield?  (Not one that is defined in it.)"""
    if not isinstance(node, ast.FunctionDef):
        return False
    if not hasattr(node, "yields"):
        node.yields = any(map(_yields, node.body))  # type: ignore[attr-defined]
    return node.yields  # type: ignore[attr-defined]


def _yields(node: ast.AST) -> bool:
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return True
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return False
    return any(map(_yields, below(node)))


def refuse_held(interpreter: Interpreter, value: Any) -> None:
    """What a generator has handed out is gone: only one that goes straight to who takes from it is seen through."""
    if isinstance(value, Static) and isinstance(value.value, Iterator):
        interpreter.build.refuse("an iterator with a name, or among arguments", "go through the object itself")
    if is_one(value):
        made = value.value
        endless = next((name for name in ENDLESS if compositions.PYTHON[name] is made.function), None)
        if endless is not None:
            interpreter.build.refuse(f"itertools.{endless.__name__} that no loop goes through", ENDLESS[endless])
        name = made.source.name
        helps = [f"go through it there:  for y in {name}(...)", f"or make a list of it:  ys = list({name}(...))"]
        if _has_no_end(made.source.node):
            helps = [f"go through it there:  for k, y in enumerate({name}(...)), which  if k == n: break  ends"]
        interpreter.build.refuse(f"a generator that is not gone through where {name}() is called", *helps)


def _has_no_end(function: Any) -> bool:
    """Is there a `while True` in it that nothing leaves?"""
    return any(
        isinstance(stmt, ast.While)
        and isinstance(stmt.test, ast.Constant)
        and bool(stmt.test.value)
        and not any(isinstance(part, (ast.Break, ast.Return, ast.Raise)) for part in walk(stmt))
        for stmt in function.body
        if isinstance(function, ast.FunctionDef)
    )


def note_only_uses(body: list[ast.stmt], parameters: Iterable[str] = ()) -> None:
    """Mark names that are given once, and read this once, by a loop: points = g(x), and then for y in points."""
    uses = Counter(part.id for stmt in body for part in walk(stmt) if isinstance(part, ast.Name))
    for name in parameters:
        if uses[name] == 1:
            _mark_only_use(name, body)
    for block in _blocks(body):
        for k, stmt in enumerate(block):
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()) if uses[name] == 2:
                    _mark_only_use(name, block[k + 1 :])


def _blocks(body: list[ast.stmt]) -> Iterable[list[ast.stmt]]:
    yield body
    for stmt in body:
        for inner in (getattr(stmt, "body", ()), getattr(stmt, "orelse", ())):
            if inner and not isinstance(stmt, ast.FunctionDef):
                yield from _blocks(inner)


def _mark_only_use(name: str, behind: list[ast.stmt]) -> None:
    for stmt in behind:
        match stmt:
            case ast.For(iter=ast.Call(func=ast.Name(id="enumerate"), args=[over, *_])) | ast.For(iter=over):
                if isinstance(over, ast.Name) and over.id == name:
                    over.is_only_use = True  # type: ignore[attr-defined]
        for call in _calls_once(stmt):
            if isinstance(call.func, (ast.Name, ast.Attribute)) and _called(call.func) in TAKE_SOME:
                for arg in call.args:
                    if isinstance(arg, ast.Name) and arg.id == name:
                        arg.is_only_use = True  # type: ignore[attr-defined]


def _called(function: ast.Name | ast.Attribute) -> str:
    return function.id if isinstance(function, ast.Name) else function.attr


def _calls_once(stmt: ast.stmt) -> Iterable[ast.Call]:
    """The calls in a statement that it makes once, whatever happens."""
    match stmt:
        case ast.For(iter=part):
            waiting: list[ast.AST] = [part]
        case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Return():
            waiting = [stmt.value] if stmt.value is not None else []
        case _:
            waiting = []
    while waiting:
        node = waiting.pop()
        match node:
            case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                waiting.append(node.generators[0].iter)
            case ast.Lambda() | ast.IfExp() | ast.BoolOp():
                pass
            case _:
                waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Call):
            yield node


def is_only_use(node: ast.AST) -> bool:
    return getattr(node, "is_only_use", False)


def given_to(made: Generator) -> Generator:
    """With what it was given as that is now."""
    if made.scope is None:
        return made
    given = dict(made.scope.env)
    first = given.pop(COUNT, made.first)
    return replace(made, given=given, first=first, scope=None)


def held(interpreter: Interpreter, node: ast.Name) -> Any:
    """The generator that a name stands for, where it is read this once."""
    value = interpreter.frame.bound(node.id) if is_only_use(node) else None
    return value if is_one(value) else None


def note_taker(function: Any, nodes: list[ast.expr]) -> None:
    """An expression with a generator in it, f(v) for v in g(x), may be gone through now where all of it is taken."""
    for node in nodes:
        if isinstance(node, ast.GeneratorExp):
            node.is_taken = takes_all(function)  # type: ignore[attr-defined]


def takes_all(function: Any) -> bool:
    return isinstance(function, Static) and any(function.value is taker for taker in TAKERS)


def check_taken(interpreter: Interpreter, node: ast.AST, over: Any) -> None:
    if isinstance(node, ast.GeneratorExp) and not getattr(node, "is_taken", False):
        refuse_held(interpreter, over)


@dataclass(frozen=True, eq=False)
class Iterator:
    """iter(ys): for the loop that has asked an object for it, and for nobody else."""

    over: Any


def iterator_of(interpreter: Interpreter, value: Any) -> Any:
    if interpreter.frame.source.name == "__iter__":
        return Static(Iterator(of_object(interpreter, value)))
    if isinstance(value, TupleValue) and iterators_of_ours.is_one(value.kind):
        return value
    is_array = isinstance(value, ArrayValue) and value.ndim > 0
    is_sequence = identities.is_list(value) or (isinstance(value, TupleValue) and value.kind is tuple)
    if not (is_array or is_sequence or isinstance(value, Range)):
        interpreter.build.refuse("iter is supported of arrays, lists, tuples and ranges", "a loop:  for y in ys")
    return interpreter.call_composition(iterators_of_ours.over, [value], {})


def of_object(interpreter: Interpreter, value: Any) -> Any:
    """What `__iter__` of an object gives, where that is a generator or iter(ys); else the object."""
    if special_methods.own(value, "__iter__") is None:
        return value
    given = special_methods.called(interpreter, value, "__iter__")
    if isinstance(given, Static) and isinstance(given.value, Iterator):
        return identities.now(interpreter, given.value.over)
    return given if is_one(given) else value


def of_objects(interpreter: Interpreter, function: Any, args: list[Any]) -> list[Any]:
    """What objects are to who goes through all of an argument, or through several in turn: zip(tree, queue)."""
    called = function.value if isinstance(function, Static) else None
    if any(called is taker for taker in IN_TURN):
        first = 1 if called in (map, filter) else 0
        return [*args[:first], *(_in_turn(interpreter, called, value) for value in args[first:])]
    if not (args and takes_all(function)) or (len(args) > 1 and called in (max, min)):
        return args
    return [of_object(interpreter, lists_as_arrays.items_at_place(interpreter, args[0])), *args[1:]]


def _in_turn(interpreter: Interpreter, called: Any, value: Any) -> Any:
    if called is reversed and not (isinstance(value, TupleValue) and deques.is_one(value.kind)):
        return value  # a class says by another method what that is
    given = of_object(interpreter, value)
    return value if is_one(given) and called is not enumerate else given


def for_loop(interpreter: Interpreter, node: ast.For, made: Generator) -> None:
    """The statements of the generator in the place of the loop, with names of their own."""
    env, made = interpreter.env, given_to(made)
    prefix = _prefix(interpreter, made)
    function = made.source.node
    assert isinstance(function, ast.FunctionDef)
    own = set(parameters_of(function)) | liveness.assigned(function.body)
    body = _In(interpreter, made, node).statements()
    note_only_uses(body, parameters_of(function))
    outside = _outside(interpreter, made, own)
    names = {name: prefix + name for name in (*own, *outside)}
    names |= {name: f"{name}_{prefix.strip('._')}" for name in _dotted(body)}
    names |= {STOPPED: getattr(node, "stop_flag", None) or STOPPED, TARGET: TARGET}
    _rename(body, names)
    _move(body, made.source, interpreter.frame.source, node)
    body = _with_loop(body, node)
    live_out: frozenset[str] = node.live_out  # type: ignore[attr-defined]
    liveness.annotate(body, live_out)
    liveness.read_anywhere(body, live_out)  # by functions, too, that are called in it
    env[prefix] = NONE
    env.update({names[name]: value for name, value in outside.items()})
    env.update({names[name]: identities.now(interpreter, value) for name, value in made.given.items()})
    if made.first is not None:
        env[names[COUNT]] = made.first
    interpreter.block(body)
    for name in {prefix, *names.values()} - {names[STOPPED]}:
        interpreter.env.pop(name, None)


def _prefix(interpreter: Interpreter, made: Generator) -> str:
    name = made.source.name.strip("<>")
    for number in range(1, MOST + 1):
        prefix = f".{name}_" if number == 1 else f".{name}_{number}_"
        if prefix not in interpreter.env:
            return prefix
    return interpreter.build.refuse(
        f"{name} takes from generators that take from others, more than {MOST} of them",
        "write it as a function that appends to a list",
    )


def parameters_of(node: Any) -> Iterable[str]:
    return (part.arg for part in walk(node.args) if isinstance(part, ast.arg))


def _outside(interpreter: Interpreter, made: Generator, own: set[str]) -> dict[str, Any]:
    """What the names that the generator reads and does not bind stand for: in the scope around it.

    Those that it shares with the function that the loop is in stay what they are: that may bind them anew.
    """
    body = made.source.node.body
    assert isinstance(body, list)
    free = frozenset().union(*map(liveness.read_in, body)) - own
    scopes, scope = [], made.parent
    while scope is not None and scope is not interpreter.frame:
        scopes.append(scope)
        scope = scope.parent
    if scope is interpreter.frame:
        free &= frozenset().union(*(between.env for between in scopes))
    interpreter.frames.append(Frame(made.source, made.function, {}, made.parent))
    try:
        return {name: interpreter.lookup(name) for name in sorted(free)}
    finally:
        interpreter.frames.pop()


class _In(ast.NodeTransformer):
    """The statements of a generator, structured as those of a function are, with marks where it yields."""

    def __init__(self, interpreter: Interpreter, made: Generator, loop: ast.For) -> None:
        self.interpreter, self.made, self.loop = interpreter, made, loop
        self.froms = 0

    def statements(self) -> flow.Statements:
        function = copy.deepcopy(self.made.source.node)
        assert isinstance(function, ast.FunctionDef)
        function.body = self.block(function.body)
        for part in walk(function):
            if isinstance(part, (ast.Yield, ast.YieldFrom)):
                self.refuse(part, "the value of a yield, which is what is sent to the generator,")
        for name in ("yields", "are_tests_marked"):
            vars(function).pop(name, None)
        return _without_result(flow.structured(function))

    def refuse(self, at: ast.AST, what: str) -> None:
        span = self.made.source.span(at)
        self.interpreter.build.span = span or self.interpreter.build.span
        self.interpreter.build.refuse(f"{what} is not supported", "write it as a loop, or as a function with a list")

    def block(self, body: flow.Statements) -> flow.Statements:
        out: flow.Statements = []
        for stmt in body:
            made = self.visit(stmt)
            out += made if isinstance(made, list) else [made]
        return out

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Yield(value=value):
                item = value or ast.Constant(None)
                if self.made.first is not None:
                    item = ast.Tuple([_load(COUNT), item], ast.Load())
                out: flow.Statements = [ast.Assign([_store(TARGET)], item)]
                if self.made.first is not None:
                    out.append(ast.AugAssign(_store(COUNT), ast.Add(), ast.Constant(1)))
                out.append(ast.Expr(ast.Constant(BODY)))
                if getattr(self.loop, "stop_flag", None) is not None:
                    out.append(ast.If(_load(STOPPED), [ast.Return(None)], []))
                return [located(stmt, node) for stmt in out]
            case ast.YieldFrom(value=value):
                self.froms += 1
                name = f".from_{self.froms}"
                each = ast.Expr(ast.Yield(_load(name)))
                return self.visit(located(ast.For(_store(name), value, [each], []), node))
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.refuse(node, "a value that a generator returns")
        return ast.copy_location(ast.Return(None), node)

    def visit_Try(self, node: ast.Try) -> ast.Try:
        self.refuse(node, "a try in a generator")
        return node

    def visit_With(self, node: ast.With) -> ast.With:
        if _yields(node):
            self.refuse(node, "a yield under with")
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.refuse(node, "a function that is defined in a generator")
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.refuse(node, "a function that is defined in a generator")
        return node


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _without_result(body: flow.Statements) -> flow.Statements:
    """A generator returns nothing."""
    out: flow.Statements = []
    for stmt in body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=flow.RESULT)]):
                continue
            case ast.If() | ast.For() | ast.While():
                stmt.body = _without_result(stmt.body) or [ast.copy_location(ast.Pass(), stmt)]
                stmt.orelse = _without_result(stmt.orelse)
        out.append(stmt)
    return out


def _dotted(body: flow.Statements) -> set[str]:
    """Names that are not the user's."""
    return {name for stmt in body for name in liveness.mentioned(stmt) if name.startswith(".")}


def _rename(body: flow.Statements, names: dict[str, str]) -> None:
    for stmt in body:
        for part in walk(stmt):
            if isinstance(part, ast.Name):
                part.id = names.get(part.id, part.id)
            elif getattr(part, "stop_flag", None) is not None:
                part.stop_flag = names[part.stop_flag]  # type: ignore[attr-defined]


def _move(body: flow.Statements, source: Source, into: Source, loop: ast.For) -> None:
    """Lines and columns are counted from where the function begins; those of another file are those of the loop."""
    for stmt in body:
        for part in walk(stmt):
            if not hasattr(part, "lineno"):
                continue
            if source.file != into.file:
                ast.copy_location(part, loop)
                continue
            at: Any = part
            at.lineno, at.end_lineno = (line + source.line - into.line for line in (at.lineno, at.end_lineno))
            columns = (column + source.column - into.column for column in (at.col_offset, at.end_col_offset))
            at.col_offset, at.end_col_offset = columns


def _with_loop(body: flow.Statements, loop: ast.For) -> flow.Statements:
    """The target and the body of the loop in the places of their marks."""
    out: flow.Statements = []
    for stmt in body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=id)]) if id == TARGET:
                stmt.targets = [loop.target]
            case ast.Expr(value=ast.Constant(value=value)) if value == BODY:
                out += syntax.copied(loop.body)
                continue
            case ast.If() | ast.For() | ast.While():
                stmt.body, stmt.orelse = _with_loop(stmt.body, loop), _with_loop(stmt.orelse, loop)
        out.append(stmt)
    return out


__all__ = [
    "Generator",
    "check_taken",
    "for_loop",
    "given_to",
    "is_function",
    "is_one",
    "note_taker",
    "iterator_of",
    "of_object",
    "of_objects",
    "parameters_of",
    "refuse_held",
]
