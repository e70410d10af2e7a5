"""`return` out of loops, of arrays that the loop writes to: what is returned is the array, not a copy of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import assert_close, check_value_and_grad

from srcgrad import RuntimeUnsupportedError, ShapeError, UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([1.0, 0.2, 0.31, 0.4, 0.52])


def swept_until_still(x, bound):
    y = x.copy()
    for k in range(30):
        moved = 0.0
        for i in range(1, len(x) - 1):
            new = 0.45 * (y[i - 1] + y[i + 1])
            moved += abs(new - y[i])
            y[i] = new
            if moved > 40.0 * bound:
                return y * 0.5, moved
        if moved < bound:
            return y, moved
    return y, 0.0 * x[0]


def never_leaves_otherwise(x, bound):
    y = x.copy()
    while True:
        y[1:-1] = 0.4 * (y[2:] + y[:-2])
        if np.sum(y[1:-1] ** 2) < 1.0 + bound:
            return y


def two_arrays_or_a_part(x, bound):
    y, z = x.copy(), np.zeros(4)
    for k in range(20):
        y[0] *= 1.5
        z[k % 3] = y[0]
        if y[0] > 20.0:
            return z
        if z[0] > bound:
            return y[1:]
        z[1] = 3.0
    else:
        y[1] = 7.0
        return y[1:] * z[0]


def under_conditions(x, bound):
    y = x.copy()
    if bound > 0.5:
        for k in range(20):
            y[0] *= 1.5
            if y[0] > 20.0:
                if k > bound:
                    return y
                y[1] = 2.0
                if y[1] > 10.0:
                    return 3.0 * y
        y[2] = 4.0
    y[3] *= y[0]
    return y


def of_a_function_within(x, bound):
    y = x.copy()

    def grown(z):
        for _ in range(20):
            z[0] *= 1.5
            if z[0] > 20.0 * bound:
                return z
        return z

    r = grown(y)
    y[1] = 3.0 * y[0]
    return r * y


def rebound_to_itself(x, bound):
    y = x * 1.0
    for _ in range(6):
        y[0] *= 1.5
        if y[0] > 4.0 * bound:
            y[2] = y[1]
            return y
        y = y[:]
    y[1] = 0.0
    return y


def from_two_loops(x, bound):
    y = x * 1.0
    for i in range(5):
        for j in range(5):
            y[i] += 0.3 * y[j]
            if y[i] > 2.0 * bound:
                return y
        y[i] *= 0.7
    for i in range(5):
        y[i] *= x[i]
        if y[i] > bound:
            return y
    y[0] = 1.0
    return y


def written_on_one_path(x, bound):
    y = x * 1.0
    z = y if bound > 0.5 else x * 2.0
    if x[0] > bound:
        y[0] = 3.0 * x[1]
        w = y
    else:
        w = z * y
    return w


RIGHT = [
    swept_until_still, never_leaves_otherwise, two_arrays_or_a_part, under_conditions, of_a_function_within,
    rebound_to_itself, from_two_loops, written_on_one_path,
]  # fmt: skip


@pytest.mark.parametrize("bound", [0.01, 0.3, 1.3, 25.0])
@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_returned_from_a_loop(function: Callable[..., Any], bound: float) -> None:
    f = grad(function, wrt="x", jit=False)
    got, want = (value if isinstance(value, tuple) else (value,) for value in (f(X, bound), function(X, bound)))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-15)
    check_grad(f, X, bound)


# ----------------------------------------------------- numbers in lists, dicts and objects: what they are at the end


@dataclass
class Body:
    place: np.ndarray
    mass: float


def listed(p, x):
    s = [x, x]
    for _ in range(3):
        s = [s[0] * p * s[0], s[1]]
    return s


def keyed(p, x):
    s, k = {"v": x, "p": p}, 0
    while s["v"] < 10:
        s["v"] = s["v"] ** 2 + s["p"]
        k += 1
    s["k"] = k
    return s


def nested(p, x):
    s = (x, [x, 2.0])
    for _ in range(3):
        a, b = s
        s = (a * 0.9 + b[1] * a, [b[0] * a, b[1] + p * a])
    return s


def beside_a_list(p, x):
    s = [x, x]
    for _ in range(3):
        s[0] *= p * s[0]
        s[1] *= s[0]
    return s[0], s


def in_an_object(p, x):
    b = Body(np.array([x, 1.0]), p)
    for _ in range(3):
        b.place = b.place - 0.1 * b.mass * b.place
        b.mass *= b.mass * x
    return b


def complex_numbers(p, x):
    s = [x + 1j * p, 1 + 0j]
    for _ in range(3):
        s = [s[0] * s[0] + 1, s[1] * s[0]]
    return s


def numbers(result):
    """What a result holds, in order."""
    parts = vars(result) if isinstance(result, Body) else result
    items = parts.values() if isinstance(parts, dict) else parts if isinstance(parts, (tuple, list)) else None
    return [result] if items is None else [leaf for item in items for leaf in numbers(item)]


HELD = [listed, keyed, nested, beside_a_list, in_an_object, complex_numbers]


@pytest.mark.parametrize("function", HELD, ids=lambda f: f.__name__)
def test_a_value_in_a_container_is_not_what_the_sweep_has_set_it_to(function: Callable[..., Any]) -> None:
    f, given = grad(function, jit=False), (0.7, 1.3)
    want = function(*given)
    ones = f.vjp(*given)[1]
    value, (p_b, x_b) = f.value_and_backward(*given, v=want)
    assert type(value) is type(want)
    for got, wanted in zip(numbers(value), numbers(want), strict=True):
        assert_close(got, wanted, 1e-14, "value")
    assert_close((p_b, x_b), ones(want), 1e-13, "cotangents")


def test_such_a_value_inside_of_another_function() -> None:
    inner = grad(beside_a_list)

    def outer(p, x):
        (a, s), (p_b, x_b) = inner.value_and_backward(p, x, (1.0, [1.0, 2.0]))
        return a + s[1] * p_b + x_b

    a, s = beside_a_list(0.7, 1.3)
    p_b, x_b = inner.backward(0.7, 1.3, (1.0, [1.0, 2.0]))
    assert_close(grad(outer, jit=False)(0.7, 1.3), a + s[1] * p_b + x_b, 1e-14, "value")
    check_grad(grad(outer, jit=False), 0.7, 1.3)
    value, _ = inner.value_and_backward(0.7, 1.3, (1.0, [1.0, 2.0]))  # compiled
    assert_close(value, (a, s), 1e-14, "compiled")


def a_number_of_nothing(x):
    if len(x) < 2:
        return 0.0
    elif x[0] > 50.0:
        return {}
    y = x - np.mean(x)
    if x[0] > 40.0:
        return []
    y[0] = x[0] ** 2
    return y


def a_pair_of_nothing(x):
    if len(x) < 2:
        return math.nan, None
    return np.outer(x, x), np.sum(x**2)


def rows_of_nothing(x):
    if x.size == 0:
        return np.array([])
    return x[:, None] * x


def in_a_call(x):
    return np.sum(x) * a_number_of_nothing(x[1:]) * a_pair_of_nothing(x)[1]


@pytest.mark.parametrize(
    "function", [a_number_of_nothing, a_pair_of_nothing, rows_of_nothing, in_a_call], ids=lambda f: f.__name__
)
def test_a_constant_of_another_kind_is_returned_of_nothing(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    assert_close(f(X), function(X), 1e-14, "value")
    check_grad(f, X)
    with pytest.raises(RuntimeUnsupportedError, match="different kinds on different paths"):
        f(X[:0])


@pytest.mark.parametrize("jit", [False, True])
def test_such_a_constant_is_shown_where_it_is_returned(jit: bool) -> None:
    f = grad(a_number_of_nothing, jit=jit)
    for x, line in ((X[:1], "return 0.0"), (X + 60.0, "return {}"), (X + 45.0, "return []")):
        with pytest.raises(RuntimeUnsupportedError) as caught:
            f.backward(x, x)
        assert line in str(caught.value)


def test_what_would_be_caught_is_refused() -> None:
    def tried(x):
        try:
            return a_number_of_nothing(x)
        except NotImplementedError:
            return x

    with pytest.raises(UnsupportedError, match="different kinds"):
        grad(tried, jit=False)(X)


def test_neither_is_a_constant() -> None:
    with pytest.raises(UnsupportedError, match="different kinds"):
        grad(lambda x: a_part_or_all(x), jit=False)(X)


def a_pair_of_zeros(x):
    if x > 0.0:
        return 0.0, 0.0
    return x * x, np.array([x, 2.0 * x])


def test_of_several_results_of_another_function_one_is_read() -> None:
    def first(x):
        a, _ = a_pair_of_zeros(x[0])
        return a * x[1] + x[1]

    f = grad(first, jit=False)
    for x in (X, -X - 0.1):
        assert_close(f(x), first(x), 1e-14, "value")
        check_grad(f, x)


def a_part_or_all(x):
    if x[0] > 2.0:
        return (x[0], x[1])
    return x


def with_a_message(x):
    return x * 2.0, None, "converged", {"steps": None, "total": np.sum(x) * x[0]}


@pytest.mark.parametrize("jit", [False, True])
def test_none_and_texts_in_a_result(jit: bool) -> None:
    f = grad(with_a_message, jit=jit)
    y, pullback = f.vjp(X)
    assert_close(y[0], X * 2.0, 1e-14, "value")
    assert y[1:3] == (None, "converged")
    assert y[3]["steps"] is None
    want = 2.0 * X + 3.0 * X[0]
    want[0] += 3.0 * np.sum(X)
    for text in (None, "converged"):
        assert_close(pullback((X, None, text, {"steps": None, "total": 3.0})), want, 1e-14, "cotangent")
    with pytest.raises(ShapeError, match=r"v\[1\] must be None"):
        f.backward(X, (X, 1.0, None, {"steps": None, "total": 3.0}))


def root_and_how_it_went(x, tol):
    y, note = x, None
    if x > 4.0:
        note = "large"
    for _ in range(20):
        y = 0.5 * (y + x / y)
        if abs(y * y - x) < tol:
            return y, {"status": "converged", "note": note}
    return y, {"status": "stalled", "note": note}


@pytest.mark.parametrize("jit", [False, True])
def test_texts_and_none_in_a_result_by_the_path(jit: bool) -> None:
    f = grad(root_and_how_it_went, jit=jit)
    for args in ((2.3, 1e-9), (5.0, 1e-9), (5.0, 0.0)):
        assert f(*args) == root_and_how_it_went(*args)
        y, pullback = f.vjp(*args)
        slopes = pullback((1.0, {"status": None, "note": "large"}))
        assert slopes == pytest.approx((0.5 / y[0], 0.0), rel=1e-7)
    with pytest.raises(ShapeError, match="must be None, or like the output, a text"):
        f.backward(2.3, 1e-9, v=(1.0, {"status": 1.0, "note": None}))


def says_how_it_went(x, tol):
    steps = 0
    while x > tol:
        x, steps = x * x / 4.0, steps + 1
    return {"x": 3.0 * x, "message": f"{steps} steps to {x:8.3f} " + "{%5.1f%%}, %r" % (100 * x, [x, steps])}  # noqa: UP031


def of_numbers(x):
    return [v * v for v in x]


def of_numbers_of_pythons(x):
    return x[0], {"positive": [v * 2.0 for v in x.tolist() if v > 0], "k": [int(3 * v) for v in x]}


def of_lists(x):
    table = [[0.0] * len(x) for _ in range(len(x) - 1)]
    for i in range(1, len(x)):
        for j in range(len(x)):
            table[i - 1][j] = float(x[i] * x[j])
    return table


def of_pairs(x):
    return [(v * x[0], k) for k, v in enumerate(x)]


def of_arrays(x):
    states = [x]
    while len(states) < (3 if x[1] > 0.3 else 4):
        states.append(np.sin(states[-1]) * x[0])
    return states


def of_answers(x):
    return [v > 0 for v in x], x[0]


def of_pairs_with_complex_numbers(x):
    return [(v, 1j * v) for v in x]


LISTS = (
    of_numbers, of_numbers_of_pythons, of_lists, of_pairs, of_arrays, of_answers, of_pairs_with_complex_numbers,
)  # fmt: skip


@pytest.mark.parametrize("function", LISTS, ids=lambda function: function.__name__)
def test_lists_as_long_as_a_run_makes_them(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for x in (X, X.astype(np.float32)[::-1]):
        assert repr(f(x)) == repr(function(x))
        check_grad(f, x)


def of_several(x):
    return {
        "rows": of_lists(x),
        "pairs": of_pairs(x),
        "none": [v for v in x if v > 9.0],
        "tuple": tuple(v * v for v in x),
    }


def test_lists_as_long_as_a_run_makes_them_compiled() -> None:
    f = grad(of_several)
    assert repr(f(X)) == repr(of_several(X))
    y, pullback = f.vjp(X)
    assert repr(y) == repr(of_several(X))
    v = {"rows": np.ones((4, 5)), "pairs": np.ones((5, 2)), "tuple": np.ones(5), "none": np.ones(0)}
    want = 2.0 * np.sum(X) + 2.0 * X  # of all products, and of the squares
    assert_close(f.backward(X, v=v), want, 1e-14, "cotangent")
    assert_close(pullback(v), want, 1e-14, "cotangent")
    with pytest.raises(ShapeError, match="must be an array for a list whose length is only known at run time"):
        f.backward(X, v=v | {"none": [1.0, 2.0]})


def says_arrays(x):
    return x * x, f"of {x}"


@pytest.mark.parametrize("jit", [False, True])
def test_numbers_in_a_text_that_is_a_result(jit: bool) -> None:
    f = grad(says_how_it_went, jit=jit)
    assert f(3.0, 0.5) == says_how_it_went(3.0, 0.5)
    assert f.backward(3.0, 0.5, v={"x": 2.0, "message": None}) == pytest.approx((6.4072265625, 0.0), 1e-14)
    with pytest.raises(ShapeError, match="must be None, or like the output, a text"):
        f.backward(3.0, 0.5, v={"x": 1.0, "message": 1.0})


def puts_texts_together(x):
    parts = [f"{v:.2f}" for v in (x, 2.0 * x)]
    return 3.0 * x, ", ".join(parts) + f"{x:g}; " * 2 + "-".join("ab")


def goes_through_its_letters(x):
    return x * sum(1.0 for letter in f"{x}")


def sorts_it(x):
    return x, sorted([f"{x}", "2"])


def fills_it_again(x):
    return x, (f"{x}" + " %d") % 3


def reads_it(x):
    return x * float(f"{x:.1f}")


def names_an_attribute(x):
    return x * getattr(math, f"pi{x}", 2.0)


def reads_it_as_complex(x):
    return x * complex(f"{x:.1f}").real


def reads_it_as_numpys(x):
    return x * np.float64(f"{x:.1f}")


def says_what_was(x):
    s, n = x, 2
    texts = [f"{s}", "%.2f %d" % (s, n), str(s), f"{[s]}"]  # noqa: UP031
    for _ in range(3):
        s, n = s * x, n + 1
    if s > 0.1:
        raise ValueError(texts[0])
    return s, texts, f"{s} {n}"


def test_a_text_says_what_numbers_were_when_it_was_made() -> None:
    f = grad(says_what_was, jit=False)
    assert f(0.5) == says_what_was(0.5)
    assert f.backward(0.5, v=(1.0, [None] * 4, None)) == 0.5
    with pytest.raises(ValueError, match="0.75"):
        f(0.75)


def raises_what_was(x):
    error, y = ValueError(x, (x, 2)), np.array([x])
    other = ValueError(y[0])
    for _ in range(3):
        x = x * x
        y[0] = x
    if x > 0.5:
        raise other
    if x > 0.1:
        raise error
    return x


def test_an_error_holds_what_numbers_were_when_it_was_made() -> None:
    f = grad(raises_what_was, jit=False)
    for x in (0.95, 0.85):
        with pytest.raises(ValueError) as want:
            raises_what_was(x)
        with pytest.raises(ValueError) as got:
            f(x)
        assert got.value.args == want.value.args


def says_it_with_its_own_digits(x):
    return x[0], f"{x[0]} {x[0]!s} {x[0]!r}", str(x[0]), f"{[x[0]]}", "%s" % x[0]  # noqa: UP031


def test_digits_of_float32_in_a_text() -> None:
    x = np.array([0.1], np.float32)
    assert grad(says_it_with_its_own_digits, jit=False)(x) == says_it_with_its_own_digits(x)


def says_it_by_the_path(x):
    if x > 0.0:
        return x, f"{x}"
    return x, f"{2.0 * x}"


def says_it_in_turn(x):
    text = f"{x}"
    for k in range(3):
        text = f"{x * k}"
    return x, text


def says_it_out_of_a_loop(x):
    for k in range(3):
        if x * k > 1.0:
            return x, f"{x * k}"
    return x, "none"


def says_it_where_an_error_may_be(x):
    text = f"{x}"
    if x < 1.0:
        text = f"{2.0 * x}"
    if x < 3.0:
        raise ValueError(text)
    return x


def says_it_deep_down(x):
    def half(y):
        return f"{y}" if y < 1.0 else half(y / 2.0)

    return x, half(x)


@pytest.mark.parametrize(
    "function",
    [
        says_it_by_the_path,
        says_it_in_turn,
        says_it_out_of_a_loop,
        says_it_where_an_error_may_be,
        says_it_deep_down,
    ],
    ids=lambda function: function.__name__,
)
def test_texts_of_other_numbers_by_the_path_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="kind"):
        grad(function, jit=False)(0.75)


def test_texts_with_numbers_are_put_together() -> None:
    f = grad(puts_texts_together, jit=False)
    assert f(0.75) == puts_texts_together(0.75)
    assert f.backward(0.75, v=(2.0, None)) == 6.0


@pytest.mark.parametrize(
    "function",
    [
        goes_through_its_letters,
        sorts_it,
        fills_it_again,
        reads_it,
        names_an_attribute,
        reads_it_as_complex,
        reads_it_as_numpys,
    ],
    ids=lambda function: function.__name__,
)
def test_nothing_is_computed_of_a_text_with_numbers(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="a text of numbers that are only known at run time is for messages"):
        grad(function, jit=False)(0.75)


def test_arrays_in_a_text_that_is_a_result() -> None:
    with pytest.raises(UnsupportedError, match="a text with arrays or objects in it is no result"):
        grad(says_arrays, jit=False)(X)


def test_none_and_texts_in_the_result_of_another_function() -> None:
    inner = grad(with_a_message, jit=False)

    def outer(x):
        y, message = inner(x)[3], inner(x)[2]
        return x * y["total"] * (1.0 if y["steps"] is None and message == "converged" else 5.0)

    check_grad(grad(outer, jit=False), X)


# ------------------------------------------------------------------------- dicts, lists and objects out of a loop


def found_as_a_dict(x):
    for i in range(len(x)):
        if x[i] > 1:
            return {"i": i, "v": x[i] * x[0]}
    return {"i": -1, "v": 0.0}


def made_ahead_of_the_question(x):
    for v in x:
        found = [v * 2, v**2]
        if v > 1:
            return found
    return [0.0, 1.0]


class Found:
    def __init__(self, place, value):
        self.place, self.value = place, value


def look(x):
    k = 0
    while k < len(x):
        if x[k] > 1:
            return Found(k, x * x[k])
        k += 1
    return Found(-1, x)


def found_by_a_function(x):
    found = look(x)
    return np.sum(found.value) * x[found.place]


def in_two_loops(x):
    for i in range(len(x)):
        for k in range(i):
            if x[i] * x[k] > 2:
                return {"at": (i, k), "of": [x[i], x[k]]}
    return {"at": (0, 0), "of": [0.0, 0.0]}


@pytest.mark.parametrize("x", [[0.5, 1.5, 2.5, 0.7], [-2.0, -1.0, 0.5], [2.0, 3.0]])
@pytest.mark.parametrize("function", [found_as_a_dict, made_ahead_of_the_question, found_by_a_function, in_two_loops])
@pytest.mark.parametrize("jit", [False, True])
def test_a_dict_list_or_object_out_of_a_loop(function: Any, x: list[float], jit: bool) -> None:
    x = np.array(x)
    f = grad(function, jit=jit)
    assert f(x) == function(x)
    if function is found_by_a_function:
        check_grad(f, x)
    elif function is found_as_a_dict:
        slope = lambda h: (function(x + h)["v"] - function(x - h)["v"]) / 2e-6
        expected = [slope(h) for h in 1e-6 * np.eye(len(x))]  # (exact: quadratic)
        assert np.allclose(f.backward(x, v={"i": 0, "v": 1.0}), expected)


def test_one_that_something_else_holds_is_refused() -> None:
    def held(x):
        made = {"v": 1.0}
        kept = [made]

        def find():
            for v in x:
                if v > 1:
                    return made
            return {"v": v}

        found = find()
        kept[0]["v"] = 9.0
        return found["v"]

    with pytest.raises(UnsupportedError):
        grad(held, jit=False)(np.array([0.5, 1.5]))


def look_for_two(x):
    for i in range(4):
        for k in range(4):
            if x[i] + x[k] > 1:
                return Found([x[i], 1.0], {"of": x[k]})
    return Found([x[0], x[1]], {"of": 3.0})


def changed_by_who_called(x):
    found = look_for_two(x)
    second = found
    second.place[0] *= 2
    found.value["of"] += found.place[0]
    return found.place[0] * second.value["of"] + found.place[1]


def sums_of_found(x):
    total = 0
    for k in range(3):
        found = found_as_a_dict(x * (k + 1))
        found["v"] *= x[k]
        total += found["v"]
    return total


@pytest.mark.parametrize("x", [[0.3, 1.7, -0.4, 2.6], [-0.3, -1.7, -0.4, -2.6]])
@pytest.mark.parametrize("function", [changed_by_who_called, sums_of_found])
def test_what_was_returned_out_of_a_loop_is_changed(function: Any, x: list[float]) -> None:
    x = np.array(x)
    f = grad(function, jit=False)
    check_value_and_grad(f, x, rtol=1e-12)
