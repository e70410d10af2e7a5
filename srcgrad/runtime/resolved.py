"""What a call comes to is found once for each function and types of arguments, while one entry is compiled.

Numba asks each of a function's templates anew for every call, and adapts NumPy's ufuncs to every one of them: in the
text of an adjoint, where a few operators on a few types are nearly all there is, most of that is asked again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types


@contextmanager
def calls_resolved_once(context: Any) -> Iterator[None]:
    """To be entered under the compiler's lock: Numba has one typing context for all that it compiles for a target."""
    resolve = context.resolve_function_type
    known: dict[Any, Any] = {}

    def resolve_once(function: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or (isinstance(function, types.Type) and not isinstance(function, types.Function)):
            return resolve(function, arguments, keywords)
        key = function, tuple(arguments)
        try:
            found = known.get(key)
        except TypeError:  # the type of a slice that is a constant has no hash
            return resolve(function, arguments, keywords)
        if found is None:
            found = resolve(function, arguments, keywords)
            if not _is_inlined(context, function, found):
                known[key] = found
        return found

    context.resolve_function_type = resolve_once
    try:
        yield
    finally:
        if "resolve_function_type" in vars(context):
            del context.resolve_function_type


def _is_inlined(context: Any, function: Any, signature: Any) -> bool:
    """Is its text put in the place of each call?  Numba makes that anew every time it is asked."""
    kind = function if isinstance(function, types.Function) else context._lookup_global(function)
    return any(signature.args in getattr(each, "_inline_overloads", ()) for each in getattr(kind, "templates", ()))


__all__ = ["calls_resolved_once"]
