"""From a call of f to the stage that serves it: where each value stands, and what of them is known.

f.backward(x, v=v)   →   Plan   →   Stage of (backward, [ndarray, ndarray]), leaves [x, v]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any, TypeVar

import numpy as np

from srcgrad.arguments import COTANGENT
from srcgrad.backends import cpu
from srcgrad.binding import Plan, cotangent_name, make_plan, make_signatures
from srcgrad.constants import Constants
from srcgrad.dispatch import Forward, Program, Stage, leaf_names, pattern_of
from srcgrad.errors import ArgumentError, OptionError, SrcgradError
from srcgrad.pipeline import KINDS

CALLED_BY = {"forward": "vjp"}  # kinds that the user has another name for
HELD = 256  # stages of one function

Made = TypeVar("Made")


class Stages:
    """The stages of one function, by kind, number of arguments and pattern; and the plans that find their values."""

    def __init__(self, name: str, program: Program, parameters: Mapping[str, Parameter], constants: Constants) -> None:
        self._name, self._program, self._parameters, self._constants = name, program, dict(parameters), constants
        self.plain, self.with_v = make_signatures(self._parameters)
        self._plans: dict[Any, Plan] = {}
        self._stages: dict[Any, Stage] = {}
        self._forwards: dict[Any, Forward] = {}

    def ready(self, kind: str, plan: Plan, values: Sequence[Any]) -> tuple[Stage, list[Any]]:
        """The stage for these values of f's parameters (and v), and their leaves; options are known that have to be."""
        stage, leaves = self.of(kind, plan, values)
        if stage.is_prepared or not self._constants.options:
            return stage, leaves
        return self.settled(kind, plan, values)

    def settled(self, kind: str, plan: Plan, values: Sequence[Any]) -> tuple[Stage, list[Any]]:
        """The same, where code for the types of these leaves is generated; as few options are known as will do."""

        def generated() -> tuple[Stage, list[Any]]:
            stage, leaves = self.of(kind, plan, values)
            if stage.is_prepared:
                stage.generate(leaves)  # for leaves of other types it may have been
            else:
                stage.prepare(leaves)
            return stage, leaves

        with cpu.LOCK:
            return self._constants.settle(generated)

    def of(self, kind: str, plan: Plan, values: Sequence[Any]) -> tuple[Stage, list[Any]]:
        """The same, with the options known that are by now."""
        pattern, leaves = pattern_of(self._constants.known(values, plan.names), plan.names)
        key = kind, len(values), pattern
        stage = self._stages.get(key)
        if stage is None:
            with_v = len(values) > len(self._parameters)
            fresh = Stage(self._program, kind, pattern, leaf_names(pattern, plan.names), with_v)
            while len(self._stages) >= HELD:  # a function among the arguments may be another each time
                self._stages.pop(next(iter(self._stages)), None)
            stage = self._stages.setdefault(key, fresh)
        return stage, leaves

    def source(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], after: str | None) -> str:
        def text() -> str:
            stage, leaves = self._for_call(kind, args, kwargs)
            return stage.source(leaves, after)

        return self._of_kind(kind, args, text)

    def ptx(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], cc: tuple[int, int]) -> dict[str, str]:
        def kernels() -> dict[str, str]:
            stage, leaves = self._for_call(kind, args, kwargs)
            return self._program.ptx(kind, *stage.types(leaves), cc)

        return self._of_kind(kind, args, kernels)

    def _of_kind(self, kind: str, args: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """What `make` makes; or what is wrong with the kind, which may have been given as the first argument."""
        if kind not in KINDS:
            raise OptionError(f"there is no kind {kind!r}", help=(f"the kinds are {', '.join(KINDS)}",))
        try:
            with cpu.LOCK:
                return self._constants.settle(make)
        except SrcgradError:
            if args and isinstance(args[0], str) and args[0] in KINDS:
                raise OptionError(
                    f"{args[0]!r} is taken for the first argument of {self._name}",
                    help=(f"the kind goes by name:  kind={args[0]!r}",),
                ) from None
            raise

    def _for_call(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Stage, list[Any]]:
        plan = self.plan(kind, args, kwargs)
        return self.of(kind, plan, plan.arrange(args, kwargs))

    def forward(self, stage: Stage, leaves: list[Any], residuals: tuple[Any, ...]) -> Forward:
        """What is shared by the pullbacks of one forward function."""
        types, _ = stage.types(leaves)
        kinds = ((leaf.dtype, leaf.ndim) if isinstance(leaf, np.ndarray) else type(leaf) for leaf in residuals)
        captured = stage.captured_types()
        key = types, stage.version, captured, *kinds
        forward = self._forwards.get(key)
        if forward is None:
            assumed = tuple(stage.assumed.values())
            fresh = Forward(types, len(residuals), stage, captured, assumed, stage.stretch, stage.cut, stage.granted)
            forward = self._forwards.setdefault(key, fresh)
        return forward

    def plan(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        """Where each of f's parameters finds its value in a call of this form."""
        takes_v = kind not in ("primal", "forward")
        key = takes_v, len(args), *kwargs
        plan = self._plans.get(key)
        if plan is None:
            signature = self.with_v if takes_v else self.plain
            self._program.refuse_given_otherwise(kwargs)  # (f's **kwargs would take what a partial gives to another)
            try:
                plan = self._plans[key] = make_plan(signature, self._parameters, len(args), tuple(kwargs))
            except TypeError as error:
                name = f"{self._name}{'' if kind == 'primal' else '.' + CALLED_BY.get(kind, kind)}"
                raise ArgumentError(f"{name}: {error}", help=self._of_v(takes_v, kwargs)) from None
        return plan

    def _of_v(self, takes_v: bool, kwargs: dict[str, Any]) -> tuple[str, ...]:
        """What to call v where f has a v of its own, and this one was given twice."""
        if not takes_v or COTANGENT not in kwargs or COTANGENT not in self._parameters:
            return ()
        return (f"{self._name} has a parameter {COTANGENT}: here the cotangent is {cotangent_name(self._parameters)}=",)
