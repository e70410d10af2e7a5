"""How kernels are compiled: by numba-cuda, through those of its passes that find something to do.

Generated text has no closures, no whole-array arithmetic and no name of two types, which three passes and what is left
of them look for in every line: without them the PTX is the same, and there in two thirds of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from srcgrad.runtime.resolved import calls_resolved_once

NOTHING_TO_DO = {"inline_closure_likes", "nopython_rewrites", "reconstruct_ssa", "strip_phis"}


@contextmanager
def compiled_as_kernel(
    function: Callable[..., Any], is_narrow: bool = True, goes_round: bool = False
) -> Iterator[None]:
    """While a generated function is compiled, under the lock of the compiler of kernels.

    `is_narrow`: for arrays and axes that are not longer than `LONGEST`.  `goes_round`: each of its threads does, often,
    in loops over the grid.
    """
    from numba.cuda import compiler
    from numba.cuda.core.compiler_lock import global_compiler_lock
    from numba.cuda.descriptor import cuda_target

    from srcgrad.runtime.gpu.kernel_elements import ABOUT, About, LowerKernel

    class KernelCompiler(compiler.CUDACompiler):
        def define_pipelines(self) -> list[Any]:
            pipelines = super().define_pipelines()
            if self.state.func_id.func is function:  # functions of Numba's own that it calls may need them all
                self.state.metadata[ABOUT] = About(is_narrow, goes_round)
                for passes in pipelines:
                    kept = [item for item in passes.passes if item[0]._name not in NOTHING_TO_DO]
                    ours = {compiler.CUDANativeLowering: LowerKernel}
                    passes.passes[:] = [(ours.get(each, each), words) for each, words in kept]
                    passes.finalize()
            return pipelines

    with global_compiler_lock, calls_resolved_once(cuda_target.typing_context):
        usual, compiler.CUDACompiler = compiler.CUDACompiler, KernelCompiler
        try:
            yield
        finally:
            compiler.CUDACompiler = usual


__all__ = ["compiled_as_kernel"]
