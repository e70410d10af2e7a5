"""Abstract interpretation of a function: its statements run on types and symbols, and append IR.

    y = x * w        y = empty(n)
    return y.sum()   for each i < n:  y[i] = x[i] * w[i]
                     s = 0.0; for each i < n:  s += y[i]

What is static in Python (tuples, slices, dtypes, functions) is evaluated away; numbers and arrays remain.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import ArgumentError, NameArgumentError
from ..ir import affine
from ..ir.nodes import BOOL, AddTo, Alloc, Array, Assign, Call, Const, Dim, Expr, If, Invoke, Raise, Span, Stmt, Var
from ..ir.walk import loads, map_expressions, statements, substitute, variables
from . import (
    attributes,
    branches,
    calls,
    calls_of_own,
    carried,
    contexts,
    control,
    exceptions,
    expressions,
    flow,
    identities,
    lists,
    liveness,
    operators,
    records,
    recursion,
)
from .builder import Builder
from .numpy import indexing, products
from .source import Source, read
from .types import DictKind
from .values import (
    NONE,
    UNDEFINED,
    ArrayValue,
    Closure,
    Flat,
    Items,
    Scalar,
    Slice,
    Static,
    TupleValue,
    constant,
    new_list,
    whole,
)


@dataclass
class Frame:
    """One call: its names, and where names come from that it does not bind itself."""

    source: Source
    function: Callable[..., Any] | None
    env: dict[str, Any] = field(default_factory=dict)
    parent: Frame | None = None
    depth: int = 0  # of the loops and branches that the call is in
    called_at: Span | None = None
    is_composition: bool = False  # of ours: what happens in it happens at the line of the call

    def bound(self, name: str) -> Any:
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env:
                return frame.env[name]
            frame = frame.parent
        return None


@dataclass(frozen=True)
class Captured:
    """A global or closure value that is handed in as a hidden argument at every call."""

    name: str
    fetch: Callable[[], Any]
    param: Var | Array


class Interpreter:
    def __init__(self, callees: recursion.Callees) -> None:
        self.callees = callees
        self.instance: recursion.Instance | None = None  # whose body this is, in a function of its own
        self.depth: Expr = affine.ZERO  # of calls of functions of their own
        self.build = Builder()
        self.frames: list[Frame] = []
        self.captured: dict[Any, tuple[Captured, Any]] = {}
        self.assumed: dict[Any, tuple[Callable[[], Any], Any]] = {}
        self.exceptions: dict[str, type[BaseException]] = {}
        self.stale_before: list[set[str]] = []  # what was stale ahead of each loop around
        self.early_reads: list[str] = []  # of items that a list only has if a loop makes it longer
        self.list_heads: list[dict[object, Any]] = []  # the lists that were there ahead of each loop around
        self.branch_envs: tuple[dict[str, Any], ...] = ()
        self.wanted: frozenset[str] | None = None  # names of the current call that are still read; None: not known

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def env(self) -> dict[str, Any]:
        return self.frame.env

    # ------------------------------------------------------------------------------------------ functions

    def run(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        """Interpret a call of a Python function; the value that it returns."""
        given = getattr(function, "given", None)
        if given is not None:  # a bound method, a partial
            values = {**arguments, **calls.given_values(self, function, given)}
            function = function.function  # type: ignore[attr-defined]
            arguments = {name: values[name] for name in inspect.signature(function).parameters}
        source = read(function)
        if hasattr(function, "__wrapped__"):  # by a decorator, whose inner function names its arguments otherwise
            spec = source.node.args
            arguments = calls.bind_arguments(self, spec, source.name, {}, list(arguments.values()), {})
        if recursion.key_of(source) in self.callees.chosen.own:
            return calls_of_own.invoke(self, source, function, dict(arguments))
        return self.enter(Frame(source, function, dict(arguments)), source.node)

    def enter(self, frame: Frame, node: ast.FunctionDef | ast.Lambda) -> Any:
        frame.depth = self.build.depth
        around = [(recursion.key_of(f.source), f.depth) for f in self.frames]
        key = recursion.key_of(frame.source)
        if not frame.is_composition:
            self.callees.enter(key, around, frame.depth)
        frame.called_at, mark, within = self.build.span, len(self.build.block), self.build.block
        body = flow.structured(node)
        self.build.names.users |= liveness.assigned(liveness.without_targets(body))
        liveness.annotate(body, [flow.RESULT])
        outer_span = self.build.span
        self.frames.append(frame)
        try:
            self.block(body)
            if within is self.build.block and not frame.is_composition:
                self.callees.expanded(key, tuple(f.called_at for f in self.frames), within[mark:])
            return frame.env.get(flow.RESULT, NONE)
        finally:
            self.frames.pop()
            self.build.span = outer_span

    def block(self, body: list[ast.stmt]) -> bool:
        """Interpret statements in order; True if the block ends in an exception."""
        for stmt in body:
            self.at(stmt)
            if self.statement(stmt):
                return True
        return False

    def at(self, node: ast.AST) -> None:
        """Errors and statements from here on belong to this place in the user's file."""
        if self.frame.is_composition:
            return
        span = self.frame.source.span(node)
        if span is not None:
            self.build.span = span

    # ----------------------------------------------------------------------------------------- statements

    def statement(self, stmt: ast.stmt) -> bool:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if lists.extends(self, name, value):
                pass
            case ast.Assign(targets=targets, value=value):
                mark = len(self.build.block)
                result = expressions.evaluate(self, value)
                for target in targets:
                    self.assign(target, result, mark)
                    if isinstance(target, ast.Name):
                        result = self.env[target.id]  # a = b = value: b is a by another name
                    mark = len(self.build.block)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    mark = len(self.build.block)
                    self.assign(target, expressions.evaluate(self, value), mark)
            case ast.AugAssign():
                self.augment(stmt)
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    expressions.evaluate(self, value)
            case ast.If():
                return branches.branch(self, stmt)
            case ast.For():
                control.for_loop(self, stmt)
            case ast.While():
                control.while_loop(self, stmt)
            case ast.FunctionDef():
                defaults = expressions.defaults(self, stmt.args)
                self.env[stmt.name] = Closure(stmt, defaults, self.frame)
            case ast.Raise():
                exceptions.raise_error(self, stmt)
                return True
            case ast.Assert():
                exceptions.assertion(self, stmt)
            case ast.Pass():
                pass
            case ast.Delete(targets=targets):
                self.delete(targets)
            case ast.Import() | ast.ImportFrom():
                self.import_names(stmt)
            case ast.With(items=items):
                for item in items:
                    contexts.enter(self, item)
            case ast.Try():
                contexts.conditional_import(self, stmt)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                contexts.only_read(self, stmt, names)
            case _:
                word = {"ClassDef": "class", "AsyncFor": "async for"}.get(
                    type(stmt).__name__, type(stmt).__name__.lower()
                )
                self.build.refuse(f"a {word} statement is not supported in a differentiated function")
        return False

    def delete(self, targets: list[ast.expr]) -> None:
        for target in targets:
            self.delete_one(target)

    def delete_one(self, target: ast.expr) -> None:
        """del name, del d[key], del ys[i]"""
        match target:
            case ast.Name(id=name):
                self.lookup(name)
                self.env.pop(name, None)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self.delete(parts)
            case ast.Subscript(value=base, slice=items):
                owner, index = expressions.evaluate(self, base), expressions.evaluate(self, items)
                if records.is_dict(owner):
                    records.remove(self, owner, records.key_of(self, index))
                elif identities.is_list(owner):
                    lists.method(self, owner, "pop", [index])
                else:
                    self.build.refuse("only names, and items of lists and dicts, can be deleted")
            case _:
                self.build.refuse("only names, and items of lists and dicts, can be deleted")

    def import_names(self, stmt: ast.Import | ast.ImportFrom) -> None:
        namespace: dict[str, Any] = {}
        module = ast.Module([stmt], [])
        base = self.frame.function.__globals__ if self.frame.function else {}
        exec(compile(module, "<import>", "exec"), {"__package__": base.get("__package__")}, namespace)
        for name, value in namespace.items():
            self.env[name] = constant(value)

    # -------------------------------------------------------------------------------------------- binding

    def assign(self, target: ast.expr, value: Any, mark: int) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value, mark)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self.unpack(targets, self.named_after(targets, value, mark))
            case ast.Subscript(value=base, slice=items):
                self.store(base, items, value)
            case ast.Attribute():
                self.store_attribute(target, value)
            case _:
                self.at(target)
                self.build.refuse("only names, tuples of names and array elements can be assigned to")

    def named_after(self, targets: list[ast.expr], value: Any, mark: int) -> Any:
        """Arrays that were just made for one target of several take its name."""
        if not isinstance(value, TupleValue) or len(value.items) != len(targets):
            return value
        items = list(value.items)
        for k, (target, item) in enumerate(zip(targets, items, strict=False)):
            handle = item.handle if isinstance(item, ArrayValue) else None
            if not isinstance(target, ast.Name) or handle is None or handle.name.rstrip("_0123456789") != "t":
                continue
            others = [
                load.array
                for n, o in enumerate(items)
                if n != k and isinstance(o, ArrayValue)
                for load in loads(o.element)
            ]
            others += [load.array for o in items if isinstance(o, Scalar) for load in loads(o.expr)]
            if self.is_fresh_array(handle, mark) and handle not in others:
                items[k] = whole(self.rename_array(handle, target.id, mark))
        return replace(value, items=tuple(items))

    def unpack(self, targets: list[ast.expr], value: Any) -> None:
        is_plain = not any(isinstance(target, ast.Starred) for target in targets)
        if is_plain and isinstance(value, ArrayValue) and value.ndim and not isinstance(value.dims[0], Const):
            value = self.of_length(value, len(targets))
        items = expressions.items_of(self, value)
        starred = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if starred:
            at, rest = starred[0], len(items) - len(targets) + 1
            items = [*items[:at], new_list(items[at : at + rest]), *items[at + rest :]]
            targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
        if len(items) != len(targets):
            self.build.refuse(f"{len(items)} values can't be unpacked into {len(targets)} names", error=ArgumentError)
        if any(not isinstance(target, ast.Name) for target in targets) and len(targets) > 1:
            items = [self.settled(item) for item in items]  # A[i], A[j] = A[j], A[i]
        else:
            items = self.untangled([t.id for t in targets if isinstance(t, ast.Name)], items)
        for target, item in zip(targets, items, strict=False):
            self.assign(target, item, len(self.build.block))

    def of_length(self, value: ArrayValue, count: int) -> ArrayValue:
        """The array, checked at run time to have as many items as there are names for them."""
        length, wanted = value.dims[0], affine.integer(count)
        message = f"can't unpack an array of another length into {count} names"
        self.build.emit(If(Call("ne", (length, wanted), BOOL), (Raise("ValueError", message),)))
        return ArrayValue((wanted, *value.dims[1:]), value.element)

    def untangled(self, names: list[str], items: list[Any]) -> list[Any]:
        """Values that read what an earlier of these assignments changes are captured first."""
        out: list[Any] = []
        changed: set[Var] = set()
        for name, item in zip(names, items, strict=False):
            if isinstance(item, Scalar) and variables(item.expr) & changed:
                item = Scalar(self.build.capture(item.expr, name), item.weak)
            elif isinstance(item, ArrayValue) and variables(item.element) & changed:
                item = whole(self.build.stored(item, name))
            out.append(item)
            current = self.env.get(name)
            if isinstance(current, Scalar) and isinstance(current.expr, Var) and current.expr in self.build.mutable:
                changed.add(current.expr)
        if not changed:
            return out
        return [self.captured_first(item, changed, name) for item, name in zip(items, names, strict=False)]

    def captured_first(self, item: Any, changed: set[Var], name: str) -> Any:
        if isinstance(item, Scalar) and variables(item.expr) & changed:
            return Scalar(self.build.variable(f"{name}_next", item.expr), item.weak)
        return self.settled(item) if isinstance(item, ArrayValue) and variables(item.element) & changed else item

    def settled(self, value: Any) -> Any:
        """A number as it is now, whatever is written later; an expression of arrays in memory; a view as a view."""
        if isinstance(value, Scalar):
            if value.is_constant:
                return value
            return Scalar(self.build.variable("t", value.expr), value.weak)
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.settled(item) for item in value.items), value.kind)
        if isinstance(value, ArrayValue) and value.handle is None:
            return whole(self.build.stored(value, "t"))  # a view stays a view, as in NumPy
        return value

    def bind(self, name: str, value: Any, mark: int) -> None:
        """Give a value a name: scalars become variables, expressions of arrays become memory."""
        if carried.bound_flag(name) in self.env:  # it may have been without a value so far
            self.bind(carried.bound_flag(name), Scalar(Const(True, BOOL), weak=True), mark)
        match value:
            case Scalar():
                self.env[name] = self.bind_scalar(name, value, mark)
            case ArrayValue():
                self.env[name] = self.bind_array(name, value, mark)
            case TupleValue() | Slice():
                self.env[name] = self.bind_item(name, value)
            case _:
                self.env[name] = value

    def bind_item(self, name: str, item: Any) -> Any:
        match item:
            case Scalar(expr=expr) if self.build.is_length(expr):
                return item
            case Scalar(expr=expr) if not isinstance(expr, (Const, Var)) or expr in self.build.mutable:
                return Scalar(self.build.capture(expr, name), item.weak)
            case Flat():
                return item
            case ArrayValue():
                return self.build.kept(item, name)
            case TupleValue(items=items):
                return replace(item, items=tuple(self.bind_item(name, part) for part in items))
            case Slice(start=start, stop=stop, step=step):
                return Slice(*(self.bind_item(name, part) for part in (start, stop, step)))
        return item

    def bind_scalar(self, name: str, value: Scalar, mark: int) -> Scalar:
        build = self.build
        current = self.env.get(name)
        is_carried = isinstance(current, Scalar) and isinstance(current.expr, Var) and current.expr in build.mutable
        if is_carried and name in self.carried_names():
            return self.reassign(name, current, value)  # type: ignore[arg-type]
        expr = value.expr
        if isinstance(expr, Const) or (self.frame.is_composition and build.is_length(expr)):
            return value
        if isinstance(expr, Dim):  # a length stays what it is; the name is for the reader (see `tidy`)
            if not any(isinstance(s, Assign) and s.value == expr for s in build.block):
                build.variable(name, expr)
            return value
        if isinstance(expr, Var) and self.is_fresh(expr, mark):
            return Scalar(self.rename_variable(expr, name, mark), value.weak)
        if isinstance(expr, Var) and expr not in build.mutable:
            return value
        return Scalar(build.variable(name, expr), value.weak)

    def carried_names(self) -> set[str]:
        return carried.carried_now(self)

    def reassign(self, name: str, current: Scalar, value: Scalar) -> Scalar:
        """The variable goes round a loop: it is assigned, and its type may have to widen."""
        var = current.expr
        assert isinstance(var, Var)
        joined, weak = carried.join_scalars(current, value)
        if joined != var.dtype or weak != current.weak:
            raise carried.Widen(name, joined, weak)
        from .arithmetic import cast

        expr = cast(value.expr, joined)
        match expr:
            case _ if expr == var:
                pass
            case Call(op="add", args=(x, y)) if x == var:
                self.build.emit(AddTo(var, y))
            case Call(op="add", args=(x, y)) if y == var:
                self.build.emit(AddTo(var, x))
            case Call(op="sub", args=(x, y)) if x == var:
                self.build.emit(AddTo(var, Call("neg", (y,), y.dtype)))
            case _:
                self.build.emit(Assign(var, expr))
        return current

    def is_fresh(self, var: Var, mark: int) -> bool:
        """Was this variable made while the current right side was evaluated, and is it nothing else's name?"""
        made = [s for s in statements(tuple(self.build.block[mark:])) if _makes(s, var)]
        return bool(made) and var not in self.build.pinned and not self.names_of(var)

    def names_of(self, var: Var) -> list[str]:
        """The user's names that stand for this variable, in any call that is being interpreted."""
        out = []
        for frame in self.frames:
            for name, value in frame.env.items():
                if any(isinstance(v, Scalar) and v.expr == var for v in _flat(value)):
                    out.append(name)
        return out

    def rename_variable(self, var: Var, name: str, mark: int) -> Var:
        build = self.build
        new = Var(build.names.fresh(name), var.dtype)
        build.names.taken.discard(var.name)
        build.block[mark:] = [_rename(stmt, {var: new}) for stmt in build.block[mark:]]
        build.mutable.discard(var)
        return new

    def bind_array(self, name: str, value: ArrayValue, mark: int) -> ArrayValue:
        if isinstance(value, Flat):
            return value
        handle = value.handle
        if name == flow.RESULT and self.frame.is_composition and self.build.depth == self.frame.depth:
            return value  # an expression may stay one, as the results of rules do
        if handle is not None:
            if handle.name.rstrip("_0123456789") == "t" and self.is_fresh_array(handle, mark):
                return whole(self.rename_array(handle, name, mark))
            self.build.check_fresh(value.element)
            return value
        return self.build.kept(value, name)

    def is_fresh_array(self, array: Array, mark: int) -> bool:
        made = statements(tuple(self.build.block[mark:]))
        return any(isinstance(s, Alloc) and s.array == array for s in made)

    def rename_array(self, array: Array, name: str, mark: int) -> Array:
        build = self.build
        new = replace(array, name=build.names.fresh(name))
        build.names.taken.discard(array.name)
        build.block[mark:] = [rename_array_in(stmt, array, new) for stmt in build.block[mark:]]
        for known in (build.contiguous, build.uncertain, build.turned):  # the old name is free for other arrays
            if array.name in known:
                known.discard(array.name)
                known.add(new.name)
        build.roots = {k: (new.name if v == array.name else v) for k, v in build.roots.items() if k != array.name}
        build.roots[new.name] = new.name
        current = lambda name: new.name if name == array.name else name
        build.twins = {current(k): set(map(current, twins)) for k, twins in build.twins.items()}
        build.transposed = {k: (new if x == array else x, turn) for k, (x, turn) in build.transposed.items()}
        return new

    # -------------------------------------------------------------------------------------------- writing

    def store(self, base: ast.expr, items: ast.expr, value: Any, op: str | None = None) -> None:
        owner = expressions.evaluate(self, base)
        if records.is_dict(owner):
            key = records.key_of(self, expressions.evaluate(self, items))
            self.put(owner, key, records.item(self, owner, constant(key)) if op else None, value, op)
            return
        if isinstance(owner, TupleValue) and owner.kind is list:
            self.store_item(owner, items, value, op, base.id if isinstance(base, ast.Name) else "t")
            return
        if isinstance(owner, Items) and not isinstance(items, ast.Slice):
            lists.store(self, owner, expressions.evaluate(self, items), value, op)
            return
        if not isinstance(owner, ArrayValue):
            self.at(base)
            self.build.refuse("only arrays can be written to by index")
        index = expressions.index_items(self, items)
        if isinstance(owner, Flat):
            indexing.write_flat(self.build, owner, index, value, op)
            return
        indexing.memory_of(self.build, owner)
        if len(index) == 1 and isinstance(index[0], ArrayValue) and index[0].dtype == np.dtype(bool):
            if indexing.masked_write(self.build, owner, index[0], value, op):
                return
        self.update(indexing.subscript(self.build, owner, index), value, op)

    def update(self, target: ArrayValue, value: Any, op: str | None) -> None:
        """`target = value` or `target op= value`, in place."""
        if op == "matmul":
            value, op = products.in_place(self.build, target, value), None
        indexing.write(self.build, target, value, op=op)

    def store_item(self, owner: TupleValue, items: ast.expr, value: Any, op: str | None, name: str) -> None:
        from .values import static_int

        lists.check_own(self, owner, "assigning to an item")
        at = static_int(expressions.evaluate(self, items))
        if at is None or not -len(owner.items) <= at < len(owner.items):
            self.build.refuse("an element of a list can only be assigned at a constant index")
        assert at is not None
        if op is not None:
            value = operators.binary(self, op, owner.items[at], value)
        parts = list(owner.items)
        parts[at] = self.bind_item(name, value)
        identities.change(self, owner.identity, replace(owner, items=tuple(parts)))

    def store_attribute(self, target: ast.Attribute, value: Any, op: str | None = None) -> None:
        """owner.name = value"""
        owner = expressions.evaluate(self, target.value)
        self.at(target)
        if isinstance(owner, ArrayValue):
            part = attributes.attribute(self, owner, target.attr)
            if op is None and isinstance(part, Flat):
                indexing.write_flat(self.build, part, [Static(Ellipsis)], value, None)
            else:
                self.update(indexing.memory_of(self.build, part), value, op)
            return
        if not records.is_record(owner):
            self.build.refuse("only attributes of objects that are made in the function can be assigned to")
        current = attributes.attribute(self, owner, target.attr) if op else None
        self.put(owner, target.attr, current, value, op)

    def put(self, owner: TupleValue, key: Any, current: Any, value: Any, op: str | None) -> None:
        """Give an item of a dict, or an attribute of an object, a value."""
        if op is not None:
            if isinstance(current, ArrayValue):
                self.update(current, value, op)
                return
            if identities.is_list(current) and op == "add":
                lists.method(self, current, "extend", [value])
                return
            value = operators.binary(self, op, current, value)
        records.store(self, owner, key, value, "assigning to it")

    def augment(self, stmt: ast.AugAssign) -> None:
        op = operators.OPERATORS[type(stmt.op)]
        mark = len(self.build.block)
        if isinstance(stmt.target, ast.Name):
            current = expressions.evaluate(self, ast.copy_location(ast.Name(stmt.target.id, ast.Load()), stmt.target))
            value = expressions.evaluate(self, stmt.value)
            if isinstance(current, ArrayValue):
                self.update(current, value, op)
            elif identities.is_list(current) and op == "add":
                lists.method(self, current, "extend", [value])
            else:
                self.bind(stmt.target.id, operators.binary(self, op, current, value), mark)
            return
        if isinstance(stmt.target, ast.Attribute):
            value = expressions.evaluate(self, stmt.value)
            self.store_attribute(stmt.target, value, op)
            return
        if not isinstance(stmt.target, ast.Subscript):
            self.build.refuse("only names and array elements can be updated in place")
        value = expressions.evaluate(self, stmt.value)
        self.store(stmt.target.value, stmt.target.slice, value, op)

    # ---------------------------------------------------------------------------------------------- names

    def lookup(self, name: str) -> Any:
        """What a name stands for: a local, a name around the function, a global, a builtin."""
        frame = self.frame
        value = frame.bound(name)
        if value is not None:
            if value is UNDEFINED:
                self.build.refuse(
                    f"{name.lstrip('.')} may not be defined here", "assign it ahead of the branch or loop"
                )
            carried.check_bound(self, name)
            return value
        while frame.function is None and frame.parent is not None:
            frame = frame.parent
        function = frame.function
        assert function is not None
        code, cells = function.__code__, function.__closure__ or ()
        if name in code.co_freevars:
            cell = cells[code.co_freevars.index(name)]
            return self.outside(name, (id(cell), name), lambda: cell.cell_contents)
        scope = function.__globals__
        if frame.is_composition and name in scope:
            return constant(scope[name])
        if name in scope:
            return self.outside(name, (id(scope), name), lambda: scope[name])
        if hasattr(builtins, name):
            return Static(getattr(builtins, name))
        return self.build.refuse(f"name {name!r} is not defined", error=NameArgumentError)

    def outside(self, name: str, key: Any, fetch: Callable[[], Any]) -> Any:
        """A value from outside: arrays and floats are handed in at every call, the rest are checked constants."""
        if key in self.captured:
            return self.captured[key][1]
        try:
            current = fetch()
        except ValueError:
            return self.build.refuse(f"{name} is not bound yet")
        if isinstance(current, np.ndarray) or isinstance(current, (float, complex, np.inexact)):
            return self.hand_in(name, key, fetch, current)
        if not inspect.ismodule(current):
            self.assumed[key] = (fetch, current)
        if isinstance(current, (tuple, list, dict)) and _holds_arrays(current):
            keys = list(current) if isinstance(current, dict) else range(len(current))
            items = [self.outside(name, (key, k), lambda k=k: fetch()[k]) for k in keys]  # type: ignore[misc]
            return TupleValue(tuple(items), DictKind(tuple(keys)) if isinstance(current, dict) else type(current))
        return constant(current)

    def hand_in(self, name: str, key: Any, fetch: Callable[[], Any], current: Any) -> Any:
        from .arguments import parameter, type_of

        kind = type_of(name, current)
        param = parameter(self.build, name, kind)
        value: Any = whole(param) if isinstance(param, Array) else Scalar(param, getattr(kind, "weak", False))
        self.captured[key] = (Captured(name, fetch, param), value)
        return value


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return isinstance(value, np.ndarray)
    return any(map(_holds_arrays, value))


def _makes(stmt: Stmt, var: Var) -> bool:
    return var == stmt.var if isinstance(stmt, Assign) else isinstance(stmt, Invoke) and var in stmt.outs


def _flat(value: Any) -> list[Any]:
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in _flat(item)]
    return [value]


def _rename(stmt: Stmt, names: dict[Any, Expr]) -> Stmt:
    """A statement with variables replaced, assigned ones too."""
    from ..ir.walk import blocks, with_blocks

    inner = blocks(stmt)
    if inner:
        stmt = with_blocks(stmt, tuple(tuple(_rename(s, names) for s in block) for block in inner))
    if hasattr(stmt, "adjoint"):
        stmt = replace(stmt, adjoint=tuple(_rename(s, names) for s in stmt.adjoint))  # type: ignore[call-arg]
    return map_expressions(stmt, lambda expr: substitute(expr, names))


def rename_array_in(stmt: Stmt, old: Array, new: Array) -> Stmt:
    """A statement with one array handle replaced by another."""
    from ..ir.rename import rename_arrays

    return rename_arrays(stmt, {old.name: new})
