"""Zero-then-add becomes assign, for memory: where every element is first added to, it need not be zeroed.

x_b = zeros(n)                           x_b = empty(n)
for i in range(n): x_b[i] += …     →     for i in range(n): x_b[i] = …

Where a branch adds nothing, that is said there.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.added_to_zero import added_to_zero, is_zero
from ..analysis.effects import effects
from ..analysis.known_here import view_dims
from ..analysis.lengths import Equal, lengths_of
from ..analysis.overwritten import span_over
from ..analysis.signs import Signs, signs_of
from ..ir import affine
from ..ir.expressions import Array, Expr, Load, Var, compare
from ..ir.info import roots_of
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    Conform,
    For,
    Function,
    If,
    Library,
    Raise,
    Rule,
    Stmt,
    Store,
    Subscript,
    View,
)
from ..ir.walk import blocks, expressions, is_constant, loads, variables, with_blocks

MOST_ENDS = 2  # elements at either end that are set one by one


def first_touch(function: Function) -> Function:
    return replace(function, body=_Toucher(function).block(function.body, Equal()))


class _Toucher:
    def __init__(self, function: Function) -> None:
        self.is_primal = function.info.kind == "primal"
        self.roots, self.signs, self.lengths = roots_of(function), signs_of(function), lengths_of(function)

    def block(self, block: Block, equal: Equal) -> Block:
        """`equal`: lengths that are equal, as a check ahead of the block has found."""
        out: list[Stmt] = []
        known: list[Equal] = []
        for stmt in block:
            known.append(equal)
            if isinstance(stmt, If) and any(isinstance(inner, Raise) for inner in stmt.then):
                equal = equal.copy()
                equal.learn(stmt, self.lengths)
            if blocks(stmt) and not isinstance(stmt, Rule):
                within = known[-1].within(stmt)
                stmt = with_blocks(stmt, tuple(self.block(part, within) for part in blocks(stmt)))
            out.append(stmt)
        ends: dict[int, Block] = {}
        for position, stmt in enumerate(out):
            if isinstance(stmt, Alloc) and stmt.fill is not None and is_constant(stmt.fill):
                at, handle = _first_to_touch(out, position)
                if handle and not (self.is_primal and isinstance(out[at], Library)):  # it may add -0.0 to 0.0
                    filled = _assigned(out[at], handle, {}, known[at])
                    if filled is not None:
                        out[position], out[at] = replace(stmt, fill=None), filled
                    elif (nearly := _but_for_ends(out[at], handle, self.signs, known[at])) is not None:
                        out[position] = replace(stmt, fill=None)
                        ends[at], out[at] = (*nearly[0], *ends.get(at, ())), nearly[1]
        return self.at_once(tuple(s for k, stmt in enumerate(out) for s in (*ends.get(k, ()), stmt)))

    def at_once(self, block: Block) -> Block:
        """One element that is set to zero, and then added to, is set; not to what it was, though."""
        out: list[Stmt] = []
        for stmt in block:
            match stmt:
                case AddTo(target=Load(array=array, index=index) as place, value=value) if not self.is_primal:
                    at = self.cleared(out, place)
                    if at is not None and not self.reads(value, array):
                        is_there = isinstance(value, Var) and at > 0 and out[at - 1] == Assign(value, place)
                        is_there = is_there and stmt.reorder  # -0.0 + 0.0 is not -0.0
                        is_there = is_there and not any(isinstance(s, Assign) and s.var == value for s in out[at:])
                        del out[at]
                        if is_there:
                            continue
                        value = added_to_zero(stmt)
                        stmt = Store(array, index, value, place.checked, span=stmt.span, label=stmt.label)
            out.append(stmt)
        return tuple(out)

    def cleared(self, ahead: list[Stmt], place: Load) -> int | None:
        """Which statement has set the element to zero, and nobody has come to it since."""
        wanted = {v for part in place.index for v in variables(part)}
        if any(loads(part) for part in place.index):
            return None
        for at in reversed(range(len(ahead))):
            match ahead[at]:
                case Store(array=array, index=index, value=value) if is_zero(value):
                    return at if (array, index) == (place.array, place.index) else None
                case Assign(var=var, value=value) if var not in wanted and not self.reads(value, place.array):
                    continue
            return None
        return None

    def reads(self, value: Expr, array: Array) -> bool:
        root = lambda name: self.roots.get(name, name)
        return any(root(load.array.name) == root(array.name) for load in loads(value))


def _first_to_touch(block: list[Stmt], position: int) -> tuple[int, Alloc | None]:
    """The statement that comes first to memory made here, by one name alone, that is for all of it: and that name, as
    if memory were made by it.  Views say where it lies, no more."""
    made: Alloc = block[position]  # type: ignore[assignment]
    handles: dict[str, Alloc | None] = {made.array.name: made}
    for at in range(position + 1, len(block)):
        stmt = block[at]
        if isinstance(stmt, View) and stmt.base.name in handles:
            base, how = handles[stmt.base.name], stmt.how
            dims = view_dims(how, base.dims) if base and not isinstance(how, (Subscript, Conform)) else None
            handles[stmt.array.name] = replace(made, array=stmt.array, dims=dims) if dims else None
            continue
        seen = effects((stmt,))
        touched = handles.keys() & seen.names() | {made.array.name} & seen.shapes
        if touched:
            return at, handles[touched.pop()] if len(touched) == 1 else None
    return -1, None


def _but_for_ends(loop: Stmt, made: Alloc, signs: Signs, equal: Equal) -> tuple[Block, Stmt] | None:
    """Likewise where a loop leaves out the first or the last element of a vector, which are set ahead of it."""
    if not isinstance(loop, For) or made.array.ndim != 1:
        return None
    at = next(k for k, stmt in enumerate(loop.body) if _touches(stmt, made.array))
    first, (dim,) = loop.body[at], made.dims
    place = first.target if isinstance(first, AddTo) else first
    if not isinstance(place, (Load, Store)) or not _one_element(loop.body[at:], made.array):
        return None
    assigned = _assigned(first, made, {place.index[0]: dim}, equal)
    run = span_over(loop, place.index[0])
    if assigned is None or run is None or not signs.is_natural(run[0]):
        return None
    ends: list[Stmt] = []
    for low, high in ((affine.ZERO, run[0]), (run[1], dim)):
        left = affine.difference(high, low)
        if left is None or left > MOST_ENDS:
            return None
        for k in range(left):
            there = affine.add(low, affine.integer(k))
            store = Store(made.array, (there,), made.fill)  # type: ignore[arg-type]
            ends.append(If(_is_in(there, dim), (store,)))
    return tuple(ends), replace(loop, body=(*loop.body[:at], assigned, *loop.body[at + 1 :]))


def _is_in(place: Expr, dim: Expr) -> Expr:
    """Is there such an element?  The first few are where the vector is not too short, and so are the last few."""
    is_from_front = affine.is_at_least(place, 0)
    return compare("lt", place, dim) if is_from_front else compare("gt", affine.add(place, affine.ONE), 0)


def _assigned(stmt: Stmt, made: Alloc, over: dict[Expr, Expr], equal: Equal) -> Stmt | None:
    """The nest with its first addition to every element made an assignment; None where some are left out."""
    array, fill = made.array, made.fill
    assert fill is not None, made
    match stmt:
        case For(index=index, start=start, stop=stop, step=step, body=body):
            if step != affine.ONE or not affine.same(start, affine.ZERO):
                if not _goes_down_to_zero(stmt):
                    return None
                stop = affine.add(start, affine.ONE)
            at = next(k for k, s in enumerate(body) if _touches(s, array))
            if stmt.ordered and isinstance(body[at], If):
                return None  # it would store for each iteration what one in many has to add
            inner = _assigned(body[at], made, over | {index: stop}, equal)
            if inner is None or not _one_element(body[at:], array):
                return None
            return replace(stmt, body=(*body[:at], inner, *body[at + 1 :]))
        case If() if over:
            return _in_both(stmt, made, over, equal)
        case AddTo(target=Load(array=target, index=index), value=value) if target.name == array.name:
            if (
                is_zero(fill)
                and _covers(index, made, over, equal)
                and not any(x.array.name == array.name for x in loads(value))
            ):
                return Store(target, index, added_to_zero(stmt), span=stmt.span, label=stmt.label)
        case Library(routine=routine, out=out, args=args) if out.name == array.name and not over:
            whole = routine.startswith("add_") and is_zero(fill)
            if whole and not any(isinstance(a, Array) and a.name == array.name for a in args):
                return replace(stmt, routine=routine.removeprefix("add_"))
        case Store(array=target, index=index) if target.name == array.name and _covers(index, made, over, equal):
            if not any(x.array.name == array.name for e in expressions(stmt) for x in loads(e)):
                return stmt
    return None


def _in_both(branch: If, made: Alloc, over: dict[Expr, Expr], equal: Equal) -> If | None:
    """The same for both sides of a branch; one that adds nothing stores what memory is filled with."""
    array, fill = made.array, made.fill
    assert fill is not None, made
    index = next((access.index for access in effects((branch,)).accesses if access.array.name == array.name), ())
    known = tuple(part for part in index if part is not None)
    if any(x.array.name == array.name for x in loads(branch.condition)) or not _covers(known, made, over, equal):
        return None
    sides: list[Block] = []
    for side in (branch.then, branch.orelse):
        touching = [k for k, stmt in enumerate(side) if _touches(stmt, array)]
        if touching:
            inner = _assigned(side[touching[0]], made, over, equal)
            if inner is None:
                return None
            side = (*side[: touching[0]], inner, *side[touching[0] + 1 :])
        sides.append(side if touching else (*side, Store(array, known, fill)))
    return replace(branch, then=sides[0], orelse=sides[1])


def _covers(index: tuple[Expr, ...], made: Alloc, over: dict[Expr, Expr], equal: Equal) -> bool:
    """Do the loops run through all elements, each once?"""
    if len(set(index)) != len(index) or len(over) != len(index):
        return False
    ends = [(over.get(part), dim) for part, dim in zip(index, made.dims, strict=True)]
    return all(stop is not None and affine.same(equal.named(stop), equal.named(dim)) for stop, dim in ends)


def _one_element(rest: Block, array: Array) -> bool:
    """Does an iteration touch only the element that is its own?"""
    seen = effects(rest)
    if array.name in seen.views or any(v.base.name == array.name for v in seen.views.values()):
        return False
    indices = {a.index for a in seen.accesses if a.array.name == array.name}
    return len(indices) == 1 and not any(a.whole for a in seen.accesses if a.array.name == array.name)


def _goes_down_to_zero(loop: For) -> bool:
    return affine.same(loop.step, affine.integer(-1)) and affine.same(loop.stop, affine.integer(-1))


def _touches(stmt: Stmt, array: Array) -> bool:
    seen = effects((stmt,))
    return array.name in seen.names() or array.name in seen.shapes


__all__ = ["first_touch"]
