"""Calls: the user's functions are interpreted in place, NumPy's and Python's are rules."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import math
import operator
import sys
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from ...arguments import is_simple_object
from ...errors import ArgumentError, NoneArgumentError, UnsupportedError, ValueArgumentError
from ...rules import compositions
from ...rules.compositions import composition_of
from ...rules.names import COMPLEX_MATH, MATH, TO_INT, WHOLE_MATH
from ...rules.user import UserRule
from .. import arrays_of_none, binding, expressions, identities, known_values, large_numbers, outside
from ..arithmetic import elementwise
from ..array_values import ArrayValue
from ..control import endless, generators, handed_generators, iterators, python_raises
from ..control.comprehensions import next_of
from ..lists import list_methods, list_types, lists, lists_as_arrays
from ..numpy import (  # noqa: F401 (register)
    choosing,
    complex_numbers,
    creation,
    creation_functions,
    einsum,
    fourier,
    functions,
    index_functions,
    indexing,
    order,
    primitives,
    products,
    random_numbers,
    reductions,
    running,
    special,
)
from ..numpy.table import METHODS, TABLE, name_of
from ..objects import (
    attributes,
    changes,
    computed_attributes,
    containers,
    dicts,
    library_objects,
    named_tuples,
    objects,
    records,
    special_methods,
)
from ..syntax.source import has_derivative, unwrap
from ..types_that_decide import note_results
from ..values import (
    NONE,
    Bound,
    Closure,
    Differentiated,
    Items,
    MadeException,
    Method,
    NotConstant,
    RandomSource,
    Scalar,
    Static,
    TupleValue,
    Unpacked,
    constant,
)
from . import adjoints, lifted, parameters, texts
from .builtins_of_python import BUILTINS, sample_of
from .calls_in_place import call_closure, call_composition, call_function, held_by, read_once
from .numbers_of_python import convert, math_function, to_int
from .user import call_rule
from .without_rules import unknown

if TYPE_CHECKING:
    from ..builder import Builder
    from ..interpret import Interpreter

TOO_LARGE = (math.factorial, math.comb, math.perm)  # what they make of small numbers may have more than 64 bits
TAKE_AN_ITEM = ("append", "insert")  # of the methods of lists
ITEMS_NOT_LOOKED_AT = (any, all)  # by Python: once it is known what they return


@expressions.evaluates(ast.Call)
def evaluate_call(interpreter: Interpreter, node: ast.Call) -> Any:
    function = large_numbers.as_float(node, expressions.evaluate(interpreter, node.func))
    if isinstance(function, Static) and function.value is None and not interpreter.frame.is_composition:
        interpreter.build.refuse("None can't be called", error=NoneArgumentError)
    if isinstance(function, Static) and function.value is next and len(node.args) in (1, 2) and not node.keywords:
        if isinstance(node.args[0], ast.GeneratorExp):
            return next_of(interpreter, node.args[0], node.args[1:])
    is_own = isinstance(function, Closure) or (isinstance(function, Static) and outside.is_users(function.value))
    read = expressions.as_it_is if is_own else expressions.evaluate
    if arrays_of_none.is_taken_by(function):
        read = expressions.with_array_of_none
    elif isinstance(function, Method) and function.name in TAKE_AN_ITEM and identities.is_list(function.owner):
        read = expressions.as_item
    raised = [len(watch.held) for watch in interpreter.build.watches]
    nodes = [*node.args, *(keyword.value for keyword in node.keywords)]  # evaluated in this order
    mark = len(interpreter.build.block)
    generators.note_taker(function, node.args)
    parts = expressions.parts_of(interpreter, nodes, read)
    (function,) = expressions.as_before(interpreter, [function], mark)
    args = expressions.unpacked(parts[: len(node.args)])
    if isinstance(function, Static) and any(function.value is f for f in ITEMS_NOT_LOOKED_AT):
        if raised != [len(watch.held) for watch in interpreter.build.watches]:
            name = function.value.__name__
            interpreter.build.refuse(f"{name} of what may raise an exception, in a try", "a loop with break")
    kwargs: dict[str, Any] = {}
    for keyword, (value, _) in zip(node.keywords, parts[len(node.args) :], strict=True):
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
            continue
        value = containers.as_dict(interpreter, records.as_it_is_now(interpreter, value))
        if records.is_dict(value) and not records.is_set(value):
            kwargs |= records.as_dict(value)
        else:
            interpreter.build.refuse("** in a call needs a dict", error=ArgumentError)
    interpreter.at(node)
    if kwargs:
        args = [identities.now(interpreter, value) for value in args]
        kwargs = {name: identities.now(interpreter, value) for name, value in kwargs.items()}
    args = endless.numbered(interpreter, function, generators.of_objects(interpreter, function, args))
    if any(map(generators.is_one, (*args, *kwargs.values()))):
        return handed_generators.handed_to(interpreter, function, args, kwargs)
    is_maker = iterators.are_made_by(function)
    if is_maker and len(args) == len(node.args):
        args = [iterators.as_displayed(interpreter, of, value) for of, value in zip(node.args, args, strict=True)]
    before = changes.Changes(interpreter) if is_maker else None
    made = apply(interpreter, function, args, kwargs)
    if before is None or any(made is value for value in args):
        return made
    return iterators.noted(interpreter, made, node, before, function.value, args)


def apply(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(value, Unpacked) for value in args):
        called = lambda tried: _apply(interpreter, function, _few_enough(interpreter, function, tried, kwargs), kwargs)
        return parameters.as_many_as_go(interpreter, args, called)
    return _apply(interpreter, function, args, kwargs)


def _apply(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if identities.can_change(function):  # a method of what an earlier call has changed
        function = identities.now(interpreter, function)
    match function:
        case Closure():
            return call_closure(interpreter, function, args, kwargs)
        case Method(owner=owner, name=name):
            return call_method(interpreter, owner, name, args, kwargs)
        case Bound(function=target, args=first, kwargs=known):
            target = Static(target) if callable(target) else target
            return apply(interpreter, target, [*first, *args], dict(known) | kwargs)
        case TupleValue() if records.is_record(function) or special_methods.own(function, "__call__"):
            return apply(interpreter, attributes.attribute(interpreter, function, "__call__"), args, kwargs)
        case Static(value=target) if args and arrays_of_none.is_one(args[0]) and arrays_of_none.is_taken_by(function):
            return arrays_of_none.called(interpreter.build, target, args[0], *map(known_values.plain, args[1:]))
        case Static(value=target) if args and getattr(target, "__objclass__", None) is np.ndarray:
            method = attributes.attribute(interpreter, args[0], target.__name__)  # np.ndarray.sum(x) is x.sum()
            return apply(interpreter, method, args[1:], kwargs)
        case Static(value=target) if _is_pythons_own(target):
            return call_of_pythons_own(interpreter, target, args, kwargs)
        case Static(value=target):
            return call_object(interpreter, target, args, kwargs)
    return interpreter.build.refuse("this is not a function")


def _is_pythons_own(target: Any) -> bool:
    """Is it a function of Python's library, written in Python, for which nothing of ours stands?"""
    module = (getattr(target, "__module__", None) or "").split(".")[0]
    if module not in sys.stdlib_module_names or not (inspect.isfunction(target) or inspect.ismethod(target)):
        return False
    return target not in BUILTINS and target not in compositions.PYTHON


def call_of_pythons_own(interpreter: Interpreter, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """It is gone through like the user's own functions; what ends there is said of the function, not of its text."""
    span = interpreter.build.span
    try:
        return call_object(interpreter, target, args, kwargs)
    except UnsupportedError as problem:
        if problem.span != span:
            raise
        interpreter.build.span = span
        name = f"{target.__module__}.{target.__name__}"
        return interpreter.build.refuse(f"{name} is not supported: srcgrad has no rule for it", error=UnsupportedError)


def _few_enough(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Arguments whose number is only known at run time, for one who takes them."""
    target = function.value if isinstance(function, Static) else None
    is_last = not any(isinstance(value, Unpacked) for value in args[:-1])
    if len(args) == 1 and target in (max, min):
        return [args[0].value]
    if len(args) == 1 and target is math.hypot:
        return args
    if is_last and (not isinstance(function, (Static, TupleValue)) or outside.is_users(target)):
        return args
    operands = _operands(target, kwargs) if is_last else None
    if operands is not None and operands[0] >= len(args):
        needed, defaults = operands
        return [*args[:-1], *parameters.up_to(interpreter, args[-1], needed - len(args) + 1, defaults)]
    columns = ["or take the columns:  xs, ys = a[:, 0], a[:, 1],  or  [p[0] for p in points]"] if target is zip else []
    return interpreter.build.refuse(
        "* unpacks a number of arguments that is only known at run time",
        "name as many of them as there are",
        "or, where an argument decides how many there are, name it:  @grad(static=...)",
        *columns,
    )


def _operands(target: Any, kwargs: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
    """How many arguments a known function needs, and the defaults behind; None where it takes any number."""
    if isinstance(target, np.ufunc):
        return target.nin, {}
    try:
        params = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(param.kind is inspect.Parameter.VAR_POSITIONAL for param in params):
        return None
    needed = [param for param in params if param.default is inspect.Parameter.empty]
    if outside._is_library(target):  # whose options are known when f is compiled
        return len(needed), {}
    others = [p for p in params if p not in needed and p.kind is not inspect.Parameter.KEYWORD_ONLY]
    return len(needed), parameters.default_numbers({p.name: constant(p.default) for p in others}, kwargs)


def call_object(interpreter: Interpreter, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a Python object that is known: NumPy's, Python's, or the user's function."""
    build = interpreter.build
    if (made := library_objects.of_library(interpreter, target)) is not None:
        return apply(interpreter, made, args, kwargs)
    if type(target).__hash__ is None:  # it is no key of a table: poly1d, and its like
        build.refuse(f"an object of the class {name_of(type(target))} can't be called here", "write what it computes")
    if isinstance(target, UserRule):
        return call_rule(interpreter, target, args, kwargs)
    if adjoints.is_entry(target):
        return adjoints.call(interpreter, target, args, kwargs)
    if adjoints.is_grad(target):
        return adjoints.differentiated(interpreter, target, args, kwargs)
    if random_numbers.is_drawing(target):
        return call_method(interpreter, *random_numbers.method_of(interpreter, target), args, kwargs)
    try:
        if target in BUILTINS:
            first = [records.as_it_is_now(interpreter, value) for value in args[:1]]  # len(vars(o))
            args = [*first, *args[1:]]
            if target not in (sum, max, min):
                return BUILTINS[target](interpreter, *args, **kwargs)
            made = BUILTINS[target](interpreter, *args, **kwargs)
            if len(args) == 1:
                made = list_types.as_one_of_its_numbers(interpreter, args[0], made, target is sum)
            is_of_elements = any(isinstance(value, ArrayValue) for value in args)
            return note_results(build, name_of(target), "", args, made) if is_of_elements else made
        if inspect.ismethod(target) and target.__func__ in BUILTINS:
            return BUILTINS[target.__func__](interpreter, Static(target.__self__), *args, **kwargs)
        is_from_outside = target is next and args and isinstance(args[0], Static)  # and says what comes next itself
        if target in compositions.PYTHON and not is_from_outside:
            return of_python(interpreter, target, args, kwargs)
        given = [*args, *kwargs.values()]
        if not _takes_lists(target):
            args = [lists_as_arrays.as_operand(interpreter, value) for value in args]
            kwargs = {name: lists_as_arrays.as_operand(interpreter, value) for name, value in kwargs.items()}
        if target in TABLE or composition_of(target):
            _refuse_dicts(interpreter, target, [*args, *kwargs.values()])
        if target in TABLE:
            made = lists_as_arrays.not_its_memory(interpreter, given, TABLE[target](build, *args, **kwargs))
            return _with_types(build, target, args, kwargs, made)
        if target in primitives.GENERATED:
            return primitives.GENERATED[target](build, *args)
        if target in COMPLEX_MATH:
            return complex_numbers.complex_math(build, target, args)
        if target in MATH:
            return math_function(interpreter, target, args)
        if target in WHOLE_MATH:
            return Scalar(elementwise(build, WHOLE_MATH[target], args).expr, weak=True)
        if target in TO_INT:
            return to_int(interpreter, TO_INT[target], [*args, *kwargs.values()] if [*kwargs] == ["ndigits"] else args)
    except TypeError as problem:
        if isinstance(problem, ArgumentError) or problem.__traceback__ is None or not _is_binding(problem):
            raise
        name = name_of(target)
        build.refuse(f"{name}: {_binding_text(problem)}", "this argument of the function is not supported")
    except NotConstant:
        _refuse_run_time(interpreter, name_of(target))
    if composition := composition_of(target):
        made = _with_types(build, target, args, kwargs, call_composition(interpreter, composition, args, kwargs))
        return creation.in_order_of(build, target, made, [*args, *kwargs.values()])
    if target in compositions.ROUTINES:
        made = call_composition(interpreter, compositions.ROUTINES[target], args, kwargs)
        return _with_types(build, target, args, kwargs, made)
    if isinstance(target, np.vectorize) and not (target.otypes or target.excluded or target.signature):
        return call_method(interpreter, Static(target.pyfunc), ".vectorized", args, kwargs)
    if isinstance(target, DUFunc) and not kwargs:
        return call_ufunc_of_numba(interpreter, target, args)
    if isinstance(target, np.dtype) or (isinstance(target, type) and issubclass(target, np.generic)):
        return convert(interpreter, np.dtype(target), args)
    plain = unwrap(target) if callable(target) else target
    if interpreter.frame.is_composition and hasattr(plain, "kinds"):
        return call_function(interpreter, adjoints.on_matrices(plain, args), args, kwargs)
    if inspect.isfunction(plain) and (plain.__module__ or "").startswith(compositions.__name__):  # a part of one
        is_generator = generators.is_function(read_once(plain).node)
        return (call_function if is_generator else call_composition)(interpreter, plain, args, kwargs)
    if outside.is_users(target):
        return call_function(interpreter, unwrap(target), args, kwargs)
    if has_derivative(target):  # of a partial, or of another that is no plain function
        return apply(interpreter, Static(target._function), args, kwargs)
    if isinstance(target, functools.partial):
        first, named = held_by(interpreter, target)
        return apply(interpreter, Static(target.func), [*first, *args], named | kwargs)
    if isinstance(target, (operator.itemgetter, operator.attrgetter)):
        reduced: Any = target.__reduce__()  # what makes such a one, and of what
        kind, keys = reduced
        if all(isinstance(key, (int, str)) for key in keys):
            getter = apply(interpreter, Static(kind), list(map(constant, keys)), {})
            return apply(interpreter, getter, args, kwargs)
    if inspect.ismethod(target) and not outside._is_library(target):
        return apply(interpreter, Static(target.__func__), [Static(target.__self__), *args], kwargs)
    if is_simple_object(target) and callable(target):
        return apply(interpreter, attributes.of_object(interpreter, Static(target), "__call__"), args, kwargs)
    if target is functools.partial:
        now = [(name, binding.bind_item(interpreter, "given", value)) for name, value in kwargs.items()]
        return Bound(args[0], tuple(binding.bind_item(interpreter, "given", value) for value in args[1:]), tuple(now))
    if isinstance(getattr(target, "__self__", None), str) and target.__name__ == "format":
        return Static(texts.format_text(interpreter, target.__self__, args, kwargs))
    if isinstance(getattr(target, "__self__", None), str) and target.__name__ == "join" and not texts.is_known(args):
        return Static(texts.join(interpreter, target.__self__, *args))
    if isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields"):
        return named_tuples.construct(interpreter, target, args, kwargs)
    if isinstance(target, enum.EnumMeta) and not kwargs and all(map(known_values.is_known, args)):
        return constant(of_python_itself(interpreter, target, args))
    if objects.is_made_here(target):
        return objects.construct(interpreter, target, args, kwargs)
    if isinstance(target, type) and issubclass(target, BaseException):
        return Static(MadeException(target, tuple(args), tuple(kwargs.items())))
    return unknown(interpreter, target, args, kwargs)


def call_ufunc_of_numba(interpreter: Interpreter, target: DUFunc, args: list[Any]) -> Any:
    """What numba.vectorize made: its function for each element; of the types that it has, the first that hold these."""
    function = Static(target._dispatcher.py_func)
    if not target._frozen:
        return call_method(interpreter, function, ".elementwise", args, {})
    given = [sample_of(interpreter, value) for value in args]
    for types in target.types:
        kinds = [np.dtype(kind) for kind in types.replace("->", "")]
        if len(kinds) == len(args) + 1 and all(map(np.can_cast, map(np.result_type, given), kinds)):
            args = [convert(interpreter, kind, [value]) for value, kind in zip(args, kinds, strict=False)]
            made = call_method(interpreter, function, ".elementwise", args, {})
            return convert(interpreter, kinds[-1], [made])
    return interpreter.build.refuse(f"{name_of(target)} has no loop for these types", error=ArgumentError)


def _refuse_dicts(interpreter: Interpreter, target: Any, args: list[Any]) -> None:
    found = next((value for value in args if records.is_dict(value)), None)
    name = name_of(target)
    if found is not None and name.split(".")[0] in ("np", "scipy"):
        interpreter.build.refuse(f"{name} of a {found.kind.cls.__name__}", "list its items:  list(d.values()), list(s)")


def of_python_itself(interpreter: Interpreter, target: Any, args: list[Any]) -> Any:
    """What Python makes of arguments that are known."""
    try:
        return target(*map(known_values.plain, args))
    except (TypeError, ValueError) as problem:
        return interpreter.build.refuse(str(problem), error=ValueArgumentError)


def of_python(interpreter: Interpreter, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of Python's: evaluated now where its arguments are known numbers, else what it means."""
    are_known = args and not kwargs and all(isinstance(value, Scalar) and value.is_constant for value in args)
    if are_known and not isinstance(target, type):  # count, itemgetter: these make no numbers
        return unknown(interpreter, target, args, kwargs)
    if target in TOO_LARGE and any(isinstance(a, Scalar) and python_raises.may_vary(interpreter, a) for a in args):
        interpreter.build.refuse(f"math.{target.__name__} may have more than 64 bits")
    return call_function(interpreter, compositions.PYTHON[target], args, kwargs)


def _takes_lists(target: Any) -> bool:
    """Does it get lists as they are: a function or a class of the user's, by whatever way it is called?"""
    if isinstance(target, (functools.partial, MethodType)):
        return _takes_lists(target.func if isinstance(target, functools.partial) else target.__func__)
    if isinstance(target, type):
        is_named_tuple = issubclass(target, tuple) and hasattr(target, "_fields")
        return is_named_tuple or target is functools.partial or objects.is_made_here(target)
    return outside.is_users(target) or is_simple_object(target)


def _is_binding(problem: TypeError) -> bool:
    return "argument" in str(problem) and "()" in str(problem)


def _binding_text(problem: TypeError) -> str:
    return str(problem).split("() ", 1)[-1]


def drawn(interpreter: Interpreter, source: RandomSource, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Random numbers: those of standard distributions are drawn, others are made of them."""
    if name in compositions.DRAWS and not (name in random_numbers.OLD_NAMES and not source.is_old):
        return call_composition(interpreter, compositions.DRAWS[name], [source, *args], kwargs)
    if name not in random_numbers.DRAWN:
        near = random_numbers.nearest(name)
        interpreter.build.refuse(f"no random numbers are drawn by {name} here", f"the nearest supported one is {near}")
    try:
        return random_numbers.DRAWN[name](interpreter.build, source, *args, **kwargs)
    except TypeError as problem:
        if isinstance(problem, ArgumentError) or not _is_binding(problem):
            raise
        return interpreter.build.refuse(f"{name}: {_binding_text(problem)}", "this argument is not supported")


def _with_types(build: Builder, target: Any, args: list[Any], kwargs: dict[str, Any], made: Any) -> Any:
    if (isinstance(target, np.ufunc) and target.signature is None) or "dtype" in kwargs:
        return made
    module = getattr(target, "__module__", None) or ""
    given = [*args, *(value for name, value in kwargs.items() if name != "shape")]
    return note_results(build, name_of(target).split(".")[-1], module, given, made)


def call_method(interpreter: Interpreter, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    build = interpreter.build
    if isinstance(owner, Differentiated):
        return lifted.call(interpreter, owner, name, args, kwargs)
    if records.are_fields(owner):
        return computed_attributes.method(interpreter, owner, name, args, kwargs)
    if name == "__getitem__":
        return apply(interpreter, Static(operator.getitem), [owner, *args], kwargs)
    if isinstance(owner, (TupleValue, Items)) and name in compositions.SEARCHES and not records.is_dict(owner):
        if known_values.is_known(owner) and all(map(known_values.is_known, args)):
            return constant(getattr(known_values.plain(owner), name)(*map(known_values.plain, args)))
        return call_composition(interpreter, compositions.SEARCHES[name], [owner, *args], kwargs)
    if isinstance(owner, TupleValue) and name != ".vectorized":  # (an object that is called for each number)
        if records.is_dict(owner):
            return dicts.method(interpreter, owner, name, args, kwargs)
        if hasattr(owner.kind, "_fields") and name in ("_asdict", "_replace"):
            return named_tuples.method(interpreter, owner, name, kwargs)
        if owner.kind is not list:
            return build.refuse(f"the {owner.kind.__name__} method .{name} is not supported")
    if isinstance(owner, (TupleValue, Items)) and name == "copy":
        return lists.copied(interpreter, owner)
    if isinstance(owner, (TupleValue, Items)) and name == "remove" and len(args) == 1:
        place = call_method(interpreter, owner, "index", args, kwargs)
        list_methods.method(interpreter, identities.now(interpreter, owner), "pop", [place])
        return NONE
    if isinstance(owner, (TupleValue, Items)) and name != ".vectorized":
        return list_methods.method(interpreter, owner, name, args, kwargs)
    if isinstance(owner, RandomSource):
        return drawn(interpreter, owner, name, args, kwargs)
    args = [lists_as_arrays.as_operand(interpreter, value) for value in args]
    kwargs = {key: lists_as_arrays.as_operand(interpreter, value) for key, value in kwargs.items()}
    if name in compositions.METHODS:
        made = call_composition(interpreter, compositions.METHODS[name], [owner, *args], kwargs)
        return made if "dtype" in kwargs else note_results(build, name, "", [owner, *args, *kwargs.values()], made)
    function = METHODS[name]
    if name in ("reshape", "transpose") and len(args) > 1:
        args = [TupleValue(tuple(args))]
    if name == "fill":
        indexing.write(build, indexing.memory_of(build, owner), args[0])
        return NONE
    try:
        made = function(build, owner, *args, **kwargs)
        given = [] if "dtype" in kwargs else [owner, *args]
        return note_results(build, name, "", given, made)
    except TypeError as problem:
        if isinstance(problem, ArgumentError) or not _is_binding(problem):
            raise
        return build.refuse(f".{name}: {_binding_text(problem)}", "this argument of the method is not supported")
    except NotConstant:
        return _refuse_run_time(interpreter, f".{name}")


def _refuse_run_time(interpreter: Interpreter, name: str) -> NoReturn:
    interpreter.build.refuse(
        f"an option of {name} is a number that is only known at run time", "give it as a constant, or branch by it"
    )
