"""The examples that are for a GPU, on one or in the simulator."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_pendulums(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "pendulums.py"), run_name="__main__")
    assert "GPU" in capsys.readouterr().out
