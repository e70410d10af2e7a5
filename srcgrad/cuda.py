"""Streams for functions with `target="cuda"`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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

    from srcgrad.runtime.gpu.device_call import SIMULATED, running
    from srcgrad.runtime.gpu.device_streams import pointer_of

    pointer = 0 if SIMULATED else pointer_of(stream)  # the simulator has one stream
    before = running.stream, running.pointer, running.keeper
    running.stream = cuda.external_stream(pointer) if pointer else 0
    running.pointer, running.keeper = pointer, stream
    try:
        yield
    finally:
        running.stream, running.pointer, running.keeper = before


__all__ = ["stream"]
