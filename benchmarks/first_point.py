"""The first figures: what a call costs, what compiling costs, and an RK4 integrator of 100 states over 1,000 steps.

    python -m benchmarks.first_point                     everything; writes benchmarks/results/first_point.json
    python -m benchmarks.first_point calls rk4           some of it, printed only

JAX and PyTorch stand beside where they are installed.  What compiles runs in processes of its own, with a cache folder
of their own, so that the first process finds nothing and the second finds everything.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import record

ROOT = Path(__file__).resolve().parent.parent


def seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """What one call takes: the best of several runs of many calls, after a first one that compiles."""
    call()
    timer = timeit.Timer(call)
    count, spent = timer.autorange()
    return min(spent, *timer.repeat(repeats - 1, count)) / count


# --------------------------------------------------------------------------------------------------------------
# Calls: the cost of asking, on a 3-vector, where there is next to nothing to compute.


def calls() -> dict[str, float]:
    """Microseconds of one `backward(x, v)` of x -> x*x*x."""
    import numba
    import numpy as np

    from srcgrad import grad

    def cube(x):
        return x * x * x

    def cube_backward(x, v):
        return 3.0 * x * x * v

    x, v = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, 0.25])
    f, by_hand = grad(cube), numba.njit(cube_backward)
    value_and_backward = {
        "srcgrad f(x)": lambda: f(x),
        "srcgrad f.backward(x, v)": lambda: f.backward(x, v),
        "srcgrad f.value_and_backward(x, v)": lambda: f.value_and_backward(x, v),
        "by hand, numba.njit": lambda: by_hand(x, v),
        "by hand, NumPy": lambda: cube_backward(x, v),
        **_jax_calls(cube, x, v),
        **_torch_calls(cube, x, v),
    }
    np.testing.assert_allclose(f.backward(x, v), cube_backward(x, v))
    return {name: round(1e6 * seconds(call), 3) for name, call in value_and_backward.items()}


def _jax_calls(f: Callable, x: Any, v: Any) -> dict[str, Callable[[], object]]:
    try:
        import jax
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    vjp = jax.jit(lambda x, v: jax.vjp(f, x)[1](v)[0])
    there = jax.device_put(x), jax.device_put(v)
    return {
        "JAX jitted VJP, JAX arrays": lambda: vjp(*there).block_until_ready(),
        "JAX jitted VJP, NumPy arrays": lambda: vjp(x, v).block_until_ready(),
    }


def _torch_calls(f: Callable, x: Any, v: Any) -> dict[str, Callable[[], object]]:
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    tx, tv = torch.tensor(x, requires_grad=True), torch.tensor(v)
    return {"PyTorch forward and backward, tensors": lambda: torch.autograd.grad(f(tx), tx, tv)}


# --------------------------------------------------------------------------------------------------------------
# Compiling: the worked examples, in a process that finds an empty cache and in one that finds a full one.


def compiling() -> dict[str, Any]:
    """Seconds to the first result of each worked example's `backward`, in a first and in a second process."""
    with tempfile.TemporaryDirectory() as cache:
        first, second = (_in_process("compiling_worker", cache) for _ in range(2))
    loops = sum(row["loops"] for row in first["rows"].values())
    spent = sum(row["seconds"] for row in first["rows"].values())
    fresh = {name: row["seconds"] for name, row in first["rows"].items()}
    again = {name: row["seconds"] for name, row in second["rows"].items()}
    return {
        "first process, first calls": fresh,
        "second process, first calls": again,
        "generated loops": {name: row["loops"] for name, row in first["rows"].items()},
        "first process, total": round(spent, 3),
        "first process, seconds a loop": round(spent / max(loops, 1), 4),
        "second process, total": round(sum(again.values()), 3),
        "second process, to the first result after imports": second["to_first_result"],
        "imports": second["imports"],
    }


def compiling_worker() -> dict[str, Any]:
    clock = time.perf_counter()
    import numba  # noqa: F401
    import numpy as np
    import scipy  # noqa: F401

    import srcgrad  # noqa: F401

    imports, clock = time.perf_counter() - clock, time.perf_counter()
    example = runpy.run_path(str(ROOT / "examples" / "worked_examples.py"))
    rows, to_first_result = {}, None
    for name, arguments in {
        "square": (np.ones(5), np.ones(5)),
        "square_sum": (np.ones(5),),
        "weighed": (np.ones(2), np.ones(2)),
        "weighed_by_a_global": (np.ones(2),),
        "weighed_rows": (np.ones((3, 2)), np.array([-1, 1]), np.ones(3)),
        "curve": (1.0, np.ones(2)),
        "moments": (np.ones(4), np.ones(2)),
        "row_moments": (np.ones((3, 4)), np.ones((2, 3))),
        "powers": (1.0, np.ones((3, 2))),
        "total": (np.ones(3),),
        "double_until_long": (np.ones(3), np.ones(3)),
        "inner": (np.ones(2), np.ones(2)),
        "outer": (np.ones(2), np.ones(2)),
        "composed": (np.ones(2), np.ones(2)),
    }.items():
        f = example[name]
        start = time.perf_counter()
        f.backward(*arguments)
        spent = time.perf_counter() - start
        to_first_result = to_first_result or time.perf_counter() - clock
        primal = arguments[: len(arguments) - 1] if len(arguments) > f.py_func.__code__.co_argcount else arguments
        rows[name] = {"seconds": round(spent, 4), "loops": _loops(f.source(*primal))}
    return {"imports": round(imports, 3), "to_first_result": round(to_first_result or 0.0, 3), "rows": rows}


def _loops(source: str) -> int:
    return sum(line.lstrip().startswith(("for ", "while ")) for line in source.splitlines())


# --------------------------------------------------------------------------------------------------------------
# RK4: Lorenz 96 with 100 states over 1,000 steps, its state rebound at each step.


def rk4() -> dict[str, Any]:
    """Milliseconds of the primal and of the gradient, the memory that it takes, and what its code is made of."""
    with tempfile.TemporaryDirectory() as cache:
        return [_in_process("rk4_worker", cache) for _ in range(2)][1]  # the second has no compiler in its memory


def lorenz96(x, force):
    d = x.copy()
    for i in range(x.size):
        d[i] = (x[(i + 1) % x.size] - x[i - 2]) * x[i - 1] - x[i] + force
    return d


def integrate(x, force, dt, steps):
    for _ in range(steps):
        k1 = lorenz96(x, force)
        k2 = lorenz96(x + 0.5 * dt * k1, force)
        k3 = lorenz96(x + 0.5 * dt * k2, force)
        k4 = lorenz96(x + dt * k3, force)
        x = x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return x


def rk4_worker() -> dict[str, Any]:
    import numpy as np

    from srcgrad import grad

    n, steps, dt, force = 100, 1000, 1e-3, 8.0
    f = grad(integrate, wrt="x")
    x, v = force + 0.1 * np.random.default_rng(0).normal(size=n), np.cos(np.arange(n))
    f(x, force, dt, steps)
    gradient = f.backward(x, force, dt, 2, v)
    memory = _peak(lambda: f.backward(x, force, dt, steps, v))
    gradient = f.backward(x, force, dt, steps, v)
    way, h = np.sin(np.arange(n)), 1e-6
    rise = v @ (f(x + h * way, force, dt, steps) - f(x - h * way, force, dt, steps)) / (2 * h)
    np.testing.assert_allclose(gradient @ way, rise, rtol=1e-6)
    primal = seconds(lambda: f(x, force, dt, steps))
    backward = seconds(lambda: f.backward(x, force, dt, steps, v))
    source = f.source(x, force, dt, steps)
    return {
        "primal, ms": round(1e3 * primal, 3),
        "gradient, ms": round(1e3 * backward, 3),
        "gradient / primal": round(backward / primal, 2),
        "peak memory of a gradient, MB": round(memory / 1e6, 2),
        "one state at every step, MB": round(8 * n * steps / 1e6, 2),
        "lines of the generated module": source.count("\n"),
        "loops of the generated module": _loops(source),
        "python objects in compiled code": python_objects(source, x, force, dt, steps, v),
    }


def _peak(call: Callable[[], object]) -> int:
    """How far the resident memory of this process rises during one call, in bytes (Linux; else 0)."""
    if not Path("/proc/self/clear_refs").exists():
        return 0
    Path("/proc/self/clear_refs").write_text("5")  # the peak restarts from here
    before = _status("VmRSS")
    call()
    return max(0, _status("VmHWM") - before)


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def python_objects(source: str, *arguments: Any) -> int:
    """How often the compiled function of a generated module calls Python's C API (its wrappers for Python do)."""
    import numba

    space: dict[str, Any] = {"__name__": "generated"}
    exec(source, space)
    entry = numba.njit(error_model="numpy")(space[source.rpartition("\ndef ")[2].partition("(")[0]])
    entry.compile(tuple(numba.typeof(argument) for argument in arguments))
    (llvm,) = entry.inspect_llvm().values()
    functions = [part.partition("\n}")[0] for part in llvm.split("\ndefine ")[1:]]
    native = [body for body in functions if body.partition("@")[2].startswith("_ZN9generated")]
    assert native, "the module is named generated"
    return sum(line.count(" @Py") for body in native for line in body.splitlines() if "call " in line)


# --------------------------------------------------------------------------------------------------------------


def _in_process(worker: str, cache: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.first_point", "--worker", worker]
    environment = {**os.environ, "SRCGRAD_CACHE_DIR": cache}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


PARTS = {"calls": calls, "compiling": compiling, "rk4": rk4}


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--worker"]:
        print(json.dumps(globals()[arguments[1]]()))
        return
    figures = {}
    for name in arguments or PARTS:
        figures[name] = PARTS[name]()
        print(json.dumps({name: figures[name]}, indent=2), flush=True)
    if not arguments:
        print(f"written to {record.save('first_point', figures).relative_to(ROOT)}")
        record.show("first_point", tables(record.load("first_point")))


def tables(saved: dict[str, Any]) -> str:
    """The figures as Markdown."""
    machine, figures = dict(saved["machine"]), saved["figures"]
    where = f"{machine.pop('processor')}, {machine.pop('cores')} cores, {machine.pop('system')}"
    versions = ", ".join(f"{name} {version}" for name, version in machine.items())
    compiling, again = figures["compiling"], figures["compiling"]["second process, first calls"]
    rows = [
        f"| `{name}` | {compiling['generated loops'][name]} | {spent:.2f} | {again[name]:.3f} |"
        for name, spent in compiling["first process, first calls"].items()
    ]
    totals = f"{compiling['first process, total']:.2f} | {compiling['second process, total']:.2f}"
    return "\n".join(
        [
            f"{saved['date']}; {where}; {versions}.",
            "",
            "| a call on a 3-vector | µs |",
            "|---|---|",
            *(f"| {name} | {value:.2f} |" for name, value in figures["calls"].items()),
            "",
            "| first call of `backward` | loops generated | seconds, empty cache | seconds, second process |",
            "|---|---|---|---|",
            *rows,
            f"| all | {sum(compiling['generated loops'].values())} | {totals} |",
            "",
            f"To the first result in a second process: {compiling['imports']:.2f} s of imports, then "
            f"{compiling['second process, to the first result after imports']:.2f} s.",
            "",
            "| RK4, 100 states, 1,000 steps | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in figures["rk4"].items()),
        ]
    )


if __name__ == "__main__":
    main(sys.argv[1:])
