"""A row that is short enough stays in the registers of its threads: each element is read once, and stored once.

for j in range(m), together:                   for j in range(m), together, having read x_held[turn] = x[i, j]:
    t[j] = exp(x[i, j])                            t_held[turn] = exp(x_held[turn])
    s += t[j]                                      s += t_held[turn]
for j in range(m), together:             →     for j in range(m), together:
    y[i, j] = t[j] / s                             y_held[turn] = t_held[turn] / s
for j in range(m), together:                   for j in range(m), together:
    y[i, j] += x[i, j]                             y_held[turn] = y_held[turn] + x_held[turn]
                                                   y[i, j] = y_held[turn]

All loops along the row have to be over one range: then a thread has the same elements in each of them (scalar
replacement: Callahan, Carr, Kennedy, 1990).  Nobody may read what another has written, nor write there: so none waits
for the others but for sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ...ir import affine
from ...ir.expressions import Array, Call, Expr, Load, Var
from ...ir.names import Names
from ...ir.nodes import (
    TURN,
    TURNS,
    AddTo,
    Assign,
    AtomicAdd,
    Block,
    Comment,
    If,
    Kernel,
    Lanes,
    LocalArray,
    Stmt,
    Store,
)
from ...ir.walk import (
    expressions,
    loads,
    map_expressions,
    numbers_set,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    sure_loads,
    targets,
    variables,
)
from ...rules.costs import cost

MOST_HELD = 64  # bytes of a turn: registers are few
MOST_COST = 100  # additions that a turn is worth: a loop of more is not unrolled, and holds nothing in registers
IN_A_TURN = (AddTo, Assign, AtomicAdd, Comment, If, Store)

Key = tuple[str, tuple[Expr, ...]]  # an element: its array, and the index


def is_short(body: Block) -> bool:
    """Will a loop of a few such turns be unrolled?"""
    inside = statements(body)
    parts = (part for stmt in inside for expr in expressions(stmt) for part in subexpressions(expr))
    work = sum(cost(part) for part in parts if isinstance(part, Call))
    return work <= MOST_COST and all(isinstance(stmt, IN_A_TURN) for stmt in inside)


def held_rows(kernel: Kernel, name: str, memory: Mapping[str, str], names: Names) -> Kernel | None:
    """The kernel for rows of `TURNS` elements for each thread at most, where they can be held.

    `memory`: which memory arrays are handles on.
    """
    loops = [stmt for stmt in kernel.body if isinstance(stmt, Lanes)]
    changed = numbers_set(kernel.body) - {loop.index for loop in loops}
    bounds = {var for loop in loops for bound in (loop.start, loop.stop) for var in variables(bound)}
    alike = all(affine.same(x.start, loops[0].start) and affine.same(x.stop, loops[0].stop) for x in loops)
    if not alike or bounds & changed or not all(is_short(x.body) for x in loops):
        return None
    held = _Held(kernel, loops[0].index, changed, memory, names)
    body = held.without_places_for_once(held.without_lost_stores(tuple(map(held.statement, kernel.body))))
    stored = {array.name: array for stmt in statements(body) for array in _arrays(stmt)}
    places = [place for place in held.places if place.name in stored or place in held.read]
    if not held.is_reused or sum(place.dtype.itemsize for place in places) > MOST_HELD or held.meets(body):
        return None
    return replace(
        kernel,
        name=name,
        body=(*map(LocalArray, places), *held.reads_first(body)),
        scratch=tuple(item for item in kernel.scratch if item.array.name in stored),
    )


class _Held:
    def __init__(self, kernel: Kernel, index: Var, changed: set[Var], memory: Mapping[str, str], names: Names) -> None:
        self.index, self.changed, self.memory, self.names = index, changed, memory, names
        self.private = {made.array.name for made in kernel.scratch}
        self.written = {self.root(array) for stmt in statements(kernel.body) for array in _arrays(stmt)}
        self.known: dict[Key, Array] = {}  # elements that are held here, and where
        self.places: list[Array] = []
        self.read: set[Array] = set()  # places of what is read ahead
        self.is_reused = False  # in another loop than the one that it was read or made in

    def root(self, array: Array) -> str:
        return self.memory.get(array.name, array.name)

    def key(self, array: Array, index: tuple[Expr, ...]) -> Key | None:
        """An element that is the same one for a turn wherever it is named."""
        used = set().union(*map(variables, index)) if index else set()
        fixed = self.index in used and not used & self.changed and not any(map(loads, index))
        return (array.name, index) if fixed else None

    def forget(self, root: str) -> None:
        self.known = {key: at for key, at in self.known.items() if self.memory.get(key[0], key[0]) != root}

    def place(self, array: Array) -> Array:
        self.places.append(Array(self.names.fresh(f"{array.name}_held"), array.dtype, (TURNS,)))
        return self.places[-1]

    # ------------------------------------------------------------------------------------------------ statements

    def statement(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Lanes):
            for root in self.written_by((stmt,)):
                self.forget(root)
            return stmt
        body = stmt.body
        if stmt.index != self.index:
            change = lambda expr: substitute(expr, {stmt.index: self.index})
            body = rewrite_block(body, lambda s: (map_expressions(s, change),))
        earlier = set(self.known)
        reads: list[tuple[Array, Expr]] = []
        out: list[Stmt] = []
        for k, inner in enumerate(body):
            self.hold(inner, earlier, self.written_by(body[:k]), reads)
            out += self.turn(inner)
        self.read |= {place for place, _ in reads}
        return replace(stmt, index=self.index, body=tuple(out), reads=tuple(reads), held=True)

    def hold(self, stmt: Stmt, earlier: set[Key], stored: set[str], reads: list[tuple[Array, Expr]]) -> None:
        """Read ahead what a statement surely reads, unless the turn has `stored` to that memory before."""
        found = [load for expr in expressions(stmt) for load in sure_loads(expr)]
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
            found.append(stmt.target)
        for load in found:
            key = self.key(load.array, load.index)
            self.is_reused |= key in earlier and key in self.known
            if key is not None and key not in self.known and self.root(load.array) not in stored:
                self.known[key] = self.place(load.array)
                reads.append((self.known[key], load))

    def turn(self, stmt: Stmt) -> Block:
        """A statement of a turn, with what is held."""
        touched = self.written_by((stmt,))
        if isinstance(stmt, If):  # before and after a store inside of it an element is not the same
            for root in touched:
                self.forget(root)
        if isinstance(stmt, AddTo) and isinstance(stmt.target, Load) and self.of(stmt.target) is not None:
            to, value = stmt.target, Call("add", (stmt.target, stmt.value), stmt.target.dtype)
            stmt = Store(to.array, to.index, value, span=stmt.span)
        here = lambda expr: Load(at, (TURN,)) if isinstance(expr, Load) and (at := self.of(expr)) else expr
        (stmt,) = rewrite_block((stmt,), lambda s: (map_expressions(s, lambda e: rewrite(e, here)),))
        key = self.key(stmt.array, stmt.index) if isinstance(stmt, Store) else None
        if not isinstance(stmt, Store) or key is None or stmt.value.dtype != stmt.array.dtype:
            for root in touched:
                self.forget(root)
            return (stmt,)
        at = self.known.get(key) or self.place(stmt.array)
        self.forget(self.root(stmt.array))
        self.known[key] = at
        return (Store(at, (TURN,), stmt.value, span=stmt.span), replace(stmt, value=Load(at, (TURN,))))

    def of(self, load: Load) -> Array | None:
        return self.known.get((load.array.name, load.index))

    def written_by(self, block: Block) -> set[str]:
        return {self.root(array) for stmt in statements(block) for array in _arrays(stmt)}

    # ----------------------------------------------------------------------------------------------- the whole row

    def without_lost_stores(self, body: Block) -> Block:
        """Of stores to an element that nobody reads any more, the last one; of scratch, none."""
        read = self.loaded(body)
        every = [s for s in statements(body) for array in _arrays(s) if array not in self.places]
        in_turns = [s for loop in body if isinstance(loop, Lanes) for s in loop.body if isinstance(s, Store)]
        lost: set[int] = set()
        for root in {self.root(array) for s in every for array in _arrays(s)} - read:
            own = [s for s in in_turns if self.root(s.array) == root]
            if len(own) < sum(self.root(array) == root for s in every for array in _arrays(s)):
                continue  # others of them may not be overwritten
            if root in self.private:
                lost |= set(map(id, own))
            elif len({self.key(s.array, s.index) for s in own} | {None}) == 2:
                lost |= set(map(id, own[:-1]))
        return rewrite_block(body, lambda s: () if id(s) in lost else (s,))

    def without_places_for_once(self, body: Block) -> Block:
        """What is stored, and read from its place for nothing else, needs no place."""
        inside = [expr for stmt in statements(body) for expr in expressions(stmt)]
        count = Counter(part.array for expr in inside for part in subexpressions(expr) if isinstance(part, Load))

        def merged(block: Block) -> Block:
            out: list[Stmt] = []
            for stmt in block:
                match out[-1:], stmt:
                    case [Store(array=at, value=value)], Store(value=Load(array=same)) if at == same and count[at] == 1:
                        if at in self.places:
                            out[-1] = replace(stmt, value=value)
                            continue
                out.append(stmt)
            return tuple(out)

        return tuple(replace(s, body=merged(s.body)) if isinstance(s, Lanes) else s for s in body)

    def meets(self, body: Block) -> bool:
        """Does a thread read what another may have written, or write there?"""
        loops = [stmt for stmt in body if isinstance(stmt, Lanes)]
        others = self.written_by(tuple(stmt for stmt in body if not isinstance(stmt, Lanes)))
        elements: dict[str, list[Key | None]] = {}
        added: set[str] = set()  # atomically: nobody minds in what order
        for stmt in (s for loop in loops for s in statements(loop.body)):
            for array in _arrays(stmt):
                match stmt:
                    case AtomicAdd():
                        added.add(self.root(array))
                    case Store(index=index) | AddTo(target=Load(index=index)) if array not in self.places:
                        elements.setdefault(self.root(array), []).append(self.key(array, index))
        apart = all(len(keys) == 1 or (len(set(keys)) == 1 and None not in keys) for keys in elements.values())
        touched = {*elements, *added, *others}
        return not apart or len(touched) < len(elements) + len(added) + len(others) or bool(touched & self.loaded(body))

    def loaded(self, body: Block) -> set[str]:
        return {self.root(load.array) for s in statements(body) for expr in expressions(s) for load in loads(expr)}

    def reads_first(self, body: Block) -> Block:
        """What nobody writes is read where the row begins: it is waited for once."""
        reads = [read for stmt in body if isinstance(stmt, Lanes) for read in stmt.reads]
        early = tuple(read for read in reads if not {self.root(load.array) for load in loads(read[1])} & self.written)
        first = next(stmt for stmt in body if isinstance(stmt, Lanes))
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Lanes):
                later = tuple(read for read in stmt.reads if read not in early)
                stmt = replace(stmt, reads=(*early, *later) if stmt is first else later)
            out.append(stmt)
        return tuple(out)


def _arrays(stmt: Stmt) -> tuple[Array, ...]:
    """The arrays to which a statement itself writes."""
    return tuple(target for target in targets(stmt) if isinstance(target, Array))


__all__ = ["IN_A_TURN", "held_rows", "is_short"]
