"""Which function a composition stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Composition = Callable[..., Any]
COMPOSITIONS: dict[Any, Composition] = {}
METHODS: dict[str, Composition] = {}
DRAWS: dict[str, Composition] = {}
PYTHON: dict[Any, Composition] = {}
OF_PYTHON: set[str] = set()  # modules of these: what they are given, and hold, is the user's own array, and no copy
SEARCHES: dict[str, Composition] = {}
ROUTINES: dict[Any, Composition] = {}
IN_ANY_ORDER: set[Any] = set()  # functions whose results lie in memory in another order than C
OBJECTS: dict[type, tuple[tuple[str, ...], Composition]] = {}


def means(
    *functions: Any, method: str | None = None, in_any_order: bool = False
) -> Callable[[Composition], Composition]:
    """The function below is what these functions mean, and the array method of that name.

    `in_any_order`: what they make of arrays in C order need not be in C order.
    """

    def register(composition: Composition) -> Composition:
        for function in functions:
            COMPOSITIONS[function] = composition
        if in_any_order:
            IN_ANY_ORDER.update(functions)
        if method:
            METHODS[method] = composition
        return composition

    return register


def python_means(function: Any) -> Callable[[Composition], Composition]:
    """The function below is what this one of Python's means, lists and functions among its arguments."""

    def register(composition: Composition) -> Composition:
        PYTHON[function] = composition
        OF_PYTHON.add(composition.__module__)
        return composition

    return register


def objects_mean(attributes: str, *classes: type) -> Callable[[Composition], Composition]:
    """The function below makes, of these attributes, what an object of these classes is that was made outside."""

    def register(composition: Composition) -> Composition:
        OBJECTS.update(dict.fromkeys(classes, (tuple(attributes.split()), composition)))
        return composition

    return register


def routine_means(function: Any) -> Callable[[Composition], Composition]:
    """The function below is what this routine of generated code does, where an adjoint is differentiated itself."""

    def register(composition: Composition) -> Composition:
        ROUTINES[function] = composition
        return composition

    return register


def searches(name: str) -> Callable[[Composition], Composition]:
    """The function below is what this method of tuples and lists finds."""

    def register(composition: Composition) -> Composition:
        SEARCHES[name] = composition
        return composition

    return register


def draws(*names: str) -> Callable[[Composition], Composition]:
    """The function below is what these methods of a generator of random numbers draw."""

    def register(composition: Composition) -> Composition:
        DRAWS.update(dict.fromkeys(names, composition))
        return composition

    return register


def constant_integer(value: Any, what: str) -> Any:
    """The value, which must be a constant integer where a composition is interpreted."""
    return value


def follow(x: Any, t: Any, slope: Any) -> Any:
    """In a composition: the number x, which moves by `slope` times as much as t does, too; `slope` is a constant."""
    raise AssertionError(x, t, slope)


def steady(x: Any) -> Any:
    """In a composition: x, a constant in first derivatives: what comes by way of it cancels, or is said otherwise.

    A derivative of the adjoint goes through it: there it need not cancel.  (Not so through the user's `stop_gradient`.)
    """
    raise AssertionError(x)


def handed(x: Any, out: Any) -> Any:
    """In a composition: x, also in the array that the user handed in for it, if any, which is of its shape."""
    raise AssertionError(x, out)


def slope(function: Any, *arguments: Any) -> Any:
    """In a composition: the derivative of a function of the user's with respect to its first argument."""
    raise AssertionError(function, arguments)


def is_constant(value: Any) -> bool:
    """In a composition: is the value a constant where that is interpreted?"""
    raise AssertionError(value)


def only_once(what: str) -> None:
    """In a composition: its derivative can't be differentiated itself."""
    raise AssertionError(what)


def unusable(how: str, *helps: str) -> Any:
    """In a composition: what may be held, and whose reading is refused; `how` goes behind the name."""
    raise AssertionError(how, helps)


def library(routine: str, *arguments: Any) -> Any:
    """In a composition: what a routine of `rules.array.SIGNATURES` makes of these arrays."""
    raise AssertionError(routine, arguments)


def of_one_type(value: Any) -> Any:
    """In a composition: the value, whose type may not go by the path taken."""
    raise AssertionError(value)


def types_of_results(function: Any, given: Any, named: Any) -> Any:
    """In a composition: the dtypes of what a function of the user's makes of these, which is not run."""
    raise AssertionError(function, given, named)


def of_types(value: Any, types: Any) -> Any:
    """In a composition: a number, or several, cast to these dtypes."""
    raise AssertionError(value, types)
