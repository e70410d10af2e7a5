"""Which variables of compiled code need no slot, and parts of what was put together (backends/set_once, folding)."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numba.core.analysis import compute_cfg_from_blocks, compute_dead_maps, compute_live_map, compute_use_defs
from numba.core.compiler import run_frontend
from numba.core.runtime import _nrt_python, rtsys

from srcgrad import grad
from srcgrad.backends.folding import FoldingBuilder
from srcgrad.backends.lifetimes import let_go_once
from srcgrad.backends.set_once import set_once
from srcgrad.errors import BroadcastError

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
# Which hold on to memory wherever they are deleted


def read_in_one_branch(x, n):
    a = x * 2.0
    if n > 2:
        return a
    return x


def read_in_one_of_three(x, n):
    a = x * 2.0
    if n > 2:
        if n > 4:
            s = a + 1.0
        else:
            s = x + 1.0
    else:
        s = x
    return s + n


def made_in_one_branch(x, n):
    s = x
    if n > 2:
        a = x * 2.0
        if n > 4:
            s = a
    return s


def raises_on_the_way(x, n):
    a = x * 2.0
    s = x
    for i in range(n):
        b = a * i
        if i > 3:
            raise ValueError("too many")
        c = b + 1.0
        if i > 2:
            break
        s = c * b
    return s


@pytest.mark.parametrize(
    ("function", "once", "not_once"),
    [
        (read_behind_a_loop, {"a", "b"}, set()),
        (read_before_it_is_set_again, set(), {"last"}),
        (read_in_one_branch, {"a"}, set()),
        (read_in_one_of_three, {"a"}, set()),
        (made_in_one_branch, set(), {"a"}),
        (raises_on_the_way, {"b", "c"}, {"s"}),
    ],
)
def test_which_are_let_go_once(function: Callable[..., Any], once: set[str], not_once: set[str]) -> None:
    blocks = run_frontend(function).blocks
    flow, seen = compute_cfg_from_blocks(blocks), compute_use_defs(blocks)
    live = compute_live_map(flow, blocks, seen.usemap, seen.defmap)
    found = let_go_once(flow, seen.defmap, live, compute_dead_maps(flow, blocks, live, seen.defmap))
    assert once <= found and not not_once & found


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


def refused_here_and_there(x, y, n):
    total = 0.0
    first = np.sin(x)
    for i in range(n):
        z = first * (i + 1.0)
        if i % 2 == 0:
            w = z[: i + 1] * x[: i + 1]
            total += np.sum(w * y)
            if total > 40.0:
                raise ValueError("too large")
        else:
            total += np.sum(z * np.cos(z))
    if total < -2.0:
        return np.sum(first)
    return total


def sorted_and_perhaps_read(x, n):
    total = 0.0
    for i in range(n):
        if i % 2 == 0:
            first = np.sort(x * (i + 1.0))
            if i % 4 == 0:
                total += first[i] * first[0]
        total += x[i]
    return total


@pytest.mark.parametrize("function", [arrays_here_and_there, refused_here_and_there, sorted_and_perhaps_read])
def test_all_memory_is_let_go(function: Callable[..., Any]) -> None:
    """Also where an exception ends the function, at each of its places."""
    f, x = grad(function), np.linspace(0.3, 1.7, 9)
    others = [(y,) for y in (np.ones(1), np.ones(3), np.ones(5), 100.0 * np.ones(1), -100.0 * np.ones(1))]
    given = [(x, *more, n) for more in (others if function is refused_here_and_there else [()]) for n in range(7)]

    def call() -> int:
        raised = 0
        for args in given:
            try:
                f(*args)
                f.value_and_backward(*args, 1.0)
            except (ValueError, BroadcastError):
                raised += 1
        return raised

    raised = call()
    assert (raised >= 10) == (function is refused_here_and_there)
    gc.collect()
    was_counted = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        assert call() == raised
        gc.collect()
        after = rtsys.get_allocation_stats()
    finally:
        if not was_counted:
            _nrt_python.memsys_disable_stats()
    assert after.mi_alloc > before.mi_alloc
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


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
