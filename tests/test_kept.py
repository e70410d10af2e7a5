"""What the reverse sweep keeps: for a linear update nothing, else the state that is overwritten and read, once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from srcgrad import grad


def diffused(u, alpha, steps):
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def averaged(u, alpha, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = alpha * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def steepened(u, alpha, steps):
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] ** 2 - 2.0 * u[1:-1] + u[:-2])
    return u


def reacted(u, alpha, steps):
    for _ in range(steps):
        u += alpha * u * (1.0 - u) * (2.0 + u)
    return u


def waved(u, alpha, steps):
    new = np.zeros_like(u)
    for _ in range(steps):
        new[1:-1] = u[1:-1] * (1.0 + alpha * (u[2:] - 2.0 * u[1:-1] + u[:-2]))
        u, new = new, u
    return u


def kept(function: Any, *args: Any, wrt: Any = None) -> list[str]:
    """The shapes of all memory with an axis for the steps."""
    text = grad(function, wrt=wrt, jit=False).source(*args)
    return re.findall(r"np\.(?:empty|zeros)\(\((?:np\.maximum\(steps, 0\)|steps)(.*)\)\)", text) + re.findall(
        r"(?:push|append)\w*\(", text
    )


@pytest.mark.parametrize("function", [diffused, averaged])
def test_a_linear_update_keeps_nothing(function: Any) -> None:
    assert kept(function, np.ones((9,) * (1 + (function is averaged))), 0.1, 5, wrt="u") == []


@pytest.mark.parametrize("function", [steepened, reacted, waved])
@pytest.mark.parametrize("wrt", ["u", None])
def test_another_update_keeps_the_state_once_per_step(function: Any, wrt: Any) -> None:
    assert kept(function, np.ones(9), 0.1, 5, wrt=wrt) == [", u.shape[0]"]
