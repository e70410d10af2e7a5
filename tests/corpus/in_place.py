"""Programs that write their arrays: where other source-transformation tools give silently wrong gradients."""

import numpy as np

from .registry import case, integers, number, positive, program, real, values


@program(case(real(5)), case(real(5, layout="reverse")), case(real(0)), compiled=True)
def element_writes(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] ** 2
        y[i] += x[i]
        y[i] *= np.cos(x[i])
    return y


@program(case(real(4)))
def read_before_overwrite(x):
    y = x.copy()
    y[0] = y[0] * y[1]
    y[1] = np.sin(y[0]) * y[1]
    y[2] = y[2] * y[2] * y[1]
    y[3] = np.exp(y[3] * y[0])
    return y


@program(case(real(4), real(4)), case(number(0.3), number(0.9)))
def multiply_in_place(a, b):
    c = a * 1.0
    c *= b
    c *= c
    c += a
    c *= b
    return c


@program(case(real(4), positive(4)), case(real(2, 3), positive(2, 3)))
def every_augmented_write(x, s):
    y = x.copy()
    y[:] += s
    y -= x * s
    y *= s
    y /= s + 1
    y **= 2
    y[...] *= y
    return y


@program(case(real(4)), case(real(6)))
def slice_writes(x):
    y = np.zeros_like(x)
    y[1:-1] = x[:-2] * x[2:]
    y[0] = x[0]
    y[-1] = x[-1] ** 2
    y[::2] += x[::2]
    y[::-1] *= x
    y[1:3] -= y[2:4]
    y[:2] /= 1 + x[1:3] ** 2
    return y


@program(case(real(3, 4)), case(real(3, 4, layout="F")))
def rows_and_columns(a):
    b = np.empty((3, 4))
    b[:] = a
    b[0] = a[1] * a[2]
    b[:, 1] = a[:, 0] ** 2
    b[1] *= a[0]
    b[:, -1] += b[:, 0]
    b[2, 1:] /= 2 + a[0, 1:]
    b[1:, :2] -= a[:-1, 2:] * 0.5
    return b * a


@program(case(real(5)), case(real(2, 3)), compiled=True)
def masked_writes(x):
    y = x * 2
    y[y < 0] = 0.0
    y[x > 0.5] *= 3
    y[x < -0.5] = x[x < -0.5] ** 2
    y[y > 1] -= 0.5
    return y * x


@program(case(real(5), integers(0, 3, 3, 1)), case(real(5), integers(4, -1)))
def scatter(x, index):
    """`y[index] += …` adds once for each index, as NumPy does; the last of several equal writes stays."""
    y = np.zeros(5)
    y[index] = x[: len(index)] * 2
    y[index] += x[1 : 1 + len(index)]
    y[index] *= 1.5
    return y


@program(case(real(5), integers(0, 3, 3, 1)))
def scatter_one_by_one(x, index):
    y = np.zeros(5)
    for k in range(len(index)):
        y[index[k]] += x[k] ** 2
        y[index[k]] *= 1 + x[k]
    return y


@program(case(real(4, 3), integers(1, 3)))
def scatter_rows(a, index):
    b = a * a
    b[index] = a[:2] * 3
    b[index, 0] *= a[0, 1]
    return b


@program(case(real(5)))
def shift_in_place(x):
    """Overlapping reads and writes of one array."""
    y = x * x
    for i in range(len(y) - 1):
        y[i] = y[i + 1] * x[i]
    for i in range(1, len(y)):
        y[i] = y[i - 1] * y[i] + y[i]
    return y


@program(case(real(5)))
def overlapping_slices(x):
    y = x * 1.0
    y[1:] = y[:-1] * 2
    y[:-1] += y[1:]
    y[:] = y[::-1] * x
    return y


@program(case(real(4)), case(real(3)))
def fill_whole(x):
    out = np.empty(x.shape)
    out[:] = np.sin(x)
    out[...] = out * x
    out[:] = out
    return out


@program(case(real(4), 0.4), case(real(4), number(0.4)))
def scalar_into_slices(x, s):
    y = x.copy()
    y[1:3] = s
    y[0] = s * s
    y[2:] += s
    y[::3] *= s
    return y


@program(case(real(4), real(4)), writes=("out",), compiled=True)
def writes_its_argument(x, out):
    out[:] = np.sin(x) * out


@program(case(real(4), real(4), real(4)), writes=("a", "c"))
def writes_two_arguments(a, b, c):
    c += a * b
    a *= b
    a[0] = c[1] * a[1]


@program(case(real(4), real(4)), writes=("out",))
def overwrites_its_argument(x, out):
    out[:] = x * 2
    for i in range(len(x)):
        out[i] *= x[i]


@program(case(real(4), real(4)))
def returns_and_writes(x, out):
    out *= x
    return (out * out).sum()


@program(case(real(5), real(5)), case(real(4), real(4)), writes=("u",), options={"outputs": ("u",)})
def scratch_argument(u, scratch):
    for i in range(len(u)):
        scratch[i] = u[i] * u[i]
    for i in range(1, len(u)):
        u[i] += scratch[i - 1] * 0.5


@program(case(real(6), 4), case(real(6), 3), case(real(6), 0), case(real(6), 1), compiled=True)
def swapped_buffers(u, steps):
    u = u.copy()
    un = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            un[i] = u[i] + 0.2 * u[i] * (u[i - 1] - 2 * u[i] + u[i + 1])
        un[0] = u[0]
        un[-1] = u[-1] * 0.9
        u, un = un, u
    return u


@program(case(real(6), 3), case(real(6), 4))
def swapped_after_partial_writes(u, steps):
    """Some elements of each buffer keep what they had two steps ago."""
    a = u * 1.0
    b = u * 2.0
    for k in range(steps):
        for i in range(k, len(u)):
            b[i] = a[i] * np.sin(b[i])
        a, b = b, a
    return a * 2 + b


@program(case(real(4), 3))
def rebound_in_a_loop(x, n):
    y = x
    for k in range(n):
        y = y + 0.1 * np.sin(y * x)
        y[k] *= 2
    return y


@program(case(real(3), real(3), real(2, 3)))
def a_copy_that_is_set_to_itself(x, y, a):
    x, y = x.copy(), y.copy()
    x[:] = x
    return x * x + y * y + a


@program(case(positive(3)), case(positive(3, layout="reverse")))
def newton_in_place(a):
    """Square roots by Newton's iteration on an array that is overwritten."""
    x = a.copy()
    for _ in range(5):
        x[:] = 0.5 * (x + a / x)
    return x


@program(case(positive(5)))
def cumulative_product(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] *= y[i - 1]
    return y


@program(case(real(5)))
def cumulative_sum(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1] * y[i]
    return y


@program(case(real(3, 3), real(3)), compiled=True)
def gauss_seidel(a, b):
    n = len(b)
    x = np.zeros(n)
    for _ in range(3):
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= a[i, j] * x[j]
            x[i] = s / (4.0 + a[i, i])
    return x


@program(case(real(4, 4)), case(real(4, 4, layout="F")))
def lu_in_place(a):
    n = a.shape[0]
    lu = a + 5.0 * np.eye(n)
    for k in range(n):
        for i in range(k + 1, n):
            lu[i, k] /= lu[k, k]
            for j in range(k + 1, n):
                lu[i, j] -= lu[i, k] * lu[k, j]
    return lu


@program(case(real(4, 4)))
def lu_by_rows(a):
    n = a.shape[0]
    lu = a + 5.0 * np.eye(n)
    for k in range(n - 1):
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    return lu


@program(case(real(3, 3)), case(real(4, 4, layout="F")))
def cholesky(m):
    n = m.shape[0]
    a = m @ m.T + 2.0 * np.eye(n)
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= c[i, k] * c[j, k]
            if i == j:
                c[i, j] = np.sqrt(s)
            else:
                c[i, j] = s / c[j, j]
    return c


@program(case(real(3, 3)), case(real(2, 2)))
def determinant_by_elimination(m):
    a = m + 3.0 * np.eye(m.shape[0])
    det = 1.0
    for k in range(a.shape[0]):
        det *= a[k, k]
        for i in range(k + 1, a.shape[0]):
            factor = a[i, k] / a[k, k]
            a[i] -= factor * a[k]
    return det


@program(case(real(3, 3), real(3)))
def back_substitution(r, b):
    n = len(b)
    x = b.copy()
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= r[i, j] * x[j]
        x[i] /= 3.0 + r[i, i]
    return x


@program(case(real(4), real(4)))
def overwritten_again_and_again(x, y):
    t = np.zeros(4)
    s = 0.0
    for i in range(4):
        t[:] = x * y[i]
        t[i] = t[i] ** 2
        s += (t * t).sum()
        t[:] = 0.0
    return s + t.sum()


@program(case(real(6)))
def partly_overwritten(x):
    y = np.sin(x)
    y[2:4] = 1.0
    z = y * y
    y[0] = 7.0
    return z * y


@program(case(real(3, 4)))
def accumulate_columns(a):
    s = np.zeros(3)
    for j in range(a.shape[1]):
        s += a[:, j] * s + a[:, j]
    return s


@program(case(values(0.4, -0.2, 0.7)))
def alias_of_one_array(x):
    y = x * 2
    z = y
    z[0] = z[1] * 3
    y[1] += z[0]
    return y * z


@program(case(real(4)))
def copy_is_not_an_alias(x):
    y = x * 2
    z = y.copy()
    z[0] = 5.0
    y *= z
    return y + z


@program(case(real(4)), case(real(1)))
def conditional_writes(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = np.sqrt(x[i])
        else:
            y[i] -= x[i] ** 3
    return y


@program(case(real(5)))
def while_writes(x):
    y = x.copy()
    i = 0
    while i < len(y) - 1:
        y[i + 1] += y[i] * x[i + 1]
        if y[i + 1] > 0.6:
            y[i] *= 0.5
            i += 2
        else:
            y[i] = np.sin(y[i])
            i += 1
    return y


@program(case(real(3, 3)))
def matrix_product_by_hand(a):
    n = a.shape[0]
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += a[i, k] * a[j, k]
    return c


@program(case(real(4, 4)))
def transpose_in_place(a):
    b = a * 1.0
    for i in range(4):
        for j in range(i):
            b[i, j], b[j, i] = b[j, i], b[i, j] * 2
    return b * a


@program(case(real(5)))
def bubble_of_values(x):
    """Compare and swap: the order is the data's, the values carry derivatives."""
    y = x.copy()
    for i in range(len(y)):
        for j in range(len(y) - 1 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return y * np.arange(len(x))


@program(case(real(4)))
def writes_integers_too(x):
    counts = np.zeros(3, dtype=np.int64)
    y = np.zeros(3)
    for i in range(len(x)):
        k = i % 3
        counts[k] += 1
        y[k] += x[i] * counts[k]
    return y / counts


@program(case(real(3), 3), case(number(0.3), 3))
def matrix_filled_row_by_row(x, n):
    out = np.empty((n, 3))
    for i in range(n):
        out[i] = x * (i + 1)
        out[i, 0] = out[i, 1] * out[i, 2]
    return out


@program(case(real(4), 3), case(real(4), 0))
def rebound_argument_with_a_boundary(u, n):
    """The first rebinding makes the array ours; what is written then is never the caller's."""
    for k in range(n):
        u = u + 0.1 * np.sin(u)
        u[0] = 0.0
        u[-1] *= u[1]
    return u


@program(case(real(4), 0.3), case(real(4), -0.3))
def copied_in_a_branch(x, s):
    y = x.copy()
    if s > 0:
        y = y * s
    y[0] = y[1] * s
    return y


@program(case(real(3), 4))
def loop_variable_names_like_ours(x, n):
    """Names that temporaries would like: t, g, n, i."""
    g = x * 2.0
    for t in range(1, n):
        g = g - g / (1 - 0.9**t)
        for i in range(len(x)):
            g[i] = np.exp(g[i] * t) * 0.1
    return g


@program(case(real(3, 4), real(4)))
def swapped_with_a_fresh_array(a, y):
    n = 0
    while n < 2:
        n += 1
        z = np.outer(a[:, 0], y) * 1.0
        a, z = z, a
    return a * z


@program(case(real(3), real(3)), case(values(0.9, 0.2), values(0.8, 0.3)))
def returns_between_swaps(x, y):
    for t in y * 1.0:
        if x[0] * y[-1] < 0.1:
            return t + y[0] * x[1]
        x, y = y, x * 0.5
    return x[0] * y[1]


@program(case(positive(4), positive(4)), case(real(4), real(4)))
def writes_that_read_their_target(x, y):
    """NumPy evaluates the right side before it writes anything."""
    z = x * 1.0
    z[y > 0.1] *= np.cos(z[0])
    z[y > 0.2] = z[0] * z[2]
    z[y < 5] += z[::-1][y < 5]
    z[1:] *= z[1]
    z[::2] = z[2] * z[0]
    z[np.array([0, 1, 1])] *= np.sin(z[1])
    z /= z[0] + 3
    z[:] = z[-1] - z
    return z


@program(case(values(0.3, -0.5, 0.9, 0.2), 2))
def masked_by_an_element_that_changes(x, i):
    x = x.copy()
    x[x > -0.4] = np.arctan(np.exp(-(x[i] ** 2)))
    x[x > 0.3] *= x[i]
    return x * x
