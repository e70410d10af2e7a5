"""The functions of a generated module beside its entry, compiled where the entry calls them.

compile_own(module, "f_backward", facts, flags)     in the module, f_forward and f_reverse are compiled functions now
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher

from srcgrad.backends.loop_wishes import FACTS
from srcgrad.backends.lowering import LowerPiece, LowerWithFacts, with_facts
from srcgrad.runtime.linked import LoopsCompiler

NOT_PARALLEL = ("comprehension", "fusion", "inplace_binop", "numpy", "reduction", "setitem", "stencil")


def compile_own(module: ModuleType, entry: str, facts: Any, flags: dict[str, Any]) -> None:
    """Put compiled functions in the places of the plain ones: Numba finds them when it compiles the entry."""
    parts = dict(facts.parts)
    for name, function in own_functions(module, entry):
        if "prange" in function.__code__.co_names:  # it calls others, and no more
            options = flags | {"parallel": {"prange": True} | dict.fromkeys(NOT_PARALLEL, False)}
            compiled = CPUDispatcher(function, targetoptions=options, pipeline_class=LoopsCompiler)
        else:  # of a function that is no piece of the entry, the memory facts are about other arrays
            known = facts if name in facts.pieces else replace(facts, memory=parts.get(name, frozenset()))
            lowering = LowerPiece if name in facts.pieces or name in parts else LowerWithFacts
            compiled = OwnFunction(function, targetoptions=flags, pipeline_class=_compiler_with(known, lowering))
        setattr(module, name, compiled)


class OwnFunction(CPUDispatcher):
    """Compiled once for integers, not for every constant that it is called with.

    (One version of a recursive function that calls another refers to it by an address, which no other process has.)
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)

    def fold_argument_types(self, args: Any, kws: Any) -> Any:  # asked where it calls itself
        signature, folded = super().fold_argument_types(args, kws)
        return signature, tuple(map(types.unliteral, folded))


@contextmanager
def room_for(module: ModuleType, entry: str) -> Iterator[None]:
    """Numba compiles a function in the middle of compiling its caller, some hundred Python calls deeper each time."""
    before = sys.getrecursionlimit()
    needed = before + 500 * len(own_functions(module, entry))
    sys.setrecursionlimit(max(before, needed))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def can_be_kept(module: ModuleType, entry: str) -> bool:
    """Can the machine code be loaded by another process?

    Functions that call each other in a circle, and versions of a recursive function for several types, refer to each
    other through addresses that Numba does not restore.
    """
    own = own_functions(module, entry)
    calls = {name: set(f.__code__.co_names) & {name for name, _ in own} for name, f in own}
    for name in calls:
        if name in calls[name] and len(getattr(module, name).overloads) > 1:
            return False
        found: set[str] = set()
        work = [other for other in calls[name] if other != name]
        while work:
            other = work.pop()
            if other == name:
                return False
            if other not in found:
                found.add(other)
                work += [n for n in calls[other] if n != other]
    return True


def own_functions(module: ModuleType, entry: str) -> list[tuple[str, FunctionType]]:
    """The functions whose text is in the module, but for its entry."""
    found = [(name, getattr(thing, "py_func", thing)) for name, thing in vars(module).items() if name != entry]
    functions = [(name, thing) for name, thing in found if isinstance(thing, FunctionType)]
    return [(name, f) for name, f in functions if f.__code__.co_filename == module.__file__]


def _compiler_with(facts: Any, lowering: type) -> type[CompilerBase]:
    class OwnCompiler(CompilerBase):
        """Numba's nopython pipeline, lowered with what is known of the lines of the module."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.state.metadata[FACTS] = facts

        def define_pipelines(self) -> list[PassManager]:
            return [with_facts(DefaultPassBuilder.define_nopython_pipeline(self.state), facts, lowering)]

    return OwnCompiler
