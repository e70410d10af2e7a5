"""Elementwise work: option prices in a loop, and chains of NumPy statements, with and without functions in them."""

import math

import numpy as np

from benchmarks.programs.libraries import anp, ascipy_special, jnp, jspecial, torch
from benchmarks.programs.program import ARRAYS, LOOPS, Program, Size, by_hand, by_hand_sums

# ---- Black-Scholes: the price of each call

HALF = math.sqrt(0.5)
DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def black_scholes(spot, strike, years, rate, volatility):
    price = np.empty_like(spot)
    for i in range(spot.size):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        d2 = d1 - spread
        bond = strike[i] * math.exp(-rate * years[i])
        price[i] = 0.5 * (spot[i] * (1.0 + math.erf(d1 * HALF)) - bond * (1.0 + math.erf(d2 * HALF)))
    return price


def black_scholes_data(rng, n):
    return rng.uniform(50.0, 150.0, n), rng.uniform(50.0, 150.0, n), rng.uniform(0.2, 2.0, n), 0.03, 0.3


@by_hand_sums
def black_scholes_adjoint(spot, strike, years, rate, volatility, v):
    # the greeks: what goes through d1 and d2 cancels, but for the spread
    spot_b, strike_b, years_b = np.empty_like(spot), np.empty_like(spot), np.empty_like(spot)
    rate_b, volatility_b = 0.0, 0.0
    for i in range(spot.size):
        root = math.sqrt(years[i])
        spread = volatility * root
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        n1 = 0.5 * (1.0 + math.erf(d1 * HALF))
        n2 = 0.5 * (1.0 + math.erf((d1 - spread) * HALF))
        discount = math.exp(-rate * years[i])
        vega = v[i] * spot[i] * DENSITY * math.exp(-0.5 * d1 * d1)  # per unit of spread
        bond = v[i] * discount * n2
        spot_b[i] = v[i] * n1
        strike_b[i] = -bond
        years_b[i] = vega * 0.5 * volatility / root + bond * strike[i] * rate
        rate_b += bond * strike[i] * years[i]
        volatility_b += vega * root
    return spot_b, strike_b, years_b, rate_b, volatility_b


def black_scholes_jax(spot, strike, years, rate, volatility):
    spread = volatility * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    bond = strike * jnp.exp(-rate * years)
    return 0.5 * (spot * (1.0 + jspecial.erf(d1 * HALF)) - bond * (1.0 + jspecial.erf((d1 - spread) * HALF)))


def black_scholes_torch(spot, strike, years, rate, volatility):
    spread = volatility * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    bond = strike * torch.exp(-rate * years)
    return 0.5 * (spot * (1.0 + torch.erf(d1 * HALF)) - bond * (1.0 + torch.erf((d1 - spread) * HALF)))


def black_scholes_autograd(spot, strike, years, rate, volatility):
    erf = ascipy_special.erf
    spread = volatility * anp.sqrt(years)
    d1 = (anp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    bond = strike * anp.exp(-rate * years)
    return 0.5 * (spot * (1.0 + erf(d1 * HALF)) - bond * (1.0 + erf((d1 - spread) * HALF)))


# ---- a chain of functions


def chain_functions(x, y):
    a = np.exp(-x * x)
    b = a * y + np.sin(x)
    c = b / (1.0 + a * a)
    d = np.tanh(c) * y
    return np.log(1.0 + d * d)


def two_vectors(rng, n):
    return rng.uniform(-2.0, 2.0, n), rng.uniform(-2.0, 2.0, n)


@by_hand
def chain_functions_adjoint(x, y, v):
    x_b, y_b = np.empty_like(x), np.empty_like(y)
    for i in range(x.size):
        a = math.exp(-x[i] * x[i])
        b = a * y[i] + math.sin(x[i])
        below = 1.0 / (1.0 + a * a)
        c = b * below
        t = math.tanh(c)
        d = t * y[i]
        d_b = v[i] * 2.0 * d / (1.0 + d * d)
        b_b = d_b * y[i] * (1.0 - t * t) * below
        a_b = b_b * y[i] - b_b * c * 2.0 * a
        x_b[i] = b_b * math.cos(x[i]) - a_b * a * 2.0 * x[i]
        y_b[i] = d_b * t + b_b * a
    return x_b, y_b


def chain_functions_jax(x, y):
    a = jnp.exp(-x * x)
    b = a * y + jnp.sin(x)
    c = b / (1.0 + a * a)
    d = jnp.tanh(c) * y
    return jnp.log(1.0 + d * d)


def chain_functions_torch(x, y):
    a = torch.exp(-x * x)
    b = a * y + torch.sin(x)
    c = b / (1.0 + a * a)
    d = torch.tanh(c) * y
    return torch.log(1.0 + d * d)


def chain_functions_autograd(x, y):
    a = anp.exp(-x * x)
    b = a * y + anp.sin(x)
    c = b / (1.0 + a * a)
    d = anp.tanh(c) * y
    return anp.log(1.0 + d * d)


# ---- a chain of arithmetic: the same text for everyone


def chain_arithmetic(x, y):
    a = x * y + 1.5 * x
    b = a * a - y
    c = b / (2.0 + x * x)
    d = c * a + b
    return d * d * 0.5 + c


@by_hand
def chain_arithmetic_adjoint(x, y, v):
    x_b, y_b = np.empty_like(x), np.empty_like(y)
    for i in range(x.size):
        a = x[i] * y[i] + 1.5 * x[i]
        b = a * a - y[i]
        below = 1.0 / (2.0 + x[i] * x[i])
        c = b * below
        d = c * a + b
        d_b = v[i] * d
        c_b = v[i] + d_b * a
        b_b = d_b + c_b * below
        a_b = d_b * c + b_b * 2.0 * a
        x_b[i] = a_b * (y[i] + 1.5) - c_b * c * below * 2.0 * x[i]
        y_b[i] = a_b * x[i] - b_b
    return x_b, y_b


# fmt: off
PROGRAMS = (
    Program("black_scholes", LOOPS, black_scholes, black_scholes_data,
            ("spot", "strike", "years", "rate", "volatility"), (5,), (Size(100_000),),
            black_scholes_adjoint, black_scholes_jax, black_scholes_torch, black_scholes_autograd,
            shape=lambda spot, *_: spot.shape),
    Program("chain_functions", ARRAYS, chain_functions, two_vectors, ("x", "y"), (5,), (Size(1_000_000),),
            chain_functions_adjoint, chain_functions_jax, chain_functions_torch, chain_functions_autograd,
            shape=lambda x, y: x.shape),
    Program("chain_arithmetic", ARRAYS, chain_arithmetic, two_vectors, ("x", "y"), (5,), (Size(1_000_000),),
            chain_arithmetic_adjoint, chain_arithmetic, chain_arithmetic, chain_arithmetic,
            shape=lambda x, y: x.shape),
)
# fmt: on
