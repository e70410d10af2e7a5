"""Objects in lists of run-time length that change: what a name holds is a view of the row that has their parts.

b = bodies[i]         →      b is (rows[i, 0], rows[i, 1]), looked up whenever it is used

As long as nothing in a program changes such an object, what is read is a copy.  Where something does, the program is
interpreted again, and what is read is a view: two names of one item agree, by whatever place they have found it.  What
may be the same object in Python, and is a copy here, can't be read after a change any more (see `item_names`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ir.expressions import Array, Expr, Load
from ...ir.types import SETS, DictKind, RecordKind, ScalarType
from ...ir.walk import loads, rewrite
from .. import identities, joined_numbers, optional
from ..aliases import arrays_of
from ..array_values import ArrayValue, whole
from ..values import Items, Layout, Scalar, TupleValue

if TYPE_CHECKING:
    from ..interpret import Interpreter
    from .item_fields_known import Put


def is_object(kind: Any) -> bool:
    """Has it parts with names, which can change?"""
    return isinstance(kind, RecordKind) or (isinstance(kind, DictKind) and kind.cls not in SETS)


def kind_of_part(interpreter: Interpreter, owner: TupleValue, k: int, number: int, own: ScalarType) -> ScalarType:
    """The kind of number that a part of an object is, in a list of run-time length: which of the item's that is."""
    if not is_object(owner.kind):
        return own
    part, kinds = (owner.kind, owner.kind.keys[k]), interpreter.build.fields.kinds
    later = [kinds[part, put] for put in ((*_place(interpreter), number), None) if (part, put) in kinds]
    return joined_numbers.common_place((own, *later)) if later else own


def _place(interpreter: Interpreter) -> Put:
    """Where the program puts an object into a list."""
    return (*(frame.called_at for frame in interpreter.frames), interpreter.build.span)


def kinds_in(layout: Any) -> Iterator[Any]:
    """The kinds of all objects in an item."""
    if isinstance(layout, Layout):
        if is_object(layout.kind):
            yield layout.kind
        for part in layout.parts:
            yield from kinds_in(part)


def note_kinds(interpreter: Interpreter, rows: Array, layout: Any) -> None:
    """Items that lie so are put into these rows."""
    fields, root = interpreter.build.fields, interpreter.build.root(rows)
    fields.kinds_in[root], fields.layouts[root] = frozenset(kinds_in(layout)), layout


def note_put(interpreter: Interpreter, rows: Array, layout: Any) -> None:
    """The same, of the item that is at hand."""
    note_kinds(interpreter, rows, layout)
    interpreter.build.fields.note_put(interpreter.build.root(rows), [_place(interpreter)])


def _may_be_none(layout: Any) -> bool:
    return isinstance(layout, Layout) and (layout.kind is optional.OPTIONAL or any(map(_may_be_none, layout.parts)))


def note_read(interpreter: Interpreter, rows: Array, layout: Layout) -> bool:
    """An item is read: are the objects in it views?"""
    fields = interpreter.build.fields
    if not any(True for _ in kinds_in(layout)):
        return False
    fields.are_read = True
    note_kinds(interpreter, rows, layout)
    root = interpreter.build.root(rows)
    is_plain = (root == rows.name or rows.name in fields.rows) and not _may_be_none(layout)
    if fields.are_views and is_plain:
        fields.rows |= {rows.name, root}
    return fields.are_views and is_plain


@contextmanager
def run_over(interpreter: Interpreter, iterable: ast.expr) -> Iterator[None]:
    """for b in ys[1:]:  the items of a part are those of the list, where a loop runs over it there and then."""
    fields = interpreter.build.fields
    before = dict(fields.moved)
    fields.are_parts = fields.are_views and _is_of_parts(iterable)
    parts, fields.parts = fields.parts, set()
    try:
        yield
    finally:
        fields.are_parts = False
        fields.parts, found = parts, fields.parts
    if any(fields.moved.get(root, 0) != before.get(root, 0) for root in found):
        interpreter.at(iterable)
        interpreter.build.refuse(
            "a loop gives other places to the items that it runs over", "run over another list of them:  zs = list(ys)"
        )


def _is_of_parts(iterable: ast.expr) -> bool:
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed"), args=args):
            return any(map(_is_of_parts, args)) and all(_is_of_parts(arg) or _is_name(arg) for arg in args)
        case ast.Call(func=ast.Name(id="combinations") | ast.Attribute(attr="combinations"), args=[owner, _]):
            return _is_name(owner)
        case ast.Subscript(value=owner, slice=ast.Slice() as bounds):
            called = (node.func for node in ast.walk(bounds) if isinstance(node, ast.Call))
            return _is_name(owner) and all(isinstance(f, ast.Name) and f.id == "len" for f in called)
    return False


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Constant)) or (isinstance(node, ast.Attribute) and _is_name(node.value))


def is_run_over(interpreter: Interpreter, value: Any) -> bool:
    """for a, b in itertools.combinations(ys, 2):  are the items those of the list, and no copies of these?"""
    fields = interpreter.build.fields
    if not fields.are_parts or not isinstance(value, Items) or not isinstance(value.inner, Layout) or value.grows:
        return False
    fields.parts.add(interpreter.build.root(value.rows))
    return True


def part_of_list(interpreter: Interpreter, value: Items, part: ArrayValue) -> Items | None:
    """The items of a part of a list, where they lie; None where it is a list of its own."""
    build, fields = interpreter.build, interpreter.build.fields
    if not fields.are_parts or not isinstance(value.inner, Layout) or value.grows or not part.is_window:
        return None
    rows = build.view(part, "items")
    fields.parts.add(build.root(rows))
    fields.rows.add(rows.name)
    return Items(rows, rows.dims[0], rows.dims[0], value.weak, value.inner, object())


def parts_in(value: Any) -> Iterator[Scalar | ArrayValue]:
    """The numbers and arrays in an object."""
    if isinstance(value, TupleValue):
        for part in value.items:
            yield from parts_in(part)
    elif isinstance(value, (Scalar, ArrayValue)):
        yield value


def rows_of(interpreter: Interpreter, value: Any) -> Array | None:
    """The rows that an object is looked up in; None where it is no such view."""
    if not interpreter.build.fields.are_views or not isinstance(value, TupleValue):
        return None
    if value.identity not in interpreter.given_away:
        return None
    found: Array | None = None
    for part in parts_in(value):
        arrays = arrays_of(part)
        if len(arrays) != 1 or arrays[0].name not in interpreter.build.fields.rows or found not in (None, arrays[0]):
            return None
        (found,) = arrays
    return found


def is_view(interpreter: Interpreter, value: Any) -> bool:
    return rows_of(interpreter, value) is not None


def expr_of(part: Scalar | ArrayValue) -> Expr:
    return part.expr if isinstance(part, Scalar) else part.element


def is_part(interpreter: Interpreter, value: Any) -> bool:
    """Is it an array in an object, or a part of one, seen where it lies?"""
    if not interpreter.build.fields.rows or not isinstance(value, ArrayValue) or not isinstance(value.element, Load):
        return False
    return interpreter.build.root(value.element.array) in interpreter.build.fields.rows


def read(interpreter: Interpreter, owner: TupleValue, value: Any) -> Any:
    """What an attribute of an object is; an array that does not lie in a row as it is, is a copy."""
    if not is_view(interpreter, owner):
        return value
    for part in parts_in(value):
        interpreter.build.check_fresh(expr_of(part))
    if isinstance(value, ArrayValue) and not value.is_window:
        return copy_of_part(interpreter, value)
    return value


def copy_of_part(interpreter: Interpreter, value: ArrayValue, is_second: bool = True) -> ArrayValue:
    """An array in an object, under a name: in Python it is the array itself."""
    build = interpreter.build
    array = loads(value.element)[0].array  # (of the part, or of a number that is cast)
    own = build.materialize(value, "item", copy=True)
    if is_second:
        build.twin(own, array)
    build.in_items.add(own.name)
    return whole(own)


def as_it_is(interpreter: Interpreter, value: Any, is_second: bool = True) -> Any:
    """An object that leaves its place: its parts as they are now; `is_second`: it, or its arrays, may stay there."""
    if isinstance(value, TupleValue):
        return replace(value, items=tuple(as_it_is(interpreter, item, is_second) for item in value.items))
    if isinstance(value, Scalar) and not value.is_constant:
        return replace(value, expr=interpreter.build.variable("t", value.expr))
    if isinstance(value, ArrayValue) and value.handle is None:
        return copy_of_part(interpreter, value, is_second)
    return value


def taken_out(interpreter: Interpreter, rows: Array, value: TupleValue) -> TupleValue:
    """An object that leaves a list, which has it once: as long as it is not put back, no item of it is that object."""
    out = as_it_is(interpreter, value)
    interpreter.build.fields.popped[out.identity] = {interpreter.build.root(rows)}
    return out


def place_of(value: TupleValue) -> Expr:
    """Of a view: in which row it looks."""
    (place,) = {load.index[0] for part in parts_in(value) for load in loads(expr_of(part))}
    return place


def at_place(interpreter: Interpreter, value: TupleValue, place: Expr) -> TupleValue:
    """A view as it would be of another row: another object."""
    old = place_of(value)
    move = lambda load: Load(load.array, (place, *load.index[1:])) if load.index[0] == old else load

    def moved(part: Any) -> Any:
        if isinstance(part, TupleValue):
            return replace(part, items=tuple(map(moved, part.items)))
        if isinstance(part, Scalar):
            return replace(part, expr=rewrite(part.expr, lambda e: move(e) if isinstance(e, Load) else e))
        if isinstance(part, ArrayValue):
            return replace(part, element=rewrite(part.element, lambda e: move(e) if isinstance(e, Load) else e))
        return part

    found = identities.under_new_identities(moved(value))
    rows = rows_of(interpreter, value)
    assert rows is not None
    for part in (*identities.parts_within(found), found):
        interpreter.given_away[part.identity] = frozenset({interpreter.build.root(rows)})
    return found


def are_alike(interpreter: Interpreter, x: Any, y: Any) -> bool:
    """Are these views of items of one list?"""
    rows = rows_of(interpreter, x)
    return rows is not None and rows == rows_of(interpreter, y) and x.kind == y.kind
