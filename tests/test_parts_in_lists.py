"""Lists of run-time length whose items hold arrays, or are objects: histories of filters, particles, stacks of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import check_value_and_grad

from srcgrad import UnsupportedError, check_grad, grad

Z = np.random.default_rng(5).normal(size=(6, 2))


class State(NamedTuple):
    x: Any
    p: Any
    likelihood: float


@dataclass(frozen=True)
class Seen:
    z: Any
    at: int
    name: str = "radar"

    def weighed(self, p: Any) -> Any:
        return self.z @ p @ self.z * self.at


class Body:
    def __init__(self, mass: Any, pos: Any) -> None:
        self.mass, self.pos, self.tag = mass, pos, None

    @property
    def far(self) -> Any:
        return np.sqrt(self.pos @ self.pos + 1.0)


def smoother(z: Any) -> Any:
    state = State(np.zeros(2), np.eye(2), 0.0)
    history = [state]
    for row in z:
        p = state.p + np.outer(row, row) * 0.1
        state = State(p @ row + 0.5 * state.x, p, state.likelihood + row @ p @ row)
        history.append(state)
    x = history[-1].x
    for k in range(len(history) - 2, -1, -1):
        x, p, _ = history[k].x + np.linalg.inv(history[k].p) @ x, history[k + 1].p, 0.0
    return x @ p @ x + sum(a.x @ b.p @ b.x for a, b in zip(history[1:], history[:-1], strict=True))


def objects_of_a_comprehension(z: Any) -> Any:
    p = np.array([[1.0, 0.2], [0.3, 2.0]])
    every = [Seen(z[i], i) for i in range(len(z))]
    return sum(one.weighed(p) for one in every if one.name == "radar") + sum(o.z[0] * o.at for o in reversed(every))


def objects_that_are_sorted(z: Any) -> Any:
    bodies = []
    for row in z:
        if row[0] > -0.5:
            bodies.append(Body(row[1], row * 2))
    heaviest = max(bodies, key=lambda body: body.mass)
    bodies.sort(key=lambda body: body.far)
    last = bodies.pop()
    return heaviest.pos[0] * last.mass + sum(k * body.far * body.mass for k, body in enumerate(bodies))


def dicts(z: Any) -> Any:
    found = []
    for i in range(len(z)):
        found.append({"z": z[i] ** 2, "i": i, "sum": z[i].sum()})
    first, *_, last = found
    return found[2]["z"] @ z[found[3]["i"]] * last["sum"] + first["z"][0] + sum(d["sum"] * d["i"] for d in found)


def nested(z: Any) -> Any:
    found = []
    for i, row in enumerate(z):
        found.append(((row[0], row), {"k": [row[1], i]}))
    return sum(a * b.sum() * d["k"][0] * (d["k"][1] + 1) for (a, b), d in found)


def stack_of_work(z: Any) -> Any:
    stack, out = [(z[0], z.copy(), 0)], 0.0
    while stack:
        v, m, depth = stack.pop()
        if depth < 3:
            stack.append((v * m[depth], m * 0.5, depth + 1))
            stack.append((v + 1.0, m, depth + 2))
        else:
            out += v.sum() * m[1, 1]
    return out


def kept_by_branches(z: Any) -> Any:
    found = []
    for row in z:
        if row[0] > 0:
            found.append((row, row @ row))
        elif row[1] > 0:
            found.append((row * 2, row[0]))
        else:
            continue
        if len(found) > 3:
            break
    return sum(n * (a @ a) * b for n, (a, b) in enumerate(found, 1)) + found[-1][1]


def other_items_in_their_places(z: Any) -> Any:
    found = [(row, row[0] * 2) for row in z]
    for i in range(1, len(z)):
        a, b = found[i - 1]
        found[i] = (found[i][0] * a, b + found[i][1])
    a, b = found[0]
    found[0] = found[-1]
    found[1], found[2] = found[2], found[1]
    return a.sum() * b + sum(a.sum() * b * (k + 1) for k, (a, b) in enumerate(found))


def parts_and_sums_of_lists(z: Any) -> Any:
    found = [(row, row[0]) for row in z]
    more = found[1:4] + found[::-1] + [(z[0] * 3, 1.5)]
    more.extend(found[:2])
    more += [(z[1], z[2, 1])]
    more.reverse()
    return sum((k + 1) * a.sum() * b for k, (a, b) in enumerate(more)) * len(more)


def made_anew_in_a_loop(z: Any) -> Any:
    found = [(row, row.sum()) for row in z]
    for _ in range(3):
        found = [(a * 0.5 + found[0][0], b * 0.9) for a, b in found if b > -1.0]
    return sum(a @ a * b for a, b in found)


def kinds_of_numbers(z: Any) -> Any:
    found = []
    for i in range(len(z)):
        found.append((z[i] + 1j * z[i, ::-1], abs(z[i, 0]), np.arange(i, i + 2) % len(z), z[i, 0] > 0))
    total = 0.0
    for a, b, places, is_right in found:
        total += z[places, 0].sum() * (b * np.abs(a).sum() if is_right else (a * a * (1 + 2j)).sum().real)
    return total


PROGRAMS = [
    smoother, objects_of_a_comprehension, objects_that_are_sorted, dicts, nested, stack_of_work, kept_by_branches,
    other_items_in_their_places, parts_and_sums_of_lists, made_anew_in_a_loop, kinds_of_numbers,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_plain(f: Any) -> None:
    g = grad(f, jit=False)
    check_value_and_grad(g, Z, rtol=1e-12)


def test_compiled() -> None:
    g = grad(smoother)
    check_value_and_grad(g, Z, rtol=1e-12)


def with_shapes_of_arguments(a: Any, x: Any) -> Any:
    found = [(x, a, 1.0)]
    for _ in range(len(x)):
        y, b, s = found[-1]
        found.append((np.tanh(b @ y), b * 0.5 + np.outer(y, x), s + y.sum()))
    y, b, s = found[2]
    return found[-1][0] @ b @ y * s


@pytest.mark.parametrize("n", [2, 3])
def test_shapes_of_arguments(n: int) -> None:
    rng = np.random.default_rng(n)
    g, args = grad(with_shapes_of_arguments, jit=False), (rng.normal(size=(n, n)), rng.normal(size=n))
    check_value_and_grad(g, *args, rtol=1e-12)


def test_lengths_that_have_to_be_alike() -> None:
    def appended(x: Any, y: Any) -> Any:
        found = [(x, 1.0)]
        for i in range(len(x)):
            found.append((y, x[i]))
        return sum(a.sum() * b for a, b in found)

    def joined(x: Any, y: Any) -> Any:
        ones = [(x, v) for v in x]
        ones = ones + [(y, v) for v in y]
        return sum(a.sum() * b for a, b in ones)

    for f in (appended, joined):
        g, x = grad(f, jit=False), Z[:, 0].copy()
        check_value_and_grad(g, x, Z[:, 1].copy(), rtol=1e-6)
        with pytest.raises(ValueError, match="lengths"):
            g(x, x[:3].copy())


def test_each_part_keeps_its_dtype() -> None:
    def f(x: Any, y: Any) -> Any:
        found = []
        for i in range(len(x)):
            found.append((x[i], y[i], i, 0.1))
        a, _, _, _ = found[0]
        return sum((a * a * c).sum() for a, _, c, _ in found), sum(b * i for _, b, i, _ in found), a / found[1][2] * 0.1

    x, y = Z[1:].astype(np.float32), Z[1:, 0].copy()
    want, got = f(x, y + 1), grad(f, jit=False)(x, y + 1)
    for one, other in zip(want, got, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(other, one, rtol=1e-6)


def test_whole_numbers_that_would_be_rounded() -> None:
    def f(x: Any, seeds: Any) -> Any:
        found = []
        for i in range(len(x)):
            found.append((x[i], seeds[i : i + 2]))
        return sum(a * (s[0] % 7) for a, s in found)

    g, x = grad(f, jit=False), Z[:3, 0].copy()
    assert g(x, np.arange(4) + 2**52) == f(x, np.arange(4) + 2**52)
    with pytest.raises(ValueError, match="a whole number beyond"):
        g(x, np.arange(4) + 2**60)


def written_items(z: Any) -> Any:
    found = [(row * 1, row[0]) for row in z]
    for a, b in found:
        a += b
    return sum(a.sum() * b for a, b in found)


def written_through_a_part_of_the_list(z: Any) -> Any:
    found = [(row * 1, row[0]) for row in z]
    rest = found[1:]
    rest[0][0][1] = 9.0
    return sum(a.sum() * b for a, b in found)


def one_array_in_each(z: Any) -> Any:
    x, found = np.zeros(2), []
    for row in z:
        x += row
        found.append((x, row[0]))
    return sum(a.sum() * b for a, b in found)


def one_item_under_two_names(z: Any) -> Any:
    found = [(row * 1, row[0]) for row in z]
    (a, _), (b, _) = found[0], found[0]
    a[0] = 4.0
    return b.sum()


def views_of_what_is_written(z: Any) -> Any:
    z = z.copy()
    found = [(z[i], z[i, 0]) for i in range(len(z))]
    z[1] = 5.0
    return sum(a.sum() * b for a, b in found)


def objects_that_change(z: Any) -> Any:
    bodies = [Body(row[0], row * 1) for row in z]
    for body in bodies:
        body.mass = body.mass * 2
    return sum(body.mass * body.far for body in bodies)


def objects_that_change_later(z: Any) -> Any:
    bodies, body = [], Body(0.0, z[0] * 1)
    for row in z:
        body.mass = body.mass + row[0]
        bodies.append(body)
    return sum(body.mass * body.far for body in bodies)


def lists_in_them_that_change(z: Any) -> Any:
    found = []
    for row in z:
        pair = [row[0], 2.0]
        found.append((row * 1, pair))
        pair[1] = row[1]
    return sum(a.sum() * pair[1] for a, pair in found)


def objects_that_are_compared(z: Any) -> Any:
    bodies = [Body(row[0], row * 1) for row in z]
    return sum(a.mass * b.mass for a in bodies for b in bodies if a is not b)


def lists_that_are_compared(z: Any) -> Any:
    table, total = [[row[0], row[1]] for row in z], 0.0
    for a in table:
        for b in table:
            if a is not b:
                total += a[0] * b[1]
    return total


def an_object_that_each_iteration_puts_in(z: Any) -> Any:
    first, bodies, total = Body(z[0, 0], z[0] * 1), [], 0.0
    for row in z:
        if len(bodies) > 0 and bodies[0] is first:
            total += row[0]
        bodies.append(first)
    return total


REFUSED = {
    written_items: "that is an item of a list", written_through_a_part_of_the_list: "that is an item of a list",
    one_array_in_each: "that is an item of a list", one_item_under_two_names: "that is an item of a list",
    views_of_what_is_written: "that is an item of a list",
    objects_that_change_later: "changes an object that is an item of a list",
    lists_in_them_that_change: "changes a list that is an item of another one",
    lists_that_are_compared: "one object is not known",
    an_object_that_each_iteration_puts_in: "one object is not known",
}  # fmt: skip


@pytest.mark.parametrize("f, why", REFUSED.items(), ids=[f.__name__ for f in REFUSED])
def test_what_is_one_memory_in_python(f: Any, why: str) -> None:
    """Rows are copies, so none of these may be taken for the value that Python has."""
    f(Z)
    with pytest.raises(UnsupportedError, match=why):
        grad(f, jit=False)(Z)


def test_they_are_no_array() -> None:
    def f(z: Any) -> Any:
        found = []
        for row in z:
            found.append((row, row[0]))
        return np.array(found).sum()

    with pytest.raises(UnsupportedError, match=r"np\.array\(\[x for x, P in ys\]\)"):
        grad(f, jit=False)(Z)


def test_objects_beside_rows_may_change() -> None:
    """Where how many there are is known, they are no rows."""

    def f(z: Any) -> Any:
        bodies = [Body(1.0, z[i] * 1) for i in range(3)]
        for body, row in zip(bodies, z[3:], strict=True):
            body.pos = body.pos + row
        return sum(body.far for body in bodies)

    g = grad(f, jit=False)
    check_value_and_grad(g, Z, rtol=1e-6)


class Particle:
    def __init__(self, x: Any) -> None:
        self.x, self.f = x, np.zeros(len(x))


def written_one_by_one(x: Any) -> Any:
    particles = [Particle(row.copy()) for row in x]
    for p in particles:
        p.f += p.x
    return np.array([p.f for p in particles])


def written_by_number(x: Any) -> Any:
    particles = [Particle(row) for row in x]
    particles[0].f += particles[1].x
    return particles[0].f


def written_in_tuples(x: Any) -> Any:
    pairs = [(row, np.zeros(2)) for row in x]
    for row, f in pairs:
        f += row
    return np.array([f for row, f in pairs])


def written_outside(x: Any) -> Any:
    particles = [Particle(row) for row in x]
    x[0] = 5.0
    return particles[0].x


def in_a_list_of_their_own(x: Any) -> Any:
    particles = [Particle(row.copy()) for row in x]
    forces = [np.zeros(2) for row in x]
    x[0] = 5.0
    for i, p in enumerate(particles):
        forces[i] += p.x * x[1]
    forces[0] += particles[1].x
    return np.array(forces)


@pytest.mark.parametrize("f", [written_in_tuples, written_outside], ids=lambda f: f.__name__)
def test_arrays_in_items_that_are_written_are_refused(f: Any) -> None:
    with pytest.raises(UnsupportedError, match="an array in a tuple or an object that is an item of a list") as refused:
        grad(f, jit=False)(np.array([[1.5, 2.0], [0.5, 4.0]]))
    assert " t " not in str(refused.value)


def test_a_list_of_a_comprehension_is_refused_by_what_it_is() -> None:
    def f(x: Any) -> Any:
        rows = [row for row in x]
        x[0] *= 3.0
        return rows[0] * 1.0

    def with_copies(x: Any) -> Any:
        rows = [row.copy() for row in x]
        x[0] *= 3.0
        return rows[0] * x[0]

    with pytest.raises(UnsupportedError, match="^an array in a list may or may not be the array that was written"):
        grad(f, jit=False)(Z.copy())
    check_grad(grad(with_copies, jit=False), Z.copy())


@pytest.mark.parametrize(
    "f",
    [objects_that_change, objects_that_are_compared, written_one_by_one, written_by_number],
    ids=lambda f: f.__name__,
)
def test_objects_change(f: Any) -> None:
    g = grad(f, jit=False)
    check_value_and_grad(g, Z, rtol=1e-7)


def test_arrays_in_a_list_of_their_own_are_written() -> None:
    g = grad(in_a_list_of_their_own, jit=False)
    x = np.array([[1.5, 2.0], [0.5, 4.0]])
    check_grad(g, x.copy())
    np.testing.assert_allclose(g(x.copy()), in_a_list_of_their_own(x.copy()))
