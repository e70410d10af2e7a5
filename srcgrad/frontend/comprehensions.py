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
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..ir import affine
from ..ir.expressions import INT64, Call, Const, Expr, Load, Var
from ..ir.nodes import Alloc, For, Pick, Run, Stmt, Store, Subscript, View
from ..ir.walk import numbers_set, statements, variables
from . import (
    assignment,
    binding,
    calls_in_place,
    changes,
    common_lengths,
    dicts,
    expressions,
    generators,
    identities,
    item_views,
    iterators,
    list_parts,
    list_rows,
    list_types,
    lists,
    lists_as_arrays,
    liveness,
    operators,
    put_in_rows,
    records,
    sets,
    shared_items,
    unpacking,
)
from .aliases import arrays_of
from .attempts import restore, save
from .control import note_range
from .frames import Frame
from .run_over import RunOver
from .source import located
from .unpacking import known_tuples
from .values import (
    ArrayValue,
    Closure,
    Grid,
    Indexed,
    Items,
    Layout,
    OneOf,
    Range,
    Scalar,
    TupleValue,
    constant,
    new_list,
    whole,
)

if TYPE_CHECKING:
    from .builder import Builder
    from .interpret import Interpreter


UNROLLED = 64  # iterations of a comprehension over a constant range
ITEMS, OVER, DEFAULT = ".items", ".over", ".default"


class _AtRunTime(Exception):
    """Which items there are is only known at run time."""


@expressions.evaluates(ast.ListComp)
def comprehension(interpreter: Interpreter, node: ast.ListComp | ast.GeneratorExp) -> Any:
    """A list of known length where the range is known, else an array that a loop fills."""
    if liveness.named_in(node):
        return _in_place(interpreter, node)
    first = node.generators[0]
    over = unpacking.run_over_by_loop(interpreter, expressions.evaluate(interpreter, first.iter))
    over = generators.of_object(interpreter, over)
    generators.check_taken(interpreter, node, over)
    items = _known_items(interpreter, over)
    if items is not None:
        saved = save(interpreter)
        try:
            with _names_of_its_own(interpreter):
                return new_list(_unrolled(interpreter, node, 0, items))
        except _AtRunTime:
            restore(interpreter, saved)
            return _grown(interpreter, node, over)
    if len(node.generators) > 1 or first.ifs or isinstance(over, Grid) or generators.is_one(over):
        return _grown(interpreter, node, over)
    over = lists.run_over(interpreter, over)
    saved = save(interpreter)
    try:
        with _names_of_its_own(interpreter):
            return _at_once(interpreter, node, over)
    except _AtRunTime:  # what it calls changes a list: a loop like any other
        restore(interpreter, saved)
        return _grown(interpreter, node, over)


@expressions.evaluates(ast.GeneratorExp)
def generator(interpreter: Interpreter, node: ast.GeneratorExp) -> Any:
    before = changes.Changes(interpreter)
    return iterators.noted(interpreter, comprehension(interpreter, node), node, before)


@expressions.evaluates(ast.SetComp)
def set_of_items(interpreter: Interpreter, node: ast.SetComp) -> TupleValue:
    items = comprehension(interpreter, ast.copy_location(ast.ListComp(node.elt, node.generators), node))
    return sets.display(interpreter, unpacking.items_of(interpreter, items))


@expressions.evaluates(ast.DictComp)
def dict_of_items(interpreter: Interpreter, node: ast.DictComp) -> TupleValue:
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    made = comprehension(interpreter, ast.copy_location(ast.ListComp(pair, node.generators), node))
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
            raise _AtRunTime
        if not all(kept):
            continue
        if level + 1 < len(node.generators):
            inner_iter = expressions.evaluate(interpreter, node.generators[level + 1].iter)
            inner = _known_items(interpreter, unpacking.run_over_by_loop(interpreter, inner_iter))
            if inner is None:
                raise _AtRunTime
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

    return filled(interpreter, name, count, element)


def collected(interpreter: Interpreter, over: Indexed) -> Items:
    """list(zip(x, y)), sum(map(f, x)): the items of what a loop would run over, as a list."""
    try:
        return _collected(interpreter, over)
    except _AtRunTime:
        return interpreter.build.refuse("what is called for each item changes a list", "write the loop")


def _collected(interpreter: Interpreter, over: Indexed) -> Items:
    return filled(interpreter, "i", interpreter.build.pin(over.count), lambda index, block: over.item(index))


def filled(interpreter: Interpreter, name: str, count: Expr, element: Callable[[Var, list[Stmt]], Any]) -> Items:
    """A list of run-time length, whose items are computed in a loop."""
    build = interpreter.build
    saved = [(frame.env, dict(frame.env)) for frame in identities.frames_of(interpreter)]
    lists_before, disturbed = identities.held(interpreter), build.fields.disturbed
    index = Var(build.names.index(name), INT64)
    build.lower[index] = 0
    block: list[Stmt] = []
    with build.nested(block):
        made = element(index, block)
        now = identities.held(interpreter)
        if any(now.get(identity) != value for identity, value in lists_before.items()):
            raise _AtRunTime
        if build.fields.disturbed != disturbed:  # what the next item is made of may be a copy of what has changed
            raise _AtRunTime
        row = list_rows.row_of(interpreter, made)
        has_layout = isinstance(row.inner, Layout)
        value = made if isinstance(made, Scalar) or has_layout else lists_as_arrays.as_array(interpreter, made)
    for env, before in saved:
        env.clear()
        env.update(before)
    if isinstance(value, ArrayValue):
        row = replace(row, dims=value.dims)
    inside = numbers_set(tuple(block)) | {index}
    if any(variables(dim) & inside for dim in list_rows.lengths_of(row)):
        row = _of_one_shape(build, row, block, index)
    out = build.allocate("t", row.dtype, (count, *row.dims))
    build.in_unnamed.add(out.name)
    if has_layout:  # (where it is put, it is given away)
        item_views.note_kinds(interpreter, out, row.inner)
    else:
        shared_items.give_away(interpreter, made, out)
    if any(identity in lists_before for identity in identities.within(made)) or _may_be_again(interpreter, made, index):
        build.rows_of_one.add(out.name)
        shared_items.note_held_twice(interpreter, out)
    list_types.note_repeated(interpreter, out, made, row.inner)
    with build.nested(block):
        if isinstance(value, Scalar):
            build.emit(Store(out, (index,), value.expr))
        elif isinstance(value, ArrayValue):
            value = common_lengths.with_lengths(build, value, row.dims)
            build.each(row.dims, lambda i: Store(out, (index, *i), value.at(i)))
        else:
            put_in_rows.put(interpreter, out, index, value, row.inner)
    build.names.release(index.name)
    for known in (build.lower, build.upper):
        known.pop(index, None)
    build.emit(For(index, affine.ZERO, count, affine.ONE, tuple(block)))
    made_there = {stmt.array.name for stmt in statements(tuple(block)) if isinstance(stmt, Alloc)}
    arrays = [part for part in list_parts.parts_of(value) if isinstance(part, ArrayValue)]
    for part in arrays:
        others = [build.root(array) for other in arrays if other is not part for array in arrays_of(other)]
        if part.handle is not None or part.is_window:
            if any(
                build.root(array) not in made_there
                and (build.root(array) in others or not _is_apart(block, part, index))
                for array in arrays_of(part)
            ):
                shared_items.note_one_array(interpreter, out)  # parts of one array may overlap
    put_in_rows.note_held(interpreter, out, value)
    return Items(out, count, count, row.weak, row.inner, object())


def _may_be_again(interpreter: Interpreter, made: Any, index: Var) -> bool:
    """Is there an object of another list in it that may be that of another iteration, too?"""
    if interpreter.frame.is_composition:  # it puts all in order
        return False
    objects = [part for part in (*identities.parts_within(made), made) if item_views.is_view(interpreter, part)]
    return any(item_views.place_of(part) != index for part in objects)


def _is_apart(block: list[Stmt], part: ArrayValue, index: Var) -> bool:
    """Is it another part of its array in each iteration: the row of this number?"""
    views = {stmt.array: stmt for stmt in block if isinstance(stmt, View)}
    match part.element:
        case Load(array=array, index=places) if array not in views:
            picks = [place for place in places if index in variables(place)]
        case Load(array=array) if isinstance(how := views[array].how, Subscript) and views[array].base not in views:
            picks = [item.index for item in how.items if isinstance(item, Pick)]
            if any(
                index in variables(e) for item in how.items if isinstance(item, Run) for e in (item.start, item.length)
            ):
                return False
        case _:
            return False
    return any(affine.affine(pick)[0] == ((index, 1),) for pick in picks)


def _of_one_shape(build: Builder, row: list_rows.Row, block: list[Stmt], index: Var) -> list_rows.Row:
    """What the items of all iterations are, in the shape that the first one has."""
    lengths = common_lengths.known_ahead(build, list_rows.lengths_of(row), block, index, affine.ZERO)
    if lengths is None:
        return build.refuse("the items of this comprehension may differ in shape", "write the loop")
    lengths = tuple(build.pin(length) for length in lengths)
    build.lower |= {length: 0 for length in lengths if isinstance(length, Var)}
    return list_rows.with_lengths(row, lengths)
