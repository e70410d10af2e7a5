"""Grids that are made finer, x[i // 2]: what many elements are made of one thread adds up on the way back."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_cuda_apart import is_as_on_a_cpu

from srcgrad import grad

RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 1.5, 40)
M = RNG.uniform(0.5, 1.5, (5, 6))


def twice(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // 2] * x[i // 2] + i
    return y


def by_shifts(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = np.sin(x[i >> 2]) * (1 + (i & 3))
    return y


def from_the_third_on(x, n):
    y = np.ones(n)
    for i in range(3, n - 1):
        y[i] = x[i // 2] ** 2
    return y


def linear(x):
    """What is between two is their mean."""
    y = np.zeros(max(2 * len(x) - 2, 0))
    for i in range(len(y)):
        y[i] = 0.5 * (x[i // 2] * x[i // 2] + x[i // 2 + 1]) if i % 2 else x[i // 2] * x[i // 2]
    return y


def linear_by_two_quotients(x):
    y = np.zeros(2 * len(x) - 1)
    for i in range(len(y)):
        y[i] = np.exp(x[i // 2]) + x[(i + 1) // 2] * x[i // 2]
    return y


def pyramid(x, z, n):
    """By two and by four."""
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // 2] * z[i // 4]
    return y


def with_each_one(x, n):
    """Of the same array an element of each iteration's, too."""
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // 2] * x[i]
    return y


def nearest(x, n, m):
    y = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i // 2, j // 3] ** 2
    return y


def along_one_axis(x, n):
    y = np.zeros((x.shape[0], n))
    for i in range(x.shape[0]):
        for j in range(n):
            y[i, j] = x[i, j // 2] ** 2 + x[i, j // 2]
    return y


def sums_of_two(x):
    y = np.zeros((len(x) + 1) // 2)
    for i in range(len(x)):
        y[i // 2] += x[i] * x[i]
    return y


def in_place(x, y):
    y = y.copy()
    for i in range(len(y)):
        y[i] = y[i] * x[i // 2]
    return y


def written_between(x, n):
    x = x.copy()
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // 2] ** 2
    for p in range(len(x)):
        x[p] = np.sin(x[p])
    for i in range(n):
        y[i] += x[i // 2] ** 3
    return y * y


def into_itself(x):
    """Of each row but the first one an element is made of one of the row before."""
    x = x.copy()
    for k in range(1, len(x)):
        for i in range(x.shape[1]):
            x[k, i] = x[k, i] * x[k - 1, i // 2]
    return x


def under_a_condition(x, w, n):
    y = np.zeros(n)
    for i in range(n):
        if w[i] > 1.0:
            y[i] = x[i // 2] ** 2
        else:
            y[i] = 3.0 * x[i // 2]
    return y


def where_it_is_there(x, n):
    y = np.ones(n)
    for i in range(n):
        if i // 2 < len(x):
            y[i] = x[i // 2] ** 2
    return y


def a_number_of_all(x, n):
    s = 0.0
    for i in range(n):
        t = x[i // 2] * x[i // 2]
        t += 1.0
        s += t * i
    return s


def by_seventeen(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // 17] ** 2
    return y


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *((twice, (X[: (n + 1) // 2], n)) for n in (0, 1, 2, 9, 40)),
        (twice, (X, 13)),
        *((by_shifts, (X[:10], n)) for n in (0, 1, 3, 5, 37)),
        *((from_the_third_on, (X, n)) for n in (0, 4, 5, 6, 20, 21)),
        *((linear, (X[:n],)) for n in (0, 1, 2, 3, 12)),
        *((pyramid, (X[:8], X[20:24], n)) for n in (0, 3, 13, 16)),
        *((nearest, (M, n, m)) for n, m in ((10, 18), (9, 17), (1, 1), (0, 5), (5, 0), (2, 4))),
        *((along_one_axis, (M, n)) for n in (12, 11, 1, 0)),
        *((sums_of_two, (X[:n],)) for n in (0, 1, 2, 13)),
        *((in_place, (X[: (n + 1) // 2], Y)) for n in (7, 8) for Y in (X[-n:],)),
        *((written_between, (X[:6], n)) for n in (12, 9)),
        *((under_a_condition, (X[:7], X[-n:], n)) for n in (13, 14)),
        *((where_it_is_there, (X[:k], n)) for k, n in ((4, 13), (4, 3), (0, 3))),
        *((a_number_of_all, (X[:7], n)) for n in (13, 14, 0)),
    ],
)
def test_by_a_number(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    text = is_as_on_a_cpu(function, ("x",), arguments)
    assert "atomic.add" not in text


@pytest.mark.parametrize("n", [12, 11, 0])
def test_where_each_iteration_has_an_element_of_the_same_array(n: int) -> None:
    is_as_on_a_cpu(with_each_one, ("x",), (X[:12], n))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_by_two_quotients(n: int) -> None:
    is_as_on_a_cpu(linear_by_two_quotients, ("x",), (X[:n],))


@pytest.mark.parametrize("x", [M, M[:, :5], M[:2, :1], M[:1], M[:, :0]])
def test_of_one_array(x: np.ndarray) -> None:
    is_as_on_a_cpu(into_itself, ("x",), (x,))


# ------------------------------------------------------------------------------------------------------------ NumPy


def repeated(x):
    return np.repeat(np.sin(x), 2) ** 2


def repeated_along_one_axis(x):
    return np.repeat(x, 3, axis=1) * np.repeat(x * x, 3, axis=1)


def repeated_along_both(x):
    return np.repeat(np.repeat(x, 2, axis=0), 2, axis=1) ** 2


def kron(x):
    return np.kron(x, np.ones((2, 2))) ** 2


def broadcast(x):
    n, m = x.shape
    return np.broadcast_to(x[:, None, :, None], (n, 2, m, 2)).reshape(2 * n, 2 * m) ** 2


@pytest.mark.parametrize("x", [X[:7], X[:1], X[:0]])
def test_repeated(x: np.ndarray) -> None:
    text = is_as_on_a_cpu(repeated, ("x",), (x,))
    assert text.count("@kernel") == 1 and "atomic.add" not in text


@pytest.mark.parametrize("function", [repeated_along_one_axis, kron, broadcast])
@pytest.mark.parametrize("x", [M, M[:1], M[:, :1], M[:0], M[:, :0]])
def test_by_another_axis(function: Callable[..., Any], x: np.ndarray) -> None:
    text = is_as_on_a_cpu(function, ("x",), (x,))
    assert text.count("@kernel") == 1 and "atomic.add" not in text


@pytest.mark.parametrize("x", [M, M[:0]])
def test_repeated_along_both(x: np.ndarray) -> None:
    assert "atomic.add" not in is_as_on_a_cpu(repeated_along_both, ("x",), (x,))


def rows_of_two(x, w):
    """Nothing is spread here: a thread has one element."""
    y = (x.reshape(-1, 2) * w[:, None]).reshape(-1)
    return y * y


def test_where_nothing_is_spread() -> None:
    is_as_on_a_cpu(rows_of_two, ("x",), (X, X[:20]))


# -------------------------------------------------------------------------------------------------- by any number


def by_any(x, n, f):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // f] ** 2 * (1 + i % f)
    return y


def sums_by_any(x, f):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i // f] += np.sin(x[i])
    return y


def grid_by_any(x, n, m, f, g):
    y = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i // f, j // g] ** 2
    return y


def rows_by_any(x, n, f):
    y = np.zeros((n, x.shape[1]))
    for i in range(n):
        for j in range(x.shape[1]):
            y[i, j] = x[i // f, j] * x[i // f, j]
    return y


def under_a_condition_by_any(x, n, f):
    y = np.zeros(n)
    for i in range(n):
        if i % 3 == 0:
            y[i] = x[i // f] ** 2
        else:
            y[i] = x[i // f]
    return y


def exponential_by_any(x, n, f):
    """Its slope is asked for where something comes back alone."""
    y = np.zeros(n)
    for i in range(n):
        y[i] = np.exp(x[i // f]) * x[i // f]
    return y


def neighbours_by_any(x, n, f):
    """Left alone: two groups add to one element."""
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i // f] * x[i // f + 1]
    return y


def written_in_the_loop(x, n, f):
    """What all read is as it was ahead of the loop."""
    y = np.zeros(n)
    z = x.copy()
    for i in range(n):
        y[i] = z[i // f] ** 2
    for i in range(len(x)):
        z[i] = z[i] * x[i]
    return np.sum(y) * z


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *((by_any, (X, n, f)) for n, f in ((13, 3), (12, 3), (13, 1), (5, 9), (0, 4), (40, 17), (9, 1000), (1, 1))),
        *((sums_by_any, (X[:n], f)) for n, f in ((13, 3), (12, 4), (5, 9), (0, 2), (7, 1))),
        *((grid_by_any, (M, *shape, *by)) for shape, by in (((10, 12), (2, 2)), ((9, 17), (2, 3)), ((0, 4), (1, 1)))),
        *((grid_by_any, (M, *shape, *by)) for shape, by in (((3, 5), (7, 1)), ((4, 0), (2, 2)))),
        *((rows_by_any, (M, n, f)) for n, f in ((10, 2), (9, 2), (5, 1), (3, 8), (0, 2))),
        *((under_a_condition_by_any, (X, n, f)) for n, f in ((13, 3), (12, 4), (3, 5), (0, 1))),
        *((exponential_by_any, (X, n, f)) for n, f in ((13, 3), (12, 4), (3, 5), (0, 1), (40, 16))),
        *((neighbours_by_any, (X, n, f)) for n, f in ((13, 3), (12, 4), (3, 5))),
        *((written_in_the_loop, (X[:9], n, f)) for n, f in ((17, 2), (9, 3), (0, 1))),
        *((by_seventeen, (X, n)) for n in (0, 16, 17, 18, 40)),
    ],
)
def test_by_any_number(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    is_as_on_a_cpu(function, ("x",), arguments)


@pytest.mark.parametrize("function", [by_any, exponential_by_any])
def test_rows_of_any_length_are_threads_warps_or_blocks(function: Callable[..., Any]) -> None:
    text = grad(function, wrt=("x",), target="cuda").source(X, 13, 3)
    assert "f >= 1 and (f <= 2048 or 128 * f <= n)" in text
    parts = text.split("@kernel")
    assert "by_rows='block'" in parts[1] and "by_rows='warp'" in parts[2]
    assert not any("atomic.add" in part for part in parts[1:4]) and "atomic.add" in parts[4]


@pytest.mark.parametrize(("n", "f"), [(3, -2), (0, -3), (0, 0)])
def test_by_what_is_not_positive(n: int, f: int) -> None:
    is_as_on_a_cpu(by_any, ("x",), (X, n, f)) if f else None
    on_device, plain = grad(by_any, wrt=("x",), target="cuda"), grad(by_any, wrt=("x",), jit=False)
    v = X[:n]
    np.testing.assert_array_equal(on_device.backward(X, n, f, v=v)[0], plain.backward(X, n, f, v=v)[0])


@pytest.mark.parametrize("function", [twice, by_any])
def test_an_index_that_is_not_there(function: Callable[..., Any]) -> None:
    arguments = (X[:3], 9) if function is twice else (X[:3], 13, 3)
    with pytest.raises(IndexError):
        grad(function, wrt=("x",), target="cuda").backward(*arguments, v=X[: arguments[1]])


# -------------------------------------------------------------------------------------------------- random programs


class Programs:
    """Random loops, of one axis or two, whose elements are chosen by quotients, indices and neighbours."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def quotient(self, index: str) -> str:
        rng = self.rng
        by = rng.choice(("2", "2", "3", "4", "f", "f", "7", "1"))
        shift = rng.choice(("", "", "", " + 1", " - 1"))
        inner = rng.choice((index, index, index, f"({index} + 1)"))
        return f"{inner} // {by}{shift}"

    def element(self, indices: list[str]) -> str:
        rng = self.rng
        array = rng.choice("xxz")
        parts = [self.quotient(i) if rng.random() < 0.8 else rng.choice((i, f"{i} % 3")) for i in indices]
        return f"{array}[{', '.join(parts)}]"

    def value(self, indices: list[str]) -> str:
        rng = self.rng
        first, second = self.element(indices), self.element(indices)
        return rng.choice((f"{first} * {second}", f"np.sin({first})", f"{first} ** 2 - {second}", f"2.0 * {first}"))

    def text(self) -> str:
        rng = self.rng
        indices = ["i", "j"] if rng.random() < 0.4 else ["i"]
        at = ", ".join(indices)
        lines = ["def f(x, z, y, n, m, f):", "    y = y.copy()", "    x = x.copy()", "    s = 0.0"]
        for _ in range(rng.randint(1, 2)):
            start = rng.choice(("", "", "1, ", "2, "))
            lines.append(f"    for i in range({start}{rng.choice(('n', 'n - 1'))}):")
            pad = "        "
            if len(indices) == 2:
                lines.append(f"{pad}for j in range(m):")
                pad += "    "
            if rng.random() < 0.3:
                condition = rng.choice(("i % 2 == 0", f"z[{at}] > 1.0", "i // 2 > 1"))
                lines += [f"{pad}if {condition}:", f"{pad}    y[{at}] = {self.value(indices)}"]
                if rng.random() < 0.5:
                    lines += [f"{pad}else:", f"{pad}    y[{at}] = y[{at}] * {self.value(indices)}"]
            else:
                lines.append(f"{pad}t = {self.value(indices)}")
                lines.append(f"{pad}{rng.choice((f'y[{at}] = t', f'y[{at}] += t * t', f'y[{at}] = y[{at}] * t'))}")
            if rng.random() < 0.2:
                lines.append(f"{pad}s += y[{at}] * {rng.choice(('1.0', self.element(indices)))}")
            if rng.random() < 0.3:
                lines += ["    x = np.sin(x)"]
        return "\n".join([*lines, f"    return {rng.choice(('y', 'y * y', 's + np.sum(y)'))}", ""])


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, tmp_path: Any) -> None:
    text = Programs(seed).text()
    path = tmp_path / f"quotients_{seed}.py"
    path.write_text(f"import numpy as np\n\n\n{text}")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    shape = (14, 13) if "j in range" in text else (14,)
    rng = np.random.default_rng(seed)
    x, z, y = rng.uniform(0.5, 1.5, (3, *shape))
    for n, m, f in ((10, 7, 2), (9, 6, 3), (3, 2, 5), (0, 1, 1), (11, 11, 1)):
        is_as_on_a_cpu(scope["f"], ("x", "z", "y"), (x, z, y, n, m, f))
