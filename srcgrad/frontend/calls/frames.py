"""The calls that are under way: whose names are whose."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...ir.expressions import Span
from ..syntax.source import Source


@dataclass
class Frame:
    """One call: its names, and where names come from that it does not bind itself."""

    source: Source
    function: Callable[..., Any] | None
    env: dict[str, Any] = field(default_factory=dict)
    parent: Frame | None = None
    depth: int = 0  # of the loops and branches that the call is in
    called_at: Span | None = None
    is_composition: bool = False  # of ours: what happens in it happens at the line of the call
    statement: ast.stmt | None = None  # that is being interpreted

    def bound(self, name: str) -> Any:
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env:
                return frame.env[name]
            frame = frame.parent
        return None
