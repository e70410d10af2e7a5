"""Which names have cotangents that may be zero by arithmetic (edge case rule 3; the reasons are in `roughness`).

    r = sqrt(x); y = w * r               r is clean: its cotangent is w, zero or not
    r = sqrt(x); y = 1 / (1 + r) + r     r is not: at 0 its cotangent is 1 - 1

A tight partial does no harm where the value that it belongs to has no other reader.  So one has to know which reads
may meet in one value: two reads of an element do not if it is overwritten in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from ..ir.expressions import INT64, Array, Call, Const, Expr, Load, Var, is_inexact
from ..ir.info import roots_of
from ..ir.nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    Block,
    Conform,
    CopyTo,
    External,
    For,
    Function,
    If,
    Library,
    Rule,
    Stmt,
    Store,
    Swap,
    View,
    While,
    leaves,
)
from ..ir.walk import loads, statements, substitute, targets, variables
from .roughness import (
    BILINEAR,
    CHOOSE,
    EVERY,
    FINITE,
    INFINITE,
    OVERFLOWS,
    ROUGH,
    Roughness,
    effect,
    has_not_lost,
    level,
)

Around = tuple[Any, ...]  # the loops around a statement, and the branches that it is in, outermost first
Arms = tuple[tuple[Any, int], ...]


@dataclass(frozen=True, eq=False)
class Read:
    """A place where something is read with a derivative."""

    root: str
    targets: tuple[str, ...]  # what is computed from it
    harm: int
    tight: bool
    load: Load | None  # None: as a scalar, or whole
    once: bool  # each element once
    around: Around
    place: int
    form: Any = None  # what is made of it, and nothing else: two reads as 1 / s are as one
    arms: Arms = ()  # the selects that it stands in, and the side: 0 where the condition holds
    won: Arms = ()  # the choices between values that it stands in: it counts where it is not the one that lost


@dataclass
class Reads:
    """All reads of a program, and the writes that end what they have read."""

    roughness: Roughness
    roots: dict[str, str]
    found: list[Read] = field(default_factory=list)
    births: dict[str, list[tuple[Around, int]]] = field(default_factory=dict)
    given: dict[str, list[Expr]] = field(default_factory=dict)  # to scalars that are no floats: what positions are
    indices: set[str] = field(default_factory=set)  # of all loops
    stores: dict[str, list[tuple[int, Store, Around]]] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)  # by other statements than those
    written: dict[str, list[tuple[int, Stmt, Around]]] = field(default_factory=dict)  # by any
    conditions: dict[int, Expr] = field(default_factory=dict)  # of branches, by id of the statement
    distinct: set[str] = field(default_factory=set)  # arrays of positions that are all different
    spread: set[str] = field(default_factory=set)  # handles that show an element more than once
    place: int = 0

    def walk(self, block: Block, around: Around) -> None:
        for stmt in block:
            self.place += 1
            self.step(stmt, around)
            match stmt:
                case If(condition=condition, then=then, orelse=orelse):
                    self.conditions[id(stmt)] = condition
                    self.walk(then, (*around, (id(stmt), 0)))
                    self.walk(orelse, (*around, (id(stmt), 1)))
                case For(body=body) | While(body=body):
                    if isinstance(stmt, For):
                        self.indices.add(stmt.index.name)
                    self.walk(body, (*around, stmt))

    def step(self, stmt: Stmt, around: Around) -> None:
        of = self.roughness.of(stmt)
        inside = (
            [target for inner in statements(stmt.forward) for target in targets(inner)]
            if isinstance(stmt, Rule)
            else ()
        )
        for target in (*targets(stmt), *inside):
            self.written.setdefault(self.root(target), []).append((self.place, stmt, around))
        match stmt:
            case Assign(var=var, value=value):
                self.births.setdefault(var.name, []).append((around, self.place))
                if not is_inexact(var.dtype):
                    self.given.setdefault(var.name, []).append(value)
                self.expression(value, (var.name,), of, around)
            case AddTo(target=target, value=value):
                root = self.root(target.array if isinstance(target, Load) else target)
                self.changed.add(root)
                self.expression(value, (root,), of, around)
            case Store(array=array, value=value):
                self.expression(value, (self.root(array),), of, around)
                self.stores.setdefault(self.root(array), []).append((self.place, stmt, around))
            case Alloc(array=array):
                self.births.setdefault(self.root(array), []).append((around, self.place))
            case View(array=array, base=base, how=how):
                self.births.setdefault(array.name, []).append((around, self.place))
                if isinstance(how, Conform) or base.name in self.spread:
                    self.spread.add(array.name)
            case CopyTo(target=target, source=source) | Absorb(into=target, out=source):
                self.whole(source, (self.root(target),), 0, source.name not in self.spread, around)
                self.changed.add(self.root(target))
            case Swap(left=left, right=right):
                self.whole(left, (right.name,), 0, False, around)
                self.whole(right, (left.name,), 0, False, around)
                self.changed |= {left.name, right.name}
            case Library(routine="find_nonzero", out=out):
                self.distinct.add(out.name)
            case Library(args=args, outs=outs):
                bits = [level(a, of) if isinstance(a, (Array, Expr)) else ROUGH for a in args]
                for k, arg in enumerate(args):
                    others = [b for n, b in enumerate(bits) if n != k]
                    bilinear = stmt.routine in BILINEAR
                    worse = any(b & FINITE for b in others) if bilinear else any(b & ROUGH for b in bits)
                    if isinstance(arg, (Array, Expr)):
                        self.whole(arg, tuple(map(self.root, outs)), EVERY if worse else OVERFLOWS, False, around)
            case External(out=out, args=args):
                for arg in args:
                    if isinstance(arg, (Array, Expr)):
                        self.whole(arg, (self.root(out),), EVERY, False, around)
            case Rule(outputs=outputs, inputs=inputs):
                if stmt.name in CHOOSE:
                    self.one_of(inputs, tuple(map(self.root, outputs)), of, around)
                    return
                harm = EVERY if any(level(e, of) & ROUGH for e in inputs) else OVERFLOWS
                for value in inputs:
                    self.whole(value, tuple(map(self.root, outputs)), harm, False, around)

    def one_of(
        self, inputs: tuple[Expr, ...], targets: tuple[str, ...], of: Callable[[str], int], around: Around
    ) -> None:
        """What is chosen among such expressions: each of them says only how what it reads is read."""
        known = len(self.found)
        for value in inputs:
            self.expression(value, targets, of, around)
        self.found[known:] = [replace(read, load=None, once=False, form=None) for read in self.found[known:]]

    def root(self, thing: Any) -> str:
        return self.roots.get(thing.name, thing.name)

    def whole(self, thing: Any, targets: tuple[str, ...], harm: int, once: bool, around: Around) -> None:
        names = {thing.name} if isinstance(thing, (Array, Var)) else {v.name for v in variables(thing)}
        names |= {x.array.name for x in loads(thing)} if isinstance(thing, Expr) else set()
        for name in names:
            root = self.roots.get(name, name)
            self.found.append(Read(root, targets, harm, False, None, once, around, self.place))

    def expression(
        self,
        expr: Expr,
        targets: tuple[str, ...],
        of: Callable[[str], int],
        around: Around,
        harm: int = 0,
        tight: bool = False,
        form: Any = None,
        arms: Arms = (),
        won: Arms = (),
    ) -> None:
        from .dependence import differentiates

        if not is_inexact(expr.dtype):
            return
        match expr:
            case Var(name=name):
                self.found.append(Read(name, targets, harm, tight, None, True, around, self.place, form, arms, won))
            case Load(array=array):
                once, root = array.name not in self.spread, self.root(array)
                self.found.append(Read(root, targets, harm, tight, expr, once, around, self.place, form, arms, won))
            case Call(op=op, args=args):
                for number, arg in enumerate(args):
                    if differentiates(op, number):
                        worse, tighter = effect(expr, number, of)
                        is_form = tighter and not tight and _is_own(expr, number)
                        form = (op, number, args[number + 1 :]) if is_form else None
                        if op in ("fmax", "fmin"):  # they pass by what is a nan
                            inner = (*arms, (expr, number))
                        else:
                            inner = (*arms, (args[0], number - 1)) if op == "select" else arms
                        held = (*won, (has_not_lost(expr, number), 0)) if op in CHOOSE else won
                        self.expression(arg, targets, of, around, harm | worse, tight or tighter, form, inner, held)

    def writes(self, root: str) -> list[tuple[int, Around, tuple[Expr, ...]]]:
        """Where it is assigned to, or which of its elements."""
        stored = [(place, around, store.index) for place, store, around in self.stores.get(root, ())]
        return stored or [(place, around, ()) for around, place in self.births.get(root, ())]

    # ------------------------------------------------------------------------------------- one reader of each value

    def is_alone(self, read: Read, rough: set[str]) -> bool:
        """Is each value that is read here read once, and nowhere else?"""
        others = [r for r in self.found if r.root == read.root and r is not read]
        if read.form and not rough.intersection(read.targets):
            others = [r for r in others if r.form != read.form or rough.intersection(r.targets)]
            if not others:
                return True
        born = self.births.get(read.root, [((), 0)])
        around = born[0][0]
        if len(born) != 1 or not is_inside(read.around, around):
            return False
        if not read.once or not self.is_once(read, read.around[len(around) :]):
            return False
        return all(self.is_apart(read, other, len(around)) for other in others)

    def is_once(self, read: Read, inner: Around) -> bool:
        """Do the loops read different elements in every iteration?"""
        loops = [item for item in inner if isinstance(item, Stmt)]
        if not loops:
            return True
        if read.load is None or not all(isinstance(loop, For) for loop in loops):
            return False
        index = read.load.index
        if all(loop.index in index for loop in loops):  # type: ignore[attr-defined]
            return True
        return len(loops) == 1 and self._is_position(index, loops[0].index)  # type: ignore[attr-defined]

    def _is_position(self, index: tuple[Expr, ...], number: Var) -> bool:
        """positions[i], or what it means in two dimensions."""
        found = loads(index[0]) if index else ()
        if len(found) != 1 or not self.is_distinct(found[0].array.name) or found[0].index != (number,):
            return False
        match index:
            case (Load(),):
                return True
            case (Call(op="floordiv", args=(Load() as p, n)), Call(op="mod", args=(Load() as q, m))):
                return p == q and n == m
        return False

    def is_distinct(self, name: str) -> bool:
        return name in self.distinct and name not in self.changed and name not in self.stores

    def is_apart(self, one: Read, other: Read, depth: int) -> bool:
        """Do these never read one value, in the `depth` loops around its memory?"""
        if _share_a_loop(one.around, other.around, depth):
            return False  # either may come first
        first, second = (one, other) if one.place <= other.place else (other, one)
        return self.is_replaced(first, second, depth)

    def is_replaced(self, read: Read, later: Read, depth: int) -> bool:
        """Has every element that was read been overwritten in between?"""
        if read.load is None:
            return False
        mine = self.key(read.load.array.name, read.load.index, read.around, read.place)
        return mine is not None and any(
            read.place <= place < later.place
            and is_inside(around, read.around[:depth])
            and not _share_a_loop(around, later.around, depth)
            and self.key(store.array.name, store.index, around, read.place) == mine
            for place, store, around in self.stores.get(read.root, [])
        )

    def key(self, name: str, index: tuple[Expr, ...], around: Around, place: int) -> Any:
        """Which elements all iterations access; None: what stands in the index may change after `place`."""
        own: dict[Var, Expr] = {}
        ranges: list[Any] = []
        for item in around:
            if isinstance(item, For):
                ranges.append(tuple(substitute(e, own) for e in (item.start, item.stop, item.step)))
                own[item.index] = Var(f"#{len(own)}", INT64)
            else:
                ranges.append(id(item) if isinstance(item, Stmt) else item)
        given = {v.name for item in index for v in variables(item) if v not in own}
        arrays = {load.array.name for item in index for load in loads(item)}
        settled = all(self.is_distinct(array) for array in arrays) and not given & self.changed
        if not settled or not all(self.is_born_before(place, n) for n in given | arrays):
            return None
        return name, tuple(substitute(item, own) for item in index), tuple(ranges)

    def is_born_before(self, place: int, name: str) -> bool:
        born = self.births.get(name, [])
        return len(born) <= 1 and all(at < place for _, at in born)


def is_inside(inner: Around, outer: Around) -> bool:
    return tuple(map(_identity, inner[: len(outer)])) == tuple(map(_identity, outer))


def common_part(one: Around, other: Around) -> Around:
    """The loops and branches that are around both."""
    pairs = zip(one, other, strict=False)
    return tuple(mine for mine, _ in takewhile(lambda pair: _identity(pair[0]) == _identity(pair[1]), pairs))


def _identity(item: Any) -> Any:
    return id(item) if isinstance(item, Stmt) else item


def _is_own(expr: Call, number: int) -> bool:
    """Is it the operand itself that the partial is made of: 1 / s, log(s), s**-2?"""
    known = all(isinstance(arg, Const) for arg in expr.args[number + 1 :])
    return isinstance(expr.args[number], (Var, Load)) and known and (expr.op != "div" or number == 1)


def _share_a_loop(one: Around, other: Around, depth: int) -> bool:
    for mine, theirs in zip(one[depth:], other[depth:], strict=False):
        if _identity(mine) != _identity(theirs):
            return False
        if isinstance(mine, Stmt):
            return True
    return False


def reads_of(function: Function, active: frozenset[str]) -> Reads:
    """All reads with a derivative; those that have no targets are results."""
    roots = roots_of(function)
    reads = Reads(Roughness(function.body, roots, function.info.wrt), roots)
    reads.walk(function.body, ())
    reads.place += 1
    for leaf in leaves(function.results):
        if isinstance(leaf, Array):
            reads.whole(leaf, (), 0, leaf.name not in reads.spread, ())
        elif isinstance(leaf, Expr):
            reads.expression(leaf, (), reads.roughness.of(None), ())
    reads.found = [r for r in reads.found if r.root in active and (not r.targets or active.intersection(r.targets))]
    return reads


def find_unclean(reads: Reads) -> dict[str, int]:
    """The names, and to which kinds of primitives they are unclean."""
    from .dependence import spread

    ways = [(target, r.root) for r in reads.found for target in r.targets]
    rough = spread({r.root for r in reads.found if r.tight}, ways)
    cancels = {r for r in reads.found if (r.tight or rough.intersection(r.targets)) and not reads.is_alone(r, rough)}
    found: dict[str, int] = {}
    for kind in (FINITE, INFINITE, OVERFLOWS):
        for name in spread({r.root for r in reads.found if r.harm & kind or r in cancels}, ways):
            found[name] = found.get(name, 0) | kind
    return found


__all__ = ["Arms", "Around", "Read", "Reads", "common_part", "find_unclean", "is_inside", "reads_of"]
