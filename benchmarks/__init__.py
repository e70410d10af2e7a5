"""Measurements: `python -m benchmarks tape`, `cost`; and `python -m benchmarks.first_point`."""
