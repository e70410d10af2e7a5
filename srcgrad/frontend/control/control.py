"""`for` and `while` loops as statements of the IR.

for i in range(n):            while trip < n and not stopped:
    if x[i] < 0: break   →        i = trip; …
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import SrcgradError
from ...ir import affine
from ...ir.expressions import BOOL, INT64, Axis, Call, Const, Expr, Var, both, compare, negated
from ...ir.nodes import Assign, For, Stmt, While
from ...ir.walk import is_constant, statements
from .. import assignment, expressions, identities, operators, unpacking
from ..aliases import HELD, value_leaves
from ..array_values import ArrayValue, remap, whole
from ..calls.recursion import NotYetKnown
from ..lists import item_views, lists
from ..lists.growing_lists import WrittenOut
from ..lists.run_over import RunOver
from ..syntax.liveness import assigned
from ..values import Grid, Indexed, Range, Scalar, TupleValue, constant
from . import choices, first_apart, generators, items_in_rows
from .attempts import restore, save
from .carried import repeat, settle
from .grid_loops import loop_over_grid
from .if_statements import branch

if TYPE_CHECKING:
    from ..builder import Builder
    from ..interpret import Interpreter


UNROLLED = 64  # iterations at most of a loop that is written out, because its index has to be known
SHORT, MOST_TEXT = 8, 300  # a loop over so many items is written out in a nest of 600; over more, if it is no more
MOST_TEXT_OF_NEST = 600  # statements, with what the loops around it make of them
MOST_TEXT_OF_ARRAYS = 200  # where the items are, or hold, arrays
LONG = 32  # numbers at most in a tuple or a list that a loop over them is written out for
GROWN = 16  # iterations at most of a loop that is written out because a list grows in it


def for_loop(interpreter: Interpreter, node: ast.For) -> None:
    """A `for` loop; written out where that is the only way (an index that selects an axis, or an item of a tuple)."""
    with item_views.run_over(interpreter, node.iter):
        over = unpacking.run_over_by_loop(interpreter, expressions.evaluate(interpreter, node.iter))
        interpreter.build.fields.are_parts = False
        _over(interpreter, node, over)


def _over(interpreter: Interpreter, node: ast.For, over: Any) -> None:
    if getattr(node, "surely_runs", False) and not unpacking.known_range(over):  # which the text alone had told
        interpreter.build.refuse("range is not Python's own here", "give that function another name")
    over = generators.of_object(interpreter, over)
    if generators.is_one(over):
        generators.for_loop(interpreter, node, over.value)
        return
    run_over = RunOver(interpreter, node.iter, over)
    if isinstance(over, TupleValue):
        _over_items(interpreter, node, unpacking.items_of(interpreter, over), run_over)
        return
    if isinstance(over, Grid):
        loop_over_grid(interpreter, node, over)
        return
    few = known_items(interpreter, over, UNROLLED)
    if few is None:
        rolled(interpreter, node, over)
        run_over.check()
        return
    saved, several = save(interpreter), set(interpreter.one_of_several)
    try:
        rolled(interpreter, node, over, is_short=len(few) <= GROWN)
        run_over.check()
        return
    except (SrcgradError, WrittenOut):
        restore(interpreter, saved)
        interpreter.one_of_several = several  # written out, it is known who holds what
    unrolled(interpreter, node, few, run_over, at=over.item if isinstance(over, Indexed) else None)


def _over_items(interpreter: Interpreter, node: ast.For, items: list[Any], run_over: RunOver) -> None:
    if len(items) > LONG and _over_array(interpreter, node, items, run_over):
        return
    if SHORT < len(items) <= LONG or (1 < len(items) <= SHORT and items_in_rows.are_alike(items)):
        if _written_out(interpreter, node, items, run_over) or _over_array(interpreter, node, items, run_over):
            return
    unrolled(interpreter, node, items, run_over)


def _written_out(interpreter: Interpreter, node: ast.For, items: list[Any], run_over: RunOver) -> bool:
    """A loop over few items is written out where that is not too much text; of a nest, the outermost is not, then."""
    around, known = interpreter.written_out, interpreter.too_long.get(id(node))
    if known is not None and around >= known[1]:
        return False
    is_short, saved = len(items) <= SHORT, save(interpreter)
    on_trial = interpreter.on_trial
    interpreter.on_trial = (*on_trial, node) if is_short else on_trial
    try:
        most = MOST_TEXT_OF_NEST // around if is_short else MOST_TEXT
        if _hold_arrays(items):
            most = min(most, MOST_TEXT_OF_ARRAYS)
        unrolled(interpreter, node, items, run_over, most=most)
        return True
    except TooMuchText as found:
        if found.loop is not node:
            raise
        restore(interpreter, saved)
        if is_short:
            interpreter.too_long[id(node)] = node, around
        return False
    finally:
        interpreter.on_trial = on_trial


def _hold_arrays(items: list[Any]) -> bool:
    return any(isinstance(leaf, ArrayValue) for leaf in value_leaves(items[0]))


class TooMuchText(Exception):
    """A loop over numbers that was about to be written out."""

    def __init__(self, loop: ast.For) -> None:
        self.loop = loop


def _over_array(interpreter: Interpreter, node: ast.For, items: list[Any], run_over: RunOver) -> bool:
    """A loop over many numbers, arrays, or tuples and objects of them, runs over arrays of them, if it can.

    (What is done with several arrays becomes one kernel, where it is written out.)
    """
    if not items_in_rows.are_alike(items) or (interpreter.build.for_kernels and _hold_arrays(items)):
        return False
    saved = save(interpreter)
    try:
        rows = items_in_rows.Rows(interpreter, items)
        rolled(interpreter, node, Indexed(rows.count, rows.item, tuple(rows.held)))
        run_over.check()
        rows.refuse_written()
        return True
    except (SrcgradError, WrittenOut):
        restore(interpreter, saved)
        return False


def known_items(interpreter: Interpreter, over: Any, most: int) -> list[Any] | None:
    """The items that a loop runs over, or their numbers, if they are few and each is known by its number."""
    numbers = unpacking.known_range(over)
    if numbers is not None and len(numbers) <= most:
        return [constant(k) for k in numbers]
    if isinstance(over, Indexed) and isinstance(over.count, Const) and over.count.value <= most:
        return [constant(k) for k in range(over.count.value)]
    return None


def rolled(interpreter: Interpreter, node: ast.For, over: Any, is_short: bool = False) -> None:
    over = lists.run_over(interpreter, over)
    names = []
    if isinstance(over, Range):
        rng = over
        item: Callable[[Expr], Any] = lambda index: Scalar(index, weak=True)
    elif isinstance(over, Indexed):
        rng, item = Range(affine.ZERO, over.count, affine.ONE), over.item
        for k, held in enumerate(over.held):
            names.append(f"{HELD}{id(node)}_{k}")
            interpreter.env[names[-1]] = held
    elif isinstance(over, ArrayValue) and over.ndim:
        held = whole(interpreter.build.stored(over, "items"))
        names.append(f"{HELD}{id(node)}")
        interpreter.env[names[-1]] = held
        rng = Range(affine.ZERO, held.dims[0], affine.ONE)

        def item(index: Expr) -> Any:
            inner = remap(held, held.dims[1:], [index, *(Axis(k) for k in range(held.ndim - 1))])
            interpreter.build.check_fresh(inner.element)
            return inner if inner.dims else Scalar(inner.element, types=inner.types)
    else:
        interpreter.build.refuse("a for loop runs over a range, an array or a tuple")
    start, stop, step = (
        interpreter.build.pin(e, n)
        for e, n in zip((rng.start, rng.stop, rng.step), ("start", "stop", "step"), strict=False)
    )
    rng = Range(start, stop, step)
    if getattr(node, "stop_flag", None) is not None:  # Python's own range is not there to say so
        unpacking.refuse_step_of_zero(interpreter.build, rng)
    _over_range(interpreter, node, rng, item, is_short, first_apart.MOST if is_short else 0)
    for name in names:
        interpreter.env.pop(name, None)


def _over_range(
    interpreter: Interpreter, node: ast.For, rng: Range, item: Callable[[Expr], Any], is_short: bool, apart: int
) -> None:
    """`apart`: as many iterations are ahead of the loop by now."""
    make = _for if getattr(node, "stop_flag", None) is None else _for_until
    again = lambda carried: make(interpreter, node, rng, item, carried)
    first_apart.run(
        interpreter,
        node,
        loop=lambda: repeat(interpreter, node, node.body, again, rng, is_short),
        runs=lambda: _runs(unpacking.trips_of(rng)),
        first=lambda: assignment.assign(interpreter, node.target, item(rng.start), len(interpreter.build.block)),
        rest=lambda apart: _over_range(
            interpreter, node, replace(rng, start=affine.add(rng.start, rng.step)), item, is_short, apart
        ),
        apart=apart,
    )


def _runs(trips: Expr) -> Expr:
    return Const(trips.value > 0, BOOL) if isinstance(trips, Const) else compare("gt", trips, affine.ZERO)


def unrolled(
    interpreter: Interpreter,
    node: ast.For,
    items: list[Any],
    run_over: RunOver,
    first: int = 0,
    at: Callable[[Expr], Any] | None = None,
    most: int | None = None,
) -> None:
    """A loop over a tuple: one copy of the body each.  `first`: the number of the first item; `at`: what gives each,
    when its turn comes."""
    build, flag = interpreter.build, getattr(node, "stop_flag", None)
    around, times = interpreter.written_out, len(items)
    while items:
        mark = len(build.block)
        item = identities.now(interpreter, items[0]) if at is None else at(items[0].expr)
        assignment.assign(interpreter, node.target, item, len(build.block))
        interpreter.written_out = around * times
        try:
            interpreter.block(node.body)
        finally:
            interpreter.written_out = around
        if most is not None and len(items) * len(statements(tuple(build.block[mark:]))) > most:
            raise TooMuchText(interpreter.on_trial[0] if len(items) <= SHORT else node)
        most = None
        stopped = constant(False) if flag is None else interpreter.lookup(flag)
        if stopped.is_constant and stopped.value:
            return
        items = run_over.left(items[1:], mark)
        run_over.check(first)
        first += 1
        if items and flag is not None and not stopped.is_constant:
            again = ast.copy_location(ast.For(node.target, ast.Constant(None), node.body, []), node)
            again.stop_flag = flag  # type: ignore[attr-defined]
            again.items_left = items  # type: ignore[attr-defined]
            test = ast.copy_location(ast.UnaryOp(ast.Not(), ast.copy_location(ast.Name(flag, ast.Load()), node)), node)
            guard = ast.copy_location(ast.If(test, [again], []), node)
            guard.live_out = node.live_out | assigned([node])  # type: ignore[attr-defined]
            again.live_out = guard.live_out  # type: ignore[attr-defined]
            branch(interpreter, guard, then=partial(unrolled, interpreter, again, items, run_over, first, at))
            return


def _for(interpreter: Interpreter, node: ast.For, rng: Range, item: Callable[[Var], Any], names: list[str]) -> Stmt:
    build = interpreter.build
    index = node.index = loop_index(interpreter, node, names)  # type: ignore[attr-defined]
    note_range(build, index, rng)
    build.pinned.add(index)  # a name of it that an inner loop assigns gets a variable of its own
    block: list[Stmt] = []
    with build.nested(block):
        settle(interpreter, names)
        assignment.assign(interpreter, node.target, item(index), len(block))
        interpreter.block(node.body)
        interpreter.close_loop()  # type: ignore[misc]
    build.pinned.discard(index)
    build.names.release(index.name)
    for known in (build.lower, build.upper):
        known.pop(index, None)  # another loop may have an index of this name
    return For(index, rng.start, rng.stop, rng.step, tuple(block))


def note_range(build: Builder, index: Expr, rng: Range) -> None:
    """The least and the greatest value of what runs over a range."""
    is_upward = isinstance(rng.step, Const) and rng.step.value > 0
    if is_upward and build.is_at_least(rng.start, 0):
        build.lower[index] = rng.start.value if isinstance(rng.start, Const) else 0
    elif is_constant(rng.step) and isinstance(rng.stop, Const) and not is_upward:
        build.lower[index] = rng.stop.value + 1
    if is_constant(rng.step):
        build.upper[index] = affine.sub(rng.stop, affine.ONE) if is_upward else rng.start


def loop_index(interpreter: Interpreter, node: ast.For, names: list[str]) -> Var:
    """The index variable: the user's own name where the user only reads it."""
    target = node.target.id if isinstance(node.target, ast.Name) else "i"
    own = isinstance(node.target, ast.Name) and target not in names and target not in assigned(node.body)
    wanted = target if own and isinstance(node.iter, ast.Call) else "i" if target != "i" else "k"
    return Var(interpreter.build.names.index(wanted), INT64)


def _for_until(
    interpreter: Interpreter, node: ast.For, rng: Range, item: Callable[[Var], Any], names: list[str]
) -> Stmt:
    """A loop that may stop early: `while` with a counter."""
    build = interpreter.build
    trip = node.index = Var(build.names.fresh("trip"), INT64)  # type: ignore[attr-defined]
    build.lower[trip] = 0
    at = affine.add(rng.start, affine.mul(rng.step, trip))
    upward = is_constant(rng.step)
    inside: Expr
    if upward:
        op = "lt" if rng.step.value > 0 else "gt"  # type: ignore[attr-defined]
        inside = Call(op, (at, rng.stop), BOOL)
    else:
        ahead = Call("gt", (rng.step, affine.ZERO), BOOL)
        less, more = (Call(op, (at, rng.stop), BOOL) for op in ("lt", "gt"))
        inside = Call("select", (ahead, less, more), BOOL)
    stopped = interpreter.lookup(node.stop_flag)  # type: ignore[attr-defined]
    condition = both(inside, negated(stopped.expr))
    block: list[Stmt] = []
    with build.nested(block):
        index = Var(build.names.fresh("i"), INT64)
        build.emit(Assign(index, at))
        if isinstance(rng.start, Const) and is_constant(rng.step) and rng.step.value > 0:  # type: ignore[attr-defined]
            build.lower[index] = rng.start.value
        settle(interpreter, names)
        assignment.assign(interpreter, node.target, item(index), len(block))
        interpreter.block(node.body)
        interpreter.close_loop()  # type: ignore[misc]
    return While(trip, condition, tuple(block))


def _ahead_of_what_fails(interpreter: Interpreter, test: ast.expr) -> list[ast.expr] | None:
    """Of a test that is known to fail at once, what it asks first; None of others.
    `while s and s[-1] > x[i]: s.pop()` has no last item to look at or to take off where the list is empty, be it that
    a loop around has yet to make it longer."""
    saved, names, head = save(interpreter), interpreter.build.names.save(), list[Stmt]()
    reads = len(interpreter.early_reads)
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    try:
        with interpreter.build.into(head):
            for position, part in enumerate(parts):
                condition = operators.truth(interpreter, expressions.as_it_is(interpreter, part))
                if head:
                    return None
                if is_constant(condition, False):
                    return parts[:position]
    except (SrcgradError, NotYetKnown):
        pass  # it will be said in its place
    finally:
        restore(interpreter, saved)
        interpreter.build.names.restore(names)
        del interpreter.early_reads[reads:]
    return None


def while_loop(interpreter: Interpreter, node: ast.While, apart: int = 0) -> None:
    build = interpreter.build
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        build.refuse(":= in the test of a while loop with an else is not supported", "assign ahead of the loop")
    ahead = _ahead_of_what_fails(interpreter, node.test)
    if ahead is not None:
        if ahead:
            first = choices.boolean(interpreter, True, ahead, is_test=True)
            build.block.extend(choices.look_at(operators.truth(interpreter, first), build.span))
        return
    flag = getattr(node, "stop_flag", None)
    test = node.test
    if flag is not None:
        unstopped = ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load()))
        test = ast.BoolOp(ast.And(), [unstopped, node.test])
        for part in (unstopped, unstopped.operand, test):
            ast.copy_location(part, node.test)
        test.is_test = True  # type: ignore[attr-defined]

    def make(names: list[str]) -> Stmt:
        trip = node.index = Var(build.names.fresh("trip"), INT64)  # type: ignore[attr-defined]
        build.lower[trip] = 0
        head: list[Stmt] = []
        saved = save(interpreter)
        lists_before = identities.held(interpreter)
        with build.into(head):
            condition = operators.truth(interpreter, expressions.as_it_is(interpreter, test))
        if identities.held(interpreter) != lists_before:
            interpreter.at(node.test)
            build.refuse("the test of the while loop changes a list", "while True: if not …: break")
        simple = not head
        if not simple:  # the test needs statements of its own: they run ahead of the loop, and at its end
            restore(interpreter, saved)
            changing = settle(interpreter, names)
            condition = operators.truth(interpreter, expressions.as_it_is(interpreter, test))
            condition = build.variable("running", condition)
            build.mutable.add(condition)
            interpreter.env.update(changing)
        block: list[Stmt] = []
        with build.nested(block):
            settle(interpreter, names)
            interpreter.block(node.body)
            interpreter.close_loop()  # type: ignore[misc]
            if not simple:
                interpreter.at(node.test)
                settle(interpreter, names)
                again = operators.truth(interpreter, expressions.as_it_is(interpreter, test))
                build.emit(Assign(condition, again))  # type: ignore[arg-type]
        return While(trip, condition, tuple(block))

    first_apart.run(
        interpreter,
        node,
        loop=lambda: repeat(interpreter, node, node.body, make),
        runs=lambda: operators.truth(interpreter, expressions.as_it_is(interpreter, test)),
        first=lambda: None,
        rest=lambda apart: while_loop(interpreter, node, apart),
        apart=apart,
    )
