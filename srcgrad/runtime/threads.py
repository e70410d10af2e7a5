"""What loops on several threads call: into how many pieces to split, errors that wait for the end, sums of sums.

for chunk in prange(chunks):
    s_part[chunk] = attempt(errors, chunk, f_loop, (...))    an error in a thread is noted
raise_first(errors)                                          and raised here, where an exception may be
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types, typing
from numba.core.callconv import RETCODE_USEREXC, excinfo_ptr_t
from numba.core.extending import intrinsic, lower_builtin, type_callable
from numba.np.arrayobj import make_array
from numba.np.ufunc import parallel

from srcgrad.runtime.arrays import _made, _nest
from srcgrad.runtime.linked import linked, overload

WORTH = 1_000_000.0  # additions: 25 µs where they vectorise best, and starting threads takes 5
TOUCHED = 16.0  # additions' worth of fetching and clearing an element of a partial sum, and adding it up


# --------------------------------------------------------------------------------------------------------------
# Not every threading layer of Numba's lets two threads of Python's start loops at once, and none of GNU's survives a
# fork; both would end the process.  So a loop takes the threads first, and runs on its own thread where it can't.

_STATE = "srcgrad_threads"
_state = (ctypes.c_int64 * 2)(0, 1)  # loops that have the threads now, and how many may at once
binding.add_symbol(_STATE, ctypes.addressof(_state))
ANY = 1 << 62


def settle() -> None:
    """Note what Numba's threading layer allows: before the first loop runs."""
    parallel._launch_threads()
    if _state[1] == 1 and numba.threading_layer() != "workqueue":
        _state[1] = ANY


def _after_fork() -> None:
    started = parallel._is_initialized and numba.threading_layer() == "omp" and sys.platform.startswith("linux")
    _state[0], _state[1] = 0, 0 if started else 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def take_threads() -> bool:
    """Take the threads for one loop, if they can be had."""
    _state[0] += 1
    if _state[0] <= _state[1]:
        return True
    _state[0] -= 1
    return False


def leave_threads() -> None:
    """Whoever took them is done with them."""
    _state[0] -= 1


@overload(take_threads)
def _take_threads():
    def take_threads():
        if _added(0, 1) < _added(1, 0):
            return True
        _added(0, -1)
        return False

    return take_threads


@overload(leave_threads)
def _leave_threads():
    def leave_threads():
        _added(0, -1)

    return leave_threads


@intrinsic(prefer_literal=True)
def _added(typing_context, place, count):
    """Add to one of the numbers at once; what it was before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        state = context.get_c_value(builder, ir.ArrayType(ir.IntType(64), 2), _STATE)
        address = cgutils.gep_inbounds(builder, state, 0, args[0])
        return builder.atomic_rmw("add", address, args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


# --------------------------------------------------------------------------------------------------------------


def thread_count() -> int:
    """How many threads there are for loops."""
    return numba.get_num_threads()


@overload(thread_count)
def _thread_count():  # Numba's own has an address in it, so that its callers can't be kept on disk
    return lambda: parallel._iget_num_threads()


@linked
def parts_for(trips: Any, work: Any, shared: Any, least: Any) -> Any:
    """Into how many parts to split a loop: one per thread, or 1 where that does not pay.  More than 1 take the threads.

    Every iteration costs `work`; every part has `shared` elements to add up after it, and at least `least` iterations.
    """
    whole = float(trips) * float(work)
    if whole < WORTH or trips < 2 * least:
        return 1
    threads = thread_count()
    if threads == 1 or whole < WORTH + TOUCHED * (threads - 1) * shared or not take_threads():
        return 1
    return min(threads, trips // least)


@linked
def rows_rise(starts: Any, first: Any, count: Any) -> Any:
    """Does no row of a compressed matrix reach into another, of `count` from the first on?"""
    if first < 0 or first + count >= starts.size or starts[first] < 0:
        return False
    for k in range(first, first + count):
        if starts[k] > starts[k + 1]:
            return False
    return True


def partial_sums(x: Any, count: Any) -> Any:
    """Room for `count` arrays like x: each thread clears its own, so that it is the one to fetch the memory."""
    return np.empty((count, *x.shape), x.dtype)


@overload(partial_sums)
def _partial_sums(x, count):
    return lambda x, count: np.empty((count,) + x.shape, x.dtype)


def clear_part(x: Any, sums: Any, chunk: Any) -> None:
    """Zeros where a chunk will add."""
    if chunk > 0 or not x.flags.c_contiguous:
        sums[chunk] = 0


@overload(clear_part)
def _clear_part(x, sums, chunk):
    in_place = x.layout == "C"

    def clear_part(x, sums, chunk):
        if chunk > 0 or not in_place:
            sums[chunk].reshape(-1)[:] = 0

    return clear_part


def own_part(x: Any, sums: Any, chunk: Any) -> Any:
    """Where one chunk adds: the first in x itself, if that is as fast to use as the others' (of one layout)."""
    return x if chunk == 0 and x.flags.c_contiguous else sums[chunk]


@overload(own_part)
def _own_part(x, sums, chunk):
    if x.layout == "C":
        return lambda x, sums, chunk: x if chunk == 0 else sums[chunk]
    return lambda x, sums, chunk: sums[chunk]


def add_partial_sums(x: Any, sums: Any, chunk: Any, chunks: Any) -> None:
    """A chunk's share of x += sums.sum(axis=0), one after the other."""
    if x.flags.c_contiguous:
        low, high = x.size * chunk // chunks, x.size * (chunk + 1) // chunks
        for part in sums[1:]:
            x.reshape(-1)[low:high] += part.reshape(-1)[low:high]
    elif chunk == 0:
        for part in sums:
            x += part


@overload(add_partial_sums)
def _add_partial_sums(x, sums, chunk, chunks):
    if x.layout != "C":
        here = ", ".join(f"i{k}" for k in range(x.ndim))
        body = _nest(x.ndim, "x", f"x[{here}] += sums[part, {here}]")
        head = "def add(x, sums, chunk, chunks):\n    for part in range(len(sums) if chunk == 0 else 0):\n"
        return _made("add", f"{head}{body}\n")

    def add(x, sums, chunk, chunks):
        low, high = x.size * chunk // chunks, x.size * (chunk + 1) // chunks
        out = x.reshape(-1)[low:high]
        for part in range(1, len(sums)):
            more = sums[part].reshape(-1)[low:high]
            for i in range(out.size):
                out[i] += more[i]

    return add


# --------------------------------------------------------------------------------------------------------------
# An exception can't leave a thread of Numba's: it is noted as the address of what describes it.


def attempt(errors: Any, place: Any, function: Any, args: tuple[Any, ...]) -> Any:
    """function(*args); an error goes to `errors[place]` (in plain Python, to the caller)."""
    try:
        return function(*args)
    except BaseException:
        leave_threads()
        raise


def raise_first(errors: Any) -> None:
    """Leave the threads, and raise the error of the first place that has one."""
    leave_threads()


@type_callable(attempt)
def _type_attempt(context):
    def typed(errors, place, function, args):
        called = function.get_call_type(context, tuple(args), {})
        return typing.signature(called.return_type, errors, types.int64, function, args)

    return typed


@lower_builtin(attempt, types.Array, types.int64, types.Dispatcher, types.BaseTuple)
def _attempt(context, builder, signature, args):
    errors, _, function, given = signature.args
    kinds = function.get_call_type(context.typing_context, tuple(given), {}).args
    result = function.dispatcher.overloads[tuple(kinds)]
    values = cgutils.unpack_tuple(builder, args[3])
    values = [context.cast(builder, *each) for each in zip(values, given, kinds, strict=True)]
    context.add_linking_libs((result.library,))
    callee = context.declare_function(builder.module, result.fndesc)
    status, out = context.call_conv.call_function(builder, callee, signature.return_type, kinds, values)
    missing = ir.Constant(ir.IntType(64), 0)
    error = builder.select(status.is_error, builder.ptrtoint(status.excinfoptr, missing.type), missing)
    noted = make_array(errors)(context, builder, args[0])
    builder.store(error, builder.gep(noted.data, [args[1]]))
    return out


@intrinsic
def _raise(typing_context, error):
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, args[0])):
            place = context.call_conv._get_excinfo_argument(builder.function)
            builder.store(builder.inttoptr(args[0], excinfo_ptr_t), place)
            context.call_conv._return_errcode_raw(builder, RETCODE_USEREXC)
        return context.get_dummy_value()

    return types.none(types.int64), generate


@overload(raise_first)
def _raise_first(errors):
    def raise_first(errors):
        leave_threads()
        for place in range(errors.size):
            _raise(errors[place])

    return raise_first


__all__ = [
    "add_partial_sums",
    "attempt",
    "clear_part",
    "own_part",
    "partial_sums",
    "parts_for",
    "raise_first",
    "rows_rise",
]
