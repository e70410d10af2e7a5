"""A few numbers that one thread would compute for other kernels, those compute by themselves: one launch less.

f_set, by one thread:                      f_i, by a thread for each of i in range(0, n, 1):
    s_b = 0.5 / sqrt(s)           →            s_b = 0.5 / sqrt(s)
f_i, by a thread for each of i …:              x_b[i] = s_b * v[i]
    x_b[i] = s_b * v[i]

So they do with elements, where nobody sets these in between: what a step has kept of an end of its grid, say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...analysis.decisions import deciding
from ...analysis.effects import names_of_its_own
from ...ir.expressions import Array, Expr, Var
from ...ir.info import OUTSIDE, memory_of
from ...ir.nodes import Assign, Block, Comment, Function, Kernel, Stmt, View, leaves
from ...ir.walk import blocks, expressions, loads, numbers_set, statements, substitute, targets, variables, with_blocks
from ...rules.costs import additions
from .made_where_read import MOST, READERS, rounds_alike


def numbers_where_read(function: Function) -> Function:
    results = {leaf.name: 1 for leaf in leaves(function.results) if isinstance(leaf, Var)}
    everywhere = _asked_for(function.body) + Counter(results)
    memory = memory_of(function)

    def decides(numbers: Kernel) -> bool:
        """Is it about more than rounding whether they are the same in all kernels?"""
        values: dict[Var, Expr] = {}
        for stmt in numbers.body:
            if isinstance(stmt, Assign):
                values[stmt.var] = substitute(stmt.value, values)
        return any(var.name in deciding(function.body) and not rounds_alike(values[var]) for var in numbers.sets)

    def block_of(block: Block) -> Block:
        later: list[Stmt] = []
        for stmt in reversed(block):  # of two such kernels the second one may need what the first one makes
            readers = _readers(stmt, later, everywhere, memory) if isinstance(stmt, Kernel) else {}
            if isinstance(stmt, Kernel) and readers and (len(readers) == 1 or not decides(stmt)):
                later = [readers.get(other, other) for other in later]
            else:
                inner = tuple(map(block_of, blocks(stmt)))
                later.insert(0, with_blocks(stmt, inner) if inner else stmt)
        return tuple(later)

    return replace(function, body=block_of(function.body))


def _readers(
    numbers: Kernel, later: list[Stmt], everywhere: Counter[str], memory: Mapping[str, str]
) -> dict[Stmt, Stmt]:
    """The kernels that make the numbers by themselves, as they are then; none if there are others who look at them."""
    assigned = tuple(s for s in numbers.body if not isinstance(s, Comment))
    if numbers.axes or not all(isinstance(s, Assign) for s in assigned):
        return {}
    made = [s.var for s in assigned]  # type: ignore[attr-defined]
    values = [s.value for s in assigned]  # type: ignore[attr-defined]
    if len(made) > len(set(made)) or not {*numbers.sets} <= {*made} or sum(map(additions, values)) > MOST:
        return {}
    readers = [s for s in later if isinstance(s, Kernel) and not {*numbers.sets}.isdisjoint(s.reads)]
    seen = _asked_for(readers)
    if len(readers) > READERS or any(everywhere[var.name] > seen[var.name] for var in numbers.sets):
        return {}
    made_of = {*numbers.reads}.union(*map(variables, values)) - {*made}
    between = tuple(later[: later.index(readers[-1]) + 1] if readers else ())
    if (made_of | {*made}) & numbers_set(between) or not _stay(values, between, memory):
        return {}
    return {reader: _reading(reader, numbers, assigned) for reader in readers}


def _asked_for(block: Iterable[Stmt]) -> Counter[str]:
    """How many kernels, and statements of the host's, have to do with each number that they don't make themselves."""
    out: Counter[str] = Counter()
    for stmt in block:
        if isinstance(stmt, Kernel):
            out.update({var.name for var in {*stmt.reads, *stmt.sums}.union(*map(variables, expressions(stmt)))})
            continue
        out.update(names_of_its_own(stmt))
        for inner in blocks(stmt):
            out += _asked_for(inner)
    return out


def _stay(values: list[Expr], between: Block, memory: Mapping[str, str]) -> bool:
    """Are the elements that are read the same behind these statements, and in them?"""
    read = {load.array.name for value in values for load in loads(value)}
    if not read:
        return True
    inside = statements(between)
    changed = {item.name for stmt in inside for item in targets(stmt) if isinstance(item, Array)}
    changed |= {stmt.array.name for stmt in inside if isinstance(stmt, View)}
    roots = lambda names: {memory.get(name, OUTSIDE) for name in names}
    return not (changed & read or roots(changed) & roots(read))


def _reading(reader: Kernel, numbers: Kernel, assigned: Block) -> Kernel:
    reads = dict.fromkeys((*(var for var in reader.reads if var not in numbers.sets), *numbers.reads))
    return replace(reader, reads=tuple(reads), body=(*assigned, *reader.body))


__all__ = ["numbers_where_read"]
