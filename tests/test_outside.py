"""What a function reads from outside is looked at before each call: what has changed since is seen."""

from __future__ import annotations

import argparse
import collections
import functools
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.sparse
import scipy.stats
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, 1.5, 2.0])


class Slotted:
    __slots__ = ("n", "factor")


@dataclass(slots=True)
class Settings:
    n: int
    factor: float


class Model:
    def __init__(self) -> None:
        self.n = 2

    def act(self, x):
        return x**2

    def __call__(self, x):
        return x**2

    @grad
    def differentiable(self, x):
        return x**2

    @property
    def power(self):
        return self.n

    @staticmethod
    def plain(x):
        return x**2

    @classmethod
    def of_class(cls, x):
        return x**2


class Cubic(Model):
    def act(self, x):
        return x**3


def cube(x):
    return x**3


def over_the_end(k):
    return scipy.integrate.quad(lambda t: np.exp(-k * t), 0, inf)[0]


def with_factor(x):
    return x**with_factor.n


namespace, parsed = types.SimpleNamespace(n=2, factor=1.0, weights=np.ones(3)), argparse.Namespace(n=2, factor=1.0)
slotted, settings, model, other = Slotted(), Settings(2, 1.0), Model(), Model()
chosen, queue, tools = {2}, collections.deque([2, 5]), types.ModuleType("tools_of_test_outside")
sys.modules[tools.__name__] = tools


@pytest.fixture(autouse=True)
def as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    for holder in (namespace, parsed, slotted, settings):
        holder.n, holder.factor = 2, 1.0
    namespace.weights = np.ones(3)
    chosen.clear(), chosen.add(2)
    queue.clear(), queue.extend([2, 5])
    tools.square, with_factor.n, model.__class__ = lambda x: x**2, 2, Model


def of_namespace(x):
    return x**namespace.n * namespace.factor * namespace.weights


def of_parsed(x):
    return x**parsed.n * parsed.factor


def of_slots(x):
    return x**slotted.n * slotted.factor


def of_settings(x):
    return x**settings.n * settings.factor


def of_method(x):
    return model.act(x)


def of_differentiable_method(x):
    return model.differentiable(x)


def of_call(x):
    return model(x)


def of_property(x):
    return x**model.power


def of_static_method(x):
    return model.plain(x)


def of_class_method(x):
    return Model.of_class(x)


def of_attribute_of_a_function(x):
    return with_factor(x)


def of_set(x):
    return x**2 if 2 in chosen else x**3


def of_queue(x):
    return x ** queue[0]


def of_import(x):
    from tools_of_test_outside import square

    return square(x)


def of_what_is_there(x):
    return x**3 if hasattr(other, "cubic") else x**2


def of_what_may_be_there(x):
    return x ** getattr(other, "power_of_one", 2)


CASES: list[tuple[Callable[..., Any], Callable[[pytest.MonkeyPatch], object]]] = [
    (of_namespace, lambda patch: setattr(namespace, "n", 3)),
    (of_parsed, lambda patch: setattr(parsed, "n", 3)),
    (of_slots, lambda patch: setattr(slotted, "n", 3)),
    (of_settings, lambda patch: setattr(settings, "n", 3)),
    (of_method, lambda patch: patch.setattr(Model, "act", lambda self, x: x**3)),
    (of_method, lambda patch: setattr(model, "__class__", Cubic)),
    (of_method, lambda patch: patch.setattr(model, "act", cube, raising=False)),
    (of_differentiable_method, lambda patch: patch.setattr(model, "differentiable", cube, raising=False)),
    (of_call, lambda patch: patch.setattr(Model, "__call__", lambda self, x: x**3)),
    (of_property, lambda patch: patch.setattr(Model, "power", property(lambda self: self.n + 1))),
    (of_property, lambda patch: patch.setattr(model, "n", 3)),
    (of_static_method, lambda patch: patch.setattr(Model, "plain", staticmethod(cube))),
    (of_class_method, lambda patch: patch.setattr(Model, "of_class", classmethod(lambda cls, x: x**3))),
    (of_attribute_of_a_function, lambda patch: setattr(with_factor, "n", 3)),
    (of_set, lambda patch: chosen.discard(2)),
    (of_queue, lambda patch: queue.__setitem__(0, 3)),
    (of_import, lambda patch: setattr(tools, "square", cube)),
    (of_what_is_there, lambda patch: patch.setattr(other, "cubic", True, raising=False)),
    (of_what_may_be_there, lambda patch: patch.setattr(other, "power_of_one", 3, raising=False)),
]


@pytest.mark.parametrize(("function", "change"), CASES, ids=[f"{k}-{f.__name__}" for k, (f, _) in enumerate(CASES)])
def test_a_change_is_seen(
    function: Callable[..., Any], change: Callable[[pytest.MonkeyPatch], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, v = grad(function, jit=False), np.ones(3)
    np.testing.assert_allclose(f.backward(X, v), 2 * X)
    change(monkeypatch)
    for x_b in (f.backward(X, v), f.value_and_backward(X, v)[1], f.vjp(X)[1](v)):
        np.testing.assert_allclose(x_b, 3 * X**2)


def test_infinity_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(over_the_end, jit=False)
    assert abs(f.backward(2.0) + 0.25) < 1e-9 and abs(f(2.0) - 0.5) < 1e-9
    monkeypatch.setitem(globals(), "inf", 1.0)
    assert abs(f(2.0) - (1.0 - np.exp(-2.0)) / 2.0) < 1e-9


@pytest.mark.parametrize("matrix", [np.eye(3), scipy.sparse.eye_array(3), scipy.sparse.eye(3)])
def test_a_matrix_that_may_be_sparse(matrix: Any) -> None:
    f = grad(lambda x: x * 2.0 if scipy.sparse.issparse(matrix) or scipy.sparse.issparse(x) else x * 3.0, jit=False)
    assert f(1.0) == (3.0 if isinstance(matrix, np.ndarray) else 2.0)


def test_what_python_does_not_call_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    f, v = grad(of_call, jit=False), np.ones(3)
    f.backward(X, v)
    monkeypatch.setattr(model, "__call__", cube, raising=False)
    np.testing.assert_allclose(f.backward(X, v), 2 * X)
    np.testing.assert_allclose(grad(of_call, jit=False).backward(X, v), 2 * X)


@pytest.mark.parametrize("function", [of_namespace, of_parsed, of_slots, of_settings])
def test_floats_of_objects_are_handed_in(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    f, v = grad(function), np.ones(3)
    for factor in (1.0, 2.5, -1.0):
        for holder in (namespace, parsed, slotted, settings):
            holder.factor = factor
        np.testing.assert_allclose(f.backward(X, v), 2 * X * factor)
    namespace.weights = np.arange(3.0)
    np.testing.assert_allclose(grad(of_namespace).backward(X, v), -2 * X * np.arange(3.0))


LOW, RATE, DOUBLED = 0.25, 3.0, np.array([2.0, 4.0, 8.0])


class Bounds:
    low = 0.5


def scaled(x):
    return x * RATE


def from_where(x):
    """Each sum begins at a number from outside, which stays what it is for those who read it later."""
    s = LOW
    for i in range(3):
        s = s + x[i] * x[i]
    t = Bounds.low
    while t < 4.0:
        t = t * 1.5 + (x[0] if t < 1.0 else LOW)
    return s * t + LOW + Bounds.low * s


def two_of_one_name(x):
    for _ in range(2):
        x = scaled(x)
    RATE = np.sum(x) * 0.1
    if RATE > 0.0 and np.sum(x * DOUBLED) > 0.0:
        DOUBLED_TOO = DOUBLED * RATE
    else:
        DOUBLED_TOO = DOUBLED
    return scaled(x) * RATE * DOUBLED_TOO


def multiply_by(k):
    def multiplied(x):
        return x * k

    return multiplied


DOUBLE, TRIPLE = multiply_by(2.0), multiply_by(3.0)


def two_captured_of_one_name(x):
    y = x * 2.0 if x[0] > 1.0 else TRIPLE(x)
    return DOUBLE(y) * x


@pytest.mark.parametrize(
    ("function", "jit"),
    [(from_where, False), (two_of_one_name, False), (two_captured_of_one_name, False), (two_of_one_name, True)],
)
def test_what_comes_from_outside_stays_what_it_is(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for x in (X, X + 1.0):
        check_value_and_grad(f, x, rtol=1e-13)


# ------------------------------------------------------------------------------------- objects of SciPy's

KNOTS, KNOWN = np.array([0.0, 0.7, 1.1, 1.9, 2.5]), np.array([0.3, 0.1, -0.4, 0.2, 0.5])
PRIOR, PRIORS = scipy.stats.norm(0.0, 2.0), {"a": [scipy.stats.expon(scale=0.5), scipy.stats.gamma(2.0)]}
NEAR = scipy.stats.multivariate_normal(np.zeros(3), np.diag([1.0, 2.0, 0.5]))
SPLINE = scipy.interpolate.CubicSpline(KNOTS, KNOWN)
TABLES = [scipy.interpolate.interp1d(KNOTS, KNOWN, kind) for kind in ("linear", "quadratic")]
ROWS = scipy.interpolate.make_interp_spline(KNOTS, np.stack([KNOWN, KNOWN**2]), axis=1)
SMOOTH = scipy.interpolate.UnivariateSpline(KNOTS, KNOWN, s=0.05)
GRID = scipy.interpolate.RegularGridInterpolator((KNOTS, KNOTS), np.outer(KNOWN, KNOWN**2))
MADE: list[Callable[[Any], Any]] = [
    lambda x: PRIOR.logpdf(x).sum() + PRIOR.cdf(x[0]) * PRIOR.std() + PRIOR.interval(0.9)[1] * x[1],
    lambda x: sum(prior.logpdf(y) for prior, y in zip(PRIORS["a"], x, strict=False)) + NEAR.logpdf(x),
    lambda x: NEAR.mean @ x + np.sum(NEAR.cov @ x) * NEAR.pdf(x - NEAR.mean),
    lambda x: (SPLINE(x) * SPLINE.derivative()(x)).sum() + np.sum(SPLINE.x * x[0]),
    lambda x: TABLES[0](x).sum() * float(TABLES[1](x[0])),
    lambda x: np.sum(ROWS(x, 1) + ROWS(x)) * SMOOTH(x[0]) + SMOOTH.integral(x[0], x[1]),
    lambda x: GRID((x, 0.3)).sum() * float(GRID([x[0], x[1]])[0]),
]


@pytest.mark.parametrize("k", range(len(MADE)))
def test_objects_of_scipy(k: int) -> None:
    f = grad(MADE[k], jit=k == 1)
    np.testing.assert_allclose(f(X), MADE[k](X), rtol=1e-12)
    check_grad(f, X)


def test_a_change_of_an_object_of_scipy_is_seen() -> None:
    spline, prior = scipy.interpolate.CubicSpline(KNOTS, KNOWN), scipy.stats.norm(np.zeros(3), 1.0)
    f = grad(lambda x: spline(x) + prior.logpdf(x), jit=False)
    before = f(X)
    spline.c, prior.args = 2.0 * spline.c, (np.ones(3), 1.0)
    np.testing.assert_allclose(f(X), spline(X) + prior.logpdf(X))
    assert np.all(f(X) != before)


def test_what_an_object_of_scipy_can_and_srcgrad_cannot() -> None:
    for function, text in (
        (lambda x: scipy.stats.norm(x).fit(x), r"^\.fit is not supported"),
        (lambda x: PRIOR.rvs(3) * x, r"^scipy\.stats\.norm\.rvs does something else each time"),
        (lambda x: SPLINE.roots()[0] * x, r"^\.roots is not supported"),
    ):
        with pytest.raises((NotImplementedError, TypeError), match=text):
            grad(function, jit=False)(X)


Sorted, Queue = collections.OrderedDict, collections.deque


class Bag(dict[str, float]):
    """A dict with an attribute."""

    def __init__(self, scale: float) -> None:
        super().__init__(a=1.0)
        self.scale = scale


class Sized:
    def __init__(self, n: int) -> None:
        self.n = n

    def __str__(self) -> str:
        return "n" * self.n


def made_with(scale: float) -> Any:
    def inner(x):
        return x * scale

    return inner


THING: Any = None


@pytest.mark.parametrize(
    ("f", "one", "other"),
    [
        (lambda x: np.sum(x) * THING.scale, lambda: Bag(2.0), lambda: Bag(3.0)),
        (lambda x: np.sum(x) * (2.0 if type(THING) is dict else 3.0), lambda: {"a": 2.0}, lambda: Sorted(a=2.0)),
        (lambda x: np.sum(x) * THING.maxlen, lambda: Queue([1], maxlen=2), lambda: Queue([1], maxlen=3)),
    ],
    ids=["attribute", "class", "length"],
)  # fmt: skip
def test_what_holds_the_same_is_not_the_same(
    f: Any, one: Callable[[], Any], other: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    g = grad(f, jit=False)
    for make in (one, other, one):
        monkeypatch.setitem(globals(), "THING", make())
        np.testing.assert_allclose(g.backward(np.ones(2)), np.full(2, f(np.array([1.0, 0.0]))))


def test_lists_that_are_defaults_may_change() -> None:
    scales, named = [2.0], {"a": 1.0}

    def scaled(x, by=scales, *, more=named):
        return x * by[0] * more["a"]

    g = grad(lambda x: np.sum(scaled(x)), jit=False)
    for scale in (2.0, 3.0, 4.0):
        scales[0], named["a"] = scale, scale + 1
        np.testing.assert_allclose(g.backward(np.ones(2)), np.full(2, scale * (scale + 1)))


def test_what_python_says_of_an_object_may_change() -> None:
    thing, inner = Sized(1), made_with(2.0)
    f = lambda x: np.sum(x) * len(f"{thing}") * len(str(thing)) * vars(thing)["n"] * inner.__closure__[0].cell_contents
    g = grad(f, jit=False)
    for n in (1, 2, 3, 2):
        thing.n, inner.__closure__[0].cell_contents = n, 1.0 + n
        np.testing.assert_allclose(g.backward(np.ones(2)), np.full(2, n**3 * (1.0 + n)))


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_one_array_by_two_names_that_dtypes_choose_between(jit: bool) -> None:
    a = b = np.ones(2)
    g = grad(lambda x: np.sum(x * (a if x.dtype == np.float32 else b)), jit=jit)
    x = np.ones(2)
    assert (g(x), g(x.astype(np.float32))) == (2.0, 2.0)
    b = 3.0 * a
    assert (g(x), g(x.astype(np.float32))) == (6.0, 2.0)


def squares(x, p=2.0, *, q=1.0):
    return x**2 * p * q


def cubes(x, p=2.0, *, q=1.0):
    return x**3 * p * q


def of_more(x, y, p=2.0, *, q=1.0):
    return x**3 * p * q


def copied(function: types.FunctionType) -> Any:
    """A function of the same code, that may be made of something else."""
    made = types.FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
    made.__kwdefaults__ = dict(function.__kwdefaults__ or {})
    return made


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_a_function_that_is_made_of_something_else(jit: bool) -> None:
    """As tools do that load files anew: the object stays the same."""
    inner = copied(squares)
    g: Any = grad(lambda x: np.sum(inner(x)), jit=jit)

    def check(expected: Any) -> None:
        for _ in range(2):
            np.testing.assert_allclose(g.backward(X), expected)

    check(4 * X)
    inner.__defaults__ = (3.0,)
    check(6 * X)
    y, pullback = g.vjp(X)
    inner.__kwdefaults__ = {"q": 2.0}
    check(12 * X)
    with pytest.raises(TypeError, match="changed between vjp and the first call of its pullback"):
        pullback()
    inner.__kwdefaults__["q"] = 3.0
    check(18 * X)
    inner.__code__ = cubes.__code__
    check(27 * X**2)
    np.testing.assert_allclose(g(X), np.sum(9 * X**3))


def test_parts_of_functions_that_are_given_or_found() -> None:
    inner, method = copied(squares), copied(cubes)
    part = functools.partial(inner, p=1.0)
    thing = type("Thing", (), {"act": staticmethod(method), "power": property(lambda self: 2.0)})()
    getter: Any = type(thing).power.fget
    g = grad(lambda x: np.sum(part(x) + thing.act(x) * thing.power), jit=False)
    np.testing.assert_allclose(g.backward(X), 2 * X + 12 * X**2)
    inner.__code__ = cubes.__code__
    np.testing.assert_allclose(g.backward(X), 15 * X**2)
    method.__code__ = squares.__code__
    np.testing.assert_allclose(g.backward(X), 3 * X**2 + 8 * X)
    getter.__code__ = (lambda self: 3.0).__code__
    np.testing.assert_allclose(g.backward(X), 3 * X**2 + 12 * X)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_what_partials_hold_by_name_is_read_at_every_call(jit: bool) -> None:
    scaled = lambda x, *, p, w: np.sum(p * w * x)
    alone, other = (functools.partial(scaled, p=2.0, w=np.ones(3)) for _ in range(2))
    outer = functools.partial(alone, p=4.0)
    inside = lambda x: alone(x) + outer(x)
    found = [grad(f, jit=jit) for f in (alone, other, outer, inside)]
    check = lambda slopes: [
        np.testing.assert_array_equal(f.backward(X), [s] * 3) for f, s in zip(found, slopes, strict=True)
    ]
    check([2.0, 2.0, 4.0, 6.0])
    alone.keywords["p"] = 3.0
    check([3.0, 2.0, 4.0, 7.0])
    alone.keywords["w"], outer.keywords["p"] = np.full(3, 2.0), 1
    check([6.0, 2.0, 1.0, 7.0])  # outer holds its own w
    assert found[0](X) == alone(X)


class Holder:
    k: Any = 2.0


@pytest.mark.parametrize("other", [[], np.ma.array([1.0, 2.0, 3.0]), 2**70, "text", None], ids=repr)
def test_numbers_that_become_what_no_machine_code_takes(other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome(call: Callable[..., Any]) -> str:
        try:
            return repr(call(X))
        except Exception as error:
            return f"{type(error).__name__}: {error}".split("\n")[0].strip()

    g, first = (grad(lambda x: (x * Holder.k).sum(), jit=jit) for jit in (True, False))
    assert g(X) == 8.0 and g.backward(X).tolist() == [2.0] * 3
    monkeypatch.setattr(Holder, "k", other)
    assert outcome(g) == outcome(first) and outcome(g.backward) == outcome(first.backward)


def given(x, a, c=1.0):
    return (a * x * c).sum()


def given_first(a, x, d=1.0):
    return (a * x * x * d).sum()


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_what_partials_give_may_become_more_or_less_or_something_else(jit: bool) -> None:
    read, differentiated = (functools.partial(given, a=2.0) for _ in range(2))
    g, h = grad(lambda x: read(x), jit=jit), grad(differentiated, jit=jit)

    def check() -> None:
        for _ in range(2):
            for f, part in ((g, lambda x: read(x)), (h, differentiated)):
                fresh = grad(part, jit=False)
                if jit:  # at once: Python has run each by itself
                    value, cotangent = f.value_and_backward(X)
                    assert str(cotangent) == str(fresh.backward(X))
                else:
                    value = f(X)
                    assert str(f.backward(X)) == str(fresh.backward(X)) == str(f.vjp(X)[1]())
                assert value == pytest.approx(part(X))

    check()
    for value in (10.0, 0.5, 3):
        read.keywords["c"] = differentiated.keywords["c"] = value
        check()
    _, pullback = g.vjp(X)
    del read.keywords["c"], differentiated.keywords["c"]
    check()
    for part in (read, differentiated):
        part.__setstate__((given_first, (7.0,), {"d": 2.0}, None))
    check()
    for part in (read, differentiated):
        part.__setstate__((given_first, (3.0,), {"d": 2.0}, None))
    check()


def test_keywords_of_partials_are_missed_by_pullbacks() -> None:
    part = functools.partial(given, a=2.0, c=3.0)
    _, pullback = grad(lambda x: part(x), jit=False).vjp(X)
    del part.keywords["c"]
    with pytest.raises(TypeError, match="changed between vjp and the first call of its pullback"):
        pullback()


def test_partials_of_partials_that_change() -> None:
    inner = functools.partial(given, c=2.0)
    inner.name = "inner"  # type: ignore[attr-defined]  (so Python keeps it apart)
    outer = functools.partial(inner, a=3.0)
    assert outer.func is inner
    g, h = grad(outer, jit=False), grad(lambda x: outer(x), jit=False)
    check = lambda: [np.testing.assert_allclose((g(X), h(X)), outer(X)) for _ in range(2)]
    check()
    inner.keywords["a"] = 1.0
    check()
    del outer.keywords["a"]
    check()
    np.testing.assert_allclose(g.backward(X), [2.0] * 3)


def test_what_partials_give_to_any_number_of_names_is_read_at_every_call() -> None:
    def named(x, **more):
        return (x * more["more"]).sum() * len(more)

    for value in (2.0, 2, np.ones(3)):
        part = functools.partial(named, more=value)
        g = grad(part, jit=False)
        for change in ({}, {"more": value * 3}, {"other": 1.0}):
            part.keywords.update(change)
            assert g(X) == part(X)
            np.testing.assert_allclose(g.backward(X), len(part.keywords) * part.keywords["more"] * np.ones(3))


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_calls_give_anew_what_a_partial_gives_by_name(jit: bool) -> None:
    part = functools.partial(given_first, 2.0, d=4.0)
    g = grad(part, jit=jit)
    for d in (0.5, 3.0, 2):
        assert g(X, d=d) == pytest.approx(part(X, d=d)) and g(X) == pytest.approx(part(X))
        np.testing.assert_allclose(g.backward(X, d=d, v=2.0), 8.0 * d * X)
        y, x_b = g.value_and_backward(X, d=d)
        np.testing.assert_allclose((y, *x_b), (part(X, d=d), *4.0 * d * X))
        np.testing.assert_allclose(g.vjp(X, d=d)[1](), 4.0 * d * X)
        np.testing.assert_allclose(g.backward(X), 16.0 * X)
    assert "def given_first_backward(x, d, a):" in g.source(X, d=3.0)
    part.__setstate__((given_first, (3.0,), {"d": 2.0}, None))
    assert g(X, d=0.5) == pytest.approx(part(X, d=0.5)) and g(X) == pytest.approx(part(X))
    last = grad(functools.partial(given, a=2.0), wrt=-1, jit=jit)
    assert last.backward(X, 1.0, a=3.0) == pytest.approx(12.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'b'"):
        g(X, b=1.0)


def takes_any(x, **more):
    return (x * more["a"] * more.get("c", 1.0)).sum()


def is_called_as_one_of_them(x, **a):
    return (x * a["a"] * a.get("c", 1.0)).sum()


def takes_some(x, a, **more):
    return (x * a * more.get("c", 1.0)).sum()


@pytest.mark.parametrize("function", [takes_any, is_called_as_one_of_them, takes_some])
def test_what_is_given_anew_is_not_differentiated_wherever_it_goes(function: Callable[..., Any]) -> None:
    f, both = (grad(functools.partial(function, **held), jit=False) for held in ({"a": 2.0}, {"a": 2.0, "c": 1.0}))
    for g in (f, both):
        assert g(X, a=5.0) == function(X, a=5.0)
        np.testing.assert_array_equal(g.backward(X), [2.0] * 3)
        np.testing.assert_array_equal(g.backward(X, a=5.0), [5.0] * 3)
        np.testing.assert_array_equal(g.vjp(X, a=5.0)[1](), [5.0] * 3)
    x_b, more_b = f.backward(X, a=5.0, c=3.0)  # no partial gives c
    np.testing.assert_allclose(x_b, [15.0] * 3)
    assert more_b == pytest.approx({"c": 5.0 * X.sum()})
    np.testing.assert_array_equal(both.backward(X, a=5.0, c=3.0), [15.0] * 3)


DOUBLES, WEIGHED = functools.partial(np.multiply, 2.0), functools.partial(lambda x, w: w * x, w=np.ones(3))


def of_a_default(x, g=WEIGHED):
    return g(x).sum()


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_partials_as_defaults_and_as_arguments(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    f, both = grad(of_a_default, jit=jit), grad(lambda x, fs: sum(f(x).sum() for f in fs), jit=jit)
    assert f(X) == 4.0 and f(X, DOUBLES) == 8.0 and both(X, (DOUBLES, WEIGHED)) == 12.0
    assert f.backward(X).tolist() == [1.0] * 3 and f.vjp(X, DOUBLES)[1]().tolist() == [2.0] * 3
    assert both.backward(X, [DOUBLES, WEIGHED]).tolist() == [3.0] * 3
    monkeypatch.setitem(WEIGHED.keywords, "w", np.full(3, 5.0))
    assert f.backward(X).tolist() == [5.0] * 3 and both.backward(X, [DOUBLES, WEIGHED]).tolist() == [7.0] * 3


def test_differentiated_partials_are_called_in_functions() -> None:
    part = functools.partial(given, a=2.0)
    inner = grad(part, jit=False)
    g = grad(lambda x: inner(x, a=3.0) * inner.backward(x, a=x[0], c=1.0)[0].sum() + inner(x), jit=False)
    check_grad(g, X)
    np.testing.assert_allclose(g(X), 9.0 * X.sum() * X[0] + 2.0 * X.sum())
    part.keywords["a"] = 4.0
    np.testing.assert_allclose(g(X), 9.0 * X.sum() * X[0] + 4.0 * X.sum())


class Powers:
    factor = 2.0

    def power(self, x, p=2):
        return (self.factor * x**p).sum()

    @staticmethod
    def plain(x, p):
        return (x**p).sum()

    @classmethod
    def of_class(cls, x, p):
        return (cls.factor * x**p).sum()

    cubes = functools.partialmethod(power, p=3)
    squares = functools.partialmethod(plain, p=2)
    of_class_squares = functools.partialmethod(of_class, p=2)
    fourth = functools.partialmethod(lambda self, p, x: (self.factor * x**p).sum(), 4)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_methods_that_are_partials(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    powers: Any = Powers()
    f = lambda x: (
        powers.cubes(x) + powers.cubes(x, p=2) + powers.squares(x) + powers.of_class_squares(x) + powers.fourth(x)
    )
    g = grad(f, jit=jit)

    def check(expected: Any) -> None:
        for _ in range(2):
            assert g(X) == pytest.approx(f(X))
            np.testing.assert_allclose(g.backward(X), expected)
            np.testing.assert_allclose(g.vjp(X)[1](), expected)

    check(6 * X**2 + 10 * X + 8 * X**3)
    monkeypatch.setitem(vars(Powers)["cubes"].keywords, "p", 1)
    check(2.0 + 10 * X + 8 * X**3)
    monkeypatch.setattr(Powers, "fourth", Powers.squares)
    check(2.0 + 12 * X)
    powers.fourth = np.sum
    check(3.0 + 10 * X)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_a_differentiated_function_that_is_made_of_something_else(jit: bool) -> None:
    for given in (lambda f: f, lambda f: functools.partial(f, p=2.0)):
        f = copied(squares)
        g = grad(given(f), wrt="x", jit=jit)
        np.testing.assert_allclose(g.backward(X, v=np.ones(3)), 4 * X)
        f.__code__ = cubes.__code__
        np.testing.assert_allclose(g.backward(X, v=np.ones(3)), 6 * X**2)
        np.testing.assert_allclose(g(X), 2 * X**3)
        for name, other in {"__code__": of_more.__code__, "__defaults__": (4.0,), "__kwdefaults__": {"q": 5.0}}.items():
            before = getattr(f, name)
            setattr(f, name, other)
            for call in (g, lambda x: g.backward(x, v=np.ones(3))):
                with pytest.raises(TypeError, match=r"has other parameters or defaults .*\n  help: call grad\("):
                    call(X)
            setattr(f, name, before)
        f.__kwdefaults__["q"] = 5.0
        with pytest.raises(TypeError, match="has other parameters or defaults"):
            g(X)


def test_functions_that_are_differentiated_twice_and_made_of_something_else() -> None:
    f, inner = copied(squares), copied(squares)
    once = grad(f, wrt="x", jit=False)
    twice = grad(
        lambda x: np.sum(once.backward(x, v=np.ones(3)) + grad(lambda u: np.sum(inner(u))).backward(x)), jit=False
    )
    np.testing.assert_allclose(twice.backward(X), [8.0] * 3)
    f.__code__ = cubes.__code__
    np.testing.assert_allclose(twice.backward(X), 12 * X + 4)
    inner.__code__ = cubes.__code__
    np.testing.assert_allclose(twice.backward(X), 24 * X)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_a_name_of_pythons_that_is_a_global_for_a_while(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    g = grad(lambda x: np.sum(abs(x) * len(x)), jit=jit)
    for name, other, expected in (("abs", np.square, 6 * X), ("len", lambda x: 5.0, np.full(3, 5.0))):
        for call in (g.backward, g.backward, lambda x: g.vjp(x)[1]()):
            np.testing.assert_allclose(call(X), [3.0] * 3)
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, other)
            for call in (g.backward, g.backward, lambda x: g.vjp(x)[1]()):
                np.testing.assert_allclose(call(X), expected)
    np.testing.assert_allclose(g.backward(X), [3.0] * 3)
    assert type(g.backward).__name__ == ("Direct" if jit else "method")  # (machine code looks for itself)


KEPT_OUTSIDE = np.array([1.0, 2.0, 3.0])


def perhaps_written(x, is_other):
    y = KEPT_OUTSIDE
    if is_other:
        y = x * 2.0
    y[0] = 5.0
    return np.sum(y * x)


def written_and_read(x, is_other):
    y = KEPT_OUTSIDE
    if is_other:
        y = x * 2.0
    y[0] = 5.0
    return np.sum(KEPT_OUTSIDE * x)


def written_in_a_list(x, is_other):
    rows = []
    for _ in x:
        rows.append(KEPT_OUTSIDE)
    rows[0][0] = 5.0
    return np.sum(KEPT_OUTSIDE * x)


def test_an_array_from_outside_that_may_be_written_by_another_name() -> None:
    """The next call would have to find it so."""
    for function in (perhaps_written, written_and_read, written_in_a_list):
        with pytest.raises(UnsupportedError, match="KEPT_OUTSIDE may or may not be the array that was written"):
            grad(function, jit=False)(X, False)
    for function in (written_and_read, written_in_a_list):
        with pytest.raises(UnsupportedError, match="KEPT_OUTSIDE may or may not be the array that was written"):
            grad(function, jit=False).backward(X, False)
