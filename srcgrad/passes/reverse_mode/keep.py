"""Every `Old(value, at=statement)` of the sweep becomes a legal read: still valid, recomputed, or kept.

Nothing else decides what is saved.  A scalar has a *version*: the value that it gets at one place of one block.  In the
sweep a version is
    valid        nothing can have changed the variable (or the memory) since,
    recomputed   from what is at hand, at the top of the mirrored block, where that is cheaper than a load,
    kept         stored when it is born: in an array with one axis per enclosing loop where trip counts are known ahead,
                 else on a growing stack, together with what else its block keeps.

    for i: s = s * x[i]        for i: s_kept[i] = s; s = s * x[i]
    sweep for i:          →    sweep for i:
        … old(s) …                 s = s_kept[i]; … s …
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...analysis.costs import KEEP_IN_LOOP, Costs
from ...analysis.decided_once import Decided
from ...analysis.validity import END, ROOT, Place, Version
from ...ir.expressions import INT64, LAZY, Array, Axis, Call, Const, Dim, Expr, Load, Old, OldArray, Var
from ...ir.nodes import Alloc, Assign, Block, For, Function, Invoke, Library, Pop, Rule, Stmt, Store, Sweep, While
from ...ir.walk import (
    blocks,
    children,
    expressions,
    loads,
    map_expressions,
    rebuild,
    rewrite,
    rewrite_block,
    statements,
    subexpressions,
    substitute,
    sure_loads,
    variables,
    with_blocks,
)
from ...rules.costs import cost
from ...rules.scalar import PRIMITIVES
from .edits import renamed
from .kept_memory import KeptMemory
from .rebuild import Refill, Refills
from .reverse import backwards

SMALL = 3  # additions that are not worth a kept value beside the one that they are made of


def keep(function: Function) -> Function:
    """Resolve what the sweep reads of the forward part."""
    return _Keep(function).run()


def without_keep(function: Function) -> Function:
    """The negative control of the tests: every old value is read as what is there now, right or wrong."""
    strip = lambda e: rewrite(e, lambda n: n.expr if isinstance(n, Old) else n)

    def now(stmt: Stmt) -> Stmt:
        if isinstance(stmt, (Library, Invoke)):
            stmt = replace(stmt, args=tuple(a.array if isinstance(a, OldArray) else a for a in stmt.args))
        inner = blocks(stmt)
        if inner:
            stmt = with_blocks(stmt, tuple(tuple(now(s) for s in block) for block in inner))
        return map_expressions(stmt, strip)

    forward = tuple(s for s in function.body if not isinstance(s, Sweep))
    sweep = next(s for s in function.body if isinstance(s, Sweep))
    return replace(function, body=(*forward, replace(sweep, body=tuple(now(s) for s in sweep.body))))


class _Keep(KeptMemory):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.versions: dict[Version, Var] = {}
        self.kept_expressions: dict[tuple[Expr, int], Expr] = {}
        self.rebuilt: set[tuple[str, tuple[int, int]]] = set()
        self.plain_reads: set[str] = set()
        self.guarded = 0  # conditions around what is read, in one expression
        self.made_again: dict[Var, Expr] = {}  # names for what the sweep computes again
        self.costs = Costs(self.forward, self.versions, self.kept_expressions, self.info.indices_again)
        self.decided = Decided(self.forward, self.body, self.info.rounding)
        self.refills = Refills(self.forward, self.costs, self.decided, self.info.names, self.sweep.body)

    def run(self) -> Function:
        sweep = self.without_names_used_once(self.sweep_block(self.sweep.body, ROOT))
        body = self.edits.applied(self.body, ROOT)
        names = self.final_names()
        sweep = tuple(renamed(s, names) for s in sweep)
        tidy_body = tuple(s for s in body if not isinstance(s, Rule))
        return replace(self.function, body=(*self.edits.start, *tidy_body, replace(self.sweep, body=sweep)))

    # ------------------------------------------------------------------------------------------- the sweep

    def sweep_block(self, block: Block, key: tuple[int, int]) -> Block:
        """Resolve a block of the sweep; `key` is the forward block that it mirrors."""
        out = [self.sweep_statement(stmt, key) for stmt in block]
        return (*self.popped_first(self.tops.pop(key, [])), *out)

    def popped_first(self, top: list[Stmt]) -> list[Stmt]:
        """What is popped one after the other is popped as one."""
        return sorted(top, key=lambda stmt: not (isinstance(stmt, Pop) and isinstance(stmt.target, Var)))

    def sweep_statement(self, stmt: Stmt, key: tuple[int, int]) -> Stmt:
        if isinstance(stmt, (Library, Invoke)):
            args = tuple(self.old_array(a.array, a.at, key) if isinstance(a, OldArray) else a for a in stmt.args)
            stmt = replace(stmt, args=args)
        stmt = map_expressions(stmt, lambda expr: self.resolved(expr))
        inner = blocks(stmt)
        if not inner:
            return stmt
        if stmt.label >= 0 and isinstance(stmt, For) and not stmt.ordered:
            body = self.sweep_block(stmt.body, (stmt.label, 0))
            if any(isinstance(s, Pop) for s in statements(body)):  # a stack gives the last value first
                start, stop, step = backwards(stmt, lambda e: e)
                stmt = replace(stmt, start=start, stop=stop, step=step)
            return replace(stmt, body=body)
        if stmt.label >= 0:
            return with_blocks(stmt, tuple(self.sweep_block(b, (stmt.label, n)) for n, b in enumerate(inner)))
        return with_blocks(stmt, tuple(tuple(self.sweep_statement(s, key) for s in b) for b in inner))

    def resolved(self, expr: Expr) -> Expr:
        if isinstance(expr, Old):
            if expr.local:  # an index of the sweep's own: any element may be asked for
                assert isinstance(expr.expr, Load)
                array = self.old_array(expr.expr.array, expr.at, self.forward.block_of(expr.at))
                return Load(array, tuple(self.resolved(i) for i in expr.expr.index))
            return self.read(expr.expr, expr.at)
        whole = self.part_of_statement(expr)
        if whole is not None:
            return self.read(*whole)
        parts = children(expr)
        return rebuild(expr, tuple(self.resolved(part) for part in parts)) if parts else expr

    def part_of_statement(self, expr: Expr) -> tuple[Expr, int] | None:
        """cos(old(x)) is old(cos(x)) where the statement computes cos(x): the slope of its sin(x) may want it."""
        if not isinstance(expr, Call) or not expr.args or not all(isinstance(arg, Old) for arg in expr.args):
            return None
        places = {arg.at for arg in expr.args}  # type: ignore[attr-defined]
        stmt = self.forward.statement.get(next(iter(places)))
        if len(places) > 1 or stmt is None:
            return None
        inner = Call(expr.op, tuple(arg.expr for arg in expr.args), expr.dtype)  # type: ignore[attr-defined]
        found = any(inner == node for e in expressions(stmt) for node in subexpressions(e))
        found = found or self.holder(inner, stmt.label) is not None
        return (inner, next(iter(places))) if found else None

    # ---------------------------------------------------------------------------------------------- reads

    def read(self, expr: Expr, at: int) -> Expr:
        """A legal expression of the sweep for the value that `expr` had just before `at`."""
        match expr:
            case Const() | Dim() | Axis():
                return expr
            case Old(expr=inner, at=earlier):
                return self.read(inner, earlier)
            case Var():
                return self.read_variable(expr, at)
            case Load():
                return self.read_element(expr, at)
            case Call() if (expr, at) in self.kept_expressions:
                return self.kept_expressions[expr, at]
            case Call(op=op, args=args):
                held = self.already_held(expr, at)
                if held is not None:
                    return held
                holder = self.holder(expr, at)
                if holder is not None:
                    return self.read_version(holder)
                if self.guarded:
                    return Call(op, tuple(self.read(arg, at) for arg in args), expr.dtype)
                if (self.decided.is_open(expr, at) or self.guards_what_is_gone(expr, at)) and self.can_name(at):
                    return self.keep_expression(expr, at)
                costs = self.costs
                too_dear = not costs.is_free(expr, at) and costs.cost(expr, at) > costs.keep_cost(at, expr)
                if too_dear and costs.cost(expr, at) <= KEEP_IN_LOOP + SMALL and costs.one_part_is_gone(expr, at):
                    too_dear = False  # that part is kept instead: others may want it too
                if (too_dear or costs.is_shared(expr, at)) and self.can_name(at):
                    return self.keep_expression(expr, at)
                if op in LAZY and loads(expr):
                    return self.read_lazily(expr, at)
                again = Call(op, tuple(self.read(arg, at) for arg in args), expr.dtype)
                is_dear = expr.dtype.kind in "fc" and costs.cost(expr, at) > KEEP_IN_LOOP
                return self.named_again(again, expr, at) if is_dear else again
        raise AssertionError(expr)

    def guards_what_is_gone(self, expr: Call, at: int) -> bool:
        """Does it read, on some condition, an element that would have to be kept?  Without that it may not be there."""
        guarded = set(loads(expr)).difference(sure_loads(expr)) if expr.op in LAZY else ()
        return any(
            not self.forward.element_is_valid(load, at) and not self.costs.is_had_whole(load, at) for load in guarded
        )

    def read_lazily(self, expr: Call, at: int) -> Expr:
        """What stands behind a condition is computed behind it, if at all."""
        first, *others = expr.args
        condition = self.read(first, at)
        self.guarded += 1
        parts = [self.read(part, at) for part in others]
        self.guarded -= 1
        return Call(expr.op, (condition, *parts), expr.dtype)

    def recomputed(self, expr: Expr, at: int) -> Expr:
        """The expression itself, on legal reads of its variables and elements; it is not kept as a whole."""
        if isinstance(expr, Call):
            return Call(expr.op, tuple(self.recomputed(arg, at) for arg in expr.args), expr.dtype)
        return self.read(expr, at)

    def read_variable(self, var: Var, at: int) -> Expr:
        place = self.forward.birth(var, at)
        if place is None:  # the index of a loop around it: the sweep's loop has the same
            return var
        return self.read_version(Version(var, place))

    def read_version(self, version: Version) -> Var:
        var = version.var
        if self.forward.is_valid(version):
            self.plain_reads.add(var.name)
            return var
        if version not in self.versions:
            self.versions[version] = Var(f"{var.name}@{len(self.versions)}", var.dtype)
            self.materialize(version)
        return self.versions[version]

    def materialize(self, version: Version) -> None:
        """Have the version in its variable at the top of the mirrored block."""
        target, made = self.versions[version], self.forward.definition(version)
        key = version.place.block
        if made is not None and self.is_made_again(version, made):
            value = made.value
            guarded, self.guarded = self.guarded, 0  # the variable is there in any case
            if isinstance(value, Call):  # (not by way of the variable that is being made)
                value = Call(value.op, tuple(self.read(arg, made.label) for arg in value.args), value.dtype)
            else:
                value = self.read(value, made.label)
            self.guarded = guarded
            self.tops.setdefault(key, []).append(Assign(target, value))
            return
        self.keep_value(version.var, target, key, self.after_place(version.place))

    def is_made_again(self, version: Version, made: Assign) -> bool:
        is_open = self.decided.is_open_in(version.var.name, made.value, made.label)
        return not is_open and self.costs.cost(made.value, made.label) <= self.costs.keep_cost(made.label, made.value)

    def read_element(self, load: Load, at: int) -> Expr:
        index = tuple(self.read(i, at) for i in load.index)
        if self.forward.element_is_valid(load, at):
            self.have_handle(load.array, at)
            return Load(load.array, index)
        again = self.filled_again(load.array, self.refills.born(load.array, at))
        if again is not None:
            return Load(again, index)
        if self.forward.element_is_valid_within(load, at):
            self.give_rows(load.array)
            self.have_handle(load.array, at)
            return Load(load.array, index)
        snapshot = self.forward.snapshot_place(load, at)
        if snapshot is not None:
            again = self.filled_again(load.array, snapshot)
            return Load(again or self.keep_array(load.array, snapshot), index)
        for place in self.refills.snapshots_of(load.array):
            if self.forward.is_as_it_was(load, at, place):
                return Load(self.keep_array(load.array, place), index)
        ahead = self.forward.place_ahead_of_writes(load, at)
        if ahead is not None:
            return Load(self.keep_array(load.array, ahead), index)
        return self.keep_expression(load, at)

    def already_held(self, expr: Expr, at: int) -> Expr | None:
        """The value may stand in the variable or the memory that this statement gives it to."""
        stmt = self.forward.statement.get(at)
        if isinstance(stmt, Assign) and stmt.value == expr:
            version = Version(stmt.var, Place(self.forward.block_of(at), at))
            if self.forward.is_valid(version):
                self.plain_reads.add(stmt.var.name)
                return stmt.var
            if version in self.versions:
                return self.versions[version]
            if self.costs.cost(expr, at) > self.costs.keep_cost(at):
                self.versions[version] = Var(f"{stmt.var.name}@{len(self.versions)}", stmt.var.dtype)
                self.keep_value(stmt.var, self.versions[version], version.place.block, self.after_place(version.place))
                return self.versions[version]
        if isinstance(stmt, Store) and stmt.value == expr:
            place = Load(stmt.array, stmt.index)
            if self.costs.cost(expr, at) > 2 and self.forward.element_is_valid(place, at, written_here=True):
                self.have_handle(stmt.array, at)
                return Load(stmt.array, tuple(self.read(i, at) for i in stmt.index))
            has_rows = self.has_rows(stmt.array)  # somebody else wants them
            is_dear = self.costs.cost(expr, at) > (2 if has_rows else self.costs.keep_cost(at, expr))
            is_there = is_dear and self.forward.element_is_valid_within(place, at, written_here=True)
            if is_there and (has_rows or self.forward.goes_over_within(place, at)):
                self.give_rows(stmt.array)
                self.have_handle(stmt.array, at)
                return Load(stmt.array, tuple(self.read(i, at) for i in stmt.index))
        return None

    def holder(self, expr: Call, at: int) -> Version | None:
        """A variable that is given this dear value, of the same operands, where whatever comes to `at` comes too."""
        if expr.op not in PRIMITIVES or cost(expr) <= KEEP_IN_LOOP or loads(expr):
            return None
        around = {key for key, _ in self.forward.path(at)}
        for stmt in self.forward.assigned.get(expr, ()):
            key = self.forward.block_of(stmt.label)
            same = all(self.forward.birth(v, stmt.label) == self.forward.birth(v, at) for v in variables(expr))
            if key in around and same and stmt.var not in variables(expr):
                return Version(stmt.var, Place(key, stmt.label))
        return None

    def can_name(self, at: int) -> bool:
        return not isinstance(self.forward.statement.get(at), (While, type(None)))

    # ----------------------------------------------------------------------------------------------- keeping

    def keep_expression(self, expr: Expr, at: int) -> Expr:
        """Give the value a name in the forward part, just before `at`, and keep that."""
        if (expr, at) in self.kept_expressions:
            return self.kept_expressions[expr, at]
        key = self.forward.block_of(at)
        loops, over = self.forward.loops_around(key), self.costs.loops_of(expr, key, at)
        table = self.table(expr, over, loops) if 0 < len(over) < len(loops) else None
        if table is not None:
            self.edits.named.setdefault(at, {})[expr] = table
            held = Var(f"t@{len(self.versions)}", expr.dtype)
            self.versions[Version(Var(self.info.names.fresh("t"), expr.dtype), Place(key, at))] = held
            self.tops.setdefault(key, []).append(Assign(held, Load(table.array, self.mirrored(table.index, key))))
            self.kept_expressions[expr, at] = held
            return held
        alike = [loop for loop in loops if loop not in over] if over and expr.dtype != INT64 else []
        if any(isinstance(loop, For) and not loop.ordered for loop in alike):
            return self.recomputed(expr, at)  # kept once for all iterations of a loop, it would tie these together
        name = expr.array.name if isinstance(expr, Load) else "t"
        var = Var(self.info.names.fresh(f"{name}_now" if isinstance(expr, Load) else name), expr.dtype)
        self.edits.named.setdefault(at, {})[expr] = var
        self.edits.before.setdefault(at, []).append(Assign(var, expr))
        if self.is_left(key):
            target = Var(f"{var.name}@{len(self.versions)}", var.dtype)
            self.versions[Version(var, Place(key, at))] = target
            self.keep_value(var, target, key, self.edits.before[at], over)
        else:
            target = var
            self.plain_reads.add(var.name)
        self.kept_expressions[expr, at] = target
        return target

    def named_again(self, again: Expr, expr: Expr, at: int) -> Expr:
        """A name for what is dear to compute again: several statements of the sweep may want it."""
        if not self.can_name(at):
            return again
        key = self.forward.block_of(at)
        held = Var(f"t@again{len(self.made_again)}", expr.dtype)
        self.tops.setdefault(key, []).append(Assign(held, again))
        self.kept_expressions[expr, at] = held
        self.made_again[held] = again
        return held

    def without_names_used_once(self, sweep: Block) -> Block:
        used = Counter(n for s in statements(sweep) for e in expressions(s) for n in subexpressions(e))
        once = {held: again for held, again in self.made_again.items() if used[held] == 1}
        self.made_again = {held: again for held, again in self.made_again.items() if held not in once}
        for held in once:
            once[held] = substitute(once[held], once)  # (each is made of earlier ones alone)

        def inline(stmt: Stmt) -> tuple[Stmt, ...]:
            if isinstance(stmt, Assign) and stmt.var in once:
                return ()
            return (map_expressions(stmt, lambda expr: substitute(expr, once)),)

        return rewrite_block(sweep, inline) if once else sweep

    def is_left(self, key: tuple[int, int]) -> bool:
        """Is what this block has made gone when the forward part has ended?"""
        return bool(self.forward.loops_around(key))

    # ------------------------------------------------------------------------------------------------ arrays

    def filled_again(self, array: Array, place: Place | None) -> Array | None:
        """Memory that the sweep fills as the forward part did up to that place of the same iteration, if it does."""
        if (array, place) in self.kept_arrays:
            return self.kept_arrays[array, place]
        for refill in self.refills.plan(array, place) or ():
            if (refill.array, refill.place) not in self.kept_arrays:
                self.fill_again(refill)
        return self.kept_arrays.get((array, place))

    def fill_again(self, refill: Refill) -> None:
        array, first = refill.array, refill.stmts[0].label
        out = Array(self.info.names.fresh(f"{array.name}_then"), array.dtype, array.dims)
        own: dict[Var, Var] = {}
        for stmt in statements(refill.stmts):
            if isinstance(stmt, For):
                own[stmt.index] = stmt.index
            elif isinstance(stmt, Assign):
                own[stmt.var] = Var(self.info.names.fresh(stmt.var.name), stmt.var.dtype)

        def again(expr: Expr, at: int) -> Expr:
            match expr:
                case Var():
                    return own[expr] if expr in own else self.read(expr, at)
                case Load(array=source):
                    index = tuple(again(part, at) for part in expr.index)
                    return Load(out if source.name == array.name else self.had_whole(expr, at), index)
            return rebuild(expr, tuple(again(part, at) for part in children(expr)))

        def redone(stmt: Stmt) -> tuple[Stmt, ...]:
            stmt = replace(map_expressions(stmt, lambda expr: again(expr, stmt.label)), label=-1)
            return (replace(stmt, array=out) if isinstance(stmt, Store) else stmt,)

        dims = tuple(again(dim, first) for dim in array.dims)
        stmts = rewrite_block(refill.stmts, redone)
        self.tops.setdefault(refill.place.block, []).extend((Alloc(out, dims, refill.start), *stmts))
        self.kept_arrays[array, refill.place] = out

    def had_whole(self, load: Load, at: int) -> Array:
        """An array that has the element, among all others of its kind."""
        array = load.array
        if not self.forward.element_is_valid(load, at):
            born = self.refills.born(array, at)
            assert born is not None
            if (array, born) in self.kept_arrays:
                return self.kept_arrays[array, born]
            if not self.forward.element_is_valid_within(load, at):
                return self.keep_array(array, born)
            self.give_rows(array)
        self.have_handle(array, at)
        return array

    def old_array(self, array: Array, at: int, key: tuple[int, int]) -> Array:
        """An array whose elements are those of `array` just before `at`."""
        if self.forward.array_is_valid(array, at):
            self.have_handle(array, at)
            return array
        born = self.refills.born(array, at)
        again = self.filled_again(array, born)
        if again is not None:
            return again
        if self.forward.array_is_valid_within(array, at):
            self.give_rows(array)
            self.have_handle(array, at)
            return array
        return self.keep_array(array, self.place_to_keep(array, born, at))

    def place_to_keep(self, array: Array, born: Place | None, at: int) -> Place:
        """Where the array has what it has just before `at`: for all that read it there, the place is one."""
        here = self.forward.block_of(at)
        is_view = array.name != self.forward.root(array)
        if born is not None and born.block == here and not is_view and array.name not in self.forward.growing:
            return born
        return Place(here, None if at == END else -at)

    def have_handle(self, array: Array, at: int) -> None:
        """A view that was made inside a loop is made again in the sweep."""
        made = self.forward.view_of(array)
        if made is None:
            return
        view, key = made
        split = self.info.kind in ("forward", "pullback", "callee")  # memory is handed on, views are made again
        if not (split or self.forward.loops_around(key)) or (array.name, key) in self.rebuilt:
            return
        self.rebuilt.add((array.name, key))
        self.have_handle(view.base, view.label)
        again = map_expressions(replace(view, label=-1), lambda e: self.read(e, view.label))
        self.tops.setdefault(key, []).append(again)

    # ------------------------------------------------------------------------------------------------- names

    def final_names(self) -> dict[str, str]:
        """One old version alone takes the variable's own name; several are numbered."""
        by_name: dict[str, list[Var]] = {}
        for version, var in self.versions.items():
            by_name.setdefault(version.var.name, []).append(var)
        names: dict[str, str] = {}
        for name, versions in by_name.items():
            for number, var in enumerate(versions):
                own = number == 0 and name not in self.plain_reads
                names[var.name] = name if own else self.info.names.fresh(name)
        return names | {held.name: self.info.names.fresh("t") for held in self.made_again}
