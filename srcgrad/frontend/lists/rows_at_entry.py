"""Arrays among the arguments, in the rows of one array that is made of them at the entry, once for all.

for t in range(n):        items = np.stack(P)
    v = P[a[t]] @ v  →    for t in range(n):
                              v = items[a[t]] @ v
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..array_values import ArrayValue, whole
from ..numpy.creation import stack

if TYPE_CHECKING:
    from ..interpret import Interpreter


def rows_at_entry(interpreter: Interpreter, items: Sequence[ArrayValue]) -> ArrayValue | None:
    """Arrays of one shape in rows, where they are read in a loop, and nobody writes them (see `WrittenAfterAll`)."""
    build = interpreter.build
    handles = tuple(item.handle for item in items if item.handle is not None)
    is_early = len(handles) == len(items) and all(build.conforms_at_entry(handle, handle.dims) for handle in handles)
    if not is_early or not interpreter.loops or interpreter.instance is not None:
        return None
    if handles not in build.rows_at_entry:
        with build.in_prologue():
            build.rows_at_entry[handles] = stack(build, items, 0).element.array  # type: ignore[attr-defined]
    rows = build.rows_at_entry[handles]
    for handle in handles:
        build.twin(rows, handle)
    return whole(rows)
