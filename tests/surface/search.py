"""Tables that are looked up, counted and filled; polynomials; convolution."""

from corpus.registry import integers, real, values

from .registry import call

KNOTS = values(0.0, 0.3, 0.7, 1.5)
PLACES = values(-1.0, 0.1, 0.45, 0.9, 2.6)
LENGTHS = ((5, 3), (3, 4), (4, 5))

# fmt: off
CALLS = [
    call("np.searchsorted(a, x) * x", a=values(-0.5, 0.0, 0.5), x=values(0.2, -0.7, 0.8), compiled=True),
    call("a.searchsorted(y, side='right') * x", a=KNOTS, x=real(3), y=0.4),
    call("np.searchsorted(a, x, sorter=[2, 0, 1]) * x", a=values(0.4, 0.9, 0.1), x=values(0.2, 0.6)),
    call("np.digitize(x, a) * x", x=values(-0.7, 0.2, 0.8), a=values(-0.5, 0.0, 0.5)),
    call("np.digitize(x, a, right=True) * x", x=values(-0.7, 0.2, 0.8), a=values(0.5, 0.0, -0.5)),
    call("np.digitize(x, a) * x", x=0.3, a=values(-0.5, 0.0, 0.5)),
    *[call(f"np.digitize(a, {b}, {right}) * x", x=real(4), a=integers(0, 1, 2, 3))
      for b in ("[0, 1, 1, 2]", "[2, 1, 1, 0]", "[1, 1]") for right in (False, True)],
    call("np.interp(x, a, b)", x=PLACES, a=KNOTS, b=real(4), compiled=True),
    call("np.interp(x, a, b, left=0.5, right=y)", x=PLACES, a=KNOTS, b=real(4), y=0.7),
    call("np.interp(x, a, b)", x=0.4, a=KNOTS, b=real(4)),
    call("np.interp(x, [0.0, 1.0, 2.0], [0.3, 0.2, 0.7])", x=0.4),
    call("np.interp(x, a, b, period=2.0)", x=PLACES, a=KNOTS, b=real(4)),
    call("np.interp(x, a, b)", x=values([0.1, 0.4], [0.5, 1.1]), a=KNOTS, b=real(4)),
    call("np.bincount(i, weights=x)", i=integers(0, 2, 1, 2), x=real(4), compiled=True),
    call("np.bincount(i, x, minlength=6)", i=integers(0, 2, 1, 2), x=real(4)),
    call("np.bincount(i) * x", i=integers(0, 2, 1, 2), x=real(3)),
    call("np.histogram(a, bins=4, weights=x)[0]", a=integers(0, 1, 4, 5, 10), x=real(5)),
    call("np.histogram(a, np.array([0, 3, 6, 9]), weights=x)[0]", a=integers(0, 1, 4, 5, 10), x=real(5)),
    call("np.histogram(a, 3, (0, 9), density=True, weights=x)[0]", a=integers(0, 1, 4, 5, 10), x=real(5, low=0.5)),
    call("counts, edges = np.histogram(x, bins=3)\ny = counts * edges[1:]", x=values(0.1, 0.2, 0.45, 0.8, 1.0)),
    call("np.histogram_bin_edges(x, bins=3)", x=real(5)),
    call("np.count_nonzero(x > 0) * x", x=real(5)),
    call("np.vander(x)", x=real(3)),
    call("np.vander(x, 4, increasing=True)", x=real(3)),
    call("np.polyval(p, x)", p=real(4), x=real(3), compiled=True),
    call("np.polyval(p, x)", p=real(4), x=0.3),
    call("np.polyval([1.0, x, 2.0], x)", x=0.3),
    call("np.polyder(p, 2)", p=real(4)),
    call("np.polyint(p)", p=real(4)),
    *[call(f"np.convolve(a, b, '{m}')", a=real(i), b=real(k)) for m in ("full", "same", "valid") for i, k in LENGTHS],
    *[call(f"np.correlate(a, b, '{m}')", a=real(i), b=real(k)) for m in ("full", "same", "valid") for i, k in LENGTHS],
    call("np.convolve(a, [0.25, 0.5, 0.25], 'same')", a=real(6)),
    call("np.convolve(a, 2.0)", a=real(6)),
    call("np.correlate(a, b)", a=real(4), b=real(2)),
]
# fmt: on
