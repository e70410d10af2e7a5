"""Which names have cotangents that are zero where a condition left their value out (edge case rule 3).

    r = (z - y)**2; total += 0.0 if isnan(r) else r      r is masked: where it is left out it contributes nothing, and
                                                         nothing times a nan is nothing here
    r = (z - y)**2; total += r; …                        r is not: if it is a nan, so is the total

A value is left out if each of its reads is one that a condition may pass by (one side of a choice, a branch, a position
that is looked up) or goes to what is masked itself; or if a branch overwrites it.  A read on either side of the same
condition passes nothing by.
"""

from __future__ import annotations

from typing import Any

from ..ir.expressions import Call, Const, Expr, Var
from ..ir.nodes import Stmt
from ..ir.walk import loads
from .find_unclean import Around, Read, Reads

Path = frozenset[tuple[Any, int]]  # the conditions on the way to a statement or an operand, with their sides
Paths = frozenset[Path]
MOST_PATHS = 32  # whether they cover all cases is asked by trying them


def find_masked(reads: Reads) -> frozenset[str]:
    made: dict[str, list[Read]] = {}  # by what is made of it: where its values come from
    used: dict[str, list[Read]] = {}
    for read in reads.found:
        used.setdefault(read.root, []).append(read)
        for target in read.targets:
            made.setdefault(target, []).append(read)
    paths = {root: [(r, _path_to(r, origins, reads)) for r in used.get(root, ())] for root, origins in made.items()}
    plain: set[str] = set()  # a nan in these is one in the result; what is made of itself alone is none
    candidates = {root for root, origins in made.items() if not _is_overwritten(root, origins, reads)}
    while True:
        more = {
            root
            for root in candidates - plain
            if _cover(frozenset(path for read, path in paths[root] if not read.targets or plain & {*read.targets}))
        }
        if not more:
            return frozenset(made.keys() - plain)
        plain |= more


def _path_to(read: Read, origins: list[Read], reads: Reads) -> Path:
    """What decides on a read, given that its value was computed."""
    path = {(condition, side) for condition, side in read.arms if not _keeps_nan(condition, side, read)}
    path |= _looked_up(read.load.index if read.load else ())
    first = [r for r in origins if r.root != read.root] or origins  # not what is made of the value before
    return frozenset(path) | frozenset.intersection(*(_choices(read.around, r.around) for r in first))


def _keeps_nan(condition: Expr, side: int, read: Read) -> bool:
    """Is the value left out only where it is a certain number, and not a nan: 0.0 if s == 0.0 else sqrt(s)?"""
    match condition, side:
        case (Call(op="eq", args=(value, Const())), 1) | (Call(op="ne", args=(value, Const())), 0):
            return value == read.load or (isinstance(value, Var) and value.name == read.root)
    return False


def _choices(around: Around, origin: Around) -> Path:
    """The branches around a statement that are not around the one where its value comes from."""
    return frozenset(item for item in around if not isinstance(item, Stmt) and item not in origin)


def _looked_up(index: tuple[Expr, ...]) -> Path:
    """Nobody reads the places that are not in the list."""
    return frozenset((load, 0) for item in index for load in loads(item))


def _cover(paths: Paths) -> bool:
    """Is one of these ways taken in any case?"""
    if frozenset() in paths or len(paths) > MOST_PATHS:
        return True
    if not paths:
        return False
    condition, _ = next(iter(next(iter(paths))))
    return all(
        _cover(frozenset(path - {(condition, side)} for path in paths if (condition, 1 - side) not in path))
        for side in (0, 1)
    )


def _is_overwritten(root: str, origins: list[Read], reads: Reads) -> bool:
    """Does a branch, or a store at positions that are looked up, put something else in the place of such a value?"""
    changes = {r.place for r in origins if r.root == root}  # these make it of the value before
    for place, around, index in reads.writes(root):
        if place not in changes:
            for origin in origins:
                if origin.place < place and (_looked_up(index) or _is_behind(around, origin.around)):
                    return True
    return False


def _is_behind(around: Around, origin: Around) -> bool:
    """May a statement be passed by after the other one has run?"""
    choices = _choices(around, origin)
    return bool(choices) and not any((condition, 1 - side) in origin for condition, side in choices)


__all__ = ["find_masked"]
