"""IR as text, for `f.source(x, after=...)`, golden tests and errors of the checker.

AddTo(Var("x_b"), Old(Var("w"), 3))   →   x_b += old(w @ 3)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .expressions import Array, Axis, Call, Const, Cotangent, Dim, Expr, Load, Old, OldArray, Var
from .nodes import (
    Absorb,
    AddTo,
    Alloc,
    Assign,
    AtomicAdd,
    Block,
    Comment,
    Conform,
    CopyTo,
    External,
    Fetch,
    For,
    ForEach,
    Function,
    Grow,
    If,
    Invoke,
    Kernel,
    Lanes,
    Library,
    LocalArray,
    NewAxis,
    NewStack,
    OwnCopy,
    Parallel,
    Pick,
    Pop,
    Print,
    Push,
    Put,
    Raise,
    Reshape,
    Room,
    Rule,
    Run,
    Seal,
    Split,
    Spread,
    Stack,
    Stmt,
    Store,
    Subscript,
    Swap,
    Sweep,
    Transpose,
    Unseal,
    View,
    While,
)

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or",
}  # fmt: skip


def show(function: Function) -> str:
    """A function of the IR, at any stage."""
    params = ", ".join(f"{p.name}: {kind(p)}" for p in function.params)
    lines = [f"function {function.name}({params})", *_block(function.body, 1), f"    return {text(function.results)}"]
    return "".join(show(callee) + "\n" for callee in function.callees) + "\n".join(lines) + "\n"


def kind(thing: Var | Array | Stack) -> str:
    if isinstance(thing, Stack):
        return f"stack of {thing.dtype.name}"
    return f"{thing.dtype.name}[{', '.join(':' * thing.ndim)}]" if isinstance(thing, Array) else thing.dtype.name


def _block(block: Block, depth: int) -> Iterator[str]:
    if not block:
        yield "    " * depth + "pass"
    for stmt in block:
        for line in _lines(stmt):
            if isinstance(line, tuple):
                yield from _block(line, depth + 1)
            elif line:
                yield "    " * depth + line


def _lines(stmt: Stmt) -> list[Any]:
    """The lines of a statement; a block stands for its own lines, one level deeper."""
    match stmt:
        case Assign(var=var, value=value):
            return [f"{text(var)} = {text(value)}"]
        case Store(array=array, index=index, value=value):
            return [f"{text(Load(array, index))} = {text(value)}"]
        case AddTo(target=target, value=value):
            return [f"{text(target)} += {text(value)}"]
        case Alloc(array=array, dims=dims, on=Stack(name=stack)):
            return [f"{array.name} = {array.dtype.name}[{texts(dims)}] on {stack}"]
        case Alloc(array=array, dims=dims, fill=fill):
            return [f"{array.name} = {array.dtype.name}[{texts(dims)}] of {'nothing' if fill is None else text(fill)}"]
        case View(array=array, base=base, how=how):
            return [f"{array.name} = view of {base.name} {_how(how)}"]
        case Absorb(into=into, out=out):
            return [f"{into.name} += sums of {out.name}"]
        case CopyTo(target=target, source=source):
            return [f"{target.name}[...] = {source.name}"]
        case Swap(left=left, right=right):
            return [f"{left.name}, {right.name} = {right.name}, {left.name}"]
        case ForEach(indices=indices, dims=dims, body=body):
            ranges = ", ".join(f"{i.name} < {text(d)}" for i, d in zip(indices, dims, strict=False))
            return [f"for each {ranges}:", body]
        case For(index=index, start=start, stop=stop, step=step, body=body, apart=apart):
            return [f"for {index.name} in range({texts((start, stop, step))}):{'  # apart' * apart}", body]
        case While(trip=trip, condition=condition, body=body):
            return [f"while {text(condition)}:  # {trip.name} = 0, 1, …", body]
        case If(condition=condition, then=then, orelse=orelse):
            return [f"if {text(condition)}:", then, *(["else:", orelse] if orelse else [])]
        case Library(routine=routine, args=args):
            return [f"{routine}({texts((*stmt.outs, *args))})"]
        case Grow(array=array, rows=rows):
            return [f"{array.name} with {text(rows)} rows"]
        case External(function=name, out=out, args=args):
            return [f"{out.name} = {name}({texts(args)})"]
        case Invoke(outs=outs, args=args, tapes=tapes):
            half = f" ({stmt.half})" if stmt.half else ""
            made = f"{texts(outs)} = " if outs else ""
            return [f"{made}{stmt.callee}{half}({texts((*args, *(t.name for t in tapes)))})"]
        case Rule(name=name, outputs=outputs, forward=forward, adjoint=adjoint):
            return [f"rule {name} for {texts(outputs)}:", forward, "adjoint:", adjoint]
        case Spread(expr=expr, value=value):
            return [f"spread {text(value)} to {text(expr)}"]
        case Raise(error=error, message=message, values=values):
            return [f"raise {error}({texts((repr(message), *values))})"]
        case Print(parts=parts, text=str() as said, by=name):
            return [f"{name}({texts((repr(said), *parts))})"]
        case Print(parts=parts):
            return [f"print({texts(tuple(repr(p) if isinstance(p, str) else p for p in parts))})"]
        case Sweep(body=body):
            return ["sweep:", body]
        case NewStack(stack=stack):
            return [f"{stack.name} = empty stack"]
        case Push(stack=stack, value=value):
            return [f"push {text(value)} on {stack.name}"]
        case Pop(target=target, stack=stack):
            return [f"{target.name} = pop {stack.name}"]
        case Seal(array=array, stack=stack):
            return [f"{array.name} = all of {stack.name}"]
        case Unseal(stack=stack, array=array):
            return [f"{stack.name} = stack of {array.name}"]
        case OwnCopy(array=array):
            return [f"{array.name} = own copy of {array.name}"]
        case Parallel(low=low, high=high, start=start, stop=stop, step=step, body=body):
            return [f"in pieces {low.name}, {high.name} of range({texts((start, stop, step))}):", body]
        case Kernel(name=name, axes=axes, body=body):
            over = ", ".join(f"{a.index.name} in range({texts((a.start, a.stop, a.step))})" for a in axes)
            return [f"{name}, by a thread for each of {over}:" if axes else f"{name}, by one thread:", body]
        case Lanes(index=index, start=start, stop=stop, body=body):
            return [f"for {index.name} in range({texts((start, stop))}), together:", body]
        case AtomicAdd(array=array, index=index, value=value):
            return [f"{text(Load(array, index))} += {text(value)}, among others"]
        case LocalArray(array=array):
            return [f"{array.name} = local {array.dtype.name}[{texts(array.dims)}]"]
        case Fetch(var=var):
            return [f"{var.name} = from the device"]
        case Put(var=var):
            return [f"{var.name} to the device"]
        case Room(var=var):
            return [f"{var.name} = room for what a thread keeps"]
        case Comment(text=words):
            return [f"# {words}" if words else ""]
    raise AssertionError(stmt)


def _how(how: Any) -> str:
    match how:
        case Subscript(items=items):
            return f"[{', '.join(_item(item) for item in items)}]"
        case Transpose(order=order):
            return f"with axes {order}"
        case Reshape(dims=dims):
            return f"as ({texts(dims)})"
        case Split(axis=axis, dims=dims):
            return f"with axis {axis} as ({texts(dims)})"
        case Conform(dims=dims):
            return f"spread to ({texts(dims)})"
    raise AssertionError(how)


def _item(item: Any) -> str:
    match item:
        case Pick(index=index):
            return text(index)
        case Run(start=start, step=step, length=length):
            return f"{text(length)} from {text(start)} by {text(step)}"
        case NewAxis():
            return "None"
    raise AssertionError(item)


def texts(values: tuple[Any, ...]) -> str:
    return ", ".join(text(value) for value in values)


def text(value: Any) -> str:
    """An expression, an array or a structure of them."""
    match value:
        case str():
            return value
        case tuple():
            return f"({texts(value)})"
        case Const(value=number):
            return repr(number)
        case Var(name=name) | Array(name=name):
            return name
        case Axis(number=number):
            return f"#{number}"
        case Dim(array=array, axis=axis):
            return f"{array}.shape[{axis}]"
        case Load(array=array, index=index):
            return f"{array.name}[{texts(index)}]"
        case Old(expr=expr, at=at):
            return f"old({text(expr)} @ {at})"
        case OldArray(array=array, at=at):
            return f"old({array.name} @ {at})"
        case Cotangent(of=of):
            return f"cotangent({text(of)})"
        case Call(op="select", args=(condition, x, y)):
            return f"({text(x)} if {text(condition)} else {text(y)})"
        case Call(op="cast", args=(x,), dtype=dtype):
            return f"{dtype.name}({text(x)})"
        case Call(op=op, args=(x, y)) if op in SYMBOLS:
            return f"({text(x)} {SYMBOLS[op]} {text(y)})"
        case Call(op=op, args=args):
            return f"{op}({texts(args)})"
        case None:
            return "nothing"
    assert not isinstance(value, Expr), value
    return str(value)
