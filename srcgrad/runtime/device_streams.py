"""Arrays that were made on other streams than the one of a call.

their stream:  … y is made …  ──┐                    ┌──  y is freed, and its memory used again
our stream:                     └─→  z = f(y)  ──────┘

Numba's arrays say on which stream they were made, and their memory may be given back in the order of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numba import cuda

from srcgrad.cuda import address
from srcgrad.runtime.device import LEGACY, SIMULATED, running


def other_streams(values: Iterable[Any]) -> tuple[Any, ...]:
    """The streams of arrays, but for the one of this call."""
    ours = running.stream
    streams = [value.stream for value in values if getattr(value, "stream", ours) is not ours]
    if not streams or SIMULATED:
        return ()
    found = {address(stream or 0) or LEGACY: stream for stream in streams}
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


__all__ = ["let_wait", "other_streams", "wait_for"]
