"""Operators on values: arithmetic, comparison, membership and truth, as Python has them."""

from __future__ import annotations

import ast
import dataclasses
import operator
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from inspect import isfunction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, NoItemsError, NoneArgumentError, UnsupportedError
from ..errors import place as error_place
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Call, Const, Expr, both, either, negated, select
from ..ir.nodes import If, Raise
from ..ir.walk import is_constant
from ..rules.names import OPERATORS as ARITHMETIC
from . import (
    attributes,
    binding,
    computed_attributes,
    containers,
    identities,
    item_fields,
    item_views,
    lists,
    lists_as_arrays,
    one_of,
    optional,
    python_raises,
    records,
    sets,
    special_methods,
)
from .arithmetic import cast, elementwise
from .numpy import products
from .numpy.table import TABLE
from .types import DictKind, RecordKind
from .types_that_decide import note_results
from .values import (
    NONE,
    ArrayValue,
    Closure,
    Items,
    OneOf,
    Range,
    Scalar,
    Slice,
    Static,
    Template,
    TupleValue,
    Unusable,
    constant,
    is_hashable,
    new_list,
    static_int,
)

if TYPE_CHECKING:
    from .interpret import Interpreter


PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "mod": operator.mod,
    "floordiv": operator.floordiv, "pow": operator.pow, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "bitand": operator.and_, "bitor": operator.or_,
    "bitxor": operator.xor,
}  # fmt: skip
OF_PYTHON = (str, int, float, bool, type(None))
OPERATORS: dict[type[ast.AST], str] = {**ARITHMETIC, ast.MatMult: "matmul"}


def binary(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any:
    build = interpreter.build
    x, y = (attributes.as_made_here(interpreter, value) for value in (x, y))
    special = special_methods.operation(interpreter, op, x, y)
    if special is not None:
        return special
    if isinstance(x, (ArrayValue, Range)) and isinstance(y, (ArrayValue, Range)) and type(x) is not type(y):
        x, y = (as_array(interpreter, lists.copied(interpreter, v)) if isinstance(v, Range) else v for v in (x, y))
    if op == "matmul":
        return note_results(build, "matmul", "", [x, y], products.matrix_product(build, x, y, name="@"))
    if op == "mod" and isinstance(x, Static) and isinstance(x.value, str):
        return _text_arithmetic(interpreter, op, x, y)
    if isinstance(x, (TupleValue, Items)) or isinstance(y, (TupleValue, Items)):
        return _tuple_arithmetic(interpreter, op, x, y)
    if isinstance(x, Static) and isinstance(y, Static):
        try:
            return constant(PYTHON_OPERATORS[op](x.value, y.value))
        except Exception as problem:  # the user's own program fails here
            error = NoneArgumentError if optional.is_none(x) or optional.is_none(y) else UnsupportedError
            return build.refuse(str(problem), error=error)
    if (isinstance(x, Static) and isinstance(x.value, (str, bytes))) or (
        isinstance(y, Static) and isinstance(y.value, str)
    ):
        return _text_arithmetic(interpreter, op, x, y)
    are_pythons = all(isinstance(v, Scalar) and v.weak for v in (x, y))
    if interpreter.varying and op in ("pow", "lshift") and are_pythons and x.dtype.kind in "iu":
        _refuse_other_numbers(interpreter, x, y)
    if op == "pow" and are_pythons and x.dtype.kind in "iu" and y.dtype.kind in "iu":
        exponent = static_int(y)
        if exponent is None and not build.is_at_least(y.expr, 0):
            message = "an int to the power of a negative int is a float: write float(base) ** n"
            is_negative = Call("lt", (y.expr, affine.ZERO), BOOL)
            build.emit(If(is_negative, (Raise("RuntimeValueError", message + error_place(build.span)),)))
        if exponent is not None and exponent < 0:
            x = Scalar(cast(x.expr, np.dtype(np.float64)), weak=True)
        elif exponent is None and static_int(x) == 2:
            op, x = "lshift", constant(1)
    if op in ("div", "floordiv", "mod"):
        python_raises.division(interpreter, op, x, y)
        known_zero = isinstance(y, Scalar) and y.is_constant and y.weak and y.value == 0
        if known_zero and isinstance(x, Scalar) and x.weak and not build.watches:
            build.refuse("division by zero")
    if op == "pow" and isinstance(x, ArrayValue) and x.dtype == BOOL and isinstance(y, Scalar) and y.weak:
        if static_int(y) == 2:  # which NumPy takes for np.square: int8, and not int64
            return elementwise(build, "square", (x,))
    result = elementwise(build, op, (x, y), python=True)
    if op == "pow":
        python_raises.power(interpreter, x, y, result)
    return result


def _refuse_other_numbers(interpreter: Interpreter, x: Scalar, y: Scalar) -> None:
    """For powers of integers that may be no int64: numbers from outside may as well be known, and Python is exact."""
    if x.is_constant and y.is_constant:
        return
    exponent = static_int(y)
    is_root = y.dtype.kind == "f" and interpreter.build.is_at_least(x.expr, 0)
    if not is_root and (exponent is None or exponent > 3):
        interpreter.build.refuse("a power of an integer may be a float, a complex number or more than 64 bits")


def _text_arithmetic(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any:
    """ "-" * 10, "n = %d" % n: of numbers that are only known at run time, a message shows the place."""
    from . import texts

    if op == "mod":
        refuse_template(interpreter, x)
    if op == "mod" and not texts.is_known((x, y)):
        return Static(texts.percent(interpreter, x.value, y))
    try:
        return constant(PYTHON_OPERATORS[op](plain(x), plain(y)))
    except Exception as problem:
        return interpreter.build.refuse(str(problem), error=ArgumentError)


def as_array(interpreter: Interpreter, value: Any) -> Any:
    if isinstance(value, TupleValue):
        from .numpy.creation import array_of

        return array_of(interpreter.build, lists_as_arrays.as_values(interpreter, value), None)
    return lists_as_arrays.as_values(interpreter, value)


def _tuple_arithmetic(interpreter: Interpreter, op: str, x: Any, y: Any) -> Any:
    if sets.is_set(x) or sets.is_set(y):
        return sets.computed(interpreter, op, x, y)
    if records.is_dict(x) and records.is_dict(y) and op == "bitor":
        return replace(records.with_items(x, records.as_dict(x) | records.as_dict(y)), identity=object())
    for value in (x, y):
        if records.is_dict(value) or records.is_record(value):
            what = "a dict" if records.is_dict(value) else f"a {value.kind.cls.__name__}"
            interpreter.build.refuse(f"{op} is not defined on {what}", "compute with its items", error=ArgumentError)
    if isinstance(x, TupleValue) and isinstance(y, TupleValue) and op == "add":
        return new_list(x.items + y.items) if x.kind is list else TupleValue(x.items + y.items)
    if op == "add" and not isinstance(x, ArrayValue) and not isinstance(y, ArrayValue):
        kinds = [part.kind for part in (x, y) if isinstance(part, (Items, TupleValue))]
        if kinds == [list, list]:
            return lists.joined(interpreter, [x, y])
        if kinds == [tuple, tuple]:
            return replace(lists.joined(interpreter, [x, y]), kind=tuple, identity=None)
    if op == "mul" and not isinstance(x, ArrayValue) and not isinstance(y, ArrayValue):
        parts, count = (x, y) if isinstance(x, (TupleValue, Items)) else (y, x)
        number = static_int(count)
        if number is not None and isinstance(parts, TupleValue):
            items = tuple(binding.bind_item(interpreter, "t", item) for item in parts.items) * number  # one array
            return new_list(items) if parts.kind is list else TupleValue(items)
        if isinstance(count, Scalar) and isinstance(parts, TupleValue) and parts.kind is list:
            return lists.repeated(interpreter, parts, count)
        if isinstance(count, Scalar) and isinstance(parts, TupleValue) and parts.kind is tuple:
            return replace(lists.repeated(interpreter, parts, count), kind=tuple, identity=None)
    is_numpys = any(isinstance(v, ArrayValue) or (isinstance(v, Scalar) and not v.weak and op != "mul") for v in (x, y))
    if is_numpys:  # which makes an array of the other one
        return elementwise(interpreter.build, op, [as_array(interpreter, v) for v in (x, y)], python=True)
    return interpreter.build.refuse(
        f"{op} is not defined on these lists or tuples", "make an array of them:  np.array(t)"
    )


def unary(interpreter: Interpreter, op: ast.unaryop, value: Any) -> Any:
    if isinstance(op, ast.Not):
        known = known_truth(interpreter, value)
        if known is not None:
            return constant(not known)
        return Scalar(negated(truth(interpreter, value)), weak=True)
    name, value = OPERATORS[type(op)], attributes.as_made_here(interpreter, value)
    said = special_methods.called(interpreter, value, f"__{special_methods.NAMES.get(name, name)}__")
    if said is not None:
        return said
    if isinstance(value, Scalar) and value.dtype == BOOL and value.weak and name != "invert":
        value = Scalar(cast(value.expr, INT64), weak=True)
    return elementwise(interpreter.build, name, (as_array(interpreter, value),), python=True)


def truth(interpreter: Interpreter, value: Any) -> Expr:
    """The condition that a value is when tested."""
    value = computed_attributes.as_it_is_now(interpreter, value)
    known = static_truth(value)
    if known is not None:
        return Const(known, BOOL)
    for name in ("__bool__", "__len__"):
        said = special_methods.called(interpreter, value, name)
        if said is not None:
            return truth(interpreter, said)
    if isinstance(value, OneOf):
        return one_of.compared(value, lambda option: truth(interpreter, option)).expr
    if containers.is_one(value):
        return Const(containers.told(interpreter, value, "truth", lambda: bool(value.value)), BOOL)
    if optional.is_optional(value):
        flag, held = value.items
        if not isinstance(held, Scalar):
            interpreter.build.refuse("the truth value of what is None or an array is ambiguous", "ask: is not None")
        return both(flag.expr, truth(interpreter, held))
    if isinstance(value, Items):
        return Call("ne", (value.length, affine.ZERO), BOOL)
    if isinstance(value, ArrayValue):
        from .numpy.shapes import only_element

        value = only_element(
            interpreter.build, value, "only an array of one element has a truth value", "use .any() or .all()"
        )
    if not isinstance(value, Scalar):
        interpreter.build.refuse_unusable(value)
        interpreter.build.refuse("the truth value of this value is ambiguous", error=ArgumentError)
    if value.dtype == BOOL:
        return value.expr
    return Call("ne", (value.expr, Const(value.dtype.type(0).item(), value.dtype)), BOOL)


def known_truth(interpreter: Interpreter, value: Any) -> bool | None:
    """The same, also of a container from outside, as long as Python says so."""
    if static_truth(value) is None and containers.is_one(value) and isinstance(value, Static):
        said = truth(interpreter, value)
        return bool(said.value) if isinstance(said, Const) else None
    return static_truth(value)


def static_truth(value: Any) -> bool | None:
    """Whether a value is true, where that is known now."""
    match value:
        case Scalar(expr=Const(value=number)):
            return bool(number)
        case Static() | TupleValue() if special_methods.own(value, "__bool__") or special_methods.own(value, "__len__"):
            return None
        case Static(value=item):
            return None if isinstance(item, Unusable) or containers.is_one(value) else bool(item)
        case OneOf(options=options):
            answers = {static_truth(option) for option in options}
            return answers.pop() if len(answers) == 1 else None
        case TupleValue(items=(flag, held)) if optional.is_optional(value):
            is_there = static_truth(flag)
            return static_truth(held) if is_there else is_there
        case TupleValue(items=items, kind=kind):
            return bool(items) or isinstance(kind, RecordKind)
        case Closure():
            return True
    return None


def refuse_template(interpreter: Interpreter, *values: Any) -> None:
    if any(isinstance(value, Static) and isinstance(value.value, Template) for value in values):
        interpreter.build.refuse(
            "a text of numbers that are only known at run time is for messages", "compare the numbers"
        )


def compare(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    refuse_template(interpreter, x, y)
    if isinstance(x, OneOf):
        return one_of.compared(x, lambda option: truth(interpreter, compare(interpreter, op, option, y)))
    if isinstance(y, OneOf):
        return one_of.compared(y, lambda option: truth(interpreter, compare(interpreter, op, x, option)))
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
    x, y = (computed_attributes.as_it_is_now(interpreter, value) for value in (x, y))
    if isinstance(op, (ast.In, ast.NotIn)):
        said = special_methods.called(interpreter, y, "__contains__", x)
        if said is not None:
            found = Scalar(truth(interpreter, said), weak=True)
            return found if isinstance(op, ast.In) else unary(interpreter, ast.Not(), found)
        special_methods.refuse_object(interpreter, y, "`in`", "__iter__")
        if containers.is_one(y) and is_known(x):
            key = plain(x)
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
    return elementwise(interpreter.build, OPERATORS[type(op)], (x, y), python=True)


def _is_function_beside(x: Any, y: Any) -> bool:
    """A function and a number, a text, None: these are never equal."""
    functions = [isinstance(v, Closure) or (isinstance(v, Static) and isfunction(v.value)) for v in (x, y)]
    others = [isinstance(v, Scalar) or (isinstance(v, Static) and isinstance(v.value, OF_PYTHON)) for v in (x, y)]
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
    same = truth(interpreter, compare(interpreter, ast.Eq(), *held))
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
        item_fields.expect_once(interpreter, x)
        places = [Scalar(item_views.place_of(value), weak=True) for value in (x, y)]
        return compare(interpreter, ast.Eq() if isinstance(op, ast.Is) else ast.NotEq(), *places)
    return constant(_is_one(interpreter, x, y) == isinstance(op, ast.Is))


def _is_one(interpreter: Interpreter, x: Any, y: Any) -> bool:
    both = getattr(x, "identity", None), getattr(y, "identity", None)
    if x is y or (both[0] is not None and both[0] is both[1]):
        return True
    are_items = interpreter.given_away.keys() >= set(both)  # of lists of run-time length, which are read anew each time
    if None in both or are_items or interpreter.one_of_several.issuperset(both):
        interpreter.build.refuse(
            "whether these are one object is not known here", "compare what is in them, or their places in a list"
        )
    return False


COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}  # and with sides exchanged


def _by_method(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any | None:
    """A comparison of objects, as their classes say; by their fields where `dataclass` says so."""
    name = OPERATORS[type(op)]
    out = special_methods.called(interpreter, x, f"__{name}__", y)
    if out is None:
        out = special_methods.called(interpreter, y, f"__{COMPARISONS[name]}__", x)
    if out is None and name == "ne" and (special_methods.own(x, "__eq__") or special_methods.own(y, "__eq__")):
        return unary(interpreter, ast.Not(), _by_method(interpreter, ast.Eq(), x, y))
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
    out = constant(PYTHON_OPERATORS[OPERATORS[type(op)]](len(x.items), len(y.items)))
    pairs = list(zip(x.items, y.items, strict=False))
    same = [truth(interpreter, compare(interpreter, ast.Eq(), a, b)) for a, b in pairs]
    decides = next((k for k, part in enumerate(same) if is_constant(part, False)), len(pairs) - 1)
    for (a, b), is_same in reversed(list(zip(pairs, same, strict=True))[: decides + 1]):
        if is_constant(is_same, True):
            continue
        theirs = truth(interpreter, compare(interpreter, op, a, b))
        out = Scalar(theirs if is_constant(is_same, False) else select(is_same, out.expr, theirs), weak=True)
    return out


def _static_comparison(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    if sets.is_set(x) or sets.is_set(y):
        return sets.computed(interpreter, OPERATORS[type(op)], x, y)
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
            condition = truth(interpreter, part)
            if is_constant(condition, True):
                continue
            if is_constant(condition, False):
                out = condition
                break
            out = condition if is_constant(out, True) else both(out, condition)
        result = Scalar(out, weak=True)
        return result if isinstance(op, ast.Eq) else unary(interpreter, ast.Not(), result)
    if isinstance(x, TupleValue) and isinstance(y, TupleValue) and _plain_kind(x) == _plain_kind(y) in (tuple, list):
        return _in_order(interpreter, op, x, y)
    if isinstance(x, Items) or isinstance(y, Items):
        held, other = (x, y) if isinstance(x, Items) else (y, x)
        if other == TupleValue((), held.kind) or (isinstance(other, TupleValue) and not other.items):
            empty = Scalar(affine.equals(held.length, affine.ZERO), weak=True)
            return empty if isinstance(op, ast.Eq) else unary(interpreter, ast.Not(), empty)
        interpreter.build.refuse("lists of a length that is only known at run time are not compared here")
    if isinstance(x, ArrayValue) or isinstance(y, ArrayValue):
        return elementwise(
            interpreter.build, OPERATORS[type(op)], [as_array(interpreter, v) for v in (x, y)], python=True
        )
    name, a, b = OPERATORS[type(op)], plain(x), plain(y)
    held = x if containers.is_one(x) else y if containers.is_one(y) else None
    try:
        if held is not None:
            said = containers.told(interpreter, held, (name, id(a), id(b)), lambda: bool(PYTHON_OPERATORS[name](a, b)))
            return constant(said)
        return constant(bool(PYTHON_OPERATORS[name](a, b)))
    except TypeError as problem:
        is_none = optional.is_none(x) or optional.is_none(y)
        return interpreter.build.refuse(str(problem), error=NoneArgumentError if is_none else ArgumentError)


def _plain_kind(value: TupleValue) -> Any:
    """What must be the same of two that are equal: a list is no tuple, a named tuple is one; dicts have keys."""
    return tuple if isinstance(value.kind, type) and issubclass(value.kind, tuple) else value.kind


def _membership(interpreter: Interpreter, op: ast.cmpop, x: Any, y: Any) -> Any:
    if records.is_dict(y) and is_known(x):
        records.key_of(interpreter, x)
        found: Any = constant(plain(x) in y.kind.keys)
    elif isinstance(y, Static) and is_known(x):
        try:
            found = constant(plain(x) in y.value)
        except TypeError as problem:
            return interpreter.build.refuse(str(problem), error=NoItemsError)
    elif (items := _items_known(y)) is not None:
        found = constant(False)
        for item in items:
            same = compare(interpreter, ast.Eq(), x, item)
            if static_truth(same) is True:
                found = same
                break
            if static_truth(same) is None:
                condition = truth(interpreter, same)
                found = Scalar(condition if static_truth(found) is False else either(found.expr, condition), True)
    elif isinstance(y, Range) and isinstance(x, Scalar) and x.dtype.kind in "iu":
        found = Scalar(_is_in_range(x.expr, y), weak=True)
    elif (isinstance(y, Items) and y.rows.ndim == 1) or (isinstance(y, ArrayValue) and y.ndim):
        held = lists_as_arrays.array_of_items(interpreter, y) if isinstance(y, Items) else y
        found = TABLE[np.any](interpreter.build, compare(interpreter, ast.Eq(), held, x))
        found = Scalar(found.expr, weak=True)
    else:
        return interpreter.build.refuse("`in` needs a tuple, a list, an array of numbers or a set here")
    return found if isinstance(op, ast.In) else unary(interpreter, ast.Not(), found)


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


def is_known(value: Any) -> bool:
    """Is it a Python object now, with nothing in it that is known at run time only?"""
    match value:
        case TupleValue(items=items):
            return all(map(is_known, items))
        case Slice(start=start, stop=stop, step=step):
            return all(part is None or is_known(part) for part in (start, stop, step))
        case Scalar():
            return value.is_constant
    return isinstance(value, Static) and not isinstance(value.value, Template)


def plain(value: Any) -> Any:
    """The Python object behind a value that is known."""
    match value:
        case Static(value=item):
            return item
        case Scalar(expr=Const(value=number)):
            return number
        case TupleValue(items=items, kind=kind):
            plain_items = [plain(item) for item in items]
            return kind(*plain_items) if isinstance(kind, DictKind) else (list if kind is list else tuple)(plain_items)
        case Slice(start=start, stop=stop, step=step):
            return slice(*(None if part is None else plain(part) for part in (start, stop, step)))
    return value
