"""Arrays of a few elements that nobody sees as a whole are numbers.

t = empty((3,))
t[0], t[1], t[2] = c, -s, 0.0      →      t_0, t_1, t_2 = c, -s, 0.0
for i in range(3):
    y[i] = t[i] * x                       y[0] = t_0 * x;  y[1] = t_1 * x;  y[2] = t_2 * x

Loops over these elements are written out.  An array stays if one of its indices is not known, or if it is handed on.
One of some more elements is numbers where all that touches it is written out: the matrix of a small finite element.
Elements of a table are what it says, and no variables: steps to neighbours, say, that `periodic` has to know.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from math import prod

import numpy as np

from ..analysis.effects import SIMPLE
from ..analysis.lengths import lengths_of
from ..analysis.lives import is_dead
from ..ir import affine
from ..ir.expressions import Array, Call, Const, Dim, Expr, Load, Var
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    For,
    Function,
    Print,
    Rule,
    Spread,
    Stmt,
    Store,
    View,
    While,
    leaves,
)
from ..ir.walk import (
    arrays_read,
    blocks,
    expressions,
    loads,
    map_expressions,
    rewrite,
    statements,
    targets,
    variables,
    with_blocks,
    written_place,
)
from .resolve_views import index_in_base, stable_views
from .write_out import COMPARISONS, FEW, LONG, WrittenOut, rewritten, trips_of, variables_of, with_adjoints

ARITHMETIC: dict[str, Callable[..., int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg,
}  # fmt: skip

Place = tuple[str, tuple[int, ...]]  # an element: of which array, and where
Small = dict[str, tuple[int, ...]]  # arrays of a few elements, with their lengths


def scalar_arrays(function: Function) -> Function:
    function = _with_numbers(function, _small(function, FEW), _opened)
    return _with_numbers(function, _small(function, LONG), lambda whole, _: whole.body)


def _with_numbers(function: Function, small: Small, opened: Callable[[Function, Small], Block]) -> Function:
    """The function with those of the arrays as numbers that can be, and with loops over their elements `opened`."""
    while small:
        body = opened(function, small)
        numbers = _Numbers(replace(function, body=body), small)
        if not numbers.hidden:
            body = rewritten(body, numbers.rewritten)
            own = set(numbers.variables.values())
            own -= variables_of(function.results)
            return replace(function, body=_without_idle(body, own, ()))
        small = {name: dims for name, dims in small.items() if name not in numbers.hidden}
    return function


def _small(function: Function, most: int) -> Small:
    """Arrays of at most so many elements that are made in one place, with their lengths."""
    found: Small = {}
    made: Counter[str] = Counter()
    for stmt in statements(function.body):
        if isinstance(stmt, Alloc):
            made[stmt.array.name] += 1
            lengths = tuple(dim.value for dim in stmt.dims if isinstance(dim, Const))
            if len(lengths) == len(stmt.dims) and 0 < prod(lengths) <= most:
                found[stmt.array.name] = lengths
    return {name: lengths for name, lengths in found.items() if made[name] == 1}


# ------------------------------------------------------------------------------------------------------------ loops


def _opened(function: Function, small: Iterable[str]) -> Block:
    """Loops over elements of small arrays, written out."""
    handles = set(small)
    for stmt in statements(function.body):  # views come after what they are of
        if isinstance(stmt, View) and stmt.base.name in handles:
            handles.add(stmt.array.name)

    def is_over_elements(loop: For) -> bool:
        found = (load for stmt in statements(loop.body) for load in _elements(stmt) if load.array.name in handles)
        runs_once = isinstance(loop.start, Const) and len(trips_of(loop) or ()) == 1
        return runs_once or any(loop.index in variables(part) for load in found for part in load.index)

    return WrittenOut(function, (*SIMPLE, Spread), is_over_elements).block(function.body)


# --------------------------------------------------------------------------------------------------------- elements


class _Numbers:
    """The elements of small arrays, each with the variable that it becomes."""

    def __init__(self, function: Function, small: Small) -> None:
        self.small, self.names, self.lengths = small, function.info.names, lengths_of(function)
        self.views = stable_views(function)
        self.variables: dict[Place, Var] = {}
        made = [stmt.array for stmt in statements(function.body) if isinstance(stmt, Alloc)]
        self.arrays = {array.name: array for array in made if array.name in small}
        returned = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
        self.hidden = {self.root(name) for name in returned} & small.keys()  # the others see them as a whole
        self.tables = dict(self.said(function.body, self.times_set(function)))
        for stmt in with_adjoints(function.body):
            if not isinstance(stmt, (Comment, Alloc)):
                self.look_at(stmt)

    def look_at(self, stmt: Stmt) -> None:
        elements = _elements(stmt)
        for load in elements:
            root = self.root(load.array.name)
            if root in self.small and self.place(load) is None:
                self.hidden.add(root)
        if isinstance(stmt, View) and stmt.array.name in self.views:
            return
        touched = {*arrays_read(stmt), *targets(stmt)}
        touched |= set(stmt.outputs) if isinstance(stmt, Rule) else set()
        whole = {array.name for array in touched if isinstance(array, Array)} - {load.array.name for load in elements}
        if isinstance(stmt, Print):  # of an array that is printed, an element may be printed too
            whole |= {part.name for part in stmt.parts if isinstance(part, Array)}
        self.hidden |= {self.root(name) for name in whole} & self.small.keys()

    def said(self, block: Block, sets: Counter[str]) -> Iterator[tuple[Place, Const]]:
        """The elements of arrays that are set to constants right behind where they are made, and never again."""
        for k, stmt in enumerate(block):
            for inner in blocks(stmt):
                yield from self.said(inner, sets)
            if isinstance(stmt, Alloc) and stmt.array.name in self.small:
                said = list(_said(stmt.array, block[k + 1 :]))
                if len(said) == sets[stmt.array.name]:
                    places = ((self.place(element), value) for element, value in said)
                    yield from ((place, value) for place, value in places if place is not None)

    def times_set(self, function: Function) -> Counter[str]:
        """How often the text sets elements of each array, by whichever name."""
        places = map(written_place, with_adjoints(function.body))
        return Counter(self.root(place.array.name) for place in places if place is not None)

    def root(self, name: str) -> str:
        while name in self.views:
            name = self.views[name].base.name
        return name

    def place(self, load: Load) -> Place | None:
        """Which element of which small array; None where that is not known, or where there is no such element."""
        name, at = load.array.name, _constants(load.index)
        while at is not None and name in self.views:
            view = self.views[name]
            lengths = _constants(self.lengths.of(view.array))
            if lengths is None or not _is_inside(at, lengths):
                return None
            name, at = view.base.name, _constants(index_in_base(view, tuple(map(affine.integer, at)), self.lengths))
        return (name, at) if at is not None and name in self.small and _is_inside(at, self.small[name]) else None

    def variable(self, load: Load) -> Var | None:
        place = self.place(load)
        if place is None:
            return None
        if place not in self.variables:
            name = "_".join((place[0], *map(str, place[1])))
            self.variables[place] = Var(self.names.fresh(name), load.array.dtype)
        return self.variables[place]

    def variables_of(self, array: Array) -> list[Var]:
        elements = (Load(array, tuple(map(affine.integer, at))) for at in np.ndindex(*self.small[array.name]))
        return [var for element in elements if (var := self.variable(element))]

    def all_of(self, given: Expr) -> list[Expr]:
        """An input of a rule: one element stands for the whole array."""
        root = self.root(given.array.name) if isinstance(given, Load) else ""
        return list(self.variables_of(self.arrays[root])) if root in self.arrays else [given]

    def instead(self, expr: Expr) -> Expr:
        if isinstance(expr, Load):
            place = self.place(expr)
            return self.tables[place] if place in self.tables else self.variable(expr) or expr
        if isinstance(expr, Dim) and self.root(expr.array) in self.small and expr.array in self.small:
            return affine.integer(self.small[expr.array][expr.axis])
        match expr:  # a diagonal, say
            case Call(op="select", args=(Call(op=op, args=places), then, otherwise)) if op in COMPARISONS:
                known = _constants(places)
                return expr if known is None else then if COMPARISONS[op](*known) else otherwise
        return expr

    def rewritten(self, stmt: Stmt) -> Block:
        if isinstance(stmt, Alloc) and stmt.array.name in self.small:
            fill = Const(0, stmt.array.dtype) if stmt.fill is None else rewrite(stmt.fill, self.instead)
            return tuple(Assign(target, fill, span=stmt.span) for target in self.variables_of(stmt.array))
        if isinstance(stmt, View) and self.root(stmt.array.name) in self.small:
            return ()
        if isinstance(stmt, Rule):
            stmt = replace(stmt, inputs=tuple(chain(*map(self.all_of, stmt.inputs))))
        stmt = map_expressions(stmt, lambda expr: rewrite(expr, self.instead))
        if isinstance(stmt, Store):
            target = self.variable(Load(stmt.array, stmt.index))
            return (stmt,) if target is None else (Assign(target, stmt.value, span=stmt.span),)
        return (stmt,)


def _said(array: Array, behind: Block) -> Iterator[tuple[Load, Const]]:
    """The elements that the next statements set to constants."""
    for stmt in behind:
        if not (isinstance(stmt, Store) and stmt.array == array and isinstance(stmt.value, Const)):
            return
        yield Load(array, stmt.index), stmt.value


def _without_idle(block: Block, own: set[Var], later: tuple[Block, ...]) -> Block:
    """Without the constants that elements are before they are first set, and after all, where nobody asks.

    `later` is what runs after the block.  (A value that reads an element stays: the element may not be there.)
    """
    out: list[Stmt] = []
    for k, stmt in enumerate(block):
        rest = (block[k + 1 :], *later)
        if isinstance(stmt, Assign) and stmt.var in own and isinstance(stmt.value, Const):
            if is_dead(stmt.var, rest, False):
                continue
        after = ((stmt,), *rest) if isinstance(stmt, (For, While)) else rest
        inner = tuple(_without_idle(part, own, after) for part in blocks(stmt)) if not isinstance(stmt, Rule) else ()
        out.append(with_blocks(stmt, inner) if inner else stmt)
    return tuple(out)


def _elements(stmt: Stmt) -> list[Load]:
    """The elements that a statement reads and writes."""
    found = [load for expr in expressions(stmt) for load in loads(expr)]
    match stmt:
        case Store(array=array, index=index):
            found.append(Load(array, index))
        case AddTo(target=Load() as target):
            found.append(target)
    return found


def _constants(exprs: tuple[Expr, ...]) -> tuple[int, ...] | None:
    values = tuple(map(_constant, exprs))
    return None if None in values else values  # type: ignore[return-value]


def _constant(expr: Expr) -> int | None:
    match expr:
        case Const(value=int() as value):
            return value
        case Call(op=op, args=args) if op in ARITHMETIC:
            values = [_constant(arg) for arg in args]
            fails = op in ("floordiv", "mod") and values[1] == 0  # where it is evaluated, if ever
            return None if None in values or fails else ARITHMETIC[op](*values)
    return None


def _is_inside(at: tuple[int, ...], lengths: tuple[int, ...]) -> bool:
    return all(0 <= i < length for i, length in zip(at, lengths, strict=True))


__all__ = ["scalar_arrays"]
