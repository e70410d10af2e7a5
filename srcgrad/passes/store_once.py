"""An element that is stored, and changed again by the same statements' successors, is a scalar in between.

    x_b[i] = g * w[i]                  x_b_now = g * w[i]
    w_b[i] = g * x[i]           →      w_b[i] = g * x[i]
    x_b[i] += g * h[i]                 x_b_now += g * h[i]
                                       x_b[i] = x_b_now

For a compiler two arrays may be one memory, so that it can't do this; here memory that the function makes is its own.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import AddTo, Alloc, Array, Assign, Block, Expr, Function, Load, Rule, Stmt, Store, Swap, Var, View
from ..ir.walk import blocks, expressions, loads, map_expressions, rewrite, statements, variables, with_blocks, written
from .effects import effects


def store_once(function: Function) -> Function:
    return replace(function, body=_Stores(function).block(function.body))


class _Stores:
    def __init__(self, function: Function) -> None:
        self.names = function.info.names
        self.own: set[str] = set()  # arrays that no other name is for
        shared: set[str] = set()
        for stmt in statements(function.body):
            match stmt:
                case Alloc(array=array):
                    self.own.add(array.name)
                case View(array=array, base=base) | Swap(left=array, right=base):
                    shared |= {array.name, base.name}
        self.own -= shared

    def block(self, block: Block) -> Block:
        out = [
            with_blocks(s, tuple(map(self.block, blocks(s)))) if blocks(s) and not isinstance(s, Rule) else s
            for s in block
        ]
        for position in range(len(out)):
            place = _place(out[position])
            if place is not None and place.array.name in self.own and not any(map(loads, place.index)):
                last = _last(out, position, place)
                if last > position:
                    out[position : last + 1] = self.merged(out[position : last + 1], place)
        return tuple(out)

    def merged(self, stmts: list[Stmt], place: Load) -> list[Stmt]:
        now = Var(self.names.fresh(f"{place.array.name}_now"), place.dtype)

        def held(expr: Expr) -> Expr:
            return rewrite(expr, lambda e: now if isinstance(e, Load) and _is_same(e, place) else e)

        first, out = stmts[0], []
        for stmt in stmts:
            here = _place(stmt)
            if here is None or not _is_same(here, place):
                out.append(map_expressions(stmt, held))
            elif isinstance(stmt, AddTo) and stmt is not first:
                out.append(replace(stmt, target=now, value=held(stmt.value)))
            else:
                out.append(Assign(now, held(stmt.value), span=stmt.span, label=stmt.label))  # type: ignore[attr-defined]
        whole = replace(first, value=now)  # type: ignore[call-arg]
        return [*out, whole]


def _place(stmt: Stmt) -> Load | None:
    """The element that a statement stores or adds to."""
    match stmt:
        case Store(array=array, index=index, checked=False):
            return Load(array, index, checked=False)
        case AddTo(target=Load(checked=False) as target):
            return target
    return None


def _is_same(x: Load, y: Load) -> bool:
    return x.array.name == y.array.name and x.index == y.index


def _last(stmts: list[Stmt], position: int, place: Load) -> int:
    """The last statement that changes the place, as long as nobody else looks at its memory or moves its index."""
    fixed = set().union(*map(variables, place.index))
    adds = isinstance(stmts[position], AddTo)
    last = position
    for k in range(position + 1, len(stmts)):
        stmt = stmts[k]
        if fixed & {v for inner in statements((stmt,)) for v in _set_by(inner)}:
            break
        here = _place(stmt)
        if here is not None and _is_same(here, place):
            if adds and not isinstance(stmt, AddTo):
                break
            if adds and any(_is_same(load, place) for e in expressions(stmt) for load in loads(e)):
                break
            last = k
        elif place.array.name in effects((stmt,)).names():
            read = [load for e in expressions(stmt) for load in loads(e) if load.array.name == place.array.name]
            if adds or blocks(stmt) or not read or not all(_is_same(load, place) for load in read):
                break
            if here is not None and here.array.name == place.array.name:
                break
    return last


def _set_by(stmt: Stmt) -> list[Var]:
    target = written(stmt)
    items: tuple[Var | Array | None, ...] = target if isinstance(target, tuple) else (target,)
    return [item for item in items if isinstance(item, Var)]


__all__ = ["store_once"]
