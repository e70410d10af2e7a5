"""Threads that are apart though it takes a proof: nobody adds atomically, and nothing is left to one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import BroadcastError, CotangentShapeError, grad
from srcgrad.testing import check_grad

RNG = np.random.default_rng(8)


def is_as_on_a_cpu(function: Callable[..., Any], wrt: tuple[str, ...], arguments: tuple[Any, ...]) -> str:
    """Value and cotangents are those of the CPU target, and of differences; what was generated for the gradient."""
    on_device, plain = grad(function, wrt=wrt, target="cuda"), grad(function, wrt=wrt, jit=False)
    check_grad(plain, *arguments)
    value = plain(*arguments)
    seeds = tuple(RNG.normal(size=np.shape(y)) for y in value) if isinstance(value, tuple) else None
    seeds = RNG.normal(size=np.shape(value)) if seeds is None else seeds
    wanted = plain.value_and_backward(*arguments, v=seeds)
    for got, want in zip(_flat(on_device.value_and_backward(*arguments, v=seeds)), _flat(wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    for got, want in zip(_flat(on_device(*arguments)), _flat(value), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    return on_device.source(*arguments, v=seeds)


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, tuple) else [value]


# ------------------------------------------------------------------------------------------------------ coupled fields


def laplacian(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


def gray_scott(u, w, steps):
    for _ in range(steps):
        uww = u * w * w
        u, w = u + 0.3 * laplacian(u) - uww + 0.04 * (1.0 - u), w + 0.1 * laplacian(w) + uww - 0.1 * w
    return u, w


def excited(u, w, steps):
    for _ in range(steps):
        change = u - u * u * u / 3.0 - w + laplacian(u)
        w = w + 0.1 * (u + 0.7 - 0.8 * w)
        u = u + 0.1 * change
    return u, w


@pytest.mark.parametrize("function", [gray_scott, excited], ids=lambda function: function.__name__)
@pytest.mark.parametrize("shape", [(5, 7), (3, 40)])
def test_coupled_fields(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    """That the fields are as long as each other is known where their cotangents are made, too."""
    u, w = RNG.uniform(0.1, 0.9, (2, *shape))
    text = is_as_on_a_cpu(function, ("u", "w"), (u, w, 3))
    assert "atomic" not in text and ".by_one(" not in text


def test_fields_that_never_meet() -> None:
    """A loop that does not run compares nothing; one that does stretches what is one long, or raises."""
    u, w = RNG.uniform(0.1, 0.9, (2, 4, 5))
    f = grad(gray_scott, wrt=("u", "w"), target="cuda")
    f.backward(u, w, 1, v=(u, w))
    for got, want in zip(f.backward(u, w[:3], 0, v=(u, w[:3])), (u, w[:3]), strict=True):
        np.testing.assert_array_equal(got, want)
    with pytest.raises((BroadcastError, CotangentShapeError)):
        f.backward(u, w[:3], 1, v=(u, w[:3]))
    is_as_on_a_cpu(gray_scott, ("u", "w"), (u, w, 2))
