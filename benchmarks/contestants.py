"""How each library is asked for the primal and for the gradient of a program, as its users ask it.

    calls = CONTESTANTS["jax"](program, arguments, v)
    calls.gradient()    the cotangents of program.wrt, finished, in the library's own arrays

Arguments and v are put where the library wants them before any clock runs.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from benchmarks.programs.program import LOOPS, Program, as_tuple

GRADIENTS = ("srcgrad", "by hand", "jax", "jax loops", "torch", "autograd")


@dataclass(frozen=True)
class Calls:
    primal: Callable[[], Any] | None
    gradient: Callable[[], Any] | None


class Absent(Exception):
    """Nobody wrote this program for this library."""


def with_srcgrad(program: Program, arguments: tuple[Any, ...], v: Any, **options: bool) -> Calls:
    from srcgrad import grad

    f = grad(program.primal, wrt=program.wrt, **options)
    return Calls(_primal(program, f, arguments), lambda: f.backward(*arguments, v))


def with_numba(program: Program, arguments: tuple[Any, ...], v: Any) -> Calls:
    return Calls(_primal(program, rebuilt(program.primal, numba.njit), arguments), None)


def with_numpy(program: Program, arguments: tuple[Any, ...], v: Any) -> Calls:
    if program.kind == LOOPS:
        raise Absent
    return Calls(_primal(program, program.primal, arguments), None)


def with_adjoint_by_hand(program: Program, arguments: tuple[Any, ...], v: Any) -> Calls:
    if program.by_hand is None:
        raise Absent
    return Calls(None, lambda: program.by_hand(*arguments, v))


def _primal(program: Program, f: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    if program.writes is None:
        return lambda: f(*arguments)
    at = program.parameters.index(program.writes)
    before, after = arguments[:at], arguments[at + 1 :]

    def call() -> Any:  # from the same start each time: the copy is part of the figure, for all alike
        written = arguments[at].copy()
        f(*before, written, *after)
        return written

    return call


def with_jax(program: Program, arguments: tuple[Any, ...], v: Any) -> Calls:
    return _with_jax(program, program.jax, arguments, v)


def with_jax_loops(program: Program, arguments: tuple[Any, ...], v: Any) -> Calls:
    return _with_jax(program, program.jax_loops, arguments, v)


def _with_jax(program: Program, f: Any, arguments: tuple[Any, ...], v: Any) -> Calls:
    if f is None:
        raise Absent
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    fixed = {i: argument for i, argument in enumerate(arguments) if isinstance(argument, int)}  # counts of loops
    there = {i: jnp.asarray(argument) for i, argument in enumerate(arguments) if i not in fixed}
    v = jnp.asarray(v)

    def primal(there: dict[int, Any]) -> Any:
        known = fixed | there
        return f(*(known[i] for i in range(len(known))))

    def gradient(there: dict[int, Any], v: Any) -> Any:
        def of_wrt(*wrt: Any) -> Any:
            return primal(there | dict(zip(program.positions, wrt, strict=True)))

        return jax.vjp(of_wrt, *(there[i] for i in program.positions))[1](v)

    primal_jit, gradient_jit = jax.jit(primal), jax.jit(gradient)
    return Calls(
        lambda: jax.block_until_ready(primal_jit(there)), lambda: jax.block_until_ready(gradient_jit(there, v))
    )


def with_torch(program: Program, arguments: tuple[Any, ...], v: Any) -> Calls:
    f = program.torch
    if f is None:
        raise Absent
    import torch

    def tensor(argument: Any) -> Any:
        if isinstance(argument, int):
            return argument
        return torch.as_tensor(argument, dtype=torch.float64 if isinstance(argument, float) else None)

    there = [tensor(argument) for argument in arguments]
    v = torch.as_tensor(v, dtype=torch.float64)
    leaves = [there[i].clone().requires_grad_() for i in program.positions]
    recorded = list(there)
    for i, leaf in zip(program.positions, leaves, strict=True):
        recorded[i] = leaf

    def primal() -> Any:
        with torch.no_grad():
            return f(*there)

    def gradient() -> Any:
        for leaf in leaves:
            leaf.grad = None
        f(*recorded).backward(v)
        return tuple(leaf.grad for leaf in leaves)

    return Calls(primal, gradient)


def with_autograd(program: Program, arguments: tuple[Any, ...], v: Any) -> Calls:
    f = program.autograd
    if f is None:
        raise Absent
    from autograd import make_vjp

    vjp = make_vjp(f, program.positions)
    return Calls(None, lambda: vjp(*arguments)[0](v))


CONTESTANTS: dict[str, Callable[[Program, tuple[Any, ...], Any], Calls]] = {
    "srcgrad": with_srcgrad,
    "by hand": with_adjoint_by_hand,
    "numba": with_numba,
    "numpy": with_numpy,
    "jax": with_jax,
    "jax loops": with_jax_loops,
    "torch": with_torch,
    "autograd": with_autograd,
}


def rebuilt(function: Callable[..., Any], wrap: Callable[[Any], Any]) -> Any:
    """A function with `wrap` around it and around each Python function that it calls, itself included."""
    return _rebuilt(getattr(function, "py_func", function), wrap, {})


def _rebuilt(function: Any, wrap: Callable[[Any], Any], done: dict[Any, Any]) -> Any:
    if function not in done:
        space = dict(function.__globals__)
        copy = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__)
        done[function] = wrap(copy)
        for name in function.__code__.co_names:
            called = getattr(space.get(name), "py_func", space.get(name))
            if isinstance(called, types.FunctionType):
                space[name] = _rebuilt(called, wrap, done)
    return done[function]


def disagreement(program: Program, found: Any, expected: Any) -> str | None:
    """What is wrong with these cotangents, where those are expected."""
    found, expected = as_tuple(found), as_tuple(expected)
    if len(found) != len(expected):
        return f"{len(found)} cotangents, not {len(expected)}"
    for name, one, other in zip(program.wrt, found, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            return f"{name}_b has shape {one.shape}, not {other.shape}"
        error, scale = np.max(np.abs(one - other)), np.max(np.abs(other))
        if not error <= program.rtol * scale + 1e-300:
            return f"{name}_b is off by {error:.2g}, of {scale:.2g}"
    return None
