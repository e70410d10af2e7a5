"""Programs that are deeper than Python's own stack, its parentheses or its indentation: as generated code often is."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support import from_text

from srcgrad import grad
from srcgrad.testing import check_grad

HEAD = "import numpy as np\n\n\n"
X = np.array([1.3, 0.7, 0.9, 1.1, 0.5])


def terms(n):
    return "def f(x):\n    return " + " + ".join(f"{k + 1}.0 * x[{k % 5}] * x[{(3 * k + 1) % 5}]" for k in range(n))


def factors(n):
    return "def f(x):\n    return " + " * ".join(f"(1.0 + 0.001 * x[{k % 5}])" for k in range(n))


def array_terms(n):
    return "def f(x):\n    return np.sum(" + " + ".join(f"{k + 1}.0 * x**{k % 4}" for k in range(n)) + ")"


def chain(n):
    inner = "".join(f"def f{k}(x):\n    return f{k - 1}(x) * 1.01\n\n\n" for k in range(1, n))
    return f"def f0(x):\n    return np.sin(x)\n\n\n{inner}def f(x):\n    return np.sum(f{n - 1}(x))"


def conditions(n):
    asked = " and ".join(f"x[{k % 5}] < {k + 10}.0" for k in range(n))
    return f"def f(x):\n    y = 0.0\n    if {asked}:\n        y = x[0] * x[1]\n    return y"


def nested_choices(n):
    text = "x"
    for k in range(n):
        text = f"np.where(x > {k / n}, {text}, x * {k + 1}.0)"
    return f"def f(x):\n    return np.sum({text})"


def cases(n):
    tried = "".join(f"    elif x[0] < {(k + 0.5) / n}:\n        y = x[1] * {k + 1}.0\n" for k in range(n))
    first = "    y = 0.0\n    if x[0] < 0.0:\n        y = x[1]\n"
    return f"def f(x):\n{first}{tried}    else:\n        y = x[2] * x[0]\n    return y"


def returns(n):
    tried = "".join(f"    if x[0] < {(k + 0.5) / n}:\n        return x[1] * {k + 1}.0\n" for k in range(n))
    return f"def f(x):\n{tried}    return x[2] * x[0]"


def cases_that_compute(n):
    """Between an `if` and the next one there is something to do, so that there is no `elif`."""
    tried = "".join(
        f"    t = t * 1.001 + x[{k % 5}]\n    if t > {k + 4}.5 + x[0]:\n        return t * x[1]\n" for k in range(n)
    )
    return f"def f(x):\n    t = x[0]\n{tried}    return x[2] * t"


SOME = [(terms, 250), (factors, 250), (array_terms, 250), (conditions, 250), (chain, 100), (nested_choices, 90)]


@pytest.mark.parametrize(("text", "count"), SOME, ids=lambda part: getattr(part, "__name__", ""))
def test_deep_expressions(text, count):
    f = from_text(HEAD + text(count), "f")
    check_grad(grad(f, jit=False), X)


@pytest.mark.parametrize("text", [cases, returns, cases_that_compute], ids=lambda part: getattr(part, "__name__", ""))
def test_many_branches(text):
    f = grad(from_text(HEAD + text(120), "f"), jit=False)
    for at in (0.05, 0.99):
        check_grad(f, np.array([at, *X[1:]]))


def test_a_chain_of_cases_is_an_elif_each_way():
    f = grad(from_text(HEAD + cases(4), "f"), jit=False)
    assert f.source(X, kind="primal").count("elif ") == 4
    assert f.source(X).count("elif ") == 4


def test_compiled():
    f = grad(from_text(HEAD + cases_that_compute(60), "f"))
    x = np.array([0.3, *X[1:]])
    check_grad(f, x)
    assert "deeper" in f.source(x, np.float64(1.0))


def test_the_limit_of_calls_is_what_it_was():
    before = sys.getrecursionlimit()
    grad(from_text(HEAD + terms(250), "f"), jit=False).backward(X, 1.0)
    assert sys.getrecursionlimit() == before


def test_errors_of_deep_programs_are_those_of_others():
    f = from_text(HEAD + terms(250).replace("return ", "return open('x') + "), "f")
    with pytest.raises(Exception, match="open") as caught:
        grad(f, jit=False).backward(X, 1.0)
    g = from_text(HEAD + "def f(x):\n    return open('x') + x[0]", "f")
    with pytest.raises(type(caught.value), match="open"):
        grad(g, jit=False).backward(X, 1.0)
