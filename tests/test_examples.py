"""Every example runs, and every Python block of README and docs/ runs and prints what its page says it prints."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import srcgrad
from docs.run_blocks import ROOT, pages, refreshed
from docs.support_table import PAGE, page

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 3, "an example prints something worth reading"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.stem)
def test_page_shows_what_its_blocks_print(path: Path) -> None:
    shown = path.read_text(encoding="utf-8").splitlines()
    assert refreshed(path).splitlines() == shown, "python docs/run_blocks.py rewrites the outputs that pages show"


def test_readme_gives_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("```sh\n") >= 2, ".ci/run takes its commands from README's first two sh blocks"
    assert "examples/worked_examples.py" in text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="math.cbrt and math.exp2 are newer")
def test_table_of_what_is_supported_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python docs/support_table.py rewrites it"


def test_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [name for name in srcgrad.__all__ if not re.search(rf"\b{name}\b", text)] == []
