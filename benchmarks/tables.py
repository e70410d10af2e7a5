"""Rows of figures as lines of a terminal and as Markdown."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.bars import number, seconds

PEERS = ("by hand", "jax", "torch", "autograd")
NAMES = {
    "srcgrad": "srcgrad",
    "by hand": "by hand",
    "jax": "JAX",
    "jax loops": "JAX, same loops",  # stands in JAX's column
    "torch": "PyTorch",
    "autograd": "autograd",
}


def line(row: dict[str, Any]) -> str:
    """One row of the table for the terminal: times, then what the others' are of ours."""
    gradient, primal = row["gradient"], row["primal"]
    own, own_primal = seconds(gradient.get("srcgrad")), seconds(primal.get("srcgrad"))
    parts = [f"{row['program']:<20} {row['size']:<34}", f"gradient {duration(gradient.get('srcgrad')):>9}"]
    parts.append(f"= {own / own_primal:.2f} primals" if own and own_primal else "")
    others = [f"{name} {of(primal[name], own_primal)}" for name in ("numba", "numpy") if name in primal]
    parts.append(f"({', '.join(others)}) |")
    parts += [f"{NAMES[name]} {_peer(gradient, name, own)}" for name in PEERS if name in gradient]
    if first := row["first call"]:
        parts.append(f"| first {duration(first['srcgrad'])}, by hand {duration(first.get('by hand'))}")
        parts.append(f"again {duration(row['second process']['srcgrad'])} | peak")
        memory = row["peak memory"]
        parts += [f"{NAMES[name]} {size(memory[name])}" for name in ("srcgrad", *PEERS) if name in memory]
    return " ".join(part for part in parts if part)


def duration(figure: Any) -> str:
    spent = seconds(figure) if isinstance(figure, dict) else number(figure)
    if spent is None:
        return words(figure)
    unit, scale = next((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 0.0)) if spent >= s)
    return f"{spent / (scale or 1e-9):.3g} {unit}"


def of(figure: Any, own: float | None) -> str:
    """How many times ours another one's time is; or the time, or words."""
    spent = seconds(figure)
    return f"{_three(spent / own)}x" if spent is not None and own else duration(figure)


def _three(ratio: float) -> str:
    """Three digits, and no powers of ten."""
    return f"{ratio:.3g}" if ratio < 999.5 else f"{round(ratio, 2 - math.floor(math.log10(ratio))):,.0f}"


def _peer(gradient: dict[str, Any], name: str, own: float | None) -> str:
    same_loops = f" (same loops: {of(gradient['jax loops'], own)})" if name == "jax" and "jax loops" in gradient else ""
    return of(gradient.get(name), own) + same_loops


def size(figure: Any) -> str:
    return f"{figure / 1e6:.3g} MB" if number(figure) is not None else words(figure)


def words(figure: Any) -> str:
    if figure is None:
        return "–"
    text = figure.get("failed", "failed") if isinstance(figure, dict) else str(figure)
    return text.partition(":")[0] if text.startswith(("failed", "refused", "disagrees")) else text


# --------------------------------------------------------------------------------------------------------------
# The page


def tape(saved: dict[str, Any]) -> str:
    rows = saved["figures"]
    return "\n".join(
        [
            heading(saved),
            "",
            "| program | size | primal | numba.njit | gradient | / primal | by hand | JAX | PyTorch | autograd |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *map(_times, rows),
            "",
            "| program | first call | by hand | JAX | second process | by hand | JAX |",
            "|---|---|---|---|---|---|---|",
            *(_compiling(row) for row in rows if _is_first(row, rows)),
            "",
            "| program | size | peak memory | kept | by hand | JAX | PyTorch | autograd |",
            "|---|---|---|---|---|---|---|---|",
            *map(_memory, rows),
        ]
    )


# One program of each kind, with and without loops, the row where PyTorch is closest among them.
IN_SHORT = ("rk4", "gauss_seidel", "cholesky", "heat_3d", "lstm", "black_scholes", "logistic_regression", "mlp")


def in_short(saved: dict[str, Any]) -> str:
    """A few rows, for the first page."""
    rows = [row for row in saved["figures"] if row["program"] in IN_SHORT and _is_first(row, saved["figures"])]
    machine = saved["machine"]
    return "\n".join(
        [
            "| gradient of | size | srcgrad | by hand | JAX | PyTorch | autograd |",
            "|---|---|---|---|---|---|---|",
            *map(_in_short, sorted(rows, key=lambda row: IN_SHORT.index(row["program"]))),
            "",
            f"{saved['date']}, one core of an {machine['processor']}. Above 1x: so many times srcgrad's time.",
        ]
    )


def _in_short(row: dict[str, Any]) -> str:
    gradient = row["gradient"]
    own = seconds(gradient.get("srcgrad"))
    peers = (of(gradient.get(name), own) for name in PEERS)
    return cells(_program(row), row["size"], duration(gradient.get("srcgrad")), *peers)


def heading(saved: dict[str, Any]) -> str:
    machine = dict(saved["machine"])
    where = f"{machine.pop('processor')}, {machine.pop('cores')} cores, {machine.pop('system')}"
    versions = ", ".join(f"{name} {version}" for name, version in machine.items())
    return f"{saved['date']}; {where}; one core used; {versions}."


def _times(row: dict[str, Any]) -> str:
    gradient, primal = row["gradient"], row["primal"]
    own, own_primal = seconds(gradient.get("srcgrad")), seconds(primal.get("srcgrad"))
    ratio = f"{own / own_primal:.2f}" if own and own_primal else "–"
    own_times = [
        duration(primal.get("srcgrad")),
        of(primal.get("numba"), own_primal),
        duration(gradient.get("srcgrad")),
    ]
    return cells(_program(row), row["size"], *own_times, ratio, *(_peer(gradient, name, own) for name in PEERS))


def _compiling(row: dict[str, Any]) -> str:
    first, second = row["first call"], row["second process"]
    names = "srcgrad", "by hand", "jax"
    return cells(_program(row), *(duration(first.get(n)) for n in names), *(duration(second.get(n)) for n in names))


def _memory(row: dict[str, Any]) -> str:
    peak, kept = row["peak memory"], row["kept"]
    return cells(
        _program(row), row["size"], size(peak.get("srcgrad")), *(size(kept.get(n)) for n in ("srcgrad", *PEERS))
    )


def _is_first(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    return row is next(other for other in rows if other["program"] == row["program"])


def _program(row: dict[str, Any]) -> str:
    return f"`{row['program']}`"


def cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
