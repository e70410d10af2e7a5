"""What Python itself computes with: its built-in functions."""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import math
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from ...errors import (
    STEP_OF_ZERO,
    ArgumentError,
    NoItemsError,
    NoneArgumentError,
    UnsupportedError,
    ValueArgumentError,
    place,
)
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, Expr
from ...ir.nodes import If, Raise
from ...rules import compositions
from ...rules.compositions import python
from .. import known_values, operators, optional, outside, types_that_decide, unpacking
from ..arithmetic import cast, elementwise, loop_dtypes
from ..array_values import ArrayValue
from ..control import endless, generators
from ..control.attempts import restore, save
from ..control.exceptions import print_values
from ..control.grid_loops import combinations, combinations_with_replacement, permutations, product
from ..lists import lists, lists_as_arrays, lists_of_none, one_by_one
from ..lists.sorted_items import in_order
from ..numpy import reductions
from ..numpy.table import TABLE
from ..objects import (
    attributes,
    computed_attributes,
    containers,
    copies,
    dicts,
    inheritance,
    objects,
    records,
    sets,
    special_methods,
)
from ..outside import HasAttribute
from ..syntax import matching
from ..values import (
    NONE,
    Bound,
    Closure,
    Endless,
    Grid,
    Indexed,
    Items,
    Method,
    Range,
    Scalar,
    Slice,
    Static,
    TupleValue,
    constant,
    new_list,
)
from . import calls_in_place, texts, warnings_and_logs
from .numbers_of_python import (
    absolute,
    choose_extremum,
    length_of_vector,
    number_of,
    power,
    to_bool,
    to_complex,
    to_float,
)

if TYPE_CHECKING:
    from ..interpret import Interpreter

# --------------------------------------------------------------------------------------------------- builtins


def make_range(interpreter: Interpreter, *args: Any) -> Range:
    numbers = []
    for value in args:
        if isinstance(value, ArrayValue) and value.ndim == 0:
            interpreter.build.check_fresh(value.element)
            value = Scalar(value.element)
        if not isinstance(value, Scalar) or value.dtype.kind not in "iub":
            interpreter.build.refuse("range needs integers", error=ArgumentError)
        numbers.append(affine.normal(cast(value.expr, INT64)))
    start, stop, step = {1: (affine.ZERO, *numbers, affine.ONE), 2: (*numbers, affine.ONE), 3: tuple(numbers)}[
        len(numbers)
    ]
    if isinstance(step, Const) and step.value == 0:
        interpreter.build.refuse(STEP_OF_ZERO, error=ValueArgumentError)
    return Range(start, stop, step)


def length(interpreter: Interpreter, value: Any) -> Any:
    said = special_methods.called(interpreter, value, "__len__")
    if said is not None:
        return said
    special_methods.refuse_object(interpreter, value, "the length")
    known_values.refuse_template(interpreter, value)
    match value:
        case TupleValue(items=items):
            return constant(len(items))
        case Static(value=item) if containers.is_one(value):
            return constant(containers.told(interpreter, value, "length", lambda: len(item)))
        case ArrayValue(dims=(first, *_)):
            return Scalar(first, weak=True)
        case Items(length=count) | Indexed(count=count):
            return Scalar(count, weak=True)
        case Range(start=start, stop=stop, step=step):
            unpacking.refuse_step_of_zero(interpreter.build, value)
            return Scalar(Call("trip_count", (start, stop, step), INT64), weak=True)
        case Static(value=item) if hasattr(item, "__len__"):
            return constant(len(item))
    is_number = isinstance(value, Scalar) or (isinstance(value, ArrayValue) and not value.ndim)
    error = NoItemsError if is_number else NoneArgumentError if optional.is_none(value) else ArgumentError
    return interpreter.build.refuse("this value has no length", error=error)


def total(interpreter: Interpreter, value: Any, start: Any = None) -> Any:
    """Python's sum: over the items of a tuple, or the first axis of an array."""
    special_methods.refuse_object(interpreter, value, "the sum", "__iter__")
    value = lists_of_none.all_set(interpreter, value)
    is_weak, may_be_empty = isinstance(value, Items) and value.weak is True, isinstance(value, Items)
    value = lists_as_arrays.array_of_its_kind(interpreter, value)
    if isinstance(value, ArrayValue) and value.ndim:
        first = start if isinstance(start, (Scalar, ArrayValue)) else constant(0)
        dtype = loop_dtypes(interpreter.build, "add", (first, value), True)[-1]  # np.sum has 64 bits for integers
        summed = reductions.total(interpreter.build, value, constant(0), dtype=dtype)
        if may_be_empty and not is_weak and isinstance(summed, Scalar):  # then it is Python's 0
            interpreter.build.either.add(summed.expr)
        summed = Scalar(summed.expr, weak=True) if is_weak and isinstance(summed, Scalar) else summed
        return summed if start is None else elementwise(interpreter.build, "add", (start, summed), python=True)
    if isinstance(value, Range) or records.is_dict(value):
        value = TupleValue(tuple(unpacking.items_of(interpreter, value)))
    if not isinstance(value, TupleValue):
        error = NoneArgumentError if optional.is_none(value) else ArgumentError
        return interpreter.build.refuse("sum needs a list, a tuple or an array", error=error)
    items = list(value.items)
    is_number = start is None and items and not (isinstance(items[0], Scalar) and items[0].dtype == BOOL)
    is_array_alone = len(items) == 1 and isinstance(items[0], ArrayValue)  # 0 + x is another array
    out = items.pop(0) if is_number and not is_array_alone else start or constant(0)
    for item in items:
        out = operators.binary(interpreter, "add", out, item)
    return out


def any_or_all(is_any: bool) -> Callable[..., Any]:
    def builtin(interpreter: Interpreter, value: Any) -> Any:
        value = lists_as_arrays.items_at_place(interpreter, value)
        value = value if isinstance(value, TupleValue) else lists_as_arrays.as_values(interpreter, value)
        if isinstance(value, ArrayValue) and value.ndim == 1:
            found = TABLE[np.any if is_any else np.all](interpreter.build, value)
            return Scalar(operators.truth(interpreter, found), weak=True)
        out: Expr = Const(not is_any, BOOL)
        for item in unpacking.items_of(interpreter, value):
            condition = operators.truth(interpreter, item)
            if isinstance(condition, Const):
                if condition.value == is_any:
                    return constant(is_any)
            elif isinstance(out, Const):
                out = condition
            else:
                out = Call("or" if is_any else "and", (out, condition), BOOL)
        return Scalar(out, weak=True)

    return builtin


def mapped(interpreter: Interpreter, function: Any, *values: Any) -> Any:
    """map(f, xs)"""
    pairs = zipped(interpreter, *values)
    if isinstance(pairs, Indexed):
        item = lambda i: interpreter.call(function, list(pairs.item(i).items), {})
        return Indexed(pairs.count, item, pairs.held)
    return new_list([interpreter.call(function, list(pair.items), {}) for pair in pairs.items])


def sample_of(interpreter: Interpreter, value: Any) -> Any:
    """A Python object of the type of a value."""
    match value:
        case Static(value=item):
            return item
        case ArrayValue():
            return np.empty((0,) * value.ndim, value.dtype)
        case Scalar():
            return value.dtype.type(0).item() if value.weak else value.dtype.type(0)
        case Items(kind=kind):
            return kind()
        case Slice():
            return slice(None)
        case Closure() | Bound() | Method():
            return sample_of
        case TupleValue(items=items, kind=kind):
            return kind() if kind in (tuple, list) else kind(*items)
    return interpreter.build.refuse("the type of this value is not known")


def _asked(interpreter: Interpreter, value: Any, ask: Callable[[Any], Any]) -> Any:
    """What is said of an object of the type of a value."""
    return types_that_decide.same_answer(interpreter.build, value, lambda on_path: ask(sample_of(interpreter, on_path)))


def type_of_value(interpreter: Interpreter, value: Any) -> Any:
    return Static(_asked(interpreter, value, lambda sample: compositions.class_of(type(sample))))


def has_attribute(interpreter: Interpreter, value: Any, name: Any) -> Any:
    known_values.refuse_template(interpreter, name)
    text = known_values.plain(name)
    if isinstance(value, Static) and not outside.is_lasting(value.value):
        return interpreter.outside(text, HasAttribute(value.value, text))
    return constant(_asked(interpreter, value, lambda sample: hasattr(sample, text)))


def is_callable(interpreter: Interpreter, value: Any) -> Any:
    return constant(isinstance(value, (Closure, Bound, Method)) or callable(sample_of(interpreter, value)))


def is_scalar(interpreter: Interpreter, value: Any) -> Any:
    return constant(_asked(interpreter, value, np.isscalar))


def is_iterable(interpreter: Interpreter, value: Any) -> Any:
    return constant(np.iterable(sample_of(interpreter, value)))


def get_attribute(interpreter: Interpreter, owner: Any, name: Any, *default: Any) -> Any:
    known_values.refuse_template(interpreter, name)
    text = known_values.plain(name)
    if default and not known_values.plain(has_attribute(interpreter, owner, name)):
        return default[0]
    return attributes.attribute(interpreter, owner, text)


def as_text(interpreter: Interpreter, value: Any = None) -> Any:
    if value is None:
        return Static("")
    if records.is_record(value):  # (what an object from outside says is known)
        for name in ("__str__", "__repr__"):
            method = special_methods.own(value, name)
            if method is not None and not hasattr(method, "__wrapped__"):  # (as that of a dataclass is)
                return special_methods.called(interpreter, value, name)
    is_numpys = isinstance(value, Scalar) and not value.weak  # f"{y}" has the digits of a float64, str(y) its own
    return Static(texts.piece(interpreter, value, "s" if is_numpys else ""))


def show(
    interpreter: Interpreter, *values: Any, sep: Any = NONE, end: Any = NONE, file: Any = NONE, flush: Any = NONE
) -> Any:
    between, behind = (option.value if isinstance(option, Static) else option for option in (sep, end))
    if not all(text is None or type(text) is str for text in (between, behind)):
        interpreter.build.refuse("sep= and end= of print are texts that are known when the function is read")
    if not (isinstance(file, Static) and file.value in (None, sys.stdout)):
        interpreter.build.refuse(
            "compiled code prints to the standard output as print does without file=",
            "leave file= out, or print outside of the differentiated function",
        )
    print_values(interpreter, list(values), " " if between is None else between, "\n" if behind is None else behind)
    return NONE


def make_tuple(kind: type) -> Callable[..., Any]:
    def builtin(interpreter: Interpreter, value: Any = None) -> Any:
        if value is None:
            return new_list(()) if kind is list else TupleValue((), kind)
        if kind is list and isinstance(value, Grid) and unpacking.known_items(interpreter, value) is None:
            return calls_in_place.call_function(interpreter, python.collected, [value], {})
        if kind is list or unpacking.known_items(interpreter, value) is None:
            made = lists.copied(interpreter, value)
            return replace(made, kind=kind) if isinstance(made, Items) else made
        return TupleValue(tuple(unpacking.items_of(interpreter, value)), kind)

    return builtin


def number_items(interpreter: Interpreter, value: Any, start: Any = None) -> Any:
    """enumerate(xs)"""
    several = unpacking.indexed(interpreter, value)
    if several is not None:
        offset = affine.ZERO if start is None else cast(number_of(interpreter, start).expr, INT64)
        number = lambda i: Scalar(affine.add(i, offset), weak=True)
        return Indexed(several.count, lambda i: TupleValue((number(i), several.item(i))), several.held)
    items = unpacking.items_of(interpreter, value)
    first = Const(0, INT64) if start is None else cast(number_of(interpreter, start).expr, INT64)
    numbers = (Scalar(affine.add(first, affine.integer(k)), weak=True) for k in range(len(items)))
    return TupleValue(tuple(TupleValue(pair) for pair in zip(numbers, items, strict=True)))


def zipped(interpreter: Interpreter, *values: Any, strict: Any = None) -> Any:
    if strict is not None and len(values) > 1 and _is_set(interpreter, strict, "strict"):
        check_as_long(interpreter, list(values))
    ending = [value for value in values if not isinstance(value, Endless)]
    if len(ending) < len(values):
        return endless.beside(interpreter, list(values), zipped(interpreter, *ending))
    several = [unpacking.indexed(interpreter, value) for value in values]
    if len(values) > 1:
        several = [s and replace(s, item=one_by_one.unchanging(interpreter, s.item)) for s in several]
    known = [len(unpacking.items_of(interpreter, v)) for v, s in zip(values, several, strict=True) if s is None]
    if not any(several) or (known and all(isinstance(s.count, Const) for s in several if s is not None)):
        each = [unpacking.items_of(interpreter, value) for value in values]
        return TupleValue(tuple(TupleValue(items) for items in zip(*each, strict=False)))
    if 0 in known:
        return TupleValue(())
    if known:  # beside what is only known at run time, a tuple is a list in memory, or the other one as long
        saved = save(interpreter)
        try:
            as_list = lambda value: lists.rows_of(interpreter, "items", _as_tuple(interpreter, value), may_change=True)
            several = [s or unpacking.indexed(interpreter, as_list(v)) for v, s in zip(values, several, strict=True)]
        except UnsupportedError:
            restore(interpreter, saved)
            if not all(_is_as_long(interpreter, s, min(known)) for s in several if s is not None):
                raise
            each = [
                unpacking.items_of(interpreter, v)
                if s is None
                else [s.item(affine.integer(k)) for k in range(min(known))]
                for v, s in zip(values, several, strict=True)
            ]
            return TupleValue(tuple(TupleValue(items) for items in zip(*each, strict=False)))
    count = several[0].count  # type: ignore[union-attr]
    for other in several[1:]:
        count = affine.minimum(count, other.count)  # type: ignore[union-attr]
    item = lambda i: TupleValue(tuple(s.item(i) for s in several))  # type: ignore[union-attr]
    held = tuple(array for s in several for array in s.held)  # type: ignore[union-attr]
    return Indexed(interpreter.build.pin(count), item, held)


ENDS_EARLY = (
    "zip() of {} items that can't be rows of an array, beside {} others: there have to be at least as many of these"
)


def _as_tuple(interpreter: Interpreter, value: Any) -> TupleValue:
    return TupleValue(tuple(unpacking.items_of(interpreter, value)))


def _is_as_long(interpreter: Interpreter, several: Indexed, count: int) -> bool:
    """Are there so many items, at least as long as nothing is shorter than it is taken to be?"""
    build = interpreter.build
    build.expect_at_least(several.count, affine.integer(count), ENDS_EARLY)
    return build.is_at_least(several.count, count)


def _is_set(interpreter: Interpreter, value: Any, name: str) -> bool:
    known = operators.static_truth(value)
    if known is None:
        interpreter.build.refuse(f"{name}= must be known when the function is compiled")
    return known


def check_as_long(interpreter: Interpreter, values: list[Any]) -> None:
    """zip(..., strict=True): each is as long as the first."""
    build = interpreter.build
    first, *others = [cast(length(interpreter, value).expr, INT64) for value in values]
    for number, other in enumerate(others, 2):
        for op, word in (("lt", "shorter"), ("gt", "longer")):
            message = f"zip() argument {number} is {word} than argument 1"
            gap = affine.difference(other, first)
            if gap is None:
                error = Raise("RuntimeValueError", message + place(build.span))
                build.emit(If(Call(op, (other, first), BOOL), (error,)))
            elif gap < 0 if op == "lt" else gap > 0:
                build.refuse(message, error=ValueArgumentError)


def make_dict(cls: type) -> Callable[..., Any]:
    return lambda interpreter, *parts, **items: dicts.made_of(interpreter, list(parts), items, cls)


def is_instance(interpreter: Interpreter, value: Any, kind: Any) -> Any:
    return constant(_asked(interpreter, value, lambda sample: isinstance(sample, known_values.plain(kind))))


def static_integer(interpreter: Interpreter, value: Any, what: Static) -> Any:
    """What a composition needs as a constant."""
    if not isinstance(value, Scalar) or value.dtype.kind not in "iub":
        interpreter.build.refuse(f"{what.value} must be an integer", error=ArgumentError)
    if not value.is_constant:
        interpreter.build.refuse(
            f"{what.value} must be a constant", "write the loop yourself", "or name the argument:  @grad(static=...)"
        )
    return value


def part_matched(interpreter: Interpreter, value: Any, cls: Any, place: Any) -> Any:
    """What a pattern in `case Circle(r)` is compared with."""
    kind, number = known_values.plain(cls), int(known_values.plain(place))
    if kind in matching.WHOLE:
        return value
    names = getattr(kind, "__match_args__", ())
    if number >= len(names):
        interpreter.build.refuse(f"{kind.__name__}() accepts {len(names)} positional sub-patterns", error=ArgumentError)
    return attributes.attribute(interpreter, value, names[number])


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: make_range, numba.prange: make_range, len: length, abs: absolute, pow: power,
    max: choose_extremum("max"), min: choose_extremum("min"),
    sum: total, float: to_float, bool: to_bool, complex: to_complex, print: show, tuple: make_tuple(tuple),
    list: make_tuple(list), enumerate: number_items, zip: zipped, reversed: unpacking.turned, isinstance: is_instance,
    set: sets.made_of(set), frozenset: sets.made_of(frozenset), collections.defaultdict: dicts.made_with_default,
    dict: make_dict(dict), collections.OrderedDict: make_dict(collections.OrderedDict),
    dict.fromkeys: dicts.made_of_keys(dict), iter: generators.iterator_of,
    collections.OrderedDict.fromkeys: dicts.made_of_keys(collections.OrderedDict),
    copy.copy: copies.shallow, copy.deepcopy: copies.deep,
    any: any_or_all(True), all: any_or_all(False), map: mapped, sorted: in_order,
    type: type_of_value, hasattr: has_attribute, getattr: get_attribute,
    super: inheritance.super_of, callable: is_callable, str: as_text, np.isscalar: is_scalar, np.iterable: is_iterable,
    math.hypot: length_of_vector, itertools.product: product, itertools.combinations: combinations,
    itertools.combinations_with_replacement: combinations_with_replacement,
    itertools.permutations: permutations, itertools.islice: endless.sliced,
    dataclasses.asdict: copies.as_dict, dataclasses.astuple: copies.as_tuple, dataclasses.replace: copies.replaced,
    types.SimpleNamespace: objects.namespace, **warnings_and_logs.BUILTINS,
    **computed_attributes.BUILTINS,
    matching.part_matched: part_matched, compositions.registry.constant_integer: static_integer,
}  # fmt: skip
