"""Calls and attributes: the user's functions are interpreted in place, NumPy's and Python's are rules."""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, UnsupportedError
from ..ir import affine
from ..ir.nodes import FLOAT64, INT64, Array, Call, Const, Dim, Expr, External, Var
from ..rules import compositions
from ..rules.compositions import COMPOSITIONS
from ..rules.names import COMPLEX_MATH, MATH, TO_INT, WHOLE_MATH
from ..rules.user import UserRule
from . import expressions, recursion
from .arguments import SUPPORTED
from .arithmetic import cast, elementwise
from .builder import Builder
from .calls_of_own import invoke
from .numpy import (  # noqa: F401 (register)
    choosing,
    complex_numbers,
    einsum,
    fourier,
    functions,
    index_functions,
    indexing,
    order,
    products,
    reductions,
    running,
    special,
)
from .numpy.table import METHODS, TABLE, nearest
from .source import read, unwrap
from .user import call_rule
from .values import (
    NONE,
    ArrayValue,
    Closure,
    Method,
    Range,
    Scalar,
    Slice,
    Static,
    TupleValue,
    constant,
    static_int,
    whole,
)

if TYPE_CHECKING:
    from .interpret import Interpreter

PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "mod": operator.mod,
    "floordiv": operator.floordiv, "pow": operator.pow, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "bitand": operator.and_, "bitor": operator.or_,
}  # fmt: skip


def evaluate_call(interpreter: Interpreter, node: ast.Call) -> Any:
    function = expressions.evaluate(interpreter, node.func)
    args = expressions.sequence(interpreter, node.args)
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        value = expressions.evaluate(interpreter, keyword.value)
        if keyword.arg is None:
            interpreter.build.refuse("** in a call is not supported here")
        kwargs[keyword.arg] = value
    interpreter.at(node)
    return apply(interpreter, function, args, kwargs)


def apply(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    match function:
        case Closure():
            return call_closure(interpreter, function, args, kwargs)
        case Method(owner=owner, name=name):
            return call_method(interpreter, owner, name, args, kwargs)
        case Static(value=target):
            return call_object(interpreter, target, args, kwargs)
    return interpreter.build.refuse("this is not a function")


def call_object(interpreter: Interpreter, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of a Python object that is known: NumPy's, Python's, or the user's function."""
    build = interpreter.build
    if isinstance(target, UserRule):
        return call_rule(interpreter, target, args, kwargs)
    try:
        if target in TABLE:
            return TABLE[target](build, *args, **kwargs)
        if target in COMPLEX_MATH:
            return complex_numbers.complex_math(build, target, args)
        if target in MATH:
            return math_function(interpreter, target, args)
        if target in BUILTINS:
            return BUILTINS[target](interpreter, *args, **kwargs)
        if target in WHOLE_MATH:
            return Scalar(elementwise(build, WHOLE_MATH[target], args).expr, weak=True)
        if target in TO_INT:
            return to_int(interpreter, TO_INT[target], args)
    except TypeError as problem:
        if isinstance(problem, ArgumentError) or problem.__traceback__ is None or not _is_binding(problem):
            raise
        name = name_of(target)
        build.refuse(f"{name}: {_binding_text(problem)}", "this argument of the function is not supported")
    if target in COMPOSITIONS:
        return call_composition(interpreter, COMPOSITIONS[target], args, kwargs)
    if isinstance(target, np.vectorize) and not (target.otypes or target.excluded or target.signature):
        return call_method(interpreter, Static(target.pyfunc), ".vectorized", args, kwargs)
    if isinstance(target, np.dtype) or (isinstance(target, type) and issubclass(target, np.generic)):
        return convert(interpreter, np.dtype(target), args)
    plain = unwrap(target) if callable(target) else target
    if inspect.isfunction(plain) and plain.__module__.startswith(compositions.__name__):  # a part of one
        return call_composition(interpreter, plain, args, kwargs)
    if inspect.isfunction(plain) and not _is_library(plain):
        return call_function(interpreter, plain, args, kwargs)
    if isinstance(target, type) and issubclass(target, tuple) and hasattr(target, "_fields"):
        fields = dict(zip(target._fields, args, strict=False)) | kwargs
        return TupleValue(tuple(fields[name] for name in target._fields), target)
    if isinstance(target, type) and issubclass(target, BaseException):
        return Static(target)
    return unknown(interpreter, target, args, kwargs)


def _is_binding(problem: TypeError) -> bool:
    return "argument" in str(problem) and "()" in str(problem)


def _binding_text(problem: TypeError) -> str:
    return str(problem).split("() ", 1)[-1]


def _is_library(function: Any) -> bool:
    """NumPy's and SciPy's own Python functions are rules of ours, or nobody's."""
    module = (getattr(function, "__module__", None) or "").split(".")[0]
    return module in ("numpy", "scipy", "math", "cmath", "builtins")


def name_of(target: Any) -> str:
    name = getattr(target, "__name__", None) or repr(target)
    module = getattr(target, "__module__", None) or ""
    if isinstance(owner := getattr(target, "__self__", None), np.ufunc):
        return f"{name_of(owner)}.{name}"
    if module.split(".")[0] == "scipy" or (isinstance(target, np.ufunc) and not hasattr(np, name)):
        return ".".join([*(module or "scipy.special").split(".")[:2], name])  # scipy.linalg, whichever file it is in
    if isinstance(target, np.ufunc) or module.split(".")[0] == "numpy":
        inner = module.split(".")[1:] if module.startswith("numpy.") and not module.startswith("numpy._") else []
        return ".".join(["np", *inner, name])
    if module.startswith("scipy."):
        return ".".join([*module.split(".")[:2], name])  # scipy.linalg, whichever file it is in
    return f"{module}.{name}" if module in ("math", "cmath") else name


def unknown(interpreter: Interpreter, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Not ours: evaluated now where everything is known, else refused with the nearest name that we have."""
    given = (*args, *kwargs.values())
    values = [expressions.plain(v) for v in given]
    if all(map(is_known, given)) and callable(target):
        if args and (not isinstance(target, type) or target in (np.finfo, np.iinfo)):
            try:
                made = target(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=False)))
            except Exception as problem:
                if interpreter.frame.is_composition:
                    interpreter.build.refuse(str(problem), error=ArgumentError)
                return interpreter.build.refuse(f"{name_of(target)} failed: {problem}")
            return handed_in(interpreter, name_of(target), (name_of(target), repr((values, list(kwargs)))), made)
    name = name_of(target)
    if name.startswith("np.") and not kwargs and interpreter.build.is_top_level:
        result = external(interpreter, target, name, args)
        if result is not None:
            return result
    near = nearest(name)
    help = [f"the nearest supported function is {near}"] if near else []
    return interpreter.build.refuse(
        f"{name} is not supported: srcgrad has no rule for it", *help, error=UnsupportedError
    )


def is_known(value: Any) -> bool:
    """Is it a Python object now, with nothing in it that is known at run time only?"""
    match value:
        case TupleValue(items=items):
            return all(map(is_known, items))
        case Scalar():
            return value.is_constant
    return isinstance(value, Static)


def handed_in(interpreter: Interpreter, name: str, key: Any, made: Any) -> Any:
    """What was computed ahead of time: numbers stand in the program, arrays of NumPy's are handed in at every call."""
    if isinstance(made, tuple):
        return TupleValue(tuple(handed_in(interpreter, name, (key, k), item) for k, item in enumerate(made)))
    if isinstance(made, np.ndarray) and made.dtype in SUPPORTED and name.startswith("np."):
        if key not in interpreter.captured:
            interpreter.hand_in("made", key, lambda: made, made)
        return whole(interpreter.build.materialize(interpreter.captured[key][1], copy=True))
    return constant(made)


def external(interpreter: Interpreter, target: Any, name: str, args: list[Any]) -> Any:
    """A NumPy function without a rule runs as it is, as long as no derivative goes through it (see `find_active`)."""
    build = interpreter.build
    samples: list[Any] = []
    operands: list[Any] = []
    for arg in args:
        match arg:
            case ArrayValue():
                samples.append(np.ones((2,) * arg.ndim, arg.dtype))
                operands.append(build.in_order(arg))
            case Scalar():
                samples.append(arg.dtype.type(1))
                operands.append(arg.expr)
            case Static(value=None | str() as plain):
                samples.append(plain)
                operands.append(plain)
            case _:
                return None
    try:
        sample = target(*samples)
    except Exception:
        return None
    if not isinstance(sample, (np.ndarray, np.generic)) or sample.dtype not in SUPPORTED:
        return None
    fresh = build.names.fresh("t")
    if isinstance(sample, np.generic):
        var = Var(fresh, sample.dtype)
        build.emit(External(name, var, tuple(operands)))
        return Scalar(var)
    out = Array(fresh, sample.dtype, tuple(Dim(fresh, axis) for axis in range(sample.ndim)))
    build.roots[fresh] = fresh
    build.emit(External(name, out, tuple(operands)))
    for operand, given in zip(operands, samples, strict=True):
        if isinstance(operand, Array) and np.may_share_memory(sample, given):
            build.twin(out, operand)
    return whole(out)


# -------------------------------------------------------------------------------------------- user functions


def bind_arguments(
    interpreter: Interpreter,
    spec: ast.arguments,
    name: str,
    defaults: dict[str, Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Which parameter gets which value."""
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    bound = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        if spec.vararg is None:
            interpreter.build.refuse(
                f"{name} takes {len(names)} arguments, {len(args)} were given", error=ArgumentError
            )
        bound[spec.vararg.arg] = TupleValue(tuple(args[len(names) :]))
    elif spec.vararg is not None:
        bound[spec.vararg.arg] = TupleValue(())
    every = names + [arg.arg for arg in spec.kwonlyargs]
    for key, value in kwargs.items():
        if key not in every or key in bound:
            interpreter.build.refuse(f"{name} does not take the argument {key!r} here", error=ArgumentError)
        bound[key] = value
    for key in every:
        if key not in bound:
            if key not in defaults:
                interpreter.build.refuse(f"{name} is missing the argument {key!r}", error=ArgumentError)
            bound[key] = defaults[key]
    return bound


def settle_arguments(interpreter: Interpreter, bound: dict[str, Any]) -> dict[str, Any]:
    """Arguments as the callee sees them: numbers in variables, expressions of arrays in memory, views as views."""
    return {name: interpreter.bind_item(name, value) for name, value in bound.items()}


def call_composition(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy's as a program of ours, in the place of the call."""
    from .interpret import Frame

    source = _read_once(function)
    bound = bind_arguments(interpreter, source.node.args, source.name, _defaults(function), args, kwargs)
    once = _read_at_most_once(function)
    lazy = {n: v for n, v in bound.items() if n in once and isinstance(v, ArrayValue)}
    settled = settle_arguments(interpreter, {n: v for n, v in bound.items() if n not in lazy})
    frame = Frame(source, function, settled | lazy, is_composition=True)
    around, interpreter.build.in_composition = interpreter.build.in_composition, True
    try:
        return interpreter.enter(frame, source.node)
    finally:
        interpreter.build.in_composition = around


_read_once = functools.cache(read)


@functools.cache
def _read_at_most_once(function: Any) -> frozenset[str]:
    """Parameters whose arguments may stay expressions: nothing is computed twice, and nothing changes in between."""
    node = _read_once(function).node
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    repeats = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef)
    inner = [n for n in ast.walk(node) if isinstance(n, repeats) and n is not node]
    repeated = {n.id for part in inner for n in ast.walk(part) if isinstance(n, ast.Name)}
    writes = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
    parameters = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    if any(isinstance(n.value, ast.Name) and n.value.id in parameters for n in writes):
        return frozenset()
    return frozenset(name for name in parameters if names.count(name) <= 1 and name not in repeated)


def _defaults(function: Any) -> dict[str, Any]:
    return {
        name: constant(p.default)
        for name, p in inspect.signature(function).parameters.items()
        if p.default is not inspect.Parameter.empty
    }


def call_function(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    from .interpret import Frame

    if interpreter.frame.is_composition and function.__module__.startswith(compositions.__name__):
        return call_composition(interpreter, function, args, kwargs)
    source, defaults = read(function), _defaults(function)
    bound = bind_arguments(interpreter, source.node.args, source.name, defaults, args, kwargs)
    if recursion.key_of(source) in interpreter.callees.chosen.own:
        return invoke(interpreter, source, function, bound)
    is_ours = function.__module__.startswith("srcgrad.rules.compositions.")
    frame = Frame(source, function, settle_arguments(interpreter, bound), is_composition=is_ours)
    return interpreter.enter(frame, source.node)


def call_closure(interpreter: Interpreter, closure: Closure, args: list[Any], kwargs: dict[str, Any]) -> Any:
    from dataclasses import replace

    from .interpret import Frame

    bound = bind_arguments(interpreter, closure.node.args, closure.name, closure.defaults, args, kwargs)
    parent = closure.frame
    source = replace(parent.source, node=closure.node, name=closure.name)
    if recursion.key_of(source) in interpreter.callees.chosen.own:
        return invoke(interpreter, source, None, bound, closure)
    frame = Frame(source, None, settle_arguments(interpreter, bound), parent, is_composition=parent.is_composition)
    return interpreter.enter(frame, closure.node)


# ------------------------------------------------------------------------------------------------- attributes


def attribute(interpreter: Interpreter, owner: Any, name: str) -> Any:
    build = interpreter.build
    if isinstance(owner, Static):
        if not hasattr(owner.value, name):
            return build.refuse(f"{getattr(owner.value, '__name__', owner.value)!s} has no attribute {name!r}")
        value = getattr(owner.value, name)
        if inspect.ismodule(owner.value) and owner.value.__name__.split(".")[0] not in (
            "numpy",
            "math",
            "cmath",
            "scipy",
        ):
            module = owner.value
            return interpreter.outside(name, (id(module), name), lambda: getattr(module, name))
        return constant(value)
    if isinstance(owner, TupleValue):
        if hasattr(owner.kind, "_fields") and name in owner.kind._fields:
            return owner.items[owner.kind._fields.index(name)]
        return Method(owner, name)
    if isinstance(owner, Slice) and name in ("start", "stop", "step"):
        part = getattr(owner, name)
        return NONE if part is None else part
    if isinstance(owner, Scalar):
        owner_dims: tuple[Expr, ...] = ()
    elif isinstance(owner, ArrayValue):
        owner_dims = owner.dims
    else:
        return build.refuse(f"this value has no attribute {name!r}")
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
            return indexing.flat(build, owner)
    if name in METHODS or name in compositions.METHODS:
        return Method(owner, name)
    return build.refuse(f"the array attribute .{name} is not supported")


def call_method(interpreter: Interpreter, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    build = interpreter.build
    if isinstance(owner, TupleValue):
        if name == "index" or name == "count":
            return constant(getattr(tuple(expressions.plain(v) for v in owner.items), name)(expressions.plain(args[0])))
        return build.refuse(
            f"the {owner.kind.__name__} method .{name} is not supported yet", "build the list in one expression"
        )
    if name in compositions.METHODS:
        return call_composition(interpreter, compositions.METHODS[name], [owner, *args], kwargs)
    function = METHODS[name]
    if name in ("reshape", "transpose") and len(args) > 1:
        args = [TupleValue(tuple(args))]
    if name == "fill":
        indexing.write(build, indexing.memory_of(build, owner), args[0])
        return NONE
    try:
        return function(build, owner, *args, **kwargs)
    except TypeError as problem:
        if isinstance(problem, ArgumentError) or not _is_binding(problem):
            raise
        return build.refuse(f".{name}: {_binding_text(problem)}", "this argument of the method is not supported")


# --------------------------------------------------------------------------------------------------- numbers


def convert(interpreter: Interpreter, dtype: np.dtype, args: list[Any]) -> Any:
    """np.float32(x) and its like."""
    value = args[0] if args else constant(0)
    if isinstance(value, Scalar):
        return Scalar(cast(value.expr, dtype))
    return functions.astype(interpreter.build, expressions.as_array(interpreter, value), Static(dtype))


def math_function(interpreter: Interpreter, target: Any, args: list[Any]) -> Any:
    """`math` computes in double precision and gives a Python number."""
    build = interpreter.build
    numbers = []
    for value in args:
        if isinstance(value, ArrayValue) and value.ndim == 0:
            value = Scalar(value.element)
        if not isinstance(value, Scalar):
            build.refuse(f"math.{target.__name__} takes a number, not an array", f"np.{target.__name__}")
        _refuse_complex(interpreter, value, f"math.{target.__name__}")
        numbers.append(Scalar(cast(value.expr, FLOAT64)))
    op = MATH[target]
    if target is math.log and len(numbers) == 2:
        top, bottom = (elementwise(build, "log", (n,)) for n in numbers)
        return Scalar(elementwise(build, "div", (top, bottom)).expr, weak=True)
    if target is math.hypot and len(numbers) != 2:
        return Scalar(_distance(build, numbers).expr, weak=True)
    result = elementwise(build, op, numbers)
    return Scalar(result.expr, weak=True)


def _refuse_complex(interpreter: Interpreter, value: Scalar, name: str) -> None:
    if value.dtype.kind == "c":
        interpreter.build.refuse(f"{name} takes a real number", "take the real part, z.real", error=ArgumentError)


def _distance(build: Builder, numbers: list[Scalar]) -> Scalar:
    """math.hypot of any number of operands."""
    out = Scalar(Const(0.0, FLOAT64))
    for number in numbers:
        out = elementwise(build, "hypot", (out, number))
    return out


def to_int(interpreter: Interpreter, op: str, args: list[Any]) -> Any:
    """int(x), math.floor(x) …: a Python int."""
    build = interpreter.build
    value = _number(interpreter, args[0] if args else constant(0))
    _refuse_complex(interpreter, value, "an integer part")
    if len(args) == 2 and not (isinstance(args[1], Static) and args[1].value is None):  # round(x, digits)
        return TABLE[np.round](build, value, args[1])
    if value.is_constant:
        python: dict[str, Callable[[Any], Any]] = {"floor": math.floor, "ceil": math.ceil, "trunc": int, "rint": round}
        return constant(python[op](value.value))
    if value.dtype.kind in "iub":
        return Scalar(cast(value.expr, INT64), weak=True)
    inner = value.expr if op == "trunc" else Call(op, (value.expr,), value.dtype)
    return Scalar(Call("cast", (inner,), INT64), weak=True)


def _number(interpreter: Interpreter, value: Any) -> Scalar:
    if isinstance(value, ArrayValue) and all(isinstance(d, Const) and d.value == 1 for d in value.dims):
        return Scalar(value.at([affine.ZERO] * value.ndim))
    if not isinstance(value, Scalar):
        interpreter.build.refuse("a number is needed here, not an array or a tuple", error=ArgumentError)
    return value


def to_float(interpreter: Interpreter, value: Any = None) -> Any:
    if isinstance(value, Static) and isinstance(value.value, str):
        return constant(float(value.value))
    number = _number(interpreter, value if value is not None else constant(0.0))
    _refuse_complex(interpreter, number, "float()")
    return Scalar(cast(number.expr, FLOAT64), weak=True)


def to_complex(interpreter: Interpreter, real: Any = None, imag: Any = None) -> Any:
    return complex_numbers.to_complex(interpreter.build, real, imag)


def to_bool(interpreter: Interpreter, value: Any = None) -> Any:
    return Scalar(expressions.truth(interpreter, value if value is not None else constant(False)), weak=True)


# --------------------------------------------------------------------------------------------------- builtins


def make_range(interpreter: Interpreter, *args: Any) -> Range:
    numbers = []
    for value in args:
        if isinstance(value, ArrayValue) and value.ndim == 0:
            value = Scalar(value.element)
        if not isinstance(value, Scalar) or value.dtype.kind not in "iub":
            interpreter.build.refuse("range needs integers", error=ArgumentError)
        numbers.append(affine.normal(cast(value.expr, INT64)))
    start, stop, step = {1: (affine.ZERO, *numbers, affine.ONE), 2: (*numbers, affine.ONE), 3: tuple(numbers)}[
        len(numbers)
    ]
    if isinstance(step, Const) and step.value == 0:
        interpreter.build.refuse("range() arg 3 must not be zero", error=ArgumentError)
    return Range(start, stop, step)


def length(interpreter: Interpreter, value: Any) -> Any:
    match value:
        case TupleValue(items=items):
            return constant(len(items))
        case ArrayValue(dims=(first, *_)):
            return Scalar(first, weak=True)
        case Range(start=start, stop=stop, step=step):
            return Scalar(Call("trip_count", (start, stop, step), INT64), weak=True)
        case Static(value=item) if hasattr(item, "__len__"):
            return constant(len(item))
    return interpreter.build.refuse("this value has no length", error=ArgumentError)


def choose_extremum(op: str) -> Callable[..., Any]:
    def builtin(interpreter: Interpreter, *args: Any) -> Any:
        build = interpreter.build
        if len(args) == 1:
            value = args[0]
            if isinstance(value, ArrayValue) and value.ndim == 1:
                return reductions.extremum(build, value, op="maximum" if op == "max" else "minimum")
            args = tuple(expressions.items_of(interpreter, value))
        out = _number(interpreter, args[0])
        for other in args[1:]:
            out = elementwise(build, op, (out, _number(interpreter, other)), python=True)
        return out

    return builtin


def total(interpreter: Interpreter, value: Any, start: Any = None) -> Any:
    """Python's sum: over the items of a tuple, or the first axis of an array."""
    if isinstance(value, ArrayValue) and value.ndim:
        summed = reductions.total(interpreter.build, value, constant(0))
        return summed if start is None else elementwise(interpreter.build, "add", (start, summed), python=True)
    if isinstance(value, Range):
        value = TupleValue(tuple(expressions.items_of(interpreter, value)))
    if not isinstance(value, TupleValue):
        return interpreter.build.refuse("sum needs a list, a tuple or an array", error=ArgumentError)
    items = list(value.items)
    out = items.pop(0) if start is None and items else start or constant(0)
    for item in items:
        out = expressions.binary(interpreter, "add", out, item)
    return out


def absolute(interpreter: Interpreter, value: Any) -> Any:
    return elementwise(interpreter.build, "abs", (value,), python=True)


def power(interpreter: Interpreter, x: Any, y: Any) -> Any:
    return expressions.binary(interpreter, "pow", x, y)


def show(interpreter: Interpreter, *values: Any, **options: Any) -> Any:
    from .exceptions import print_values

    print_values(interpreter, list(values))
    return NONE


def make_tuple(kind: type) -> Callable[..., Any]:
    def builtin(interpreter: Interpreter, value: Any = None) -> Any:
        if value is None:
            return TupleValue((), kind)
        return TupleValue(tuple(expressions.items_of(interpreter, value)), kind)

    return builtin


def number_items(interpreter: Interpreter, value: Any, start: Any = None) -> Any:
    """enumerate over a tuple."""
    first = 0 if start is None else static_int(start) or 0
    items = expressions.items_of(interpreter, value)
    return TupleValue(tuple(TupleValue((constant(k), item)) for k, item in enumerate(items, first)))


def zipped(interpreter: Interpreter, *values: Any) -> Any:
    return TupleValue(
        tuple(TupleValue(items) for items in zip(*(expressions.items_of(interpreter, v) for v in values), strict=False))
    )


def turned(interpreter: Interpreter, value: Any) -> Any:
    if isinstance(value, Range):
        count = Call("trip_count", (value.start, value.stop, value.step), INT64)
        if affine.same(value.step, affine.ONE):
            return Range(affine.sub(value.stop, affine.ONE), affine.sub(value.start, affine.ONE), affine.integer(-1))
        last = affine.add(
            value.start, affine.mul(value.step, affine.sub(interpreter.build.capture(count, "n"), affine.ONE))
        )
        return Range(last, affine.sub(value.start, value.step), affine.mul(affine.integer(-1), value.step))
    return TupleValue(tuple(reversed(expressions.items_of(interpreter, value))))


def is_instance(interpreter: Interpreter, value: Any, kind: Any) -> Any:
    sample: Any = value.value if isinstance(value, Static) else None
    if isinstance(value, ArrayValue):
        sample = np.empty((0,) * value.ndim, value.dtype)
    elif isinstance(value, Scalar):
        sample = value.dtype.type(0) if not value.weak else value.dtype.type(0).item()
    elif isinstance(value, indexing.Slice):
        sample = slice(None)
    elif isinstance(value, TupleValue):
        sample = value.kind() if value.kind in (tuple, list) else value.kind(*value.items)
    return constant(isinstance(sample, expressions.plain(kind)))


def static_integer(interpreter: Interpreter, value: Any, what: Static) -> Any:
    """What a composition needs as a constant."""
    if not isinstance(value, Scalar) or value.dtype.kind not in "iub":
        interpreter.build.refuse(f"{what.value} must be an integer", error=ArgumentError)
    if not value.is_constant:
        interpreter.build.refuse(f"{what.value} must be a constant", "write the loop yourself")
    return value


BUILTINS: dict[Any, Callable[..., Any]] = {
    range: make_range, len: length, abs: absolute, pow: power, max: choose_extremum("max"), min: choose_extremum("min"),
    sum: total, float: to_float, bool: to_bool, complex: to_complex, print: show, tuple: make_tuple(tuple),
    list: make_tuple(list), enumerate: number_items, zip: zipped, reversed: turned, isinstance: is_instance,
    compositions.registry.constant_integer: static_integer,
}  # fmt: skip
