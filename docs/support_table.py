"""Writes docs/supported.md from the tables that the code itself works by.

python docs/support_table.py
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from srcgrad.emit.expressions import expression_text
from srcgrad.frontend.arithmetic import TAKE_COMPLEX
from srcgrad.frontend.calls.builtins_of_python import BUILTINS
from srcgrad.frontend.control.contexts import HARMLESS
from srcgrad.frontend.expressions import EVALUATED_ABOVE
from srcgrad.frontend.numpy import random_numbers
from srcgrad.frontend.numpy.table import METHODS, TABLE, name_of
from srcgrad.ir.expressions import Expr, Var
from srcgrad.ir.walk import rewrite
from srcgrad.passes.reverse_mode.zeros_chosen import chosen
from srcgrad.rules import compositions, names
from srcgrad.rules.partials import UNKNOWN
from srcgrad.rules.scalar import PRIMITIVES, Primitive
from srcgrad.rules.user import stop_gradient

PAGE = Path(__file__).with_name("supported.md")
INTERNAL = {
    "real",
    "imag",
    "complex",
    "conj",
    "modulus",
    "phase",
    "cast",
    "select",
    "unless_zero",
    "clip_low",
    "clip_high",
    "sinc_slope",
    "per_square",
    "trigamma",
    "round_to",
    "stop_gradient",
    "follow",
    "exponent",
    "exprel_slope",
    "log1p_ratio_slope",
    "zeta",
    "eval_jacobi",
    "eval_genlaguerre",
    "eval_chebyu",
}

# fmt: off
OPERATOR_TEXT: dict[type[ast.AST], str] = {
    ast.Add: "x + y", ast.Sub: "x - y", ast.Mult: "x * y", ast.Div: "x / y", ast.FloorDiv: "x // y", ast.Mod: "x % y",
    ast.Pow: "x ** y", ast.BitAnd: "x & y", ast.BitOr: "x | y", ast.BitXor: "x ^ y", ast.LShift: "x << y",
    ast.RShift: "x >> y", ast.USub: "-x", ast.UAdd: "+x", ast.Invert: "~x", ast.Not: "not x",
    ast.Lt: "x < y", ast.LtE: "x <= y", ast.Gt: "x > y", ast.GtE: "x >= y", ast.Eq: "x == y", ast.NotEq: "x != y",
    ast.And: "x and y", ast.Or: "x or y",
}
STATEMENTS = {
    "Assign": "`x = ...`, `x = y = ...`, `x, y = ...`, `x[i] = ...`", "AugAssign": "`x += ...` and its like",
    "AnnAssign": "`x: float = ...`", "If": "`if`, `elif`, `else`",
    "For": "`for` over ranges, arrays, tuples, lists, `zip`, `enumerate`, and generators of yours",
    "While": "`while`", "Break": "`break`", "Continue": "`continue`", "Return": "`return`, also early",
    "FunctionDef": "nested `def`", "Raise": "`raise`", "Assert": "`assert`", "Pass": "`pass`", "Import": "`import`",
    "Try": "`try` with `except`, `else` and `finally`",
    "With": "`with np.errstate(...)` and its like, and of objects of yours (no `__exit__` where the body raises)",
    "Match": "`match` on numbers, strings, tuples, lists, dicts and classes", "Delete": "`del`",
    "Global": "`global`, to read", "Nonlocal": "`nonlocal` of functions in the function", "ClassDef": "`class`",
}
EXPRESSIONS = {
    "BinOp": "arithmetic, `x @ y`", "Compare": "comparisons, chained ones too",
    "BoolOp": "`and`, `or`, with short circuit",
    "IfExp": "`x if c else y`", "Call": "calls of NumPy's, `math`'s, Python's and your own functions",
    "Subscript": "indexing", "Slice": "slices", "Attribute": "attributes", "Tuple": "tuples", "List": "lists",
    "ListComp": "list comprehensions", "GeneratorExp": "generator expressions", "Lambda": "`lambda`",
    "NamedExpr": "`(x := ...)`", "JoinedStr": "f-strings, in messages", "Dict": "dictionaries",
    "Set": "sets of what is known", "DictComp": "dictionary comprehensions", "SetComp": "set comprehensions",
    "Starred": "`*x` in calls and displays", "Yield": "`yield`, in what a `for` loop goes through",
    "Await": "`await`",
}
# fmt: on
NOT_KNOWN = "not known"
FRONTEND = Path(__file__).resolve().parent.parent / "srcgrad" / "frontend"


def page() -> str:
    """The text of docs/supported.md."""
    active = {op: row for op, row in PRIMITIVES.items() if row.partials and is_ours(op)}
    flat = [op for op, row in PRIMITIVES.items() if row.partials is None and is_ours(op)]
    return "\n".join(
        [
            "# What is supported",
            "",
            "Made from the code by `python docs/support_table.py`; a test checks that it is up to date.",
            "",
            "## Scalar and elementwise functions",
            "",
            "On numbers and, elementwise with broadcasting, on arrays. `x` and `y` are the first and second operand,",
            "`out` is the function's own result. The last column holds points where a convention decides.",
            "",
            "| write it | partials | at these points |",
            "|---|---|---|",
            *(f"| {_spellings(op)} | {_partials(row)} | {_corners(row)} |" for op, row in active.items()),
            "",
            "## Functions whose derivative is zero",
            "",
            "Flat between their jumps, or not about real numbers at all. They may be used anywhere.",
            "",
            ", ".join(filter(None, (_spellings(op) for op in flat))) + ".",
            "",
            "## Complex numbers",
            "",
            "complex64 and complex128, with real numbers beside them. The cotangent of z = x + iy is dL/dx - i dL/dy.",
            "Their parts are written too: `z.real = x`, `z.imag[1:] += y`. These take them, elementwise:",
            "",
            ", ".join(filter(None, (_spellings(op) for op in sorted(TAKE_COMPLEX)))) + ",",
            ", ".join(f"`{name_of(function)}`" for function in names.COMPLEX_MATH) + ".",
            "",
            "## Array functions and methods",
            "",
            "With the arguments that are understood. Axes and dtypes have to be known when the function is",
            "specialised, lengths do not.",
            "",
            "| function | method |",
            "|---|---|",
            *_array_functions(),
            *_compositions(),
            "",
            "## Methods of ufuncs",
            "",
            "| method | of |",
            "|---|---|",
            *_methods_of_ufuncs(),
            "",
            "## Objects of NumPy's and SciPy's",
            "",
            "Made in the function (see above; sparse matrices are not) or outside of it: as globals, in closures, in",
            "lists, dicts and objects.",
            "Outside, no derivative goes to what they were made of.",
            "",
            ", ".join(f"`{name}`" for name in _objects()) + ".",
            "",
            "## Random numbers",
            "",
            "Of `np.random`, of generators from outside and of `np.random.default_rng(seed)` in the function. A draw",
            "happens once per call, in its turn, from NumPy's own generator (also in compiled code, so that",
            "`np.random.seed` ahead of the call decides what is drawn). A derivative goes to `loc`, `scale`, `low`,",
            "`high`, `mean` and `sigma`, and to what is chosen or shuffled, but to no other number.",
            "",
            "In compiled code a number of `np.random.default_rng(seed)` in the function costs 0.01 to 0.05 µs, one of",
            "a `Generator` from outside 0.1 to 0.15 (its lock is taken for each draw, as NumPy does), and one of",
            "`np.random` or a `RandomState` what it costs in Python, 0.3 to 0.7. Where they are drawn in one block",
            "ahead of the loop, `z = rng.standard_normal(n)`, each costs 0.01.",
            "",
            *_random_numbers(),
            "",
            "## The rest of NumPy",
            "",
            "What is not differentiable, or not yet, runs as it is at the top level of a function, as long as no",
            "derivative goes through it, and its result is of one type whatever the values (`np.roots` is refused).",
            "What is never supported is about files, text, dates and memory.",
            "",
            *_rest(),
            "",
            "## Python's own functions",
            "",
            ", ".join(f"`{f.__name__}`" for f in sorted(_builtins(), key=lambda f: f.__name__)) + ".",
            "",
            "Of its library: " + ", ".join(f"`{name}`" for name in sorted(_of_its_library())) + ".",
            "",
            "## Attributes of arrays",
            "",
            ", ".join(f"`x.{name}`" for name in _cases("objects/attributes.py", "attribute")) + ".",
            "",
            "## The language",
            "",
            "| statement | |",
            "|---|---|",
            *(f"| {text} | {_yes(kind in _understood())} |" for kind, text in STATEMENTS.items()),
            "",
            "| expression | |",
            "|---|---|",
            *(f"| {text} | {_yes(kind in _understood())} |" for kind, text in EXPRESSIONS.items()),
            "",
        ]
    )


def is_ours(op: str) -> bool:
    """Is it for users to write, and no rule of a user's?"""
    return op not in INTERNAL and not op.startswith("user.")


def _spellings(op: str) -> str:
    """Every way to write this primitive, as code."""
    return ", ".join(f"`{_cell(text)}`" for text in dict.fromkeys(_ways_to_write(op)))


def _ways_to_write(op: str) -> Iterator[str]:
    yield from (OPERATOR_TEXT[kind] for kind, it in names.OPERATORS.items() if it == op)
    yield from (function.__name__ for function, it in names.BUILTINS.items() if it == op)
    yield from (f"np.{name}" for name in _numpy_names(names.FUNCTIONS, op))
    called = (name_of(function) for function, it in names.FUNCTIONS.items() if it == op)
    yield from sorted(name for name in called if name.startswith("scipy."))
    for table in (names.MATH, names.TO_INT, names.WHOLE_MATH):
        yield from (_name(function) for function, it in table.items() if it == op)


def _numpy_names(table: dict[Callable[..., Any], str], op: str) -> list[str]:
    return sorted(name for name in np.__all__ if _is_function(value := getattr(np, name)) and table.get(value) == op)


def _is_function(value: Any) -> bool:
    return callable(value) and getattr(value, "__hash__", None) is not None


def _name(function: Callable[..., Any]) -> str:
    return f"math.{function.__name__}" if function.__module__ == "math" else function.__name__


def _partials(row: Primitive) -> str:
    operands = [Var(name, interval.dtype) for name, interval in zip("xyzw", row.domain, strict=False)]
    out = Var("out", operands[-1].dtype)
    assert row.partials
    texts = [_partial(partial, operands, out) for partial in row.partials]
    return "; ".join(f"`{_cell(text)}`" if text != NOT_KNOWN else text for text in texts)


def _partial(partial: Any, operands: list[Var], out: Var) -> str:
    if partial is UNKNOWN:
        return NOT_KNOWN
    return _text(partial(*operands, out)) if partial else "0"


def _text(partial: Any) -> str:
    if not isinstance(partial, Expr):
        return f"{partial:g}"
    lines = expression_text(rewrite(partial, chosen))  # a cell is one
    return " ".join(re.sub(r"(?<=\()\n\s*|\n\s*(?=\()", "", lines).split())


def _corners(row: Primitive) -> str:
    return "; ".join(f"{_point(point)}: {_point(slopes)}" for point, slopes in row.corners.items())


def _point(numbers: tuple[float, ...]) -> str:
    text = ", ".join(f"{number:.4g}" for number in numbers)
    return f"({text})" if len(numbers) > 1 else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _array_functions() -> Iterator[str]:
    """One row per handler: its spellings, and the arguments that it takes."""
    elementwise = set(names.FUNCTIONS)
    handlers: dict[Any, list[str]] = {}
    by_module = lambda item: item[1].__module__
    for function, handler in sorted(TABLE.items(), key=by_module):
        if function in elementwise or _is_method_of_a_ufunc(function) or _is_no_array_function(function):
            continue
        if _called(function) not in OLD_NAMES:
            handlers.setdefault(handler, []).append(_called(function))
    methods = {handler: name for name, handler in sorted(METHODS.items(), key=by_module)}
    for handler in [*handlers, *(handler for handler in methods if handler not in handlers)]:
        arguments = ", ".join(_arguments(handler))
        spelt = ", ".join(f"`{name}({arguments})`" for name in handlers.get(handler, ()))
        method = f"`.{methods[handler]}({arguments.partition(', ')[2]})`" if handler in methods else ""
        yield f"| {spelt} | {method} |"


def _is_no_array_function(function: Any) -> bool:
    """Python's own functions have a paragraph of their own, and our helpers none."""
    return (getattr(function, "__module__", None) or "").split(".")[0] in ("builtins", "srcgrad")


def _compositions() -> Iterator[str]:
    """One row per function that is said in simpler ones."""
    compositions.composition_of(scipy.integrate.simpson)  # and all of its module, and of others that are imported
    spellings: dict[Any, list[str]] = {}
    by_module = lambda item: item[1].__module__  # (they are read in the order in which a program imports SciPy's)
    for function, composition in sorted(compositions.COMPOSITIONS.items(), key=by_module):
        if _is_method_of_a_ufunc(function):
            continue
        spellings.setdefault(composition, []).append(name_of(function))
    methods = {composition: name for name, composition in compositions.METHODS.items() if name.isidentifier()}
    for composition in {**spellings, **methods}:
        handed_on = inspect.getclosurevars(composition).nonlocals  # exp(log_density(*args, **kwargs))
        own = handed_on.get("log_density", composition)
        first, *rest = inspect.signature(own).parameters.values()
        arguments = ", ".join(map(_argument, [first, *rest]))
        spelt = ", ".join(f"`{name}({arguments})`" for name in spellings.get(composition, ()))
        method = f"`.{methods[composition]}({', '.join(map(_argument, rest))})`" if composition in methods else ""
        yield f"| {spelt} | {method} |"


def _objects() -> list[str]:
    parts = ((cls.__module__.replace("numpy", "np", 1), cls.__name__) for cls in compositions.OBJECTS)
    return sorted(".".join((*module.split(".")[:2], name)) for module, name in parts)


OLD_NAMES = {"np.row_stack"}  # that not every NumPy has

# fmt: off
NOT_DIFFERENTIABLE = {
    "array_equiv", "bitwise_count", "can_cast", "intersect1d", "is_busday", "iscomplex",
    "iscomplexobj", "isdtype", "isfortran", "isin", "isnat", "isreal", "isrealobj", "issubdtype", "mask_indices",
    "may_share_memory", "min_scalar_type", "mintypecode", "packbits", "shares_memory",
    "sort_complex", "typename", "union1d", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "unpackbits",
}
NEVER = {
    "array2string", "array_repr", "array_str", "asarray_chkfinite", "asmatrix", "base_repr", "binary_repr", "bmat",
    "busday_count", "busday_offset", "busdaycalendar", "datetime_as_string", "datetime_data", "einsum_path",
    "flatiter", "format_float_positional", "format_float_scientific", "from_dlpack", "frombuffer", "fromfile",
    "frompyfunc", "fromregex", "fromstring", "genfromtxt", "get_include", "get_printoptions",
    "getbufsize", "geterr", "geterrcall", "info", "load", "loadtxt", "matrix", "memmap", "nditer", "nested_iters",
    "poly1d", "recarray", "save", "savetxt", "savez", "savez_compressed",
    "set_printoptions", "setbufsize", "seterr", "seterrcall", "show_config", "show_runtime", "test", "ufunc",
}
# fmt: on


def _rest() -> Iterator[str]:
    """The public functions of NumPy that have no rule here."""
    known = {id(function) for function in (*TABLE, *compositions.COMPOSITIONS, *BUILTINS, *HARMLESS)}
    missing = {
        f"{prefix}.{name}"
        for prefix, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft))
        for name in module.__all__
        if not name.startswith("_")
        and _is_function(value := getattr(module, name))
        and id(value) not in known
        and not _is_class_of_numbers(value)
    }
    bare = {name: name.rpartition(".")[2] for name in missing}
    groups = {
        "Not differentiable": {name for name in missing if bare[name] in NOT_DIFFERENTIABLE},
        "Never": {name for name in missing if bare[name] in NEVER},
    }
    groups["Not yet"] = missing - groups["Not differentiable"] - groups["Never"]
    for title, names_of_group in groups.items():
        yield f"- {title}: {', '.join(f'`{name}`' for name in sorted(names_of_group))}."


def _is_class_of_numbers(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, (np.generic, BaseException))


def _random_numbers() -> Iterator[str]:
    """One item per distribution, with its arguments."""
    drawn = {name: it for name, it in random_numbers.DRAWN.items() if hasattr(np.random, name)}
    for name, handler in sorted((drawn | compositions.DRAWS).items()):
        arguments = [p for p in inspect.signature(handler).parameters if p not in ("build", "source", "rng")]
        parameters = inspect.signature(handler).parameters
        yield f"- `{name}({', '.join(_argument(parameters[p]) for p in arguments)})`"


def _methods_of_ufuncs() -> Iterator[str]:
    """One row per method, with the ufuncs that have it."""
    found: dict[str, list[str]] = {}
    for function in (*TABLE, *compositions.COMPOSITIONS):
        if _is_method_of_a_ufunc(function):
            found.setdefault(function.__name__, []).append(name_of(function.__self__))
    for method, ufuncs in sorted(found.items()):
        yield f"| `{method}` | {', '.join(f'`{name}`' for name in sorted(ufuncs))} |"


def _is_method_of_a_ufunc(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), np.ufunc)


def _called(function: Any) -> str:
    if name_of(function).startswith(("scipy.", "math.", "np.fft.")):
        return name_of(function)
    if function is stop_gradient:
        return "srcgrad.stop_gradient"
    if isinstance(function, np.ufunc):
        return f"np.{function.__name__}"
    return f"np.linalg.{function.__name__}" if "linalg" in function.__module__ else f"np.{function.__name__}"


def _arguments(handler: Any) -> list[str]:
    """The names of NumPy's arguments; those that may be left out carry an `=`."""
    _, *parameters = inspect.signature(handler).parameters.values()
    return list(map(_argument, parameters))


def _argument(parameter: inspect.Parameter) -> str:
    if parameter.kind == parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind == parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    return parameter.name + ("" if parameter.default is parameter.empty else "=")


def _builtins() -> set[Any]:
    ours = (*BUILTINS, *names.TO_INT, *TABLE, *compositions.PYTHON)
    return {f for f in ours if getattr(f, "__module__", "") == "builtins"} - {iter}  # in __iter__ alone


OF_ITS_LIBRARY = (
    "bisect",
    "collections",
    "copy",
    "functools",
    "heapq",
    "itertools",
    "logging",
    "math",
    "operator",
    "statistics",
    "warnings",
)


def _of_its_library() -> set[str]:
    """Functions of modules of Python's, and, beside the elementwise ones, of `math`."""
    ours = (*BUILTINS, *compositions.PYTHON)
    homes = {f: f if getattr(f, "__module__", None) else getattr(f, "__self__", None) for f in ours}
    places = {f: getattr(home, "__module__", "").lstrip("_") for f, home in homes.items()}
    return {f"{place}.{f.__qualname__}" for f, place in places.items() if place in OF_ITS_LIBRARY}


def _cases(file: str, function: str) -> list[str]:
    """The strings that a function of the frontend has a `case` for."""
    tree = ast.parse((FRONTEND / file).read_text(encoding="utf-8"))
    body = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    values = [node.value for node in ast.walk(body) if isinstance(node, ast.MatchValue)]
    return [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]


@functools.cache
def _understood() -> frozenset[str]:
    """The syntax that the frontend has a `case` or an `isinstance` for, or a function that evaluates it."""
    files = [FRONTEND / name for name in ("interpret.py", "expressions.py", "syntax/flow.py", "control/generators.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    classes = [node.cls for node in nodes if isinstance(node, ast.MatchClass)]
    classes += [node.args[1] for node in nodes if isinstance(node, ast.Call) and _is_named(node.func, "isinstance")]
    names = {cls.attr for cls in classes if isinstance(cls, ast.Attribute)}
    return frozenset(names | {kind.__name__ for kind in EVALUATED_ABOVE})


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(PRIMITIVES)} primitives")


if __name__ == "__main__":
    main()
