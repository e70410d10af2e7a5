"""The worked examples of the guide, from one element to ten million.

Peers that share NumPy's spelling run the same function; where they do not, theirs stands below it.
"""

import numpy as np

from benchmarks.programs.libraries import anp, jnp, lax, torch
from benchmarks.programs.program import ARRAYS, CALLS, Program, Size, by_hand, by_hand_sums

TINY = (5,)
SIZES = (Size(1), Size(1_000), Size(100_000), Size(10_000_000))


def vector(rng, n):
    return (rng.uniform(-2.0, 2.0, n),)


def number(rng, n):
    return (1.0 + 0.1 * n,)


# ---- elementwise


def square(x):
    return x**2


@by_hand
def square_adjoint(x, v):
    x_b = np.empty_like(x)
    for i in range(x.size):
        x_b[i] = 2.0 * x[i] * v[i]
    return x_b


def curve(x):
    return np.stack((-(x**3), 5 * x))


def curve_jax(x):
    return jnp.stack((-(x**3), 5 * x))


def curve_torch(x):
    return torch.stack((-(x**3), 5 * x))


def curve_autograd(x):
    return anp.stack((-(x**3), 5 * x))


@by_hand
def curve_adjoint(x, v):
    x_b = np.empty_like(x)
    for i in range(x.size):
        x_b[i] = 5.0 * v[1, i] - 3.0 * x[i] * x[i] * v[0, i]
    return x_b


# ---- sums


def total(x):
    return x.sum()


def total_autograd(x):
    return anp.sum(x)


@by_hand
def total_adjoint(x, v):
    return np.full(x.shape, v)


def square_sum(x):
    return (x**2).sum()


def square_sum_autograd(x):
    return anp.sum(x**2)


@by_hand
def square_sum_adjoint(x, v):
    x_b = np.empty_like(x)
    for i in range(x.size):
        x_b[i] = 2.0 * x[i] * v
    return x_b


def weighed(x, w):
    return (x * x * w).sum()


def weighed_autograd(x, w):
    return anp.sum(x * x * w)


@by_hand
def weighed_adjoint(x, w, v):
    x_b = np.empty_like(x)
    for i in range(x.size):
        x_b[i] = 2.0 * x[i] * w[i] * v
    return x_b


def two_vectors(rng, n):
    return rng.uniform(-2.0, 2.0, n), rng.uniform(0.0, 1.0, n)


def weighed_rows(x, w):
    return (x * x * w).sum(1)


def weighed_rows_autograd(x, w):
    return anp.sum(x * x * w, axis=1)


@by_hand
def weighed_rows_adjoint(x, w, v):
    x_b = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x_b[i, j] = 2.0 * x[i, j] * w[j] * v[i]
    return x_b


def rows_of_two(rng, n):
    return rng.uniform(-2.0, 2.0, (n, 2)), np.array([-1, 1])


def moments(x):
    return np.stack((x.sum(), (x**2).sum()))


def moments_jax(x):
    return jnp.stack((x.sum(), (x**2).sum()))


def moments_torch(x):
    return torch.stack((x.sum(), (x**2).sum()))


def moments_autograd(x):
    return anp.stack((anp.sum(x), anp.sum(x**2)))


@by_hand
def moments_adjoint(x, v):
    x_b = np.empty_like(x)
    for i in range(x.size):
        x_b[i] = v[0] + 2.0 * x[i] * v[1]
    return x_b


def row_moments(x):
    return np.stack((x.sum(1), (x**2).sum(1)))


def row_moments_jax(x):
    return jnp.stack((x.sum(1), (x**2).sum(1)))


def row_moments_torch(x):
    return torch.stack((x.sum(1), (x**2).sum(1)))


def row_moments_autograd(x):
    return anp.stack((anp.sum(x, axis=1), anp.sum(x**2, axis=1)))


@by_hand
def row_moments_adjoint(x, v):
    x_b = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x_b[i, j] = v[0, i] + 2.0 * x[i, j] * v[1, i]
    return x_b


def rows_of_four(rng, n):
    return (rng.uniform(-2.0, 2.0, (n, 4)),)


# ---- numbers, and a loop that the data decides


def powers(x):
    return np.stack([x**i for i in range(6)]).reshape(3, 2)


def powers_jax(x):
    return jnp.stack([x**i for i in range(6)]).reshape(3, 2)


def powers_torch(x):
    return torch.stack([x**i for i in range(6)]).reshape(3, 2)


def powers_autograd(x):
    return anp.stack([x**i for i in range(6)]).reshape(3, 2)


@by_hand
def powers_adjoint(x, v):
    x_b, power = 0.0, 1.0
    for i in range(1, 6):
        x_b += i * power * v[i // 2, i % 2]
        power *= x
    return x_b


def double_until_long(x):
    y = x * 2
    while np.linalg.norm(y) < 1000:
        y = y * 2
    return y


def double_until_long_jax(x):
    # a while_loop has no reverse mode: a scan of constant length has
    def step(y, _):
        return lax.cond(jnp.vdot(y, y) < 1000.0**2, lambda y: y * 2, lambda y: y, y), None

    return lax.scan(step, x * 2, length=16)[0]


def double_until_long_torch(x):
    y = x * 2
    while torch.linalg.vector_norm(y) < 1000:
        y = y * 2
    return y


def double_until_long_autograd(x):
    y = x * 2
    while anp.linalg.norm(y) < 1000:
        y = y * 2
    return y


@by_hand_sums
def double_until_long_adjoint(x, v):
    y = x * 2
    scale = 2.0
    while True:
        squares = 0.0
        for i in range(y.size):
            squares += y[i] * y[i]
        if np.sqrt(squares) >= 1000:
            break
        for i in range(y.size):
            y[i] *= 2
        scale *= 2.0
    for i in range(y.size):
        y[i] = v[i] * scale  # y has served
    return y


def short_vector(rng, n):
    x = rng.uniform(-2.0, 2.0, n)
    return (x / np.linalg.norm(x),)


def inner(x):
    return np.stack((x[0] * x[1], np.sin(x[0]) + x[1]))


def outer(y):
    return np.stack((np.exp(y[0]) * y[1], y[0] ** 2))


def composed(x):
    return outer(inner(x))


def composed_jax(x):
    y = jnp.stack((x[0] * x[1], jnp.sin(x[0]) + x[1]))
    return jnp.stack((jnp.exp(y[0]) * y[1], y[0] ** 2))


def composed_torch(x):
    y = torch.stack((x[0] * x[1], torch.sin(x[0]) + x[1]))
    return torch.stack((torch.exp(y[0]) * y[1], y[0] ** 2))


def composed_autograd(x):
    y = anp.stack((x[0] * x[1], anp.sin(x[0]) + x[1]))
    return anp.stack((anp.exp(y[0]) * y[1], y[0] ** 2))


@by_hand
def composed_adjoint(x, v):
    a, b = x[0] * x[1], np.sin(x[0]) + x[1]
    e = np.exp(a)
    a_b, b_b = v[0] * e * b + v[1] * 2.0 * a, v[0] * e
    x_b = np.empty_like(x)
    x_b[0], x_b[1] = a_b * x[1] + b_b * np.cos(x[0]), a_b * x[0] + b_b
    return x_b


def row(name, primal, make, shape, *, wrt=("x",), sizes=SIZES, tiny=TINY, kind=ARRAYS, **contestants):
    peers = {"jax": primal, "torch": primal, "autograd": primal, **contestants}
    return Program(name, kind, primal, make, wrt, tiny, sizes, shape=shape, **peers)


# fmt: off
PROGRAMS = (
    row("square", square, vector, lambda x: x.shape, by_hand=square_adjoint),
    row("curve", curve, vector, lambda x: (2, x.size), by_hand=curve_adjoint,
        jax=curve_jax, torch=curve_torch, autograd=curve_autograd),
    row("total", total, vector, lambda x: (), by_hand=total_adjoint, autograd=total_autograd),
    row("square_sum", square_sum, vector, lambda x: (), by_hand=square_sum_adjoint, autograd=square_sum_autograd),
    row("weighed", weighed, two_vectors, lambda x, w: (), by_hand=weighed_adjoint, autograd=weighed_autograd),
    row("weighed_rows", weighed_rows, rows_of_two, lambda x, w: x.shape[:1], by_hand=weighed_rows_adjoint,
        autograd=weighed_rows_autograd),
    row("moments", moments, vector, lambda x: (2,), by_hand=moments_adjoint,
        jax=moments_jax, torch=moments_torch, autograd=moments_autograd),
    row("row_moments", row_moments, rows_of_four, lambda x: (2, x.shape[0]), by_hand=row_moments_adjoint,
        jax=row_moments_jax, torch=row_moments_torch, autograd=row_moments_autograd),
    row("powers", powers, number, lambda x: (3, 2), by_hand=powers_adjoint, sizes=(Size(1),), tiny=(1,), kind=CALLS,
        jax=powers_jax, torch=powers_torch, autograd=powers_autograd),
    row("double_until_long", double_until_long, short_vector, lambda x: x.shape, by_hand=double_until_long_adjoint,
        jax=double_until_long_jax, torch=double_until_long_torch, autograd=double_until_long_autograd),
    row("composed", composed, vector, lambda x: (2,), by_hand=composed_adjoint, sizes=(Size(2),), tiny=(2,), kind=CALLS,
        jax=composed_jax, torch=composed_torch, autograd=composed_autograd),
)
# fmt: on
