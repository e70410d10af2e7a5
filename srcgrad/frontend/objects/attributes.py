"""Attributes of values, and of the objects and modules that a program reads from outside."""

from __future__ import annotations

import functools
import inspect
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import is_simple_object
from ...errors import AttributeArgumentError
from ...ir import affine
from ...ir.expressions import Expr
from ...rules import compositions
from .. import known_values, outside, types_that_decide
from ..array_values import ArrayValue
from ..calls import calls_in_place
from ..numpy import complex_numbers, flat
from ..numpy.table import METHODS, TABLE
from ..outside import HasAttribute, HasOfItsOwn, InClass, InObject
from ..syntax.source import has_derivative, method_of_gradient, unwrap
from ..values import (
    NONE,
    Bound,
    Closure,
    Differentiated,
    Items,
    Method,
    RandomSource,
    Scalar,
    Slice,
    Static,
    TupleValue,
    constant,
)
from . import class_defaults, containers, inheritance, library_objects, objects, records, special_methods

if TYPE_CHECKING:
    from ..interpret import Interpreter


def attribute(interpreter: Interpreter, owner: Any, name: str) -> Any:
    build = interpreter.build
    if isinstance(owner, Static):
        known_values.refuse_template(interpreter, owner)
        if not hasattr(owner.value, name):
            if not outside.is_lasting(owner.value):
                interpreter.outside(name, HasAttribute(owner.value, name))  # it may have by the next call
            what = str(getattr(owner.value, "__name__", owner.value))
            return build.refuse(f"{what} has no attribute {name!r}", error=AttributeArgumentError)
        if (method := method_of_gradient(owner.value, name)) is not None:
            return Static(method)
        if containers.is_one(owner) and (of_mapping := containers.method(interpreter, owner, name)) is not None:
            return of_mapping
        if is_simple_object(owner.value) or objects.is_made_here(owner.value):
            return of_object(interpreter, owner, name)
        if (made := library_objects.of_library(interpreter, owner.value)) is not None:
            return attribute(interpreter, made, name)
        if outside.is_lasting(owner.value):
            return constant(getattr(owner.value, name))
        return interpreter.outside(name, InObject(owner.value, name))
    if isinstance(owner, TupleValue):
        if hasattr(owner.kind, "_fields") and name in owner.kind._fields:
            return owner.items[owner.kind._fields.index(name)]
        of_tuples = hasattr(tuple, name) and special_methods.own(owner, name) is None
        if hasattr(owner.kind, "_fields") and not of_tuples and name not in ("_replace", "_asdict"):
            return objects.of_class(interpreter, owner, owner.kind, name)
        if records.is_record(owner) and name == records.FIELDS:
            class_defaults.refuse_all(interpreter, owner)
            return Method(owner, records.FIELDS)
        if records.is_record(owner):
            return objects.attribute(interpreter, owner, name)
        if records.is_dict(owner) and not hasattr(owner.kind.cls, name):
            return build.refuse(f"a {owner.kind.cls.__name__} has no attribute {name!r}", error=AttributeArgumentError)
        if records.is_dict(owner) and name == "default_factory":
            return NONE if owner.kind.default is None else owner.kind.default
        return Method(owner, name)
    if isinstance(owner, (Items, RandomSource)) or records.are_fields(owner):
        return Method(owner, name)
    if isinstance(owner, Closure) and name == "__name__":
        return constant(owner.name)
    if isinstance(owner, Differentiated):
        return Method(owner, name)
    if isinstance(owner, Bound) and has_derivative(owner.function) and isinstance(owner.args[0], Static):
        return attribute(interpreter, Static(owner.function.__get__(owner.args[0].value)), name)
    if isinstance(owner, inheritance.Super):
        return inheritance.attribute(interpreter, owner, name)
    if isinstance(owner, Slice) and name in ("start", "stop", "step"):
        part = getattr(owner, name)
        return NONE if part is None else part
    if isinstance(owner, Scalar):
        owner_dims: tuple[Expr, ...] = ()
    elif isinstance(owner, ArrayValue):
        owner_dims = owner.dims
    else:
        return build.refuse(f"this value has no attribute {name!r}")
    _check_there(interpreter, owner, name)
    if name in ("dtype", "itemsize"):
        types_that_decide.check_asked(build, [owner])
    match name:
        case "shape":
            return TupleValue(tuple(Scalar(dim, weak=True) for dim in owner_dims))
        case "size":
            return Scalar(affine.product(owner_dims), weak=True)
        case "ndim":
            return constant(len(owner_dims))
        case "dtype":
            return Static(owner.dtype)
        case "itemsize":
            return constant(owner.dtype.itemsize)
        case "T":
            return TABLE[np.transpose](build, owner) if isinstance(owner, ArrayValue) else owner
        case "mT" if owner_dims:
            return TABLE[np.matrix_transpose](build, owner)
        case "real":
            return complex_numbers.real(build, owner)
        case "imag":
            return complex_numbers.imag(build, owner)
        case "flat" if isinstance(owner, ArrayValue):
            return flat.elements(build, owner)
    if name in METHODS or name in compositions.METHODS or (name == "__getitem__" and owner_dims):
        return Method(owner, name)
    return build.refuse(f"the attribute .{name} of {'an array' if owner_dims else 'a number'} is not supported")


PYTHON_KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def _check_there(interpreter: Interpreter, owner: Scalar | ArrayValue, name: str) -> None:
    """Python's numbers have what NumPy's have, but where a `try` asks whether they do."""
    build = interpreter.build
    kinds: list[type] = [np.ndarray if isinstance(owner, ArrayValue) else owner.dtype.type]
    if isinstance(owner, Scalar) and owner.weak:
        own = PYTHON_KINDS[owner.dtype.kind]
        kinds = [own] if build.would_catch(AttributeError) else [own, *kinds]
    if not any(hasattr(kind, name) for kind in kinds):
        build.refuse(f"{kinds[0].__name__!r} object has no attribute {name!r}", error=AttributeArgumentError)


def of_object(interpreter: Interpreter, owner: Static, name: str) -> Any:
    """An attribute of an object, or of a class, from outside: what it holds is handed in, as globals are."""
    target = owner.value
    of_class_alone = name == "__call__" and not isinstance(target, type)  # so Python looks for it
    found = inspect.getattr_static(type(target) if of_class_alone else target, name, None)
    if isinstance(found, property) and not isinstance(target, type):
        expect_of_class(interpreter, target, name)
        return calls_in_place.call_function(interpreter, found.fget, [owner], {})
    if isinstance(found, functools.partialmethod) and not isinstance(target, type):
        return _partial_method(interpreter, owner, name, found)
    if isinstance(found, (staticmethod, classmethod)) or isinstance(target, type):
        value = getattr(target, name)
        if callable(value):
            interpreter.outside(name, InObject(target, name))
        if inspect.ismethod(value):
            return Bound(value.__func__, (Static(value.__self__),))
        if callable(value):
            return Static(value)
    elif callable(found) and (of_class_alone or name not in vars(target)) and inspect.isfunction(unwrap(found)):
        if of_class_alone:
            expect_of_class(interpreter, target, name)
        elif _is_one_method(target, name):
            interpreter.outside(name, InObject(target, name))
        else:
            expect_of_class(interpreter, target, name)
            interpreter.outside(name, HasOfItsOwn(target, name))
        return Bound(found if has_derivative(found) else unwrap(found), (owner,))
    return interpreter.outside(name, InObject(target, name))


def _partial_method(interpreter: Interpreter, owner: Static, name: str, found: functools.partialmethod[Any]) -> Bound:
    """What Python makes anew at each look, as it does methods."""
    target = owner.value
    interpreter.outside("__class__", InObject(target, "__class__"))
    interpreter.outside(name, InClass(type(target), name))
    interpreter.outside(name, HasOfItsOwn(target, name))
    first, named = calls_in_place.held_by(interpreter, found)
    function: Any = found.func
    bound = function.__get__(target, type(target)) if hasattr(function, "__get__") else function
    if inspect.ismethod(bound):
        function, first = bound.__func__, [Static(bound.__self__), *first]
    elif bound is function:
        first = [owner, *first]
    else:
        function = bound
    return Bound(function, tuple(first), tuple(named.items()))


def _is_one_method(target: Any, name: str) -> bool:
    """Is what the object has a method as Python makes it, with the same function at each look?"""
    first, second = getattr(target, name), getattr(target, name)
    return isinstance(first, MethodType) and isinstance(second, MethodType) and first.__func__ is second.__func__


def expect_of_class(interpreter: Interpreter, target: Any, name: str) -> None:
    """The class of the object has to stay the same, and what that has under a name."""
    interpreter.outside("__class__", InObject(target, "__class__"))
    interpreter.outside(name, InObject(type(target), name))
