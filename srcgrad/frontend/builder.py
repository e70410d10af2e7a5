"""Appends IR: statements with their place in the user's file, fresh names, allocations, views and copies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ..errors import SrcgradError, UnsupportedError, place
from ..ir import affine
from ..ir.expressions import BOOL, INT64, Array, Axis, Call, Const, Dim, Expr, Load, Span, Var
from ..ir.names import Names
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    CopyTo,
    ForEach,
    If,
    NewAxis,
    Pick,
    Raise,
    Reshape,
    Run,
    Stmt,
    Store,
    Subscript,
    Transpose,
    View,
)
from ..ir.walk import loads, subexpressions, targets, variables, with_fields
from .item_fields_known import ItemFields
from .joined_numbers import ItemTypes, TypesOf, source_of, types_of
from .reduced_before import ReducedBefore
from .types import ScalarType
from .values import ArrayValue, follows_order, has_whole_rows, is_unusable, run_of, whole


class WrittenAfterAll(Exception):
    """An argument was taken for one that is never written: interpret again, knowing better."""

    def __init__(self, name: str) -> None:
        self.name = name


PLAIN_HELP = "write it with NumPy expressions, loops and branches, or keep it out of the differentiated function"


REMEMBERED = (
    "block", "mutable", "pinned", "contiguous", "roots", "stale", "lower", "upper", "depth", "written",
    "changed_in_loop", "common_lengths", "length_parts", "compatible", "checked_lengths", "conformed", "turned",
    "transposed", "rows_of_one", "in_items", "in_unnamed", "parted", "changes", "types", "item_types", "made_in",
    "rows_of_arrays",
)  # fmt: skip


class Builder:
    def __init__(self) -> None:
        self.names = Names()
        self.block: list[Stmt] = []
        self.span: Span | None = None
        self.mutable: set[Var] = set()  # assigned more than once: read them now or copy them
        self.pinned: set[Var] = set()  # part of a shape or a view: must never be assigned again
        self.contiguous: set[str] = set()  # handles in C order
        self.rows_of_one: set[str] = set()  # memory of lists, of which Python may hold several items as one array
        self.in_items: set[str] = set()  # memory of arrays in tuples and objects in lists, and copies of it
        self.fields = ItemFields()
        self.in_unnamed: set[str] = set()  # memory of the items of lists that comprehensions make
        self.roots: dict[str, str] = {}  # handle → the memory that it is a view of
        self.twins: dict[str, set[str]] = {}  # memory that Python might hold one for the other
        self.parted: dict[frozenset[str], int] = {}  # twins that a check tells apart, if it has to be made: its label
        self.wanted_checks: set[int] = set()
        self.checks_made = 0
        self.makes_checks = False  # of that kind
        self.stale: dict[str, Span | None] = {}
        self.lower: dict[Expr, int] = {}  # the least value of loop indices
        self.upper: dict[Expr, Expr] = {}  # the greatest
        self.arguments_are_shared = True  # with the caller, who sees what is written to them
        self.uncertain: set[str] = set()  # memory that in Python may be in another order than C
        self.turned: set[str] = set()  # handles with their axes in another order than their memory has them
        self.transposed: dict[str, tuple[Array, tuple[int, ...]]] = {}  # handles → what they are a transpose of
        self.in_composition = False  # is a function of NumPy's interpreted?
        self.other_layouts: set[str] = set()  # arguments in another order than C
        self.depth = 0  # of loops and branches
        self.parameters: set[str] = set()  # arrays that are handed in
        self.prologue: list[Stmt] = []  # what needs nothing but the arguments, ahead of everything
        self.known_at_entry: set[Var] = set()
        self.never_early: frozenset[str] = frozenset()  # arguments that turned out to be written
        self.written: set[str] = set()
        self.changes: dict[str, int] = {}  # how often memory was written, and variables
        self.changed_in_loop: set[str] = set()  # of these, by the innermost loop
        self.common_lengths: dict[frozenset[Expr], Var] = {}  # by the lengths that were broadcast together
        self.length_parts: dict[Expr, frozenset[Expr]] = {}
        self.compatible: set[frozenset[Expr]] = set()  # lengths found to fit on the way here
        self.checked_lengths: set[frozenset[Expr]] = set()  # lengths found equal at the top level
        self.wraps = False  # arrays are rolled by reading around their ends
        self.stretch = False  # see `pipeline.Options`
        self.again = False  # see `pipeline.Options`
        self.equal_lengths = False  # lengths were taken to be equal
        self.cut = True  # see `pipeline.Options`
        self.whole: dict[Expr, list[Expr]] = {}  # lengths → what they are at least, if slices are not cut short
        self.stretched: dict[str, Array] = {}  # operands that conform at run time, by name: what is stretched
        self.conformed: dict[Any, Array] = {}  # operands conformed at the top level, until they are written
        self.made_at_entry: set[str] = set()  # arrays that are made in the prologue
        self.handed_in: set[str] = set()  # parameters for what the function finds outside
        self.handed_in_order: set[str] = set()  # of these, arrays in C order
        self.random_states: dict[Any, Any] = {}  # generators of random numbers, from the entry on
        self.masks: dict[Any, Any] = {}  # where masks hold, until anything is written
        self.reduced = ReducedBefore()  # so are sums, and what is greatest and least
        self.either: set[Expr] = set()  # Python's numbers on one path, NumPy's on another, and what is made of them
        self.may_hold: dict[Expr, frozenset[ScalarType]] = {}  # the types of variables, where they hold one for sure
        self.types: dict[str, Any] = {}  # of memory, by name: the types on different paths (see `joined_numbers`)
        self.item_types: dict[str, ItemTypes] = {}  # of the rows of lists
        self.rows_of_arrays: set[str] = set()  # of these, what holds arrays
        self.made_in: dict[str, list[Stmt]] = {}  # memory → the block that it is made in
        self.watches: list[Any] = []  # the `try` statements whose bodies are probed, from the outermost on
        self.items_on_demand = 0  # what asks for items one by one, and may stop early, around what is read

    @property
    def is_top_level(self) -> bool:
        return self.depth == 0

    @contextmanager
    def nested(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Statements go to the block of a loop or a branch."""
        self.depth += 1
        self.forget_contents()
        compatible = set(self.compatible)
        try:
            with self.into(block):
                yield block
        finally:
            self.compatible = compatible
            self.forget_contents()
            self.depth -= 1

    def forget_contents(self) -> None:
        """Nothing that was found of what arrays hold may be used any more."""
        self.masks.clear()
        self.reduced.clear()

    def is_at_least(self, expr: Expr, bound: int) -> bool:
        """Provably expr >= bound, from the ranges of loop indices and from lengths being never negative."""
        return self._is_at_least(self.greatest(expr, -1), bound, frozenset())

    def _is_at_least(self, expr: Expr, bound: int, used: frozenset[Expr]) -> bool:
        terms, constant = affine.affine(expr)
        for term, count in terms:
            if count > 0 and term in self.whole and term not in used:  # it is what it is expected to be, and more
                least = [affine.add(expr, _times(count, affine.sub(low, term))) for low in self.whole[term]]
                if any(self._is_at_least(e, bound, used | {term}) for e in least):
                    return True
        for term, count in terms:
            least_of_term = self.lower.get(term, 0 if affine.is_at_least(term, 0) else None)
            if count < 0 or least_of_term is None:
                return False
            constant += count * least_of_term
        return constant >= bound

    def greatest(self, expr: Expr, sign: int = 1) -> Expr:
        """The expression with the last values of loop indices, where those make it greater (or less: -1)."""
        for term, count in affine.affine(expr)[0]:
            if count * sign > 0 and term in self.upper:
                return self.greatest(affine.add(expr, _times(count, affine.sub(self.upper[term], term))), sign)
        return expr

    def expect_at_least(self, length: Expr, bound: Expr, otherwise: str) -> None:
        """From the entry on, a length that the arguments decide is taken to be this at least.

        `otherwise`: what is said where it is not, with both, if nothing can be done about it.
        """
        terms, constant = affine.affine(length)
        is_one_term = len(terms) == 1 and terms[0][1] == 1
        if self.cut or not is_one_term or not self.is_known_at_entry(length) or not self.is_known_at_entry(bound):
            return
        if self.is_at_least(affine.sub(length, bound), 0) or self.is_at_least(affine.sub(bound, length), 1):
            return  # it is, or it is not
        for earlier in [stmt for stmt in self.prologue if _is_short(stmt, length)]:
            if self.is_at_least(affine.sub(bound, earlier.condition.args[1]), 0):  # type: ignore[attr-defined]
                self.prologue.remove(earlier)
        short = Raise("ShortAxisError", otherwise + place(self.span), (bound, length))
        self.prologue.append(If(Call("lt", (length, bound), BOOL), (short,), span=self.span))
        self.whole.setdefault(terms[0][0], []).append(affine.sub(bound, affine.integer(constant)))

    def save(self) -> Any:
        """The state, for another try at a loop."""
        held = {key: copy(getattr(self, key)) for key in REMEMBERED}
        return held, self.names.save(), {key: set(found) for key, found in self.twins.items()}

    def restore(self, saved: Any) -> None:
        """Back to a saved state; but what is done at the entry of the function stays done."""
        held, names, twins = saved
        block = self.block
        early = {key: var for key, var in self.common_lengths.items() if var in self.known_at_entry}
        views = {s.array: s for s in self.prologue if isinstance(s, View)}
        conformed = {key: array for key, array in self.conformed.items() if array in views}
        for key, value in held.items():
            setattr(self, key, copy(value))
        block[:], self.block = self.block, block  # the list itself belongs to whoever collects it
        self.names.restore(names)
        self.twins = {key: set(found) for key, found in twins.items()}
        self.forget_contents()
        self.common_lengths |= early
        self.conformed |= conformed
        self.names.taken |= {var.name for var in self.known_at_entry} | {array.name for array in views}
        self.names.taken |= self.made_at_entry | self.handed_in
        self.roots |= {name: name for name in self.handed_in & self.parameters}
        self.contiguous |= self.handed_in_order
        self.pinned |= self.known_at_entry
        self.lower |= dict.fromkeys(self.known_at_entry, 0)
        self.roots |= {array.name: self.root(view.base) for array, view in views.items()}

    def is_known_at_entry(self, expr: Expr) -> bool:
        """Is it made of lengths of arguments alone?"""
        return all(
            isinstance(node, (Const, Call))
            or node in self.known_at_entry
            or (isinstance(node, Dim) and node.array in self.parameters)
            for node in subexpressions(expr)
        )

    def at_entry(self, name: str, value: Expr) -> Var:
        """A fresh variable that has the value from the entry of the function on."""
        var = Var(self.names.fresh(name), value.dtype)
        self.prologue.append(Assign(var, value, span=self.span))
        self.known_at_entry.add(var)
        return var

    def conforms_at_entry(self, base: Array, dims: tuple[Expr, ...]) -> bool:
        is_argument = bool(base.dims) and base.name in self.parameters
        never = base.name in self.never_early or base.name in self.written
        return is_argument and not never and all(map(self.is_known_at_entry, dims))

    # ------------------------------------------------------------------------------------------ statements

    def emit(self, stmt: Stmt) -> None:
        stmt = with_fields(stmt, {"span": self.span}) if stmt.span is None else stmt
        self.block.append(stmt)
        if isinstance(stmt, (Assign, AddTo)):
            self.note_assigned(*(target for target in targets(stmt) if isinstance(target, Var)))
        if self.either and isinstance(stmt, (Assign, AddTo)) and self.is_either(stmt.value):
            self.either |= {target for target in targets(stmt) if isinstance(target, Var)}
        for watch in reversed(self.watches):
            if watch.see(stmt):
                break

    def is_either(self, expr: Expr) -> bool:
        """May it be one of Python's numbers, or one of NumPy's?"""
        return bool(self.either) and any(part in self.either for part in subexpressions(expr))

    def would_catch(self, error: type[BaseException]) -> bool:
        """Does it matter here whether Python raises this?"""
        return any(watch.catches(error) is not None for watch in self.watches)

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Statements go to `block` for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def refuse(
        self, message: str, *help: str, error: type[SrcgradError] = UnsupportedError, because: str = ""
    ) -> NoReturn:
        if not help and error is UnsupportedError:
            help = (PLAIN_HELP,)
        problem = error(message, span=self.span, help=tuple(help), because=because)
        problem.depth = self.depth
        raise problem

    def refuse_unusable(self, value: Any, what: str | ast.expr = "") -> None:
        """What may only be held under a name is read: where the name is known, `what`."""
        if is_unusable(value):
            what = ast.unparse(what) if isinstance(what, ast.expr) else what
            try:
                self.refuse(f"{what or value.value.name.lstrip('.')} {value.value.how}", *value.value.helps)
            except UnsupportedError as error:
                error.unusable = value.value  # type: ignore[attr-defined]
                raise

    # --------------------------------------------------------------------------------------------- scalars

    def variable(self, name: str, value: Expr) -> Var:
        """A fresh variable that holds the value from here on."""
        var = Var(self.names.fresh(name), value.dtype)
        self.emit(Assign(var, value))
        return var

    def capture(self, expr: Expr, name: str = "t") -> Expr:
        """The value that the expression has now, whatever is assigned later: a constant or a variable set once."""
        if isinstance(expr, (Const, Dim)) or (isinstance(expr, Var) and expr not in self.mutable):
            return expr
        return self.variable(name, expr)

    def pin(self, expr: Expr, name: str = "n") -> Expr:
        """An integer that a shape or a view may be made of: sums of lengths stay readable, the rest is captured."""
        expr = affine.normal(expr)
        nodes = list(subexpressions(expr))
        atoms = [node for node in nodes if not isinstance(node, Call)]
        steady = all(isinstance(a, (Const, Dim, Axis)) or (isinstance(a, Var) and a not in self.mutable) for a in atoms)
        if not steady or any(isinstance(n, Call) and n.op not in SHAPE_OPS for n in nodes):
            expr = self.variable(name, expr)
        elif len(nodes) > LONGEST_LENGTH and not any(isinstance(a, Axis) for a in atoms):
            is_length = self.is_at_least(expr, 0)
            expr = self.variable(name, expr)
            if is_length:
                self.lower[expr] = 0
        self.pinned |= variables(expr)
        return expr

    def is_length(self, expr: Expr) -> bool:
        """Is it a sum of lengths, which stays what it is and is worth knowing as such?"""
        parts = list(subexpressions(expr))
        return expr.dtype == INT64 and all(
            isinstance(node, (Const, Dim))
            or (isinstance(node, Call) and node.op in ("add", "sub", "mul", "maximum", "minimum"))
            or (isinstance(node, Var) and node in self.pinned and node not in self.mutable)
            for node in parts
        )

    # ---------------------------------------------------------------------------------------------- arrays

    def allocate(self, name: str, dtype: np.dtype, dims: tuple[Expr, ...], fill: Expr | None = None) -> Array:
        dims = tuple(self.pin(dim) for dim in dims)
        array = Array(self.names.fresh(name), dtype, dims)
        self.emit(Alloc(array, dims, fill))
        self.made_in[array.name] = self.block
        self.contiguous.add(array.name)
        self.roots[array.name] = array.name
        self.is_new(array.name)
        return array

    def note_types(self, array: Array, types: frozenset[ScalarType]) -> None:
        """The memory is of another type on each path."""
        if len(types) > 1:
            root = self.root(array)
            is_new = root not in self.types and source_of(types) is not None
            self.types[root] = types if is_new else TypesOf.of(types | self.types.get(root, frozenset()), object())

    def note_rebound(self, array: Array) -> None:
        """The memory holds another array in each iteration of a loop, and has the type of none of before."""
        root = self.root(array)
        if root in self.types:
            self.types[root] = TypesOf.of(self.types[root], object())

    def root(self, array: Array) -> str:
        return self.roots.get(array.name, array.name)

    def each(
        self,
        dims: tuple[Expr, ...],
        body: Callable[[tuple[Expr, ...]], list[Stmt] | Stmt],
        running: bool = False,
    ) -> None:
        """A statement for every index, one after the other where it is `running`; along an axis of length 1 it is 0."""
        names = "ijklmnpq"
        indices = tuple(Var(self.names.index(names[min(k, 7)]), INT64) for k in range(len(dims)))
        inner = body(tuple(indices))
        self.names.release(*(index.name for index in indices))
        self.emit(ForEach(indices, dims, tuple(inner) if isinstance(inner, list) else (inner,), running))

    def materialize(self, value: ArrayValue, name: str = "t", copy: bool = False) -> Array:
        """The value in memory of its own, or the memory that it already is (unless a copy is wanted)."""
        handle = value.handle
        if handle is not None and not copy:
            return handle
        self.check_fresh(value.element)
        fill = value.element if isinstance(value.element, Const) else None
        target = self.allocate(name, value.dtype, value.dims, fill)
        self.note_types(target, types_of(self, value))
        if fill is not None:
            return target
        if (value.has_gaps and not copy) or (value.ndim > 1 and not follows_order(value.element, self.is_in_order)):
            self.uncertain.add(target.name)
        if handle is not None:
            self.emit(CopyTo(target, handle))
            return target
        self.each(value.dims, lambda index: Store(target, index, value.at(index)))
        return target

    def is_in_order(self, array: Array) -> bool:
        """Does the order of the axes follow the memory, in Python too?"""
        return array.name not in self.turned and self.root(array) not in self.uncertain | self.other_layouts

    def view(self, value: ArrayValue, name: str = "t") -> Array:
        """A handle on the memory that a window shows."""
        handle = value.handle
        if handle is not None:
            return handle
        assert isinstance(value.element, Load)
        base = value.element.array
        items: list[Pick | Run] = []
        order: list[int] = []
        for part in value.element.index:
            run = run_of(part)
            if run is None:
                items.append(Pick(self.pin(part, "i")))
            else:
                start, axis, step = run
                items.append(Run(self.pin(start, "start"), self.pin(step, "step"), value.dims[axis]))
                order.append(axis)
        dims = tuple(value.dims[axis] for axis in order)
        array = base
        if not all(_is_whole(item, dim) for item, dim in zip(items, base.dims, strict=False)):
            array = self._handle(name, base, dims, Subscript(tuple(items)))
            runs = [item for item in items if isinstance(item, Run)]
            lead = [k for k, item in enumerate(items) if isinstance(item, Run)]
            tail = all(_is_whole(items[k], base.dims[k]) for k in lead[1:])
            unit = not runs or affine.same(runs[0].step, affine.ONE)
            if (
                base.name in self.contiguous
                and tail
                and unit
                and lead == list(range(len(items) - len(lead), len(items)))
            ):
                self.contiguous.add(array.name)
        if order != sorted(order):
            ranks = [sorted(order).index(axis) for axis in order]
            turn = tuple(ranks.index(k) for k in range(len(order)))
            array = self._handle(name, array, tuple(dims[k] for k in turn), Transpose(turn))
        if len(order) < value.ndim:
            kept = iter(array.dims)
            new = tuple(
                Run(affine.ZERO, affine.ONE, next(kept)) if axis in order else NewAxis() for axis in range(value.ndim)
            )
            if array.name in self.contiguous:  # Numba would forget that with the new axis
                return self.reshape(array, value.dims, name)
            array = self._handle(name, array, value.dims, Subscript(new))
        return array

    def reshape(self, array: Array, dims: tuple[Expr, ...], name: str) -> Array:
        out = self._handle(name, array, tuple(self.pin(dim) for dim in dims), Reshape(dims))
        self.contiguous.add(out.name)
        return out

    def _handle(self, name: str, base: Array, dims: tuple[Expr, ...], how: Any) -> Array:
        array = Array(self.names.fresh(name), base.dtype, dims)
        self.emit(View(array, base, how))
        self.roots[array.name] = self.root(base)
        if isinstance(how, Transpose):
            self.transposed[array.name] = base, how.order
        if isinstance(how, Transpose) or base.name in self.turned:
            self.turned.add(array.name)
        return array

    def stored(self, value: ArrayValue, name: str = "t") -> Array:
        """The value as an array that can be handed on: itself, a view, or a copy in fresh memory."""
        self.check_fresh(value.element)
        if value.is_window and (value.ndim or value.handle is not None):
            return self.view(value, name)
        copy = self.materialize(value, name)
        if value.is_view_to_numpy or (value.is_window and not value.ndim):  # compiled code has no views of no axes
            self.twin(copy, value.element.array)  # type: ignore[attr-defined]
        return self.twin_of_part(copy, value)

    def kept(self, value: ArrayValue, name: str = "t") -> ArrayValue:
        """The value as what a name stands for: memory.  An element, as an array of no axes, is that element."""
        if value.ndim == 0 and value.handle is None and value.is_window:
            self.check_fresh(value.element)
            load = value.element
            assert isinstance(load, Load)
            return ArrayValue((), Load(load.array, tuple(self.pin(part, "i") for part in load.index)))
        return whole(self.stored(value, name))

    def in_order(self, value: ArrayValue, name: str = "t") -> Array:
        """The value as a C-contiguous array."""
        if value.is_window:
            array = self.stored(value, name)
            if array.name in self.contiguous:
                return array
        return self.twin_of_part(self.materialize(value, name, copy=True), value)

    def in_rows(self, value: ArrayValue) -> Array:
        """The value as a matrix whose rows lie in one piece each, which is all that BLAS asks for."""
        if value.is_window and has_whole_rows(value.element, self.contiguous):
            return self.stored(value)
        return self.in_order(value)

    def twin_of_part(self, copy: Array, value: ArrayValue) -> Array:
        """The copy; of z.real and z.imag, NumPy has a view."""
        match value.element:
            case Call(op="real" | "imag", args=(Load(array=array),)):
                self.twin(copy, array)
        return copy

    # --------------------------------------------------------------------------------------------- aliases

    def twin(self, copy: Array, original: Array) -> None:
        """Where NumPy has (or may have) a view, we have a copy: writing to one ends reading the other."""
        root = self.root(original)
        self.parted.pop(frozenset((copy.name, root)), None)  # no check tells these apart, whatever had the names before
        self.twins.setdefault(copy.name, set()).add(root)
        self.twins.setdefault(root, set()).add(copy.name)

    def is_new(self, name: str) -> None:
        """Memory is allocated: what the one before it may have been, in the last iteration of a loop, it is not."""
        others = self.twins.pop(name, set()) - {name}
        for other in others:
            self.twins[other].discard(name)
            self.twins[other] |= others - {other}  # by way of the one before, which they may all have been
            self.parted.pop(frozenset((name, other)), None)
        self.stale.pop(name, None)
        self.types.pop(name, None)
        self.item_types.pop(name, None)

    def twin_if(self, copy: Array, original: Array, one: Expr | None) -> None:
        """Twins, if `one` holds when the program runs (None: perhaps).  Then a write to either is an error."""
        if isinstance(one, Const) and not one.value:
            return
        self.twin(copy, original)
        if one is not None and not isinstance(one, Const) and self.makes_checks and self.is_top_level:
            self.checks_made += 1
            label = -1 - self.checks_made
            self.parted[frozenset((copy.name, self.root(original)))] = label
            message = (
                "with these lengths ({} elements) this is a view of an array in NumPy, with others a copy: "
                "to write to either, make a copy first (y = x.copy())" + place(self.span)
            )
            self.emit(If(one, (Raise("RuntimeShapeError", message, (affine.product(copy.dims),)),), label=label))

    def with_wanted_checks(self) -> list[Stmt]:
        """The statements, without the checks for which nobody has asked."""
        kept = (s for s in self.block if s.label >= -1 or s.label in self.wanted_checks)
        return [s if s.label >= -1 else replace(s, label=-1) for s in kept]

    def note_change(self, root: str) -> None:
        """Other contents, or other memory by this name: nothing that was made of it ahead may be used any more."""
        self.forget_contents()
        self.written.add(root)
        self.changes[root] = self.changes.get(root, 0) + 1
        if any(isinstance(s, View) and self.root(s.base) == root for s in self.prologue):
            raise WrittenAfterAll(root)
        self.conformed = {key: view for key, view in self.conformed.items() if self.root(view) != root}

    def note_assigned(self, *variables: Var) -> None:
        """Another number by this name."""
        for var in variables:
            if var in self.mutable:
                self.changes[var.name] = self.changes.get(var.name, 0) + 1

    def note_write(self, array: Array, in_place: bool = True) -> None:
        """Whatever Python might hold for the same memory must not be read any more: we hold a copy of it."""
        self.check_fresh(Load(array, ()))
        root = self.root(array)
        if in_place:
            self.fields.note_written(self, root)
        self.note_change(root)
        self.changed_in_loop.add(root)
        twins = self.all_twins(root)
        self.wanted_checks |= {label for pair, label in self.parted.items() if pair <= twins | {root}}
        for twin in self.all_twins(root, parted=False) | (self.rows_of_one & {root}):
            self.stale.setdefault(twin, self.span)

    def all_twins(self, root: str, parted: bool = True) -> set[str]:
        """Everything that might be this memory, by way of others too; `parted`: if a check did not tell them apart."""
        found, work = {root}, [root]
        while work:
            name = work.pop()
            for twin in self.twins.get(name, ()):
                if twin not in found and (parted or frozenset((name, twin)) not in self.parted):
                    found.add(twin)
                    work.append(twin)
        return found - {root}

    def check_fresh(self, expr: Expr) -> None:
        for load in loads(expr):
            if self.root(load.array) in self.stale:
                self.refuse_stale(load.array.name)

    def refuse_written_part(self) -> None:
        self.refuse(
            "an array in a tuple or an object that is an item of a list may or may not be the array that was written",
            "keep the arrays that are written in a list of their own:  fs = [np.zeros(3) for x in xs],  fs[i] += …",
            "and put copies of others into the list:  ys = [(x.copy(), k) for x in xs]",
            because="where the length of the list is only known at run time, what its items hold is copied",
        )

    def refuse_stale(self, name: str) -> None:
        if self.roots.get(name, name) in self.in_items:
            self.refuse_written_part()
        is_item = self.roots.get(name, name) in self.in_unnamed
        called = "an array in a list" if is_item else self.names.wanted.get(name, name)
        self.refuse(
            f"{called} may or may not be the array that was written under another name",
            "copy the array before it gets a second name:  y = x.copy()",
            because="which memory this is depends on the path taken, on lengths or on the order in memory",
        )

    def sum(self, dims: tuple[Expr, ...], element: Callable[[tuple[Expr, ...]], Expr], dtype: np.dtype) -> Var:
        """A fresh scalar with the sum of the element over all indices."""
        total = self.variable("s", Const(dtype.type(0).item(), dtype))
        self.mutable.add(total)
        self.each(dims, lambda index: AddTo(total, element(index), True))
        return total


def _is_short(stmt: Stmt, length: Expr) -> bool:
    """Is it the check that an axis of this length ends where a slice does, or behind it?"""
    match stmt:
        case If(condition=Call(op="lt", args=(asked, _)), then=(Raise("ShortAxisError"),)):
            return affine.same(asked, length)
    return False


def _times(count: int, expr: Expr) -> Expr:
    return affine.mul(affine.integer(count), expr)


LONGEST_LENGTH = 24  # nodes of a length that is written out: one that is made of two others has as many as they
SHAPE_OPS = ("add", "sub", "mul", "neg", "maximum", "minimum", "floordiv")


def _is_whole(item: Pick | Run, dim: Expr) -> bool:
    return (
        isinstance(item, Run)
        and affine.same(item.start, affine.ZERO)
        and affine.same(item.length, dim)
        and (affine.same(item.step, affine.ONE))
    )
