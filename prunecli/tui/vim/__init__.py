"""Vim mode in the prompt."""
