"""The virtual GPU that these tests run on (tests/virtual_gpu): what it executes, and what it does not let pass."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from numba import cuda

if not os.environ.get("SRCGRAD_VIRTUAL_GPU"):
    pytest.skip("there is another GPU", allow_module_level=True)

from virtual_gpu.memory import Fault

from srcgrad import grad
from srcgrad.runtime import device

pytestmark = pytest.mark.filterwarnings("ignore:Grid size")

N = 64


def run(kernel, blocks, threads, *arrays, shared=0):
    given = [cuda.to_device(a) for a in arrays]
    cuda.jit(kernel)[blocks, threads, 0, shared](*given)
    return [a.copy_to_host() for a in given]


# ------------------------------------------------------------------------------------------------- what it executes


def test_arithmetic_of_both_kinds():
    def kernel(x, k, y, m):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = math.exp(x[i]) / (1.0 + x[i] * x[i]) - math.sin(1e9 * x[i]) + x[i] ** 2.5
            m[i] = (k[i] // 7) * 3 - k[i] % 5 + (k[i] << 3) + (k[i] >> 1)

    x, k = np.linspace(0.0, 3.0, 300), np.arange(-150, 150)
    _, _, y, m = run(kernel, 2, 256, x, k, np.zeros(300), np.zeros(300, np.int64))
    np.testing.assert_allclose(y, np.exp(x) / (1 + x * x) - np.sin(1e9 * x) + x**2.5, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(m, (k // 7) * 3 - k % 5 + (k << 3) + (k >> 1))


def test_shuffles_and_threads_that_went_other_ways():
    def kernel(x, total, sums):
        i = cuda.threadIdx.x
        s = x[i]
        k = 0
        while k < i % 5:  # they meet again behind it
            s += 1.0
            k += 1
        total[i] = cuda.shfl_sync(0xFFFFFFFF, s, 3)
        half = 16
        while half > 0:
            s += cuda.shfl_down_sync(0xFFFFFFFF, s, half)
            half >>= 1
        if i % 32 == 0:
            sums[i // 32] = s

    x = np.arange(float(N))
    _, total, sums = run(kernel, 1, N, x, np.zeros(N), np.zeros(2))
    each = x + np.arange(N) % 5
    np.testing.assert_array_equal(total, np.repeat(each[[3, 35]], 32))
    np.testing.assert_array_equal(sums, each.reshape(2, 32).sum(1))


def test_atomics_barriers_and_shared_memory():
    def kernel(x, counts, turned, first):
        shared = cuda.shared.array(N, np.float64)
        i = cuda.threadIdx.x
        shared[i] = x[i]
        cuda.syncthreads()
        turned[i] = shared[N - 1 - i]
        cuda.atomic.add(counts, i % 3, 1)
        cuda.atomic.max(counts, 3, i)
        if cuda.atomic.compare_and_swap(first, 0, i + 1) == 0:
            first[1] = i

    x = np.arange(float(N))
    _, counts, turned, first = run(kernel, 1, N, x, np.zeros(4, np.int64), np.zeros(N), np.zeros(2, np.int64))
    np.testing.assert_array_equal(turned, x[::-1])
    np.testing.assert_array_equal(counts, [22, 21, 21, N - 1])
    assert first[0] == first[1] + 1


def last_block_adds_up(x, parts, total, done):
    i = cuda.grid(1)
    is_last = cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = x[i]
        cuda.threadfence()
        is_last[0] = cuda.atomic.inc(done, 0, parts.size - 1) == parts.size - 1
    cuda.syncthreads()
    if is_last[0] and cuda.threadIdx.x == 0:
        for k in range(parts.size):
            total[0] += parts[k]


def test_the_last_block_to_count_itself_sees_what_all_have_written():
    blocks = 200  # more than run together
    x = np.arange(32.0 * blocks)
    for _ in range(2):
        _, parts, total, done = run(last_block_adds_up, blocks, 32, x, np.zeros(blocks), np.zeros(1), COUNT)
        np.testing.assert_array_equal(parts, x[::32])
        assert total[0] == x[::32].sum() and done[0] == 0


COUNT = np.zeros(1, np.uint32)


# -------------------------------------------------------------------------------------------- what it does not let pass


def counted_without_a_fence(x, parts, total, done):
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = x[i]
        cuda.atomic.inc(done, 0, parts.size - 1)


def written_behind_the_count(x, parts, total, done):
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        last = cuda.atomic.inc(done, 0, parts.size - 1) == parts.size - 1
        parts[cuda.blockIdx.x] = x[i]
        if last:
            for k in range(parts.size):
                total[0] += parts[k]


@pytest.mark.parametrize(
    "kernel, words",
    [
        (counted_without_a_fence, "with no fence behind it"),
        (written_behind_the_count, "a race in global memory"),
    ],
)
def test_blocks_that_count_themselves_in_another_way(kernel, words):
    with pytest.raises(Fault, match=words):
        run(kernel, 5, 32, np.arange(160.0), np.zeros(5), np.zeros(1), COUNT)


def missing_barrier(x, y):
    shared = cuda.shared.array(N, np.float64)
    i = cuda.threadIdx.x
    shared[i] = x[i]
    y[i] = shared[N - 1 - i]


def missing_second_barrier(x, y):
    shared = cuda.shared.array(N, np.float64)
    i = cuda.threadIdx.x
    shared[i] = x[i]
    cuda.syncthreads()
    y[i] = shared[N - 1 - i]
    shared[i] = 0.0


def barrier_of_a_warp_for_a_block(x, y):
    shared = cuda.shared.array(N, np.float64)
    i = cuda.threadIdx.x
    shared[i] = x[i]
    cuda.syncwarp()
    y[i] = shared[N - 1 - i]


def one_element_for_all(x, y):
    y[0] = x[cuda.threadIdx.x]


def neighbours_in_place(x, y):
    i = cuda.threadIdx.x
    if i > 0:
        x[i] = x[i - 1] + 1.0


def sum_without_atomics(x, y):
    y[0] += x[cuda.threadIdx.x]


def read_beside_atomics(x, y):
    i = cuda.threadIdx.x
    cuda.atomic.add(y, i % 2, x[i])
    x[i] = y[i % 2]


@pytest.mark.parametrize(
    "kernel",
    [
        missing_barrier,
        missing_second_barrier,
        barrier_of_a_warp_for_a_block,
        one_element_for_all,
        neighbours_in_place,
        sum_without_atomics,
        read_beside_atomics,
    ],
)
def test_a_race(kernel):
    with pytest.raises(Fault, match="a race in (shared|global) memory"):
        run(kernel, 1, N, np.zeros(N), np.zeros(N))


def test_blocks_are_in_no_order():
    def kernel(x, y):
        if cuda.blockIdx.x == 0:
            x[cuda.threadIdx.x] = 1.0
        else:
            y[cuda.threadIdx.x] = x[cuda.threadIdx.x]

    with pytest.raises(Fault, match="a race in global memory"):
        run(kernel, 2, N, np.zeros(N), np.zeros(N))


def test_a_barrier_of_a_warp_orders_the_warp():
    def kernel(x, y):
        shared = cuda.shared.array(N, np.float64)
        i = cuda.threadIdx.x
        shared[i] = x[i]
        cuda.syncwarp()
        y[i] = shared[i ^ 5]

    x = np.arange(float(N))
    _, y = run(kernel, 1, N, x, np.zeros(N))
    np.testing.assert_array_equal(y, x[np.arange(N) ^ 5])


def test_memory_that_is_not_there():
    def beyond(x, y):
        y[cuda.threadIdx.x] = x[cuda.threadIdx.x + 1]

    with pytest.raises(Fault, match="outside of what is allocated"):
        run(beyond, 1, N, np.zeros(N), np.zeros(N))


def test_memory_that_was_freed():
    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = 1.0

    from srcgrad.runtime.device_arrays import address, handle
    from srcgrad.runtime.gpu.device_memory import empty

    gone = empty((N,), np.float64)
    dangling = handle(None, address(gone), (N,), (8,), np.dtype(np.float64))
    kernel[1, N](dangling)
    del gone
    with pytest.raises(Fault, match="outside of what is allocated"):
        kernel[1, N](dangling)


def test_memory_that_nobody_has_written():
    @cuda.jit
    def kernel(x, y):
        y[cuda.threadIdx.x] = x[cuda.threadIdx.x]

    with pytest.raises(Fault, match="nobody has written"):
        kernel[1, N](cuda.device_array(N), cuda.device_array(N))


def test_different_barriers():
    def kernel(x, y):
        if cuda.threadIdx.x < 32:
            cuda.syncthreads()
            x[cuda.threadIdx.x] = 1.0
        else:
            cuda.syncthreads()
            y[cuda.threadIdx.x] = 1.0

    with pytest.raises(Fault, match="different barriers"):
        run(kernel, 1, N, np.zeros(N), np.zeros(N))


def test_a_shuffle_that_a_part_of_a_warp_does_not_reach():
    def kernel(x, y):
        i = cuda.threadIdx.x
        s = x[i]
        if i % 32 < 7:
            s = cuda.shfl_down_sync(0xFFFFFFFF, s, 1)
        cuda.syncthreads()
        y[i] = s

    with pytest.raises(Fault, match="some of its threads do not reach"):
        run(kernel, 1, N, np.zeros(N), np.zeros(N))


def test_arrays_of_the_host():
    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = 1.0

    with pytest.raises(Fault, match="an array of the host"):
        kernel[1, N](np.zeros(N))


def test_what_is_counted():
    """A gradient that touches everything once, and one that adds up along columns."""
    from virtual_gpu import driver
    from virtual_gpu.steps import Counts

    from benchmarks.cuda.counted import row
    from benchmarks.cuda.programs import PROGRAMS

    gpu = driver.install()
    gpu.counts = Counts()
    try:
        launches, touched, asked, atomics = row(PROGRAMS["chain_arithmetic"], gpu).split()
        assert (launches, touched, asked, atomics) == ("1", "1.00", "1.00", "0.00")
        launches, touched, _, atomics = row(PROGRAMS["column_norms"], gpu).split()
        assert (launches, touched) == ("2", "1.50")  # once for the sums, and once for the gradient
        assert float(atomics) < 0.2
    finally:
        gpu.counts = None


def test_a_kernel_of_two_modules_is_compiled_once() -> None:
    def squares(scale):
        return grad(lambda x: np.sum(np.sin(x) * x * scale), target="cuda")

    x = np.linspace(0.0, 1.0, 50)
    np.testing.assert_allclose(squares(2.0).backward(x), 2.0 * (np.cos(x) * x + np.sin(x)))
    before = set(device._compiled)
    y, x_b = squares(3.0).value_and_backward(x)
    np.testing.assert_allclose((y, *x_b), (np.sum(np.sin(x) * x * 3.0), *(3.0 * (np.cos(x) * x + np.sin(x)))))
    added = len(set(device._compiled) - before)
    np.testing.assert_allclose(squares(4.0).backward(x), 4.0 * (np.cos(x) * x + np.sin(x)))
    assert len(set(device._compiled) - before) == added <= 1
