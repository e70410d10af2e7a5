"""`check_grad` passes what is right, and names what is wrong."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from srcgrad import grad
from srcgrad.errors import ArgumentError
from srcgrad.testing import TOLERANCES, check_grad, complex_step, richardson

X = np.array([0.3, -1.2, 2.0])
W = np.array([1.0, 0.5, -0.7])


class Differentiated:
    """A function with a gradient written by hand: what `check_grad` needs of `grad`."""

    def __init__(self, function: Callable[..., Any], backward: Callable[..., Any], **options: Any) -> None:
        self.py_func, self.backward = function, backward
        vars(self).update(options)


def weighted(x: Any, w: Any) -> Any:
    return x * x * w


def test_a_right_gradient_passes() -> None:
    check_grad(Differentiated(weighted, lambda x, w, v: (2 * x * w * v, x * x * v)), X, W)


def test_the_wrong_argument_is_named() -> None:
    f = Differentiated(weighted, lambda x, w, v: (2 * x * w * v, x * v))
    with pytest.raises(AssertionError, match=r"gradient of weighted with respect to w is wrong\n.*random direction"):
        check_grad(f, X, W)


def test_the_worst_element_is_named() -> None:
    f = Differentiated(weighted, lambda x, w, v: (2 * x * w * v + [0, 1e-3, 0], x * x * v))
    with pytest.raises(AssertionError, match=r"worst element x\[1\]: .* by differences, .* by backward"):
        check_grad(f, X, W)


def test_a_small_gradient_beside_a_large_one_is_checked() -> None:
    f = Differentiated(lambda x, w: 1e6 * x + 1e-3 * w, lambda x, w, v: (1e6 * v, 1.1e-3 * v))
    with pytest.raises(AssertionError, match="respect to w"):
        check_grad(f, X, W)


def test_float32_is_checked_against_differences_in_double_precision() -> None:
    x, w = X.astype(np.float32), W.astype(np.float32)
    check_grad(Differentiated(weighted, lambda x, w, v: (2 * x * w * v, x * x * v)), x, w)
    with pytest.raises(AssertionError, match="respect to x"):
        check_grad(Differentiated(weighted, lambda x, w, v: (np.float32(2.01) * x * w * v, x * x * v)), x, w)


def test_the_dtype_and_shape_of_a_cotangent_are_checked() -> None:
    with pytest.raises(AssertionError, match="the cotangent of x is float64, not float32"):
        check_grad(Differentiated(lambda x: np.sin(x), lambda x, v: np.cos(x).astype(float) * v), X.astype(np.float32))
    with pytest.raises(AssertionError, match=r"the cotangent of x has shape \(1, 3\), not \(3,\)"):
        check_grad(Differentiated(lambda x: 2 * x, lambda x, v: 2 * v[None]), X)


def test_an_argument_that_backward_changes_is_named() -> None:
    def backward(x: Any, v: Any) -> Any:
        x *= 2
        return x * v

    with pytest.raises(AssertionError, match="backward changed its argument x"):
        check_grad(Differentiated(lambda x: x * x, backward), X.copy())


def test_a_missing_cotangent_is_noticed() -> None:
    with pytest.raises(AssertionError, match="gave 1 cotangents for 2 arguments"):
        check_grad(Differentiated(weighted, lambda x, w, v: 2 * x * w * v), X, W)


def test_wrt_picks_arguments() -> None:
    f = Differentiated(weighted, lambda x, w, v: x * x * v)
    check_grad(f, X, W, wrt="w")
    check_grad(f, X, W, wrt=1)
    f = Differentiated(weighted, lambda x, w, v: (x * x * v, 2 * x * w * v), wrt=("w", "x"))
    check_grad(f, X, W)


def test_a_given_v_is_used() -> None:
    seen = []

    def backward(x: Any, v: Any) -> Any:
        seen.append(v)
        return np.cos(x) * v

    v = np.array([0.0, 1.0, 0.0])
    check_grad(Differentiated(lambda x: np.sin(x), backward), X, v=v)
    assert seen[0] is v


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_v_is_zero_the_output_may_be_nan() -> None:
    f = Differentiated(lambda x: np.sqrt(x), lambda x, v: np.where(v == 0, 0.0, 0.5 * v / np.sqrt(x)))
    check_grad(f, np.array([4.0, -1.0]), v=np.array([1.0, 0.0]))


def test_tuples_and_integers() -> None:
    class Model(NamedTuple):
        scale: Any
        steps: int

    def f(model: Model, x: Any) -> Any:
        return x * model.scale**model.steps, x.sum()

    def backward(model: Model, x: Any, v: Any) -> Any:
        rows, total = v
        power = model.scale**model.steps
        return (np.sum(rows * x) * model.steps * power / model.scale,), rows * power + total

    check_grad(Differentiated(f, backward), Model(1.3, 3), X)


def test_defaults_are_compared_where_they_are_given_or_named() -> None:
    def f(x: Any, scale: float = 3.0) -> Any:
        return scale * x

    check_grad(Differentiated(f, lambda x, scale, v: (scale * v, np.float64(x @ v))), X)
    wrong = Differentiated(f, lambda x, scale, v: (scale * v, np.float64(2 * x @ v)))
    check_grad(wrong, X)
    for args, options in (((X, 3.0), {}), ((X,), {"wrt": ("x", "scale")})):
        with pytest.raises(AssertionError, match="respect to scale"):
            check_grad(wrong, *args, **options)
    with pytest.raises(AssertionError, match="the cotangent of scale is float32"):
        check_grad(Differentiated(f, lambda x, scale, v: (scale * v, np.float32(x @ v))), X)


def test_a_tolerance_stays_what_it_is() -> None:
    """A loop down to a negative one would not end."""

    def root(a: float, tol: float = 1e-12) -> float:
        x = a
        while abs(x * x - a) > tol:
            assert tol > 0
            x = 0.5 * (x + a / x)
        return x

    check_grad(Differentiated(root, lambda a, tol, v: (0.5 * v / math.sqrt(a), 0.0)), 2.0)


def kept(x: Any, seed: float = 2.0) -> Any:
    return x * seed


def drawn(x: Any, *, v: float) -> Any:
    return x * v


def test_whose_keyword_it_is() -> None:
    f = Differentiated(kept, lambda x, seed, v: (seed * v, np.float64(x @ v)))
    with pytest.raises(ArgumentError, match=r"keyword seed of its own, and kept has a parameter seed(.|\n)*functools"):
        check_grad(f, X, seed=0)
    check_grad(f, X, 3.0, seed=1)
    with pytest.raises(ArgumentError, match="keyword v of its own, and drawn has a parameter v"):
        check_grad(Differentiated(drawn, lambda x, cotangent, v: 0.0), 2.0, v=1.0)
    check_grad(grad(functools.partial(drawn, v=3.0), jit=False), 2.0)


@pytest.mark.parametrize("x", [1e-5, 1e-100, np.array([1e-5, 1.0, 2e-3]), np.float32(1e-5)], ids=str)
@pytest.mark.parametrize(
    ("f", "slope"), [(np.log, np.reciprocal), (np.abs, np.sign), (np.reciprocal, lambda x: -(x**-2.0))]
)
def test_small_arguments(f: Any, slope: Any, x: Any) -> None:
    check_grad(Differentiated(lambda x: f(x), lambda x, v: v * slope(x)), x)
    with pytest.raises(AssertionError, match="respect to x is wrong"):
        check_grad(Differentiated(lambda x: f(x), lambda x, v: np.asarray(1.01 * v * slope(x), np.asarray(x).dtype)), x)


@pytest.mark.parametrize(
    ("f", "backward", "x"),
    [
        (lambda x: np.sqrt(x), lambda x, v: v * np.inf, 0.0),
        (lambda x: np.sin(x), lambda x, v: v * np.cos(x), 1e13),
        (lambda x: 1.0 + abs(x), lambda x, v: v * 1.0, 1e-30),
    ],
    ids=["not finite", "rounding of the argument", "rounding of the result"],
)
def test_where_differences_do_not_tell(f: Any, backward: Any, x: float) -> None:
    with pytest.raises(AssertionError, match="with respect to x can't be checked here"):
        check_grad(Differentiated(f, backward), x)


def test_an_infinite_gradient_is_no_excuse_for_itself() -> None:
    f = Differentiated(lambda x: np.sum(x * x), lambda x, v: np.array([2.0, np.inf, 6.0]) * v)
    with pytest.raises(AssertionError, match="respect to x is wrong"):
        check_grad(f, np.array([1.0, 2.0, 3.0]))


def test_an_infinite_output_hides_nothing() -> None:
    f = Differentiated(lambda x: x ** np.array([-2.0, 2.0]), lambda x, v: 3 * v * x)
    with pytest.raises(AssertionError, match="respect to x is wrong"), np.errstate(divide="ignore"):
        check_grad(f, np.array([0.0, 0.3]))


@pytest.mark.parametrize("seed", range(8))
def test_kinks_close_by_accuse_nobody(seed: int) -> None:
    """Steps that cross some of many kinks agree with each other now and then."""
    x, slopes = np.random.default_rng(0).normal(size=30), np.arange(1.0, 31.0)
    f = lambda x: np.sum(np.clip(x, -0.5, 0.5) * slopes) + np.sum(abs(x - 0.5))
    right = lambda x, v: v * (slopes * (abs(x) < 0.5) + np.sign(x - 0.5))
    check_grad(Differentiated(f, right), x, seed=seed)
    with pytest.raises(AssertionError, match="respect to x"):
        check_grad(Differentiated(f, lambda x, v: right(x, v) + 1e-3 * (x > 0)), x, seed=seed)


@pytest.mark.parametrize("wrong", [0.0, np.nan, np.inf])
def test_small_steps_excuse_nothing(wrong: float) -> None:
    """They see no slope where numbers are rounded on the way."""
    f = Differentiated(lambda x: np.sum(np.round(1 + x, 6)), lambda x, v: wrong * np.ones(2))
    with pytest.raises(AssertionError, match="respect to x is wrong"):
        check_grad(f, np.array([1e-5, 0.3]))


@dataclass(frozen=True)
class Layer:
    w: np.ndarray
    scale: float
    steps: int
    name: str = "layer"


class Network:
    __slots__ = ("bias", "layer")

    def __init__(self, layer: Layer, bias: float) -> None:
        self.layer, self.bias = layer, bias


def through(network: Network, x: Any) -> Any:
    layer = network.layer
    return {"y": x * layer.w * layer.scale**layer.steps + network.bias, "message": layer.name}


def test_attributes_of_objects() -> None:
    network = Network(Layer(W, 1.5, 2), 0.3)
    check_grad(grad(through, jit=False), network, X)
    check_grad(grad(through, jit=False, wrt="network"), network, X)

    def backward(network: Network, x: Any, v: Any) -> Any:
        layer, y = network.layer, v["y"]
        at = layer.scale**2
        parts = Layer(x * y * at, 2.5 * np.float64((x * layer.w) @ y) * layer.scale, None, None)
        return Network(parts, np.float64(y.sum())), y * layer.w * at

    with pytest.raises(AssertionError, match=r"respect to network\.layer\.scale is wrong"):
        check_grad(Differentiated(through, backward), network, X)


def test_what_a_function_writes_is_its_output() -> None:
    def doubled(x: Any, out: Any) -> None:
        out[:] = 2 * x

    f = Differentiated(doubled, lambda x, out, v: (2 * v, np.zeros(3)))
    check_grad(f, X, np.zeros(3))
    check_grad(f, X, np.zeros(3), outputs=("out",))


def test_a_function_that_is_nowhere_smooth_is_no_pass() -> None:
    noise = np.random.default_rng(0)
    f = Differentiated(lambda x: x + noise.normal(), lambda x, v: v)
    with pytest.raises(AssertionError, match="respect to x"):
        check_grad(f, X)


@pytest.mark.parametrize("x", [1e-3, 0.5, 30.0])
def test_richardson_gets_what_double_precision_allows(x: float) -> None:
    for f, slope in ((np.sin, np.cos), (np.exp, np.exp), (np.log, np.reciprocal), (np.cosh, np.sinh)):
        derivative, error = richardson(f, x)
        assert abs(derivative - slope(x)) <= max(20 * error, 1e-9 * abs(slope(x)))
        assert math.isclose(derivative, slope(x), rel_tol=1e-7)


def test_richardson_along_a_direction() -> None:
    t = np.array([1.0, 2.0, -1.0])
    derivative, error = richardson(lambda x: np.array([x @ x, x[0]]), X, t)
    np.testing.assert_allclose(derivative, [2 * X @ t, 1.0], rtol=1e-10)
    assert error.shape == (2,)


@pytest.mark.parametrize(("f", "fewest", "most"), [(np.exp, 4, 10), (lambda x: np.abs(x - 0.3001) * x, 20, 24)])
def test_no_smaller_step_is_tried_where_the_error_is_small_enough(f: Any, fewest: int, most: int) -> None:
    """Where most of them pass a kink, it is not."""
    steps: list[Any] = []
    derivative, _ = richardson(lambda x: f((steps.append(x), x)[1]), 0.3, enough=1e-11)
    assert abs(derivative - richardson(f, 0.3)[0]) <= 1e-11
    assert fewest <= len(steps) <= most


def test_complex_steps_are_exact() -> None:
    t = np.array([1.0, 0.0, 2.0])
    np.testing.assert_allclose(complex_step(lambda x: np.exp(x) * x, X, t), np.exp(X) * (1 + X) * t, rtol=1e-15)


def test_every_supported_dtype_has_a_tolerance() -> None:
    assert set(TOLERANCES) == set(map(np.dtype, "f4 f8 c8 c16".split()))


def logs_of_positive_numbers(a: Any) -> Any:
    if np.any(a <= 0):
        raise ValueError("not positive")
    return np.sum(a * np.log(a))


def test_where_a_step_leaves_the_domain_a_smaller_one_is_tried() -> None:
    a = np.array([1e-3, 0.5, 1.0])
    check_grad(Differentiated(logs_of_positive_numbers, lambda a, v: v * (np.log(a) + 1)), a)
    with pytest.raises(AssertionError, match="with respect to a is wrong"):
        check_grad(Differentiated(logs_of_positive_numbers, lambda a, v: v * np.log(a)), a)


def test_what_is_raised_at_every_point_beside_this_one_is_raised() -> None:
    def here_alone(x: Any) -> Any:
        if x != 2.0:
            raise ValueError("only at 2")
        return x * x

    with pytest.raises(ValueError, match="only at 2") as caught:
        check_grad(Differentiated(here_alone, lambda x, v: 2 * x * v), 2.0)
    if hasattr(caught.value, "__notes__"):  # Python 3.11
        assert "check_grad moved x by steps" in caught.value.__notes__[0]
