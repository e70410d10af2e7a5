"""Scientific programs, unmodified, in the style of NPBench: stencils, solvers, particles, networks, statistics."""

from . import fluids, images, networks, particles, solvers, statistics, stencils
from .registry import PROGRAMS, Scientific

FAMILIES = (stencils, fluids, solvers, particles, networks, statistics, images)

__all__ = ["FAMILIES", "PROGRAMS", "Scientific"]
