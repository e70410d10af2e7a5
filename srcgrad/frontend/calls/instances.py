"""The body of a function of its own, from the types of its arguments to its `Function` and what callers have to know.

def f(x, n): …      →      Function f(x, n, depth), Summary(result=float64, writes=∅)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SrcgradError, UnsupportedError, place
from ...ir.expressions import BOOL, INT64, Array, Call, Const, Dim, Expr, Var
from ...ir.info import Info
from ...ir.names import RESERVED
from ...ir.nodes import Function, If, OwnCopy, Raise, Stmt
from ...ir.types import ArrayType
from ...ir.walk import statements, targets
from ..arguments import parameter
from ..arithmetic import cast
from ..array_values import ArrayValue, whole
from ..joined_numbers import join_scalars, with_types
from ..known_memory import WrittenAfterAll
from ..outside import Place
from ..values import NONE, UNDEFINED, Generator, Scalar, Static, Template, TupleValue
from .recursion import Instance, NotYetKnown, Summary

if TYPE_CHECKING:
    from ..interpret import Interpreter

DEEPEST = 1000  # calls within calls at run time: Python's own limit, for which there is room whatever the function
STACK = 4_000_000  # bytes, of which more calls may make use


def interpret_instance(outer: Interpreter, instance: Instance) -> None:
    """Interpret the body with what is known of the functions that it calls; widen what is known of itself."""
    instance.is_running = True
    try:
        while True:
            try:
                _interpret(outer, instance)
                break
            except WrittenAfterAll as found:
                instance.never_early |= {found.name}
    finally:
        instance.is_running = False


def _interpret(outer: Interpreter, instance: Instance) -> None:
    from ..interpret import Interpreter

    interpreter = Interpreter(outer.callees)
    interpreter.instance = instance
    interpreter.assumed, interpreter.exceptions = outer.assumed, outer.exceptions
    interpreter.varying = outer.varying
    build = interpreter.build
    build.never_early = instance.never_early
    build.stretch, build.again = outer.build.stretch, outer.build.again
    params: list[Var | Array] = []
    values = []
    for name, kind in zip(instance.names, instance.kinds, strict=True):
        param = parameter(build, name, kind)
        params.append(param)
        if isinstance(kind, ArrayType) and kind.layout != "C":
            build.other_layouts.add(param.name)
        values.append(whole(param) if isinstance(param, Array) else Scalar(param, kind.weak))
    depth = Var(build.names.fresh("depth"), INT64)
    interpreter.depth = depth
    instance.seen = {}
    instance.problem = None
    try:
        value = instance.start(interpreter, values)
        build.span = None
        captured = [c for c, _ in interpreter.captured.values()]
        params += [c.param for c in captured]
        _End(interpreter, instance, params, depth).finish(value, [(c.name, c.place) for c in captured])
    except NotYetKnown:
        pass
    except SrcgradError as problem:
        instance.problem = problem


class _End:
    """From the value that a body ends with to the function and its summary."""

    def __init__(self, interpreter: Interpreter, instance: Instance, params: list[Var | Array], depth: Var) -> None:
        self.interpreter, self.build, self.instance = interpreter, interpreter.build, instance
        self.params, self.depth = params, depth
        self.leaves: list[Any] = []
        self.twins: set[tuple[int, int]] = set()

    def finish(self, value: Any, captured: list[tuple[str, Place]]) -> None:
        instance, build = self.instance, self.build
        before = instance.summary
        result = self.results(NONE if value is UNDEFINED else value, before.result if before else None, "out")
        for param in self.params:
            if isinstance(param, Array) and param.name in build.stale:
                build.span = build.stale[param.name]
                build.refuse_stale(param.name)
        known = before.captured if before else ()
        order = known + tuple(c for c in captured if c[1].key not in {found.key for _, found in known})
        params = self.in_order(order, captured)
        writes = frozenset(k for k, p in enumerate(params) if isinstance(p, Array) and p.name in self.written_roots())
        if before is not None:
            writes |= before.writes
        twins = frozenset(self.twins) | (before.twins if before else frozenset())
        instance.summary = Summary(result, writes, order, twins)
        lengths = [dim for leaf in self.leaves if isinstance(leaf, Array) for dim in leaf.dims]
        instance.guard = self.guard()
        instance.equal_lengths = build.equal_lengths
        instance.function = Function(
            instance.name, (*params, self.depth), (*build.prologue, *build.block),
            (*self.leaves, *lengths), Info(build.names, boundscheck=self.interpreter.callees.boundscheck),
        )  # fmt: skip

    def in_order(self, order: tuple[tuple[str, Place], ...], captured: list[tuple[str, Place]]) -> list[Any]:
        """Parameters, and then what is read from outside in the order that callers know."""
        own = self.params[: len(self.params) - len(captured)]
        for name, found in order:
            if found.key not in self.interpreter.captured:
                self.interpreter.hand_in(name, found)
        return [*own, *(self.interpreter.captured[found.key][0].param for _, found in order)]

    def written_roots(self) -> set[str]:
        build = self.build
        out = set()
        for stmt in statements((*build.prologue, *build.block)):
            for item in targets(stmt):
                if isinstance(item, Array) and not isinstance(stmt, OwnCopy):
                    out.add(build.root(item))
        return out

    def guard(self) -> tuple[Stmt, ...]:
        """As deep as Python goes by default, and deeper as long as the stack is sure to hold it."""
        names = len(self.build.names.taken - RESERVED)
        limit = max(DEEPEST, STACK // (500 + 50 * names))  # a frame holds each of them once at most
        message = f"{self.instance.title} calls itself more than {limit} times, one call inside the other"
        deep = Raise("DepthError", message + place(self.instance.span), ())
        return (If(Call("gt", (self.depth, Const(limit, INT64)), BOOL), (deep,), span=self.instance.span),)

    def results(self, value: Any, known: Any, name: str) -> Any:
        """The structure of result types, joined with what is known; the leaves themselves are collected."""
        match value, known:
            case Scalar(), None | ("scalar", *_):
                return self.scalar(value, known, name)
            case ArrayValue(dims=()), ("scalar", *_):
                return self.scalar(Scalar(value.element), known, name)
            case ArrayValue(), None | ("array", *_) | ("argument", _):
                return self.array(value, known, name)
            case TupleValue(items=items, kind=kind), None | ("tuple", _, _):
                parts = known[2] if known else (None,) * len(items)
                if len(parts) == len(items) and not any(item is UNDEFINED for item in items):
                    inner = [
                        self.results(v, k, f"{name}_{n}") for n, (v, k) in enumerate(zip(items, parts, strict=True))
                    ]
                    return ("tuple", kind, tuple(inner))
            case Static(value=item), None | ("static", _):
                has_numbers = isinstance(item, (Template, Generator))  # of this call
                if not has_numbers and (known is None or known[1] is item or known[1] == item):
                    return ("static", item)
        raise UnsupportedError(
            f"{self.instance.title} calls itself, and returns values of different kinds on different paths",
            span=self.instance.span,
            help=("return numbers, arrays, or tuples of them, of the same structure on every path",),
        )

    def scalar(self, value: Scalar, known: Any, name: str) -> Any:
        joined = with_types(self.build, value)
        if known is not None:
            joined = join_scalars(joined, Scalar(Const(known[1].type(0).item(), known[1]), known[2], known[3]))
        dtype = joined.dtype
        expr = cast(value.expr, dtype)
        self.leaves.append(expr if isinstance(expr, (Const, Var)) else self.build.variable(name, expr))
        return ("scalar", dtype, joined.weak, frozenset(joined.types))

    def array(self, value: ArrayValue, known: Any, name: str) -> Any:
        """An argument that is returned as it is; else memory of the function's own, in C order."""
        build, handle = self.build, value.handle
        positions = {p.name: k for k, p in enumerate(self.params) if isinstance(p, Array)}
        if handle is not None and handle.name in positions and known in (None, ("argument", positions[handle.name])):
            return ("argument", positions[handle.name])
        if known is not None and known[0] == "array" and known[2] != value.ndim:
            raise UnsupportedError(
                f"{self.instance.title} calls itself, and returns arrays of {known[2]} and of {value.ndim} axes",
                span=self.instance.span,
                help=("return arrays with the same number of axes on every path",),
            )
        dtype = np.result_type(value.dtype, known[1]) if known is not None and known[0] == "array" else value.dtype
        if dtype.kind not in "fciub":
            raise UnsupportedError(f"a result of dtype {dtype} is not supported", span=self.instance.span)
        root = build.root(handle) if handle is not None else None
        shared = root in positions or any(isinstance(x, Array) and build.root(x) == root for x in self.leaves)
        if dtype != value.dtype:
            value = ArrayValue(value.dims, cast(value.element, dtype))
            out = build.materialize(value, name)
        else:
            out = build.materialize(value, name, copy=True) if shared else build.in_order(value, name)
        if out.name not in build.contiguous or any(_is_own_length(d, out) for d in out.dims):
            out = build.materialize(whole(out), name, copy=True)
        around = {root} | build.all_twins(root) if root is not None else set()
        around |= build.all_twins(build.root(out))
        self.twins |= {(len(self.leaves), k) for other, k in positions.items() if other in around}
        self.leaves.append(out)
        return ("array", dtype, value.ndim)


def _is_own_length(dim: Expr, array: Array) -> bool:
    return isinstance(dim, Dim) and dim.array == array.name
