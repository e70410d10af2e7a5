"""Fourier transforms: NumPy's own pocketfft, called from compiled code by its address.

    fft(out, x, scale, 0, 1)      out = scale * the transform of x along these axes
    rfft(out, x, scale, 1)        of real numbers, along one axis: the half that is not the conjugate of the other

The transform is symmetric, so `fft` is its own adjoint; those of `rfft` and `irfft` are each other's, with weights:
what stands for two in the half counts twice.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.extending import intrinsic

from srcgrad.runtime.arrays import _made, _nest, copy_to
from srcgrad.runtime.linked import linked, overload

__all__ = [
    "add_fft",
    "add_ifft",
    "add_irfft_adjoint",
    "add_rfft_adjoint",
    "fft",
    "ifft",
    "irfft",
    "irfft_adjoint",
    "rfft",
    "rfft_adjoint",
]


# ----------------------------------------------------------------------------------------------- where it stands


class _Ufunc(ctypes.Structure):
    """The head of NumPy's PyUFuncObject, behind that of any object; it is part of NumPy's C interface."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


def _register() -> bool:
    """Tell LLVM where NumPy's loops are; False where this NumPy has them elsewhere."""
    try:
        umath = importlib.import_module("numpy.fft._pocketfft_umath")

        for name, signatures in LOOPS.items():
            ufunc = getattr(umath, name)
            head = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
            if (head.nin, head.nout, head.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
                return False
            for signature, precision in zip(signatures, ("64", "32"), strict=True):
                place = ufunc.types.index(signature)
                binding.add_symbol(f"srcgrad_{name}_{precision}", head.functions[place])
                if head.data:
                    binding.add_symbol(f"srcgrad_{name}_{precision}_data", head.data[place])
    except (ImportError, AttributeError, ValueError):
        return False
    return True


LOOPS = {
    "fft": ("Dd->D", "Ff->F"), "ifft": ("Dd->D", "Ff->F"), "irfft": ("Dd->d", "Ff->f"),
    "rfft_n_even": ("dd->D", "ff->F"), "rfft_n_odd": ("dd->D", "ff->F"),
}  # fmt: skip
FOUND = _register()


@intrinsic(prefer_literal=True)
def _run(typing_context, name, x, out, scale, lanes, n, m, between_x, step_x, between_out, step_out):
    """One loop of NumPy's: `lanes` transforms from n numbers at address x to m numbers at address out.

    `between` is from one lane to the next, `step` from one number to the next, in bytes.
    """
    if not FOUND:
        raise TypingError("this release of NumPy keeps its Fourier transforms elsewhere: use jit=False")
    loop, word = name.literal_value, types.intp
    precision = "32" if scale == types.float32 else "64"

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size, byte = context.get_value_type(word), ir.IntType(8).as_pointer()
        factor = cgutils.alloca_once_value(builder, args[3])

        def row(*numbers: Any) -> Any:
            array = cgutils.alloca_once(builder, ir.ArrayType(size, len(numbers)))
            for k, number in enumerate(numbers):
                builder.store(number, cgutils.gep_inbounds(builder, array, 0, k))
            return builder.bitcast(array, byte)

        zero = context.get_constant(word, 0)
        data = ir.Constant(byte, None)
        if loop in ("fft", "ifft"):
            data = context.get_c_value(builder, ir.IntType(8), f"srcgrad_{loop}_{precision}_data")
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte] * 4), f"srcgrad_{loop}_{precision}"
        )
        pointers = row(args[1], builder.ptrtoint(factor, size), args[2])
        dimensions, steps = row(*args[4:7]), row(args[7], zero, args[9], args[8], args[10])
        builder.call(function, [pointers, dimensions, steps, data])
        return context.get_dummy_value()

    return types.none(name, word, word, scale, *[word] * 7), generate


def _strides_of(name: str) -> Any:
    """The transform along one axis of an array of any strides, as a function of the arrays and the axis."""

    @linked
    def along(out: Any, x: Any, scale: Any, axis: Any) -> None:
        last = x.ndim - 1 if axis != x.ndim - 1 else x.ndim - 2  # NumPy goes along this one itself
        lanes, between_x, between_out, others = 1, 0, 0, 1
        for k in range(x.ndim):
            if k == last:
                lanes, between_x, between_out = x.shape[k], x.strides[k], out.strides[k]
            elif k != axis:
                others *= x.shape[k]
        for number in range(others):
            from_x, from_out, rest = x.ctypes.data, out.ctypes.data, number
            for k in range(x.ndim - 1, -1, -1):
                if k != axis and k != last:
                    at = rest % x.shape[k]
                    rest = rest // x.shape[k]
                    from_x += at * x.strides[k]
                    from_out += at * out.strides[k]
            _run(
                name, from_x, from_out, scale, lanes, x.shape[axis], out.shape[axis],
                between_x, x.strides[axis], between_out, out.strides[axis],
            )  # fmt: skip

    return along


_fft, _ifft, _irfft = (_strides_of(name) for name in ("fft", "ifft", "irfft"))
_rfft_even, _rfft_odd = (_strides_of(name) for name in ("rfft_n_even", "rfft_n_odd"))


# ------------------------------------------------------------------------------------------------- the transforms


def fft(out: Any, x: Any, scale: Any, *axes: int) -> None:
    """out = scale * the transform of x"""
    out[...] = np.fft.fftn(x, axes=axes) * scale


def ifft(out: Any, x: Any, scale: Any, *axes: int) -> None:
    """out = scale * the sums with exp(2 pi i j k / n): without a division by n"""
    out[...] = np.fft.ifftn(x, axes=axes, norm="forward") * scale


def rfft(out: Any, x: Any, scale: Any, axis: int) -> None:
    """out = scale * the first half of the transform of real numbers"""
    out[...] = np.fft.rfft(x, axis=axis) * scale


def irfft(out: Any, x: Any, scale: Any, axis: int) -> None:
    """out = scale * the sums with exp(2 pi i j k / n) over x and what mirrors it"""
    out[...] = np.fft.irfft(x, out.shape[axis], axis=axis, norm="forward") * scale


@overload(fft)
def _compiled_fft(out, x, scale, *axes):  # no types: Numba compares signatures
    return _over_axes(_fft, out, axes)


@overload(ifft)
def _compiled_ifft(out, x, scale, *axes):
    return _over_axes(_ifft, out, axes)


def _over_axes(along: Any, out: Any, axes: Any) -> Any:
    real = _part(out)

    def transform_one(out, x, scale, *axes):
        if x.size:
            along(out, x, real(scale), axes[0])

    def transform(out, x, scale, *axes):
        if x.size:
            along(out, x, real(scale), axes[0])
            for axis in axes[1:]:
                along(out, out, real(1.0), axis)

    return transform if len(axes) > 1 else transform_one


@overload(rfft)
def _compiled_rfft(out, x, scale, axis):
    real = _part(out)

    def rfft(out, x, scale, axis):
        if x.size:
            if x.shape[axis] % 2:
                _rfft_odd(out, x, real(scale), axis)
            else:
                _rfft_even(out, x, real(scale), axis)

    return rfft


@overload(irfft)
def _compiled_irfft(out, x, scale, axis):
    real = _part(out)

    def irfft(out, x, scale, axis):
        if x.size:
            _irfft(out, x, real(scale), axis)

    return irfft


def _part(array: Any) -> Any:
    return np.float32 if array.dtype in (types.float32, types.complex64) else np.float64


# ------------------------------------------------------------------------------------------------- their adjoints


def _add(out: Any, part: Any) -> None:
    out += part


@overload(_add)
def _compiled_add(out, part):  # Numba takes seconds to compile `out += part`
    here = ", ".join(f"i{k}" for k in range(out.ndim))
    return _made(
        "add", f"def add(out, part):\n    if out.size:\n{_nest(out.ndim, 'out', f'out[{here}] += part[{here}]')}\n"
    )


@linked
def rfft_adjoint(x_b: Any, out_b: Any, scale: Any, axis: int) -> None:
    """x_b = scale * the real part of the sums with exp(-2 pi i j k / n) over the half"""
    half = np.conj(out_b)
    _weigh(half, axis, x_b.shape[axis], 0.5)
    irfft(x_b, half, scale, axis)


@linked
def irfft_adjoint(x_b: Any, out_b: Any, scale: Any, axis: int) -> None:
    """x_b = scale * the conjugate of the half of out_b's transform, twice what stands for two"""
    half = np.empty_like(x_b)
    rfft(half, out_b, scale, axis)
    _weigh(half, axis, out_b.shape[axis], 2.0)
    copy_to(x_b, np.conj(half))


@linked
def _weigh(half: Any, axis: int, n: int, weight: Any) -> None:
    """Multiply all numbers of a half that stand for two: not the first, nor the last of an even count."""
    inner = 1
    for k in range(axis + 1, half.ndim):
        inner *= half.shape[k]
    rows = half.reshape((half.size // (half.shape[axis] * inner) if half.size else 0, half.shape[axis], inner))
    for i in range(rows.shape[0]):
        for j in range(1, (n + 1) // 2):
            for k in range(inner):
                rows[i, j, k] *= weight


@linked
def add_fft(x_b: Any, out_b: Any, scale: Any, *axes: int) -> None:
    """x_b += scale * the transform of out_b"""
    part = np.empty_like(x_b)
    fft(part, out_b, scale, *axes)
    _add(x_b, part)


@linked
def add_ifft(x_b: Any, out_b: Any, scale: Any, *axes: int) -> None:
    part = np.empty_like(x_b)
    ifft(part, out_b, scale, *axes)
    _add(x_b, part)


@linked
def add_rfft_adjoint(x_b: Any, out_b: Any, scale: Any, axis: int) -> None:
    part = np.empty_like(x_b)
    rfft_adjoint(part, out_b, scale, axis)
    _add(x_b, part)


@linked
def add_irfft_adjoint(x_b: Any, out_b: Any, scale: Any, axis: int) -> None:
    part = np.empty_like(x_b)
    irfft_adjoint(part, out_b, scale, axis)
    _add(x_b, part)
