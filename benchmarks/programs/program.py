"""What a benchmark program is: one plain function, and the same function as users of other libraries write it.

    Program("gmm_loops", LOOPS, gmm_loops, wrt=("alphas", "means", "icf"), make=data, sizes=(Size(1000, 10, 25),), ...)

`primal` is what a Numba user would write: srcgrad differentiates it, and numba.njit compiles it for comparison.
`by_hand` is its adjoint as an expert would write it for Numba; it takes the arguments of `primal` and then v.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

# What a program is made of decides which bars it has to clear.
LOOPS = "loops"  # element by element, or in place
ARRAYS = "arrays"  # whole-array expressions
CALLS = "calls"  # so small that the call itself counts

# How the adjoints by hand are compiled.  Sums of the adjoint's own may be reordered; those of the user's that come out
# otherwise then may not (srcgrad keeps their order too), and where they go in one function with others, all are strict.
by_hand = numba.njit(error_model="numpy", cache=True)
by_hand_sums = numba.njit(error_model="numpy", cache=True, fastmath={"reassoc", "nsz", "contract"})


class Size:
    """The arguments of `make`, and who is left out at this size, and why."""

    def __init__(self, *arguments: int, **without: str) -> None:
        self.arguments = arguments
        self.without = {contestant.replace("_", " "): why for contestant, why in without.items()}


@dataclass(frozen=True)
class Program:
    name: str
    kind: str
    primal: Callable[..., Any]
    make: Callable[..., tuple[Any, ...]]  # a random generator and a size → arguments
    wrt: tuple[str, ...]
    tiny: tuple[int, ...]  # a size for tests
    sizes: tuple[Size, ...]
    by_hand: Callable[..., Any] | None = None
    jax: Callable[..., Any] | None = None
    torch: Callable[..., Any] | None = None
    autograd: Callable[..., Any] | None = None
    jax_loops: Callable[..., Any] | None = None  # the same loops in JAX, where `jax` is an algorithm of another shape
    shape: Callable[..., tuple[int, ...]] = field(default=lambda *arguments: ())  # of the output
    writes: str | None = None  # the argument that is the output, written in place
    rtol: float = 1e-8  # to which the gradients of all contestants agree

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.primal).parameters)

    @property
    def positions(self) -> tuple[int, ...]:
        """Where the differentiated arguments stand."""
        return tuple(self.parameters.index(name) for name in self.wrt)

    def arguments(self, size: tuple[int, ...]) -> tuple[Any, ...]:
        return self.make(np.random.default_rng(0), *size)

    def cotangent(self, arguments: tuple[Any, ...]) -> Any:
        """A v without symmetries, of the output's shape."""
        shape = self.shape(*arguments)
        return np.cos(np.arange(np.prod(shape))).reshape(shape) if shape else 1.0

    def label(self, size: tuple[int, ...]) -> str:
        names = list(inspect.signature(self.make).parameters)[1:]
        return ", ".join(f"{name}={value:,}" for name, value in zip(names, size, strict=True))


def as_tuple(gradient: Any) -> tuple[Any, ...]:
    return tuple(gradient) if isinstance(gradient, tuple | list) else (gradient,)
