"""Functions of the user's that generated code calls: `user.squash(x)`, `user.solve(out, a, b)`.

Each is put here under a name of its own.  In plain Python it runs as it is.  Compiled, Numba compiles it too; what
Numba can't compile runs in Python's interpreter, in the middle of compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import overload

from srcgrad.errors import ArgumentError, CotangentShapeError, RuntimeShapeError

called_by_compiled = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


def named(name: str) -> Any:
    return globals()[name]


def _free(name: str) -> str:
    """A name that no other function has: an older one of that name may still be in use."""
    taken, count, free = globals(), 0, name
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free


def _places(count: int) -> list[str]:
    """Names of operands in texts of our own."""
    return [f"x{k}" for k in range(count)]


def _define(text: str, name: str, **scope: Any) -> Any:
    exec(text, scope)
    return scope[name]


def _for_each_element(shaped: str, axes: int, *statements: str) -> list[str]:
    """Loops over the elements of an array, `[{}]` in the statements.

    What Numba makes of an assignment to a slice takes seconds to compile: the words of errors that can't come.
    """
    lines = [f"{'    ' * k}for i{k} in range({shaped}.shape[{k}]):" for k in range(axes)]
    index = ", ".join(f"i{k}" for k in range(axes)) or "()"
    return [*lines, *("    " * axes + statement.format(index) for statement in statements)]


# ------------------------------------------------------------------------------------------- functions of numbers


def add_scalar(name: str, function: Callable[..., Any], parameters: tuple[str, ...]) -> str:
    """A function of numbers: it is handed float64 and int64, and gives the dtype of its operands."""
    own, places = _free(name), _places(len(parameters))
    listed = ", ".join(places)

    def run(*operands: Any) -> Any:
        result = function(*(np.int64(x) if np.asarray(x).dtype.kind in "iub" else np.float64(x) for x in operands))
        floats = [x.dtype for x in operands if isinstance(x, np.floating)]
        return np.result_type(*floats).type(result) if floats else np.float64(result)

    def choose(*operands: Any) -> Any:
        floats = [x for x in operands if isinstance(x, types.Float)]
        dtype = max(floats, key=lambda x: x.bitwidth, default=types.float64)
        kinds = tuple(types.float64 if isinstance(x, types.Float) else types.int64 for x in operands)
        inner = _compiled(function, kinds)
        if inner is None:
            text = f"def inner({listed}):\n    with objmode(y='float64'):\n        y = run({listed})\n    return y\n"
            inner = numba.njit(_define(text, "inner", objmode=numba.objmode, run=lambda *x: float(run(*x))))
        cast = ", ".join(f"{kind.name}({p})" for kind, p in zip(kinds, places, strict=True))
        return _define(
            f"def call({listed}):\n    return dtype(inner({cast}))\n", "call",
            dtype=dtype, inner=inner, float64=types.float64, int64=types.int64,
        )  # fmt: skip

    globals()[own] = _define(f"def {own}({listed}):\n    return run({listed})\n", own, run=run)
    overload(globals()[own])(
        _define(f"def choose_for({listed}):\n    return choose({listed})\n", "choose_for", choose=choose)
    )
    return own


def _compiled(function: Any, kinds: tuple[types.Type, ...]) -> Any:
    """The function, or something that calls it, as compiled code calls it; None where Numba can't."""
    operands = ", ".join(_places(len(kinds)))
    try:
        inner = called_by_compiled(function) if type(function).__name__ == "function" else function
        text = f"def probe({operands}):\n    return inner({operands})\n"
        probe = called_by_compiled(_define(text, "probe", inner=inner))
        probe.compile(kinds)
    except Exception:  # whatever Numba does not like about it: Python may
        return None
    return probe


# ------------------------------------------------------------------------------------------- functions of arrays


def add_array(
    name: str, function: Callable[..., Any], vjp: Callable[..., Any], parameters: tuple[str, ...], is_number: bool
) -> str:
    """A function of arrays, `own(out, *args)`; and `own_vjp(found, v, out, *args)`, which writes cotangents in a row.

    `is_number`: the result is a number, in memory of one element; then v and out are numbers for the vjp.
    """
    own = _free(name)
    while f"{own}_vjp" in globals():
        own = _free(f"{own}_1")
    listed = ", ".join(_places(len(parameters)))
    _add_call(
        own, f"{own}(out, {listed})", _runner(name, function, is_number), _Chooser(own, name, function, parameters)
    )
    head = f"{own}_vjp(found, v, out, {listed})"
    _add_call(f"{own}_vjp", head, _vjp_runner(name, vjp, parameters), _Chooser(own, name, vjp, parameters, True))
    return own


def _add_call(own: str, head: str, run: Callable[..., Any], choose: Callable[..., Any]) -> None:
    given = head.partition("(")[2]
    globals()[own] = _define(f"def {head}:\n    run({given}\n", own, run=run)
    chooser = _define(f"def choose_for({given}:\n    return choose({given}\n", "choose_for", choose=choose)
    overload(globals()[own])(chooser)


def _runner(name: str, function: Callable[..., Any], is_number: bool) -> Callable[..., None]:
    def run(out: Any, *args: Any) -> None:
        result, wanted = np.asarray(function(*args)), () if is_number else out.shape
        if result.shape != wanted:
            raise RuntimeShapeError(f"{name} gave a result of shape {result.shape}, its rule says {wanted}")
        out[...] = result

    return run


def _vjp_runner(called: str, vjp: Callable[..., Any], parameters: tuple[str, ...]) -> Callable[..., None]:
    def run(found: Any, v: Any, out: Any, *args: Any) -> None:
        given = vjp(v, out, *args)
        if not isinstance(given, (tuple, list)):
            given = (given,)
        if len(given) != len(args):
            raise ArgumentError(f"the vjp of {called} gave {len(given)} cotangents for {len(args)} arguments")
        start = 0
        for name, arg, cotangent in zip(parameters, args, given, strict=True):
            if np.asarray(arg).dtype.kind != "f":
                continue
            part = found[start : start + np.size(arg)]
            start += np.size(arg)
            if cotangent is None:
                part[...] = 0.0
                continue
            if np.shape(cotangent) != np.shape(arg):
                raise CotangentShapeError(
                    f"the vjp of {called} gave a cotangent of shape {np.shape(cotangent)} for {name}, which has shape "
                    f"{np.shape(arg)}"
                )
            part[...] = np.ravel(cotangent)

    return run


class _Chooser:
    """What compiled code calls, for operands of these types."""

    def __init__(self, own: str, name: str, function: Any, parameters: tuple[str, ...], is_vjp: bool = False) -> None:
        self.own, self.name, self.function = own, name, function
        self.parameters, self.is_vjp = parameters, is_vjp

    def __call__(self, *kinds: Any) -> Any:
        heads = ("found", "v", "out") if self.is_vjp else ("out",)
        listed = ", ".join((*heads, *_places(len(self.parameters))))
        inner = _compiled(self.function, kinds[1:])
        scope = {"inner": inner, "run": named(f"{self.own}_vjp" if self.is_vjp else self.own), "objmode": numba.objmode,
                 "RuntimeShapeError": RuntimeShapeError}  # fmt: skip
        lines = None if inner is None else self._compiled_lines(kinds, inner)
        if lines is None:
            lines = ["with objmode():", f"    run({listed})"]
        body = "".join(f"    {line}\n" for line in lines)
        return _define(f"def call({listed}):\n{body}", "call", **scope)

    def _compiled_lines(self, kinds: tuple[Any, ...], inner: Any) -> list[str] | None:
        given = inner.overloads[kinds[1:]].signature.return_type
        places = _places(len(self.parameters))
        operands = ", ".join((*(("v", "out") if self.is_vjp else ()), *places))
        if not self.is_vjp:
            message = f"{self.name} gave a result of another shape than its rule says"
            if isinstance(given, types.Array) and given.ndim == kinds[0].ndim:
                check = [f"if given.shape != out.shape:\n        raise RuntimeShapeError({message!r})"]
                copy = _for_each_element("out", given.ndim, "out[{0}] = given[{0}]")
                return [f"given = inner({operands})", *check, *copy]
            is_number = isinstance(given, types.Number) and kinds[0].ndim == 1
            return [f"out[0] = inner({operands})"] if is_number else None
        parts = tuple(given.types) if isinstance(given, types.BaseTuple) else (given,)
        args = kinds[3:]
        if len(parts) != len(args):
            raise ArgumentError(f"the vjp of {self.name} gave {len(parts)} cotangents for {len(args)} arguments")
        lines = [f"given = inner({operands})", "start = 0"]
        for k, (part, arg, x) in enumerate(zip(parts, args, places, strict=True)):
            if not isinstance(getattr(arg, "dtype", arg), types.Float):
                continue
            item = f"given[{k}]" if isinstance(given, types.BaseTuple) else "given"
            size = f"{x}.size" if isinstance(arg, types.Array) else "1"
            message = f"the vjp of {self.name} gave a cotangent of another shape for {self.parameters[k]}"
            if isinstance(part, types.NoneType):
                lines += [f"for k in range({size}):", "    found[start + k] = 0.0", f"start += {size}"]
            elif isinstance(part, types.Array) and isinstance(arg, types.Array) and part.ndim == arg.ndim:
                lines.append(f"if {item}.shape != {x}.shape:\n        raise RuntimeShapeError({message!r})")
                lines.append(f"part{k} = {item}")
                lines += _for_each_element(f"part{k}", part.ndim, f"found[start] = part{k}[{{}}]", "start += 1")
            elif isinstance(part, types.Number) and not isinstance(arg, types.Array):
                lines += [f"found[start] = {item}", "start += 1"]
            else:
                return None  # run in Python, which says what is wrong with the shapes
        return lines
