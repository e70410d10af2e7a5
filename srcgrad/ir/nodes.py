"""Statements of the intermediate representation, and functions of them: with `expressions`, its whole grammar.

Structured statements over scalars and array memory.  An array *expression* of NumPy is a scalar expression under index
variables (`ForEach`), so there is one expression language, not two:

    y = np.exp(x) * w        y = empty(n)
                       →     for each i < n:  y[i] = exp(x[i]) * w[i]

Arrays are memory: rebinding a name in a loop is a `CopyTo` (or a `Swap`) of contents.  `label` numbers forward
statements once `reverse` has begun; it is no part of equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .expressions import INT64, Array, Const, Expr, Load, OldArray, Span, Var


@dataclass(frozen=True)
class Stmt:
    span: Span | None = field(default=None, kw_only=True, compare=False)
    label: int = field(default=-1, kw_only=True, compare=False)

    @property
    def is_ours(self) -> bool:
        """Was it made here, for a statement of the user's or for none?  The user's arithmetic stays as it is."""
        return self.span is None or self.span.derived


Block = tuple[Stmt, ...]


@dataclass(frozen=True)
class Assign(Stmt):
    """var = value"""

    var: Var
    value: Expr


@dataclass(frozen=True)
class Store(Stmt):
    """array[index] = value"""

    array: Array
    index: tuple[Expr, ...]
    value: Expr
    checked: bool = True
    natural: bool = False


@dataclass(frozen=True)
class AddTo(Stmt):
    """target += value: what adjoints are made of.  It never needs the value that it overwrites.

    `reorder`: one of the additions of a sum that is ours, in whatever order they come out fastest.
    """

    target: Var | Load
    value: Expr
    reorder: bool = False


@dataclass(frozen=True)
class Alloc(Stmt):
    """array = fresh memory, filled with `fill`, or left as it is (None).  `on`: it is the next on this stack."""

    array: Array
    dims: tuple[Expr, ...]
    fill: Expr | None = None
    on: Stack | None = None


@dataclass(frozen=True)
class Grow(Stmt):
    """array has this many rows at least from here on; what is in it stays.  Its first length is read from itself."""

    array: Array
    rows: Expr


@dataclass(frozen=True)
class Subscript:
    """One item per axis of the base: `Pick` an index, or a `Run` of them; `NEW_AXIS` adds an axis of length 1."""

    items: tuple[Pick | Run | NewAxis, ...]


@dataclass(frozen=True)
class Pick:
    index: Expr


@dataclass(frozen=True)
class Run:
    """`whole`: all of the axis, as it is (so that a row of a C-ordered array is known to be in order)."""

    start: Expr
    step: Expr
    length: Expr
    whole: bool = False


@dataclass(frozen=True)
class NewAxis:
    pass


@dataclass(frozen=True)
class Transpose:
    order: tuple[int, ...]


@dataclass(frozen=True)
class Reshape:
    """The same elements in C order under other dims; the base is C-contiguous."""

    dims: tuple[Expr, ...]


@dataclass(frozen=True)
class Split:
    """The axis as several, in C order: the same memory, however far apart its elements lie."""

    axis: int
    dims: tuple[Expr, ...]


@dataclass(frozen=True)
class Conform:
    """The base itself where its shape is `dims` already, else a copy broadcast to them: read only.

    `zeros`: where it is a copy, it starts from zeros (the shadow of such a copy, see `Absorb`).
    """

    dims: tuple[Expr, ...]
    zeros: bool = False


def split_dims(given: tuple[Expr, ...], axis: int, dims: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return (*given[:axis], *dims, *given[axis + 1 :])


How = Subscript | Transpose | Reshape | Split | Conform


@dataclass(frozen=True)
class View(Stmt):
    """array = another handle on the memory of `base`."""

    array: Array
    base: Array
    how: How


@dataclass(frozen=True)
class Absorb(Stmt):
    """into += out, summed over the axes along which `Conform` had spread it; nothing where they are one memory."""

    into: Array
    out: Array


@dataclass(frozen=True)
class CopyTo(Stmt):
    """target[...] = source, whole arrays of one shape."""

    target: Array
    source: Array


@dataclass(frozen=True)
class Swap(Stmt):
    """The contents of two arrays of one shape change places (done by exchanging the names)."""

    left: Array
    right: Array


@dataclass(frozen=True)
class ForEach(Stmt):
    """The body for every index (until `lower_arrays`): right sides first, so that the order can't be seen; or, where it
    is a running reduction, one after the other."""

    indices: tuple[Var, ...]
    dims: tuple[Expr, ...]
    body: Block
    running: bool = False


@dataclass(frozen=True)
class For(Stmt):
    """for index in range(start, stop, step).  `ordered=False`: iterations touch distinct elements or only add up.

    `vector`: so few of them, and always as many, that they are to be one operation on a vector register.
    `masked`: so few that a vector register that is filled partly is better than one by one.
    `apart`: what one of them writes, no other touches, which is not to be seen in the loop.
    `few`: too few to make much of, such as what a loop that takes several at a time has left.
    `adds_to`: they go over strips of rows, and meet in nothing but what they add to this array, and to sums.
    """

    index: Var
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    ordered: bool = True
    vector: bool = False
    masked: bool = False
    apart: bool = False
    few: bool = False
    adds_to: Array | None = None


@dataclass(frozen=True)
class While(Stmt):
    """trip = 0; while condition: body; trip += 1.  `trip` is an index to the body, and the count after the loop."""

    trip: Var
    condition: Expr
    body: Block


@dataclass(frozen=True)
class If(Stmt):
    condition: Expr
    then: Block
    orelse: Block = ()


@dataclass(frozen=True)
class Library(Stmt):
    """out = routine(*arrays): a call into BLAS, LAPACK or our runtime; its adjoint is in `rules.array`.

    `others` are further outputs, which the adjoint may want.
    """

    routine: str
    out: Array
    args: tuple[Array | OldArray | Expr, ...]
    others: tuple[Array, ...] = ()

    @property
    def outs(self) -> tuple[Array, ...]:
        return (self.out, *self.others)

    @property
    def draws(self) -> bool:
        """Does it draw random numbers, so that it has to run exactly once, and in its turn?"""
        return self.routine.startswith("draw_")


@dataclass(frozen=True)
class External(Stmt):
    """out = function(*args): a function without a rule of ours, which may run where no derivative goes.

    `interpreted`: Numba does not know it.
    """

    function: str
    out: Var | Array
    args: tuple[Any, ...]
    interpreted: bool = False


@dataclass(frozen=True)
class Invoke(Stmt):
    """outs = callee(*args): a function of its own, which changes the contents of `writes` (arrays among its arguments).

    `half` is "" for the function itself.  "forward" pushes on `tapes` what "reverse" pops; the arguments of "reverse"
    are what it reads of the function's own arguments, then the shadows of those, then the cotangents of `outs`.
    """

    callee: str
    outs: tuple[Var | Array, ...]
    args: tuple[Expr | Array | OldArray, ...]
    writes: tuple[Array, ...] = ()
    half: str = ""
    tapes: tuple[Stack, ...] = ()


@dataclass(frozen=True)
class Rule(Stmt):
    """Statements whose adjoint is given instead of derived.

    The adjoint may read primal values as they are right after the statement, and the `Cotangent` of its outputs; with
    `Spread` it passes cotangents on to whatever an expression of the inputs reads.
    """

    name: str
    outputs: tuple[Var | Array, ...]
    inputs: tuple[Expr, ...]
    forward: Block
    adjoint: Block


@dataclass(frozen=True)
class Spread(Stmt):
    """Pass the cotangent `value` on to everything that `expr` reads (only in the adjoint of a `Rule`)."""

    expr: Expr
    value: Expr


@dataclass(frozen=True)
class Raise(Stmt):
    """raise error(*values): a constant message, or a code with numbers."""

    error: str
    message: str
    values: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Print(Stmt):
    """print(*parts); or, with a text that has fields for them, by what calls Python (`runtime.python_calls`)."""

    parts: tuple[Any, ...]
    text: str | None = None
    by: str = "print_text"


@dataclass(frozen=True)
class Sweep(Stmt):
    """The reverse sweep: the blocks of the forward part mirrored, each loop and branch with its forward label."""

    body: Block


@dataclass(frozen=True)
class Stack:
    """Kept values whose number is not known ahead of their loop: a growing buffer `name`, filled up to `top`."""

    name: str
    top: str
    dtype: np.dtype


@dataclass(frozen=True)
class NewStack(Stmt):
    stack: Stack
    room: int = 64  # for so many elements to begin with


@dataclass(frozen=True)
class Push(Stmt):
    stack: Stack
    value: Expr | Array


@dataclass(frozen=True)
class Pop(Stmt):
    """target = the value pushed last; an array is a view of the buffer."""

    target: Var | Array
    stack: Stack
    dims: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Seal(Stmt):
    """array = what is on the stack, to be handed from the forward half to the reverse half."""

    array: Array
    stack: Stack


@dataclass(frozen=True)
class Unseal(Stmt):
    """The stack as it was when it was sealed."""

    stack: Stack
    array: Array


@dataclass(frozen=True)
class OwnCopy(Stmt):
    """The parameter under its own name, in C order: a copy, or itself where it is in order and `copy` is not wanted."""

    array: Array
    copy: bool


@dataclass(frozen=True)
class Parallel(Stmt):
    """range(start, stop, step) in pieces, range(low, high, step), on as many threads as there are.

    The last statement of `body` is the loop over a piece; what stands ahead of it is memory of each piece's own.  To
    `sums` and `partial` every piece adds in a copy of its own.  An iteration adds to elements of others up to `reach`
    iterations away: pieces that are neighbours never run at one time.  Pieces are apart only if the elements of `rows`,
    from as far ahead of an iteration on, rise.  `work`: what an iteration costs, in additions; `uneven`: more of it for
    some than for others.
    """

    name: str
    low: Var
    high: Var
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    sums: tuple[Var, ...] = ()
    partial: tuple[Array, ...] = ()
    reach: Expr = Const(0, INT64)  # noqa: RUF009 (it is frozen)
    rows: tuple[tuple[Array, int], ...] = ()
    work: Expr = Const(1, INT64)  # noqa: RUF009 (it is frozen)
    uneven: bool = False


@dataclass(frozen=True)
class Kernel(Stmt):
    """The body for every index of `axes` (loops without their bodies, outermost first), by threads of a GPU.

    Without axes one thread runs the body, and sets `sets`.  `reads` are scalars that lie on the device.  To `sums`
    every thread adds in a variable of its own; `extremes` are those of them of which the greatest, the least or the
    like is wanted instead, with the primitive.  Of `scratch` and of `stacks` every thread has its own.

    `by_rows`: the threads of a "warp", or of a "block", run each iteration together, see `Lanes`.  `at_first`: arrays
    that it reads under a condition of the host's, instead of those of a name.
    """

    name: str
    axes: tuple[For, ...]
    body: Block
    reads: tuple[Var, ...] = ()
    sets: tuple[Var, ...] = ()
    sums: tuple[Var, ...] = ()
    extremes: tuple[tuple[Var, str], ...] = ()
    scratch: tuple[Alloc, ...] = ()
    stacks: tuple[Stack, ...] = ()
    by_rows: str = ""
    at_first: tuple[tuple[Expr, str, Array], ...] = ()


LANE = Var("lane", INT64)  # which of the threads that run an iteration together this one is
TURN = Var("turn", INT64)  # which of its turns along a row a thread is at
TURNS = Var("turns", INT64)  # how many there are in a row that is held


@dataclass(frozen=True)
class Lanes(Stmt):
    """A loop that the threads of one iteration of a kernel run together, each in its own iterations.

    What they add to `sums`, and the greatest or least that they find (`extremes`, with the primitive), all know then.
    `reads` is what several turns of a thread read before any of them computes, and where each keeps that.  `held`: a
    thread has `TURNS` of them at most, and what they keep in `LocalArray`s is there for the loops behind this one.
    """

    index: Var
    start: Expr
    stop: Expr
    body: Block
    sums: tuple[Var, ...] = ()
    extremes: tuple[tuple[Var, str], ...] = ()
    reads: tuple[tuple[Array, Expr], ...] = ()
    held: bool = False


@dataclass(frozen=True)
class AtomicAdd(Stmt):
    """array[index] += value, where other threads may add to the same element."""

    array: Array
    index: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True)
class LocalArray(Stmt):
    """A small array of one thread, of a size that is known ahead of time."""

    array: Array


@dataclass(frozen=True)
class Fetch(Stmt):
    """The number that lies on the device, for the host to know; and what for."""

    var: Var
    why: str


@dataclass(frozen=True)
class Put(Stmt):
    """The number that the host knows, for the device to read and to change."""

    var: Var


@dataclass(frozen=True)
class Room(Stmt):
    """var = for how many values there is room in what each thread keeps, where nobody knows ahead how many they are."""

    var: Var


@dataclass(frozen=True)
class Comment(Stmt):
    """A line of the user's source, shown above what it became."""

    text: str


@dataclass(frozen=True)
class Function:
    """A straight block with one structured return at its end.

    `results` mirrors the structure of the return value: a leaf is an Expr or an Array, a tuple is a tuple.
    """

    name: str
    params: tuple[Var | Array | Stack, ...]
    body: Block
    results: Any
    info: Any = field(default=None, compare=False)
    callees: tuple[Function, ...] = ()  # what it invokes, and what they invoke


def leaves(results: Any) -> Iterator[Any]:
    """The leaves of a nested tuple, in order."""
    if isinstance(results, tuple):
        for item in results:
            yield from leaves(item)
    else:
        yield results
