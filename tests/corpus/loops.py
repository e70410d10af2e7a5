"""Loops: every form of `for` and `while`, what they carry, and how they end."""

import numpy as np

from .registry import ONLY64, case, integers, number, positive, program, real, values

COEFFICIENTS = (0.5, -1.2, 0.3, 0.9)


@program(case(0.7, 4), case(number(0.7), 4), case(real(3), 0))
def repeated_sine(x, n):
    y = x * 1.0
    for _ in range(n):
        y = np.sin(y) + 0.5 * x
    return y


@program(case(0.8), case(real(4)), case(number(0.8)))
def horner(x):
    y = 0.0
    for c in COEFFICIENTS:
        y = y * x + c
    return y


@program(case(real(6)), case(real(6, layout="reverse")), case(real(0), dtypes=ONLY64), case(real(1)))
def over_an_array(x):
    total = 0.0
    for xi in x:
        total += xi * xi * np.cos(xi)
    return total


@program(case(real(3, 4)), case(real(3, 4, layout="F")))
def over_rows(x):
    y = np.ones(4)
    for row in x:
        y = y * np.cos(row) + row
    return y


@program(case(real(7), 2), case(real(7), 3), compiled=True)
def every_range(x, k):
    a = 0.0
    for i in range(len(x)):
        a += x[i] * i
    for i in range(1, x.size - 1):
        a = a * 0.9 + x[i - 1] * x[i + 1]
    for i in range(len(x) - 1, -1, -1):
        a = np.sin(a + x[i])
    for i in range(0, len(x), k):
        a += x[i] ** 2
    for i in range(6, 0, -k):
        a -= x[i] * x[i - 1]
    for i in range(3, 3):
        a = x[i] * 100
    return a


@program(
    case(real(5), 0, 5, 1), case(real(5), 4, -1, -1), case(real(5), 4, 0, -2), case(real(5), 3, 1, 1, dtypes=ONLY64)
)
def range_at_run_time(x, start, stop, step):
    a = 1.0
    for i in range(start, stop, step):
        a = a * (1.5 + x[i]) - x[i]
    return a


@program(case(1.5), case(number(1.5)))
def while_newton(a):
    """The root of x**3 = a by Newton's method, to convergence."""
    x = a
    while abs(x**3 - a) > 1e-3:
        x = x - (x**3 - a) / (3 * x**2)
    return x


@program(case(real(3)), case(values(0.41, -1.2, 0.73)), compiled=True)
def double_until_long(x):
    y = x * 2
    while np.linalg.norm(y) < 1000:
        y = y * 2
    return y


@program(case(values(0.3, 0.9, 0.2, 1.4, 0.8)), case(values(0.3, 0.1)), case(values(2.0, 0.1), dtypes=ONLY64))
def break_out(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 1.0:
            break
        total = total * 1.5 + x[i] ** 2
    return total


@program(case(values(0.3, -0.9, 0.2, -1.4, 0.8)), case(values(-0.3, -0.1), dtypes=ONLY64))
def continue_past(x):
    total = 1.0
    for xi in x:
        if xi < 0:
            continue
        total *= 1 + xi
    return total


@program(case(values(0.3, 0.9, 0.2, 1.4, 0.8)), case(values(0.3, 0.1)), case(values(1.3, 0.1)))
def return_early(x):
    y = 0.5
    for i in range(len(x)):
        y = y * x[i] + x[i] ** 2
        if x[i] > 1.0:
            return y * 3
    return np.sin(y)


@program(case(real(4, 5)), case(real(1, 1), dtypes=ONLY64), case(real(3, 3, low=-0.3)), compiled=True)
def nested_jumps(a):
    """break, continue and return in nested loops."""
    s = 1.0
    for i in range(a.shape[0]):
        t = 0.0
        for j in range(a.shape[1]):
            if j > i + 2:
                break
            if a[i, j] < -0.5:
                continue
            t += a[i, j] * s
            if t > 1.5:
                return s * t
        s = s * np.cos(t) + t
    return s


@program(case(0.9, 1.3), case(0.2, 0.3))
def while_with_everything(x, y):
    n = 0
    while True:
        n += 1
        x = np.sin(x) + 0.1 * y
        if n == 2:
            continue
        y = y * 0.8 + x * x
        if y < 0.4:
            return x * y
        if n > 6 or x < 0.05:
            break
    return x - y * n


@program(case(real(5)), case(values(0.5, 0.25, 0.1)))
def while_two_conditions(x):
    i = 0
    s = 0.0
    while i < len(x) and s < 0.6:
        s += x[i] ** 2
        i += 1
    return s * i + s**2


@program(case(real(6)))
def while_counting_down(x):
    i = len(x)
    p = 1.0
    while i > 0:
        i -= 1
        p = p * (1 + 0.3 * x[i]) + x[i] * i
    return p


@program(case(positive(5)), case(values(1.0, 0.0, 2.0, 3.0)))
def product(x):
    p = 1.0
    for xi in x:
        p *= xi
    return p


@program(case(0.8, 5), case(number(0.8), 7))
def fibonacci_like(x, n):
    a, b = x, 1.0
    for _ in range(n):
        a, b = b, a * x + b
    return a * b


@program(case(real(3), 4), case(real(3), 0))
def rebound_array(x, n):
    for k in range(n):
        x = x + 0.1 * np.sin(x) * k
    return x


@program(case(real(3), real(3), 5), case(real(3), real(3), 2))
def arrays_that_trade_places(x, y, n):
    for _ in range(n):
        x, y = y, x * 0.5 + np.cos(y)
    return x * y


@program(case(real(4)))
def last_index_survives(x):
    for i in range(len(x)):
        y = x[i] * i
    return y * i + x[i]


@program(case(0.7), case(number(0.7)))
def type_that_widens(x):
    """`total` enters the loop as an int and leaves it as a float."""
    total = 0
    for i in range(4):
        total = total + x * i
    return total


@program(case(positive(3, 3)))
def triangle(a):
    s = 0.0
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            s += a[i, j] * a[j, i]
        for j in range(i, n):
            s *= 1 + 0.1 * a[i, j]
    return s


@program(case(real(4)))
def comprehensions(x):
    a = np.array([xi * xi for xi in x])
    b = np.stack([x * i for i in range(3)])
    c = np.sum([np.sin(x[i]) for i in range(len(x))])
    d = np.array([x[i] + j * x[j] for i in range(2) for j in range(3)])
    e = sum([xi for xi in x])
    return a.sum() * c + (b**2).sum() + (d * d).sum() + e**3


@program(case(0.7), case(number(0.7)))
def powers_by_comprehension(x):
    return np.stack([x**i for i in range(6)]).reshape(3, 2)


@program(case(0.7, 1.1))
def list_literals(x, y):
    a = np.array([x, y, x * y, 1.0])
    b = np.array([[x, 0.0], [y, x * x]])
    return a.sum() * (b @ b).sum() + np.sum([x, y]) + max([x, y]) * min([x, y, 2.0])


@program(case(0.8, 6), case(0.8, 0))
def branch_carried(x, n):
    y = x
    for i in range(n):
        if i % 2 == 0:
            y = y * x
        else:
            y = np.exp(-y) + x
    return y


@program(case(1.7, 40, dtypes=ONLY64))
def many_iterations(x, n):
    """The logistic map below chaos."""
    y = 0.3
    for _ in range(n):
        y = x * y * (1 - y)
    return y


@program(case(real(6), integers(2, 0, 3, 1)))
def varying_trip_counts(x, counts):
    s = 0.2
    for n in counts:
        for j in range(n):
            s = np.sin(s * x[j]) + x[j + n]
    return s


@program(case(real(3, 2, 4)), case(real(0, 2, 4)), case(real(3, 0, 4)))
def three_deep(a):
    s = 0.0
    for i in range(a.shape[0]):
        p = 1.0
        for j in range(a.shape[1]):
            q = 0.5
            for k in range(a.shape[2]):
                q = q * a[i, j, k] + np.sin(q)
            p = p * q + q
        s = s + p * p
    return s


@program(case(positive(4)))
def running_maximum(x):
    best = x[0]
    total = 0.0
    for i in range(1, len(x)):
        if x[i] * x[i] > best:
            best = x[i] * x[i]
        total += best
    return total * best


@program(case(0.6, 3))
def while_inside_for(x, n):
    s = 0.0
    for i in range(n):
        y = x * (i + 1)
        while y > 0.3:
            y = y * y * 0.45
        s += np.sqrt(y)
    return s


@program(case(real(3), real(3)), case(real(5), real(5)))
def for_else_free_search(x, y):
    """The first index where y exceeds x, and what stands there."""
    found = -1
    for i in range(len(x)):
        if y[i] > x[i]:
            found = i
            break
    return x[found] * y[found] ** 2


@program(case(real(3), 4), case(real(3), 0))
def array_arithmetic_while(x, n):
    """What is kept goes on stacks, in loops of ours whose order can't be seen otherwise."""
    y = x * 1.0
    while n > 0:
        z = np.sin(y)
        y = y * z
        y = np.cos(y) * z + y * y
        n -= 1
    return y


@program(case(real(2, 3), real(3)))
def downwards_inside_while(a, y):
    """Independent loops that go down, whose values are on a stack."""
    n = 0
    while n < 2:
        n += 1
        for _ in range(a.shape[0]):
            for p in range(a.shape[0] - 1, -1, -1):
                y += np.exp(-np.square(a[p]))
    return np.sum(np.sin(y))


@program(case(real(6), real(3)), case(real(8), real(3)))
def goes_round_twice(x, w):
    """A negative index is another name of an element: what is written here is overwritten later."""
    n = len(w)
    y = np.zeros(n)
    for j in range(2 * n):
        y[j - n] = x[j] * x[j]
    total = 0.0
    for j in range(n):
        total += y[j] * w[j]
    return total


@program(case(real(6), -2), case(real(6), 0))
def starts_below_zero(x, low):
    y = np.ones(4)
    for i in range(low, 4):
        y[i] = y[i] * x[i + 2]
    return y


@program(case(real(6)))
def scratch_that_goes_round(x):
    """What an iteration finds in its scratch was left there by another one."""
    scratch = np.zeros(3)
    total = 0.0
    for j in range(6):
        total += scratch[j - 3] * x[j]
        scratch[j - 3] = x[j] * x[j]
    return total


@program(case(real(5)), compiled=True)
def shifted_round(x):
    """As many iterations as elements: each has its own, for all that one index is negative."""
    n = len(x)
    y = np.zeros(n)
    for i in range(n):
        y[i - 1] = x[i] * x[i]
    return y


@program(case(real(4), integers(0, -1, -2, -3)), case(real(4), integers(0, 1, 0, -1)))
def places_that_meet(x, move):
    """Where an iteration writes is not told by its index alone."""
    y = np.zeros(6)
    for j in range(4):
        k = move[j]
        y[j + k] = x[j] * x[j]
    return y


# ---- nests whose loops may change places (see tests/test_interchange.py), and some whose loops may not


@program(case(real(6, 7), real(3, 2)), case(real(3, 9), real(3, 9)), compiled=True)
def slide_a_window(image, kernel):
    n, m = image.shape
    p, q = kernel.shape
    out = np.zeros((n - p + 1, m - q + 1))
    for i in range(n - p + 1):
        for j in range(m - q + 1):
            for a in range(p):
                for b in range(q):
                    out[i, j] += image[i + a, j + b] * kernel[a, b]
    return out


@program(case(real(3, 5), real(5, 4)), case(real(3, 0), real(0, 4)), compiled=True)
def rows_by_columns(x, y):
    out = np.zeros((x.shape[0], y.shape[1]))
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            for k in range(x.shape[1]):
                out[i, j] += x[i, k] * y[k, j]
    return out


@program(case(real(4, 5)), case(real(4, 0)), case(real(0, 3)))
def down_each_column(x):
    s = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            s[j] += np.sin(x[i, j])
    return s


@program(case(real(4, 5)))
def column_of_products(x):
    """Set on the way to the innermost loop."""
    s = np.ones(x.shape[1])
    for j in range(x.shape[1]):
        scale = 2.0 * x[0, j]
        for i in range(x.shape[0]):
            s[j] = s[j] * x[i, j] + scale
    return s


@program(case(real(4, 5), real(5)))
def one_sum_down_columns(x, w):
    """The sum has one order; its sweep has none."""
    s = 0.0
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            s += x[i, j] * w[j] * x[i, j]
    return s


@program(case(real(5, 5)))
def along_a_diagonal(x):
    """What is read was written in the iteration before, in the row below."""
    y = x * 1.0
    for j in range(1, x.shape[1]):
        for i in range(x.shape[0] - 1):
            y[i, j] = y[i + 1, j - 1] * np.cos(x[i, j])
    return y


@program(case(real(4, 4)))
def below_the_diagonal(x):
    s = np.zeros(x.shape[0])
    for j in range(x.shape[1]):
        for i in range(j, x.shape[0]):
            s[j] += x[i, j] * x[i, j]
    return s


@program(case(real(4, 5)), case(real(1, 1)))
def last_above_zero(x):
    """Which iteration is the last to set the variable depends on which loop is inside."""
    last = 0.0
    y = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            y[j] += x[i, j]
            if x[i, j] > 0.0:
                last = x[i, j] * x[i, j]
    return y * last


@program(case(real(4, 5), integers(0, 1, 0, 1, 0)), case(real(4, 5), integers(2, 2, 2, 2, 2)))
def columns_that_meet(x, to):
    """Two columns may write one element: the later one is what stays."""
    y = np.ones((4, 3))
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            y[i, to[j]] = y[i, to[j]] * x[i, j] + x[i, j]
    return y


@program(case(real(4, 3)))
def columns_round_twice(x):
    """y[i, -1] is y[i, 2]."""
    y = np.ones((4, 3))
    for j in range(6):
        for i in range(4):
            y[i, j - 3] = y[i, j - 3] * x[i, j % 3] + x[i, j - 3]
    return y


@program(case(real(3, 4)))
def bound_set_inside(x):
    y = np.zeros(x.shape[1])
    m = 1
    for j in range(x.shape[1]):
        for i in range(m):
            y[j] += x[i, j] * x[i, j]
            m = min(m + 1, 3)
    return y


@program(case(real(3, 4)))
def row_that_grows(x):
    """Elements are added to while others are read from the same row."""
    y = x * 1.0
    for j in range(1, x.shape[1]):
        for i in range(x.shape[0]):
            y[0, j] += y[i, j - 1] * x[i, j]
    return y


@program(case(real(7), number(0.7), 90), case(real(7), number(0.7), 0), compiled=True)
def keeps_of_all_kinds(w, x, n):
    """More than fits at first, of several dtypes, kept in the loop and in its branches."""
    k, place, y, total = 0, 0, x, 0.0
    while k < n:
        place = (place * 3 + k) % 7
        z = np.sin(y * w[place]) + 0.5
        if z > 0.6:
            y = y * z * np.cos(z)
            total += y * y
        else:
            y = np.sqrt(1.0 + y * y) * z
        k += 1 + place % 2
    return total + y


# ---- indices that are looked up, more than once in an iteration


@program(
    case(real(4), real(5), integers(0, 2, 1, 2, -1), integers(0, 2, 2, 5)),
    case(real(4), real(5), integers(0, 0, 0, 0, 0), integers(0, 0, 5, 5)),
    compiled=True,
)
def sparse_rows(x, values, columns, starts):
    y = np.zeros(starts.size - 1)
    for i in range(starts.size - 1):
        for p in range(starts[i], starts[i + 1]):
            y[i] += values[p] * x[columns[p]]
    return y


@program(case(real(4), integers(1, 2, 3, 0)))
def table_that_changes(x, to):
    """The second lookup finds what the first statement has left there."""
    y = np.zeros(4)
    for i in range(4):
        y[to[i]] += x[to[i]] * x[i]
        to[i] = (to[i] + 1) % 4
        y[to[i]] += x[to[i]] * x[to[i]]
    return y


@program(case(real(4), integers(1, 2, 3, 0, 2)))
def place_that_moves(x, to):
    y = np.zeros(4)
    for i in range(4):
        k = i
        y[to[k]] += x[to[k]] * x[i]
        k += 1
        y[to[k]] += x[to[k]] * x[to[k]]
    return y


@program(case(real(4), integers(1, 2, 3)))
def lookup_that_may_not_happen(x, to):
    """to[i] is asked for where it is there, and only there."""
    y = np.zeros(4)
    for i in range(4):
        y[i] += x[to[i]] * x[to[i]] if i < 3 else x[i]
        y[i] += x[to[i]] * x[i] if i < 3 else 0.0
    return y


@program(case(real(4), integers(2, 0, 3, 1)))
def table_of_tables(x, to):
    """A table that is looked up in itself, and written by what it says."""
    y = np.ones(4)
    for i in range(4):
        y[to[to[i]]] *= x[to[to[i]]] + x[to[i]]
        to[to[i]] = i
    return y


@program(case(real(6), positive(6)), case(real(1), positive(1)), compiled=True)
def sines_and_cosines_under_names(x, y):
    """The slope of one is the other, but only of the same angle; angles are overwritten, and set in branches."""
    out = np.zeros(x.size)
    angle = 0.3
    for i in range(x.size):
        c = np.cos(angle)
        angle = angle + x[i] * y[i]
        s = np.sin(angle)
        if y[i] > 0.5:
            d = np.cos(angle)
            angle = angle * 0.5
        else:
            d = np.cosh(angle)
        e = np.sin(angle) / y[i]
        out[i] = s * c + d * e / (2.0 + s)
    return out


@program(case(real(5), real(5)))
def adding_powers(x, y):
    """The share of each in the sum, twice, and the sum itself once more: few exponentials."""
    total = -2.0
    out = np.zeros(x.size)
    for i in range(x.size):
        total = np.logaddexp(total, x[i])
        out[i] = np.logaddexp(x[i], y[i]) * np.logaddexp2(y[i], x[i]) + total
        x[i] = x[i] * np.exp(y[i])
        out[i] += x[i] * np.exp(y[i])
        total = total * 0.5
    return out


@program(case(values(-1.0, -2.0, 1.0), values(0.5, 0.0, 1.0), dtypes=ONLY64))
def turned_until(x, w):
    """The test reads what the iteration has left, through a view of what it began with."""
    i = 0
    while x @ w > 0 and i < 4:
        x = x[::-1]
        i = i + 1
    return x * i


@program(case(real(3), real(1), 2), case(real(1), real(1), 2), case(real(3), real(3), 0), compiled=True)
def rebound_to_what_stretches(x, b, n):
    """The length of b + x is that of x, if not that of b."""
    y = x * 1.0
    for _ in range(n):
        y = np.sin(b + x) * y
    return y


@program(case(real(4), 3), case(real(4), 1), case(real(4), 0))
def reads_what_the_last_iteration_bound(x, n):
    s = np.sum(x)
    for k in range(n):
        if k > 0:
            s += last * k + np.sum(row)  # noqa: F821
        last = x[k] ** 2  # noqa: F841
        row = x * x[k]  # noqa: F841
    return s


@program(case(real(4), 3), case(real(4), 0))
def reads_what_the_loop_around_binds(x, n):
    s = np.sum(x)
    for i in range(n):
        for j in range(i):
            s += x[j] * (last if j > 0 or i > 0 else 1.0)  # noqa: F821
        last = x[i] * 2  # noqa: F841
    return s


@program(case(real(4), 3), case(real(4), 1))
def tuple_of_the_last_iteration(x, n):
    s = np.sum(x)
    for k in range(n):
        if k > 0:
            number, (row, twice) = found  # noqa: F821
            s += number * np.sum(row) + twice
        found = x[k], (x * x[k], 2 * k)
    return s * found[0] + np.sum(found[1][0])


@program(case(real(3), real(7)), case(real(2), real(0)), compiled=True)
def recursive_filter(a, x):
    """Each output reads the few before it: of what they were then, these few are kept."""
    y = np.zeros(len(x))
    for n in range(len(x)):
        acc = x[n]
        for k in range(len(a)):
            if n > k:
                acc += a[k] * y[n - 1 - k]
        y[n] = np.sin(acc)
    return y


@program(case(real(9), real(5), integers(0, 2, 3, 5, 7, 9), integers(1, 4, 2, 0, 3, 4, 0, 1, 3), 2))
def sweeps_over_compressed_rows(data, b, starts, columns, sweeps):
    x = np.zeros(b.size)
    for _ in range(sweeps):
        for i in range(b.size):
            s = b[i]
            for p in range(starts[i], starts[i + 1]):
                s -= data[p] * x[columns[p]] * x[i]
            x[i] = s / 4.0
    return x
