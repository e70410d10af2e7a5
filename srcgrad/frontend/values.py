"""What an expression of the user's program evaluates to while it is interpreted with types instead of numbers.

x * w[:, None]   →   ArrayValue(dims=(n, m), element=mul(x[#0, #1], w[#0]))        (#0, #1: the axes)
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.expressions import BOOL, INT64, Array, Const, Expr, Span
from ..ir.types import DictKind, ScalarType
from .array_values import ArrayValue


class NotConstant(Exception):
    """A number that is only known at run time stands where one is wanted now: an option of a function."""


@dataclass(frozen=True)
class Scalar:
    """A number.  `weak`: a Python number, which takes the dtype of the NumPy value that it meets (NEP 50).

    `types`: those that it has on different paths, where these differ (see `joined_numbers`).
    """

    expr: Expr
    weak: bool = False
    types: frozenset[ScalarType] = field(default=frozenset(), compare=False)

    @property
    def dtype(self) -> np.dtype:
        return self.expr.dtype

    @property
    def is_constant(self) -> bool:
        return isinstance(self.expr, Const)

    @property
    def value(self) -> Any:
        if not isinstance(self.expr, Const):
            raise NotConstant
        return self.expr.value


@dataclass(frozen=True)
class TupleValue:
    """A tuple or a list of known length (or a named tuple, where `kind` is its class; a dict, or an object).

    `identity`: of a list, dict or object that was made here.  All names of one change together (see `lists`).
    """

    items: tuple[Any, ...]
    kind: Any = tuple
    identity: object | None = None


@dataclass(frozen=True)
class Nested:
    """What the items of a list are that are lists of run-time length: `inner` says what is in those."""

    inner: Any


@dataclass(frozen=True)
class Layout:
    """What the items of a list are that hold arrays, or are objects: their parts lie one behind the other in a row.

    `parts`: the lengths of an array (none of a number), the layout of a tuple or an object, or what is known.
    """

    kind: Any
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Items:
    """A list whose length is known at run time only: its items, all alike, are the first rows of an array.

    `most`: a bound of the length.  `has_room`: the array has rows for all that is appended where this list is now;
    or, where it `grows`, gets them then.
    `inner`: what the items are, if not numbers or arrays: tuples, lists, `Nested` ones of run-time length, or what a
        `Layout` says; then `weak` may say what stands at each place of an item, or in each part, where that differs.
    """

    rows: Array
    length: Expr
    most: Expr
    weak: bool | tuple[ScalarType, ...] = False
    inner: Any = None
    identity: object | None = None
    has_room: bool = False
    grows: bool = False
    kind: type = list


def new_list(items: Sequence[Any]) -> TupleValue:
    """A list that is made here."""
    return TupleValue(tuple(items), list, object())


def new_dict(items: dict[Any, Any], cls: type = dict) -> TupleValue:
    """A dict that is made here."""
    return TupleValue(tuple(items.values()), DictKind(tuple(items), cls), object())


def new_set(items: Iterable[Any], cls: type = set, outside: bool = False) -> TupleValue:
    """A set as Python orders it: keys without values."""
    keys = tuple(cls(items))
    return TupleValue((NONE,) * len(keys), DictKind(keys, cls), None if outside or cls is not set else object())


@dataclass(frozen=True, eq=False)
class Static:
    """Anything known while the function is interpreted: a module, function, dtype, string, slice, None.

    Two are equal if they are one object, or plain values that are: what objects of the user's say of that, who may take
    all of a kind for equal, is not asked.
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and _is_one(self.value, other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))  # few are put into sets


def _is_one(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if type(x) is tuple:
        return len(x) == len(y) and all(map(_is_one, x, y))
    module = type(x).__module__.partition(".")[0]
    is_plain = module in ("builtins", "srcgrad") and not isinstance(x, (list, dict, set, bytearray))
    return (is_plain or isinstance(x, (np.generic, np.dtype))) and bool(x == y)


@dataclass(frozen=True, eq=False)
class Generator:
    """A call of a generator function, of which nothing has run yet.

    `parent`: the scope that the function was defined in, if that is one of ours.  `first`: the number of the first
    item, where they are numbered.  `scope`: what holds the arguments in the place of `given`, where it has a name.
    """

    source: Any
    function: Callable[..., Any] | None
    parent: Any
    given: dict[str, Any]
    first: Any = None
    scope: Any = None


@dataclass(frozen=True)
class OneOf:
    """One of several things that are known, by the path taken: a number says which."""

    number: Scalar
    options: tuple[Any, ...]


@dataclass(frozen=True)
class Lost:
    """What a name stands for that can't be read any more: why, and what helps."""

    why: str
    help: str


@dataclass(frozen=True)
class Unusable:
    """What a name may stand for as long as nobody reads it, as what is of one kind or of another: why, what helps.

    `span`: the place to show, where that is not where it is read.
    """

    name: str
    how: str
    helps: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True)
class FewerAxesFirst(Unusable):
    """What is a number at first in a loop, and then an array; or an array, and then one of more axes."""

    axes: int = 0

    @property
    def first(self) -> str:
        return told(self.axes)

    @property
    def then(self) -> str:
        return "one of more" if self.axes else "an array"


def told(axes: int) -> str:
    return f"an array of {axes} {'axis' if axes == 1 else 'axes'}" if axes else "a number"


@dataclass(frozen=True)
class ArrayOfNone(Unusable):
    """np.array([None, None])"""

    shape: tuple[int, ...]

    @staticmethod
    def of(shape: tuple[int, ...]) -> ArrayOfNone:
        return ArrayOfNone("this", "is an array of None", ("make it of numbers:  np.full(n, np.nan)",), shape)


@dataclass(frozen=True)
class ChosenObject:
    """One of several objects, by a number that is only known at run time, whose attribute is asked for."""

    objects: tuple[Any, ...]
    number: Expr


def is_unusable(value: Any) -> bool:
    return isinstance(value, Static) and isinstance(value.value, Unusable)


def is_lost(value: Any) -> bool:
    return isinstance(value, Static) and isinstance(value.value, Lost)


@dataclass(frozen=True, eq=False)
class Once:
    """An iterator with a name, or a view of a dict: what it goes through, and how it was made."""

    value: Any
    made: Any
    is_view: bool


@dataclass(frozen=True)
class Slice:
    """A slice: its bounds and its step are values, or None."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True)
class Range:
    start: Expr
    stop: Expr
    step: Expr


@dataclass(frozen=True)
class Grid:
    """np.ndindex, np.ndenumerate of an array, itertools.product and combinations: one loop for each of several values.

    `ascending`: each loop begins so far behind where the loop around it is.
    """

    over: tuple[Any, ...]
    array: ArrayValue | None = None
    ascending: int | None = None


@dataclass(frozen=True, eq=False)
class Indexed:
    """Something that a loop runs over, item by item: enumerate(x), zip(x, y).  `held`: the arrays that it reads."""

    count: Expr
    item: Callable[[Expr], Any]
    held: tuple[ArrayValue, ...] = ()


@dataclass(frozen=True, eq=False)
class Endless:
    """Items without an end, by number.

    `round`: how many there are until they come again; `known`: these; `source`: what they are copied from.
    """

    item: Callable[[Expr], Any]
    round: Expr | None = None
    known: tuple[Any, ...] = ()
    source: Any = None


@dataclass(frozen=True, eq=False)
class Closure:
    """A function defined inside the function: its definition, defaults, and the scope that it sees."""

    node: ast.FunctionDef | ast.Lambda
    defaults: dict[str, Any]
    frame: Any = field(repr=False)

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")


@dataclass(frozen=True)
class Unpacked:
    """*xs among the arguments of a call, where the number of items is only known at run time.

    `defaults`: the parameters of the called function that may get items in place of their defaults, as the call finds
    them; `kept`: how many of these, from the last, keep their defaults.
    """

    value: Any
    kept: int = 0
    defaults: list[str] | None = None


@dataclass(frozen=True)
class Method:
    """An attribute of an array or scalar, about to be called."""

    owner: Any
    name: str


@dataclass(frozen=True)
class Bound:
    """A function with its first arguments: a method of the user's, or a functools.partial."""

    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Differentiated(Bound):
    """grad(f, **options) of a function that is defined inside the function."""

    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RandomSource:
    """A generator of random numbers: an array says where it is at.  `is_old`: it is like np.random."""

    state: Array
    is_old: bool = False


class Undefined:
    """A name that is not bound on every path."""


UNDEFINED = Undefined()
NONE = Static(None)


def constant(value: Any) -> Any:
    """A Python object of the user's program as a value, where it is a number or a container of them."""
    if isinstance(value, bool):
        return Scalar(Const(value, BOOL), weak=True)
    if isinstance(value, int):
        return Scalar(Const(value, INT64), weak=True)
    if isinstance(value, float) and not isinstance(value, np.floating):
        return Scalar(Const(value, np.dtype(np.float64)), weak=True)
    if isinstance(value, complex) and not isinstance(value, np.complexfloating):
        return Scalar(Const(value, np.dtype(np.complex128)), weak=True)
    if isinstance(value, np.generic) and value.dtype.kind in "fciub":
        return Scalar(Const(value.item(), value.dtype))
    if isinstance(value, (tuple, list)) and not hasattr(type(value), "n_sequence_fields"):  # sys.float_info has names
        return TupleValue(tuple(constant(item) for item in value), type(value))
    if isinstance(value, slice):
        return Slice(*(None if part is None else constant(part) for part in (value.start, value.stop, value.step)))
    if type(value) in (set, frozenset):
        return new_set(value, type(value), outside=True)
    if type(value) in (dict, OrderedDict):
        return TupleValue(tuple(constant(item) for item in value.values()), DictKind(tuple(value), type(value)))
    return Static(value)


def is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def static_int(value: Any) -> int | None:
    """The integer that a value is known to be."""
    if isinstance(value, Scalar) and value.is_constant and value.dtype.kind in "iub":
        return int(value.value)
    return None


class Template(str):
    """A text with fields for numbers and arrays that are only known at run time: good for messages, not to decide by.

    It is what `str.format` takes, so braces of the text itself are doubled.  `whole`: it says all that Python's text
    does, of numbers alone.
    """

    values: tuple[Scalar | ArrayValue, ...]
    whole: bool

    def __new__(cls, text: str, values: tuple[Scalar | ArrayValue, ...] = (), whole: bool = True) -> Template:
        self = super().__new__(cls, text)
        self.values, self.whole = values, whole
        return self

    @staticmethod
    def of(pieces: Sequence[str]) -> str:
        """The pieces in one; a plain text where all of them are."""
        if not any(isinstance(piece, Template) for piece in pieces):
            return "".join(pieces)
        text = "".join(str(p) if isinstance(p, Template) else p.replace("{", "{{").replace("}", "}}") for p in pieces)
        parts = [p for p in pieces if isinstance(p, Template)]
        return Template(text, tuple(value for p in parts for value in p.values), all(p.whole for p in parts))

    def __eq__(self, other: object) -> bool:
        """Are these the same numbers in the same text?  (Of other numbers, nobody knows whether they are the same.)"""
        if not isinstance(other, Template):
            return False
        return str(self) == str(other) and (self.values, self.whole) == (other.values, other.whole)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __add__(self, other: str) -> str:
        return Template.of([self, other])

    def __radd__(self, other: str) -> str:
        return Template.of([other, self])

    def __mul__(self, count: Any) -> str:
        return Template.of([self] * count)

    __rmul__ = __mul__


@dataclass(frozen=True)
class MadeException:
    """An exception: its class, and what that was called with."""

    error: type[BaseException]
    given: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()
