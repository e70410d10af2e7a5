"""Recursion beside the corpus: how deep it may go, what is refused, and the form of the generated module."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest
from numba import njit
from support import check_value_and_grad, fresh, leaves, subject
from test_errors import line_of

from srcgrad import check_grad, grad
from srcgrad.errors import DepthError, UnsupportedError
from srcgrad.frontend.calls import recursion


def chained(x, n):
    if n == 0:
        return x
    return np.sin(chained(x, n - 1)) * x  # here


def nested(x, n):
    return x if n == 0 else nested(nested(x, n - 1), n - 1) * 0.5


# ------------------------------------------------------------------------------------------------------- how deep


@pytest.mark.parametrize("entry", ["__call__", "backward", "value_and_backward", "vjp"])
def test_too_deep_is_a_recursion_error(entry: str) -> None:
    f = grad(chained)
    with pytest.raises(RecursionError) as caught:
        getattr(f, entry)(0.5, 100_000)
    error = caught.value
    line, text = line_of(chained, "# here")
    assert isinstance(error, DepthError)
    assert str(error).startswith("chained calls itself more than ")
    assert f'test_recursion.py", line {line}' in str(error) and text in str(error)
    assert "help: write it as a loop" in str(error)


def test_as_deep_as_python_goes() -> None:
    f = grad(chained)
    assert np.isfinite(f.backward(0.5, 998))


def test_too_deep_in_plain_python() -> None:
    f = grad(chained, jit=False)
    with pytest.raises(DepthError):
        f.backward(0.5, 100_000)
    assert np.isfinite(f.backward(0.5, 20))


def test_the_text_does_not_depend_on_the_limit_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    before = grad(chained).source(0.5, 3)
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: 1_000_000)
    assert grad(chained).source(0.5, 3) == before


# --------------------------------------------------------------------------------------------------------- refused


def endless(x, n):
    return x * endless(x, n - 1)  # here


def endless_circle(x, n):
    return other_half(x, n) + 1.0


def other_half(x, n):
    return endless_circle(x, n) * 2  # here


def other_structure(x, n):
    if n == 0:
        return x, x
    return other_structure(x, n - 1)[0] * x  # here


def other_number_of_axes(x, n):
    if n == 0:
        return x
    return other_number_of_axes(x, n - 1)[None]  # here


def unknown_inside(x, n):
    if n == 0:
        return x
    return np.trim_zeros(unknown_inside(x, n - 1))  # here


def same_memory_twice(x, n):
    y = x * 2
    mixes(y[:2], y[1:3], n)  # here
    return y


def mixes(a, b, n):
    if n == 0:
        return
    a[0] += b[0] * b[1]
    mixes(a, b, n - 1)


def view_returned(x, n):
    y = x * 2
    z = tail(y, n)
    y[-1] = 7.0
    return z * 2  # here


def tail(y, n):
    if n == 0:
        return y
    return tail(y[1:], n - 1)


VECTOR = np.array([0.5, 0.2, 0.3, 0.4])
REFUSED = [
    (endless, (0.5, 2), ["endless", "on every path"]),
    (endless_circle, (0.5, 2), ["on every path"]),
    (other_structure, (0.5, 2), ["different kinds on different paths"]),
    (other_number_of_axes, (VECTOR, 2), ["axes"]),
    (unknown_inside, (VECTOR, 2), ["trim_zeros"]),
    (same_memory_twice, (VECTOR, 2), ["mixes", "the same memory a second time"]),
    (view_returned, (VECTOR, 2), ["may or may not be"]),
]


@pytest.mark.parametrize(("function", "args", "words"), REFUSED, ids=[row[0].__name__ for row in REFUSED])
def test_refused(function: Any, args: tuple, words: list[str]) -> None:
    """Before anything runs, at the user's own line."""
    with pytest.raises(UnsupportedError) as caught:
        grad(function, jit=False)(*args)
    text = str(caught.value)
    blamed = other_half if function is endless_circle else function
    assert f"line {line_of(blamed, '# here')[0]}" in text
    assert all(word in text for word in words), text
    assert "help: " in text


def test_errors_of_the_user_come_through() -> None:
    f = grad(halved)
    assert f.backward(0.5, 4) == 1.25
    with pytest.raises(ValueError, match="odd"):
        f.backward(0.5, 6)


def halved(x, n):
    if n % 2:
        if n > 1:
            raise ValueError("odd")
        return x * x * 1.25
    return halved(x, n // 2)


def in_steps_of_two(x, n):
    assert n >= 0, "n has to be even"
    if n <= 0:
        return x
    return 2.0 * in_steps_of_two(x, n - 2)


def sum_of_roots(a, i):
    if a[i] < 0.0:
        raise ValueError("a negative number")
    if i == 0:
        return a[0] ** 0.5
    return a[i] ** 0.5 + sum_of_roots(a, i - 1)


@pytest.mark.parametrize("jit", [False, True])
def test_errors_at_the_end_of_a_recursion_come_through(jit: bool) -> None:
    """The end is decided ahead of the call: what it checks first is checked there."""
    f, g = grad(in_steps_of_two, jit=jit), grad(sum_of_roots, jit=jit)
    a = np.array([-1.0, 4.0])
    for entry in ("__call__", "backward") if jit else ("__call__", "backward", "value_and_backward", "vjp"):
        with pytest.raises(AssertionError, match="n has to be even"):
            getattr(f, entry)(0.7, 3)
        with pytest.raises(ValueError, match="a negative number"):
            getattr(g, entry)(a, 1)
    assert f.backward(0.7, 4) == 4.0
    np.testing.assert_allclose(g.backward(-a[::-1] + 5.0, 1), [0.5, 0.5 / 6.0**0.5])


def test_an_index_out_of_range_in_a_call_is_an_index_error() -> None:
    f = grad(beyond)
    with pytest.raises(IndexError):
        f(VECTOR, 0)
    with pytest.raises(IndexError):
        f.backward(VECTOR, 0)


def beyond(x, i):
    return x[i] * 2 if i > 5 else x[i] * beyond(x, i + 1)


# ------------------------------------------------------------------------------------------------------- the module


def test_one_function_for_each_half() -> None:
    text = grad(chained).source(VECTOR, 3)
    assert text.count("def ") == 3
    assert "def chained_forward(" in text and "def chained_reverse(" in text and "def chained_backward(" in text
    assert text == grad(chained).source(VECTOR, 3)


def test_a_number_comes_with_its_partials() -> None:
    """Of the calls nothing is remembered: one function for both sweeps, without a stack."""
    for text in (grad(chained).source(0.5, 3), grad(of_new_arrays).source(np.eye(3))):
        assert text.count("def ") == 2
        assert "_with_partials(" in text and "push(" not in text and "tape" not in text


def of_new_arrays(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total, sign = 0.0, 1.0
    for j in range(n):
        minor = np.empty((n - 1, n - 1))
        for i in range(1, n):
            for k in range(n - 1):
                minor[i - 1, k] = a[i, k if k < j else k + 1]
        total += sign * a[0, j] * of_new_arrays(minor)
        sign = -sign
    return total


def test_the_iterations_of_a_sum_over_calls_are_reversed_one_by_one() -> None:
    """The partials of one call at a time, and a sign that changes with the index."""
    text = grad(of_new_arrays).source(np.eye(3))
    assert text.count("np.empty(") == 3  # a minor, its partials; those of the entry, which are its cotangent
    assert "_kept" not in text and "sign" not in text


def test_partials_of_what_does_not_matter_are_left_alone() -> None:
    """The slope of a root at 0 is infinite; where the root is not used, nothing comes of that."""
    for jit in (False, True):
        f = grad(root_or_not, jit=jit)
        assert f.backward(0.0, 2, False) == 1.0
        assert f.backward(0.0, 2, True) == np.inf
        assert f.backward(4.0, 2, True) == 0.25 + 1.0


def root_or_not(x, n, is_wanted):
    y = root(x, n)
    return x + (y if is_wanted else 0.0)


def root(x, n):
    if n == 0:
        return np.sqrt(x)
    return root(x, n - 1)


def test_a_conditional_expression_of_two_calls() -> None:
    """Neither side is known while the function is read."""
    f, table = grad(found, jit=False, wrt="x"), np.linspace(0.0, 1.0, 9)
    assert f(0.75, table, 0, 9) == found(0.75, table, 0, 9)
    assert (f.backward(0.45, table, 0, 9), f.backward(0.75, table, 0, 9)) == (0.0, 2 * 0.75)


def found(x, table, low, high):
    middle = (low + high) // 2
    if high - low < 2:
        return table[low] + (x if low > 3 else 0.0)
    return found(x, table, low, middle) if x < table[middle] else found(x * x, table, middle, high)


def test_arrays_that_calls_share_have_no_partials() -> None:
    """A call that reads one element must not cost an array."""
    text = grad(last_of_all).source(VECTOR, 0)
    assert "_with_partials" not in text
    np.testing.assert_array_equal(grad(last_of_all, jit=False).backward(VECTOR, 0), [0, 0, 0, 1])


def last_of_all(x, i):
    return x[i] if i == len(x) - 1 else last_of_all(x, i + 1)


def test_nothing_is_kept_where_nothing_is_needed() -> None:
    """Each half is handed what it reads, and a linear function keeps nothing."""
    text = grad(fibonacci).source(5, 0.5)
    assert "push(" not in text and "tape" not in text


def fibonacci(n, x):
    return x * n if n < 2 else fibonacci(n - 1, x) + fibonacci(n - 2, x)


def push(x, n):
    """A name that the module has for itself."""
    return x if n == 0 else push(x * x, n - 1) * x


def names(tape, depth, lent, n):
    borrow = tape * depth
    if n == 0:
        return borrow * lent
    np_ = names(tape * lent, depth, lent, n - 1)
    return np_ * borrow


PROGRAMS = [p for p in corpus.PROGRAMS if p.family == "recursion"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_pushed_is_popped(program: corpus.Program) -> None:
    """The reverse half leaves the stacks as empty as the forward half found them."""
    args, keywords = program.arguments(0, corpus.FLOAT64)
    plain = subject(program.function, args, keywords, program.cases[0].wrt, program.writes)
    f = grad(program.function, wrt=program.cases[0].wrt, jit=False, **program.options)
    text = f.source(*args, **keywords)
    head, entry = text.rsplit("\ndef ", 1)
    stacks = re.findall(r"(\w+) = \[np\.empty\(64", entry)
    checks = "".join(f"    assert {stack}_top == 0\n" for stack in stacks)
    body, result = entry.rsplit("    return ", 1)
    namespace: dict[str, Any] = {}
    exec(f"{head}\ndef {body}{checks}    return {result}", namespace)
    y = plain.run(fresh(plain.args))
    leaves_of_v = [] if np.ndim(y) == 0 and not isinstance(y, tuple) else [v for v in leaves(y)]
    captured = [v for name, v in (("SCALE", corpus.recursion.SCALE), ("TABLE", corpus.recursion.TABLE)) if name in body]
    namespace[f"{program.function.__name__}_backward"](*leaves(fresh(plain.args)), *leaves_of_v, *captured)
    assert stacks or "push" not in text or "_with_partials(" in text  # (there, each call has its own)


@pytest.mark.parametrize("jit", [False, True])
def test_names_of_our_own_are_no_trouble(jit: bool) -> None:
    assert grad(push, jit=jit).backward(0.5, 2) == pytest.approx(7 * 0.5**6)
    got = grad(names, jit=jit).backward(0.5, 0.7, 1.1, 2)
    step = 1e-6
    for k, value in enumerate(got):
        up, down = [0.5, 0.7, 1.1], [0.5, 0.7, 1.1]
        up[k] += step
        down[k] -= step
        assert value == pytest.approx((names(*up, 2) - names(*down, 2)) / (2 * step), rel=1e-6)


def test_a_long_function_called_often_is_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same numbers; but for what a function of its own can't do, which stays in place."""
    x, w = 0.3, np.array([0.3, 0.2, 0.1])
    for function in (calls_often, calls_often_with_aliases):
        in_place = grad(function, jit=False)
        expected, text = in_place.backward(x, w), in_place.source(x, w)
        assert text.count("def ") == 1
        with monkeypatch.context() as patch:
            patch.setattr(recursion, "LARGE", 8)
            patch.setattr(recursion, "PLACES", 3)
            f = grad(function, jit=False)
            for got, want in zip(f.backward(x, w), expected, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-13)
            assert (f.source(x, w).count("def ") > 1) == (function is calls_often)


def long_one(x, w, u, power, name):
    s = x * w[0] + u[1]
    for i in range(len(w)):
        s = s * 0.5 + np.sin(s * w[i]) ** power
        if s > 1:
            s = np.tanh(s)
        else:
            s = s + np.cos(s)
    if name == "adds":
        w[1] += s
    return s * w[-1]


def calls_often(x, w):
    w = w * 1.0
    y = np.float64(x)
    y = y + long_one(y, w, w * 2, 2, "adds")
    y = y * long_one(y, w, w * 3, 2, "adds")
    y = y - long_one(y, w, w * 4, 2, "adds")
    return y * long_one(y, w, w, 2, "reads") + w[1]


def calls_often_with_aliases(x, w):
    w = w * 1.0
    y = np.float64(x)
    y = y + long_one(y, w, w, 2, "adds")
    y = y * long_one(y, w, w, 2, "adds")
    return y - long_one(y, w, w, 2, "adds")


def test_a_number_written_in_a_recursive_call() -> None:
    """It is of the type of the argument that it stands for: no version of the function is compiled for it."""
    f = grad(with_numbers)
    assert f(0.5, 3, 2) == pytest.approx(with_numbers(0.5, 3, 2), rel=1e-14)
    assert f.backward(0.5, 3, 2) == pytest.approx(3 + 2 * 2 * 0.5 + 2 * 2 * 0.5 + 2 * 4 * 0.5**3, rel=1e-14)


def with_numbers(x, factor, n):
    return x * factor if n == 0 else with_numbers(x, factor, n - 1) + with_numbers(x * x, 2, n - 1)


def test_from_compiled_code() -> None:
    f = grad(nested)

    @njit
    def caller(x, n):
        return f(x, n) + f.backward(x, n)

    assert caller(0.5, 3) == f(0.5, 3) + f.backward(0.5, 3)


def test_a_change_outside_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(scaled_by_global)
    before = f.backward(0.5, 2)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert (before, f.backward(0.5, 2)) == (4.0, 9.0)


FACTOR = 2.0


def scaled_by_global(x, n):
    return x if n == 0 else FACTOR * scaled_by_global(x, n - 1)


PROGRAM = """
import numpy as np
from numba.core import event
from srcgrad import grad

def tree(x, low, high):
    if high - low == 1:
        return x[low] ** 2
    middle = (low + high) // 2
    return np.sin(tree(x, low, middle)) * tree(x, middle, high)

@grad
def f(x):
    return tree(x, 0, len(x))

@grad
def minors(a, n):
    return a[n, n] if n == 0 else a[n, n] * minors(a, n - 1) + a[0, n]

@grad
def turned(y, n):
    return y if n == 0 else y * turned(y[::-1], n - 1)

@grad
def even(x, n):
    return x if n == 0 else odd(x * x, n - 1) * even(x, n - 1)

def odd(x, n):
    return x if n == 0 else even(x * x, n - 1) + odd(x, n - 1)

counts, found = [], []
for call in (
    lambda: (f.backward(np.linspace(0.1, 1.0, 7)), minors.backward(np.eye(3), 2)),
    lambda: turned.backward(np.ones(2), 2, np.ones(2))[0],
    lambda: even.backward(1.0, 2),
):
    with event.install_recorder("numba:compile") as seen:
        found.append(call())
    counts.append(len(seen.buffer))
print(*counts, found)
"""


def test_a_second_process(tmp_path: Path) -> None:
    """It is served from the cache; but for several versions and a circle of functions, which Numba can't keep."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {"SRCGRAD_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    run = lambda: subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, check=True
    ).stdout.split(maxsplit=3)
    first, second = run(), run()
    assert first[3] == second[3]
    assert int(first[0]) > 0
    assert [int(count) > 0 for count in second[:3]] == [False, True, True]


def of_two_matrices(a, b):
    n = len(a)
    if n == 1:
        return a * b
    h = n // 2
    p, q = of_two_matrices(a[:h, :h] + a[h:, h:], b[:h, :h]), of_two_matrices(a[:h, h:], b[h:, :h] - b[:h, h:])
    c = np.zeros((n, n))
    c[:h, :h], c[h:, h:] = p + q, p - q
    return c


def test_parts_and_fresh_matrices_make_two_functions() -> None:
    """… and not one for each of the arguments that may be either."""
    a, b = np.random.default_rng(0).normal(size=(2, 4, 4))
    text = grad(of_two_matrices, jit=False).source(a, b)
    assert "def of_two_matrices_1_forward" in text
    assert "def of_two_matrices_2_forward" not in text
    check_grad(grad(of_two_matrices, jit=False), a, b)


# ------------------------------------------------------------------------------------------------------------ lambdas

power = lambda n, a: a if n == 0 else a * power(n - 1, a)


def test_a_lambda_calls_itself() -> None:
    np.testing.assert_allclose(grad(power, jit=False).value_and_backward(3, 1.5), (1.5**4, 4 * 1.5**3))


# ------------------------------------------------------------------------------------- lists whose length a run tells


def by_halves(x):
    def product(ys):
        if len(ys) == 1:
            return ys[0]
        m = len(ys) // 2
        return product(ys[:m]) * product(ys[m:])

    return product(list(x))


def neighbours_multiplied(x):
    def rest(ys):
        if len(ys) < 2:
            return sum(ys)
        return rest([a * b for a, b in zip(ys, ys[1:], strict=False)]) + max(ys)

    return rest([v * v for v in x])


def items_doubled(x):
    def often(ys, k):
        if k <= 0:
            return 0.0
        for i in range(len(ys)):
            ys[i] = ys[i] * 2
        return ys[0] * x[k - 1] + often(ys, k - 1)

    ys = [v * v for v in x]
    held = {"ys": ys}
    return often(ys, len(x)) + held["ys"][0] + ys[-1]


def taken_for_an_array(x):
    def f(ys):
        if len(ys) == 0:
            return 0.0
        a = np.array(ys)
        a[0] = 7.0
        return ys[0] + f(ys[1:]) * np.sum(a)

    return f([v * v for v in x])


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("function", [by_halves, neighbours_multiplied, items_doubled, taken_for_an_array])
def test_lists_of_run_time_length(function: Any, size: int) -> None:
    x = np.array([0.5, 1.5, 2.5, 0.7, 1.1])[:size]
    f = grad(function, jit=False)
    check_value_and_grad(f, x, rtol=1e-6)


def test_lists_of_run_time_length_compiled() -> None:
    x = np.array([0.5, 1.5, 2.5, 0.7, 1.1])
    check_value_and_grad(grad(by_halves), x, rtol=1e-12, at_once=True)


def test_a_list_that_gets_another_length_there_is_refused() -> None:
    def longer(x):
        def f(ys, k):
            if k <= 0:
                return 0.0
            ys.append(x[0])
            return ys[-1] + f(ys, k - 1)

        ys = [v * v for v in x]
        return f(ys, len(x)) + len(ys)

    with pytest.raises(UnsupportedError, match="append changes a list"):
        grad(longer, jit=False)(np.array([0.5, 1.5]))
