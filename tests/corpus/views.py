"""Views: other names for the same memory."""

import numpy as np

from .registry import case, number, program, real


@program(case(real(3, 4)), case(real(3, 4, layout="F")), case(real(3, 4, layout="reverse")), compiled=True)
def row_view(a):
    b = a * 2
    for i in range(b.shape[0]):
        w = b[i]
        for j in range(b.shape[1]):
            w[j] += a[i, j] ** 2
            w[j] *= w[0]
    return b


@program(case(real(6)))
def slice_view(x):
    y = x.copy()
    middle = y[1:-1]
    middle *= x[:4]
    evens = y[::2]
    evens[1] = evens[0] * middle[2]
    backwards = y[::-1]
    backwards[0] += y[0] * 3
    return y


@program(case(real(3, 4)))
def view_of_a_view(a):
    b = a.copy()
    c = b[1:]
    d = c[:, 1:3]
    e = d[0]
    e[1] = e[0] * c[1, 3]
    d *= 2
    return b * b


@program(case(real(3, 4)), case(real(3, 4, layout="F")))
def transposed_view(a):
    b = a * 1.0
    t = b.T
    t[1] = t[0] * t[2]
    t[:, 0] *= 3
    t += 1
    return b * t.T


@program(case(real(2, 6)))
def reshaped_view(a):
    b = a * 1.0
    flat = b.reshape(-1)
    flat[3] = flat[2] * flat[4]
    cube = b.reshape(3, 2, 2)
    cube[1] *= cube[0]
    r = b.ravel()
    r[-1] = r[0] ** 2
    return b


@program(case(real(2, 6)))
def reshape_of_a_transpose_copies(a):
    b = a * 1.0
    c = b.T.reshape(3, 4)
    c[0] = 0.0
    d = b.T.ravel()
    d *= 2
    return b * b + d.sum() * c.sum()


@program(case(real(3, 4)))
def base_written_under_a_view(a):
    b = a.copy()
    v = b[1]
    b[1] = b[0] * 2
    s = (v * v).sum()
    b[1, 2] = s
    return v * s + b[2]


@program(case(real(4, 4)))
def view_chosen_by_a_loop(a):
    b = a.copy()
    for i in range(1, 4):
        above = b[i - 1]
        here = b[i]
        here[:] = here * above + above[::-1]
    return b


@program(case(real(4)), case(real(4, layout="F")))
def result_is_a_view(x):
    return x[1:3], x[::-1]


@program(case(real(3, 4)), case(real(3, 4, layout="F")))
def result_is_a_transpose(a):
    return a.T


@program(case(real(2, 3)))
def results_share_memory(a):
    b = a * 2
    return b[0], b[:, 1], b


@program(case(real(2, 3)), writes=("a",))
def writes_through_a_view(a):
    w = a[1]
    w *= a[0]
    a.T[2] += 1
    w[0] = w[1] * w[2]


@program(case(real(5), 2), case(real(5), 0))
def view_at_a_run_time_offset(x, k):
    y = x * x
    w = y[k : k + 3]
    w[1] *= w[0]
    w += x[:3]
    return y


@program(case(real(4, 3)))
def column_view(a):
    b = a * 1.0
    for j in range(3):
        c = b[:, j]
        c /= 1 + (c * c).sum()
    return b


@program(case(real(3, 4)), case(real(3, 4, layout="F")))
def iterate_and_write_rows(a):
    b = a * 1.0
    for row in b:
        row *= row[0]
        row[1] = row[2] ** 2
    return b


@program(case(real(6)))
def view_survives_rebinding(x):
    y = x * 2
    w = y[:3]
    y = y * w.sum()
    w[0] = 9.0
    return y[:3] + w


@program(case(real(4), real(4)))
def view_swapped_with_its_base(x, y):
    a = x * 1.0
    b = y * 1.0
    for _ in range(3):
        head = a[:2]
        head *= b[2:]
        a, b = b, a
    return a * b


@program(case(real(4)), case(number(0.3)))
def zero_dimensional(x):
    y = np.zeros(())
    y[()] = (x * 2.0).sum()
    z = y * y
    return z + y[()]


@program(case(real(4)))
def added_axes_write_through(x):
    y = x * 1.0
    w = y[:, None]
    w[1, 0] = w[0, 0] * w[2, 0]
    w *= 2
    return y


@program(case(real(2, 3, 4)))
def block_views(a):
    b = a * 1.0
    c = b[1]
    d = c[..., 2]
    d[:] = c[:, 0] * c[:, 1]
    e = b[:, 1, :]
    e[0] += e[1] ** 2
    f = b.transpose(2, 0, 1)[0]
    f *= 3
    return b
