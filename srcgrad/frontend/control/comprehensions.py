"""List comprehensions and generators: lists of known length, arrays that a loop fills, or lists that grow in one.

[x**i for i in range(3)]   →   a list of three
[f(i) for i in range(n)]   →   t = empty(n); for i in range(n): t[i] = f(i)
[v for v in x if v > 0]    →   a function of its own: items = []; for v in x: if v > 0: items.append(v)
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...ir import affine
from ...ir.expressions import INT64, Call, Const, Expr, Var
from ...ir.nodes import Stmt
from ...rules.compositions import lists_by_place
from .. import assignment, binding, expressions, identities, operators, unpacking
from ..array_values import ArrayValue, whole
from ..calls import calls_in_place
from ..calls.frames import Frame
from ..lists import filled_lists, lists, lists_as_arrays
from ..lists.filled_lists import AtRunTime
from ..lists.run_over import RunOver
from ..objects import changes, dicts, records, sets
from ..syntax import liveness
from ..syntax.source import located
from ..unpacking import known_tuples
from ..values import Closure, Grid, Indexed, Items, OneOf, Range, Scalar, TupleValue, constant, new_list
from . import generators, iterators
from .attempts import restore, save
from .control import note_range

if TYPE_CHECKING:
    from ..interpret import Interpreter


UNROLLED = 64  # iterations of a comprehension over a constant range
ITEMS, OVER, DEFAULT = ".items", ".over", ".default"


@expressions.evaluates(ast.ListComp)
def comprehension(interpreter: Interpreter, node: ast.ListComp | ast.GeneratorExp) -> Any:
    """A list of known length where the range is known, else an array that a loop fills."""
    if liveness.named_in(node):
        return _in_place(interpreter, node)
    over = unpacking.run_over_by_loop(interpreter, expressions.evaluate(interpreter, node.generators[0].iter))
    items = generators.of_object(interpreter, lists_as_arrays.items_at_place(interpreter, over))
    may_change = any(isinstance(part, ast.Call) for part in ast.walk(node))
    if not (may_change and lists_by_place.is_one(getattr(over, "kind", None))):
        return _over(interpreter, node, items)
    before = interpreter.call_composition(lists_by_place.state_of, [over], {})
    made = _over(interpreter, node, items)
    interpreter.call_composition(lists_by_place.check_unchanged, [identities.now(interpreter, over), before], {})
    return made


def _over(interpreter: Interpreter, node: ast.ListComp | ast.GeneratorExp, over: Any) -> Any:
    first = node.generators[0]
    generators.check_taken(interpreter, node, over)
    items = _known_items(interpreter, over)
    lists_at = interpreter.frame.source.span(node) if _is_of_empty_lists(node) else None
    chosen = interpreter.callees.chosen
    if lists_at in chosen.grown_apart:
        return interpreter.call_composition(lists_by_place.lists_of, [over], {})
    if lists_at is not None and items is None:
        chosen.refused_lists.add(lists_at)
    if items is not None:
        saved = save(interpreter)
        try:
            with _names_of_its_own(interpreter):
                made = new_list(_unrolled(interpreter, node, 0, items))
            if lists_at is not None:
                interpreter.empty_lists[made.identity] = lists_at
            return made
        except AtRunTime:
            restore(interpreter, saved)
            return _grown(interpreter, node, over)
    if len(node.generators) > 1 or first.ifs or isinstance(over, Grid) or generators.is_one(over):
        return _grown(interpreter, node, over)
    saved = save(interpreter)
    try:
        as_it_is = lists.run_over(interpreter, over)
        with _names_of_its_own(interpreter):
            return _at_once(interpreter, node, as_it_is)
    except AtRunTime:  # what it calls changes a list: a loop like any other
        restore(interpreter, saved)
        return _grown(interpreter, node, over)


def _is_of_empty_lists(node: ast.ListComp | ast.GeneratorExp) -> bool:
    """[[] for _ in range(n)]"""
    match node:
        case ast.ListComp(elt=ast.List(elts=[]), generators=[ast.comprehension(ifs=[])]):
            return True
    return False


@expressions.evaluates(ast.GeneratorExp)
def generator(interpreter: Interpreter, node: ast.GeneratorExp) -> Any:
    before = changes.Changes(interpreter)
    return iterators.noted(interpreter, comprehension(interpreter, node), node, before)


@expressions.evaluates(ast.SetComp)
def set_of_items(interpreter: Interpreter, node: ast.SetComp) -> TupleValue:
    items = comprehension(interpreter, ast.copy_location(ast.ListComp(node.elt, node.generators), node))
    known = unpacking.known_items(interpreter, items)
    interpreter.at(node.elt)
    if known is None:
        interpreter.build.refuse(records.KEYS_ARE_KNOWN, *records.INSTEAD_OF_KEYS)
    return sets.display(interpreter, known)


@expressions.evaluates(ast.DictComp)
def dict_of_items(interpreter: Interpreter, node: ast.DictComp) -> TupleValue:
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    made = comprehension(interpreter, ast.copy_location(ast.ListComp(pair, node.generators), node))
    interpreter.at(node.key)
    if unpacking.known_items(interpreter, made) is None:
        interpreter.build.refuse(records.KEYS_ARE_KNOWN, *records.INSTEAD_OF_KEYS)
    return dicts.made_of(interpreter, [made], {})


@contextmanager
def _names_of_its_own(interpreter: Interpreter) -> Iterator[None]:
    """No function that is called sees what a comprehension runs over; one that is made there does, and keeps it."""
    around = interpreter.frame
    interpreter.frames.append(
        Frame(around.source, None, {}, around, around.depth, around.called_at, around.is_composition)
    )
    try:
        yield
    finally:
        interpreter.frames.pop()


def _at_once(interpreter: Interpreter, node: ast.ListComp | ast.GeneratorExp, over: Any) -> Any:
    """Its items in an array, computed in a loop that changes nothing else."""
    if isinstance(over, ArrayValue) and over.ndim:
        held = whole(interpreter.build.stored(over, "items"))
        over = Indexed(held.dims[0], lambda i: unpacking.element(held, i), (held,))
    if isinstance(over, Indexed):
        items = _looped(interpreter, node, Range(affine.ZERO, over.count, affine.ONE), over.item)
        for held in over.held:  # they may be copies of what an item writes
            interpreter.build.check_fresh(held.element)
        return items
    if not isinstance(over, Range):
        return interpreter.build.refuse("a comprehension runs over a range, an array, a tuple or a list")
    return _looped(interpreter, node, over, lambda index: Scalar(index, weak=True))


def _known_items(interpreter: Interpreter, over: Any) -> list[Any] | None:
    if isinstance(over, TupleValue):
        return unpacking.known_items(interpreter, over)
    if isinstance(over, Grid):
        return known_tuples(interpreter, over)
    numbers = unpacking.known_range(over)
    if numbers is not None and len(numbers) <= UNROLLED:
        return [constant(k) for k in numbers]
    if isinstance(over, Indexed) and isinstance(over.count, Const) and over.count.value <= UNROLLED:
        return [over.item(affine.integer(k)) for k in range(over.count.value)]
    return None


def _unrolled(interpreter: Interpreter, node: Any, level: int, items: list[Any]) -> list[Any]:
    generator, out = node.generators[level], []
    run_over = RunOver(interpreter, generator.iter, None)
    for position in range(len(items)):
        mark = len(interpreter.build.block)
        assignment.assign(interpreter, generator.target, identities.now(interpreter, items[position]), mark)
        kept = [operators.static_truth(expressions.as_it_is(interpreter, test)) for test in generator.ifs]
        if None in kept:
            raise AtRunTime
        if not all(kept):
            continue
        if level + 1 < len(node.generators):
            inner_iter = expressions.evaluate(interpreter, node.generators[level + 1].iter)
            inner = _known_items(interpreter, unpacking.run_over_by_loop(interpreter, inner_iter))
            if inner is None:
                raise AtRunTime
            out += _unrolled(interpreter, node, level + 1, inner)
        else:
            value = expressions.as_it_is(interpreter, node.elt)
            is_bound = isinstance(value, (Scalar, TupleValue, OneOf))
            out.append(binding.bind_item(interpreter, "t", value) if is_bound else value)
        items = expressions.as_before(interpreter, items, mark)
        run_over.check(position)
    return [identities.now(interpreter, value) for value in out]


def _grown(interpreter: Interpreter, node: ast.ListComp | ast.GeneratorExp, over: Any) -> Any:
    """As the function that Python makes of it; `over`: what its first `for` runs over."""
    if generators.is_one(over):
        function, given = as_function(node, ast.Constant(over.value), []), []
    else:
        function, given = as_function(node, _load(OVER), [OVER]), [over]
    return calls_in_place.call_closure(interpreter, Closure(located(function, node), {}, interpreter.frame), given, {})


def as_function(node: ast.ListComp | ast.GeneratorExp, over: ast.expr, parameters: list[str]) -> ast.FunctionDef:
    """The function that appends its items to a list."""
    body = _appending(node, ITEMS, over)
    arguments = ast.arguments([], [ast.arg(name) for name in parameters], None, [], [], None, [])
    return ast.FunctionDef("<listcomp>", arguments, [*body, ast.Return(_load(ITEMS))], [])


def next_of(interpreter: Interpreter, node: ast.GeneratorExp, default: list[ast.expr]) -> Any:
    """next(f(v) for v in xs if c): the first item alone is looked at, so it is a loop that returns it."""
    if liveness.named_in(node):
        interpreter.build.refuse(":= in a generator that next() takes from is not supported", "write it as a loop")
    given = expressions.evaluate_all(interpreter, [node.generators[0].iter, *default], expressions.as_it_is)
    names = [OVER, DEFAULT][: len(given)]
    over: ast.expr = _load(OVER)
    if generators.is_one(given[0]):
        over, given, names = ast.Constant(given[0].value), given[1:], names[1:]
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    otherwise = ast.Return(_load(DEFAULT)) if default else ast.Raise(_load("StopIteration"))
    body = [_nest(node, over, ast.Return(node.elt)), otherwise]
    function = ast.FunctionDef("<genexpr>", arguments, body, [])
    located(function, node)
    return calls_in_place.call_closure(interpreter, Closure(function, {}, interpreter.frame), given, {})


def _in_place(interpreter: Interpreter, node: ast.ListComp | ast.GeneratorExp) -> Any:
    """One that binds names of the function around, by := : as statements of that function, its own names renamed."""
    named, function = liveness.named_in(node), interpreter.frame.source.node
    if any(isinstance(part, ast.Lambda) for part in ast.walk(node)):
        interpreter.build.refuse(":= in a comprehension that holds a lambda is not supported", "write it as a loop")
    if isinstance(node, ast.GeneratorExp) and _reads(function, named) != _reads(node, named):
        interpreter.build.refuse(
            "what := binds in a generator is read outside of it: what that is depends on how far the generator ran",
            "use a list comprehension, or write it as a loop",
        )
    made = copy.deepcopy(node)
    own = {n.id for part in ast.walk(made) if isinstance(part, ast.comprehension) for n in _names(part.target)}
    for name in _names(made):
        if name.id in own:
            name.id = f".own_{name.id}"
    items = f".made_{sum(name.startswith('.made_') for name in interpreter.env)}"
    body = _appending(made, items, node.generators[0].iter)
    for stmt in body:
        located(stmt, node)
    liveness.annotate(body, {items, *named, *interpreter.env})  # whatever is known here may still be read
    interpreter.block(body)
    return interpreter.env.pop(items)


def _names(node: ast.AST) -> list[ast.Name]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Name)]


def _reads(node: ast.AST, names: set[str]) -> int:
    return sum(name.id in names and isinstance(name.ctx, ast.Load) for name in _names(node))


def _appending(node: ast.ListComp | ast.GeneratorExp, items: str, over: ast.expr) -> list[ast.stmt]:
    """Its loops and conditions, and the list that they make longer."""
    append = ast.Expr(ast.Call(ast.Attribute(_load(items), "append", ast.Load()), [node.elt], []))
    return [ast.Assign([ast.Name(items, ast.Store())], ast.List([], ast.Load())), _nest(node, over, append)]


def _nest(node: ast.ListComp | ast.GeneratorExp, over: ast.expr, body: ast.stmt) -> ast.stmt:
    for number, generator in reversed(list(enumerate(node.generators))):
        for test in reversed(generator.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(generator.target, generator.iter if number else over, [body], [])
    return body


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _looped(interpreter: Interpreter, node: Any, rng: Range, item: Callable[[Expr], Any]) -> Items:
    """[f(i) for i in range(n)] as an array of n rows, filled by a loop."""
    build = interpreter.build
    start, stop, step = (
        build.pin(e, n) for e, n in zip((rng.start, rng.stop, rng.step), ("start", "stop", "step"), strict=False)
    )
    count = affine.sub(stop, start)
    if not affine.same(step, affine.ONE):
        count = build.capture(Call("trip_count", (start, stop, step), INT64), "n")
    elif not build.is_at_least(count, 0):
        count = affine.maximum(count, affine.ZERO)
    count = build.pin(count)
    target = node.generators[0].target
    wanted = target.id if isinstance(target, ast.Name) else "i"
    name = "i" if isinstance(item(affine.ZERO), ArrayValue) else wanted

    def element(index: Var, block: list[Stmt]) -> Any:
        at = build.capture(affine.add(start, affine.mul(step, index)), wanted)
        note_range(build, at, Range(start, stop, step))
        assignment.assign(interpreter, target, item(at), len(block))
        return expressions.as_item(interpreter, node.elt)

    return filled_lists.filled(interpreter, name, count, element)
