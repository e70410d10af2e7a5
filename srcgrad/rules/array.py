"""The adjoints of library calls, as library calls on shadows.

matmul(C, A, B)   →   add_matmul_nt(A_b, C_b, B)        A_b += C_b @ B.T
                      add_matmul_tn(B_b, A, C_b)        B_b += A.T @ C_b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..ir.nodes import Array


@dataclass(frozen=True)
class Term:
    """`routine(shadow of argument `to`, *operands)`; an operand is an argument by number, or "out" for its shadow."""

    to: int
    routine: str
    operands: tuple[int | str, ...]


def _matmul(x: Array, y: Array) -> tuple[Term, ...]:
    match x.ndim, y.ndim:
        case 2, 2:
            return Term(0, "add_matmul_nt", ("out", 1)), Term(1, "add_matmul_tn", (0, "out"))
        case 2, 1:
            return Term(0, "add_outer", ("out", 1)), Term(1, "add_matvec_t", (0, "out"))
        case 1, 2:
            return Term(0, "add_matvec", (1, "out")), Term(1, "add_outer", (0, "out"))
    raise AssertionError((x.ndim, y.ndim))


ADJOINTS: dict[str, Callable[..., tuple[Term, ...]]] = {"matmul": _matmul}
