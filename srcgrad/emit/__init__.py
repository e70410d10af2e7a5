"""IR → Python source, by way of `ast`."""
