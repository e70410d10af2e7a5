"""Whether two statements can change places, and whether accesses that meet do so in one iteration."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import affine
from ..ir.expressions import Call, Const, Expr, Var
from ..ir.nodes import For
from ..ir.walk import loads, variables
from .effects import Access, Effects
from .signs import Signs


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


__all__ = ["commutes", "meet_in_one_iteration", "runs_along"]
