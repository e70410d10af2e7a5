"""sqrt(x*x + y*y), with the squares as pairs, where neither over- nor underflows."""

from __future__ import annotations

import math

from .emit import Float, select
from .pairs import exact_fma, two_product, two_sum

# Above the first, numbers are multiplied by the second; below the third, by the fourth.
SCALES = {
    "float64": (2.0**509, 2.0**-519, 2.0**-450, 2.0**700),
    "float32": (2.0**61, 2.0**-71, 2.0**-46, 2.0**104),
}


def hypot(x: Float, y: Float) -> Float:
    high, down, low, up = SCALES[x.format.name]
    a, b, one = abs(x), abs(y), x.like(1.0)
    larger = select(a > b, a, b)
    is_large, is_small = larger > high, larger < low
    scale = select(is_large, x.like(down), select(is_small, x.like(up), one))
    back = select(is_large, x.like(1 / down), select(is_small, x.like(1 / up), one))
    first, second = two_product(a * scale, a * scale), two_product(b * scale, b * scale)
    total = two_sum(first.high, second.high)
    root = total.high.sqrt()
    rest = exact_fma(-root, root, total.high) + (total.low + (first.low + second.low))
    length = select(root.is_(0.0), root, root + rest * (0.5 / root)) * back
    return select(a.is_(math.inf) | b.is_(math.inf), x.like(math.inf), length)
