"""The simulator that these tests run in (see conftest): threads of a block that take turns."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda
from numba.core import config

pytestmark = pytest.mark.skipif(not config.ENABLE_CUDASIM, reason="there is a GPU")


def first_tells_all(waits: bool):
    @cuda.jit
    def kernel(out):
        told = cuda.shared.array(1, np.float64)
        me = cuda.threadIdx.x
        if me == 0:
            told[0] = 7.0
        if waits:
            cuda.syncthreads()
        out[cuda.blockIdx.x, me] = told[0]

    return kernel


def last_tells_all(waits: bool):
    @cuda.jit
    def kernel(out):
        told = cuda.shared.array(1, np.float64)
        me = cuda.threadIdx.x
        if me == cuda.blockDim.x - 1:
            told[0] = 7.0
        if waits:
            cuda.syncthreads()
        out[cuda.blockIdx.x, me] = told[0]

    return kernel


@pytest.mark.parametrize("made", [first_tells_all, last_tells_all])
def test_a_barrier_that_is_missing_shows(made):
    right, wrong = np.zeros((3, 4)), np.zeros((3, 4))
    made(True)[3, 4](right)
    made(False)[3, 4](wrong)
    assert np.all(right == 7.0)
    assert not np.all(wrong == 7.0)


class Unusual(BaseException):
    pass


class WithoutWords(Exception):
    """The simulator makes another of its kind with a message, and this one takes none."""

    def __init__(self) -> None:
        super().__init__()


@pytest.mark.parametrize("kind", [ValueError, Unusual, WithoutWords])
def test_what_a_thread_raises_ends_the_block(kind):
    @cuda.jit
    def kernel(out):
        if cuda.threadIdx.x == 1:
            raise kind
        cuda.syncthreads()
        out[cuda.threadIdx.x] = 1.0

    with pytest.raises((kind, TypeError)):
        kernel[1, 4](np.zeros(4))
