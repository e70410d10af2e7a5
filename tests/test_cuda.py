"""tests/cuda on any machine: kernels as Python in Numba's simulator, and their PTX on a virtual GPU.

Numba decides when it is imported whether it simulates, and has one GPU, so that these are other processes; several of
them, so that the workers of pytest share the work.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "cuda"
SHARES = 2  # of the corpus, each in a process of its own


def named(names: str) -> list[str]:
    return [f"test_cuda_{name}.py" for name in names.split()]


# For each part its files, which of their tests, and how many of those there are at least.
SIMULATED = {
    **{f"corpus-{share}": (["test_cuda_corpus.py"], 140) for share in range(SHARES)},
    "programs": (named("programs library properties simulator arithmetic"), 100),
    "states": (named("states alone grids later kept sums again same_kernels"), 250),
    "reductions": (
        named("extremes columns parted_loops benchmarks examples sweeps gathered ahead where_read layouts strides"),
        330,
    ),
    "rows": (
        named(
            "quotients far held steps checkpoints first_steps remainders scans flat in_parallel apart bits cases narrow"
        ),
        475,
    ),
}
IN_TURNS = ("reductions", "rows")  # of these, every third case of tests that have many; a GPU runs them all
SOME = (
    "black_scholes or mandelbrot or rk4 or scattered or mixture or two_layers or softmax or stencil or conjugate or "
    "iterations_that or nests or in_place_by_rows"
)  # of the programs, which the simulator runs all: to compile a kernel takes a quarter of a second
TURNS = {"launches": "2", "programs": "3"}  # of others every twelfth case is compiled: the simulator runs them all
OTHERS = (
    "(softmax and 1024) or (set_where and 512) or "
    "test_gradients and (backward and not value or two_buffers or in_place-3)"
)
VIRTUAL = {
    "programs": ([*named("programs"), "-k", f"({SOME}) and not (conjugate and float32)"], 7),
    "launches": (named("launches replayed errors arrays virtual arithmetic narrow"), 110),
    "loops": (named("kept sums again layouts strides same_kernels"), 39),
    "parts": (
        [*named("steps library quotients"), "-k", "not float32 and (test_cuda_steps or long_sums or by_any_number)"],
        12,
    ),
    "scans": (
        [
            *named("scans flat extremes"),
            "-k",
            "running_sum-1100 or filter_of_two-40 or advantages-40 or exact or 4-5 or queue-40 or stretch-40 or "
            "farthest or fetched or (one_kernel and float64)",
        ],
        9,
    ),
    "steps": (named("states alone grids later remainders apart bits cases"), 50),
    "rows": ([*named("ahead held checkpoints where_read first_steps"), "-k", f"ahead or {OTHERS}"], 21),
}


@pytest.mark.parametrize("part", SIMULATED)
def test_in_the_simulator(part: str) -> None:
    files, least = SIMULATED[part]
    share = part.partition("-")[2] or "0"
    how = {"NUMBA_ENABLE_CUDASIM": "1", "SRCGRAD_SHARE": f"{share}/{SHARES}"}
    run(files, least, how | ({"SRCGRAD_TURNS": "3"} if part in IN_TURNS else {}))


@pytest.mark.skipif(sys.platform != "linux", reason="numba-cuda is there for Linux alone")
@pytest.mark.parametrize("part", VIRTUAL)
def test_on_the_virtual_gpu(part: str) -> None:
    run(*VIRTUAL[part], {"SRCGRAD_VIRTUAL_GPU": "1", "SRCGRAD_TURNS": TURNS.get(part, "12")})


def run(files: list[str], least: int, how: dict[str, str]) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **how,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    report = subprocess.run(
        [*command, *(str(FOLDER / name) if name.endswith(".py") else name for name in files)],
        env=environment,
        cwd=FOLDER.parent.parent,
        capture_output=True,
        text=True,
    )
    output = report.stdout + report.stderr
    assert report.returncode == 0, f"tests/cuda failed with {how}:\n{output}"
    passed = re.search(r"(\d+) passed", output)
    assert passed and int(passed[1]) >= least, f"too few tests ran:\n{output}"


# ------------------------------------------------------------------------------------------ the script for a machine

WATCHES = """#!/usr/bin/env bash
while [ "${1:0:2}" = -- ]; do shift 2; done
case "$*" in *pytest*) exec "$@" --collect-only ;; *) exec "$@" ;; esac
"""
REFUSES = """#!/usr/bin/env bash
echo '========= Error: Device not supported. Please refer to the "Supported Devices" section'
"""


@pytest.mark.parametrize("sanitizer, outcome", [(WATCHES, "memcheck: passed"), (REFUSES, "memcheck: left out")])
def test_the_sanitizer_is_given_what_it_can_run(sanitizer: str, outcome: str, tmp_path: Path) -> None:
    script = tmp_path / "compute-sanitizer"
    script.write_text(sanitizer)
    script.chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHON": sys.executable,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "LOGS": str(tmp_path),
        "WORKERS": "2",
    }
    command = ["bash", str(FOLDER.parent.parent / "benchmarks" / "cuda" / "run_all.sh"), "memcheck"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert outcome in done.stdout and done.returncode == 0, done.stdout + done.stderr


def test_nobody_to_measure() -> None:
    from benchmarks.cuda.measure import measure

    assert measure({}) == {}
