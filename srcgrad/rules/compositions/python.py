"""What functions of Python itself mean where it is only known at run time: plain loops."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import operator
from typing import Any

import numpy as np

from srcgrad.rules.compositions.registry import is_constant, means, python_means, searches


@python_means(filter)
def filtered(function, items):
    kept = []
    for item in items:
        if item if function is None else function(item):
            kept.append(item)
    return kept


@python_means(bisect.bisect_left)
def place_left(a, x, lo=0, hi=None):
    return lo + int(np.searchsorted(np.asarray(a[lo:hi]), x))


@python_means(bisect.bisect_right)
def place_right(a, x, lo=0, hi=None):
    return lo + int(np.searchsorted(np.asarray(a[lo:hi]), x, side="right"))


@python_means(bisect.insort_left)
def insert_left(a, x, lo=0, hi=None):
    a.insert(place_left(a, x, lo, hi), x)


@python_means(bisect.insort_right)
def insert_right(a, x, lo=0, hi=None):
    a.insert(place_right(a, x, lo, hi), x)


@python_means(itertools.takewhile)
def taken_while(predicate, iterable):
    kept = []
    for item in iterable:
        if not predicate(item):
            break
        kept.append(item)
    return kept


@python_means(itertools.dropwhile)
def dropped_while(predicate, iterable):
    kept = []
    drops = True
    for item in iterable:
        drops = drops and bool(predicate(item))
        if not drops:
            kept.append(item)
    return kept


@python_means(itertools.compress)
def selected(data, selectors):
    return [item for item, is_in in zip(data, selectors) if is_in]  # noqa: B905 (it ends with the shorter one)


@means(np.fromiter)
def from_items(iter, dtype, count=-1):
    out = np.array(list(iter), dtype)
    if count > len(out):
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(out)} items.")
    return out if count < 0 else out[:count].copy()


@python_means(functools.reduce)
def reduced(function, items, *start):
    items = list(items)
    if start:  # it may be shaped unlike the items
        out = start[0]
        for item in items:
            out = function(out, item)
        return out
    if len(items) == 0:
        raise TypeError("reduce() of empty iterable with no initial value")
    out = items[0]
    for item in items[1:]:
        out = function(out, item)
    return out


@python_means(operator.add)
def plus(x, y):
    return x + y


@python_means(operator.sub)
def minus(x, y):
    return x - y


@python_means(operator.mul)
def times(x, y):
    return x * y


@python_means(operator.truediv)
def divided(x, y):
    return x / y


@python_means(operator.pow)
def to_the_power(x, y):
    return x**y


@python_means(operator.matmul)
def matrix_product(x, y):
    return x @ y


@python_means(operator.floordiv)
def whole_quotient(x, y):
    return x // y


@python_means(operator.mod)
def remainder(x, y):
    return x % y


@python_means(operator.eq)
def is_equal(x, y):
    return x == y


@python_means(operator.ne)
def is_other(x, y):
    return x != y


@python_means(operator.lt)
def is_less(x, y):
    return x < y


@python_means(operator.le)
def is_no_more(x, y):
    return x <= y


@python_means(operator.gt)
def is_more(x, y):
    return x > y


@python_means(operator.ge)
def is_no_less(x, y):
    return x >= y


@python_means(operator.abs)
def magnitude(x):
    return abs(x)


@python_means(operator.pos)
def as_it_is(x):
    return +x


@python_means(operator.getitem)
def item_of(x, k):
    return x[k]


@python_means(operator.itemgetter)
def item_getter(key, *more):
    if more:
        return lambda value: tuple([value[k] for k in (key, *more)])
    return lambda value: value[key]


@python_means(operator.attrgetter)
def attribute_getter(name, *more):
    if more:
        return lambda value: tuple([attribute_at(value, way) for way in (name, *more)])
    return lambda value: attribute_at(value, name)


def attribute_at(value, way):
    for name in way.split("."):
        value = getattr(value, name)
    return value


@python_means(operator.methodcaller)
def method_caller(name, /, *args, **named):
    return lambda value: getattr(value, name)(*args, **named)


@python_means(operator.contains)
def holds(items, x):
    return x in items


@python_means(operator.neg)
def negative(x):
    return -x


def nothing_to_make(self):
    """object.__init__"""


@python_means(itertools.accumulate)
def accumulated(items, function=plus, *, initial=None):
    items = list(items)
    if initial is not None:  # it may be shaped unlike the items
        out = initial
        states = [out]
        for item in items:
            out = function(out, item)
            states.append(out)
        return states
    if len(items) == 0:
        return items
    out = items[0]
    sums = [out]
    for item in items[1:]:
        out = function(out, item)
        sums.append(out)
    return sums


@python_means(itertools.pairwise)
def pairs(items):
    items = list(items)
    return zip(items, items[1:])  # noqa: B905, RUF007 (this is what it means)


@python_means(itertools.count)
def counted(start=0, step=1):
    while True:
        yield start
        start += step


@python_means(itertools.cycle)
def cycled(items):
    gone_through = []
    for item in items:  # as they are by then
        gone_through.append(item)
        yield item
    while len(gone_through) > 0:
        yield from gone_through


@python_means(itertools.repeat)
def repeated(object, times=None):
    if times is None:
        while True:
            yield object
    else:
        for _ in range(times):
            yield object


@python_means(itertools.starmap)
def star_mapped(function, items):
    return [function(*item) for item in items]


@python_means(itertools.chain)
def chained(*parts):
    out: list[Any] = []
    for items in parts:
        out = [*out, *items]
    return out


@python_means(itertools.chain.from_iterable)
def chained_items(parts):
    return chained(*parts)


@python_means(itertools.zip_longest)
def zipped_to_the_longest(*parts, fillvalue=None):
    lists = [list(items) for items in parts]
    count = max([len(items) for items in lists])
    return [tuple([items[k] if k < len(items) else fillvalue for items in lists]) for k in range(count)]


@python_means(itertools.islice)
def sliced(items, *bounds):
    return list(items)[slice(*bounds)]


def collected(items):
    """list(items), of what loops alone go through."""
    return [item for item in items]  # noqa: C416 (that is what this says)


def itself(item):
    return item


def smallest(items, key, *default):
    """min(items, key=key): the first of those with the least key."""
    items = list(items)
    if len(items) == 0:
        if default:
            return default[0]
        raise ValueError("min() iterable argument is empty")
    best = items[0]
    least = key(best)
    for item in items[1:]:
        its = key(item)
        if its < least:
            best, least = item, its
    return best


def largest(items, key, *default):
    items = list(items)
    if len(items) == 0:
        if default:
            return default[0]
        raise ValueError("max() iterable argument is empty")
    best = items[0]
    most = key(best)
    for item in items[1:]:
        its = key(item)
        if its > most:
            best, most = item, its
    return best


def ordered(items, key, reverse):
    """sorted(items, key=key, reverse=reverse), of numbers or tuples; equal keys stay in order, in reverse too."""
    items = list(items)
    made = items if key is None else [key(item) for item in items]
    if is_constant(len(items)) and len(items) > 0 and isinstance(made[0], (tuple, list)):
        made = made[::-1] if reverse else made
        places = np.arange(len(items))
        for k in tuple(range(len(made[0])))[::-1]:  # the first decides last; whole numbers keep all digits
            places = places[np.argsort(np.array([each[k] for each in made])[places], kind="stable")]
        places = len(items) - 1 - places[::-1] if reverse else places
        return [items[k] for k in places]
    keys = np.array(made)
    keys = keys[::-1] if reverse else keys
    if keys.ndim == 1:
        places = np.argsort(keys, kind="stable")
    else:
        places = np.arange(len(items))
        for column in keys.T[::-1]:  # the first decides last
            places = places[np.argsort(column[places], kind="stable")]
    places = len(items) - 1 - places[::-1] if reverse else places
    return [items[k] for k in places]


@searches("count")
def count(items, value, /):
    n = 0
    for item in items:
        if item == value:
            n += 1
    return n


@searches("index")
def index(items, value, start=0, stop=None, /):
    n = len(items)
    first = max(start + n, 0) if start < 0 else start
    last = n if stop is None else stop + n if stop < 0 else min(stop, n)
    for k in range(first, last):
        if items[k] == value:
            return k
    raise ValueError("the value is not in the tuple or list")


OF_FLOATS = "in a quotient it is a float, which goes further:  x / math.factorial(n)"


@python_means(math.factorial)
def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    if n > 20:
        raise OverflowError("the factorial of a number above 20 has more than 64 bits", OF_FLOATS)
    out = 1
    for k in range(2, n + 1):
        out *= k
    return out


@python_means(math.comb)
def combinations(n, k):
    if n < 0 or k < 0:
        raise ValueError("comb() takes numbers that are not negative")
    out = 1
    for i in range(min(k, n - k)):
        divisor = math.gcd(out, i + 1)
        factor = (n - i) // ((i + 1) // divisor)
        out = out // divisor
        if out > 9223372036854775807 // factor:
            raise OverflowError("the number of combinations has more than 64 bits", OF_FLOATS)
        out *= factor
    return out if k <= n else 0


@python_means(math.perm)
def permutations(n, k=None):
    k = n if k is None else k
    if n < 0 or k < 0:
        raise ValueError("perm() takes numbers that are not negative")
    if k > n:
        return 0
    out = 1
    for i in range(k):
        if out > 9223372036854775807 // (n - i):
            raise OverflowError("the number of permutations has more than 64 bits", OF_FLOATS)
        out *= n - i
    return out


LARGEST_ROOT = 3037000499  # of what 64 bits hold


@python_means(math.isqrt)
def whole_root(n):
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = min(int(math.sqrt(n)), LARGEST_ROOT)
    if root * root > n:
        root -= 1
    if root < LARGEST_ROOT and (root + 1) * (root + 1) <= n:
        root += 1
    return root


def factorial_as_float(n: int) -> float:
    return float(math.factorial(n))


def combinations_as_float(n: int, k: int) -> float:
    return float(math.comb(n, k))


def permutations_as_float(n: int, k: int | None = None) -> float:
    return float(math.perm(n, k))


AS_FLOATS = {math.factorial: factorial_as_float, math.comb: combinations_as_float, math.perm: permutations_as_float}


@python_means(factorial_as_float)
def factorial_in_floats(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    if n > 170:
        raise OverflowError("int too large to convert to float")
    out = 1.0
    for k in range(2, n + 1):
        out *= k
    return out


@python_means(combinations_as_float)
def combinations_in_floats(n, k):
    if n < 0 or k < 0:
        raise ValueError("comb() takes numbers that are not negative")
    out = 1.0
    for i in range(min(k, n - k)):
        out = out * (n - i) / (i + 1) if out < 1e290 else out * ((n - i) / (i + 1))
    if math.isinf(out):
        raise OverflowError("int too large to convert to float")
    return out if k <= n else 0.0


@python_means(permutations_as_float)
def permutations_in_floats(n, k=None):
    k = n if k is None else k
    if n < 0 or k < 0:
        raise ValueError("perm() takes numbers that are not negative")
    out = 1.0
    for i in range(min(k, n + 1)):
        out *= n - i
    if math.isinf(out):
        raise OverflowError("int too large to convert to float")
    return out


@python_means(math.prod)
def prod(iterable, *, start=1):
    total = start
    for item in iterable:
        total = total * item
    return total


# --------------------------------------------------------------------------------------------------------------
# Methods of numbers.


@means(method="is_integer")
def is_whole(x):
    return x == math.floor(x) if math.isfinite(x) else False


@means(method="bit_length")
def bit_length(n):
    n = abs(n)
    out = 0
    while n > 0:
        n //= 2
        out += 1
    return out


@means(method="bit_count")
def bit_count(n):
    n = abs(n)
    out = 0
    while n > 0:
        out += n % 2
        n //= 2
    return out
