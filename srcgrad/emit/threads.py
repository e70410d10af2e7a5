"""Loops on several threads, as functions of their own.

in pieces low, high of range(0, n):        def f_i(low, high, s, x): …                        one piece, as it was
    for i in range(low, high): …      →    def f_i_on_threads(start, stop, work, s, x): …     all pieces, with `prange`
                                           s = f_i_on_threads(0, n, 40, s, x)

The piece is compiled as everything else is; Numba has only calls to spread over threads.  Where threads do not pay, the
one piece is the loop itself: nothing is copied, and nothing added up.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from ..ir.expressions import Array, Const, Dim, Expr, Var
from ..ir.nodes import Alloc, Block, Function, Parallel, Stmt, View
from ..ir.walk import arrays_read, blocks, expressions, statements, subexpressions, targets, with_blocks
from .lending import Called


def with_threads(program: Function) -> tuple[Function | ast.FunctionDef, ...]:
    """The functions of the module, the entry last."""
    beside: list[Function | ast.FunctionDef] = []
    body = _outlined(program.body, beside, cache(program.info.names.fresh))  # every function may use names again
    return (*beside, replace(program, body=body))


def _outlined(block: Block, beside: list[Function | ast.FunctionDef], fresh: Callable[[str], str]) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Parallel):
            shared = _shared(stmt)
            called = f"{stmt.name}_on_threads"
            beside.append(_piece(stmt, shared))
            beside.append(_on_threads(stmt, shared, called, fresh))
            reach = () if isinstance(stmt.reach, Const) else (stmt.reach,)
            args = (stmt.start, stmt.stop, stmt.work, *reach, *stmt.sums, *shared)
            stmt = Called(called, stmt.sums, (), args, span=stmt.span)
        out.append(with_blocks(stmt, tuple(_outlined(part, beside, fresh) for part in blocks(stmt))))
    return tuple(out)


def _piece(loop: Parallel, shared: tuple[Var, ...]) -> Function:
    return Function(loop.name, (loop.low, loop.high, *loop.sums, *shared), loop.body, loop.sums)


def _shared(loop: Parallel) -> tuple[Var, ...]:
    """Names that the loop takes from around it, in the order of their use; as they are printed, without their types."""
    made: set[str] = {loop.low.name, loop.high.name}
    found: dict[str, Var] = {}
    for stmt in statements(loop.body):
        written_arrays = [a for a in targets(stmt) if isinstance(a, Array)]
        made |= {var.name for var in targets(stmt) if isinstance(var, Var)}
        if isinstance(stmt, (Alloc, View)):
            made.add(stmt.array.name)
        names = [node.array if isinstance(node, Dim) else node.name for e in expressions(stmt) for node in _named(e)]
        for name in (*names, *(a.name for a in (*arrays_read(stmt), *written_arrays))):
            found[name] = Var(name)
    return tuple(var for name, var in found.items() if name not in made)


def _named(expr: Expr) -> Iterator[Var | Dim]:
    return (node for node in subexpressions(expr) if isinstance(node, (Var, Dim)))


# --------------------------------------------------------------------------------------------------------------
# The function that has the pieces run, as text: it is the same for all loops, but for what they add up.

INTERNAL = ("start", "stop", "work", "reach", "trips", "chunks", "chunk", "piece", "errors", "parity")


def _on_threads(loop: Parallel, shared: tuple[Var, ...], called: str, fresh: Callable[[str], str]) -> ast.FunctionDef:
    start, stop, work, reach, trips, chunks, chunk, piece, errors, _ = map(fresh, INTERNAL)
    sums, partial = [var.name for var in loop.sums], [array.name for array in loop.partial]
    params = [*sums, *(var.name for var in shared)]
    part = {name: fresh(f"{name}_part") for name in (*sums, *partial)}
    pieces = f"(2 * {chunks})" if _is_doubled(loop) else chunks
    size = " + ".join(f"{name}.size" for name in partial) or "0"
    is_known = isinstance(loop.reach, Const)
    least = max(1, 2 * loop.reach.value) if is_known else f"max(1, 2 * {reach})"  # type: ignore[attr-defined]
    first = start if loop.step.value > 0 else f"{stop} + 1"  # type: ignore[attr-defined]
    begins = [(array.name, first + (f" + {ahead}" if ahead else "")) for array, ahead in loop.rows]
    rows = [f"rows_rise({name}, {begin}, {trips})" for name, begin in begins]
    otherwise = f" if {' and '.join(rows)} else 1" if rows else ""
    lines = [
        f"def {called}({', '.join([start, stop, work, *([] if is_known else [reach]), *params])}):",
        f"    {trips} = trip_count({start}, {stop}, {loop.step.value})",  # type: ignore[attr-defined]
        f"    {chunks} = parts_for({trips}, {work}, {size}, {least}){otherwise}",
        f"    if {chunks} == 1:",
        f"        return {loop.name}({', '.join([start, stop, *params])})",
        f"    {errors} = np.zeros({pieces}, np.int64)",
        *(f"    {part[var.name]} = np.zeros({pieces}, np.{var.dtype.name})" for var in loop.sums),
        *(f"    {part[name]} = partial_sums({name}, {chunks})" for name in partial),
        *_pieces(loop, pieces, part, _attempt(loop, shared, part, pieces, fresh), fresh),
        f"    raise_first({errors})",
        *([f"    for {piece} in range({pieces}):"] if sums else []),
        *(f"        {name} += {part[name]}[{piece}]" for name in sums),
        *([f"    for {chunk} in prange({chunks}):"] if partial else []),
        *(f"        add_partial_sums({name}, {part[name]}, np.int64({chunk}), {chunks})" for name in partial),
        *([f"    return {', '.join(sums)}"] if sums else []),
    ]
    (definition,) = ast.parse("\n".join(lines)).body
    assert isinstance(definition, ast.FunctionDef)
    return definition


def _is_doubled(loop: Parallel) -> bool:
    """Does every chunk have two pieces?"""
    return _meets_neighbours(loop) or loop.uneven


def _meets_neighbours(loop: Parallel) -> bool:
    return not isinstance(loop.reach, Const) or loop.reach.value > 0


def _attempt(
    loop: Parallel, shared: tuple[Var, ...], part: dict[str, str], pieces: str, fresh: Callable[[str], str]
) -> str:
    """One piece, with sums of its own."""
    start, _, _, _, trips, _, chunk, piece, errors, _ = map(fresh, INTERNAL)
    step = int(loop.step.value)  # type: ignore[attr-defined]
    along = {1: "+ ", -1: "- "}.get(step, f"+ {step} * ")
    ends = [f"{start} {along}({trips} * {number} // {pieces})" for number in (piece, f"({piece} + 1)")]
    zeros = [f"np.{var.dtype.name}(0)" for var in loop.sums]
    given = [f"own_part({var.name}, {part[var.name]}, {chunk})" if var.name in part else var.name for var in shared]
    call = f"attempt({errors}, {piece}, {loop.name}, ({', '.join([*ends, *zeros, *given])}))"
    if loop.sums:
        return f"{', '.join(f'{part[var.name]}[{piece}]' for var in loop.sums)} = {call}"
    return call


def _pieces(loop: Parallel, pieces: str, part: dict[str, str], call: str, fresh: Callable[[str], str]) -> list[str]:
    """Every piece once.  (Numba's chunks are unsigned, and np.int64 + np.uint64 is a float.)"""
    _, _, _, _, _, chunks, chunk, piece, _, parity = map(fresh, INTERNAL)
    clear = [f"clear_part({array.name}, {part[array.name]}, {chunk})" for array in loop.partial]
    if _meets_neighbours(loop):  # first the even pieces, then the odd ones
        return [
            f"    for {parity} in range(2):",
            f"        for {chunk} in prange({chunks}):",
            *([f"            if {parity} == 0:"] if clear else []),
            *(f"                {line}" for line in clear),
            f"            {piece} = 2 * np.int64({chunk}) + {parity}",
            f"            {call}",
        ]
    clear = [f"        {line}" for line in clear]
    if loop.uneven:  # where the work grows along the loop, an early piece and a late one make an even share
        return [
            f"    for {chunk} in prange({chunks}):",
            *clear,
            f"        for {piece} in (np.int64({chunk}), {pieces} - 1 - np.int64({chunk})):",
            f"            {call}",
        ]
    return [f"    for {chunk} in prange({chunks}):", *clear, f"        {piece} = np.int64({chunk})", f"        {call}"]
