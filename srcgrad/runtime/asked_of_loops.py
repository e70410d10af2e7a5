"""What LLVM is asked about a loop."""

from __future__ import annotations

from typing import Any

from llvmlite.ir.values import MDValue

AS_IT_IS = ("llvm.loop.unroll.disable",)


def ask(module: Any, jump: Any, wishes: list[tuple[Any, ...]]) -> None:
    """Ask for something about the loop that the jump closes."""
    nodes = [module.add_metadata(words) for words in wishes]
    loop = MDValue(module, (), name=str(len(module.metadata)))
    loop.operands = (loop, *nodes)  # a loop is told apart by naming itself, which `add_metadata` can't write
    jump.set_metadata("llvm.loop", loop)


__all__ = ["AS_IT_IS", "ask"]
