"""From a Python function and the types of its arguments to generated source: the passes in order.

This is the first file to read.  `generate` interprets the function into IR, runs the passes over it, and has the result
printed; `program_after` shows it after any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .both_sweeps import Memory, both_sweeps
from .deep import deeper_if_need_be
from .emit.facts import Facts
from .emit.gpu.kernels import Form
from .emit.python import emit
from .errors import OptionError
from .frontend.function import Interpreted, interpret
from .frontend.outside import Place
from .frontend.seeds import LIKE_THE_OUTPUT
from .ir import affine
from .ir.check import GONE_AFTER, check, check_results, check_types
from .ir.expressions import Call, Const, Dim, Expr, integer
from .ir.nodes import Function
from .ir.show import show
from .ir.types import ValueType
from .ir.walk import rewrite
from .options import Options
from .passes.early_checks import check_early
from .passes.late_checks import compares_late
from .passes.order import Pass, passes_for
from .passes.reverse_mode.callees import everywhere
from .passes.reverse_mode.keep import keep, without_keep

MOST_IN_ROWS = 1 << 16  # numbers: to copy these takes some 50 µs
KINDS = ("primal", "backward", "value_and_backward", "forward", "pullback")  # of functions that are generated


@dataclass(frozen=True)
class Capture:
    """A hidden trailing argument: a global or closure value that the function reads, fetched at each call."""

    name: str
    place: Place
    type: ValueType


@dataclass(frozen=True)
class Generated:
    """A module as text, and what is needed to call it.

    `results` and `outputs` are structures of types; `writes` are the positions of leaf arguments that f writes;
    `assumed` are outside values that the text was specialised to, with how to look at them again; `facts` are what the
    backend may rely on beside the text.  `equal_lengths`: lengths that might differ were taken to be equal, and a
    BroadcastError may only mean that one of them is 1: then generate with `stretch`.  `taken_as_equal` says which these
    are, in lengths of the arguments and of what is captured, by `names`.  `taken_whole`: lengths, and what they were
    taken to be at least, so that slices of known bounds end inside their axes and items of a list are of one shape; on
    a ShortAxisError, which comes ahead of all else, generate with `cut`.  `in_rows`: how many numbers are copied for
    that; with `cut` none are.
    Where `facts.once` is true such an error may come after a write, and nothing may be taken for granted.
    """

    text: str
    entry: str
    arguments: tuple[ValueType, ...]
    results: Any
    outputs: Any
    captured: tuple[Capture, ...] = ()
    globals: dict[str, Any] = field(default_factory=dict)
    writes: tuple[int, ...] = ()
    assumed: tuple[tuple[Place, Any], ...] = ()
    equal_lengths: bool = False
    taken_as_equal: tuple[tuple[Expr, Expr], ...] = ()
    names: tuple[str, ...] = ()
    taken_whole: tuple[tuple[Expr, Expr], ...] = ()
    in_rows: tuple[Expr, ...] = ()
    facts: Facts = Facts()  # noqa: RUF009 (it is frozen)

    def would_stretch(self, arguments: Sequence[Any]) -> bool:
        """Does a length of 1 stand beside another one, in these arguments?"""
        for lengths in self._known(self.taken_as_equal, arguments):
            found = {length.value for length in lengths if isinstance(length, Const)}
            if len(found) == 2 and 1 in found and 0 not in found:  # of nothing, as a rule behind a loop's end
                return True
        return False

    def would_cut(self, arguments: Sequence[Any]) -> bool:
        """Is a length, in these arguments, not what it is taken to be at least?  Or is too much copied?"""
        pairs = [*self._known(self.taken_whole, arguments)]
        copied = (part for part, _ in self._known(((part, part) for part in self.in_rows), arguments))
        if sum(part.value for part in copied if isinstance(part, Const)) > MOST_IN_ROWS:
            return True
        return any(x.value < y.value for x, y in pairs if isinstance(x, Const) and isinstance(y, Const))

    def _known(self, pairs: Iterable[tuple[Expr, Expr]], arguments: Sequence[Any]) -> Iterator[tuple[Expr, Expr]]:
        """The lengths, as they are in these arguments."""
        known: dict[Expr, Expr] = {
            Dim(name, axis): integer(length)
            for name, argument in zip(self.names, arguments, strict=False)
            for axis, length in enumerate(getattr(argument, "shape", ()))
        }

        def put(part: Expr) -> Expr:
            match part:
                case Call(op="maximum", args=(x, y)):
                    return affine.maximum(x, y)
                case Call(op="floordiv", args=(x, Const(value=int(by)))) if by > 0:
                    return affine.floordiv(x, by)
            return affine.normal(known.get(part, part))

        return ((rewrite(x, put), rewrite(y, put)) for x, y in pairs)


@deeper_if_need_be
def generate(
    function: Callable[..., Any],
    kind: str,
    types: Any,
    cotangents: Any,
    options: Options,
    form: Form | None = None,
    memory: Memory | None = None,
) -> Generated:
    """The module of one kind for arguments of these types.

    Parameters
    ----------
    kind : one of KINDS
    types : tuple of ValueType
        One per parameter of the function.
    cotangents : ValueType or None
        The structure of v; None where it is left out.
    memory : Memory, optional
        What was made for other kinds.
    """
    memory = memory or Memory()
    start, program = transformed(function, kind, types, cotangents, options, memory)
    info = program.info
    written = start.writes if kind == "primal" else frozenset()
    late = bool(written) and compares_late(program, written)
    if late and start.equal_lengths:
        early = check_early(program)
        if not compares_late(early, written):
            program, late = early, False
    if late and (start.equal_lengths or start.taken_whole):  # once it has written, it can't be run again
        return generate(function, kind, types, cotangents, replace(options, stretch=True, cut=True), form, memory)
    text, facts = emit(check_results(check_types(program)), form, start.exceptions)
    is_half = kind == "pullback"  # its arguments are what was kept, and v
    writes = () if is_half else tuple(k for k, param in enumerate(program.params) if param.name in start.writes)
    assert is_half or len(writes) == len(start.writes), (start.writes, program.params)
    return Generated(
        text=text,
        facts=replace(facts, handed_in=len(start.captured), written=frozenset(writes), once=late),
        equal_lengths=start.equal_lengths,
        taken_as_equal=start.taken_as_equal,
        names=tuple(param.name for param in start.function.params),
        taken_whole=start.taken_whole,
        in_rows=start.in_rows,
        entry=program.name,
        arguments=info.extra["arguments"],
        results=info.extra["results"],
        outputs=start.outputs,
        captured=tuple(Capture(c.name, c.place, c.type) for c in start.captured),
        globals=dict(start.exceptions),
        writes=writes,
        assumed=start.assumed,
    )


def transformed(
    function: Callable[..., Any], kind: str, types: Any, cotangents: Any, options: Options, memory: Memory
) -> tuple[Interpreted, Function]:
    """The function interpreted, and after all passes."""
    steps = passes_for(kind, options)

    def make(steps: tuple[Pass, ...]) -> tuple[Interpreted, Function]:
        start = interpret(function, kind, types, cotangents, options)
        return start, run(start.function, steps)

    if kind == "primal":
        return make(steps)
    parting = next(k for k, step in enumerate(steps) if step in (keep, without_keep))
    given = LIKE_THE_OUTPUT if kind == "forward" else cotangents
    both = both_sweeps(memory, function, types, given, (options, steps[:parting]), lambda: make(steps[:parting]))

    def to_the_end() -> Function:
        kept = both.of_kind(kind, steps[parting], lambda program: through(program, steps[parting : parting + 1]))
        return through(kept, steps[parting + 1 :])

    return both.start, both.to_the_end(kind, steps, to_the_end)


def run(program: Function, steps: tuple[Pass, ...], watch: Callable[[str, Function], object] | None = None) -> Function:
    """Every pass in order, checked after each."""
    program = check(program, after="frontend")
    if watch:
        watch("frontend", program)
    return through(program, steps, watch)


def through(
    program: Function, steps: tuple[Pass, ...], watch: Callable[[str, Function], object] | None = None
) -> Function:
    for step in map(everywhere, steps):
        before, program = program, step(program)
        if program is not before or step.__name__ in GONE_AFTER:
            check(program, after=step.__name__)
        if watch:
            watch(step.__name__, program)
    return program


@deeper_if_need_be
def program_after(
    after: str, function: Callable[..., Any], kind: str, types: Any, cotangents: Any, options: Options
) -> str:
    """The program as text, as it is after one of the passes (`"frontend"` comes first)."""
    steps = passes_for(kind, options)
    known = ["frontend", *(step.__name__ for step in steps)]
    if after not in known:
        raise OptionError(f"there is no pass {after!r}", help=(f"the passes are {', '.join(known)}",))
    seen: dict[str, str] = {}
    start: Interpreted = interpret(function, kind, types, cotangents, options)
    run(start.function, steps, watch=lambda name, program: seen.setdefault(name, show(program)))
    return seen[after]
