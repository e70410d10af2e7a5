"""Lists of run-time length that hold None until something is put into their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_text

from srcgrad import NoneArgumentError, UnsupportedError, check_grad, grad

X = np.array([0.5, 1.2, 1.7, 0.3, 0.9])
A = np.random.default_rng(5).uniform(0.3, 1.5, (3, 4))


def numbers(x):
    h = [None] * len(x)
    for i in range(len(x)):
        h[i] = x[i] ** 2
    return np.sum(np.array(h) * np.arange(len(x)))


def states(a):
    h = [None] * (len(a) + 1)
    h[0] = a[0]
    for i in range(len(a)):
        h[i + 1] = np.tanh(h[i]) + a[i]
    return h[len(a)]


def known_in_the_loop_alone(a):
    h, c = [None] * len(a), [None] * len(a)
    for i in range(len(a)):
        c[i] = np.exp(np.concatenate([a[i, :2], a[0, 2:]]))
        h[i] = c[i] * c[i - 1] if i > 0 else c[i]
    for i in reversed(range(len(a))):
        h[i] = h[i] * c[i]
    return h[0] + h[-1]


def by_either_branch(a):
    h = [None] * len(a)
    for i in range(len(a)):
        if i == 0:
            h[i] = a[i]
        else:
            h[i] = np.tanh(h[i - 1]) + a[i]
    return sum(h)


def asked_for(x):
    h = [None] * len(x)
    for k in range(3):
        for i in range(0, len(x), k + 1):
            if h[i] is None:
                h[i] = x[i] * 2.0
            else:
                h[i] = h[i] * x[i] + k
    return h[0] * h[2]


def some_stay_none(x):
    h, s = [None] * len(x), 0.0
    for i in range(0, len(x), 2):
        h[i] = x[i]
    h[0] = None
    for i, v in enumerate(h):
        if v is None:
            s += i * x[0]
        else:
            s += v**3
    return s


def best_so_far(x):
    best = [None] * len(x)
    for i in range(len(x)):
        for j in range(i + 1):
            if best[j] is None or best[j] < x[i]:
                best[j] = x[i] * (j + 1)
    return np.array(best) ** 2


def pairs(a):
    h, s = [None] * len(a), 0.0
    for i in range(len(a)):
        h[i] = (a[i], a[i, 0] * 2.0, i)
    for row, first, k in h:
        s += np.sum(row) * first * (k + 1)
    return s


def dicts(a):
    h = [None] * len(a)
    for i in range(len(a)):
        h[i] = {"row": a[i], "first": a[i, 0]}
    return h[0]["row"] * h[1]["first"]


def in_a_while_loop(x):
    h, i = [None] * len(x), 0
    while i < len(x):
        h[i] = x[i] * i
        i += 1
    return h[0] + h[-1] ** 2


def at_places_known_in_a_run(a):
    h = [None] * 4
    for i in range(2 * len(a)):
        h[i % 4] = a[i % len(a)] * i
    return h[0] * h[2]


def of_a_comprehension(x):
    h = [v**2 if v > 1.0 else None for v in x]
    g = [None for _ in x]
    for i in range(len(x)):
        g[i] = x[0] if h[i] is None else h[i]
    return sum(g)


def appended(x):
    h = []
    for i in range(len(x)):
        h.append(x[i] ** 2 if i % 2 else None)
    return sum([v for v in h[1:] if v is not None])


def put_by_a_function(x):
    h = [None] * len(x)

    def put(j, v):
        h[j] = v

    for j in range(len(x)):
        put(j, x[j] ** 2)
    return sorted(h)[1] * tuple(h)[2] + h[-2]


def beside_others(x):
    h = [None] * len(x) + [1.0]
    for j in range(len(x) - 1, -1, -1):
        h[j] = h[j + 1] * x[j]
    first, *rest = h
    return first * rest[0] + len(h)


class Cell:
    def __init__(self, n: int) -> None:
        self.states = [None] * n

    def run(self, x):
        for i in range(len(x)):
            self.states[i] = x[i] ** 2
        return self.states[0] + self.states[1] * self.states[2]


def held_by_an_object(x):
    return Cell(len(x)).run(x)


def moved(a):
    h = [None] * len(a)
    for i in range(len(a)):
        h[i] = a[i] ** 2
    h.reverse()
    g = list(h)
    g[0] = a[0]
    h[1], h[2] = h[2], h[1]
    h.insert(0, h.pop())
    h.append(a[0])
    return h[0] + 3.0 * h[1] + g[0] + 7.0 * g[1] + h[-1] * len(h)


def one_array_in_two_places(a):
    h = [None] * len(a)
    h[0] = a[0] ** 2
    h[1] = h[0]
    h[0] = a[1] * 2.0
    return h[0] * h[1]


def whole_numbers_and_truths(a):
    h, g = [None] * len(a), [None] * len(a)
    for i in range(len(a)):
        h[i], g[i] = len(a) - 1 - i, a[i, 0] > 0.5
    return sum(a[h[i], i] for i in range(len(a)) if g[i])


def none_at_all(a):
    h = [None] * len(a)
    return a[0] if all(v is None for v in h) else a[1]


OF_NUMBERS = [numbers, asked_for, some_stay_none, best_so_far, in_a_while_loop, of_a_comprehension, appended,
              put_by_a_function, beside_others, held_by_an_object]  # fmt: skip
OF_ARRAYS = [states, known_in_the_loop_alone, by_either_branch, pairs, dicts, at_places_known_in_a_run, moved,
             one_array_in_two_places, whole_numbers_and_truths, none_at_all]  # fmt: skip
PROGRAMS = [(f, X) for f in OF_NUMBERS] + [(f, A) for f in OF_ARRAYS]


@pytest.mark.parametrize("function, argument", PROGRAMS)
def test_plain(function: Callable[..., Any], argument: np.ndarray) -> None:
    check(grad(function, jit=False), function, argument)


@pytest.mark.parametrize("function, argument", [(asked_for, X), (pairs, A)])
def test_compiled(function: Callable[..., Any], argument: np.ndarray) -> None:
    check(grad(function), function, argument)


def check(f: Any, function: Callable[..., Any], argument: np.ndarray) -> None:
    for x in (argument, argument[:, ::-1] if argument.ndim == 2 else argument[::-1]):
        check_value_and_grad(f, x, rtol=1e-12)


def test_programs_that_are_drawn() -> None:
    """Places of two lists are set, forgotten and read in nested loops; where Python finds None, so do we."""
    rng, failed = np.random.default_rng(11), 0
    for _ in range(25):
        f = from_text(drawn(rng), "f")
        g = grad(f, jit=False)
        try:
            f(X)
        except TypeError:
            failed += 1
            with pytest.raises(TypeError, match="None"):
                g(X)
            continue
        check_value_and_grad(g, X, at_once=True)
    assert 2 < failed < 20


def drawn(rng: np.random.Generator) -> str:
    place = lambda: str(rng.choice(["0", "i", "j", "-1", "i - j", "(i + 2) % n", "n - 1 - i"]))
    item = lambda: f"{rng.choice(['g', 'h'])}[{place()}]"

    def statement() -> str:
        one, other, value = item(), item(), rng.choice(["x[i]", "x[j] * x[i]", "0.5 * s", "x[j] ** 3"])
        return str(
            rng.choice(
                [
                    f"{one} = {value}",
                    f"{one} = {value}",
                    f"{one} = {other}",
                    f"{one} = None",
                    f"s += {value} if {one} is None else {one}",
                    f"if {one} is not None: {one} += {value}",
                    f"if {one} is None: {one} = {value}",
                    f"s += 0.1 * {one}" if rng.uniform() < 0.3 else f"if {one}: s += {one}",
                ]
            )
        )

    inner = "\n            ".join(statement() for _ in range(3))
    return f"""def f(x):
    n, s = len(x), 0.0
    h, g = [None] * n, [None] * n
    h[0] = x[1]
    g[1] = x[0]
    for i, k in enumerate(range(n)):
        {statement().replace("j", "i")}
        for j in range(i + 1):
            {inner}
        {statement().replace("j", "k")}
    for v in h:
        if v is not None:
            s += v ** 2
    return s
"""


def in_all_ways(x):
    h, g = [None] * len(x), [None] * len(x)
    for i in range(len(x)):
        h[i], g[i] = x[i], x * x[i]
    return sum(h), max(h), min(h), sorted(h)[0], np.array(h), sum(g), np.mean(h), h[1] * 2


def test_float32() -> None:
    x = X.astype(np.float32)
    for got, want in zip(grad(in_all_ways, jit=False)(x), in_all_ways(x), strict=True):
        assert got.dtype == want.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=1e-6)


def read_too_early(x):
    h = [None] * len(x)
    h[0] = x[0]
    for i in range(1, len(x)):
        h[i - 1 + i % 2] = x[i]
    return h[0] + h[-1] * h[1]


def all_wanted(x):
    h = [None] * len(x)
    h[0] = x[0]
    return np.array(h)


def unpacked(x):
    h = [None] * len(x)
    h[0] = (x[0], x[1])
    a, b = h[1]
    return a + b


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [read_too_early, all_wanted, unpacked])
def test_none_is_not_used(function: Callable[..., Any], jit: bool) -> None:
    with pytest.raises(TypeError, match="is None here"):
        grad(function, jit=jit)(X)


def changed_in_place(a):
    h = [None] * len(a)
    for i in range(len(a)):
        h[i] = a[i] ** 2
    for i in range(len(a)):
        h[i] += a[0]
    return h[0]


def changed_under_another_name(a):
    h = [None] * len(a)
    for i in range(len(a)):
        h[i] = y = a[i] ** 2
        y[0] = 1.0
    return h[0]


def tables(x):
    t = [[None] * len(x) for _ in x]
    for i in range(len(x)):
        t[i][i] = x[i]
    return t[0][0]


def nothing_in_it(x):
    h = [None] * len(x)
    return h[0] + x[0]


REFUSED = [
    (changed_in_place, A, r"an array is changed that is an item of a list of None(.|\n)*ys\[i\] = ys\[i\] \+ y"),
    (changed_under_another_name, A, "may or may not be the array that was written"),
    (tables, X, r"lists of None in a list(.|\n)*np\.empty\(\(n, m\)\)"),
    (nothing_in_it, X, "add needs numbers or arrays, not NoneType"),
]


@pytest.mark.parametrize("function, argument, text", REFUSED)
def test_refused(function: Callable[..., Any], argument: np.ndarray, text: str) -> None:
    with pytest.raises((UnsupportedError, NoneArgumentError), match=text):
        grad(function, jit=False)(argument)


def is_there(v, c):
    return c * v * v if v > 0.0 else None


def rows_of_two(x, c):
    rows = []
    for v in x:
        rows.append([is_there(v, c), v * c])
    return np.sum(np.array(rows) ** 2) + np.sum(rows, axis=0)[0]


def rows_of_several_kinds(x, c):
    rows = []
    for v in x:
        rows.append((v, is_there(v, c), int(v * 3) if v > 0.0 else None, is_there(v + 1.0, c * c)))
    table = np.array(rows)
    return np.sum(table[:, 1] * table[:, 2] + table[:, 3] * table[:, 0])


def rows_of_places(x, c):
    rows = []
    for v in x:
        rows.append((int(v * 2.1) if v > 0.0 else None, 1))
    return np.sum(x[np.array(rows)[:, 0]] * c)


def arrays_of_each(x, c):
    rows = []
    for k in range(len(x)):
        rows.append([is_there(v, c * k) for v in x])
    return np.sum(np.array([np.array(row) for row in rows])) + sum(sum(row) for row in rows)


def places(x, c):
    return np.sum(x[[k if v > 0.0 else None for k, v in enumerate(x)]] ** 2) * c


def a_pair(x, c):
    pair = (is_there(x[0], c), is_there(x[1], c))
    return np.sum(np.array(pair)) + np.dot(x[:2], pair) + np.mean(pair) + x[:2].dot(list(pair)) + max(pair)


def a_table(x, c):
    table = [[is_there(x[0], c), x[1]], [x[0], is_there(x[1], c)]]
    out = np.zeros((2, 2))
    out[0] = table[1]
    return np.sum(table) + np.sum(out**2) + np.vstack(table)[0, 0]


def columns(x, c):
    ys, vs = zip(*[(is_there(v, c), v) for v in (x[0], x[1])])
    return np.sum(np.array(ys) * np.array(vs))


def one_number(x, c):
    y = is_there(x[0], c)
    return np.sum(y) + np.array([y, 1.0]) @ x[:2] + np.full(2, y).sum() + np.where(x > 0.7, y, x).sum()


ARRAYS = [
    rows_of_two, rows_of_several_kinds, rows_of_places, arrays_of_each, places, a_pair, a_table, columns, one_number,
]  # fmt: skip


@pytest.mark.parametrize("f", ARRAYS)
def test_arrays_of_what_may_be_none(f: Callable[..., Any]) -> None:
    g = grad(f, jit=False)
    np.testing.assert_allclose(g(X, 0.7), f(X, 0.7), rtol=1e-14)
    check_grad(g, X, 0.7)
    missing = X * [-1, 1, 1, 1, 1]
    with pytest.raises((TypeError, IndexError)):  # an array of objects has no arithmetic with None
        f(missing, 0.7)
    with pytest.raises(TypeError, match="None here"):
        g(missing, 0.7)


def test_lists_of_lists_with_none_are_no_array() -> None:
    def f(x: Any) -> Any:
        rows = []
        for k in range(len(x)):
            rows.append([v * k if v > 0.0 else None for v in x])
        return np.sum(np.array(rows))

    with pytest.raises(UnsupportedError, match="a list of lists in which an item may be None") as caught:
        grad(f, jit=False)(X)
    assert "np.array(rows)" in str(caught.value)


def compared(x, c):
    pair, other = (is_there(x[0], c), x[1]), [is_there(x[1], c), is_there(x[0], c)]
    out = c
    if None in pair:
        out += x[1]
    if pair == (x[0] * x[0] * c, x[1]):
        out *= 2.0
    if x[1] in pair and pair != (None, x[1]):
        out *= x[1]
    if other == [other[0], None]:
        out *= 3.0
    if any(other) and not all(pair):
        out *= 5.0
    for k, y in enumerate(reversed(other)):
        if y is not None:
            out += y * k
    return out


@pytest.mark.parametrize("sign", [-1, 1])
def test_what_may_be_none_in_a_tuple_is_compared(sign: int) -> None:
    x = X * [sign, 1, 1, 1, 1]
    assert grad(compared, jit=False)(x, 0.7) == compared(x, 0.7)
