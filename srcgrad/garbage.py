"""No search for garbage while a program is transformed and compiled.

Trees and tables are made by the hundred thousand, and hardly ever in cycles: Python's search for cycles among them, and
among all else that the process holds, takes a fifth of the time of a first call.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Objects in cycles stay until the end; all others go when nobody refers to them, as ever."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def here_to_stay() -> None:
    """All that there is goes to the objects that Python searches least often, without being looked through first."""
    if not gc.get_freeze_count():  # somebody else's are not let go
        gc.freeze()
        gc.unfreeze()


__all__ = ["here_to_stay", "no_search_for_garbage"]
