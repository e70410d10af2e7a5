"""The adjoints of library calls, as library calls on shadows.

matmul(C, A, B)   →   add_matmul_nt(A_b, C_b, B)        A_b += C_b @ B.T
                      add_matmul_tn(B_b, A, C_b)        B_b += A.T @ C_b       (and the same of stacks of matrices)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """`routine(shadow of argument `to`, *operands)`; an operand is an argument by number, or "out" for its shadow."""

    to: int
    routine: str
    operands: tuple[int | str, ...]


def _always(*terms: Term) -> Callable[..., tuple[Term, ...]]:
    return lambda *args: terms


# fmt: off
ADJOINTS: dict[str, Callable[..., tuple[Term, ...]]] = {
    "matmul":    _always(Term(0, "add_matmul_nt", ("out", 1)), Term(1, "add_matmul_tn", (0, "out"))),
    "matmul_nt": _always(Term(0, "add_matmul",    ("out", 1)), Term(1, "add_matmul_tn", ("out", 0))),
    "matmul_tn": _always(Term(0, "add_matmul_nt", (1, "out")), Term(1, "add_matmul",    (0, "out"))),
    "matmul_tt": _always(Term(0, "add_matmul_tt", (1, "out")), Term(1, "add_matmul_tt", ("out", 0))),
    "matvec":    _always(Term(0, "add_outer",     ("out", 1)), Term(1, "add_matvec_t",  (0, "out"))),
    "matvec_t":  _always(Term(0, "add_outer",     (1, "out")), Term(1, "add_matvec",    (0, "out"))),
}
# fmt: on
