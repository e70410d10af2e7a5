"""Functions that compiled code calls, as parts of their callers and nothing by themselves.

Numba makes machine code of every function that a program calls, by itself, and again of the caller, into which it is
linked.  Nobody calls ours but compiled code: they are handed on as LLVM's language, to be compiled with their callers.

    @linked                                     @overload(product)
    def search_left(found, table, x): ...       def _product(x, y): return lambda x, y: ...
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numba.extending
from numba import _dynfunc
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import BaseNativeLowering, NativeLowering, NativeParforLowering
from numba.core.untyped_passes import IRProcessing

from srcgrad.runtime.stand_ins import PutStandIns

# Numba tells functions of one name (lambdas, those that `exec` has made) apart by numbers, which it counts from 1 in
# each process.  What another process has stored has functions of these numbers in it, and code that is compiled beside
# it would be linked with them.
FunctionIdentity._unique_ids = iter(lambda: int.from_bytes(os.urandom(6), "big"), None)


class LinkedLibrary(JITCodeLibrary):
    """Code that is linked into that of others, which is then optimised as a whole."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # there is none


class ToBeLinked(BaseNativeLowering):
    """Lowering, to what callers are to be linked with."""

    def run_pass(self, state: Any) -> bool:
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        lowered = state["cr"]
        described, module = lowered.fndesc, lowered.fndesc.lookup_module()
        key = _dynfunc.make_function(
            module, described.qualname, "", 0, lowered.env, (state.library,)
        )  # nobody calls it
        state.targetctx.insert_user_function(key, described, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerLoops(ToBeLinked, NativeParforLowering):
    """Of a function that only spreads calls over threads; Numba makes several libraries of a loop."""

    _name = "srcgrad_lower_loops"

    def run_pass(self, state: Any) -> bool:
        codegen = state.targetctx.codegen()
        codegen._library_class = LinkedLibrary
        try:
            return super().run_pass(state)
        finally:
            del codegen._library_class


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToBeLinked(ToBeLinked, NativeLowering):
    _name = "srcgrad_lower_to_be_linked"


def lowered_by(ours: type, numbas: type, passes: PassManager) -> PassManager:
    """The passes, with our lowering in the place of Numba's."""
    passes.add_pass_after(ours, numbas)
    passes.passes = [item for item in passes.passes if item[0] is not numbas]
    passes.finalize()
    return passes


class LinkedCompiler(CompilerBase):
    """Numba's nopython pipeline, without an executable function at its end."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(PutStandIns, IRProcessing)
        return [lowered_by(LowerToBeLinked, NativeLowering, passes)]


class LoopsCompiler(CompilerBase):
    """The same of a function with `prange`."""

    def define_pipelines(self) -> list[PassManager]:
        return [lowered_by(LowerLoops, NativeParforLowering, DefaultPassBuilder.define_nopython_pipeline(self.state))]


AS_LINKED: dict[str, Any] = {"pipeline_class": LinkedCompiler, "error_model": "numpy"}
linked = numba.extending.register_jitable(**AS_LINKED)
linked_dispatcher = numba.njit(**AS_LINKED)  # for intrinsics, which call what Numba has not yet been told of
overload = partial(numba.extending.overload, jit_options=AS_LINKED)

__all__ = ["LoopsCompiler", "ToBeLinked", "linked", "linked_dispatcher", "lowered_by", "overload"]
