"""Other agents' programs, run against models on loopback."""
