"""Names that are one array in Python, in loops and branches: what one writes is seen by the other, or refused."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_text

from srcgrad import OverlapError, UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.7123, 1.0917, 1.9371])


def stops_before_it_hands_over(x, n):
    u = x.copy()
    for _ in range(n):
        y = np.zeros(x.size)
        y += 0.5 * u
        if np.sum(y) < 0.6:
            break
        u = y
    return u * x


def accepts_or_shrinks(x, n):
    u, h = x.copy(), 1.0
    for _ in range(n):
        y = np.zeros(x.size)
        y += 0.8 * u * h
        if np.sum(y) > 1.5:
            u = y
        else:
            h *= 0.5
    return u * x


def skips_some(x, n):
    u = x.copy()
    for k in range(n):
        y = np.empty(x.size)
        y[:] = u * 0.9
        y[0] += x[1]
        if k % 2 == 1:
            continue
        u = y
    return u * u


def two_names_of_the_last(x, n):
    u, w = x.copy(), x.copy()
    for k in range(n):
        y = u * 0.5
        y[0] += w[1]
        if k != 1:
            u = y
            w = y * 1.5
    return u * w


def two_buffers_until_still(x, n):
    u, w = x.copy(), np.zeros(x.size)
    for _ in range(4 * n):
        for i in range(1, x.size):
            w[i] = 0.45 * (u[i - 1] + u[i])
        if np.max(np.abs(w - u)) < 0.05:
            break
        u, w = w, u
    return u * x + w


def two_buffers_returned(x, n):
    u, w, count = x.copy(), x.copy(), 0
    while True:
        w[1:] = 0.7 * u[:-1] + 0.2 * u[1:]
        if count == n:
            return w, u[0] * count
        u, w = w, u
        count += 1


def three_buffers(x, n):
    u, v, w, s = x.copy(), x * 2.0, x * 3.0, x[0]
    for k in range(n + 2):
        w[:] = 0.5 * u + 0.3 * v + 0.1
        if w[0] < 0.6:
            s = w[0] * 3.0
            break
        u, v, w = v, w, u
        s += 0.1 * k
    return u + 2.0 * v + 3.0 * w * s


def buffers_within_a_loop(x, n):
    total = x[0]
    for j in range(2):
        u, w = x.copy(), x * 0.5
        for _ in range(n):
            w[:] = np.sin(u) + 0.1 * x
            if w[1] < 1.0 - 0.1 * j:
                break
            u, w = w, u
        total += np.sum(u * w)
    return total


def shrunk(u):
    u *= 0.8
    return u[0]


def item_that_the_test_writes(x, n):
    ys, k = [x * 1.0, x * 0.9], 0
    while shrunk(ys[1]) > 0.3 and k < n:
        k += 1
        ys[1] = x * 0.9 + 0.1 * k
    return ys[0] * ys[1]


def the_one_before(x, n):
    h = np.zeros((n + 1, x.size))
    for t in range(n):
        before = h[t - 1] if t > 0 else x
        h[t] = np.tanh(0.8 * before + x) + before
    return h


def the_one_before_by_branches(x, n):
    h, start = np.zeros((n + 1, x.size)), x * 0.5
    for t in range(n):
        if t == 0:
            before = start
        else:
            before = h[t - 1]
        other = before
        h[t] += other * start + start
    return h + start


ACCEPTED = [
    the_one_before, the_one_before_by_branches,
    item_that_the_test_writes,
    two_buffers_until_still, two_buffers_returned, three_buffers, buffers_within_a_loop,
    stops_before_it_hands_over, accepts_or_shrinks, skips_some, two_names_of_the_last,
]  # fmt: skip


@pytest.mark.parametrize("function", ACCEPTED, ids=lambda f: f.__name__)
def test_names_that_are_never_one_array(function: Callable[..., Any]) -> None:
    f = grad(function, wrt="x", jit=False)
    for n in (0, 1, 2, 5):
        got, want = (v if isinstance(v, tuple) else (v,) for v in (f(X, n), function(X, n)))
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-14)
        check_grad(f, X, n)


def named_as_memory_is(x):
    a = x * 1.0
    c = a[:]
    a = x + 0.5
    for _ in range(1):
        a = c
    c *= 1.25
    return a * 2.0


def exchanged_and_bound_in_a_loop(x):
    a, b = x * 1.0, x + 0.5
    c = b
    b, a = a, b
    for _ in range(1):
        b = c
    b[2] = x[0]
    return c + a


def through_three_names(x):
    b = x + 0.5
    a = b
    d = a
    b = a * 1.0
    for _ in range(1):
        b = d
    d[2] = b[0] - d[1]
    return b * d


def first_bound_in_a_branch(x):
    b = x + 0.5
    c = b
    d = b
    for _ in range(1):
        if d[1] < 3.0:
            if b[2] < 2.0:
                c[0] = d[0]
            else:
                a = c[:]
    a[1] += c[1]
    return d[:]


def two_names_of_an_old_one(x):
    u, w = x.copy(), x.copy()
    for k in range(3):
        y = np.zeros(x.size)
        u[0] += 1.0
        y += 0.5 * w
        if k < 2:
            u = y
            w = y
    return u * w


def buffers_that_a_function_reads(x):
    u, w, s = x.copy(), x * 0.5, 0.0

    def first():
        return u[0]

    for k in range(3):
        w[1:] = 0.7 * u[:-1] + 0.2
        w[0] = 0.3 * k
        if w[1] > 5.0:
            break
        u, w = w, u
        s = s + first() * (k + 1)
    return u * s + w


def parts_of_one_array_in_a_tuple(x):
    if x[0] < 3.0:
        y = x * 3.0
        t = (y, y[1:])
    else:
        y = x * 2.0
        t = (y, y[1:])
    t[1][0] = 100.0
    return t[0] * 1.0


def a_name_and_a_part_in_a_dict(x):
    if x[0] < 3.0:
        y = x * 3.0
        d = {"part": y[1:], "other": x[:2] * 1.0}
    else:
        y = x * 2.0
        d = {"part": y[1:], "other": x[:2] * 1.0}
    d["part"][0] = 100.0
    return y * d["other"][0]


def a_tuple_or_none(x):
    t = None
    if x[0] < 3.0:
        y = x * 3.0
        t = (y, y[1:])
    if t is not None:
        t[1][0] = 100.0
        return t[0] * 1.0
    return x * 1.0


def made_in_a_loop_and_parted_by_a_branch(x):
    for i in range(2):
        p = x * (i + 1.0)
        q = p[1:]
        if x[i] > 5.0:
            q = p[:2]
    q[0] = 100.0
    return p * 1.0


def one_array_in_a_list_that_grows(x):
    y, ys = x * 1.0, []
    for i in range(len(x)):
        if x[i] < 9.0:
            ys.append(y)
    ys[0][1] = 100.0
    return ys[1] * 1.0


def overlapping_parts_in_a_list(x):
    y = np.concatenate((x, x))
    ys = [y[i : i + 3] for i in range(len(x))]
    ys[0][1] = 100.0
    return ys[1] * 1.0


def a_list_twice(x):
    ys = []
    for i in range(len(x)):
        ys.append(x * i)
    ys = ys + ys
    ys[0][1] = 100.0
    return ys[len(x)] * 1.0


def rows_moved_by_the_next_append(x):
    q, ys = x * 1.0, [x * 2.0]
    if x[0] < 3.0:
        ys.append(q * 3.0)
    ys.append(q)
    q[1] = 100.0
    ys.append(q * 4.0)
    return ys[len(ys) - 2] * 1.0


def columns_behind_a_branch(x):
    m = np.outer(x, x).T
    if x[0] < 3.0:
        y = m * 2.0
    else:
        y = m * 3.0
    r = y.reshape(-1)
    r[1:] = 100.0
    return y[0] * 1.0


def one_array_in_a_list_and_by_name(x):
    h = [x * 0.0] * len(x)
    for i in range(len(x)):
        h[i] = y = x * (1.0 + i)
        y[0] = 1.0
    return h[0] * 1.0


def one_array_in_two_lists(x):
    h, g = [None] * len(x), [None] * len(x)
    for i in range(len(x)):
        h[i] = g[i] = x * (1.0 + i)
    v = h[0]
    v[0] = 100.0
    return g[0] * 1.0


SEEN = [
    named_as_memory_is, exchanged_and_bound_in_a_loop, through_three_names, first_bound_in_a_branch,
    two_names_of_an_old_one, buffers_that_a_function_reads, parts_of_one_array_in_a_tuple,
    a_name_and_a_part_in_a_dict, a_tuple_or_none, made_in_a_loop_and_parted_by_a_branch,
    one_array_in_a_list_that_grows, overlapping_parts_in_a_list, a_list_twice, rows_moved_by_the_next_append,
    columns_behind_a_branch, one_array_in_a_list_and_by_name, one_array_in_two_lists,
]  # fmt: skip


def agrees_or_is_refused(function: Callable[..., Any]) -> bool:
    want = function(X.copy())
    try:
        got = grad(function, jit=False)(X.copy())
    except UnsupportedError as refused:
        assert "may or may not be the array that was written" in str(refused)
        return False
    for g, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want)), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-13)
    return True


@pytest.mark.parametrize("function", SEEN, ids=lambda f: f.__name__)
def test_a_write_is_seen_or_refused(function: Callable[..., Any]) -> None:
    agrees_or_is_refused(function)


class Programs:
    """Random programs of four arrays, of names for them, writes, branches and loops."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        return self.random.choice("abcd")

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        draw, one, other, place = self.random.random(), self.name(), self.name(), self.random.randrange(3)
        third = self.name()
        element = f"{other}[{self.random.randrange(3)}]"
        simple = [
            (0.17, f"{one} = {other}"),
            (0.22, f"{one} = {other} if {element} < 2.0 else {third}"),
            (0.28, f"{one} = {other}[:]"),
            (0.32, f"{one} = {other}.copy()"),
            (0.48, f"{one}[{place}] = {element} * x[1]"),
            (0.55, f"{one}[{place}] += {element}"),
            (0.60, f"{one} *= 1.25"),
            (0.66, f"{one} = {other} * 1.5 + x[0]"),
            (0.70, f"{one}[1:] = {other}[:-1] * 0.75"),
            (0.73, f"{one}, {other} = {other}, {one}"),
        ]
        for bound, text in simple:
            if draw < bound:
                return [text]
        if draw < 0.88 and depth < 3:
            test = f"if {element} {self.random.choice('<>')} {self.random.choice(['1.0', '2.0', '3.0'])}:"
            out = [test, *self.block(depth + 1, in_loop, self.random.randrange(1, 3))]
            return [*out, "else:", *self.block(depth + 1, in_loop, 1)] if self.random.random() < 0.4 else out
        if draw < 0.94 and depth < 2:
            return [f"for _ in range({self.random.randrange(1, 4)}):", *self.block(depth + 1, True, 3)]
        if draw < 0.96 and in_loop:
            return ["break"]
        return [f"return {one}, {other}"] if depth else [f"{one}[2] = {element} - {one}[1]"]

    def block(self, depth: int, in_loop: bool, count: int) -> list[str]:
        out: list[str] = []
        while count > 0 and not (out and out[-1].strip().split()[0] in ("break", "return")):
            out += ["    " + line for line in self.statement(depth, in_loop)]
            count -= 1
        return out

    def program(self) -> str:
        third, fourth = self.random.choice(["a", "b", "x * x", "a[:]"]), self.name().replace("d", "x")
        start = ["a = x * 1.0", "b = x + 0.5", f"c = {third}", f"d = {fourth}"]
        body = [*("    " + line for line in start), *self.block(0, False, self.random.randrange(4, 8))]
        return "\n".join(["def f(x):", *body, f"    return {self.name()}, {self.name()}", ""])


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_programs(first: int) -> None:
    found = [agrees_or_is_refused(from_text(Programs(seed).program(), "f")) for seed in range(first, first + 20)]
    assert sum(found) >= 12


def new_unless_left_out(steps):
    q, out = np.array([1.0, 0.0]), []
    for g in steps:
        if g[0] < 0.0:
            continue
        q = q + g
        q /= np.linalg.norm(q)
        out.append(q)
    return np.array(out).sum()


def new_on_one_path(steps):
    q, out = np.array([1.0, 0.0]), []
    for g in steps:
        if g[0] > 0.0:
            q = q + g
            q *= 0.5
        out.append(q)
    return np.array(out).sum()


def changed_on_every_path(steps):
    q, out = np.array([1.0, 0.0]), []
    for g in steps:
        if g[0] > 0.0:
            q = q + g
        q *= 0.5
        out.append(q)
    return np.array(out).sum()


STEPS = np.array([[0.5, -0.3], [-0.2, 0.4], [0.1, 1.0], [0.7, 0.9]])


@pytest.mark.parametrize("function", [new_unless_left_out, new_on_one_path])
def test_what_is_new_on_the_path_that_changes_it(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, STEPS, rtol=1e-14)


def test_what_may_be_in_the_list_already() -> None:
    with pytest.raises(UnsupportedError, match="may or may not be the array"):
        grad(changed_on_every_path, jit=False)(STEPS)


# An array without axes on one path, and a number on the other: where the array is somebody else's, too, it stays one.


def part_or_number(x, c):
    y = x[0, ...]
    if c > 0.0:
        y = y * 2.0
    x[0] = 5.0
    return y + x  # here


def part_or_number_at_once(x, c):
    y = x[0, ...] if c < 0.0 else 2.0
    x[0] = 5.0
    return y + x  # here


def added_to_by_another_name(x, c):
    y = np.array(x[0])
    z = y
    if c > 0.0:
        y = y * 2.0
    z += 3.0
    return y * x  # here


def named_twice_in_the_branch(x, c):
    if c > 0.0:
        y = np.array(1.0) * x[1]
        z = y
    else:
        y, z = 2.0, 3.0
    z += 1.0
    return y * x + z


def rectified(x, c):
    y = x if x > c else 0.0
    return y * x


def never_written(x, c):
    y = x
    if c > 0.0:
        y = np.sin(y)
    return y * x


@pytest.mark.parametrize("function", [part_or_number, part_or_number_at_once, added_to_by_another_name])
def test_a_number_or_an_array_without_axes_that_others_write(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="may or may not be the array that was written") as caught:
        grad(function, wrt="x", jit=False)(X, -1.0)
    assert "# here" in str(caught.value)


READ = [
    lambda y, x: y * x[1],
    lambda y, x: float(y) * x[1],
    lambda y, x: y.item() * x[1],
    lambda y, x: math.sin(y) * x[1],
    lambda y, x: max(y, 0.1) * x[1],
    lambda y, x: np.sum(y) * x[1],
    lambda y, x: y.max() * x[1],
    lambda y, x: np.prod(y) * x[1],
    lambda y, x: np.einsum("->", y) * x[1],
]


@pytest.mark.parametrize("read", READ)
def test_an_array_without_axes_that_is_read_as_a_number(read: Callable[..., Any]) -> None:
    def part_or_number(x, c):
        y = x[0, ...]
        if c > 0.0:
            y = y * 2.0
        x[0] = 5.0
        return read(y, x)

    with pytest.raises(UnsupportedError, match="may or may not be the array that was written"):
        grad(part_or_number, wrt="x", jit=False)(X, -1.0)


@pytest.mark.parametrize("c", [-1.0, 1.0])
@pytest.mark.parametrize("function", [named_twice_in_the_branch, rectified, never_written])
def test_a_number_or_an_array_without_axes(function: Callable[..., Any], c: float) -> None:
    f = grad(function, wrt="x", jit=False)
    for x in [X] if function is named_twice_in_the_branch else [np.array(0.7), 0.7]:
        np.testing.assert_allclose(f(x, c), function(np.copy(x), c), rtol=1e-14)
        check_grad(f, x, c)


def written_by_another_name(x, a, b):
    y = a
    if x[0] < 0.0:
        y = x * 1.0
    y[0] = 9.0
    return np.sum(b * x)


def written_in_a_list(x, a, b):
    rows = []
    for _ in x:
        rows.append(a)
    rows[0][0] = 9.0
    return np.sum(b * x)


@pytest.mark.parametrize("jit", [False, True])
def test_one_array_handed_in_twice_that_is_perhaps_written(jit: bool) -> None:
    a = np.array([1.0, 2.0, 3.0])
    for function in (written_by_another_name, written_in_a_list):
        f = grad(function, wrt="x", jit=jit)
        for call in (f.backward, f.value_and_backward):
            for _ in range(2):
                with pytest.raises(OverlapError, match="a and b share memory"):
                    call(X[:3], a, a)
        np.testing.assert_array_equal(f.backward(X[:3], a, a * 2.0), a * 2.0)
