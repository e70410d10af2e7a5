"""Scientific programs, unmodified, in the style of NPBench: stencils, solvers, particles, networks, statistics."""

from . import fluids, images, networks, particles, solvers, spectral, statistics, stencils
from .registry import PROGRAMS, Scientific

FAMILIES = (stencils, fluids, solvers, particles, networks, statistics, spectral, images)

__all__ = ["FAMILIES", "PROGRAMS", "Scientific"]
