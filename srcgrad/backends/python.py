"""IR → Python source, by way of `ast` and astor (every use of astor is here).

    AddTo(x_b[i], mul(y_b, w[i]))   →   x_b[i] += y_b * w[i]

The text is what `jit=False` runs and what Numba compiles: dtypes are spelled out where Numba would widen them.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..ir import affine
from ..ir.nodes import (
    BOOL,
    COMPLEX128,
    FLOAT64,
    INT64,
    Absorb,
    AddTo,
    Alloc,
    Array,
    Assign,
    Block,
    Call,
    Comment,
    Conform,
    Const,
    CopyTo,
    Dim,
    Expr,
    External,
    For,
    Function,
    If,
    Library,
    Load,
    NewAxis,
    NewStack,
    OldArray,
    OwnCopy,
    Pick,
    Pop,
    Print,
    Push,
    Raise,
    Reshape,
    Run,
    Seal,
    Stack,
    Stmt,
    Store,
    Subscript,
    Swap,
    Transpose,
    Unseal,
    Var,
    View,
    While,
    integer,
    leaves,
    part_of,
)
from ..ir.walk import expressions, loads, statements
from ..rules.scalar import PRIMITIVES, spelling
from .lending import Borrow, Called, with_lending
from .threads import with_threads

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # astor touches ast.Num
    import astor

NAMESPACES = {
    "special": "scipy_special as special",
    "user": "user",
}  # modules of the runtime, as generated text calls them
MARK = "#: "  # a comment travels through the tree as a string statement
WIDENED = (
    "add", "sub", "mul", "neg", "pos", "floordiv", "mod", "fmod", "abs", "maximum", "minimum", "max", "min", "square",
    "sign", "clip_low", "clip_high", "bitand", "bitor", "bitxor", "invert", "lshift", "rshift", "gcd", "lcm",
)  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What is known of lines of the text and can't be read in it: a compiler's licence.

    `inside`: on this line every access to this array is inside it, and its indices are not negative.
    `natural`: on this line no index into this array is negative.
    `reorder`: the addition on this line is one of a sum that may be taken in any order.
    `memory`: the memory that an array is a handle on; two that were allocated here never overlap, nor do they overlap
    with what came from outside (which may).
    `hidden`: this line begins a loop around others, with this index, which LLVM had better not see through.
    `pieces`: functions that are parts of the entry: what it knows of its arrays holds for theirs of the same names.
    """

    inside: frozenset[tuple[int, str]] = frozenset()
    natural: frozenset[tuple[int, str]] = frozenset()
    reorder: frozenset[int] = frozenset()
    memory: frozenset[tuple[str, str]] = frozenset()
    hidden: frozenset[tuple[int, str]] = frozenset()
    pieces: frozenset[str] = frozenset()


def emit(function: Function, header: tuple[str, ...] = ()) -> tuple[str, Facts]:
    """The function as a module, and facts about its lines."""
    *callees, entry = with_lending(function)
    parts = (*callees, *with_threads(entry))
    definitions: list[ast.stmt] = [_definition(part) if isinstance(part, Function) else part for part in parts]
    text = _to_source(ast.Module(definitions, []))
    lines = ["import numpy as np"]
    helpers = sorted(name for name in _runtime_names() if re.search(rf"(?<![\w.]){name}\(", text))
    errors = sorted(name for name in _error_names() if re.search(rf"\b{name}\(", text))
    if "prange(" in text:
        lines.append("from numba import prange")
    for word, module in NAMESPACES.items():
        if re.search(rf"(?<![\w.]){word}\.", text):
            lines.append(f"from srcgrad.runtime import {module}")
    if helpers:
        lines.append(f"from srcgrad.runtime import {', '.join(helpers)}")
    if errors:
        lines.append(f"from srcgrad.runtime.errors import {', '.join(errors)}")
    text = "\n".join([*header, *lines, "", "", text])
    pieces = frozenset(part.name for part in parts[len(callees) : -1] if isinstance(part, Function))
    return text, replace(_facts(definitions, text, function), pieces=pieces)


def _definition(function: Function) -> ast.FunctionDef:
    body = _statements(function.body)
    returned = [_operand(leaf) for leaf in leaves(function.results)]
    if len(returned) == 1:
        body.append(ast.Return(returned[0]))
    elif returned:
        body.append(ast.Return(ast.Tuple(returned, ast.Load())))
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(p.name) for p in function.params], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.FunctionDef(function.name, arguments, body or [ast.Pass()], [])


OUTSIDE = ""  # the memory of arguments


def _memory(function: Function) -> Iterator[tuple[str, str]]:
    """Which memory each array is a handle on; those that change places are one, as far as anybody can tell."""
    group: dict[str, str] = {}

    def find(name: str) -> str:
        while group.get(name, name) != name:
            name = group[name]
        return name

    known: set[str] = set()
    for param in function.params:
        group[param.name] = OUTSIDE
        known.add(param.name)
    for stmt in statements(function.body):
        match stmt:
            case Alloc(array=array) | OwnCopy(array=array, copy=True):
                known.add(array.name)
                if isinstance(stmt, OwnCopy):
                    group.pop(array.name, None)
            case View(array=array, base=base):
                known.add(array.name)
                group[find(array.name)] = find(base.name)
            case Swap(left=left, right=right):
                group[find(left.name)] = find(right.name)
    for name in known:
        yield name, find(name)


def _facts(definitions: list[ast.stmt], text: str, function: Function) -> Facts:
    """The facts of statements, by the lines on which they were printed."""
    inside: set[tuple[int, str]] = set()
    natural: set[tuple[int, str]] = set()
    reorder: set[int] = set()
    hidden: set[tuple[int, str]] = set()
    printed = ast.parse(text).body[-len(definitions) :]
    for stmt, node in _pairs(definitions, printed):
        origin = getattr(stmt, "origin", None)
        if origin is None:
            continue
        if isinstance(origin, For) and _hides_its_index(origin):
            hidden.add((node.lineno, origin.index.name))
        last = getattr(node, "iter", getattr(node, "test", node)).end_lineno
        for line in range(node.lineno, (last or node.lineno) + 1):
            inside |= {(line, name) for name in _of_all(origin, lambda place: not place.checked)}
            natural |= {(line, name) for name in _of_all(origin, lambda place: place.natural or not place.checked)}
            if isinstance(origin, AddTo) and origin.reorder:
                reorder.add(line)
    return Facts(
        frozenset(inside), frozenset(natural), frozenset(reorder), frozenset(_memory(function)), frozenset(hidden)
    )


def _hides_its_index(loop: For) -> bool:
    """Is this a loop around others whose rows LLVM would ask about in one question, to be answered with "perhaps"?"""
    inner = [s for s in statements(loop.body) if isinstance(s, (For, While))]
    near, far = (any(found) for found in zip(*map(_touches_others, inner), strict=True)) if inner else (True, False)
    upward = isinstance(loop.step, Const) and loop.step.value > 0
    return not near and (far or not upward)


def _touches_others(loop: For | While) -> tuple[bool, bool]:
    """Does a loop write elements of an array and touch others of that array: neighbours, and such at any distance?"""
    touched: dict[str, set[tuple[Expr, ...]]] = {}
    written: list[Load] = []
    for stmt in statements(loop.body):
        own = _element_written(stmt)
        written += own
        for load in (*(load for expr in expressions(stmt) for load in loads(expr)), *own):
            touched.setdefault(load.array.name, set()).add(load.index)
    near = far = False
    for place in written:
        for index in touched[place.array.name] - {place.index}:
            fixed = all(affine.difference(p, q) is not None for p, q in zip(place.index, index, strict=True))
            near, far = near or fixed, far or not fixed
    return near, far


def _element_written(stmt: Stmt) -> tuple[Load, ...]:
    match stmt:
        case Store(array=array, index=index, checked=checked, natural=natural):
            return (Load(array, index, checked, natural),)
        case AddTo(target=Load() as target):
            return (target,)
    return ()


def _pairs(body: list[ast.stmt], printed: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Statements beside what they are when read again (comments are none)."""
    for stmt, node in zip((s for s in body if not _is_comment(s)), printed, strict=True):
        yield stmt, node
        for part in ("body", "orelse"):
            if getattr(stmt, part, None) and not all(map(_is_comment, getattr(stmt, part))):
                yield from _pairs(getattr(stmt, part), getattr(node, part))


def _is_comment(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _of_all(stmt: Stmt, holds: Callable[[Load], bool]) -> set[str]:
    """The arrays of which something holds for all elements that a statement reads or writes."""
    found = [load for expr in expressions(stmt) for load in loads(expr)]
    found += _element_written(stmt)
    return {load.array.name for load in found} - {load.array.name for load in found if not holds(load)}


def _runtime_names() -> tuple[str, ...]:
    from .. import runtime

    return tuple(runtime.__all__)


def _error_names() -> tuple[str, ...]:
    from ..runtime import errors

    return tuple(n for n, v in vars(errors).items() if isinstance(v, type) and v.__module__ == errors.__name__)


def _to_source(module: ast.Module) -> str:
    ast.fix_missing_locations(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        text = astor.to_source(module, pretty_source=_long_lines)
    return re.sub(rf"""^(\s*)(?:'|"|\"\"\"){re.escape(MARK)}(.*?)(?:'|"|\"\"\")$""", r"\1# \2", text, flags=re.M)


def _long_lines(source: Any) -> str:
    from astor.source_repr import split_lines

    return "".join(split_lines(source, maxline=110))


# -------------------------------------------------------------------------------------------------- expressions


def expression_text(expr: Expr) -> str:
    """One expression, as it is printed."""
    return _to_source(ast.Module([ast.Expr(_operand(expr))], [])).strip()


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _target(target: Var | Load) -> ast.Name | ast.Subscript:
    place = _operand(target)
    assert isinstance(place, (ast.Name, ast.Subscript))
    return place


def _operand(value: Expr | Array | OldArray) -> ast.expr:
    match value:
        case Array(name=name) | Var(name=name):
            return _name(name)
        case Const():
            return _constant(value)
        case Load(array=array, index=index):
            return ast.Subscript(_name(array.name), _index(index), ast.Load())
        case Dim(array=array, axis=axis):
            return ast.Subscript(_parse(f"{array}.shape"), ast.Constant(axis), ast.Load())
        case Call():
            return _call(value)
    raise AssertionError(f"not an expression of the backend: {value!r}")


def _index(index: tuple[Expr, ...]) -> ast.expr:
    parts = [_operand(affine.normal(part)) for part in index]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())


def _constant(const: Const) -> ast.expr:
    value, dtype = const.value, const.dtype
    if dtype == BOOL:
        return ast.Constant(bool(value))
    literal = (
        _complex_literal(value) if dtype.kind == "c" else _literal(float(value) if dtype.kind == "f" else int(value))
    )
    return literal if dtype in (FLOAT64, INT64, COMPLEX128) else _parse_call(f"np.{dtype.name}", literal)


def _literal(value: float) -> ast.expr:
    if isinstance(value, float) and not math.isfinite(value):
        name = _parse("np.nan" if math.isnan(value) else "np.inf")
        return ast.UnaryOp(ast.USub(), name) if value == -math.inf else name
    if math.copysign(1, value) < 0:  # astor prints a negative Constant without parentheses: -2 ** 2
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _complex_literal(value: complex) -> ast.expr:
    signs = math.copysign(1, value.real), math.copysign(1, value.imag)
    if value.real == 0 and signs[0] == signs[1] and math.isfinite(value.imag):  # -2j has the real part -0.0
        return ast.Constant(value) if signs[0] > 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return _parse_call("complex", _literal(value.real), _literal(value.imag))


KERNELS = frozenset(
    (
        "exp",
        "exp2",
        "expm1",
        "log",
        "log1p",
        "log2",
        "log10",
        "logaddexp",
        "logaddexp2",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sinh",
        "cosh",
        "arctan",
        "pow",
    )
)  # `runtime.vector_math` has these, for loops that vectorise; elsewhere NumPy's are quicker
_vectorises: ContextVar[bool] = ContextVar("_vectorises", default=False)


def _spelling(expr: Call) -> str:
    if expr.op in KERNELS and _vectorises.get() and expr.dtype.kind == "f":
        text = spelling(expr)
        return text.replace("np.", "") if expr.op != "pow" else "pow({}, {})" if text == "{} ** {}" else text
    return spelling(expr)


def _call(expr: Call) -> ast.expr:
    args = expr.args
    if expr.op == "cast":
        return _cast(expr)
    if expr.op == "select":
        condition, x, y = (_operand(arg) for arg in args)
        return ast.IfExp(condition, x, y)
    if expr.op == "complex":
        return _parse_call(expr.dtype.name, *map(_operand, args))
    if expr.dtype.kind == "c" and expr.op in ("add", "sub", "mul", "div", "pow"):
        args = _as_real(args)
    operands = [_operand(_without_cast(arg, args)) for arg in args]
    if expr.op not in PRIMITIVES:
        return _parse_call(expr.op, *operands)
    out = _template(_spelling(expr), operands)
    if expr.dtype.kind in "iu" and expr.dtype != INT64 and expr.op in WIDENED:
        return _parse_call(f"np.{expr.dtype.name}", out)  # Numba computes small integers as int64
    return out


def _without_cast(arg: Expr, args: tuple[Expr, ...]) -> Expr:
    """`s / float64(n)` reads `s / n`: beside another float64 the conversion is what happens anyway."""
    match arg:
        case Call(op="cast", args=(Expr(dtype=inner) as x,), dtype=outer) if outer == FLOAT64 and inner == INT64:
            if any(
                other is not arg and other.dtype == FLOAT64 and not isinstance(other, (Const, Call)) for other in args
            ):
                return x
    return arg


def _as_real(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """`complex128(x) * z` reads `x * z`, and so does a constant beside z: it is converted there anyway."""
    for arg, other in (args, args[::-1]):
        if _is_real_in_text(other):
            continue
        part = part_of(arg.dtype)
        match arg:
            case Call(op="cast", args=(Expr(dtype=inner) as x,)) if inner == part:
                return (x, other) if arg is args[0] else (other, x)
            case Const(value=complex(real=value, imag=0.0)):
                return (Const(value, part), other) if arg is args[0] else (other, Const(value, part))
    return args


def _is_real_in_text(expr: Expr) -> bool:
    match expr:
        case Const(value=value):
            return bool(value.imag == 0)
        case Call(op=op):
            return op == "cast"
    return False


def _cast(expr: Call) -> ast.expr:
    operand = _operand(expr.args[0])
    if expr.dtype == BOOL:
        return ast.Compare(operand, [ast.NotEq()], [ast.Constant(0)])
    return _parse_call(f"np.{expr.dtype.name}", operand)


def _parse_call(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(_parse(function), list(args), [])


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _parse(text: str) -> ast.expr:
    return _parsed(text)


def _template(spelling: str, operands: list[ast.expr]) -> ast.expr:
    """The spelling with operands in the places of `{}`, `{0}`, `{1}` …"""
    count = iter(range(len(operands)))
    text = re.sub(r"\{(\d*)\}", lambda m: f"_{m.group(1) or next(count)}_", spelling)
    return _Fill(operands).visit(ast.parse(text, mode="eval").body)


class _Fill(ast.NodeTransformer):
    def __init__(self, operands: list[ast.expr]) -> None:
        self.operands = operands

    def visit_Name(self, node: ast.Name) -> ast.expr:
        hole = re.fullmatch(r"_(\d+)_", node.id)
        return self.operands[int(hole.group(1))] if hole else node


# --------------------------------------------------------------------------------------------------- statements


def _body(block: Block) -> list[ast.stmt]:
    return _statements(block) or [ast.Pass()]


def _statements(block: Block) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    position = 0
    while position < len(block):
        stmt = block[position]
        after = block[position + 1] if position + 1 < len(block) else None
        match stmt, after:
            case Alloc(array=array, fill=None), CopyTo(target=target, source=source) if (
                target == array and array.dtype == source.dtype
            ):
                out.append(
                    _assign(_name(array.name), ast.Call(ast.Attribute(_name(source.name), "copy", ast.Load()), [], []))
                )
                position += 1
            case ((Push() | Pop()), _) if _is_of_scalars(stmt):
                run: list[Any] = [stmt]
                while position + 1 < len(block) and _is_next(block[position + 1], stmt):
                    position += 1
                    run.append(block[position])
                out += _pushed(run) if isinstance(stmt, Push) else _popped(run)
            case _:
                nodes = _statement(stmt)
                nodes[0].origin = stmt  # type: ignore[attr-defined]
                out += nodes
        position += 1
    return out


def _statement(stmt: Stmt) -> list[ast.stmt]:
    match stmt:
        case Assign(var=var, value=value):
            return [_assign(_name(var.name), _operand(value))]
        case Store(array=array, index=index, value=value):
            return [_assign(_operand(Load(array, index)), _operand(value))]
        case AddTo(target=target, value=Call(op="neg", args=(value,))):
            return [ast.AugAssign(_target(target), ast.Sub(), _operand(value))]
        case AddTo(target=target, value=value):
            return [ast.AugAssign(_target(target), ast.Add(), _operand(value))]
        case Alloc():
            return [_assign(_name(stmt.array.name), _allocation(stmt))]
        case View(array=array):
            return [_assign(_name(array.name), _view(stmt))]
        case Absorb(into=into, out=out):
            return [ast.Expr(_parse_call("absorb", _name(into.name), _name(out.name)))]
        case CopyTo(target=target, source=source):
            if target.ndim == 0:
                return [_assign(ast.Subscript(_name(target.name), _parse("()"), ast.Store()), _name(source.name))]
            return [ast.Expr(_parse_call("copy_to", _name(target.name), _name(source.name)))]
        case Swap(left=left, right=right):
            pair, swapped = [_name(left.name), _name(right.name)], [_name(right.name), _name(left.name)]
            return [_assign(ast.Tuple(pair, ast.Store()), ast.Tuple(swapped, ast.Load()))]
        case For():
            alone = not stmt.ordered and not any(isinstance(s, (For, While)) for s in statements(stmt.body))
            token = _vectorises.set(alone)
            body = _body(stmt.body)
            _vectorises.reset(token)
            return [ast.For(_name(stmt.index.name), _range(stmt), body, [])]
        case While(condition=condition, body=body):
            return [ast.While(_operand(condition), _body(body), [])]
        case If(condition=condition, then=then, orelse=orelse):
            return [_if(condition, then, orelse)]
        case Library(routine=routine, args=args):
            outs = (_name(out.name) for out in stmt.outs)
            return [ast.Expr(_parse_call(routine, *outs, *(_operand(arg) for arg in args)))]
        case External(function=function, out=out, args=args):
            return [_assign(_name(out.name), _parse_call(function, *(_printed(arg) for arg in args)))]
        case Raise():
            values = [ast.Constant(stmt.message)] if stmt.message else []
            return [ast.Raise(_parse_call(stmt.error, *values, *(_operand(v) for v in stmt.values)), None)]
        case Print(parts=parts):
            return [ast.Expr(_parse_call("print", *(_printed(part) for part in parts)))]
        case OwnCopy(array=array, copy=True):
            return [_assign(_name(array.name), ast.Call(ast.Attribute(_name(array.name), "copy", ast.Load()), [], []))]
        case OwnCopy(array=array):
            return [_assign(_name(array.name), _parse_call("np.ascontiguousarray", _name(array.name)))]
        case NewStack(stack=stack):
            buffer = _parse_call("np.empty", ast.Constant(64), _dtype(stack.dtype))
            return [
                _assign(_name(stack.name), ast.List([buffer], ast.Load())),
                _assign(_name(stack.top), ast.Constant(0)),
            ]
        case Seal(array=array, stack=stack):
            buffer = ast.Subscript(_name(stack.name), ast.Constant(0), ast.Load())
            return [_assign(_name(array.name), ast.Subscript(buffer, ast.Slice(None, _name(stack.top)), ast.Load()))]
        case Unseal(stack=stack, array=array):
            top = ast.Attribute(_name(array.name), "size", ast.Load())
            return [
                _assign(_name(stack.name), ast.List([_name(array.name)], ast.Load())),
                _assign(_name(stack.top), top),
            ]
        case Push(stack=stack, value=value):
            return [_push("push_array", stack, [value])]
        case Pop(target=Array() as target, stack=stack, dims=dims):
            return _pop(target, stack, dims)
        case Borrow(things=things, lent=lent):
            return [_assign(_names(things, ast.Store()), _parse_call("borrow", _name(lent)))]
        case Called(function=name, outs=outs, things=things, args=args):
            given = [_operand(arg) for arg in args]
            if things:
                given = [_name(name), _names(things, ast.Load()), *given]
            call = _parse_call("lending" if things else name, *given)
            if not outs:
                return [ast.Expr(call)]
            return [_assign(_name(outs[0].name) if len(outs) == 1 else _names(outs, ast.Store()), call)]
        case Comment(text=text):
            return [ast.Expr(ast.Constant(MARK + text))]
    raise AssertionError(f"not a statement of the backend: {stmt!r}")


def _names(things: tuple[Any, ...], context: ast.expr_context) -> ast.expr:
    return ast.Tuple([_name(thing.name) for thing in things], context)


def _is_of_scalars(stmt: Stmt) -> bool:
    return isinstance(stmt.value if isinstance(stmt, Push) else stmt.target, Expr)  # type: ignore[attr-defined]


def _is_next(stmt: Stmt, first: Push | Pop) -> bool:
    """Does it push, or pop, one more number on the same stack?"""
    return isinstance(stmt, type(first)) and stmt.stack == first.stack and _is_of_scalars(stmt)


def _push(routine: str, stack: Stack, values: list[Any]) -> ast.stmt:
    given = [_operand(value) for value in values]
    return _assign(_name(stack.top), _parse_call(routine, _name(stack.name), _name(stack.top), *given))


def _pushed(run: list[Any]) -> list[ast.stmt]:
    return [_push("push", run[0].stack, [stmt.value for stmt in run])]


def _popped(run: list[Any]) -> list[ast.stmt]:
    """The last that was pushed is the last of its row."""
    stack = run[0].stack
    out = [_down(stack, ast.Constant(len(run)))]
    for place, stmt in zip(reversed(range(len(run))), run, strict=True):
        top = _name(stack.top)
        at = ast.BinOp(top, ast.Add(), ast.Constant(place)) if place else top
        out.append(_assign(_name(stmt.target.name), ast.Subscript(_buffer(stack), at, ast.Load())))
    return out


def _down(stack: Stack, size: ast.expr) -> ast.stmt:
    return ast.AugAssign(ast.Name(stack.top, ast.Load()), ast.Sub(), size)


def _buffer(stack: Stack) -> ast.expr:
    return ast.Subscript(_name(stack.name), ast.Constant(0), ast.Load())


def _pop(target: Array, stack: Stack, dims: tuple[Expr, ...]) -> list[ast.stmt]:
    size = _operand(affine.product(dims))
    end = ast.BinOp(_name(stack.top), ast.Add(), size)
    part = ast.Subscript(_buffer(stack), ast.Slice(_name(stack.top), end), ast.Load())
    shape = ast.Tuple([_operand(affine.normal(dim)) for dim in dims], ast.Load())
    reshaped = ast.Call(ast.Attribute(part, "reshape", ast.Load()), [shape], [])
    return [_down(stack, size), _assign(_name(target.name), reshaped)]


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _if(condition: Expr, then: Block, orelse: Block) -> ast.stmt:
    if not then and orelse:
        return ast.If(ast.UnaryOp(ast.Not(), _operand(condition)), _body(orelse), [])
    return ast.If(_operand(condition), _body(then), _body(orelse) if orelse else [])


def _printed(part: Any) -> ast.expr:
    return _operand(part) if isinstance(part, (Expr, Array)) else ast.Constant(part)


def _allocation(stmt: Alloc) -> ast.expr:
    dims = [_operand(affine.normal(dim)) for dim in stmt.dims]
    shape = dims[0] if len(dims) == 1 else ast.Tuple(dims, ast.Load())
    dtype = [] if stmt.array.dtype == FLOAT64 else [_dtype(stmt.array.dtype)]
    if stmt.fill is None:
        return _parse_call("np.empty", shape, *dtype)
    if isinstance(stmt.fill, Const) and not any(np.asarray(stmt.fill.value, stmt.fill.dtype).tobytes()):  # not -0.0
        return _parse_call("np.zeros", shape, *dtype)
    return _parse_call("np.full", shape, _operand(stmt.fill), _dtype(stmt.array.dtype))


def _dtype(dtype: np.dtype) -> ast.expr:
    return _parse("np.bool_" if dtype == BOOL else f"np.{dtype.name}")


def _range(stmt: For) -> ast.expr:
    start, stop, step = stmt.start, stmt.stop, stmt.step
    args = [stop]
    if not affine.same(step, affine.ONE):
        args = [start, stop, step]
    elif not affine.same(start, affine.ZERO):
        args = [start, stop]
    return _parse_call("range", *(_operand(affine.normal(arg)) for arg in args))


def _view(stmt: View) -> ast.expr:
    base = _name(stmt.base.name)
    match stmt.how:
        case Transpose(order=order):
            if order == tuple(reversed(range(len(order)))):
                return ast.Attribute(base, "T", ast.Load())
            return _parse_call("np.transpose", base, ast.Tuple([ast.Constant(k) for k in order], ast.Load()))
        case Reshape(dims=dims) | Conform(dims=dims):
            shape = ast.Tuple([_operand(affine.normal(dim)) for dim in dims], ast.Load())
            if isinstance(stmt.how, Conform):
                return _parse_call("conform_zeros" if stmt.how.zeros else "conform", base, shape)
            return ast.Call(ast.Attribute(base, "reshape", ast.Load()), [shape], [])
        case Subscript(items=items) if all(isinstance(item, Pick) for item in items):
            *first, last = items
            one = Run(last.index, affine.ONE, affine.ONE)  # type: ignore[union-attr]
            part = _subscript(base, stmt.base, (*first, one))  # x[k] is a number, and x[k:k+1] is memory
            return ast.Call(ast.Attribute(part, "reshape", ast.Load()), [ast.Tuple([], ast.Load())], [])
        case Subscript(items=items):
            return _subscript(base, stmt.base, items)
    raise AssertionError(f"not a view: {stmt.how!r}")


def _subscript(base: ast.expr, array: Array, items: tuple[Pick | Run | NewAxis, ...]) -> ast.expr:
    axes = iter(array.dims)
    parts: list[ast.expr] = []
    flips = []
    for item in items:
        match item:
            case NewAxis():
                parts.append(ast.Constant(None))
            case Pick(index=index):
                next(axes)
                parts.append(_operand(affine.normal(index)))
            case Run():
                part, flipped = _slice(item, next(axes))
                parts.append(part)
                flips.append(flipped)
        if isinstance(item, NewAxis):
            flips.append(False)
    out = base
    while parts and isinstance(parts[-1], ast.Slice) and parts[-1].lower is parts[-1].upper is parts[-1].step is None:
        parts.pop()  # rows[k, :] is rows[k], which Numba knows to be in order
    if parts:
        out = ast.Subscript(base, parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load()), ast.Load())
    if any(flips):
        turned: list[ast.expr] = [ast.Slice(step=_literal(-1)) if flip else ast.Slice() for flip in flips]
        out = ast.Subscript(out, turned[0] if len(turned) == 1 else ast.Tuple(turned, ast.Load()), ast.Load())
    return out


def _slice(run: Run, dim: Expr) -> tuple[ast.expr, bool]:
    """The slice, and whether it has to be turned round after it (a hidden slice can't end at index 0)."""
    start, step, length = affine.normal(run.start), affine.normal(run.step), run.length
    step_value = int(step.value) if isinstance(step, Const) else 1
    if step_value > 0:
        if run.whole or (affine.same(length, dim) and affine.same(start, affine.ZERO) and step_value == 1):
            return ast.Slice(), False
        stop = affine.add(start, affine.mul(step, length))
        lower = None if affine.same(start, affine.ZERO) else _operand(start)
        upper = None if affine.same(stop, dim) and step_value == 1 else _operand(stop)
        return ast.Slice(lower, upper, None if step_value == 1 else _operand(step)), False
    last = affine.add(start, affine.mul(step, affine.sub(length, affine.ONE)))
    stop, stride = affine.add(start, affine.ONE), -step_value
    lower = None if affine.same(last, affine.ZERO) else _operand(last)
    upper = None if affine.same(stop, dim) else _operand(stop)
    return ast.Slice(lower, upper, None if stride == 1 else _operand(integer(stride))), True
