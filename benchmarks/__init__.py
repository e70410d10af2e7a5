"""Measurements, each a module to run: `python -m benchmarks.first_point`."""
