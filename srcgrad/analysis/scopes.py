"""Where scalars and arrays of the labelled forward part live, and which statement is the first to touch them.

for i: t = x[i] * 2; s += t        t lives in the loop: its adjoint starts from zero in every mirrored iteration
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..ir.expressions import Array, Var
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    CopyTo,
    For,
    Function,
    Invoke,
    Library,
    Rule,
    Stmt,
    Store,
    View,
    While,
    leaves,
)
from ..ir.walk import arrays_read, blocks, expressions, loads, statements, targets, variables
from .effects import effects
from .meetings import runs_along
from .signs import Signs


class Scopes:
    """In which block each scalar lives: the innermost one that holds all its accesses."""

    def __init__(self, body: Block, function: Function) -> None:
        self.paths: dict[str, list[tuple[int, int]]] = {}
        self.vars: dict[str, Var] = {}
        self.single: dict[str, int] = {}
        self.arrays: dict[str, list[tuple[int, int]]] = {}
        self.block_of: dict[int, tuple[int, int]] = {}
        self.after: dict[int, int] = {}
        self.block_at: dict[tuple[int, int], Block] = {}
        self.indices_around: dict[int, frozenset[str]] = {}
        top = ((-1, 0),)
        for param in function.params:
            if isinstance(param, Var):
                self.touch(param, top)
                self.single[param.name] = 1  # its value at entry
        for leaf in leaves(function.results):
            if isinstance(leaf, Array):
                self.share(leaf.name, top)
            else:
                for var in variables(leaf):
                    self.touch(var, top)
        self.walk(body, top, frozenset())
        self.declared: dict[tuple[int, int], list[Var]] = {}
        for name, path in self.paths.items():
            if name in self.single and not any(name == p.name for p in function.params):
                self.declared.setdefault(path[-1], []).append(self.vars[name])
        self.first_values = {
            stmt.label
            for key, declared in self.declared.items()
            for first in [self.first_touches(key)]
            for var in declared
            for stmt in [first.get(var)]
            if (isinstance(stmt, Assign) and stmt.var == var) or (isinstance(stmt, Invoke) and var in stmt.outs)
        }
        self.home = {name: path[-1] for name, path in self.arrays.items()}

    def first_touches(self, key: tuple[int, int]) -> dict[Any, Stmt]:
        """Of whatever the statements of a block have to do with: the first that has."""
        first: dict[Any, Stmt] = {}
        for stmt in self.block_at[key]:
            for inner in statements((stmt,)):
                outputs = inner.outputs if isinstance(inner, Rule) else ()
                for item in (*targets(inner), *outputs, *chain.from_iterable(map(variables, expressions(inner)))):
                    first.setdefault(item, stmt)
        return first

    def walk(self, block: Block, path: tuple[tuple[int, int], ...], around: frozenset[str]) -> None:
        self.block_at[path[-1]] = block
        for position, stmt in enumerate(block):
            self.block_of[stmt.label], self.indices_around[stmt.label] = path[-1], around
            inner_around = around | {stmt.index.name} if isinstance(stmt, For) else around
            inner_around |= {stmt.trip.name} if isinstance(stmt, While) else set()
            if position + 1 < len(block):
                self.after[stmt.label] = block[position + 1].label
            for expr in expressions(stmt):
                for var in variables(expr):
                    self.touch(var, path)
            match stmt:
                case Assign(var=var) | AddTo(target=Var() as var):
                    self.touch(var, path)
                    self.single[var.name] = self.single.get(var.name, 0) + 1
                case Invoke(outs=outs):
                    for out in outs:
                        if isinstance(out, Var):
                            self.touch(out, path)
                            self.single[out.name] = self.single.get(out.name, 0) + 1
                case Rule(outputs=outputs, adjoint=adjoint):
                    for output in outputs:
                        if isinstance(output, Var):
                            self.touch(output, path)
                            self.single[output.name] = self.single.get(output.name, 0) + 2
                    for inner in statements(adjoint):
                        for expr in expressions(inner):
                            for var in variables(expr):
                                self.touch(var, path)
            for array in (*arrays_read(stmt), *(w for w in targets(stmt) if isinstance(w, Array))):
                self.share(array.name, path)
            for number, inner_block in enumerate(blocks(stmt)):
                if not isinstance(stmt, Rule):
                    self.walk(inner_block, (*path, (stmt.label, number)), inner_around)

    def touch(self, var: Var, path: tuple[tuple[int, int], ...]) -> None:
        self.vars[var.name] = var
        self.paths[var.name] = _common(self.paths.get(var.name), list(path))

    def share(self, name: str, path: tuple[tuple[int, int], ...]) -> None:
        self.arrays[name] = _common(self.arrays.get(name), list(path))


def _common(known: list[tuple[int, int]] | None, path: list[tuple[int, int]]) -> list[tuple[int, int]]:
    if known is None:
        return path
    out = []
    for x, y in zip(known, path, strict=False):
        if x != y:
            break
        out.append(x)
    return out


def with_steady_matrices(body: Block, roots: dict[str, str]) -> set[int]:
    """Library calls in loops that never write their first argument."""
    return set(_steady(body, roots, None))


def _steady(block: Block, roots: dict[str, str], changed: set[str] | None) -> Iterator[int]:
    """`changed`: what the outermost loop around changes, if there is one."""
    for stmt in block:
        if isinstance(stmt, Library) and changed is not None and isinstance(stmt.args[0], Array):
            if roots.get(stmt.args[0].name, stmt.args[0].name) not in changed:
                yield stmt.label
        inside = changed
        if inside is None and isinstance(stmt, (For, While)):
            inside = {roots.get(w.name, w.name) for s in statements(stmt.body) for w in targets(s)}
        for inner in blocks(stmt):
            yield from _steady(inner, roots, inside)


def first_writes_of(body: Block, roots: dict[str, str], signs: Signs) -> set[int]:
    """Stores that are the first to touch fresh memory, each element once: their shadow needs no restart."""
    made = Counter(stmt.array.name for stmt in statements(body) if isinstance(stmt, Alloc))
    found: set[int] = set()
    for block in (body, *(block for stmt in statements(body) for block in blocks(stmt))):
        for position, stmt in enumerate(block):
            if isinstance(stmt, Alloc) and made[stmt.array.name] == 1:
                name = stmt.array.name
                after = next((s for s in block[position + 1 :] if _touches(s, name, roots)), None)
                label = _only_store(after, name, roots, signs) if after is not None else None
                found |= set() if label is None else {label}
    return found


def _touches(stmt: Stmt, name: str, roots: dict[str, str]) -> bool:
    for inner in statements((stmt,)):
        names = [a.name for a in arrays_read(inner)] + [w.name for w in targets(inner)]
        if any(roots.get(n, n) == name for n in names):
            return True
        if isinstance(inner, View) and roots.get(inner.array.name) == name:
            return True
    return False


def _only_store(stmt: Stmt, name: str, roots: dict[str, str], signs: Signs) -> int | None:
    """The label of the one store in a nest of plain loops, if nothing else there touches the memory."""
    if isinstance(stmt, CopyTo) and stmt.target.name == name:
        return stmt.label if roots.get(stmt.source.name, stmt.source.name) != name else None
    changed = effects((stmt,)).writes
    over: list[For] = []
    while isinstance(stmt, For):
        over.append(stmt)
        if sum(_touches(s, name, roots) for s in stmt.body) != 1:
            return None
        stmt = next(s for s in stmt.body if _touches(s, name, roots))
    if not isinstance(stmt, Store) or stmt.array.name != name:
        return None
    if any(roots.get(x.array.name, x.array.name) == name for e in expressions(stmt) for x in loads(e)):
        return None
    return stmt.label if all(_is_apart(stmt, loop, changed, signs) for loop in over) else None


def _is_apart(store: Store, loop: For, changed: set[Var], signs: Signs) -> bool:
    """Does every iteration of the loop write other elements, whatever the other loops of the nest do?"""
    return any(
        runs_along(part, loop.index, changed - {loop.index}) and signs.is_apart(part, store.array, axis, loop)
        for axis, part in enumerate(store.index)
    )
