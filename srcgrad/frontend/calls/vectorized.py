"""What np.vectorize and numba.vectorize ask of the results of their function.

np.vectorize(f)(x)      →      the type of f(x[0]), then f of each number as Python has it, cast to that type
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import place
from ...ir.expressions import BOOL, INT64, Call, Const, either
from ...ir.nodes import If, Raise
from ...rules.compositions import registry
from ..arithmetic import cast
from ..array_values import ArrayValue
from ..control.attempts import restore, save
from ..joined_numbers import refuse_joined, types_of
from ..objects.changes import Changes
from ..values import Scalar, Static, TupleValue
from .builtins_of_python import BUILTINS

if TYPE_CHECKING:
    from ..interpret import Interpreter


def of_one_type(interpreter: Interpreter, value: Any) -> Any:
    """NumPy asks the first result for the type of all, so the type may not go by the path taken."""
    for part in value.items if isinstance(value, TupleValue) else (value,):
        types = types_of(interpreter.build, part) if isinstance(part, (Scalar, ArrayValue)) else frozenset()
        if len({kind.dtype for kind in types}) > 1:
            because = "np.vectorize makes all results of the type of the first, which may be {}"
            refuse_joined(interpreter.build, types, because, is_array=isinstance(part, ArrayValue))
    return value


def types_of_results(interpreter: Interpreter, function: Any, given: TupleValue, named: TupleValue) -> Any:
    """The dtypes of what a function makes of these; nothing of that is done."""
    saved, before = save(interpreter), Changes(interpreter)
    kwargs = dict(zip(named.kind.keys, named.items, strict=True))
    made = of_one_type(interpreter, interpreter.call(function, list(given.items), kwargs))
    if before.since():
        interpreter.build.refuse(
            "np.vectorize calls its function twice for the first element, to learn the type, and this one changes what "
            "it finds",
            "write the loop:  out = np.array([f(v) for v in x])",
        )
    restore(interpreter, saved)
    parts = made.items if isinstance(made, TupleValue) and made.kind is tuple else (made,)
    return Static(tuple(getattr(part, "dtype", None) for part in parts))


def of_types(interpreter: Interpreter, value: Any, types: Static) -> Any:
    """A result of these types: NumPy raises where an integer does not fit."""
    if not isinstance(value, TupleValue) or value.kind is not tuple:
        return _of_type(interpreter, value, types.value[0])
    parts = zip(value.items, types.value, strict=True)
    return TupleValue(tuple(_of_type(interpreter, part, dtype) for part, dtype in parts))


def _of_type(interpreter: Interpreter, value: Any, dtype: np.dtype | None) -> Any:
    if isinstance(value, ArrayValue) and not value.ndim:
        value = Scalar(value.element)
    if not isinstance(value, Scalar) or dtype is None:
        return value
    number = value.expr
    if dtype.kind in "iu" and value.dtype == INT64 and dtype.itemsize < 8:
        number, limits = interpreter.build.capture(number), np.iinfo(dtype)
        beyond = [Call(op, (number, Const(int(n), INT64)), BOOL) for op, n in (("lt", limits.min), ("gt", limits.max))]
        message = f"Python integer out of bounds for {dtype}" + place(interpreter.build.span)
        interpreter.build.emit(If(either(*beyond), (Raise("RuntimeOverflowError", message),)))
    return Scalar(cast(number, dtype))


BUILTINS.update(
    {registry.of_one_type: of_one_type, registry.types_of_results: types_of_results, registry.of_types: of_types}
)
