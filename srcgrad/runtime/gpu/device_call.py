"""What belongs to the call of a program for a GPU that a thread of the host is making."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from numba.core import config

SIMULATED = bool(config.ENABLE_CUDASIM)
FIRST_ROWS = 64  # of what threads keep where nobody knows ahead how much that is
LEGACY = 1  # the default stream, as other libraries number it


@dataclass
class Running(threading.local):
    """One for each thread of the host."""

    stream: Any = 0
    pointer: int = 0  # the same as CUDA knows it
    keeper: Any = None  # whatever has to live as long as the stream is used
    ours: bool = False  # the arguments are copies that were made for this call
    rows: int = FIRST_ROWS  # of what threads of this program keep
    status: Any = None  # what kernels report, and what that means
    errors: tuple[tuple[type[Exception], str, int], ...] = ()
    launched: bool = False  # kernels that may report something, since the status was last looked at
    watched: list[tuple[Any, str]] = field(default_factory=list)  # what library routines report, and what that means
    driver: Any = None  # once this thread has a device
    is_alone: bool = False  # it has, and there is no other
    device: int = 0  # its number, since the call began
    record: Any = None  # where what is asked of the driver is written down


running = Running()


__all__ = ["FIRST_ROWS", "LEGACY", "SIMULATED", "Running", "running"]
