"""How long variables live is asked once, where they are deleted ahead of lowering, and of those that own memory alone.

Numba asks it after each of three passes, by sets of all variables for all blocks; nothing in between reads the answer,
and nothing happens where a number is deleted.
"""

from __future__ import annotations

from typing import Any

from numba.core.analysis import compute_cfg_from_blocks, compute_dead_maps, compute_live_map, compute_use_defs
from numba.core.compiler_machinery import AnalysisPass, FunctionPass, PassManager, register_pass
from numba.core.postproc import PostProcessor
from numba.core.rewrites import rewrite_registry
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import IRLegalization
from numba.core.untyped_passes import GenericRewrites, IRProcessing

LET_GO_ONCE = "srcgrad_let_go_once"  # under this name they travel in Numba's metadata of a compilation


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


@register_pass(mutates_CFG=True, analysis_only=False)
class DeleteOwners(AnalysisPass):
    """Numba's `IRLegalization`, of variables that hold on to memory."""

    _name = "srcgrad_delete_owners"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        models = state.targetctx.data_model_manager
        owners = {name for name, kind in state.typemap.items() if models[kind].contains_nrt_meminfo()}
        flow, seen = compute_cfg_from_blocks(blocks), compute_use_defs(blocks)
        read, made = (
            {label: names & owners for label, names in by_block.items()} for by_block in (seen.usemap, seen.defmap)
        )
        live = compute_live_map(flow, blocks, read, made)
        dead = compute_dead_maps(flow, blocks, live, made)
        PostProcessor(state.func_ir)._patch_var_dels(dead.internal, dead.escaping)
        state.metadata[LET_GO_ONCE] = let_go_once(flow, made, live, dead)
        return True


def let_go_once(flow: Any, made: Any, live: Any, dead: Any) -> frozenset[str]:
    """Variables that hold on to memory wherever they are deleted, and never where they are set.

    Others may have been deleted before, on another way to the same block: what they hold has to be looked up.
    """
    once = set().union(*made.values())
    left = {label: (live[label] | made[label]) - dead.internal[label] for label in live}
    for label in live:
        ways = [left[before] for before, _ in flow.predecessors(label)]
        if ways:
            once -= dead.escaping[label] - set.intersection(*ways)
            once -= made[label] & set.union(*ways)
    return frozenset(once)


def without_lifetimes(passes: PassManager) -> None:
    """The passes, with these in the places of Numba's."""
    ours = {IRProcessing: CanonicalFlow, GenericRewrites: RewriteConstants, IRLegalization: DeleteOwners}
    passes.passes = [(ours.get(kind, kind), words) for kind, words in passes.passes]


__all__ = ["LET_GO_ONCE", "let_go_once", "without_lifetimes"]
