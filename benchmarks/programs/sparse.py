"""A sparse matrix (CSR) times a vector."""

import numpy as np

from benchmarks.programs.libraries import anp, jax, jnp, torch
from benchmarks.programs.program import LOOPS, Program, Size, by_hand


def sparse_product(values, x, columns, starts):
    y = np.zeros(starts.size - 1)
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            y[i] += values[p] * x[columns[p]]
    return y


def data(rng, rows, per_row):
    starts = np.concatenate(([0], np.cumsum(rng.integers(per_row // 2, per_row * 3 // 2 + 1, rows))))
    entries = starts[-1]
    return rng.normal(size=entries), rng.normal(size=rows), rng.integers(0, rows, entries), starts


@by_hand
def sparse_product_adjoint(values, x, columns, starts, v):
    values_b, x_b = np.empty_like(values), np.zeros(x.shape)
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            values_b[p] = v[i] * x[columns[p]]
            x_b[columns[p]] += v[i] * values[p]
    return values_b, x_b


def sparse_product_jax(values, x, columns, starts):
    n = starts.size - 1
    rows = jnp.repeat(jnp.arange(n), jnp.diff(starts), total_repeat_length=values.size)
    return jax.ops.segment_sum(values * x[columns], rows, n, indices_are_sorted=True)


def sparse_product_torch(values, x, columns, starts):
    n = starts.numel() - 1
    rows = torch.repeat_interleave(torch.arange(n), torch.diff(starts))
    return torch.zeros(n, dtype=values.dtype).index_add(0, rows, values * x[columns])


def sparse_product_autograd(values, x, columns, starts):
    sums = anp.concatenate((np.zeros(1), anp.cumsum(values * x[columns])))  # autograd has no scattered sums
    return sums[starts[1:]] - sums[starts[:-1]]


# fmt: off
PROGRAMS = (
    Program("sparse_product", LOOPS, sparse_product, data, ("values", "x"), (5, 4), (Size(100_000, 10),),
            sparse_product_adjoint, sparse_product_jax, sparse_product_torch, sparse_product_autograd,
            shape=lambda values, x, columns, starts: (starts.size - 1,)),
)
# fmt: on
