"""The methods that change a list in place, by whatever name.

ys.append(y)                      →      ys = (*ys, y), for all who hold ys
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import IndexArgumentError
from ...errors import place as error_place
from ...ir import affine
from ...ir.expressions import BOOL, Call
from ...ir.nodes import If, Raise
from .. import binding, expressions, identities, unpacking
from ..calls.builtins_of_python import in_order
from ..calls.recursion import NotYetKnown
from ..values import NONE, Items, TupleValue, static_int
from . import item_names, item_views, list_items, list_places, list_types, lists

if TYPE_CHECKING:
    from ..interpret import Interpreter


def method(
    interpreter: Interpreter,
    owner: TupleValue | Items,
    name: str,
    args: list[Any],
    options: dict[str, Any] | None = None,
) -> Any:
    """A method that changes the list."""
    build = interpreter.build
    identities.check_own(interpreter, owner, f".{name}")
    if name not in CHANGES or (isinstance(owner, Items) and owner.kind is tuple):
        build.refuse(f"the list method .{name} is not supported", "build the list in another way")
    result, new = CHANGES[name](interpreter, owner, *args, **(options or {}))
    identities.change(interpreter, owner.identity, new)
    return result


def extends(interpreter: Interpreter, target: str, value: ast.expr) -> bool:
    """ys = ys + [y], where nobody else holds ys: as ys += [y]"""
    match value:
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.List() as more) if name == target:
            owner: Any = interpreter.env.get(name)
            if not identities.is_list(owner) or owner.identity is None:
                return False
            if sum(identities.holders(frame.env, owner.identity) for frame in identities.frames_of(interpreter)) != 1:
                return False
            method(interpreter, owner, "extend", [expressions.evaluate(interpreter, more)])
            return True
    return False


Change = tuple[Any, Any]  # what the method returns, what the list is then


def append(interpreter: Interpreter, owner: TupleValue | Items, item: Any) -> Change:
    if isinstance(owner, Items):
        return NONE, lists.appended(interpreter, owner, item)
    return NONE, replace(owner, items=(*owner.items, binding.bind_item(interpreter, "t", item)))


def extend(interpreter: Interpreter, owner: TupleValue | Items, more: Any) -> Change:
    more = more if isinstance(more, TupleValue) else lists.copied(interpreter, more)
    if isinstance(more, Items):
        return NONE, replace(lists.joined(interpreter, [owner, more]), identity=owner.identity)
    if isinstance(owner, Items):
        for item in unpacking.items_of(interpreter, more):
            owner = lists.appended(interpreter, owner, item)
        return NONE, owner
    items = (binding.bind_item(interpreter, "t", item) for item in unpacking.items_of(interpreter, more))
    return NONE, replace(owner, items=(*owner.items, *items))


def insert(interpreter: Interpreter, owner: TupleValue | Items, place: Any, item: Any) -> Change:
    at = static_int(place)
    if isinstance(owner, TupleValue) and at is not None:
        items = list(owner.items)
        items.insert(at, binding.bind_item(interpreter, "t", item))
        return NONE, replace(owner, items=tuple(items))
    _, longer = append(interpreter, owner, item)
    if isinstance(longer, TupleValue):
        if len(longer.items) == 1:
            return NONE, longer
        longer = replace(lists.in_rows(interpreter, "items", longer), identity=owner.identity)
    list_places.last_to(interpreter, longer, list_places.place_between(interpreter, longer, place))
    return NONE, longer


def pop(interpreter: Interpreter, owner: TupleValue | Items, place: Any = None) -> Change:
    at = -1 if place is None else static_int(place)
    if isinstance(owner, TupleValue) and owner.items and at is None:
        owner = replace(lists.in_rows(interpreter, "items", owner), identity=owner.identity)
    if isinstance(owner, Items):
        if at == -1 and not interpreter.build.is_at_least(owner.length, 1):
            empty = Raise("BoundsError", "pop from an empty list" + error_place(interpreter.build.span))
            interpreter.build.emit(If(Call("lt", (owner.length, affine.ONE), BOOL), (empty,)))
        last = affine.sub(owner.length, affine.ONE)
        out = list_items.item_at(interpreter, owner, last) if at == -1 else list_places.taken(interpreter, owner, place)
        if item_views.is_view(interpreter, out):
            out = item_views.taken_out(interpreter, owner.rows, out)
            item_names.note_moved(interpreter, owner.rows)
        out = binding.bind_item(interpreter, "t", out)
        list_types.note_left(interpreter, owner)
        return out, replace(owner, length=last)  # and `most` stays: it was as long at its longest
    items = list(owner.items)
    if not items and any(owner.identity in heads for heads in interpreter.list_heads):
        interpreter.early_reads.append(IndexArgumentError("pop from an empty list", span=interpreter.build.span))
        raise NotYetKnown  # the loop may yet turn out to make the list longer
    if at is None or not -len(items) <= at < len(items):
        interpreter.build.refuse(f"pop from a list of {len(items)} at a place that it does not have")
    out = items.pop(at)
    return out, replace(owner, items=tuple(items))


def sort(interpreter: Interpreter, owner: TupleValue | Items, **options: Any) -> Change:
    if isinstance(owner, Items):
        item_names.note_moved(interpreter, owner.rows)
    return NONE, replace(in_order(interpreter, owner, **options), identity=owner.identity)


def turn(interpreter: Interpreter, owner: TupleValue | Items) -> Change:
    if isinstance(owner, Items):
        list_places.turn(interpreter, owner)
        return NONE, owner
    return NONE, replace(owner, items=owner.items[::-1])


def clear(interpreter: Interpreter, owner: TupleValue | Items) -> Change:
    if isinstance(owner, Items):
        item_names.note_moved(interpreter, owner.rows)
    if isinstance(owner, Items) and owner.has_room:
        list_types.note_left(interpreter, owner)
        return NONE, replace(owner, length=affine.ZERO)
    return NONE, TupleValue((), list, owner.identity)


def refill(interpreter: Interpreter, owner: Items, more: Any) -> None:
    """ys[:] = more"""
    identities.check_own(interpreter, owner, "assigning to its items")
    _, empty = clear(interpreter, owner)
    _, new = extend(interpreter, empty, more)
    identities.change(interpreter, owner.identity, new)


# fmt: off
CHANGES: dict[str, Callable[..., Change]] = {
    "append": append, "extend": extend, "insert": insert, "pop": pop, "reverse": turn, "clear": clear,
    "sort": sort,
}
# fmt: on


__all__ = ["extends", "method", "refill"]
