"""Calls that get to machine code without Python: right, and handed over where Python has more to say."""

import copy
import cProfile
import inspect
import linecache
import pickle
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pytest

import srcgrad
from srcgrad import grad
from srcgrad.backends.direct import Direct

factor = 2.0


def cube(x):
    return x**3


@grad
def decorated(x):
    return x * x


def product(x, w):
    return x * w


def frames_of(call):
    """Which Python functions of srcgrad run."""
    seen = []

    def watch(frame, event, _):
        if event == "call" and "srcgrad" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
            seen.append(frame.f_code.co_name)

    sys.settrace(watch)
    try:
        call()
    finally:
        sys.settrace(None)
    return seen


@pytest.mark.parametrize("name", ["__call__", "backward", "value_and_backward"])
def test_no_python_runs_in_the_second_call(name):
    f, x, v = grad(cube), np.array([1.0, 2.0]), np.ones(2)
    args = (x,) if name == "__call__" else (x, v)
    first = getattr(f, name)(*args)
    assert isinstance(getattr(f, name), Direct)
    assert frames_of(lambda: getattr(f, name)(*args)) == []
    if name == "__call__":
        assert frames_of(lambda: f(x)) == []
    np.testing.assert_equal(getattr(f, name)(*args), first)


def test_what_a_library_has_is_not_asked_for_at_every_call():
    def function(x):
        return x * x if hasattr(np, "trapezoid") or hasattr(x, "shape") else x

    f = grad(function)
    f.backward(2.0)
    assert frames_of(lambda: f.backward(2.0)) == []


def test_other_types_are_added():
    f = grad(product)
    for dtype in (np.float64, np.float32):
        for shape in ((3,), (2, 3)):
            x = np.full(shape, 2, dtype)
            w, v = x + 1, x * 0 + 1
            for _ in range(2):
                x_b, w_b = f.backward(x, w, v)
                assert x_b.dtype == w_b.dtype == dtype
                np.testing.assert_equal((x_b, w_b), (w, x))
            assert frames_of(lambda: f.backward(x, w, v)) == []


def test_numbers_keep_their_python_types():
    f = grad(cube)
    for x in (2.0, np.float64(2.0), np.float32(2.0), 2.0, np.float64(2.0)):
        assert type(f(x)) is type(f(x)) is type(x)
        assert type(f.backward(x)) is type(f.backward(x)) is type(x)
        assert f.backward(x) == 12.0
    assert f(2) == f(2) == 8 and type(f(2)) is int
    assert f(True) == 1


def test_keywords_and_other_counts_go_through_python():
    f, x, v = grad(product), np.array([1.0, 2.0]), np.array([1.0, 3.0])
    expected = f.backward(x, x, v)
    for _ in range(2):
        np.testing.assert_equal(f.backward(x, x, v=v), expected)
        np.testing.assert_equal(f.backward(w=x, x=x, v=v), expected)
        np.testing.assert_equal(f.backward(*[x, x, v], **{}), expected)
        with pytest.raises(srcgrad.ArgumentError, match="v is needed"):
            f.backward(x, x)
        with pytest.raises(srcgrad.ArgumentError, match="too many positional arguments"):
            f.backward(x, x, v, v)
        with pytest.raises(srcgrad.ArgumentError, match="unexpected keyword argument 'u'"):
            f.backward(x, x, v, u=1)
    total = grad(lambda x: x.sum())
    for _ in range(2):  # with v left out first, then given
        np.testing.assert_equal(total.backward(x), [1.0, 1.0])
        np.testing.assert_equal(total.backward(x, 2.0), [2.0, 2.0])


def scaled(x, scale=2.0):
    return x * scale


def scaled_often(x, scale=2.0, times=1):  # whose times may have to be known: there it is found earlier
    return x * scale * times


def powers(x, order=3):
    y = np.zeros(order)
    for i in range(order):
        y[i] = np.sum(x**i)
    return y


def test_v_that_went_to_a_number():
    with pytest.raises(srcgrad.SrcgradError, match="name v if it is that, which went to order.*:  v=...") as error:
        grad(powers, jit=False).backward(np.ones(2), np.ones(3))
    assert "np.zeros(order)" in str(error.value)
    with pytest.raises(srcgrad.SrcgradError) as error:
        grad(powers, jit=False).backward(np.ones(2), "three")
    assert "name v" not in str(error.value)


def test_an_argument_that_went_to_a_default():
    x = np.array([1.0, 2.0])
    for f in (grad(scaled_often, jit=False), grad(scaled, jit=False)) * 2:
        with pytest.raises(srcgrad.ArgumentError, match="v is needed") as error:
            f.backward(x, x)
        assert "the last positional argument went to scale, which has a default" in str(error.value)
        assert "v=..." in str(error.value)
    assert f.backward(x, v=x)[0].tolist() == [2.0, 4.0]
    with pytest.raises(srcgrad.ArgumentError, match="v is needed") as error:
        f.backward(x)
    assert "went to" not in str(error.value)
    total = grad(lambda x, scale=2.0: (x * scale).sum(), jit=False)
    for _ in range(2):
        dx, dscale = total.backward(x, 3.0)
        assert dx.tolist() == [3.0, 3.0] and dscale == 3.0


def test_lengths_that_differ():
    f, x = grad(product), np.array([1.0, 2.0])
    f.backward(x, x, x)
    f(x, x)
    for _ in range(2):
        with pytest.raises(srcgrad.CotangentShapeError, match=r"v has shape \(3,\)"):
            f.backward(x, x, np.ones(3))
        with pytest.raises(srcgrad.BroadcastError):
            f(x, np.ones(3))
        np.testing.assert_equal(f.backward(x, x, x), (x * x, x * x))
    one = np.array([3.0])
    for _ in range(2):  # a length of 1 is stretched: generated anew
        np.testing.assert_equal(f(x, one), x * 3)
        np.testing.assert_equal(f.backward(x, one, np.ones(2)), ([3.0, 3.0], [3.0]))
        np.testing.assert_equal(f.backward(x, x, np.ones(2)), (x, x))
    assert isinstance(f.backward, Direct)
    assert frames_of(lambda: f.backward(x, one, x)) == []


def test_calls_that_fail_leave_nothing_behind():
    f, x = grad(lambda a, w: (a @ w).sum()), np.ones((6, 6))
    f.backward(x, x[0])

    def held():
        return len(f.backward._alive), *(len(source._watchers) for source in f.backward.sources.values())

    before = held()
    for _ in range(20):
        with pytest.raises(srcgrad.RuntimeShapeError):
            f.backward(x[:, :3].copy(), x[0])
    assert held() == before


@pytest.mark.parametrize("odd", [[], set(), ([],), [[]], None, "x", [1.0]], ids=repr)
def test_what_has_no_type_is_refused_as_in_a_first_call(odd):
    f = grad(product)
    for entry in (f, f.backward):
        with pytest.raises(srcgrad.SrcgradError) as first:
            entry(2.0, odd)
        for _ in range(2):
            assert f(2.0, 3.0) == 6.0 and f.backward(2.0, 3.0) == (3.0, 2.0)
        with pytest.raises(type(first.value)) as later:
            (f if entry is f else f.backward)(2.0, odd)
        assert str(later.value) == str(first.value)


def test_errors_of_the_program_are_raised_as_they_are():
    @grad
    def fails(x):
        if x[0] > 1:
            raise ValueError("too large")
        return x[3]

    x = np.zeros(4)
    fails.backward(x)
    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            fails.backward(x + 2)
        with pytest.raises(IndexError):
            fails.backward(x[:2])


def test_subclasses_of_arrays_are_refused_as_before():
    f, x = grad(cube), np.ones((2, 2))
    f(x), f.backward(x, x)
    for other in (np.ma.masked_array(x), np.matrix(x)):
        for _ in range(2):
            with pytest.raises(srcgrad.ArgumentError):
                f(other)
            with pytest.raises(srcgrad.ArgumentError):
                f.backward(other, x)


def test_as_a_method():
    class Spring:
        def __init__(self, k):
            self.k = k

        @grad
        def force(self, x):
            return self.k * x**2

    soft, stiff = Spring(1.0), Spring(10.0)
    for _ in range(2):
        assert soft.force(3.0) == 9.0 and stiff.force(3.0) == 90.0
        assert soft.force.backward(3.0) == 6.0 and stiff.force.backward(3.0) == 60.0


def test_is_described_and_pickled_as_the_method():
    before, after, x = grad(cube), decorated, np.ones(2)
    after.backward(x, x), after(x)
    assert inspect.getdoc(after.backward) == inspect.getdoc(before.backward)
    assert inspect.signature(after.backward) == inspect.signature(before.backward)
    assert inspect.signature(after) == inspect.signature(cube)
    loaded = pickle.loads(pickle.dumps(after.backward))
    np.testing.assert_equal(loaded(x, x), 2 * x)
    np.testing.assert_equal(copy.deepcopy(after)(x), x)


def test_under_a_profiler():
    f, x = grad(cube), np.ones(3)
    f.backward(x, x)
    flags = cube.__code__.co_flags
    profile = cProfile.Profile()
    found = profile.runcall(lambda: [f.backward(x, x), f(x)])
    np.testing.assert_equal(found, [3 * x, x])
    assert cube.__code__.co_flags == flags


def test_from_several_threads():
    f = grad(product)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for i in range(200):
            n = 1 + i % 7
            x, w, v = rng.random(n), rng.random(1 if i % 50 == 49 else n), rng.random(n)
            x_b, w_b = f.backward(x, w, v)
            if not np.allclose(x_b, v * w) or not np.allclose(w_b.sum(), v @ x):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_loaded_by_another_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import numpy as np
        from srcgrad import grad

        @grad
        def f(x):
            return (x * x).sum()

        x = np.arange(3.0)
        for _ in range(3):
            assert f(x) == 5.0 and (f.backward(x) == 2 * x).all()
        print(type(f.backward).__name__)
        """)
    )
    for _ in range(2):
        run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        assert run.stdout == "Direct\n"


def test_functions_go_when_nobody_holds_them():
    import gc
    import weakref

    f, x = grad(cube), np.ones(2)
    f(x), f(x), f.backward(x, x), f.backward(x, x)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_functions_of_many_arguments():
    names = [f"a{i}" for i in range(30)]
    namespace = {}
    source = f"def many({', '.join(names)}):\n    return {' + '.join(names)}\n"
    import linecache

    linecache.cache["<many>"] = (len(source), None, source.splitlines(True), "<many>")
    exec(compile(source, "<many>", "exec"), namespace)
    f = grad(namespace["many"])
    args = [float(i) for i in range(30)]
    for _ in range(2):
        assert f(*args) == sum(args)
        assert f.backward(*args) == (1.0,) * 30


# ------------------------------------------------------------------------------------------- what is read from outside

weights = np.array([1.0, 2.0])


def with_function(x):
    return cube(x) * 2


def with_number(x):
    return x * factor


def with_array(x):
    return x * weights


def closure_over(value):
    def f(x):
        return x * value

    def change(other):
        nonlocal value
        value = other

    return f, change


@pytest.mark.parametrize("function", [with_function, with_number, with_array, closure_over(weights)[0]])
def test_reads_from_outside_need_no_python(function):
    f, x, v = grad(function), np.array([1.0, 2.0]), np.ones(2)
    expected = function(x), f.backward(x, v)
    f(x)
    assert isinstance(f.backward, Direct)
    assert frames_of(lambda: (f(x), f.backward(x, v))) == []
    np.testing.assert_equal((f(x), f.backward(x, v)), expected)


def test_a_function_that_changes_is_seen(monkeypatch):
    f, x, v = grad(with_function), np.array([1.0, 2.0]), np.ones(2)
    for power in (3, 2, 3):
        monkeypatch.setitem(globals(), "cube", lambda x, power=power: x**power)
        for _ in range(3):
            np.testing.assert_allclose(f(x), 2 * x**power)
            np.testing.assert_allclose(f.backward(x, v), 2 * power * x ** (power - 1))
    monkeypatch.delitem(globals(), "cube")
    for _ in range(2):
        with pytest.raises(NameError):
            f.backward(x, v)


@pytest.mark.parametrize("value", [3.0, np.float64(3.0), np.float32(3.0), 1j, np.array([3.0, 4.0]), 3, (3.0,), True])
def test_a_number_that_changes_is_seen(monkeypatch, value):
    f, x = grad(with_number), np.array([1.0, 2.0])
    for now in (2.0, value, value, 5.0, value):
        monkeypatch.setitem(globals(), "factor", now)
        expected = with_number(x)
        for _ in range(2):
            result = f(x)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_allclose(f.backward(x, np.ones_like(expected)), np.broadcast_to(np.real(now), 2))


def test_an_array_that_changes_is_seen(monkeypatch):
    f, x, v = grad(with_array), np.array([1.0, 2.0]), np.ones(2)
    read_only = np.array([3.0, 5.0])
    read_only.flags.writeable = False
    for now in (
        weights, weights + 1, np.array([1.0, 2.0, 3.0, 4.0])[::2], weights.astype(np.float32), np.array([3, 4]),
        read_only, weights[::-1], np.array([2.0]), weights.astype(">f8"), weights.astype([("a", float)])["a"], weights,
    ):  # fmt: skip
        monkeypatch.setitem(globals(), "weights", now)
        for _ in range(2):
            if now.dtype.byteorder == ">":
                with pytest.raises(srcgrad.SrcgradError):
                    f(x)
                continue
            np.testing.assert_array_equal(f(x), x * now)
            np.testing.assert_array_equal(f.backward(x, v), v * now)


def test_other_byte_orders_are_refused_after_read_only_arrays():
    """Numba knows an array that can't be written by its number of axes and its kind of number alone."""
    f, x = grad(with_array), np.array([1.0, 2.0])
    odd = np.zeros(17, np.uint8)[1:].view(np.float64)  # not where a processor likes to read it
    odd[...] = x
    frozen = x.copy()
    for kind in (frozen, odd):
        frozen.flags.writeable = False
        swapped = kind.astype(">f8")
        for writeable in (True, False):
            swapped.flags.writeable = writeable
            for _ in range(2):
                np.testing.assert_array_equal(f(kind), x * weights)
                np.testing.assert_array_equal(f.backward(kind, kind), x * weights)
                for call in (lambda: f(swapped), lambda: f.backward(swapped, kind), lambda: f.backward(kind, swapped)):  # noqa: B023
                    with pytest.raises(srcgrad.ArgumentError, match=r"argument [xv] is an array .* another byte order"):
                        call()
        assert sys.getrefcount(swapped) == 2


def test_an_array_that_changes_in_place_is_seen():
    held = np.ones(4)
    function, _ = closure_over(held)
    f, x = grad(function), np.arange(4.0)
    np.testing.assert_equal((f(x), f(x)), (x, x))
    held[:] = 3
    np.testing.assert_equal(f(x), 3 * x)
    held.shape = (2, 2)
    square = x.reshape(2, 2)
    for _ in range(2):
        np.testing.assert_equal(f(square), 3 * square)
        with pytest.raises(srcgrad.BroadcastError):
            f(x[:3])
    held.shape = (4,)
    np.testing.assert_equal(f(x), 3 * x)


def test_a_cell_that_changes_is_seen():
    function, change = closure_over(2.0)
    f, x = grad(function), np.array([1.0, 2.0])
    for value in (2.0, 3.0, weights, cube(2.0), 2, 7.0, 7.0):
        change(value)
        np.testing.assert_equal((f(x), f(x)), (x * value, x * value))
        np.testing.assert_equal(f.backward(x, x), x * value)


class Model:
    rate = 2.0

    def __init__(self):
        self.weights, self.power = np.array([1.0, 2.0]), 2

    def act(self, x):
        return self.weights * x**self.power * self.scale * self.rate

    @property
    def scale(self):
        return self.rate + 1

    @classmethod
    def twice(cls, x):
        return 2 * x


def test_objects_need_no_python(monkeypatch):
    model = Model()

    def function(x):
        return model.twice(model.act(x))

    f, x, v = grad(function), np.array([1.0, 2.0]), np.ones(2)
    changes = (
        lambda: None,
        lambda: setattr(model, "weights", np.array([3.0, 4.0])),
        lambda: setattr(model, "rate", 5.0),
        lambda: setattr(model, "power", 3),
        lambda: monkeypatch.setattr(Model, "scale", property(lambda self: 7.0)),
        lambda: setattr(model, "act", lambda x: x**2),
        lambda: monkeypatch.setattr(Model, "twice", classmethod(lambda cls, x: x)),
    )
    for change in changes:
        change()
        slope = (function(x + 1e-20j) / 1e-20).imag  # complex step
        for _ in range(2):
            np.testing.assert_allclose(f.backward(x, v), slope, rtol=1e-12)
        assert frames_of(lambda: f.backward(x, v)) == []


def test_globals_in_a_subclass_of_dict():
    class Space(dict):
        weight = 2.0

    source = "def function(x):\n    return weight * x\n"
    linecache.cache["<space>"] = (len(source), None, source.splitlines(True), "<space>")
    space = Space(weight=3.0)
    exec(compile(source, "<space>", "exec"), space)
    f, x = grad(space["function"]), np.ones(2)
    for weight in (3.0, 3.0, 3.0, 5.0):
        space["weight"] = weight
        np.testing.assert_equal(f.backward(x, x), weight * x)


def test_attributes_that_are_made_anew_are_not_leaked():
    class Sized:
        @property
        def weight(self):
            return 1.5

    holder = Sized()
    model = types.SimpleNamespace(weights=np.ones(2), holder=holder)
    f, x = grad(lambda x: model.weights * x * holder.weight), np.ones(2)
    for _ in range(2):
        f.backward(x, x)
    direct, before = f.backward, sys.getrefcount(model.weights)
    for _ in range(100):
        direct(x, x)
    after = sys.getrefcount(model.weights)
    assert after == before
    del model.weights
    for _ in range(3):
        with pytest.raises(AttributeError, match="weights"):
            direct(x, x)
    model.weights = np.full(2, 3.0)
    np.testing.assert_equal(direct(x, x), [4.5, 4.5])


def test_what_may_change_inside_is_looked_at_by_python():
    shape = [1.0, 2.0]
    f, x = grad(lambda x: x * shape[0]), np.array([1.0, 2.0])
    for now in (1.0, 4.0, 4.0):
        shape[0] = now
        np.testing.assert_equal((f(x), f(x)), (x * now, x * now))


def test_written_arguments_must_lie_apart():
    @grad
    def move(x, y):
        x[0] = y[1] * 2
        return x * y

    memory = np.arange(6.0)
    x, y = memory[:3], memory[3:]
    expected = move(x, y.copy())
    assert frames_of(lambda: move(x, y)) == []  # side by side
    np.testing.assert_equal(move(x, y), expected)
    for overlapping in ((memory[:3], memory[2:5]), (memory[2:5], memory[:3]), (x, x)):
        for _ in range(2):
            with pytest.raises(srcgrad.errors.OverlapError):
                move(*overlapping)
            with pytest.raises(srcgrad.errors.OverlapError):
                move.backward(*overlapping, np.ones(3))
    np.testing.assert_equal(move(memory[::2], memory[1::2]), [3 * 2 * 1, 2 * 3, 4 * 5])  # of turns, and apart


WORKSPACE = np.zeros(4)
PART_OF_IT = WORKSPACE[1:]


@pytest.mark.parametrize("jit", [False, True])
def test_written_globals_must_lie_apart(jit):
    @grad(jit=jit)
    def through_a_workspace(x):
        WORKSPACE[:] = x * x
        return (WORKSPACE * x).sum()

    @grad(jit=jit)
    def elementwise(x):
        WORKSPACE[:] = x * x
        return WORKSPACE * x

    @grad(jit=jit)
    def reads_a_part(x):
        WORKSPACE[:] = x * x
        return (PART_OF_IT * x[1:]).sum()

    x = np.arange(1.0, 5.0)
    for _ in range(3):
        np.testing.assert_equal((through_a_workspace(x), through_a_workspace.backward(x)), (100.0, 3 * x**2))
        np.testing.assert_equal(WORKSPACE, x**2)
        for call in (through_a_workspace, through_a_workspace.backward):
            with pytest.raises(srcgrad.errors.OverlapError, match="x and WORKSPACE share memory"):
                call(WORKSPACE)
        for call in (through_a_workspace.backward, through_a_workspace.value_and_backward):  # v stands in between
            with pytest.raises(srcgrad.errors.OverlapError, match="x and WORKSPACE share memory"):
                call(WORKSPACE, 2.0)
        elementwise.vjp(x)  # what is remembered of it is for other arguments than those of `backward`
        with pytest.raises(srcgrad.errors.OverlapError, match="x and WORKSPACE share memory"):
            elementwise.backward(WORKSPACE, np.ones(4))
        with pytest.raises(srcgrad.errors.OverlapError, match="v and WORKSPACE share memory"):
            elementwise.backward(x, WORKSPACE)
        for call in (reads_a_part, reads_a_part.backward):
            with pytest.raises(srcgrad.errors.OverlapError, match="WORKSPACE and PART_OF_IT share memory"):
                call(x)


def test_v_of_several_parts_ahead_of_a_global_that_is_written():
    @grad
    def centred(w, x):
        mean = (w * x).mean(axis=0)
        WORKSPACE[:2] = mean
        return (w * x).sum(), mean

    x = np.array([[1.0, 2.0], [3.0, 8.0]])
    for _ in range(2):
        w_b, x_b = centred.backward(0.5, x, (1.0, np.array([1.0, 0.0])))
        np.testing.assert_equal((w_b, x_b), (16.0, [[0.75, 0.5], [0.75, 0.5]]))


def test_captured_arrays_are_not_leaked():
    held, other = np.ones(3), np.ones(3)
    function, change = closure_over(held)
    f, x = grad(function), np.ones(3)
    f.backward(x, x), f(x)
    before = sys.getrefcount(held), sys.getrefcount(other)
    for _ in range(100):
        f.backward(x, x), f(x)
    change(other)
    for _ in range(100):
        f.backward(x, x), f(x)
    change(held)
    assert (sys.getrefcount(held), sys.getrefcount(other)) == before


def test_what_has_written_to_its_arguments_is_not_run_again():
    @grad
    def late(x, w):
        x[0] += 1
        return w @ x

    @grad
    def in_pairs(pair):
        x, w = pair
        x[0] += 1
        return w @ x

    @grad
    def in_a_loop(x, w):
        for i in range(2):
            x[i] += 1
            x[2] += (x[: i + 2] * w).sum()
        return x

    good, bad = np.ones((2, 3)), np.ones((2, 4))
    for call in (lambda x, w: late(x, w), lambda x, w: late(x, w=w), lambda x, w: in_pairs((x, w))):
        for w in (good, good, bad, bad):
            x = np.zeros(3)
            if w is good:
                np.testing.assert_equal(call(x, w), [1.0, 1.0])
            else:
                with pytest.raises(srcgrad.RuntimeShapeError):
                    call(x, w)
            assert x[0] == 1.0
    for w in (np.ones(1), np.ones(1), np.ones(2)):
        x, expected = np.zeros(3), np.zeros(3)
        try:
            in_a_loop.py_func(expected, w)
        except ValueError:
            with pytest.raises(srcgrad.BroadcastError):
                in_a_loop(x, w)
        else:
            in_a_loop(x, w)
        np.testing.assert_equal(x, expected)


def test_names_that_are_ours_too():
    @grad
    def solve(a, b):
        return np.linalg.solve(a, b)

    @grad
    def exp(x):
        return np.exp(x) * 2

    a, b = 2 * np.eye(2), np.ones(2)
    np.testing.assert_allclose(solve(a, b), [0.5, 0.5])
    np.testing.assert_allclose(solve.backward(a, b, b)[1], [0.5, 0.5])
    np.testing.assert_allclose(exp(b), 2 * np.exp(b))
    np.testing.assert_allclose(exp.backward(b, b), 2 * np.exp(b))


def test_a_module_that_is_replaced_is_seen(monkeypatch):
    import types

    first, second = types.ModuleType("first"), types.ModuleType("second")
    first.scale, second.scale = 2.0, 3.0
    monkeypatch.setitem(globals(), "settings", first)
    f, x = grad(lambda x: x * settings.scale), np.ones(2)  # noqa: F821
    np.testing.assert_equal((f(x), f(x)), (2 * x, 2 * x))
    monkeypatch.setitem(globals(), "settings", second)
    np.testing.assert_equal((f(x), f(x)), (3 * x, 3 * x))
    second.scale = 4.0
    np.testing.assert_equal(f(x), 4 * x)
