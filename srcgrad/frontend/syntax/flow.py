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

from . import handlers, liveness, managed
from .exchanges import exchanging_always
from .matching import matched
from .source import located
from .syntax import walk

RESULT, RETURNED = ".result", ".returned"
OWN = (RESULT, RETURNED, ".stopped", ".skipped", ".left")  # what the names of flags begin with
Statements = list[ast.stmt]


def structured(node: ast.FunctionDef | ast.Lambda, is_caught: bool = False) -> Statements:
    """The body of a function, with its result in `.result` at the end.

    `is_caught`: by those who call it, what is raised in it; then what stands under `finally` runs before that.
    """
    mark_tests(node)
    if isinstance(node, ast.Lambda):
        return [_assign(RESULT, node.body, node.body)]
    body, last = handlers.without_handlers(managed.with_exits(node.body), is_caught), node.body[-1]
    if _falls_through(body):
        body = [*body, ast.copy_location(ast.Return(ast.copy_location(ast.Constant(None), last)), last)]
    given = {argument.arg for argument in walk(node.args) if isinstance(argument, ast.arg)}
    return _Flow(given).function(body)  # new loops and branches: what is noted on them is this call's own


def mark_tests(function: ast.AST) -> None:
    """What `if`, `while`, `assert`, `not` and comprehensions test: only its truth counts (`while s < 1 and stack`)."""
    if hasattr(function, "are_tests_marked"):
        return
    function.are_tests_marked = True  # type: ignore[attr-defined]
    tests: list[ast.expr] = []
    for node in walk(function):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                tests.append(test)
            case ast.UnaryOp(op=ast.Not(), operand=test):
                tests.append(test)
            case ast.comprehension(ifs=ifs):
                tests += ifs
    for test in tests:
        if isinstance(test, ast.BoolOp):
            test.is_test = True  # type: ignore[attr-defined]
            tests += test.values


def probed(body: Statements) -> Statements:
    """Statements that end where a function does, and where a jump leaves them."""
    stays = [_Returning().visit(stmt) for stmt in copy.deepcopy(body)]
    end = ast.copy_location(ast.Return(ast.copy_location(ast.Constant(None), body[-1])), body[-1])
    return _Flow(set()).function([*stays, end])


class _Returning(ast.NodeTransformer):
    """`break` and `continue` of a loop around leave the statements, too."""

    def visit_Break(self, node: ast.Break) -> ast.Return:
        return ast.copy_location(ast.Return(None), node)

    def visit_Continue(self, node: ast.Continue) -> ast.Return:
        return ast.copy_location(ast.Return(None), node)

    def visit_For(self, node: ast.For) -> ast.For:
        node.orelse = [self.visit(stmt) for stmt in node.orelse]
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.orelse = [self.visit(stmt) for stmt in node.orelse]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node


class _Flow:
    def __init__(self, given: set[str]) -> None:
        self.count = 0
        self.flags: list[tuple[str, str]] = []  # (stopped, skipped) of each enclosing loop
        self.returns_in_loop = False
        self.bound = given  # ahead of all loops
        self.seen = set(given)  # bound so far
        self.captured: set[str] = set()  # read by functions that are defined here
        self.behind: list[ast.If] = []  # what is returned behind the loops, each under its flag
        self.returns_at_once = False

    def function(self, body: Statements) -> Statements:
        inner = (node for stmt in body for node in walk(stmt) if isinstance(node, (ast.FunctionDef, ast.Lambda)))
        self.captured = set().union(*map(liveness.mentioned, inner))
        out = self.block(body)
        start = [_assign(RETURNED, ast.Constant(False), body[0])] if self.returns_in_loop else []
        return start + out

    def block(self, body: Sequence[ast.stmt]) -> Statements:
        out: Statements = []
        for position, stmt in enumerate(body):
            rest = body[position + 1 :]
            match stmt:
                case ast.Assign(value=ast.IfExp() as value) if _gives_none(value):
                    out += self.block([_as_branches(stmt, value)])
                case ast.Return(value=ast.expr()) if self.flags and self.return_behind(stmt, out):
                    return out + self.mark_return(stmt)
                case ast.Return():
                    self.returns_at_once |= bool(self.flags)
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
                case ast.While() if _names_in_test(stmt) and not stmt.orelse:
                    return out + self.block([_with_test_inside(stmt), *rest])
                case ast.For() | ast.While():
                    ahead, stmt, back = self.exchanging(stmt)
                    loop, stopped = self.loop(stmt)
                    loop = ahead + loop + back
                    after = [*_otherwise(stmt, stopped), *rest]
                    if _returns_in_body(stmt):
                        return out + self.returning_loop(stmt, loop, after)
                    out += loop
                    if stmt.orelse:  # it may jump, like everything that follows the loop
                        return out + self.block(after)
                case ast.With(body=inner):
                    entered = copy.copy(stmt)
                    entered.body = []
                    return [*out, entered, *self.block([*inner, *rest])]
                case ast.Try() if not stmt.handlers:
                    return out + self.block([*_without_try(stmt), *rest])
                case ast.Match():
                    self.count += 1
                    return out + self.block([*matched(stmt, f".subject_{self.count}"), *rest])
                case _:
                    out.append(stmt)
            self.seen |= liveness.assigned([stmt])
            if not self.flags:
                self.bound |= liveness.assigned([stmt])
        return out

    def return_behind(self, stmt: ast.Return, out: Statements) -> bool:
        """What is returned is bound behind the loops, where it is the array itself: in the loop it would be a copy.

        for …:                 for …:
            y[i] = …               y[i] = …
            if y[i] > 1:           if y[i] > 1:
                return y   →           .returned_1_0 = .stopped = True
                               if .returned_1_0: .result = y
        """
        flag = f".returned_{self.count}_{len(self.behind)}"
        kept: Statements = []
        held: list[ast.expr] = []

        def value_of(expr: ast.expr) -> ast.expr:
            match expr:
                case ast.Constant():
                    return expr
                case ast.Tuple(elts=parts) if not any(isinstance(part, ast.Starred) for part in parts):
                    return ast.copy_location(ast.Tuple([value_of(part) for part in parts], ast.Load()), expr)
            if _is_memory(expr) and _names(expr) <= self.bound:
                held.append(expr)
                return expr
            name = f"{flag}_{len(kept)}"
            kept.append(_assign(name, expr, stmt))
            return ast.copy_location(ast.Name(name, ast.Load()), expr)

        value = value_of(stmt.value)  # type: ignore[arg-type]
        if not held:
            return False
        chosen = ast.If(ast.Name(flag, ast.Load()), [_assign(RESULT, value, stmt)], [])
        self.behind.append(located(chosen, stmt))
        out += [*kept, _assign(flag, ast.Constant(True), stmt)]
        return True

    def returning_loop(self, stmt: ast.For | ast.While, loop: Statements, after: Statements) -> Statements:
        """A loop that returns, and what comes after it where it did not."""
        behind, at_once = self.behind, self.returns_at_once
        if not self.flags:
            self.behind, self.returns_at_once = [], False
        final = self.block(after)
        if (self.flags or at_once) and final:
            final = [ast.copy_location(ast.If(_not_any([RETURNED], stmt), final, []), stmt)]
        if self.flags:
            return loop + final
        flags = [_assign(chosen.test.id, ast.Constant(False), stmt) for chosen in behind]  # type: ignore[attr-defined]
        if behind and not at_once and not _falls_through([stmt]):
            final = behind.pop().body
        for chosen in reversed(behind):
            chosen.orelse, final = final, [chosen]
        return flags + loop + final

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

    def exchanging(self, stmt: ast.For | ast.While) -> tuple[Statements, ast.For | ast.While, Statements]:
        jumps = [jump for part in stmt.body for jump in _jumps(part)]
        if len(jumps) != 1:
            return [], stmt, []
        known = self.bound if isinstance(jumps[0], ast.Return) else self.seen  # what is returned is so behind all loops
        stopped, left = f".stopped_{self.count + 1}", f".left_{self.count + 1}"
        return exchanging_always(stmt, stopped, left, known - self.captured) or ([], stmt, [])

    def loop(self, stmt: ast.For | ast.While) -> tuple[Statements, str | None]:
        """The loop without its `else`, and the flag that says that it was left early, if it can be."""
        self.count += 1
        stopped, skipped = f".stopped_{self.count}", f".skipped_{self.count}"
        self.flags.append((stopped, skipped))
        outer, self.general = self.general, False
        body = self.block(stmt.body)
        self.general = outer
        self.flags.pop()
        names = {node.id for part in body for node in walk(part) if isinstance(node, ast.Name)}
        if skipped in names:
            body = [_assign(skipped, ast.Constant(False), stmt), *body]
        new = copy.copy(stmt)
        new.body, new.orelse = body, []
        new.stop_flag = stopped if stopped in names else None  # type: ignore[union-attr]
        out: Statements = [new]
        if stopped in names:
            out = [_assign(stopped, ast.Constant(False), stmt), new]
            if self.flags and _returns_in_body(stmt):  # the loop around it stops too
                guard = ast.copy_location(ast.Name(RETURNED, ast.Load()), stmt)
                out.append(
                    ast.copy_location(ast.If(guard, [_assign(self.flags[-1][0], ast.Constant(True), stmt)], []), stmt)
                )
        return out, new.stop_flag  # type: ignore[union-attr]


def _otherwise(stmt: ast.For | ast.While, stopped: str | None) -> Statements:
    """What stands under `else` of a loop, for those who were not stopped."""
    if not stmt.orelse or stopped is None:
        return stmt.orelse
    return [ast.copy_location(ast.If(_not_any([stopped], stmt), stmt.orelse, []), stmt)]


def _gives_none(value: ast.IfExp) -> bool:
    return any(isinstance(side, ast.Constant) and side.value is None for side in (value.body, value.orelse))


def _as_branches(stmt: ast.Assign, value: ast.IfExp) -> ast.stmt:
    """x = a if c else None   →   if c: x = a; else: x = None   (a name may be None by the path, an expression not)"""
    then, orelse = (ast.copy_location(ast.Assign(stmt.targets, side), stmt) for side in (value.body, value.orelse))
    return ast.copy_location(ast.If(value.test, [then], [orelse]), stmt)


def _finishing(body: Sequence[ast.stmt], final: Sequence[ast.stmt], is_in_loop: bool = False) -> Statements:
    """The body of a `try` with what stands under `finally` ahead of each jump out of it.

    In a loop inside of it, `break` and `continue` stay inside.
    """
    out: Statements = []
    for stmt in body:
        match stmt:
            case ast.Return(value=value) if value is not None:
                held = ast.copy_location(ast.Name(".returning", ast.Load()), stmt)
                out += [_assign(".returning", value, stmt), *final, ast.copy_location(ast.Return(held), stmt)]
            case ast.Return():
                out += [*final, stmt]
            case ast.Break() | ast.Continue() if not is_in_loop:
                out += [*final, stmt]
            case ast.Try(handlers=[]):  # its own `finally` comes first
                out += _finishing(_without_try(stmt), final, is_in_loop)
            case ast.If() | ast.With() | ast.For() | ast.While():
                new = copy.copy(stmt)
                is_loop = isinstance(stmt, (ast.For, ast.While))
                new.body = _finishing(stmt.body, final, is_in_loop or is_loop)
                if not isinstance(stmt, ast.With):
                    new.orelse = _finishing(stmt.orelse, final, is_in_loop)  # type: ignore[union-attr]
                out.append(new)
            case ast.Match():
                cases = [copy.copy(case) for case in stmt.cases]
                for case in cases:
                    case.body = _finishing(case.body, final, is_in_loop)
                out.append(ast.copy_location(ast.Match(stmt.subject, cases), stmt))
            case _:
                out.append(stmt)
    return out


def _without_try(stmt: ast.Try) -> Statements:
    """A `try` that catches nothing, as the statements that run."""
    return [*_finishing([*stmt.body, *stmt.orelse], stmt.finalbody), *stmt.finalbody]


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    value = value if hasattr(value, "lineno") else ast.copy_location(value, at)
    target = ast.copy_location(ast.Name(name, ast.Store()), at)
    return ast.copy_location(ast.Assign([target], value), at)


def _not_any(flags: list[str], at: ast.AST) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())) for flag in flags]
    return located(tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests), at)


def _is_memory(expr: ast.expr) -> bool:
    """May this be an array that has another name too: a name, or a part of what has one?"""
    match expr:
        case ast.Name():
            return True
        case ast.Attribute(value=base):
            return _is_memory(base)
        case ast.Subscript(value=base, slice=places):
            return _is_memory(base) and any(isinstance(node, ast.Slice) for node in walk(places))
    return False


def _names(expr: ast.expr) -> set[str]:
    return {node.id for node in walk(expr) if isinstance(node, ast.Name)}


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Does every path through the block jump?"""
    return any(
        isinstance(stmt, (ast.Return, ast.Break, ast.Continue, ast.Raise))
        or (isinstance(stmt, ast.If) and _ends(stmt.body) and _ends(stmt.orelse))
        for stmt in body
    )


def _falls_through(body: Sequence[ast.stmt]) -> bool:
    """May the end of the block be reached?"""
    for stmt in body:
        match stmt:
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return False
            case ast.If(body=then, orelse=orelse):
                falls = _falls_through(then) or _falls_through(orelse)
            case ast.While(test=ast.Constant(value=always), body=inner) if always:
                falls = _has_break(inner)
            case ast.For(body=inner, orelse=orelse) | ast.While(body=inner, orelse=orelse):
                falls = _falls_through(orelse) or _has_break(inner)
            case ast.With(body=inner):
                falls = _falls_through(inner)
            case ast.Try(body=inner, orelse=orelse, finalbody=final, handlers=[]):
                falls = all(map(_falls_through, (inner, orelse, final)))
            case _:
                falls = True
        if not falls:
            return False
    return True


def _has_break(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(jump, ast.Break) for stmt in body for jump in _jumps(stmt))


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


def _names_in_test(stmt: ast.While) -> bool:
    return any(isinstance(node, ast.NamedExpr) for node in walk(stmt.test))


def _with_test_inside(stmt: ast.While) -> ast.While:
    """while (v := f(x)) > 0: …   →   while True: if not ((v := f(x)) > 0): break; …   (v is a name of the body then)"""
    fails = ast.copy_location(ast.UnaryOp(ast.Not(), stmt.test), stmt.test)
    leave = ast.copy_location(ast.If(fails, [ast.copy_location(ast.Break(), stmt.test)], []), stmt.test)
    always = ast.copy_location(ast.Constant(True), stmt.test)
    return ast.copy_location(ast.While(always, [leave, *stmt.body], []), stmt)


def _returns_in_body(stmt: ast.For | ast.While) -> bool:
    return any(map(_returns, stmt.body))
