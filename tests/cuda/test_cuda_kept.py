"""What loops keep for the way back stays on the device: of the host's own loops, and of loops in threads."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.runtime.gpu import device_call

SIGNED = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 7))


def settling(x, steps, limit):
    """Each element goes on until it is small, which nobody knows ahead, in each of several steps."""
    for _ in range(steps):
        z = x.copy()
        for i in range(1, len(x)):
            y = z[i] + 0.5 * z[i - 1]
            while abs(y) > limit:
                y = 0.95 * np.sin(y)
            x[i] = y + z[i]
    return x


def branching(x, steps, limit):
    for _ in range(steps):
        z = x.copy()
        for i in range(1, x.shape[0] - 1):
            for j in range(x.shape[1]):
                y = z[i, j] + 0.5 * z[i - 1, j]
                for _ in range(j % 3):
                    y = y * y * 0.5
                    if y > limit:
                        y = np.sin(y) + y * z[i + 1, j]
                x[i, j] = y + z[i, j]
    return x


def downwards(x, steps, limit):
    for _ in range(steps):
        for i in range(len(x) - 1, 1, -1):
            y = x[i]
            while y * y > limit:
                y = y * 0.5 - y * y * 0.1
            x[i] = np.sin(y) * x[i]
    return x


def while_on_the_host(x, steps, limit):
    total, k = 0.0, 0
    while total < limit * 40 and k < steps:
        y = np.sin(x) * (1.0 + total)
        total += np.sum(y * y)
        x = x + 0.1 * y
        k += 1
    return x * total


def lattice(x, steps, limit):
    """What the reverse adds to neighbours is a part of an array: two names for one memory."""
    values = x * 1.0
    for _ in range(len(x) - steps):
        values = np.maximum(0.4 * values[:-1] + np.sin(values[1:]), limit)
    return values


def forces(x, steps, limit):
    """An array of each thread's own, in two loops within each other: a grid of two axes."""
    a = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                d = x[j] - x[i]
                a[i] += steps * d / ((d * d).sum() + limit)
    return a


CASES = [
    (forces, SIGNED, 2, 0.5),
    (lattice, SIGNED.ravel(), 50, -0.2),
    (settling, SIGNED[:, 0], 3, 0.5),
    (settling, np.repeat(SIGNED, 9), 2, 0.05),
    (branching, SIGNED, 3, 0.1),
    (downwards, SIGNED[0], 3, 0.1),
    (downwards, SIGNED[0, :2], 3, 0.1),
    (while_on_the_host, SIGNED.ravel(), 5, 1.0),
    (while_on_the_host, SIGNED.ravel(), 0, 1.0),
]


@pytest.mark.parametrize("k", range(len(CASES)), ids=lambda k: f"{CASES[k][0].__name__}-{k}")
def test_gradients(k: int) -> None:
    """By turns of both sweeps at once and of a pullback: each of these is kernels of its own."""
    f, x, steps, limit = CASES[k]
    g, plain = grad(f, wrt="x", target="cuda"), grad(f, wrt="x", jit=False)
    shape = plain(x.copy(), steps, limit).shape
    v = np.cos(np.arange(np.prod(shape))).reshape(shape)
    y, want = plain.value_and_backward(x.copy(), steps, limit, v)
    if k % 2:
        value, pullback = g.vjp(x.copy(), steps, limit)
        found = [pullback(v), pullback(v)]
    else:
        value, found = g(x.copy(), steps, limit), [g.backward(x.copy(), steps, limit, v)]
    for got in found:
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(value, y, rtol=1e-12, atol=1e-12)


def test_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_call, "FIRST_ROWS", 4)
    x, v = SIGNED[:, 0], np.ones(9)
    g = grad(settling, wrt="x", target="cuda")
    want = grad(settling, wrt="x", jit=False).backward(x.copy(), 3, 0.05, v)
    for _ in range(2):
        np.testing.assert_allclose(g.backward(x.copy(), 3, 0.05, v), want, rtol=1e-11)


def looked_up_in_steps(x, k, steps, limit):
    for _ in range(steps):
        z = x.copy()
        for i in range(len(x)):
            y = z[k[i]]
            while abs(y) > limit:
                y = 0.9 * np.sin(y)
            x[i] = y + z[i]
    return x


@pytest.mark.parametrize("kind", ["backward", "pullback"])
def test_an_error_in_a_step_is_not_followed_by_steps_without_end(kind: str) -> None:
    """What the kernel that stopped has not written is what later kernels would count by."""
    x, v = SIGNED[:, 0], np.ones(9)
    g = grad(looked_up_in_steps, wrt="x", target="cuda")
    plain = grad(looked_up_in_steps, wrt="x", jit=False)
    right, wrong = np.arange(9)[::-1].copy(), np.arange(9) + 3
    np.testing.assert_allclose(g.backward(x.copy(), right, 2, 0.3, v), plain.backward(x.copy(), right, 2, 0.3, v))
    with pytest.raises(IndexError):
        g.backward(x.copy(), wrong, 2, 0.3, v) if kind == "backward" else g.vjp(x.copy(), wrong, 2, 0.3)


def grown(t):
    while t < 0.5:
        t = np.sin(t) + 0.3
    return t


def beside_a_number_of_each_row(a):
    z, c = np.zeros(a.shape), np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            z[i, j] = grown(a[i, j])
        c[i] = i  # there are two statements on the way forward, and one on the way back
    return z * np.sum(z) + c[:, None]


def beside_a_sum_of_each_row(a):
    z, c = np.zeros(a.shape), np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        c[i] = np.sum(a[i]) * 2
        for j in range(a.shape[1]):
            z[i, j] = grown(a[i, j])
    return z * np.sum(z) + np.sum(c)


def in_steps_below_the_diagonal(a):
    z = np.zeros(a.shape)
    for _ in range(2):
        for i in range(a.shape[0]):
            for j in range(i):
                z[i, j] = grown(a[i, j])
        a = a + 0.1 * z * np.sum(z)
    return a


@pytest.mark.parametrize(
    "f", [beside_a_number_of_each_row, beside_a_sum_of_each_row, in_steps_below_the_diagonal], ids=lambda f: f.__name__
)
def test_what_is_kept_by_the_axes_that_both_ways_have(f: Callable[..., Any]) -> None:
    a, v = np.linspace(-1.0, 1.0, 9).reshape(3, 3), np.cos(np.arange(9.0)).reshape(3, 3)
    g, want = grad(f, target="cuda"), grad(f, jit=False).backward(a, v)
    for got in (g.backward(a, v), g.vjp(a)[1](v)):
        np.testing.assert_allclose(got, want, rtol=1e-11)


def as_long_as(x, w):
    """Of w the lengths alone are of interest, or one of them."""
    z = np.zeros(w.shape[1])
    for i in range(x.size):
        t = x[i]
        while t < 0.5:
            t = np.sin(t) + 0.3
        z[i] = t
    return z


def beside_what_is_not_used(x, w):
    z = np.zeros(x.size)
    for i in range(x.size):
        t = x[i]
        while t < 0.5:
            t = np.sin(t) + 0.3
        z[i] = t
    return z


@pytest.mark.parametrize("wrt", ["x", ("x", "w")])
@pytest.mark.parametrize("f", [as_long_as, beside_what_is_not_used], ids=lambda f: f.__name__)
def test_arguments_of_which_the_lengths_alone_are_handed_on(f: Callable[..., Any], wrt: Any) -> None:
    x, w, v = SIGNED[0], np.ones((3, 7)), np.linspace(1.0, 2.0, 7)
    g, plain = grad(f, wrt=wrt, target="cuda"), grad(f, wrt=wrt, jit=False)
    _, pullback = g.vjp(x, w)
    got, want = pullback(v), plain.backward(x, w, v)
    for one, other in zip(got, want, strict=True) if wrt != "x" else [(got, want)]:
        np.testing.assert_allclose(one, other, rtol=1e-12)


def set_until_one_is_large(x, k):
    z = np.zeros(x.size)
    for i in range(x.size):
        for j in range(x.size):
            if z[i - 1] > 0.5:
                break
            z[k[j]] += x[i] * z[i] + 0.1
    return z * x


def added_until_it_is_much(x, k):
    s = 0.0
    y = x * 1.0
    for i in range(2):
        for j in range(x.size):
            if s > 0.5:
                break
            y = np.sin(y) + x[k[j]]
            s += np.sum(y) * 0.01
    return y


@pytest.mark.parametrize("f", [set_until_one_is_large, added_until_it_is_much], ids=lambda f: f.__name__)
@pytest.mark.parametrize("k", [(1, 4, 2, 0, 3, 2, 4), (1, 4, 2, 0, 3)], ids=len)
def test_the_way_back_through_a_loop_on_the_host_that_is_left_early(f: Callable[..., Any], k: tuple[int, ...]) -> None:
    """It counts down by the variable that held the count, on the device."""
    x, v, indices = np.array([0.3, 0.9, 0.2, 0.6, 0.5]), np.linspace(1.0, 2.0, 5), np.array(k)
    g, plain = grad(f, wrt="x", target="cuda"), grad(f, wrt="x", jit=False)
    np.testing.assert_allclose(g.backward(x, indices, v), plain.backward(x, indices, v), rtol=1e-11)


@pytest.mark.parametrize("steps", [0, 3, -1])
@pytest.mark.parametrize("kind", ["backward", "pullback"])
def test_as_many_steps_as_an_element_says(steps: int, kind: str) -> None:
    """The host makes room for what threads keep of them, and has to know how many these are."""

    def f(x, k):
        y = x * 1.0
        for _ in range(k[1]):
            y = np.sin(y)
        return y

    x, k, v = SIGNED[0], np.array([7, steps]), np.ones(7)
    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    got = g.backward(x, k, v) if kind == "backward" else g.vjp(x, k)[1](v)
    np.testing.assert_allclose(got, plain.backward(x, k, v), rtol=1e-12)


def test_what_only_a_branch_computes_is_not_looked_for_before_that() -> None:
    """A thread that sets it has no use for what was there: the memory is new."""

    def f(x, s):
        s += x[-1]
        if x[1] * x[0] >= 2.0:
            s = (s + 0.7) / (1.0 + (s + 0.7) * (s + 0.7))
        return np.sin(s) + x * x

    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    for x in (SIGNED[0], SIGNED[0] + 3.0):
        for got, want in zip(g.backward(x, 0.2, x), plain.backward(x, 0.2, x), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------- in the text


def chained_forces(x, limit):
    a = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                d = np.cumsum(x[j] - x[i])
                a[i] += d / ((d * d).sum() + limit)
    return a


def test_threads_of_two_axes_are_numbered_along_both() -> None:
    text = grad(chained_forces, wrt="x", target="cuda").source(SIGNED, 0.5, kind="primal")
    kernel = next(part for part in text.split("@kernel") if "thread]" in part)
    assert "cuda.grid(2)" in kernel and "thread = cuda.threadIdx.x + cuda.blockDim.x" in kernel


def host_loops(text: str) -> list[ast.stmt]:
    hosts = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    return [node for host in hosts for node in ast.walk(host) if isinstance(node, (ast.For, ast.While))]


def calls_in(loop: ast.AST) -> set[str]:
    calls = [node.func for node in ast.walk(loop) if isinstance(node, ast.Call)]
    return {f.id for f in calls if isinstance(f, ast.Name)} | {f.attr for f in calls if isinstance(f, ast.Attribute)}


@pytest.mark.parametrize("kind", ["backward", "forward", "pullback"])
@pytest.mark.parametrize("f", [settling, branching, downwards])
def test_nothing_is_fetched_in_a_loop(f: Callable[..., Any], kind: str) -> None:
    x = SIGNED if f is branching else SIGNED[0]
    text = grad(f, wrt="x", target="cuda").source(x, 3, 0.5, kind=kind)
    for loop in host_loops(text):
        assert not calls_in(loop) & {"fetch", "push", "push_array", "by_one"}, text


def softmax_by_groups(x, group, groups):
    most = np.full(groups, -np.inf)
    for e in range(len(x)):
        most[group[e]] = max(most[group[e]], x[e])
    total = np.zeros(groups)
    for e in range(len(x)):
        total[group[e]] += np.exp(x[e] - most[group[e]])
    return np.exp(x - most[group]) / total[group]


def test_one_thread_checks_the_places_that_it_goes_through() -> None:
    """The host would fetch an index in every iteration, only to see whether it is inside."""
    g, plain = grad(softmax_by_groups, target="cuda"), grad(softmax_by_groups, jit=False)
    x, group, v = SIGNED[:, 0], np.array([2, 0, 1, 2, 2, 0, -1, 1, 0]), np.cos(np.arange(9.0))
    for kind in ("primal", "backward"):
        text = g.source(x, group, 3, kind=kind)
        assert "fetch" not in text and ".by_one(" in text
    for _ in range(2):
        np.testing.assert_allclose(g(x, group, 3), plain(x, group, 3), rtol=1e-12)
        np.testing.assert_allclose(g.backward(x, group, 3, v), plain.backward(x, group, 3, v), rtol=1e-11, atol=1e-13)
        for call in (lambda: g(x, group, 2), lambda: g.backward(x, group, 2, v)):
            with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
                call()


def test_a_while_loop_fetches_what_it_goes_on_by() -> None:
    text = grad(while_on_the_host, wrt="x", target="cuda").source(SIGNED[0], 3, 0.5)
    lines = [line.strip() for line in text.splitlines()]
    fetched = [k for k, line in enumerate(lines) if "= fetch(" in line]
    assert len(fetched) == 2  # ahead of the loop, and at the end of each round
    assert {lines[k - 1] for k in fetched} == {"# the host goes on by this"}
    assert not any(calls_in(loop) & {"push", "push_array"} for loop in host_loops(text))


def summed_in_two_rounds(a, x, z):
    u, y = z * 1.0, x * 1.0
    for _ in range(2):
        y = a @ z * 0.5 + 0.1 * x
        for i in range(a.shape[0]):
            total = 0.0
            for j in range(a.shape[1]):
                total -= a[i, j] * u[j]
            y[i] = y[i] + np.sin(total)
            u[i % a.shape[1]] += 0.1 * total
    for i in range(x.size):
        g = x[i]
        while g > -0.5:
            g = g * 0.6 - 0.43
        y[i] = g + x[i]
    return y * 0.4


def test_what_stores_an_element_may_read_it() -> None:
    a, x, z = np.random.default_rng(0).normal(size=(3, 4)), np.linspace(-1.0, 2.0, 3), np.linspace(0.5, 1.0, 4)
    v = np.ones(3)
    on_gpu, plain = (grad(summed_in_two_rounds, **how) for how in ({"target": "cuda"}, {"jit": False}))
    value, cotangents = on_gpu.value_and_backward(a, x, z, v)
    wanted, others = plain.value_and_backward(a, x, z, v)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for got, want in zip(cotangents, others, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
