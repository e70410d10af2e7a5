"""Loops that used to run in one thread, or to be refused: their iterations are independent, or nearly so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import fresh, slope

from srcgrad import RuntimeValueError, grad

RNG = np.random.default_rng(17)
X, A = RNG.uniform(0.2, 1.5, (2, 70))


def is_right(function: Callable[..., Any], *args: Any) -> str:
    """On a GPU what the plain function gives, and its gradient; what was generated for both."""
    on_device, plain = grad(function, target="cuda"), grad(function, jit=False)
    y = function(*fresh(args))
    np.testing.assert_allclose(on_device(*fresh(args)), y, rtol=1e-12, atol=1e-13)
    v = np.cos(np.arange(np.size(y))).reshape(np.shape(y)) + 0.2
    got, want = (f.backward(*fresh(args), v=v) for f in (on_device, plain))
    got, want = ((g,) if isinstance(g, (np.ndarray, float)) else g for g in (got, want))
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    active = [k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f"]
    directions = [RNG.normal(size=np.shape(args[k])) for k in active]

    def along(step: float) -> Any:
        moved = fresh(list(args))
        for k, direction in zip(active, directions, strict=True):
            moved[k] = moved[k] + step * direction
        return np.sum(function(*moved) * v)

    found = sum(np.sum(g * d) for g, d in zip(got, directions, strict=True))
    np.testing.assert_allclose(found, slope(along)[0], rtol=1e-6, atol=1e-7)
    return on_device.source(*args) + on_device.source(*args, kind="primal")


def loops_of_one_thread(text: str) -> list[str]:
    """The kernels that one thread runs, and that have a loop in them."""
    names = re.findall(r"(\w+)\.by_one\(", text)
    bodies = {name: text[text.index(f"def {name}(") :].partition("\n\n\n")[0] for name in names}
    return [name for name, body in bodies.items() if re.search(r"\n +(for|while) ", body)]


# ------------------------------------------------------------------------------------------------ steps of arguments


def by_steps(x, s):
    y = np.zeros(x.shape[0])
    for i in range(0, x.shape[0], s):
        y[i] = x[i] ** 2
    return y


def sum_by_steps(x, s):
    total = 0.0
    for i in range(0, x.shape[0], s):
        total += np.sin(x[i])
    return total


def downwards(x, s):
    total, y = 0.0, x.copy()
    for i in range(x.shape[0] - 1, -1, -s):
        total += x[i] ** 2
        y[i] = np.cos(x[i])
    return y * total


def in_place_by_steps(x, s):
    for i in range(1, x.shape[0], s):
        x[i] *= np.sin(x[i])
    return x


def both_axes_by_steps(x, s):
    y = np.zeros_like(x)
    for i in range(0, x.shape[0], s):
        for j in range(1, x.shape[1], s + 1):
            y[i, j] = x[i, j] * x[i, j]
    return y


@pytest.mark.parametrize("step", [1, 3, 69, 70, 200])
@pytest.mark.parametrize("function", [by_steps, sum_by_steps, downwards, in_place_by_steps, both_axes_by_steps])
def test_steps_of_arguments(function: Callable[..., Any], step: int) -> None:
    text = is_right(function, X.reshape(7, 10) if function is both_axes_by_steps else X, step)
    assert not loops_of_one_thread(text) and "atomic.add" not in text


def test_steps_the_other_way() -> None:
    is_right(by_steps, X, -4)
    is_right(downwards, X, -4)
    with pytest.raises(RuntimeValueError, match="must not be zero"):
        grad(by_steps, target="cuda")(X, 0)
    with pytest.raises(RuntimeValueError, match="must not be zero"):
        grad(by_steps, target="cuda").backward(X, 0, v=X)
