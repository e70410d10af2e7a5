"""The benchmark programs, by name."""

from benchmarks.programs import (
    elementwise,
    factorisations,
    gmm,
    grids,
    learning,
    physics,
    rk4,
    scalar_loops,
    sparse,
    transformer,
    worked_examples,
)
from benchmarks.programs.program import Program

FAMILIES = (
    worked_examples,
    scalar_loops,
    rk4,
    learning,
    gmm,
    grids,
    factorisations,
    physics,
    sparse,
    transformer,
    elementwise,
)
PROGRAMS: dict[str, Program] = {program.name: program for family in FAMILIES for program in family.PROGRAMS}


def chosen(names: str | None) -> dict[str, Program]:
    """Those whose name begins with one of these, given as `gmm,rk4`; all of them without."""
    prefixes = tuple(names.split(",")) if names else ("",)
    found = {name: program for name, program in PROGRAMS.items() if name.startswith(prefixes)}
    assert found, f"there is no program {names}: {', '.join(PROGRAMS)}"
    return found
