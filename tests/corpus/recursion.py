"""Recursion: functions that call themselves, themselves by way of others, and in loops and branches."""

import math

import numpy as np

from .registry import ONLY64, case, integers, number, positive, program, real


@program(case(0.7, 5), case(number(0.7), 0))
def repeated_product(x, n):
    if n == 0:
        return x * 0.5
    return np.sin(x) * repeated_product(x, n - 1) + x


@program(case(8, 0.6), case(1, 0.6), compiled=True)
def fibonacci(n, x):
    if n < 2:
        return x * n + 0.1
    return fibonacci(n - 1, x) * x + fibonacci(n - 2, x)


@program(case(1.3, 13), case(number(0.8), 6, dtypes=ONLY64), case(1.3, 1))
def power_by_squaring(x, n):
    return squared(x, n) * 2


def squared(x, n):
    if n == 0:
        return 1
    half = squared(x, n // 2)
    return half * half * (x if n % 2 else 1)


@program(case(0.2, 1.1, 1e-4, wrt=(0, 1), dtypes=ONLY64), compiled=True)
def adaptive_simpson(a, b, tolerance):
    f = lambda t: np.exp(-t) * np.sqrt(t + 0.1)
    m = 0.5 * (a + b)
    return simpson(f, a, b, f(a), f(m), f(b), tolerance, 0)


def simpson(f, a, b, fa, fm, fb, tolerance, level):
    m = 0.5 * (a + b)
    left, right = f(0.5 * (a + m)), f(0.5 * (m + b))
    whole = (b - a) / 6 * (fa + 4 * fm + fb)
    halves = (b - a) / 12 * (fa + 4 * left + 2 * fm + 4 * right + fb)
    if level >= 3 or abs(halves - whole) < 15 * tolerance:
        return halves + (halves - whole) / 15
    return simpson(f, a, m, fa, left, fm, tolerance / 2, level + 1) + simpson(
        f, m, b, fm, right, fb, tolerance / 2, level + 1
    )


@program(case(real(9)), case(real(1)), case(real(6, layout="step")))
def tree_sum(x):
    return tree(x, 0, len(x))


def tree(x, low, high):
    if high - low == 1:
        return x[low] * x[low]
    middle = (low + high) // 2
    return np.tanh(tree(x, low, middle)) + tree(x, middle, high) * x[low]


@program(case(real(9)), case(real(1)))
def tree_sum_of_slices(x):
    if len(x) == 1:
        return x[0] * x[0]
    middle = len(x) // 2
    return np.tanh(tree_sum_of_slices(x[:middle])) + tree_sum_of_slices(x[middle:]) * x[0]


@program(case(real(4, 4)), case(real(1, 1)), case(real(3, 3, layout="F")))
def determinant_by_minors(a):
    n = a.shape[0]
    chain = np.append(np.arange(1, n + 1), 0)
    return minor(a, n, n, chain, chain.copy())


def minor(a, n, m, row_after, column_after):
    row, column = row_after[n], column_after[n]
    if m == 1:
        return a[row, column]
    total, sign, before = 0.0, 1.0, n
    row_after[n] = row_after[row]
    for _ in range(m):
        column_after[before] = column_after[column]
        total += sign * a[row, column] * minor(a, n, m - 1, row_after, column_after)
        column_after[before] = column
        before, column = column, column_after[column]
        sign = -sign
    row_after[n] = row
    return total


@program(case(real(4, 4)), case(real(2, 2)))
def determinant_by_bits(a):
    return expansion(a, 0, (1 << a.shape[0]) - 1)


def expansion(a, i, columns):
    if i == a.shape[0]:
        return 1.0
    total, sign = 0.0, 1.0
    for j in range(a.shape[0]):
        if columns & (1 << j):
            total += sign * a[i, j] * expansion(a, i + 1, columns - (1 << j))
            sign = -sign
    return total


@program(case(real(3, 3)), case(real(4, 4), dtypes=ONLY64), compiled=True)
def determinant_of_new_arrays(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total = 0.0
    for j in range(n):
        rest = np.empty((n - 1, n - 1), a.dtype)
        rest[:, :j] = a[1:, :j]
        rest[:, j:] = a[1:, j + 1 :]
        total += (-1.0) ** j * a[0, j] * determinant_of_new_arrays(rest)
    return total


@program(case(real(8)), case(real(1)), compiled=True)
def fourier(x):
    re, im = transform(x, np.zeros_like(x))
    return re * re + im * im


def transform(re, im):
    n = len(re)
    if n == 1:
        return re, im
    er, ei = transform(re[::2], im[::2])
    odd_r, odd_i = transform(re[1::2], im[1::2])
    angle = -2 * np.pi * np.arange(n // 2).astype(re.dtype) / n
    c, s = np.cos(angle).astype(re.dtype), np.sin(angle).astype(re.dtype)
    tr, ti = c * odd_r - s * odd_i, s * odd_r + c * odd_i
    out_r, out_i = np.empty(n, re.dtype), np.empty(n, re.dtype)
    out_r[: n // 2], out_r[n // 2 :] = er + tr, er - tr
    out_i[: n // 2], out_i[n // 2 :] = ei + ti, ei - ti
    return out_r, out_i


@program(case(0.4, 9), case(2.4, 4), case(number(0.4), 0))
def even_or_odd(x, n):
    return is_even(x, n) * x


def is_even(x, n):
    if n == 0:
        return x
    return is_odd(np.sin(x), n - 1)


def is_odd(x, n):
    if n == 0:
        return x * x
    return is_even(x + 0.1 * n, n - 1)


@program(case(2, 2, 0.3), case(1, 3, number(0.3)), compiled=True)
def ackermann_like(m, n, x):
    return climb(m, n, x)[0] * x


def climb(m, n, x):
    """A float goes along with Ackermann's own count."""
    if m == 0:
        return x * 1.01 + 0.01, n + 1
    if n == 0:
        return climb(m - 1, 1, x)
    y, inner = climb(m, n - 1, x)
    return climb(m - 1, inner, np.sin(y) + x)


@program(case(positive(6)), case(positive(1)))
def continued_fraction(x):
    return fraction(x, 0)


def fraction(x, i):
    return x[i] + 1 / fraction(x, i + 1) if i + 1 < len(x) else x[i]


@program(case(real(7)), case(real(8)), case(real(1)), writes=("x",), compiled=True)
def prefix_in_place(x):
    prefix(x, 0, len(x))


def prefix(x, low, high):
    if high - low < 2:
        return
    middle = (low + high) // 2
    prefix(x, low, middle)
    prefix(x, middle, high)
    for i in range(middle, high):
        x[i] = np.sin(x[i]) * x[middle - 1] + x[low]


@program(case(real(7)), case(real(4)))
def merged(x):
    y = x * 1.5
    merge_sorted(y, np.empty_like(y), 0, len(y))
    return y * np.arange(len(y))


def merge_sorted(x, space, low, high):
    if high - low < 2:
        return
    middle = (low + high) // 2
    merge_sorted(x, space, low, middle)
    merge_sorted(x, space, middle, high)
    i, j = low, middle
    for k in range(low, high):
        if j == high or (i < middle and x[i] <= x[j]):
            space[k] = x[i]
            i += 1
        else:
            space[k] = x[j]
            j += 1
    for k in range(low, high):
        x[k] = space[k]


@program(case(0.3, 4), case(0.3, 1))
def recursion_in_a_while_loop(x, n):
    s = x
    while s < 3.0 and n > 0:
        s = s + recursion_in_a_while_loop(x * 0.5, n - 2) + 0.7
        s = s * s
    return s + x


@program(case(real(3), 3), case(real(3), 0))
def rebinding(x, n):
    """Arrays as results, from both sides of a branch, round a loop."""
    y = x * 0.5
    for k in range(n):
        if k % 2:
            y = refined(y, k)
        else:
            y = y + refined(x, k) * y
    return y


def refined(y, n):
    if n == 0:
        return np.cos(y)
    z = refined(y * y, n - 1)
    return z * y + np.dot(z, y)


@program(case(real(3, 3), 5), case(real(2, 2), 1))
def matrix_power(a, n):
    if n == 1:
        return a * 1.0
    half = matrix_power(a, n // 2)
    whole = half @ half
    return whole @ a if n % 2 else whole


@program(case(0.7, 3), case(number(0.7), 2))
def inner_function(x, n):
    weight = x * 2

    def go(y, k):
        if k == 0:
            return y * weight
        return np.sin(go(y * weight, k - 1)) + k

    return go(x, n) + go(weight, n - 1)


TABLE = np.array([0.2, 0.4, 0.8, 1.6])
SCALE = 1.5


@program(case(0.7, 3), case(number(0.7), 2))
def reads_from_outside(x, n):
    if n < 0:
        return x * SCALE
    return reads_from_outside(x * TABLE[n], n - 1) * SCALE + x**2


@program(case(0.7, 0.2, 6), case(0.7, 0.2, 0))
def agm(a, b, n):
    """Arithmetic and geometric means: several results, carried on."""
    a, b = means(a, b + 1, n)
    return a * b


def means(a, b, n):
    if n == 0:
        return a, b
    return means((a + b) / 2, math.sqrt(a * b), n - 1)


@program(case(real(5), integers(2, 0, 3, 3, 1)), case(real(5), integers(0, 0, 0, 0, 0)))
def follows_links(x, links):
    return follow(x, links, 4, 6)


def follow(x, links, at, steps):
    if steps == 0:
        return x[at]
    return x[at] * follow(x, links, links[at], steps - 1) + x[links[at]]


@program(case(real(6)), compiled=True)
def only_some_calls_matter(x):
    """The same function where a derivative goes through it, and where none does."""
    fixed = weight_of(2.0, 3)
    shape = 1.0 if weight_of(float(x.shape[0]), 2) > 0 else -1.0
    return weight_of(x[0], 3) * fixed * shape + x.sum()


def weight_of(x, n):
    if n == 0:
        return x * x
    return weight_of(x, n - 1) * 0.5 + x


@program(case(real(4, 3)), case(real(1, 3)))
def rows_as_views(a):
    b = a * 1.0
    below(b, 0)
    return b


def below(b, i):
    """Each row is changed by the one before it."""
    if i + 1 == len(b):
        b[i] *= 2.0
        return
    b[i + 1] += np.sin(b[i]) * b[i + 1]
    below(b, i + 1)
    b[i] *= b[i + 1]


@program(case(real(5)))
def scratch_of_its_own(x):
    return smoothed(x, 3).sum() * x[0]


def smoothed(x, n):
    y = x.copy()
    for i in range(1, len(x) - 1):
        y[i] = x[i - 1] * x[i + 1] + y[i] ** 2
    if n == 0:
        return y
    return smoothed(y, n - 1) * y


@program(case(real(4)), case(real(4, layout="reverse")), compiled=True)
def reads_before_and_after_writes(x):
    """What the calls write is read before them, between them and after them."""
    y = x * 1.0
    s = y[0] * y[1]
    scaled(y, 3)
    t = (y * y).sum()
    scaled(y[1:], 2)
    return s * t + y[0] * y[1] * y[2] * s


def scaled(x, n):
    if n == 0:
        return
    x[0] = x[0] * x[1] + 1
    scaled(x, n - 1)
    x[1] = np.sin(x[1]) * x[0]


@program(case(real(4), 3), case(real(4), 0))
def overwritten_after_the_call(x, n):
    """What a call has read is overwritten before the reverse half runs."""
    y = x.copy()
    a = squares(y, 3)
    y[:] = y * 2 + 1
    b = squares(y, 2)
    for i in range(n):
        y *= 1.1
        y[i % 4] += 0.1 * a
        b += np.tanh(squares(y, 3)) * y[0]
        y[1] = np.cos(b)
    return a * b


def squares(y, k):
    if k == 0:
        return 0.0
    return y[k] ** 2 + squares(y, k - 1) * y[0]


@program(case(real(5)))
def local_arrays_overwritten(x):
    return with_scratch(x, 0) * x[0]


def with_scratch(x, i):
    if i + 1 >= len(x):
        return x[-1]
    t = np.tanh(x * (i + 1.0))
    inner = t * t
    a = with_scratch(t, i + 1)
    t[i] = a * t[i]
    if a > 0.1:
        u = np.sin(t)
        b = with_scratch(u + inner, i + 2)
        u *= np.tanh(b)
        t += u * u
    return t.sum() + t[i] * inner[i]


@program(case(real(6), 0.3), case(real(6), 4.0))
def leaves_loops_early(x, bound):
    return search(x, bound, 0) + search(x * x, bound * 0.5, 2)


def search(x, bound, i):
    s = x[i]
    while i < len(x):
        if s > bound:
            return s * search(x, bound + 0.4, i)
        for j in range(i, len(x)):
            if x[j] < 0:
                break
            s += x[j] * x[i]
        i += 1
        if i % 3 == 1:
            continue
        s += 0.1 * x[i - 1]
    return s * s


@program(case(0.3, 4), case(number(0.3), 3))
def calls_as_arguments(x, n):
    return compose(compose(x, n), n - 1) * compose(x * x, n)


def compose(x, n):
    if n <= 1:
        return np.cos(x)
    return compose(compose(x, n - 2) * x, n - 1)


@program(case(real(5), 3))
def calls_in_conditions(x, n):
    s = 0.0
    while size_of(x, n) > 1.0 and n > 0:
        n -= 1
        s += size_of(x * s, n) if size_of(x, n) < 2.5 else size_of(x, 0)
    return s + sum(size_of(x, k) for k in (0, 1))


def size_of(x, n):
    if n == 0:
        return np.sqrt((x * x).sum() + 1)
    return size_of(x, n - 1) + x[n]


@program(case(real(4), 3))
def two_dtypes(x, n):
    """One function for float64 and for float32."""
    y = np.arange(4).astype(np.float32)
    return (doubled(x, n) * doubled(y, n)).sum()


def doubled(x, n):
    if n == 0:
        return x * x
    return doubled(x, n - 1) * 2 + x


@program(case(real(4), 2), case(real(4), 0))
def returns_its_argument(x, n):
    y = x * 2.0
    z = touched(y, n)
    return z * y + same_or_new(x, n) * same_or_new(x * x, n)


def touched(y, n):
    if n > 0:
        y *= y
        touched(y, n - 1)
    return y


def same_or_new(x, n):
    if n == 0:
        return x
    return same_or_new(x * x, n - 1)


@program(case(real(3), real(3), 2), case(real(3), real(3), 2, wrt="y"), case(real(3), real(3), 2, wrt=("y", "x")))
def some_arguments(x, y, n):
    if n == 0:
        return x * y
    return some_arguments(x * 2, y * x, n - 1) + some_arguments(y, y, n - 1)


@program(case(real(6)))
def index_from_a_call(x):
    """Integers, booleans and floats come back together."""
    i, v, is_big = largest(x, 0, len(x))
    return v * x[i - 1] * (2.0 if is_big else 3.0)


def largest(x, low, high):
    if high - low == 1:
        return low, x[low] * x[low], x[low] > 0.5
    middle = (low + high) // 2
    i, v, a = largest(x, low, middle)
    j, w, b = largest(x, middle, high)
    if v > w:
        return i, v + 0.1 * w, a
    return j, w * v, b or a


@program(case(0.4, 3))
def nested_recursions(x, n):
    """One recursive function inside another."""
    if n == 0:
        return counted(x, 2)
    return nested_recursions(counted(x, n), n - 1) * x


def counted(x, k):
    return x if k == 0 else np.sin(counted(x, k - 1)) + x * k


@program(case(0.4, 5), case(0.4, 2))
def mutual_with_self(x, n):
    return ping(x, n) + pong(x, n - 1)


def ping(x, n):
    if n <= 0:
        return x
    return ping(x * 0.9, n - 2) * pong(x, n - 1)


def pong(x, n):
    if n <= 0:
        return x * x
    return pong(np.sin(x), n - 2) + ping(x, n - 1)


@program(case((real(3), 0.4), 3))
def tuples_go_along(state, n):
    return walk_on(state, n, True)[0].sum()


def walk_on(state, n, forward):
    y, s = state
    if n == 0:
        return (y * s, s)
    if forward:
        return walk_on((y + s, s * y[0]), n - 1, not forward)
    return walk_on((np.sin(y), s + y[1]), n - 1, True)


@program(case(real(3, 4)))
def windows(a):
    return blocks_of(a, 0)


def blocks_of(a, level):
    """Views of views, in two directions."""
    n, m = a.shape
    if n * m <= 2:
        return a.sum() * a[0, 0]
    if n >= m:
        return blocks_of(a[: n // 2], level + 1) * a[-1, -1] + blocks_of(a[n // 2 :], level + 1)
    return blocks_of(a[:, : m // 2].T, level + 1) + blocks_of(a[:, m // 2 :], level + 1) * 0.5


@program(case(real(4, 4)), compiled=True)
def cholesky_in_place(a):
    """A recursive factorisation of a positive matrix, by blocks of a copy."""
    b = a @ a.T + 4 * np.eye(len(a)).astype(a.dtype)
    factor(b, 0)
    s = 1.0
    for i in range(len(a)):
        s *= b[i, i]
    return s + b[-1, 0]


def factor(b, k):
    n = len(b)
    if k == n:
        return
    b[k, k] = np.sqrt(b[k, k])
    for i in range(k + 1, n):
        b[i, k] /= b[k, k]
    for i in range(k + 1, n):
        for j in range(k + 1, i + 1):
            b[i, j] -= b[i, k] * b[j, k]
    factor(b, k + 1)


@program(case(real(4)), case(real(0)))
def state_between_calls(a):
    """The loop is a recurrence, and there may be nothing at all to loop over."""
    n = a.shape[0]
    if n == 1:
        return a[0] * a[0]
    state = 1.0
    for j in range(n):
        others = np.empty(n - 1)
        for i in range(n - 1):
            others[i] = a[i] * state if i < j else np.sin(a[i + 1])
        state = 0.5 * state + 0.3 * np.sin(state_between_calls(others)) * a[j]
    return state


@program(case(real(5), 0), case(real(5), 1), case(real(5), 2))
def length_from_some_paths(x, which):
    """How long the result of a call is, is known on the path of the call only."""
    if which == 0:
        found = halved(x, 1)
    elif which == 2:
        found = halved(x, 2)
    else:
        return x[0]
    return np.sum(found * found)


def halved(x, n):
    return x * 2.0 if n == 0 else halved(np.sin(x[::2]), n - 1)
