"""Numba's lowering to LLVM, with the facts that srcgrad knows about lines of its own code.

x_b[i] += g * w[i]      every index proved to be inside: a bare load, add and store (Numba wraps negative indices
                        and checks bounds, and LLVM can vectorise past neither)
x[columns[p]]           not proved: one comparison, where Numba has three and a choice
s += x[i] * w[i]        a sum of ours: its additions carry `reassoc`, so that it is taken in vector registers; the
                        user's own arithmetic stays strict
for i in range(n - 1, -1, -1):  LLVM is kept from seeing through i: it lifts the test whether rows of an inner loop
    for k in range(m): …        overlap out of this one (hoist-runtime-checks), and then it fails wherever i goes down,
                                and wherever a row is compared with another row of the same array
"""

from __future__ import annotations

import operator
from functools import cache, reduce
from typing import Any

from llvmlite.ir import FunctionType
from numba.core import cgutils, ir, types
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir_utils import find_const, guard
from numba.core.typed_passes import BaseNativeLowering, NativeLowering, NopythonRewrites, PreLowerStripPhis
from numba.core.untyped_passes import InlineClosureLikes, IRProcessing, ReconstructSSA
from numba.np.arrayobj import fix_integer_index, load_item, store_item

from srcgrad.backends.lifetimes import without_lifetimes
from srcgrad.backends.loop_wishes import LoopLower
from srcgrad.emit.facts import Facts
from srcgrad.runtime.allocations import copied
from srcgrad.runtime.bounds import raise_out_of_bounds
from srcgrad.runtime.described import Described, described
from srcgrad.runtime.linked import ToBeLinked, lowered_by
from srcgrad.runtime.stand_ins import PutStandIns

FIELDS = {"shape": "shape", "size": "nitems"}  # attributes that are parts of what describes an array
# A fifth of the time to compile a long text, and generated text has none of what they are for: closures and
# comprehensions, whole-array arithmetic;
NOTHING_TO_DO = {InlineClosureLikes, NopythonRewrites}
# names that are of one type here and of another there (`check_types` in ir/check.py), and what that pass leaves.
ONE_TYPE_EACH = {ReconstructSSA, PreLowerStripPhis}
LARGEST_POWER = 64  # that is written out as products
REORDER = ("reassoc", "nsz", "contract")


class FactLower(LoopLower):
    """Lowering of one function, by the facts about its lines."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        if fndesc.qualname in self._facts.pieces or fndesc.qualname in dict(self._facts.parts):
            self.function.attributes.add("noinline")  # several call it: one copy is enough

    def pre_lower(self) -> None:
        super().pre_lower()
        self._waiting = _waiting_on_the_stack(self.func_ir.blocks)
        self._scopes = cache(self._scopes_of)
        self._memory = dict(self._facts.memory)
        self._all_memory = frozenset(self._memory.values())
        self._places = dict(self._facts.places)
        is_piece = self.fndesc.qualname in self._facts.pieces
        self._lengths = dict(self._facts.lengths) if is_piece else {}

    def _name(self, array: Any) -> str:
        """The array as the text calls it, even if it waits on Python's stack while a condition branches."""
        name = array.name
        while name in self._waiting:
            name = self._waiting[name]
        return ir.Var(array.scope, name, array.loc).unversioned_name

    def _place(self, array: Any, index: Any) -> Any:
        """The address of an element; None where the index is not of one."""
        if not self._is_element(array, index):
            return None
        kind, given = self.typeof(array.name), self.typeof(index.name)
        parts = _parts(given)
        value = self.loadvar(index.name)
        values = cgutils.unpack_tuple(self.builder, value) if isinstance(given, types.BaseTuple) else [value]
        place = self.loc.line, self._name(array)
        is_proved = place in self._facts.inside
        shape = self._shape(array, kind.ndim) if kind.ndim > 1 or not is_proved else []
        for axis, (v, t) in enumerate(zip(values, parts, strict=True)):
            values[axis] = at = self.context.cast(self.builder, v, t, types.intp)
            is_natural = place in self._facts.natural or not t.signed
            if is_proved:
                continue
            if not self.context.enable_boundscheck:
                values[axis] = at if is_natural else fix_integer_index(self.context, self.builder, t, v, shape[axis])
            elif is_natural:
                self._check(at, axis, shape[axis], t.signed)
            else:
                values[axis] = self._checked(at, axis, shape[axis])
        return self._address(array, kind, shape, values)

    def _address(self, array: Any, kind: types.Array, shape: list[Any], index: list[Any]) -> Any:
        """Where an element is; of what describes the array, only that is read which says so."""
        data = self.field(array, "data")
        if kind.layout == "A" or not index:
            strides = cgutils.unpack_tuple(self.builder, self.field(array, "strides"), kind.ndim)
            return cgutils.get_item_pointer2(self.context, self.builder, data, shape, strides, kind.layout, index)
        offsets = []
        for axis, at in enumerate(index):
            within = shape[axis + 1 :] if kind.layout == "C" else shape[:axis]
            offsets.append(self.builder.mul(at, reduce(self.builder.mul, within)) if within else at)
        return self.builder.gep(data, [reduce(self.builder.add, offsets)])

    def _shape(self, array: Any, count: int) -> list[Any]:
        """The lengths of an array; those that are another one's too as such, which LLVM sees in the entry alone."""
        shape = cgutils.unpack_tuple(self.builder, self.field(array, "shape"), count)
        for axis in range(count) if self._lengths else ():
            name, other = self._lengths.get((self._name(array), axis), ("", 0))
            if name in self.func_ir.arg_names:
                kind = self.typeof(name)
                whole = self.field(ir.Var(array.scope, name, array.loc), "shape")
                shape[axis] = cgutils.unpack_tuple(self.builder, whole, kind.ndim)[other]
        return shape

    def _checked(self, index: Any, axis: int, length: Any) -> Any:
        """The index, from the end where it is negative; one comparison finds that there is nothing to be done."""
        usual = self.builder.block
        with self.builder.if_then(self.builder.icmp_unsigned(">=", index, length), likely=False):
            from_end = self.builder.add(index, length)
            with self.builder.if_then(self.builder.icmp_unsigned(">=", from_end, length), likely=False):
                self._raise_out_of_bounds(index, axis, length)
            unusual = self.builder.block
        inside = self.builder.phi(index.type)
        inside.add_incoming(index, usual)
        inside.add_incoming(from_end, unusual)
        return inside

    def _check(self, index: Any, axis: int, length: Any, is_signed: bool) -> None:
        """Of an index that is not negative."""
        compare = self.builder.icmp_signed if is_signed else self.builder.icmp_unsigned
        with self.builder.if_then(compare(">=", index, length), likely=False):
            self._raise_out_of_bounds(index, axis, length)

    def _raise_out_of_bounds(self, index: Any, axis: int, length: Any) -> None:
        words = f"index {{}} is out of bounds for axis {axis} with size {{}}{self._places.get(self.loc.line, '')}"
        raise_out_of_bounds(self.context, self.builder, index, length, words)

    def _check_picks(self, array: Any, index: Any) -> None:
        """The numbers among slices: what Numba checks afterwards it finds to be so."""
        kind, axis = self.typeof(array.name), 0
        if not isinstance(kind, types.Array) or self.loc.line not in self._places:
            return
        given, value = self.typeof(index.name), self.loadvar(index.name)
        values = cgutils.unpack_tuple(self.builder, value) if isinstance(given, types.BaseTuple) else [value]
        for number, part in zip(values, _parts(given), strict=True):
            if isinstance(part, types.Integer):
                number = self.context.cast(self.builder, number, part, types.intp)
                self._checked(number, axis, self._shape(array, kind.ndim)[axis])
            axis += not isinstance(part, types.NoneType)  # which stands for a new axis

    def _is_element(self, array: Any, index: Any) -> bool:
        kind, parts = self.typeof(array.name), _parts(self.typeof(index.name))
        return (
            isinstance(kind, types.Array)
            and len(parts) == kind.ndim
            and all(isinstance(part, types.Integer) for part in parts)
        )

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        pointer = self._place(value, index)
        if pointer is None:
            self._check_picks(value, index)
            return super().lower_getitem(resty, expr, value, index, signature)
        kind = self.typeof(value.name)
        if isinstance(kind.dtype, types.Boolean):  # Numba makes a branch of it
            byte = self.builder.load(pointer)
            self._mark(byte, value)
            item = self.builder.icmp_unsigned("!=", byte, byte.type(0))
        elif isinstance(kind.dtype, types.Complex) and kind.aligned:  # by its parts: LLVM sees what is loaded at a time
            number = self.context.make_complex(self.builder, kind.dtype)
            number.real, number.imag = (self._load_part(pointer, part, value) for part in (0, 1))
            item = number._getvalue()
        else:
            item = load_item(self.context, self.builder, kind, pointer)
            self._mark_memory(value)
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        pointer = self._place(target_var, index_var)
        if pointer is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind = self.typeof(target_var.name)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), self.typeof(value_var.name), kind.dtype)
        if isinstance(kind.dtype, types.Complex) and kind.aligned:
            number = self.context.make_complex(self.builder, kind.dtype, value=value)
            for part, item in enumerate((number.real, number.imag)):
                self._mark(self.builder.store(item, self._part(pointer, part)), target_var)
            return None
        store_item(self.context, self.builder, kind, value, pointer)
        self._mark_memory(target_var)
        return None

    def _part(self, pointer: Any, part: int) -> Any:
        return cgutils.gep_inbounds(self.builder, pointer, 0, part)

    def _load_part(self, pointer: Any, part: int, array: Any) -> Any:
        access = self.builder.load(self._part(pointer, part))
        self._mark(access, array)
        return access

    def _mark_memory(self, array: Any) -> None:
        access = self.builder.block.instructions[-1]
        if access.opname in ("load", "store"):
            self._mark(access, array)

    def _mark(self, access: Any, array: Any) -> None:
        """Say of an access which memory it can't touch: LLVM then needs no checks at run time."""
        self._mark_apart(access)
        own = self._memory.get(self._name(array))
        others = self._all_memory - {own}
        if own is not None and others:
            access.set_metadata("alias.scope", self._scopes(frozenset((own,))))
            access.set_metadata("noalias", self._scopes(others))

    def _scopes_of(self, names: frozenset[str]) -> Any:
        module = self.module
        domain = module.add_metadata([f"srcgrad {self.fndesc.mangled_name}"])
        return module.add_metadata(
            [module.add_metadata([f"{self.fndesc.mangled_name} {name}", domain]) for name in sorted(names)]
        )

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        value = super().lower_assign(ty, inst)
        if (self.loc.line, inst.target.unversioned_name) in self._facts.hidden and isinstance(inst.value, ir.Var):
            return self.builder.asm(FunctionType(value.type, [value.type]), "", "=r,0", [value], side_effect=False)
        return value

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op == "getattr" and expr.attr in FIELDS and isinstance(self.typeof(expr.value.name), types.Array):
            return self.field(expr.value, FIELDS[expr.attr])
        if expr.op == "inplace_binop" and self.loc.line in self._facts.reorder and isinstance(resty, types.Float):
            signature = self.fndesc.calltypes[expr]
            if signature.args == (resty, resty):
                return self._accumulate(expr, resty)
        if expr.op == "binop" and expr.fn is operator.pow and isinstance(resty, types.Float):
            exponent = guard(find_const, self.func_ir, expr.rhs)
            if type(exponent) is int and 0 < abs(exponent) <= LARGEST_POWER:
                return self._power(expr.lhs, exponent, resty)
        return super().lower_expr(resty, expr)

    def _power(self, var: Any, exponent: int, kind: types.Float) -> Any:
        """The products that Numba's power takes, which it compiles as a function with a loop."""
        factor = self.context.cast(self.builder, self.loadvar(var.name), self.typeof(var.name), kind)
        result, left = None, abs(exponent)
        while left:
            if left & 1:
                result = factor if result is None else self.builder.fmul(result, factor)
            left >>= 1
            factor = self.builder.fmul(factor, factor) if left else factor
        one = self.context.get_constant(kind, 1)
        return result if exponent > 0 else self.builder.fdiv(one, result)

    def _lower_call_normal(self, function: Any, expr: Any, signature: Any) -> Any:
        method = getattr(getattr(function, "template", None), "key", None)
        if method in ("array.reshape", "array.copy") and function.this.layout == signature.return_type.layout == "C":
            if method == "array.copy":
                return copied(self.context, self.builder, function.this, self.loadvar(expr.func.name))
            return self._reshaped(expr, function.this, signature)
        return super()._lower_call_normal(function, expr, signature)

    def _reshaped(self, call: Any, kind: types.Array, signature: Any) -> Any:
        """The contiguous array with these lengths (Numba's way, for strides of all kinds, takes it long to compile)."""
        given = [(self.loadvar(arg.name), self.typeof(arg.name)) for arg in call.args]
        if len(given) == 1 and isinstance(given[0][1], types.BaseTuple):
            given = [*zip(cgutils.unpack_tuple(self.builder, given[0][0]), given[0][1], strict=True)]
        lengths = [self.context.cast(self.builder, value, t, types.intp) for value, t in given]
        array = Described(self.context, self.builder, kind, self.loadvar(call.func.name))
        size = self.context.get_constant(types.intp, 1)
        strides: list[Any] = []
        for length in reversed(lengths):
            strides.insert(0, self.builder.mul(size, array.itemsize))
            size = self.builder.mul(size, length)
        with self.builder.if_then(self.builder.icmp_signed("!=", size, array.nitems), likely=False):
            words = "cannot reshape an array to a shape of another size"
            self.context.call_conv.return_user_exc(self.builder, ValueError, (words,))
        parts = lengths, strides, array.meminfo, array.data, array.parent
        out = described(self.context, self.builder, signature.return_type, *parts)._getvalue()
        self.incref(signature.return_type, out)
        return out

    def _accumulate(self, expr: Any, kind: Any) -> Any:
        left, right = (
            self.context.cast(self.builder, self.loadvar(side.name), self.typeof(side.name), kind)
            for side in (expr.lhs, expr.rhs)
        )
        if getattr(right, "opname", "") == "fmul":  # a product of a sum is rounded once, with the addition
            right.flags = [*right.flags, "contract"]
        add = self.builder.fadd if expr.immutable_fn is operator.add else self.builder.fsub
        return add(left, right, flags=REORDER)


def _waiting_on_the_stack(blocks: Any) -> dict[str, str]:
    """Variables of Numba's own that are another name of one variable, whichever way led there."""
    sources: dict[str, set[str]] = {}
    for block in blocks.values():
        for inst in block.find_insts(ir.Assign):
            if inst.target.name.startswith("$"):
                source = inst.value.name if isinstance(inst.value, ir.Var) else ""
                sources.setdefault(inst.target.name, set()).add(source)
    found = {name: next(iter(known)) for name, known in sources.items() if len(known) == 1}
    return {name: source for name, source in found.items() if source and source != name}


def _parts(index: types.Type) -> tuple[types.Type, ...]:
    return tuple(index) if isinstance(index, types.BaseTuple) else (index,)


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerWithFacts(BaseNativeLowering):
    _name = "srcgrad_lowering"

    @property
    def lowering_class(self) -> type:
        return FactLower


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPiece(ToBeLinked, LowerWithFacts):
    _name = "srcgrad_lower_piece"


def with_facts(passes: PassManager, facts: Facts, lowering: type = LowerWithFacts) -> PassManager:
    """Numba's nopython pipeline, with our own lowering, and intrinsics in the places of functions."""
    passes.add_pass_after(PutStandIns, IRProcessing)
    left_out = NOTHING_TO_DO if facts.replaced else NOTHING_TO_DO | ONE_TYPE_EACH
    passes.passes = [item for item in passes.passes if item[0] not in left_out]
    without_lifetimes(passes)
    return lowered_by(lowering, NativeLowering, passes)
