"""Functions that travel: by name, and with their code, by pickle and by cloudpickle, into other processes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numba.cloudpickle
import numpy as np
import pytest

from srcgrad import grad

try:
    import cloudpickle
except ImportError:
    cloudpickle = numba.cloudpickle  # the same, as Numba brings it

SENDER = """
import pickle, sys
import numpy as np
import {cloudpickle} as cloudpickle
from srcgrad import grad

FACTOR = np.array([1.0, 2.0])

def helper(x):
    return x * FACTOR

@grad(jit=False)
def f(x):
    return np.sum(helper(x) ** 2)

def closed_over(a):
    return grad(lambda x: np.sum(a * x * x), jit=False)

@grad(jit=False)
def power(x, n):
    return x if n <= 1 else x * power(x, n - 1)

for pickler, place in zip((pickle, cloudpickle), sys.argv[1:]):
    same = pickler.loads(pickler.dumps(f))
    assert same is f
    open(place, "wb").write(pickler.dumps([f, closed_over(3.0), power]))
"""
RECEIVER = """
import pickle, sys
import numpy as np
x = np.array([3.0, 4.0])
for place in sys.argv[1:]:
    f, g, power = pickle.load(open(place, "rb"))
    assert f.backward(x).tolist() == [6.0, 32.0], f.backward(x)
    assert g.backward(x).tolist() == [18.0, 24.0], g.backward(x)
    assert power.backward(2.0, 3) == 12.0
    print("right")
"""


def test_functions_of_a_script_in_another_process(tmp_path: Path) -> None:
    """By Python's pickle and by the one that Numba has."""
    sender, receiver, packed = tmp_path / "sender.py", tmp_path / "receiver.py", [tmp_path / "one", tmp_path / "other"]
    sender.write_text(SENDER.format(cloudpickle=cloudpickle.__name__))
    receiver.write_text(RECEIVER)
    subprocess.run([sys.executable, sender, *packed], check=True)
    sender.unlink()  # the other process may be on another machine
    out = subprocess.run([sys.executable, receiver, *packed], check=True, capture_output=True, text=True)
    assert out.stdout.split() == ["right", "right"]


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_lambdas_and_closures(pickler) -> None:
    factors = np.array([1.0, 2.0])
    f = grad(lambda x: np.sum(factors * x**3), jit=False)
    g = pickle.loads(pickler.dumps(f))
    x = np.array([2.0, 3.0])
    assert g.backward(x).tolist() == f.backward(x).tolist() == [12.0, 54.0]
    assert g is not f


class Scaled:
    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.loss = grad(self.times, jit=False)

    def times(self, x):
        return np.sum(self.factor * x * self.weights)

    weights = np.array([1.0, 2.0])


def test_a_copy_of_a_function_sees_what_changes_outside() -> None:
    """Python's functions are their own copies; methods are those of the copied object."""
    factors, x = np.array([1.0, 2.0]), np.array([2.0, 3.0])
    f = grad(lambda x: np.sum(factors * x**2), jit=False)
    for g in (copy.copy(f), copy.deepcopy(f), copy.deepcopy({"loss": [f]})["loss"][0]):
        assert g is f
    factors[:] = 5.0
    assert copy.deepcopy(f.backward)(x).tolist() == [20.0, 30.0]
    one = Scaled(2.0)
    other = copy.deepcopy(one)
    other.factor = 3.0
    assert one.loss.backward(x).tolist() == [2.0, 4.0]
    assert other.loss.backward(x).tolist() == [3.0, 6.0]
    assert copy.copy(one.loss) is one.loss
