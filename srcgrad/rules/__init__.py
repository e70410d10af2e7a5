"""Derivative rules as data: one row per primitive, and `names` for how users spell them.

`scalar` has the table; `special`, `bessel` and `distribution_functions` put the functions of SciPy's into it.
"""

from . import bessel as bessel
from . import distribution_functions as distribution_functions
from . import special as special
