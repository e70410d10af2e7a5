"""What generated code calls.  Everything here works in plain Python and compiled."""

from __future__ import annotations

from srcgrad.runtime import (
    arrays,
    choices,
    complex_numbers,
    decompositions,
    errors,
    extrema,
    fourier,
    lent,
    order,
    products,
    python_calls,
    random_numbers,
    ranges,
    solves,
    special,
    threads,
    vector_math,
)
from srcgrad.runtime.arrays import *  # noqa: F403
from srcgrad.runtime.choices import *  # noqa: F403
from srcgrad.runtime.complex_numbers import *  # noqa: F403
from srcgrad.runtime.decompositions import *  # noqa: F403
from srcgrad.runtime.errors import *  # noqa: F403
from srcgrad.runtime.extrema import *  # noqa: F403
from srcgrad.runtime.fourier import *  # noqa: F403
from srcgrad.runtime.lent import *  # noqa: F403
from srcgrad.runtime.order import *  # noqa: F403
from srcgrad.runtime.products import *  # noqa: F403
from srcgrad.runtime.python_calls import *  # noqa: F403
from srcgrad.runtime.random_numbers import *  # noqa: F403
from srcgrad.runtime.ranges import *  # noqa: F403
from srcgrad.runtime.solves import *  # noqa: F403
from srcgrad.runtime.special import *  # noqa: F403
from srcgrad.runtime.threads import *  # noqa: F403
from srcgrad.runtime.vector_math import *  # noqa: F403

__all__ = [
    *arrays.__all__,
    *choices.__all__,
    *complex_numbers.__all__,
    *decompositions.__all__,
    *errors.__all__,
    *extrema.__all__,
    *fourier.__all__,
    *lent.__all__,
    *order.__all__,
    *products.__all__,
    *python_calls.__all__,
    *random_numbers.__all__,
    *ranges.__all__,
    *solves.__all__,
    *special.__all__,
    *threads.__all__,
    *vector_math.__all__,
]
