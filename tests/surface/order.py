"""Sorting, and what stands at some place of sorted data."""

from corpus.registry import integers, real, values

from .registry import call

METHODS = (
    "lower higher nearest midpoint inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf "
    "hazen weibull median_unbiased normal_unbiased"
).split()
NAN = float("nan")
GAPS = values([1.0, NAN, 2.0, 0.5], [NAN, 0.3, -1.0, NAN], [0.1, 0.2, 0.35, 0.4])

# fmt: off
CALLS = [
    call("np.sort(x)", x=real(7)),
    call("np.sort(x, axis=0)", x=real(3, 4), compiled=True),
    call("np.sort(x, axis=1)", x=real(2, 3, 4)),
    call("np.sort(x, axis=None)", x=real(3, 4)),
    call("np.sort(x * y, kind='stable')", x=real(3, 4), y=real(4)),
    call("np.sort([x, y, 0.1])", x=0.3, y=-0.2),
    call("np.sort(x)[::-1][:3]", x=real(7)),
    call("z = x.copy()\nz.sort()\ny = z * 2", x=real(6)),
    call("z = x * 1\nz.sort(axis=0)\ny = z", x=real(3, 4, layout="F")),
    call("x[np.argsort(x)] * y", x=real(5), y=real(5)),
    call("x[np.argsort(-x)[:2]]", x=real(5)),
    call("x[x.argsort(kind='stable')[-1]]", x=real(5)),
    call("np.argsort(x, axis=0) * y", x=real(3, 2), y=real(3, 2)),
    call("np.partition(x, 2)[2]", x=real(5)),
    call("x[np.argpartition(x, 3)[3]]", x=real(5)),
    call("x[np.lexsort((a, b))] * y", x=real(4), y=real(4), a=integers(1, 0, 1, 0), b=integers(1, 1, 0, 0)),
    call("np.median(x)", x=real(5)),
    call("np.median(x * 2, axis=0)", x=real(4, 3)),
    call("np.median(x, axis=(0, 2), keepdims=True)", x=real(2, 3, 2)),
    call("np.median([x, y, 0.1, 0.2])", x=0.3, y=-0.2),
    call("np.percentile(x, 30)", x=real(7)),
    call("np.percentile(x, (10, 90), axis=(0, 1))", x=real(3, 4)),
    call("np.quantile(x, q)", x=real(7), q=0.37),
    call("np.quantile(x, [0.1, 0.5], axis=1)", x=real(3, 5)),
    call("np.quantile(x, q, axis=0, keepdims=True)", x=real(5, 2), q=values(0.3, 0.6, 0.9)),
    *[call(f"np.quantile(x, 0.37, method='{method}')", x=real(7)) for method in METHODS],
    *[call(f"np.quantile(x, np.linspace(0, 1, 9), method='{method}')", x=real(8)) for method in ("linear", *METHODS)],
    call("np.nanmedian(x)", x=values(1.0, NAN, 2.0, 0.5)),
    call("np.nanmedian(x)", x=values(NAN, float("inf"), 2.0, -float("inf"))),
    call("np.nanmedian(x, axis=1)", x=GAPS),
    call("np.nanpercentile(x, 30, axis=1, method='hazen')", x=GAPS),
    call("np.nanquantile(x, [0.2, 0.7], axis=0)", x=GAPS, compiled=True),
    call("np.nanquantile(x, 0.5, axis=0, keepdims=True, method='lower')", x=GAPS),
    call("np.unique(a) * x", a=integers(1, 2, 1, 3), x=real(3)),
    call("np.setdiff1d(x, y)", x=values(0.3, 0.7, -0.4), y=values(0.9, 2.0)),
    call("x[np.setdiff1d(a, b, assume_unique=True)]", a=integers(3, 0, 2), b=integers(2, 1), x=real(4)),
    call("np.setxor1d(x, y)", x=values(0.3, 0.7, -0.4), y=values(0.9, 0.1)),
    call("np.unique(x)", x=values(0.3, 0.7, -0.4)),
    call("v, i, j, c = np.unique(a, return_index=True, return_inverse=True, return_counts=True)\n"
         "y = x[j].sum() + (z[i] * c).sum()", a=integers(1, 2, 1, 3, 1), x=real(3), z=real(5), compiled=True),
]
# fmt: on
