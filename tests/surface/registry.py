"""A call of a NumPy or SciPy function in one of its spellings, as text with its arguments.

    CALLS = [
        call("np.var(x, axis=0, ddof=1)", x=real(3, 4), compiled=True),
        call("x.var(keepdims=True) * y", x=real(3, 4), y=real(4)),
    ]

Arguments are described as in the corpus.  `compiled`: also as a part of the one compiled program of its family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HEADER = """\
import cmath
import math

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

"""


@dataclass(frozen=True, eq=False)
class Call:
    """`text` is an expression, or statements that assign `y`; `loose` is how badly it is conditioned."""

    text: str
    arguments: dict[str, Any]
    compiled: bool = False
    loose: float = 1.0

    def definition(self, name: str) -> str:
        lines = self.text.split("\n")
        body = [f"return {self.text}"] if len(lines) == 1 else [*lines, "return y"]
        return f"def {name}({', '.join(self.arguments)}):\n" + "".join(f"    {line}\n" for line in body)


def call(text: str, *, compiled: bool = False, loose: float = 1.0, **arguments: Any) -> Call:
    return Call(text, arguments, compiled, loose)


def module_of(calls: list[Call]) -> str:
    """The text of a module with `call_0`, `call_1`, …, and `compiled`, which makes the compiled ones."""
    definitions = [one.definition(f"call_{k}") for k, one in enumerate(calls)]
    chosen = [(k, one) for k, one in enumerate(calls) if one.compiled]
    parameters = ", ".join(f"{name}_{k}" for k, one in chosen for name in one.arguments)
    results = [f"call_{k}({', '.join(f'{name}_{k}' for name in one.arguments)})" for k, one in chosen]
    listed = "".join(f"        {result},\n" for result in results)
    everything = f"def compiled({parameters}):\n    return (\n{listed}    )\n"
    return "\n\n".join([HEADER, *definitions, everything])
