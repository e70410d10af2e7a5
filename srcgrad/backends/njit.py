"""Calls of f, f.backward and f.value_and_backward from other @njit functions.

f has a Numba type of its own.  A call goes to machine code at an address that is known only while the process runs: so
Numba refuses to cache the caller on disk (with a warning), and never serves it with a derivative of what f once was.

    @njit
    def step(x, v):
        return x - 0.1 * f.backward(x, v)

A float64, int64 or bool of Numba's counts as a Python number.  What f captures is fetched at each call, under the
interpreter's lock; therefore not from a caller with `parallel=True`, whose threads would wait for that lock forever.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types, typing
from numba.core.compiler import CompileResult
from numba.core.extending import lower_getattr_generic, register_model, unbox
from numba.core.imputils import lower_constant
from numba.core.pythonapi import NativeValue
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import AttributeTemplate, fold_arguments, infer_getattr
from numba.core.typing.typeof import typeof
from numba.extending import models
from numba.np import numpy_support

from srcgrad.arguments import known, leaf_type
from srcgrad.assumptions import Assumption, assumptions
from srcgrad.backends import cpu
from srcgrad.backends.boxing import flat_types, split
from srcgrad.binding import make_signatures
from srcgrad.constants import Constants
from srcgrad.errors import ArgumentError, UnsupportedError
from srcgrad.ir.types import ArrayType, ScalarType, StaticType, TupleType, ValueType

WEAK = (types.float64, types.int64, types.boolean, types.complex128)
NUMBERS = (types.Float, types.Complex, types.Integer, types.Boolean)


class GradType(types.Callable, types.Opaque):
    """The type of one @grad function (`kind` is "primal"), or of one of its methods."""

    def __init__(self, function: Any, kind: str = "primal") -> None:
        self.function = function  # keeps it alive as long as its type: as long as the process
        self.kind = kind
        super().__init__(name=f"{function!r}, {kind}, {id(function):#x}")

    @property
    def key(self) -> tuple[int, str]:
        return id(self.function), self.kind

    def get_call_type(self, context: Any, args: Any, kws: Any) -> typing.Signature:
        return _call_type(self, args, dict(kws))

    def get_call_signatures(self) -> tuple[list[Any], bool]:
        return [], True

    def get_impl_key(self, signature: typing.Signature) -> Any:
        return _entries[self, signature.args]


register_model(GradType)(models.OpaqueModel)


@lower_constant(GradType)
def constant_grad_function(context: Any, builder: Any, kind: GradType, value: Any) -> Any:
    return context.get_dummy_value()


@unbox(GradType)
def unbox_grad_function(kind: GradType, value: Any, c: Any) -> NativeValue:
    return NativeValue(c.context.get_dummy_value())


@infer_getattr
class GradAttributes(AttributeTemplate):
    key = GradType

    def generic_resolve(self, kind: GradType, attribute: str) -> GradType | None:
        if kind.kind == "primal" and attribute in ("backward", "value_and_backward"):
            return GradType(kind.function, attribute)
        return None


@lower_getattr_generic(GradType)
def getattr_grad_function(context: Any, builder: Any, kind: GradType, value: Any, attribute: str) -> Any:
    return context.get_dummy_value()


# --------------------------------------------------------------------------------------------------------------
# Typing: compile f for the types of the call, and say what it returns.


@dataclass
class Leaves:
    """Numba's types of a call's leaves, and where each is found in the arguments."""

    kinds: list[types.Type] = field(default_factory=list)
    paths: list[tuple[int, ...]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Entry:
    """Machine code for one signature, and what it needs at a call."""

    result: CompileResult
    paths: tuple[tuple[int, ...], ...]
    captured: tuple[tuple[Any, types.Type], ...]  # how each is fetched, and the type that it must have
    assumed: list[Assumption]

    @property
    def address(self) -> int:
        return self.result.library.get_pointer_to_function(self.result.fndesc.llvm_func_name)

    def is_current(self) -> bool:
        """Whether what f reads from outside is still what this was compiled for."""
        is_same = not any(assumption.fails() for assumption in self.assumed)
        return is_same and all(typeof(fetch()) == kind for fetch, kind in self.captured)


_entries: dict[Any, Entry] = {}
_keep_alive: list[Any] = []  # callers hold addresses: nothing is ever released


def _call_type(kind: GradType, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> typing.Signature:
    own = kind.function._parameters
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in own.values()):
        raise UnsupportedError(
            f"{kind.function.__name__} takes any number of arguments, and is called from an @njit function",
            help=("name the arguments, or pass them as one tuple",),
        )
    plain, with_v = make_signatures(own)
    signature = plain if kind.kind == "primal" else with_v
    given = functools.partial(_given, kind.function._constants)
    folded = fold_arguments(signature, args, kws, given, _left_out, given)
    with cpu.LOCK:
        entry = _entries.get((kind, folded))
        if entry is None or not entry.is_current():
            entry = _entries[kind, folded] = _compile(kind, signature, folded)
            _keep_alive.append(entry)
            _define(entry, folded)
    _refuse_parallel(kind, entry)
    return typing.signature(_returned(entry), *folded).replace(pysig=signature)


def _given(constants: Constants, index: int, parameter: Any, value: types.Type) -> types.Type:
    is_known = isinstance(value, types.StringLiteral) or constants.may_hold(parameter.name)
    return value if is_known else types.unliteral(value)


def _left_out(index: int, parameter: Any, default: Any) -> types.Type:
    return types.Omitted(default)


def _compile(kind: GradType, signature: Any, args: tuple[types.Type, ...]) -> Entry:
    program = kind.function._program
    v = next((name for name in signature.parameters if name not in program.parameters), None)
    place = {name: (i, args[i]) for i, name in enumerate(signature.parameters)}
    cotangent_leaves = Leaves()  # f's leaves come first, wherever v stands in the call
    cotangents = StaticType(None) if v is None else _value_type(place[v][1], v, (place[v][0],), cotangent_leaves)

    def generate() -> tuple[Any, Leaves]:
        leaves, constants = Leaves(), kind.function._constants
        own = tuple(
            _constant(place[name][1], name, constants) or _value_type(place[name][1], name, (place[name][0],), leaves)
            for name in program.parameters
        )
        return program.generate(kind.kind, own, None if cotangents == StaticType(None) else cotangents), leaves

    generated, leaves = kind.function._constants.settle(generate)
    captured = tuple((capture.place, typeof(capture.place())) for capture in generated.captured)
    kinds = (*leaves.kinds, *cotangent_leaves.kinds, *(kind for _, kind in captured))
    result = cpu.compile_entry(generated, kinds, program.options, program.cache)
    return Entry(result, (*leaves.paths, *cotangent_leaves.paths), captured, assumptions(generated))


def _refuse_parallel(kind: GradType, entry: Entry) -> None:
    flags = ConfigStack.top_or_none()
    if entry.captured and flags is not None and getattr(flags, "auto_parallel", None) and flags.auto_parallel.enabled:
        raise UnsupportedError(
            f"{kind.function.__name__} reads values from outside, and is called from code with parallel=True",
            help=("pass them to it as arguments",),
        )


def _value_type(kind: types.Type, name: str, path: tuple[int, ...], leaves: Leaves) -> ValueType:
    """What the frontend knows of an argument of this Numba type; its leaves are noted."""
    if isinstance(kind, types.BaseTuple):
        items = tuple(_value_type(item, f"{name}[{i}]", (*path, i), leaves) for i, item in enumerate(kind))
        return TupleType(items, getattr(kind, "instance_class", tuple))
    static = _static(kind)
    if static is not None:
        return static
    kind = types.unliteral(kind)
    leaf = _leaf_type(kind, name)
    leaves.kinds.append(typeof(kind.value) if isinstance(kind, types.Omitted) else kind)
    leaves.paths.append(path)
    return leaf


def _constant(kind: types.Type, name: str, constants: Constants) -> StaticType | None:
    """What f is generated for: a default, or a number that stands in the call."""
    match kind:
        case types.Omitted(value=value) | types.Literal(literal_value=value) if constants.hold(name, value):
            return known(value, name)
        case _ if constants.hold(name, None):
            raise ArgumentError(
                f"static argument {name} is not known where it is compiled",
                help=("leave it at its default, or write an integer, a truth value or a text in the call",),
            )
    return None


def _static(kind: types.Type) -> StaticType | None:
    match kind:
        case types.NoneType() | types.Omitted(value=None):
            return StaticType(None)
        case types.StringLiteral():
            return StaticType(kind.literal_value)
        case types.Omitted() if not isinstance(kind.value, (bool, int, float, complex)):
            return StaticType(kind.value)
        case types.Dispatcher():
            return StaticType(kind.dispatcher)
        case GradType(kind="primal"):
            return StaticType(kind.function)
    return None


def _leaf_type(kind: types.Type, name: str) -> ScalarType | ArrayType:
    if isinstance(kind, types.Omitted):
        return _leaf_type(typeof(kind.value), name)
    if isinstance(kind, NUMBERS):
        return ScalarType(numpy_support.as_dtype(kind), weak=kind in WEAK)
    if type(kind) is types.Array and isinstance(kind.dtype, NUMBERS):
        return ArrayType(numpy_support.as_dtype(kind.dtype), kind.ndim, kind.layout)
    raise ArgumentError(
        f"argument {name} is of Numba's type {kind}", help=("pass a number, a NumPy array, or a tuple of them",)
    )


def _returned(entry: Entry) -> types.Type:
    structure, flat = cpu.result_types(entry.result)
    return _plain_type(structure, iter(flat_types(flat)))


def _plain_type(structure: Any, flat: Iterator[types.Type]) -> types.Type:
    """The type that the caller sees: nested tuples of plain numbers and arrays."""
    match structure:
        case TupleType(items, kind):
            if not isinstance(kind, type):
                raise UnsupportedError(
                    "a @grad function is called from an @njit function, and returns a dict, an object, a text, or a "
                    "list whose length is only known at run time",
                    help=("return numbers, arrays, or tuples of them",),
                )
            parts = [_plain_type(item, flat) for item in items]
            return types.Tuple(parts) if kind in (tuple, list) else types.NamedTuple(parts, kind)
        case ScalarType() | ArrayType():
            return next(flat)
    return types.none


# --------------------------------------------------------------------------------------------------------------
# Lowering: take the leaves out of the arguments, fetch what f captures, call, put the result together.


def _define(entry: Entry, args: tuple[types.Type, ...]) -> None:
    """Tell Numba how a call of this entry is lowered."""
    structure, flat = cpu.result_types(entry.result)
    returned, signature = _returned(entry), entry.result.signature

    def call(context: Any, builder: Any, sig: typing.Signature, args: Any) -> Any:
        leaves = [_leaf(context, builder, sig.args, args, path) for path in entry.paths]
        captured = [_fetch(context, builder, fetch, kind) for fetch, kind in entry.captured]
        function = builder.bitcast(
            context.add_dynamic_addr(builder, entry.address, info=entry.result.fndesc.qualname),
            ir.PointerType(context.call_conv.get_function_type(signature.return_type, signature.args)),
        )
        status, result = context.call_conv.call_function(
            builder, function, signature.return_type, signature.args, [*leaves, *captured]
        )
        for value, (_, kind) in zip(captured, entry.captured, strict=True):
            context.nrt.decref(builder, kind, value)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return _put_together(context, builder, structure, returned, split(builder, flat, result))

    cpu_target.target_context.insert_func_defn([(call, entry, args)])


def _leaf(context: Any, builder: Any, kinds: Any, values: Any, path: tuple[int, ...]) -> Any:
    kind, value = kinds[path[0]], values[path[0]]
    for i in path[1:]:
        kind, value = kind[i], builder.extract_value(value, i)
    if isinstance(kind, types.Omitted):
        return context.get_constant_generic(builder, typeof(kind.value), kind.value)
    return value


def _fetch(context: Any, builder: Any, fetch: Any, kind: types.Type) -> Any:
    """The value now of what f captures.  Another type than f was compiled for is an error: the caller can't change."""

    before = fetch()
    expected = leaf_type(before, "")

    def checked() -> Any:
        value = fetch()
        if leaf_type(value, "") != expected:
            raise ArgumentError(
                f"a value that a @grad function reads from outside was {_words(before)} when its @njit caller was "
                f"compiled, and is {_words(value)} now",
                help=("pass it as an argument", "or compile the caller again:  caller.recompile()"),
            )
        return value

    _keep_alive.append(checked)
    api = context.get_python_api(builder)
    lock = api.gil_ensure()
    function = context.add_dynamic_addr(builder, id(checked), info="captured")
    obj = api.call_function_objargs(function, ())
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, obj)):
        api.gil_release(lock)
        context.call_conv.return_exc(builder)
    native = api.to_native_value(kind, obj)
    api.decref(obj)
    api.gil_release(lock)
    return native.value


def _words(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with {value.ndim} axes"
    return f"a {type(value).__name__}"


def _put_together(context: Any, builder: Any, structure: Any, kind: types.Type, leaves: Iterator[Any]) -> Any:
    match structure:
        case TupleType(items):
            pairs = zip(items, list(kind), strict=True)
            parts = [_put_together(context, builder, item, part, leaves) for item, part in pairs]
            return context.make_tuple(builder, kind, parts)
        case ScalarType() | ArrayType():
            return next(leaves)[1]
    return context.get_dummy_value()


# This module is first imported in the middle of a compilation, so Numba has to be told of it at once.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
