"""Assignment to names, tuples of names, elements and attributes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, AttributeArgumentError, NoItemsError, UnsupportedError
from ..ir.walk import loads
from . import binding, expressions, identities, operators, optional, unpacking
from .aliases import HELD, value_leaves
from .array_values import ArrayValue, Flat, whole
from .control import branches
from .lists import item_fields, item_names, item_views, list_methods, lists, lists_as_arrays, tables
from .numpy import flat, indexing, products
from .objects import attributes, changes, computed_attributes, dicts, named_parts, records, special_methods, tuple_items
from .values import Items, Range, Scalar, Static, TupleValue, constant, new_list, static_int

if TYPE_CHECKING:
    from .interpret import Interpreter


def assign(interpreter: Interpreter, target: ast.expr, value: Any, mark: int) -> None:
    match target:
        case ast.Name(id=name):
            binding.bind(interpreter, name, value, mark)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            unpack(interpreter, targets, _named_after(interpreter, targets, value, mark))
        case ast.Subscript(value=base, slice=items):
            store(interpreter, base, items, value)
        case ast.Attribute():
            store_attribute(interpreter, target, value)
        case _:
            interpreter.at(target)
            interpreter.build.refuse("only names, tuples of names and array elements can be assigned to")


def _named_after(interpreter: Interpreter, targets: list[ast.expr], value: Any, mark: int) -> Any:
    """Arrays that were just made for one target of several take its name."""
    if not isinstance(value, TupleValue) or len(value.items) != len(targets):
        return value
    items = list(value.items)
    for k, (target, item) in enumerate(zip(targets, items, strict=False)):
        handle = item.handle if isinstance(item, ArrayValue) else None
        if not isinstance(target, ast.Name) or handle is None or handle.name.rstrip("_0123456789") != "t":
            continue
        others = [
            load.array for n, o in enumerate(items) if n != k and isinstance(o, ArrayValue) for load in loads(o.element)
        ]
        others += [load.array for o in items if isinstance(o, Scalar) for load in loads(o.expr)]
        if binding.is_fresh_array(interpreter, handle, mark) and handle not in others:
            items[k] = whole(binding.rename_array(interpreter, handle, target.id, mark))
    return replace(value, items=tuple(items))


def unpack(interpreter: Interpreter, targets: list[ast.expr], value: Any) -> None:
    starred = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if optional.is_optional(value):
        value = optional.unless_none(interpreter.build, value, "what is unpacked is None here")
    items = unpacking.known_items(interpreter, value)
    if items is None and starred:
        items = lists.split(interpreter, value, starred[0], len(targets) - starred[0] - 1)
    elif items is None:
        items = lists.exactly(interpreter, value, len(targets))
    elif starred:
        at, rest = starred[0], len(items) - len(targets) + 1
        items = [*items[:at], new_list(items[at : at + max(rest, 0)]), *items[at + max(rest, 0) :]]
    targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
    if len(items) != len(targets):
        interpreter.build.refuse(
            f"{len(items)} values can't be unpacked into {len(targets)} names", error=ArgumentError
        )
    if any(not isinstance(target, ast.Name) for target in targets) and len(targets) > 1:
        items = [binding.settled(interpreter, item) for item in items]  # A[i], A[j] = A[j], A[i]
    else:
        items = binding.untangled(interpreter, [t.id for t in targets if isinstance(t, ast.Name)], items)
    name = f"{HELD}{id(targets)}"
    if interpreter.build.fields.are_views and len(targets) > 1:  # what is put into an object first may be a name's next
        arrays = [leaf for item in items for leaf in value_leaves(item) if isinstance(leaf, ArrayValue)]
        interpreter.env[name] = TupleValue(tuple(arrays))
    for target, item in zip(targets, items, strict=False):
        assign(interpreter, target, item, len(interpreter.build.block))
    interpreter.env.pop(name, None)


def store(interpreter: Interpreter, base: ast.expr, items: ast.expr, value: Any, op: str | None = None) -> None:
    if isinstance(base, ast.Subscript) and tables.assigned(interpreter, base, items, value, op):
        return
    mark = len(interpreter.build.block)
    whose, owner = _with_owner(interpreter, base)
    if records.is_dict(owner):
        given = expressions.evaluate(interpreter, items)
        (value,) = expressions.as_before(interpreter, [value], mark)
        owner = identities.now(interpreter, owner)  # the key, as any index below, may come from what changes it
        if op is not None and isinstance(given, Scalar) and not given.is_constant and owner.kind.default is None:
            _update_under(interpreter, owner, given, binding.settled(interpreter, value), op)
            return
        key = records.key_of(interpreter, given)
        _put(interpreter, owner, key, dicts.item(interpreter, owner, constant(key)) if op else None, value, op)
        return
    if records.are_fields(owner):
        key = records.key_of(interpreter, expressions.evaluate(interpreter, items))
        (value,) = expressions.as_before(interpreter, [value], mark)
        if op is not None:
            current = dicts.item(interpreter, records.as_it_is_now(interpreter, owner), constant(key))
            value = result_of(interpreter, current, value, op)
        if value is not None:
            computed_attributes.store(interpreter, owner, key, value)
        return
    if identities.is_list(owner) and (owner.identity is None or owner.identity in interpreter.given_away):
        _refuse_table(interpreter, base)
    if isinstance(owner, TupleValue) and owner.kind is list:
        _store_item(interpreter, owner, items, value, op, base.id if isinstance(base, ast.Name) else "t")
        return
    if isinstance(owner, Items) and isinstance(items, ast.Slice) and op is None:
        if items.lower is None and items.upper is None and items.step is None:
            list_methods.refill(interpreter, owner, value)
            return
    if isinstance(owner, Items) and not isinstance(items, ast.Slice):
        index = expressions.evaluate(interpreter, items)
        (value,) = expressions.as_before(interpreter, [value], mark)
        _store_in(interpreter, identities.now(interpreter, owner), index, value, op)
        return
    if special_methods.own(owner, "__setitem__") is not None:
        _store_by_method(interpreter, owner, items, value, op)
        return
    if not isinstance(owner, ArrayValue):
        interpreter.at(base)
        interpreter.build.refuse_unusable(owner)
        if isinstance(owner, Items):
            interpreter.build.refuse(
                "a slice of a list whose length is only known at run time can't be assigned to",
                "make another list:  xs = new + xs[k:]",
            )
        error = UnsupportedError if isinstance(owner, Static) else NoItemsError  # which Python calls a TypeError
        interpreter.build.refuse("only arrays can be written to by index", error=error)
    index = expressions.index_items(interpreter, items)
    if item_views.is_part(interpreter, owner):
        item_names.check_under_way(interpreter, owner, changes.changed_since(interpreter.build, mark))
    (value,) = expressions.as_before(interpreter, [value], mark)
    if optional.is_optional(value):
        value = optional.unless_none(interpreter.build, value, "what is assigned is None here")
    if isinstance(owner, Flat):
        flat.write(interpreter.build, owner, index, value, op)
        return
    indexing.memory_of(interpreter.build, owner)
    value = lists_as_arrays.as_values(interpreter, value) if isinstance(value, (Items, TupleValue)) else value
    if len(index) == 1 and isinstance(index[0], ArrayValue) and index[0].dtype == np.dtype(bool):
        if indexing.masked_write(interpreter.build, owner, index[0], value, op):
            return
    with item_fields.writing(interpreter, *whose):
        update(interpreter, indexing.subscript(interpreter.build, owner, index), value, op)


def _update_under(interpreter: Interpreter, owner: TupleValue, given: Scalar, value: Any, op: str) -> None:
    """d[k] += value, of a number that only a run tells: it is one of the keys."""
    given = binding.bind_item(interpreter, "key", given)
    same = tuple_items.under_keys(interpreter, owner.kind.keys, given)

    def since(k: int) -> bool:
        if k == len(same):
            return False

        def update() -> bool:
            held, key = identities.now(interpreter, owner), owner.kind.keys[k]
            _put(interpreter, held, key, dicts.item(interpreter, held, constant(key)), value, op)
            return False

        return branches.choose(interpreter, same[k], update, lambda: since(k + 1), [])

    since(0)


def _with_owner(interpreter: Interpreter, node: ast.expr) -> tuple[tuple[Any, Any], Any]:
    """The value of an expression, and whose attribute it is where that may be an object in a list."""
    if not interpreter.build.fields.are_views or not isinstance(node, ast.Attribute):
        return (None, None), expressions.evaluate(interpreter, node)
    owner = expressions.evaluate(interpreter, node.value)
    interpreter.at(node)
    interpreter.build.refuse_unusable(owner, node.value)
    return (owner, node.attr), attributes.attribute(interpreter, owner, node.attr)


def _store_by_method(interpreter: Interpreter, owner: Any, items: ast.expr, value: Any, op: str | None) -> None:
    """An object's own way to take an item."""
    mark = len(interpreter.build.block)
    place = expressions.as_place(items, expressions.index_items(interpreter, items))
    (value,) = expressions.as_before(interpreter, [value], mark)
    owner = identities.now(interpreter, owner)
    if op is not None:
        current = special_methods.called(interpreter, owner, "__getitem__", place)
        if current is None:
            interpreter.build.refuse("an object without __getitem__ has no items to change", error=ArgumentError)
        updated = result_of(interpreter, current, value, op)
        value = identities.now(interpreter, current) if updated is None else updated
    special_methods.called(interpreter, identities.now(interpreter, owner), "__setitem__", place, value)


def _store_in(interpreter: Interpreter, owner: Items, index: Any, value: Any, op: str | None) -> None:
    if op is not None:
        current = lists.subscripted(interpreter, owner, index)
        if optional.is_optional(current):
            current = optional.unless_none(interpreter.build, current, "what is updated is None here")
            if isinstance(current, ArrayValue):
                interpreter.build.refuse("an array is changed that is an item of a list of None", "ys[i] = ys[i] + y")
        value = result_of(interpreter, current, value, op)
    if value is not None:
        lists.store(interpreter, owner, index, value)


def _refuse_table(interpreter: Interpreter, base: ast.expr) -> None:
    """ys[i][j] = y, where ys is a list of lists whose length is only known at run time."""
    match base:
        case ast.Subscript(value=ast.Name(id=name)) if isinstance(interpreter.frame.bound(name), Items):
            interpreter.at(base)
            interpreter.build.refuse(
                "a list in a list is changed, where how many there are is only known at run time",
                f"assign its numbers one by one:  {name}[i][j] = y",
                f"or use an array:  {name} = np.zeros((n, m)), and {name}[i, j] = y",
            )


def update(interpreter: Interpreter, target: ArrayValue, value: Any, op: str | None) -> None:
    """`target = value` or `target op= value`, in place."""
    interpreter.at_statement()
    if isinstance(value, (Items, Range)):
        value = lists_as_arrays.as_operand(interpreter, value)
    if op == "matmul":
        value, op = products.in_place(interpreter.build, target, value), None
    indexing.write(interpreter.build, target, value, op=op)


def _store_item(
    interpreter: Interpreter, owner: TupleValue, items: ast.expr, value: Any, op: str | None, name: str
) -> None:
    if isinstance(items, ast.Slice):
        identities.check_own(interpreter, owner, "assigning to an item")
        _store_slice(interpreter, owner, items, value, op, name)
        return
    mark = len(interpreter.build.block)
    index = expressions.evaluate(interpreter, items)
    (value,) = expressions.as_before(interpreter, [value], mark)
    at, owner = static_int(index), identities.now(interpreter, owner)
    places = range(-len(owner.items), len(owner.items))
    if at is not None and at in places and op is not None and owner.identity not in interpreter.given_away:
        value = result_of(interpreter, owner.items[at], value, op)
        if value is None:  # an array, in its place: the list stays as it is
            return
        op = None
    identities.check_own(interpreter, owner, "assigning to an item")
    if at is None and owner.items:
        _store_in(interpreter, lists.in_rows(interpreter, name, owner), index, value, op)
        return
    if at is None or at not in places:
        interpreter.build.refuse("a list is assigned to at a place that it does not have")
    parts = list(owner.items)
    parts[at] = binding.bind_item(interpreter, name, value)
    identities.change(interpreter, owner.identity, replace(owner, items=tuple(parts)))


def _store_slice(
    interpreter: Interpreter, owner: TupleValue, items: ast.Slice, value: Any, op: str | None, name: str
) -> None:
    """ys[i:j] = values"""
    mark = len(interpreter.build.block)
    parts = (items.lower, items.upper, items.step)
    bounds = [None if part is None else static_int(expressions.evaluate(interpreter, part)) for part in parts]
    if any(bound is None and part is not None for bound, part in zip(bounds, parts, strict=True)):
        interpreter.build.refuse("a list is assigned to at places that are only known at run time", lists.ITS_ITEMS)
    (value,) = expressions.as_before(interpreter, [value], mark)
    owner = identities.now(interpreter, owner)
    now, where = list(owner.items), slice(*bounds)
    if op is not None:
        value = operators.binary(interpreter, op, new_list(now[where]), value)
    try:
        now[where] = [binding.bind_item(interpreter, name, item) for item in unpacking.items_of(interpreter, value)]
    except ValueError as problem:
        interpreter.build.refuse(str(problem), error=ArgumentError)
    identities.change(interpreter, owner.identity, replace(owner, items=tuple(now)))


def store_attribute(interpreter: Interpreter, target: ast.Attribute, value: Any, op: str | None = None) -> None:
    """owner.name = value"""
    mark = len(interpreter.build.block)
    owner = expressions.evaluate(interpreter, target.value)
    (value,) = expressions.as_before(interpreter, [value], mark)
    interpreter.at(target)
    if isinstance(owner, ArrayValue):
        part = attributes.attribute(interpreter, owner, target.attr)
        if target.attr not in ("real", "imag", "flat"):
            helps = [f"write to what is in it:  x.{target.attr}[...]"] if isinstance(part, ArrayValue) else []
            raised = f"attribute {target.attr!r} of arrays is not writable"
            interpreter.build.refuse(raised, *helps, error=AttributeArgumentError)
        if op is None and isinstance(part, Flat):
            flat.write(interpreter.build, part, [Static(Ellipsis)], value, None)
        else:
            update(interpreter, indexing.memory_of(interpreter.build, part), value, op)
        return
    if isinstance(owner, Scalar):
        kind = attributes.PYTHON_KINDS[owner.dtype.kind] if owner.weak else owner.dtype.type
        what = f"attribute {target.attr!r} of a {kind.__name__} is not writable"
        interpreter.build.refuse(what, error=AttributeArgumentError)
    if not records.is_record(owner):
        named_parts.refuse_from_outside(interpreter, ast.unparse(target))
    current = attributes.attribute(interpreter, owner, target.attr) if op else None
    _put(interpreter, owner, target.attr, current, value, op)


def is_numpys(value: Any) -> bool:
    """Of an array NumPy is asked first: a list += an array is an array, and not a longer list."""
    return isinstance(value, ArrayValue) or (isinstance(value, Scalar) and not value.weak)


def result_of(interpreter: Interpreter, current: Any, value: Any, op: str) -> Any:
    """What `current op= value` gives, or None where it changes what it has."""
    if isinstance(current, ArrayValue):
        update(interpreter, current, value, op)
        return None
    if identities.is_list(current) and op == "add" and not is_numpys(value):
        list_methods.method(interpreter, current, "extend", [value])
        return None
    if records.is_dict(current) and dicts.updated(interpreter, current, value, op):
        return None
    if identities.is_list(current) and op == "mul":
        interpreter.build.refuse("*= of a list that is an item or an attribute", "give it a name, and repeat that")
    return operators.binary(interpreter, op, current, value)


def _put(interpreter: Interpreter, owner: TupleValue, key: Any, current: Any, value: Any, op: str | None) -> None:
    """Give an item of a dict, or an attribute of an object, a value."""
    if op is not None:
        with item_fields.writing(interpreter, owner, key):
            value = result_of(interpreter, current, value, op)
        if value is None:
            return
    named_parts.store(interpreter, owner, key, value, "assigning to it")
