"""A tree of Python as text (every use of astor is here)."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # astor touches ast.Num
    import astor

MARK = "#: "  # a comment travels through the tree as a string statement


def to_source(module: ast.Module) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        text = astor.to_source(module, pretty_source=_long_lines)
    return re.sub(rf"""^(\s*)(?:'|"|\"\"\"){re.escape(MARK)}(.*?)(?:'|"|\"\"\")$""", r"\1# \2", text, flags=re.M)


TEXTS_AND_COMMENTS = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""|\'{3}(?:[^\\]|\\.)*?\'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#[^\n]*''', re.S
)


def lines_of_statements(text: str) -> Iterator[tuple[int, int]]:
    """The first and the last line of each statement (of a loop or a branch: of its head), in order.

    Python's own parser says the same, in half of the time that it takes to write the text.
    """
    code = TEXTS_AND_COMMENTS.sub(lambda found: "\n" * found[0].count("\n"), text)
    first, depth, is_statement = 0, 0, False
    for number, line in enumerate(code.split("\n"), 1):
        words = line.strip()
        if not words:
            continue
        if depth == 0:
            first, is_statement = number, words != "else:" and not words.startswith("@")
        depth += sum(map(words.count, "([{")) - sum(map(words.count, ")]}"))
        if depth == 0 and is_statement:
            yield first, number


def is_comment(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _long_lines(source: Any) -> str:
    from astor.source_repr import split_lines

    return "".join(split_lines(source, maxline=110))
