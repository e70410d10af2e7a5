"""Augmented assignment: `x += v` of a name is a new value or memory that changes; of an element, a store."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import binding, expressions, identities, one_of, operators
from .aliases import roots_of_value
from .array_values import ArrayValue, Flat
from .assignment import is_numpys, result_of, store, store_attribute, update
from .calls import called_first
from .lists import item_names, item_views, list_items, list_methods
from .numpy import indexing
from .objects import changes, dicts, records, special_methods
from .values import ChosenObject, Scalar, Slice, TupleValue, new_list, static_int

if TYPE_CHECKING:
    from .interpret import Interpreter


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
        update(interpreter, current, value, op)
    elif identities.is_list(current) and op == "add" and not is_numpys(value):
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
        _refuse_chosen(interpreter, target)
        _refuse_changed(interpreter, stmt)
    updated = special_methods.called(interpreter, held, special_methods.in_place(op), value)
    if updated is not None:
        store_attribute(interpreter, target, updated)
    else:
        store_attribute(interpreter, target, value, op)


def _refuse_chosen(interpreter: Interpreter, target: ast.Attribute) -> None:
    """xs[k].y += z, where which object that is, is known at run time alone."""
    if isinstance(target.value, ast.Subscript):
        owner = expressions.as_it_is(interpreter, target.value, for_attributes=True)
        if isinstance(owner, ChosenObject):
            one_of.refuse_object(interpreter, owner.objects)
        if isinstance(owner, TupleValue) and owner.identity is None:
            identities.check_own(interpreter, owner, "assigning to it")


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
        updated = result_of(interpreter, held, value, op)
    store_attribute(interpreter, target, identities.now(interpreter, held) if updated is None else updated)


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
    store(interpreter, target.value, target.slice, value, op)
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
