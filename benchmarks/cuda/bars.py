"""What a row on a GPU has to reach."""

from __future__ import annotations

from typing import Any

from benchmarks.bars import seconds
from benchmarks.cuda.program import REDUCTION, STREAM, THREAD

OF_BANDWIDTH = 0.8
AHEAD = {  # times as fast as others
    STREAM: {"torch": 3.0, "torch.compile": 1.0, "jax": 1.0},
    REDUCTION: {"torch": 3.0, "torch.compile": 1.0, "jax": 1.0},
    THREAD: {"torch": 10.0, "torch.compile": 10.0, "jax": 10.0},
}
BEYOND_A_LAUNCH = 15e-6  # seconds
LARGE = 100_000_000  # bytes moved: below it, launches and caches count


def share(row: dict[str, Any], bandwidth: float | None) -> float | None:
    """Of the speed at which memory is copied."""
    own = seconds(row["gradient"].get("srcgrad"))
    return row["moved"] / own / bandwidth if own and bandwidth else None


def missed(row: dict[str, Any], bandwidth: float | None) -> list[str]:
    """The bars that a row does not reach."""
    own = seconds(row["gradient"].get("srcgrad"))
    if own is None:
        return [f"no gradient: {row['gradient'].get('srcgrad')}"]
    words = []
    large = row["moved"] >= LARGE or row["kind"] == THREAD
    if row["kind"] == STREAM and large and (part := share(row, bandwidth)) is not None and part < OF_BANDWIDTH:
        words.append(f"{part:.0%} of a copy's speed, bar {OF_BANDWIDTH:.0%}")
    for name, bar in AHEAD.get(row["kind"], {}).items() if large else ():
        other = seconds(row["gradient"].get(name))
        if other is not None and other / own < bar:
            words.append(f"{name} / srcgrad {other / own:.3g}x, bar {bar:.3g}x")
    return words


def missed_by_launches(launch: dict[str, float]) -> list[str]:
    beyond = launch["backward"] - launch["bare"]
    return [f"a call beyond a launch {beyond * 1e6:.1f} µs, bar 15 µs"] if beyond > BEYOND_A_LAUNCH else []
