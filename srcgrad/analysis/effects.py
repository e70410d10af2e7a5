"""What statements read and write, down to elements: the ground that passes which move or merge loops stand on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ..ir import affine
from ..ir.expressions import Array, Dim, Expr, Load, Var
from ..ir.nodes import (
    AddTo,
    Assign,
    Block,
    Comment,
    Conform,
    External,
    For,
    If,
    Invoke,
    Library,
    NewAxis,
    Pick,
    Pop,
    Print,
    Push,
    Raise,
    Rule,
    Run,
    Seal,
    Stmt,
    Store,
    Subscript,
    Transpose,
    Unseal,
    View,
    While,
)
from ..ir.walk import (
    arrays_read,
    blocks,
    expressions,
    loads,
    remembered,
    statements,
    subexpressions,
    targets,
    variables,
    with_blocks,
    with_fields,
)
from .remainders import Known, ahead_of, known_in, steady

Index = tuple[Expr | None, ...]  # None: any
QUIET = ("BoundsError", "DepthError", "LinAlgError")  # errors of which it does not matter which one comes first
SIMPLE = (Assign, Store, AddTo, If, For, Comment)  # statements on numbers and elements alone


@dataclass(frozen=True)
class Access:
    """One touch of memory: at these indices of an array (a component that is None may be anything)."""

    array: Array
    index: Index
    writes: bool
    adds: bool = False  # only adds, and nobody looks in between
    whole: bool = False  # as an array, not as an element
    ours: bool = False  # … adds, and in an order that is ours
    under: Known = ()  # what is known where it happens

    def through(self, views: Mapping[str, View], is_natural: bool = False) -> Access:
        """The same touch, said of the memory that a view is a view of.  `is_natural`: no index is negative."""
        view = views.get(self.array.name)
        if view is None:
            return self
        index = _of_base(view, self.index, is_natural)
        return replace(self, array=view.base, index=index).through(views, is_natural)


def _of_base(view: View, index: Index, is_natural: bool) -> Index:
    match view.how:
        case Subscript(items=items):
            given = iter(index)
            out: list[Expr | None] = []
            for item in items:
                match item:
                    case Pick(index=at):
                        out.append(at)
                    case NewAxis():
                        next(given)
                    case Run(start=start, step=step):
                        part = next(given)
                        if part is None or not (is_natural or item.whole or affine.is_at_least(part, 0)):
                            out.append(None)  # w[-1], w = x[:4], is x[3]
                        else:
                            out.append(affine.add(start, affine.mul(step, part)))
            return tuple(out)
        case Transpose(order=order):
            turned: list[Expr | None] = [None] * len(order)
            for position, axis in enumerate(order):
                turned[axis] = index[position]
            return tuple(turned)
    return (None,) * view.base.ndim


@dataclass
class Effects:
    """The scalars and the memory that statements touch, and whether they can be seen from outside."""

    reads: set[Var] = field(default_factory=set)
    writes: set[Var] = field(default_factory=set)
    sums: set[Var] = field(default_factory=set)  # only ever added to
    ours: set[Var] = field(default_factory=set)  # … and always in an order that is ours
    accesses: list[Access] = field(default_factory=list)
    indices: set[Var] = field(default_factory=set)  # set by nothing but loops, which alone read them
    pushed: set[Var] = field(default_factory=set)  # the tops of stacks
    popped: set[Var] = field(default_factory=set)
    views: dict[str, View] = field(default_factory=dict)  # made here
    allocated: set[str] = field(default_factory=set)  # made here
    shapes: set[str] = field(default_factory=set)  # names whose lengths are read
    is_visible: bool = False  # prints or raises
    plain: set[Var] = field(default_factory=set)  # read, or set in other ways than by adding
    strict: set[Var] = field(default_factory=set)  # added to in the user's own order
    otherwise: set[Var] = field(default_factory=set)  # set by other statements than loops
    memory: tuple[Mapping[str, str], set[str], set[str]] | None = None  # what `memory_by` found last, for these roots

    def take(self, other: Effects) -> None:
        """Add what another statement does."""
        own, theirs = self.__dict__, other.__dict__
        for name in _not_empty(other):
            own[name].update(theirs[name])
        self.accesses += other.accesses
        self.is_visible |= other.is_visible
        self.memory = None

    def memory_by(self, roots: Mapping[str, str]) -> tuple[set[str], set[str]]:
        """The memory that is written, and all that is touched."""
        found = self.memory  # another thread may be here, with other roots
        if found is None or found[0] is not roots:
            accesses = [(roots.get(a.array.name, a.array.name), a.writes) for a in self.accesses]
            found = roots, {name for name, writes in accesses if writes}, {name for name, _ in accesses}
            self.memory = found
        return found[1:]

    def names(self) -> set[str]:
        return {a.array.name for a in self.accesses} | set(self.views) | {v.base.name for v in self.views.values()}

    def on_memory(self) -> list[Access]:
        """The accesses, said of what views are views of."""
        return [access.through(self.views) for access in self.accesses]


UNITED = (
    "reads", "writes", "sums", "indices", "pushed", "popped", "views", "allocated", "shapes", "plain", "strict",
    "otherwise",
)  # fmt: skip


@remembered
def _not_empty(seen: Effects) -> list[str]:
    """Of what `take` unites, when nothing more is added to it."""
    held = seen.__dict__
    return [name for name in UNITED if held[name]]


def effects(block: Iterable[Stmt]) -> Effects:
    """What the statements do.  It is not to be changed: a statement remembers what it does."""
    stmts = tuple(block)
    return _of_one(stmts[0]) if len(stmts) == 1 else _together(stmts)


@remembered
def _of_one(stmt: Stmt) -> Effects:
    return _settled(with_fields(_raw(stmt), {}))


@remembered
def names_used(stmt: Stmt) -> frozenset[str]:
    """The arrays that a statement, or one inside it, has to do with."""
    return frozenset(_of_one(stmt).names())


@remembered
def _alone(stmt: Stmt) -> Effects:
    """What a statement does, but for what is in its blocks."""
    inner = blocks(stmt)
    return _raw(with_blocks(stmt, tuple(() for _ in inner)) if inner else stmt)


@remembered
def names_of_its_own(stmt: Stmt) -> frozenset[str]:
    """The arrays and variables that a statement has to do with, but for what is in its blocks."""
    seen = _alone(stmt)
    return frozenset({v.name for v in seen.reads | seen.writes} | seen.names())


@remembered
def touched(stmt: Stmt) -> frozenset[str]:
    """The arrays that a statement has to do with, or asks for lengths, but for what is in its blocks."""
    seen = _alone(stmt)
    return frozenset(seen.names() | seen.shapes)


def uses(block: Block) -> Counter[str]:
    """How many statements have to do with each array and variable.  It is not to be changed."""
    return _uses_of_one(block[0]) if len(block) == 1 else _sum(map(_uses_of_one, block))


@remembered
def _uses_of_one(stmt: Stmt) -> Counter[str]:
    return _sum((Counter(names_of_its_own(stmt)), *(_uses_of_one(inner) for part in blocks(stmt) for inner in part)))


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    out: Counter[str] = Counter()
    for count in counts:
        for name, times in count.items():  # `update` asks first what it is given: half of the time
            out[name] = out.get(name, 0) + times
    return out


def _together(stmts: tuple[Stmt, ...]) -> Effects:
    out = Effects()
    _take_block(out, stmts, ())
    return _settled(out)


def _settled(out: Effects) -> Effects:
    out.sums = out.sums - out.plain
    out.ours = out.sums - out.strict
    out.indices = out.indices - out.otherwise
    return out


@remembered
def _raw(stmt: Stmt) -> Effects:
    """The effects of one statement and all inside it, not yet put together."""
    out = Effects()
    if isinstance(stmt, Rule):
        for item in stmt.outputs:
            if isinstance(item, Var):
                out.plain.add(item)
                out.writes.add(item)
            else:
                _touch_whole(out, item, writes=True)
        for inner in statements(stmt.adjoint):  # what its adjoint will read belongs to it
            _note_reads(out, inner)
    _note_reads(out, stmt)
    _note_writes(out, stmt)
    for part, known in zip_longest(blocks(stmt), known_in(stmt), fillvalue=()):
        _take_block(out, part, known)
    return out


def _take_block(out: Effects, block: Block, known: Known) -> None:
    mark = len(out.accesses)
    for stmt in block:
        out.take(_raw(stmt))
    if known or any(access.under for access in out.accesses[mark:]):
        out.accesses[mark:] = _under(block, known)


def _under(block: Block, known: Known) -> Iterator[Access]:
    """What a block touches, with what is known in it, of what it does not change."""
    values: Mapping[Var, Expr] = {}
    here = steady(known, set().union(*(_raw(stmt).writes for stmt in block)))
    for stmt in block:
        changed = _raw(stmt).writes
        for access in _raw(stmt).accesses:
            yield with_fields(access, {"under": (*here, *ahead_of(access.under, values, changed))})
        values = values_behind(stmt, values)


def values_behind(stmt: Stmt, values: Mapping[Var, Expr]) -> Mapping[Var, Expr]:
    """Of what expressions variables have been made that is still the same behind the statement."""
    changed = _raw(stmt).writes
    if changed and values:
        values = {v: value for v, value in values.items() if v not in changed and not variables(value) & changed}
    if isinstance(stmt, Assign) and stmt.var not in variables(stmt.value) and not loads(stmt.value):
        return {**values, stmt.var: stmt.value}
    return values


def values_within(stmt: Stmt, values: Mapping[Var, Expr]) -> dict[Var, Expr]:
    """Of what expressions variables have been made that is the same wherever in the statement they are read."""
    changed = _raw(stmt).writes if isinstance(stmt, (For, While)) else frozenset()
    return {v: value for v, value in values.items() if v not in changed and not variables(value) & changed}


def _touch_whole(out: Effects, array: Array, writes: bool) -> None:
    out.accesses.append(Access(array, (None,) * array.ndim, writes, whole=True))


@remembered
def _asked(expr: Expr) -> frozenset[str]:
    """The arrays of which an expression asks a length."""
    return frozenset(node.array for node in subexpressions(expr) if isinstance(node, Dim))


def _note_reads(out: Effects, stmt: Stmt) -> None:
    elements: set[str] = set()
    for expr in expressions(stmt):
        here = variables(expr)
        out.reads |= here
        out.plain |= here
        for load in loads(expr):
            out.accesses.append(Access(load.array, load.index, False))
            elements.add(load.array.name)
        out.shapes |= _asked(expr)
    match stmt:
        case View(array=array, base=base, how=Conform()):  # it may be a copy
            _touch_whole(out, base, writes=False)
            _touch_whole(out, array, writes=True)
            return
        case AddTo(target=Load()) | View():
            return
        case Push(stack=stack) | Pop(stack=stack) | Seal(stack=stack) | Unseal(stack=stack):
            top = Var(stack.top)
            if isinstance(stmt, (Push, Pop)):
                (out.pushed if isinstance(stmt, Push) else out.popped).add(top)
            out.reads.add(top)
            out.writes.add(top)
            out.plain.add(top)
        case Invoke(tapes=tapes):
            tops = {Var(stack.top) for stack in tapes}
            out.reads |= tops
            out.writes |= tops
            out.plain |= tops
    for array in arrays_read(stmt):
        if array.name not in elements:
            _touch_whole(out, array, writes=False)


def _note_writes(out: Effects, stmt: Stmt) -> None:
    match stmt:
        case AddTo(target=Var() as var, reorder=reorder):
            out.writes.add(var)
            out.sums.add(var)
            out.otherwise.add(var)
            if not reorder:
                out.strict.add(var)
        case AddTo(target=Load(array=array, index=index), reorder=reorder):
            out.accesses.append(Access(array, index, True, adds=True, ours=reorder))
        case Store(array=array, index=index):
            out.accesses.append(Access(array, index, True))
        case For(index=var):
            out.writes.add(var)
            out.plain.add(var)
            out.indices.add(var)
        case Assign(var=var) | While(trip=var):
            out.writes.add(var)
            out.plain.add(var)
            out.otherwise.add(var)
        case Raise() | Print():
            out.is_visible = True
        case View(array=array):
            out.views[array.name] = stmt
        case _:
            out.is_visible |= isinstance(stmt, Invoke) or (isinstance(stmt, Library) and stmt.draws)
            for item in targets(stmt):
                if isinstance(item, Array):
                    _touch_whole(out, item, writes=True)
                    if type(stmt).__name__ in ("Alloc", "External"):
                        out.allocated.add(item.name)
                elif isinstance(item, Var):
                    out.writes.add(item)
                    out.plain.add(item)
                    out.otherwise.add(item)


def is_loud(stmt: Stmt, quiet: Container[str]) -> bool:
    """Does the statement itself print, draw, or raise what is the user's?  `quiet`: functions that do not."""
    match stmt:
        case Print() | External() | Library(draws=True):
            return True
        case Raise(error=error):
            return error not in QUIET
        case Invoke(callee=callee):
            return callee not in quiet
    return False


def sums_in_order(block: Block) -> set[Var]:
    """The sums that are to be taken in the user's order, which rounding can tell from others."""
    inside = effects(block)
    return {var for var in inside.sums & inside.strict if var.dtype.kind in "fc"}


__all__ = [
    "SIMPLE",
    "Access",
    "Effects",
    "effects",
    "is_loud",
    "sums_in_order",
    "values_behind",
    "values_within",
]
