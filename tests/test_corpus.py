"""The corpus, the whole way: corpus x backend x dtype, against the undecorated function and nothing else.

primal       equals plain Python to rounding: structure, shapes, dtypes, what it writes
gradient     v^T J u equals the extrapolated difference of v . f along u, for random u and v
entries      value_and_backward, vjp (pulled back twice) and backward agree; arguments are as before
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from corpus import PROGRAMS, Program
from support import (
    GRADIENT_TOLERANCE,
    PRIMAL_TOLERANCE,
    Subject,
    along,
    assert_close,
    assert_same_kind,
    directional,
    fresh,
    inner,
    is_inexact,
    leaves,
    magnitude,
    mapped,
    random_like,
    subject,
    unchanged,
)

from srcgrad import grad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def parameters(programs: list[Program], first_case_only: bool = False) -> list[Any]:
    return [
        pytest.param(program, position, dtype, id=f"{program.name}-{position}-{dtype}")
        for program in programs
        for position, case in enumerate(program.cases[:1] if first_case_only else program.cases)
        for dtype in case.dtypes
    ]


ALONE = [p for p in PROGRAMS if len(p.cases) == 1]
EVERYTHING = [  # each case is run in one dtype, by turns; a program that has one case alone, every sixth time in both
    one
    for one in parameters(PROGRAMS)
    for program, position, dtype in [one.values]
    if dtype == program.cases[position].dtypes[position % len(program.cases[position].dtypes)] or program in ALONE[::6]
]
COMPILED = [p for p in PROGRAMS if p.compiled]
LAST_OF_FAMILIES = list({p.family: p for p in COMPILED}.values())
ONE_OF_A_FAMILY = parameters(LAST_OF_FAMILIES, first_case_only=True)[::5]
BY_TURNS = {p.name: p.cases[0].dtypes[k % len(p.cases[0].dtypes)] for k, p in enumerate(COMPILED)}
SAMPLE = [
    one
    for one in parameters(COMPILED, True)
    if one.values[2] == BY_TURNS[one.values[0].name]
    and one.values[0] not in {more.values[0] for more in ONE_OF_A_FAMILY}
]


@functools.lru_cache(maxsize=8)  # what each holds of its programs would stay to the end
def differentiated(program: Program, wrt: Any, jit: bool) -> Any:
    return grad(program.function, wrt=wrt, jit=jit, **program.options)


class Trial:
    """One case of a program: its arguments, what plain Python makes of them, and a random cotangent."""

    def __init__(self, program: Program, position: int, dtype: np.dtype, jit: bool) -> None:
        case = program.cases[position]
        self.dtype, self.loose = dtype, program.loose
        self.args, self.keywords = program.arguments(position, dtype)
        self.plain: Subject = subject(program.function, self.args, self.keywords, case.wrt, program.writes)
        self.f = differentiated(program, case.wrt, jit)
        self.written = fresh(self.plain.args)
        self.y = self.plain.run(self.written)
        rng = np.random.default_rng([program.seed(position), 1])  # other numbers than the arguments are made of
        self.direction = random_like(rng, self.plain.args)
        self.v = random_like(rng, self.y)

    def call(self, entry: Any, *more: Any) -> Any:
        """Call f or one of its entries with copies of the arguments, which must come back unchanged."""
        args, keywords = fresh(self.args), fresh_values(self.keywords)
        if more and len(args) < len(self.plain.args):  # a default or a keyword: v would be taken for it
            result = entry(*args, v=more[0], **keywords)
        else:
            result = entry(*args, *more, **keywords)
        assert unchanged(self.args, args), "an argument was changed"
        return result


def fresh_values(keywords: dict[str, Any]) -> dict[str, Any]:
    return {name: fresh(value) for name, value in keywords.items()}


def check_primal(trial: Trial) -> None:
    args, keywords = fresh(trial.args), fresh_values(trial.keywords)
    result = trial.f(*args, **keywords)
    tolerance = PRIMAL_TOLERANCE[trial.dtype] * trial.loose
    if result is not None:
        assert_same_kind(result, trial.y, "result")
        assert_close(result, trial.y, tolerance, "result")
    assert_close(args, trial.written[: len(args)], tolerance, "argument after the call")


def check_both(trial: Trial) -> Any:
    """The value and the gradient, generated once for both; returns the latter."""
    value, cotangents = trial.call(trial.f.value_and_backward, trial.v)
    assert_same_kind(value, trial.y, "value")
    assert_close(value, trial.y, PRIMAL_TOLERANCE[trial.dtype] * trial.loose, "value")
    check_cotangents(trial, cotangents)
    return cotangents


def check_gradient(trial: Trial) -> None:
    check_cotangents(trial, trial.call(trial.f.backward, trial.v))


def check_cotangents(trial: Trial, cotangents: Any) -> None:
    assert_like_arguments(trial, cotangents)
    direction = along(trial.plain, trial.direction)
    got = inner(cotangents, direction)
    want, error = directional(trial.plain, trial.direction, trial.v)
    if error > 1e-7 * (1 + abs(want)):  # near a kink, or a pole
        want, error = directional(trial.plain, trial.direction, trial.v, width=2e-4)
    tolerance = GRADIENT_TOLERANCE[trial.dtype] * trial.loose
    assert error <= 1e-6 * (1 + abs(want)), f"the difference itself is in doubt: {want} +- {error}"
    scale = max(magnitude(cotangents, direction), abs(want))
    assert abs(got - want) <= tolerance * scale + 10 * error, f"v^T J u is {want}, backward says {got}\n{cotangents}"


def assert_like_arguments(trial: Trial, cotangents: Any) -> None:
    """Each cotangent has its argument's structure, shape and dtype."""
    arguments = along(trial.plain, trial.plain.args)
    for got, argument in zip(leaves(cotangents), leaves(arguments), strict=True):
        if is_inexact(argument):
            assert np.shape(got) == np.shape(argument)
            assert np.asarray(got).dtype == np.asarray(argument).dtype
            assert isinstance(got, np.ndarray) == isinstance(argument, np.ndarray)


def check_pullback(trial: Trial, cotangents: Any = None) -> None:
    """The halves of a pair, against `cotangents`, or against differences where there are none."""
    tolerance = PRIMAL_TOLERANCE[trial.dtype] * trial.loose
    args, keywords = fresh(trial.args), fresh_values(trial.keywords)
    y, pullback = trial.f.vjp(*args, **keywords)
    assert_same_kind(y, trial.y, "value from vjp")
    assert_close(y, trial.y, tolerance, "value from vjp")
    assert unchanged(trial.args, args), "an argument was changed by vjp"
    spoil(args)  # the pullback owns what it reads
    if cotangents is None:
        cotangents = pullback(trial.v)
        check_cotangents(trial, cotangents)
    else:
        assert_close(pullback(trial.v), cotangents, tolerance, "pullback")
    twice = mapped(lambda leaf: leaf * 2 if is_inexact(leaf) else leaf, trial.v)
    pullback(twice)
    assert_close(pullback(trial.v), cotangents, tolerance, "pullback, third call")


def spoil(structure: Any) -> None:
    for leaf in leaves(structure):
        if isinstance(leaf, np.ndarray):
            leaf[...] = 77


@pytest.mark.parametrize(("program", "position", "dtype"), EVERYTHING)
def test_program(program: Program, position: int, dtype: np.dtype) -> None:
    """By turns the function and its gradient, each by itself, both at once, and the halves of a pair."""
    trial = Trial(program, position, dtype, jit=False)
    match (PROGRAMS.index(program) + position % 2) % 3:  # (the third case is of what was made for the first)
        case 0:
            check_primal(trial)
            check_gradient(trial)
        case 1:
            check_both(trial)
        case 2:
            check_pullback(trial)


@pytest.mark.parametrize(("program", "position", "dtype"), SAMPLE)
def test_compiled(program: Program, position: int, dtype: np.dtype) -> None:
    """Mostly what is compiled for both; by turns each by itself."""
    trial = Trial(program, position, dtype, jit=True)
    if COMPILED.index(program) % 4:
        check_both(trial)
    else:
        check_primal(trial)
        check_gradient(trial)


@pytest.mark.parametrize(("program", "position", "dtype"), ONE_OF_A_FAMILY)
def test_compiled_entries(program: Program, position: int, dtype: np.dtype) -> None:
    trial = Trial(program, position, dtype, jit=True)
    cotangents = check_both(trial)
    tolerance = PRIMAL_TOLERANCE[dtype] * program.loose
    assert_close(trial.call(trial.f.backward, trial.v), cotangents, tolerance, "value_and_backward")
    check_pullback(trial, cotangents)


def test_corpus_covers_both_dtypes_in_every_family() -> None:
    families = {program.family for program in PROGRAMS}
    assert len(families) >= 11
    assert len(PROGRAMS) >= 150
    for family in families:
        dtypes = {dtype for p in PROGRAMS if p.family == family for case in p.cases for dtype in case.dtypes}
        assert len(dtypes) == 2, family


def test_prints_once(capsys: pytest.CaptureFixture[str]) -> None:
    """`print` runs once in the primal and once in `backward`."""
    printer = next(p for p in PROGRAMS if p.name == "calls.prints")
    f = differentiated(printer, None, False)
    for entry in (f, f.backward, f.value_and_backward):
        entry(0.7)
        assert capsys.readouterr().out == "y is True\n"
