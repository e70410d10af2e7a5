"""What fails whatever the data are: where a run comes to it, and not on a path that it does not take."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import IndexArgumentError, NameArgumentError, NoneArgumentError, UnsupportedError, grad
from srcgrad.testing import check_grad

TABLE = (0.1, 0.2, 0.3)
ROWS = [np.array([1.0, 2.0]), np.array([2.0, 3.0, 4.0]), np.array([3.0])]
BY_NAME = {"steel": 1.0}


def product(x, w=None):
    if x > 10.0:
        return x * w
    return x * x


def function_of(x, w=None):
    if x > 10.0:
        return np.log(w) * x
    return x * x


def element(x, w=None):
    if x > 10.0:
        return w[0] * x
    return x * x


def attribute(x, w=None):
    if x > 10.0:
        return w.sum() * x
    return x * x


def chosen(x, w=None):
    y = x * w if x > 10.0 else x * x
    return y * x


def asked(x, w=None):
    if x > 10.0 and w > 1.0:
        return x
    return x * x


def on_both_sides(x, w=None):
    if x > 10.0:
        x = (x * w if x > 20.0 else x / w) + 1.0
    return x * x


def in_a_loop_on_both_sides(x, w=None):
    for k in range(3):
        if x > 10.0 + k:
            x += x * w if x > 20.0 else x / w
    return x * x


def length(x, w=None):
    if x > 10.0:
        return len(w) * x
    return x * x


def called(x, w=None):
    if x > 10.0:
        return w(x)
    return x * x


def added_in_a_loop(x, w=None):
    if x > 10.0:
        for _ in range(3):
            x = x + w
    return x * x


def quotient_of_two(x, w=None, u=None):
    if x > 10.0:
        return x * (w / u) ** 0.25
    return x * x


def item(x):
    if x > 10.0:
        return TABLE[3] * x
    return x * x


def key(x):
    if x > 10.0:
        return BY_NAME["copper"] * x
    return x * x


def name(x, wanted=False):
    if wanted:
        found = x
    if x > 10.0:
        return found * x
    return x * x


def name_in_a_loop(x, wanted=False):
    if wanted:
        steps = 0
    for _ in range(4):
        x = 0.5 * (x + 2.0 / x)
        if x > 1e3:
            steps = steps + 1
            break
    return x


def imported(x):
    if x > 10.0:
        import nothing_of_that_name

        return nothing_of_that_name.special(x)
    return x * x


def of_ragged_rows(x):
    for i in range(len(TABLE)):
        low, high = TABLE[i], TABLE[i + 1]
        if low <= x <= high:
            return np.polyval(ROWS[i], x) + (x - low) * (ROWS[i + 1][0] - ROWS[i][0])
    return x


def caught(x, w=None):
    try:
        if x > 10.0:
            y = x * w
        else:
            y = x * x
    except TypeError:
        y = 3.0 * x
    return y


TAKEN = [
    (product, TypeError), (function_of, TypeError), (element, TypeError), (attribute, AttributeError),
    (length, TypeError), (called, TypeError), (added_in_a_loop, TypeError), (quotient_of_two, TypeError),
    (item, IndexError), (chosen, TypeError), (asked, TypeError), (on_both_sides, TypeError),
    (in_a_loop_on_both_sides, TypeError),
    (key, KeyError), (imported, ImportError), (name, NameError),
]  # fmt: skip


@pytest.mark.parametrize(("function", "kind"), TAKEN, ids=lambda part: part.__name__)
def test_paths(function, kind):
    f = grad(function, jit=False)
    check_grad(f, 1.5)
    for call in (lambda: f(11.0), lambda: f.backward(11.0)):
        with pytest.raises(kind) as caught:
            call()
        assert "test_when_reached.py" in str(caught.value) or function is name  # (which Python says itself)


@pytest.mark.parametrize(("function", "place"), [(name_in_a_loop, 1.5), (of_ragged_rows, 0.15), (of_ragged_rows, 0.25)])
def test_paths_not_taken(function, place):
    assert grad(function, jit=False)(place) == function(place)
    check_grad(grad(function, jit=False), place)


def test_caught():
    f = grad(caught, jit=False)
    assert (f(2.0), f(11.0)) == (4.0, 33.0)
    assert (f.backward(2.0), f.backward(11.0)) == (4.0, 3.0)


def test_caught_attribute():
    def attribute_of_none(x, w=None):
        try:
            y = x * x
            if x > 10.0:
                y = w.size * x
        except TypeError:
            y = 2.0 * x
        except AttributeError:
            y = 3.0 * x
        return y

    f = grad(attribute_of_none, jit=False)
    assert f.backward(11.0) == 3.0


def test_compiled():
    f = grad(product)
    assert f.backward(1.5) == 3.0
    with pytest.raises(TypeError, match="NoneType"):
        f.backward(11.0)


def test_what_every_run_comes_to_is_refused_ahead():
    def in_the_open(x, w=None):
        return x * w

    def in_a_loop(x):
        for _ in range(3):
            x = x * nothing_of_that_name  # noqa: F821
        return x

    with pytest.raises(NoneArgumentError):
        grad(in_the_open, jit=False).backward(1.0)
    with pytest.raises(NameArgumentError):
        grad(in_a_loop, jit=False).backward(1.0)


def key_of_the_first_iteration(x):
    d, s = {}, x
    for i in range(4):
        if i > 0:
            s = s + d["p"] * x
        if i == 0:
            d["p"] = s * 2.0
    return s


def key_that_is_asked_for(x):
    d, s = {}, x
    for i in range(4):
        if "p" in d:
            s = s + d["p"] * x
        if i == 1:
            d["p"] = s * 2.0
    return s


def attribute_that_is_asked_for(x, n=4):
    place, s = SimpleNamespace(q=1.0), x
    for _ in range(n):
        if hasattr(place, "p"):
            s = s + place.p * x
        if s > 1.0:
            place.p = s * 2.0
    return s


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("function", [key_of_the_first_iteration, key_that_is_asked_for], ids=lambda f: f.__name__)
def test_keys_that_a_branch_sets_are_there_in_the_next_iteration(function, x):
    f = grad(function, jit=False)
    check_value_and_grad(f, x, rtol=1e-14)


def test_attributes_that_a_branch_sets_in_a_loop_are_refused():
    with pytest.raises(UnsupportedError, match="by the path taken"):
        grad(attribute_that_is_asked_for, jit=False)(1.5)


def test_what_numpy_compares_with_none_is_no_error_of_python():
    def compared(x, w=None):
        if x[0] > 0.0:
            return x[0] * 2.0 if np.any(np.equal(x, w)) else x[0]
        return x[1]

    with pytest.raises(UnsupportedError, match="NoneType"):
        grad(compared, jit=False)(np.ones(2))


def test_errors_that_are_found_out_later_are_no_errors_of_the_path():
    def later(x, w=None):
        items, s = [], x[0]
        if x[0] > 0.0:
            if x[0] > 50.0:
                s = s * w
            for i in range(len(x)):
                if x[i] > 5.0:
                    s = s + items[0]
                s = s * x[i]
        return s

    with pytest.raises(IndexArgumentError):
        grad(later, jit=False)(np.ones(3))
