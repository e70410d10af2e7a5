"""What a gradient's kernels are in machine code: how many instructions, how many of them of whole numbers, registers.

    pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm      (no GPU is needed)
    python -m benchmarks.cuda.machine_code                 every program
    python -m benchmarks.cuda.machine_code heat softmax    those whose names begin so

No times: a GPU does whole numbers at half the speed of float32, and what is not in registers ("stack") lies in memory.
The instructions are those of the whole kernel, with what threads at edges do and a thread inside does not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cuda.counted import SIZES, VECTORS
from benchmarks.cuda.program import DeviceProgram
from benchmarks.cuda.programs import PROGRAMS

CAPABILITY = (9, 0)
OF_WHOLE_NUMBERS = frozenset(
    "IADD3 IMAD IMNMX ISETP LEA LOP3 P2R PLOP3 R2P SEL SHF UIADD3 UIMAD UISETP ULOP3 USEL USHF VIADD VIMNMX".split()
)
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][A-Z0-9]*)[^;]*;")


class Counted(NamedTuple):
    instructions: int
    whole_numbers: int
    registers: int
    stack: int  # bytes of each thread


def main(prefixes: list[str]) -> None:
    print(f"{'':44}{'instructions':>14}{'whole numbers':>15}{'registers':>11}{'stack':>7}")
    for name, program in PROGRAMS.items():
        if name.startswith(tuple(prefixes) or ("",)):
            for dtype in (np.float32, np.float64):
                for kernel, counted in kernels_of(program, dtype).items():
                    row = f"{counted.instructions:14}{counted.whole_numbers:15}{counted.registers:11}{counted.stack:7}"
                    print(f"{kernel:36}{np.dtype(dtype).name:>8}{row}", flush=True)


def kernels_of(program: DeviceProgram, dtype: Any) -> dict[str, Counted]:
    from srcgrad import grad

    f = grad(program.primal, wrt=program.wrt, target="cuda")
    arguments = [_of(a, dtype) for a in program.arguments(SIZES.get(program.name, VECTORS))]
    return {name: compiled(text) for name, text in f.ptx(*arguments, cc=CAPABILITY).items()}


def _of(argument: Any, dtype: Any) -> Any:
    if isinstance(argument, np.ndarray) and argument.dtype.kind == "f":
        return argument.astype(dtype)
    return dtype(argument) if isinstance(argument, float) else argument


def compiled(ptx: str) -> Counted:
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        target = f"-arch=sm_{CAPABILITY[0]}{CAPABILITY[1]}"
        said = run(tool("ptxas"), "-v", target, str(source), "-o", str(binary)).stderr
        return counted(run(tool("nvdisasm"), "-c", str(binary)).stdout, said)


def counted(listing: str, said: str) -> Counted:
    """Of what nvdisasm lists, and of what ptxas says."""
    names = [name for name in INSTRUCTION.findall(listing) if name != "NOP"]
    registers = re.search(r"Used (\d+) registers", said)
    stack = re.search(r"(\d+) bytes cumulative stack", said)
    assert registers is not None, said
    whole = sum(name in OF_WHOLE_NUMBERS for name in names)
    return Counted(len(names), whole, int(registers[1]), int(stack[1]) if stack else 0)


def tool(name: str) -> str:
    """A program of CUDA's: where pip puts it, or on the path."""
    installed = [str(path) for folder in sys.path for path in Path(folder, "nvidia").glob(f"*/bin/{name}")]
    found = next(iter(installed), None) or shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is not there:  pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm")
    return found


def run(*command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:  # an assembler that is older than what was generated, for one
        raise SystemExit(f"{command[0]}: {done.stderr or done.stdout}")
    return done


if __name__ == "__main__":
    main(sys.argv[1:])
