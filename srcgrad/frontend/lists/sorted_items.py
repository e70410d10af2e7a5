"""sorted(xs), of numbers and tuples of numbers.

sorted([3, 1, 2])                  →   [1, 2, 3], as the text is made
sorted(xs, key=f, reverse=True)    →   a stable sort of the keys, where the program runs (`rules.compositions.python`)
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...rules.compositions import python
from .. import known_values, unpacking
from ..array_values import ArrayValue
from ..calls import calls_in_place
from ..control.attempts import restore, save
from ..objects import special_methods
from ..values import NONE, Items, Scalar, constant, new_list
from . import list_types, lists_as_arrays, shared_items

if TYPE_CHECKING:
    from ..interpret import Interpreter


def _is_plain(value: Any) -> bool:
    return (
        all(map(_is_plain, value)) if isinstance(value, (tuple, list)) else not isinstance(value, (Scalar, ArrayValue))
    )


def _deciding(keys: list[Any]) -> list[Any]:
    """Of keys that are tuples, the beginnings, where these are known and differ: the rest is never looked at."""
    if not all(isinstance(key, tuple) for key in keys):
        return keys
    beginnings = [tuple(itertools.takewhile(_is_plain, key)) for key in keys]
    length = min(map(len, beginnings), default=0)
    beginnings = [beginning[:length] for beginning in beginnings]
    differ = all(one != other for one, other in itertools.combinations(beginnings, 2))
    return beginnings if differ else keys


def _are_rows(keys: list[Any]) -> bool:
    """Are they tuples, or lists, of as many real numbers each?"""
    if len({(type(key), len(key) if isinstance(key, (tuple, list)) else None) for key in keys}) != 1:
        return False
    parts = [part for key in keys for part in key]
    return all(part.dtype.kind != "c" if isinstance(part, Scalar) else isinstance(part, (int, float)) for part in parts)


def in_order(interpreter: Interpreter, value: Any, *, key: Any = None, reverse: Any = None) -> Any:
    """sorted(xs): now where the items are constants, else by a sort of the keys at run time."""
    if isinstance(reverse, Scalar) and not reverse.is_constant:
        interpreter.build.refuse("reverse= must be known when the function is compiled", "sort, and take [::-1]")
    backwards = reverse is not None and bool(known_values.plain(reverse))
    saved = save(interpreter)
    items = unpacking.known_items(interpreter, value)
    if items is not None:
        made = [item if key is None else interpreter.call(key, [item], {}) for item in items]
        for item in made:
            special_methods.refuse_object(interpreter, item, "the order", "__lt__")
            known_values.refuse_template(interpreter, item)
        keys = _deciding([known_values.plain(item) for item in made])
        if any(isinstance(k, (tuple, list)) and not _is_plain(k) for k in keys) and not _are_rows(keys):
            interpreter.build.refuse(
                "items or keys that are lists of several lengths, or of more than numbers, only known at run time",
                "sort tuples of numbers:  sorted([(t, x), ...])",
            )
        if all(map(_is_plain, keys)):
            order = sorted(range(len(items)), key=lambda k: keys[k], reverse=backwards)
            return new_list([items[k] for k in order])
        restore(interpreter, saved)
    is_wider = key is None and lists_as_arrays.is_held_wider(value)
    given = replace(value, weak=False) if is_wider else value  # with all digits
    made = calls_in_place.call_function(interpreter, python.ordered, [given, key or NONE, constant(backwards)], {})
    made = replace(made, weak=value.weak) if is_wider else made
    if isinstance(made, Items) and isinstance(value, Items):
        shared_items.note_shared(interpreter, made.rows, value.rows)
        if made.inner == value.inner:  # (of a list with None, the items that are none)
            list_types.note_part(interpreter, made.rows, value, is_whole=True)
            list_types.note_moved(interpreter, made)
    return made
