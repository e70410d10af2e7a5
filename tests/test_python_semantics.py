"""What Python does with loops, `finally`, names, objects and the order of evaluation; or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, -0.3, 1.2, 0.7])


def goes_on_in_else(x):
    s = 0.0
    for i in range(x.size):
        for j in range(i):
            if x[j] * x[i] > 0.1:
                break
        else:
            continue
        s += x[i]
    return s


def leaves_two_loops(x):
    s = 0.0
    for i in range(x.size):
        for j in range(i):
            s += x[i] * x[j]
            if s < -0.1:
                break
        else:
            continue
        break
    return s


def leaves_the_outer_loop_in_else(x):
    s = 0.0
    for i in range(x.size):
        for j in range(i):
            if x[j] > 1.0:
                break
        else:
            s += x[i]
            if i == 1:
                break
        s += 2.0 * x[i]
    return s


def returns_in_else(x):
    s = 0.0
    for v in x:
        if v > 100.0:
            return 0.0
        s += v
    else:
        return s * s
    return -1.0


def returns_in_else_alone(x):
    for v in x:
        if v > 1.0:
            break
    else:
        return x[0] ** 2
    return x[1] ** 2


def while_with_else(x):
    s, k = 0.0, 0
    for i in range(3):
        k = 0
        while k < x.size:
            if x[k] * (i + 1) > 1.1:
                break
            k += 1
        else:
            continue
        s += x[k] ** 2
    return s


def finally_around_with(x):
    y = x.copy()
    try:
        with np.errstate(all="ignore"):
            return y
    finally:
        y[0] = 9.0 * x[1]


def finally_around_finally(x):
    y = x.copy()
    try:
        try:
            return y
        finally:
            y[0] = y[1] * 8.0
    finally:
        y[1] = y[0] * 9.0


def named_in_the_test(x):
    s, i = 0.0, 0
    while (v := x[i] ** 2) < 1.0 and i < 3:
        s += v
        i += 1
    return s + 3.0 * v


def one_object(x):
    y, z = x, [x]
    w = z
    return x[0] ** 2 if y is x and w is z else x[1]


class Pair(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Pair(self.x + other.x, self.y * other.y)

    def __mul__(self, factor):
        return Pair(self.x * factor, self.y * factor)


def operators_of_a_named_tuple(x):
    a = (Pair(x[0], x[1]) + Pair(x[2], x[3])) * 2
    return a[0] * a.y


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __rmul__(self, factor):
        return Vector(factor * self.x, factor * self.y)

    def __lt__(self, other):
        return self.x < other.x

    def __eq__(self, other):
        return self.x == other.x

    def __bool__(self):
        return bool(self.x > 1.0)


def operators_of_a_class(x):
    a, b = Vector(x[0], x[1]), Vector(x[2], x[3])
    c = a + 2.0 * b
    s = c.y * c.x if a < b and b > a and a != b else 0.0
    if b:
        s *= x[0] if not a else 1.0
    return s


class Series:
    def __init__(self, values, step):
        self.values, self.step = values, step

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i] * self.step


def items_of_an_object(x):
    series, s = Series(x, 7.0), 0.0
    for i in range(len(series)):
        s += series[i] ** 2
    return s


@dataclass
class Point:
    a: float
    b: float


def fields_that_are_equal(x):
    return x[0] ** 2 if Point(1.0, 2.0) == Point(1.0, 2.0) and Point(1.0, 2.0) != Point(1.0, 3.0) else x[1]


def numbered_from(x, first=3):
    s = 0.0
    for i, v in enumerate((x[0], x[1]), start=first):
        s += i * v * v
    return s


def doubled(x):
    x *= 2.0
    return x


def views_show_what_is_written(x):
    y = x * 1.0
    return y[1:] * doubled(y)[:-1]


def history_of_new_arrays(x):
    history, u, y = [], x * 1.0, np.empty(3)
    for i in range(x.size):
        u = u * 2.0
        y = np.zeros(3)
        y[0] = x[i] ** 2
        history.append(u[:3] + y)
    return np.array(history).sum(axis=0)


def history_of_copies(x):
    history, u = [], x * 1.0
    for _ in range(x.size):
        u *= 2.0
        history.append(u.copy())
    return np.array(history)[1] * u


def history_of_rebound_arrays(x):
    history, y = [], np.empty(3)
    for i in range(x.size):
        y = np.zeros(3)
        y[0], y[1] = x[i], x[i] ** 2
        history.append(y)
    return np.array(history).sum(axis=0)


def rows_that_are_read(x):
    a = np.outer(x, x)
    rows = []
    for i in range(a.shape[0]):
        rows.append(a[i])
    return np.array(rows).sum(axis=0) * a[0]


def list_repeated_in_place(x):
    values = [x[0], x[1]]
    same = values
    values *= 3
    return len(same) * same[4] * same[5] ** 2


def arrays_made_of_lists_of_rows(x):
    a = np.outer(x, x)
    b, c = np.array([row for row in a]), np.stack(list(a))
    b[0] = 5.0 * x
    c *= 2.0
    return (a * b * c).sum()


def tuple_indexed_by_a_truth(x):
    return ((x * 2.0, x * 3.0)[bool(x[0] > 0.0)] * x * (x, x * 5.0)[bool(x[1] > 0.0)]).sum()


def dicts_run_over_their_keys(x):
    d = {1: x[0], 2: x[1]}
    s = sum([k * x[2] for k in d]) + sum(d) * x[3]
    for k, v in zip(d, x):
        s += k * v * v
    e = {k: d[k] * 2.0 for k in d}
    return s * e[1] * sum(e.values())


class Holder:
    def __init__(self, s):
        self.s = s


def one_array_in_several_places(x):
    v = [np.zeros(4)] * 2
    v[0][1] = x[0]
    o, d, ys = Holder(0.0), {}, [x]
    o.s = p = x * 2.0
    d["a"] = q = x * 3.0
    ys[0] = r = x * 5.0
    p[0] = q[1] = r[2] = 4.0
    y = x * 1.0
    y[0] = z = y[0] * 2.0 + y[1]
    return (v[1] * o.s * d["a"] * ys[0] * x).sum() + (o.s + d["a"] * ys[0]).sum() * z * y[0]


def changed_or_another(c, x):
    if x[1] < 0:
        c.s = x[1] * 2.0
    else:
        c = Holder(x[2])
    return c.s


def changed_on_one_path_and_replaced_on_the_other(x):
    return changed_or_another(Holder(x[0]), x) * x[3]


def changed_on_one_path_for_the_caller(x):
    o = Holder(x[0])
    return changed_or_another(o, x) * o.s


def dict_changed_or_replaced(x):
    d = {"a": x[0]}
    if x[1] < 0:
        d["a"] = x[1] * 2.0
    else:
        d = {"a": x[2]}
    return d["a"] * x[3]


class Tally:
    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        return Tally(self.a + other.a)

    def __iadd__(self, other):
        self.a = self.a + other.a
        return self

    def __imul__(self, factor):
        return Tally(self.a * factor)


def methods_in_place(x):
    u, o = Tally(x[0]), Holder(Tally(x[1]))
    same, held = u, o.s
    u += Tally(x[2])
    o.s += Tally(x[3])
    u *= 3.0
    return same.a * held.a * u.a


def updated_from_what_it_was(x):
    s, ys = x[0], [x[1], x[2]]
    for _ in range(2):
        s += (s := s * x[3])
    ys += [ys.pop() * x[0]]
    ys[len(ys) - 1] += ys[0]
    return s * ys[0] * ys[1]


def named_in_a_comprehension(x):
    v = 0.0
    ys = [(v := v + a) for a in x]
    return ys[-1] + v * ys[1]


def named_in_a_condition(x):
    kept = [z * z for x in x if (z := np.sin(x)) > 0.2]  # its own x, and no other
    return sum(kept) * x[0] + z + sum(row * row for k in range(x.size) if (row := x[k] * k) < 2.0)


def named_in_comprehensions_in_loops(x):
    t = 0.0
    for i in range(3):
        if x[i] > 0.0:
            ys = [(t := t + v * w) for v in [x[i], x[0]] for w in x]
            t += ys[i]
    return t


def changed_where_it_has_been(x):
    s, ys, d = 0.0, [x[0], x[1], x[2]], {"a": x[0], "b": x[1]}
    for i, y in enumerate(ys):
        ys[i] = y * x[3]
        s += y * y
    for y in list(ys):
        ys.append(y * 2.0)
    for key in d:
        d[key] = d[key] * x[2]
    for k in range(len(ys)):
        ys[k] += x[0]
    return s + sum(ys) * d["a"] * d["b"]


class Arrow:
    """With every method that Python calls for an operator or a function of one object."""

    scale = 3.0

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Arrow(self.x + other.x, self.y + other.y)

    def __neg__(self):
        return Arrow(-self.y, self.x)

    def __pos__(self):
        return self.y * 5.0

    def __invert__(self):
        return self.x * self.y

    def __sub__(self, other):
        return self + (-other)

    def __abs__(self):
        return self.x * 2.0

    def __round__(self):
        return self.x * 3.0

    def twice(self):
        return self.__class__(2.0 * self.x, self.__class__.scale)


def operators_of_one_object(x):
    a, b = Arrow(x[0], x[1]), Arrow(x[2], 2.0)
    return (a - b).x * (+a) * (~b) + abs(a) * round(b)


def class_of_an_object(x):
    a = Arrow(x[0], x[1])
    s = a.twice().x * a.twice().y
    if isinstance(a, a.__class__) and a.__class__ is Arrow and a.__class__.__name__ == "Arrow":
        s = s * x[2]
    return s


class Held:
    def __init__(self, rows):
        self.rows = rows


def rows_that_are_lists(x):
    rows = [[x[k], x[k] ** 2] for k in range(len(x))]
    pairs = [(x[k], x[k] * 2.0) for k in range(len(x))]
    s = 0.0
    for row in rows:
        s = s * x[1] + (row + row)[2] * (row * 3)[3] * len(row + row)
    for pair in pairs:
        s = s + (pair + pair)[2]
    return s + sum([(row + row)[2] for row in rows]) + (1.0 if isinstance(rows[0], list) else 2.0)


def rows_of_numbers_of_both_kinds(x):
    points = [(x[k], 2.0) for k in range(len(x))]
    rows = []
    for k in range(len(x)):
        rows.append([0.5, x[k] * x[0], 1.0])
    s = 0.0
    for a, b in points:
        s = s * a + b
    for row in rows:
        s += (row + row)[4] * row[0] * len(row)
    return s + points[1][0] * points[2][1]


def rows_that_an_object_holds(x):
    held = Held([[x[k], x[k] ** 2] for k in range(len(x))])
    s = 0.0
    for row in held.rows:
        s += (row * 2)[2] * (held.rows[0] + held.rows[1])[3]
    return s * (1.0 if isinstance(held.rows[1], list) else 2.0)


def adds_one(u, i=1):
    u[2] += 1.0
    return i


class Counted:
    def __init__(self, u):
        self.u, self.n = u, 1.0

    def add(self, c):
        self.u += c
        self.n = self.n * 2.0
        return self

    @property
    def counted(self):
        self.n = self.n + 1.0
        return self.u

    @counted.setter
    def counted(self, value):
        self.u, self.n = value * 1.5, self.n * 3.0


def values_that_the_target_changes(x):
    a, ks, o = x.copy(), [3, 2, 1], Counted(x * 1.5)
    a[ks.pop()] = a[0] * ks[-1]
    a[adds_one(a)] = a[2]
    a[adds_one(a) :] = a[1:] * 2.0
    o.add(1.0).n = o.u[1]
    rows = [a[0], a[2]]
    rows[adds_one(a)] = a[2] * 3.0
    return a * o.u + o.n + rows[1]


def targets_ahead_of_the_right_side(x):
    a, ks, o = x.copy(), [3, 2, 1], Counted(x * 1.5)
    a[ks.pop()] += ks[-1] * x[0]
    a[adds_one(a)] += a[2]
    a[[adds_one(a, 0) for k in range(2)]] += a[2]
    a[adds_one(a, 0) if x[0] > 3.0 else 1] += a[2]
    o.add(1.0).u[1] += o.n
    o.counted[adds_one(o.u)] *= o.n * o.u[2]
    o.add(x[0]).n += o.n
    o.counted += o.n * a
    rows = [a, x * 2.0]
    rows[adds_one(a, 0)][adds_one(a)] += a[2]
    return a * o.u + o.n


class Scaled(Counted):
    def __getitem__(self, k):
        return self.u[k]

    def __setitem__(self, k, value):
        self.u[k], self.n = value * 0.5, self.n + 1.0


def items_by_a_method(x):
    o = Scaled(x * 1.5)
    o[0], o[1:3] = o[1], x[0]
    o[adds_one(o.u)] += o.n
    for k in range(len(x)):
        o[k] *= x[k]
        if o[0] > 1.0:
            o[-1] = o[k] + 0.5
    return o.u * o.n


RIGHT = [
    items_by_a_method, values_that_the_target_changes, targets_ahead_of_the_right_side,
    changed_where_it_has_been,
    named_in_a_comprehension, named_in_a_condition, named_in_comprehensions_in_loops,
    methods_in_place, updated_from_what_it_was,
    one_array_in_several_places, changed_on_one_path_and_replaced_on_the_other, changed_on_one_path_for_the_caller,
    dict_changed_or_replaced,
    tuple_indexed_by_a_truth, dicts_run_over_their_keys,
    arrays_made_of_lists_of_rows, list_repeated_in_place,
    history_of_new_arrays, history_of_copies, history_of_rebound_arrays, rows_that_are_read,
    goes_on_in_else, leaves_two_loops, leaves_the_outer_loop_in_else, returns_in_else, returns_in_else_alone,
    while_with_else, finally_around_with, finally_around_finally, named_in_the_test, one_object,
    operators_of_a_named_tuple, operators_of_a_class, items_of_an_object, fields_that_are_equal, numbered_from,
    views_show_what_is_written, operators_of_one_object, class_of_an_object, rows_that_are_lists,
    rows_that_an_object_holds, rows_of_numbers_of_both_kinds,
]  # fmt: skip


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_as_in_python(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-15)


def first_inside(x, n):
    s = 0.0
    for k in range(n):
        if k != 1:
            pair = x[k], k
        s += pair[0] * k
    return s + pair[1]


def before_it_is_bound(x, n):
    s = 0.0
    for k in range(n):
        for j in range(k):
            s += x[j] * last  # noqa: F821
        if k > 1:
            last = x[k]  # noqa: F841
    return s


@pytest.mark.parametrize("function, runs, ends", [(first_inside, 3, 0), (before_it_is_bound, 1, 3)])
def test_names_without_a_value_yet(function: Callable[..., Any], runs: int, ends: int) -> None:
    """Bound in a loop only, and read where the path decides whether it has a value."""
    for f in (function, grad(function, jit=False), grad(function)):
        assert f(X, runs) == function(X, runs)
        with pytest.raises(UnboundLocalError):
            f(X, ends)


def never_bound(x, n):
    s = 0.0
    for k in range(n):
        if k > 0:
            s += last  # noqa: F821
            last = np.ones(k)  # noqa: F841
    return s


def object_first_inside(x, n):
    for k in range(n):
        found = {"at": k, "is": x[k]}
    return found["is"]


@pytest.mark.parametrize(
    "function, message",
    [(never_bound, "last may not be defined here"), (object_first_inside, "bind it ahead of the loop")],
)
def test_names_that_stay_without_a_value(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        grad(function, jit=False)(X, 3)


def test_enumerate_from_an_argument() -> None:
    for jit in (False, True):
        f = grad(numbered_from, wrt="x", jit=jit)
        for first in (0, 3, -2):
            assert f(X, first) == numbered_from(X, first)
            np.testing.assert_allclose(f.backward(X, first), [2 * first * X[0], 2 * (first + 1) * X[1], 0, 0])


def exchanged_then_rebound(x, steps):
    y = np.zeros(x.size)
    for _ in range(steps):
        x, y = y, x
    while steps > 0:
        y = 2.0 * y
        steps -= 1
    return y.sum()


def test_what_is_rebound_after_an_exchange_is_not_the_argument() -> None:
    for jit in (False, True):
        f, x = grad(exchanged_then_rebound, wrt="x", jit=jit), X.copy()
        assert f(x, 1) == pytest.approx(exchanged_then_rebound(X, 1))
        np.testing.assert_array_equal(x, X)
        check_grad(f, X, 1)
        check_grad(f, X, 2)


def changes(x, i):
    x[i] *= 2
    return x[i]


class Doubled:
    def __init__(self, a):
        self._a = a

    @property
    def a(self):
        return self._a

    @a.setter
    def a(self, value):
        self._a = value * 2


def named_in_a_generator(x, n):
    if any((first := v) > 1.0 for v in x):
        return first
    return x[0]


def longer_while_it_is_run_over(x, n):
    s, ys = 0.0, [x[0], x[1]]
    for y in ys:
        s += y
        if len(ys) < 4:
            ys.append(y * 2.0)
    return s


def shorter_while_it_is_run_over(x, n):
    ys = [x[0], x[1], x[2]]
    return sum([ys.pop() * y for y in ys])


def later_item_of_what_is_run_over(x, n):
    s, ys = 0.0, [x[0], x[1], x[2]]
    zs = ys
    for y, a in zip(ys, x):
        zs[2] = 5.0 * a
        s += y * a
    return s


def changed_by_what_is_called(x, n):
    s, ys = 0.0, [x[0], x[1], x[2]]

    def change(y):
        ys[2] = y

    for i, y in enumerate(ys):
        change(y * 2.0)
        s += y * i
    return s


def set_through_a_property(x, n):
    d = Doubled(x[0])
    d.a = x[1]
    return d.a


def text_of_a_number(x, n):
    return x[0] if f"k{n}" == "k3" else x[1]


def text_of_a_number_as_a_key(x, n):
    return {"3": x[0]}[str(n)]


def compared_twice(x, n):
    return x[1] if 0 < changes(x, 0) < changes(x, 1) + 50 else x[0]


def added_to_what_has_changed(x, n):
    x[0] += changes(x, 0)
    return x[0]


def elements_added_to_what_has_changed(x, n):
    x[[0, 1]] += changes(x, 0)
    return x


def masked_added_to_what_has_changed(x, n):
    x[x > 0] += changes(x, 0)
    return x


def view_of_what_changes(x, n):
    return np.broadcast_to(x, (2, len(x))) * changes(x, 0)


def real_part_of_what_changes(x, n):
    z = x + 1j * x
    return np.sum(z.real * abs(changes(z, 0)))


def flat_added_to_what_has_changed(x, n):
    x.flat[1:] += changes(x, 2)
    return x


def adds_where_the_slice_has_changed(x, n):
    k = np.array([0, 1])
    x[k[0] :] += changes(k, 0)
    return x


def objects_without_order(x, n):
    return x[0] if Series(x, 1.0) < Series(x, 2.0) else x[1]


def sum_of_objects(x, n):
    return (Series(x, 1.0) + Series(x, 2.0)).step


def loop_over_an_object(x, n):
    s = 0.0
    for v in Series(x, 1.0):
        s += v
    return s


def history_of_one_array(x, n):
    history, u = [], x * 1.0
    for _ in range(x.size):
        u *= 2.0
        history.append(u)
    return np.array(history)[0]


def rows_that_are_written(x, n):
    a = np.outer(x, x)
    rows = []
    for i in range(a.shape[0]):
        rows.append(a[i])
    rows[1] *= 10.0
    return a.sum()


def lists_that_trade_places(x):
    a, b = [x[0], x[1]], [x[2], x[1] * 2]
    for i in range(3):
        a, b = b, a
        a[0] = a[0] * x[i]
    return a[0] + 2 * b[0] + a[1]


def objects_that_trade_places(x):
    a, b = Doubled(x[0]), Doubled(x[1])
    for i in range(3):
        a, b = b, a
        a._a = a._a * x[i]
    return a.a + 2 * b.a


def list_before_this_one(x):
    before, now = [0.0, 1.0], [x[0], x[1]]
    for i in range(3):
        before = now
        now = [before[0] * x[i], before[1] + x[2]]
    return before[0] * now[1]


def changed_and_then_rebound(x):
    now = [x[0], x[1]]
    for i in range(3):
        now[0] = now[0] * x[i]
        new = [now[0] + 1.0, now[1]]
        now = new
    return now[0]


@pytest.mark.parametrize("function", [
    lists_that_trade_places, objects_that_trade_places, list_before_this_one, changed_and_then_rebound,
])  # fmt: skip
def test_lists_that_are_others_in_the_next_iteration(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-15)


def held_by_two_at_first(x, n):
    p = [x[0]]
    q = p
    for i in range(n):
        q[0] = q[0] * x[i]
        p = [p[0] + 1.0]
    return p[0] * q[0]


def held_by_two_from_then_on(x, n):
    q, p, s = [x[0]], [0.0], 0.0
    for i in range(n):
        q[0] = q[0] * x[i]
        s += p[0]
        p = q
    return s + p[0]


def one_of_two_lists(x, n):
    a, b = [x[0], x[1]], [x[1] * 2, x[2]]
    r = a if n > 0 else b
    a[0] = x[2] * 3
    return r[0] * r[1]


def one_of_two_lists_that_grow(x, n):
    a, b = [], []
    for i in range(len(x)):
        a.append(x[i])
        b.append(2 * x[i])
    if n > 0:
        r = a
    else:
        r = b
    a.append(x[0])
    return np.sum(np.array(r))


def appended(a, n):
    if n > 0:
        a = [a[0], a[0]]
    a.append(a[0] * 3)
    return a


def list_of_the_caller(x, n):
    ys = [x[0], x[1]]
    zs = appended(ys, n)
    return sum(ys) * zs[0]


def one_of_two_objects(x, n):
    p, q = Doubled(x[0]), Doubled(x[1])
    r = p if n > 0 else q
    p._a = x[2]
    return r.a * x[0]


def index_that_the_right_side_rebinds(x, n):
    i, a = 0, x * 1.0
    a[i] += (i := i + 2) * x[1]
    return a


def index_that_the_right_side_pops(x, n):
    ks, a = [0, 1, 2], x * 1.0
    a[ks[-1]] += ks.pop() * x[0]
    return a


def array_that_the_right_side_rebinds(x, n):
    a = x * 1.0
    a += (a := a * 2.0)
    return a


def item_with_a_method_in_place(x, n):
    us = [Tally(x[0])]
    us[0] += Tally(x[1])
    return us[0].a


def repeated_by_an_argument(x, n):
    ys, none = [x[0], x[1]], [x[0]]
    same, empty = ys, none
    ys *= n
    none *= 0
    return sum(same) + sum(empty)


def test_list_repeated_in_place_by_an_argument() -> None:
    f = grad(repeated_by_an_argument, wrt="x", jit=False)
    for n in (0, 1, 3):
        check_value_and_grad(f, X, n, rtol=1e-15)


class Sequence:
    """What NumPy would take for an array, or iterate over."""

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __len__(self):
        return 2

    def __getitem__(self, k):
        return self.y if k == 0 else self.x

    def __iter__(self):
        return iter((self.y, self.x))

    def __rmul__(self, other):
        return self.x * other


def function_of_an_object(x, n):
    return np.sum(np.sqrt(Sequence(x[0], x[3])))


def norm_of_an_object(x, n):
    return np.linalg.norm(Sequence(x[0], x[1]))


def array_of_objects(x, n):
    return np.sum(np.array([Arrow(x[0], x[1]), Arrow(x[2], x[3])]))


def array_times_an_object(x, n):
    return np.sum(x * Sequence(x[0], x[1]))


def element_times_an_object(x, n):
    return np.sum(x[2] * Sequence(x[0], x[1]))


REFUSED = [
    index_that_the_right_side_rebinds, index_that_the_right_side_pops,
    array_that_the_right_side_rebinds, item_with_a_method_in_place,
    one_of_two_lists, one_of_two_lists_that_grow, list_of_the_caller, one_of_two_objects,
    held_by_two_at_first, held_by_two_from_then_on,
    history_of_one_array, rows_that_are_written,
    longer_while_it_is_run_over, shorter_while_it_is_run_over, later_item_of_what_is_run_over,
    changed_by_what_is_called,
    named_in_a_generator, text_of_a_number, text_of_a_number_as_a_key,
    added_to_what_has_changed, elements_added_to_what_has_changed, masked_added_to_what_has_changed,
    flat_added_to_what_has_changed, adds_where_the_slice_has_changed,
    view_of_what_changes, real_part_of_what_changes,
    objects_without_order, sum_of_objects, loop_over_an_object,
    function_of_an_object, norm_of_an_object, array_of_objects, array_times_an_object, element_times_an_object,
]  # fmt: skip


@pytest.mark.parametrize("function", [set_through_a_property, compared_twice])
def test_setters_and_what_is_compared_with_two(function: Callable[..., Any]) -> None:
    for x in (X, -X, 3.0 * X):
        expected, found = x.copy(), x.copy()
        assert grad(function, jit=False)(found, 3) == function(expected, 3)
        np.testing.assert_array_equal(found, expected)


def flags_that_are_true(x, is_last):
    s, found = 0.0, False
    for v in x:
        if found is True:
            s += v
        if v > 0.45:
            found = True
    if is_last is not True and bool(x[0] > 0.6) is not False:
        s *= 2.0
    return s


@pytest.mark.parametrize("is_last", [False, True])
def test_flags_that_are_true(is_last: bool) -> None:
    f = grad(flags_that_are_true, jit=False)
    for x in (X, -X):
        assert f(x, is_last) == flags_that_are_true(x, is_last)
        check_grad(f, x, is_last)
    numpys = grad(lambda x: 1.0 if (x[0] > 0.5) is True else 2.0, jit=False)
    with pytest.raises(UnsupportedError, match="compares objects"):  # NumPy's is never Python's
        numpys(X)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function: Callable[..., Any]) -> None:
    x = X.copy()
    with pytest.raises((UnsupportedError, ValueError, TypeError)) as caught:
        grad(function, jit=False)(x, 3)
    assert "test_python_semantics.py" in str(caught.value) and "^" in str(caught.value)
    assert (x == X).all()


def small_or_minus_one(x, k, i):
    if x > 0.5:
        j = k
    else:
        j = -1
    return x * j


def small_or_any(x, k, i):
    j = k
    for i in range(-2, 300, 301):
        j = i
    return x * j


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint32])
@pytest.mark.parametrize("function", [small_or_minus_one, small_or_any])
def test_a_small_integer_on_one_path_and_pythons_on_another(function: Any, kind: Any) -> None:
    f = grad(function, wrt="x", jit=False)
    for x in (0.2, 0.7):
        assert f(x, kind(3), 7) == function(x, kind(3), 7)
        assert f.backward(x, kind(3), 7) == pytest.approx(function(x, kind(3), 7) / x)


def outer_index_that_an_inner_loop_assigns(x, start):
    s = 0.0
    for i in range(start, x.size):
        for j in range(3):
            if x[j] > 0.6:
                i = j
            s += x[i] * x[j]
    return s


def test_an_inner_loop_assigns_the_index_of_an_outer_one() -> None:
    for start in (2, -3):
        check_grad(grad(outer_index_that_an_inner_loop_assigns, wrt="x", jit=False), X, start)


def large_or_small(u, n, large):
    a = u[0] if large else n
    return a * 1.0


def test_uint64_on_one_path_and_pythons_integer_on_another() -> None:
    u = np.array([2**63 + 4096], np.uint64)
    for large in (True, False):
        assert grad(large_or_small, jit=False)(u, 3, large) == large_or_small(u, 3, large)


def beyond(x, u, n):
    s = np.sum(x * (u < -n)) + 2.0 * np.sum(x * np.less(n, u))
    for i in range(len(u)):
        if u[i] < -n or n - 8 >= u[i]:
            s += 4.0 * x[i]
        if u[i] != n:
            s += 8.0 * x[i]
    return s


@pytest.mark.parametrize("jit", [False, True])
def test_uint64_beside_pythons_negative_integers(jit: bool) -> None:
    f, u = grad(beyond, jit=jit), np.array([0, 3, 7, 2**64 - 5], np.uint64)
    for n in (5, -3, 0):
        assert f(X[:4], u, n) == beyond(X[:4], u, n)


def larger_and_smaller(x, u, n):
    s = 0.0
    for i in range(len(u)):
        s += x[i] * max(u[i], n) - x[0] * min(n, u[i], 250) + max(u[i], 300)
    return s


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32])
def test_the_larger_of_a_small_integer_and_of_pythons(dtype: Any) -> None:
    """NumPy's integers don't hold Python's, which are what comes out where they win."""
    f, u = grad(larger_and_smaller, jit=False, wrt="x"), np.array([3, 100, 200], dtype)
    for n in (-3, 70, 300, 100_000):
        assert f(X[:3], u, n) == larger_and_smaller(X[:3], u, n)
    if dtype == np.uint32:
        with pytest.raises(UnsupportedError, match="max of np.uint64"):
            f(X[:3], u.astype(np.uint64), -3)


def rounded(x, n):
    return x * round(x * 3.14159, n) + np.round(x * 1.2345, decimals=n)


@pytest.mark.parametrize("n", [-1, 0, 2])
def test_decimals_that_are_an_argument(n: int) -> None:
    f = grad(rounded, wrt="x", jit=False)
    assert f(12.34, n) == pytest.approx(rounded(12.34, n), rel=1e-15)
    assert f.backward(12.34, n) == pytest.approx(round(12.34 * 3.14159, n))


def how_many_are_zero(x, y):
    return y * (x, y).count(0) + x


def first_that_is_the_last(x, y):
    return y * (x, y).index(y) + x


def true_ones(x, y):
    return x * [x > 1, y > 1].count(True)


def one_must_be_zero(voltage, current):
    if (voltage, current).count(0) != 1:
        raise ValueError("one must be 0")
    return voltage + 2.0 * current


def within_bounds(x, y):
    return (
        x * (y, x, 2.0, x).index(x, 2) + y * (y, x, y).index(y, -2, 5) + ("a", "b").index("b") * x * (1, 2, 1).count(1)
    )


def of_a_list_that_grows(x, y):
    ys = []
    for k in range(3):
        ys.append(k * x)
    return x * ys.count(0.0) + y * ys.index(2 * x)


@pytest.mark.parametrize(
    "function",
    [how_many_are_zero, first_that_is_the_last, true_ones, one_must_be_zero, within_bounds, of_a_list_that_grows],
)
def test_numbers_are_counted_and_found_when_the_program_runs(function: Any) -> None:
    f = grad(function, jit=function is within_bounds)
    for point in ((0.0, 3.0), (3.0, 0.0), (2.0, 2.0), (2.0, 3.0), (0.5, 0.25)):
        try:
            wanted = function(*point)
        except ValueError:
            with pytest.raises(ValueError, match="one must be 0|is not in the tuple"):
                f(*point)
            continue
        assert f(*point) == wanted
    assert grad(how_many_are_zero, jit=False).backward(0.0, 3.0) == (1.0, 1.0)
    assert grad(within_bounds, jit=False).backward(2.0, 3.0) == (4.0, 2.0)


def test_what_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="is not in the tuple or list"):
        grad(lambda x: x * (x, 2.0).index(7.0), jit=False)(1.0)


OFFSETS = np.array([0.1, 0.2, 0.3])


def shifted_by_default(z, offsets=OFFSETS, rest=(OFFSETS * 2, 3.0)):
    return np.sum(offsets[1:] * z) * len(offsets) + rest[0][1] * rest[1]


def with_defaults(z):
    return shifted_by_default(z) + shifted_by_default(z, OFFSETS[::-1]) * z + shifted_by_default(z, rest=(OFFSETS, z))


def test_arrays_that_are_defaults_are_looked_at_in_every_call() -> None:
    f = grad(with_defaults)
    for _ in range(2):
        check_value_and_grad(f, 2.0, rtol=1e-14)
        OFFSETS[1] += 0.5


# ---------------------------------------------------------------------------------------- whole numbers by zero


def rest_of(x, n, k):
    return x[0] * (n % k)


def times_in(x, n, k):
    half = n // k
    return np.sum(x[:half]) * half


def nobody_reads(x, n, k):
    (n + 1) % (k - 2 * k)
    return x[0] * n


def asked_first(x, n, k):
    if k != 0 and n % k == 1:
        return x[0] ** 2
    return x[1] * (n // k if k > 0 else 7)


def of_a_length(x, n, k):
    return x[0] * (n % len(x[:k])) + x[1]


@pytest.mark.parametrize(
    ("function", "jit"),
    [*((f, False) for f in (rest_of, times_in, nobody_reads, of_a_length)), (rest_of, True), (nobody_reads, True)],
)
def test_whole_numbers_by_zero_outside_of_loops(function: Callable[..., Any], jit: bool) -> None:
    f, x = grad(function, jit=jit), np.array([0.5, 1.5, 2.5])
    assert f(x, 5, 2) == function(x, 5, 2)
    check_grad(f, x, 5, 2)
    for call in (function, f, f.backward):
        with pytest.raises(ZeroDivisionError, match="modulo by zero"):
            call(x, 5, 0)


def test_whole_numbers_by_zero_that_are_asked_first() -> None:
    f, x = grad(asked_first, jit=False), np.array([0.5, 1.5, 2.5])
    for k in (0, 1, 2):
        assert f(x, 5, k) == asked_first(x, 5, k)
        check_grad(f, x, 5, k)


def parts_of(x, n):
    return x[0] * (n // 3) + x[1] * (n % 3) + x[2] * (n // 8) + x[3] * (n % 8) + x[4] * (n // 1 + n % 1)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_parts_of_whole_numbers_by_constants(jit: bool) -> None:
    f, x, least = grad(parts_of, wrt="x", jit=jit), np.array([1.0, 10.0, 1e4, 1e8, 1e12]), -(2**63)
    for n in (*range(-25, 26), 2**63 - 1, 2**63 - 2, least, least + 1, least + 7, least + 8):
        assert f(x, n) == parts_of(x, n)
        assert (f.backward(x, n) == [n // 3, n % 3, n // 8, n % 8, n]).all()


def test_no_check_of_divisors_that_are_not_zero_or_in_loops() -> None:
    def f(x, n, k):
        s = x[0] * (n % 3) + (len(x) + 1) // (len(x) + 2)
        for i in range(n):
            s += x[i % k]
        return s

    assert "ZeroDivision" not in grad(f, jit=False).source(np.ones(3), 5, 2)


def at_a_place(x, d, k):
    return x[0, d // k] * 2.0


def in_a_branch(x, d, k):
    if d > 1:
        return x[0, d % k] * 2.0
    return x[0, 0] / 4.0


def in_one_of_two(x, d, k):
    return x[0, 0] * (d / k if d > 1 else 3.0)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("function", [at_a_place, in_a_branch, in_one_of_two])
def test_numbers_by_a_known_zero(function: Callable[..., Any], jit: bool) -> None:
    f, x = grad(function, static="k", jit=jit), np.array([[0.5, 1.5, 2.5]])
    for call in (function, f, f.backward):
        with pytest.raises(ZeroDivisionError, match="(division|modulo) by zero"):
            call(x, 2, 0)
    if function is not at_a_place:
        assert f(x, 1, 0) == function(x, 1, 0)
        check_grad(f, x, 1, 0)


def any_of_items(x, n):
    return np.sum(x) * (2.0 if any(7 % k == 1 for k in (2, n)) else 1.0)


def all_of_items(x, n):
    return np.sum(x) * (2.0 if all(map(lambda k: 7 % k == 0, (2, n))) else 1.0)


def chained(x, n):
    return x[0] if 0 < n <= 7 // n < 9 else x[1]


def between(x, n):
    ok = 0 < n < 9 // n
    return x[0] * ok + x[1]


@pytest.mark.parametrize("function", [any_of_items, all_of_items, chained, between])
@pytest.mark.parametrize("jit", [False, True])
def test_a_divisor_that_python_does_not_come_to_may_be_zero(function: Any, jit: bool) -> None:
    for n in (0, 1, 2, 5):
        assert grad(function, jit=jit, wrt="x")(np.arange(1.0, 4.0), n) == function(np.arange(1.0, 4.0), n)
