"""What is known of the lines of generated text, for the compiler."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..analysis.signs import signs_of
from ..errors import place as error_place
from ..ir import affine
from ..ir.expressions import Const, Dim, Expr, Load, Span, Var
from ..ir.info import memory_of
from ..ir.nodes import AddTo, Alloc, For, Function, Stmt, Store, Subscript, View, While
from ..ir.walk import counts_upwards, expressions, loads, statements
from .source import is_comment


@dataclass(frozen=True)
class Facts:
    """What is known of lines of the text and can't be read in it: a compiler's licence.

    `inside`: on this line every access to this array is inside it, and its indices are not negative.
    `natural`: on this line no index into this array is negative.
    `reorder`: the addition on this line is one of a sum that may be taken in any order.
    `memory`: the memory that an array is a handle on; two that were allocated here never overlap, nor do they overlap
    with what came from outside (which may).
    `hidden`: this line begins a loop around others, with this index, which LLVM had better not see through.
    `vectors`: on this line begins a loop whose iterations are to be one operation on a vector register.
    `masked`: the loop that begins on this line takes what does not fill a vector register in one that is masked.
    `apart`: this line is in a loop, which begins on the other, whose iterations touch elements of their own.
    `places`: what the user wrote where this line may find an index out of bounds, as errors name it.
    `pieces`: functions that are parts of the entry: what it knows of its arrays holds for theirs of the same names.
    `parts`: functions of what the entry does several times, each with the memory of its own arrays.
    `lengths`: this axis of an array that was allocated here is as long as that axis of an argument.
    `kernels`: the types of the arguments of each kernel, as Numba spells them.
    `brief`: up to this length of the axes of all arguments, a call takes microseconds.
    `handed_in`: so many arguments, the last ones, are read from outside and not the caller's.
    `written`: the function that the entry comes from writes to these arguments: no other may share their memory.
    `once`: it may fail after it has written to them, so that nobody may try it a second time.
    `interpreted`: it calls what Python's interpreter runs, through addresses that no other process has.
    `replaced`: a name is an argument first and then the function's own copy of it, which may be of another layout.
    """

    inside: frozenset[tuple[int, str]] = frozenset()
    natural: frozenset[tuple[int, str]] = frozenset()
    reorder: frozenset[int] = frozenset()
    memory: frozenset[tuple[str, str]] = frozenset()
    hidden: frozenset[tuple[int, str]] = frozenset()
    vectors: frozenset[int] = frozenset()
    masked: frozenset[int] = frozenset()
    apart: frozenset[tuple[int, int]] = frozenset()
    places: frozenset[tuple[int, str]] = frozenset()
    pieces: frozenset[str] = frozenset()
    parts: frozenset[tuple[str, frozenset[tuple[str, str]]]] = frozenset()
    lengths: frozenset[tuple[tuple[str, int], tuple[str, int]]] = frozenset()
    kernels: tuple[tuple[str, str], ...] = ()
    brief: int = 0
    handed_in: int = 0
    written: frozenset[int] = frozenset()
    once: bool = False
    interpreted: bool = False
    replaced: bool = False


def facts_about(definitions: Sequence[ast.stmt], lines: Iterator[tuple[int, int]], function: Function) -> Facts:
    """The facts of statements, by the lines on which they were printed."""
    inside: set[tuple[int, str]] = set()
    natural: set[tuple[int, str]] = set()
    reorder: set[int] = set()
    hidden: set[tuple[int, str]] = set()
    vectors: set[int] = set()
    masked: set[int] = set()
    apart: set[tuple[int, int]] = set()
    places: set[tuple[int, str]] = set()
    for stmt, (first, last, end), span in _printed(definitions, lines):
        origin = getattr(stmt, "origin", None)
        if origin is None:
            continue
        if isinstance(origin, For) and _hides_its_index(origin):
            hidden.add((first, origin.index.name))
        if isinstance(origin, For) and origin.vector:
            vectors.add(first)
        if isinstance(origin, For) and origin.masked:
            masked.add(first)
        if isinstance(origin, For) and origin.apart:
            apart |= {(line, first) for line in range(first, end + 1)}
        unchecked = _of_all(origin, lambda place: not place.checked)
        known = _of_all(origin, counts_upwards)
        where = error_place(span) if function.info.boundscheck and may_be_outside(origin) else ""
        is_free = isinstance(origin, AddTo) and origin.reorder
        for line in range(first, last + 1):
            inside |= {(line, name) for name in unchecked}
            natural |= {(line, name) for name in known}
            if is_free:
                reorder.add(line)
            if where:
                places.add((line, where))
    return Facts(
        frozenset(inside),
        frozenset(natural),
        frozenset(reorder),
        frozenset(memory_of(function).items()),
        frozenset(hidden),
        frozenset(vectors),
        frozenset(masked),
        frozenset(apart),
        frozenset(places),
        lengths=frozenset(_lengths(function)),
    )


def _lengths(function: Function) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """The axes of arrays that are made once, and are as long as axes of arguments."""
    every = statements(function.body)
    made = Counter(stmt.array.name for stmt in every if isinstance(stmt, Alloc))
    known = signs_of(function).lengths
    params = {param.name for param in function.params}
    for stmt in every:
        if isinstance(stmt, Alloc) and made[stmt.array.name] == 1:
            for axis, dim in enumerate(stmt.dims):
                length = known.get(dim, dim) if isinstance(dim, Var) else dim
                if isinstance(length, Dim) and length.array in params:
                    yield (stmt.array.name, axis), (length.array, length.axis)


def _hides_its_index(loop: For) -> bool:
    """Is this a loop around others whose rows LLVM would ask about in one question, to be answered with "perhaps"?"""
    inner = [s for s in statements(loop.body) if isinstance(s, (For, While))]
    asked = [s for s in inner if not (isinstance(s, For) and s.apart)]
    near, far = (any(found) for found in zip(*map(_touches_others, asked), strict=True)) if asked else (True, False)
    upward = isinstance(loop.step, Const) and loop.step.value > 0
    return not near and (far or not upward)


def _touches_others(loop: For | While) -> tuple[bool, bool]:
    """Does a loop write elements of an array and touch others of that array: neighbours, and such at any distance?"""
    touched: dict[str, set[tuple[Expr, ...]]] = {}
    written: list[Load] = []
    for stmt in statements(loop.body):
        own = _element_written(stmt)
        written += own
        for load in (*(load for expr in expressions(stmt) for load in loads(expr)), *own):
            touched.setdefault(load.array.name, set()).add(load.index)
    near = far = False
    for place in written:
        for index in touched[place.array.name] - {place.index}:
            fixed = all(affine.difference(p, q) is not None for p, q in zip(place.index, index, strict=True))
            near, far = near or fixed, far or not fixed
    return near, far


def _element_written(stmt: Stmt) -> tuple[Load, ...]:
    match stmt:
        case Store(array=array, index=index, checked=checked, natural=natural):
            return (Load(array, index, checked, natural),)
        case AddTo(target=Load() as target):
            return (target,)
    return ()


def _printed(
    body: Sequence[ast.stmt], lines: Iterator[tuple[int, int]], around: Span | None = None
) -> Iterator[tuple[ast.stmt, tuple[int, int, int], Span | None]]:
    """Statements (comments are none) with the first and the last line of their heads, and the last one of all; and
    their place, or the loop's around."""
    for stmt in body:
        if is_comment(stmt):
            continue
        span = getattr(getattr(stmt, "origin", None), "span", None) or around
        first, last = next(lines)
        inside = [
            found for part in ("body", "orelse") for found in _printed(getattr(stmt, part, None) or [], lines, span)
        ]
        yield stmt, (first, last, inside[-1][1][2] if inside else last), span
        yield from inside


def may_be_outside(stmt: Stmt) -> bool:
    found = (load for expr in expressions(stmt) for load in loads(expr))
    picks = isinstance(stmt, View) and isinstance(stmt.how, Subscript)
    return picks or any(load.checked for load in (*found, *_element_written(stmt)))


def _of_all(stmt: Stmt, holds: Callable[[Load], bool]) -> set[str]:
    """The arrays of which something holds for all elements that a statement reads or writes."""
    found = [load for expr in expressions(stmt) for load in loads(expr)]
    found += _element_written(stmt)
    return {load.array.name for load in found} - {load.array.name for load in found if not holds(load)}
