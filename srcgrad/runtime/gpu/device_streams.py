"""Arrays that were made on other streams than the one of a call.

their stream:  … y is made …  ──┐                    ┌──  y is freed, and its memory used again
our stream:                     └─→  z = f(y)  ──────┘

Numba's arrays say on which stream they were made, and their memory may be given back in the order of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba import cuda

from srcgrad.errors import ArgumentError
from srcgrad.runtime.gpu.device_call import LEGACY, SIMULATED, running


def other_streams(values: Iterable[Any]) -> tuple[Any, ...]:
    """The streams of arrays, but for the one of this call."""
    ours = running.stream
    streams = [value.stream for value in values if getattr(value, "stream", ours) is not ours]
    if not streams or SIMULATED:
        return ()
    found = {pointer_of(stream or 0) or LEGACY: stream for stream in streams}
    found.pop(running.pointer or LEGACY, None)
    return tuple(found.values())


def wait_for(others: Iterable[Any]) -> None:
    """What is launched from now on runs once all that others were given is done."""
    for stream in others:
        _after(stream or 0, running.stream)


def let_wait(others: Iterable[Any]) -> None:
    """What others are given from now on runs once all that was launched here is done."""
    for stream in others:
        _after(running.stream, stream or 0)


def _after(first: Any, second: Any) -> None:
    event = cuda.event(timing=False)
    event.record(first)
    event.wait(second)


def pointer_of(stream: Any) -> int:
    """Where CUDA has it."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    described = getattr(stream, "__cuda_stream__", None)
    if described is not None:
        return int((described() if callable(described) else described)[1])
    for name in ("ptr", "cuda_stream", "handle"):  # CuPy, PyTorch, Numba
        found = getattr(stream, name, None)
        if found is not None:
            return int(getattr(found, "value", found) or 0)
    raise ArgumentError(
        f"argument stream is a {type(stream).__name__}, not a CUDA stream",
        help=("pass a stream of Numba, CuPy or PyTorch, or the address of one",),
    )


__all__ = ["let_wait", "other_streams", "pointer_of", "wait_for"]
