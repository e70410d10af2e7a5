"""Generated source → machine code, by Numba, kept on disk.

compile_entry(generated, (array(float64, 1d, C),), options, cache=True)  →  a CompileResult with an entry point
Dispatcher(2, build, …)    a callable of two leaves; `build(leaves)` says what to compile for types not seen before
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import caching, types, typing, utils
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _DispatcherBase
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.serialize import dumps

from srcgrad.backends import files
from srcgrad.backends.boxing import EntryCompiler, Promised, kinds
from srcgrad.backends.direct import Direct, Outside, stub
from srcgrad.backends.own_functions import can_be_kept, compile_own, room_for
from srcgrad.emit.brief import ALWAYS
from srcgrad.emit.facts import Facts
from srcgrad.emit.imports import full_name, is_found
from srcgrad.garbage import no_search_for_garbage
from srcgrad.ir.types import ChosenKind, DictKind, ListKind, RecordKind, TextKind
from srcgrad.runtime import threads
from srcgrad.runtime.resolved import calls_resolved_once

LOCK = global_compiler_lock  # one lock for all: Numba's own, so that two locks can't be taken in two orders

_compiled: dict[Any, CompileResult] = {}  # by the text and all that goes with it, and the very objects named in it


@no_search_for_garbage()
def compile_entry(generated: Any, arguments: tuple[types.Type, ...], options: Any, cache: bool) -> CompileResult:
    """Machine code for the entry of a generated module, for arguments of these types."""
    flags, portable = _flags(options, generated.facts, arguments), _is_portable(generated)
    objects = {name: full_name(obj) for name, obj in generated.globals.items()}
    what = generated.text, generated.entry, arguments, generated.results, objects
    facts = [_in_order(getattr(generated.facts, field.name)) for field in fields(generated.facts)]
    key = files.digest(*what, facts, sorted(flags.items()), _versions())
    held = key, *map(id, (*generated.globals.values(), *_objects_in(generated.results)))
    if portable and held in _compiled:
        return _compiled[held]
    module = files.load(generated.entry, key, generated.text, generated.globals)
    entry = getattr(module, generated.entry)
    if generated.facts.pieces:
        threads.settle()
    compile_own(module, generated.entry, generated.facts, flags)
    inner = CPUDispatcher(entry, targetoptions=flags, pipeline_class=EntryCompiler)
    if cache and portable:
        inner._cache = CheckedCache(module, generated.entry)
    with calls_resolved_once(cpu_target.typing_context), room_for(module, generated.entry):
        inner.compile(typing.signature(Promised(generated.results, generated.facts), *arguments))
    _keep_alive.append(inner)
    result = inner.overloads[arguments]
    return _compiled.setdefault(held, result) if portable else result


_keep_alive: list[CPUDispatcher] = []  # Numba forgets a function when its dispatcher goes


def _in_order(fact: Any) -> Any:
    return fact if isinstance(fact, int) else sorted(fact)


def _flags(options: Any, facts: Facts, arguments: tuple[types.Type, ...]) -> dict[str, Any]:
    has_array = any(isinstance(kind, types.Array) for kind in arguments)
    is_brief = facts.brief == ALWAYS or (facts.brief > 0 and not has_array)
    # fmt: off
    return {
        "nopython": True,
        "no_cfunc_wrapper": True,         # nobody calls it from C
        "nogil": not is_brief,
        "error_model": "numpy",           # x / 0 is inf, as in NumPy; and the branch would stop vectorisation
        "fastmath": options.fastmath,     # strict unless the user asked: reordering breaks Kahan sums and (x + M) - M
        "boundscheck": options.boundscheck,
    }
    # fmt: on


def _versions() -> tuple[Any, ...]:
    target = cpu_target.target_context.codegen().magic_tuple()  # triple, processor, features
    return files.own_sources(), numba.__version__, np.__version__, utils.PYVERSION, target


def _is_portable(generated: Any) -> bool:
    """Whether another process can find the same objects by name: `except MyError` needs the very same class."""
    if generated.facts.interpreted or "\nfrom srcgrad.runtime import user\n" in generated.text:
        return False  # functions of the user's, whose text is not in it
    return all(_is_importable(obj) for obj in (*generated.globals.values(), *_objects_in(generated.results)))


def _objects_in(structure: Any) -> Iterator[Any]:
    """What stands in a structure of results, but for what its `repr` says."""
    for kind in kinds(structure):
        match kind:
            case DictKind(keys=keys, cls=cls, default=default):
                yield from (cls, *(() if default is None else (default,)), *(key for key in keys if not _is_said(key)))
            case RecordKind(cls=cls):
                yield cls
            case ListKind() | TextKind() | ChosenKind():
                pass
            case _:
                yield kind


def _is_said(key: Any) -> bool:
    return all(map(_is_said, key)) if type(key) is tuple else type(key) in (str, bytes, int, float, bool, type(None))


def _is_importable(obj: Any) -> bool:
    return isinstance(obj, ModuleType) or (full_name(obj)[0] != "__main__" and is_found(obj))


# --------------------------------------------------------------------------------------------------------------


class CheckedCache(caching.NullCache):
    """Numba's cache, but nothing is unpickled unless its hash matches: flipped bytes would abort the process."""

    def __init__(self, module: ModuleType, entry: str) -> None:
        self._module, self._entry = module, entry
        self._path = Path(module.__file__ or "").with_suffix(".bin")

    @property
    def cache_path(self) -> str:
        return str(self._path.parent)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        target_context.refresh()  # machine code refers to what this brings up: without it, a segmentation fault
        payload = files.read(self._path)
        if payload is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(payload))
        except Exception:  # e.g. a module that it refers to has gone: then compile again
            return None

    def save_overload(self, sig: Any, result: CompileResult) -> None:
        if not result.library.has_dynamic_globals and can_be_kept(self._module, self._entry):
            files.write(self._path, dumps(result._reduce()))


# --------------------------------------------------------------------------------------------------------------


class Dispatcher(_DispatcherBase):
    """Numba's dispatcher in C, with our own answer to types not seen before."""

    _fold_args = False  # no defaults, no keywords: leaves only
    typeof_pyval = Direct.typeof_pyval

    def __init__(self, count: int, build: Callable[[tuple[Any, ...]], Any], options: Any, cache: bool) -> None:
        self.targetctx = cpu_target.target_context
        self.typingctx = cpu_target.typing_context
        self._build, self._options, self._cached = build, options, cache
        self._watchers: list[tuple[Direct, tuple[type, ...], Any, Outside]] = []
        function = stub(count)
        asks_us = True  # what has no type, such as an empty list from outside, is for `build` to refuse or to go round
        super().__init__(count, function, utils.pysignature(function), asks_us, exact_match_required=True)

    def tell(self, direct: Direct, kinds: tuple[type, ...], source: Any, outside: Outside) -> None:
        """Have it know what is compiled here, now and later, for arguments of these Python types."""
        self._watchers.append((direct, kinds, source, outside))
        for result in self.overloads.values():
            direct.add(kinds, source, result, outside)

    def _compile_for_args(self, *values: Any, **unused: Any) -> Callable[..., Any]:
        """What to call for these arguments (Numba's C code calls this where it knows no overload)."""
        with LOCK:
            self._compilation_chain_init_hook()
            arguments = tuple(map(self.typeof_pyval, values))
            if arguments not in self.overloads:  # another thread may have been here
                built = self._build(values)
                if not hasattr(built, "text"):
                    return built  # another way to call, found while building
                result = compile_entry(built, arguments, self._options, self._cached)
                self.add_overload(result)
                for direct, own, source, outside in self._watchers:
                    direct.add(own, source, result, outside)
            return self.overloads[arguments].entry_point


def result_types(result: CompileResult) -> tuple[Any, types.Type]:
    """The structure of what was compiled, and the types of its leaves in memory."""
    promised = result.signature.return_type
    return promised.structure, promised.flat


__all__ = ["LOCK", "CheckedCache", "Dispatcher", "compile_entry", "result_types"]
