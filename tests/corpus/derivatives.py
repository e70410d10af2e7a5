"""Derivatives in what is differentiated: `backward` of another function, in loops, of any order."""

from functools import partial

import numpy as np

from srcgrad import grad

from .registry import case, positive, program, real

plain = partial(grad, jit=False)  # what runs where nothing is differentiated
TABLE = np.array([0.5, 1.0, 2.0])


@plain
def chain(q, stiffness=1.0):
    return stiffness * np.sum((q[1:] - q[:-1]) ** 4) + np.sum(TABLE[0] * q**2)


@program(case(real(4), real(4), 0.1), case(real(3), real(3, layout="reverse"), 0.2), compiled=True)
def leapfrog(q, p, dt):
    for _ in range(3):
        p = p - 0.5 * dt * chain.backward(q)[0]
        q = q + dt * p
        p = p - 0.5 * dt * chain.backward(q)[0]
    return q, p


@plain
def net(x, weights):
    (first, shift), second = weights
    return np.sum(np.tanh(x @ first + shift) @ second)


@program(case(real(3, 2), ((real(2, 4), real(4)), real(4))))
def gradient_penalty(x, weights):
    slopes = net.backward(x, weights)[0]
    return np.mean((np.sqrt(np.sum(slopes**2, axis=1)) - 1.0) ** 2)


@plain(wrt="t")
def curve(t, w):
    return np.sum(w[0] * np.tanh(w[1] * t + w[2]))


@program(case(real(3, 4), real(5)))
def residual_of_an_equation(w, t):
    total = 0.0
    for i in range(t.size):
        y, slope = curve.value_and_backward(t[i], w)
        total += (slope + y) ** 2
    return total


@plain
def distance(x, y):
    return np.sum((np.sqrt(x) - np.sqrt(y)) ** 2 * np.log(1 + x))


@program(case(positive(3), real(3)))
def hessian_where_nothing_is_left_over(x, direction):
    return np.sum(distance.backward(x, x.copy())[0] * direction)


@plain
def sines(x):
    return np.sum(np.sin(x) * x[::-1])


@plain
def squares_of_slopes(x):
    return np.sum(sines.backward(x) ** 2)


@program(case(real(4)))
def third(x):
    return squares_of_slopes.backward(x) * x


@plain
def by_newton(a):
    x = 1.0 + 0.5 * a
    while abs(x * x - a) > 1e-13 * a:
        x = 0.5 * (x + a / x)
    return x


@program(case(1.7))
def slope_of_a_search(a):
    return by_newton.backward(a) ** 2


@plain
def weighed(a, b):
    c = a @ b + np.eye(a.shape[0]) * 3
    return np.sum(np.linalg.solve(c, a) * b.T) + np.linalg.slogdet(c)[1], np.cumsum(a, axis=1)


@program(case(real(3, 3), real(3, 3), real(3, 3)))
def of_matrices(a, b, v):
    a_b, b_b = weighed.backward(a, b, (1.0, v))
    return np.sum(a_b * b) + np.sum(b_b**2)


@plain
def in_place(x, n):
    out = x.copy()
    for k in range(n):
        for i in range(1, out.size):
            if out[i - 1] > 0:
                out[i] += 0.3 * out[i - 1] ** 2
            else:
                out[i] *= out[i - 1]
    return out


@program(case(real(5), 2, real(5)))
def of_a_sweep(x, n, v):
    return np.sum(in_place.backward(x, n, v * v) * x)
