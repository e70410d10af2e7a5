"""Calls of Python in the middle of compiled code: texts are put together there, and arrays noted for an error's text.

print_text('np.float64 int|s {:.3f} of {}', (s, n))      s 1.800 of 4
note_arrays('', (x,))                                    what the fields of the next error's text show

(The bar is `APART`.)  Compiled, the call is an intrinsic that makes Python objects of the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.core.extending import intrinsic

from srcgrad.runtime.errors import APART, as_values, filled, noted
from srcgrad.runtime.stand_ins import STAND_INS


def print_text(message: str, values: tuple[Any, ...]) -> None:
    """Print the text with these values in its fields, and nothing behind it."""
    kinds, _, text = message.partition(APART)
    arrays = [_on_host(value) for value in values if not np.isscalar(value)]
    print(filled(text, as_values(kinds, filter(np.isscalar, values), arrays)), end="")


def note_arrays(message: str, values: tuple[Any, ...]) -> None:
    """Have these arrays for the error that is raised next in this thread."""
    noted.arrays = list(map(_on_host, values))


def _on_host(value: Any) -> Any:
    if not hasattr(value, "copy_to_host"):
        return value
    from srcgrad.runtime.device import to_host

    return to_host(value)


def _calling(name: str) -> Any:
    def call(typing_context, message, values):  # no types: Numba compares signatures
        if not isinstance(message, types.StringLiteral):
            raise TypingError(f"{name} takes a text that is known")

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            api = context.get_python_api(builder)
            held = api.gil_ensure()
            text = _text(context, builder, api, message.literal_value)
            parts = [
                _boxed(context, builder, api, kind, builder.extract_value(args[1], position))
                for position, kind in enumerate(values)
            ]
            given = api.tuple_pack(parts)
            function = _member(context, builder, api, __name__, name)
            result = api.call_function_objargs(function, (text, given))
            for thing in (text, given, function, *parts, result):
                api.decref(thing)
            api.gil_release(held)
            with builder.if_then(builder.icmp_unsigned("==", result, api.get_null_object()), likely=False):
                context.call_conv.return_exc(builder)
            return context.get_dummy_value()

        return types.none(message, values), generate

    return intrinsic(prefer_literal=True)(call)


def _text(context: Any, builder: Any, api: Any, text: str) -> Any:
    return api.string_from_string(context.insert_const_string(builder.module, text))


def _member(context: Any, builder: Any, api: Any, module: str, name: str) -> Any:
    """An attribute of a module."""
    owner = api.import_module(context.insert_const_string(builder.module, module))
    found = api.object_getattr_string(owner, name)
    api.decref(owner)
    return found


def _boxed(context: Any, builder: Any, api: Any, kind: types.Type, value: Any) -> Any:
    if not isinstance(kind, types.Array):
        return api.from_native_value(kind, value)
    maker, name = _member(context, builder, api, "numpy", "dtype"), _text(context, builder, api, str(kind.dtype))
    dtype = api.call_function_objargs(maker, (name,))
    array = api.nrt_adapt_ndarray_to_python(kind, value, dtype)
    for thing in (maker, name, dtype):
        api.decref(thing)
    return array


STAND_INS |= {print_text: _calling("print_text"), note_arrays: _calling("note_arrays")}

__all__ = ["note_arrays", "print_text"]
