"""Numbers that are of one type on one path and of another on the other: one variable holds either.

t = 0              t is uint8, and known to be Python's int or NumPy's uint8:  t + v, of uint8, is uint8 on both
if c: t = u[i]     paths;  t - 1 is -1 on one and 255 on the other, and is refused

n = 1              n is float64, and known to be an int or a float:  n * x is the same on both paths;
if c: n = 0.5      isinstance(n, int) is not, and what an array made of n holds after a write, and both are refused
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..ir.expressions import BOOL, INT64, Array, Call, Const, Expr, Load, Var, is_inexact
from ..ir.types import ScalarType
from .array_values import ArrayValue
from .values import Scalar

if TYPE_CHECKING:
    from .builder import Builder

MAY_WRAP = frozenset(("add", "sub", "mul", "neg", "pow", "abs", "invert", "lshift"))
BY_ZERO = ("floordiv", "mod", "fmod")
OF_THE_WIDER = ("add", "sub", "mul", "div")  # type of two
LOGICAL = ("add", "invert")  # of two bools of NumPy's: 1 + 1 is True
WITHIN_A_DOMAIN = frozenset((  # nan outside, and a complex number of a complex one
    "sqrt", "log", "log2", "log10", "log1p", "arcsin", "arccos", "arccosh", "arctanh", "pow",
))  # fmt: skip


def join_scalars(x: Scalar, y: Scalar) -> Scalar:
    """A number of the type that a variable for either has."""
    dtype, weak = _common_type(x, y)
    first, second = types_of(None, x), types_of(None, y)
    return Scalar(Var("", dtype), weak, several(_types_of_either(first, second)))


def _types_of_either(x: frozenset[ScalarType], y: frozenset[ScalarType]) -> frozenset[ScalarType]:
    if as_one(x, y):
        return x
    for one, other in ((x, y), (y, x)):
        is_no_wider = bound_of(other) is None and max(map(rank, other)) <= min(map(rank, one))
        if bound_of(one) is not None and (bound_of(one) is bound_of(other) or is_no_wider):
            return TypesOf.of(one | other, bound_of(one), is_exact=False)
    return x | y


def _common_type(x: Scalar, y: Scalar) -> tuple[np.dtype, bool]:
    if x.weak == y.weak:
        return np.result_type(x.dtype, y.dtype), x.weak
    weak, strong = (x, y) if x.weak else (y, x)
    kind = {"f": float, "c": complex, "i": int, "u": int, "b": bool}[weak.dtype.kind]
    if kind is bool:
        return np.result_type(strong.dtype, BOOL), False
    if kind is int and strong.dtype.kind in "iu" and not fits(weak.expr, strong.dtype):
        return np.result_type(strong.dtype, INT64), False  # uint8 holds no -1
    return np.result_type(strong.dtype, kind(0)), False


def as_small_as(joined: Scalar, ahead: Any) -> Scalar:
    """uint8, for a 0 ahead of a loop in which uint8 is added to it."""
    small = [kind for kind in joined.types if not kind.weak]
    if len(small) != 1 or not _is_small(small[0]) or joined.dtype.kind not in "iu":
        return joined
    is_held = isinstance(ahead, Scalar) and ahead.weak and fits(ahead.expr, small[0].dtype)
    return replace(joined, expr=Var("", small[0].dtype)) if is_held else joined


def of_the_types_of(builder: Builder, variable: Scalar, value: Any, is_sure: bool = True) -> Scalar:
    """A variable for numbers of several types where it holds this one, if that is no narrower than all of them.

    (What is no sum or product may be one of its operands, as `max(1, x)` is.)
    Where it is not sure, a small integer that it may hold besides would wrap.
    """
    is_computed = isinstance(value, Scalar) and isinstance(value.expr, Call) and value.expr.op in OF_THE_WIDER
    is_known = isinstance(value, Scalar) and value.expr == variable.expr
    if not variable.types or not (is_computed or is_known):
        return variable
    types = types_of(builder, value)
    dtype = np.result_type(*(kind.dtype for kind in types))
    is_widest = dtype == variable.dtype and all(kind.weak for kind in types) == variable.weak
    if not is_widest or types == variable.types or (not is_sure and small_types(variable.types - types)):
        return variable
    builder.may_hold[variable.expr] = variable.types
    return replace(variable, types=several(types))


def of_either_types(x: Any, y: Any) -> Any:
    """One variable, of whatever types it holds at the end of two branches."""
    if not isinstance(x, Scalar) or not isinstance(y, Scalar) or x.types == y.types:
        return x
    return replace(x, types=several(_types_of_either(types_of(None, x), types_of(None, y))))


def fits(expr: Expr, dtype: np.dtype) -> bool:
    """Is it a number that integers of this dtype hold?"""
    limits = np.iinfo(dtype)
    return isinstance(expr, Const) and limits.min <= expr.value <= limits.max


def is_as(x: Scalar, y: Scalar) -> bool:
    """Does the variable of one do for the other?"""
    is_one = x.dtype == y.dtype and x.weak == y.weak and x.types == y.types
    return is_one and source_of(x.types) is source_of(y.types) and bound_of(x.types) is bound_of(y.types)


class TypesOf(frozenset[ScalarType]):
    """The types of memory on different paths: what has these of this source has the type of that memory, on each path.

    A union with others is of no source, or `is_exact` no more (0 or an element): of no wider type on each path.
    `narrow_if`: where this does not hold, the type is the widest of these.
    """

    source: object = None
    narrow_if: Expr | None = None
    is_exact: bool = True

    @staticmethod
    def of(
        types: frozenset[ScalarType], source: object, narrow_if: Expr | None = None, is_exact: bool = True
    ) -> TypesOf:
        made = TypesOf(types)
        made.source, made.narrow_if, made.is_exact = source, narrow_if if is_exact else None, is_exact
        return made


def source_of(types: frozenset[ScalarType]) -> object:
    return types.source if isinstance(types, TypesOf) and types.is_exact else None


def bound_of(types: frozenset[ScalarType]) -> object:
    """The memory whose type these are, or are no wider than, on each path."""
    return types.source if isinstance(types, TypesOf) else None


def narrow_if(types: frozenset[ScalarType]) -> Expr | None:
    return types.narrow_if if isinstance(types, TypesOf) else None


def as_one(first: frozenset[ScalarType], second: frozenset[ScalarType]) -> bool:
    """Are they the types of one memory?"""
    return source_of(first) is not None and source_of(first) is source_of(second)


def of_a_common_source(
    builder: Builder, values: Sequence[Any], made: frozenset[ScalarType], dtype_of: Callable[[Sequence[Any]], Any]
) -> frozenset[ScalarType]:
    """The types of what is made of an array's own elements and of what is no wider: those of that array."""
    numbers = [value for value in values if isinstance(value, (Scalar, ArrayValue))]
    joined = [types for value in numbers if len(types := types_of(builder, value)) > 1]
    if not joined or bound_of(joined[0]) is None or any(bound_of(types) is not bound_of(joined[0]) for types in joined):
        return made
    exact = [types for types in joined if source_of(types) is not None]
    kinds = exact[0] if exact else frozenset().union(*joined)
    is_exact = bool(exact) and {kind.dtype for kind in made} == {kind.dtype for kind in kinds}
    for kind in kinds:
        for on_path in product(*(_no_wider(builder, value, kind) for value in numbers)):
            dtype = dtype_of(on_path)
            is_exact = is_exact and dtype == kind.dtype
            if rank(ScalarType(dtype)) > rank(kind):
                return made
    return TypesOf.of(made, bound_of(joined[0]), narrow_if((exact or joined)[0]), is_exact)


def _no_wider(builder: Builder, value: Any, kind: ScalarType) -> list[Any]:
    """What it may be where the memory that it is of has this type."""
    types = types_of(builder, value)
    if len(types) == 1:
        return [value]
    if source_of(types) is not None:
        return [_as(value, replace(kind, weak=False))]
    return [_as(value, own) for own in sorted(types, key=str) if rank(own) <= rank(kind)]


def types_of(builder: Builder | None, value: Scalar | ArrayValue) -> frozenset[ScalarType]:
    """The types that it has on one path or another; those of the elements of an array."""
    element = value.expr if isinstance(value, Scalar) else value.element
    known = value.types
    if not known and builder is not None and isinstance(element, Load) and (builder.types or builder.item_types):
        known = _types_of_memory(builder, builder.root(element.array))
    return known or frozenset((ScalarType(value.dtype, isinstance(value, Scalar) and value.weak),))


def _is_small(kind: ScalarType) -> bool:
    return kind.dtype.kind in "iu" and kind.dtype != INT64 and not kind.weak


def types_of_any(builder: Builder, values: Iterable[Scalar]) -> frozenset[ScalarType]:
    """Those of a number that is any of these, if there are several."""
    return several(frozenset(kind for value in values for kind in types_of(builder, value)))


def several(types: frozenset[ScalarType]) -> frozenset[ScalarType]:
    return types if len(types) > 1 else frozenset()


def with_types(builder: Builder, value: Scalar) -> Scalar:
    """An element of memory that has a type by each path, as a number that stays what it is."""
    types = several(types_of(builder, value))
    return replace(value, types=types) if types else value


def rank(kind: ScalarType) -> int:
    """The higher, the more numbers there are of this kind."""
    return "buifc".index(kind.dtype.kind)


def _types_of_memory(builder: Builder, root: str) -> frozenset[ScalarType]:
    items = builder.item_types.get(root)
    return several(items.of_all) if items else builder.types.get(root, frozenset())


@dataclass(frozen=True)
class ItemTypes:
    """What is known of a list: the types at each place of an item (a number is one), and those of an array of all.

    `may_be_empty`: then there is no such array, and what else is put into the list decides alone.  `whole`: at most so
    items are not of floats (None: as many as there may be), so that with more there is a float among them.
    `are_short`: Python's own numbers among them are such as float32 holds, 0 and 0.5.  `first`: the types of the first,
    if there is one, where it is known to be there still.
    """

    places: tuple[frozenset[ScalarType], ...]
    of_all: frozenset[ScalarType]
    may_be_empty: bool = False
    whole: int | None = None
    are_short: bool = True
    first: frozenset[ScalarType] = frozenset()

    @staticmethod
    def of(places: Iterable[frozenset[ScalarType]], may_be_empty: bool = False, count: int | None = 1) -> ItemTypes:
        """Those of a list of so many items of one kind (None: of any number)."""
        places = tuple(map(frozenset, places))
        of_all = _of_an_item(places)
        whole = 0 if all(is_inexact(kind.dtype) for kind in of_all) else count
        are_short = not any(kind.weak for types in places for kind in types)
        return ItemTypes(places, of_all, may_be_empty, whole, are_short, places[0] if len(places) == 1 else frozenset())

    def at(self, place: int) -> frozenset[ScalarType]:
        """The types of a number, if there are several."""
        return several(self.places[place]) if place < len(self.places) else frozenset()

    def either(self, other: ItemTypes) -> ItemTypes:
        """Those of a list that is this one or the other."""
        pairs = zip_longest(self.places, other.places, fillvalue=frozenset[ScalarType]())
        may_be_empty = self.may_be_empty or other.may_be_empty
        whole = None if self.whole is None or other.whole is None else max(self.whole, other.whole)
        are_short, of_all = self.are_short and other.are_short, self.of_all | other.of_all
        first = self.first | other.first if self.first and other.first else frozenset()
        return ItemTypes(tuple(x | y for x, y in pairs), of_all, may_be_empty, whole, are_short, first)

    def has(self, other: ItemTypes) -> bool:
        """Is the other's every type of numbers among these, and its first item of one that is known?"""
        if (other.may_be_empty and not self.may_be_empty) or (self.are_short and not other.are_short):
            return False
        if self.whole is not None and (other.whole is None or other.whole > self.whole):
            return False
        if self.first and not (other.first and other.first <= self.first):
            return False
        pairs = zip_longest(
            (*self.places, self.of_all), (*other.places, other.of_all), fillvalue=frozenset[ScalarType]()
        )
        return len(self.places) == len(other.places) and all(
            {kind.dtype for kind in y} <= {kind.dtype for kind in x} for x, y in pairs
        )

    def beside(self, more: ItemTypes) -> ItemTypes:
        """Those of a list with the items of both."""
        pairs = zip_longest(self.places, more.places, fillvalue=frozenset[ScalarType]())
        of_all = _common(self.of_all, more.of_all)
        of_all |= self.of_all if more.may_be_empty else frozenset()
        of_all |= more.of_all if self.may_be_empty else frozenset()
        whole = None if self.whole is None or more.whole is None else self.whole + more.whole
        are_short, may_be_empty = self.are_short and more.are_short, self.may_be_empty and more.may_be_empty
        is_first = self.places and (not self.may_be_empty or self.first == more.first)
        first = self.first if is_first else more.first if not self.places else frozenset[ScalarType]()
        return ItemTypes(tuple(x | y for x, y in pairs), of_all, may_be_empty, whole, are_short, first)

    def behind(self, kind: ScalarType) -> ItemTypes:
        """With a number of this kind ahead of each item."""
        made = ItemTypes.of((frozenset((kind,)), *self.places), self.may_be_empty)
        return replace(made, whole=self.whole, are_short=self.are_short)

    def some(self) -> ItemTypes:
        """Those of some of the items, whichever these are, and perhaps none."""
        before, of_all = frozenset[ScalarType](), _of_an_item(self.places)
        while of_all != before:
            before, of_all = of_all, of_all | _common(of_all, of_all)
        return replace(self, of_all=of_all, may_be_empty=True, first=frozenset())


NO_ITEMS = ItemTypes((), frozenset(), may_be_empty=True, whole=0)


def _of_an_item(places: Iterable[frozenset[ScalarType]]) -> frozenset[ScalarType]:
    of_all = frozenset((ScalarType(BOOL),))
    for types in places:
        of_all = _common(of_all, types)
    return of_all


def _common(first: Iterable[ScalarType], second: Iterable[ScalarType]) -> frozenset[ScalarType]:
    return frozenset(ScalarType(np.result_type(x.dtype, y.dtype)) for x, y in product(first, second))


def small_types(types: Iterable[ScalarType]) -> list[np.dtype]:
    return sorted((kind.dtype for kind in types if _is_small(kind)), key=str)


def computes_apart(op: str, values: Sequence[Any], types: Collection[ScalarType]) -> bool:
    """Does an operation with results of these types give different numbers, also where they are of a program's size?"""
    dtypes = {kind.dtype for kind in types}
    if len(dtypes) < 2:
        return False
    kinds = {dtype.kind for dtype in dtypes}
    is_whole = {kind.dtype.kind in "iub" for kind in types if not kind.weak}  # Python's own agree, or raise
    last = values[-1].value if isinstance(values[-1], Scalar) and values[-1].is_constant else None
    if op in BY_ZERO:
        return len(is_whole) > 1 and not last
    if op == "pow" and len(is_whole) > 1 and not (last is not None and np.real(last) >= 0):  # 2 ** -1
        return True
    if op in WITHIN_A_DOMAIN and "c" in kinds and len(kinds) > 1:
        return not (op == "pow" and isinstance(last, int))
    if op == "reciprocal" and len(is_whole) > 1:
        return True
    return (op in LOGICAL and "b" in kinds) or any(_wraps_early(op, dtype) for dtype in dtypes)


def _wraps_early(op: str, dtype: np.dtype) -> bool:
    if dtype.kind == "u" and op in ("sub", "neg", "invert"):
        return True
    return op in MAY_WRAP and dtype.kind in "iu" and dtype.itemsize <= 2


def are_joined(builder: Builder, values: Iterable[Any]) -> bool:
    """Is one of them of another type on each path?"""
    numbers = [value for value in values if isinstance(value, (Scalar, ArrayValue))]
    if not (builder.types or builder.item_types):
        return any(value.types for value in numbers)
    return any(len(types_of(builder, value)) > 1 for value in numbers)


def on_each_path(builder: Builder, values: Sequence[Any]) -> Iterator[list[Any]]:
    """The operands as they are on one path after another: numbers of any type that they may have."""
    choices = [_choices(builder, value) for value in values]
    for chosen in product(*choices):
        yield [_as(value, kind) for value, kind in zip(values, chosen, strict=True)]


def _choices(builder: Builder, value: Any) -> Sequence[ScalarType | None]:
    types = types_of(builder, value) if isinstance(value, (Scalar, ArrayValue)) else frozenset()
    return sorted(types, key=str) if len(types) > 1 else (None,)


def _as(value: Any, kind: ScalarType | None) -> Any:
    if kind is None:
        return value
    if isinstance(value, ArrayValue):
        return ArrayValue(value.dims, Load(Array("", kind.dtype, ()), ()))
    return replace(value, expr=Var("", kind.dtype), weak=kind.weak, types=frozenset())


def refuse_joined(builder: Builder, types: Iterable[ScalarType], because: str, *, is_array: bool = False) -> NoReturn:
    """What is asked for depends on the type that a number has by the path taken; `because`: with a place for a type."""
    small = small_types(types)
    if small:
        builder.refuse(
            f"a number is {small[0]} on one path, and of another type on another",
            f"int(…), or np.{small[0]}(…), for one type on both paths",
            because=because.format(small[0]),
        )
    narrow, *_, wide = (
        str(kind.dtype) if is_array else kind.name for kind in sorted(types, key=lambda kind: (rank(kind), str(kind)))
    )
    if is_array:
        builder.refuse(
            f"an array is of {narrow} on one path, and of {wide} on another",
            f"make it of {wide} on both paths:  dtype=np.{wide},  or numbers of one type in it",
            because=because.format(narrow),
        )
    builder.refuse(
        f"a number is {narrow} on one path, and {wide} on another",
        f"{wide}(…), or a constant of that type, for one type on both paths",
        because=because.format(narrow),
    )


def common_place(column: tuple[ScalarType, ...]) -> ScalarType:
    """The kind of number that any of these is: a Python float beside a float32 is one, as where branches meet."""
    strong = [place.dtype for place in column if not place.weak]
    weak = [place.dtype for place in column if place.weak]
    if not strong or not weak:
        return ScalarType(np.result_type(*strong, *weak), not strong)
    dtype = np.result_type(*strong)
    inexact = dtype.kind in "fc"
    return ScalarType(np.result_type(dtype, *(kind.type(0).item() if inexact else kind for kind in weak)), False)


class Widen(Exception):
    """A name that goes round a loop does not keep its type: try again with the wider one.

    `part`: the name of the item, where it is one of a tuple or a list.
    """

    def __init__(self, name: str, to: Scalar, part: str = "") -> None:
        self.name, self.part, self.to = name, part or name, to
