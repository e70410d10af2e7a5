"""What programs for a GPU call, as far as it can be checked without one, nor in Numba's simulator."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from corpus import PROGRAMS as CORPUS
from support import from_text

import srcgrad.cuda
from srcgrad import ArgumentError, OptionError, UnsupportedError, grad
from srcgrad.errors import DeviceError

HERE = Path(__file__).parent
REFUSED = runpy.run_path(str(HERE / "cuda" / "cuda_refused.py"))["REFUSED"]
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"

try:
    import numba_cuda  # noqa: F401

    COMPILES = not SIMULATED
except ImportError:
    COMPILES = False

compiles = pytest.mark.skipif(not COMPILES, reason="needs numba-cuda")


@pytest.mark.parametrize("script", ["library", "arrays", "streams"])
def test_in_the_simulator(script):
    """Numba decides when it is imported whether it simulates: so this is another process."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    path = HERE / "simulated" / f"{script}.py"
    done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------------------- PTX


@grad(target="cuda")
def wave(x, w):
    h = np.sin(x @ w)
    return (h * h).sum(axis=1)


@grad(target="cuda")
def until(c, most):
    out = np.empty(c.size)
    for i in range(c.size):
        z, k = 0.0, 0
        while abs(z) < 2.0 and k < most:
            z = z * z + c[i]
            k += 1
        out[i] = z
    return out


@grad(target="cuda")
def smoothed(u, rate):
    for sweep in range(5):
        u[1:-1] += rate * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@grad(target="cuda")
def extremes(x, k):
    y = np.max(x) * x if np.any(x > 0.5) and np.all(k < 9) else np.min(x) * x
    return np.max(k) * y * (np.max(k.astype(np.int8)) + np.max(k > 1))


PROGRAMS = [
    (extremes, (np.ones(3), np.arange(3))),
    (wave, (np.ones((3, 4)), np.ones((4, 2)))),
    (until, (np.ones(3), 4)),
    (smoothed, (np.ones(5), 0.1)),
]


@compiles
@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f, args", PROGRAMS, ids=lambda f: getattr(f, "__name__", ""))
def test_every_kernel_compiles_without_a_gpu(f, args, dtype, cc):
    args = [arg.astype(dtype) if isinstance(arg, np.ndarray) else arg for arg in args]
    found = f.ptx(*args, cc=cc)
    assert list(found) == re.findall(r"^@kernel.*\ndef (\w+)", f.source(*args), re.M)
    for name, text in found.items():
        assert f".target sm_{cc[0]}{cc[1]}" in text and ".visible .entry" in text and name in text
        assert "Error" not in text and ".extern .func" not in text


@grad(target="cuda")
def without_means(x):
    return x - x.mean(axis=1, keepdims=True)


@compiles
def test_loops_of_a_warp_are_unrolled():
    """NVVM does that to loops whose index does not wrap around."""
    assert without_means.ptx(np.ones((3, 4)), kind="primal")["without_means_i_rows"].count("ld.global") > 20


@compiles
@pytest.mark.parametrize("program", CORPUS[::24], ids=lambda program: program.name)
def test_kernels_of_the_corpus_compile(program):
    """Some of it; the simulator runs all of it, but has no types."""
    case = program.cases[0]
    dtype = next(dtype for dtype in (np.dtype(np.float32), np.dtype(np.float64)) if dtype in case.dtypes)
    args, keywords = program.arguments(0, dtype)
    f = grad(program.function, wrt=case.wrt, target="cuda", **program.options)
    try:
        found = f.ptx(*args, kind="value_and_backward", **keywords)
    except UnsupportedError:
        assert program.name in REFUSED
        return
    assert all(".visible .entry" in text for text in found.values())


@compiles
def test_types_stand_for_arguments():
    from numba import float32, float64, int64

    def texts(*args, **kwargs):
        return [re.sub(r"_[0-9a-f]{24}\w*|\b\w*NumbaEnv\w*", "", text) for text in until.ptx(*args, **kwargs).values()]

    assert texts(float64[::1], int64) == texts(np.ones(3), 4)
    assert texts(float32[::1], int64) != texts(np.ones(3), 4)
    assert list(until.ptx(np.ones(3), 4, kind="primal")) == ["until_i"]


@compiles
def test_kernels_of_the_runtime_compile(monkeypatch):
    from numba import cuda
    from numba.cuda.typing.typeof import Purpose, typeof

    from srcgrad.runtime.device_arrays import handle
    from srcgrad.runtime.gpu import device_kernels

    def compiles(code, grid, block):
        def compile_for(*args):
            types = tuple(typeof(arg, Purpose.argument) for arg in args)
            text, _ = cuda.compile_ptx(code.py_func, types, cc=(9, 0))
            done.append(text)

        return compile_for

    def array(*shape, dtype=np.float32, turned=False):
        dtype = np.dtype(dtype)
        strides = np.empty(shape[::-1] if turned else shape, dtype).strides
        return handle(None, 4096, shape, strides[::-1] if turned else strides, dtype)

    done = []
    kernels = device_kernels
    monkeypatch.setattr(kernels, "on_grid", compiles)
    stack, other, row, pivots = array(2, 3, 3), array(2, 3, 3), array(2), array(2, 3, dtype=np.int32)
    kernels.set_number(array(1), 2.0)
    kernels.set_range(array(3, dtype=np.int64), 1 << 40, 72)
    kernels.copy_elements(stack, array(2, 3, 3, turned=True))
    kernels.copy_elements(array(), array())
    kernels.add_over_stretched(array(2, 1, 3), stack)
    kernels.add_over_stretched(array(1, 1), array(3, 4))
    kernels.add_scaled(stack, other, -1.0)
    kernels.keep_lower(stack, other, 0.5)
    kernels.add_triangle(stack, other, -1.0, True, 1)
    kernels.add_turned(stack, other, row, row, True)
    kernels.add_to_lower(stack, other)
    kernels.mirror_lower(stack, other)
    kernels.set_identity(stack)
    kernels.note_zeros(array(2, dtype=np.int32), stack)
    kernels.determinants(row, stack, pivots)
    kernels.logarithms_of_determinants(row, row, stack, pivots)
    monkeypatch.setattr(kernels, "empty", lambda shape, dtype: array(*shape, dtype=dtype))
    kernels.set_positions(array(7, dtype=np.int64), array(40, dtype=np.bool_))
    for right in (False, True):
        kernels.search(array(7, dtype=np.int64), array(40), array(7, dtype=np.float64), right)
    assert len(done) == 21


def test_only_a_function_for_a_gpu_has_ptx():
    with pytest.raises(OptionError, match="target"):
        grad(lambda x: x * x).ptx(1.0)


@compiles
def test_options_reach_the_compiler():
    def f(x):
        return np.sum(np.exp(x) / x)

    strict, fast = (grad(f, target="cuda", fastmath=on).ptx(np.ones(3, np.float32)) for on in (False, True))
    assert "div.approx.ftz.f32" in fast["f_backward_i"]
    assert "div.rn.f32" in strict["f_backward_i"]


# --------------------------------------------------------------------------------------------------------- library


@pytest.mark.parametrize(
    "body",
    ["np.linalg.svd(x)[1]", "np.linalg.eigh(x)[0]", "np.linalg.qr(x)[1]", "np.sort(x, axis=0)", "np.fft.rfft(x).real"],
)
def test_routines_that_no_device_has_are_refused(body, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(f"import numpy as np\n\ndef f(x):\n    return np.sum({body})\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(UnsupportedError, match="GPU") as caught:
        grad(names["f"], target="cuda").source(np.ones((3, 3)))
    assert caught.value.span.line == 4


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("primal", "return z.sum(axis=0)"),
        ("primal", "return z.sum()"),
        ("primal", "return 1j * z"),
        ("backward", "return z[0][[0, 0, 1]]"),
        ("backward", "return np.tile(z, 2)"),
    ],
)
def test_what_would_compute_with_complex_numbers_is_refused(kind, line):
    """Sums too, which have no operation to be seen by: Numba's own words were what came of them."""
    f = grad(from_text(f"import numpy as np\n\n\ndef f(z):\n    {line}\n", "f"), target="cuda")
    with pytest.raises(UnsupportedError, match="complex numbers do not run on a GPU yet") as caught:
        f.source(np.ones((4, 3), complex), kind=kind)
    assert line in str(caught.value)


def test_what_is_missing_is_named(monkeypatch):
    from srcgrad.runtime.gpu import device_blas

    monkeypatch.setitem(sys.modules, "nvmath.bindings", None)
    device_blas.bindings.cache_clear()
    with pytest.raises(DeviceError, match="nvmath-python.*\n.*pip install 'srcgrad"):
        device_blas.bindings()


# ---------------------------------------------------------------------------------------------------------- memory


class Memory:
    """In the place of CUDA's pool, of so many bytes."""

    def __init__(self, size=1 << 62):
        self.asked, self.given_back, self.held, self.left = [], [], {}, size

    def allocate(self, size, stream):
        from numba.cuda.cudadrv.driver import binding

        if size > self.left:
            return SimpleNamespace(name="OUT_OF_MEMORY"), None
        self.left -= size
        self.asked.append((size, stream))
        place = 4096 * len(self.asked)
        self.held[place] = size
        return 0, binding.CUdeviceptr(place)

    def free(self, place, stream):
        self.left += self.held.pop(int(place))
        self.given_back.append((int(place), stream))


@pytest.fixture
def memory(monkeypatch):
    from srcgrad.runtime.gpu import device_blocks, device_call, device_memory, launching

    memory, ours = Memory(), device_memory.Pool()
    driver = SimpleNamespace(cuMemAllocAsync=memory.allocate, cuMemFreeAsync=memory.free, CUstream="stream {}".format)
    for module in (launching, device_blocks):
        monkeypatch.setattr(module, "driver", lambda: driver)
    monkeypatch.setattr(device_memory, "pool", ours)
    monkeypatch.setattr(device_call.running, "pointer", 77)
    ours.prepared[0] = None
    return memory


@compiles
def test_memory_is_held_as_long_as_anybody_has_a_part_of_it(memory, monkeypatch):
    from srcgrad.runtime.device_arrays import address, subscript, transposed
    from srcgrad.runtime.gpu.device_call import running
    from srcgrad.runtime.gpu.device_memory import empty

    x = empty((4, 3), np.float64)
    assert (x.shape, x.strides, address(x)) == ((4, 3), (24, 8), 4096)
    monkeypatch.setattr(running, "pointer", 78)
    y = empty((5,), np.float32)
    assert memory.asked == [(96, "stream 77"), (20, "stream 78")]
    row, turned = subscript(x, 2), transposed(x, (1, 0))
    assert address(row) == 4096 + 48 and turned.strides == (8, 24)
    part = subscript(turned, (1, 2), (3, 2, -2))
    assert address(part) == 4096 + 8 + 72 and part.strides == (8, -48)
    del x, row, turned
    assert not memory.given_back
    del y
    assert memory.given_back == [(8192, "stream 78")]
    del part
    assert memory.given_back == [(8192, "stream 78"), (4096, "stream 77")]
    memory.left = 39
    with pytest.raises(MemoryError, match="40 bytes of a GPU: OUT_OF_MEMORY"):
        empty((5,), np.float64)


@compiles
def test_memory_of_a_default_stream_is_kept_at_hand(memory, monkeypatch):
    from srcgrad.runtime.device_arrays import address
    from srcgrad.runtime.gpu import device_blocks
    from srcgrad.runtime.gpu.device_call import running
    from srcgrad.runtime.gpu.device_memory import empty

    monkeypatch.setattr(running, "pointer", 0)
    x = empty((4, 3), np.float64)
    where = address(x)
    del x
    assert not memory.given_back and memory.asked == [(96, "stream 0")]
    kept = [empty((12,), np.float64), empty((12,), np.float64)]
    assert address(kept[0]) == where != address(kept[1])
    for device, pointer in ((0, 1), (1, 0)):  # neither on another stream, nor on another device
        monkeypatch.setattr(running, "pointer", pointer)
        monkeypatch.setattr(running, "device", device)
        monkeypatch.setattr("srcgrad.runtime.gpu.device_memory.pool.prepared", {0: None, 1: None})
        assert address(empty((12,), np.float64)) not in map(address, kept)
    monkeypatch.setattr(running, "pointer", 0)
    monkeypatch.setattr(running, "device", 0)
    many = [empty((12,), np.float64) for _ in range(device_blocks.MOST_PLACES + 2)]
    del many
    assert len(memory.given_back) == 2
    large = empty((device_blocks.MOST_BYTES // 2 + 1,), np.int8), empty((device_blocks.MOST_BYTES // 2 + 1,), np.int8)
    del large
    assert len(memory.given_back) == 3  # one of the two
    del kept
    assert len(memory.given_back) == 5
    for size in range(device_blocks.MOST_TOGETHER // device_blocks.MOST_BYTES + 1):
        empty((device_blocks.MOST_BYTES - size,), np.int8)
    assert len(memory.given_back) > 5  # other sizes are what is needed now


def test_a_default_stream_of_each_thread_is_none_that_all_have():
    from srcgrad.runtime.gpu.device_blocks import PER_THREAD, default_streams

    assert default_streams({}) == default_streams({PER_THREAD: "0"}) == (0, 1)
    assert default_streams({PER_THREAD: "1"}) == (1,)


@compiles
def test_where_memory_is_short_what_is_kept_at_hand_is_given_back(memory, monkeypatch):
    from srcgrad.runtime.gpu.device_call import running
    from srcgrad.runtime.gpu.device_memory import empty

    monkeypatch.setattr(running, "pointer", 0)
    memory.left = 100
    x, y = empty((30,), np.int8), empty((30,), np.int8)
    del x
    z = empty((60,), np.int8)
    assert memory.left == 10 and len(memory.given_back) == 1
    del y
    with pytest.raises(MemoryError, match="80 bytes"):
        empty((80,), np.int8)
    del z
    assert memory.left == 100


# ------------------------------------------------------------------------------------------------- several devices


class OnDevice:
    """An array of a library that has DLPack."""

    def __init__(self, number):
        self.number = number

    def __dlpack_device__(self):
        return 2, self.number


def test_an_array_on_another_gpu_is_refused(monkeypatch):
    from srcgrad.arguments import refuse_other_device
    from srcgrad.runtime import device_arrays

    monkeypatch.setattr(device_arrays, "current_device", lambda: 0)
    monkeypatch.setattr(device_arrays, "device_count", lambda: 1)
    refuse_other_device(OnDevice(1), "x")  # (is not even asked)
    monkeypatch.setattr(device_arrays, "device_count", lambda: 2)
    refuse_other_device(OnDevice(0), "x")
    with pytest.raises(ArgumentError, match="argument x lies on GPU 1, and GPU 0 is the current one"):
        refuse_other_device(OnDevice(1), "x")
    with pytest.raises(ArgumentError, match=r"argument w\[1\] lies on GPU 1"):
        grad(lambda w: w[0] * w[1], target="cuda")((1.0, OnDevice(1)))


# --------------------------------------------------------------------------------------------------------- streams


class OfCupy:
    ptr = 11


class OfTorch:
    cuda_stream = 12


class OfCudaCore:
    def __cuda_stream__(self):
        return 0, 13


class OfNumba:
    class handle:
        value = None


@pytest.mark.parametrize(
    "stream, address", [(OfCupy(), 11), (OfTorch(), 12), (OfCudaCore(), 13), (OfNumba(), 0), (7, 7)]
)
def test_streams_of_all_libraries(stream, address):
    from srcgrad.runtime.gpu.device_streams import pointer_of

    assert pointer_of(stream) == address


def test_a_stream_is_for_its_block(monkeypatch):
    from numba import cuda

    from srcgrad.runtime.gpu.device_call import running

    monkeypatch.setattr(cuda, "external_stream", lambda pointer: f"stream {pointer}", raising=False)
    with srcgrad.cuda.stream(OfTorch()):
        assert (running.stream, running.pointer) == ("stream 12", 12)
        with srcgrad.cuda.stream(0):
            assert (running.stream, running.pointer) == (0, 0)
        with pytest.raises(ArgumentError, match="a str, not a CUDA stream"), srcgrad.cuda.stream("7"):
            pass
        assert running.pointer == 12
    assert (running.stream, running.pointer, running.keeper) == (0, 0, None)


class Stream:
    """In the place of Numba's; `done` is what was asked of all of them."""

    def __init__(self, address, done):
        self.address, self.done = address, done

    def __cuda_stream__(self):
        return 0, self.address

    def synchronize(self):
        self.done.append(("synchronize", self.address))


class Event:
    def __init__(self, done):
        self.done = done

    def record(self, stream):
        self.done.append(("record", stream and stream.address))

    def wait(self, stream):
        self.done.append(("wait", stream and stream.address))


class Made:
    """An array that was made on a stream, and is copied on any."""

    def __init__(self, stream):
        self.stream = stream

    def copy_to_host(self, stream):
        return np.array([stream and stream.address])


@compiles
def test_arrays_of_other_streams_are_waited_for_and_kept_waiting(monkeypatch):
    from numba import cuda

    from srcgrad.runtime.gpu import device_streams
    from srcgrad.runtime.gpu.device_call import running

    done = []
    ours, theirs = Stream(70, done), Stream(80, done)
    monkeypatch.setattr(cuda, "event", lambda timing: Event(done))

    def order(stream, *values):
        done.clear()
        running.stream, running.pointer = stream, stream and stream.address
        others = device_streams.other_streams(values)
        device_streams.wait_for(others)
        device_streams.let_wait(others)
        running.stream = running.pointer = 0
        return list(done)

    there_and_back = [("record", 80), ("wait", 70), ("record", 70), ("wait", 80)]
    assert order(ours, Made(theirs), 2.0, Made(ours), Made(Stream(80, done))) == there_and_back
    assert order(ours, Made(0)) == [("record", 0), ("wait", 70), ("record", 70), ("wait", 0)]
    assert order(0, Made(theirs)) == [("record", 80), ("wait", 0), ("record", 0), ("wait", 80)]
    assert (
        order(ours, Made(ours), Made(Stream(70, done))) == order(0, Made(0), 1) == order(0, Made(Stream(1, done))) == []
    )


@compiles
def test_what_the_host_reads_is_there(monkeypatch):
    from srcgrad.runtime.device import fetch
    from srcgrad.runtime.gpu.device_call import running

    done = []
    assert fetch(Made(None)) == 0 and not done
    monkeypatch.setattr(running, "stream", Stream(70, done))
    monkeypatch.setattr(running, "pointer", 70)
    assert fetch(Made(None)) == 70
    assert done == [("synchronize", 70)]


def test_importing_streams_does_not_import_cuda():
    """Nor what takes long to import and few use."""
    code = "import sys, srcgrad.cuda; sys.exit(any(name in sys.modules for name in ('numba.cuda', 'scipy.integrate')))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


# ----------------------------------------------------------------------------------------------------- what is stored


def test_an_element_is_stored_once_and_memory_is_not_cleared_first():
    def weighed(x, w):
        return np.sum(np.tanh(x) * w + x * x * w)

    def rough(u):
        return np.sum((u[2:] - 2 * u[1:-1] + u[:-2]) ** 2)

    for f, args, names in ((weighed, (np.ones(3), np.ones(3)), ("x_b", "w_b")), (rough, (np.ones(5),), ("u_b",))):
        text = grad(f, target="cuda").source(*args)
        assert "zeros(" not in text and "atomic" not in text
        for name in names:
            assert text.count(f"{name}[i]") == text.count(f"{name}[i] = ") >= 1


def test_what_is_read_in_between_is_the_number_that_was_stored():
    from srcgrad.ir import affine
    from srcgrad.ir.expressions import FLOAT64, INT64, Array, Dim, Load, Var
    from srcgrad.ir.nodes import AddTo, Alloc, Assign, For, Store
    from srcgrad.passes.gpu.store_once import _Stores

    n, i, j, g = Dim("x", 0), Var("i", INT64), Var("j", INT64), Var("g", FLOAT64)
    x, a, b = (Array(name, FLOAT64, (n,)) for name in "xab")
    at = lambda array, index=i: Load(array, (index,), checked=False)
    store = lambda array, value, index=i: Store(array, (index,), value, checked=False)

    def after(*body):

        names = SimpleNamespace(fresh=lambda name: name)
        whole = (Alloc(a, (n,)), Alloc(b, (n,)), For(i, affine.ZERO, n, affine.ONE, body))
        function = SimpleNamespace(body=whole, info=SimpleNamespace(names=names))
        return _Stores(function).block(whole, False)[-1].body

    now = Var("a_now", FLOAT64)
    assert after(store(a, g), store(b, at(a)), AddTo(at(a), g)) == (
        Assign(now, g), store(b, now), AddTo(now, g), store(a, now),
    )  # fmt: skip
    same = (
        (store(a, g), store(b, at(a, j)), AddTo(at(a), g)),  # another element of the same memory is read in between
        (store(a, g), Assign(i, j), AddTo(at(a), g)),  # the index changes
        (AddTo(at(a), g), store(b, at(a)), AddTo(at(a), g)),  # the sum so far is read, and is not known
        (store(x, g), AddTo(at(x), g)),  # an argument: somebody else may have a part of it
        (store(a, g), store(a, g, j), AddTo(at(a), g)),  # perhaps the same element
    )
    for body in same:
        assert after(*body) == body
