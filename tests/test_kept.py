"""What the reverse sweep keeps: for a linear update nothing, else the state that is overwritten and read, once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from corpus import FLOAT64, named
from support import from_text

from srcgrad import grad
from srcgrad.analysis.costs import Costs
from srcgrad.testing import check_grad


def diffused(u, alpha, steps):
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def averaged(u, alpha, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = alpha * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def steepened(u, alpha, steps):
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] ** 2 - 2.0 * u[1:-1] + u[:-2])
    return u


def reacted(u, alpha, steps):
    for _ in range(steps):
        u += alpha * u * (1.0 - u) * (2.0 + u)
    return u


def waved(u, alpha, steps):
    new = np.zeros_like(u)
    for _ in range(steps):
        new[1:-1] = u[1:-1] * (1.0 + alpha * (u[2:] - 2.0 * u[1:-1] + u[:-2]))
        u, new = new, u
    return u


def kept(function: Any, *args: Any, wrt: Any = None) -> list[str]:
    """The shapes of all memory with an axis for the steps."""
    text = grad(function, wrt=wrt, jit=False).source(*args)
    return re.findall(r"np\.(?:empty|zeros)\(\((?:np\.maximum\(steps, 0\)|steps)(.*)\)\)", text) + re.findall(
        r"(?:push|append)\w*\(", text
    )


@pytest.mark.parametrize("function", [diffused, averaged])
def test_a_linear_update_keeps_nothing(function: Any) -> None:
    assert kept(function, np.ones((9,) * (1 + (function is averaged))), 0.1, 5, wrt="u") == []


@pytest.mark.parametrize("function", [steepened, reacted, waved])
@pytest.mark.parametrize("wrt", ["u", None])
def test_another_update_keeps_the_state_once_per_step(function: Any, wrt: Any) -> None:
    row = "np.minimum(512, u.shape[0])" if function is reacted else "u.shape[0]"  # both sweeps go by strips
    assert kept(function, np.ones(9), 0.1, 5, wrt=wrt) == [f", {row}"]


@pytest.mark.parametrize(
    ("name", "filled_again"),
    [
        ("chain_of_stages", ["y_1", "y_2"]),
        ("fluxes", ["f"]),
        ("rolled", ["middle", "t", "t_1", "t_2", "t_3"]),
        ("copies_with_another_inside", ["w", "z"]),
        ("down_from_the_end", ["k"]),
    ],
)
def test_stages_are_filled_again_from_the_state_that_is_kept(name: str, filled_again: list[str]) -> None:
    program = named(f"stages.{name}")
    args, _ = program.arguments(0, FLOAT64)
    assert len(kept(program.function, *args)) == 1
    text = grad(program.function, jit=False).source(*args)
    assert sorted(set(re.findall(r"(\w+)_then = np\.\w+\(", text))) == filled_again


@pytest.mark.parametrize("name", ["stale_first_element", "one_branch_fills_all"])
def test_what_a_step_does_not_fill_is_kept(name: str) -> None:
    program = named(f"stages.{name}")
    args, _ = program.arguments(0, FLOAT64)
    assert len(kept(program.function, *args)) >= 2


def gas(u, alpha, steps):
    """Density, momentum and energy in one array."""
    for _ in range(steps):
        f = np.zeros((3, u.shape[1] + 1))
        for i in range(1, u.shape[1]):
            v = u[1, i - 1] / u[0, i - 1]
            f[0, i] = u[1, i - 1]
            f[1, i] = v * u[1, i - 1] + 0.4 * u[2, i]
            f[2, i] = v * u[2, i - 1]
        for c in range(3):
            for i in range(1, u.shape[1] - 1):
                u[c, i] -= alpha * (f[c, i + 1] - f[c, i])
    return u


def border(u, alpha, steps):
    """Of two rows of many there is no copy of all for every step."""
    for _ in range(steps):
        s = 0.0
        for i in range(u.shape[1]):
            s += u[0, i] * u[1, i]
        for c in range(u.shape[0]):
            for i in range(u.shape[1]):
                u[c, i] += alpha * s
    return u


def test_a_state_of_several_rows_is_kept_as_one() -> None:
    u = np.random.default_rng(2).uniform(0.5, 1.5, (3, 9))
    assert kept(gas, u, 0.1, 5, wrt="u") == [", u.shape[0], u.shape[1]"]
    assert sorted(kept(border, u, 0.1, 5, wrt="u")) == [", u.shape[1]"] * 2
    for function in (gas, border):
        for jit in (False, True):
            check_grad(grad(function, wrt="u", jit=jit), u.copy(), 0.1, 4)


def test_a_few_elements_are_kept_alone() -> None:
    """Where each iteration reads a few elements of what it changes, no copy of the whole is kept for each."""
    program = named("loops.recursive_filter")
    args, _ = program.arguments(0, FLOAT64)
    source = grad(program.function, jit=False).source(*args)
    assert "copy_to" not in source and "push_array" not in source


def test_what_a_sweep_reads_ahead_of_its_writes_is_kept_once_a_sweep() -> None:
    """x[i] of each entry of a row is what the sweep began with; x[columns[p]] is one value an entry."""
    program = named("loops.sweeps_over_compressed_rows")
    args, _ = program.arguments(0, FLOAT64)
    source = grad(program.function, jit=False).source(*args)
    assert "x_kept = np.empty((np.maximum(sweeps, 0), b.shape[0]))" in source and source.count("copy_to(") == 1
    assert "push_array" not in source and source.count("_top = 0") == 1


def test_what_a_long_chain_is_made_of_is_not_searched_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value is read twice by the next: by way of both reads there are 2**30 ways to the beginning."""
    visited = 0
    cost = Costs.cost

    def counted(self: Costs, *args: Any) -> float:
        nonlocal visited
        visited += 1
        return cost(self, *args)

    monkeypatch.setattr(Costs, "cost", counted)
    steps = "".join(f"    {a} = np.tanh({a} * 0.9) + {b} * np.sin({a})\n" for a, b in [("a", "b"), ("b", "a")] * 15)
    f = from_text(f"import numpy as np\n\ndef f(a, b):\n{steps}    return np.sum(a * b)\n", "f")
    grad(f, jit=False).source(np.ones(3), np.ones(3))
    assert 0 < visited < 30 * 50


VIEWS = """
import numpy as np

def f(p):
    total = 0.5
    for t in range(3):
        s = 1.0 + np.sin(p)
        h = np.zeros((2, 2))
        {ahead}
        for i in range(2):
            {inside}
        {behind}
        p = 0.3 * p @ h
        total += np.sum(h * h) * total
    return total * np.sum(p * p)
"""


@pytest.mark.parametrize(
    ("ahead", "inside", "behind"),
    [
        ("pass", "r = s[i]; h[i, 0] = r[0] * r[1]; h[i, 1] = r[1]", "pass"),
        ("pass", "w = s[::-1]; r = w[:, i]; h[i] = r * r[0]", "pass"),
        ("r = s[t % 2]", "h[i] = r * r[i]", "r = s[1]; total += r[0]"),
        ("r = s[0]; h[0] = r * r[1]; r = s[1]; h[1] = r * r[0]", "pass", "pass"),
        ("r = s[0]", "q = r[::-1]; h[i] = q * r[i]", "s[0] *= 0.5"),
    ],
)
def test_what_is_filled_from_a_view_sees_that_view(ahead: str, inside: str, behind: str) -> None:
    """An array that is filled again through a name of a row reads the row that the name was for."""
    function = from_text(VIEWS.format(ahead=ahead, inside=inside, behind=behind), "f")
    check_grad(grad(function, jit=False), np.array([[0.4, 0.7], [0.9, 0.3]]))


def multiplied_twice(x, w, u, steps):
    for _ in range(steps):
        x = np.tanh(x @ w) * np.cos(x @ u)
    return np.sum(x)


def until_it_is_small(x, w, u, steps):
    while steps > 0 and x[0, 0] > -2.0:
        x = np.tanh(x @ w) * np.cos(x @ u)
        steps -= 1
    return np.sum(x)


def changed_between(x, w, u, steps):
    x = x.copy()
    for _ in range(steps):
        y = x @ w
        x[:, 0] = np.sin(x[:, 0])
        x[:] = np.tanh(y) * np.cos(x @ u)
    return np.sum(x)


def in_branches(x, w, u, steps):
    x = x.copy()
    for k in range(steps):
        if k % 2 == 0:
            y = x @ w
            x[0] *= 0.5
        else:
            y = x @ u
        row = x[1:]
        z = row @ w
        x[:] = np.tanh(y) * np.cos(x @ u)
        x[1:] += z * (row @ u)
    return np.sum(x)


@pytest.mark.parametrize(
    "function, times", [(multiplied_twice, 1), (until_it_is_small, 1), (changed_between, 2), (in_branches, None)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_state_that_several_products_read_is_kept_as_often_as_it_changes(function, times, dtype) -> None:
    x, w, u = np.random.default_rng(4).uniform(-0.9, 0.9, (3, 3, 3)).astype(dtype)
    f = grad(function, jit=False)
    np.testing.assert_allclose(f(x, w, u, 4), function(x, w, u, 4), rtol=20 * np.finfo(dtype).eps)
    check_grad(f, x, w, u, 4)
    if times is not None:
        text = f.source(x, w, u, 4)
        assert len(re.findall(r"copy_to\(x_1_row|push_array\(x_1_kept", text)) == times


def by_rows(u, w, alpha, steps):
    n, m = u.shape
    for _ in range(steps):
        a = np.tanh(u @ w)
        for i in range(n):
            t = np.zeros(m)
            for j in range(m):
                t[j] = np.sin(u[i, j]) * a[i, j]
            for j in range(m):
                u[i, j] = alpha * u[i, j] + t[m - 1 - j]
    return u


def by_rows_and_the_one_before(u, w, alpha, steps):
    n, m = u.shape
    for _ in range(steps):
        a = np.tanh(u @ w)
        for i in range(1, n):
            t = np.zeros(m)
            for j in range(m):
                t[j] = np.sin(u[i, j]) * a[i, j]
            for j in range(m):
                u[i - 1, j] = alpha * u[i, j] + t[m - 1 - j]
                u[i, j] = u[i, j] * t[j]
    return u


def by_rows_and_the_next(u, w, alpha, steps):
    n, m = u.shape
    for _ in range(steps):
        a = np.tanh(u @ w)
        for i in range(n - 1):
            t = np.zeros(m)
            for j in range(m):
                t[j] = np.sin(u[i, j]) * a[i, j]
            for j in range(m):
                u[i + 1, j] = alpha * u[i, j] + t[m - 1 - j]
    return u


@pytest.mark.parametrize("function", [by_rows, by_rows_and_the_one_before, by_rows_and_the_next])
def test_a_row_that_is_written_behind_all_that_read_it_is_kept_with_the_state(function: Any) -> None:
    u, w = np.split(np.random.default_rng(7).uniform(0.2, 0.9, (7, 3)), [4])
    check_grad(grad(function, jit=False), u, w, 0.3, 3)
    if function is by_rows:
        text = grad(function, jit=False).source(u, w, 0.3, 3)
        assert "u_now" not in text and text.count("copy_to(u_row, u)") == 1


def test_what_is_dear_and_stored_is_kept_where_it_is_stored() -> None:
    program = named("physics.soft_k_means")
    args, _ = program.arguments(0, FLOAT64)
    f = grad(program.function, jit=False)
    assert re.findall(r"(\w+_(?:kept|rows)) = ", f.source(*args)) == ["s_1_kept", "e_rows"]
    check_grad(f, *args)


def a_few_of_many(h, steps, n):
    s = 0.0
    for t in range(steps):
        y = np.zeros(n)
        for i in range(3):
            y[i] = np.exp(np.sin(h[i] * (i + t)))
        s += np.sum(y * y)
        h = h * 0.99
    return s


def test_of_a_few_elements_no_whole_array_is_kept() -> None:
    f, h = grad(a_few_of_many, jit=False), np.array([0.3, 0.7, 1.1])
    assert "(np.maximum(steps, 0), n)" not in f.source(h, 4, 7)
    check_grad(f, h, 4, 7)


def attention(x, w, heads, layers):
    n, width = x.shape
    for _ in range(layers):
        y = (x @ w).reshape(n, heads, width // heads).transpose(1, 0, 2)
        scores = y @ y.transpose(0, 2, 1) / np.sqrt(width // heads)
        weights = np.exp(scores) / np.sum(np.exp(scores), axis=-1, keepdims=True)
        x = x + (weights @ y).transpose(1, 0, 2).reshape(n, width)
    return x


def test_a_quotient_is_read_where_its_row_is_kept_for_a_product() -> None:
    """The slope of x / y along y is that quotient, once more; and `width // heads` is computed once, at the entry."""
    x, w = np.cos(np.arange(24.0)).reshape(3, 8), np.sin(np.arange(64.0)).reshape(8, 8)
    f = grad(attention, wrt=("x", "w"), jit=False)
    text = f.source(x, w, 2, 2)
    forward, _, sweep = text.partition("# reverse sweep")
    assert re.search(r"g_\d+ \* weights\[[^]]*\]", sweep) and "weights_rows" in forward
    assert text.count(" // ") == 1 and " // " in forward.split("for ")[0]
    for heads in (1, 2, 4):
        check_grad(f, x, w, heads, 2)
    np.testing.assert_array_equal(f(x, w, 0, 0), x)
