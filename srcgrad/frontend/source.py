"""A function → its syntax tree and the place in its file; what can't be read is a `SourceError`."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import SourceError
from ..ir.nodes import Span


@dataclass(frozen=True)
class Source:
    """A function definition (or lambda) with the file and the offset that its line and column numbers count from."""

    node: ast.FunctionDef | ast.Lambda
    file: str
    line: int
    column: int
    name: str

    def span(self, node: ast.AST) -> Span | None:
        if not hasattr(node, "lineno"):
            return None
        located: Any = node  # a statement, an expression, an argument, a handler …
        return Span(
            self.file,
            self.line + located.lineno - 1,
            self.column + located.col_offset,
            self.line + (located.end_lineno or located.lineno) - 1,
            self.column + (located.end_col_offset or 0),
            self.name,
        )


def unwrap(function: Any) -> Any:
    """The plain Python function behind `@njit`, `@grad` and `@lru_cache`; other decorators are part of what runs."""
    while True:
        if hasattr(function, "py_func"):
            function = function.py_func
        elif hasattr(function, "cache_info") and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, staticmethod):
            function = function.__func__
        else:
            return function


def read(function: Callable[..., Any]) -> Source:
    """The source of a plain Python function."""
    name = getattr(function, "__name__", repr(function))
    if not inspect.isfunction(function):
        raise SourceError(f"{name} is not a Python function, so there is no source to differentiate")
    try:
        linecache.checkcache(function.__code__.co_filename)
        lines, start = inspect.getsourcelines(function.__code__)  # not of what a decorator wraps
    except (OSError, TypeError) as problem:
        raise SourceError(
            f"the source of {name} can't be read ({problem})",
            help=("define it in a file or a notebook cell: srcgrad transforms the text of the function",),
        ) from None
    text = "".join(lines)
    column = len(lines[0]) - len(lines[0].lstrip())
    file = function.__code__.co_filename
    if name == "<lambda>":
        return _lambda(function, text, file, start)
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError as problem:
        raise SourceError(f"the source of {name} can't be parsed: {problem}") from None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise SourceError(f"{name} is not a plain function: srcgrad differentiates `def` functions and lambdas")
    return Source(node, file, start, column, name)


def _lambda(function: Callable[..., Any], text: str, file: str, start: int) -> Source:
    """The lambda in these lines whose code is the function's; the lines need not be a whole statement."""
    code = function.__code__
    dedented = textwrap.dedent(text)
    column = len(text.split("\n")[0]) - len(dedented.split("\n")[0])
    for candidate, shift in ((dedented, 0), ("(" + dedented.strip().rstrip(","), -1), (_from_lambda(dedented), None)):
        try:
            tree = ast.parse(candidate.strip() if shift is None else candidate)
        except SyntaxError:
            continue
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        alike = [n for n in found if [a.arg for a in n.args.args] == list(code.co_varnames[: code.co_argcount])]
        same = [n for n in alike if _bytecode(n) == code.co_code] or alike
        if len(same) == 1 or (same and len({ast.dump(n) for n in same}) == 1):
            offset = column + (shift if shift is not None else max(dedented.find("lambda"), 0))
            return Source(same[0], file, start, offset, "<lambda>")
    raise SourceError(
        f"the source of the lambda at line {code.co_firstlineno} of {file} can't be told from its neighbours",
        help=("write it as a `def`, or on a line of its own",),
    )


def _from_lambda(text: str) -> str:
    """From the word `lambda` on, cut where the brackets around it close."""
    text = text[max(text.find("lambda"), 0) :]
    depth = 0
    for position, letter in enumerate(text):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if depth < 0 or (depth == 0 and letter == "\n"):
            return text[:position]
    return text


def _bytecode(node: ast.Lambda) -> bytes:
    module = compile(ast.fix_missing_locations(ast.Expression(node)), "<lambda>", "eval")
    return next(c for c in module.co_consts if hasattr(c, "co_code")).co_code
