"""What travels with a function through the passes: what is wanted of it, and facts that passes have found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import affine
from .expressions import Array, Expr, Var
from .names import Names
from .nodes import Alloc, For, Function, OwnCopy, Pop, Stmt, Store, Swap, View
from .walk import remembered, statements

OUTSIDE = ""  # the memory of arguments


@dataclass(frozen=True)
class Info:
    """`wrt`: parameters to differentiate by; `kind`: what is generated (see `pipeline.generate`)."""

    names: Names
    kind: str = "primal"
    wrt: tuple[str, ...] = ()
    seeds: tuple[Any, ...] | None = None  # one parameter per output leaf; None: the output is a scalar, with seed 1
    active: frozenset[str] = frozenset()  # scalars and memory that carry derivatives
    unclean: dict[str, int] = field(default_factory=dict)  # whose cotangents may be a zero of arithmetic, to what
    masked: frozenset[str] = frozenset()  # whose cotangents are zero where a mask leaves a value out
    chosen: dict[str, Expr] = field(default_factory=dict)  # of unclean ones: the condition under which a value counts
    shadows: tuple[Any, ...] = ()  # of parameters, handed in
    outputs: Any = None
    boundscheck: bool = True
    again: bool = False  # the adjoint is differentiated itself
    lengths_for_granted: bool = False  # where they are others, other code is run in its place
    rounding: str = "as written"  # or "contracted", a product and a sum once; or "free"
    indices_again: bool = False  # what indices are made of others, the way back makes again: it tells threads apart
    cotangents: Any = None
    extra: dict[str, Any] = field(default_factory=dict)


@remembered
def roots_of(function: Function) -> dict[str, str]:
    """Which memory each view is a handle on (memory names itself).  It is not to be changed, nor is `memory_of`."""
    roots: dict[str, str] = {}
    for stmt in statements(function.body):
        if isinstance(stmt, View):
            roots[stmt.array.name] = roots.get(stmt.base.name, stmt.base.name)
    return roots


@remembered
def memory_of(function: Function) -> dict[str, str]:
    """Which memory each array is a handle on; those that change places are one, as far as anybody can tell."""
    group: dict[str, str] = {}

    def find(name: str) -> str:
        while group.get(name, name) != name:
            name = group[name]
        return name

    known: set[str] = set()
    for param in function.params:
        group[param.name] = OUTSIDE
        known.add(param.name)
    for stmt in statements(function.body):
        match stmt:
            case Alloc(array=array) | OwnCopy(array=array, copy=True):
                known.add(array.name)
                if isinstance(stmt, OwnCopy):
                    group.pop(array.name, None)
                elif stmt.on is not None:
                    group[find(array.name)] = find(stmt.on.name)
            case View(array=array, base=base):
                known.add(array.name)
                group[find(array.name)] = find(base.name)
            case Swap(left=left, right=right):
                group[find(left.name)] = find(right.name)
            case Pop(target=Array() as array, stack=stack):
                known.add(array.name)
                group[find(array.name)] = find(stack.name)
    return {name: find(name) for name in known}


@remembered
def memory_at_a_time(function: Function) -> dict[str, str]:
    """As `memory_of`, but arrays that were made here and change places are apart: at any time they are two.

    Not where there is a handle on one of them, which stays with what it was made of.
    """
    memory = memory_of(function)
    inside = tuple(statements(function.body))
    swapped = {memory[array.name] for s in inside if isinstance(s, Swap) for array in (s.left, s.right)}
    held = {memory[s.array.name] for s in inside if isinstance(s, View)} | {OUTSIDE}
    held |= {memory[s.target.name] for s in inside if isinstance(s, Pop) and isinstance(s.target, Array)}
    held |= {memory[s.array.name] for s in inside if isinstance(s, Alloc) and s.on is not None}
    return {name: name if group in swapped - held else group for name, group in memory.items()}


def elementwise(
    array: Array,
    dims: tuple[Expr, ...],
    value: Callable[[tuple[Var, ...]], Expr],
    names: Names,
    around: frozenset[str],
    span: Any = None,
) -> Stmt:
    """A nest of loops that stores a value in every element of an array."""
    indices = names.free_indices(array.ndim, around)
    inner: Stmt = Store(array, indices, value(indices), span=span)
    for index, dim in reversed(list(zip(indices, dims, strict=True))):
        inner = For(index, affine.ZERO, dim, affine.ONE, (inner,), ordered=False, span=span)
    return inner


def filled(made: Alloc, names: Names, around: frozenset[str]) -> Stmt:
    """The loops that fill memory with the number that it is made of."""
    fill = made.fill
    assert fill is not None
    return elementwise(made.array, made.dims, lambda _: fill, names, around, made.span)


def memory_of_its_own(function: Function) -> set[str]:
    """Arrays that the function makes, and that no other name is for."""
    own: set[str] = set()
    shared: set[str] = set()
    for stmt in statements(function.body):
        match stmt:
            case Alloc(array=array):
                own.add(array.name)
            case View(array=array, base=base) | Swap(left=array, right=base):
                shared |= {array.name, base.name}
    return own - shared
