"""Derivative rules as data: `scalar` and `special` hold one row per primitive, `names` says how users spell them."""

from . import special as special  # its rows go into the table of `scalar`
