"""On a GPU a pullback goes forward again where the threads of a loop keep as much as each of them turns out to need.

    y, pullback = f.vjp(x)            for i in range(n):                       (a thread for each i)
                                          while abs(y) > 1e-3:
                                              push y on kept
                                              y = …

Within one kernel each thread has a stack of its own.  To hand that on, somebody would have to know its size; and one
stack for all would make the threads wait for each other.  So the arguments are handed on, and the pullback is what
`backward` would be.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import For, Function, Push
from ...ir.walk import statements


def forward_again(function: Function) -> Function:
    loops = [stmt for stmt in statements(function.body) if isinstance(stmt, For) and not stmt.ordered]
    if not any(isinstance(stmt, Push) for loop in loops for stmt in statements(loop.body)):
        return function
    extra = function.info.extra | {"goes_forward_again": True}
    return replace(function, info=replace(function.info, extra=extra))
