"""What makes the reverse sweep: what is active, the adjoint of each statement, what is kept for it."""
