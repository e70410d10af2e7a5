"""Which names are still read after a statement: only those are carried round loops and merged after branches.

for i in range(n):        carried: s (read and written round the loop)
    t = x[i] * 2          not carried: t
    s = s + t
return s
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from .syntax import below, walk

Names = frozenset[str]


def annotate(body: Sequence[ast.stmt], results: Iterable[str]) -> None:
    """Give every compound statement `live_out`, loops `live_in_body` and `surely_runs` too, in place."""
    _block(body, frozenset(results))
    functions = [part for stmt in body for part in walk(stmt) if isinstance(part, (ast.FunctionDef, ast.Lambda))]
    for stmt in body if functions else ():
        for part in walk(stmt):
            if isinstance(part, (ast.If, ast.For, ast.While)) and hasattr(part, "live_out"):
                part.live_out |= _read_by_earlier(functions, part) | _read_by_those_in(part)


def read_anywhere(body: Sequence[ast.stmt], names: Names) -> None:
    """Of annotated statements: these names may be read after any part of them."""
    for stmt in body:
        for part in walk(stmt):
            if isinstance(part, (ast.If, ast.For, ast.While)) and hasattr(part, "live_out"):
                part.live_out |= names
            if isinstance(part, (ast.For, ast.While)) and hasattr(part, "live_in_body"):
                part.live_in_body |= names


def _read_by_earlier(functions: list[ast.FunctionDef | ast.Lambda], stmt: ast.stmt) -> Names:
    """What functions defined ahead of a statement read when they are called: in it, or after it."""
    ahead = (function for function in functions if function.lineno < stmt.lineno)
    return frozenset().union(*(_free_names(function) for function in ahead))


def _read_by_those_in(stmt: ast.If | ast.For | ast.While) -> Names:
    """What functions defined in a statement read when they are called after it."""
    live: Names = stmt.live_out  # type: ignore[union-attr]
    named = [part for part in walk(stmt) if isinstance(part, (ast.FunctionDef, ast.Assign))]
    called = [part for part in named if live & (_binds(part) | {getattr(part, "name", "")})]
    functions = [f for part in called for f in walk(part) if isinstance(f, (ast.FunctionDef, ast.Lambda))]
    return frozenset().union(*map(_free_names, functions))


def _free_names(function: ast.FunctionDef | ast.Lambda) -> Names:
    """What the body reads of the names around it."""
    body: list[Any] = function.body if isinstance(function.body, list) else [function.body]
    own = {arg.arg for arg in walk(function.args) if isinstance(arg, ast.arg)}
    return _reads(*body) - own - assigned(body)


def assigned(body: Sequence[ast.stmt]) -> Names:
    """The names that a block binds (not those of functions nested in it)."""
    out: set[str] = set()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                out.add(node.id)
        elif isinstance(node, ast.FunctionDef):
            out.add(node.name)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            out |= named_in(node)
        elif not isinstance(node, (ast.Constant, ast.Lambda)):
            waiting += below(node)
    return frozenset(out)


def mentioned(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def named_in(node: ast.AST) -> set[str]:
    """What := binds in an expression: in a comprehension too it is a name of the function around."""
    return {part.target.id for part in walk(node) if isinstance(part, ast.NamedExpr)}


def without_targets(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block, loops by their bodies: what is left of the names is not a loop's target."""
    out: list[ast.stmt] = []
    for stmt in body:
        match stmt:
            case ast.For(body=inner) | ast.While(body=inner):
                out += without_targets(inner)
            case ast.If(body=then, orelse=orelse):
                out += without_targets([*then, *orelse])
            case _:
                out.append(stmt)
    return out


def _reads(*nodes: ast.AST | None) -> Names:
    return frozenset().union(*(read_in(node) for node in nodes if node is not None))


def read_in(node: ast.AST) -> Names:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return frozenset({name})
        case ast.ListComp(generators=parts) | ast.SetComp(generators=parts) | ast.GeneratorExp(generators=parts):
            return _reads(parts[0].iter) | (_reads(node.elt, *_behind_first(parts)) - _binds_all(parts))
        case ast.DictComp(key=key, value=value, generators=parts):
            return _reads(parts[0].iter) | (_reads(key, value, *_behind_first(parts)) - _binds_all(parts))
        case ast.Lambda(args=given, body=body):
            own = {arg.arg for arg in walk(given) if isinstance(arg, ast.arg)}
            return _reads(given) | (_reads(body) - own)
    return _reads(*below(node))


def _behind_first(parts: list[ast.comprehension]) -> list[ast.expr]:
    """A comprehension's own scope, but for its items: all but what the first part runs over."""
    return [*(p.target for p in parts), *(p.iter for p in parts[1:]), *(test for p in parts for test in p.ifs)]


def _binds_all(parts: list[ast.comprehension]) -> Names:
    return frozenset().union(*(_binds(part.target) for part in parts))


def _binds(target: ast.AST) -> Names:
    return frozenset(n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _block(body: Sequence[ast.stmt], live: Names) -> Names:
    for stmt in reversed(body):
        live = _statement(stmt, live)
    return live


def _statement(stmt: ast.stmt, live: Names) -> Names:
    match stmt:
        case ast.If(test=test, body=then, orelse=orelse):
            stmt.live_out = live  # type: ignore[attr-defined]
            return _ahead_of_test(test, _block(then, live), _block(orelse, live))
        case ast.For(target=target, iter=over, body=body):
            return _ahead_of(over, _loop(stmt, body, live, _binds(target)) - (_binds(target) - live))
        case ast.While(test=test, body=body):
            return _loop(stmt, body, live | _reads(test), frozenset()) | _reads(test)
        case ast.Assign(targets=targets, value=value):
            bound = frozenset().union(*(_binds(target) for target in targets))
            return _ahead_of(value, (live - bound) | _reads(*targets))
        case ast.AugAssign(target=target, value=value):
            return _ahead_of(value, live) | _reads(target) | _binds(target)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return _ahead_of(value, (live - _binds(target)) | _reads(target))
        case ast.Expr(value=value):
            return _ahead_of(value, live)
        case ast.With(items=items, body=[]):  # which stands behind it by now
            bound = frozenset().union(*(_binds(item.optional_vars) for item in items if item.optional_vars))
            return (live - bound) | _reads(*(item.context_expr for item in items))
        case ast.FunctionDef(name=name, args=given, decorator_list=decorators):
            return (live - {name}) | _free_names(stmt) | _reads(given, *decorators)
    return live | _reads(stmt)


def _ahead_of(node: ast.AST, live: Names) -> Names:
    """The names that are read from an expression on, by those read after it: not what := surely binds in it."""
    if not named_in(node):
        return live | read_in(node)
    surely: list[ast.expr] = []
    perhaps: list[ast.expr] = []  # the expression may end ahead of each of these
    match node:
        case ast.NamedExpr(target=target, value=value):
            return _ahead_of(value, live - {target.id})
        case ast.IfExp(test=test, body=then, orelse=orelse):
            return _ahead_of_test(test, _ahead_of(then, live), _ahead_of(orelse, live))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp() | ast.Lambda():
            return live | read_in(node)
        case ast.BoolOp(values=[first, *perhaps]):
            surely = [first]
        case ast.Compare(left=left, comparators=[second, *perhaps]):
            surely = [left, second]
        case ast.Dict(keys=keys, values=values):
            surely = [part for pair in zip(keys, values, strict=True) for part in pair if part is not None]
        case _:
            return _ahead_of_all(below(node), live)
    ahead = live
    for part in reversed(perhaps):
        ahead = live | _ahead_of(part, ahead)
    return _ahead_of_all(surely, ahead)


def _ahead_of_all(parts: Sequence[ast.AST], live: Names) -> Names:
    for part in reversed(parts):
        live = _ahead_of(part, live)
    return live


def _ahead_of_test(node: ast.expr, if_true: Names, if_false: Names) -> Names:
    """The same of a test, by what is read where it is true, and where it is false."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=test):
            return _ahead_of_test(test, if_false, if_true)
        case ast.BoolOp(op=ast.And(), values=values):
            for test in reversed(values):
                if_true = _ahead_of_test(test, if_true, if_false)
            return if_true
        case ast.BoolOp(op=ast.Or(), values=values):
            for test in reversed(values):
                if_false = _ahead_of_test(test, if_true, if_false)
            return if_false
    return _ahead_of(node, if_true | if_false)


def _loop(stmt: ast.For | ast.While, body: Sequence[ast.stmt], after: Names, bound: Names) -> Names:
    flag = getattr(stmt, "stop_flag", None)
    around = after | ({flag} if flag else frozenset())
    while True:
        start = _block(body, around) - bound
        if start <= around:
            break
        around |= start
    stmt.live_in_body = start | ({flag} if flag else frozenset())  # type: ignore[union-attr]
    stmt.live_out = after  # type: ignore[union-attr]
    stmt.surely_runs = flag is None and _surely_runs(stmt)  # type: ignore[union-attr]
    return start if stmt.surely_runs else after | start  # type: ignore[union-attr]


def _surely_runs(stmt: ast.For | ast.While) -> bool:
    """Is it a loop over a range of numbers in the text, and not over an empty one?"""
    match stmt:
        case ast.For(iter=ast.Call(func=ast.Name("range"), args=args, keywords=[])) if args:
            numbers = list(map(_whole_number, args))
            known = [number for number in numbers if number is not None]
            return len(known) == len(numbers) <= 3 and known[2:] != [0] and bool(range(*known))
    return False


def _whole_number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
    return None
