"""Questions about programs: they change nothing, and know of no pass."""
