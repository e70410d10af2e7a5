"""Comparison, identity and membership, as Python has them.

(a, b) == (c, d)       →       a == c and b == d
x in (a, b)            →       a == x or b == x
"""

from __future__ import annotations

import ast
import dataclasses
from collections import OrderedDict
from functools import reduce
from inspect import isfunction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, NoItemsError, NoneArgumentError, place
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, both, either, negated, select
from ..ir.nodes import If, Raise
from ..ir.walk import is_constant
from ..rules.compositions import lists_by_place
from . import identities, known_values, one_of, operators, optional
from .arithmetic import cast, elementwise
from .array_values import ArrayValue
from .lists import item_views, lists_as_arrays, shared_items
from .numpy.table import TABLE
from .objects import containers, records, sets, special_methods
from .values import NONE, Closure, Items, OneOf, Range, Scalar, Static, TupleValue, constant, is_hashable

if TYPE_CHECKING:
    from .interpret import Interpreter


COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}  # and with sides exchanged


def compare(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    known_values.refuse_template(interpreter, x, y)
    if isinstance(x, OneOf):
        return one_of.compared(x, lambda option: operators.truth(interpreter, compare(interpreter, op, option, y)))
    if isinstance(y, OneOf):
        return one_of.compared(y, lambda option: operators.truth(interpreter, compare(interpreter, op, x, option)))
    if isinstance(op, (ast.Is, ast.IsNot)):
        same = isinstance(x, Static) and isinstance(y, Static) and one_of.is_same(x, y)
        alike = type(x) is type(y) or (identities.is_list(x) and identities.is_list(y))
        if alike and not isinstance(x, (Static, Scalar)):
            return _identity(interpreter, op, x, y)
        if isinstance(x, Scalar) and isinstance(y, Scalar) and not (x.is_constant and y.is_constant):
            if all(v.weak and v.dtype.kind == "b" for v in (x, y)):  # Python's True is one object; NumPy's is another
                return elementwise(interpreter.build, "eq" if isinstance(op, ast.Is) else "ne", (x, y), python=True)
            interpreter.build.refuse("`is` compares objects, not numbers", "use ==")
        if isinstance(x, Scalar) and isinstance(y, Scalar):
            same = x.value is y.value
        return constant(same == isinstance(op, ast.Is))
    x, y = (records.as_it_is_now(interpreter, value) for value in (x, y))
    if isinstance(op, (ast.In, ast.NotIn)):
        said = special_methods.called(interpreter, y, "__contains__", x)
        if said is not None:
            found = Scalar(operators.truth(interpreter, said), weak=True)
            return found if isinstance(op, ast.In) else operators.unary(interpreter, ast.Not(), found)
        special_methods.refuse_object(interpreter, y, "`in`", "__iter__")
        if containers.is_one(y) and known_values.is_known(x):
            key = known_values.plain(x)
            asked = key if is_hashable(key) else repr(key)
            found = containers.told(interpreter, y, ("in", asked), lambda: key in y.value)
            return constant(found == isinstance(op, ast.In))
        return _membership(interpreter, op, x, y)
    if optional.is_optional(x) or optional.is_optional(y):
        return _compared_where_set(interpreter, op, x, y)
    special = _by_method(interpreter, op, x, y)
    if special is not None:
        return special
    if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(x, Closure) and isinstance(y, Closure):
        return _identity(interpreter, ast.Is() if isinstance(op, ast.Eq) else ast.IsNot(), x, y)
    if isinstance(op, (ast.Eq, ast.NotEq)) and _is_function_beside(x, y):
        return constant(isinstance(op, ast.NotEq))
    if isinstance(x, (Static, TupleValue)) or isinstance(y, (Static, TupleValue)):
        return _static_comparison(interpreter, op, x, y)
    return elementwise(interpreter.build, operators.OPERATORS[type(op)], (x, y), python=True)


def _is_function_beside(x: Any, y: Any) -> bool:
    """A function and a number, a text, None: these are never equal."""
    functions = [isinstance(v, Closure) or (isinstance(v, Static) and isfunction(v.value)) for v in (x, y)]
    others = [
        isinstance(v, Scalar) or (isinstance(v, Static) and isinstance(v.value, operators.OF_PYTHON)) for v in (x, y)
    ]
    return (functions[0] and others[1]) or (functions[1] and others[0])


def _compared_where_set(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    """What may be None, within a tuple or a list: None is equal to None, and to nothing else."""
    x, y = (NONE if optional.is_optional(v) and is_constant(v.items[0].expr, False) else v for v in (x, y))
    if not (optional.is_optional(x) or optional.is_optional(y)):
        return compare(interpreter, op, x, y)
    asked = optional.asked(op, x, y) or optional.asked(op, y, x)
    if asked is not None:
        return asked
    build, flags = interpreter.build, [v.items[0].expr for v in (x, y) if optional.is_optional(v)]
    held = [v.items[1] if optional.is_optional(v) else v for v in (x, y)]
    if not isinstance(op, (ast.Eq, ast.NotEq)) or not all(isinstance(v, Scalar) for v in held):
        each = [optional.unless_none(build, v, optional.COMPARED) if optional.is_optional(v) else v for v in (x, y)]
        return compare(interpreter, op, *each)
    same = operators.truth(interpreter, compare(interpreter, ast.Eq(), *held))
    for flag in flags:
        same = both(flag, same)
    if len(flags) == 2:
        same = either(same, both(*map(negated, flags)))
    return Scalar(same if isinstance(op, ast.Eq) else negated(same), weak=True)


def _identity(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    """Are these one array, list or object?"""
    if isinstance(x, Closure) and x is not y and x.node is not y.node:
        return constant(isinstance(op, ast.IsNot))
    if item_views.are_alike(interpreter, x, y):  # of one list, which has each object once
        shared_items.expect_once(interpreter, x)
        places = [Scalar(item_views.place_of(value), weak=True) for value in (x, y)]
        return compare(interpreter, ast.Eq() if isinstance(op, ast.Is) else ast.NotEq(), *places)
    return constant(_is_one(interpreter, x, y) == isinstance(op, ast.Is))


def _is_one(interpreter: Interpreter, x: Any, y: Any) -> bool:
    both = getattr(x, "identity", None), getattr(y, "identity", None)
    if x is y or (both[0] is not None and both[0] is both[1]):
        return True
    are_items = interpreter.given_away.keys() >= set(both)  # of lists of run-time length, which are read anew each time
    are_made_anew = any(lists_by_place.is_one(getattr(value, "kind", None)) for value in (x, y))
    if None in both or are_items or are_made_anew or interpreter.one_of_several.issuperset(both):
        interpreter.build.refuse(
            "whether these are one object is not known here", "compare what is in them, or their places in a list"
        )
    return False


def _by_method(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any | None:
    """A comparison of objects, as their classes say; by their fields where `dataclass` says so."""
    name = operators.OPERATORS[type(op)]
    out = special_methods.called(interpreter, x, f"__{name}__", y)
    if out is None:
        out = special_methods.called(interpreter, y, f"__{COMPARISONS[name]}__", x)
    if out is None and name == "ne" and (special_methods.own(x, "__eq__") or special_methods.own(y, "__eq__")):
        return operators.unary(interpreter, ast.Not(), _by_method(interpreter, ast.Eq(), x, y))
    by_fields = name in ("eq", "ne") and all(records.is_record(v) and _compares_fields(v.kind.cls) for v in (x, y))
    if out is None and by_fields:
        if x.kind.cls is not y.kind.cls:
            return constant(name == "ne")
        return _static_comparison(interpreter, op, *map(_fields_compared, (x, y)))
    if out is None and name == "eq" and (special_methods.own(x, "__eq__") or special_methods.own(y, "__eq__")):
        are_objects = records.is_record(x) and records.is_record(y)
        return constant(_is_one(interpreter, x, y) if are_objects else x is y)  # where neither says anything
    if out is None:
        for value in (x, y):
            special_methods.refuse_object(interpreter, value, f"the comparison {name}")
    return out


def _fields_compared(value: TupleValue) -> TupleValue:
    held = records.as_dict(value)
    return TupleValue(tuple(held[f.name] for f in dataclasses.fields(value.kind.cls) if f.compare))


def _compares_fields(cls: Any) -> bool:
    return bool(getattr(getattr(cls, "__dataclass_params__", None), "eq", False))


def _in_order(interpreter: Interpreter, op: ast.cmpop, x: TupleValue, y: TupleValue) -> Any:
    """Of two tuples the first items that differ decide, or else their lengths."""
    out = constant(operators.PYTHON_OPERATORS[operators.OPERATORS[type(op)]](len(x.items), len(y.items)))
    pairs = list(zip(x.items, y.items, strict=False))
    first_array = next((k for k, pair in enumerate(pairs) if any(map(_has_several, pair))), None)
    if first_array:  # what stands in front of it must decide
        pairs, out = pairs[:first_array], constant(False)
    same = [operators.truth(interpreter, compare(interpreter, ast.Eq(), a, b)) for a, b in pairs]
    if first_array:
        raised = Raise(
            "RuntimeValueError", "tuples are compared of which arrays must decide" + place(interpreter.build.span)
        )
        interpreter.build.emit(If(reduce(both, same), (raised,)))
    decides = next((k for k, part in enumerate(same) if is_constant(part, False)), len(pairs) - 1)
    for (a, b), is_same in reversed(list(zip(pairs, same, strict=True))[: decides + 1]):
        if is_constant(is_same, True):
            continue
        theirs = operators.truth(interpreter, compare(interpreter, op, a, b))
        out = Scalar(theirs if is_constant(is_same, False) else select(is_same, out.expr, theirs), weak=True)
    return out


def _has_several(value: Any) -> bool:
    return isinstance(value, ArrayValue) and not all(is_constant(length, 1) for length in value.dims)


def _static_comparison(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    if records.is_set(x) or records.is_set(y):
        return sets.computed(interpreter, operators.OPERATORS[type(op)], x, y)
    if (records.is_dict(x) or records.is_dict(y)) and not isinstance(op, (ast.Eq, ast.NotEq)):
        interpreter.build.refuse("dicts have no order", error=ArgumentError)
    if isinstance(x, TupleValue) and isinstance(y, TupleValue) and isinstance(op, (ast.Eq, ast.NotEq)):
        ordered = [v.kind.cls is OrderedDict for v in (x, y) if records.is_dict(v)]
        if ordered == [True, True] and x.kind.keys != y.kind.keys:
            return constant(isinstance(op, ast.NotEq))
        if records.is_dict(x) and records.is_dict(y) and set(x.kind.keys) == set(y.kind.keys):
            y = TupleValue(tuple(records.as_dict(y)[key] for key in x.kind.keys), x.kind)
        if len(x.items) != len(y.items) or _plain_kind(x) != _plain_kind(y):
            return constant(isinstance(op, ast.NotEq))
        parts = [compare(interpreter, ast.Eq(), a, b) for a, b in zip(x.items, y.items, strict=False)]
        out: Expr = Const(True, BOOL)
        for part in parts:
            condition = operators.truth(interpreter, part)
            if is_constant(condition, True):
                continue
            if is_constant(condition, False):
                out = condition
                break
            out = condition if is_constant(out, True) else both(out, condition)
        result = Scalar(out, weak=True)
        return result if isinstance(op, ast.Eq) else operators.unary(interpreter, ast.Not(), result)
    if isinstance(x, TupleValue) and isinstance(y, TupleValue) and _plain_kind(x) == _plain_kind(y) in (tuple, list):
        return _in_order(interpreter, op, x, y)
    if isinstance(x, Items) or isinstance(y, Items):
        held, other = (x, y) if isinstance(x, Items) else (y, x)
        if other == TupleValue((), held.kind) or (isinstance(other, TupleValue) and not other.items):
            empty = Scalar(affine.equals(held.length, affine.ZERO), weak=True)
            return empty if isinstance(op, ast.Eq) else operators.unary(interpreter, ast.Not(), empty)
        interpreter.build.refuse("lists of a length that is only known at run time are not compared here")
    if isinstance(x, ArrayValue) or isinstance(y, ArrayValue):
        return elementwise(
            interpreter.build,
            operators.OPERATORS[type(op)],
            [lists_as_arrays.as_array(interpreter, v) for v in (x, y)],
            python=True,
        )
    name, a, b = operators.OPERATORS[type(op)], known_values.plain(x), known_values.plain(y)
    held = x if containers.is_one(x) else y if containers.is_one(y) else None
    try:
        if held is not None:
            said = containers.told(
                interpreter, held, (name, id(a), id(b)), lambda: bool(operators.PYTHON_OPERATORS[name](a, b))
            )
            return constant(said)
        return constant(bool(operators.PYTHON_OPERATORS[name](a, b)))
    except TypeError as problem:
        is_none = optional.is_none(x) or optional.is_none(y)
        error = NoneArgumentError if is_none else ArgumentError
        return interpreter.build.refuse(known_values.as_python_says(problem, x, y), error=error)


def _plain_kind(value: TupleValue) -> Any:
    """What must be the same of two that are equal: a list is no tuple, a named tuple is one; dicts have keys."""
    return tuple if isinstance(value.kind, type) and issubclass(value.kind, tuple) else value.kind


def _membership(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    if records.is_dict(y) and known_values.is_known(x):
        records.key_of(interpreter, x)
        found: Any = constant(known_values.plain(x) in y.kind.keys)
    elif isinstance(y, Static) and known_values.is_known(x):
        try:
            found = constant(known_values.plain(x) in y.value)
        except TypeError as problem:
            return interpreter.build.refuse(str(problem), error=NoItemsError)
    elif (items := _items_known(y)) is not None:
        found = constant(False)
        for item in items:
            same = compare(interpreter, ast.Eq(), x, item)
            if operators.static_truth(same) is True:
                found = same
                break
            if operators.static_truth(same) is None:
                condition = operators.truth(interpreter, same)
                found = Scalar(
                    condition if operators.static_truth(found) is False else either(found.expr, condition), True
                )
    elif isinstance(y, Range) and isinstance(x, Scalar) and x.dtype.kind in "iu":
        found = Scalar(_is_in_range(x.expr, y), weak=True)
    elif (isinstance(y, Items) and y.rows.ndim == 1) or (isinstance(y, ArrayValue) and y.ndim):
        held = lists_as_arrays.array_of_its_kind(interpreter, y) if isinstance(y, Items) else y
        found = TABLE[np.any](interpreter.build, compare(interpreter, ast.Eq(), held, x))
        found = Scalar(found.expr, weak=True)
    else:
        return interpreter.build.refuse("`in` needs a tuple, a list, an array of numbers or a set here")
    return found if isinstance(op, ast.In) else operators.unary(interpreter, ast.Not(), found)


def _is_in_range(number: Expr, over: Range) -> Expr:
    number = cast(number, INT64)
    is_up = both(Call("ge", (number, over.start), BOOL), Call("lt", (number, over.stop), BOOL))
    if is_constant(over.step, 1):
        return is_up
    is_down = both(Call("le", (number, over.start), BOOL), Call("gt", (number, over.stop), BOOL))
    if isinstance(over.step, Const):
        inside = is_up if over.step.value > 0 else is_down
    else:
        inside = select(Call("gt", (over.step, affine.ZERO), BOOL), is_up, is_down)
    rest = Call("mod", (affine.sub(number, over.start), over.step), INT64)
    return both(inside, affine.equals(rest, affine.ZERO))


def _items_known(value: Any) -> tuple[Any, ...] | None:
    """What `in` compares with: the items of a tuple or a list, the keys of a dict."""
    if records.is_dict(value):
        return tuple(constant(key) for key in value.kind.keys)
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, Static) and isinstance(value.value, dict):
        return tuple(constant(item) for item in value.value)
    return None
