"""Kernels that are the same but for names are one kernel, which the host launches with other arrays.

@kernel(s=np.float64)                                          @kernel(s=np.float64)
def f_i(x, n, y, s_start, …): …                        →       def f_i(x, n, y, s_start, …): …
@kernel(s_1=np.float64)                                        s_cell = f_i[n](x, n, y, s=0.0)
def f_i_1(y, n, z, s_1_start, …): …                            s_1_cell = f_i[n](y, n, z, s=0.0)
s_cell = f_i[n](x, n, y, s=0.0)
s_1_cell = f_i_1[n](y, n, z, s_1=0.0)

The layers of a model have the same kernels, and each of them takes a tenth of a second to compile.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from .grid_sums import DONE

KNOWN = ("status", DONE)


def one_of_each(definitions: list[ast.FunctionDef], signatures: Mapping[str, str]) -> list[ast.FunctionDef]:
    """The functions of a module without kernels that others are, too; who launched them, the last one, launches those.

    `signatures` are those of the kernels, by name.
    """
    *others, host = definitions
    first: dict[Any, tuple[str, list[str]]] = {}
    instead: dict[str, tuple[str, dict[str, str]]] = {}  # the kernel, and what it calls what has this name here
    kept: list[ast.FunctionDef] = []
    for definition in others:
        if definition.name in signatures:
            names: dict[str, int] = dict.fromkeys(_own(definition), -1)
            form = signatures[definition.name], _numbered(definition, names)
            own = sorted(names, key=names.__getitem__)
            name, theirs = first.setdefault(form, (definition.name, own))
            if name != definition.name:
                instead[definition.name] = name, dict(zip(own, theirs, strict=True))
                continue
        kept.append(definition)
    if instead:
        _launch_others(host, instead)
    return [*kept, host]


def _own(kernel: ast.FunctionDef) -> list[str]:
    """The names of its parameters, and of all that it sets; but for those by which the runtime knows a kernel."""
    targets = [
        target
        for node in ast.walk(kernel)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.For))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    places = (place for target in targets for place in (target.elts if isinstance(target, ast.Tuple) else [target]))
    names = [*(arg.arg for arg in kernel.args.args), *(place.id for place in places if isinstance(place, ast.Name))]
    return [name for name in names if name not in KNOWN]


def _numbered(node: Any, names: dict[str, int], is_name: bool = False) -> Any:
    """The tree, with numbers for its own names, in the order in which they come.

    `is_name`: texts in it are names, as those of arrays of which a block has sums of its own.
    """

    def number(name: str) -> Any:
        if name not in names:
            return name
        if names[name] < 0:
            names[name] = len(names) - sum(place < 0 for place in names.values())
        return names[name]

    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return number(name)
        case ast.keyword(arg=str() as name, value=value):
            return "keyword", number(name), _numbered(value, names, name == "block_sums")
        case ast.Constant(value=str() as text) if is_name:
            return number(text)
        case ast.Constant(value=value):
            return type(value), repr(value)
        case ast.FunctionDef():
            return _numbered((node.args.args, node.decorator_list, node.body), names)
        case ast.AST():
            parts = (getattr(node, field, None) for field in node._fields if field != "ctx")
            return type(node).__name__, *(_numbered(part, names, is_name) for part in parts)
        case list() | tuple():
            return tuple(_numbered(part, names, is_name) for part in node)
    return node


def _launch_others(host: ast.FunctionDef, instead: Mapping[str, tuple[str, dict[str, str]]]) -> None:
    for node in ast.walk(host):
        if isinstance(node, ast.Call) and node.keywords:
            name, renamed = instead.get(_launched(node.func), ("", {}))
            for keyword in node.keywords if name else ():
                keyword.arg = renamed.get(keyword.arg or "", keyword.arg)
    for node in ast.walk(host):
        if isinstance(node, ast.Name) and node.id in instead:
            node.id = instead[node.id][0]


def _launched(called: ast.expr) -> str:
    """The kernel, in `kernel[n](…)` and `kernel.by_one(…)`."""
    match called:
        case ast.Subscript(value=ast.Name(id=name)) | ast.Attribute(value=ast.Name(id=name)):
            return name
    return ""


__all__ = ["one_of_each"]
