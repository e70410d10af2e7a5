"""Dicts, dataclasses, tuples, lists and objects as arguments, results and cotangents; methods, partials, static=."""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.errors import ArgumentError, ShapeError, UnsupportedError
from srcgrad.testing import check_grad

X = np.array([1.0, 2.0, 3.0])


@dataclass
class Layer:
    w: Any
    b: Any = 0.5
    name: str = "layer"


@dataclass(frozen=True, slots=True)
class Frozen:
    w: Any
    n: int = 2


class Model:
    def __init__(self, w: Any) -> None:
        self.w = w
        self.steps = 3

    def energy(self, x: Any) -> Any:
        return (self.w * x**2).sum() * self.steps

    def __call__(self, x: Any) -> Any:
        return self.energy(x) + self.w[0] * x[1]

    @grad(jit=False)
    def decorated(self, x: Any) -> Any:
        return self.energy(x)


class Pair(NamedTuple):
    a: Any
    b: Any


def affine(params, x):
    return ((params["w"] @ x + params["b"]) ** 2).sum()


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_dict_of_arrays(jit: bool) -> None:
    params = {"w": np.arange(6.0).reshape(2, 3), "b": np.ones(2), "n": 3}
    f = grad(affine, jit=jit)
    residual = params["w"] @ X + params["b"]
    params_b, x_b = f.backward(params, X)
    assert f(params, X) == pytest.approx((residual**2).sum())
    assert list(params_b) == ["w", "b"]  # n is an integer
    np.testing.assert_allclose(params_b["w"], 2 * np.outer(residual, X))
    np.testing.assert_allclose(params_b["b"], 2 * residual)
    np.testing.assert_allclose(x_b, 2 * params["w"].T @ residual)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_items_keep_their_places_beside_what_has_no_derivative(jit: bool) -> None:
    f = grad(lambda p: p[0].sum() * p[1] + p[2][1] * p[2][2], jit=jit)
    a_b, n_b, (name_b, b_b, k_b) = f.backward((np.ones(2), 3, ("scale", 2.0, 5)))
    assert a_b.tolist() == [3.0, 3.0] and b_b == 5.0
    assert n_b is name_b is k_b is None
    assert f.vjp((np.ones(2), 3, ("scale", 2.0, 5)))[1](2.0)[2] == (None, 10.0, None)
    several = grad(lambda *args: args[0].sum() * args[1] + args[2], jit=jit)
    a_b, n_b, b_b = several.backward(np.ones(2), 3, 2.0)
    assert a_b.tolist() == [3.0, 3.0] and n_b is None and b_b == 1.0
    outer = grad(lambda p: f.backward(p)[2][1] ** 2 + f.backward(p)[0].sum(), jit=jit)
    assert outer.backward((np.ones(2), 3, ("scale", 2.0, 5)))[1] is None


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_dict_as_result(jit: bool) -> None:
    f = grad(lambda x: {"y": x * 2, "z": (x[0], [x[1] ** 2])}, jit=jit)
    y = f(X)
    assert list(y) == ["y", "z"] and y["z"] == (1.0, [4.0]) and y["y"].tolist() == [2, 4, 6]
    v = {"z": (10.0, [100.0]), "y": np.array([1.0, 2.0, 3.0])}  # in another order
    assert f.backward(X, v).tolist() == [12.0, 404.0, 6.0]
    assert f.vjp(X)[1](v).tolist() == [12.0, 404.0, 6.0]
    with pytest.raises(ShapeError, match="a dict with y:"):
        f.backward(X, {"y": X, "w": (1.0, [1.0])})


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_dataclass(jit: bool) -> None:
    f = grad(lambda layer, x: (layer.w * x).sum() * layer.b, jit=jit)
    layer_b, x_b = f.backward(Layer(np.ones(3), 2.0), X)
    assert isinstance(layer_b, Layer) and layer_b.name is None and layer_b.b == 6.0
    assert layer_b.w.tolist() == [2, 4, 6] and x_b.tolist() == [2, 2, 2]
    g = grad(lambda p: p.w**p.n, jit=jit)
    assert g.backward(Frozen(3.0)) == Frozen(6.0, None)  # type: ignore[arg-type]


def test_result_of_a_dataclass_and_its_cotangent() -> None:
    f = grad(lambda x: Frozen(x * 2, x[0]), jit=False)
    y = f(X)
    assert isinstance(y, Frozen) and y.w.tolist() == [2, 4, 6] and y.n == 1.0
    assert f.backward(X, Frozen(np.ones(3), 1.0)).tolist() == [3, 2, 2]  # type: ignore[arg-type]


def test_object_as_argument() -> None:
    model_b, x_b = grad(lambda model, x: model(x), jit=False).backward(Model(np.ones(3)), X)
    assert isinstance(model_b, Model) and model_b.steps is None
    assert model_b.w.tolist() == [5.0, 12.0, 27.0] and x_b.tolist() == [6.0, 13.0, 18.0]


class Place:
    __slots__ = ("__mass", "never_set", "x")

    def __init__(self, x: Any, mass: float) -> None:
        self.x, self.__mass = x, mass

    def weight(self) -> Any:
        return self.x * self.__mass


class Moving(Place):
    __slots__ = "v"

    def __init__(self, x: Any, v: Any, mass: float) -> None:
        super().__init__(x, mass)
        self.v = v

    def later(self, dt: float) -> Moving:
        return Moving(self.x + dt * self.v, self.v, 2.0)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_objects_with_slots(jit: bool) -> None:
    def work(p: Any, dt: float) -> Any:
        q = p.later(dt)
        q.x = q.x * 2.0
        return np.sum(q.weight() * p.weight())

    f, p = grad(work, jit=jit), Moving(X, 2.0 * X, 3.0)
    assert f(p, 0.5) == work(p, 0.5)
    found, _ = f.backward(p, 0.5)
    assert type(found) is Moving
    assert not hasattr(found, "never_set")
    np.testing.assert_allclose(found.x, 12.0 * (p.later(0.5).x + X))
    np.testing.assert_allclose(found.v, 6.0 * X)
    assert found.weight() == pytest.approx(found.x * found._Place__mass)


def test_nested_structures() -> None:
    f = grad(lambda p, layers: p.a * p.b["k"] + sum((w @ X).sum() for w in layers), jit=False)
    p_b, layers_b = f.backward(Pair(2.0, {"k": 3.0}), [np.ones((2, 3)), np.ones((1, 3))])
    assert p_b == Pair(3.0, {"k": 2.0})
    assert isinstance(layers_b, list) and [w.shape for w in layers_b] == [(2, 3), (1, 3)]


def test_list_as_result() -> None:
    f = grad(lambda x: [x[i] * 2 for i in range(3)], jit=False)
    assert f(X) == [2.0, 4.0, 6.0]
    assert f.backward(X, [1.0, 2.0, 3.0]).tolist() == [2, 4, 6]


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_bound_methods_see_what_the_object_holds_now(jit: bool) -> None:
    model = Model(np.ones(3))
    f = grad(model.energy, jit=jit)
    assert f.backward(X).tolist() == [6, 12, 18]
    model.w = model.w * 2
    assert f.backward(X).tolist() == [12, 24, 36]
    model.steps = 1
    assert f.backward(X).tolist() == [4, 8, 12]
    assert grad(model, jit=jit).backward(X).tolist() == [4, 10, 12]


def test_decorated_method() -> None:
    one, two = Model(np.ones(3)), Model(np.zeros(3))
    assert one.decorated(X) == 42.0 and two.decorated(X) == 0.0
    assert one.decorated.backward(X).tolist() == [6, 12, 18]
    assert Model.decorated.backward(one, X)[0].w.tolist() == [3, 12, 27]


def scaled(x, a, power=2.0):
    return (a * x**power).sum()


def weighed(x, *more, k=2.0, **named):
    y = x * k
    for item in more:
        y = y * item
    for name, w in named.items():
        y = y + w * w if name != "shift" else y + w
    return y


def passes_on(function):
    @functools.wraps(function)
    def doubled(*args, **kwargs):
        return function(*args, **kwargs) * 2.0

    return doubled


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_any_number_of_arguments(jit: bool) -> None:
    f = grad(weighed, jit=jit)
    assert f(X, 3.0, X, w=2.0).tolist() == weighed(X, 3.0, X, w=2.0).tolist()
    x_b, more_b, k_b, named_b = f.backward(X, 3.0, X, w=2.0, shift=1.0, v=X)
    assert x_b.tolist() == [6.0, 24.0, 54.0] and k_b == 108.0 and named_b == {"w": 24.0, "shift": 6.0}
    assert more_b[0] == 72.0 and more_b[1].tolist() == [6.0, 24.0, 54.0]
    x_b, k_b = f.backward(X, v=X)  # nothing more is given: nothing more comes back
    assert x_b.tolist() == [2.0, 4.0, 6.0] and k_b == 14.0
    check_grad(f, X, 3.0, X, k=1.5, w=2.0)
    y, pullback = f.vjp(X, 2.0)
    assert y.tolist() == [4.0, 8.0, 12.0] and pullback(X)[1] == (28.0,)
    assert grad(weighed, wrt="more", jit=jit).backward(X, 2.0, v=X) == (28.0,)
    given = grad(functools.partial(weighed, k=3.0), jit=jit, wrt="x")
    assert given.backward(X, 2.0, v=X).tolist() == [6.0, 12.0, 18.0]
    twice = grad(passes_on(weighed), jit=jit, wrt=("x", "named"))
    x_b, named_b = twice.backward(X, 2.0, k=1.0, w=1.0, v=X)
    assert x_b.tolist() == [4.0, 8.0, 12.0] and named_b == {"w": 24.0}


def total(*xs, **named):
    return sum((i + 1) * x.sum() for i, x in enumerate(xs)) + sum(x.sum() * len(name) for name, x in named.items())


def keeps_a_name(x, /, **more):
    return x.sum() * more["x"]


def test_partials_of_any_number_of_arguments() -> None:
    f = functools.partial(total, X, abc=X)
    g = grad(f, jit=False)
    assert g(X * 2, d=X) == f(X * 2, d=X)
    more_b, named_b = g.backward(X * 2, d=X)
    assert more_b[0].tolist() == [2.0] * 3 and named_b["d"].tolist() == [1.0] * 3
    x_b, more_b = grad(keeps_a_name, jit=False).backward(X, x=2.0)
    assert x_b.tolist() == [2.0] * 3 and more_b == {"x": 6.0}


def test_behind_any_number_of_arguments_v_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"v is needed(.|\n)*went to \*more(.|\n)*name v"):
        grad(weighed, jit=False).backward(X, X)
    with pytest.raises(ArgumentError, match="multiple values"):
        grad(weighed, jit=False).backward(X, x=X, v=X)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_partial(jit: bool) -> None:
    f = grad(functools.partial(scaled, a=X, power=3.0), jit=jit)
    assert f.backward(X).tolist() == [3.0, 24.0, 81.0]
    g = grad(functools.partial(scaled, X), jit=jit, wrt="a")
    assert g.backward(X).tolist() == [1.0, 4.0, 9.0]


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_static(jit: bool) -> None:
    def f(a, axis, mode="squares"):
        return (a.sum(axis=axis) ** 2).sum() if mode == "squares" else a.sum()

    g = grad(f, static=("axis", "mode"), jit=jit)
    a = np.arange(6.0).reshape(2, 3)
    assert g.backward(a, 0).tolist() == [[6, 10, 14]] * 2
    assert g.backward(a, axis=1).tolist() == [[6] * 3, [24] * 3]
    assert g.backward(a, (0, 1)).tolist() == [[30] * 3] * 2
    assert g.backward(a, 0, mode="sum").tolist() == [[1] * 3] * 2
    assert g(a, 0) == f(a, 0) and g(a, 1) == f(a, 1)


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_options_are_known_where_they_have_to_be(jit: bool) -> None:
    def f(a, axis=0, times=2, squeeze=False):
        total = (a.sum(axis=axis) ** 2) * times
        return total[0] if squeeze else total.sum()

    g = grad(f, jit=jit)
    a = np.arange(6.0).reshape(2, 3)
    assert g.backward(a).tolist() == [[12, 20, 28]] * 2
    assert g.backward(a, 1).tolist() == [[12] * 3, [48] * 3]
    assert g.backward(a, axis=(0, 1), times=1).tolist() == [[30] * 3] * 2
    assert g.backward(a, squeeze=True).tolist() == [[12, 0, 0]] * 2
    assert g.value_and_backward(a, -1)[0] == f(a, -1) and g(a, np.int64(1)) == f(a, 1)
    y, pullback = g.vjp(a, axis=1)
    assert y == f(a, 1) and pullback(1.0).tolist() == [[12] * 3, [48] * 3]
    assert "def f_backward(a, times, squeeze):" in g.source(a)


def by_mode(a, mode="mean", axis=0):
    if mode == "mean":
        return (a**2).sum() * (axis + 1) * WEIGHT
    return (a.sum(axis=axis) ** 2).sum() * WEIGHT


WEIGHT = 2.0


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_options_among_arguments_of_other_kinds(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which way a call takes is kept with the value of the option, where that is known."""
    g = grad(by_mode, jit=jit)
    a = np.arange(6.0).reshape(2, 3)
    for mode, axis in (("mean", 0), ("norm", 1), ("norm", 0), ("mean", 1), ("norm", 1)):
        assert g(a, mode, axis) == by_mode(a, mode, axis)
    monkeypatch.setitem(globals(), "WEIGHT", np.float64(3.0))
    assert g.backward(a, "norm", 1).tolist() == [[18.0] * 3, [72.0] * 3]
    assert g.backward(a, "norm", 0).tolist() == [[18, 30, 42]] * 2


def test_options_that_other_types_or_globals_have_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a, axis=0):
        return a.sum() * (axis + 1) if a.ndim == 1 else (a.sum(axis=axis) ** 2).sum()

    a = np.arange(6.0).reshape(2, 3)
    g = grad(f, jit=False)
    assert g(X, 1) == f(X, 1) and g(a, 1) == f(a, 1)  # one way for both: arrays
    g = grad(lambda a, axis=0: a.sum() * WEIGHT if WEIGHT == 1 else (a.sum(axis=axis) * WEIGHT).sum(), jit=False)
    monkeypatch.setitem(globals(), "WEIGHT", 1)
    assert g(a) == 15.0
    monkeypatch.setitem(globals(), "WEIGHT", 2)
    assert g(a, 1) == 30.0
    assert g(a, np.int64(1)) == g(a, (0, 1)) == 30.0  # NumPy's numbers are compared with tuples


def test_shapes_are_known() -> None:
    g = grad(lambda a, shape=(-1, 2): (a.reshape(shape)[0] ** 2).sum(), jit=False)
    assert g.backward(np.arange(4.0)).tolist() == [0.0, 2.0, 0.0, 0.0]
    assert g.backward(np.arange(4.0), (1, -1)).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_options_stay_arguments_where_they_can() -> None:
    def f(a, axis=0, times=2):
        for _ in range(times):
            a = a * 2.0
        return np.sum(a, axis=axis) if axis is not None else a

    g = grad(f, jit=False)
    assert "def f_backward(a, times):" in g.source(X)
    assert g.backward(X, v=1.0).tolist() == [4.0, 4.0, 4.0] and g.backward(X, times=3, v=1.0).tolist() == [
        8.0,
        8.0,
        8.0,
    ]
    g = grad(lambda a, times=2: a * times, jit=False)
    assert "times" in g.source(X)


def test_options_do_not_hide_errors() -> None:
    g = grad(lambda a, axis=0, times=2: (a * times).sum(axis=axis).nothing, jit=False)
    with pytest.raises(AttributeError, match="nothing"):
        g.backward(X)
    g = grad(lambda a, axis=0: a.sum(axis=axis), jit=False)
    with pytest.raises(UnsupportedError, match="axis must be a constant"):
        g.backward(X, np.array([0]), 1.0)


def test_static_is_checked() -> None:
    with pytest.raises(ValueError, match="static='n'"):
        grad(scaled, static="n")
    with pytest.raises(ArgumentError, match="static argument power is a list"):
        grad(scaled, static="power", jit=False)(X, X, [1])


def test_pickling() -> None:
    f = pickle.loads(pickle.dumps(grad(scaled, wrt="x", jit=False)))  # the name `scaled` is that of the plain function
    assert f.backward(X, X).tolist() == [2.0, 8.0, 18.0]
    g = pickle.loads(pickle.dumps(grad(Model(X).energy, jit=False)))
    assert g.backward(X).tolist() == [6.0, 24.0, 54.0]


def test_what_a_decorator_does_counts() -> None:
    def twice(function):
        @functools.wraps(function)
        def wrapped(*args):
            return function(*args) * 2

        return wrapped

    @twice
    def f(x):
        return (x * x).sum()

    assert grad(f, jit=False).backward(X).tolist() == [4.0, 8.0, 12.0]


# What is refused ----------------------------------------------------------------------------------------------


def grows_in_while(x):
    s = 0.0
    for _ in range(2 * len(x)):
        ys = []
        while len(ys) < 3:  # here
            ys.append(x[0])
        s += sum(ys)
    return s


def list_of_arrays_and_numbers(x):
    return [(xi * 2, x) for xi in x]


def list_of_mixed_shapes(x):
    ys = []
    for i in range(len(x)):  # here
        ys.append(x[i])
        ys.append(x)
    return ys


def item_written_later(x):
    ys = []
    for i in range(len(x)):
        u = x * i
        ys.append(u)
        u += 1.0
    return sum(ys).sum()


def row_in_a_tuple_written_later(x):
    m, s = x[:, None] * x, 0.0
    state = (x * 1.0, 1.0)
    for i in range(1, len(x)):
        m[i - 1] += 1.0
        s += np.sum(state[0] * m[i]) * state[1]
        state = (m[i], 2.0)
    return s


def row_in_a_list_written_later(x):
    m, s = x[:, None] * x, 0.0
    state = [x * 1.0, 1.0]
    for i in range(1, len(x)):
        m[i - 1] += 1.0
        s += np.sum(state[0] * m[i])
        state[0] = m[i]
    return s


def changes_a_global(x):
    global COUNT
    COUNT = x
    return x


def changes_an_argument(x, d):
    d["y"] = x
    return x


@pytest.mark.parametrize(
    "function, text",
    [
        (grows_in_while, "ys grows in a while loop that is inside another loop"),
        (
            list_of_arrays_and_numbers,
            "a list whose length is only known at run time, of items that hold",
        ),
        (list_of_mixed_shapes, "of one shape"),
        (item_written_later, "may or may not be the array that was written"),
        (row_in_a_tuple_written_later, "may or may not be the array that was written"),
        (row_in_a_list_written_later, "may or may not be the array that was written"),
        (changes_a_global, "COUNT is global and assigned to"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_refused(function: Any, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        grad(function, jit=False)(X)


def test_arguments_do_not_change() -> None:
    with pytest.raises(UnsupportedError, match="comes from outside"):
        grad(changes_an_argument, jit=False).backward(X, {"x": X}, X)


@dataclass(frozen=True)
class Spring:
    mass: float
    length: float = 2.0
    count: int = 1

    def energy(self, x):
        return self.mass * (x - self.length) ** 2 * self.count


stiff = Spring(3.0)


def with_other_fields(x):
    spring = Spring(x[0], count=2)
    longer = replace(spring, length=x[1] * x[2])
    return longer.energy(x[0]) + spring.energy(x[1]) + replace(stiff, mass=x[2]).energy(x[1])


@pytest.mark.parametrize("jit", [False, True])
def test_replaced_fields(jit: bool) -> None:
    f = grad(with_other_fields, jit=jit)
    check_value_and_grad(f, X, rtol=1e-6)


@pytest.mark.parametrize("function", [lambda x: replace(x, mass=1.0), lambda x: replace(Spring(x[0]), weight=1.0)])
def test_errors_of_the_library_are_at_the_line_of_the_call(function: Any) -> None:
    with pytest.raises((UnsupportedError, TypeError)) as caught:
        grad(function, jit=False)(X)
    assert "test_structures.py" in str(caught.value) and "^" in str(caught.value)


class Bag:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


def of_bags(bags: Any, x: Any) -> Any:
    total = 0.0
    for bag in bags:
        total += np.sum(bag.a * x) * bag.c
        if hasattr(bag, "extra"):
            total += bag.extra
    return total


def test_objects_of_one_class_that_hold_different_things() -> None:
    """How an object was made is remembered by its class, but what it holds is asked each time."""
    f = grad(of_bags, jit=False)
    bags = [Bag(a=X, c=2.0), Bag(c=3.0, a=2.0 * X), Bag(a=X, c=1.0, extra=5.0), Bag(a=X, c=np.float32(2.0), note=None)]
    for some in (bags[:1], bags, bags[::-1], bags[1:3], bags):
        assert f(some, X) == of_bags(some, X)
        got, x_b = f.backward(some, X)
        for bag, bag_b in zip(some, got, strict=True):
            np.testing.assert_allclose(bag_b.a, bag.c * X)
            np.testing.assert_allclose(bag_b.c, np.sum(bag.a * X))
            assert vars(bag_b).keys() == vars(bag).keys()
        np.testing.assert_allclose(x_b, sum(bag.a * bag.c for bag in some))
    bags[0].extra = 7.0
    assert f(bags[:1], X) == of_bags(bags[:1], X)
    bags[0].a, bags[0].c = Layer(X), 1.0
    with pytest.raises((ArgumentError, UnsupportedError)):
        f(bags[:1], X)


def test_what_a_dataclass_holds_beside_its_fields() -> None:
    layer, other = Layer(X), Layer(2.0 * X)
    f = grad(lambda one, x: np.sum(one.w * x) + (one.scale if hasattr(one, "scale") else 0.0), jit=False)
    assert f(layer, X) == 14.0
    other.scale, other.cache = 3.0, object()  # type: ignore[attr-defined]
    assert f(other, X) == 31.0
    layer.cache = {}  # type: ignore[attr-defined]
    assert f(layer, X) == 14.0


class Slotted:
    __slots__ = ("a",)


class WithMore(Slotted):
    pass


def test_a_slot_that_was_empty_before() -> None:
    f = grad(lambda o, x: np.sum(x * o.b) * (o.a if hasattr(o, "a") else 10.0), jit=False)
    first, second = WithMore(), WithMore()
    first.b, second.b, second.a = 2.0, 2.0, 3.0  # type: ignore[attr-defined]
    assert [f(o, X) for o in (first, second, first)] == [120.0, 36.0, 120.0]
