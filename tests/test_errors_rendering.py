"""How errors look: the four parts, exactly."""

from __future__ import annotations

import linecache
import pickle
import traceback

import pytest

import srcgrad
from srcgrad.errors import place
from srcgrad.ir.expressions import Span

MODEL = """\
import numpy as np


def model(r):
    q = np.sort(r, axis=None)
\tétat = r +\\
        q
    return état
"""


@pytest.fixture(autouse=True)
def model_file():
    linecache.cache["model.py"] = (len(MODEL), None, MODEL.splitlines(keepends=True), "model.py")
    yield
    del linecache.cache["model.py"]


def test_four_parts():
    error = srcgrad.UnsupportedError(
        "np.sort has no derivative rule for axis=None",
        span=Span("model.py", 5, 8, 5, 15),
        because="reached from the output through q",
        help=(
            "sort a flat view instead:  q = np.sort(r.ravel())",
            "or give srcgrad your own rule:  @srcgrad.rule(my_sort)",
        ),
    )
    expected = """\
srcgrad.UnsupportedError: np.sort has no derivative rule for axis=None
  File "model.py", line 5
  5 |     q = np.sort(r, axis=None)
    |         ^^^^^^^ reached from the output through q
  help: sort a flat view instead:  q = np.sort(r.ravel())
  help: or give srcgrad your own rule:  @srcgrad.rule(my_sort)
"""
    assert "".join(traceback.format_exception_only(error)) == expected


def test_the_function_is_named_where_it_is_known():
    error = srcgrad.ShapeError("no", span=Span("model.py", 5, 8, 5, 15, "model"))
    assert str(error).splitlines()[1] == '  File "model.py", line 5, in model'


def test_columns_count_bytes_and_tabs_stay_tabs():
    error = srcgrad.UnsupportedError("no", span=Span("model.py", 6, 1, 6, 6))
    assert str(error) == 'no\n  File "model.py", line 6\n  6 | \tétat = r +\\\n    | \t^^^^'


def test_a_span_of_several_lines_is_marked_to_the_end_of_the_first():
    error = srcgrad.UnsupportedError("no", span=Span("model.py", 6, 9, 7, 9), because="why")
    assert str(error).endswith("\n    | \t       ^^^^ why")


def test_without_a_place_or_without_its_source():
    assert str(srcgrad.ArgumentError("what", because="why", help=("do",))) == "what\n  because why\n  help: do"
    error = srcgrad.ArgumentError("what", span=Span("lost.py", 3, 0, 3, 1), because="why")
    assert str(error) == 'what\n  File "lost.py", line 3\n  because why'


def test_errors_of_compiled_code_take_a_template_and_numbers():
    where = place(Span("model.py", 5, 8, 5, 15))
    error = srcgrad.BroadcastError("shapes ({},) and ({},) {do not} broadcast" + where, 3, 4)
    assert str(error) == (
        'shapes (3,) and (4,) {do not} broadcast\n  File "model.py", line 5\n'
        "  5 |     q = np.sort(r, axis=None)\n    |         ^^^^^^^"
    )
    assert place(None) == ""


def test_files_of_one_name_are_told_apart(tmp_path):
    places = []
    for line, folder in enumerate(("first", "second"), 1):
        path = tmp_path / folder / "model.py"
        path.parent.mkdir()
        path.write_text("\n" * (line - 1) + f"y = {folder}[k]\n")
        places.append(place(Span(str(path), line, 4, line, 7)))
    for folder, where in zip(("first", "second"), places, strict=True):
        text = str(srcgrad.BoundsError("index {} is out of bounds" + where, 3))
        assert f"{folder}/model.py" in text and f"y = {folder}[k]" in text


@pytest.mark.parametrize(
    "error, builtin",
    [
        (srcgrad.UnsupportedError, NotImplementedError),
        (srcgrad.LaterError, NotImplementedError),
        (srcgrad.SourceError, OSError),
        (srcgrad.ArgumentError, TypeError),
        (srcgrad.NameArgumentError, NameError),
        (srcgrad.ValueArgumentError, ValueError),
        (srcgrad.ZeroDivisionArgumentError, ZeroDivisionError),
        (srcgrad.ShapeError, ValueError),
        (srcgrad.OverlapError, ValueError),
        (srcgrad.OptionError, ValueError),
        (srcgrad.BroadcastError, ValueError),
        (srcgrad.CotangentShapeError, ValueError),
        (srcgrad.RuntimeShapeError, ValueError),
        (srcgrad.RuntimeUnsupportedError, NotImplementedError),
        (srcgrad.RuntimeOverflowError, OverflowError),
        (srcgrad.RuntimeZeroDivisionError, ZeroDivisionError),
        (srcgrad.ShortAxisError, ValueError),
        (srcgrad.BoundsError, IndexError),
        (srcgrad.DepthError, RecursionError),
    ],
)
def test_every_error_is_caught_as_the_builtin_that_it_is(error, builtin):
    assert issubclass(error, builtin) and issubclass(error, srcgrad.SrcgradError)
    assert error.__module__ == "srcgrad" and getattr(srcgrad, error.__name__) is error


def test_errors_travel_between_processes():
    error = srcgrad.UnsupportedError("no", span=Span("model.py", 5, 8, 5, 15), because="why", help=("do",))
    for one in (error, srcgrad.BroadcastError("{} and {}", 3, 4)):
        assert str(pickle.loads(pickle.dumps(one))) == str(one)


@pytest.mark.parametrize(("before", "behind"), [(0, 300), (300, 0), (300, 300), (4, 200)])
def test_a_long_line_is_cut_around_what_is_marked(before: int, behind: int) -> None:
    text = "a" * before + "what" + "z" * behind
    linecache.cache["long.py"] = (len(text), None, [text + "\n"], "long.py")
    _, _, line, carets = str(srcgrad.SrcgradError("no", span=Span("long.py", 1, before, 1, before + 4))).splitlines()
    assert len(line) < 160
    assert line[carets.index("^") : carets.rindex("^") + 1] == "what"
    assert ("... a" in line, "z ..." in line) == (before == 300, behind > 0)
