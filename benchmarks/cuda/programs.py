"""The programs for a GPU, by name."""

from benchmarks.cuda import arrays, stencils, threads
from benchmarks.cuda.program import DeviceProgram

FAMILIES = (arrays, stencils, threads)
PROGRAMS: dict[str, DeviceProgram] = {program.name: program for family in FAMILIES for program in family.PROGRAMS}
