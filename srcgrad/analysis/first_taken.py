"""A number that goes to the first of several places whose branch is taken: which one that is, is a number, too.

if chosen:                                which = 0 if chosen else 1 if other else 2
    now = g                               if which == 0: x_b[i] += g
    g = 0.0                               if which == 1: x_b[i + 1] += g
    x_b[i] += now                  →      x_b[i + 2] += g if which == 2 else 0.0
if other:
    now_1 = g
    g = 0.0
    x_b[i + 1] += now_1
x_b[i + 2] += g

That is the reverse of a search for the best of a few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ir import affine
from ..ir.expressions import INT64, Const, Expr, Load, Var, select
from ..ir.names import Names
from ..ir.nodes import AddTo, Assign, Block, Comment, If, Stmt
from ..ir.walk import loads, mentioned, statements, variables

FEWEST = 3  # places


@dataclass(frozen=True)
class _Taken:
    condition: Expr
    number: Var
    now: Var
    addition: AddTo


def with_first_taken(body: Block, names: Names) -> Block:
    """The body of an iteration with such branches said by a number."""
    body = tuple(stmt for stmt in body if not isinstance(stmt, Comment))
    for begin in range(len(body)):
        run = _run(body[begin:])
        if len(run) >= FEWEST - 1:
            return (*body[:begin], *_said(run, body[begin + len(run) :], names))
    return body


def _run(body: Block) -> list[_Taken]:
    out: list[_Taken] = []
    for stmt in body:
        found = _taken(stmt)
        if found is None or (out and found.number != out[0].number):
            break
        out.append(found)
    conditions = {var for one in out for var in variables(one.condition)}
    set_on_the_way = {var for one in out for var in (one.now, one.number)}
    now = [one.now for one in out]
    is_read_later = any(set(now) & mentioned(s) for s in statements(body[len(out) :]))
    if (
        conditions & set_on_the_way
        or any(loads(one.condition) for one in out)
        or is_read_later
        or len(set(now)) < len(now)
    ):
        return []
    return out


def _taken(stmt: Stmt) -> _Taken | None:
    match stmt:
        case If(condition=condition, then=then, orelse=()):
            match tuple(s for s in then if not isinstance(s, Comment)):
                case (
                    Assign(var=now, value=Var() as number),
                    Assign(var=cleared, value=Const(value=zero)),
                    AddTo(target=Load() as target, value=value) as addition,
                ) if cleared == number and zero == 0 and value == now and number.dtype == target.dtype:
                    is_fixed = not any(loads(part) or variables(part) & {now, number} for part in target.index)
                    return _Taken(condition, number, now, addition) if is_fixed else None
    return None


def _said(run: list[_Taken], rest: Block, names: Names) -> list[Stmt]:
    number = run[0].number
    which, whole = Var(names.fresh("which"), INT64), Var(names.fresh(number.name), number.dtype)
    zero = Const(number.dtype.type(0).item(), number.dtype)
    found: Expr = affine.integer(len(run))
    for k, one in reversed(list(enumerate(run))):
        found = select(one.condition, affine.integer(k), found)
    rest_of_it = select(affine.equals(which, affine.integer(len(run))), whole, zero)
    ahead: list[Stmt] = [Assign(which, found), Assign(whole, number), Assign(number, rest_of_it)]
    is_it = lambda k: affine.equals(which, affine.integer(k))
    added: list[Stmt] = [If(is_it(k), (replace(one.addition, value=whole),)) for k, one in enumerate(run)]
    match rest:
        case (AddTo(target=Load() as target, value=Var() as value) as last, *_) if value == number:
            if not any(number in variables(part) for part in target.index):
                added.append(replace(last, value=rest_of_it))
                rest = rest[1:]
    return [*ahead, *added, *rest]


__all__ = ["with_first_taken"]
