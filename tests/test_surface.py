"""Every call of the surface: value, dtype and gradient against NumPy; and each family compiled, as one program."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
from corpus.registry import BOTH, Program, case
from support import from_text
from surface import FAMILIES, module_of
from test_corpus import Trial, check_both, check_primal

from srcgrad.passes import order

pytestmark = pytest.mark.filterwarnings("ignore")

EVERY = [pytest.param(f, k, id=f"{f}-{one.text}") for f, calls in FAMILIES.items() for k, one in enumerate(calls)]


@functools.cache
def module(family: str) -> dict[str, Any]:
    return from_text(module_of(FAMILIES[family]), "call_0").__globals__


def function(family: str, name: str) -> Any:
    return module(family)[name]


def program_of(family: str, k: int) -> Program:
    one = FAMILIES[family][k]
    return Program(function(family, f"call_{k}"), (case(*one.arguments.values()),), loose=one.loose)


@contextmanager
def as_lowered() -> Iterator[None]:
    """Without the passes that could be left out: these hide what is wrong before them, and take half of the time."""
    with ExitStack() as left_out:
        for name in order.OPTIONAL:
            left_out.enter_context(order.without(name))
        yield


@pytest.mark.parametrize(("family", "k"), EVERY)
def test_call(family: str, k: int) -> None:
    with as_lowered() if k % 5 else nullcontext():
        check_both(Trial(program_of(family, k), 0, BOTH[0], jit=False))


@pytest.mark.parametrize(("family", "k"), EVERY[::4])
def test_primal_in_single_precision(family: str, k: int) -> None:
    with as_lowered():
        check_primal(Trial(program_of(family, k), 0, BOTH[1], jit=False))


@pytest.mark.parametrize("family", FAMILIES)
def test_family_compiled(family: str) -> None:
    chosen = [one for one in FAMILIES[family] if one.compiled]
    arguments = [argument for one in chosen for argument in one.arguments.values()]
    loose = max((one.loose for one in chosen), default=1.0)
    assert chosen, "one call of a family at least is compiled"
    trial = Trial(Program(function(family, "compiled"), (case(*arguments),), loose=loose), 0, np.dtype(float), jit=True)
    check_both(trial)
