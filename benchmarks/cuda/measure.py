"""What one process measures: the card, or one program by all contestants.

Times are by the clock on the wall.  A sample is so many launches that it lasts long enough for that clock, and then
one wait for the device: what a launch takes of the host counts only where the device has to wait for it.
"""

from __future__ import annotations

import dataclasses
import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contestants import Absent, disagreement
from benchmarks.cuda import turns
from benchmarks.cuda.contestants import CONTESTANTS, Asked
from benchmarks.cuda.program import RTOL, DeviceProgram, in_dtype
from benchmarks.cuda.programs import PROGRAMS
from benchmarks.processes import why
from benchmarks.programs.program import as_tuple
from benchmarks.timing import Timing

SAMPLE, REPETITIONS = 0.03, 11  # seconds that a sample lasts at least; how many there are
MOST_LOOPS = 2_000
BUDGET = 4.0  # seconds for all samples of a contestant
COPIED = 1 << 30  # bytes of the array whose copy is the measure of memory
SMALL = 1_000  # elements, for what a launch costs
LAUNCHES = 2_000


# --------------------------------------------------------------------------------------------------------------
# The card


def card() -> dict[str, Any]:
    """Its name, how fast its memory is, and what a launch costs."""
    from numba import cuda

    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    found: dict[str, Any] = {"card": name, "compute capability": ".".join(map(str, device.compute_capability))}
    return {**found, "bandwidth": bandwidth(), "launch": launches()}


def bandwidth() -> float:
    """Bytes read and written in a second by a copy from the device to the device."""
    from numba import cuda

    source, target = (cuda.device_array(COPIED // 8, np.float64) for _ in range(2))
    target.copy_to_device(source)
    best = np.inf
    for _ in range(10):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        for _ in range(5):
            target.copy_to_device(source)
        end.record()
        end.synchronize()
        best = min(best, begin.elapsed_time(end) * 1e-3 / 5)
    return 2 * COPIED / best


def cube(x):
    return x * x * x


def launches() -> dict[str, float]:
    """Seconds of the host for a gradient of one small kernel, and for Numba's launch of that kernel."""
    from numba import cuda

    from srcgrad import grad

    @cuda.jit
    def cube_adjoint(x, v, x_b):
        i = cuda.grid(1)
        if i < x.size:
            x_b[i] = v[i] * 3.0 * x[i] * x[i]

    x, v = (cuda.to_device(np.linspace(-1.0, 1.0, SMALL)) for _ in range(2))
    x_b = cuda.device_array_like(x)
    f, bare = grad(cube, target="cuda"), cube_adjoint[-(-SMALL // 256), 256]
    calls = {
        "bare": lambda: bare(x, v, x_b),
        "bare, with its result": lambda: bare(x, v, cuda.device_array(SMALL)),
        "backward": lambda: f.backward(x, v),
    }
    return {name: _host_time(call) for name, call in calls.items()}


def _host_time(call: Callable[[], Any]) -> float:
    from numba import cuda

    taken = []
    for _ in range(7):
        cuda.synchronize()
        start = time.perf_counter()
        for _ in range(LAUNCHES):
            call()
        cuda.synchronize()
        taken.append((time.perf_counter() - start) / LAUNCHES)
    return min(taken[1:])


# --------------------------------------------------------------------------------------------------------------
# A program


@dataclass
class Prepared:
    """A row whose contestants have compiled, and agree; those that do not are words among the figures."""

    about: dict[str, Any]
    ready: dict[str, Asked]
    figures: dict[str, Any]

    def measured(self) -> dict[str, Any]:
        times = {name: dataclasses.asdict(timing) for name, timing in measure(self.ready).items()}
        return {**self.about, "gradient": self.figures | times}


def rows(name: str, folder: str) -> list[dict[str, Any]]:
    """All rows of a program; other processes with the same folder prepare and measure theirs meanwhile."""
    program = PROGRAMS[name]
    with turns.preparing(folder):
        prepared = [prepare(program, size, dtype) for dtype in program.dtypes for size in program.sizes]
        give_back()
    with turns.measuring(folder):
        gc.collect()
        gc.freeze()  # what the libraries are made of need not be searched before each sample
        return [row.measured() for row in prepared]


def prepare(program: DeviceProgram, size: Any, dtype: str) -> Prepared:
    """All contestants' first calls at one size."""
    arguments = tuple(in_dtype(argument, dtype) for argument in program.arguments(size.arguments))
    v = in_dtype(program.cotangent(arguments), dtype)
    about = {"program": program.name, "kind": program.kind, "dtype": dtype, "size": program.label(size.arguments)}
    ready: dict[str, Asked] = {}
    answers: dict[str, Any] = {}
    figures: dict[str, Any] = {}
    for contestant, ask in CONTESTANTS.items():
        try:
            asked = ask(program, arguments, v)
            answer = as_tuple(asked.finish(asked.launch(asked.send())))
            answers[contestant], ready[contestant] = tuple(map(asked.on_host, answer)), asked
        except Absent:
            continue
        except ImportError:
            figures[contestant] = "not installed"
        except Exception as error:
            figures[contestant] = why(error)
    figures |= disagreeing(dataclasses.replace(program, rtol=RTOL[dtype]), arguments, v, answers)
    agree = {name: asked for name, asked in ready.items() if name not in figures}
    return Prepared({**about, "moved": program.bytes_moved(arguments, v)}, agree, figures)


def give_back() -> None:
    """The memory of the device that PyTorch keeps for later: other processes want it first."""
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def disagreeing(
    program: DeviceProgram, arguments: tuple[Any, ...], v: Any, answers: dict[str, tuple[np.ndarray, ...]]
) -> dict[str, str]:
    """Who is not of one mind with PyTorch, or with JAX where that is not there; alone, with the same on the CPU."""
    expected = next((answers[name] for name in ("torch", "jax") if name in answers), None)
    if expected is None:
        from srcgrad import grad

        expected = as_tuple(grad(program.primal, wrt=program.wrt).backward(*arguments, v))
    wrong = {name: disagreement(program, answer, expected) for name, answer in answers.items()}
    return {name: f"disagrees: {words}" for name, words in wrong.items() if words}


def measure(contestants: dict[str, Asked]) -> dict[str, Timing]:
    """What they take, in turns."""
    if not contestants:
        return {}
    there = {name: asked.send() for name, asked in contestants.items()}
    loops = {name: _loops(asked, there[name]) for name, asked in contestants.items()}
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    order = list(contestants)
    for turn in range(REPETITIONS):
        for name in order[turn % len(order) :] + order[: turn % len(order)]:  # nobody always follows the same one
            if sum(samples[name]) * loops[name] < BUDGET:
                samples[name].append(sample(contestants[name], there[name], loops[name]))
    return {
        name: Timing(min(taken), statistics.median(taken), len(taken), loops[name]) for name, taken in samples.items()
    }


def sample(asked: Asked, there: Any, count: int) -> float:
    asked.finish(asked.launch(there))
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        for _ in range(count):
            found = asked.launch(there)
        asked.finish(found)
        return (time.perf_counter() - start) / count
    finally:
        gc.enable()


def _loops(asked: Asked, there: Any) -> int:
    sample(asked, there, 1)  # what is allocated or tuned at the second call is not timed
    once = min(sample(asked, there, 1) for _ in range(3))
    return max(1, min(MOST_LOOPS, int(SAMPLE / once) + 1))
