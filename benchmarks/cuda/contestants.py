"""How each library is asked for a gradient on the GPU: a call that launches it, and one that waits for it.

asked = CONTESTANTS["torch"](program, arguments, v)
there = asked.send()                  arguments and v, on the device before any clock runs
asked.finish(asked.launch(there))     the cotangents of program.wrt, in the library's own arrays, which stay there
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contestants import Absent
from benchmarks.cuda.program import DeviceProgram


@dataclass(frozen=True)
class Asked:
    send: Callable[[], Any]
    launch: Callable[[Any], Any]
    finish: Callable[[Any], Any]
    on_host: Callable[[Any], np.ndarray]


def with_srcgrad(program: DeviceProgram, arguments: tuple[Any, ...], v: Any) -> Asked:
    from numba import cuda

    from srcgrad import grad

    f = grad(program.primal, wrt=program.wrt, target="cuda")

    def send() -> Any:
        return [_sent(argument, cuda.to_device) for argument in (*arguments, v)]

    def finish(found: Any) -> Any:
        cuda.synchronize()
        return found

    return Asked(send, lambda there: f.backward(*there), finish, _from_device)


def _sent(value: Any, send: Callable[[np.ndarray], Any]) -> Any:
    return send(value) if isinstance(value, np.ndarray) else value


def _from_device(value: Any) -> np.ndarray:
    return value.copy_to_host() if hasattr(value, "copy_to_host") else np.asarray(value)


def with_torch(program: DeviceProgram, arguments: tuple[Any, ...], v: Any) -> Asked:
    return _with_torch(program, lambda: program.torch, arguments, v)


def with_torch_compile(program: DeviceProgram, arguments: tuple[Any, ...], v: Any) -> Asked:
    def compiled() -> Any:
        import torch

        return program.torch_compiled() if program.torch_compiled else torch.compile(program.torch, dynamic=False)

    return _with_torch(program, compiled, arguments, v)


def _with_torch(program: DeviceProgram, make: Callable[[], Any], arguments: tuple[Any, ...], v: Any) -> Asked:
    if program.torch is None:
        raise Absent
    import torch

    if not torch.cuda.is_available():
        raise ImportError("PyTorch without CUDA")
    f = make()
    active = {*program.positions, len(arguments)}

    def send() -> Any:
        *recorded, sent = [_as_tensor(value, i in active, torch) for i, value in enumerate((*arguments, v))]
        leaves = [recorded[i].clone().requires_grad_() for i in program.positions]
        for i, leaf in zip(program.positions, leaves, strict=True):
            recorded[i] = leaf
        return recorded, leaves, sent

    def launch(there: Any) -> Any:
        recorded, leaves, sent = there
        return torch.autograd.grad(f(*recorded), leaves, sent)

    def finish(found: Any) -> Any:
        torch.cuda.synchronize()
        return found

    return Asked(send, launch, finish, lambda tensor: tensor.cpu().numpy())


def _as_tensor(value: Any, is_active: bool, torch: Any) -> Any:
    """On the device; numbers that nobody differentiates are Python's, which cost no kernel."""
    if isinstance(value, np.ndarray) or is_active:
        return torch.as_tensor(value, device="cuda")
    return value if isinstance(value, int) else float(value)


def with_jax(program: DeviceProgram, arguments: tuple[Any, ...], v: Any) -> Asked:
    if program.jax is None:
        raise Absent
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        raise ImportError("JAX without CUDA")
    fixed = {i: argument for i, argument in enumerate(arguments) if isinstance(argument, int)}  # counts of loops

    def send() -> Any:
        return {i: jnp.asarray(argument) for i, argument in enumerate(arguments) if i not in fixed}, jnp.asarray(v)

    @jax.jit
    def gradient(there: dict[int, Any], v: Any) -> Any:
        def of_wrt(*wrt: Any) -> Any:
            known = fixed | there | dict(zip(program.positions, wrt, strict=True))
            return program.jax(*(known[i] for i in range(len(known))))

        return jax.vjp(of_wrt, *(there[i] for i in program.positions))[1](v)

    return Asked(send, lambda there: gradient(*there), jax.block_until_ready, np.asarray)


CONTESTANTS: dict[str, Callable[[DeviceProgram, tuple[Any, ...], Any], Asked]] = {
    "srcgrad": with_srcgrad,
    "torch": with_torch,
    "torch.compile": with_torch_compile,
    "jax": with_jax,
}
