"""The programs of `python -m benchmarks cuda`, on a GPU or in the simulator: their gradients are those of the CPU."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from benchmarks.contestants import disagreement
from benchmarks.cuda import bars, measure, tables
from benchmarks.cuda.program import RTOL, in_dtype
from benchmarks.cuda.programs import PROGRAMS
from benchmarks.programs.program import Size
from srcgrad import grad


def in_dtypes() -> list[tuple[str, str]]:
    return [(name, dtype) for name, program in PROGRAMS.items() for dtype in program.dtypes]


def called(name: str, dtype: str) -> tuple[tuple[Any, ...], Any]:
    """Arguments and v at a size for tests."""
    program = PROGRAMS[name]
    arguments = tuple(in_dtype(argument, dtype) for argument in program.arguments(program.tiny))
    return arguments, in_dtype(program.cotangent(arguments), dtype)


@pytest.mark.parametrize(("name", "dtype"), in_dtypes())
def test_gradient_is_that_of_the_cpu(name: str, dtype: str) -> None:
    program = dataclasses.replace(PROGRAMS[name], rtol=RTOL[dtype])
    arguments, v = called(name, dtype)
    expected = grad(program.primal, wrt=program.wrt, jit=False).backward(*arguments, v)
    found = grad(program.primal, wrt=program.wrt, target="cuda").backward(*arguments, v)
    assert disagreement(program, found, expected) is None


def test_a_row_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "REPETITIONS", 2)
    monkeypatch.setattr(measure, "SAMPLE", 0.0)
    program = PROGRAMS["chain_arithmetic"]
    row = measure.prepare(program, Size(6), "float32").measured()
    assert row["moved"] == 5 * 6 * 4  # x, y, v, and the cotangents of x and y
    assert row["gradient"]["srcgrad"]["min"] > 0.0
    assert program.name in tables.line(row, 1e12)


def test_bars() -> None:
    timing = lambda seconds: {"min": seconds, "median": seconds, "repetitions": 1, "loops": 1}
    gradient = {"srcgrad": timing(1e-3), "torch": timing(2e-3), "jax": timing(2e-3)}
    row = {"program": "p", "kind": "stream", "dtype": "", "size": "", "moved": 4 * 10**9, "gradient": gradient}
    assert bars.missed(row, 4e12) == ["torch / srcgrad 2x, bar 3x"]
    assert bars.missed(row, 8e12)[0] == "50% of a copy's speed, bar 80%"
    assert bars.missed({**row, "gradient": {"srcgrad": "failed"}}, 4e12) == ["no gradient: failed"]
    assert bars.missed_by_launches({"bare": 5e-6, "backward": 21e-6}) == ["a call beyond a launch 16.0 µs, bar 15 µs"]


def test_points_that_escape_tell_all_roundings_alike() -> None:
    real, imaginary, most = PROGRAMS["escape"].arguments((1_000, 100))
    c, z, rounds = real + 1j * imaginary, np.zeros(1_000, complex), np.zeros(1_000, int)
    for _ in range(most):
        goes_on = abs(z) < 2.0
        rounds += goes_on
        z = np.where(goes_on, z * z + c, z)
    assert set(rounds) - {most} <= set(range(11)) and (rounds == most).any() and (rounds < most).any()
