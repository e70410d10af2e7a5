"""A number that is only known at run time where NumPy and Python take an option or a bound: their value, or a refusal.

What is not known ahead must never be taken for an option that was left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import from_text

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([[0.7, -1.3, 2.1], [0.4, 1.9, -0.6]])
Y = X[:, ::-1] * 1.5

AS_IN_NUMPY = """
[x, x * x, x * 2.0][k:][0]
[x, x * x, x * 2.0][:k][-1]
[x[0], x[1] * x[0]][k - 1]
sum([x[0, 0], x[0, 1] ** 2, y[0, 1]][:k])
sum([x[0, 0], x[0, 1] ** 2, y[0, 1]][::k])
sum(list(range(5))[k:]) * x
[v * v for v in x[0]][k:][0]
[v * v for v in x[0]][-k]
[1.0, 2.0, 3.0][k] * x
x[k::k]
x[..., k:]
np.roll(x, k, 1)
np.diag(x, k)
np.triu(x, k)
np.tile(x, k)
np.full((k, 2), x[0, 0])
np.clip(x, -k, None)
np.bincount(np.array([0, 1, 1]), weights=x[0], minlength=5 * k)
sum(x[0], k)
""".split("\n")[1:-1]

REFUSED = """
(x, y)[k - 1 :][0]
sum((x[0, 0], x[0, 1], y[0, 1])[::k])
np.linspace(x, y, 3, axis=k)
np.logspace(x, y, 3, axis=k)
np.concatenate((x, y), axis=k)
np.concatenate([x * j for j in range(k)], axis=k)
np.stack((x, y), axis=k)
np.sum(x, axis=k)
np.sum(x, keepdims=k)
np.nansum(x, axis=0, keepdims=k)
np.cumulative_sum(x[0], include_initial=k)
np.squeeze(x[:1], axis=k)
np.diff(x, n=k)
np.polyder(x[0], k)
np.polyint(x[0], k)
np.round(x, 1.0 * k)
np.split(x, k)[0]
np.put_along_axis(x, np.array([[0], [1]]), 3.0, k)
np.std(x, axis=0, ddof=1, keepdims=k)
x.sum(k)
sorted(x[0], reverse=k)[0]
""".split("\n")[1:-1]


def function_of(text: str) -> Any:
    return from_text(f"import numpy as np\n\ndef f(x, y, k):\n    return {text}\n", "f")


@pytest.mark.parametrize("text", AS_IN_NUMPY)
def test_as_in_numpy(text: str) -> None:
    plain = function_of(text)
    f = grad(plain, wrt=("x", "y"), jit=False)
    for k in (1, 2):
        got, want = f(X, Y, k), plain(X, Y, k)
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-15)
        check_grad(f, X.copy(), Y.copy(), k)


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises((UnsupportedError, TypeError, ValueError)) as caught:
        grad(function_of(text), jit=False)(X.copy(), Y, 1)
    assert "return" in str(caught.value) and "^" in str(caught.value)


def test_a_step_of_zero() -> None:
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        grad(function_of("x[::k]"), jit=False)(X, Y, 0)


@pytest.mark.parametrize("text", ["[v for v in x[0]][k]", "[1.0, 2.0][k] * x"])
def test_a_truth_is_a_place_in_a_list_and_a_fraction_is_none(text: str) -> None:
    plain = function_of(text)
    f = grad(plain, wrt="x", jit=False)
    np.testing.assert_array_equal(f(X, Y, True), plain(X, Y, True))
    with pytest.raises(TypeError, match="a list is indexed by an integer|a tuple or list is indexed by an integer"):
        f(X, Y, 1.0)
