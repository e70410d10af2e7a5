"""Moments, spreads, order statistics."""

from corpus.registry import real

from .registry import call

# fmt: off
CALLS = [
    call("np.var(x, axis=0, ddof=1)", x=real(3, 4), compiled=True),
    call("np.var(x)", x=real(3, 4, layout="F")),
    call("x.var(axis=(0, 2), keepdims=True) * x", x=real(2, 3, 4)),
    call("np.std(x, -1)", x=real(3, 4)),
    call("x.std(ddof=1)", x=real(5), compiled=True),
    call("np.std(x, axis=1, mean=np.mean(x, axis=1, keepdims=True))", x=real(3, 4)),
    call("np.ptp(x, axis=1)", x=real(3, 4), compiled=True),
]
# fmt: on
