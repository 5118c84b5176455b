"""Finding files and lines: which files a search sees, and how it is kept short."""
