"""A scientific program, as somebody else would have written it: what it takes at a small and at a large size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..registry import FLOAT64, Case, case, complexes, integers, number, positive, real, values

__all__ = ["PROGRAMS", "Scientific", "complexes", "integers", "number", "positive", "program", "real", "values"]


@dataclass(frozen=True, eq=False)
class Scientific:
    """A program and how to test it.

    `arguments(n)` describes its arguments at size n, as in the corpus; `writes` names its outputs if it returns None.
    `loose` is how badly it is conditioned, `width` the step of the differences, near kinks a small one; `single` is
    false where float32 can't hold what it computes.
    """

    function: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    small: int
    large: int
    writes: tuple[str, ...] = ()
    loose: float = 1.0
    single: bool = True
    width: float = 0.01

    @property
    def name(self) -> str:
        return self.function.__name__

    def case(self, size: int) -> Case:
        return case(*self.arguments(size), dtypes=(FLOAT64,))


PROGRAMS: list[Scientific] = []


def program(
    arguments: Callable[[int], tuple[Any, ...]], *, small: int, large: int, **marks: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below; it stays what it is."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Scientific(function, arguments, small, large, **marks))
        return function

    return register
