"""Processes that prepare side by side, and then measure one after another.

Nobody's compilers or first calls run while another one's clock does: who is ready waits until all are, or for PATIENCE.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PATIENCE = 240.0  # seconds that who is ready waits for the others


@contextmanager
def preparing(folder: str) -> Iterator[None]:
    """Many processes may be in here at a time."""
    with _open(folder, "preparing") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def measuring(folder: str, patience: float = PATIENCE) -> Iterator[None]:
    """One process may be in here at a time, and (while there is patience) no one else prepares."""
    end = time.monotonic() + patience
    with _open(folder, "preparing") as others:
        while not _is_free(others) and time.monotonic() < end:
            time.sleep(0.1)
    with _open(folder, "measuring") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_free(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return True


def _open(folder: str, name: str) -> IO[str]:
    return (Path(folder) / name).open("w", encoding="utf-8")
