"""Objects in lists of run-time length that change: particles, agents, springs, under all the names that they have."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import assert_same_kind, check_value_and_grad

from srcgrad import UnsupportedError, check_grad, grad

X = np.array([[0.3, 0.7], [-0.4, 1.1], [0.9, -0.2], [1.3, 0.5]])
C = 0.25


@dataclass
class Tank:
    level: float
    rate: float = 0.0
    count: int = 0

    def step(self, dt: Any) -> Any:
        self.level = self.level + dt * self.rate
        self.count += 1
        return self.level

    def flow(self, other: Any, k: Any) -> None:
        through = k * (self.level - other.level)
        self.rate -= through
        other.rate += through


class Body:
    def __init__(self, x: Any, v: Any, m: Any = 1.5) -> None:
        self.x, self.v, self.m = x, v, m
        self.f = np.zeros(2)

    def kick(self, dt: Any) -> None:
        self.v = self.v + dt * self.f / self.m

    def drift(self, dt: Any) -> None:
        self.x = self.x + dt * self.v

    @property
    def energy(self) -> Any:
        return self.m * (self.v @ self.v)


def tanks(x: Any) -> list[Tank]:
    return [Tank(row[0], row[1]) for row in x]


def bodies(x: Any) -> list[Body]:
    return [Body(row.copy(), row * 0.5) for row in x]


def total(ys: Any) -> Any:
    return sum((k + 1.0) * y.level * (1.0 + y.rate) for k, y in enumerate(ys))


# ------------------------------------------------------------------------------------------------ what runs


def one_by_one(x: Any, c: Any) -> Any:
    ys = tanks(x)
    for _ in range(3):
        for y in ys:
            y.rate = y.rate - c * y.level
            y.level += c * y.rate
    return total(ys)


def by_number(x: Any, c: Any) -> Any:
    ys = []
    for i in range(len(x)):
        ys.append(Tank(x[i, 0]))
    for i in range(len(ys)):
        for j in range(len(ys)):
            if i != j:
                ys[i].rate += c * (ys[j].level - ys[i].level)
    ys[-1].level *= ys[0].rate
    return total(ys)


def by_methods(x: Any, c: Any) -> Any:
    ys, out = tanks(x), 0.0
    for _ in range(3):
        for i in range(len(ys)):
            ys[i].flow(ys[(i + 1) % len(ys)], c)
        for y in ys:
            out += y.step(c)
    return total(ys) * out * ys[0].count


def numbers_that_become_others(x: Any, c: Any) -> Any:
    ys = [Tank(row[0], 0, 1) for row in x]
    for y in ys:
        y.rate = y.rate + y.level
        y.count = y.count * c
    return total(ys) + ys[1].count * ys[1].rate


def with_flags(x: Any, c: Any) -> Any:
    ys = [SimpleNamespace(level=row[0], is_full=False, n=i) for i, row in enumerate(x)]
    for y in ys:
        y.is_full = y.level > 0.5
        y.n += 2
    return sum(y.level * c * y.n for y in ys if y.is_full)


def dicts(x: Any, c: Any) -> Any:
    ps = [{"w": row[0], "z": row * 2.0} for row in x]
    for k in range(len(ps)):
        ps[k]["w"] *= c + ps[k - 1]["w"]
        ps[k]["z"] = ps[k]["z"][::-1] * ps[k]["w"]
    return sum(p["w"] * p["z"][0] for p in ps)


def pairs_of_bodies(x: Any, c: Any) -> Any:
    ys = [Body(row, v) for row, v in zip(x, x[::-1] * 0.5)]
    for _ in range(3):
        for y in ys:
            y.f = np.zeros(2)
        for i in range(len(ys)):
            for j in range(i):
                d = ys[j].x - ys[i].x
                f = d / (d @ d + 1.0)
                ys[i].f += f
                ys[j].f -= f
        for y in ys:
            y.kick(c)
            y.drift(c)
    return sum((y.x**2).sum() + y.energy for y in ys)


def in_their_places(x: Any, c: Any) -> Any:
    ys = bodies(x)
    for _ in range(3):
        for i, a in enumerate(ys):
            for b in ys[i + 1 :]:
                a.v += c * (b.x - a.x)
                b.v -= c * (b.x - a.x)
        for y in ys:
            y.x += c * y.v
            y.x[0] = y.x[0] * y.x[1]
    return sum((y.x**2).sum() for y in ys)


def springs(x: Any, c: Any) -> Any:
    ys = bodies(x)
    for _ in range(3):
        for a, b in zip(ys, ys[1:]):
            d = c * (b.x - a.x)
            a.f += d
            b.f -= d
        for y in ys:
            y.kick(c)
            y.drift(c)
            y.f[:] = 0.0
    return sum((y.x**2).sum() for y in ys)


def combinations_of_them(x: Any, c: Any) -> Any:
    ys = bodies(x)
    for a, b in itertools.combinations(ys, 2):
        d = c * (b.x - a.x)
        a.f += d
        b.f -= d
        a.m += d[0] * b.m
    return sum(y.f @ y.v * y.m for y in ys)


def matrices(x: Any, c: Any) -> Any:
    tracks = [SimpleNamespace(x=row.copy(), p=np.outer(row, row)) for row in x]
    for t in tracks:
        gain = t.p @ t.x * c
        t.x = t.x + gain
        t.p = t.p - np.outer(gain, t.x)
    return sum(t.x @ t.p @ t.x for t in tracks)


class Cell:
    def __init__(self, pos: Any) -> None:
        self.pos, self.age = pos, 0.0


class Point:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


def objects_in_them(x: Any, c: Any) -> Any:
    cells = [Cell(Point(row[0], row[1])) for row in x]
    for cell in cells:
        cell.pos.a += c * cell.pos.b
        cell.age = cell.pos.a
        pos = cell.pos
        pos.b = pos.b * 2.0
    return sum(cell.pos.a * cell.age * cell.pos.b for cell in cells)


def sorted_meanwhile(x: Any, c: Any) -> Any:
    ys = tanks(x)
    for _ in range(3):
        for y in ys:
            y.level += c * y.rate
        ys.sort(key=lambda y: y.level)
        ys[0].level = ys[-1].level * c
        ys.reverse()
    return total(ys)


def longer_and_shorter(x: Any, c: Any) -> Any:
    ys = tanks(x)
    ys[0].level = 2.0 * c
    ys.append(Tank(ys[0].level, c))
    ys[-1].rate += ys[0].level
    y = ys.pop(0)
    for other in ys:
        other.level -= y.level * c
    ys.insert(0, Tank(c, c))
    ys[1].level = ys[0].level
    ys[0], ys[-1] = ys[-1], ys[0]
    ys[0].rate *= 3.0
    return total(ys) * y.level


def in_a_queue(x: Any, c: Any) -> Any:
    waiting, out = tanks(x), 0.0
    while waiting:
        y = waiting.pop(0)
        out = out + y.level
        for other in waiting:
            other.level += c * y.rate
    return out


def those_that_stay(x: Any, c: Any) -> Any:
    ys = tanks(x)
    for _ in range(3):
        for y in ys:
            y.level = y.level + c * y.rate
        ys = [y for y in ys if y.level > -0.3]
    return total(ys) * len(ys)


def the_best(x: Any, c: Any) -> Any:
    ys = tanks(x)
    best = ys[0]
    for _ in range(3):
        for y in ys:
            y.level = y.level + c * (best.level - y.level) + c * y.rate
            if y.level > best.level:
                best = y
        best.rate = best.rate * 0.9
    return total(ys) * best.level


def the_best_by_a_function(x: Any, c: Any) -> Any:
    ys = tanks(x)
    for _ in range(2):
        y = max(ys, key=lambda y: y.level)
        k = int(np.argmin(np.array([y.level for y in ys])))
        ys[k].level += c * y.level
    return total(ys)


def by_either_name(x: Any, c: Any) -> Any:
    ys = tanks(x)
    a, b = ys[0], ys[len(ys) - 1]
    a.level = 3.0 * c
    ys[0].rate = a.level
    ys[-1].level = b.level * a.rate
    return total(ys) + a.rate * b.level


def by_the_path(x: Any, c: Any) -> Any:
    ys = tanks(x)
    y = ys[0] if x[0, 0] > x[1, 0] else ys[1]
    y.level = 5.0 * c
    z = ys[2]
    if x[2, 0] > 0.5:
        z = y
    z.level *= 2.0
    return total(ys) + y.level * z.level


def each_with_all_others(x: Any, c: Any) -> Any:
    ys = bodies(x)
    for a in ys:
        for b in ys:
            if a is not b:
                a.f += c * (b.x - a.x)
    first = ys[0]
    for i, y in enumerate(ys):
        if y is first:
            y.m *= c + i
        y.kick(c)
    return sum(y.v @ y.f * y.m for y in ys)


def names_that_change_places(x: Any, c: Any) -> Any:
    ys = tanks(x)
    a, b = ys[0], ys[1]
    for _ in range(5):
        a.level += c * b.level
        a, b = b, a
        ys[2].level = a.level
    return total(ys) + a.level


def in_tuples_and_short_lists(x: Any, c: Any) -> Any:
    ys = tanks(x)
    pair, few, held = (ys[0], 2.0), [ys[0], ys[1]], SimpleNamespace(y=ys[1])
    pair[0].level = c
    few[1].level = 2.0 * c + few[0].level
    few[0], few[1] = few[1], few[0]
    few[0].rate = 4.0 * c
    held.y.level *= 3.0
    return total(ys) + pair[0].level + few[1].level * held.y.rate


def until(x: Any, c: Any) -> Any:
    ys, i = tanks(x), 0
    while i < len(ys) and ys[i].level < 5.0:
        ys[i].level += c * ys[i - 1].level
        i += 1
        if ys[i - 1].level > 1.2:
            break
    for y in ys:
        if y.level < 0.0:
            continue
        y.level = y.level**2
    return total(ys) * i


def left_early(x: Any, c: Any) -> Any:
    ys = tanks(x)
    for y in ys:
        y.level *= 2.0
        if y.level > 1.5:
            return y.level * ys[0].level
    return ys[-1].level * c


class World:
    def __init__(self, x: Any) -> None:
        self.ys, self.t = tanks(x), 0.0

    def step(self, dt: Any) -> None:
        for y in self.ys:
            y.step(dt)
        self.t += dt


def in_an_object(x: Any, c: Any) -> Any:
    world = World(x)
    for _ in range(3):
        world.step(c)
    return total(world.ys) * world.t


def copies_of_them(x: Any, c: Any) -> Any:
    ys = tanks(x)
    own, deep = copy.copy(ys[0]), [copy.deepcopy(y) for y in ys]
    ys[0].level = 7.0 * c
    own.level += 1.0
    deep[1].level *= 2.0
    return total(ys) + own.level * own.rate + total(deep)


def summed_by_a_method(x: Any, c: Any) -> Any:
    ys = tanks(x)
    return sum([y.step(c) for y in ys]) * total(ys)


def a_number_of_an_array_elsewhere(x: Any, c: Any) -> Any:
    ys = [Body(row, row * 0.5) for row in x]
    for y in ys:
        y.m = y.m * c  # the array is the argument's, and stays what it is
    return sum(y.m * y.x @ y.v for y in ys) + x[0, 0]


def an_array_from_before(x: Any, c: Any) -> Any:
    ys = bodies(x)
    before = ys[0].x
    ys[0].x = before * c
    return ys[0].x @ before + (ys[1].x @ ys[1].v)


RUN = [
    one_by_one, by_number, by_methods, numbers_that_become_others, with_flags, dicts, pairs_of_bodies,
    in_their_places, springs, combinations_of_them, matrices, objects_in_them, sorted_meanwhile, longer_and_shorter,
    in_a_queue, those_that_stay, the_best, the_best_by_a_function, by_either_name, by_the_path, each_with_all_others,
    names_that_change_places, in_tuples_and_short_lists, until, left_early, in_an_object, copies_of_them,
    summed_by_a_method, a_number_of_an_array_elsewhere, an_array_from_before,
]  # fmt: skip


@pytest.mark.parametrize("f", RUN, ids=lambda f: f.__name__)
def test_objects_that_change(f: Any) -> None:
    g = grad(f, jit=False)
    check_value_and_grad(g, X, C, rtol=1e-13)


@pytest.mark.parametrize("f", [one_by_one, pairs_of_bodies, in_their_places, the_best, longer_and_shorter])
def test_compiled(f: Any) -> None:
    check_value_and_grad(grad(f), X.copy(), C, rtol=1e-12, at_once=True)


def test_what_they_add_is_added_where_it_lies() -> None:
    """The adjoint is that of an array with a row for each: there is no copy of an object."""
    source = grad(one_by_one, jit=False).source(X, C)
    assert "t[i - first, 1] = t[i - first, 1] - c * t" in source or "t[i, 1] = t[i, 1] - c * t" in source


# ------------------------------------------------------------------------- what is one in Python, and two here


def two_lists(x: Any, c: Any) -> Any:
    ys = tanks(x)
    zs = list(ys)
    ys[0].level = c
    return total(zs)


def a_part_of_a_list(x: Any, c: Any) -> Any:
    ys = tanks(x)
    zs = ys[1:]
    zs[0].level = c
    return total(ys)


def twice_in_a_list(x: Any, c: Any) -> Any:
    ys = tanks(x)
    ys.append(ys[0])
    ys[0].level = c
    return total(ys)


def twice_in_a_later_iteration(x: Any, c: Any) -> Any:
    ys = tanks(x)
    y = Tank(c, c)
    for k in range(3):
        ys[-1].level += 1.0
        ys.append(y)
    return total(ys)


def a_list_twice_as_long(x: Any, c: Any) -> Any:
    ys = tanks(x)
    ys = ys + ys
    ys[0].level = c
    return total(ys)


def put_over_another(x: Any, c: Any) -> Any:
    ys = tanks(x)
    ys[0] = ys[1]
    ys[1].level = c
    return total(ys)


def known_before_it_was_put_in(x: Any, c: Any) -> Any:
    ys, y = tanks(x), Tank(c, c)
    ys.append(y)
    ys[-1].level = 3.0
    return y.level * total(ys)


def changed_by_its_old_name(x: Any, c: Any) -> Any:
    ys, y = tanks(x), Tank(c, c)
    ys.append(y)
    y.level = 3.0
    return total(ys)


def in_a_short_list_as_well(x: Any, c: Any) -> Any:
    ys, a, b = tanks(x), Tank(c, c), Tank(2.0, c)
    team = [a, b]
    ys.append(a)
    for y in ys:
        y.level += 1.0
    return team[0].level * total(ys)


def looked_up_before_a_sort(x: Any, c: Any) -> Any:
    ys = tanks(x)
    y = ys[0]
    ys.sort(key=lambda y: y.level)
    ys[0].level = c
    return y.level * total(ys)


def a_method_from_before(x: Any, c: Any) -> Any:
    ys = tanks(x)
    step = ys[0].step
    ys.reverse()
    step(c)
    return total(ys)


def a_default_from_before(x: Any, c: Any) -> Any:
    ys = tanks(x)
    y = ys[0]
    ys[1].rate = c
    f = lambda y=y: y.level
    ys.reverse()
    return f() * total(ys)


def taken_out_and_put_back(x: Any, c: Any) -> Any:
    ys = tanks(x)
    y = ys.pop(0)
    ys.append(y)
    ys[-1].level = c
    return y.level


def moved_in_a_loop_over_a_part(x: Any, c: Any) -> Any:
    ys, out = tanks(x), 0.0
    for y in ys[1:]:
        y.level += c
        out += y.level
        ys.reverse()
    return out


def moved_in_a_loop_over_pairs(x: Any, c: Any) -> Any:
    ys, out = tanks(x), 0.0
    for a, b in itertools.combinations(ys, 2):
        a.level += c
        out += a.level * b.rate
        ys.reverse()
    return out


def gone_round_a_loop(x: Any, c: Any) -> Any:
    ys = tanks(x)
    y, out = ys[0], 0.0
    for k in range(3):
        out += y.level
        ys[-1].level += c
        ys.append(y)
    return out * total(ys)


def filtered_twice(x: Any, c: Any) -> Any:
    ys, zs = tanks(x), []
    for _ in range(2):
        for y in ys:
            zs.append(y)
    zs[0].level = c
    return total(zs)


def compared_and_then_put_in_twice(x: Any, c: Any) -> Any:
    ys, out = tanks(x), 0.0
    for _ in range(2):
        for y in ys:
            out += y.level if y is ys[-1] else c
        ys.append(ys[0])
    return out


def one_item_again_and_again(x: Any, c: Any) -> Any:
    ys = tanks(x)
    zs = [ys[0] for _ in range(len(x))]
    zs[1].level = c
    return total(zs)


def items_by_number(x: Any, c: Any) -> Any:
    ys, order = tanks(x), np.array([2, 0, 2, 1])
    zs = [(ys[k], k) for k in order]
    zs[0][0].level += c
    return sum(y.level * k for y, k in zs)


def one_array_in_all(x: Any, c: Any) -> Any:
    shared = np.array([c, 1.0])
    ys = [Body(shared, row) for row in x]
    ys[0].x += 1.0
    return ys[1].x @ ys[1].v


def one_array_under_two_names(x: Any, c: Any) -> Any:
    ys = bodies(x)
    ys[0].v = ys[0].x
    ys[0].x += c
    return ys[0].v @ ys[1].x


def an_array_of_another(x: Any, c: Any) -> Any:
    ys = bodies(x)
    ys[0].x = ys[1].x
    ys[1].x[0] = c
    return ys[0].x @ ys[0].v


def an_array_that_has_a_name(x: Any, c: Any) -> Any:
    ys, z = bodies(x), np.array([c, c])
    ys[0].x = z
    z[0] = 5.0
    return ys[0].x @ ys[0].v


def an_array_that_got_a_name(x: Any, c: Any) -> Any:
    ys = bodies(x)
    z = ys[0].x
    ys[0].x += c
    return z @ ys[0].v


def written_by_its_name(x: Any, c: Any) -> Any:
    ys = bodies(x)
    z = ys[0].x
    z += c
    return ys[0].x @ ys[0].v


def rows_of_the_argument(x: Any, c: Any) -> Any:
    ys = [Body(row, row * 0.5) for row in x]
    ys[0].x += c
    return x[0, 0] * ys[0].x @ ys[0].v


def rows_that_overlap(x: Any, c: Any) -> Any:
    z = x.ravel() * 1.0
    ys = [Body(z[i : i + 2], z[:2]) for i in range(len(z) - 1)]
    ys[0].x += c
    return sum(y.x @ y.v for y in ys)


def one_object_in_all(x: Any, c: Any) -> Any:
    pos = Point(c, 1.0)
    cells = [Cell(pos) for row in x]
    cells[0].pos.a = 5.0
    return cells[1].pos.a * c


def on_the_way_to_a_call(x: Any, c: Any) -> Any:
    ys, y = tanks(x), Tank(c, c)
    ys.append(y)

    def change() -> Any:
        ys[-1].level = 5.0
        return 1.0

    return (lambda y, one: y.level * one)(y, change())


def an_item_on_the_way(x: Any, c: Any) -> Any:
    ys = tanks(x)
    ys[1].level += c
    return (lambda y, z: y.level * z.rate)(ys[0], ys.pop(0))


def one_array_for_two_at_once(x: Any, c: Any) -> Any:
    ys = bodies(x)

    def made() -> Any:
        z = np.ones(2) * c
        return z, z

    for y in ys:
        y.x, y.v = made()
    for y in ys:
        y.x += c
    return sum(y.x @ y.v for y in ys)


def an_array_and_then_its_name(x: Any, c: Any) -> Any:
    ys = bodies(x)

    def made() -> Any:
        z = np.ones(2) * c
        return z, z

    ys[0].x, z = made()
    ys[0].x += c
    return z @ ys[0].v


def shared_by_two_of_each_iteration(x: Any, c: Any) -> Any:
    ys = []
    for row in x:
        f = np.zeros(2)
        for _ in range(2):
            y = Body(row.copy(), row * 0.5)
            y.f = f
            ys.append(y)
    for y in ys:
        y.f[0] += c
    return sum(y.f @ y.v for y in ys)


def its_index_moves_it(x: Any, c: Any) -> Any:
    ys = bodies(x)

    def place() -> int:
        ys.reverse()
        return 0

    ys[0].x[place()] = c
    return sum((k + 1.0) * y.x[0] for k, y in enumerate(ys))


def in_a_comprehension(x: Any, c: Any) -> Any:
    ys, y = tanks(x), Tank(c, c)
    ys.append(y)
    return sum([y.level + z.step(c) * ys[-1].step(c) for z in ys])


def an_array_gone_through(x: Any, c: Any) -> Any:
    ys, out = bodies(x), 0.0
    for z in ys[0].x:
        ys[0].x = ys[0].x * c
        out += z
    return out


class Rotated:
    def __init__(self, m: Any) -> None:
        self.m, self.n, self.row = m, np.eye(2), m[0] * 1.0


def rotated(x: Any) -> list[Rotated]:
    return [Rotated(np.outer(row, row)) for row in x]


def turned(ys: Any) -> Any:
    return sum((y.n @ np.array([1.0, 2.0])) @ np.array([3.0, 5.0]) + y.row @ np.array([1.0, 4.0]) for y in ys)


def its_own_array_turned(x: Any, c: Any) -> Any:
    ys = rotated(x)
    for y in ys:
        y.n = y.m.T
        y.m[0, 1] = c
    return turned(ys)


def a_column_of_its_own(x: Any, c: Any) -> Any:
    ys = rotated(x)
    for y in ys:
        y.row = y.m[:, 0]
    for y in ys:
        y.m[0] = c
    return turned(ys)


def its_own_array_in_another_shape(x: Any, c: Any) -> Any:
    ys = [{"m": np.outer(row, row), "n": np.zeros(4)} for row in x]
    for y in ys:
        y["n"] = y["m"].reshape(4)
    for y in ys:
        y["m"] += c
    return sum(y["n"] @ np.array([1.0, 2.0, 3.0, 4.0]) for y in ys)


def its_array_in_a_later_object(x: Any, c: Any) -> Any:
    ys = bodies(x)
    ys[1].x += c
    ys[-1] = Body(ys[0].x[::-1], ys[1].v * 1.0)
    ys[0].x += c
    return sum((k + 1.0) * (y.x @ y.v) for k, y in enumerate(ys))


def replaced_by_what_is_added(x: Any, c: Any) -> Any:
    ys = bodies(x)

    def replace() -> Any:
        ys[0].x = np.array([5.0 * c, c])
        return 1.0

    ys[0].x += replace()
    return sum(y.x @ y.v for y in ys)


def replaced_by_what_is_added_under_a_name(x: Any, c: Any) -> Any:
    ys = bodies(x)
    y = ys[0]

    def replace() -> Any:
        y.x = np.array([5.0 * c, c])
        return 1.0

    y.x += replace()
    return sum(y.x @ y.v for y in ys)


ONE_IN_PYTHON = [
    its_array_in_a_later_object, its_own_array_turned, a_column_of_its_own, its_own_array_in_another_shape,
    replaced_by_what_is_added,
    replaced_by_what_is_added_under_a_name,
    one_array_for_two_at_once, an_array_and_then_its_name, shared_by_two_of_each_iteration,
    its_index_moves_it,
    one_item_again_and_again, items_by_number,
    two_lists, a_part_of_a_list, twice_in_a_list, twice_in_a_later_iteration, a_list_twice_as_long, put_over_another,
    known_before_it_was_put_in, changed_by_its_old_name, in_a_short_list_as_well, looked_up_before_a_sort,
    a_method_from_before, a_default_from_before, taken_out_and_put_back, moved_in_a_loop_over_a_part,
    moved_in_a_loop_over_pairs, gone_round_a_loop, filtered_twice, one_array_in_all, one_array_under_two_names,
    an_array_of_another, an_array_that_has_a_name, an_array_that_got_a_name, written_by_its_name,
    rows_of_the_argument, rows_that_overlap, one_object_in_all, compared_and_then_put_in_twice, on_the_way_to_a_call,
    an_item_on_the_way, in_a_comprehension, an_array_gone_through,
]  # fmt: skip


@pytest.mark.parametrize("f", ONE_IN_PYTHON, ids=lambda f: f.__name__)
def test_what_is_one_in_python(f: Any) -> None:
    """It is that here, or it is refused, at the user's line."""
    g = grad(f, jit=False)
    try:
        value = g.value_and_backward(X, C)[0]
    except UnsupportedError as refused:
        assert "test_item_fields.py" in str(refused)
        assert " t " not in str(refused).splitlines()[0]
        return
    assert value == pytest.approx(f(X.copy(), C), rel=1e-12)
    check_grad(g, X, C)


def another_attribute(x: Any, c: Any) -> Any:
    ys = tanks(x)
    ys[0].more = c  # type: ignore[attr-defined]
    return total(ys)


def a_number_that_becomes_an_array(x: Any, c: Any) -> Any:
    ys = tanks(x)
    ys[0].level = x[0]
    return total(ys)


def another_object_in_it(x: Any, c: Any) -> Any:
    cells = [Cell(Point(row[0], row[1])) for row in x]
    cells[0].pos = Point(c, c)
    return cells[0].pos.a * cells[1].pos.b


def whole_numbers_that_are_written(x: Any, c: Any) -> Any:
    ys = [SimpleNamespace(f=np.zeros(2, int)) for row in x]
    for y in ys:
        y.f[0] = 2.7  # is 2
    for y in ys:
        y.f = y.f + c
    return sum(y.f.sum() for y in ys)


def whole_numbers_beside_others(x: Any, c: Any) -> Any:
    ys = [SimpleNamespace(f=np.zeros(2, int)) for row in x]
    ys.append(SimpleNamespace(f=x[0] * c))
    ys[0].f[0] = 2.7  # is 2
    return sum(y.f.sum() for y in ys)


def an_element_of_a_matrix(x: Any, c: Any) -> Any:
    ys = rotated(x)
    for y in ys:
        y.m[0, 0] = c
    return sum((y.m**2).sum() for y in ys)


def a_row_of_a_matrix(x: Any, c: Any) -> Any:
    ys = rotated(x)
    for y in ys:
        y.m[0] += c
    return sum((y.m**2).sum() for y in ys)


def counts_beside_numbers(x: Any, c: Any) -> Any:
    ys = [SimpleNamespace(level=row[0], counts=np.zeros(2, int)) for row in x]
    for y in ys:
        y.counts[0] += 1
    return sum(y.counts[0] * y.level for y in ys) * c


def an_array_without_axes(x: Any, c: Any) -> Any:
    ys = [SimpleNamespace(level=np.array(row[0])) for row in x]
    z = ys[0].level
    ys[0].level += c  # so does z
    return z * sum(y.level for y in ys)


def flags_that_choose(x: Any, c: Any) -> Any:
    ys = [SimpleNamespace(is_on=row[0] > 0.0) for row in x]
    chosen = x[np.array([y.is_on for y in ys])]
    for y in ys:
        y.is_on = y.is_on + 1
    return chosen.sum() * c


def a_flag_in_a_number(x: Any, c: Any) -> Any:
    ys = tanks(x)
    for y in ys:
        y.count = y.level > 0.5
    return x[np.array([y.count for y in ys])].sum() * c


def a_number_that_becomes_complex(x: Any, c: Any) -> Any:
    ys = tanks(x)
    out = sum(y.level for y in ys)
    ys[0].level = 1j * c
    return out * abs(ys[0].level)


def counts_that_are_no_more(x: Any, c: Any) -> Any:
    ys = [Tank(row[0], row[1], 3) for row in x]
    out = 0.0
    for y in ys:
        for _ in range(y.count):
            out += y.level
    for y in ys:
        y.count = y.count * c
    return out * total(ys) * ys[0].count


# fmt: off
REFUSED = {
    whole_numbers_that_are_written: "f of an object that is an item of a list becomes an array of another kind",
    whole_numbers_beside_others: "where some hold another kind of number than the others",
    an_element_of_a_matrix: "m of an object that is an item of a list is written in its place, and has several axes",
    a_row_of_a_matrix: "m of an object that is an item of a list is written in its place, and has several axes",
    counts_beside_numbers: "counts of an object that is an item of a list is written in its place",
    an_array_without_axes: "that holds an array without axes, which is a number there",
    flags_that_choose: "is_on of an object that is an item of a list becomes a number of another kind",
    a_flag_in_a_number: "count of an object that is an item of a list becomes a number of another kind",
    a_number_that_becomes_complex: "level of an object that is an item of a list becomes a number of another kind",
    counts_that_are_no_more: "count of an object that is an item of a list becomes a number of another kind",
    another_attribute: "gets 'more', which it did not have when it was put in",
    a_number_that_becomes_an_array: "level of an object that is an item of a list becomes another thing than a number",
    another_object_in_it: "pos of an object that is an item of a list becomes another thing",
    twice_in_a_list: "that may be in it twice",
    changed_by_its_old_name: "changes an object that is an item of a list",
    known_before_it_was_put_in: "y is an object that is, or may be, an item of a list, and was changed there",
    looked_up_before_a_sort: "y is an object that was an item of a list, the items of which have got other places",
    one_array_in_all: "an array of an object in a list is changed that may be one of another, too",
    on_the_way_to_a_call: "a later operand changes an object in a list",
}
# fmt: on


@pytest.mark.parametrize("f, why", REFUSED.items(), ids=[f.__name__ for f in REFUSED])
def test_what_is_refused(f: Any, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        grad(f, jit=False).backward(X, C)


def counts(n: int, x: Any) -> list[Tank]:
    return [Tank(1.0, 0.0, n) for _ in x]


def by_one_function(x: Any, c: Any) -> Any:
    ys, zs = counts(0, x), counts(1, x)
    for y, z in zip(ys, zs, strict=True):
        y.count += c
        z.count *= 2
    return ys[0].count, zs[0].count, x[zs[0].count, 0]


def joined_and_copied(x: Any, c: Any) -> Any:
    ys, zs, ws = [Tank(row[0]) for row in x], [Tank(row[1]) for row in x], [Tank(row[1]) for row in x]
    more, copies = ys + zs, [copy.copy(w) for w in ws]
    for y in more:
        y.count += c * y.level
    for w, other in zip(ws, copies, strict=True):
        w.count += 1
        other.count -= c
    return more[0].count, more[-1].count, ws[0].count, copies[0].count


def attributes_of_one_object(x: Any, c: Any) -> Any:
    world = SimpleNamespace(wet=[{"n": 7, "v": row} for row in x], dry=[])
    k = 0
    while k < len(x):
        world.dry.append({"n": 7, "v": x[k] * c})
        for d in world.dry:
            d["n"] += 1
        world.wet[k]["n"] += c
        k += 1
    return world.wet[0]["n"], world.dry[0]["n"], world.wet[1]["v"], world.dry[1]["v"]


def pairs(x: Any, c: Any) -> Any:
    ys = [(Tank(row[0]), Tank(row[1])) for row in x]
    for y in ys:
        y[0].count += c
        y[1].count += 1
    return ys[0][0].count, ys[0][1].count, x[ys[0][1].count, 0] * c


def of_two_attributes(x: Any, c: Any) -> Any:
    ys = []
    for row in x:
        ys.append(SimpleNamespace(first=SimpleNamespace(v=row, n=1), n=1, other=SimpleNamespace(v=row[1:], n=1)))
    for y in ys:
        y.other.n *= c
        y.other.v = y.other.v * c
        y.first.n += 1
        y.n -= 1
    return ys[0].first.n, ys[0].n, ys[0].other.n, ys[-1].other.v, x[ys[-1].n, 0]


OF_THEIR_OWN = [by_one_function, joined_and_copied, attributes_of_one_object, pairs, of_two_attributes]


@pytest.mark.parametrize("f", OF_THEIR_OWN, ids=lambda f: f.__name__)
def test_lists_of_one_class_have_numbers_of_their_own(f: Any) -> None:
    g = grad(f, jit=False)
    assert_same_kind(g(X, C), f(X, C), f.__name__)
    check_value_and_grad(g, X, C)
