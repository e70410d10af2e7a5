"""Long chains of conditional expressions, and of `and` and `or`: each link is looked at once more, not twice as often."""

# ruff: noqa: E501

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from srcgrad import grad


def on_the_right(x):
    return (
        x[0]
        if x[0] > 1
        else x[1]
        if x[0] > 2
        else x[2]
        if x[0] > 3
        else x[3]
        if x[0] > 4
        else x[0]
        if x[0] > 5
        else x[1]
        if x[0] > 6
        else x[2]
        if x[0] > 7
        else x[3]
        if x[0] > 8
        else x[0]
        if x[0] > 9
        else x[1]
        if x[0] > 10
        else x[2]
        if x[0] > 11
        else x[3]
        if x[0] > 12
        else x[0]
        if x[0] > 13
        else x[1]
        if x[0] > 14
        else x[2]
        if x[0] > 15
        else x[3]
        if x[0] > 16
        else x[0]
        if x[0] > 17
        else x[1]
        if x[0] > 18
        else x[2]
        if x[0] > 19
        else x[3]
        if x[0] > 20
        else x[0]
        if x[0] > 21
        else x[1]
        if x[0] > 22
        else x[2]
        if x[0] > 23
        else x[3]
        if x[0] > 24
        else x[1]
    )


def on_the_left(x):
    return (
        (
            (
                (
                    (
                        (
                            (
                                (
                                    (
                                        (
                                            (
                                                (
                                                    (
                                                        (
                                                            (
                                                                (
                                                                    (
                                                                        (
                                                                            (
                                                                                (
                                                                                    (
                                                                                        (
                                                                                            (
                                                                                                (
                                                                                                    x[1]
                                                                                                    if x[0] < 1
                                                                                                    else x[0]
                                                                                                )
                                                                                                if x[0] < 2
                                                                                                else x[1]
                                                                                            )
                                                                                            if x[0] < 3
                                                                                            else x[2]
                                                                                        )
                                                                                        if x[0] < 4
                                                                                        else x[3]
                                                                                    )
                                                                                    if x[0] < 5
                                                                                    else x[0]
                                                                                )
                                                                                if x[0] < 6
                                                                                else x[1]
                                                                            )
                                                                            if x[0] < 7
                                                                            else x[2]
                                                                        )
                                                                        if x[0] < 8
                                                                        else x[3]
                                                                    )
                                                                    if x[0] < 9
                                                                    else x[0]
                                                                )
                                                                if x[0] < 10
                                                                else x[1]
                                                            )
                                                            if x[0] < 11
                                                            else x[2]
                                                        )
                                                        if x[0] < 12
                                                        else x[3]
                                                    )
                                                    if x[0] < 13
                                                    else x[0]
                                                )
                                                if x[0] < 14
                                                else x[1]
                                            )
                                            if x[0] < 15
                                            else x[2]
                                        )
                                        if x[0] < 16
                                        else x[3]
                                    )
                                    if x[0] < 17
                                    else x[0]
                                )
                                if x[0] < 18
                                else x[1]
                            )
                            if x[0] < 19
                            else x[2]
                        )
                        if x[0] < 20
                        else x[3]
                    )
                    if x[0] < 21
                    else x[0]
                )
                if x[0] < 22
                else x[1]
            )
            if x[0] < 23
            else x[2]
        )
        if x[0] < 24
        else x[3]
    )


def disjunction(x):
    return (
        x[0]
        or x[1]
        or x[2]
        or x[3]
        or x[0]
        or x[1]
        or x[2]
        or x[3]
        or x[0]
        or x[1]
        or x[2]
        or x[3]
        or x[0]
        or x[1]
        or x[2]
        or x[3]
        or x[0]
        or x[1]
        or x[2]
        or x[3]
        or x[0]
        or x[1]
        or x[2]
        or x[3]
    )


@pytest.mark.parametrize("function", [on_the_right, on_the_left, disjunction])
def test_chains_take_no_time_that_doubles_with_each_link(function: Callable[..., float]) -> None:
    x, begun = np.array([0.3, -0.2, 0.5, 0.1]), time.perf_counter()
    value, slope = grad(function, jit=False).value_and_backward(x)
    assert time.perf_counter() - begun < 20.0  # hours, if they doubled
    assert value == function(x)
    np.testing.assert_array_equal(slope, x == value)
