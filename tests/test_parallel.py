"""parallel=True: the same numbers to rounding, and the same bits from as many threads.

races      in plain Python, pieces of loops take turns bytecode by bytecode (`racing`): a race shows as a wrong number
compiled   on 1 and 2 threads, against the serial code
around     errors in threads, several threads of Python's, a fork, another process that loads machine code
"""

from __future__ import annotations

import concurrent.futures
import functools
import multiprocessing
import os
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import test_corpus
from corpus import FLOAT64, PROGRAMS, Program
from racing import pieces_at_once
from support import leaves

import srcgrad
from srcgrad import grad
from srcgrad.analysis import sharing
from srcgrad.frontend.arguments import type_of
from srcgrad.ir import affine
from srcgrad.options import Options
from srcgrad.pipeline import generate
from srcgrad.runtime import threads

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(0)


# ------------------------------------------------------------------------------------------------------- programs


def elementwise(x, w):
    return np.exp(-x * x) * w + np.sin(x)


def reduction(x, w):
    return (x * x * w).sum() / len(x)


def mixture(x, mu, q):
    n, d = x.shape
    k = mu.shape[0]
    e = np.empty(k)
    total = 0.0
    for i in range(n):
        for j in range(k):
            t = 0.0
            for a in range(d):
                t += ((x[i, a] - mu[j, a]) * q[j, a]) ** 2
            e[j] = -0.5 * t
        top = e.max()
        total += top + np.log(np.sum(np.exp(e - top)))
    return total


def scatter(x, idx, m):
    y = np.zeros(m)
    for i in range(len(x)):
        y[idx[i]] += np.sin(x[i])
    return y


def longer_and_longer(x):
    """Later iterations are longer: a thread takes a piece from either end, one after the other."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i + 1):
            y[i] += np.tanh(x[j] * x[i])
    return y


def gather(x, idx, n):
    y = np.empty(n)
    for i in range(n):
        y[i] = np.exp(x[idx[i]])
    return y


def stencil(u, c):
    v = u.copy()
    for i in range(2, len(u) - 1):
        v[i] = u[i] + c * (u[i - 2] - 2 * np.exp(u[i]) + u[i + 1]) * u[i - 1]
    return v


def stencil_in_time(u, c, steps):
    for _ in range(steps):
        un = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                un[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]) * u[i, j]
        u = un
    return u


def convolution(x, k):
    """Windows whose length is known when the program runs."""
    y = np.zeros((x.shape[0] - k.shape[0] + 1, x.shape[1] - k.shape[1] + 1))
    for i in range(y.shape[0]):
        for a in range(k.shape[0]):
            for b in range(k.shape[1]):
                for j in range(y.shape[1]):
                    y[i, j] += k[a, b] * x[i + a, j + b]
    return y


def regression(x, w, y):
    """A matrix that is read once, in strips of rows."""
    z = x @ w
    return np.sum(np.logaddexp(0.0, z) - y * z)


def windows_upwards(x, k):
    """Every second row, against the direction of the loop, from behind."""
    n, m = x.shape[0], k.shape[0]
    y = np.zeros(((n - m) // 2, x.shape[1]))
    for i in range(y.shape[0]):
        for a in range(1, m + 1):
            for j in range(x.shape[1]):
                y[i, j] += np.sin(k[a - 1, 0] * x[n - 2 * i - a, j])
    return y


def backwards(x):
    y = np.empty(len(x))
    for i in range(len(x) - 1, -1, -2):
        y[i] = np.exp(x[i])
    for i in range(len(x) - 2, -1, -2):
        y[i] = np.sin(x[i])
    return y


def triangle(a, x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i):
            y[i] += a[i, j] * np.sin(x[j])
    return y


def roots(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        t = 1.0
        while abs(t * t - x[i]) > 1e-10:
            t = 0.5 * (t + x[i] / t)
        y[i] = t
    return y


def orbits(x, e):  # a stack that every iteration leaves as it was
    total = 0.0
    for i in range(len(x)):
        t = x[i]
        step = 1.0
        while abs(step) > 1e-9:
            step = (t - e * np.sin(t) - x[i]) / (1.0 - e * np.cos(t))
            t -= step
        total += np.cos(t) * x[i]
    return total


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def periodic(x):  # the first iteration and the last add to one element
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = np.exp(x[i] * x[i - 1] * x[i - 2])
    return y


def twice_round(x):  # y[i - n] is y[i]: far apart, and one element
    n = len(x) // 2
    y = np.zeros(n)
    for i in range(2 * n):
        y[i - n] += np.sin(x[i]) * x[i]
    return y


def running(x):  # every iteration needs the one before
    y = np.empty(len(x))
    s = 0.0
    for i in range(len(x)):
        s = 0.5 * s + np.sin(x[i])
        y[i] = s
    return y


def real(*shape: int) -> Any:
    return RNG.uniform(0.5, 1.5, shape)


LARGE = {
    elementwise: (real(200_000), real(200_000)),
    reduction: (real(500_000), real(500_000)),
    mixture: (real(4_000, 8), real(16, 8), real(16, 8)),
    scatter: (real(200_000), RNG.integers(0, 50, 200_000), 50),
    gather: (real(200_000), RNG.integers(0, 200_000, 200_000), 200_000),
    stencil: (real(200_000), 0.1),
    stencil_in_time: (real(400, 500), 0.1, 3),
    convolution: (real(300, 300), real(5, 3)),
    windows_upwards: (real(400, 300), real(5, 1)),
    regression: (real(100_000, 20), real(20), real(100_000)),
    backwards: (real(200_000),),
    triangle: (real(700, 700), real(700)),
    roots: (real(100_000),),
    orbits: (real(20_000), 0.4),
    product: (real(120, 130), real(130, 140)),
    periodic: (real(200_000),),
    twice_round: (real(400_000),),
    running: (real(200_000),),
}
SHAPES = {  # of results, where they are not that of the first argument
    reduction: (), mixture: (), regression: (), orbits: (), scatter: (50,), triangle: (700,), product: (120, 140),
    convolution: (296, 298), windows_upwards: (197, 300), twice_round: (200_000,),
}  # fmt: skip
SERIAL = {
    ("running", "primal"),
    ("roots", "backward"),  # which comes to it with v, in a loop of its own
    ("gather", "backward"),  # which sums up into an array as large as it is
}


def arguments(function: Any, kind: str, dtype: Any = np.float64) -> tuple[Any, ...]:
    given = [a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in LARGE[function]]
    if kind != "primal":
        shape = SHAPES.get(function, np.shape(given[0]))
        given.append(np.cos(np.arange(np.prod(shape))).reshape(shape).astype(dtype) if shape else dtype(1))
    return tuple(given)


@functools.cache
def compiled(function: Any, parallel: bool) -> Any:
    return grad(function, parallel=parallel)


def entry(function: Any, kind: str, parallel: bool) -> Any:
    f = compiled(function, parallel)
    return f if kind == "primal" else getattr(f, kind)


def flat(result: Any) -> list[Any]:
    return [*leaves(result)]


def assert_equal(got: Any, want: Any, tolerance: float) -> None:
    for x, y in zip(flat(got), flat(want), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.max(np.abs(y)))


@pytest.fixture
def two_threads():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("there is one thread")
    before = numba.get_num_threads()
    numba.set_num_threads(2)
    yield
    numba.set_num_threads(before)


# ---------------------------------------------------------------------------------------------------------- races


class Split(test_corpus.Trial):
    """A case of the corpus, its loops split."""

    def __init__(self, program: Program, dtype: np.dtype) -> None:
        super().__init__(program, 0, dtype, False)
        self.f = grad(program.function, wrt=program.cases[0].wrt, parallel=True, jit=False, **program.options)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if FLOAT64 in p.cases[0].dtypes][::8], ids=lambda p: p.name)
def test_pieces_that_take_turns_give_the_same(program):
    with pieces_at_once():
        trial = Split(program, FLOAT64)
        if zlib.crc32(program.name.encode()) % 2:
            test_corpus.check_both(trial)
        else:
            test_corpus.check_gradient(trial)


SMALL = {
    mixture: (real(7, 2), real(3, 2), real(3, 2)),
    stencil: (real(30), 0.1),
    convolution: (real(10, 3), real(3, 2)),
    windows_upwards: (real(40, 3), real(5, 1)),
    regression: (real(5_000, 3), real(3), real(5_000)),
    product: (real(5, 3), real(3, 4)),
    scatter: (real(20), RNG.integers(0, 5, 20), 5),
    longer_and_longer: (real(33),),
    orbits: (real(10), 0.4),
    periodic: (real(40),),
    twice_round: (real(40),),
}


def split_and_serial(function: Any, seed: int) -> tuple[Any, Any]:
    y = function(*SMALL[function])
    given = (*SMALL[function], np.ones(np.shape(y)) if np.shape(y) else 1.0)
    with pieces_at_once(seed) as counts:
        f = grad(function, parallel=True, jit=False)
        result = (*flat(f.backward(*given)), f(*SMALL[function]))
    assert max(counts) > 1
    f = grad(function, jit=False)
    return result, (*flat(f.backward(*given)), f(*SMALL[function]))


@pytest.mark.parametrize("function", SMALL, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(2))
def test_small_programs_whose_pieces_take_turns(function, seed):
    assert_equal(*split_and_serial(function, seed), 1e-12)


@pytest.mark.parametrize(
    "what, function",
    [("partial", mixture), ("partial", scatter), ("scratch", mixture), ("reach", stencil), ("reach", convolution)],
)
def test_a_race_would_show(monkeypatch, what, function):
    """With what keeps the pieces apart taken away, numbers must be wrong."""
    shared = sharing.Sharing.of

    def careless(self: Any, loop: Any, later: Any) -> Any:
        found = shared(self, loop, later)
        return found and replace(found, **{what: affine.ZERO if what == "reach" else ()})

    monkeypatch.setattr(sharing.Sharing, "of", careless)
    with pytest.raises(AssertionError):
        for seed in range(200):  # a stencil's pieces meet in two elements alone: one order in 23 shows it
            assert_equal(*split_and_serial(function, seed), 1e-12)


# ------------------------------------------------------------------------------------------------------- compiled


@pytest.mark.parametrize(
    ("function", "kind"),
    [(f, kind) for k, f in enumerate(LARGE) for kind in (("primal", "backward") if k % 9 in (0, 3) else ("backward",))],
)
def test_one_and_two_threads(function, kind, two_threads):
    args = arguments(function, kind)
    want = entry(function, kind, False)(*args)
    f = entry(function, kind, True)
    split = "in prange(" in compiled(function, True).source(*args, kind=kind)
    assert split or (function.__name__, kind) in SERIAL or (function is running)
    numba.set_num_threads(1)
    assert_equal(f(*args), want, 1e-12)
    numba.set_num_threads(2)
    first = flat(f(*args))
    assert_equal(tuple(first), tuple(flat(want)), 1e-11)
    for _ in range(10):
        assert all(np.array_equal(x, y) for x, y in zip(flat(f(*args)), first, strict=True))


@pytest.mark.parametrize("function", [mixture, stencil, elementwise], ids=lambda f: f.__name__)
def test_float32(function, two_threads):
    args = arguments(function, "backward", np.float32)
    value, cotangents = compiled(function, True).value_and_backward(*args)
    assert_equal(value, function(*args[:-1]), 1e-3)
    args = arguments(function, "backward")
    serial = compiled(function, False).backward(*args)  # as above: it is there
    assert_equal(cotangents, [x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in serial], 1e-3)


def test_the_pair_of_vjp(two_threads):
    args = arguments(mixture, "primal")
    y, pullback = compiled(mixture, True).vjp(*args)
    assert_equal(y, mixture(*args), 1e-12)
    assert_equal(pullback(2.0), compiled(mixture, False).backward(*args, 2.0), 1e-11)


def test_the_module_shows_its_threads():
    text = compiled(mixture, True).source(*SMALL[mixture])
    assert "from numba import prange" in text and "for chunk in prange(chunks):" in text
    assert "own_part(mu_b, mu_b_part, chunk)" in text  # a sum: in a copy each
    assert "x_b_part" not in text  # own elements: where they are
    assert "prange" not in compiled(mixture, False).source(*SMALL[mixture])


def test_a_piece_knows_which_lengths_are_one():
    """x_b comes as an argument, with rows as long as those of x, which nobody can see there."""

    def moments_of_rows(x):
        n = x.shape[0]
        out = np.empty((2, n))
        for i in range(n):
            out[0, i], out[1, i] = np.sum(x[i]), np.sum(x[i] ** 2)
        return out

    x, v = type_of("x", np.ones((3, 4))), type_of("v", np.ones((2, 3)))
    facts = generate(moments_of_rows, "backward", (x,), v, Options(parallel=True)).facts
    assert facts.lengths == {(("x_b", 0), ("x", 0)), (("x_b", 1), ("x", 1))}


def test_plain_python_runs_the_same_text(monkeypatch):
    monkeypatch.setattr(threads, "WORTH", -1.0)
    f = grad(mixture, parallel=True, jit=False)
    assert_equal(f.backward(*SMALL[mixture]), grad(mixture, jit=False).backward(*SMALL[mixture]), 1e-12)


# --------------------------------------------------------------------------------------------------------- around


def test_an_error_in_a_thread_is_raised(two_threads):
    x, idx, n = LARGE[gather]
    bad = idx.copy()
    bad[[150_000, 170_000]] = 10**6
    with pytest.raises(IndexError) as serial:
        compiled(gather, False)(x, bad, n)
    for _ in range(3):
        with pytest.raises(IndexError) as parallel:
            compiled(gather, True)(x, bad, n)
        assert str(parallel.value) == str(serial.value)
    assert_equal(compiled(gather, True)(x, idx, n), np.exp(x[idx]), 1e-14)
    assert threads._state[0] == 0


def test_the_users_own_error_in_a_loop(two_threads):
    def f(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            if x[i] < 0:
                raise ValueError("negative")
            y[i] = np.log(np.exp(np.sin(np.sqrt(x[i]))))
        return y

    x = real(100_000)
    g = grad(f, parallel=True)
    assert_equal(g(x), np.sin(np.sqrt(x)), 1e-12)
    x[70_000] = -1.0
    with pytest.raises(ValueError, match="negative"):
        g(x)


def test_several_threads_of_python_at_once(two_threads):
    args = arguments(mixture, "backward")
    want = compiled(mixture, False).backward(*args)
    f = compiled(mixture, True)
    f.backward(*args)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: f.backward(*args), range(40)):
            assert_equal(got, want, 1e-11)
    assert threads._state[0] == 0


def in_a_child(args: Any) -> float:
    return float(compiled(mixture, True)(*args))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_after_a_fork(two_threads):
    """GNU's OpenMP ends a process that forked after it started threads: there, loops stay serial."""
    args = arguments(mixture, "primal")
    want = float(compiled(mixture, True)(*args))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        np.testing.assert_allclose(pool.map_async(in_a_child, [args] * 4).get(timeout=60), want, rtol=1e-12)


SCRIPT = """\
import concurrent.futures, sys
import numba, numpy as np
from numba.core import event
from srcgrad import grad


class Compilations(event.Listener):
    seen = []

    def on_start(self, event):
        self.seen.append(str(event.data["dispatcher"]))

    def on_end(self, event):
        pass


@grad(parallel=True)
def f(x, w):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = np.exp(x[i]) * w[i]
    return y


x = np.linspace(0.0, 1.0, 300_000)
with event.install_listener("numba:compile", Compilations()):
    xb, wb = f.backward(x, x, x)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for again, _ in pool.map(lambda _: f.backward(x, x, x), range(20)):
            assert np.array_equal(again, xb)
print(np.allclose(xb, x * x * np.exp(x), rtol=1e-13), sum("f_backward" in name for name in Compilations.seen))
"""


def run(script: Path, folder: Path, **environment: str) -> list[str]:
    root = Path(srcgrad.__file__).parent.parent
    given = {**os.environ, "PYTHONPATH": str(root), "SRCGRAD_CACHE_DIR": str(folder), **environment}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=given, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_another_process_loads_machine_code(tmp_path):
    """… and uses it from several threads at once, even where Numba's threading layer can't."""
    script = tmp_path / "model.py"
    script.write_text(SCRIPT)
    first = run(script, tmp_path / "cache", NUMBA_NUM_THREADS="2")  # OpenMP's, where there is one
    assert first[0] == "True" and int(first[1]) >= 3
    second = run(script, tmp_path / "cache", NUMBA_THREADING_LAYER="workqueue", NUMBA_NUM_THREADS="2")
    assert second == ["True", "0"]
