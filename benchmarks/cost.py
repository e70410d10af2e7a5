"""How the time and the memory of a gradient grow with size and with the length of loops.

    python -m benchmarks cost                     everything; writes results/cost.json, a plot, docs/performance.md
    python -m benchmarks cost --only rk4          some of it, printed only

On logarithmic axes a power is a straight line: its slope, fitted to the upper half of the points, is printed.  A
gradient whose slope is the primal's costs a constant multiple of it.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

from benchmarks import record, tables
from benchmarks.memory import RETURN_FREED
from benchmarks.processes import in_process


@dataclass(frozen=True)
class Case:
    """One program whose size grows along one axis."""

    program: str
    axis: str
    sizes: tuple[tuple[int, ...], ...]
    at: int  # which number of a size is the axis
    work: float = 1.0  # the power in which the primal's work grows

    @property
    def name(self) -> str:
        return f"{self.program} by {self.axis}"


# fmt: off
CASES = {case.name: case for case in (
    Case("square_sum", "elements", tuple((10**k,) for k in range(2, 8)), 0),
    Case("chain_functions", "elements", tuple((10**k,) for k in range(2, 7)), 0),
    Case("recurrence", "steps", tuple((10**k,) for k in range(2, 8)), 0),
    Case("adaptive", "steps", tuple((10**k,) for k in range(2, 7)), 0),
    Case("rk4", "states", tuple((n, 100) for n in (10, 30, 100, 300, 1_000, 3_000)), 0),
    Case("rk4", "steps", tuple((100, n) for n in (10, 100, 1_000, 10_000, 30_000)), 1),
    Case("heat_3d", "side", tuple((n, 10) for n in (8, 16, 32, 64, 128)), 0, work=3.0),
    Case("heat_3d", "steps", tuple((32, n) for n in (4, 16, 64, 256)), 1),
    Case("gauss_seidel", "sweeps", tuple((100, n) for n in (1, 10, 100, 1_000)), 1),
    Case("gmm_loops", "points", tuple((n, 10, 25) for n in (10, 100, 1_000, 10_000)), 0),
    Case("cholesky", "side", tuple((n,) for n in (10, 30, 100, 300, 600)), 0, work=3.0),
    Case("lu", "side", tuple((n,) for n in (10, 30, 100, 300, 600)), 0, work=3.0),
)}
# fmt: on


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cost")
    parser.add_argument("--only", help="cases whose names begin so: rk4,gmm")
    options = parser.parse_args(arguments)
    prefixes = tuple(options.only.split(",")) if options.only else ("",)
    rows = []
    for case in CASES.values():
        if case.name.startswith(prefixes):
            rows.append(measured(case))
            print("\n".join(lines(rows[-1])), flush=True)
    if not options.only:
        record.save("cost", rows)
        publish()


def publish() -> None:
    """From results/cost.json to the page and the plot."""
    from benchmarks import plots

    saved = record.load("cost")
    plots.cost(saved)
    record.show("cost", table(saved))


def measured(case: Case) -> dict[str, Any]:
    times = in_process("cost", case.name, "times")
    memory = in_process("cost", case.name, "memory", **RETURN_FREED)  # which costs time
    row: dict[str, Any] = {"case": case.name, "axis": case.axis, "work": case.work}
    if failed := [found["failed"] for found in (times, memory) if isinstance(found, dict)]:
        return {**row, "failed": failed[0]}
    points = [one | other for one, other in zip(times, memory, strict=True)]
    slopes = {curve: slope(points, curve) for curve in ("primal", "gradient", "by hand", "peak memory")}
    return {**row, "points": points, "slopes": slopes}


def curve(name: str, what: str) -> list[dict[str, Any]]:
    """The points of one case, times or memory: a process of its own does this."""
    from benchmarks.contestants import CONTESTANTS
    from benchmarks.memory import rise
    from benchmarks.processes import why
    from benchmarks.programs import PROGRAMS
    from benchmarks.timing import QUICK, measure, stay_on_one_core

    stay_on_one_core()
    case = CASES[name]
    program = PROGRAMS[case.program]
    points = []
    few = program.arguments(program.tiny)
    for contestant in "srcgrad", "by hand":
        CONTESTANTS[contestant](program, few, program.cotangent(few)).gradient()
    for size in case.sizes:
        arguments = program.arguments(size)
        v = program.cotangent(arguments)
        own = CONTESTANTS["srcgrad"](program, arguments, v)
        point: dict[str, Any] = {"size": size[case.at]}
        try:
            if what == "memory":
                point["peak memory"], _ = rise(own.gradient)
            else:
                other = CONTESTANTS["by hand"](program, arguments, v)
                calls = {"primal": own.primal, "gradient": own.gradient, "by hand": other.gradient}
                for call in calls.values():
                    call()
                point |= {part: timing.min for part, timing in measure(calls, QUICK).items()}
        except Exception as error:
            point["failed"] = why(error)
        points.append(point)
    return points


def slope(points: list[dict[str, Any]], curve: str) -> float | None:
    """Of the straight line through the upper half of the points, on logarithmic axes."""
    places = [(math.log(point["size"]), math.log(point[curve])) for point in points if point.get(curve)]
    places = places[len(places) // 2 - 1 :] if len(places) > 3 else places
    if len(places) < 2:
        return None
    x, y = (sum(values) / len(places) for values in zip(*places, strict=True))
    return sum((a - x) * (b - y) for a, b in places) / sum((a - x) ** 2 for a, _ in places)


def lines(row: dict[str, Any]) -> list[str]:
    """For the terminal."""
    if "failed" in row:
        return [f"{row['case']}: {row['failed']}"]
    title = f"{row['case']}: slopes " + ", ".join(f"{curve} {_slope(value)}" for curve, value in row["slopes"].items())
    return [title, *(f"    {row['axis']} {_point(point)}" for point in row["points"])]


def _slope(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _point(point: dict[str, Any]) -> str:
    if "failed" in point:
        return f"{point['size']:>10,}   {point['failed']}"
    times = "   ".join(f"{part} {tables.duration(point[part]):>8}" for part in ("primal", "gradient", "by hand"))
    return f"{point['size']:>10,}   {times}   peak memory {tables.size(point['peak memory'])}"


def table(saved: dict[str, Any]) -> str:
    """For the page: the slopes, and the largest point."""
    rows = [row for row in saved["figures"] if "failed" not in row]
    return "\n".join(
        [
            tables.heading(saved),
            "",
            "| program | work grows as | primal | gradient | peak memory | the largest | gradient | peak memory |",
            "|---|---|---|---|---|---|---|---|",
            *(_row(row) for row in rows),
        ]
    )


def _row(row: dict[str, Any]) -> str:
    slopes, last = row["slopes"], row["points"][-1]
    found = [_slope(slopes[curve]) for curve in ("primal", "gradient", "peak memory")]
    largest = [f"{last['size']:,}", tables.duration(last.get("gradient")), tables.size(last.get("peak memory"))]
    program, _, axis = row["case"].partition(" by ")
    return tables.cells(f"`{program}`", f"{axis}^{row['work']:.0f}", *found, *largest)
