"""Tests that need a GPU, or the simulator of one (NUMBA_ENABLE_CUDASIM=1, see tests/test_cuda.py): else none."""

import gc
import os
import re
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import cuda
from numba.core import config

from srcgrad import pipeline
from srcgrad.options import Options
from srcgrad.passes import order

SIMULATED = config.ENABLE_CUDASIM
VIRTUAL = os.environ.get("SRCGRAD_VIRTUAL_GPU")

if SIMULATED or VIRTUAL:  # in processes of their own, and short ones: a twentieth of their time
    gc.disable()

if SIMULATED or VIRTUAL:  # there, to generate is half of the time, and half of that is what a kernel is compared with
    in_full = order.passes_for

    def as_lowered_on_a_cpu(kind: str, options: Options) -> tuple[order.Pass, ...]:
        steps = in_full(kind, options)
        return steps if options.target == "cuda" else tuple(s for s in steps if s.__name__ not in order.OPTIONAL)

    order.passes_for = pipeline.passes_for = as_lowered_on_a_cpu

if VIRTUAL:
    from virtual_gpu import driver

    driver.install()


@pytest.hookimpl(trylast=True)  # behind -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """SRCGRAD_TURNS=5: of the cases of each test every fifth one, and of a file's tests of one case every other one.

    In the simulator, each in one of its dtypes; there, tests of a few cases have all of them.
    """
    everyone = int(os.environ.get("SRCGRAD_TURNS") or 1)
    chosen = items
    if SIMULATED and os.environ.get("SRCGRAD_CASES") != "all":
        alike = _groups(items, lambda item: re.sub("float(32|64)", "float", item.name))
        chosen = [item for k, (_, both) in enumerate(alike) for item in (both if len(both) != 2 else [both[k % 2]])]
    kept: list[pytest.Item] = []
    for (_, name), cases in _groups(chosen, lambda item: item.originalname if hasattr(item, "callspec") else ""):
        turns = everyone if name else min(everyone, 2) if everyone > 2 else 1
        kept += cases if SIMULATED and (len(cases) < FEW or not name) else cases[::turns]
    left_out = set(items) - set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


FEW = 8


def _groups(items: list[pytest.Item], name: Callable[[pytest.Item], str]) -> list[tuple[Any, list[pytest.Item]]]:
    """The items of one file for which `name` says the same."""
    found: dict[Any, list[pytest.Item]] = {}
    for item in items:
        found.setdefault((item.path, name(item)), []).append(item)
    return list(found.items())


collect_ignore_glob = [] if SIMULATED or cuda.is_available() else ["*.py"]

if SIMULATED:
    from numba.cuda.simulator import kernel, kernelapi

    if hasattr(os, "sched_setaffinity"):  # threads that take turns: half the time on one core, which is this one
        state = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        os.sched_setaffinity(0, {int(state[36])})

    class InTurn:
        """A thread of a block, which runs when it is told to, up to the next barrier or its end."""

        now: "InTurn"  # whose turn it is

        def __init__(self, work: Callable[[], None], size: tuple[int, ...], block: Any, point: Any) -> None:
            self.work, self.blockIdx, self.threadIdx = work, kernelapi.Dim3(*block), kernelapi.Dim3(*point)
            x, y, z = (*point, 0, 0)[:3]
            self.thread_id = x + size[0] * (y + (*size, 1)[1] * z)
            self.go, self.stopped = allocate_lock(), allocate_lock()
            self.started = self.finished = self.is_abandoned = False
            self.problem: BaseException | None = None

        def to_the_end(self) -> None:
            try:
                self.work()
            except BaseException as problem:
                self.problem = problem
            self.finished = True
            self.stopped.release()

        def syncthreads(self) -> None:
            self.go.acquire(blocking=False)
            self.stopped.release()
            self.go.acquire()
            if self.is_abandoned:
                raise SystemExit

        def next_stretch(self) -> None:
            InTurn.now = self
            self.stopped.acquire(blocking=False)
            if self.started:
                self.go.release()
            else:
                self.started = True
                start_new_thread(self.to_the_end, ())
            self.stopped.acquire()

    class Block(kernel.BlockManager):
        """Threads that take turns, where the simulator's own race each other and poll: half the time of the tests.

        They go forwards from one barrier to the next and backwards from there to the one after it, in the next block
        the other way round: in one of the two, a thread reads ahead of another that no barrier makes it wait for.
        Where there are no barriers each goes to its end, and needs no thread of the system's.
        """

        turned = False

        def run(self, grid_point: Any, *args: Any) -> None:
            def work() -> None:
                self._f(*args)

            alive = [InTurn(work, self._block_dim, grid_point, point) for point in np.ndindex(*self._block_dim)]
            for memory in kernel._get_kernel_context().shared._allocations.values():  # what another block has left
                memory.view(np.uint8)[...] = 0xFF  # nan
            Block.turned = not Block.turned
            alive = alive[::-1] if Block.turned else alive
            if not has_barriers(self._f):
                for InTurn.now in alive:
                    work()
                return
            while alive:
                for thread in alive:
                    thread.next_stretch()
                    if thread.problem:
                        self.abandon(alive)
                        raise thread.problem
                alive = [thread for thread in reversed(alive) if not thread.finished]

        def abandon(self, threads: list[InTurn]) -> None:
            for thread in threads:
                thread.is_abandoned = True
                if thread.started and not thread.finished:
                    thread.go.release()

    @cache
    def has_barriers(function: Callable[..., Any]) -> bool:
        """Does it wait for the other threads of its block, or may what it calls?"""
        called = (function.__globals__.get(name) for name in function.__code__.co_names)
        ours = [each.fn for each in called if isinstance(each, kernel.FakeCUDAKernel)]
        return "syncthreads" in function.__code__.co_names or any(map(has_barriers, ours))

    kernel.BlockManager = Block
    kernelapi.threading = SimpleNamespace(current_thread=lambda: InTurn.now)
