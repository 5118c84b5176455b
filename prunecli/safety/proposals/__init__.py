"""Commands as proposals: run where nothing counts, look at what they did, apply it whole or drop it."""
