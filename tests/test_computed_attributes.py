"""Attributes by names that are computed: setattr, delattr, vars(o), o.__dict__; asdict and astuple."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, grad

X = np.array([0.5, 1.2, 1.7])


class Bunch:
    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


class Options:
    def __init__(self, **parts: Any) -> None:
        for name, value in parts.items():
            setattr(self, name, value)

    def scaled(self, names: Any, factor: Any) -> Options:
        for name in names:
            setattr(self, name, getattr(self, name) * factor)
        return self


class Empty:
    def __init__(self, x: Any) -> None:
        for name in ("first", "second"):
            self.__dict__[name] = None
        self.second = x * x


@dataclass(frozen=True)
class Frozen:
    side: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.side**2)


class Doubling:
    def __init__(self, x: Any) -> None:
        self._r = x

    @property
    def r(self) -> Any:
        return self._r

    @r.setter
    def r(self, value: Any) -> None:
        self._r = value * 2.0


def bunch(x):
    b = Bunch(a=x, k=np.sum(x))
    return b.a * b.k


def scaled(x):
    options = Options(a=x, b=x**2).scaled(["a", "b"], 3.0).scaled(("a",), 2.0)
    return options.a * options.b


def in_a_loop(x):
    state = Options(u=x, w=0.0 * x)
    for i in range(len(x)):
        for name in ("u", "w"):
            setattr(state, name, np.sin(getattr(state, name)) + x[i])
        if x[i] > 1.0:
            setattr(state, "w", state.u * 2.0)
    return state.u + state.w


def none_at_first(x):
    e = Empty(x)
    return sum(value for value in vars(e).values() if value is not None) * (3.0 if e.first is None else 1.0)


def seen_as_a_dict(x):
    b = Bunch(a=x, b=2.0 * x)
    fields = vars(b)
    b.c = x**3  # which `fields` shows
    fields["d"] = b.c * 2.0
    total = 0.0
    for name, value in fields.items():
        total = total + value * len(name)
    for name in fields:
        total = total * (2.0 if name in b.__dict__ and "z" not in fields else 1.0)
    return total + fields.get("z", 1.0) + b.d + Bunch(**{**vars(b), "a": x * x}).a


def taken_out(x):
    b = Bunch(a=x, b=x * 2.0, c=x * 3.0)
    del b.b
    delattr(b, "c")
    return b.a * (5.0 if hasattr(b, "b") or hasattr(b, "c") else sum(vars(b).values()))


def namespaces(x):
    s = SimpleNamespace()
    s.__dict__["a"] = x * 2.0
    setattr(s, "b", x**2)
    return s.a * s.b


def frozen(x):
    return Frozen(x).area * x


def by_its_setter(x):
    d = Doubling(x)
    setattr(d, "r", x * x)
    return d.r


def asked_of_fields(x):
    o, other = Bunch(a=x[0], b=x[1]), Bunch(a=x[0])
    parts = vars(o)
    o.c = x[2] * len(parts)
    y = x[0] if isinstance(parts, dict) and not callable(parts) and type(parts) is dict else x[1] * 5.0
    if vars(other) != {"a": 1.0} and vars(o) != vars(other) and hasattr(parts, "items"):
        y = y + sum(parts[name] * (k + 1) for k, name in enumerate(sorted(parts)))
    vars(other).clear()
    return y * (2.0 if parts and not vars(other) else 3.0)


def added_to_fields(x):
    o = Bunch(a=x[0], b=[x[1]], c=x * 1.0)
    parts, before = o.__dict__, vars(o).copy()
    for k in range(3):
        parts["a"] += x[k] ** 2
        vars(o)["a"] *= x[1]
    parts["b"] += [x[2]]
    parts["c"] *= x
    other = Bunch()
    setattr(other, "kept", parts)
    o.d = x[1] * 3.0
    return o.a * before["a"] + sum(o.b) * len(before["b"]) + np.sum(o.c * before["c"]) + other.kept["d"]


@dataclass
class Cell:
    resistance: Any
    charge: Any = 0.9

    def step(self, current: Any) -> Any:
        self.charge -= current * self.resistance
        return self.charge * current


@dataclass
class Pack:
    cells: list
    weights: Any


def fields_as_a_dict(x):
    cell = Cell(x[0])
    before = asdict(cell)
    total = sum(cell.step(current) for current in x)
    return total + asdict(cell)["charge"] * before["charge"] + Cell(**before).step(x[1])


def fields_that_hold_others(x):
    pack = Pack([Cell(x[0]), Cell(x[1], x[2])], x)
    parts = asdict(pack)
    parts["weights"][0] = 7.0
    pack.cells[0].resistance = 5.0
    return parts["cells"][0]["resistance"] * parts["weights"].sum() + astuple(pack)[0][1][1] + astuple(pack)[1][0]


EVERY = [
    asked_of_fields,
    added_to_fields,
    bunch,
    scaled,
    in_a_loop,
    none_at_first,
    seen_as_a_dict,
    taken_out,
    namespaces,
    frozen,
    by_its_setter,
    fields_as_a_dict,
    fields_that_hold_others,
]


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_names_that_are_computed(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, X, rtol=1e-14)


def test_compiled() -> None:
    f = grad(in_a_loop)
    check_value_and_grad(f, X, rtol=1e-13)


OUTSIDE = SimpleNamespace(k=2.0)


def past_a_setter(x):
    d = Doubling(x)
    vars(d)["r"] = x * 3.0  # which Python doesn't find: the property comes first
    return d.r


def from_outside(x):
    setattr(OUTSIDE, "k", x)
    return x


@pytest.mark.parametrize(
    ("function", "words"), [(past_a_setter, "'r' among the attributes"), (from_outside, "made in the function")]
)
def test_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        grad(function, jit=False)(X)
