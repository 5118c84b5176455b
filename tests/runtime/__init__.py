"""The runtime: what front ends start and ask."""
