"""Arrays of a few elements: numbers, as long as nobody sees them as a whole or asks for an unknown element."""

import numpy as np

from .registry import case, number, positive, program, real


@program(case(0.7), case(number(-1.3)), case(0.0), compiled=True)
def stacked_powers(x):
    return np.stack([x**i for i in range(6)]).reshape(3, 2)


@program(case(real(3), 0.4), case(real(3), -2.1), compiled=True)
def rotated(p, angle):
    c, s = np.cos(angle), np.sin(angle)
    r = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    out = np.zeros(3)
    for i in range(3):
        for j in range(3):
            out[i] += r[i, j] * p[j]
    return out


@program(case(real(3), 0.02, 20), case(real(3), 0.02, 0))
def lorenz(start, h, steps):
    y = np.array([start[0], start[1], start[2]])
    for _ in range(steps):
        slope = np.array([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])
        for i in range(3):
            y[i] += h * slope[i]
    return y[0] * y[1] + y[2]


@program(case(real(4)), case(real(4)))
def partly_filled(x):
    """Elements that nobody sets stay as they were."""
    t = np.zeros(4)
    t[1] = x[0] * x[1]
    if x[2] > x[3]:
        t[2] = x[2] ** 2
    else:
        t[1] *= 3.0
    return t[0] + t[1] * t[2] + t[1]


@program(case(real(5), 2), case(real(5), 0), case(real(5), -1))
def known_at_run_time(x, k):
    t = np.array([x[0], x[1] * x[2], x[3]])
    return t[k] * t[0] + x[4]


@program(case(real(3)), case(real(3)))
def swapped_in_turn(x):
    t = np.array([x[0], x[1], x[2]])
    for i in range(2):
        for j in range(2 - i):
            if t[j] > t[j + 1]:
                t[j], t[j + 1] = t[j + 1], t[j]
    return t[0] + 2 * t[1] + 3 * t[2]


@program(case(real(2, 3)), case(real(5, 3)))
def one_in_each_row(x):
    """Made anew in every iteration."""
    s = 0.0
    for i in range(x.shape[0]):
        t = np.array([x[i, 0] * x[i, 1], x[i, 2], 1.0])
        t[1] *= t[0]
        for j in range(3):
            s += np.sin(t[j]) * t[2 - j]
    return s


@program(case(real(3), real(3)), case(real(3), real(3)))
def through_views(x, y):
    t = np.zeros((2, 3))
    top, turned = t[0], t.T
    for j in range(3):
        top[j] = x[j] * y[j]
        turned[j, 1] = x[j] - y[2 - j]
    flat = t.reshape(6)
    s = 0.0
    for k in range(6):
        s += flat[k] * (k + 1) * flat[5 - k]
    return s + t[1, ::2][1]


@program(case(real(3), real(4, 3)), case(real(3), real(0, 3)))
def seen_as_a_whole(x, m):
    t = np.array([x[0] * x[1], x[1] * x[2], x[0]])
    u = t * 2.0
    return np.sum(m @ t) + np.dot(t, u) * u[2]


@program(case(real(2, 2), real(2)))
def solved_in_small(a, b):
    m = np.array([[a[0, 0] + 3.0, a[0, 1]], [a[1, 0], a[1, 1] + 3.0]])
    d = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    x = np.array([m[1, 1] * b[0] - m[0, 1] * b[1], m[0, 0] * b[1] - m[1, 0] * b[0]]) / d
    return x


@program(case(real(6)), case(real(9)))
def window(x):
    """Of the last three, the oldest is forgotten."""
    w = np.zeros(3)
    s = 0.0
    for i in range(len(x)):
        w[0], w[1] = w[1], w[2]
        w[2] = x[i] * x[i]
        s += (w[0] - 2 * w[1] + w[2]) ** 2
    return s


@program(case(positive(), 3.0), case(positive(), 40.0))
def until_large(x, most):
    t = np.array([x, 1.0])
    while t[0] < most:
        t[1] += t[0] * x
        t[0] *= 1.5
    return t[0] * t[1]


@program(case(real(4)))
def with_numbers_of_other_kinds(x):
    counts = np.zeros(3, dtype=np.int64)
    flags = np.array([x[0] > 0, x[1] > 0])
    s = 0.0
    for i in range(4):
        counts[i % 3] += 1
        if flags[i % 2]:
            s += x[i] * counts[0]
    return s * counts[1] / counts[2]


@program(case(real(3)))
def called_with_small_arrays(x):
    def length(v):
        return np.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2 + 1.0)

    def cross(a, b):
        return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    a = np.array([x[0], x[1], x[2]])
    b = cross(a, np.array([1.0, x[0], x[1] * x[2]]))
    return length(b) * length(cross(b, a))


@program(case(real(3), real(3)))
def maxima_of_few(x, y):
    m = np.zeros(3)
    for i in range(3):
        m[i] = max(x[i], y[i])
    return m.max() * m.sum() + np.linalg.norm(m)


@program(case(real(2)), case(np.array([-0.3, 0.8])), case(np.array([1.4, 1.2])))
def extremes_with_constants(x):
    """The element that depends on x is not the first."""
    t = np.array([1.0, x[0], x[1] * x[0]])
    return t.max() * 2 + t.min() + np.prod(t)


@program(case(real(3)))
def written_before_it_is_added_to(x):
    t = np.empty(3)
    for i in range(3):
        t[i] = x[i]
        for j in range(i):
            t[i] += t[j] * x[j]
    return t[0] * t[1] * t[2]


@program(case(real(5), 0.1, 3), case(real(1), 0.1, 2), case(real(4), 0.1, 0), compiled=True)
def runge_kutta_by_a_tableau(x, h, steps):
    """The loop over stages is written out: what each sets of an element is its own."""
    a, b = np.array([0.0, 0.5, 0.5, 1.0]), np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6])
    for _ in range(steps):
        k, total = np.zeros_like(x), np.zeros_like(x)
        for stage in range(4):
            k = np.sin(x + h * a[stage] * k)
            total = total + b[stage] * k
        x = x + h * total
    return x


@program(case(real(5)), case(real(0)))
def rows_of_a_loop_in_a_loop(x):
    """What the inner loop sets is its own in every iteration of both."""
    a, s = np.array([[0.3, 0.0], [0.7, -0.2]]), 0.0
    for i in range(2):
        for j in range(2):
            e = a[i, j] * x
            e = e + np.sin(e)
            s += np.sum(e * e)
    return s


@program(case(real(4)), case(real(1)))
def carried_through_what_is_written_out(x):
    """What one iteration leaves, the next reads; and the last value is read behind the loop."""
    w, e, s = np.array([0.4, 0.6]), x * 0.5, 0.0
    for k in range(2):
        for i in range(len(x)):
            d = w[k] * x[i] * e[i]
            e[i] = np.cos(d)
            s += d * e[i]
    return s * d
