"""How far the resident memory of this process rises during one call (Linux)."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Freed blocks of more than a page go back to the system at once: else one call would use what another one has left.
RETURN_FREED = {"MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_TOP_PAD_": "0"}


def rise(call: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes by which the peak of this call stands above what is there before it; and the call's result."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    result = call()
    return max(0, _status("VmHWM") - before), result


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))
