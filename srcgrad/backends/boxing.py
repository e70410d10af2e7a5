"""How results leave compiled code: as the Python objects that were promised.

Generated code returns leaves, flat: `return x_b, w_b`.  Numba would box a float32 as a Python float, and knows nothing
of nested results.  So a pass gives the return value the type `Result`, which has the memory of the flat leaves and is
boxed as what the result stands for:

    (float64[::1], float32)  →  Point(x=(array([...]), np.float32(3.0)))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.datamodel import models
from numba.core.extending import box, lower_cast, register_model
from numba.core.typed_passes import NopythonTypeInference
from numba.np import numpy_support

from srcgrad.backends.entries import LowerEntry
from srcgrad.backends.loop_wishes import FACTS
from srcgrad.backends.lowering import with_facts
from srcgrad.ir.types import ArrayType, ScalarType, StaticType, TupleType

TP_ALLOC = 47  # the number of a type's allocator among the slots of Python's stable interface


class Promised(types.Type):
    """The structure of a result, before type inference: handed to Numba in the place of a return type.

    With it come the facts about the lines of the function.
    """

    def __init__(self, structure: Any, facts: Any) -> None:
        self.structure, self.facts = structure, facts
        super().__init__(name=f"Promised({structure!r})")

    @property
    def key(self) -> Any:
        """Numba has one type per key: those of two functions that return alike must differ, as their facts do."""
        return self.name, kinds(self.structure), self.facts


class Result(types.Type):
    """Flat leaves in memory, a nested structure to Python."""

    def __init__(self, structure: Any, flat: types.Type) -> None:
        self.structure = structure
        self.flat = flat
        super().__init__(name=f"Result({structure!r}, {flat})")

    @property
    def key(self) -> Any:
        """Two classes of tuples may have one name."""
        return self.name, kinds(self.structure)


@register_model(Result)
class ResultModel(models.ProxyModel):
    def __init__(self, manager: Any, result: Result) -> None:
        super().__init__(manager, result)
        self._proxied_model = manager.lookup(result.flat)

    def traverse(self, builder: Any) -> list[Any]:
        return [(self._fe_type.flat, lambda value: value)]

    def inner_models(self) -> list[Any]:
        return [self._proxied_model]


@lower_cast(types.Any, Result)
def cast_to_result(context: Any, builder: Any, source: types.Type, result: Result, value: Any) -> Any:
    return context.cast(builder, value, source, result.flat)


@box(Result)
def box_result(result: Result, value: Any, c: Any) -> Any:
    leaves = iter(list(split(c.builder, result.flat, value)))
    return _box(result.structure, leaves, c)


def split(builder: Any, flat: types.Type, value: Any) -> Iterator[tuple[types.Type, Any]]:
    """The leaves of a flat value, with their types."""
    if isinstance(flat, types.BaseTuple):
        for i, kind in enumerate(flat):
            yield kind, builder.extract_value(value, i)
    elif flat != types.none:
        yield flat, value


def flat_types(flat: types.Type) -> tuple[types.Type, ...]:
    return tuple(flat) if isinstance(flat, types.BaseTuple) else () if flat == types.none else (flat,)


def _box(structure: Any, leaves: Iterator[tuple[types.Type, Any]], c: Any) -> Any:
    match structure:
        case None:
            return c.pyapi.make_none()
        case ScalarType(dtype, weak):
            return _box_number(dtype, weak, *next(leaves), c)
        case ArrayType():
            return c.box(*next(leaves))
        case StaticType(value):
            obj = c.env_manager.read_const(c.env_manager.add_const(value))
            c.pyapi.incref(obj)
            return obj
        case TupleType(items, kind):
            parts = [_box(item, leaves, c) for item in items]
            return _box_group(kind, parts, c)
    raise AssertionError(structure)


def _box_number(dtype: np.dtype, weak: bool, kind: types.Type, value: Any, c: Any) -> Any:
    if weak:
        return c.box(kind, value)
    if dtype.kind in "iufc":
        return _new_number(dtype, kind, value, c)
    return _call(dtype.type, [c.box(kind, value)], c)


def _new_number(dtype: np.dtype, kind: types.Type, value: Any, c: Any) -> Any:
    """A number of NumPy's, as its C interface makes them: room from the type, and the value behind the object's head.

    (To call the type with a Python number takes as long as the gradient of a small array.)
    """
    builder, context = c.builder, c.context
    made_of = c.env_manager.read_const(c.env_manager.add_const(dtype.type))
    pointer = made_of.type
    get_slot = c.pyapi._get_function(llvm.FunctionType(pointer, [pointer, llvm.IntType(32)]), "PyType_GetSlot")
    found = builder.call(get_slot, [made_of, llvm.Constant(llvm.IntType(32), TP_ALLOC)])
    size = context.get_value_type(types.intp)
    allocate = builder.bitcast(found, llvm.FunctionType(pointer, [pointer, size]).as_pointer())
    number = builder.call(allocate, [made_of, llvm.Constant(size, 0)])
    with builder.if_then(cgutils.is_not_null(builder, number), likely=True):
        exact = numpy_support.from_dtype(dtype)
        stored = context.cast(builder, value, kind, exact)
        room = context.get_data_type(exact).as_pointer()
        context.pack_value(builder, exact, stored, cgutils.pointer_add(builder, number, object.__basicsize__, room))
    return number


def _box_group(kind: Any, parts: list[Any], c: Any) -> Any:
    if kind is list:
        result = c.pyapi.list_new(c.context.get_constant(types.intp, len(parts)))
        for i, part in enumerate(parts):
            c.pyapi.list_setitem(result, c.context.get_constant(types.intp, i), part)
        return result
    if kind is not tuple:
        return _call(kind, parts, c)
    result = c.pyapi.tuple_new(len(parts))
    for i, part in enumerate(parts):
        c.pyapi.tuple_setitem(result, i, part)
    return result


def _call(function: Any, parts: list[Any], c: Any) -> Any:
    callee = c.env_manager.read_const(c.env_manager.add_const(function))
    result = c.pyapi.call_function_objargs(callee, parts)
    for part in parts:
        c.pyapi.decref(part)
    return result


def numba_type(leaf: ScalarType | ArrayType) -> types.Type:
    kind = numpy_support.from_dtype(leaf.dtype)
    return types.Array(kind, leaf.ndim, leaf.layout) if isinstance(leaf, ArrayType) else kind


# --------------------------------------------------------------------------------------------------------------


@register_pass(mutates_CFG=False, analysis_only=False)
class PromiseResult(FunctionPass):
    """Give the return value its `Result` type: numbers have the dtype promised, arrays the type that was inferred."""

    _name = "srcgrad_promise_result"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        structure = state.pipeline.promised
        if not any(isinstance(block.terminator, ir.Return) for block in state.func_ir.blocks.values()):
            return False  # Numba has found that it raises always
        inferred = flat_types(state.return_type)
        flat = [_leaf(promised, kind) for promised, kind in zip(leaves(structure), inferred, strict=True)]
        result = Result(structure, state.return_type if len(flat) == 0 else _flat(flat))
        for block in state.func_ir.blocks.values():
            if isinstance(block.terminator, ir.Return):
                del state.typemap[block.terminator.value.name]
                state.typemap[block.terminator.value.name] = result
        state.return_type = result
        return True


def leaves(structure: Any) -> Iterator[ScalarType | ArrayType]:
    """The leaves of a structure, in order."""
    if isinstance(structure, TupleType):
        for item in structure.items:
            yield from leaves(item)
    elif isinstance(structure, (ScalarType, ArrayType)):
        yield structure


def kinds(structure: Any) -> tuple[Any, ...]:
    """What the groups in a structure are: tuples, lists, dicts …"""
    if not isinstance(structure, TupleType):
        return ()
    return (structure.kind, *(kind for item in structure.items for kind in kinds(item)))


def _flat(leaf_types: list[types.Type]) -> types.Type:
    return leaf_types[0] if len(leaf_types) == 1 else types.Tuple(leaf_types)


def _leaf(promised: ScalarType | ArrayType, inferred: types.Type) -> types.Type:
    if isinstance(promised, ArrayType):
        assert isinstance(inferred, types.Array) and inferred.ndim == promised.ndim, (promised, inferred)
        assert numpy_support.as_dtype(inferred.dtype) == promised.dtype, (promised, inferred)
        return inferred
    return numba_type(promised)


class EntryCompiler(CompilerBase):
    """Numba's nopython pipeline with our own passes; the promised structure comes in the place of a return type."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ) -> None:
        assert isinstance(return_type, Promised), return_type
        self.promised = return_type.structure
        super().__init__(typingctx, targetctx, library, args, None, flags, locals)
        self.state.metadata[FACTS] = return_type.facts

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(PromiseResult, NopythonTypeInference)
        return [with_facts(passes, self.state.metadata[FACTS], LowerEntry)]
