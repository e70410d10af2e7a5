"""Conditions, and values of which one is evaluated: `and`, `or`, chained comparisons, `x if c else y`, with := in them.

c and f(x) > 0      →      either = c; if c: either = f(x) > 0
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...ir.expressions import BOOL, Call, Const, Expr, Span, select
from ...ir.nodes import If, Raise, Stmt
from ...ir.walk import blocks, loads, with_blocks
from ...rules.costs import may_fail
from .. import binding, comparisons, expressions, identities, one_of, operators, optional, split_statements
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..calls.recursion import NotYetKnown
from ..joined_numbers import join_scalars
from ..objects import changes, records
from ..syntax import liveness
from ..values import Items, OneOf, Scalar
from . import branches, when_reached
from .attempts import restore, save

if TYPE_CHECKING:
    from ..interpret import Interpreter


@expressions.evaluates(ast.BoolOp)
def of_operands(interpreter: Interpreter, node: ast.BoolOp) -> Any:
    is_test = getattr(node, "is_test", False)
    return boolean(interpreter, isinstance(node.op, ast.And), node.values, is_test=is_test)


def boolean(
    interpreter: Interpreter, is_and: bool, nodes: list[ast.expr], is_later: bool = False, is_test: bool = False
) -> Any:
    """`and`, `or`: the later operands run only where they are needed."""
    read = split_statements.expression if is_later else expressions.as_it_is
    first = read(interpreter, nodes[0])
    if is_test and (identities.is_list(first) or isinstance(first, ArrayValue)):
        first = Scalar(operators.truth(interpreter, first), weak=True)
    if len(nodes) == 1:
        return first
    by_path = isinstance(first, OneOf) or optional.is_optional(first)
    if not by_path and not optional.is_none(first):
        first = one_of.settled(interpreter, nodes[0], first)
    if isinstance(first, Items):  # `if ys and …`: whether it has items is what counts
        first = _has_items(interpreter, first, is_and)
    known = operators.known_truth(interpreter, records.as_it_is_now(interpreter, first))
    if known is not None:
        return boolean(interpreter, is_and, nodes[1:], is_later, is_test) if known == is_and else first
    rest: list[Stmt] = []
    if _named_in(nodes[1:]) or by_path:
        condition = operators.truth(interpreter, first)
        first = first.items[1] if optional.is_optional(first) and not is_and else first  # true, so not None
        return choose_value(interpreter, condition, nodes, first, is_and, is_test)
    look = interpreter.looks.begin(nodes[0])
    if look is not None:
        saved, lists_before = save(interpreter), identities.held(interpreter)
        try:
            with interpreter.build.nested(rest), optional.known_there(interpreter, nodes[:1], is_and):
                other = boolean(interpreter, is_and, nodes[1:], is_later=True, is_test=is_test)
        except NotYetKnown:
            return first
        except tuple(when_reached.RAISED):
            other = None  # it fails where a run comes to it
        is_changed = identities.held(interpreter) != lists_before
        if not rest and not is_changed and isinstance(first, Scalar) and isinstance(other, Scalar):
            if first.dtype == other.dtype == BOOL:
                is_weak = first.weak and other.weak
                if operators.static_truth(other) is is_and:  # x and True
                    return Scalar(first.expr, is_weak)
                return Scalar(Call("and" if is_and else "or", (first.expr, other.expr), BOOL), is_weak)
        restore(interpreter, saved)
    with interpreter.looks.again(look):
        return choose_value(interpreter, operators.truth(interpreter, first), nodes, first, is_and, is_test)


def decided(interpreter: Interpreter, test: ast.expr) -> bool | None:
    """Whether a test holds, where one name in it decides: `x > 0 and more`, of a `more` that is None."""
    if not isinstance(test, ast.BoolOp):
        return None
    decides = isinstance(test.op, ast.Or)
    held = [interpreter.env.get(part.id) for part in test.values if isinstance(part, ast.Name)]
    return decides if any(operators.static_truth(value) is decides for value in held) else None


def look_at(condition: Expr, span: Span | None) -> list[Stmt]:
    """What it decides is known without it; but it may be an error to ask."""
    never = Call("and", (condition, Const(False, BOOL)), BOOL)
    return (
        [If(never, (Raise("AssertionError", "known not to come", span=span),), span=span)]
        if may_fail(condition)
        else []
    )


def with_looks(block: Sequence[Stmt]) -> list[Stmt]:
    """What a test has asked one after the other is asked though nobody needs what comes of it."""
    out = list[Stmt]()
    for stmt in block:
        if isinstance(stmt, If):
            out += look_at(stmt.condition, stmt.span)
            stmt = with_blocks(stmt, tuple(tuple(with_looks(inner)) for inner in blocks(stmt)))
        out.append(stmt)
    return out


def _has_items(interpreter: Interpreter, value: Items, is_and: bool) -> Scalar:
    if not is_and:
        interpreter.build.refuse("`or` of a list whose length is only known at run time", "ask for its length")
    return Scalar(operators.truth(interpreter, value), weak=True)


def choose_value(
    interpreter: Interpreter, condition: Expr, nodes: list[ast.expr], first: Any, is_and: bool, is_test: bool
) -> Any:
    def later() -> Any:
        with optional.known_there(interpreter, nodes[:1], is_and):
            return boolean(interpreter, is_and, nodes[1:], is_later=True, is_test=is_test)

    names = _named_in(nodes[1:])
    if is_and:
        return branches.either(interpreter, condition, later, lambda: first, names)
    return branches.either(interpreter, condition, lambda: first, later, names)


def _named_in(nodes: list[ast.expr]) -> list[str]:
    """The names that := gives in expressions of which not all may be evaluated."""
    return sorted(set().union(*map(liveness.named_in, nodes)))


@expressions.evaluates(ast.Compare)
def comparison(interpreter: Interpreter, node: ast.Compare) -> Any:
    operands = [node.left, *(_in_order(op, other) for op, other in zip(node.ops, node.comparators, strict=True))]
    if len(node.ops) == 1 or all(_is_simple(o) for o in operands[2:]):
        values = expressions.evaluate_all(interpreter, operands, expressions.as_it_is)
        interpreter.at(node)
        asked = optional.asked(node.ops[0], *values) if len(values) == 2 else None
        if asked is not None:
            return asked
        by_order = any(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops)
        values = [
            value
            if isinstance(value, OneOf) or (optional.is_none(value) and not by_order)
            else one_of.settled(interpreter, operand, value)
            for operand, value in zip(operands, values, strict=True)
        ]
        results = [
            comparisons.compare(interpreter, op, x, y) for op, x, y in zip(node.ops, values, values[1:], strict=False)
        ]
        out = results[0]
        for result in results[1:]:
            if operators.static_truth(out) is False:
                return out
            if operators.static_truth(out) is True:
                out = result
            elif operators.static_truth(result) is None:
                conditions = (operators.truth(interpreter, out), operators.truth(interpreter, result))
                out = Scalar(Call("and", conditions, BOOL), weak=True)
            elif operators.static_truth(result) is False:
                out = result
        return out
    if len(node.ops) == 2:  # the first two operands are computed whatever comes of them
        between = []
        for name, value in zip((".first", ".middle"), expressions.evaluate_all(interpreter, operands[:2]), strict=True):
            interpreter.env[name] = binding.bind_item(interpreter, "t", value)
            between.append(ast.copy_location(ast.Name(name, ast.Load()), node))
        operands = [*between, operands[2]]
    pairs = [
        ast.copy_location(ast.Compare(x, [op], [y]), node)
        for op, x, y in zip(node.ops, operands, operands[1:], strict=False)
    ]
    mark = len(interpreter.build.block)
    out = boolean(interpreter, True, list(pairs))
    for name in (".first", ".middle"):
        interpreter.env.pop(name, None)
    if len(node.ops) > 2 and changes.changed_since(interpreter.build, mark):  # operands are computed twice
        interpreter.build.refuse(
            "what a chained comparison compares changes variables or arrays", "give it a name first"
        )
    return out


def _in_order(op: ast.cmpop, node: ast.expr) -> ast.expr:
    """n in {2, 3} asks what n in (2, 3) does."""
    if isinstance(node, ast.Set) and isinstance(op, (ast.In, ast.NotIn)):
        return ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
    return node


def _is_simple(node: ast.expr) -> bool:
    """May it be computed whether Python comes to it or not?"""
    if any(isinstance(part, (ast.FloorDiv, ast.Mod)) for part in ast.walk(node)):
        return False  # by zero: an error
    kinds = (ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
    return all(isinstance(part, kinds) for part in ast.walk(node))


@expressions.evaluates(ast.IfExp)
def conditional(interpreter: Interpreter, node: ast.IfExp) -> Any:
    test = expressions.as_it_is(interpreter, node.test)
    known = operators.known_truth(interpreter, test)
    if known is not None:
        return expressions.as_it_is(interpreter, node.body if known else node.orelse)
    condition = operators.truth(interpreter, test)

    def side(part: ast.expr, holds: bool) -> Any:
        with optional.known_there(interpreter, [node.test], holds):
            return split_statements.expression(interpreter, part)

    then_side, else_side = partial(side, node.body, True), partial(side, node.orelse, False)
    names = _named_in([node.body, node.orelse])
    if names:
        return branches.either(interpreter, condition, then_side, else_side, names)
    look = interpreter.looks.begin(node)
    if look is not None:
        saved = save(interpreter)
        with suppress(NotYetKnown, *when_reached.RAISED):
            chosen = _plain(interpreter, condition, then_side, else_side)
            if chosen is not None:
                return chosen
        restore(interpreter, saved)
    with interpreter.looks.again(look):
        return branches.either(interpreter, condition, then_side, else_side, names)


def _plain(interpreter: Interpreter, condition: Expr, *sides: Callable[[], Any]) -> Any:
    """The value of one of two expressions that can both be evaluated; None, if one does more, or may be an error."""
    lists_before = identities.held(interpreter)
    values: list[Any] = []
    for evaluate_side in sides:
        block: list[Stmt] = []
        with interpreter.build.nested(block):
            value = evaluate_side()
        is_number = isinstance(value, Scalar) and not loads(value.expr)  # an element is only read on the side taken
        if block or not (is_number or one_of.is_option(value)):
            return None
        values.append(value)
    if identities.held(interpreter) != lists_before:
        return None
    x, y = values
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        joined = join_scalars(x, y)
        dtype = joined.dtype
        chosen = Call("select", (condition, cast(x.expr, dtype), cast(y.expr, dtype)), dtype)
        if x.weak != y.weak:
            interpreter.build.either.add(chosen)
        return replace(joined, expr=chosen)
    if one_of.joins(x, y):
        options = one_of.options_of(x, y)
        first, second = (one_of.as_one_of(value, options).number.expr for value in (x, y))
        return OneOf(Scalar(select(condition, first, second), weak=True), options)
    return None
