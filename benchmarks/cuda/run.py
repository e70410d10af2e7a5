"""srcgrad on a GPU against PyTorch (as it is, and compiled) and JAX on the same card.

    python -m benchmarks cuda                       everything; writes results/cuda_CARD.json and docs/cuda.md
    python -m benchmarks cuda --only rk4,heat       some of it, printed only
    python -m benchmarks cuda --minutes 9           as much as begins in that time; what is left out is said
    python -m benchmarks cuda --minutes 9 --go-on   what is not in results/cuda_CARD.json yet

Each row first checks that all contestants agree.  Times are those of gradients of arrays that lie on the device.  A
copy from the device to the device, measured in the same run, says how fast its memory is; "of a copy's speed" are the
bytes that the gradient has to move, by its time, by that.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from typing import Any

from benchmarks import record
from benchmarks.cuda import bars, tables
from benchmarks.cuda.programs import PROGRAMS
from benchmarks.processes import in_process

# Beside what keeps contestants on one core of the host: JAX finds the GPU, and leaves memory to others.
ON_THE_GPU = {"JAX_PLATFORMS": "cuda", "XLA_FLAGS": "", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
LONGEST = 300.0  # seconds for all rows of a program


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cuda")
    parser.add_argument("--only", help="programs whose names begin so: rk4,heat")
    parser.add_argument("--minutes", type=float, help="begin no program after so many")
    parser.add_argument("--go-on", action="store_true", help="only what is not among the results yet")
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60.0 * options.minutes if options.minutes else float("inf")
    if (words := without_gpu()) is not None:
        sys.exit(words)
    card = in_process("cuda_card", **ON_THE_GPU)
    if "failed" in card:
        sys.exit(f"the card could not be measured: {card['failed']}")
    print(tables.card(card), flush=True)
    for words in bars.missed_by_launches(card["launch"]):
        print(f"      missed: {words}", flush=True)
    name = file_name(card["card"])
    rows = record.load(name)["figures"]["rows"] if options.go_on and (record.RESULTS / f"{name}.json").exists() else []
    prefixes = tuple(options.only.split(",")) if options.only else ("",)
    wanted = [p for p in PROGRAMS if p.startswith(prefixes) and p not in {row["program"] for row in rows}]
    left_out = []
    for program in wanted:
        if time.monotonic() > end:
            left_out.append(program)
            continue
        rows += measured(program, min(LONGEST, end + 30.0 - time.monotonic()), card["bandwidth"])
        if not options.only:
            record.save(name, {**card, "rows": rows})  # after each program: a run may be cut off
    if left_out:
        print(f"left out, for want of time: {', '.join(left_out)}")
    if not options.only:
        publish()


def without_gpu() -> str | None:
    """What to say where there is no GPU."""
    try:
        from numba import cuda
    except ImportError:
        return "benchmarks cuda: no numba-cuda here:  pip install 'srcgrad[cuda]'"
    from numba.core import config

    if config.ENABLE_CUDASIM:
        return "benchmarks cuda: NUMBA_ENABLE_CUDASIM is set, and a simulator's times say nothing"
    if not cuda.is_available():
        return "benchmarks cuda: no NVIDIA GPU here, or no driver for it: nothing was measured"
    return None


def measured(program: str, timeout: float, bandwidth: float) -> list[dict[str, Any]]:
    found = in_process("cuda", program, timeout=timeout, **ON_THE_GPU)
    if isinstance(found, dict):  # the whole process failed
        about = {"program": program, "kind": PROGRAMS[program].kind, "dtype": "", "size": "", "moved": 0}
        found = [{**about, "gradient": {"srcgrad": found["failed"]}}]
    for row in found:
        print(tables.line(row, bandwidth), flush=True)
        for words in bars.missed(row, bandwidth):
            print(f"      missed: {words}", flush=True)
    return found


def file_name(card: str) -> str:
    """One file per card: cuda_nvidia_h200"""
    return "cuda_" + re.sub(r"\W+", "_", card).strip("_").lower()


def publish() -> None:
    """From the results of every card to the page."""
    found = sorted(record.RESULTS.glob("cuda_*.json"))
    if found:
        record.show("cuda", "\n\n".join(tables.page(record.load(path.stem)) for path in found), "docs/cuda.md")
