"""NumPy's own sorts, which know the vector registers of the machine, called from compiled code by their addresses.

sort_numbers(x)     x, numbers of a kind in SORTED in one piece of memory, nan last; equal ones in any order
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import binding
from numba.core import types

from srcgrad.runtime.linked import overload

KINDS = ("float64", "float32", "int64", "int32", "uint64", "uint32")
ABI = 0x2000000  # of all releases of NumPy 2, and so these numbers:
GET_VERSION, GET_FUNCTIONS = 0, 365  # places in the table of NumPy's C interface
QUICKSORT = 21 + 12  # the place in a PyArray_ArrFuncs: behind the casts, and what reads, compares and fills
_ADDRESSES = ctypes.POINTER(ctypes.c_void_p)
_INSIDE: Any = getattr(getattr(np, "_core", None), "_multiarray_umath", None)


def _register() -> frozenset[str]:
    """Tell LLVM where NumPy's sorts are.  Of which KINDS there are any: a later NumPy may have none there."""
    found = set()
    try:
        get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi)
        )
        table = ctypes.cast(get_pointer(_INSIDE._ARRAY_API, None), _ADDRESSES)
        if ctypes.CFUNCTYPE(ctypes.c_uint)(table[GET_VERSION])() != ABI:
            return frozenset()
        get_functions = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[GET_FUNCTIONS])
        for kind in KINDS:
            functions = ctypes.cast(get_functions(np.dtype(kind)), _ADDRESSES)
            address = functions[QUICKSORT] if functions else None
            if address and _sorts(address, kind):
                binding.add_symbol(_symbol(kind), address)
                found.add(kind)
    except (AttributeError, ValueError):
        return frozenset()
    return frozenset(found)


def _symbol(kind: str) -> str:
    """A name, so that machine code that was stored finds the sort in the next process."""
    return f"srcgrad_sort_{kind}"


def _sorts(address: int, kind: str) -> bool:
    numbers = np.array([3, 1, 2, 0, 2], kind)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(address)
    return function(numbers.ctypes.data, numbers.size, None) == 0 and numbers.tolist() == [0, 1, 2, 2, 3]


def _are_in_vectors() -> bool:
    """Do they use vector registers?  Where they don't, dealing numbers out by their digits takes half of the time."""
    has = getattr(_INSIDE, "__cpu_features__", {})
    return bool(has.get("X86_V3", has.get("AVX2")) or has.get("ASIMD"))


_FOUND = _register()
SORTED = _FOUND if _are_in_vectors() else frozenset()  # kinds of numbers that are best left to NumPy


def sort_numbers(x: Any) -> None:
    """Sort an array in C order of one of the kinds in SORTED."""
    x.sort()


@overload(sort_numbers)
def _sort_numbers(x):
    sort = types.ExternalFunction(_symbol(str(x.dtype)), types.int32(types.uintp, types.intp, types.uintp))

    def sort_numbers(x):
        sort(x.ctypes.data, x.size, 0)

    return sort_numbers


__all__ = ["SORTED", "sort_numbers"]
