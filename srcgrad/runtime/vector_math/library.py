"""Kernels as functions of LLVM, linked into the code that calls them.

Each is made once per process, as a library of its own: `fastmath=True` in the caller rewrites the caller's own
instructions, and none of these.  A kernel is inlined, and what was linked goes away.

    %y = call double @srcgrad_exp_float64(double %x)   →   its 25 instructions

A guarded kernel holds up to a limit; beyond, there is another way, one number at a time.  A branch would keep the loop
around it from vectorising: so that kernel stays a call, and LLVM is told of a twin for whole vectors, which branches
once for all lanes.

    call double @srcgrad_sin_float64(double %x)   →   call <8 x double> @srcgrad_sin_float64x8(<8 x double> %x)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types, typing
from numba.core.extending import lower_builtin, type_callable

from .emit import FLOAT32, FLOAT64, Code, Float, Format


@dataclass(frozen=True, eq=False)
class Kernel:
    """`limit`: by format, up to where |x| it holds; beyond, `far` takes over."""

    write: Callable[..., Float]
    operands: int = 1
    limit: Mapping[str, float] | None = None
    far: Callable[..., Float] | None = None

    @property
    def name(self) -> str:
        return self.write.__name__

    def type(self, format: Format) -> ir.FunctionType:
        return ir.FunctionType(format.type, [format.type] * self.operands)


KERNELS: dict[Callable[..., Any], Kernel] = {}  # by the Python function that Numba knows


def register(function: Callable[..., Any], write: Callable[..., Float], operands: int = 1, **guard: Any) -> None:
    """Tell Numba that calls of the Python function are calls of the kernel."""
    kernel = KERNELS[function] = Kernel(write, operands, **guard)

    def result(*args: types.Type) -> typing.Signature | None:
        if not all(isinstance(arg, (types.Float, types.Integer, types.Boolean)) for arg in args):
            return None
        kind = types.float32 if all(arg == types.float32 for arg in args) else types.float64
        return typing.signature(kind, *[kind] * operands)

    def typer(context: Any) -> Callable[..., typing.Signature | None]:
        return (lambda x: result(x)) if operands == 1 else (lambda x, y: result(x, y))

    def lower(context: Any, builder: Any, signature: typing.Signature, args: Any) -> ir.Value:
        format = FLOAT32 if signature.return_type == types.float32 else FLOAT64
        return _call(context, builder, kernel, format, args)

    type_callable(function)(typer)
    lower_builtin(function, *[types.Float] * operands)(lower)


def _call(context: Any, builder: ir.IRBuilder, kernel: Kernel, format: Format, args: list[ir.Value]) -> ir.Value:
    library = _library(context.codegen(), kernel, format)
    context.active_code_library.add_linking_library(library)
    _add(builder.function, '"prefer-vector-width"="512"')  # LLVM halves the vectors of AVX-512 unless it is told
    function = cgutils.get_or_insert_function(builder.module, kernel.type(format), library.name)
    _add(function, "nounwind", "readnone", "willreturn")
    return builder.call(function, args)


def _add(function: ir.Function, *attributes: str) -> None:
    """llvmlite's own `add` does not know them all."""
    for attribute in attributes:
        set.add(function.attributes, attribute)


class Linkable:
    """What Numba asks of a library that it links.  It never becomes machine code of its own."""

    _reload_init: frozenset[str] = frozenset()

    def __init__(self, name: str, module: ir.Module) -> None:
        self.name = name
        self._module = llvmlite.binding.parse_assembly(cgutils.normalize_ir_text(str(module)))

    def _ensure_finalized(self) -> None:
        self._module.verify()

    def _get_module_for_linking(self) -> Any:
        return self._module


@cache
def _library(codegen: Any, kernel: Kernel, format: Format) -> Linkable:
    name = f"srcgrad_{kernel.name}_{format.name}"
    module = codegen._create_empty_module(name)
    define = _define_inlined if kernel.limit is None else _define_guarded
    define(module, name, kernel, format, codegen)
    return Linkable(name, module)


def _define_inlined(module: ir.Module, name: str, kernel: Kernel, format: Format, codegen: Any) -> None:
    function = _function(module, name, kernel.type(format), "alwaysinline")
    _define(function, kernel.write, format, codegen)


def _define_guarded(module: ir.Module, name: str, kernel: Kernel, format: Format, codegen: Any) -> None:
    """The function, its twin for vectors, and a note for LLVM that they are the same."""
    assert kernel.far is not None
    lanes = register_width(codegen) // format.width
    twin_name = f"{name}x{lanes}"
    variants = f'"vector-function-abi-variant"="_ZGV_LLVM_N{lanes}{"v" * kernel.operands}_{name}({twin_name})"'
    function = _function(module, name, kernel.type(format), "noinline", variants)
    twin = _function(module, twin_name, kernel.type(format.vector(lanes)), "noinline")
    far = _function(module, f"{name}_far", kernel.type(format), "noinline", "optnone")  # rare, and long to optimise
    _define(far, kernel.far, format, codegen)
    _guard(function, kernel, format, codegen, far)
    _guard(twin, kernel, format.vector(lanes), codegen, function)
    _keep(module, twin)


def _function(module: ir.Module, name: str, kind: ir.FunctionType, *attributes: str) -> ir.Function:
    function = ir.Function(module, kind, name)
    function.linkage = "linkonce_odr"  # several programs may bring it; unused, it goes
    _add(function, "nounwind", "readnone", "willreturn", *attributes)
    return function


def _define(function: ir.Function, kernel: Callable[..., Float], format: Format, codegen: Any) -> None:
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(_write(Code(builder, format, has_fma(codegen)), kernel))


def _write(code: Code, kernel: Callable[..., Float]) -> ir.Value:
    return kernel(*(Float(code, arg) for arg in code.builder.function.args)).ref


def _guard(function: ir.Function, kernel: Kernel, format: Format, codegen: Any, far: ir.Function) -> None:
    """The kernel, or `far` lane by lane where any lane is beyond the limit."""
    assert kernel.limit is not None
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    beyond, done = function.append_basic_block("beyond"), function.append_basic_block("done")
    code = Code(builder, format, has_fma(codegen))
    outside = (abs(Float(code, function.args[0])) > kernel.limit[format.name]).ref
    if format.lanes:
        bits = ir.IntType(format.lanes)
        outside = builder.icmp_unsigned("!=", builder.bitcast(outside, bits), bits(0))
    near_result = _write(code, kernel.write)
    builder.cbranch(outside, beyond, done).set_weights([1, 10000])
    builder.position_at_end(beyond)
    far_result = _lane_by_lane(code, far)
    builder.branch(done)
    builder.position_at_end(done)
    result = builder.phi(format.type)
    result.add_incoming(near_result, function.entry_basic_block)
    result.add_incoming(far_result, beyond)
    builder.ret(result)


def _lane_by_lane(code: Code, function: ir.Function) -> ir.Value:
    builder, args = code.builder, code.builder.function.args
    if not code.format.lanes:
        return builder.call(function, args)
    result = ir.Constant(code.format.type, ir.Undefined)
    for lane in range(code.format.lanes):
        index = ir.IntType(32)(lane)
        value = builder.call(function, [builder.extract_element(arg, index) for arg in args])
        result = builder.insert_element(result, value, index)
    return result


def _keep(module: ir.Module, function: ir.Function) -> None:
    """Nothing calls it until loops are vectorised."""
    pointer = ir.IntType(8).as_pointer()
    kept = ir.GlobalVariable(module, ir.ArrayType(pointer, 1), "llvm.compiler.used")
    kept.linkage, kept.section = "appending", "llvm.metadata"
    kept.initializer = ir.Constant(kept.value_type, [function.bitcast(pointer)])


def has_fma(codegen: Any) -> bool:
    return not _is_x86(codegen) or "+fma" in _features(codegen)


def register_width(codegen: Any) -> int:
    """How many bits LLVM puts into one vector."""
    features = _features(codegen)
    return 512 if "+avx512f" in features else 256 if "+avx2" in features else 128


def has_many_registers(codegen: Any) -> bool:
    """Are there 32 vector registers, rather than 16?"""
    return not _is_x86(codegen) or "+avx512f" in _features(codegen)


def _is_x86(codegen: Any) -> bool:
    return codegen.magic_tuple()[0].startswith(("x86", "i386", "i686"))


def _features(codegen: Any) -> list[str]:
    return codegen.magic_tuple()[2].split(",")
