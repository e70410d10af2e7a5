"""The passes over a program of several functions: the entry, and the functions of their own that it invokes.

Most passes look at one function at a time.  What is seen across calls is here: which arguments and results carry
derivatives (the same for all calls of a function), and which arguments the reverse half of a function reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...analysis.dependence import edges_of, sources_of, spread
from ...analysis.effects import is_loud
from ...analysis.roughness import EVERY
from ...ir.expressions import Array, Expr, Var, is_inexact
from ...ir.info import Info, roots_of
from ...ir.nodes import Block, Function, Invoke, Stmt, Sweep, leaves
from ...ir.walk import is_same, rewrite_block, statements
from ..check_rows import check_rows
from ..fuse import fuse
from ..prove_bounds import prove_bounds
from .assemble import reads_of
from .find_active import refuse_unknown
from .tape import keep_on_tape

Pass = Callable[[Function], Function]


@dataclass(frozen=True)
class Facts:
    """What a call has to know of a function: which parameters and results carry derivatives."""

    params: tuple[Any, ...]
    active_params: tuple[bool, ...]
    active_results: tuple[bool, ...]
    unclean: dict[str, int]

    @property
    def is_differentiated(self) -> bool:
        return any(self.active_results) or any(
            active for p, active in zip(self.params, self.active_params, strict=True) if isinstance(p, Array)
        )


def everywhere(step: Pass) -> Pass:
    """The pass on the entry and on every function of its own."""

    def run(program: Function) -> Function:
        return _itself(program, anew(program))

    def anew(program: Function) -> Function:
        if not program.callees or step.__name__ in ("find_active", "peel", "preaccumulate", "parallelise"):
            return step(program)
        if step.__name__ == "keep":
            return keep_in_all(program, step)
        if step.__name__ == "assemble":
            from .halves import assemble_all

            return assemble_all(program)
        if step in (prove_bounds, check_rows, fuse):
            return _each(program, partial(step, quiet=quiet_functions(program)))
        return _each(program, step)

    run.__name__ = step.__name__
    return run


def _each(program: Function, step: Pass) -> Function:
    callees = tuple(c if _is_left_alone(c, step) else _itself(c, step(c)) for c in program.callees)
    return replace(step(program), callees=callees)


def _itself(old: Function, new: Function) -> Function:
    """The function as it was, where nothing is new: it remembers what has been asked of it."""
    parts = ((f.name, f.params, f.results, f.info) for f in (old, new))
    return old if is_same(new.body, old.body) and is_same(new.callees, old.callees) and _agree(*parts) else new


def _agree(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    return old[3] is new[3] and old[:3] == new[:3]


def quiet_functions(program: Function) -> frozenset[str]:
    """Those that print nothing and draw nothing, and raise nothing but what is ours, whatever they call."""
    found = {c.name: c for c in program.callees}
    while loud := [name for name, c in found.items() if any(is_loud(s, found) for s in statements(c.body))]:
        for name in loud:
            del found[name]
    return frozenset(found)


def _is_left_alone(callee: Function, step: Pass) -> bool:
    """Where no derivative goes through a function, it stays what it is."""
    return callee.info.kind == "primal" and getattr(step, "__name__", "") in ("reverse", "simplify")


# ------------------------------------------------------------------------------------------------------ activity


def find_active_in_all(program: Function) -> Function:
    functions = {"": program} | {c.name: c for c in program.callees}
    roots = {name: roots_of(f) for name, f in functions.items()}
    local = {name: list(edges_of(f.body, roots[name])) for name, f in functions.items()}
    edges = [
        (f"{name}/{target}", tuple((f"{name}/{s}", linear) for s, linear in sources))
        for name, found in local.items()
        for target, sources, _ in found
    ]
    edges += [edge for name, f in functions.items() for edge in _call_edges(name, f, functions, roots)]
    info: Info = program.info
    wrt = {f"/{roots[''].get(name, name)}" for name in info.wrt}
    varied = spread(wrt, [(s, t) for t, sources in edges for s, _ in sources])
    wanted = {f"/{name}" for leaf in leaves(program.results) for name, _ in sources_of(leaf, roots[""])}
    useful = spread(wanted, [(t, s) for t, sources in edges for s, _ in sources])
    active = _with_shadows(varied & useful, functions, roots)
    bent = {s for t, sources in edges if t in active for s, linear in sources if not linear}
    bent |= {f"/{s}" for leaf in leaves(program.results) for s, linear in sources_of(leaf, roots[""]) if not linear}
    unclean = spread(bent, [(t, s) for t, sources in edges for s, _ in sources if t in active])
    done = {}
    for name, f in functions.items():
        own = frozenset(n.partition("/")[2] for n in active if n.partition("/")[0] == name)
        refuse_unknown(local[name], f, own, roots[name])
        dirty = {n.partition("/")[2]: EVERY for n in unclean if n.partition("/")[0] == name}
        done[name] = replace(f, info=replace(f.info, active=own, unclean=dirty))
    facts = {name: _facts(f, roots[name]) for name, f in done.items() if name}
    plain = {c.name: c for c in program.callees}
    callees = tuple(_to_differentiate(done[c.name], facts) for c in program.callees)
    entry = _with_extra(done[""], facts=facts, plain=plain)
    return replace(entry, callees=callees)


def _with_extra(function: Function, **more: Any) -> Function:
    return replace(function, info=replace(function.info, extra=function.info.extra | more))


def invokes(block: Block) -> Iterator[Invoke]:
    for stmt in statements(block):
        if isinstance(stmt, Invoke):
            yield stmt


def _call_edges(
    name: str, function: Function, functions: dict[str, Function], roots: dict[str, dict[str, str]]
) -> Iterator[tuple[str, tuple[tuple[str, bool], ...]]]:
    for call in invokes(function.body):
        callee, own = functions[call.callee], roots[name]
        for arg, param in zip(call.args, callee.params, strict=True):
            if is_inexact(param.dtype):
                inside = f"{callee.name}/{param.name}"
                assert isinstance(arg, (Expr, Array)), arg
                yield inside, tuple((f"{name}/{s}", linear) for s, linear in sources_of(arg, own))
                if arg in call.writes:
                    yield f"{name}/{own.get(arg.name, arg.name)}", ((inside, True),)
        for out, leaf in zip(call.outs, leaves(callee.results), strict=True):
            if is_inexact(out.dtype):
                found = sources_of(leaf, roots[callee.name])
                yield f"{name}/{out.name}", tuple((f"{callee.name}/{s}", linear) for s, linear in found)


def _with_shadows(active: set[str], functions: dict[str, Function], roots: dict[str, dict[str, str]]) -> set[str]:
    """Arrays that are handed to a parameter with a shadow, or taken from a result with one, need one too."""
    active = set(active)
    while True:
        before = len(active)
        for name, function in functions.items():
            for call in invokes(function.body):
                callee = functions[call.callee]
                theirs = (*callee.params, *leaves(callee.results))
                for here, there in zip((*call.args, *call.outs), theirs, strict=True):
                    if isinstance(there, Array) and isinstance(here, Array) and is_inexact(there.dtype):
                        if f"{callee.name}/{roots[callee.name].get(there.name, there.name)}" in active:
                            active.add(f"{name}/{roots[name].get(here.name, here.name)}")
        if len(active) == before:
            return active


def _facts(function: Function, roots: dict[str, str]) -> Facts:
    info: Info = function.info

    def is_active(thing: Any) -> bool:
        if not is_inexact(thing.dtype) or not isinstance(thing, (Var, Array)):
            return False
        return roots.get(thing.name, thing.name) in info.active

    params = tuple(map(is_active, function.params))
    return Facts(function.params, params, tuple(map(is_active, leaves(function.results))), info.unclean)


def _to_differentiate(function: Function, facts: dict[str, Facts]) -> Function:
    """The function with its seeds and shadows: one for each active result, one for each active array that comes in."""
    own, info = facts[function.name], function.info
    if not own.is_differentiated:
        return function
    seeds: list[Any] = []
    for leaf, is_active in zip(leaves(function.results), own.active_results, strict=True):
        if not is_active:
            seeds.append(None)
        elif isinstance(leaf, Array):
            seeds.append(Array(info.names.fresh("v"), leaf.dtype, leaf.dims))
        else:
            seeds.append(Var(info.names.fresh("v"), leaf.dtype))
    active = [p for p, is_active in zip(own.params, own.active_params, strict=True) if is_active]
    info = replace(
        info, kind="callee", seeds=tuple(seeds), extra=info.extra | {"facts": facts},
        wrt=tuple(p.name for p in active if isinstance(p, Var)),
        shadows=tuple(Array(f"{p.name}_b", p.dtype, p.dims) for p in active if isinstance(p, Array)),
    )  # fmt: skip
    return replace(function, info=info)


# ---------------------------------------------------------------------------------------------------------- keep


def keep_in_all(program: Function, step: Pass) -> Function:
    """Keep, with each reverse half handed those arguments of its function that it reads, and no others."""
    together = {c.name: step(c) for c in program.callees if c.info.kind == "partials"}
    differentiated = [c for c in program.callees if c.info.kind == "callee"]
    saved = {c.name: c.info.names.save() for c in differentiated}
    needed: dict[str, frozenset[str]] = {c.name: frozenset() for c in differentiated}
    resolve = keep_on_tape if step.__module__.endswith(".keep") and step.__qualname__ == "keep" else step
    while True:
        kept = {}
        for callee in differentiated:
            callee.info.names.restore(saved[callee.name])
            kept[callee.name] = resolve(_trimmed(callee, needed))
        now = {name: needed[name] | _arguments_read(function) for name, function in kept.items()}
        if now == needed:
            break
        needed = now
    entry = _with_extra(step(_trimmed(program, needed)), needed=needed)
    return replace(entry, callees=tuple((kept | together).get(c.name, c) for c in program.callees))


def _trimmed(function: Function, needed: dict[str, frozenset[str]]) -> Function:
    """Calls of reverse halves without the arguments that these do not read."""
    facts: dict[str, Facts] = function.info.extra["facts"]

    def trimmed(stmt: Stmt) -> Block:
        if isinstance(stmt, Invoke) and stmt.half == "reverse":
            params = facts[stmt.callee].params
            own = [a for a, p in zip(stmt.args, params, strict=False) if p.name in needed[stmt.callee]]
            return (replace(stmt, args=(*own, *stmt.args[len(params) :])),)
        return (stmt,)

    return replace(function, body=rewrite_block(function.body, trimmed))


def _arguments_read(function: Function) -> frozenset[str]:
    sweep = next(s for s in function.body if isinstance(s, Sweep))
    own = {p.name for p in function.params}
    return frozenset(own & set().union(*(reads_of(stmt) for stmt in statements(sweep.body))))
