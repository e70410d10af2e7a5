"""The examples that are for a GPU, on one or in the simulator."""

import runpy
from pathlib import Path

import pytest
from numba import cuda
from numba.core import config

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.skipif(
    not (config.ENABLE_CUDASIM or cuda.is_available()), reason="no GPU, and NUMBA_ENABLE_CUDASIM is not set"
)


def test_pendulums(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "pendulums.py"), run_name="__main__")
    assert "GPU" in capsys.readouterr().out
