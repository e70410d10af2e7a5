"""The suite's JAX tool, timed until the result is there: JAX returns at once and computes meanwhile.

python waiting_jax.py PATH_OF_THE_SUITE
"""

import runpy
import sys
from pathlib import Path

import jax
from gradbench import wrap

multiple_runs = wrap.multiple_runs


def waiting(**how):
    return lambda function: multiple_runs(**how)(lambda given: jax.block_until_ready(function(given)))


wrap.multiple_runs = waiting
tool = Path(sys.argv.pop(1)) / "python" / "gradbench" / "gradbench" / "tools" / "jax"
sys.path[0] = str(tool)  # not this folder: it has files of the same names
runpy.run_path(str(tool / "run.py"), run_name="__main__")
