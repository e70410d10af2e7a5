"""Where a zero cotangent may be a zero of arithmetic, so that it must not silence an infinite slope (edge case rule 3).

If y = p(u) * s(u) + q(u), p is Lipschitz, p(u0) = 0 and s(u0) is finite, then y owes nothing to the slope of s at u0,
even if that is infinite.  It does where p itself comes from a primitive with an infinite slope: sqrt(x) * sqrt(x).

A value is rough where its slope is infinite, or where it jumps: at finite values (sqrt), or only where it is infinite
(log).  A mask is not rough: it chooses a branch.

A partial is harmful if it may vanish where what it reads is rough, as y in x * y with y = sqrt(u).  Where it vanishes
only at infinite values, as in exp(log(x)), it does no harm to primitives that are finite where their slope is infinite.

A partial is tight if it reads what is rough and never vanishes, as -1 / y**2.  It may cancel in a sum: 1 / (1 + s) + s
at s = 0.  So it is harmful too, unless nothing else reads that value of s (see `find_unclean`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..ir.expressions import BOOL, Array, Call, Const, Expr, Load, Var, both, either, is_inexact, negated
from ..ir.nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    Block,
    CopyTo,
    External,
    For,
    If,
    Invoke,
    Library,
    Rule,
    Stmt,
    Store,
    Swap,
    While,
)
from ..ir.walk import children, statements
from ..rules.partials import UNKNOWN, whole_or_real
from ..rules.scalar import PRIMITIVES, Adjoint

# What is known of a value: it is rough at finite values, it is rough where it is infinite, it depends on `wrt` at all.
FINITE, INFINITE, VARIES = 1, 2, 4
ROUGH = FINITE | INFINITE

# The kinds of primitives that a cotangent may be unclean to: finite where their slope is infinite; infinite there; and
# those whose slope is infinite by overflow alone, for which a select in every loop is too dear.
OVERFLOWS = 8
EVERY = FINITE | INFINITE | OVERFLOWS
MASKED = 16  # beside them: the cotangent is zero where a condition left the value out (see `find_masked`)

Levels = dict[str, int]
TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)

# What is infinite stays so, or is nan.
LINEAR = frozenset(("add", "sub", "neg", "pos", "cast", "mul", "abs", "deg2rad", "rad2deg", "conj"))
ROUGH_AT_FINITE = frozenset(
    ("sqrt", "cbrt", "arcsin", "arccos", "arccosh", "mod", "fmod", "ieee_remainder", "sign", "floor", "ceil", "trunc")
    + ("rint", "round_to", "floordiv", "copysign", "heaviside", "nextafter", "spacing", "exponent")
)
ROUGH_AT_INFINITE = frozenset(
    ("div", "reciprocal", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sinh", "cosh", "arctanh")
)
NEVER_VANISHES = frozenset(  # at finite operands
    ("reciprocal", "sqrt", "cbrt", "log", "log2", "log10", "log1p")
    + ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")
)
# what passes on to what it has chosen, and rules of these names
CHOOSE = frozenset(("maximum", "minimum", "max", "min", "clip_low", "clip_high", "fmax", "fmin"))
BILINEAR = frozenset(("matmul", "matmul_nt", "matmul_tn", "matmul_tt", "matvec", "matvec_t"))


# -------------------------------------------------------------------------------------------------------------- values


def level(expr: Expr | Array, of: Callable[[str], int]) -> int:
    """How rough a value is; `of` says it of scalars and of memory."""
    match expr:
        case Var(name=name) | Array(name=name):
            return of(name)
        case Load(array=array):
            return of(array.name)
        case Call(op=op, args=args) if expr.dtype != BOOL:
            if op == "select":
                return level(args[1], of) | level(args[2], of)
            parts = [level(arg, of) for arg in args]
            return _result(op, args, parts) if any(part & VARIES for part in parts) else 0
    return 0


def _result(op: str, args: tuple[Expr, ...], parts: list[int]) -> int:
    every = parts[0]
    for part in parts[1:]:
        every |= part
    if op in LINEAR or (op == "div" and isinstance(args[1], Const)):
        return every
    if op == "div":
        return parts[0] | _of_a_function(parts[1]) | INFINITE | VARIES
    if op == "pow" and (exponent := _exponent(args)) is not None:
        if exponent == 0 or exponent >= 1:
            return every
        return _of_a_function(every) | (INFINITE if exponent < 0 else FINITE)
    if op in ROUGH_AT_FINITE:
        return _of_a_function(every) | FINITE
    if op in ROUGH_AT_INFINITE:
        return _of_a_function(every) | INFINITE
    if op in PRIMITIVES and not PRIMITIVES[op].singular and not op.startswith("user."):
        return _of_a_function(every)
    return every | ROUGH


def _exponent(args: tuple[Expr, ...]) -> float | None:
    """The exponent of a power, where it is a real constant."""
    value = whole_or_real(args[1]) if isinstance(args[1], Const) else None
    return None if isinstance(value, complex) else value


def _grows(op: str, args: tuple[Expr, ...]) -> bool:
    """Is the slope infinite where the operand is: x**2, x**3?"""
    return op == "pow" and (_exponent(args) or 0.0) > 1


def _of_a_function(part: int) -> int:
    """A function of an infinite value may be finite: exp(log(x)), 1 / (1 / x)."""
    return part | FINITE if part & INFINITE else part


# ------------------------------------------------------------------------------------------------------------ partials


@lru_cache(maxsize=4096)
def _read_by(op: str, constants: tuple[Const | None, ...], dtypes: tuple[Any, ...], number: int) -> frozenset[int]:
    """The operands whose values stand in the partial by an operand; what only chooses between constants does not."""
    every = frozenset(range(len(dtypes) - 1))
    known = PRIMITIVES[op].partials
    partial = known[number] if known is not None else None
    if partial is None or isinstance(partial, Adjoint):
        return frozenset()
    if partial is UNKNOWN:
        return every
    operands = [c or Var(str(k), t) for k, (c, t) in enumerate(zip(constants, dtypes, strict=False))]
    value = partial(*operands, Var("out", dtypes[-1]))
    names = _values_in(value) if isinstance(value, Expr) else set()
    return every if "out" in names else frozenset(int(name) for name in names)


def _values_in(expr: Expr) -> set[str]:
    if isinstance(expr, Var):
        return {expr.name}
    parts = children(expr)[1:] if isinstance(expr, Call) and expr.op == "select" else children(expr)
    return set().union(*map(_values_in, parts))


def effect(expr: Call, number: int, of: Callable[[str], int]) -> tuple[int, bool]:
    """To which primitives upstream is the partial by this operand harmful; is it tight?"""
    op, args = expr.op, expr.args
    if op == "select":
        return 0, False
    constants = tuple(arg if isinstance(arg, Const) else None for arg in args)
    read = _read_by(op, constants, (*(arg.dtype for arg in args), expr.dtype), number)
    firm: set[int] = set()
    if op in NEVER_VANISHES or (op == "pow" and (_exponent(args) or 1.0) < 1):
        firm = {0}
    elif op == "div":
        firm = {1}
    is_complex = any(part.dtype.kind == "c" for part in (expr, *args))  # its real part may vanish where it does not
    found = {k: level(args[k], of) for k in read}
    harm = OVERFLOWS if read else 0
    for k, bits in found.items():
        if bits & FINITE and (k not in firm or is_complex):
            harm |= ROUGH
        elif bits & INFINITE and (k in firm or not (op in ("mul", "div") or _grows(op, args))):
            harm |= INFINITE  # a factor that is infinite is not zero
    return harm, any(found[k] & FINITE for k in firm & found.keys())


def harm_of(expr: Call, number: int, of: Callable[[str], int]) -> int:
    return effect(expr, number, of)[0]


def has_not_lost(expr: Call, number: int) -> Expr:
    """Under which condition this operand of a choice counts: a tie is shared."""
    partials: Any = PRIMITIVES[expr.op].partials
    return is_not_zero(partials[number](*expr.args, expr))


def is_not_zero(partial: Expr) -> Expr:
    """Whether a share in a choice is one: of `1.0 if x < y else 0.5 if x == y else 0.0`, the first two."""
    match partial:
        case Call(op="select", args=(condition, x, y)):
            then, other = is_not_zero(x), is_not_zero(y)
            if then == FALSE:
                return negated(condition) if other == TRUE else both(negated(condition), other)
            assert then == TRUE, partial  # the rows of choices say who wins, or who loses, and then how a tie is shared
            return TRUE if other == TRUE else condition if other == FALSE else either(condition, other)
        case Const(value=value):
            return TRUE if value else FALSE
    raise AssertionError(partial)


def kind_of(expr: Call) -> int:
    """Which kind of primitive is this?"""
    if expr.op == "pow":
        exponent = _exponent(expr.args)
        return FINITE if exponent is not None and 0 < exponent < 1 else INFINITE
    if expr.op in ("exp", "exp2", "expm1", "sinh", "cosh"):
        return OVERFLOWS
    return FINITE if expr.op in ROUGH_AT_FINITE else INFINITE


# ------------------------------------------------------------------------------------------------------------ programs


class Roughness:
    """How rough the scalars and the memory that a statement reads are at that statement."""

    def __init__(self, body: Block, roots: dict[str, str], wrt: tuple[str, ...]) -> None:
        self.roots = roots
        self.at: dict[int, Levels] = {}  # by id of the statement; only what is not smooth
        self.now: Levels = {roots.get(name, name): VARIES for name in wrt}
        self.walk(body)

    def of(self, stmt: Stmt | None) -> Callable[[str], int]:
        """The levels just before a statement; None is the end."""
        levels = self.now if stmt is None else self.at.get(id(stmt), {})
        return lambda name: levels.get(self.roots.get(name, name), 0)

    def walk(self, block: Block) -> None:
        for stmt in block:
            self.step(stmt)

    def step(self, stmt: Stmt) -> None:
        if (known := self.at.get(id(stmt))) is None:
            self.at[id(stmt)] = dict(self.now)
        else:
            self.join(known, self.now)
        now = self.of(None)
        match stmt:
            case Assign(var=var, value=value):
                self.put(var.name, level(value, now))
            case AddTo(target=Var() as var, value=value):
                self.add(var.name, level(value, now))
            case Store(array=array, value=value) | AddTo(target=Load(array=array), value=value):
                self.add(array.name, level(value, now))
            case Alloc(array=array, fill=fill):
                self.put(array.name, 0 if fill is None else level(fill, now))
            case CopyTo(target=target, source=source) | Absorb(into=target, out=source):
                self.add(target.name, now(source.name))
            case Swap(left=left, right=right):
                there, here = now(left.name), now(right.name)
                self.put(left.name, here)
                self.put(right.name, there)
            case Library(args=args) | External(args=args) | Invoke(args=args):
                self.call(stmt, args)
            case If(then=then, orelse=orelse):
                before = dict(self.now)
                self.walk(then)
                after, self.now = self.now, before
                self.walk(orelse)
                self.join(self.now, after)
            case For(body=body) | While(body=body):
                while True:
                    before = dict(self.now)
                    self.walk(body)
                    self.join(self.now, before)
                    if self.now == before:
                        return
            case Rule(forward=forward):
                self.walk(forward)

    def call(self, stmt: Any, args: tuple[Any, ...]) -> None:
        now, every = self.of(None), 0
        for arg in args:
            every |= level(arg, now) if isinstance(arg, (Expr, Array)) else ROUGH | VARIES
        if every and not (isinstance(stmt, Library) and stmt.routine in BILINEAR):
            every |= ROUGH
        outs = (stmt.out,) if isinstance(stmt, External) else stmt.outs
        for out in (*outs, *(stmt.writes if isinstance(stmt, Invoke) else ())):
            if is_inexact(out.dtype):
                self.add(out.name, every)

    def put(self, name: str, bits: int) -> None:
        self.now.pop(name, None)
        if bits:
            self.now[name] = bits

    def add(self, name: str, bits: int) -> None:
        root = self.roots.get(name, name)
        self.put(root, self.now.get(root, 0) | bits)

    @staticmethod
    def join(into: Levels, more: Levels) -> None:
        for name, bits in more.items():
            into[name] = into.get(name, 0) | bits


def levels_at_labels(
    body: Block, roots: dict[str, str], wrt: tuple[str, ...], end: int
) -> dict[int, Callable[[str], int]]:
    """The levels at each statement by its label, and at the end."""
    found = Roughness(body, roots, wrt)
    return {stmt.label: found.of(stmt) for stmt in statements(body)} | {end: found.of(None)}


__all__ = [
    "BILINEAR",
    "CHOOSE",
    "EVERY",
    "FINITE",
    "INFINITE",
    "MASKED",
    "OVERFLOWS",
    "ROUGH",
    "Roughness",
    "effect",
    "harm_of",
    "has_not_lost",
    "kind_of",
    "level",
    "levels_at_labels",
]
