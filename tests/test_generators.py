"""Generator functions: `for` loops over them, and what else goes through all that they yield."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import Any

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import SrcgradError, UnsupportedError, check_grad, grad

X = np.random.default_rng(5).normal(size=6)
WEIGHTS = np.array([1.0, 2.0, 3.0])


def chunks(x: Any, n: int) -> Any:
    for i in range(0, len(x), n):
        yield x[i : i + n]


def windows(x: Any, n: int = 3) -> Any:
    for i in range(len(x) - n + 1):
        yield i, x[i : i + n]


def evens(x: Any) -> Any:
    for i in range(len(x)):
        if i % 2 == 0:
            yield x[i]


def iterates(f: Any, x: Any, tolerance: float = 1e-12) -> Any:
    while True:
        y, slope = f(x)
        yield x
        if abs(y) < tolerance:
            return
        x = x - y / slope


def nodes(tree: Any) -> Any:
    if isinstance(tree, tuple):
        yield from nodes(tree[0])
        yield tree[1]
        yield from nodes(tree[2])
    else:
        yield tree


def counted_until(x):
    for k in itertools.count(1, 2):
        if k % 3 == 0:
            continue
        x = 0.5 * (x + 2.0 / x)
        if abs(x * x - 2.0) < 1e-10 or k > 50:
            return x * k
    return x


def in_turn(x):
    for k, step in enumerate(itertools.cycle((0.5, x))):
        x = x - step * math.sin(x)
        if k == 6:
            break
    return x


@pytest.mark.parametrize("function", [counted_until, in_turn])
def test_loops_without_an_end_of_their_own(function: Any) -> None:
    f = grad(function, jit=False)
    check_value_and_grad(f, 1.3, rtol=1e-14)


def numbered(x):
    s = sum(k * v for k, v in zip(itertools.count(1), x, strict=False))
    for i, v, h in zip(itertools.count(), x, itertools.repeat(x[0])):  # noqa: B905
        s += x[i] * v * h
    return s + sum(map(pow, x, itertools.count(2)))


def in_turns(x):
    phases = itertools.cycle([0.5, x[2]])
    w = [1.0, *itertools.islice(itertools.cycle((4.0, x[0])), len(x) - 2), 1.0]
    s = sum(a * b for a, b in zip(w, x, strict=True))
    for (a, sign), y, v in zip(itertools.cycle(((1.0, 1), (x[1], -1))), itertools.cycle(x[:3]), x):  # noqa: B905
        s = s * 0.5 + a * sign * y * v
    return s + sum(a * v for a, v in zip(phases, x, strict=False))


def cut_off(x):
    s = sum(x[0] ** k for k in itertools.islice(itertools.count(1), len(x)))
    for k in itertools.islice(itertools.count(2, 3), 1, 3 * len(x), len(x)):
        s += x[1] * k
    for v in itertools.islice(itertools.cycle(x), 2, 9, 2):
        s = s * v + 0.5
    return s + sum(v * w for v, w in zip(itertools.cycle(x[9:]), x, strict=False))


@pytest.mark.parametrize("function", [numbered, in_turns, cut_off])
def test_what_has_no_end_beside_what_has_one(function: Any) -> None:
    f = grad(function, jit=False)
    for x in (X, X.astype(np.float32)):
        assert type(f(x)) is type(function(x))
        check_value_and_grad(f, x, rtol=1e-14 if x.dtype == np.float64 else 1e-5)


def test_what_has_no_end_needs_one() -> None:
    with pytest.raises(UnsupportedError, match="itertools.cycle that no loop goes through"):
        grad(lambda x: sum(a * b for a, b in zip(itertools.cycle(x), itertools.count(), strict=False)), jit=False)(X)


def test_what_comes_again_is_what_it_was() -> None:
    def written(x):
        x, s = x.copy(), 0.0
        for w, v in zip(itertools.cycle(x[:2]), x, strict=False):
            s += w * v
            x[1] = v
        return s

    def written_by_name(x):
        ys, s = [x[0], x[1]], 0.0
        weights = itertools.cycle(ys)
        for w, v in zip(weights, x, strict=False):
            s += w * v
            ys[1] = v
        return s

    def read_as_it_comes(x):
        x, s = x.copy(), 0.0
        for k, w in enumerate(itertools.cycle(x)):
            s += w * (k + 1.0)
            x[-1] = w * 2.0
            if k == 7:
                break
        return s

    for f in (written, written_by_name):
        with pytest.raises(UnsupportedError, match="changes what the iterator that it runs over reads"):
            grad(f, jit=False)(X)
    assert grad(read_as_it_comes, jit=False)(X) == pytest.approx(read_as_it_comes(X), rel=1e-14)
    check_grad(grad(read_as_it_comes, jit=False), X)


class Grid:
    def __init__(self, n: int) -> None:
        self.n, self.seen = n, 0

    def pairs(self) -> Any:
        for i in range(self.n):
            for j in range(self.n):
                if i != j:
                    self.seen += 1
                    yield (i, j), 1.0 / (1 + i + j)

    def __iter__(self) -> Any:
        yield from range(self.n)


def slices(x: Any) -> Any:
    return sum(part.prod() for part in chunks(x, 2)) + sum(w[0] * i for i, w in windows(x)) * max(evens(x))


def jumps(x: Any) -> Any:
    total, k = 0.0, 0
    for i, w in windows(x, n=2):
        if w[0] > 1.0:
            break
        if w[1] < 0:
            continue
        total += w[0] * w[1]
        k = i
    else:
        total *= 3
    return total + k * x[0] + i


def result_out_of_the_loop(x: Any) -> Any:
    for n, root in enumerate(iterates(lambda y: (y * y - 2 - x[0], 2 * y), 3.0), 1):
        if abs(root * root - 2 - x[0]) < 1e-3:
            return root * n + x[1]
    return 0.0


def tree_of_known_depth(x: Any) -> Any:
    total = 0.0
    for k, value in enumerate(nodes(((x[0], x[1], x[2]), x[3], (x[4], x[5], x[0])))):
        total = total * 0.5 + value * k
    return total


def several_yields(x: Any) -> Any:
    def some(a: Any) -> Any:
        yield a[0]
        t = a[1] * 2
        for v in a[2:4]:
            yield v
            yield v * t
        if a[4] > 0:
            yield a[4]
        else:
            yield a[5]
            return
        yield a[3]

    total = 1.0
    for v in some(x):
        t = v * v
        total = total * 0.7 + t
    return total


def names_in_common_with_the_loop(x: Any) -> Any:
    weight, shift = 1.0, x

    def some(n: int = 4) -> Any:
        for i in range(n):
            yield shift[i] * weight

    total = 0.0
    for k in range(2):
        for v in some():
            weight = weight * 1.1 + v * 0.1
            total += v * (k + 1)
        shift = shift * 0.5
    return total * weight


def in_each_other(x: Any) -> Any:
    def inner(k: int) -> Any:
        for j in range(k):
            yield x[j]

    def outer(n: int) -> Any:
        for k in range(n):
            for v in inner(k):
                yield v * k

    total = 0.0
    for v in outer(5):
        for u in inner(2):
            for w in inner(2):
                total += u * v * w
    return total


def taking_turns_with_writes(x: Any) -> Any:
    x = x.copy()

    def some() -> Any:
        for i in range(1, len(x)):
            x[i] += x[i - 1]
            yield i

    total = 0.0
    for i in some():
        x[i] *= 0.5
        total += x[i] ** 2
    return total


def one_buffer(x: Any) -> Any:
    def some() -> Any:
        buffer = np.zeros(2)
        for i in range(4):
            buffer[0] = x[i]
            buffer[1] += x[i]
            yield buffer

    total = 0.0
    for b in some():
        total += b[0] * b[1]
    return total


def without_an_end(x: Any) -> Any:
    def fibonacci() -> Any:
        a, b = x[0], x[1]
        while True:
            yield a
            a, b = b, a + b * 0.5

    total, n = 0.0, 0
    while n < 2:
        for k, v in enumerate(fibonacci()):
            if k >= 5 or v > 3:
                break
            total += v * k
        n += 1
    return total


def methods(x: Any) -> Any:
    grid, total = Grid(4), 0.0
    for (i, j), h in grid.pairs():
        total += x[i] * x[j] * h * grid.seen
    for k in grid:
        total += x[k] * k
    return total


def lists(x: Any) -> Any:
    a, b, c = list(chunks(x, 2))
    later = [w * 2 for i, w in windows(x) if i % 2 == 1]
    ordered = sorted(v * v for v in evens(x))
    pairs = sum(v * w for v in evens(x) for w in evens(x * 2))
    first = next(v for v in evens(x) if v < 0)
    return (a * b).sum() + c[0] * later[0].sum() + ordered[0] * ordered[-1] + pairs * first


def what_is_outside(x: Any) -> Any:
    def weights() -> Any:
        for w in WEIGHTS:
            yield 1.0 / w

    def made(n: int) -> Any:
        return chunks(x, n)

    total = sum(w * x[k] for k, w in enumerate(weights()))
    for part in made(3):
        total += part.prod()
    return total


def nothing(x: Any) -> Any:
    def some() -> Any:
        return
        yield

    total, v = x[0], x[1]
    for v in some():  # noqa: B007
        total += 1.0
    return total * v


def from_several(x: Any) -> Any:
    def some() -> Any:
        yield from (x[0], x[1] * 2)
        yield from [x[2]]
        yield from range(2)
        yield from x[3:]

    return sum(v * (k + 1) for k, v in enumerate(some()))


def exceptions_in_it(x: Any) -> Any:
    def some() -> Any:
        for i in range(3):
            if x[i] > 0.0:
                raise ValueError("not negative")
            yield x[i]

    total = x[0]
    try:
        for v in some():
            total = total * v
    except ValueError:
        total = -(x[1] ** 2)
    return total


class Squares:
    def __init__(self, xs: Any) -> None:
        self.xs = xs

    def __iter__(self) -> Any:
        for v in self.xs:
            yield v * v


class Doubled:
    def __init__(self, xs: Any) -> None:
        self.xs = [2.0 * v for v in xs]

    def __iter__(self) -> Any:
        return iter(self.xs)


def objects_gone_through_as_a_whole(x: Any) -> Any:
    of_generator = sum(Squares(x)) * max(list(Squares(x))) + sum(v * k for k, v in enumerate(Squares(x)))
    return of_generator + sum([v * x[0] for v in Squares(x)])


def objects_with_a_list(x: Any) -> Any:
    total = 0.0
    for many in (Doubled(x), Doubled((x[0], x[1]))):
        for v in many:
            total += v * v
        total += sum(many) * np.prod(np.array(list(many))) + sum(v * 3.0 for v in many)
    return total


def grid_points(a: Any, b: Any, h: Any) -> Any:
    t = a + h
    while t < b - h / 2:
        yield t
        t = t + h


def held_by_a_name_until_a_loop(x: Any) -> Any:
    """Its arguments are what they were at the call, arrays as they are now."""
    a, y, k, total = x[0], x.copy(), 1.0, 0.0

    def scaled() -> Any:
        for v in y:
            yield v * k

    for step in range(3):
        points = grid_points(a, a + 1.0, 0.25)
        later = scaled()
        a, k = a + x[1], k + 1.0
        y[step] = total
        for i, t in enumerate(points, 1):
            total += a * i * t**2
        for v in later:
            total += v * v
            if v > 2.0:
                break
    return total


def multiples(a: Any, count: Any) -> Any:
    for i in range(count):
        yield a * i


def scaled_by_the_first(ys: Any) -> Any:
    for y in ys:
        yield y * ys[0]


def held_while_a_loop_changes_what_it_was_given(x: Any) -> Any:
    """The names of its arguments go round a loop ahead of its own."""
    a, y, start, total = x[0], x * 1.0, 1, 0.0
    several = multiples(a, 4)
    in_pairs = scaled_by_the_first((a, x[1]))
    items = scaled_by_the_first(y)
    numbered = enumerate(multiples(a, 3), start)
    for v in x:
        a, start, y = a * v, start + 1, y * x
        y[0] = v
    for v in several:
        total += v * a
    for v in in_pairs:
        total += v * start
    for v in items:
        total += v * y[1]
    for i, v in numbered:
        total += i * v
    return total


def held_while_a_branch_changes_what_it_was_given(x: Any) -> Any:
    values, total = [x[0], x[1]], 0.0
    some = scaled_by_the_first(values)
    if x[0] > 0.0:
        values[0] = x[2]
    else:
        values = [x[1], x[1]]
    for v in some:
        total += v * values[0]
    return total


PROGRAMS = [
    held_by_a_name_until_a_loop, held_while_a_loop_changes_what_it_was_given,
    held_while_a_branch_changes_what_it_was_given,
    objects_gone_through_as_a_whole, objects_with_a_list,
    slices, jumps, result_out_of_the_loop, tree_of_known_depth, several_yields, names_in_common_with_the_loop,
    in_each_other, taking_turns_with_writes, one_buffer, without_an_end, methods, lists, what_is_outside, nothing,
    from_several, exceptions_in_it,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_plain(f: Any) -> None:
    g = grad(f, jit=False)
    for x in (X, -X):
        check_value_and_grad(g, x, rtol=1e-12)


def test_compiled() -> None:
    g = grad(result_out_of_the_loop)
    check_value_and_grad(g, X, rtol=1e-12)


def held_by_a_name(x: Any) -> Any:
    some = evens(x)
    return sum(v for v in some) + sum(v for v in some)


def held_for_two_runs_of_a_loop(x: Any) -> Any:
    some, total = evens(x), 0.0
    for _ in range(2):
        for v in some:
            total += v
    return total


def handed_on(x: Any) -> Any:
    def total(values: Any) -> Any:
        return sum(v for v in values)

    return total(evens(x))


def in_step_with_another(x: Any) -> Any:
    return sum(v * w for v, w in zip(evens(x), x, strict=False))


def taken_in_part(x: Any) -> Any:
    return x[0] * float(any(v > 0 for v in evens(x)))


def in_an_expression_that_waits(x: Any) -> Any:
    total = 0.0
    for v in (w * total for w in evens(x)):
        total += v
    return total


def with_a_try(x: Any) -> Any:
    def some() -> Any:
        try:
            yield x[0]
        finally:
            x[1] = 0.0

    return sum(some())


def with_what_is_sent(x: Any) -> Any:
    def some() -> Any:
        got = yield x[0]
        yield got

    return sum(some())


def with_a_result(x: Any) -> Any:
    def some() -> Any:
        yield x[0]
        return 3

    return sum(some())


def as_deep_as_the_data_says(x: Any) -> Any:
    def some(n: int) -> Any:
        if n > 0:
            yield x[n]
            yield from some(n - 1)

    return sum(some(int(x[0])))


def list_that_grows_behind_an_object(x: Any) -> Any:
    many, total = Doubled((x[0], x[1])), 0.0
    for v in many:
        total += v
        if len(many.xs) < 5:
            many.xs.append(v)
    return total


def iterator_in_two_loops(x: Any) -> Any:
    some = Doubled(x).__iter__()
    return sum(some) + sum(v for v in some)


def first_in_a_loop(x: Any) -> Any:
    def some() -> Any:
        for v in x:
            if v > 0.0:
                return multiples(v, 3)
        return multiples(x[0], 2)

    return sum(some())


def squares(x: Any) -> Any:
    for v in x:
        yield v * v


def scaled(values: Any, by: float = 2.0) -> Any:
    for v in values:
        yield by * v


def added(values: Any) -> Any:
    total = 0.0
    for v in values:
        total += v
    return total


def first_beyond(values: Any, bound: float) -> Any:
    for v in values:
        if v > bound:
            return v
    return 0.0


def to_a_function(x: Any) -> Any:
    return added(squares(x)) * first_beyond(squares(x), 2.0)


def to_a_function_by_name(x: Any) -> Any:
    return first_beyond(bound=2.0, values=squares(x)) * x[0]


def to_another_generator(x: Any) -> Any:
    return added(scaled(scaled(squares(x)), 3.0)) + sum(scaled(squares(x)))


def numbered_there(x: Any) -> Any:
    def weighed(pairs: Any) -> Any:
        total = 0.0
        for k, (v, w) in enumerate(pairs):
            total += k * v * w
        return total

    def neighbours() -> Any:
        for k in range(len(x) - 1):
            yield x[k], x[k + 1]

    return weighed(neighbours())


def written_as_it_goes(x: Any) -> Any:
    y = x.copy()

    def doubled() -> Any:
        for k in range(len(y)):
            y[k] *= 2
            yield y[k]

    def with_the_last(values: Any) -> Any:
        total = 0.0
        for v in values:
            total += v * y[-1]
        return total

    return with_the_last(doubled())


def in_a_loop_of_the_caller(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += added(squares(k * x))
    return total


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        to_a_function, to_a_function_by_name, to_another_generator, numbered_there, written_as_it_goes,
        in_a_loop_of_the_caller,
    ],
)  # fmt: skip
def test_among_arguments(f: Any, jit: bool) -> None:
    g = grad(f, jit=jit)
    check_value_and_grad(g, X, rtol=1e-6)


def gone_through_twice_there(x: Any) -> Any:
    def twice(values: Any) -> Any:
        total = 0.0
        for v in values:
            total += v
        for v in values:
            total += 2 * v
        return total

    return twice(squares(x))


def in_a_loop_there(x: Any) -> Any:
    def often(values: Any) -> Any:
        total = 0.0
        for _ in range(2):
            for v in values:
                total += v
        return total

    return often(squares(x))


def to_a_function_that_calls_itself(x: Any) -> Any:
    def again(values: Any, k: int) -> Any:
        total = 0.0
        for v in values:
            total += v
        return total if k <= 0 else again(squares(x), k - 1) + total

    return again(squares(x), len(x))


REFUSED = {
    gone_through_twice_there: "not gone through where squares", in_a_loop_there: "not gone through where squares",
    to_a_function_that_calls_itself: "a generator can't be handed to a function that calls itself",
    first_in_a_loop: "a generator that first appears inside a loop",
    list_that_grows_behind_an_object: "a loop changes the list", iterator_in_two_loops: "an iterator with a name",
    held_by_a_name: "not gone through where evens",
    held_for_two_runs_of_a_loop: "not gone through where evens", handed_on: "not gone through where evens",
    in_step_with_another: "not gone through where evens", taken_in_part: "not gone through where evens",
    in_an_expression_that_waits: "not gone through where evens", with_a_try: "a try in a generator",
    with_what_is_sent: "the value of a yield", with_a_result: "a value that a generator returns",
    as_deep_as_the_data_says: "more than 24",
}  # fmt: skip


@pytest.mark.parametrize("f, why", REFUSED.items(), ids=[f.__name__ for f in REFUSED])
def test_refused(f: Any, why: str) -> None:
    """What would be taken at another time than Python takes it, or twice."""
    with pytest.raises(UnsupportedError, match=why):
        grad(f, jit=False)(X)


def test_a_list_that_it_goes_through_changes() -> None:
    def f(x: Any) -> Any:
        values = [x[0], x[1]]

        def some() -> Any:
            yield from values

        total = 0.0
        for v in some():
            if len(values) < 4:
                values.append(v * 2)
            total += v
        return total

    with pytest.raises(UnsupportedError, match="changes the list"):
        grad(f, jit=False)(X)


def test_errors_are_at_its_own_line() -> None:
    def f(x: Any) -> Any:
        def some() -> Any:
            yield np.roots(x)

        return sum(v.sum() for v in some())

    with pytest.raises(SrcgradError) as caught:
        grad(f, jit=False)(X)
    lines, start = inspect.getsourcelines(f)
    at = caught.value.span.line - start
    assert "yield np.roots" in lines[at]


def halved(x):
    while True:
        yield x
        x = x * 0.5 + 0.1


def beside_an_array(x):
    return sum(a * b for a, b in zip(x, halved(x[0]), strict=False))


def cut_off_by_islice(x):
    return sum(itertools.islice(halved(x[0]), 4))


def by_next(x):
    it = halved(x[0])
    return next(it) * next(it)


def as_the_help_says(x):
    total = 0.0
    for k, y in enumerate(halved(x[0])):
        if k == len(x):
            break
        total += x[k] * y
    return total


@pytest.mark.parametrize("function", [beside_an_array, cut_off_by_islice, by_next])
def test_generators_without_an_end_of_their_own(function: Any) -> None:
    """list(halved(x)) would not end."""
    with pytest.raises(UnsupportedError) as caught:
        grad(function, jit=False)(X)
    (help,) = caught.value.help
    assert help == "go through it there:  for k, y in enumerate(halved(...)), which  if k == n: break  ends"
    check_value_and_grad(grad(as_the_help_says, jit=False), X, rtol=1e-14)
