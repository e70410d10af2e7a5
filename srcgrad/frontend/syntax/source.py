"""A function → its syntax tree and the place in its file; what can't be read is a `SourceError`."""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import linecache
import os
import re
import sys
import sysconfig
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType, FunctionType, MethodType
from typing import Any

from ...errors import SourceError
from ...ir.expressions import Span
from .nonlocal_names import as_attributes


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

    @property
    def is_of_python(self) -> bool:
        """Is it of Python's own library?  What happens in it happens at the line of the user's call."""
        return self.file.startswith(LIBRARY) and "site-packages" not in self.file


LIBRARY = sysconfig.get_path("stdlib") + os.sep


def located(new: Any, at: ast.AST) -> Any:
    """Syntax that was made here, with the place of what it stands for where it has none of its own."""
    for node in ast.walk(new):
        if isinstance(node, (ast.expr, ast.stmt, ast.arg)) and not hasattr(node, "lineno"):
            ast.copy_location(node, at)
    return new


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


def has_derivative(target: Any) -> bool:
    """Is it what `grad` makes of a function?"""
    return hasattr(target, "_adjoints")


def method_of_gradient(target: Any, name: str) -> MethodType | None:
    """`f.backward` as Python has it, however it is called by now."""
    if not has_derivative(target):
        return None
    found = (vars(cls)[name] for cls in type(target).__mro__ if inspect.isfunction(vars(cls).get(name)))
    return next((MethodType(function, target) for function in found), None)


def signature_of(function: Any) -> inspect.Signature:
    """What the function takes: its own parameters, and where those are *args, of one made by `wraps`, what it wraps."""
    own = inspect.signature(function, follow_wrapped=False)
    passes_on = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own.parameters.values())
    return inspect.signature(function) if passes_on and hasattr(function, "__wrapped__") else own


MADE_HERE = "_source_of_what_is_made_here"  # the attribute of a function that no file has as it is


def read(function: Callable[..., Any]) -> Source:
    """The source of a plain Python function, parsed once as long as its file stays what it is."""
    if hasattr(function, MADE_HERE):
        return getattr(function, MADE_HERE)
    name = getattr(function, "__name__", repr(function))
    if not inspect.isfunction(function):
        raise SourceError(f"{name} is not a Python function, so there is no source to differentiate")
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.cache.get(code.co_filename, ())[2:3]  # new ones where the file is another by now
    key = id(code), name, function.__qualname__
    known = _parsed.get(key)
    if known is not None and known.code is code and lines and known.lines is lines[0]:
        return known.source
    source = _parse(function, name)
    lines = linecache.cache.get(code.co_filename, ())[2:3]
    if lines:
        if len(_parsed) >= REMEMBERED:
            _parsed.clear()
        _parsed[key] = _Parsed(code, lines[0], source)
    return source


@dataclass(frozen=True)
class _Parsed:
    """What was read for this very code, in a file of these very lines."""

    code: CodeType
    lines: Any
    source: Source


REMEMBERED = 1000
_parsed: dict[tuple[int, str, str], _Parsed] = {}


def _parse(function: FunctionType, name: str) -> Source:
    try:
        lines, start = inspect.getsourcelines(_bare(function))
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
        node = ast.parse(textwrap.dedent(text)).body[0]
    except SyntaxError as problem:
        try:  # a comment or a part of a text may stand at the margin
            node = ast.parse(f"if True:\n{text}").body[0].body[0]  # type: ignore[attr-defined]
            start, column = start - 1, 0
        except (SyntaxError, IndexError):
            raise SourceError(f"the source of {name} can't be parsed: {problem}") from None
    if getattr(node, "name", None) != function.__code__.co_name:
        raise SourceError(
            f"the source of {name} is not where it was, in line {start} of {file}",
            help=("if the file has changed since it was read, import it again",),
        )
    if not isinstance(node, ast.FunctionDef):
        raise SourceError(f"{name} is not a plain function: srcgrad differentiates `def` functions and lambdas")
    node = _with_private_names(node, function)
    if _may_have_changed(file) and not _is_text_of(node, function.__code__):
        raise _other_text(name, function)
    node = as_attributes(node) if "nonlocal" in text else node
    return Source(node, file, start, column, name)


IMPORTED = time.time()


def _may_have_changed(file: str) -> bool:
    """May the text be another than what was imported?  (Older code that differs was rewritten by a tool: pytest's)"""
    try:
        return os.stat(file).st_mtime > IMPORTED
    except OSError:
        return True


def _other_text(name: str, function: Callable[..., Any]) -> SourceError:
    code = function.__code__
    return SourceError(
        f"the source of {name}, at line {code.co_firstlineno} of {code.co_filename}, is not what runs",
        help=("if the file has changed since it was read, import it again",),
    )


def _with_private_names(node: Any, function: Callable[..., Any]) -> Any:
    """`self.__k` in a class `A` is `self._A__k`: a class that inherits from it has another one."""
    path = function.__qualname__.split(".")
    classes = [name for name, inner in pairwise(path) if name != "<locals>" and inner != "<locals>"]
    return _PrivateNames(classes[-1]).generic_visit(node) if classes else node


class _PrivateNames(ast.NodeTransformer):
    def __init__(self, owner: str) -> None:
        self.owner = owner.lstrip("_")

    def mangled(self, name: str | None) -> str | None:
        is_private = self.owner and name and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if is_private else name

    def visit(self, node: ast.AST) -> ast.AST:
        for field in ("attr", "id", "arg", "name"):
            if hasattr(node, field):
                setattr(node, field, self.mangled(getattr(node, field)))
        return self.generic_visit(node)


def _bare(function: Any) -> FunctionType:
    """The function without what a decorator says that it wraps, in the module whose file its text is in.

    (Of its code alone, `inspect` looks for the module among all there are, by their files: a twentieth of a second.)
    """
    bare = FunctionType(function.__code__, function.__globals__, closure=function.__closure__)
    module = sys.modules.get(bare.__module__)
    if getattr(module, "__file__", None) != function.__code__.co_filename:
        bare.__module__ = None  # type: ignore[assignment]
    return bare


def _lambda(function: Callable[..., Any], text: str, file: str, start: int) -> Source:
    """The lambda in these lines whose code is the function's; the lines need not be a whole statement."""
    code = function.__code__
    dedented = textwrap.dedent(text)
    column = len(text.split("\n")[0]) - len(dedented.split("\n")[0])
    found = _lambdas(dedented)
    alike = [one for one in found if [a.arg for a in one[0].args.args] == list(code.co_varnames[: code.co_argcount])]
    same = [one for one in alike if _is_text_of(one[0], code)]
    if alike and not same and _may_have_changed(file):
        raise _other_text("the lambda", function)
    same = same or alike
    if len(same) == 1 or (same and len({ast.dump(node) for node, _, _ in same}) == 1):
        node, line, offset = same[0]
        return Source(_with_private_names(node, function), file, start + line, column + offset, "<lambda>")
    raise SourceError(
        f"the source of the lambda at line {code.co_firstlineno} of {file} can't be told from its neighbours",
        help=("write it as a `def`, or on a line of its own",),
    )


def _lambdas(text: str) -> list[tuple[ast.Lambda, int, int]]:
    """Every lambda in these lines, with what its line and column numbers count from."""
    for candidate, offset in ((text, 0), ("(" + text.strip().rstrip(","), -1)):
        try:
            tree = ast.parse(candidate)
        except SyntaxError:
            continue
        return [(node, 0, offset) for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    out = []
    for word in re.finditer(r"\blambda\b", text):
        line, offset = text.count("\n", 0, word.start()), word.start() - (text.rfind("\n", 0, word.start()) + 1)
        node = _longest_lambda(_until_closed(text[word.start() :]))
        if node is not None:
            out.append((node, line, offset - 1))
    return out


def _longest_lambda(text: str) -> ast.Lambda | None:
    """The lambda with which a text begins: what is behind it may be anything, as `c` is in f(b=lambda x: x, c=1)."""
    for end in (len(text), *(found.start() for found in reversed([*re.finditer(r"[\s,]", text)]))):
        try:
            node = ast.parse(f"({text[:end]})", mode="eval").body
        except SyntaxError:
            continue
        if isinstance(node, ast.Lambda):
            return node
    return None


def _until_closed(text: str) -> str:
    """Text that begins with a lambda, cut where the brackets around it close."""
    depth = 0
    for position, letter in enumerate(text):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if depth < 0:
            return text[:position]
    return text


def _is_text_of(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> bool:
    """Does this text, compiled where this code stood (in functions that bind its free names), make such code?"""
    given = [ast.arg(name) for name in code.co_freevars]
    arguments = ast.arguments(posonlyargs=[], args=given, kwonlyargs=[], kw_defaults=[], defaults=[])
    name = code.co_name
    is_global = [] if name in code.co_freevars or isinstance(node, ast.Lambda) else [ast.Global([name])]
    around = ast.Module([ast.FunctionDef("around", arguments, [*is_global, _alone(node)], [])], [])
    flags = code.co_flags & __future__.annotations.compiler_flag
    made = compile(ast.fix_missing_locations(around), "around", "exec", flags, dont_inherit=True)
    for _ in range(2):
        made = next(const for const in made.co_consts if isinstance(const, CodeType))
    return _signature(made) == _signature(code)


def _alone(node: ast.FunctionDef | ast.Lambda) -> ast.stmt:
    """The function without what is evaluated where it is defined: decorators, defaults, annotations."""
    a = node.args
    bare = lambda group: [ast.arg(one.arg) for one in group]
    nothing: list[ast.expr | None] = [None] * len(a.kwonlyargs)
    more = {name: ast.arg(one.arg) if one else None for name, one in (("vararg", a.vararg), ("kwarg", a.kwarg))}
    arguments = ast.arguments(
        bare(a.posonlyargs), bare(a.args), **more, kwonlyargs=bare(a.kwonlyargs), kw_defaults=nothing, defaults=[]
    )
    if isinstance(node, ast.Lambda):
        return ast.Expr(ast.Lambda(arguments, node.body))
    return ast.FunctionDef(node.name, arguments, node.body, [])


def _signature(code: CodeType) -> Any:
    """What two pieces of code have in common that do the same: Python has several instructions to call a method."""
    steps = []
    for step in dis.get_instructions(code):
        value = step.argval
        if isinstance(value, CodeType):
            value = _signature(value)
        elif step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            value = None
        elif isinstance(value, frozenset):
            value = sorted(map(repr, value))
        elif isinstance(value, str):
            value = value.rpartition(".<locals>.")[2]  # (Python 3.10 has names of inner functions as constants)
        if step.opname not in ("CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL"):
            steps.append((SAME_STEPS.get(step.opname, step.opname), type(value), repr(value)))
    return steps


SAME_STEPS = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL", "CALL_FUNCTION": "CALL"}
