"""Polynomials by their coefficients; norms and solves of the rarer spellings."""

from corpus.registry import real

from .registry import call

# fmt: off
CALLS = [
    call("np.poly(x)", x=real(4), compiled=True),
    call("np.polyadd(x, y) * np.polysub(y, x)", x=real(3), y=real(5)),
    call("np.polymul(x, y)", x=real(3), y=real(4)),
    call("np.polyfit(x, y, 2)", x=real(7), y=real(7)),
    call("np.polyfit(x, y, 1, w=w)", x=real(6), y=real(6), w=real(6, low=0.5, high=1.5)),
    call("np.polyval(np.polyfit(x, y, 2), x)", x=real(7), y=real(7)),
    call("np.linalg.vector_norm(x, ord=3)", x=real(2, 3)),
    call("np.linalg.vector_norm(x, axis=1, keepdims=True) * x", x=real(2, 3)),
    call("np.linalg.vector_norm(x, keepdims=True) * x", x=real(2, 3)),
    call("np.linalg.vector_norm(x, axis=(0, 1))", x=real(2, 3, 4)),
    call("np.linalg.vector_norm(x, axis=(2, 0), ord=1, keepdims=True)", x=real(2, 3, 4)),
    call("np.linalg.vector_norm(x, axis=(0, 1, 2), ord=np.inf)", x=real(2, 3, 4)),
    call("np.linalg.vector_norm(x, axis=1, ord=0) * y", x=real(2, 3), y=real(2)),
    call("np.linalg.matrix_norm(x)", x=real(2, 3, 4)),
    call("np.linalg.matrix_norm(x, ord=1, keepdims=True)", x=real(3, 4)),
    call("np.linalg.tensorsolve(x + 3.0 * np.eye(6).reshape(2, 3, 6), y)", x=real(2, 3, 6), y=real(2, 3)),
    call("np.linalg.tensorinv(x + 3.0 * np.eye(6).reshape(6, 2, 3), ind=1)", x=real(6, 2, 3)),
    call("np.polynomial.polynomial.polyval(x, c)", x=real(3), c=real(4), compiled=True),
    call("np.polynomial.chebyshev.chebval(x, c)", x=0.3, c=real(5)),
    call("np.polynomial.chebyshev.chebval(x, c)", x=real(3, 2), c=real(1)),
    call("np.polynomial.legendre.legval(x, c)", x=real(3), c=real(4, 2)),
    call("np.polynomial.legendre.legval(x, c, tensor=False)", x=real(3), c=real(4, 3)),
    call("np.polynomial.hermite.hermval(x, c)", x=real(2, 2), c=real(4)),
    call("np.polynomial.hermite_e.hermeval(x, [1, 2, 3])", x=real(2, 2)),
    call("np.polynomial.laguerre.lagval(x, c)", x=real(3), c=real(4)),
    call("np.polynomial.polynomial.polyvander(x, 3)", x=real(4)),
    call("np.polynomial.chebyshev.chebvander(x, 4)", x=real(3), compiled=True),
    call("np.polynomial.legendre.legvander(x, 4)", x=0.4),
    call("np.polynomial.hermite.hermvander(x, 0)", x=real(3)),
    call("np.polynomial.hermite_e.hermevander(x, 3)", x=real(2, 2)),
    call("np.polynomial.laguerre.lagvander(x, 3)", x=real(3)),
    call("x.view() * x.copy().view()", x=real(3)),
    call("np.unwrap(x * 20.0)", x=real(7), compiled=True),
    call("np.unwrap(x * 9.0, axis=0, period=3.0) * x", x=real(4, 3)),
    call("np.unwrap(x * 9.0, 4.0)", x=real(2, 5)),
]
# fmt: on
