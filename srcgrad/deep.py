"""Programs that are deeper than Python's own stack: sums of a thousand terms, a hundred functions within each other.

Trees are walked by functions that call themselves.  Python stops these after a thousand calls, for the sake of a stack
of 8 MB; a thread may have a larger one.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

STACK = 512 << 20  # bytes; those that are not touched take no memory
CALLS = 50_000
_is_deep: contextvars.ContextVar[bool] = contextvars.ContextVar("_is_deep", default=False)
_one_at_a_time = threading.Lock()  # the limit is the interpreter's


def deeper_if_need_be(work: Callable[P, T]) -> Callable[P, T]:
    """Where Python's own stack is not enough for it, it is done once more, with a larger one."""

    @wraps(work)
    def done(*args: P.args, **kwargs: P.kwargs) -> T:
        if _is_deep.get():
            return work(*args, **kwargs)
        if not _one_at_a_time.locked():  # while another thread has raised the limit, it guards no small stack
            with suppress(RecursionError):
                return work(*args, **kwargs)
        return _with_room(lambda: work(*args, **kwargs))

    return done


def _with_room(work: Callable[[], T]) -> T:
    result: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _is_deep.set(True)
        try:
            result.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    with _one_at_a_time, _limit_of_calls():
        before = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
        thread.join()
    if errors:
        raise errors[0]
    return result[0]


@contextmanager
def _limit_of_calls() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
