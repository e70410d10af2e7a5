"""Expressions of the user's program, evaluated with types and symbols."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import (
    ArgumentError,
    IndexArgumentError,
    KeyArgumentError,
    NoItemsError,
    NoneArgumentError,
    SrcgradError,
    UnsupportedError,
)
from . import arrays_of_none, binding, identities, known_values, large_numbers, one_of, operators, optional, unpacking
from .array_values import ArrayValue, Flat, whole
from .calls import texts
from .control import generators
from .lists import item_names, item_views, lists, lists_as_arrays, one_by_one
from .numpy import flat, grids, indexing
from .objects import attributes, changes, chosen_objects, containers, records, sets, special_methods, tuple_items
from .syntax.syntax import walk
from .values import (
    ChosenObject,
    Items,
    Method,
    Range,
    Scalar,
    Slice,
    Static,
    Template,
    TupleValue,
    Unpacked,
    constant,
    new_dict,
    new_list,
)

if TYPE_CHECKING:
    from .interpret import Interpreter

Reading = Callable[["Interpreter", ast.expr], Any]
EXPRESSION_WORDS: dict[type[ast.AST], str] = {
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.Await: "await",
}  # fmt: skip


def evaluate(interpreter: Interpreter, node: ast.expr) -> Any:
    """What an expression stands for, to compute with."""
    return to_compute_with(interpreter, node, as_it_is(interpreter, node))


def with_array_of_none(interpreter: Interpreter, node: ast.expr, for_attributes: bool = False) -> Any:
    """What an expression stands for, where this may be an array of None."""
    value = as_it_is(interpreter, node, for_attributes)
    is_known = arrays_of_none.is_one(value) or isinstance(value, ChosenObject)
    return value if is_known else to_compute_with(interpreter, node, value)


def as_item(interpreter: Interpreter, node: ast.expr) -> Any:
    """What an expression stands for, to be kept in a list: a value, or None at times."""
    value = as_it_is(interpreter, node)
    return value if optional.is_optional(value) else to_compute_with(interpreter, node, value)


def to_compute_with(interpreter: Interpreter, node: ast.expr, value: Any) -> Any:
    value = one_of.settled(interpreter, node, value)
    if not isinstance(node, (ast.Call, ast.Constant)) and not generators.is_only_use(node):
        generators.refuse_held(interpreter, value)
    return value


def as_it_is(interpreter: Interpreter, node: ast.expr, for_attributes: bool = False) -> Any:
    """What an expression stands for, to hand it on: None at times, or one of several things by the path taken."""
    interpreter.at(node)
    if one_by_one.is_asked(node):
        with one_by_one.nothing_changes(interpreter, node):
            return _as_it_is(interpreter, node, for_attributes)
    return _as_it_is(interpreter, node, for_attributes)


def _named(interpreter: Interpreter, node: ast.Name) -> Any:
    held = generators.held(interpreter, node)
    return interpreter.lookup(node.id) if held is None else held


EVALUATED_ABOVE: dict[type[ast.expr], Callable[[Interpreter, Any], Any]] = {}
Evaluator = TypeVar("Evaluator", bound=Callable[..., Any])


def evaluates(kind: type[ast.expr]) -> Callable[[Evaluator], Evaluator]:
    """For a function of a module above this one, which evaluates expressions of this kind by evaluating their parts."""

    def register(function: Evaluator) -> Evaluator:
        EVALUATED_ABOVE[kind] = function
        return function

    return register


def _as_it_is(interpreter: Interpreter, node: ast.expr, for_attributes: bool) -> Any:
    above = EVALUATED_ABOVE.get(type(node))
    if above is not None:
        return above(interpreter, node)
    match node:
        case ast.Constant(value=value):
            return constant(value)
        case ast.Name():
            return _named(interpreter, node)
        case ast.BinOp(left=left, op=op, right=right):
            if isinstance(op, ast.Div):
                large_numbers.note_factors(interpreter, node)
            x, y = evaluate_all(interpreter, [left, right])
            interpreter.at(node)
            return operators.binary(interpreter, operators.OPERATORS[type(op)], x, y)
        case ast.UnaryOp(op=op, operand=operand):
            read = as_it_is if isinstance(op, ast.Not) else evaluate
            return operators.unary(interpreter, op, read(interpreter, operand))
        case ast.Attribute(value=value, attr=name):
            owner = with_array_of_none(interpreter, value, for_attributes=True)
            interpreter.at(node)
            if arrays_of_none.is_one(owner) and (found := arrays_of_none.attribute(owner, name)) is not None:
                return found
            if isinstance(owner, ChosenObject):
                return chosen_objects.attribute(interpreter, value, owner, name, for_attributes)
            interpreter.build.refuse_unusable(owner, value)
            return attributes.attribute(interpreter, owner, name)
        case ast.Subscript(value=value, slice=items):
            owner = with_array_of_none(interpreter, value, for_attributes=True)
            if isinstance(owner, ChosenObject):
                return chosen_objects.under_key(interpreter, value, owner, evaluate(interpreter, items), for_attributes)
            if arrays_of_none.is_one(owner):
                return arrays_of_none.item(interpreter.build, owner, known_values.plain(evaluate(interpreter, items)))
            return subscripted(interpreter, node, owner, items, for_attributes)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return display(interpreter, parts, tuple if isinstance(node, ast.Tuple) else list)
        case ast.Set(elts=parts):
            values = unpacked(parts_of(interpreter, parts, evaluate))
            interpreter.at(node)
            return sets.display(interpreter, values)
        case ast.Dict(keys=keys, values=values):
            return _dict_display(interpreter, keys, values)
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds = [None if p is None else none_as_absent(evaluate(interpreter, p)) for p in (lower, upper, step)]
            return Slice(*bounds)
        case ast.JoinedStr():
            return Static(_joined(interpreter, node))
        case ast.NamedExpr(target=target, value=value):
            mark = len(interpreter.build.block)
            made = as_it_is(interpreter, value)
            if made in interpreter.iterators:
                interpreter.build.refuse(":= of an iterator is not supported", "make a list of it:  list(…)")
            binding.bind(interpreter, target.id, made, mark)
            return interpreter.env[target.id]
    word = EXPRESSION_WORDS.get(type(node), f"a {type(node).__name__.lower()} expression")
    return interpreter.build.refuse(f"{word} is not supported in a differentiated function")


def _dict_display(interpreter: Interpreter, keys: list[ast.expr | None], nodes: list[ast.expr]) -> TupleValue:
    """{"w": w, **more}"""
    both = [node for pair in zip(keys, nodes, strict=True) for node in pair if node is not None]  # in this order
    values = iter(evaluate_all(interpreter, both, lambda of, n: (evaluate if n in keys else as_it_is)(of, n)))
    items: dict[Any, Any] = {}
    for key in keys:
        if key is not None:
            interpreter.at(key)
            name = records.key_of(interpreter, next(values))
        value = next(values)
        if key is not None:
            items[name] = value
            continue
        value = containers.as_dict(interpreter, records.as_it_is_now(interpreter, value))
        if records.is_dict(value) and not records.is_set(value):
            items |= records.as_dict(value)
        else:
            interpreter.build.refuse("** needs a dict", error=ArgumentError)
    return new_dict(items)


def none_as_absent(value: Any) -> Any:
    return None if isinstance(value, Static) and value.value is None else value


def evaluate_all(interpreter: Interpreter, nodes: list[ast.expr], read: Reading = evaluate) -> list[Any]:
    """Operands from left to right.  An array expression is read late, so one that a later operand's statements write
    to is put into memory before them."""
    build = interpreter.build
    values: list[Any] = []
    for node in nodes:
        mark = len(build.block)
        value = read(interpreter, node)
        if values:
            values = as_before(interpreter, values, mark)
        values.append(value)
    return [identities.now(interpreter, value) for value in values] if len(values) > 1 else values


def as_before(interpreter: Interpreter, values: list[Any], mark: int) -> list[Any]:
    """Values that were evaluated ahead of the statements since a mark, which may change what they are read from."""
    build = interpreter.build
    changed = changes._changed(build, build.block[mark:]) if len(build.block) > mark else ()
    if not changed:
        return values
    for value in values:
        item_names.check_under_way(interpreter, value, changed)
    late = build.block[mark:]
    del build.block[mark:]
    values = [_before(interpreter, value, changed) for value in values]
    build.block.extend(late)
    return values


def _before(interpreter: Interpreter, value: Any, changed: set[Any]) -> Any:
    match value:
        case Scalar(expr=expr):
            touched = changes.reads_any(interpreter.build, value, changed)
            return replace(value, expr=interpreter.build.variable("t", expr)) if touched else value
        case ArrayValue() if value.handle is None and not value.is_window:  # views show what is written
            if not changes.reads_any(interpreter.build, value, changed):
                return value
            if value.is_view_to_numpy or indexing.is_part(value):
                interpreter.build.refuse(
                    "a later operand changes the array that an earlier one is a view of", "copy the view:  view.copy()"
                )
            return whole(interpreter.build.materialize(value))
        case Method(owner=owner):
            return replace(value, owner=_before(interpreter, owner, changed))
        case TupleValue() if item_views.is_view(interpreter, value):
            return value
        case TupleValue(items=items, identity=identity) if identity not in identities.held(interpreter):  # no name's
            return replace(value, items=tuple(_before(interpreter, item, changed) for item in items))
    return value


def display(interpreter: Interpreter, nodes: list[ast.expr], kind: type) -> TupleValue | Items:
    """[x, y], [*xs, y], (x, y)"""
    parts = parts_of(interpreter, nodes, as_it_is)
    items = [items if items is None else list(items) for _, items in parts]
    if None in items:
        return lists.joined(interpreter, [v if i is None else TupleValue(tuple(i)) for v, i in parts])
    known = tuple(item for part in items for item in part or ())
    return new_list(known) if kind is list else TupleValue(known)


def sequence(interpreter: Interpreter, nodes: list[ast.expr], read: Reading = evaluate) -> list[Any]:
    """The arguments of a call, with stars unpacked; several whose number is not known are an `Unpacked`."""
    return unpacked(parts_of(interpreter, nodes, read))


def unpacked(parts: list[tuple[Any, list[Any] | None]]) -> list[Any]:
    out: list[Any] = []
    for value, items in parts:
        out.extend([Unpacked(value)] if items is None else items)
    return out


def parts_of(interpreter: Interpreter, nodes: list[ast.expr], read: Reading) -> list[tuple[Any, list[Any] | None]]:
    """What stands at each place, and which items that are; None for a star with a number that is not known."""
    ahead = {  # of calls, which may change a list that has been unpacked by then
        node.value
        for k, node in enumerate(nodes)
        if isinstance(node, ast.Starred) and any(isinstance(p, ast.Call) for n in nodes[k + 1 :] for p in walk(n))
    }

    def read_part(interpreter: Interpreter, node: ast.expr) -> Any:
        value = read(interpreter, node)
        if node in ahead and isinstance(value, ArrayValue) and value.ndim == 1:  # its items are numbers
            return whole(interpreter.build.materialize(value, copy=True))
        if node not in ahead or not identities.is_list(value):
            return value
        return lists.copied(interpreter, value) if isinstance(value, Items) else TupleValue(value.items)

    plain = [node.value if isinstance(node, ast.Starred) else node for node in nodes]
    values = evaluate_all(interpreter, plain, read_part)
    stars = [isinstance(node, ast.Starred) for node in nodes]
    return [(v, unpacking.known_items(interpreter, v) if s else [v]) for v, s in zip(values, stars, strict=True)]


# --------------------------------------------------------------------------------------------------- subscripts


def as_place(items: ast.expr, index: list[Any]) -> Any:
    """What Python hands to __getitem__ and __setitem__."""
    return index[0] if len(index) == 1 and not isinstance(items, ast.Tuple) else TupleValue(tuple(index))


def index_items(interpreter: Interpreter, node: ast.expr) -> list[Any]:
    if isinstance(node, ast.Tuple):
        return [_as_index(interpreter, part) for part in sequence(interpreter, node.elts)]
    value = evaluate(interpreter, node)
    if isinstance(value, Items) and value.kind is tuple:
        interpreter.build.refuse(
            "an index of a number of axes that is only known at run time", "write them out:  x[k[0], k[1]]"
        )
    parts = list(value.items) if isinstance(value, TupleValue) and value.kind is tuple else [value]
    return [_as_index(interpreter, part) for part in parts]


def _as_index(interpreter: Interpreter, part: Any) -> Any:
    """A list of run-time length is an array where it is an index."""
    part = lists_as_arrays.items_at_place(interpreter, part)
    return lists_as_arrays.as_values(interpreter, part) if isinstance(part, Items) else part


NOT_THERE: dict[type[Exception], type[SrcgradError]] = {KeyError: KeyArgumentError, IndexError: IndexArgumentError}


def subscripted(
    interpreter: Interpreter, node: ast.Subscript, owner: Any, items: ast.expr, for_attributes: bool
) -> Any:
    mark = len(interpreter.build.block)
    index = index_items(interpreter, items)
    owner = records.as_it_is_now(interpreter, owner)
    (owner,) = as_before(interpreter, [owner], mark)
    if any(isinstance(part, ast.Call) for part in walk(items)):  # which may have changed it
        owner = identities.now(interpreter, owner)
    interpreter.at(node)
    place = as_place(items, index)
    said = special_methods.called(interpreter, owner, "__getitem__", place)
    if said is not None:
        return said
    if isinstance(owner, Range):
        if place == Slice(None, None, constant(-1)):
            return unpacking.turned(interpreter, owner)
        owner = lists.copied(interpreter, owner)
    if isinstance(owner, TupleValue):
        special_methods.refuse_object(interpreter, owner, "an item")
        return tuple_items.item(interpreter, owner, place, for_attributes)
    if isinstance(owner, Items):
        return lists.subscripted(interpreter, owner, index[0])
    if isinstance(owner, Static) and isinstance(owner.value, type(np.s_)):  # np.s_[1:, None]
        whole_index = isinstance(items, ast.Tuple) or len(index) > 1 or owner.value is np.index_exp
        return TupleValue(tuple(index)) if whole_index else index[0]
    if isinstance(owner, Static):
        known_values.refuse_template(interpreter, owner)
        if id(owner.value) in grids.BY_SUBSCRIPT:
            is_tuple = len(index) != 1 or isinstance(items, ast.Tuple)
            return grids.BY_SUBSCRIPT[id(owner.value)](interpreter.build, tuple(index) if is_tuple else index)
        if isinstance(owner.value, dict) and not known_values.is_known(place):
            keys, values = zip(*owner.value.items(), strict=True)
            return tuple_items.under_key(interpreter, keys, tuple(map(constant, values)), place)
        try:
            if containers.is_one(owner):
                return containers.item(interpreter, owner, known_values.plain(place))
            return constant(owner.value[known_values.plain(place)])
        except Exception as problem:
            error = next((own for kind, own in NOT_THERE.items() if isinstance(problem, kind)), UnsupportedError)
            error = NoneArgumentError if owner.value is None else error
            return interpreter.build.refuse(
                f"{type(problem).__name__}: {known_values.as_python_says(problem, place)}", error=error
            )
    if isinstance(owner, Scalar) and not owner.weak:  # NumPy's numbers are arrays without axes
        owner = ArrayValue((), owner.expr)
    if not isinstance(owner, ArrayValue):
        return interpreter.build.refuse("a number can't be indexed", error=NoItemsError)
    interpreter.build.check_fresh(owner.element)
    if isinstance(owner, Flat):
        out = flat.pick(interpreter.build, owner, index)
    else:
        out = indexing.subscript(interpreter.build, owner, index)
    if out.ndim == 0 and not any(isinstance(i, Static) and i.value is Ellipsis for i in index):
        return Scalar(out.element, types=out.types)
    if isinstance(owner, Flat) or (out.is_window and indexing.is_copied(index)):
        return whole(interpreter.build.materialize(ArrayValue(out.dims, out.element), copy=True))
    return out


# ----------------------------------------------------------------------------------------------------- functions


def defaults(interpreter: Interpreter, args: ast.arguments) -> dict[str, Any]:
    """The default values of a function that is defined inside the function."""
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    out = {
        n: evaluate(interpreter, d)
        for n, d in zip(names[len(names) - len(args.defaults) :], args.defaults, strict=False)
    }
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=False):
        if default is not None:
            out[arg.arg] = evaluate(interpreter, default)
    return out


def _joined(interpreter: Interpreter, node: ast.JoinedStr) -> str:
    """An f-string."""
    pieces: list[str] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(interpreter, part.value)
            spec = _joined(interpreter, part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
            pieces.append(texts.piece(interpreter, value, chr(part.conversion) if part.conversion > 0 else "", spec))
        else:
            assert isinstance(part, ast.Constant)
            pieces.append(str(part.value))
    return Template.of(pieces)
