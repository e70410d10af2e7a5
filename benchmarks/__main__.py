"""The benchmarks, by one command each; `--help` behind one of them says more:

python -m benchmarks tape        against tapes, JAX and adjoints by hand
python -m benchmarks cost        how time and memory grow
python -m benchmarks parallel    parallel=True on one thread and on two
python -m benchmarks breadth     programs as other people write them: compiling, and a gradient beside its primal
python -m benchmarks cuda        on a GPU, against PyTorch and JAX on the same card
python -m benchmarks publish     the plots and docs/performance.md anew, from the figures that are there
"""

import sys

from benchmarks import breadth, cost, parallel, tape
from benchmarks.cuda import run as cuda


def publish(_: list[str]) -> None:
    tape.publish()
    cost.publish()
    parallel.publish()
    breadth.publish()
    cuda.publish()


COMMANDS = {
    "tape": tape.main,
    "cost": cost.main,
    "parallel": parallel.main,
    "breadth": breadth.main,
    "cuda": cuda.main,
    "publish": publish,
}

if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
    sys.exit(__doc__)
COMMANDS[sys.argv[1]](sys.argv[2:])
