"""What generated code calls.  Everything here works in plain Python and compiled."""

from __future__ import annotations

from srcgrad.runtime.errors import BoundsError, BroadcastError, CotangentShapeError, DepthError, RuntimeShapeError

from srcgrad.runtime import arrays, special
from srcgrad.runtime.arrays import *  # noqa: F403
from srcgrad.runtime.special import *  # noqa: F403

__all__ = [*arrays.__all__, *special.__all__, "BoundsError", "BroadcastError", "CotangentShapeError", "DepthError", "RuntimeShapeError"]
