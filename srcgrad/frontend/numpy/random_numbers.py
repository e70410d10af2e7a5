"""Random numbers: a draw is a call that happens once, in its turn, and that no derivative goes through.

    np.random.normal(mu, sigma, n)   →   draw_standard_normal(t, state, state);  mu + sigma * t

`rules.compositions.random_numbers` says what the distributions are made of; here are those that are drawn.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArgumentError
from ...ir import affine
from ...ir.expressions import FLOAT64, INT64, Array, Expr, Load
from ...ir.nodes import Alloc, CopyTo, Library
from ...rules.compositions import DRAWS
from ...runtime.random_numbers import STATE_LENGTH, state_of
from ..arithmetic import cast
from ..array_values import whole
from ..builder import Builder
from ..outside import Fixed
from ..values import NONE, RandomSource, Scalar, Static
from .creation import as_number, dtype_of, shape_of

if TYPE_CHECKING:
    from ..interpret import Interpreter

MODULE = (np.random.seed, np.random.ranf, np.random.sample)  # functions of np.random that are no methods
OLD_NAMES = {"rand", "randn", "randint", "random_sample", "ranf", "sample", "seed"}  # np.random's, and no Generator's


def is_drawing(target: Any) -> bool:
    """Is it a method of a generator from outside, or a function of np.random?"""
    owner = getattr(target, "__self__", None)
    is_method = isinstance(owner, (np.random.Generator, np.random.RandomState))
    return is_method or target is np.random.default_rng or any(target is function for function in MODULE)


def method_of(interpreter: Interpreter, target: Any) -> tuple[RandomSource, str]:
    """The generator, and which method of it."""
    build = interpreter.build
    owner = getattr(target, "__self__", None)
    name = target.__name__
    if target is np.random.default_rng:
        return RandomSource(build.allocate("random_state", INT64, (affine.integer(STATE_LENGTH),)), True), name
    if not isinstance(owner, (np.random.Generator, np.random.RandomState)) or owner is np.random.mtrand._rand:
        return _at_entry(build, None, lambda state: Alloc(state, state.dims, affine.ZERO), True), name
    key = ("generator", id(owner))
    if key not in interpreter.captured:
        interpreter.hand_in("generator", Fixed(key, state_of(owner), owner))
    given = interpreter.captured[key][1].handle
    made = _at_entry(build, id(owner), lambda state: CopyTo(state, given), isinstance(owner, np.random.RandomState))
    return made, name


def _at_entry(build: Builder, key: Any, fill: Callable[[Array], Any], is_old: bool) -> RandomSource:
    """All draws from one generator are in turn, as they go by one array."""
    if key not in build.random_states:
        state = Array(build.names.fresh("random_state"), INT64, (affine.integer(STATE_LENGTH),))
        first = fill(state)
        build.prologue += [first] if isinstance(first, Alloc) else [Alloc(state, state.dims), first]
        build.made_at_entry.add(state.name)
        build.random_states[key] = RandomSource(state, is_old)
    return build.random_states[key]


def nearest(name: str) -> str:
    found = difflib.get_close_matches(name, sorted({*DRAWN, *DRAWS}), 1)
    return found[0] if found else "normal"


# ----------------------------------------------------------------------------------------------------- what is drawn


def draw(
    build: Builder, source: RandomSource, name: str, size: Any, dtype: np.dtype, numbers: tuple[Any, ...] = ()
) -> Any:
    """An array of this size, or where that is None a number."""
    given = [_number(build, value) for value in numbers]
    is_number = size is None or size == NONE
    dims = (affine.ONE,) if is_number else shape_of(build, size)
    out = build.allocate("t", dtype, dims)
    build.emit(Library(f"draw_{name}", out, (source.state, *given), (source.state,)))
    if is_number:
        return Scalar(build.variable("t", Load(out, (affine.ZERO,))), weak=True)
    return whole(out)


def _number(build: Builder, value: Any) -> Expr:
    value = as_number(value)
    if not isinstance(value, Scalar) or value.dtype.kind not in "fiub":
        build.refuse("the numbers of this distribution must be real, and no arrays", error=ArgumentError)
    return cast(value.expr, FLOAT64)


def _with_dtype(name: str) -> Callable[..., Any]:
    def standard(build: Builder, source: RandomSource, /, size: Any = None, dtype: Any = None) -> Any:
        kind = dtype_of(build, dtype, FLOAT64)
        if kind.kind != "f":
            build.refuse(f"random numbers of dtype {kind} can't be drawn", error=ArgumentError)
        value = draw(build, source, name, size, kind)
        if isinstance(value, Scalar) and kind != FLOAT64:
            return Scalar(cast(value.expr, FLOAT64), weak=True)
        return value

    return standard


def _standard(name: str) -> Callable[..., Any]:
    return lambda build, source, size=None: draw(build, source, name, size, FLOAT64)


def _of_one(name: str, dtype: np.dtype) -> Callable[..., Any]:
    return lambda build, source, a, size=None: draw(build, source, name, size, dtype, (a,))


def _of_two(name: str, dtype: np.dtype) -> Callable[..., Any]:
    return lambda build, source, a, b, size=None: draw(build, source, name, size, dtype, (a, b))


def _seed(build: Builder, source: RandomSource, seed: Any) -> Any:
    draw(build, source, "seed", Scalar(affine.ZERO), INT64, (seed,))
    return NONE


def _default_rng(build: Builder, source: RandomSource, seed: Any = NONE) -> Any:
    if isinstance(seed, RandomSource):
        return seed
    if isinstance(seed, Static) and seed.value is None:
        seed, is_given = Scalar(affine.ZERO), affine.ZERO
    else:
        is_given = affine.ONE
    draw(build, source, "default_rng", Scalar(affine.ZERO), INT64, (seed, Scalar(is_given)))
    return RandomSource(source.state)


DRAWN: dict[str, Callable[..., Any]] = {
    "random": _with_dtype("random"),
    "standard_normal": _with_dtype("standard_normal"),
    "standard_exponential": _with_dtype("standard_exponential"),
    "standard_cauchy": _standard("standard_cauchy"),
    "standard_laplace": _standard("standard_laplace"),
    "standard_logistic": _standard("standard_logistic"),
    "standard_gumbel": _standard("standard_gumbel"),
    "standard_rayleigh": _standard("standard_rayleigh"),
    "drawn_gamma": _of_one("standard_gamma", FLOAT64),
    "drawn_t": _of_one("standard_t", FLOAT64),
    "drawn_weibull": _of_one("standard_weibull", FLOAT64),
    "drawn_chisquare": _of_one("chisquare", FLOAT64),
    "drawn_beta": _of_two("beta", FLOAT64),
    "drawn_poisson": _of_one("poisson", INT64),
    "drawn_geometric": _of_one("geometric", INT64),
    "drawn_binomial": _of_two("binomial", INT64),
    "drawn_whole_numbers": _of_two("whole_numbers", INT64),
    "shuffled": lambda build, source, n: draw(build, source, "shuffled", n, INT64, (n,)),
    "chosen": lambda build, source, n, size, replace: draw(build, source, "chosen", size, INT64, (n, replace)),
    "seed": _seed,
    "default_rng": _default_rng,
}
