"""Dicts, sets, objects and tuples: groups of values that are known by name or by place."""
