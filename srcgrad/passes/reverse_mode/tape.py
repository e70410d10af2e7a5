"""`keep` in a function of its own: what one activation keeps goes on stacks that all activations share.

A block that is left pushes what it kept, and the mirrored block begins by popping it: so the order holds whatever the
calls inside the block push themselves.

    if n > 0:                             if n > 0:
        y = f(x, n - 1)                       y = f (forward)(x, n - 1); …; push y
        …                          →      sweep if n > 0:
    sweep if n > 0:                           y = pop; …; f (reverse)(…)
        … old(y) …
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...analysis.costs import KEEP_IN_LOOP, Costs
from ...analysis.validity import ROOT, Forward, Place, Version
from ...ir.expressions import Array, Expr, Var
from ...ir.info import Info
from ...ir.nodes import Alloc, CopyTo, For, Function, Invoke, Pop, Push, Stack, Stmt
from ...ir.walk import rewrite_block, statements
from .keep import _Keep

Key = tuple[int, int]


def keep_on_tape(function: Function) -> Function:
    kept = _KeepOnTape(function).run()
    return replace(kept, body=rewrite_block(kept.body, lambda stmt: (_in_order(stmt),)))


def _in_order(stmt: Stmt) -> Stmt:
    """A loop that pushes or pops goes one way only: the stack is not its own."""
    if isinstance(stmt, For) and any(isinstance(s, (Push, Pop, Invoke)) for s in statements(stmt.body)):
        return replace(stmt, ordered=True)
    return stmt


def tape_of(info: Info, dtype: Any) -> Stack:
    """The function's own name for the stack of this dtype."""
    tapes: dict[Any, Stack] = info.extra["tapes"]
    if dtype not in tapes:
        name = info.names.fresh("tape" if not tapes else f"tape_{dtype.name}")
        tapes[dtype] = Stack(name, info.names.fresh(f"{name}_top"), dtype)
    return tapes[dtype]


class _Frame(Forward):
    """What is still there when the activation is over: what its outermost block has made, to be pushed at its end."""

    def is_valid(self, version: Version) -> bool:
        return version.place.block == ROOT and super().is_valid(version)

    def lives_on(self, array: Array) -> bool:
        return all(self.position[s.label][0] == ROOT for s in self.allocs.get(self.root(array), []))

    def alloc_of(self, array: Array) -> Alloc | None:
        return None


class _CostsOnTape(Costs):
    def keep_cost(self, at: int, expr: Expr | None = None) -> float:
        return KEEP_IN_LOOP


class _KeepOnTape(_Keep):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.info.extra["tapes"] = {}
        self.forward = _Frame(self.body, self.roots, self.signs)
        self.costs = _CostsOnTape(self.forward, self.versions, self.kept_expressions)

    def is_left(self, key: Key) -> bool:
        return key != ROOT

    def keep_value(self, source: Var, target: Var, key: Key, where: list[Stmt], over: Any = None) -> None:
        if key == ROOT:
            return super().keep_value(source, target, key, where, over)
        return self.push_at_end(tape_of(self.info, source.dtype), source, target, key, where)

    def popped_first(self, top: list[Stmt]) -> list[Stmt]:
        return top  # arrays are on the same tape

    def keep_array(self, array: Array, place: Place) -> Array:
        if place.block == ROOT or (array, place) in self.kept_arrays:
            return super().keep_array(array, place)
        where, at = self.spot(place)
        names, stack = self.info.names, tape_of(self.info, array.dtype)
        dims = tuple(self.read(d, at) for d in array.dims)
        held = Array(names.fresh(f"{array.name}_kept"), array.dtype, array.dims)
        where += [Alloc(held, held.dims), CopyTo(held, array)]
        self.edits.ends.setdefault(place.block, []).append(Push(stack, held))
        out = Array(names.fresh(f"{array.name}_then"), array.dtype, dims)
        self.tops.setdefault(place.block, []).append(Pop(out, stack, dims))
        self.kept_arrays[array, place] = out
        return out

    def spot(self, place: Place) -> tuple[list[Stmt], int]:
        """Where in the forward part a copy of an array is made, and the statement that follows."""
        if place.label is not None and place.label < 0:
            return self.edits.before.setdefault(-place.label, []), -place.label
        return self.after_place(place), self.forward.label_after(place)
