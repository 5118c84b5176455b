"""Questions that only the real service can answer. See README.md."""
