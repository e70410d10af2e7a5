"""From the arguments of a call to compiled code for their types, at the price of one look-up.

    Python types of the arguments  →  Stage  →  Variant  →  Numba's dispatcher in C  →  machine code

A *stage* knows what Python can tell cheaply: which arguments are arrays, tuples, Python numbers (weak) or NumPy's.  Its
*variant* adds what f captures from outside, fetched at each call, so that a later change is seen.  Numba's dispatcher
tells dtypes, numbers of axes and layouts apart and asks us to generate code where it meets new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import Parameter, Signature
from itertools import starmap
from typing import Any

from numba.core import config

from srcgrad import arguments, pipeline
from srcgrad.assumptions import Assumption, assumptions, picture
from srcgrad.backends import cpu, cuda, plain
from srcgrad.backends.direct import MOST, NOTHING, Direct
from srcgrad.binding import Given
from srcgrad.both_sweeps import Memory
from srcgrad.checked import Call, Checked
from srcgrad.emit.gpu.kernels import Form
from srcgrad.errors import (
    ArgumentError,
    BroadcastError,
    CotangentShapeError,
    GivenOtherwise,
    IdleLoopError,
    NoneArgumentError,
    RuntimeShapeError,
    ShapeError,
    ShortAxisError,
    UnsupportedError,
)
from srcgrad.frontend.seeds import OF_BACKWARD, MissingCotangent
from srcgrad.frontend.syntax.source import signature_of
from srcgrad.garbage import no_search_for_garbage
from srcgrad.ir.types import StaticType, TupleType, ValueType, arrays_in
from srcgrad.passes import order
from srcgrad.recalled import Recalled

LENGTHS_DIFFER = (BroadcastError, CotangentShapeError, RuntimeShapeError, ShortAxisError)

Types = tuple[ValueType, ...]


class Lanes(dict[Any, Call]):
    """What to call, by the Python types of positional arguments.

    Where that is machine code and no more, `publish` is given a `Direct`, which finds it without Python; None where
    that is over.  `in_python` is the way through this table.
    """

    def __init__(self, in_python: Call, publish: Callable[[Direct | None], None]) -> None:
        super().__init__()
        self._in_python, self._publish = in_python, publish
        self._direct: Direct | None = None

    def __setitem__(self, kinds: Any, call: Call) -> None:
        if self.get(kinds) is call:
            return
        super().__setitem__(kinds, call)
        before = self._direct
        if self._direct is not None:
            self._direct.forget(kinds)
        outside = call.outside if isinstance(call, Checked) else NOTHING
        if isinstance(call, (cpu.Dispatcher, Checked)) and outside is not None:
            if self._direct is None and len(kinds) <= MOST:
                self._direct = Direct(len(kinds), self._in_python, LENGTHS_DIFFER)
            if self._direct is not None and self._direct.count == len(kinds):
                self._direct.sources[kinds] = call
                call.tell(self._direct, kinds, call, outside)
        if self._direct is not None and not self._direct.sources:
            self._direct = None
        if self._direct is not before:
            self._publish(self._direct)


RECALLED = Recalled()


def _are_alike(one: Parameter, other: Parameter) -> bool:
    is_same = one.default is other.default or picture(one.default) == picture(other.default)
    return is_same and one.name == other.name and one.kind is other.kind


@dataclass(eq=False)
class Program:
    """A function with its options: what is generated, and how it is run."""

    function: Callable[..., Any]
    options: Any
    parameters: tuple[str, ...]
    optional: frozenset[str] = frozenset()  # parameters that may be None: their default is
    jit: bool = True
    cache: bool = True
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self._signature = self._signature_now()

    def _signature_now(self) -> Signature:
        return signature_of(self.function.function if isinstance(self.function, Given) else self.function)

    @no_search_for_garbage()
    def generate(
        self, kind: str, types: Types, cotangents: Any, stretch: bool = True, cut: bool = True, granted: bool = False,
        again: bool = False, form: Form | None = None,
    ) -> Any:  # fmt: skip
        """A module; without `stretch` it raises a BroadcastError also where a length of 1 has to be stretched, without
        `cut` a ShortAxisError where a slice is cut short, and with `granted` an IdleLoopError where a loop does not run
        that would compare lengths, and they differ.  `again`: it is differentiated itself.  `form`: of kernels, where
        it is not that of the backend."""
        self._refuse_other_parameters()
        with self._blame(types, cotangents):
            options = replace(self.options, stretch=stretch, cut=cut, granted=granted, again=again)
            if again:  # where it runs is for the caller to say
                options = replace(options, target="cpu", parallel=False)
            self._refuse_place(types, cotangents)
            if options.target == "cuda" and form is None:
                form = cuda.form()

            def made(varying: frozenset[Any]) -> Any:
                wanted = replace(options, varying=varying)
                return pipeline.generate(self.function, kind, types, cotangents, wanted, form, self.memory)

            how = options, order.passes_for(kind, options), form
            return RECALLED.get(self.function, (kind, types, cotangents), how, made)

    def source(
        self, kind: str, types: Types, cotangents: Any, after: str | None, stretch: bool, cut: bool, granted: bool
    ) -> str:
        """The text of a module, as calls run it; or the program as it is after one of the passes."""
        given = pipeline.LIKE_THE_OUTPUT if cotangents is None else cotangents
        if after is None:
            form = cuda.form(ptx=True) if self.options.target == "cuda" else None
            return str(self.generate(kind, types, given, stretch, cut, granted, form=form).text)
        with self._blame(types, cotangents):
            options = replace(self.options, stretch=stretch, cut=cut, granted=granted)
            return pipeline.program_after(after, self.function, kind, types, given, options)

    def ptx(self, kind: str, types: Types, cotangents: Any, cc: tuple[int, int]) -> dict[str, str]:
        with self._blame(types, cotangents):
            cotangents = pipeline.LIKE_THE_OUTPUT if cotangents is None else cotangents
            form = cuda.form(ptx=True)
            generated = pipeline.generate(self.function, kind, types, cotangents, self.options, form, self.memory)
            return cuda.ptx(generated, cc, self.options)

    def _refuse_other_parameters(self) -> None:
        """The function may be made of another code now, with other parameters or defaults than calls are bound to."""
        self.refuse_given_otherwise(())
        both = [signature.parameters.values() for signature in (self._signature, self._signature_now())]
        if len(both[0]) != len(both[1]) or not all(starmap(_are_alike, zip(*both, strict=True))):
            name = self.function.__name__
            raise ArgumentError(
                f"{name} has other parameters or defaults than when grad was called", help=(f"call grad({name}) again",)
            )

    def refuse_given_otherwise(self, keywords: Iterable[str]) -> None:
        """A partial may give something else by now, or a call may give what it gives by name."""
        if isinstance(self.function, Given) and (self.function.is_outdated or self.function.taken(keywords)):
            raise GivenOtherwise(
                f"{self.function.__name__} is given other arguments than when grad was called",
                help=(f"call grad again for this partial of {self.function.__name__}",),
            )

    @contextmanager
    def _blame(self, types: Types, cotangents: Any) -> Iterator[None]:
        """Errors deep in the function that come from a None or a list are about that argument."""
        try:
            yield
        except (UnsupportedError, NoneArgumentError) as error:
            for name, kind in zip(self.parameters, types, strict=True):
                if kind == StaticType(None) and name not in self.optional:
                    raise ArgumentError(
                        f"argument {name} is None, and the function computes with it",
                        span=error.span,
                        because=error.message,
                        help=("pass a number, a NumPy array, or a tuple of them",),
                    ) from None
            raise
        except ShapeError as error:
            if isinstance(cotangents, TupleType) and cotangents.kind is list:
                raise ArgumentError(f"argument v is a list; {error.message}", help=("pass np.array(v)",)) from None
            raise

    def _refuse_place(self, types: Types, cotangents: Any) -> None:
        """Arrays in the memory of a GPU are for functions that run there, and for those alone."""
        named = [*zip(types, self.parameters, strict=False), (cotangents, arguments.COTANGENT)]
        found = [(kind, name) for root, name in named for kind in arrays_in(root)]
        if self.options.target == "cuda":
            cuda.refuse_mixed(found)
        for kind, name in found if self.options.target == "cpu" else ():
            if kind.on_device:
                raise ArgumentError(
                    f"argument {name} lies on a GPU", help=('decorate the function with @grad(target="cuda")',)
                )

    @property
    def is_numba(self) -> bool:
        return self.options.target == "cpu" and self.jit and not config.DISABLE_JIT

    def dispatcher(self, kind: str, count: int, build: Callable[[tuple[Any, ...]], Any]) -> Call:
        if self.options.target == "cuda":
            return cuda.Dispatcher(build, kind, self.options, self.cache)
        if self.is_numba:
            return cpu.Dispatcher(count, build, self.options, self.cache)
        return plain.Dispatcher(build)


@dataclass(eq=False)
class Stage:
    """The calls of one kind whose arguments have one pattern."""

    program: Program
    kind: str
    pattern: tuple[Any, ...]  # of the arguments; and of v at the end, where there is one
    names: tuple[str, ...]  # what the user calls the leaves
    with_v: bool = False
    forward: Forward | None = None  # of a pullback: its leaves are residuals, then those of v
    version: int = 0  # counts restarts
    stretch: bool = False  # a length of 1 had to be stretched
    cut: bool = False  # a slice had to be cut short
    granted: bool = True  # no loop has been idle that would have compared lengths, and they differed
    equal_lengths: bool = False  # lengths were taken to be equal
    whole_slices: bool = False  # slices were taken to end inside their axes
    once: bool = False  # what fails may have written to the arguments: it is not tried again
    assumed: dict[Any, Assumption] = field(default_factory=dict)  # of all variants
    captured: dict[str, Callable[[], Any]] = field(default_factory=dict)
    lanes: list[tuple[dict[Any, Call], Any]] = field(default_factory=list)
    call: Call = field(init=False)
    direct: Call = field(init=False)  # for callers who take the other way where lengths differ: one call less

    def __post_init__(self) -> None:
        self.call = self.direct = self._first

    def _first(self, *leaves: Any) -> Any:
        with cpu.LOCK:
            self.prepare(leaves)
        return self.call(*leaves)

    def prepare(self, leaves: Sequence[Any]) -> None:
        """Generate; it is compiled with the first call."""
        if not self.is_prepared:  # another thread may have been here
            generated = self.generate(leaves)
            self.use(Variant(self, generated.captured, (self.types(leaves), generated)).call)

    @property
    def is_prepared(self) -> bool:
        return self.call != self._first

    def types(self, leaves: Sequence[Any]) -> tuple[Types, Any]:
        """The types of f's arguments, and of v."""
        rest = iter(zip(leaves, self.names, strict=False))
        types = tuple(arguments.value_type(part, rest) for part in self.pattern)
        own, cotangents = (types[:-1], types[-1]) if self.with_v else (types, None)
        return own if self.forward is None else self.forward.types, cotangents

    def generate(self, leaves: Sequence[Any]) -> Any:
        if self.forward is not None:
            return self.forward.pullback(self.program, leaves, *self.types(leaves))
        try:
            generated = self.program.generate(self.kind, *self.types(leaves), self.stretch, self.cut, self.granted)
            stretch, cut = self._will(generated, leaves)
            if (stretch, cut) != (self.stretch, self.cut):
                # The other code would be compiled for nothing.
                generated = self.program.generate(self.kind, *self.types(leaves), stretch, cut, self.granted)
                self.stretch, self.cut = stretch, cut
            self.once = generated.facts.once
            is_whole = self.whole_slices or bool(generated.taken_whole)
            expected = self.equal_lengths or generated.equal_lengths, is_whole
            if expected != (self.equal_lengths, self.whole_slices):
                self.equal_lengths, self.whole_slices = expected
                if self.is_prepared:
                    self.use(self.direct)
            return generated
        except MissingCotangent as error:  # now the shape that v must have is known
            raise error.with_shapes([getattr(leaf, "shape", ()) for leaf in leaves], OF_BACKWARD) from None

    def _will(self, generated: Any, leaves: Sequence[Any]) -> tuple[bool, bool]:
        """`stretch` and `cut`: what the lengths of the first call ask for."""
        is_granted = generated.equal_lengths or generated.taken_whole or generated.in_rows
        if self.is_prepared or not (self.granted and is_granted):
            return self.stretch, self.cut
        of_v = len(leaf_names(self.pattern[-1:], ("v",))) if self.with_v else 0
        given = [*leaves[: len(leaves) - of_v], *(capture.place() for capture in generated.captured)]
        return self.stretch or generated.would_stretch(given), self.cut or generated.would_cut(given)

    def source(self, leaves: Sequence[Any], after: str | None) -> str:
        """The text of what a call with these leaves runs."""
        types, cotangents = self.types(leaves)
        stretch, cut = self.stretch, self.cut
        if not (stretch or self.is_prepared):
            like = pipeline.LIKE_THE_OUTPUT if cotangents is None else cotangents
            generated = self.program.generate(self.kind, types, like, False, cut, self.granted)
            stretch, cut = self._will(generated, leaves)
        return self.program.source(self.kind, types, cotangents, after, stretch, cut, self.granted)

    def captured_types(self) -> tuple[tuple[str, Any], ...]:
        """What is read from outside, with its type now."""
        return tuple((name, _type_now(fetch(), name)) for name, fetch in self.captured.items())

    def use(self, call: Call) -> None:
        """From now on, this is the way to call; callers that have the old one are told."""
        self.direct = call
        if self.equal_lengths and not self.stretch:
            call = self._or_else(call, LENGTHS_DIFFER)
        elif self.whole_slices and not self.cut:
            call = self._or_else(call, (ShortAxisError, CotangentShapeError))
        self.call = call
        for lanes, key in self.lanes:
            lanes[key] = self.direct

    def _or_else(self, call: Call, unexpected: tuple[type[Exception], ...]) -> Call:
        """The call; where lengths are not as expected, from then on one that stretches those of 1, and cuts slices."""

        def attempt(*leaves: Any) -> Any:
            before = self.stretch, self.cut, self.granted
            try:
                return call(*leaves)
            except unexpected as error:
                problem = error
            if isinstance(problem, IdleLoopError):
                self._expect(self.stretch, self.cut, False)
                return self.call(*leaves)
            is_short = isinstance(problem, ShortAxisError) or self.stretch or not self.equal_lengths
            self._expect(self.stretch or not is_short, self.cut or is_short, self.granted)
            try:
                return self.call(*leaves)
            except LENGTHS_DIFFER:  # they fit in no way
                self._expect(*before)
                raise
            except (ShapeError, UnsupportedError):  # they would have to fit to be supported
                self._expect(*before)
                raise problem from None

        return attempt

    def _expect(self, stretch: bool, cut: bool, granted: bool) -> None:
        with cpu.LOCK:
            if (self.stretch, self.cut, self.granted) != (stretch, cut, granted):
                self.stretch, self.cut, self.granted = stretch, cut, granted
                self.restart()

    def reach(self, lanes: dict[Any, Call], key: Any) -> None:
        """Put this stage into a table of calls; where lengths differ these fail, and `call` may find another way."""
        if key not in lanes:
            self.lanes.append((lanes, key))
        lanes[key] = self.direct

    def restart(self) -> Call:
        """What f has as a constant changed (a function that it calls, a tuple): generate anew."""
        self.version += 1
        self.equal_lengths = self.whole_slices = self.once = False
        self.assumed, self.captured = {}, {}
        self.use(self._first)
        return self._first

    def tell_apart(self) -> Call:
        """Arguments of other dtypes read other globals: from now on, look at the dtypes here (slower, and rare)."""
        variants: dict[Any, Variant] = {}

        def call(*leaves: Any) -> Any:
            key = self.types(leaves)
            with cpu.LOCK:
                if key not in variants:
                    generated = self.generate(leaves)
                    variants[key] = Variant(self, generated.captured, (key, generated), fixed=True)
            return variants[key].call(*leaves)

        self.use(call)
        return call


@dataclass(eq=False)
class Forward:
    """What a pullback goes back over: one forward function, as it was generated."""

    types: Types
    count: int  # of residuals
    origin: Stage
    captured: tuple[tuple[str, Any], ...]
    assumed: tuple[Assumption, ...]
    stretch: bool
    cut: bool
    granted: bool
    lanes: dict[type, Call] = field(default_factory=dict)  # pullbacks by the type of v
    stages: dict[Any, Stage] = field(default_factory=dict)

    def stage(self, program: Program, pattern: tuple[Any, ...], names: tuple[str, ...], with_v: bool) -> Stage:
        if pattern not in self.stages:
            self.stages[pattern] = Stage(program, "pullback", pattern, names, with_v, self)
        return self.stages[pattern]

    def pullback(self, program: Program, leaves: Sequence[Any], types: Types, cotangents: Any) -> Any:
        """Generated when v is first seen; f must still be what ran forward."""
        is_same = not any(assumption.fails() for assumption in self.assumed)
        if is_same and self.origin.captured_types() == self.captured:
            generated = program.generate("pullback", types, cotangents, self.stretch, self.cut, self.granted)
            expected = [_memory(kind) for kind in generated.arguments[: self.count]]
            if [_memory(arguments.leaf_type(leaf, "residual")) for leaf in leaves[: self.count]] == expected:
                return replace(generated, captured=(), assumed=())  # forward has read them
        raise ArgumentError(
            "what the function reads from outside changed between vjp and the first call of its pullback",
            help=("call vjp again",),
        )


def _type_now(value: Any, name: str) -> Any:
    return arguments.leaf_type(value, name) if type(value) in arguments.LEAVES else type(value)


def _memory(kind: Any) -> tuple[Any, int]:
    return kind.dtype, getattr(kind, "ndim", 0)


class Variant:
    """A stage together with what f captures: hidden arguments behind the caller's own.

    `pending` is what was generated to find that out, with the types that it is for.
    """

    def __init__(self, stage: Stage, captured: tuple[Any, ...], pending: Any, fixed: bool = False) -> None:
        self.stage = stage
        self.captured = captured
        self.names = stage.names + tuple(capture.name for capture in captured)
        stage.captured |= {capture.name: capture.place for capture in captured}
        self.writes: frozenset[int] = frozenset()  # leaves that f writes, for the types seen so far
        self.assumed: dict[Any, Assumption] = {}
        self._pending = pending
        self._fixed = fixed
        self.dispatchers: dict[tuple[type, ...], Call] = {}  # by the Python types of what is captured
        self.call = self._make_call()

    def _make_call(self) -> Call:
        if not self.captured and not self.writes and not self.assumed:
            return self.dispatcher((), len(self.stage.names))
        return Checked(self, tuple(self.assumed.values()))

    def dispatcher(self, key: tuple[type, ...], count: int) -> Call:
        if key not in self.dispatchers:
            self.dispatchers[key] = self.stage.program.dispatcher(self.stage.kind, count, self._build)
        return self.dispatchers[key]

    def _build(self, leaves: tuple[Any, ...]) -> Any:
        """What to compile for leaves of new types (captured ones included), or another way to call them."""
        own = leaves[: len(self.stage.names)]
        generated = self._generated(own)
        if [capture.place.key for capture in generated.captured] != [capture.place.key for capture in self.captured]:
            return self._differ(own, generated)
        self._note(generated, leaves)
        return generated

    def _generated(self, own: tuple[Any, ...]) -> Any:
        if self._pending is not None:
            (types, generated), self._pending = self._pending, None
            if types == self.stage.types(own):
                return generated
        return self.stage.generate(own)

    def _differ(self, own: tuple[Any, ...], generated: Any) -> Call:
        """Arguments of these types read other globals: another variant is called, with the caller's own leaves."""
        if self._fixed:
            call = Variant(self.stage, generated.captured, (self.stage.types(own), generated), fixed=True).call
        else:
            call = self.stage.tell_apart()
        return lambda *leaves: call(*leaves[: len(own)])

    def refuse_writes(self, leaves: Sequence[Any], writes: frozenset[int]) -> None:
        """Where what f writes is not to be written."""
        arguments.refuse_overlap(leaves, self.names, writes)
        if self.stage.kind == "primal":  # the other kinds write to copies
            arguments.refuse_read_only(leaves, self.names, writes)

    def _note(self, generated: Any, leaves: tuple[Any, ...]) -> None:
        writes = frozenset(getattr(generated, "writes", ()))
        self.refuse_writes(leaves, writes)
        assumed = {assumption.place.key: assumption for assumption in assumptions(generated)}
        if writes <= self.writes and assumed.keys() <= self.assumed.keys():
            return
        self.writes |= writes
        self.assumed = assumed | self.assumed
        self.stage.assumed = self.assumed | self.stage.assumed
        self.call = self._make_call()
        if not self._fixed:
            self.stage.use(self.call)


def pattern_of(values: Sequence[Any], names: Sequence[str]) -> tuple[tuple[Any, ...], list[Any]]:
    """The patterns of values, and their leaves."""
    leaves: list[Any] = []
    pattern = []
    for value, name in zip(values, names, strict=False):
        kind = type(value)
        if kind in arguments.LEAVES:  # as `flatten` would, without the call
            leaves.append(value)
            pattern.append(kind)
        else:
            pattern.append(arguments.flatten(value, name, leaves))
    return tuple(pattern), leaves


def leaf_names(pattern: Sequence[Any], names: Sequence[str]) -> tuple[str, ...]:
    pairs = zip(pattern, names, strict=False)
    return tuple(leaf for part, name in pairs for leaf in arguments.leaf_names(part, name))
