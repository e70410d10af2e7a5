"""What `vjp` returns beside y: the reverse half of a function, waiting for cotangents."""

from __future__ import annotations

from typing import Any

from srcgrad.arguments import COTANGENT, LEAVES
from srcgrad.backends import cpu
from srcgrad.dispatch import LENGTHS_DIFFER, Forward, Program, leaf_names, pattern_of
from srcgrad.frontend.seeds import MissingCotangent


class Pullback:
    """The linear map v ↦ v^T J at one point: what `vjp` returns beside y.

    Examples
    --------
    >>> from srcgrad import grad
    >>> y, pullback = grad(lambda x: x**2).vjp(3.0)
    >>> pullback(), pullback(2.0)
    (6.0, 12.0)
    """

    __slots__ = ("_forward", "_lanes", "_program", "_residuals", "_shapes")

    def __init__(self, program: Program, forward: Forward, residuals: tuple[Any, ...], shapes: list[Any]) -> None:
        self._program = program
        self._forward = forward
        self._lanes = forward.lanes
        self._residuals = residuals
        self._shapes = shapes  # of the arguments of f

    def __call__(self, v: Any = None) -> Any:
        call = self._lanes.get(type(v))
        if call is not None:
            try:
                return call(*self._residuals, v)
            except LENGTHS_DIFFER:
                pass
        return self._first(v)

    def _first(self, v: Any) -> Any:
        cotangents = () if v is None else (v,)
        names = [f"residual {i}" for i in range(len(self._residuals))] + [COTANGENT] * len(cotangents)
        pattern, leaves = pattern_of((*self._residuals, *cotangents), names)
        try:
            with cpu.LOCK:
                stage = self._forward.stage(self._program, pattern, leaf_names(pattern, names), v is not None)
                if type(v) in LEAVES:
                    stage.reach(self._lanes, type(v))
            return stage.call(*leaves)
        except MissingCotangent as error:
            raise error.with_shapes(self._shapes, "pullback({})") from None
