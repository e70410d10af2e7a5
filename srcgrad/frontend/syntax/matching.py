"""`match` as `if`: a pattern is a test, and names that it binds.

match n:                      if n == 0: …
    case 0: …          →      elif n == 1 or n == 2: …
    case 1 | 2: …             else: k = n; …
    case k: …
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from .source import located


def part_matched(value: Any, cls: Any, place: int) -> Any:
    """What `case Circle(r)` compares with the pattern at a place; the interpreter knows it."""
    raise NotImplementedError


WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)  # these are matched as they are


def matched(stmt: ast.Match, subject: str) -> list[ast.stmt]:
    """The subject in a name, and the cases as branches on it."""
    out: list[ast.stmt] = []
    for case in reversed(stmt.cases):
        tests, names = _pattern(case.pattern, ast.Name(subject, ast.Load()))
        if case.guard is not None:
            tests += [ast.List([ast.NamedExpr(ast.Name(n, ast.Store()), value)], ast.Load()) for n, value in names]
            tests.append(case.guard)
            names = []
        body: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in names]
        body += case.body
        out = [ast.If(_all(tests), body, out)] if tests else body
    first = ast.Assign([ast.Name(subject, ast.Store())], stmt.subject)
    every: list[ast.stmt] = [first, *out]
    return [located(made, stmt) for made in every]


def _all(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _call(function: Any, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Constant(function), list(args), [])


def _equal(value: ast.expr, other: ast.expr) -> ast.expr:
    return ast.Compare(value, [ast.Eq()], [other])


def _pattern(pattern: ast.pattern, value: ast.expr) -> tuple[list[ast.expr], list[tuple[str, ast.expr]]]:
    """The tests that a value has to pass, and the names that it is then bound to."""
    match pattern:
        case ast.MatchValue(value=constant):
            return [_equal(value, constant)], []
        case ast.MatchSingleton(value=constant):
            return [ast.Compare(value, [ast.Is()], [ast.Constant(constant)])], []
        case ast.MatchAs(pattern=inner, name=name):
            tests, names = _pattern(inner, value) if inner is not None else ([], [])
            return tests, names + ([(name, value)] if name is not None else [])
        case ast.MatchOr(patterns=patterns):
            sides = [_pattern(inner, value) for inner in patterns]
            names = [(name, _of_first(name, sides)) for name, _ in sides[0][1]]  # each side binds the same
            if not all(tests for tests, _ in sides):
                return [], names
            return [ast.BoolOp(ast.Or(), [_all(tests) for tests, _ in sides])], names
        case ast.MatchClass(cls=cls, patterns=patterns, kwd_attrs=attributes, kwd_patterns=named):
            places = [_call(part_matched, value, cls, ast.Constant(k)) for k in range(len(patterns))]
            parts = [*places, *(ast.Attribute(value, name, ast.Load()) for name in attributes)]
            tests, names = [_call(isinstance, value, cls)], []
            for part, inner in zip(parts, [*patterns, *named], strict=True):
                more, bound = _pattern(inner, part)
                tests, names = tests + more, names + bound
            return tests, names
        case ast.MatchSequence(patterns=patterns):
            return _sequence(patterns, value)
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            tests, names = [_call(isinstance, value, ast.Constant(Mapping))], []  # type: ignore[arg-type]
            for key, inner in zip(keys, patterns, strict=True):
                more, bound = _pattern(inner, ast.Subscript(value, key, ast.Load()))
                tests, names = [*tests, ast.Compare(key, [ast.In()], [value]), *more], names + bound
            return tests, names + ([(rest, _without(value, keys))] if rest is not None else [])
    raise AssertionError(pattern)


def _of_first(name: str, sides: list[Any]) -> ast.expr:
    """What the first of the sides that match binds a name to: `case Circle(r) | Square(side=r)`."""
    values = [(_all(tests) if tests else None, dict(names)[name]) for tests, names in sides]
    out = values[-1][1]
    for test, value in reversed(values[:-1]):
        assert test is not None, "only the last side matches anything"
        if ast.dump(value) != ast.dump(out):
            out = ast.IfExp(test, value, out)
    return out


def _without(value: ast.expr, keys: list[ast.expr]) -> ast.expr:
    """The dict without these keys."""
    key, item = (ast.Name(name, ast.Load()) for name in (".key", ".item"))
    pair = ast.Tuple([ast.Name(name.id, ast.Store()) for name in (key, item)], ast.Store())
    pairs = ast.Call(ast.Attribute(value, "items", ast.Load()), [], [])
    others: list[ast.expr] = [ast.Compare(key, [ast.NotEq()], [one]) for one in keys]
    return ast.DictComp(key, item, [ast.comprehension(pair, pairs, others, 0)])


def _sequence(patterns: list[ast.pattern], value: ast.expr) -> tuple[list[ast.expr], list[tuple[str, ast.expr]]]:
    """(a, b), or [a, *rest, b]: what stands behind the star is counted from the end."""
    is_one = _call(isinstance, value, ast.Constant(Sequence))  # type: ignore[arg-type]
    is_text = _call(isinstance, value, ast.Constant((str, bytes, bytearray)))  # type: ignore[arg-type]
    star = next((k for k, inner in enumerate(patterns) if isinstance(inner, ast.MatchStar)), None)
    count = ast.Constant(len(patterns) - (star is not None))
    comparison = ast.Compare(_call(len, value), [ast.Eq() if star is None else ast.GtE()], [count])
    tests: list[ast.expr] = [is_one, ast.UnaryOp(ast.Not(), is_text), comparison]
    names: list[tuple[str, ast.expr]] = []
    for k, inner in enumerate(patterns):
        behind = k - len(patterns)  # from the end
        if isinstance(inner, ast.MatchStar):
            end = ast.Constant(behind + 1) if behind < -1 else None
            rest = ast.Subscript(value, ast.Slice(ast.Constant(k), end), ast.Load())
            names += [(inner.name, _call(list, rest))] if inner.name is not None else []
            continue
        place = ast.Constant(k if star is None or k < star else behind)
        more, bound = _pattern(inner, ast.Subscript(value, place, ast.Load()))
        tests, names = tests + more, names + bound
    return tests, names
