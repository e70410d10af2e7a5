"""The corpus on a GPU, or in Numba's simulator of one: what jit=False gives, or a refusal that is in the table.

SRCGRAD_SHARE="1/4" runs one test in four, for four processes.  In the simulator, which takes its time, a part of the
cases stands for all; SRCGRAD_CASES=all runs them all there too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import FLOAT32, FLOAT64, PROGRAMS, Program
from cuda_refused import CALLS_REFUSED, REASONS, REFUSED
from numba.core import config
from support import PRIMAL_TOLERANCE, assert_close, assert_same_kind, fresh, random_like, subject, unchanged

from srcgrad import grad
from srcgrad.errors import UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

share, shares = map(int, os.environ.get("SRCGRAD_SHARE", "0/1").split("/"))
takes_its_time = config.ENABLE_CUDASIM or os.environ.get("SRCGRAD_VIRTUAL_GPU")
everything = os.environ.get("SRCGRAD_CASES") == "all" or not takes_its_time

CASES = [(program, position) for program in PROGRAMS for position in range(len(program.cases))]
FIRST = [(program, position) for program, position in CASES if not position and program.name not in REFUSED]
OTHERS = [case for case in CASES if case not in FIRST]


def some(cases: list[Any], every: int, dtype: np.dtype = FLOAT64) -> list[Any]:
    found = [
        pytest.param(program, position, dtype, id=f"{program.name}-{position}-{dtype}")
        for program, position in cases[:: 1 if everything else every]
        if dtype in program.cases[position].dtypes
    ]
    return found[share::shares]


class Trial:
    """One case of a program: its arguments, a random cotangent, and f for a GPU and as plain Python."""

    def __init__(self, program: Program, position: int, dtype: np.dtype) -> None:
        self.program, case = program, program.cases[position]
        self.args, self.keywords = program.arguments(position, dtype)
        self.f = grad(program.function, wrt=case.wrt, target="cuda", **program.options)
        self.plain = grad(program.function, wrt=case.wrt, jit=False, **program.options)
        self.tolerance = PRIMAL_TOLERANCE[dtype] * program.loose * (1 if dtype == FLOAT64 else 10)
        bound = subject(program.function, self.args, self.keywords, case.wrt, program.writes)
        self.all_given = len(self.args) == len(bound.args)
        self.v = random_like(np.random.default_rng((program.seed(position), 1)), bound.run(fresh(bound.args)))

    def call(self, entry: Any) -> Any:
        """Call an entry with copies of the arguments and v; the arguments must come back unchanged."""
        args = fresh(self.args)
        keywords = {name: fresh(value) for name, value in self.keywords.items()}
        if self.all_given:
            result = entry(*args, self.v, **keywords)
        else:
            result = entry(*args, v=self.v, **keywords)
        assert unchanged(self.args, args), "an argument was changed"
        return result

    def same(self, got: Any, want: Any, what: str) -> None:
        assert_same_kind(got, want, what)
        assert_close(got, want, self.tolerance, what)


@pytest.mark.parametrize(("program", "position", "dtype"), some(FIRST, 3) + some(OTHERS, 12) + some(FIRST, 10, FLOAT32))
def test_value_and_backward(program: Program, position: int, dtype: np.dtype) -> None:
    trial = Trial(program, position, dtype)
    if program.name in REFUSED and is_refused(trial, must_be=position == 0):
        return
    try:
        wanted = trial.call(trial.plain.value_and_backward)
    except Exception as error:
        with pytest.raises(type(error)):
            trial.call(trial.f.value_and_backward)
        return
    value, cotangents = trial.call(trial.f.value_and_backward)
    trial.same(value, wanted[0], "value")
    trial.same(cotangents, wanted[1], "cotangents")


def is_refused(trial: Trial, must_be: bool) -> bool:
    """For the reason in the table, at a line of the program; with arrays for numbers, some of it may run."""
    try:
        trial.call(trial.f.value_and_backward)
    except UnsupportedError as error:
        assert re.search(REASONS[REFUSED[trial.program.name]], str(error))
        assert error.span is not None
        assert Path(error.span.file).parent.name in ("corpus", "programs")
        return True
    assert not must_be, "it runs now: the table is to say so"
    return False


@pytest.mark.parametrize(
    ("program", "position", "dtype"), some([case for case in FIRST if case[0].name not in CALLS_REFUSED], 8)
)
def test_call_and_vjp(program: Program, position: int, dtype: np.dtype) -> None:
    trial = Trial(program, position, dtype)
    args, wanted = fresh(trial.args), fresh(trial.args)
    keywords = {name: fresh(value) for name, value in trial.keywords.items()}
    y, want = trial.f(*args, **keywords), trial.plain(*wanted, **keywords)
    if want is not None:
        trial.same(y, want, "result")
    assert_close(args, wanted, trial.tolerance, "argument after the call")
    args = fresh(trial.args)
    want, plain_pullback = trial.plain.vjp(*args, **keywords)
    value, pullback = trial.f.vjp(*args, **keywords)
    trial.same(value, want, "value from vjp")
    for _ in range(2):
        trial.same(pullback(trial.v), plain_pullback(trial.v), "pullback")
