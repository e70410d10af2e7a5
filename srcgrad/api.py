"""`grad`, and the object that it makes of a function.

@grad
def f(x, w):
    return (x * x * w).sum()

f(x, w)              the primal, compiled
f.backward(x, w)     (x_b, w_b), compiled from source that was generated for these types: f.source(x, w)
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter
from types import MethodType
from typing import Any, overload

from srcgrad.again import Adjoints
from srcgrad.arguments import are_told_by_types
from srcgrad.backends import cpu, cuda
from srcgrad.binding import (
    Given,
    Plan,
    Wrt,
    checked_outputs,
    checked_static,
    checked_wrt,
    python_function,
)
from srcgrad.constants import Constants
from srcgrad.dispatch import LENGTHS_DIFFER, Call, Lanes, Program, Stage, pattern_of
from srcgrad.errors import CompiledError, GivenOtherwise, OptionError, SrcgradError
from srcgrad.frontend.seeds import NEEDS_V
from srcgrad.frontend.syntax.source import signature_of
from srcgrad.options import Options
from srcgrad.pickled import reduced
from srcgrad.pullback import Pullback
from srcgrad.stages import Stages


@overload
def grad(f: Callable[..., Any], /) -> GradFunction: ...


@overload
def grad(
    f: Callable[..., Any] | None = None,
    /,
    *,
    wrt: Wrt = None,
    target: str = "cpu",
    parallel: bool = False,
    fastmath: bool = False,
    boundscheck: bool = True,
    cache: bool = True,
    jit: bool = True,
    static: Sequence[str] = (),
    outputs: str | Sequence[str] | None = None,
) -> Any: ...


def grad(
    f: Callable[..., Any] | None = None,
    /,
    *,
    wrt: Wrt = None,
    target: str = "cpu",
    parallel: bool = False,
    fastmath: bool = False,
    boundscheck: bool = True,
    cache: bool = True,
    jit: bool = True,
    static: Sequence[str] = (),
    outputs: str | Sequence[str] | None = None,
) -> Any:
    """Give a numeric Python function its vector-Jacobian product.

    Works as `@grad`, as `@grad(wrt="x")`, and as `grad(f)`.  Nothing is parsed or compiled until the first call, then
    once per types of arguments.

    Parameters
    ----------
    f : callable
        A Python function of numbers and NumPy arrays, of tuples, dicts and objects of them, and of lists of arrays.
    wrt : str, int, or a sequence of them, optional
        The arguments to differentiate, by name or position: one gives its cotangent bare, a sequence a tuple.  By
        default every argument of a floating dtype.
    target : {"cpu", "cuda"}
        What to compile for: "cuda" runs loops that are independent, and array arithmetic, on an NVIDIA GPU.
    parallel : bool
        Run independent loops, and array arithmetic, on several threads where they are long enough: as many as
        `numba.get_num_threads()`.  Sums are then taken in another order, which is always the same for as many threads.
    fastmath : bool
        Let the compiler reorder floating-point arithmetic and assume that there is no nan and no inf: `np.isnan`,
        `np.isfinite` and `np.nansum` need not see them.
    boundscheck : bool
        An index out of range is an IndexError.  Without, it is a wild read.
    cache : bool
        Keep machine code on disk for the next process.
    jit : bool
        Compile.  Without, the generated source runs as plain Python: slow, and a debugger steps through it.
    static : sequence of str
        Arguments that are constants to f: numbers, strings, tuples.  What is generated is for their values, so they may
        be axes, lengths of tuples, and what decides a branch.
    outputs : str or sequence of str, optional
        For a function that returns nothing: which of the arguments that it writes are its outputs.  Several are a tuple
        in the order of these names, and so are the parts of v.

    Returns
    -------
    GradFunction
        Call it for the primal; see its `backward`, `value_and_backward`, `vjp` and `source`.

    Examples
    --------
    >>> import numpy as np
    >>> @grad
    ... def f(x):
    ...     return (x * x).sum()
    >>> f.backward(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    if target not in TARGETS:
        raise OptionError(f"target={target!r}: there are {' and '.join(map(repr, TARGETS))}")

    def decorate(function: Callable[..., Any]) -> GradFunction:
        return _Slotted(
            function,
            wrt=wrt,
            target=target,
            parallel=parallel,
            fastmath=fastmath,
            boundscheck=boundscheck,
            cache=cache,
            jit=jit,
            static=static,
            outputs=outputs,
        )

    return decorate if f is None else decorate(f)


TARGETS = ("cpu", "cuda")
POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
METHODS_HELD = 64  # objects for which a method that is decorated keeps what was generated


class GradFunction:
    """A function with its derivative: what `grad` returns.

    Attributes
    ----------
    py_func : callable
        The function as it was written.
    wrt, outputs
        As they were given to `grad`.

    Examples
    --------
    >>> @grad
    ... def cube(x):
    ...     return x**3
    >>> cube(2.0), cube.backward(2.0), cube.py_func(2)
    (8.0, 12.0, 8)
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")  # how each is called: C finds it without Python's help
    __call__: Call

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        wrt: Wrt = None,
        target: str = "cpu",
        parallel: bool = False,
        fastmath: bool = False,
        boundscheck: bool = True,
        cache: bool = True,
        jit: bool = True,
        static: str | Sequence[str] = (),
        outputs: str | Sequence[str] | None = None,
    ) -> None:
        self.py_func = python_function(function)
        self.wrt, self.outputs = wrt, outputs
        self._function = function
        self._options: dict[str, Any] = {
            "wrt": wrt, "target": target, "parallel": parallel, "fastmath": fastmath, "boundscheck": boundscheck,
            "cache": cache, "jit": jit, "static": static, "outputs": outputs,
        }  # fmt: skip
        functools.update_wrapper(self, self.py_func)
        self._parameters = dict(signature_of(self.py_func).parameters)
        names = tuple(self._parameters)
        chosen = checked_wrt(wrt, names, self.__name__), fastmath, boundscheck
        options = Options(*chosen, checked_outputs(outputs, names, self.__name__), parallel=parallel, target=target)
        self._constants = Constants(checked_static(static, names, self.__name__), self._parameters)
        self._bound: dict[int, GradFunction] = {}  # as a method of objects, by their ids
        self._anew: dict[frozenset[str], GradFunction] = {}  # by the names of what calls give in the place of a partial
        optional = frozenset(name for name, parameter in self._parameters.items() if parameter.default is None)
        self._program = Program(self.py_func, options, names, optional, jit, cache)
        self._stages = Stages(self.__name__, self._program, self._parameters, self._constants)
        self._adjoints = Adjoints(self._program, self._constants, self._stages.with_v)
        self._only_v = set(self._stages.with_v.parameters) - set(names)
        kinds = [parameter.kind for parameter in self._stages.plain.parameters.values()]
        self._count = -1 if Parameter.VAR_POSITIONAL in kinds else sum(kind in POSITIONAL for kind in kinds)
        self._primal = self._lanes("__call__", GradFunction._call_primal)
        self._backward = self._lanes("backward", GradFunction.backward)
        self._both = self._lanes("value_and_backward", GradFunction.value_and_backward)

    __name__: str

    def __get__(self, owner: Any, cls: type | None = None) -> GradFunction:
        """As a method: what `self` holds is read at every call, and not differentiated."""
        if owner is None:
            return self
        bound = self._bound.get(id(owner))
        if bound is None:
            if len(self._bound) >= METHODS_HELD:
                self._bound.pop(next(iter(self._bound)), None)
            bound = self._bound[id(owner)] = _Slotted(MethodType(self.py_func, owner), **self._options)
        return bound

    def _call_primal(self, *args: Any, **kwargs: Any) -> Any:
        """The primal: what plain Python would return, to rounding."""
        failed = None
        try:
            if not kwargs:
                call = self._primal.get(tuple(map(type, args)))
                if call is not None:
                    try:
                        return call(*args)
                    except LENGTHS_DIFFER as error:
                        failed = error  # the way around finds another form, or fails again
            return self._call("primal", args, kwargs, self._primal, failed)
        except GivenOtherwise:
            return self._for_call(kwargs)._call_primal(*args, **kwargs)
        except SrcgradError as error:
            if self._constants.may_settle(error):
                return self._with_more_known("primal", args, kwargs)
            raise self._without_our_frames(error) from None

    def backward(self, *args: Any, **kwargs: Any) -> Any:
        """The vector-Jacobian product: v^T J at the arguments.

        Parameters
        ----------
        *args, **kwargs
            The arguments of f, as f takes them.
        v
            The cotangent: one more argument, behind f's positional ones or by keyword (called `cotangent` where f has a
            `v` of its own).  It mirrors f's output: same structure, same shapes.  May be left out where the output is
            one real number, or an array of one without axes; then it is 1.

        Returns
        -------
        array, scalar or tuple
            For each argument differentiated, its cotangent: of its shape and dtype.  The arguments are not changed.

        Examples
        --------
        >>> import numpy as np
        >>> f = grad(lambda x: x**2)
        >>> f.backward(np.array([1.0, 2.0, 3.0]), np.ones(3))
        array([2., 4., 6.])
        """
        try:
            if not kwargs:
                call = self._backward.get(tuple(map(type, args)))
                if call is not None:
                    try:
                        return call(*args)
                    except LENGTHS_DIFFER:
                        pass  # the way around finds another form, or fails again
            return self._call("backward", args, kwargs, self._backward)
        except GivenOtherwise:
            return self._for_call(kwargs).backward(*args, **kwargs)
        except SrcgradError as error:
            if self._constants.may_settle(error):
                return self._with_more_known("backward", args, kwargs)
            raise self._without_our_frames(error) from None

    def value_and_backward(self, *args: Any, **kwargs: Any) -> Any:
        """The primal and the vector-Jacobian product from one pass; takes what `backward` takes.

        Returns
        -------
        tuple
            `(y, cotangents)`.

        Examples
        --------
        >>> grad(lambda x: x**2).value_and_backward(3.0)
        (9.0, 6.0)
        """
        try:
            if not kwargs:
                call = self._both.get(tuple(map(type, args)))
                if call is not None:
                    try:
                        return call(*args)
                    except LENGTHS_DIFFER:
                        pass  # the way around finds another form, or fails again
            return self._call("value_and_backward", args, kwargs, self._both)
        except GivenOtherwise:
            return self._for_call(kwargs).value_and_backward(*args, **kwargs)
        except SrcgradError as error:
            if self._constants.may_settle(error):
                return self._with_more_known("value_and_backward", args, kwargs)
            raise self._without_our_frames(error) from None

    def vjp(self, *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
        """Run forward once; the pullback may then be called as often as wanted.

        Returns
        -------
        tuple
            `(y, pullback)`; `pullback(v)` is what `backward(*args, v)` would return.  Changing the arguments in between
            changes nothing.

        Examples
        --------
        >>> import numpy as np
        >>> y, pullback = grad(lambda x: np.stack((-x**3, 5 * x))).vjp(1.0)
        >>> pullback(np.array([1.0, 0.0])), pullback(np.array([0.0, 1.0]))
        (-3.0, 5.0)
        """
        try:
            plan = self._stages.plan("forward", args, kwargs)
            values = plan.arrange(args, kwargs)
            stage, leaves = self._stages.ready("forward", plan, values)
            try:
                y, residuals = stage.call(*leaves)
            except SrcgradError as error:
                if not self._constants.may_settle(error):
                    raise
                stage, leaves = self._stages.settled("forward", plan, values)
                y, residuals = stage.call(*leaves)
        except GivenOtherwise:
            return self._for_call(kwargs).vjp(*args, **kwargs)
        except SrcgradError as error:
            raise self._without_our_frames(error) from None
        shapes = [getattr(leaf, "shape", ()) for leaf in leaves]
        return y, Pullback(self._program, self._stages.forward(stage, leaves, residuals), residuals, shapes)

    def source(self, *args: Any, after: str | None = None, kind: str = "backward", **kwargs: Any) -> str:
        """The generated module, as text, for arguments of these types.

        Parameters
        ----------
        *args, **kwargs
            As for `backward`.  Without v, a v like the output is assumed.
        after : str, optional
            The name of a pass: the program as it is after that one, instead of the end.
        kind : {"backward", "primal", "value_and_backward", "forward", "pullback"}
            Which of the generated functions.

        Examples
        --------
        >>> text = grad(lambda x: x**2).source(3.0)
        >>> "def " in text and "x_b" in text
        True
        """
        try:
            return self._stages.source(kind, args, kwargs, after)
        except GivenOtherwise:
            return self._for_call(kwargs).source(*args, after=after, kind=kind, **kwargs)
        except SrcgradError as error:
            raise self._without_our_frames(error) from None

    def ptx(self, *args: Any, cc: tuple[int, int] = (9, 0), kind: str = "backward", **kwargs: Any) -> dict[str, str]:
        """The kernels of a `target="cuda"` function, compiled for arguments of these types: no GPU is needed.

        Parameters
        ----------
        *args, **kwargs
            As for `backward`, or types of Numba's in their place: `float64[:, ::1]`.  Without v, a v like the output is
            assumed.
        cc : tuple of int
            The compute capability to compile for.
        kind : {"backward", "primal", "value_and_backward", "forward"}
            Which of the generated functions.

        Returns
        -------
        dict
            The PTX of each kernel, by its name in `source(...)`.
        """
        try:
            if self._program.options.target != "cuda":
                raise OptionError('f.ptx(...) is for functions with target="cuda"')
            args = tuple(map(cuda.example, args))
            kwargs = {name: cuda.example(value) for name, value in kwargs.items()}
            return self._stages.ptx(kind, args, kwargs, cc)
        except GivenOtherwise:
            return self._for_call(kwargs).ptx(*args, cc=cc, kind=kind, **kwargs)
        except SrcgradError as error:
            raise self._without_our_frames(error) from None

    def __repr__(self) -> str:
        return f"<grad of {self.__qualname__}>"

    @property
    def _numba_type_(self) -> Any:
        """What other @njit functions know it by."""
        from srcgrad.backends.njit import GradType

        return GradType(self)

    def __reduce__(self) -> Any:
        """By name, as functions are; else by the plain function (with its code if it has no name) and the options."""
        return reduced(self, self._function, self._options)

    def __copy__(self) -> GradFunction:
        """Itself, as of a function: what that reads from outside stays where it is, to be seen when it changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> GradFunction:
        """Another one only of a method, whose object is copied, or of such an object itself."""
        function = copy.deepcopy(self._function, memo)
        return self if function is self._function else type(self)(function, **self._options)

    __qualname__: str
    __module__: str

    # ----------------------------------------------------------------------------------------------------------

    def _without_our_frames(self, error: SrcgradError) -> SrcgradError:
        if self._program.jit or not isinstance(error, CompiledError):
            return error.with_traceback(None)
        return error  # raised by generated code that runs as plain Python: its frames are what is looked for

    def _for_call(self, keywords: Iterable[str]) -> GradFunction:
        """Itself, begun anew where a partial is another by now; or what serves calls with keywords that one gives."""
        if not isinstance(self.py_func, Given):
            return self
        with cpu.LOCK:
            if self.py_func.is_outdated:
                GradFunction.__init__(self, self._function, **self._options)
            taken = self.py_func.taken(keywords)
            if not taken:
                return self
            if taken not in self._anew:
                options = self._options | {"wrt": self._program.options.wrt}  # by name: the positions are others
                self._anew[taken] = type(self)(python_function(self._function, taken), **options)
            return self._anew[taken]

    def _call(
        self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], lanes: Lanes, failed: Exception | None = None
    ) -> Any:
        """A call with keywords, tuples or defaults, or whose types are new; or one that failed on a shorter way."""
        if kwargs.keys() == self._only_v and len(args) == self._count and lanes is not self._primal:
            args, kwargs = (*args, *kwargs.values()), {}  # f.backward(x, v=v) is as common as f.backward(x, v)
            call = lanes.get(tuple(map(type, args)))
            if call is not None:
                try:
                    return call(*args)
                except LENGTHS_DIFFER:
                    pass
        plan = self._stages.plan(kind, args, kwargs)
        if plan.took_last is not None and not plan.may_end_in_v and lanes is not self._primal:
            return self._call_without_v(kind, plan, args, kwargs, lanes)
        stage, leaves = self._stages.ready(kind, plan, plan.arrange(args, kwargs))
        if failed is not None and stage.once:
            raise failed
        if plan.is_plain and not kwargs:
            self._remember(stage, plan, args, lanes)
        return stage.call(*leaves)

    def _call_without_v(
        self, kind: str, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any], lanes: Lanes
    ) -> Any:
        """A call whose last positional argument may have been meant as v, but went to what may be left out."""
        try:
            stage, leaves = self._stages.ready(kind, plan, plan.arrange(args, kwargs))
            result = stage.call(*leaves)
        except SrcgradError as error:
            _say_where_v_went(error, plan, args[-1])
            raise
        if plan.is_plain and not kwargs:  # a shorter way has no such error to tell
            self._remember(stage, plan, args, lanes)
        return result

    def _lanes(self, name: str, method: Call) -> Lanes:
        """For one way to call f; what finds machine code without Python takes the place of the method."""
        in_python = MethodType(method, self)
        publish = lambda direct: setattr(self, name, direct or in_python)
        publish(None)
        return Lanes(in_python, publish)

    def _remember(self, stage: Stage, plan: Plan, args: tuple[Any, ...], lanes: Lanes) -> None:
        """A shorter way for the next call with arguments of these Python types."""
        if self._constants:
            return  # their values decide
        key = tuple(map(type, args))
        if are_told_by_types(key):
            with cpu.LOCK:
                stage.reach(lanes, key)
        elif key[-1] is not type(None):  # that may be a v left out
            lanes[key] = self._look_inside(stage.kind, plan)

    def _look_inside(self, kind: str, plan: Plan) -> Call:
        """For tuples and strings, whose Python types alone do not say what to call."""
        calls: dict[Any, Call] = {}

        def look_inside(*args: Any) -> Any:
            pattern, leaves = pattern_of(self._constants.known(args, plan.names), plan.names)
            call = calls.get(pattern)
            if call is not None:
                try:
                    return call(*leaves)
                except LENGTHS_DIFFER:
                    if self._stages.of(kind, plan, args)[0].once:
                        raise
            stage, leaves = self._stages.ready(kind, plan, args)
            with cpu.LOCK:
                stage.reach(calls, stage.pattern)
            return stage.call(*leaves)

        return look_inside

    def _with_more_known(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that failed: if for want of an option that was not known, it goes on with that."""
        plan = self._stages.plan(kind, args, kwargs)
        try:
            stage, leaves = self._stages.settled(kind, plan, plan.arrange(args, kwargs))
            return stage.call(*leaves)
        except SrcgradError as error:
            if kind != "primal" and not plan.may_end_in_v and args:
                _say_where_v_went(error, plan, args[-1])
            raise self._without_our_frames(error) from None


def _say_where_v_went(error: SrcgradError, plan: Plan, last: Any) -> None:
    """It is needed; or it is an array, and went to what is a number where it is left out."""
    if plan.took_last is not None and error.message.startswith(NEEDS_V):
        error.because = f"the last positional argument went to {plan.took_last}"
        error.help = ("name v:  v=...",)
    elif plan.took_last is not None and plan.is_number and len(getattr(last, "shape", ())) > 0:
        error.help = (f"name v if it is that, which went to {plan.took_last}:  v=...", *error.help)


class _Slotted(GradFunction):
    """Each way to call is found in the object: to look for it in the class first takes 20 ns."""

    __slots__ = ("backward", "value_and_backward")


_Slotted.__name__ = GradFunction.__name__  # so Python's errors call it; by its qualified name it is found
