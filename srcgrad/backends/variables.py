"""Variables of compiled code: few of them have slots, and of an array that goes, LLVM is told about its owner alone.

Numba sets a variable that is deleted to zero, and reads the whole of it first: for each part of each array LLVM then
looks through all blocks of the function for the way from there to its uses.  Of large functions that was the most part
of compiling.  What is set once (`set_once`) has no slot at all, but for the owner of an array that may have been
deleted before, on one of the ways to where it is deleted (`lifetimes.let_go_once`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.lowering import Lower

from srcgrad.backends.folding import FoldingBuilder
from srcgrad.backends.lifetimes import LET_GO_ONCE
from srcgrad.backends.set_once import set_once

OWNER = types.MemInfoPointer(types.voidptr)
NOBODY = ir.Constant(cgutils.voidptr_t, None)


_owning: dict[int, bool] = {}  # whether values of a type hold on to memory


class VariableLower(Lower):
    """Lowering of one function: what is kept in the slots of variables."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.builder = FoldingBuilder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        by_numba = self._singly_assigned_vars
        more = {name for name in set_once(self.blocks) - by_numba if not self._owns_more(self.typeof(name))}
        arrays = {name for name in more if isinstance(self.typeof(name), types.Array)}
        self._owners: dict[str, Any] = dict.fromkeys(arrays - self.metadata[LET_GO_ONCE])
        by_numba |= more

    def _hold(self, name: str, owner: Any) -> None:
        """Of an array without a slot: what counts those that hold on to it has one, and is let go as this changes."""
        if self._owners[name] is None:
            self._owners[name] = cgutils.alloca_once(self.builder, NOBODY.type, name=name)
            with self.builder.goto_entry_block():
                self.builder.store(NOBODY, self._owners[name])
        slot = self._owners[name]
        super().decref(OWNER, self.builder.load(slot))
        self.builder.store(owner, slot)

    def alloca(self, name: str, type: types.Type) -> Any:
        if self._owns_more(type):
            return super().alloca(name, type)
        with self.builder.goto_entry_block():
            slot = self.builder.alloca(self.context.get_value_type(type), name=name)
            self._clear(type, slot)
        return slot

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        kind = self.typeof(name)
        if name in self._owners:
            self._hold(name, self.builder.extract_value(value, self._position(kind, "meminfo")))
            self._blk_local_varmap[name] = value
            return
        if argidx is not None or self._owns_more(kind) or self._is_value(name):
            super().storevar(value, name, argidx)
            return
        self._alloca_var(name, kind)
        slot = self.getvar(name)
        self._release(kind, slot)
        self.builder.store(value, slot)

    def delvar(self, name: str) -> None:
        kind = self.typeof(name)
        if name in self._owners:
            self._hold(name, NOBODY)
            return
        if not self._owns(kind):
            return
        if self._owns_more(kind) or name in self._blk_local_varmap or self._disable_sroa_like_opt:
            super().delvar(name)
            return
        self._singly_assigned_vars.discard(name)  # it is deleted ahead of where it is made
        self._alloca_var(name, kind)
        slot = self.getvar(name)
        self._release(kind, slot)
        self._clear(kind, slot)

    def field(self, array: Any, name: str) -> Any:
        """Of what describes an array, one part."""
        if array.name in self._blk_local_varmap and not self._disable_sroa_like_opt:
            return self.builder.extract_value(self.loadvar(array.name), self._position(self.typeof(array.name), name))
        return self.builder.load(self._place_of(self.typeof(array.name), self.getvar(array.name), name))

    def _is_value(self, name: str) -> bool:
        """Is it set once, ahead of all that reads it?  It has no slot then."""
        return name in self._singly_assigned_vars and not self._disable_sroa_like_opt

    def _owns_more(self, kind: types.Type) -> bool:
        """Does it hold on to memory, and is no plain array?"""
        return not isinstance(kind, types.Array) and self._owns(kind)

    def _release(self, kind: types.Type, slot: Any) -> None:
        if isinstance(kind, types.Array):
            super().decref(OWNER, self.builder.load(self._place_of(kind, slot, "meminfo")))

    def incref(self, typ: types.Type, val: Any) -> None:
        if self._owns(typ):
            super().incref(*self._owner(typ, val))

    def decref(self, typ: types.Type, val: Any) -> None:
        if self._owns(typ):
            super().decref(*self._owner(typ, val))

    def _owns(self, kind: types.Type) -> bool:
        """Does it hold on to memory?  Numba takes tuples of numbers apart to find none."""
        if isinstance(kind, types.Array):
            return True
        code = kind._code  # Numba gives no other type the same
        if code not in _owning:
            _owning[code] = bool(self.context.data_model_manager[kind].contains_nrt_meminfo())
        return _owning[code]

    def _owner(self, kind: types.Type, value: Any) -> tuple[types.Type, Any]:
        """Of an array, what counts those that hold on to it: Numba takes all of the array apart to look for more."""
        if not isinstance(kind, types.Array):
            return kind, value
        return OWNER, self.builder.extract_value(value, self._position(kind, "meminfo"))

    def _clear(self, kind: types.Type, slot: Any) -> None:
        """It owns nothing: Numba may delete a variable twice."""
        if isinstance(kind, types.Array):
            place = self._place_of(kind, slot, "meminfo")
            self.builder.store(ir.Constant(place.type.pointee, None), place)

    def _position(self, kind: types.Array, name: str) -> int:
        return int(self.context.data_model_manager[kind].get_field_position(name))

    def _place_of(self, kind: types.Array, slot: Any, name: str) -> Any:
        return cgutils.gep_inbounds(self.builder, slot, 0, self._position(kind, name))


__all__ = ["VariableLower"]
