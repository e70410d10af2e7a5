"""Sets, dicts with keys of any kind, defaultdict, and `next`: what is known is evaluated away, as Python would."""

from __future__ import annotations

import collections
import itertools
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.errors import ArgumentError, UnsupportedError
from srcgrad.testing import check_grad

X = np.array([1.25, 2.0, 3.25, 4.0])
CHOSEN = {0, 2}
LINKS = {(0, 1): 2.0, (1, 0): 3.0}


def visits(x):
    seen, total = set(), 0.0
    for k in (1, 2, 1, 3):
        if k in seen:
            continue
        seen.add(k)
        total += x[k]
    return total


def held_by_two_names(x):
    s = {0}
    other = s
    other |= {1}
    mine = s | {2}
    frozen = frozenset(mine)
    frozen |= {3}
    return sum(x[k] for k in s) * sum(x[k] for k in mine) * sum(x[k] for k in frozen)


def copies(x):
    s = {0, 1}
    left = s.copy()
    left.discard(0)
    left.discard(7)
    return sum(x[k] for k in s) * sum(x[k] for k in left)


def of_the_module(x):
    mine = set(CHOSEN)
    mine.add(1)
    return sum(x[k] for k in CHOSEN) * sum(x[k] for k in mine - CHOSEN) + sum(x[k] for k in {3} | CHOSEN)


def taken_out(x):
    one, two = {3}, {1, 2}
    last = one.pop()
    first = two.pop()
    return x[last] * x[first] * 3.0 + x[two.pop()] * (1 + len(one) + len(two))


def chosen_by_the_data(x):
    return x[1] ** 2 if int(x[0]) in {1, 5} else x[2]


def pairs(x):
    return sum(x[i] * x[j] for i, j in sorted({(0, 1), (1, 2), (0, 1)}))


def algebra(x):
    a, b = {1, 2}, {2, 3}
    total = 0.0
    for k in (a & b) | (a ^ b):
        total += x[k] ** k
    if a - b < a and not a <= b and a != b and {1.0, True} == {1}:
        total *= len(a | b)
    return total


def keyed_by_pairs(x):
    table = {}
    for i in range(3):
        for j in range(i):
            table[i, j] = x[i] * x[j]
    return sum(v for (i, j), v in table.items() if i - j == 1) + x[0] * LINKS[0, 1]


def found_by_the_data(x):
    return x[1] * LINKS[int(x[0]), 0]


def memoized(x):
    known = {}

    def of(n):
        if n in known:
            return known[n]
        out = x[0] * n + x[n] if n < 2 else of(n - 1) * of(n - 2)
        known[n] = out
        return out

    return of(5)


def grouped(x):
    groups = collections.defaultdict(list)
    for k, name in enumerate(("a", "b", "a")):
        groups[name].append(x[k])
    return sum(groups["a"]) * groups["b"][0] + len(groups["c"])


def summed_by_key(x):
    sums = collections.defaultdict(float)
    for k, name in enumerate(("a", "b", "a", "b")):
        sums[name] += x[k] ** 2
    return sums["a"] * sums["b"] if isinstance(sums, collections.defaultdict) else x[0]


def first_of_several(x):
    return next(v for v in x if v > 1.5) * next((k for k in range(4) if x[k] > 2.5), -1)


def first_or_else(x):
    return next((v for v in x if v > 15.0), x[0] * 3.0)


def first_raises(x):
    try:
        return x[1] * next(k for k in (3, 2, 1) if k < 0)
    except StopIteration:
        return x[0] ** 2


def zipped_to_the_longest(x):
    total = 0.0
    for a, b in itertools.zip_longest(x, x[:2], fillvalue=5.0):
        total += a * b
    return total


def chained(x):
    return sum(itertools.chain.from_iterable([[x[0], x[1]], [x[2] * x[3]]]))


def first_and_no_more(x):
    taken, rows = [], {}

    def take(k):
        taken.append(k)
        if k == 2:
            raise ValueError("nobody asks for this one")
        return rows.setdefault(k, x[k] * x[k])

    return next(take(k) for k in range(4) if k > 0) * len(taken) * len(rows)


def set_by_default(x):
    d = {}
    a = d.setdefault("a", np.zeros(2))
    a[0] += x[0] ** 2
    b = collections.defaultdict(lambda: np.zeros(2))
    c = b["c"]
    c[1] += x[1]
    return d["a"].sum() * b["c"].sum()


def methods_handed_on(x):
    s, out = {0}, []
    list(map(s.add, (1, 2)))
    list(map(out.append, (x[0], x[1] ** 2)))
    return sum(x[k] for k in s) * sum(out)


def made_of_keys(x):
    sums = dict.fromkeys(("a", "b"), 0.0)
    sums["a"] += x[0]
    of_one_array = dict.fromkeys("uv", np.zeros(2))
    of_one_array["u"][0] += x[1] * x[2]
    of_one_list = collections.OrderedDict.fromkeys([1, 2], [])
    of_one_list[1].append(x[3])
    nothing = dict.fromkeys(["n"])
    if nothing["n"] is None:
        nothing["n"] = x[1] ** 2
    return sums["a"] + sums["b"] + of_one_array["v"][0] + 7.0 * of_one_list[2][0] + nothing["n"]


def ordered_dicts(x):
    d = collections.OrderedDict([("a", x[0]), ("b", x[1]), ("c", x[2])])
    key, value = d.popitem(last=False)
    same = d == collections.OrderedDict([("c", x[2]), ("b", x[1])])
    joined = collections.defaultdict(float, a=x[3]) | {"b": x[0]}
    joined["z"] += x[1]
    return value * (2.0 if key == "a" and not same else 1.0) + joined["a"] * joined["z"]


def views(x):
    d = {"a": x[0], "b": x[1]}
    return sum(d[k] for k in d.keys() & {"b"}) if d.keys() == {"b", "a"} and not hasattr(d, "first") else x[2]


def taken_out_in_a_loop(x):
    d = {0: x[0], 1: x[1], 2: x[2]}
    for k in d:
        if k == 1:
            d.pop(k)
            break
    for k in list(d):
        d[k + 5] = d[k] * x[3]
    return sum(d.values()) * len(d)


PROGRAMS = [
    first_and_no_more, set_by_default, methods_handed_on, made_of_keys, ordered_dicts, views, taken_out_in_a_loop,
    visits, held_by_two_names, copies, taken_out, of_the_module, chosen_by_the_data, pairs, algebra, keyed_by_pairs,
    found_by_the_data, memoized, grouped, summed_by_key, first_of_several, first_or_else, first_raises,
    zipped_to_the_longest, chained,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_plain(f) -> None:
    g = grad(f, jit=False)
    assert g(X) == f(X)
    check_grad(g, X)


@pytest.mark.parametrize("f", [first_of_several, zipped_to_the_longest, found_by_the_data], ids=lambda f: f.__name__)
def test_compiled(f) -> None:
    g = grad(f)
    assert g(X) == f(X)
    check_grad(g, X)


def test_a_set_of_the_module_that_changes_is_seen(monkeypatch) -> None:
    g = grad(lambda x: sum(x[k] for k in CHOSEN), jit=False)
    assert g.backward(X).tolist() == [1, 0, 1, 0]
    monkeypatch.setitem(globals(), "CHOSEN", {3})
    assert g.backward(X).tolist() == [0, 0, 0, 1]


def test_keys_of_arguments_and_results() -> None:
    def f(x, table):
        return {(0, 1): x * table[1, 0], None: x.sum()}

    g = grad(f, jit=False)
    x_b, table_b = g.backward(X, {(1, 0): 2.0}, {(0, 1): X, None: 1.0})
    assert x_b.tolist() == (2 * X + 1).tolist() and table_b == {(1, 0): (X * X).sum()}


def test_ordered_dicts_are_mirrored() -> None:
    g = grad(lambda params: params["w"] * params["n"], jit=False)
    params_b = g.backward(collections.OrderedDict(w=2.0, n=3))
    assert type(params_b) is collections.OrderedDict and params_b == {"w": 3.0}


def test_keys_that_are_equal_are_not_the_same_to_a_reader() -> None:
    def f(table):
        return {key: value * 2 for key, value in table.items()}

    g = grad(f, jit=False)
    for key in (1, True, 1.0):
        (found,) = g({key: X})
        assert type(found) is type(key)


def test_a_defaultdict_that_makes_items_is_no_argument() -> None:
    g = grad(lambda d: d["a"] * 2.0, jit=False)
    assert g(collections.defaultdict(None, a=2.0)) == 4.0
    with pytest.raises(ArgumentError, match="argument d is a defaultdict"):
        g(collections.defaultdict(float, a=2.0))


def test_check_grad_keeps_the_class_of_dicts() -> None:
    def f(d):
        return d["a"] ** 2 if isinstance(d, collections.OrderedDict) else d["a"]

    check_grad(grad(f, jit=False), collections.OrderedDict(a=2.0))


def test_a_defaultdict_is_returned() -> None:
    def f(x):
        out = collections.defaultdict(float)
        out["a"] += x
        return out

    assert grad(f, jit=False)(2.0) == {"a": 2.0}
    assert grad(f, jit=False).backward(2.0, {"a": 3.0}) == 3.0


def grows_in_a_loop(x):
    s = {0}
    for k in range(len(x)):
        s.add(k)
    return x[0] * len(s)


def of_the_data(x):
    return len({x[0], x[1]}) * x[0]


def changes_the_modules(x):
    s = CHOSEN
    s |= {1}
    return x[0]


def by_the_path(x):
    s = {0}
    if x[0] > 0:
        s.add(1)
    return x[0] * len(s)


class Point:
    def __init__(self, place):
        self.place = place


def objects_as_keys(x):
    return x[0] * len({Point(1), Point(1)})


def changed_while_run_over(x):
    d = {0: x[0]}
    for k in d:
        d[k + 1] = x[1]
    return d[1]


def method_as_a_default(x):
    ys = [x[0]]
    d = collections.defaultdict(ys.copy)
    ys.append(x[1])
    return sum(d["a"])


def number_in_a_text(x):
    return x[0] if f"{len(x)}"[0] == "4" else x[1]


def length_of_a_text(x):
    return x[0] * len(f"{x[1]}")


NOT_KNOWN = [
    grows_in_a_loop, of_the_data, changes_the_modules, by_the_path, objects_as_keys, changed_while_run_over,
    method_as_a_default, number_in_a_text, length_of_a_text,
]  # fmt: skip


@pytest.mark.parametrize("f", NOT_KNOWN, ids=lambda f: f.__name__)
def test_what_is_not_known_is_refused(f) -> None:
    with pytest.raises(UnsupportedError):
        grad(f, jit=False).backward(X)
    assert CHOSEN == {0, 2}


def a_key_of_one_branch(x):
    d = {"p": x[0]}
    if x[1] > 0:
        d["q"] = x[1]
    return d["p"]


def a_key_of_a_branch_in_a_branch(x):
    d, y = {"p": x[0]}, 1.0
    if x[1] > 5:
        y = 2.0
    elif x[0] > 0:
        d["q"] = x[1]
    return d["p"] * y


@pytest.mark.parametrize("f", [a_key_of_one_branch, a_key_of_a_branch_in_a_branch], ids=lambda f: f.__name__)
def test_keys_of_one_path_are_refused_by_the_name_of_the_dict(f) -> None:
    with pytest.raises(UnsupportedError, match="d gets other keys or attributes by the path taken: q"):
        grad(f, jit=False).backward(X)


def at_a_place(x):
    return x[0] * {1, 2}.pop(0)


def as_an_array(x):
    return x + np.array({1})


def returned(x):
    return x, {1}


def ordered(x):
    return x[0] if {1: 2} < {1: 3} else x[1]


@pytest.mark.parametrize("f", [at_a_place, as_an_array, returned, ordered], ids=lambda f: f.__name__)
def test_what_python_refuses_or_nobody_can_differentiate(f) -> None:
    with pytest.raises((UnsupportedError, ArgumentError)):
        grad(f, jit=False).backward(X, X)


def test_next_of_what_others_hold_is_refused() -> None:
    def f(x):
        squares = (v * v for v in x)
        return next(squares) * next(squares)

    with pytest.raises(UnsupportedError, match="next"):
        grad(f, jit=False).backward(X)


# ------------------------------------------------------------------- keys that a run chooses among those that are known

NAMES = ["a", "b", "c"]


def added_by_name(x):
    d = {"a": 0.0, "b": 0.0, "c": 0.0}
    for i in range(len(x)):
        d[NAMES[i % 3]] += x[i] * x[i]
    return d["a"] * d["b"] + d["c"]


def added_by_name_in_a_nest(x):
    d = dict.fromkeys(NAMES, 0.0)
    for i in range(len(x)):
        for k in range(i):
            d[NAMES[(i + k) % 3]] -= x[i] * x[k] * d["a"] + 1
    return d


def scaled_by_name(x):
    d = {"a": x[:2] * 1.0, "b": x[2:4] * 1.0}
    n = 0
    for v in x:
        d[("a", "b")[n]] *= v
        n = 1 - n
    return d["a"] @ d["b"]


def name_of(v):
    return "high" if v > 1 else "low"


def added_by_a_functions_name(x):
    d = {"low": 0.0, "high": 1.0}
    for v in x:
        d[name_of(v)] += v * v
    return d["low"] * d["high"]


def added_by_number(x):
    d = {0: 0.0, 1: 0.0, 2: 0.0}
    e = d
    for i in range(len(x)):
        d[i % 3] += x[i] * x[i]
    return e[0] * e[1] + e[2]


def scaled_by_truth(x):
    d = {True: 1.0, False: 2.0}
    for v in x:
        d[v > 1] *= v
    return d[True] * d[False]


@pytest.mark.parametrize(
    "function",
    [
        added_by_name, added_by_name_in_a_nest, scaled_by_name, added_by_a_functions_name, added_by_number,
        scaled_by_truth,
    ],
)  # fmt: skip
@pytest.mark.parametrize("jit", [False, True])
def test_an_item_under_a_key_that_a_run_chooses(function: Any, jit: bool) -> None:
    x = np.array([0.5, 1.5, 2.5, 0.7])
    f = grad(function, jit=jit)
    got, expected = f(x), function(x)
    assert got == pytest.approx(expected)
    if isinstance(expected, float):
        check_grad(f, x)


def under_no_key(x):
    d = {0: 0.0, 5: 0.0}
    for i in range(len(x)):
        d[i % 3] += x[i]
    return d[0]


def test_a_number_that_is_no_key() -> None:
    for f in (under_no_key, grad(under_no_key, jit=False)):
        with pytest.raises(KeyError):
            f(np.ones(3))
