"""A tree of Python as text (every use of astor is here)."""

from __future__ import annotations

import ast
import re
import warnings
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


def is_comment(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _long_lines(source: Any) -> str:
    from astor.source_repr import split_lines

    return "".join(split_lines(source, maxline=110))
