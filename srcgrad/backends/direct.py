"""Calls that get to machine code without a line of Python: what `f.backward` is once it was called.

f.backward(x, v)  →  Direct: Numba's dispatcher, in C, knows the types  →  guard  →  the entry's wrapper, by Numba

The guard is compiled with each entry.  It hands a call over to Python (`otherwise`) where that has more to say: other
Python types with the same machine types (np.float64 where a float was), keywords, lengths that are not as expected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, NamedTuple

from numba import _dispatcher, _dynfunc
from numba.core import types
from numba.core.compiler import CompileResult
from numba.core.errors import NumbaError
from numba.core.lowering import Environment
from numba.core.typeconv.rules import default_type_manager
from numba.core.typing.typeof import Purpose, typeof
from numba.np.numpy_support import as_dtype

from srcgrad.backends.entries import Held, guard_name

MOST = 24  # arguments: Numba's C code has room for so many types on its stack, and reads `count` of them in any case


class Outside(NamedTuple):
    """What a call reads from outside, as compiled code can look at it.

    Holders are dicts, cells with name None, functions with name None (of their code), and other objects with the name
    of an attribute.
    """

    same: tuple[Any, ...] = ()  # holder, name, the object that it must be (the holder itself: none); and so on
    handed_in: tuple[Any, ...] = ()  # holder, name; and so on
    kinds: tuple[type, ...] = ()  # the Python types of what is handed in


NOTHING = Outside()


def stub(count: int) -> Any:
    """A function of so many arguments: what Numba takes for the Python function behind compiled code."""
    return eval(f"lambda {', '.join(f'a{i}' for i in range(count))}: None")


class Direct(_dispatcher.Dispatcher):
    """A callable for `count` arguments; calls that it does not know, and all others, go to `otherwise`.

    What it knows comes from `sources`: dispatchers in the same place, by the Python types of the arguments.
    """

    def __init__(self, count: int, otherwise: Callable[..., Any], unexpected: tuple[type[Exception], ...]) -> None:
        self.count = count
        self.sources: dict[tuple[type, ...], Any] = {}
        self._otherwise = otherwise
        self._unexpected = unexpected
        self._known: dict[tuple[types.Type, ...], tuple[tuple[type, ...], Any]] = {}
        update_wrapper(self, otherwise)
        self._alive: list[Any] = []  # Numba holds no reference to a function, and one may be running
        self.__code__ = stub(count).__code__  # what a profiler takes for the code of a compiled function
        hands_over = True  # what has no type, such as an empty list, goes to `otherwise` too
        super().__init__(default_type_manager.get_pointer(), count, False, (), (), hands_over, False, True)

    def add(self, kinds: tuple[type, ...], source: Any, result: CompileResult, outside: Outside) -> None:
        """What `source` has compiled for arguments of these Python types, if it still stands for them."""
        arguments, captured = result.signature.args[: self.count], result.signature.args[self.count :]
        if self.sources.get(kinds) is not source or arguments in self._known:
            return
        dtypes = tuple(as_dtype(kind.dtype) if isinstance(kind, types.Array) else None for kind in captured)
        held = Held(
            self._otherwise, self._unexpected, (*kinds, *outside.kinds), outside.same, outside.handed_in, dtypes
        )
        environment = Environment({})
        environment.consts.append(held)
        name = result.fndesc.qualname
        pointer = result.library.get_pointer_to_function(guard_name(result.fndesc))
        module = result.fndesc.lookup_module()
        function = _dynfunc.make_function(module, name, name, pointer, environment, (result.library,))
        self._alive.append(function)
        self._known[arguments] = kinds, function
        self._insert([argument._code for argument in arguments], function)

    def forget(self, kinds: tuple[type, ...]) -> None:
        """Calls with arguments of these Python types go to `otherwise` again."""
        self.sources.pop(kinds, None)
        self._clear()
        self._known = {arguments: known for arguments, known in self._known.items() if known[0] != kinds}
        for arguments, (_, function) in self._known.items():
            self._insert([argument._code for argument in arguments], function)

    def __reduce__(self) -> Any:
        return self._otherwise.__reduce__()  # as the method whose place it has

    def typeof_pyval(self, value: Any) -> types.Type:
        try:
            return typeof(value, Purpose.argument) or types.pyobject
        except (ValueError, NumbaError):
            return types.pyobject

    def _compile_for_args(self, *values: Any, **keywords: Any) -> Callable[..., Any]:
        """What to call instead (Numba's C code asks, where it knows no overload)."""
        return self._otherwise

    def _call_tls_target(self, *values: Any, **keywords: Any) -> Any:
        """Called in the place of machine code while Numba compiles for something that is no CPU."""
        return self._otherwise(*values, **keywords)
