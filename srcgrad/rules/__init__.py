"""Derivative rules as data: `scalar` holds one row per primitive, `names` says how users spell them."""
