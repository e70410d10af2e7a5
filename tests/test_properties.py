"""Generated programs: no wrong gradient, no crash.

Each program is run as plain Python and differenced (Richardson) without any decoration; where the differences do not
converge the point is not smooth and another one is drawn.  SRCGRAD_PROGRAMS sets how many programs count,
SRCGRAD_SEED where they start; both are in pytest's summary.
"""

from __future__ import annotations

import collections
import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, seed, settings
from hypothesis.internal.conjecture import engine
from programs import Generated, programs
from racing import pieces_at_once
from support import (
    Subject,
    along,
    assert_close,
    assert_same_kind,
    directional,
    fresh,
    from_text,
    inner,
    magnitude,
    random_like,
    subject,
    unchanged,
)

from srcgrad import grad
from srcgrad.errors import UnsupportedError

PROGRAMS = int(os.environ.get("SRCGRAD_PROGRAMS", "24"))
SEED = int(os.environ.get("SRCGRAD_SEED", "20240607"))
PARTS = 8  # so that workers share them
BOUND = 1e4  # beyond it a program is too steep for differences

engine.MAX_SHRINKING_SECONDS = 60  # a failing program may be half a page long; the summary must not wait for it

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Point:
    """A generated program at its point, with what plain Python and its differences say."""

    def __init__(self, program: Generated) -> None:
        self.text = program.text
        self.function = from_text(program.text, "f")
        self.plain: Subject = subject(self.function, program.args, {})
        self.written = fresh(program.args)
        with np.errstate(all="ignore"):
            self.y = self.plain.run(self.written)
        assume(np.all(np.isfinite(self.y)) and np.max(np.abs(self.y)) < BOUND)
        rng = np.random.default_rng(0)
        self.direction, self.v = random_like(rng, program.args), random_like(rng, self.y)
        self.slope, self.error = directional(self.plain, self.direction, self.v, width=2e-3)
        assume(np.isfinite(self.slope) and abs(self.slope) < BOUND)
        assume(self.error < 1e-7 * (1 + abs(self.slope)))

    def check(self, jit: bool, entries: tuple[str, ...] = ("call", "backward", "vjp"), parallel: bool = False) -> None:
        f = grad(self.function, jit=jit, parallel=parallel)
        args = fresh(self.plain.args)
        if "backward" in entries:
            cotangents = f.backward(*args, self.v)
            self.right(cotangents, "backward")
        if "value_and_backward" in entries:
            y, cotangents = f.value_and_backward(*args, self.v)
            assert_close(y, self.y, 1e-10, "value")
            self.right(cotangents, "value_and_backward")
        if "vjp" in entries:
            y, pullback = f.vjp(*args)
            assert_close(y, self.y, 1e-10, "value from vjp")
            self.right(pullback(self.v), "pullback")
            self.right(pullback(self.v), "second pullback")
        assert unchanged(self.plain.args, args), "an argument was changed"
        if "call" in entries:
            y = f(*args)
            assert_same_kind(y, self.y, "result")
            assert_close(y, self.y, 1e-10, "result")
            assert_close(args, self.written, 1e-10, "argument after the call")

    def right(self, cotangents: Any, entry: str) -> None:
        direction = along(self.plain, self.direction)
        got = inner(cotangents, direction)
        scale = max(magnitude(cotangents, direction), abs(self.slope))
        assert abs(got - self.slope) <= 1e-6 * scale + 10 * self.error, (
            f"{entry}: v^T J u is {self.slope} (+- {self.error:.1e}), got {got}\n{cotangents}"
        )


def run(count: int, seed_of_part: int, check: Callable[[Point], None], record: Callable[[str, Any], None]) -> None:
    """Draw programs until `count` of them were smooth where they were drawn, and check each."""
    tally: collections.Counter[str] = collections.Counter()

    @settings(
        max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
    )
    @seed(seed_of_part)
    @given(program=programs())
    def each(program: Generated) -> None:
        tally["drawn"] += 1
        note(repr(program))
        point = Point(program)
        try:
            check(point)
        except UnsupportedError:
            tally["refused"] += 1
            return
        tally["checked"] += 1

    try:
        each()
    finally:
        record(
            "generated programs",
            f"{tally['checked']} checked, {tally['refused']} refused with a clear error, "
            f"{tally['drawn'] - tally['checked'] - tally['refused']} not smooth where drawn; seed {seed_of_part}",
        )
    most = max(3, 0.25 * tally["drawn"])  # aliases that depend on the path; of a handful of programs, that is no share
    assert tally["refused"] <= most, "too many programs refused"


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_programs(part: int, record_property: Callable[[str, Any], None]) -> None:
    """Of each program one of the two ways to a gradient, at random but always the same one; SRCGRAD_PROGRAMS: both."""
    ways = (("call", "backward"), ("vjp",))

    def check(point: Point) -> None:
        chosen = ways if "SRCGRAD_PROGRAMS" in os.environ else ways[zlib.crc32(point.text.encode()) % 2 :][:1]
        for entries in chosen:
            point.check(jit=False, entries=entries)

    run(-(-PROGRAMS // PARTS), SEED + part, check, record_property)


def test_generated_programs_joint_with_value(record_property: Callable[[str, Any], None]) -> None:
    def check(point: Point) -> None:
        point.check(jit=False, entries=("value_and_backward",))

    run(max(1, PROGRAMS // 10), SEED + 100, check, record_property)


def test_generated_programs_in_pieces(record_property: Callable[[str, Any], None]) -> None:
    """The pieces of every loop that parallel=True splits take turns: a race would show."""

    def check(point: Point) -> None:
        with pieces_at_once():
            point.check(jit=False, parallel=True)

    run(max(1, PROGRAMS // 20), SEED + 400, check, record_property)


def test_generated_programs_compiled(record_property: Callable[[str, Any], None]) -> None:
    def check(point: Point) -> None:
        point.check(jit=True, entries=("backward",))

    run(max(1, PROGRAMS // 100), SEED + 200, check, record_property)


def test_generated_programs_float32(record_property: Callable[[str, Any], None]) -> None:
    """Every result and cotangent has NumPy's dtype."""

    def check(point: Point) -> None:
        args = tuple(narrow(argument) for argument in point.plain.args)
        y = subject(point.function, args, {}).run(fresh(args))
        f = grad(point.function, jit=False)
        got = f(*fresh(args))
        if any(word in point.text for word in (" if ", "for ", "while ")):
            assume(got.dtype == y.dtype)  # a path not taken may have made it float64: one static type for both
        assert_same_kind(got, y, "result")
        assume(np.all(np.abs(y - point.y) < 1e-2 * (1 + np.abs(point.y))))
        assert_close(got, y, 1e-2, "result")
        cotangents = f.backward(*args, random_like(np.random.default_rng(0), y))
        for cotangent, argument in zip(cotangents, args, strict=False):
            assert_same_kind(cotangent, argument, "cotangent")

    run(max(1, PROGRAMS // 20), SEED + 300, check, record_property)


def narrow(argument: Any) -> Any:
    if isinstance(argument, float):
        return np.float32(argument)
    return argument.astype(np.float32) if argument.dtype == np.float64 else argument
