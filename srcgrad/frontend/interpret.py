"""Abstract interpretation of a function: its statements run on types and symbols, and append IR.

    y = x * w        y = empty(n)
    return y.sum()   for each i < n:  y[i] = x[i] * w[i]
                     s = 0.0; for each i < n:  s += y[i]

What is static in Python (tuples, slices, dtypes, functions) is evaluated away; numbers and arrays remain.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import is_device_array
from ..errors import ImportArgumentError, ModuleArgumentError, NameArgumentError, SrcgradError, UnboundError
from ..ir import affine
from ..ir.expressions import Array, Expr, Span, Var
from ..ir.types import DictKind
from ..ir.walk import always_raises
from . import assignment, augmented, binding, expressions, identities, optional, outside, split_statements
from .aliases import HELD
from .arguments import parameter, type_of
from .array_values import whole
from .builder import Builder
from .calls import (
    bodies,
    calls,
    calls_in_place,
    calls_of_own,
    definitions,
    implicit,  # noqa: F401 (register)
    parameters,
    recursion,
    vectorized,  # noqa: F401 (register)
)
from .calls.frames import Frame
from .control import (
    contexts,
    control,
    exceptions,
    first_apart,
    generators,
    if_statements,
    iterators,
    looks,
    tries,
    unbound,
)
from .lists import exchanged_items, item_names, list_methods
from .objects import computed_attributes, named_parts, records
from .outside import (
    LIBRARIES,
    FormOf,
    InCell,
    InGroup,
    InObject,
    InScope,
    IsGlobal,
    IsSmall,
    Place,
    Said,
    holds_arrays,
    is_small,
    is_whole,
)
from .syntax import flow, handlers
from .syntax.source import read, signature_of
from .values import NONE, UNDEFINED, Once, Scalar, Static, TupleValue, constant, is_lost


@dataclass(frozen=True)
class Captured:
    """A global or closure value that is handed in as a hidden argument at every call."""

    name: str
    place: Place
    param: Var | Array


class Interpreter:
    def __init__(self, callees: recursion.Callees) -> None:
        self.callees = callees
        self.instance: recursion.Instance | None = None  # whose body this is, in a function of its own
        self.depth: Expr = affine.ZERO  # of calls of functions of their own
        self.build = Builder()
        self.frames: list[Frame] = []
        self.ended_at: Span | None = None  # the last place of the last call that has ended
        self.captured: dict[Any, tuple[Captured, Any]] = {}
        self.assumed: dict[Any, tuple[Place, Any]] = {}
        self.varying: frozenset[Any] = frozenset()  # keys of places: other numbers have been there
        self.exceptions: dict[str, type[BaseException]] = {}
        self.written_out = 1  # how often the loops around write out what is interpreted
        self.on_trial: tuple[ast.For, ...] = ()  # loops around that are written out, if that is not too much text
        self.too_long: dict[int, tuple[ast.stmt, int]] = {}  # where it was, and in how many copies of the loop
        self.stale_before: list[set[str]] = []  # what was stale ahead of each loop around
        self.failed: SrcgradError | None = None  # what the last branch ends in, in the place of a value
        self.early_reads: list[SrcgradError] = []  # errors, unless a loop turns out to bind what is read
        self.loops: list[tuple[Frame, list[str]]] = []  # those around: whose they are, and the numbers that go round
        self.must_go_on: dict[
            tuple[int, str], str
        ] = {}  # frames and flags of loops that may not stop, with what to say
        self.close_loop: Callable[[], None] | None = None  # at the end of the innermost one's body
        self.none_ahead: list[tuple[Frame, dict[str, Any]]] = []  # the names that are None ahead of each loop around
        self.list_heads: list[dict[object, Any]] = []  # the lists that were there ahead of each loop around
        self.empty_lists: dict[object, Span] = {}  # lists of empty lists, by where they were made
        self.branch_envs: tuple[dict[str, Any], ...] = ()
        self.branch_parts: tuple[list[Any], ...] = ()
        self.branch_stale: tuple[dict[str, Any], ...] = ()  # see `Builder.stale`
        self.branch_identities: dict[tuple[object, object], object] = {}  # of what is one thing or another by the path
        self.one_of_several: set[object] = set()  # lists that a name stands for on one path, and others hold as well
        self.iterators = iterators.Iterators()
        self.looks = looks.Looks()
        self.latest: dict[object, Any] = {}  # what lists are since they were changed, held by a name or not
        self.given_away: dict[object, frozenset[str]] = {}  # lists that are items of others, with the memory of these
        self.chosen: dict[Expr, int] = {}  # numbers that say which of several things it is, where that is known
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
            self.assumed |= {place.key: (place, place()) for place in function.made_of}  # type: ignore[attr-defined]
            values = parameters.added(calls_in_place.given_values(self, function, given), arguments)
            function = function.function  # type: ignore[attr-defined]
            arguments = {name: values[name] for name in signature_of(function).parameters}
        source = read(function)
        calls_in_place.assume_made_of(self, function, bool(function.__defaults__), function.__kwdefaults__ or ())
        spec = source.node.args
        if spec.vararg is not None or spec.kwarg is not None:  # or a decorator's, that passes on what it is given
            args, kwargs = parameters.given_to(function, arguments)
            arguments = parameters.bind_arguments(self, spec, source.name, {}, args, kwargs)
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
        body, names = bodies.ready(node, bool(self.build.watches))
        self.build.names.users |= names
        outer_span = self.build.span
        self.frames.append(frame)
        around_all, self.build.in_composition = (
            self.build.in_composition,
            self.build.in_composition and frame.is_composition,
        )
        try:
            self.block(body)
            self.ended_at = self.build.span  # in the end that of the function itself
            if within is self.build.block and not frame.is_composition:
                self.callees.expanded(key, tuple(f.called_at for f in self.frames), within[mark:])
            return frame.env.get(flow.RESULT, NONE)
        finally:
            self.frames.pop()
            self.build.span, self.build.in_composition = outer_span, around_all

    # What stands below the evaluators, as objects do, asks for calls all the same: it comes back to that by these.

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a call of any value that can be called gives."""
        return calls.apply(self, function, args, kwargs)

    def call_function(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a call of a Python function gives, as its source says."""
        return calls_in_place.call_function(self, function, args, kwargs)

    def call_composition(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a program of ours gives that stands for a function of a library."""
        return calls_in_place.call_composition(self, function, args, kwargs)

    def block(self, body: list[ast.stmt]) -> bool:
        """Interpret statements in order; True if the block ends in an exception."""
        block = self.build.block
        for stmt in body:
            self.frame.statement = stmt
            self.at(stmt)
            mark = len(block)
            try:
                ended = split_statements.statement(self, stmt, self.statement)
            except SrcgradError:  # what is read behind a call that always raises is not there
                if not any(map(always_raises, block[mark:])):
                    raise
                ended = True
            if ended or any(map(always_raises, block[mark:])):
                return True
        return False

    def at(self, node: ast.AST) -> None:
        """Errors and statements from here on belong to this place in the user's file."""
        if self.frame.is_composition or self.frame.source.is_of_python:
            return
        span = self.frame.source.span(node)
        if span is not None:
            self.build.span = span

    def at_statement(self) -> None:
        """What is emitted from here on is all that the statement of the user's does."""
        if self.frame.statement is not None:
            self.at(self.frame.statement)

    # ----------------------------------------------------------------------------------------- statements

    def statement(self, stmt: ast.stmt) -> bool:
        match stmt:
            case handlers.Probe():
                tries.probe(self, stmt)
            case handlers.Caught():
                tries.enter_handler(self, stmt)
            case handlers.Again():
                tries.raise_again(self, stmt)
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if list_methods.extends(self, name, value):
                pass
            case ast.Assign(targets=targets, value=ast.Constant(True)) if first_apart.goes_on(self, targets):
                pass
            case ast.Assign(targets=targets, value=value):
                mark = len(self.build.block)
                result = self._reading_for(targets)(self, value)
                made = result
                if exchanged_items.is_exchange(targets, value):
                    result = exchanged_items.exchanged(self, targets, result)
                if len(targets) > 1 and not isinstance(targets[0], ast.Name):
                    result = self.env[f"{HELD}{id(stmt)}"] = binding.bind_item(self, "t", result)
                self.at_statement()
                for target in targets:
                    assignment.assign(self, target, result, mark)
                    if isinstance(target, ast.Name):
                        result = self.env[target.id]  # a = b = value: b is a by another name
                    mark = len(self.build.block)
                self.env.pop(f"{HELD}{id(stmt)}", None)
                iterators.assigned(self, targets, value, made)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    mark = len(self.build.block)
                    made = expressions.evaluate(self, value)
                    assignment.assign(self, target, made, mark)
                    iterators.assigned(self, [target], value, made)
            case ast.AugAssign():
                augmented.augment(self, stmt)
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    expressions.as_it_is(self, value)
            case ast.If():
                return if_statements.branch(self, stmt)
            case ast.For():
                control.for_loop(self, stmt)
            case ast.While():
                control.while_loop(self, stmt)
            case ast.FunctionDef():
                definitions.define(self, stmt)
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
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                contexts.only_read(self, stmt, names)
            case _:
                word = {"ClassDef": "class", "AsyncFor": "async for"}.get(
                    type(stmt).__name__, type(stmt).__name__.lower()
                )
                help = ("define it outside of the function",) if word == "class" else ()
                self.build.refuse(f"a {word} statement is not supported in a differentiated function", *help)
        return False

    def _reading_for(self, targets: list[ast.expr]) -> expressions.Reading:
        if all(map(self._is_handed_on_by, targets)):
            return expressions.as_it_is
        are_items = all(isinstance(target, ast.Subscript) or self._is_handed_on_by(target) for target in targets)
        return expressions.as_item if are_items else expressions.evaluate

    def _is_handed_on_by(self, target: ast.expr) -> bool:
        """What is None at times, or one of several things: for a name, a field, a caller; not as the result of f."""
        is_result = isinstance(target, ast.Name) and target.id == flow.RESULT
        return isinstance(target, (ast.Name, ast.Attribute)) and not (is_result and len(self.frames) == 1)

    def delete(self, targets: list[ast.expr]) -> None:
        for target in targets:
            self.delete_one(target)

    def delete_one(self, target: ast.expr) -> None:
        """del name, del d[key], del ys[i], del o.name"""
        match target:
            case ast.Name(id=name):
                self.lookup(name)
                self.env.pop(name, None)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self.delete(parts)
            case ast.Subscript(value=base, slice=items):
                owner, index = expressions.evaluate(self, base), expressions.evaluate(self, items)
                owner = identities.now(self, owner)
                if records.is_dict(owner):
                    named_parts.remove(self, owner, records.key_of(self, index))
                elif identities.is_list(owner):
                    list_methods.method(self, owner, "pop", [index])
                else:
                    self.build.refuse("only names, and items of lists and dicts, can be deleted")
            case ast.Attribute(value=base, attr=name):
                computed_attributes.delete_attribute(self, expressions.evaluate(self, base), Static(name))
            case _:
                self.build.refuse("only names, and items of lists and dicts, can be deleted")

    def import_names(self, stmt: ast.Import | ast.ImportFrom) -> None:
        namespace: dict[str, Any] = {}
        module = ast.Module([stmt], [])
        base = self.frame.function.__globals__ if self.frame.function else {}
        try:
            exec(compile(module, "<import>", "exec"), {"__package__": base.get("__package__")}, namespace)
        except ImportError as problem:
            is_module = isinstance(problem, ModuleNotFoundError)
            self.build.refuse(str(problem), error=ModuleArgumentError if is_module else ImportArgumentError)
        for name, value in namespace.items():
            place = _origin(stmt, name, base.get("__package__"))
            self.env[name] = constant(value) if place is None else self.outside(name, place)

    # -------------------------------------------------------------------------------------------- writing

    # ---------------------------------------------------------------------------------------------- names

    def lookup(self, name: str) -> Any:
        """What a name stands for: a local, a name around the function, a global, a builtin."""
        frame = self.frame
        value = frame.bound(name)
        if value is not None:
            if value is UNDEFINED:
                unbound.refuse(self, name)
            if is_lost(value):
                self.build.refuse(value.value.why, value.value.help)
            unbound.check_bound(self, name)
            generators.refuse_held(self, value)
            if self.build.fields.are_views:
                item_names.look_up(self, name, value)
            if isinstance(value, Once):
                return iterators.taken(self, name, value)
            return optional.where_known(value)
        while frame.function is None and frame.parent is not None:
            frame = frame.parent
        function = frame.function
        assert function is not None
        code, cells = function.__code__, function.__closure__ or ()
        if name in code.co_freevars:
            cell = cells[code.co_freevars.index(name)]
            return self.outside(name, InCell(cell, function))
        scope = function.__globals__
        if frame.is_composition and name in scope:
            return constant(scope[name])
        if name in scope:
            return self.outside(name, InScope(scope, name))
        if hasattr(builtins, name):
            if not frame.is_composition:
                place = IsGlobal(scope, name)
                self.assumed[place.key] = (place, False)
            return Static(getattr(builtins, name))
        if name in code.co_varnames or name in code.co_cellvars:  # another path may have bound it
            return self.build.refuse(f"name {name!r} is not defined", error=UnboundError)
        place = IsGlobal(scope, name)
        self.assumed[place.key] = (place, False)  # an except clause may name it, and nothing comes there
        return self.build.refuse(f"name {name!r} is not defined", error=NameArgumentError)

    def outside(self, name: str, place: Place) -> Any:
        """A value from outside: arrays and finite floats are handed in at every call, the rest are constants."""
        key = place.key
        if key in self.captured:
            return self.captured[key][1]
        try:
            current = place()
        except ValueError:
            return self.build.refuse(f"{name} is not bound yet")
        is_end = isinstance(current, float) and math.isinf(current)  # from math import inf: np.inf, by another name
        if isinstance(current, (np.ndarray, float, complex, np.inexact)) and not is_end:
            return self.hand_in(name, place)
        if key in self.varying and is_whole(current) and is_small(current):
            small = IsSmall(place)
            self.assumed[small.key] = (small, True)
            return self.hand_in(name, place)
        if not isinstance(current, type) and is_device_array(current):
            return self.build.refuse(f"{name} lies on a GPU, and is no argument", f"make {name} an argument")
        if isinstance(current, (tuple, list, dict)) and (key in self.varying or holds_arrays(current)):
            form = FormOf(place)
            self.assumed[form.key] = (form, form())
            keys = list(current) if isinstance(current, dict) else range(len(current))
            items = [self.outside(name, InGroup(place, k)) for k in keys]
            return TupleValue(tuple(items), DictKind(tuple(keys)) if isinstance(current, dict) else type(current))
        if not inspect.ismodule(current) or current.__name__.split(".")[0] not in LIBRARIES:
            self.assumed[key] = (place, current)
        return constant(current)

    def said(self, name: str, make: Callable[[], Any], values: Iterable[Any]) -> Any:
        """What Python makes of values that are known: of objects from outside, it has to stay what it is now."""
        values = list(values)
        made = make()
        if any(map(outside.may_change, values)):
            place = Said((Said, name, *map(id, values)), make)
            self.assumed[place.key] = (place, made)
        return made

    def hand_in(self, name: str, place: Place) -> Any:
        kind = type_of(name, place())
        param = parameter(self.build, name, kind)
        self.build.handed_in.add(param.name)
        self.build.handed_in_order |= {param.name} & self.build.contiguous
        value: Any = whole(param) if isinstance(param, Array) else Scalar(param, getattr(kind, "weak", False))
        self.captured[place.key] = (Captured(name, place, param), value)
        return value


def _origin(stmt: ast.Import | ast.ImportFrom, name: str, package: str | None) -> InObject | None:
    """Where `from module import name` finds what it imports; None where that is a module, or of a library."""
    if isinstance(stmt, ast.Import):
        return None
    origin = importlib.util.resolve_name("." * stmt.level + (stmt.module or ""), package)
    wanted = next(alias.name for alias in stmt.names if name in (alias.asname, alias.name))
    module = sys.modules[origin]
    if origin.split(".")[0] in LIBRARIES or inspect.ismodule(getattr(module, wanted)):
        return None
    return InObject(module, wanted)
