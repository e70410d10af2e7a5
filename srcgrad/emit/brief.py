"""Which calls are over before another Python thread could make use of the time.

A compiled function lets others run while it computes, which costs 40 ns: as much as the gradient of a small array.
How long it takes can be told where loops go over the lengths of arrays:

    for i in range(len(x)): for j in range(i): …       →  two loops within each other: brief while no axis is above 64
"""

from __future__ import annotations

from ..ir import affine
from ..ir.expressions import Call, Const, Dim, Expr, Var
from ..ir.nodes import (
    AddTo,
    Alloc,
    Assign,
    Block,
    CopyTo,
    External,
    For,
    Function,
    Grow,
    Invoke,
    Kernel,
    Library,
    OwnCopy,
    Parallel,
    Print,
    Stmt,
    View,
    While,
)
from ..ir.walk import blocks, statements

ALWAYS = 1 << 62
STEPS = 4096  # of innermost loops: some microseconds
DEEPEST = 3
FEW = 64  # iterations of a loop whose length is a number

UNKNOWN = (While, Invoke, External, Library, Parallel, Kernel, Grow, Print)


def longest_brief(function: Function) -> int:
    """The length up to which axes of the arguments make a call brief; 0 if it may take long in any case."""
    body = function.body
    if any(isinstance(stmt, UNKNOWN) for stmt in statements(body)):
        return 0
    depth = _Lengths(function).depth(body)
    return ALWAYS if depth == 0 else int(STEPS ** (1 / depth) + 0.5) if depth <= DEEPEST else 0


class _Lengths:
    def __init__(self, function: Function) -> None:
        self.arguments = {param.name for param in function.params}
        self.dims: dict[str, tuple[Expr, ...]] = {}
        self.values: dict[Var, list[Expr | None]] = {}
        self.lengths: dict[Var, bool] = {}
        self.steps: dict[Expr, Expr] = {}
        for stmt in statements(function.body):
            match stmt:
                case Alloc(array=array, dims=dims):
                    self.dims[array.name] = dims
                case Assign(var=var, value=value):
                    self.values.setdefault(var, []).append(value)
                case AddTo(target=Var() as var):
                    self.values.setdefault(var, []).append(None)
                case For(index=index, start=start, stop=stop, step=step):
                    self.values.setdefault(index, []).extend((start, stop))
                    self.steps[index] = step

    def depth(self, block: Block) -> int:
        """How many loops are within each other, where each is as long as an axis at most; a large number otherwise."""
        return max(map(self.of, block), default=0)

    def of(self, stmt: Stmt) -> int:
        inner = max(map(self.depth, blocks(stmt)), default=0)
        match stmt:
            case For(start=start, stop=stop) if self.is_strip(start, stop):
                return inner  # all of them are as long as the loop around
            case For(start=start, stop=stop):
                return inner + self.axes(stop) if self.is_length(start) else DEEPEST + 1
            case Alloc(array=array, dims=dims, fill=fill):
                fits = all(map(self.is_length, dims))
                return DEEPEST + 1 if not fits else array.ndim if fill is not None else 0
            case CopyTo(target=array) | OwnCopy(array=array) | View(array=array):
                return array.ndim
        return inner

    def is_strip(self, start: Expr, stop: Expr) -> bool:
        """Does a loop go over what the loop around leaves out?"""
        return start in self.steps and affine.same(affine.sub(stop, start), self.steps[start])

    def axes(self, expr: Expr) -> int:
        """Of how many lengths is this number the product at most?  A large number where that is not known."""
        if self.is_length(expr):
            return 1
        match affine.affine(expr):
            case ((Call(op="mul", args=args), 1),), 0:
                return sum(map(self.axes, args))
        return DEEPEST + 1

    def is_length(self, expr: Expr | None) -> bool:
        """Is this number at most as large as the length of an axis, or not much larger?"""
        if expr is None:
            return False
        terms, constant = affine.affine(expr)
        return abs(constant) <= FEW and all(abs(k) <= 2 and self.is_length_term(term) for term, k in terms)

    def is_length_term(self, term: Expr) -> bool:
        match term:
            case Dim(array=array, axis=axis):
                dims = self.dims.get(array)
                return array in self.arguments if dims is None else self.is_length(dims[axis])
            case Var():
                if term not in self.lengths:
                    self.lengths[term] = False  # until it is known; and what is made of itself is none
                    self.lengths[term] = all(map(self.is_length, self.values.get(term, [None])))
                return self.lengths[term]
            case Call(op="minimum" | "maximum" | "floordiv", args=args):
                return all(map(self.is_length, args))
            case Call(op="mod", args=(number, Const())):
                return self.is_length(number)
            case Call(op="select", args=(_, *either)):
                return all(map(self.is_length, either))
        return False
