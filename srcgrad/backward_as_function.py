"""`grad(f.backward)`: the bound method as a plain function, which is differentiated as the user's own are.

f.backward      →      def f_backward(x, *, v=None): return of.backward(x, v=v)

v goes by name there, so that in `grad(f.backward).backward(x, u)` the u is the cotangent of what `f.backward(x)` gives.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from types import FunctionType, MethodType
from typing import Any

from srcgrad.backends import files
from srcgrad.backends.direct import Direct
from srcgrad.errors import UnsupportedError
from srcgrad.frontend.calls.adjoints import KINDS
from srcgrad.frontend.syntax.source import has_derivative

FORMS = {Parameter.VAR_POSITIONAL: "*{0}", Parameter.KEYWORD_ONLY: "{0}={0}", Parameter.VAR_KEYWORD: "**{0}"}


def entry_of_gradient(function: Any) -> MethodType | None:
    """The method of what `grad` made that this is, by whatever way it is called by now."""
    method = function.__wrapped__ if isinstance(function, Direct) else function
    return method if isinstance(method, MethodType) and has_derivative(method.__self__) else None


def as_function(entry: MethodType) -> FunctionType:
    of: Any = entry.__self__
    kind = entry.__name__
    if kind not in KINDS:
        raise UnsupportedError(
            f"{of.__name__}.{kind} can't be differentiated", help=(f"grad({of.__name__}.backward), or .{KINDS[1]}",)
        )
    signature = of._adjoints.signature
    own = of._adjoints.parameters
    parameters = [p if p.name in own else p.replace(kind=p.KEYWORD_ONLY) for p in signature.parameters.values()]
    name = f"{of.__name__}_{kind}" if of.__name__.isidentifier() else kind
    cell = "of"
    while cell in signature.parameters:
        cell += "_"
    plain = Signature([p.replace(default=None) if p.default is not p.empty else p for p in parameters])
    given = ", ".join(FORMS.get(p.kind, "{0}").format(p.name) for p in parameters)
    text = f"def made({cell}):\n    def {name}{plain}: return {cell}.{kind}({given})\n    return {name}\n"
    made: FunctionType = files.load(name, files.digest(text), text, {}).made(of)
    left_out = [p for p in parameters if p.default is not p.empty]
    made.__defaults__ = tuple(p.default for p in left_out if p.kind is not p.KEYWORD_ONLY)
    made.__kwdefaults__ = {p.name: p.default for p in left_out if p.kind is p.KEYWORD_ONLY}
    made.__qualname__, made.__module__ = f"{of.__qualname__}.{kind}", of.__module__
    return made
