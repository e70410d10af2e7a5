"""Objects from outside with items, that are no list, tuple or dict: what changes in them is seen at the next call."""

from __future__ import annotations

import types
from collections import ChainMap, OrderedDict, UserDict, UserList, deque
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.errors import SrcgradError, UnsupportedError
from srcgrad.testing import check_grad

X = np.array([0.5, 1.5])


class Table(MutableMapping):
    """A mapping to which names are the same in capitals."""

    def __init__(self, **items: Any) -> None:
        self.held = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self.held[key.lower()]

    def __setitem__(self, key: str, value: Any) -> None:
        self.held[key.lower()] = value

    def __delitem__(self, key: str) -> None:
        del self.held[key.lower()]

    def __iter__(self) -> Iterator[str]:
        yield from self.held

    def __len__(self) -> int:
        return len(self.held)

    def __contains__(self, key: object) -> bool:
        return str(key).lower() in self.held


TABLE = Table()
HELD: dict[str, Any] = {}
ORDERED: OrderedDict[str, Any] = OrderedDict()
VIEW = types.MappingProxyType(HELD)
USERS: UserDict[str, Any] = UserDict()
CHAIN: ChainMap[str, Any] = ChainMap({})
LIST: UserList[float] = UserList()
QUEUE: deque[float] = deque()
NUMBERS: set[int] = set()


@pytest.fixture(autouse=True)
def filled() -> None:
    for table in TABLE, HELD, USERS, CHAIN, ORDERED:
        table.clear()  # type: ignore[attr-defined]
        table.update(scale=2.0, weights=np.array([1.0, 3.0]), count=3, way="up")
    LIST[:] = [2.0, 3.0]
    QUEUE.clear()
    QUEUE.extend([2.0, 3.0])
    NUMBERS.clear()
    NUMBERS.update({1, 2})


def change() -> None:
    for table in TABLE, HELD, USERS, CHAIN, ORDERED:
        table.update(scale=5.0, weights=np.array([2.0, 7.0]), count=4, way="down")
        table["more"] = 1.0
    LIST[:] = [5.0, 4.0, 1.0]
    QUEUE.popleft()
    QUEUE.extend([7.0, 8.0])
    NUMBERS.add(5)
    NUMBERS.discard(1)


def a_float(x):
    return np.sum(x * TABLE["scale"])


def another_spelling(x):
    return np.sum(x * TABLE["Scale"])


def an_array(x):
    return np.sum(x * TABLE["weights"])


def a_count(x):
    return np.sum(x ** TABLE["count"])


def a_text(x):
    return np.sum(x if TABLE["way"] == "up" else x**2)


def its_length(x):
    return np.sum(x) * len(TABLE)


def its_names(x):
    return np.sum(x) * len(tuple(TABLE)) + len(list(TABLE))


def whether_it_is_there(x):
    return np.sum(x**2 if "MORE" in TABLE else x)


def whether_it_is_not(x):
    return np.sum(x**2 if "more" not in TABLE else x)


def over_its_names(x):
    for name in TABLE:
        if name in ("scale", "more"):
            x = x * TABLE[name]
    return np.sum(x)


def over_its_items(x):
    return sum(np.sum(x * value) for name, value in TABLE.items() if name != "way")


def its_values(x):
    return np.sum(x * list(TABLE.values())[0])


def one_or_another(x):
    return np.sum(x * TABLE.get("scale", 1.0) * TABLE.get("nowhere", 3.0) * VIEW.get("scale", 1.0))


def of_a_view(x):
    return np.sum(x * VIEW["scale"]) * len(VIEW)


def of_a_user_dict(x):
    return np.sum(x * USERS["weights"] * USERS["scale"])


def of_a_chain(x):
    return np.sum(x * CHAIN["scale"])


def as_a_dict(x):
    both = {**VIEW, "own": 2.0}
    return np.sum(x * dict(TABLE)["scale"] * both["scale"]) * len(both)


def handed_on(scale=1.0, weights=1.0, **others):
    return scale * weights * len(others)


def by_name(x):
    return np.sum(x * handed_on(**VIEW))


def compared(x):
    return np.sum(x if LIST == [2.0, 3.0] else x**2)


def of_a_user_list(x):
    return np.sum(x * LIST[0] * LIST[-1]) * len(LIST)


def over_a_list(x):
    for factor in LIST:
        x = x * factor
    return np.sum(x)


def of_a_queue(x):
    return np.sum(x * QUEUE[0]) * len(QUEUE)


def of_a_set(x):
    for k in NUMBERS:
        x = x * k
    return np.sum(x if 1 in NUMBERS else x**2) * len(NUMBERS)


def whether_there_is_any(x):
    return np.sum(x if TABLE else x**2) * (1.0 if not LIST else 2.0)


def of_an_ordered_dict(x):
    total = 0.0
    for name, value in ORDERED.items():
        total = total * 1.5 + (np.sum(value * x) if name != "way" else len(ORDERED) * len(value))
    return total * (1.0 if "scale" in ORDERED else 2.0)


FUNCTIONS = [
    of_an_ordered_dict,
    a_float, another_spelling, an_array, a_count, a_text, its_length, its_names, whether_it_is_there, whether_it_is_not,
    over_its_names, over_its_items, its_values, one_or_another, of_a_view, of_a_user_dict, of_a_chain, as_a_dict,
    by_name, compared, of_a_user_list, over_a_list, of_a_queue, of_a_set, whether_there_is_any,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_changes_is_seen(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for _ in range(2):
        assert np.isclose(f(X), function(X), rtol=1e-14)
        check_grad(f, X)
        change()
    for table in TABLE, HELD:
        table.clear()
    LIST.clear()
    try:
        expected = function(X)
    except KeyError:
        with pytest.raises((SrcgradError, KeyError)):
            f(X)
    except IndexError:
        with pytest.raises((SrcgradError, IndexError)):
            f(X)
    else:
        assert np.isclose(f(X), expected)


@pytest.mark.parametrize("function", [an_array, a_count, over_its_names, of_a_user_list])
def test_compiled_code_sees_it_too(function: Callable[..., Any]) -> None:
    f = grad(function)
    for _ in range(2):
        assert np.isclose(f(X), function(X), rtol=1e-14)
        check_grad(f, X)
        change()


def a_slice(x):
    return np.sum(x * len(LIST[:1]))


def not_there(x):
    return np.sum(x * TABLE["nowhere"])


def no_pairs(x):
    return np.sum(x * dict(["ab", "c"])["a"])


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="a slice of a UserList from outside"):
        grad(a_slice)(X)
    with pytest.raises(KeyError, match="nowhere"):
        grad(not_there)(X)
    with pytest.raises(ValueError, match="element #1 has length 1; 2 is required"):
        grad(no_pairs)(X)


SETTINGS: Any = UserDict(a=2.0)
NOTHING: Any = UserDict()
ROW: Any = UserList([1.0, 2.0])


def one_or_the_other(x):
    t = NOTHING or SETTINGS or {"a": 5.0}
    return np.sum(x) * t["a"] * (2.0 if SETTINGS and "a" in SETTINGS else 3.0)


def of_another_kind(x):
    if not NOTHING:
        return np.sum(x)
    return x


def a_list_in_a_list(x):
    return np.sum(x) * ([1.0] in ROW)


def test_the_truth_of_a_container_is_known_as_long_as_python_says_so() -> None:
    x = np.array([0.5, 1.5])
    for function in (one_or_the_other, of_another_kind, a_list_in_a_list):
        f = grad(function, jit=False)
        np.testing.assert_array_equal(f(x), function(x))
        NOTHING["a"] = 7.0
        try:
            np.testing.assert_array_equal(f(x), function(x))
        finally:
            NOTHING.clear()
        np.testing.assert_array_equal(f(x), function(x))


class Model:
    def __init__(self) -> None:
        self.held: dict[str, Any] = {}


MODEL = Model()


def caught(x):
    try:
        scale = USERS["scale"] * LIST[0]
    except (KeyError, IndexError):
        scale = 3.0
    return np.sum(x) * scale


def where_it_is_reached(x):
    return np.sum(x) * CHAIN["scale"] if x[0] > 100.0 else np.sum(x) * 4.0


def an_attribute(x):
    try:
        return np.sum(x) * MODEL.scale
    except AttributeError:
        return np.sum(x)


def matched_by_keys(x):
    for table in USERS, CHAIN, VIEW, MODEL.held:
        match table:
            case {"scale": 2.0}:
                x = x * 7.0
            case {"scale": scale, **others}:
                x = x * scale * len(others)
            case {}:
                x = x * 3.0
    return np.sum(x)


def matched_by_places(x):
    for some in LIST, QUEUE, "ab":
        match some:
            case [a]:
                x = x * a
            case [a, b]:
                x = x * a * b
            case str():
                x = x * 2.0
    return np.sum(x)


@pytest.mark.parametrize("jit", [False, True])
def test_what_is_there_later_and_then_gone(jit: bool) -> None:
    functions = [caught, where_it_is_reached, an_attribute, matched_by_keys, matched_by_places]
    made = [(function, grad(function, jit=jit)) for function in functions]
    for number in (None, 2.0, 5.0, None, 2.0):
        for table in USERS, CHAIN, HELD, MODEL.held, LIST, QUEUE:
            table.clear()
        vars(MODEL).pop("scale", None)
        if number is not None:
            for table in USERS, CHAIN, HELD, MODEL.held:
                table.update(scale=number, other=1.0)
            LIST[:], MODEL.scale = [number], number
            QUEUE.extend([number, 3.0])
        for function, f in made:
            value, cotangent = f.value_and_backward(X) if jit else (f(X), f.backward(X))  # at once: Python has run both
            assert np.isclose(value, function(X), rtol=1e-14), function
            assert np.allclose(cotangent, function(X) / np.sum(X)), function
            again = (lambda x, f=f: f.value_and_backward(x)[0]) if jit else f
            if function is where_it_is_reached and number is None:
                with pytest.raises(KeyError):
                    again(X + 200.0)
            elif function is where_it_is_reached:
                assert np.isclose(again(X + 200.0), function(X + 200.0), rtol=1e-14)
