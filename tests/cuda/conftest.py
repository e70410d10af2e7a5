"""Tests that need a GPU, or the simulator of one (NUMBA_ENABLE_CUDASIM=1, see tests/test_cuda.py): else none."""

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda
from numba.core import config

SIMULATED = config.ENABLE_CUDASIM

if os.environ.get("SRCGRAD_VIRTUAL_GPU"):
    from virtual_gpu import driver

    driver.install()


@pytest.hookimpl(trylast=True)  # behind -k
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """SRCGRAD_TURNS=5: of the cases of each test every fifth one; in the simulator, each in one of its dtypes."""
    everyone = int(os.environ.get("SRCGRAD_TURNS") or 1)
    kept: list[pytest.Item] = []
    for _, cases in _groups(items, lambda item: getattr(item, "originalname", item.name)):
        kept += cases[::everyone]
    if SIMULATED and os.environ.get("SRCGRAD_CASES") != "all":
        alike = _groups(kept, lambda item: re.sub("float(32|64)", "float", item.name))
        kept = [item for k, (_, both) in enumerate(alike) for item in (both if len(both) != 2 else [both[k % 2]])]
    left_out = set(items) - set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _groups(items: list[pytest.Item], name: Callable[[pytest.Item], str]) -> list[tuple[Any, list[pytest.Item]]]:
    """The items of one file for which `name` says the same."""
    found: dict[Any, list[pytest.Item]] = {}
    for item in items:
        found.setdefault((item.path, name(item)), []).append(item)
    return list(found.items())


collect_ignore_glob = [] if SIMULATED or cuda.is_available() else ["*.py"]

if SIMULATED:
    from numba.cuda.simulator import kernel

    if hasattr(os, "sched_setaffinity"):  # threads that take turns: half the time on one core, which is this one
        state = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        os.sched_setaffinity(0, {int(state[36])})

    class InTurn(kernel.BlockThread):
        """A thread of a block, which runs when it is told to, up to the next barrier or its end."""

        def __init__(self, work: Callable[[], None], block: "Block", grid_point: Any, point: Any) -> None:
            super().__init__(work, block, grid_point, point, False)
            self.go, self.stopped, self.finished = threading.Semaphore(0), threading.Semaphore(0), False

        def run(self) -> None:
            try:
                super().run()
            except BaseException as problem:  # one that the simulator does not hand on, or fails to
                self.exception = problem, problem.__traceback__
            finally:
                self.finished = True
                self.stopped.release()

        def syncthreads(self) -> None:
            self.stopped.release()
            self.go.acquire()
            if self.abort:
                raise SystemExit

        def next_stretch(self) -> None:
            if self.ident is None:
                self.start()
            else:
                self.go.release()
            self.stopped.acquire()

    class Block(kernel.BlockManager):
        """Threads that take turns, where the simulator's own race each other and poll: half the time of the tests.

        They go forwards from one barrier to the next and backwards from there to the one after it, in the next block
        the other way round: in one of the two, a thread reads ahead of another that no barrier makes it wait for.
        """

        turned = False

        def run(self, grid_point: Any, *args: Any) -> None:
            def work() -> None:
                self._f(*args)

            alive = [InTurn(work, self, grid_point, point) for point in np.ndindex(*self._block_dim)]
            for memory in kernel._get_kernel_context().shared._allocations.values():  # what another block has left
                memory.view(np.uint8)[...] = 0xFF  # nan
            Block.turned = not Block.turned
            alive = alive[::-1] if Block.turned else alive
            while alive:
                for thread in alive:
                    thread.next_stretch()
                    if thread.exception:
                        self.abandon(alive)
                        raise thread.exception[0].with_traceback(thread.exception[1])
                alive = [thread for thread in reversed(alive) if not thread.finished]

        def abandon(self, threads: list[InTurn]) -> None:
            for thread in threads:
                thread.abort = True
                thread.go.release()

    kernel.BlockManager = Block
