"""Python source → what is called: machine code by Numba, for a CPU or a GPU, or plain Python."""
