"""Tests that need a GPU, or Numba's simulator of one (NUMBA_ENABLE_CUDASIM=1): where there is neither, there are none.

tests/test_cuda.py runs them in the simulator.
"""

from numba import cuda
from numba.core import config

collect_ignore_glob = [] if config.ENABLE_CUDASIM or cuda.is_available() else ["*.py"]
