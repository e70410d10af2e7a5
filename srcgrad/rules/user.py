"""What users say about derivatives: that there is none, or what it is.

    w = stop_gradient(x) * x      →      x_b = w_b * x          (the first x counts as a constant)
"""

from __future__ import annotations

from typing import Any

import numpy as np


def stop_gradient(x: Any) -> Any:
    """The value of x, as a constant: no derivative goes back through it.

    Parameters
    ----------
    x : number, array, or tuple or list of them

    Returns
    -------
    number, array, tuple or list
        As x; arrays are copies.

    Examples
    --------
    >>> import srcgrad
    >>> f = srcgrad.grad(lambda x: stop_gradient(x) * x)
    >>> f(3.0), f.backward(3.0)
    (9.0, 3.0)
    """
    if isinstance(x, (tuple, list)):
        items = [stop_gradient(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x.copy() if isinstance(x, np.ndarray) else x


__all__ = ["stop_gradient"]
