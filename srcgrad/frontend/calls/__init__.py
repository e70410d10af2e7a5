"""Calls: of the user's functions, of those of Python, and of functions of their own."""
