"""Texts, functions, None: what is known of them is that the path taken chooses one.  A number says which.

regime = "laminar" if re < 2300 else "turbulent"          regime = 0 if re < 2300.0 else 1
if regime == "laminar":                            →      if regime == 0:

A comparison asks for the number.  What else is done with such a value is done for each of them (`split_statements`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import UnsupportedError
from ..ir import affine
from ..ir.expressions import BOOL, Call, Const, Expr, both, either, negated, select
from ..ir.types import DictKind
from ..ir.walk import is_constant
from . import identities, optional
from .control import unbound
from .values import UNDEFINED, Closure, Generator, OneOf, Scalar, Static, Template, TupleValue, Unusable

if TYPE_CHECKING:
    from .interpret import Interpreter


MOST = 32  # things at most that a name may stand for
OF_OBJECTS = (
    "one of several objects is chosen by a number that is only known at run time",
    "read what is in it where it is chosen:  items[k].attribute",
)
OF_DICTS = (
    "one of several dicts is chosen by a number that is only known at run time",
    'read what is in it where it is chosen:  items[k]["key"]',
)


class Splits(Exception):
    """A statement computes with one of several things: it is interpreted once for each of them."""

    def __init__(self, value: OneOf, node: ast.expr) -> None:
        self.value, self.node = value, node


# ------------------------------------------------------------------------------------------------ the options


def joins(x: Any, y: Any) -> bool:
    """Are these two different things that are known, or such a choice among more of them?"""
    return all(map(is_option, (x, y))) and not is_same(x, y)


def is_option(value: Any) -> bool:
    if isinstance(value, Static):
        return not isinstance(value.value, (Generator, Template, Unusable))
    return isinstance(value, (Closure, OneOf))


def is_same(x: Any, y: Any) -> bool:
    """Are these one thing: the same object, an equal text, one function defined in one scope?"""
    if isinstance(x, Static) and isinstance(y, Static):
        return x.value is y.value or (type(x.value) is type(y.value) is str and x.value == y.value)
    if isinstance(x, Closure) and isinstance(y, Closure):
        known = all(isinstance(value, Scalar) and value.is_constant for value in x.defaults.values())
        scopes = [f.frame.parent if f.defaults else f.frame for f in (x, y)]  # (the defaults have one of their own)
        return x is y or (x.node is y.node and scopes[0] is scopes[1] and known and x.defaults == y.defaults)
    return x is y


def options_of(*values: Any) -> tuple[Any, ...]:
    """What any of these may be, in their order."""
    out: list[Any] = []
    for value in values:
        for option in value.options if isinstance(value, OneOf) else (value,):
            if not any(is_same(option, other) for other in out):
                out.append(option)
    return tuple(out)


def as_one_of(value: Any, options: tuple[Any, ...]) -> OneOf:
    """The value as a choice among these options, of which it is one."""

    def place(option: Any) -> Expr:
        for k, other in enumerate(options):
            if is_same(option, other):
                return affine.integer(k)
        raise UnsupportedError(
            f"{told(OneOf(Scalar(affine.ZERO), (option, *options)))}: another one each time that it is defined",
            help=("define it ahead of the loop",),
        )

    if not isinstance(value, OneOf):
        return OneOf(Scalar(place(value), weak=True), options)
    if value.options == options[: len(value.options)]:
        return OneOf(value.number, options)

    def among_these(number: Expr) -> Expr:
        match number:
            case Const(value=k):
                return place(value.options[k])
            case Call(op="select", args=(condition, x, y)):
                return select(condition, among_these(x), among_these(y))
        out: Expr = place(value.options[-1])
        for k, option in reversed(list(enumerate(value.options[:-1]))):
            out = select(affine.equals(number, affine.integer(k)), place(option), out)
        return out

    return OneOf(Scalar(among_these(value.number.expr), weak=True), options)


def told(value: OneOf) -> str:
    """What it may be, for a message."""
    names = [
        option.name if isinstance(option, Closure) else getattr(option.value, "__name__", repr(option.value))
        for option in value.options
    ]
    return f"{', '.join(names[:-1])} or {names[-1]}, by the path taken"


# ------------------------------------------------------------------------------------------- questions to all


def compared(value: OneOf, ask: Callable[[Any], Expr]) -> Scalar:
    """What a question that is true or false says of each of them, by the number."""
    answers = [ask(option) for option in value.options]
    if all(is_constant(answer, True) for answer in answers):
        return Scalar(Const(True, BOOL), weak=True)
    number, out = value.number.expr, None
    is_rest = 2 * sum(is_constant(answer, True) for answer in answers) > len(answers)
    for k, answer in enumerate(answers):
        is_it = affine.equals(number, affine.integer(k))
        if is_constant(answer, is_rest):
            continue
        if is_rest:  # all but those that say no
            part = negated(is_it) if is_constant(answer, False) else either(negated(is_it), answer)
            out = both(out, part)
        else:
            part = is_it if is_constant(answer, True) else both(is_it, answer)
            out = either(out, part)
    return Scalar(Const(is_rest, BOOL) if out is None else out, weak=True)


# ------------------------------------------------------------------------------------------------ one of them


def settled(interpreter: Interpreter, node: ast.expr, value: Any) -> Any:
    """What an expression stands for, to compute with it: one thing."""
    if optional.is_optional(value):
        return optional.used(interpreter, ast.unparse(node), value)
    if optional.is_none(value):
        optional.refuse_yet(interpreter, node, value)
    if not interpreter.build.in_composition:  # which may make it, and hand it back
        interpreter.build.refuse_unusable(value, node)
    if value is UNDEFINED:
        unbound.refuse_unbound(interpreter, ast.unparse(node))
    if not isinstance(value, OneOf):
        return value
    number = value.number.expr
    which = number.value if isinstance(number, Const) else interpreter.chosen.get(number)
    if which is None:
        raise Splits(value, node)
    return identities.now(interpreter, value.options[which])


def refuse(interpreter: Interpreter, value: OneOf) -> NoReturn:
    if any(isinstance(option, TupleValue) for option in value.options):
        refuse_object(interpreter, value.options, "let a method of it begin a statement of its own:  y = items[k].f(x)")
    interpreter.build.refuse(
        f"this needs one thing, and it is {told(value)}",
        "take the branch ahead of it, with this statement on both sides",
    )


def refuse_object(interpreter: Interpreter, objects: tuple[Any, ...], *helps: str) -> NoReturn:
    are_dicts = all(isinstance(option, TupleValue) and isinstance(option.kind, DictKind) for option in objects)
    interpreter.build.refuse(*(OF_DICTS if are_dicts else OF_OBJECTS), *helps)
