"""Generated source → kernels on a GPU, by numba-cuda, with the host's part as plain Python.

Dispatcher(build)(x, 2.0)  →  x is copied to the device, the host's part runs, results are copied back; or, where x lies
                              on a device already, nothing is copied, and results stay there
"""

from __future__ import annotations

import importlib.metadata
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import config
from numba.core.serialize import dumps

from srcgrad.arguments import leaf_type
from srcgrad.backends import files
from srcgrad.backends.plain import STRONG, flat_results, rebuild
from srcgrad.emit.gpu.kernels import Form
from srcgrad.errors import ArgumentError, DeviceError
from srcgrad.ir.types import ArrayType, ScalarType, TupleType, type_leaves
from srcgrad.runtime.errors import MoreRows
from srcgrad.runtime.gpu.compiled_kernels import compiled_as_kernel
from srcgrad.runtime.gpu.launching import NUMBERS, words_of


def form(ptx: bool = False) -> Form:
    """How kernels are written here: for a device (or as PTX for one), or for Numba's simulator."""
    from srcgrad.runtime import device

    return Form() if ptx or not device.SIMULATED else Form(device.THREADS, device.THREADS, False)


class Dispatcher:
    """A callable of leaves; `build(leaves)` says what to run for types not seen before."""

    def __init__(self, build: Callable[[tuple[Any, ...]], Any], kind: str, options: Any, cache: bool) -> None:
        self._build, self._kind = build, kind
        self._options, self._cache = options, cache
        self._entries: dict[Any, Callable[..., Any]] = {}
        self._lock = RLock()

    def __call__(self, *values: Any) -> Any:
        key = tuple([_key(value) for value in values])
        entry = self._entries.get(key)
        if entry is None:
            with self._lock:
                entry = self._entries.get(key) or self._made(values, key)
        return entry(*values)

    def _made(self, values: tuple[Any, ...], key: Any) -> Callable[..., Any]:
        built = self._build(values)
        if not hasattr(built, "text"):
            return built  # another way to call, found while building
        require_device()
        return self._entries.setdefault(key, Entry(built, self._kind, self._options, self._cache, values))


def _key(value: Any) -> Any:
    """What tells types apart."""
    kind = type(value)
    if kind in NUMBERS and kind is not int:
        return kind
    if getattr(value, "__cuda_ndarray__", False):
        return (value.dtype, value.ndim, value.is_c_contiguous()) if config.ENABLE_CUDASIM else words_of(value)[0]
    return leaf_type(value, "")


def require_device() -> None:
    """One clear error where there is no GPU to run on."""
    from numba import cuda

    if not config.ENABLE_CUDASIM and not cuda.is_available():
        missing = [] if "numba_cuda" in sys.modules else ["install what compiles for it:  pip install 'srcgrad[cuda]'"]
        raise DeviceError(
            'target="cuda" needs an NVIDIA GPU and its driver, and none was found here',
            help=(
                *missing,
                'use target="cpu"',
                "f.ptx(...) compiles without a GPU; NUMBA_ENABLE_CUDASIM=1 runs kernels as Python, slowly",
            ),
        )


class Entry:
    """The entry of a generated module, for arguments of the types of these values, each on the device or not."""

    def __init__(self, generated: Any, kind: str, options: Any, cache: bool, values: tuple[Any, ...]) -> None:
        from srcgrad.runtime import device
        from srcgrad.runtime.gpu import device_call, device_streams, replayed

        self.device, self.streams = device, device_streams  # an import takes longer than what is wanted of it
        self.running = device_call.running
        module = load(generated, options, cache)
        self.host = getattr(module, generated.entry)
        self.on_device = [k for k, value in enumerate(values) if is_on_device(value)]
        self.sent = [k for k, value in enumerate(values) if is_sent(value)]
        if self.on_device:
            self.leave = list(leaving(generated.results, is_forward=kind == "forward"))
            self.result = assembled(generated.results)
        else:
            kinds = [kind for kind in type_leaves(generated.results) if isinstance(kind, (ScalarType, ArrayType))]
            self.leave = [partial(back, kind=kind) for kind in kinds]
            self.result = partial(rebuild, generated.results)
        self.replays = None
        stays = self.on_device and not any(isinstance(value, np.ndarray) for value in values)
        if stays and not device.SIMULATED and replayed.repeats_itself(self.host):
            self.replays = replayed.Replays()
        self.writes = [k for k in generated.writes if k not in self.on_device] if kind == "primal" else []
        self.lock = Lock()  # kernels remember for what they were launched
        self.rows = device_call.FIRST_ROWS  # that its threads keep: more, once one had need of more

    def __call__(self, *values: Any) -> Any:
        others = self.streams.other_streams([values[k] for k in self.on_device])
        if others:
            self.streams.wait_for(others)
        around, self.running.record = self.running.record, None  # of a call during which Python came to make this one
        try:
            results = self.run(values) if self.replays is None else self.replays.results(values, self.run)
        finally:
            self.running.record = around
            if others:
                self.streams.let_wait(others)
        return self.result(iter(results))

    def run(self, values: Sequence[Any]) -> list[Any]:
        """What the host's part makes, where the results belong."""
        given: list[Any] = list(values)
        while True:
            self.device.begin(not self.on_device, self.rows)
            for k in self.sent:
                given[k] = send(values[k])
            try:
                with self.lock, np.errstate(all="ignore"):
                    leaves = list(flat_results(self.host(*given)))
                self.device.check_watched()
                break
            except Exception as error:  # the host may have made it of what a kernel that stopped has left
                earlier = self.device.reported()
                if not isinstance(earlier or error, MoreRows):
                    if earlier is None:
                        raise
                    raise earlier from None
                self.rows = self.running.rows
        for k in self.writes:
            values[k][...] = back(given[k], None)
        return [leave(leaf) for leave, leaf in zip(self.leave, leaves, strict=True)]


def load(generated: Any, options: Any, cache: bool) -> ModuleType:
    """The module, with kernels that know how they are to be compiled."""
    from srcgrad.runtime import device

    module = files.load(generated.entry, files.digest(generated.text), generated.text, generated.globals)
    how = options.fastmath, cache, files.own_sources(), numba.__version__, np.__version__
    for name, _ in generated.facts.kernels:
        kernel = getattr(module, name)
        kernel.fastmath = options.fastmath
        if not device.SIMULATED:
            kernel.key = files.digest(_what_is_compiled(kernel.function), *how)
            kernel.kept = kept_kernels if cache else None
    return module


def _what_is_compiled(function: FunctionType) -> Any:
    """All that a kernel is, but for its name and place: the same one may stand in several modules."""
    code, scope = function.__code__, function.__globals__
    named = [(name, _full_name(scope[name])) for name in code.co_names if name in scope]
    return code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_argcount, named


def _full_name(obj: Any) -> tuple[str, str]:
    return getattr(obj, "__module__", ""), getattr(obj, "__qualname__", repr(obj))


def kept_kernels(key: str) -> Any:
    """Machine code on disk, as for the CPU: nothing is unpickled unless its hash matches."""
    from numba.cuda.core.caching import NullCache
    from numba.cuda.dispatcher import _Kernel

    class CheckedCache(NullCache):
        def load_overload(self, sig: Any, target_context: Any) -> Any:
            target_context.refresh()
            payload = files.read(self.place(sig, target_context.codegen()))
            if payload is None:
                return None
            try:
                return _Kernel._rebuild(**pickle.loads(payload))
            except Exception:  # e.g. from another version of what it was made with: then compile again
                return None

        def save_overload(self, sig: Any, kernel: Any) -> None:
            with suppress(Exception):  # what can't be kept is compiled again
                files.write(self.place(sig, kernel.codegen), dumps(kernel._reduce_states()))

        def place(self, sig: Any, codegen: Any) -> Path:
            made_by = importlib.metadata.version("numba-cuda"), codegen.magic_tuple()
            return files.folder() / f"kernel_{files.digest(key, str(sig), made_by)[:32]}.bin"

    return CheckedCache()


def ptx(generated: Any, cc: tuple[int, int], options: Any) -> dict[str, str]:
    """The PTX of each kernel, by name."""
    if config.ENABLE_CUDASIM:
        raise DeviceError(
            "Numba's simulator compiles nothing: it runs kernels as Python", help=("unset NUMBA_ENABLE_CUDASIM",)
        )
    from numba import cuda

    if "numba_cuda" not in sys.modules:
        raise DeviceError("f.ptx(...) needs numba-cuda, which is not installed", help=("pip install 'srcgrad[cuda]'",))
    module = load(generated, options, cache=False)
    out = {}
    for name, signature in generated.facts.kernels:
        types = eval(signature, vars(numba.types))
        kernel = getattr(module, name)
        with compiled_as_kernel(kernel.function, goes_round=kernel.goes_round):
            out[name], _ = cuda.compile_ptx(kernel.function, types, cc=cc, fastmath=options.fastmath)
    return out


def example(kind: Any) -> Any:
    """A value of a type of Numba's; any other value is its own example."""
    if isinstance(kind, numba.types.Array):
        return np.empty((2,) * kind.ndim, numba.np.numpy_support.as_dtype(kind.dtype))
    if isinstance(kind, (numba.types.Number, numba.types.Boolean)):
        return numba.np.numpy_support.as_dtype(kind).type(1)
    return kind


def without_axes(value: Any) -> Any:
    """A cell as an array of one number; of a number of the host's, that."""
    if not (is_on_device(value) and value.ndim):
        return value
    from srcgrad.runtime.device_arrays import part

    return part(value, 0, (), ())


def is_sent(value: Any) -> bool:
    return isinstance(value, np.ndarray) or type(value) in STRONG


def send(value: Any) -> Any:
    """A number as the host's part takes it; of an array of the host, a copy on the device."""
    if not isinstance(value, np.ndarray):
        return STRONG[type(value)](value)
    from srcgrad.runtime.gpu.device_call import running
    from srcgrad.runtime.gpu.device_memory import empty

    out = empty(value.shape, value.dtype)
    if value.size:
        out.copy_to_device(np.ascontiguousarray(value).reshape(value.shape), stream=running.stream)
    return out


def back(value: Any, kind: Any) -> Any:
    """A result as NumPy has it."""
    if not is_on_device(value):
        return value
    from srcgrad.runtime.gpu.device_memory import own, to_host

    if not value.size:
        return np.empty(value.shape, value.dtype)
    array = to_host(own(value, False))
    return array[0] if isinstance(kind, ScalarType) else array


def leaving(structure: Any, is_forward: bool = False, fetched: bool = False) -> Iterator[Callable[[Any], Any]]:
    """What each leaf of a result becomes that stays on the device: numbers are arrays without axes.

    Numbers that a forward function keeps for its pullback (the second of its two results) are fetched.
    """
    match structure:
        case TupleType(items):
            for k, item in enumerate(items):
                yield from leaving(item, False, fetched or (is_forward and k == 1))
        case ArrayType():
            yield _as_it_is if fetched else going_upwards
        case ScalarType(dtype):
            yield (lambda leaf: dtype.type(back(leaf, structure))) if fetched else without_axes


def _as_it_is(leaf: Any) -> Any:
    return leaf


def assembled(structure: Any) -> Callable[[Iterator[Any]], Any]:
    """What makes the result of its leaves."""
    if isinstance(structure, TupleType):
        makers = [assembled(item) for item in structure.items]
        kind = structure.kind
        if kind is tuple:
            return lambda leaves: tuple([make(leaves) for make in makers])
        if kind is list:
            return lambda leaves: [make(leaves) for make in makers]
        return lambda leaves: kind(*[make(leaves) for make in makers])
    if isinstance(structure, (ArrayType, ScalarType)):
        return next
    return lambda leaves: getattr(structure, "value", None)


def going_upwards(array: Any) -> Any:
    """Along all axes: neither Numba copies anything else to the host, nor does PyTorch take it."""
    if min(array.strides, default=0) >= 0:
        return array
    from srcgrad.runtime.gpu.device_memory import copied

    return copied(array)


def is_on_device(value: Any) -> bool:
    return getattr(value, "__cuda_ndarray__", False) is True


def refuse_mixed(found: Sequence[tuple[ArrayType, str]]) -> None:
    """Arrays of the host and of a device in one call: nobody could say where the results belong."""
    places = {kind.on_device: name for kind, name in reversed(found)}
    if len(places) > 1:
        raise ArgumentError(
            f"argument {places[True]} lies on a GPU, and argument {places[False]} does not",
            help=(f"copy one of them:  cuda.to_device({places[False]})",),
        )


__all__ = ["Dispatcher", "example", "form", "is_on_device", "ptx", "refuse_mixed", "require_device"]
