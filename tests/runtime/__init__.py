"""The runtime: what front ends call."""
