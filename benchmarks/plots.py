"""Pictures of the figures: results/tape_times.svg, tape_memory.svg, tape_sizes.svg, cost.svg."""

from __future__ import annotations

from typing import Any

from benchmarks import record
from benchmarks.bars import number, seconds
from benchmarks.tables import NAMES

LOOKS = {
    "srcgrad": ("#1b7837", "o"),
    "by hand": ("#000000", "|"),
    "jax": ("#2166ac", "s"),
    "jax loops": ("#92c5de", "D"),
    "torch": ("#d6604d", "^"),
    "autograd": ("#b2abd2", "v"),
}


def tape(saved: dict[str, Any]) -> None:
    rows = saved["figures"]
    by_program: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_program.setdefault(row["program"], []).append(row)
    largest = [found[-1] for found in by_program.values()]
    _dots("tape_times", largest, _relative_time, "time of a gradient, srcgrad's = 1", line=1.0)
    _dots("tape_memory", largest, _megabytes, "kept for the reverse sweep, MB")
    _sizes("tape_sizes", {name: found for name, found in by_program.items() if len(found) > 2})


def _relative_time(row: dict[str, Any], contestant: str) -> float | None:
    own, other = seconds(row["gradient"].get("srcgrad")), seconds(row["gradient"].get(contestant))
    return other / own if own and other else None


def _megabytes(row: dict[str, Any], contestant: str) -> float | None:
    kept = number(row["kept"].get(contestant))
    return None if kept is None else max(kept / 1e6, 0.01)


def _dots(name: str, rows: list[dict[str, Any]], value: Any, title: str, line: float | None = None) -> None:
    """A line per program, a mark per contestant."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(8, 1.5 + 0.27 * len(rows)))
    for contestant, (colour, marker) in LOOKS.items():
        places = [(value(row, contestant), at) for at, row in enumerate(rows)]
        places = [place for place in places if place[0] is not None]
        if places:
            axes.scatter(
                *zip(*places, strict=True), color=colour, marker=marker, s=36, label=NAMES[contestant], zorder=3
            )
    if line:
        axes.axvline(line, color="#1b7837", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [f"{row['program']}  {row['size']}" for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.grid(True, axis="both", linewidth=0.3)
    axes.set_title(title, fontsize=10)
    figure.legend(fontsize=8, loc="lower center", ncols=len(LOOKS), frameon=False)
    _save(figure, name)


def _sizes(name: str, programs: dict[str, list[dict[str, Any]]]) -> None:
    """The worked examples: time against size."""
    if not programs:
        return
    figure, panels = _panels(len(programs), columns=3)
    for axes, (program, rows) in zip(panels, programs.items(), strict=False):
        lengths = [int(row["size"].rpartition("=")[2].replace(",", "")) for row in rows]
        for contestant, (colour, marker) in LOOKS.items():
            found = [(n, seconds(row["gradient"].get(contestant))) for n, row in zip(lengths, rows, strict=True)]
            found = [place for place in found if place[1]]
            if found:
                axes.loglog(
                    *zip(*found, strict=True), color=colour, marker=marker, markersize=4, label=NAMES[contestant]
                )
        axes.set_title(program, fontsize=9)
        axes.grid(True, linewidth=0.3)
    panels[0].legend(fontsize=7)
    panels[0].set_ylabel("seconds of a gradient", fontsize=8)
    _save(figure, name)


def cost(saved: dict[str, Any]) -> None:
    rows = [row for row in saved["figures"] if "failed" not in row]
    figure, panels = _panels(len(rows), columns=3)
    curves = {"primal": "#7fbf7b", "gradient": "#1b7837", "by hand": "#000000"}
    for axes, row in zip(panels, rows, strict=False):
        points = [point for point in row["points"] if "failed" not in point]
        sizes = [point["size"] for point in points]
        for curve, colour in curves.items():
            label = f"{curve}, slope {row['slopes'][curve]:.2f}"
            axes.loglog(sizes, [point[curve] for point in points], color=colour, marker=".", label=label)
        memory = [(point["size"], point["peak memory"]) for point in points if point["peak memory"]]
        if len(memory) > 1:
            right = axes.twinx()
            slope = row["slopes"]["peak memory"]
            right.loglog(*zip(*memory, strict=True), "--", color="#d6604d", label=f"peak bytes, slope {slope:.2f}")
            right.legend(fontsize=6, loc="lower right", frameon=False)
            right.tick_params(labelsize=6)
        axes.set_title(row["case"], fontsize=9)
        axes.grid(True, linewidth=0.3)
        axes.legend(fontsize=6, loc="upper left", frameon=False)
    panels[0].set_ylabel("seconds", fontsize=8)
    _save(figure, "cost")


def _panels(count: int, columns: int) -> tuple[Any, list[Any]]:
    lines = -(-count // columns)
    figure, grid = _pyplot().subplots(lines, columns, figsize=(4.2 * columns, 3.0 * lines), squeeze=False)
    panels = list(grid.flat)
    for axes in panels:
        axes.tick_params(labelsize=7)
    for axes in panels[count:]:
        axes.remove()
    return figure, panels


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "srcgrad"  # same figures in, same bytes out
    import matplotlib.pyplot as plt

    return plt


def _save(figure: Any, name: str) -> None:
    figure.tight_layout(rect=(0.0, 0.04, 1.0, 1.0))  # the legend stands below
    figure.savefig(record.RESULTS / f"{name}.svg", metadata={"Date": None})
    _pyplot().close(figure)
