"""Programs as other people write them (tests/corpus/programs): what compiling costs, and a gradient beside its primal.

    python -m benchmarks breadth                  everything; writes results/breadth.json, docs/performance.md
    python -m benchmarks breadth --only gas       some of it, printed only

Each in a process that finds an empty cache.  The compiled gradient is compared with that of the generated source run as
plain Python first.  Programs that write their arguments are timed with a copy of these.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import record, tables
from benchmarks.processes import in_process
from benchmarks.timing import QUICK, measure, stay_on_one_core

TESTS = Path(__file__).resolve().parent.parent / "tests"
BARS = {"first": 60.0, "median first": 8.0, "ratio": 5.0}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks breadth")
    parser.add_argument("--only", help="programs whose names begin so: gas,lanczos")
    options = parser.parse_args(arguments)
    prefixes = tuple(options.only.split(",")) if options.only else ("",)
    rows = []
    for name in _programs():
        if name.startswith(prefixes):
            rows.append({"program": name, **in_process("breadth", name)})
            print(line(rows[-1]), flush=True)
    print(summary(rows))
    if not options.only:
        record.save("breadth", {"rows": rows})
        publish()


def publish() -> None:
    """From results/breadth.json to the page."""
    record.show("breadth", table(record.load("breadth")))


def _programs() -> dict[str, Any]:
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    from corpus.programs import PROGRAMS

    return {program.name: program for program in PROGRAMS}


# --------------------------------------------------------------------------------------------------------------
# In a process of its own


def row(name: str) -> dict[str, Any]:
    import numba
    import numpy as np

    from srcgrad import grad

    program = _programs()[name]
    stay_on_one_core()
    numba.njit(lambda: 1)()  # Numba has more to import when it first compiles

    import support

    def at(size: int) -> tuple[tuple[Any, ...], Any, Any]:
        args, _ = program.case(size).arguments(np.dtype(float), 0)
        y = support.subject(program.function, args, {}, None, program.writes).run(support.fresh(args))
        return args, y, support.random_like(np.random.default_rng(0), y)

    f = grad(program.function)
    args, _, v = at(program.small)
    start = time.perf_counter()
    found = f.backward(*support.fresh(args), v)
    first = time.perf_counter() - start
    expected = grad(program.function, jit=False).backward(*support.fresh(args), v)
    support.assert_close(found, expected, 1e-9 * program.loose, "compiled gradient")

    args, _, v = at(program.large)
    calls = {
        "primal": lambda: f(*support.fresh(args)),
        "gradient": lambda: f.backward(*args, v),
        "numpy": lambda: program.function(*support.fresh(args)),
    }
    for call in calls.values():
        call()
    times = {what: dataclasses.asdict(timing) for what, timing in measure(calls, QUICK).items()}
    loops = sum(text.lstrip().startswith(("for ", "while ")) for text in f.source(*args).splitlines())
    return {"size": program.large, "first": first, "loops": loops, **times}


# --------------------------------------------------------------------------------------------------------------
# The table


def ratio(row: dict[str, Any]) -> float:
    return row["gradient"]["median"] / row["primal"]["median"]


def line(row: dict[str, Any]) -> str:
    """For the terminal."""
    return "   ".join(text.strip("` ") for text in _cells(row))


def summary(rows: list[dict[str, Any]]) -> str:
    good = [row for row in rows if "failed" not in row]
    first = [row["first"] for row in good]
    return (
        f"{len(good)} of {len(rows)} programs; first gradient: median {statistics.median(first):.1f} s, "
        f"longest {max(first):.1f} s; gradient over primal: median {statistics.median(map(ratio, good)):.2f}, "
        f"{sum(ratio(row) > BARS['ratio'] for row in good)} above {BARS['ratio']:.0f}"
    )


def table(saved: dict[str, Any]) -> str:
    """For the page."""
    rows = saved["figures"]["rows"]
    return "\n".join(
        [
            tables.heading(saved),
            "",
            f"{summary(rows)}.",
            "",
            "| program | size | first gradient | loops | NumPy | primal | gradient | gradient / primal |",
            "|---|---|---|---|---|---|---|---|",
            *(tables.cells(*_cells(row)) for row in rows),
        ]
    )


def _cells(row: dict[str, Any]) -> list[str]:
    name = f"`{row['program']}`"
    if "failed" in row:
        return [name, "", tables.words(row), *[""] * 5]
    shown = [tables.duration(row[what]) for what in ("numpy", "primal", "gradient")]
    return [name, f"{row['size']}", f"{row['first']:.1f} s", f"{row['loops']}", *shown, f"{ratio(row):.2f}"]
