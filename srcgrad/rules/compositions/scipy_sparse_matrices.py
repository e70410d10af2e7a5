"""What functions ask of a matrix that may be one of `scipy.sparse`: no argument is."""

from __future__ import annotations

import scipy.sparse

from srcgrad.rules.compositions.registry import means


@means(scipy.sparse.issparse)
def issparse(x):
    return isinstance(x, (scipy.sparse.sparray, scipy.sparse.spmatrix))
