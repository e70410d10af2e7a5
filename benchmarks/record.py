"""Where figures go: `benchmarks/results/NAME.json`, each with its date, machine and versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("srcgrad", "numba", "numba-cuda", "numpy", "scipy", "jax", "torch", "autograd")


def save(name: str, figures: dict[str, Any]) -> Path:
    """Write the figures of one benchmark, and where they come from."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    text = json.dumps({"date": datetime.date.today().isoformat(), "machine": machine(), "figures": figures}, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def is_of_today(name: str) -> bool:
    """Were these figures measured on this day, on this machine, with these versions?"""
    saved = load(name)
    return saved["date"] == datetime.date.today().isoformat() and saved["machine"] == machine()


def show(name: str, table: str, page: str = "docs/performance.md") -> None:
    """Put a table between the marks of that name on a page."""
    path = Path(__file__).parent.parent / page
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    assert after, f"{page} has no marks for {name}"
    path.write_text(f"{before}{begin}\n\n{table.strip()}\n\n{end}{after}", encoding="utf-8")


def load(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: version for package in PACKAGES if (version := _version(package))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    names = [facts.get("model name", platform.processor()), f"model {facts['model']}" if "model" in facts else ""]
    return ", ".join(name for name in names if name)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        if package == "srcgrad":
            import srcgrad

            return srcgrad.__version__
        return ""
