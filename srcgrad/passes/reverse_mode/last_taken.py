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

Two searches in one loop (the least and the greatest) are taken apart; of nested loops, the outer one is shortened too.

What is overwritten has no cotangent before that.  So where an iteration that did not choose passes nothing on, and one
that did passes on a cotangent and leaves zero, those before the last that did have nothing to pass on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...analysis.effects import effects, names_of_its_own
from ...analysis.lives import is_private
from ...analysis.meetings import commutes
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Expr, Load, Var
from ...ir.info import Info, roots_of
from ...ir.nodes import AddTo, Alloc, Assign, Block, Comment, For, Function, If, Stmt, Store, leaves
from ...ir.walk import (
    blocks,
    expressions,
    is_constant,
    loads,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    substitute,
    variables,
    with_blocks,
)
from .first_among_them import first_among_them
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
    """A loop, its reverse, and the array that says which iterations chose: read to `chosen`, asked by `choice`."""

    forward: For
    reverse: For
    kept: Array
    chosen: Var
    choice: Expr
    body: Block  # of the reverse loop, what belongs to the search
    rest: Block


# ------------------------------------------------------------------------------------------------------ recognised


def _searches(function: Function) -> Iterator[_Search]:
    for stmt in statements(function.body):
        search = _search_of(stmt, function) if isinstance(stmt, For) else None
        if search is not None:
            yield search


def _search_of(reverse: For, function: Function) -> _Search | None:
    for stmt in reverse.body:
        found = _choice_of(stmt, reverse)
        if found is not None:
            body, rest = _apart(reverse.body, stmt, roots_of(function))
            search = _checked(replace(reverse, body=body), *found, function)
            if search is not None:
                return replace(search, reverse=reverse, rest=rest)
    return None


def _choice_of(stmt: Stmt, loop: For) -> tuple[Var, Load, Expr] | None:
    """What is read from an array to decide on a branch of the loop: whether an iteration chose, or what it chose."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.value, Load) or not stmt.value.index:
        return None
    *around, own = stmt.value.index
    if loop.index not in variables(own) or any(loop.index in variables(part) for part in around):
        return None
    for branch in loop.body:
        match branch:
            case If(condition=Var() as condition) if condition == stmt.var:
                return stmt.var, stmt.value, condition
            case If(condition=Call(op="ge" | "le", args=(var, bound)) as condition) if var == stmt.var:
                if not variables(bound) & (effects(loop.body).writes | {loop.index}) and not loads(bound):
                    return stmt.var, stmt.value, condition
    return None


def _apart(body: Block, member: Stmt, roots: dict[str, str]) -> tuple[Block, Block]:
    """The statements that have to do with one of them, and the rest: each in its order, which nobody else sees."""
    own = [member]
    others = [s for s in body if s is not member]
    while bound := [s for s in others if not all(commutes(effects((s,)), effects((t,)), roots) for t in own)]:
        own += bound
        others = [s for s in others if not any(s is t for t in bound)]
    chosen = {id(s) for s in own}
    rest = tuple(s for s in body if id(s) not in chosen and not isinstance(s, Comment))
    return tuple(s for s in body if id(s) in chosen), rest


def _checked(reverse: For, chosen: Var, load: Load, choice: Expr, function: Function) -> _Search | None:
    branch = next(s for s in reverse.body if isinstance(s, If) and s.condition == choice)
    cotangent = _restarted(branch)
    if cotangent is None or cotangent in effects([s for s in reverse.body if s is not branch]).writes:
        return None
    idle = _zeros_after(reverse.body, choice, False, frozenset())
    spent = _zeros_after(reverse.body, choice, True, frozenset((cotangent,)))
    if idle is None or spent is None or cotangent not in spent:
        return None
    forward = _mirrored(reverse, load, function)
    if forward is None or not _is_forgotten(reverse, forward, cotangent, function):
        return None
    return _Search(forward, reverse, load.array, chosen, choice, reverse.body, ())


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


def _zeros_after(block: Block, choice: Expr, is_chosen: bool, zeros: frozenset[Var]) -> frozenset[Var] | None:
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
                known = _known(condition, choice, is_chosen, zeros)
                sides = [then, orelse] if known is None else [then] if known else [orelse]
                found = [_zeros_after(side, choice, is_chosen, zeros) for side in sides]
                if any(after is None for after in found):
                    return None
                zeros = frozenset.intersection(*(after for after in found if after is not None))
            case _:
                return None
    return zeros


def _known(condition: Expr, choice: Expr, is_chosen: bool, zeros: frozenset[Var]) -> bool | None:
    if condition == choice:
        return is_chosen
    match condition:
        case Call(op="not", args=(inner,)):
            known = _known(inner, choice, is_chosen, zeros)
            return None if known is None else not known
        case Call(op="ne", args=(Var() as var, Const(value=0))) if var in zeros:
            return False
    return None


def _mirrored(reverse: For, load: Load, function: Function) -> For | None:
    """The one loop that stores what the reverse loop reads, over the same range the other way."""
    name = load.array.name
    stores = [s for s in statements(function.body) if isinstance(s, Store) and s.array.name == name]
    uses = [s for s in statements(function.body) if name in names_of_its_own(s)]
    loops = [s for s in statements(function.body) if isinstance(s, For) and any(x in s.body for x in stores)]
    if len(stores) != 1 or len(uses) != 3 or len(loops) != 1:  # it is made, stored into, and read
        return None
    if any(isinstance(leaf, Array) and leaf.name == name for leaf in leaves(function.results)):  # there, and here
        return None
    [store], [forward] = stores, loops
    there = tuple(substitute(part, {forward.index: reverse.index}) for part in store.index)
    is_mirror = all(map(affine.same, backwards(forward, lambda e: e), (reverse.start, reverse.stop, reverse.step)))
    is_plain = isinstance(forward.step, Const) and abs(forward.step.value) == 1 and isinstance(store.value, Var)
    same_range = (variables(forward.start) | variables(forward.stop)).isdisjoint(effects(forward.body).writes)
    return forward if is_mirror and is_plain and same_range and there == load.index else None


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


# --------------------------------------------------------------------------------------------------------- changed


def _shortened(function: Function, search: _Search) -> Function:
    info: Info = function.info
    forward, reverse, kept = search.forward, search.reverse, search.kept
    last = Var(info.names.fresh("last"), INT64)
    rows = Array(info.names.fresh("last_kept"), INT64, kept.dims[:-1])  # one for each iteration of the loops around
    before = affine.sub(forward.start, forward.step)
    is_any = Call("ge" if forward.step == affine.ONE else "le", (last, forward.start), BOOL)
    store = next(s for s in forward.body if isinstance(s, Store) and s.array.name == kept.name)
    load = next(s.value for s in search.body if isinstance(s, Assign) and s.var == search.chosen)
    assert isinstance(load, Load)

    def change(block: Block) -> Block:
        return tuple(new for stmt in block for new in changed(stmt))

    def changed(stmt: Stmt) -> Block:
        if stmt is forward:
            body = tuple(new for s in forward.body for new in (_noted(search, store, last) if s is store else (s,)))
            ahead = Assign(last, before, span=stmt.span)
            return ahead, replace(stmt, body=body), *((Store(rows, store.index[:-1], last),) if rows.dims else ())
        if stmt is reverse:
            read = (Assign(last, Load(rows, load.index[:-1])),) if rows.dims else ()
            rest = (replace(reverse, body=search.rest),) if search.rest else ()
            return *read, If(is_any, _once(search, last), span=stmt.span), *rest
        if isinstance(stmt, Alloc) and stmt.array.name == kept.name:
            own = (replace(stmt, array=rows, dims=stmt.dims[:-1]),) if rows.dims else ()
            return own if search.choice == search.chosen else (stmt, *own)
        inner = blocks(stmt)
        return (with_blocks(stmt, tuple(map(change, inner))) if inner else stmt,)

    return first_among_them(replace(function, body=change(function.body)), last, is_any, before)


def _noted(search: _Search, store: Store, last: Var) -> Block:
    """This iteration is the last that chose, so far; whether others did need not be kept."""
    chose = substitute(search.choice, {search.chosen: store.value})
    note = If(chose, (Assign(last, search.forward.index, span=store.span),), span=store.span)
    return (note,) if search.choice == search.chosen else (store, note)


def _once(search: _Search, last: Var) -> Block:
    """The body of the reverse loop for that iteration."""
    is_flag = search.choice == search.chosen
    body = tuple(s for s in search.body if not (is_flag and isinstance(s, Assign) and s.var == search.chosen))
    holds = Const(True, BOOL)

    def change(expr: Expr) -> Expr:
        return substitute(rewrite(expr, lambda e: holds if e == search.choice else e), {search.reverse.index: last})

    def opened(stmt: Stmt) -> Block:
        stmt = map_expressions(stmt, change)
        return stmt.then if isinstance(stmt, If) and stmt.condition == holds else (stmt,)

    return rewrite_block(body, opened)


__all__ = ["last_taken"]
