"""Which variables of compiled code need no slot, and parts of what was put together (backends/set_once, folding)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numba.core.compiler import run_frontend

from srcgrad import grad
from srcgrad.backends.folding import FoldingBuilder
from srcgrad.backends.set_once import set_once

# --------------------------------------------------------------------------------------------------------------
# Programs as Numba sees them


def read_behind_a_loop(x, n):
    a = x * 2.0
    s = 0.0
    for i in range(n):
        b = a + i
        s += b
    return s + a


def read_where_it_may_not_be_set(x, n):
    for i in range(n):
        b = x * i
    return b


def read_before_it_is_set_again(x, n):
    last = x
    s = 0.0
    for i in range(n):
        s += last
        last = x + i
    return s


def set_in_both_branches(x, n):
    if n > 2:
        a = x
    else:
        a = x * 3.0
    return a


def set_in_one_branch(x, n):
    c = x + 1.0
    if n > 2:
        a = c * x
        if n > 4:
            return a * c
        return a
    return c


def added_to_itself(x, n):
    a = x
    if n > 2:
        a = a + 1.0
    return a


@pytest.mark.parametrize(
    ("function", "without", "with_slots"),
    [
        (read_behind_a_loop, {"x", "n", "a", "i", "b"}, {"s"}),
        (read_where_it_may_not_be_set, {"x", "n", "i"}, {"b"}),
        (read_before_it_is_set_again, {"x", "n", "i"}, {"last", "s"}),
        (set_in_both_branches, {"x", "n"}, {"a"}),
        (set_in_one_branch, {"x", "n", "c", "a"}, set()),
        (added_to_itself, {"x", "n"}, {"a"}),
    ],
)
def test_which_need_no_slot(function: Callable[..., Any], without: set[str], with_slots: set[str]) -> None:
    named = {name for name in set_once(run_frontend(function).blocks) if not name.startswith("$")}
    assert without <= named and not with_slots & named


# --------------------------------------------------------------------------------------------------------------
# What they are for: arrays that live in branches and loops


def arrays_here_and_there(x, n):
    total = 0.0
    for i in range(n):
        y = x * (i + 1.0)
        if i % 2 == 0:
            z = np.sin(y)
            if i % 4 == 0:
                total += np.sum(z * y)
                continue
            w = z[1:] * y[:-1]
            total += np.sum(w)
        else:
            total += np.sum(y**2)
    return total


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_arrays_set_in_branches_and_loops(n: int) -> None:
    x = np.linspace(0.3, 1.7, 9)
    compiled, plain = grad(arrays_here_and_there), grad(arrays_here_and_there, jit=False)
    for got, want in zip(
        compiled.value_and_backward(x, n, 1.0)[:2], plain.value_and_backward(x, n, 1.0)[:2], strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-13)


# --------------------------------------------------------------------------------------------------------------
# Parts

WORD = ir.IntType(64)
PAIR = ir.LiteralStructType([WORD, WORD])
NEST = ir.LiteralStructType([WORD, PAIR])


@pytest.fixture
def builder() -> FoldingBuilder:
    function = ir.Function(ir.Module(), ir.FunctionType(WORD, [WORD, WORD, PAIR]), "f")
    return FoldingBuilder(function.append_basic_block())


def test_a_part_is_what_was_put_there(builder: FoldingBuilder) -> None:
    x, y, pair = builder.function.args
    made = builder.insert_value(builder.insert_value(ir.Constant(PAIR, ir.Undefined), x, 0), y, 1)
    assert builder.extract_value(made, 0) is x and builder.extract_value(made, [1]) is y
    nest = builder.insert_value(ir.Constant(NEST, ir.Undefined), made, 1)
    assert builder.extract_value(nest, 1) is made
    assert builder.extract_value(nest, (1, 1)) is y
    other = builder.insert_value(nest, x, (1, 1))
    assert builder.extract_value(other, (1, 1)) is x and builder.extract_value(other, (1, 0)) is x


def test_what_is_not_known_is_taken_apart(builder: FoldingBuilder) -> None:
    x, _, pair = builder.function.args
    assert builder.extract_value(pair, 1).opname == "extractvalue"
    one = builder.insert_value(pair, x, 0)
    rest = builder.extract_value(one, 1)
    assert (rest.opname, rest.aggregate, tuple(rest.indices)) == ("extractvalue", pair, (1,))
    nest = builder.insert_value(builder.insert_value(ir.Constant(NEST, ir.Undefined), pair, 1), x, (1, 0))
    whole = builder.extract_value(nest, 1)  # the pair, with another number in it
    assert (whole.opname, whole.aggregate) == ("extractvalue", nest)


def test_parts_of_constants(builder: FoldingBuilder) -> None:
    pair = ir.Constant.literal_struct([ir.Constant(WORD, 3), ir.Constant(WORD, 4)])
    assert builder.extract_value(pair, 1).constant == 4
    assert builder.extract_value(ir.Constant(PAIR, ir.Undefined), 0).opname == "extractvalue"
