"""Is every element of an array overwritten before anybody looks at it?

    k[0] = x[0]                      elements 0, and 1 to n - 1: all of them, whatever k held before
    for i in range(1, n):
        k[i] = x[i] * y[i - 1]

Written is a box of elements, at most: each loop runs along one axis, from one element to the next.  What is left of the
array is a list of boxes too; too many of them is a wrong answer on the safe side.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import affine
from ..ir.expressions import Array, Call, Dim, Expr
from ..ir.nodes import Block, CopyTo, For, Stmt, Store
from ..ir.walk import loads, subexpressions, variables
from .effects import Access, Effects, effects, names_used

Span = tuple[Expr, Expr]  # from this element to before that one
Box = tuple[Span, ...]  # a span for each axis
MOST = 8  # boxes that are left, in an analysis that goes on


def is_overwritten_first(array: Array, body: Block) -> bool:
    """Does the block write all of the array before it reads any of it?"""
    touching = [stmt for stmt in body if array.name in names_used(stmt)]
    if _is_filled(array, touching, effects(body)):
        return True
    match touching:
        case [For(body=inner)]:  # in each of its iterations
            return is_overwritten_first(array, inner)
    return False


def _is_filled(array: Array, touching: list[Stmt], inside: Effects) -> bool:
    left = [_all_of(array.dims)]
    for stmt in touching:
        if isinstance(stmt, CopyTo):
            return stmt.target == array and stmt.source.name != array.name
        boxes = _filled(stmt, array)
        if boxes is None:
            return False
        for box in (box for box in boxes if _stays(box, inside)):
            left = [piece for each in left for piece in _without(each, box)]
        if not left or len(left) > MOST:
            return not left
    return False


def covers(boxes: Iterable[Box], dims: tuple[Expr, ...]) -> bool:
    """Do the boxes make up an array of these lengths?"""
    left = [_all_of(dims)]
    for box in boxes:
        left = [piece for each in left for piece in _without(each, box)]
    return not left


def _filled(stmt: Stmt, array: Array) -> list[Box] | None:
    """What a statement is sure to write; None where it may look at what it has not written."""
    if not isinstance(stmt, (For, Store)) or array.name in effects((stmt,)).shapes:
        return None
    accesses = [access for access in effects((stmt,)).accesses if access.array.name == array.name]
    if all(_only_writes(access) for access in accesses):
        return _boxes(stmt, array)
    first = _first(stmt, array)
    own = first is not None and all(access.index == first.index for access in accesses)
    return _boxes(stmt, array, first) if own else None


def _only_writes(access: Access) -> bool:
    return access.writes and not access.adds and not access.whole


def _first(stmt: Stmt, array: Array) -> Store | None:
    """The store that begins with an element in every iteration of a nest, before all else that comes to the array."""
    together: Block = ()
    while isinstance(stmt, For):
        first, *others = (s for s in stmt.body if array.name in names_used(s))
        if others and not isinstance(first, Store):
            return None  # these may be loops over more than the first one fills
        together = stmt.body
        stmt = first
    if not isinstance(stmt, Store) or stmt.array != array:
        return None
    reads = any(not access.writes for access in effects((stmt,)).accesses if access.array.name == array.name)
    changed = effects(together).writes  # by an index that is another one by now, another element is meant
    moves = any(loads(part) or variables(part) & changed for part in stmt.index)
    return None if reads or moves else stmt


def _boxes(stmt: Stmt, array: Array, alone: Store | None = None) -> list[Box]:
    """What the stores of a nest write, whatever happens; `alone`: what this one writes."""
    match stmt:
        case Store(array=target, index=index) if target == array and (alone is None or stmt is alone):
            return [tuple((i, affine.add(i, affine.ONE)) for i in index)]
        case For(body=body):
            found = [box for inner in body if isinstance(inner, (For, Store)) for box in _boxes(inner, array, alone)]
            inside = effects(body)
            return [box for one in found if _stays(one, inside) and (box := _over(stmt, one)) is not None]
    return []


def _stays(box: Box, inside: Effects) -> bool:
    """Are these the same elements all the time?"""
    ends = [end for span in box for end in span]
    made = {*inside.views, *inside.allocated}
    lengths = {node.array for end in ends for node in subexpressions(end) if isinstance(node, Dim)}
    return not (lengths & made or any(loads(end) or variables(end) & inside.writes for end in ends))


def _over(loop: For, box: Box) -> Box | None:
    """What all iterations write, where one writes this."""
    moving = [axis for axis, span in enumerate(box) if any(loop.index in variables(end) for end in span)]
    if len(moving) != 1:
        return None
    (axis,) = moving
    low, high = box[axis]
    span = span_over(loop, low) if affine.difference(high, low) == 1 else None
    return None if span is None else (*box[:axis], span, *box[axis + 1 :])


def span_over(loop: For, place: Expr) -> Span | None:
    """The elements along an axis that the iterations of a loop come to, one each, by this index."""
    along = affine.sub(place, loop.index)
    if loop.index in variables(along) or variables(along) & effects(loop.body).writes or loads(along):
        return None
    if affine.same(loop.step, affine.ONE):
        return affine.add(loop.start, along), affine.add(end_of(loop.stop, loop.start), along)
    if affine.same(loop.step, affine.integer(-1)):
        past = affine.add(along, affine.ONE)
        return affine.add(loop.stop, past), affine.add(loop.start, past)
    return None


def end_of(stop: Expr, start: Expr) -> Expr:
    """The end of a run of numbers; ahead of its start, where there are none."""
    match stop:
        case Call(op="maximum", args=(end, other)) | Call(op="maximum", args=(other, end)) if other == start:
            return end
    return stop


def _all_of(dims: tuple[Expr, ...]) -> Box:
    return tuple((affine.ZERO, end_of(dim, affine.ZERO)) for dim in dims)


def _without(box: Box, hole: Box) -> list[Box]:
    """What is left of a box; each piece may be larger than it has to be."""
    if any(_at_most(high, from_) or _at_most(to, low) for (low, high), (from_, to) in zip(box, hole, strict=True)):
        return [box]
    pieces: list[Box] = []
    for axis, ((low, high), (from_, to)) in enumerate(zip(box, hole, strict=True)):
        begins, ends = _at_most(from_, low), _at_most(high, to)  # the hole, ahead of the box; and behind it
        ahead = low, from_ if begins or ends or _at_most(from_, high) else high
        behind = to if begins or ends or _at_most(low, to) else low, high
        pieces += ((*box[:axis], span, *box[axis + 1 :]) for span in (ahead, behind) if not _at_most(span[1], span[0]))
    return [box] if box in pieces else pieces


def _at_most(x: Expr, y: Expr) -> bool:
    return affine.is_at_least(affine.sub(y, x), 0)


__all__ = ["Box", "covers", "end_of", "is_overwritten_first", "span_over"]
