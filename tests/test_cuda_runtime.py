"""What programs for a GPU call, as far as it can be checked without one: see `tests/cuda` for the rest.

cuBLAS and cuSOLVER are played by SciPy, on the same addresses, leading dimensions and flags.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("script", ["library", "arrays"])
def test_in_the_simulator(script):
    """Numba decides when it is imported whether it simulates: so this is another process."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    path = HERE / "simulated" / f"{script}.py"
    done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
