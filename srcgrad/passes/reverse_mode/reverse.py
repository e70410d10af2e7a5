"""The reverse sweep, statement by statement, on memory with shadows.

A scalar `s` has the adjoint variable `s_b`, an array `A` the shadow `A_b`.  Wherever the sweep reads a primal value, it
reads `Old(value, at=statement)`: what it was just before that forward statement.  How that value is had is the matter
of `keep`.

    y = x * w      →      x_b += old(w) * y_b
                          w_b += old(x) * y_b

    A[i] = e       →      t = A_b[i]; A_b[i] = 0; (adjoint of e with t)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...analysis.labelled import END
from ...analysis.roughness import CHOOSE, EVERY, levels_at_labels
from ...analysis.scopes import Scopes, first_writes_of, with_steady_matrices
from ...analysis.signs import signs_of
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Cotangent, Dim, Expr, Load, Old, OldArray, Var
from ...ir.nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    Conform,
    CopyTo,
    For,
    Function,
    If,
    Invoke,
    Library,
    Pick,
    Raise,
    Reshape,
    Rule,
    Run,
    Split,
    Spread,
    Stmt,
    Store,
    Subscript,
    Swap,
    Sweep,
    View,
    While,
    leaves,
)
from ...ir.rename import rename_arrays
from ...ir.walk import (
    blocks,
    loads,
    made_for,
    map_expressions,
    rewrite,
    rewrite_block,
    statements,
    targets,
    variables,
    with_blocks,
    with_fields,
)
from ...rules.array import ADJOINTS, ADJOINTS_OF_STEADY_MATRICES, GRAMS, TOGETHER, Result
from .cotangents import Cotangents, zero
from .invoke import adjoint_of_call, is_differentiated
from .vjp import adjoint_by_vjp, is_users

FEW = 16  # columns, with which two products take no longer than to add a matrix to its transpose


def reverse(function: Function) -> Function:
    """The forward part, labelled, and after it the sweep."""
    return _Reverse(function).run()


class _Reverse(Cotangents):
    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.function = function
        self.count = 0
        self.by_rule: set[int] = set()  # statements whose adjoint comes with their rule

    # -------------------------------------------------------------------------------------------- whole

    def run(self) -> Function:
        body = self.label(self.function.body)
        scopes = Scopes(body, self.function)
        self.scopes, self.single = scopes.declared, scopes.single
        self.home, self.block_of, self.after = scopes.home, scopes.block_of, scopes.after
        self.first_values, self.indices_around = scopes.first_values, scopes.indices_around
        self.steady = with_steady_matrices(body, self.roots)
        if not self.has_calls:
            self.levels = levels_at_labels(body, self.roots, self.info.wrt, END)
        self.first_writes = first_writes_of(body, self.roots, signs_of(self.function))
        sweep = [*self.shadows_of_parameters(), *self.begin_block(body, -1, 0), *self.seeds()]
        sweep += [s for stmt in reversed(body) for s in self.adjoint_of(stmt)]
        sweep_body, results, params = self.finish(tuple(self.seeded_directly(sweep, body)))
        return replace(
            self.function,
            params=params,
            body=(*body, Sweep(sweep_body)),
            results=results,
            info=replace(self.info, outputs=self.function.results),
        )

    def label(self, block: Block) -> Block:
        """Number the statements; open up rules; count the trips of `while` loops."""
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Rule):
                opened = self.label(stmt.forward)
                self.by_rule |= {inner.label for inner in statements(opened)}
                out += opened
                out.append(replace(stmt, forward=(), label=self.next_label()))
                continue
            inner = tuple(self.label(part) for part in blocks(stmt))
            labelled: Stmt = with_fields(stmt, {"label": self.next_label()})
            out.append(with_blocks(labelled, inner) if inner else labelled)
            if isinstance(stmt, Invoke) and is_differentiated(self, stmt):
                out[-1] = replace(labelled, half="forward")  # type: ignore[call-arg]
            if isinstance(stmt, (While, Invoke, Library)):
                out.append(Comment("", label=self.next_label()))  # here `trip` is the count, and arrays are written
        return tuple(out)

    def next_label(self) -> int:
        self.count += 1
        return self.count

    def shadows_of_parameters(self) -> list[Stmt]:
        out: list[Stmt] = []
        handed_in = {shadow.name for shadow in self.info.shadows}
        for param in self.function.params:
            if isinstance(param, Array) and self.is_active(param) and f"{param.name}_b" not in handed_in:
                out.append(Alloc(self.shadow(param), param.dims, zero(param.dtype)))
            elif isinstance(param, Var) and self.is_active(param):
                out.append(Assign(self.adjoint(param), zero(param.dtype)))
        return out

    def begin_block(self, block: Block, owner: int, branch: int) -> list[Stmt]:
        """Adjoints of what lives in this block start from zero; shadows of views are views of shadows."""
        out: list[Stmt] = []
        for var in self.scopes.get((owner, branch), ()):
            if self.is_active(var):
                out.append(Assign(self.adjoint(var), zero(var.dtype)))
        allocated = set()
        for stmt in block:
            match stmt:
                case Alloc(array=array, dims=dims) if self.is_active(array) and self.home[array.name] == (
                    owner,
                    branch,
                ):
                    if array.name in allocated:
                        continue
                    old = tuple(
                        own if own == Dim(array.name, k) else self.old(dim, stmt.label)  # where it grows: as it is now
                        for k, (own, dim) in enumerate(zip(array.dims, dims, strict=True))
                    )
                    out.append(Alloc(self.shadow(array), old, zero(array.dtype)))
                    allocated.add(array.name)
                case Invoke(outs=outs):
                    for made in outs:
                        if isinstance(made, Array) and self.is_active(made) and made.name not in allocated:
                            if self.home[made.name] == (owner, branch):
                                old = tuple(self.old(dim, stmt.label + 1) for dim in made.dims)
                                out.append(Alloc(self.shadow(made), old, zero(made.dtype)))
                                allocated.add(made.name)
                case View(array=array, base=base, how=how) if self.is_active(array):
                    out.append(View(self.shadow(array), self.shadow(base), self.old_how(how, stmt.label)))
                case If():  # an array that both branches make lives here
                    out += self.made_in_branches(stmt, allocated)
        return out

    def made_in_branches(self, stmt: If, allocated: set[str]) -> list[Stmt]:
        """Shadows of arrays made in a branch and used after it."""
        out: list[Stmt] = []
        for inner in statements((*stmt.then, *stmt.orelse)):
            for array in _made_by(inner):
                if self.is_active(array) and array.name not in allocated:
                    if self.home[array.name] == self.block_of[stmt.label]:
                        after = self.after.get(stmt.label, END)
                        old = tuple(self.old(dim, after) for dim in array.dims)
                        out.append(Alloc(self.shadow(array), old, zero(array.dtype)))
                        allocated.add(array.name)
        return out

    # -------------------------------------------------------------------------------------------- ends

    def seeds(self) -> list[Stmt]:
        out: list[Stmt] = []
        seeds = iter(self.info.seeds or ())
        self.seed_arrays: list[tuple[Array, Array, Stmt]] = []
        for leaf in leaves(self.function.results):
            seed = next(seeds, None)
            if isinstance(leaf, Array):
                if self.is_active(leaf):
                    assert isinstance(seed, Array), (leaf, seed)
                    adding = self.seed_array(leaf, seed)
                    self.seed_arrays.append((leaf, seed, adding))
                    out.append(adding)
            elif isinstance(leaf, Expr) and self.depends(leaf):
                value: Expr = seed if isinstance(seed, Var) else Const(1.0, leaf.dtype)
                out += self.spread(leaf, value, END, clean=EVERY)
        return out

    def seed_array(self, leaf: Array, seed: Array) -> Stmt:
        indices = self.info.names.free_indices(leaf.ndim, frozenset())
        body: Block = (AddTo(Load(self.shadow(leaf), indices), Load(seed, indices), reorder=True),)
        for index, dim in reversed(list(zip(indices, leaf.dims, strict=False))):
            body = (For(index, affine.ZERO, self.old(dim, END), affine.ONE, body, False),)
        return body[0]

    def seeded_directly(self, sweep: list[Stmt], body: Block) -> list[Stmt]:
        """v itself is the shadow of a fresh result that the sweep only reads; else the shadow starts as a copy of v."""
        made = {s.array.name for s in body if isinstance(s, Alloc)}
        arrays = [leaf for leaf in leaves(self.function.results) if isinstance(leaf, Array)]
        for leaf, seed, adding in self.seed_arrays:
            if leaf.name not in made or arrays.count(leaf) > 1:
                continue
            shadow = self.shadow(leaf)
            views = {
                s.array.name for s in sweep if isinstance(s, View) and self.roots.get(s.base.name[:-2]) == leaf.name
            }
            start = next(k for k, s in enumerate(sweep) if isinstance(s, Alloc) and s.array == shadow)
            rest = [s for k, s in enumerate(sweep) if k != start and s is not adding]
            written_to = {w.name for s in statements(tuple(rest)) for w in targets(s)}
            if any(isinstance(s, View) and s.base == shadow for s in statements(tuple(rest))) or views:
                continue
            if shadow.name in written_to:
                at = next(k for k, s in enumerate(sweep) if s is adding)
                sweep[at] = CopyTo(shadow, seed)
                sweep[start] = replace(sweep[start], fill=None)  # type: ignore[call-arg]
                sweep.insert(at - 1, sweep.pop(start)) if at - 1 > start else None
            else:
                sweep = [rename_arrays(s, {shadow.name: seed}) for s in rest]
        return sweep

    def finish(self, sweep: Block) -> tuple[Block, Any, tuple[Any, ...]]:
        """What is handed back: the cotangents of `wrt`."""
        made: list[Stmt] = []
        cotangents: list[Array | Expr] = []
        by_name = {p.name: p for p in self.function.params}
        for name in self.info.wrt:
            param = by_name[name]
            if isinstance(param, Array):
                if not self.is_active(param):
                    made.append(Alloc(self.shadow(param), param.dims, zero(param.dtype)))
                cotangents.append(self.shadow(param))
            else:
                assert isinstance(param, Var), param
                cotangents.append(self.adjoint(param) if self.is_active(param) else zero(param.dtype))
        return (*made, *sweep), tuple(cotangents), self.function.params

    # --------------------------------------------------------------------------------------- statements

    def adjoint_of(self, stmt: Stmt) -> list[Stmt]:
        return made_for(stmt, self._adjoint_of(stmt))

    def _adjoint_of(self, stmt: Stmt) -> list[Stmt]:
        at = stmt.label
        if at in self.by_rule:
            return []
        match stmt:
            case Assign(var=var, value=value) if self.is_active(var):
                return self.assign(var, value, at)
            case AddTo(target=Var() as var, value=value) if self.is_active(var):
                return self.accumulate(self.adjoint(var), var.name, value, at)
            case AddTo(target=Load(array=array, index=index), value=value) if self.is_active(array):
                place = Load(self.shadow(array), tuple(self.old(i, at) for i in index))
                return self.accumulate(place, self.root(array), value, at)
            case Store(array=array, index=index, value=value) if self.is_active(array):
                return self.store(stmt, array, index, value)
            case CopyTo(target=target, source=source) if self.is_active(target):
                return self.copy(target, source, at)
            case Swap(left=left, right=right) if self.is_active(left):
                return [Swap(self.shadow(left), self.shadow(right))]
            case View(array=array, base=base, how=Conform()) if self.is_active(array):
                return [Absorb(self.shadow(base), self.shadow(array))]
            case For():
                return self.loop(stmt)
            case While():
                return self.while_loop(stmt)
            case If(condition=condition):
                then = self.block(stmt.then, stmt.label, 0)
                orelse = self.block(stmt.orelse, stmt.label, 1)
                if not then and not orelse:
                    return []
                return [If(self.old(condition, at), tuple(then), tuple(orelse), label=at)]
            case Library(out=out) if is_users(stmt):
                return adjoint_by_vjp(self, stmt) if self.is_active(out) else []
            case Library():
                return self.library(stmt)
            case Invoke(half="forward"):
                return adjoint_of_call(self, stmt)
            case Rule(outputs=outputs) if any(self.is_active(o) for o in outputs):
                return self.rule(stmt)
        return []

    def block(self, body: Block, owner: int, branch: int) -> list[Stmt]:
        if any(isinstance(stmt, Raise) for stmt in body):  # nothing comes after it, so neither does a sweep back
            return []
        inner = [s for stmt in reversed(body) for s in self.adjoint_of(stmt)]
        return [*self.begin_block(body, owner, branch), *inner] if inner else []

    def assign(self, var: Var, value: Expr, at: int) -> list[Stmt]:
        g: Expr = self.adjoint(var)
        if self.single.get(var.name) == 1 or at in self.first_values:
            return self.spread(value, g, at, self.clean(var.name), chosen=self.chosen(var.name, value, at))
        if not self.depends(value):
            return [Assign(g, zero(var.dtype))]  # type: ignore[arg-type]
        held = self.fresh(f"{var.name}_b_now", var.dtype)
        taken = [Assign(held, g), Assign(g, zero(var.dtype))]  # type: ignore[arg-type]
        return [*taken, *self.spread(value, held, at, self.clean(var.name), chosen=self.chosen(var.name, value, at))]

    def accumulate(self, place: Var | Load, root: str, value: Expr, at: int) -> list[Stmt]:
        if not self.depends(value):
            return []
        g: Expr = place
        out: list[Stmt] = []
        if isinstance(place, Load) or root in self.read_roots(value):
            g = self.fresh("g", place.dtype)
            out.append(Assign(g, place))
        return out + self.spread(value, g, at, self.clean(root))

    def read_roots(self, value: Expr) -> set[str]:
        return {v.name for v in variables(value)} | {self.root(x.array) for x in loads(value)}

    def store(self, stmt: Stmt, array: Array, index: tuple[Expr, ...], value: Expr) -> list[Stmt]:
        at = stmt.label
        place = Load(self.shadow(array), tuple(self.old(i, at) for i in index))
        restart = Store(place.array, place.index, zero(array.dtype))
        if stmt.label in self.first_writes:
            restart = None  # type: ignore[assignment]
        if not self.depends(value):
            return [restart] if restart else []
        held = self.fresh("g", array.dtype)
        out: list[Stmt] = [Assign(held, place)]
        if restart:
            out.append(restart)
        root = self.root(array)
        return out + self.spread(value, held, at, self.clean(root), chosen=self.chosen(root, value, at))

    def copy(self, target: Array, source: Array, at: int) -> list[Stmt]:
        indices = self.info.names.free_indices(target.ndim, self.indices_around.get(at, frozenset()))
        place = Load(self.shadow(target), indices)
        body: Block = (Store(place.array, indices, zero(target.dtype)),)
        if self.is_active(source):
            adding = AddTo(Load(self.shadow(source), indices), place, reorder=True)
            body = (adding,) if at in self.first_writes else (adding, *body)
        elif at in self.first_writes:
            return []
        for index, dim in reversed(list(zip(indices, target.dims, strict=False))):
            body = (For(index, affine.ZERO, self.old(dim, at), affine.ONE, body, False),)
        return list(body)

    def loop(self, stmt: For) -> list[Stmt]:
        body = tuple(self.block(stmt.body, stmt.label, 0))
        if not body:
            return []
        start, stop, step = (self.old(e, stmt.label) for e in (stmt.start, stmt.stop, stmt.step))
        if stmt.ordered:
            start, stop, step = backwards(stmt, lambda e: self.old(e, stmt.label))
        return [For(stmt.index, start, stop, step, body, stmt.ordered, span=stmt.span, label=stmt.label)]

    def while_loop(self, stmt: While) -> list[Stmt]:
        body = tuple(self.block(stmt.body, stmt.label, 0))
        if not body:
            return []
        last = Call("sub", (Old(stmt.trip, stmt.label + 1), affine.ONE), INT64)
        return [For(stmt.trip, last, affine.integer(-1), affine.integer(-1), body, True, label=stmt.label)]

    def library(self, stmt: Library) -> list[Stmt]:
        at, args, outs = stmt.label, stmt.args, stmt.outs
        if stmt.draws or not any(map(self.is_active, outs)):
            return []
        done: list[Library] = []
        adjoint = ADJOINTS[stmt.routine]
        if at in self.steady:
            adjoint = ADJOINTS_OF_STEADY_MATRICES.get(stmt.routine, adjoint)
        for term in adjoint(*args):
            to, out = args[term.to], outs[term.of]
            if isinstance(to, Array) and self.is_active(to) and self.is_active(out):
                operands = tuple(self.operand(stmt, out, k, at) for k in term.operands)
                done.append(Library(term.routine, self.shadow(to), operands, span=stmt.span))
        if stmt.routine in GRAMS and args[0] == args[1] and outs[0].ndim == 2:
            return self.gram(stmt, done)
        both = TOGETHER.get(tuple(each.routine for each in done))
        return [replace(done[0], routine=both, others=(done[1].out,))] if both else [*done]

    def gram(self, stmt: Library, products: Sequence[Stmt]) -> list[Stmt]:
        """x @ x.T: the transpose of the one term is the other, so one product will do, but for a few columns."""
        at, out, term = stmt.label, stmt.outs[0], GRAMS[stmt.routine]
        matrix: Array = stmt.args[0]  # type: ignore[assignment]
        summed = self.old(matrix.dims[1 if stmt.routine == "matmul_nt" else 0], at)
        if isinstance(summed, Const) and summed.value < FEW:
            return [*products]
        shadow, length = self.shadow(out), self.old(out.dims[0], at)
        both = Array(self.info.names.fresh("both"), out.dtype, (length, length))
        i, j = self.info.names.free_indices(2, self.indices_around.get(at, frozenset()))
        body: Stmt = Store(both, (i, j), Load(shadow, (i, j)) + Load(shadow, (j, i)))
        for index in (j, i):
            body = For(index, affine.ZERO, length, affine.ONE, (body,), False)
        operands = tuple(both if k == "out" else self.operand(stmt, out, k, at) for k in term.operands)
        one = Library(term.routine, self.shadow(matrix), operands, span=stmt.span)
        made: Block = (Alloc(both, both.dims), body, one)
        many = Call("ge", (summed, affine.integer(FEW)), BOOL)
        return [*made] if isinstance(summed, Const) else [If(many, made, tuple(products))]

    def operand(self, stmt: Library, out: Array, which: int | str | Result, at: int) -> Any:
        match which:
            case "out":
                return self.shadow(out)
            case Result(number=number):
                return OldArray(stmt.outs[number], at + 1)  # as they are after the statement
            case int():
                arg = stmt.args[which]
                return OldArray(arg, at) if isinstance(arg, Array) else self.old(arg, at)  # type: ignore[arg-type]
        raise AssertionError(which)

    def rule(self, stmt: Rule) -> list[Stmt]:
        """The adjoint that came with the rule; what it does not make itself is read as it was then."""
        own: set[str] = {w.name for s in statements(stmt.adjoint) for w in targets(s)}

        def translate(expr: Expr) -> Expr:
            """Cotangents by their names; reads of what the forward part made are old, as small as can be."""
            match expr:
                case Cotangent(of=Var() as var):
                    return self.adjoint(var)
                case Cotangent(of=Load(array=array, index=index)):
                    return Load(self.shadow(array), index)
            return self.as_it_was(expr, stmt.label, own)

        def change(inner: Stmt) -> tuple[Stmt, ...]:
            if isinstance(inner, Spread):
                g = rewrite(inner.value, translate)
                held = self.fresh("g", g.dtype)
                return (Assign(held, g), *self.spread(inner.expr, held, stmt.label, self.rule_is_clean(stmt), own))
            return (map_expressions(inner, lambda e: rewrite(e, translate)),)

        return list(rewrite_block(stmt.adjoint, change))

    def rule_is_clean(self, stmt: Rule) -> int:
        clean = EVERY if stmt.name in CHOOSE else 0
        for out in stmt.outputs:
            clean &= self.clean(self.root_of(out))
        return clean

    # ------------------------------------------------------------------------------------------ details

    def old_how(self, how: Any, at: int) -> Any:
        match how:
            case Subscript(items=items):
                return Subscript(tuple(self.old_item(item, at) for item in items))
            case Reshape(dims=dims):
                return Reshape(tuple(self.old(d, at) for d in dims))
            case Split(axis=axis, dims=dims):
                return Split(axis, tuple(self.old(d, at) for d in dims))
            case Conform(dims=dims):
                return Conform(tuple(self.old(d, at) for d in dims), zeros=True)
        return how

    def old_item(self, item: Any, at: int) -> Any:
        match item:
            case Pick(index=index):
                return Pick(self.old(index, at))
            case Run(start=start, step=step, length=length):
                return Run(self.old(start, at), self.old(step, at), self.old(length, at), item.whole)
        return item


# ------------------------------------------------------------------------------------------------------ analysis


def _made_by(stmt: Stmt) -> tuple[Array, ...]:
    if isinstance(stmt, Invoke):
        return tuple(out for out in stmt.outs if isinstance(out, Array))
    return (stmt.array,) if isinstance(stmt, Alloc) else ()


def backwards(stmt: For, old: Any) -> tuple[Expr, Expr, Expr]:
    """The range of a loop the other way round; `old` is done to each part."""
    step = stmt.step
    if isinstance(step, Const) and abs(step.value) == 1:
        first = affine.sub(stmt.stop, step)
        return old(first), old(affine.sub(stmt.start, step)), affine.integer(-step.value)
    trips = Call("trip_count", (stmt.start, stmt.stop, step), INT64)
    last = Call("add", (stmt.start, Call("mul", (Call("sub", (trips, affine.ONE), INT64), step), INT64)), INT64)
    return old(last), old(affine.sub(stmt.start, step)), old(affine.mul(affine.integer(-1), step))
