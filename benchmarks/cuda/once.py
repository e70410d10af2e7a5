"""One gradient of each program at its largest size, for a profiler:

    ncu --profile-from-start off --csv --metrics gpu__time_duration.sum,dram__bytes.sum,launch__registers_per_thread \\
        python -m benchmarks.cuda.once float64 softmax heat     programs whose names begin so; all without a name
"""

from __future__ import annotations

import sys

from numba import cuda

from benchmarks.cuda.contestants import with_srcgrad
from benchmarks.cuda.program import in_dtype
from benchmarks.cuda.programs import PROGRAMS


def main(dtype: str, *prefixes: str) -> None:
    for name, program in PROGRAMS.items():
        if not name.startswith(prefixes or ("",)) or dtype not in program.dtypes:
            continue
        print(f"==PROG== {name} {dtype}", flush=True)
        arguments = tuple(in_dtype(argument, dtype) for argument in program.arguments(program.sizes[-1].arguments))
        asked = with_srcgrad(program, arguments, in_dtype(program.cotangent(arguments), dtype))
        there = asked.send()
        for _ in range(2):
            asked.finish(asked.launch(there))
        with cuda.profiling():
            asked.finish(asked.launch(there))


if __name__ == "__main__":
    main(*sys.argv[1:])
