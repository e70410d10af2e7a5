"""Branches, loops, `try` and generators: what comes of one path or another, and what goes round."""
