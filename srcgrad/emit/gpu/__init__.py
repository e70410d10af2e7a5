"""Kernels, and the part of the host that launches them, as text."""
