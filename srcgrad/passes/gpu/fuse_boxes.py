"""Loops over a part of a grid are merged with loops over all of it, on a GPU: a thread more asks whether it takes part.

    for i in range(n):                           for i in range(n):
        u_b_next[i] = … (of u_b)                     u_b_next[i] = … (of u_b)
    for i in range(1, n - 1):              →         if 1 <= i < n - 1:
        rate_b += u_b[i] * …                             rate_b += u_b[i] * …

What both read is read once, and one kernel is launched.
"""

from __future__ import annotations

from dataclasses import replace

from ...analysis.conflicts import Conflicts
from ...analysis.effects import effects
from ...analysis.grids import in_box, is_parallel, nest_of, within
from ...analysis.signs import Signs
from ...ir import affine
from ...ir.info import roots_of
from ...ir.nodes import AddTo, Assign, Block, For, Function, If, Stmt, Store
from ...ir.walk import blocks, statements, with_blocks
from ..fuse import Fuser, with_contracted

BY_ELEMENT = (AddTo, Assign, If, Store)


def fuse_boxes(function: Function) -> Function:
    signs = Signs(function, never_negative=True)
    body = _Boxes(Fuser(roots_of(function), signs, function, frozenset())).block(function.body, frozenset())
    return with_contracted(function, body, signs)


class _Boxes:
    def __init__(self, fuser: Fuser) -> None:
        self.fuser = fuser

    def block(self, block: Block, around: frozenset[str]) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if blocks(stmt) and not is_parallel(stmt):
                index = {stmt.index.name} if isinstance(stmt, For) else set()
                stmt = with_blocks(stmt, tuple(self.block(b, around | index) for b in blocks(stmt)))
            if not (isinstance(stmt, For) and self.is_merged(out, stmt, around)):
                out.append(stmt)
        return tuple(out)

    def is_merged(self, out: list[Stmt], later: For, around: frozenset[str]) -> bool:
        """Merge a nest with an earlier one, if the one goes over all that the other does, and both over one array."""
        if not _is_nest(later):
            return False
        for k in reversed(range(len(out))):
            earlier = out[k]
            if not isinstance(earlier, For) or not _is_nest(earlier) or not _arrays(earlier) & _arrays(later):
                continue
            wide, narrow = _widened(earlier, later), _widened(later, earlier)
            for first, second in ((earlier, narrow), (wide, later)):
                if first is not None and second is not None and self.become_one(out, k, first, second, around):
                    return True
        return False

    def become_one(self, out: list[Stmt], at: int, first: For, second: For, around: frozenset[str]) -> bool:
        trial = [*out[:at], first, *out[at + 1 :]]
        before = sum(map(_is_nest, trial))
        if (
            not self.fuser.joined(trial, second, around, Conflicts(self.fuser.roots))
            or sum(map(_is_nest, trial)) != before
        ):
            return False
        out[:] = trial
        return True


def _is_nest(stmt: Stmt) -> bool:
    """Independent loops right within each other, around nothing but elements and numbers?"""
    nest = nest_of(stmt)
    return nest is not None and all(isinstance(s, BY_ELEMENT) for s in statements(nest[1]))


def _widened(stmt: For, to: For) -> For | None:
    """The nest over the ranges of another one, of which it takes its own part; None where it goes farther."""
    loops, body = nest_of(stmt) or ((), ())
    wide, _ = nest_of(to) or ((), ())
    if len(loops) != len(wide):
        return None
    for loop, other in zip(loops, wide, strict=True):
        ahead, behind = affine.sub(loop.start, other.start), affine.sub(other.stop, loop.stop)
        if not (affine.is_at_least(ahead, 0) and affine.is_at_least(behind, 0)):
            return None
    full = tuple(replace(loop, start=x.start, stop=x.stop, body=()) for loop, x in zip(loops, wide, strict=True))
    inside = in_box(full, [(loop.start, loop.stop) for loop in loops])
    if inside is None:
        return None  # the same ranges: there was a reason not to merge them
    return within(full, (If(inside, body),))  # type: ignore[return-value]


def _arrays(stmt: Stmt) -> set[str]:
    return {access.array.name for access in effects((stmt,)).accesses}


__all__ = ["fuse_boxes"]
