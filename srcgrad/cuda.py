"""Streams for functions with `target="cuda"`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from srcgrad.errors import ArgumentError


@contextmanager
def stream(stream: Any) -> Iterator[None]:
    """Calls of `target="cuda"` functions in this block run on a stream, and so do their copies.

    Parameters
    ----------
    stream
        A stream of Numba, CuPy or PyTorch, anything with `__cuda_stream__`, or the address of one as an int; 0 is the
        default stream, on which functions run outside of such a block.

    Examples
    --------
    >>> import srcgrad.cuda
    >>> with srcgrad.cuda.stream(0):
    ...     pass  # x_b = f.backward(x, v)

    With a stream of PyTorch's, and tensors on the device, nothing here waits:

    >>> import torch  # doctest: +SKIP
    >>> own = torch.cuda.Stream()  # doctest: +SKIP
    >>> with torch.cuda.stream(own), srcgrad.cuda.stream(own):  # doctest: +SKIP
    ...     x_b = f.backward(x, v)
    """
    from numba import cuda

    from srcgrad.runtime.device import SIMULATED, running

    pointer = 0 if SIMULATED else address(stream)  # the simulator has one stream
    before = running.stream, running.pointer, running.keeper
    running.stream = cuda.external_stream(pointer) if pointer else 0
    running.pointer, running.keeper = pointer, stream
    try:
        yield
    finally:
        running.stream, running.pointer, running.keeper = before


def address(stream: Any) -> int:
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


__all__ = ["stream"]
