"""`for i in range(n)`: an index and a count in two slots, and nothing else in memory.

Numba has ten slots for every such loop: for the range, for its iterator, for a pair of an index and whether there is
one, each once more wherever it is taken apart.  LLVM takes slots away again, one function at a time, and looks through
all blocks for each: in long functions most of its time.
"""

from __future__ import annotations

from typing import Any

from llvmlite.ir import Constant
from numba.core import cgutils, types

from srcgrad.backends.numbers import NumberLower

INDEX, STEP, COUNT = 0, 2, 3  # what an iterator over a range is made of, beside where it stops


class RangeLower(NumberLower):
    """Lowering of one function: how its loops go on."""

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op in ("pair_first", "pair_second"):
            value = self.builder.extract_value(self.loadvar(expr.value.name), int(expr.op == "pair_second"))
            if expr.op == "pair_first":
                self.incref(resty, value)
            return value
        if expr.op in ("getiter", "iternext"):
            kind = self.typeof(expr.value.name)
            if expr.op == "getiter" and isinstance(kind, types.RangeType):
                return self._begun(self.loadvar(expr.value.name))
            if expr.op == "iternext" and isinstance(kind, types.RangeIteratorType):
                return self._next(resty, self.loadvar(expr.value.name))
        return super().lower_expr(resty, expr)

    def _lower_call_normal(self, function: Any, expr: Any, signature: Any) -> Any:
        if not isinstance(signature.return_type, types.RangeType) or getattr(function, "typing_key", None) is not range:
            return super()._lower_call_normal(function, expr, signature)
        given = self.fold_call_args(function, signature, expr.args, expr.vararg, expr.kws)
        number = self.context.get_value_type(signature.return_type.dtype)
        start, stop, step = (number(0), *given, number(1)) if len(given) == 1 else (*given, number(1))[:3]
        return cgutils.pack_struct(self.builder, (start, stop, step))

    def _begun(self, value: Any) -> Any:
        """The iterator at its first index: Numba's way to count how many there are."""
        builder = self.builder
        start, stop, step = cgutils.unpack_tuple(builder, value, 3)
        zero, one = start.type(0), start.type(1)
        index, count = (cgutils.alloca_once(builder, start.type) for _ in range(2))
        builder.store(start, index)
        if isinstance(step, Constant) and abs(step.constant) == 1:  # nothing to divide
            way = builder.sub(stop, start) if step.constant == 1 else builder.sub(start, stop)
            builder.store(builder.select(builder.icmp_signed(">", way, zero), way, zero), count)
            return cgutils.pack_struct(builder, (index, stop, step, count))
        with builder.if_then(builder.icmp_unsigned("==", step, zero), likely=False):
            words = "range() arg 3 must not be zero"
            self.context.call_conv.return_user_exc(builder, ValueError, (words,))
        way = builder.sub(stop, start)
        upwards = builder.icmp_signed(">", way, zero)
        with builder.if_else(builder.xor(upwards, builder.icmp_signed(">", step, zero))) as (none, some):
            with none:
                builder.store(zero, count)
            with some:
                rest = builder.srem(way, step)
                rest = builder.select(upwards, rest, builder.neg(rest))
                more = builder.select(builder.icmp_signed(">", rest, zero), one, zero)
                builder.store(builder.add(builder.sdiv(way, step), more), count)
        return cgutils.pack_struct(builder, (index, stop, step, count))

    def _next(self, resty: Any, iterator: Any) -> Any:
        """The index, and whether there is one."""
        builder = self.builder
        slot, step, count = (builder.extract_value(iterator, part) for part in (INDEX, STEP, COUNT))
        left = builder.load(count)
        is_valid = builder.icmp_signed(">", left, left.type(0))
        index = builder.load(slot)
        with builder.if_then(is_valid):
            builder.store(builder.sub(left, left.type(1), flags=["nsw"]), count)
            builder.store(builder.add(index, step), slot)
        pair = self.context.get_constant_undef(resty)
        return builder.insert_value(builder.insert_value(pair, index, 0), is_valid, 1)


__all__ = ["RangeLower"]
