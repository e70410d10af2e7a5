"""`scipy.integrate.quad`: derivatives are as near as values where the function has kinks, or roots at its ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

from srcgrad import grad


def half_disc(radius):
    return quad(lambda x: np.sqrt(max(radius * radius - x * x, 0.0)), -radius, radius)[0]


def segment(radius):
    return quad(lambda x: np.sqrt(radius * radius - x * x), radius - 2.0, radius)[0]


def segment_slope(radius):
    """Of its area r² arccos((r - 2) / r) - (r - 2) √(4 r - 4)."""
    width = np.sqrt(4.0 * radius - 4.0)
    return 2.0 * radius * np.arccos((radius - 2.0) / radius) / 2.0 - width


def payoff(x, strike):
    return max(np.exp(x) - strike, 0.0) * np.exp(-x * x / 0.08)


def price(strike):
    return quad(payoff, -3.0, 3.0, args=(strike,))[0]


def price_slope(strike):
    spread = np.sqrt(0.08)
    return -0.5 * np.sqrt(np.pi) * spread * (erf(3.0 / spread) - erf(np.log(strike) / spread))


@pytest.mark.parametrize(
    ("function", "place", "slope"),
    [
        (half_disc, 36.0, lambda r: np.pi * r),
        (segment, 3.0, segment_slope),
        (price, 1.1, price_slope),
    ],
    ids=["half_disc", "segment", "price"],
)
def test_kinks_and_roots(function, place, slope):
    f = grad(function, jit=False)
    value, found = f.value_and_backward(place)
    assert value == pytest.approx(function(place), rel=1e-8)
    assert found == pytest.approx(slope(place), rel=1e-6)
