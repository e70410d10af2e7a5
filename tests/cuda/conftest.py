"""Tests that need a GPU, or the simulator of one (NUMBA_ENABLE_CUDASIM=1, see tests/test_cuda.py): else none."""

import threading
from typing import Any

from numba import cuda
from numba.core import config


class OneAtATime(dict):
    """Whoever finds nothing is the one to put it there; others wait for that."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def get(self, key: Any, default: Any = None) -> Any:
        self.lock.acquire()
        found = super().get(key)
        if found is not None:
            self.lock.release()
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.lock.release()


if config.ENABLE_CUDASIM:
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    # The simulator looks whether shared memory is there, and then makes it: two threads at one moment get one each.
    make = FakeCUDAShared.__init__

    def make_safely(self: Any, *args: Any) -> None:
        make(self, *args)
        self._allocations = OneAtATime()

    FakeCUDAShared.__init__ = make_safely

collect_ignore_glob = [] if config.ENABLE_CUDASIM or cuda.is_available() else ["*.py"]
