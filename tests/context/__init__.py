"""The pruning engine."""
