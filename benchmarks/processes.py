"""Measurements in processes of their own: `python -m benchmarks.processes JOB ...` prints one line of JSON.

    times PROGRAM SIZE EFFORT          all contestants in one process, in turns
    first_call PROGRAM CONTESTANT      the first gradient of a process
    memory PROGRAM SIZE CONTESTANT     how far one gradient raises the peak
    cost CASE times|memory             the points of a curve in cost.py
    parallel PROGRAM                   a row of parallel.py
    breadth PROGRAM                    a row of breadth.py
    cuda PROGRAM FOLDER, cuda_card     rows of cuda/measure.py, and what the card can do

A crash, a lack of memory or a compiler that never ends costs one row and not the run.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.memory import RETURN_FREED, rise
from benchmarks.timing import ONE_CORE, QUICK, Effort, Timing, TooLong, measure, stay_on_one_core, time_limit

ROOT = Path(__file__).resolve().parent.parent
TAPES = ("torch", "autograd")  # they run step by step in Python, so that they can be stopped, and compile nothing
EFFORTS = {"quick": QUICK, "full": Effort()}


def in_process(job: str, *arguments: str, cache: str | None = None, timeout: float = 900.0, **environment: str) -> Any:
    """What a job returns, or {"failed": why}."""
    with tempfile.TemporaryDirectory() as fresh:
        folder = cache or fresh
        caches = {f"{name}_CACHE_DIR": folder for name in ("SRCGRAD", "NUMBA", "JAX_COMPILATION")}
        always = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
        command = [sys.executable, "-m", "benchmarks.processes", job, *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **ONE_CORE, **caches, **always, **environment},
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"took more than {timeout:.0f} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


# --------------------------------------------------------------------------------------------------------------
# Times


def times(name: str, index: str, effort: str) -> dict[str, Any]:
    """{"primal": {contestant: Timing or why not}, "gradient": the same} of one program at one size."""
    from benchmarks.contestants import CONTESTANTS, Absent, disagreement
    from benchmarks.programs import PROGRAMS

    stay_on_one_core()
    program, how = PROGRAMS[name], EFFORTS[effort]
    size = program.sizes[int(index)]
    arguments = program.arguments(size.arguments)
    v = program.cotangent(arguments)
    result: dict[str, dict[str, Any]] = {"primal": {}, "gradient": {}}
    ready: dict[tuple[str, str], Any] = {}
    answers: dict[str, dict[str, Any]] = {"primal": {}, "gradient": {}}
    for contestant, make in CONTESTANTS.items():
        if contestant in size.without:
            result["gradient"][contestant] = size.without[contestant]
            continue
        try:
            calls = make(program, arguments, v)
        except Absent:
            continue
        except ImportError:
            result["gradient"][contestant] = "not installed"
            continue
        for part in "primal", "gradient":
            call = getattr(calls, part)
            if call is None:
                continue
            try:
                with time_limit(how.limit if contestant in TAPES else None):
                    answer = call()
            except TooLong:
                result[part][contestant] = f"> {how.limit:.0f} s"
            except Exception as error:
                result[part][contestant] = why(error)
            else:
                ready[part, contestant], answers[part][contestant] = call, answer
    expected = answers["gradient"].get("by hand", next(iter(answers["gradient"].values()), None))
    for contestant, answer in answers["gradient"].items():
        if wrong := disagreement(program, answer, expected):
            result["gradient"][contestant] = f"disagrees: {wrong}"
            del ready["gradient", contestant]
    answers.clear()
    for (part, contestant), timing in measure(ready, how).items():
        result[part][contestant] = dataclasses.asdict(timing)
    return result


def why(error: Exception) -> str:
    kind = type(error).__name__
    first = (str(error).strip().splitlines() or [""])[0]
    refused = any(word in kind for word in ("Unsupported", "Typing", "Recursion"))
    return f"{'refused' if refused else 'failed'}: {kind}: {first}"[:160]


def timing(figure: Any) -> Timing | None:
    """A measured figure, or None where there are words instead."""
    return Timing(**figure) if isinstance(figure, dict) else None


# --------------------------------------------------------------------------------------------------------------
# First call, second process, memory


def compiling(name: str, contestant: str) -> dict[str, Any]:
    """Seconds to the first gradient in a process that finds an empty cache, and in one that finds a full one."""
    with tempfile.TemporaryDirectory() as cache:
        first = in_process("first_call", name, contestant, cache=cache)
        again = first if contestant in TAPES else in_process("first_call", name, contestant, cache=cache)
    return {"first": first, "second": again}


def first_call(name: str, contestant: str) -> Any:
    """Seconds of the first gradient, after all imports."""
    from benchmarks.contestants import CONTESTANTS, Absent
    from benchmarks.programs import PROGRAMS

    stay_on_one_core()
    program = PROGRAMS[name]
    arguments = program.arguments(program.sizes[0].arguments)
    v = program.cotangent(arguments)
    _import(contestant)
    try:
        start = time.perf_counter()
        CONTESTANTS[contestant](program, arguments, v).gradient()
        return time.perf_counter() - start
    except Absent:
        return None
    except Exception as error:
        return {"failed": why(error)}


def _import(contestant: str) -> None:
    if contestant in ("srcgrad", "by hand"):
        import numba
        import scipy.linalg  # noqa: F401

        import srcgrad  # noqa: F401

        numba.njit(lambda: 1)()  # Numba has more to import when it first compiles
    if contestant == "torch":
        import torch

        torch.ones(1, requires_grad=True).sum().backward()
    if contestant.startswith("jax"):
        import jax
        import jax.numpy as jnp

        jax.jit(jnp.sin)(1.0).block_until_ready()
    if contestant == "autograd":
        import autograd.numpy
        import autograd.scipy.special  # noqa: F401


def memory(name: str, index: str, contestant: str) -> Any:
    """Bytes by which one gradient raises the peak, and of that what is neither argument nor result.

    Compiled code has run before, on a few elements where that is the same code (JAX compiles for each size), so that
    no memory that it could use again is there yet.
    """
    from benchmarks.contestants import CONTESTANTS, Absent
    from benchmarks.programs import PROGRAMS

    stay_on_one_core()
    program = PROGRAMS[name]
    arguments = program.arguments(program.sizes[int(index)].arguments)
    v = program.cotangent(arguments)
    results = sum(getattr(arguments[i], "nbytes", 8) for i in program.positions)
    try:
        each_size = contestant.startswith("jax")
        if not each_size:
            few = program.arguments(program.tiny)
            CONTESTANTS[contestant](program, few, program.cotangent(few)).gradient()
        call = CONTESTANTS[contestant](program, arguments, v).gradient
        if each_size:
            call()
        with time_limit(120.0 if contestant in TAPES else None):
            peak, _ = rise(call)
    except Absent:
        return None
    except TooLong:
        return {"failed": "> 120 s"}
    except Exception as error:
        return {"failed": why(error)}
    return {"peak": peak, "kept": max(0, peak - results)}


def memory_of(name: str, index: int, contestant: str) -> Any:
    return in_process("memory", name, str(index), contestant, **RETURN_FREED)


def cost(name: str, what: str) -> Any:
    from benchmarks.cost import curve

    return curve(name, what)


def parallel(name: str) -> Any:
    from benchmarks.parallel import row

    return row(name)


def breadth(name: str) -> Any:
    from benchmarks.breadth import row

    return row(name)


def cuda(name: str, folder: str) -> Any:
    from benchmarks.cuda.measure import rows

    return rows(name, folder)


def cuda_card() -> Any:
    from benchmarks.cuda.measure import card

    return card()


JOBS = {
    "times": times,
    "first_call": first_call,
    "memory": memory,
    "cost": cost,
    "parallel": parallel,
    "breadth": breadth,
    "cuda": cuda,
    "cuda_card": cuda_card,
}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](*sys.argv[2:])))
