"""The adjoints of library calls, as library calls on shadows.

matmul(C, A, B)      →   add_matmul_nt(A_b, C_b, B)        A_b += C_b @ B.T
                         add_matmul_tn(B_b, A, C_b)        B_b += A.T @ C_b       (and the same of stacks)
fft(Y, X, scale, 0)  →   add_fft(X_b, Y_b, scale, 0)       X_b += scale * (F @ Y_b), as F is symmetric
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """What the routine has made: its first output, or another."""

    number: int = 0


@dataclass(frozen=True)
class Term:
    """`routine(shadow of argument `to`, *operands)`: what comes from the output number `of`.

    An operand is an argument by number, a `Result`, or "out" for the shadow of the output.
    """

    to: int
    routine: str
    operands: tuple[int | str | Result, ...]
    of: int = 0


def _always(*terms: Term) -> Callable[..., tuple[Term, ...]]:
    return lambda *args: terms


def _linear(routine: str) -> Callable[..., tuple[Term, ...]]:
    """The adjoint is linear in the shadow of the result, and takes what else the function takes."""
    return lambda *args: (Term(0, routine, ("out", *range(1, len(args)))),)


_FIRST, _SECOND, _THIRD = Result(0), Result(1), Result(2)

# fmt: off
ADJOINTS: dict[str, Callable[..., tuple[Term, ...]]] = {
    "matmul":    _always(Term(0, "add_matmul_nt", ("out", 1)), Term(1, "add_matmul_tn", (0, "out"))),
    "matmul_nt": _always(Term(0, "add_matmul",    ("out", 1)), Term(1, "add_matmul_tn", ("out", 0))),
    "matmul_tn": _always(Term(0, "add_matmul_nt", (1, "out")), Term(1, "add_matmul",    (0, "out"))),
    "matmul_tt": _always(Term(0, "add_matmul_tt", (1, "out")), Term(1, "add_matmul_tt", ("out", 0))),
    "matvec":    _always(Term(0, "add_outer",     ("out", 1)), Term(1, "add_matvec_t",  (0, "out"))),
    "matvec_t":  _always(Term(0, "add_outer",     (1, "out")), Term(1, "add_matvec",    (0, "out"))),
    "solve": _always(
        Term(0, "solve_to_matrix", (_SECOND, _THIRD, _FIRST, "out")),
        Term(1, "solve_to_right", (_SECOND, _THIRD, "out")),
    ),
    "solve_triangular": _always(
        Term(0, "triangular_to_matrix", (0, _FIRST, "out", 2, 3, 4)),
        Term(1, "triangular_to_right", (0, "out", 2, 3, 4)),
    ),
    "inv": _always(Term(0, "inv_adjoint", (_FIRST, "out"))),
    "det": _always(Term(0, "det_adjoint", (0, _FIRST, "out"))),
    "slogdet": lambda a: (
        Term(0, "slogdet_adjoint", (0, _SECOND, "out"), of=0),
        *([Term(0, "slogdet_sign_adjoint", (0, _SECOND, "out"), of=1)] if a.dtype.kind == "c" else []),
    ),
    "pinv": _always(Term(0, "pinv_adjoint", (0, _FIRST, "out"))),
    "cholesky": _always(Term(0, "cholesky_adjoint", (_FIRST, "out"))),
    "mirror": _always(Term(0, "mirror_adjoint", ("out",))),
    "qr": _always(
        Term(0, "qr_q_adjoint", (_FIRST, _SECOND, "out"), of=0),
        Term(0, "qr_r_adjoint", (_FIRST, _SECOND, "out"), of=1),
    ),
    "lu_factor": _always(Term(0, "lu_adjoint", (_FIRST, _SECOND, "out"))),
    "eigh": _always(
        Term(0, "eigenvalues_adjoint", (_SECOND, "out"), of=0),
        Term(0, "eigenvectors_adjoint", (_FIRST, _SECOND, "out"), of=1),
    ),
    "eig": _always(
        Term(0, "eig_values_adjoint", (_SECOND, "out"), of=0),
        Term(0, "eig_vectors_adjoint", (_FIRST, _SECOND, "out"), of=1),
    ),
    "svd": _always(
        Term(0, "left_vectors_adjoint", (_FIRST, _SECOND, _THIRD, "out"), of=0),
        Term(0, "singular_values_adjoint", (_FIRST, _SECOND, _THIRD, "out"), of=1),
        Term(0, "right_vectors_adjoint", (_FIRST, _SECOND, _THIRD, "out"), of=2),
    ),
    "expm": _always(Term(0, "expm_adjoint", (0, "out"))),
    "fft": _linear("add_fft"),
    "ifft": _linear("add_ifft"),
    "rfft": _linear("add_rfft_adjoint"),
    "irfft": _linear("add_irfft_adjoint"),
}
# fmt: on

# In a loop that never changes the matrix, nothing of the size of a matrix is kept in every iteration.
ADJOINTS_OF_STEADY_MATRICES = {
    "solve": _always(
        Term(0, "solve_again_to_matrix", (0, _FIRST, "out")),
        Term(1, "solve_again_to_right", (0, "out")),
    ),
}

# What adjoints for two arguments of one call both solve: one routine adds to both, and takes what the first takes.
TOGETHER: dict[tuple[str, ...], str] = {
    ("solve_to_matrix", "solve_to_right"): "solve_adjoint",
    ("solve_again_to_matrix", "solve_again_to_right"): "solve_again_adjoint",
    ("triangular_to_matrix", "triangular_to_right"): "triangular_adjoint",
}

# x @ x.T and x.T @ x: the terms of both operands are one product, with the shadow plus its transpose for "out".
GRAMS = {
    "matmul_nt": Term(0, "add_matmul", ("out", 0)),
    "matmul_tn": Term(0, "add_matmul", (0, "out")),
}

# What a routine takes and makes: lengths by name, as in NumPy's generalized ufuncs; p is the least of m and n.
# What stands after the bar is for the adjoint alone; "i" is made of integers, "r" of real numbers.
SIGNATURES = {
    "solve": "(n,n),(n,k)->(n,k)|(n,n),(n)i",
    "solve_triangular": "(n,n),(n,k)->(n,k)",
    "inv": "(n,n)->(n,n)",
    "det": "(n,n)->()",
    "slogdet": "(n,n)->()r,()",
    "pinv": "(m,n)->(n,m)",
    "cholesky": "(n,n)->(n,n)",
    "mirror": "(n,n)->(n,n)",
    "qr": "(m,n)->(m,p),(p,n)",
    "lu_factor": "(n,n)->(n,n),(n)i",
    "eigh": "(n,n)->(n)r,(n,n)",
    "eig": "(n,n)->(n),(n,n)",
    "svd": "(m,n)->(m,p),(p)r,(p,n)",
    "expm": "(n,n)->(n,n)",
    "is_singular": "(n,n)->()i",
    "is_indefinite": "(n,n)->()i",
}
