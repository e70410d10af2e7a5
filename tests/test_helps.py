"""What errors advise: they call things what the user calls them, at the line to change, and what they advise works."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from test_errors import line_of

from srcgrad import SrcgradError, grad

plain = partial(grad, jit=False)
X = np.array([0.5, 1.5, 2.5])


def sums_by_keys_of_a_run(x):
    by = {}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by[k] = by.get(k, 0.0) + v * v  # here
    return by["hi"] * 2 + by["lo"]


def sums_by_default(x):
    by = defaultdict(float)
    for v in x:
        k = "hi" if v > 1 else "lo"
        by[k] += v * v  # here
    return by["hi"] * 2 + by["lo"]


def lists_by_keys_of_a_run(x):
    by = {}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by.setdefault(k, []).append(v * v)  # here
    return sum(by["hi"]) * 2 + sum(by["lo"])


def sums_by_keys_made_ahead(x):
    by = {"hi": 0.0, "lo": 0.0}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by[k] = by.get(k, 0.0) + v * v
    return by["hi"] * 2 + by["lo"]


def lists_by_keys_made_ahead(x):
    by = {"hi": [], "lo": []}
    for v in x:
        k = "hi" if v > 1 else "lo"
        by.setdefault(k, []).append(v * v)
    return sum(by["hi"]) * 2 + sum(by["lo"])


def roots_in_a_list(x):
    zeros = []
    for q in x:

        def residual(z):
            return np.sum(np.array([*zeros, z])) - q * q

        zeros.append(brentq(residual, -50.0, 50.0))  # here
    return zeros[-1]


def roots_in_an_array(x):
    zeros = np.zeros(len(x))
    for k in range(len(x)):
        zeros[k] = brentq(lambda z: np.sum(zeros[:k]) + z - x[k] * x[k], -50.0, 50.0)
    return zeros[-1]


ALL_KEYS = "by gets other keys .*help: make it with all of its keys ahead of the branch:  by = "
AT_A_LINE: list[tuple[Callable[..., Any], str]] = [
    (sums_by_keys_of_a_run, ALL_KEYS + re.escape("{'hi': 0.0, 'lo': 0.0}")),
    (sums_by_default, ALL_KEYS + re.escape("{'hi': 0.0, 'lo': 0.0}")),
    (lists_by_keys_of_a_run, ALL_KEYS + re.escape("{'hi': [], 'lo': []}")),
    (roots_in_a_list, "reads zeros, a list .*help: keep the numbers in an array:  zeros = "),
]


@pytest.mark.parametrize(("function", "words"), AT_A_LINE, ids=lambda row: getattr(row, "__name__", ""))
def test_at_the_line_to_change(function: Callable[..., Any], words: str) -> None:
    number, _ = line_of(function, "# here")
    with pytest.raises(SrcgradError, match="(?s)" + words) as caught:
        plain(function).backward(X)
    assert f"line {number}" in str(caught.value)


def test_what_is_advised_works() -> None:
    of_sums = X * [2, 4, 4]
    assert plain(sums_by_keys_made_ahead).backward(X).tolist() == of_sums.tolist()
    assert plain(lists_by_keys_made_ahead).backward(X).tolist() == of_sums.tolist()
    assert plain(roots_in_an_array).backward(X) == pytest.approx([0.0, -3.0, 5.0])
