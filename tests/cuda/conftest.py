"""Tests that need a GPU, or the simulator of one (NUMBA_ENABLE_CUDASIM=1, see tests/test_cuda.py): else none."""

from numba import cuda
from numba.core import config

collect_ignore_glob = [] if config.ENABLE_CUDASIM or cuda.is_available() else ["*.py"]
