"""Pieces of parallel loops run at once in plain Python: a few bytecodes of one, then a few of another.

with pieces_at_once(seed=3) as counts:
    grad(f, parallel=True, jit=False).backward(x)       three pieces of every loop take turns; counts is [3, 3, …]

Where two pieces meet in an element or share scratch, the numbers are wrong at once, and the same for the same seed.
"""

from __future__ import annotations

import ast
import inspect
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from srcgrad import runtime
from srcgrad.passes.cpu import parallelise

PIECES = 3
Call = tuple[int, int, Callable[..., Any], tuple[Any, ...]]  # the number of a piece, its thread, and what it does


@contextmanager
def pieces_at_once(seed: int = 0) -> Iterator[list[int]]:
    """Modules that are made in here have all their loops split.  Yields the number of pieces of each loop run."""
    waiting: list[Call] = []
    counts: list[int] = []
    order = random.Random(seed)

    def parts_for(trips: int, work: Any, shared: Any, least: int) -> int:
        return max(1, min(PIECES, trips // least))

    def attempt(errors: Any, place: int, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        thread = sys._getframe(1).f_locals["chunk"]  # of loops whose iterations get longer it takes two pieces
        waiting.append((place, thread, function, args))  # the sums that it will return are filled in later
        count = len(_sums(function))
        return (0,) * count if count > 1 else 0

    def raise_first(errors: Any) -> None:
        caller = sys._getframe(1)
        counts.append(len(waiting))
        for group in _groups(caller, waiting):
            for (place, _, function, _), result in zip(group, _together(group, order), strict=True):
                _fill_in(caller, function, place, result)
        waiting.clear()

    ours = {"parts_for": parts_for, "attempt": attempt, "raise_first": raise_first}
    saved = {name: getattr(runtime, name) for name in ours}
    worth, parallelise.WORTH = parallelise.WORTH, -1
    vars(runtime).update(ours)
    try:
        yield counts
    finally:
        vars(runtime).update(saved)
        parallelise.WORTH = worth


def _groups(caller: FrameType, waiting: list[Call]) -> list[list[Call]]:
    """The pieces that may run at once: all, or first the even ones, then the odd ones."""
    if "parity" in caller.f_code.co_varnames:
        return [[call for call in waiting if call[0] % 2 == parity] for parity in range(2)]
    return [waiting]


def _sums(function: Callable[..., Any]) -> list[str]:
    (definition,) = ast.parse(inspect.getsource(function)).body
    last = definition.body[-1]  # type: ignore[attr-defined]
    return [node.id for node in ast.walk(last) if isinstance(node, ast.Name)] if isinstance(last, ast.Return) else []


def _fill_in(caller: FrameType, function: Callable[..., Any], place: int, result: Any) -> None:
    names = _sums(function)
    for name, value in zip(names, result if len(names) > 1 else [result], strict=False):
        caller.f_locals[f"{name}_part"][place] = value


def _together(group: list[Call], order: random.Random) -> list[Any]:
    """Run calls in threads of which one has its turn at any time; those of one thread one after the other."""
    results: list[Any] = [None] * len(group)
    errors: list[BaseException] = []
    alive = sorted({call[1] for call in group})
    turns = {me: threading.Semaphore(0) for me in alive}
    often = dict.fromkeys(alive, 0.3)

    def pass_on() -> None:
        if alive:
            turns[order.choice(alive)].release()

    def run(me: int, mine: list[tuple[int, Call]]) -> None:
        texts = {function.__code__ for _, (_, _, function, _) in mine}

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            if frame.f_code not in texts:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode" and order.random() < often[me]:
                pass_on()
                turns[me].acquire()
                often[me] = order.choice((0.3, 0.03, 0.003))  # now and then one runs far ahead
            return trace

        turns[me].acquire()
        sys.settrace(trace)
        try:
            for position, (_, _, function, args) in mine:
                results[position] = function(*args)
        except BaseException as error:
            errors.append(error)
        finally:
            sys.settrace(None)
            alive.remove(me)
            pass_on()

    of_thread = {me: [(position, call) for position, call in enumerate(group) if call[1] == me] for me in alive}
    threads = [threading.Thread(target=run, args=each) for each in of_thread.items()]
    for thread in threads:
        thread.start()
    pass_on()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
