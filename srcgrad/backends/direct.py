"""Calls that get to machine code without a line of Python: what `f.backward` is once it was called.

f.backward(x, v)  →  Direct: Numba's dispatcher, in C, knows the types  →  guard  →  the entry's wrapper, by Numba

The guard is compiled with each entry.  It hands a call over to Python (`otherwise`) where that has more to say: other
Python types with the same machine types (np.float64 where a float was), keywords, lengths that are not as expected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from llvmlite import ir
from numba import _dispatcher, _dynfunc
from numba.core import cgutils, types
from numba.core.compiler import CompileResult
from numba.core.compiler_machinery import register_pass
from numba.core.cpu import ClosureBody
from numba.core.errors import NumbaError
from numba.core.lowering import Environment
from numba.core.typeconv.rules import default_type_manager
from numba.core.typing.typeof import Purpose, typeof

from srcgrad.backends.lowering import FactLower, LowerWithFacts

MOST = 24  # arguments: Numba's C code has room for so many types on its stack, and reads `count` of them in any case


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

    def add(self, source: Any, kinds: tuple[type, ...], result: CompileResult) -> None:
        """What `source` has compiled for arguments of these Python types, if it still stands for them."""
        arguments = tuple(result.signature.args)
        if self.sources.get(kinds) is not source or arguments in self._known:
            return
        environment = Environment({})
        environment.consts.extend((self._otherwise, self._unexpected, *kinds))
        name = result.fndesc.qualname
        pointer = result.library.get_pointer_to_function(_guard_name(result.fndesc))
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


# --------------------------------------------------------------------------------------------------------------


def _guard_name(fndesc: Any) -> str:
    return f"guarded.{fndesc.llvm_cpython_wrapper_name}"


class EntryLower(FactLower):
    """Lowering of an entry: beside the function and its wrapper there is a guard."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        super().create_cpython_wrapper(release_gil=release_gil)
        module = self.context.create_module("guard")
        _build_guard(self.context, module, self.fndesc)
        self.library.add_ir_module(module)


def _build_guard(context: Any, module: Any, fndesc: Any) -> None:
    """PyObject *guard(closure, args, keywords): as the wrapper, or otherwise."""
    pointer = context.get_argument_type(types.pyobject)
    kind = ir.FunctionType(pointer, [pointer] * 3)
    wrapper = ir.Function(module, kind, fndesc.llvm_cpython_wrapper_name)
    guard = ir.Function(module, kind, _guard_name(fndesc))
    closure, args, keywords = guard.args
    builder = ir.IRBuilder(guard.append_basic_block("entry"))
    api = context.get_python_api(builder)
    otherwise = guard.append_basic_block("otherwise")

    body = cgutils.pointer_add(builder, closure, _dynfunc._impl_info["offsetof_closure_body"])
    environment = ClosureBody(context, builder, ref=body, cast_ref=True).env
    held = context.get_env_body(builder, environment).consts

    def go_on_if(condition: Any) -> None:
        then = guard.append_basic_block("then")
        builder.cbranch(condition, then, otherwise)
        builder.position_at_end(then)

    count = len(fndesc.argtypes)
    go_on_if(cgutils.is_null(builder, keywords))
    go_on_if(builder.icmp_signed("==", api.tuple_size(args), context.get_constant(types.intp, count)))
    for i in range(count):
        given = api.get_type(api.tuple_getitem(args, i))
        go_on_if(builder.icmp_unsigned("==", given, api.list_getitem(held, 2 + i)))
    result = builder.call(wrapper, [closure, args, keywords])
    with builder.if_then(cgutils.is_not_null(builder, result), likely=True):
        builder.ret(result)
    matches = api._get_function(ir.FunctionType(ir.IntType(32), [pointer]), "PyErr_ExceptionMatches")
    is_unexpected = builder.call(matches, [api.list_getitem(held, 1)])
    with builder.if_then(cgutils.is_null(builder, is_unexpected)):
        builder.ret(result)
    api.err_clear()
    builder.branch(otherwise)

    builder.position_at_end(otherwise)
    builder.ret(api.call(api.list_getitem(held, 0), args, keywords))


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerEntry(LowerWithFacts):
    _name = "srcgrad_lowering_of_an_entry"

    @property
    def lowering_class(self) -> type:
        return EntryLower
