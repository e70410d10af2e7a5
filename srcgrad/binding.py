"""What a function takes, and from the way it is called to one value per parameter.

    def f(x, p=2)        f.backward(x, v=v)
    →  Plan(order=(0, 2, 1), defaults=(2,))     of (*positional values, *keyword values, *defaults)

`backward` has f's signature with one more parameter, v, behind the positional ones; left out, it is None.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from srcgrad.arguments import COTANGENT, is_simple_object
from srcgrad.assumptions import Assumption
from srcgrad.backward_as_function import as_function, entry_of_gradient
from srcgrad.errors import ArgumentError, OptionError, SourceError, SrcgradError, UnsupportedError
from srcgrad.frontend.numpy.table import TABLE
from srcgrad.frontend.outside import Fixed, InGroup, MadeOf, Place, Said, parts_of_partial
from srcgrad.frontend.syntax.source import read, signature_of, unwrap
from srcgrad.ir.expressions import Span
from srcgrad.rules.compositions import composition_of

Wrt = str | int | Sequence[str | int] | None


def cotangent_name(parameters: Mapping[str, inspect.Parameter]) -> str:
    """What `backward` calls v: f may have a v of its own, and a cotangent as well."""
    name = COTANGENT if COTANGENT not in parameters else "cotangent"
    while name in parameters:
        name += "_"
    return name


def make_signatures(parameters: dict[str, inspect.Parameter]) -> tuple[inspect.Signature, inspect.Signature]:
    """f's own signature, and the one of `backward`: v is one more, behind the positional ones; behind *args by name."""
    every = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters.values()]
    keyword = [p for p in every if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    positional = every[: len(every) - len(keyword)]
    takes_rest = any(p.kind is p.VAR_POSITIONAL for p in every)
    kind = inspect.Parameter.KEYWORD_ONLY if takes_rest else inspect.Parameter.POSITIONAL_OR_KEYWORD
    v = inspect.Parameter(cotangent_name(parameters), kind, default=None)
    return inspect.Signature(every), inspect.Signature([*positional, v, *keyword])


@dataclass(frozen=True)
class Plan:
    """For each parameter of f, then v, an index into the positional values, the keyword values, and the defaults.

    For `*args` that is a tuple of indices, and for `**kwargs` a dict of them.
    """

    order: tuple[Any, ...]
    defaults: tuple[Any, ...]
    names: tuple[str, ...]
    may_end_in_v: bool
    is_plain: bool  # the values are the positional arguments as they stand
    took_last: str | None  # the parameter that the last positional argument went to, where it could have been v
    is_number: bool  # of those that one may leave out: it is a number then

    def arrange(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        every = (*args, *kwargs.values(), *self.defaults)
        values = [every[i] if type(i) is int else _gathered(every, i) for i in self.order]
        if self.may_end_in_v and values[-1] is None:
            values.pop()
        return values


def make_plan(
    signature: inspect.Signature, parameters: dict[str, inspect.Parameter], count: int, keywords: tuple[str, ...]
) -> Plan:
    """Bind the positions of the values instead of the values: so this is done once for a form of calling."""
    bound = signature.bind(*range(count), **{name: count + i for i, name in enumerate(keywords)}).arguments
    names = [*parameters, *(name for name in signature.parameters if name not in parameters and name in bound)]
    missing = [name for name in names if name not in bound]
    place = {name: count + len(keywords) + i for i, name in enumerate(missing)}
    order = tuple(bound[name] if name in bound else place[name] for name in names)
    with_v = len(names) > len(parameters)
    return Plan(
        order,
        tuple(_default(parameters[name]) for name in missing),
        (*parameters, COTANGENT),
        may_end_in_v=with_v,
        is_plain=order == tuple(range(count)),
        took_last=next((text for name in bound if (text := _took(parameters.get(name), bound[name], count - 1))), None),
        is_number=any(
            bound[name] == count - 1 and isinstance(parameters[name].default, (int, float))
            for name in bound
            if name in parameters
        ),
    )


def _took(parameter: inspect.Parameter | None, indices: Any, last: int) -> str | None:
    if parameter is None:
        return None
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}" if last in indices else None
    is_it = indices == last and parameter.default is not parameter.empty
    return f"{parameter.name}, which has a default" if is_it else None


def _gathered(every: tuple[Any, ...], indices: Any) -> Any:
    """The values of *args, or of **kwargs."""
    if isinstance(indices, dict):
        return {name: every[i] for name, i in indices.items()}
    return tuple([every[i] for i in indices])


def _default(parameter: inspect.Parameter) -> Any:
    rest: dict[Any, Any] = {parameter.VAR_POSITIONAL: (), parameter.VAR_KEYWORD: {}}
    return rest.get(parameter.kind, parameter.default)


# --------------------------------------------------------------------------------------------------------------


class Given:
    """A function whose first or named arguments are given: a bound method, a functools.partial, an object to be called.

    What is given is read at every call, as globals are, and not differentiated.  `anew`: what a partial gives by name,
    and calls give another value, which is not differentiated either.  `by_name`: all that partials give by name.
    """

    def __init__(
        self,
        function: types.FunctionType,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        partials: list[functools.partial[Any]],
        whole: Any,
        anew: frozenset[str] = frozenset(),
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.partials = partials
        self.whole = whole
        self.anew = anew.intersection(kwargs)
        self._made_of = [Assumption(place, place()) for place in self.made_of]
        signature = signature_of(function)
        kwargs = {name: value for name, value in kwargs.items() if name not in anew}
        self._given = dict(signature.bind_partial(*args, **kwargs).arguments)
        by_name = {name: part for part in reversed(partials) for name in part.keywords}  # the outermost one's
        self.by_name = frozenset(by_name)
        more = next((name for name, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD), None)
        self._more = {more: {name: by_name[name] for name in self._given[more]}} if more in self._given else {}
        self._by_name = {name: part for name, part in by_name.items() if name in self._given and name != more}
        takes_more = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        rest = [p for name, p in signature.parameters.items() if name not in self._given or p.kind in takes_more]
        rest = [p.replace(kind=p.KEYWORD_ONLY) if p.name in self.anew and p.name != more else p for p in rest]
        self.__signature__ = inspect.Signature(sorted(rest, key=lambda p: p.kind))

    @property
    def given(self) -> dict[str, Any]:
        return {name: self.place_of(name)() for name in self._given}

    @property
    def made_of(self) -> list[Place]:
        """The parts of the partials on the way: where they are others, there are other parameters."""
        return [place for part in self.partials for place in parts_of_partial(part)]

    @property
    def is_outdated(self) -> bool:
        return any(assumption.fails() for assumption in self._made_of)

    def taken(self, keywords: Iterable[str]) -> frozenset[str]:
        """Which of these keywords of a call a partial has a value for."""
        return frozenset(name for name in keywords if name in self._by_name)

    def place_of(self, name: str) -> Place:
        if name in self._by_name:
            return InGroup(MadeOf(self._by_name[name], "keywords"), name)
        if name in self._more:
            return Said((id(self), name), lambda: {key: p.keywords[key] for key, p in self._more[name].items()})
        return Fixed((id(self), name), self._given[name], self)

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.whole(*args, **kwargs)


def _opened(function: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any], list[functools.partial[Any]]]:
    """The plain function that is called in the end, the arguments that it is given on the way, and the partials there.

    Those by name are as they are now.
    """
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    partials: list[functools.partial[Any]] = []
    while True:
        if isinstance(function, functools.partial):
            args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
            partials.append(function)
            function = function.func
        elif (entry := entry_of_gradient(function)) is not None:
            function = as_function(entry)
        elif isinstance(function, types.MethodType):
            args, function = (function.__self__, *args), function.__func__
        elif unwrap(function) is not function:
            function = unwrap(function)
        elif isinstance(function, Given):  # behind a partial of what `grad` made
            function = function.whole
        elif is_simple_object(function) and callable(function):
            args, function = (function, *args), type(function).__call__
        else:
            return function, args, kwargs, partials


def python_function(function: Any, anew: frozenset[str] = frozenset()) -> Any:
    """The plain function behind an @njit or @grad function, or an error that says what `grad` takes.

    `anew`: see `Given`.
    """
    if isinstance(function, Given):
        return python_function(function.whole, function.anew)
    if isinstance(function, (types.FunctionType, types.MethodType)) and (function in TABLE or composition_of(function)):
        raise SourceError(
            f"{function.__name__} is a function of {function.__module__}: known by a rule, its source is not read",
            help=("wrap it in a function of its own:  def f(x): ...",),
        )
    inner, args, kwargs, partials = _opened(function)
    if args or kwargs or partials:
        plain = python_function(inner)
        try:
            return Given(plain, args, kwargs, partials, function, anew)
        except TypeError as problem:
            raise ArgumentError(f"{plain.__name__}: {problem}") from None
    if not callable(inner):
        raise ArgumentError(
            f"grad takes a function, not a {type(inner).__name__}",
            help=("write @grad under @classmethod",)
            if isinstance(inner, classmethod)
            else ("write @grad above a def, or grad(f)",),
        )
    if not isinstance(inner, types.FunctionType):
        name = getattr(inner, "__name__", type(inner).__name__)
        raise SourceError(
            f"{name} has no Python source: it is {_what_it_is(inner)}",
            help=("wrap it in a function of its own:  def f(x): ...",),
        )
    if inspect.isgeneratorfunction(inner) or inspect.iscoroutinefunction(inner):
        raise UnsupportedError(
            f"{inner.__name__} is a generator or a coroutine; grad takes functions that return",
            span=_first_yield(inner),
            help=("return the values together, e.g. in an array",),
        )
    return inner


def _first_yield(function: types.FunctionType) -> Span | None:
    """Where a generator or coroutine shows that it is one."""
    try:
        source = read(function)
    except SrcgradError:
        return None
    nodes = [n for n in ast.walk(source.node) if isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await))]
    return source.span(min(nodes, key=lambda node: node.lineno)) if nodes else None


def _what_it_is(inner: Any) -> str:
    if isinstance(inner, type):
        return "a class"
    if isinstance(inner, types.MethodType):
        return "a bound method"
    return f"an instance of {type(inner).__name__}"


def checked_wrt(wrt: Wrt, names: tuple[str, ...], function: str) -> str | tuple[str, ...] | None:
    """`wrt` by names: one is bare, several are a tuple."""
    if wrt is None:
        return None
    if isinstance(wrt, str) or not isinstance(wrt, Iterable):
        return _name(wrt, names, function, "wrt")
    chosen = tuple(_name(item, names, function, "wrt") for item in wrt)
    if len(set(chosen)) < len(chosen) or not chosen:
        raise OptionError(f"wrt={wrt!r} names " + ("an argument twice" if chosen else "no argument"))
    return chosen


def checked_static(static: str | Sequence[str], names: tuple[str, ...], function: str) -> frozenset[str]:
    chosen = (static,) if isinstance(static, str) else tuple(static)
    return frozenset(_name(item, names, function, "static") for item in chosen)


def checked_outputs(
    outputs: str | Sequence[str] | None, names: tuple[str, ...], function: str
) -> tuple[str, ...] | None:
    if outputs is None:
        return None
    given = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    chosen = tuple(_name(item, names, function, "outputs") for item in given)
    if len(set(chosen)) < len(chosen):
        raise OptionError(f"outputs={outputs!r} names an argument twice")
    return chosen


def _name(item: Any, names: tuple[str, ...], function: str, option: str) -> str:
    if isinstance(item, str) and item in names:
        return item
    if isinstance(item, int) and not isinstance(item, bool) and -len(names) <= item < len(names):
        return names[item]
    raise OptionError(
        f"{option}={item!r}: {function} has no such argument", help=(f"its arguments are {', '.join(names) or 'none'}",)
    )
