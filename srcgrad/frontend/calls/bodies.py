"""The body of a function, ready to be interpreted: made once, as what it is called by may be called many times.

What the interpreter notes on loops and branches is each call's own, so each gets copies of these.
"""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from ..control import generators
from ..syntax import flow, liveness, syntax
from ..syntax.liveness import Names
from ..syntax.syntax import walk

_made: WeakKeyDictionary[ast.AST, tuple[flow.Statements, Names]] = WeakKeyDictionary()


def ready(node: ast.FunctionDef | ast.Lambda, is_caught: bool) -> tuple[flow.Statements, Names]:
    """The statements of the function, with what is live on them, and the names that it assigns."""
    if node in _made:
        body, names = _made[node]
        return syntax.copied(body), names
    has_tries = any(isinstance(part, ast.Try) for part in walk(node))
    body = flow.structured(node, is_caught)
    liveness.annotate(body, [flow.RESULT])
    generators.note_only_uses(body, generators.parameters_of(node))
    names = liveness.assigned(liveness.without_targets(body))
    if not has_tries:  # whose parts know of each other
        _made[node] = body, names
        body = syntax.copied(body)
    return body, names
