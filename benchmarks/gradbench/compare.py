"""srcgrad beside other tools of GradBench, on the suite's own evals.

    python benchmarks/gradbench/compare.py --suite PATH [--tools srcgrad manual jax] [--evals gmm] [-- -d 10 -k 25]

PATH is a checkout of github.com/gradbench/gradbench in which those tools run.  What stands after `--` goes to the evals
(their sizes); they validate every answer.  A time is the median of the runs of one evaluation, without the first of
them, where JAX compiles.  Everything runs on one core.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from benchmarks import record  # noqa: E402
from benchmarks.gradbench.contest import Contestant, Process, Row, contest  # noqa: E402
from benchmarks.gradbench.run import EVALS  # noqa: E402

GRADIENTS = ("gradient", "jacobian")  # hello has none that is worth a time
NO_CONTEST = ("ode", "det")  # manual has a closed form there, or computes as many determinants as there are entries
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

Figures = dict[str, dict[str, dict[str, Any]]]  # eval, then function and size, then tool


def main() -> None:
    options = arguments()
    os.sched_setaffinity(0, {options.core})
    figures: Figures = {}
    for module in options.evals:
        rounds = []
        for _ in range(options.rounds):
            contestants = [contestant(tool, module, options) for tool in options.tools]
            contest(contestants)
            rounds.append({one.name: list(one.rows.values()) for one in contestants})
        figures[module] = gathered(rounds)
        print(table(module, figures[module], options), flush=True)
    print(summary(figures, options.by))
    if options.save:
        about = {"versions": versions(options), "tools": options.tools, "options": options.sizes}
        print(f"written to {record.save(options.save, {**about, 'evals': figures})}")
    if options.save == "gradbench":
        publish()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True, help="a checkout of GradBench")
    parser.add_argument("--tools", nargs="+", default=["srcgrad", "manual", "jax", "pytorch", "codipack", "adept"])
    parser.add_argument("--evals", nargs="+", default=list(EVALS), choices=EVALS)
    parser.add_argument("--peers-python", default=sys.executable, help="for the evals, jax and pytorch")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one answer; after that, no larger sizes")
    parser.add_argument("--min-runs", type=int, default=6)
    parser.add_argument("--min-seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=1, help="of everything; the best of them counts, for every tool")
    parser.add_argument("--by", choices=("median", "least"), default="median", help="least: for a busy machine")
    parser.add_argument("--core", type=int, default=0, help="everything runs on this one")
    parser.add_argument("--save", metavar="NAME", help="write benchmarks/results/NAME.json")
    parser.add_argument("sizes", nargs="*", help="after --: for the evals")
    options = parser.parse_args()
    options.suite = options.suite.resolve()
    return options


def contestant(tool: str, module: str, options: argparse.Namespace) -> Contestant:
    python = str(options.suite / "python" / "gradbench")
    path = os.pathsep.join(filter(None, (python, os.environ.get("PYTHONPATH"))))
    environment = {**ONE_THREAD, "PYTHONPATH": path}
    asking = [options.peers_python, f"{python}/gradbench/evals/{module}/run.py"]
    if module != "hello":
        asking += [f"--min-runs={options.min_runs}", f"--min-seconds={options.min_seconds}", *options.sizes]
    start = partial(Process, command(tool, python, options), options.suite, environment)
    return Contestant(tool, module, Process(asking, options.suite, environment), start, options.limit)


def command(tool: str, python: str, options: argparse.Namespace) -> list[str]:
    match tool:
        case "srcgrad":
            return [sys.executable, str(HERE / "run.py")]
        case "jax":
            return [options.peers_python, str(HERE / "waiting_jax.py"), str(options.suite), "--multithreaded"]
        case "pytorch" | "tensorflow":
            return [options.peers_python, f"{python}/gradbench/tools/{tool}/run.py"]
    return [options.peers_python, f"{python}/gradbench/cpp.py", tool]


def gathered(rounds: list[dict[str, list[Row]]]) -> dict[str, dict[str, Any]]:
    """Of each evaluation and tool: valid in every round, and milliseconds, median and least, in the best of them."""
    result: dict[str, dict[str, Any]] = {}
    for answers in rounds:
        for tool, rows in answers.items():
            for row in rows:
                mine = result.setdefault(f"{row.function} {row.size}", {}).setdefault(tool, {"valid": True})
                mine["valid"] = mine["valid"] and row.valid
                if row.error:
                    mine["error"] = row.error[-300:]
                for name, figure in (("median", statistics.median), ("least", min)) if row.nanoseconds else ():
                    spent = figure(row.nanoseconds[1:] or row.nanoseconds) / 1e6
                    mine[name] = min(spent, mine.get(name, spent))
    return result


def ratios(answers: dict[str, Any], by: str) -> dict[str, float]:
    """srcgrad's time over that of `manual`, and over that of the fastest tool that differentiates."""
    spent = {tool: mine[by] for tool, mine in answers.items() if mine["valid"] and by in mine}
    own, by_hand = spent.pop("srcgrad", None), spent.pop("manual", None)
    found = {}
    if own and by_hand:
        found["manual"] = own / by_hand
    if own and spent:
        found["fastest other"] = own / min(spent.values())
    return found


def table(module: str, figures: dict[str, Any], options: argparse.Namespace) -> str:
    tools, by = options.tools, options.by
    valid = [f"{tool} {share(figures, tool)}" for tool in tools]
    lines = [f"| {module}, ms | {' | '.join(tools)} | / manual | / fastest other |", "|---" * (len(tools) + 3) + "|"]
    for name, answers in figures.items():
        if name.split()[0] in GRADIENTS:
            cells = [cell(answers.get(tool, {}), by) for tool in tools]
            shares = ratios(answers, by)
            cells += [f"{shares[other]:.2f}" if other in shares else "" for other in ("manual", "fastest other")]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, f"valid: {', '.join(valid)}", ""])


def share(figures: dict[str, Any], tool: str) -> str:
    """How many of its evaluations the eval found to be right."""
    return f"{sum(answers.get(tool, {}).get('valid', False) for answers in figures.values())}/{len(figures)}"


def cell(mine: dict[str, Any], by: str) -> str:
    if by not in mine:
        return "-"
    return f"{mine[by]:.4g}" + ("" if mine["valid"] else " (wrong)")


def summary(figures: Figures, by: str) -> str:
    lines = ["| geometric means | / manual | worst | / fastest other | worst |", "|---|---|---|---|---|"]
    means: dict[str, list[float]] = {"manual": [], "fastest other": []}
    for module, answers in figures.items():
        shares = [ratios(each, by) for name, each in answers.items() if name.split()[0] in GRADIENTS]
        cells = []
        for other, column in means.items():
            found = [share[other] for share in shares if other in share]
            if found and not (other == "manual" and module in NO_CONTEST):
                column.append(mean(found))
            cells += [f"{mean(found):.2f}", f"{max(found):.2f}"] if found else ["", ""]
        lines.append(f"| {module} | {' | '.join(cells)} |")
    total = [f"{mean(column):.2f}" if column else "" for column in means.values()]
    lines.append(f"| all (manual: without {', '.join(NO_CONTEST)}) | {total[0]} | | {total[1]} | |")
    return "\n".join(lines)


def publish() -> None:
    """From results/gradbench.json to docs/performance.md."""
    saved = record.load("gradbench")
    figures, machine, versions = saved["figures"]["evals"], saved["machine"], saved["figures"]["versions"]
    lines = [
        f"{saved['date']}; {machine['processor']}, one core; numba {machine['numba']}; {versions['peers']}; "
        f"{versions['compiler']}, -O3 -march=native.",
        "",
        "| eval | valid | / manual | worst | / fastest other tool | worst | which it is |",
        "|---|---|---|---|---|---|---|",
    ]
    for module, answers in figures.items():
        rows = {name: each for name, each in answers.items() if name.split()[0] in GRADIENTS}
        shares = {name: ratios(each, "median") for name, each in rows.items()}
        cells = [share(answers, "srcgrad")]
        for other in ("manual", "fastest other"):
            found = {name: each[other] for name, each in shares.items() if other in each}
            worst = max(found, key=lambda name: found[name], default="")
            no_contest = other == "manual" and module in NO_CONTEST
            known = bool(found) and not no_contest
            cells += (
                [f"{mean(found.values()):.2f}", f"{found[worst]:.2f} ({worst.split(maxsplit=1)[1]})"]
                if known
                else ["", ""]
            )
        lines.append(f"| {module} | {' | '.join(cells)} | {', '.join(fastest(rows.values()))} |")
    record.show("gradbench", "\n".join(lines))


def fastest(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The tools that are the fastest beside srcgrad and the adjoint by hand, the most frequent first."""
    count: dict[str, int] = {}
    for answers in rows:
        spent = {
            tool: mine["median"]
            for tool, mine in answers.items()
            if tool not in ("srcgrad", "manual") and mine["valid"] and "median" in mine
        }
        if spent:
            first = min(spent, key=lambda tool: spent[tool])
            count[first] = count.get(first, 0) + 1
    return sorted(count, key=lambda tool: -count[tool])


def mean(ratios: Iterable[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def versions(options: argparse.Namespace) -> dict[str, str]:
    show = "import importlib.metadata as m; print(*(f'{p} {m.version(p)}' for p in ('jax', 'torch')), sep=', ')"
    return {
        "suite": said("git", "-C", str(options.suite), "describe", "--always"),
        "compiler": said("c++", "--version").partition("\n")[0],
        "peers": said(options.peers_python, "-c", show),
    }


def said(*words: str) -> str:
    try:
        return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    main()
