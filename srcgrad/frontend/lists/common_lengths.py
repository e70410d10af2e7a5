"""Lengths of the items of a list, which an iteration computes: what they are in the first one, for all of them.

                                            n_1 = minimum(k, n); t = empty((m, n_1))
[x[i : i + k] for i in range(m)]     →      for i in range(m):
                                                if minimum(i + k, n) - i != n_1: raise …
                                                t[i] = …

Whether the others have the same is seen at run time, unless it is known to be so, or not to be so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import HELP, place
from ...ir import affine
from ...ir.expressions import BOOL, INT64, NEVER_FAIL, Array, Call, Const, Dim, Expr, Load, Var
from ...ir.nodes import Assign, If, Raise, Stmt, View
from ...ir.walk import rewrite, statements, subexpressions, substitute, targets, variables
from ..array_values import ArrayValue

if TYPE_CHECKING:
    from ..builder import Builder

Lengths = tuple[Expr, ...]
WRITTEN_OUT = "where an argument decides how many there are, name it:  @grad(static=...)"
FOLDED: dict[str, Any] = {"add": affine.add, "sub": affine.sub, "mul": affine.mul}
FOLDED |= {"maximum": affine.maximum, "minimum": affine.minimum}


def known_ahead(build: Builder, dims: Lengths, block: list[Stmt], index: Var | None, start: Expr) -> Lengths | None:
    """The lengths in the iteration in which the index is `start`, as they can be computed ahead of the block.

    None where more than arithmetic leads to them, or where each iteration has another one.
    """
    found = [in_terms_of(build, dim, block, are_alike) for dim in dims]
    known = [dim for dim in found if dim is not None]
    if len(known) < len(dims) or any(term == index for dim in known for term, _ in affine.affine(dim)[0]):
        return None
    return tuple(_folded(substitute(dim, {index: start})) for dim in known)


def are_alike(build: Builder, x: Expr, y: Expr) -> bool:
    """May two items of a list be taken to be as long as each other?

    Lengths of different arrays may, and what two arrays have in common: `[x0, A @ x0 + B @ u]`.  So may a length and
    its product with another array's: `np.repeat(x0, n, axis=0)`, where x0 is one row.  What is computed from the same
    length is another one in most cases (`x`, `x[::2]`), and so is a number of items that was counted.
    """
    if affine.difference(x, y) is not None:
        return affine.same(x, y)
    factors_x, factors_y = _factors(x), _factors(y)
    if factors_x == factors_y:
        return True
    of_x, of_y = _terms(factors_x - factors_y), _terms(factors_y - factors_x)
    in_common = set(build.common_lengths.values())
    either = of_x | of_y
    return bool(either) and not of_x & of_y and all(isinstance(term, Dim) or term in in_common for term in either)


def _factors(length: Expr) -> Counter[Expr]:
    match length:
        case Call(op="mul", args=(x, y)):
            return _factors(x) + _factors(y)
    return Counter((length,))


def _terms(factors: Counter[Expr]) -> set[Expr]:
    """What all of them are computed from."""
    return {part for factor in factors for term, _ in affine.affine(factor)[0] for part in _factors(term)}


def with_lengths(build: Builder, value: ArrayValue, dims: Lengths) -> ArrayValue:
    """The array, which has these lengths, or it is an error."""
    for now, first in zip(value.dims, dims, strict=True):
        if not affine.same(now, first):
            now = build.pin(now)
            message = HELP.join(("the items of this list have lengths {} and {}: they have to be alike", WRITTEN_OUT))
            message += place(build.span)
            build.emit(If(Call("ne", (now, first), BOOL), (Raise("RuntimeShapeError", message, (first, now)),)))
    return ArrayValue(dims, value.element)


def _reached(var: Var, given: dict[Var, Expr]) -> set[Var]:
    """What a variable is made of, by way of others too."""
    found: set[Var] = set()
    work = [var]
    while work:
        new = variables(given[work.pop()]) - found
        found |= new
        work += new & given.keys()
    return found


def in_terms_of(
    build: Builder, dim: Expr, block: list[Stmt], are_one: Callable[[Builder, Expr, Expr], bool]
) -> Expr | None:
    """A length that a block computes, in terms of what was there ahead of the block.

    `are_one`: may what two paths make of it be taken for one length?
    """
    targets = _targets(block)
    values: dict[Var, Lengths] = {}
    for stmt in statements(tuple(block)):
        if isinstance(stmt, Assign) and stmt.var.dtype == INT64:
            values[stmt.var] = (*values.get(stmt.var, ()), stmt.value)
    given = {  # by whatever path
        var: first
        for var, (first, *others) in values.items()
        if targets.count(var) == 1 + len(others) and all(are_one(build, first, other) for other in others)
    }
    for var in [var for var in given if var in _reached(var, given)]:  # n = n // 2: it is another in each iteration
        del given[var]
    while variables(dim) & given.keys():
        dim = substitute(dim, given)
    made = {target.name for target in targets if isinstance(target, Array)}
    if variables(dim) & (build.mutable | set(targets)) or not all(_never_fails(e, made) for e in subexpressions(dim)):
        return None
    return _folded(dim)


def _targets(block: list[Stmt]) -> list[Any]:
    """What the statements set, as often as they do."""
    out: list[Any] = []
    for stmt in statements(tuple(block)):
        out += (stmt.array,) if isinstance(stmt, View) else targets(stmt)
    return out


def _never_fails(expr: Expr, made: set[str]) -> bool:
    """Can it be computed even if no iteration runs?  `made`: the arrays that there are not, then."""
    match expr:
        case Dim(array=name):
            return name not in made
        case Call(op="floordiv" | "mod", args=(_, Const(value=divisor))):
            return bool(divisor)
        case Call(op=op):
            return op in NEVER_FAIL
    return not isinstance(expr, Load)


def _folded(expr: Expr) -> Expr:
    def fold(node: Expr) -> Expr:
        if isinstance(node, Call) and node.dtype == INT64 and node.op in FOLDED:
            return FOLDED[node.op](*node.args)
        return node

    return rewrite(expr, fold)
