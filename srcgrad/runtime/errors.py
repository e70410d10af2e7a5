"""The errors that generated code raises: `raise BroadcastError("shapes ({},) and ({},) do not broadcast", n, m)`."""

from __future__ import annotations

from srcgrad.errors import (
    BoundsError,
    BroadcastError,
    CompiledError,
    CotangentShapeError,
    DepthError,
    RuntimeShapeError,
    ShortAxisError,
)

__all__ = [
    "BoundsError",
    "BroadcastError",
    "CompiledError",
    "CotangentShapeError",
    "DepthError",
    "RuntimeShapeError",
    "ShortAxisError",
]
