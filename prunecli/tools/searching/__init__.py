"""Searching for files and lines: the files that a search covers, and the limits of its results."""
