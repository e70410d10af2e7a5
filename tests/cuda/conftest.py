"""Tests that need a GPU, or the simulator of one (NUMBA_ENABLE_CUDASIM=1, see tests/test_cuda.py): else none."""

import sys

from numba import cuda
from numba.core import config

if config.ENABLE_CUDASIM:
    # Two threads of a block that ask for shared memory at one moment would get one each: the simulator looks whether it
    # is there, and then makes it.  So a thread goes on until it waits for others.
    sys.setswitchinterval(100)

collect_ignore_glob = [] if config.ENABLE_CUDASIM or cuda.is_available() else ["*.py"]
