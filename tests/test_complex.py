"""Complex numbers: the convention, points where one decides, what goes in and comes out, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numba
import numpy as np
import pytest
from support import from_arrow, from_text

from srcgrad import UnsupportedError, grad, stop_gradient
from srcgrad.runtime import complex_numbers
from srcgrad.testing import check_grad

Z = np.array([1.0 + 2.0j, -0.5 + 0.25j, 0.3 - 1.5j])
modes = pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])


def backward(arrow: str, *args: Any, v: Any = None) -> Any:
    return grad(from_arrow(arrow), jit=False).backward(*args, v)


# fmt: off
@pytest.mark.parametrize(("arrow", "z", "v", "expected"), [
    ("z -> z * z",             1 + 2j, 1.0 + 0j,   2 * (1 + 2j)),         # v f'(z), without conjugation
    ("z -> z * z",             1 + 2j, 1j,         2j * (1 + 2j)),
    ("z -> z.conjugate()",     1 + 2j, 3 + 4j,     3 - 4j),
    ("z -> abs(z) ** 2",       3 + 4j, None,       2 * (3 - 4j)),         # dL/dx - i dL/dy
    ("z -> z.real",            1 + 2j, None,       1.0),
    ("z -> z.imag",            1 + 2j, None,       -1j),
    ("z -> np.angle(z)",       3 + 4j, None,       -1j / (3 + 4j)),
    ("x -> x * (2 + 3j)",      0.5,    1.0 + 0j,   2.0),                  # a real argument has the real part
    ("x -> x * (2 + 3j)",      0.5,    1j,         -3.0),
    ("x -> np.exp(1j * x)",    0.5,    1.0 + 0j,   -np.sin(0.5)),
    ("x -> complex(0.0, x)",   0.5,    1j,         -1.0),
    ("z -> z * z",             1 + 2j, 2.0,        4 * (1 + 2j)),         # a real v is as good
])
# fmt: on
def test_convention(arrow: str, z: Any, v: Any, expected: complex) -> None:
    got = backward(arrow, z, v=v)
    assert got == pytest.approx(expected)
    assert isinstance(got, complex if isinstance(z, complex) else float)


# fmt: off
@pytest.mark.parametrize(("arrow", "z", "expected"), [
    ("z -> abs(z)",                        0j,               0),
    ("z -> abs(z) + abs(z.real)",          0j,               0),
    ("z -> np.linalg.norm(z)",             np.zeros(2, complex), 0),
    ("z -> np.abs(z * z)",                 0j,               0),
    ("z -> (z ** 2).real",                 0j,               0),
    ("z -> (z ** 0).real",                 0j,               0),
    ("z -> (z ** 1).real",                 0j,               1),
    ("z -> np.prod(z).real",               np.array([2j, 0, 3]), [0, 6j, 0]),
    ("z -> np.sum(np.where(z == 0, 0, 1 / z)).real", np.array([0j, 2]), [0, -0.25]),
    ("z -> np.log(z).real",                -1 + 0j,          -1),
    ("z -> np.sign(z).real",               2 + 0j,           0),
])
# fmt: on
def test_corners(arrow: str, z: Any, expected: Any) -> None:
    np.testing.assert_allclose(backward(arrow, z), expected, atol=1e-15)


def test_slopes_that_are_undefined_are_nan() -> None:
    assert np.isnan(backward("z -> np.angle(z)", 0j))


def scaled(z, x):
    return z * x, np.sum(np.abs(z)) * x


@modes
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_results_and_cotangents_have_their_dtypes(jit: bool, dtype: Any) -> None:
    f = grad(scaled, jit=jit)
    z, x = Z.astype(dtype), np.zeros(1, dtype).real.dtype.type(0.5)
    y = f(z, x)
    assert y[0].dtype == dtype
    assert type(y[1]) is type(x)
    z_b, x_b = f.backward(z, x, (np.ones(3, dtype), x))
    assert z_b.dtype == dtype
    assert type(x_b) is type(x)


@modes
def test_numbers_stay_pythons_or_numpys(jit: bool) -> None:
    f = grad(from_arrow("z -> z * 2"), jit=jit)
    for z in (1 + 2j, np.complex64(1 + 2j), np.complex128(1 + 2j)):
        assert type(f(z)) is type(z)
        assert type(f.backward(z, z)) is type(z)
        value, pullback = f.vjp(z)
        assert type(value) is type(pullback(z)) is type(z)


TURNED = """
def f(x, z):
    turn = 1j
    for i in range(x.size):
        turn *= x[i]
    return turn, turn * z, 1j + x[0], x[0] + 1j, 1j / x[0], 1j ** x[0], 1j * np.float32(x[0])
"""


@modes
def test_a_float64_beside_pythons_complex_is_one_of_its_floats(jit: bool) -> None:
    """And the result Python's, which leaves complex64 what it is; the other way round it is NumPy's."""
    plain = from_text(f"import numpy as np\n\n{TURNED}", "f")
    f, x, z = grad(plain, jit=jit), np.array([0.5, 0.7]), np.ones(2, np.complex64)
    for got, want in zip(f(x, z), plain(x, z), strict=True):
        assert type(got) is type(want)
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert getattr(got, "dtype", None) == getattr(want, "dtype", None)


DIVIDED = """
def f(x):
    try:
        return 1j / x[0]
    except ZeroDivisionError:
        return x[1] + 0j
"""


def test_pythons_complex_by_a_float64_of_zero_raises() -> None:
    f = grad(from_text(f"import numpy as np\n\n{DIVIDED}", "f"), jit=False)
    assert f(np.array([0.0, 3.0])) == 3.0
    np.testing.assert_array_equal(f.backward(np.array([0.0, 3.0]), 1 + 0j), [0, 1])


def test_complex_arguments_are_differentiated_and_can_be_chosen() -> None:
    f = from_arrow("z, x, n -> np.sum(z * x).real * n")
    assert len(grad(f, jit=False).backward(Z, np.ones(3), 2)) == 2
    np.testing.assert_array_equal(grad(f, jit=False, wrt="z").backward(Z, np.ones(3), 2), [2, 2, 2])


@modes
def test_v_is_needed_for_a_complex_output(jit: bool) -> None:
    with pytest.raises(TypeError, match="v is needed: the output of f is a scalar of dtype complex128"):
        grad(from_arrow("z -> z * z"), jit=jit).backward(1j)


SHIFT = np.array([1j, 2.0, 3.0])
TURN = 0.5 + 1j


def shifted(z):
    return np.sum((z + SHIFT) * TURN)


@modes
def test_complex_values_from_outside(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(shifted, jit=jit)
    assert f(Z) == pytest.approx(np.sum((Z + SHIFT) * TURN))
    monkeypatch.setitem(shifted.__globals__, "TURN", 2j)
    assert f(Z) == pytest.approx(np.sum((Z + SHIFT) * 2j))


def test_called_from_compiled_code() -> None:
    f = grad(from_arrow("z, x -> np.sum(np.abs(z)) * x"))

    @numba.njit
    def step(z, x):
        return f(z, x), f.backward(z, x)

    value, (z_b, x_b) = step(Z, 2.0)
    assert value == pytest.approx(2 * np.abs(Z).sum())
    np.testing.assert_allclose(z_b, 2 * Z.conj() / np.abs(Z))
    assert x_b == pytest.approx(np.abs(Z).sum())


def renamed_part(z):
    x = z.real
    z = z.copy()
    z[0] = 1
    return np.sum(x) * z[1]


def stale_part(z):
    x = z.real
    z[0] = 5
    return np.sum(x)


def stale_rows(z):
    x = z.real.reshape(3, 1)
    z[0] = 5
    return np.sum(x)


def stale_whole(z):
    x = z.imag[1:]
    x[0] = 5
    return np.sum(z)


def writes_a_part(x):
    x[0] = 5


def stale_argument(z):
    writes_a_part(z.imag)
    return np.sum(z)


def test_a_part_with_a_name_is_a_view() -> None:
    """Ours is a copy: what NumPy would change through the other name is refused."""
    check_grad(grad(renamed_part, jit=False), Z)
    for function in (stale_part, stale_rows, stale_whole, stale_argument):
        with pytest.raises(UnsupportedError, match="may or may not be the array that was written under another name"):
            grad(function, jit=False)(Z.copy())


def test_derivatives_of_complex_numbers_are_stopped() -> None:
    f = grad(lambda z: np.sum(z * stop_gradient(z) + stop_gradient(z[0])).real, jit=False)
    np.testing.assert_allclose(f.backward(Z), Z)


# fmt: off
REFUSED = {
    "x, z -> np.maximum(z, 0)": "maximum does not take complex numbers",
    "x, z -> z[0] < 1": "lt does not take complex numbers",
    "x, z -> np.max(z)": "complex numbers have no order",
    "x, z -> np.argmin(z)": "complex numbers have no order",
    "x, z -> math.sin(z[0])": "math.sin takes a real number",
    "x, z -> float(z[0])": r"float\(\) takes a real number",
    "x, z -> int(z[0])": "takes a real number",
    "x, z -> z // 2": "complex",
    "x, z -> np.real_if_close(z)": "np.real_if_close depends on the data",
    "x, z -> np.arctan2(z, 1)": "arctan2 does not take complex numbers",
    "x, z -> np.fft.rfft(z)": "the transform of real numbers does not take complex ones",
    "x, z -> np.fft.fft(z, norm='mean')": 'invalid norm value mean: "backward", "ortho" or "forward" is known',
    "x, z -> np.fft.fft(z, 0)": "Invalid number of FFT data points",
    "x, z -> np.fft.fftn(z, axes=(0, 0))": "takes each axis once",
    "x, z -> np.fft.fft2(z)": "axis -2 is out of bounds",
}
# fmt: on


@pytest.mark.parametrize("arrow", REFUSED)
def test_refused(arrow: str) -> None:
    with pytest.raises((TypeError, UnsupportedError), match=REFUSED[arrow]):
        grad(from_arrow(arrow), jit=False)(np.ones(3), Z)


def into_real(x, z):
    x += z
    return x


def test_complex_results_do_not_go_into_real_memory_in_place() -> None:
    with pytest.raises(TypeError, match="complex128 can't be stored in an array of float64"):
        grad(into_real, jit=False)(np.ones(3), Z)


@modes
def test_transform_of_nothing(jit: bool) -> None:
    f = grad(from_arrow("z -> np.fft.fft(z)"), jit=jit)
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        f(np.zeros(0, complex))
    assert f(np.zeros((0, 4), complex)).shape == (0, 4)
    assert f.backward(np.zeros((0, 4), complex), np.zeros((0, 4))).shape == (0, 4)


def test_a_wrong_complex_gradient_is_told() -> None:
    class Square:
        py_func = staticmethod(lambda z: z * z)
        backward = staticmethod(lambda z, v: 2 * z * v)

    check_grad(Square, Z)
    Square.backward = staticmethod(lambda z, v: 2 * np.conj(z) * v)
    with pytest.raises(AssertionError, match="worst element z"):
        check_grad(Square, Z)


EDGES = [0j, 1 + 0j, -1 + 0j, complex(-1, -0.0), 2 + 0j, -2j, 1e-8 + 1e-8j, 1e-20j, 800 + 0j, 800j, 30 + 1j, 0.6 - 0.8j]
TWO_OPERANDS = ("complex64", "complex128", "complex_divide", "complex_power")
COMPILED = [name for name in complex_numbers.__all__ if name not in TWO_OPERANDS]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@modes
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_powers_of_zero(jit: bool, dtype: Any) -> None:
    """0 where the real part of the exponent is positive; Numba has nan."""
    power = grad(from_arrow("a, z -> a ** z"), jit=jit)
    z = np.array([1.5 + 0.5j, 2.0, 1.0, 0.0, 1j, -1.0, 2.0 + 1j], dtype)
    for a in (np.array([0, 0, 0, 0, 0, 0, 2.0], z.real.dtype), np.array([0, 0, 0, 0, 0, 0, 1 - 2j], dtype)):
        value, (a_b, z_b) = power.value_and_backward(a, z, np.ones_like(z))
        np.testing.assert_allclose(value, a**z, rtol=1e-6)
        np.testing.assert_allclose(a_b[:4], [0, 0, 1, 0])
        np.testing.assert_array_equal(z_b[:4], [0, 0, 0, 0])


def test_powers_are_numpys_when_compiled() -> None:
    power = complex_numbers.complex_power
    compiled = numba.njit(error_model="numpy")(lambda x, y: power(x, y))
    exponents = (0, 1, -1, 1j, -1j, 1.5 + 0.5j, -1 + 1j, 2, 3, 6, -5, 50, 0.5, complex(np.nan, 0))
    for dtype, tolerance in (np.complex128, 1e-12), (np.complex64, 1e-4):
        for x, y in itertools.product((0, 0.5, -1.5, 1 - 0.5j, -0.25j, complex(np.nan, 0)), exponents):
            x, y = dtype(x), dtype(y)
            with np.errstate(all="ignore"):
                want = np.power(x, y)
            np.testing.assert_allclose(compiled(x, y), want, tolerance, err_msg=f"{x} ** {y}")


def test_functions_are_numpys_when_compiled() -> None:
    """At the edges too, where Numba's own are not."""
    lines = "".join(f"        {name}(z),\n" for name in COMPILED)
    helpers = f"from srcgrad.runtime import {', '.join([*COMPILED, 'complex_divide'])}\n\n\n"
    divided = "        complex_divide(z, w),\n        complex_divide(1.0, z),\n        complex_divide(z, w.real),\n"
    f = from_text(f"{helpers}def f(z, w):\n    return (\n{lines}{divided}    )\n", "f")
    compiled = numba.njit(error_model="numpy")(f)
    random = np.random.default_rng(0)
    points = [*EDGES, *(random.normal(size=100) + 1j * random.normal(size=100)) * np.exp(random.normal(size=100))]
    for z, w in zip(map(np.complex128, points), map(np.complex128, points[::-1] + [0j]), strict=False):
        with np.errstate(all="ignore"):
            expected = f(z, w)
        for name, got, want in zip([*COMPILED, "z / w", "1 / z", "z / x"], compiled(z, w), expected, strict=True):
            for part in (np.real, np.imag):
                close = np.isclose(part(got), part(want), rtol=4e-15, atol=4e-15 * min(abs(want), 1e300))
                either = part(got) == part(want) or np.isnan(part(want))
                assert close or either, f"{name} at {z}, {w}: {got}, not {want}"
