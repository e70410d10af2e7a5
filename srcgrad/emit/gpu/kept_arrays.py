"""What the host keeps of arrays stays on the device: it waits for nothing, and nothing is copied to it.

kept = []                                    what a loop has just made, handle by handle
kept.append(row)
row_then = kept.pop()

kept = [empty((64,), np.float64)]            what may change afterwards, or is handed to a pullback: a copy, behind the
kept_top = 0                                 others in one array
kept_top = keep_array(kept, kept_top, u)
kept_top -= u.shape[0]
u_then = kept_array(kept, kept_top, (u.shape[0],))
"""

from __future__ import annotations

from ...analysis.effects import names_used
from ...ir import affine
from ...ir.expressions import Array
from ...ir.nodes import Alloc, Block, Function, NewStack, Pop, Push, Seal, Stack, Unseal, View
from ...ir.walk import blocks, statements
from ..expressions import expression_text
from .kernel_text import text_of


class Kept:
    """How each stack of the host's that has arrays on it is written."""

    def __init__(self, program: Function) -> None:
        uses = [stmt for stmt in statements(program.body) if isinstance(stmt, (Push, Pop, Seal, Unseal))]
        things = [(s.stack, s.value if isinstance(s, Push) else s.target) for s in uses if isinstance(s, (Push, Pop))]
        self.of_arrays: set[Stack] = {stack for stack, thing in things if isinstance(thing, Array)}
        viewed = {stmt.base.name for stmt in statements(program.body) if isinstance(stmt, View)}
        fresh = {id(push) for push in _of_fresh_arrays(program.body) if push.value.name not in viewed}  # type: ignore[union-attr]
        copied = {s.stack for s in uses if not isinstance(s, Pop) and id(s) not in fresh}
        copied |= {stack for stack, thing in things if not isinstance(thing, Array)}
        self.handles = self.of_arrays - copied

    def text_of(self, stmt: NewStack | Push | Pop | Seal) -> str:
        return _of_handles(stmt) if stmt.stack in self.handles else _of_copies(stmt)


def _of_fresh_arrays(block: Block) -> list[Push]:
    """What pushes an array that the same block has made, and does not touch again."""
    found: list[Push] = []
    made: set[str] = set()
    for k, stmt in enumerate(block):
        if isinstance(stmt, Alloc):
            made.add(stmt.array.name)
        elif isinstance(stmt, Push) and isinstance(stmt.value, Array) and stmt.value.name in made:
            if not any(stmt.value.name in names_used(later) for later in block[k + 1 :]):
                found.append(stmt)
        for inner in blocks(stmt):
            found += _of_fresh_arrays(inner)
    return found


def _of_handles(stmt: NewStack | Push | Pop | Seal) -> str:
    name = stmt.stack.name
    match stmt:
        case NewStack():
            return f"{name} = []"
        case Push(value=Array(name=array)):
            return f"{name}.append({array})"
        case Pop(target=target):
            return f"{target.name} = {name}.pop()"
    raise AssertionError(stmt)


def _of_copies(stmt: NewStack | Push | Pop | Seal) -> str:
    name, top, dtype = stmt.stack.name, stmt.stack.top, f"np.{stmt.stack.dtype.name}"
    match stmt:
        case NewStack():
            return f"{name} = [empty((64,), {dtype})]\n{top} = 0"
        case Push(value=value):
            given = value.name if isinstance(value, Array) else f"put({text_of(value)}, {dtype})"
            return f"{top} = keep_array({name}, {top}, {given})"
        case Pop(target=Array() as target, dims=dims):
            shape = "".join(f"{expression_text(affine.normal(dim))}, " for dim in dims)
            down = f"{top} -= {expression_text(affine.normal(affine.product(dims)))}"
            return f"{down}\n{target.name} = kept_array({name}, {top}, ({shape}))"
        case Pop(target=target):
            return f"{top} -= 1\n{target.name} = fetch(kept_array({name}, {top}, (1,)))"
        case Seal(array=array):
            return f"{array.name} = subscript({name}[0], (0, {top}))"
    raise AssertionError(stmt)


__all__ = ["Kept"]
