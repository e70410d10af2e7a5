"""Machine code on disk: never stale, never executed when damaged, and right when several processes fill it at once."""

from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import srcgrad
from srcgrad import grad
from srcgrad.backends import files

ROOT = Path(srcgrad.__file__).parent.parent
PARAMETERS = """\
from dataclasses import dataclass

import numpy as np


@dataclass
class Layer:
    w: np.ndarray
    b: float


def of_a_dict(p):
    return (p["w"] ** 2).sum() * p["b"]


def of_an_object(layer):
    return (layer.w**2).sum() * layer.b


def of_other_keys(p):
    return (p[1] ** 2).sum() * p[True and 2]
"""
MODEL = """\
import numpy as np

import parameters
from srcgrad import grad


@grad
def f(x):
    return (x * x * {factor}).sum()


class Negative(Exception):
    pass


@grad
def raises(x):
    if x < 0.0:
        raise Negative("no")
    return x * x


w = np.array([1.0, 2.0])
print(f.backward(w).tolist())
try:
    raises(-1.0)
except Negative:
    print(raises(2.0))
print(grad(parameters.of_a_dict).backward({{"w": w, "b": 3.0}}))
print(grad(parameters.of_an_object).backward(parameters.Layer(w, 3.0)))
print(grad(parameters.of_other_keys).backward({{1: w, 2: 3.0}}))
"""
PRINTED = """\
{f}
4.0
{{'w': array([ 6., 12.]), 'b': 5.0}}
Layer(w=array([ 6., 12.]), b=5.0)
{{1: array([ 6., 12.]), 2: 5.0}}"""


def run(script: Path, folder: Path, **environment: str) -> str:
    """What a new process prints."""
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SRCGRAD_CACHE_DIR": str(folder), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.bin"))


def test_a_second_process_loads_and_a_damaged_file_is_rebuilt_and_a_changed_source_is_never_stale(tmp_path):
    """Cotangents in dicts and objects are told by their keys, and made by a class that the other process finds by its
    name; the user's own exception is the same class in every process."""
    (tmp_path / "parameters.py").write_text(PARAMETERS)
    model, folder = tmp_path / "model.py", tmp_path / "cache"
    model.write_text(MODEL.format(factor=1.0))
    assert run(model, folder) == PRINTED.format(f="[2.0, 4.0]")
    paths = kept(folder)
    assert len(paths) == 4  # what raises the class of this very process is not kept
    before = [path.stat().st_mtime_ns for path in paths]
    assert run(model, folder) == PRINTED.format(f="[2.0, 4.0]")
    assert [path.stat().st_mtime_ns for path in paths] == before  # loaded, not compiled again
    first, second = (path for path in paths if path.name.startswith(("of_a_dict", "of_other_keys")))
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    content = first.read_bytes()
    first.write_bytes(content[: len(content) // 2])
    flipped = bytearray(second.read_bytes())
    for i in range(len(flipped) // 2, len(flipped) // 2 + 64):
        flipped[i] ^= 0xFF
    second.write_bytes(flipped)
    assert files.read(first) is files.read(second) is None
    model.write_text(MODEL.format(factor=2.0))
    assert run(model, folder) == PRINTED.format(f="[4.0, 8.0]")
    assert all(files.read(path) for path in paths)


def test_a_sound_file_under_another_name_is_foreign(tmp_path):
    path, other = tmp_path / "a.bin", tmp_path / "b.bin"
    files.write(path, b"payload")
    assert files.read(path) == b"payload"
    other.write_bytes(path.read_bytes())
    assert files.read(other) is None
    other.write_bytes(b"something else")
    assert files.read(other) is None
    other.write_bytes(b"")
    assert files.read(other) is None
    assert files.read(tmp_path / "none.bin") is None


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    files.write(path, b"before")
    monkeypatch.setattr(os, "replace", lambda *args: (_ for _ in ()).throw(OSError("disk full")))
    files.write(path, b"after")
    assert files.read(path) == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_is_private_and_has_a_fallback(tmp_path, monkeypatch):
    monkeypatch.setenv("SRCGRAD_CACHE_DIR", str(tmp_path / "mine"))
    folder = files.folder()
    assert folder.is_relative_to(tmp_path / "mine") and stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o777)
    assert files.is_private(folder) and stat.S_IMODE(folder.stat().st_mode) == 0o700
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SRCGRAD_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert files.folder().is_relative_to(tmp_path / "xdg" / "srcgrad")
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert not files.is_private(link)


def test_without_cache_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SRCGRAD_CACHE_DIR", str(tmp_path))
    f = grad(lambda x: x * 17.0, cache=False)
    assert f(2.0) == 34.0
    assert kept(tmp_path) == []
    (source,) = tmp_path.rglob("*.py")  # a real file, for pdb and tracebacks
    assert source.read_text() == f.source(2.0, kind="primal")


def _fill(folder: str, barrier, results) -> None:
    os.environ["SRCGRAD_CACHE_DIR"] = folder
    f = grad(lambda x: (x * x * 3.0625).sum())  # of no other test: what this process has compiled, it has not to keep
    barrier.wait()
    results.put(f.backward(np.array([1.0, 2.0])).tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="new processes cost seconds each")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_eight_processes_fill_the_cache_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(8), context.Queue()
    processes = [context.Process(target=_fill, args=(str(tmp_path), barrier, results)) for _ in range(8)]
    for process in processes:
        process.start()
    assert [results.get(timeout=60) for _ in processes] == [[6.125, 12.25]] * 8
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    (path,) = kept(tmp_path)
    assert files.read(path) is not None


def test_objects_of_two_classes_of_one_name_stay_apart():
    """In one process, what was compiled for the one is not called for the other."""

    def made():
        class Layer:
            def __init__(self, w):
                self.w = w

        return Layer

    for cls in (made(), made()):
        assert type(grad(lambda layer: (layer.w**2).sum()).backward(cls(np.ones(2)))) is cls


DRAWS = """
import sys

import numpy as np

from srcgrad import grad


def first(x, n):
    rng, s = np.random.default_rng(7), 0.0
    for i in range(n):
        s += rng.geometric(0.2) * x + rng.standard_gamma(2.0) * x + rng.chisquare(3.0) * x
    return s


def second(x, n):
    s = 0.0
    for i in range(n):
        s += np.random.uniform(1.0, 2.0) * x[0] + np.random.poisson(3.0) * x[1] + np.random.binomial(10, 0.3) * x[0]
        s += np.random.normal(0.0, 1.0) * x[3] + np.random.geometric(0.3) * x[1] + np.random.exponential(1.5) * x[2]
        s += np.random.beta(1.0, 2.0) * x[0] + np.random.standard_gamma(1.5) * x[1]
    return s


grad(first, wrt="x")(1.5, 7)
if sys.argv[1:]:
    x = np.array([0.3, 0.7, 1.1, 0.2])
    f, values = grad(second, wrt="x"), []
    for function in (second, f):
        np.random.seed(5)
        values.append(function(x, 7))
    np.testing.assert_allclose(*values, rtol=1e-14)
"""


def test_stored_functions_are_not_taken_for_new_ones_of_their_names(tmp_path: Path) -> None:
    """Numba numbers functions of one name from 1 in each process."""
    script = tmp_path / "draws.py"
    script.write_text(DRAWS)
    folder = tmp_path / "kept"
    folder.mkdir(mode=0o700)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SRCGRAD_CACHE_DIR": str(folder)}
    for arguments in ((), ("second",)):
        done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
