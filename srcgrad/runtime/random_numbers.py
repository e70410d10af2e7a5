"""Random numbers for generated code: drawn by NumPy's own generators, in compiled code too.

    draw_standard_normal(out, state, state)        out = what the generator draws; it moves on from where it was

Where a generator is at is an array of whole numbers: that of `np.random.default_rng(seed)` is its state itself; of a
generator from outside, and of np.random, it says which one that is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import RLock
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from srcgrad.runtime.distributions import (
    ACQUIRE,
    CALL_BACK,
    DTYPES,
    FUNCTIONS,
    GLOBAL,
    OLD,
    OUTSIDE,
    OWN,
    OWN_WORDS,
    RELEASE,
    STATE_LENGTH,
    drawing,
    functions_of,
    is_made_of_words,
    put_words,
    words_of,
)
from srcgrad.runtime.linked import overload

METHODS: dict[str, tuple[str, int]] = {  # the method of the generator, and how many numbers it takes
    "random": ("random", 0),
    "standard_normal": ("standard_normal", 0),
    "standard_exponential": ("standard_exponential", 0),
    "standard_cauchy": ("standard_cauchy", 0),
    "standard_laplace": ("laplace", 0),
    "standard_logistic": ("logistic", 0),
    "standard_gumbel": ("gumbel", 0),
    "standard_rayleigh": ("rayleigh", 0),
    "standard_gamma": ("standard_gamma", 1),
    "standard_t": ("standard_t", 1),
    "standard_weibull": ("weibull", 1),
    "chisquare": ("chisquare", 1),
    "beta": ("beta", 2),
    "poisson": ("poisson", 1),
    "geometric": ("geometric", 1),
    "binomial": ("binomial", 2),
    "whole_numbers": ("integers", 2),
    "shuffled": ("permutation", 1),
    "chosen": ("choice", 2),
    "seed": ("seed", 1),
    "default_rng": ("default_rng", 2),
}
WHOLE = {"whole_numbers", "shuffled", "chosen"}  # numbers that the method takes as integers
_NAMES = tuple(METHODS)
_LOCK = RLock()
_own = np.random.Generator(np.random.PCG64(0))
_OWN_FUNCTIONS = functions_of(_own) if is_made_of_words(_own) else 0
_outside: list[tuple[Any, ...]] = []  # generators from outside that were drawn from, and the methods of their locks


def state_of(generator: Any) -> np.ndarray:
    """What stands for a generator from outside."""
    functions = functions_of(generator)
    with _LOCK:
        number = next((k for k, (known, *_) in enumerate(_outside) if known is generator), len(_outside))
        if number == len(_outside):
            lock = generator.bit_generator.lock if functions else None
            _outside.append((generator, lock.acquire, lock.release) if lock else (generator,))
    state = np.zeros(STATE_LENGTH, np.int64)
    state[:2] = OUTSIDE, number
    if functions:
        state[[FUNCTIONS, ACQUIRE, RELEASE]] = functions, *map(id, _outside[number][1:])
    elif type(generator) is np.random.RandomState:
        state[OLD] = id(generator)
    return state


def _draw(name: str, out: Any, state: Any, *numbers: Any) -> None:
    method, _ = METHODS[name]
    with _LOCK:
        if name == "default_rng":
            seed, is_given = numbers
            _write(state, np.random.default_rng(int(seed) if is_given else None))
            return
        generator = _generator(state)
        if name == "seed":
            generator.seed(int(numbers[0]))
            return
        if any(abs(x) > 2.0**53 for x in numbers):
            raise ValueError("numbers that random numbers are drawn with may not be greater than 2**53")
        given: list[Any] = [int(x) if name in WHOLE and x == int(x) else float(x) for x in numbers]
        options: dict[str, Any] = {}
        if name == "chosen":
            options["replace"] = bool(given.pop())
        if name == "binomial":
            given[0] = int(given[0])
        if not isinstance(generator, np.random.Generator):
            method = _old_name(name)
        if name != "shuffled":
            options["size"] = out.shape
        if out.dtype == np.float32:
            options["dtype"] = np.float32
        out[...] = getattr(generator, method)(*given, **options)
        if state[0] == OWN:
            _write(state, generator)


def _old_name(name: str) -> str:
    """What a RandomState calls the method."""
    return "randint" if name == "whole_numbers" else METHODS[name][0]


def _generator(state: Any) -> Any:
    if state[0] == GLOBAL:
        return np.random.mtrand._rand
    if state[0] == OUTSIDE:
        return _outside[int(state[1])][0]
    put_words(_own, state.view(np.uint64)[OWN_WORDS].tolist())
    return _own


def _write(state: Any, generator: Any) -> None:
    state[[0, FUNCTIONS]] = OWN, _OWN_FUNCTIONS
    state.view(np.uint64)[OWN_WORDS] = words_of(generator)


# -------------------------------------------------------------------------------------------------------- compiled


def _array(address: int | None, length: int, dtype: np.dtype) -> np.ndarray:
    if not length:
        return np.empty(0, dtype)
    memory: Any = (ctypes.c_char * (length * dtype.itemsize)).from_address(address or 0)
    return np.frombuffer(memory, dtype)


def _called_back(out: int, length: int, dtype: int, state: int, name: int, numbers: int) -> int:
    """1 where the numbers are not such that random numbers can be drawn with them."""
    try:
        kind = tuple(DTYPES.values())[dtype]
        given = _array(numbers, METHODS[_NAMES[name]][1], np.dtype(np.float64))
        _draw(_NAMES[name], _array(out, length, kind), _array(state, STATE_LENGTH, np.dtype(np.int64)), *given)
    except Exception:
        return 1
    return 0


_INT, _POINTER = ctypes.c_int64, ctypes.c_void_p
_CALLBACK = ctypes.CFUNCTYPE(_INT, _POINTER, _INT, _INT, _POINTER, _INT, _POINTER)(_called_back)
llvm.add_symbol(CALL_BACK, ctypes.cast(_CALLBACK, ctypes.c_void_p).value)


def _function_of(name: str) -> Callable[..., None]:
    """draw_…(out, state, state as it was, *numbers)"""
    count = METHODS[name][1]
    operands = "".join(f", x{k}" for k in range(count))
    numbers = "".join(f"x{k}, " for k in range(count))
    scope: dict[str, Any] = {"draw": _draw, "drawn": drawing(name, _old_name(name), _NAMES.index(name))}
    message = "random numbers can't be drawn with these numbers"
    exec(
        f"def draw_{name}(out, state, before{operands}):\n"
        f"    draw({name!r}, out, state{operands})\n"
        f"def choose(out, state, before{operands}):\n"
        f"    def draw(out, state, before{operands}):\n"
        f"        if drawn(out, state, ({numbers})):\n"
        f"            raise ValueError({message!r})\n"
        f"    return draw\n",
        scope,
    )
    function: Callable[..., None] = scope[f"draw_{name}"]
    overload(function)(scope["choose"])
    return function


globals().update((f"draw_{_name}", _function_of(_name)) for _name in METHODS)

__all__ = [f"draw_{name}" for name in METHODS]
