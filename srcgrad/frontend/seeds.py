"""v, as it is given, for the outputs: is it like them, and what has to be done so that it is of their dtype and order?

v: int64[:, :] as columns      →      v_now = empty, and v_now[i, j] = float64(v[i, j]), where the sweep begins
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError, ShapeError
from ..ir import affine
from ..ir.expressions import BOOL, Array, Call, Const, Dim, Expr, Load, Var, either
from ..ir.nodes import Alloc, Assign, For, If, Raise, Stmt, Store
from ..ir.types import (
    ArrayType,
    ChosenKind,
    DictKind,
    ListKind,
    RecordKind,
    StaticType,
    TextKind,
    TupleType,
    type_leaves,
)
from .arguments import parameter
from .arithmetic import cast
from .builder import Builder
from .outputs import (
    Group,
    ScalarOutput,
    StaticOutput,
    describe_output,
    describe_type,
    flat_outputs,
    is_float,
    ones_like,
)  # fmt: skip


class MissingCotangent(ArgumentError):
    """v was left out, and the output is not one real number.  With the shapes of the arguments it can say more."""

    def __init__(self, function: str, outputs: Any, params: tuple[str, ...]) -> None:
        self.parts = function, outputs, params
        super().__init__(_needs_cotangent(function, outputs, None), help=(_like_ones(outputs, OF_BACKWARD),))

    def with_shapes(self, given: Sequence[tuple[int, ...]], call: str) -> ArgumentError:
        """The error for arguments whose leaves have these shapes, and for this way to hand in v."""
        function, outputs, params = self.parts
        shapes = dict(zip(params, given, strict=False))
        return ArgumentError(_needs_cotangent(function, outputs, shapes), help=(_like_ones(outputs, call),))


NEEDS_V = "v is needed"
OF_BACKWARD = "f.backward(x, {})"  # how v is handed in
PARTS_SHOWN = 6


def _like_ones(outputs: Any, call: str) -> str:
    what = "structure" if isinstance(outputs, (Group, tuple)) else "shape"
    is_short = len(flat_outputs(outputs)) <= PARTS_SHOWN
    return f"pass v of that {what}" + (f", e.g. ones:  {call.format(ones_like(outputs, 'y'))}" if is_short else "")


def _needs_cotangent(function: str, outputs: Any, shapes: dict[str, tuple[int, ...]] | None) -> str:
    return f"{NEEDS_V}: the output of {function} is {describe_output(outputs, shapes)}"


LIKE_THE_OUTPUT = object()  # in place of v's types, where only the text is wanted


@dataclass(frozen=True)
class Seeds:
    """`values`: what the shadow of each leaf of the outputs starts from, None of whole numbers.

    `params` are the leaves of v as the caller passes them, `checks` that their shapes are those of the outputs, and
    `setup` makes the values of them.
    """

    values: tuple[Var | Array | None, ...]
    params: tuple[Var | Array, ...]
    checks: tuple[Stmt, ...]
    setup: tuple[Stmt, ...]


def is_one_real_number(outputs: Any) -> bool:
    """Is 1 what v is where it is left out?  An array without axes is one number, too."""
    return isinstance(outputs, (ScalarOutput, Array)) and _ndim(outputs) == 0 and outputs.dtype.kind == "f"


def seed_of_one(build: Builder, output: ScalarOutput | Array) -> Seeds | None:
    """The seed of one real number, which is 1; None where that needs no memory."""
    if not isinstance(output, Array):
        return None
    out = Array(build.names.fresh("v_now"), output.dtype, ())
    return Seeds((out,), (), (), (Alloc(out, ()), Store(out, (), Const(1.0, out.dtype))))


def seeds_of(build: Builder, outputs: Any, given: Any) -> Seeds:
    """The seeds of the outputs, for a v of the types `given`."""
    flat = flat_outputs(outputs)
    checks: list[Stmt] = []
    setup: list[Stmt] = []
    params: list[tuple[int, Var | Array]] = []
    values: list[Var | Array | None] = []
    for number, (leaf, (position, kind)) in enumerate(zip(flat, _matched(outputs, given, "v", 0), strict=True)):
        if kind is None:
            values.append(None)
            continue
        param = parameter(build, "v" if len(flat) == 1 else f"v_{number}", kind)
        params.append((position, param))
        values.append(_converted(build, leaf, param, kind, checks, setup) if is_float(leaf) else None)
    in_order = tuple(param for _, param in sorted(params, key=lambda pair: pair[0]))
    return Seeds(tuple(values), in_order, tuple(checks), tuple(setup))


def _matched(outputs: Any, given: Any, path: str, position: int) -> list[tuple[int, Any]]:
    """The leaves of v in the order of the output's, if v mirrors it: the place of each in v, and its type.

    Of the numbers in a text v has none.
    """
    if isinstance(outputs, Group) and isinstance(outputs.kind, (TextKind, ChosenKind)):
        if isinstance(given, StaticType) and (given.value is None or isinstance(given.value, str)):
            return [(position, None)] * len(outputs.items)
        raise ShapeError(f"{path} must be None, or like the output, a text; got {describe_type(given)}")
    if isinstance(outputs, Group) and isinstance(outputs.kind, ListKind):
        if isinstance(given, TupleType):
            what = f"must be an array for a list whose length is only known at run time; got {describe_type(given)}"
            raise ShapeError(f"{path} {what}", help=(f"pass np.array({path})",))
        return _matched(outputs.items[0], given, path, position)
    if isinstance(outputs, (Group, tuple)):
        parts = outputs.items if isinstance(outputs, Group) else outputs
        order = _order(getattr(outputs, "kind", tuple), given, len(parts))
        if order is None:
            wanted = describe_output(outputs)
            raise ShapeError(f"{path} must have the structure of the output, {wanted}; got {describe_type(given)}")
        counts = [len(type_leaves(item)) for item in given.items]
        return [
            leaf
            for part, n in zip(parts, order, strict=True)
            for leaf in _matched(part, given.items[n], f"{path}[{n}]", position + sum(counts[:n]))
        ]
    if isinstance(outputs, StaticOutput):
        if isinstance(given, StaticType) and given.value in (None, outputs.value):
            return []
        raise ShapeError(f"{path} must be None, or like the output, {outputs.value!r}; got {describe_type(given)}")
    if isinstance(given, (TupleType, StaticType)):
        error = ShapeError if isinstance(given, TupleType) else ArgumentError
        raise error(f"{path} must be like the output, {describe_output(outputs)}; got {describe_type(given)}")
    if given.dtype.kind == "c" and outputs.dtype.kind != "c":
        raise ArgumentError(f"{path} is complex, but the output is real", help=("pass v.real",))
    ndim = _ndim(outputs)
    given_ndim = given.ndim if isinstance(given, ArrayType) else 0
    if ndim != given_ndim:
        raise ShapeError(
            f"{path} has {given_ndim} axes, but the output, {describe_output(outputs)}, has {ndim}",
            help=("v must have exactly the output's shape: it is never broadcast",),
        )
    return [(position, given)]


def _ndim(output: Any) -> int:
    return output.ndim if isinstance(output, Array) else 0


def _order(kind: Any, given: Any, count: int) -> Sequence[int] | None:
    """Which part of v belongs to each part of the output; None where v is of another structure."""
    if not isinstance(given, TupleType) or len(given.items) != count:
        return None
    if isinstance(kind, (DictKind, RecordKind)) or isinstance(given.kind, (DictKind, RecordKind)):
        if type(kind) is not type(given.kind) or set(kind.keys) != set(given.kind.keys):
            return None
        return [given.kind.keys.index(key) for key in kind.keys]
    return range(count)


def _converted(
    build: Builder, leaf: Any, param: Var | Array, kind: Any, checks: list[Stmt], setup: list[Stmt]
) -> Var | Array:
    """v in the output's dtype and in C order, of exactly its shape."""
    names = build.names
    if isinstance(leaf, ScalarOutput):
        value = Load(param, ()) if isinstance(param, Array) else param
        if value.dtype == leaf.expr.dtype and isinstance(param, Var):
            return param
        var = Var(names.fresh("v_now"), leaf.expr.dtype)
        setup.append(Assign(var, cast(value, var.dtype)))
        return var
    wrong: Expr | None = None
    for axis, dim in enumerate(leaf.dims):
        differs = Call("ne", (dim, Dim(param.name, axis) if isinstance(param, Array) else affine.ONE), BOOL)
        wrong = either(wrong, differs)
    if wrong is not None:
        shape = ", ".join(["{}"] * leaf.ndim) + ("," if leaf.ndim == 1 else "")
        message = f"v has shape ({shape}), but the output has shape ({shape})"
        values = tuple(Dim(param.name, k) for k in range(leaf.ndim)) + leaf.dims
        checks.append(If(wrong, (Raise("CotangentShapeError", message, values),)))
    if isinstance(param, Array) and param.dtype == leaf.dtype and getattr(kind, "layout", "C") == "C":
        return param
    out = Array(names.fresh("v_now"), leaf.dtype, leaf.dims)
    setup.append(Alloc(out, leaf.dims))
    indices = tuple(Var(names.index(n), affine.ZERO.dtype) for n in "ijklmnpq"[: leaf.ndim])
    names.release(*(index.name for index in indices))
    value = Load(param, indices) if isinstance(param, Array) else param
    body: tuple[Stmt, ...] = (Store(out, indices, cast(value, leaf.dtype)),)
    for index, dim in reversed(list(zip(indices, leaf.dims, strict=False))):
        body = (For(index, affine.ZERO, dim, affine.ONE, body, False),)
    setup += body
    return out
