"""A Python function and argument types → the IR function, with its parameters, outputs and seeds.

f, (float64[:], float64[:])   →   function f_backward(x, w, y_b): body, results
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ArgumentError, OptionError, SrcgradError, UnsupportedError
from ..ir.expressions import Array, Const, Expr, Var, is_inexact
from ..ir.info import Info
from ..ir.names import RESERVED
from ..ir.nodes import Function, Library, OwnCopy, Stmt
from ..ir.types import (
    SETS,
    ArrayType,
    ChosenKind,
    DictKind,
    ListKind,
    RecordKind,
    ScalarType,
    StaticType,
    TextKind,
    TupleType,
    ValueType,
    type_leaves,
)
from ..ir.walk import always_raises, statements, targets, variables
from ..ir.walk import expressions as expressions_of
from ..rules.compositions import deques, iterators, lists_by_place
from ..rules.device import RESERVED as RESERVED_ON_DEVICE
from . import one_of, optional, types_that_decide, unpacking
from .arguments import parameter, type_of
from .array_values import ArrayValue, whole
from .calls.recursion import Callees, Chosen, InPlace, NotYetKnown, OwnFunction, refuse
from .calls.user import stopped
from .interpret import Interpreter
from .known_memory import WrittenAfterAll
from .lists import lists_as_arrays, rows_at_entry
from .lists.item_fields_known import FieldsLearnt, ItemFields, OtherNumbers, Shared
from .objects import class_defaults
from .outputs import (
    Group,
    ScalarOutput,
    StaticOutput,
    as_floats,
    describe_output,
    describe_type,
    flat_outputs,
    float_leaves,
    float_structure,
    has_whole_numbers,
    is_float,
    like_the_output,
    result_leaves,
    structure,
)
from .outside import Place
from .seeds import LIKE_THE_OUTPUT, MissingCotangent, Seeds, is_one_real_number, seed_of_one, seeds_of
from .syntax.source import read, signature_of
from .values import NONE, UNDEFINED, Items, Nested, OneOf, Scalar, Static, Template, TupleValue, constant, new_list


@dataclass(frozen=True)
class Outside:
    """A captured value: a hidden trailing argument."""

    name: str
    place: Place
    type: ValueType


@dataclass(frozen=True)
class Interpreted:
    function: Function
    outputs: Any
    cotangents: Any  # the types of v; None where it is left out
    like_the_output: Any  # what they are if nothing is said about v
    captured: tuple[Outside, ...]
    exceptions: dict[str, Any]
    writes: frozenset[str]  # the names of parameters
    assumed: tuple[tuple[Place, Any], ...]
    equal_lengths: bool  # see `pipeline.Generated`
    taken_as_equal: tuple[tuple[Expr, Expr], ...]
    taken_whole: tuple[tuple[Expr, Expr], ...]
    in_rows: tuple[Expr, ...]


def interpret(function: Callable[..., Any], kind: str, types: Any, cotangents: Any, options: Any) -> Interpreted:
    """Interpret the function; a second time where it writes an argument that is not in C order."""
    written: frozenset[str] = frozenset()
    chosen = Chosen()
    disordered: frozenset[str] = frozenset()
    problem: SrcgradError | None = None
    fields = FieldsLearnt()
    while True:
        job = _Job(function, kind, types, cotangents, options, disordered, chosen)
        job.build.never_early, job.build.fields = written, fields.known()
        try:
            out = job.run()
        except WrittenAfterAll as found:
            written |= {found.name}
        except (OwnFunction, InPlace) as what:
            chosen.learn(what)
        except (OtherNumbers, Shared) as found:
            fields.learn(found)
        except SrcgradError as found:
            if fields.helps(job.build.fields, found) or chosen.lists_grow_apart():
                continue
            if problem is not None or not job.build.whole:
                raise problem or found from None
            problem, options = found, replace(options, cut=True)  # what does not fit may be a slice that is cut short
        else:
            found_now = frozenset(job.written_params() & job.not_contiguous)
            if job.build.equal_lengths and job.draws():
                options = replace(options, stretch=True)  # it can't be run again, once it has drawn
            elif kind != "primal" or found_now <= disordered:
                return out
            disordered |= found_now


class _Job:
    def __init__(
        self,
        function: Callable[..., Any],
        kind: str,
        types: Any,
        cotangents: Any,
        options: Any,
        disordered: frozenset[str],
        chosen: Chosen,
    ) -> None:
        self.function, self.kind, self.types, self.options = function, kind, types, options
        self.given = cotangents
        self.disordered = disordered  # arguments that stay as they are: written in place, in another order
        self.interpreter = Interpreter(Callees(chosen, options.boundscheck))
        self.build = self.interpreter.build
        self.build.arguments_are_shared = kind == "primal"  # the other kinds write to copies
        self.settled()
        self.own: list[Var | Array] = []
        self.called: dict[str, str] = {}  # what the user calls them: `range` would be taken for Python's
        self.not_contiguous: set[str] = set()
        parameters = signature_of(function).parameters
        self.parameters = list(parameters)
        self.more = next((name for name, p in parameters.items() if p.kind is p.VAR_KEYWORD), None)  # **kwargs

    def run(self) -> Interpreted:
        """Interpret the function; again where less was known of the functions that it calls than is known now."""
        while True:
            out, problem, callees = None, None, self.interpreter.callees
            try:
                out = self.once()
            except one_of.Splits as found:
                if callees.has_choices:
                    one_of.refuse(self.interpreter, found.value)
                callees.has_choices = True
                self.start_again()
                continue
            except class_defaults.FromTheBeginning as found:
                callees.class_defaults.setdefault(found.cls, {}).update(dict.fromkeys(found.names))
                self.start_again()
                continue
            except (NotYetKnown, SrcgradError) as error:
                problem = error
            if callees.settle(self.interpreter):
                refuse(callees)
                if out is None:
                    raise problem  # type: ignore[misc]
                self.build.equal_lengths |= any(i.equal_lengths for i in callees.reached())
                function = replace(out.function, callees=callees.functions())
                return replace(out, function=function, equal_lengths=self.build.equal_lengths)
            self.start_again()

    def start_again(self) -> None:
        old, never_early, fields = self.interpreter, self.build.never_early, self.build.fields
        old.callees.seen = {}
        old.callees.entered = {}
        self.interpreter = Interpreter(old.callees)
        self.interpreter.assumed, self.interpreter.exceptions = old.assumed, old.exceptions
        self.build = self.interpreter.build
        self.build.arguments_are_shared = self.kind == "primal"
        self.build.never_early = never_early
        self.build.fields = ItemFields(fields.are_views, fields.kinds, fields.shared, fields.are_kinds_kept)
        self.settled()
        self.own, self.called, self.not_contiguous = [], {}, set()

    def settled(self) -> None:
        """What a new builder has to know of the options."""
        self.build.stretch, self.build.cut = self.options.stretch, self.options.cut
        self.build.again, self.interpreter.varying = self.options.again, self.options.varying
        if self.options.target == "cuda":
            self.build.wraps = self.build.for_kernels = True
            self.build.names.taken |= RESERVED_ON_DEVICE

    def once(self) -> Interpreted:
        build = self.build
        build.makes_checks = True
        arguments = {n: self.argument(n, t) for n, t in zip(self.parameters, self.types, strict=True)}
        self.arguments = arguments
        value = self.interpreter.run(self.function, arguments)
        ended_at, build.span = build.span, None
        outputs = self.outputs(value, arguments)
        captured = [c for c, _ in self.interpreter.captured.values()]
        self.refuse_stale(outputs)
        written = self.written_params()
        params = [*self.own, *(c.param for c in captured)]
        entry = self.entry(params, written)
        extra: dict[str, Any] = {
            "own": tuple(self.own), "captured_params": tuple(c.param for c in captured),
            "output_structure": structure(outputs), "seed_checks": (), "seed_setup": (), "seed_params": (),
            "results": structure(outputs), "ended_at": ended_at,
            "arguments": tuple(self.leaf_types() + [self.type_of_param(c) for c in captured]),
        }  # fmt: skip
        info = Info(
            build.names, self.kind, extra=extra, boundscheck=self.options.boundscheck, again=self.options.again,
            rounding=self.rounding(), lengths_for_granted=self.lengths_for_granted(),
            indices_again=self.options.target == "cuda",
        )  # fmt: skip
        if self.kind != "primal":
            info = self.derivative(info, outputs, extra)
            params = [*params, *extra["seed_params"]]
        results = result_leaves(outputs)
        if self.kind == "primal" and self.returns_nothing:
            results, extra["results"] = (), None
        name = entry_name(self.function, self.kind)
        body = (*entry, *rows_at_entry.where_read(build, build.prologue, build.with_wanted_checks(), results))
        program = Function(name, tuple(params), body, results, info)
        return Interpreted(
            program, structure(outputs), self.given, like_the_output(outputs),
            tuple(Outside(c.name, c.place, self.type_of_param(c)) for c in captured),
            dict(self.interpreter.exceptions), frozenset(written | self.perhaps_written()),
            tuple(self.interpreter.assumed.values()),
            build.equal_lengths, tuple(build.taken_as_equal), build.taken_whole(), tuple(build.copied),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ parameters

    def argument(self, name: str, kind: ValueType) -> Any:
        match kind:
            case TupleType(items=items, kind=cls):
                keys = cls.keys if isinstance(cls, (DictKind, RecordKind)) else range(len(items))
                names = [f"{name}_{re.sub(r'[^0-9a-zA-Z_]', '_', str(key))}" for key in keys]
                return TupleValue(tuple(self.argument(n, t) for n, t in zip(names, items, strict=True)), cls)
            case StaticType(value=value):
                return constant(value)
        param = parameter(self.build, name, kind)
        self.own.append(param)
        self.called[param.name] = name
        if isinstance(param, Array):
            if isinstance(kind, ArrayType) and kind.layout != "C":
                self.not_contiguous.add(param.name)
                self.build.other_layouts.add(param.name)
            if param.name not in self.disordered:
                self.build.contiguous.add(param.name)
            return whole(param)
        return Scalar(param, isinstance(kind, ScalarType) and kind.weak)

    def leaf_types(self) -> list[ValueType]:
        return [leaf for t in self.types for leaf in type_leaves(t)]

    def type_of_param(self, captured: Any) -> ValueType:
        return type_of(captured.name, captured.place())

    def draws(self) -> bool:
        """Are random numbers drawn, here or in a function of its own?"""
        bodies = [self.build.block, *(f.body for f in self.interpreter.callees.functions())]
        return any(isinstance(s, Library) and s.draws for body in bodies for s in statements(tuple(body)))

    def handed_in(self) -> set[str]:
        return {p.name for p in self.own} | {c.param.name for c, _ in self.interpreter.captured.values()}

    def written_params(self) -> set[str]:
        params, out = self.handed_in(), set()
        for stmt in statements((*self.build.prologue, *self.build.block)):
            for item in targets(stmt):
                if isinstance(item, Array) and self.build.root(item) in params:
                    out.add(self.build.root(item))
        return out

    def perhaps_written(self) -> set[str]:
        """Arguments that `backward` does not write, and f may: that they share memory is an error all the same."""
        return set() if self.kind == "primal" else self.build.perhaps_written & self.handed_in()

    def entry(self, params: list[Any], written: set[str]) -> list[Stmt]:
        """`backward` never changes its arguments; what is not in C order is copied once."""
        out: list[Stmt] = []
        for param in params:
            if not isinstance(param, Array):
                continue
            if param.name in written:
                if self.kind != "primal":
                    out.append(OwnCopy(param, copy=True))
            elif param.name in self.not_contiguous or self.is_loose(param):
                out.append(OwnCopy(param, copy=False))
        return out

    def is_loose(self, param: Array) -> bool:
        for captured, _ in self.interpreter.captured.values():
            if captured.param == param:
                return getattr(self.type_of_param(captured), "layout", "C") != "C"
        return False

    # --------------------------------------------------------------------------------------------- outputs

    def outputs(self, value: Any, arguments: dict[str, Any]) -> Any:
        """What the function stands for: its return value, or the arrays that it writes."""
        if self.kind != "primal" and self.always_raises():
            return StaticOutput(None)
        if value is UNDEFINED:
            value = NONE
        self.returns_nothing = isinstance(value, Static) and value.value is None
        if self.returns_nothing:
            return self.written_outputs(arguments)
        if self.options.outputs:
            raise OptionError(
                "outputs= is for functions that return nothing: this one returns a value",
                span=self.interpreter.ended_at,
                help=(f"leave outputs= out, and return {self.written_too()}",),
            )
        return self.leaf_outputs(value, "out")

    def always_raises(self) -> bool:
        """Does no call with arguments of these types end?  Then the derivative raises what the function raises."""
        return any(map(always_raises, self.build.block))

    def written_too(self) -> str:
        """The arrays of outputs=, as what is to be returned beside the value."""
        return ", ".join(("the value", *(f"{name}.copy()" for name in self.options.outputs)))

    def written_outputs(self, arguments: dict[str, Any]) -> Any:
        written = self.written_params()
        arrays = [p for p in self.own if isinstance(p, Array) and is_inexact(p.dtype)]
        if self.options.outputs:
            chosen = [p for p in arrays if self.called[p.name] in self.options.outputs]
            missing = set(self.options.outputs) - {self.called[p.name] for p in chosen}
            if missing:
                raise OptionError(
                    f"outputs= names {', '.join(sorted(missing))}, which are no float arrays among the arguments"
                )
            chosen.sort(key=lambda p: self.options.outputs.index(self.called[p.name]))  # as `wrt` has its order
        else:
            chosen = [p for p in arrays if p.name in written]
        if not chosen:
            if self.kind == "primal":
                return None
            raise ArgumentError(
                f"{self.function.__name__} returns nothing and writes none of its float arrays, so it has no output",
                help=("return the result, or write it to an argument",),
            )
        return chosen[0] if len(chosen) == 1 else tuple(chosen)

    def leaf_outputs(self, value: Any, name: str) -> Any:
        build = self.build
        match value:
            case TupleValue() if optional.is_optional(value):
                source, span = read(getattr(self.function, "function", self.function)), build.span
                what = "None" if name == "out" else "a None within its result"
                build.span = source.span(source.node)  # which `return` it was only a run knows
                held = optional.unless_none(
                    build, value, f"{source.name} returns {what} on the path taken, which has no derivative"
                )
                build.span = span
                return self.leaf_outputs(held, name)
            case TupleValue(kind=DictKind(cls=cls)) if cls in SETS:
                raise UnsupportedError(f"a function that returns a {cls.__name__} is not supported")
            case TupleValue(kind=kind) if deques.is_one(kind):
                build.span = self.interpreter.ended_at
                build.refuse("a deque as a result is not supported", "return a list:  list(q)")
            case TupleValue(kind=kind) if lists_by_place.are_several(kind) or lists_by_place.is_one(kind):
                build.span = self.interpreter.ended_at
                build.refuse("lists that grew at run-time places are no result", "return what is in them:  list(ys[k])")
            case TupleValue(kind=kind) if iterators.is_one(kind):
                build.span = self.interpreter.ended_at
                build.refuse("an iterator as a result is not supported", "return a list:  list(it)")
            case TupleValue(items=items, kind=kind):
                if any(item is UNDEFINED for item in items):
                    raise UnsupportedError("a result may not be bound on every path")
                parts = tuple(self.leaf_outputs(item, f"{name}_{k}") for k, item in enumerate(items))
                return Group(parts, kind)
            case Items(length=length) if not isinstance(length, Const):
                return self.list_output(value, name)
            case Items():
                return self.leaf_outputs(new_list(unpacking.items_of(self.interpreter, value)), name)
            case ArrayValue():
                if value.element.dtype.kind not in "fciub":
                    raise UnsupportedError(f"a result of dtype {value.dtype} is not supported")
                return build.stored(value, name)
            case Scalar(expr=expr):
                if isinstance(expr, Const) or (isinstance(expr, Var) and not self.may_be_restored(expr)):
                    return ScalarOutput(expr, value.weak)
                return ScalarOutput(build.variable(name, expr), value.weak)
            case OneOf(number=number, options=options):
                texts = tuple(option.value for option in options if isinstance(option, Static))
                if len(texts) == len(options) and all(text is None or type(text) is str for text in texts):
                    return Group((self.leaf_outputs(number, name),), ChosenKind(texts))
                raise UnsupportedError(f"the result is {one_of.told(value)}: return numbers, arrays, or tuples of them")
            case Static(value=None):
                return StaticOutput(None)
            case Static(value=Template() as text):
                return self.text_output(text, name)
            case Static(value=str() as text):
                return StaticOutput(text)
            case Static(value=item):
                build.span = self.interpreter.ended_at
                build.refuse_unusable(value, "the result")
                build.refuse(f"a result {item!r} is not supported: return numbers, arrays, or tuples of them")
        raise UnsupportedError(f"a result of this kind ({type(value).__name__.lower()}) is not supported")

    def list_output(self, value: Items, name: str) -> Group:
        """A list of run-time length, by the array that holds its items."""
        kinds, inner = [value.kind], value.inner
        while isinstance(inner, Nested):
            kinds, inner = [*kinds, list], inner.inner
        if inner in (list, tuple):
            kinds, inner = [*kinds, inner], None
        self.build.span = self.interpreter.ended_at
        if inner is not None:
            self.build.refuse(
                "the result is a list whose length is only known at run time, of items that hold several things",
                "return an array of each:  np.array([x for x, P in ys])",
            )
        rows = lists_as_arrays.as_values(self.interpreter, value)
        return Group((self.leaf_outputs(rows, name),), ListKind(tuple(kinds), value.weak))

    def text_output(self, text: Template, name: str) -> Group:
        """A text, by the numbers in its fields; no derivative goes through them."""
        if not text.whole:
            self.build.span = self.interpreter.ended_at
            self.build.refuse("a text with arrays or objects in it is no result", "return them beside the text")
        self.build.span = self.interpreter.ended_at
        types_that_decide.check_text(self.build, text)
        values = [stopped(self.build, value) for value in text.values]
        parts = tuple(self.leaf_outputs(value, f"{name}_{k}") for k, value in enumerate(values))
        return Group(parts, TextKind(str(text)))

    def may_be_restored(self, var: Var) -> bool:
        """Does the reverse sweep, which comes before the results are handed over, set it to what it once was?

        That is for whoever reads it.  A number or a tuple has variables of its own as a result, a list has not.
        """
        body = statements(tuple(self.build.block))
        return self.kind != "primal" and any(var in variables(e) for stmt in body for e in expressions_of(stmt))

    def refuse_stale(self, outputs: Any) -> None:
        """Python would have written the array of the caller, or from outside, where we wrote a copy: seen too late."""
        outputs_by_name = {leaf.name for leaf in flat_outputs(outputs) if isinstance(leaf, Array)}
        for param in (*self.own, *(captured.param for captured, _ in self.interpreter.captured.values())):
            seen = self.kind == "primal" or param.name in outputs_by_name
            if seen and isinstance(param, Array) and param.name in self.build.stale:
                self.build.span = self.build.stale[param.name]
                self.build.refuse_stale(param.name)

    # ------------------------------------------------------------------------------------------ derivative

    def lengths_for_granted(self) -> bool:
        """May lengths that only a loop compares be taken to be equal, though it may not run (`Info`)?

        On a CPU that gains nothing: what more loops become one there, they lose in strips.
        """
        can_be_taken_back = self.build.equal_lengths and not (self.build.stretch or self.build.cut)
        return self.options.granted and self.options.target == "cuda" and can_be_taken_back

    def rounding(self) -> str:
        """How the compiler rounds what it is given (`Info`)."""
        return "free" if self.options.fastmath else "contracted" if self.options.target == "cuda" else "as written"

    def derivative(self, info: Info, outputs: Any, extra: dict[str, Any]) -> Info:
        if self.always_raises():
            return self.derivative_of_none(info, extra)
        wrt, shape = self.wanted()
        extra["cotangent_structure"] = shape
        if self.kind == "forward" or self.given is LIKE_THE_OUTPUT:
            self.given = like_the_output(outputs)
        if self.given is None and not any(map(is_float, flat_outputs(outputs))):
            raise ArgumentError(
                f"the output of {self.function.__name__} is {describe_output(outputs)}, which has no derivative",
                help=("return a float, an array of floats, or a tuple or dict with one in it",),
            )
        seeds: Seeds | None
        if self.given is not None:
            seeds = seeds_of(self.build, outputs, self.given)
        elif is_one_real_number(outputs):
            seeds = seed_of_one(self.build, outputs)
        else:
            raise MissingCotangent(self.function.__name__, outputs, tuple(self.called.values()))
        if seeds is not None:
            extra |= {"seed_params": seeds.params, "seed_checks": seeds.checks, "seed_setup": seeds.setup}
        return replace(info, wrt=tuple(wrt), seeds=None if seeds is None else seeds.values, extra=extra)

    def derivative_of_none(self, info: Info, extra: dict[str, Any]) -> Info:
        """Where nothing comes out: it is raised whatever v is, and whatever there is to differentiate by."""
        if self.kind == "forward" or self.given is LIKE_THE_OUTPUT:
            self.given = StaticType(None)
        taken = () if self.given is None else type_leaves(self.given)
        extra["seed_params"] = tuple(parameter(self.build, "v", kind) for kind in taken)
        extra["cotangent_structure"] = TupleType(())
        return replace(info, wrt=(), seeds=(), extra=extra)

    def wanted(self) -> tuple[list[str], Any]:
        """The parameters to differentiate by, and the structure of their cotangents."""
        wrt = self.options.wrt
        if wrt is None:
            given = getattr(self.function, "anew", ())  # by a partial, and by calls
            names, bare = [name for name in self.parameters if name not in given or name == self.more], None
        else:
            bare = not isinstance(wrt, (tuple, list))
            names = [self.parameters[w] if isinstance(w, int) else w for w in ([wrt] if bare else wrt)]
        by_name = dict(zip(self.parameters, self.types, strict=True))
        chosen, parts = [], []
        for name in names:
            own = self.of_the_call if name == self.more else lambda whole: whole
            kinds = float_structure(own(by_name[name]))
            if kinds is None:
                if wrt is not None:
                    are_numbers = has_whole_numbers(by_name[name])
                    what = "and integers have" if are_numbers else "which has"
                    raise ArgumentError(
                        f"{name} is {describe_type(by_name[name])}, {what} no derivative",
                        help=(as_floats(name, by_name[name]),) if are_numbers else (),
                    )
                continue
            parts.append(kinds)
            chosen += [v.name for v in float_leaves(own(self.arguments[name]))]
        if not parts:
            raise ArgumentError(
                f"{self.function.__name__} has no argument to differentiate by: none is a float or an array of floats",
                help=tuple(as_floats(name, kind) for name, kind in by_name.items() if has_whole_numbers(kind))[:1],
            )
        single = bare if bare is not None else len(parts) == 1
        return chosen, parts[0] if single else TupleType(tuple(parts))

    def of_the_call(self, whole: Any) -> Any:
        """A dict for **kwargs, its type or its value, without what the call gives there in the place of a partial."""
        if not isinstance(whole.kind, DictKind):
            return whole
        given = getattr(self.function, "by_name", ())
        items = {k: v for k, v in zip(whole.kind.keys, whole.items, strict=True) if k not in given}
        return replace(whole, items=tuple(items.values()), kind=replace(whole.kind, keys=tuple(items)))


def entry_name(function: Callable[..., Any], kind: str) -> str:
    """The name of what is generated for a function."""
    name = getattr(function, "__name__", "f")
    name = name if name.isidentifier() and not keyword.iskeyword(name) else "function"
    name = name if kind == "primal" else f"{name}_{kind}"
    return f"{name}_" if name in RESERVED | RESERVED_ON_DEVICE else name  # `def solve(a, b)` calls ours
