"""Routines for one matrix, made into routines for stacks of matrices.

@on_stacks("MM")                    inv(out, a) with arrays of any number of axes runs
def inv(out, a): ...                inv(out[k], a[k]) for every k
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from srcgrad.runtime.linked import linked, overload

AXES = {"M": 2, "V": 1, "S": 0}  # matrices, vectors, numbers; what is the same for all is "_"


def _stack(core: int) -> Any:
    def stack(x: Any) -> Any:
        """The items of `x` along one axis: a view."""
        return (
            x[np.newaxis]
            if x.ndim == core
            else x.reshape((int(np.prod(x.shape[: x.ndim - core])), *x.shape[x.ndim - core :]))
        )

    return stack


def _compiled(core: int) -> Any:
    def stack(x):  # no types: Numba compares signatures
        ahead = x.ndim - core
        lengths = [" * ".join(f"x.shape[{k}]" for k in range(ahead)), *(f"x.shape[{ahead + k}]" for k in range(core))]
        lengths[0] = lengths[0] or "1"
        strided = x.layout != "C" and not ahead
        text = "np.expand_dims(x, 0)" if strided else f"x.reshape(({', '.join(lengths)},))"
        namespace: dict[str, Any] = {"np": np}
        exec(f"def stack(x):\n    return {text}\n", namespace)
        return namespace["stack"]

    return stack


STACKS = {kind: _stack(core) for kind, core in AXES.items()}
for _kind, _core in AXES.items():
    overload(STACKS[_kind])(_compiled(_core))


def item(x: Any, k: Any) -> Any:
    """What a stack has for matrix k; of a stack of numbers, an array of one."""
    return x[k : k + 1] if x.ndim == 1 else x[k]


@overload(item)
def _item(x, k):
    return lambda x, k: _lent(x, k)


@intrinsic
def _lent(typing_context, x, k):
    """The item, whose references are not counted (two atomic instructions each): the caller holds the stack."""
    kind = types.Array(x.dtype, max(1, x.ndim - 1), "C" if x.layout == "C" else "A")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        stack, one = make_array(x)(context, builder, args[0]), make_array(kind)(context, builder)
        lengths, steps = (cgutils.unpack_tuple(builder, part, x.ndim) for part in (stack.shape, stack.strides))
        data = cgutils.pointer_add(builder, stack.data, builder.mul(args[1], steps[0]), stack.data.type)
        if x.ndim == 1:
            lengths, steps = [None, context.get_constant(types.intp, 1)], [None, stack.itemsize]
        populate_array(one, data, lengths[1:], steps[1:], stack.itemsize, meminfo=None)
        return one._getvalue()

    return kind(x, types.intp), generate


def on_stacks(kinds: str) -> Callable[[Any], Any]:
    """One letter for each argument: what it has for each matrix.  Numbers are arrays of one element."""

    def decorate(one: Any) -> Any:
        names = tuple(inspect.signature(one).parameters)
        lines = [f"def {one.__name__}({', '.join(names)}):"]
        for name, kind in zip(names, kinds, strict=True):
            if kind in AXES:
                lines.append(f"    {name} = stack_{kind}({name})")
        given = ", ".join(f"item({name}, k)" if kind in AXES else name for name, kind in zip(names, kinds, strict=True))
        lines += [f"    for k in range({names[0]}.shape[0]):", f"        one({given})"]
        namespace: dict[str, Any] = {f"stack_{kind}": stack for kind, stack in STACKS.items()}
        namespace |= {"item": item, "one": linked(one)}
        text, file = "\n".join(lines), f"<{one.__name__} of stacks>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file  # for those who read it
        exec(compile(text, file, "exec"), namespace)
        made = namespace[one.__name__]
        made.__doc__ = one.__doc__
        made.one, made.kinds = one, kinds

        @wraps(one)  # Numba compares signatures
        def compiled(*types: Any) -> Any:
            return one if is_one(kinds, [getattr(kind, "ndim", 0) for kind in types]) else made

        overload(made, strict=False)(compiled)
        return made

    return decorate


def is_one(kinds: str, axes: Sequence[int]) -> bool:
    """Whether arrays of so many axes are one matrix, vectors and numbers of it; or else a stack of them."""
    return all(count == max(1, AXES[kind]) for kind, count in zip(kinds, axes, strict=True) if kind in AXES)
