"""What the figures have to reach.  A bar is a ratio at which a row of the table passes, and the words for it."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.program import ARRAYS, LOOPS

# How many times faster than the same loops in JAX a program has to be.
AHEAD_OF_JAX = {"gauss_seidel": 100.0, "cholesky": 20.0, "lu": 20.0}
SLICED_STENCILS = {"heat_3d": 5.0}


def missed(row: dict[str, Any]) -> list[str]:
    """The bars that a row does not reach."""
    gradient, primal, name, kind = row["gradient"], row["primal"], row["program"], row["kind"]
    own = seconds(gradient.get("srcgrad"))
    if own is None:
        return [f"no gradient: {gradient.get('srcgrad')}"]
    words = []

    def at_least(bar: float, what: str, other: float | None, ours: float | None) -> None:
        if other is not None and ours is not None and other / ours < bar:
            words.append(f"{what} {other / ours:.3g}x, bar {bar:.3g}x")

    same_loops = seconds(gradient.get("jax loops"))
    jax_bar = 1 / 1.1 if kind == ARRAYS else 1.0
    tape_bar = 100.0 if kind == LOOPS else 1.0
    if same_loops:
        at_least(AHEAD_OF_JAX[name], "JAX, same loops / srcgrad", same_loops, own)
    else:
        jax_bar = AHEAD_OF_JAX.get(name, jax_bar)
    at_least(jax_bar, "JAX / srcgrad", seconds(gradient.get("jax")), own)
    at_least(tape_bar, "PyTorch / srcgrad", seconds(gradient.get("torch")), own)
    at_least(tape_bar, "autograd / srcgrad", seconds(gradient.get("autograd")), own)
    at_least(1 / 1.1, "by hand / srcgrad", seconds(gradient.get("by hand")), own)
    own_primal = seconds(primal.get("srcgrad"))
    numba_bar = SLICED_STENCILS.get(name, 0.95)  # "never slower", to what the clock can tell
    at_least(numba_bar, "numba primal / srcgrad primal", seconds(primal.get("numba")), own_primal)
    if own_primal and own / own_primal > 5.0:
        words.append(f"gradient / primal {own / own_primal:.3g}, to be explained above 5")
    first, second = row.get("first call", {}), row.get("second process", {})
    at_least(0.5, "first call by hand / srcgrad", number(first.get("by hand")), number(first.get("srcgrad")))
    if (spent := number(second.get("srcgrad"))) and spent > 0.4:
        words.append(f"second process {spent:.2f} s, bar 0.4 s")
    return words


def seconds(figure: Any) -> float | None:
    """The median of a timing; None where words stand in its place."""
    return figure["median"] if isinstance(figure, dict) and "median" in figure else None


def number(figure: Any) -> float | None:
    return figure if isinstance(figure, int | float) else None
