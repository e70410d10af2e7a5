"""Items of lists of run-time length that take each other's places.

ys[i], ys[j] = ys[j], ys[i]               →      both are copied, and take each other's place
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ir.expressions import Array
from .. import binding, expressions, identities
from ..values import Items, TupleValue
from . import item_views, list_items

if TYPE_CHECKING:
    from ..interpret import Interpreter


def is_exchange(targets: list[ast.expr], value: ast.expr) -> bool:
    """a[i], a[j] = a[j], a[i]: do places hand each other what they hold?"""
    match targets, value:
        case [ast.Tuple(elts=places)], ast.Tuple(elts=values) if all(isinstance(p, ast.Subscript) for p in places):
            has_calls = any(isinstance(node, ast.Call) for node in ast.walk(value))
            return not has_calls and sorted(map(ast.unparse, places)) == sorted(map(ast.unparse, values))
    return False


def exchanged(interpreter: Interpreter, targets: list[ast.expr], value: TupleValue) -> TupleValue:
    """Items of lists on their way to other places: none of them is held twice afterwards."""
    places = [place.value for place in targets[0].elts]  # type: ignore[attr-defined]
    owners = [expressions.evaluate(interpreter, place) for place in places]
    rows = [owner.rows if isinstance(owner, Items) else None for owner in owners]
    is_one_list = None not in rows and len(set(rows)) == 1
    items = zip(value.items, rows, strict=True)
    return replace(value, items=tuple(_on_its_way(interpreter, item, to, is_one_list) for item, to in items))


def _on_its_way(interpreter: Interpreter, item: Any, to: Array | None, is_one_list: bool) -> Any:
    if list_items.is_item(interpreter, item):
        return list_items.copy_of_item(interpreter, item, is_second=False)
    if item_views.is_view(interpreter, item):  # (in a list of known length it stays one)
        own = item if to is None else item_views.as_it_is(interpreter, item, is_second=not is_one_list)
        return identities.under_new_identities(own) if is_one_list else own
    if isinstance(item, TupleValue) and item.identity in interpreter.given_away and is_one_list:
        return replace(binding.settled(interpreter, item), identity=object())
    return item
