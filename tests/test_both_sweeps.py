"""The way that all kinds of derivatives go together is gone once, and what comes of it is what each alone would be."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from corpus import PROGRAMS, Program

from srcgrad import grad, pipeline
from srcgrad.both_sweeps import REMEMBERED
from srcgrad.passes import order
from srcgrad.recalled import Recalled

KINDS = ("backward", "value_and_backward", "forward", "pullback")
X = np.array([0.5, 1.5, -2.0])
ONE_OF_A_FAMILY = list({program.family: program for program in PROGRAMS}.values())


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds for which the function was interpreted; no text is found again that was generated."""
    kinds: list[str] = []
    interpret = pipeline.interpret

    def noting(function: Callable[..., Any], kind: str, *rest: Any) -> Any:
        kinds.append(kind)
        return interpret(function, kind, *rest)

    monkeypatch.setattr(pipeline, "interpret", noting)
    monkeypatch.setattr(Recalled, "_find", lambda *wanted: frozenset())
    return kinds


scale, shift, exponents = 2.0, np.ones(3), [2, 3]


def powers(x):
    total = np.zeros_like(x)
    for p in exponents:
        total += scale * (x + shift) ** p
    return total


def all_kinds(f: Any, x: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    _, pullback = f.vjp(x)
    return [f.backward(x, v), f.value_and_backward(x, v)[1], pullback(v)]


@pytest.mark.parametrize("program", ONE_OF_A_FAMILY, ids=lambda program: program.family)
def test_each_kind_is_what_it_is_alone(program: Program) -> None:
    """Two kinds after another one, by turns which."""
    f = grad(program.function, jit=False, **program.options)
    args, keywords = program.arguments(0, program.cases[0].dtypes[0])
    turn = ONE_OF_A_FAMILY.index(program)
    first, *later = (KINDS[(turn + k) % len(KINDS)] for k in range(3))
    f.source(*args, kind=first, **keywords)
    for kind in later:
        alone = grad(program.function, jit=False, **program.options)
        assert f.source(*args, kind=kind, **keywords) == alone.source(*args, kind=kind, **keywords)


def test_all_kinds_are_interpreted_once(interpreted: list[str]) -> None:
    found = all_kinds(grad(powers, jit=False), X, np.ones(3))
    for x_b in found:
        np.testing.assert_allclose(x_b, 4 * (X + 1) + 6 * (X + 1) ** 2)
    assert interpreted == ["forward"]


def test_what_is_kept_is_found_once_for_both_in_one_and_once_for_halves(
    interpreted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []
    through = pipeline.through

    def noting(program: Any, steps: Any, *rest: Any) -> Any:
        ran.append(steps)
        return through(program, steps, *rest)

    monkeypatch.setattr(pipeline, "through", noting)
    all_kinds(grad(powers, jit=False), X, np.ones(3))
    assert len(ran) == 7 and ran.count((pipeline.keep,)) == 2  # (ahead of it once, behind it for each kind)


def test_other_types_and_options_are_interpreted_anew(interpreted: list[str]) -> None:
    f = grad(powers, jit=False)
    f.backward(X, np.ones(3))
    f.value_and_backward(X.astype(np.float32), np.ones(3, np.float32))
    f.value_and_backward(X, np.ones(3, np.float32))
    grad(powers, jit=False).value_and_backward(X, np.ones(3))  # another one
    with order.without("simplify"):
        f.vjp(X)
    assert len(interpreted) == 5


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("exponents", [1, 2, 3], 2 + 4 * (X + 1) + 6 * (X + 1) ** 2),
        ("shift", np.zeros(3, np.float32), 4 * X + 6 * X**2),
        ("scale", np.ones(3), 2 * (X + 1) + 3 * (X + 1) ** 2),
    ],
)
def test_what_changed_outside_is_seen(
    name: str, value: Any, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch, interpreted: list[str]
) -> None:
    f = grad(powers, jit=False)
    f.backward(X, np.ones(3))
    monkeypatch.setitem(globals(), name, value)
    np.testing.assert_allclose(f.value_and_backward(X, np.ones(3))[1], expected)
    assert len(interpreted) == 2


def test_a_list_outside_that_changes_inside_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    changing = [2, 3]
    monkeypatch.setitem(globals(), "exponents", changing)
    f = grad(powers, jit=False)
    f.backward(X, np.ones(3))
    changing[1] = 1
    np.testing.assert_allclose(f.value_and_backward(X, np.ones(3))[1], 4 * (X + 1) + 2)


def test_what_is_gone_outside_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(powers, jit=False)
    f.backward(X, np.ones(3))
    monkeypatch.delitem(globals(), "scale")
    with pytest.raises(NameError, match="scale"):
        f.value_and_backward(X, np.ones(3))


def test_types_that_python_takes_for_equal_are_told_apart(interpreted: list[str]) -> None:
    def of_kind(x, kind):
        return np.sum(x) if isinstance(kind, str) else np.sum(x * x)

    f = grad(of_kind, jit=False)
    np.testing.assert_array_equal(f.backward(X, np.dtype("float64")), 2 * X)
    np.testing.assert_array_equal(f.value_and_backward(X, "float64")[1], np.ones(3))
    assert len(interpreted) == 2


def test_code_that_is_replaced_is_seen() -> None:
    def squares(x):
        return x * x

    def cubes(x):
        return x * x * x

    f = grad(squares, jit=False)
    f.backward(X, np.ones(3))
    squares.__code__ = cubes.__code__
    np.testing.assert_allclose(f.value_and_backward(X, np.ones(3))[1], 3 * X * X)


def test_a_few_are_remembered_and_none_longer_than_it_lives(interpreted: list[str]) -> None:
    functions = [grad(powers, jit=False) for _ in range(REMEMBERED + 1)]
    for f in functions:
        f.backward(X, np.ones(3))
    for f in reversed(functions):
        f.value_and_backward(X, np.ones(3))
    assert interpreted.count("value_and_backward") == 1

    def scaled():
        table = np.ones(3)
        return weakref.ref(table), grad(lambda x: x * x * table, jit=False)

    table, f = scaled()
    f.backward(X, np.ones(3))
    del f
    gc.collect()
    assert table() is None


def sines_in_place(x, steps):
    for _ in range(steps):
        x[...] = np.sin(x)
    return x


def test_a_pullback_of_what_writes_its_argument() -> None:
    """Its own arguments are what was kept, and v: none of them is the one that f writes."""
    x = np.array([0.5, 1.5, 1.0])
    y, pullback = grad(sines_in_place).vjp(x.copy(), 2)
    np.testing.assert_allclose(y, np.sin(np.sin(x)), rtol=1e-15)
    np.testing.assert_allclose(pullback(np.ones(3)), np.cos(np.sin(x)) * np.cos(x), rtol=1e-14)
