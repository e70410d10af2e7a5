"""srcgrad on a GPU against PyTorch (as it is, and compiled) and JAX on the same card.

    python -m benchmarks cuda                       everything; writes results/cuda_CARD.json and docs/cuda.md
    python -m benchmarks cuda --only rk4,heat       some of it, printed only
    python -m benchmarks cuda --minutes 9           as much as begins in that time; what is left out is said
    python -m benchmarks cuda --minutes 9 --go-on   what is not in results/cuda_CARD.json yet

Programs prepare side by side (compilers take most of the time), and are measured one after another.  Each row first
checks that all contestants agree.  Times are those of gradients of arrays that lie on the device.  A copy from the
device to the device, measured in the same run, says how fast its memory is; "of a copy's speed" are the bytes that the
gradient has to move, by its time, by that.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from benchmarks import record
from benchmarks.cuda import bars, tables
from benchmarks.cuda.programs import PROGRAMS
from benchmarks.processes import in_process

# Beside what keeps contestants on one core of the host: JAX finds the GPU, and leaves memory to others.
ON_THE_GPU = {
    "JAX_PLATFORMS": "cuda",
    "XLA_FLAGS": "",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # programs compile side by side
}
LONGEST = 900.0  # seconds for programs that are prepared side by side


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cuda")
    parser.add_argument("--only", help="programs whose names begin so: rk4,heat")
    parser.add_argument("--minutes", type=float, help="take no longer than so many")
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), help="so many programs prepare side by side")
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
    for some in (wanted[k : k + options.at_once] for k in range(0, len(wanted), options.at_once)):
        left = end - time.monotonic()
        if left < 30.0:
            left_out += some
            continue
        for found in side_by_side(some, min(LONGEST, left), card["bandwidth"]):
            rows += found
            if not options.only:
                record.save(name, {**card, "rows": in_order(rows)})  # after each program: a run may be cut off
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


def side_by_side(programs: list[str], timeout: float, bandwidth: float) -> Iterator[list[dict[str, Any]]]:
    """The rows of each program, in the order in which they end."""
    with tempfile.TemporaryDirectory() as turns, ThreadPoolExecutor(len(programs)) as pool:
        for done in as_completed(pool.submit(measured, name, turns, timeout) for name in programs):
            for row in done.result():
                print(tables.line(row, bandwidth), flush=True)
                for words in bars.missed(row, bandwidth):
                    print(f"      missed: {words}", flush=True)
            yield done.result()


def measured(program: str, turns: str, timeout: float) -> list[dict[str, Any]]:
    found = in_process("cuda", program, turns, timeout=timeout, **ON_THE_GPU)
    if isinstance(found, dict):  # the whole process failed
        about = {"program": program, "kind": PROGRAMS[program].kind, "dtype": "", "size": "", "moved": 0}
        found = [{**about, "gradient": {"srcgrad": found["failed"]}}]
    return found


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By program, as they are listed."""
    order = {name: place for place, name in enumerate(PROGRAMS)}
    return sorted(rows, key=lambda row: order[row["program"]])


def file_name(card: str) -> str:
    """One file per card: cuda_nvidia_h200"""
    return "cuda_" + re.sub(r"\W+", "_", card).strip("_").lower()


def publish() -> None:
    """From the results of every card to the page."""
    found = sorted(record.RESULTS.glob("cuda_*.json"))
    if found:
        record.show("cuda", "\n\n".join(tables.page(record.load(path.stem)) for path in found), "docs/cuda.md")
