"""IR → Python source, by way of `ast`.

    AddTo(x_b[i], mul(y_b, w[i]))   →   x_b[i] += y_b * w[i]

The text is what `jit=False` runs and what Numba compiles.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from ..analysis.effects import sums_in_order
from ..ir import affine
from ..ir.expressions import INT64, Array, Call, Expr, Load, Var
from ..ir.nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    Block,
    Comment,
    CopyTo,
    External,
    For,
    Function,
    Grow,
    If,
    Library,
    NewStack,
    OwnCopy,
    Pop,
    Print,
    Push,
    Raise,
    Seal,
    Stack,
    Stmt,
    Store,
    Swap,
    Unseal,
    View,
    While,
    leaves,
)
from ..ir.walk import statements
from ..rules.costs import stays_scalar
from ..rules.device import spelling as spelling_on_device
from .brief import longest_brief
from .expressions import (
    again,
    call_of,
    independent,
    named,
    operand,
    parsed,
    scalar_type,
    speaking,
    summand,
    target_of,
    vectorises,
)
from .facts import Facts, facts_about
from .gpu.host import with_kernels
from .gpu.kernel_text import Lines
from .gpu.kernels import Definition, Form
from .gpu.same_kernels import one_of_each
from .imports import imports_of, imports_of_libraries, imports_of_objects, imports_on_device
from .indentation import flattened
from .lending import Borrow, Called, with_lending
from .repeated import with_parts
from .source import MARK, lines_of_statements, to_source
from .threads import with_threads
from .views import allocation, view_of

WAITS = (Raise, Print, External, Push, Pop)  # what is done for one iteration after the other


def emit(function: Function, form: Form | None = None, objects: Mapping[str, Any] | None = None) -> tuple[str, Facts]:
    """The function as a module, and facts about its lines; with a `form`, what was offloaded as kernels.

    `objects`: what the module is handed, by name: exceptions that are not srcgrad's.
    """
    *callees, entry = with_lending(function)
    kernels: tuple[Definition, ...] = ()
    if form is not None:
        kernels, entry = with_kernels(entry, form)
    repeated, entry = with_parts(entry) if form is None else ([], entry)
    parts = (*callees, *(part.function for part in repeated), *map(_kernel, kernels), *with_threads(entry))
    token = again.set(function.info.again)
    definitions = [_definition(part) if isinstance(part, Function) else part for part in parts]
    again.reset(token)
    signatures = {kernel.name: kernel.signature for kernel in kernels}
    if kernels:
        definitions = one_of_each(definitions, signatures)
    text = to_source(flattened(ast.Module([*definitions], [])))
    imports = imports_on_device(text) if form is not None else imports_of(text)
    every = [stmt for part in (function, *function.callees) for stmt in statements(part.body)]
    externals = [stmt for stmt in every if isinstance(stmt, External)]
    imports += imports_of_libraries(stmt.function for stmt in externals)
    imports += imports_of_objects(objects or {}, text)
    text = "\n".join([*imports, "", "", text])
    lines = islice(lines_of_statements(text), len(imports), None)
    pieces = frozenset(part.name for part in parts[len(callees) + len(repeated) : -1] if isinstance(part, Function))
    signatures = {d.name: signatures[d.name] for d in definitions if d.name in signatures}
    return text, replace(
        facts_about(definitions, lines, function),
        pieces=pieces,
        parts=frozenset((part.function.name, part.memory) for part in repeated),
        kernels=tuple(signatures.items()),
        brief=longest_brief(function),
        interpreted=any(stmt.interpreted for stmt in externals),
        replaced=any(isinstance(stmt, OwnCopy) for stmt in every),
    )


def _definition(function: Function) -> ast.FunctionDef:
    body = _statements(function.body)
    returned = [operand(leaf) for leaf in leaves(function.results)]
    if len(returned) == 1:
        body.append(ast.Return(returned[0]))
    elif returned:
        body.append(ast.Return(ast.Tuple(returned, ast.Load())))
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(p.name) for p in function.params], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.FunctionDef(function.name, arguments, body or [ast.Pass()], [])


def _kernel(kernel: Definition) -> ast.FunctionDef:
    with speaking(spelling_on_device):
        definition = _definition(Function(kernel.name, tuple(map(Var, kernel.params)), kernel.body, ()))
    definition.decorator_list = [parsed(kernel.decorator)]
    return definition


def _body(block: Block) -> list[ast.stmt]:
    return _statements(block) or [ast.Pass()]


def _statements(block: Block) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    position = 0
    while position < len(block):
        stmt = block[position]
        after = block[position + 1] if position + 1 < len(block) else None
        match stmt, after:
            case Alloc(array=array, fill=None, on=None), CopyTo(target=target, source=source) if (
                target == array and array.dtype == source.dtype
            ):
                out.append(
                    _assign(named(array.name), ast.Call(ast.Attribute(named(source.name), "copy", ast.Load()), [], []))
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
            return [_assign(named(var.name), operand(value))]
        case Store(array=array, index=index, value=value):
            return [_assign(operand(Load(array, index)), operand(value))]
        case AddTo(target=Var(dtype=dtype) as target, value=value) if dtype.kind in "iu" and dtype != INT64:
            return [_assign(target_of(target), operand(Call("add", (target, value), dtype)))]  # Numba would widen it
        case AddTo(target=Var() as target, value=Call(op="neg", args=(value,)), reorder=True):
            return [ast.AugAssign(target_of(target), ast.Sub(), summand(value))]
        case AddTo(target=target, value=Call(op="neg", args=(value,))):
            return [ast.AugAssign(target_of(target), ast.Sub(), operand(value))]
        case AddTo(target=Var() as target, value=value, reorder=True):
            return [ast.AugAssign(target_of(target), ast.Add(), summand(value))]
        case AddTo(target=target, value=value):
            return [ast.AugAssign(target_of(target), ast.Add(), operand(value))]
        case Alloc(array=array, on=Stack() as stack, dims=dims):
            size = operand(affine.product(dims))
            up = _assign(named(stack.top), call_of("make_room", named(stack.name), named(stack.top), size))
            return [up, _part_of(stack, ast.BinOp(named(stack.top), ast.Sub(), size), array, dims)]
        case Alloc():
            return [_assign(named(stmt.array.name), allocation(stmt))]
        case View(array=array):
            return [_assign(named(array.name), view_of(stmt))]
        case Absorb(into=into, out=out):
            return [ast.Expr(call_of("absorb", named(into.name), named(out.name)))]
        case CopyTo(target=target, source=source):
            if target.ndim == 0:
                return [_assign(ast.Subscript(named(target.name), parsed("()"), ast.Store()), named(source.name))]
            return [ast.Expr(call_of("copy_to", named(target.name), named(source.name)))]
        case Swap(left=left, right=right):
            pair, swapped = [named(left.name), named(right.name)], [named(right.name), named(left.name)]
            return [_assign(ast.Tuple(pair, ast.Store()), ast.Tuple(swapped, ast.Load()))]
        case For():
            alone = not stmt.ordered and not any(isinstance(s, (For, While)) for s in statements(stmt.body))
            waits = any(isinstance(s, WAITS) or stays_scalar(s) for s in statements(stmt.body))
            tokens = independent.set(alone), vectorises.set(alone and not waits and not sums_in_order(stmt.body))
            body = _body(stmt.body)
            independent.reset(tokens[0])
            vectorises.reset(tokens[1])
            return [ast.For(named(stmt.index.name), _range(stmt), body, [])]
        case While(condition=condition, body=body):
            return [ast.While(operand(condition), _body(body), [])]
        case If(condition=condition, then=then, orelse=orelse):
            return [_if(condition, then, orelse)]
        case Library(routine=routine, args=args):
            outs = (named(out.name) for out in stmt.outs)
            return [ast.Expr(call_of(routine, *outs, *(operand(arg) for arg in args)))]
        case Grow(array=array, rows=rows):
            return [_assign(named(array.name), call_of("with_rows", named(array.name), operand(rows)))]
        case External(function=function, out=out, args=args):
            return [_assign(named(out.name), call_of(function, *(_printed(arg) for arg in args)))]
        case Raise():
            values = [ast.Constant(stmt.message)] if stmt.message else []
            return [ast.Raise(call_of(stmt.error, *values, *(operand(v) for v in stmt.values)), None)]
        case Print(parts=parts, text=str() as text, by=name):
            fields = ast.Tuple([operand(part) for part in parts], ast.Load())
            return [ast.Expr(call_of(name, ast.Constant(text), fields))]
        case Print(parts=parts):
            return [ast.Expr(call_of("print", *(_printed(part) for part in parts)))]
        case OwnCopy(array=array, copy=True):
            return [_assign(named(array.name), ast.Call(ast.Attribute(named(array.name), "copy", ast.Load()), [], []))]
        case OwnCopy(array=array):
            return [_assign(named(array.name), call_of("np.ascontiguousarray", named(array.name)))]
        case NewStack(stack=stack, room=room):
            buffer = call_of("np.empty", ast.Constant(room), scalar_type(stack.dtype))
            return [
                _assign(named(stack.name), ast.List([buffer], ast.Load())),
                _assign(named(stack.top), ast.Constant(0)),
            ]
        case Seal(array=array, stack=stack):
            buffer = ast.Subscript(named(stack.name), ast.Constant(0), ast.Load())
            return [_assign(named(array.name), ast.Subscript(buffer, ast.Slice(None, named(stack.top)), ast.Load()))]
        case Unseal(stack=stack, array=array):
            top = ast.Attribute(named(array.name), "size", ast.Load())
            return [
                _assign(named(stack.name), ast.List([named(array.name)], ast.Load())),
                _assign(named(stack.top), top),
            ]
        case Push(stack=stack, value=value):
            return [_push("push_array", stack, [value])]
        case Pop(target=Array() as target, stack=stack, dims=dims):
            return _pop(target, stack, dims)
        case Borrow(things=things, lent=lent):
            return [_assign(_names(things, ast.Store()), call_of("borrow", named(lent)))]
        case Called(function=name, outs=outs, things=things, args=args):
            given = [operand(arg) for arg in args]
            if things:
                given = [named(name), _names(things, ast.Load()), *given]
            call = call_of("lending" if things else name, *given)
            if not outs:
                return [ast.Expr(call)]
            return [_assign(named(outs[0].name) if len(outs) == 1 else _names(outs, ast.Store()), call)]
        case Lines(text=text):
            return ast.parse(text).body
        case Comment(text=text):
            return [ast.Expr(ast.Constant(MARK + text))]
    raise AssertionError(f"not a statement of the backend: {stmt!r}")


def _names(things: tuple[Any, ...], context: ast.expr_context) -> ast.expr:
    return ast.Tuple([named(thing.name) for thing in things], context)


def _is_of_scalars(stmt: Stmt) -> bool:
    return isinstance(stmt.value if isinstance(stmt, Push) else stmt.target, Expr)  # type: ignore[attr-defined]


def _is_next(stmt: Stmt, first: Push | Pop) -> bool:
    """Does it push, or pop, one more number on the same stack?"""
    return isinstance(stmt, type(first)) and stmt.stack == first.stack and _is_of_scalars(stmt)


def _push(routine: str, stack: Stack, values: list[Any]) -> ast.stmt:
    given = [operand(value) for value in values]
    return _assign(named(stack.top), call_of(routine, named(stack.name), named(stack.top), *given))


def _pushed(run: list[Any]) -> list[ast.stmt]:
    return [_push("push", run[0].stack, [stmt.value for stmt in run])]


def _popped(run: list[Any]) -> list[ast.stmt]:
    """The last that was pushed is the last of its row."""
    stack = run[0].stack
    out = [_down(stack, ast.Constant(len(run)))]
    for place, stmt in zip(reversed(range(len(run))), run, strict=True):
        top = named(stack.top)
        at = ast.BinOp(top, ast.Add(), ast.Constant(place)) if place else top
        out.append(_assign(named(stmt.target.name), ast.Subscript(_buffer(stack), at, ast.Load())))
    return out


def _down(stack: Stack, size: ast.expr) -> ast.stmt:
    return ast.AugAssign(ast.Name(stack.top, ast.Load()), ast.Sub(), size)


def _buffer(stack: Stack) -> ast.expr:
    return ast.Subscript(named(stack.name), ast.Constant(0), ast.Load())


def _pop(target: Array, stack: Stack, dims: tuple[Expr, ...]) -> list[ast.stmt]:
    return [_down(stack, operand(affine.product(dims))), _part_of(stack, named(stack.top), target, dims)]


def _part_of(stack: Stack, start: ast.expr, array: Array, dims: tuple[Expr, ...]) -> ast.stmt:
    shape = ast.Tuple([operand(affine.normal(dim)) for dim in dims], ast.Load())
    return _assign(named(array.name), call_of("kept_array", named(stack.name), start, shape))


def _assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([target], value)


def _if(condition: Expr, then: Block, orelse: Block) -> ast.stmt:
    if not then and orelse:
        return ast.If(ast.UnaryOp(ast.Not(), operand(condition)), _body(orelse), [])
    return ast.If(operand(condition), _body(then), _body(orelse) if orelse else [])


def _printed(part: Any) -> ast.expr:
    return operand(part) if isinstance(part, (Expr, Array)) else ast.Constant(part)


def _range(stmt: For) -> ast.expr:
    start, stop, step = stmt.start, stmt.stop, stmt.step
    args = [stop]
    if not affine.same(step, affine.ONE):
        args = [start, stop, step]
    elif not affine.same(start, affine.ZERO):
        args = [start, stop]
    return call_of("range", *(operand(affine.normal(arg)) for arg in args))
