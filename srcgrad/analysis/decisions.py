"""Numbers that decide something: what is rounded in another way may decide it in another way, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..ir.expressions import LAZY, Call, Expr, Load, Var
from ..ir.nodes import AddTo, Block, For, If, Store, While
from ..ir.walk import expressions, loads, statements, subexpressions, targets, variables


def deciding(block: Block) -> set[str]:
    """The numbers and arrays of a block that say what runs, and which elements are meant."""
    inner = statements(block)
    names: set[str] = set()
    for stmt in inner:
        if isinstance(stmt, (For, While, If)):
            names |= _read_by(expressions(stmt))
        nodes = [node for expr in expressions(stmt) for node in subexpressions(expr)]
        lazy = (node for node in nodes if isinstance(node, Call) and node.op in LAZY)
        names |= _read_by(node.args[0] for node in lazy if any(map(loads, node.args[1:])))
        places = [node for node in nodes if isinstance(node, Load)]
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
            places.append(stmt.target)
        names |= _read_by(i for place in places for i in place.index)
        names |= _read_by(stmt.index) if isinstance(stmt, Store) else set()
    while True:
        makers = [s for s in inner if any(target.name in names for target in targets(s))]
        more = _read_by(expr for stmt in makers for expr in expressions(stmt))
        if more <= names:
            return names
        names |= more


def deciders(value: Expr) -> set[Var]:
    """The floats that say which whole number, and so which element, this is: rounding might make another one of it."""
    nodes = [node for node in subexpressions(value) if isinstance(node, Call)]
    whole = {v for node in nodes if node.dtype.kind in "iu" for v in variables(node) if v.dtype.kind == "f"}
    asked = [node.args[0] for node in nodes if node.op in LAZY and any(map(loads, node.args[1:]))]
    return whole | {v for expr in asked for v in variables(expr) if v.dtype.kind in "fb"}


JUMPS = frozenset(
    ("mod", "fmod", "ieee_remainder", "floordiv", "sign", "copysign", "heaviside", "floor", "ceil", "trunc", "rint")
    + ("round_to", "nextafter", "spacing", "exponent", "arctan2", "phase", "unless_zero")
)


def may_jump(value: Expr, floats: Callable[[Var], bool]) -> bool:
    """May a little more or less of some floats make it another number altogether: another branch, a step further?"""
    nodes = [node for node in subexpressions(value) if isinstance(node, Call)]
    jumps = (node for node in nodes if node.op in JUMPS or node.dtype.kind in "biu")
    return any(v.dtype.kind in "fc" and floats(v) for node in jumps for v in variables(node))


def _read_by(exprs: Iterable[Expr]) -> set[str]:
    nodes = [node for expr in exprs for node in subexpressions(expr)]
    read = {node.array.name for node in nodes if isinstance(node, Load)}
    return read | {node.name for node in nodes if isinstance(node, Var)}


__all__ = ["deciders", "deciding", "may_jump"]
