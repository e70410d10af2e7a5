"""Lists of run-time length: the array that holds their items, what these are, and what changes them."""
