"""Which parameter of a function gets which argument of a call.

f(x, *xs, k=2)      →      {"a": x, "b": xs[0], "c": xs[1], "k": 2}
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Container
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, SrcgradError
from ...ir import affine
from ...ir.expressions import BOOL, Call, is_inexact
from ...ir.types import DictKind
from ..control import branches
from ..control.attempts import restore, save
from ..lists import list_items, lists
from ..outside import holds_arrays
from ..syntax.source import signature_of
from ..values import Items, Scalar, TupleValue, Unpacked, constant, new_dict

if TYPE_CHECKING:
    from ..interpret import Interpreter


def bind_arguments(
    interpreter: Interpreter,
    spec: ast.arguments,
    name: str,
    defaults: dict[str, Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> dict[str, Any]:
    """Which parameter gets which value."""
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    if args and isinstance(args[-1], Unpacked):
        args = _unpacked(interpreter, spec, names, defaults, args, kwargs)
    bound = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        if spec.vararg is None:
            interpreter.build.refuse(
                f"{name} takes {len(names)} arguments, {len(args)} were given", error=ArgumentError
            )
        more = args[len(names) :]
        rest = more[0] if len(more) == 1 else None
        bound[spec.vararg.arg] = rest.value if isinstance(rest, Unpacked) else TupleValue(tuple(more))
    elif spec.vararg is not None:
        bound[spec.vararg.arg] = TupleValue(())
    every = names + [arg.arg for arg in spec.kwonlyargs]
    by_name = every[len(spec.posonlyargs) :]
    others: dict[str, Any] = {}
    for key, value in kwargs.items():
        if spec.kwarg is not None and key not in by_name:
            others[key] = value
            continue
        if key not in by_name or key in bound:
            interpreter.build.refuse(f"{name} does not take the argument {key!r} here", error=ArgumentError)
        bound[key] = value
    for key in every:
        if key not in bound:
            if key not in defaults:
                interpreter.build.refuse(f"{name} is missing the argument {key!r}", error=ArgumentError)
            bound[key] = defaults[key]
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = new_dict(others)
    return bound


def given_to(function: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The call that gives these values to a function's parameters."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, parameter in signature_of(function).parameters.items():
        value = arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            args.extend(value.items)
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs |= zip(value.kind.keys, value.items, strict=True)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[name] = value
        else:
            args.append(value)
    return args, kwargs


def added(given: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """What a partial was given, and what a call of it adds; both may have something for *args and **kwargs."""
    out = {**arguments, **given}
    for name in given.keys() & arguments.keys():
        first, more = given[name], arguments[name]
        if isinstance(first.kind, DictKind):
            out[name] = new_dict(first.kind(*first.items) | more.kind(*more.items))
        else:
            out[name] = TupleValue(first.items + more.items)
    return out


def _unpacked(
    interpreter: Interpreter,
    spec: ast.arguments,
    names: list[str],
    defaults: dict[str, Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> list[Any]:
    """f(x, *xs), where the number of xs is only known at run time: as many as f still needs, or what is left over."""
    *first, last = args
    if spec.vararg is not None and len(first) >= len(names):
        copy = Unpacked(lists.copied(interpreter, last.value))
        return [*first, copy] if len(first) == len(names) else [*first, *lists.exactly(interpreter, last.value, 0)]
    needed = [name for name in names[len(first) :] if name not in defaults and name not in kwargs]
    if spec.vararg is None:
        others = {name: defaults[name] for name in names[len(first) + len(needed) :] if name in defaults}
        return [*first, *up_to(interpreter, last, len(needed), default_numbers(others, kwargs))]
    if len(needed) < len(names) - len(first):
        interpreter.build.refuse(
            "* unpacks a number of arguments that is only known at run time, and some have defaults"
        )
    *own, rest = lists.split(interpreter, last.value, len(needed), 0)
    return [*first, *own, Unpacked(rest)]


def default_numbers(defaults: dict[str, Any], given: Container[str]) -> dict[str, Any]:
    """The defaults that an element of an array may take the place of: whole numbers may be lengths."""
    is_number = lambda item: item[0] not in given and isinstance(item[1], Scalar) and is_inexact(item[1].dtype)
    return dict(takewhile(is_number, defaults.items()))


def as_many_as_go(interpreter: Interpreter, args: list[Any], call: Callable[[list[Any]], Any]) -> Any:
    """A call whose last argument is unpacked: where the parameters with defaults must be known, they keep those."""
    *before, last = args
    if not isinstance(last, Unpacked) or last.defaults is not None:
        return call(args)
    saved, first, kept = save(interpreter), None, 0
    while True:
        defaults: list[str] = []
        try:
            return call([*before, replace(last, kept=kept, defaults=defaults)])
        except SrcgradError as problem:
            first = first or problem
            if kept == len(defaults):
                raise first from None
        restore(interpreter, saved)
        kept += 1


def up_to(interpreter: Interpreter, unpacked: Unpacked, needed: int, defaults: dict[str, Any]) -> list[Any]:
    """The items of something unpacked into parameters, of which those behind the first `needed` have defaults."""
    value, problem = unpacked.value, "can't unpack an array of another length into "
    is_list = isinstance(value, Items)
    are_numbers = value.inner is None and len(value.rows.dims) == 1 if is_list else getattr(value, "ndim", 0) == 1
    if not (defaults and are_numbers):
        return lists.exactly(interpreter, value, needed)
    names = [*defaults]
    if unpacked.defaults is not None:
        unpacked.defaults.extend(names)
    taken, keeps = names[: len(names) - unpacked.kept], names[len(names) - unpacked.kept :]
    held = value if isinstance(value, Items) else lists.copied(interpreter, value)
    most = needed + len(taken)
    problem += (f"{needed} to {most}" if taken else f"{needed}") + (" parameters" if most != 1 else " parameter")
    if keeps:
        problem += f": {keeps[0]!r} must be known when the function is compiled, so it keeps its default"
    lists.check_length(interpreter, "lt", held, affine.integer(needed), problem)
    lists.check_length(interpreter, "gt", held, affine.integer(most), problem)
    item = lambda k: list_items.item_at(interpreter, held, affine.integer(k))

    def item_or_default(k: int, default: Any) -> Any:
        is_there = Call("gt", (held.length, affine.integer(k)), BOOL)
        return branches.either(interpreter, is_there, lambda: item(k), lambda: default, ())

    return [*map(item, range(needed)), *(item_or_default(k, defaults[n]) for k, n in enumerate(taken, needed))]


def defaults_of(function: Any) -> dict[str, Any]:
    return {name: constant(value) for name, value in _own_defaults(function).items()}


def array_defaults(function: Any) -> dict[str, Any]:
    """The defaults that are arrays, hold some, or may change as a list does: no constants."""
    may_change = lambda value: holds_arrays(value) or isinstance(value, (list, dict, set))
    return {name: value for name, value in _own_defaults(function).items() if may_change(value)}


def _own_defaults(function: Any) -> dict[str, Any]:
    """Those of its own parameters: what it wraps gets its own when it is called."""
    given = inspect.signature(function, follow_wrapped=False).parameters.items()
    return {name: p.default for name, p in given if p.default is not inspect.Parameter.empty}
