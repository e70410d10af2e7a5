"""Passes for a CPU alone: caches, vector registers, threads."""
