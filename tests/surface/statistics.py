"""Moments and spreads, and reductions of a part."""

import numpy as np
from corpus.registry import integers, positive, real, values

from .registry import call

NAN = float("nan")
GAPS = values([1.0, NAN, 2.0, 0.5], [NAN, 0.3, -1.0, NAN], [0.1, 0.2, 0.35, 0.4])
INFINITE = values(NAN, float("inf"), 1.0, -float("inf"))

# fmt: off
CALLS = [
    call("np.var(x, axis=0, ddof=1)", x=real(3, 4)),
    call("np.var(x)", x=real(3, 4, layout="F")),
    call("x.var(axis=(0, 2), keepdims=True) * x", x=real(2, 3, 4)),
    call("np.std(x, -1)", x=real(3, 4)),
    call("x.std(ddof=1)", x=real(5), compiled=True),
    call("np.std([x, y, 0.5])", x=0.1, y=0.7),
    call("np.std(x, axis=0, ddof=1.0)", x=real(4, 2)),
    call("np.std(x, axis=1, mean=np.mean(x, axis=1, keepdims=True))", x=real(3, 4)),
    call("np.ptp(x, axis=1)", x=real(3, 4)),
    call("np.ptp(x, 0, keepdims=True)", x=real(3, 3)),
    call("np.sum(x, where=x > 0)", x=real(3, 4), compiled=True),
    call("np.sum(x, axis=1, initial=y)", x=real(3, 4), y=2.0),
    call("x.sum(where=m, axis=0)", x=real(3, 4), m=np.array([True, False, True, True])),
    call("np.mean(x, where=x > -0.5, axis=0)", x=positive(3, 2)),
    call("np.prod(x, where=x > 0, initial=y)", x=real(4), y=0.5),
    call("np.max(x, initial=0.1)", x=real(5)),
    call("np.max(x, axis=1, initial=-5, where=x < 0.5)", x=real(3, 4)),
    call("np.min(x, initial=y) * y", x=real(5), y=-0.4),
    call("np.max(k, initial=-0.9) * x", k=np.array([-3, -2], np.int32), x=0.5),
    call("np.min(k, initial=x) * x", k=np.array([3, 2]), x=0.5),
    call("np.prod(k, where=k > 1, initial=0.5) * x", k=np.array([3, 2], np.uint8), x=0.5),
    call("np.max(x, initial=np.float64(0.1))", x=real(5)),
    call("np.all(x, where=x > 0) * x", x=real(4)),
    call("np.any(x > 0.9, axis=0, keepdims=True) * x", x=real(4)),
    call("np.clip(x, None, 0.3)", x=real(5)),
    call("x.clip(0.1)", x=real(5)),
    call("x.clip(max=0.1)", x=real(5)),
    call("np.clip(x, lo, hi)", x=real(3, 4), lo=values(-0.3, -0.2, -0.1, 0.0), hi=0.5),
    call("np.clip(x, min=-0.2, max=0.2)", x=real(5)),
    call("np.average(x)", x=real(3, 4)),
    call("np.average(x, axis=1, weights=w)", x=real(3, 4), w=positive(4)),
    call("np.average(x, weights=w)", x=real(3, 4), w=positive(3, 4)),
    call("np.average(x, axis=(1, 0), weights=w)", x=real(3, 4, 2), w=positive(4, 3)),
    call("np.average(x, axis=1, weights=w, keepdims=True)", x=real(3, 4), w=positive(3, 4)),
    call("np.average(x, weights=[1, 2, 3])", x=real(3)),
    call("a, s = np.average(x, axis=0, weights=w, returned=True)\ny = a * s", x=real(3, 4), w=positive(3)),
    call("a, s = np.average(x, axis=0, returned=True)\ny = a * s", x=real(3, 4)),
    call("np.cov(x)", x=real(3, 5), compiled=True),
    call("np.cov(x)", x=real(5)),
    call("np.cov(x, y)", x=real(5), y=real(5)),
    call("np.cov(x, rowvar=False, bias=True)", x=real(5, 2)),
    call("np.cov(x, aweights=w)", x=real(2, 5), w=positive(5)),
    call("np.cov(x, fweights=f, aweights=w)", x=real(2, 4), w=positive(4), f=integers(1, 2, 1, 3)),
    call("np.cov(x, ddof=0)[0, 1]", x=real(2, 5)),
    call("np.corrcoef(x)", x=real(3, 5)),
    call("np.corrcoef(x, y)[0, 1]", x=real(5), y=real(5)),
    call("np.nansum(x)", x=GAPS),
    call("np.nansum(x, axis=1)", x=GAPS, compiled=True),
    call("np.nanmean(x, axis=0)", x=GAPS),
    call("np.nanmean(x)", x=GAPS),
    call("np.nanprod(x, axis=1)", x=GAPS),
    call("np.nanvar(x, axis=1)", x=GAPS),
    call("z = np.zeros(4, x.dtype)\nnp.nanvar(x, axis=0, ddof=1, out=z)[1:] *= 2\ny = z", x=GAPS),
    call("np.nanstd(x, axis=1, ddof=1, keepdims=True)[::2]", x=GAPS),
    call("np.nanmax(x, axis=0)", x=GAPS, compiled=True),
    call("np.nanmin(x)", x=GAPS),
    call("x[0, np.nanargmax(x[0])] * 2", x=GAPS),
    call("np.nanargmin(x, axis=1) * y", x=GAPS, y=real(3)),
    call("np.nan_to_num(x)", x=GAPS),
    call("np.nan_to_num(x, nan=2.0, posinf=3.0, neginf=y)", x=INFINITE, y=0.5),
    call("np.nan_to_num(x) * 2", x=0.5),
]
# fmt: on
