"""While a program is transformed and compiled nobody looks for garbage; afterwards it is as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from srcgrad import UnsupportedError, grad


def square_sum(x):
    return np.sum(x * x)


def unsupported(x):
    return eval("x")


@pytest.fixture
def searches() -> Iterator[list[str]]:
    """What Python said of its searches meanwhile."""
    seen: list[str] = []
    note = lambda phase, info: seen.append(phase)
    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.enable()


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("is_enabled", [True, False])
def test_is_as_it_was(jit: bool, is_enabled: bool) -> None:
    f = grad(square_sum, jit=jit, cache=False)
    if not is_enabled:
        gc.disable()
    try:
        np.testing.assert_array_equal(f.backward(np.ones(3)), 2.0 * np.ones(3))
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()


def test_is_as_it_was_after_an_error() -> None:
    with pytest.raises(UnsupportedError):
        grad(unsupported).backward(1.0)
    assert gc.isenabled()


def test_nobody_looks_while_a_program_is_transformed(searches: Any) -> None:
    before = gc.get_threshold()
    gc.set_threshold(10)
    try:
        grad(square_sum, jit=False).source(1.0, after="frontend")
        outside = len(searches)
        searches.clear()
        grad(square_sum, jit=False).backward(np.ones(2))
        inside = len(searches)
    finally:
        gc.set_threshold(*before)
    assert outside > 100 > inside
