"""Small helpers that know nothing of agents: errors, paths, formats, private files."""
