"""What a long program does again and again, with other names, is one function that it calls.

    y = float64[n] of nothing                         def f_part(x, w, n):
    matmul(y, x, w_0)                                     y = float64[n] of nothing
    for i in range(n): y[i] = tanh(y[i])                  matmul(y, x, w)
    z = float64[n] of nothing                  →          for i in range(n): y[i] = tanh(y[i])
    matmul(z, y, w_1)                                     return y
    for i in range(n): z[i] = tanh(z[i])              y = f_part(x, w_0, n)
                                                      z = f_part(y, w_1, n)

The layers of a model stand one after the other by here.  A compiler's time grows faster than its text, and nobody reads
the same lines a dozen times.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from ..analysis.live_names import PLAIN, perhaps_set_by, set_by, wanted, wanted_by
from ..errors import place as error_place
from ..ir.expressions import Array, Dim, Expr, Var
from ..ir.info import OUTSIDE, memory_of
from ..ir.names import RESERVED
from ..ir.nodes import (
    Alloc,
    Assign,
    Block,
    Function,
    Library,
    Reshape,
    Split,
    Stmt,
    Subscript,
    View,
    leaves,
)
from ..ir.rename import with_names
from ..ir.walk import remembered, statements
from .facts import may_be_outside
from .lending import Called

LONG = 200  # statements, with those inside them: a shorter program is as it is
LEAST = 30  # of a part that is worth a function
PHASES = 3  # of what goes round and round: where it may begin
TRIES = 60  # runs that are looked at: of a long text that is all alike there are thousands

Names = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A function, and what is known of the memory of its arrays (see `Facts.memory`)."""

    function: Function
    memory: frozenset[tuple[str, str]]


def with_parts(program: Function) -> tuple[list[Part], Function]:
    """The functions, and the program that calls them."""
    parts: list[Part] = []
    if len(statements(program.body)) < LONG:
        return parts, program
    search = _Search(program)
    while (found := search.best()) is not None:
        parts.append(search.taken_out(found, len(parts)))
    return parts, replace(program, body=tuple(search.body))


@dataclass(frozen=True)
class _Found:
    """Where a part stands, what it is called there, and which of its names go in and come out."""

    places: Sequence[int]
    names: Sequence[Names]  # at each of the places, in one order
    length: int
    saved: int  # statements
    given: tuple[int, ...]
    made: tuple[int, ...]


class _Search:
    def __init__(self, program: Function) -> None:
        self.program, self.memory = program, memory_of(program)
        self.body: list[Stmt] = _made_where_wanted(program.body)
        results = [Assign(Var("", e.dtype), e) if isinstance(e, Expr) else e for e in leaves(program.results)]
        live = frozenset[str]().union(*(wanted_by(r) if isinstance(r, Stmt) else {r.name} for r in results))
        self.behind: list[frozenset[str]] = []  # names that are read behind each statement
        for stmt in reversed(self.body):
            self.behind.append(live)
            live = wanted((stmt,), live)
        self.behind.reverse()
        numbers: dict[Any, int] = {}
        self.kinds = [numbers.setdefault(_shape(s)[0], len(numbers)) for s in self.body]  # who are one but for names

    def best(self) -> _Found | None:
        """What saves the most."""
        sizes = [len(statements((stmt,))) for stmt in self.body]
        before = [0, *accumulate(sizes)]
        best: _Found | None = None
        crossings, known = self.crossings(), self.known()
        runs = sorted(self.runs(before), key=lambda run: before[run[0]] - before[run[1]])
        for start, stop, apart in runs[:TRIES]:
            length = min(stop - start, apart)
            if best is not None and before[stop] - before[start] <= best.saved:
                break  # no run that comes behind saves more

            def handed_on(first: int, end: int = stop + apart, length: int = length) -> tuple[int, int]:
                places = range(first, end - length + 1, length)
                return -len(places), sum(crossings[place] for place in places)

            phases = range(start, min(stop - length, start + length) + 1)
            for first in heapq.nsmallest(PHASES, phases, key=handed_on):
                found = self.part(first, length, before, known)
                if found is not None and (best is None or _rank(found) > _rank(best)):
                    best = found
        return best

    def known(self) -> dict[str, int]:
        """Behind which statement a name is set, whatever way the program has come."""
        out: dict[str, int] = {param.name: -1 for param in self.program.params}
        for at, stmt in enumerate(self.body):
            sets = {out.name for out in stmt.outs} if isinstance(stmt, Called) else set_by(stmt)
            for name in sets:
                out.setdefault(name, at)
        return out

    def crossings(self) -> list[int]:
        """How many names are spoken of both ahead of a statement and from it on."""
        spoken_of: dict[str, list[int]] = {}
        for at, stmt in enumerate(self.body):
            for name in _shape(stmt)[1]:
                spoken_of.setdefault(name, []).append(at)
        change = [0] * (len(self.body) + 2)
        for places in spoken_of.values():
            change[places[0] + 1] += 1
            change[places[-1] + 1] -= 1
        return [*accumulate(change)]

    def runs(self, before: list[int]) -> list[tuple[int, int, int]]:
        """Statements from one to another, of the same kinds as those so far behind them: those of the longest runs."""
        kinds = np.array(self.kinds)
        found: list[tuple[int, int, int, int]] = []
        for apart in range(1, len(kinds)):
            same = np.concatenate(([False], kinds[:-apart] == kinds[apart:], [False]))
            ends = np.flatnonzero(same[1:] != same[:-1])
            for start, stop in zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True):
                size, unit = before[stop] - before[start], before[min(stop, start + apart)] - before[start]
                if size >= LEAST and 2 * unit >= LEAST:
                    found.append((size, start, stop, apart))
        longest = heapq.nlargest(TRIES, found)
        cut = ((a, b, apart) for _, start, stop, apart in longest for a, b in self.cut(start, stop, apart))
        return [(a, b, apart) for a, b, apart in cut if before[b] - before[a] >= LEAST]

    def cut(self, start: int, stop: int, apart: int) -> Iterator[tuple[int, int]]:
        """The run in pieces in each of which a name always stands for the same other name."""
        there: dict[str, str] = {}
        back: dict[str, str] = {}
        for at in range(start, stop):
            pairs = list(zip(_shape(self.body[at])[1], _shape(self.body[at + apart])[1], strict=True))
            if any(there.get(x, y) != y or back.get(y, x) != x for x, y in pairs):
                yield start, at
                start, there, back = at, {}, {}
            there |= pairs
            back |= ((y, x) for x, y in pairs)
        yield start, stop

    def part(self, first: int, length: int, before: list[int], known: dict[str, int]) -> _Found | None:
        size = before[first + length] - before[first]
        if size < LEAST:
            return None
        wished = self.kinds[first : first + length]
        names, pattern = self.named(first, length)
        places: list[int] = []
        at = 0
        while at <= len(self.kinds) - length:
            if self.kinds[at : at + length] == wished and self.named(at, length)[1] == pattern:
                places.append(at)
                at += length
            else:
                at += 1
        if len(places) < 2:
            return None
        block = tuple(self.body[first : first + length])
        sets = frozenset[str]().union(*map(perhaps_set_by, block))
        surely = frozenset[str]().union(*map(set_by, block))
        wants = wanted(block)
        each = [self.named(place, length)[0] for place in places]
        made = tuple(
            k
            for k, name in enumerate(names)
            if name in sets and any(own[k] in self.behind[p + length - 1] for p, own in zip(places, each, strict=True))
        )
        given = tuple(k for k, name in enumerate(names) if name in wants)
        if any(names[k] not in surely | wants for k in made) or len(made) + len(given) > size:
            return None
        if any(known.get(own[k], place) >= place for place, own in zip(places, each, strict=True) for k in given):
            return None  # a call reads all that it hands over, whichever way the part then goes
        return _Found(places, each, length, (len(places) - 1) * size, given, made)

    def named(self, first: int, length: int) -> tuple[Names, list[tuple[int, ...]]]:
        """The names in statements, and which of them each statement has where."""
        numbers: dict[str, int] = {}
        pattern = [
            tuple(numbers.setdefault(name, len(numbers)) for name in _shape(stmt)[1])
            for stmt in self.body[first : first + length]
        ]
        return tuple(numbers), pattern

    def taken_out(self, found: _Found, number: int) -> Part:
        """The function; its calls stand in the body then."""
        name = f"{self.program.name}_part" + (f"_{number}" if number else "")
        while name in self.program.info.names.taken:
            name += "_"
        block = tuple(self.body[found.places[0] : found.places[0] + found.length])
        new = _own_names(found.names)
        old = dict(zip(found.names[0], new, strict=True))
        things = _things(block)
        params, results = (
            tuple(with_names(things[found.names[0][k]], old) for k in which) for which in (found.given, found.made)
        )
        function = Function(name, params, with_names(block, old), results, self.program.info)
        memory = self.memory_of_arrays(function, found)
        for place, own in reversed(list(zip(found.places, found.names, strict=True))):
            args = tuple(Var(own[k]) for k in found.given)
            outs = tuple(Var(own[k]) for k in found.made)
            last = place + found.length - 1
            call = Called(name, outs, (), args, span=block[0].span)
            self.body[place : last + 1] = [call]
            self.behind[place : last + 1] = [self.behind[last]]
            self.kinds[place : last + 1] = [-id(call)]  # is like nothing else
        return Part(function, memory)

    def memory_of_arrays(self, function: Function, found: _Found) -> frozenset[tuple[str, str]]:
        """What never overlaps wherever the function is called is apart in it."""
        arrays = {k: p for k, p in zip(found.given, function.params, strict=True) if isinstance(p, Array)}
        group = {k: k for k in arrays}
        outside = set()
        for own in found.names:
            first: dict[str, int] = {}
            for k in arrays:
                memory = self.memory.get(own[k], OUTSIDE)
                if memory == OUTSIDE:
                    outside.add(k)
                one, other = group[first.setdefault(memory, k)], group[k]
                group = {j: one if g == other else g for j, g in group.items()}
        known = {group[k] for k in arrays} - {group[k] for k in outside}
        made: list[Stmt] = []
        for k, array in arrays.items():  # as if it made one of each group itself
            if group[k] in known:
                made.append(View(array, arrays[group[k]], Reshape(())) if group[k] != k else Alloc(array, ()))
        params = tuple(p for k, p in zip(found.given, function.params, strict=True) if group.get(k) not in known)
        return frozenset(memory_of(replace(function, params=params, body=(*made, *function.body))).items())


def _made_where_wanted(block: Block) -> list[Stmt]:
    """The statements, with memory made, and handles on it, just ahead of whoever comes to it first."""
    out: list[Stmt] = []  # from the last one to the first
    for stmt in reversed(block):
        at = len(out)
        if isinstance(stmt, View) or (isinstance(stmt, Alloc) and stmt.on is None):
            name, asked = stmt.array.name, wanted_by(stmt)
            for at in reversed(range(len(out))):
                sets = perhaps_set_by(out[at])
                if name in wanted_by(out[at]) | sets or asked & sets:
                    at += 1
                    break
            else:
                at = len(out)
        out.insert(at, stmt)
    return out[::-1]


def _rank(found: _Found) -> tuple[int, int]:
    return found.saved, -len(found.given) - len(found.made)


@remembered
def _shape(stmt: Stmt) -> tuple[Any, Names]:
    """The statement with numbers for names, and the names; what may not be in a part is like nothing else."""
    if not all(isinstance(s, PLAIN) and _is_of_its_own(s) for s in statements((stmt,))):
        return id(stmt), ()
    names: dict[str, int] = {}
    checked = (s.span or stmt.span for s in statements((stmt,)) if may_be_outside(s))
    return (_numbered(stmt, names), *map(error_place, checked)), tuple(names)  # an error names the place


def _is_of_its_own(stmt: Stmt) -> bool:
    """Is it said by its operands alone, and by no stack, dice or strides?"""
    match stmt:
        case Alloc(on=on):
            return on is None
        case View(how=how):
            return not isinstance(how, Split)
        case Library():
            return not stmt.draws
    return True


def _numbered(value: Any, names: dict[str, int]) -> Any:
    match value:
        case Var(name=name, dtype=dtype):
            return "var", names.setdefault(name, len(names)), dtype.str
        case Array(name=name, dtype=dtype):
            return "array", names.setdefault(name, len(names)), dtype.str, value.ndim
        case Dim(array=name, axis=axis):
            return "dim", names.setdefault(name, len(names)), axis
        case View(base=base, how=Subscript()):  # as text, a slice may leave out where its base ends
            return *_of_fields(value, names), _numbered(base.dims, names)
        case tuple():
            return tuple(_numbered(item, names) for item in value)
        case _ if is_dataclass(value):
            return _of_fields(value, names)
    return repr(value)


def _of_fields(value: Any, names: dict[str, int]) -> tuple[Any, ...]:
    kept = (getattr(value, f.name) for f in fields(value) if f.name not in ("span", "label"))
    return type(value).__name__, *(_numbered(part, names) for part in kept)


def _things(block: Block) -> dict[str, Var | Array]:
    """The variables and arrays that statements speak of, by name."""
    out: dict[str, Var | Array] = {}

    def look(value: Any) -> None:
        if isinstance(value, (Var, Array)):
            out[value.name] = value
        elif isinstance(value, Dim):
            out.setdefault(value.array, Var(value.array))  # (if nobody wants more of it, it need not be an array)
        elif isinstance(value, tuple):
            for item in value:
                look(item)
        elif is_dataclass(value):
            for field in fields(value):
                if field.name not in ("span", "label"):
                    look(getattr(value, field.name))

    look(block)
    return out


def _own_names(each: Sequence[Names]) -> list[str]:
    """What a function calls what has these names where it is called: what they have in common."""
    taken, out = set(RESERVED), []
    for names in zip(*each, strict=True):
        common = _in_common(names)
        name, count = common, 0
        while name in taken:
            count += 1
            name = f"{common}_{count}"
        taken.add(name)
        out.append(name)
    return out


def _in_common(names: Names) -> str:
    """blocks_0_w, blocks_1_w → blocks_w"""
    if len(set(names)) == 1:
        return names[0]
    split = [name.split("_") for name in names]
    if len({len(words) for words in split}) == 1:
        name = "_".join(words[0] for words in zip(*split, strict=True) if len(set(words)) == 1)
    else:
        name = re.sub(r"_\d+$", "", names[0])
    return name if name.isidentifier() else names[0]
