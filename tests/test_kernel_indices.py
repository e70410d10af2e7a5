"""How kernels find their elements: which numbers have 32 bits, and what neighbours have in common."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest

from srcgrad import grad

pytest.importorskip("numba_cuda")
if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
    pytest.skip("the simulator compiles nothing", allow_module_level=True)

from numba import cuda, types

from srcgrad.runtime.asked_of_loops import AS_IT_IS
from srcgrad.runtime.gpu import kernel_elements
from srcgrad.runtime.gpu.compiled_kernels import compiled_as_kernel

VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")
WIDE_PRODUCT = re.compile(r"\b(mul\.lo|mad\.lo)\.s64")


def ptx_of(kernel: Any, *kinds: Any, is_narrow: bool = True, goes_round: bool = False) -> str:
    with compiled_as_kernel(kernel, is_narrow, goes_round):
        return str(cuda.compile_ptx(kernel, kinds, cc=(9, 0))[0])


def numbers(x, n):
    i = cuda.grid(1)
    block = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    rows = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    downwards = x.shape[0] - 1 - i
    beyond = x.shape[0] * 4000
    shifted = i + n
    half = i // 2
    product = i * block
    count = 0
    while i < x.shape[0]:
        for k in range(min(4, x.shape[0] - i)):
            count += 1
            x[i] += x[downwards] * (k + count + half)
        for m in range(n):
            x[i] += m + product
        if i < beyond and shifted < rows + block:
            x[i] = 0.0
        i += cuda.gridsize(1)


def test_numbers_that_32_bits_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Recorded(kernel_elements.Narrow):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(kernel_elements, "Narrow", Recorded)
    ptx_of(numbers, VECTOR, types.int64)
    names = {name for name in made[0].values.all if name.isalpha() and made[0].fits(name)}
    assert names == {"i", "block", "rows", "downwards", "k"}


def corners(u, y):
    j, i = cuda.grid(2)
    if i < u.shape[0]:
        if j < u.shape[1]:
            if i > 0 and j > 0:
                y[i, j] += u[i - 1, j - 1]
            if i < u.shape[0] - 1 and j < u.shape[1] - 1:
                y[i, j] += u[i + 1, j + 1]
            if j > 1:
                y[i, j] += u[i, j - 2]


def test_neighbours_have_their_address_in_common() -> None:
    """One product for u and one for y, however many branches there are."""
    text = ptx_of(corners, MATRIX, MATRIX)
    rows = re.findall(r"\b(?:mul|mad)\.(?:lo|wide)\.s32\b.*", text)
    of_threads = 2  # where a thread is, along two axes
    assert len(rows) <= of_threads + 2 + 2, text  # and how many bytes in that is
    assert not WIDE_PRODUCT.search(text), text
    assert WIDE_PRODUCT.search(ptx_of(corners, MATRIX, MATRIX, is_narrow=False))


def heat(u, rate, steps):
    for _ in range(steps):
        near = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        u[1:-1, 1:-1, 1:-1] += rate * (near + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6.0 * u[1:-1, 1:-1, 1:-1])


def test_a_grid_is_gone_over_by_numbers_of_32_bits() -> None:
    kernels = grad(heat, wrt="u", target="cuda").ptx(np.ones((9, 8, 7)), 0.1, 3, cc=(9, 0))
    assert len(kernels) > 1
    for name, text in kernels.items():
        assert not WIDE_PRODUCT.search(text), f"{name}\n{text}"
        assert text.count("setp.lt.s64") <= 1, f"{name}\n{text}"  # the turns of a thread at an edge: Python's range


def rounds(x):
    i = cuda.grid(1)
    while i < x.shape[0]:
        for turn in range(min(4, x.shape[0] - i)):
            x[i + turn] *= 2.0
        for turn in range(4):
            x[i] += turn
        i += cuda.gridsize(1)


@pytest.mark.parametrize("goes_round, count", [(False, 2), (True, 1)])
def test_loops_that_are_left_as_they_are(goes_round: bool, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where threads go round often, LLVM may write out four rounds of the loop over the grid."""
    asked = []
    monkeypatch.setattr(kernel_elements, "ask", lambda module, jump, wishes: asked.append((jump, wishes)))
    ptx_of(rounds, VECTOR, goes_round=goes_round)
    assert len(asked) == count and all(wishes == [AS_IT_IS] for _, wishes in asked)
    assert all(jump.opname == "br" for jump, _ in asked)
