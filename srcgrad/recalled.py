"""What was generated for one function serves others that are made of the same code: lambdas in a loop.

    for batch in batches:
        grad(lambda p: loss(p, batch)).backward(p)      generated for the first batch, and found again for the others

A function that is made anew has cells of its own.  So what is remembered says of them where they are (`(0, 2)` is the
third cell of the function in the first), and holds nothing that they contain.  It serves another function if that one
reads the same objects from outside where the text was made for them, and values of the same types elsewhere.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from srcgrad.arguments import is_simple_object
from srcgrad.assumptions import picture
from srcgrad.binding import Given
from srcgrad.emit.gpu.kernels import Form
from srcgrad.errors import SrcgradError
from srcgrad.frontend.arguments import type_of
from srcgrad.frontend.calls.parameters import array_defaults
from srcgrad.frontend.outside import (
    Fixed,
    FormOf,
    HasAttribute,
    InCell,
    InGroup,
    InObject,
    InScope,
    MadeOf,
    Place,
    Said,
    holds_arrays,
    is_whole,
)
from srcgrad.frontend.seeds import LIKE_THE_OUTPUT
from srcgrad.ir.types import ArrayType, ScalarType, StaticType, TupleType
from srcgrad.options import Options
from srcgrad.pipeline import Capture, Generated

REMEMBERED = 64  # modules, those generated last
ENOUGH = 2  # values of a number that goes on changing
SHORT = 16  # items, each of which would be an argument
PLAIN = (int, float, complex, str, bytes, type(None), type, np.generic, np.dtype, np.ufunc, BuiltinFunctionType,
         ScalarType, ArrayType, Options, Form)  # fmt: skip

What = tuple[str, Any, Any]  # a kind, types and cotangents
Path = tuple[int | str, ...]  # to a cell: of the function, then of a function that is in that cell, …; or a name
Found = dict[Path, CellType]
Again = Callable[["Surroundings"], Place]  # the same place, in another function


class Recalled:
    """The modules that were generated last."""

    def __init__(self) -> None:
        self._last: deque[_Module] = deque(maxlen=REMEMBERED)

    def get(
        self, function: Any, what: What, how: tuple[Any, ...], make: Callable[[frozenset[Any]], Generated]
    ) -> Generated:
        """What serves `function`, with that one's places; else what `make` makes.

        It is told the keys of places where other numbers have been: those may be handed in.
        """
        around = Surroundings.of(function, what)
        found = frozenset[Any]() if around is None else self._find(around, how)
        if isinstance(found, Generated):
            return found
        settled = what[0] in ("forward", "pullback") or how[0].again  # halves have to agree
        try:
            made = make(frozenset() if settled else found)
        except SrcgradError:
            if settled or not found:
                raise
            made, settled = make(frozenset()), True  # a number must be known, as an axis must
        if around is not None and all(map(_is_plain, (*around.what, *how, made.results, made.outputs))):
            with suppress(_OfItsOwn):
                self._last.append(_Module(around, how, made, settled))
        return made

    def _find(self, around: Surroundings, how: tuple[Any, ...]) -> Generated | frozenset[Any]:
        """A number that is another than two were made for goes on changing, as an index of the loop around does."""
        others, settled = Counter[Any](), False
        for module in reversed(self._last):
            if module.serves(around, how):
                found = module.for_function(around)
                if isinstance(found, Generated):
                    return found
                others.update(found)
                settled |= module.settled
        return frozenset(key for key, times in others.items() if times >= ENOUGH and not settled)


def _is_plain(value: Any) -> bool:
    """Does it hold nothing but what is the same for all functions?"""
    match value:
        case TupleType(items) | tuple(items) | list(items):
            return all(map(_is_plain, items))
        case StaticType(value):
            return _is_plain(value)
        case FunctionType():
            return value.__closure__ is None
    return isinstance(value, PLAIN) or value is LIKE_THE_OUTPUT


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a function is made of, beside its code: cells, plain functions in them, and what a partial is given."""

    root: Any
    cells: Found
    functions: dict[Path, FunctionType]
    objects: dict[Path, Any]  # of which it reads attributes: in cells, or given, as `self` is
    what: What  # it is wanted for, with paths in the places of functions that are arguments
    description: tuple[Any, ...]
    parts: tuple[Any, ...]  # codes, scopes, classes (held weakly): each must be the very same object

    @classmethod
    def of(cls, root: Any, what: What) -> Surroundings | None:
        """None for what is not plainly made of these."""
        given, function = (root.given, root.function) if isinstance(root, Given) else ({}, root)
        if not _is_plainly_made(function):
            return None
        objects: dict[Path, Any] = {(name,): value for name, value in given.items() if is_simple_object(value)}
        arguments: dict[Path, Any] = {
            ("argument", k): value for k, value in enumerate(_functions(what[1])) if _is_plainly_made(value)
        }
        functions: dict[Path, FunctionType] = {(): function, **arguments}
        cells: Found = {}
        first: dict[int, Any] = {id(function): ()}  # where a cell, a function or an object is met first
        met = [first.setdefault(id(value), path) for path, value in (*objects.items(), *arguments.items())]
        description: list[Any] = [*given, *met, getattr(root, "anew", None), getattr(root, "by_name", None)]
        parts: list[Any] = [type(root), *(weakref.ref(type(value)) for value in objects.values())]
        work: list[Path] = list(functions)
        while work:
            path = work.pop()
            inner = functions[path]
            description.append((path, inner.__name__, _globals_named(inner.__code__, inner.__globals__)))
            parts += [inner.__code__, inner.__globals__]
            for k, cell in enumerate(inner.__closure__ or ()):
                here = (*path, k)
                cells[here] = cell
                known = first.setdefault(id(cell), here)
                description.append((here, known))
                content = _content(cell)
                is_function = _is_plainly_made(content)
                if known == here and (is_function or is_simple_object(content)):
                    known = first.setdefault(id(content), here)
                    met.append(known)
                    description.append((here, known, is_function))
                    if known == here and is_function:
                        functions[here] = content
                        work.append(here)
                    elif known == here:
                        objects[here] = content
                        parts.append(weakref.ref(type(content)))
        called = [inner for path, inner in functions.items() if path or () in met]  # else the arguments of all calls
        try:
            description += [picture(_constant_defaults(inner), _weakly) for inner in called]
        except _OfItsOwn:
            return None
        known = {id(value): path for path, value in arguments.items()}
        return cls(root, cells, functions, objects, _by_paths(what, known), tuple(description), tuple(parts))

    def is_like(self, other: Surroundings) -> bool:
        return (
            len(self.parts) == len(other.parts)
            and all(mine is theirs for mine, theirs in zip(self.parts, other.parts, strict=True))
            and self.description == other.description
            and repr(self.what) == repr(other.what)  # `==` takes the name of a dtype for that dtype
            and self.what == other.what
        )


def _functions(types: Any) -> Iterator[Any]:
    """The plain functions among arguments."""
    match types:
        case TupleType(items) | tuple(items):
            for item in items:
                yield from _functions(item)
        case StaticType(function) if _is_plainly_made(function):
            yield function


def _by_paths(types: Any, known: dict[int, Path]) -> Any:
    match types:
        case TupleType(items):
            return replace(types, items=_by_paths(items, known))
        case tuple():
            return tuple(_by_paths(item, known) for item in types)
        case StaticType(value) if id(value) in known:
            return StaticType(known[id(value)])
    return types


def _is_plainly_made(function: Any) -> bool:
    return type(function) is FunctionType and not vars(function)


def _globals_named(code: CodeType, scope: dict[str, Any]) -> tuple[Any, ...]:
    """Which of the names in its text are globals: the others are Python's own."""
    inner = (_globals_named(constant, scope) for constant in code.co_consts if isinstance(constant, CodeType))
    return tuple(name in scope for name in code.co_names), *inner


def _constant_defaults(function: FunctionType) -> list[Any]:
    """Those that the text has as they are; arrays are handed in."""
    values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
    return [type(value) if holds_arrays(value) else value for value in values]


def _default(function: FunctionType, name: str) -> Fixed:
    return Fixed((id(function), name), array_defaults(function)[name], function)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


class _OfItsOwn(Exception):
    """Something that other functions do not have."""


class _Module:
    """What was generated, and what must be found where the function reads from outside."""

    def __init__(self, around: Surroundings, how: tuple[Any, ...], generated: Generated, settled: bool) -> None:
        own = _Own(around)
        if any(map(own.has, generated.globals.values())) or "srcgrad.runtime import user\n" in generated.text:
            raise _OfItsOwn
        self.around = replace(around, root=None, cells={}, functions={}, objects={})
        self.how, self.settled = how, settled
        self.captured = [(c.name, own.again(c.place), c.type) for c in generated.captured]
        self.assumed = [(own.again(place), own.picture(place, value)) for place, value in generated.assumed]
        self.generated = replace(generated, captured=(), assumed=())

    def serves(self, around: Surroundings, how: tuple[Any, ...]) -> bool:
        return self.around.is_like(around) and self.how == how

    def for_function(self, around: Surroundings) -> Generated | list[Any]:
        """With the places of another function; where only numbers are others, the keys of their places."""
        own, assumed, others = _Own(around), [], []
        try:
            captured = tuple(Capture(name, again(around), kind) for name, again, kind in self.captured)
            if any(type_of(capture.name, capture.place()) != capture.type for capture in captured):
                return []
            for again, pictured in self.assumed:
                place = again(around)
                value = place()
                found = own.picture(place, value)
                if found != pictured:
                    if not _is_other_number(value, found, pictured):
                        return []
                    others.append(place.key)
                assumed.append((place, value))
        except Exception:  # it is gone, or can't be taken: interpreting says so at the user's line
            return []
        if others:
            return others
        return replace(self.generated, captured=captured, assumed=tuple(assumed))


def _is_other_number(value: Any, found: Any, pictured: Any) -> bool:
    """Is it a whole number where there was another, or a short list with other numbers in it?"""
    if is_whole(value):
        return isinstance(pictured, tuple) and found[0] is pictured[0]
    is_short = isinstance(value, (tuple, list, dict)) and len(value) <= SHORT
    return is_short and _without_numbers(found) == _without_numbers(pictured)


def _without_numbers(pictured: Any) -> Any:
    match pictured:
        case (kind, str()) if issubclass(kind, (int, float, complex, np.number)) and kind is not bool:
            return kind
        case tuple() | list():
            return [_without_numbers(part) for part in pictured]
    return pictured


class _Own:
    """What belongs to one function, and how the same is found in another."""

    def __init__(self, around: Surroundings) -> None:
        self._root = id(around.root)
        self._partials = {id(part): k for k, part in enumerate(getattr(around.root, "partials", ()))}
        self._cells = {id(cell): path for path, cell in reversed(around.cells.items())}
        self._functions = {id(function): path for path, function in reversed(around.functions.items())}
        self._objects = {id(value): name for name, value in reversed(around.objects.items())}

    def has(self, value: Any) -> bool:
        return id(value) in self._functions or id(value) in self._objects

    def again(self, place: Place) -> Again:
        """How to find the place in a function like this one."""
        match place:
            case InCell(cell) if id(cell) in self._cells:
                path = self._cells[id(cell)]
                return lambda around: InCell(around.cells[path], around.functions[path[:-1]])
            case InCell(cell, reader):
                held = self._weakly(reader)
                k = next(k for k, own in enumerate(reader.__closure__) if own is cell)  # `==` is of what they hold
                return lambda around: _in_cell(_alive(held), k)
            case InScope():
                return lambda around: place
            case InGroup(group, index):
                again = self.again(group)
                return lambda around: InGroup(again(around), index)
            case FormOf(group):
                form, again = type(place), self.again(group)
                return lambda around: form(again(around))
            case Fixed((holder, name)) | Said((holder, name)) if holder == self._root:
                return lambda around: around.root.place_of(name)
            case Fixed((holder, name)) if holder in self._functions:
                path = self._functions[holder]
                return lambda around: _default(around.functions[path], name)
            case MadeOf(part, name) if id(part) in self._partials:
                k = self._partials[id(part)]
                return lambda around: MadeOf(around.root.partials[k], name)
            case MadeOf(function, name) if id(function) in self._functions:
                path = self._functions[id(function)]
                return lambda around: MadeOf(around.functions[path], name)
            case InObject(target, name) | HasAttribute(target, name) if id(target) in self._objects:
                kind, known = type(place), self._objects[id(target)]
                return lambda around: kind(around.objects[known], name)
            case InObject(target, name) | HasAttribute(target, name):
                kind, held = type(place), self._weakly(target)
                return lambda around: kind(_alive(held), name)
        raise _OfItsOwn

    def picture(self, place: Place, value: Any) -> Any:
        """What equals the picture in another function where both mean the same to the text."""
        maker = place.group if isinstance(place, InGroup) else place
        of_partial = isinstance(maker, MadeOf) and id(maker.target) in self._partials
        if (of_partial or isinstance(place, (InCell, Fixed))) and self.has(value):  # (that these are alike is known)
            return self._functions.get(id(value)), self._objects.get(id(value))
        if of_partial and maker is place:
            return None  # (what it holds is looked at by itself)
        if isinstance(maker, MadeOf) and id(maker.target) in self._functions:
            return None  # (and that of these)
        if isinstance(value, MethodType) and id(value.__self__) in self._objects:
            return self._objects[id(value.__self__)], picture(value.__func__, self._weakly)
        if isinstance(value, FunctionType):
            return picture(value, self._weakly), _globals_named(value.__code__, value.__globals__)
        return picture(value, self._weakly)

    def _weakly(self, value: Any) -> Callable[[], Any]:
        if self.has(value) or self.has(getattr(value, "__self__", None)):
            raise _OfItsOwn
        return _weakly(value)


def _weakly(value: Any) -> Callable[[], Any]:
    """The object, as long as it is there for others."""
    if isinstance(value, PLAIN) and not isinstance(value, type):  # classes have functions with cells
        return lambda: value
    try:
        return weakref.WeakMethod(value) if isinstance(value, MethodType) else weakref.ref(value)
    except TypeError:
        raise _OfItsOwn from None


def _in_cell(reader: FunctionType, k: int) -> InCell:
    return InCell((reader.__closure__ or ())[k], reader)


def _alive(held: Callable[[], Any]) -> Any:
    if (value := held()) is None:
        raise _OfItsOwn
    return value
