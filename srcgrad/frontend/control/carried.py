"""What goes round a loop: one variable for a scalar, one memory for an array that is rebound.

    s = 0.0                      s = 0.0
    for i in range(n):     →     for i in range(n):        (s is one mutable variable)
        s = s * x[i]                 s = s * x[i]

A loop is interpreted again when its end disagrees with its beginning: a type widens (int → float), an array name turns
out to be rebound, or memory turns out to be known by another name.  New contents of a rebound name are copied to its
memory, or, where names only change places (`u, un = un, u`), the two swap.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ...ir import affine
from ...ir.expressions import BOOL, Array, Const
from ...ir.nodes import Stmt
from .. import identities, optional, part_names, resized, unpacking
from ..aliases import MEMORY, Aliased, TwinsAhead
from ..calls.recursion import NotYetKnown
from ..joined_numbers import Widen, as_small_as, of_the_types_of
from ..lists import growing_lists, item_names, item_views, list_types, lists
from ..lists.item_fields_known import LoopAhead
from ..syntax.liveness import assigned
from ..values import UNDEFINED, FewerAxesFirst, Items, Range, Scalar, Static, is_lost, new_list
from .attempts import (
    AsCopy,
    Attempt,
    BecomesOneOf,
    BecomesOptional,
    Counts,
    FirstInside,
    FirstKnown,
    GivenAway,
    HeldTwice,
    OtherList,
    Rebound,
    Relisted,
    Several,
    Unlike,
    restore,
    save,
)
from .first_apart import FirstApart
from .loop_end import close_loop
from .loop_head import enter, enter_lists, handle_of, parts_of
from .numbers_first import may_be_first
from .unbound import BOUND, bound_flag, is_known_in

if TYPE_CHECKING:
    from ..interpret import Interpreter


ANYWHERE = frozenset({identities.ANY_MEMORY})
LEARNT = (Counts, Widen, BecomesOptional, BecomesOneOf, Unlike)
MOST_TRIES = 200  # at one loop: each teaches something, and no loop has so much to teach


def repeat(
    interpreter: Interpreter,
    node: ast.For | ast.While,
    body: list[ast.stmt],
    make: Callable[[list[str]], Stmt],
    over: Range | None = None,
    is_short: bool = False,
) -> None:
    """Interpret a loop until its end agrees with its beginning.

    `over`: the range that it runs over, at most.  `is_short`: it can be written out instead, for a list that grows.
    """
    changed = assigned([*body, *([ast.Assign([node.target], node.iter)] if isinstance(node, ast.For) else [])])
    names = sorted(changed & (node.live_in_body | node.live_out))  # type: ignore[union-attr]
    for name in names:
        if interpreter.env.get(name, UNDEFINED) is UNDEFINED and not name.startswith("."):
            interpreter.env[bound_flag(name)] = Scalar(Const(False, BOOL), weak=True)
    names += [bound_flag(name) for name in names if bound_flag(name) in interpreter.env]
    attempt = Attempt(numbers_first=may_be_first(node) if over is not None else frozenset())
    attempt.moved_ahead = dict(interpreter.build.fields.moved)
    there, reads = identities.held(interpreter).keys(), len(interpreter.early_reads)
    saved, ahead = save(interpreter), {name: interpreter.env.get(name) for name in names}
    for _ in range(MOST_TRIES):
        try:
            _try_loop(interpreter, node, names, attempt, make, over)
            late = [flag for flag in map(bound_flag, names) if flag in interpreter.env and flag not in names]
            if not late:
                _mind_numbers_first(interpreter, node, attempt)
                break
            restore(interpreter, saved)  # in the body alone it is asked for: ahead of the loop the name has a value
            interpreter.env.update(dict.fromkeys(late, Scalar(Const(True, BOOL), weak=True)))
            names += late
            saved, ahead = save(interpreter), {name: interpreter.env.get(name) for name in names}
            del interpreter.early_reads[reads:]
            continue
        except Several as found:
            for one in found.found:
                _learn(one, names, attempt, ahead)
        except LEARNT as found:
            _learn(found, names, attempt, ahead)
        except growing_lists.Changed as found:
            restore(interpreter, saved)  # they are called as they are reached ahead of the loop
            _note_changing(interpreter, found.identities, attempt)
        except lists.Grows as found:
            if found.identity not in there:
                if not interpreter.loops:  # no loop around has it from ahead
                    interpreter.build.refuse(
                        "a list that is another one in each iteration is used at a place, or in a length, that is only "
                        "known at run time",
                        "keep one list, and change its items",
                        "or use an array:  np.stack(items)",
                    )
                raise
            if is_short:
                raise growing_lists.WrittenOut from None
            _note_changing(interpreter, [found.identity], attempt)
            known = attempt.growth.get(found.identity)
            each = found.each if found.each is not None else known.each if known else affine.ONE
            attempt.growth[found.identity] = growing_lists.Growth(found.row, each)
        except FirstInside as found:
            if isinstance(found.value, Items):  # whether it is bound is asked for where it is read
                attempt.begun[found.name] = new_list(())
            attempt.tuples |= found.tuples
            attempt.types |= found.types
            attempt.rebound |= found.shapes
        except FirstKnown as found:
            attempt.begun[found.name] = found.value
        except AsCopy as found:
            attempt.as_copies.add(found.name)
        except HeldTwice as found:
            attempt.held_twice.add(found.name)
        except GivenAway as found:
            attempt.names_given_away |= {found.name} if found.name is not None else set()
        except OtherList as found:
            attempt.other_lists.add(found.name)
        except Relisted as found:
            if is_short:
                raise growing_lists.WrittenOut from None
            attempt.relisted[found.name] = (found.row, found.most)
        except Rebound as found:
            if is_short and found.resized:
                raise growing_lists.WrittenOut from None
            if (
                not found.dims.keys() <= attempt.rebound.keys()
            ):  # what these were taken for may have been all the trouble
                attempt.twins, attempt.stale = set(), {}
            attempt.rebound |= found.dims
            attempt.resized |= found.resized
            attempt.swapped |= found.swapped
            attempt.kinds |= found.kinds
            attempt.items |= found.items
        except Aliased as found:
            attempt.twins |= found.twins
            attempt.stale |= found.stale
        except UnsupportedError as error:
            found_out = getattr(error, "unusable", None)
            if not isinstance(found_out, FewerAxesFirst) or attempt.unlike.get(found_out.name) is not found_out:
                raise
            raise FirstApart(found_out.name, found_out.first, found_out.then, error) from None
        except NotYetKnown:  # as if it never ran
            restore(interpreter, saved)
            break
        attempt.given_away |= dict.fromkeys(interpreter.given_away, ANYWHERE)
        restore(interpreter, saved)
        del interpreter.early_reads[reads:]
    else:
        interpreter.build.refuse("what goes round this loop is of another kind each time that it is looked at")
    if len(interpreter.early_reads) > reads and not interpreter.loops:  # no loop around may yet bind it
        raise interpreter.early_reads[reads]
    for name in changed - set(names):
        interpreter.env.pop(name, None)


def _note_changing(interpreter: Interpreter, changing: Sequence[object], attempt: Attempt) -> None:
    """These lists and objects change in place."""
    for identity in changing:
        taken = {*attempt.lists.values(), *attempt.other_lists, *attempt.optional}
        attempt.lists.setdefault(identity, part_names.of_list(interpreter, identity, taken))


def _mind_numbers_first(interpreter: Interpreter, node: Any, attempt: Attempt) -> None:
    """Names of what has got more axes, and that are wanted behind the loop."""
    for name, value in attempt.unlike.items():
        if isinstance(value, FewerAxesFirst) and name in node.live_out:
            try:
                interpreter.build.refuse_unusable(Static(value))
            except UnsupportedError as error:
                raise FirstApart(value.name, value.first, value.then, error) from None


def _learn(found: Exception, names: list[str], attempt: Attempt, ahead: dict[str, Any]) -> None:
    """What the end of one try says of a name, or of a part of what it holds."""
    known = {*names, *attempt.lists.values()}
    match found:
        case Counts(parts=parts):
            attempt.counted |= parts
        case Widen(name=name, part=part, to=to) if name in known:
            is_first = part == name and part not in attempt.types
            attempt.types[part] = as_small_as(to, ahead.get(name)) if is_first else to
        case BecomesOptional(name=name) if name not in attempt.optional:
            attempt.optional[name] = found.value
            attempt.types |= found.types
            attempt.rebound |= found.shapes
        case BecomesOneOf(name=name, part=part, options=options) if name in known:
            attempt.one_of[part] = options
        case Unlike(name=name, part=part, value=value) if name in known:
            attempt.unlike[part] = value
        case _:
            raise found


def _try_loop(
    interpreter: Interpreter,
    node: ast.stmt,
    names: list[str],
    attempt: Attempt,
    make: Callable[[list[str]], Stmt],
    over: Range | None,
) -> None:
    build, env = interpreter.build, interpreter.env
    trips = None if over is None else unpacking.trips_of(over)
    indices = over  # what node.index runs over
    if trips is not None and getattr(node, "stop_flag", None) is not None:
        indices = Range(affine.ZERO, trips, affine.ONE)
    entries: dict[str, Any] = {}
    interpreter.given_away = attempt.given_away | interpreter.given_away
    interpreter.wanted = node.live_in_body | node.live_out  # type: ignore[attr-defined]
    for name in names:
        value = env.get(name, UNDEFINED)
        if value is UNDEFINED and name in attempt.begun:
            env[name] = value = attempt.begun[name]
        identity = getattr(value, "identity", None)
        if name not in attempt.as_copies and item_views.is_view(interpreter, value):
            place = build.variable(f"{name}_place", item_views.place_of(value))
            build.mutable.add(place)
            env[name] = entries[name] = item_views.at_place(interpreter, value, place)
            continue
        if identity is not None and name not in attempt.other_lists | attempt.optional.keys():
            attempt.lists.setdefault(identity, name)
            continue
        if attempt.lists.get(identity) == name:  # the list has the name no more
            del attempt.lists[identity]
        entry = enter(interpreter, name, value, attempt, trips)
        if identity is not None and hasattr(entry, "identity"):  # (it may be of no kind: nobody reads it)
            alone = sum(identities.holders(frame.env, identity) for frame in identities.frames_of(interpreter)) == 1
            if not alone:  # in the first iteration it is their list, and not in the next
                interpreter.one_of_several.update(identities.within(value))
            own = replace(entry.items[1] if optional.is_optional(entry) else entry, identity=object())
            if not alone or name in attempt.held_twice:  # others may hold it: nothing in it may change
                own = identities.under_new_identities(own)
                interpreter.one_of_several.update(identities.within(own))
            if identity in interpreter.given_away or name in attempt.names_given_away:
                interpreter.given_away[own.identity] = ANYWHERE
            entry = replace(entry, items=(entry.items[0], own)) if optional.is_optional(entry) else own
        env[name] = entries[name] = entry
    before, heads = identities.held(interpreter), enter_lists(interpreter, attempt, trips)
    attempt.in_rows = list_types.known_at_head(build, attempt.items)
    for name in names:
        entries.setdefault(name, env.get(name, UNDEFINED))
    known = {attempt.lists[identity]: head for identity, head in heads.items()} | entries
    parts = {part: value for name, entry in known.items() for part, value in parts_of(name, entry)} | entries
    twins_ahead = {name: set(twins) for name, twins in build.twins.items()}
    for pair in sorted(attempt.twins):
        one, other = (_memory_called(called, parts) for called in pair)
        if one is not None and other is not None:
            build.twin(one, other)
            if pair[0].startswith(MEMORY) or not pair[1].startswith(MEMORY):
                build.note_copy(build.root(other), one.name)
    twins = TwinsAhead(build)
    build.stale |= attempt.stale
    outer_close = interpreter.close_loop
    steady: set[object] = set()  # lists that every iteration makes longer by as much
    interpreter.wanted = None
    frame = interpreter.frame
    readable = {name for name, value in env.items() if not is_lost(value)} & node.live_in_body  # type: ignore[attr-defined]
    objects = {name for name in readable if getattr(env[name], "identity", None) is not None}

    interpreter.stale_before.append(set(build.stale))
    changed_around, build.changed_in_loop = build.changed_in_loop, set()

    looks, lost = build.fields.count_of_looks, item_names.lost_names(interpreter) if build.fields.are_views else set()
    surely_bound: list[str] = []  # flags that every iteration sets
    at_end: dict[str, Any] = {}

    def close() -> None:
        interpreter.at(node)
        at_end.update((name, interpreter.env.get(name)) for name in names)
        flags = {name: interpreter.env.get(name) for name in names if name.startswith(BOUND)}
        surely_bound[:] = [f for f, v in flags.items() if isinstance(v, Scalar) and is_known_in(build.block, v)]
        interpreter.wanted = node.live_in_body | node.live_out  # type: ignore[attr-defined]
        for name in sorted(readable):
            if is_lost(interpreter.env.get(name)):  # the next iteration reads it
                interpreter.lookup(name)
        for name in sorted(objects):  # what one gets in a branch, it has in the next iteration
            interpreter.build.refuse_unusable(interpreter.env.get(name))
        if build.fields.are_views:
            item_names.check_next(interpreter, lost, looks)
        inside = growing_lists.Inside(indices, node.index, steady)  # type: ignore[attr-defined]
        close_loop(interpreter, names, entries, heads, inside, attempt)
        twins.mind_new_ones()

    interpreter.close_loop = close
    interpreter.loops.append((frame, [n for n in names if isinstance(entries[n], Scalar)]))
    interpreter.none_ahead.append((frame, {n: value for n, value in entries.items() if optional.is_none(value)}))
    interpreter.list_heads.append(identities.held(interpreter))
    attempt.given_away |= interpreter.given_away
    build.fields.ahead.append(LoopAhead(node, twins_ahead, attempt.moved_ahead))
    try:
        loop = make(names)
    finally:
        build.fields.ahead.pop()
        interpreter.loops.pop()
        interpreter.none_ahead.pop()
        interpreter.list_heads.pop()
        interpreter.stale_before.pop()
        interpreter.close_loop = outer_close
        interpreter.wanted = None
    build.changed_in_loop |= changed_around
    interpreter.at(node)
    build.emit(loop)
    for name in names:
        env[name] = growing_lists.settled(interpreter, resized.settled(interpreter, entries[name]))
        env[name] = identities.as_new_as(env[name], attempt.returned.get(name))
        if isinstance(env[name], Scalar):  # `s = 0`, then `s += x[i]`: as iterations leave it (if there was one)
            is_sure = trips is not None and build.is_at_least(trips, 1)
            env[name] = of_the_types_of(build, env[name], at_end.get(name), is_sure)
    if unpacking.known_range(over) and getattr(node, "stop_flag", None) is None:
        env.update(dict.fromkeys(surely_bound, Scalar(Const(True, BOOL), weak=True)))
    for identity, value in heads.items():
        growth = attempt.growth.get(identity)
        if growth is not None:
            exact = identity in steady and getattr(node, "stop_flag", None) is None
            value = growing_lists.leave(interpreter, before[identity], value, growth, trips, exact)
        identities.change(interpreter, identity, value)


def _memory_called(called: str, parts: dict[str, Any]) -> Array | None:
    memory = called.removeprefix(MEMORY)
    return handle_of(parts.get(called)) if memory == called else Array(memory, np.dtype(float), ())


def settle(interpreter: Interpreter, names: list[str]) -> dict[str, Any]:
    """Arrays that change their lengths get those that they have now; returns what they were."""
    found = {name: interpreter.env[name] for name in names if resized.is_open(interpreter, interpreter.env.get(name))}
    for name, value in found.items():
        interpreter.env[name] = resized.settled(interpreter, value)
    return found
