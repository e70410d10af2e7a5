"""Every call of the surface: value, dtype and gradient against NumPy; and each family compiled, as one program."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from corpus.registry import BOTH, Program, case
from support import PRIMAL_TOLERANCE, assert_close, assert_same_kind, from_text
from surface import FAMILIES, module_of
from test_corpus import Trial, check_gradient, check_primal

from srcgrad import grad

pytestmark = pytest.mark.filterwarnings("ignore")

EVERY = [pytest.param(f, k, id=f"{f}-{one.text}") for f, calls in FAMILIES.items() for k, one in enumerate(calls)]


@functools.cache
def function(family: str, name: str) -> Any:
    return from_text(module_of(FAMILIES[family]), name)


def program_of(family: str, k: int) -> Program:
    one = FAMILIES[family][k]
    return Program(function(family, f"call_{k}"), (case(*one.arguments.values()),), loose=one.loose)


@pytest.mark.parametrize(("family", "k"), EVERY)
def test_call(family: str, k: int) -> None:
    trial = Trial(program_of(family, k), 0, BOTH[0], jit=False)
    check_primal(trial)
    check_gradient(trial)


@pytest.mark.parametrize(("family", "k"), EVERY)
def test_dtypes_of_single_precision(family: str, k: int) -> None:
    program = program_of(family, k)
    args, _ = program.arguments(0, BOTH[1])
    assert_same_kind(grad(program.function, jit=False)(*args), program.function(*args), "result")


@pytest.mark.parametrize("family", FAMILIES)
def test_family_compiled(family: str) -> None:
    chosen = [one for one in FAMILIES[family] if one.compiled]
    arguments = [argument for one in chosen for argument in one.arguments.values()]
    loose = max((one.loose for one in chosen), default=1.0)
    assert chosen, "one call of a family at least is compiled"
    trial = Trial(Program(function(family, "compiled"), (case(*arguments),), loose=loose), 0, np.dtype(float), jit=True)
    trial.f.backward = lambda *args: value_and_cotangents(trial, *args)  # compiled once, for both
    check_gradient(trial)


def value_and_cotangents(trial: Trial, *args: Any) -> Any:
    """The cotangents of the family's program; its value is as it is to be."""
    value, cotangents = trial.f.value_and_backward(*args)
    assert_same_kind(value, trial.y, "value")
    assert_close(value, trial.y, PRIMAL_TOLERANCE[trial.dtype] * trial.loose, "value")
    return cotangents
