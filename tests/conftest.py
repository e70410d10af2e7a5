"""A cache folder of the session's own, the option that rewrites goldens, and a line on generated programs."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from srcgrad import dispatch
from srcgrad.recalled import Recalled

gc.set_threshold(0)  # trees are many small objects, and hardly ever in cycles: a tenth of the time

AT_ONCE = 4000  # tests whose garbage is looked for together: what they leave is a few gigabytes
finished = itertools.count(1)

collect_ignore_glob = ["simulated/*"]  # run by `test_cuda_runtime`, each in a process of its own


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden from what is generated now")


def pytest_collection_finish() -> None:
    """What is there by now stays to the end: searches for garbage need not look through it."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish() -> None:
    """What tests leave stays: a search that a test asks for looks through what it has made, and not through millions.

    What is in cycles is mostly the compilers': to look for it often costs more than to keep it a while.
    """
    if next(finished) % AT_ONCE == 0:
        gc.unfreeze()
        gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """What compilers have made all along is not looked through when the process ends either: that takes seconds."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tests neither read nor fill the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    before = os.environ.get("SRCGRAD_CACHE_DIR")
    os.environ["SRCGRAD_CACHE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["SRCGRAD_CACHE_DIR"]
    else:
        os.environ["SRCGRAD_CACHE_DIR"] = before


class NothingRecalled(Recalled):
    """For tests that change a part of srcgrad, and look at what comes of it beside what came before."""

    def get(self, function: Any, what: Any, how: Any, make: Callable[[frozenset[Any]], Any]) -> Any:
        return make(frozenset())


@pytest.fixture(autouse=True)
def nothing_recalled_by_what_is_changed(request: pytest.FixtureRequest) -> None:
    """A test that changes a part of srcgrad is not served what was generated before."""
    if "monkeypatch" in request.fixturenames:
        request.getfixturevalue("monkeypatch").setattr(dispatch, "RECALLED", NothingRecalled())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the generated-program tests did: how many programs, from which seed."""
    lines = [
        f"{report.nodeid.rsplit('::', 1)[-1]}: {value}"
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        for name, value in getattr(report, "user_properties", ())
        if name == "generated programs" and report.when == "call"
    ]
    if lines:
        terminalreporter.section("generated programs")
        for line in lines:
            terminalreporter.write_line(line)
