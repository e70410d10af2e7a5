"""Where elements lie, in kernels: neighbours have all that takes long in common.

if j > 0:                         at = u + (i * n + j), once, where both ways come from
    s += u[i + 1, j - 1]    →     …at + (n - 1)
if j < n - 1:
    s += u[i + 1, j + 1]          …at + (n + 1)

Numba computes each address from the beginning, of 64-bit integers, which a GPU does at half the speed of 32-bit floats,
and asks of each index whether it counts from the end: none does, where srcgrad has written the text (`guard_accesses`).
LLVM computes once what several accesses share only where one of them comes before the others on every way.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from functools import reduce
from typing import Any, NamedTuple

from llvmlite.ir import IntType
from numba.cuda import types
from numba.cuda.cgutils import voidptr_t
from numba.cuda.compiler import CUDANativeLowering
from numba.cuda.core.compiler_machinery import register_pass
from numba.cuda.lowering import CUDALower
from numba.cuda.np.arrayobj import load_item, store_item

from srcgrad.runtime.asked_of_loops import AS_IT_IS, ask
from srcgrad.runtime.described import Described
from srcgrad.runtime.gpu.kernel_loops import loops_as_they_are
from srcgrad.runtime.gpu.narrow_indices import Narrow
from srcgrad.runtime.gpu.neighbours import Access, Neighbours, accesses, neighbours
from srcgrad.runtime.instructions import instruction

COMPARISONS = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==",
               operator.ne: "!="}  # fmt: skip
NO_WRAP = ("nsw",)  # as Numba has it: NVVM unrolls no loop whose index might wrap around
HALF, WORD = IntType(32), IntType(64)
ABOUT = "srcgrad_kernel"  # under this name it travels in Numba's metadata of a compilation


class About(NamedTuple):
    """What is known of a kernel ahead."""

    is_narrow: bool  # no array or axis is longer than `LONGEST`
    goes_round: bool  # there are fewer threads than iterations, and each goes round its loop over the grid often


class ElementLower(CUDALower):
    """Lowering of one kernel."""

    def pre_lower(self) -> None:
        super().pre_lower()
        about = self.metadata[ABOUT]
        self._narrow = Narrow(self.func_ir, self.typeof) if about.is_narrow else None
        self._accesses = accesses(self.func_ir, self.typeof)
        self._neighbours: dict[int, list[Neighbours]] = defaultdict(list)
        for one in neighbours(self.func_ir, self._accesses):
            self._neighbours[one.ahead].append(one)
        self._near: dict[int, Any] = {}  # by the identity of statements: the address where their neighbours are
        self._as_they_are = loops_as_they_are(self.func_ir, about.goes_round)
        self._inst: Any = None

    def post_block(self, block: Any) -> None:
        super().post_block(block)
        if id(block) in self._as_they_are:
            ask(self.module, self.builder.block.terminator, [AS_IT_IS])

    def lower_inst(self, inst: Any) -> None:
        for one in self._neighbours.get(id(inst), ()):
            self._near.update(dict.fromkeys(one.members, self._at(one.access, (0,) * len(one.access.offsets))))
        self._inst = inst
        super().lower_inst(inst)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if self._narrow and expr.op == "binop" and expr.fn in COMPARISONS:
            sides = expr.lhs.name, expr.rhs.name
            if all(map(self._narrow.fits, sides)):
                x, y = (self._narrowed(self.loadvar(side)) for side in sides)
                return self.builder.icmp_signed(COMPARISONS[expr.fn], x, y)
        return super().lower_expr(resty, expr)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        signature = self.fndesc.calltypes[expr]
        make = instruction(op, signature, NO_WRAP)
        if make is None:
            return super().lower_binop(resty, expr, op)
        left, right = (
            self.context.cast(self.builder, self.loadvar(side.name), self.typeof(side.name), kind)
            for side, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        )
        return self.context.cast(self.builder, make(self.builder, left, right), signature.return_type, resty)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if self._narrow and not name.startswith("$") and self._narrow.fits(name):
            value = self._widened(self._narrowed(value))
        super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        """Nothing: Numba clears variables behind their last use, which on a device own nothing."""

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        access = self._accesses.get(id(self._inst))
        if access is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        kind = self.typeof(value.name)
        item = load_item(self.context, self.builder, kind, self._address(access))
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        access = self._accesses.get(id(self._inst))
        if access is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind = self.typeof(target_var.name)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), kind.dtype)
        store_item(self.context, self.builder, kind, value, self._address(access))
        return None

    def _address(self, access: Access) -> Any:
        near = self._near.get(id(self._inst))
        if near is None:
            return self._at(access, access.offsets)
        kind, array = self.typeof(access.array.name), self._described(access)
        innermost = {"C": kind.ndim - 1, "F": 0}.get(kind.layout)
        far = []
        for axis, offset in enumerate(access.offsets):
            if offset and axis == innermost:
                near = self.builder.gep(near, [self._word(offset)])
            elif offset:
                far.append(self.builder.mul(self._word(offset), self.builder.extract_value(array.strides, axis)))
        return self._so_many_bytes_on(near, far)

    def _at(self, access: Access, offsets: tuple[int, ...]) -> Any:
        """The address of the element that is so far from the variables."""
        kind, array, builder = self.typeof(access.array.name), self._described(access), self.builder
        at = [self._index(*part) for part in zip(access.variables, offsets, strict=True)]
        if kind.layout == "A":
            terms = [builder.mul(x, builder.extract_value(array.strides, axis)) for axis, x in enumerate(at)]
            return self._so_many_bytes_on(array.data, terms)
        shape = [self._narrowed(builder.extract_value(array.shape, axis)) for axis in range(kind.ndim)]
        within = [shape[axis + 1 :] if kind.layout == "C" else shape[:axis] for axis in range(kind.ndim)]
        terms = [reduce(builder.mul, steps, self._narrowed(x)) for x, steps in zip(at, within, strict=True)]
        return builder.gep(array.data, [self._widened(reduce(builder.add, terms))])

    def _narrowed(self, number: Any) -> Any:
        return self.builder.trunc(number, HALF) if self._narrow else number

    def _widened(self, number: Any) -> Any:
        return self.builder.sext(number, WORD) if number.type == HALF else number

    def _so_many_bytes_on(self, pointer: Any, bytes_: list[Any]) -> Any:
        """(Numba's `pointer_add` goes by way of a number, and LLVM does not see any more which memory it is.)"""
        if not bytes_:
            return pointer
        moved = self.builder.gep(self.builder.bitcast(pointer, voidptr_t), [reduce(self.builder.add, bytes_)])
        return self.builder.bitcast(moved, pointer.type)

    def _index(self, var: Any, offset: int) -> Any:
        if var is None:
            return self._word(offset)
        index = self.context.cast(self.builder, self.loadvar(var.name), self.typeof(var.name), types.intp)
        return self.builder.add(index, self._word(offset), flags=["nsw"]) if offset else index

    def _word(self, number: int) -> Any:
        return self.context.get_constant(types.intp, number)

    def _described(self, access: Access) -> Described:
        name = access.array.name
        return Described(self.context, self.builder, self.typeof(name), self.loadvar(name))


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(CUDANativeLowering):
    _name = "srcgrad_kernel_lowering"

    @property
    def lowering_class(self) -> type:
        return ElementLower


__all__ = ["ABOUT", "About", "LowerKernel"]
