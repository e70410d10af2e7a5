"""Programs that read and write by random indices: ints, slices, None, `...`, masks, index arrays, in any combination.

Each is checked against NumPy, and its gradient against differences.  What NumPy refuses is drawn again.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from corpus.registry import Program, case
from support import check_value_and_grad, from_text
from test_corpus import Trial, check_both, check_gradient, check_primal

from srcgrad import UnsupportedError, grad

pytestmark = pytest.mark.filterwarnings("ignore")

PROGRAMS = 40
SHAPES = ((4,), (3, 4), (4, 3), (2, 3, 4), (3, 2, 3), (3, 3))
NAMES = ("x", "w", "s", "i", "low", "high", "by", "k", "kk", "few", "flag", "m2", "m3", "m4", "m23", "m34", "m33")
# fmt: off
PLAIN = (":", ":", "1:", ":-1", "::2", "::-1", "1:-1", "-2:", "low:high", "low:", ":high", "::by", "-1:low:-1",
         "low:high:by")
SINGLE = ("0", "-1", "1", "i", "-i", "i - 2", "k[0]")
GATHERS = ("k", "kk", "few", "[0, -1]", "[1]", "[[0], [1]]", "k[::-1]", "kk[0]", "np.arange(2)", "k + 0", "few[None]",
           "np.array(1)", "few[:, None]", "range(2)")
MASKS = ("m2", "m3", "m4", "m23", "m34", "m33", "~m3", "m4 & (y.ravel()[:4] > 0)", "y > 0.1", "y[0] > 0.0", "m34.T",
         "True", "flag")
# fmt: on


def arguments(rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Any]:
    def mask(*lengths: int) -> np.ndarray:
        return rng.uniform(size=lengths) < 0.6

    return {
        "x": rng.uniform(-1, 1, shape), "w": rng.uniform(-1, 1, 300), "s": float(rng.uniform(0.2, 1)),
        "i": int(rng.integers(0, 2)), "low": int(rng.integers(-5, 3)), "high": int(rng.integers(-2, 6)),
        "by": int(rng.choice([-2, -1, 1, 2])), "k": np.array([1, 0, -1, 1]), "kk": np.array([[0, 1], [-2, 1]]),
        "few": np.array([-1, 0], np.int32), "flag": bool(rng.uniform() < 0.7), "m2": mask(2), "m3": mask(3),
        "m4": mask(4), "m23": mask(2, 3), "m34": mask(3, 4), "m33": mask(3, 3),
    }  # fmt: skip


class Writer:
    """Writes a program line by line, and runs it along in NumPy, so that each line is one that NumPy takes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.args = arguments(np.random.default_rng(seed), self.random.choice(SHAPES))
        self.scope: dict[str, Any] = {
            "np": np,
            **{name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in self.args.items()},
        }
        self.lines: list[str] = []
        self.run(self.random.choice(("y = x * 1.0", "y = x.copy()", "y = x.T.copy()", "y = np.sin(x)")))
        self.bases = ["y"]
        while len(self.lines) < 4:
            self.attempt(self.random.choice((self.read, self.view, self.write, self.write, self.update, self.update)))

    @property
    def text(self) -> str:
        body = "".join(f"    {line}\n" for line in [*self.lines, "return y"])
        return f"import numpy as np\n\n\ndef f({', '.join(NAMES)}):\n{body}"

    def run(self, line: str) -> None:
        exec(line, self.scope)
        self.lines.append(line)

    def attempt(self, statement: Any) -> None:
        held = {name: value.copy() for name, value in self.scope.items() if isinstance(value, np.ndarray)}
        try:
            statement()
        except (IndexError, ValueError, TypeError):
            for name, value in held.items():
                if np.may_share_memory(self.scope.get(name), value) is False and self.scope[name].shape == value.shape:
                    self.scope[name][...] = value

    def index(self) -> str:
        count = self.random.choice((1, 1, 2, 2, 3))
        parts = [
            self.random.choice(self.random.choice((PLAIN, PLAIN, SINGLE, GATHERS, GATHERS, MASKS)))
            for _ in range(count)
        ]
        if not self.random.randrange(5):
            parts.insert(self.random.randrange(len(parts) + 1), self.random.choice(("...", "None")))
        return ", ".join(parts)

    def base(self) -> str:
        return self.random.choice(
            ("y", "y", "y", *self.bases, "y.T", "y[1:]", "y[::-1]", "y[..., 1:]", "y.reshape(-1)", "y.flat")
        )

    def value(self, shape: tuple[int, ...], same: str) -> str:
        """An operand that broadcasts to this shape."""
        match self.random.randrange(8):
            case 0:
                return self.random.choice(("0.5", "s", "x.sum()", "y.ravel()[0]", "2"))
            case 1:
                return f"np.cos({same})"
            case 2 if len(shape):
                return f"{same}[::-1]"
        shape = shape[self.random.randrange(2) if len(shape) > 1 else 0 :]
        lengths = tuple(1 if not self.random.randrange(5) else n for n in shape)
        start = self.random.randrange(9)
        flat = f"w[{start}:{start + int(np.prod(lengths))}]"
        return f"{flat}.reshape{lengths}" if len(lengths) != 1 else flat

    def shape(self, text: str) -> tuple[int, ...]:
        value = eval(text, self.scope)
        if np.size(value) > 200:
            raise ValueError("too much")
        return np.shape(value)

    def read(self) -> None:
        place = f"{self.base()}[{self.index()}]"
        self.shape(place)
        self.run(
            f"y = y * 0.5 + np.sum({place} ** 2)"
            if self.random.randrange(2)
            else f"t = {place} * s; y[0] += np.sum(t * t)"
        )

    def view(self) -> None:
        name = f"v{len(self.bases)}"
        place = f"{self.base()}[{self.index()}]"
        if self.shape(place):
            self.run(f"{name} = {place}")
            self.bases.append(name)

    def write(self) -> None:
        place = f"{self.base()}[{self.index()}]"
        self.run(f"{place} = {self.value(self.shape(place), place)}")

    def update(self) -> None:
        place = f"{self.base()}[{self.index()}]"
        self.run(f"{place} {self.random.choice(('+=', '*=', '-=', '+='))} {self.value(self.shape(place), place)}")


def trial_of(seed: int) -> tuple[str, Trial]:
    writer = Writer(seed)
    function = from_text(writer.text, "f")
    return writer.text, Trial(Program(function, (case(*writer.args.values()),)), 0, np.dtype(float), jit=False)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_indices(seed: int) -> None:
    _, trial = trial_of(seed)
    try:
        if seed % 2:
            check_primal(trial)
            check_gradient(trial)
        else:
            check_both(trial)
    except UnsupportedError as refusal:
        known = ("x.flat takes one", "may or may not be the array")  # views with steps of run time are copies here
        assert any(text in str(refusal) for text in known)


# fmt: off
WRONG = (
    # what is done to y = x.copy() of shape (3, 4)               what NumPy says too
    ("y[np.array([True, False])]",                               IndexError, "boolean index did not match"),
    ("y[:, np.ones(n, bool)]",                                   IndexError, "boolean index did not match"),
    ("y[np.zeros(n, bool)] = 1.0",                               IndexError, "boolean index did not match"),
    ("y[y[:2] > 0] = 1.0",                                       IndexError, "boolean index did not match"),
    ("y[0, 0, 0]",                                               IndexError, "too many indices"),
    ("y[..., 0, ...]",                                           IndexError, "single ellipsis"),
    ("y[[0.5, 1.0]]",                                            IndexError, "integer"),
    ("y[1:][np.array([2])]",                                     IndexError, "out of bounds"),
    ("y[:2][np.array([0, n])] += 1.0",                           IndexError, "out of bounds"),
    ("(y[1:] * 2)[np.array([-n - 1, 1])]",                       IndexError, "out of bounds"),
    ("y.flat[12]",                                               IndexError, "out of bounds"),
    ("y.T.flat[[0, 12]] = 1.0",                                  IndexError, "out of bounds"),
    ("np.ones(3)[np.array([0, n + 1])]",                         IndexError, "out of bounds"),
    ("np.eye(3)[np.array([-4])]",                                IndexError, "out of bounds"),
    ("np.broadcast_to(y[:, :1], (3, 5))[1, n + 3]",              IndexError, "out of bounds"),
    ("np.where(np.arange(3) < n, y[:, 0], 0.0)[[0, n + 1]]",     IndexError, "out of bounds"),
    ("y.T += np.ones((4, 3))",                                   AttributeError, "not writable"),
    ("y[[0, 1], [0, 1, 2]]",                                     (IndexError, ValueError), "broadcast"),
    ("y[:] = np.ones((2, 3, 4))",                                ValueError, "could not broadcast"),
    ("y[:] = np.ones((n, 3, 4))",                                ValueError, "does not fit"),
    ("y[0] += np.ones((2, 4))",                                  ValueError, "could not broadcast"),
    ("y[y > -9.0] = np.ones(n)",                                 ValueError, "does not fit"),
    ("np.nonzero(y[0, 0])",                                      ValueError, "0d"),
    ("np.arange(n)[:2] += 0.5",                                  TypeError, "float64"),
    ("y[::0]",                                                   ValueError, "step cannot be zero"),
)
# fmt: on


@pytest.mark.parametrize(("text", "error", "message"), WRONG, ids=[text for text, *_ in WRONG])
def test_what_numpy_refuses(text: str, error: Any, message: str) -> None:
    body = "    y = x.copy()\n"
    body += f"    k = {text.split('[')[0]}\n    k[{text.split('[', 1)[1]}\n" if text.startswith("np.arange") else ""
    body += "" if text.startswith("np.arange") else f"    {text}\n" if "= " in text else f"    y = {text} * x[0, 0]\n"
    f = from_text(f"import numpy as np\n\n\ndef f(x, n):\n{body}    return np.sum(y)\n", "f")
    x = np.arange(12.0).reshape(3, 4)
    with pytest.raises((IndexError, ValueError, TypeError, AttributeError)):
        f(x, 2)
    for entry in (grad(f, jit=False), grad(f, jit=False).backward):
        with pytest.raises(error, match=message):
            entry(x, 2)


def elements_of_what_lies_otherwise(x):
    y = x.copy()
    y.T.flat[[1, -2, 4]] = y[0, :3]
    y[::-1].flat[[0, 5]] *= y[1, :2]
    y[:, 1:].flat[np.array([1, 1])] += y[2, :2]
    return y


def test_elements_of_what_lies_otherwise() -> None:
    f, x = grad(elements_of_what_lies_otherwise, jit=False), np.linspace(0.3, 1.4, 12).reshape(3, 4)
    check_value_and_grad(f, x, rtol=1e-14)


def test_an_index_that_is_outside_in_every_call() -> None:
    """Numba then finds that nothing is returned."""
    f = from_text("import numpy as np\n\n\ndef f(x):\n    return x * np.eye(3)[np.array([1, 7])].sum()\n", "f")
    with pytest.raises(IndexError, match="out of bounds"):
        grad(f)(np.ones(3))


@pytest.mark.parametrize("text", ["y[[0, 1]][0] = 1.0", "y[y > 0][:] = 1.0", "(y * 2)[0] = 1.0", "y[[0]].fill(1.0)"])
def test_writes_that_would_be_lost(text: str) -> None:
    f = from_text(f"def f(x):\n    y = x.copy()\n    {text}\n    return y.sum()\n", "f")
    with pytest.raises(UnsupportedError, match="the write would be lost"):
        grad(f, jit=False)(np.ones((3, 4)))


@pytest.mark.parametrize("jit", [False, True])
def test_a_choice_of_two_indices_whose_condition_is_not_arithmetic(jit: bool) -> None:
    """An index that is never chosen may be outside: that can't be checked ahead of the loop."""
    x, flags = np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1])
    f = grad(next_or_same, jit=jit)
    assert f(x, flags, 0) == next_or_same(x, flags, 0) == 8.0
    np.testing.assert_array_equal(f.backward(x, flags, 0), [0, 1, 2])
    with pytest.raises(IndexError):
        f.backward(x, flags, 7)


def next_or_same(x, flags, k):
    n, total = len(x), 0.0
    for i in range(n):
        total += x[i + 1 if (flags[i] == 0 or k == 7) else i]
    return total
