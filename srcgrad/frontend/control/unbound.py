"""Names that only some paths bind: a flag says at run time whether this one did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import UnsupportedError
from ...ir.expressions import BOOL, Const, negated
from ...ir.nodes import Assign, If, Raise, Stmt
from ...ir.walk import is_constant, numbers_set
from ..calls.recursion import NotYetKnown
from ..values import Scalar

if TYPE_CHECKING:
    from ..interpret import Interpreter


BOUND = ".bound_"


def bound_flag(name: str) -> str:
    """The name of a flag that says whether a name has a value yet, where that depends on the path."""
    return BOUND + name


def refuse(interpreter: Interpreter, name: str) -> NoReturn:
    """A name is read that no statement so far has bound; one behind it in a loop may."""
    refuse_unbound(interpreter, name.lstrip("."), bound_flag(name) in interpreter.env)


def refuse_unbound(interpreter: Interpreter, text: str, may_be_bound: bool = True) -> NoReturn:
    """The same of an item of a tuple."""
    error = UnsupportedError(
        f"{text} may not be defined here",
        span=interpreter.build.span,
        help=("assign it ahead of the branch or loop",),
    )
    if may_be_bound and any(frame is interpreter.frame for frame, _ in interpreter.loops):
        interpreter.early_reads.append(error)
        raise NotYetKnown
    raise error


def is_known_in(block: list[Stmt], flag: Scalar) -> bool:
    """Is the flag true, or has this block set it, or asked for it, with nothing behind that which sets it?"""
    if flag.is_constant:
        return bool(flag.value)
    for stmt in reversed(block):
        match stmt:
            case Assign(var=var, value=value) if var == flag.expr:
                return is_constant(value, True)
            case If(condition=condition, then=(Raise(error="UnboundLocalError"),)) if condition == negated(flag.expr):
                return True
        if flag.expr in numbers_set((stmt,)):
            return False
    return False


def check_bound(interpreter: Interpreter, name: str) -> None:
    """Python raises UnboundLocalError for a name that this path did not bind."""
    frame: Any = interpreter.frame
    while frame.parent is not None and name not in frame.env:  # a function that is defined here reads it
        frame = frame.parent
    flag = frame.env.get(bound_flag(name))
    if not isinstance(flag, Scalar) or is_known_in(interpreter.build.block, flag):
        return
    missing = Raise(
        "UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value"
    )
    interpreter.build.emit(If(negated(flag.expr), (missing,)))
    frame.env[bound_flag(name)] = Scalar(Const(True, BOOL), weak=True) if interpreter.build.is_top_level else flag
