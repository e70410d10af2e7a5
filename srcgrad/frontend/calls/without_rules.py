"""Functions that nothing of ours stands for: evaluated now, handed in, emitted as a call of NumPy's, or refused.

np.finfo(x.dtype).eps        →   a number of the program
np.polynomial.…(n)           →   an array that is handed in at every call
np.union1d(i, j)             →   External: the library's own function, which no derivative may go through
"""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ...errors import ArgumentError, UnsupportedError
from ...ir.expressions import Array, Dim, Var
from ...ir.nodes import External
from ...runtime.interpreted import is_known, let_compiled_code_call, tried
from .. import known_values
from ..arguments import SUPPORTED
from ..array_values import ArrayValue, whole
from ..lists import lists_as_arrays
from ..numpy.table import name_of, nearest
from ..outside import Fixed
from ..types_that_decide import note_results
from ..values import Scalar, Static, TupleValue, constant

if TYPE_CHECKING:
    from ..interpret import Interpreter

LIBRARIES = {"np": np, "scipy": scipy}
PLAIN_CLASSES = (np.finfo, np.iinfo, np.dtype)  # evaluated when the function is compiled
RANDOM = ("rng", "random_state", "seed")  # arguments of functions that draw random numbers
OF_THE_SYSTEM = ("os", "posix", "nt", "shutil", "subprocess", "time", "io", "_io")  # modules with effects outside


NEWTON = "take Newton's steps:  u = u - np.linalg.solve(jacobian(u), f(u)); for one number there are newton and brentq"
FOUND_OUTSIDE = "find it outside and hand it in, or write the steps towards it as a loop"
BANDS = (
    "write the bands of the matrix:  scipy.linalg.solve_banded((1, 1), bands, b);  or a dense one, and np.linalg.solve"
)
IN_ITS_PLACE = {
    "np.matrix": "an array; the product of two is  a @ b",
    "np.lib.stride_tricks.as_strided": "np.lib.stride_tricks.sliding_window_view(x, n)[::step]",
    "np.random.mtrand.RandomState": "np.random.default_rng(seed), or a RandomState that is made outside",
    "np.nditer": "for i in range(x.size): ... x.flat[i], or np.ndindex",
    **dict.fromkeys([f"scipy.sparse.{name}" for name in ("diags", "diags_array", "spdiags")], BANDS),
    **dict.fromkeys(
        [f"scipy.sparse.{kind}_{name}" for kind in ("csr", "csc", "coo", "dia", "lil") for name in ("matrix", "array")],
        "make it outside, and hand it in; where its numbers are differentiated, a dense array, or the bands of one",
    ),
    **dict.fromkeys(["scipy.sparse.spsolve", "scipy.sparse.splu", "scipy.sparse.factorized"], BANDS),
    "scipy.integrate.odeint": "scipy.integrate.solve_ivp(lambda t, y: f(y, t), (t[0], t[-1]), y0, t_eval=t).y.T",
    "scipy.optimize.fsolve": NEWTON,
    "scipy.optimize.root": NEWTON,
    **dict.fromkeys(
        [f"scipy.optimize.{name}" for name in ("curve_fit", "least_squares", "linprog", "minimize", "minimize_scalar")],
        FOUND_OUTSIDE,
    ),
}


ROTATED = "write the matrix:  k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), of a unit vector, is turned to \
np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k"


NAME_WHAT_IT_IS_GIVEN = "name the argument that decides what it is given, and it is computed once:  @grad(static=...)"

RULE_HELP = "write it with NumPy expressions, loops and branches; or give it its derivative:  @srcgrad.rule  \
(in the guide: A derivative of your own)"


def unknown(interpreter: Interpreter, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Not ours: evaluated now where everything is known, else refused with the nearest name that we have."""
    refuse_masked(interpreter, target)
    given = (*args, *kwargs.values())
    values = [known_values.plain(v) for v in given]
    if all(map(known_values.is_known, given)) and callable(target):
        if any(hasattr(value, "__next__") for value in values) or does_otherwise(target):
            interpreter.build.refuse(
                f"{name_of(target)} does something else each time", "call it outside, and hand it in"
            )
        is_text = isinstance(getattr(target, "__self__", None), str)
        if is_text or (args and (not isinstance(target, type) or target in PLAIN_CLASSES)):
            try:
                named = dict(zip(kwargs, values[len(args) :], strict=False))
                made = interpreter.said(name_of(target), lambda: target(*values[: len(args)], **named), values)
            except Exception as problem:
                if interpreter.frame.is_composition:
                    interpreter.build.refuse(str(problem), error=ArgumentError)
                return interpreter.build.refuse(f"{name_of(target)} failed: {problem}")
            return handed_in(interpreter, name_of(target), (name_of(target), repr((values, list(kwargs)))), made)
    name = name_of(target)
    if interpreter.build.is_top_level and is_of_a_library(target, name):
        in_places = in_their_places(target, name, args, kwargs)
        result = None if in_places is None else external(interpreter, target, name, in_places)
        if result is not None:
            return result
    near = nearest(name)
    help = [IN_ITS_PLACE[name]] if name in IN_ITS_PLACE else []
    help += [ROTATED] if name.startswith("scipy.spatial.transform.Rotation") else []
    open_ones = [value for value in given if not known_values.is_known(value)]
    if open_ones and all(isinstance(value, Scalar) and value.dtype.kind in "iub" for value in open_ones):
        help += [NAME_WHAT_IT_IS_GIVEN]
    if not help:
        help += [f"the nearest supported function is {near}"] if near else []
        help += [RULE_HELP] if callable(target) and not isinstance(target, type) else []
    return interpreter.build.refuse(
        f"{name} is not supported: srcgrad has no rule for it", *help, error=UnsupportedError
    )


def does_otherwise(target: Any) -> bool:
    """Does a call of this do something else each time?"""
    if getattr(target, "__module__", None) in OF_THE_SYSTEM or getattr(target, "__name__", None) == "rvs":
        return True
    try:
        return not isinstance(target, type) and any(name in inspect.signature(target).parameters for name in RANDOM)
    except (TypeError, ValueError):  # it has no signature to look at
        return False


def refuse_masked(interpreter: Interpreter, target: Any) -> None:
    _, _, name = name_of(target).partition("np.ma.")
    if name:
        interpreter.build.refuse(
            f"np.ma.{name.rpartition('.')[2]} is not supported: srcgrad has no masked arrays",
            "choose by a condition instead:  np.where(x < 0, 0.0, x).sum()",
        )


def handed_in(interpreter: Interpreter, name: str, key: Any, made: Any) -> Any:
    """What was computed ahead of time: numbers stand in the program, arrays of NumPy's are handed in at every call."""
    if isinstance(made, tuple):
        return TupleValue(tuple(handed_in(interpreter, name, (key, k), item) for k, item in enumerate(made)))
    if isinstance(made, np.ndarray) and type(made) is not np.ndarray:
        interpreter.build.refuse(f"{name} makes a {type(made).__name__}, not a plain array", "np.asarray, or np.array")
    if isinstance(made, np.ndarray) and made.dtype in SUPPORTED and name.startswith(("np.", "scipy.")):
        if key not in interpreter.captured:
            interpreter.hand_in("made", Fixed(key, made))
        return whole(interpreter.build.materialize(interpreter.captured[key][1], copy=True))
    return constant(made)


def is_of_a_library(target: Any, name: str) -> bool:
    """Is it what generated text finds under the name?"""
    library, _, path = name.partition(".")
    try:
        return library in LIBRARIES and operator.attrgetter(path)(LIBRARIES[library]) is target
    except AttributeError:
        return False


def in_their_places(target: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any] | None:
    """The arguments, those that are named where they stand among the others; None where that can't be told."""
    if not kwargs:
        return args
    if is_known(name):  # Numba does not know all the arguments of what it knows
        return None
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return None
    places = [key for key, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    if not kwargs.keys() <= set(places[len(args) :]):
        return None
    last = max(map(places.index, kwargs))
    return [*args, *(kwargs.get(key, constant(parameters[key].default)) for key in places[len(args) : last + 1])]


def external(interpreter: Interpreter, target: Any, name: str, args: list[Any]) -> Any:
    """A function without a rule runs as it is, as long as no derivative goes through it (see `find_active`)."""
    build = interpreter.build
    samples: list[Any] = []
    operands: list[Any] = []
    memory: list[Array | None] = []  # of the argument, where the operand is a copy of it
    for arg in args:
        if (
            isinstance(arg, TupleValue)
            and arg.kind in (list, tuple)
            and all(isinstance(item, Scalar) for item in arg.items)
        ):
            arg = lists_as_arrays.as_array(interpreter, arg)
        match arg:
            case ArrayValue():
                samples.append(np.ones((2,) * arg.ndim, arg.dtype))
                operands.append(build.in_order(arg))
                memory.append(arg.element.array if arg.is_window else operands[-1])  # type: ignore[attr-defined]
            case Scalar():
                samples.append(arg.dtype.type(1))
                operands.append(arg.expr)
                memory.append(None)
            case Static(value=None | str() as plain):
                samples.append(plain)
                operands.append(plain)
                memory.append(None)
            case _:
                return None
    try:
        sample = tried(target, samples)
    except Exception:
        return None
    if any(isinstance(given, np.ndarray) and not (given == 1).all() for given in samples):
        return None  # it writes its arguments
    is_plain = type(sample) is np.ndarray or isinstance(sample, np.generic)  # and no matrix, masked array, records
    if is_plain and _depends_on_values(target, samples, sample):
        build.refuse(
            f"of which type the result of {name} is depends on the values", "compute it outside, and hand it in"
        )
    if not is_plain or sample.dtype not in SUPPORTED:
        return None
    interpreted = let_compiled_code_call(name, target)
    fresh = build.names.fresh("t")
    if isinstance(sample, np.generic):
        var = Var(fresh, sample.dtype)
        build.emit(External(name, var, tuple(operands), interpreted))
        return Scalar(var)
    out = Array(fresh, sample.dtype, tuple(Dim(fresh, axis) for axis in range(sample.ndim)))
    build.roots[fresh] = fresh
    build.emit(External(name, out, tuple(operands), interpreted))
    for array, given in zip(memory, samples, strict=True):
        if array is not None and np.may_share_memory(sample, given):
            build.twin(out, array)
    return note_results(build, name.rpartition(".")[2], "", args, whole(out))


def _depends_on_values(target: Any, samples: list[Any], sample: Any) -> bool:
    """Has the result another dtype, or other axes, where the arguments are not ones?  Roots may be complex."""
    random = np.random.default_rng(1)

    def other(given: Any) -> Any:
        if not isinstance(given, (np.ndarray, np.generic)):
            return given
        made = np.asarray(3.0 * random.standard_normal((4,) * given.ndim)).astype(given.dtype)
        return made if given.ndim else made[()]

    try:
        found = tried(target, map(other, samples))
    except Exception:
        return False
    return (np.result_type(found), np.ndim(found)) != (np.result_type(sample), np.ndim(sample))
