"""srcgrad against tapes, against JAX, and against adjoints by hand.

    python -m benchmarks tape                          everything; writes results/tape.json, plots, docs/performance.md
    python -m benchmarks tape --only gmm,rk4 --quick   some of it, with fewer repetitions; printed only
    python -m benchmarks tape --times                  without first calls and memory, which take processes of their own
    python -m benchmarks tape --only lu --update       in the place of their rows, on the machine and day of the others

Each row first checks that all contestants agree; who does not is an error in the row.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import bars, record, tables
from benchmarks.contestants import GRADIENTS
from benchmarks.processes import compiling, in_process, memory_of
from benchmarks.programs import chosen
from benchmarks.programs.program import Program


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tape")
    parser.add_argument("--only", help="programs whose names begin so: gmm,rk4")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions")
    parser.add_argument("--times", action="store_true", help="no first calls, no memory")
    parser.add_argument("--update", action="store_true", help="replace the rows of these programs in results/tape.json")
    parser.add_argument("--save", metavar="NAME", help="write the figures to results/NAME.json even so")
    options = parser.parse_args(arguments)
    if options.update and not record.is_of_today("tape"):
        parser.error("results/tape.json is of another day or machine: measure all programs")
    rows: list[dict[str, Any]] = []
    for program in chosen(options.only).values():
        for row in measured(program, "quick" if options.quick else "full", not options.times):
            rows.append(row)
            print(tables.line(row), flush=True)
            for words in bars.missed(row):
                print(f"      missed: {words}", flush=True)
    if options.update:
        record.save("tape", _in_place(rows, record.load("tape")["figures"]))
    whole = not (options.only or options.quick or options.times)
    if whole or options.save:
        record.save(options.save or "tape", rows)
    if whole or options.update:
        publish()


def _in_place(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows where the program's own stood."""
    new: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        new.setdefault(row["program"], []).append(row)
    kept: dict[str, list[dict[str, Any]]] = {}
    for row in others:
        kept.setdefault(row["program"], []).append(row)
    return [row for name in kept | new for row in new.get(name, kept.get(name, []))]


def publish() -> None:
    """From results/tape.json to the page and the plots."""
    from benchmarks import plots

    saved = record.load("tape")
    plots.tape(saved)
    record.show("tape", tables.tape(saved))
    record.show("in short", tables.in_short(saved), page="README.md")


def measured(program: Program, effort: str, processes: bool) -> list[dict[str, Any]]:
    """A row per size.  First calls are those at the first size."""
    rows = []
    contestants = [name for name in GRADIENTS if name in ("srcgrad", "autograd", "torch") or _has(program, name)]
    compiled = {name: compiling(program.name, name) for name in contestants} if processes else {}
    for index, size in enumerate(program.sizes):
        times = in_process("times", program.name, str(index), effort)
        if "failed" in times:
            times = {"primal": {}, "gradient": {"srcgrad": times["failed"]}}
        memory = {
            name: memory_of(program.name, index, name) for name in contestants if processes and name not in size.without
        }
        rows.append(
            {
                "program": program.name,
                "kind": program.kind,
                "size": program.label(size.arguments),
                **times,
                "first call": {name: spent["first"] for name, spent in compiled.items()},
                "second process": {name: spent["second"] for name, spent in compiled.items()},
                "peak memory": {name: _part(found, "peak") for name, found in memory.items()},
                "kept": {name: _part(found, "kept") for name, found in memory.items()},
            }
        )
    return rows


def _has(program: Program, contestant: str) -> bool:
    return getattr(program, contestant.replace(" ", "_")) is not None


def _part(found: Any, part: str) -> Any:
    return found.get(part, found.get("failed")) if isinstance(found, dict) else found
