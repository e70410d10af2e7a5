"""The end of a loop's body: what goes round is handed on, or is found to be something else than at the loop's head.

s = s * x[i]     →    s is assigned             u = f(u)    →    the memory of u gets what f(u) holds
u, un = un, u    →    the two swap memory       n = n + 0.5    →    Widen(n, float64): the loop is tried again
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...errors import SrcgradError, UnsupportedError
from ...ir import affine
from ...ir.expressions import Array, Const, Expr, Var, is_inexact
from ...ir.nodes import AddTo, Alloc, Assign
from ...ir.types import ScalarType
from ...ir.walk import statements, variables
from .. import identities, joined_numbers, one_of, optional, part_names, resized
from ..aliases import Aliased, mind_aliases, roots_of_value
from ..arithmetic import cast, cast_value
from ..array_values import ArrayValue
from ..joined_numbers import ItemTypes, Widen, is_as, join_scalars, types_of
from ..lists import growing_lists, item_views, list_types, lists, lists_as_arrays
from ..objects import class_defaults
from ..syntax.flow import RESULT
from ..values import (
    UNDEFINED,
    FewerAxesFirst,
    Generator,
    Items,
    OneOf,
    Range,
    Scalar,
    Slice,
    Static,
    Template,
    TupleValue,
    Unusable,
    told,
)
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
)
from .first_apart import FirstApart
from .handed_on import exchange, in_parallel, permuted, shape_known_ahead, steady_dims
from .loop_head import handle_of

if TYPE_CHECKING:
    from ..interpret import Interpreter


class _Comparison:
    """Head and end of a loop's body, name by name: what is to be handed on, and what is not as it was taken to be."""

    def __init__(
        self,
        interpreter: Interpreter,
        names: list[str],
        heads: dict[object, Any],
        inside: growing_lists.Inside,
        attempt: Attempt,
    ) -> None:
        self.interpreter, self.names, self.heads, self.inside, self.attempt = interpreter, names, heads, inside, attempt
        self.scalars: list[tuple[Var, Expr]] = []
        self.arrays: list[tuple[str, Array, ArrayValue]] = []
        self.relisted: list[tuple[str, Array, ArrayValue]] = []  # the rows of lists
        self.rebound: dict[str, Any] = {}
        self.kinds: dict[str, frozenset[ScalarType]] = {}
        self.items: dict[object, ItemTypes] = {}
        self.counted: set[str] = set()
        self.learnt: list[Exception] = []
        self.unlike: list[Exception] = []
        self.refused: list[SrcgradError] = []
        self.growths: dict[str, resized.Growth] = {}
        self.open_heads: dict[str, ArrayValue] = {}
        self.growing: set[str] = set()
        self.wholes: tuple[Any, Any] = (None, None)  # what the items that are compared are part of, at head and end
        self.names_of = {name: name for name in (*names, *attempt.lists.values())}  # of an item: the name it is part of

    def compare(self, name: str, entry: Any, end: Any) -> None:
        """One try tells of all names that are not alike, and nothing is refused while there is more to learn."""
        try:
            self.compare_kinds(name, entry, end)
        except (Widen, BecomesOptional, BecomesOneOf) as found:
            self.learnt.append(found)
        except Unlike as found:
            self.unlike.append(found)
        except SrcgradError as found:
            self.refused.append(found)

    def compare_kinds(self, name: str, entry: Any, end: Any) -> None:
        build, attempt = self.interpreter.build, self.attempt
        if isinstance(end, ArrayValue) and end == entry and len(types := types_of(build, end)) > 1:
            self.compare_types(name, attempt.kinds.get(name, frozenset()), types)  # by what a branch put there, perhaps
        if end is UNDEFINED or end is entry or name in attempt.unlike:
            return
        if optional.is_optional(entry) and optional.joins(entry, end):
            end = optional.as_optional(end, entry)
        elif optional.joins(entry, end):
            raise BecomesOptional(self.interpreter, name, end if optional.is_none(entry) else entry)
        if one_of.joins(entry, end):
            options = one_of.options_of(entry, end)
            if len(options) > one_of.MOST:
                build.refuse(f"{name} stands for another text or function in each iteration")
            if not isinstance(entry, OneOf) or options != entry.options:
                raise BecomesOneOf(self.names_of[name], options, name)
            entry, end = entry.number, one_of.as_one_of(end, options).number
        match entry, end:
            case Scalar(expr=Const()), Scalar():
                if (end.expr, end.weak) != (entry.expr, entry.weak):
                    self.counted.add(name)
            case Scalar(expr=Var() as var), Scalar():
                joined = join_scalars(entry, end)
                if not is_as(joined, entry):
                    raise Widen(self.names_of[name], joined, name)
                if end.expr != var:
                    self.scalars.append((var, cast(end.expr, joined.dtype)))
            case ArrayValue(dims=()), Scalar() if name not in attempt.types:  # what is computed of it is a number
                raise Widen(self.names_of[name], join_scalars(Scalar(entry.element), end), name)
            case TupleValue(items=before), TupleValue(items=after) if identities.is_alike(entry, end):
                for k, (x, y) in enumerate(zip(before, after, strict=False)):
                    part = part_names.of_item(name, entry, k)
                    self.names_of[part] = self.names_of[name]
                    if identities.is_same_list(x, y) and x.identity in self.heads:
                        continue  # compared as what it is, by whatever name
                    if not optional.is_nothing(y):
                        self.check_places(name, x, y)
                    self.compare(part, x, y)
            case Items(), _ if name in attempt.relisted and identities.is_list(end):
                self.compare_lengths(name, entry, end)
            case ArrayValue(), ArrayValue():
                if entry.element != end.element:
                    self.compare_arrays(name, entry, end)
            case Items(), Items() if lists.are_numbers(entry, end) and affine.same(entry.length, end.length):
                self.compare_numbers(name, entry, end)
            case x, Scalar() if x is UNDEFINED:
                raise Widen(self.names_of[name], end, name)
            case x, _ if x is UNDEFINED and one_of.is_option(end) and not optional.is_none(end):
                raise BecomesOneOf(self.names_of[name], one_of.options_of(end), name)
            case Scalar(), ArrayValue() if name in attempt.numbers_first and end.ndim:
                self.rebound[name] = (end.dtype, shape_known_ahead(self.interpreter, name, end))
            case x, ArrayValue() if x is UNDEFINED:
                self.rebound[name] = (end.dtype, shape_known_ahead(self.interpreter, name, end))
            case Static(), Static() if entry.value is end.value or entry.value == end.value:
                pass
            case (Slice(), Slice()) | (Range(), Range()) if entry == end:
                pass
            case x, TupleValue() if x is UNDEFINED:
                is_item = end.identity in self.interpreter.given_away  # which does not change under this name
                if name == RESULT and identities.is_nobody_elses(self.interpreter, name, end):
                    attempt.returned[name] = end
                    end = identities.unknown(end)  # the function ends here: nobody changes it any more
                if identities.can_change(end) and not is_item:  # another name may hold it by the next iteration
                    build.refuse(
                        f"{name.lstrip('.')} is a list or an object that first appears inside a loop and is used after "
                        "it",
                        "bind it ahead of the loop",
                    )
                raise FirstInside(self.interpreter, name, end)
            case x, Items() if x is UNDEFINED:
                if name not in self.names:
                    build.refuse(
                        f"{self.names_of[name]} first appears inside a loop, with a list in it of which only a run "
                        "tells the length",
                        "bind it ahead of the loop",
                    )
                raise FirstInside(self.interpreter, name, end)
            case x, _ if x is UNDEFINED and is_known_in_every_iteration(end) and name not in attempt.begun:
                raise FirstKnown(name, end)
            case x, Static(value=Template() | Generator()) if x is UNDEFINED:
                what = "a text with numbers" if isinstance(end.value, Template) else "a generator"
                self.refuse_to_read(name, f"is {what} that first appears inside a loop", "make it behind the loop")
            case x, Range() if x is UNDEFINED:
                self.refuse_to_read(name, "is a range that first appears inside a loop", "bind it ahead of the loop")
            case _ if entry is UNDEFINED:
                pass
            case _ if identities.is_list(entry) and identities.is_list(end):
                self.compare_lengths(name, entry, end)
            case _ if optional.is_none(entry) or optional.is_none(end):
                self.refuse_to_read(
                    name,
                    "is None at one end of the loop and something else than a number or an array at the other",
                    "give it a value of that kind ahead of the loop: an empty list where it becomes a list",
                )
            case Scalar(), ArrayValue() | Static(value=Unusable()):
                raise Unlike(
                    self.names_of[name],
                    name,
                    f"is a number at the beginning of the loop, and {_told(end)} at its end",
                    f"let it begin as an array:  {name.lstrip('.')} = np.full_like(x, {name.lstrip('.')})",
                    FewerAxesFirst,
                )
            case _:
                how = "is of another kind at the end of the loop than at its beginning"
                kinds = _kind_of(end), _kind_of(entry)
                how += f": {kinds[0]}, and not {kinds[1]}" if all(kinds) else ""
                help, called = "give it a value of one kind ahead of the loop", name.lstrip(".")
                if isinstance(end, TupleValue) and end.kind is tuple and isinstance(entry, (ArrayValue, Items)):
                    parts = ", ".join("abcd"[: len(end.items)]) + (", ..." if len(end.items) > 4 else "")
                    help = (
                        f"make it a tuple of known length ahead of the loop:  {parts} = {called}; {called} = ({parts})"
                    )
                self.refuse_to_read(name, how, help)

    def refuse_to_read(self, name: str, how: str, help: str) -> NoReturn:
        """From the next try on: whoever reads it, in the loop or behind it, is told."""
        raise Unlike(self.names_of[name], name, how, help)

    def check_places(self, name: str, before: Any, after: Any) -> None:
        """An item is another list or object than it was.

        What that holds is handed on to what the item was: so neither may be held elsewhere, or change in the loop (then
        its own numbers go round it).
        """
        interpreter, own = self.interpreter, getattr(before, "identity", None)
        other = getattr(after, "identity", None)
        if own is None or not isinstance(after, (TupleValue, Items)) or own is other:
            return
        moved = [identity for identity in (own, other) if identity is not None]
        places = [identities.places_of(interpreter, identity) for identity in moved]
        at_head, at_end = (identities.places_of(interpreter, own, whole) for whole in self.wholes)
        left = places[0] - at_end
        now = identities.held(interpreter)
        changed = any(i in self.heads and now.get(i, self.heads[i]) != self.heads[i] for i in moved)
        if other is None or left or changed or max(map(len, (at_head, *places))) > 1:
            interpreter.build.refuse(
                f"an item of {name} is another list or object in each iteration, and is changed or has other names",
                "put in a new one:  ys[i] = list(y), or copy.copy(y)",
            )

    def compare_numbers(self, name: str, entry: Items, end: Items) -> None:
        """Another list of as many numbers has the name."""
        before, after = map(lists_as_arrays.kind_of_numbers, (entry, end))
        joined = joined_numbers.common_place((before, after))
        if joined.dtype != np.result_type(entry.rows.dtype, end.rows.dtype):  # they are held in a wider array
            self.compare_lengths(name, entry, end)
            return
        if joined != before:
            raise Widen(self.names_of[name], Scalar(Var("", joined.dtype), joined.weak), name)
        x, y = (lists_as_arrays.array_of_items(self.interpreter, value) for value in (entry, end))
        if x.element != y.element:
            self.compare_arrays(name, x, y, are_lists=True)
            self.compare_items(name, end)

    def compare_lengths(self, name: str, entry: TupleValue | Items, end: TupleValue | Items) -> None:
        """Another list of another length has the name."""
        interpreter, known = self.interpreter, self.attempt.relisted.get(name)
        found = growing_lists.common(interpreter, entry, end, known, self.inside)
        if found is None:
            growing_lists.refuse_other_length(interpreter, name)
        if found != known or not isinstance(entry, Items):
            raise Relisted(name, *found)
        x, y = growing_lists.as_rows(interpreter, name, entry, end)
        y = cast_value(y, x.dtype)
        if x.element != y.element or x.dims != y.dims:
            self.growing |= {name} if entry.grows else set()
            self.relisted.append((name, entry.rows, y))
            self.open_heads[name] = x
            self.compare_items(name, end)

    def compare_types(self, name: str, at_head: frozenset[ScalarType], at_end: frozenset[ScalarType]) -> None:
        """Memory of floats may hold an array of ints by now: to what asks for its type, it is of either."""
        if not {kind.dtype for kind in at_end} <= {kind.dtype for kind in at_head}:
            self.kinds[name] = frozenset(at_head | at_end)

    def compare_items(self, whose: object, end: TupleValue | Items) -> None:
        """The same of lists."""
        at_head, at_end = self.attempt.items.get(whose), list_types.known(self.interpreter, end)
        if at_head is not None and not at_head.has(at_end):
            self.items[whose] = list_types.at_next_head(at_head, at_end)

    def compare_arrays(self, name: str, entry: ArrayValue, end: ArrayValue, are_lists: bool = False) -> None:
        build, attempt = self.interpreter.build, self.attempt
        joined = np.result_type(entry.dtype, end.dtype)
        widens = joined != entry.dtype
        if entry.ndim < end.ndim:
            raise Unlike(
                self.names_of[name],
                name,
                f"is {told(entry.ndim)} at the beginning of the loop, and {told(end.ndim)} at its end",
                "let it begin with as many axes:  x[None]",
                partial(FewerAxesFirst, axes=entry.ndim),
            )
        if entry.ndim != end.ndim or (widens and not is_inexact(entry.dtype)):
            self.refuse_to_read(
                name,
                "changes its number of axes or its dtype from one iteration to the next",
                "give it a value of one kind ahead of the loop",
            )
        if not are_lists:
            self.compare_types(name, types_of(build, entry), types_of(build, end))
        end = cast_value(end, joined)
        handle = handle_of(entry)
        if widens or handle is None or name not in attempt.rebound.keys() | attempt.swapped:
            self.rebound[name] = (joined, steady_dims(build, entry, end))
        else:
            self.arrays.append((name, handle, end))
        if name not in attempt.swapped | attempt.unbound and self.names_of[name] not in attempt.lists.values():
            self.compare_shapes(name, entry, end)

    def compare_shapes(self, name: str, entry: ArrayValue, end: ArrayValue) -> None:
        interpreter, attempt, inside = self.interpreter, self.attempt, self.inside
        build = interpreter.build
        growth = attempt.resized.get(name, {})
        new = [k for k in resized.changing(interpreter, entry, end, inside.index) if k not in growth]
        if name not in attempt.rebound:  # the next try has it in the shape of the end, where that is known
            new = [
                k
                for k in new
                if affine.difference(entry.dims[k], end.dims[k]) or not build.is_known_at_entry(end.dims[k])
            ]
        found = growth | dict.fromkeys(new, affine.ZERO)
        if growth and not new:
            found = resized.grown(interpreter, name, entry, end, growth, inside.index, inside.over)
            self.open_heads[name] = entry
            self.growing |= {name} if resized.is_in_growing_memory(growth, inside.over) else set()
        if found != growth:
            self.growths[name] = found
            self.rebound.setdefault(name, (entry.dtype, steady_dims(build, entry, end)))

    def refuse_other_keys(self, name: str, head: TupleValue, end: TupleValue) -> NoReturn:
        class_defaults.check(self.interpreter, head, end)
        try:
            self.interpreter.build.refuse(
                f"{name} gets other keys or attributes in a loop", "give it all of them ahead of the loop"
            )
        except UnsupportedError as error:
            raise FirstApart(name, "without some of its keys or attributes", "with all of them", error) from None

    def compare_lists(self, entries: dict[str, Any]) -> dict[object, Any]:
        """Lists that may change in place; returns the heads of those that change their lengths."""
        interpreter, attempt, heads = self.interpreter, self.attempt, self.heads
        build, now = interpreter.build, identities.held(interpreter)
        if interpreter.given_away.keys() & interpreter.list_heads[-1].keys() - attempt.given_away.keys():
            raise GivenAway
        own = {getattr(entries[name], "identity", None) for name in attempt.other_lists}  # by name: no other holds them
        others = {i: value for i, value in interpreter.list_heads[-1].items() if i not in heads and i not in own}
        changed = [i for i, value in others.items() if now.get(i, value) != value]
        if changed:
            raise growing_lists.Changed(changed)
        closed: dict[object, Any] = {}
        for identity, head in heads.items():
            name, end = attempt.lists[identity], now.get(identity, head)
            if isinstance(end, Items):
                self.compare_items(identity, end)
            if end is head or end == head:
                self.inside.steady.add(identity)
            elif identities.is_alike(head, end):
                self.wholes = head, end
                self.compare(name, head, end)
            elif not identities.is_list(head):
                self.refuse_other_keys(name, head, end)
            else:
                growing_lists.close(interpreter, name, head, end, attempt.growth.get(identity), self.inside)
                step = affine.sub(end.length, head.length)
                if variables(step) & {head.length}:
                    self.scalars.append((head.length, end.length))
                else:
                    build.emit(AddTo(head.length, step))
                closed[identity] = head
        self.items |= list_types.found_at_end(build, attempt.in_rows)
        return closed

    def compare_names(self, entries: dict[str, Any]) -> None:
        interpreter = self.interpreter
        for name in self.names:
            entry, end = entries[name], interpreter.env.get(name, UNDEFINED)
            if getattr(entry, "identity", None) in self.heads:
                if not identities.is_same_list(entry, end) and end is not UNDEFINED:
                    raise OtherList(name)
                continue
            if item_views.is_view(interpreter, entry):
                if not item_views.are_alike(interpreter, entry, end):
                    raise AsCopy(name)
                place = item_views.place_of(entry)
                assert isinstance(place, Var), place
                self.scalars.append((place, item_views.place_of(end)))
                continue
            identity = getattr(end, "identity", None)
            is_other = identity is not None and not identities.is_same_list(entry, end)
            will_be_optional = optional.joins(entry, end) and not optional.is_optional(entry)
            is_tried = name in self.attempt.held_twice or will_be_optional
            if getattr(entry, "identity", None) is not None and isinstance(end, (TupleValue, Items)) and not is_tried:
                if not identities.is_own(interpreter, end):  # others may hold what has this name next
                    raise HeldTwice(name)
            if is_other and name not in self.attempt.held_twice:
                if identities.is_held_by_others(interpreter, name, identity):
                    interpreter.one_of_several.update(identities.within(end))
                    raise HeldTwice(name)
            if is_other and identity in interpreter.given_away and name not in self.attempt.names_given_away:
                raise GivenAway(name)
            self.wholes = entry, end
            self.compare(name, entry, end)


def is_known_in_every_iteration(value: Any) -> bool:
    """Is it None, or a range between constants?"""
    if isinstance(value, Range):
        return all(isinstance(bound, Const) for bound in (value.start, value.stop, value.step))
    return optional.is_none(value)


def _kind_of(value: Any) -> str:
    """What it is, for a message; nothing where that can't be said in few words."""
    match value:
        case ArrayValue():
            return told(value.ndim)
        case Scalar():
            return "a number"
        case Items():
            return "a list or tuple whose length only a run tells"
        case TupleValue(kind=kind, items=items) if kind in (tuple, list):
            return f"a {kind.__name__} of {len(items)} {'item' if len(items) == 1 else 'items'}"
    return ""


def _told(end: Any) -> str:
    return told(end.ndim) if isinstance(end, ArrayValue) else "may be another thing"


def close_loop(
    interpreter: Interpreter,
    names: list[str],
    entries: dict[str, Any],
    heads: dict[object, Any],
    inside: growing_lists.Inside,
    attempt: Attempt,
) -> None:
    """At the end of the body: hand on what goes round, or find that the loop has to be tried again."""
    build = interpreter.build
    found = _Comparison(interpreter, names, heads, inside, attempt)
    closed = found.compare_lists(entries)
    found.compare_names(entries)
    if found.learnt or found.counted:
        raise Several([*found.learnt, Counts(found.counted)])
    if found.refused:
        raise found.refused[0]
    if found.rebound or found.kinds or found.items:
        swapped = permuted(interpreter, names, entries, found.rebound)
        raise Rebound(found.rebound, swapped, found.growths, found.kinds, found.items)
    if found.unlike:
        raise Several(found.unlike)
    for var, expr in in_parallel(build, found.scalars):
        build.emit(Assign(var, expr))
    of_arrays = [each for each in found.relisted if growing_lists.holds_arrays(attempt.relisted[each[0]][0])]
    mind_aliases(interpreter, [*found.arrays, *of_arrays], attempt)
    lengths = dict.fromkeys(attempt.relisted, growing_lists.BY_THE_NUMBER_OF_ITEMS)
    growths = attempt.resized | lengths
    pairs = [*found.arrays, *found.relisted]
    exchange(interpreter, pairs, found.open_heads, attempt.swapped, growths, found.growing)
    _mind_stale(interpreter, names, entries, closed, attempt)
    for identity, head in heads.items():  # what the next iteration finds, for the test of a while loop
        identities.change(interpreter, identity, head)
    for name in names:
        if entries[name] is not UNDEFINED:
            interpreter.env[name] = identities.now(interpreter, entries[name])


def _mind_stale(
    interpreter: Interpreter, names: list[str], entries: dict[str, Any], closed: dict[object, Any], attempt: Attempt
) -> None:
    """Memory that this iteration leaves other than a name of the next takes it to be: the next try knows."""
    build = interpreter.build
    known = {root for name in names for root in roots_of_value(build, entries.get(name))}
    known |= {
        root
        for frame in identities.frames_of(interpreter)
        for value in frame.env.values()
        for root in roots_of_value(build, value)
    }
    anew = {root for name in attempt.rebound for root in roots_of_value(build, entries.get(name))}  # in each iteration
    anew |= {build.root(stmt.array) for stmt in statements(tuple(build.block)) if isinstance(stmt, Alloc)}
    for head in closed.values():  # what a list took in this iteration is changed by the next
        if isinstance(head, Items) and build.all_twins(build.root(head.rows)) & build.changed_in_loop - anew:
            known.add(build.root(head.rows))
            build.stale.setdefault(build.root(head.rows), build.span)
    left = {root: span for root, span in build.stale.items() if root in known and root not in attempt.stale}
    left = {root: span for root, span in left.items() if root not in interpreter.stale_before[-1]}
    if left:
        raise Aliased(set(), left)
