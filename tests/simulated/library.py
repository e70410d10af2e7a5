"""Run in Numba's simulator: the routines of a device, with SciPy in the place of cuBLAS and cuSOLVER."""

import itertools
import sys
from pathlib import Path

import numpy as np
from numba import cuda

from srcgrad import runtime
from srcgrad.rules.device import LIBRARY
from srcgrad.runtime import device_library
from srcgrad.runtime.device import check_watched
from srcgrad.runtime.device_arrays import transposed
from srcgrad.runtime.gpu import device_blas
from srcgrad.runtime.gpu.device_call import running

sys.path.append(str(Path(__file__).parent.parent))
from virtual_gpu.library import Library  # noqa: E402

library = Library()
device_blas.bindings = lambda: (library, library)
random = np.random.default_rng(0)


def same(name, arrays, written, *numbers, tolerance=1e-9):
    """Does a routine of the device make what the one of the host makes?"""
    expected = [a.copy() for a in arrays]
    getattr(runtime, name)(*expected, *numbers)
    given = [cuda.to_device(a) for a in arrays]
    device_library.ROUTINES[name](*given, *numbers)
    check_watched()
    for k, (array, want) in enumerate(zip(given, expected)):
        if k < written:
            got = array.copy_to_host()
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=f"{name}, argument {k}")


def real(*shape, dtype=np.float64):
    return random.normal(size=shape).astype(dtype)


def products():
    for turn_x, turn_y, add in itertools.product((0, 1), (0, 1), ("", "add_")):
        name = f"{add}matmul" + {(0, 0): "", (0, 1): "_nt", (1, 0): "_tn", (1, 1): "_tt"}[turn_x, turn_y]
        for m, n, k in ((3, 4, 5), (1, 4, 2), (3, 1, 1), (2, 3, 0), (0, 2, 2)):
            x, y = ((k, m) if turn_x else (m, k)), ((n, k) if turn_y else (k, n))
            same(name, [real(m, n), real(*x), real(*y)], 1)
            for p, q, r in ((2, 2, 2), (2, 1, 2), (2, 2, 1), (1, 2, 2), (1, 1, 2), (1, 1, 1)):
                same(name, [real(p, m, n), real(q, *x), real(r, *y)], 1)
        arrays = [real(3, 4, dtype=np.float32), *(real(5, 5, dtype=np.float32) for _ in range(2))]
        arrays[1:] = (arrays[1][: (5 if turn_x else 3), : (3 if turn_x else 5)].copy(), arrays[2][:4, :5].copy())
        arrays[2] = arrays[2] if turn_y else arrays[2].T.copy()
        same(name, arrays, 1, tolerance=1e-5)
    for name in ("matvec", "add_matvec"):
        same(name, [real(3), real(3, 4), real(4)], 1)
        same(f"{name}_t", [real(4), real(3, 4), real(3)], 1)
        same(name, [real(3), real(3, 0), real(0)], 1)
    for name in ("outer", "add_outer"):
        same(name, [real(3, 4), real(3), real(4)], 1)


def strided_products():
    """Parts of larger arrays are taken as they are where one of their axes is contiguous, or else are copied."""
    whole = real(8, 9)
    for x_of, y_of in itertools.product(
        (lambda a: a[1:4, 2:7], lambda a: a[2:7, 1:4].T, lambda a: a[1:4, ::2]), repeat=2
    ):
        x, y = x_of(whole), y_of(whole[::-1].copy()).T
        out = cuda.device_array((3, 3))
        device_library.ROUTINES["matmul"](out, x_of_device(x), x_of_device(y))
        np.testing.assert_allclose(out.copy_to_host(), x @ y)
        out = cuda.to_device(np.ones((6, 7)))
        part = type(out)(out._ary[1:4, 1:6:2])
        device_library.ROUTINES["add_matmul"](part, x_of_device(x), x_of_device(y))
        np.testing.assert_allclose(part._ary, 1 + x @ y)
        turned = transposed(cuda.to_device(np.ones((3, 3))), (1, 0))
        device_library.ROUTINES["matmul"](turned, x_of_device(x), x_of_device(y))
        np.testing.assert_allclose(turned._ary, x @ y)


def x_of_device(view):
    """A device array on the memory of a view."""
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    return FakeCUDAArray(view)


def square(*shape):
    a = real(*shape)
    return a + 4 * np.eye(shape[-1])


def definite(*shape):
    a = square(*shape)
    return a @ np.swapaxes(a, -1, -2)


def solves():
    for ahead, n, width in itertools.product(((), (3,), (2, 2)), (1, 4), (1, 3)):
        a, b = square(*ahead, n, n), real(*ahead, n, width)
        pivots = np.zeros((*ahead, n), np.intc)
        made = [np.zeros_like(b), np.zeros_like(a), pivots, a, b]
        same("solve", made, 3)
        runtime.solve(*made)
        x, lu, pivots = made[:3]
        x_b = real(*ahead, n, width)
        same("solve_to_right", [real(*ahead, n, width), lu, pivots, x_b], 1)
        same("solve_to_matrix", [real(*ahead, n, n), lu, pivots, x, x_b], 1)
        same("solve_adjoint", [real(*ahead, n, n), real(*ahead, n, width), lu, pivots, x, x_b], 2)
        same("solve_again_to_right", [real(*ahead, n, width), a, x_b], 1)
        same("solve_again_to_matrix", [real(*ahead, n, n), a, x, x_b], 1)
        same("solve_again_adjoint", [real(*ahead, n, n), real(*ahead, n, width), a, x, x_b], 2)
        for lower, turned, unit in itertools.product((False, True), repeat=3):
            same("solve_triangular", [np.zeros_like(b), a, b], 1, lower, turned, unit)
            same("triangular_to_right", [real(*ahead, n, width), a, x_b], 1, lower, turned, unit)
            same("triangular_to_matrix", [real(*ahead, n, n), a, x, x_b], 1, lower, turned, unit)
            shares = [real(*ahead, n, n), real(*ahead, n, width)]
            same("triangular_adjoint", [*shares, a, x, x_b], 2, lower, turned, unit)


def factors():
    for ahead in ((), (3,), (2, 2)):
        a, n = square(*ahead, 4, 4), 4
        one = ahead or (1,)
        out_b = real(*ahead, n, n)
        same("inv", [np.zeros_like(a), a], 1)
        same("inv_adjoint", [real(*ahead, n, n), np.linalg.inv(a), out_b], 1)
        det, sign = np.linalg.det(a).reshape(one), np.linalg.slogdet(-a)[0]
        same("det", [np.zeros(one), a], 1)
        same("slogdet", [np.zeros(one), np.zeros(one), a[..., ::-1, :].copy()], 2)
        same("det_adjoint", [real(*ahead, n, n), a, det, real(*one)], 1)
        same("slogdet_adjoint", [real(*ahead, n, n), -a, sign.reshape(one), real(*one)], 1)
        s = definite(*ahead, n, n)
        same("cholesky", [np.zeros_like(s), s], 1)
        same("cholesky_adjoint", [real(*ahead, n, n), np.linalg.cholesky(s), out_b], 1)
        same("mirror", [np.zeros_like(a), a], 1)
        same("mirror_adjoint", [real(*ahead, n, n), out_b], 1)


def failures():
    """What a routine reports is raised when the call is over."""
    singular = np.ones((2, 2))
    zeros = np.zeros((2, 1))
    for name, arrays, numbers in (
        ("solve", [zeros, np.zeros((2, 2)), np.zeros(2, np.intc), singular, zeros], ()),
        ("inv", [np.zeros((2, 2)), singular], ()),
        ("cholesky", [np.zeros((2, 2)), -singular], ()),
        ("solve_triangular", [zeros, np.diag([1.0, 0.0]), zeros], (True, False, False)),
    ):
        device_library.ROUTINES[name](*(cuda.to_device(a) for a in arrays), *numbers)
        assert running.watched
        try:
            check_watched()
        except np.linalg.LinAlgError:
            pass
        else:
            raise AssertionError(name)
        assert not running.watched
    for name, sizes in (("det_adjoint", np.zeros(1)), ("slogdet_adjoint", np.zeros(1))):
        a_b = cuda.to_device(np.zeros((2, 2)))
        device_library.ROUTINES[name](a_b, *(cuda.to_device(a) for a in (singular, sizes, np.ones(1))))
        assert np.isnan(a_b.copy_to_host()).all()


def masks():
    for shape in ((0,), (1,), (300,), (7, 40)):
        for share in (0.0, 0.3, 1.0):
            mask = random.uniform(size=shape) < share
            same("find_nonzero", [np.zeros(mask.sum(), np.int64), mask], 1)


def searches():
    table = np.sort(np.round(real(9) * 2) / 2)
    for ordered in (table, np.append(table, [np.nan, np.nan]), table[:0], table[::-1][::-1], table.astype(np.float32)):
        for x in (np.round(real(3, 7) * 2) / 2, np.array([np.nan, -9.0, 9.0]), np.zeros(0), np.array(0.5)):
            for name in ("search_left", "search_right"):
                same(name, [np.zeros(x.shape, np.int64), ordered, x], 1)


assert set(LIBRARY) == set(device_library.ROUTINES)
with np.errstate(all="ignore"):
    products()
    strided_products()
    solves()
    factors()
    failures()
    masks()
    searches()
