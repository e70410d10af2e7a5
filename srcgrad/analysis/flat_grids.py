"""Grids whose rows lie one behind the other in a vector, said as matrices.

for i in range(1, h - 1):                           for i in range(1, h - 1):
    for j in range(1, w - 1):                           for j in range(1, w - 1):
        g = y_b[i * w + j]                                  g = y_b[i * w + j]
        u_b[i * w + j - 1] += g                 →           u_b_grid[i, j - 1] += g
        u_b[(i + 1) * w + j] += g                           u_b_grid[i + 1, j] += g

So who asks how far away from each other iterations add is told it along each loop.  The names are for such questions:
`with_grids` takes them back.  It holds where no row reaches into the next one, and all are there (`h * w <= len(u)`):
where the text does not say so, the program asks ahead of the nest, and otherwise runs it as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..ir import affine, products
from ..ir.expressions import BOOL, INT64, Array, Call, Dim, Expr, Load, Var, all_of
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, For, If, Stmt
from ..ir.products import Product
from ..ir.walk import expressions, loads, rewrite_block, statements, subexpressions, targets, variables
from .defined_indices import by_values
from .effects import effects


def with_grids(
    loops: tuple[For, ...],
    body: Block,
    names: Names,
    may_be_one: Callable[[str, str], bool],
    change: Callable[[Block], Block | None],
) -> Block | None:
    """What `change` makes of the body of a nest."""
    grids = {grid.flat.name: grid for grid in _grids(loops, body, names, may_be_one)}
    if not grids:
        return change(body)
    out = change(rewrite_block(body, lambda stmt: (_on_grids(stmt, grids),)))
    if out is None:
        return None
    back = {grid.array.name: grid for grid in grids.values()}
    if any(
        isinstance(e, Dim) and e.array in back
        for s in statements(out)
        for x in expressions(s)
        for e in subexpressions(x)
    ):
        return None
    out = rewrite_block(out, lambda stmt: (_flat_again(stmt, back),))
    asked = all_of(dict.fromkeys(condition for grid in grids.values() for condition in grid.conditions))
    if asked is None:
        return out
    nest = body
    for loop in reversed(loops):
        nest = (replace(loop, body=nest),)
    return (If(asked, out, nest),)


@dataclass(frozen=True)
class _Grid:
    """A vector as an array with an axis for each loop, `strides` apart in the vector, and when it may be said so."""

    flat: Array
    array: Array
    indices: tuple[Var, ...]
    strides: tuple[Product, ...]
    conditions: tuple[Expr, ...]
    values: Mapping[Var, Expr]  # of what places are made

    def of(self, target: Load) -> Load:
        steps = _steps(by_values(target.index[0], self.values), self.indices, self.strides)
        assert steps is not None
        index = tuple(affine.add(i, affine.integer(step)) for i, step in zip(self.indices, steps, strict=True))
        return replace(target, array=self.array, index=index)

    def flat_again(self, target: Load) -> Load:
        place = target.index[0]
        for part, length in zip(target.index[1:], self.array.dims[1:], strict=True):
            place = affine.add(affine.mul(place, length), part)
        return replace(target, array=self.flat, index=(place,))


def _grids(
    loops: tuple[For, ...], body: Block, names: Names, may_be_one: Callable[[str, str], bool]
) -> Iterator[_Grid]:
    if len(loops) < 2:
        return
    added: dict[Array, list[Expr]] = {}
    values = _set_once(body)
    for stmt in statements(body):
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and stmt.target.array.ndim == 1:
            added.setdefault(stmt.target.array, []).append(by_values(stmt.target.index[0], values))
    inside = effects(body)
    read = {load.array.name for s in statements(body) for e in expressions(s) for load in loads(e)}
    moving = {loop.index for loop in loops} | inside.writes
    for flat, places in added.items():
        if flat.name in read or any(may_be_one(flat.name, other) for other in inside.names() - {flat.name}):
            continue
        found = _strides(places[0], loops, moving)
        if found is None:
            continue
        axes, strides = found
        indices = tuple(loop.index for loop in axes)
        steps = [_steps(place, indices, strides) for place in places]
        if any(step is None for step in steps):
            continue
        least, most = ([end(along) for along in zip(*steps, strict=True)] for end in (min, max))
        lengths = tuple(_without(outer, inner) for outer, inner in pairwise(strides))
        rows = affine.add(axes[0].stop, affine.integer(most[0]))
        dims = (rows, *(affine.product(length) for length in lengths if length is not None))
        size = affine.mul(rows, affine.product(strides[0]))
        asked = [*_inside(axes, dims, least, most), (size, flat.dims[0])]
        if any(_is_less(high, low) for low, high in asked):
            continue
        # its own length, which a pullback has where it has none of what the vector was made as long as
        asked[-1] = (size, flat.dims[0] if _is_less(size, flat.dims[0], by=0) else Dim(flat.name, 0))
        conditions = tuple(Call("le", pair, BOOL) for pair in asked if not _is_less(*pair, by=0))
        grid = Array(names.fresh(f"{flat.name}_grid"), flat.dtype, dims)
        yield _Grid(flat, grid, indices, strides, conditions, values)


def _set_once(body: Block) -> dict[Var, Expr]:
    """The whole numbers that an iteration sets by one statement, which is none of a branch, and what to."""
    sets = Counter(var for stmt in statements(body) for var in targets(stmt))
    own = (stmt for stmt in body if isinstance(stmt, Assign) and stmt.var.dtype == INT64)
    return {stmt.var: stmt.value for stmt in own if sets[stmt.var] == 1}


def _inside(
    axes: Sequence[For], dims: Sequence[Expr], least: Sequence[int], most: Sequence[int]
) -> Iterator[tuple[Expr, Expr]]:
    """Pairs of which the first must not be greater, if no row is to be left."""
    for axis, (loop, length) in enumerate(zip(axes, dims, strict=True)):
        yield affine.ZERO, affine.add(loop.start, affine.integer(least[axis]))
        if axis:
            yield affine.add(loop.stop, affine.integer(most[axis])), length


def _is_less(x: Expr, y: Expr, by: int = 1) -> bool:
    return affine.is_at_least(affine.sub(products.multiplied_out(y), products.multiplied_out(x)), by)


def _strides(
    place: Expr, loops: tuple[For, ...], moving: set[Var]
) -> tuple[tuple[For, ...], tuple[Product, ...]] | None:
    """The loops with what one of their steps is in a vector, the longest first: each a multiple of the next."""
    found: dict[Var, Product] = {}
    own = {loop.index: loop for loop in loops}
    for product, count in products.sum_of(place).items():
        along = [term for term in product if term in own]
        if not along:
            continue
        stride = _without(product, (along[0],))
        if len(along) > 1 or count != 1 or along[0] in found or stride is None:
            return None
        if any(loads(term) or variables(term) & moving for term in stride):
            return None
        found[along[0]] = stride
    if found.keys() != own.keys():
        return None
    order = sorted(found, key=lambda index: -len(found[index]))
    strides = tuple(found[index] for index in order)
    if strides[-1] or any(not _without(outer, inner) for outer, inner in pairwise(strides)):
        return None
    return tuple(own[index] for index in order), strides


def _steps(place: Expr, indices: tuple[Var, ...], strides: tuple[Product, ...]) -> tuple[int, ...] | None:
    """How many of each stride a place is away from the iteration's own; None where it is not said like that."""
    total = dict(products.sum_of(place))
    for index, stride in zip(indices, strides, strict=True):
        if total.pop(products.in_order((index, *stride)), None) != 1:
            return None
    steps = tuple(total.pop(stride, 0) for stride in strides)
    if any(total.values()) or any(step != int(step) for step in steps):
        return None
    return tuple(map(int, steps))


def _without(product: Product, factors: Product) -> Product | None:
    """What is left of a product without some of its factors."""
    left = list(product)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def _on_grids(stmt: Stmt, grids: dict[str, _Grid]) -> Stmt:
    if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and stmt.target.array.name in grids:
        return replace(stmt, target=grids[stmt.target.array.name].of(stmt.target))
    return stmt


def _flat_again(stmt: Stmt, back: dict[str, _Grid]) -> Stmt:
    if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and stmt.target.array.name in back:
        return replace(stmt, target=back[stmt.target.array.name].flat_again(stmt.target))
    return stmt


__all__ = ["with_grids"]
