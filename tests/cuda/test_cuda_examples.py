"""The sixteen worked examples of tests/test_backward_examples.py, with every function for a GPU."""

from __future__ import annotations

import functools
import importlib.util
import runpy
import sys
from pathlib import Path
from unittest import mock

import pytest

import srcgrad

ROOT = Path(__file__).parent.parent.parent
path = ROOT / "tests" / "test_backward_examples.py"
specification = importlib.util.spec_from_file_location("backward_examples_on_a_gpu", path)
assert specification and specification.loader
module = importlib.util.module_from_spec(specification)
sys.modules[module.__name__] = module
on_a_gpu = functools.partial(srcgrad.grad, target="cuda")
decorator = lambda function=None, **options: on_a_gpu(function, **options) if function else on_a_gpu(**options)
with mock.patch.object(srcgrad, "grad", decorator):
    specification.loader.exec_module(module)

globals().update({name: value for name, value in vars(module).items() if name.startswith("test_")})


def test_pendulums(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "pendulums.py"), run_name="__main__")
    assert "GPU" in capsys.readouterr().out
