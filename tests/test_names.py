"""Whatever a user calls the variables of a function, also as we would call ours: the same comes out."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import math
import random
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import FLOAT64, PROGRAMS, Program
from support import fresh, leaves

from srcgrad import grad
from srcgrad.testing import check_grad

OURS = (
    "i j k l m n p q t g s u v w z total first last lane row place kept x_b y_b s_b result out count rounds turn "
    "strips start stop t_1 g_1 i_1 j_1 done step ahead then now other x_kept kept_top ties found best at "
    "exp log sin pow erf user special solve push prange"
).split()
NOT_HERE = (ast.FunctionDef, ast.Lambda, ast.Global, ast.Nonlocal)  # scopes of their own


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Its definition, if all its names are in one scope."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    is_simple = isinstance(tree, ast.FunctionDef) and not function.__closure__
    inside = (node for node in ast.walk(tree) if node is not tree)
    return tree if is_simple and not any(isinstance(node, NOT_HERE) for node in inside) else None  # type: ignore[return-value]


def named_anew(function: Callable[..., Any], seed: str, folder: Path) -> Callable[..., Any]:
    """The function with other names for its variables, in a file of its own."""
    tree = tree_of(function)
    assert tree is not None
    tree.decorator_list = []
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    arguments = set(inspect.signature(function).parameters)
    own = sorted({name.id for name in names if isinstance(name.ctx, ast.Store)} - arguments)
    free = [name for name in OURS if name not in arguments | ({name.id for name in names} - set(own))]
    random.Random(seed).shuffle(free)
    others = dict(zip(own, free, strict=False))
    for name in names:
        name.id = others.get(name.id, name.id)
    path = folder / "anew.py"
    path.write_text(f"import {function.__module__} as _here\n\nglobals().update(vars(_here))\n\n{ast.unparse(tree)}\n")
    spec = importlib.util.spec_from_file_location("anew", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    keep = dict(vars(module))
    spec.loader.exec_module(module)
    vars(module).update({name: keep[name] for name in ("__name__", "__spec__", "__loader__")}, __file__=str(path))
    return getattr(module, function.__name__)


def outcome(function: Callable[..., Any], program: Program) -> list[Any]:
    f = grad(function, wrt=program.cases[0].wrt, jit=False, **program.options)
    args, keywords = program.arguments(0, FLOAT64)
    value = f(*fresh(args), **keywords) if SIMPLE.index(program) % 16 == 0 else None  # one function by turns, or two
    if value is not None:
        return [value, None if isinstance(value, tuple) else f.backward(*fresh(args), value, **keywords)]
    value, pullback = f.vjp(*fresh(args), **keywords)
    return [value, None if isinstance(value, tuple) else pullback(value)]


SIMPLE = [program for program in PROGRAMS if tree_of(program.function) is not None]


@pytest.mark.parametrize("program", SIMPLE[::12], ids=lambda program: program.name)
def test_any_names(program: Program, tmp_path: Path) -> None:
    other = named_anew(program.function, program.name, tmp_path)
    for got, want in zip(leaves(outcome(other, program)), leaves(outcome(program.function, program)), strict=True):
        if isinstance(want, (np.ndarray, np.number, float)):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_an_index_that_is_called_like_a_cotangent() -> None:
    def f(x, y):
        s = 0.0
        for x_b in range(len(x)):
            for y_b in range(len(y)):
                s += x[x_b] * np.sin(x[x_b] * y[y_b])
        return s

    check_grad(grad(f, jit=False), np.array([0.5, 1.5]), np.array([0.3, -0.7, 2.0]))


def variogram(h, range, sill, nugget):
    g = np.zeros(len(h))
    i = 0
    while i < len(h):
        if h[i] < range:
            g[i] = nugget + sill * (1.5 * h[i] / range - 0.5 * (h[i] / range) ** 3)
        else:
            g[i] = nugget + sill
        i += 1
    return g


def rotated(x, y, cos, sin, abs):
    u = np.empty(len(x))
    for i in range(len(x)):
        u[i] = math.cos(x[i]) * cos - math.sin(y[i]) * sin + np.abs(x[i]) * abs
    return u


def solved(a, b, solve, len):
    return np.linalg.solve(a, b) * solve + len


def filled(exp, user):
    for i in range(len(exp)):
        exp[i] = math.exp(user[i])


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "f, args",
    [
        (variogram, ([0.5, 1.5, 2.5], 2.0, 1.3, 0.1)),
        (rotated, ([0.5, 1.5], [2.5, 0.2], 2.0, 1.3, 0.1)),
        (solved, ([[3.0, 1.0], [0.5, 2.0]], [2.5, 0.2], 2.0, 1.3)),
    ],
)
def test_arguments_that_are_called_like_functions(f: Callable[..., Any], args: tuple[Any, ...], jit: bool) -> None:
    values = [np.array(arg) if isinstance(arg, list) else arg for arg in args]
    check_grad(grad(jit=jit)(f), *values)


def test_arguments_are_spoken_of_by_their_own_names() -> None:
    x, v = np.array([0.3, 0.7]), np.ones(2)
    exp_b, user_b = grad(filled, outputs=("exp",), jit=False).backward(np.zeros(2), x, v)
    np.testing.assert_allclose(user_b, np.exp(x))
    by_name = grad(variogram, wrt="range", jit=False).backward(h=x, range=2.0, sill=1.3, nugget=0.1, v=v)
    everything = grad(variogram, jit=False).backward(x, 2.0, 1.3, 0.1, v)
    assert by_name == everything[1] != 0.0


def test_an_argument_called_user_is_no_module() -> None:
    """What needs functions of the user's is not kept on disk."""
    text = grad(by_user).source(np.ones(3), np.zeros(3, np.int64))
    assert "import user" not in text


def by_user(P, user):
    s = 0.0
    for e in range(len(user)):
        s += P[user[e]] ** 2
    return s
