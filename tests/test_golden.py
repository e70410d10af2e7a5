"""What a reader would see: adjoints, the IR after each pass, error texts; `pytest --update-golden` rewrites them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_errors
from corpus import FLOAT32, FLOAT64, named

from srcgrad import grad
from srcgrad.options import Options
from srcgrad.passes import order

FOLDER = Path(__file__).parent / "golden"

ADJOINTS = [
    ("loops.horner", 0, FLOAT64),
    ("in_place.swapped_buffers", 0, FLOAT64),
    ("arrays.softmax_rows", 0, FLOAT64),
    ("physics.rk4", 0, FLOAT64),
    ("branches.branch_in_a_loop", 0, FLOAT32),
    ("ensembles.radial_functions", 0, FLOAT64),
]
STAGES = "loops.repeated_sine"
ERRORS = [row for row in test_errors.REJECTED if row[0].__name__ in ("trims", "tries", "undefined_name")]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a file in tests/golden, or write it there where that was asked for."""

    def compare(name: str, text: str) -> None:
        path = FOLDER / name
        if request.config.getoption("--update-golden"):
            path.write_text(text)
        assert path.exists(), f"no golden {path.name} yet: run pytest --update-golden and read what it wrote"
        assert text == path.read_text(), f"{path.name} has changed: run pytest --update-golden and read the difference"

    return compare


def source(name: str, position: int, dtype: np.dtype, **more: Any) -> str:
    program = named(name)
    args, keywords = program.arguments(position, dtype)
    f = grad(program.function, wrt=program.cases[position].wrt, **program.options)
    return without_folders(f.source(*args, **keywords, **more))


def without_folders(text: str) -> str:
    return re.sub(r"[^\s\"'(]*/(?=[\w.]+\.py)", "", text)


@pytest.mark.parametrize(("name", "position", "dtype"), ADJOINTS, ids=[row[0] for row in ADJOINTS])
def test_adjoint(name: str, position: int, dtype: np.dtype, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.txt", source(name, position, dtype))


def waves(x, w, phase):
    return np.sin(w * x + phase) * np.exp(-x * x)


def energy(q, p):
    return 0.5 * np.sum(p * p) + np.sum(1.0 - np.cos(q)) / len(q)


def roots(a, start):
    out = np.empty(len(a))
    for i in range(len(a)):
        x = start
        while abs(x * x - a[i]) > 1e-12:
            x = 0.5 * (x + a[i] / x)
        out[i] = x
    return out


def peaks(x, y):
    return np.max(x * y) * y


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (peaks, (np.ones(3), np.ones(3))),
        (waves, (np.ones(3), 2.0, np.ones(3))),
        (energy, (np.ones(3), np.ones(3))),
        (roots, (np.ones(3), 1.5)),
        (named("physics.heat").function, named("physics.heat").arguments(0, FLOAT64)[0]),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_kernels(function: Callable[..., Any], args: tuple, golden: Callable[[str, str], None]) -> None:
    """Extremes, elements, sums, a loop in each thread that keeps what it overwrites, and a stencil in a loop."""
    text = grad(function, target="cuda").source(*args, kind="value_and_backward")
    golden(f"cuda.{function.__name__}.txt", without_folders(text))


@pytest.mark.parametrize("name", [row[0] for row in ADJOINTS])
def test_same_source_same_bytes(name: str) -> None:
    assert source(name, 0, FLOAT64) == source(name, 0, FLOAT64)


@pytest.mark.parametrize("stage", ["frontend", *(step.__name__ for step in order.passes_for("backward", Options()))])
def test_stage(stage: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{STAGES}.after.{stage}.txt", source(STAGES, 0, FLOAT64, after=stage))


@pytest.mark.parametrize(("function", "args"), [row[:2] for row in ERRORS], ids=[row[0].__name__ for row in ERRORS])
def test_error(function: Callable[..., Any], args: tuple, golden: Callable[[str, str], None]) -> None:
    with pytest.raises(Exception) as caught:
        grad(function, jit=False).backward(*args, np.ones(2) if np.ndim(args[0]) else 1.0)
    text = without_folders(f"{type(caught.value).__name__}: {caught.value}\n")
    golden(
        f"error.{function.__name__}.txt", re.sub(r"(?m)^ *\d+ \||line \d+", lambda m: re.sub(r"\d+", "N", m[0]), text)
    )
