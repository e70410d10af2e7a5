"""The machine code around an entry, between Python's objects and its arguments.

    Direct → guard → wrapper → entry

The *wrapper* is Numba's: it unboxes, calls and boxes.  The *guard* ahead of it looks at the Python types, at what is
read from outside, and whether arrays lie apart; where Python has more to say, it hands the call over.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from llvmlite import ir
from llvmlite.binding import parse_assembly
from numba import _dynfunc
from numba.core import cgutils, types
from numba.core.callwrapper import PyCallWrapper
from numba.core.compiler_machinery import register_pass
from numba.core.cpu import ClosureBody
from numba.core.pythonapi import NativeValue, PythonAPI
from numba.np.numpy_support import as_dtype

from srcgrad.arguments import refusal
from srcgrad.backends.lowering import FactLower, LowerWithFacts
from srcgrad.errors import ArgumentError

TYPE_AT = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)  # an object's head ends with its type
BYTE_ORDER_AT = object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p) + 2  # in a dtype: a type, two letters, this one
FOREIGN = ord(">" if sys.byteorder == "little" else "<")


class Held(NamedTuple):
    """The objects that a guard looks at."""

    otherwise: Callable[..., Any]
    unexpected: tuple[type[Exception], ...]
    kinds: tuple[type, ...]
    same: tuple[Any, ...]
    handed_in: tuple[Any, ...]
    dtypes: tuple[Any, ...]


def guard_name(fndesc: Any) -> str:
    return f"guarded.{fndesc.llvm_cpython_wrapper_name}"


class EntryLower(FactLower):
    """Lowering of an entry: the function, its wrapper, and its guard."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        context, fndesc = self.context, self.fndesc
        module = context.create_module("wrapper_and_guard")
        kind = context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes)
        entry = ir.Function(module, kind, fndesc.llvm_func_name)
        wrapper = _Wrapper(context, module, entry, fndesc, self.env, self.call_helper, release_gil)
        wrapper.longest_brief = self._facts.brief
        wrapped, _ = wrapper.build()
        guard = ir.Function(module, wrapped.function_type, guard_name(fndesc))
        _Guard(context, guard, fndesc.argtypes, self._facts).build(wrapped)
        _link(self.library, module)


def _link(library: Any, module: ir.Module) -> None:
    """Add it to the library, to be optimised there with all the rest.

    Numba optimises each function ahead of that, too: of what is short, a tenth of the time to compile.
    """
    parsed = parse_assembly(cgutils.normalize_ir_text(str(module)))
    parsed.name, parsed.data_layout = module.name, library.codegen._data_layout
    parsed.verify()
    library._final_module.link_in(parsed)


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerEntry(LowerWithFacts):
    _name = "srcgrad_lowering_of_an_entry"

    @property
    def lowering_class(self) -> type:
        return EntryLower


# ------------------------------------------------------------------------------------------------------ the wrapper


class _Wrapper(PyCallWrapper):
    longest_brief = 0

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        own = _WrapperAPI(self.context, builder)
        own.arguments, own.kinds, own.longest_brief = args, self.fndesc.argtypes, self.longest_brief
        own.names = iter(self.fndesc.args)
        super().build_wrapper(own, builder, closure, args, kws)

    def get_env(self, api: Any, builder: Any) -> Any:
        api.environment = super().get_env(api, builder)
        return api.environment


class _WrapperAPI(PythonAPI):
    """Arrays in another byte order are refused; other Python threads may run meanwhile, unless the call is brief."""

    arguments: Any
    kinds: tuple[types.Type, ...]
    names: Iterator[str]
    longest_brief: int
    environment: Any

    def to_native_value(self, kind: types.Type, obj: Any) -> NativeValue:
        """Numba's dispatcher takes an array in another byte order for one that it has code for."""
        builder, native, name = self.builder, super().to_native_value(kind, obj), next(self.names)
        if not isinstance(kind, types.Array):
            return native
        is_error = cgutils.alloca_once_value(builder, native.is_error)
        with builder.if_then(builder.not_(native.is_error)):
            dtype, byte = array_field(builder, obj, "dtype"), ir.IntType(8)
            order = builder.load(cgutils.pointer_add(builder, dtype, BYTE_ORDER_AT, byte.as_pointer()))
            with builder.if_then(builder.icmp_signed("==", order, ir.Constant(byte, FOREIGN)), likely=False):
                self.context.nrt.decref(builder, kind, native.value)
                const = lambda value: self.environment.read_const(self.environment.add_const(value))
                error = self.call_function_objargs(const(refusal), [obj, const(name)])
                with builder.if_then(cgutils.is_not_null(builder, error)):
                    self.err_set_object(const(ArgumentError), error)
                    self.decref(error)
                builder.store(cgutils.true_bit, is_error)
        return NativeValue(native.value, is_error=builder.load(is_error), cleanup=native.cleanup)

    def save_thread(self) -> Any:
        builder, word = self.builder, self.context.get_value_type(types.intp)
        state = cgutils.alloca_once_value(builder, ir.Constant(self.voidptr, None))
        is_long = cgutils.true_bit if self.longest_brief == 0 else cgutils.false_bit
        for i, kind in enumerate(self.kinds) if self.longest_brief else ():
            if isinstance(kind, types.Array) and kind.ndim:
                lengths = builder.bitcast(
                    array_field(builder, self.tuple_getitem(self.arguments, i), "lengths"), word.as_pointer()
                )
                for axis in range(kind.ndim):
                    length = builder.load(builder.gep(lengths, [ir.Constant(word, axis)]))
                    is_long = builder.or_(
                        is_long, builder.icmp_signed(">", length, ir.Constant(word, self.longest_brief))
                    )
        with builder.if_then(is_long):
            builder.store(super().save_thread(), state)
        return state

    def restore_thread(self, thread_state: Any) -> None:
        state = self.builder.load(thread_state)
        with self.builder.if_then(cgutils.is_not_null(self.builder, state)):
            super().restore_thread(state)


class _ArrayObject(ctypes.Structure):
    """The head of NumPy's array object, as its C interface lays it down."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int),
        ("lengths", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    )


def array_field(builder: Any, array: Any, name: str) -> Any:
    field = getattr(_ArrayObject, name)
    kind = ir.IntType(32) if field.size == 4 else array.type
    return builder.load(cgutils.pointer_add(builder, array, field.offset, kind.as_pointer()))


# -------------------------------------------------------------------------------------------------------- the guard


class _Guard:
    """PyObject *guard(closure, args, keywords): as the wrapper, or otherwise."""

    def __init__(self, context: Any, guard: ir.Function, kinds: tuple[types.Type, ...], facts: Any) -> None:
        self.context, self.guard, self.kinds, self.facts = context, guard, kinds, facts
        self.builder = builder = ir.IRBuilder(guard.append_basic_block("entry"))
        self.api = context.get_python_api(builder)
        self.otherwise = guard.append_basic_block("otherwise")
        self.every = cgutils.alloca_once_value(builder, ir.Constant(guard.args[0].type, None))
        body = cgutils.pointer_add(builder, guard.args[0], _dynfunc._impl_info["offsetof_closure_body"])
        environment = ClosureBody(context, builder, ref=body, cast_ref=True).env
        held = self.api.list_getitem(context.get_env_body(builder, environment).consts, 0)
        self.held = Held(*(self.item(held, self.number(i)) for i in range(len(Held._fields))))

    def build(self, wrapper: ir.Function) -> None:
        builder, api = self.builder, self.api
        closure, args, keywords = self.guard.args
        own = len(self.kinds) - self.facts.handed_in
        self.go_on_if(cgutils.is_null(builder, keywords))
        self.go_on_if(builder.icmp_signed("==", self.size(args), self.number(own)))
        values = [self.item(args, self.number(i)) for i in range(own)]
        for i, value in enumerate(values):
            self.check_kind(i, value)
        self.check_assumptions()
        if self.facts.handed_in:
            every = api.tuple_new(len(self.kinds))
            builder.store(every, self.every)
            for i, value in enumerate(values):
                api.incref(value)
                self.put(every, i, value)
        for i in range(own, len(self.kinds)):
            values.append(self.look_up(self.held.handed_in, self.number(2 * (i - own))))
            self.put(every, i, values[-1])
            self.check_captured(i, values[-1])
        for i in self.facts.written:
            if self.kinds[i].layout == "A":  # its own elements may share memory
                self.go_on_if(cgutils.false_bit)
            for j in range(len(values)):
                if j != i and not (j in self.facts.written and j < i) and isinstance(self.kinds[j], types.Array):
                    self.check_apart(i, j, values)
        result = builder.call(wrapper, [closure, every if self.facts.handed_in else args, keywords])
        with builder.if_then(cgutils.is_not_null(builder, result), likely=True):
            self.let_go()
            builder.ret(result)
        if self.facts.once:
            self.let_go()
            builder.ret(result)
        else:
            matches = self.function("PyErr_ExceptionMatches", ir.IntType(32), 1)
            is_unexpected = builder.call(matches, [self.held.unexpected])
            with builder.if_then(cgutils.is_null(builder, is_unexpected)):
                self.let_go()
                builder.ret(result)
            api.err_clear()
            builder.branch(self.otherwise)
        builder.position_at_end(self.otherwise)
        self.let_go()
        builder.ret(api.call(self.held.otherwise, args, keywords))

    def check_kind(self, i: int, value: Any) -> None:
        """The Python type of an argument, which says more than what it is in memory."""
        expected = self.item(self.held.kinds, self.number(i))
        self.go_on_if(self.builder.icmp_unsigned("==", self.kind_of(value), expected))

    def check_assumptions(self) -> None:
        """What the text was specialised to must be the very same objects, or a method the same one of the same object.

        (Python makes a method anew at each look.)
        """
        builder = self.builder
        size = self.size(self.held.same)
        with cgutils.for_range_slice(builder, self.number(0), size, self.number(3)) as (i, _):
            holder, name, expected = (self.item(self.held.same, builder.add(i, self.number(k))) for k in range(3))
            with builder.if_else(builder.icmp_unsigned("==", holder, expected)) as (is_nothing, is_object):
                with is_nothing:
                    self.go_on_if(cgutils.is_null(builder, self.api.dict_getitem(holder, name)))
                with is_object, builder.if_else(self.is_function(holder, name)) as (of_function, otherwise):
                    with of_function:  # what most calls have to look at, and nothing else: without its name
                        code = builder.call(self.function("PyFunction_GetCode", holder.type, 1), [holder])
                        self.go_on_if(builder.icmp_unsigned("==", code, expected))
                    with otherwise:
                        self.check_same(i, expected)

    def is_function(self, holder: Any, name: Any) -> Any:
        """Is it the code of a function that is asked for?  (A cell has no name either.)"""
        builder = self.builder
        is_one = builder.icmp_unsigned("==", self.kind_of(holder), self.api.get_c_object("PyFunction_Type"))
        return builder.and_(is_one, builder.icmp_unsigned("==", name, self.api.borrow_none()))

    def check_same(self, i: Any, expected: Any) -> None:
        builder = self.builder
        found = self.look_up(self.held.same, i)
        is_same = cgutils.alloca_once_value(builder, builder.icmp_unsigned("==", found, expected))
        method = self.api.get_c_object("PyMethod_Type")
        of_both = [builder.icmp_unsigned("==", self.kind_of(one), method) for one in (found, expected)]
        with builder.if_then(builder.and_(*of_both)):
            parts = [self.function(f"PyMethod_{part}", found.type, 1) for part in ("Function", "Self")]
            pairs = [[builder.call(part, [one]) for one in (found, expected)] for part in parts]
            builder.store(builder.and_(*(builder.icmp_unsigned("==", *pair) for pair in pairs)), is_same)
        self.api.decref(found)
        self.go_on_if(builder.load(is_same))

    def look_up(self, places: Any, i: Any) -> Any:
        """What stands under a name in a dict, or without a name in a cell, or what an object has for an attribute."""
        builder = self.builder
        holder, name = self.item(places, i), self.item(places, builder.add(i, self.number(1)))
        slot = cgutils.alloca_once(builder, holder.type)
        with builder.if_else(builder.icmp_unsigned("==", name, self.api.borrow_none())) as (in_cell, elsewhere):
            with in_cell:
                builder.store(builder.call(self.function("PyCell_Get", holder.type, 1), [holder]), slot)
            with elsewhere:
                is_dict = builder.icmp_unsigned("==", self.kind_of(holder), self.api.get_c_object("PyDict_Type"))
                with builder.if_else(is_dict) as (in_dict, in_object):
                    with in_dict:
                        found = self.api.dict_getitem(holder, name)
                        with builder.if_then(cgutils.is_not_null(builder, found)):
                            self.api.incref(found)
                        builder.store(found, slot)
                    with in_object:
                        found = self.api.object_getattr(holder, name)
                        with builder.if_then(cgutils.is_null(builder, found)):
                            matches = self.function("PyErr_ExceptionMatches", ir.IntType(32), 1)
                            is_error = builder.call(matches, [self.api.get_c_object("PyExc_Exception")])
                            with builder.if_then(cgutils.is_null(builder, is_error)):  # Ctrl-C, say
                                self.let_go()
                                builder.ret(found)
                            self.api.err_clear()  # Python will raise it again
                        builder.store(found, slot)
        value = builder.load(slot)
        self.go_on_if(cgutils.is_not_null(builder, value))
        return value

    def check_captured(self, i: int, value: Any) -> None:
        """What Numba's dispatcher would look at, had it been passed."""
        self.check_kind(i, value)
        kind, builder = self.kinds[i], self.builder
        if isinstance(kind, types.Array):
            self.go_on_if(
                builder.icmp_signed("==", array_field(builder, value, "ndim"), ir.Constant(ir.IntType(32), kind.ndim))
            )
            dtype = self.item(self.held.dtypes, self.number(i - len(self.kinds) + self.facts.handed_in))
            self.go_on_if(builder.icmp_unsigned("==", array_field(builder, value, "dtype"), dtype))
            flags = ir.Constant(ir.IntType(32), _flags(kind))
            self.go_on_if(builder.icmp_signed("==", builder.and_(array_field(builder, value, "flags"), flags), flags))

    def check_apart(self, i: int, j: int, values: list[Any]) -> None:
        """Two arrays, one of them written: their memory must not overlap."""
        builder = self.builder
        if "A" in (self.kinds[i].layout, self.kinds[j].layout):
            return self.go_on_if(cgutils.false_bit)
        (start, stop), (other_start, other_stop) = (self.extent(k, values[k]) for k in (i, j))
        before = builder.icmp_unsigned("<=", stop, other_start)
        return self.go_on_if(builder.or_(before, builder.icmp_unsigned("<=", other_stop, start)))

    def extent(self, i: int, value: Any) -> tuple[Any, Any]:
        """The addresses at which a contiguous array begins and ends."""
        builder, word = self.builder, self.context.get_value_type(types.intp)
        kind: Any = self.kinds[i]
        size = self.number(as_dtype(kind.dtype).itemsize)
        lengths = builder.bitcast(array_field(builder, value, "lengths"), word.as_pointer())
        for axis in range(kind.ndim):
            size = builder.mul(size, builder.load(builder.gep(lengths, [self.number(axis)])))
        start = builder.ptrtoint(array_field(builder, value, "data"), word)
        return start, builder.add(start, size)

    # ----------------------------------------------------------------------------------------------------------

    def let_go(self) -> None:
        """Of the tuple of all arguments, if there is one."""
        every = self.builder.load(self.every)
        with self.builder.if_then(cgutils.is_not_null(self.builder, every)):
            self.api.decref(every)

    def go_on_if(self, condition: Any) -> None:
        then = self.guard.append_basic_block("then")
        self.builder.cbranch(condition, then, self.otherwise)
        self.builder.position_at_end(then)

    def kind_of(self, value: Any) -> Any:
        return self.builder.load(cgutils.pointer_add(self.builder, value, TYPE_AT, value.type.as_pointer()))

    def number(self, value: int) -> Any:
        return self.context.get_constant(types.intp, value)

    def function(self, name: str, result: Any, count: int) -> Any:
        """One of Python's C functions of so many objects."""
        return self.api._get_function(ir.FunctionType(result, [self.guard.args[0].type] * count), name)

    def item(self, group: Any, i: Any) -> Any:
        """Of a tuple that is known to be long enough."""
        items = cgutils.pointer_add(self.builder, group, tuple.__basicsize__, group.type.as_pointer())
        return self.builder.load(self.builder.gep(items, [i]))

    def put(self, group: Any, i: int, value: Any) -> None:
        """Into a new tuple.  (Python's own function refuses where a property has found that tuple meanwhile.)"""
        items = cgutils.pointer_add(self.builder, group, tuple.__basicsize__, group.type.as_pointer())
        self.builder.store(value, self.builder.gep(items, [self.number(i)]))

    def size(self, group: Any) -> Any:
        word = self.context.get_value_type(types.intp).as_pointer()
        return self.builder.load(cgutils.pointer_add(self.builder, group, object.__basicsize__, word))


def _flags(kind: Any) -> int:
    """Of NumPy's flags of an array, those that code for this type relies on."""
    contiguous = {"C": 0x1, "F": 0x2}.get(kind.layout, 0)
    return contiguous | (0x100 if kind.aligned else 0) | (0x400 if kind.mutable else 0)
