"""`try` with `except`: which handler runs, what names are in it, and the derivative along the way that was taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import grad
from srcgrad.errors import SrcgradError, UnsupportedError
from srcgrad.testing import check_grad


class NoRoot(ValueError):
    pass


TABLE = {"half": 0.5, "double": 2.0}
TUPLES = {(0, 1): 3.0}


def root(x):
    if x < 0.0:
        raise NoRoot("a negative number")
    return math.sqrt(x)


def steps_to(x, limit, most):
    for k in range(most):
        x = x * 1.5 + 0.1
        if x > limit:
            return x * k
    raise RuntimeError(f"still {x} after {most} steps")


def called(x, y):
    try:
        z = root(x - 1.0) * y
    except ValueError:
        z = x * x * y
    return z * x


def returned(x, y):
    try:
        return y / x
    except ZeroDivisionError:
        return 3.0 * y + x


def by_kind(x, y):
    try:
        z = math.log(x) + 1.0 / (y - 2.0)
    except ZeroDivisionError:
        z = x * y
    except (KeyError, ValueError):
        z = x - y
    else:
        z = z * 2.0
    finally:
        x = x * y
    return z + x


def in_a_loop(x, y):
    total = 0.0
    for k in range(6):
        try:
            total += root(x - 0.4 * k) * y
        except NoRoot:
            total -= k * y
            if k > 4:
                break
            continue
        total *= 1.2
    return total


def partly_done(x, y):
    z, steps = x, 0
    try:
        z = z * y
        while True:
            z = z + root(y - z)
            steps += 1
            y = y * 0.8
    except NoRoot:
        return z * y + steps
    return z


def nested(x, y):
    try:
        try:
            z = math.exp(100.0 * x) * y
        except OverflowError:
            z = root(y - 2.0)
        z = z + x
    except ValueError as problem:
        z = x * y
        if y < 0.0:
            raise RuntimeError("neither way") from problem
    return z


def raised_again(x, y):
    try:
        try:
            z = steps_to(x, y, 5)
        except RuntimeError:
            if y > 100.0:
                z = 1.0
            else:
                raise
        except ValueError:
            raise
    except (RuntimeError, TypeError):
        z = y * x
    return z


def under_finally(x, y):
    """What stands under `finally` has run when a handler further out runs."""
    try:
        try:
            z = root(x - 1.0)
        finally:
            y = y * 2.0
            x = x + 1.0
    except ValueError:
        z = x * y
    return z * y


def known_ahead(x, y):
    try:
        factor = TABLE["triple"]
    except KeyError:
        factor = 3.0
    try:
        other = TABLE["half"]
    except (KeyError, AttributeError):
        other = y
    try:
        name = TUPLES[1, 0]
    except KeyError:
        name = 1.0
    try:
        if y > 2.5:
            raise KeyError("large")
        name = name * TABLE["none"]
    except KeyError:
        name = name * 2.0
    try:
        unknown = nobody_knows  # noqa: F821
    except NameError:
        unknown = 4.0
    return x * factor * other + y * name * unknown


def integer_of(x, y):
    try:
        n = int(x * 1e400 if y > 2.5 else x / y)
    except OverflowError:
        return x
    except ValueError:
        return y
    return n * y + x


def bare(x, y):
    """The exception of an assertion, by a clause that names none."""
    try:
        assert x < y, "x is larger"
        z = y**x
    except:  # noqa: E722
        z = x
    return z * x


class Counter:
    def __init__(self):
        self.failures = 0

    def tried(self, x):
        try:
            return root(x - 1.0)
        except ValueError:
            self.failures += 1
            return x * 0.5


def in_a_method(x, y):
    counter, total = Counter(), 0.0
    for k in range(3):
        total += counter.tried(x - 0.3 * k) * y
    return total * (1 + counter.failures)


def swallowed(x):
    try:
        return root(x)
    finally:
        return x * 3.0  # noqa: B012


def under_finally_further_in(x, y):
    try:
        z = swallowed(x - 1.0) * always_raises(y)
    except (ArithmeticError, NoRoot):
        z = x * y
    return z


def always_raises(x):
    if x > 2.0:
        raise ArithmeticError
    else:
        raise NoRoot


def until_the_end(x, y):
    values, total, k = np.array([x, y, x * y]), 1.0, 0
    try:
        while True:
            total = total * values[k] + k
            k += 1
    except IndexError:
        return total * k


def returned_from_loops(x, y):
    total = 0.0
    for i in range(3):
        try:
            for k in range(3):
                if root(x - 0.2 * i - 0.4 * k) > 1.0:
                    return x * k + total
        except ValueError:
            total += y * i
    return total


POINTS = [(0.3, 1.7), (2.6, 1.7), (1.3, 2.0), (2.5, 0.6), (-0.7, 2.8), (9.0, 3.1), (0.0, 1.5)]
PROGRAMS = [
    called, returned, by_kind, in_a_loop, partly_done, nested, raised_again, under_finally, known_ahead, integer_of,
    bare, in_a_method, under_finally_further_in, until_the_end, returned_from_loops,
]  # fmt: skip


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as problem:
        return type(problem), str(problem)


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_python_does(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for x, y in POINTS:
        expected = outcome(function, x, y)
        got = outcome(f, x, y)
        if isinstance(expected, tuple):
            assert got == expected
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_derivative_of_the_way_taken(function: Callable[..., Any]) -> None:
    f = grad(function, jit=False)
    for x, y in POINTS[:6]:
        if not isinstance(outcome(function, x, y), tuple) and y != 2.0:
            check_grad(f, x, y)


@pytest.mark.parametrize("function", [by_kind, partly_done])
def test_compiled(function: Callable[..., Any]) -> None:
    f = grad(function)
    for x, y in POINTS[:5]:
        np.testing.assert_allclose(f(x, y), function(x, y), rtol=1e-13)
        np.testing.assert_allclose(f.backward(x, y), grad(function, jit=False).backward(x, y), rtol=1e-12)


def rows(a, b):
    """Of arrays; a row for which there is no root gets another value."""
    out = np.zeros(len(a))
    for i in range(len(a)):
        try:
            value = root(a[i] - b)
        except ValueError:
            value = a[i] * b
        out[i] = value * a[i]
    return out


def rebound(a, b):
    try:
        total = np.sum(a)
        if total > b:
            raise NoRoot
        a = a * total
    except NoRoot:
        a = a + total
    return a * b


def smoothed(a, b):
    """NumPy's numbers have inf and nan where Python's raise."""
    try:
        return np.log(a[0]) / (a[1] - a[1]) + b
    except (ZeroDivisionError, ValueError):
        return 0.0


@pytest.mark.parametrize(("function", "jit"), [(rows, False), (rows, True), (rebound, False)])
def test_of_arrays(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    for a in (np.array([0.2, 1.4, 3.0]), np.array([0.1, 0.2])):
        for b in (0.9, 2.0):
            check_value_and_grad(f, a, b, rtol=1e-13)


def test_numpys_numbers_raise_nothing() -> None:
    a = np.array([2.0, 1.0])
    with np.errstate(all="ignore"):
        assert smoothed(a, 1.0) == grad(smoothed, jit=False)(a, 1.0) == np.inf


def with_jitter(a, b):
    """A matrix that is not positive definite gets a larger diagonal until it is."""
    jitter = 0.0
    while True:
        try:
            lower = np.linalg.cholesky(a + a.T + jitter * np.eye(3))
            break
        except np.linalg.LinAlgError:
            jitter = 2.0 * jitter + b
    return np.sum(lower) + jitter


def singular(a, b):
    try:
        x = np.linalg.solve(a, a[0] * b)
    except np.linalg.LinAlgError:
        x = a[0] + b
    try:
        y = np.linalg.inv(np.stack([a, a @ a.T]))
    except ValueError:
        y = np.stack([a, a.T]) * b
    return x @ y[0] @ y[1] @ x


@pytest.mark.parametrize(("function", "jit"), [(with_jitter, False), (with_jitter, True), (singular, False)])
def test_of_matrices(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    a = np.array([[2.0, 0.3, 0.1], [0.2, -1.0, 0.4], [0.1, 0.3, 1.5]])
    for matrix in (a, a @ a.T, np.diag([1.0, 2.0, 0.0]) if function is singular else a.T):
        for b in (0.4, 1.7):
            if function is with_jitter or np.linalg.matrix_rank(matrix) == 3:
                check_value_and_grad(f, matrix, b, rtol=1e-11, at_once=True)
            else:
                np.testing.assert_allclose(f(matrix, b), function(matrix, b), rtol=1e-11)


# ------------------------------------------------------------------------------------------------------- refused


def writes_first(a, b):
    c = a * 1.0
    try:
        c[0] = b
        c[1] = root(b)
    except ValueError:
        c[1] = 0.0
    return c


def appends_first(a, b):
    ys = [b]
    try:
        ys.append(b * b)
        ys[0] = root(b)
    except ValueError:
        ys.append(b)
    return ys[-1]


def asks_what_it_was(a, b):
    try:
        return root(b)
    except ValueError as problem:
        print(problem)
        return b


def an_array_by_the_path(a, b):
    try:
        a = a * b
        b = root(b)
    except ValueError:
        return a
    return a * b


def of_either_kind(a, b):
    d = a[0] if a[0] > 1.5 else 0.0
    try:
        return b / max(d, 0.0)
    except ZeroDivisionError:
        return b


def calls_itself(a, b):
    def down(n):
        if n > 500:
            raise ValueError
        if n > 400 + b:
            return b
        return down(n + 1) * b

    try:
        return down(int(b))
    except ValueError:
        return b


def with_any(a, b):
    try:
        return b * any(root(v) > b for v in a)
    except ValueError:
        return b


def finally_further_in(a, b):
    def inner(c):
        try:
            return root(b - 9.0)
        finally:
            c[0] = 5.0

    c = a * 1.0
    try:
        return inner(c)
    except ValueError:
        return c[0]


def changes_on_one_path(a, b):
    found = [a, 0.0]
    try:
        if b > 0.0:
            found[0] = b
            raise ValueError("b")
    except ValueError:
        found[1] = 2.0
    return found[0] * b + found[1]


def prints_first(a, b):
    try:
        print(b)
        return root(b)
    except ValueError:
        return b


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (writes_first, "c is written in a try statement ahead of what may raise"),
        (appends_first, "a list or an object changes in a try statement ahead of what may raise"),
        (changes_on_one_path, "a list or an object changes in a try statement ahead of what may raise"),
        (asks_what_it_was, "of an exception that is caught only its class is known"),
        (an_array_by_the_path, "a may or may not have been assigned when the exception was raised"),
        (prints_first, "print in a try statement"),
        (of_either_kind, "whether this raises an exception depends on the path taken"),
        (calls_itself, "a function that is compiled on its own in a try statement"),
        (with_any, "any of what may raise an exception"),
        (finally_further_in, "c is written in a try statement ahead of what may raise"),
    ],
)
def test_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        grad(function, jit=False)(np.array([1.0, 2.0]), 0.5)


def broadcast(a, n):
    try:
        return (a[:2] + a[:n]).sum()
    except ValueError:
        return 100.0


def none_at_times(a, n):
    z = None if n > 1 else n
    try:
        return a[0] if z == n else a[1]
    except Exception:
        return 100.0


@pytest.mark.parametrize("function", [broadcast, none_at_times])
def test_what_only_srcgrad_can_not_do_is_not_caught(function: Callable[..., Any]) -> None:
    f, a = grad(function, jit=False), np.array([1.0, 2.0, 4.0])
    for n in (1, 2):
        got = outcome(f, a, n)
        if isinstance(got, tuple):
            assert issubclass(got[0], (SrcgradError, TypeError))
        else:
            assert got == function(a, n)


def test_a_name_that_a_function_inside_reads_and_this_path_does_not_bind() -> None:
    def outer(x):
        if x > 1.0:
            k = x * 2.0

        def inner():
            return k * x

        return inner()

    f = grad(outer, jit=False)
    assert f(3.0) == 18.0
    with pytest.raises(NameError):
        f(0.5)


def test_ways_of_a_classs_own_are_refused() -> None:
    class Doubling:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * 2.0)

    def kept(x):
        own = Doubling()
        own.value = x
        return own.value

    with pytest.raises(UnsupportedError, match="has a way of its own to set value"):
        grad(kept, jit=False)(1.0)


def test_what_is_no_exception_class() -> None:
    def caught(x):
        try:
            return root(x)
        except 3:  # type: ignore[misc]
            return x

    with pytest.raises(SrcgradError, match="only exception classes can be caught"):
        grad(caught, jit=False)(1.0)


# -------------------------------------------------------------------------------------- numbers where arrays may be


def length_of(x):
    try:
        return len(x)
    except TypeError:
        return 1


def of_any_kind(x, y):
    try:
        mean = x.mean()
    except AttributeError:
        mean = 3.0 * x
    try:
        if (x < 0.0).any():
            raise ValueError("negative")
    except AttributeError:
        if x < -9.0:
            raise ValueError("far too negative") from None
    try:
        first = x[0]
    except (TypeError, IndexError):
        first = y
    try:
        kind = x.kind
    except AttributeError:
        kind = 2.0
    return mean * y * length_of(x) + first * kind


def test_numbers_and_arrays_by_what_they_have() -> None:
    f = grad(of_any_kind, jit=False)
    for x in (0.7, np.float64(0.7), np.array([0.5, 1.5]), np.array([[0.5, 1.5]])[0]):
        np.testing.assert_allclose(f(x, 1.5), of_any_kind(x, 1.5), rtol=1e-14)
        if np.ndim(x):
            check_grad(f, x, 1.5)
    np.testing.assert_allclose(f.backward(0.7, 1.5), (4.5, 2.0 + 2.1), rtol=1e-14)
    np.testing.assert_allclose(f.backward(np.float64(0.7), 1.5), (1.5, 2.0 + 0.7), rtol=1e-14)  # this one has a mean
    for x in (-10.0, np.array([-1.0, 2.0])):
        assert outcome(f, x, 1.5) == outcome(of_any_kind, x, 1.5)


def by_rows_if_there_are_any(x, y):
    gain = np.dot(x, y)
    try:
        identity = np.eye(gain.shape[0]) - gain
    except:  # noqa: E722
        identity = np.array([1.0 - gain])
    return np.sum(identity * x[0])


def test_an_index_of_a_shape_is_caught() -> None:
    f = grad(by_rows_if_there_are_any, jit=False)
    for x in (np.array([0.5, 1.5]), np.array([[0.5, 1.5], [0.2, 0.9]])):
        np.testing.assert_allclose(f(x, x), by_rows_if_there_are_any(x, x), rtol=1e-14)
        check_grad(f, x, 0.5 * x)
    with pytest.raises(IndexError, match="index 1 is out of range for 1 items"):
        grad(lambda x: x.shape[1] * x, jit=False)(np.zeros(2))


def solved(x):
    try:
        y = np.linalg.solve(np.array([[x, 1.0], [0.0, x]]), np.ones(2))
    except np.linalg.not_there.LinAlgError:
        y = np.zeros(2)
    return np.sum(y)


def never_raised(x):
    try:
        y = x * x
    except (ValueError, NotThere):  # noqa: F821
        y = 3.0 * x
    return y


def caught_ahead_of_it(x):
    try:
        y = root(x)
    except NoRoot:
        y = 2.0 * x
    except NotThere:  # noqa: F821
        y = 3.0 * x
    return y


def caught_around_it(x):
    try:
        try:
            y = root(x)
        except np.linalg.not_there.LinAlgError:
            y = 3.0 * x
    except AttributeError:
        y = 5.0 * x
    return y


def comes_to_it(x):
    try:
        y = root(x)
    except NotThere:  # noqa: F821
        y = 3.0 * x
    return y


@pytest.mark.parametrize("jit", [False, True])
def test_what_an_except_clause_names_is_not_there(jit: bool) -> None:
    """Python does not look at it unless something is raised and comes there."""
    for function in (solved, never_raised, caught_ahead_of_it, caught_around_it, comes_to_it):
        f = grad(function, jit=jit)
        for x in (0.7, -0.4, 0.0):
            try:
                want = function(x)
            except (AttributeError, NameError) as problem:
                with pytest.raises(type(problem), match="not_there" if function is solved else "NotThere"):
                    f(x)
            else:
                np.testing.assert_allclose(f(x), want)
                if x:
                    check_grad(f, x)


def test_a_name_of_an_except_clause_that_is_there_later(monkeypatch: pytest.MonkeyPatch) -> None:
    f = grad(comes_to_it, jit=False)
    with pytest.raises(NameError, match="NotThere"):
        f(-0.4)
    monkeypatch.setitem(globals(), "NotThere", NoRoot)
    assert f.value_and_backward(-0.4) == (pytest.approx(-1.2), 3.0)


def bound_at_the_end_of_an_iteration(x):
    s = 0.0
    for i in range(3):
        try:
            s += root(x) if i else x
        except kind:  # noqa: F821
            s += 3.0 * x
        kind = NoRoot  # noqa: F841
    return s


def test_a_name_of_an_except_clause_that_another_path_binds_is_refused() -> None:
    with pytest.raises(SrcgradError, match="name 'kind' is not defined"):
        grad(bound_at_the_end_of_an_iteration, jit=False)(-0.4)


def names_what_may_have_a_name(x):
    y = 2.0 * x
    try:
        y.name = "projection"
    except AttributeError:
        y = 3.0 * y
    return y


def names_a_number(x):
    y = 2.0 * x
    y.name = "projection"
    return y


@pytest.mark.parametrize("x", [0.5, np.float64(0.5), np.float32(0.5), np.array([0.5, 1.5])])
def test_attributes_of_numbers_are_not_writable(x: Any) -> None:
    """As pandas' series have names, and what else is handed in may have none."""
    assert np.array_equal(names_what_may_have_a_name(x), grad(names_what_may_have_a_name, jit=False)(x))
    check_grad(grad(names_what_may_have_a_name, jit=False), x)
    with pytest.raises(AttributeError, match="'name'"):
        grad(names_a_number)(x)
