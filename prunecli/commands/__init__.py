"""Slash commands, one file each: `prune_toggle.py` is /prune-toggle.

They return effects as values; front ends interpret them.
"""
