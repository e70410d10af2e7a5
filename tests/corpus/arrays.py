"""Whole-array programs: broadcasting, reductions, products, indexing, creation, shape."""

import numpy as np

from .registry import ONLY64, case, integers, number, positive, program, real, values

WEIGHTS = np.array([0.5, -1.5, 2.0])


@program(
    case(real(3, 4), real(4)),
    case(real(3, 4), real(3, 1)),
    case(real(3, 1), real(4)),
    case(real(3, 4), real(1, 1)),
    case(real(1, 4), real(3, 4)),
    case(real(2, 3, 4), real(3, 1)),
    case(real(4), real(2, 3, 4)),
    case(real(2, 1, 4), real(3, 1)),
    case(real(1), real(5)),
    case(real(), real(2, 3)),
    case(real(3, 4), 0.3),
    case(number(0.4), real(2, 2)),
    case(real(0, 4), real(4)),
    case(real(1, 4), real(0, 4)),
    case(real(3, 4, layout="F"), real(4, layout="reverse")),
    case(real(3, 4, layout="step"), real(3, 1, layout="step")),
    compiled=True,
)
def broadcast(x, y):
    return x * y + np.sin(x) / (2.0 + y * y)


@program(
    case(real(2, 1, 3), real(4, 1), real(3)),
    case(real(1, 1, 1), real(4, 2), real(2)),
    case(real(3), real(3), real(3, 3)),
)
def three_way_broadcast(a, b, c):
    return a * b + b * c - np.exp(a * c)


@program(case(real(5), real(4)), case(real(5), real(5)), case(real(0), real(4)))
def new_axes(x, y):
    return x[:, None] * y[None, :] + (x[:, np.newaxis] - y) ** 2


@program(
    case(real(3, 4)), case(real(3, 4, layout="F")), case(real(1, 1)), case(real(3, 4, layout="reverse")), compiled=True
)
def sums(x):
    a = x.sum() * np.sum(x * x)
    return a + np.sum(x, axis=0).sum() ** 2 + (x.sum(1) ** 2).sum() + (x.sum(axis=-1, keepdims=True) * x).sum()


@program(case(real(2, 3, 4)), case(real(2, 3, 4, layout="F")), case(real(2, 0, 4)))
def sums_over_axes(x):
    a = x.sum(axis=(0, 2))
    b = np.sum(x, (1, -1), keepdims=True)
    c = np.sum(x, axis=None)
    d = x.sum((0, 1, 2))
    e = np.sum(x, axis=None, keepdims=True)
    return (a * a).sum() + (b * x).sum() + c * d + (e * x * x).sum()


@program(case(real(2, 3, 4)), case(real(2, 3, 4, layout="step")))
def means(x):
    a = x.mean(axis=0)
    b = np.mean(x, axis=(1, 2), keepdims=True)
    return ((x - a) ** 2).mean() * x.mean() + (b * x).mean(axis=-1)


@program(case(real(3, 4)), case(real(3, 4, layout="F")))
def extremes(x):
    a = x.max() * np.min(x) + np.max(x, axis=0).sum() ** 2
    b = x.min(axis=1, keepdims=True) * x + np.amax(x, axis=-1, keepdims=True)
    return a * b


@program(case(real(2, 3, 4)))
def extremes_over_axes(x):
    return np.max(x, axis=(0, 2)) * x.min(axis=(0, -1)), x.max(axis=(1, 2), keepdims=True)


@program(case(real(3, 4)), case(values(2.0, 0.0, 3.0)), case(values(0.0, 0.0, 3.0)))
def products(x):
    return x.prod() + np.prod(x, axis=0).sum() + np.prod(x, axis=-1, keepdims=True).sum() ** 2


@program(case(real(3, 4)))
def product_over_axes(x):
    return np.prod(x, axis=(0, 1)) + x.prod(0)


@program(case(real(3), real(3)), case(real(3, layout="reverse"), real(3, layout="step")), case(real(0), real(0)))
def dots(x, y):
    return np.dot(x, y) + (x @ y) * x.dot(y) + np.matmul(x, y) + np.inner(x, y) + np.vdot(x, y)


@program(
    case(real(3, 4), real(4)),
    case(real(3, 4, layout="F"), real(4)),
    case(real(3, 4, layout="step"), real(4, layout="reverse")),
)
def matrix_vector(a, x):
    y = a @ x
    return np.dot(a, x) * y + np.matmul(y, a).sum() + np.dot(y, a).sum() + a.dot(x)


@program(
    case(real(3, 4), real(4, 2)),
    case(real(3, 4, layout="F"), real(4, 2, layout="F")),
    case(real(3, 4, layout="reverse"), real(4, 2, layout="step")),
    case(real(3, 0), real(0, 2)),
    case(real(0, 3), real(3, 2)),
    case(real(1, 1), real(1, 1)),
    compiled=True,
)
def matrix_matrix(a, b):
    c = a @ b
    return np.dot(a, b) * c + np.matmul(a, b) + (c.T @ a).sum() + (a.T @ a).sum() + (b @ b.T).sum()


@program(case(real(3, 3)), case(real(3, 3, layout="F")))
def matrix_with_itself(a):
    return a @ a + a.T @ a - a @ a.T


@program(case(real(3), real(4)), case(real(2, 2), real(3)))
def outer_products(x, y):
    return np.outer(x, y) * np.outer(x, y) + np.outer(x * 2, y)


@program(case(positive(4)), case(real(4)))
def vector_norms(x):
    a = np.linalg.norm(x) + np.linalg.norm(x, 1) * np.linalg.norm(x, 2)
    return a * np.linalg.norm(x, np.inf) + np.linalg.norm(x, ord=3)


@program(case(real(3, 4)), case(real(3, 4, layout="F")))
def matrix_norms(a):
    b = np.linalg.norm(a) * np.linalg.norm(a, "fro") + np.linalg.norm(a, axis=0).sum()
    c = np.linalg.norm(a, axis=1, keepdims=True) * a + np.linalg.norm(a, ord=1, axis=-1).sum()
    return b * c + np.linalg.norm(a, np.inf, axis=0)


@program(case(real(6)), case(real(7, layout="reverse")), case(real(6, layout="step")))
def vector_slices(x):
    a = x[1:-1] * 2 + x[:-2] - x[2:]
    b = x[::2].sum() * x[::-1][0] + x[-1] * x[-2]
    c = x[4:0:-1] * x[1:5]
    return a.sum() * b + (c**2).sum() + x[-3:].sum() + x[10:].sum() + x[:-100].sum() + x[5:2].sum() + x[-4::-2].sum()


@program(case(real(4, 5)), case(real(4, 5, layout="F")), case(real(4, 5, layout="reverse")))
def matrix_slices(a):
    b = a[1] * a[-1] + a[2, :]
    c = a[:, 0] * a[:, -2]
    d = a[1:3, ::2] ** 2
    e = a[..., 1] + a[...][:, 2]
    return b.sum() * c.sum() + d.sum() + (e * c).sum() + a[1, 2] * a[-1, -1] + a[::-1, ::-2].sum() * a[0][3]


@program(case(real(2, 3, 4)))
def block_slices(a):
    b = a[0, ..., 1].sum() * a[..., 0] + a[1, 2].sum() + a[:, None, 1, :].sum()
    return b.sum() + a[:, 0, :] * a[:, 1:2].sum(axis=1) + a[-1, 1:, ::3].sum()


@program(case(real(6), 2, 5, 1), case(real(6), 5, 0, -2), case(real(6), 3, 3, 1), case(real(6), -4, -1, 2))
def slices_at_run_time(x, start, stop, step):
    y = x[start:stop:step]
    return (y * y).sum() + x[start] * 2 + len(y) * x[0]


@program(
    case(real(5), integers(0, 3, 3, 1, -1)), case(real(5), integers(2, dtype=np.int32)), case(real(5), np.zeros(0, int))
)
def gather(x, index):
    y = x[index]
    return y * y + x[0]


@program(case(real(4, 3), integers(0, 2, 2)), case(real(4, 3, layout="F"), integers(3, 1)))
def gather_rows(a, index):
    return a[index] * 2 + a[index, 0][:, None] * a[:, index - 1][0, 0]


@program(case(real(4, 3), integers(0, 2, 2, 3), integers(1, 1, 1, 0)))
def gather_pairs(a, i, j):
    return a[i, j] ** 2 * np.arange(4) + a[i, 1]


@program(case(real(5), np.array([[0, 1], [4, 1]])))
def gather_matrix(x, index):
    return x[index] ** 2


@program(case(real(6)), case(real(2, 3)), case(real(0)))
def read_through_a_mask(x):
    y = x[x > 0]
    return (y**3).sum() + x[x < 5].sum() * y.sum()


@program(case(real(3), real(3)))
def stacking(x, y):
    a = np.stack((x, y * 2))
    b = np.stack([x, y, x * y], axis=1)
    c = np.concatenate((x, y, x * y))
    d = np.concatenate([a, b.T], axis=0)
    return (a**2).sum() * (d @ x).sum() + c[1:-1].prod() + np.stack((x, y), -1)[0] @ np.stack((x[0], y[1]))


@program(case(real(2, 3), real(2, 2)), case(real(2, 3, layout="F"), real(2, 0)))
def concatenate_columns(a, b):
    return np.concatenate((a, b, a * 2), axis=1) ** 2


@program(case(real(2, 6)), case(real(2, 6, layout="F")), case(real(3, 4, layout="step")))
def reshaping(a):
    b = a.reshape(3, 4) * 2
    c = np.reshape(a, (4, -1)) ** 2
    return (b.T @ b).sum() + c.ravel()[5] * a.reshape(-1)[2] + np.ravel(a).sum() * a.reshape((2, 2, 3))[1].sum()


@program(case(real(2, 3, 4)), case(real(2, 3, 4, layout="F")))
def transposing(a):
    b = a.transpose(2, 0, 1)
    c = np.transpose(a, (1, 0, 2))
    d = a.T * 2
    return (b[1] ** 2).sum() * (c[0] * c[1]).sum() + (d * a.transpose()).sum() + a.transpose((0, 2, 1))[0]


@program(case(real(3, 4)))
def casting(x):
    a = x.astype(np.float64) * 2
    b = x.astype(np.float32).astype(x.dtype)
    k = (x * 3).astype(np.int64)
    return a.sum() * x + k * x + (b * 0.0)


@program(case(real(4), 4), case(number(0.6), 3))
def creation(x, n):
    a = np.zeros(n) + x
    b = np.ones((n, 2)) * np.full(2, 1.5)
    c = np.arange(n) * 0.5 + np.linspace(0.0, 1.0, n) * x
    d = np.eye(n)
    e = np.arange(1.0, 2.0, 0.25)[0] + np.arange(1, n)[0]
    return (a * c).sum() + (b.sum(0) * 2).sum() * a + (d @ a) * e + np.linspace(0, 1, 5).sum() + np.identity(2).sum()


@program(case(real(3, 2)), case(real(3, 2, layout="F")))
def creation_like(x):
    a = np.zeros_like(x) + x
    b = np.ones_like(x) * 2 + np.full_like(x, 0.5)
    c = np.empty_like(x)
    c[:] = x * b
    d = np.empty((2, 3), dtype=x.dtype)
    d[...] = c.T
    return a * c + d.T + np.zeros(x.shape, x.dtype) + np.ones(x.shape, np.float32)


@program(case(0.3, 1.8), case(number(0.3), number(1.8)))
def active_creation(a, b):
    """full and linspace of active numbers."""
    x = np.linspace(a, b, 5)
    y = np.full((2, 3), a * b)
    return (x**2).sum() * y + np.array([a, b, a * b]).sum() + np.full(3, b)


@program(case(real(2, 3)), case(real(4)))
def shapes_as_numbers(x):
    n = x.shape[0]
    m = x.shape[-1] * x.size
    return x * n + m * x.ndim + len(x) * x**2 + np.shape(x)[0] + np.size(x)


@program(case(real(3)))
def global_array(x):
    return (x * WEIGHTS).sum() * x @ WEIGHTS


@program(case(real(4, 3), real(3)), case(real(1, 3), real(3)))
def softmax_rows(x, w):
    z = x * w
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(case(real(5)))
def log_sum_exp(x):
    m = x.max()
    return m + np.log(np.sum(np.exp(x - m)))


@program(case(real(6, 3)), case(real(6, 3, layout="F")), compiled=True)
def standardise(x):
    mu = x.mean(axis=0)
    sigma = np.sqrt(((x - mu) ** 2).mean(axis=0) + 0.1)
    return (x - mu) / sigma


@program(case(real(5, 2), real(4, 2)))
def pairwise_distances(x, y):
    d = x[:, None, :] - y[None, :, :]
    return np.sqrt((d * d).sum(axis=-1) + 0.01)


@program(case(real(3), positive(3)), case(real(2, 3), positive(3)))
def one_fused_loop(x, s):
    mu = x.mean()
    return np.sum((x - mu) ** 2 / s)


@program(case(real(4, 1), real(1, 5)), case(real(4, 1), real(1, 1)), case(real(1, 1), real(1, 5)))
def grid(x, y):
    r = np.sqrt(x * x + y * y + 1)
    return np.sin(r) / r * (x + y)


@program(case(real(3, 3), real(3)))
def quadratic_form(a, x):
    return x @ a @ x + x.T @ (a @ x)


@program(case(integers(1, 2, 3), real(3)))
def integer_matrix_product(k, x):
    return k @ x * x + np.dot(x, k) + np.outer(k, x).sum(0)


@program(case(real(3, 4), real(3, 4)))
def comparisons_as_numbers(x, y):
    m = x > y
    return m * x + (~m) * y + (x <= y).astype(x.dtype) * x * y


@program(case(real(2, 3, 4)), case(real(2, 1, 4)))
def sizes_one(x):
    """An axis that is 1 only at run time."""
    return x * x[:, :1] + x[:1] * x.sum(axis=1, keepdims=True)


@program(case(real(1), real(3)), case(real(3), real(1)), case(real(3), real(3)))
def either_may_be_one(x, y):
    z = x * y
    z = z + x
    return z * y + x.sum()


@program(case(real(4), dtypes=ONLY64))
def mixed_precision(x):
    y = x.astype(np.float32) * np.float32(2.0)
    return y.astype(np.float64) * 0.0 + x


@program(case(real(5)))
def argument_of_the_maximum(x):
    """Integers found from active numbers carry no derivative themselves."""
    i = np.argmax(x)
    j = x.argmin()
    return x[i] ** 2 * x[j]


@program(case(real(6)))
def differences_of_neighbours(x):
    return (x[1:] - x[:-1]) ** 2 / (1 + x[:-1] ** 2)


@program(case(real(4, 4)))
def diagonal_by_indices(a):
    i = np.arange(4)
    return a[i, i] * a[i, 3 - i]
