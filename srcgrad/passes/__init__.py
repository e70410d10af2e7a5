"""Functions IR → IR, each in its own file, in the order of `order`: printable before and after."""
