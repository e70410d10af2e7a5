"""Programs as people write them for a GPU, and corners of where numbers lie: what jit=False gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close, assert_same_kind, fresh, random_like, subject, unchanged

from srcgrad import grad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []


def real(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.2, 1.4, shape)


def signed(*shape: int) -> np.ndarray:
    return np.random.default_rng(7 * sum(shape) + 1).uniform(-1.0, 1.0, shape)


def program(*args: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below with arguments for it; `outputs` are those that it writes."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, args, options))
        return function

    return register


# fmt: off
def cases(dtype: np.dtype) -> list[Any]:
    return [pytest.param(*row, dtype, id=f"{row[0].__name__}-{k}-{dtype}") for k, row in enumerate(PROGRAMS)]
# fmt: on


def check(function: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any], dtype: np.dtype) -> None:
    """value_and_backward, the call and vjp, against plain Python made from the same program."""
    args = tuple(a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in given)
    args = tuple(
        np.asfortranarray(a) if isinstance(b, np.ndarray) and b.ndim > 1 and b.flags.f_contiguous else a
        for a, b in zip(args, given, strict=True)
    )
    tolerance = 1e-11 if dtype == np.float64 else 3e-4
    f, plain = grad(function, target="cuda", **options), grad(function, jit=False, **options)
    bound = subject(function, args, {}, options.get("wrt"), options.get("outputs", ()))
    v = random_like(np.random.default_rng(3), bound.run(fresh(bound.args)))
    mine, wanted = fresh(args), fresh(args)
    y, want = f(*mine), function(*wanted)
    if want is not None:
        assert_same_kind(y, want, "result")
        assert_close(y, want, tolerance, "result")
    assert_close(mine, wanted, tolerance, "argument after the call")
    mine = fresh(args)
    (value, cotangents), (want, wanted) = f.value_and_backward(*mine, v), plain.value_and_backward(*fresh(args), v)
    assert unchanged(args, mine), "an argument was changed"
    assert_same_kind((value, cotangents), (want, wanted), "value and cotangents")
    assert_close((value, cotangents), (want, wanted), tolerance, "value and cotangents")
    value, pullback = f.vjp(*mine)
    assert_close(value, want, tolerance, "value from vjp")
    for _ in range(2):
        assert_close(pullback(v), wanted, tolerance, "pullback")


# ------------------------------------------------------------------------------------- programs as they are written


@program(real(30), real(30) + 0.1, 0.05, real(30), real(30))
def black_scholes(spot, strike, rate, volatility, time):
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / root
    d2 = d1 - root
    cdf1, cdf2 = 0.5 + 0.5 * np.tanh(0.8 * d1), 0.5 + 0.5 * np.tanh(0.8 * d2)
    return spot * cdf1 - strike * np.exp(-rate * time) * cdf2


@program(signed(20), 0.4 * signed(20))
def mandelbrot_like(cr, ci):
    """Trip counts of each thread's own, and more steps than there is room for at first."""
    out = np.empty(len(cr))
    for k in range(len(cr)):
        x, y, n = 0.0, 0.0, 0
        while x * x + y * y < 4.0 and n < 60 + 2 * k:
            x, y = x * x - y * y + 0.3 * cr[k], 2 * x * y + 0.3 * ci[k]
            n += 1
        out[k] = x * x + y + 0.01 * n
    return out


@program(real(26), 0.5)
def newton_in_each_thread(a, start):
    out = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        x = start
        while abs(x * x - a[i]) > 1e-12:
            x = 0.5 * (x + a[i] / x)
        out[i] = x
    return out


@program(signed(26), signed(26), 0.05)
def rk4_ensemble(q, p, dt):
    energy = 0.0
    for i in range(len(q)):
        x, y = q[i], p[i]
        for _ in range(5):
            k1, l1 = y, -np.sin(x)
            k2, l2 = y + 0.5 * dt * l1, -np.sin(x + 0.5 * dt * k1)
            k3, l3 = y + 0.5 * dt * l2, -np.sin(x + 0.5 * dt * k2)
            k4, l4 = y + dt * l3, -np.sin(x + dt * k3)
            x += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            y += dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
        energy += 0.5 * y * y - 0.8 * np.cos(x)  # (what is conserved has a gradient of rounding alone in dt)
    return energy


@program(signed(40), np.arange(40) * 7 % 11)
def scattered_and_gathered(x, bins):
    h = np.zeros(11)
    np.add.at(h, bins, x**2)
    return h[bins] * x


@program(real(40), np.arange(40) * 5 % 9)
def weighted_histogram(w, bins):
    return np.bincount(bins, weights=w * w, minlength=9) ** 2


@program(real(40), 6)
def histogram_of_values(x, n):
    counts = np.zeros(n)
    for i in range(len(x)):
        b = int(x[i] * 3.0)
        if b < n:
            counts[b] += x[i] * x[i]
    return counts


@program(signed(13, 2), signed(3, 2), real(3))
def gaussian_mixture(x, means, weights):
    d = ((x[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
    a = np.log(weights)[None, :] - 0.5 * d
    m = a.max(axis=1)
    return (m + np.log(np.exp(a - m[:, None]).sum(axis=1))).sum()


@program(signed(9, 4), signed(4, 6), signed(6), signed(6, 2))
def two_layers(x, w1, b1, w2):
    return np.tanh(np.tanh(x @ w1 + b1) @ w2).sum(axis=0)


@program(signed(5, 30))
def softmax_rows(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(signed(31), 0.1)
def stencil_1d(u, c):
    for _ in range(3):
        u = u.copy()
        u[1:-1] = u[1:-1] + c * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
    return u


@program(signed(6, 7), 3)
def stencil_2d_with_boundaries(u, steps):
    v = np.empty_like(u)
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) ** 2
        v[0, :] = 0.5
        v[-1, 1:-1] = v[1, 1:-1]
        v[:, 0] = v[:, 1]
        v[:, -1] = 0.0
        u, v = v, u
    return u


@program(signed(4, 5))
def stencil_of_padded(u):
    a, b = np.pad(u, 1, mode="edge"), np.pad(u, ((1, 2), (2, 0)), mode="wrap")
    return a[2:, 1:-1] * a[:-2, 1:-1] + a[1:-1, 2:] + b[:4, :5] ** 2


@program(signed(6))
def arrays_without_axes(u):
    out = np.empty(len(u))
    for i in range(len(u)):
        v = np.array(u[i] * 2.0)
        v += u[i] * u[i]
        out[i] = v * np.asarray(v + 1.0)
    return out * np.pad(u, 2, mode="linear_ramp")[2:-2]


@program(signed(3, 4, 5))
def stencil_3d(u):
    out = np.zeros_like(u)
    out[1:-1, 1:-1, 1:-1] = (u[2:, 1:-1, 1:-1] - u[:-2, 1:-1, 1:-1]) * u[1:-1, 1:-1, 1:-1]
    out[:, 1:, :] += u[:, :-1, :] ** 2
    return out


@program(signed(25), 0.1, outputs=("u",))
def in_place(u, c):
    old = u.copy()
    for i in range(1, len(u) - 1):
        u[i] = old[i] + c * (old[i + 1] * old[i - 1])
    u[0] = u[1]
    u[-1] = 2.0 * u[-2]


@program(signed(30), signed(5))
def convolution(x, w):
    n = len(x) - len(w) + 1
    out = np.zeros(n)
    for i in range(n):
        for k in range(len(w)):
            out[i] += x[i + k] * w[k]
    return out


@program(real(4, 4) / 4 + 3 * np.eye(4), signed(4))
def conjugate_gradient(a, b):
    x = np.zeros(b.shape[0])
    r = b.copy()
    p = r.copy()
    rr = (r * r).sum()
    while rr > 1e-4:
        ap = (a * p).sum(axis=1)
        alpha = rr / (p * ap).sum()
        x = x + alpha * p
        r = r - alpha * ap
        new = (r * r).sum()
        p = r + new / rr * p
        rr = new
    return x


@program(signed(4, 13))
def recurrence_with_a_parallel_part(x):
    h = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h = np.tanh(0.5 * h + x[t])
    return h.sum()


@program(signed(33))
def cumulative_with_a_parallel_part(x):
    return np.cumsum(np.sin(x)) ** 2


@program(signed(8, 9))
def normalised(x):
    mean = x.mean(axis=0)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=0) + 1e-3)


@program(np.asfortranarray(signed(5, 7)), signed(7, 5).T)
def orders_of_memory(x, y):
    return (x * y.T.T).sum(axis=0) * x[1]


@program(signed(40)[::2], signed(20)[::-1])
def strided(x, y):
    return x * np.roll(y, 3) + x[::-1]


@program(np.array(0.7), signed(20))
def without_axes(s, x):
    return s * x + s[()] ** 2


@program(np.arange(24), signed(24), 3)
def integers(k, x, n):
    return x ** (k % 4) * k + n * x


@program(np.zeros(0), 2.0)
def nothing_at_all(x, s):
    return (x * s).sum() + s, x * s


@program(np.zeros((3, 0)), signed(3))
def rows_without_elements(x, w):
    return (x * w[:, None]).sum(axis=1) + w


# ------------------------------------------------------------------------------------------- where numbers lie


@program(signed(20), 0.5)
def sum_that_starts_from_an_earlier_one(x, s):
    total = s * s
    for i in range(len(x)):
        total += x[i]
    total = total * total
    for i in range(len(x)):
        total += x[i] * total_of_one(x[i])
    return total


def total_of_one(t):
    return t * t


@program(signed(20))
def number_of_the_device_in_a_branch(x):
    s = (x * x).sum()
    if s > 2.0:
        s = s * x[0]
    else:
        s = 1.0
    return s * x


@program(signed(20), True)
def number_set_by_the_host_in_a_branch(x, flag):
    s = (x * x).sum()
    if flag:
        s = 0.25
    t = s * x[3]
    return t * x + s


@program(signed(20))
def number_set_in_every_iteration(x):
    total = 0.0
    s = 1.0
    for k in range(3):
        y = x * s
        total += (y * y).sum() * s
        s = 0.5 * s + y[k]
    return total * s


@program(signed(20))
def counter_that_one_thread_needs(x):
    """The place of a store changes on the host, between stores that one thread does."""
    out = np.zeros(6)
    k = 0
    for i in range(3):
        out[k] = x[i] * x[i + 1]
        k += 1
        out[k] = out[k - 1] * 2.0
        k += 1
    return out * (x * x).sum()


@program(signed(20))
def counter_that_depends_on_values(x):
    out = np.zeros(20)
    k = 0
    for i in range(20):
        if x[i] > 0:
            out[k] = x[i] ** 2
            k += 1
    return out * k


@program(signed(6), signed(20))
def iterations_that_a_value_ends(a, x):
    s = 1.0
    n = 0
    while s < 4.0 and n < 10:
        y = np.sin(x) * s
        s = s + (y * y).sum() * abs(a[n % 6])
        n += 1
    return s * n


@program(signed(20))
def swapped_in_turn(x):
    a, b = x * 2, x * 3
    for k in range(3):
        b[1:] = a[:-1] * b[1:]
        a, b = b, a
        a[0] = b[-1]
    return a - b


@program(signed(5, 20))
def row_whose_number_changes(x):
    total = 0.0
    k = 0
    row = x[k]
    for i in range(4):
        total += (row * x[k + 1]).sum()
        k = k + 1
        row = x[-k]
    return total


@program(signed(24))
def downwards_and_by_strides(x):
    y = np.zeros(24)
    for i in range(22, 0, -3):
        y[i] = x[i] * x[i - 1]
    for i in range(1, 24, 5):
        y[-i] += x[i] ** 2
    return y


@program(signed(24))
def two_names_for_one_array(x):
    y = x * 2
    z = y
    z[2:5] = 1.0
    t = y[3] * x[1]
    y[:] = y * t
    return z


@program(signed(3, 4, 5))
def nests_of_loops(x):
    out = np.zeros((3, 5))
    for i in range(3):
        s = 0.0
        for j in range(4):
            for k in range(5):
                s += x[i, j, k]
                out[i, k] += x[i, j, k] * x[i, j, 0]
        out[i, 0] += s * s
    return out


@program(signed(20), 3)
def triangle_of_kernels(x, n):
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            y = x[i:] * x[j]
            total += (y * y).sum()
        total *= 0.5
    return total


@program(signed(20))
def extreme_and_where(x):
    m = x.max()
    k = int(np.argmax(x))
    return (x - m) ** 2 * x[k] + np.where(x > 0, x, 0.1 * x)


@program(signed(20))
def last_of_a_loop(x):
    s = 0.0
    for i in range(len(x)):
        s = x[i] * 2.0
    return s * x


@program(signed(20))
def number_that_both_have(x):
    """Set by the host, by one thread, by a kernel, and by the host again."""
    s = 2.0
    y = x * s
    s = y[0]
    y = y * s
    for i in range(len(x)):
        s += y[i]
    y = y * s
    s = 3.0
    z = y * s
    for i in range(len(x)):
        s += z[i]
    return z * s


@program(signed(6, 6))
def in_place_by_rows(a):
    b = a.copy()
    for k in range(2):
        for i in range(k + 1, 6):
            b[i] -= b[i, k] * b[k] * 0.3
    return b


@program(signed(4), signed(2, 4), np.arange(4))
def copies_in_loops(x, a, k):
    """Arrays that change places in loops: what copies them has indices of its own."""
    for i in range(3, 0, -2):
        for j in range(3, -1, -1):
            z = np.exp(-np.square(a))
            a, z = z, np.sin(a)
            n = 0
            while n < 2 and x[1] < 0.8:
                n += 1
                w = np.arctan(z * z + z) * x[i]
                a, w = w, np.arctan(a[::-1]) + x[j]
    return a


@program(signed(18), signed(18))
def scratch_of_each_thread(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        t = np.zeros(4)
        for k in range(4):
            t[k] = x[i] * w[(i + k) % 18]
        for k in range(1, 4):
            t[k] += t[k - 1] * t[k]
        out[i] = t[3] * t[0]
    return out


@program(signed(20), real(20))
def element_that_changes_again_and_again(x, s):
    y = x.copy()
    y += s
    y -= x * s
    y *= s
    y /= s + 1
    y *= y
    y[...] *= y + s
    return y


@program(signed(12), signed(12), 6)
def scratch_of_run_time_size(x, w, n):
    out = np.zeros(len(x))
    for i in range(len(x)):
        t = np.empty(n)
        t[0] = x[i]
        for k in range(1, n):
            t[k] = np.sin(t[k - 1]) * w[k]
        s = 0.0
        for k in range(n):
            s += t[k] ** 2
        out[i] = s
    return out


@pytest.mark.parametrize(("function", "args", "options", "dtype"), cases(np.dtype(np.float64)))
def test_float64(function: Callable[..., Any], args: tuple, options: dict[str, Any], dtype: np.dtype) -> None:
    check(function, args, options, dtype)


@pytest.mark.parametrize(("function", "args", "options", "dtype"), cases(np.dtype(np.float32))[::3])
def test_float32(function: Callable[..., Any], args: tuple, options: dict[str, Any], dtype: np.dtype) -> None:
    check(function, args, options, dtype)
