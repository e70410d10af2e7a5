"""`scipy.special.lambertw`, on all branches, near the branch point and far away."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import lambertw
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.rules.compositions.lambert import branch
from srcgrad.testing import check_grad


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", [-2, -1, 0, 1, 2])
def test_values(k):
    rng = np.random.default_rng(3)
    near = -np.exp(-1.0) + 1e-3 * (rng.standard_normal(100) + 1j * rng.standard_normal(100))
    around = rng.uniform(-4.0, 4.0, 800) + 1j * rng.uniform(-4.0, 4.0, 800)
    real = np.concatenate(
        [np.linspace(-5.0, 5.0, 402), 10.0 ** rng.uniform(-300, 300, 100), -(10.0 ** rng.uniform(-300, 3, 100))]
    )
    ends = np.array([0.0, np.inf, -np.inf, 1.0 + 1e-300j, -1.0 - 1e-12j])
    z = np.concatenate([near, around, real.astype(complex), ends])
    np.testing.assert_allclose([branch(place, k) for place in z], lambertw(z, k), rtol=2e-14)
    assert np.isnan(branch(np.complex128(np.nan), k))


def principal(x):
    return lambertw(x).real


def lower(x):
    return lambertw(x, -1).real


def of_arrays(x):
    return np.sum(lambertw(x, k=0).real ** 2)


def of_complex_numbers(a, b):
    w = lambertw(a + 1j * b, 1)
    return 2.0 * w.real + w.imag


def friction(re, rough):
    """Colebrook's, of a smooth pipe, and something for the roughness."""
    a = np.log(10.0) / 2.0
    return (1.0 / (2.0 * float(lambertw(a * re / 2.51).real) / np.log(10.0) - rough)) ** 2


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (principal, (0.7,)), (principal, (-0.2,)), (principal, (50.0,)), (principal, (0.0,)), (lower, (-0.2,)),
        (of_arrays, (np.array([0.1, 3.0, 0.9]),)), (of_complex_numbers, (0.3, 0.4)), (of_complex_numbers, (-0.3, 0.4)),
        (friction, (1e5, 0.3)),
    ],
)  # fmt: skip
def test_gradients(function, args):
    f = grad(function, jit=False)
    check_value_and_grad(f, *args, rtol=1e-13)


def test_compiled():
    check_grad(grad(friction), 1e5, 0.3)


def test_at_the_branch_point():
    f = grad(principal, jit=False)
    assert f(-np.exp(-1.0)) == -1.0
    assert f.backward(-np.exp(-1.0)) > 1e307
