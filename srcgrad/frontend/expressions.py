"""Expressions of the user's program, evaluated with types and symbols."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Axis, Call, Const, Expr, Var
from ..ir.nodes import Alloc, Stmt
from ..ir.walk import loads, statements, variables, written
from . import attributes, binding, calls, lists, operators, records, special_methods
from .arithmetic import cast
from .builder import Builder
from .comprehensions import comprehension
from .numpy import flat, grids, indexing
from .recursion import NotYetKnown
from .values import (
    ArrayValue,
    Closure,
    Flat,
    Indexed,
    Items,
    Range,
    Scalar,
    Slice,
    Static,
    Template,
    TupleValue,
    constant,
    new_dict,
    new_list,
    remap,
    static_int,
    whole,
)

if TYPE_CHECKING:
    from .interpret import Interpreter

EXPRESSION_WORDS: dict[type[ast.AST], str] = {
    ast.Set: "a set", ast.SetComp: "a set comprehension",
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.Await: "await",
}  # fmt: skip


def evaluate(interpreter: Interpreter, node: ast.expr) -> Any:
    interpreter.at(node)
    match node:
        case ast.Constant(value=value):
            return constant(value)
        case ast.Name(id=name):
            return interpreter.lookup(name)
        case ast.BinOp(left=left, op=op, right=right):
            x, y = evaluate_all(interpreter, [left, right])
            interpreter.at(node)
            return operators.binary(interpreter, operators.OPERATORS[type(op)], x, y)
        case ast.UnaryOp(op=op, operand=operand):
            return operators.unary(interpreter, op, evaluate(interpreter, operand))
        case ast.BoolOp(op=op, values=values):
            return boolean(interpreter, isinstance(op, ast.And), values)
        case ast.Compare():
            return comparison(interpreter, node)
        case ast.IfExp():
            return conditional(interpreter, node)
        case ast.Call():
            return calls.evaluate_call(interpreter, node)
        case ast.Attribute(value=value, attr=name):
            owner = evaluate(interpreter, value)
            interpreter.at(node)
            return attributes.attribute(interpreter, owner, name)
        case ast.Subscript(value=value, slice=items):
            owner = evaluate(interpreter, value)
            return subscripted(interpreter, node, owner, items)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            values = sequence(interpreter, parts)
            return TupleValue(tuple(values)) if isinstance(node, ast.Tuple) else new_list(values)
        case ast.ListComp() | ast.GeneratorExp():
            return comprehension(interpreter, node)
        case ast.Dict(keys=keys, values=values):
            return _dict_display(interpreter, keys, values)
        case ast.DictComp(key=key, value=value):
            pair = ast.copy_location(ast.Tuple([key, value], ast.Load()), node)
            pairs = ast.copy_location(ast.ListComp(pair, node.generators), node)
            return records.made_of(interpreter, [comprehension(interpreter, pairs)], {})
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds = [None if p is None else none_as_absent(evaluate(interpreter, p)) for p in (lower, upper, step)]
            return Slice(*bounds)
        case ast.Lambda():
            return Closure(node, defaults(interpreter, node.args), interpreter.frame)
        case ast.NamedExpr(target=target, value=value):
            mark = len(interpreter.build.block)
            binding.bind(interpreter, target.id, evaluate(interpreter, value), mark)
            return interpreter.env[target.id]
        case ast.JoinedStr():
            from .exceptions import message_of

            text, numbers = message_of(interpreter, node)
            return Static(Template(text) if numbers or "{array}" in text else text)
    word = EXPRESSION_WORDS.get(type(node), f"a {type(node).__name__.lower()} expression")
    return interpreter.build.refuse(f"{word} is not supported in a differentiated function")


def _dict_display(interpreter: Interpreter, keys: list[ast.expr | None], nodes: list[ast.expr]) -> TupleValue:
    """{"w": w, **more}"""
    names = [None if key is None else records.key_of(interpreter, evaluate(interpreter, key)) for key in keys]
    items: dict[Any, Any] = {}
    for name, value in zip(names, evaluate_all(interpreter, nodes), strict=True):
        if name is not None:
            items[name] = value
        elif records.is_dict(value):
            items |= records.as_dict(value)
        else:
            interpreter.build.refuse("** needs a dict", error=ArgumentError)
    return new_dict(items)


def none_as_absent(value: Any) -> Any:
    return None if isinstance(value, Static) and value.value is None else value


def evaluate_all(interpreter: Interpreter, nodes: list[ast.expr]) -> list[Any]:
    """Operands from left to right.  An array expression is read late, so one that a later operand's statements write
    to is put into memory before them."""
    build = interpreter.build
    values: list[Any] = []
    for node in nodes:
        mark = len(build.block)
        value = evaluate(interpreter, node)
        if len(build.block) > mark and values:
            changed = _changed(build, build.block[mark:])
            if changed:
                late = build.block[mark:]
                del build.block[mark:]
                values = [_before(interpreter, v, changed) for v in values]
                build.block.extend(late)
        values.append(value)
    return values


def changed_since(build: Builder, mark: int) -> set[Any]:
    """Variables and memory that the statements since a mark change."""
    return _changed(build, build.block[mark:])


def reads_any(build: Builder, value: Any, changed: set[Any]) -> bool:
    """Does a value that is read late depend on what has changed?"""
    expr = value.expr if isinstance(value, Scalar) else value.element if isinstance(value, ArrayValue) else None
    return expr is not None and bool(variables(expr) & changed or {build.root(x.array) for x in loads(expr)} & changed)


def _changed(build: Builder, block: list[Stmt]) -> set[Any]:
    """Variables and memory from before that these statements change."""
    made = {build.root(s.array) for s in statements(tuple(block)) if isinstance(s, Alloc)}
    out: set[Any] = set()
    for stmt in statements(tuple(block)):
        target = written(stmt)
        for item in target if isinstance(target, tuple) else (target,):
            if isinstance(item, Var) and item in build.mutable:
                out.add(item)
            elif item is not None and not isinstance(item, Var) and build.root(item) not in made:
                out.add(build.root(item))
    return out


def _before(interpreter: Interpreter, value: Any, changed: set[Any]) -> Any:
    match value:
        case Scalar(expr=expr):
            touched = reads_any(interpreter.build, value, changed)
            return Scalar(interpreter.build.variable("t", expr), value.weak) if touched else value
        case ArrayValue() if value.handle is None and not value.is_window:  # views show what is written
            return (
                whole(interpreter.build.materialize(value)) if reads_any(interpreter.build, value, changed) else value
            )
    return value


def sequence(interpreter: Interpreter, nodes: list[ast.expr]) -> list[Any]:
    """The items of a tuple, a list or an argument list, with stars unpacked."""
    plain = [node.value if isinstance(node, ast.Starred) else node for node in nodes]
    out: list[Any] = []
    for node, value in zip(nodes, evaluate_all(interpreter, plain), strict=False):
        out.extend(items_of(interpreter, value) if isinstance(node, ast.Starred) else [value])
    return out


def items_of(interpreter: Interpreter, value: Any) -> list[Any]:
    """The items of something that is unpacked."""
    if records.is_dict(value):
        return [constant(key) for key in value.kind.keys]
    special_methods.refuse_object(interpreter, value, "the items", "__iter__")
    if isinstance(value, TupleValue):
        return list(value.items)
    if isinstance(value, ArrayValue) and value.ndim and isinstance(value.dims[0], Const):
        return [element(value, affine.integer(k)) for k in range(value.dims[0].value)]
    if isinstance(value, Items) and isinstance(value.length, Const):
        return [lists.item_at(interpreter, value, affine.integer(k)) for k in range(value.length.value)]
    if isinstance(value, Indexed) and isinstance(value.count, Const):
        return [value.item(affine.integer(k)) for k in range(value.count.value)]
    numbers = known_range(value)
    if numbers is not None:
        return [constant(k) for k in numbers]
    if isinstance(value, Static) and isinstance(value.value, (str, range, tuple, list, dict)):
        return [constant(item) for item in value.value]
    return interpreter.build.refuse("only tuples, and arrays of a length that is known, can be unpacked")


def known_range(value: Any) -> range | None:
    """The numbers of a range, where they are known."""
    if isinstance(value, Range):
        bounds = [e.value for e in (value.start, value.stop, value.step) if isinstance(e, Const)]
        return range(*bounds) if len(bounds) == 3 else None
    return None


def element(value: ArrayValue, index: Expr) -> Any:
    inner = remap(value, value.dims[1:], [index, *(Axis(k) for k in range(value.ndim - 1))])
    return inner if inner.dims else Scalar(inner.element)


# --------------------------------------------------------------------------------------- conditions and choices


def boolean(interpreter: Interpreter, is_and: bool, nodes: list[ast.expr]) -> Any:
    """`and`, `or`: the later operands run only where they are needed."""
    first = evaluate(interpreter, nodes[0])
    if len(nodes) == 1:
        return first
    if isinstance(first, Items):  # `if ys and …`: whether it has items is what counts
        first = Scalar(operators.truth(interpreter, first), weak=True)
    known = operators.static_truth(first)
    if known is not None:
        return boolean(interpreter, is_and, nodes[1:]) if known == is_and else first
    rest: list[Stmt] = []
    try:
        with interpreter.build.nested(rest):
            other = boolean(interpreter, is_and, nodes[1:])
    except NotYetKnown:
        return first
    if not rest and isinstance(first, Scalar) and isinstance(other, Scalar):
        if first.dtype == other.dtype == BOOL:
            return Scalar(Call("and" if is_and else "or", (first.expr, other.expr), BOOL), first.weak and other.weak)
    return choose_value(interpreter, operators.truth(interpreter, first), nodes, first, is_and)


def choose_value(interpreter: Interpreter, condition: Expr, nodes: list[ast.expr], first: Any, is_and: bool) -> Any:
    later = lambda: boolean(interpreter, is_and, nodes[1:])
    return _either(interpreter, condition, later if is_and else lambda: first, (lambda: first) if is_and else later)


def _either(interpreter: Interpreter, condition: Expr, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """The value of one of two expressions, of which only one is evaluated."""
    from . import branches

    name = ".either"

    def run(side: Callable[[], Any]) -> Callable[[], Any]:
        def bind() -> bool:
            value = side()
            interpreter.env[name] = (
                value if not isinstance(value, ArrayValue) else binding.bind_item(interpreter, "t", value)
            )
            return False

        return bind

    interpreter.env.pop(name, None)
    if branches.choose(interpreter, condition, run(then), run(orelse), [name]):
        raise NotYetKnown  # both sides are calls of the function that is being read
    return interpreter.env.pop(name)


def comparison(interpreter: Interpreter, node: ast.Compare) -> Any:
    operands = [node.left, *node.comparators]
    if len(node.ops) == 1 or all(_is_simple(o) for o in operands[2:]):
        values = evaluate_all(interpreter, operands)
        interpreter.at(node)
        results = [
            operators.compare(interpreter, op, x, y) for op, x, y in zip(node.ops, values, values[1:], strict=False)
        ]
        out = results[0]
        for result in results[1:]:
            if operators.static_truth(out) is False:
                return out
            if operators.static_truth(out) is True:
                out = result
            elif operators.static_truth(result) is None:
                conditions = (operators.truth(interpreter, out), operators.truth(interpreter, result))
                out = Scalar(Call("and", conditions, BOOL), weak=True)
            elif operators.static_truth(result) is False:
                out = result
        return out
    pairs = [
        ast.copy_location(ast.Compare(x, [op], [y]), node)
        for op, x, y in zip(node.ops, operands, operands[1:], strict=False)
    ]
    mark = len(interpreter.build.block)
    out = boolean(interpreter, True, list(pairs))
    if _changed(interpreter.build, interpreter.build.block[mark:]):  # an operand between two others is computed twice
        interpreter.build.refuse(
            "what a chained comparison compares changes variables or arrays", "give it a name first"
        )
    return out


def _is_simple(node: ast.expr) -> bool:
    kinds = (ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
    return all(isinstance(part, kinds) for part in ast.walk(node))


def conditional(interpreter: Interpreter, node: ast.IfExp) -> Any:
    test = evaluate(interpreter, node.test)
    known = operators.static_truth(test)
    if known is not None:
        return evaluate(interpreter, node.body if known else node.orelse)
    condition = operators.truth(interpreter, test)
    sides: list[tuple[list[Stmt], Any]] = []
    saved = interpreter.build.save()
    env = dict(interpreter.env)
    with suppress(NotYetKnown):
        for side in (node.body, node.orelse):
            block: list[Stmt] = []
            with interpreter.build.nested(block):
                sides.append((block, evaluate(interpreter, side)))
        (then, x), (orelse, y) = sides
        plain_numbers = isinstance(x, Scalar) and isinstance(y, Scalar) and not (loads(x.expr) or loads(y.expr))
        if not then and not orelse and plain_numbers:  # an element is only read on the side that is taken
            from .carried import join_scalars

            dtype, weak = join_scalars(x, y)
            return Scalar(Call("select", (condition, cast(x.expr, dtype), cast(y.expr, dtype)), dtype), weak)
    interpreter.build.restore(saved)
    interpreter.frame.env.clear()
    interpreter.frame.env.update(env)
    return _either(
        interpreter, condition, lambda: evaluate(interpreter, node.body), lambda: evaluate(interpreter, node.orelse)
    )


# --------------------------------------------------------------------------------------------------- subscripts


def index_items(interpreter: Interpreter, node: ast.expr) -> list[Any]:
    if isinstance(node, ast.Tuple):
        return sequence(interpreter, node.elts)
    value = evaluate(interpreter, node)
    return list(value.items) if isinstance(value, TupleValue) and value.kind is tuple else [value]


def subscripted(interpreter: Interpreter, node: ast.Subscript, owner: Any, items: ast.expr) -> Any:
    index = index_items(interpreter, items)
    interpreter.at(node)
    if isinstance(owner, TupleValue):
        place = index[0] if len(index) == 1 and not isinstance(items, ast.Tuple) else TupleValue(tuple(index))
        said = special_methods.called(interpreter, owner, "__getitem__", place)
        if said is not None:
            return said
        special_methods.refuse_object(interpreter, owner, "an item")
        return _tuple_item(interpreter, owner, index)
    if isinstance(owner, Items):
        return lists.subscripted(interpreter, owner, index[0])
    if isinstance(owner, Static) and isinstance(owner.value, type(np.s_)):  # np.s_[1:, None]
        whole_index = isinstance(items, ast.Tuple) or len(index) > 1 or owner.value is np.index_exp
        return TupleValue(tuple(index)) if whole_index else index[0]
    if isinstance(owner, Static):
        if id(owner.value) in grids.BY_SUBSCRIPT:
            is_tuple = len(index) != 1 or isinstance(items, ast.Tuple)
            return grids.BY_SUBSCRIPT[id(owner.value)](interpreter.build, tuple(index) if is_tuple else index)
        try:
            return constant(owner.value[operators.plain(index[0])])
        except Exception as problem:
            return interpreter.build.refuse(f"{type(problem).__name__}: {problem}")
    if not isinstance(owner, ArrayValue):
        return interpreter.build.refuse("a number can't be indexed")
    interpreter.build.check_fresh(owner.element)
    if isinstance(owner, Flat):
        out = flat.pick(interpreter.build, owner, index)
    else:
        out = indexing.subscript(interpreter.build, owner, index)
    if out.ndim == 0 and not any(isinstance(i, Static) and i.value is Ellipsis for i in index):
        return Scalar(out.element)
    if isinstance(owner, Flat) or (out.is_window and indexing.is_copied(index)):
        return whole(interpreter.build.materialize(ArrayValue(out.dims, out.element), copy=True))
    return out


def _are_alike(items: tuple[Any, ...]) -> bool:
    """Are these arrays of one shape?"""
    return bool(items) and all(
        isinstance(item, ArrayValue)
        and item.ndim == items[0].ndim
        and item.dtype == items[0].dtype
        and all(map(affine.same, item.dims, items[0].dims))
        for item in items
    )


def _copy_of_item(interpreter: Interpreter, owner: TupleValue, place: Scalar) -> ArrayValue:
    """One of several arrays: a copy, which is not read any more once any of them, or it, is written."""
    build = interpreter.build
    picked = indexing.subscript(build, operators.as_array(interpreter, owner), [place])
    copy = build.materialize(picked, "item", copy=True)
    for item in owner.items:
        for load in loads(item.element):
            build.twin(copy, load.array)
    return whole(copy)


def _tuple_item(interpreter: Interpreter, owner: TupleValue, index: list[Any]) -> Any:
    item = index[0]
    if records.is_dict(owner):
        return records.item(interpreter, owner, item)
    if isinstance(item, Slice):
        bounds = [None if part is None else static_int(part) for part in (item.start, item.stop, item.step)]
        items = owner.items[slice(*bounds)]
        return new_list(items) if owner.kind is list else TupleValue(items)
    number = static_int(item)
    if number is None:
        if isinstance(item, Scalar) and owner.items and all(isinstance(v, Scalar) for v in owner.items):
            array = operators.as_array(interpreter, owner)
            value = element(array, cast(item.expr, INT64))
            return Scalar(value.expr, all(v.weak for v in owner.items))
        if isinstance(item, Scalar) and _are_alike(owner.items):
            return _copy_of_item(interpreter, owner, item)
        return interpreter.build.refuse(
            "a tuple or list is indexed by a number that is only known at run time", "use an array:  np.stack(items)"
        )
    if not -len(owner.items) <= number < len(owner.items):
        if owner.identity is not None and any(owner.identity in heads for heads in interpreter.list_heads):
            interpreter.early_reads.append(f"index {number} is out of range for {len(owner.items)} items")
            raise NotYetKnown  # the loop may yet turn out to make the list longer
        return interpreter.build.refuse(
            f"index {number} is out of range for {len(owner.items)} items", error=ArgumentError
        )
    return owner.items[number]


# ----------------------------------------------------------------------------------------------- comprehensions


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
