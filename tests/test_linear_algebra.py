"""Linear algebra at its corner points: singular, degenerate, empty and wrong input; which triangle carries what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from support import check_value_and_grad, from_arrow

from srcgrad import grad
from srcgrad.testing import check_grad

pytestmark = pytest.mark.filterwarnings("ignore")


def plain(function: Any) -> Any:
    return grad(function, jit=False)


def test_determinant_of_singular_matrices_has_the_cofactors() -> None:
    f = plain(lambda a: np.linalg.det(a))
    np.testing.assert_allclose(f.backward(np.array([[1.0, 2.0], [2.0, 4.0]])), [[4, -2], [-2, 1]], atol=1e-12)
    np.testing.assert_allclose(f.backward(np.diag([3.0, 0.0, 2.0])), np.diag([0.0, 6.0, 0.0]), atol=1e-12)
    np.testing.assert_array_equal(f.backward(np.zeros((3, 3))), np.zeros((3, 3)))
    np.testing.assert_allclose(f.backward(np.zeros((1, 1))), [[1.0]])
    assert f(np.ones((0, 0))) == 1.0
    assert f.backward(np.ones((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_compiled_cofactors_of_a_singular_matrix(dtype: Any) -> None:
    a = np.random.default_rng(0).normal(size=(4, 4, 2)) @ np.array([1, 1j if dtype == np.complex128 else 1])
    a = a.astype(dtype)
    a[:, 1] = 0.0  # so that a pivot is 0, without rounding
    minors = [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(4)] for i in range(4)]
    wanted = np.array(minors) * [[(-1) ** (i + j) for j in range(4)] for i in range(4)]
    f = grad(lambda a: np.linalg.det(a))
    assert f(a) == 0
    found = f.backward(a, dtype(1))
    np.testing.assert_allclose(found, wanted, atol=1e-5 if dtype == np.float32 else 1e-13)
    assert found.dtype == dtype


def test_determinant_rounded_away_from_zero() -> None:
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    cofactors = [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]]
    np.testing.assert_allclose(plain(lambda a: np.linalg.det(a)).backward(a), cofactors, rtol=1e-10)


def test_logarithm_of_a_determinant_of_zero_diverges() -> None:
    f = plain(lambda a: np.linalg.slogdet(a)[1])
    assert f(np.diag([1.0, 0.0])) == -np.inf
    assert np.isposinf(f.backward(np.diag([1.0, 0.0]))[1, 1])


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.cholesky(a)[1, 1],
        lambda a: np.linalg.cholesky(a, upper=True)[0, 1],
        lambda a: np.linalg.eigvalsh(a)[0],
        lambda a: np.linalg.eigvalsh(a, "U")[0],
        lambda a: np.linalg.eigh(a).eigenvectors[0, 0] ** 2,
        lambda a: np.linalg.pinv(a, hermitian=True)[0, 0],
        lambda a: np.linalg.svd(a, hermitian=True)[1][1],
        lambda a: scipy.linalg.solve(a, np.ones(2), assume_a="sym")[0],
        lambda a: scipy.linalg.solve(a, np.ones(2), assume_a="pos", lower=True)[0],
    ],
)
def test_the_triangle_that_is_read_has_the_derivative(f: Any) -> None:
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    gradient = plain(f).backward(a)
    for i, j in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[i, j] = 1e-6
        np.testing.assert_allclose(gradient[i, j], (f(a + step) - f(a - step)) / 2e-6, rtol=1e-6, atol=1e-9)
    assert gradient[0, 1] * gradient[1, 0] == 0.0 != gradient[0, 1] + gradient[1, 0]


def test_a_matrix_filled_in_one_triangle() -> None:
    """As programs fill it that find a rotation's quaternion: 4 q q^T - 1 has q for the eigenvalue 3."""

    def quaternion(m):
        k = np.array(
            [
                [m[0, 0] - m[1, 1] - m[2, 2], 0.0, 0.0, 0.0],
                [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0.0, 0.0],
                [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0.0],
                [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
            ]
        )
        w, v = np.linalg.eigh(k / 3.0)
        q = v[:, np.argmax(w)]
        return -q if q[3] < 0 else q

    angle = 0.3
    rotation = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
    turned = np.array([[-np.sin(angle), -np.cos(angle), 0], [np.cos(angle), -np.sin(angle), 0], [0, 0, 0.0]])
    v = np.array([0.3, -0.2, 1.1, 0.7])
    slope = np.sum(plain(quaternion).backward(rotation, v) * turned)
    np.testing.assert_allclose(slope, v[2] * np.cos(angle / 2) / 2 - v[3] * np.sin(angle / 2) / 2, rtol=1e-12)


def test_only_one_triangle_is_read() -> None:
    a = np.array([[4.0, 100.0], [1.0, 3.0]])
    symmetric = np.array([[4.0, 1.0], [1.0, 3.0]])
    np.testing.assert_array_equal(plain(lambda a: np.linalg.cholesky(a))(a), np.linalg.cholesky(symmetric))
    np.testing.assert_array_equal(plain(lambda a: np.linalg.eigvalsh(a))(a), np.linalg.eigvalsh(symmetric))
    upper = plain(lambda a: scipy.linalg.cholesky(a))(a.T)
    np.testing.assert_array_equal(upper, scipy.linalg.cholesky(symmetric))


def test_equal_eigenvalues() -> None:
    a = np.diag([2.0, 2.0, 5.0])
    np.testing.assert_allclose(plain(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2)).backward(a), 2 * a)
    top = plain(lambda a: np.linalg.eigh(a)[1][:, 2] ** 2)  # this one is apart from the others
    assert np.isfinite(top.backward(a, np.array([1.0, 2.0, 3.0]))).all()
    one_of_two = plain(lambda a: np.linalg.eigh(a)[1][0, 0] * np.linalg.eigh(a)[1][1, 0])
    assert not np.isfinite(one_of_two.backward(a)).all()


def test_values_that_only_rounding_tells_apart_are_equal() -> None:
    """What the rounding of a gap leaves of 0 / 0 would be a number, and wrong."""

    def root(a, w):
        values, vectors = np.linalg.eigh(a)
        return np.sum(w * ((vectors * np.sqrt(values)) @ vectors.T))

    def rotation(a, w):
        u, _, vh = np.linalg.svd(a)
        return np.sum(w * (u @ vh))

    q = np.linalg.qr(np.array([[2.0, 1.0, 0.3], [0.5, -1.0, 0.7], [0.1, 0.9, 1.4]]))[0]
    w = np.arange(9.0).reshape(3, 3) ** 2
    tries = ((q * [7.0, 7.0 + k * np.spacing(7.0), 5.0]) @ q.T for k in range(10))  # what is left differs by machines
    almost = next(a for a in tries if 0 < np.diff(np.linalg.eigh(a)[0])[1] < 1e-14)
    assert not np.isfinite(grad(root, jit=False, wrt="a").backward(almost, w)).all()
    assert not np.isfinite(grad(rotation, jit=False, wrt="a").backward(almost, w)).all()
    apart, its_root = (q * [2.0, 2.0 + 1e-6, 5.0]) @ q.T, (q * np.sqrt([2.0, 2.0 + 1e-6, 5.0])) @ q.T
    expected = scipy.linalg.solve_sylvester(its_root, its_root, (w + w.T) / 2)
    expected = np.tril(expected + expected.T) - np.diag(np.diag(expected))
    for jit in (False, True):
        np.testing.assert_allclose(grad(root, jit=jit, wrt="a").backward(apart, w), expected, rtol=1e-7)


def test_equal_singular_values() -> None:
    nuclear = plain(lambda a: np.linalg.norm(a, "nuc"))
    np.testing.assert_allclose(nuclear.backward(np.eye(3)), np.eye(3))
    np.testing.assert_array_equal(nuclear.backward(np.zeros((2, 3))), np.zeros((2, 3)))
    spectral = plain(lambda a: np.linalg.norm(a, 2)).backward(np.eye(2))
    np.testing.assert_allclose(spectral, np.eye(2) / 2)
    pinv = plain(lambda a: np.sum(np.linalg.pinv(a) * np.array([[1.0, 2.0], [3.0, 4.0]])))
    np.testing.assert_allclose(pinv.backward(np.eye(2)), [[-1, -2], [-3, -4]])


@pytest.mark.parametrize("jit", [False, True])
def test_singular_matrices_are_refused_as_by_numpy(jit: bool) -> None:
    def f(a, b):
        return np.linalg.solve(a, b) + np.sum(np.linalg.cholesky(a))

    with pytest.raises(np.linalg.LinAlgError):
        grad(f, jit=jit)(np.ones((2, 2)), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError):
        grad(f, jit=jit).backward(np.diag([1.0, -1.0]), np.ones(2), np.ones(2))


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: np.linalg.inv(x), np.linalg.LinAlgError),
        (lambda x: np.linalg.det(x[0]), ValueError),
        (lambda x: np.linalg.inv(x[:, :2] - x[:, :2]), np.linalg.LinAlgError),
        (lambda x: np.linalg.solve(x[:, :2], x[0]), ValueError),
        (lambda x: np.linalg.eigvalsh(x[:, :2], "X"), ValueError),
        (lambda x: np.linalg.svd(x), NotImplementedError),
        (lambda x: np.linalg.qr(x.T, mode="complete"), NotImplementedError),
        (lambda x: scipy.linalg.solve_triangular(x[:, :2] - x[:, :2], x[:, 0]), np.linalg.LinAlgError),
        (lambda x: np.linalg.norm(x, 3), TypeError),
    ],
)
def test_what_numpy_refuses(function: Any, error: type[Exception]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(error):
        plain(function)(x)


def triangle_of_a_tall_matrix(a):
    (r,) = scipy.linalg.qr(a, mode="r")
    return np.sum(r**2 * np.arange(1.0, r.size + 1.0).reshape(r.shape))


def whole_of_a_tall_matrix(a):
    return np.sum(scipy.linalg.qr(a)[1] ** 3)


@pytest.mark.parametrize("jit", [False, True])
def test_qr_of_more_rows_than_columns(jit: bool) -> None:
    a = np.random.default_rng(7).normal(size=(5, 3))
    f = grad(triangle_of_a_tall_matrix, jit=jit)
    for matrix in a, a.T.copy(), a[:3]:
        check_value_and_grad(f, matrix, at_once=jit)
    whole = grad(whole_of_a_tall_matrix, jit=jit)
    check_grad(whole, a.T.copy())
    with pytest.raises(NotImplementedError) as caught:
        whole.backward(a)
    assert "return np.sum(scipy.linalg.qr(a)[1] ** 3)" in str(caught.value)
    assert "mode='economic'" in str(caught.value).splitlines()[-1]


def factors_of_a_square(a):
    q, r = np.linalg.qr(a)
    return np.sum(q * np.sin(r[..., : q.shape[-1]])) + np.sum(r**3)


def eigenvalues_by_shifted_qr(a, steps):
    h, one = a.copy(), np.eye(len(a))
    for _ in range(steps):
        shift = h[-1, -1]
        q, r = np.linalg.qr(h - shift * one)
        h = r @ q + shift * one
    return np.sort(np.diag(h))


@pytest.mark.parametrize("jit", [False, True])
def test_qr_with_a_last_pivot_of_zero(jit: bool) -> None:
    """The last column of a square Q follows from the others, so that no inverse of the last pivot counts."""
    rng = np.random.default_rng(3)
    f = grad(factors_of_a_square, jit=jit)
    for shape in (4, 4), (3, 5), (2, 3, 3):
        regular = rng.normal(size=shape)
        for pivot in 0.0, 1e-15, 1e-8:
            a = regular.copy()
            a[..., shape[-2] - 1] = pivot * a[..., shape[-2] - 1] + np.sum(a[..., : shape[-2] - 1], -1)
            check_value_and_grad(f, a, at_once=jit)
    exact = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [4.0, 5.0, 0.0]])
    assert np.linalg.qr(exact)[1][2, 2] == 0
    check_value_and_grad(f, exact, at_once=jit)
    check_value_and_grad(f, exact.astype(np.float32), rtol=1e-6, at_once=jit)


def factors_in_one(a):
    factors, _ = scipy.linalg.lu_factor(a)
    return np.sum(np.sin(factors) * np.arange(1.0, factors.size + 1).reshape(factors.shape)).real


@pytest.mark.parametrize("jit", [False, True])
def test_lu_with_a_last_pivot_of_zero(jit: bool) -> None:
    """Nothing is divided by the last pivot, so that no inverse of it counts."""
    f = grad(factors_in_one, jit=jit)
    singular = np.array([[2.0, 4.0, 5.5], [1.0, 2.0, 2.75], [4.0, 2.0, 1.0]])
    assert scipy.linalg.lu_factor(singular)[0][2, 2] == 0
    check_value_and_grad(f, singular, at_once=jit)
    check_value_and_grad(f, singular.astype(np.float32), rtol=1e-6, at_once=jit)
    check_value_and_grad(f, singular * 1j, at_once=jit)
    for a in np.zeros((1, 1)), np.random.default_rng(1).normal(size=(4, 4)):
        check_value_and_grad(f, a, at_once=jit)


def test_shifted_qr_has_the_derivatives_of_eigenvalues() -> None:
    a = np.random.default_rng(0).normal(size=(5, 5))
    a += a.T
    v = np.arange(1.0, 6.0)
    g = plain(eigenvalues_by_shifted_qr).backward(a, 200, v=v)
    _, vectors = np.linalg.eigh(a)
    np.testing.assert_allclose((g + g.T) / 2, (vectors * v) @ vectors.T, atol=1e-9)


@pytest.mark.parametrize("jit", [False, True])
def test_condition_of_singular_matrices_is_infinite(jit: bool) -> None:
    singular, regular = np.ones((3, 3)), np.diag([1.0, 2.0, 4.0])
    for order in (1,) if jit else (None, 2, -2, 1, -1, np.inf, "fro"):
        f = grad(from_arrow(f"x -> np.linalg.cond(x, {order!r})".replace("inf", "np.inf")), jit=jit)
        np.testing.assert_array_equal(f.value_and_backward(np.zeros((3, 3)))[0], np.inf)
        if order not in (None, 2, -2):  # those are what rounding makes of them
            value, cotangent = f.value_and_backward(singular)
            np.testing.assert_array_equal(value, np.inf)
            assert not np.any(np.isfinite(cotangent))
        stack = np.stack([regular, np.zeros((3, 3))])
        values, cotangents = f.value_and_backward(stack, np.array([1.0, 0.0]))
        np.testing.assert_allclose(values, np.linalg.cond(stack, order))
        np.testing.assert_array_equal(cotangents[0], f.value_and_backward(regular)[1])


def test_rank_of_nothing() -> None:
    f = plain(lambda x: np.linalg.matrix_rank(x) * np.sum(x))
    for shape in (0, 3), (3, 0), (0, 2, 2):
        np.testing.assert_array_equal(f(np.zeros(shape)), np.zeros(shape[:-2]))


def test_empty_matrices() -> None:
    empty = np.ones((0, 0))
    for f in (
        lambda a: np.sum(np.linalg.cholesky(a)),
        lambda a: np.sum(np.linalg.eigh(a)[1]) + np.sum(np.linalg.svd(a, False)[0]) + np.sum(np.linalg.qr(a)[1]),
        lambda a: np.sum(np.linalg.solve(a, np.ones((0, 2)))) + np.sum(np.linalg.pinv(a)),
    ):
        assert plain(f)(empty) == f(empty)
        assert plain(f).backward(empty).shape == (0, 0)


def test_the_matrix_of_a_loop_is_not_kept() -> None:
    def f(a, b):
        for _ in range(10):
            b = np.linalg.solve(a, b)
        return b

    a, b = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([1.0, 2.0])
    assert "(10, a.shape[1], a.shape[1])" not in plain(f).source(a, b)
    _, gradient = plain(f).backward(a, b, np.array([1.0, 0.0]))
    np.testing.assert_allclose(gradient, np.linalg.matrix_power(np.linalg.inv(a), 10)[0])


def test_determinant_of_a_singular_complex_matrix() -> None:
    f = grad(from_arrow("z -> np.linalg.det(z)"), jit=False)
    z = np.outer([1.0, 2j], [0.5 - 1j, 3.0])
    cofactors = np.array([[z[1, 1], -z[1, 0]], [-z[0, 1], z[0, 0]]])
    np.testing.assert_allclose(f.backward(z, 1.0 + 0j), cofactors, atol=1e-14)


def test_logarithm_of_a_complex_determinant_of_zero() -> None:
    z = np.diag([1j, 0.0])
    f = plain(from_arrow("z -> np.linalg.slogdet(z)"))
    assert f(z) == (0, -np.inf)
    assert not np.isfinite(f.backward(z, (0j, 1.0))[1, 1])
    np.testing.assert_array_equal(f.backward(z, (1 + 1j, 0.0)), np.zeros((2, 2)))
    assert f.backward(np.ones((0, 0)) * 1j, (1j, 1.0)).shape == (0, 0)


def test_equal_singular_values_of_complex_matrices() -> None:
    rotation = np.array([[0, 1j], [-1, 0]])
    nuclear = plain(from_arrow("z -> np.linalg.norm(z, 'nuc')"))
    np.testing.assert_allclose(nuclear.backward(rotation), rotation.conj(), atol=1e-14)
    np.testing.assert_array_equal(nuclear.backward(np.zeros((2, 3)) * 1j), np.zeros((2, 3)))
    spectral = plain(from_arrow("z -> np.linalg.norm(z, 2)")).backward(rotation)
    np.testing.assert_allclose(spectral, rotation.conj() / 2, atol=1e-14)
    one_of_two = plain(from_arrow("z -> np.abs(np.sum(np.linalg.svd(z).U[:, 0]))"))
    assert not np.isfinite(one_of_two.backward(np.eye(2) * 1j)).all()


def test_eigenvalues_of_defective_and_degenerate_matrices() -> None:
    values = plain(lambda a: np.linalg.eigvals(a.astype(complex)))
    a = np.diag([2.0, 2.0, 5.0])
    np.testing.assert_allclose(values.backward(a, np.array([1, 2, 3j])), np.diag([1.0, 2.0, 0.0]))
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert np.max(np.abs(values.backward(jordan, np.array([1.0, 0j])))) > 1e15
    np.testing.assert_array_equal(values.backward(jordan, np.zeros(2) * 1j), np.zeros((2, 2)))
    vectors = plain(lambda a: np.linalg.eig(a.astype(complex)).eigenvectors[:, 0])
    assert not np.isfinite(vectors.backward(a, np.array([0, 1, 0j]))).all()
    assert values.backward(np.ones((0, 0)), np.zeros(0) * 1j).shape == (0, 0)


def test_phases_of_singular_vectors() -> None:
    """The right ones keep theirs, and the left ones turn with the matrix: so does JAX."""
    f = plain(from_arrow("z -> np.linalg.svd(z)"))
    z = np.array([[2.0 + 0j]])
    u, s, vh = f(z)
    shadow = f.backward(z, (np.ones((1, 1)) * 1j, np.zeros(1), np.zeros((1, 1)) * 1j))
    np.testing.assert_allclose(shadow, 1j * u.imag / s + 1j * u.real / s, atol=1e-15)
    shadow = f.backward(z, (np.zeros((1, 1)) * 1j, np.zeros(1), np.ones((1, 1)) * 1j))
    np.testing.assert_array_equal(shadow, [[0.0]])


def test_empty_complex_matrices() -> None:
    empty = np.ones((0, 0)) * 1j
    f = from_arrow("a -> np.sum(np.linalg.svd(a, False)[0]) + np.sum(np.linalg.qr(a)[1]) + np.sum(np.linalg.pinv(a))")
    assert plain(f)(empty) == f(empty)
    assert plain(f).backward(empty, 1j).shape == (0, 0)


def test_transposed_systems_of_complex_numbers_as_scipy_has_them() -> None:
    with pytest.raises(NotImplementedError):
        plain(lambda z: scipy.linalg.solve(z, z[0], transposed=True))(np.eye(2) * 1j)


@pytest.mark.parametrize("text", ["a -> np.linalg.inv(a)", "a -> np.linalg.det(a)", "a -> np.linalg.slogdet(a)[1]"])
def test_compiled_as_in_numpy(text: str) -> None:
    """What is singular, not finite, empty or complex; rows that change places turn the sign."""
    f = from_arrow(text)
    g = grad(f)
    turned = np.array([[0.0, 2.0, 1.0], [3.0, 0.5, 0.0], [1.0, 0.0, -4.0]])
    for a in (turned, turned.astype(np.float32), turned + 0.5j * turned.T, np.full((2, 2), np.nan), np.zeros((0, 0))):
        np.testing.assert_allclose(g(a), f(a), rtol=1e-6)
    if "inv" in text:
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            g(np.ones((3, 3)))
    else:
        assert g(np.zeros((2, 2))) == f(np.zeros((2, 2)))


@pytest.mark.parametrize("size", [1e-200, 1e5, 1e13, 1e200])
def test_the_size_of_v_does_not_count_in_the_derivative_of_an_exponential(size: float) -> None:
    a, v = np.array([[0.3, -1.2], [0.7, 1.1]]), np.array([[1.0, -0.5], [0.25, 2.0]])
    f = grad(lambda a: scipy.linalg.expm(a), jit=False)
    expected = scipy.linalg.expm_frechet(a.T, v, compute_expm=False)
    np.testing.assert_allclose(f.backward(a, v * size) / size, expected, rtol=1e-13)


@pytest.mark.parametrize("b", [1e2, 1e6, 1e13, 1e20])
def test_exponentials_of_matrices_far_from_normal_keep_what_is_small(b: float) -> None:
    a = np.array([[1.0, b], [0.0, -1.0]])  # the square of which is one, whatever b
    f = grad(lambda a: scipy.linalg.expm(a), jit=False)
    expected = np.array([[np.e, b * np.sinh(1.0)], [0.0, 1 / np.e]])
    np.testing.assert_allclose(f(a), expected, rtol=1e-14, atol=1e-15)
    slopes = f.backward(a, np.array([[0.0, 1.0], [0.0, 0.0]]))  # of b (exp(p) - exp(q)) / (p - q), at p = 1, q = -1
    np.testing.assert_allclose(
        slopes[0], [b * (np.e - np.sinh(1.0)) / 2, np.sinh(1.0)], rtol=1e-13, atol=1e-15 * np.max(abs(slopes))
    )


def test_empty_systems_are_solved_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    f = plain(lambda a, b: np.linalg.solve(a, b))
    a, b = np.zeros((0, 0)), np.zeros((0, 2))
    assert f(a, b).shape == (0, 2)
    assert [slope.shape for slope in f.backward(a, b, b)] == [(0, 0), (0, 2)]
    assert capfd.readouterr() == ("", "")


def gains(a, b):
    """As controllers are designed: the eigenvalues of what is controlled are handed back, too."""
    x = np.eye(2)
    for _ in range(4):
        k = np.linalg.inv(1.0 + b.T @ x @ b) @ (b.T @ x @ a)
        x = a.T @ x @ (a - b @ k) + np.eye(2)
    found = scipy.linalg.eig(a - b @ k)
    values, vectors = np.linalg.eig(a - b @ k)
    return k, x, found[0], vectors, scipy.linalg.eigvals(a), np.linalg.eigvals(a)


def test_eigenvalues_of_real_matrices_that_nobody_reads() -> None:
    a, b = np.array([[1.0, 0.1], [0.2, 1.0]]), np.array([[0.0], [0.3]])
    f = plain(lambda a, b: gains(a, b)[:2])
    for got, want in zip(f(a, b), gains(a, b)[:2], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    check_grad(f, a, b)

    def from_scipy(a):
        return scipy.linalg.eig(a)[1] * 2

    for g in (lambda a: np.max(np.linalg.eigvals(a)), lambda a: np.linalg.eig(a), from_scipy):
        with pytest.raises(NotImplementedError, match="is real or complex, which depends on the data"):
            plain(g)(a)


@pytest.mark.parametrize("solver", [scipy.linalg.solve_discrete_are, scipy.linalg.solve_continuous_are])
def test_what_no_feedback_makes_stable_has_no_riccati_solution(solver: Any) -> None:
    f = grad(lambda a, b: solver(a, b, np.eye(2), np.eye(1)), jit=False)
    a, b = np.diag([2.0, -0.5]), np.array([[0.0], [1.0]])
    for call in (lambda a, b: f.value_and_backward(a, b, np.eye(2)), lambda a, b: solver(a, b, np.eye(2), np.eye(1))):
        with pytest.raises(np.linalg.LinAlgError):
            call(a, b)
    check_value_and_grad(f, a, b + 1.0, rtol=1e-10, at_once=True)
