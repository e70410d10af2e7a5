"""`return`, `break` and `continue` → flags and `else` branches, so that every block runs from its top to its end.

    for i in range(n):               for i in range(n):          (the loop stops once `.stopped` is set)
        if x[i] < 0:                     if x[i] < 0:
            break                 →          .stopped = True
        s += x[i]                        else:
                                             s += x[i]

Names that begin with a dot can't meet the user's.  A loop that can stop carries the flag in its `stop_flag`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from .matching import matched

RESULT, RETURNED = ".result", ".returned"
Statements = list[ast.stmt]


def structured(node: ast.FunctionDef | ast.Lambda) -> Statements:
    """The body of a function, with its result in `.result` at the end."""
    if isinstance(node, ast.Lambda):
        return [_assign(RESULT, node.body, node.body)]
    last = node.body[-1]
    end = ast.copy_location(ast.Return(ast.copy_location(ast.Constant(None), last)), last)
    return _Flow().function([*node.body, end])  # new loops and branches: what is noted on them is this call's own


class _Flow:
    def __init__(self) -> None:
        self.count = 0
        self.flags: list[tuple[str, str]] = []  # (stopped, skipped) of each enclosing loop
        self.returns_in_loop = False

    def function(self, body: Statements) -> Statements:
        out = self.block(body)
        start = [_assign(RETURNED, ast.Constant(False), body[0])] if self.returns_in_loop else []
        return start + out

    def block(self, body: Sequence[ast.stmt]) -> Statements:
        out: Statements = []
        for position, stmt in enumerate(body):
            rest = body[position + 1 :]
            match stmt:
                case ast.Return():
                    out.append(_assign(RESULT, stmt.value or ast.copy_location(ast.Constant(None), stmt), stmt))
                    return out + self.mark_return(stmt)
                case ast.Break():
                    return [*out, _assign(self.flags[-1][0], ast.Constant(True), stmt)]
                case ast.Continue():
                    return [*out, _assign(self.flags[-1][1], ast.Constant(True), stmt)]
                case ast.If() if _jumps(stmt):
                    return out + self.branch(stmt, rest)
                case ast.If():
                    new = ast.If(stmt.test, self.block(stmt.body), self.block(stmt.orelse))
                    out.append(ast.copy_location(new, stmt))
                case ast.For() | ast.While():
                    out += self.loop(stmt)
                    if _returns(stmt):
                        guard = _not_any([RETURNED], stmt)
                        return [*out, ast.copy_location(ast.If(guard, self.block(rest), []), stmt)] if rest else out
                case ast.With(body=inner):
                    entered = copy.copy(stmt)
                    entered.body = []
                    return [*out, entered, *self.block([*inner, *rest])]
                case ast.Try() if not stmt.handlers:
                    inner = [*_finishing(stmt.body, stmt.finalbody), *stmt.orelse, *stmt.finalbody]
                    return out + self.block([*inner, *rest])
                case ast.Match():
                    self.count += 1
                    try:
                        cases = matched(stmt, f".subject_{self.count}")
                    except NotImplementedError:
                        out.append(stmt)
                        continue
                    return out + self.block([*cases, *rest])
                case _:
                    out.append(stmt)
        return out

    def mark_return(self, at: ast.stmt) -> Statements:
        if not self.flags and not self.general:
            return []
        self.returns_in_loop = True
        marks = [_assign(RETURNED, ast.Constant(True), at)]
        if self.flags:
            marks.append(_assign(self.flags[-1][0], ast.Constant(True), at))
        return marks

    general = False

    def branch(self, stmt: ast.If, rest: Sequence[ast.stmt]) -> Statements:
        """What follows an `if` that may jump goes into the branch that does not."""
        then_ends, else_ends = _ends(stmt.body), _ends(stmt.orelse)
        if then_ends or else_ends:
            if then_ends and else_ends:
                then, orelse = stmt.body, stmt.orelse
            elif then_ends:
                then, orelse = stmt.body, [*stmt.orelse, *rest]
            else:
                then, orelse = [*stmt.body, *rest], stmt.orelse
            new = ast.If(stmt.test, self.block(then) or [ast.Pass()], self.block(orelse))
            return [ast.copy_location(new, stmt)]
        # one of several inner paths jumps: what follows is guarded by the flags that they set
        outer, self.general = self.general, True
        new = ast.If(stmt.test, self.block(stmt.body), self.block(stmt.orelse))
        self.general = outer
        flags = []
        if any(isinstance(jump, ast.Return) for jump in _jumps(stmt)):
            self.returns_in_loop = True
            flags.append(RETURNED)
        if self.flags:
            kinds = {type(jump) for jump in _jumps(stmt)}
            flags += [self.flags[-1][0]] * (ast.Break in kinds) + [self.flags[-1][1]] * (ast.Continue in kinds)
        out: Statements = [ast.copy_location(new, stmt)]
        if rest:
            out.append(ast.copy_location(ast.If(_not_any(flags, stmt), self.block(rest), []), stmt))
        return out

    def loop(self, stmt: ast.For | ast.While) -> Statements:
        self.count += 1
        stopped, skipped = f".stopped_{self.count}", f".skipped_{self.count}"
        self.flags.append((stopped, skipped))
        outer, self.general = self.general, False
        body = self.block(stmt.body)
        self.general = outer
        self.flags.pop()
        names = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
        if skipped in names:
            body = [_assign(skipped, ast.Constant(False), stmt), *body]
        new = copy.copy(stmt)
        new.body, new.orelse = body, []
        new.stop_flag = stopped if stopped in names else None  # type: ignore[union-attr]
        out: Statements = [new]
        if stopped in names:
            out = [_assign(stopped, ast.Constant(False), stmt), new]
            if self.flags and _returns(stmt):  # the loop around it stops too
                guard = ast.copy_location(ast.Name(RETURNED, ast.Load()), stmt)
                out.append(
                    ast.copy_location(ast.If(guard, [_assign(self.flags[-1][0], ast.Constant(True), stmt)], []), stmt)
                )
        if stmt.orelse:
            otherwise = self.block(stmt.orelse)
            if stopped in names:
                otherwise = [ast.copy_location(ast.If(_not_any([stopped], stmt), otherwise, []), stmt)]
            out += otherwise
        return out


def _finishing(body: Sequence[ast.stmt], final: Sequence[ast.stmt]) -> Statements:
    """The body of a `try` with what stands under `finally` ahead of each jump out of it."""
    out: Statements = []
    for stmt in body:
        match stmt:
            case ast.Return(value=value) if value is not None:
                held = ast.copy_location(ast.Name(".returning", ast.Load()), stmt)
                out += [_assign(".returning", value, stmt), *final, ast.copy_location(ast.Return(held), stmt)]
            case ast.Return() | ast.Break() | ast.Continue():
                out += [*final, stmt]
            case ast.If():
                new = ast.If(stmt.test, _finishing(stmt.body, final), _finishing(stmt.orelse, final))
                out.append(ast.copy_location(new, stmt))
            case ast.For() | ast.While() if _returns(stmt):
                new_loop = copy.copy(stmt)
                new_loop.body = _finishing_returns(stmt.body, final)
                out.append(new_loop)
            case _:
                out.append(stmt)
    return out


def _finishing_returns(body: Sequence[ast.stmt], final: Sequence[ast.stmt]) -> Statements:
    """The same in a loop: `break` and `continue` stay inside."""
    out: Statements = []
    for stmt in body:
        match stmt:
            case ast.Return():
                out += _finishing([stmt], final)
            case ast.If():
                new = ast.If(stmt.test, _finishing_returns(stmt.body, final), _finishing_returns(stmt.orelse, final))
                out.append(ast.copy_location(new, stmt))
            case ast.For() | ast.While():
                new_loop = copy.copy(stmt)
                new_loop.body = _finishing_returns(stmt.body, final)
                out.append(new_loop)
            case _:
                out.append(stmt)
    return out


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    value = value if hasattr(value, "lineno") else ast.copy_location(value, at)
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    return ast.copy_location(ast.Assign([target], value), at)


def _not_any(flags: list[str], at: ast.AST) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())) for flag in flags]
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    for node in ast.walk(test):
        ast.copy_location(node, at)
    return test


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Does every path through the block jump?"""
    return any(
        isinstance(stmt, (ast.Return, ast.Break, ast.Continue, ast.Raise))
        or (isinstance(stmt, ast.If) and _ends(stmt.body) and _ends(stmt.orelse))
        for stmt in body
    )


def _jumps(stmt: ast.stmt) -> list[ast.stmt]:
    """The jumps in a statement that leave it."""
    match stmt:
        case ast.Return() | ast.Break() | ast.Continue():
            return [stmt]
        case ast.If():
            return [jump for part in (*stmt.body, *stmt.orelse) for jump in _jumps(part)]
        case ast.For() | ast.While():
            inner = [jump for part in stmt.body for jump in _jumps(part) if isinstance(jump, ast.Return)]
            return inner + [jump for part in stmt.orelse for jump in _jumps(part)]
        case ast.With(body=body):
            return [jump for part in body for jump in _jumps(part)]
        case ast.Try(handlers=[]):
            return [jump for part in (*stmt.body, *stmt.orelse, *stmt.finalbody) for jump in _jumps(part)]
        case ast.Match(cases=cases):
            return [jump for case in cases for part in case.body for jump in _jumps(part)]
    return []


def _returns(stmt: ast.stmt) -> bool:
    return any(isinstance(jump, ast.Return) for jump in _jumps(stmt))
