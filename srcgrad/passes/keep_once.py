"""What is kept twice is kept once.

    a_now_kept[i] = a_now                     a_now_kept[i] = a_now
    a_now_1 = a[i]                     →      a_now_1 = a[i]
    a_now_1_kept[i] = a_now_1
    …                                         …
    a_now_1 = a_now_1_kept[i]                 a_now_1 = a_now_kept[i]

Two statements that read one element each keep what they have read; which of them are in one loop is known later.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..ir.expressions import Array, Expr, Load, Var
from ..ir.nodes import AddTo, Alloc, Assign, Block, For, Function, If, Raise, Stmt, Store, While, leaves
from ..ir.rename import rename_arrays
from ..ir.walk import blocks, loads, rewrite_block, statements, variables
from .effects import effects, names_of_its_own
from .info import memory_of
from .repeats import changed_by

Place = tuple[tuple[Expr, ...], tuple[Expr, ...], Expr]  # lengths, index, value


def keep_once(function: Function) -> Function:
    own = _kept(function)
    if len(own) < 2:
        return function
    same: dict[str, Array] = {}
    _find(function.body, own, same, memory_of(function))
    if not same:
        return function

    def once(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, (Alloc, Store)) and stmt.array.name in same:
            return ()
        return (rename_arrays(stmt, same),)

    return replace(function, body=rewrite_block(function.body, once))


def _kept(function: Function) -> dict[str, Alloc]:
    """Arrays made here that one statement fills, and that are read later, element by element."""
    found = {s.array.name: s for s in function.body if isinstance(s, Alloc) and s.fill is None}
    stored: Counter[str] = Counter()
    others = {leaf.name for leaf in leaves(function.results) if isinstance(leaf, Array)}
    for outermost in function.body:
        seen = effects((outermost,))
        others |= seen.shapes
        read = {access.array.name for access in seen.accesses if not access.writes}
        for stmt in statements((outermost,)):
            match stmt:
                case Store(array=array):
                    stored[array.name] += 1
                    others |= {array.name} & read
                case AddTo(target=Load(array=array)):
                    others.add(array.name)
                case Alloc(array=array) if stmt is not found.get(array.name):
                    others.add(array.name)
                case Alloc() | AddTo() | Assign() | For() | If() | Raise() | While():
                    pass
                case _:
                    others |= names_of_its_own(stmt)
    return {name: alloc for name, alloc in found.items() if stored[name] == 1 and name not in others}


def _find(block: Block, own: dict[str, Alloc], same: dict[str, Array], roots: dict[str, str]) -> None:
    values: dict[Var, Expr] = {}  # what variables hold
    places: dict[Place, Array] = {}
    for stmt in block:
        for part in blocks(stmt):
            _find(part, own, same, roots)
        changed, memory = changed_by(stmt, roots)
        match stmt:
            case Store(array=array, index=index, value=value) if array.name in own:
                place = own[array.name].dims, index, values.get(value, value)  # type: ignore[call-overload]
                known = places.setdefault(place, array)
                if known.dtype == array.dtype and known != array:
                    same[array.name] = known
        values = {v: e for v, e in values.items() if not _touches((v, e), changed, memory, roots)}
        places = {p: k for p, k in places.items() if not _touches((*p[1], p[2]), changed, memory, roots)}
        if isinstance(stmt, Assign) and stmt.var not in variables(stmt.value):
            values[stmt.var] = values.get(stmt.value, stmt.value)  # type: ignore[call-overload]


def _touches(exprs: tuple[Expr, ...], changed: set[Var], memory: set[str], roots: dict[str, str]) -> bool:
    read = {roots.get(load.array.name, load.array.name) for expr in exprs for load in loads(expr)}
    return bool(read & memory) or any(variables(expr) & changed for expr in exprs)


__all__ = ["keep_once"]
