"""srcgrad as a tool of GradBench: JSON lines come in on stdin, an answer to each goes out on stdout.

    python benchmarks/gradbench/run.py

`define` imports the eval's file from this folder and runs each of its functions once on a small example, so that
all compiling is over, as it is for the tools in C++; `evaluate` runs a function as often and as long as its input asks
(`min_runs`, `min_seconds`), and says how long each run took, without reading the input and writing the output.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

EVALS = ("hello", "llsq", "lse", "gmm", "ode", "lstm", "ba", "det")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["kind"] == "end":
            break
        print(json.dumps({"id": message["id"], **answer(message)}), flush=True)


def answer(message: dict[str, Any]) -> dict[str, Any]:
    try:
        match message["kind"]:
            case "start":
                return {"tool": "srcgrad"}
            case "define":
                return define(message["module"])
            case "evaluate":
                return evaluate(message["module"], message["function"], message["input"])
    except Exception:
        return {"success": False, "error": traceback.format_exc()}
    return {}


def define(module: str) -> dict[str, Any]:
    if module not in EVALS:
        return {"success": False, "error": f"srcgrad has no eval {module!r}; it has {', '.join(EVALS)}"}
    start = time.perf_counter_ns()
    example = importlib.import_module(module).EXAMPLE
    for function in importlib.import_module(module).FUNCTIONS:
        evaluate(module, function, example)
    return {"success": True, "timings": [timing("define", start)]}


def evaluate(module: str, function: str, given: Any) -> dict[str, Any]:
    prepare, call, show = importlib.import_module(module).FUNCTIONS[function]
    runs, seconds = (given.get("min_runs", 1), given.get("min_seconds", 0)) if isinstance(given, dict) else (1, 0)
    arguments = prepare(given)
    timings: list[dict[str, Any]] = []
    spent = 0
    output = None
    while len(timings) < runs or spent < 1e9 * seconds:
        del output  # its memory serves the next run
        start = time.perf_counter_ns()
        output = call(*arguments)
        timings.append(timing("evaluate", start))
        spent += timings[-1]["nanoseconds"]
    return {"success": True, "output": show(output), "timings": timings}


def timing(name: str, start: int) -> dict[str, Any]:
    return {"name": name, "nanoseconds": time.perf_counter_ns() - start}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    main()
