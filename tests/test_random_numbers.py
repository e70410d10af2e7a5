"""Random numbers in a function: drawn as NumPy draws them, once per call, and differentiated by where they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_arrow, from_text, turn_of

import srcgrad
from srcgrad import grad

outside = np.random.default_rng(5)
old_outside = np.random.RandomState(6)
X = np.linspace(0.1, 1.0, 4)


def seed() -> None:
    np.random.seed(3)
    outside.bit_generator.state = np.random.default_rng(5).bit_generator.state
    old_outside.seed(6)


def drawn_after(call: Callable[[], Any]) -> tuple[Any, list[float]]:
    """What a call returns, and what is drawn next: it says how much the call drew."""
    seed()
    result = call()
    return result, [np.random.rand(), outside.random(), old_outside.rand()]


def check(f: Any, *args: Any, jit: bool = False) -> None:
    g = grad(f, jit=jit)
    want, after = drawn_after(lambda: f(*args))
    got, after_primal = drawn_after(lambda: g(*args))
    np.testing.assert_allclose(got, want, rtol=1e-13)
    assert type(got) is type(want)
    if turn_of(f) % 2:  # by turns
        found, after_gradient = drawn_after(lambda: g.backward(*args))
    else:
        (y, pullback), after_gradient = drawn_after(lambda: g.vjp(*args))
        found, nothing_more = pullback(), [np.random.rand()]
        np.testing.assert_allclose(y, want, rtol=1e-13)
        assert nothing_more != after[:1]
    assert after == after_primal == after_gradient
    gradient = found if isinstance(found, tuple) else (found,)
    for k, arg in enumerate(args):
        if not np.issubdtype(np.asarray(arg).dtype, np.floating):
            continue
        direction = np.linspace(1.0, 2.0, np.size(arg)).reshape(np.shape(arg))
        ends = []
        for step in (1e-6, -1e-6):
            seed()
            ends.append(f(*args[:k], arg + step * direction, *args[k + 1 :]))
        slope = np.sum(np.asarray(gradient[k]) * direction)
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)


def noisy_sums(x: Any, n: Any) -> Any:
    e = np.random.randn(n)
    np.random.rand(2)  # nobody looks at these
    return np.sum(np.sin(x * e) + np.random.rand() * x)


def steps_with_noise(x: Any, s: Any) -> Any:
    t = 0.0
    for i in range(4):
        z = np.random.normal(x[i], s)
        t += z * z
        u = np.random.uniform(0, x, size=(3, 4))
        t += np.sum(u**2)
    return t


def own_generator(x: Any) -> Any:
    rng = np.random.default_rng(7)
    w = rng.normal(0, 1, size=x.shape)
    y = x.copy()
    for _ in range(3):
        y = y * rng.standard_normal(len(x)) + rng.random()
        if rng.random() < 0.5:
            y *= 2.0
    return np.sum(w * y * y) + rng.integers(0, 10)


def indices_by_chance(x: Any) -> Any:
    i = np.random.permutation(len(x))
    j = np.random.choice(len(x), 3)
    k = np.random.choice(len(x), 2, replace=False)
    y = np.random.choice(x, 2, p=[0.1, 0.2, 0.3, 0.4])
    z = x * 2.0
    np.random.shuffle(z)
    weights = np.arange(len(x))
    few = np.sum(x[j] ** 2) + np.prod(x[k]) + np.sum(y * y * y)
    return few + np.sum(x[i] * weights) + np.sum(z * z * weights) + np.random.randint(3, 10)


def generators_from_outside(x: Any) -> Any:
    t = np.sum(outside.normal(x, 2.0) ** 2) + outside.random()
    return t * old_outside.rand() + np.sum(outside.permutation(x)[:2])


def dropout(x: Any, w: Any) -> Any:
    h = np.tanh(x * w)
    mask = np.random.rand(*h.shape) < 0.5
    h = np.where(mask, h / 0.5, 0.0)
    while np.random.rand() < 0.7:
        h = h * 1.5
    return np.sum(h * np.random.choice(4) + x)


PROGRAMS = [
    (noisy_sums, (X, 4)),
    (steps_with_noise, (X, 0.7)),
    (own_generator, (X,)),
    (indices_by_chance, (X,)),
    (generators_from_outside, (X,)),
    (dropout, (X, X + 1.0)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs(f: Any, args: Any) -> None:
    check(f, *args)


@pytest.mark.parametrize(("f", "args"), [PROGRAMS[k] for k in (1, 2, 4)])
def test_compiled(f: Any, args: Any) -> None:
    check(f, *args, jit=True)


@pytest.mark.parametrize(
    "text",
    [
        "np.random.random((2, 4))",
        "np.random.random_sample(4)",
        "np.random.sample(4)",
        "np.random.ranf(4)",
        "np.random.standard_normal(size=(3, 4))",
        "np.random.normal(x)",
        "np.random.normal(x, x, (5, 4))",
        "np.random.normal(scale=x)",
        "np.random.uniform(x)",
        "np.random.uniform(-1, x)",
        "np.random.exponential(x)",
        "np.random.lognormal(x, 0.5)",
        "np.random.lognormal()",
        "np.random.laplace(x, x)",
        "np.random.logistic(x, 2)",
        "np.random.gumbel(x)",
        "np.random.rayleigh(x)",
        "np.random.gamma(2.0, x)",
        "np.random.standard_gamma(2.5, 4)",
        "np.random.standard_cauchy(4)",
        "np.random.standard_exponential(4)",
        "np.random.standard_t(3)",
        "np.random.weibull(2.0, 4)",
        "np.random.chisquare(2, (2, 4))",
        "np.random.beta(1.0, 2.0)",
        "np.random.poisson(lam=3.5, size=4)",
        "np.random.geometric(0.3)",
        "np.random.binomial(5, 0.5, 4)",
        "np.random.randint(7)",
        "np.random.randint(2, 7, size=(2, 4))",
        "np.random.choice(x)",
        "np.random.choice([1.0, 5.0], 4)",
        "np.random.permutation(x)",
        "np.random.permutation(np.outer(x, x))",
        "outside.integers(2, 9, 4, endpoint=True)",
        "outside.random(4, dtype=np.float32)",
        "outside.standard_normal((2, 4), 'float32')",
        "outside.choice(9, 4, replace=False)",
        "outside.choice(np.outer(x, x), 2)",
        "np.random.default_rng(len(x)).uniform(x, 2.0)",
        "np.random.default_rng(np.random.default_rng(2)).normal(x)",
    ],
)
def test_distributions(text: str) -> None:
    f = from_arrow(f"x -> np.sum({text} * x)")
    f.__globals__["outside"] = outside
    check(f, X)


@pytest.mark.parametrize("text", ["np.random.randn()", "np.random.normal(x)", "np.random.uniform(0, x)", "x"])
def test_dtypes(text: str) -> None:
    f = from_arrow(f"x, y -> ({text}, np.random.randn() * y)")
    args = np.float32(0.5), np.ones(3, np.float32)
    want, _ = drawn_after(lambda: f(*args))
    got, _ = drawn_after(lambda: grad(f, jit=False)(*args))
    assert [type(one) for one in want] == [type(one) for one in got]
    assert want[1].dtype == got[1].dtype == np.float32
    np.testing.assert_allclose(got[1], want[1], rtol=1e-6)


def test_a_seed_in_the_function() -> None:
    f = from_text("import numpy as np\ndef f(x):\n    np.random.seed(4)\n    return x * np.random.randn()\n", "f")
    for jit in (False, True):
        g = grad(f, jit=jit)
        assert g(2.0) == f(2.0)
        assert g.backward(2.0) == g.backward(3.0) == f(1.0)
    seeds = from_arrow("x, seed -> x * np.random.default_rng(seed).normal()")
    assert grad(seeds, jit=False).backward(1.0, 8) == seeds(1.0, 8)


def test_every_call_draws_anew() -> None:
    g = grad(from_arrow("x -> x * np.random.default_rng().random() + x * np.random.rand()"), jit=False)
    assert len({g.backward(1.0) for _ in range(4)}) == 4


def test_nothing_is_drawn_twice_where_lengths_turn_out_as_one() -> None:
    f = from_arrow("x, y -> np.sum(np.random.randn(3) * x + y * np.random.rand())")
    g = grad(f, jit=False)
    for y in (np.ones(3), np.ones(1), np.ones(3)):
        want, after = drawn_after(lambda y=y: f(np.arange(3.0), y))
        got, after_primal = drawn_after(lambda y=y: g(np.arange(3.0), y))
        gradient, after_backward = drawn_after(lambda y=y: g.backward(np.arange(3.0), y))
        assert after == after_primal == after_backward
        np.testing.assert_allclose(got, want)
        assert gradient[1].shape == y.shape


def test_in_functions_that_call_themselves() -> None:
    text = """import numpy as np
def walk(x, n):
    if n == 0:
        return x
    return walk(x * np.random.normal(1.0, 0.5), n - 1) + np.random.rand()
def f(x, n):
    return walk(x, n) * np.random.rand()
"""
    check(from_text(text, "f"), 0.5, 5)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("np.random.gamma(x[0])", NotImplementedError, "no derivative with respect to"),
        ("np.random.multivariate_normal(x, np.eye(4))", NotImplementedError, "no random numbers are drawn by"),
        ("np.random.normal(x, -1.0)", ValueError, "scale < 0"),
        ("np.random.poisson(np.ones(4))", TypeError, "must be real, and no arrays"),
        ("np.random.randn(4, dtype='f4')", TypeError, "does not take the argument"),
        ("np.random.randint(3, 3)", ValueError, "low >= high"),
        ("np.random.choice(4, 9, replace=False)", ValueError, "larger sample"),
    ],
)
def test_errors(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        grad(from_arrow(f"x -> np.sum({text} * x[0])"), jit=False).backward(X)


def test_errors_of_compiled_code() -> None:
    with pytest.raises(ValueError, match="can't be drawn with these numbers"):
        grad(from_arrow("x, n -> x * np.random.randint(n, n)"))(1.0, 3)


def test_a_generator_is_no_argument() -> None:
    with pytest.raises(srcgrad.ArgumentError, match="a generator of random numbers"):
        grad(from_arrow("x, rng -> x * rng.normal()"), jit=False)(1.0, outside)


DRAWN = [
    "random()",
    "standard_normal()",
    "standard_exponential()",
    "standard_cauchy()",
    "laplace()",
    "logistic()",
    "gumbel()",
    "rayleigh()",
    "gamma(2.5)",
    "gamma(0.3)",
    "standard_t(3.0)",
    "weibull(2.0)",
    "chisquare(2.0)",
    "beta(1.0, 2.0)",
    "beta(0.3, 0.2)",
    "poisson(3.5)",
    "poisson(35.0)",
    "geometric(0.5)",
    "geometric(0.1)",
    "binomial(5, 0.4)",
    "binomial(500, 0.7)",
    "standard_normal(3)[1]",
    "standard_gamma(0.0)",  # what compiled code asks Python for
]
OF_GENERATORS = [
    "integers(2, 9)",
    "integers(-5, 2**40)",
    "integers(7, 8)",
    "integers(2**32)",
    "random(dtype=np.float32)",
    "standard_normal(dtype=np.float32)",
    "standard_exponential(dtype=np.float32)",
    "random((2, 200), dtype=np.float32)[1, 3]",
]
OF_OLD_ONES = ["randint(2, 9)", "randint(-5, 2**40)", "random_sample()", "rand()", "randn()"]


def drawing(rng: str, names: list[str], first: str = "") -> Any:
    """Every number of every distribution, in turn."""
    lines = "".join(f"        out[i, {k}] = s * {rng}.{name}\n" for k, name in enumerate(names))
    made = f"    out = np.empty((n, {len(names)}))\n    for i in range(n):\n{lines}    return out\n"
    return from_text(f"import numpy as np\nrng = None\ndef f(s, n):\n{first}{made}", "f")


def state_of(rng: Any) -> Any:
    """Where it is at; arrays as lists."""
    if rng is np.random:
        rng = np.random.mtrand._rand
    state = rng.bit_generator.state if isinstance(rng, np.random.Generator) else rng.get_state(legacy=False)
    flat = {key: value for key, value in state.items() if key != "state"} | state["state"]
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in flat.items()}


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox", "SFC64"])
def test_the_very_bits_of_a_generator(kind: str) -> None:
    f = drawing("rng", DRAWN + OF_GENERATORS)
    made = []
    for call in (f, grad(f)):
        f.__globals__["rng"] = rng = np.random.Generator(getattr(np.random, kind)(7))
        made.append((call(1.0, 3000).tolist(), state_of(rng)))
    assert made[0] == made[1]


def test_the_very_bits_of_a_generator_of_the_functions_own() -> None:
    f = drawing("own", DRAWN + OF_GENERATORS, "    own = np.random.default_rng(3)\n")
    np.testing.assert_array_equal(grad(f)(1.0, 3000), f(1.0, 3000))


@pytest.mark.parametrize("rng", ["rng", "np.random"])
def test_the_very_bits_of_old_generators(rng: str) -> None:
    f = drawing(rng, DRAWN + OF_OLD_ONES)
    f.__globals__["rng"] = np.random.RandomState(0)
    made = []
    for call in (f, grad(f)):
        old = np.random if rng == "np.random" else f.__globals__["rng"]
        old.seed(5)
        made.append((call(1.0, 1000).tolist(), state_of(old)))
    assert made[0] == made[1]


def test_threads_that_draw_from_one_generator_share_its_numbers() -> None:
    f = from_text(
        "import numpy as np\nrng = np.random.Generator(np.random.MT19937(1))\ndef f(s, n):\n"
        "    out = np.empty(n)\n    for i in range(n):\n        out[i] = s * rng.random()\n    return out\n",
        "f",
    )
    g, rng, count = grad(f), f.__globals__["rng"], 20000
    g(1.0, 1)
    rng.bit_generator.state = np.random.MT19937(1).state
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda k: g(1.0, count) if k < 2 else rng.random(count), range(4)))
    want = np.random.Generator(np.random.MT19937(1)).random(4 * count)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.sort(want))


def test_a_draw_waits_for_the_lock() -> None:
    f = from_text(
        "import numpy as np\nrng = np.random.default_rng(1)\ndef f(s):\n    return s * rng.random()\n",
        "f",
    )
    g = grad(f)
    g(1.0)
    lock = f.__globals__["rng"].bit_generator.lock
    with ThreadPoolExecutor(1) as pool:
        with lock:
            drawn = pool.submit(g, 1.0)
            with pytest.raises(TimeoutError):
                drawn.result(0.1)
        assert 0.0 < drawn.result(10.0) < 1.0


IN_ANOTHER_PROCESS = """import numpy as np
from srcgrad import grad
new, old = np.random.default_rng(1), np.random.RandomState(2)
@grad
def f(x, n):
    own = np.random.default_rng(3)
    for _ in range(n):
        x = x * new.normal() + old.normal() * own.gamma(2.0) + np.random.rand() + new.binomial(4, 0.5)
    return x
np.random.seed(4)
print(f.value_and_backward(1.0, 5))
"""


def test_stored_machine_code_finds_the_generators_of_another_process(tmp_path: Path) -> None:
    script, cache = tmp_path / "draws.py", tmp_path / "cache"
    script.write_text(IN_ANOTHER_PROCESS)
    places = {"PYTHONPATH": str(Path(srcgrad.__file__).parent.parent), "SRCGRAD_CACHE_DIR": str(cache)}
    said, times = [], []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, env={**os.environ, **places}, check=True
        )
        said.append(done.stdout)
        times.append([path.stat().st_mtime_ns for path in sorted(cache.rglob("*.bin"))])
    assert said[0] == said[1]
    assert times[0] == times[1] != []  # loaded, not compiled again


def changed_where_they_are(x):
    np.random.seed(0)
    y = np.random.rand(4)
    y -= x
    total = np.sum(y * y * x)
    for _ in range(3):
        z = np.random.rand(4)
        z *= x
        total += np.sum(z * z)
        z -= x * x
        y[1:] = np.random.uniform(0.0, 1.0, 3)
        y *= z
        total += y[0] * y[1] * y[3]
    return total


@pytest.mark.parametrize("jit", [False, True])
def test_arrays_of_drawn_numbers_change_where_they_are(jit: bool) -> None:
    f = grad(changed_where_they_are, jit=jit)
    check_value_and_grad(f, X, rtol=1e-13)
