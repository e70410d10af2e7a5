"""tests/cuda in Numba's simulator of a GPU, on any machine.

Numba decides when it is imported whether it simulates, so that this is another process; several of them, so that the
workers of pytest share the work.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "cuda"
SHARES = 4  # of the corpus, each in a process of its own

PARTS = {
    **{f"corpus-{share}": (["test_cuda_corpus.py"], share, 45) for share in range(SHARES)},
    "programs": (["test_cuda_programs.py", "test_cuda_library.py"], 0, 80),
    "generated": (["test_cuda_properties.py", "test_cuda_errors.py", "test_cuda_simulator.py"], 0, 20),
    "launches": (["test_cuda_launches.py", "test_cuda_extremes.py", "test_cuda_columns.py"], 0, 110),
    "benchmarks": (["test_cuda_benchmarks.py", "test_cuda_examples.py", "test_cuda_sweeps.py"], 0, 60),
}


@pytest.mark.parametrize("part", PARTS)
def test_in_the_simulator(part: str) -> None:
    files, share, least = PARTS[part]
    report = simulated(files, share)
    output = report.stdout + report.stderr
    assert report.returncode == 0, f"tests/cuda failed in the simulator:\n{output}"
    passed = re.search(r"(\d+) passed", output)
    assert passed and int(passed[1]) >= least, f"too few tests ran:\n{output}"


def simulated(files: list[str], share: int) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "NUMBA_ENABLE_CUDASIM": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "SRCGRAD_SHARE": f"{share}/{SHARES}",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    return subprocess.run(
        [*command, *(str(FOLDER / name) for name in files)],
        env=environment,
        cwd=FOLDER.parent.parent,
        capture_output=True,
        text=True,
    )


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
    }
    command = ["bash", str(FOLDER.parent.parent / "benchmarks" / "cuda" / "run_all.sh"), "memcheck"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert outcome in done.stdout and done.returncode == 0, done.stdout + done.stderr


def test_nobody_to_measure() -> None:
    from benchmarks.cuda.measure import measure

    assert measure({}) == {}
