"""Lists of slices with bounds that are known at run time only: windows, patches, lag matrices; and what joins them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import assert_close

from srcgrad import RuntimeShapeError, UnsupportedError, grad
from srcgrad.testing import check_grad

X = np.array([0.5, 1.2, 1.7, 0.3, 0.9])
M = X[:, None] * X[1:] + 1.0


def windows(x, k):
    return np.stack([x[i : i + k] for i in range(len(x) - k + 1)])


def windows_grown(x, k):
    out = []
    for i in range(len(x) - k + 1):
        out.append(x[i : i + k])
    return np.array(out)


def rows_apart(m):
    return np.concatenate([m[i : i + 1] for i in range(m.shape[0])]) * m


def lags(x, k):
    n = len(x)
    return np.column_stack([x[k - j - 1 : n - j - 1] for j in range(k)])


def lags_grown(x, k):
    n, out = len(x), []
    for j in range(k):
        out.append(x[k - j - 1 : n - j - 1])
    return np.column_stack(out)


def blocks(x, k):
    return np.stack([x[i * k : (i + 1) * k] for i in range(len(x) // k)])


def every_other(x, k):
    return np.stack([x[i : i + k] for i in range(0, len(x) - k + 1, 2)])


def downwards(x, k):
    return np.stack([x[i : i + k] ** 2 for i in range(len(x) - k, -1, -1)])


def from_the_end(x, k):
    return np.stack([x[-k + i : len(x) - k + i + 2] for i in range(k - 1)])


def convolved(x, w):
    n = len(x) - len(w) + 1
    return sum(w[i] * x[i : i + n] for i in range(len(w)))


def patches(m, k):
    rows, columns = m.shape[0] - k + 1, m.shape[1] - k + 1
    return np.stack([m[i : i + k, j : j + k].ravel() for i in range(rows) for j in range(columns)])


SLICED = [
    *((f, (X, k)) for f in (windows, windows_grown, lags, lags_grown, blocks, every_other, downwards) for k in (1, 2)),
    (from_the_end, (X, 3)),
    (convolved, (X, X[:2])),
    (rows_apart, (M,)),
    (patches, (M, 2)),
]


@pytest.mark.parametrize("function, arguments", SLICED)
def test_slices_in_a_list(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_grad(grad(function, jit=False), *arguments)


@pytest.mark.parametrize("function", [windows, windows_grown, lags])
def test_slices_in_a_list_compiled(function: Callable[..., Any]) -> None:
    f = grad(function)
    for k in (2, 3, 5, 1):
        assert_close(f(X, k), function(X, k), 1e-14, f"windows of {k}")
        check_grad(f, X, k)


def ragged(m):
    return np.concatenate([row[row > 0] for row in m])


def longer_and_longer(x):
    return sum([np.sum(part) for part in [x[: i + 1] for i in range(len(x))]])


@pytest.mark.parametrize("function, argument", [(ragged, M), (longer_and_longer, X)])
def test_items_that_differ_are_refused(function: Callable[..., Any], argument: np.ndarray) -> None:
    with pytest.raises(UnsupportedError, match="may differ in shape"):
        grad(function, jit=False)(argument)


def cut_short(x, k):
    return np.stack([x[i : i + k] for i in range(len(x))])


def cut_short_grown(x, k):
    out = []
    for i in range(len(x)):
        out.append(x[i : i + k])
    return np.stack(out)


@pytest.mark.parametrize("function", [cut_short, cut_short_grown])
@pytest.mark.parametrize("jit", [False, True])
def test_items_that_turn_out_to_differ(function: Callable[..., Any], jit: bool) -> None:
    f = grad(function, jit=jit)
    check_grad(f, X, 1)
    with pytest.raises(RuntimeShapeError, match="the items of this list have lengths 2 and 1"):
        f(X, 2)


def view_of_windows(x, k):
    return np.lib.stride_tricks.sliding_window_view(x, k) @ np.arange(1.0, k + 1)


def along_an_axis(m, k):
    return np.lib.stride_tricks.sliding_window_view(m, k, axis=1) ** 2


def along_both(m, k):
    return np.lib.stride_tricks.sliding_window_view(m, (k, 3)).sum((2, 3)) ** 2


def along_named_axes(m, k):
    windows = np.lib.stride_tricks.sliding_window_view(m, (k, 3), axis=(1, 0))
    return windows * windows[0, 0]


def twice_along_one(x, k):
    return np.lib.stride_tricks.sliding_window_view(x, (k, 2), axis=(0, 0)) ** 2


VIEWS = [(view_of_windows, X), (along_an_axis, M), (along_both, M), (along_named_axes, M), (twice_along_one, X)]


@pytest.mark.parametrize("function, argument", VIEWS)
def test_sliding_window_view(function: Callable[..., Any], argument: np.ndarray) -> None:
    f = grad(function, jit=False)
    for k in (1, 2, 3):
        check_grad(f, argument, k)


@pytest.mark.parametrize("jit", [False, True])
def test_windows_that_do_not_fit(jit: bool) -> None:
    f = grad(view_of_windows, jit=jit)
    check_grad(f, X, 5)
    for k, text in ((6, "cannot be larger"), (-1, "negative")):
        with pytest.raises(ValueError, match=text):
            view_of_windows(X, k)
        with pytest.raises(ValueError, match=text):
            f(X, k)


def written_behind_the_windows(x):
    x = x.copy()
    windows = np.lib.stride_tricks.sliding_window_view(x, 2)
    x[0] = 3.0
    return windows * 2.0


def test_windows_of_what_is_written_are_right_or_refused() -> None:
    try:
        check_grad(grad(written_behind_the_windows, jit=False), X)
    except UnsupportedError as problem:
        assert "may or may not be the array" in str(problem)


# ------------------------------------------------------------------------------------------------------- joined


def number(x, i):
    return x[i] * (i + 1.0)


def vector(x, i):
    return x * (i + 1.0)


def matrix(x, i):
    return x[:2] * x[:, None] * (i + 1.0)


def cube(x, i):
    return x[:2] * x[:, None, None] * (i + 1.0) * x[:3, None]


def of_comprehension(join, item):
    return lambda x: join([item(x, i) for i in range(len(x))])


def of_growing_list(join, item):
    def joined(x):
        items = []
        for i in range(len(x)):
            items.append(item(x, i))
        return join(items)

    return joined


@pytest.mark.parametrize("join", [np.vstack, np.hstack, np.dstack, np.column_stack], ids=lambda join: join.__name__)
@pytest.mark.parametrize("item", [number, vector, matrix, cube])
@pytest.mark.parametrize("listed", [of_comprehension, of_growing_list])
def test_lists_of_any_length_are_joined(join: Any, item: Any, listed: Any) -> None:
    check_grad(grad(listed(join, item), jit=False), X)


def along_the_last_axis(x):
    return np.concatenate([matrix(x, i) for i in range(len(x))], axis=-1)


def all_elements(x):
    return np.concatenate([matrix(x, i) for i in range(len(x))], axis=None)


def rows_of_an_array(x):
    return np.vstack(x[:, None] * x) @ x


def turned_rows(x):
    return np.vstack([row[None] for row in (x[:, None] * x[:3]).T]).reshape(-1) * 2.0


def columns_in_order(x):
    return np.column_stack([x[::-1] * i for i in range(len(x))]).ravel()


def as_another_dtype(x):
    return np.hstack([x * i for i in range(len(x))], dtype=np.float32)


JOINED = [along_the_last_axis, all_elements, rows_of_an_array, turned_rows, columns_in_order]


@pytest.mark.parametrize("function", JOINED)
def test_joined_along_axes(function: Callable[..., Any]) -> None:
    check_grad(grad(function, jit=False), X)


def test_joined_as_another_dtype() -> None:
    found = grad(as_another_dtype, jit=False)(X)
    assert found.dtype == np.float32
    assert_close(found, as_another_dtype(X), 1e-6, "joined as float32")


def test_joined_compiled() -> None:
    check_grad(grad(columns_in_order), X)
    check_grad(grad(along_the_last_axis), X)


def positive_ones(x):
    return np.vstack([x * i for i in range(int(np.sum(x > 1.0)))])


def test_nothing_to_join_is_an_error() -> None:
    f = grad(positive_ones, jit=False)
    check_grad(f, X)
    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        f(0.1 * X)
