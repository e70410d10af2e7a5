"""parallel=True against the serial code, on one thread and on two.

    python -m benchmarks parallel                 everything; writes results/parallel.json, docs/performance.md
    python -m benchmarks parallel --only gmm      some of it, printed only

The programs of the tables whose loops are independent, at sizes where a gradient takes more than 10 ms.  Two threads
need two cores at once, which a machine with other work on it seldom has to give: so there are several runs of many
short repetitions, in turns, and the best time of each way is what is compared within a run.  The table has the best of
the runs and their median.  Beside it stands what the longer of the two threads took of its processor: what the time
would be if nobody else were there, but for what two threads want of memory at once.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import record, tables
from benchmarks.processes import in_process

SIZES = {
    "square": (30_000_000,),
    "square_sum": (30_000_000,),
    "weighed": (30_000_000,),
    "curve": (15_000_000,),
    "moments": (30_000_000,),
    "row_moments": (10_000_000,),
    "kepler": (400_000,),
    "kmeans": (500_000, 32, 8),
    "gmm_loops": (20_000, 10, 25),
    "gmm_numpy": (20_000, 10, 25),
    "logistic_regression": (1_000_000, 30),
    "heat_3d": (96, 8),
    "convolution": (1_500, 7),
    "n_body": (600, 10),
    "sparse_product": (500_000, 10),
    "black_scholes": (1_500_000,),
    "chain_functions": (2_000_000,),
    "chain_arithmetic": (10_000_000,),
}
WAYS = ("serial", "one thread", "two threads")
BARS = {"one thread": 1 / 1.1, "two threads": 1.6}  # times as fast as the serial code
RUNS, ROUNDS, SECONDS = 8, 25, 2.0  # of each run at most
TWO_THREADS = {"NUMBA_NUM_THREADS": "2"}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks parallel")
    parser.add_argument("--only", help="programs whose names begin so: gmm,kmeans")
    options = parser.parse_args(arguments)
    prefixes = tuple(options.only.split(",")) if options.only else ("",)
    rows = []
    for name in SIZES:
        if name.startswith(prefixes):
            rows.append({"program": name, **in_process("parallel", name, **TWO_THREADS)})
            print(line(rows[-1]), flush=True)
    if not options.only:
        record.save("parallel", rows)
        publish()


def publish() -> None:
    """From results/parallel.json to the page."""
    record.show("parallel", table(record.load("parallel")))


# --------------------------------------------------------------------------------------------------------------
# In a process of its own


def row(name: str) -> dict[str, Any]:
    import numba

    from benchmarks.contestants import disagreement, with_srcgrad
    from benchmarks.programs import PROGRAMS

    program = PROGRAMS[name]
    arguments = program.arguments(SIZES[name])
    v = program.cotangent(arguments)
    serial = with_srcgrad(program, arguments, v).gradient
    parallel = with_srcgrad(program, arguments, v, parallel=True).gradient
    assert serial is not None and parallel is not None

    def on_threads(count: int) -> Callable[[], Any]:
        def call() -> Any:
            numba.set_num_threads(count)
            return parallel()

        return call

    calls = dict(zip(WAYS, (serial, on_threads(1), on_threads(2)), strict=True))
    found: dict[str, Any] = {"size": program.label(SIZES[name])}
    expected = serial()
    for way in WAYS[1:]:
        if wrong := disagreement(program, calls[way](), expected):
            return {**found, "failed": f"{way} disagrees: {wrong}"}
    gc.disable()
    return {**found, "runs": [in_turns(calls) for _ in range(RUNS)]}


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """The best seconds by the clock on the wall, and those that the longer of two threads had of its processor."""
    taken: dict[str, list[float]] = {way: [] for way in calls}
    longer: dict[str, list[float]] = {way: [] for way in calls}
    end = time.perf_counter() + SECONDS
    while len(taken["serial"]) < ROUNDS and (len(taken["serial"]) < 5 or time.perf_counter() < end):
        for way, call in calls.items():
            time.sleep(0.01)  # who has slept goes first
            process, thread, start = time.process_time(), time.thread_time(), time.perf_counter()
            call()
            taken[way].append(time.perf_counter() - start)
            own = time.thread_time() - thread
            longer[way].append(max(own, time.process_time() - process - own))
    return {way: {"wall": min(t), "thread": min(longer[way]), "repetitions": len(t)} for way, t in taken.items()}


# --------------------------------------------------------------------------------------------------------------
# The table


def ratios(row: dict[str, Any], way: str, which: str = "wall") -> list[float]:
    """How many times as fast as the serial code, in each of the runs."""
    return [run["serial"][which] / run[way][which] for run in row["runs"]]


def line(row: dict[str, Any]) -> str:
    """For the terminal."""
    name = f"{row['program']:<20} {row.get('size', ''):<40}"
    if "failed" in row:
        return f"{name} {row['failed']}"
    ways = [f"{way} {', '.join(_ratios(row, way))}" for way in WAYS[1:]]
    missed = [f"missed: {way} {bar:.2f}x" for way, bar in BARS.items() if max(ratios(row, way)) < bar]
    repetitions = sum(run["serial"]["repetitions"] for run in row["runs"])
    parts = [f"{name} serial {_time(row)}", *ways, *missed, f"({repetitions} repetitions)"]
    return "   ".join(parts)


def _time(row: dict[str, Any]) -> str:
    return tables.duration(min(run["serial"]["wall"] for run in row["runs"]))


def _ratios(row: dict[str, Any], way: str) -> list[str]:
    wall = ratios(row, way)
    return [f"{found:.2f}x" for found in (max(wall), statistics.median(wall), max(ratios(row, way, "thread")))]


def table(saved: dict[str, Any]) -> str:
    """For the page."""
    return "\n".join(
        [
            tables.heading(saved).replace("one core used", "two cores used"),
            "",
            "| program | size | serial | one thread | median | two threads | median | longer thread |",
            "|---|---|---|---|---|---|---|---|",
            *map(_cells, saved["figures"]),
        ]
    )


def _cells(row: dict[str, Any]) -> str:
    name = f"`{row['program']}`"
    if "failed" in row:
        return tables.cells(name, row.get("size", ""), tables.words(row), "", "", "", "", "")
    one, two = (_ratios(row, way) for way in WAYS[1:])
    return tables.cells(name, row["size"], _time(row), *one[:2], *two)
