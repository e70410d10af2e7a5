"""Products of arrays: what is BLAS and what is a loop, what does not fit, and what is a view."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_arrow, from_text, leaves

from srcgrad import ShapeError, SrcgradError, UnsupportedError, grad
from srcgrad.testing import check_grad


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape)


def primal(arrow: str, *args: Any) -> str:
    """The text of the loops and calls of the function itself."""
    return grad(from_arrow(arrow), jit=False).source(*args, kind="primal")


@pytest.mark.parametrize(
    ("arrow", "shapes", "routine"),
    [
        ("x, y -> np.einsum('ij,jk->ik', x, y)", ((3, 4), (4, 5)), "matmul("),
        ("x, y -> np.einsum('ij,kj->ik', x, y)", ((3, 4), (5, 4)), "matmul_nt("),
        ("x, y -> np.einsum('ij,jk->ki', x, y)", ((3, 4), (4, 5)), "matmul_tt("),
        ("x, y -> np.einsum('bij,bjk->bik', x, y)", ((2, 3, 4), (2, 4, 5)), "matmul("),
        ("x, y -> np.tensordot(x, y, 2)", ((2, 3, 4), (3, 4, 5)), "matmul("),
        ("x, y -> np.einsum('ijk,jk->i', x, y)", ((2, 3, 4), (3, 4)), "matvec("),
        ("x, y -> x.T @ y", ((4, 3), (4, 5)), "matmul_tn("),
        ("x, y -> x.mT @ y", ((2, 4, 3), (2, 4, 5)), "matmul_tn("),
        ("x, y -> y @ x.T", ((3, 4), (4,)), "matvec("),
        ("x, y -> x @ y", ((2, 3, 4), (4, 5)), "matmul("),
    ],
)
def test_matrix_products_are_blas(arrow: str, shapes: Any, routine: str) -> None:
    """One call, of the operands as they are: nothing is copied ahead of it, and nothing after."""
    text = primal(arrow, *(drawn(*shape) for shape in shapes))
    assert f"    {routine}" in text
    assert "for " not in text
    assert text.count("np.empty") == 1


@pytest.mark.parametrize(
    ("arrow", "shapes", "loops"),
    [
        ("x, y -> np.einsum('ij,ij->', x, y)", ((3, 4), (3, 4)), 1),
        ("x, y -> np.einsum('i,ij,j->', x, y, x)", ((3,), (3, 3)), 2),
        ("x, y -> np.vdot(x, y)", ((3, 4), (3, 4)), 1),
        ("x, y -> x @ y", ((3,), (3,)), 1),
        ("x, y -> np.trace(x) * y", ((3, 3), ()), 1),
    ],
)
def test_other_products_are_one_nest_of_loops(arrow: str, shapes: Any, loops: int) -> None:
    text = primal(arrow, *(drawn(*shape) if shape else 1.0 for shape in shapes))
    assert text.count("for ") == loops
    assert "np.empty" not in text and "np.zeros" not in text


@pytest.mark.parametrize(
    ("arrow", "shapes"),
    [
        ("x, y -> x @ y", ((2, 3), (2, 3))),
        ("x, y -> x @ y", ((2, 3, 3), (4, 3, 3))),
        ("x, y -> x @ y[0]", ((2, 3), (3,))),
        ("x, y -> np.dot(x, y)", ((2, 3), (2, 3))),
        ("x, y -> np.inner(x, y)", ((2, 3), (2, 2))),
        ("x, y -> np.vdot(x, y)", ((2, 3), (2, 2))),
        ("x, y -> np.tensordot(x, y, 2)", ((2, 3), (3, 2))),
        ("x, y -> np.tensordot(x, y, ((0,), (0, 1)))", ((2, 3), (2, 3))),
        ("x, y -> np.einsum('ij,jk->iz', x, y)", ((2, 3), (3, 2))),
        ("x, y -> np.einsum('ij,jk->ii', x, y)", ((2, 3), (3, 2))),
        ("x, y -> np.einsum('ij,jk', x)", ((2, 3), ())),
        ("x, y -> np.einsum('ijk,jk', x, y)", ((2, 3), (3, 2))),
        ("x, y -> np.einsum('ii', x)", ((2, 3), ())),
        ("x, y -> np.einsum('i$', x)", ((2, 3), ())),
        ("x, y -> np.einsum('ij,jk', x, y)", ((2, 3), (2, 3))),
        ("x, y -> np.einsum('...i->i', x)", ((2, 3), ())),
        ("x, y -> np.cross(x, y)", ((2, 4), (4,))),
        ("x, y -> np.trace(x)", ((3,), ())),
        ("x, y -> np.diagonal(x, 0, 1, 1)", ((3, 3), ())),
        ("x, y -> np.linalg.multi_dot([x])", ((3, 3), ())),
        ("x, y -> np.linalg.outer(x, x)", ((3, 3), ())),
        ("x, y -> np.linalg.matrix_power(x, 2)", ((2, 3), ())),
        ("x, y -> np.linalg.matrix_power(x, 2)", ((3,), ())),
    ],
)
def test_shapes_that_do_not_fit(arrow: str, shapes: Any) -> None:
    """A ValueError, where NumPy raises one too."""
    f = from_arrow(arrow)
    args = [drawn(*shape) for shape in shapes]
    with pytest.raises(ValueError):
        f(*args)
    with pytest.raises(ValueError):
        grad(f, jit=False)(*args)


def test_error_names_the_line() -> None:
    with pytest.raises(ShapeError) as info:
        grad(from_arrow("x -> np.ones((2, 3)) @ np.ones((2, 4)) * x"), jit=False)(1.0)
    assert "shapes (2, 3) and (2, 4) don't fit: 3 (dim 1) != 2 (dim 0)" in str(info.value)
    assert "np.ones((2, 3)) @ np.ones((2, 4))" in str(info.value)
    with pytest.raises(ShapeError, match="dim 1 and dim 0 differ by 1"):
        grad(from_arrow("x -> x @ np.ones(x.shape[1] + 1)"), jit=False)(drawn(2, 2))


def powers(x: Any, n: Any) -> Any:
    s = np.linalg.matrix_power(x, n)
    for k in range(n - 4, 3):
        s = s + np.linalg.matrix_power(x, k) * k
    return s


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7, 10])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
def test_power_of_a_matrix_known_in_the_run(n: int, shape: Any) -> None:
    f = grad(powers, jit=False, wrt="x")
    for x in (drawn(*shape), drawn(*shape) + 1j * drawn(*shape)[::-1]):
        check_value_and_grad(f, x, n, rtol=1e-9)


def test_the_first_power_of_a_matrix_is_the_matrix() -> None:
    def f(x: Any, n: int) -> Any:
        y = x * 1.0
        z = np.linalg.matrix_power(y, n)
        z[0, 0] = 0.0
        return y

    with pytest.raises(SrcgradError, match="may or may not be the array"):
        grad(f, jit=False)(drawn(2, 2), 1)


def test_error_in_a_chain_names_the_line() -> None:
    with pytest.raises(ValueError) as info:
        grad(from_arrow("x, y -> np.linalg.multi_dot([x, y, x])"), jit=False)(drawn(2, 2), drawn(3, 3))
    assert "np.linalg.multi_dot([x, y, x])" in str(info.value)


@pytest.mark.parametrize(
    ("arrow", "text"),
    [
        ("x, n -> np.linalg.matrix_power(np.eye(2, dtype=int), n) * x", "the exponent must be a constant"),
        ("x, n -> np.linalg.matrix_power(x, 2.0)", "the exponent must be an integer"),
        ("x, n -> np.matmul(x, x, out=np.empty((2, 2), int))", "can't be stored in an array of int64"),
    ],
)
def test_refused(arrow: str, text: str) -> None:
    with pytest.raises(SrcgradError, match=text):
        grad(from_arrow(arrow), jit=False)(drawn(2, 2), 2)


def test_in_place_product_keeps_its_shape_and_kind() -> None:
    f = from_text("def f(x, y):\n    z = x.copy()\n    z @= y\n    return z\n", "f")
    with pytest.raises(ValueError):
        grad(f, jit=False)(drawn(2, 3), drawn(3, 4))
    with pytest.raises(ValueError):
        grad(f, jit=False)(drawn(3), drawn(3))
    with pytest.raises(TypeError):
        grad(f, jit=False)(np.ones((3, 3), int), drawn(3, 3))


def covariances(x):
    n, m = x.shape
    x = x - x.mean(axis=0)
    c = np.zeros((m, m))
    for i in range(m):
        c[i:, i] = c[i, i:] = x[:, i] @ x[:, i:] / (n - 1.0)
    return c


def cholesky_by_columns(a):
    low = a.copy()
    for k in range(a.shape[0]):
        low[k:, k] -= low[k:, :k] @ low[k, :k]
        low[k:, k] /= np.sqrt(low[k, k])
    return np.tril(low)


def elimination_by_blocks(a):
    a = a.copy()
    for k in range(0, a.shape[0], 2):
        a[k : k + 2, k + 2 :] = np.linalg.solve(a[k : k + 2, k : k + 2], a[k : k + 2, k + 2 :])
        a[k + 2 :, k + 2 :] -= a[k + 2 :, k : k + 2] @ a[k : k + 2, k + 2 :]
    return a


def changing(a, x):
    a, y = a.copy(), x.copy()
    for k in range(3):
        y[1:] = a[1:, k:] @ y[k:]
        a[:, 1:] *= 1.1 + 0.1 * np.sin(y[0])
        y[:-1] += 0.1 * (a[k:, :-1].T @ y[k:])
    return y


def all_kinds_of_parts(a, b):
    rows, steps = a[1:4, 2:5] @ b[::2, 1:4], a[::2, 1:] @ b[1:, 1:].T
    return rows, steps, a[1:].T @ b[1:], a[:, :1] @ b[:1, 2:], a[2:3, 1:] @ b[1:, 3:4], a.T[1:, 1:] @ b[1:, 1:]


def of_a_stack(t, x):
    s, m = np.zeros(t.shape[1] - 1), np.zeros((2, 2))
    for k in range(t.shape[0]):
        s += t[k, 1:, :-1] @ x[:-1]
        m += t[k, :2, 1:3] @ t[:2, k, :2].T
    return s, m


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (covariances, (drawn(6, 5),)),
        (cholesky_by_columns, (drawn(5, 5) + 5 * np.eye(5),)),
        (elimination_by_blocks, (drawn(6, 6) + 5 * np.eye(6),)),
        (changing, (drawn(5, 5), drawn(5))),
        (all_kinds_of_parts, (drawn(6, 6), drawn(6, 6))),
        (of_a_stack, (drawn(4, 4, 4), drawn(4))),
        (changing, (np.asfortranarray(drawn(5, 5)), drawn(5))),
        (changing, (drawn(10, 10)[::2, ::-2], drawn(5))),
    ],
)
def test_products_of_parts_of_matrices(function: Any, args: Any) -> None:
    for jit in (False, True) if function in (all_kinds_of_parts, of_a_stack) else (False,):
        check_products(grad(function, jit=jit), args)


def check_products(f: Any, args: Any) -> None:
    for got, want in zip(*(leaves(g(*args)) for g in (f, f.py_func)), strict=True):
        np.testing.assert_allclose(got, want)
    check_grad(f, *args)


def test_parts_of_matrices_are_multiplied_where_they_lie() -> None:
    """Rows that lie in one piece each are all that BLAS asks for: of what a loop doesn't change nothing is copied."""
    text = grad(covariances, jit=False).source(drawn(6, 5))
    (part,) = set(re.findall(r" (\w+) = x_1\[:, i:", text))
    (part_b,) = re.findall(r" (\w+) = x_1_b\[:, i:", text)
    assert re.search(rf"matvec\(\w+, {part}, ", text) and re.search(rf"add_outer\({part_b}, ", text)


def read_by(call: str) -> Any:
    lines = ["import numpy as np", "", "", "def f(x):", "    x = x * 1.0", f"    d = {call}", "    x[0, 0] = 2.0"]
    return from_text("\n".join([*lines, "    return d.sum()", ""]), "f")


def test_copies_that_may_be_views_in_numpy() -> None:
    """They are not read once the array was written."""
    with pytest.raises(UnsupportedError):
        grad(read_by("np.diagonal(x)"), jit=False)(drawn(3, 3))


def test_a_diagonal_by_einsum_is_a_view() -> None:
    f, x = read_by("np.einsum('ii->i', x)"), drawn(3, 3)
    np.testing.assert_allclose(grad(f, jit=False)(x), f(x))
    check_grad(grad(f, jit=False), x)


@pytest.mark.parametrize("write", ["np.einsum('ii->i', x)[:] = w", "d = np.einsum('ii->i', x)\n    d += w"])
def test_a_write_through_a_diagonal_is_never_lost(write: str) -> None:
    """NumPy has a view there: the caller sees it in x, though nothing here reads x again."""
    f = from_text(f"import numpy as np\n\n\ndef f(x, w):\n    {write}\n    return w.sum()\n", "f")
    here, there = drawn(3, 3), drawn(3, 3)
    here[...] = there
    grad(f, jit=False)(here, np.ones(3)), f(there, np.ones(3))
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_stacks_of_length_one_at_run_time(jit: bool) -> None:
    """That a length is 1, and stands for all, is only seen at run time."""
    f = grad(from_arrow("x, y -> x @ y"), jit=jit)
    for shape in ((2, 3, 4), (1, 3, 4)):
        x, y, v = drawn(*shape), drawn(2, 4, 3), drawn(2, 3, 3)
        np.testing.assert_allclose(f(x, y), x @ y)
        x_b, y_b = f.backward(x, y, v)
        np.testing.assert_allclose(x_b, (v @ y.mT).sum(axis=0, keepdims=True) if shape[0] == 1 else v @ y.mT)
        np.testing.assert_allclose(y_b, np.broadcast_to(x.mT, (2, 4, 3)) @ v)


def test_booleans_multiply_and_add_as_and_and_or() -> None:
    f = grad(from_arrow("x, m -> (m @ m) * x"), jit=False)
    m = np.array([[True, True], [False, True]])
    np.testing.assert_array_equal(f(1.0, m), (m @ m) * 1.0)


GRAMS = [
    "x -> x @ x.T",
    "x -> x.T @ x",
    "x -> np.cov(x)",
    "x -> np.tanh(x.T @ x) @ x.T @ x",
    "x -> x[:, ::2] @ x[:, ::2].T",
]


@pytest.mark.parametrize("shape", [(3, 5), (4, 40), (20, 3), (18, 17)])
@pytest.mark.parametrize("arrow", GRAMS)
def test_a_matrix_times_itself(arrow: str, shape: tuple[int, int]) -> None:
    """One product for both operands where many columns are summed over, two where there are a few."""
    x = np.random.default_rng(0).normal(size=shape)
    f = grad(from_arrow(arrow), jit=False)
    check_grad(f, x)
    check_grad(f, np.asfortranarray(x))


def test_a_complex_matrix_times_itself_compiled() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3, 20)) + 1j * rng.normal(size=(3, 20))
    for arrow in GRAMS[:2]:
        check_grad(grad(from_arrow(arrow)), z)


def in_a_branch_of_a_loop(x):
    s = 0.0
    for k in range(3):
        if x[k, 0] > -0.5:
            s += np.sum(np.sin(x[k:] @ x[k:].T))
        else:
            s += np.sum(x[k:] @ x[k:].T)
    return s


def in_place(x):
    u = x.copy()
    for _ in range(2):
        g = u @ u.T
        u *= 0.5
        u[:] += np.tanh(g) @ u * 0.1
    return u


@pytest.mark.parametrize("function", [in_a_branch_of_a_loop, in_place])
def test_matrices_times_themselves_in_loops(function: Any) -> None:
    x = np.random.default_rng(0).normal(size=(4, 40))
    for one in (x, x[::-1, ::2], x[:, :3], x.astype(np.float32)):
        check_grad(grad(function, jit=False), one)
