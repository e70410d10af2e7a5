"""Loops change places only where nobody can tell: which do, and that the user's sums are the same to the last bit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from corpus import FLOAT64, named

from srcgrad import grad

MOVED = {  # the loops of the nest, from the outside in: as written, and as they run
    "slide_a_window": ("i j a b", "i a b j"),
    "rows_by_columns": ("i j k", "i k j"),
    "down_each_column": ("j i", "i j"),
    "column_of_products": ("j i", "i j"),
}
AS_WRITTEN = (
    "one_sum_down_columns",
    "along_a_diagonal",
    "below_the_diagonal",
    "last_above_zero",
    "columns_that_meet",
    "columns_round_twice",
    "bound_set_inside",
    "row_that_grows",
)


def generated(name: str, kind: str) -> tuple[Any, str]:
    program = named(f"loops.{name}")
    args, _ = program.arguments(0, FLOAT64)
    return args, grad(program.function).source(*args, kind=kind)


def nests(text: str) -> Iterator[str]:
    """The indices of the loops that are one inside the other."""
    function = ast.parse(text).body[-1]
    for node in ast.walk(function):
        indices = []
        while isinstance(node, ast.For):
            indices.append(node.target.id)  # type: ignore[attr-defined]
            node = node.body[-1]
            while isinstance(node, ast.If) and node.orelse:  # versions for short rows, and the one for all others
                node = node.orelse[-1]
        yield " ".join(indices)


@pytest.mark.parametrize("name", MOVED)
def test_goes_to_the_inside(name: str) -> None:
    as_written, moved = MOVED[name]
    _, text = generated(name, "primal")
    assert moved in set(nests(text)), text
    assert as_written not in set(nests(text)), text


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_stays_as_it_is_written(name: str) -> None:
    _, text = generated(name, "primal")
    assert "j i" in set(nests(text)), text


@pytest.mark.parametrize("name", [*MOVED, *AS_WRITTEN])
def test_same_to_the_last_bit(name: str) -> None:
    program = named(f"loops.{name}")
    for position in range(len(program.cases)):
        args, _ = program.arguments(position, FLOAT64)
        assert np.array_equal(grad(program.function, jit=False)(*args), program.function(*args))


def test_the_sweep_of_a_sum_may_go_along_rows() -> None:
    """The user's sum keeps its order; what is added up in the sweep has none."""
    _, text = generated("one_sum_down_columns", "backward")
    assert "i j" in set(nests(text)), text
