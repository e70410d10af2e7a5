"""The public face: decorating, calling, dtypes and structure of results, captured values, argument errors."""

from __future__ import annotations

import pickle
import threading
from collections import Counter, namedtuple
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

import srcgrad
from srcgrad import check_grad, grad, pipeline
from srcgrad.errors import OptionError

Pair = namedtuple("Pair", "a b")
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
modes = pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])


def square(x):
    return x * x


def dot(x, w):
    return (x * w).sum()


def power(x, p=2):
    return x**p


def same(value: Any, expected: Any) -> bool:
    """Equal to the type and the dtype."""
    if isinstance(expected, tuple):
        return type(value) is type(expected) and len(value) == len(expected) and all(map(same, value, expected))
    if isinstance(expected, np.ndarray):
        return type(value) is np.ndarray and value.dtype == expected.dtype and np.array_equal(value, expected)
    return type(value) is type(expected) and value == expected


# --------------------------------------------------------------------------------------------------------------
# Decorating


def test_decorates_with_and_without_arguments():
    @grad
    def f(x):
        "Squares."
        return x * x

    @grad(jit=False)
    def g(x):
        return x * x

    h = grad(square, jit=False)
    assert f(3.0) == g(3.0) == h(3.0) == 9.0
    assert (f.__name__, f.__doc__, f.__module__) == ("f", "Squares.", __name__)
    assert h.py_func is square and grad(h).py_func is square


@grad(jit=False)
def decorated(x):
    return x * x


def test_pickled_by_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_target():
    assert grad(square, target="cpu")(3.0) == 9.0
    with pytest.raises(ValueError, match="(?s)target='abacus'.*cpu.*cuda"):
        grad(square, target="abacus")


@pytest.mark.parametrize("wrt", ["y", 1, -2, ("x", "y"), (), ("x", 0), 1.5, True])
def test_wrt_is_checked_at_decoration(wrt):
    with pytest.raises(ValueError, match="wrt="):
        grad(square, wrt=wrt)


def test_outputs_are_checked_at_decoration():
    with pytest.raises(ValueError, match=r"outputs='u': square has no such argument\n  help: its arguments are x"):
        grad(square, outputs="u")
    with pytest.raises(ValueError, match="names an argument twice"):
        grad(square, outputs=("x", "x"))


def test_outputs_have_the_order_of_their_names():
    def f(x, y, z):
        y[:] = x**2
        z[:] = x**3

    x, v, w = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])
    for outputs, cotangents in ((("y", "z"), (v, w)), (("z", "y"), (w, v))):
        g = grad(f, wrt="x", outputs=outputs, jit=False)
        y, x_b = g.value_and_backward(x, np.zeros(2), np.zeros(2), cotangents)
        np.testing.assert_allclose(x_b, 2 * x * v + 3 * x**2 * w)
        np.testing.assert_allclose(y[outputs.index("z")], x**3)
        check_grad(g, x, np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("thing, why", [(np.sin, "ufunc"), (len, "builtin_function"), (Pair, "a class")])
def test_what_has_no_source(thing, why):
    with pytest.raises(srcgrad.SourceError, match=f"has no Python source: it is .*{why}"):
        grad(thing)


@pytest.mark.parametrize("known", [scipy.linalg.solve, scipy.stats.norm.logpdf])
def test_what_is_known_by_a_rule(known):
    """Their source is SciPy's own machinery: an error in there says nothing to the user."""
    with pytest.raises(srcgrad.SourceError, match=r"known by a rule.*\n.*wrap it in a function of its own"):
        grad(known)


def test_what_is_no_function():
    with pytest.raises(TypeError, match="grad takes a function, not a int"):
        grad(3)


# --------------------------------------------------------------------------------------------------------------
# Results: dtype, weak and strong numbers, structure


@modes
@pytest.mark.parametrize("x", [3.0, np.float64(3), np.float32(3)], ids=repr)
def test_scalars_keep_their_type(jit, x):
    f = grad(square, jit=jit)
    assert same(f(x), square(x))
    assert same(f.backward(x), 2 * x)
    assert same(f.value_and_backward(x), (square(x), 2 * x))
    y, pullback = f.vjp(x)
    assert same(y, square(x)) and same(pullback(), 2 * x) and same(pullback(2 * x), 4 * x * x)


@modes
@pytest.mark.parametrize("x", [3, True, np.int8(3), np.int64(3), np.bool_(True), np.uint16(3)], ids=repr)
def test_integer_primals_keep_their_type(jit, x):
    assert same(grad(lambda x: x | x, jit=jit)(x), x | x)


@modes
def test_arrays_of_one_python_type_and_several_dtypes(jit):
    f = grad(square, jit=jit)
    for dtype in (np.float64, np.float32):
        for shape in ((3,), (2, 2), ()):
            x = np.full(shape, 3, dtype)
            value, x_b = f.value_and_backward(x, np.ones(shape))
            assert same(x_b, np.asarray(2 * x))
            assert np.asarray(value).dtype == dtype


def swap(pair, s):
    return Pair(pair[1] * s, (pair[0], s)), [s]


@modes
def test_tuples_in_and_out(jit):
    f = grad(swap, jit=jit)
    x = np.array([1.0, 2.0])
    expected = (Pair(6.0, (np.float32(1), 3.0)), [3.0])
    got = f((np.float32(1), 2.0), 3.0)
    assert same(got[0], expected[0]) and got[1] == [3.0]
    assert same(f(Pair(x, 2.0), 3.0)[0], Pair(6.0, (x, 3.0)))
    v = (Pair(1.0, (np.ones(2), 0.0)), [1.0])
    pair_b, s_b = f.backward((x, 2.0), 3.0, v)
    assert same(pair_b, (np.ones(2), 3.0)) and same(s_b, 3.0)


def returns_an_inner_pair():
    Inner = namedtuple("Pair", "a b")  # of one name with the other, and with every other call's

    def f(x):
        return Inner(x * 2.0, x + 1.0)

    return Inner, f


@modes
def test_classes_of_one_name(jit):
    for _ in range(2):
        kind, f = returns_an_inner_pair()
        assert type(grad(f, jit=jit)(1.5)) is kind


@modes
def test_defaults_and_keywords(jit):
    f = grad(power, jit=jit)
    assert f(3.0) == f(x=3.0) == f(3.0, 2) == f(p=2, x=3.0) == 9.0
    assert f(3.0, p=3) == 27.0
    assert f.backward(3.0) == f.backward(3.0, 2) == f.backward(x=3.0) == 6.0
    assert f.backward(3.0, 2, 10.0) == f.backward(3.0, v=10.0) == f.backward(3.0, 2, v=10.0) == 60.0
    assert f.backward(3.0, p=3) == f.backward(3.0, 3) == 27.0  # v is one more parameter, behind f's own
    assert f.backward(3.0, v=None) == 6.0


def test_keyword_only_parameters_stand_behind_v():
    @grad(jit=False)
    def f(x, *, p=2):
        return x**p

    assert f.backward(3.0, 10.0) == f.backward(3.0, 10.0, p=2) == 60.0
    assert f.backward(3.0, p=3) == 27.0
    with pytest.raises(TypeError):
        f(3.0, 3)


def test_a_parameter_called_v():
    f = grad(lambda x, v: x * v, jit=False)
    assert f.backward(3.0, 2.0) == f.backward(3.0, v=2.0) == (2.0, 3.0)
    assert f.backward(3.0, 2.0, 10.0) == f.backward(3.0, 2.0, cotangent=10.0) == (20.0, 30.0)
    g = grad(lambda v, cotangent: v * cotangent, jit=False)
    assert g(3.0, 2.0) == 6.0
    assert g.backward(3.0, 2.0, 10.0) == g.backward(3.0, cotangent=2.0, cotangent_=10.0) == (20.0, 30.0)


def test_wrong_number_of_arguments():
    f = grad(dot, jit=False)
    with pytest.raises(TypeError, match="dot: missing a required argument: 'w'"):
        f(1.0)
    with pytest.raises(TypeError, match="dot.backward: got an unexpected keyword argument 'y'"):
        f.backward(1.0, 2.0, y=2.0)


@modes
@pytest.mark.parametrize(
    "wrt, expected", [(None, (5.0, 3.0)), ("w", 3.0), (0, 5.0), ((1, "x"), (3.0, 5.0)), ([-1], (3.0,))]
)
def test_wrt(jit, wrt, expected):
    assert grad(lambda x, w: x * w, wrt=wrt, jit=jit).backward(3.0, 5.0) == expected


@modes
def test_pullback_many_times_and_after_changes(jit):
    f = grad(lambda x: np.stack((x.sum(), (x**2).sum())), jit=jit)
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y, pullback = f.vjp(x)
    x[:] = 77
    for _ in range(2):
        assert same(pullback(np.array([1.0, 0.0])), np.ones(4))
        assert same(pullback(np.array([0, 1])), np.array([0.0, 2.0, 4.0, 6.0]))
    assert same(y, np.array([6.0, 14.0]))


def test_source_is_python_that_names_the_users_variables():
    f = grad(dot)
    text = f.source(np.ones(3), np.ones(3))
    compile(text, "generated", "exec")
    assert "x_b" in text and "w_b" in text and text == f.source(np.ones(3), np.ones(3))
    assert "x_b" not in f.source(np.ones(3), np.ones(3), kind="primal")
    assert f.source(np.ones(3), np.ones(3), after="reverse") != text


def test_a_kind_that_is_none_or_stands_in_the_place_of_an_argument():
    f = grad(lambda x: np.sum(x**2))
    with pytest.raises(OptionError, match="there is no kind 'gradient'"):
        f.source(np.ones(3), kind="gradient")
    with pytest.raises(OptionError, match="'backward' is taken for the first argument") as caught:
        f.source("backward", np.ones(3))
    assert "kind='backward'" in str(caught.value)
    by_norm = grad(lambda norm, x: np.abs(np.fft.fft(x, norm=norm)).sum(), static=("norm",))
    assert "def " in by_norm.source("backward", np.ones(4))  # which is a word that functions know themselves


# --------------------------------------------------------------------------------------------------------------
# What f reads from outside

W = np.array([3.0, 5.0])
K = 2.0


@modes
def test_a_captured_array_that_changes_is_seen(jit, monkeypatch):
    f = grad(lambda x: (x * W).sum(), jit=jit)
    x = np.array([-1.0, 2.0])
    for now in (W, np.array([1.0, 1.0]), np.array([2.0, 4.0], np.float32), np.array([[1.0, 1.0], [2.0, 2.0]]), 7.0):
        monkeypatch.setitem(globals(), "W", now)
        assert same(f(x), (x * now).sum())
        assert np.array_equal(f.backward(x), (np.ones((2, 2)) * now).sum(0) / (2 if np.ndim(now) < 2 else 1))
    changed = np.array([1.0, 2.0])
    monkeypatch.setitem(globals(), "W", changed)
    assert f(x) == 3.0
    changed[0] = 10.0
    assert f(x) == -6.0


@modes
def test_a_captured_number_keeps_its_kind(jit, monkeypatch):
    f = grad(lambda x: x * K, jit=jit)
    x = np.ones(2, np.float32)
    for now in (2.0, 3, np.float32(4), np.float64(5)):
        monkeypatch.setitem(globals(), "K", now)
        assert same(f(x), x * now)


@modes
def test_a_closure_that_changes_is_seen(jit):
    a = 2.0

    def set_a(value):
        nonlocal a
        a = value

    f = grad(lambda x: a * x, jit=jit)
    assert f.backward(1.0) == 2.0
    set_a(7.0)
    assert f.backward(1.0) == 7.0


def helper(x):
    return 2.0 * x


@modes
def test_a_called_function_that_is_replaced_is_seen(jit, monkeypatch):
    f = grad(lambda x: helper(x) * x, jit=jit)
    assert f(3.0) == 18.0
    monkeypatch.setitem(globals(), "helper", square)
    assert f(3.0) == 27.0 and f.backward(3.0) == 27.0


COUNT, WEIGHTS, LISTED = 3, (1.0, 2.0), [1.0, 2.0]


def reads_constants(x):
    s = x * WEIGHTS[0] + LISTED[1]
    for _ in range(COUNT):
        s = s * WEIGHTS[1] * x
    return s


@modes
def test_constants_from_outside_are_looked_at_before_each_call(jit, monkeypatch):
    f = grad(reads_constants, jit=jit)
    g = grad(reads_constants, jit=jit)
    assert f(2.0) == reads_constants(2.0)
    for name, value in (("COUNT", 1), ("WEIGHTS", (3.0, 4.0)), ("LISTED", [5.0, 6.0])):
        monkeypatch.setitem(globals(), name, value)
        assert f(2.0) == reads_constants(2.0)
        assert f(2) == reads_constants(2)
    LISTED[1] = 9.0  # the same list
    assert f(2.0) == reads_constants(2.0) and g(2.0) == reads_constants(2.0)
    assert f.backward(2.0) == (2 * 3.0 * 2.0 + 9.0) * 4.0


@modes
def test_a_pullback_goes_back_over_what_ran_forward(jit, monkeypatch):
    f = grad(lambda x: helper(x) * x, jit=jit)
    _, early = f.vjp(3.0)
    assert early() == 12.0
    _, late = f.vjp(3.0)
    monkeypatch.setitem(globals(), "helper", square)
    assert late() == early() == 12.0  # generated while helper was still the old one
    _, new = f.vjp(3.0)
    assert new() == 27.0 and late() == 12.0


@modes
def test_a_pullback_is_refused_where_f_changed_before_it_was_generated(jit, monkeypatch):
    f = grad(lambda x: helper(x) * K * x, jit=jit)
    for name, value in (("helper", square), ("K", np.ones(2))):
        _, pullback = f.vjp(3.0)
        monkeypatch.setitem(globals(), name, value)
        with pytest.raises(TypeError, match="changed between vjp and the first call of its pullback"):
            pullback()
        f = grad(lambda x: helper(x) * K * x, jit=jit)


def by_rank(x):
    if x.ndim == 1:
        return (x * W).sum()
    return (x * K).sum()


@modes
def test_other_types_may_read_other_globals(jit, monkeypatch):
    f = grad(by_rank, jit=jit)
    x = np.ones(2)
    for _ in range(2):
        assert f(x) == 8.0 and f(np.ones((2, 2))) == 8.0 and f(x.astype(np.float32)) == 8.0
    monkeypatch.setitem(globals(), "K", 3.0)
    assert f(np.ones((2, 2))) == 12.0


# --------------------------------------------------------------------------------------------------------------
# Arguments that are refused, in our own words


class Subclass(np.ndarray):
    pass


REFUSED = {
    "list": ([1.0, 2.0], r"argument x is a list\n  help: pass np.array\(x\)"),
    "objects": (np.array([1.0, None]), "argument x is an array of Python objects"),
    "strings": (np.array(["a"]), "argument x is an array of strings"),
    "masked": (np.ma.array([1.0, 2.0], mask=[0, 1]), "argument x is a masked array"),
    "structured": (np.zeros(2, [("a", float)]), "argument x is a structured array"),
    "matrix": (np.ones((1, 1)).view(np.matrix), r"argument x is an np.matrix.*\n  help: pass np.asarray\(x\)"),
    "subclass": (np.ones(2).view(Subclass), "argument x is a .*Subclass, a subclass of ndarray"),
    "none": (None, "argument x is None"),
    "long complex": (np.ones(2, np.clongdouble), "argument x is an array of .*: complex numbers are complex64 or"),
    "half": (np.ones(2, np.float16), "argument x is an array of float16: floats are float32 or float64 here"),
    "half scalar": (np.float16(1), "argument x is a float16: floats are float32 or float64 here"),
    "byte order": (np.ones(2, ">f8"), "argument x is an array of float64 in another byte order"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "argument x is an array of datetime64"),
    "dict": (Counter(a=1.0), "argument x is a Counter"),
    "in a tuple": ((1.0, [2.0]), r"argument x\[1\] is a list"),
    "huge": (2**70, "argument x is 1180591620717411303424, which does not fit in 64 bits"),
}


@modes
@pytest.mark.parametrize("bad, message", REFUSED.values(), ids=REFUSED)
def test_arguments_that_are_refused(jit, bad, message):
    f = grad(square, jit=jit)
    for call in (f, f.backward, f.value_and_backward, f.vjp, f.source):
        with pytest.raises(TypeError, match=message):
            call(bad)


def test_refused_also_after_the_plain_type_was_compiled():
    f = grad(square)
    f.backward(np.ones((2, 2)), np.ones((2, 2)))
    for bad in (np.ones((2, 2)).view(np.matrix), np.ma.ones((2, 2)), np.ones((2, 2), ">f8"), np.ones((2, 2), object)):
        with pytest.raises(TypeError, match="argument x is"):
            f.backward(bad, np.ones((2, 2)))
        with pytest.raises(TypeError, match="argument v is"):
            f.backward(np.ones((2, 2)), bad)


@modes
def test_v_in_error(jit):
    f = grad(square, jit=jit)
    x = np.ones(3)
    with pytest.raises(TypeError, match="v"):
        f.backward(x)
    with pytest.raises(ValueError):
        f.backward(x, np.ones(4))
    with pytest.raises(ValueError):
        f.backward(x, np.ones((3, 1)))
    with pytest.raises(TypeError, match="v is complex, but the output is real"):
        f.backward(x, np.ones(3, complex))
    with pytest.raises(TypeError, match=r"argument v is a list(?s:.)*got a list of \d"):
        f.backward(x, [1.0, 1.0, 1.0])
    with pytest.raises((TypeError, ValueError)):
        f.backward(x, (np.ones(3),))
    assert same(f.backward(x, np.ones(3, int)), np.full(3, 2.0))


@modes
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_array_without_axes_is_one_number(jit, dtype):
    """Its v may be left out, too."""
    f = grad(lambda x: np.array((x * x).sum()), jit=jit)
    x = np.array([1.0, 3.0], dtype)
    y, pullback = f.vjp(x)
    for cotangent in (f.backward(x), f.value_and_backward(x)[1], pullback(), f.backward(x, 1.0), pullback(1.0)):
        np.testing.assert_array_equal(cotangent, [2.0, 6.0])
        assert cotangent.dtype == dtype
    assert y == 10 and y.shape == ()
    with pytest.raises(TypeError, match="v is needed: the output of <lambda> is an array of 0 axes"):
        grad(lambda z: np.array((1j * z).sum()), jit=False).backward(x)


@modes
def test_integers_have_no_derivative(jit):
    with pytest.raises(TypeError, match="n"):
        grad(lambda x, n: x * n, wrt="n", jit=jit).backward(2.0, 3)
    assert grad(lambda x, n: x * n, jit=jit).backward(2.0, 3) == 3.0


def scale(x, y):
    for i in range(x.shape[0]):
        x[i] = x[i] * y[i]


@modes
def test_memory_shared_with_an_argument_that_f_writes(jit):
    f = grad(scale, jit=jit)
    a = np.arange(1.0, 7.0)
    for _ in range(2):  # before and after compiling
        for x, y in ((a, a), (a[1:], a[:-1]), (a[::-1], a)):
            with pytest.raises(ValueError, match="arguments x and y share memory, and the function writes to x"):
                f(x, y)
            with pytest.raises(ValueError, match="x and y share memory"):
                f.backward(x, y, np.ones(len(x)))
        f(a[::2], a[1::2].copy())
        assert f(np.ones(3), np.ones(3)) is None
    assert grad(dot, jit=jit)(a, a) == (a * a).sum()  # nothing is written: sharing is fine


@modes
def test_interleaved_views_share_nothing(jit):
    a = np.arange(1.0, 7.0)
    grad(scale, jit=jit)(a[::2], a[1::2])
    assert same(a, np.array([2.0, 2.0, 12.0, 4.0, 30.0, 6.0]))


@modes
def test_a_read_only_argument_that_f_writes(jit):
    f = grad(scale, jit=jit)
    x = np.ones(3)
    f(x.copy(), x)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="argument x is read-only, and the function writes to it"):
        f(x, np.ones(3))
    f(np.ones(3), x)
    f.backward(x, np.ones(3), np.ones(3))


def test_nothing_of_ours_but_one_frame_in_an_error():
    f = grad(square)
    with pytest.raises(TypeError) as caught:
        f([1.0])
    assert len(caught.traceback) == 2
    assert caught.value.__suppress_context__


# --------------------------------------------------------------------------------------------------------------


@modes
def test_division_by_zero_is_inf(jit):
    f = grad(lambda x, y: x / y, jit=jit)
    assert f(1.0, 0.0) == np.inf and np.isnan(f(0.0, 0.0))


@modes
def test_division_by_a_zero_of_the_text_is_inf(jit):
    """A 0.0 that stands in the generated text is a number of NumPy's too, as it is when it is compiled."""

    def f(x):
        s = x[0]
        for i in range(3):
            v = 0.0
            if x[i] > 1.5:
                v = x[i] * 2.0
            w = 1 / v
            s += w * w if x[i] > 1.5 else 1 % v * 0.0 + v**-2
        return s

    f = grad(f, jit=jit)
    assert np.isnan(f(np.array([1.0, 2.0, 3.0])))
    np.testing.assert_allclose(f.backward(np.array([1.0, 2.0, 3.0])), [1.0, -0.0625, -0.5 / 27.0])


def test_threads_generate_once(monkeypatch):
    count = []
    generate = pipeline.generate

    def counted(*args):
        count.append(args[1])
        return generate(*args)

    monkeypatch.setattr(pipeline, "generate", counted)
    f = grad(lambda x: (x * x).sum())
    x = np.arange(3.0)
    barrier = threading.Barrier(8)
    results = []

    def work():
        barrier.wait()
        results.append(f.backward(x))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == ["backward"] and len(results) == 8
    assert all(same(result, 2 * x) for result in results)


def test_what_is_known_of_one_function_is_not_believed_of_another():
    """Both return one array; on the same line, all that the first reads is inside, and the second's may wrap."""

    def inside(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = x[i] * x[i]
        return y

    def wraps(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = x[i] * x[i - 1]
        return y

    x = np.array([1.0, 2.0, 3.0])
    first, second = grad(inside, cache=False), grad(wraps, cache=False)
    np.testing.assert_array_equal(first(x), [1.0, 4.0, 9.0])
    np.testing.assert_array_equal(second(x), [3.0, 2.0, 6.0])


def test_a_pullback_of_what_writes_an_argument_that_shares_memory_with_nobody() -> None:
    """Its arguments are what was kept: f's own positions mean nothing among them."""

    def f(x, k, m, n, y):
        y[0] = x[0]
        return 2 * x

    i = np.arange(3)
    value, pullback = grad(f, jit=False).vjp(np.ones(3), i, i, i, np.ones(3))
    np.testing.assert_array_equal(value, 2 * np.ones(3))
    x_b, y_b = pullback(np.ones(3))
    np.testing.assert_array_equal(x_b, 2 * np.ones(3))
    np.testing.assert_array_equal(y_b, np.zeros(3))
