"""How compiled code draws random numbers: in C where it can, and from Python where it must.

    failed = drawn(out, state, (3.5,))

of a `Generator`    a few numbers by the functions in C that its methods call and NumPy exports: the same bits.  For one
                    from outside its lock is taken at each draw, as NumPy does; the function's own lies on the stack
of a `RandomState`  one number by its method: these functions are not exported
in all other cases  by a call back into Python, `srcgrad_draw`
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

STATE_LENGTH = 7
GLOBAL, OWN, OUTSIDE = range(3)  # kinds of generators: the first number of a state
OWN_WORDS = range(1, 6)  # where a generator of the function's own is at, and half a number that it may hold
ACQUIRE, RELEASE, OLD = 2, 3, 4  # of one from outside: methods of its lock; itself, if it is a RandomState
FUNCTIONS = 6  # where NumPy has what draws from it, or 0
FEW = 256  # numbers: to draw more, other Python threads may run meanwhile
CALL_BACK = "srcgrad_draw"  # names, so that machine code that was stored finds them in the next process
OLD_GLOBAL = "srcgrad_old_global"
DTYPES: dict[types.Type, np.dtype] = {
    types.float64: np.dtype(np.float64),
    types.float32: np.dtype(np.float32),
    types.int64: np.dtype(np.int64),
}


@dataclass(frozen=True)
class Number:
    """A number that a distribution takes; the functions in C don't look."""

    least: float
    most: float
    may_be_least: bool = True
    is_whole: bool = False


POSITIVE = Number(0.0, 2.0**53, may_be_least=False)
WHOLE = Number(-(2.0**53), 2.0**53, is_whole=True)


@dataclass(frozen=True)
class Distribution:
    function: str
    numbers: tuple[Number, ...] = ()
    constants: tuple[float, ...] = ()
    is_whole: bool = False  # what is drawn


DISTRIBUTIONS = {
    "random": Distribution("random_standard_uniform"),
    "standard_normal": Distribution("random_standard_normal"),
    "standard_exponential": Distribution("random_standard_exponential"),
    "standard_cauchy": Distribution("random_standard_cauchy"),
    "standard_laplace": Distribution("random_laplace", constants=(0.0, 1.0)),
    "standard_logistic": Distribution("random_logistic", constants=(0.0, 1.0)),
    "standard_gumbel": Distribution("random_gumbel", constants=(0.0, 1.0)),
    "standard_rayleigh": Distribution("random_rayleigh", constants=(1.0,)),
    "standard_gamma": Distribution("random_standard_gamma", (POSITIVE,)),
    "standard_t": Distribution("random_standard_t", (POSITIVE,)),
    "standard_weibull": Distribution("random_weibull", (POSITIVE,)),
    "chisquare": Distribution("random_chisquare", (POSITIVE,)),
    "beta": Distribution("random_beta", (POSITIVE, POSITIVE)),
    "poisson": Distribution("random_poisson", (POSITIVE,), is_whole=True),
    "geometric": Distribution("random_geometric", (Number(0.0, 1.0, may_be_least=False),), is_whole=True),
    "binomial": Distribution("random_binomial", (Number(0.0, 2.0**53, is_whole=True), Number(0.0, 1.0)), is_whole=True),
    "whole_numbers": Distribution("random_bounded_uint64", (WHOLE, WHOLE), is_whole=True),
}
SINGLE = "_f"  # what NumPy appends to the names of functions that draw float32
_OF_SINGLES = ("random", "standard_normal", "standard_exponential")


def _symbol(name: str) -> str:
    return f"srcgrad_{name}"


def _are_found() -> bool:
    exported = ctypes.CDLL(np.random._generator.__file__)
    functions = [distribution.function for distribution in DISTRIBUTIONS.values()]
    functions += [DISTRIBUTIONS[name].function + SINGLE for name in _OF_SINGLES]
    found = {name: getattr(exported, name, None) for name in functions}
    for name, function in found.items():
        llvm.add_symbol(_symbol(name), ctypes.cast(function, ctypes.c_void_p).value if function else 1)
    return None not in found.values()


_ARE_FOUND = _are_found()  # where they are not, nobody calls them
_old_global: Any = np.random.mtrand._rand
llvm.add_symbol(OLD_GLOBAL, id(_old_global))
_method_names: list[str] = []  # whose addresses machine code has by their symbols


def functions_of(generator: Any) -> int:
    """Where NumPy has what draws from a generator, for as long as its bit generator lives."""
    is_numpys = type(generator) is np.random.Generator and isinstance(generator.bit_generator, np.random.BitGenerator)
    return generator.bit_generator.ctypes.bit_generator.value if is_numpys and _ARE_FOUND else 0


# -------------------------------------------------------------------------- a generator of the function's own: PCG64


def words_of(generator: Any) -> list[int]:
    at = generator.bit_generator.state
    numbers = [part for key in ("state", "inc") for part in (at["state"][key] & 2**64 - 1, at["state"][key] >> 64)]
    return [*numbers, at["has_uint32"] | at["uinteger"] << 32]


def put_words(generator: Any, words: list[int]) -> None:
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": words[1] << 64 | words[0], "inc": words[3] << 64 | words[2]},
        "has_uint32": words[4] & 2**32 - 1,
        "uinteger": words[4] >> 32,
    }


def is_made_of_words(generator: Any) -> bool:
    """Whether these words, in this order, are what NumPy's functions have in memory here."""
    where, half = (ctypes.c_uint64 * 2).from_address(generator.bit_generator.ctypes.state_address)
    return [*(ctypes.c_uint64 * 4).from_address(where), half] == words_of(generator)


# -------------------------------------------------------------------------------------------------------- compiled

_WORD, _REAL, _POINTER = ir.IntType(64), ir.DoubleType(), cgutils.voidptr_t


def drawing(name: str, old_method: str, number: int) -> Any:
    """An intrinsic: failed = drawn(out, state, numbers).

    Parameters
    ----------
    old_method : what a RandomState calls the method
    number : of the method, for the call back
    """
    symbol = _symbol(f"name_{old_method}")
    _method_names.append(old_method)
    llvm.add_symbol(symbol, id(old_method))

    def drawn(typing_context, out, state, numbers):  # no types: Numba compares signatures
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            draw = _Draw(context, builder, signature, args)
            if name in DISTRIBUTIONS:
                draw.at_once(DISTRIBUTIONS[name], symbol)
            draw.call_back(number)
            return builder.load(draw.failed)

        return types.boolean(out, state, numbers), generate

    return intrinsic(drawn)


class _Draw:
    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        out, state, numbers = signature.args
        self.context, self.builder, self.api = context, builder, context.get_python_api(builder)
        self.dtype, array = out.dtype, make_array(out)(context, builder, args[0])
        self.out, self.size = array.data, array.nitems
        self.state = make_array(state)(context, builder, args[1]).data
        values = cgutils.unpack_tuple(builder, args[2], len(numbers))
        self.numbers = [context.cast(builder, x, k, types.float64) for x, k in zip(values, numbers, strict=True)]
        self.failed = cgutils.alloca_once_value(builder, cgutils.false_bit)
        self.end = builder.append_basic_block("drawn")

    def word(self, i: int) -> Any:
        return self.builder.load(_place(self.builder, self.state, i))

    def function(self, name: str, result: Any, *takes: Any, var_arg: bool = False) -> Any:
        kind = ir.FunctionType(result, takes, var_arg)
        return cgutils.get_or_insert_function(self.builder.module, kind, name)

    def call_back(self, number: int) -> None:
        builder = self.builder
        numbers = cgutils.alloca_once(builder, ir.ArrayType(_REAL, max(len(self.numbers), 1)))
        for i, value in enumerate(self.numbers):
            builder.store(value, cgutils.gep_inbounds(builder, numbers, 0, i))
        call = self.function(CALL_BACK, _WORD, _POINTER, _WORD, _WORD, _POINTER, _WORD, _POINTER)
        out, state, given = (builder.bitcast(there, _POINTER) for there in (self.out, self.state, numbers))
        dtype, method = (ir.Constant(_WORD, i) for i in (tuple(DTYPES).index(self.dtype), number))
        failed = builder.call(call, [out, self.size, dtype, state, method, given])
        builder.store(cgutils.is_not_null(builder, failed), self.failed)
        builder.branch(self.end)
        builder.position_at_end(self.end)

    def at_once(self, distribution: Distribution, old_method: str) -> None:
        """Go to the end with what is drawn, or on."""
        builder = self.builder
        kind, functions = self.word(0), self.word(FUNCTIONS)
        is_kind = {k: builder.icmp_signed("==", kind, ir.Constant(_WORD, k)) for k in (GLOBAL, OWN, OUTSIDE)}
        is_few = builder.icmp_signed("<=", self.size, ir.Constant(_WORD, FEW))
        with builder.if_then(self.fits(distribution)):
            with builder.if_then(builder.and_(is_few, cgutils.is_not_null(builder, functions))):
                with builder.if_else(is_kind[OWN]) as (of_own, from_outside):
                    with of_own:
                        self.of_own(distribution, functions)
                    with from_outside:
                        self.from_outside(distribution, functions)
                builder.branch(self.end)
            if self.dtype == types.float32:  # a RandomState draws none
                return
            is_one = builder.icmp_signed("==", self.size, ir.Constant(_WORD, 1))
            old = builder.select(is_kind[OUTSIDE], self.word(OLD), ir.Constant(_WORD, 0))
            old = builder.select(is_kind[GLOBAL], self.known(OLD_GLOBAL), old)
            with builder.if_then(builder.and_(is_one, cgutils.is_not_null(builder, old))):
                self.of_old(distribution, old, old_method)

    def fits(self, distribution: Distribution) -> Any:
        builder, fits = self.builder, cgutils.true_bit
        for x, number in zip(self.numbers, distribution.numbers, strict=True):
            least, most = (ir.Constant(_REAL, end) for end in (number.least, number.most))
            fits = builder.and_(fits, builder.fcmp_ordered(">=" if number.may_be_least else ">", x, least))
            fits = builder.and_(fits, builder.fcmp_ordered("<=", x, most))
            if number.is_whole:
                floor = builder.module.declare_intrinsic("llvm.floor", [_REAL])
                fits = builder.and_(fits, builder.fcmp_ordered("==", x, builder.call(floor, [x])))
        if distribution.function == "random_bounded_uint64":
            fits = builder.and_(fits, builder.fcmp_ordered("<", *self.numbers))
        return fits

    def known(self, symbol: str) -> Any:
        """The address of a Python object."""
        return self.builder.ptrtoint(self.context.get_c_value(self.builder, ir.IntType(8), symbol), _WORD)

    def object(self, address: Any) -> Any:
        return self.builder.inttoptr(address, self.api.pyobj)

    # ------------------------------------------------------------------------------------------------- in C

    def fill(self, distribution: Distribution, generator: Any) -> None:
        builder = self.builder
        values = [
            builder.fptosi(x, _WORD) if number.is_whole else x
            for x, number in zip(self.numbers, distribution.numbers, strict=True)
        ]
        values += [ir.Constant(_REAL, x) for x in distribution.constants]
        if distribution.function == "random_binomial":
            prepared = cgutils.alloca_once(builder, ir.ArrayType(_WORD, 17))
            builder.store(ir.Constant(_WORD, 0), cgutils.gep_inbounds(builder, prepared, 0, 0))  # it is for nothing yet
            values = [values[1], values[0], builder.bitcast(prepared, _POINTER)]
        elif distribution.function == "random_bounded_uint64":
            last = builder.sub(builder.sub(values[1], values[0]), ir.Constant(_WORD, 1))
            values = [values[0], last, ir.Constant(_WORD, 0), ir.Constant(ir.IntType(32), 0)]  # without a mask
        name = distribution.function + (SINGLE if self.dtype == types.float32 else "")
        drawn = self.function(_symbol(name), self.out.type.pointee, _WORD, *(value.type for value in values))
        with cgutils.for_range(builder, self.size) as loop:
            builder.store(builder.call(drawn, [generator, *values]), builder.gep(self.out, [loop.index]))

    def of_own(self, distribution: Distribution, functions: Any) -> None:
        """By a generator on the stack: five words of state, of which it holds the address, and NumPy's functions."""
        builder = self.builder
        room = cgutils.alloca_once(builder, ir.ArrayType(_WORD, 11))
        room.align = 16  # 128 bits are read at once
        at = builder.bitcast(room, _WORD.as_pointer())
        there = builder.inttoptr(functions, _WORD.as_pointer())
        address = [builder.ptrtoint(_place(builder, at, i), _WORD) for i in (0, 4, 6)]
        *numbers, half = (self.word(i) for i in OWN_WORDS)
        called = [builder.load(_place(builder, there, i)) for i in range(1, 5)]
        for i, value in enumerate((*numbers, address[0], half, address[1], *called)):
            builder.store(value, _place(builder, at, i))
        self.fill(distribution, address[2])
        for i, place in zip(OWN_WORDS, (0, 1, 2, 3, 5), strict=True):
            builder.store(builder.load(_place(builder, at, place)), _place(builder, self.state, i))

    def from_outside(self, distribution: Distribution, functions: Any) -> None:
        builder, api = self.builder, self.api
        call = self.function("PyObject_CallNoArgs", api.pyobj, api.pyobj)
        inside = api.gil_ensure()
        acquire = self.object(self.word(ACQUIRE))
        taken = cgutils.alloca_once_value(builder, builder.call(call, [acquire]))
        is_interrupted = cgutils.is_null(builder, builder.load(taken))
        with builder.if_then(is_interrupted, likely=False):  # Ctrl-C, while another thread had it: for after the draw
            again, had = (builder.append_basic_block(name) for name in ("again", "had"))
            builder.branch(again)
            builder.position_at_end(again)
            api.err_clear()
            builder.store(builder.call(call, [acquire]), taken)
            builder.cbranch(cgutils.is_null(builder, builder.load(taken)), again, had)
            builder.position_at_end(had)
            builder.call(self.function("PyErr_SetInterrupt", ir.VoidType()), [])
        api.decref(builder.load(taken))
        self.fill(distribution, functions)
        api.decref(builder.call(call, [self.object(self.word(RELEASE))]))
        api.gil_release(inside)

    # -------------------------------------------------------------------------------------------- by a method

    def of_old(self, distribution: Distribution, old: Any, method: str) -> None:
        builder, api = self.builder, self.api
        call = self.function("PyObject_CallMethodObjArgs", api.pyobj, api.pyobj, api.pyobj, var_arg=True)
        inside = api.gil_ensure()
        given = [
            api.long_from_longlong(builder.fptosi(x, _WORD)) if number.is_whole else api.float_from_double(x)
            for x, number in zip(self.numbers, distribution.numbers, strict=True)
        ]
        end = ir.Constant(api.pyobj, None)
        made = builder.call(call, [self.object(old), self.object(self.known(method)), *given, end])
        for one in given:
            api.decref(one)
        is_made = cgutils.is_not_null(builder, made)
        with builder.if_else(is_made, likely=True) as (fine, otherwise):
            with fine:
                unboxed = api.long_as_longlong if distribution.is_whole else api.float_as_double
                builder.store(unboxed(made), self.out)
                api.decref(made)
            with otherwise:  # the call back says so
                api.err_clear()
        api.gil_release(inside)
        with builder.if_then(is_made):
            builder.branch(self.end)


def _place(builder: Any, base: Any, i: int) -> Any:
    return builder.gep(base, [ir.Constant(_WORD, i)])
