"""From a function to its syntax tree, and trees that say the same in fewer kinds of statements."""
