"""Programs of the corpus that do not run on a GPU, and why: a table, so that a change is seen."""

REASONS = {
    "sequential": "nothing in .* runs in parallel",
    "function": "a recursive or very large function does not run on a GPU",
    "complex": "complex numbers do not run on a GPU yet",
}

REFUSED: dict[str, str] = {}
