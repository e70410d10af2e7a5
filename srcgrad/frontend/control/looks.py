"""First looks at what runs under conditions: is it plain numbers, of which one is selected, or does it take branches?

a if p else (b if q else x[0])      →      if p: t = a      (a look at the whole finds that the inner one is not plain;
                                           else: if q: …     so the branches need no look at that again)

Each look interprets what it looks at; without a memory of what it found, each level would double the work of the next.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Looks:
    """What was found, in the order of interpretation, and what is about to be found again."""

    def __init__(self) -> None:
        self.found: list[tuple[ast.expr, bool]] = []
        self.ahead: deque[tuple[ast.expr, bool]] = deque()

    def begin(self, node: ast.expr) -> int | None:
        """Where a look at what is in a node is noted; None, if it is known to find that it is not plain."""
        known, is_plain = self.ahead.popleft() if self.ahead else (node, True)
        if known is not node:  # this time it is another way
            self.ahead.clear()
            is_plain = True
        self.found.append((node, is_plain))
        return len(self.found) - 1 if is_plain else None

    @contextmanager
    def again(self, look: int | None) -> Iterator[None]:
        """What a look has found not to be plain is interpreted again, with what was found in it."""
        if look is None:  # that is known from a look at what is around
            yield
            return
        self.ahead = deque(self.found[look + 1 :])
        self.found[look:] = [(self.found[look][0], False)]
        try:
            yield
        finally:
            self.ahead.clear()
