"""Find files and lines: which files a search covers, and how its results are limited."""
