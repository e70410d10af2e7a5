"""Programs written by Hypothesis: loops, branches, jumps, in-place writes, views, swaps, broadcasting, calls.

Every program is a function of the same arguments,

    f(x, y, a, b, c, s, k)   x, y: (n,)   a: (m, n)   b: (n,) or (1,)   c: (m, n), (1, n), (m, 1) or (1, 1)
                             s: a number  k: n integers below n, some of them equal

and bounded by construction: what a loop carries goes through sin, tanh and the like.  It need not be smooth at the
point where it is drawn: the test finds that out from its differences and draws another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

TAPE = st.binary(min_size=150, max_size=600)  # one draw for all decisions: no program is a patchwork of earlier ones
CONSTANTS = ("0.5", "1.3", "2", "0.7", "1", "-0.4")
# fmt: off
BOUNDED = ("np.sin({})", "np.tanh({})", "np.cos({})", "np.arctan({})", "({0} / (1 + {0} * {0}))",
           "np.exp(-np.square({}))")
UNARY = (*BOUNDED, "np.sqrt(1 + {0} * {0})", "np.log(2 + np.sin({}))", "(1 / (2 + np.cos({})))", "({})**2", "(-{})",
         "np.abs({})", "np.exp(np.sin({}))", "(2 + np.sin({}))**1.5", "np.clip({}, -0.6, 0.7)",
         "np.cbrt(2 + np.sin({}))", "np.real(np.exp(1j * ({})))", "np.abs(1 + 1j * ({}))")
BINARY = ("({} + {})", "({} * {})", "({} - {})", "({} / (2 + np.cos({})))", "np.maximum({}, {})", "np.minimum({}, {})",
          "np.hypot({}, 1 + {})", "(2 + np.sin({}))**{}")
REDUCTIONS = ("{}.sum()", "np.mean({})", "np.max({})", "np.min({})", "np.sum({} ** 2)", "np.prod({})",
              "np.linalg.norm({})", "np.var({})", "np.median({})", "np.ptp({})", "np.abs(np.sum(np.exp(1j * ({}))))",
              "np.std({}, ddof=0)", "np.logaddexp.reduce(np.ravel({}))")
HELPERS = {
    "mix": ("def mix(p, q=0.5):\n    r = p * q\n    return np.sin(r) + q\n"),
    "pick": ("def pick(p, q):\n    if p > q:\n        return p * q\n    return np.cos(q) - p\n"),
    "fade": ("def fade(p, steps):\n    for _ in range(steps):\n        if p > 0.9:\n            break\n"
             "        p = 0.6 * p + np.sin(p)\n    return p\n"),
    "add_into": ("def add_into(target, source):\n    for i in range(len(target)):\n"
                 "        target[i] += np.sin(source[i]) * target[i]\n"),
    "both": ("def both(p, q):\n    return p * q, np.tanh(p - q)\n"),
}
# fmt: on


@dataclass(frozen=True)
class Generated:
    """A program and the arguments to run it with."""

    text: str
    args: tuple[Any, ...]

    def __repr__(self) -> str:  # what Hypothesis prints where the program fails
        return f"\n{self.text}\n# with {self.args}"


class Writer:
    """Writes one program, each decision a byte of the tape; where it ends, the simplest is chosen from there on.

    A type is the dims of a value: "" is a number, "mn" a matrix.
    """

    def __init__(self, tape: bytes) -> None:
        self.tape = iter(tape)
        self.lines: list[str] = []
        self.depth = 1
        self.budget = 4 + self.below(14)
        self.names: list[tuple[str, str]] = [("x", "n"), ("y", "n"), ("a", "mn"), ("s", "")]
        self.indices: list[tuple[str, str]] = []
        self.loops = 0
        self.fresh = 0
        self.helpers: list[str] = []

    def below(self, limit: int) -> int:
        return next(self.tape, 0) % limit

    def pick(self, options: Any) -> Any:
        return options[self.below(len(options))]

    def chance(self, out_of: int) -> bool:
        """True once in `out_of`; shrinks to False."""
        return self.below(out_of) == out_of - 1

    # Expressions ----------------------------------------------------------------------------------------------------

    def named(self, kind: str) -> list[str]:
        return [name for name, of in self.names if of == kind]

    def index(self, dim: str) -> str:
        inside = [name for name, of in self.indices if of == dim]
        return self.pick([*inside, "0", "-1", "1"])

    def leaf(self, kind: str) -> str:
        if kind == "":
            match self.below(5):
                case 0:
                    return self.pick(self.named(""))
                case 1:
                    return self.pick(CONSTANTS)
                case 2:
                    return f"{self.pick(self.named('n'))}[{self.index('n')}]"
                case 3:
                    return f"{self.pick(self.named('mn'))}[{self.index('m')}, {self.index('n')}]"
                case _:
                    return f"{self.pick(self.named('n'))}[k[{self.index('n')}]]"
        if kind == "m":
            return self.pick([*self.named("m"), f"{self.pick(self.named('mn'))}[:, {self.index('n')}]"])
        if kind == "nm":
            return f"{self.pick(self.named('mn'))}.T"
        if kind == "n" and self.chance(3):
            return f"{self.pick(self.named('mn'))}[{self.index('m')}]"
        return self.pick(self.named(kind))

    def expression(self, kind: str, depth: int) -> str:
        if depth == 0 or not self.below(3):
            return self.leaf(kind)
        match self.below(4 if kind == "nm" else 7):
            case 0:
                template = self.pick(BINARY)
                left, right = self.operands(kind, depth)
                return template.format(left, right)
            case 1:
                return self.pick(UNARY).format(self.expression(kind, depth - 1))
            case 2:
                return self.narrower(kind, depth)
            case 3:
                if kind == "":
                    condition = self.condition(depth)
                    return f"({self.expression('', depth - 1)} if {condition} else {self.expression('', depth - 1)})"
                left, right = self.operands(kind, depth)
                return f"np.where({self.expression(kind, depth - 1)} > {self.pick(CONSTANTS)}, {left}, {right})"
            case 4:
                return self.call(kind, depth)
            case 5:
                return self.rearranged(kind, depth)
            case _:
                return self.pick(BOUNDED).format(self.expression(kind, depth - 1))

    def operands(self, kind: str, depth: int) -> tuple[str, str]:
        """Two operands that broadcast to `kind`."""
        whole = self.expression(kind, depth - 1)
        narrow = {
            "": ("",),
            "m": ("m", ""),
            "n": ("n", "", "b"),
            "nm": ("nm", ""),
            "mn": ("mn", "n", "", "m1", "c", "1n"),
        }[kind]
        other = self.pick(narrow)
        match other:
            case "b" | "c":
                second = other
            case "m1":
                second = f"{self.leaf('m')}[:, None]"
            case "1n":
                second = f"{self.pick(self.named('mn'))}.sum(axis=0, keepdims=True)"
            case _:
                second = self.expression(other, depth - 1)
        return (second, whole) if self.chance(3) else (whole, second)

    def narrower(self, kind: str, depth: int) -> str:
        """A reduction or product of something with more axes."""
        match kind:
            case "":
                if self.chance(3):
                    return f"({self.expression('n', depth - 1)} @ {self.leaf('n')})"
                if self.chance(3):
                    whole, other = self.expression("mn", depth - 1), self.leaf("mn")
                    return self.pick(
                        (
                            f"np.einsum('ij,ij->', {whole}, {other})",
                            f"np.linalg.det(np.eye(2) + 0.1 * ({whole} @ {other}.T))",
                            f"np.trace({other} @ ({whole}).T)",
                            f"np.tensordot({whole}, {other}, 2)",
                        )
                    )
                of = self.pick(("n", "mn", "m"))
                return self.pick(REDUCTIONS).format(f"({self.expression(of, depth - 1)})")
            case "n":
                whole = self.expression("mn", depth - 1)
                return self.pick(
                    (
                        f"{whole}.sum(axis=0)",
                        f"np.mean({whole}, axis=0)",
                        f"({self.leaf('m')} @ {whole})",
                        f"np.max({whole}, 0)",
                        f"np.einsum('ij,i->j', {whole}, {self.leaf('m')})",
                        f"np.cumsum({whole}, axis=0)[-1]",
                    )
                )
            case "m":
                whole = self.expression("mn", depth - 1)
                return self.pick(
                    (f"{whole}.sum(axis=1)", f"({whole} @ {self.leaf('n')})", f"np.prod({whole}, axis=-1)")
                )
            case "mn":
                return f"np.outer({self.expression('m', depth - 1)}, {self.expression('n', depth - 1)})"
            case _:
                return f"np.transpose({self.expression('mn', depth - 1)})"

    def rearranged(self, kind: str, depth: int) -> str:
        """The same shape, other elements."""
        match kind:
            case "n":
                name = self.leaf("n")
                return self.pick(
                    (
                        f"{name}[::-1]",
                        f"{name}[k]",
                        f"np.concatenate(({name}[1:], {name}[:1]))",
                        f"np.array([{name}[i] * {self.leaf('')} for i in range(len(x))])",
                        f"({self.expression('n', depth - 1)}).copy()",
                        f"(np.arange(len(x)) * {name})",
                        f"np.linspace({self.leaf('')}, 1.0, len(x))",
                        f"{self.pick(self.named('mn'))}.reshape(-1)[:len(x)]",
                        f"np.cumsum({name})",
                        f"np.cumprod({name})",
                        f"np.roll({name}, 1)",
                        f"np.sort({name})",
                        f"np.diff({name}, prepend=0.5)",
                        f"np.take({name}, k)",
                        f"np.pad({name}[1:], (1, 0), mode='edge')",
                        f"np.convolve({name}, [0.2, 0.5, 0.3], mode='same')[:len(x)]",
                        f"np.real(np.fft.ifft(np.fft.fft({name}) * {self.leaf('n')}))",
                        f"np.linalg.solve(np.diag(2 + np.cos({name})) + 0.1, {self.leaf('n')})",
                    )
                )
            case "mn":
                name = self.leaf("mn")
                other = self.leaf("n")
                return self.pick(
                    (
                        f"{name}[:, ::-1]",
                        f"{name}[:, k]",
                        f"{name}[::-1]",
                        f"np.stack([{other}, {name}[0]])",
                        f"({name} @ np.outer({other}, {self.leaf('n')}))",
                        f"{name}.reshape(len(x), 2).T",
                        f"{name}.ravel().reshape(2, -1)",
                        f"np.roll({name}, 1, axis=1)",
                        f"np.cumsum({name}, axis=1)",
                        f"np.sort({name}, axis=1)",
                        f"np.tril({name})",
                        f"np.vstack(({other}, {self.leaf('n')}))",
                        f"np.einsum('ij,j->ij', {name}, {other})",
                        f"np.tile({other}, (2, 1))",
                    )
                )
            case "m":
                return f"{self.leaf('m')}[::-1]"
            case _:
                return f"math.{self.pick(('sin', 'tanh', 'cos'))}({self.leaf('')})"

    def call(self, kind: str, depth: int) -> str:
        if kind == "" and self.chance(2):
            if self.chance(2):
                return f"{self.helper('fade')}({self.leaf('')}, {self.pick(('2', '3', 'len(x)'))})"
            return f"{self.helper('pick')}({self.expression('', depth - 1)}, {self.leaf('')})"
        first = self.expression(kind, depth - 1)
        return self.pick((f"{self.helper('mix')}({first})", f"{self.helper('mix')}({first}, q={self.leaf(kind)})"))

    def helper(self, name: str) -> str:
        if name not in self.helpers:
            self.helpers.append(name)
        return name

    def data(self) -> str:
        """A number that depends on the arguments."""
        return self.pick([*self.named(""), f"{self.pick(self.named('n'))}[{self.index('n')}]"])

    def condition(self, depth: int) -> str:
        left = f"{self.data()} * {self.expression('', min(depth, 2) - 1)}"
        simple = f"{left} {self.pick(('>', '<', '>=', '<='))} {self.pick(CONSTANTS)}"
        match self.below(6):
            case 0 if self.indices:
                return f"{self.indices[-1][0]} % 2 == {self.below(2)}"
            case 1 if self.indices:
                return f"{self.indices[-1][0]} > {self.below(3)} and {simple}"
            case 2:
                return f"-0.3 < {self.data()} < 0.8"
            case 3:
                return f"not ({simple}) or {self.data()} > 0.2"
            case _:
                return simple

    # Statements -----------------------------------------------------------------------------------------------------

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def block(self, index: tuple[str, str] | None = None) -> Iterator[None]:
        """What is defined inside is not used outside: it may never have run."""
        names, indices = list(self.names), list(self.indices)
        self.depth += 1
        if index:
            self.indices.append(index)
        yield
        self.depth -= 1
        self.names, self.indices = names, indices

    def new_name(self, kind: str) -> str:
        self.fresh += 1
        return {"": "t", "n": "u", "m": "w", "mn": "z", "nm": "q"}[kind] + str(self.fresh)

    def target(self, kind: str) -> str:
        """A name to bind: mostly one that is there already, so that values are overwritten."""
        if self.below(3):
            return self.pick(self.named(kind) or [self.new_name(kind)])
        return self.new_name(kind)

    def bind(self, name: str, kind: str) -> None:
        self.names = [(n, k) for n, k in self.names if n != name] + [(name, kind)]

    def value(self, kind: str, depth: int = 2) -> str:
        """An expression; bounded inside loops, where it may feed itself."""
        inner = self.expression(kind, depth)
        return self.pick(BOUNDED).format(inner) if self.loops or self.chance(3) else inner

    def statements(self, at_least: int = 1) -> None:
        for k in range(at_least + self.below(4)):
            if self.budget <= 0 and k >= at_least:
                break
            self.budget -= 1
            self.statement()

    def statement(self) -> None:
        nest = self.depth < 4 and self.budget > 0
        kinds = [self.assign, self.augment, self.write, self.swap, self.view, self.unpack, self.call_for_effect]
        kinds += [self.collect]
        if nest:
            kinds += [self.branch, self.for_loop, self.branch, self.for_loop, self.while_loop]
        if self.loops:
            kinds += [self.jump]
        if self.depth > 1:
            kinds += [self.return_early]
        self.pick(kinds)()

    def assign(self) -> None:
        kind = self.pick(("", "n", "mn", "m"))
        value, name = self.value(kind), self.target(kind)
        if kind == "n" and self.chance(6):
            value = self.pick(self.named("n"))  # another name for the same memory
        self.put(f"{name} = {value}")
        self.bind(name, kind)

    def collect(self) -> None:
        """A list that grows, and is an array at last."""
        number, name = self.value("", 1), self.target("n")
        self.put("ys = []")
        self.put(f"for q in range(len(x)): ys.append({self.pick(self.named('n'))}[q] * {number})")
        self.put(f"{name} = np.array(ys)")
        self.bind(name, "n")

    def augment(self) -> None:
        kind = self.pick(("", "n", "mn"))
        name = self.pick(self.named(kind))
        operator = self.pick(("+=", "*=", "-=", "/="))
        value = self.pick(BOUNDED).format(self.expression(self.pick((kind, "")), 1))
        self.put(f"{name} {operator} {value if operator != '/=' else f'(2 + {value})'}")

    def write(self) -> None:
        operator = self.pick(("=", "+=", "*=", "-=", "="))
        vector, matrix = self.pick(self.named("n")), self.pick(self.named("mn"))
        number, row = self.value("", 1), self.value("n", 1)
        match self.below(10):
            case 0:
                self.put(f"{vector}[{self.index('n')}] {operator} {number}")
            case 1:
                self.put(f"{matrix}[{self.index('m')}, {self.index('n')}] {operator} {number}")
            case 2:
                self.put(f"{matrix}[{self.index('m')}] {operator} {row}")
            case 3:
                self.put(f"{matrix}[:, {self.index('n')}] {operator} {self.value('m', 1)}")
            case 4:
                self.put(f"{vector}[1:] {operator} {self.leaf('n')}[:-1]")
            case 5:
                self.put(f"{vector}[:] {operator} {row}")
            case 6:
                self.put(f"{vector}[{self.pick(self.named('n'))} > {self.pick(CONSTANTS)}] {operator} {number}")
            case 7:
                self.put(f"{vector}[k] {operator} {row}")
            case 8:
                self.put(f"{vector}[::2] {operator} {number}")
            case _:
                self.put(f"{matrix}[...] {operator} {self.value('mn', 1)}")

    def swap(self) -> None:
        kind = self.pick(("n", "", "mn"))
        names = self.named(kind)
        first, second = self.pick(names), self.pick(names)
        if first == second:
            other = self.value(kind, 1)
            name = self.new_name(kind)
            self.put(f"{name} = {other} * 1.0")
            self.bind(name, kind)
            second = name
        if self.chance(2):
            self.put(f"{first}, {second} = {second}, {self.pick(BOUNDED).format(self.expression(kind, 1))}")
        else:
            self.put(f"{first}, {second} = {second}, {first}")

    def view(self) -> None:
        name = self.new_name("n")
        match self.below(4):
            case 0:
                self.put(f"{name} = {self.pick(self.named('mn'))}[{self.index('m')}]")
            case 1:
                self.put(f"{name} = {self.pick(self.named('n'))}[::-1]")
            case 2:
                self.put(f"{name} = {self.pick(self.named('mn'))}.reshape(-1)[: len(x)]")
            case _:
                self.put(f"{name} = {self.pick(self.named('mn'))}.T[:, 0]")
        self.bind(name, "n")
        operator = self.pick(("*=", "+="))
        self.put(f"{name}[{self.index('n')}] {operator} {self.value('', 1)}")

    def unpack(self) -> None:
        kind = self.pick(("", "n"))
        first, second = self.target(kind), self.new_name(kind)
        self.put(f"{first}, {second} = {self.helper('both')}({self.value(kind, 1)}, {self.leaf(kind)})")
        self.bind(first, kind)
        self.bind(second, kind)

    def call_for_effect(self) -> None:
        self.put(f"{self.helper('add_into')}({self.pick(self.named('n'))}, {self.leaf('n')} * 1.0)")

    def branch(self) -> None:
        self.put(f"if {self.condition(2)}:")
        with self.block():
            self.statements()
        if self.chance(3):
            self.put(f"elif {self.condition(1)}:")
            with self.block():
                self.statements()
        if self.below(2):
            self.put("else:")
            with self.block():
                self.statements()

    def for_loop(self) -> None:
        self.loops += 1
        i = "ijpqr"[min(self.loops - 1, 4)] + ("" if self.loops <= 5 else str(self.loops))
        dim = self.pick(("n", "m"))
        length = {"n": "len(x)", "m": "a.shape[0]"}[dim]
        match self.below(6):
            case 0:
                self.put(f"for {i} in range({length}):")
                index = (i, dim)
            case 1:
                self.put(f"for {i} in range({length} - 1, -1, -1):")
                index = (i, dim)
            case 2:
                self.put(f"for {i} in range(1, {length}):")
                index = (i, dim)
            case 3:
                name = self.new_name("")
                self.put(f"for {name} in {self.pick(self.named('n'))} * 1.0:")
                index = None
                self.loop_body(None, [(name, "")])
                return
            case 4:
                name = self.new_name("n")
                self.put(f"for {name} in {self.pick(self.named('mn'))}:")
                self.loop_body(None, [(name, "n")])
                return
            case _:
                self.put(f"for {i} in range({length} - 1, 0, {self.pick(('-1', '-2'))}):")
                index = (i, dim)
        self.loop_body(index, [])

    def loop_body(self, index: tuple[str, str] | None, names: list[tuple[str, str]]) -> None:
        with self.block(index):
            for name, kind in names:
                self.bind(name, kind)
            self.statements()
        self.loops -= 1

    def while_loop(self) -> None:
        self.loops += 1
        self.fresh += 1
        count = f"n{self.fresh}"
        self.put(f"{count} = 0")
        also = f" and ({self.condition(1)})" if self.chance(2) else ""
        self.put(f"while {count} < {self.pick(('2', '3'))}{also}:")
        with self.block():
            self.put(f"{count} += 1")
            self.statements()
        self.loops -= 1

    def jump(self) -> None:
        self.put(f"if {self.condition(1)}:")
        with self.block():
            if self.chance(3):
                self.assign()
            self.put(self.pick(("break", "continue")))

    def return_early(self) -> None:
        self.put(f"if {self.condition(1)}:")
        with self.block():
            self.put(f"return {self.result()}")

    def result(self) -> str:
        return f"({self.expression(self.kind, 1)} + {self.leaf('')}) * 1.0"  # never an int

    def program(self) -> str:
        self.kind = self.pick(("", "n", "mn"))
        if self.below(3):  # most programs leave their arguments alone: a name bound anew may then be written freely
            self.put("x, y, a = x.copy(), y.copy(), a.copy()")
        self.statements(at_least=2)
        total = " + ".join(f"np.sin({name})" for name in self.named("")[-2:])
        vectors = " + ".join(f"{name} * {name}" for name in self.named("n")[-3:])
        whole = {
            "": "({0}) + ({1}).sum() + np.sin({2}).sum()",
            "n": "({0}) + ({1}) + ({2}).sum(0)",
            "mn": "({0}) + ({1}) + ({2})",
        }
        self.put("return " + whole[self.kind].format(total, vectors, self.named("mn")[-1]))
        parts = ["import math\n\nimport numpy as np\n"]
        parts += [HELPERS[name] for name in self.helpers]
        parts += ["def f(x, y, a, b, c, s, k):\n" + "\n".join(self.lines) + "\n"]
        return "\n\n".join(parts)


def written(tape: bytes) -> Generated:
    """The program and the arguments that a tape stands for."""
    writer = Writer(tape[3:])
    text = writer.program()
    writer.tape = iter(tape[:3])
    m, n = 2, 3 + writer.below(2)
    rng = np.random.default_rng(writer.below(64))
    b = rng.uniform(-1, 1, writer.pick((n, 1)))
    c = rng.uniform(-1, 1, writer.pick(((m, n), (1, n), (m, 1), (1, 1))))
    x, y, a = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.uniform(-1, 1, (m, n))
    return Generated(text, (x, y, a, b, c, float(rng.uniform(-1, 1)), rng.integers(0, n, n)))


def programs() -> st.SearchStrategy[Generated]:
    return TAPE.map(written)
