"""A call of a function of its own: the statement, and the value that it stands for.

y = f(x, n - 1)      →      f_out = f(x, n - 1, depth + 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import SrcgradError
from ...ir import affine
from ...ir.expressions import INT64, Array, Var
from ...ir.names import RESERVED
from ...ir.nodes import Invoke
from ..array_values import whole
from ..packing import Pack, starter
from ..values import Closure, Scalar, Static, TupleValue
from .instances import interpret_instance
from .recursion import ALIKE, Callees, InPlace, Instance, NotYetKnown, Summary, key_of

if TYPE_CHECKING:
    from ..interpret import Interpreter
    from ..syntax.source import Source


def invoke(
    interpreter: Interpreter, source: Source, function: Any, bound: dict[str, Any], closure: Closure | None = None
) -> Any:
    """A call of a function of its own: the statement, and the value that it stands for."""
    key = key_of(source)
    if key not in interpreter.callees.chosen.large:
        return _invoke(interpreter, source, function, bound, closure)
    try:
        return _invoke(interpreter, source, function, bound, closure)
    except SrcgradError:
        raise InPlace(key) from None


def _invoke(
    interpreter: Interpreter, source: Source, function: Any, bound: dict[str, Any], closure: Closure | None
) -> Any:
    callees, build = interpreter.callees, interpreter.build
    which = key_of(source)
    pack = Pack(interpreter, which in callees.chosen.large)
    shape = ("call", tuple((name, pack.pack(name, value)) for name, value in bound.items()))
    around = pack.closure(closure) if closure is not None else None
    key = (which, shape, around, pack.in_order())
    instance = callees.instances.get(key)
    if instance is None:
        if which in callees.chosen.large and sum(i.key == which for i in callees.instances.values()) >= ALIKE:
            raise InPlace(which)
        instance = Instance(
            which, _unique(source.name, callees), source.name, None, starter(source, function, shape, around, pack),
            pack.names, pack.kinds,
        )  # fmt: skip
        callees.instances[key] = instance
    if interpreter.instance is not None and instance.span is None:
        instance.span = build.span
    if instance.function is None and not instance.is_running:
        interpret_instance(interpreter, instance)
    if instance.problem is not None and which in callees.chosen.large:
        raise InPlace(which)
    _seen_by(interpreter)[instance] = instance.summary
    if instance.summary is None:
        raise NotYetKnown
    return _call(interpreter, instance, instance.summary, pack.leaves)


def _unique(name: str, callees: Callees) -> str:
    name = _identifier(name)
    taken = {instance.name for instance in callees.instances.values()}
    return next(n for n in (name, *(f"{name}_{k}" for k in range(1, 10_000))) if n not in taken | RESERVED)


def _identifier(title: str) -> str:
    """What names are made of: a lambda's title is none."""
    return title if title.isidentifier() else "function"


def _seen_by(interpreter: Interpreter) -> dict[Instance, Summary | None]:
    return interpreter.callees.seen if interpreter.instance is None else interpreter.instance.seen


def _call(interpreter: Interpreter, instance: Instance, summary: Summary, leaves: list[Any]) -> Any:
    build = interpreter.build
    args = list(leaves)
    for name, place in summary.captured:
        if place.key not in interpreter.captured:
            interpreter.hand_in(name, place)
        param = interpreter.captured[place.key][0].param
        args.append(param)
    writes = _written_arguments(interpreter, instance, summary, args)
    for array in [a for a in args if isinstance(a, Array)]:
        build.check_fresh(whole(array).element)
    for array in writes:
        build.note_write(array)
    args.append(affine.add(interpreter.depth, affine.ONE))
    outs: list[Var | Array] = []
    value = _results(interpreter, summary.result, instance.title, outs, args)
    lengths = [dim for out in outs if isinstance(out, Array) for dim in out.dims]
    build.emit(Invoke(instance.name, (*outs, *lengths), tuple(args), tuple(writes)))  # type: ignore[arg-type]
    for leaf, position in summary.twins:
        build.twin(outs[leaf], args[position])  # type: ignore[arg-type]
    return value


def _written_arguments(interpreter: Interpreter, instance: Instance, summary: Summary, args: list[Any]) -> list[Array]:
    """What the call changes; it must be known to the function by one argument only."""
    build = interpreter.build
    written_to = [args[k] for k in sorted(summary.writes)]
    memory = [build.root(a) for a in args if isinstance(a, Array)]
    for array in written_to:
        same = {build.root(array), *build.all_twins(build.root(array))}
        if sum(root in same for root in memory) > 1:
            build.refuse(
                f"{instance.title} writes to {array.name}, and is handed the same memory a second time",
                "hand in the array once, with the bounds of the parts",
                because="a function that calls itself has to know its arguments apart",
            )
    return written_to


def _results(interpreter: Interpreter, result: Any, title: str, outs: list[Var | Array], args: list[Any]) -> Any:
    """Fresh variables and arrays for the results of a call."""
    build = interpreter.build
    match result:
        case ("scalar", dtype, weak, types):
            var = Var(build.names.fresh(f"{_identifier(title)}_out"), dtype)
            outs.append(var)
            return Scalar(var, weak, types)
        case ("array", dtype, ndim):
            name = build.names.fresh(f"{_identifier(title)}_out")
            dims = tuple(Var(build.names.fresh(f"{name}_n{k}"), INT64) for k in range(ndim))
            build.pinned |= set(dims)
            build.lower |= dict.fromkeys(dims, 0)
            array = Array(name, dtype, dims)
            build.contiguous.add(name)
            build.roots[name] = name
            outs.append(array)
            return whole(array)
        case ("argument", position):
            return whole(args[position])
        case ("tuple", kind, parts):
            return TupleValue(tuple(_results(interpreter, p, title, outs, args) for p in parts), kind)
        case ("static", value):
            return Static(value)
    raise AssertionError(result)
