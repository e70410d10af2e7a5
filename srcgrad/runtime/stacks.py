"""Routines for one matrix, made into routines for stacks of matrices.

@on_stacks("MM")                    inv(out, a) with arrays of any number of axes runs
def inv(out, a): ...                inv(out[k], a[k]) for every k
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

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


def on_stacks(kinds: str) -> Callable[[Any], Any]:
    """One letter for each argument: what it has for each matrix.  Numbers are arrays of one element."""

    def decorate(one: Any) -> Any:
        names = [f"x{k}" for k in range(len(kinds))]
        lines = [f"def {one.__name__}({', '.join(names)}):"]
        for name, kind in zip(names, kinds, strict=True):
            if kind in AXES:
                lines.append(f"    {name} = stack_{kind}({name})")
        items = {"M": "{}[k]", "V": "{}[k]", "S": "{}[k : k + 1]"}
        given = ", ".join(items.get(kind, "{}").format(name) for name, kind in zip(names, kinds, strict=True))
        lines += [f"    for k in range({names[0]}.shape[0]):", f"        one({given})"]
        namespace: dict[str, Any] = {f"stack_{kind}": stack for kind, stack in STACKS.items()}
        namespace["one"] = linked(one)
        text, file = "\n".join(lines), f"<{one.__name__} of stacks>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file  # for those who read it
        exec(compile(text, file, "exec"), namespace)
        made = namespace[one.__name__]
        made.__doc__ = one.__doc__
        made.one, made.kinds = one, kinds
        return linked(made)

    return decorate
