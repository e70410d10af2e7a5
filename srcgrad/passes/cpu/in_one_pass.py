"""What several loops do, in one: what one of them leaves to the next, and to later iterations, stays in variables.

    k[i] = x[i] * y[i - 1]                  k_now = x[i] * y[i - 1]
    q[i] = x[i] * k[i - 1]          →       q[i] = x[i] * k_before
                                            k_before = k_now
    s[i] += g                               handed_on = h                   (LLVM wants what comes next before what
    s[i + 1] += h                   →       s[i] = s[i] + handed + g         uses it now)
                                            handed = handed_on

For `shift_and_peel`, whose loops these are.  What stands in memory when the loop begins, and what has to stand there
when it is over, is as if the loops had run one after another, up to where each of them is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise, permutations

from ...ir import affine
from ...ir.expressions import Call, Const, Expr, Load, Span, Var
from ...ir.names import Names
from ...ir.nodes import AddTo, Assign, For, Stmt, Store
from ...ir.walk import is_constant, map_expressions, rewrite, substitute, targets, variables
from .chains import Chain, gap


@dataclass
class _Written:
    """What a statement of the middle writes: a variable, with those of iterations before, and where it belongs."""

    place: Load  # the element in terms of the index
    offset: int  # how far it is ahead of the index
    now: Var
    value: Expr
    begins: int  # the first iteration in which it is written, from the first of the chain on
    loop: int  # which loop of the chain writes it
    before: list[Var] = field(default_factory=list)

    def at(self, index: Var, iteration: Expr) -> Load:
        parts = (affine.normal(substitute(part, {index: iteration})) for part in self.place.index)
        return replace(self.place, index=tuple(parts))


@dataclass
class _Handed:
    """What iterations have added to elements further ahead, the next one first.  `on_zero`: nothing else is there."""

    place: Load  # the element that an iteration is the last one to add to
    vars: list[Var]
    on_zero: bool


class Middle:
    """The loop that does the work of all loops of a chain for most of their range."""

    def __init__(
        self, chain: Chain, index: Var, first: Expr, last: Expr, names: Names, memory: dict[str, str], alone: set[str]
    ) -> None:
        """`memory` of each array; `alone`: what nobody but the chain has to do with."""
        self.names, self.index, self.chain, self.memory = names, index, chain, memory
        self.written: dict[str, list[_Written]] = {}
        self.handed: list[_Handed] = []
        self.read: set[str] = set()  # memory of which elements are read that the chain has not written
        self.body: list[Stmt] = []
        self.at_the_end: list[Stmt] = []
        self.known: dict[Var, Expr] = {}  # numbers of iterations before that nobody needs to hand on
        for self.loop_number, (loop, lag) in enumerate(chain.loops):
            self.take(loop, affine.sub(index, affine.integer(lag)))
        self.store_what_is_read(alone)
        self.say_by_one_another()
        ahead, behind = self.ends(first, last)
        self.loop = For(index, first, last, affine.ONE, (*self.body, *self.at_the_end), ordered=False)
        self.block = (*ahead, self.loop, *behind)

    def all_written(self) -> list[_Written]:
        return [written for group in self.written.values() for written in group]

    def take(self, loop: For, here: Expr) -> None:
        """What an iteration of one of the loops does."""
        self.begins = gap(loop.start, self.chain.start) + gap(self.index, here)
        body = tuple(map_expressions(stmt, lambda e: _at(e, loop.index, here)) for stmt in loop.body)
        rows: dict[str, set[int]] = {}
        for target in filter(None, map(_added_to, body)):
            rows.setdefault(target.array.name, set()).add(self.offset(target))
        shares: dict[str, dict[int, list[tuple[Load, Var]]]] = {}  # what goes to several elements of a row
        for stmt in body:
            place = _added_to(stmt)
            if place is not None and len(rows[place.array.name]) > 1:
                share = Var(self.names.fresh("share"), place.dtype)
                self.body.append(Assign(share, self.value(stmt.value), span=stmt.span))  # type: ignore[attr-defined]
                shares.setdefault(place.array.name, {}).setdefault(self.offset(place), []).append((place, share))
            else:
                self.statement(stmt)
        for of_this in shares.values():
            self.come_together(of_this)

    def come_together(self, shares: dict[int, list[tuple[Load, Var]]]) -> None:
        """The element that this iteration is the last one to add to gets what it has been given since."""
        least, most = min(shares), max(shares)
        place = shares[least][0][0]
        on_zero = self.is_on_zero(place, most)
        handed = [Var(self.names.fresh("handed"), place.dtype) for _ in range(most - least)]
        start = () if on_zero else (self.element(place),)
        for k, var in reversed(list(enumerate(handed, 1))):  # LLVM wants what comes next before what uses it now
            given = (share for _, share in shares.get(least + k, ()))
            after = Var(self.names.fresh(f"{var.name}_on"), var.dtype)
            self.body.append(Assign(after, _sum((*handed[k : k + 1], *given))))
            self.at_the_end.append(Assign(var, after))
        self.write(place, _sum((*start, handed[0], *(share for _, share in shares[least]))))
        self.handed.append(_Handed(place, handed, on_zero))

    def is_on_zero(self, place: Load, most: int) -> bool:
        """Has a loop of the chain cleared all that is added to, and nobody looked?"""
        group = self.written.get(self.memory[place.array.name])
        if group is None or not is_constant(group[-1].value, 0.0) or group[-1].before:
            return False
        zero = group[-1]
        if zero.begins + zero.offset > self.chain.ahead + most:
            return False
        zero.before = [Var(self.names.fresh("cleared"), place.dtype) for _ in range(zero.offset - most)]
        self.known.update((var, zero.value) for var in zero.before)  # what the middle leaves to be added to at the end
        return True

    def store_what_is_read(self, alone: set[str]) -> None:
        """The last that is written of each memory is stored, unless nobody looks there."""
        unread = {memory for memory in alone - self.read if memory in self.written and self.is_written_anew(memory)}
        self.stored = [group[-1] for memory, group in self.written.items() if memory not in unread]
        for one in self.stored:
            where = next(k for k, s in enumerate(self.body) if isinstance(s, Assign) and s.var == one.now)
            self.body.insert(where + 1, _store(one.place, one.now))

    def say_by_one_another(self) -> None:
        """Of numbers that are multiples of one another, one is handed on.

        They have to come from one loop: what stands between two may change what both are made of.
        """
        set_here = Counter(target for stmt in self.body for target in targets(stmt))
        written_here = sorted(self.all_written(), key=lambda one: -len(one.before))
        for one, other in permutations(written_here, 2):
            is_longer = len(one.before) >= len(other.before) > 0 and one.before[0] not in self.known
            is_there = one.loop == other.loop and one.begins + len(other.before) <= self.chain.ahead
            if is_longer and is_there and set_here[one.value] == 1 and _is_multiple(other.value, one.value):  # type: ignore[index]
                for mine, theirs in zip(one.before, other.before, strict=False):
                    self.known.setdefault(theirs, substitute(other.value, {one.value: mine}))
        self.body = [map_expressions(stmt, lambda e: substitute(e, self.known)) for stmt in self.body]
        self.at_the_end = [map_expressions(stmt, lambda e: substitute(e, self.known)) for stmt in self.at_the_end]

    def ends(self, first: Expr, last: Expr) -> tuple[list[Stmt], list[Stmt]]:
        """What the first iterations find in variables, and where what the last ones leave there goes."""
        ahead: list[Stmt] = []
        behind: list[Stmt] = []
        for one in self.all_written():
            for k, var in enumerate(one.before, 1):
                if var not in self.known:
                    ahead.append(Assign(var, one.at(self.index, affine.sub(first, affine.integer(k)))))
                if one not in self.stored:
                    left = one.at(self.index, affine.sub(last, affine.integer(k)))
                    behind.append(_store(left, self.known.get(var, var)))
            steps = reversed(list(pairwise((one.now, *one.before))))
            self.at_the_end += [Assign(old, new) for new, old in steps if old not in self.known]
        for handed in self.handed:
            to = _Written(handed.place, 0, handed.vars[0], handed.vars[0], 0, 0)
            for k, var in enumerate(handed.vars):
                there = to.at(self.index, affine.add(first, affine.integer(k)))
                left = to.at(self.index, affine.add(last, affine.integer(k)))
                ahead.append(Assign(var, there if handed.on_zero else Const(-0.0, var.dtype)))
                behind.append(_store(left, var) if handed.on_zero else AddTo(left, var, reorder=True))
        return ahead, behind

    @property
    def kept(self) -> int:
        """How many numbers go from one iteration to the next."""
        of_before = sum(var not in self.known for written in self.all_written() for var in written.before)
        return of_before + sum(len(handed.vars) for handed in self.handed)

    def is_written_anew(self, memory: str) -> bool:
        """Does the first loop that writes there write all that the middle does?  (Others may read it before.)"""
        chain = self.chain
        touched = zip(chain.stmts, chain.touches, strict=True)
        loop, touch = next((loop, t[memory]) for loop, t in touched if memory in t and t[memory].writes)
        assert isinstance(loop, For)
        late, early = gap(loop.start, chain.start), gap(loop.stop, chain.stop)
        offset = min(touch.offsets)
        offsets = [one.offset for one in self.written[memory]]
        return late + offset <= chain.ahead + min(offsets) and max(offsets) - chain.left <= early + offset

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Store(array=array, index=index, checked=checked, natural=natural, value=value):
                self.write(Load(array, index, checked, natural), self.value(value), stmt.span)
            case AddTo(target=Load() as target, value=Call(op="neg", args=(value,))):
                self.write(target, Call("sub", (self.value(target), self.value(value)), target.dtype), stmt.span)
            case AddTo(target=Load() as target, value=value):
                self.write(target, Call("add", (self.value(target), self.value(value)), target.dtype), stmt.span)
            case Assign() | AddTo():
                self.body.append(map_expressions(stmt, self.value))

    def write(self, place: Load, value: Expr, span: Span | None = None) -> None:
        now = Var(self.names.fresh(f"{place.array.name}_now"), place.dtype)
        written = _Written(place, self.offset(place), now, value, self.begins, self.loop_number)
        self.written.setdefault(self.memory[place.array.name], []).append(written)
        self.body.append(Assign(written.now, value, span=span))

    def value(self, expr: Expr) -> Expr:
        """The expression, with what the chain has written in variables."""
        return rewrite(expr, lambda node: self.element(node) if isinstance(node, Load) else node)

    def element(self, place: Load) -> Expr:
        memory = self.memory[place.array.name]
        group = self.written.get(memory)
        if group is None:
            self.read.add(memory)
            return place
        written = group[-1]
        ago = written.offset - self.offset(place)
        assert ago >= 0, "a loop reads what has not been written yet"
        while len(written.before) < ago:
            written.before.append(Var(self.names.fresh(f"{place.array.name}_before"), place.dtype))
        return written.before[ago - 1] if ago else written.now

    def offset(self, place: Load) -> int:
        part = next(part for part in place.index if self.index in variables(part))
        return gap(part, self.index)


def _sum(terms: Sequence[Expr]) -> Expr:
    return reduce(lambda x, y: Call("add", (x, y), x.dtype), terms)


def _is_multiple(expr: Expr, var: Expr) -> bool:
    """Is it the variable, or a constant times it?"""
    match expr:
        case Var():
            return expr == var
        case Call(op="mul", args=(Const(), x)) | Call(op="neg", args=(x,)):
            return x == var
    return False


def _added_to(stmt: Stmt) -> Load | None:
    return stmt.target if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) else None


def _at(expr: Expr, index: Var, place: Expr) -> Expr:
    moved = substitute(expr, {index: place})
    return rewrite(moved, lambda node: affine.normal(node) if isinstance(node, Call) else node)


def _store(place: Load, value: Expr) -> Store:
    return Store(place.array, place.index, value, place.checked, place.natural)


__all__ = ["Middle"]
