"""Lists that grow in a while loop: their memory grows with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad, from_text

import srcgrad
from srcgrad import check_grad, grad

X = np.array([0.5, 1.2, 1.7, 0.3])


def adaptive_steps(x: Any, tolerance: Any) -> Any:
    t, h = 0.0, 0.1
    ts, ys = [0.0], [x]
    while t < 1.0:
        y = ys[-1]
        slope = -y * (1.0 + y)
        full = y + h * slope
        middle = y + 0.5 * h * slope
        half = middle + 0.5 * h * (-middle * (1.0 + middle))
        error = np.max(np.abs(half - full))
        if error > tolerance:
            h *= 0.5
            continue
        t += h
        ts.append(t)
        ys.append(half)
        h = min(1.2 * h, 1.0 - t) if t < 1.0 else h
    path = np.array(ys)
    return np.sum(path**2 * np.array(ts)[:, None]) + len(ys)


def numbers_until(x: Any) -> Any:
    ys = []
    while True:
        ys.append(x[len(ys) % len(x)] ** 2)
        if sum(ys) > 6.0 or len(ys) > 50:
            break
    return np.sum(np.array(ys) * np.arange(len(ys)))


def a_stack(x: Any) -> Any:
    stack, s = [0], 0.0
    while stack:
        k = stack.pop()
        s += x[k] ** 3 * (1 + len(stack))
        if 2 * k + 2 < len(x):
            stack.append(2 * k + 1)
            stack.append(2 * k + 2)
    return s


def a_stack_of_values(x: Any) -> Any:
    work = [x[0], x[1]]
    total = 0.0
    while len(work) > 0:
        a = work.pop()
        total = total * 0.5 + a * a
        if a < 3.0:
            work.append(a * 2.0)
            if a > 0.83:
                work.append(a * x[2] + 3.0)
    return total


def a_stack_of_arrays(x: Any) -> Any:
    work, total = [x, 2.0 * x], 0.0
    while work:
        a = work.pop()
        total += np.sum(np.sin(a))
        if np.sum(a) < 12.0:
            work.append(a * 1.5)
            b = work.pop()
            work.append(b * b * 0.5 + a)
            total += b[0] * a[1]
    return total


def with_loops_inside(x: Any) -> Any:
    total = 0.0
    found = []
    a = x[1]
    while a < 120.0:
        for k in range(len(x)):
            found.append(a * a + x[k])
            if found[-1] > 40.0:
                found.append(found[0] * x[k])
        a = a * 1.5 + x[3]
        for k in range(len(found)):
            total += found[k] * found[-1] * 1e-4
    found.append(a)
    return total + sum(found)


def one_for_two_loops(x: Any) -> Any:
    ys = [x[0]]
    while ys[-1] < 5.0:
        for k in range(3):
            ys.append(ys[-1] + x[k] ** 2)
        ys[0] += ys[-1]
    n = len(ys)
    while len(ys) < 2 * n:
        ys.append(ys[-1] * ys[len(ys) - n])
        ys[1] = ys[-1]
    return np.sum(np.array(ys)) + ys[1]


def pairs(x: Any) -> Any:
    states, a = [], x[0]
    while a < 30.0:
        states.append((a, a * x[1]))
        a = a * 1.7
    total = 0.0
    for p, q in states:
        total += p * q
    return total


def looking_back(x: Any) -> Any:
    ys, t = [x], 0
    while np.sum(np.abs(ys[-1])) < 40.0:
        ys.append(ys[-1] * (1.0 + 0.2 * x) + 0.3 * ys[t // 2])
        t += 1
    return np.sum(np.array(ys) ** 2)


def only_cotangents_are_needed(x: Any) -> Any:
    kept, total = [], 0.0
    while total < 60.0:
        kept.append(x * total)
        total += 1.0 + 0.1 * x[0]
    s = 0.0
    for row in kept:
        s += row.sum()
    return s


PROGRAMS = [
    only_cotangents_are_needed,
    looking_back,
    numbers_until,
    a_stack,
    a_stack_of_values,
    a_stack_of_arrays,
    with_loops_inside,
    one_for_two_loops,
    pairs,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_programs(f: Any) -> None:
    for x in (X, X * 0.2 + 0.1):
        check(f, x)


def test_adaptive_steps() -> None:
    check(adaptive_steps, X, 1e-3)
    check(adaptive_steps, X, 1e-5)


@pytest.mark.parametrize(
    ("f", "more"),
    [(adaptive_steps, (1e-4,)), (with_loops_inside, ()), (a_stack_of_arrays, ()), (only_cotangents_are_needed, ())],
)
def test_compiled(f: Any, more: Any) -> None:
    check(f, X, *more, jit=True)


def check(f: Any, *args: Any, jit: bool = False) -> None:
    g = grad(f, wrt=0, jit=jit)
    y, gradient = g.value_and_backward(*args) if jit else (g(*args), g.backward(*args))
    np.testing.assert_allclose(y, f(*args), rtol=1e-13)
    y, pullback = g.vjp(*args)
    np.testing.assert_allclose(y, f(*args), rtol=1e-13)
    np.testing.assert_allclose(pullback(), gradient, rtol=1e-12)
    x = args[0]
    for direction in (np.linspace(1.0, 2.0, x.size), np.linspace(1.0, -1.0, x.size)):
        step = 1e-6 * direction
        want = (f(x + step, *args[1:]) - f(x - step, *args[1:])) / 2e-6
        np.testing.assert_allclose(np.sum(gradient * direction), want, rtol=1e-5, atol=1e-6)


def test_what_is_in_the_list_is_written() -> None:
    def through_the_list(x: Any) -> Any:
        ys, n = [x * 1.0, x * 2.0], 0
        while n < 4:
            ys[1] = ys[0] * ys[-1] * 0.1
            ys.append(ys[-1] + ys[1])
            n += 1
        return np.sum(np.array(ys))

    check(through_the_list, X)

    def through_a_name(x: Any) -> Any:
        ys, n = [x * 1.0], 0
        while n < 4:
            y = ys[-1]
            ys.append(y + 1.0)
            y[0] = 2.0  # the item in the list changes
            n += 1
        return np.sum(np.array(ys))

    with pytest.raises(srcgrad.UnsupportedError):
        grad(through_a_name, jit=False).backward(X)


def test_one_of_several_arrays() -> None:
    def f(x: Any, k: Any) -> Any:
        several = (x * 2.0, x**2, np.sin(x))
        total = 0.0
        for i in range(k):
            total += np.sum(several[(i * i) % 3] * several[-1 - i % 2])
        return total

    for k in (0, 2, 5):
        g = grad(f, wrt=0, jit=False)
        assert np.isclose(g(X, k), f(X, k))
        want = [(f(X + h, k) - f(X - h, k)) / 2e-6 for h in np.eye(4) * 1e-6]
        np.testing.assert_allclose(g.backward(X, k), want, rtol=1e-6, atol=1e-8)

    def written(x: Any, k: Any, kind: Any = list) -> Any:
        several = kind([x * 2.0, x**2])
        one = several[k]
        one[0] = 5.0
        return np.sum(several[0]) + np.sum(one)

    check_grad(grad(written, wrt=0, jit=False), X, 1)
    with pytest.raises(srcgrad.UnsupportedError, match="may or may not be the array"):
        grad(lambda x, k: written(x, k, tuple), wrt=0, jit=False)(X, 1)


def array_appended_in_a_branch(x: Any, own: Any) -> Any:
    ys = []
    for k in range(3):
        if x[k] > 0:
            ys.append(own)
    own *= 2.0
    return np.sum(ys[0])


def view_appended_in_a_branch(x: Any, own: Any) -> Any:
    ys = []
    for k in range(3):
        if x[k] > 0:
            ys.append(own[1:])
    ys[0][0] = 7.0
    return np.sum(own)


def reshaped_in_a_comprehension(x: Any, own: Any) -> Any:
    ys = [own.reshape(1, -1).T.ravel() for k in range(3) if x[k] > 0]
    own *= 2.0
    return np.sum(ys[0])


def last_one_written(x: Any, own: Any) -> Any:
    ys = []
    for k in range(3):
        if x[k] > 0:
            own = own * 1.5
            ys.append(own)
    own[0] = 3.0
    return np.sum(ys[2])


def row_stored_in_a_comprehension(x: Any, own: Any) -> Any:
    table = np.stack([own, own])
    ys = [x * 3.0 for k in range(3) if x[k] > 0.2]
    ys[0] = table[0, :]
    ys[0] *= -0.7
    return np.sum(table)


@pytest.mark.parametrize(
    "program",
    [
        array_appended_in_a_branch,
        view_appended_in_a_branch,
        reshaped_in_a_comprehension,
        last_one_written,
        row_stored_in_a_comprehension,
    ],
    ids=lambda p: p.__name__,
)
def test_items_from_branches_that_are_written_to(program: Any) -> None:
    """A list holds the arrays themselves, also where a branch has made it longer; here it holds copies."""

    def written_of_its_own(x: Any) -> Any:
        return program(x, x * 1.0)

    with pytest.raises(srcgrad.UnsupportedError, match="may or may not be the array"):
        grad(written_of_its_own, jit=False).backward(np.abs(X))


def test_a_view_that_a_loop_reshapes() -> None:
    """At the loop's head it has memory of its own; what it was a view of is not read as it was."""

    def f(x: Any, w: Any) -> Any:
        own = w * 1.0
        shown = own[:]
        for _ in range(3):
            np.copyto(shown, own)
            shown = shown.reshape(2, 2).ravel()
            shown += x * 1.5
        return np.sum(shown**2)

    g = grad(f, jit=False)
    assert g(X, X + 1.0) == f(X, X + 1.0)
    check_grad(g, X, X + 1.0)


def test_items_from_branches() -> None:
    def f(x: Any) -> Any:
        ys = []
        for k in range(4):
            if x[k] > 0:
                y = x * (k + 1.0)
                y[k] = 7.0 * x[0]
                ys.append(y)
        return np.sum(ys[0] ** 2) + np.sum(ys[-1])

    x = np.array([0.5, -1.0, 2.0, 0.3])
    check_grad(grad(f, jit=False), x)


def test_popped_from_nothing() -> None:
    def f(x: Any) -> Any:
        ys = [x, 2.0 * x]
        s = 0.0
        while s < 100.0:
            s += ys.pop()
        return s

    assert grad(f, jit=False).backward(40.0) == 3.0
    with pytest.raises(IndexError, match="pop from an empty list"):
        grad(f, jit=False).backward(1.0)


def test_inside_other_loops() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(len(x)):
            ys = []
            while len(ys) < 3 or sum(ys) < 4.0:
                ys.append(x[k])
            total += sum(ys)
        return total

    with pytest.raises(srcgrad.UnsupportedError, match="grows in a while loop that is inside another loop"):
        grad(f, jit=False).backward(X)


def a_queue(x: Any) -> Any:
    queue, s, n = [x[0], x[1]], 0.0, 0
    while queue:
        v = queue.pop(0)
        n += 1
        s += v * n
        if n < 5:
            queue.append(v * x[n % len(x)])
            queue.append(x[n % len(x)] ** 2)
        if n > 20:
            break
    return s


def the_last_few(x: Any) -> Any:
    window, out = [], np.zeros(len(x))
    for k, v in enumerate(x):
        window.append(np.array([v, v * v]))
        if len(window) > 2:
            old = window.pop(0)
            out[k] += np.sum(window[0] * old)
        out[k] += np.sum(window[-1])
    return out


def a_queue_of_tuples(x: Any) -> Any:
    queue, s = [(v, k) for k, v in enumerate(x)], 0.0
    while len(queue) > 1 and s < 1e9:
        (a, i), (b, j) = queue.pop(0), queue.pop(0)
        queue.append((a * b + j, i + 1))
        s += a * i
    return s + queue[0][0]


def until_it_is_long_or_empty(x: Any) -> Any:
    stack, s = [v for v in x], 0.0
    while s < 2.5 and stack:
        s += stack.pop()
    s = s if not (s < 0.0 or not stack) else 2.0 * s
    return s * 3.0 if s > 0.0 and stack else s


def two_by_their_places(x: Any) -> Any:
    """Ahead of the loop both are empty, and what is in one is learnt before what is in the other."""
    steps, changes = [], []
    for k in range(len(x)):
        q = x * (k + 1.0)
        for i in range(len(steps)):
            q = q + steps[i] * changes[i]
        steps.append(q * 0.2)
        changes.append(q - x * x)
        if len(steps) > 2:
            steps.pop(0)
            changes.pop(0)
    return q


QUEUES = [a_queue, the_last_few, a_queue_of_tuples, until_it_is_long_or_empty, two_by_their_places]


@pytest.mark.parametrize("function", QUEUES)
def test_queues(function: Any) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


def forward_of_a_chain(x: Any) -> Any:
    n = len(x)
    alpha, total = [v * v for v in x], 0.0
    for t in range(3):
        new = []
        for j in range(n):
            new.append(sum(alpha[i] / (1.0 + abs(i - j)) for i in range(n)) + x[t] * j)
        z = sum(new)
        alpha = [a / z for a in new]
        total += np.log(z)
    return total + alpha[0]


def rows_of_a_table(x: Any) -> Any:
    a, b = x[:2], x[1:]
    before = [0.0] * (len(b) + 1)
    for u in a:
        now = [0.0]
        for j, v in enumerate(b):
            now.append(max(before[j] + np.exp(-((u - v) ** 2)), before[j + 1], now[-1]))
        before = now
    return before[-1]


def two_lists_that_change_places(x: Any) -> Any:
    a, b = [v for v in x], [0.0] * len(x)
    first = a
    for k in range(3):
        a, b = b, [u + v * x[0] for u, v in zip(a, b)]
        b[k] = 3.0 * a[1] + first[2]
    return sum(a) + 2.0 * sum(b) + a[0] * b[-1]


def the_list_before(x: Any) -> Any:
    sums = [0.0 for _ in x]
    for k in range(3):
        before = sums
        sums = [s + v for s, v in zip(sums, x)]
        before[0] = 100.0
        if k == 1:
            sums = before
    return sum(sums) * sums[0]


@pytest.mark.parametrize(
    "function", [forward_of_a_chain, rows_of_a_table, two_lists_that_change_places, the_list_before]
)
def test_another_list_in_each_iteration(function: Any) -> None:
    f, narrow = grad(function, jit=False), X.astype(np.float32)
    np.testing.assert_allclose(f(X), function(X), rtol=1e-14)
    check_grad(f, X)
    assert type(f(narrow)) is type(function(narrow))


def test_what_was_the_first_item() -> None:
    def f(x: Any) -> Any:
        rows = [x * (k + 1) for k in range(len(x))]
        first = rows[0]
        return np.sum(rows.pop(0) * first)

    with pytest.raises(srcgrad.UnsupportedError, match="another one took its place"):
        grad(f, jit=False)(X)
    with pytest.raises(IndexError, match="pop from an empty list"):
        grad(lambda x: [v for v in x].pop(0), jit=False)(X[:0])


def test_lists_of_pythons_numbers_take_the_dtype_that_they_get() -> None:
    def product(a: Any, b: Any) -> Any:
        out, totals = [0] * (len(a) + len(b) - 1), [0.0]
        for i in range(len(a)):
            for j in range(len(b)):
                out[i + j] += a[i] * b[j]
            totals.append(totals[-1] + a[i])
        return np.array(out), totals[-1]

    narrow = X.astype(np.float32)
    for f in (product, grad(product, jit=False)):
        assert [value.dtype for value in f(narrow, narrow)] == [np.float32, np.float32]
        assert [value.dtype for value in f(narrow, X)] == [np.float64, np.float32]


def test_check_grad() -> None:
    check_grad(grad(numbers_until, jit=False), X)


def two_lists_that_change(x, steps):
    first, second, third = [0.0], [1.0], [2.0]
    for k in range(steps):
        third[0] = third[0] + x[k]
        first[0] = first[0] * x[k]
        second[0] = second[0] - x[k]
    return first[0] * second[0] + third[0]


def test_the_text_does_not_depend_on_where_objects_lie() -> None:
    held, texts = [], set()
    for _ in range(20):
        texts.add(grad(two_lists_that_change, jit=False).source(np.ones(3), 2))
        held.append([object() for _ in range(len(held) % 7)])  # the next ones lie elsewhere
    assert len(texts) == 1


def pairs_now_and_then(x: Any) -> Any:
    total = 0.0
    for step in range(6):
        if step % 3 == 0:
            pairs = []
            for i in range(len(x)):
                for j in range(i + 1, len(x)):
                    if abs(x[i] - x[j]) < 0.8:
                        pairs.append((i, j))
        for i, j in pairs:
            total += x[i] * x[j]
        x = x * 0.8
    return total


def rows_now_and_then(x: Any) -> Any:
    total = 0.0
    for step in range(6):
        if step % 3 == 0:
            rows = []
            for v in x:
                if v > 0.4:
                    rows.append(x * v)
        for row in rows:
            total += np.sum(row**2)
        x = x * 0.9
    return total


def in_a_loop_within(x: Any) -> Any:
    total = 0.0
    for step in range(4):
        for _ in range(2):
            if step % 2 == 0:
                ys = [v * v for v in x if v > 0.4]
        ys.append(total)
        total += sum(ys)
        x = x * 0.9
    return total + len(ys)


def within_a_tuple(x: Any) -> Any:
    total = 0.0
    for step in range(4):
        if step % 2 == 0:
            ys, w = [v * v for v in x if v > 0.4], x[step]
            both = ys, w
        total += sum(both[0]) * both[1]
        x = x * 0.9
    return total


@pytest.mark.parametrize("function", [pairs_now_and_then, rows_now_and_then, in_a_loop_within, within_a_tuple])
def test_lists_that_begin_in_a_branch_of_a_loop(function: Any) -> None:
    """Iterations that make no new list go on with the last one."""
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


def test_a_list_that_no_iteration_has_made_yet() -> None:
    def f(x: Any, first: int) -> Any:
        total = 0.0
        for step in range(3):
            if step >= first:
                ys = [v for v in x if v > 0.4]
            total += sum(ys)
        return total

    g = grad(f, jit=False)
    assert g(X, 0) == f(X, 0)
    with pytest.raises(UnboundLocalError):
        g(X, 1)


class Particles:
    """Remembers who is near, and looks again now and then."""

    def __init__(self, x: Any) -> None:
        self.x, self.near = x, []

    def step(self, k: int) -> None:
        if k % 3 == 0:
            self.near = [(i, j) for i in range(len(self.x)) for j in range(i) if abs(self.x[i] - self.x[j]) < 0.58]
        self.x = self.x * 0.9

    def energy(self) -> Any:
        return sum(self.x[i] * self.x[j] for i, j in self.near)


def an_attribute(x: Any, n: int) -> Any:
    particles, total = Particles(x), 0.0
    for k in range(n):
        particles.step(k)
        total += particles.energy()
    return total


def where_it_has_moved(x: Any, n: int) -> Any:
    total, last = 0.0, 1.0
    for k in range(n):
        if k == 0 or last < 0.7:
            big, last = [v * v for v in x if v > 0.25], 1.0
        total += sum(big) * len(big)
        x, last = x * 0.9, last * 0.9
    return total


def two_that_change_places(x: Any, n: int) -> Any:
    one, other, total = [x[0]], [x[1], x[2]], 0.0
    for k in range(n):
        one, other = other, one
        total += sum(one) * (k + 1) + len(other)
    return total


def rows_of_before(x: Any, n: int) -> Any:
    rows: list[Any] = []
    total = 0.0
    for k in range(n):
        before = rows
        rows = [x * v for v in x if v > 0.37 * (k % 5)]
        for row in before:
            total += np.sum(row * k)
        for row in rows:
            row[0] = total
    return total


def until_there_are_enough(x: Any, n: int) -> Any:
    total, ys = 0.0, [x[0]]
    while len(ys) < n:
        ys = [v * v for v in x if v > 0.05 * (n - total)]
        total += 1.0 + 0.1 * sum(ys)
    return total


@pytest.mark.parametrize("function", [an_attribute, where_it_has_moved, two_that_change_places, rows_of_before])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_lists_of_other_lengths_under_one_name(function: Any, n: int) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, n, rtol=1e-12)


def test_lists_of_other_lengths_in_a_while_loop() -> None:
    f = grad(until_there_are_enough, jit=False)
    check_value_and_grad(f, X, 4, rtol=1e-14)


def turned_in_a_loop(x: Any) -> Any:
    ys, total = [], 0.0
    for k in range(40):
        ys.append(x[k % 4] * k)
        ys.reverse()
        total += ys[0] * ys[-1] * k
    return total + ys[1] * len(ys)


def rows_turned(x: Any) -> Any:
    rows = [x * v for v in x if v > 0.4]
    same = rows
    rows.reverse()
    rows[0][1] += 1.0
    return np.sum(same[0] * same[-1]) + same[1][0]


def a_path_walked_back(x: Any) -> Any:
    path, k = [], 11
    while k > 0:
        path.append(k % 4)
        k //= 2
    path.reverse()
    return sum(x[p] * (i + 1) for i, p in enumerate(path))


@pytest.mark.parametrize("function", [turned_in_a_loop, rows_turned, a_path_walked_back])
def test_reverse(function: Any) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-13)


def test_an_item_that_has_another_place_is_no_longer_known() -> None:
    def f(x: Any) -> Any:
        rows = [x * v for v in x if v > 0.4]
        first = rows[0]
        rows.reverse()
        return np.sum(first)

    with pytest.raises(srcgrad.UnsupportedError, match="first is an array that was an item of a list"):
        grad(f, jit=False)(X)


def states_in_the_other_order(x: Any) -> Any:
    state = np.zeros(2)
    states = [state]
    for v in x:
        state = np.tanh(state + v * np.array([1.0, 2.0]))
        states.insert(0, state)
    return sum(s[0] * s[1] * k for k, s in enumerate(states, 1))


def at_either_end(x: Any) -> Any:
    found = []
    for i in range(len(x)):
        if x[i] > 0.6:
            found.insert(0, (x[i : i + 1], i))
        else:
            found.append((x[:1] * x[i], i))
    return sum((a.sum() + i) * a[0] * k for k, (a, i) in enumerate(found, 1))


def in_a_while_loop(x: Any) -> Any:
    queue, n, total = [x[0]], 0, 0.0
    while len(queue) > 0 and n < 12:
        v = queue.pop()
        n += 1
        total = total * 0.9 + v
        if n < 4:
            queue.insert(0, v * 0.5)
            queue.insert(0, v + x[n])
    return total


@pytest.mark.parametrize("function", [states_in_the_other_order, at_either_end, in_a_while_loop])
def test_insert_ahead_of_all(function: Any) -> None:
    g = grad(function, jit=False)
    check_value_and_grad(g, X, rtol=1e-6)


def pairs_of_even_places(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        if i % 2 == 0:
            for j in range(len(x)):
                if j % 2 == 0:
                    pairs.append(x[i] * x[j])
    return sum(pairs) * pairs[-1]


def those_ahead(x: Any) -> Any:
    pairs = []
    for i in range(len(x)):
        if x[i] > 0.4:
            for j in range(i):
                if x[j] > 0.6:
                    pairs.append(x[i] * x[j] ** 2)
    return sum(v * (k + 1) for k, v in enumerate(pairs))


@pytest.mark.parametrize("function", [pairs_of_even_places, those_ahead])
def test_under_conditions_in_loops_under_conditions(function: Any) -> None:
    g = grad(function, jit=False)
    check_value_and_grad(g, X, rtol=1e-6)


def nearest_first(x: Any) -> Any:
    left, cost = [(x[i], 1.0 + i) for i in range(4)], 0.0
    for step in range(3):
        best, at = np.inf, 0
        for i in range(1, len(left)):
            gap = (left[i][0] - left[0][0]) ** 2 * left[i][1]
            if gap < best:
                best, at = gap, i
        cost += best * (step + 1)
        left = [left[at]] + [one for k, one in enumerate(left) if k not in (0, at)]
    return cost


def test_lists_made_anew_beside_infinite_numbers() -> None:
    g = grad(nearest_first, jit=False)
    check_value_and_grad(g, X, rtol=1e-6)


def test_many_conditions_behind_each_other() -> None:
    """What is known of the length is looked for along each way to it once: there are 2**30 of them."""
    tests = "".join(f"        if v > {k / 20 + 0.013}:\n            out.append(v * {k + 1})\n" for k in range(30))
    text = f"def f(x):\n    out = []\n    for v in x:\n{tests}    return sum(out) * out[-1]\n"
    f = from_text(text, "f")
    g = grad(f, jit=False)
    check_value_and_grad(g, X, rtol=1e-6)


def a_slice_is_assigned(x):
    ys = [v for v in x if v > 0]
    ys[:1] = [x[0]]
    return sum(ys)


def test_a_slice_of_a_list_of_unknown_length_is_refused() -> None:
    with pytest.raises(srcgrad.UnsupportedError, match="a slice of a list whose length is only known at run time"):
        grad(a_slice_is_assigned, jit=False)(np.ones(3))


def put_in_order(x: Any) -> Any:
    ys: list[Any] = []
    for v in x:
        k = 0
        while k < len(ys) and ys[k] < v:
            k += 1
        ys.insert(k, v)
    return np.array(ys) * np.arange(1.0, len(x) + 1)


def put_into_three(x: Any, k: int) -> Any:
    ys = [1.0, x[0], x[1]]
    ys.insert(k, x[2])
    return ys[0] + 2.0 * ys[1] + 3.0 * ys[2] + 4.0 * ys[3]


def put_among_rows(x: Any, k: int) -> Any:
    ys = [x * i for i in range(len(x))]
    ys.insert(k, x * x)
    s = 0.0
    for i, y in enumerate(ys):
        s += i * np.sum(y)
    return s


def taken_from_squares(x: Any, k: int) -> Any:
    ys = [v * v for v in x]
    first = ys.pop(k)
    return first * 10.0 + np.sum(np.array(ys) * np.arange(1.0, len(x)))


def taken_from_rows(x: Any, k: int) -> Any:
    ys = [v * np.ones(3) for v in x]
    s = np.sum(ys.pop(k)) * 7.0
    for i, y in enumerate(ys):
        s += (i + 1) * np.sum(y * y)
    return s


def taken_from_three(x: Any, k: int) -> Any:
    ys = [x[0], x[1] * 2.0, x[2] * x[3]]
    return 3.0 * ys.pop(k) + ys[0] + 5.0 * ys[1]


@pytest.mark.parametrize("k", [-9, -4, -3, -1, 0, 1, 2, 3, 9])
@pytest.mark.parametrize("function", [put_into_three, put_among_rows], ids=lambda function: function.__name__)
def test_insert_at_any_place(function: Any, k: int) -> None:
    check_grad(grad(function, wrt=0, jit=False), X, k)
    np.testing.assert_allclose(grad(function, jit=False)(X, k), function(X, k))


@pytest.mark.parametrize("k", [-5, -4, -3, -1, 0, 2, 3, 4])
@pytest.mark.parametrize(
    "function", [taken_from_squares, taken_from_rows, taken_from_three], ids=lambda function: function.__name__
)
def test_pop_at_any_place(function: Any, k: int) -> None:
    try:
        want = function(X, k)
    except IndexError:
        with pytest.raises(IndexError, match="pop index out of range"):
            grad(function, jit=False)(X, k)
        return
    np.testing.assert_allclose(grad(function, jit=False)(X, k), want)
    check_grad(grad(function, wrt=0, jit=False), X, k)


@pytest.mark.parametrize("jit", [False, True])
def test_a_list_kept_in_order(jit: bool) -> None:
    x = np.array([3.0, 1.0, 2.0, 1.5])
    np.testing.assert_allclose(grad(put_in_order, jit=jit)(x), put_in_order(x))
    np.testing.assert_allclose(grad(put_in_order, jit=jit).backward(x, v=np.arange(4.0)), [12.0, 0.0, 6.0, 2.0])


def taken_from_an_empty_list(x: Any) -> Any:
    ys, s = [], 0.0
    while len(ys) > 0:
        s += ys[-1]
    while ys:
        s += ys.pop()
    else:
        s += x[0] * x[1]
    return s


def monotone_stack_of_four(x: Any) -> Any:
    stack = []
    for i in range(4):
        while stack and stack[-1] > x[i]:
            stack.pop()
        stack.append(x[i])
    return sum(stack)


def stack_of_four_with_a_count(x: Any) -> Any:
    stack = []
    for i in range(4):
        left = i
        while left > 0 and stack and stack[-1] > x[i]:
            stack.pop()
            left -= 1
        stack.append(x[i] ** 2)
    return sum(stack)


def below_four_points(x: Any) -> Any:
    points = [(float(i), x[i]) for i in range(4)]
    hull = []
    for p in points:
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0:
                break
            hull.pop()
        hull.append(p)
    return sum(a[0] * b[1] ** 2 for a, b in zip(hull, hull[1:]))  # noqa: B905, RUF007


@pytest.mark.parametrize(
    "function",
    [taken_from_an_empty_list, monotone_stack_of_four, stack_of_four_with_a_count, below_four_points],
    ids=lambda function: function.__name__,
)
def test_a_while_loop_over_a_list_that_is_still_empty(function: Any) -> None:
    for x in (X, X[::-1].copy(), np.array([1.0, 0.4, 2.0, -1.0])):
        check_grad(grad(function, jit=False), x)
        np.testing.assert_allclose(grad(function, jit=False)(x), function(x))


def least_first(x):
    ys = [a for a in x]
    s = 0.0
    while ys:
        m = min(ys)
        ys.remove(m)
        s = s * 0.5 + m * m
    return s


def one_of_three(x):
    ys = [x[0], x[1] * x[2], x[2]]
    ys.remove(x[2])
    return ys[0] * ys[1]


@pytest.mark.parametrize("function", [least_first, one_of_three], ids=lambda f: f.__name__)
def test_remove(function: Any) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


def test_remove_what_is_not_there() -> None:
    def of_others(x):
        ys = [a for a in x]
        ys.remove(17.0)
        return ys[0]

    with pytest.raises(ValueError, match="not in"):
        grad(of_others, jit=False)(X)


def shortened_in_an_inner_loop(x, n):
    zs, i = list(x), 0
    while i < n:
        i += 1
        for _ in range(i + 1):
            zs.pop(0)
    return sum(zs) * len(zs)


def written_and_shortened(x, n):
    zs = [v * v for v in x]
    for i in range(n):
        for j in range(i + 1):
            zs[j] = zs[j] * x[i]
        zs.pop()
    return sum(zs) + len(zs)


def pyramid(x, n):
    zs, s = list(x), 0.0
    while len(zs) > n:
        for j in range(len(zs) - 1):
            zs[j] = zs[j] + zs[j + 1] * 0.5
        s += zs.pop()
    return s + sum(zs)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize(
    "function", [shortened_in_an_inner_loop, written_and_shortened, pyramid], ids=lambda f: f.__name__
)
def test_lists_that_inner_loops_shorten(function: Any, n: int) -> None:
    x = np.array([0.7, -1.2, 0.4, 1.1, 0.9, -0.3, 1.4])
    f = grad(function, jit=False)
    check_value_and_grad(f, x, n, rtol=1e-13)


def popped_and_written(x: Any) -> Any:
    queue, y = [], x[:2] * 2
    for _ in range(len(x)):
        queue.append(y)
    first = queue.pop(0)
    first[0] += x[3]
    return np.sum(y)


def popped_from_the_argument(x: Any) -> Any:
    queue = [x[i : i + 2] for i in range(len(x) - 1)]
    first = queue.pop(0)
    first[1] = 9.0
    return np.sum(x)


def popped_from_one_of_two(x: Any) -> Any:
    queue = []
    for i in range(len(x)):
        queue.append(x[i] * np.ones(2))
    others = list(queue)
    first = queue.pop(0)
    first[0] = 9.0
    return np.sum(others[0])


@pytest.mark.parametrize("function", [popped_and_written, popped_from_the_argument, popped_from_one_of_two])
def test_what_is_popped_may_have_another_name(function: Any) -> None:
    with pytest.raises(srcgrad.UnsupportedError, match="may or may not be the array that was written"):
        grad(function, jit=False)(X.copy())


def longer_by_what_is_called(x: Any) -> Any:
    ys = []
    for i in range(len(x)):
        ys.append(x[i])

    def more(v):
        if len(ys) < 6:
            ys.append(v * 0.5)
        return v

    return sum([more(v) for v in ys])


def test_a_comprehension_over_what_grows_meanwhile() -> None:
    with pytest.raises(srcgrad.UnsupportedError, match="a loop changes the list"):
        grad(longer_by_what_is_called, jit=False)(X)


def halved(x: Any) -> Any:
    n, a, b, levels, others = 8, 4, 2, [], []
    for _ in range(2):
        levels.append(x[:n] * 2.0)
        n //= 2
        others.append(x[:a] * 3.0)
        a, b = b, a // 2
    return levels[0][7] * levels[1][3] + np.sum(others[0]) * levels[1].size * others[1].size


def test_lengths_that_an_iteration_makes_of_those_before() -> None:
    check_value_and_grad(grad(halved, jit=False), np.cos(np.arange(8.0)))


def halved_often(x: Any, m: int) -> Any:
    n, levels = x.size, []
    for _ in range(m):
        levels.append(x[:n] * 2.0)
        n = n // 2
    return levels[-1][0]


def halved_while(x: Any, m: int) -> Any:
    n, levels = x.size, []
    while n >= m:
        levels.append(x[:n] * 2.0)
        n //= 2
    return np.sum(levels[-1])


def frames_while(x: Any, m: int) -> Any:
    frames, i = [], 0
    while i + 4 <= len(x):
        frames.append(x[i : i + 4] * 2.0)
        i += m
    return np.sum(np.array(frames) ** 2)


def frames_in_memory_of_one_length(x: Any, m: int) -> Any:
    frames, i = [], 0
    while i + 4 <= len(x):
        frame = np.zeros(4)
        frame[:] = x[i : i + 4] * 2.0
        frames.append(frame)
        i += m
    return np.sum(np.array(frames) ** 2)


@pytest.mark.parametrize("function", [halved_often, halved_while, frames_while])
def test_lengths_that_a_run_alone_tells(function: Any) -> None:
    x = np.cos(np.arange(8.0))
    with pytest.raises(srcgrad.UnsupportedError, match="is only known inside the loop"):
        grad(function, jit=False)(x, 2)
    check_value_and_grad(grad(frames_in_memory_of_one_length, wrt="x", jit=False), x, 2)


def test_lengths_that_an_argument_decides() -> None:
    check_value_and_grad(grad(halved_often, wrt="x", static="m", jit=False), np.cos(np.arange(8.0)), 3)


def simplex_while(x: Any) -> Any:
    best, k = [(x + 0.1 * i, np.sum((x + 0.1 * i) ** 2)) for i in range(3)], 0
    while k < 5:
        best.sort(key=lambda pair: pair[1])
        middle = 0.5 * (best[0][0] + best[1][0])
        best[-1] = (middle, np.sum(middle**2))
        k += 1
    return best[0][1]


def simplex_for(x: Any) -> Any:
    best = [(x + 0.1 * i, np.sum((x + 0.1 * i) ** 2)) for i in range(3)]
    for k in range(10):
        if k == 5:
            break
        best.sort(key=lambda pair: pair[1])
        middle = 0.5 * (best[0][0] + best[1][0])
        best[-1] = (middle, np.sum(middle**2))
    return best[0][1]


def test_a_list_that_is_sorted_in_a_while_loop() -> None:
    with pytest.raises(srcgrad.UnsupportedError, match=r"best is made anew in a while loop[\s\S]*write a for loop"):
        grad(simplex_while, jit=False)(X)
    check_value_and_grad(grad(simplex_for, jit=False), X)
