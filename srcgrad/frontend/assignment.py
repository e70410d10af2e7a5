"""Assignment to names, tuples of names, elements and attributes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, AttributeArgumentError, NoItemsError, UnsupportedError
from ..ir.walk import loads
from . import binding, expressions, identities, operators, optional, unpacking
from .aliases import HELD, roots_of_value, value_leaves
from .calls import called_first
from .control import branches
from .lists import item_fields, item_names, item_views, list_items, list_methods, lists, lists_as_arrays, tables
from .numpy import flat, indexing, products
from .objects import attributes, changes, computed_attributes, dicts, named_parts, records, special_methods, tuple_items
from .values import (
    ArrayValue,
    Flat,
    Items,
    Range,
    Scalar,
    Slice,
    Static,
    TupleValue,
    constant,
    new_list,
    static_int,
    whole,
)

if TYPE_CHECKING:
    from .interpret import Interpreter


def assign(interpreter: Interpreter, target: ast.expr, value: Any, mark: int) -> None:
    match target:
        case ast.Name(id=name):
            binding.bind(interpreter, name, value, mark)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            unpack(interpreter, targets, _named_after(interpreter, targets, value, mark))
        case ast.Subscript(value=base, slice=items):
            _store(interpreter, base, items, value)
        case ast.Attribute():
            _store_attribute(interpreter, target, value)
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


def _store(interpreter: Interpreter, base: ast.expr, items: ast.expr, value: Any, op: str | None = None) -> None:
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
            value = _updated(interpreter, current, value, op)
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
        _update(interpreter, indexing.subscript(interpreter.build, owner, index), value, op)


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
        updated = _updated(interpreter, current, value, op)
        value = identities.now(interpreter, current) if updated is None else updated
    special_methods.called(interpreter, identities.now(interpreter, owner), "__setitem__", place, value)


def _store_in(interpreter: Interpreter, owner: Items, index: Any, value: Any, op: str | None) -> None:
    if op is not None:
        current = lists.subscripted(interpreter, owner, index)
        if optional.is_optional(current):
            current = optional.unless_none(interpreter.build, current, "what is updated is None here")
            if isinstance(current, ArrayValue):
                interpreter.build.refuse("an array is changed that is an item of a list of None", "ys[i] = ys[i] + y")
        value = _updated(interpreter, current, value, op)
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


def _update(interpreter: Interpreter, target: ArrayValue, value: Any, op: str | None) -> None:
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
        value = _updated(interpreter, owner.items[at], value, op)
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


def _store_attribute(interpreter: Interpreter, target: ast.Attribute, value: Any, op: str | None = None) -> None:
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
            _update(interpreter, indexing.memory_of(interpreter.build, part), value, op)
        return
    if isinstance(owner, Scalar):
        kind = attributes.PYTHON_KINDS[owner.dtype.kind] if owner.weak else owner.dtype.type
        what = f"attribute {target.attr!r} of a {kind.__name__} is not writable"
        interpreter.build.refuse(what, error=AttributeArgumentError)
    if not records.is_record(owner):
        interpreter.build.refuse("only attributes of objects that are made in the function can be assigned to")
    current = attributes.attribute(interpreter, owner, target.attr) if op else None
    _put(interpreter, owner, target.attr, current, value, op)


def _is_numpys(value: Any) -> bool:
    """Of an array NumPy is asked first: a list += an array is an array, and not a longer list."""
    return isinstance(value, ArrayValue) or (isinstance(value, Scalar) and not value.weak)


def _updated(interpreter: Interpreter, current: Any, value: Any, op: str) -> Any:
    """What `current op= value` gives, or None where it changes what it has."""
    if isinstance(current, ArrayValue):
        _update(interpreter, current, value, op)
        return None
    if identities.is_list(current) and op == "add" and not _is_numpys(value):
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
            value = _updated(interpreter, current, value, op)
        if value is None:
            return
    named_parts.store(interpreter, owner, key, value, "assigning to it")


def augment(interpreter: Interpreter, stmt: ast.AugAssign) -> None:
    op = operators.OPERATORS[type(stmt.op)]
    match stmt.target:
        case ast.Name(id=name):
            _augment_name(interpreter, stmt, name, op)
        case ast.Attribute() | ast.Subscript():
            before = _named_in(interpreter, stmt.target.value)
            with called_first.called(interpreter, stmt.target) as (target, names):
                _refuse_rebound(interpreter, stmt, before)
                if isinstance(target, ast.Attribute):
                    _augment_attribute(interpreter, stmt, target, op)
                else:
                    assert isinstance(target, ast.Subscript)
                    _augment_item(interpreter, stmt, target, op, names)
        case _:
            interpreter.build.refuse("only names and array elements can be updated in place")


def _augment_name(interpreter: Interpreter, stmt: ast.AugAssign, name: str, op: str) -> None:
    mark = len(interpreter.build.block)
    read = ast.copy_location(ast.Name(name, ast.Load()), stmt.target)
    before = interpreter.frame.bound(name)
    current, value = expressions.evaluate_all(interpreter, [read, stmt.value])
    now = interpreter.frame.bound(name)
    if identities.is_same_list(now, current):
        current = now
    elif now != before and (isinstance(current, ArrayValue) or identities.can_change(current)):
        _refuse_changed(interpreter, stmt)
    updated = special_methods.called(interpreter, current, special_methods.in_place(op), value)
    if updated is not None:
        binding.bind(interpreter, name, updated, mark)
    elif isinstance(current, ArrayValue):
        _update(interpreter, current, value, op)
    elif identities.is_list(current) and op == "add" and not _is_numpys(value):
        list_methods.method(interpreter, current, "extend", [value])
    elif records.is_dict(current) and dicts.updated(interpreter, current, value, op):
        pass
    elif identities.is_list(current) and op == "mul" and isinstance(current, TupleValue) and _count(value) > 0:
        list_methods.method(interpreter, current, "extend", [new_list(current.items * (_count(value) - 1))])
    else:
        updated = operators.binary(interpreter, op, current, value)
        if identities.is_list(current) and identities.is_list(updated):  # ys *= n, by whatever name
            identities.check_own(interpreter, current, "*=")
            identities.change(interpreter, current.identity, replace(updated, identity=current.identity))
        else:
            binding.bind(interpreter, name, updated, mark)


def _augment_attribute(interpreter: Interpreter, stmt: ast.AugAssign, target: ast.Attribute, op: str) -> None:
    build = interpreter.build
    if build.fields.are_views and not isinstance(target.value, ast.Name):
        owner = expressions.evaluate(interpreter, target.value)
        if item_views.is_view(interpreter, owner):  # its place is looked up once
            _augment_view(interpreter, stmt, target, owner, op)
            return
    held = expressions.evaluate(interpreter, target)
    mark = len(build.block)
    value = expressions.evaluate(interpreter, stmt.value)
    if called_first.is_property(interpreter, target):
        _augment_property(interpreter, target, held, value, op, mark)
        return
    changed = changes.changed_since(build, mark)
    now = expressions.evaluate(interpreter, target)
    if item_views.is_part(interpreter, held):  # another array may lie there by now
        item_names.check_under_way(interpreter, held, changed)
    if isinstance(held, ArrayValue) and now != held and roots_of_value(build, held) & build.in_items:
        interpreter.at(stmt)
        build.refuse_written_part()
    if (isinstance(held, Scalar) and changes.reads_any(build, held, changed)) or now != held:
        _refuse_changed(interpreter, stmt)
    updated = special_methods.called(interpreter, held, special_methods.in_place(op), value)
    if updated is not None:
        _store_attribute(interpreter, target, updated)
    else:
        _store_attribute(interpreter, target, value, op)


def _augment_view(
    interpreter: Interpreter, stmt: ast.AugAssign, target: ast.Attribute, owner: TupleValue, op: str
) -> None:
    """ys[i].x += y, of an object that is looked up anew whenever it is used."""
    name = f".item_{len(interpreter.env)}"
    interpreter.env[name] = owner
    found = ast.copy_location(ast.Name(name, ast.Load()), target.value)
    try:
        _augment_attribute(interpreter, stmt, ast.copy_location(ast.Attribute(found, target.attr), target), op)
    finally:
        interpreter.env.pop(name, None)


def _augment_property(
    interpreter: Interpreter, target: ast.Attribute, held: Any, value: Any, op: str, mark: int
) -> None:
    """What its function has returned is changed, or another made of it, and handed to its setter."""
    (held,) = expressions.as_before(interpreter, [held], mark)
    held = identities.now(interpreter, held)
    updated = special_methods.called(interpreter, held, special_methods.in_place(op), value)
    if updated is None:
        updated = _updated(interpreter, held, value, op)
    _store_attribute(interpreter, target, identities.now(interpreter, held) if updated is None else updated)


def _augment_item(
    interpreter: Interpreter, stmt: ast.AugAssign, target: ast.Subscript, op: str, names: list[str]
) -> None:
    mark = len(interpreter.build.block)
    before = _named_in(interpreter, target)
    value = expressions.evaluate(interpreter, stmt.value)
    changed = changes.changed_since(interpreter.build, mark)
    if _named_in(interpreter, target) != before:
        _refuse_changed(interpreter, stmt)
    as_called = expressions.as_before(interpreter, [interpreter.env[name] for name in names], mark)
    interpreter.env.update(zip(names, as_called, strict=True))
    for held in _named_in(interpreter, target.value).values():
        if isinstance(held, TupleValue) and any(
            special_methods.own(i, special_methods.in_place(op)) for i in held.items
        ):
            interpreter.at(stmt)
            interpreter.build.refuse(
                f"{special_methods.in_place(op)} of an item is not supported", "give the item a name first"
            )
    _store(interpreter, target.value, target.slice, value, op)
    if changed:
        _refuse_changed_target(interpreter, stmt, target, changed)


def _named_in(interpreter: Interpreter, node: ast.expr) -> dict[str, Any]:
    """What the names in an expression stand for now; of an object, the attributes that are read."""
    out: dict[str, Any] = {}
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id=name), attr=item):
                owner = interpreter.frame.bound(name)
                out[f"{name}.{item}"] = records.as_dict(owner).get(item) if records.is_record(owner) else None
            case ast.Name(id=name):
                value = interpreter.frame.bound(name)
                out[name] = None if records.is_record(value) else value
    return out


def _refuse_rebound(interpreter: Interpreter, stmt: ast.AugAssign, before: dict[str, Any]) -> None:
    """s[f()] += x, where f gives the name s to something else: Python has looked it up by then."""
    now = _named_in(interpreter, stmt.target.value)  # type: ignore[union-attr]
    for name, value in before.items():
        if now[name] != value and not identities.is_same_list(now[name], value):
            interpreter.at(stmt)
            interpreter.build.refuse(
                f"the index gives {name} to something else, and Python adds to what had the name", "compute it ahead"
            )


def _count(value: Any) -> int:
    return static_int(value) or 0


def _refuse_changed_target(
    interpreter: Interpreter, stmt: ast.AugAssign, target: ast.Subscript, changed: set[Any]
) -> None:
    """x[i] += f(x), where f writes to x: the elements are what they were before where they are no view, and the index
    too."""
    read: list[Any] = []
    owner = expressions.evaluate(interpreter, target.value)
    if isinstance(owner, ArrayValue):
        index = expressions.index_items(interpreter, target.slice)
        bounds = [bound for item in index if isinstance(item, Slice) for bound in (item.start, item.stop, item.step)]
        read += [*index, *bounds]
        if isinstance(owner, Flat) or indexing.is_copied(index):
            read.append(owner)
    current = expressions.evaluate(
        interpreter, ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    )
    if isinstance(current, Scalar) or list_items.is_item(interpreter, current):  # whose place another may have taken
        read.append(current)
    if any(changes.reads_any(interpreter.build, value, changed) for value in read):
        _refuse_changed(interpreter, stmt)


def _refuse_changed(interpreter: Interpreter, stmt: ast.AugAssign) -> None:
    interpreter.at(stmt)
    interpreter.build.refuse(
        "the right side changes what it is added to, or its index", "give the right side a name first"
    )
