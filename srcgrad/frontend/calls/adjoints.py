"""`f.backward(x, v)` in a function that is differentiated itself: the adjoint of f is gone through in its place.

x_b = f.backward(x, v)      →      what `srcgrad.again` has generated for these types, statement by statement
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, SourceError, UnsupportedError
from ...ir.types import ArrayType, ChosenKind, ListKind, ScalarType, StaticType, TextKind, TupleType, ValueType
from ...runtime.stacks import is_one
from .. import binding, known_values
from ..array_values import ArrayValue
from ..objects import records
from ..outputs import as_floats, float_structure, has_whole_numbers
from ..outside import holds_arrays
from ..seeds import MissingCotangent
from ..syntax.source import has_derivative, read
from ..values import (
    NONE,
    Closure,
    Differentiated,
    Items,
    OneOf,
    Scalar,
    Static,
    TupleValue,
    Unusable,
    constant,
    new_dict,
)
from . import calls_in_place
from .frames import Frame

if TYPE_CHECKING:
    from ..interpret import Interpreter

KINDS = ("backward", "value_and_backward")


class CallsItself(Exception):
    """An adjoint is made of itself, without end."""


def is_entry(target: Any) -> bool:
    return inspect.ismethod(target) and has_derivative(target.__self__)


def is_grad(target: Any) -> bool:
    return inspect.isfunction(target) and (target.__module__, target.__name__) == ("srcgrad.api", "grad")


def differentiated(interpreter: Interpreter, grad: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`grad(f)`"""
    is_of_here = bool(args) and isinstance(args[0], Closure)
    values = [*args[is_of_here:], *kwargs.values()]
    if not args or not all(isinstance(value, Static) or known_values.is_known(value) for value in values):
        interpreter.build.refuse("grad of this", "it takes a function, and options that are constants")
    options = {name: _plain(value) for name, value in kwargs.items()}
    if is_of_here:
        return Differentiated(args[0], options=options)
    return Static(grad(*map(_plain, args), **options))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Static) else known_values.plain(value)


def on_matrices(routine: Any, args: list[Any]) -> Any:
    """What a routine of generated code does with these arrays: with one matrix, or with every one of a stack."""
    return routine.one if is_one(routine.kinds, [len(getattr(value, "dims", ())) for value in args]) else routine


def call(
    interpreter: Interpreter, method: Any, args: list[Any], kwargs: dict[str, Any], only: Container[str] | None = None
) -> Any:
    """`only`: of these parameters the cotangents are wanted, which are the first."""
    build, kind, adjoints = interpreter.build, method.__name__, method.__self__._for_call(kwargs)._adjoints
    if kind not in KINDS:
        build.refuse(f".{kind} in a function that is differentiated", f"call .backward, or .{KINDS[1]}")
    bound = _bound(interpreter, f"{method.__self__.__name__}.{kind}", adjoints.signature, args, kwargs)
    leaves: dict[str, list[Any]] = {name: [] for name in bound}
    types = {name: _type(interpreter, name, value, leaves[name]) for name, value in bound.items()}
    constants = {name: known_values.plain(bound[name]) for name in bound if known_values.is_known(bound[name])}
    v = next(name for name in bound if name not in adjoints.parameters)
    cotangents = None if types[v] == StaticType(None) else types[v]
    try:
        made = adjoints.make(kind, types, constants, cotangents, build.stretch, build.cut)
    except CallsItself:
        name = method.__self__.__name__
        help = "say how often by an argument that is a constant:  @grad(static=...)"
        build.refuse(f"the derivative of {name} is made of itself, without end", help)
    except MissingCotangent as problem:  # of shapes that are the callee's
        build.refuse(problem.message, *problem.help, error=ArgumentError)
    given = [
        leaf
        for name, own in zip(adjoints.parameters, made.types, strict=True)
        for leaf in (() if own != types[name] else leaves[name])
    ]
    if any("push" in name for function in _others(made.function) for name in function.__code__.co_names):
        name = method.__self__.__name__
        build.refuse(f"the derivative of {name} can't be differentiated: it keeps values of calls within calls")
    generated = made.generated
    build.equal_lengths |= generated.equal_lengths
    interpreter.assumed |= {place.key: (place, value) for place, value in generated.assumed}
    captured = [interpreter.outside(c.name, c.place) for c in generated.captured]
    source = read(made.function)
    names = [arg.arg for arg in source.node.args.args]
    values = [*given, *(leaves[v] if cotangents is not None else ()), *captured]
    frame = Frame(source, made.function, dict(zip(names, values, strict=True)), is_composition=True)
    span = build.span
    try:
        result = interpreter.enter(frame, source.node)
    except (SourceError, UnsupportedError) as problem:  # it would show the generated text
        build.span = span
        name = method.__self__.__name__
        build.refuse(f"the derivative of {name} can't be differentiated itself", because=problem.message)
    out = _structured(generated.results, iter(result.items if isinstance(result, TupleValue) else (result,)))
    if only is None:
        return out
    by = [name for name, own in zip(adjoints.parameters, made.types, strict=True) if float_structure(own) is not None]
    count = sum(name in only for name in by)
    if count == 0:
        helps = [as_floats(key, kind) for key, kind in types.items() if key in only and has_whole_numbers(kind)]
        build.refuse("none of the arguments is a float or an array of floats", *helps[:1], error=ArgumentError)
    if kind == "value_and_backward":
        return replace(out, items=(out.items[0], _first(out.items[1], count, len(by))))
    return _first(out, count, len(by))


def _first(cotangents: Any, count: int, of: int) -> Any:
    """The first of the cotangents, as they would be without the others."""
    if count == of:
        return cotangents
    return cotangents.items[0] if count == 1 else replace(cotangents, items=cotangents.items[:count])


def _others(function: Any) -> list[Any]:
    """The functions beside it in a generated module: of what calls itself."""
    defined = filter(inspect.isfunction, function.__globals__.values())
    return [f for f in defined if f.__code__.co_filename == function.__code__.co_filename and f is not function]


def _bound(
    interpreter: Interpreter, name: str, signature: inspect.Signature, args: list[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The values of f's parameters and of v, in variables and in memory."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as problem:
        return interpreter.build.refuse(f"{name}: {problem}", error=ArgumentError)
    given = {key: _gathered(value) for key, value in bound.arguments.items()}
    bound.apply_defaults()
    left_out = {key: value for key, value in bound.arguments.items() if key not in given}
    arrays = {key: value for key, value in left_out.items() if holds_arrays(value)}
    rest = {key: value for key, value in left_out.items() if key not in arrays}
    given |= {key: new_dict({}) if value == {} else constant(value) for key, value in rest.items()}
    given |= calls_in_place.given_values(interpreter, signature, arrays)
    return {key: binding.bind_item(interpreter, key, given[key]) for key in signature.parameters}


def _gathered(value: Any) -> Any:
    """What *args and **kwargs are."""
    match value:
        case tuple():
            return TupleValue(value)
        case dict():
            return new_dict(value)
    return value


def _type(interpreter: Interpreter, name: str, value: Any, leaves: list[Any]) -> ValueType:
    match value:
        case Scalar(expr=expr, weak=weak):
            leaves.append(value)
            return ScalarType(expr.dtype, weak)
        case ArrayValue(dtype=dtype, dims=dims):
            leaves.append(value)
            return ArrayType(dtype, len(dims))
        case TupleValue(items=items, kind=kind):
            names = _names_of_items(name, value)
            parts = [_type(interpreter, part, item, leaves) for part, item in zip(names, items, strict=True)]
            return TupleType(tuple(parts), kind)
        case Static(value=known):
            return StaticType(known)
        case Items():
            return interpreter.build.refuse(
                f"the function whose derivative is taken here reads {name}, a list whose length is only known at run "
                "time",
                "keep the numbers in an array that the function reads instead",
            )
    return interpreter.build.refuse(f"{name} can't be handed to .backward here", "pass a number, an array or a tuple")


def _names_of_items(name: str, value: TupleValue) -> list[str]:
    if records.is_record(value):
        return [f"{name}.{key}" for key in value.kind.keys]
    keys = value.kind.keys if records.is_dict(value) else range(len(value.items))
    return [f"{name}[{key!r}]" for key in keys]


UNKNOWN_HERE = (
    "is a text with numbers, or a list whose length is only known at run time, in a result of value_and_backward",
    ("call the function itself for its value",),
)


def _structured(results: Any, leaves: Iterator[Any]) -> Any:
    match results:
        case ScalarType(weak=weak):
            return Scalar(next(leaves).expr, weak)
        case ArrayType():
            return next(leaves)
        case TupleType(kind=ChosenKind(options=options)):
            return OneOf(Scalar(next(leaves).expr, weak=True), tuple(map(constant, options)))
        case TupleType(items=items, kind=TextKind() | ListKind()):
            for item in items:
                _structured(item, leaves)
            return Static(Unusable("this", *UNKNOWN_HERE))
        case TupleType(items=items, kind=kind):
            return TupleValue(tuple(_structured(item, leaves) for item in items), kind)
        case StaticType(value=known):
            return constant(known)
    return NONE
