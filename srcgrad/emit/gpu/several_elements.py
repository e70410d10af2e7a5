"""A thread takes several elements in turns, and reads what it wants of all of them before it computes the first.

i = cuda.grid(1)                               x_ahead = cuda.local.array(4, np.float64)
if i < n:                                      i_first = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    y[i] = x[i] * x[i]                         for turn in range(4):
                                                   i = i_first + turn * 256
                                                   if i < n:
                                      →                x_ahead[turn] = x[i]
                                               for turn in range(4):
                                                   i = i_first + turn * 256
                                                   if i < n:
                                                       y[i] = x_ahead[turn] * x_ahead[turn]

Compilers unroll these loops, and the small arrays are registers.  A thread alone would wait for memory once per
element; and what it takes to launch a block of threads is more than one element of each is worth.

Of a grid of three axes the turns are written out: an address takes so many operations there that NVVM leaves the loops
as they are, and what was read ahead in memory.  What is asked about the last index is asked once for all of them.

if 1 <= k and k < m - 1:
    u_ahead[0] = u[i, j, k]
    u_ahead[1] = u[i + 1, j, k]
    …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ...ir import affine
from ...ir.expressions import INT64, Array, Call, Const, Expr, Load, Var, all_of, both
from ...ir.names import Names
from ...ir.nodes import TURN, AddTo, Assign, Block, Comment, For, If, Kernel, LocalArray, Stmt, Store, While
from ...ir.walk import (
    blocks,
    counts_upwards,
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    statements,
    substitute,
    substituted,
    sure_loads,
    variables,
    with_blocks,
)
from ...passes.gpu.interior import COMPARISONS, parts_of
from ...rules.costs import additions
from .in_common import in_common
from .kernel_text import Lines, said

MOST_TURNS = 4
MOST_AXES = 3
IN_LOOPS = 2  # axes: of a grid of that many, LLVM unrolls the loops over the turns
LEAST_ROWS = 4  # below each other: fewer are not worth what finding out where they are takes
REGISTERS = 48  # of four bytes, for what is read ahead
LARGEST = 500  # additions of all turns: NVVM does not unroll loops that are much longer
SIMPLE = (AddTo, Assign, Comment, If, Store)


@dataclass(frozen=True)
class Several:
    """`made`: the small arrays; `ahead`: what fills them; `body`: an iteration that reads them.

    All elements have `common`, ahead of them.  Where all turns are `inside`, of a grid; else `otherwise`, which reads
    nothing ahead.  `is_written_out`: `ahead` and `body` are of all turns.
    """

    count: int
    common: Block
    made: Block
    ahead: Block
    body: Block
    inside: Expr | None = None
    otherwise: Block = ()
    is_written_out: bool = False

    def in_form(self, form: Callable[[Block], Block], body: Block) -> Several:
        """With the statements of a kernel; `body` has them already."""
        common, made, ahead, otherwise = map(form, (self.common, self.made, self.ahead, self.otherwise))
        return replace(self, common=common, made=made, ahead=ahead, otherwise=otherwise, body=body)

    def are_inside(self, index: Var, first: Expr, last: Expr) -> Expr:
        """The question whether all of them are, of the first and of the last one: it is about what rises between."""
        assert self.inside is not None
        asked = [substitute(self.inside, {index: end}) for end in (first, last)]
        found = all_of(dict.fromkeys(part for condition in asked for part in parts_of(condition)))
        assert found is not None
        return found


@dataclass(frozen=True)
class Elements:
    """Which ones a thread takes along an axis: `begin` is at `first` and goes on by a `stride`.

    Those of one time are so far `apart`.  `index`: that of the one at a place, as text with room for the place.
    """

    axis: For
    begin: str
    first: str
    stride: str
    apart: int
    index: str


def over_elements(several: Several, elements: Elements, goes_on: Expr, is_once: bool) -> Block:
    """The loops of a thread over its elements: so many turns, or so many again and again."""
    axis, begin = elements.axis, elements.begin
    turn = TURN.name if elements.apart == 1 else f"{TURN.name} * {elements.apart}"
    element = Lines(f"{axis.index.name} = {elements.index.format(f'{begin} + {turn}')}")
    every = affine.integer(several.count)

    def each(*inner: Stmt, count: Expr = every) -> Block:
        return (For(TURN, affine.ZERO, count, affine.ONE, (element, *inner)),) if inner else ()

    if several.inside is None:
        whole = (*(each(If(goes_on, several.ahead)) if several.ahead else ()), *each(If(goes_on, several.body)))
    else:
        near = affine.add(axis.start, Var(begin, INT64))
        far = affine.add(near, affine.integer((several.count - 1) * elements.apart))
        asked = said(several.are_inside(axis.index, near, far), None)
        are_inside = both(asked, substitute(goes_on, {axis.index: far}))  # a grid may be open at its end
        left: Expr = every
        if elements.apart == 1:  # as many as there are: a loop that is not unrolled, nor takes registers of the others
            left = said(Call("minimum", (every, affine.sub(axis.stop, near)), INT64), None)
        otherwise = each(If(goes_on, several.otherwise), count=left)
        inside = (several.ahead, several.body)
        ahead, body = inside if several.is_written_out else (each(*block) for block in inside)
        whole = (If(are_inside, (*ahead, *body), otherwise),)
    made = (*several.common, *several.made, Lines(f"{begin} = {elements.first}"))
    if is_once:
        return (*made, *whole)
    next_one = Lines(f"{axis.index.name} = {elements.index.format(begin)}")
    return (*made, next_one, While(axis.index, goes_on, (*whole, Lines(f"{begin} += {elements.stride}"), next_one)))


def several_elements(
    kernel: Kernel, on_grid: tuple[For, ...], names: Names, memory: Mapping[str, str]
) -> Several | None:
    """How the threads of a kernel take several elements, or None.  `memory`: which memory arrays are handles on."""
    if not 1 <= len(kernel.axes) <= MOST_AXES or kernel.by_rows or kernel.sums or kernel.scratch or kernel.stacks:
        return None
    if not all(isinstance(stmt, SIMPLE) for stmt in statements(kernel.body)):
        return None
    by_one = all(affine.same(axis.step, affine.ONE) for axis in kernel.axes)
    question = Reader(kernel, names, memory).question(kernel.body) if by_one else None
    common: Block = ()
    whole = kernel.body
    if question is None and len(kernel.axes) > IN_LOOPS:
        return None
    if question is None:
        common, own = in_common(kernel, on_grid[0], on_grid, kernel.body, names, memory)
        kernel = replace(kernel, body=own)
    reader = Reader(kernel, names, memory)
    ahead, body = reader.block(question.then if question else kernel.body, {})
    work = sum(additions(expr) for stmt in statements(body) for expr in expressions(stmt))
    along = on_grid[0].index if len(on_grid) > 1 else None
    count = MOST_TURNS
    least = LEAST_ROWS if len(kernel.axes) > 1 else 2
    while count >= least and (_words(tuple(reader.rooms), count, along) > REGISTERS or count * work > LARGEST):
        count //= 2
    if count < least:
        return None
    made = tuple(LocalArray(replace(load.array, dims=(Const(count, INT64),))) for load in reader.rooms.values())
    if question is None:
        return Several(count, common, made, ahead, body)
    if len(kernel.axes) <= IN_LOOPS:
        return Several(count, common, made, ahead, body, question.condition, whole)
    index = on_grid[0].index
    ahead, body = _written_out(ahead, index, count), _of_each(body, index, count)
    return Several(count, common, made, ahead, body, question.condition, whole, is_written_out=True)


def _written_out(block: Block, index: Var, count: int) -> Block:
    """Statements of all turns, where these do nothing but read: those behind one question of all turns are together."""
    out: list[Stmt] = []
    asked: dict[Expr, list[tuple[Block, ...]]] = {}
    for stmt in block:
        if isinstance(stmt, If) and index not in variables(stmt.condition):
            if stmt.condition not in asked:
                out.append(stmt)
            asked.setdefault(stmt.condition, []).append(blocks(stmt))
        else:
            out += _of_each((stmt,), index, count)

    def together(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, If) or stmt.condition not in asked:
            return stmt
        sides = (sum(parts, ()) for parts in zip(*asked[stmt.condition], strict=True))
        return with_blocks(stmt, tuple(_written_out(side, index, count) for side in sides))

    return tuple(map(together, out))


def _of_each(block: Block, index: Var, count: int) -> Block:
    """The statements of every turn, one turn after the other."""
    turns = (affine.integer(turn) for turn in range(count))
    return tuple(stmt for turn in turns for stmt in substituted(block, {TURN: turn, index: affine.add(index, turn)}))


class Reader:
    """What an element wants to read, ahead of all that is computed of it."""

    def __init__(self, kernel: Kernel, names: Names, memory: Mapping[str, str]) -> None:
        self.names, self.memory = names, memory
        self.rooms: dict[Load, Load] = {}
        self.changed = numbers_set(kernel.body) | {*kernel.sums, *kernel.sets}
        self.indices = {axis.index for axis in kernel.axes}
        self.touched: dict[str, list[Load | Store]] = {}
        for stmt in statements(kernel.body):
            place = stmt.target if isinstance(stmt, AddTo) else stmt
            if isinstance(place, (Load, Store)):
                self.touched.setdefault(self.of(place.array), []).append(place)

    def of(self, array: Array) -> str:
        return self.memory.get(array.name, array.name)

    def block(self, block: Block, known: dict[Expr, Expr]) -> tuple[Block, Block]:
        """What is read ahead for a block, and the block that takes it from there.  `known` is there already."""
        ahead: list[Stmt] = []
        out: list[Stmt] = []
        for load in (load for stmt in block for expr in expressions(stmt) for load in sure_loads(expr)):
            if load not in known and self.is_there(load):
                known[load], read = self.room(load)
                ahead.append(read)
        for stmt in block:
            own = map_expressions(stmt, lambda expr: rewrite(expr, lambda part: known.get(part, part)))
            if isinstance(stmt, If):
                sides = [self.side(stmt, side, known) for side in blocks(stmt)]
                own = with_blocks(own, tuple(body for _, body in sides))
                if any(first for first, _ in sides):
                    ahead.append(with_blocks(stmt, tuple(first for first, _ in sides)))
            out.append(own)
        return tuple(ahead), tuple(out)

    def question(self, body: Block) -> If | None:
        """The one question of `interior`, where few threads go the other way: those at the edge of a grid."""
        if len(body) != 1 or not isinstance(body[0], If):
            return None
        asked = body[0]
        if isinstance(asked.condition, Call) and asked.condition.op == "not" and not asked.orelse:  # a frame
            asked = If(asked.condition.args[0], (), body)
        elif _questions(asked.then) >= _questions(asked.orelse):
            return None
        return asked if all(map(self.rises_or_falls, parts_of(asked.condition))) else None

    def rises_or_falls(self, part: Expr) -> bool:
        """A comparison that holds between two elements where it holds of both?"""
        if not isinstance(part, Call) or part.op not in COMPARISONS or loads(part) or not self.is_steady(part):
            return False
        if any(arg.dtype != INT64 for arg in part.args):
            return not variables(part) & self.indices
        terms, _ = affine.affine(affine.sub(*part.args))
        return all(isinstance(term, Var) or not variables(term) & self.indices for term, _ in terms)

    def side(self, stmt: If, side: Block, known: dict[Expr, Expr]) -> tuple[Block, Block]:
        """A branch: read ahead where it is known ahead that it is taken."""
        if self.is_steady(stmt.condition) and not any(loads(stmt.condition)):
            return self.block(side, dict(known))
        return (), self.said(side, known)

    def said(self, block: Block, known: dict[Expr, Expr]) -> Block:
        def instead(stmt: Stmt) -> Stmt:
            stmt = map_expressions(stmt, lambda expr: rewrite(expr, lambda part: known.get(part, part)))
            return with_blocks(stmt, tuple(self.said(inner, known) for inner in blocks(stmt))) if blocks(stmt) else stmt

        return tuple(map(instead, block))

    def is_there(self, load: Load) -> bool:
        """Is it the same number before any of the turns?"""
        if load.dtype.kind not in "iuf" or not self.is_steady(load) or any(loads(part) for part in load.index):
            return False
        stored = self.touched.get(self.of(load.array), ())
        return all(self.is_another_row(place, load) for place in stored)

    def is_another_row(self, stored: Load | Store, read: Load) -> bool:
        """Of one array, whatever the threads are that store and read?"""
        if stored.array.name != read.array.name or not (counts_upwards(stored) and counts_upwards(read)):
            return False
        for x, y in zip(stored.index, read.index, strict=True):
            if not (variables(x) | variables(y)) & (self.indices | self.changed) and not (loads(x) or loads(y)):
                if affine.difference(x, y):
                    return True
        return False

    def is_steady(self, expr: Expr) -> bool:
        return not variables(expr) & self.changed

    def room(self, load: Load) -> tuple[Expr, Stmt]:
        """Where it is from then on, and the statement that brings it there."""
        if load not in self.rooms:
            array = Array(self.names.fresh(f"{load.array.name}_ahead"), load.dtype, (Const(MOST_TURNS, INT64),))
            self.rooms[load] = Load(array, (TURN,))
        return self.rooms[load], Store(self.rooms[load].array, (TURN,), load)


def _words(loads_ahead: tuple[Load, ...], count: int, along: Var | None) -> int:
    """How many words all turns read: those of neighbours below each other are the same ones but for a few."""
    rows: dict[tuple[str, int, object], list[int]] = {}
    for load in loads_ahead:
        parts = [affine.affine(part) for part in load.index]
        moves = [k for k, (terms, _) in enumerate(parts) if along is not None and terms == ((along, 1),)]
        shift = parts[moves[0]][1] if len(moves) == 1 else 0
        like = tuple(terms if k in moves else (terms, constant) for k, (terms, constant) in enumerate(parts))
        rows.setdefault((load.array.name, -(-load.dtype.itemsize // 4), like), []).append(shift)
    return sum((max(shifts) - min(shifts) + count) * words for (_, words, _), shifts in rows.items())


def _questions(block: Block) -> int:
    return sum(len(parts_of(stmt.condition)) for stmt in statements(block) if isinstance(stmt, If))


__all__ = ["Elements", "Reader", "Several", "over_elements", "several_elements"]
