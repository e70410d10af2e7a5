"""Loops that pass numbers on run in parts: a thread for each part, and for each group of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_clipped_scans import (
    accumulated,
    by_branches,
    cusum,
    elements,
    greatest_so_far,
    least_of_numbers,
    numbers,
    queue,
    store,
)
from test_scans import (
    advantages,
    arguments,
    counted,
    exact_as_it_stands,
    filter_of_two,
    in_place_downwards,
    level_and_trend,
    product_with_zeros,
    running_product,
    running_sum,
    smoothed,
    steps_of_scans,
)
from test_split_carried import greatest_fall, greatest_sum_of_a_stretch, three_kinds

from srcgrad import grad

SOME = (running_sum, smoothed, filter_of_two, exact_as_it_stands)
MORE = (advantages, counted, in_place_downwards, level_and_trend, product_with_zeros, running_product, steps_of_scans)


@pytest.mark.parametrize("n", [0, 1, 40, 1100])
@pytest.mark.parametrize("function", [*SOME, *MORE], ids=lambda function: function.__name__)
def test_scans(function: Callable[..., Any], n: int) -> None:
    x, a, rng = arguments(n)
    on_device, plain = grad(function, target="cuda"), grad(function, jit=False)
    y = plain(x.copy(), a)
    v = rng.normal(size=np.shape(y))
    np.testing.assert_allclose(on_device(x.copy(), a), y, rtol=1e-12)
    (value, got), (_, want) = (f.value_and_backward(x.copy(), a, v=v) for f in (on_device, plain))
    np.testing.assert_allclose(value, y, rtol=1e-12)
    for left, right in zip(got, want, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12 * np.abs(right).max(initial=1e-200))
    assert "part_size" in on_device.source(x, a, v=v, kind="value_and_backward")


@pytest.mark.parametrize("function", SOME, ids=lambda function: function.__name__)
def test_in_float32(function: Callable[..., Any]) -> None:
    x, a, rng = arguments(200)
    v = rng.normal(size=200).astype(np.float32)
    on_device, plain = grad(function, target="cuda", wrt="x"), grad(function, jit=False, wrt="x")
    got, want = on_device.backward(x.astype(np.float32), a, v=v), plain.backward(x, a, v=v.astype(float))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("n", [1, 40, 1100])
@pytest.mark.parametrize(
    "function",
    [
        accumulated,
        by_branches,
        cusum,
        elements,
        greatest_so_far,
        least_of_numbers,
        queue,
        store,
        greatest_fall,
        greatest_sum_of_a_stretch,
        three_kinds,
    ],
    ids=lambda function: function.__name__,
)
def test_between_bounds(function: Callable[..., Any], n: int) -> None:
    f = grad(function, target="cuda")
    x = numbers(n)
    v = np.cos(np.arange(np.size(function(x)))) if np.ndim(function(x)) else 0.7
    np.testing.assert_allclose(f(x), function(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(f.backward(x, v), grad(function, jit=False).backward(x, v), rtol=1e-10, atol=1e-11)
    if function is not three_kinds:  # of which infinities come and go as they do in other sums
        x = numbers(n, np.nan, np.inf)
        np.testing.assert_allclose(f(x), function(x), rtol=1e-12, atol=1e-12)
