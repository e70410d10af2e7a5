"""The adjoints of library calls, as library calls on shadows.

matmul(C, A, B)      →   add_matmul_nt(A_b, C_b, B)        A_b += C_b @ B.T
                         add_matmul_tn(B_b, A, C_b)        B_b += A.T @ C_b       (and the same of stacks)
fft(Y, X, scale, 0)  →   add_fft(X_b, Y_b, scale, 0)       X_b += scale * (F @ Y_b), as F is symmetric
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


def _linear(routine: str) -> Callable[..., tuple[Term, ...]]:
    """The adjoint is linear in the shadow of the result, and takes what else the function takes."""
    return lambda *args: (Term(0, routine, ("out", *range(1, len(args)))),)


# fmt: off
ADJOINTS: dict[str, Callable[..., tuple[Term, ...]]] = {
    "matmul":    _always(Term(0, "add_matmul_nt", ("out", 1)), Term(1, "add_matmul_tn", (0, "out"))),
    "matmul_nt": _always(Term(0, "add_matmul",    ("out", 1)), Term(1, "add_matmul_tn", ("out", 0))),
    "matmul_tn": _always(Term(0, "add_matmul_nt", (1, "out")), Term(1, "add_matmul",    (0, "out"))),
    "matmul_tt": _always(Term(0, "add_matmul_tt", (1, "out")), Term(1, "add_matmul_tt", ("out", 0))),
    "matvec":    _always(Term(0, "add_outer",     ("out", 1)), Term(1, "add_matvec_t",  (0, "out"))),
    "matvec_t":  _always(Term(0, "add_outer",     (1, "out")), Term(1, "add_matvec",    (0, "out"))),
    "fft":       _linear("add_fft"),
    "ifft":      _linear("add_ifft"),
    "rfft":      _linear("add_rfft_adjoint"),
    "irfft":     _linear("add_irfft_adjoint"),
}
# fmt: on
