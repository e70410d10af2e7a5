"""Which accesses of a kernel are of neighbours, and from where on it is known what these have in common.

while j < n:                      what is of u, i and j is known where the ways part, in the same iteration
    if j > 0:
        s += u[i + 1, j - 1]      (1, -1) further
    if j < n - 1:
        s += u[i + 1, j + 1]      (1, 1) further
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from numba.cuda import types
from numba.cuda.core import ir
from numba.cuda.core.analysis import compute_cfg_from_blocks
from numba.cuda.core.ir_utils import find_const, get_definition, guard

FARTHEST = 8  # of one another: what is beyond that need not be a place that 32 bits hold
UNSET = "unset"  # what a variable is where a kernel begins
SIGNS = {operator.add: 1, operator.sub: -1}


@dataclass(frozen=True)
class Access:
    """Of one element.  Along each axis: a variable, or None, and how far the index is from it."""

    array: Any
    variables: tuple[Any, ...]
    offsets: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What neighbours have in common."""
        return self.array.name, *("" if var is None else var.name for var in self.variables)


def accesses(func_ir: Any, typeof: Callable[[str], Any]) -> dict[int, Access]:
    """The accesses of elements, by the identity of their statements."""
    found = ((id(inst), _access(func_ir, typeof, inst)) for _, inst in _statements(func_ir.blocks))
    return {key: access for key, access in found if access is not None}


def _statements(blocks: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
    return ((label, inst) for label, block in blocks.items() for inst in block.body)


def _access(func_ir: Any, typeof: Callable[[str], Any], inst: Any) -> Access | None:
    if isinstance(inst, ir.SetItem):
        array, index = inst.target, inst.index
    elif isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr) and inst.value.op == "getitem":
        array, index = inst.value.value, inst.value.index
    else:
        return None
    kind, parts = typeof(array.name), [index]
    if isinstance(typeof(index.name), types.BaseTuple):
        packed = _defined(func_ir, index, "build_tuple")
        parts = packed.items if packed else []
    if not isinstance(kind, types.Array) or not parts or len(parts) != kind.ndim:
        return None
    if not all(isinstance(typeof(part.name), types.Integer) for part in parts):
        return None
    variables, offsets = zip(*(_split(func_ir, typeof, part) for part in parts), strict=True)
    if sum(map(abs, offsets)) > FARTHEST:
        variables, offsets = tuple(parts), (0,) * len(parts)
    return Access(array, variables, offsets)


def _split(func_ir: Any, typeof: Callable[[str], Any], part: Any) -> tuple[Any, int]:
    """An index as a variable and a constant: `i - 1` is i, and -1."""
    constant = guard(find_const, func_ir, part)
    if type(constant) is int:
        return None, constant
    found = _defined(func_ir, part, "binop")
    if found and found.fn in SIGNS and typeof(found.lhs.name) == typeof(part.name) == types.intp:
        constant = guard(find_const, func_ir, found.rhs)
        if type(constant) is int:
            return found.lhs, SIGNS[found.fn] * constant
    return part, 0


def _defined(func_ir: Any, var: Any, op: str) -> Any:
    """What a variable of Numba's own stands for: the same line reads it, so nothing of it is set in between."""
    found = guard(get_definition, func_ir, var) if var.name.startswith("$") else None
    return found if isinstance(found, ir.Expr) and found.op == op else None


@dataclass(frozen=True)
class Neighbours:
    """Accesses, by their statements' identity, that have something in common, which is known `ahead` of a statement."""

    access: Access
    ahead: int
    members: frozenset[int]


def neighbours(func_ir: Any, found: Mapping[int, Access]) -> list[Neighbours]:
    """Of accesses in several blocks; of those in one block LLVM sees what they have in common."""
    blocks = func_ir.blocks
    ways = compute_cfg_from_blocks(blocks)
    above = ways.dominators()
    versions = _versions(blocks, ways, frozenset().union(*(access.names for access in found.values())))
    groups: dict[Any, list[tuple[int, Any]]] = defaultdict(list)
    for label, inst in _statements(blocks):
        if id(inst) in found:
            groups[found[id(inst)].names, _of(found[id(inst)], versions[id(inst)])].append((label, inst))
    out = []
    for (_, version), members in groups.items():
        labels = {label for label, _ in members}
        together = frozenset.intersection(*(frozenset(above[label]) for label in labels))
        nearest = max(together, key=lambda label: len(above[label]))
        first = next((inst for label, inst in members if label == nearest), blocks[nearest].terminator)
        access = found[id(members[0][1])]
        if len(labels) > 1 and _of(access, versions[id(first)]) == version:
            out.append(Neighbours(access, id(first), frozenset(id(inst) for _, inst in members)))
    return out


def _of(access: Access, versions: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(versions.get(name) for name in access.names)


def _versions(blocks: Mapping[int, Any], ways: Any, names: frozenset[str]) -> dict[int, dict[str, Any]]:
    """What has set each variable, a statement or a place where ways meet, as each statement finds it."""
    sets = {
        label: {inst.target.name: id(inst) for inst in block.find_insts(ir.Assign) if inst.target.name in names}
        for label, block in blocks.items()
    }
    at_start: dict[int, dict[str, Any]] = {label: {} for label in blocks}
    at_start[ways.entry_point()] = dict.fromkeys(names, UNSET)  # a way of its own to the head of a loop that sets it
    is_new = True
    while is_new:
        is_new = False
        for label in ways.topo_order()[1:]:
            coming: dict[str, set[Any]] = defaultdict(set)
            for name, version in at_start[label].items():
                if version == (label, name):  # ways have met here with several: that stays
                    coming[name] |= {version, None}
            for other, _ in ways.predecessors(label):
                for name, version in (at_start[other] | sets[other]).items():
                    coming[name].add(version)
            now = {name: next(iter(found)) if len(found) == 1 else (label, name) for name, found in coming.items()}
            is_new |= now != at_start[label]
            at_start[label] = now
    out = {}
    for label, block in blocks.items():
        now = dict(at_start[label])
        for inst in block.body:
            out[id(inst)] = dict(now)
            if isinstance(inst, ir.Assign) and inst.target.name in names:
                now[inst.target.name] = id(inst)
    return out


__all__ = ["Access", "Neighbours", "accesses", "neighbours"]
