"""Arrays whose lengths do not fit each other: what NumPy and SciPy refuse is refused, in the value and the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corpus.registry import Program, case, integers, real
from support import from_text
from surface.registry import HEADER, Call, call
from test_corpus import Trial, check_both

from srcgrad import grad

K = integers(0, 2, 1)
M = np.array([True, False, True])

# fmt: off
REFUSED = [
    # Written by index, and into arrays that are there.
    call("np.add.at(z, k, x)\ny = z", x=real(4), z=real(3), k=K),
    call("np.add.at(z, k, x * x)\ny = z", x=real(2), z=real(3), k=K),
    call("np.subtract.at(z, k, x)\ny = z", x=real(4), z=real(3), k=K),
    call("np.multiply.at(z, k, x)\ny = z", x=real(2), z=real(3), k=K),
    call("np.add.at(z, k, x)\ny = z", x=real(2, 3), z=real(3), k=K),
    call("np.add.at(z, (k, slice(1, None)), x)\ny = z", x=real(3, 1, 2), z=real(3, 3), k=K),
    call("np.full(3, x)", x=real(4)),
    call("np.full((2, 3), x * x)", x=real(2)),
    call("np.full(3, x)", x=real(2, 3)),
    call("y = np.zeros(3)\nnp.cumsum(x, out=y)", x=real(1)),
    call("y = np.zeros(3)\nnp.sum(x, axis=0, out=y)", x=real(2, 1)),
    call("y = np.zeros((2, 3))\nnp.sum(x, axis=0, out=y)", x=real(2, 3)),
    call("y = np.zeros(3)\nnp.round(x, 1, out=y)", x=real(1)),
    call("y = np.zeros((3, 2))\nnp.matmul(x, z, out=y)", x=real(1, 2), z=real(2, 2)),
    call("y = np.zeros((2, 3, 2))\nnp.matmul(x, z, out=y)", x=real(2, 2, 2), z=real(2, 2)),
    call("y = np.zeros(3)\nnp.matvec(x, z, out=y)", x=real(1, 2), z=real(2)),
    call("np.divide(x, z, out=np.zeros_like(x), where=z > 0)", x=real(1), z=real(5)),
    call("np.add(x, z, out=np.zeros_like(x))", x=real(1), z=real(5)),
    call("y = np.zeros(3)\nscipy.ndimage.gaussian_filter1d(x, 1.0, -1, 0, y)", x=real(1)),
    call("y = x * 1.0\nnp.putmask(y, m, 2.0)", x=real(4), m=M),
    call("y = x * 1.0\nnp.fill_diagonal(y, 2.0)", x=real(2, 3, 2)),
    call("np.sum(x, where=m)", x=real(1), m=M),
    call("y = np.zeros(3)\nnp.var(x, axis=0, out=y)", x=real(2, 1)),
    call("y = np.zeros(3)\nnp.median(x, axis=0, out=y)", x=real(2, 1)),
    call("y = np.zeros(3)\nnp.nanstd(x, axis=0, out=y)", x=real(2, 1)),
    call("y = np.zeros(4)\nnp.nanmax(x, out=y)", x=real(2, 1)),
    # Weights, samples and places.
    call("np.histogram(a, bins=4, weights=x)[0]", x=real(4), a=real(5)),
    call("np.cov(x, aweights=w)", x=real(2, 4), w=np.ones(1)),
    call("np.cov(x, fweights=w)", x=real(2, 4), w=integers(1)),
    call("np.polyfit(t, x, 1)", x=real(1), t=real(5)),
    call("np.polyfit(t, x, 1, w=w)", x=real(5), t=real(5), w=np.ones(1)),
    call("x[np.lexsort((a, b))]", x=real(4), a=real(4), b=real(1)),
    call("np.searchsorted(a, x, sorter=k) * x", x=real(2), a=real(4), k=K),
    call("np.add.reduceat(x, k)", x=real(2), k=K),
    call("np.add.reduceat(x, k)", x=real(5), k=integers(0, -1)),
    call("np.insert(x, k, z)", x=real(4), k=K, z=real(2)),
    call("scipy.integrate.simpson(x, t)", x=real(4), t=real(5)),
    call("scipy.integrate.simpson(x, t, axis=0)", x=real(4, 2), t=real(3)),
    call("scipy.integrate.cumulative_trapezoid(x, t)", x=real(3, 5), t=real(2)),
    call("scipy.signal.detrend(x, bp=3)", x=real(2)),
    call("scipy.spatial.distance.seuclidean(x, z, w)", x=real(4), z=real(4), w=np.ones(1)),
    call("scipy.spatial.distance.cdist(x, z, w=w)", x=real(2, 4), z=real(3, 4), w=np.ones(1)),
    call("np.subtract.reduce(x, axis=(0, 1))", x=real(2, 3)),
    call("np.sum(x, axis=[0, 1])", x=real(2, 3)),
    call("scipy.stats.multivariate_normal.logpdf(x, z, w)", x=real(4, 3), z=real(3), w=np.ones(1)),
]
ALLOWED = [
    call("np.add.at(z, k, x)\ny = z * z", x=real(1), z=real(3), k=K),
    call("np.add.at(z, (k, slice(1, None)), x)\ny = z", x=real(3, 1), z=real(3, 3), k=K),
    call("np.full((2, 3), x * x)", x=real(1)),
    call("y = np.zeros((2, 3))\nnp.add(x, z, out=y)", x=real(3), z=real(1)),
    call("y = np.zeros(3)\nnp.clip(x, -0.5, 0.5, out=y)", x=real(1)),
    call("y = np.zeros((3, 2, 2))\nnp.matmul(x, z, out=y)", x=real(2, 2), z=real(2, 2)),
    call("y = np.zeros(3)\nnp.einsum('ij->j', x, out=y)", x=real(2, 1)),
    call("y = x * 1.0\nnp.putmask(y, m, z)", x=real(3, 1), m=M, z=real(2)),
    call("np.sum(x, axis=0, where=m)", x=real(2, 3), m=np.array([True])),
    call("np.hypot.reduce(x)", x=-np.ones(1)),
    call("np.take_along_axis(x, k, 1)", x=real(1, 4), k=integers(2, 0, 2).reshape(3, 1)),
    call("scipy.stats.zmap(x, z)", x=real(2), z=real(4)),
    call("scipy.stats.skew(x, bias=False) + scipy.stats.kurtosis(x, bias=False)", x=real(3)),
    call("scipy.ndimage.map_coordinates(x, t, order=1, mode='wrap')", x=real(4, 1), t=real(2, 5)),
]
# fmt: on


def program_of(one: Call) -> Program:
    return Program(from_text(HEADER + one.definition("f"), "f"), (case(*one.arguments.values()),))


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: one.text)
def test_refused(one: Call) -> None:
    names = ", ".join(one.arguments)
    summed = f"\n\ndef summed({names}):\n    return np.sum(f({names}))\n"
    program = Program(from_text(HEADER + one.definition("f") + summed, "summed"), (case(*one.arguments.values()),))
    args, _ = program.arguments(0, np.dtype(float))
    refusal: Any = (ValueError, TypeError, IndexError, RuntimeError)
    with pytest.raises(refusal):
        program.function(*fresh(args))
    f = grad(program.function, jit=False)
    with pytest.raises(refusal):
        if REFUSED.index(one) % 2:
            f(*fresh(args))
        else:
            f.backward(*fresh(args), 1.0)


@pytest.mark.parametrize("one", ALLOWED, ids=lambda one: one.text)
@pytest.mark.filterwarnings("ignore")
def test_allowed(one: Call) -> None:
    check_both(Trial(program_of(one), 0, np.dtype(float), jit=False))


def fresh(args: Any) -> list[Any]:
    return [arg.copy() for arg in args]


def test_compiled() -> None:
    """The length is asked for before anything is written."""

    @grad
    def gathered(x, k, out):
        np.add.at(out, k, x * x)
        return out

    k, out = np.array([0, 1, 1]), np.zeros(4)
    for x in (np.ones(5), np.ones(2)):
        with pytest.raises(ValueError, match=f"an axis of length {len(x)} does not fit into one of length 3"):
            gathered(x, k, out)
        with pytest.raises(ValueError, match=f"an axis of length {len(x)} does not fit into one of length 3"):
            gathered.backward(x, k, out, np.ones(4))
        assert not out.any()
    assert np.array_equal(gathered(np.full(1, 2.0), k, out.copy()), [4.0, 8.0, 0.0, 0.0])
    x_b, _ = gathered.backward(np.full(1, 2.0), k, out, np.arange(4.0))
    assert np.array_equal(x_b, [8.0])
