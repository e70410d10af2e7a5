"""What statements read and write, down to elements: the ground that passes which move or merge loops stand on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Dim, Expr, Load, Var
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
from .signs import Signs

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


# --------------------------------------------------------------------------------------------------------- questions


def is_private(var: Var, block: tuple[Stmt, ...]) -> bool:
    """Does every run of the block set the variable before it reads it?"""
    for stmt in block:
        seen = _raw(stmt)
        if var not in seen.reads and var not in seen.writes:
            continue
        if isinstance(stmt, While) and stmt.trip == var:  # which is set before the condition is asked
            return var not in effects(stmt.body).writes
        if any(var in variables(e) for e in expressions(stmt)):
            return False
        if isinstance(stmt, AddTo) and stmt.target == var:
            return False
        if _sets(stmt, var):
            return True
        if isinstance(stmt, Rule):
            if var in stmt.outputs:
                return not any(var in variables(e) for e in stmt.inputs)
            if not (is_private(var, stmt.forward) and is_private(var, stmt.adjoint)):
                return False
            continue
        if isinstance(stmt, For) and stmt.index == var:
            if var in effects(stmt.body).writes:
                return False
            continue
        if not all(is_private(var, inner) for inner in blocks(stmt)):
            return False
        if is_set(var, (stmt,)):
            return True
    return True


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


def _sets(stmt: Stmt, var: Var) -> bool:
    match stmt:
        case Assign(var=target) | Pop(target=target) | While(trip=target):
            return target == var
        case Invoke(outs=outs):
            return var in outs
    return False


def is_set(var: Var, block: tuple[Stmt, ...]) -> bool:
    """Does every run of the block set the variable?"""
    for stmt in block:
        if _sets(stmt, var):
            return True
        if isinstance(stmt, If) and is_set(var, stmt.then) and is_set(var, stmt.orelse):
            return True
    return False


def is_dead(var: Var, later: tuple[tuple[Stmt, ...], ...], is_result: bool) -> bool:
    """Does nobody read what the variable is now?  `later`: the blocks that run from here on, in their order."""
    for block in later:
        if not is_private(var, block):
            return False
        if is_set(var, block):
            return True
    return not is_result


def sums_in_order(block: Block) -> set[Var]:
    """The sums that are to be taken in the user's order, which rounding can tell from others."""
    inside = effects(block)
    return {var for var in inside.sums & inside.strict if var.dtype.kind in "fc"}


def commutes(x: Effects, y: Effects, roots: Mapping[str, str]) -> bool:
    """Can the two change places, to the last bit of the user's sums?  (Told by whole arrays and scalars.)"""
    if x.is_visible and y.is_visible:
        return False
    shared = (x.writes & (y.reads | y.writes)) | (y.writes & x.reads)
    if shared - (x.ours & y.ours) - (x.indices & y.indices):
        return False
    if (x.views and x.views.keys() & y.names()) or (y.views and y.views.keys() & x.names()):
        return False
    if _makes_what_is_viewed(x, y, roots) or _makes_what_is_viewed(y, x, roots):
        return False
    (wrote_x, touched_x), (wrote_y, touched_y) = x.memory_by(roots), y.memory_by(roots)
    clash = wrote_x & touched_y | wrote_y & touched_x
    touches = (*x.accesses, *y.accesses) if clash else ()
    return all(a.adds and a.ours for a in touches if roots.get(a.array.name, a.array.name) in clash)


def _makes_what_is_viewed(x: Effects, y: Effects, roots: Mapping[str, str]) -> bool:
    """Does the one allocate memory of which the other makes a view, or asks the length?  (Neither touches any.)"""
    made = x.allocated
    bases = (view.base.name for view in y.views.values()) if made else ()
    return bool(made & y.shapes) or any(name in made or roots.get(name, name) in made for name in bases)


def meet_in_one_iteration(a: Access, b: Access, loop: For, changed: set[Var], signs: Signs) -> bool:
    """Do two accesses that meet in one element do so in one iteration of the loop?

    `changed` are the variables that the loop's body sets: their values differ from iteration to iteration.
    """
    if a.array != b.array:
        return False
    return any(
        p is not None
        and q is not None
        and (runs_along(p, loop.index, changed) or _counts(p, loop, changed))
        and affine.same(p, q)
        and signs.is_apart(p, a.array, axis, loop)
        for axis, (p, q) in enumerate(zip(a.index, b.index, strict=True))
    )


def _counts(part: Expr, loop: For, changed: set[Var]) -> bool:
    """Is it the number of the iteration, in a loop by more than one: (i - start) // 2?"""
    terms, _ = affine.affine(part)
    along = [term for term, _ in terms if loop.index in variables(term)]
    match along:
        case [Call(op="floordiv", args=(x, by))]:
            count = dict(affine.affine(x)[0]).get(loop.index, 0)
            others = (term for term, _ in (*terms, *affine.affine(x)[0]) if term not in (along[0], loop.index))
            return _goes_by(count, loop.step, by) and not any(
                loads(term) or variables(term) & (changed | {loop.index}) for term in (by, *others)
            )
    return False


def _goes_by(count: int, step: Expr, by: Expr) -> bool:
    """Is so many times the step a multiple of `by`, and not 0?"""
    if isinstance(step, Const) and isinstance(by, Const):
        return bool(count * step.value != 0 and count * step.value % by.value == 0)
    return count != 0 and affine.same(step, by)


def runs_along(part: Expr, index: Var, changed: set[Var]) -> bool:
    """Is this component another number in every iteration?  (Another element only as far as `Signs` can tell.)"""
    terms, _ = affine.affine(part)
    if not any(term == index for term, _ in terms):
        return False
    return all(term == index or not (variables(term) & (changed | {index}) or loads(term)) for term, _ in terms)


__all__ = [
    "SIMPLE",
    "Access",
    "Effects",
    "commutes",
    "effects",
    "is_dead",
    "is_loud",
    "is_private",
    "is_set",
    "meet_in_one_iteration",
    "runs_along",
    "sums_in_order",
    "values_behind",
    "values_within",
]
