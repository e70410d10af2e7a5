"""Kernels as functions of LLVM, linked into the code that calls them and inlined there.

Each is made once per process, as a library of its own: `fastmath=True` in the caller rewrites the caller's own
instructions, and none of these.  What is linked goes away where every call of it was inlined.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types, typing
from numba.core.extending import lower_builtin, type_callable

from .emit import FLOAT32, FLOAT64, Code, Float, Format

Kernel = Callable[..., Float]

KERNELS: dict[Callable[..., Any], Kernel] = {}  # by the Python function that Numba knows


def call(context: Any, builder: ir.IRBuilder, kernel: Kernel, format: Format, args: list[ir.Value]) -> ir.Value:
    """Emit a call of the kernel."""
    library = _library(context.codegen(), kernel, format, len(args))
    context.active_code_library.add_linking_library(library)
    _use_whole_registers(builder.function)
    function = cgutils.get_or_insert_function(builder.module, _type(format, len(args)), library.name)
    function.attributes.add("nounwind")
    function.attributes.add("readnone")
    return builder.call(function, args)


def _use_whole_registers(caller: ir.Function) -> None:
    """LLVM halves the vectors of AVX-512, for the sake of the clock; loops of arithmetic gain more by all of it."""
    set.add(caller.attributes, '"prefer-vector-width"="512"')  # llvmlite's own `add` knows no attributes of targets


@cache
def _library(codegen: Any, kernel: Kernel, format: Format, count: int) -> Any:
    library = codegen.create_library(f"srcgrad_{kernel.__name__}_{format.name}")
    module = ir.Module(library.name)
    define(module, library.name, kernel, format, count, has_fma(codegen))
    library.add_ir_module(module)
    library.finalize()
    return library


def define(module: ir.Module, name: str, kernel: Kernel, format: Format, count: int, fma: bool) -> None:
    """Write the kernel as a function of the module."""
    function = ir.Function(module, _type(format, count), name)
    for attribute in ("alwaysinline", "nounwind", "readnone"):
        function.attributes.add(attribute)
    code = Code(ir.IRBuilder(function.append_basic_block()), format, fma)
    code.builder.ret(kernel(*(Float(code, arg) for arg in function.args)).ref)


def _type(format: Format, count: int) -> ir.FunctionType:
    return ir.FunctionType(format.type, [format.type] * count)


def has_fma(codegen: Any) -> bool:
    triple, _, features = codegen.magic_tuple()
    return not triple.startswith(("x86", "i386", "i686")) or "+fma" in features.split(",")


# --------------------------------------------------------------------------------------------------------------


def register(function: Callable[..., Any], kernel: Kernel, operands: int = 1) -> None:
    """Tell Numba that calls of the Python function are calls of the kernel."""
    KERNELS[function] = kernel

    def result(*args: types.Type) -> typing.Signature | None:
        if not all(isinstance(arg, (types.Float, types.Integer, types.Boolean)) for arg in args):
            return None
        kind = types.float32 if all(arg == types.float32 for arg in args) else types.float64
        return typing.signature(kind, *[kind] * operands)

    def typer(context: Any) -> Callable[..., typing.Signature | None]:
        return (lambda x: result(x)) if operands == 1 else (lambda x, y: result(x, y))

    def lower(context: Any, builder: Any, signature: typing.Signature, args: Any) -> ir.Value:
        format = FLOAT32 if signature.return_type == types.float32 else FLOAT64
        return call(context, builder, kernel, format, args)

    type_callable(function)(typer)
    lower_builtin(function, *[types.Float] * operands)(lower)
