"""What `runtime.device*` stands on: memory, launches and libraries of a GPU, and how kernels are compiled."""
