"""The adjoint of f as a function that is differentiated itself, where `f.backward` is called in such a function.

@grad                                              def energy_backward(q):  # generated, and gone through
def step(q, p):                                        q_b = np.zeros(q.shape[0])
    return p - 0.1 * energy.backward(q)       →        ...
                                                       return q_b
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Signature
from typing import Any

from srcgrad.arguments import known
from srcgrad.backends import cpu, files
from srcgrad.constants import Constants
from srcgrad.dispatch import Program
from srcgrad.frontend.calls.adjoints import CallsItself
from srcgrad.ir.types import ValueType


@dataclass(frozen=True)
class Again:
    """`types` are those of f's arguments as it is generated for, some of them perhaps constants."""

    function: Callable[..., Any]
    types: tuple[ValueType, ...]
    generated: Any


class Adjoints:
    """The adjoints of one function, by kind and types: `signature` is that of its `backward`."""

    def __init__(self, program: Program, constants: Constants, signature: Signature) -> None:
        self._program, self._constants, self.signature = program, constants, signature
        self._under_way: list[Any] = []  # what is being made

    @property
    def parameters(self) -> tuple[str, ...]:
        return self._program.parameters

    def make(
        self,
        kind: str,
        types: Mapping[str, ValueType],
        constants: Mapping[str, Any],
        cotangents: ValueType | None,
        stretch: bool,
        cut: bool,
    ) -> Again:
        """The adjoint for arguments of these types; `constants` are the values of those that have one.

        The text is that of a plain function of all leaves (of the arguments, then of v, then of what f captures).
        """

        def generate() -> Again:
            own = tuple(
                known(constants[name], name)
                if name in constants and self._constants.hold(name, constants[name])
                else types[name]
                for name in self._program.parameters
            )
            asked = kind, own, cotangents, stretch, cut
            if asked in self._under_way:
                raise CallsItself
            self._under_way.append(asked)
            try:
                generated = self._program.generate(*asked, again=True)
            finally:
                self._under_way.remove(asked)
            module = files.load(generated.entry, files.digest(generated.text), generated.text, generated.globals)
            return Again(getattr(module, generated.entry), own, generated)

        with cpu.LOCK:
            return self._constants.settle(generate)
