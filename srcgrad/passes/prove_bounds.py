"""Which accesses are inside their arrays whatever happens: proved, or checked once ahead of the loop.

    for i in range(n):             if n > w.shape[0]:
        s += w[i]            →         raise BoundsError(...)
                                   for i in range(n):
                                       s += w[i]           (needs no check, and no wrap of a negative index)

An access that is proved is compiled to a bare load or store: a check or a wrap in an inner loop stops vectorisation.
The check ahead of a loop fails exactly where one of its iterations would have, ahead of what these write; what can't be
told exactly stays checked where it stands (a gather, a branch, a `while` that does not count).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce

from ..analysis.known_here import (
    Fact,
    Loop,
    Scope,
    changed_by,
    is_all_known,
    known_of,
    known_where,
    loop_of,
    made_by,
    names_in,
    noted_in,
    own_dims,
    to_the_end,
    view_dims,
)
from ..analysis.lengths import Lengths, lengths_of
from ..errors import place
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Load, Var, both, either
from ..ir.naturals import bound_of_parts, has_products, proved_by_bounds
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    For,
    Function,
    Grow,
    If,
    Invoke,
    Pop,
    Raise,
    Stmt,
    Store,
    View,
    While,
)
from ..ir.products import multiplied_out
from ..ir.walk import (
    blocks,
    children,
    expressions,
    loads,
    map_expressions,
    rebuild,
    statements,
    substitute,
    targets,
    variables,
    with_blocks,
    with_fields,
)


def prove_bounds(function: Function, quiet: frozenset[str] = frozenset()) -> Function:
    """The function with `checked=False` on every access that is proved inside.

    `quiet`: functions that print nothing, and raise nothing of the user's.
    """
    return _proved(function, function.info.boundscheck, _Prover, quiet)


def proved_where_they_are(function: Function) -> Function:
    """The same, with no check ahead of any loop: nothing is said of an access that the program does not make."""
    return _proved(function, True, _NoGuards, frozenset())


def _proved(function: Function, check: bool, kind: type[_Prover], quiet: frozenset[str]) -> Function:
    own = {p.name for p in function.params}
    shapes = {
        p.name: p.dims if all(names_in(dim) <= own for dim in p.dims) else own_dims(p)
        for p in function.params
        if isinstance(p, Array)
    }
    naturals, contents = _naturals(function, shapes)
    prover = kind(check, naturals, lengths_of(function), quiet=quiet)
    prover.contents = contents
    return replace(function, body=prover.block(function.body, Scope.at_entry(shapes)))


def _naturals(function: Function, shapes: dict[str, tuple[Expr, ...]]) -> tuple[set[str], dict[str, Expr]]:
    """Integer variables, and arrays made here, that are never given a negative value: the largest such set.

    And arrays of remainders, with the remainder.
    """
    found = {v.name for s in statements(function.body) for v in made_by(s) if v.dtype == INT64}
    found |= {s.array.name for s in statements(function.body) if isinstance(s, Alloc) and s.array.dtype == INT64}
    found -= {p.name for p in function.params}
    found -= {s.index.name for s in statements(function.body) if isinstance(s, For)}  # (its bounds say more)
    if not found:
        return set(), {}
    lengths = lengths_of(function)
    while True:
        learner = _Prover(False, found, lengths, learning=True)
        learner.block(function.body, Scope.at_entry(shapes))
        if not learner.refuted & found:
            made = {s.array.name for s in statements(function.body) if isinstance(s, Alloc) and s.fill is None}
            return found, {k: v for k, v in learner.contents.items() if k in made and isinstance(v, Call)}
        found = found - learner.refuted


class _Prover:
    def __init__(
        self,
        check: bool,
        naturals: set[str],
        lengths: Lengths,
        learning: bool = False,
        quiet: frozenset[str] = frozenset(),
    ) -> None:
        self.lengths = lengths
        self.check, self.naturals, self.learning, self.quiet = check, naturals, learning, quiet
        self.refuted: set[str] = set()
        self.contents: dict[str, Expr] = {}  # what is in arrays that are made here and filled in one place
        self.contents_of_now = object()  # another one whenever they change

    # ----------------------------------------------------------------------------------------------- walking

    def block(self, block: Block, scope: Scope) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            out += self.statement(stmt, scope)
            if isinstance(stmt, If) or (isinstance(stmt, Assign) and isinstance(stmt.value, Dim)):
                scope.equal.learn(stmt, self.lengths)
        return tuple(out)

    def statement(self, stmt: Stmt, scope: Scope) -> list[Stmt]:
        if isinstance(stmt, For):
            return self.loop(stmt, scope)
        if isinstance(stmt, If):
            return [self.branch(self.proved(stmt, scope), scope)]  # type: ignore[arg-type]
        if blocks(stmt):
            changed = changed_by(stmt)
            scope.forget(changed)
            scope.forget_arrays(stmt)
            stmt = self.proved(stmt, scope.copy(ahead=len(scope.loops)))
            inside = scope.copy(ahead=len(scope.loops))
            if isinstance(stmt, While):
                inside.hold(((), e) for e in known_of(stmt.condition, True))
                return [with_fields(stmt, {"body": self.block(stmt.body, inside)})]
            return [with_blocks(stmt, tuple(self.block(b, inside.copy()) for b in blocks(stmt)))]
        stmt = self.proved(stmt, scope)
        scope.forget(set(made_by(stmt)))
        match stmt:
            case Assign(var=var, value=value) if var.dtype == INT64:
                if var not in variables(value) and all(x.array.name in self.contents for x in loads(value)):
                    scope.is_now(var, value)
            case Alloc(array=array, dims=dims) | Pop(target=Array() as array, dims=dims):
                scope.has_shape(array.name, dims)
            case Grow(array=array):
                scope.shapes.pop(array.name, None)
            case Invoke(outs=outs):
                for out in outs:
                    if isinstance(out, Array):
                        scope.has_shape(out.name, out.dims)
            case View(array=array, base=base, how=how):
                lengths = view_dims(how, scope.shapes.get(base.name))
                scope.shapes.pop(array.name, None)
                if lengths is not None:
                    scope.has_shape(array.name, lengths)
        return [stmt]

    def loop(self, stmt: For, scope: Scope) -> list[Stmt]:
        stmt = to_the_end(self.proved(stmt, scope))  # type: ignore[arg-type]
        loop = loop_of(stmt, self.quiet)
        noted = [(var, scope.values[var]) for var in noted_in(stmt) if var in scope.values]
        scope.forget(loop.changed)
        scope.forget_arrays(stmt)
        loop.ahead = scope.copy()
        inner = scope.copy(loops=(*scope.loops, loop), equal=scope.equal.within(stmt))
        body = self.block(stmt.body, inner)
        if not loop.guards:
            self.note_ranges(loop, noted, scope)
            return [with_fields(stmt, {"body": body})]
        scope.hold((conditions, lead) for conditions, lead, _ in loop.guards)
        if any(map(_is_checked, statements(body))):  # what is checked ahead for one may hold for an earlier one
            body = self.block(body, scope.copy(loops=(*scope.loops, loop), equal=scope.equal.within(stmt)))
        self.note_ranges(loop, noted, scope)
        return [_guard(loop, stmt), with_fields(stmt, {"body": body})]

    def note_ranges(self, loop: Loop, noted: Iterable[tuple[Var, Expr]], scope: Scope) -> None:
        """Behind the loop, what has noted an index of it is one, or what it was before."""
        at_most = lambda x, y: self.is_natural(affine.sub(y, x), scope)
        for var, before in noted:
            ends = before, loop.low, loop.high
            if any(variables(e) & loop.changed or loads(e) for e in ends):
                continue
            low = before if at_most(before, loop.low) else loop.low if at_most(loop.low, before) else None
            high = loop.high if at_most(before, loop.high) else before if at_most(loop.high, before) else None
            if low is not None and high is not None:
                scope.is_between(var, low, high)

    def branch(self, stmt: If, scope: Scope) -> Stmt:
        parts = []
        for number, body in enumerate((stmt.then, stmt.orelse)):
            inner = scope.copy(ahead=len(scope.loops))
            inner.hold(((), e) for e in known_of(stmt.condition, number == 0))
            inner.hold(((), e) for e in self.known_apart(stmt.condition, number == 0, scope))
            parts.append(self.block(body, inner))
        scope.forget(changed_by(stmt))
        scope.forget_arrays(stmt)
        if stmt.then and isinstance(stmt.then[-1], Raise):
            scope.hold(known_where(stmt.condition))
        return with_blocks(stmt, tuple(parts))

    def known_apart(self, condition: Expr, holds: bool, scope: Scope) -> Iterator[Expr]:
        """Of two that are not equal, of which one is at least the other, it is larger."""
        match condition:
            case Call(op=op, args=(x, y)) if op == ("ne" if holds else "eq") and x.dtype == y.dtype == INT64:
                lead = affine.sub(x, y)
                if not loads(condition) and self.is_natural(lead, scope):
                    yield affine.sub(lead, affine.ONE)

    # ---------------------------------------------------------------------------------------------- accesses

    def proved(self, stmt: Stmt, scope: Scope) -> Stmt:
        """The statement with every access that is safe marked so."""
        if self.learning:
            self.learn(stmt, scope)
            return stmt
        mark = lambda expr: self.marked(expr, scope) if loads(expr) else expr
        match stmt:
            case View():
                return stmt
            case Store(array=array, index=index, checked=checked):
                place = self.proved_place(Load(array, index, checked), scope)
                stmt = replace(stmt, checked=place.checked, natural=place.natural)
        return map_expressions(stmt, mark)

    def learn(self, stmt: Stmt, scope: Scope) -> None:
        """Strike out what this statement may make negative."""
        match stmt:
            case Assign(var=var, value=value) | AddTo(target=Var() as var, value=value):
                if var.dtype == INT64 and not self.is_natural(value, scope):
                    self.refuted.add(var.name)
            case Store(array=array, value=value) | AddTo(target=Load(array=array), value=value):
                self.note_contents(array, value, scope)
                if array.dtype == INT64 and not self.is_natural(value, scope):
                    self.refuted.add(array.name)
            case Alloc(array=array, fill=fill):
                if array.dtype == INT64 and fill is not None and not self.is_natural(fill, scope):
                    self.refuted.add(array.name)
            case For() | While():
                pass
            case View(array=array, base=base):
                self.refuted |= {array.name, base.name}
            case _:
                self.refuted |= {item.name for item in targets(stmt)}

    def note_contents(self, array: Array, value: Expr, scope: Scope) -> None:
        """Remainders that are kept in an array are as small when they are read again."""
        self.contents_of_now = object()
        value = scope.values.get(value, value)  # type: ignore[call-overload]
        small = isinstance(value, Call) and value.op == "mod" and not variables(value.args[1])
        if array.dtype == INT64 and small and array.name not in self.contents:
            self.contents[array.name] = value
        else:
            self.contents[array.name] = Const(-1, INT64)  # several values: nothing is known

    def is_natural_term(self, term: Expr) -> bool:
        match term:
            case Var(name=name) | Load(array=Array(name=name)) if name in self.naturals:
                return True
            case Call(op="minimum", args=(x, y)):
                return self.is_natural_sum(x) and self.is_natural_sum(y)
        return affine.is_at_least(term, 0)

    def is_natural_sum(self, expr: Expr) -> bool:
        terms, constant = affine.affine(expr)
        return constant >= 0 and all(c > 0 and self.is_natural_term(t) for t, c in terms)

    def marked(self, expr: Expr, scope: Scope) -> Expr:
        """An expression with its safe reads marked; what may not be evaluated at all is not checked ahead."""
        parts = children(expr)
        if parts:
            sure = 1 if isinstance(expr, Call) and expr.op in ("select", "and", "or") else len(parts)
            unsure = scope.copy(ahead=len(scope.loops)) if sure < len(parts) else scope
            marked = (self.marked(part, scope if k < sure else unsure) for k, part in enumerate(parts))
            expr = rebuild(expr, tuple(marked))
        return self.proved_place(expr, scope) if isinstance(expr, Load) else expr

    def proved_place(self, load: Load, scope: Scope) -> Load:
        if self.is_safe(load, scope):
            return Load(load.array, load.index, False, load.natural)
        natural = all(self.is_natural(index, scope) for index in load.index)
        return Load(load.array, load.index, load.checked, natural)

    def is_safe(self, load: Load, scope: Scope) -> bool:
        dims = scope.shapes.get(load.array.name)
        if dims is None or not load.index:
            return False
        return all(self.is_inside(index, dim, scope, ()) for index, dim in zip(load.index, dims, strict=True))

    def is_inside(self, index: Expr, dim: Expr, scope: Scope, given: tuple[Expr, ...]) -> bool:
        """Is 0 <= index < dim, wherever the expressions of `given` are not negative?"""
        match index:
            case Call(op="select", args=(condition, x, y)):
                for side, holds in ((y, False), (x, True)):
                    known = tuple(known_of(condition, holds))
                    here = scope if is_all_known(condition, holds) else scope.copy(ahead=len(scope.loops))
                    if not self.is_inside(side, dim, here, (*given, *known)):
                        return False
                return True
            case Var() if isinstance(chosen := scope.values.get(index), Call) and chosen.op == "select":
                if self.is_inside(chosen, dim, scope, given):
                    return True
        here = scope.copy() if given else scope
        here.hold(((), e) for e in given)
        if not self.is_natural(index, here):
            return False
        lead = affine.sub(affine.sub(dim, affine.ONE), index)
        return not self.check or self.is_natural(lead, here) or self.is_checked_ahead(index, dim, scope, given)

    def is_natural(self, expr: Expr, scope: Scope) -> bool:
        """Provably >= 0 here."""
        proofs = scope.proofs_with(self.contents_of_now)
        if expr not in proofs:
            proofs[expr] = self._is_natural(expr, scope)
        return proofs[expr]

    def _is_natural(self, expr: Expr, scope: Scope) -> bool:
        match expr:
            case Call(op="select", args=(_, x, y)) if expr.dtype == INT64:
                return self.is_natural(x, scope) and self.is_natural(y, scope)
        named = scope.equal.named(expr)
        if self.is_natural_sum(named) or self.is_proved(named, scope, scope.equal.named):
            return True
        # a product that is the length of an array by another name is one to multiply out by its own
        return expr != named and has_products(expr) and self.is_proved(expr, scope, lambda e: e)

    def is_proved(self, expr: Expr, scope: Scope, named: Callable[[Expr | None], Expr | None]) -> bool:
        loops = {loop.stmt.index: loop for loop in scope.loops}
        depth: dict[Expr, int] = {index: k for k, index in enumerate(reversed(loops))}  # the innermost loop first
        return proved_by_bounds(
            expr,
            lambda e: self.is_natural_sum(e) or self.follows_from_any(e, scope),
            lambda term, low: named(self.bound(term, low, loops, scope)),
            lambda term: -1 if term in scope.values or term in scope.ranges else depth.get(term, len(depth)),
        )

    def follows_from_any(self, expr: Expr, scope: Scope) -> bool:
        """Is the expression a fact, plus what is not negative?"""
        terms, facts = affine.affine(expr)[0], scope.facts_by_terms()
        natural = {term: self.is_natural_term(term) for term, _ in terms}
        in_the_way = [(term, count, natural[term]) for term, count in terms if count < 0 or not natural[term]]
        found = [facts.that_take_away(*one) for one in in_the_way] or [facts.with_no_more_than(terms)]
        return any(self.follows(expr, fact, scope) for fact in min(found, key=len))

    def follows(self, expr: Expr, fact: Fact, scope: Scope) -> bool:
        conditions, known = fact
        terms, constant = affine.lead(expr, known)
        if constant < 0 or not all(c > 0 and self.is_natural_term(t) for t, c in terms):
            return False
        return all(any(affine.same(c, loop.trips) for loop in scope.loops) for c in conditions)

    def bound(self, term: Expr, low: bool, loops: dict[Var, Loop], scope: Scope) -> Expr | None:
        match term:
            case Var() if term in loops:
                loop = loops[term]
                extreme = loop.low if low else loop.high
                return None if variables(extreme) & loop.changed else extreme
            case Var() if term in scope.values:
                return scope.values[term]
            case Var() if term in scope.ranges:
                return scope.ranges[term][0 if low else 1]
            case Call(op="mod", args=(_, Call(op="maximum", args=(n, Const(value=1))))) if self.is_natural(n, scope):
                return affine.ZERO if low else n  # where n is 0, so is the rest
            case Call(op="mod", args=(_, y)) if affine.is_at_least(y, 0):  # compiled, x % 0 is 0
                return affine.ZERO if low else affine.sub(y, affine.ONE) if self.is_positive(y, scope) else None
            case Call(op="wrap_low" | "wrap_high", args=(_, y)):
                return affine.ZERO if low else affine.sub(y, affine.ONE)
            case Load(array=Array(name=name)) if name in self.contents:
                return self.bound(self.contents[name], low, loops, scope)
        is_natural = lambda part: self.is_natural(part, scope)
        return bound_of_parts(term, low, is_natural, lambda part, low: self.bound(part, low, loops, scope))

    def is_positive(self, expr: Expr, scope: Scope) -> bool:
        """Provably >= 1 here: in a loop that makes so many trips it is."""
        trips = (loop.trips for loop in scope.loops if not variables(loop.trips) & loop.changed)
        known = lambda e: scope.equal.named(affine.normal(substitute(e, scope.values)))
        return any(self.is_natural_sum(affine.sub(known(expr), known(least))) for least in (affine.ONE, *trips))

    def is_checked_ahead(self, index: Expr, dim: Expr, scope: Scope, given: tuple[Expr, ...]) -> bool:
        """Have `index < dim` checked ahead of the outermost loop where that can be told exactly."""
        found = None
        conditions = [affine.add(e, affine.ONE) for e in given]  # the access happens where all are at least 1
        for var in sorted(variables(index), key=lambda v: v.name):
            made = scope.values.get(var)
            if made is not None and not isinstance(made, Dim) and all(var != loop.stmt.index for loop in scope.loops):
                index = substitute(index, {var: made})
        index = affine.normal(index)
        for loop in reversed(scope.loops[scope.ahead :]):
            var = loop.stmt.index
            if not (loop.exact and loop.silent) or (variables(loop.low) | variables(loop.high)) & loop.changed:
                break
            ways = [_way(e, var, lambda other: self.is_natural(other, scope)) for e in (index, *conditions)]
            if None in ways:
                break
            signs = {way > 0 for way in ways if way}
            if len(signs) > 1:
                break
            extreme = loop.low if signs == {False} else loop.high
            index = multiplied_out(affine.normal(substitute(index, {var: extreme})))
            conditions = [affine.normal(substitute(c, {var: extreme})) for c in conditions] + [loop.trips]
            if not any(variables(e) & loop.changed or loads(e) for e in (index, dim, *conditions)):
                ahead = loop.ahead  # (that the loop runs is not known there)
                wanted = tuple(c for c in conditions if not self.is_natural(affine.sub(c, affine.ONE), ahead))
                found = loop, wanted, index
        if found is None:
            return False
        loop, wanted, index = found
        lead = affine.sub(affine.sub(dim, affine.ONE), index)
        terms, constant = affine.affine(lead)
        if not terms and constant < 0:
            return False  # certain to fail: left where it stands
        # index >= dim >= 0 says already that a loop from 0 to index runs
        wanted = tuple(c for c in wanted if not affine.same(c, affine.add(index, affine.ONE)))
        if all(g[:2] != (wanted, lead) for g in loop.guards):
            loop.guards.append((wanted, lead, _violation(wanted, index, dim)))
        scope.hold([(wanted, lead)])
        return True


class _NoGuards(_Prover):
    def is_checked_ahead(self, index: Expr, dim: Expr, scope: Scope, given: tuple[Expr, ...]) -> bool:
        return False


# --------------------------------------------------------------------------------------------------------- details


def _way(expr: Expr, var: Var, is_natural: Callable[[Expr], bool]) -> int | None:
    """Which way an expression goes when a variable grows: up (1), down (-1), or nowhere (0); None: not known."""
    found = set()
    for term, count in affine.affine(expr)[0]:
        way: int | None = int(term == var)
        if term != var and var in variables(term):
            match term:
                case Call(op="mul", args=(x, y)) if var not in variables(y) and is_natural(y):
                    way = _way(x, var, is_natural)
                case Call(op="mul", args=(x, y)) if var not in variables(x) and is_natural(x):
                    way = _way(y, var, is_natural)
                case _:
                    way = None
        if way is None:
            return None
        found |= {way * (1 if count > 0 else -1)} - {0}
    return None if len(found) > 1 else next(iter(found), 0)


def _violation(conditions: tuple[Expr, ...], index: Expr, dim: Expr) -> Expr:
    terms, constant = affine.affine(index)
    out: Expr = Call("ge", (index, dim), BOOL)
    if constant == -1:  # n - 1 >= dim reads n > dim
        out = Call("gt", (affine.from_affine(terms, 0), dim), BOOL)
    for condition in reversed(conditions):
        terms, constant = affine.affine(condition)
        runs = Call("gt", (affine.from_affine(terms, 0), affine.integer(-constant)), BOOL)
        out = both(runs, out)
    return out


def _is_checked(stmt: Stmt) -> bool:
    places = [place for expr in expressions(stmt) for place in loads(expr)]
    if isinstance(stmt, AddTo) and isinstance(stmt.target, Load):
        places.append(stmt.target)
    return (isinstance(stmt, Store) and stmt.checked) or any(place.checked for place in places)


def _guard(loop: Loop, stmt: For) -> Stmt:
    condition = reduce(either, (guard[2] for guard in loop.guards))
    message = "an index in the loop is out of bounds" + place(stmt.span)
    return If(condition, (Raise("BoundsError", message),), span=stmt.span)
