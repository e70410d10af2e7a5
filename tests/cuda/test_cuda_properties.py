"""Generated programs on a GPU, or in Numba's simulator: what jit=False gives, in value and gradient.

SRCGRAD_PROGRAMS and SRCGRAD_SEED as in tests/test_properties.py.
"""

from __future__ import annotations

import collections
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, seed, settings
from programs import Generated, programs
from support import assert_close, fresh, from_text, random_like, unchanged

from srcgrad import grad
from srcgrad.errors import UnsupportedError

PROGRAMS = int(os.environ.get("SRCGRAD_PROGRAMS", "8"))
SEED = int(os.environ.get("SRCGRAD_SEED", "20240607"))
PARTS = 1

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_programs(part: int) -> None:
    tally: collections.Counter[str] = collections.Counter()

    @settings(
        max_examples=-(-PROGRAMS // PARTS),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),  # to make a program smaller takes minutes in the simulator
        print_blob=False,
    )
    @seed(SEED + part)
    @given(program=programs())
    def each(program: Generated) -> None:
        note(repr(program))
        tally[check(program)] += 1

    each()
    assert tally["checked"] > 0.3 * sum(tally.values()), tally


def check(program: Generated) -> str:
    f = from_text(program.text, "f")
    plain, on_device = grad(f, jit=False), grad(f, target="cuda")
    v: Any = None
    try:
        y = plain(*fresh(program.args))
        assume(np.all(np.isfinite(y)) and np.max(np.abs(y), initial=0.0) < 1e4)
        v = random_like(np.random.default_rng(0), y)
        y, want = plain.value_and_backward(*fresh(program.args), v)
    except UnsupportedError:
        return "refused"
    scale = max((np.max(np.abs(part), initial=0.0) for part in want), default=0.0) if isinstance(want, tuple) else 0.0
    assume(np.isfinite(scale) and scale < 1e6)
    args = fresh(program.args)
    try:
        value, cotangents = on_device.value_and_backward(*args, v)
    except UnsupportedError as error:
        assert error.span is not None, error
        return error.message.partition(" in ")[0]
    assert unchanged(program.args, args), "an argument was changed"
    assert_close(value, y, 1e-9, "value")
    assert_close(cotangents, want, 1e-8, "cotangents")
    return "checked"
