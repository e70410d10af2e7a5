"""What one call takes, in seconds of the processor, so that waiting while others use the core does not count.

Contestants take turns: what cannot be kept out (a cold cache, a slower clock) hits them alike.
"""

from __future__ import annotations

import gc
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]

# One core each, set before the libraries are loaded: they look at it once.
ONE_CORE = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR")},
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "JAX_CPU_ENABLE_ASYNC_DISPATCH": "false",  # else each call waits for another thread of the same core
}


def stay_on_one_core() -> None:
    """Pin this process to the core that is idlest now, so that no pool of threads finds a second one."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    before = _idle()
    time.sleep(0.3)
    after = _idle()
    os.sched_setaffinity(0, {max(cores, key=lambda core: after[core] - before[core])})


def _idle() -> dict[int, int]:
    with open("/proc/stat", encoding="utf-8") as lines:
        fields = [line.split() for line in lines if line.startswith("cpu") and line[3].isdigit()]
    return {int(field[0][3:]): int(field[4]) for field in fields}


class TooLong(Exception):
    pass


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TooLong in what takes longer, between two steps of Python.  Compilers must not be stopped so."""

    def stop(*_: object) -> None:
        raise TooLong

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


@dataclass(frozen=True)
class Timing:
    """Seconds of one call, over `repetitions` samples of `loops` calls each."""

    min: float
    median: float
    repetitions: int
    loops: int


@dataclass(frozen=True)
class Effort:
    """How long a sample lasts at least, how many there are, and what all samples of one contestant may take."""

    sample: float = 0.05
    repetitions: int = 9
    budget: float = 30.0
    limit: float = 60.0  # of one call


QUICK = Effort(sample=0.02, repetitions=5, budget=5.0, limit=20.0)


def measure(calls: dict[Any, Call], effort: Effort) -> dict[Any, Timing]:
    """Time them all, in turns.  Each has been called before, so that nothing is compiled here."""
    loops: dict[Any, int] = {}
    samples: dict[Any, list[float]] = {}
    for name, call in calls.items():
        once = sample(call, 1)
        long = once > effort.sample
        loops[name], samples[name] = (1, [once]) if long else (_loops(call, effort), [])
    order = list(calls)
    for turn in range(effort.repetitions):
        for name in order[turn % len(order) :] + order[: turn % len(order)]:  # nobody always follows the same one
            call = calls[name]
            count, taken = loops[name], samples[name]
            over_budget = taken and (len(taken) + 1) * count * statistics.median(taken) > effort.budget
            if len(taken) <= turn and not over_budget:  # a slow one has fewer turns
                taken.append(sample(call, count))
    return {
        name: Timing(min(taken), statistics.median(taken), len(taken), loops[name]) for name, taken in samples.items()
    }


def sample(call: Call, count: int) -> float:
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()  # of all threads, and of the system on their behalf
        for _ in range(count):
            call()
        return (time.process_time() - start) / count
    finally:
        if collecting:
            gc.enable()


def _loops(call: Call, effort: Effort) -> int:
    count = 1
    while True:
        spent = count * sample(call, count)
        if spent >= effort.sample:
            return count
        count *= max(2, min(10, int(1.2 * effort.sample / max(spent, 1e-9)) + 1))
