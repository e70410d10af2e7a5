"""Passes for a GPU alone: what becomes a kernel, and who adds to what."""
