"""What goes wrong on a GPU is said as on the CPU; arrays that lie on a device, and those that do not."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numba import cuda
from numba.core import config

from srcgrad import grad
from srcgrad.errors import ArgumentError, OverlapError, SrcgradError, UnsupportedError
from srcgrad.runtime import device

X = np.linspace(0.1, 2.0, 20)


def raised(f: Any, *args: Any, entry: str = "backward") -> Exception:
    with pytest.raises(Exception) as caught:
        getattr(f, entry)(*args)
    return caught.value


def alike(function: Any, *args: Any, entry: str = "backward") -> Exception:
    """The error that a GPU reports, which is the one of plain Python."""
    before = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    got = raised(grad(function, target="cuda"), *args, entry=entry)
    want = raised(grad(function, jit=False), *args, entry=entry)
    assert isinstance(got, type(want)), (got, want)
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True) if isinstance(a, np.ndarray))
    return got


def test_index_in_a_kernel():
    def f(x, k):
        return x[k] * 2.0

    error = alike(f, X, np.array([0, 3, 20, 1]), np.ones(4))
    assert isinstance(error, IndexError)
    assert "20 is out of bounds for axis 0 with size 20" in str(error) and "return x[k] * 2.0" in str(error)
    alike(f, X, np.array([0, -21, 2, 1]), np.ones(4))
    np.testing.assert_array_equal(grad(f, target="cuda")(X, np.array([-20, -1])), 2 * X[[-20, -1]])


def test_index_of_a_store_in_a_kernel():
    def f(x, k):
        out = np.zeros(4)
        for i in range(len(x)):
            out[k[i]] += x[i] ** 2
        return out

    assert isinstance(alike(f, X[:3], np.array([0, 4, 1]), np.ones(4)), IndexError)


def test_index_of_a_row():
    def f(x, k):
        row = x[k]
        return row * 2.0 + x[0]

    assert isinstance(alike(f, X.reshape(4, 5), 4, np.ones(5)), IndexError)
    assert isinstance(alike(f, X.reshape(4, 5), -5, np.ones(5)), IndexError)
    np.testing.assert_array_equal(grad(f, target="cuda")(X.reshape(4, 5), -1), 2 * X[15:] + X[:5])


def test_error_of_the_users_in_a_loop():
    def f(x):
        total = 0.0
        for i in range(len(x)):
            if x[i] > 1.5:
                raise ValueError("too large")
            total += x[i] ** 2
        return total

    error = alike(f, X)
    assert isinstance(error, ValueError) and str(error).startswith("too large")
    assert grad(f, target="cuda")(X / 2) == pytest.approx(np.sum(X**2) / 4)


def test_lengths_that_do_not_fit():
    assert isinstance(alike(lambda x, y: x * y, X, X[:3], X), ValueError)
    assert isinstance(alike(lambda x: x * 2.0, X, np.ones(3)), ValueError)


def test_nothing_in_parallel():
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s = np.sin(s) * x[i] + 1.0
        return s

    error = raised(grad(f, target="cuda"), X, entry="__call__")
    assert isinstance(error, UnsupportedError)
    assert error.message == "nothing in f runs in parallel"
    assert "for i in range(len(x)):" in str(error) and "iterations do not read what others write" in str(error)


def test_nothing_in_parallel_but_what_is_filled():
    def f(x):
        s = np.full(len(x) + 1, 0.5)
        for i in range(len(x)):
            s[i + 1] = np.sin(s[i]) * x[i] + 1.0
        return s[-1]

    assert "for i in range(len(x)):" in str(raised(grad(f, target="cuda"), X, entry="__call__"))


def test_recursion():
    def f(x, n):
        return x if n == 0 else f(x * x, n - 1)

    assert "recursive" in str(raised(grad(f, target="cuda"), X, 3, X))


def test_function_that_devices_have_not():
    error = raised(grad(lambda x: np.sort(x) * 2.0, target="cuda"), X, X)
    assert isinstance(error, UnsupportedError) and "does not run on a GPU" in str(error)
    assert error.span is not None


def squares(x, w):
    return x * x * w + x.sum()


def test_arrays_that_lie_on_a_device_stay_there():
    f, plain = grad(squares, target="cuda"), grad(squares, jit=False)
    x, w, v = X, X[::-1].copy(), np.cos(X)
    on_device = [cuda.to_device(a) for a in (x, w, v)]
    y = f(*on_device[:2])
    assert hasattr(y, "copy_to_host")
    np.testing.assert_allclose(y.copy_to_host(), plain(x, w))
    for got, want in zip(f.backward(*on_device), plain.backward(x, w, v), strict=True):
        np.testing.assert_allclose(got.copy_to_host(), want)
    y, pullback = f.vjp(*on_device[:2])
    for _ in range(2):
        for got, want in zip(pullback(on_device[2]), plain.backward(x, w, v), strict=True):
            np.testing.assert_allclose(got.copy_to_host(), want)
    for array, before in zip(on_device, (x, w, v), strict=True):
        np.testing.assert_array_equal(array.copy_to_host(), before)


def test_numbers_that_vjp_keeps_on_a_device():
    def f(x):
        s = x.sum()
        return s * s * x

    x = cuda.to_device(X)
    y, pullback = grad(f, target="cuda").vjp(x)
    want = grad(f, jit=False).backward(X, X)
    np.testing.assert_allclose(pullback(cuda.to_device(X)).copy_to_host(), want)
    np.testing.assert_allclose(grad(f, target="cuda").vjp(X)[1](X), want)


def test_a_number_as_result_of_arrays_on_a_device():
    f = grad(lambda x: (x * x).sum(), target="cuda")
    x = cuda.to_device(X)
    value, cotangent = f.value_and_backward(x)
    assert value.ndim == 0 if hasattr(value, "ndim") else True
    np.testing.assert_allclose(np.asarray(value.copy_to_host()), np.sum(X * X))
    np.testing.assert_allclose(cotangent.copy_to_host(), 2 * X)


def test_writes_to_arrays_on_a_device():
    def f(u):
        for i in range(1, len(u) - 1):
            u[i] = u[i] * 2.0

    u = cuda.to_device(X)
    grad(f, target="cuda", outputs="u")(u)
    want = X.copy()
    want[1:-1] *= 2
    np.testing.assert_array_equal(u.copy_to_host(), want)
    got = grad(f, target="cuda", outputs="u").backward(u, cuda.to_device(X))
    np.testing.assert_array_equal(got.copy_to_host(), want)
    np.testing.assert_array_equal(u.copy_to_host(), want)  # backward writes to a copy


def test_mixed_places():
    error = raised(grad(squares, target="cuda"), cuda.to_device(X), X, X)
    assert isinstance(error, ArgumentError)
    assert "argument x lies on a GPU, and argument w does not" in str(error)
    error = raised(grad(squares, target="cuda"), cuda.to_device(X), cuda.to_device(X), X)
    assert "argument v does not" in str(error)


def test_device_arrays_and_a_cpu_function():
    for jit in (True, False):
        error = raised(grad(squares, jit=jit), cuda.to_device(X), cuda.to_device(X), cuda.to_device(X))
        assert isinstance(error, SrcgradError)
        assert "lies on a GPU" in str(error) and '@grad(target="cuda")' in str(error)


def test_one_call_after_another():
    """More rows than at first, an error, and calls after it: each is a call of its own."""

    def f(x, table, n):
        out = np.zeros(len(x))
        for i in range(len(x)):
            y = x[i]
            k = 0
            while k < n + i:
                y = np.sin(y) + 0.5 * y * table[k]
                k += 1
            out[i] = y
        return out

    g, plain = grad(f, target="cuda"), grad(f, jit=False)
    table = np.ones(230)
    for n in (3, 100, 200, 2, 400, 5):
        if n == 400:
            assert isinstance(raised(g, X, table, n, X), IndexError)
            continue
        for got, want in zip(g.backward(X, table, n, X), plain.backward(X, table, n, X), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_two_runs_are_equal_to_the_last_bit():
    f = grad(lambda x, w: ((x * w[:, None]).sum(axis=1) ** 2).sum(), target="cuda")
    x, w = np.random.default_rng(0).normal(size=(7, 9)), np.linspace(1, 2, 7)
    first, second = f.backward(x, w), f.backward(x, w)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a, b)


def test_one_kernel_on_grids_of_several_sizes():
    def f(x, n):
        y = x
        for i in range(n):
            y = np.concatenate((np.sin(y), x * i))
        return y

    x, v = X[:5], np.linspace(1, 2, 25)
    g, want = grad(f, target="cuda"), grad(f, jit=False).backward(x, 4, v)
    for _ in range(3):
        np.testing.assert_allclose(g.backward(x, 4, v), want, rtol=1e-13)


def test_arrays_on_the_device_that_share_memory():
    def f(x, y):
        x[:] = x * y

    base = cuda.to_device(np.arange(1.0, 11.0))
    with pytest.raises(OverlapError, match="arguments x and y share memory"):
        grad(f, target="cuda")(base[:5], base[3:8])
    grad(f, target="cuda")(base[:5], base[5:])
    np.testing.assert_array_equal(base.copy_to_host()[:5], np.arange(1.0, 6.0) * np.arange(6.0, 11.0))


def test_threads_may_call_one_function_at_one_time():
    f = grad(lambda x: np.sum(x**2), target="cuda")
    arrays = [np.full(5 + k % 2, float(k)) for k in range(6)]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(f.backward, arrays))
    assert [a.tolist() for a in found] == [(2 * x).tolist() for x in arrays]


def test_an_error_ends_a_loop_that_goes_on_by_numbers_of_the_device():
    def f(x, k):
        y = x.copy()
        while y[7] > 0.1:  # a thread that stops at an error halves nothing
            for i in range(len(y)):
                y[i] = y[i] * x[k[i]]
        return y

    x, k = np.full(20, 0.5), np.arange(20)
    np.testing.assert_allclose(grad(f, wrt="x", target="cuda")(x, k), grad(f, wrt="x", jit=False)(x, k))
    k[7] = 21
    error = alike(f, x, k, entry="__call__")
    assert isinstance(error, IndexError) and "index 21 is out of bounds for axis 0 with size 20" in str(error)


def test_an_error_of_a_kernel_comes_before_what_the_host_makes_of_its_sum():
    def f(x, k):
        c = np.sum(x[k])
        if not 1.0 < c < 30.0:
            raise ValueError("what")
        return x * c

    assert isinstance(alike(f, X, np.array([0, 20, 3]), X), IndexError)
    assert isinstance(alike(f, X, np.array([0, 0, 0]), X), ValueError)


def settled(x):
    """Goes on for longer than there is room for at first: then the call is made again."""
    total, count = 0.0, 0
    for i in range(x.size):
        t = x[i]
        for _ in range(100):
            if t > 5.0:
                break
            t = np.sin(t) + 0.5
            count += 1
        total += t
    return total, count


def raising_by_a_sum(x):
    total, _ = settled(x)
    if total < 10.0 or total > 1e9 or np.isnan(total):
        raise ValueError("what")
    return x * total


def looked_up_by_a_count(x):
    total, count = settled(x)
    return x[count // 101] * x * total


def looping_by_a_count(x):
    total, count = settled(x)
    y = x * 1.0
    for _ in range(count // 10**15 + 2):
        y = y * 0.9 + np.sum(y) * 0.001
    return y * total


@pytest.fixture
def leftovers(monkeypatch):
    """Memory is handed out as somebody may have left it: full of large integers, and of nothing of the call's."""
    if config.ENABLE_CUDASIM:
        allocate = cuda.device_array

        def with_leftovers(shape, dtype):
            out = allocate(shape, dtype)
            out._ary.reshape(-1).view(np.uint8)[:] = 0x7F
            return out

        monkeypatch.setattr(cuda, "device_array", with_leftovers)
    elif os.environ.get("SRCGRAD_VIRTUAL_GPU"):
        from virtual_gpu import memory

        allocate = memory.Arena._allocated

        def with_leftovers(arena, size):
            start = allocate(arena, size) - arena.base
            arena.bytes[start : start + size], arena.state[start : start + size] = 0x7F, memory.WRITTEN
            return arena.base + start

        monkeypatch.setattr(memory.Arena, "_allocated", with_leftovers)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [raising_by_a_sum, looked_up_by_a_count, looping_by_a_count], ids=lambda f: f.__name__)
def test_the_host_does_not_go_on_by_what_a_kernel_that_stopped_has_left(f, leftovers, monkeypatch):
    launches = []
    launch = device.Launch.__call__
    monkeypatch.setattr(device.Launch, "__call__", lambda *args, **sums: launches.append(1) or launch(*args, **sums))
    x = np.linspace(-1.0, 1.0, 40)
    value, cotangent = grad(f, target="cuda").value_and_backward(x, np.ones(40))
    expected, wanted = grad(f, jit=False).value_and_backward(x, np.ones(40))
    np.testing.assert_allclose(value, expected, rtol=1e-11)
    np.testing.assert_allclose(cotangent, wanted, rtol=1e-11)
    assert len(launches) < 100


def test_an_error_with_many_numbers():
    def f(x, n):
        out = np.zeros(len(x))
        for i in range(len(x)):
            if x[i] > 1.5:
                raise ValueError(f"at {i}: {n} {n + 1} {n + 2} {n + 3} {n + 4} {n + 5} {n + 6}")
            out[i] = x[i] ** 2
        return out

    error = raised(grad(f, wrt="x", target="cuda"), X, 3, entry="__call__")
    assert isinstance(error, ValueError) and str(error).startswith("at")


class Watched(np.ndarray):
    """Elements that are read one by one by indices that are inside, and not negative."""

    def __getitem__(self, index):
        assert not isinstance(index, (int, np.integer)) or 0 <= index < len(self), f"read at {index}"
        return super().__getitem__(index)


def looked_up_twice(x, k):
    return x[k[k]]


def looked_up_in_a_choice(x, k):
    out = np.zeros(len(k))
    for i in range(len(k)):
        out[i] = x[k[k[i]]] if k[k[i]] < 3 else 0.5 * x[k[i]]
    return out


def added_up_twice(x, k):
    out = np.zeros(5)
    for i in range(len(k)):
        out[k[k[i]]] += x[i] ** 2
    return out


def rows_looked_up(x, k):
    s = 0.0
    for i in range(3):
        row = np.reshape(x, (5, 1))[k[k[i]]]
        s += np.sum(row * row)
    return s


@pytest.mark.parametrize("f", [looked_up_twice, looked_up_in_a_choice, added_up_twice, rows_looked_up])
@pytest.mark.parametrize("k, fails", [([4, -5, -1, 2, 3], False), ([0, 2, 5, 1, 1], True), ([0, -6, 1, 1, 1], True)])
def test_an_index_that_is_looked_up_is_checked_before_it_is_used(f, k, fails, monkeypatch):
    """No check reads outside either: on a GPU that is an illegal access, or a number that belongs to nobody."""
    from srcgrad.backends import cuda as backend

    send = backend.send

    def watched(value):
        out = send(value)
        if isinstance(value, np.ndarray) and value.dtype == np.int64:
            out._ary = out._ary.view(Watched)
        return out

    if config.ENABLE_CUDASIM:
        monkeypatch.setattr(backend, "send", watched)
    x, k = X[:5], np.array(k)
    v = 1.0 if f is rows_looked_up else np.linspace(1.0, 2.0, 5)
    if fails:
        assert isinstance(alike(lambda x, k: f(x, k), x, k, v), IndexError)
    else:
        g, plain = grad(f, wrt="x", target="cuda"), grad(f, wrt="x", jit=False)
        np.testing.assert_allclose(g(x, k), plain(x, k))
        np.testing.assert_allclose(g.backward(x, k, v), plain.backward(x, k, v))


def sparse_product(data, columns, ends, x):
    y = np.zeros(len(ends) - 1)
    for i in range(len(y)):
        for p in range(ends[i], ends[i + 1]):
            y[i] += data[p] * x[columns[p]]
    return y


def moved_on(x, k):
    """The same text, and another index."""
    out = np.zeros(len(k))
    for i in range(len(k)):
        j = k[i]
        a = x[j]
        j = j + 2
        out[i] = a * x[j]
    return out


def test_an_index_is_checked_once_as_long_as_it_is_the_same() -> None:
    data, columns, ends = X[:6], np.array([0, 3, 1, 2, 2, 0]), np.array([0, 2, 2, 6])
    f = grad(sparse_product, target="cuda")
    assert f.source(data, columns, ends, X[:4]).count("compare_and_swap") == 3  # columns, x and data
    for wrong in (np.array([0, 3, 1, 2, 4, 0]), columns[:5]):
        assert isinstance(alike(sparse_product, data, wrong, ends, X[:4], np.ones(3)), IndexError)
    assert isinstance(alike(moved_on, X, np.array([3, 18]), np.ones(2)), IndexError)
    assert isinstance(alike(moved_on, X, np.array([-1, -21]), np.ones(2)), IndexError)


def test_where_every_path_raises():
    def f(x):
        if x.ndim != 2:
            raise ValueError(f"need a matrix, got {x[:2]} of {x.shape}, {(x * x).sum() > 1}")
        return x.sum()

    for entry in ("backward", "value_and_backward", "vjp"):
        assert str(alike(f, X, entry=entry)) == "need a matrix, got [0.1 0.2] of (20,), True"


def test_printed(capsys):
    """Arrays of the device, too, in every call."""

    def f(x):
        print(x, f"{x[:2] * 2} {x.sum() > 1}", x.shape)
        return (x * x).sum()

    f(X)
    expected = capsys.readouterr().out
    g = grad(f, target="cuda")
    for _ in range(3):
        g.backward(X)
        assert capsys.readouterr().out == expected
