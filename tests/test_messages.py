"""Exceptions that the user raises: of the same class, with the same arguments and the same text as in Python.

PYTEST_DONT_REWRITE: it would put words of its own into the messages of `assert`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from srcgrad import grad

X = np.array([0.51, 1.2, -0.3, 0.7])


class Failure(Exception):
    pass


class CodedFailure(Exception):
    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


def formatted(x):
    if x[0] > 0:
        raise ValueError(f"s {x.sum():.3f} for {len(x)}")
    return x.sum()


def made_ahead(x):
    error = ValueError("s", len(x))
    if x[0] > 0:
        raise error
    return x.sum()


def other_class_of_this_name():
    class Failure(Exception):
        pass

    return Failure


OtherFailure = other_class_of_this_name()


def two_of_one_name(x):
    if x[0] > 5:
        raise Failure("one")
    if x[0] > 0:
        raise OtherFailure("two")
    return x.sum()


NoName, OfTheArgument = type("no identifier", (Exception,), {}), type("x", (ValueError,), {})


def of_any_name(x):
    if x[0] > 5:
        raise OfTheArgument("one", x[0])
    if x[1] > 1:
        raise NoName(f"{x[0]:.1f}")
    return x.sum()


def of_the_name_of_an_argument(x):
    if x[0] > 5:
        raise NoName("one")
    if x[1] > 1:
        raise OfTheArgument("two")
    return x.sum()


def asserted(x):
    assert x[0] < 0, f"got {x.sum()}"
    return x.sum()


def asserted_with_a_number(x):
    assert x[0] < 0, x.sum()
    return x.sum()


def by_percent(x):
    if x[0] > 0:
        raise ValueError("v %.2f and %d%%, %s" % (x[0], len(x), x[1]))  # noqa: UP031
    return x.sum()


def by_format(x):
    if x[0] > 0:
        raise ValueError("{:.2f} {b!r} {{}} {}".format(x[0], len(x), b=x[1]))  # noqa: UP032
    return x.sum()


def with_a_shape(x):
    if x[0] > 0:
        raise ValueError("shape " + str(x.shape))
    return x.sum()


def with_arguments(x):
    if x[0] > 0:
        raise Failure("bad", 3)
    return x.sum()


def with_numbers(x):
    if x[0] > 0:
        raise Failure(x[0], len(x), None, x.shape)
    return x.sum()


def with_a_constructor(x):
    if x[0] > 0:
        raise CodedFailure(3, message=f"bad {x[0]}")
    return x.sum()


def ahead_of_time(x):
    text = f"{{s}} {x.sum()!r:>20} {x.shape} {3}"
    x = x * 2
    if x[0] > 0:
        raise ValueError(text + " {end}")
    return x.sum()


def in_a_loop(x):
    for i in range(len(x)):
        if x[i] > 1:
            raise ValueError(f"at {i}: {x[i]:.2e} {x[i] > 0} {i / 2} {float(x[i])!r}")
    return x.sum()


def with_arrays(x):
    before = f"{x}"
    x = x * 2
    for i in range(len(x)):
        if x[i] > 1:
            raise Failure(f"{before} {x > 0}: {x[x > 1]!r} {x[i]}", i, x, x[:2], x[i])
    return x.sum()


def with_an_array_in_a_helper(x):
    def check(a, name):
        if not np.all(a < 1):
            raise ValueError(f"{name} is out of range: {a[a >= 1]}")

    check(x, "x")
    return x.sum()


MESSAGES = [
    with_arrays, with_an_array_in_a_helper,
    formatted, made_ahead, two_of_one_name, asserted, asserted_with_a_number, by_percent, by_format, with_a_shape,
    with_arguments, with_numbers,
    with_a_constructor, ahead_of_time, in_a_loop, of_any_name, of_the_name_of_an_argument,
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "dtype", "jit"),
    [(f, (np.float64, np.float32)[(k + jit) % 2], jit) for k, f in enumerate(MESSAGES) for jit in (False, True)],
)
def test_as_in_python(function: Callable[..., Any], dtype: Any, jit: bool) -> None:
    x = X.astype(dtype)
    with pytest.raises(Exception) as expected:  # noqa: B017, PT011
        function(x)
    with pytest.raises(type(expected.value)) as caught:
        grad(function, jit=jit).backward(x)
    assert type(caught.value) is type(expected.value)
    assert repr(caught.value) == repr(expected.value) and str(caught.value) == str(expected.value)
    assert vars(caught.value) == vars(expected.value)


class Solver:
    class Failed(Exception):
        pass


def of_a_class(x):
    if x[0] > 0:
        raise Solver.Failed(f"at {x[0]}")
    return x.sum()


def of_a_class_plainly(x):
    if x[0] > 0:
        raise Solver.Failed("no")
    return x.sum()


def of_numpy(x):
    if x[0] > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return x.sum()


@pytest.mark.parametrize(
    "function",
    [formatted, with_numbers, with_arrays, of_a_class, of_a_class_plainly, of_numpy],
    ids=lambda f: f.__name__,
)
def test_the_text_by_itself(function: Callable[..., Any]) -> None:
    scope: dict[str, Any] = {}
    exec(grad(function, jit=False).source(X), scope)
    with pytest.raises(Exception) as expected:  # noqa: B017, PT011
        function(X)
    with pytest.raises(type(expected.value)) as caught:
        scope[f"{function.__name__}_backward"](X)
    assert repr(caught.value) == repr(expected.value)


def prints(x):
    s, before = x.sum(), f"{x} {{é}}"
    x = x * 2
    print(f"sum {s:.3f} of {len(x)} numbers", s, x[0], x[1] > 0, before)
    print("x", x, x.shape, sep=", ", end=";\n", flush=True)
    print({"s": s, "x": x}, (x[:1], 1), [s, x[0]], f"{x!r:>20}", "%5.1f %d%% %s" % (s, len(x), x))  # noqa: UP031
    for i in range(2):
        print(f"[{i}] x={x[i]}" if i > 0 else "first", end="")
    print()
    return s


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_printed(dtype: Any, jit: bool, capsys: pytest.CaptureFixture[str]) -> None:
    x = X.astype(dtype)
    prints(x)
    expected = capsys.readouterr().out
    grad(prints, jit=jit).backward(x)
    assert capsys.readouterr().out == expected


def test_caught_by_its_class() -> None:
    """Also where compiled code is called directly."""
    f = grad(formatted)
    for _ in range(4):
        try:
            f.backward(X)
        except ValueError as error:
            assert str(error) == "s 2.110 for 4"
        else:
            raise AssertionError("nothing was raised")


def of_its_rank(x):
    x = x * 2
    if x.ndim != 2:
        raise ValueError(f"need a matrix, got {x.shape} with {x.sum()}")
    return x.sum()


def asserted_of_its_rank(x):
    assert x.ndim == 2, ("need a matrix", x.shape, None, x)
    x *= 2


def of_its_dtype(x):
    if x.dtype != np.int64:
        raise TypeError("need whole numbers")
    return x.sum()


def without_its_other_argument(x, y=None):
    if y is None:
        raise TypeError("y is needed")
    return (x * y).sum()


def in_a_nested_function(x):
    def check(a):
        for row in a:
            if row.ndim != 1:
                raise CodedFailure(3, f"need a matrix, got {a.ndim}")

    check(x)
    return x.sum()


def in_both_branches(x):
    if x[0] > 0:
        raise KeyError("a", x[0])
    raise NotImplementedError


WHATEVER_THE_DATA = [
    of_its_rank, asserted_of_its_rank, of_its_dtype, without_its_other_argument, in_a_nested_function,
    in_both_branches,
]  # fmt: skip


@pytest.mark.parametrize("function", WHATEVER_THE_DATA, ids=lambda f: f.__name__)
def test_where_every_path_raises(function: Callable[..., Any]) -> None:
    """There is no output, hence no v that is needed, or like it; arguments that are written stay as they are."""
    with pytest.raises(Exception) as expected:  # noqa: B017, PT011
        function(X.copy())
    f, x = grad(function, jit=False), X.copy()
    for call in (f.backward, partial(f.backward, v=1.0), f.value_and_backward, f.vjp):
        with pytest.raises(type(expected.value)) as caught:
            call(x)
        assert repr(caught.value) == repr(expected.value)
    np.testing.assert_array_equal(x, X)


def test_where_every_path_raises_compiled() -> None:
    """Also of an argument that has no derivative; and in a function that differentiates it."""
    f = grad(of_its_rank)
    for call in (f.backward, f.value_and_backward, f.vjp, grad(lambda x: f.backward(x).sum()).backward):
        with pytest.raises(ValueError, match=r"^need a matrix, got \(4,\) with 4.22"):
            call(X)

    def of_a_class(x):
        if not isinstance(x, np.ndarray):
            raise TypeError(f"need an array, got {type(x).__name__}")
        return x.sum()

    with pytest.raises(TypeError, match="^need an array, got int"):
        grad(of_a_class).backward(3)
