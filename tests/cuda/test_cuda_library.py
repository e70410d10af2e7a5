"""Programs with matrix products, solves and factors; and arguments on the device already, in any order of memory."""

import numpy as np
import pytest
from numba import cuda
from numba.core import config

from srcgrad import cuda as streams
from srcgrad import grad
from srcgrad.runtime.gpu import device_blas

pytestmark = pytest.mark.skipif(not (config.ENABLE_CUDASIM or cuda.is_available()), reason="needs a GPU")

random = np.random.default_rng(0)
N = 5


def real(*shape):
    return random.normal(size=shape)


SQUARE = real(N, N) + 4 * np.eye(N)


def network(x, w, b, w2):
    h = np.tanh(x @ w + b)
    return np.sum((h @ w2) ** 2)


def stacks(a, b, w):
    return np.sum(np.sin(a @ b) @ w)


def covariance(x):
    e = x - x.mean(axis=0)
    return np.sum((e.T @ e) ** 2)


def recurrent(w, x):
    for t in range(3):
        x = np.tanh(w[t] @ x)
    return np.sum(x**2)


def pairs(x, y):
    return np.sum(np.outer(x, y) ** 2) + np.dot(x, y)


def parts(u, k):
    v = u[1:5:2, ::-1]
    t = u[k][:, None] * u[k + 1]
    return np.sum(v @ v.T) + np.sum(t**2) + np.sum(u.reshape(-1) ** 3)


def stretched(x, y):
    return np.sum((x * y) @ (x + y).T)


def solution(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


def likelihood(a, y):
    lower = np.linalg.cholesky(a)
    return np.sum(np.log(np.diag(lower))) + np.sum(np.linalg.solve(a, y) * y)


def determinants(a):
    return np.linalg.det(a) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a) ** 2)


def stepped(a, x):
    for _ in range(4):
        x = np.linalg.solve(a, x + np.sin(x))
    return np.sum(x**2)


def rows_in_place(a):
    b = a * 1.0
    for row in b:
        row *= row[0]
        row[1] = row[2] ** 2
    return np.sum(b * b)


def looked_up(x, table, values):
    return np.sum(np.interp(x[::-1], table, values) * x) + np.sum(values[np.searchsorted(table, x) % 4])


def product_of_each(a, b):
    """There is no other loop: the calls of the library are what runs on the GPU."""
    out = np.empty_like(b)
    for i in range(len(a)):
        out[i] = a[i] @ b[i]
    return out


def solution_of_each(a, b):
    out = np.empty_like(b)
    for i in range(len(a)):
        out[i] = np.linalg.solve(a[i], b[i])
    return out


def multiplied_again(a, x, steps):
    for _ in range(steps):
        x = a @ x
    return x


PROGRAMS = [
    (network, (real(4, 3), real(3, 5), real(5), real(5, 2))),
    (stacks, (real(2, 4, 3), real(2, 3, 3), real(3, 2))),
    (stacks, (real(2, 4, 3), real(3, 3), real(3, 2))),
    (covariance, (real(6, 3),)),
    (recurrent, (real(3, N, N), real(N))),
    (pairs, (real(N), real(N + 1)[:N])),
    (parts, (real(6, 4), 2)),
    (stretched, (real(1, 4), real(3, 4))),
    (stretched, (real(3, 4), real(3, 1))),
    (solution, (SQUARE, real(N))),
    (solution, (SQUARE, real(N, 3))),
    (solution, (np.stack([SQUARE, SQUARE.T]), real(2, N, 3))),
    (likelihood, (SQUARE @ SQUARE.T, real(N))),
    (determinants, (SQUARE,)),
    (stepped, (SQUARE, real(N))),
    (rows_in_place, (real(3, 70),)),
    (looked_up, (real(40), np.array([-1.0, 0.2, 0.25, 1.3, 2.0]), real(5))),
]


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


def same(found, expected, dtype):
    for one, other in zip(flat(found), flat(expected), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(
            one, other, **({"rtol": 1e-9} if dtype == np.float64 else {"rtol": 2e-3, "atol": 1e-3})
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f, args", PROGRAMS, ids=[f"{f.__name__}-{k}" for k, (f, _) in enumerate(PROGRAMS)])
def test_library(f, args, dtype):
    args = [arg.astype(dtype) if isinstance(arg, np.ndarray) else arg for arg in args]
    same(grad(f, target="cuda").value_and_backward(*args), grad(f, jit=False).value_and_backward(*args), dtype)


@pytest.mark.parametrize("f, args", [
    (product_of_each, (real(2, 3, 3), real(2, 3, 3))),
    (solution_of_each, (np.stack([SQUARE, SQUARE.T]), real(2, N))),
    (multiplied_again, (SQUARE, real(N), 3)),
])  # fmt: skip
def test_calls_of_the_library_in_loops_of_their_own(f, args):
    mine, plain = grad(f, target="cuda"), grad(f, jit=False)
    value = plain(*args)
    same(mine(*args), value, np.float64)
    same(mine.value_and_backward(*args, v=np.cos(value)), plain.value_and_backward(*args, v=np.cos(value)), np.float64)


def long_sums(x, y, w):
    """x.T @ y of each, and what the way back adds to w: sums of as many terms as x has rows."""
    z = np.swapaxes(x, 1, 2) @ y
    return np.sum(np.sin(z)) + np.sum(np.cos(x @ w))


@pytest.mark.parametrize("rows", [8, 21])
@pytest.mark.parametrize("one", [False, True])
def test_long_sums_are_taken_in_pieces(rows, one, monkeypatch):
    monkeypatch.setattr(device_blas, "LONG", 3)
    args = real(3, rows, 2), real(1 if one else 3, rows, 4), real(3, 2, 5)
    same(
        grad(long_sums, target="cuda").value_and_backward(*args),
        grad(long_sums, jit=False).value_and_backward(*args),
        np.float64,
    )


@pytest.mark.parametrize("name, f, args", [
    ("Singular", solution, (np.ones((3, 3)), np.ones(3))),
    ("positive definite", likelihood, (-np.eye(3), np.ones(3))),
])  # fmt: skip
def test_what_a_routine_reports_is_raised(name, f, args):
    for call in (grad(f, target="cuda"), grad(f, target="cuda").backward):
        with pytest.raises(np.linalg.LinAlgError, match=name):
            call(*args)
    same(grad(solution, target="cuda")(SQUARE, np.ones(N)), solution(SQUARE, np.ones(N)), np.float64)


def weighted(x, w):
    return np.sum(x[1:] * w * x[:-1], axis=0)


def test_arguments_on_the_device_stay_there():
    x, w, v = real(6, 4), real(5, 4), real(4)
    f = grad(weighted, target="cuda")
    expected = grad(weighted, jit=False).backward(x, w, v)
    given = [cuda.to_device(a) for a in (x, w, v)]
    found = f.backward(*given)
    assert all(hasattr(part, "copy_to_host") for part in found)
    same(tuple(part.copy_to_host() for part in found), expected, np.float64)
    again = f.backward(*given)
    same(tuple(part.copy_to_host() for part in found), expected, np.float64)  # not overwritten by the second call
    same(tuple(part.copy_to_host() for part in again), expected, np.float64)
    for array, before in zip(given, (x, w, v)):
        np.testing.assert_array_equal(array.copy_to_host(), before)


def test_arguments_in_any_order_of_memory():
    from srcgrad.runtime.device_arrays import subscript, transposed

    x, w, v = real(6, 4), real(5, 4), real(4)
    expected = grad(weighted, jit=False).backward(x, w, v)
    whole = np.zeros((12, 4))
    whole[::2] = x
    turned = transposed(cuda.to_device(w.T.copy()), (1, 0))
    backwards = subscript(cuda.to_device(v[::-1].copy()), (3, 4, -1))
    found = grad(weighted, target="cuda").backward(subscript(cuda.to_device(whole), (0, 6, 2)), turned, backwards)
    same(tuple(part.copy_to_host() for part in found), expected, np.float64)


def test_a_stream_of_ones_own():
    own = cuda.stream()
    x, w, v = (cuda.to_device(a) for a in (real(6, 4), real(5, 4), real(4)))
    f = grad(weighted, target="cuda")
    with streams.stream(own):
        found = f.backward(x, w, v)
    expected = grad(weighted, jit=False).backward(*(a.copy_to_host() for a in (x, w, v)))
    same(tuple(part.copy_to_host(stream=own) for part in found), expected, np.float64)
