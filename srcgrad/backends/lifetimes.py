"""How long variables live is asked once, where they are deleted ahead of lowering.

Numba asks it after each of three passes, by sets of all variables for all blocks; nothing in between reads the answer.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.rewrites import rewrite_registry
from numba.core.transforms import canonicalize_cfg
from numba.core.untyped_passes import GenericRewrites, IRProcessing


@register_pass(mutates_CFG=True, analysis_only=False)
class CanonicalFlow(FunctionPass):
    """Numba's `IRProcessing` without lifetimes.  (Generated text has no generators.)"""

    _name = "srcgrad_canonical_flow"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        state.func_ir.generator_info = None
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class RewriteConstants(FunctionPass):
    """Numba's `GenericRewrites` without lifetimes: constants of indices, of exceptions, of loops."""

    _name = "srcgrad_rewrite_constants"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite = kind(state)
            left = list(blocks.items())
            while left:
                key, block = left.pop()
                if rewrite.match(state.func_ir, block, state.typemap, state.calltypes):
                    blocks[key] = rewrite.apply()
                    left.append((key, blocks[key]))
        return True


def without_lifetimes(passes: PassManager) -> None:
    """The passes, with these in the places of Numba's."""
    ours = {IRProcessing: CanonicalFlow, GenericRewrites: RewriteConstants}
    passes.passes = [(ours.get(kind, kind), words) for kind, words in passes.passes]


__all__ = ["without_lifetimes"]
