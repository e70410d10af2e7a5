"""Branches: what comes out of an `if` by either side gets one variable or one memory.

if c: y = x * 2          if c: y = x * 2
else: y = -x       →     else: y = -x            (one array y, allocated on both sides)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Const, Expr, Load, Span, Var, negated
from ...ir.nodes import Alloc, Assign, CopyTo, If, Raise, Stmt, Store, Swap
from ...ir.rename import rename_arrays
from ...ir.walk import numbers_set, statements, variables
from .. import binding, identities, one_of, optional, part_names
from ..aliases import is_seen_elsewhere, mind_merged_aliases, note_twins, roots_of_value, value_leaves
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..calls.recursion import NotYetKnown
from ..joined_numbers import join_scalars, of_either_types, types_of, with_types
from ..lists import growing_lists, item_views
from ..syntax.flow import RESULT
from ..values import UNDEFINED, Items, OneOf, Range, Scalar, Static, TupleValue, Unusable, is_lost, is_unusable
from . import early_constants, other_keys, when_reached
from .unbound import bound_flag

if TYPE_CHECKING:
    from ..interpret import Interpreter


def choose(
    interpreter: Interpreter,
    condition: Expr,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    names: list[str],
    wanted: frozenset[str] | None = None,
) -> bool:
    """Interpret two branches, and merge the names that are still wanted."""
    build, env = interpreter.build, interpreter.env
    asked, place = condition, len(build.block)
    condition = build.capture(condition, "chosen") if build.mutable & variables(condition) else condition
    before = [(frame, dict(frame.env)) for frame in identities.frames_of(interpreter)]
    lists_before, stale_before, asked_at = identities.held(interpreter), build.stale, build.span
    results = []
    spans: list[Span | None] = []
    for run in (then, orelse):
        block: list[Stmt] = []
        build.stale = dict(stale_before)
        with build.nested(block):
            ended = when_reached.ends(interpreter, run)
        spans.append(build.span)
        held_elsewhere = {  # by the names of other calls, where this branch has changed it
            f"{name}.{number}": value
            for number, (frame, names_before) in enumerate(before)
            for name, value in frame.env.items()
            if frame is not interpreter.frame and value is not names_before.get(name)
        }
        results.append((block, dict(env), held_elsewhere, identities.held(interpreter), build.stale, ended))
        for frame, names_before in before:
            frame.env.clear()
            frame.env.update(names_before)
    (then_block, then_env, then_others, then_lists, then_stale, then_ended) = results[0]
    (else_block, else_env, else_others, else_lists, else_stale, else_ended) = results[1]
    if RESULT in names and not (then_ended or else_ended):
        both = (then_block, then_env, spans[0]), (else_block, else_env, spans[1])
        raising = early_constants.raising(build, len(interpreter.frames) == 1, *both)
        then_ended, else_ended = raising == 0, raising == 1
    is_check = then_block and not else_block and all(isinstance(stmt, Raise) for stmt in then_block)
    if condition != asked and is_check:
        condition = asked  # nothing in there changes what it is made of
        del build.block[place:]
    merged: dict[str, Any] = {}
    ahead: list[Stmt] = []
    interpreter.branch_envs = ({**then_env, **then_others}, {**else_env, **else_others})
    interpreter.branch_parts = tuple(
        _changed_parts(sides, lists_before, lists)
        for sides, lists in zip(interpreter.branch_envs, (then_lists, else_lists), strict=True)
    )
    interpreter.branch_stale = (then_stale, else_stale)
    interpreter.branch_identities = {}
    build.stale = {**({} if else_ended else else_stale), **({} if then_ended else then_stale)}
    if then_ended or else_ended:
        merged = else_env if then_ended else then_env
    else:
        for name in list(names):
            sides = [e.get(name, UNDEFINED) is UNDEFINED for e in (then_env, else_env)]
            if sides[0] != sides[1] and not name.startswith("."):
                for side, missing in zip((then_env, else_env), sides, strict=False):
                    side.setdefault(bound_flag(name), Scalar(Const(not missing, BOOL), weak=True))
            if bound_flag(name) in then_env or bound_flag(name) in else_env:
                names = [*names, bound_flag(name)]
                for side in (then_env, else_env):
                    side.setdefault(bound_flag(name), Scalar(Const(True, BOOL), weak=True))
        interpreter.wanted = wanted
        keys = dict.fromkeys([*then_env, *else_env])
        for name in keys:
            x, y = then_env.get(name, UNDEFINED), else_env.get(name, UNDEFINED)
            if identities.is_same(x, y):
                merged[name] = of_either_types(x, y)
            elif is_lost(x) or is_lost(y):
                merged[name] = x if is_lost(x) else y
            elif is_unusable(x) or is_unusable(y):  # changed in place by a branch in the branch: no name is bound
                merged[name] = x if is_unusable(x) else y
            elif name in names:
                with build.into(ahead):
                    merged[name] = merge(interpreter, name, (then_block, x), (else_block, y))
        mind_merged_aliases(interpreter, merged, (then_env, else_env))
    env.clear()
    env.update(merged)
    still_held = identities.held(interpreter)
    changed = _changed_lists(
        interpreter,
        {identity: value for identity, value in lists_before.items() if identity in still_held},
        (then_block, then_lists, then_ended),
        (else_block, else_lists, else_ended),
        ahead,
    )
    interpreter.wanted = None  # it was what is read after this statement
    build.block.extend(ahead)
    if then_ended or else_ended:  # what the other side makes lives on behind the branch, so it stands there
        leaves, stays = (then_block, else_block) if then_ended else (else_block, then_block)
        build.emit(If(condition if then_ended else negated(condition), tuple(leaves), (), span=asked_at))
        build.block.extend(stays)
    else:
        build.emit(If(condition, tuple(then_block), tuple(else_block), span=asked_at))
    for identity, value in changed.items():
        identities.change(interpreter, identity, value)
    return then_ended and else_ended


def _changed_lists(
    interpreter: Interpreter, before: dict[object, Any], then: Any, orelse: Any, ahead: list[Stmt]
) -> dict[object, Any]:
    """What the lists are, by whatever name, that a branch changes in place."""
    out: dict[object, Any] = {}
    (then_block, then_lists, then_ended), (else_block, else_lists, else_ended) = then, orelse
    for identity, value in before.items():
        x, y = then_lists.get(identity, value), else_lists.get(identity, value)
        if x == y == value:
            continue
        if then_ended or else_ended:
            out[identity] = y if then_ended else x
        elif x == y:
            out[identity] = x
        else:
            with interpreter.build.into(ahead):
                name = part_names.of_list(interpreter, identity, ())
                out[identity] = merge(interpreter, name, (then_block, x), (else_block, y))
            if is_unusable(out[identity]):
                out[identity] = _as_it_is_called(interpreter, identity, out[identity].value, (x, y))
    return out


def _as_it_is_called(interpreter: Interpreter, identity: object, unusable: Unusable, sides: tuple[Any, ...]) -> Static:
    """What is changed in place and can't be read: by the name that the user has for it, where there is one."""
    names = (name for name, value in interpreter.env.items() if getattr(value, "identity", None) is identity)
    name = next((name for name in names if not name.startswith(".")), None)
    if name is None:
        return Static(unusable)
    if other_keys.have_keys(sides):
        return other_keys.unusable(interpreter, name, *sides)
    return Static(replace(unusable, name=name))


def _changed_parts(env: dict[str, Any], before: dict[object, Any], lists: dict[object, Any]) -> list[Any]:
    """The lists that a branch changes and that are items of others: they meet the other side both ways."""
    named = {getattr(value, "identity", None) for value in env.values()}
    return [value for i, value in lists.items() if i not in named and i in before and value != before[i]]


def merge(interpreter: Interpreter, name: str, x: tuple[list[Stmt], Any], y: tuple[list[Stmt], Any]) -> Any:
    """One value for what is x at the end of one branch and y at the end of the other."""
    build = interpreter.build
    a, b = x[1], y[1]
    if a is UNDEFINED or b is UNDEFINED:
        known = a if b is UNDEFINED else b
        if isinstance(known, Scalar) and known.is_constant:
            return known
        if isinstance(known, OneOf):
            first, second = (v if v is UNDEFINED else v.number for v in (a, b))
            return OneOf(merge(interpreter, name, (x[0], first), (y[0], second)), known.options)
        a, b = (_absent(known) if value is UNDEFINED else value for value in (a, b))
    if optional.joins(a, b) and a != b:
        a, b = optional.as_optional(a, b), optional.as_optional(b, a)
    if one_of.joins(a, b):
        options = one_of.options_of(a, b)
        sides = [one_of.as_one_of(value, options).number for value in (a, b)]
        return OneOf(merge(interpreter, name, (x[0], sides[0]), (y[0], sides[1])), options)
    if isinstance(a, (Static, OneOf)) and a == b:
        return a
    match a, b:
        case Scalar(), Scalar():
            joined = join_scalars(a, b)
            dtype = joined.dtype
            var = Var(build.names.fresh(name), dtype)
            build.mutable.add(var)
            if a.weak != b.weak:
                build.either.add(var)
            for (block, value), side in ((x, a), (y, b)):
                if value is UNDEFINED:
                    build.emit(Assign(var, Const(dtype.type(0).item(), dtype)))
                else:
                    _finish(interpreter, block, var, side.expr)
            return replace(joined, expr=var)
        case TupleValue(), TupleValue() if item_views.are_alike(interpreter, a, b):
            sides = [Scalar(item_views.place_of(value), weak=True) for value in (a, b)]
            place = merge(interpreter, f"{name.lstrip('.')}_place", (x[0], sides[0]), (y[0], sides[1]))
            return item_views.at_place(interpreter, a, place.expr)
        case TupleValue(items=first), TupleValue(items=second) if len(first) == len(second) and a.kind == b.kind:
            items = [
                _merged_part(interpreter, part_names.of_item(name, a, k), (x[0], p), (y[0], q))
                for k, (p, q) in enumerate(zip(first, second, strict=False))
            ]
            return TupleValue(tuple(items), a.kind, identities.identity_of_either(interpreter, name, a, b))
        case (TupleValue() | Items(), TupleValue() | Items()) if identities.is_list(a) and identities.is_list(b):
            merged = growing_lists.merge(interpreter, name.lstrip("."), (x[0], a), (y[0], b), merge)
            identity = identities.identity_of_either(interpreter, name, a, b)
            if identity is None:  # the rows are memory of its own: to change them is refused
                identity = object()
                interpreter.one_of_several.add(identity)
            return replace(merged, identity=identity)
        case (ArrayValue() | Undefined_(), ArrayValue() | Undefined_()):
            return merge_arrays(interpreter, name, x, y)
        case Range(), Range():
            return _merged_range(interpreter, name, (x[0], a), (y[0], b))
        case (Scalar(), ArrayValue(dims=())) | (ArrayValue(dims=()), Scalar()):
            if any(_has_other_names(interpreter, name, v) for v in (a, b)):  # by which it may be written
                a, b = (ArrayValue((), v.expr) if isinstance(v, Scalar) else v for v in (a, b))
                return merge_arrays(interpreter, name, (x[0], a), (y[0], b))
            sides = [v if isinstance(v, Scalar) else Scalar(v.element) for v in (a, b)]
            return merge(interpreter, name, (x[0], sides[0]), (y[0], sides[1]))
    if name == RESULT:
        return build.refuse("the function returns values of different kinds on different paths")
    if other_keys.have_keys((a, b)):
        return other_keys.unusable(interpreter, name, a, b)
    help, called = "give it a value of one kind on every path", name.lstrip(".")
    if {type(a), type(b)} == {Scalar, ArrayValue}:
        help += f":  {called} = np.full_like(x, {called}), where it is a number"
    return Static(Unusable(name, "is of another kind by the path taken", (help,)))


def _has_other_names(interpreter: Interpreter, name: str, value: Any) -> bool:
    """Is it memory that another name stands for, ahead of the branch or in it?"""
    roots = roots_of_value(interpreter.build, value)
    held = (v for env in interpreter.branch_envs for other, v in env.items() if other != name)
    return any(is_seen_elsewhere(interpreter, name, root) for root in roots) or any(
        roots & roots_of_value(interpreter.build, v) for v in held
    )


def _merged_range(
    interpreter: Interpreter, name: str, x: tuple[list[Stmt], Range], y: tuple[list[Stmt], Range]
) -> Range:
    """Upwards or downwards, from here or from there."""
    bounds: list[Expr] = []
    for part in ("start", "stop", "step"):
        p, q = getattr(x[1], part), getattr(y[1], part)
        if affine.same(p, q) and not variables(p) & interpreter.build.mutable:
            bounds.append(p)
        else:
            sides = [(block, Scalar(bound, weak=True)) for (block, _), bound in ((x, p), (y, q))]
            bounds.append(merge(interpreter, f"{name.lstrip('.')}_{part}", *sides).expr)
    return Range(*bounds)


def _merged_part(interpreter: Interpreter, name: str, x: tuple[list[Stmt], Any], y: tuple[list[Stmt], Any]) -> Any:
    """One value for what is an item of a tuple at the end of each branch."""
    p, q = x[1], y[1]
    if identities.is_same(p, q):
        return p
    known = p if q is UNDEFINED else q
    if (p is UNDEFINED or q is UNDEFINED) and not isinstance(known, (Scalar, OneOf, ArrayValue, TupleValue, Items)):
        return known  # None, a string, a function
    return merge(interpreter, name, x, y)


def _absent(known: Any) -> Any:
    """What stands for a value on the path that does not bind it: a place of its kind, with nothing in it."""
    match known:
        case ArrayValue():
            return UNDEFINED
        case TupleValue(items=items):
            return replace(known, items=(UNDEFINED,) * len(items))
        case Items(identity=identity):
            return TupleValue((), list, identity)
    return known


Undefined_ = type(UNDEFINED)


def _finish(interpreter: Interpreter, block: list[Stmt], var: Var, expr: Expr) -> None:
    """End a branch with var = expr; a variable that was made for this value alone takes the name itself."""
    build, expr = interpreter.build, cast(expr, var.dtype)
    last = block[-1] if block else None
    if isinstance(last, Assign) and last.var == expr and last.var not in build.mutable | build.pinned:
        held = [value for env in interpreter.branch_envs for value in env.values()]
        held += [value for parts in interpreter.branch_parts for value in parts]
        if sum(_mentions(value, last.var) for value in held) <= 1:
            block[-1] = Assign(var, last.value, span=last.span)
            build.note_assigned(var)
            return
    with build.into(block):
        build.emit(Assign(var, expr))


def _mentions(value: Any, var: Var) -> int:
    """How many numbers and arrays in a value depend on a variable."""
    leaves = value_leaves(value)
    exprs = [
        (leaf.expr,) if isinstance(leaf, Scalar) else (leaf.element, *leaf.dims)
        for leaf in leaves
        if isinstance(leaf, (Scalar, ArrayValue))
    ]
    return sum(any(var in variables(expr) for expr in each) for each in exprs)


def merge_arrays(
    interpreter: Interpreter, name: str, x: tuple[list[Stmt], Any], y: tuple[list[Stmt], Any]
) -> ArrayValue:
    build = interpreter.build
    known = [value for _, value in (x, y) if isinstance(value, ArrayValue)]
    ndim = known[0].ndim
    if any(v.ndim != ndim for v in known):
        return build.refuse(f"{name.lstrip('.')} has another number of axes on each path")
    dtype = np.result_type(*(v.dtype for v in known))
    alike = all(map(affine.same, known[0].dims, known[-1].dims))
    outside = alike and not any(_assigned_in(block, dim) for block, _ in (x, y) for dim in known[0].dims)
    types = types_of(build, known[0]) | types_of(build, known[-1])
    if outside and (own := _changed_in_place(interpreter, name, x, y, dtype)) is not None:
        assert isinstance(own.element, Load)
        build.note_types(own.element.array, types)
        build.note_rebound(own.element.array)
        return own
    merged_name = build.names.fresh(name)
    if outside:
        merged = Array(merged_name, dtype, known[0].dims)
    else:
        dims = tuple(Var(build.names.fresh(f"{merged_name}_n{k}"), INT64) for k in range(ndim))
        build.pinned |= set(dims)
        merged = Array(merged_name, dtype, dims)
    build.contiguous.add(merged.name)
    build.roots[merged.name] = merged.name
    build.is_new(merged.name)
    build.note_types(merged, types)
    stale_behind = build.stale
    for (block, value), stale in zip((x, y), interpreter.branch_stale, strict=True):
        build.stale = stale
        with build.into(block):
            sizes = value.dims if isinstance(value, ArrayValue) else (affine.ZERO,) * ndim
            if not outside:
                for var, size in zip(merged.dims, sizes, strict=False):
                    build.emit(Assign(var, size))  # type: ignore[arg-type]
            if not isinstance(value, ArrayValue):
                build.emit(Alloc(merged, merged.dims, Const(dtype.type(0).item(), dtype)))
                continue
            handle = value.handle
            if (
                outside
                and handle is not None
                and handle.dtype == dtype
                and _takes_over(interpreter, block, handle, merged, name)
            ):
                continue
            build.check_fresh(value.element)
            if handle is None or handle.name not in build.contiguous or handle.name in build.uncertain:
                build.uncertain.add(merged.name)
            build.emit(Alloc(merged, merged.dims))
            if handle is not None and handle.dtype == dtype:
                build.emit(CopyTo(merged, handle))
            else:
                store = lambda index, v=value: Store(merged, index, cast(v.at(index), dtype))
                build.each(merged.dims, store)
            note_twins(interpreter, name, merged, value)
    build.stale = stale_behind
    return whole(merged)


def _changed_in_place(
    interpreter: Interpreter, name: str, x: tuple[list[Stmt], Any], y: tuple[list[Stmt], Any], dtype: np.dtype
) -> ArrayValue | None:
    """In a loop, `if c: x = x * 0.5`: x is what it was on one side, and nobody else knows its memory.

    Then the other side writes there, as `x[:] = x * 0.5` does: a branch that is not taken costs nothing.
    """
    build, before = interpreter.build, interpreter.env.get(name)
    if not interpreter.loops or not isinstance(before, ArrayValue) or not (handle := before.handle):
        return None
    root = handle.name
    changed = [k for k, (_, value) in enumerate((x, y)) if value != before]
    if len(changed) != 1 or before != whole(handle) or handle.dtype != dtype or build.root(handle) != root:
        return None
    if root in build.parameters or root not in build.contiguous or root in build.uncertain:
        return None
    if is_seen_elsewhere(interpreter, name, root):
        return None
    (side,) = changed
    block, value = (x, y)[side]
    held = (held for env in interpreter.branch_envs for other, held in env.items() if other != name)
    if not isinstance(value, ArrayValue) or any(root in roots_of_value(build, v) for v in (value, *held)):
        return None
    stale_behind, build.stale = build.stale, interpreter.branch_stale[side]
    with build.into(block):
        build.check_fresh(value.element)
        build.note_write(handle)
        source = value.handle
        if source is None or source.name not in build.contiguous or source.name in build.uncertain:
            build.uncertain.add(root)
        if source is not None and source.dtype == dtype:
            build.emit(CopyTo(handle, source))
        else:
            build.each(handle.dims, lambda index: Store(handle, index, cast(value.at(index), dtype)))
        note_twins(interpreter, name, handle, value)
    build.stale = stale_behind
    return before


def _assigned_in(block: list[Stmt], dim: Expr) -> bool:
    return bool(variables(dim) & numbers_set(tuple(block)))


def _takes_over(interpreter: Interpreter, block: list[Stmt], handle: Array, merged: Array, name: str) -> bool:
    """An array made in this branch for this value alone becomes the merged one."""
    build = interpreter.build
    at = next((k for k, s in enumerate(block) if isinstance(s, Alloc) and s.array == handle), None)
    views = [a for a, root in build.roots.items() if root == handle.name and a != handle.name]
    count = sum(isinstance(s, Alloc) and s.array == handle for s in statements(tuple(block)))
    if at is None or views or count != 1 or handle.name in build.twins:
        return False
    for side in interpreter.branch_envs:
        if any(other != name and handle.name in roots_of_value(build, value) for other, value in side.items()):
            return False
    if any(isinstance(s, Swap) and handle in (s.left, s.right) for s in statements(tuple(block))):
        return False
    if handle.name in build.uncertain:
        build.uncertain.add(merged.name)
    block[:] = [rename_arrays(stmt, {handle.name: merged}) for stmt in block]
    block[at] = Alloc(merged, merged.dims, block[at].fill, span=block[at].span)  # type: ignore[attr-defined]
    return True


def either(
    interpreter: Interpreter,
    condition: Expr,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    names: Sequence[str],
) -> Any:
    """The value of one of two expressions, of which only one is evaluated; it may give values to `names`."""

    name = ".either"

    def run(side: Callable[[], Any]) -> Callable[[], Any]:
        def bind() -> bool:
            value = side()
            value = _with_types(interpreter, value)
            if isinstance(value, ArrayValue):
                value = binding.bind_item(interpreter, "t", value)
            elif isinstance(value, Scalar) and names:  # what := names becomes another variable where the sides meet
                value = replace(value, expr=interpreter.build.variable("t", value.expr))
            interpreter.env[name] = value
            return False

        return bind

    interpreter.env.pop(name, None)
    interpreter.failed = None
    if choose(interpreter, condition, run(then), run(orelse), [name, *names]):
        if interpreter.failed is not None:
            raise interpreter.failed  # on both sides, so there is no value
        raise NotYetKnown  # both sides are calls of the function that is being read
    return interpreter.env.pop(name)


def _with_types(interpreter: Interpreter, value: Any) -> Any:
    if isinstance(value, TupleValue) and value.identity not in identities.held(interpreter):
        return replace(value, items=tuple(_with_types(interpreter, item) for item in value.items))
    return with_types(interpreter.build, value) if isinstance(value, Scalar) else value
