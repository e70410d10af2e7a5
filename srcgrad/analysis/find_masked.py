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

from ..ir.expressions import Call, Const, Expr, Load, Var
from ..ir.nodes import For, Stmt
from ..ir.walk import loads, variables
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
            if covers(frozenset(path for read, path in paths[root] if not read.targets or plain & {*read.targets}))
        }
        if not more:
            return frozenset(made.keys() - plain)
        plain |= more


def _path_to(read: Read, origins: list[Read], reads: Reads) -> Path:
    """What decides on a read, given that its value was computed."""
    path = {(condition, side) for condition, side in read.arms if not _keeps_nan(condition, side, read)}
    path |= _looked_up(read.load.index if read.load else (), read.around, reads)
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


def _looked_up(index: tuple[Expr, ...], around: Around, reads: Reads) -> Path:
    """Nobody reads the places that are not in the list, or that are not the one that was found."""
    loads_of_positions = {load for item in index for load in loads(item)}
    found = {v for item in index for v in variables(item) if _is_found(v, around, reads)}
    return frozenset((position, 0) for position in loads_of_positions | found)


def _is_found(position: Expr, around: Around, reads: Reads, seen: set[Expr] | None = None) -> bool:
    """Is it a number that depends on data, and not the index of a loop around, a counter or what is made of them?"""
    seen = set() if seen is None else seen  # what has been looked at, by whatever way it is come to again
    match position:
        case Load():
            return True
        case Call(args=args):
            return any(_is_found(arg, around, reads, seen) for arg in args)
        case Var(name=name) if position not in seen:
            if any(isinstance(loop, For) and loop.index == position for loop in around):
                return False
            seen.add(position)
            given = reads.given.get(name, ())
            return name in reads.indices or any(_is_found(value, around, reads, seen) for value in given)
    return False


def covers(paths: Paths) -> bool:
    """Is one of these ways taken in any case?"""
    if frozenset() in paths or len(paths) > MOST_PATHS:
        return True
    if not paths:
        return False
    condition, _ = next(iter(next(iter(paths))))
    return all(
        covers(frozenset(path - {(condition, side)} for path in paths if (condition, 1 - side) not in path))
        for side in (0, 1)
    )


def _is_overwritten(root: str, origins: list[Read], reads: Reads) -> bool:
    """Does a branch, a choice, or a store at positions that are looked up, put something else in its place?"""
    own = [r for r in origins if r.root == root and _is_of_itself(r, reads)]
    chosen = {r.place for r in own if r.arms}  # r = 0.0 if isnan(r) else r
    changes = {r.place for r in own if not r.arms}  # these make it of the value before
    for place, around, index in reads.writes(root):
        if place not in changes:
            for origin in origins:
                may_be = place in chosen or _looked_up(index, around, reads) or _is_behind(around, origin.around)
                if origin.place < place and may_be:
                    return True
    return False


def _is_of_itself(read: Read, reads: Reads) -> bool:
    """Is the very element that is read there written?  r[i] = r[i - 1] reads another."""
    index = next((store.index for place, store, _ in reads.stores.get(read.root, ()) if place == read.place), None)
    return index is None or read.load is None or read.load.index == index


def _is_behind(around: Around, origin: Around) -> bool:
    """May a statement be passed by after the other one has run?"""
    choices = _choices(around, origin)
    return bool(choices) and not any((condition, 1 - side) in origin for condition, side in choices)


__all__ = ["covers", "find_masked"]
