"""`try` with `except`: whether the body raises is found ahead of it, so that it runs to its end or not at all.

try:                        caught = 0
    y = 1 / root(x)         if x < 0: caught = 1                      (where `root` raises)
except ValueError:     →    if caught == 0 and root(x) == 0: caught = 2
    y = 0.0                 if caught == 0: y = 1 / root(x)
except ArithmeticError:     elif caught == 1: y = 0.0
    y = 1.0                 else: y = 1.0
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import AttributeArgumentError, NameArgumentError, UnboundError, is_placed
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Call, Const, Expr, Var
from ...ir.nodes import Alloc, Assign, Block, If, Invoke, Print, Raise, Stmt
from ...ir.walk import statements, targets, variables
from ...runtime import errors as runtime_errors
from .. import expressions, identities
from ..aliases import value_leaves
from ..arithmetic import cast as cast_to
from ..array_values import ArrayValue
from ..joined_numbers import join_scalars
from ..syntax import flow, liveness
from ..syntax.handlers import Again, Caught, Probe
from ..syntax.left_early import leaving, until_the_last
from ..values import UNDEFINED, Items, Lost, OneOf, Scalar, Static, TupleValue, constant
from .unbound import bound_flag
from .when_reached import RAISED, raised_for

if TYPE_CHECKING:
    from ..interpret import Interpreter


@dataclass
class Watch:
    """What a `try` sees of its body: what is raised, and what has happened until then."""

    interpreter: Interpreter
    kinds: list[tuple[type[BaseException], ...]]
    flag: Var
    is_raised_again: bool  # so the flag is the place in `raised`, from 1 on; else it is the number of the handler
    frame: Any = None
    names: tuple[str, ...] = ()
    before: dict[str, Any] = field(default_factory=dict)
    lists: dict[object, Any] = field(default_factory=dict)
    raised: list[Raise] = field(default_factory=list)
    told: dict[Raise, tuple[Var, ...]] = field(default_factory=dict)  # the numbers that it names
    which: Expr = affine.ZERO
    held: dict[int, tuple[Raise, dict[str, Any]]] = field(default_factory=dict)  # what names are when it is raised
    partly: dict[str, Scalar | None] = field(default_factory=dict)  # the same in a handler; None: not known

    def begin(self, assigned: frozenset[str]) -> None:
        """From here on; what is assigned has other variables until the end, as it stays what it is."""
        self.frame = self.interpreter.frame
        env = self.frame.env
        for name in [name for name in env if name.startswith(flow.OWN)]:
            del env[name]  # the body as a probe has flags of its own
        own = sorted(name for name in assigned if not name.startswith("."))
        self.names = (*own, *map(bound_flag, own))
        for name in self.names:
            if name in env:
                env[name] = _another(self.interpreter, name.lstrip("."), env[name])
        self.before, self.lists = dict(env), identities.held(self.interpreter)

    def catches(self, error: type[BaseException]) -> int | None:
        """The number of the handler that catches it."""
        return next((n for n, kinds in enumerate(self.kinds, 1) if issubclass(error, kinds)), None)

    def handler(self, stmt: Raise) -> int | None:
        return self.catches(_class_of(self.interpreter, stmt))

    def is_caught(self, stmt: Stmt) -> bool:
        """Is it something that Python raises, too, and caught here?  A limit of ours is an error of the whole call."""
        if not isinstance(stmt, Raise) or self.handler(stmt) is None:
            return False
        if is_placed(stmt.message):
            return stmt.error in PYTHONS
        error = _class_of(self.interpreter, stmt)
        return not (self.interpreter.frame.is_composition and issubclass(error, NotImplementedError))

    def number(self, stmt: Raise) -> int:
        """What the flag is where this has been raised."""
        return self.raised.index(stmt) + 1 if self.is_raised_again else cast(int, self.handler(stmt))

    def leaves(self, stmt: Stmt) -> Block:
        """What notes, in the place of a `raise`, that it would be caught here, and what names are then."""
        if not isinstance(stmt, Raise) or id(stmt) not in self.held:
            return ()
        out = [Assign(self.flag, affine.integer(self.number(stmt)), span=stmt.span)]
        for var, told in zip(self.told.get(stmt, ()), stmt.values, strict=False):
            out.append(Assign(var, told, span=stmt.span))
        _, held = self.held[id(stmt)]
        for name, here in self.partly.items():
            if here is not None:
                out.append(Assign(cast(Var, here.expr), cast_to(held[name].expr, here.dtype), span=stmt.span))
        return tuple(out)

    def settle(self, kept: Block) -> None:
        """Variables for what names are in a handler: in Python they keep what they had when it was raised."""
        build = self.interpreter.build
        for stmt in self.raised:
            self.told[stmt] = tuple(Var(build.names.fresh("told"), value.dtype) for value in stmt.values)
        found = [self.held[id(stmt)][1] for stmt in statements(kept) if id(stmt) in self.held]
        for name in self.names:
            values = [held[name] for held in found]
            numbers = [value for value in values if isinstance(value, Scalar)]
            if all(value is None or value is UNDEFINED for value in values) or self._stays(name, values):
                continue
            if len(numbers) < len(values):
                self.partly[name] = None
                continue
            joined = numbers[0]
            for value in numbers[1:]:
                joined = join_scalars(joined, value)
            var = Var(build.names.fresh(name.lstrip(".")), joined.dtype)
            if any(value.weak != joined.weak for value in numbers):
                build.either.add(var)
            self.partly[name] = replace(joined, expr=var)

    def _stays(self, name: str, values: list[Any]) -> bool:
        """Is it, wherever something is raised, the array or list (or function …) that it is ahead of all?"""
        before = self.before.get(name)
        is_whole = isinstance(before, (ArrayValue, Static, Items)) or getattr(before, "identity", None) is not None
        return is_whole and all(value is before for value in values)

    def see(self, stmt: Stmt) -> bool:
        """A statement is emitted: is something raised in it that is caught here?"""
        parts = (*stmt.then, *stmt.orelse) if isinstance(stmt, If) else (stmt,)
        found = [part for part in parts if isinstance(part, Raise) and self.is_caught(part)]
        for part in found:
            if part not in self.raised:
                self.raised.append(part)
            env = self.frame.env
            self.held.setdefault(id(part), (part, {name: env.get(name) for name in self.names}))
            frames = self.interpreter.frames
            calls = frames[next(k for k, frame in enumerate(frames) if frame is self.frame) + 1 :]
            now = identities.held(self.interpreter, calls)
            if any(now.get(identity, value) != value for identity, value in self.lists.items()):
                self.interpreter.build.refuse(
                    "a list or an object changes in a try statement ahead of what may raise an exception",
                    "change it behind the try statement, or under its else",
                )
        return bool(found)


PYTHONS = ("RuntimeKeyError", "BoundsError")  # what we raise at a place of the program's, as Python does


def _class_of(interpreter: Interpreter, stmt: Raise) -> type[BaseException]:
    found = interpreter.exceptions.get(stmt.error) or getattr(builtins, stmt.error, None)
    found = found or getattr(runtime_errors, stmt.error)
    return getattr(found, "error", found)


# What Python raises for sure, and we say when the function is read.


def probe(interpreter: Interpreter, stmt: Probe) -> None:
    """Which handler catches what the body raises, as a number: 0 if it comes to its end."""
    build = interpreter.build
    interpreter.exceptions.setdefault("LinAlgError", np.linalg.LinAlgError)
    kinds = []
    for number, kind in enumerate(stmt.kinds, 1):
        try:
            kinds.append(_kinds(interpreter, kind))
        except (AttributeArgumentError, NameArgumentError) as problem:  # Python fails when it comes to this clause
            if isinstance(problem, UnboundError):  # another path may have bound it
                raise
            kinds.append((BaseException,))
            stmt.unreadable[number] = Raise(raised_for(problem)[0].__name__, problem.message, span=problem.span)
    interpreter.at(stmt)
    watch = stmt.found = Watch(interpreter, kinds, Var(build.names.fresh("caught"), INT64), stmt.is_raised_again)
    build.mutable.add(watch.flag)
    body = flow.probed(stmt.watched)
    liveness.annotate(body, [flow.RESULT])
    assigned = liveness.assigned(stmt.watched)
    liveness.read_anywhere(body, assigned)
    envs = [(frame, dict(frame.env)) for frame in identities.frames_of(interpreter)]
    stale, depth = build.stale, build.depth
    block: list[Stmt] = []
    build.watches.append(watch)
    try:
        with build.nested(block):
            watch.begin(assigned)
            try:
                interpreter.block(body)
            except tuple(RAISED) as problem:
                error, _ = raised_for(problem)
                is_here = problem.depth == depth + 1 and not isinstance(problem, UnboundError)
                if not is_here or watch.catches(error) is None:
                    raise
                build.emit(Raise(error.__name__, problem.message))
    finally:
        build.watches.remove(watch)
        build.stale = stale
        for frame, env in envs:
            frame.env.clear()
            frame.env.update(env)
    interpreter.at(stmt)
    kept = until_the_last(tuple(block), watch.leaves)
    name = cast(ast.Name, stmt.targets[0]).id
    interpreter.env[name] = Scalar(affine.ZERO, weak=True)
    _refuse_calls(interpreter, block)
    if not kept:
        return
    _refuse_effects(interpreter, kept)
    watch.settle(kept)
    if isinstance(kept[0], Raise):
        build.block += watch.leaves(kept[0])
        watch.which = affine.integer(watch.number(kept[0]))
        interpreter.env[name] = constant(watch.handler(kept[0]))
        return
    build.emit(Assign(watch.flag, affine.ZERO))
    for held in watch.partly.values():
        if held is not None:
            build.emit(_nothing_in(cast(Var, held.expr)))
    for var in (var for told in watch.told.values() for var in told):
        build.emit(_nothing_in(var))
    goes_on: Expr = Call("eq", (watch.flag, affine.ZERO), BOOL)
    build.block += leaving(build, kept, watch.leaves, goes_on)
    watch.which = watch.flag
    interpreter.env[name] = Scalar(_handler(watch) if watch.is_raised_again else watch.flag, weak=True)
    handlers = {watch.handler(found) for found in watch.raised}
    if isinstance(kept[-1], Raise) and len(handlers) == 1:  # something is raised on every path
        interpreter.env[name] = constant(handlers.pop())


def _nothing_in(var: Var) -> Stmt:
    return Assign(var, Const(var.dtype.type(0).item(), var.dtype))


def _handler(watch: Watch) -> Expr:
    """The number of the handler that catches what was raised; 0 for none."""
    number: Expr = affine.ZERO
    for stmt in watch.raised:
        is_it = Call("eq", (watch.which, affine.integer(watch.number(stmt))), BOOL)
        number = Call("select", (is_it, affine.integer(cast(int, watch.handler(stmt))), number), INT64)
    return number


def _kinds(interpreter: Interpreter, kind: ast.expr | None) -> tuple[type[BaseException], ...]:
    if kind is None:
        return (BaseException,)
    value = expressions.evaluate(interpreter, kind)
    values = value.items if isinstance(value, TupleValue) else (value,)
    found: tuple[Any, ...] = tuple(v.value if isinstance(v, Static) else None for v in values)
    if not all(isinstance(v, type) and issubclass(v, BaseException) for v in found):
        interpreter.at(kind)
        interpreter.build.refuse("only exception classes can be caught")
    return found


def _another(interpreter: Interpreter, name: str, value: Any) -> Any:
    match value:
        case Scalar(expr=expr) if not value.is_constant:
            return replace(value, expr=interpreter.build.variable(name, expr))
        case OneOf(number=number):
            return replace(value, number=_another(interpreter, name, number))
        case TupleValue(items=items, identity=None):
            return replace(value, items=tuple(_another(interpreter, name, item) for item in items))
    return value


def _refuse_calls(interpreter: Interpreter, block: Sequence[Stmt]) -> None:
    for stmt in statements(tuple(block)):
        if isinstance(stmt, Invoke):
            interpreter.build.span = stmt.span or interpreter.build.span
            interpreter.build.refuse(
                "a call of a function that is compiled on its own in a try statement",
                because="what it raises can't be caught here",
            )


def _refuse_effects(interpreter: Interpreter, block: Sequence[Stmt]) -> None:
    """What has been done when an exception is caught stays done in Python; here the body then does not run."""
    build = interpreter.build
    inside = statements(tuple(block))
    values = (value for frame in identities.frames_of(interpreter) for value in frame.env.values())
    numbers = {
        var
        for value in values
        for leaf in value_leaves(value)
        if isinstance(leaf, Scalar)
        for var in variables(leaf.expr)
    }
    made = {stmt.array.name for stmt in inside if isinstance(stmt, Alloc)}
    for stmt in inside:
        build.span = stmt.span or build.span
        if isinstance(stmt, Print) and stmt.by != "note_arrays":
            build.refuse("print in a try statement, ahead of what may raise an exception", "print behind it")
        for target in targets(stmt):
            is_outside = target in numbers if isinstance(target, Var) else build.root(target) not in made
            if is_outside:
                build.refuse(
                    f"{target.name} is written in a try statement ahead of what may raise an exception",
                    "write it behind the try statement, or under its else",
                )


def enter_handler(interpreter: Interpreter, stmt: Caught) -> None:
    """Names that the body may have assigned before it was left can't be read in a handler, nor behind it.

    Where it is not known what the handler catches (`np.linalg.linalg` is gone), coming to it is an error in Python.
    """
    for name, held in stmt.probe.found.partly.items():
        if held is not None:
            interpreter.env[name] = held
        elif not name.startswith("."):
            lost = f"{name} may or may not have been assigned when the exception was raised"
            interpreter.env[name] = Static(Lost(lost, f"assign {name} ahead of the try statement, or behind it"))
    if stmt.number in stmt.probe.unreadable:
        interpreter.build.emit(stmt.probe.unreadable[stmt.number])
    if stmt.name is not None:
        lost = "of an exception that is caught only its class is known"
        interpreter.env[stmt.name] = Static(Lost(lost, f"raise, or raise ... from {stmt.name}"))


def raise_again(interpreter: Interpreter, stmt: Again) -> None:
    """`raise` in a handler, for the one that it can be."""
    watch: Watch = stmt.probe.found
    raised = [found for found in watch.raised if watch.handler(found) == stmt.number]
    if isinstance(watch.which, Const):
        raised = [watch.raised[watch.which.value - 1]]
    for found in raised:
        again: Stmt = Raise(found.error, found.message, watch.told[found])
        if found != raised[-1]:
            again = If(Call("eq", (watch.which, affine.integer(watch.number(found))), BOOL), (again,))
        interpreter.build.emit(again)
