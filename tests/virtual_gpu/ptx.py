"""The text of PTX → instructions, with every call put in its place.

parse(text)["kernel"]  →  Kernel(params, instructions, labels, …)

Format: NVIDIA, *Parallel Thread Execution ISA*; only what NVVM makes of Numba's kernels is known here, and anything
else is an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

WIDTHS = {"pred": 1, **{f"{kind}{bits}": bits for kind in "bsuf" for bits in (8, 16, 32, 64)}}


class Unknown(Exception):
    """Something that this machine has not learnt."""


@dataclass
class Instruction:
    """`@!%p1 add.s64 %rd3, %rd1, 8;`  →  ("add", "s64"), ["%rd3", "%rd1", "8"], guard ("%p1", True)"""

    parts: tuple[str, ...]
    operands: list[str]
    guard: tuple[str, bool] | None = None

    def __str__(self) -> str:
        guard = f"@{'!' if self.guard[1] else ''}{self.guard[0]} " if self.guard else ""
        return f"{guard}{'.'.join(self.parts)} {', '.join(self.operands)}"


@dataclass
class Kernel:
    name: str
    params: dict[str, int]  # bits of each
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)  # bits of each
    places: dict[str, tuple[str, int]] = field(default_factory=dict)  # names in shared and local memory
    sizes: dict[str, int] = field(default_factory=lambda: {"shared": 0, "local": 0})
    constants: dict[str, bytes] = field(default_factory=dict)

    @property
    def static_bytes(self) -> int:
        """Of shared memory; what a launch asks for beyond that comes behind it."""
        return -(-self.sizes["shared"] // 16) * 16

    def reserve(self, space: str, name: str, alignment: int, size: int) -> None:
        start = -(-self.sizes[space] // alignment) * alignment
        self.places[name] = space, start
        self.sizes[space] = start + size


@dataclass
class Function:
    name: str
    results: list[str]
    params: dict[str, int]
    body: list[str]  # statements, labels, and braces


def parse(text: str) -> dict[str, Kernel]:
    functions: dict[str, Function] = {}
    entries: list[str] = []
    outside: list[str] = []  # declarations
    header: str | None = None
    body: list[str] = []
    depth = 0
    for statement in statements(text):
        if header is None:
            if re.match(r"(\.\w+ )*\.(func|entry)\b", statement) and statement != "{":
                header, body = statement, []
            elif statement != ";":
                outside.append(statement)
        elif statement == "{":
            depth += 1
            if depth > 1:
                body.append(statement)
        elif statement == "}":
            depth -= 1
            if depth:
                body.append(statement)
                continue
            made = _function(header, body)
            functions[made.name] = made
            if ".entry" in header:
                entries.append(made.name)
            header = None
        elif depth == 0:  # a prototype
            header = None
            if statement.startswith("."):
                outside.append(statement)
        else:
            body.append(statement)
    constants = dict(_constants(outside))
    kernels = {}
    for name in entries:
        kernel = kernels[name] = Kernel(name, functions[name].params, constants=constants)
        for declaration in outside:
            _declare(kernel, declaration, {}, name)
        _Inliner(functions, kernel).add(functions[name], "", {}, None)
    return kernels


def statements(text: str) -> Iterator[str]:
    """Statements without their semicolons; labels with their colon; braces that open and close a scope."""
    text = re.sub(r"//[^\n]*|^\s*\.(version|target|address_size)[^\n]*", "", text, flags=re.MULTILINE)
    current, nested = "", 0
    for token in re.findall(r"[{}();:\[\]]|[^{}();:\[\]]+", text):
        so_far = " ".join(current.split())
        is_header = re.match(r"(\.\w+ )*\.(func|entry)\b", so_far)
        if token in "{}" and not nested and (not so_far or is_header):
            yield from filter(None, (so_far, token))
        elif token == ";" and not nested:
            yield so_far or token
        elif token == ":" and not nested and re.fullmatch(r"[\w$]+", so_far):
            yield so_far + token
        else:
            nested += (token in "{([") - (token in "})]")
            current += token
            continue
        current = ""


def _function(header: str, body: list[str]) -> Function:
    match = re.search(r"\.(?:func|entry)\s*(?:\((.*?)\)\s*)?([\w$]+)\s*(?:\((.*)\))?", header)
    assert match, header
    results, name, params = match[1] or "", match[2], match[3] or ""
    return Function(name, list(_params(results)), _params(params), body)


def _params(text: str) -> dict[str, int]:
    found = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        match = re.fullmatch(r"\.param\s+(?:\.align \d+ )?\.(\w+)\s+(?:\.ptr[\s.\w]*?)?([\w$]+)(?:\[\d+\])?", item)
        assert match, item
        found[match[2]] = WIDTHS[match[1]]
    return found


def _constants(outside: list[str]) -> Iterator[tuple[str, bytes]]:
    for declaration in outside:
        kind_and_name = r"(?:\.\w+ )*\.(?:global|const) (?:\.align \d+ )?\.(\w+) ([\w$]+)"
        match = re.match(kind_and_name + r"(?:\[(\d+)\])?(?: = (.*))?", declaration)
        if match:
            kind, name, count, given = match.groups()
            size = WIDTHS[kind] // 8
            numbers = [int(n, 0) for n in given.strip("{} ").split(",")] if given else []
            if given and kind.startswith("f"):
                raise Unknown(declaration)
            held = b"".join((n % (1 << 8 * size)).to_bytes(size, "little") for n in numbers)
            yield name, held.ljust(size * int(count or 1), b"\0")


def _declare(kernel: Kernel, declaration: str, names: dict[str, str], prefix: str) -> bool:
    """Room in shared or local memory."""
    pattern = r"(?:\.(?:extern|visible) )?\.(shared|local) \.align (\d+) \.(\w+) ([\w$]+)(?:\[(\d*)\])?"
    match = re.fullmatch(pattern, declaration)
    if match is None:
        return False
    space, alignment, kind, name, count = match.groups()
    own = names[name] = f"{prefix}{name}" if prefix != kernel.name else name
    if count == "":  # as large as the launch says
        kernel.places[own] = "dynamic", 0
    elif own not in kernel.places:
        kernel.reserve(space, own, int(alignment), WIDTHS[kind] // 8 * int(count or 1))
    return True


class _Inliner:
    """Bodies one after the other, each with registers, labels and parameters of its own."""

    def __init__(self, functions: dict[str, Function], kernel: Kernel) -> None:
        self.functions, self.kernel, self.calls = functions, kernel, 0

    def add(self, function: Function, prefix: str, given: dict[str, str], end: str | None) -> None:
        """`given`: what the parameters and results are called outside; `end`: the label behind the call."""
        kernel = self.kernel
        scopes: list[dict[str, str]] = [dict(given)]
        inner = 0

        def renamed(text: str) -> str:
            return re.sub(r"[%$\w]+", lambda found: rename(found[0]), text)

        def rename(name: str) -> str:
            for scope in reversed(scopes):
                if name in scope:
                    return scope[name]
            return name

        for statement in function.body:
            if statement == "{":
                inner += 1
                scopes.append({})
            elif statement == "}":
                scopes.pop()
            elif statement.endswith(":"):
                kernel.labels[f"{prefix}{statement[:-1]}"] = len(kernel.instructions)
            elif statement.startswith(".reg"):
                kind, names = re.fullmatch(r"\.reg \.(\w+) (.*)", statement).groups()  # type: ignore[union-attr]
                for name in names.split(","):
                    several = re.fullmatch(r"(\S+?)<(\d+)>", name.strip())
                    each = [f"{several[1]}{k}" for k in range(int(several[2]))] if several else [name.strip()]
                    for one in each:
                        own = scopes[-1][one] = f"{prefix}{one}" if len(scopes) == 1 else f"{prefix}{one}@{inner}"
                        kernel.registers[own] = WIDTHS[kind]
            elif statement.startswith(".param"):
                match = re.fullmatch(r"\.param (?:\.align \d+ )?\.\w+ ([\w$]+)(?:\[\d+\])?", statement)
                assert match, statement
                scopes[-1][match[1]] = f"{prefix}{match[1]}@{inner}"
            elif statement.startswith("."):
                if not statement.startswith((".loc ", ".pragma")) and not _declare(
                    kernel, statement, scopes[0], prefix or kernel.name
                ):
                    raise Unknown(statement)
            else:
                self.instruction(statement, prefix, renamed, end)

    def instruction(self, statement: str, prefix: str, renamed, end: str | None) -> None:  # type: ignore[no-untyped-def]
        match = re.fullmatch(r"(?:@(!?)([%\w]+) )?([a-z][\w.:]*)(?: (.*))?", statement)
        if match is None:
            raise Unknown(statement)
        negated, guard, opcode, rest = match.groups()
        parts = tuple(opcode.replace("::", ".").split("."))
        guarded = (renamed(guard), bool(negated)) if guard else None
        kernel = self.kernel
        if parts[0] == "call":
            assert guarded is None
            found = re.fullmatch(r"(?:\((.*?)\) ?, ?)?([\w$]+)(?: ?, ?\((.*)\))?", rest)
            assert found, statement
            results, name, args = found.groups()
            if name not in self.functions:
                raise Unknown(f"a call of {name}")
            callee = self.functions[name]
            self.calls += 1
            inside, behind = f"{prefix}{name}#{self.calls}.", f"{prefix}behind#{self.calls}"
            given = [item.strip() for text in (results, args) for item in (text or "").split(",")]
            outer = [renamed(item) for item in given if item]
            self.add(callee, inside, dict(zip([*callee.results, *callee.params], outer, strict=True)), behind)
            kernel.labels[behind] = len(kernel.instructions)
        elif parts[0] == "ret" and end is not None:
            kernel.instructions.append(Instruction(("bra",), [end], guarded))
        elif parts[0] == "bra":
            kernel.instructions.append(Instruction(("bra",), [f"{prefix}{rest}"], guarded))
        else:
            kernel.instructions.append(Instruction(parts, [renamed(item) for item in split(rest or "")], guarded))


def split(text: str) -> list[str]:
    """Operands: commas inside of braces and brackets do not part them."""
    return [item.strip() for item in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|[^,{\[])+", text)]
