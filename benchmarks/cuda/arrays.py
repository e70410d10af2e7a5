"""Elementwise work, reductions along every axis, broadcasting, gathers and scatters."""

import numpy as np
from scipy.special import erf

from benchmarks.cuda.program import OTHER, REDUCTION, SIZES, STREAM, DeviceProgram, on_device
from benchmarks.programs import PROGRAMS as KNOWN
from benchmarks.programs.elementwise import HALF
from benchmarks.programs.libraries import functional, jax, jnp, torch
from benchmarks.programs.program import Size

# ---- Black-Scholes: the price of each call


def black_scholes(spot, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    bond = strike * np.exp(-rate * years)
    return 0.5 * (spot * (1.0 + erf(d1 * HALF)) - bond * (1.0 + erf((d1 - spread) * HALF)))


# ---- reductions: the square root has the sweep read the sums, so that they have to be taken


def distance(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


def distance_jax(x, y):
    return jnp.sqrt(jnp.sum((x - y) ** 2))


def distance_torch(x, y):
    return torch.sqrt(torch.sum((x - y) ** 2))


def row_norms(x):
    return np.sqrt(np.sum(x * x, axis=1))


def row_norms_jax(x):
    return jnp.sqrt(jnp.sum(x * x, axis=1))


def row_norms_torch(x):
    return torch.sqrt(torch.sum(x * x, dim=1))


def column_norms(x):
    return np.sqrt(np.sum(x * x, axis=0))


def column_norms_jax(x):
    return jnp.sqrt(jnp.sum(x * x, axis=0))


def column_norms_torch(x):
    return torch.sqrt(torch.sum(x * x, dim=0))


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def softmax_jax(x):
    return jax.nn.softmax(x, axis=1)


def softmax_torch(x):
    return functional.softmax(x, dim=1)


# ---- broadcasting


def standardised(x):
    return (x - np.mean(x, axis=0)) / np.std(x, axis=0)


def standardised_jax(x):
    return (x - jnp.mean(x, axis=0)) / jnp.std(x, axis=0)


def standardised_torch(x):
    return (x - torch.mean(x, dim=0)) / torch.std(x, dim=0, correction=0)


# ---- elements by their numbers


def gathered(x, index, w):
    return np.sum(np.sin(x[index]) * w)


def gathered_jax(x, index, w):
    return jnp.sum(jnp.sin(x[index]) * w)


def gathered_torch(x, index, w):
    return torch.sum(torch.sin(x[index]) * w)


def scattered(x, index, out):
    np.add.at(out, index, x * x)


def scattered_jax(x, index, out):
    return out.at[index].add(x * x)


def scattered_torch(x, index, out):
    return out.index_add(0, index, x * x)


def binned(x, index, bins):
    return np.bincount(index, weights=x * x, minlength=bins)


def binned_jax(x, index, bins):
    return jnp.zeros(bins, x.dtype).at[index].add(x * x)


def binned_torch(x, index, bins):
    return torch.zeros(bins, dtype=x.dtype, device=x.device).index_add(0, index, x * x)


# ---- data


def two_vectors(rng, n):
    return rng.uniform(-2.0, 2.0, n), rng.uniform(-2.0, 2.0, n)


def matrix(rng, rows, columns):
    return (rng.normal(size=(rows, columns)),)


def gathered_data(rng, n):
    return rng.normal(size=n), rng.integers(0, n, n), rng.normal(size=n)


def scattered_data(rng, n):
    return rng.normal(size=n), rng.integers(0, n, n), np.zeros(n)


def binned_data(rng, n, bins):
    index = rng.integers(0, bins, n)
    index[0] = bins - 1
    return rng.normal(size=n), index, bins


def as_x(x, *_):
    return x.shape


VECTORS = tuple(map(Size, SIZES))
MATRICES = (Size(1_000, 100), Size(10_000, 1_000))
# fmt: off
PROGRAMS = (
    on_device(KNOWN["chain_functions"], STREAM, *VECTORS),
    on_device(KNOWN["chain_arithmetic"], STREAM, *VECTORS),
    on_device(KNOWN["black_scholes"], STREAM, *VECTORS, primal=black_scholes),
    DeviceProgram("distance", REDUCTION, distance, two_vectors, ("x", "y"), (7,), VECTORS,
                  jax=distance_jax, torch=distance_torch),
    DeviceProgram("row_norms", REDUCTION, row_norms, matrix, ("x",), (4, 3), MATRICES,
                  jax=row_norms_jax, torch=row_norms_torch, shape=lambda x: x.shape[:1]),
    DeviceProgram("column_norms", REDUCTION, column_norms, matrix, ("x",), (4, 3), MATRICES,
                  jax=column_norms_jax, torch=column_norms_torch, shape=lambda x: x.shape[1:]),
    DeviceProgram("softmax", REDUCTION, softmax, matrix, ("x",), (4, 3), MATRICES,
                  jax=softmax_jax, torch=softmax_torch, shape=as_x),
    DeviceProgram("standardised", REDUCTION, standardised, matrix, ("x",), (4, 3), MATRICES,
                  jax=standardised_jax, torch=standardised_torch, shape=as_x),
    DeviceProgram("gathered", OTHER, gathered, gathered_data, ("x", "w"), (7,), VECTORS,
                  jax=gathered_jax, torch=gathered_torch),
    DeviceProgram("scattered", OTHER, scattered, scattered_data, ("x",), (7,), VECTORS, writes="out",
                  jax=scattered_jax, torch=scattered_torch, shape=as_x),
    DeviceProgram("binned", OTHER, binned, binned_data, ("x",), (7, 3), tuple(Size(n, 1_000) for n in SIZES),
                  jax=binned_jax, torch=binned_torch, shape=lambda x, index, bins: (bins,), dtypes=("float64",)),
)
# fmt: on
