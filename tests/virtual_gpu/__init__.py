"""A GPU made of NumPy: runs the very PTX that a card would be given, and watches what its threads do to memory.

    driver.install()                 # before anything asks Numba for a GPU: numba-cuda's own host code runs on this one
    f.backward(x, v)                 # every kernel compiled, launched, executed

It is slow, and knows nothing of time.  What it finds, and no simulator of Python kernels can: instructions that are
wrong (shuffles, atomics, predicates as they were compiled), two threads that touch one element with nothing between
them, memory that is freed, not allocated or never written, barriers and shuffles that a thread does not reach.
"""
