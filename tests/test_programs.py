"""Scientific programs, unmodified: the gradient in three random directions, in double and in single precision.

Every second one is also generated with two optional passes left out, other ones for each; SRCGRAD_EVERY_PASS=1 leaves
out each, of all programs.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from corpus.programs import PROGRAMS, Scientific
from corpus.registry import BOTH, Program
from support import PRIMAL_TOLERANCE, along, assert_close, assert_same_kind, directional, inner, magnitude, random_like
from test_corpus import Trial, check_primal

from srcgrad import grad
from srcgrad.passes import order

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

EVERY = [pytest.param(program, id=program.name) for program in PROGRAMS]


def trial(program: Scientific, dtype: np.dtype, jit: bool = False) -> Trial:
    described = Program(program.function, (program.case(program.small),), program.writes, loose=program.loose)
    return Trial(described, 0, dtype, jit)


def check_directions(one: Trial, cotangents: Any, tolerance: float, width: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        direction = random_like(rng, one.plain.args)
        want, error = directional(one.plain, direction, one.v, width)
        got = inner(cotangents, along(one.plain, direction))
        scale = max(magnitude(cotangents, along(one.plain, direction)), abs(want))
        assert error <= 0.1 * tolerance * scale, f"the difference itself is in doubt: {want} +- {error}"
        assert abs(got - want) <= tolerance * scale, f"v^T J u is {want}, backward says {got}"


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 40
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


@pytest.mark.parametrize(("position", "program"), list(enumerate(PROGRAMS)), ids=[one.name for one in PROGRAMS])
def test_gradient(position: int, program: Scientific) -> None:
    """By turns the function and its gradient, or both at once; every second time with passes left out, too."""
    one = trial(program, BOTH[0])
    if position % 4 == 1:
        check_primal(one)
        cotangents = one.call(one.f.backward, one.v)
    else:
        value, cotangents = one.call(one.f.value_and_backward, one.v)
        assert_same_kind(value, one.y, "value")
        assert_close(value, one.y, PRIMAL_TOLERANCE[one.dtype] * one.loose, "value")
    check_directions(one, cotangents, 1e-6 * program.loose, program.width)
    for names in left_out(position):
        with ExitStack() as without:
            for name in names:
                without.enter_context(order.without(name))
            found = one.call(grad(program.function, jit=False).value_and_backward, one.v)
        assert_close(found, (one.y, cotangents), 1e-10 * program.loose, f"without {names}")


def left_out(position: int) -> list[list[str]]:
    optional = sorted(order.OPTIONAL)
    if "SRCGRAD_EVERY_PASS" in os.environ:
        return [[name] for name in optional]
    return [] if position % 2 else [[optional[k % len(optional)] for k in (position, position + 1)]]


def test_every_pass_is_left_out() -> None:
    names = {name for position in range(len(PROGRAMS)) for some in left_out(position) for name in some}
    assert names == order.OPTIONAL


@pytest.mark.parametrize("program", [one for one in EVERY if one.values[0].single][::3])
def test_gradient_in_single_precision(program: Scientific) -> None:
    one = trial(program, BOTH[1])
    check_directions(one, one.call(one.f.backward, one.v), 1e-3 * program.loose, program.width)
