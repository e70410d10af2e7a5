"""Rows of figures from a GPU as lines of a terminal and as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.bars import seconds
from benchmarks.cuda.bars import missed, share
from benchmarks.cuda.program import STREAM
from benchmarks.tables import cells, duration, of

PEERS = {"torch": "PyTorch", "torch.compile": "torch.compile", "jax": "JAX"}


def line(row: dict[str, Any], bandwidth: float | None) -> str:
    own = seconds(row["gradient"].get("srcgrad"))
    about = f"{row['program']:<18} {row['dtype']:<8} {row['size']:<34} {duration(row['gradient'].get('srcgrad')):>9}"
    others = [f"{title} {of(row['gradient'].get(name), own)}" for name, title in PEERS.items()]
    return "   ".join([about, f"{_share(row, bandwidth):>5}", *others])


def card(found: dict[str, Any]) -> str:
    launch = ", ".join(f"{name} {seconds * 1e6:.1f} µs" for name, seconds in found["launch"].items())
    return f"{found['card']}: a copy moves {found['bandwidth'] / 1e12:.2f} TB/s; a small kernel: {launch}"


def page(saved: dict[str, Any]) -> str:
    figures = saved["figures"]
    bandwidth = figures["bandwidth"]
    versions = ", ".join(f"{name} {version}" for name, version in saved["machine"].items() if name not in HOST)
    return "\n".join(
        [
            f"{saved['date']}; {card(figures)}; {versions}.",
            "",
            "| program | dtype | size | gradient | of a copy's speed | PyTorch | torch.compile | JAX | missed |",
            "|---|---|---|---|---|---|---|---|---|",
            *(_cells(row, bandwidth) for row in figures["rows"]),
        ]
    )


HOST = ("processor", "cores", "system")


def _cells(row: dict[str, Any], bandwidth: float) -> str:
    own = seconds(row["gradient"].get("srcgrad"))
    return cells(
        f"`{row['program']}`",
        row["dtype"],
        row["size"],
        duration(row["gradient"].get("srcgrad")),
        _share(row, bandwidth),
        *(of(row["gradient"].get(name), own) for name in PEERS),
        "; ".join(missed(row, bandwidth)),
    )


def _share(row: dict[str, Any], bandwidth: float | None) -> str:
    """Only where memory is what counts."""
    part = share(row, bandwidth) if row["kind"] == STREAM else None
    return "" if part is None else f"{part:.0%}"
