"""`super()`: methods, properties and constructors of classes further up, of objects from outside and made here."""

from __future__ import annotations

from abc import ABC, ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import assert_close, check_value_and_grad, directional, inner, random_like, subject

from srcgrad import grad
from srcgrad.errors import SrcgradError
from srcgrad.testing import check_grad

X = np.array([0.3, -0.7, 1.1])


class Layer:
    rate = 0.5

    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return np.tanh(self.w * x)

    @property
    def norm(self) -> Any:
        return np.sum(self.w**2)

    @staticmethod
    def bent(x: Any) -> Any:
        return np.sin(x)

    @classmethod
    def scaled(cls, x: Any) -> Any:
        return cls.rate * x


class Scaled(Layer):
    rate = 2.0

    def __init__(self, w: Any, scale: Any = 3.0) -> None:
        super().__init__(w)
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return self.scale * super().__call__(x) * super().norm

    @property
    def norm(self) -> Any:
        return super().norm + super().rate

    @classmethod
    def scaled(cls, x: Any) -> Any:
        return super().scaled(x) + x**2


class Left(Layer):
    def __call__(self, x: Any) -> Any:
        return 2.0 * super().__call__(x)


class Right(Layer):
    def __call__(self, x: Any) -> Any:
        return super().__call__(x) ** 2


class Both(Left, Right):
    def __call__(self, x: Any) -> Any:
        return super().__call__(x) + super().bent(x) + super(Left, self).__call__(x)


class Plain:
    def __init__(self, w: Any) -> None:
        super().__init__()
        self.w = w


@dataclass
class Point:
    x: Any
    y: Any

    def size(self) -> Any:
        return np.hypot(self.x, self.y)


@dataclass
class Weighed(Point):
    w: Any = 2.0

    def size(self) -> Any:
        return self.w * super().size()


MODEL, BOTH = Scaled(np.array([0.4, 1.3, -0.2])), Both(0.7)


def method(x):
    return MODEL(x)


def property_above(x):
    return MODEL.norm * x


def class_method(x):
    return MODEL.scaled(x)


def order_of_resolution(x):
    return BOTH(x)


def made_here(x):
    model = Scaled(x, x[0])
    return model(x) + Plain(x).w


def dataclass_made_here(x):
    return Weighed(x, x**2, 3.0).size()


def in_a_loop(x):
    for model in (MODEL, BOTH):
        x = model(x)
    return x


PROGRAMS = (method, property_above, class_method, order_of_resolution, made_here, dataclass_made_here, in_a_loop)


def check(f: Any, **options: Any) -> None:
    plain = subject(f, (X,), {})
    y, rng = f(X), np.random.default_rng(3)
    direction, v = random_like(rng, (X,)), random_like(rng, y)
    slope, error = directional(plain, direction, v)
    derived = grad(f, **options)
    assert_close(derived(X), y, 1e-13, "value")
    for _ in range(2):
        assert abs(inner((derived.backward(X, v),), direction) - slope) <= 1e-8 + 10 * error


@pytest.mark.parametrize("f", PROGRAMS)
def test_program(f: Any) -> None:
    check(f, jit=False)


@pytest.mark.parametrize("f", [method, order_of_resolution, made_here])
def test_compiled(f: Any) -> None:
    check(f)


@pytest.mark.parametrize("jit", [False, True])
def test_a_method_further_up_that_changes_is_seen(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(order_of_resolution, jit=jit)
    for _ in range(2):
        f.backward(X, np.ones(3))
    monkeypatch.setattr(Right, "__call__", lambda self, x: self.w * x)
    assert_close(f.backward(X, np.ones(3)), 3 * 0.7 + np.cos(X), 1e-13, "after the change")
    monkeypatch.delattr(Left, "__call__")
    assert_close(f.backward(X, np.ones(3)), 2 * 0.7 + np.cos(X), 1e-13, "a class between has it no more")


@pytest.mark.parametrize("jit", [False, True])
def test_another_class_of_the_object_is_seen(jit: bool) -> None:
    model = Both(0.7)

    def f(x):
        return model(x)

    derived = grad(f, jit=jit)
    first = derived.backward(X, np.ones(3))
    model.__class__ = Left  # type: ignore[assignment]
    second = derived.backward(X, np.ones(3))
    assert_close(second, 2 * 0.7 * (1 - np.tanh(0.7 * X) ** 2), 1e-13, "of the other class")
    assert not np.allclose(first, second)


class Wrong(Layer):
    def nothing(self, x: Any) -> Any:
        return super().nobody(x)

    def inside(self, x: Any) -> Any:
        def part(y: Any) -> Any:
            return super().__call__(y)

        return part(x)


def test_what_is_not_there_is_refused() -> None:
    wrong = Wrong(1.0)

    def missing(x):
        return wrong.nothing(x)

    def nested(x):
        return wrong.inside(x)

    def outside(x):
        return super().act(x)

    with pytest.raises(SrcgradError, match="has no attribute 'nobody'"):
        grad(missing, jit=False).backward(X, X)
    with pytest.raises(SrcgradError, match="a class and an object of it|in a method of a class"):
        grad(nested, jit=False).backward(X, X)
    with pytest.raises(SrcgradError, match="in a method of a class"):
        grad(outside, jit=False).backward(X, X)


class Private:
    def __init__(self, x: Any) -> None:
        self.__k = x * 2.0

    def doubled(self) -> Any:
        return self.__k

    def __hidden(self, x: Any) -> Any:
        return x * self.__k

    def shown(self, x: Any) -> Any:
        return sum(self.__hidden(part) for part in (x, x * x))


class Shape(ABC):
    def __init__(self, size: Any) -> None:
        self.size = size

    @abstractmethod
    def area(self) -> Any: ...

    def twice(self) -> Any:
        return 2.0 * self.area()


class Square(Shape):
    def area(self) -> Any:
        return self.size**2


def test_abstract_classes() -> None:
    f = grad(lambda x: Square(x).twice() * x if isinstance(Square(x), Shape) else x, jit=False)
    assert f.backward(2.0) == 24.0
    with pytest.raises(SrcgradError):
        grad(lambda x: Shape(x).size, jit=False)(2.0)


class Collecting(ABCMeta):
    """It has its part when a class is made: no instance is made by it."""

    def __new__(mcs, name, bases, namespace):
        namespace["made_by"] = 3.0
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)


class Counting(type):
    made = 0

    def __call__(cls, *args):
        Counting.made += 1
        return super().__call__(*args)


def test_metaclasses() -> None:
    class Cube(Shape, metaclass=Collecting):
        def area(self) -> Any:
            return self.size**3 * self.made_by  # type: ignore[attr-defined]

    class Counted(metaclass=Counting):
        def __init__(self, size: Any) -> None:
            self.size = size

    f = grad(lambda x: Cube(x).twice(), jit=False)
    assert f.value_and_backward(2.0) == (48.0, 72.0)
    with pytest.raises(SrcgradError):
        grad(lambda x: Counted(x).size, jit=False)(2.0)


class MorePrivate(Private):
    def __init__(self, x: Any) -> None:
        super().__init__(x)
        self.__k = x * 5.0

    def times_five(self) -> Any:
        return self.__k


def test_names_that_a_class_keeps_for_itself() -> None:
    def made_here(x):
        own = MorePrivate(x)
        return own.doubled() + 10.0 * own.times_five() + own.shown(x)

    outside = MorePrivate(3.0)

    def from_outside(x):
        return outside.doubled() * x + outside.shown(x) + 10.0 * outside.times_five()

    for function in (made_here, from_outside):
        f = grad(function, jit=False)
        check_value_and_grad(f, X, rtol=1e-14)


@dataclass
class Contract:
    strike: Any
    expiry: Any = 2.0

    def __post_init__(self) -> None:
        self.both = self.strike * self.expiry


class Digital(Contract):
    def price(self, s: Any) -> Any:
        return s * self.strike + self.both


class Capped(Contract):
    def __init__(self, strike: Any) -> None:
        super().__init__(strike, expiry=3.0)
        self.cap = strike**2

    def price(self, s: Any) -> Any:
        return s * self.both + self.cap


def test_constructors_of_dataclasses_are_inherited() -> None:
    def f(x: Any) -> Any:
        return Digital(x[0]).price(x[1]) + Digital(x[1], expiry=x[2]).price(x[0]) + Capped(x[2]).price(x[0])

    x = np.array([0.3, 1.2, -0.7])
    assert grad(f, jit=False)(x) == f(x)
    check_grad(grad(f, jit=False), x)
