"""Zero-then-add becomes assign, for memory: where every element is first added to, it need not be zeroed.

x_b = zeros(n)                           x_b = empty(n)
for i in range(n): x_b[i] += …     →     for i in range(n): x_b[i] = …

Where a branch adds nothing, that is said there.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir import affine
from ..ir.expressions import Array, Const, Expr, Load
from ..ir.nodes import AddTo, Alloc, Block, For, Function, If, Library, Rule, Stmt, Store
from ..ir.walk import blocks, expressions, is_constant, loads, statements, with_blocks
from .effects import effects


def first_touch(function: Function) -> Function:
    return replace(function, body=_block(function.body, adds=function.info.kind != "primal"))


def _block(block: Block, adds: bool) -> Block:
    """`adds`: also where it is added to, which may make -0.0 of 0.0."""
    out = [
        with_blocks(s, tuple(_block(b, adds) for b in blocks(s))) if blocks(s) and not isinstance(s, Rule) else s
        for s in block
    ]
    for position, stmt in enumerate(out):
        if isinstance(stmt, Alloc) and stmt.fill is not None and is_constant(stmt.fill):
            at = next((k for k in range(position + 1, len(out)) if _touches(out[k], stmt.array)), None)
            first = (s for s in statements((out[at],) if at is not None else ()) if _touches(s, stmt.array))
            if at is not None and (adds or not any(isinstance(s, (AddTo, Library)) for s in first)):
                filled = _assigned(out[at], stmt.array, stmt.fill, {}, stmt.dims)  # type: ignore[arg-type]
                if filled is not None:
                    out[position], out[at] = replace(stmt, fill=None), filled
    return tuple(out)


def _assigned(stmt: Stmt, array: Array, fill: Const, over: dict[Expr, Expr], dims: tuple[Expr, ...]) -> Stmt | None:
    """The nest with its first addition to every element made an assignment; None where some are left out."""
    match stmt:
        case For(index=index, start=start, stop=stop, step=step, body=body):
            if step != affine.ONE or not affine.same(start, affine.ZERO):
                if not _goes_down_to_zero(stmt):
                    return None
                stop = affine.add(start, affine.ONE)
            at = next(k for k, s in enumerate(body) if _touches(s, array))
            if stmt.ordered and isinstance(body[at], If):
                return None  # it would store for each iteration what one in many has to add
            inner = _assigned(body[at], array, fill, over | {index: stop}, dims)
            if inner is None or not _one_element(body[at:], array, over | {index: stop}):
                return None
            return replace(stmt, body=(*body[:at], inner, *body[at + 1 :]))
        case If() if over:
            return _in_both(stmt, array, fill, over, dims)
        case AddTo(target=Load(array=target, index=index), value=value) if target.name == array.name:
            if (
                fill.value == 0
                and _covers(index, over, dims)
                and not any(x.array.name == array.name for x in loads(value))
            ):
                return Store(target, index, value, span=stmt.span, label=stmt.label)
        case Library(routine=routine, out=out, args=args) if out.name == array.name and not over:
            whole = routine.startswith("add_") and fill.value == 0
            if whole and not any(isinstance(a, Array) and a.name == array.name for a in args):
                return replace(stmt, routine=routine.removeprefix("add_"))
        case Store(array=target, index=index) if target.name == array.name and _covers(index, over, dims):
            if not any(x.array.name == array.name for e in expressions(stmt) for x in loads(e)):
                return stmt
    return None


def _in_both(branch: If, array: Array, fill: Const, over: dict[Expr, Expr], dims: tuple[Expr, ...]) -> If | None:
    """The same for both sides of a branch; one that adds nothing stores what memory is filled with."""
    index = next((access.index for access in effects((branch,)).accesses if access.array.name == array.name), ())
    known = tuple(part for part in index if part is not None)
    if any(x.array.name == array.name for x in loads(branch.condition)) or not _covers(known, over, dims):
        return None
    sides: list[Block] = []
    for side in (branch.then, branch.orelse):
        touching = [k for k, stmt in enumerate(side) if _touches(stmt, array)]
        if touching:
            inner = _assigned(side[touching[0]], array, fill, over, dims)
            if inner is None:
                return None
            side = (*side[: touching[0]], inner, *side[touching[0] + 1 :])
        sides.append(side if touching else (*side, Store(array, known, fill)))
    return replace(branch, then=sides[0], orelse=sides[1])


def _covers(index: tuple[Expr, ...], over: dict[Expr, Expr], dims: tuple[Expr, ...]) -> bool:
    """Do the loops run through all elements, each once?"""
    if len(set(index)) != len(index) or len(over) != len(index):
        return False
    return all(i in over and affine.same(over[i], d) for i, d in zip(index, dims, strict=True))


def _one_element(rest: Block, array: Array, over: dict[Expr, Expr]) -> bool:
    """Does an iteration of these loops touch only the element that is its own?"""
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
