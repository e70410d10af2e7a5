"""What a gradient asks of a GPU, counted on a virtual one: launches, and the bytes that its kernels touch.

    python -m benchmarks.cuda.counted               every program
    python -m benchmarks.cuda.counted softmax heat  those whose names begin so

No times: these are counts of what runs, not guesses of how fast.  "Of the least" are the sectors of memory (32 bytes)
that a launch reads and writes, each once, summed over all launches, by the bytes that the gradient has to move at
least: 1 is a program that touches everything once.  What stays in a cache between two launches is counted again.
"Asked" are the sectors that warps ask for, by those: 1 is a program whose threads read neighbouring words once.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cuda.program import DeviceProgram
from benchmarks.cuda.programs import PROGRAMS

SIZES = {
    "row_norms": (128, 1_000), "softmax": (128, 1_000), "column_norms": (640, 100), "standardised": (640, 100),
    "burgers": (40_000, 10), "heat_1d_slices": (40_000, 10), "heat_1d_buffers": (40_000, 10),
    "heat_2d_slices": (194, 10), "heat_2d_buffers": (194, 10), "heat_3d_slices": (34, 10), "heat_3d_buffers": (34, 10),
    "rk4_ensemble": (4_096, 20), "escape": (4_096, 50), "binned": (65_536, 1_000),
}  # fmt: skip
VECTORS = (65_536,)
BLOCKS = 64  # that have memory or sums of their own: as many for these lengths as 2,112 for those of a real card
LEFT_OUT = ("gmm_loops", "gmm_numpy", "mlp")  # matrix products are the library's, and mixtures take minutes


def main(prefixes: list[str]) -> None:
    sys.path.append(str(Path(__file__).parents[2] / "tests"))
    from virtual_gpu import driver
    from virtual_gpu.steps import Counts

    from srcgrad.runtime import device

    gpu = driver.install()
    device.MOST_RESIDENT = BLOCKS
    gpu.memory.kinds = {}  # races are for the tests
    gpu.counts = Counts()
    print(f"{'':18}{'launches':>9}{'of the least':>14}{'asked':>8}{'atomics per element':>21}")
    for name, program in PROGRAMS.items():
        if name not in LEFT_OUT and name.startswith(tuple(prefixes) or ("",)):
            print(f"{name:18}{row(program, gpu)}", flush=True)


def row(program: DeviceProgram, gpu: Any) -> str:
    from numba import cuda

    from srcgrad import grad

    arguments = program.arguments(SIZES.get(program.name, VECTORS))
    v = program.cotangent(arguments)
    f = grad(program.primal, wrt=program.wrt, target="cuda")
    given = [cuda.to_device(a) if isinstance(a, np.ndarray) and a.ndim else a for a in (*arguments, v)]
    gpu.by_kernel.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f.backward(*given)
    counts = [count for _, count in gpu.by_kernel]
    touched = sum(count.bytes_read + count.bytes_written for count in counts)
    asked = 32 * sum(count.loaded + count.stored for count in counts)
    elements = max(a.size for a in arguments if isinstance(a, np.ndarray))
    atomics = sum(count.atomics for count in counts) / elements
    return f"{len(counts):9}{touched / program.bytes_moved(arguments, v):14.2f}{asked / touched:8.2f}{atomics:21.2f}"


if __name__ == "__main__":
    main(sys.argv[1:])
