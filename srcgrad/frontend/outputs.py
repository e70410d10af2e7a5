"""The structure of outputs, cotangents and their types, and how it is told to the user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..ir import affine
from ..ir.expressions import Array, Call, Const, Dim, Expr, Var, is_inexact
from ..ir.show import text
from ..ir.types import (
    ArrayType,
    ChosenKind,
    DictKind,
    ListKind,
    RecordKind,
    ScalarType,
    StaticType,
    TextKind,
    TupleType,
)
from ..ir.walk import rewrite
from .array_values import ArrayValue
from .values import Scalar, TupleValue


@dataclass(frozen=True)
class ScalarOutput:
    expr: Expr
    weak: bool

    @property
    def dtype(self) -> np.dtype:
        return self.expr.dtype


@dataclass(frozen=True)
class StaticOutput:
    """None, or a text: what is known of a result when it is generated."""

    value: Any


@dataclass(frozen=True)
class Group:
    """A tuple or list of outputs (or a dict, an object, a text: what `kind` makes of them)."""

    items: tuple[Any, ...]
    kind: Any = tuple


def structure(outputs: Any) -> Any:
    match outputs:
        case None:
            return TupleType(())
        case Group(items=items, kind=kind):
            return TupleType(tuple(map(structure, items)), kind)
        case tuple():
            return TupleType(tuple(map(structure, outputs)))
        case StaticOutput(value=value):
            return StaticType(value)
        case ScalarOutput(expr=expr, weak=weak):
            return ScalarType(expr.dtype, weak)
        case Array(dtype=dtype, ndim=ndim):
            return ArrayType(dtype, ndim)
    raise AssertionError(outputs)


def like_the_output(outputs: Any) -> Any:
    """The types of a v that is like the output; None, for one real number: its v is 1."""
    is_one_number = isinstance(outputs, ScalarOutput) and outputs.dtype.kind != "c"
    return None if is_one_number else _in_v(structure(outputs))


def _in_v(kind: Any) -> Any:
    """What v has for a part of the output: None for a text, an array for a list that is one in memory."""
    match kind:
        case TupleType(kind=TextKind() | ChosenKind()):
            return StaticType(None)
        case TupleType(items=(rows,), kind=ListKind()):
            return rows
        case TupleType(items=items):
            return replace(kind, items=tuple(map(_in_v, items)))
    return kind


def flat_outputs(outputs: Any) -> list[Any]:
    if outputs is None or isinstance(outputs, StaticOutput):
        return []
    if isinstance(outputs, (Group, tuple)):
        return [
            leaf for item in (outputs.items if isinstance(outputs, Group) else outputs) for leaf in flat_outputs(item)
        ]
    return [outputs]


def result_leaves(outputs: Any) -> tuple[Any, ...]:
    return tuple(leaf.expr if isinstance(leaf, ScalarOutput) else leaf for leaf in flat_outputs(outputs))


def is_float(leaf: Any) -> bool:
    return is_inexact(leaf.dtype)


def describe_output(outputs: Any, shapes: dict[str, tuple[int, ...]] | None = None) -> str:
    match outputs:
        case StaticOutput(value=value):
            return repr(value)
        case ScalarOutput(expr=expr):
            return f"a scalar of dtype {expr.dtype}"
        case Group(kind=TextKind() | ChosenKind()):
            return "a text"
        case Group(items=(rows,), kind=ListKind()):
            return f"a list, to v {describe_output(rows, shapes)}"
        case Array(dims=dims, dtype=dtype):
            count = f"{len(dims)} {'axis' if len(dims) == 1 else 'axes'}"
            return f"an array of {count}, shape {_dims_text(dims, shapes)}, dtype {dtype}"
    parts = outputs.items if isinstance(outputs, Group) else outputs
    if isinstance(outputs, Group) and isinstance(outputs.kind, (DictKind, RecordKind)):
        what = "a dict" if isinstance(outputs.kind, DictKind) else f"a {outputs.kind.cls.__name__}"
        named = zip(outputs.kind.keys, parts, strict=True)
        return f"{what} with " + ", ".join(f"{key}: {describe_output(part, shapes)}" for key, part in named)
    return f"a tuple of {len(parts)}: ({', '.join(describe_output(part, shapes) for part in parts)})"


def _dims_text(dims: tuple[Expr, ...], shapes: dict[str, tuple[int, ...]] | None) -> str:
    def known(node: Expr) -> Expr:
        if isinstance(node, Dim) and node.array in (shapes or {}):
            return affine.integer((shapes or {})[node.array][node.axis])
        values = [arg.value for arg in node.args if isinstance(arg, Const)] if isinstance(node, Call) else []
        if isinstance(node, Call) and len(values) == len(node.args):
            low, high = values if len(values) == 2 else (0, 0)
            folded = {"maximum": max(low, high), "minimum": min(low, high), "mul": low * high}.get(node.op)
            return affine.normal(node) if folded is None else affine.integer(folded)
        return node

    return f"({', '.join(text(affine.normal(rewrite(d, known))) for d in dims)}{',' if len(dims) == 1 else ''})"


def ones_like(outputs: Any, path: str) -> str:
    """An expression for a v of ones, for the result that is called `path`."""
    match outputs:
        case StaticOutput() | Group(kind=TextKind() | ChosenKind()):
            return "None"
        case ScalarOutput(dtype=dtype):
            return "1.0" if is_inexact(dtype) else "0"
        case Array() | Group(kind=ListKind()):
            return f"np.ones_like({path})"
    if isinstance(outputs, Group) and isinstance(outputs.kind, DictKind):
        items = zip(outputs.kind.keys, outputs.items, strict=True)
        return "{" + ", ".join(f"{key!r}: {ones_like(item, f'{path}[{key!r}]')}" for key, item in items) + "}"
    if isinstance(outputs, Group) and isinstance(outputs.kind, RecordKind):
        items = zip(outputs.kind.keys, outputs.items, strict=True)
        named = (f"{key}={ones_like(item, f'{path}.{key}')}" for key, item in items)
        return f"{outputs.kind.cls.__name__}({', '.join(named)})"
    parts = outputs.items if isinstance(outputs, Group) else outputs
    return f"({', '.join(ones_like(part, f'{path}[{k}]') for k, part in enumerate(parts))}{',' * (len(parts) == 1)})"


def as_floats(name: str, kind: Any) -> str:
    """What to pass in the place of whole numbers, to have a derivative by them."""
    match kind:
        case ScalarType() | StaticType(value=int() | np.integer() | np.bool_()):
            return f"pass a float:  float({name})"
        case ArrayType():
            return f"pass floats:  {name}.astype(float)"
    return f"pass {name} with floats in it:  1.0, not 1"


def has_whole_numbers(kind: Any) -> bool:
    if isinstance(kind, TupleType):
        return any(map(has_whole_numbers, kind.items))
    return not isinstance(kind, StaticType) or isinstance(kind.value, (int, np.integer, np.bool_))


def describe_type(kind: Any) -> str:
    match kind:
        case ScalarType(dtype=dtype):
            return f"a number of dtype {dtype}"
        case ArrayType(dtype=dtype, ndim=ndim):
            return f"an array of dtype {dtype} with {ndim} {'axis' if ndim == 1 else 'axes'}"
        case TupleType(kind=DictKind(keys=keys)):
            return f"a dict with {', '.join(map(str, keys))}"
        case TupleType(kind=RecordKind(cls=cls)):
            return f"a {cls.__name__}"
        case TupleType(items=items, kind=cls):
            return f"a {'list' if cls is list else 'tuple'} of {len(items)}"
        case StaticType(value=value):
            return repr(value)
    return str(kind)


def float_structure(kind: Any) -> Any:
    """The part of an argument's structure that carries derivatives; None where there is none.

    Items keep their places, with None for what has no derivative; a dict has no such keys.
    """
    if isinstance(kind, TupleType):
        parts = [float_structure(item) for item in kind.items]
        if not any(parts):
            return None
        if isinstance(kind.kind, DictKind):
            keys = tuple(key for key, part in zip(kind.kind.keys, parts, strict=True) if part)
            return TupleType(tuple(filter(None, parts)), replace(kind.kind, keys=keys))
        return TupleType(tuple(part or StaticType(None) for part in parts), kind.kind)
    if isinstance(kind, (ScalarType, ArrayType)) and is_inexact(kind.dtype):
        return ArrayType(kind.dtype, kind.ndim) if isinstance(kind, ArrayType) else kind
    return None


def float_leaves(value: Any) -> list[Any]:
    if isinstance(value, TupleValue):
        return [leaf for item in value.items for leaf in float_leaves(item)]
    if isinstance(value, ArrayValue) and is_inexact(value.dtype) and value.handle is not None:
        return [value.handle]
    if isinstance(value, Scalar) and is_inexact(value.dtype) and isinstance(value.expr, Var):
        return [value.expr]
    return []
