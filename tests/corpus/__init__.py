"""Small programs in families, each with its cases: what every test of the whole way runs over."""

from . import (
    arrays,
    branches,
    calls,
    complex_programs,
    derivatives,
    elimination,
    ensembles,
    in_place,
    language,
    lists,
    loops,
    packed,
    periodic,
    physics,
    recursion,
    resized,
    scratch,
    searches,
    small,
    stages,
    stencils,
    straight,
    structures,
    views,
)
from .registry import FLOAT32, FLOAT64, PROGRAMS, Case, Program

FAMILIES = (
    straight,
    loops,
    elimination,
    packed,
    ensembles,
    branches,
    searches,
    small,
    stages,
    arrays,
    in_place,
    stencils,
    views,
    derivatives,
    calls,
    periodic,
    physics,
    recursion,
    resized,
    scratch,
    complex_programs,
    lists,
    structures,
    language,
)

__all__ = ["FAMILIES", "FLOAT32", "FLOAT64", "PROGRAMS", "Case", "Program", "named"]


def named(name: str) -> Program:
    """The program of that name, such as "loops.horner"."""
    return next(program for program in PROGRAMS if program.name == name)
