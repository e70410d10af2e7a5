"""Of a loop that looks for the best, only the last iteration that found a better one is reversed.

    for j in range(n):                          for j in range(n):
        chosen = d[j] < best                        chosen = d[j] < best
        chosen_kept[j] = chosen                     if chosen: last = j
        if chosen: best = d[j]                      if chosen: best = d[j]
    for j in range(n - 1, -1, -1):      →       if last >= 0:
        chosen = chosen_kept[j]                     d_b[last] += best_b
        if chosen:                                  best_b = 0.0
            d_b[j] += best_b
            best_b = 0.0

What is overwritten has no cotangent before that.  So where an iteration that did not choose passes nothing on, and one
that did passes on a cotangent and leaves zero, those before the last that did have nothing to pass on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.nodes import (
    BOOL,
    INT64,
    AddTo,
    Alloc,
    Array,
    Assign,
    Block,
    Call,
    Comment,
    Const,
    Expr,
    For,
    Function,
    If,
    Load,
    Stmt,
    Store,
    Var,
)
from ..ir.walk import (
    blocks,
    expressions,
    is_constant,
    map_expressions,
    rewrite_block,
    statements,
    substitute,
    variables,
    with_blocks,
)
from .effects import effects, is_private
from .info import Info
from .reverse import backwards
from .skip_zeros import all_multiples, is_multiple


def last_taken(function: Function) -> Function:
    """The function with such loops replaced by one iteration of theirs."""
    if function.info.kind == "primal":
        return function
    while search := next(_searches(function), None):
        function = _shortened(function, search)
    return function


@dataclass(frozen=True)
class _Search:
    """A loop, its reverse, and the array that says which iterations chose."""

    forward: For
    reverse: For
    kept: Array
    chosen: Var  # … and the variable that it is read to


# ------------------------------------------------------------------------------------------------------ recognised


def _searches(function: Function) -> Iterator[_Search]:
    for stmt in statements(function.body):
        search = _search_of(stmt, function) if isinstance(stmt, For) else None
        if search is not None:
            yield search


def _search_of(reverse: For, function: Function) -> _Search | None:
    kept = next((s for s in reverse.body if _is_kept_choice(s, reverse.index)), None)
    if not isinstance(kept, Assign) or not isinstance(kept.value, Load):
        return None
    array, index = kept.value.array, kept.value.index
    branch = next((s for s in reverse.body if isinstance(s, If) and s.condition == kept.var), None)
    cotangent = _restarted(branch) if branch is not None else None
    if cotangent is None or cotangent in effects([s for s in reverse.body if s is not branch]).writes:
        return None
    idle = _zeros_after(reverse.body, kept.var, False, frozenset())
    spent = _zeros_after(reverse.body, kept.var, True, frozenset((cotangent,)))
    if idle is None or spent is None or cotangent not in spent:
        return None
    forward = _mirrored(reverse, array, index, function)
    if forward is None or not _is_forgotten(reverse, forward, cotangent, function):
        return None
    return _Search(forward, reverse, array, kept.var)


def _is_kept_choice(stmt: Stmt, index: Var) -> bool:
    match stmt:
        case Assign(var=Var(dtype=dtype), value=Load(index=(*around, last))) if dtype == BOOL:
            return index in variables(last) and not any(index in variables(part) for part in around)
    return False


def _restarted(branch: If) -> Var | None:
    """The cotangent that this branch passes on and leaves at zero."""
    if branch.orelse:
        return None
    for stmt in branch.then:
        if isinstance(stmt, Assign) and is_constant(stmt.value, 0.0):
            after = branch.then[branch.then.index(stmt) + 1 :]
            before = branch.then[: branch.then.index(stmt)]
            if stmt.var not in effects(after).writes | effects(before).writes and stmt.var in effects(before).reads:
                return stmt.var
    return None


def _zeros_after(block: Block, chosen: Var, is_chosen: bool, zeros: frozenset[Var]) -> frozenset[Var] | None:
    """The variables that are zero after the block, if nothing else comes of it; None where something may."""
    for stmt in block:
        match stmt:
            case Comment():
                continue
            case Assign(var=var, value=value):
                is_zero = is_constant(value, 0.0) or is_multiple(value, set(zeros))
                zeros = zeros | {var} if is_zero else zeros - {var}
            case AddTo(value=value):
                if not is_multiple(value, set(zeros)):
                    return None
            case For(body=body):
                if not all_multiples(body, set(zeros)):
                    return None
            case If(condition=condition, then=then, orelse=orelse):
                known = _known(condition, chosen, is_chosen, zeros)
                sides = [then, orelse] if known is None else [then] if known else [orelse]
                found = [_zeros_after(side, chosen, is_chosen, zeros) for side in sides]
                if any(after is None for after in found):
                    return None
                zeros = frozenset.intersection(*(after for after in found if after is not None))
            case _:
                return None
    return zeros


def _known(condition: Expr, chosen: Var, is_chosen: bool, zeros: frozenset[Var]) -> bool | None:
    match condition:
        case Var() if condition == chosen:
            return is_chosen
        case Call(op="not", args=(inner,)):
            known = _known(inner, chosen, is_chosen, zeros)
            return None if known is None else not known
        case Call(op="ne", args=(Var() as var, Const(value=0))) if var in zeros:
            return False
    return None


def _mirrored(reverse: For, kept: Array, index: tuple[Expr, ...], function: Function) -> For | None:
    """The one loop that stores what the reverse loop reads, over the same range the other way."""
    stores = [s for s in statements(function.body) if isinstance(s, Store) and s.array.name == kept.name]
    uses = [s for s in statements(function.body) if kept.name in effects((_alone(s),)).names()]
    loops = [s for s in statements(function.body) if isinstance(s, For) and any(x in s.body for x in stores)]
    if len(stores) != 1 or len(uses) != 3 or len(loops) != 1:  # it is made, stored into, and read
        return None
    [store], [forward] = stores, loops
    there = tuple(substitute(part, {forward.index: reverse.index}) for part in store.index)
    is_mirror = all(map(affine.same, backwards(forward, lambda e: e), (reverse.start, reverse.stop, reverse.step)))
    is_plain = isinstance(forward.step, Const) and abs(forward.step.value) == 1 and isinstance(store.value, Var)
    same_range = (variables(forward.start) | variables(forward.stop)).isdisjoint(effects(forward.body).writes)
    return forward if is_mirror and is_plain and same_range and there == index else None


def _is_forgotten(reverse: For, forward: For, cotangent: Var, function: Function) -> bool:
    """Does nobody read what the iterations set beside the cotangent?"""
    own = effects(reverse.body).writes - {cotangent}
    if not all(is_private(var, reverse.body) for var in own - {reverse.index}):
        return False
    if reverse.index in effects(reverse.body).writes:
        return False
    for var in own | {reverse.index}:
        if _reads(function.body, var, (reverse, forward)):
            return False
        if not (var == forward.index or is_private(var, forward.body) or _is_set_ahead(function.body, forward, var)):
            return False
    return True


def _is_set_ahead(block: Block, loop: For, var: Var) -> bool:
    """Is the variable set ahead of the loop, in its block?"""
    if any(stmt is loop for stmt in block):
        ahead = block[: next(k for k, stmt in enumerate(block) if stmt is loop)]
        return any(_is_set_by(stmt, var) for stmt in ahead)
    return any(_is_set_ahead(inner, loop, var) for stmt in block for inner in blocks(stmt))


def _reads(block: Block, var: Var, without: tuple[For, ...]) -> bool:
    """Is the variable read in the block, but for these loops and those that set it themselves?"""
    for stmt in block:
        if any(stmt is loop for loop in without):
            continue
        if any(var in variables(e) for e in expressions(stmt)) or (isinstance(stmt, AddTo) and stmt.target == var):
            return True
        if isinstance(stmt, For) and stmt.index == var:
            continue
        if any(_reads(inner, var, without) for inner in blocks(stmt) if not _sets_first(var, inner)):
            return True
    return False


def _sets_first(var: Var, block: Block) -> bool:
    return var in effects(block).writes and is_private(var, block) and any(_is_set_by(s, var) for s in block)


def _is_set_by(stmt: Stmt, var: Var) -> bool:
    return isinstance(stmt, Assign) and stmt.var == var


def _alone(stmt: Stmt) -> Stmt:
    return with_blocks(stmt, tuple(() for _ in blocks(stmt))) if blocks(stmt) else stmt


# --------------------------------------------------------------------------------------------------------- changed


def _shortened(function: Function, search: _Search) -> Function:
    info: Info = function.info
    forward, reverse, kept = search.forward, search.reverse, search.kept
    last = Var(info.names.fresh("last"), INT64)
    rows = Array(info.names.fresh("last_kept"), INT64, kept.dims[:-1])  # one for each iteration of the loops around
    is_any = Call("ge" if forward.step == affine.ONE else "le", (last, forward.start), BOOL)

    def change(block: Block) -> Block:
        return tuple(new for stmt in block for new in changed(stmt))

    def changed(stmt: Stmt) -> Block:
        if stmt is forward:
            body = tuple(_noted(s, kept, last, forward.index) for s in forward.body)
            found = Assign(last, affine.sub(forward.start, forward.step), span=stmt.span)
            index = next(s.index for s in forward.body if isinstance(s, Store) and s.array.name == kept.name)
            return found, replace(stmt, body=body), *((Store(rows, index[:-1], last),) if rows.dims else ())
        if stmt is reverse:
            load = next(s.value for s in reverse.body if isinstance(s, Assign) and s.var == search.chosen)
            assert isinstance(load, Load)
            read = (Assign(last, Load(rows, load.index[:-1])),) if rows.dims else ()
            return *read, If(is_any, _once(search, last), span=stmt.span)
        if isinstance(stmt, Alloc) and stmt.array.name == kept.name:
            return (replace(stmt, array=rows, dims=stmt.dims[:-1]),) if rows.dims else ()
        inner = blocks(stmt)
        return (with_blocks(stmt, tuple(map(change, inner))) if inner else stmt,)

    return replace(function, body=change(function.body))


def _noted(stmt: Stmt, kept: Array, last: Var, index: Var) -> Stmt:
    """Instead of keeping whether this iteration chose: it is the last that did, so far."""
    if isinstance(stmt, Store) and stmt.array.name == kept.name:
        return If(stmt.value, (Assign(last, index, span=stmt.span),), span=stmt.span)
    return stmt


def _once(search: _Search, last: Var) -> Block:
    """The body of the reverse loop for that iteration."""
    values = {search.chosen: Const(True, BOOL), search.reverse.index: last}
    body = tuple(s for s in search.reverse.body if not (isinstance(s, Assign) and s.var == search.chosen))
    change = lambda e: substitute(e, values)
    return rewrite_block(body, lambda s: (map_expressions(s, change),))


__all__ = ["last_taken"]
